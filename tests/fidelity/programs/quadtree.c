/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * quadtree: points that move are kept in a quad tree with buckets of eight, leaves split when they
 * are full; boxes are counted each step. Irregular: heap nodes of two kinds, points by number in
 * the leaves (an indirection into arrays of coordinates), a tree that is made anew each step.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { BUCKET = 8, DEEPEST = 16 };

struct quad {
    int points; /* -1: has children */
    union {
        uint32_t point[BUCKET];
        struct quad *child[4];
    } u;
};

static float *x, *y, *vx, *vy;
static size_t quads;

static float draw(uint32_t *s)
{
    *s ^= *s << 13;
    *s ^= *s >> 17;
    *s ^= *s << 5;
    return (float)(*s >> 8) * 0x1p-24f;
}

static struct quad *new_quad(void)
{
    struct quad *q = malloc(sizeof(*q));

    q->points = 0;
    quads++;
    return q;
}

static void insert(struct quad *q, uint32_t p, float cx, float cy, float half, int depth)
{
    while (q->points < 0) {
        int east = x[p] >= cx, north = y[p] >= cy;

        half *= 0.5f;
        cx += east ? half : -half;
        cy += north ? half : -half;
        depth++;
        q = q->u.child[2 * north + east];
    }
    if (q->points < BUCKET) {
        q->u.point[q->points++] = p;
    } else if (depth < DEEPEST) {
        uint32_t old[BUCKET];

        for (int i = 0; i < BUCKET; i++)
            old[i] = q->u.point[i];
        for (int i = 0; i < 4; i++)
            q->u.child[i] = new_quad();
        q->points = -1;
        for (int i = 0; i < BUCKET; i++)
            insert(q, old[i], cx, cy, half, depth);
        insert(q, p, cx, cy, half, depth);
    }
}

static unsigned count(const struct quad *q, float cx, float cy, float half, const float *box)
{
    unsigned sum = 0;

    if (cx + half < box[0] || cx - half > box[1] || cy + half < box[2] || cy - half > box[3])
        return 0;
    for (int i = 0; i < q->points; i++) {
        uint32_t p = q->u.point[i];

        sum += x[p] >= box[0] && x[p] <= box[1] && y[p] >= box[2] && y[p] <= box[3];
    }
    if (q->points >= 0)
        return sum;
    half *= 0.5f;
    for (int i = 0; i < 4; i++)
        sum += count(q->u.child[i], cx + (i & 1 ? half : -half), cy + (i & 2 ? half : -half), half,
                     box);
    return sum;
}

static void drop(struct quad *q)
{
    for (int i = 0; q->points < 0 && i < 4; i++)
        drop(q->u.child[i]);
    free(q);
}

int main(int argc, char **argv)
{
    uint32_t n = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 20000;
    uint32_t seed = 31337;
    uint64_t sum = 0;

    x = malloc(n * sizeof(float));
    y = malloc(n * sizeof(float));
    vx = malloc(n * sizeof(float));
    vy = malloc(n * sizeof(float));
    for (uint32_t i = 0; i < n; i++) {
        x[i] = draw(&seed) * draw(&seed); /* denser near a corner */
        y[i] = draw(&seed);
        vx[i] = (draw(&seed) - 0.5f) * 0.05f;
        vy[i] = (draw(&seed) - 0.5f) * 0.05f;
    }
    for (int step = 0; step < 5; step++) {
        struct quad *root = new_quad();

        for (uint32_t i = 0; i < n; i++)
            insert(root, i, 0.5f, 0.5f, 0.5f, 0);
        for (uint32_t i = 0; i < n; i += 4) {
            float box[4] = {x[i] - 0.01f, x[i] + 0.01f, y[i] - 0.02f, y[i] + 0.02f};

            sum = sum * 3 + count(root, 0.5f, 0.5f, 0.5f, box);
        }
        drop(root);
        for (uint32_t i = 0; i < n; i++) {
            x[i] += vx[i];
            y[i] += vy[i];
            if (x[i] < 0 || x[i] > 1)
                vx[i] = -vx[i];
            if (y[i] < 0 || y[i] > 1)
                vy[i] = -vy[i];
        }
    }
    free(x);
    free(y);
    free(vx);
    free(vy);
    printf("quadtree %u checksum %" PRIu64 " (%zu)\n", n, sum, quads);
    return 0;
}
