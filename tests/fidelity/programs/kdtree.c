/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * kdtree: nearest neighbours in three dimensions; the points are partitioned in place around
 * medians (quickselect), the tree is implicit in their order. Irregular: depth first search that
 * prunes by the best distance so far, over clustered points.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct point {
    float x[3];
    uint32_t id;
};

static uint64_t state = 1181783497276652981u;

static double uniform(void)
{
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return (double)(state >> 11) * 0x1p-53;
}

static void swap(struct point *a, struct point *b)
{
    struct point t = *a;

    *a = *b;
    *b = t;
}

static void quickselect(struct point *p, size_t n, size_t k, int axis)
{
    size_t low = 0, high = n;

    while (high - low > 1) {
        float pivot = p[low + (high - low) / 2].x[axis];
        size_t lt = low, i = low, gt = high;

        while (i < gt) {
            if (p[i].x[axis] < pivot)
                swap(&p[i++], &p[lt++]);
            else if (p[i].x[axis] > pivot)
                swap(&p[i], &p[--gt]);
            else
                i++;
        }
        if (k < lt)
            high = lt;
        else if (k >= gt)
            low = gt;
        else
            return;
    }
}

static void build(struct point *p, size_t n, int axis)
{
    if (n < 2)
        return;
    quickselect(p, n, n / 2, axis);
    build(p, n / 2, (axis + 1) % 3);
    build(p + n / 2 + 1, n - n / 2 - 1, (axis + 1) % 3);
}

static void nearest(const struct point *p, size_t n, int axis, const float *q, float *best,
                    uint32_t *id)
{
    const struct point *middle = p + n / 2;
    float distance = 0, off;
    size_t rest = n - n / 2 - (n > 0);

    if (n == 0)
        return;
    for (int i = 0; i < 3; i++)
        distance += (q[i] - middle->x[i]) * (q[i] - middle->x[i]);
    if (distance < *best && distance > 0) {
        *best = distance;
        *id = middle->id;
    }
    off = q[axis] - middle->x[axis];
    axis = (axis + 1) % 3;
    if (off < 0)
        nearest(p, n / 2, axis, q, best, id);
    else
        nearest(middle + 1, rest, axis, q, best, id);
    if (off * off >= *best)
        return;
    if (off < 0)
        nearest(middle + 1, rest, axis, q, best, id);
    else
        nearest(p, n / 2, axis, q, best, id);
}

int main(int argc, char **argv)
{
    size_t n = argc > 1 ? strtoul(argv[1], NULL, 10) : 40000;
    struct point *points = malloc(n * sizeof(*points));
    uint64_t sum = 0;

    for (size_t i = 0; i < n; i++) {
        double spread = i % 3 ? 0.02 : 1;
        size_t near = i % 3 ? (size_t)(uniform() * (double)(i / 50 + 1)) : 0;

        for (int k = 0; k < 3; k++)
            points[i].x[k] = (float)((i % 3 ? (double)points[near].x[k] : 0) + spread * uniform());
        points[i].id = (uint32_t)i;
    }
    build(points, n, 0);
    for (size_t i = 0; i < n; i++) {
        const struct point *q = &points[(size_t)(uniform() * (double)n)];
        float best = 1e30f;
        uint32_t id = 0;

        nearest(points, n, 0, q->x, &best, &id);
        sum = sum * 3 + id;
    }
    free(points);
    printf("kdtree %zu checksum %" PRIu64 "\n", n, sum);
    return 0;
}
