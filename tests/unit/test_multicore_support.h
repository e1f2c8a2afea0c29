/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program with marks, for the tests of several cores. Include behind cmocka.h.
 */
#ifndef PSNAP_TEST_MULTICORE_SUPPORT_H
#define PSNAP_TEST_MULTICORE_SUPPORT_H

#include "formats/base/access.h"
#include "formats/base/layout.h"
#include "formats/base/program.h"

/* References: those of marks, in this order, then FIRST and on those of accesses. */
enum {
    PARALLEL,
    PARALLEL_END,
    LOOP,
    LOOP_2, /* in chunks of 2 */
    LOOP_END,
    ITERATION,
    ITERATION_4,
    SINGLE,
    SINGLE_END,
    BARRIER,
    OTHER,  /* a second section */
    LOOP_0, /* in chunks of unknown length */
    ITERATION_0,
    FIRST,
    REFS = FIRST + 6
};

static inline struct psnap_program *program_with_marks(void)
{
    static const char *const names[FIRST] = {
        "omp.parallel",    "omp.parallel end", "omp.for static", "omp.for dynamic,2", "omp.for end",
        "omp.iteration 1", "omp.iteration 4",  "omp.single",     "omp.single end",    "omp.barrier",
        "omp.parallel",    "omp.for static,0", "omp.iteration 0"};
    static const char *const functions[] = {"main", "main.omp_outlined", "main.omp_outlined.1"};
    struct psnap_program *program = psnap_program_new();

    for (uint32_t i = 0; i < 3; i++) {
        const struct psnap_loop loop = {.id = functions[i],
                                        .src_id = functions[i],
                                        .function = functions[i],
                                        .file = "f.c",
                                        .src_line = 10 * i,
                                        .parent = PSNAP_NONE};
        psnap_program_add_loop(program, &loop);
        psnap_program_add_block(program, &(struct psnap_block){.loop = i});
    }
    for (uint32_t i = 0; i < REFS; i++) {
        const uint32_t loop = i == OTHER ? 2 : i < FIRST;
        struct psnap_ref ref = {.block = loop, .loop = loop};
        if (i < FIRST) {
            ref.object = names[i];
            ref.object_kind = PSNAP_MARK_KIND;
        }
        psnap_program_add_ref(program, &ref);
    }
    return program;
}

static inline uint64_t stack_address(uint32_t thread, int64_t offset)
{
    return psnap_layout_join((struct psnap_place){PSNAP_GROUP_STACK, thread, offset});
}

#define FRAME (-256) /* offset of the frame of sections */

static inline struct psnap_access mark(uint32_t ref)
{
    return (struct psnap_access){.address = stack_address(0, FRAME), .ref = ref, .size = 1};
}

#endif
