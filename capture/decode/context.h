/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the parts of the decoder share: the tables of the program's modules, its mappings, where in
 * a chunk of a ring decoding is, and how executions of blocks are counted. Each part calls none but
 * those below it:
 *
 *     decode     nests and accesses; the first iterations of a period are decoded to know it
 *     records    records in their order, those of pieces
 *     nest       records of nests of loops, step by step, or their iterations in closed form
 *     value      the values of a nest
 *     hoisted    hoisted loops: addresses, executions and records
 *     context
 */
#ifndef PSNAP_CAPTURE_DECODE_CONTEXT_H
#define PSNAP_CAPTURE_DECODE_CONTEXT_H

#include <stdbool.h>

#include "capture/capture.h"
#include "capture/collect/rebase.h"
#include "capture/collect/tables.h"

enum { PSNAP_CONTEXT_MODULES = 256, PSNAP_TALLY_COUNTS = 2048 };

/* Iterations of an execution of a loop: more take days, or are no iterations. */
#define PSNAP_ITERATIONS_MAX (UINT64_C(1) << 50)

/* Executions of blocks that are put aside. */
struct psnap_tally {
    bool counts, is_short; /* they are; there was no room for all */
    uint32_t used;
    struct {
        uint32_t block;
        uint64_t times;
    } executions[PSNAP_TALLY_COUNTS];
};

enum {
    PSNAP_PERIOD_DEPTH = 3, /* of periods within periods */
    PSNAP_PERIOD_WORDS = 16384
};

/*
 * How the words of a period's iteration advance, while that is decoded: `deltas` of those from
 * `begin` on. In `times` further iterations all that nests compare comes out the same; decoding
 * lowers it.
 */
struct psnap_shift {
    const uint64_t *begin, *deltas;
    uint64_t times;
    struct psnap_shift *outer; /* of a period that this one is in; NULL: none */
};

struct psnap_context {
    struct psnap_program *program;
    struct psnap_capture_tables tables;
    struct psnap_rebase rebase;
    uint32_t generation; /* of the rebase, that the refs' ranges are of */
    const struct psnap_capture_module *modules[PSNAP_CONTEXT_MODULES]; /* of records, by the word
                                                                          they start with; NULL */
    uint16_t thread;
    uint64_t unnamed;       /* allocations beyond as many as have names */
    uint64_t passed_over;   /* open records, of pieces or of batches of loops */
    uint64_t *passed;       /* the latest one, of the chunk being decoded; NULL: none */
    uint64_t accesses_lost; /* of these, at most */
    uint64_t words_unknown; /* of records of which nothing is known */
    /* Of the chunk being decoded: */
    const uint64_t *at, *end;
    bool is_last_part; /* its thread had not left it behind when the program ended */
    bool is_part;      /* the chunk goes on behind `end`, which may be in the middle of a record */
    bool passes_over;  /* open records are not waited for */
    bool is_skipping;  /* executions of blocks do not count */
    bool is_bounded;   /* runs have no more accesses than ... */
    uint64_t most;     /* ... these, of which as many are left as psnap_decode has not delivered */
    struct psnap_tally *tally; /* where executions go while a period is tried; else NULL */
    struct psnap_shift *shift; /* NULL: none */
    /* Written at each call: away from flags that are then read together, which would have to wait
       for these. */
    bool is_cut;   /* the record at `at` is one that goes on behind `end`: it is for later */
    bool is_stuck; /* the record at `at` is open: try again when it is not */
    /* The nest that was delivered last: */
    struct psnap_nest_maker maker;
    struct psnap_column columns[PSNAP_RECORD_WORDS_MAX];
};

/* Where accesses go: behind `n` of the block, and if `nest` is not NULL a nest may follow them, of
 * which the context has the parts; without loops: there is none. */
struct psnap_delivery {
    struct psnap_access *block;
    size_t n, capacity;
    struct psnap_nest *nest; /* NULL: accesses alone */
};

/* Whether a nest follows the delivered accesses: the decoder stops behind it. */
static inline bool psnap_delivery_is_over(const struct psnap_delivery *to)
{
    return to->nest && to->nest->loop_count;
}

/* A run follows, whose first accesses and strides the context's maker has. */
static inline void psnap_delivery_put_run(const struct psnap_delivery *to,
                                          struct psnap_context *context, struct psnap_run run)
{
    run.first = context->maker.first;
    run.strides = context->maker.strides;
    *to->nest = psnap_nest_of_run(context->maker.loops, &run);
}

/* The status and its message: a record that begins with `word` cannot be; no room for mappings. */
enum psnap_status psnap_context_corrupt(struct psnap_error *error, uint64_t word);
/* The same of a record of a loop, or of a nest of loops, and why. */
enum psnap_status psnap_loop_corrupt(struct psnap_error *error, const char *loop, const char *why);
enum psnap_status psnap_context_no_memory(struct psnap_error *error);

/* One event record of the control ring; returns its length in words, 0 on failure. */
uint64_t psnap_context_control(struct psnap_context *context, const uint64_t *at,
                               const uint64_t *end, struct psnap_error *error);
/* Takes the record of an allocation, which may be a mapping of its own: objects in it get its name.
 */
enum psnap_status psnap_context_allocation(struct psnap_context *context, const uint64_t *words,
                                           struct psnap_error *error);

/* Called after the rebase has changed: what references remember of it may be wrong now. */
void psnap_context_forget_ranges(struct psnap_context *context);
/* Learns the range of an address that the reference has not seen last; false: out of memory. */
bool psnap_context_refresh(struct psnap_context *context, struct psnap_capture_ref *ref,
                           uint64_t address);

/* Makes the reference's range that of the address; false when out of memory. */
static inline bool psnap_context_reach(struct psnap_context *context, struct psnap_capture_ref *ref,
                                       uint64_t address)
{
    return __builtin_expect(address - ref->low < ref->span, 1) ||
           psnap_context_refresh(context, ref, address);
}

/* Whether `count` addresses, from `first` on `stride` apart, are in one range, which the reference
 * then remembers; false also when out of memory. */
static inline bool psnap_context_share_range(struct psnap_context *context,
                                             struct psnap_capture_ref *ref, uint64_t first,
                                             int64_t stride, uint64_t count)
{
    int64_t way;

    return psnap_context_reach(context, ref, first) &&
           !__builtin_mul_overflow(stride, (int64_t)count, &way) && (int64_t)count > 0 &&
           first + (count - 1) * (uint64_t)stride - ref->low < ref->span;
}

/* Whether all accesses of a nest stay in the ranges that their references remember. */
bool psnap_context_holds(const struct psnap_context *context, const struct psnap_nest *nest);

/* The access of reference `index`, in whose range the address is. */
static inline struct psnap_access psnap_context_access(const struct psnap_context *context,
                                                       const struct psnap_capture_ref *ref,
                                                       uint32_t index, uint64_t address)
{
    return (struct psnap_access){
        .address = address + ref->delta,
        .ref = index,
        .size = ref->size,
        .kind = ref->kind,
        .thread = context->thread,
    };
}

/* The module of the piece that records of this word start with; NULL: none such. */
static inline const struct psnap_capture_module *psnap_context_module(struct psnap_context *context,
                                                                      uint64_t word)
{
    const struct psnap_capture_module **known =
        &context->modules[word / 64 % PSNAP_CONTEXT_MODULES];

    if (!*known || word - (*known)->pieces >= (*known)->piece_count) {
        const struct psnap_capture_module *found =
            psnap_capture_tables_find(&context->tables, word);
        if (!found || word - found->pieces >= found->piece_count)
            return NULL;
        *known = found;
    }
    return *known;
}

/* The piece whose record starts with this word, NULL when there is none such. */
static inline struct psnap_capture_piece *psnap_context_piece(struct psnap_context *context,
                                                              uint64_t word)
{
    const struct psnap_capture_module *module = psnap_context_module(context, word);

    return module ? &context->tables.pieces[module->first_piece + (word - module->pieces)] : NULL;
}

/* Whether a record that starts with this word is a gap, of header - PSNAP_GAP words. */
static inline bool psnap_is_gap(uint64_t header)
{
    return header - PSNAP_GAP - 1 < PSNAP_RECORD_WORDS_MAX;
}

/* So many executions of a block, put aside. */
void psnap_tally_add(struct psnap_tally *tally, uint32_t block, uint64_t times);

/* So many executions of a block (PSNAP_NONE: of none). */
static inline void psnap_context_count(struct psnap_context *context, uint32_t block,
                                       uint64_t times)
{
    if (block == PSNAP_NONE || context->is_skipping)
        return;
    if (__builtin_expect(context->tally != NULL, 0))
        psnap_tally_add(context->tally, block, times);
    else
        context->program->blocks[block].executions += times;
}

/* Whether a bounded reader has all accesses that it wanted: records behind the last one are for the
 * next part. */
static inline bool psnap_context_is_full(const struct psnap_context *context, uint64_t delivered)
{
    return context->is_bounded && delivered == context->most;
}

/* `count` repetitions of `width` accesses, or as many as may be, with `delivered` before them. */
static inline uint64_t psnap_context_bound(const struct psnap_context *context, uint64_t delivered,
                                           uint64_t width, uint64_t count)
{
    if (!context->is_bounded || context->most - delivered >= width * count)
        return count;
    return (context->most - delivered) / width;
}

/* A number of `bits` with sign. */
static inline int64_t psnap_sign_extend(uint64_t value, unsigned bits)
{
    return (int64_t)(value << (64 - bits)) >> (64 - bits);
}

/* Something was looked for in vain: it is again behind `*rest` more, ever more up to `most`. */
static inline void psnap_wait_longer(uint8_t *rest, uint8_t *patience, unsigned most)
{
    *rest = *patience;
    *patience = (uint8_t)(*patience < most / 2 ? 2u * *patience + 1 : most);
}

#endif
