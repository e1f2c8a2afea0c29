/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * psnap diff for programs, --json:
 *
 *   {psnap, command, a: SIDE, b: SIDE, same, differing, loops: [PAIR], schedule: {same, thread,
 *    a, b: the first items that differ}, chains: [{id, in_a, in_b, from, to, share_a, share_b}]}
 *   SIDE  {input, program, compiler, host, model, accesses, loads, stores, atomics, loop_count}
 *   PAIR  {match, importance, changes: [WORD], a: LOOP or null, b: LOOP or null,
 *          regions: [{name, object, changes, a: NUMBERS or null, b: NUMBERS or null}],
 *          addresses: [{ref, a: TEXT, b: TEXT}], trip_counts: [{body, a: TEXT, b: TEXT}]}
 *   LOOP  {id, function, file, src_line, depth, entries, iterations, references, exact, parts,
 *          operations, share, NUMBERS}
 *   NUMBERS  accesses, loads, stores, atomics, working_set_bytes, sizes, strides, and with model
 *            irregular references reuse: {first, times: by the shortest of a bin}
 *
 * match is id, moved, renamed, only_a or only_b; loops of one id that are alike are left out, as
 * are those beyond --top.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "formats/base/cmd.h"
#include "formats/base/json.h"
#include "profile/cmd_words.h"
#include "profile/diff/cmd_diff.h"
#include "profile/yaml/yaml_keys.h"

static void json_null(struct psnap_json *json, const char *key)
{
    psnap_json_real(json, key, NAN);
}

static void json_reuse(struct psnap_json *json, const struct diff_region *region)
{
    char label[16];

    psnap_json_begin_object(json, "reuse");
    psnap_json_u64(json, "first", region->reuse[REUSE_FIRST]);
    psnap_json_begin_object(json, "times");
    for (unsigned bin = 0; bin < REUSE_FIRST; bin++) {
        snprintf(label, sizeof label, "%" PRIu64, reuse_bin_low(bin));
        if (region->reuse[bin])
            psnap_json_u64(json, label, region->reuse[bin]);
    }
    psnap_json_end_object(json);
    psnap_json_end_object(json);
}

static void json_numbers(struct psnap_json *json, const struct diff_region *region)
{
    char label[16];

    psnap_json_u64(json, "accesses", region->accesses);
    for (unsigned kind = 0; kind < 3; kind++)
        psnap_json_u64(json, psnap_kind_keys[kind], region->kinds[kind]);
    psnap_json_u64(json, "working_set_bytes", region->working_set_bytes);
    psnap_json_begin_object(json, "sizes");
    for (unsigned size = 0; size <= PSNAP_ACCESS_SIZE_MAX; size++) {
        snprintf(label, sizeof label, "%u", size);
        if (region->sizes[size])
            psnap_json_u64(json, label, region->sizes[size]);
    }
    psnap_json_end_object(json);
    psnap_json_begin_object(json, "strides");
    for (unsigned bin = 0; bin < PSNAP_STRIDE_BINS; bin++)
        if (region->strides[bin])
            psnap_json_u64(json, psnap_stride_label(bin), region->strides[bin]);
    psnap_json_end_object(json);
    if (diff_has_reuse(region))
        json_reuse(json, region);
}

static void json_loop(struct psnap_json *json, const char *key, const struct diff_loop *loop,
                      const struct diff_side *side)
{
    if (!loop) {
        json_null(json, key);
        return;
    }
    psnap_json_begin_object(json, key);
    psnap_json_text(json, "id", loop->id);
    psnap_json_text(json, "function", loop->first->function);
    psnap_json_text(json, "file", loop->first->file);
    psnap_json_u64(json, "src_line", loop->first->src_line);
    psnap_json_u64(json, "depth", loop->first->depth);
    if (loop->entries != UINT64_MAX)
        psnap_json_u64(json, "entries", loop->entries);
    if (loop->iterations != UINT64_MAX)
        psnap_json_u64(json, "iterations", loop->iterations);
    if (loop->references)
        psnap_json_u64(json, "references", loop->references);
    psnap_json_bool(json, "exact", loop->is_exact);
    psnap_json_u64(json, "parts", loop->part_count);
    psnap_json_begin_object(json, "operations");
    for (unsigned op = 0; op < PSNAP_OPERATION_COUNT; op++)
        if (loop->operations[op])
            psnap_json_u64(json, psnap_operation_name(op), loop->operations[op]);
    psnap_json_end_object(json);
    psnap_json_real(
        json, "share",
        side->totals.accesses ? (double)loop->all.accesses / (double)side->totals.accesses : 0);
    json_numbers(json, &loop->all);
    psnap_json_end_object(json);
}

static void json_changes(struct psnap_json *json, unsigned changes)
{
    psnap_json_begin_array(json, "changes");
    for (unsigned bit = 0; bit < DIFF_CHANGES; bit++)
        if (changes & 1u << bit)
            psnap_json_text(json, NULL, diff_change_name(bit));
    psnap_json_end_array(json);
}

static void json_region_side(struct psnap_json *json, const char *key,
                             const struct diff_region *region)
{
    if (!region) {
        json_null(json, key);
        return;
    }
    psnap_json_begin_object(json, key);
    json_numbers(json, region);
    psnap_json_end_object(json);
}

/* Those that differ. */
static void json_regions(struct psnap_json *json, const struct diff_pair *pair)
{
    psnap_json_begin_array(json, "regions");
    for (uint32_t i = 0; i < pair->region_count; i++) {
        const struct diff_region_pair *region = &pair->regions[i];
        const struct diff_region *either = region->a ? region->a : region->b;
        if (region->a && region->b && !region->changes)
            continue;
        psnap_json_begin_object(json, NULL);
        psnap_json_text(json, "name", either->name);
        if (either->object_kind <= PSNAP_OBJECT_STACK)
            psnap_json_text(json, "object", psnap_object_keys[either->object_kind]);
        json_changes(json, region->changes);
        json_region_side(json, "a", region->a);
        json_region_side(json, "b", region->b);
        psnap_json_end_object(json);
    }
    psnap_json_end_array(json);
}

/* References and bodies that differ, in the words of psnap show. */
static void json_model(struct psnap_json *json, const struct profile_diff *diff,
                       const struct diff_pair *pair)
{
    const struct psnap_stream_model *a = diff->a.profile->stream, *b = diff->b.profile->stream;
    char text[MODEL_TEXT];

    psnap_json_begin_array(json, "addresses");
    for (uint32_t i = 0; i < pair->ref_count; i++) {
        psnap_json_begin_object(json, NULL);
        psnap_json_u64(json, "ref", a->refs[pair->refs[i].a].number);
        human_addresses(&a->refs[pair->refs[i].a], text);
        psnap_json_text(json, "a", text);
        human_addresses(&b->refs[pair->refs[i].b], text);
        psnap_json_text(json, "b", text);
        psnap_json_end_object(json);
    }
    psnap_json_end_array(json);
    psnap_json_begin_array(json, "trip_counts");
    for (uint32_t i = 0; i < pair->body_count; i++) {
        psnap_json_begin_object(json, NULL);
        psnap_json_text(json, "body", a->bodies[pair->bodies[i].a].id);
        human_trips(&a->bodies[pair->bodies[i].a], text);
        psnap_json_text(json, "a", text);
        human_trips(&b->bodies[pair->bodies[i].b], text);
        psnap_json_text(json, "b", text);
        psnap_json_end_object(json);
    }
    psnap_json_end_array(json);
}

static void json_order(struct psnap_json *json, const struct profile_diff *diff)
{
    const struct psnap_stream_model *a = diff->a.profile->stream;

    psnap_json_begin_object(json, "schedule");
    psnap_json_bool(json, "same", !diff->has_other_order);
    if (diff->has_other_order) {
        psnap_json_u64(json, "thread", diff->order_thread);
        psnap_json_text(json, "a", diff->order_a);
        psnap_json_text(json, "b", diff->order_b);
    }
    psnap_json_end_object(json);
    psnap_json_begin_array(json, "chains");
    for (uint32_t i = 0; i < diff->chain_count; i++) {
        const struct diff_chain *chain = &diff->chains[i];
        psnap_json_begin_object(json, NULL);
        psnap_json_text(
            json, "id",
            model_symbol_id(chain->in_a ? a : diff->b.profile->stream, MODEL_CHAIN | chain->chain));
        psnap_json_bool(json, "in_a", chain->in_a);
        psnap_json_bool(json, "in_b", chain->in_b);
        if (chain->has_transition) {
            const struct chain *of = &a->chains[chain->chain];
            psnap_json_text(json, "from", model_state_id(a, of, chain->from));
            psnap_json_text(json, "to", model_state_id(a, of, chain->next));
            psnap_json_real(json, "share_a", chain->share_a);
            psnap_json_real(json, "share_b", chain->share_b);
        }
        psnap_json_end_object(json);
    }
    psnap_json_end_array(json);
}

static void json_pair(struct psnap_json *json, const struct profile_diff *diff,
                      const struct diff_pair *pair)
{
    psnap_json_begin_object(json, NULL);
    psnap_json_text(json, "match", diff_match_name(pair->match));
    psnap_json_real(json, "importance", pair->importance);
    json_changes(json, pair->changes);
    json_loop(json, "a", pair->a, &diff->a);
    json_loop(json, "b", pair->b, &diff->b);
    json_regions(json, pair);
    if (pair->refs)
        json_model(json, diff, pair);
    psnap_json_end_object(json);
}

static void json_side(struct psnap_json *json, const char *key, const char *path,
                      const struct diff_side *side)
{
    const struct psnap_provenance *from = &side->profile->provenance;

    psnap_json_begin_object(json, key);
    psnap_json_text(json, "input", path);
    psnap_json_text(json, "program", from->name);
    psnap_json_text(json, "compiler", from->compiler);
    psnap_json_text(json, "host", from->host);
    psnap_json_text(json, "model", side->profile->model);
    psnap_json_u64(json, "accesses", side->totals.accesses);
    psnap_json_u64(json, "loads", side->totals.loads);
    psnap_json_u64(json, "stores", side->totals.stores);
    psnap_json_u64(json, "atomics", side->totals.atomics);
    psnap_json_u64(json, "loop_count", side->loop_count);
    psnap_json_end_object(json);
}

void diff_print_json(const struct profile_diff *diff, const struct diff_request *request)
{
    struct psnap_json json;
    uint64_t differing = 0, shown = 0;

    for (uint32_t i = 0; i < diff->pair_count; i++)
        differing += diff_pair_differs(&diff->pairs[i]);
    psnap_json_init(&json, stdout);
    psnap_json_begin_object(&json, NULL);
    psnap_json_u64(&json, "psnap", 1);
    psnap_json_text(&json, "command", "diff");
    json_side(&json, "a", request->a, &diff->a);
    json_side(&json, "b", request->b, &diff->b);
    psnap_json_bool(&json, "same", diff->is_same);
    psnap_json_u64(&json, "differing", differing);
    psnap_json_begin_array(&json, "loops");
    for (uint32_t i = 0; i < diff->pair_count && shown < request->top; i++) {
        if (!diff_pair_differs(&diff->pairs[i]) && diff->pairs[i].match == DIFF_SAME_ID)
            continue;
        json_pair(&json, diff, &diff->pairs[i]);
        shown++;
    }
    psnap_json_end_array(&json);
    if (diff->body_of)
        json_order(&json, diff);
    psnap_json_end_object(&json);
    putchar('\n');
}
