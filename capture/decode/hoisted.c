/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Records of hoisted loops to accesses (capture_abi.h has their layout): the k-th
 * reference of an iteration is base + offset + i * step, or the next word of the
 * iteration's row. Iterations that touch the same references, in most loops all of
 * them, are one run: affine references with their strides, the others as columns
 * of the rows where they lie in the ring. Few iterations, what spans two
 * ranges of the program's memory, and readers that take no runs get them one by one.
 *
 * A program that was killed, or a bug, may have written any words: rows stay in
 * their record, references in their tables.
 *
 * Addresses with quotients: what these add to the address of an
 * iteration, and which iterations are a run nevertheless. With x = start + i * step modulo 2^bits,
 * from some iteration on:
 *
 *   - as long as x does not wrap around and x / divisor stays the same, or step is a multiple
 *     of the divisor, the quotient is linear in i: a run as without it;
 *   - as long as x does not wrap around the quotient grows by step * turns / divisor in `turns`
 *     iterations, which are a multiple of divisor / gcd(step, divisor);
 *   - wrapping around or not, it comes again in 2^bits / gcd(step, 2^bits) iterations.
 *
 * So a run of repetitions of a few iterations each, its turns, is all but the last iterations
 * of a loop that goes on by halves. Which is taken is a matter of speed alone: each is exact.
 */
#include "capture/decode/hoisted.h"

#include "formats/base/divisor.h"

enum { TURNS_WIDTH = 64 }; /* accesses in a repetition: builders take no wider runs as such */

static inline uint64_t mask_of(const struct psnap_table_quotient *quotient)
{
    return ~UINT64_C(0) >> (64 - quotient->bits);
}

/* Its numerator advances by so much, with a sign. */
static inline int64_t step_of(const struct psnap_table_quotient *quotient, const uint64_t *record)
{
    const uint64_t step = quotient->step ? record[quotient->step] : (uint64_t)quotient->stride;

    return psnap_sign_extend(step, quotient->bits);
}

static inline uint64_t numerator(const struct psnap_table_quotient *quotient,
                                 const uint64_t *record, uint64_t i)
{
    const uint64_t base = quotient->base ? record[quotient->base] : 0;
    const uint64_t step = quotient->step ? record[quotient->step] : (uint64_t)quotient->stride;

    return (base + (uint64_t)quotient->offset + i * step) & mask_of(quotient);
}

static inline uint64_t factor_of(const struct psnap_table_quotient *quotient,
                                 const uint64_t *record)
{
    return quotient->factor ? record[quotient->factor] : (uint64_t)quotient->multiplier;
}

static inline uint64_t divide(const struct psnap_table_quotient *quotient, uint64_t x)
{
    const uint64_t divisor = quotient->divisor;

    return divisor & (divisor - 1) ? x / divisor : x >> __builtin_ctzll(divisor);
}

uint64_t psnap_quotients_add(const struct psnap_context *context,
                             const struct psnap_table_move *move, const uint64_t *record,
                             uint64_t i)
{
    const struct psnap_table_quotient *quotient = &context->tables.quotients[move->first_quotient];
    uint64_t sum = 0;

    for (uint32_t k = 0; k < move->quotients; k++, quotient++)
        sum += factor_of(quotient, record) * divide(quotient, numerator(quotient, record, i));
    return sum;
}

/* Of the way from 0 to `most`, the distance of x from the end that `step`, not 0, leads to, in
 * whole steps. */
static uint64_t steps_to_end(uint64_t x, int64_t step, uint64_t most)
{
    return step > 0 ? (most - x) / (uint64_t)step : x / (0 - (uint64_t)step);
}

/* Iterations, with the present one, in which a numerator x does not wrap around; at most `most`. */
static uint64_t count_growing(const struct psnap_table_quotient *quotient, uint64_t x, int64_t step,
                              uint64_t most)
{
    const uint64_t steps = step ? steps_to_end(x, step, mask_of(quotient)) : most;

    return steps < most ? steps + 1 : most;
}

static bool is_multiple(int64_t step, uint64_t divisor)
{
    return (step < 0 ? 0 - (uint64_t)step : (uint64_t)step) % divisor == 0;
}

/* Iterations, with the present one, in which the quotient is linear; at most `most`. */
static uint64_t count_linear(const struct psnap_table_quotient *quotient, uint64_t x, int64_t step,
                             uint64_t most)
{
    uint64_t steps;

    if (is_multiple(step, quotient->divisor))
        return most;
    steps = steps_to_end(x - divide(quotient, x) * quotient->divisor, step, quotient->divisor - 1);
    return steps < most ? steps + 1 : most;
}

/* Iterations after which the numerator is the same, if they are at most `most`; else 0. */
static uint64_t circle_of(const struct psnap_table_quotient *quotient, int64_t step, uint64_t most)
{
    unsigned bits;

    if (!step)
        return 1;
    bits = quotient->bits - (unsigned)__builtin_ctzll((uint64_t)step);
    return bits < 8 && UINT64_C(1) << bits <= most ? UINT64_C(1) << bits : 0;
}

/* Iterations after which the quotient is a fixed amount further if the numerator does not wrap
 * around; `step` is not 0. */
static uint64_t period_of(const struct psnap_table_quotient *quotient, int64_t step)
{
    const uint64_t size = step < 0 ? 0 - (uint64_t)step : (uint64_t)step;

    return quotient->divisor / psnap_common_divisor(size, quotient->divisor);
}

/* How many of the next `count` iterations, from the i-th of the loop on, are a run, whose
 * repetitions are `*turns` of them with `refs` references each: 1 and more, a multiple of that. */
static uint64_t quotients_alike(const struct psnap_context *context,
                                const struct psnap_capture_hoist *hoist, const uint64_t *record,
                                uint64_t i, uint64_t count, uint32_t refs, uint32_t *turns)
{
    const struct psnap_table_quotient *quotient = &context->tables.quotients[hoist->first_quotient];
    const uint64_t most_turns = refs < TURNS_WIDTH ? TURNS_WIDTH / refs : 1;
    uint64_t linear = count, growing = count, all = 1;

    for (uint32_t k = 0; k < hoist->quotients; k++, quotient++) {
        const int64_t step = step_of(quotient, record);
        const uint64_t x = numerator(quotient, record, i),
                       circle = circle_of(quotient, step, most_turns);
        const uint64_t until = count_growing(quotient, x, step, count);
        const uint64_t mine = circle ? circle : period_of(quotient, step);
        const uint64_t flat = count_linear(quotient, x, step, until);
        linear = flat < linear ? flat : linear;
        growing = circle || growing < until ? growing : until;
        if (all <= most_turns && mine <= most_turns)
            all *= mine / psnap_common_divisor(all, mine);
        else
            all = UINT64_MAX;
    }
    *turns = 1;
    if (linear == count || all > most_turns || growing / all < 2 || growing / all * all <= linear)
        return linear;
    *turns = (uint32_t)all;
    return growing / all * all;
}

void psnap_hoist_count(struct psnap_context *context, const struct psnap_capture_hoist *hoist,
                       uint64_t count, uint32_t last, uint64_t times)
{
    const struct psnap_capture_piece *piece = &context->tables.pieces[hoist->first_piece];

    for (uint32_t i = 0; i < hoist->pieces; i++, piece++)
        psnap_context_count(context, piece->block, count + (i < last ? times : 0));
}

/* ---- records ---- */

static inline bool is_executed(const struct psnap_capture_piece *piece, uint64_t mask)
{
    return !piece->guard || (mask >> (piece->guard - 1) & 1);
}

/* Bit n is that of the pieces whose guard is n + 1. */
static inline uint64_t row_mask(const struct psnap_capture_hoist *hoist, const uint64_t *row)
{
    return hoist->guards ? row[0] : 0;
}

/* Words of a row of the first `pieces` pieces, and the references they execute. */
static uint32_t measure(const struct psnap_context *context,
                        const struct psnap_capture_hoist *hoist, uint32_t pieces, uint64_t mask,
                        uint32_t *refs)
{
    const struct psnap_capture_piece *piece = &context->tables.pieces[hoist->first_piece];
    uint32_t words = hoist->guards > 0;

    *refs = 0;
    for (uint32_t i = 0; i < pieces; i++, piece++)
        if (is_executed(piece, mask)) {
            words += piece->row_words;
            *refs += piece->refs;
        }
    return words;
}

uint64_t psnap_hoisted_settle(const struct psnap_context *context,
                              const struct psnap_capture_piece *end, uint64_t *at, uint64_t left)
{
    const struct psnap_capture_hoist *hoist = &context->tables.hoists[end->hoist - 1];
    uint64_t length, words = hoist->words, until;
    uint32_t refs;

    if (!hoist->has_rows)
        return hoist->refs;
    if (left < words || at[2] <= PSNAP_RECORD_WORDS_MAX)
        return 0; /* it is none, or has ended, and the loop went on */
    until = (at[2] - (uint64_t)(uintptr_t)at) % PSNAP_RING_HEADER_BYTES / sizeof *at;
    for (at[1] = 0; words < until && words < left; words += length, at[1]++) {
        length = measure(context, hoist, hoist->pieces, row_mask(hoist, at + words), &refs);
        if (!length)
            break;
    }
    at[2] = words;
    return hoist->refs;
}

enum psnap_status psnap_hoisted_open(struct psnap_context *context, struct psnap_hoisted *open,
                                     const struct psnap_capture_piece *end,
                                     struct psnap_error *error)
{
    const uint64_t *at = context->at;
    const struct psnap_capture_hoist *hoist = &context->tables.hoists[end->hoist - 1];
    uint64_t words = hoist->has_rows ? at[2] : hoist->words;

    if (words < hoist->words || words > (uint64_t)(context->end - at))
        return psnap_loop_corrupt(error, "loop", "it is longer than there is room");
    if (at[1] > PSNAP_ITERATIONS_MAX)
        return psnap_loop_corrupt(error, "loop", "it has more iterations than there is time for");
    *open = (struct psnap_hoisted){
        .hoist = hoist,
        .record = at,
        .row = at + hoist->words,
        .end = at + words,
        .count = at[1],
        .begun = hoist->has_rows ? at[3] : 0,
        .last = end->last == PSNAP_NONE ? 0 : end->last,
    };
    context->at += words;
    return PSNAP_OK;
}

/* Iterations from here on that touch the same references, the partial one alone. Sets what they
 * have in common; 0 when their rows leave the record. */
static uint64_t count_alike(const struct psnap_context *context, struct psnap_hoisted *open)
{
    const struct psnap_capture_hoist *hoist = open->hoist;
    uint64_t left = open->count - open->iteration, room = (uint64_t)(open->end - open->row);
    const uint64_t *row = open->row;
    uint64_t alike = 1;

    if (!hoist->guards && left) {
        open->pieces = hoist->pieces;
        open->mask = 0;
        open->pitch = hoist->row_words;
        open->refs = hoist->refs;
        return !open->pitch || room / open->pitch >= left ? left : 0;
    }
    if (hoist->guards && !room)
        return 0;
    open->pieces = left ? hoist->pieces : open->last;
    open->mask = row_mask(hoist, row);
    open->pitch = measure(context, hoist, open->pieces, open->mask, &open->refs);
    if (open->pitch > room)
        return 0;
    if (!hoist->guards)
        return 1;
    while (alike < left && (alike + 1) * open->pitch <= room &&
           !((row[alike * open->pitch] ^ open->mask) & hoist->mask_refs))
        alike++;
    return alike;
}

/* Of the next iterations, those whose masks have the piece. */
static uint64_t count_masks(const struct psnap_hoisted *open,
                            const struct psnap_capture_piece *piece, uint64_t times)
{
    const unsigned shift = piece->guard - 1u;
    uint64_t count = 0;

    for (uint64_t i = 0; i < times; i++)
        count += open->row[i * open->pitch] >> shift & 1;
    return count;
}

/* Pieces without references may be executed in some of them only. */
static void count_executions(struct psnap_context *context, const struct psnap_hoisted *open,
                             uint64_t times)
{
    const struct psnap_capture_piece *piece = &context->tables.pieces[open->hoist->first_piece];

    for (uint32_t i = 0; i < open->pieces && !context->is_skipping; i++, piece++) {
        const uint64_t count = piece->guard ? count_masks(open, piece, times) : times;
        if (count)
            psnap_context_count(context, piece->block, count);
    }
}

/* The rest of one iteration, as far as the block has room; false when out of memory. */
static bool put_rest(struct psnap_context *context, struct psnap_hoisted *open,
                     struct psnap_delivery *to)
{
    const struct psnap_capture_hoist *hoist = open->hoist;

    for (; open->piece < open->pieces; open->piece++, open->ref = 0) {
        const struct psnap_capture_piece *piece =
            &context->tables.pieces[hoist->first_piece + open->piece];
        if (!is_executed(piece, open->mask))
            continue;
        for (; open->ref < piece->refs; open->ref++) {
            const uint32_t index = piece->first_ref + open->ref;
            if (to->n == to->capacity)
                return true;
            if (!psnap_move_put(
                    context, &context->tables.moves[hoist->first_move + index - hoist->first_ref],
                    open->record, open->begun + open->iteration, &open->word, index,
                    &to->block[to->n++]))
                return false;
        }
    }
    return true;
}

static void advance(struct psnap_hoisted *open, uint64_t iterations)
{
    open->iteration += iterations;
    open->rest -= iterations < open->rest ? iterations : open->rest;
    open->row += iterations * open->pitch;
    open->alike -= iterations;
    open->piece = open->ref = 0;
    open->word = open->row + (open->hoist->guards > 0);
}

/* Whether the words happen to have a stride. */
static bool has_stride(const uint64_t *words, size_t pitch, uint64_t count)
{
    const uint64_t stride = count > 1 ? words[pitch] - words[0] : 0;

    for (uint64_t i = 2; i < count; i++)
        if (words[i * pitch] - words[(i - 1) * pitch] != stride)
            return false;
    return true;
}

/* A column, or a stride, if the words happen to have one (then the column stays empty); false when
 * they do not share a range. */
static inline bool set_column(struct psnap_context *context, struct psnap_capture_ref *ref,
                              const uint64_t *words, size_t pitch, uint64_t count,
                              struct psnap_column *column, int64_t *stride)
{
    *stride = count > 1 ? (int64_t)(words[pitch] - words[0]) : 0;
    if (!psnap_context_reach(context, ref, *words))
        return false;
    if (!has_stride(words, pitch, count))
        *column = (struct psnap_column){words, pitch, ref->delta};
    return psnap_words_inside(words, pitch, count, ref->low, ref->span - 1);
}

/* A run that is being made: its `count` repetitions of `turns` iterations, from an open record. */
struct making {
    struct psnap_context *context;
    const struct psnap_hoisted *open;
    uint64_t count;
    uint32_t turns;
    uint64_t iteration;   /* of the loop, whose accesses come next */
    const uint64_t *word; /* of its row, the next */
    size_t width;
};

/* How reference `index` goes through the repetitions; false when it leaves its range. */
static inline bool set_member(struct making *making, uint32_t index)
{
    struct psnap_context *context = making->context;
    const struct psnap_hoisted *open = making->open;
    const struct psnap_capture_hoist *hoist = open->hoist;
    const struct psnap_table_move *move =
        &context->tables.moves[hoist->first_move + (index - hoist->first_ref)];
    struct psnap_capture_ref *ref = &context->tables.refs[index];
    struct psnap_column *column = &context->columns[making->width];
    int64_t *stride = &context->maker.strides[making->width];
    uint64_t first;

    column->words = NULL;
    if (move->base) {
        first = psnap_move_address(context, move, open->record, making->iteration);
        *stride = (int64_t)(psnap_move_step(move, open->record) * making->turns);
        if (move->quotients && making->count > 1)
            *stride = (int64_t)(psnap_move_address(context, move, open->record,
                                                   making->iteration + making->turns) -
                                first);
        if (!psnap_context_share_range(context, ref, first, *stride, making->count))
            return false;
    } else {
        first = *making->word;
        if (!set_column(context, ref, making->word++, making->turns * (size_t)open->pitch,
                        making->count, column, stride))
            return false;
    }
    context->maker.first[making->width++] = psnap_context_access(context, ref, index, first);
    return true;
}

/* The accesses of an iteration. */
static bool set_turn(struct making *making)
{
    const struct psnap_hoisted *open = making->open;
    const struct psnap_capture_hoist *hoist = open->hoist;
    const struct psnap_capture_piece *piece = &making->context->tables.pieces[hoist->first_piece];

    for (uint32_t i = 0; i < open->pieces; i++, piece++)
        for (uint32_t r = 0; r < piece->refs && is_executed(piece, open->mask); r++)
            if (!set_member(making, piece->first_ref + r))
                return false;
    return true;
}

/* The next `count` iterations, a multiple of `turns`, as a run; false when they cannot be one. */
static bool put_run(struct psnap_context *context, const struct psnap_hoisted *open, uint64_t count,
                    uint32_t turns, struct psnap_delivery *to)
{
    const struct psnap_capture_hoist *hoist = open->hoist;
    struct making making = {
        .context = context, .open = open, .count = count / turns, .turns = turns};
    bool has_columns = false;

    for (uint32_t turn = 0; turn < turns; turn++) {
        const uint64_t *row = open->row + turn * (size_t)open->pitch + (hoist->guards > 0);
        making.iteration = open->begun + open->iteration + turn;
        making.word = row;
        if (!set_turn(&making))
            return false;
        has_columns |= making.word != row;
    }
    psnap_delivery_put_run(
        to, context,
        (struct psnap_run){.columns = has_columns ? context->columns : NULL,
                           .width = making.width,
                           .count = making.count,
                           .shape = open->refs == hoist->refs ? hoist->first_piece + 1 : 0,
                           .turns = turns});
    return true;
}

/* From the beginning of an iteration on as many as are a run; false when they are not worth one:
 * some are put one by one. */
static bool next_run(struct psnap_context *context, struct psnap_hoisted *open,
                     struct psnap_delivery *to)
{
    const struct psnap_capture_hoist *hoist = open->hoist;
    uint64_t times = open->alike;
    uint32_t turns = 1;

    open->rest = open->alike;
    if (!to->nest || !open->may_run)
        return false;
    if (hoist->quotients)
        times = quotients_alike(context, hoist, open->record, open->begun + open->iteration,
                                open->alike, open->refs, &turns);
    if (times * open->refs >= PSNAP_RUN_ACCESSES_MIN && put_run(context, open, times, turns, to)) {
        open->rest = 0;
        advance(open, times);
        return true;
    }
    times = times < PSNAP_RUN_ACCESSES_MIN ? PSNAP_RUN_ACCESSES_MIN : times;
    open->rest = times < open->alike ? times : open->alike;
    return false;
}

/* Begins iterations that have the same references, of which no more are alike than are wanted;
 * false when their rows do not fit. */
static bool begin_alike(struct psnap_context *context, struct psnap_hoisted *open, size_t delivered)
{
    uint64_t whole;

    open->alike = whole = count_alike(context, open);
    if (!open->alike)
        return false;
    if (open->refs)
        whole = psnap_context_bound(context, delivered, open->refs, open->alike);
    open->may_run = whole > 0;
    open->alike = whole ? whole : 1; /* cut short: so that executions count as far */
    count_executions(context, open, open->alike);
    advance(open, open->refs ? 0 : open->alike);
    return true;
}

enum psnap_status psnap_hoisted_next(struct psnap_context *context, struct psnap_hoisted *open,
                                     struct psnap_delivery *to, struct psnap_error *error)
{
    while (open->alike || open->iteration < open->count ||
           (open->iteration == open->count && open->last)) {
        if (psnap_context_is_full(context, to->n))
            return PSNAP_OK;
        if (!open->alike) {
            if (!begin_alike(context, open, to->n))
                return psnap_loop_corrupt(error, "loop", "its rows do not fit");
            continue;
        }
        if (!open->rest && next_run(context, open, to)) {
            if (open->iteration == open->count && !open->last)
                open->hoist = NULL;
            return PSNAP_OK;
        }
        if (!put_rest(context, open, to))
            return psnap_context_no_memory(error);
        if (open->piece < open->pieces)
            return PSNAP_OK; /* the block is full */
        advance(open, 1);
    }
    open->hoist = NULL;
    return PSNAP_OK;
}
