/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pic: a plasma by particle-in-cell in two dimensions: charges are scattered to four corners of
 * their cell, a potential is relaxed, fields are gathered back; particles are sorted by cell every
 * few steps. Irregular: between two sorts, particles stray from the order of the grid.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 128, MASK = SIDE - 1 };

struct particle {
    float x, y, vx, vy;
};

static float charge[SIDE][SIDE], potential[SIDE][SIDE], ex[SIDE][SIDE], ey[SIDE][SIDE];

static float draw(uint32_t *s)
{
    *s ^= *s << 13;
    *s ^= *s >> 17;
    *s ^= *s << 5;
    return (float)(*s >> 8) * 0x1p-24f;
}

static void deposit(const struct particle *p, size_t n)
{
    memset(charge, 0, sizeof(charge));
    for (size_t i = 0; i < n; i++) {
        int x = (int)p[i].x & MASK, y = (int)p[i].y & MASK;
        float fx = p[i].x - floorf(p[i].x), fy = p[i].y - floorf(p[i].y);

        charge[y][x] += (1 - fx) * (1 - fy);
        charge[y][(x + 1) & MASK] += fx * (1 - fy);
        charge[(y + 1) & MASK][x] += (1 - fx) * fy;
        charge[(y + 1) & MASK][(x + 1) & MASK] += fx * fy;
    }
}

static void relax(float mean)
{
    for (int round = 0; round < 4; round++)
        for (int colour = 0; colour < 2; colour++)
            for (int y = 0; y < SIDE; y++)
                for (int x = (y + colour) & 1; x < SIDE; x += 2)
                    potential[y][x] =
                        0.25f * (potential[y][(x + 1) & MASK] + potential[y][(x - 1) & MASK] +
                                 potential[(y + 1) & MASK][x] + potential[(y - 1) & MASK][x] +
                                 charge[y][x] - mean);
    for (int y = 0; y < SIDE; y++) {
        for (int x = 0; x < SIDE; x++) {
            ex[y][x] = 0.5f * (potential[y][(x - 1) & MASK] - potential[y][(x + 1) & MASK]);
            ey[y][x] = 0.5f * (potential[(y - 1) & MASK][x] - potential[(y + 1) & MASK][x]);
        }
    }
}

static float wrap(float a)
{
    return a < 0 ? a + SIDE : a >= SIDE ? a - SIDE : a;
}

static void push(struct particle *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        int x = (int)p[i].x & MASK, y = (int)p[i].y & MASK;

        p[i].vx += 0.05f * (ex[y][x] + ex[y][(x + 1) & MASK]);
        p[i].vy += 0.05f * (ey[y][x] + ey[(y + 1) & MASK][x]);
        p[i].x = wrap(p[i].x + 0.5f * fmaxf(-9, fminf(9, p[i].vx)));
        p[i].y = wrap(p[i].y + 0.5f * fmaxf(-9, fminf(9, p[i].vy)));
    }
}

static void sort(struct particle **p, struct particle **other, size_t n)
{
    static uint32_t start[SIDE * SIDE + 1];
    struct particle *from = *p, *to = *other;

    memset(start, 0, sizeof(start));
    for (size_t i = 0; i < n; i++)
        start[((int)from[i].y & MASK) * SIDE + ((int)from[i].x & MASK) + 1]++;
    for (int c = 0; c < SIDE * SIDE; c++)
        start[c + 1] += start[c];
    for (size_t i = 0; i < n; i++)
        to[start[((int)from[i].y & MASK) * SIDE + ((int)from[i].x & MASK)]++] = from[i];
    *p = to;
    *other = from;
}

int main(int argc, char **argv)
{
    size_t n = argc > 1 ? strtoul(argv[1], NULL, 10) : 60000;
    struct particle *p = malloc(n * sizeof(*p)), *other = malloc(n * sizeof(*p));
    uint32_t s = 16021766;
    double sum = 0;

    for (size_t i = 0; i < n; i++) {
        p[i].x = draw(&s) * SIDE;
        p[i].y = draw(&s) * draw(&s) * SIDE;
        p[i].vx = (i & 1 ? 1.0f : -1.0f) + draw(&s) - 0.5f;
        p[i].vy = draw(&s) - 0.5f;
    }
    for (int step = 0; step < 12; step++) {
        if (step % 5 == 2)
            sort(&p, &other, n);
        deposit(p, n);
        relax((float)n / (SIDE * SIDE));
        push(p, n);
    }
    for (size_t i = 0; i < n; i++)
        sum += (double)(p[i].x * (float)(i % 3)) + (double)p[i].y;
    free(p);
    free(other);
    printf("pic %zu checksum %.3f\n", n, sum);
    return 0;
}
