/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Records of one piece that follow each other with every address advancing by
 * the stride it advanced by before are one run: found by comparing words, told
 * by its first accesses, strides and length. Where some addresses do not, these
 * stay in the ring, as the run's columns.
 */
#include "capture/decode/decode.h"

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
 * The records at the decoder's place as a run with columns: the references that
 * do not advance by strides have their addresses where they lie. Returns its
 * length, 0 when there is none.
 */
static uint64_t find_columns(struct psnap_decoder *decoder, const struct psnap_capture_piece *piece)
{
    const uint64_t *at = decoder->at;
    const size_t words = piece->words;
    struct psnap_column *columns = decoder->run_columns;
    uint64_t count = count_records(at, decoder->end, words);

    for (uint32_t k = 0; k < piece->refs && count >= RUN_MIN; k++) {
        const uint64_t strides = count_strides(at + 1 + k, words, count);
        columns[k].words = strides < RUN_MIN ? at + 1 + k : NULL;
        count = strides < RUN_MIN ? count : strides;
    }
    for (uint32_t k = 0; k < piece->refs && count >= RUN_MIN; k++) {
        struct psnap_capture_ref *ref = &decoder->tables.refs[piece->first_ref + k];
        const uint64_t *word = at + 1 + k;
        if (!psnap_decoder_reach(decoder, ref, *word))
            return 0;
        if (columns[k].words && !psnap_words_inside(word, words, count, ref->low, ref->span - 1))
            return 0;
        columns[k] = (struct psnap_column){columns[k].words, words, ref->delta};
        if (!columns[k].words &&
            !stays(ref, word[(count - 1) * words], decoder->run_strides[k], count))
            return 0;
    }
    return count;
}

/* The same as a run whose references all advance by strides. */
static uint64_t find_strides(struct psnap_decoder *decoder, const struct psnap_capture_piece *piece)
{
    const uint64_t *at = decoder->at;
    const uint64_t count = count_repetitions(at, decoder->end, piece->words, decoder->run_strides);
    const uint64_t *last = at + (count - 1) * piece->words;

    if (count < RUN_MIN)
        return 0;
    for (uint32_t k = 0; k < piece->refs; k++) {
        struct psnap_capture_ref *ref = &decoder->tables.refs[piece->first_ref + k];
        if (!psnap_decoder_reach(decoder, ref, at[1 + k]))
            return 0;
        if (!stays(ref, last[1 + k], decoder->run_strides[k], count))
            return 0; /* one by one */
    }
    return count;
}

bool psnap_decoder_find_run(struct psnap_decoder *decoder, struct psnap_capture_piece *piece,
                            uint64_t delivered, struct psnap_nest *nest)
{
    const uint64_t *at = decoder->at;
    const bool repeats = (size_t)(decoder->end - at) >= (size_t)RUN_MIN * piece->words &&
                         at[piece->words] == *at && at[2 * piece->words] == *at;
    const struct psnap_column *columns = NULL;
    uint64_t count = repeats ? find_strides(decoder, piece) : 0;

    if (repeats && !count) {
        count = find_columns(decoder, piece);
        columns = decoder->run_columns;
    }
    count = psnap_decoder_bound(decoder, delivered, piece->refs, count);
    if (count < RUN_MIN) {
        psnap_wait_longer(&piece->rest, &piece->patience, PATIENCE_MAX);
        return false;
    }
    piece->patience = 0;
    psnap_decoder_put_plain(decoder, piece, at + 1,
                            decoder->run_first); /* in ranges: cannot fail */
    *nest = psnap_nest_of_run(
        &decoder->run_loop,
        &(struct psnap_run){.first = decoder->run_first,
                            .strides = decoder->run_strides,
                            .columns = columns,
                            .width = piece->refs,
                            .count = count,
                            .shape = (uint32_t)(piece - decoder->tables.pieces) + 1});
    decoder->at += count * piece->words;
    if (piece->block != PSNAP_NONE && !decoder->is_skipping)
        psnap_decoder_count(decoder, piece->block, count);
    return true;
}
