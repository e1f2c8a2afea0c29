/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * References that are masked, gathered, copied, filled or wide: they are written out one
 * access at a time and may stop in the middle of a copy of gigabytes when the block is
 * full.
 */
#include "capture/decode/decode.h"

static inline unsigned lane_of(uint64_t mask, uint64_t n)
{
    while (n--)
        mask &= mask - 1;
    return (unsigned)__builtin_ctzll(mask);
}

/* The active lanes, of those that there are. */
static inline uint64_t mask_of(const struct psnap_capture_ref *ref, uint64_t word)
{
    return word & (~UINT64_C(0) >> (64 - ref->lanes));
}

static inline uint64_t pieces_of(uint64_t bytes)
{
    return (bytes + PSNAP_ACCESS_SIZE_MAX - 1) / PSNAP_ACCESS_SIZE_MAX;
}

/* Bytes and first byte of a contiguous reference. */
static uint64_t span_of(const struct psnap_capture_ref *ref, const uint64_t *words, uint64_t *first)
{
    uint64_t mask;

    *first = words[0];
    switch (ref->op) {
    case PSNAP_REF_MASKED:
        mask = mask_of(ref, words[1]);
        if (!mask)
            return 0;
        *first += (uint64_t)__builtin_ctzll(mask) * ref->wide_bytes;
        return (uint64_t)(64 - __builtin_clzll(mask) - __builtin_ctzll(mask)) * ref->wide_bytes;
    case PSNAP_REF_PACKED:
        return (uint64_t)__builtin_popcountll(mask_of(ref, words[1])) * ref->wide_bytes;
    case PSNAP_REF_FILL:
        return words[1];
    case PSNAP_REF_COPY:
        return words[2];
    default:
        return ref->wide_bytes;
    }
}

/* The step-th access of a reference: false when it has no more. */
static bool expand_step(const struct psnap_capture_ref *ref, const uint64_t *words, uint64_t step,
                        uint64_t *address, uint32_t *size, uint32_t *ref_offset)
{
    uint64_t first, bytes, piece = step;

    *ref_offset = 0;
    if (ref->op == PSNAP_REF_NONE)
        return false;
    if (ref->op == PSNAP_REF_GATHER) {
        uint64_t per_lane = pieces_of(ref->wide_bytes), lane = step / per_lane;
        uint64_t mask = mask_of(ref, words[0]);
        if (lane >= (uint64_t)__builtin_popcountll(mask))
            return false;
        first = words[1 + lane_of(mask, lane)];
        bytes = ref->wide_bytes;
        piece = step % per_lane;
    } else
        bytes = span_of(ref, words, &first);
    if (ref->op == PSNAP_REF_COPY) { /* words: destination, source; load, then store */
        first = step % 2 ? words[0] : words[1];
        *ref_offset = step % 2;
        piece = step / 2;
    }
    if (piece >= pieces_of(bytes))
        return false;
    bytes -= piece * PSNAP_ACCESS_SIZE_MAX;
    *address = first + piece * PSNAP_ACCESS_SIZE_MAX;
    *size = (uint32_t)(bytes < PSNAP_ACCESS_SIZE_MAX ? bytes : PSNAP_ACCESS_SIZE_MAX);
    return true;
}

/* No program has memory for more: what would be there for hours to come is no copy. */
#define LENGTH_MAX (UINT64_C(1) << 47)

static uint64_t length_of(const struct psnap_capture_ref *ref, const uint64_t *words)
{
    return ref->op == PSNAP_REF_COPY ? words[2] : ref->op == PSNAP_REF_FILL ? words[1] : 0;
}

ssize_t psnap_decoder_expand(struct psnap_decoder *decoder, struct psnap_access *block,
                             size_t capacity, struct psnap_error *error)
{
    struct psnap_expansion *open = &decoder->expansion;
    size_t n = 0;

    while (open->piece) {
        uint32_t index = open->piece->first_ref + open->ref, offset, size;
        struct psnap_capture_ref *ref = &decoder->tables.refs[index];
        uint64_t address;
        if (open->ref == open->piece->refs) {
            open->piece = NULL;
            break;
        }
        if (open->step == 0 && length_of(ref, open->words) > LENGTH_MAX)
            return psnap_decoder_corrupt(error, length_of(ref, open->words));
        if (!expand_step(ref, open->words, open->step, &address, &size, &offset)) {
            open->words += psnap_ref_words(ref->op, ref->lanes);
            open->ref++;
            open->step = 0;
            continue;
        }
        if (n == capacity)
            break;
        ref += offset;
        if (!psnap_decoder_reach(decoder, ref, address))
            return psnap_decoder_no_memory(error);
        block[n++] = (struct psnap_access){
            .address = address + ref->delta,
            .ref = index + offset,
            .size = (uint8_t)size,
            .kind = ref->kind,
            .thread = decoder->thread,
        };
        open->step++;
    }
    return (ssize_t)n;
}
