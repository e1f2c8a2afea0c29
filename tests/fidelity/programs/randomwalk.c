/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * randomwalk: walks with return on a torus of 32 MB, a flight that puts discs into a bitmap,
 * and walks on a graph by alias tables that count visits. Irregular: steps near by, in columns far
 * apart, that come back by chance; restarts; two tables at one random place.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { SIDE = 2048, VERTICES = 30000, DEGREE = 8 };

struct alias {
    uint32_t threshold, own, other;
};

static uint64_t s = 1905;

static uint32_t rnd(void)
{
    s ^= s << 13;
    s ^= s >> 7;
    s ^= s << 17;
    return (uint32_t)(s >> 32);
}

static uint64_t torus(size_t steps)
{
    uint64_t *visits = calloc((size_t)SIDE * SIDE, sizeof(*visits)), sum = 0;
    uint32_t x = SIDE / 2, y = SIDE / 2;

    for (size_t i = 0; i < steps; i++) {
        uint32_t r = rnd();

        switch (r >> 30) {
        case 0:
            x = (x + 1) % SIDE;
            break;
        case 1:
            x = (x + SIDE - 1) % SIDE;
            break;
        case 2:
            y = (y + 1) % SIDE;
            break;
        default:
            y = (y + SIDE - 1) % SIDE;
        }
        if (r % 4096 == 0) { /* a jump */
            x = r >> 12 & (SIDE - 1);
            y = rnd() % SIDE;
        }
        sum += ++visits[(size_t)y * SIDE + x];
    }
    free(visits);
    return sum;
}

/* Puts discs down along a Lévy flight unless one is there, in a bitmap. */
static uint64_t flight(size_t steps)
{
    uint64_t *map = calloc((size_t)SIDE * SIDE / 64, sizeof(*map)), placed = 0;
    uint32_t x = 0, y = 0;

    for (size_t i = 0; i < steps; i++) {
        uint32_t r = rnd(), reach = 1u << __builtin_ctz(r | 1024), room = 1;

        x = (x + r % (2 * reach) - reach) % SIDE;
        y = (y + (r >> 11) % (2 * reach) - reach) % SIDE;
        for (uint32_t k = 0; k < 9 && room; k++) {
            size_t bit = (size_t)((y + k / 3) % SIDE) * SIDE + (x + k % 3) % SIDE;

            room = !(map[bit / 64] >> bit % 64 & 1);
        }
        if (room) {
            size_t bit = (size_t)((y + 1) % SIDE) * SIDE + (x + 1) % SIDE;

            map[bit / 64] |= UINT64_C(1) << bit % 64;
            placed += i;
        }
    }
    free(map);
    return placed;
}

static uint64_t graph(size_t steps)
{
    struct alias(*edge)[DEGREE] = malloc(VERTICES * sizeof(*edge));
    uint32_t *count = calloc(VERTICES, sizeof(*count)), at = 0;
    uint64_t sum = 0;

    for (uint32_t v = 0; v < VERTICES; v++)
        for (int k = 0; k < DEGREE; k++)
            edge[v][k] = (struct alias){rnd(), (v + rnd() % 64) % VERTICES,
                                        (uint32_t)((uint64_t)rnd() * rnd() >> 32) % VERTICES};
    for (size_t i = 0; i < steps; i++) {
        const struct alias *e = &edge[at][rnd() % DEGREE];

        at = rnd() < e->threshold ? e->own : e->other;
        if (++count[at] % 64 == 0)
            at = rnd() % VERTICES;
    }
    for (uint32_t v = 0; v < VERTICES; v++)
        sum = sum * 3 + count[v];
    free(edge);
    free(count);
    return sum;
}

int main(int argc, char **argv)
{
    size_t n = argc > 1 ? strtoul(argv[1], NULL, 10) : 800000;
    uint64_t sum = torus(2 * n);

    sum = sum * 31 + flight(n / 2);
    sum = sum * 31 + graph(n);
    printf("randomwalk %zu checksum %" PRIu64 "\n", n, sum);
    return 0;
}
