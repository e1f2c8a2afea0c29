/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Records to nests and accesses. An outer loop of the program in which the loops within it have
 * been hoisted writes the same records in each of its iterations: a period. From a record of a
 * hoisted loop, a nest or a copy on, the words up to the next record like it are taken for an
 * iteration, or those up to the next one with which a period began, which is an iteration of a loop
 * further out. If the words behind them in the chunk are further iterations (period.c) these have
 * the same accesses, advanced. The first two iterations are decoded, for the accesses and by how
 * much these advance, and within another period sometimes the last; the others are only compared.
 * Executions of blocks in the first are put aside (psnap_tally), and counted as often as there are
 * iterations, or not at all.
 */
#include "capture/decode/decode.h"

#include <stdlib.h>
#include <string.h>

enum {
    ITERATIONS_MIN = 4, /* fewer are not worth a nest, ... */
    LONG = 256,         /* ... but for those of so many words, of which one less is */
    PATIENCE_MAX = 63
};

void psnap_decoder_release(struct psnap_decoder *decoder)
{
    for (unsigned i = 0; i < PSNAP_PERIOD_DEPTH; i++)
        free(decoder->periods[i]);
}

/* How many iterations of so many words are worth a nest. */
static uint32_t least_iterations(uint32_t words)
{
    return words < LONG ? ITERATIONS_MIN : ITERATIONS_MIN - 1;
}

/* The place of a decoder, and what it is in. */
struct place {
    const uint64_t *at, *end;
    struct psnap_tally *tally;
    struct psnap_shift *shift;
    uint32_t tries;
};

static struct place leave(const struct psnap_decoder *decoder)
{
    const struct psnap_context *context = &decoder->context;

    return (struct place){context->at, context->end, context->tally, context->shift,
                          decoder->tries};
}

static void come_back(struct psnap_decoder *decoder, const struct place *place)
{
    struct psnap_context *context = &decoder->context;

    context->at = place->at;
    context->end = place->end;
    context->tally = place->tally;
    context->shift = place->shift;
    context->is_stuck = context->is_cut = false;
    decoder->tries = place->tries;
    decoder->records.expansion.piece = NULL;
    decoder->records.hoisted.hoist = NULL;
    decoder->records.nested.nest = NULL;
}

/* Decodes the iteration of a period that begins so many words behind the decoder's place, in which
 * there may be periods, too, and puts the decoder back; false when it does not fit into a nest. */
static bool decode_iteration(struct psnap_decoder *decoder, struct psnap_period *period,
                             uint64_t begin, uint32_t words, struct psnap_shift *shift,
                             struct psnap_nest_maker *maker, struct psnap_error *error)
{
    struct psnap_context *context = &decoder->context;
    const struct place place = leave(decoder);
    bool fits = true;

    context->at += begin;
    context->end = context->at + words;
    context->tally = &period->tally;
    context->shift = shift;
    decoder->tries++;
    psnap_nest_begin(maker, 0);
    while (fits && !psnap_decoder_is_done(decoder)) {
        struct psnap_nest nest;
        const ssize_t n = psnap_decode(decoder, period->block, PSNAP_BLOCK_ACCESSES, &nest, error);
        fits = n >= 0 && !context->is_stuck && !context->is_cut &&
               psnap_period_add(maker, context->program, period->block, (size_t)n) &&
               (!nest.loop_count || psnap_nest_add(maker, &nest));
    }
    come_back(decoder, &place);
    return fits;
}

/* Decodes the first two of `shift->times + 1` iterations. Where they compare what advances, there
 * are fewer in the end. */
static bool decode_iterations(struct psnap_decoder *decoder, struct psnap_period *period,
                              uint32_t words, struct psnap_shift *shift, struct psnap_error *error)
{
    struct psnap_shift *const all = period->is_bounded ? shift : shift->outer;
    bool is_done;

    period->tally.is_short = false;
    period->tally.used = 0;
    period->tally.counts = true;
    is_done = decode_iteration(decoder, period, 0, words, all, &period->iterations[0], error);
    period->tally.counts = false;
    return is_done && shift->times + 1 >= least_iterations(words) &&
           decode_iteration(decoder, period, words, words, NULL, &period->iterations[1], error) &&
           !period->tally.is_short;
}

/* Decodes the last iteration of a period within another one, to lower the outer period's `times`:
 * what nests compare comes out the same in all iterations of the two periods if it does so at the
 * corners, as it is linear along each. */
static bool decode_last(struct psnap_decoder *decoder, struct psnap_period *period, uint32_t words,
                        const struct psnap_shift *shift, struct psnap_error *error)
{
    return !shift->outer || !period->is_bounded ||
           decode_iteration(decoder, period, shift->times * words, words, shift->outer,
                            &period->iterations[1], error);
}

/* Whether iterations of so many words may begin here, with a record like this one. */
static bool may_begin(const struct psnap_context *context, uint32_t words)
{
    const uint64_t *at = context->at;

    return words && (uint64_t)(context->end - at) >= (uint64_t)words * least_iterations(words) &&
           at[words] == *at && at[2 * words] == *at;
}

enum { CANDIDATES = 1 + 2 * PSNAP_PIECE_PERIODS };

/* Adds a candidate to lengths of iterations, of which there are *n, the longest first. */
static void add_words(const struct psnap_context *context, uint32_t words[CANDIDATES], unsigned *n,
                      uint32_t candidate)
{
    unsigned i = 0;

    if (candidate > PSNAP_PERIOD_WORDS || !may_begin(context, candidate))
        return;
    while (i < *n && words[i] > candidate)
        i++;
    if (i < *n && words[i] == candidate)
        return;
    memmove(words + i + 1, words + i, (*n - i) * sizeof *words);
    words[i] = candidate;
    ++*n;
}

/* Lengths in words of iterations that may begin at `place`, here, the longest first: those of
 * periods before, since each of these began, and since the last such record. Returns how many. */
static unsigned find_words(const struct psnap_context *context,
                           const struct psnap_capture_piece *piece, uint32_t place,
                           uint32_t words[CANDIDATES])
{
    unsigned n = 0;

    for (unsigned i = 0; i < PSNAP_PIECE_PERIODS; i++) {
        add_words(context, words, &n, piece->periods[i].words);
        add_words(context, words, &n, place - piece->periods[i].began);
    }
    add_words(context, words, &n, place - piece->seen);
    return n;
}

/* Iterations of so many words came again at `place`: the next time they may do so from the first
 * one on. */
static void keep_period(struct psnap_capture_piece *piece, uint32_t words, uint32_t place)
{
    unsigned i = 0;

    while (i < PSNAP_PIECE_PERIODS - 1 && piece->periods[i].words != words)
        i++;
    memmove(piece->periods + 1, piece->periods, i * sizeof *piece->periods);
    piece->periods[0].words = words;
    piece->periods[0].began = place;
}

/* Whether an iteration of words[i] words is several of a shorter candidate's, of `n` in all. */
static bool is_several(struct psnap_context *context, struct psnap_period *period,
                       const uint32_t *words, unsigned i, unsigned n)
{
    for (unsigned k = i + 1; k < n; k++) {
        const uint32_t times = 2 * (words[i] / words[k]);
        if (words[i] % words[k] == 0 &&
            psnap_period_find(context, period, words[k], times) == times)
            return true;
    }
    return false;
}

/* The period that is to be tried next; NULL: there are enough, or out of memory. */
static struct psnap_period *next_period(struct psnap_decoder *decoder)
{
    struct psnap_period **period;

    if (decoder->tries == PSNAP_PERIOD_DEPTH)
        return NULL;
    period = &decoder->periods[decoder->tries];
    if (!*period)
        *period = calloc(1, sizeof **period);
    return *period;
}

/* Whether the second iteration has as many of all that is in it as the first one: records that do
 * not differ in counts may be decoded in different parts. */
static bool has_same_counts(const struct psnap_nest_maker *maker)
{
    for (uint32_t i = 1; i < maker->loop_count; i++)
        if (maker->loops[i].count_steps[0])
            return false;
    return true;
}

/* Whether the iterations advance alike along all shifts further out. */
static bool advances_alike(const struct psnap_shift *shift, uint32_t words, uint64_t iterations)
{
    const uint64_t *const at = shift->begin;

    while ((shift = shift->outer)) {
        const uint64_t *deltas = shift->deltas + (at - shift->begin);
        if (memcmp(deltas, deltas + words, (iterations - 1) * words * sizeof *deltas) != 0)
            return false;
    }
    return true;
}

/* Iterations of so many words, from `place`, here, on, as a nest; false when they are none. */
static bool try_words(struct psnap_decoder *decoder, struct psnap_period *period,
                      struct psnap_capture_piece *piece, uint32_t place, uint32_t words,
                      struct psnap_nest *nest, struct psnap_error *error)
{
    struct psnap_context *context = &decoder->context;
    struct psnap_nest_maker *maker = &period->iterations[0];
    uint64_t iterations = psnap_period_find(context, period, words, UINT64_MAX);
    struct psnap_shift shift = {context->at, period->deltas, iterations - 1, context->shift};

    if (iterations)
        keep_period(piece, words, place);
    if (iterations < least_iterations(words) || !advances_alike(&shift, words, iterations) ||
        !decode_iterations(decoder, period, words, &shift, error) ||
        !psnap_nest_advance(maker, &period->iterations[1]) || !has_same_counts(maker))
        return false;
    iterations = 1 + shift.times;
    maker->loops[0].count = (int64_t)iterations;
    *nest = psnap_nest_made(maker);
    /* Only behind all that comes before it: memory gets its place when it is first touched. */
    if (!nest->loop_count || !psnap_context_holds(context, nest) ||
        !decode_last(decoder, period, words, &shift, error)) {
        nest->loop_count = 0;
        return false;
    }
    psnap_period_count(context, period, iterations);
    context->at += iterations * words;
    period->found++;
    return true;
}

/* Looks, at a record of `piece` that begins at the decoder's place, for records from it on that
 * come again and again, which then are the nest; false when there are none. */
static bool find_period(struct psnap_decoder *decoder, struct psnap_capture_piece *piece,
                        struct psnap_nest *nest, struct psnap_error *error)
{
    struct psnap_context *context = &decoder->context;
    struct psnap_period *period;
    const uint32_t place = (uint32_t)((uintptr_t)context->at / sizeof *context->at);
    uint32_t words[CANDIDATES];
    unsigned n;

    if (!nest || context->is_part || context->is_bounded || context->is_skipping ||
        decoder->tries == PSNAP_PERIOD_DEPTH ||
        (piece->hoist && context->tables.hoists[piece->hoist - 1].row_words))
        return false;
    n = find_words(context, piece, place, words);
    piece->seen = place;
    if (!n)
        return false;
    if (piece->rest) {
        piece->rest--;
        return false;
    }
    period = next_period(decoder);
    for (unsigned i = 0; i < n && period; i++)
        if (!is_several(context, period, words, i, n) &&
            try_words(decoder, period, piece, place, words[i], nest, error)) {
            piece->seen = place; /* and not where iterations were decoded */
            piece->patience = 0;
            return true;
        }
    piece->seen = place;
    psnap_wait_longer(&piece->rest, &piece->patience, PATIENCE_MAX);
    return false;
}

ssize_t psnap_decode(struct psnap_decoder *decoder, struct psnap_access *block, size_t capacity,
                     struct psnap_nest *nest, struct psnap_error *error)
{
    struct psnap_delivery to = {block, 0, capacity, nest};

    if (nest)
        nest->loop_count = 0;
    for (;;) {
        struct psnap_capture_piece *loop;
        enum psnap_status status =
            psnap_records_next(&decoder->context, &decoder->records, &to, &loop, error);
        if (status)
            return status;
        if (!loop || find_period(decoder, loop, nest, error))
            return (ssize_t)to.n;
        status = psnap_records_open(&decoder->context, &decoder->records, loop, error);
        if (status)
            return status;
    }
}
