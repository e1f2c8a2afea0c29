/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * medianfilter: a median filter by Huang's moving histogram, equalisation by tiles through tables,
 * and error diffusion. Irregular: counters by the pixel's value that enter and leave, a median that
 * moves up and down among them, tables of the nearest tiles.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RADIUS = 4, TILE = 64 };

static int width, height;

static int clamp(int x, int most)
{
    return x < 0 ? 0 : x > most ? most : x;
}

static void make_picture(uint8_t *p)
{
    uint32_t s = 1979;

    for (int y = 0; y < height; y++) {
        for (int x = 0; x < width; x++) {
            s ^= s << 13;
            s ^= s >> 17;
            s ^= s << 5;
            p[y * width + x] =
                (uint8_t)(s >> 28 ? (x / 3 + y / 5 + ((x ^ y) >> 5 & 31) + (s >> 8 & 15))
                                  : s >> 16);
        }
    }
}

static void median(const uint8_t *in, uint8_t *out)
{
    const int half = (2 * RADIUS + 1) * (2 * RADIUS + 1) / 2;

    for (int y = 0; y < height; y++) {
        uint16_t histogram[256] = {0};
        int below = 0, m = 0; /* below: pixels smaller than m */

        for (int dy = -RADIUS; dy <= RADIUS; dy++)
            for (int dx = -RADIUS; dx <= RADIUS; dx++)
                histogram[in[clamp(y + dy, height - 1) * width + clamp(dx, width - 1)]]++;
        for (int x = 0; x < width; x++) {
            while (below > half)
                below -= histogram[--m];
            while (below + histogram[m] <= half)
                below += histogram[m++];
            out[y * width + x] = (uint8_t)m;
            for (int dy = -RADIUS; dy <= RADIUS; dy++) {
                const uint8_t *row = in + clamp(y + dy, height - 1) * width;
                uint8_t gone = row[clamp(x - RADIUS, width - 1)];
                uint8_t come = row[clamp(x + RADIUS + 1, width - 1)];

                histogram[gone]--;
                histogram[come]++;
                below += (come < m) - (gone < m);
            }
        }
    }
}

static void equalise(const uint8_t *in, uint8_t *out)
{
    int across = (width + TILE - 1) / TILE, down = (height + TILE - 1) / TILE;
    uint32_t(*table)[256] = calloc((size_t)(across * down), sizeof(*table));

    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++)
            table[y / TILE * across + x / TILE][in[y * width + x]]++;
    for (int t = 0; t < across * down; t++) {
        uint32_t sum = 0, all = 0;

        for (int v = 0; v < 256; v++)
            all += table[t][v];
        for (int v = 0; v < 256; v++) {
            sum += table[t][v];
            table[t][v] = sum * 255 / all;
        }
    }
    for (int y = 0; y < height; y++) {
        for (int x = 0; x < width; x++) {
            uint8_t v = in[y * width + x];
            int a = y / TILE * across + x / TILE;
            int b = clamp(y / TILE + 1, down - 1) * across + clamp(x / TILE + 1, across - 1);

            out[y * width + x] = (uint8_t)((table[a][v] * (uint32_t)(TILE - x % TILE) +
                                            table[b][v] * (uint32_t)(x % TILE)) /
                                           TILE);
        }
    }
    free(table);
}

static uint64_t diffuse(uint8_t *p)
{
    int *error = calloc((size_t)width + 2, sizeof(*error)), sum = 0;

    for (int y = 0; y < height; y++) {
        int ahead = 0, corner = 0;

        for (int i = 0; i < width; i++) { /* there and back */
            int x = y & 1 ? width - 1 - i : i, want = p[y * width + x] + ahead + error[x + 1] / 16;
            int got = want > 127 ? 255 : 0, e = want - got, behind = y & 1 ? x + 2 : x;

            p[y * width + x] = (uint8_t)got;
            ahead = e * 7 / 16;
            error[behind] += e * 3;
            error[x + 1] = e * 5 + corner;
            corner = e;
            sum += got & (x ^ y) & 3;
        }
    }
    free(error);
    return (uint64_t)sum;
}

int main(int argc, char **argv)
{
    uint64_t sum = 0;
    uint8_t *a, *b;

    width = argc > 1 ? (int)strtoul(argv[1], NULL, 10) : 700;
    height = width * 3 / 4 + 1;
    a = malloc((size_t)(width * height));
    b = malloc((size_t)(width * height));
    make_picture(a);
    median(a, b);
    equalise(b, a);
    for (int i = 0; i < width * height; i++)
        sum = sum * 3 + a[i];
    sum += diffuse(a);
    free(a);
    free(b);
    printf("medianfilter %d checksum %" PRIu64 "\n", width, sum);
    return 0;
}
