/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whether which child of an element comes depends on the element: a chi-squared test of whether the
 * ways from each address, of those that came several times, are as often as those from all. Where
 * it depends, drawn by chance all paths were as likely, and many more lines used.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profile/walks/nest_after_rows.h"

enum {
    PAIRS_ALIKE = 4, /* of the same address before, to tell anything */
    CHOICES = 8
};

static int compare_pairs(const void *a, const void *b)
{
    const struct pair *x = a, *y = b;

    if (x->last != y->last)
        return x->last < y->last ? -1 : 1;
    return x->address < y->address ? -1 : x->address > y->address;
}

/* The ways that most pairs go, at this scale; returns how many, and the share of each. */
static uint32_t find_choices(const struct pair *pairs, uint32_t n, uint64_t scale,
                             uint64_t choices[CHOICES], double shares[CHOICES])
{
    bool is_known[PAIRS] = {false};
    uint32_t count = 0;

    for (; count < CHOICES; count++) {
        uint32_t best = 0;
        for (uint32_t i = 0; i < n && i < 32; i++) { /* a way that few of these go is none */
            const uint64_t choice = pairs[i * (n / 32)].address - scale * pairs[i * (n / 32)].last;
            uint32_t times = 0;
            for (uint32_t k = 0; k < n; k++)
                times += !is_known[k] && pairs[k].address - scale * pairs[k].last == choice;
            if (times > best) {
                best = times;
                choices[count] = choice;
            }
        }
        if (best < n / 32)
            break;
        shares[count] = best;
        for (uint32_t k = 0; k < n; k++)
            is_known[k] |= pairs[k].address - scale * pairs[k].last == choices[count];
    }
    return count;
}

/* Chi squared over addresses that came several times: the ways from each as from all. */
bool nest_is_chosen_alike(const struct nest_rows *rows, uint64_t scale)
{
    const uint32_t n = rows->pairs_seen < PAIRS ? (uint32_t)rows->pairs_seen : PAIRS;
    struct pair pairs[PAIRS];
    uint64_t choices[CHOICES];
    double shares[CHOICES], sum = 0, known = 0, freedom = 0;
    uint32_t count;

    if (n < 64)
        return true;
    memcpy(pairs, rows->pairs, n * sizeof *pairs);
    count = find_choices(pairs, n, scale, choices, shares);
    for (uint32_t c = 0; c < count; c++)
        known += shares[c];
    qsort(pairs, n, sizeof *pairs, compare_pairs);
    for (uint32_t i = 0, end; i < n; i = end) {
        double times[CHOICES] = {0}, all = 0;
        for (end = i; end < n && pairs[end].last == pairs[i].last; end++)
            for (uint32_t c = 0; c < count; c++)
                if (pairs[end].address - scale * pairs[end].last == choices[c]) {
                    times[c]++;
                    all++;
                }
        if (all < (double)PAIRS_ALIKE)
            continue;
        for (uint32_t c = 0; c < count; c++) {
            const double wanted = all * shares[c] / known;
            sum += (times[c] - wanted) * (times[c] - wanted) / wanted;
        }
        freedom += count - 1;
    }
    return sum <= freedom + 6 * sqrt(2 * freedom);
}
