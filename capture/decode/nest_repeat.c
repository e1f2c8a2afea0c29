/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Iterations of a nest's loop that are alike (nest_alike.c has found them), delivered without going
 * through its steps: in each the same hoisted loops are executed, their bases, steps and counts
 * advanced by what they advance by. Where they have few accesses, in always the same number,
 * an iteration is a list of accesses, and many of them are written at once, each access in all
 * iterations before the next one. Hoisted loops that touch nothing are counted for all
 * iterations at the beginning: an unbounded reader (collector.h) takes all or none of them.
 */
#include "capture/decode/decode.h"

static const struct psnap_capture_hoist *hoist_of(const struct psnap_decoder *decoder,
                                                  const struct psnap_capture_step *step)
{
    return &decoder->tables.hoists[step->a];
}

static uint64_t count_of(const struct psnap_nested *open, const struct psnap_capture_step *step)
{
    return step->b ? open->values[step->b] : 1;
}

/* The accesses of an execution of a hoisted loop, behind those of the iteration that are there;
 * false when they are too many, or not the same number in each. */
static bool flatten(struct psnap_decoder *decoder, const struct psnap_capture_step *step)
{
    struct psnap_nested *open = &decoder->nested;
    struct psnap_repeat *repeat = &open->repeat;
    const struct psnap_capture_hoist *hoist = hoist_of(decoder, step);
    const struct psnap_capture_move *moves = &decoder->tables.moves[hoist->first_move];
    const uint64_t count = count_of(open, step);

    if (step->c || hoist->quotients || open->deltas[step->b] || count >= PSNAP_RUN_ACCESSES_MIN ||
        count * hoist->refs >= PSNAP_RUN_ACCESSES_MIN ||
        repeat->width + count * hoist->refs > PSNAP_REPEAT_WIDTH)
        return false;
    for (uint64_t i = 0; i < count; i++)
        for (uint32_t k = 0; k < hoist->refs; k++) {
            const struct psnap_capture_move *move = &moves[k];
            const uint64_t step_bytes =
                move->step ? open->values[move->step] : (uint64_t)move->stride;
            const int64_t by_step = move->step ? open->deltas[move->step] : 0;
            repeat->flat[repeat->width++] = (struct psnap_flat){
                .ref = hoist->first_ref + k,
                .address = open->values[move->base] + (uint64_t)move->offset + i * step_bytes,
                .delta = (uint64_t)open->deltas[move->base] + i * (uint64_t)by_step,
            };
        }
    return true;
}

void psnap_nest_repeat_begin(struct psnap_decoder *decoder)
{
    struct psnap_nested *open = &decoder->nested;
    struct psnap_repeat *repeat = &open->repeat;
    uint32_t runs = 0;

    repeat->at = repeat->width = 0;
    repeat->is_on = true;
    repeat->is_flat = !decoder->is_bounded;
    repeat->is_closed = true;
    for (uint32_t i = 0; i < repeat->runs; i++) {
        const struct psnap_capture_step *step = &open->steps[repeat->run[i]];
        const struct psnap_capture_hoist *hoist = hoist_of(decoder, step);
        if (!decoder->is_bounded && !hoist->refs && !step->c && !open->deltas[step->b]) {
            psnap_descriptor_count(decoder, hoist, (repeat->left + 1) * count_of(open, step));
            continue;
        }
        repeat->run[runs++] = repeat->run[i];
        repeat->is_flat = repeat->is_flat && flatten(decoder, step);
    }
    repeat->runs = runs;
}

/* Goes on by so many iterations. */
static void advance(struct psnap_nested *open, uint64_t iterations)
{
    struct psnap_repeat *repeat = &open->repeat;

    repeat->left -= iterations;
    open->left -= (uint32_t)iterations;
    open->iterations[repeat->level] += iterations;
    for (uint32_t i = 0; i < repeat->used; i++)
        open->values[repeat->values[i]] += iterations * (uint64_t)open->deltas[repeat->values[i]];
    for (uint32_t k = 0; k < repeat->width; k++)
        repeat->flat[k].address += iterations * repeat->flat[k].delta;
}

/* Each access of `count` iterations; false when one of them leaves the range that it begins in, or,
 * of a single iteration, when out of memory. */
static bool put_flat(struct psnap_decoder *decoder, const struct psnap_repeat *repeat,
                     uint64_t count, struct psnap_access *block)
{
    for (uint32_t k = 0; k < repeat->width; k++) {
        const struct psnap_flat *flat = &repeat->flat[k];
        struct psnap_capture_ref *ref = &decoder->tables.refs[flat->ref];
        uint64_t address = flat->address;
        if (!psnap_decoder_share_range(decoder, ref, flat->address, (int64_t)flat->delta, count))
            return false;
        for (uint64_t i = 0; i < count; i++, address += flat->delta)
            block[i * repeat->width + k] = psnap_decoder_access(decoder, ref, flat->ref, address);
    }
    return true;
}

/* Iterations from the beginning of the present one on, as many as the block has room for. */
static bool put_iterations(struct psnap_decoder *decoder, struct psnap_delivery *to)
{
    struct psnap_nested *open = &decoder->nested;
    struct psnap_repeat *repeat = &open->repeat;
    const uint64_t room = repeat->width ? (to->capacity - to->n) / repeat->width : UINT64_MAX;
    uint64_t times = room > repeat->left ? repeat->left + 1 : room;

    while (!put_flat(decoder, repeat, times, to->block + to->n)) {
        if (times == 1)
            return false;
        times = 1; /* ranges are found in the order of accesses */
    }
    for (uint32_t i = 0; i < repeat->runs; i++) {
        const struct psnap_capture_step *step = &open->steps[repeat->run[i]];
        psnap_descriptor_count(decoder, hoist_of(decoder, step), times * count_of(open, step));
    }
    to->n += times * repeat->width;
    if (times > repeat->left) { /* the last one is over, too */
        advance(open, repeat->left);
        repeat->at = repeat->runs;
    } else
        advance(open, times);
    return true;
}

/* How the k-th reference of a hoisted loop goes through all iterations that are left, as access `a`
 * of a nest; false when it leaves its range, or when out of memory. */
static bool put_member(struct psnap_decoder *decoder, const struct psnap_capture_hoist *hoist,
                       uint32_t k, uint64_t count, uint32_t a)
{
    const struct psnap_nested *open = &decoder->nested;
    const struct psnap_capture_move *move = &decoder->tables.moves[hoist->first_move + k];
    struct psnap_capture_ref *ref = &decoder->tables.refs[hoist->first_ref + k];
    int64_t *strides = &decoder->nest_maker.strides[a * 2];
    const uint64_t first = open->values[move->base] + (uint64_t)move->offset;
    uint64_t last;

    strides[0] = open->deltas[move->base];
    strides[1] = move->step ? (int64_t)open->values[move->step] : move->stride;
    last = first + (count - 1) * (uint64_t)strides[1];
    if ((move->step && open->deltas[move->step]) ||
        !psnap_decoder_share_range(decoder, ref, first, strides[1], count) ||
        !psnap_ref_holds(ref, first, strides[0], open->repeat.left + 1) ||
        !psnap_ref_holds(ref, last, strides[0], open->repeat.left + 1))
        return false;
    decoder->nest_maker.first[a] = psnap_decoder_access(decoder, ref, hoist->first_ref + k, first);
    return true;
}

/* All iterations that are left as a nest of two levels; false when they cannot be. */
static bool put_nest(struct psnap_decoder *decoder, struct psnap_nest *nest)
{
    struct psnap_nested *open = &decoder->nested;
    struct psnap_repeat *repeat = &open->repeat;
    struct psnap_nest_loop *loops = decoder->nest_maker.loops;
    uint32_t width = 0;

    for (uint32_t i = 0; i < repeat->runs; i++) {
        const struct psnap_capture_step *step = &open->steps[repeat->run[i]];
        const struct psnap_capture_hoist *hoist = hoist_of(decoder, step);
        const uint64_t count = count_of(open, step);
        if (step->c || hoist->quotients || open->deltas[step->b] || !count || !hoist->refs ||
            width + hoist->refs > PSNAP_NEST_WIDTH)
            return false;
        loops[1 + i] = (struct psnap_nest_loop){.count = (int64_t)count,
                                                .begin = (uint16_t)width,
                                                .width = (uint16_t)hoist->refs,
                                                .shape = hoist->first_piece + 1};
        for (uint32_t k = 0; k < hoist->refs; k++)
            if (!put_member(decoder, hoist, k, count, width++))
                return false;
    }
    loops[0] = (struct psnap_nest_loop){
        .count = (int64_t)repeat->left + 1, .inside = repeat->runs, .width = (uint16_t)width};
    for (uint32_t i = 0; i < repeat->runs; i++) {
        const struct psnap_capture_step *step = &open->steps[repeat->run[i]];
        psnap_descriptor_count(decoder, hoist_of(decoder, step),
                               (uint64_t)loops[0].count * count_of(open, step));
    }
    advance(open, repeat->left);
    repeat->at = repeat->runs;
    *nest = (struct psnap_nest){.loops = loops,
                                .first = decoder->nest_maker.first,
                                .strides = decoder->nest_maker.strides,
                                .loop_count = 1 + repeat->runs,
                                .levels = 2};
    return true;
}

bool psnap_nest_repeat(struct psnap_decoder *decoder, struct psnap_delivery *to)
{
    struct psnap_nested *open = &decoder->nested;
    struct psnap_repeat *repeat = &open->repeat;

    if (repeat->at == repeat->runs) {
        if (!repeat->runs) /* nothing is left of any of them but to be counted, which is done */
            advance(open, repeat->left);
        repeat->is_on = repeat->left > 0;
        if (!repeat->is_on)
            return true;
        advance(open, 1);
        repeat->at = 0;
    }
    if (repeat->at == 0 && to->nest && repeat->is_closed && repeat->left + 1 >= PSNAP_PERIODS_MIN &&
        !decoder->is_bounded) {
        if (put_nest(decoder, to->nest))
            return true;
        repeat->is_closed = false;
    }
    if (repeat->at == 0 && repeat->is_flat && !decoder->is_bounded &&
        to->capacity - to->n >= repeat->width)
        return put_iterations(decoder, to);
    return psnap_nest_run(decoder, &open->steps[repeat->run[repeat->at++]], to);
}
