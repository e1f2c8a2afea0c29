/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counts that depend on the one before (mix_rests.h). Whether they do is told by how often a guess
 * is wrong that goes by their shares: 1 - sum of p^2 over all, and the mean of that over the bins
 * of the counts before. Their ratio is 1 less L. A. Goodman and W. H. Kruskal's tau ("Measures of
 * association for cross classifications", 1954).
 */
#include "profile/mixes/mix_rests.h"

#include <stdlib.h>
#include <string.h>

enum {
    ROWS_EACH = 8, /* that room is made for at once */
    SOON =
        1 << 12, /* counts after which, and whenever there are twice as many, it is asked whether */
    TOLD_MIN = 1 << 7, /* counts to tell anything, */
    TOLD_EACH = 8      /* and so many for each pair that occurs */
};

#define TOLD 0.5 /* of the wrong guesses there are no more than that */

void rests_release(struct rests *rests)
{
    free(rests->rows);
    *rests = (struct rests){.is_over = true};
}

static bool make_rows(struct rests *rests, uint32_t row)
{
    const uint32_t wanted = (row / ROWS_EACH + 1) * ROWS_EACH;
    uint64_t(*rows)[RESTS_MAX];

    if (row < rests->row_count)
        return true;
    rows = realloc(rests->rows, wanted * sizeof *rows);
    if (!rows)
        return false;
    memset(&rows[rests->row_count], 0, (wanted - rests->row_count) * sizeof *rows);
    rests->rows = rows;
    rests->row_count = wanted;
    return true;
}

bool rests_note(struct rests *rests, uint32_t from, const struct counts_collector *before,
                uint64_t last, uint64_t count)
{
    const uint32_t row = counts_bin_of(last);

    if ((rests->tokens && rests->from != from) || !count || count > RESTS_MAX ||
        (rests->tokens >= SOON && !(rests->tokens & (rests->tokens - 1)) &&
         !rests_are_told(rests, before))) {
        rests_release(rests);
        return true;
    }
    if (!make_rows(rests, row))
        return false;
    rests->rows[row][count - 1]++;
    rests->from = from;
    rests->tokens++;
    return true;
}

bool rests_merge(struct rests *into, const struct rests *from, uint32_t node)
{
    if (from->is_over || (from->tokens && into->tokens && into->from != node))
        rests_release(into);
    if (into->is_over || !from->tokens)
        return true;
    if (!make_rows(into, from->row_count - 1))
        return false;
    for (uint32_t i = 0; i < from->row_count; i++)
        for (uint32_t k = 0; k < RESTS_MAX; k++)
            into->rows[i][k] += from->rows[i][k];
    into->from = node;
    into->tokens += from->tokens;
    return true;
}

static uint64_t sum_of(const uint64_t row[RESTS_MAX])
{
    uint64_t sum = 0;

    for (uint32_t k = 0; k < RESTS_MAX; k++)
        sum += row[k];
    return sum;
}

/* How many of `times` guesses would be wrong, of which so many are none of the row's counts. */
static double wrong(const uint64_t row[RESTS_MAX], uint64_t none, uint64_t times)
{
    double squares = (double)none * (double)none;

    for (uint32_t k = 0; k < RESTS_MAX; k++)
        squares += (double)row[k] * (double)row[k];
    return (double)times - squares / (double)times;
}

bool rests_are_told(const struct rests *rests, const struct counts_collector *before)
{
    uint64_t all[RESTS_MAX] = {0}, pairs = 0;
    double told = 0;

    if (rests->is_over || rests->tokens < TOLD_MIN || rests->tokens > before->times)
        return false;
    for (uint32_t i = 0; i < rests->row_count; i++) {
        const uint64_t times = counts_bin_times(before, i), sum = sum_of(rests->rows[i]);
        if (sum > times)
            return false;
        pairs += times > sum;
        for (uint32_t k = 0; k < RESTS_MAX; k++) {
            all[k] += rests->rows[i][k];
            pairs += rests->rows[i][k] > 0;
        }
        told += times ? wrong(rests->rows[i], times - sum, times) : 0;
    }
    return rests->tokens >= TOLD_EACH * pairs &&
           told <= TOLD * wrong(all, before->times - rests->tokens, before->times) &&
           told < wrong(all, before->times - rests->tokens, before->times);
}

uint32_t rests_take(const struct rests *rests, const struct counts_collector *before,
                    const struct psnap_counts *counts, struct mix_rest *taken)
{
    uint64_t sums[COUNTS_BINS][RESTS_MAX] = {{0}};
    uint32_t n = 0, bin = 0;

    for (uint32_t i = 0; i < rests->row_count; i++) {
        if (!counts_bin_times(before, i))
            continue;
        while (counts_bin_low(before, i) > counts->bins[bin].high)
            bin++;
        for (uint32_t k = 0; k < RESTS_MAX; k++)
            sums[bin][k] += rests->rows[i][k];
    }
    for (uint32_t i = 0; i < counts->bin_count; i++)
        for (uint32_t k = 0; k < RESTS_MAX; k++)
            if (sums[i][k])
                taken[n++] = (struct mix_rest){.bin = i, .count = k + 1, .times = sums[i][k]};
    return n;
}
