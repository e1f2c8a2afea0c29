/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared by the tests of the native trace: a random one, with what was written to it.
 */
#ifndef PSNAP_TEST_FORMATS_PST_SUPPORT_H
#define PSNAP_TEST_FORMATS_PST_SUPPORT_H

#include "formats/pst.h"
#include "tests/unit/test_formats_support.h"

enum { SMALL_CHUNK = 64 };

struct written {
    char *data;
    size_t size;
    struct psnap_program *program;
    struct psnap_access *accesses;
    size_t count;
    uint64_t announced[64]; /* number of the access before which object i was announced */
};

/* Writes `count` random accesses in `blocks` blocks, between which the program grows. */
static inline void write_random(struct written *written, uint64_t seed, size_t count, size_t blocks,
                                uint32_t chunk)
{
    struct psnap_rng rng;
    FILE *file = open_memstream(&written->data, &written->size);
    struct psnap_sink *sink;
    struct psnap_error error;
    size_t done = 0;

    psnap_rng_init(&rng, seed);
    written->program = random_program(&rng);
    written->count = count;
    written->accesses = calloc(count + 1, sizeof *written->accesses);
    sink = psnap_pst_writer_new(file, written->program, chunk, NULL, &error);
    assert_non_null(sink);
    for (size_t b = 0; b < blocks; b++) {
        const size_t n =
            b + 1 < blocks ? (size_t)psnap_rng_below(&rng, count - done + 1) : count - done;

        if (psnap_rng_below(&rng, 3) == 0)
            grow_program(written->program, &rng);
        if (psnap_rng_below(&rng, 2) == 0 && written->program->object_count < 64) {
            written->announced[written->program->object_count] = done;
            announce_object(written->program, &rng);
        }
        random_accesses(written->program, &rng, written->accesses + done, n);
        assert_int_equal(psnap_sink_put(sink, written->accesses + done, n, &error), PSNAP_OK);
        done += n;
    }
    for (uint32_t i = 0; i < written->program->block_count; i++)
        written->program->blocks[i].executions = psnap_rng_next(&rng) >> (i % 64);
    end_trace(sink, NULL, 0, file);
}

static inline void release_written(struct written *written)
{
    psnap_program_free(written->program);
    free(written->accesses);
    free(written->data);
}

#endif
