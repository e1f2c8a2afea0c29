/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whether records are iterations of a loop of the program: the same records again and again, word
 * for word but for addresses, which advance. All must differ from the ones before by the same
 * amounts, in words that do nothing but move addresses: addresses of pieces, bases of hoisted
 * loops, and what of a nest's record goes into bases alone, by sums and recurrences of 64 bits.
 * Other words of a nest may advance as well, where decoding it says in how many iterations it does
 * the same (struct psnap_shift): the vectoriser's tests whether arrays overlap, for one.
 */
#include "capture/decode/period.h"

#include <string.h>

static bool is_sum(const struct psnap_table_value *value)
{
    return value->bits == 64 &&
           (value->op == PSNAP_VALUE_ADD || value->op == PSNAP_VALUE_RECURRENCE);
}

/* Marks values that do more than move addresses: `bent`, of all, says so of those known. */
static void bend_values(const struct psnap_capture_tables *tables,
                        const struct psnap_capture_nest *nest, uint8_t *bent)
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
    const struct psnap_capture_step *step = &tables->steps[nest->first_step];
    uint8_t bent[PSNAP_NEST_VALUES_MAX] = {0};

    nest->is_read = true;
    memset(bent, 1, PSNAP_NEST_HEADER_WORDS + 2 * (size_t)nest->levels);
    for (uint32_t i = 0; i < nest->steps; i++, step++) {
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
    bend_values(tables, nest, bent);
    for (uint32_t w = 0; w < nest->words; w++)
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
        *words = context->tables.nests[piece->nest - 1].words;
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
    const uint32_t header = PSNAP_NEST_HEADER_WORDS + 2 * nest->levels;

    if (!nest->is_read)
        read_nest(context, nest);
    for (uint32_t w = 0; w < nest->words; w++)
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

uint64_t psnap_period_find(struct psnap_context *context, struct psnap_period *period,
                           uint32_t words, uint64_t most)
{
    return find_deltas(context, period, words) ? count_iterations(context, period, words, most) : 0;
}

void psnap_period_count(struct psnap_context *context, const struct psnap_period *period,
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

bool psnap_period_add(struct psnap_nest_maker *maker, const struct psnap_program *program,
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
