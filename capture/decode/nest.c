/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Records of nests (capture_abi.h) to executions of their hoisted loops. The
 * steps of a nest are the program's own control flow with all that depends on
 * data left out, values what scalar evolution made of its addresses, counts and
 * conditions: going through them from where the record begins to where it stopped
 * finds each execution of a hoisted loop, with its bases, steps and iterations,
 * which descriptor.c then delivers as if it had had a record of its own. Values of a
 * loop are computed anew for each of its iterations, those of outer loops stay.
 *
 * A program that was killed, or a bug, may have written any words: steps lead
 * forward but for AGAIN, of which a record has no more than the program counts
 * accesses before it writes one.
 */
#include "capture/decode/decode.h"

#include <string.h>

static enum psnap_status corrupt(struct psnap_error *error, const char *what)
{
    return psnap_error_set(error, PSNAP_ERROR_CORRUPT,
                           "the program's ring holds a nest of loops that cannot be: %s", what);
}

static inline uint64_t compute(const struct psnap_capture_value *value, const uint64_t *values,
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

/* The values that the step computes, in the present iteration. */
static inline void evaluate(const struct psnap_decoder *decoder, struct psnap_nested *open,
                            const struct psnap_capture_step *step)
{
    const struct psnap_capture_value *value =
        &decoder->tables.values[open->nest->first_value + step->a];
    const uint64_t iteration = open->iterations[step->level];
    uint64_t *values = open->values, *to = values + open->nest->words + step->a;

    for (uint32_t i = 0; i < step->b; i++, value++)
        *to++ = compute(value, values, iteration) & ~UINT64_C(0) >> (64 - value->bits);
}

void psnap_nest_evaluate(struct psnap_decoder *decoder, const struct psnap_capture_step *step)
{
    evaluate(decoder, &decoder->nested, step);
}

/* The values of a loop and of those around it, outermost first. */
static void evaluate_all(const struct psnap_decoder *decoder, struct psnap_nested *open,
                         uint32_t enter)
{
    const struct psnap_capture_step *step = &open->steps[enter];

    if (enter)
        evaluate_all(decoder, open, step->c);
    evaluate(decoder, open, step);
}

enum psnap_status psnap_nest_open(struct psnap_decoder *decoder,
                                  const struct psnap_capture_piece *end, struct psnap_error *error)
{
    struct psnap_capture_nest *nest = &decoder->tables.nests[end->nest - 1];
    const struct psnap_capture_value *value = &decoder->tables.values[nest->first_value];
    struct psnap_nested *open = &decoder->nested;
    const uint64_t *at = decoder->at;

    if (nest->words > (uint64_t)(decoder->end - at))
        return corrupt(error, "it is longer than there is room");
    open->steps = &decoder->tables.steps[nest->first_step];
    if (at[1] && (at[1] >= nest->steps || open->steps[at[1]].op != PSNAP_STEP_AGAIN))
        return corrupt(error, "it goes on where it did not stop");
    open->nest = nest;
    open->at = (uint32_t)at[1];
    open->stop = end->last;
    open->left = PSNAP_NEST_ACCESSES + 1;
    open->repeat.is_on = false;
    memcpy(open->values, at, nest->words * sizeof *at);
    for (uint32_t i = 0; i < nest->constants; i++, value++)
        open->values[nest->words + i] = value->a | (uint64_t)value->b << 32;
    memcpy(open->iterations, at + PSNAP_NEST_HEADER_WORDS, nest->levels * sizeof *at);
    if (open->at)
        evaluate_all(decoder, open, open->steps[open->at].a);
    nest->completed += open->steps[open->stop].op != PSNAP_STEP_AGAIN && !decoder->tries;
    decoder->at += nest->words;
    return PSNAP_OK;
}

/* Whether the step at which the record stops has come, in the iterations in which it did. */
static bool has_stopped(const struct psnap_nested *open)
{
    const uint64_t *to = open->values + PSNAP_NEST_HEADER_WORDS + open->nest->levels;

    for (uint32_t i = 0; i <= open->steps[open->stop].level; i++)
        if (open->iterations[i] != to[i])
            return false;
    return true;
}

/* Blocks without accesses are only counted: how often, all of them and the last time some. */
static void count_alone(struct psnap_decoder *decoder, const struct psnap_capture_hoist *hoist,
                        uint64_t count, uint32_t last)
{
    const struct psnap_capture_piece *piece = &decoder->tables.pieces[hoist->first_piece];

    for (uint32_t i = 0; i < hoist->pieces; i++, piece++)
        if (piece->block != PSNAP_NONE && !decoder->is_skipping)
            psnap_decoder_count(decoder, piece->block, count + (i < last));
}

/* An execution with few accesses into the block, one with many as a run: `*done` when it was. */
static bool deliver(struct psnap_decoder *decoder, const struct psnap_capture_hoist *hoist,
                    uint64_t count, struct psnap_delivery *to, bool *done)
{
    const uint64_t *values = decoder->nested.values;
    const uint64_t accesses = count * hoist->refs;

    *done = false;
    if (hoist->quotients)
        return true;
    if (count >= PSNAP_RUN_ACCESSES_MIN || accesses >= PSNAP_RUN_ACCESSES_MIN) {
        *done = to->nest && psnap_descriptor_run(decoder, hoist, values, count, to->nest);
        return true;
    }
    *done = accesses <= to->capacity - to->n;
    if (!*done)
        return true;
    to->n += accesses;
    return psnap_descriptor_put(decoder, hoist, values, count, to->block + to->n - accesses);
}

bool psnap_nest_run(struct psnap_decoder *decoder, const struct psnap_capture_step *step,
                    struct psnap_delivery *to)
{
    const struct psnap_nested *open = &decoder->nested;
    const struct psnap_capture_hoist *hoist = &decoder->tables.hoists[step->a];
    const uint64_t count = step->b ? open->values[step->b] : 1;
    bool done = false;

    if (!hoist->refs) {
        count_alone(decoder, hoist, count, step->c);
        return true;
    }
    if (!step->c && !decoder->is_bounded && !deliver(decoder, hoist, count, to, &done))
        return false;
    if (done)
        return true;
    decoder->hoisted = (struct psnap_hoisted){
        .hoist = hoist,
        .record = open->values,
        .row = open->values,
        .end = open->values,
        .count = count,
        .last = step->c,
    };
    return true;
}

ssize_t psnap_nest_next(struct psnap_decoder *decoder, struct psnap_access *block, size_t n,
                        size_t capacity, struct psnap_nest *nest, struct psnap_error *error)
{
    struct psnap_nested *open = &decoder->nested;
    struct psnap_delivery to = {block, n, capacity, nest};

    while (!decoder->hoisted.hoist && !psnap_has_nest(nest)) {
        const struct psnap_capture_step *step = &open->steps[open->at];
        if (open->repeat.is_on) {
            if (!psnap_nest_repeat(decoder, &to))
                return psnap_decoder_no_memory(error);
            continue;
        }
        if (open->at == open->stop && has_stopped(open)) {
            open->nest = NULL;
            break;
        }
        switch (step->op) {
        case PSNAP_STEP_RUN:
            open->at++;
            if (!psnap_nest_run(decoder, step, &to))
                return psnap_decoder_no_memory(error);
            break;
        case PSNAP_STEP_BRANCH:
            open->at = open->values[step->a] ? step->b : step->c;
            break;
        case PSNAP_STEP_GOTO:
            open->at = step->a;
            break;
        case PSNAP_STEP_SET:
            open->values[step->a] = open->values[step->b];
            open->at++;
            break;
        case PSNAP_STEP_COMPUTE:
            evaluate(decoder, open, step);
            open->at++;
            break;
        case PSNAP_STEP_ENTER:
            open->iterations[step->level] = 0;
            evaluate(decoder, open, step);
            open->at++;
            psnap_nest_look(decoder, step->again);
            break;
        default: /* PSNAP_STEP_AGAIN */
            if (!open->left--)
                return corrupt(error, "it does not come to where it stopped");
            open->iterations[step->level]++;
            evaluate(decoder, open, &open->steps[step->a]);
            open->at = step->a + 1;
            psnap_nest_look(decoder, step->again);
        }
    }
    return (ssize_t)to.n;
}
