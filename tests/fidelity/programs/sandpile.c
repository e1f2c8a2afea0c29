/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sandpile: an abelian sandpile with a queue of sites to topple, a forest fire that spreads by a
 * stack, and elementary automata on bit rows. Irregular: avalanches of any size around the grain
 * that started them; sites are queued in the order of instability.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint32_t side, *queue;
static uint8_t *grains, *queued;
static uint32_t state = 1987;

static uint32_t draw(uint32_t below)
{
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return (uint32_t)((uint64_t)state * below >> 32);
}

/* Sites have a border around them, where grains are lost. */
static uint64_t avalanche(uint32_t at)
{
    uint32_t width = side + 2, head = 0, tail = 0, sites = width * width;
    uint64_t topplings = 0;

    queue[tail++] = at;
    while (head != tail) {
        const uint32_t near[4] = {1, UINT32_MAX, width, -width};

        at = queue[head];
        head = head + 1 == sites ? 0 : head + 1;
        queued[at] = 0;
        if (grains[at] < 4)
            continue;
        grains[at] -= 4;
        topplings++;
        for (int k = 0; k < 4; k++) {
            uint32_t to = at + near[k], x = to % width;

            if (x == 0 || x > side || to < width || to >= width * (side + 1))
                continue;
            if (++grains[to] >= 4 && !queued[to]) {
                queued[to] = 1;
                queue[tail] = to;
                tail = tail + 1 == sites ? 0 : tail + 1;
            }
        }
    }
    return topplings;
}

static uint64_t fire(uint32_t trees)
{
    uint32_t width = side + 2, n = 0;
    uint64_t burnt = 0;

    memset(grains, 0, width * width);
    for (uint32_t i = 0; i < trees; i++) {
        uint32_t at = width * (1 + draw(side)) + 1 + draw(side);

        grains[at] = 1;
        if (i % 256)
            continue;
        queue[n++] = at;
        while (n > 0) {
            at = queue[--n];
            if (!grains[at])
                continue;
            grains[at] = 0;
            burnt++;
            queue[n++] = at + 1;
            queue[n++] = at - 1;
            queue[n++] = at + width;
            queue[n++] = at - width;
        }
    }
    return burnt;
}

static uint64_t rule30(uint32_t words, uint32_t steps)
{
    uint64_t *row = calloc(2 * words, sizeof(*row)), *next = row + words, sum = 0;

    row[words / 2] = 1;
    for (uint32_t step = 0; step < steps; step++) {
        for (uint32_t i = 0; i < words; i++) {
            uint64_t left = row[i] << 1 | row[(i + words - 1) % words] >> 63;
            uint64_t right = row[i] >> 1 | row[(i + 1) % words] << 63;

            next[i] = left ^ (row[i] | right);
        }
        memcpy(row, next, words * sizeof(*row));
        sum = sum * 3 + row[words / 2];
    }
    free(row);
    return sum;
}

int main(int argc, char **argv)
{
    uint32_t n = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 200000, sites;
    uint64_t sum = 0;

    side = 12;
    while (side * side < n)
        side += 4;
    sites = (side + 2) * (side + 2);
    grains = malloc(sites);
    queued = calloc(sites, 1);
    queue = malloc((4 * sites + 4) * sizeof(*queue));
    for (uint32_t i = 0; i < sites; i++)
        grains[i] = (uint8_t)(1 + draw(3));
    for (uint32_t i = 0; i < n / 10 + 1; i++) {
        uint32_t at = (side + 2) * (1 + draw(side)) + 1 + draw(side);

        grains[at]++;
        sum = sum * 3 + avalanche(at);
    }
    sum = sum * 31 + fire(4 * n);
    sum = sum * 31 + rule30(n / 500 + 2, 1000);
    free(grains);
    free(queued);
    free(queue);
    printf("sandpile %u checksum %" PRIu64 "\n", n, sum);
    return 0;
}
