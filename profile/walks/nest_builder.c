/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A stream to nests. Each thread is a stream of its own (of more than LANES of them, some share
 * one), so that the nests do not depend on how threads were recorded in turn; in the end they stand
 * one after the other, by the threads' numbers.
 */
#include <stdlib.h>

#include "profile/walks/nest_lane.h"

enum { LANES = 64 };

struct nest_builder {
    struct psnap_sink base;
    const struct psnap_program *program;
    struct nest_lane *lanes[LANES]; /* by thread's number modulo LANES; NULL: none came */
    struct psnap_nests *nests;      /* of all, in the end */
};

/* That of a thread; NULL: out of memory. */
static inline struct nest_lane *lane_of(struct nest_builder *b, uint16_t thread)
{
    struct nest_lane **lane = &b->lanes[thread % LANES];

    if (!*lane)
        *lane = nest_lane_new(b->program);
    return *lane;
}

static enum psnap_status put(struct psnap_sink *self, const struct psnap_access *block, size_t n,
                             struct psnap_error *error)
{
    struct nest_builder *b = (struct nest_builder *)self;
    enum psnap_status status = PSNAP_OK;

    while (n && status == PSNAP_OK) {
        struct nest_lane *lane = lane_of(b, block->thread);
        size_t alike = 1;
        while (alike < n && block[alike].thread == block->thread)
            alike++;
        status = lane ? nest_lane_put(lane, block, alike, error) : nest_no_memory(error);
        block += alike;
        n -= alike;
    }
    return status;
}

static enum psnap_status put_run(struct psnap_sink *self, const struct psnap_run *run,
                                 struct psnap_error *error)
{
    struct nest_builder *b = (struct nest_builder *)self;
    struct nest_lane *lane = lane_of(b, run->first[0].thread);
    enum psnap_status status = PSNAP_OK;
    bool is_of_one = true;

    for (size_t k = 1; k < run->width; k++)
        is_of_one &= run->first[k].thread == run->first[0].thread;
    if (is_of_one)
        return lane ? nest_lane_put_run(lane, run, error) : nest_no_memory(error);
    for (uint64_t i = 0; i < run->count; i++)
        for (size_t k = 0; k < run->width && status == PSNAP_OK; k++) {
            struct psnap_access access = run->first[k];
            access.address = psnap_run_address(run, i, k);
            status = put(self, &access, 1, error);
        }
    return status;
}

static enum psnap_status put_rounds(struct psnap_sink *self, const struct psnap_rounds *rounds,
                                    struct psnap_error *error)
{
    struct nest_lane *lane = lane_of((struct nest_builder *)self, rounds->first->thread);

    return lane ? nest_lane_put_rounds(lane, rounds, error) : nest_no_memory(error);
}

static enum psnap_status finish(struct psnap_sink *self, struct psnap_error *error)
{
    struct nest_builder *b = (struct nest_builder *)self;
    bool has_order = true;

    b->nests = nests_new();
    if (!b->nests)
        return nest_no_memory(error);
    for (int i = 0; i < LANES; i++) {
        struct nest_lane *lane = b->lanes[i];
        const struct psnap_nests *nests;
        if (!lane)
            continue;
        if (nest_lane_end(lane, error) || !nest_stack_end(lane->stack))
            return nest_no_memory(error);
        nests = nest_stack_nests(lane->stack);
        if (nests && !nests_join(b->nests, nests))
            return nest_no_memory(error);
        has_order &= nests != NULL;
        nest_lane_free(lane);
        b->lanes[i] = NULL;
    }
    if (!has_order) {
        nests_free(b->nests);
        b->nests = NULL;
    }
    return PSNAP_OK;
}

static void builder_free(struct psnap_sink *self)
{
    struct nest_builder *b = (struct nest_builder *)self;

    for (int i = 0; i < LANES; i++)
        nest_lane_free(b->lanes[i]);
    nests_free(b->nests);
    free(b);
}

struct psnap_sink *nest_builder_new(const struct psnap_program *program)
{
    static const struct psnap_sink_ops ops = {.put = put,
                                              .finish = finish,
                                              .free = builder_free,
                                              .put_run = put_run,
                                              .put_rounds = put_rounds};
    struct nest_builder *b = calloc(1, sizeof *b);

    if (!b)
        return NULL;
    b->base.ops = &ops;
    b->program = program;
    return &b->base;
}

const struct psnap_nests *nest_builder_nests(const struct psnap_sink *builder)
{
    return ((const struct nest_builder *)builder)->nests;
}
