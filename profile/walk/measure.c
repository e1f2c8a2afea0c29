/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Replays a model and collects the reuse times of its references as recordings do, from a spatial
 * sample of lines (measure.h).
 */
#include "profile/walk/measure.h"

#include <stdlib.h>

#include "profile/address/sample.h"
#include "profile/walk/walk.h"

enum { BLOCK = 1024 };

struct measuring {
    struct sample sample; /* of the lines of a thread */
    uint16_t thread;
    uint64_t (*bins)[REUSE_BINS]; /* by reference */
    uint64_t *executions;
    uint64_t now; /* accesses of the thread, */
    uint64_t all; /* and of all */
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
    const uint64_t line = access->address >> SAMPLE_LINE_BITS;
    struct sample_line *slot;

    if (access->thread != m->thread && !begin_thread(m, access->thread))
        return false;
    m->now++;
    m->all++;
    m->executions[access->ref]++;
    if (!sample_has(&m->sample, line))
        return true;
    slot = sample_find(&m->sample, line);
    if (slot->line == line) {
        m->bins[access->ref][reuse_bin(m->now - slot->time - 1)] += m->sample.weight;
        slot->time = m->now;
        return true;
    }
    m->bins[access->ref][REUSE_FIRST] += m->sample.weight;
    return sample_add(&m->sample, &(struct sample_line){.line = line, .time = m->now});
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
    struct measuring m = {.now = 0};
    struct psnap_access *block = malloc(BLOCK * sizeof *block);
    struct walk *walk = walk_new(model, NULL, 0);
    bool is_done;

    m.bins = calloc(model->ref_count + (size_t)1, sizeof *m.bins);
    m.executions = calloc(model->ref_count + (size_t)1, sizeof *m.executions);
    is_done = block && walk && m.bins && m.executions && sample_init(&m.sample);
    for (uint32_t i = 0; is_done && i < model->ref_count; i++)
        walk->ref_numbers[i] = i;
    while (is_done && m.all < most && !psnap_deadline_is_set(deadline)) {
        size_t n;
        const int more = walk_next(walk, NULL, block, BLOCK, &n);
        is_done = more >= 0;
        if (more <= 0)
            break;
        for (size_t i = 0; i < n && is_done; i++)
            is_done = note(&m, &block[i]);
    }
    for (uint32_t i = 0; is_done && i < model->ref_count; i++)
        off[i] = distance(&m, &model->refs[i], i);
    sample_release(&m.sample);
    free(m.bins);
    free(m.executions);
    free(block);
    walk_free(walk);
    return is_done;
}
