/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fenwick: binary indexed trees: inversions of a permutation in one dimension, points dominated
 * in two. Irregular: i += i & -i and i -= i & -i, few steps of powers of two whose ends are random;
 * the high indices of the tree are hot.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { SIDE = 512 };

static uint32_t state = 362436069;

static uint32_t draw(void)
{
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return state;
}

static void shuffle(uint32_t *a, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        a[i] = i + 1;
    for (uint32_t i = n - 1; i > 0; i--) {
        uint32_t j = draw() % (i + 1), t = a[i];

        a[i] = a[j];
        a[j] = t;
    }
}

static uint64_t inversions(const uint32_t *a, uint32_t *tree, uint32_t n)
{
    uint64_t count = 0;

    for (uint32_t k = n; k-- > 0;) {
        for (uint32_t i = a[k] - 1; i > 0; i &= i - 1)
            count += tree[i];
        for (uint32_t i = a[k]; i <= n; i += i & -i)
            tree[i]++;
    }
    return count;
}

/* The k-th smallest of what is in the tree: bits from the top. */
static uint32_t select_nth(const uint32_t *tree, uint32_t n, uint32_t k)
{
    uint32_t at = 0, bit = 1;

    while (bit <= n / 2)
        bit *= 2;
    for (; bit; bit /= 2) {
        if (at + bit <= n && tree[at + bit] < k) {
            at += bit;
            k -= tree[at];
        }
    }
    return at + 1;
}

static uint64_t dominated(uint32_t (*grid)[SIDE + 1], uint32_t points)
{
    uint64_t sum = 0;

    for (uint32_t p = 0; p < points; p++) {
        uint32_t x = draw() % SIDE + 1, y = draw() % SIDE + 1;

        for (uint32_t i = x; i > 0; i &= i - 1)
            for (uint32_t j = y; j > 0; j &= j - 1)
                sum += grid[i][j];
        for (uint32_t i = x; i <= SIDE; i += i & -i)
            for (uint32_t j = y; j <= SIDE; j += j & -j)
                grid[i][j]++;
    }
    return sum;
}

int main(int argc, char **argv)
{
    uint32_t n = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 300000;
    uint32_t *a = malloc(n * sizeof(*a)), *tree = calloc(n + 1, sizeof(*tree));
    uint32_t(*grid)[SIDE + 1] = calloc(SIDE + 1, sizeof(*grid));
    uint64_t sum;

    shuffle(a, n);
    sum = inversions(a, tree, n);
    for (uint32_t i = 0; i < n / 4; i++)
        sum += select_nth(tree, n, draw() % n + 1);
    sum += dominated(grid, n / 8);
    free(a);
    free(tree);
    free(grid);
    printf("fenwick %u checksum %" PRIu64 "\n", n, sum);
    return 0;
}
