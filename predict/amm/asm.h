/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The loops of a program's assembly, as clang -S -g writes it for x86-64.
 */
#ifndef PSNAP_PREDICT_AMM_ASM_H
#define PSNAP_PREDICT_AMM_ASM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "formats/base/program.h"
#include "formats/base/status.h"

#define ASM_LATCHES_MAX 4

struct asm_latch { /* where a loop's branch back is in the source */
    uint32_t file, src_line;
};

/* A loop's own code: that of loops within it is theirs. */
struct asm_loop {
    char *label; /* of its header: "BB0_14" */
    long parent; /* index of the loop around it, below 0: none */
    struct asm_latch latches[ASM_LATCHES_MAX];
    size_t latch_count;
    char *code; /* instructions, one a line */
    size_t length, room;
};

struct asm_code {
    struct asm_loop *loops; /* in the order in which the code comes to them */
    char **files;           /* base names, by the numbers of latches */
    size_t loop_count, loop_room, file_count, file_room;
};

/* Adds the loops of a file; `name` is used in errors. The caller releases the code also then. */
enum psnap_status asm_read(struct asm_code *code, FILE *file, const char *name,
                           struct psnap_error *error);
void asm_release(struct asm_code *code);

/*
 * loops[i], of program->loop_count, is the asm loop of the program's loop i, or NULL: that of the
 * same line; of several the first one is the first. NULL for all of a line where the numbers of
 * loops differ. Returns how many have one.
 */
uint32_t asm_match(const struct asm_code *code, const struct psnap_program *program,
                   const struct asm_loop **loops);

/* Writes code with each copy of a register to another one made by `copies` instructions that take a
 * cycle each, 0: as it is. */
void asm_write(const char *code, int copies, FILE *file);

/* Whether the address of a load comes from what it loaded in the iteration before. */
bool asm_waits(const char *code);

#endif
