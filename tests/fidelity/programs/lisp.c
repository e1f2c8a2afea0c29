/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lisp: a Lisp whose cells are marked and swept: programs in lists are evaluated (n queens with
 * lists of columns, an insertion sort), garbage is collected when no cell is free. Irregular: lists
 * through a heap that is more and more mixed, marking by recursion, sweeps of the whole heap.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SMALL = 1 << 20 }; /* values below are numbers, others cells */

struct cell {
    uint32_t head, tail;
    uint32_t mark;
};

static struct cell *heap;
static uint32_t cells, free_cells, left, collections, roots[4096], rooted;

static void mark(uint32_t v)
{
    while (v >= SMALL && !heap[v - SMALL].mark) {
        heap[v - SMALL].mark = 1;
        mark(heap[v - SMALL].head);
        v = heap[v - SMALL].tail;
    }
}

static void collect(void)
{
    for (uint32_t i = 0; i < rooted; i++)
        mark(roots[i]);
    free_cells = left = 0;
    for (uint32_t i = 1; i < cells; i++) {
        if (!heap[i].mark) {
            heap[i].tail = free_cells;
            free_cells = i;
            left++;
        }
        heap[i].mark = 0;
    }
    collections++;
    if (left < cells / 8) { /* larger, with new cells at the end */
        heap = realloc(heap, 2 * cells * sizeof(*heap));
        memset(heap + cells, 0, cells * sizeof(*heap));
        for (uint32_t i = cells; i < 2 * cells; i++) {
            heap[i].tail = free_cells;
            free_cells = i;
        }
        cells *= 2;
    }
}

/* 0 is nil, numbers are n + 1. */
static uint32_t cons(uint32_t head, uint32_t tail)
{
    uint32_t c;

    roots[rooted] = head;
    roots[rooted + 1] = tail;
    if (!free_cells) {
        rooted += 2;
        collect();
        rooted -= 2;
    }
    c = free_cells;
    free_cells = heap[c].tail;
    heap[c].head = head;
    heap[c].tail = tail;
    return c + SMALL;
}

static uint32_t head(uint32_t v)
{
    return heap[v - SMALL].head;
}

static uint32_t tail(uint32_t v)
{
    return heap[v - SMALL].tail;
}

static int attacked(uint32_t column, uint32_t placed)
{
    for (uint32_t d = 1; placed; d++, placed = tail(placed))
        if (head(placed) == column || head(placed) + d == column || head(placed) == column + d)
            return 1;
    return 0;
}

/* All ways to go on from each list of columns, as a list of lists. */
static uint32_t extend(uint32_t boards, uint32_t size)
{
    uint32_t base = rooted, out = 0;

    roots[rooted++] = boards;
    roots[rooted++] = 0;
    for (; boards; boards = tail(boards)) {
        roots[base] = boards;
        for (uint32_t c = 1; c <= size; c++)
            if (!attacked(c, head(boards)))
                roots[base + 1] = out = cons(cons(c, head(boards)), out);
    }
    rooted = base;
    return out;
}

/* A new list with the value where it belongs; the rest is shared. */
static uint32_t insert(uint32_t value, uint32_t sorted)
{
    uint32_t result;

    if (!sorted || value <= head(sorted))
        return cons(value, sorted);
    roots[rooted++] = sorted;
    result = insert(value, tail(sorted));
    rooted--;
    return cons(head(sorted), result);
}

int main(int argc, char **argv)
{
    uint32_t n = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 18000, s = 1958;
    uint64_t sum = 0;

    heap = calloc(cells = 4096, sizeof(*heap));
    collect();
    roots[rooted++] = 0; /* what lives on: a list of sorted lists */
    for (uint32_t i = 0; i < n; i++) {
        uint32_t sorted = i % 64 ? head(roots[0]) : 0, rest = i % 64 ? tail(roots[0]) : roots[0];

        s ^= s << 13;
        s ^= s >> 17;
        s ^= s << 5;
        roots[rooted++] = rest;
        sorted = insert(1 + (s >> 8) % 5000, sorted);
        rooted--;
        roots[0] = cons(sorted, rest);
        if (i % 3000 == 0) {
            uint32_t boards = cons(0, 0), found = 0;

            for (uint32_t row = 0; row < 8; row++)
                boards = extend(boards, 8);
            for (; boards; boards = tail(boards))
                found++;
            sum += found;
        }
    }
    for (uint32_t lists = roots[0]; lists; lists = tail(lists))
        for (uint32_t l = head(lists); l; l = tail(l))
            sum = sum * 3 + head(l);
    free(heap);
    printf("lisp %u checksum %" PRIu64 " (%u collections)\n", n, sum, collections);
    return 0;
}
