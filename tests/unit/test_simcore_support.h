/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program with loops, for the tests of what is told by loop. Include behind cmocka.h.
 */
#ifndef PSNAP_TEST_SIMCORE_SUPPORT_H
#define PSNAP_TEST_SIMCORE_SUPPORT_H

#include "formats/base/program.h"

/* Loops: f (pseudo), f:1 in two parts, f:2; a block and two refs in each, refs 2i and 2i + 1. */
static inline struct psnap_program *program_with_loops(void)
{
    static const char *const ids[][2] = {
        {"f", "f"}, {"f:1.vector", "f:1"}, {"f:2", "f:2"}, {"f:1.rest", "f:1"}};
    struct psnap_program *program = psnap_program_new();

    for (uint32_t i = 0; i < 4; i++) {
        const struct psnap_loop loop = {.id = ids[i][0],
                                        .src_id = ids[i][1],
                                        .function = "f",
                                        .file = "f.c",
                                        .src_line = i + 1};
        psnap_program_add_loop(program, &loop);
        psnap_program_add_block(program, &(struct psnap_block){.loop = i});
        psnap_program_add_ref(program, &(struct psnap_ref){.block = i, .loop = i});
        psnap_program_add_ref(program,
                              &(struct psnap_ref){.block = i, .loop = i, .object = "known"});
    }
    return program;
}

#endif
