/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The code of a program that runs under Valgrind, as far as it has been
 * executed: instructions, the functions and loops they are in, and the rows of
 * the program's tables that stand for these.
 */
#ifndef PSNAP_CAPTURE_VALGRIND_GUEST_CODE_H
#define PSNAP_CAPTURE_VALGRIND_GUEST_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/valgrind/guest_space.h"
#include "capture/valgrind/loops_online.h"
#include "formats/base/map.h"
#include "formats/base/program.h"

/* An instruction; its index is that of its node in the flow graph. */
struct psnap_guest_node {
    uint64_t pc;
    uint32_t fall, jump; /* what was executed after it: behind it, and elsewhere the last time */
    uint32_t row;        /* of its innermost loop, at generation `generation` of the function */
    uint32_t generation;
    uint32_t first_ref;
    uint8_t size;
};

struct psnap_guest_function {
    const struct psnap_image *image; /* NULL: none */
    uint64_t low, high;              /* high 0: no symbol says where it ends */
    const char *symbol;              /* NULL: none */
    const char *title;               /* unique; NULL until it is needed */
    uint32_t first_row;              /* of its loops, and itself */
    uint32_t generation;             /* goes up when its loops have changed */
};

/* Beside a row of program->loops. */
struct psnap_guest_row {
    uint32_t header; /* node, or none for a function itself */
    uint32_t next;   /* of the function */
};

/* Beside a row of program->refs; one belongs to an instruction in a loop. */
struct psnap_guest_ref {
    uint64_t low, span, delta; /* address - low < span: canonical is address + delta */
    uint32_t generation;       /* of the space, that this is from */
    uint32_t row, next;
    uint16_t size;
    uint8_t kind;
};

/* tsearch trees (guest_names.c). */
struct psnap_guest_names {
    void *taken;   /* ids and titles in use */
    void *sources; /* loops of the source */
};

struct psnap_guest_code {
    struct psnap_program *program; /* not owned */
    struct psnap_symbols *symbols;
    struct psnap_guest_space space;
    struct psnap_flow flow;
    struct psnap_map by_pc, by_low; /* nodes and functions, plus one */
    struct psnap_guest_node *nodes;
    struct psnap_guest_function *functions;
    struct psnap_guest_row *rows;
    struct psnap_guest_ref *refs;
    size_t node_room, function_room, row_room, ref_room;
    struct psnap_guest_names names;
    uint32_t rest; /* node of all code beyond what there is room for, or none */
};

enum psnap_status psnap_guest_code_init(struct psnap_guest_code *code,
                                        struct psnap_program *program, struct psnap_error *error);
void psnap_guest_code_release(struct psnap_guest_code *code);

/* As psnap_guest_space_start; also names the program's variables. */
enum psnap_status psnap_guest_code_start(struct psnap_guest_code *code, pid_t program,
                                         struct psnap_error *error);

/*
 * The node of the instruction at `pc`. `near` is the one that was executed before it in the same
 * function for all that is known, or none when `pc` has been called.
 */
enum psnap_status psnap_guest_code_node(struct psnap_guest_code *code, uint64_t pc, uint8_t size,
                                        uint32_t near, uint32_t *node, struct psnap_error *error);

/* The reference of a node in a row. */
enum psnap_status psnap_guest_code_ref(struct psnap_guest_code *code, uint32_t node, uint32_t row,
                                       uint8_t kind, uint16_t size, uint32_t *ref,
                                       struct psnap_error *error);

/* The canonical address of an access of the reference. */
enum psnap_status psnap_guest_code_place(struct psnap_guest_code *code, uint32_t ref,
                                         uint64_t address, uint64_t *canonical,
                                         struct psnap_error *error);

/* Loops (guest_loops.c). */

/* Finds loops again where the flow graph has changed. */
enum psnap_status psnap_guest_code_update(struct psnap_guest_code *code, struct psnap_error *error);

/* Row of program->loops that a node is in. */
enum psnap_status psnap_guest_code_row(struct psnap_guest_code *code, uint32_t node, uint32_t *row,
                                       struct psnap_error *error);

/* Names (guest_names.c). */

/* Names, file and line of a function's own row, or of the loop with this header; false: out of
 * memory. */
bool psnap_guest_name_function(struct psnap_guest_code *code, uint32_t function,
                               struct psnap_loop *loop);
bool psnap_guest_name_loop(struct psnap_guest_code *code, uint32_t function, uint32_t header,
                           struct psnap_loop *loop);
void psnap_guest_names_release(struct psnap_guest_names *names);

enum psnap_status psnap_guest_no_memory(struct psnap_error *error);

#endif
