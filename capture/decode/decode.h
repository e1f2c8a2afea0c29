/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The parts of psnap_decode: decode.c (records in order), decode_short.c (those of a few
 * accesses), decode_runs.c (records that are one run), descriptor.c, descriptor_run.c and
 * quotient.c (hoisted loops), nest.c, nest_alike.c and nest_repeat.c (nests of loops), period.c
 * and period_tree.c (records that come again and again), decode_expand.c (references that are not
 * plain) and decode_events.c (records that are no accesses).
 */
#ifndef PSNAP_CAPTURE_DECODE_DECODE_H
#define PSNAP_CAPTURE_DECODE_DECODE_H

#include "capture/decode/decoder.h"

/* The status and its message: a record that begins with `word` cannot be; no room for mappings. */
enum psnap_status psnap_decoder_corrupt(struct psnap_error *error, uint64_t word);
enum psnap_status psnap_decoder_no_memory(struct psnap_error *error);

/* Makes the reference's range that of the address; false when out of memory. */
static inline bool psnap_decoder_reach(struct psnap_decoder *decoder, struct psnap_capture_ref *ref,
                                       uint64_t address)
{
    return __builtin_expect(address - ref->low < ref->span, 1) ||
           psnap_decoder_refresh(decoder, ref, address);
}

/* The module of the piece that records of this word start with; NULL: none such. */
static inline const struct psnap_capture_module *psnap_decoder_module(struct psnap_decoder *decoder,
                                                                      uint64_t word)
{
    const struct psnap_capture_module **known =
        &decoder->modules[word / 64 % PSNAP_DECODER_MODULES];

    if (!*known || word - (*known)->pieces >= (*known)->piece_count) {
        const struct psnap_capture_module *found =
            psnap_capture_tables_find(&decoder->tables, word);
        if (!found || word - found->pieces >= found->piece_count)
            return NULL;
        *known = found;
    }
    return *known;
}

/* Whether `count` addresses, `stride` apart, from one in the reference's range on are in it, too.
 */
static inline bool psnap_ref_holds(const struct psnap_capture_ref *ref, uint64_t first,
                                   int64_t stride, uint64_t count)
{
    int64_t way;

    return !__builtin_mul_overflow(stride, (int64_t)count, &way) && (int64_t)count > 0 &&
           first + (count - 1) * (uint64_t)stride - ref->low < ref->span;
}

/* The access of reference `index`, in whose range the address is. */
static inline struct psnap_access psnap_decoder_access(const struct psnap_decoder *decoder,
                                                       const struct psnap_capture_ref *ref,
                                                       uint32_t index, uint64_t address)
{
    return (struct psnap_access){
        .address = address + ref->delta,
        .ref = index,
        .size = ref->size,
        .kind = ref->kind,
        .thread = decoder->thread,
    };
}

/* Something was looked for in vain: it is again behind `*rest` more, ever more up to `most`. */
static inline void psnap_wait_longer(uint8_t *rest, uint8_t *patience, unsigned most)
{
    *rest = *patience;
    *patience = (uint8_t)(*patience < most / 2 ? 2u * *patience + 1 : most);
}

/* A number of `bits` with sign. */
static inline int64_t psnap_sign_extend(uint64_t value, unsigned bits)
{
    return (int64_t)(value << (64 - bits)) >> (64 - bits);
}

/* Writes out the open expansion as far as the block has room: the accesses written, or a negative
 * status. */
ssize_t psnap_decoder_expand(struct psnap_decoder *decoder, struct psnap_access *block,
                             size_t capacity, struct psnap_error *error);

/* Records of a few accesses, as long as they follow each other and the block has room for all of
 * them; with `finds_runs`, not those that may be (or begin) a run. Returns the accesses written. */
size_t psnap_decoder_put_short(struct psnap_decoder *decoder, struct psnap_access *block,
                               size_t capacity, bool finds_runs);

/* Looks for a run of `piece` at the decoder's place; true when there is one. */
bool psnap_decoder_find_run(struct psnap_decoder *decoder, struct psnap_capture_piece *piece,
                            uint64_t delivered, struct psnap_nest *nest);

/* Looks, at a record of `piece` that begins at the decoder's place, for records from it on that
 * come again and again, which then are the nest; false when there are none. */
bool psnap_decoder_find_period(struct psnap_decoder *decoder, struct psnap_capture_piece *piece,
                               struct psnap_nest *nest, struct psnap_error *error);

/* So many executions of a block while a period is tried. */
void psnap_period_count(struct psnap_period *period, uint32_t block, uint64_t times);

/* The same at any time. */
static inline void psnap_decoder_count(struct psnap_decoder *decoder, uint32_t block,
                                       uint64_t times)
{
    if (__builtin_expect(decoder->tries, 0))
        psnap_period_count(decoder->periods[decoder->tries - 1], block, times);
    else
        decoder->program->blocks[block].executions += times;
}

/* An allocation: perhaps a mapping of its own, and a name for what lies in it. */
enum psnap_status psnap_decoder_allocation(struct psnap_decoder *decoder, const uint64_t *words,
                                           struct psnap_error *error);

/* What the quotients of a reference add to its address in an iteration. */
uint64_t psnap_quotients_add(const struct psnap_decoder *decoder,
                             const struct psnap_capture_move *move, const uint64_t *record,
                             uint64_t i);
/* How many of the next `count` iterations, from the i-th of the loop on, are a run, whose
 * repetitions are `*turns` of them with `refs` references each: 1 and more, a multiple of that. */
uint64_t psnap_quotients_alike(const struct psnap_decoder *decoder,
                               const struct psnap_capture_hoist *hoist, const uint64_t *record,
                               uint64_t i, uint64_t count, uint32_t refs, uint32_t *turns);

static inline uint64_t psnap_move_step(const struct psnap_capture_move *move,
                                       const uint64_t *record)
{
    return move->step ? record[move->step] : (uint64_t)move->stride;
}

/* The address of a reference that is not in the row. */
static inline uint64_t psnap_move_address(const struct psnap_decoder *decoder,
                                          const struct psnap_capture_move *move,
                                          const uint64_t *record, uint64_t i)
{
    const uint64_t address =
        record[move->base] + (uint64_t)move->offset + i * psnap_move_step(move, record);

    return move->quotients ? address + psnap_quotients_add(decoder, move, record, i) : address;
}

static inline bool psnap_piece_is_executed(const struct psnap_capture_piece *piece, uint64_t mask)
{
    return !piece->guard || (mask >> (piece->guard - 1) & 1);
}

/* The next `count` iterations of the open record, a multiple of `turns`, as a run; false when they
 * cannot be one. */
bool psnap_hoisted_run(struct psnap_decoder *decoder, uint64_t count, uint32_t turns,
                       struct psnap_nest *nest);

/* Iterations of a hoisted loop of fewer accesses are not worth a run. */
enum { PSNAP_RUN_ACCESSES_MIN = 32 };

/* Whether `count` addresses, from `first` on `stride` apart, are in one range, which the reference
 * then remembers; false also when out of memory. */
bool psnap_decoder_share_range(struct psnap_decoder *decoder, struct psnap_capture_ref *ref,
                               uint64_t first, int64_t stride, uint64_t count);

/* Counts the blocks of so many iterations of a hoisted loop without guards. */
void psnap_descriptor_count(struct psnap_decoder *decoder, const struct psnap_capture_hoist *hoist,
                            uint64_t count);

/* All `count` iterations of a hoisted loop that has no rows, of which `values` has bases and steps,
 * into the block, which has room; false when out of memory. */
bool psnap_descriptor_put(struct psnap_decoder *decoder, const struct psnap_capture_hoist *hoist,
                          const uint64_t *values, uint64_t count, struct psnap_access *block);
/* The same as a run; false when it cannot be one, or when out of memory. */
bool psnap_descriptor_run(struct psnap_decoder *decoder, const struct psnap_capture_hoist *hoist,
                          const uint64_t *values, uint64_t count, struct psnap_nest *nest);

/* The values that the step computes, in the present iteration of its nest. */
void psnap_nest_evaluate(struct psnap_decoder *decoder, const struct psnap_capture_step *step);
/* Where accesses go: behind `n` of the block, and if `nest` is not NULL a nest may follow them. */
struct psnap_delivery {
    struct psnap_access *block;
    size_t n, capacity;
    struct psnap_nest *nest; /* NULL: accesses alone */
};

/* Executes a hoisted loop of a nest: it is counted, delivered or, where it cannot be at once,
 * opened. False when out of memory. */
bool psnap_nest_run(struct psnap_decoder *decoder, const struct psnap_capture_step *step,
                    struct psnap_delivery *to);
/* An iteration has begun, and its values are computed, of the loop whose step AGAIN is the
 * `again`-th (0: of one that has others in it): where the next ones are like it, they are to be
 * repeated. */
void psnap_nest_look(struct psnap_decoder *decoder, uint32_t again);
/* They are: nested.repeat has how, nested.at is where the nest goes on behind them. */
void psnap_nest_repeat_begin(struct psnap_decoder *decoder);
/* Goes on, as psnap_nest_run does; nested.repeat.is_on is false when they are over. */
bool psnap_nest_repeat(struct psnap_decoder *decoder, struct psnap_delivery *to);

/* A plain piece, straight into the block, which has room. */
static inline bool psnap_decoder_put_plain(struct psnap_decoder *decoder,
                                           const struct psnap_capture_piece *piece,
                                           const uint64_t *words, struct psnap_access *block)
{
    struct psnap_capture_ref *refs = &decoder->tables.refs[piece->first_ref];

    for (uint32_t i = 0; i < piece->refs; i++) {
        if (!psnap_decoder_reach(decoder, &refs[i], words[i]))
            return false;
        block[i] = psnap_decoder_access(decoder, &refs[i], piece->first_ref + i, words[i]);
    }
    return true;
}

#endif
