/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A simulator for accesses that come from no program: they are of two references in a loop, which
 * all such simulators have in common, as nobody writes to them.
 */
#include "simcore/simcore.h"

struct psnap_sink *psnap_sim_new_alone(const char *machine, struct psnap_error *error)
{
    static const struct psnap_loop loop = {.id = "alone",
                                           .src_id = "alone",
                                           .function = "alone",
                                           .file = "",
                                           .parent = PSNAP_NONE,
                                           .header = PSNAP_NONE,
                                           .entry = PSNAP_NONE};
    static const struct psnap_block block = {0};
    static const struct psnap_ref refs[2] = {{.kind = PSNAP_LOAD}, {.kind = PSNAP_STORE}};
    static const struct psnap_program program = {.loops = (struct psnap_loop *)&loop,
                                                 .blocks = (struct psnap_block *)&block,
                                                 .refs = (struct psnap_ref *)refs,
                                                 .loop_count = 1,
                                                 .block_count = 1,
                                                 .ref_count = 2};
    struct psnap_machine found;

    if (psnap_machine_find(machine, &found, error))
        return NULL;
    return psnap_sim_new(&found, 1, &program, NULL, error);
}
