/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A comparison as JSON; MACHINES.md documents its fields.
 */
#include <stdio.h>

#include "formats/base/cmd.h"
#include "simcore/cmd_compare.h"
#include "simcore/cmd_turns.h"

static void json_level(struct psnap_json *json, const struct compare_level *level)
{
    psnap_json_real(json, "observed", level->observed);
    psnap_json_real(json, "synthetic", level->synthetic);
    psnap_json_real(json, "error_points", level->error_points);
    psnap_json_real(json, "relative_miss_error", level->relative_miss_error);
    psnap_json_end_object(json);
}

static void json_row(struct psnap_json *json, const struct compare *compare,
                     const struct compare_row *row)
{
    const struct psnap_machine *machine = &compare->machines[row->machine];

    psnap_json_begin_object(json, NULL);
    psnap_json_text(json, "machine", machine->name);
    psnap_json_text(json, "scope", psnap_scope_name(row->scope));
    psnap_json_text(json, "id", row->id);
    psnap_json_text(json, "name", row->name);
    psnap_json_real(json, "share", row->share);
    psnap_json_bool(json, "relevant", row->relevant);
    psnap_json_begin_array(json, "levels");
    for (uint32_t i = 0; i < machine->level_count; i++) {
        psnap_json_begin_object(json, NULL);
        psnap_json_u64(json, "level", i + UINT64_C(1));
        if (machine->levels[i].name[0])
            psnap_json_text(json, "name", machine->levels[i].name);
        json_level(json, &row->levels[i]);
    }
    psnap_json_end_array(json);
    if (machine->tlb_level_count) {
        psnap_json_begin_array(json, "tlb");
        for (uint32_t i = 0; i < machine->tlb_level_count; i++) {
            psnap_json_begin_object(json, NULL);
            psnap_json_text(json, "level", scope_tlb_name(i));
            json_level(json, &row->levels[COMPARE_TLB + i]);
        }
        psnap_json_end_array(json);
    }
    psnap_json_end_object(json);
}

static void json_points(struct psnap_json *json, const char *key, const double *points,
                        uint32_t levels)
{
    psnap_json_begin_array(json, key);
    for (uint32_t i = 0; i < levels; i++)
        psnap_json_real(json, NULL, points[i]);
    psnap_json_end_array(json);
}

static void json_side(struct psnap_json *json, const char *key, const struct compare_side *side)
{
    psnap_json_begin_object(json, key);
    psnap_json_text(json, "input", side->path);
    psnap_json_u64(json, "accesses", side->accesses);
    psnap_turns_json(json, side->threads, side->in_turn);
    psnap_json_end_object(json);
}

static bool claim_is_confirmed(const struct compare_claim *claim)
{
    return claim->holds && !claim->check.has_other_seed && !claim->check.other_machine &&
           claim->check.compared && !claim->check.different;
}

/* What the synthetic side claims, when it is a profile with a certificate. */
static void json_claim(struct psnap_json *json, const struct compare_claim *claim)
{
    const struct certificate_check *check = &claim->check;
    const bool is_other = check->has_other_seed || check->other_machine;

    psnap_json_begin_object(json, "certificate");
    psnap_json_text(json, "psnap", claim->certificate->version);
    psnap_json_u64(json, "seed", claim->certificate->seed);
    psnap_json_bool(json, "holds", claim->holds);
    psnap_json_u64(json, "compared_rows", is_other ? 0 : check->compared);
    psnap_json_u64(json, "different_rows", is_other ? 0 : check->different);
    psnap_json_bool(json, "confirmed", claim_is_confirmed(claim));
    psnap_json_end_object(json);
}

void compare_print_json(const struct compare *compare, const struct compare_side *observed,
                        const struct compare_side *synthetic, const struct compare_claim *claim,
                        bool all)
{
    struct psnap_json json;

    psnap_cmd_begin_json(&json, stdout, "compare");
    json_side(&json, "observed", observed);
    json_side(&json, "synthetic", synthetic);
    psnap_json_begin_array(&json, "rows");
    for (size_t i = 0; i < compare->count; i++)
        if (all || compare->rows[i].relevant)
            json_row(&json, compare, &compare->rows[i]);
    psnap_json_end_array(&json);
    psnap_json_begin_object(&json, "summary");
    psnap_json_u64(&json, "relevant_loops", compare->relevant_loops);
    psnap_json_u64(&json, "missing_loops", compare->missing_loops);
    psnap_json_u64(&json, "machines", compare->machine_count);
    json_points(&json, "mean_points", compare->mean_points, compare->levels);
    json_points(&json, "max_points", compare->max_points, compare->levels);
    json_points(&json, "total_points", compare->total_points, compare->levels);
    if (compare->tlb_levels) {
        const uint32_t n = compare->tlb_levels;
        json_points(&json, "tlb_mean_points", compare->mean_points + COMPARE_TLB, n);
        json_points(&json, "tlb_max_points", compare->max_points + COMPARE_TLB, n);
        json_points(&json, "tlb_total_points", compare->total_points + COMPARE_TLB, n);
    }
    psnap_json_end_object(&json);
    if (claim->certificate)
        json_claim(&json, claim);
    psnap_json_end_object(&json);
    putchar('\n');
}
