/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A stream kept in memory (tape.h). It is words: records, each a head, whose lowest bits say what
 * it is, and what follows:
 *
 *   accesses   4 * n, then n accesses
 *   a nest     4 * loops + 1, width and levels, then the loops, the first accesses, the strides
 *   again      4 * place + 2: the nest that is there comes again
 */
#include "profile/collect/tape.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "formats/base/room.h"

enum {
    TAPE_WORDS = 1 << 22, /* at most: 32 MiB */
    TAPE_TRIAL =
        1 << 16,     /* words after which a tape must have TAPE_SHARE accesses for each: what */
    TAPE_SHARE = 32, /* is not that regular would fill it, and go through two lanes for that */
    TAPE_PLACES = 1 << 14,
    ACCESS_WORDS = sizeof(struct psnap_access) / sizeof(uint64_t),
    LOOP_WORDS = sizeof(struct psnap_nest_loop) / sizeof(uint64_t),
    NEST_HEAD = 2
};

enum { TAPE_ACCESSES, TAPE_NEST, TAPE_AGAIN };

struct tape {
    uint64_t *words;
    size_t count, room;
    uint64_t accesses;
    uint32_t places[TAPE_PLACES]; /* by hash: 1 + where a nest is, or 0 */
};

struct tape *tape_new(void)
{
    return calloc(1, sizeof(struct tape));
}

void tape_free(struct tape *tape)
{
    if (tape)
        free(tape->words);
    free(tape);
}

/* Room for so many words more; NULL: there is none. */
static uint64_t *room_for(struct tape *tape, size_t count)
{
    uint64_t *words;

    if (count > TAPE_WORDS - tape->count ||
        (tape->count > TAPE_TRIAL && tape->accesses / TAPE_SHARE < tape->count))
        return NULL;
    words = psnap_with_room(tape->words, &tape->room, tape->count + count, sizeof *words);
    if (!words)
        return NULL;
    tape->words = words;
    return words + tape->count;
}

bool tape_keep(struct tape *tape, const struct psnap_access *block, size_t n)
{
    uint64_t *at = room_for(tape, 1 + n * ACCESS_WORDS);

    if (!at)
        return false;
    *at = n * 4 + TAPE_ACCESSES;
    memcpy(at + 1, block, n * sizeof *block);
    tape->count += 1 + n * ACCESS_WORDS;
    tape->accesses += n;
    return true;
}

/* A nest with columns, whose words are not kept, becomes accesses. */
static bool keep_accesses(struct tape *tape, const struct psnap_nest *nest)
{
    const uint64_t accesses = psnap_nest_accesses(nest);
    struct psnap_nest_walk walk;
    struct psnap_access *access;
    struct psnap_run run;
    uint64_t *at =
        accesses < TAPE_WORDS ? room_for(tape, 1 + (size_t)accesses * ACCESS_WORDS) : NULL;

    if (!at)
        return false;
    *at = accesses * 4 + TAPE_ACCESSES;
    access = (struct psnap_access *)(at + 1);
    psnap_nest_walk_init(&walk, nest);
    while (psnap_nest_walk_next(&walk, &run))
        for (uint64_t i = 0; i < run.count; i++)
            for (size_t k = 0; k < run.width; k++, access++) {
                *access = run.first[k];
                access->address = psnap_run_address(&run, i, k);
            }
    tape->count += 1 + (size_t)accesses * ACCESS_WORDS;
    tape->accesses += accesses;
    return true;
}

/* Whether the same words are at a place of the tape. */
static bool is_same(const struct tape *tape, size_t place, const uint64_t *words, size_t count)
{
    return place + count <= tape->count &&
           memcmp(&tape->words[place], words, count * sizeof *words) == 0;
}

bool tape_keep_nest(struct tape *tape, const struct psnap_nest *nest)
{
    const size_t loops = nest->loop_count, width = nest->loops->width;
    const size_t count =
        NEST_HEAD + loops * LOOP_WORDS + width * (ACCESS_WORDS + (size_t)nest->levels);
    uint64_t *at;
    uint32_t *place;

    if (nest->columns)
        return keep_accesses(tape, nest);
    at = room_for(tape, count);
    if (!at)
        return false;
    at[0] = loops * 4 + TAPE_NEST;
    at[1] = width | (uint64_t)nest->levels << 32;
    memcpy(at + NEST_HEAD, nest->loops, loops * sizeof *nest->loops);
    memcpy(at + NEST_HEAD + loops * LOOP_WORDS, nest->first, width * sizeof *nest->first);
    memcpy(at + NEST_HEAD + loops * LOOP_WORDS + width * ACCESS_WORDS, nest->strides,
           width * nest->levels * sizeof *nest->strides);
    tape->accesses += psnap_nest_accesses(nest);
    place = &tape->places[XXH3_64bits(at, count * sizeof *at) % TAPE_PLACES];
    if (*place && is_same(tape, *place - (size_t)1, at, count)) {
        *at = (*place - UINT64_C(1)) * 4 + TAPE_AGAIN;
        tape->count++;
        return true;
    }
    *place = (uint32_t)tape->count + 1;
    tape->count += count;
    return true;
}

/* The nest at a place; returns its words. */
static size_t get_nest(const uint64_t *at, struct psnap_nest *nest)
{
    const size_t loops = (size_t)(at[0] / 4), width = (uint32_t)at[1], levels = at[1] >> 32;
    const uint64_t *first = at + NEST_HEAD + loops * LOOP_WORDS;

    *nest = (struct psnap_nest){.loops = (const struct psnap_nest_loop *)(at + NEST_HEAD),
                                .first = (const struct psnap_access *)first,
                                .strides = (const int64_t *)(first + width * ACCESS_WORDS),
                                .loop_count = (uint32_t)loops,
                                .levels = (uint32_t)levels};
    return NEST_HEAD + loops * LOOP_WORDS + width * (ACCESS_WORDS + levels);
}

bool tape_play(const struct tape *tape, struct lane *lane)
{
    bool is_done = true;

    for (size_t i = 0; i < tape->count && is_done;) {
        const uint64_t *at = &tape->words[i];
        const size_t n = (size_t)(*at / 4);
        struct psnap_nest nest;
        if (*at % 4 == TAPE_ACCESSES) {
            is_done = lane_put(lane, (const struct psnap_access *)(at + 1), n);
            i += 1 + n * ACCESS_WORDS;
            continue;
        }
        if (*at % 4 == TAPE_NEST) {
            i += get_nest(at, &nest);
        } else {
            get_nest(&tape->words[n], &nest);
            i++;
        }
        is_done = lane_put_nest(lane, &nest);
    }
    return is_done;
}
