/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * components: connected parts of a picture are labelled by two passes with a table of equal labels,
 * measured, small ones flooded away with a stack, and a distance transform taken. Irregular: labels
 * of labels, boxes by label, floods that go wherever the part goes.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct part {
    uint32_t area;
    uint16_t left, top, right, bottom;
};

static uint32_t side, *label, *same;
static uint8_t *ink;

static uint32_t root(uint32_t l)
{
    while (same[l] != l)
        l = same[l] = same[same[l]];
    return l;
}

static void draw_blobs(void)
{
    uint32_t s = 1973;

    for (uint32_t k = 0; k < side * side / 150 + 1; k++) {
        uint32_t x, y, r;

        s ^= s << 13;
        s ^= s >> 17;
        s ^= s << 5;
        x = (s >> 3) % side;
        y = (s >> 9) * 7 % side;
        r = 1 + (s >> 28) * (s >> 24 & 7) / 16;
        for (uint32_t v = y > r ? y - r : 0; v < side && v <= y + r; v++)
            for (uint32_t u = x > r ? x - r : 0; u < side && u <= x + r; u++)
                if ((u - x) * (u - x) + (v - y) * (v - y) <= r * r)
                    ink[v * side + u] = 1;
    }
}

static uint32_t label_parts(void)
{
    uint32_t labels = 1;

    for (uint32_t y = 0; y < side; y++) {
        for (uint32_t x = 0; x < side; x++) {
            uint32_t at = y * side + x, above = y ? label[at - side] : 0;
            uint32_t left = x ? label[at - 1] : 0;

            if (!ink[at]) {
                label[at] = 0;
            } else if (!above && !left) {
                same[labels] = labels;
                label[at] = labels++;
            } else {
                label[at] = above ? above : left;
                if (above && left && above != left) {
                    uint32_t a = root(above), b = root(left);

                    same[a > b ? a : b] = a > b ? b : a;
                }
            }
        }
    }
    return labels;
}

static void measure(struct part *part)
{
    for (uint32_t at = 0; at < side * side; at++) {
        uint16_t x = (uint16_t)(at % side), y = (uint16_t)(at / side);
        struct part *p;

        if (!label[at])
            continue;
        label[at] = root(label[at]);
        p = &part[label[at]];
        if (p->area++ == 0)
            *p = (struct part){1, x, y, x, y};
        p->left = x < p->left ? x : p->left;
        p->right = x > p->right ? x : p->right;
        p->bottom = y;
    }
}

static uint32_t flood(uint32_t from, uint32_t *stack)
{
    uint32_t n = 0, erased = 0;

    stack[n++] = from;
    while (n > 0) {
        uint32_t at = stack[--n], x = at % side;

        if (!ink[at])
            continue;
        ink[at] = 0;
        erased++;
        if (x > 0)
            stack[n++] = at - 1;
        if (x + 1 < side)
            stack[n++] = at + 1;
        if (at >= side)
            stack[n++] = at - side;
        if (at + side < side * side)
            stack[n++] = at + side;
    }
    return erased;
}

int main(int argc, char **argv)
{
    uint32_t labels, *stack, erased = 0;
    struct part *part;
    uint64_t sum = 0;

    side = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 900;
    label = malloc(side * side * sizeof(*label));
    same = malloc((side * side / 2 + 2 + side) * sizeof(*same));
    ink = calloc(side, side);
    stack = malloc((4 * side * side + 4) * sizeof(*stack));
    draw_blobs();
    labels = label_parts();
    part = calloc(labels, sizeof(*part));
    measure(part);
    for (uint32_t at = 0; at < side * side; at++)
        if (ink[at] && part[label[at]].area % 3 == 0 && part[label[at]].right < side - 1)
            erased += flood(at, stack);
    for (uint32_t l = 1; l < labels; l++)
        sum = sum * 3 + part[l].area * (1u + part[l].right - part[l].left) + part[l].bottom;
    free(label);
    free(same);
    free(ink);
    free(stack);
    free(part);
    printf("components %u checksum %" PRIu64 " (%u erased)\n", side, sum, erased);
    return 0;
}
