/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is different about two loops that are one (diff_match.c says which are), and how much that
 * matters. Counts are different when they are not equal; of shares (of kinds, sizes, strides,
 * depths of reuse) the half of the sum of differences is, the part of the accesses that does
 * something else.
 *
 * The importance of a pair is the largest of these parts, counts being apart by 1 - less / more,
 * times the larger of its two shares of all accesses; a loop that only one profile has is
 * different wholly.
 */
#include "profile/diff/diff.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profile/model.h"

#define OPERATIONS_NOTABLE 0.05 /* difference of an operation's number per access */

const char *diff_change_name(unsigned bit)
{
    static const char *const names[DIFF_CHANGES] = {
        "accesses", "kinds",   "sizes",      "working_set", "strides",    "place",
        "regions",  "entries", "iterations", "operations",  "references", "exact",
        "parts",    "reuse",   "addresses",  "trip_counts"};

    return names[bit];
}

const char *diff_match_name(enum diff_match match)
{
    static const char *const names[] = {"id", "moved", "renamed", "only_a", "only_b"};

    return names[match];
}

bool diff_has_reuse(const struct diff_region *region)
{
    for (unsigned bin = 0; bin < REUSE_BINS; bin++)
        if (region->reuse[bin])
            return true;
    return false;
}

/* A pair in the making. */
struct difference {
    unsigned changes, notable;
    double most; /* of the parts, 0 to 1 */
};

static void note(struct difference *to, enum diff_change change, bool is_other, double part,
                 double least)
{
    if (!is_other)
        return;
    to->changes |= (unsigned)change;
    if (part >= least)
        to->notable |= (unsigned)change;
    to->most = fmax(to->most, part);
}

/* Shares that are equal but for rounding count as such: loops that run twice as often. */
static void note_shares(struct difference *to, enum diff_change change, const uint64_t *a,
                        const uint64_t *b, size_t n)
{
    const double part = diff_of_shares(a, b, n);

    note(to, change, part > 1e-12, part, DIFF_NOTABLE);
}

static void compare_regions(const struct diff_region *a, const struct diff_region *b,
                            struct difference *to)
{
    note(to, DIFF_ACCESSES, a->accesses != b->accesses, diff_of_counts(a->accesses, b->accesses),
         0);
    note_shares(to, DIFF_KINDS, a->kinds, b->kinds, 3);
    note_shares(to, DIFF_SIZES, a->sizes, b->sizes, 1 + PSNAP_ACCESS_SIZE_MAX);
    note(to, DIFF_WORKING_SET, a->working_set_bytes != b->working_set_bytes,
         diff_of_counts(a->working_set_bytes, b->working_set_bytes), 0);
    note_shares(to, DIFF_STRIDES, a->strides, b->strides, PSNAP_STRIDE_BINS);
    if (diff_has_reuse(a) && diff_has_reuse(b))
        note_shares(to, DIFF_REUSE, a->reuse, b->reuse, REUSE_BINS);
}

/* UINT64_MAX is unknown, and not compared. */
static void note_executions(struct difference *to, enum diff_change change, uint64_t a, uint64_t b)
{
    if (a != UINT64_MAX && b != UINT64_MAX)
        note(to, change, a != b, 0, 0);
}

static double per_access(const struct diff_loop *loop, unsigned op)
{
    return (double)loop->operations[op] / fmax(1, (double)loop->all.accesses);
}

bool diff_operation_is_notable(const struct diff_loop *a, const struct diff_loop *b, unsigned op)
{
    const double p = per_access(a, op), q = per_access(b, op);

    return a->operations[op] != b->operations[op] && fabs(p - q) > OPERATIONS_NOTABLE * fmax(p, q);
}

/* Operations are compared by their numbers per access: those that follow from there being more
 * accesses are nothing new. */
static void compare_operations(const struct diff_loop *a, const struct diff_loop *b,
                               struct difference *to)
{
    for (unsigned op = 0; op < PSNAP_OPERATION_COUNT; op++)
        note(to, DIFF_OPERATIONS, a->operations[op] != b->operations[op], 0,
             diff_operation_is_notable(a, b, op) ? 0 : 1);
}

/* ---- regions of a pair ---- */

/* One of them may be NULL. A place is not worth a word where sizes have changed as well. */
static struct diff_region_pair pair_regions(const struct diff_region *a,
                                            const struct diff_region *b)
{
    struct difference difference = {0};

    if (a && b) {
        compare_regions(a, b, &difference);
        note(&difference, DIFF_PLACE, a->low != b->low, 0, 0);
    }
    return (struct diff_region_pair){a, b, difference.changes, difference.notable};
}

/* Merges the regions of both, which are in order; returns whether all are the same. */
static bool fill_regions(struct diff_pair *pair)
{
    const uint32_t n = pair->a ? pair->a->region_count : 0;
    const uint32_t m = pair->b ? pair->b->region_count : 0;
    bool is_same = true;

    for (uint32_t i = 0, j = 0; i < n || j < m;) {
        const struct diff_region *a = i < n ? &pair->a->regions[i] : NULL;
        const struct diff_region *b = j < m ? &pair->b->regions[j] : NULL;
        const int order = !a ? 1 : !b ? -1 : diff_region_order(a, b);
        struct diff_region_pair *to = &pair->regions[pair->region_count++];
        *to = pair_regions(order <= 0 ? a : NULL, order >= 0 ? b : NULL);
        is_same = is_same && to->a && to->b && !to->changes;
        i += order <= 0;
        j += order >= 0;
    }
    return is_same;
}

/* ---- loops ---- */

static double share_of(const struct diff_loop *loop, const struct diff_side *side)
{
    return loop && side->totals.accesses
               ? (double)loop->all.accesses / (double)side->totals.accesses
               : 0;
}

/* The share of a loop's accesses whose references have other addresses. */
static double elsewhere_of(const struct profile_diff *diff, const struct diff_pair *pair)
{
    double sum = 0;

    for (uint32_t i = 0; i < pair->ref_count; i++)
        sum += (double)diff->a.profile->stream->refs[pair->refs[i].a].executions;
    return sum / fmax(1, (double)pair->a->all.accesses);
}

static void compare_loops(const struct profile_diff *diff, struct diff_pair *pair)
{
    const struct diff_loop *a = pair->a, *b = pair->b;
    struct difference difference = {.most = !a || !b};
    const bool has_same_regions = fill_regions(pair);

    if (a && b) {
        compare_regions(&a->all, &b->all, &difference);
        note(&difference, DIFF_REGIONS, !has_same_regions, 0, 0);
        note_executions(&difference, DIFF_ENTRIES, a->entries, b->entries);
        note_executions(&difference, DIFF_ITERATIONS, a->iterations, b->iterations);
        compare_operations(a, b, &difference);
        note(&difference, DIFF_REFERENCES, a->references != b->references, 0,
             a->references && b->references ? 0 : 1);
        note(&difference, DIFF_EXACT, a->is_exact != b->is_exact, 0, 0);
        note(&difference, DIFF_ADDRESSES, pair->ref_count > 0, elsewhere_of(diff, pair), 0);
        note(&difference, DIFF_TRIPS, pair->body_count > 0, 0, 0);
        note(&difference, DIFF_PARTS, a->part_count != b->part_count, 0, 0);
    }
    pair->changes = difference.changes;
    pair->notable = difference.notable;
    pair->importance = difference.most * fmax(share_of(a, &diff->a), share_of(b, &diff->b));
}

static int by_importance(const void *left, const void *right)
{
    const struct diff_pair *p = left, *q = right;
    const struct diff_loop *a = p->a ? p->a : p->b, *b = q->a ? q->a : q->b;
    const bool p_differs = !p->a || !p->b || p->changes, q_differs = !q->a || !q->b || q->changes;

    if (p->importance != q->importance)
        return p->importance > q->importance ? -1 : 1;
    if (p_differs != q_differs)
        return p_differs ? -1 : 1;
    if (a->all.accesses != b->all.accesses)
        return a->all.accesses > b->all.accesses ? -1 : 1;
    return strcmp(a->id, b->id);
}

/* ---- all of it ---- */

/* Pairs of loops, with and without partners. */
static enum psnap_status fill_pairs(struct profile_diff *diff, struct psnap_error *error)
{
    const uint32_t n = diff->a.loop_count, m = diff->b.loop_count;
    uint32_t *partners = calloc(n + (size_t)1, sizeof *partners);
    enum diff_match *found = calloc(n + (size_t)1, sizeof *found);
    bool *has_partner = calloc(m + (size_t)1, sizeof *has_partner);
    enum psnap_status status = PSNAP_ERROR_MEMORY;

    diff->pairs = calloc((size_t)n + m + 1, sizeof *diff->pairs);
    if (partners && found && has_partner && diff->pairs)
        status = diff_match_loops(&diff->a, &diff->b, partners, found, error);
    else
        psnap_error_set(error, status, "out of memory for the loops");
    for (uint32_t i = 0; i < n && !status; i++) {
        struct diff_pair *pair = &diff->pairs[diff->pair_count++];
        *pair = (struct diff_pair){.a = &diff->a.loops[i], .match = found[i]};
        if (partners[i] == PSNAP_NONE)
            continue;
        pair->b = &diff->b.loops[partners[i]];
        has_partner[partners[i]] = true;
    }
    for (uint32_t j = 0; j < m && !status; j++)
        if (!has_partner[j])
            diff->pairs[diff->pair_count++] =
                (struct diff_pair){.b = &diff->b.loops[j], .match = DIFF_ONLY_B};
    free(partners);
    free(found);
    free(has_partner);
    return status;
}

static enum psnap_status compare_pairs(struct profile_diff *diff, struct psnap_error *error)
{
    size_t regions = 1;

    for (uint32_t i = 0; i < diff->pair_count; i++)
        regions += (diff->pairs[i].a ? diff->pairs[i].a->region_count : 0) +
                   (size_t)(diff->pairs[i].b ? diff->pairs[i].b->region_count : 0);
    diff->region_pairs = malloc(regions * sizeof *diff->region_pairs);
    if (!diff->region_pairs)
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for the regions");
    regions = 0;
    for (uint32_t i = 0; i < diff->pair_count; i++) {
        diff->pairs[i].regions = diff->region_pairs + regions;
        compare_loops(diff, &diff->pairs[i]);
        regions += diff->pairs[i].region_count;
    }
    qsort(diff->pairs, diff->pair_count, sizeof *diff->pairs, by_importance);
    return PSNAP_OK;
}

enum psnap_status profile_diff_init(struct profile_diff *diff, const struct psnap_profile *a,
                                    const struct psnap_profile *b, struct psnap_error *error)
{
    uint64_t content[2] = {0};
    enum psnap_status status;

    *diff = (struct profile_diff){0};
    if ((status = psnap_profile_content(a, &content[0], error)) ||
        (status = psnap_profile_content(b, &content[1], error)) ||
        (status = diff_side_init(&diff->a, a, error)) ||
        (status = diff_side_init(&diff->b, b, error)) ||
        (status = diff_match_sites(&diff->a, &diff->b, error)) ||
        (status = fill_pairs(diff, error)))
        goto out;
    if (!diff_compare_models(diff) || !diff_compare_chains(diff))
        status = psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for the models");
    else
        status = compare_pairs(diff, error);
    if (!status)
        diff_compare_orders(diff);
out:
    if (status)
        profile_diff_release(diff);
    diff->is_same = !status && content[0] == content[1];
    return status;
}

void profile_diff_release(struct profile_diff *diff)
{
    diff_side_release(&diff->a);
    diff_side_release(&diff->b);
    free(diff->pairs);
    free(diff->region_pairs);
    free(diff->items);
    free(diff->body_of);
    free(diff->chains);
    *diff = (struct profile_diff){0};
}
