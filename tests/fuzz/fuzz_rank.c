/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Run times from arbitrary bytes: an error, or a table; where it can be ranked, probabilities are
 * at most 1/2 (that of an order where the pair's own cases are for it), every machine is in the
 * order once, and counts are of cases that there are.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "predict/rank/ranking.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
    if (!holds)
        abort();
}

static void check_pair(const struct ranking_pair *pair, const struct times *times)
{
    check(pair->first < times->machine_count && pair->second < times->machine_count);
    check(pair->cases <= times->case_count && pair->compared <= pair->cases);
    check(pair->first_faster + pair->equal <= pair->cases);
    check(pair->over_threshold <= pair->observed && pair->observed <= pair->compared);
    check(!pair->cases || (pair->probability >= 0 && pair->probability <= 0.5));
    check(!pair->cases || (pair->order_probability >= 0 && pair->order_probability <= 1));
    check(!(pair->ratio > 1) || pair->order_probability <= 0.5);
    check(!(pair->ratio < 1) || pair->order_probability >= 0.5);
}

static void rank(const struct times *times)
{
    const struct ranking_settings settings = {SIZE_MAX, 0.2, 0.1};
    struct ranking ranking;
    struct psnap_error error;
    size_t sum = 0;

    check(ranking_make(&ranking, times, &settings, &error) == PSNAP_OK);
    for (size_t i = 0; i < times->machine_count; i++)
        sum += ranking.order[i];
    check(sum == times->machine_count * (times->machine_count - 1) / 2);
    check(ranking.base < times->machine_count);
    for (size_t i = 0; i < ranking.pair_count; i++)
        check_pair(&ranking.pairs[i], times);
    for (size_t i = 0; i < times->case_count; i++)
        check(isnan(ranking.cases[i].tau) || fabs(ranking.cases[i].tau) <= 1 + 1e-12);
    ranking_release(&ranking);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct times times = {0};
    struct psnap_error error = {0};
    FILE *file;
    enum psnap_status status;

    if (!size)
        return 0;
    file = fmemopen((void *)(uintptr_t)data, size, "r");
    check(file != NULL);
    status = times_read(&times, file, &(struct times_file){.path = "in"}, &error);
    check(!status || (error.code < 0 && error.message[0]));
    fclose(file);
    if (!status && !times_check(&times, ranking_kind(&times), &error))
        rank(&times);
    times_release(&times);
    return 0;
}
