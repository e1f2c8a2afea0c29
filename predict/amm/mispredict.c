/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A predictor of blocks in the manner of TAGE (Seznec and Michaud, "A case for (partially) TAgged
 * GEometric history length branch prediction", 2006), which processors are thought to have or to
 * equal. A first table has for each block what followed it; tagged tables have what followed it
 * after the same last L decisions, for L in a geometric series. The longest match that has been
 * right before decides, else the first table.
 *
 * Where TAGE predicts the direction of a branch, this predicts the block: a stream shows only
 * blocks with accesses, and what was decided between two of them is one decision. A block that has
 * always been followed by the same one decides nothing and leaves no trace in the history.
 *
 * Threads have histories of their own and share the tables.
 */
#include "predict/amm/mispredict.h"

#include <stdlib.h>

#include "formats/base/access.h"
#include "formats/base/program.h"
#include "formats/base/rng.h"
#include "formats/base/room.h"

enum {
    TABLES = 6,
    TABLE_BITS = 12, /* entries of a tagged table: about as many in all as in 64 KiB of TAGE */
    HISTORY = 256,   /* decisions kept, a power of two, above the longest of lengths_of */
    SURE = 3         /* the counter of an entry that was right ever so often */
};

/* Lengths of histories, in decisions: a geometric series from 4 up to the 194 taken branches that
 * the history of Intel's Golden Cove has (Yavarzadeh et al., "Half&Half: Demystifying Intel's
 * directional branch predictors for fast, secure partitioned execution", 2023). */
static const uint32_t lengths_of[TABLES] = {4, 9, 20, 44, 97, 194};

#define HISTORY_FACTOR UINT64_C(0x9e3779b97f4a7c15) /* odd: no decision is multiplied away */

struct entry {
    uint32_t tag, next;
    uint8_t sure, useful;
};

struct history { /* of a thread */
    uint32_t decisions[HISTORY];
    uint32_t at;
    uint64_t hashes[TABLES]; /* of the last decisions, the sum of decision * HISTORY_FACTOR^age */
};

struct first { /* by block */
    uint32_t next;
    uint8_t sure;
    bool is_branch; /* was followed by two different ones */
    uint64_t wrong;
};

struct mispredict {
    struct entry tables[TABLES][1 << TABLE_BITS];
    uint64_t leaving[TABLES]; /* HISTORY_FACTOR ^ length */
    struct history *histories[PSNAP_THREADS_MAX];
    struct first *firsts;
    size_t room;
    uint32_t count;
};

struct mispredict *mispredict_new(void)
{
    struct mispredict *mispredict = calloc(1, sizeof *mispredict);

    for (int t = 0; t < TABLES && mispredict; t++) {
        mispredict->leaving[t] = 1;
        for (uint32_t i = 0; i < lengths_of[t]; i++)
            mispredict->leaving[t] *= HISTORY_FACTOR;
    }
    return mispredict;
}

void mispredict_free(struct mispredict *mispredict)
{
    if (!mispredict)
        return;
    for (size_t i = 0; i < PSNAP_THREADS_MAX; i++)
        free(mispredict->histories[i]);
    free(mispredict->firsts);
    free(mispredict);
}

static void remember(const struct mispredict *mispredict, struct history *history,
                     uint32_t decision)
{
    for (int t = 0; t < TABLES; t++) {
        const uint32_t oldest = history->decisions[(history->at - lengths_of[t]) % HISTORY];
        history->hashes[t] =
            history->hashes[t] * HISTORY_FACTOR + decision - oldest * mispredict->leaving[t];
    }
    history->decisions[history->at++ % HISTORY] = decision;
}

/* A counter of how sure a prediction is; what was wrong once too often is replaced. */
static void learn(uint32_t *next, uint8_t *sure, uint32_t to)
{
    if (*next == to)
        *sure = (uint8_t)(*sure + (*sure < SURE));
    else if (*sure)
        --*sure;
    else
        *next = to;
}

/* An entry of a longer history for what was predicted wrongly; all in use: they age. */
static void allocate(struct entry *const entries[TABLES], const uint32_t tags[TABLES], int from,
                     uint32_t to)
{
    for (int t = from; t < TABLES; t++)
        if (!entries[t]->useful) {
            *entries[t] = (struct entry){.tag = tags[t], .next = to};
            return;
        }
    for (int t = from; t < TABLES; t++)
        entries[t]->useful--;
}

static bool predict(struct mispredict *mispredict, const struct history *history,
                    struct first *first, uint32_t from, uint32_t to)
{
    struct entry *entries[TABLES];
    uint32_t tags[TABLES], predicted = first->next, other = first->next;
    int provider = -1, match = -1;
    bool is_right;

    for (int t = 0; t < TABLES; t++) {
        const uint64_t hash = psnap_rng_mix(history->hashes[t] + from);
        entries[t] = &mispredict->tables[t][hash >> (64 - TABLE_BITS)];
        tags[t] = (uint32_t)hash | 1; /* a free entry has none */
        if (entries[t]->tag != tags[t])
            continue;
        match = t;
        if (entries[t]->sure) {
            other = predicted;
            predicted = entries[t]->next;
            provider = t;
        }
    }
    is_right = predicted == to;
    if (provider >= 0 && predicted != other)
        entries[provider]->useful = is_right;
    if (match >= 0)
        learn(&entries[match]->next, &entries[match]->sure, to);
    if (provider >= 0 && provider != match)
        learn(&entries[provider]->next, &entries[provider]->sure, to);
    if (provider < 0)
        learn(&first->next, &first->sure, to);
    if (!is_right)
        allocate(entries, tags, match + 1, to);
    return is_right;
}

static bool fit(struct mispredict *mispredict, uint16_t thread, uint32_t from)
{
    struct first *firsts =
        psnap_with_room(mispredict->firsts, &mispredict->room, from + (size_t)1, sizeof *firsts);

    if (!firsts)
        return false;
    mispredict->firsts = firsts;
    while (mispredict->count <= from)
        firsts[mispredict->count++] = (struct first){.next = PSNAP_NONE};
    if (!mispredict->histories[thread])
        mispredict->histories[thread] = calloc(1, sizeof(struct history));
    return mispredict->histories[thread];
}

bool mispredict_add(struct mispredict *mispredict, uint16_t thread, uint32_t from, uint32_t to)
{
    struct first *first;

    if ((from >= mispredict->count || !mispredict->histories[thread]) &&
        !fit(mispredict, thread, from))
        return false;
    first = &mispredict->firsts[from];
    if (!first->is_branch && first->next == PSNAP_NONE)
        first->next = to;
    if (!first->is_branch && first->next == to)
        return true;
    first->is_branch = true;
    first->wrong += !predict(mispredict, mispredict->histories[thread], first, from, to);
    remember(mispredict, mispredict->histories[thread], to + 1);
    return true;
}

uint64_t mispredict_count(const struct mispredict *mispredict, uint32_t block)
{
    return block < mispredict->count ? mispredict->firsts[block].wrong : 0;
}
