/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * psnap show for programs, --json: what the tables have, with exact numbers, and the fields
 * that these have no room for. The model of model nests is cmd_show_model_json.c's.
 */
#include <stdio.h>
#include <stdlib.h>

#include "formats/base/cmd.h"
#include "formats/base/json.h"
#include "formats/base/layout.h"
#include "profile/cmd_show.h"
#include "profile/yaml/yaml_keys.h"

static void json_strides(struct psnap_json *json, const uint64_t counts[PSNAP_STRIDE_BINS])
{
    psnap_json_begin_object(json, "strides");
    for (unsigned bin = 0; bin < PSNAP_STRIDE_BINS; bin++)
        if (counts[bin])
            psnap_json_u64(json, psnap_stride_label(bin), counts[bin]);
    psnap_json_end_object(json);
}

static void json_operations(struct psnap_json *json, const uint64_t counts[PSNAP_OPERATION_COUNT])
{
    psnap_json_begin_object(json, "operations");
    for (unsigned op = 0; op < PSNAP_OPERATION_COUNT; op++)
        if (counts[op])
            psnap_json_u64(json, psnap_operation_name(op), counts[op]);
    psnap_json_end_object(json);
}

static void json_region(struct psnap_json *json, const struct psnap_profile_region *region)
{
    const struct psnap_place place = psnap_layout_split(region->low);
    uint64_t strides[PSNAP_STRIDE_BINS] = {0};

    for (unsigned s = 0; s < region->stride_count; s++)
        strides[region->strides[s].bin] = region->strides[s].count;
    psnap_json_begin_object(json, NULL);
    psnap_json_text(json, "id", region->id);
    if (region->object)
        psnap_json_text(json, psnap_object_keys[region->object_kind], region->object);
    psnap_json_u64(json, "accesses", region->accesses);
    for (unsigned kind = 0; kind < 3; kind++)
        psnap_json_u64(json, psnap_kind_keys[kind], region->kinds[kind]);
    psnap_json_u64(json, "working_set_bytes", region->bytes);
    psnap_json_text(json, "group", psnap_group_name(place.group));
    psnap_json_u64(json, "index", place.index);
    psnap_json_i64(json, "offset", place.offset);
    json_strides(json, strides);
    psnap_json_end_object(json);
}

static void json_loop(struct psnap_json *json, const struct psnap_profile *profile,
                      const struct show_summary *summary, uint64_t accesses, bool regions)
{
    const struct psnap_profile_loop *loop = &profile->loops[summary->index];

    psnap_json_begin_object(json, NULL);
    psnap_json_text(json, "id", loop->id);
    psnap_json_text(json, "part_of", loop->src_id);
    if (loop->thread != PSNAP_NONE) {
        psnap_json_text(json, "whole", profile->loops[loop->whole].id);
        psnap_json_u64(json, "thread", loop->thread);
        psnap_json_u64(json, "threads", loop->thread_count);
    }
    psnap_json_text(json, "function", loop->function);
    psnap_json_text(json, "file", loop->file);
    psnap_json_u64(json, "src_line", loop->src_line);
    psnap_json_u64(json, "depth", loop->depth);
    if (loop->parent != PSNAP_NONE)
        psnap_json_text(json, "parent", profile->loops[loop->parent].id);
    if (loop->entries != UINT64_MAX)
        psnap_json_u64(json, "entries", loop->entries);
    if (loop->iterations != UINT64_MAX)
        psnap_json_u64(json, "iterations", loop->iterations);
    psnap_json_u64(json, "accesses", summary->accesses);
    if (loop->expected_off > 0)
        psnap_json_real(json, "expected_off_points", loop->expected_off);
    if (loop->estimate_accesses != UINT64_MAX)
        psnap_json_u64(json, "estimate_accesses", loop->estimate_accesses);
    if (loop->estimate_error != UINT64_MAX)
        psnap_json_u64(json, "standard_error", loop->estimate_error);
    psnap_json_real(json, "share", show_share(summary->accesses, accesses));
    psnap_json_u64(json, "loads", summary->loads);
    psnap_json_u64(json, "stores", summary->stores);
    psnap_json_u64(json, "working_set_bytes", summary->working_set_bytes);
    json_strides(json, summary->strides);
    json_operations(json, loop->operations);
    if (regions) {
        psnap_json_begin_array(json, "regions");
        for (uint32_t i = 0; i < loop->region_count; i++)
            json_region(json, &loop->regions[i]);
        psnap_json_end_array(json);
    } else {
        psnap_json_u64(json, "region_count", summary->region_count);
    }
    show_json_references(json, profile, summary->index);
    psnap_json_end_object(json);
}

/* Nothing when threads are merged. */
static void json_threads(struct psnap_json *json, const struct psnap_profile *profile,
                         uint64_t accesses)
{
    struct show_thread *threads = profile->is_apart ? show_threads(profile) : NULL;

    if (threads)
        psnap_json_begin_array(json, "threads");
    for (uint32_t i = 0; threads && i < PSNAP_THREADS_MAX; i++) {
        if (!threads[i].part)
            continue;
        psnap_json_begin_object(json, NULL);
        psnap_json_u64(json, "thread", i);
        psnap_json_u64(json, "threads", threads[i].part->thread_count);
        psnap_json_u64(json, "loops", threads[i].loops);
        psnap_json_u64(json, "accesses", threads[i].accesses);
        psnap_json_real(json, "share", show_share(threads[i].accesses, accesses));
        psnap_json_end_object(json);
    }
    if (threads)
        psnap_json_end_array(json);
    free(threads);
}

static void json_certificate_rows(struct psnap_json *json, const char *key,
                                  const struct psnap_certificate_row *rows, uint32_t count)
{
    psnap_json_begin_array(json, key);
    for (uint32_t i = 0; i < count; i++) {
        psnap_json_begin_object(json, NULL);
        if (rows[i].machine)
            psnap_json_text(json, "machine", rows[i].machine);
        psnap_json_u64(json, rows[i].is_tlb ? "tlb" : "level", rows[i].level);
        psnap_json_real(json, "mean_points", rows[i].mean_points);
        psnap_json_real(json, "max_points", rows[i].max_points);
        psnap_json_real(json, "total_points", rows[i].total_points);
        psnap_json_end_object(json);
    }
    psnap_json_end_array(json);
}

/* As in the profile, and whether it holds. Nothing without one. */
static void json_certificate(struct psnap_json *json, const struct psnap_profile *profile)
{
    const struct psnap_certificate *from = profile->certificate;

    if (!from)
        return;
    psnap_json_begin_object(json, "certificate");
    psnap_json_bool(json, "holds", psnap_certificate_holds(profile, NULL) == 1);
    psnap_json_text(json, "psnap", from->version);
    psnap_json_u64(json, "seed", from->seed);
    psnap_json_u64(json, "relevant_loops", from->relevant_loops);
    if (from->machine_count) {
        psnap_json_begin_object(json, "machines");
        for (uint32_t i = 0; i < from->machine_count; i++)
            psnap_json_text(json, from->machines[i].name, from->machines[i].caches);
        psnap_json_end_object(json);
    }
    json_certificate_rows(json, "levels", from->levels, from->level_count);
    json_certificate_rows(json, "rows", from->rows, from->row_count);
    if (from->worst_loop) {
        psnap_json_begin_object(json, "worst_loop");
        psnap_json_text(json, "id", from->worst_loop);
        psnap_json_text(json, "machine", from->worst.machine);
        psnap_json_u64(json, from->worst.is_tlb ? "tlb" : "level", from->worst.level);
        psnap_json_real(json, "points", from->worst.max_points);
        psnap_json_end_object(json);
    }
    psnap_json_end_object(json);
}

bool show_print_json(const struct psnap_profile *profile, const struct psnap_profile_totals *totals,
                     const struct show_summary *summaries, uint32_t count, bool regions)
{
    struct psnap_json json;

    psnap_json_init(&json, stdout);
    psnap_json_begin_object(&json, NULL);
    psnap_json_u64(&json, "psnap", 1);
    psnap_json_text(&json, "command", "show");
    psnap_json_text(&json, "program", profile->provenance.name);
    psnap_json_text(&json, "model", profile->model);
    psnap_json_part(&json, &profile->sampling);
    psnap_json_u64(&json, "accesses", totals->accesses);
    psnap_json_u64(&json, "loads", totals->loads);
    psnap_json_u64(&json, "stores", totals->stores);
    psnap_json_u64(&json, "atomics", totals->atomics);
    psnap_json_u64(&json, "bytes", totals->bytes);
    json_operations(&json, totals->operations);
    json_certificate(&json, profile);
    json_threads(&json, profile, totals->accesses);
    psnap_json_u64(&json, "loop_count", totals->loops);
    if (profile->is_apart)
        psnap_json_u64(&json, "part_count", totals->parts);
    psnap_json_begin_array(&json, "loops");
    for (uint32_t i = 0; i < count; i++)
        json_loop(&json, profile, &summaries[i], totals->accesses, regions);
    psnap_json_end_array(&json);
    if (!regions)
        show_json_model(&json, profile);
    psnap_json_end_object(&json);
    return true;
}
