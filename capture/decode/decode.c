/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Records to nests and accesses. An outer loop of the program in which the loops within it have
 * been hoisted writes the same records in each of its iterations: a period. From a record of a
 * hoisted loop, a nest or a copy on, the words up to the next record like it are taken for an
 * iteration, or those up to the next one with which a period began, which is an iteration of a loop
 * further out. If the words behind them in the chunk are further iterations these have
 * the same accesses, advanced. The first two iterations are decoded, for the accesses and by how
 * much these advance, and within another period sometimes the last; the others are only compared.
 * Executions of blocks in the first are put aside (psnap_tally), and counted as often as there are
 * iterations, or not at all.
 *
 * Whether records are iterations of a loop of the program: the same records again and again, word
 * for word but for addresses, which advance. All must differ from the ones before by the same
 * amounts, in words that do nothing but move addresses: addresses of pieces, bases of hoisted
 * loops, and what of a nest's record goes into bases alone, by sums and recurrences of 64 bits.
 * Other words of a nest may advance as well, where decoding it says in how many iterations it does
 * the same (struct psnap_shift): the vectoriser's tests whether arrays overlap, for one.
 */
#include "capture/decode/decode.h"

#include <stdlib.h>
#include <string.h>

static bool is_sum(const struct psnap_table_value *value)
{
    return value->bits == 64 &&
           (value->op == PSNAP_VALUE_ADD || value->op == PSNAP_VALUE_RECURRENCE);
}

/* Marks values that do more than move addresses: `bent`, of all, says so of those known. */
static void bend_values(const struct psnap_capture_tables *tables,
                        const struct psnap_table_nest *nest, uint8_t *bent)
{
    const struct psnap_table_value *values = &tables->values[nest->first_value];
    bool has_changed = true;

    while (has_changed) {
        has_changed = false;
        for (uint32_t i = nest->values; i-- > nest->constants;) {
            const struct psnap_table_value *value = &values[i];
            const bool has_second = psnap_value_has_second(value);
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
static void read_nest(struct psnap_context *context, struct psnap_capture_nest *nest)
{
    const struct psnap_capture_tables *tables = &context->tables;
    const struct psnap_capture_step *step = &tables->steps[nest->row.first_step];
    uint8_t bent[PSNAP_NEST_VALUES_MAX] = {0};

    nest->is_read = true;
    memset(bent, 1, PSNAP_NEST_HEADER_WORDS + 2 * (size_t)nest->row.levels);
    for (uint32_t i = 0; i < nest->row.steps; i++, step++) {
        if (step->op == PSNAP_STEP_RUN) {
            const struct psnap_capture_hoist *hoist = &tables->hoists[step->a];
            const struct psnap_table_move *move = &tables->moves[hoist->first_move];
            bent[step->b] = 1;
            if (hoist->quotients) { /* they need not advance as what they are of does */
                memset(bent, 1, sizeof bent);
                nest->has_quotients = true;
            }
            for (uint32_t k = 0; k < hoist->refs; k++)
                bent[move[k].step] |= move[k].step != 0;
        } else if (step->op == PSNAP_STEP_BRANCH)
            bent[step->a] = 1;
        else if (step->op == PSNAP_STEP_SET)
            bent[step->a] = bent[step->b] = 1;
    }
    bend_values(tables, &nest->row, bent);
    for (uint32_t w = 0; w < nest->row.words; w++)
        if (!bent[w])
            nest->linear[w / 64] |= UINT64_C(1) << w % 64;
}

/* ------------------------------------------------------------- records */

/* The piece of the record at `at`, of which `left` words are there, NULL when it is none that a
 * period may have, and its words. */
static struct psnap_capture_piece *piece_at(struct psnap_context *context, const uint64_t *at,
                                            uint32_t left, uint32_t *words)
{
    struct psnap_capture_piece *piece = psnap_context_piece(context, *at);

    if (!piece)
        return NULL;
    *words = piece->words;
    if (piece->nest && piece->last == PSNAP_NONE)
        return NULL;
    if (piece->nest)
        *words = context->tables.nests[piece->nest - 1].row.words;
    else if (piece->hoist) {
        const struct psnap_capture_hoist *hoist = &context->tables.hoists[piece->hoist - 1];
        *words = hoist->words;
        if (hoist->has_rows) {
            if (hoist->row_words || left < *words || at[2] < *words || at[2] > left)
                return NULL;
            *words = (uint32_t)at[2];
        }
    }
    return piece;
}

/* Whether the words of a piece's record that `deltas` are not 0 for are addresses. */
static bool piece_moves(const struct psnap_context *context,
                        const struct psnap_capture_piece *piece, const uint64_t *deltas)
{
    const struct psnap_capture_ref *ref = &context->tables.refs[piece->first_ref];

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

static bool hoist_moves(const struct psnap_context *context,
                        const struct psnap_capture_hoist *hoist, const uint64_t *deltas,
                        uint32_t words)
{
    const struct psnap_table_move *move = &context->tables.moves[hoist->first_move];

    if (deltas[1]) /* iterations */
        return false;
    if (hoist->has_rows && (deltas[2] || deltas[3])) /* words, iterations before */
        return false;
    for (uint32_t w = hoist->words; w < words; w++) /* masks */
        if (deltas[w])
            return false;
    for (uint32_t w = 0; hoist->quotients && w < hoist->words; w++)
        if (deltas[w])
            return false;
    for (uint32_t k = 0; k < hoist->refs; k++, move++)
        if (move->step && deltas[move->step])
            return false;
    return true;
}

/* *is_bounded gets true where words are compared. */
static bool nest_moves(struct psnap_context *context, struct psnap_capture_nest *nest,
                       const uint64_t *deltas, bool *is_bounded)
{
    const uint32_t header = PSNAP_NEST_HEADER_WORDS + 2 * nest->row.levels;

    if (!nest->is_read)
        read_nest(context, nest);
    for (uint32_t w = 0; w < nest->row.words; w++)
        if (deltas[w] && !(nest->linear[w / 64] >> w % 64 & 1)) {
            if (w < header || nest->has_quotients)
                return false;
            *is_bounded = true;
        }
    return true;
}

/* Whether the record's words that `deltas` are not 0 for do nothing but move addresses. */
static bool moves(struct psnap_context *context, const struct psnap_capture_piece *piece,
                  const uint64_t *deltas, uint32_t words, bool *is_bounded)
{
    if (deltas[0])
        return false;
    if (piece->nest)
        return nest_moves(context, &context->tables.nests[piece->nest - 1], deltas, is_bounded);
    if (piece->hoist)
        return hoist_moves(context, &context->tables.hoists[piece->hoist - 1], deltas, words);
    return piece_moves(context, piece, deltas);
}

/* Whether the `words` words from the context's place on are records, and those behind them the
 * same ones with other addresses. */
static bool find_deltas(struct psnap_context *context, struct psnap_period *period, uint32_t words)
{
    const uint64_t *at = context->at;

    period->records = 0;
    period->is_bounded = false;
    for (uint32_t i = 0, length = 0; i < words; i += length) {
        const bool is_gap = psnap_is_gap(at[i]);
        const struct psnap_capture_piece *piece =
            is_gap ? NULL : piece_at(context, at + i, words - i, &length);
        if (is_gap)
            length = (uint32_t)(at[i] - PSNAP_GAP);
        if ((!piece && !is_gap) || length > words - i || period->records == PSNAP_PERIOD_RECORDS)
            return false;
        for (uint32_t w = i; w < i + length; w++)
            period->deltas[w] = at[words + w] - at[w];
        if (is_gap ? period->deltas[i] != 0
                   : !moves(context, piece, period->deltas + i, length, &period->is_bounded))
            return false;
        if (piece)
            period->pieces[period->records++] = piece;
    }
    return true;
}

/* Iterations in the chunk, from the context's place on, up to `most`. */
static uint64_t count_iterations(const struct psnap_context *context,
                                 const struct psnap_period *period, uint32_t words, uint64_t most)
{
    const uint64_t *at = context->at;
    const uint64_t there = (uint64_t)(context->end - at) / words;
    uint64_t iterations = 2;

    for (; iterations < there && iterations < most; iterations++) {
        const uint64_t *iteration = at + iterations * words, *before = iteration - words;
        uint64_t differs = 0;
        for (uint32_t w = 0; w < words; w++)
            differs |= (iteration[w] - before[w]) ^ period->deltas[w];
        if (differs)
            break;
    }
    return iterations;
}

/* How many iterations of so many words there are from the context's place on in the chunk, up to
 * `most`; 0: the words are none. */
static uint64_t period_find(struct psnap_context *context, struct psnap_period *period,
                            uint32_t words, uint64_t most)
{
    return find_deltas(context, period, words) ? count_iterations(context, period, words, most) : 0;
}

/* Counts so many iterations: what has been put aside and, unless that is put aside, too, that the
 * loops have ended. */
static void period_count(struct psnap_context *context, const struct psnap_period *period,
                         uint64_t iterations)
{
    for (uint32_t i = 0; i < period->tally.used; i++)
        psnap_context_count(context, period->tally.executions[i].block,
                            iterations * period->tally.executions[i].times);
}

/* ------------------------------------------------------------- accesses as runs */

/* How many accesses, from the first on, are of one loop, and of no reference twice. */
static size_t count_distinct(const struct psnap_program *program,
                             const struct psnap_access *accesses, size_t n)
{
    uint32_t highest = accesses->ref;
    size_t width = 1;

    for (; width < n; width++) {
        const uint32_t ref = accesses[width].ref;
        if (program->refs[ref].loop != program->refs[accesses->ref].loop)
            break;
        for (size_t k = 0; k < width && ref <= highest; k++)
            if (accesses[k].ref == ref)
                return width;
        highest = ref > highest ? ref : highest;
    }
    return width;
}

/* Whether `width` accesses are those before them, advanced as `strides` say. */
static bool is_repetition(const struct psnap_access *accesses, size_t width, const int64_t *strides)
{
    for (size_t k = 0; k < width; k++) {
        const struct psnap_access *before = accesses + k - width;
        if (!psnap_accesses_are_alike(&accesses[k], before) ||
            accesses[k].address - before->address != (uint64_t)strides[k])
            return false;
    }
    return true;
}

/* Adds accesses to a nest, as runs of the references that follow each other, repeated while they
 * advance by strides; false: there is no room. */
static bool period_add(struct psnap_nest_maker *maker, const struct psnap_program *program,
                       const struct psnap_access *accesses, size_t n)
{
    while (n) {
        size_t width = count_distinct(program, accesses, n);
        int64_t strides[PSNAP_NEST_WIDTH];
        struct psnap_run run = {.first = accesses, .strides = strides, .count = 1};
        run.width = width = width < PSNAP_NEST_WIDTH ? width : PSNAP_NEST_WIDTH;
        for (size_t k = 0; k < width; k++)
            strides[k] =
                n >= 2 * width ? (int64_t)(accesses[width + k].address - accesses[k].address) : 0;
        while ((run.count + 1) * width <= n &&
               is_repetition(accesses + run.count * width, width, strides))
            run.count++;
        if (run.count == 1)
            memset(strides, 0, width * sizeof *strides);
        if (!psnap_nest_add_run(maker, &run))
            return false;
        accesses += run.count * width;
        n -= run.count * width;
    }
    return true;
}

/* ---- periods ---- */

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
               period_add(maker, context->program, period->block, (size_t)n) &&
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
        if (words[i] % words[k] == 0 && period_find(context, period, words[k], times) == times)
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
    uint64_t iterations = period_find(context, period, words, UINT64_MAX);
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
    period_count(context, period, iterations);
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
