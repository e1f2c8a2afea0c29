/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The report of psnap hybrid as JSON (HYBRID.md has the fields).
 */
#include <math.h>

#include "predict/hybrid/cmd_hybrid.h"

static void print_checks(const struct anova_checks *checks, struct psnap_json *json)
{
    psnap_json_real(json, "anderson_darling", checks->anderson_darling);
    psnap_json_real(json, "anderson_darling_p", checks->anderson_darling_p);
    psnap_json_real(json, "brown_forsythe", checks->brown_forsythe);
    psnap_json_real(json, "brown_forsythe_p", checks->brown_forsythe_p);
    psnap_json_real(json, "largest_standardized", checks->largest);
}

static void print_effect(const char *name, const struct anova_effect *effect, double level,
                         struct psnap_json *json)
{
    psnap_json_begin_object(json, NULL);
    psnap_json_text(json, "effect", name);
    psnap_json_real(json, "df", effect->df);
    psnap_json_real(json, "sum_of_squares", effect->sum_of_squares);
    psnap_json_real(json, "f", effect->f);
    psnap_json_real(json, "p", effect->p);
    psnap_json_real(json, "partial_eta_squared", effect->partial_eta_squared);
    if (!isnan(effect->p))
        psnap_json_bool(json, "rejected", effect->p < level);
    psnap_json_end_object(json);
}

static void print_experiment(const struct hybrid_code *code,
                             const struct observations *observations, double level,
                             struct psnap_json *json)
{
    static const char *const names[] = {"size", "machine", "interaction"};
    const struct anova *anova = &code->experiment;
    const struct anova_effect residual = {.df = anova->residual_df,
                                          .sum_of_squares = anova->residual_sum_of_squares,
                                          .f = NAN,
                                          .p = NAN,
                                          .partial_eta_squared = NAN};

    psnap_json_begin_array(json, "effects");
    for (int e = ANOVA_A; e <= ANOVA_INTERACTION && code->has_experiment; e++)
        print_effect(names[e], &anova->effects[e], level, json);
    if (code->has_experiment)
        print_effect("residual", &residual, level, json);
    psnap_json_end_array(json);
    if (code->is_refused)
        psnap_json_text(json, "why_no_effects", code->refusal.message);
    if (!code->has_experiment)
        return;
    psnap_json_bool(json, "balanced", anova->is_balanced);
    psnap_json_real(json, "total_sum_of_squares", anova->total_sum_of_squares);
    psnap_json_begin_object(json, "residuals");
    print_checks(&anova->checks, json);
    psnap_json_u64(json, "largest_line",
                   observations->rows[code->rows[anova->checks.largest_of]].src_line);
    psnap_json_end_object(json);
}

/* A number, or a name. */
static void print_size(const struct observations *observations, const char *key, double size,
                       struct psnap_json *json)
{
    char buffer[32];

    if (observations->sizes.count && !isnan(size))
        psnap_json_text(json, key, observations_size(observations, size, buffer));
    else
        psnap_json_real(json, key, size);
}

/* --------------------------------------------------------------------------- m0 */

/* What fewer sizes than M0_STEADY_SIZES do not say is null. */
static void bool_of_sizes(struct psnap_json *json, const char *key, bool value, size_t sizes)
{
    if (sizes < M0_STEADY_SIZES)
        psnap_json_real(json, key, NAN);
    else
        psnap_json_bool(json, key, value);
}

static void print_points(const struct m0_curve *curve, const struct observations *observations,
                         struct psnap_json *json)
{
    psnap_json_begin_array(json, "points");
    for (size_t p = 0; p < curve->count; p++) {
        const struct m0_point *point = &curve->points[p];
        psnap_json_begin_object(json, NULL);
        print_size(observations, "size", point->size, json);
        psnap_json_u64(json, "observations", point->count);
        psnap_json_real(json, "m0", point->m0);
        psnap_json_real(json, "deviation", point->deviation);
        psnap_json_real(json, "m0_fitted", point->m0_fitted);
        psnap_json_end_object(json);
    }
    psnap_json_end_array(json);
}

static void print_latencies(const struct m0_curve *curve, struct psnap_json *json)
{
    psnap_json_begin_array(json, "latencies");
    for (uint32_t l = 0; l < curve->levels; l++) {
        psnap_json_begin_object(json, NULL);
        psnap_json_u64(json, "level", l + (uint64_t)2);
        psnap_json_real(json, "average_cycles", curve->latencies[l]);
        psnap_json_real(json, "maximal_cycles", curve->maximal[l]);
        psnap_json_end_object(json);
    }
    psnap_json_end_array(json);
    if (curve->has_latencies)
        psnap_json_real(json, "fit_error", curve->fit_error);
    else
        psnap_json_text(json, "why_no_latencies", curve->why_no_latencies);
}

static void print_curve(const struct m0_curve *curve, const struct observations *observations,
                        struct psnap_json *json)
{
    psnap_json_begin_object(json, NULL);
    psnap_json_text(json, "machine", observations->machines.names[curve->machine]);
    psnap_json_u64(json, "left_out", curve->left_out);
    if (curve->left_out) {
        psnap_json_u64(json, "left_out_line", curve->first_left_out->src_line);
        psnap_json_text(json, "why_left_out", curve->why);
    }
    if (!curve->count)
        psnap_json_text(json, "why_not", curve->why);
    else {
        psnap_json_real(json, "mean", curve->mean);
        psnap_json_real(json, "variance", curve->deviation * curve->deviation);
        bool_of_sizes(json, "steady", curve->is_steady, curve->count);
        print_size(observations, "steady_from", curve->steady_from, json);
        psnap_json_real(json, "steady_mean", curve->steady_mean);
        psnap_json_real(json, "steady_variance", curve->steady_deviation * curve->steady_deviation);
        print_latencies(curve, json);
    }
    print_points(curve, observations, json);
    psnap_json_end_object(json);
}

static void print_difference(const struct m0_difference *difference, struct psnap_json *json)
{
    psnap_json_u64(json, "sizes", difference->sizes);
    psnap_json_real(json, "mean", difference->mean);
    psnap_json_real(json, "largest_deviation", difference->largest);
    bool_of_sizes(json, "constant", difference->is_constant, difference->sizes);
}

static void print_differences(const struct hybrid_code *code,
                              const struct observations *observations, struct psnap_json *json)
{
    psnap_json_begin_array(json, "differences");
    for (size_t p = 0; p < code->pair_count; p++) {
        const struct hybrid_pair *pair = &code->pairs[p];
        psnap_json_begin_object(json, NULL);
        psnap_json_text(json, "of", observations->machines.names[code->machines[pair->second]]);
        psnap_json_text(json, "from", observations->machines.names[code->machines[pair->first]]);
        print_difference(&pair->difference, json);
        psnap_json_begin_object(json, "steady");
        print_difference(&pair->steady, json);
        psnap_json_end_object(json);
        psnap_json_end_object(json);
    }
    psnap_json_end_array(json);
    psnap_json_begin_object(json, "parallel");
    psnap_json_real(json, "f", code->parallel_f);
    psnap_json_real(json, "df", code->parallel_df);
    psnap_json_real(json, "residual_df", code->parallel_residual_df);
    psnap_json_real(json, "p", code->parallel_p);
    psnap_json_end_object(json);
}

static void print_code(const struct hybrid_code *code, const struct observations *observations,
                       double level, struct psnap_json *json)
{
    const char *const *const names = observations->machines.names;

    psnap_json_begin_object(json, NULL);
    psnap_json_text(json, "code", observations->codes.names[code->code]);
    psnap_json_u64(json, "observations", code->count);
    psnap_json_begin_array(json, "sizes");
    for (uint32_t s = 0; s < code->size_count; s++)
        print_size(observations, NULL, code->sizes[s], json);
    psnap_json_end_array(json);
    psnap_json_begin_array(json, "machines");
    for (uint32_t m = 0; m < code->machine_count; m++)
        psnap_json_text(json, NULL, names[code->machines[m]]);
    psnap_json_end_array(json);
    print_experiment(code, observations, level, json);
    psnap_json_begin_array(json, "m0");
    for (uint32_t m = 0; m < code->machine_count; m++)
        print_curve(&code->curves[m], observations, json);
    psnap_json_end_array(json);
    print_differences(code, observations, json);
    if (code->is_known)
        psnap_json_bool(json, "predictable", code->is_predictable);
    else
        psnap_json_real(json, "predictable", NAN);
    print_size(observations, "steady_from", code->steady_from, json);
    psnap_json_text(json, "verdict", code->verdict);
    psnap_json_end_object(json);
}

/* -------------------------------------------------------------------- hypotheses */

static void print_hypothesis(const struct hypothesis *hypothesis, int which,
                             struct psnap_json *json)
{
    psnap_json_begin_object(json, NULL);
    psnap_json_text(json, "hypothesis", hypothesis_name(which));
    psnap_json_text(json, "response", hypothesis_response(which));
    psnap_json_text(json, "claim", hypothesis_claim(which));
    psnap_json_bool(json, "tested", hypothesis->is_tested);
    if (!hypothesis->is_tested)
        psnap_json_text(json, "why_not", hypothesis->why);
    else {
        psnap_json_real(json, "df", hypothesis->effect.df);
        psnap_json_real(json, "residual_df", hypothesis->residual_df);
        psnap_json_real(json, "sum_of_squares", hypothesis->effect.sum_of_squares);
        psnap_json_real(json, "f", hypothesis->effect.f);
        psnap_json_real(json, "p", hypothesis->effect.p);
        psnap_json_real(json, "partial_eta_squared", hypothesis->effect.partial_eta_squared);
        psnap_json_bool(json, "rejected", hypothesis->is_rejected);
        psnap_json_text(json, "next", hypothesis_next(which, hypothesis->is_rejected));
        psnap_json_begin_object(json, "residuals");
        print_checks(&hypothesis->checks, json);
        psnap_json_end_object(json);
    }
    psnap_json_end_object(json);
}

void hybrid_print_json(const struct hybrid *hybrid, const struct observations *observations,
                       const struct hybrid_settings *settings)
{
    struct psnap_json json;

    psnap_cmd_begin_json(&json, stdout, "hybrid");
    psnap_json_begin_array(&json, "inputs");
    for (size_t i = 0; i < settings->path_count; i++)
        psnap_json_text(&json, NULL, settings->paths[i]);
    psnap_json_end_array(&json);
    psnap_json_u64(&json, "observations", observations->count);
    psnap_json_real(&json, "level", settings->options.level);
    psnap_json_real(&json, "steady", settings->options.steady);
    psnap_json_bool(&json, "sizes_as_replicates", settings->options.sizes_as_replicates);
    psnap_json_begin_array(&json, "codes");
    for (size_t c = 0; c < hybrid->code_count; c++)
        print_code(&hybrid->codes[c], observations, settings->options.level, &json);
    psnap_json_end_array(&json);
    psnap_json_begin_array(&json, "hypotheses");
    for (int h = 0; h < HYPOTHESES; h++)
        print_hypothesis(&hybrid->hypotheses[h], h, &json);
    psnap_json_end_array(&json);
    psnap_json_end_object(&json);
    putchar('\n');
}
