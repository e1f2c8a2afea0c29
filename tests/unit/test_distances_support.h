/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared by the tests of model stackdist: the oracle, a list of lines that is searched from its
 * front, streams, and what is replayed of a profile.
 */
#ifndef PSNAP_TEST_DISTANCES_SUPPORT_H
#define PSNAP_TEST_DISTANCES_SUPPORT_H

#include "profile/distances/distances.h"
#include "replay/replay.h"
#include "tests/unit/test_profile_support.h"

static const struct psnap_builder_options stackdist = {.stackdist = true};
static const struct psnap_builder_options wide = {.stackdist = true, .region_gap_bytes = 65536};

/* ---- the oracle: lines from the one touched last on ---- */

enum { LINES = 4096, NEW_LINE = -1 };

struct list {
    uint64_t lines[LINES];
    int count;
};

/* How many others were touched since the line last was, NEW_LINE: it is new. */
static inline int touch(struct list *list, uint64_t line)
{
    int at = 0, depth;

    while (at < list->count && list->lines[at] != line)
        at++;
    depth = at < list->count ? at : NEW_LINE;
    if (depth == NEW_LINE)
        assert_true(++list->count <= LINES);
    memmove(list->lines + 1, list->lines, (size_t)at * sizeof *list->lines);
    list->lines[0] = line;
    return depth;
}

/* Distances that a group of accesses had: [0]: new lines, [d + 1]: distance d. */
struct histogram {
    uint64_t counts[LINES + 1];
};

/* ---- streams ---- */

enum { LOOPS = 3, REFS = 2, ACCESSES = 6000 };

/* Each reference in a place of its own: what was there before again, or further on. */
static inline void make_stream(struct psnap_rng *rng, struct psnap_access *accesses,
                               uint16_t threads)
{
    uint64_t at[LOOPS * REFS] = {0};

    for (size_t i = 0; i < ACCESSES; i++) {
        const uint32_t loop = (uint32_t)(i / 500 % LOOPS);
        const uint32_t ref = loop * REFS + (uint32_t)psnap_rng_below(rng, REFS);
        const uint64_t span = 64 + at[ref];
        at[ref] += psnap_rng_below(rng, 24);
        accesses[i] = (struct psnap_access){
            .address = HEAP + ((uint64_t)(ref / 2) << 20) +
                       (psnap_rng_below(rng, 3) ? at[ref] : psnap_rng_below(rng, span)),
            .ref = ref,
            .size = (uint8_t)(1 + psnap_rng_below(rng, 16)),
            .kind = (uint8_t)psnap_rng_below(rng, 3),
            .thread = (uint16_t)(threads > 1 ? psnap_rng_below(rng, threads) : 0)};
    }
}

/* Distances by loop, in stacks of their own for threads. */
static inline struct histogram *measure(const struct psnap_program *program,
                                        const struct psnap_access *accesses, size_t n,
                                        uint16_t threads)
{
    struct histogram *loops = calloc(program->loop_count, sizeof *loops);
    struct list *lists = calloc(threads, sizeof *lists);

    for (size_t i = 0; i < n; i++) {
        const int depth = touch(&lists[accesses[i].thread], accesses[i].address / 64);
        loops[program->refs[accesses[i].ref].loop].counts[depth + 1]++;
    }
    free(lists);
    return loops;
}

/* All accesses of a replay, and its program. */
static inline struct psnap_access *replay(const struct psnap_profile *profile, uint64_t seed,
                                          size_t block, size_t *n, struct psnap_source **source)
{
    struct psnap_profile_totals totals;
    struct psnap_access *accesses;
    ssize_t got;

    *source = psnap_replay_new(profile, seed, NULL);
    assert_non_null(*source);
    psnap_profile_totals(profile, &totals);
    accesses = calloc(totals.accesses + block, sizeof *accesses);
    for (*n = 0; (got = psnap_source_next(*source, accesses + *n, block, NULL)) > 0;)
        *n += (size_t)got;
    assert_int_equal(got, 0);
    assert_int_equal(*n, totals.accesses);
    return accesses;
}

#endif
