/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mesh: a finite volume scheme on an unstructured triangle mesh whose edges were shuffled in part:
 * fluxes gathered from and scattered to both cells of each edge, gradients, time steps. Irregular:
 * structures of four values at two places an edge, numbering between local and random.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct state {
    float density, mx, my, energy;
};

struct edge {
    uint32_t left, right;
    float nx, ny;
};

static uint32_t s = 314159265;

static uint32_t draw(uint32_t below)
{
    s ^= s << 13;
    s ^= s >> 17;
    s ^= s << 5;
    return (uint32_t)((uint64_t)s * below >> 32);
}

static uint32_t make_edges(uint32_t side, const uint32_t *number, struct edge *edges)
{
    uint32_t m = 0;

    for (uint32_t y = 0; y < side; y++) {
        for (uint32_t x = 0; x < 2 * side; x++) { /* two triangles a square */
            uint32_t here = number[y * 2 * side + x];

            if (x + 1 < 2 * side)
                edges[m++] = (struct edge){here, number[y * 2 * side + x + 1], 0.9f, 0.1f};
            if (x % 2 == 0 && y + 1 < side)
                edges[m++] = (struct edge){here, number[(y + 1) * 2 * side + x + 1], 0.1f, 0.9f};
        }
    }
    for (uint32_t i = 0; i < m; i += 1 + draw(3)) {
        uint32_t j = i + draw(m - i < 4000 ? m - i : 4000);
        struct edge t = edges[i];

        edges[i] = edges[j];
        edges[j] = t;
    }
    return m;
}

static void fluxes(const struct edge *edges, uint32_t m, const struct state *cell,
                   struct state *residual)
{
    for (uint32_t e = 0; e < m; e++) {
        const struct state *a = &cell[edges[e].left], *b = &cell[edges[e].right];
        struct state *ra = &residual[edges[e].left], *rb = &residual[edges[e].right];
        float flow = 0.5f * ((a->mx + b->mx) * edges[e].nx + (a->my + b->my) * edges[e].ny);
        float speed = 0.2f + fabsf(flow) / (a->density + b->density);
        float d = flow - speed * (b->density - a->density);
        float f = speed * (b->energy - a->energy);

        ra->density -= d;
        rb->density += d;
        ra->mx += speed * (b->mx - a->mx);
        rb->mx -= speed * (b->mx - a->mx);
        ra->my += speed * (b->my - a->my);
        rb->my -= speed * (b->my - a->my);
        ra->energy += f;
        rb->energy -= f;
    }
}

static float advance(struct state *cell, struct state *residual, uint32_t n)
{
    float largest = 0;

    for (uint32_t i = 0; i < n; i++) {
        cell[i].density += 0.01f * residual[i].density;
        cell[i].mx += 0.01f * residual[i].mx;
        cell[i].my += 0.01f * residual[i].my;
        cell[i].energy += 0.01f * residual[i].energy;
        if (fabsf(residual[i].energy) > largest)
            largest = fabsf(residual[i].energy);
        residual[i] = (struct state){0};
    }
    return largest;
}

int main(int argc, char **argv)
{
    uint32_t side = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 180, n = 2 * side * side, m;
    uint32_t *number = malloc(n * sizeof(*number));
    struct edge *edges = malloc(2 * (size_t)n * sizeof(*edges));
    struct state *cell = malloc(n * sizeof(*cell)), *residual = calloc(n, sizeof(*residual));
    double sum = 0;

    for (uint32_t i = 0; i < n; i++)
        number[i] = i;
    for (uint32_t i = 0; i < n; i += 1 + draw(20)) { /* not all in their natural places */
        uint32_t j = draw(n), t = number[i];

        number[i] = number[j];
        number[j] = t;
    }
    for (uint32_t i = 0; i < n; i++)
        cell[i] = (struct state){1, (float)(draw(100)) / 100, 0.1f, 2 + (float)(i % 50) / 50};
    m = make_edges(side, number, edges);
    for (int step = 0; step < 10; step++) {
        fluxes(edges, m, cell, residual);
        sum += (double)advance(cell, residual, n);
    }
    for (uint32_t i = 0; i < n; i++)
        sum += (double)cell[i].energy * (1 + i % 3);
    free(number);
    free(edges);
    free(cell);
    free(residual);
    printf("mesh %u checksum %.4f\n", side, sum);
    return 0;
}
