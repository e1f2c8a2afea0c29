/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The values of a nest, and by how much each advances from one iteration of a loop to the next (0
 * when it does not change) in how many iterations:
 *
 *     a < b, with b - a getting smaller by r in each: as long as r * i < b - a
 *     a == b: when neither advances; a != b: as long as r * i < b - a, modulo 2^bits
 *
 * where numbers that are compared wrap around in none of these (those with signs: with the sign bit
 * turned they are in the order of those without). Sums and multiples are modulo 2^bits in any case;
 * those of fewer bits than 64 may be used in more bits, so they may not wrap around either.
 */
#include "capture/decode/value.h"

static inline uint64_t compute(const struct psnap_table_value *value, const uint64_t *values,
                               uint64_t iteration)
{
    const uint64_t a = values[value->a], b = value->op == PSNAP_VALUE_SEXT ? 0 : values[value->b];

    switch (value->op) {
    case PSNAP_VALUE_RECURRENCE:
        return a + iteration * b;
    case PSNAP_VALUE_ADD:
        return a + b;
    case PSNAP_VALUE_MUL:
        return a * b;
    case PSNAP_VALUE_UDIV:
        return b ? a / b : 0;
    case PSNAP_VALUE_TRUNC:
        return a;
    case PSNAP_VALUE_SEXT:
        return (uint64_t)psnap_sign_extend(a, value->b);
    case PSNAP_VALUE_UMAX:
        return a > b ? a : b;
    case PSNAP_VALUE_UMIN:
        return a < b ? a : b;
    case PSNAP_VALUE_SMAX:
        return psnap_sign_extend(a, value->bits) > psnap_sign_extend(b, value->bits) ? a : b;
    case PSNAP_VALUE_SMIN:
        return psnap_sign_extend(a, value->bits) < psnap_sign_extend(b, value->bits) ? a : b;
    case PSNAP_VALUE_EQ:
        return a == b;
    case PSNAP_VALUE_ULT:
        return a < b;
    case PSNAP_VALUE_ULE:
        return a <= b;
    case PSNAP_VALUE_SLT:
        return psnap_sign_extend(a, value->bits) < psnap_sign_extend(b, value->bits);
    case PSNAP_VALUE_SLE:
        return psnap_sign_extend(a, value->bits) <= psnap_sign_extend(b, value->bits);
    case PSNAP_VALUE_AND:
        return a & b;
    case PSNAP_VALUE_OR:
        return a | b;
    default: /* PSNAP_VALUE_XOR */
        return a ^ b;
    }
}

void psnap_values_compute(const struct psnap_table_value *value, uint32_t count, uint64_t iteration,
                          uint64_t *values, uint32_t first)
{
    uint64_t *to = values + first;

    for (const struct psnap_table_value *end = value + count; value < end; value++)
        *to++ = compute(value, values, iteration) & ~UINT64_C(0) >> (64 - value->bits);
}

/* At most so many times. */
static void bound(uint64_t *times, uint64_t most)
{
    if (most < *times)
        *times = most;
}

/* As often as `value` stays at most `most`, getting larger by `rate`; it does at first. */
static void bound_growth(uint64_t *times, uint64_t value, uint64_t rate, uint64_t most)
{
    uint64_t growth;

    if (__builtin_mul_overflow(rate, *times, &growth) || growth > most - value)
        bound(times, (most - value) / rate);
}

void psnap_value_bound(uint64_t value, int64_t delta, unsigned bits, uint64_t *times)
{
    if (delta > 0)
        bound_growth(times, value, (uint64_t)delta, ~UINT64_C(0) >> (64 - bits));
    else if (delta < 0)
        bound_growth(times, 0, -(uint64_t)delta, value);
}

/* As often as a < b (`is_strict`) or a <= b comes out as now; a and b do not wrap around. */
static void bound_order(uint64_t *times, uint64_t a, int64_t by_a, uint64_t b, int64_t by_b,
                        bool is_strict)
{
    const bool is_true = is_strict ? a < b : a <= b;
    const uint64_t least = is_true == is_strict; /* of the distance */
    const uint64_t distance = is_true ? b - a : a - b;
    int64_t rate;

    if (is_true ? __builtin_sub_overflow(by_a, by_b, &rate)
                : __builtin_sub_overflow(by_b, by_a, &rate))
        bound(times, 0);
    else if (rate > 0)
        bound_growth(times, least, (uint64_t)rate, distance);
}

/* As often as a == b comes out as now. */
static void bound_equality(uint64_t *times, uint64_t a, int64_t by_a, uint64_t b, int64_t by_b,
                           unsigned bits)
{
    const uint64_t rate = (uint64_t)by_a - (uint64_t)by_b, mask = ~UINT64_C(0) >> (64 - bits);

    if (!rate)
        return;
    if (a == b)
        bound(times, 0);
    else if ((int64_t)rate > 0)
        bound_growth(times, 1, rate, (b - a) & mask);
    else
        bound_growth(times, 1, -rate, (a - b) & mask);
}

/* As often as the smaller and the larger of a and b stay what they are; `is_strict` as above. */
static void bound_comparison(uint64_t *times, uint64_t a, int64_t by_a, uint64_t b, int64_t by_b,
                             unsigned bits, bool is_strict)
{
    if (!by_a && !by_b)
        return;
    psnap_value_bound(a, by_a, bits, times);
    psnap_value_bound(b, by_b, bits, times);
    bound_order(times, a, by_a, b, by_b, is_strict);
}

/* What is modulo 2^bits advances by `delta`. */
static int64_t modular(uint64_t *times, uint64_t delta, uint64_t result, unsigned bits)
{
    const int64_t by = psnap_sign_extend(delta, bits);

    if (bits < 64)
        psnap_value_bound(result, by, bits, times);
    return by;
}

/* By how much a / b advances: a multiple of b more, or it stays what it is. a does not wrap around.
 */
static uint64_t advance_quotient(uint64_t *times, const struct psnap_table_value *value,
                                 int64_t by_a, uint64_t a, uint64_t b)
{
    const uint64_t size = by_a < 0 ? 0 - (uint64_t)by_a : (uint64_t)by_a, rest = a % b;

    psnap_value_bound(a, by_a, value->bits, times);
    if (size % b == 0)
        return by_a < 0 ? 0 - size / b : size / b;
    if (by_a > 0)
        bound_growth(times, rest, size, b - 1);
    else
        bound_growth(times, 0, size, rest);
    return 0;
}

int64_t psnap_value_advance(const struct psnap_table_value *value, const uint64_t *values,
                            const int64_t *deltas, bool is_own, uint64_t result, uint64_t *times)
{
    const bool has_second = psnap_value_has_second(value);
    const uint64_t a = values[value->a], b = has_second ? values[value->b] : 0;
    const int64_t by_a = deltas[value->a], by_b = has_second ? deltas[value->b] : 0;
    const uint64_t sign = UINT64_C(1) << (value->bits - 1);
    const bool is_first_less = (a ^ sign) < (b ^ sign); /* of numbers with sign */

    switch (value->op) {
    case PSNAP_VALUE_RECURRENCE:
        if (by_b || (is_own && by_a))
            break;
        return modular(times, is_own ? b : (uint64_t)by_a, result, value->bits);
    case PSNAP_VALUE_ADD:
        return modular(times, (uint64_t)by_a + (uint64_t)by_b, result, value->bits);
    case PSNAP_VALUE_MUL:
        if (by_a && by_b)
            break;
        return modular(times, (uint64_t)by_a * b + a * (uint64_t)by_b, result, value->bits);
    case PSNAP_VALUE_TRUNC:
        return modular(times, (uint64_t)by_a, result, value->bits);
    case PSNAP_VALUE_SEXT:
        psnap_value_bound(a ^ UINT64_C(1) << (value->b - 1), by_a, value->b, times);
        return modular(times, (uint64_t)by_a, result, value->bits);
    case PSNAP_VALUE_EQ:
        bound_equality(times, a, by_a, b, by_b, value->bits);
        return 0;
    case PSNAP_VALUE_ULT:
    case PSNAP_VALUE_ULE:
        bound_comparison(times, a, by_a, b, by_b, value->bits, value->op == PSNAP_VALUE_ULT);
        return 0;
    case PSNAP_VALUE_SLT:
    case PSNAP_VALUE_SLE:
        bound_comparison(times, a ^ sign, by_a, b ^ sign, by_b, value->bits,
                         value->op == PSNAP_VALUE_SLT);
        return 0;
    case PSNAP_VALUE_UMAX:
    case PSNAP_VALUE_UMIN:
        bound_comparison(times, a, by_a, b, by_b, value->bits, true);
        return (a < b) == (value->op == PSNAP_VALUE_UMIN) ? by_a : by_b;
    case PSNAP_VALUE_SMAX:
    case PSNAP_VALUE_SMIN:
        bound_comparison(times, a ^ sign, by_a, b ^ sign, by_b, value->bits, true);
        return is_first_less == (value->op == PSNAP_VALUE_SMIN) ? by_a : by_b;
    case PSNAP_VALUE_UDIV:
        if (by_b || (by_a && !b))
            break;
        return by_a
                   ? modular(times, advance_quotient(times, value, by_a, a, b), result, value->bits)
                   : 0;
    default: /* logic */
        if (!by_a && !by_b)
            return 0;
    }
    *times = 0;
    return 0;
}
