/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * amg: algebraic multigrid by aggregation on a graph: pairs of neighbours become one vertex, level
 * by level, and V cycles of Gauss-Seidel solve on all levels through the maps between them.
 * Irregular: maps that are only nearly monotone, coarse rows merged through a marker.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { LEVELS = 12 };

struct level {
    uint32_t n, *first, *column, *map; /* map: vertex of the next level */
    float *value, *x, *b;
};

static uint32_t s = 602214076;

static uint32_t draw(uint32_t below)
{
    s ^= s << 13;
    s ^= s >> 17;
    s ^= s << 5;
    return (uint32_t)((uint64_t)s * below >> 32);
}

static struct level new_level(uint32_t n, uint32_t entries)
{
    return (struct level){n,
                          calloc(n + 1, 4),
                          malloc((entries + 1) * 4),
                          malloc(n * 4),
                          malloc((entries + 1) * 4),
                          calloc(n, 4),
                          calloc(n, 4)};
}

/* Row: the diagonal first, then neighbours in a ring with chords of random length. */
static struct level fine_level(uint32_t n)
{
    struct level l = new_level(n, 6 * n);
    uint32_t at = 0;

    for (uint32_t i = 0; i < n; i++) {
        uint32_t diagonal = at++;

        l.column[diagonal] = i;
        l.value[diagonal] = 0.05f;
        for (uint32_t k = 0; k < 5; k++) {
            uint32_t to = k < 2 ? i + n - 1 + 2 * k : i + draw(k < 4 ? 400 : n);

            l.column[at] = to % n;
            l.value[at] = -0.1f - (float)draw(64) / 64;
            l.value[diagonal] -= l.value[at++];
        }
        l.first[i + 1] = at;
    }
    return l;
}

static uint32_t match(struct level *l)
{
    uint32_t coarse = 0;

    for (uint32_t i = 0; i < l->n; i++)
        l->map[i] = UINT32_MAX;
    for (uint32_t i = 0; i < l->n; i++) {
        uint32_t mate = i;
        float strongest = 0;

        if (l->map[i] != UINT32_MAX)
            continue;
        for (uint32_t k = l->first[i] + 1; k < l->first[i + 1]; k++) {
            if (l->map[l->column[k]] == UINT32_MAX && -l->value[k] > strongest) {
                strongest = -l->value[k];
                mate = l->column[k];
            }
        }
        l->map[i] = l->map[mate] = coarse++;
    }
    return coarse;
}

static struct level coarsen(struct level *l)
{
    uint32_t n = match(l), at = 0;
    struct level c = new_level(n, l->first[l->n] + n);
    uint32_t *head = malloc(n * 4), *next = malloc(l->n * 4), *mark = malloc(n * 4);

    for (uint32_t i = 0; i < n; i++)
        head[i] = mark[i] = UINT32_MAX;
    for (uint32_t i = l->n; i-- > 0;) {
        next[i] = head[l->map[i]];
        head[l->map[i]] = i;
    }
    for (uint32_t i = 0; i < n; i++) {
        mark[i] = at;
        c.column[at] = i;
        c.value[at++] = 0;
        for (uint32_t f = head[i]; f != UINT32_MAX; f = next[f]) {
            for (uint32_t k = l->first[f]; k < l->first[f + 1]; k++) {
                uint32_t to = l->map[l->column[k]];

                if (mark[to] == UINT32_MAX || mark[to] < c.first[i]) {
                    mark[to] = at;
                    c.column[at] = to;
                    c.value[at++] = 0;
                }
                c.value[mark[to]] += l->value[k];
            }
        }
        c.first[i + 1] = at;
    }
    free(head);
    free(next);
    free(mark);
    return c;
}

static double smooth(struct level *l)
{
    double change = 0;

    for (uint32_t i = 0; i < l->n; i++) {
        uint32_t k = l->first[i];
        float diagonal = l->value[k], sum = l->b[i];

        for (k++; k < l->first[i + 1]; k++)
            sum -= l->value[k] * l->x[l->column[k]];
        change += fabs((double)(sum / diagonal - l->x[i]));
        l->x[i] = sum / diagonal;
    }
    return change;
}

static void restrict_to(const struct level *l, struct level *c)
{
    for (uint32_t i = 0; i < c->n; i++)
        c->x[i] = c->b[i] = 0;
    for (uint32_t i = 0; i < l->n; i++) {
        float residual = l->b[i];

        for (uint32_t k = l->first[i]; k < l->first[i + 1]; k++)
            residual -= l->value[k] * l->x[l->column[k]];
        c->b[l->map[i]] += residual;
    }
}

int main(int argc, char **argv)
{
    uint32_t n = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 9000, levels = 1;
    struct level l[LEVELS] = {fine_level(n)};
    double change = 0;

    while (levels < LEVELS && l[levels - 1].n > 40) {
        l[levels] = coarsen(&l[levels - 1]);
        levels++;
    }
    for (uint32_t i = 0; i < n; i++)
        l[0].b[i] = (float)(i % 11) - 5;
    for (int cycle = 0; cycle < 6; cycle++) {
        for (uint32_t k = 0; k + 1 < levels; k++) {
            change = smooth(&l[k]);
            restrict_to(&l[k], &l[k + 1]);
        }
        for (uint32_t k = levels; k-- > 0;) {
            for (uint32_t i = 0; k + 1 < levels && i < l[k].n; i++)
                l[k].x[i] += l[k + 1].x[l[k].map[i]];
            change += smooth(&l[k]);
        }
    }
    printf("amg %u checksum %.3e (%u levels, %u)\n", n, change, levels, l[levels - 1].n);
    for (uint32_t k = 0; k < levels; k++) {
        free(l[k].first);
        free(l[k].column);
        free(l[k].map);
        free(l[k].value);
        free(l[k].x);
        free(l[k].b);
    }
    return 0;
}
