/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rounds (stream.h) to runs, for whoever does not take them: a walk through the tree, in which
 * the addresses of a run follow from the rounds of the loops that are open.
 */
#include "formats/base/stream.h"

enum {
    RUN_MIN = 16, /* accesses of a run; fewer are put one by one */
    GATHER_MAX = 256
};

uint64_t psnap_rounds_accesses(const struct psnap_rounds *rounds)
{
    uint64_t times[PSNAP_ROUNDS_LEVELS], sum = 0;
    uint32_t ends[PSNAP_ROUNDS_LEVELS], depth = 0;

    for (uint32_t at = 0; at < rounds->node_count; at++) {
        const struct psnap_round *node = &rounds->nodes[at];
        while (depth && at >= ends[depth - 1])
            depth--;
        if (!node->span) {
            sum += node->width * node->count * (depth ? times[depth - 1] : 1);
            continue;
        }
        times[depth] = node->count * (depth ? times[depth - 1] : 1);
        ends[depth++] = at + 1 + node->span;
    }
    return sum;
}

void psnap_rounds_walk_init(struct psnap_rounds_walk *walk, const struct psnap_rounds *rounds,
                            struct psnap_access *first, int64_t *strides)
{
    *walk = (struct psnap_rounds_walk){.rounds = rounds, .first = first, .strides = strides};
}

/* The run of a node, in the rounds that are open. */
static void set_run(struct psnap_rounds_walk *walk, const struct psnap_round *node,
                    struct psnap_run *run)
{
    for (uint32_t k = 0; k < node->width; k++) {
        const int64_t *strides =
            &walk->rounds->strides[(size_t)(node->begin + k) * PSNAP_ROUNDS_LEVELS];
        walk->first[k] = walk->rounds->first[node->begin + k];
        for (uint32_t l = 0; l < walk->depth; l++)
            walk->first[k].address += walk->round[l] * (uint64_t)strides[l];
        walk->strides[k] = strides[walk->depth];
    }
    *run = (struct psnap_run){
        .first = walk->first, .strides = walk->strides, .width = node->width, .count = node->count};
}

bool psnap_rounds_walk_next(struct psnap_rounds_walk *walk, struct psnap_run *run)
{
    const struct psnap_rounds *rounds = walk->rounds;

    for (;;) {
        const struct psnap_round *node;
        while (walk->depth) {
            const uint32_t open = walk->open[walk->depth - 1];
            if (walk->at <= open + rounds->nodes[open].span)
                break;
            if (++walk->round[walk->depth - 1] < rounds->nodes[open].count)
                walk->at = open + 1;
            else
                walk->depth--;
        }
        if (walk->at >= rounds->node_count)
            return false;
        node = &rounds->nodes[walk->at];
        if (!node->span) {
            set_run(walk, node, run);
            walk->at++;
            return true;
        }
        walk->open[walk->depth] = walk->at++;
        walk->round[walk->depth++] = 0;
    }
}

/* Accesses on their way to a sink: short runs are not worth being one. */
struct gathered {
    struct psnap_access block[GATHER_MAX];
    size_t n;
};

static enum psnap_status pass_on(struct psnap_sink *sink, struct gathered *gathered,
                                 struct psnap_error *error)
{
    const size_t n = gathered->n;

    gathered->n = 0;
    return n ? psnap_sink_put(sink, gathered->block, n, error) : PSNAP_OK;
}

static enum psnap_status put_run(struct psnap_sink *sink, const struct psnap_run *run,
                                 struct gathered *gathered, struct psnap_error *error)
{
    enum psnap_status status = PSNAP_OK;

    if (run->count >= RUN_MIN || run->count * run->width >= RUN_MIN) {
        status = pass_on(sink, gathered, error);
        return status ? status : psnap_sink_put_run(sink, run, error);
    }
    if (GATHER_MAX - gathered->n < run->count * run->width)
        status = pass_on(sink, gathered, error);
    for (uint64_t i = 0; i < run->count; i++)
        for (size_t k = 0; k < run->width; k++) {
            gathered->block[gathered->n] = run->first[k];
            gathered->block[gathered->n++].address = psnap_run_address(run, i, k);
        }
    return status;
}

enum psnap_status psnap_sink_put_rounds(struct psnap_sink *sink, const struct psnap_rounds *rounds,
                                        struct psnap_error *error)
{
    struct psnap_access first[PSNAP_ROUNDS_WIDTH];
    int64_t strides[PSNAP_ROUNDS_WIDTH];
    struct gathered gathered;
    struct psnap_rounds_walk walk;
    struct psnap_run run;
    enum psnap_status status = PSNAP_OK;

    if (sink->ops->put_rounds)
        return sink->ops->put_rounds(sink, rounds, error);
    gathered.n = 0;
    psnap_rounds_walk_init(&walk, rounds, first, strides);
    while (!status && psnap_rounds_walk_next(&walk, &run))
        status = put_run(sink, &run, &gathered, error);
    return status ? status : pass_on(sink, &gathered, error);
}
