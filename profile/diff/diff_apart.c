/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How far two profiles are apart, from 0 to 1, for psnap merge: the share of the accesses (of the
 * profile with more of them) that do something else. Of a pair of loops it is the largest of
 *
 *   counts       1 - less / more, of accesses and of bytes of the working set
 *   shares       half the sum of differences: of kinds, sizes, strides, of reuse times
 *   regions      the same of each, by its share of the loop's accesses; a thing that only one of
 * the loops touches is other wholly references   how far the numbers of its nest (counts, strides,
 * steps) are apart, 1 for another rule or form, by its share of the accesses trip counts  the same,
 * by the body's share of the loop's iterations
 *
 * times the larger number of accesses; a loop that only one profile has is other wholly. The order
 * of loops is measured on its own (diff_order.c), and the larger of the two is the distance.
 *
 * Profiles of the published model are apart wholly.
 *
 * Where memory lies is no part of it: what lies where depends on what was allocated before, by
 * libraries as well, and of a whole thing that is moved strides and working set stay.
 */
#include "profile/diff/diff.h"

#include <math.h>

#include "profile/model.h"

static double region_apart(const struct diff_region *a, const struct diff_region *b)
{
    double most = diff_of_counts(a->accesses, b->accesses);

    most = fmax(most, diff_of_counts(a->working_set_bytes, b->working_set_bytes));
    most = fmax(most, diff_of_shares(a->kinds, b->kinds, 3));
    most = fmax(most, diff_of_shares(a->sizes, b->sizes, 1 + PSNAP_ACCESS_SIZE_MAX));
    most = fmax(most, diff_of_shares(a->strides, b->strides, PSNAP_STRIDE_BINS));
    return diff_has_reuse(a) && diff_has_reuse(b)
               ? fmax(most, diff_of_shares(a->reuse, b->reuse, REUSE_BINS))
               : most;
}

static double larger(const struct diff_region *a, const struct diff_region *b)
{
    return fmax(a ? (double)a->accesses : 0, b ? (double)b->accesses : 0);
}

/* Regions that have no name are of the loop as a whole, where only one side has them. */
static double regions_apart(const struct diff_pair *pair)
{
    double sum = 0;

    for (uint32_t i = 0; i < pair->region_count; i++) {
        const struct diff_region *a = pair->regions[i].a, *b = pair->regions[i].b;
        if (a && b)
            sum += region_apart(a, b) * larger(a, b);
        else if ((a ? a : b)->object_kind <= PSNAP_OBJECT_STACK)
            sum += larger(a, b);
    }
    return sum / fmax(1, larger(&pair->a->all, &pair->b->all));
}

static double refs_apart(const struct profile_diff *diff, const struct diff_pair *pair)
{
    double sum = 0;

    for (uint32_t i = 0; i < pair->ref_count; i++) {
        const struct model_ref *a = &diff->a.profile->stream->refs[pair->refs[i].a];
        const struct model_ref *b = &diff->b.profile->stream->refs[pair->refs[i].b];
        sum += diff_ref_apart(a, b) * fmax((double)a->executions, (double)b->executions);
    }
    return sum / fmax(1, larger(&pair->a->all, &pair->b->all));
}

static double trips_apart(const struct profile_diff *diff, const struct diff_pair *pair)
{
    double sum = 0;

    for (uint32_t i = 0; i < pair->body_count; i++) {
        const struct model_body *a = &diff->a.profile->stream->bodies[pair->bodies[i].a];
        const struct model_body *b = &diff->b.profile->stream->bodies[pair->bodies[i].b];
        sum += diff_trips_apart(a, b) * (double)a->iterations;
    }
    return pair->a->iterations == UINT64_MAX ? 0 : sum / fmax(1, (double)pair->a->iterations);
}

/* Accesses of a pair that do something else. */
static double pair_apart(const struct profile_diff *diff, const struct diff_pair *pair)
{
    double most;

    if (!pair->a || !pair->b)
        return (double)(pair->a ? pair->a : pair->b)->all.accesses;
    most = fmax(region_apart(&pair->a->all, &pair->b->all), regions_apart(pair));
    most = fmax(most, fmax(refs_apart(diff, pair), trips_apart(diff, pair)));
    return fmin(1, most) * larger(&pair->a->all, &pair->b->all);
}

bool diff_measure(const struct profile_diff *diff, struct diff_apart *apart)
{
    const double all =
        fmax(1, fmax((double)diff->a.totals.accesses, (double)diff->b.totals.accesses));
    double sum = 0, most = 0, order;

    *apart = (struct diff_apart){.has_other_model =
                                     !diff->a.profile->stream || !diff->b.profile->stream};
    if (apart->has_other_model) { /* nothing in them is the same */
        apart->share = 1;
        return true;
    }
    for (uint32_t i = 0; i < diff->pair_count; i++) {
        const struct diff_pair *pair = &diff->pairs[i];
        const double part = pair_apart(diff, pair);
        sum += part;
        apart->changes |= part > 0 && (!pair->a || !pair->b) ? DIFF_ACCESSES : pair->changes;
        for (uint32_t r = 0; r < pair->region_count; r++)
            apart->changes |= pair->regions[r].changes;
        if (part > most) {
            most = part;
            apart->furthest = (pair->a ? pair->a : pair->b)->id;
        }
    }
    if ((order = diff_order_apart(diff)) < 0)
        return false;
    apart->has_other_order |= diff->has_other_order || diff->chain_count || order > 0;
    if (order > sum / all)
        apart->furthest = NULL;
    apart->share = fmin(1, fmax(sum / all, order));
    return true;
}
