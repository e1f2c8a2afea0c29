/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The compiled code of a program's loops, from assembly whose blocks are labelled (psnap cc
 * --psnap-blocks).
 */
#ifndef PSNAP_PREDICT_AMM_ASM_H
#define PSNAP_PREDICT_AMM_ASM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "formats/base/program.h"
#include "formats/base/status.h"
#include "simcore/simcore.h"

/* Instructions, one a line. */
struct asm_text {
    char *code; /* NULL: none */
    size_t length, room;
};

struct asm_block { /* of a module's table */
    struct asm_text text;
    uint32_t column;                           /* PSNAP_BLOCKS_COLUMN of its line */
    uint16_t calls[PSNAP_MATH_FUNCTION_COUNT]; /* by enum psnap_math_function */
};

/* The assembly of a module. */
struct asm_code {
    struct asm_block *blocks; /* by their number */
    uint32_t *order;          /* numbers of the blocks that have text, in the order of the code */
    char *file;               /* the source, without folders; NULL: it does not say */
    size_t block_count, block_room, order_count, order_room;
};

/* Reads a file of a program of so many blocks; `name` is used in errors. The caller releases the
 * code also then. */
enum psnap_status asm_read(struct asm_code *code, FILE *file, const char *name, uint32_t blocks,
                           struct psnap_error *error);
void asm_release(struct asm_code *code);

/*
 * Appends the code of each loop of the program that is in `code` to loops[i], of
 * program->loop_count: that of its blocks (those of loops within it are theirs) which at least half
 * of its iterations execute. An error: the code is of another program. The caller frees texts.
 * calls[block * PSNAP_MATH_FUNCTION_COUNT + f] are an execution's calls of function f.
 */
enum psnap_status asm_add_loops(const struct asm_code *code, const struct psnap_program *program,
                                struct asm_text *loops, uint16_t *calls, struct psnap_error *error);

/* Divisions and square roots of doubles, by how often they take the division unit: once for 16
 * bytes of a register, twice for 32, four times for 64; and divisions of integers. */
struct asm_divisions {
    unsigned divisions, roots, integers;
};
/* Whether a line of code is a division of integers. */
bool asm_divides_integers(const char *line);
struct asm_divisions asm_divisions(const char *code);

/* What code waits for, in cycles, by the machine's latencies of operations and of level 1. */
struct asm_latency {
    double iteration; /* for the iteration before */
    double store;     /* until its last value can be stored, if all was there in the beginning */
    double decision;  /* until its last conditional jump is decided, if all was there in the
                         beginning */
};
/* NAN: out of memory. */
struct asm_latency asm_latency(const char *code, const struct psnap_machine *machine);

/* Whether the address of a load comes from what it loaded in the iteration before. */
bool asm_waits(const char *code);

#endif
