/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Records of pieces. Those of one piece that follow each other with every address advancing by the
 * stride it advanced by before are one run: found by comparing words, told by its first accesses,
 * strides and length. Where some addresses do not, these stay in the ring, as the run's columns.
 *
 * References that are masked, gathered, copied, filled or wide are written out one access at a
 * time, which may stop in the middle of a copy of gigabytes when the block is full.
 */
#include "capture/decode/piece.h"

enum {
    RUN_MIN = 6,
    RUN_COLUMN_WORDS = 2048, /* of records with columns: so many stay in a first-level cache */
    PATIENCE_MAX = 127
};

/* Records from `at` that are repetitions with constant strides, which are set from the first two;
 * at least 1. */
static uint64_t count_repetitions(const uint64_t *at, const uint64_t *end, size_t words,
                                  int64_t *strides)
{
    const uint64_t *next = at + words;
    uint64_t count = 2;

    for (size_t k = 1; k < words; k++)
        strides[k - 1] = (int64_t)(next[k] - at[k]);
    while ((size_t)(end - next) >= 2 * words && next[words] == *at) {
        uint64_t differs = 0;
        for (size_t k = 1; k < words; k++)
            differs |= (next[words + k] - next[k]) ^ (uint64_t)strides[k - 1];
        if (differs)
            break;
        next += words;
        count++;
    }
    return count;
}

/* Records from `at` with its header, up to what a run with columns may have. */
static uint64_t count_records(const uint64_t *at, const uint64_t *end, size_t words)
{
    const uint64_t left = (uint64_t)(end - at) / words, most = RUN_COLUMN_WORDS / words;
    uint64_t count = 1;

    while (count < left && count < most && at[count * words] == *at)
        count++;
    return count;
}

/* How many of `count` addresses, `pitch` words apart, advance as the first two do. */
static uint64_t count_strides(const uint64_t *word, size_t pitch, uint64_t count)
{
    const uint64_t stride = word[pitch] - word[0];
    uint64_t n = 2;

    while (n < count && word[n * pitch] - word[(n - 1) * pitch] == stride)
        n++;
    return n;
}

/* Whether `count` addresses that lead to `last` by strides, from one in the reference's range, are
 * all in it. */
static bool stays(const struct psnap_capture_ref *ref, uint64_t last, int64_t stride,
                  uint64_t count)
{
    int64_t way;

    return last - ref->low < ref->span && !__builtin_mul_overflow(stride, (int64_t)count, &way);
}

/*
 * The records at the context's place as a run with columns: the references that
 * do not advance by strides have their addresses where they lie. Returns its
 * length, 0 when there is none.
 */
static uint64_t find_columns(struct psnap_context *context, const struct psnap_capture_piece *piece)
{
    const uint64_t *at = context->at;
    const size_t words = piece->words;
    struct psnap_column *columns = context->columns;
    uint64_t count = count_records(at, context->end, words);

    for (uint32_t k = 0; k < piece->refs && count >= RUN_MIN; k++) {
        const uint64_t strides = count_strides(at + 1 + k, words, count);
        columns[k].words = strides < RUN_MIN ? at + 1 + k : NULL;
        count = strides < RUN_MIN ? count : strides;
    }
    for (uint32_t k = 0; k < piece->refs && count >= RUN_MIN; k++) {
        struct psnap_capture_ref *ref = &context->tables.refs[piece->first_ref + k];
        const uint64_t *word = at + 1 + k;
        if (!psnap_context_reach(context, ref, *word))
            return 0;
        if (columns[k].words && !psnap_words_inside(word, words, count, ref->low, ref->span - 1))
            return 0;
        columns[k] = (struct psnap_column){columns[k].words, words, ref->delta};
        if (!columns[k].words &&
            !stays(ref, word[(count - 1) * words], context->maker.strides[k], count))
            return 0;
    }
    return count;
}

/* The same as a run whose references all advance by strides. */
static uint64_t find_strides(struct psnap_context *context, const struct psnap_capture_piece *piece)
{
    const uint64_t *at = context->at;
    const uint64_t count =
        count_repetitions(at, context->end, piece->words, context->maker.strides);
    const uint64_t *last = at + (count - 1) * piece->words;

    if (count < RUN_MIN)
        return 0;
    for (uint32_t k = 0; k < piece->refs; k++) {
        struct psnap_capture_ref *ref = &context->tables.refs[piece->first_ref + k];
        if (!psnap_context_reach(context, ref, at[1 + k]))
            return 0;
        if (!stays(ref, last[1 + k], context->maker.strides[k], count))
            return 0; /* one by one */
    }
    return count;
}

bool psnap_piece_find_run(struct psnap_context *context, struct psnap_capture_piece *piece,
                          struct psnap_delivery *to)
{
    const uint64_t *at = context->at;
    const bool repeats = (size_t)(context->end - at) >= (size_t)RUN_MIN * piece->words &&
                         at[piece->words] == *at && at[2 * piece->words] == *at;
    const struct psnap_column *columns = NULL;
    uint64_t count = repeats ? find_strides(context, piece) : 0;

    if (repeats && !count) {
        count = find_columns(context, piece);
        columns = context->columns;
    }
    count = psnap_context_bound(context, to->n, piece->refs, count);
    if (count < RUN_MIN) {
        psnap_wait_longer(&piece->rest, &piece->patience, PATIENCE_MAX);
        return false;
    }
    piece->patience = 0;
    psnap_piece_put(context, piece, at + 1, context->maker.first); /* in ranges: cannot fail */
    psnap_delivery_put_run(
        to, context,
        (struct psnap_run){.columns = columns,
                           .width = piece->refs,
                           .count = count,
                           .shape = (uint32_t)(piece - context->tables.pieces) + 1});
    context->at += count * piece->words;
    psnap_context_count(context, piece->block, count);
    return true;
}

/* ------------------------------------------------------------- expansions */

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

enum psnap_status psnap_expansion_next(struct psnap_context *context,
                                       struct psnap_expansion *expansion, struct psnap_delivery *to,
                                       struct psnap_error *error)
{
    for (;;) {
        uint32_t index = expansion->piece->first_ref + expansion->ref, offset, size;
        struct psnap_capture_ref *ref = &context->tables.refs[index];
        uint64_t address;
        if (expansion->ref == expansion->piece->refs) {
            expansion->piece = NULL;
            return PSNAP_OK;
        }
        if (expansion->step == 0 && length_of(ref, expansion->words) > LENGTH_MAX)
            return psnap_context_corrupt(error, length_of(ref, expansion->words));
        if (!expand_step(ref, expansion->words, expansion->step, &address, &size, &offset)) {
            expansion->words += psnap_ref_words(ref->op, ref->lanes);
            expansion->ref++;
            expansion->step = 0;
            continue;
        }
        if (to->n == to->capacity)
            return PSNAP_OK;
        ref += offset;
        if (!psnap_context_reach(context, ref, address))
            return psnap_context_no_memory(error);
        to->block[to->n] = psnap_context_access(context, ref, index + offset, address);
        to->block[to->n++].size = (uint8_t)size;
        expansion->step++;
    }
}
