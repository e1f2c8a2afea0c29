/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Level 1 of Sun and Cameron's analysis: an experiment of two factors, codes x machines, whose
 * replicates are problem sizes. Four hypotheses, that there is no
 *
 *     overall effect     on cpi:           all cells have the same mean
 *     code effect        on cpi_pipeline:  codes have the same mean over machines
 *     machine effect     on cpi_memory:    machines have the same mean over codes
 *     interaction        on cpi:           what codes differ by is the same on all machines
 *
 * An observation is the mean of the replicates of a code and a size on a machine: sizes are what
 * codes are repeated at, and those that were measured more often weigh no more.
 *
 * Level 2 is what rejections mean: hypothesis_next() has it in words.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "predict/hybrid/hybrid.h"

enum response { RESPONSE_CPI, RESPONSE_PIPELINE, RESPONSE_MEMORY, RESPONSES };

/* Means by response. */
struct means {
    double *values[RESPONSES]; /* NAN: not known of every replicate */
    uint32_t *codes, *machines;
    size_t count;
};

static const struct {
    const char *name, *claim, *rejected, *retained;
    enum response response;
    int effect;
} hypotheses[HYPOTHESES] = {
    {"overall", "cpi is the same for all codes on all machines",
     "codes, machines or both differ: the hypotheses below say which term of cpi to study",
     "neither the code nor the machine explains cpi beyond its change with size: more "
     "observations, "
     "or a wider choice of codes and machines, before any model of them",
     RESPONSE_CPI, ANOVA_OVERALL},
    {"code", "cpi_pipeline is the same for all codes",
     "codes differ in the pipeline: study cpi_pipeline of each code, its mix of instructions and "
     "what they wait for",
     "no difference of codes shows beyond what size does to cpi_pipeline: compare it at equal "
     "sizes "
     "before one is taken for all codes",
     RESPONSE_PIPELINE, ANOVA_A},
    {"machine", "cpi_memory is the same on all machines",
     "machines differ in memory: study hits and latencies per level, h_i and T_i, and m0 of each "
     "machine",
     "no difference of machines shows beyond what size does to cpi_memory: compare m0 at equal "
     "sizes "
     "before machines are taken for alike",
     RESPONSE_MEMORY, ANOVA_B},
    {"interaction", "codes differ in cpi by the same on all machines",
     "which machine is better depends on the code: study m0 of each code on each machine, against "
     "size",
     "no interaction shows beyond what size does to cpi: compare codes at equal sizes before the "
     "difference of machines is taken for the same of all codes",
     RESPONSE_CPI, ANOVA_INTERACTION},
};

static const char *const responses[RESPONSES] = {"cpi", "cpi_pipeline", "cpi_memory"};

const char *hypothesis_name(int hypothesis)
{
    return hypotheses[hypothesis].name;
}

const char *hypothesis_response(int hypothesis)
{
    return responses[hypotheses[hypothesis].response];
}

const char *hypothesis_claim(int hypothesis)
{
    return hypotheses[hypothesis].claim;
}

const char *hypothesis_next(int hypothesis, bool is_rejected)
{
    return is_rejected ? hypotheses[hypothesis].rejected : hypotheses[hypothesis].retained;
}

/* ------------------------------------------------------------------------ means */

static double response_of(const struct observation *row, enum response response)
{
    return response == RESPONSE_CPI        ? row->cpi
           : response == RESPONSE_PIPELINE ? row->cpi_pipeline
                                           : row->cpi_memory;
}

static int by_cell_and_size(const void *left, const void *right)
{
    const struct observation *a = *(const struct observation *const *)left;
    const struct observation *b = *(const struct observation *const *)right;

    if (a->code != b->code)
        return a->code < b->code ? -1 : 1;
    if (a->machine != b->machine)
        return a->machine < b->machine ? -1 : 1;
    if (a->size != b->size)
        return a->size < b->size ? -1 : 1;
    return (a > b) - (a < b);
}

static void means_release(struct means *means)
{
    for (int r = 0; r < RESPONSES; r++)
        free(means->values[r]);
    free(means->codes);
    free(means->machines);
}

/* The caller releases them, also after an error. */
static enum psnap_status make_means(struct means *means, const struct observations *observations,
                                    struct psnap_error *error)
{
    const size_t count = observations->count;
    const struct observation **rows = calloc(count + 1, sizeof *rows);
    bool is_there = rows;

    *means = (struct means){.codes = calloc(count + 1, sizeof *means->codes),
                            .machines = calloc(count + 1, sizeof *means->machines)};
    for (int r = 0; r < RESPONSES; r++) {
        means->values[r] = calloc(count + 1, sizeof *means->values[r]);
        is_there &= means->values[r] != NULL;
    }
    if (!is_there || !means->codes || !means->machines) {
        free(rows);
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for hypotheses");
    }
    for (size_t i = 0; i < count; i++)
        rows[i] = &observations->rows[i];
    qsort(rows, count, sizeof *rows, by_cell_and_size);
    for (size_t i = 0, next; i < count; i = next, means->count++) {
        for (next = i; next < count && rows[next]->code == rows[i]->code &&
                       rows[next]->machine == rows[i]->machine && rows[next]->size == rows[i]->size;
             next++)
            for (int r = 0; r < RESPONSES; r++)
                means->values[r][means->count] += response_of(rows[next], (enum response)r);
        for (int r = 0; r < RESPONSES; r++)
            means->values[r][means->count] /= (double)(next - i);
        means->codes[means->count] = rows[i]->code;
        means->machines[means->count] = rows[i]->machine;
    }
    free(rows);
    return PSNAP_OK;
}

/* -------------------------------------------------------------------- hypotheses */

static void explain(struct hypothesis *hypothesis, const struct anova *anova, const char *response,
                    const struct observations *observations)
{
    char *const why = hypothesis->why;
    const size_t size = sizeof hypothesis->why;

    switch (anova->problem) {
    case ANOVA_ONE_LEVEL_A:
        snprintf(why, size, "there is one code alone: observe two or more");
        break;
    case ANOVA_ONE_LEVEL_B:
        snprintf(why, size, "there is one machine alone: observe two or more");
        break;
    case ANOVA_EMPTY_CELL:
        snprintf(why, size, "there is no observation of code '%.60s' on machine '%.60s'",
                 observations->codes.names[anova->problem_a],
                 observations->machines.names[anova->problem_b]);
        break;
    case ANOVA_NO_REPLICATES:
        snprintf(why, size,
                 "each code was observed at one size alone, and sizes are the "
                 "replicates: observe more");
        break;
    case ANOVA_CONSTANT:
        snprintf(why, size, "%s is the same in all observations", response);
        break;
    default:
        snprintf(why, size, "%s is the same at all sizes: nothing is left to test against",
                 response);
    }
}

static enum psnap_status test(struct hypothesis *hypothesis, int which, const struct means *means,
                              const struct observations *observations, double level,
                              struct psnap_error *error)
{
    const enum response response = hypotheses[which].response;
    const struct experiment experiment = {means->values[response],
                                          means->codes,
                                          means->machines,
                                          means->count,
                                          (uint32_t)observations->codes.count,
                                          (uint32_t)observations->machines.count};
    struct anova anova;
    enum psnap_status status;

    for (size_t i = 0; i < means->count; i++)
        if (isnan(means->values[response][i])) {
            snprintf(hypothesis->why, sizeof hypothesis->why,
                     "%s is not known of all observations: give it, or %s", responses[response],
                     responses[response == RESPONSE_MEMORY ? RESPONSE_PIPELINE : RESPONSE_MEMORY]);
            return PSNAP_OK;
        }
    status = anova_make(&anova, &experiment, error);
    if (status)
        return status;
    if (anova.problem != ANOVA_FINE) {
        explain(hypothesis, &anova, responses[response], observations);
        return PSNAP_OK;
    }
    hypothesis->is_tested = true;
    hypothesis->effect = anova.effects[hypotheses[which].effect];
    hypothesis->residual_df = anova.residual_df;
    hypothesis->is_rejected = hypothesis->effect.p < level;
    hypothesis->checks = anova.checks;
    return PSNAP_OK;
}

enum psnap_status hypotheses_make(struct hybrid *hybrid, const struct observations *observations,
                                  const struct hybrid_options *options, struct psnap_error *error)
{
    struct means means;
    enum psnap_status status = make_means(&means, observations, error);

    for (int h = 0; h < HYPOTHESES && !status; h++) {
        status = test(&hybrid->hypotheses[h], h, &means, observations, options->level, error);
        hybrid->has_hypotheses |= hybrid->hypotheses[h].is_tested;
    }
    means_release(&means);
    return status;
}
