/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bwt: blocks are transformed by Burrows and Wheeler (rotations sorted by a bucket sort and qsort),
 * moved to front, coded in runs, and transformed back. Irregular: comparisons of rotations anywhere
 * in the block, a list that is reordered symbol by symbol, one long cycle through the block.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 30000 };

static unsigned char block[2 * BLOCK], last[BLOCK], again[BLOCK], front[BLOCK];
static uint32_t order[BLOCK], successor[BLOCK], count[65537];

static uint32_t xorshift(uint32_t *s)
{
    *s ^= *s << 13;
    *s ^= *s >> 17;
    return *s ^= *s << 5;
}

static void make_block(uint32_t *seed)
{
    static const char *const word[] = {"the ", "quick ", "brown ", "fox ", "jumps ", "over ",
                                       "a ",   "lazy ",  "dog, ",  "and ", "then ",  "sleeps. "};
    size_t n = 0;

    while (n < BLOCK) {
        uint32_t r = xorshift(seed) >> 7;
        const char *w = word[(r & 15) * (r >> 4 & 15) / 15 % 12];

        while (*w && n < BLOCK)
            block[n++] = (unsigned char)*w++;
        if (r % 7 == 0 && n < BLOCK)
            block[n++] = (unsigned char)('0' + r / 7 % 10);
    }
    memcpy(block + BLOCK, block, BLOCK);
}

static int compare(const void *a, const void *b)
{
    uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b, k = 2;

    while (k < BLOCK && block[i + k] == block[j + k])
        k++;
    if (k == BLOCK)
        return i < j ? -1 : 1;
    return block[i + k] - block[j + k];
}

static uint32_t transform(void)
{
    uint32_t primary = 0;

    memset(count, 0, sizeof(count));
    for (uint32_t i = 0; i < BLOCK; i++)
        count[(block[i] << 8 | block[i + 1]) + 1]++;
    for (uint32_t c = 0; c < 65536; c++)
        count[c + 1] += count[c];
    for (uint32_t i = 0; i < BLOCK; i++)
        order[count[block[i] << 8 | block[i + 1]]++] = i;
    for (uint32_t c = 0, from = 0; c < 65536; c++) { /* count[c] is now the end of c */
        if (count[c] > from + 1)
            qsort(order + from, count[c] - from, sizeof(*order), compare);
        from = count[c];
    }
    for (uint32_t i = 0; i < BLOCK; i++) {
        last[i] = block[order[i] + BLOCK - 1];
        if (order[i] == 0)
            primary = i;
    }
    return primary;
}

static uint64_t move_to_front(void)
{
    unsigned char list[256];
    uint64_t cost = 0;
    uint32_t run = 0;

    for (int c = 0; c < 256; c++)
        list[c] = (unsigned char)c;
    for (uint32_t i = 0; i < BLOCK; i++) {
        unsigned char c = last[i];
        int at = 0;

        while (list[at] != c)
            at++;
        for (int k = at; k > 0; k--)
            list[k] = list[k - 1];
        list[0] = c;
        front[i] = (unsigned char)at;
        run = at == 0 ? run + 1 : 0;
        cost += run > 3 ? 0 : 1 + (uint64_t)at;
    }
    return cost;
}

static void back(uint32_t primary)
{
    uint32_t start[257] = {0};

    for (uint32_t i = 0; i < BLOCK; i++)
        start[last[i] + 1]++;
    for (int c = 0; c < 256; c++)
        start[c + 1] += start[c];
    for (uint32_t i = 0; i < BLOCK; i++)
        successor[start[last[i]]++] = i;
    for (uint32_t i = 0, at = successor[primary]; i < BLOCK; i++, at = successor[at])
        again[i] = last[at];
}

int main(int argc, char **argv)
{
    size_t n = argc > 1 ? strtoul(argv[1], NULL, 10) : 4;
    uint32_t seed = 1994;
    uint64_t sum = 0;

    for (size_t i = 0; i < n; i++) {
        uint32_t primary;

        make_block(&seed);
        primary = transform();
        sum = sum * 31 + move_to_front() + primary;
        back(primary);
        sum = sum * 2 + (memcmp(block, again, BLOCK) == 0);
    }
    printf("bwt %zu checksum %" PRIu64 "\n", n, sum + front[BLOCK / 2]);
    return 0;
}
