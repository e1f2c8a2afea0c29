/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Observations, code by code: an experiment of sizes and machines on cpi, whose replicates are
 * observations of the same; curves of m0, and whether they are parallel, which is the interaction
 * of the same experiment on m0.
 */
#include "predict/hybrid/hybrid.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MACHINES_MAX 256

static enum psnap_status no_memory(struct psnap_error *error)
{
    return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for the analysis");
}

static int by_number(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;

    return (a > b) - (a < b);
}

/* ----------------------------------------------------------------------- levels */

/* What a code was observed at, and which rows are its. */
static enum psnap_status find_levels(struct hybrid_code *code,
                                     const struct observations *observations,
                                     struct psnap_error *error)
{
    size_t *const rows = calloc(observations->count + 1, sizeof *rows);
    bool *const has = calloc(observations->machines.count + 1, sizeof *has);

    code->rows = rows;
    code->sizes = calloc(observations->count + 1, sizeof *code->sizes);
    code->machines = calloc(observations->machines.count + 1, sizeof *code->machines);
    if (!rows || !has || !code->sizes || !code->machines) {
        free(has);
        return no_memory(error);
    }
    for (size_t i = 0; i < observations->count; i++) {
        const struct observation *row = &observations->rows[i];
        if (row->code != code->code)
            continue;
        has[row->machine] = true;
        code->sizes[code->count] = row->size;
        rows[code->count++] = i;
    }
    for (uint32_t m = 0; m < observations->machines.count; m++)
        if (has[m])
            code->machines[code->machine_count++] = m;
    free(has);
    qsort(code->sizes, code->count, sizeof *code->sizes, by_number);
    for (size_t i = 0; i < code->count; i++)
        if (!i || code->sizes[i] != code->sizes[code->size_count - 1])
            code->sizes[code->size_count++] = code->sizes[i];
    return PSNAP_OK;
}

static uint32_t size_index(const struct hybrid_code *code, double size)
{
    const double *found =
        bsearch(&size, code->sizes, code->size_count, sizeof *code->sizes, by_number);

    return found ? (uint32_t)(found - code->sizes) : 0;
}

static uint32_t machine_index(const struct hybrid_code *code, uint32_t machine)
{
    uint32_t m = 0;

    while (code->machines[m] != machine)
        m++;
    return m;
}

/* ------------------------------------------------------------------- experiments */

/* Of a code: the response is cpi or m0. Observations without a response are left out. */
static enum psnap_status analyse(struct anova *anova, const struct hybrid_code *code,
                                 const struct observations *observations, bool of_m0,
                                 struct psnap_error *error)
{
    double *values = calloc(code->count + 1, sizeof *values);
    uint32_t *sizes = calloc(code->count + 1, sizeof *sizes);
    uint32_t *machines = calloc(code->count + 1, sizeof *machines);
    struct experiment experiment = {
        values, sizes, machines, 0, code->size_count, code->machine_count};
    enum psnap_status status = PSNAP_OK;

    if (!values || !sizes || !machines) {
        status = no_memory(error);
        goto out;
    }
    for (size_t i = 0; i < code->count; i++) {
        const struct observation *row = &observations->rows[code->rows[i]];
        const double value = of_m0 ? m0_of(row) : row->cpi;
        if (isnan(value))
            continue;
        values[experiment.count] = value;
        sizes[experiment.count] = size_index(code, row->size);
        machines[experiment.count++] = machine_index(code, row->machine);
    }
    status = anova_make(anova, &experiment, error);
out:
    free(values);
    free(sizes);
    free(machines);
    return status;
}

/* The first observation of a size. */
static const struct observation *first_of_size(const struct hybrid_code *code,
                                               const struct observations *observations, double size)
{
    size_t i = 0;

    while (observations->rows[code->rows[i]].size != size)
        i++;
    return &observations->rows[code->rows[i]];
}

/* Why a code has no experiment, and what to do. */
static void refuse(struct hybrid_code *code, const struct observations *observations)
{
    const struct observation *first = &observations->rows[code->rows[0]];
    struct psnap_error *const error = &code->refusal;
    const char *const name = observations->codes.names[code->code];
    const char *const *const machines = observations->machines.names;
    const struct anova *anova = &code->experiment;
    char size[32];

    switch (anova->problem) {
    case ANOVA_ONE_LEVEL_A:
        psnap_error_set(error, PSNAP_ERROR_VALUE,
                        "code '%.80s' was observed at one size alone, %.30s: a factor of one level "
                        "has no effect; observe it at two sizes or more",
                        name, observations_size(observations, code->sizes[0], size));
        break;
    case ANOVA_ONE_LEVEL_B:
        psnap_error_set(error, PSNAP_ERROR_VALUE,
                        "code '%.80s' was observed on one machine alone, '%.80s': a factor of one "
                        "level has no effect; observe it on two machines or more",
                        name, machines[code->machines[0]]);
        break;
    case ANOVA_EMPTY_CELL:
        first = first_of_size(code, observations, code->sizes[anova->problem_a]);
        psnap_error_set(
            error, PSNAP_ERROR_VALUE,
            "code '%.80s' has no observation of size %.30s on machine '%.80s': an empty "
            "cell; observe it, or leave that size out on all machines",
            name, observations_size(observations, code->sizes[anova->problem_a], size),
            machines[code->machines[anova->problem_b]]);
        break;
    case ANOVA_NO_REPLICATES:
        psnap_error_set(error, PSNAP_ERROR_VALUE,
                        "code '%.80s' has too few replicates: one observation of each size on each "
                        "machine, and nothing tells an effect from noise; observe each twice or "
                        "more, or let sizes be the replicates of codes: --sizes-as-replicates",
                        name);
        break;
    case ANOVA_CONSTANT:
        psnap_error_set(error, PSNAP_ERROR_VALUE,
                        "code '%.80s' has a constant response: cpi is %g in all %zu observations, "
                        "and there is no effect to look for; is it the right column?",
                        name, first->cpi, code->count);
        break;
    default:
        psnap_error_set(error, PSNAP_ERROR_VALUE,
                        "code '%.80s' has replicates that are all the same: without noise there is "
                        "no test; if they are computed, let sizes be the replicates of codes: "
                        "--sizes-as-replicates",
                        name);
    }
    psnap_error_at(error, first->path, first->src_line, 0);
    code->is_refused = true;
}

/* --------------------------------------------------------------------------- m0 */

/* The size from which m0 is steady on all machines; NAN: on one it is not. */
static double steady_on_all(const struct hybrid_code *code)
{
    double from = NAN;

    for (uint32_t m = 0; m < code->machine_count; m++) {
        if (!code->curves[m].is_steady)
            return NAN;
        from = fmax(from, code->curves[m].steady_from);
    }
    return from;
}

static enum psnap_status make_pairs(struct hybrid_code *code, double tolerance,
                                    struct psnap_error *error)
{
    const size_t count = (size_t)code->machine_count * code->machine_count;

    if (code->machine_count > MACHINES_MAX)
        return psnap_error_set(error, PSNAP_ERROR_UNSUPPORTED,
                               "%" PRIu32 " machines: at most %d can be compared; is the column "
                               "'machine' right?",
                               code->machine_count, MACHINES_MAX);
    code->steady_from = steady_on_all(code);
    code->pairs = calloc(count + 1, sizeof *code->pairs);
    if (!code->pairs)
        return no_memory(error);
    for (uint32_t i = 0; i < code->machine_count; i++)
        for (uint32_t j = i + 1; j < code->machine_count; j++) {
            struct hybrid_pair *pair = &code->pairs[code->pair_count];
            *pair = (struct hybrid_pair){.first = i, .second = j};
            m0_compare(&pair->difference, &code->curves[i], &code->curves[j], 0, tolerance);
            m0_compare(&pair->steady, &code->curves[i], &code->curves[j], code->steady_from,
                       tolerance);
            code->pair_count += pair->difference.sizes > 0;
        }
    return PSNAP_OK;
}

static enum psnap_status make_curves(struct hybrid_code *code,
                                     const struct observations *observations, double tolerance,
                                     struct psnap_error *error)
{
    struct anova parallel = {.problem = ANOVA_NO_REPLICATES};
    enum psnap_status status = PSNAP_OK;

    code->curves = calloc(code->machine_count + (size_t)1, sizeof *code->curves);
    if (!code->curves)
        return no_memory(error);
    for (uint32_t m = 0; m < code->machine_count && !status; m++)
        status = m0_curve_make(&code->curves[m], observations, code->code, code->machines[m],
                               tolerance, error);
    if (!status)
        status = make_pairs(code, tolerance, error);
    if (!status && (size_t)code->size_count * code->machine_count <= ANOVA_CELLS_MAX)
        status = analyse(&parallel, code, observations, true, error);
    code->parallel_f = code->parallel_p = code->parallel_df = code->parallel_residual_df = NAN;
    if (status || parallel.problem != ANOVA_FINE)
        return status;
    code->parallel_f = parallel.effects[ANOVA_INTERACTION].f;
    code->parallel_p = parallel.effects[ANOVA_INTERACTION].p;
    code->parallel_df = parallel.effects[ANOVA_INTERACTION].df;
    code->parallel_residual_df = parallel.residual_df;
    return PSNAP_OK;
}

/* ------------------------------------------------------------------------- whole */

static enum psnap_status make_code(struct hybrid_code *code,
                                   const struct observations *observations,
                                   const struct hybrid_options *options, struct psnap_error *error)
{
    enum psnap_status status = find_levels(code, observations, error);

    if (!status && !options->sizes_as_replicates) {
        status = analyse(&code->experiment, code, observations, false, error);
        if (!status && code->experiment.problem != ANOVA_FINE)
            refuse(code, observations);
        code->has_experiment = !status && !code->is_refused;
    }
    if (!status)
        status = make_curves(code, observations, options->steady, error);
    if (!status)
        verdict_make(code, observations, options);
    return status;
}

/* Without experiments of their own, codes have to have something else. */
static enum psnap_status check_rest(const struct hybrid *hybrid,
                                    const struct observations *observations,
                                    struct psnap_error *error)
{
    bool has_one = hybrid->has_hypotheses;
    const struct hybrid_code *refused = NULL;

    for (size_t c = hybrid->code_count; c-- > 0;) {
        const struct hybrid_code *code = &hybrid->codes[c];
        has_one |= code->has_experiment;
        for (uint32_t m = 0; m < code->machine_count; m++)
            has_one |= code->curves[m].count > 0;
        if (code->is_refused)
            refused = code;
    }
    if (has_one)
        return PSNAP_OK;
    if (refused) {
        if (error)
            *error = refused->refusal;
        return refused->refusal.code;
    }
    psnap_error_set(error, PSNAP_ERROR_VALUE, "with sizes as replicates nothing is left: %s",
                    hybrid->hypotheses[HYPOTHESIS_OVERALL].why);
    psnap_error_at(error, observations->rows[0].path, 0, 0);
    return PSNAP_ERROR_VALUE;
}

enum psnap_status hybrid_make(struct hybrid *hybrid, const struct observations *observations,
                              const struct hybrid_options *options, struct psnap_error *error)
{
    enum psnap_status status = observations_check(observations, error);

    *hybrid = (struct hybrid){0};
    if (!status) {
        hybrid->codes = calloc(observations->codes.count + 1, sizeof *hybrid->codes);
        if (!hybrid->codes)
            return no_memory(error);
    }
    for (uint32_t c = 0; c < observations->codes.count && !status; c++) {
        struct hybrid_code *code = &hybrid->codes[hybrid->code_count++];
        *code = (struct hybrid_code){.code = c};
        status = make_code(code, observations, options, error);
        hybrid->refused += code->is_refused;
    }
    if (!status)
        status = hypotheses_make(hybrid, observations, options, error);
    if (!status)
        status = check_rest(hybrid, observations, error);
    return status;
}

void hybrid_release(struct hybrid *hybrid)
{
    for (size_t c = 0; c < hybrid->code_count; c++) {
        struct hybrid_code *code = &hybrid->codes[c];
        for (uint32_t m = 0; m < code->machine_count && code->curves; m++)
            m0_curve_release(&code->curves[m]);
        free(code->curves);
        free(code->pairs);
        free(code->machines);
        free(code->sizes);
        free(code->rows);
    }
    free(hybrid->codes);
}
