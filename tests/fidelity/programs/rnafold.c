/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rnafold: the best folding of an RNA by dynamic programming over triangles: hairpins, stacks,
 * bulges in a window, and splits; then the structure is traced back with a stack. Irregular: rows
 * and columns of a triangle at once, inner loops only where two bases pair, and cut short.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { NONE = 9999, LOOP = 3, BULGE = 8 };

static int n;
static char *base;
static int16_t *paired, *best; /* of [i][j], energies in tenths */

static int pair_energy(char a, char b)
{
    switch (a << 8 | b) {
    case 'G' << 8 | 'C':
    case 'C' << 8 | 'G':
        return -30;
    case 'A' << 8 | 'U':
    case 'U' << 8 | 'A':
        return -20;
    case 'G' << 8 | 'U':
    case 'U' << 8 | 'G':
        return -10;
    default:
        return NONE;
    }
}

static int closed(int i, int j)
{
    int energy = pair_energy(base[i], base[j]), least = 45 + (j - i) / 4;

    if (energy == NONE)
        return NONE;
    for (int k = i + 1; k <= i + 1 + BULGE && k < j - LOOP; k++) {
        int most = BULGE - (k - i - 1);

        for (int l = j - 1; l >= j - 1 - most && l > k + LOOP; l--) {
            int inner = paired[k * n + l], gap = k - i - 1 + j - l - 1;

            if (inner != NONE && inner + 7 * gap + (gap ? 12 : 0) < least)
                least = inner + 7 * gap + (gap ? 12 : 0);
        }
    }
    for (int k = i + 2 + LOOP; k < j - 1 - LOOP; k++)
        if (best[(i + 1) * n + k] + best[(k + 1) * n + j - 1] + 34 < least)
            least = best[(i + 1) * n + k] + best[(k + 1) * n + j - 1] + 34;
    return energy + least;
}

static void fill(void)
{
    for (int i = n - 1; i >= 0; i--) {
        for (int j = i; j < n; j++) {
            int least = 0;

            paired[i * n + j] = NONE;
            if (j - i > LOOP) {
                paired[i * n + j] = (int16_t)closed(i, j);
                least = paired[i * n + j] < 0 ? paired[i * n + j] : 0;
                if (best[(i + 1) * n + j] < least)
                    least = best[(i + 1) * n + j];
                for (int k = i; k < j; k++)
                    if (best[i * n + k] < 0 && best[i * n + k] + best[(k + 1) * n + j] < least)
                        least = best[i * n + k] + best[(k + 1) * n + j];
            }
            best[i * n + j] = (int16_t)least;
        }
    }
}

static uint64_t trace(void)
{
    int(*stack)[2] = malloc((size_t)(2 * n + 2) * sizeof(*stack)), depth = 0;
    uint64_t sum = 0;

    stack[depth][0] = 0;
    stack[depth++][1] = n - 1;
    while (depth > 0) {
        int i = stack[--depth][0], j = stack[depth][1], k = i;

        if (i >= j || best[i * n + j] == 0)
            continue;
        if (best[i * n + j] == best[(i + 1) * n + j]) {
            stack[depth][0] = i + 1;
            stack[depth++][1] = j;
        } else if (best[i * n + j] == paired[i * n + j]) {
            sum = sum * 3 + (uint64_t)(i * 7 + j);
            stack[depth][0] = i + 1;
            stack[depth++][1] = j - 1;
        } else {
            while (k < j && best[i * n + k] + best[(k + 1) * n + j] != best[i * n + j])
                k++;
            if (k == j)
                continue;
            stack[depth][0] = i;
            stack[depth++][1] = k;
            stack[depth][0] = k + 1;
            stack[depth++][1] = j;
        }
    }
    free(stack);
    return sum;
}

int main(int argc, char **argv)
{
    uint32_t s = 1981;
    uint64_t sum;

    n = argc > 1 ? (int)strtoul(argv[1], NULL, 10) : 320;
    base = malloc((size_t)n);
    paired = calloc((size_t)((n + 1) * n), sizeof(*paired));
    best = calloc((size_t)((n + 1) * n), sizeof(*best));
    for (int i = 0; i < n; i++) {
        s ^= s << 13;
        s ^= s >> 17;
        s ^= s << 5;
        base[i] = "ACGU"[s >> 30];
    }
    fill();
    sum = trace();
    sum = sum * 31 + (uint64_t)-best[n - 1];
    free(base);
    free(paired);
    free(best);
    printf("rnafold %d checksum %" PRIu64 "\n", n, sum);
    return 0;
}
