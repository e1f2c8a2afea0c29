/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Genes, and the error they have. Samples with the same rates (all that hit in level 1) have the
 * same F: they are kept together, with their bandwidths. Rates are kept sparse, as most samples
 * are satisfied by one to three sources.
 */
#include "predict/bandwidth/fit_genes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define GENE_MAX 60 /* exponents beyond would overflow */

struct term {
    uint32_t source, level;
    double rate;
};

struct group {
    size_t first_term, term_count;
    size_t first_bandwidth, bandwidth_count;
    double h[2]; /* cumulative hit rates of levels 1 and 2 */
};

struct genes_data {
    struct group *groups;
    size_t group_count, term_count;
    struct term *terms;
    double *bandwidths;
};

/* The index of the first gene that is a log c; those before it are log b. */
static size_t c_genes(const struct genes *genes)
{
    return genes->samples->sources.count;
}

/* The index of the first f; two of them and then two log x are the last genes. */
static size_t f_genes(const struct genes *genes)
{
    return 2 * c_genes(genes) - 1;
}

/* ------------------------------------------------------------------------ data */

static int by_rates(const void *left, const void *right)
{
    const double *a = ((const struct sample *)left)->rates;
    const double *b = ((const struct sample *)right)->rates;

    for (int s = 0; s < SOURCES_MAX; s++)
        if (a[s] < b[s] || a[s] > b[s])
            return a[s] < b[s] ? -1 : 1;
    return 0;
}

static void add_group(struct genes *genes, const struct sample *sample)
{
    const struct sources *sources = &genes->samples->sources;
    struct genes_data *data = genes->data;
    struct group *group = &data->groups[data->group_count++];

    *group = (struct group){.first_term = data->term_count};
    group->h[0] = group->h[1] = sample->rates[0];
    for (uint32_t s = 0; s < sources->count; s++) {
        if (!(sample->rates[s] > 0))
            continue;
        group->h[1] += sources->level[s] == 1 ? sample->rates[s] : 0;
        data->terms[data->term_count++] = (struct term){s, sources->level[s], sample->rates[s]};
    }
    group->term_count = data->term_count - group->first_term;
}

static bool fill(struct genes *genes)
{
    const struct samples *samples = genes->samples;
    struct genes_data *data = genes->data;
    struct sample *sorted = malloc((samples->count + 1) * sizeof *sorted);

    data->groups = calloc(samples->count, sizeof *data->groups);
    data->terms = calloc(samples->count * samples->sources.count, sizeof *data->terms);
    data->bandwidths = calloc(samples->count, sizeof *data->bandwidths);
    if (!sorted || !data->groups || !data->terms || !data->bandwidths) {
        free(sorted);
        return false;
    }
    memcpy(sorted, samples->items, samples->count * sizeof *sorted);
    qsort(sorted, samples->count, sizeof *sorted, by_rates);
    for (size_t i = 0; i < samples->count; i++) {
        if (!i || by_rates(&sorted[i], &sorted[i - 1])) {
            add_group(genes, &sorted[i]);
            data->groups[data->group_count - 1].first_bandwidth = i;
        }
        data->groups[data->group_count - 1].bandwidth_count++;
        data->bandwidths[i] = sorted[i].bandwidth;
    }
    free(sorted);
    return true;
}

static enum psnap_status start(struct genes *genes, struct psnap_error *error)
{
    double bandwidth[SOURCES_MAX] = {0};
    const size_t c = c_genes(genes), f = f_genes(genes);
    const enum psnap_status status = fit_plain(genes->samples, METHOD_ADDITIVE, bandwidth, error);

    for (size_t s = 0; s < c && !status; s++) {
        genes->start[s] = log(fmax(fmin(bandwidth[s], bandwidth[0]), 1));
        genes->scale[s] = 1;
        if (s) {
            genes->start[c + s - 1] = log(fmax(bandwidth[0], 1)) - genes->start[s];
            genes->scale[c + s - 1] = 1.5;
        }
    }
    for (size_t i = f; i < genes->count; i++)
        genes->scale[i] = 1;
    genes->start[f + 2] = genes->start[f + 3] = log(0.5);
    return status;
}

struct genes *genes_new(const struct samples *samples, struct psnap_error *error)
{
    struct genes *genes = calloc(1, sizeof *genes);

    if (genes) {
        genes->samples = samples;
        genes->count = 2 * (size_t)samples->sources.count + 3;
        genes->data = calloc(1, sizeof *genes->data);
    }
    if (!genes || !genes->data || !fill(genes)) {
        psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for a fit");
        genes_free(genes);
        return NULL;
    }
    if (!start(genes, error))
        return genes;
    genes_free(genes);
    return NULL;
}

void genes_free(struct genes *genes)
{
    if (genes && genes->data) {
        free(genes->data->groups);
        free(genes->data->terms);
        free(genes->data->bandwidths);
        free(genes->data);
    }
    free(genes);
}

/* ----------------------------------------------------------------------- error */

static double bounded_exp(double gene)
{
    return exp(gene > GENE_MAX ? GENE_MAX : gene < -GENE_MAX ? -GENE_MAX : gene);
}

void genes_express(const struct genes *genes, const double *values, struct penalised *penalised)
{
    const size_t c = c_genes(genes), f = f_genes(genes);

    *penalised = (struct penalised){.c[0] = 1};
    for (size_t s = 0; s < c; s++) {
        penalised->b[s] = bounded_exp(values[s]);
        if (s)
            penalised->c[s] = bounded_exp(values[c + s - 1]);
    }
    for (size_t i = 0; i < 2; i++) {
        penalised->f[i] = values[f + i];
        penalised->x[i] = bounded_exp(values[f + 2 + i]);
    }
}

/* As penalised_bandwidth(), of a group. */
static double bandwidth_of_group(const struct genes_data *data, const struct group *group,
                                 const struct penalised *penalised)
{
    double flows[3] = {0}, weights[2] = {0}, total = 0, further = 0, p[2];

    for (size_t i = 0; i < group->term_count; i++) {
        const struct term *term = &data->terms[group->first_term + i];
        const double time = term->rate * penalised->c[term->source];
        const double flow = time * penalised->b[term->source];

        total += time;
        if (term->level < 2)
            weights[term->level] += time;
        if (term->level < 3)
            flows[term->level] += flow;
        else
            further += flow;
    }
    for (int i = 0; i < 2; i++) {
        const double miss = 1 - group->h[i];

        p[i] = 0;
        if (miss > 0 && weights[i] > 0)
            p[i] = penalised->f[i] * weights[i] / total *
                   (1 - exp(-miss / (miss + penalised->x[i]))) * (1 / (1 - 0.36787944117144233));
    }
    return (flows[0] * (1 - p[0] - p[1]) + flows[1] * (1 + p[0]) + flows[2] * (1 + p[1]) +
            further) /
           total;
}

double genes_error(const struct genes *genes, const double *values)
{
    const struct genes_data *data = genes->data;
    struct penalised penalised;
    double sum = 0;

    genes_express(genes, values, &penalised);
    for (size_t i = 0; i < data->group_count; i++) {
        const struct group *group = &data->groups[i];
        const double *measured = data->bandwidths + group->first_bandwidth;
        const double bandwidth = bandwidth_of_group(data, group, &penalised);

        for (size_t k = 0; k < group->bandwidth_count; k++)
            sum += fabs(bandwidth / measured[k] - 1);
    }
    return sum;
}
