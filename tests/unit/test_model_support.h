/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared by the tests of models and their replay: models of streams, and streams that are read in
 * blocks and runs.
 */
#ifndef PSNAP_TEST_MODEL_SUPPORT_H
#define PSNAP_TEST_MODEL_SUPPORT_H

#include "tests/unit/test_profile_support.h"

#include "profile/model.h"
#include "replay/replay.h"
#include "tests/next_run.h"

/* The model of what the builder was given; frees it. */
static inline struct psnap_stream_model *end_model(struct psnap_sink *builder)
{
    struct psnap_stream_model *model;

    assert_int_equal(psnap_sink_finish(builder, NULL), PSNAP_OK);
    model = model_builder_take(builder, NULL);
    assert_non_null(model);
    psnap_sink_free(builder);
    return model;
}

static inline struct psnap_stream_model *model_of(const struct psnap_program *program,
                                                  const struct psnap_access *accesses, size_t n)
{
    struct psnap_sink *builder = model_builder_new(program);

    assert_non_null(builder);
    assert_int_equal(psnap_sink_put(builder, accesses, n, NULL), PSNAP_OK);
    return end_model(builder);
}

enum { STREAM_MAX = 1 << 18 };

struct stream {
    struct psnap_access of[STREAM_MAX];
    size_t count;
};

static inline void add_access(struct stream *stream, struct psnap_access access)
{
    assert_true(stream->count < STREAM_MAX);
    stream->of[stream->count++] = access;
}

/* All of a source, in blocks of up to `most` accesses: of a random length and runs as well, with
 * `rng` not NULL. Frees the source. */
static inline void read_all(struct psnap_source *source, struct stream *to, size_t most,
                            struct psnap_rng *rng)
{
    struct psnap_run run = {0};

    assert_non_null(source);
    to->count = 0;
    for (;;) {
        const size_t left = STREAM_MAX - to->count, room = most < left ? most : left;
        const size_t capacity = rng ? 1 + psnap_rng_below(rng, room) : room;
        struct psnap_access *block = &to->of[to->count];
        const bool is_run = rng && psnap_rng_below(rng, 4);
        const ssize_t n = is_run ? next_run(source, block, capacity, &run, NULL)
                                 : psnap_source_next(source, block, capacity, NULL);
        assert_in_range(n, 0, capacity);
        to->count += (size_t)n;
        run.count *= is_run;
        for (uint64_t i = 0; i < run.count; i++)
            for (size_t k = 0; k < run.width; k++) {
                struct psnap_access access = run.first[k];
                access.address = psnap_run_address(&run, i, k);
                add_access(to, access);
            }
        if (!n && !run.count)
            break;
    }
    psnap_source_free(source);
}

static inline void assert_same_stream(const struct stream *a, const struct stream *b, uint64_t seed)
{
    if (a->count != b->count || memcmp(a->of, b->of, a->count * sizeof *a->of) != 0)
        fail_msg("seed %u: another stream", (unsigned)seed);
}

#endif
