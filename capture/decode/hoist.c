/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Executions of hoisted loops, and addresses with quotients: what these add to the address of an
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
#include "capture/decode/hoist.h"

#include "formats/base/divisor.h"

enum { TURNS_WIDTH = 64 }; /* accesses in a repetition: builders take no wider runs as such */

static inline uint64_t mask_of(const struct psnap_capture_quotient *quotient)
{
    return ~UINT64_C(0) >> (64 - quotient->bits);
}

/* Its numerator advances by so much, with a sign. */
static inline int64_t step_of(const struct psnap_capture_quotient *quotient, const uint64_t *record)
{
    const uint64_t step = quotient->step ? record[quotient->step] : (uint64_t)quotient->stride;

    return psnap_sign_extend(step, quotient->bits);
}

static inline uint64_t numerator(const struct psnap_capture_quotient *quotient,
                                 const uint64_t *record, uint64_t i)
{
    const uint64_t base = quotient->base ? record[quotient->base] : 0;
    const uint64_t step = quotient->step ? record[quotient->step] : (uint64_t)quotient->stride;

    return (base + (uint64_t)quotient->offset + i * step) & mask_of(quotient);
}

static inline uint64_t factor_of(const struct psnap_capture_quotient *quotient,
                                 const uint64_t *record)
{
    return quotient->factor ? record[quotient->factor] : quotient->multiplier;
}

static inline uint64_t divide(const struct psnap_capture_quotient *quotient, uint64_t x)
{
    return quotient->is_shift ? x >> quotient->shift : x / quotient->divisor;
}

uint64_t psnap_quotients_add(const struct psnap_context *context,
                             const struct psnap_table_move *move, const uint64_t *record,
                             uint64_t i)
{
    const struct psnap_capture_quotient *quotient =
        &context->tables.quotients[move->first_quotient];
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
static uint64_t count_growing(const struct psnap_capture_quotient *quotient, uint64_t x,
                              int64_t step, uint64_t most)
{
    const uint64_t steps = step ? steps_to_end(x, step, mask_of(quotient)) : most;

    return steps < most ? steps + 1 : most;
}

static bool is_multiple(int64_t step, uint64_t divisor)
{
    return (step < 0 ? 0 - (uint64_t)step : (uint64_t)step) % divisor == 0;
}

/* Iterations, with the present one, in which the quotient is linear; at most `most`. */
static uint64_t count_linear(const struct psnap_capture_quotient *quotient, uint64_t x,
                             int64_t step, uint64_t most)
{
    uint64_t steps;

    if (is_multiple(step, quotient->divisor))
        return most;
    steps = steps_to_end(x - divide(quotient, x) * quotient->divisor, step, quotient->divisor - 1);
    return steps < most ? steps + 1 : most;
}

/* Iterations after which the numerator is the same, if they are at most `most`; else 0. */
static uint64_t circle_of(const struct psnap_capture_quotient *quotient, int64_t step,
                          uint64_t most)
{
    unsigned bits;

    if (!step)
        return 1;
    bits = quotient->bits - (unsigned)__builtin_ctzll((uint64_t)step);
    return bits < 8 && UINT64_C(1) << bits <= most ? UINT64_C(1) << bits : 0;
}

/* Iterations after which the quotient is a fixed amount further if the numerator does not wrap
 * around; `step` is not 0. */
static uint64_t period_of(const struct psnap_capture_quotient *quotient, int64_t step)
{
    const uint64_t size = step < 0 ? 0 - (uint64_t)step : (uint64_t)step;

    return quotient->divisor / psnap_common_divisor(size, quotient->divisor);
}

uint64_t psnap_quotients_alike(const struct psnap_context *context,
                               const struct psnap_capture_hoist *hoist, const uint64_t *record,
                               uint64_t i, uint64_t count, uint32_t refs, uint32_t *turns)
{
    const struct psnap_capture_quotient *quotient =
        &context->tables.quotients[hoist->first_quotient];
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

bool psnap_hoist_run(struct psnap_context *context, const struct psnap_capture_hoist *hoist,
                     const uint64_t *values, uint64_t count, struct psnap_delivery *to)
{
    const struct psnap_table_move *move = &context->tables.moves[hoist->first_move];
    struct psnap_capture_ref *ref = &context->tables.refs[hoist->first_ref];

    for (uint32_t k = 0; k < hoist->refs; k++, move++, ref++) {
        const uint64_t first = psnap_move_address(context, move, values, 0);
        const int64_t stride = (int64_t)psnap_move_step(move, values);
        if (!psnap_context_share_range(context, ref, first, stride, count))
            return false;
        context->maker.strides[k] = stride;
        context->maker.first[k] = psnap_context_access(context, ref, hoist->first_ref + k, first);
    }
    psnap_delivery_put_run(
        to, context,
        (struct psnap_run){.width = hoist->refs, .count = count, .shape = hoist->first_piece + 1});
    psnap_hoist_count(context, hoist, count, 0, 0);
    return true;
}
