/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The loops of several inputs, ranked by the largest share of accesses that they have in one of
 * them: what was hot before a change, or is after it, is near the top.
 */
#include "predict/report/rank.h"

#include <stdlib.h>
#include <string.h>

#include "formats/base/room.h"

bool rank_add(struct rank *rank, size_t input, const char *id, const char *name, size_t row,
              uint64_t accesses, uint64_t all)
{
    struct rank_loop *loop = NULL, *room;

    for (size_t i = 0; i < rank->count && !loop; i++)
        if (!rank->loops[i].is_in[input] && !strcmp(rank->loops[i].id, id))
            loop = &rank->loops[i];
    if (!loop) {
        room = psnap_with_room(rank->loops, &rank->room, rank->count + 1, sizeof *room);
        if (!room)
            return false;
        rank->loops = room;
        loop = &room[rank->count];
        *loop = (struct rank_loop){.id = strdup(id), .name = strdup(name)};
        if (!loop->id || !loop->name) {
            free(loop->id);
            free(loop->name);
            return false;
        }
        rank->count++;
    }
    loop->is_in[input] = true;
    loop->row[input] = row;
    loop->accesses[input] = accesses;
    loop->shares[input] = all ? (double)accesses / (double)all : 0;
    return true;
}

double rank_share(const struct rank_loop *loop)
{
    double largest = 0;

    for (size_t i = 0; i < RANK_INPUTS; i++)
        if (loop->shares[i] > largest)
            largest = loop->shares[i];
    return largest;
}

static int by_share(const void *left, const void *right)
{
    const struct rank_loop *a = left, *b = right;
    const double x = rank_share(a), y = rank_share(b);

    return x != y ? (x < y) - (x > y) : strcmp(a->id, b->id);
}

void rank_sort(struct rank *rank)
{
    if (rank->count)
        qsort(rank->loops, rank->count, sizeof *rank->loops, by_share);
}

void rank_release(struct rank *rank)
{
    for (size_t i = 0; i < rank->count; i++) {
        free(rank->loops[i].id);
        free(rank->loops[i].name);
    }
    free(rank->loops);
    *rank = (struct rank){0};
}
