/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counts that no function gives (lengths of sparse rows and of hash chains) as a histogram of
 * bounded size. How many there were and what they add up to is exact, in the whole and in each
 * bin. The bins are a function of the counts alone, not of their order. What comes after what is
 * not kept: counts are drawn in random order. (Where one predicts the next, as in sorted lengths, a
 * histogram for each bin before would tell; psnap_mix does that with counts as its states.)
 *
 * Of the order one thing is kept, whether counts come evenly. Where a recursion halves, sizes come
 * as the digits of a counter do:
 *
 *   1 1 2 1 1 2 4 1 1 2 1 1 2 4 8 ...    sizes of merges
 *
 * each second one is larger than the least, each fourth one larger than these, and the largest of
 * all is the last. Each such size is a bin then, and the bins come in turn, each as soon as is its
 * share, and are drawn so; how they do follows from how many there are. Whether they do depends on
 * the order of all counts (the octaves 0, 1, 2 to 3, 4 to 7, ... are looked at), not on how a
 * stream was cut; of those of two collectors the order is not known, so they do not.
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
    bool is_even;                              /* bins come in turn */
};

/* 0, 1, 2 to 3, 4 to 7, ... */
static inline uint32_t counts_octave(uint64_t count)
{
    return count ? 64u - (uint32_t)__builtin_clzll(count) : 0;
}

/* ---- collecting: counts.c ---- */

/* Counts of an octave: how many, at which of all counts (from 1 on) the last one was, and the sum
 * of the squares of the gaps between one and the next, the first one's from the beginning on. */
struct counts_order {
    __extension__ unsigned __int128 squares;
    uint64_t times, last;
};

struct counts_collector { /* zeroed: of no counts */
    uint64_t times, sum;
    bool is_unordered; /* they do not come evenly, as far as is known: no octaves */
    bool is_shifted;   /* it is known where octaves begin: */
    uint32_t shift;
    uint64_t exact[COUNTS_EXACT + 1];
    struct psnap_counts_bin *wide; /* of the counts above, or NULL */
    struct counts_order *octaves;  /* or NULL */
    uint64_t given;                /* counts that are not there any more */
    uint32_t wide_count, octave_count;
};

/* The bins in which counts are collected, ascending, for who keeps more by them: that of a count,
 * how many there are of one, and the lowest of these. */
uint32_t counts_bin_of(uint64_t count);
uint64_t counts_bin_times(const struct counts_collector *collector, uint32_t bin);
uint64_t counts_bin_low(const struct counts_collector *collector, uint32_t bin);

bool counts_note(struct counts_collector *collector, uint64_t count);
bool counts_add_wide(struct counts_collector *collector, uint64_t count);
void counts_release(struct counts_collector *collector);

/* One more count, 0 too (most are soon known not to come evenly); false: out of memory, nothing has
 * changed. Sums are below 2^64. */
static inline bool counts_add(struct counts_collector *collector, uint64_t count)
{
    if (count > COUNTS_EXACT)
        return counts_add_wide(collector, count);
    if (__builtin_expect(!collector->is_unordered, 0) && !counts_note(collector, count))
        return false;
    collector->exact[count]++;
    collector->times++;
    collector->sum += count;
    return true;
}

/* Adds all counts of `from`; false: out of memory, nothing has changed. Their order is known only
 * where one of both has none. */
bool counts_merge(struct counts_collector *into, const struct counts_collector *from);
/* Takes a random one of them out, of which there is at least one: a wide one is about the mean of
 * its bin, so that what is left adds up. That comes evenly if all did. */
uint64_t counts_give(struct counts_collector *collector, struct psnap_rng *rng);
/* The histogram, in `bins` bins at most (1 to COUNTS_BINS): neighbours become one, those first
 * that are told apart by least. Of those that come evenly each bin is an octave, which begins where
 * they come most evenly: what halves is a size with little around it. */
void counts_take(const struct counts_collector *collector, uint32_t bins,
                 struct psnap_counts *counts);

/* ---- drawing: counts_draw.c ---- */

/* What a bin has left, with the mean, or what it was some draws ago: `mean` and rest / 2^32. */
struct counts_left {
    uint64_t times, sum, mean;
    uint32_t rest;
};

/* A bin, of which so many counts have been drawn. */
struct counts_due {
    uint64_t times, drawn;
    uint32_t bin;
};

/* The counts in random order: after `counts->times` draws each bin has given as many as it has,
 * with their sum; then all begins again. Of those that come evenly, the bins come in turn. */
struct counts_draw {
    const struct psnap_counts *counts;
    uint64_t left; /* draws until it begins again */
    uint32_t leaves;
    bool is_exact; /* in random order, and no bin has counts of several sizes */
    struct counts_left bins[COUNTS_BINS];
    uint64_t urn[32];
    uint32_t due_count;                 /* of those that come evenly, or 0; */
    struct counts_due due[COUNTS_BINS]; /* a heap: the one that comes next is the first */
};

/* `counts`, of at least one, must outlive it. Begins at the beginning: the same counts and
 * generator give the same draws. */
void counts_draw_init(struct counts_draw *draw, const struct psnap_counts *counts);
uint64_t counts_draw_next(struct counts_draw *draw, struct psnap_rng *rng);

/* The same of counts that are exact and in random order, and of which some are left. */
static inline uint64_t counts_draw_exact(struct counts_draw *draw, struct psnap_rng *rng)
{
    const uint64_t ticket = psnap_rng_below(rng, draw->left--);

    return draw->counts->bins[urn_take(draw->urn, draw->leaves, ticket)].low;
}

/* ---- as YAML: counts_yaml.c ---- */

/* map[key]: a number when all counts are the same and the reader will know how many there are,
 * else [{is: 5, times: 100}, {from: 33, to: 64, times: 7, sum: 301}]; and `evenly: true` if they
 * come so. */
void counts_write(const struct psnap_counts *counts, bool is_known, struct psnap_yaml_doc *doc,
                  struct psnap_yaml_node *map, const char *key);
/* `node` may be a number when `times`, how many counts there are, is known (not 0); bins that come
 * to another number are an error at their place. `sum` may be left out: of from + to, half, for
 * each. `more`: a key that maps of bins may have, which is the caller's, or NULL. */
enum psnap_status counts_read(const struct psnap_yaml_doc *doc, const struct psnap_yaml_node *node,
                              uint64_t times, const char *more, struct psnap_counts *counts,
                              struct psnap_error *error);
/* Whether counts that were read come evenly, as their map says. */
enum psnap_status counts_read_evenly(const struct psnap_yaml_doc *doc,
                                     const struct psnap_yaml_node *map, struct psnap_counts *counts,
                                     struct psnap_error *error);

#endif
