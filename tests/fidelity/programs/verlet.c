/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * verlet: molecular dynamics of particles in a box, with linked cells from which Verlet lists are
 * made every few steps, and forces by Newton's third law. Irregular: gathers of positions from
 * lists that are sorted by cells, scatters of forces, particles that wander from their neighbours.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double *x, *v, *f; /* three each */
static int32_t *head, *next, *neighbours, *first;

static double draw(uint64_t *s)
{
    *s ^= *s << 13;
    *s ^= *s >> 7;
    *s ^= *s << 17;
    return (double)(*s >> 11) * 0x1p-53;
}

static void fill_cells(int n, int cells, double box)
{
    for (int c = 0; c < cells * cells * cells; c++)
        head[c] = -1;
    for (int i = 0; i < n; i++) {
        int c = 0;

        for (int k = 0; k < 3; k++) {
            x[3 * i + k] -= box * floor(x[3 * i + k] / box);
            c = c * cells + (int)(x[3 * i + k] / box * cells) % cells;
        }
        next[i] = head[c];
        head[c] = i;
    }
}

static double apart(double d, double box)
{
    return d > box / 2 ? d - box : d < -box / 2 ? d + box : d;
}

static int make_lists(int n, int cells, double box, double range, int room)
{
    int used = 0;

    for (int i = 0; i < n; i++) {
        int c[3];

        first[i] = used;
        for (int k = 0; k < 3; k++)
            c[k] = (int)(x[3 * i + k] / box * cells) % cells;
        for (int near = 0; near < 27; near++) {
            int a = (c[0] + near / 9 + cells - 1) % cells;
            int b = (c[1] + near / 3 % 3 + cells - 1) % cells;
            int d = (c[2] + near % 3 + cells - 1) % cells;

            for (int j = head[(a * cells + b) * cells + d]; j >= 0; j = next[j]) {
                double r = 0;

                if (j <= i)
                    continue;
                for (int k = 0; k < 3; k++) {
                    double e = apart(x[3 * i + k] - x[3 * j + k], box);

                    r += e * e;
                }
                if (r < range * range && used < room)
                    neighbours[used++] = j;
            }
        }
    }
    first[n] = used;
    return used;
}

static double forces(int n, double box)
{
    double energy = 0;

    memset(f, 0, 3 * (size_t)n * sizeof(*f));
    for (int i = 0; i < n; i++) {
        double fi[3] = {0};

        for (int l = first[i]; l < first[i + 1]; l++) {
            int j = neighbours[l];
            double e[3], r = 0.5, push;

            for (int k = 0; k < 3; k++) {
                e[k] = apart(x[3 * i + k] - x[3 * j + k], box);
                r += e[k] * e[k];
            }
            push = 1 / (r * r) - 0.05 / r;
            energy += push;
            for (int k = 0; k < 3; k++) {
                fi[k] += push * e[k];
                f[3 * j + k] -= push * e[k];
            }
        }
        for (int k = 0; k < 3; k++)
            f[3 * i + k] += fi[k];
    }
    return energy;
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? (int)strtoul(argv[1], NULL, 10) : 4000, room = 60 * n, pairs = 0;
    double box = cbrt((double)n) * 1.1, range = 1.6, energy = 0;
    int cells = (int)(box / range) < 3 ? 3 : (int)(box / range);
    uint64_t seed = 1618033988;

    x = malloc(3 * (size_t)n * sizeof(*x));
    v = malloc(3 * (size_t)n * sizeof(*v));
    f = malloc(3 * (size_t)n * sizeof(*f));
    head = malloc((size_t)(cells * cells * cells) * sizeof(*head));
    next = malloc((size_t)n * sizeof(*next));
    neighbours = malloc((size_t)room * sizeof(*neighbours));
    first = malloc(((size_t)n + 1) * sizeof(*first));
    for (int i = 0; i < 3 * n; i++) {
        x[i] = draw(&seed) * box;
        v[i] = draw(&seed) - 0.5;
    }
    for (int step = 0; step < 12; step++) {
        if (step % 4 == 0) {
            fill_cells(n, cells, box);
            pairs = make_lists(n, cells, box, range, room);
        }
        energy = forces(n, box);
        for (int i = 0; i < 3 * n; i++) {
            v[i] += 0.02 * f[i];
            x[i] += 0.02 * v[i];
        }
    }
    printf("verlet %d checksum %.6f (%d pairs)\n", n, energy, pairs);
    free(x);
    free(v);
    free(f);
    free(head);
    free(next);
    free(neighbours);
    free(first);
    return 0;
}
