/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The measures by which regions and loops are compared, as a table, and how far apart they are in
 * one: amounts by 1 - less / more; of shares (of kinds, sizes, strides, reuse times) half the sum
 * of differences, which is the part of the accesses that does something else; others not at all.
 */
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "profile/diff/diff.h"

#define SHARES_ROUNDING 1e-12 /* shares that are nearer than this are equal: of twice as many */

const char *const diff_change_names[DIFF_CHANGES] = {
    "accesses", "kinds",   "sizes",      "working_set", "strides",    "place",
    "regions",  "entries", "iterations", "operations",  "references", "exact",
    "parts",    "reuse",   "addresses",  "trip_counts", "order",      "model"};

#define OF_REGION(member) offsetof(struct diff_region, member)
#define OF_LOOP(member) offsetof(struct diff_loop, member)

const struct diff_measure diff_measures[DIFF_MEASURES] = {
    {DIFF_ACCESSES, DIFF_AMOUNT, "accesses", "accesses", OF_REGION(accesses), 1},
    {DIFF_KINDS, DIFF_SHARES, NULL, "kinds", OF_REGION(kinds), 3},
    {DIFF_WORKING_SET, DIFF_BYTES, "working_set_bytes", "working set", OF_REGION(working_set_bytes),
     1},
    {DIFF_SIZES, DIFF_SHARES, "sizes", "sizes", OF_REGION(sizes), 1 + PSNAP_ACCESS_SIZE_MAX},
    {DIFF_STRIDES, DIFF_SHARES, "strides", "strides", OF_REGION(strides), PSNAP_STRIDE_BINS},
    {DIFF_REUSE, DIFF_SHARES, "reuse", "reuse", OF_REGION(reuse), REUSE_BINS},
    {DIFF_ENTRIES, DIFF_NUMBER, "entries", "entries", OF_LOOP(entries), 1},
    {DIFF_ITERATIONS, DIFF_NUMBER, "iterations", "iterations", OF_LOOP(iterations), 1},
    {DIFF_REFERENCES, DIFF_NUMBER, "references", "references", OF_LOOP(references), 1},
    {DIFF_EXACT, DIFF_FLAG, "exact", "addresses", OF_LOOP(is_exact), 1},
    {DIFF_PARTS, DIFF_NUMBER, "parts", "parts", OF_LOOP(part_count), 1},
    {DIFF_OPERATIONS, DIFF_NUMBERS, "operations", "operations", OF_LOOP(operations),
     PSNAP_OPERATION_COUNT},
};

double diff_of_counts(uint64_t a, uint64_t b)
{
    return a == b ? 0 : 1 - (double)(a < b ? a : b) / (double)(a < b ? b : a);
}

static uint64_t sum_of(const uint64_t *values, size_t n)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += values[i];
    return sum;
}

double diff_of_shares(const uint64_t *a, const uint64_t *b, size_t n)
{
    const uint64_t all_a = sum_of(a, n), all_b = sum_of(b, n);
    double sum = 0;

    if (!all_a || !all_b)
        return all_a || all_b ? 1 : 0;
    for (size_t i = 0; i < n; i++)
        sum += fabs(diff_share(a[i], all_a) - diff_share(b[i], all_b));
    return sum / 2;
}

/* How far two regions or loops are apart in a measure, 0 to 1; negative: they are the same. */
static double measure_apart(const struct diff_measure *measure, const uint64_t *a,
                            const uint64_t *b)
{
    const size_t n = measure->count;
    double shares;

    if (measure->form == DIFF_SHARES) {
        if (measure->change == DIFF_REUSE && (!sum_of(a, n) || !sum_of(b, n)))
            return -1;
        shares = diff_of_shares(a, b, n);
        return shares > SHARES_ROUNDING ? shares : -1;
    }
    if (!memcmp(a, b, n * sizeof *a))
        return -1;
    if (measure->form == DIFF_AMOUNT || measure->form == DIFF_BYTES)
        return diff_of_counts(*a, *b);
    return *a == UINT64_MAX || *b == UINT64_MAX ? -1 : 0;
}

double diff_compare(const void *a, const void *b, unsigned measures, unsigned *changes)
{
    double most = 0;

    for (const struct diff_measure *m = diff_measures; m < diff_measures + measures; m++) {
        const double apart = measure_apart(m, diff_values(m, a), diff_values(m, b));
        *changes |= apart >= 0 ? (unsigned)m->change : 0;
        most = fmax(most, apart);
    }
    return most;
}
