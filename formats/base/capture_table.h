/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The static table of an instrumented module, a part of the capture ABI (capture_abi.h): a header,
 * rows of its loops, blocks, references and so on, then strings. The pass writes it, as one zstd
 * frame where its LLVM can, the runtime sends it as it is, the collector reads it.
 */
#ifndef PSNAP_BASE_CAPTURE_TABLE_H
#define PSNAP_BASE_CAPTURE_TABLE_H

#include "formats/base/capture_abi.h"

/* The tables of rows that a module's static table has behind its header, in their order: ROWS(loop,
 * loops) stands for rows of struct psnap_table_loop, header.loops of them. */
#define PSNAP_TABLE_ROWS(ROWS)                                                                     \
    ROWS(loop, loops)                                                                              \
    ROWS(block, blocks)                                                                            \
    ROWS(ref, refs)                                                                                \
    ROWS(piece, pieces)                                                                            \
    ROWS(hoist, hoists)                                                                            \
    ROWS(move, moves)                                                                              \
    ROWS(quotient, quotients)                                                                      \
    ROWS(nest, nests)                                                                              \
    ROWS(value, values)                                                                            \
    ROWS(step, steps)                                                                              \
    ROWS(site, sites)                                                                              \
    ROWS(global, globals)

/* The words of a module's static table, in order, and of the rows that follow it. Numbers of 64
 * bits lie as two words would. */
struct psnap_table_header {
    uint32_t magic, abi, loops, blocks, refs, pieces, hoists, moves, quotients, nests, values,
        steps, sites, globals, string_bytes;
    uint32_t source;   /* string: file name of the translation unit */
    uint32_t language; /* string: "C", "C++", ... */
    uint32_t compiler; /* string: "clang 19.1.7" */
    uint32_t stage;    /* string: "optimized" or "vectorizer-start" */
};

struct psnap_table_loop {
    uint32_t id;       /* string */
    uint32_t src_id;   /* string */
    uint32_t function; /* string */
    uint32_t file;     /* string */
    uint32_t src_line, depth;
    uint32_t parent; /* index of an earlier loop of the module, or PSNAP_NONE */
    uint32_t header; /* block, or PSNAP_NONE */
    uint32_t entry;  /* block, or PSNAP_NONE */
};

struct psnap_table_block {
    uint32_t loop, src_line;
    uint32_t same_as; /* 0, or 1 + a block that is executed as often and has records; then a count
                         per operation, in their order */
    uint32_t operations[PSNAP_OPERATION_COUNT];
};

struct psnap_table_ref {
    uint32_t block, src_line;
    uint32_t op;          /* PSNAP_REF_OP */
    uint32_t kind;        /* 0 load, 1 store, 2 atomic */
    uint32_t size;        /* bytes of the access, or of a lane */
    uint32_t lanes;       /* of masked and gather accesses, else 1 */
    uint32_t object;      /* string, empty when unknown */
    uint32_t object_kind; /* 0 global, 1 allocation, 2 stack */
};

struct psnap_table_piece {
    uint32_t first_ref; /* the piece's refs follow each other */
    uint32_t refs;
    uint32_t words; /* in the ring, header included */
    uint32_t block; /* whose execution it counts (first piece), or PSNAP_NONE */
    uint32_t guard; /* 0: hoisted iterations all have it; else 1 + its bit in their masks */
    uint32_t hoist; /* 0; else this is a way to end hoist number `hoist` - 1, no piece */
    uint32_t last;  /* of an end: how many of the pieces the last, partial iteration came past, 0
                       when there is none; PSNAP_NONE: the loop goes on. Of an end of a nest: the
                       step before which it stopped */
    uint32_t nest;  /* 0; else this is a way to end nest number `nest` - 1 */
};

struct psnap_table_hoist {
    uint32_t first_piece;    /* the pieces follow each other in the order of the iteration, */
    uint32_t pieces;         /* and so do their refs */
    uint32_t first_move;     /* one for each ref */
    uint32_t first_quotient; /* those of its moves are among these */
    uint32_t quotients;
    uint32_t words;  /* of the record's fixed part: bases and steps are in it */
    uint32_t rows;   /* 1: a row for each iteration follows the fixed part */
    uint32_t guards; /* bits in a row's mask, its first word; 0: it has none */
    uint32_t nest;   /* 0; else it has no records but is a part of nest number `nest` - 1, whose
                        values take the place of words */
};

struct psnap_table_move {
    uint32_t base; /* word of the record that is added to `offset`; 0: in the row */
    int64_t offset;
    uint32_t step; /* word of the record that is the step; 0: it is `stride` */
    int64_t stride;
    uint32_t first_quotient; /* added in each iteration; none of what is in the row */
    uint32_t quotients;
} __attribute__((packed, aligned(4)));

struct psnap_table_quotient {
    uint32_t bits;    /* 1 to 64: of the numerator */
    uint64_t divisor; /* not 0 */
    uint32_t base;    /* word of the record that is added to `offset`; 0: none */
    int64_t offset;
    uint32_t step; /* word of the record that is the step; 0: it is `stride` */
    int64_t stride;
    uint32_t factor; /* word of the record by which it is multiplied; 0: it is `multiplier` */
    int64_t multiplier;
} __attribute__((packed, aligned(4)));

struct psnap_table_nest {
    uint32_t levels;      /* of loops, but for the innermost */
    uint32_t words;       /* of the record */
    uint32_t first_value; /* they are numbered from `words` on */
    uint32_t values;
    uint32_t constants;  /* so many of them are of no loop */
    uint32_t first_step; /* steps are numbered from 0 on; the first enters the loop */
    uint32_t steps;
};

struct psnap_table_value {
    uint32_t op;   /* PSNAP_VALUE_OP */
    uint32_t bits; /* 1 to 64: what is kept of the result */
    uint32_t a, b;
};

struct psnap_table_step {
    uint32_t op;    /* PSNAP_STEP_OP */
    uint32_t level; /* of the loop that it is in, from 0 on */
    uint32_t a, b, c;
};

struct psnap_table_site {
    uint32_t name; /* string: "main cg.c:120" */
};

struct psnap_table_global {
    uint32_t name; /* string */
    uint32_t size_bytes;
};

#endif
