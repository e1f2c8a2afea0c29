/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Replays a model and collects the reuse times of its references as recordings do, from a spatial
 * sample of lines (measure.h). Only references with histograms need them, and these are in no runs:
 * of a run it matters when lines were touched last, and nothing does behind the last access of a
 * reference with histograms.
 */
#include "profile/walk/measure.h"

#include <stdlib.h>

#include "profile/address/visit.h"
#include "profile/walk/walk.h"

enum { BLOCK = 1024 };

struct measuring {
    const struct psnap_stream_model *model;
    struct sample sample; /* of the lines of a thread */
    uint16_t thread;
    uint64_t (*bins)[REUSE_BINS]; /* by reference */
    uint64_t *executions;
    uint64_t now;               /* accesses of the thread, */
    uint64_t all;               /* and of all, */
    uint64_t limit;             /* up to so many */
    uint64_t left;              /* accesses still to come of references that have histograms */
    struct run_column *columns; /* of a run, */
    struct visit *visits;       /* and which of their accesses come next */
};

/* The threads' orders come one after the other, and reuse times are those of a thread. */
static bool begin_thread(struct measuring *m, uint16_t thread)
{
    sample_release(&m->sample);
    m->thread = thread;
    m->now = 0;
    return sample_init(&m->sample);
}

static bool note(struct measuring *m, const struct psnap_access *access)
{
    struct sample_line line = {.line = access->address >> SAMPLE_LINE_BITS}, before;
    uint64_t *bins = m->bins[access->ref], weight;

    if (access->thread != m->thread && !begin_thread(m, access->thread))
        return false;
    line.time = m->now++;
    m->all++;
    m->executions[access->ref]++;
    m->left -= m->model->refs[access->ref].reuse_count > 0;
    if (!sample_has(&m->sample, line.line))
        return true;
    weight = m->sample.weight;
    if (!sample_touch(&m->sample, &line, &before))
        return false;
    bins[before.line == line.line ? reuse_bin(line.time - before.time - 1) : REUSE_FIRST] += weight;
    return true;
}

/* A run, whose references are nests and have no histograms. */
static bool note_run(struct measuring *m, const struct psnap_run *run)
{
    if (run->first->thread != m->thread && !begin_thread(m, run->first->thread))
        return false;
    for (size_t k = 0; k < run->width; k++)
        m->columns[k] = run_column(run, k, 0);
    if (!visit_run(m->visits, m->columns, run->width, &m->sample, run->count, m->now))
        return false;
    m->now += run->count * run->width;
    m->all += run->count * run->width;
    return true;
}

static bool measuring_init(struct measuring *m, const struct psnap_stream_model *model)
{
    size_t width = 1;

    for (uint32_t i = 0; i < model->body_count; i++)
        width = model->bodies[i].width > width ? model->bodies[i].width : width;
    m->model = model;
    for (uint32_t i = 0; i < model->ref_count; i++)
        m->left += model->refs[i].reuse_count ? model->refs[i].executions : 0;
    m->bins = calloc(model->ref_count + (size_t)1, sizeof *m->bins);
    m->executions = calloc(model->ref_count + (size_t)1, sizeof *m->executions);
    m->columns = calloc(width, sizeof *m->columns);
    m->visits = calloc(width, sizeof *m->visits);
    return m->bins && m->executions && m->columns && m->visits && sample_init(&m->sample);
}

static void measuring_release(struct measuring *m)
{
    sample_release(&m->sample);
    free(m->bins);
    free(m->executions);
    free(m->columns);
    free(m->visits);
}

/* The recorded histogram of a reference's first `replayed` executions: whole phases, and a part of
 * the one in which the replay stopped. */
static void take_recorded(const struct model_ref *ref, uint64_t replayed,
                          double recorded[REUSE_BINS])
{
    const double phases =
        ref->executions ? (double)ref->phases * (double)replayed / (double)ref->executions : 0;

    for (uint32_t i = 0; i < ref->reuse_count; i++)
        for (uint32_t k = 0; k < ref->reuses[i].bin_count; k++) {
            const struct reuse_bin_count *bin = &ref->reuses[i].bins[k];
            const double part = phases - bin->phase;
            if (part > 0)
                recorded[bin->bin] += (part < 1 ? part : 1) * (double)bin->count;
        }
}

/* The largest difference of the cumulative shares at MEASURE_LONG accesses and more. */
static double distance(const struct measuring *m, const struct model_ref *ref, uint32_t index)
{
    double recorded[REUSE_BINS] = {0}, sums[2] = {0}, differ = 0, most = 0;

    take_recorded(ref, m->executions[index], recorded);
    for (uint32_t bin = 0; bin < REUSE_BINS; bin++) {
        sums[0] += recorded[bin];
        sums[1] += (double)m->bins[index][bin];
    }
    for (uint32_t bin = 0; sums[0] > 0 && sums[1] > 0 && bin < REUSE_BINS; bin++) {
        differ += recorded[bin] / sums[0] - (double)m->bins[index][bin] / sums[1];
        if (bin >= reuse_bin(MEASURE_LONG) && (differ > most || -differ > most))
            most = differ < 0 ? -differ : differ;
    }
    return most;
}

bool walk_measure(const struct psnap_stream_model *model, uint64_t most,
                  const struct psnap_deadline *deadline, double *off)
{
    struct measuring m = {.limit = most < UINT64_MAX - BLOCK ? (most + BLOCK - 1) / BLOCK * BLOCK
                                                             : UINT64_MAX};
    struct psnap_access *block = malloc(BLOCK * sizeof *block);
    struct walk *walk = walk_new(model, NULL, 0);
    bool is_done = measuring_init(&m, model) && block && walk;

    for (uint32_t i = 0; is_done && i < model->ref_count; i++)
        walk->ref_numbers[i] = i;
    while (is_done && m.left && m.all < m.limit && !psnap_deadline_is_set(deadline)) {
        struct psnap_run run;
        size_t n;
        const int more = walk_next(walk, UINT64_MAX, &run, block, BLOCK, &n);
        is_done = more >= 0;
        if (more <= 0)
            break;
        if (more == 1)
            is_done = note_run(&m, &run);
        for (size_t i = 0; i < n && m.left && m.all < m.limit && is_done; i++)
            is_done = note(&m, &block[i]);
    }
    for (uint32_t i = 0; is_done && i < model->ref_count; i++)
        off[i] = model->refs[i].reuse_count ? distance(&m, &model->refs[i], i) : 0;
    measuring_release(&m);
    free(block);
    walk_free(walk);
    return is_done;
}
