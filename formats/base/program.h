/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is known about the program that a stream comes from: provenance, and the
 * static tables that give an access its place. access.ref -> ref -> block ->
 * loop. Tables only grow, indices never change, so a sink may keep indices
 * across blocks (but not pointers). Strings are interned in the program's
 * arena and live as long as the program.
 *
 * Every ref belongs to exactly one loop, its innermost; the code of a function
 * outside its loops is one pseudo-loop per function (depth 0).
 */
#ifndef PSNAP_BASE_PROGRAM_H
#define PSNAP_BASE_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "formats/base/api.h"
#include "formats/base/capture_abi.h"
#include "formats/base/status.h"

#define PSNAP_NONE UINT32_MAX /* "no index" in every table */

struct psnap_loop {
    const char *id;       /* unique in the program: "spmv:30", "spmv:30.vector", "spmv" */
    const char *src_id;   /* the loop of the source: same for all parts the optimiser made */
    const char *function; /* as a person knows it (demangled) */
    const char *file;     /* source file, "" when unknown */
    uint32_t src_line;    /* 0 when unknown */
    uint32_t depth;       /* 0: function body outside loops; 1: outermost loop; ... */
    uint32_t parent;      /* index of the loop around it, PSNAP_NONE for depth 0 */
    uint32_t header;      /* block whose executions are the loop's iterations, or PSNAP_NONE */
    uint32_t entry;       /* block whose executions are the loop's entries, or PSNAP_NONE */
};

struct psnap_block {
    uint32_t loop;
    uint32_t src_line;                          /* of its first instruction that has one, or 0 */
    uint32_t operations[PSNAP_OPERATION_COUNT]; /* per execution */
    uint64_t executions;                        /* so far; exact when the stream has ended */
};

struct psnap_ref {
    uint32_t block;
    uint32_t loop;       /* == blocks[block].loop */
    uint32_t src_line;   /* 0 when unknown */
    const char *object;  /* variable the access is known to touch: "a", "main.buffer"; or NULL */
    uint8_t object_kind; /* enum psnap_object_kind, when object is not NULL */
    uint8_t kind;        /* enum psnap_access_kind */
    uint8_t size;        /* bytes per access; 0 when it varies */
};

enum psnap_object_kind {
    PSNAP_OBJECT_GLOBAL = 0,
    PSNAP_OBJECT_ALLOCATION = 1, /* name is the call site: "main cg.c:120" */
    PSNAP_OBJECT_STACK = 2       /* name is the function whose frame it is: "main" */
};

/* A range of addresses with a name, from the moment it was announced on. A later object hides an
 * earlier one where they overlap. Names are advice: streams are complete without them. */
struct psnap_object {
    uint64_t address;
    uint64_t size_bytes;
    const char *name;
    uint8_t kind; /* enum psnap_object_kind */
};

struct psnap_provenance {
    const char *name;            /* program's base name */
    const char *const *command;  /* argv as run, NULL-terminated; NULL when unknown */
    const char *build_id;        /* hex, "" when unknown */
    const char *source_language; /* "C", "C++", "Fortran", ..., "" when unknown */
    const char *compiler;        /* "clang 19.1.7", "" when unknown */
    const char *host;            /* machine architecture: "x86_64" */
    const char *recorded;        /* UTC, ISO 8601, "" when unknown */
    const char *stage;           /* where the pass ran: "optimized", "vectorizer-start", "" */
    bool has_rank;               /* one of a parallel job's processes (MPI): */
    uint32_t rank, ranks;        /* its number, and of how many; 0: unknown */
};

struct psnap_arena;

/* Copies it, with its texts to the arena; NULL reads as "". */
PSNAP_API enum psnap_status psnap_provenance_copy(const struct psnap_provenance *from,
                                                  struct psnap_arena *arena,
                                                  struct psnap_provenance *to);

/* Which of a program's accesses its stream has; zero-initialised: all. */
struct psnap_sampling {
    const char *const *regions; /* functions, or "PSNAP_ROI_BEGIN" for marks, NULL-terminated: what
                                   runs in them; NULL: everything */
    uint64_t skip, count;       /* of these the ones from skip on, count of them; 0: all */
    uint64_t window, period;    /* of these, of each `period` the first `window`; 0: all */
    uint64_t run_accesses;     /* that there were to take windows from, when the stream has ended */
    uint64_t windows;          /* that were taken whole */
    const double *loop_errors; /* by loop, standard error of its accesses in the run by estimate;
                                  NULL: unknown */
    uint32_t loop_error_count;
    bool is_empty; /* it ended before its first access: `count` of 0 is not all */
};

/* Copies it, but for the errors of loops, with its texts to the arena. */
PSNAP_API enum psnap_status psnap_sampling_copy(const struct psnap_sampling *from,
                                                struct psnap_arena *arena,
                                                struct psnap_sampling *to);

#define PSNAP_RUN_MAX (UINT64_C(1) << 62) /* accesses of a run, as far as they are counted */

/* The stream ends after `accesses` of those that this part has: it is cut off, or limited. Until
 * which access of the run that is follows from windows and periods; PSNAP_RUN_MAX at most. */
PSNAP_API void psnap_sampling_end(struct psnap_sampling *sampling, uint64_t accesses);

/* Whether the stream is a part of a run. */
PSNAP_API bool psnap_sampling_is_part(const struct psnap_sampling *sampling);

struct psnap_program {
    struct psnap_provenance provenance;
    struct psnap_sampling sampling;
    struct psnap_loop *loops;
    struct psnap_block *blocks;
    struct psnap_ref *refs;
    struct psnap_object *objects; /* in the order announced */
    uint32_t loop_count, block_count, ref_count, object_count;
    /* private: */
    uint32_t loop_room, block_room, ref_room, object_room;
    struct psnap_arena *arena;
};

/* An empty program, NULL when out of memory. */
PSNAP_API struct psnap_program *psnap_program_new(void);
PSNAP_API void psnap_program_free(struct psnap_program *program);

/* A copy of `text` (NULL reads as "") that lives as long as the program; NULL: out of memory. */
PSNAP_API const char *psnap_program_string(struct psnap_program *program, const char *text);

/* Copies argv (NULL-terminated) into provenance.command. */
PSNAP_API enum psnap_status psnap_program_set_command(struct psnap_program *program,
                                                      const char *const *argv);

/*
 * Append one row; strings must be interned (psnap_program_string) or static.
 * Return the row's index, PSNAP_NONE when out of memory. Pointers into the
 * table move.
 */
PSNAP_API uint32_t psnap_program_add_loop(struct psnap_program *program,
                                          const struct psnap_loop *loop);
PSNAP_API uint32_t psnap_program_add_block(struct psnap_program *program,
                                           const struct psnap_block *block);
PSNAP_API uint32_t psnap_program_add_ref(struct psnap_program *program,
                                         const struct psnap_ref *ref);
PSNAP_API uint32_t psnap_program_add_object(struct psnap_program *program,
                                            const struct psnap_object *object);

/*
 * Makes a program of a foreign trace that names no instructions usable: one
 * function-level loop called `loop_id` with one block and refs 0 (a load) and
 * 1 (a store), unless the program has refs already.
 */
PSNAP_API enum psnap_status psnap_program_add_anonymous(struct psnap_program *program,
                                                        const char *loop_id);

/* The latest object that contains `address`, or NULL. Linear from the end: for
 * occasional use (a new region), not per access. */
PSNAP_API const struct psnap_object *psnap_program_find_object(const struct psnap_program *program,
                                                               uint64_t address);

/* The key of an operation in profiles: "fp_mul". Static storage. */
PSNAP_API const char *psnap_operation_name(enum psnap_capture_operation operation);

#endif
