/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the collector knows of instrumented modules: the tables that the pass
 * wrote become rows of the program, and what decoding needs per piece and ref.
 */
#ifndef PSNAP_CAPTURE_COLLECT_TABLES_H
#define PSNAP_CAPTURE_COLLECT_TABLES_H

#include <stdbool.h>
#include <stdint.h>

#include "capture/collect/loop_names.h"
#include "formats/base/access.h"
#include "formats/base/capture_table.h"
#include "formats/base/program.h"
#include "formats/base/status.h"

/* How to decode one reference; the range its last address was in saves a search. */
struct psnap_capture_ref {
    uint64_t low, span, delta; /* address - low < span: canonical is address + delta */
    uint8_t op, kind, size, lanes;
    uint32_t wide_bytes; /* size, also when it is over 64 */
};

enum { PSNAP_PIECE_PERIODS = 4 };

struct psnap_capture_piece {
    uint32_t first_ref; /* in the program and in psnap_capture_tables.refs */
    uint16_t refs, words;
    uint32_t block;     /* whose execution it counts, or PSNAP_NONE */
    uint8_t is_plain;   /* one word, one access per ref */
    uint8_t rest;       /* records to go before a period of it is looked for again */
    uint8_t patience;   /* what rest becomes after looking in vain */
    uint8_t guard;      /* 0, or 1 + bit in the masks of its hoisted loop */
    uint16_t row_words; /* that it takes in a row of its hoisted loop; of an end of one without
                           guards: that its partial iteration has, ... */
    uint16_t part_refs; /* ... and how many references */
    uint32_t hoist;     /* not 0: no piece but an end of this hoisted loop, less 1 */
    uint32_t last;      /* ... and pieces of its partial iteration, or PSNAP_NONE */
    uint32_t nest;      /* not 0: an end of this nest, less 1, before its step `last` */
    uint32_t seen;      /* where the latest such record was, in words: the lower bits */
    struct {
        uint32_t words;             /* of an iteration; 0: none */
        uint32_t began;             /* where the latest one began */
    } periods[PSNAP_PIECE_PERIODS]; /* that began with such a record, the latest one first */
};

struct psnap_capture_hoist {
    uint32_t first_piece, pieces, first_ref, first_move;
    uint32_t refs, row_words;           /* of all its pieces */
    uint32_t words;                     /* of the record without rows */
    uint32_t first_quotient, quotients; /* of its moves */
    uint32_t guards;
    uint64_t mask_refs; /* of the guarded pieces that have references */
    bool has_rows;
};

struct psnap_capture_nest {
    struct psnap_table_nest row; /* whose values and steps are these tables' */
    bool is_read;       /* `linear` says which words do nothing but move addresses, as bits */
    bool has_quotients; /* in its hoisted loops, once it is read */
    uint64_t linear[PSNAP_RECORD_WORDS_MAX / 64];
};

/* As psnap_table_step; the hoists of steps are these tables'. */
struct psnap_capture_step {
    uint8_t op, level;
    uint8_t patience, rest; /* of ENTER, as above, of folding its iterations */
    uint32_t a, b, c;
};

struct psnap_capture_module {
    uint64_t pieces, piece_count; /* address of the piece bytes in the program */
    uint64_t sites, site_count;
    uint32_t first_piece, first_site;
    uint64_t table_bytes, table_hash; /* modules with the same table share its rows */
};

/* The rows that the tables have of those of modules, in any order. */
#define PSNAP_CAPTURE_ROWS(ROWS)                                                                   \
    ROWS(piece, pieces)                                                                            \
    ROWS(ref, refs)                                                                                \
    ROWS(hoist, hoists)                                                                            \
    ROWS(move, moves)                                                                              \
    ROWS(quotient, quotients)                                                                      \
    ROWS(nest, nests)                                                                              \
    ROWS(value, values)                                                                            \
    ROWS(step, steps)                                                                              \
    ROWS(site, sites)

struct psnap_capture_tables {
    struct psnap_program *program;
    struct psnap_capture_module *modules;
    struct psnap_capture_piece *pieces;
    struct psnap_capture_ref *refs;
    struct psnap_capture_hoist *hoists;
    struct psnap_table_move *moves; /* whose quotients are these tables' */
    struct psnap_table_quotient *quotients;
    struct psnap_capture_nest *nests;
    struct psnap_table_value *values;
    struct psnap_capture_step *steps;
    const char **sites;
    uint32_t *same_as; /* of each block of the program: one that counts for it, or itself */
    uint32_t module_count, piece_count, ref_count, hoist_count, move_count, site_count;
    uint32_t quotient_count, nest_count, value_count, step_count;
    uint32_t most_refs; /* of a piece or hoist, lanes of gathers counted: accesses of a record, but
                           for copies and iterations */
    struct psnap_loop_names names;
    /* The table that is arriving. */
    unsigned char *bytes;
    size_t byte_count, byte_room;
    uint64_t *globals;
    size_t global_count, global_room;
};

void psnap_capture_tables_init(struct psnap_capture_tables *tables, struct psnap_program *program);
void psnap_capture_tables_release(struct psnap_capture_tables *tables);

/* Parts of the arriving table; false when out of memory. */
bool psnap_capture_tables_add_bytes(struct psnap_capture_tables *tables, const void *bytes,
                                    size_t size);
bool psnap_capture_tables_add_globals(struct psnap_capture_tables *tables,
                                      const uint64_t *addresses, size_t count);

/* The table is complete: checks it and appends its rows. `description`: the words of the event. */
enum psnap_status psnap_capture_tables_finish(struct psnap_capture_tables *tables,
                                              const uint64_t *description,
                                              struct psnap_error *error);

/* Executions of the blocks that are counted by another's. */
void psnap_capture_tables_count(const struct psnap_capture_tables *tables);

/* The module whose pieces (or sites) hold `address`, or NULL. */
const struct psnap_capture_module *
psnap_capture_tables_find(const struct psnap_capture_tables *tables, uint64_t address);
const char *psnap_capture_tables_site(const struct psnap_capture_tables *tables, uint64_t address);

#endif
