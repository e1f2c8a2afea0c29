/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a profile says about being of a part of the program (profile/FORMAT.md):
 * `roi` and `sampling` in `capture`, `estimate` in loops. All other counts are those
 * of the accesses that were recorded. What the whole run has is estimated as the
 * recorded times run / recorded accesses; the errors of this are the recorder's
 * (capture/collect/sampling.c).
 */
#include "profile/yaml/sampling.h"

#include <inttypes.h>
#include <math.h>

enum psnap_status sampling_copy(const struct psnap_sampling *from, struct psnap_arena *arena,
                                struct psnap_sampling *to)
{
    uint64_t *const numbers[] = {&to->skip,   &to->count,   &to->window,
                                 &to->period, &to->windows, &to->run_accesses};
    const enum psnap_status status = psnap_sampling_copy(from, arena, to);

    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (*numbers[i] > PSNAP_COUNT_MAX) /* which no profile may have */
            *numbers[i] = PSNAP_COUNT_MAX;
    return status;
}

/* A count; PSNAP_COUNT_MAX for what is more, or is none. */
static uint64_t to_count(double value)
{
    return value < (double)PSNAP_COUNT_MAX ? (uint64_t)value : PSNAP_COUNT_MAX;
}

void sampling_estimate(const struct psnap_sampling *sampling, uint64_t total, uint32_t index,
                       uint64_t accesses, struct psnap_profile_loop *loop)
{
    const double weight = total ? (double)sampling->run_accesses / (double)total : 0;

    loop->estimate_accesses = loop->estimate_error = UINT64_MAX;
    if (!sampling->window || !accesses)
        return;
    loop->estimate_accesses = to_count(round(weight * (double)accesses));
    if (index < sampling->loop_error_count)
        loop->estimate_error = to_count(ceil(sampling->loop_errors[index]));
}

enum psnap_status read_sampling(const struct reading *r, const struct psnap_yaml_node *capture)
{
    static const char *const keys[] = {"skip",    "count",        "window", "period",
                                       "windows", "run_accesses", NULL};
    const struct psnap_yaml_node *map = psnap_yaml_get(capture, "sampling");
    struct psnap_sampling *to = &r->profile->sampling;
    enum psnap_status status = read_texts(r, capture, "roi", &to->regions);

    if (status || !map)
        return status;
    if ((status = psnap_yaml_expect_keys(r->doc, map, "sampling", keys, r->error)) ||
        (status = read_count(r, map, "skip", 0, &to->skip)) ||
        (status = read_count(r, map, "count", 0, &to->count)) ||
        (status = read_count(r, map, "window", 0, &to->window)) ||
        (status = read_count(r, map, "period", 0, &to->period)) ||
        (status = read_count(r, map, "windows", 0, &to->windows)) ||
        (status = read_count(r, map, "run_accesses", 0, &to->run_accesses)))
        return status;
    to->is_empty = psnap_yaml_get(map, "count") && !to->count;
    if (!to->window != !to->period)
        return psnap_yaml_fail(r->doc, map, r->error, PSNAP_ERROR_VALUE,
                               "'window' and 'period' go together");
    if (to->window > to->period)
        return psnap_yaml_fail(r->doc, psnap_yaml_get(map, "window"), r->error, PSNAP_ERROR_VALUE,
                               "'window' is %" PRIu64 ", longer than its period of %" PRIu64,
                               to->window, to->period);
    return PSNAP_OK;
}

enum psnap_status read_estimate(const struct reading *r, const struct psnap_yaml_node *map,
                                struct psnap_profile_loop *loop)
{
    static const char *const keys[] = {"accesses", "standard_error", NULL};
    const struct psnap_yaml_node *estimate = psnap_yaml_get(map, "estimate");
    enum psnap_status status;

    loop->estimate_accesses = loop->estimate_error = UINT64_MAX;
    if (!estimate)
        return PSNAP_OK;
    if ((status = psnap_yaml_expect_keys(r->doc, estimate, "estimate", keys, r->error)) ||
        (status = read_count(r, estimate, "accesses", UINT64_MAX, &loop->estimate_accesses)))
        return status;
    return read_count(r, estimate, "standard_error", UINT64_MAX, &loop->estimate_error);
}

void write_sampling(const struct psnap_profile *profile, struct psnap_yaml_doc *doc,
                    struct psnap_yaml_node *capture)
{
    const struct psnap_sampling *from = &profile->sampling;
    const struct {
        const char *key;
        uint64_t value;
    } counts[] = {{"skip", from->skip},       {"count", from->count},
                  {"window", from->window},   {"period", from->period},
                  {"windows", from->windows}, {"run_accesses", from->run_accesses}};
    struct psnap_yaml_node *node = NULL;

    if (from->regions) {
        node = psnap_yaml_add_sequence(doc, capture, "roi", PSNAP_YAML_FLOW);
        for (const char *const *name = from->regions; *name; name++)
            psnap_yaml_add_text(doc, node, NULL, *name);
    }
    if (!from->skip && !from->count && !from->window && !from->is_empty)
        return;
    node = psnap_yaml_add_map(doc, capture, "sampling", PSNAP_YAML_FLOW);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        if (i == 1 ? counts[i].value || from->is_empty : counts[i].value && (i < 4 || from->window))
            psnap_yaml_add_u64(doc, node, counts[i].key, counts[i].value);
}

void write_estimate(const struct psnap_profile_loop *loop, struct psnap_yaml_doc *doc,
                    struct psnap_yaml_node *map)
{
    struct psnap_yaml_node *estimate;

    if (loop->estimate_accesses == UINT64_MAX)
        return;
    estimate = psnap_yaml_add_map(doc, map, "estimate", PSNAP_YAML_FLOW);
    psnap_yaml_add_u64(doc, estimate, "accesses", loop->estimate_accesses);
    if (loop->estimate_error != UINT64_MAX)
        psnap_yaml_add_u64(doc, estimate, "standard_error", loop->estimate_error);
}
