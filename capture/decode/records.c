/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Records in their order. Almost all are pieces whose references are plain, an address each, or
 * hoisted loops that are over after a few iterations, as those of a search or of a short row are.
 * There may be one for each three accesses, in an order that nobody can foresee; so they are put
 * one after the other in one loop, which keeps nothing between them. What it leaves alone, longer
 * hoisted loops, nests and pieces of other references, is opened and delivered bit by bit.
 *
 * The accesses of a hoisted loop that ends in its partial iteration are the first so many of
 * whole iterations.
 *
 * References that are masked, gathered, copied, filled or wide are written out one access at a
 * time, which may stop in the middle of a copy of gigabytes when the block is full.
 */
#include "capture/decode/records.h"

#include "capture/collect/rings.h"

/* A plain piece, straight into the block, which has room; false when out of memory. */
static inline bool put_plain(struct psnap_context *context, const struct psnap_capture_piece *piece,
                             const uint64_t *words, struct psnap_access *block)
{
    struct psnap_capture_ref *refs = &context->tables.refs[piece->first_ref];

    for (uint32_t i = 0; i < piece->refs; i++) {
        if (!psnap_context_reach(context, &refs[i], words[i]))
            return false;
        block[i] = psnap_context_access(context, &refs[i], piece->first_ref + i, words[i]);
    }
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

/* Writes out the open expansion as far as the block has room; all of it once its piece is NULL. */
static enum psnap_status expansion_next(struct psnap_context *context,
                                        struct psnap_expansion *expansion,
                                        struct psnap_delivery *to, struct psnap_error *error)
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

/* ------------------------------------------------------------- records of a few accesses */

enum { SHORT_ITERATIONS = 64 };

/* Whether accesses of a run's length are to be one. */
static inline bool is_run(uint64_t accesses, bool finds_runs)
{
    return finds_runs && accesses >= PSNAP_RUN_ACCESSES_MIN;
}

/* The first `total` accesses of iterations from `begun` on; false when out of memory. */
static inline bool put_iterations(struct psnap_context *context,
                                  const struct psnap_capture_hoist *hoist, const uint64_t *record,
                                  uint64_t begun, size_t total, struct psnap_access *block)
{
    const struct psnap_table_move *moves = &context->tables.moves[hoist->first_move];
    const struct psnap_access *const end = block + total;
    const uint64_t *word = record + hoist->words;

    for (uint64_t i = begun; block < end; i++)
        for (uint32_t k = 0; k < hoist->refs && block < end; k++, block++)
            if (!psnap_move_put(context, &moves[k], record, i, &word, hoist->first_ref + k, block))
                return false;
    return true;
}

/* Whether the record at `at` comes four times, so many words apart, with the same number of
 * iterations. */
static inline bool comes_each(const uint64_t *at, uint64_t left, uint64_t words)
{
    return left >= 4 * words && at[words] == *at && at[2 * words] == *at && at[3 * words] == *at &&
           at[words + 1] == at[1];
}

/* Whether a period begins, perhaps, with the record at `at`, of so many words: it comes again at
 * once, or each time after as many words as there are since the latest one. Periods are looked for
 * as often as the piece's patience says. */
static inline bool comes_again(struct psnap_capture_piece *end, const uint64_t *at, uint64_t left,
                               uint64_t words)
{
    const uint32_t place = (uint32_t)((uintptr_t)at / sizeof *at), since = place - end->seen;

    if (comes_each(at, left, words) ||
        (since <= PSNAP_PERIOD_WORDS && since && comes_each(at, left, since))) {
        if (!end->rest)
            return true;
        end->rest--;
    }
    end->seen = place;
    return false;
}

/* The record at `at` of a hoisted loop, of which `left` words are there: adds to *n how many
 * accesses it has, all of them in the block. Returns its words; 0: it is not for here. */
static inline uint64_t put_hoisted(struct psnap_context *context, struct psnap_capture_piece *end,
                                   const uint64_t *at, uint64_t left, struct psnap_access *block,
                                   size_t capacity, bool finds_runs, size_t *n)
{
    const struct psnap_capture_hoist *hoist = &context->tables.hoists[end->hoist - 1];
    uint64_t words = hoist->words, begun = 0, count;
    size_t total;

    if (hoist->guards || left < words)
        return 0;
    count = at[1];
    if (count > SHORT_ITERATIONS || is_run(count * hoist->refs, finds_runs) ||
        is_run(end->part_refs, finds_runs) ||
        (finds_runs && !hoist->row_words && comes_again(end, at, left, words)))
        return 0;
    total = (size_t)count * hoist->refs + end->part_refs;
    if (total > capacity - *n)
        return 0;
    if (hoist->has_rows) {
        words = at[2];
        begun = at[3];
        if (words > left || words < hoist->words + count * hoist->row_words + end->row_words)
            return 0;
    }
    if (!put_iterations(context, hoist, at, begun, total, block + *n))
        return 0;
    *n += total;
    psnap_hoist_count(context, hoist, count, end->last == PSNAP_NONE ? 0 : end->last, 1);
    return words;
}

/* Records of a few accesses, as long as they follow each other and the block has room for all of
 * them; not those of loops that may be a run or begin a period, if there may be one. */
static void put_short(struct psnap_context *context, struct psnap_delivery *to)
{
    struct psnap_block *const blocks = context->program->blocks;
    struct psnap_capture_piece *pieces = NULL;
    uint64_t first = 0, count = 0; /* words that begin records of these pieces */
    struct psnap_access *const block = to->block;
    const uint64_t *at = context->at, *const end = context->end;
    const size_t capacity = to->capacity;
    const bool finds_runs = to->nest;
    size_t n = to->n;

    if (context->is_part || context->is_bounded || context->is_skipping || context->tally)
        return;
    while (at < end) {
        const uint64_t index = *at - first, left = (uint64_t)(end - at);
        struct psnap_capture_piece *piece;
        if (index >= count) {
            const struct psnap_capture_module *module;
            if (psnap_is_gap(*at) && *at - PSNAP_GAP <= left)
                at += *at - PSNAP_GAP;
            else {
                module = psnap_context_module(context, *at);
                if (!module)
                    break;
                pieces = &context->tables.pieces[module->first_piece];
                first = module->pieces;
                count = module->piece_count;
            }
            continue;
        }
        piece = &pieces[index];
        if (piece->hoist) {
            const uint64_t words =
                put_hoisted(context, piece, at, left, block, capacity, finds_runs, &n);
            if (!words)
                break;
            at += words;
            continue;
        }
        if (!piece->is_plain || piece->nest || left < piece->words || capacity - n < piece->refs)
            break;
        if (!put_plain(context, piece, at + 1, block + n))
            break; /* below it is said why */
        n += piece->refs;
        at += piece->words;
        if (piece->block != PSNAP_NONE)
            blocks[piece->block].executions++;
    }
    context->at = at;
    to->n = n;
}

/* ------------------------------------------------------------- any record */

/* Room that was taken and has not been marked is all zero, however long: what follows is not. */
static void pass_over_unmarked(struct psnap_context *context)
{
    while (context->at < context->end && !*context->at)
        context->at++;
}

/* Words of the record of `piece` that begins at `at`; 0: it would be longer than `left`. */
static uint64_t words_of(const struct psnap_context *context,
                         const struct psnap_capture_piece *piece, const uint64_t *at, uint64_t left)
{
    uint64_t words = piece->words;

    if (words <= left && piece->hoist && context->tables.hoists[piece->hoist - 1].has_rows)
        words = at[2] > words ? at[2] : words;
    return words <= left ? words : 0;
}

/* Accesses that a record of the nest, which was left, says nothing about, at most: those of an
 * iteration. */
static uint64_t count_left(const struct psnap_context *context, const struct psnap_table_nest *nest)
{
    const struct psnap_capture_step *step = &context->tables.steps[nest->first_step];
    uint64_t refs = 0;

    for (uint32_t i = 0; i < nest->steps; i++, step++)
        if (step->op == PSNAP_STEP_RUN)
            refs += context->tables.hoists[step->a].refs;
    return refs;
}

/* Closes an open record of `words` words at the context's place, of which nothing more will come,
 * as a batch is closed (capture_abi.h): its complete records, and what that of a loop says about
 * whole iterations, are followed by a gap. Accesses are lost by the last record alone: that of a
 * loop, or one that has no header yet, of any piece. */
static void close_open(struct psnap_context *context, uint64_t words)
{
    uint64_t *const begin = (uint64_t *)(uintptr_t)context->at, *const end = begin + words;
    const struct psnap_capture_piece *piece =
        words > 2 ? psnap_context_piece(context, begin[2]) : NULL;
    uint64_t *at = begin + (piece && piece->nest ? 2 : 1), length; /* progress is in front of it */
    uint64_t lost = 0;                                             /* by the last record */
    bool is_begun = false;

    *begin = PSNAP_GAP + (uint64_t)(at - begin);
    context->passed_over++;
    for (; at < end; at += length) {
        const uint64_t left = (uint64_t)(end - at);
        piece = psnap_context_piece(context, *at);
        lost = 0;
        if (piece && piece->last == PSNAP_NONE && piece->nest)
            lost = count_left(context, &context->tables.nests[piece->nest - 1].row);
        else if (piece && piece->last == PSNAP_NONE && piece->hoist)
            lost = psnap_hoisted_settle(context, piece, at, left);
        length = piece ? words_of(context, piece, at, left) : 0;
        if (!length)
            break;
    }
    for (const uint64_t *word = at; word < end && !is_begun; word++)
        is_begun = *word;
    if (is_begun && !lost)
        lost = context->tables.most_refs;
    context->accesses_lost += lost;
    if (at < end)
        *at = PSNAP_GAP + (uint64_t)(end - at);
}

/* What starts with no piece, with `header`: a gap, or an open record, whose header says minus its
 * length, is waited for or passed over. What is nothing of these, in the chunk that was being
 * written when the program ended, is lost with all behind it. False: it cannot be. */
static bool pass_over(struct psnap_context *context, uint64_t header)
{
    const uint64_t left = (uint64_t)(context->end - context->at);
    const bool is_open = psnap_record_is_open(header) && -header <= left;

    if (psnap_is_gap(header) && header - PSNAP_GAP <= left)
        context->at += header - PSNAP_GAP;
    else if (is_open && !context->passes_over)
        context->is_stuck = true;
    else if (is_open) {
        context->passed = (uint64_t *)(uintptr_t)context->at;
        if (header)
            close_open(context, -header);
        else
            pass_over_unmarked(context);
    } else if (context->is_last_part) {
        context->words_unknown += left;
        context->at = context->end;
    } else
        return false;
    return true;
}

/* Whether what is at the context's place, with `header`, goes on behind the end of the part that
 * may be read: a batch gives room back that it was seen to take. */
static bool is_cut(const struct psnap_context *context, uint64_t header,
                   const struct psnap_capture_piece *piece)
{
    const uint64_t *at = context->at, left = (uint64_t)(context->end - at);

    if (!context->is_part)
        return false;
    if (header == PSNAP_EVENT_ALLOC)
        return left < 5;
    if (psnap_is_gap(header))
        return header - PSNAP_GAP >= left; /* it may be given back at any moment */
    if (psnap_record_is_open(header))
        return -header > left;
    return piece &&
           (left < piece->words ||
            (piece->hoist && context->tables.hoists[piece->hoist - 1].has_rows && at[2] > left));
}

/* Goes on with the record that is being delivered, until nothing is left of it, the block is full
 * or a nest follows. */
static enum psnap_status deliver(struct psnap_context *context, struct psnap_records *records,
                                 struct psnap_delivery *to, struct psnap_error *error)
{
    enum psnap_status status = PSNAP_OK;

    if (records->expansion.piece)
        return expansion_next(context, &records->expansion, to, error);
    for (;;) {
        if (records->hoisted.hoist)
            status = psnap_hoisted_next(context, &records->hoisted, to, error);
        if (status || records->hoisted.hoist || !records->nested.nest ||
            psnap_delivery_is_over(to) || psnap_context_is_full(context, to->n))
            return status;
        status = psnap_nested_next(context, &records->nested, &records->hoisted, to, error);
        if (status)
            return status;
    }
}

/* The record of a piece at the context's place is delivered access by access. */
static void open_piece(struct psnap_context *context, struct psnap_records *records,
                       const struct psnap_capture_piece *piece)
{
    records->expansion = (struct psnap_expansion){.piece = piece, .words = context->at + 1};
    context->at += piece->words;
    psnap_context_count(context, piece->block, 1);
}

enum psnap_status psnap_records_open(struct psnap_context *context, struct psnap_records *records,
                                     const struct psnap_capture_piece *loop,
                                     struct psnap_error *error)
{
    if (loop->nest)
        return psnap_nested_open(context, &records->nested, loop, error);
    if (loop->hoist)
        return psnap_hoisted_open(context, &records->hoisted, loop, error);
    open_piece(context, records, loop);
    return PSNAP_OK;
}

enum psnap_status psnap_records_next(struct psnap_context *context, struct psnap_records *records,
                                     struct psnap_delivery *to, struct psnap_capture_piece **loop,
                                     struct psnap_error *error)
{
    enum psnap_status status = PSNAP_OK;

    context->is_stuck = context->is_cut = false;
    *loop = NULL;
    for (;;) {
        struct psnap_capture_piece *piece;
        uint64_t header;
        if (psnap_records_are_open(records)) {
            status = deliver(context, records, to, error);
            if (status || psnap_records_are_open(records) || psnap_delivery_is_over(to))
                return status;
        }
        put_short(context, to);
        if (context->at == context->end || psnap_context_is_full(context, to->n))
            return PSNAP_OK;
        header = __atomic_load_n(context->at, __ATOMIC_ACQUIRE); /* once: it may be written now */
        piece = header == PSNAP_EVENT_ALLOC ? NULL : psnap_context_piece(context, header);
        context->is_cut = is_cut(context, header, piece);
        if (context->is_cut)
            return PSNAP_OK;
        if (header == PSNAP_EVENT_ALLOC && context->end - context->at >= 5) {
            status = psnap_context_allocation(context, context->at, error);
            if (status)
                return status;
            context->at += 5;
        } else if (!piece || context->end - context->at < piece->words) {
            if (!pass_over(context, header))
                return psnap_context_corrupt(error, header);
            if (context->is_stuck)
                return PSNAP_OK;
        } else if (piece->hoist || piece->nest || !piece->is_plain) {
            *loop = piece;
            return PSNAP_OK;
        } else
            open_piece(context, records, piece);
    }
}
