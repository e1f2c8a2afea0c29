/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Accesses as runs of the references that follow each other, repeated while they advance by
 * strides; and whether the accesses of a nest stay in the ranges that their references are in.
 */
#include "capture/decode/period.h"

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
        if (!psnap_nest_add_run(maker, &run))
            return false;
        accesses += run.count * width;
        n -= run.count * width;
    }
    return true;
}

bool psnap_period_stays(const struct psnap_nest *nest, const struct psnap_decoder *decoder)
{
    uint64_t counts[PSNAP_NEST_LEVELS];
    uint32_t ends[PSNAP_NEST_LEVELS], depth = 0;

    for (uint32_t i = 0; i < nest->loop_count; i++) {
        const struct psnap_nest_loop *loop = &nest->loops[i];
        while (depth && i >= ends[depth - 1])
            depth--;
        counts[depth] = (uint64_t)loop->count;
        ends[depth] = i + 1 + loop->inside;
        for (uint32_t l = 0; l < depth; l++)
            if (loop->count_steps[l])
                return false;
        for (uint32_t a = loop->begin; !loop->inside && a < (uint32_t)loop->begin + loop->width;
             a++) {
            const struct psnap_capture_ref *ref = &decoder->tables.refs[nest->first[a].ref];
            const uint64_t first = nest->first[a].address - ref->delta - ref->low;
            uint64_t room_down = first, room_up = ref->span - 1 - first;
            if (first >= ref->span)
                return false;
            for (uint32_t l = 0; l <= depth; l++) {
                const int64_t stride = nest->strides[(size_t)a * nest->levels + l];
                uint64_t *room = stride < 0 ? &room_down : &room_up, way;
                if (__builtin_mul_overflow(stride < 0 ? 0 - (uint64_t)stride : (uint64_t)stride,
                                           counts[l] - 1, &way) ||
                    way > *room)
                    return false;
                *room -= way;
            }
        }
        depth += loop->inside > 0;
    }
    return true;
}
