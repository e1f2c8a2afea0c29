/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bloom: a blocked and a classic Bloom filter in front of sorted runs, and a count-min sketch of
 * what was asked. Irregular: bits at k random places of one line, or anywhere; bisection only for
 * what passes; rows of counters hit at a column each.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 4, COLUMNS = 1 << 12, BLOCK_WORDS = 8 };

struct filters {
    uint64_t *classic, *blocked;
    uint64_t bits; /* a power of two */
};

static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

static void add(struct filters *f, uint64_t key)
{
    uint64_t h = mix(key), step = h >> 32 | 1;
    uint64_t *block = f->blocked + (h & (f->bits / 64 - 1)) / BLOCK_WORDS * BLOCK_WORDS;

    for (int i = 0; i < 5; i++) {
        uint64_t bit = (h + (uint64_t)i * step) & (f->bits - 1);

        f->classic[bit / 64] |= UINT64_C(1) << bit % 64;
        block[h >> (20 + 6 * i) & (BLOCK_WORDS - 1)] |= UINT64_C(1) << (h >> (23 + 6 * i) & 63);
    }
}

static int maybe_classic(const struct filters *f, uint64_t key)
{
    uint64_t h = mix(key), step = h >> 32 | 1;

    for (int i = 0; i < 5; i++) {
        uint64_t bit = (h + (uint64_t)i * step) & (f->bits - 1);

        if (!(f->classic[bit / 64] >> bit % 64 & 1))
            return 0;
    }
    return 1;
}

static int maybe_blocked(const struct filters *f, uint64_t key)
{
    uint64_t h = mix(key);
    const uint64_t *block = f->blocked + (h & (f->bits / 64 - 1)) / BLOCK_WORDS * BLOCK_WORDS;

    for (int i = 0; i < 5; i++)
        if (!(block[h >> (20 + 6 * i) & (BLOCK_WORDS - 1)] >> (h >> (23 + 6 * i) & 63) & 1))
            return 0;
    return 1;
}

static int in_run(const uint64_t *run, size_t n, uint64_t key)
{
    size_t low = 0;

    while (n > 0) {
        size_t half = n / 2;

        if (run[low + half] < key) {
            low += half + 1;
            n -= half + 1;
        } else {
            n = half;
        }
    }
    return run[low] == key;
}

static uint32_t sketch(uint32_t (*counter)[COLUMNS], uint64_t key)
{
    uint32_t least = UINT32_MAX;

    for (int row = 0; row < ROWS; row++) {
        uint32_t *c = &counter[row][mix(key + (uint64_t)row * 77) % COLUMNS];

        if (++*c < least)
            least = *c;
    }
    return least;
}

int main(int argc, char **argv)
{
    size_t n = argc > 1 ? strtoul(argv[1], NULL, 10) : 400000, found = 0;
    struct filters f = {.bits = 512};
    uint64_t *run = malloc((n + 1) * sizeof(*run)), sum = 0, s = 9;
    uint32_t(*counter)[COLUMNS] = calloc(ROWS, sizeof(*counter));

    while (f.bits < 8 * n)
        f.bits *= 2;
    f.classic = calloc(f.bits / 64, sizeof(uint64_t));
    f.blocked = calloc(f.bits / 64, sizeof(uint64_t));
    for (size_t i = 0; i < n; i++) {
        run[i] = i * 5 + i % 5;
        add(&f, run[i]);
    }
    run[n] = UINT64_MAX;
    for (size_t i = 0; i < n; i++) {
        uint64_t key;

        s ^= s << 13;
        s ^= s >> 7;
        s ^= s << 17;
        key = (s >> 20) % (5 * n) * (1 + (s >> 60)) / 16;
        sum += sketch(counter, key / 50);
        if (maybe_classic(&f, key) && maybe_blocked(&f, key))
            found += (size_t)in_run(run, n, key);
    }
    free(f.classic);
    free(f.blocked);
    free(run);
    free(counter);
    printf("bloom %zu checksum %" PRIu64 " (%zu)\n", n, sum, found);
    return 0;
}
