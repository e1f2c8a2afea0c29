/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Records that come again and again: an outer loop of the program, in which the loops within it
 * have been hoisted, writes the same records in each of its iterations, word for word but for
 * addresses, which advance. From a record of a hoisted loop or a nest on, as many words as to the
 * next one like it are taken for an iteration; if all iterations that follow it in the chunk differ
 * from the one before by the same amounts, in words that do nothing but move addresses, they
 * deliver the same accesses, advanced. The first two iterations are decoded to see what that is and
 * by how much it advances; the others are only compared.
 *
 * Words that do nothing but move addresses: addresses of pieces, bases of hoisted loops, and what
 * of a nest's record goes into bases alone, by sums and recurrences of 64 bits. What is counted
 * while two iterations are decoded is put aside, and counted as often as there are iterations, or
 * not at all.
 */
#include "capture/decode/period.h"

#include <stdlib.h>
#include <string.h>

enum { PATIENCE_MAX = 63 };

void psnap_periods_free(struct psnap_decoder *decoder)
{
    for (unsigned i = 0; i < PSNAP_PERIOD_DEPTH; i++)
        free(decoder->periods[i]);
}

void psnap_period_count(struct psnap_period *period, uint32_t block, uint64_t times)
{
    if (!period->counts)
        return;
    if (period->count_count == PSNAP_PERIOD_COUNTS) {
        period->is_short = true;
        return;
    }
    period->executions[period->count_count].block = block;
    period->executions[period->count_count++].times = times;
}

/* ------------------------------------------------------------- words */

static bool is_sum(const struct psnap_capture_value *value)
{
    return value->bits == 64 &&
           (value->op == PSNAP_VALUE_ADD || value->op == PSNAP_VALUE_RECURRENCE);
}

/* Marks values that do more than move addresses: `bent`, of all, says so of those known. */
static void bend_values(const struct psnap_capture_tables *tables,
                        const struct psnap_capture_nest *nest, uint8_t *bent)
{
    const struct psnap_capture_value *values = &tables->values[nest->first_value];
    bool has_changed = true;

    while (has_changed) {
        has_changed = false;
        for (uint32_t i = nest->values; i-- > nest->constants;) {
            const struct psnap_capture_value *value = &values[i];
            const bool has_second = value->op != PSNAP_VALUE_SEXT && value->op != PSNAP_VALUE_TRUNC;
            const bool bends = bent[nest->words + i] || !is_sum(value);
            uint8_t *a = &bent[value->a], *b = has_second ? &bent[value->b] : a;
            const bool bends_b = bends || value->op == PSNAP_VALUE_RECURRENCE;
            has_changed |= (bends && !*a) || (bends_b && has_second && !*b);
            *a |= bends;
            *b |= has_second && bends_b;
        }
    }
}

/* Finds the words of a nest's record that do nothing but move addresses. */
static void read_nest(struct psnap_decoder *decoder, struct psnap_capture_nest *nest)
{
    const struct psnap_capture_tables *tables = &decoder->tables;
    const struct psnap_capture_step *step = &tables->steps[nest->first_step];
    uint8_t bent[PSNAP_NEST_VALUES_MAX] = {0};

    nest->is_read = true;
    memset(bent, 1, PSNAP_NEST_HEADER_WORDS + 2 * (size_t)nest->levels);
    for (uint32_t i = 0; i < nest->steps; i++, step++) {
        if (step->op == PSNAP_STEP_RUN) {
            const struct psnap_capture_hoist *hoist = &tables->hoists[step->a];
            const struct psnap_capture_move *move = &tables->moves[hoist->first_move];
            bent[step->b] = 1;
            if (hoist->quotients) /* they need not advance as what they are of does */
                memset(bent, 1, sizeof bent);
            for (uint32_t k = 0; k < hoist->refs; k++)
                bent[move[k].step] |= move[k].step != 0;
        } else if (step->op == PSNAP_STEP_BRANCH)
            bent[step->a] = 1;
        else if (step->op == PSNAP_STEP_SET)
            bent[step->a] = bent[step->b] = 1;
    }
    bend_values(tables, nest, bent);
    for (uint32_t w = 0; w < nest->words; w++)
        if (!bent[w])
            nest->linear[w / 64] |= UINT64_C(1) << w % 64;
}

/* ------------------------------------------------------------- records */

/* The piece of the record at `at`, NULL when it is none that a period may have, and its words. */
static struct psnap_capture_piece *piece_at(struct psnap_decoder *decoder, const uint64_t *at,
                                            uint32_t *words)
{
    const struct psnap_capture_module *module = decoder->module;
    struct psnap_capture_piece *piece;

    if (!module || *at - module->pieces >= module->piece_count)
        return NULL;
    piece = &decoder->tables.pieces[module->first_piece + (*at - module->pieces)];
    *words = piece->words;
    if (piece->nest)
        *words = decoder->tables.nests[piece->nest - 1].words;
    else if (piece->hoist) {
        const struct psnap_capture_hoist *hoist = &decoder->tables.hoists[piece->hoist - 1];
        *words = hoist->words;
        if (hoist->has_rows)
            return NULL;
    }
    return piece;
}

/* Whether the words of a piece's record that `deltas` are not 0 for are addresses. */
static bool piece_moves(const struct psnap_decoder *decoder,
                        const struct psnap_capture_piece *piece, const uint64_t *deltas)
{
    const struct psnap_capture_ref *ref = &decoder->tables.refs[piece->first_ref];

    deltas++;
    for (uint32_t i = 0; i < piece->refs; i++, ref++) {
        const uint32_t words = psnap_ref_words(ref->op, ref->lanes);
        for (uint32_t w = 0; w < words; w++)
            if (deltas[w] && (ref->op == PSNAP_REF_GATHER ? w == 0
                              : ref->op == PSNAP_REF_COPY ? w > 1
                                                          : w > 0))
                return false;
        deltas += words;
    }
    return true;
}

static bool hoist_moves(const struct psnap_decoder *decoder,
                        const struct psnap_capture_hoist *hoist, const uint64_t *deltas)
{
    const struct psnap_capture_move *move = &decoder->tables.moves[hoist->first_move];

    if (deltas[1]) /* iterations */
        return false;
    for (uint32_t w = 0; hoist->quotients && w < hoist->words; w++)
        if (deltas[w])
            return false;
    for (uint32_t k = 0; k < hoist->refs; k++, move++)
        if (move->step && deltas[move->step])
            return false;
    return true;
}

static bool nest_moves(struct psnap_decoder *decoder, struct psnap_capture_nest *nest,
                       const uint64_t *deltas)
{
    if (!nest->is_read)
        read_nest(decoder, nest);
    for (uint32_t w = 0; w < nest->words; w++)
        if (deltas[w] && !(nest->linear[w / 64] >> w % 64 & 1))
            return false;
    return true;
}

/* Whether the record's words that `deltas` are not 0 for do nothing but move addresses. */
static bool moves(struct psnap_decoder *decoder, const struct psnap_capture_piece *piece,
                  const uint64_t *deltas)
{
    if (deltas[0])
        return false;
    if (piece->nest)
        return nest_moves(decoder, &decoder->tables.nests[piece->nest - 1], deltas);
    if (piece->hoist)
        return hoist_moves(decoder, &decoder->tables.hoists[piece->hoist - 1], deltas);
    return piece_moves(decoder, piece, deltas);
}

/* Whether the `words` words from the decoder's place on are records, and those behind them the
 * same ones with other addresses. */
static bool find_deltas(struct psnap_decoder *decoder, struct psnap_period *period, uint32_t words)
{
    const uint64_t *at = decoder->at;

    period->records = 0;
    for (uint32_t i = 0, length = 0; i < words; i += length) {
        const bool is_gap = at[i] - PSNAP_GAP - 1 < PSNAP_RECORD_WORDS_MAX;
        const struct psnap_capture_piece *piece =
            is_gap ? NULL : piece_at(decoder, at + i, &length);
        if (is_gap)
            length = (uint32_t)(at[i] - PSNAP_GAP);
        if ((!piece && !is_gap) || length > words - i || period->records == PSNAP_PERIOD_RECORDS)
            return false;
        for (uint32_t w = i; w < i + length; w++)
            period->deltas[w] = at[words + w] - at[w];
        if (is_gap ? period->deltas[i] != 0 : !moves(decoder, piece, period->deltas + i))
            return false;
        if (piece)
            period->pieces[period->records++] = piece;
    }
    return true;
}

/* Rounds in the chunk, from the decoder's place on. */
static uint64_t count_iterations(const struct psnap_decoder *decoder,
                                 const struct psnap_period *period, uint32_t words)
{
    const uint64_t *at = decoder->at;
    const uint64_t most = (uint64_t)(decoder->end - at) / words;
    uint64_t iterations = 2;

    for (; iterations < most; iterations++) {
        const uint64_t *iteration = at + iterations * words, *before = iteration - words;
        uint64_t differs = 0;
        for (uint32_t w = 0; w < words; w++)
            differs |= (iteration[w] - before[w]) ^ period->deltas[w];
        if (differs)
            break;
    }
    return iterations;
}

/* ------------------------------------------------------------- iterations */

/* Decodes an iteration of a period at the decoder's place; false when it does not fit into a nest.
 */
static bool decode_iteration(struct psnap_decoder *decoder, struct psnap_period *period,
                             uint32_t words, struct psnap_nest_maker *maker,
                             struct psnap_error *error)
{
    decoder->end = decoder->at + words;
    psnap_nest_begin(maker, 0);
    while (!psnap_decoder_is_done(decoder)) {
        struct psnap_nest nest;
        const ssize_t n = psnap_decode(decoder, period->block, PSNAP_BLOCK_ACCESSES, &nest, error);
        if (n < 0 || decoder->is_stuck || decoder->is_cut ||
            !psnap_period_add(maker, decoder->program, period->block, (size_t)n) ||
            (nest.loop_count && !psnap_nest_add(maker, &nest)))
            return false;
    }
    return true;
}

/* Decodes two iterations, in which there may be periods, too, and puts the decoder back. */
static bool decode_iterations(struct psnap_decoder *decoder, struct psnap_period *period,
                              uint32_t words, struct psnap_error *error)
{
    const uint64_t *const at = decoder->at, *const end = decoder->end;
    bool is_done;

    decoder->tries++;
    period->counts = true;
    period->is_short = false;
    period->count_count = 0;
    is_done = decode_iteration(decoder, period, words, &period->iterations[0], error);
    period->counts = false;
    is_done = is_done && decode_iteration(decoder, period, words, &period->iterations[1], error);
    decoder->tries--;
    decoder->expansion.piece = NULL;
    decoder->hoisted.hoist = NULL;
    decoder->nested.nest = NULL;
    decoder->is_stuck = decoder->is_cut = false;
    decoder->at = at;
    decoder->end = end;
    return is_done && !period->is_short;
}

/* So many iterations are counted: all that is in them, or, within a period that is tried, which
 * counts its records itself, the blocks. */
static void count(struct psnap_decoder *decoder, const struct psnap_period *period,
                  uint64_t iterations)
{
    struct psnap_capture_tables *tables = &decoder->tables;

    for (uint32_t i = 0; i < period->count_count; i++)
        psnap_decoder_count(decoder, period->executions[i].block,
                            iterations * period->executions[i].times);
    for (uint32_t i = 0; i < period->records && !decoder->tries; i++) {
        const struct psnap_capture_piece *piece = period->pieces[i];
        if (piece->nest) {
            struct psnap_capture_nest *nest = &tables->nests[piece->nest - 1];
            if (tables->steps[nest->first_step + piece->last].op != PSNAP_STEP_AGAIN)
                nest->completed += iterations;
        } else if (piece->hoist && piece->last != PSNAP_NONE)
            tables->hoists[piece->hoist - 1].completed += iterations;
    }
}

/* Whether iterations of so many words may begin here, with a record like this one. */
static bool may_begin(const struct psnap_decoder *decoder, uint32_t words)
{
    const uint64_t *at = decoder->at;

    return words && (uint64_t)(decoder->end - at) >= (uint64_t)words * PSNAP_PERIODS_MIN &&
           at[words] == *at && at[2 * words] == *at;
}

/* Words of an iteration that begins here, if one may: as many as the last time that there was one,
 * or as there are since the last such record. */
static uint32_t find_words(struct psnap_decoder *decoder, struct psnap_capture_piece *piece)
{
    const uint32_t place = (uint32_t)((uintptr_t)decoder->at / sizeof *decoder->at);
    const uint32_t since = place - piece->seen;

    piece->seen = place;
    if (may_begin(decoder, piece->period))
        return piece->period;
    return since <= PSNAP_PERIOD_WORDS && may_begin(decoder, since) ? since : 0;
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

/* Iterations of so many words, from here on, as a nest; false when they are none. */
static bool try_words(struct psnap_decoder *decoder, struct psnap_period *period, uint32_t words,
                      struct psnap_nest *nest, struct psnap_error *error)
{
    struct psnap_nest_maker *maker = &period->iterations[0];
    uint64_t iterations;

    if (!find_deltas(decoder, period, words))
        return false;
    iterations = count_iterations(decoder, period, words);
    if (iterations < PSNAP_PERIODS_MIN || !decode_iterations(decoder, period, words, error) ||
        !psnap_nest_advance(maker, &period->iterations[1]))
        return false;
    maker->loops[0].count = (int64_t)iterations;
    *nest = psnap_nest_made(maker);
    if (!nest->loop_count || !psnap_period_stays(nest, decoder)) {
        nest->loop_count = 0;
        return false;
    }
    count(decoder, period, iterations);
    decoder->at += iterations * words;
    period->found++;
    return true;
}

bool psnap_decoder_find_period(struct psnap_decoder *decoder, struct psnap_capture_piece *piece,
                               struct psnap_nest *nest, struct psnap_error *error)
{
    struct psnap_period *period;
    uint32_t words;

    if (decoder->is_part || decoder->is_bounded || decoder->is_skipping ||
        (piece->hoist && decoder->tables.hoists[piece->hoist - 1].has_rows))
        return false;
    words = find_words(decoder, piece);
    if (!words)
        return false;
    if (piece->rest) {
        piece->rest--;
        return false;
    }
    period = next_period(decoder);
    if (period && try_words(decoder, period, words, nest, error)) {
        piece->period = words;
        piece->patience = 0;
        return true;
    }
    psnap_wait_longer(&piece->rest, &piece->patience, PATIENCE_MAX);
    return false;
}
