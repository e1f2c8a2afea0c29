/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dlx: sudokus solved as exact covers by Knuth's dancing links: a matrix of four-way linked nodes
 * whose columns are covered and uncovered by a backtracking search. Irregular: 100 KB of links that
 * are unlinked and linked again in exactly reverse order, always at the smallest column.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 4 * 81, NODES = 1 + COLUMNS + 4 * 729 };

struct node {
    uint16_t left, right, up, down, column, row;
};

static struct node node[NODES];
static uint16_t size[COLUMNS + 1];
static uint64_t covers;

static void build(void)
{
    uint16_t at = COLUMNS + 1;

    for (uint16_t c = 0; c <= COLUMNS; c++) {
        node[c] = (struct node){
            (uint16_t)(c ? c - 1 : COLUMNS), (uint16_t)(c < COLUMNS ? c + 1 : 0), c, c, c, 0};
        size[c] = 0;
    }
    for (int row = 0; row < 729; row++) {
        int digit = row % 9, x = row / 9 % 9, y = row / 81;
        int column[4] = {y * 9 + x, 81 + y * 9 + digit, 162 + x * 9 + digit,
                         243 + (y / 3 * 3 + x / 3) * 9 + digit};

        for (int k = 0; k < 4; k++, at++) {
            uint16_t c = (uint16_t)(column[k] + 1);

            node[at] = (struct node){(uint16_t)(at + (k ? -1 : 3)),
                                     (uint16_t)(at + (k < 3 ? 1 : -3)),
                                     node[c].up,
                                     c,
                                     c,
                                     (uint16_t)row};
            node[node[c].up].down = at;
            node[c].up = at;
            size[c]++;
        }
    }
}

static void cover(uint16_t c)
{
    covers++;
    node[node[c].right].left = node[c].left;
    node[node[c].left].right = node[c].right;
    for (uint16_t i = node[c].down; i != c; i = node[i].down) {
        for (uint16_t j = node[i].right; j != i; j = node[j].right) {
            node[node[j].down].up = node[j].up;
            node[node[j].up].down = node[j].down;
            size[node[j].column]--;
        }
    }
}

static void uncover(uint16_t c)
{
    for (uint16_t i = node[c].up; i != c; i = node[i].up) {
        for (uint16_t j = node[i].left; j != i; j = node[j].left) {
            size[node[j].column]++;
            node[node[j].down].up = j;
            node[node[j].up].down = j;
        }
    }
    node[node[c].right].left = c;
    node[node[c].left].right = c;
}

static int search(uint16_t *solution, int depth, int *budget)
{
    uint16_t best = node[0].right;
    int found = 0;

    if (best == 0)
        return 1;
    if (--*budget < 0)
        return 0;
    for (uint16_t c = best; c; c = node[c].right)
        if (size[c] < size[best])
            best = c;
    cover(best);
    for (uint16_t r = node[best].down; r != best && !found; r = node[r].down) {
        solution[depth] = node[r].row;
        for (uint16_t j = node[r].right; j != r; j = node[j].right)
            cover(node[j].column);
        found = search(solution, depth + 1, budget);
        for (uint16_t j = node[r].left; j != r; j = node[j].left)
            uncover(node[j].column);
    }
    uncover(best);
    return found;
}

/* Covers what a given says, unless it is in conflict with others: then 0. */
static int give(int row)
{
    uint16_t first = (uint16_t)(COLUMNS + 1 + 4 * row);

    for (int k = 0; k < 4; k++)
        if (node[node[node[first + k].column].left].right != node[first + k].column)
            return 0;
    for (int k = 0; k < 4; k++)
        cover(node[first + k].column);
    return 1;
}

int main(int argc, char **argv)
{
    size_t n = argc > 1 ? strtoul(argv[1], NULL, 10) : 150;
    uint32_t s = 81818181;
    uint64_t sum = 0, solved = 0;

    for (size_t i = 0; i < n; i++) {
        uint16_t solution[81] = {0};
        int budget = 150;

        build();
        for (int k = 0; k < 16; k++) {
            s ^= s << 13;
            s ^= s >> 17;
            s ^= s << 5;
            sum += (uint64_t)give((int)((s >> 8) % 729));
        }
        solved += (uint64_t)search(solution, 0, &budget);
        for (int k = 0; k < 81; k++)
            sum = sum * 3 + solution[k];
    }
    printf("dlx %zu checksum %" PRIu64 " (%" PRIu64 " solved, %" PRIu64 " covers)\n", n, sum,
           solved, covers);
    return 0;
}
