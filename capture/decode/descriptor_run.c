/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Iterations of hoisted loops (descriptor.c) as runs. Where addresses have quotients a repetition
 * of the run is some iterations, its turns (quotient.c).
 */
#include "capture/decode/decode.h"

/* Whether the words happen to have a stride. */
static bool has_stride(const uint64_t *words, size_t pitch, uint64_t count)
{
    const uint64_t stride = count > 1 ? words[pitch] - words[0] : 0;

    for (uint64_t i = 2; i < count; i++)
        if (words[i * pitch] - words[(i - 1) * pitch] != stride)
            return false;
    return true;
}

/* The range that all words of some rows are known to be in; of no bytes: none is. */
struct inside {
    uint64_t low, span;
};

/* A column, or a stride, if the words happen to have one (then the column stays empty); false when
 * they do not share a range. */
static inline bool set_column(struct psnap_decoder *decoder, struct psnap_capture_ref *ref,
                              const uint64_t *words, size_t pitch, uint64_t count,
                              const struct inside *inside, struct psnap_column *column,
                              int64_t *stride)
{
    *stride = count > 1 ? (int64_t)(words[pitch] - words[0]) : 0;
    if (!psnap_decoder_reach(decoder, ref, *words))
        return false;
    if (!has_stride(words, pitch, count))
        *column = (struct psnap_column){words, pitch, ref->delta};
    if (inside->low == ref->low && inside->span == ref->span)
        return true;
    return psnap_words_inside(words, pitch, count, ref->low, ref->span - 1);
}

/* Rows that are words of one range are looked at once, not column by column. */
static struct inside look_at_rows(const struct psnap_decoder *decoder,
                                  const struct psnap_hoisted *open, uint64_t count)
{
    const struct psnap_capture_ref *ref = &decoder->tables.refs[open->hoist->first_row_ref];
    const uint64_t words = count * open->pitch;

    if (open->pitch < 2 || !psnap_words_inside(open->row, 1, words, ref->low, ref->span - 1))
        return (struct inside){0, 0};
    return (struct inside){ref->low, ref->span};
}

bool psnap_decoder_share_range(struct psnap_decoder *decoder, struct psnap_capture_ref *ref,
                               uint64_t first, int64_t stride, uint64_t count)
{
    return psnap_decoder_reach(decoder, ref, first) && psnap_ref_holds(ref, first, stride, count);
}

/* A run that is being made: its `count` repetitions of `turns` iterations, from an open record. */
struct making {
    struct psnap_decoder *decoder;
    const struct psnap_hoisted *open;
    uint64_t count;
    uint32_t turns;
    uint64_t iteration;   /* of the loop, whose accesses come next */
    const uint64_t *word; /* of its row, the next */
    struct inside inside; /* where all of the rows are */
    size_t width;
};

/* How reference `index` goes through the repetitions; false when it leaves its range. */
static inline bool set_member(struct making *making, uint32_t index)
{
    struct psnap_decoder *decoder = making->decoder;
    const struct psnap_hoisted *open = making->open;
    const struct psnap_capture_hoist *hoist = open->hoist;
    const struct psnap_capture_move *move =
        &decoder->tables.moves[hoist->first_move + (index - hoist->first_ref)];
    struct psnap_capture_ref *ref = &decoder->tables.refs[index];
    struct psnap_column *column = &decoder->run_columns[making->width];
    int64_t *stride = &decoder->run_strides[making->width];
    uint64_t first;

    column->words = NULL;
    if (move->base) {
        first = psnap_move_address(decoder, move, open->record, making->iteration);
        *stride = (int64_t)(psnap_move_step(move, open->record) * making->turns);
        if (move->quotients && making->count > 1)
            *stride = (int64_t)(psnap_move_address(decoder, move, open->record,
                                                   making->iteration + making->turns) -
                                first);
        if (!psnap_decoder_share_range(decoder, ref, first, *stride, making->count))
            return false;
    } else {
        first = *making->word;
        if (!set_column(decoder, ref, making->word++, making->turns * (size_t)open->pitch,
                        making->count, &making->inside, column, stride))
            return false;
    }
    decoder->run_first[making->width++] = psnap_decoder_access(decoder, ref, index, first);
    return true;
}

/* The accesses of an iteration. */
static bool set_turn(struct making *making)
{
    const struct psnap_hoisted *open = making->open;
    const struct psnap_capture_hoist *hoist = open->hoist;
    const struct psnap_capture_piece *piece = &making->decoder->tables.pieces[hoist->first_piece];

    if (open->refs == hoist->refs) {
        for (uint32_t k = 0; k < hoist->refs; k++)
            if (!set_member(making, hoist->first_ref + k))
                return false;
        return true;
    }
    for (uint32_t i = 0; i < open->pieces; i++, piece++)
        for (uint32_t r = 0; r < piece->refs && psnap_piece_is_executed(piece, open->mask); r++)
            if (!set_member(making, piece->first_ref + r))
                return false;
    return true;
}

bool psnap_hoisted_run(struct psnap_decoder *decoder, uint64_t count, uint32_t turns,
                       struct psnap_nest *nest)
{
    const struct psnap_hoisted *open = &decoder->hoisted;
    const struct psnap_capture_hoist *hoist = open->hoist;
    struct making making = {
        .decoder = decoder, .open = open, .count = count / turns, .turns = turns};
    bool has_columns = false;

    if (hoist->row_words && !hoist->guards && open->refs == hoist->refs)
        making.inside = look_at_rows(decoder, open, count);
    for (uint32_t turn = 0; turn < turns; turn++) {
        const uint64_t *row = open->row + turn * (size_t)open->pitch + (hoist->guards > 0);
        making.iteration = open->begun + open->iteration + turn;
        making.word = row;
        if (!set_turn(&making))
            return false;
        has_columns |= making.word != row;
    }
    *nest = psnap_nest_of_run(
        &decoder->run_loop,
        &(struct psnap_run){.first = decoder->run_first,
                            .strides = decoder->run_strides,
                            .columns = has_columns ? decoder->run_columns : NULL,
                            .width = making.width,
                            .count = making.count,
                            .shape = open->refs == hoist->refs ? hoist->first_piece + 1 : 0,
                            .turns = turns});
    return true;
}

bool psnap_descriptor_run(struct psnap_decoder *decoder, const struct psnap_capture_hoist *hoist,
                          const uint64_t *values, uint64_t count, struct psnap_nest *nest)
{
    const struct psnap_capture_move *move = &decoder->tables.moves[hoist->first_move];
    struct psnap_capture_ref *ref = &decoder->tables.refs[hoist->first_ref];

    for (uint32_t k = 0; k < hoist->refs; k++, move++, ref++) {
        const uint64_t first = psnap_move_address(decoder, move, values, 0);
        const int64_t stride = (int64_t)psnap_move_step(move, values);
        if (!psnap_decoder_share_range(decoder, ref, first, stride, count))
            return false;
        decoder->run_strides[k] = stride;
        decoder->run_first[k] = psnap_decoder_access(decoder, ref, hoist->first_ref + k, first);
    }
    *nest =
        psnap_nest_of_run(&decoder->run_loop, &(struct psnap_run){.first = decoder->run_first,
                                                                  .strides = decoder->run_strides,
                                                                  .width = hoist->refs,
                                                                  .count = count,
                                                                  .shape = hoist->first_piece + 1});
    psnap_descriptor_count(decoder, hoist, count);
    return true;
}
