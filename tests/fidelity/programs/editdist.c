/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * editdist: alignments of two sequences by Hirschberg's recursion (rows forward and backward, then
 * halves), and of many short ones in a band that gives up when it is too far. Irregular: nests
 * whose sizes come from where the halves meet, minima of three neighbours, bands cut by data.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint32_t state = 1965;

static uint32_t draw(uint32_t below)
{
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return (state >> 4) % below;
}

static uint32_t least(uint32_t a, uint32_t b, uint32_t c)
{
    uint32_t m = a < b ? a : b;

    return m < c ? m : c;
}

/* The last row of costs of a against the beginnings of b; step -1 goes from the ends. */
static void last_row(const char *a, size_t n, const char *b, size_t m, int step, uint32_t *row)
{
    for (size_t j = 0; j <= m; j++)
        row[j] = (uint32_t)j;
    for (size_t i = 0; i < n; i++) {
        uint32_t diagonal = row[0]++;
        char x = step > 0 ? a[i] : a[n - 1 - i];

        for (size_t j = 0; j < m; j++) {
            char y = step > 0 ? b[j] : b[m - 1 - j];
            uint32_t above = row[j + 1];

            row[j + 1] = least(above + 1, row[j] + 1, diagonal + (x != y));
            diagonal = above;
        }
    }
}

static uint32_t align(const char *a, size_t n, const char *b, size_t m, uint32_t *rows,
                      uint64_t *path)
{
    uint32_t *down = rows, *up = rows + m + 1, best = UINT32_MAX;
    size_t half = n / 2, at = 0;

    if (n <= 1 || m == 0) {
        uint32_t same = n == 1 && m > 0 && memchr(b, a[0], m) != NULL;

        *path = *path * 31 + n * 7 + m;
        return (uint32_t)(n > m ? n : m) - same;
    }
    last_row(a, half, b, m, 1, down);
    last_row(a + half, n - half, b, m, -1, up);
    for (size_t j = 0; j <= m; j++) {
        if (down[j] + up[m - j] < best) {
            best = down[j] + up[m - j];
            at = j;
        }
    }
    return align(a, half, b, at, rows, path) +
           align(a + half, n - half, b + at, m - at, rows, path);
}

/* At most `most`, or most + 1. */
static uint32_t banded(const char *a, const char *b, int n, int m, int most)
{
    uint32_t row[2][128] = {{0}};

    for (int j = 0; j <= m; j++)
        row[0][j] = (uint32_t)j;
    for (int i = 1; i <= n; i++) {
        uint32_t *now = row[i & 1], *before = row[~i & 1], found = UINT32_MAX;
        int from = i > most ? i - most : 1, to = i + most < m ? i + most : m;

        now[from - 1] = from == 1 ? (uint32_t)i : 1000;
        for (int j = from; j <= to; j++) {
            uint32_t above = j < i + most ? before[j] + 1 : 1000;

            now[j] = least(above, now[j - 1] + 1, before[j - 1] + (a[i - 1] != b[j - 1]));
            found = now[j] < found ? now[j] : found;
        }
        if (found > (uint32_t)most)
            return (uint32_t)most + 1;
    }
    return row[n & 1][m];
}

int main(int argc, char **argv)
{
    size_t n = argc > 1 ? strtoul(argv[1], NULL, 10) : 1400, m = 0, words = 4 * n;
    char *a = malloc(n), *b = malloc(2 * n + 2), (*word)[24] = malloc(words * sizeof(*word));
    uint32_t *rows = malloc((4 * n + 8) * sizeof(*rows));
    uint64_t sum = 0, path = 0;

    for (size_t i = 0; i < n; i++) {
        a[i] = "acgt"[draw(4)];
        for (uint32_t k = draw(12) ? 1 : draw(3); k > 0; k--)
            b[m++] = draw(9) ? a[i] : "acgt"[draw(4)];
    }
    sum = align(a, n, b, m, rows, &path) + path;
    for (size_t w = 0; w < words; w++)
        for (int k = 0; k < 24; k++)
            word[w][k] = w > 5 && draw(10) ? word[w / 5 * 5 - 5 + w % 2][k] : "abcdefgh"[draw(8)];
    for (size_t w = 0; w < words; w++)
        for (int k = 0; k < 8; k++)
            sum = sum * 3 + banded(word[w], word[draw((uint32_t)words)], 24, 20 + k % 5, 4);
    free(a);
    free(b);
    free(word);
    free(rows);
    printf("editdist %zu checksum %" PRIu64 "\n", n, sum);
    return 0;
}
