/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The collector's parts: the source that capture.h hands out, and how it
 * decodes a chunk of a ring.
 */
#ifndef PSNAP_CAPTURE_DECODE_DECODER_H
#define PSNAP_CAPTURE_DECODE_DECODER_H

#include <stdbool.h>

#include "capture/capture.h"
#include "capture/collect/rebase.h"
#include "capture/collect/tables.h"

/* A reference of a record that is being written out access by access. */
struct psnap_expansion {
    const struct psnap_capture_piece *piece; /* NULL: none */
    const uint64_t *words;                   /* of the next reference */
    uint32_t ref;                            /* of the piece, the next to write out */
    uint64_t step;                           /* accesses of it already written out */
};

/* The record of a hoisted loop that is being delivered (descriptor.c). */
struct psnap_hoisted {
    const struct psnap_capture_hoist *hoist; /* NULL: none */
    const uint64_t *record, *row, *end;      /* row: of the next iteration */
    uint64_t count, begun;                   /* whole iterations; those of earlier records */
    uint32_t last;                           /* pieces that the partial iteration came past */
    uint64_t iteration;                      /* of the record, the next to deliver */
    uint64_t alike;                          /* from it on, that have the following in common: */
    uint64_t mask;
    uint32_t pieces, refs, pitch;
    bool may_run;         /* they do not have more accesses than wanted */
    uint64_t rest;        /* so many go before a run of them is looked for again */
    uint32_t piece, ref;  /* where in the iteration delivery goes on */
    const uint64_t *word; /* ... and in its row */
    uint64_t delivered;   /* accesses, by psnap_decode, before */
};

enum {
    PSNAP_REPEAT_RUNS = 32,
    PSNAP_REPEAT_VALUES = 64,
    PSNAP_REPEAT_WIDTH = 64,
    PSNAP_PERIOD_DEPTH = 3,
    PSNAP_PERIODS_MIN = 4 /* fewer are not worth being delivered as such */
};

/* An access of each of some iterations: its address in the present one, and how it advances. */
struct psnap_flat {
    uint32_t ref;
    uint64_t address, delta;
};

/* Iterations of a loop of a nest that are alike (nest_repeat.c). */
struct psnap_repeat {
    bool is_on, is_flat;  /* flat: an iteration is the accesses of `flat` */
    bool is_closed;       /* they may be a nest */
    uint32_t runs, at;    /* steps that it goes through, of which the next */
    uint32_t level;       /* of the loop */
    uint32_t used, width; /* values that advance; accesses */
    uint64_t left;        /* iterations, the present one apart */
    uint16_t run[PSNAP_REPEAT_RUNS], values[PSNAP_REPEAT_VALUES];
    struct psnap_flat flat[PSNAP_REPEAT_WIDTH];
};

/* The record of a nest of loops whose hoisted loops are being delivered (nest.c). */
struct psnap_nested {
    const struct psnap_capture_nest *nest; /* NULL: none */
    struct psnap_capture_step *steps;
    uint32_t at, stop; /* next step, and the one before which the record ends */
    uint32_t left;     /* so many iterations of loops may come */
    uint64_t iterations[PSNAP_NEST_LEVELS_MAX];
    uint64_t values[PSNAP_NEST_VALUES_MAX]; /* the record's words first */
    struct psnap_repeat repeat;
    const struct psnap_capture_nest *deltas_of;
    int64_t deltas[PSNAP_NEST_VALUES_MAX]; /* of values, from one iteration to the next */
};

enum { PSNAP_DECODER_MODULES = 256 };

struct psnap_decoder {
    struct psnap_program *program;
    struct psnap_capture_tables tables;
    struct psnap_rebase rebase;
    uint32_t generation;                       /* of the rebase, that the refs' ranges are of */
    const struct psnap_capture_module *module; /* of the last record */
    const struct psnap_capture_module *modules[PSNAP_DECODER_MODULES]; /* of records, by the word
                                                                          they start with; NULL */
    struct psnap_expansion expansion;
    struct psnap_hoisted hoisted;
    struct psnap_nested nested;
    uint16_t thread;
    uint64_t unnamed;     /* allocations beyond as many as have names */
    uint64_t passed_over; /* open records, of pieces or of batches of loops */
    /* Of the chunk being decoded: */
    const uint64_t *at, *end;
    bool is_last_part; /* its thread had not left it behind when the program ended */
    bool is_part;      /* the chunk goes on behind `end`, which may be in the middle of a record */
    bool passes_over;  /* open records are not waited for */
    bool is_skipping;  /* executions of blocks do not count */
    bool is_bounded;   /* runs have no more accesses than ... */
    uint64_t most;     /* ... these, of which as many are left as psnap_decode has not delivered */
    /* Written at each call: away from flags that are then read together, which would have to wait
       for these. */
    bool is_cut;   /* the record at `at` is one that goes on behind `end`: it is for later */
    bool is_stuck; /* the record at `at` is open: try again when it is not */
    /* The run that was found last: */
    struct psnap_access run_first[PSNAP_RECORD_WORDS_MAX];
    int64_t run_strides[PSNAP_RECORD_WORDS_MAX];
    struct psnap_column run_columns[PSNAP_RECORD_WORDS_MAX];
    struct psnap_nest_loop run_loop;
    struct psnap_nest_maker nest_maker; /* the nest that was delivered last */
    /* Periods (period.c), each within the one before: as many as `tries` says are being tried, and
       executions of blocks go to the list of the last of these. The next one has the nest that
       was found last. NULL: none yet. */
    uint32_t tries;
    struct psnap_period *periods[PSNAP_PERIOD_DEPTH];
};

/* Whether a nest follows the delivered accesses: the decoder stops behind it. */
static inline bool psnap_has_nest(const struct psnap_nest *nest)
{
    return nest && nest->loop_count;
}

/* Nothing is left of the chunk. */
static inline bool psnap_decoder_is_done(const struct psnap_decoder *decoder)
{
    return decoder->at == decoder->end && !decoder->expansion.piece && !decoder->hoisted.hoist &&
           !decoder->nested.nest;
}

/* What follows the last access of a part belongs to the next one. */
static inline bool psnap_decoder_is_full(const struct psnap_decoder *decoder, uint64_t delivered)
{
    return decoder->is_bounded && delivered == decoder->most;
}

/* `count` repetitions of `width` accesses, or as many as may be, with `delivered` before them. */
static inline uint64_t psnap_decoder_bound(const struct psnap_decoder *decoder, uint64_t delivered,
                                           uint64_t width, uint64_t count)
{
    if (!decoder->is_bounded || decoder->most - delivered >= width * count)
        return count;
    return (decoder->most - delivered) / width;
}

/*
 * Decodes from decoder->at until the chunk ends or the block is full; returns
 * the number of accesses written, or a negative status. Progress is kept in
 * the decoder; the chunk is done when psnap_decoder_is_done says so, or stuck. With `nest` not NULL
 * it also stops behind a nest, which follows the accesses written; without loops: there is none.
 */
ssize_t psnap_decode(struct psnap_decoder *decoder, struct psnap_access *block, size_t capacity,
                     struct psnap_nest *nest, struct psnap_error *error);

/* Takes the record of a hoisted loop, which begins at decoder->at and ends as the row `end` says.
 */
enum psnap_status psnap_descriptor_open(struct psnap_decoder *decoder,
                                        const struct psnap_capture_piece *end,
                                        struct psnap_error *error);
/* Delivers it, as psnap_decode does; all of it once decoder->hoisted.hoist is NULL. */
ssize_t psnap_descriptor_next(struct psnap_decoder *decoder, struct psnap_access *block,
                              size_t capacity, struct psnap_nest *nest, struct psnap_error *error);
/* Hoisted loops and nests that were entered and of whose end nothing has been read, or records that
 * were passed over, whichever are more: where both were lost they cannot be told apart. Of those
 * that were entered each of `regions` may have ended before one loop: that is no loss. */
uint64_t psnap_descriptor_lost(const struct psnap_decoder *decoder, uint64_t regions);

/* Takes the record of a nest, as psnap_descriptor_open does. */
enum psnap_status psnap_nest_open(struct psnap_decoder *decoder,
                                  const struct psnap_capture_piece *end, struct psnap_error *error);
/* Goes on with the nest behind `n` accesses of the block, until a run follows or a hoisted loop has
 * been opened, to be delivered by psnap_descriptor_next. Returns the accesses that the block
 * has then, or a negative status; when nothing is left of the nest decoder->nested.nest is NULL. */
ssize_t psnap_nest_next(struct psnap_decoder *decoder, struct psnap_access *block, size_t n,
                        size_t capacity, struct psnap_nest *nest, struct psnap_error *error);

void psnap_periods_free(struct psnap_decoder *decoder);

/* Learns the range of an address that the reference has not seen last; false: out of memory. */
bool psnap_decoder_refresh(struct psnap_decoder *decoder, struct psnap_capture_ref *ref,
                           uint64_t address);

/* Called after the rebase has changed: what references remember of it may be wrong now. */
void psnap_decoder_forget_ranges(struct psnap_decoder *decoder);

/* One event record of the control ring; returns its length in words, 0 on failure. */
uint64_t psnap_decode_control(struct psnap_decoder *decoder, const uint64_t *at,
                              const uint64_t *end, struct psnap_error *error);

#endif
