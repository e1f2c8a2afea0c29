/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A reference's accesses are collected until there is a window full of them. The shortest pattern
 * that repeats itself at a constant step, a multiple of 8 bytes, over the most of the window is
 * taken if it does so for at least half of it: then further accesses are only compared, until one
 * is another. What has no such pattern is irregular. Two runs are the same pattern when their
 * offsets from the lowest address and their steps are; runs of a ninth pattern, and what remains of
 * a run behind its last whole repetition, are left out, and counted.
 */
#include "formats/spatter_runs.h"

#include <string.h>

#define ELEMENT 8u

/* How many of the window's first accesses repeat a pattern of `length`. */
static uint32_t repeated(const struct spatter_reference *reference, uint32_t length)
{
    const uint64_t *window = reference->window;
    const uint64_t step = window[length] - window[0];
    uint32_t n = length;

    if (step % ELEMENT)
        return 0;
    while (n < reference->used && window[n] - window[n - length] == step)
        n++;
    return n;
}

static struct spatter_piece *piece_of(struct spatter_reference *reference,
                                      const struct spatter_piece *wanted)
{
    for (uint32_t i = 0; i < reference->piece_count; i++) {
        struct spatter_piece *piece = &reference->pieces[i];
        if (piece->length == wanted->length && piece->step == wanted->step &&
            !memcmp(piece->offsets, wanted->offsets, sizeof piece->offsets))
            return piece;
    }
    if (reference->piece_count == SPATTER_PIECES)
        return NULL;
    reference->pieces[reference->piece_count] = *wanted;
    return &reference->pieces[reference->piece_count++];
}

/* Puts down a run of `count` accesses that began with the pattern `begin`. */
static void put_down(struct spatter_reference *reference, const uint64_t *begin, uint32_t length,
                     uint64_t step, uint64_t count)
{
    struct spatter_piece wanted = {.length = length, .step = step}, *piece;
    const uint64_t repetitions = count / length;
    uint64_t low = UINT64_MAX;

    for (uint32_t i = 0; i < length; i++)
        low = begin[i] < low ? begin[i] : low;
    low -= low % ELEMENT;
    for (uint32_t i = 0; i < length; i++)
        wanted.offsets[i] = (begin[i] - low) / ELEMENT;
    piece = piece_of(reference, &wanted);
    if (!piece) {
        reference->left_out += count;
        return;
    }
    reference->left_out += count % length;
    piece->runs++;
    piece->accesses += repetitions * length;
    piece->longest = repetitions > piece->longest ? repetitions : piece->longest;
}

static void put_irregular(struct spatter_reference *reference)
{
    if (!reference->irregular_used) {
        memcpy(reference->irregular, reference->window, sizeof reference->window);
        reference->irregular_used = reference->used;
        reference->low = reference->high = reference->window[0];
    }
    for (uint32_t i = 0; i < reference->used; i++) {
        const uint64_t address = reference->window[i];
        reference->low = address < reference->low ? address : reference->low;
        reference->high = address > reference->high ? address : reference->high;
    }
    reference->irregular_accesses += reference->used;
    reference->used = 0;
}

/* Looks at a window, and takes at least one access from it. */
static void look(struct spatter_reference *reference)
{
    uint64_t last[SPATTER_PATTERN];
    uint32_t most = 0, length = 0;

    for (uint32_t p = 1; p <= SPATTER_PATTERN && 2 * p <= reference->used; p++) {
        const uint32_t n = repeated(reference, p);
        if (n > most) {
            most = n;
            length = p;
        }
        if (most == reference->used)
            break;
    }
    if (most < 2 * length || 2 * most < reference->used || !length) {
        put_irregular(reference);
        return;
    }
    memcpy(reference->begin, reference->window, length * sizeof reference->begin[0]);
    reference->step = reference->window[length] - reference->window[0];
    if (most < reference->used) {
        put_down(reference, reference->begin, length, reference->step, most);
        reference->used -= most;
        memmove(reference->window, reference->window + most,
                reference->used * sizeof reference->window[0]);
        return;
    }
    reference->length = length;
    reference->count = most;
    for (uint32_t i = most - length; i < most; i++) /* access i of the run is in place i % length */
        last[i % length] = reference->window[i];
    memcpy(reference->window, last, length * sizeof last[0]);
    reference->used = 0;
}

void spatter_take(struct spatter_reference *reference, uint64_t address)
{
    reference->accesses++;
    if (reference->length) {
        uint64_t *before = &reference->window[reference->count % reference->length];
        if (address - *before == reference->step) {
            *before = address;
            reference->count++;
            return;
        }
        put_down(reference, reference->begin, reference->length, reference->step, reference->count);
        reference->length = 0;
    }
    reference->window[reference->used++] = address;
    if (reference->used == SPATTER_WINDOW)
        look(reference);
}

void spatter_end(struct spatter_reference *reference)
{
    if (reference->length)
        put_down(reference, reference->begin, reference->length, reference->step, reference->count);
    reference->length = 0;
    while (reference->used) {
        look(reference);
        if (reference->length)
            put_down(reference, reference->begin, reference->length, reference->step,
                     reference->count);
        reference->length = 0;
    }
}
