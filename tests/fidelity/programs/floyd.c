/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * floyd: all shortest paths by Floyd and Warshall with successors, routes read out of them, then
 * transitive closure by bit rows, and centrality. Irregular: stores where a path gets shorter, and
 * only there; routes that hop through the matrix.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FAR = 1000000 };

static uint32_t state = 1962;

static uint32_t draw(uint32_t below)
{
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return (uint32_t)((uint64_t)state * below >> 32);
}

static void shortest(int32_t *distance, uint16_t *via, int n)
{
    for (int k = 0; k < n; k++) {
        const int32_t *from = distance + k * n;

        for (int i = 0; i < n; i++) {
            int32_t *row = distance + i * n, to = row[k];

            if (to >= FAR)
                continue;
            for (int j = 0; j < n; j++) {
                if (to + from[j] < row[j]) {
                    row[j] = to + from[j];
                    via[i * n + j] = via[i * n + k];
                }
            }
        }
    }
}

static uint64_t routes(const uint16_t *via, const int32_t *distance, uint32_t *passed, int n,
                       int count)
{
    uint64_t hops = 0;

    for (int r = 0; r < count; r++) {
        int at = (int)draw((uint32_t)n), to = (int)draw((uint32_t)n);

        if (distance[at * n + to] >= FAR)
            continue;
        while (at != to) {
            passed[at]++;
            at = via[at * n + to];
            hops++;
        }
    }
    return hops;
}

static uint64_t closure(const int32_t *distance, int n, int32_t limit)
{
    int words = (n + 63) / 64;
    uint64_t *bits = calloc((size_t)(n * words), sizeof(*bits)), count = 0;

    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            if (distance[i * n + j] < limit)
                bits[i * words + j / 64] |= UINT64_C(1) << j % 64;
    for (int k = 0; k < n; k++)
        for (int i = 0; i < n; i++)
            if (bits[i * words + k / 64] >> k % 64 & 1)
                for (int w = 0; w < words; w++)
                    bits[i * words + w] |= bits[k * words + w];
    for (int i = 0; i < n * words; i++)
        count += (uint64_t)__builtin_popcountll(bits[i]);
    free(bits);
    return count;
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? (int)strtoul(argv[1], NULL, 10) : 220;
    int32_t *distance = malloc((size_t)(n * n) * sizeof(*distance));
    uint16_t *via = malloc((size_t)(n * n) * sizeof(*via));
    uint32_t *passed = calloc((size_t)n, sizeof(*passed));
    uint64_t sum = 0;

    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) {
            distance[i * n + j] = i == j ? 0 : FAR;
            via[i * n + j] = (uint16_t)j;
        }
        for (int k = 0; k < 4; k++)
            distance[i * n + (i + (int)draw(k ? 12 : (uint32_t)n)) % n] = (int32_t)draw(90) + 1;
        distance[i * n + i] = 0;
    }
    shortest(distance, via, n);
    sum = routes(via, distance, passed, n, 40 * n);
    for (int32_t limit = 20; limit < 80; limit += 20)
        sum = sum * 31 + closure(distance, n, limit);
    for (int i = 0; i < n; i++)
        sum = sum * 3 + passed[i];
    for (int i = 0; i < n * n; i++)
        sum += (uint64_t)distance[i];
    free(distance);
    free(via);
    free(passed);
    printf("floyd %d checksum %" PRIu64 "\n", n, sum);
    return 0;
}
