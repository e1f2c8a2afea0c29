/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Iterations of a nest's loop that do the same as the one before, but for addresses and counts,
 * which advance by as much as they did before: nearly all of them. Going through the
 * steps of one, each value is given the amount by which it advances (0 when it does not
 * change), and conditions bound the number of iterations in which they come out as they do now:
 *
 *     a < b, with b - a getting smaller by r in each: as long as r * i < b - a
 *     a == b: when neither advances; a != b: as long as r * i < b - a, modulo 2^bits
 *
 * where numbers that are compared wrap around in none of these (those with signs: with the sign bit
 * turned they are in the order of those without). Sums and multiples are
 * modulo 2^bits in any case; those of fewer bits than 64 may be used in more bits, so they
 * may not wrap around either. So many iterations are repeated (nest_repeat.c); the last
 * one, and those for which no rule is given, go by steps (nest.c).
 *
 * Only of loops that have no others than innermost ones in them.
 */
#include "capture/decode/decode.h"

#include <string.h>

enum { PATIENCE_MAX = 63, REPEATS_MIN = 2 };

struct analysis {
    struct psnap_decoder *decoder;
    struct psnap_nested *open;
    uint64_t times;   /* so many iterations more are alike */
    uint32_t stopped; /* runs of the iteration before it comes to where the record stops */
};

/* At most so many times. */
static void bound(struct analysis *with, uint64_t times)
{
    if (times < with->times)
        with->times = times;
}

/* As often as `value` stays at most `most`, getting larger by `rate`; it does at first. */
static void bound_growth(struct analysis *with, uint64_t value, uint64_t rate, uint64_t most)
{
    uint64_t growth;

    if (__builtin_mul_overflow(rate, with->times, &growth) || growth > most - value)
        bound(with, (most - value) / rate);
}

/* As often as `value`, of `bits`, does not wrap around when it advances by `delta`. */
static void bound_unsigned(struct analysis *with, uint64_t value, int64_t delta, unsigned bits)
{
    if (delta > 0)
        bound_growth(with, value, (uint64_t)delta, ~UINT64_C(0) >> (64 - bits));
    else if (delta < 0)
        bound_growth(with, 0, -(uint64_t)delta, value);
}

/* As often as a < b (`is_strict`) or a <= b comes out as now; a and b do not wrap around. */
static void bound_order(struct analysis *with, uint64_t a, int64_t by_a, uint64_t b, int64_t by_b,
                        bool is_strict)
{
    const bool is_true = is_strict ? a < b : a <= b;
    const uint64_t least = is_true == is_strict; /* of the distance */
    const uint64_t distance = is_true ? b - a : a - b;
    int64_t rate;

    if (is_true ? __builtin_sub_overflow(by_a, by_b, &rate)
                : __builtin_sub_overflow(by_b, by_a, &rate))
        bound(with, 0);
    else if (rate > 0)
        bound_growth(with, least, (uint64_t)rate, distance);
}

/* As often as a == b comes out as now. */
static void bound_equality(struct analysis *with, uint64_t a, int64_t by_a, uint64_t b,
                           int64_t by_b, unsigned bits)
{
    const uint64_t rate = (uint64_t)by_a - (uint64_t)by_b, mask = ~UINT64_C(0) >> (64 - bits);

    if (!rate)
        return;
    if (a == b)
        bound(with, 0);
    else if ((int64_t)rate > 0)
        bound_growth(with, 1, rate, (b - a) & mask);
    else
        bound_growth(with, 1, -rate, (a - b) & mask);
}

/* As often as the smaller and the larger of a and b stay what they are; `is_strict` as above. */
static void bound_comparison(struct analysis *with, const struct psnap_capture_value *value,
                             uint64_t sign, bool is_strict)
{
    const struct psnap_nested *open = with->open;
    const uint64_t a = open->values[value->a] ^ sign, b = open->values[value->b] ^ sign;
    const int64_t by_a = open->deltas[value->a], by_b = open->deltas[value->b];

    if (!by_a && !by_b)
        return;
    bound_unsigned(with, a, by_a, value->bits);
    bound_unsigned(with, b, by_b, value->bits);
    bound_order(with, a, by_a, b, by_b, is_strict);
}

/* What is modulo 2^bits advances by `delta`. */
static int64_t modular(struct analysis *with, uint64_t delta, uint64_t result, unsigned bits)
{
    const int64_t by = psnap_sign_extend(delta, bits);

    if (bits < 64)
        bound_unsigned(with, result, by, bits);
    return by;
}

/* By how much a / b advances: a multiple of b more, or it stays what it is. a does not wrap around.
 */
static uint64_t advance_quotient(struct analysis *with, const struct psnap_capture_value *value,
                                 int64_t by_a, uint64_t a, uint64_t b)
{
    const uint64_t size = by_a < 0 ? 0 - (uint64_t)by_a : (uint64_t)by_a, rest = a % b;

    bound_unsigned(with, a, by_a, value->bits);
    if (size % b == 0)
        return by_a < 0 ? 0 - size / b : size / b;
    if (by_a > 0)
        bound_growth(with, rest, size, b - 1);
    else
        bound_growth(with, 0, size, rest);
    return 0;
}

/* By how much the value, which is that of this iteration, advances. */
static int64_t advance(struct analysis *with, const struct psnap_capture_value *value,
                       uint64_t result)
{
    const struct psnap_nested *open = with->open;
    const bool has_second = value->op != PSNAP_VALUE_SEXT && value->op != PSNAP_VALUE_TRUNC;
    const uint64_t a = open->values[value->a], b = has_second ? open->values[value->b] : 0;
    const int64_t by_a = open->deltas[value->a], by_b = has_second ? open->deltas[value->b] : 0;
    const uint64_t sign = UINT64_C(1) << (value->bits - 1);
    const bool is_first_less = (a ^ sign) < (b ^ sign); /* of numbers with sign */

    switch (value->op) {
    case PSNAP_VALUE_RECURRENCE:
        if (by_a || by_b)
            break;
        return modular(with, b, result, value->bits);
    case PSNAP_VALUE_ADD:
        return modular(with, (uint64_t)by_a + (uint64_t)by_b, result, value->bits);
    case PSNAP_VALUE_MUL:
        if (by_a && by_b)
            break;
        return modular(with, (uint64_t)by_a * b + a * (uint64_t)by_b, result, value->bits);
    case PSNAP_VALUE_TRUNC:
        return modular(with, (uint64_t)by_a, result, value->bits);
    case PSNAP_VALUE_SEXT:
        bound_unsigned(with, a ^ UINT64_C(1) << (value->b - 1), by_a, value->b);
        return modular(with, (uint64_t)by_a, result, value->bits);
    case PSNAP_VALUE_EQ:
        bound_equality(with, a, by_a, b, by_b, value->bits);
        return 0;
    case PSNAP_VALUE_ULT:
    case PSNAP_VALUE_ULE:
        bound_comparison(with, value, 0, value->op == PSNAP_VALUE_ULT);
        return 0;
    case PSNAP_VALUE_SLT:
    case PSNAP_VALUE_SLE:
        bound_comparison(with, value, sign, value->op == PSNAP_VALUE_SLT);
        return 0;
    case PSNAP_VALUE_UMAX:
    case PSNAP_VALUE_UMIN:
        bound_comparison(with, value, 0, true);
        return (a < b) == (value->op == PSNAP_VALUE_UMIN) ? by_a : by_b;
    case PSNAP_VALUE_SMAX:
    case PSNAP_VALUE_SMIN:
        bound_comparison(with, value, sign, true);
        return is_first_less == (value->op == PSNAP_VALUE_SMIN) ? by_a : by_b;
    case PSNAP_VALUE_UDIV:
        if (by_b || (by_a && !b))
            break;
        return by_a ? modular(with, advance_quotient(with, value, by_a, a, b), result, value->bits)
                    : 0;
    default: /* logic */
        if (!by_a && !by_b)
            return 0;
    }
    with->times = 0;
    return 0;
}

/* The values that a step has computed. */
static void analyse(struct analysis *with, const struct psnap_capture_step *step)
{
    struct psnap_nested *open = with->open;
    const uint32_t first = open->nest->words + step->a;
    const struct psnap_capture_value *value =
        &with->decoder->tables.values[open->nest->first_value + step->a];

    for (uint32_t i = 0; i < step->b && with->times; i++)
        open->deltas[first + i] = advance(with, &value[i], open->values[first + i]);
}

/* A value that the repeated executions use; false: there are too many. */
static bool use(struct psnap_nested *open, uint32_t value)
{
    struct psnap_repeat *repeat = &open->repeat;

    if (!open->deltas[value])
        return true;
    for (uint32_t i = 0; i < repeat->used; i++)
        if (repeat->values[i] == value)
            return true;
    if (repeat->used == PSNAP_REPEAT_VALUES)
        return false;
    repeat->values[repeat->used++] = (uint16_t)value;
    return true;
}

/* An execution of a hoisted loop in each iteration. */
static bool add_run(struct analysis *with, uint32_t at)
{
    const struct psnap_capture_tables *tables = &with->decoder->tables;
    struct psnap_nested *open = with->open;
    const struct psnap_capture_step *step = &open->steps[at];
    const struct psnap_capture_hoist *hoist = &tables->hoists[step->a];
    const struct psnap_capture_move *move = &tables->moves[hoist->first_move];

    if (open->repeat.runs == PSNAP_REPEAT_RUNS || !use(open, step->b))
        return false;
    for (uint32_t i = 0; i < hoist->refs; i++, move++)
        if (!use(open, move->base) || !use(open, move->step))
            return false;
    for (uint32_t i = 0; i < hoist->quotients; i++) {
        const struct psnap_capture_quotient *quotient =
            &tables->quotients[hoist->first_quotient + i];
        if (!use(open, quotient->base) || !use(open, quotient->step) ||
            !use(open, quotient->factor))
            return false;
    }
    open->repeat.run[open->repeat.runs++] = (uint16_t)at;
    return true;
}

/* Goes through the steps of an iteration, from behind its beginning to `again`; false when it is
 * not like the next ones. */
static bool follow(struct analysis *with, uint32_t at, uint32_t again)
{
    struct psnap_nested *open = with->open;

    while (at < again && with->times >= REPEATS_MIN) {
        const struct psnap_capture_step *step = &open->steps[at];
        if (at == open->stop)
            with->stopped = open->repeat.runs;
        switch (step->op) {
        case PSNAP_STEP_RUN:
            if (!add_run(with, at))
                return false;
            at++;
            break;
        case PSNAP_STEP_BRANCH:
            if (open->deltas[step->a])
                return false;
            at = open->values[step->a] ? step->b : step->c;
            break;
        case PSNAP_STEP_GOTO:
            at = step->a;
            break;
        case PSNAP_STEP_SET:
            open->values[step->a] = open->values[step->b];
            open->deltas[step->a] = open->deltas[step->b];
            at++;
            break;
        case PSNAP_STEP_COMPUTE:
            psnap_nest_evaluate(with->decoder, step);
            analyse(with, step);
            at++;
            break;
        default:
            return false;
        }
    }
    return at == again && with->times >= REPEATS_MIN;
}

/* Whether the record stops in this execution of the loop; `*times`: in as many iterations more. */
static bool stops_here(const struct psnap_nested *open, uint32_t again, uint64_t *times)
{
    const uint64_t *to = open->values + PSNAP_NEST_HEADER_WORDS + open->nest->levels;
    const uint32_t level = open->steps[again].level;

    if (open->stop <= open->steps[again].a || open->stop > again)
        return false;
    for (uint32_t i = 0; i < level; i++)
        if (open->iterations[i] != to[i])
            return false;
    if (to[level] < open->iterations[level])
        return false;
    *times = open->steps[open->stop].level == level ? to[level] - open->iterations[level] : 0;
    return true;
}

/* Sets what is to be repeated, how often and where that leads; false when nothing is. `last`: of
 * how many iterations more the last is that in which the record stops, if there is one. */
static bool find(struct analysis *with, uint32_t again, uint64_t last)
{
    struct psnap_nested *open = with->open;
    const struct psnap_capture_step *steps = open->steps;

    bound(with, last);
    open->repeat.used = open->repeat.runs = 0;
    analyse(with, &steps[steps[again].a]);
    if (!follow(with, steps[again].a + 1, again))
        return false;
    if (open->stop == again)
        with->stopped = open->repeat.runs;
    open->repeat.level = steps[again].level;
    open->repeat.left = with->times;
    open->at = again;
    if (with->times == last && with->stopped == open->repeat.runs)
        open->at = open->stop; /* nothing is executed behind it */
    else if (with->times == last)
        open->repeat.left--;
    return true;
}

void psnap_nest_look(struct psnap_decoder *decoder, uint32_t index)
{
    struct psnap_nested *open = &decoder->nested;
    struct psnap_capture_step *again = &open->steps[index];
    struct analysis with = {decoder, open, open->left, UINT32_MAX};
    uint64_t last = UINT64_MAX;

    if (!index || (stops_here(open, index, &last) && last < REPEATS_MIN))
        return;
    if (again->rest) {
        again->rest--;
        return;
    }
    if (open->deltas_of != open->nest)
        memset(open->deltas, 0, (open->nest->words + open->nest->values) * sizeof *open->deltas);
    open->deltas_of = open->nest;
    if (find(&with, index, last)) {
        again->patience = 0;
        psnap_nest_repeat_begin(decoder);
        return;
    }
    psnap_wait_longer(&again->rest, &again->patience, PATIENCE_MAX);
}
