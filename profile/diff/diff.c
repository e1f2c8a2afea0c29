/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is different about two loops that are one (diff_match.c says which are), and how much that
 * matters, by a table of measures. Amounts are apart by 1 - less / more; of shares (of kinds,
 * sizes, strides, reuse times) the half of the sum of differences is, the part of the accesses that
 * does something else. A loop that only one profile has is different wholly.
 *
 * The importance of a pair is the largest of these distances, or the share of its accesses whose
 * references have other addresses, times the larger of its two shares of all accesses.
 *
 * The distance of two profiles, for psnap merge, is the share of the accesses (of the profile with
 * more of them) that do something else. Of a pair of loops it is the largest of
 *
 *   measures     as above
 *   regions      the same of each, by its share of the loop's accesses; an object that only one of
 *                the loops touches is different wholly
 *   references   how far the numbers of their nests (counts, strides, steps) are apart, 1 for
 *                another rule or form, by their shares of the accesses
 *   trip counts  the same, by the body's share of the loop's iterations
 *
 * times the larger number of accesses. The order of loops is measured on its own (diff_order.c),
 * and the larger of the two is the distance. Profiles of the published model are apart wholly.
 * Where memory lies is no part of it: it depends on what was allocated before, by libraries as
 * well, and of an object that is moved strides and working set stay.
 */
#include "profile/diff/diff.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- pairs of loops ---- */

/* Compares two regions, of which one may be NULL, and then is of the loop as a whole when it has no
 * name. Returns the accesses that do something else. */
static double compare_regions(const struct diff_region *a, const struct diff_region *b,
                              struct diff_region_pair *to)
{
    const double p = a ? (double)a->accesses : 0, q = b ? (double)b->accesses : 0;

    *to = (struct diff_region_pair){a, b, 0};
    if (!a || !b)
        return (a ? a : b)->object_kind < DIFF_NO_OBJECT ? fmax(p, q) : 0;
    if (a->low != b->low)
        to->changes = DIFF_PLACE;
    return diff_compare(a, b, DIFF_REGION_MEASURES, &to->changes) * fmax(p, q);
}

/* Merges the regions of both loops, which are in order. Returns the accesses that do something
 * else; negative: out of memory. */
static double compare_all_regions(struct diff_pair *pair, struct psnap_arena *arena)
{
    const uint32_t n = pair->a ? pair->a->region_count : 0;
    const uint32_t m = pair->b ? pair->b->region_count : 0;
    double apart = 0;

    pair->regions = psnap_arena_alloc(arena, ((size_t)n + m) * sizeof *pair->regions);
    if (!pair->regions)
        return -1;
    for (uint32_t i = 0, j = 0; i < n || j < m;) {
        const struct diff_region *a = i < n ? &pair->a->regions[i] : NULL;
        const struct diff_region *b = j < m ? &pair->b->regions[j] : NULL;
        const int order = !a ? 1 : !b ? -1 : diff_region_order(a, b);
        struct diff_region_pair *to = &pair->regions[pair->region_count++];
        apart += compare_regions(order <= 0 ? a : NULL, order >= 0 ? b : NULL, to);
        if (pair->a && pair->b && (order || to->changes))
            pair->changes |= DIFF_REGIONS;
        i += order <= 0;
        j += order >= 0;
    }
    return apart;
}

static bool compare_loops(const struct profile_diff *diff, struct diff_pair *pair)
{
    const struct diff_loop *a = pair->a, *b = pair->b;
    const uint64_t accesses_a = a ? a->all.accesses : 0, accesses_b = b ? b->all.accesses : 0;
    const double accesses = fmax((double)accesses_a, (double)accesses_b);
    const double regions_apart = compare_all_regions(pair, diff->arena);
    double most = 1;

    pair->apart = accesses;
    if (a && b) {
        most = diff_compare(a, b, DIFF_MEASURES, &pair->changes);
        pair->apart = fmax(fmax(most * accesses, regions_apart), pair->refs_apart);
        if (a->iterations != UINT64_MAX && a->iterations)
            pair->apart = fmax(pair->apart, pair->trips_apart / (double)a->iterations * accesses);
        pair->apart = fmin(pair->apart, accesses);
        most = fmax(most, pair->elsewhere / fmax(1, (double)accesses_a));
        pair->changes |= pair->ref_count ? DIFF_ADDRESSES : 0;
        pair->changes |= pair->body_count ? DIFF_TRIPS : 0;
    }
    pair->importance = most * fmax(diff_share(accesses_a, diff->a.totals.accesses),
                                   diff_share(accesses_b, diff->b.totals.accesses));
    return regions_apart >= 0;
}

static int by_importance(const void *left, const void *right)
{
    const struct diff_pair *p = left, *q = right;
    const struct diff_loop *a = p->a ? p->a : p->b, *b = q->a ? q->a : q->b;

    if (p->importance != q->importance)
        return p->importance > q->importance ? -1 : 1;
    if (diff_pair_differs(p) != diff_pair_differs(q))
        return diff_pair_differs(p) ? -1 : 1;
    if (a->all.accesses != b->all.accesses)
        return a->all.accesses > b->all.accesses ? -1 : 1;
    return strcmp(a->id, b->id);
}

/* ---- all of it ---- */

/* False: out of memory. */
static bool compare_all(struct profile_diff *diff, const struct psnap_profile *a,
                        const struct psnap_profile *b)
{
    if (!diff->arena || !diff_side_init(&diff->a, a, diff->arena) ||
        !diff_side_init(&diff->b, b, diff->arena) ||
        !diff_match_sites(&diff->a, &diff->b, diff->arena) || !diff_match_loops(diff) ||
        !diff_compare_models(diff))
        return false;
    for (uint32_t i = 0; i < diff->pair_count; i++)
        if (!compare_loops(diff, &diff->pairs[i]))
            return false;
    qsort(diff->pairs, diff->pair_count, sizeof *diff->pairs, by_importance);
    return true;
}

enum psnap_status profile_diff_init(struct profile_diff *diff, const struct psnap_profile *a,
                                    const struct psnap_profile *b, struct psnap_error *error)
{
    uint64_t content[2] = {0};
    enum psnap_status status;

    *diff = (struct profile_diff){.arena = psnap_arena_new()};
    if (!(status = psnap_profile_content(a, &content[0], error)) &&
        !(status = psnap_profile_content(b, &content[1], error)) && !compare_all(diff, a, b))
        status = psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for the loops");
    diff->is_same = content[0] == content[1];
    if (status)
        profile_diff_release(diff);
    return status;
}

void profile_diff_release(struct profile_diff *diff)
{
    model_index_release(&diff->a.by_loop);
    model_index_release(&diff->b.by_loop);
    psnap_arena_free(diff->arena);
    *diff = (struct profile_diff){0};
}

bool diff_measure(const struct profile_diff *diff, struct diff_apart *apart)
{
    const double all =
        fmax(1, fmax((double)diff->a.totals.accesses, (double)diff->b.totals.accesses));
    double sum = 0, most = 0, order;

    *apart = (struct diff_apart){.share = 1, .changes = DIFF_MODEL};
    if (!diff->a.profile->stream || !diff->b.profile->stream) /* nothing in them is the same */
        return true;
    apart->changes = diff->has_other_order || diff->chain_count ? DIFF_ORDER : 0;
    for (uint32_t i = 0; i < diff->pair_count; i++) {
        const struct diff_pair *pair = &diff->pairs[i];
        sum += pair->apart;
        apart->changes |= pair->changes;
        if (pair->apart > 0 && (!pair->a || !pair->b))
            apart->changes |= DIFF_ACCESSES;
        for (uint32_t r = 0; r < pair->region_count; r++)
            apart->changes |= pair->regions[r].changes;
        if (pair->apart > most) {
            most = pair->apart;
            apart->furthest = (pair->a ? pair->a : pair->b)->id;
        }
    }
    if ((order = diff_order_apart(diff)) < 0)
        return false;
    if (order > 0)
        apart->changes |= DIFF_ORDER;
    if (order > sum / all)
        apart->furthest = NULL;
    apart->share = fmin(1, fmax(sum / all, order));
    return true;
}
