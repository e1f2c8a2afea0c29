/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cycles that the loops of compiled code take, by llvm-mca.
 */
#ifndef PSNAP_PREDICT_AMM_CMD_MCA_H
#define PSNAP_PREDICT_AMM_CMD_MCA_H

#include "formats/base/cmd.h"
#include "predict/amm/asm.h"
#include "simcore/simcore.h"

/* What an iteration of a loop takes, in cycles, when all its accesses hit level 1. */
struct mca_cycles {
    double throughput; /* of the ports and of the front end, in the mean of many; NAN: unknown */
    double window;     /* iterations that are under way at once: what the reorder buffer holds */
};

/* What the loops of a program take by its assembly. */
struct mca_loops {
    struct mca_cycles *cycles; /* by loop */
    struct asm_text *texts;    /* by loop: its code */
    bool *waits;               /* by loop: asm_waits() */
    uint16_t *calls;           /* [block * PSNAP_MATH_FUNCTION_COUNT + function]: asm_add_loops() */
    uint32_t count;            /* of the program's loops */
    uint32_t matched;          /* loops that have assembly */
    uint32_t loops;            /* of those that iterate at all */
};

/* The newest llvm-mca that is there: a text of static lifetime. */
enum psnap_status mca_find(const char **program, struct psnap_error *error);

/*
 * Reads the assembly files, asks llvm-mca (of LLVM's newest version that is there; `cpu` as its
 * -mcpu) and gives each loop of the program its own; `iterations` is by loop. The caller releases
 * it also after an error.
 */
enum psnap_status mca_measure(struct mca_loops *mca, const struct psnap_text_list *files,
                              const char *cpu, const struct psnap_program *program,
                              const double *iterations, struct psnap_error *error);

/*
 * Cycles of an iteration for the loop's ports, front end and division unit, on a machine with such
 * costs of operations. The last is not llvm-mca's: some of its models (sapphirerapids, LLVM 19)
 * have that unit free again after a cycle, and others have divisions of integers take twice as
 * long as they do (znver4). NAN: unknown.
 */
double mca_throughput(const struct mca_loops *mca, uint32_t loop,
                      const struct psnap_machine *machine);

/* What the loop's code waits for. NAN: unknown. */
struct asm_latency mca_latency(const struct mca_loops *mca, uint32_t loop,
                               const struct psnap_machine *machine);

/*
 * Of a loop that iterates `trips` times at each of its entries (0: unknown): the share of its
 * latencies in which iterations of other entries, which do not wait for it, are under way.
 */
double mca_hidden(const struct mca_loops *mca, uint32_t loop, double trips);

void mca_release(struct mca_loops *mca);

#endif
