/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counts that no function gives (lengths of sparse rows and of hash chains) as a histogram of
 * bounded size. How many there were and what they add up to is exact, in the whole and in each
 * bin. What was collected is a function of the counts alone, not of their order, so it does not
 * depend on how a stream was cut. What comes after what is not kept: counts are drawn in random
 * order. (Where one predicts the next, as in sorted lengths, a histogram for each bin before
 * would tell; psnap_mix does that with counts as its states.)
 */
#ifndef PSNAP_PROFILE_COUNTS_H
#define PSNAP_PROFILE_COUNTS_H

#include <stdbool.h>
#include <stdint.h>

#include "formats/base/rng.h"
#include "formats/base/yaml.h"
#include "profile/urn.h"

enum {
    COUNTS_BINS = 24, /* of a histogram, at most */
    COUNTS_EXACT = 32 /* counts up to this one are collected each for itself */
};

/* Counts from `low` to `high`, so many of them, with their sum. */
struct psnap_counts_bin {
    uint64_t low, high, times, sum;
};

struct psnap_counts { /* a value; zeroed: of no counts */
    uint64_t times, sum;
    uint32_t bin_count;
    struct psnap_counts_bin bins[COUNTS_BINS]; /* ascending, none of them empty */
};

/* ---- collecting: counts.c ---- */

struct counts_collector { /* zeroed: of no counts */
    uint64_t times, sum;
    uint64_t exact[COUNTS_EXACT + 1];
    struct psnap_counts_bin *wide; /* of the counts above, or NULL */
    uint32_t wide_count;
};

bool counts_add_wide(struct counts_collector *collector, uint64_t count);
void counts_release(struct counts_collector *collector);

/* One more count, 0 too; false: out of memory, nothing has changed. Sums are below 2^64. */
static inline bool counts_add(struct counts_collector *collector, uint64_t count)
{
    if (count > COUNTS_EXACT)
        return counts_add_wide(collector, count);
    collector->exact[count]++;
    collector->times++;
    collector->sum += count;
    return true;
}

/* Adds all counts of `from`; false: out of memory, nothing has changed. */
bool counts_merge(struct counts_collector *into, const struct counts_collector *from);
/* Takes a random one of them out, of which there is at least one: a wide one is about the mean of
 * its bin, so that what is left adds up. */
uint64_t counts_give(struct counts_collector *collector, struct psnap_rng *rng);
/* The histogram, in `bins` bins at most (1 to COUNTS_BINS): neighbours become one, those first
 * that are told apart by least. */
void counts_take(const struct counts_collector *collector, uint32_t bins,
                 struct psnap_counts *counts);

/* ---- drawing: counts_draw.c ---- */

/* What a bin has left, with the mean, or what it was some draws ago: `mean` and rest / 2^32. */
struct counts_left {
    uint64_t times, sum, mean;
    uint32_t rest;
};

/* The counts in random order: after `counts->times` draws each bin has given as many as it has,
 * with their sum; then all begins again. */
struct counts_draw {
    const struct psnap_counts *counts;
    uint64_t left; /* draws until it begins again */
    uint32_t leaves;
    bool is_exact; /* no bin has counts of several sizes */
    struct counts_left bins[COUNTS_BINS];
    uint64_t urn[32];
};

/* `counts`, of at least one, must outlive it. Begins at the beginning: the same counts and
 * generator give the same draws. */
void counts_draw_init(struct counts_draw *draw, const struct psnap_counts *counts);
uint64_t counts_draw_next(struct counts_draw *draw, struct psnap_rng *rng);

/* The same of counts that are exact, and of which some are left. */
static inline uint64_t counts_draw_exact(struct counts_draw *draw, struct psnap_rng *rng)
{
    const uint64_t ticket = psnap_rng_below(rng, draw->left--);

    return draw->counts->bins[urn_take(draw->urn, draw->leaves, ticket)].low;
}

/* ---- as YAML: counts_yaml.c ---- */

/* map[key]: a number when all counts are the same and the reader will know how many there are,
 * else [{is: 5, times: 100}, {from: 33, to: 64, times: 7, sum: 301}]. */
void counts_write(const struct psnap_counts *counts, bool is_known, struct psnap_yaml_doc *doc,
                  struct psnap_yaml_node *map, const char *key);
/* `node` may be a number when `times`, how many counts there are, is known (not 0); bins that come
 * to another number are an error at their place. `sum` may be left out: of from + to, half, for
 * each. */
enum psnap_status counts_read(const struct psnap_yaml_doc *doc, const struct psnap_yaml_node *node,
                              uint64_t times, struct psnap_counts *counts,
                              struct psnap_error *error);

#endif
