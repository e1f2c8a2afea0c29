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
    uint8_t wish;                    /* whether it is one of the regions that are recorded */
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

void psnap_guest_code_init(struct psnap_guest_code *code, struct psnap_program *program);
void psnap_guest_code_release(struct psnap_guest_code *code);

/* As psnap_guest_space_start; also names the program's variables. */
enum psnap_status psnap_guest_code_start(struct psnap_guest_code *code, pid_t program,
                                         struct psnap_error *error);

/* The reference of a node in a row. */
enum psnap_status psnap_guest_code_ref(struct psnap_guest_code *code, uint32_t node, uint32_t row,
                                       uint8_t kind, uint16_t size, uint32_t *ref,
                                       struct psnap_error *error);

/* The canonical address of an access of the reference. */
enum psnap_status psnap_guest_code_place(struct psnap_guest_code *code, uint32_t ref,
                                         uint64_t address, uint64_t *canonical,
                                         struct psnap_error *error);

/* Finds loops again where the flow graph has changed. */
enum psnap_status psnap_guest_code_update(struct psnap_guest_code *code, struct psnap_error *error);

/* Row of program->loops that a node is in. */
enum psnap_status psnap_guest_code_row(struct psnap_guest_code *code, uint32_t node, uint32_t *row,
                                       struct psnap_error *error);

/* Calls, returns and jumps of a thread, from the order of its instructions. */

/* Calls that are remembered; deeper, the outermost are forgotten. */
enum { PSNAP_GUEST_FRAMES = 1 << 12 };

/* How an instruction was come to. */
enum psnap_guest_step {
    PSNAP_STEP,        /* from one of the same function */
    PSNAP_STEP_CALL,   /* it is the first of a function that was called */
    PSNAP_STEP_RETURN, /* it is behind a call */
    PSNAP_STEP_RESUME, /* behind a call that has been forgotten */
    PSNAP_STEP_LEAP,   /* from another function, without a call */
};

/* A call that has not returned. */
struct psnap_guest_frame {
    uint64_t slot, back; /* where its return address lies, and what it is */
    uint32_t caller;     /* node */
};

struct psnap_guest_calls {
    uint64_t depth, known;             /* of which the topmost `known` frames are there */
    uint32_t node;                     /* executed last, PSNAP_FLOW_NONE at the start */
    uint64_t stored, loaded, returned; /* addresses: of the last instruction, of the last return */
    bool has_stored, has_loaded;
    struct psnap_guest_frame frames[PSNAP_GUEST_FRAMES]; /* depth d: [d % PSNAP_GUEST_FRAMES] */
};

/* A new thread. */
void psnap_guest_calls_restart(struct psnap_guest_calls *calls);

/* The instruction at `pc` is executed: calls->node is its node then. */
enum psnap_status psnap_guest_calls_step(struct psnap_guest_calls *calls,
                                         struct psnap_guest_code *code, uint64_t pc, uint8_t size,
                                         enum psnap_guest_step *step, struct psnap_error *error);

/* It accesses memory: a word may be a return address. */
static inline void psnap_guest_calls_access(struct psnap_guest_calls *calls, bool is_store,
                                            uint64_t address, uint16_t size)
{
    if (size != sizeof(uint64_t))
        return;
    *(is_store ? &calls->stored : &calls->loaded) = address;
    *(is_store ? &calls->has_stored : &calls->has_loaded) = true;
}

/* Names (guest_names.c). */

/* Names, file and line of the loop with this header, or of the function itself (none); false: out
 * of memory. */
bool psnap_guest_name(struct psnap_guest_code *code, uint32_t function, uint32_t header,
                      struct psnap_loop *loop);
void psnap_guest_names_release(struct psnap_guest_names *names);

enum psnap_status psnap_guest_no_memory(struct psnap_error *error);

#endif
