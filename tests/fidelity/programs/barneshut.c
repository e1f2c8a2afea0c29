/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * barneshut: gravity of a disc galaxy by Barnes and Hut's method: an octree in an arena is built
 * each step, masses are summed up recursively, forces found by walks that open near cells only.
 * Irregular: bodies follow each other in memory but not in space; walks differ body by body.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct cell {
    double centre[3], mass; /* of what is in it */
    float middle[3], half;
    int32_t child[8]; /* 0: none; negative: body ~child */
};

struct body {
    double x[3], v[3], a[3];
};

static struct cell *cells;
static struct body *body;
static int32_t used, room;
static uint64_t interactions;

static double uniform(uint64_t *s)
{
    *s ^= *s >> 12;
    *s ^= *s << 25;
    *s ^= *s >> 27;
    return (double)(*s * UINT64_C(2685821657736338717) >> 11) * 0x1p-53;
}

static int32_t new_cell(const float *middle, float half)
{
    if (used == room)
        cells = realloc(cells, (size_t)(room *= 2) * sizeof(*cells));
    cells[used] = (struct cell){.half = half};
    for (int k = 0; k < 3; k++)
        cells[used].middle[k] = middle[k];
    return used++;
}

static int octant(const struct cell *c, const double *x)
{
    return (x[0] > (double)c->middle[0]) | (x[1] > (double)c->middle[1]) << 1 |
           (x[2] > (double)c->middle[2]) << 2;
}

static void insert(int32_t b)
{
    int32_t at = 0;

    for (;;) {
        int o = octant(&cells[at], body[b].x);
        int32_t there = cells[at].child[o], fresh;
        float middle[3], half = cells[at].half / 2;

        if (there > 0) {
            at = there;
            continue;
        }
        if (there == 0 || half < 1e-4f) {
            cells[at].child[o] = ~b;
            return;
        }
        for (int k = 0; k < 3; k++)
            middle[k] = cells[at].middle[k] + (o >> k & 1 ? half : -half);
        fresh = new_cell(middle, half);
        cells[at].child[o] = fresh;
        cells[fresh].child[octant(&cells[fresh], body[~there].x)] = there;
        at = fresh;
    }
}

static void sum_up(int32_t at)
{
    struct cell *c = &cells[at];

    for (int o = 0; o < 8; o++) {
        int32_t child = c->child[o];
        const double *x = child < 0 ? body[~child].x : cells[child].centre;
        double mass = 1;

        if (child == 0)
            continue;
        if (child > 0) {
            sum_up(child);
            mass = cells[child].mass;
        }
        for (int k = 0; k < 3; k++)
            c->centre[k] += mass * x[k];
        c->mass += mass;
    }
    for (int k = 0; k < 3; k++)
        c->centre[k] /= c->mass;
}

static void pull(struct body *b, const double *x, double mass, double near)
{
    double d[3], r = near, g;

    for (int k = 0; k < 3; k++) {
        d[k] = x[k] - b->x[k];
        r += d[k] * d[k];
    }
    g = mass / (r * sqrt(r));
    for (int k = 0; k < 3; k++)
        b->a[k] += g * d[k];
    interactions++;
}

static void walk(struct body *b, int32_t at)
{
    const struct cell *c = &cells[at];
    double r = 0;

    for (int k = 0; k < 3; k++)
        r += (c->centre[k] - b->x[k]) * (c->centre[k] - b->x[k]);
    if (4 * (double)c->half * (double)c->half < 0.5 * r) {
        pull(b, c->centre, c->mass, 1e-3);
        return;
    }
    for (int o = 0; o < 8; o++) {
        if (c->child[o] > 0)
            walk(b, c->child[o]);
        else if (c->child[o] < 0 && &body[~c->child[o]] != b)
            pull(b, body[~c->child[o]].x, 1, 1e-3);
    }
}

int main(int argc, char **argv)
{
    int32_t n = argc > 1 ? (int32_t)strtoul(argv[1], NULL, 10) : 5000;
    uint64_t seed = 6674;
    double sum = 0;

    body = calloc((size_t)n, sizeof(*body));
    cells = malloc((size_t)(room = 64) * sizeof(*cells));
    for (int32_t i = 0; i < n; i++) {
        double radius = sqrt(uniform(&seed)) * 0.9, angle = uniform(&seed) * 6.2831853;

        body[i].x[0] = radius * cos(angle);
        body[i].x[1] = radius * sin(angle);
        body[i].x[2] = (uniform(&seed) - 0.5) * 0.1;
    }
    for (int step = 0; step < 2; step++) {
        used = 0;
        new_cell((const float[]){0, 0, 0}, 2);
        for (int32_t i = 0; i < n; i++)
            insert(i);
        sum_up(0);
        for (int32_t i = 0; i < n; i++) {
            walk(&body[i], 0);
            for (int k = 0; k < 3; k++) {
                body[i].v[k] += 1e-7 * body[i].a[k];
                body[i].a[k] = 0;
            }
        }
        for (int32_t i = 0; i < n; i++)
            for (int k = 0; k < 3; k++)
                sum += fabs(body[i].x[k] += body[i].v[k]);
    }
    free(body);
    free(cells);
    printf("barneshut %d checksum %.6f (%d cells)\n", n, sum, used);
    return 0;
}
