/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sun and Cameron's analysis. Level 1: an experiment of two factors, codes x machines, whose
 * replicates are problem sizes, with four hypotheses, that there is no
 *
 *     overall effect     on cpi:           all cells have the same mean
 *     code effect        on cpi_pipeline:  codes have the same mean over machines
 *     machine effect     on cpi_memory:    machines have the same mean over codes
 *     interaction        on cpi:           codes differ by the same on all machines
 *
 * An observation there is the mean of the replicates of a code and a size on a machine: sizes that
 * were measured more often weigh no more. And code by code an experiment of sizes and machines on
 * cpi, whose replicates are observations of the same.
 *
 * Level 2: what rejections mean, in words; and m0 of each code: whether it is steady on every
 * machine, so that from some size on cpi follows from hits and latencies alone; whether what is
 * known on one machine goes for another, which it does when m0 differs by a constant; and whether
 * curves are parallel, the interaction of size and machine on m0.
 */
#include "predict/hybrid/hybrid.h"

#include <gsl/gsl_errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/arena.h"
#include "formats/base/reals.h"
#include "formats/base/text.h"

enum response { CPI, CPI_PIPELINE, CPI_MEMORY, M0 };

static const char *const response_names[] = {"cpi", "cpi_pipeline", "cpi_memory", "m0"};

/* The observations, options and allocations of an analysis. */
struct analysis {
    struct hybrid *hybrid;
    const struct observations *observations;
    const struct hybrid_options *options;
    struct psnap_error *error;
};

static enum psnap_status no_memory(const struct analysis *analysis)
{
    return psnap_error_set(analysis->error, PSNAP_ERROR_MEMORY, "out of memory for the analysis");
}

static void *take(const struct analysis *analysis, size_t count, size_t size)
{
    return psnap_arena_alloc(analysis->observations->arena, count * size);
}

static double value_of(const struct observation *row, enum response response)
{
    const double values[] = {row->cpi, row->cpi_pipeline, row->cpi_memory};

    return response == M0 ? m0_of(row) : values[response];
}

/* ---------------------------------------------------------------------- experiments */

/* Says why an experiment, of a code or of all of them, cannot be analysed, and what to do. */
static void explain(const struct analysis *analysis, const struct hybrid_code *code,
                    struct hybrid_experiment *experiment)
{
    static const char *const texts[][2] = {
        [ANOVA_TOO_LARGE] = {"there are too many codes", "there are too many sizes"},
        [ANOVA_ONE_LEVEL] = {"there is one code alone, or one machine: observe two or more",
                             "there is one machine alone, or one size: observe two or more"},
        [ANOVA_EMPTY_CELL] = {"code", "size"},
        [ANOVA_NO_REPLICATES] = {"each code was observed at one size alone, and sizes are the "
                                 "replicates",
                                 "there are too few replicates: observe each size on each machine "
                                 "twice or more, or let sizes be them: --sizes-as-replicates"},
        [ANOVA_NO_RESIDUAL] = {"sizes are the replicates, and it is the same at all of them",
                               "replicates are all the same, and without noise there is no test"},
    };
    const size_t a = experiment->anova.problem_a, b = experiment->anova.problem_b;
    const struct observations *const observations = analysis->observations;
    const char *const text = texts[experiment->anova.problem][code != NULL];
    char size[32] = "";

    if (code)
        psnap_text_from_real(code->sizes[b], size);
    if (experiment->anova.problem != ANOVA_EMPTY_CELL)
        snprintf(experiment->why_not, sizeof experiment->why_not, "%s", text);
    else
        snprintf(experiment->why_not, sizeof experiment->why_not,
                 "there is no observation of %s %.60s on machine %.60s, an empty cell: observe it, "
                 "or leave one of them out",
                 text, code ? size : observations->codes.names[a],
                 code ? code->curves[a].machine : observations->machines.names[b]);
}

static size_t size_index(const struct hybrid_code *code, double size)
{
    const double *const found =
        bsearch(&size, code->sizes, code->size_count, sizeof size, psnap_reals_compare);

    return found ? (size_t)(found - code->sizes) : 0;
}

static bool is_same(const struct observation *a, const struct observation *b)
{
    return a->code == b->code && a->machine == b->machine && a->size == b->size;
}

/* Takes the values of an experiment, by cell; returns how many rows have none. */
static size_t take_values(const struct analysis *analysis, const struct hybrid_code *code,
                          enum response response, struct experiment *experiment)
{
    const struct observation *row = code ? code->rows : analysis->observations->rows;
    const struct observation *const end =
        row + (code ? code->count : analysis->observations->count);
    size_t machine = 0, unknown = 0, same = 0;
    double sum = 0;

    for (; row < end; row++) {
        sum += value_of(row, response);
        same++;
        if (!code && row + 1 < end && is_same(row, row + 1))
            continue;
        if (isnan(sum))
            unknown++;
        else {
            const size_t cell = code ? machine * code->size_count + size_index(code, row->size)
                                     : row->code * experiment->b_levels + row->machine;
            experiment->values[experiment->count++] = sum / (double)same;
            experiment->counts[cell]++;
        }
        machine += row + 1 < end && row[1].machine != row->machine;
        sum = 0;
        same = 0;
    }
    return unknown;
}

/* Analyses a response: of a code over machines and sizes, where rows without it are left out; else
 * of all codes over codes and machines, on means of replicates. */
static enum psnap_status analyse(const struct analysis *analysis, const struct hybrid_code *code,
                                 enum response response, struct hybrid_experiment *result)
{
    const struct observations *const observations = analysis->observations;
    struct experiment experiment = {
        .a_levels = code ? code->curve_count : observations->codes.count,
        .b_levels = code ? code->size_count : observations->machines.count};
    const size_t cells = experiment.a_levels * experiment.b_levels;
    const bool fits = cells <= ANOVA_CELLS_MAX;
    size_t unknown;

    *result = (struct hybrid_experiment){.response = response_names[response]};
    experiment.values =
        take(analysis, code ? code->count : observations->count, sizeof *experiment.values);
    experiment.counts = take(analysis, fits ? cells : 0, sizeof *experiment.counts);
    if (!experiment.values || !experiment.counts)
        return no_memory(analysis);
    unknown = fits ? take_values(analysis, code, response, &experiment) : 0;
    result->observations = experiment.count;
    if (unknown && (!code || !experiment.count))
        snprintf(result->why_not, sizeof result->why_not, "%s is not known of all observations",
                 result->response);
    else if (!anova_make(&result->anova, &experiment))
        return no_memory(analysis);
    else if (result->anova.problem != ANOVA_FINE)
        explain(analysis, code, result);
    return PSNAP_OK;
}

static struct hybrid_effect effect_of(const struct analysis *analysis, const char *name,
                                      const struct hybrid_experiment *experiment, int which)
{
    struct hybrid_effect effect = {name, experiment->response, {NAN, NAN, NAN, NAN, NAN}, NAN};

    if (*experiment->why_not) {
        effect.why_not = experiment->why_not;
        return effect;
    }
    effect.test = experiment->anova.effects[which];
    if (which == ANOVA_RESIDUAL)
        return effect;
    effect.residual_df = experiment->anova.effects[ANOVA_RESIDUAL].df;
    effect.is_rejected = effect.test.p < analysis->options->level ? ANSWER_YES : ANSWER_NO;
    return effect;
}

/* Makes the experiment of a code, or refuses it. */
static enum psnap_status make_effects(const struct analysis *analysis, struct hybrid_code *code)
{
    static const char *const names[] = {"size", "machine", "interaction", "residual"};
    static const int which[] = {ANOVA_B, ANOVA_A, ANOVA_INTERACTION, ANOVA_RESIDUAL};
    struct hybrid_experiment *const experiment = &code->of_cpi;
    enum psnap_status status = analyse(analysis, code, CPI, experiment);

    if (status)
        return status;
    for (int e = 0; e < 4; e++)
        code->effects[e] = effect_of(analysis, names[e], experiment, which[e]);
    experiment->largest_line = code->rows[experiment->anova.largest_of].src_line;
    if (*experiment->why_not) {
        psnap_error_set(&code->refusal, PSNAP_ERROR_VALUE, "code '%.80s' has no experiment, as %s",
                        code->name, experiment->why_not);
        psnap_error_at(&code->refusal, code->rows->path, code->rows->src_line, 0);
        analysis->hybrid->refused++;
    }
    return PSNAP_OK;
}

/* ------------------------------------------------------------------------------- m0 */

/* Finds the size from which on m0 is steady on all machines. */
static void find_steady(struct hybrid_code *code)
{
    code->is_predictable = ANSWER_YES;
    code->steady_from = 0;
    for (size_t m = 0; m < code->curve_count; m++) {
        if (code->curves[m].is_steady < code->is_predictable)
            code->is_predictable = code->curves[m].is_steady;
        code->steady_from = fmax(code->steady_from, code->curves[m].steady_from);
    }
    if (code->is_predictable != ANSWER_YES)
        code->steady_from = NAN;
}

/* Adds what m0 of two machines differs by: at all common sizes, and where it is steady. */
static void add_pair(struct hybrid_code *code, const struct m0_curve *first,
                     const struct m0_curve *second, double tolerance)
{
    const double from[] = {0, code->steady_from};

    for (int p = 0; p < 2; p++) {
        const struct m0_difference difference = m0_compare(first, second, from[p], tolerance);
        if (difference.sizes)
            code->pairs[code->pair_count++] =
                (struct hybrid_pair){second->machine, first->machine, from[p], difference};
    }
}

static enum psnap_status make_m0(const struct analysis *analysis, struct hybrid_code *code)
{
    const double tolerance = analysis->options->steady;
    const size_t count = code->curve_count;
    enum psnap_status status = PSNAP_OK;

    for (size_t m = 0; m < count && !status; m++)
        status = m0_curve_make(&code->curves[m], tolerance, analysis->observations->arena,
                               analysis->error);
    code->pairs = take(analysis, count * count, sizeof *code->pairs);
    if (!status && !code->pairs)
        status = no_memory(analysis);
    if (!status)
        status = analyse(analysis, code, M0, &code->of_m0);
    if (status)
        return status;
    code->parallel = effect_of(analysis, "interaction", &code->of_m0, ANOVA_INTERACTION);
    find_steady(code);
    for (size_t i = 0; i < count; i++)
        for (size_t j = i + 1; j < count; j++)
            add_pair(code, &code->curves[i], &code->curves[j], tolerance);
    return PSNAP_OK;
}

/* Says whether a code scales predictably, by the first machine on which it does not. */
static void make_verdict(const struct analysis *analysis, struct hybrid_code *code)
{
    const struct m0_curve *curve = code->curves;
    const size_t room = sizeof code->verdict;

    while (curve->is_steady != code->is_predictable)
        curve++;
    if (!curve->sizes)
        snprintf(code->verdict, room,
                 "no verdict: m0 is not known on '%.60s': it takes cpi_pipeline or cpi_memory, "
                 "accesses beyond level 1, hits2, hits3 ..., and latency2, latency3 ...",
                 curve->machine);
    else if (code->is_predictable == ANSWER_UNKNOWN)
        snprintf(code->verdict, room,
                 "no verdict: m0 on '%.60s' is known at %zu of the %d sizes that are needed",
                 curve->machine, curve->sizes, M0_STEADY_SIZES);
    else if (code->is_predictable == ANSWER_YES)
        snprintf(code->verdict, room, "scales predictably from n = %g", code->steady_from);
    else
        snprintf(code->verdict, room,
                 "does not scale predictably: m0 on '%.60s' does not settle within %g of a mean",
                 curve->machine, analysis->options->steady);
}

/* ---------------------------------------------------------------------------- codes */

/* Takes the rows of the code that the one at `from` is of: its machines and sizes. */
static enum psnap_status take_rows(const struct analysis *analysis, struct hybrid_code *code,
                                   size_t from)
{
    const struct observations *const observations = analysis->observations;
    const struct observation *const rows = observations->rows + from;
    struct m0_curve *curve;

    code->name = observations->codes.names[rows->code];
    code->rows = rows;
    while (from + code->count < observations->count && rows[code->count].code == rows->code)
        code->count++;
    code->sizes = take(analysis, code->count, sizeof *code->sizes);
    code->curves = take(analysis, observations->machines.count, sizeof *code->curves);
    if (!code->sizes || !code->curves)
        return no_memory(analysis);
    for (size_t i = 0; i < code->count; i++) {
        if (!i || rows[i].machine != rows[i - 1].machine) {
            curve = &code->curves[code->curve_count++];
            curve->machine = observations->machines.names[rows[i].machine];
            curve->rows = &rows[i];
        }
        curve->row_count++;
        code->sizes[i] = rows[i].size;
    }
    qsort(code->sizes, code->count, sizeof *code->sizes, psnap_reals_compare);
    for (size_t i = 0; i < code->count; i++)
        if (!i || code->sizes[i] != code->sizes[code->size_count - 1])
            code->sizes[code->size_count++] = code->sizes[i];
    return PSNAP_OK;
}

/* Analyses the codes one by one. */
static enum psnap_status make_codes(const struct analysis *analysis)
{
    const struct observations *const observations = analysis->observations;
    struct hybrid *const hybrid = analysis->hybrid;
    enum psnap_status status = PSNAP_OK;

    hybrid->codes = take(analysis, observations->codes.count, sizeof *hybrid->codes);
    if (!hybrid->codes)
        return no_memory(analysis);
    for (size_t next = 0; next < observations->count && !status;) {
        struct hybrid_code *const code = &hybrid->codes[hybrid->code_count++];
        status = take_rows(analysis, code, next);
        next += code->count;
        if (!status && !analysis->options->sizes_as_replicates)
            status = make_effects(analysis, code);
        if (!status)
            status = make_m0(analysis, code);
        if (!status)
            make_verdict(analysis, code);
    }
    return status;
}

/* ----------------------------------------------------------------------- hypotheses */

static const struct hypothesis {
    const char *name;
    enum response response;
    int effect;
    const char *claim, *rejected, *retained;
} hypotheses[HYBRID_HYPOTHESES] = {
    {"overall", CPI, ANOVA_OVERALL, "cpi is the same for all codes on all machines",
     "codes, machines or both differ: the other hypotheses say which term of cpi to study",
     "neither the code nor the machine explains cpi beyond its change with size: more "
     "observations, or a wider choice of codes and machines, before any model of them"},
    {"code", CPI_PIPELINE, ANOVA_A, "cpi_pipeline is the same for all codes",
     "codes differ in the pipeline: study cpi_pipeline of each code, its mix of instructions and "
     "what they wait for",
     "no difference of codes shows beyond what size does to cpi_pipeline: compare it at equal "
     "sizes before one is taken for all codes"},
    {"machine", CPI_MEMORY, ANOVA_B, "cpi_memory is the same on all machines",
     "machines differ in memory: study hits and latencies per level, h_i and T_i, and m0 of each "
     "machine",
     "no difference of machines shows beyond what size does to cpi_memory: compare m0 at equal "
     "sizes before machines are taken for alike"},
    {"interaction", CPI, ANOVA_INTERACTION, "codes differ in cpi by the same on all machines",
     "which machine is better depends on the code: study m0 of each code on each machine, against "
     "size",
     "no interaction shows beyond what size does to cpi: compare codes at equal sizes before the "
     "difference of machines is taken for the same of all codes"},
};

static enum psnap_status make_hypotheses(const struct analysis *analysis)
{
    struct hybrid *const hybrid = analysis->hybrid;
    enum psnap_status status = PSNAP_OK;

    for (int r = 0; r < HYBRID_RESPONSES && !status; r++)
        status = analyse(analysis, NULL, (enum response)r, &hybrid->experiments[r]);
    for (int h = 0; h < HYBRID_HYPOTHESES && !status; h++) {
        const struct hypothesis *const hypothesis = &hypotheses[h];
        struct hybrid_effect *const effect = &hybrid->hypotheses[h];
        *effect = effect_of(analysis, hypothesis->name, &hybrid->experiments[hypothesis->response],
                            hypothesis->effect);
        effect->claim = hypothesis->claim;
        if (!effect->why_not)
            effect->next =
                effect->is_rejected == ANSWER_YES ? hypothesis->rejected : hypothesis->retained;
    }
    return status;
}

/* Refuses observations of which nothing is known. */
static enum psnap_status check(const struct analysis *analysis)
{
    const struct hybrid *const hybrid = analysis->hybrid;
    const struct hybrid_code *const codes = hybrid->codes;
    bool has_one = !*hybrid->experiments[CPI].why_not;

    for (size_t c = 0; c < hybrid->code_count; c++) {
        has_one |= codes[c].of_cpi.response && !*codes[c].of_cpi.why_not;
        for (size_t m = 0; m < codes[c].curve_count; m++)
            has_one |= codes[c].curves[m].sizes > 0;
    }
    if (has_one)
        return PSNAP_OK;
    *analysis->error = codes->refusal;
    if (!hybrid->refused)
        psnap_error_set(analysis->error, PSNAP_ERROR_VALUE, "nothing can be analysed, as %s",
                        hybrid->experiments[CPI].why_not);
    return analysis->error->code;
}

enum psnap_status hybrid_make(struct hybrid *hybrid, struct observations *observations,
                              const struct hybrid_options *options, struct psnap_error *error)
{
    const struct analysis analysis = {hybrid, observations, options, error};
    gsl_error_handler_t *const handler = gsl_set_error_handler_off(); /* which would abort */
    enum psnap_status status = observations_sort(observations, error);

    *hybrid = (struct hybrid){0};
    if (!status)
        status = make_codes(&analysis);
    if (!status)
        status = make_hypotheses(&analysis);
    if (!status)
        status = check(&analysis);
    gsl_set_error_handler(handler);
    return status;
}
