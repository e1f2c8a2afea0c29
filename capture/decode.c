/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ring records to accesses. Almost all records are pieces whose references are
 * plain: an address each. The others (masked, gathered, copied, filled, wide)
 * are written out one access at a time and may stop in the middle of a copy of
 * gigabytes when the block is full. Addresses are made canonical here; each
 * reference remembers the range its last address was in.
 *
 * Records of one piece that follow each other with every address advancing by
 * the stride it advanced by before are one run: found by comparing words, told
 * by its first accesses, strides and length. Where some addresses do not, these
 * stay in the ring, as the run's columns.
 */
#include "capture/collector.h"

#include <inttypes.h>

static enum psnap_status corrupt(struct psnap_error *error, uint64_t word)
{
    return psnap_error_set(error, PSNAP_ERROR_CORRUPT,
                           "the program's ring holds a record that cannot be (0x%" PRIx64 ")",
                           word);
}

static enum psnap_status no_memory(struct psnap_error *error)
{
    return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for the program's mappings");
}

/* Learns the range of an address that the reference has not seen last. */
static bool refresh(struct psnap_decoder *decoder, struct psnap_capture_ref *ref, uint64_t address)
{
    const struct psnap_range *range = psnap_rebase_find(&decoder->rebase, address);
    if (!range)
        return false;
    ref->low = range->low;
    ref->span = range->high - range->low;
    ref->delta = range->delta;
    return true;
}

bool psnap_decoder_refresh(struct psnap_decoder *decoder, struct psnap_capture_ref *ref,
                           uint64_t address)
{
    return refresh(decoder, ref, address);
}

/* Ranges have changed: what refs remember of them may be wrong. */
void psnap_decoder_forget_ranges(struct psnap_decoder *decoder)
{
    if (decoder->generation == decoder->rebase.generation)
        return;
    decoder->generation = decoder->rebase.generation;
    for (uint32_t i = 0; i < decoder->tables.ref_count; i++)
        decoder->tables.refs[i].span = 0;
}

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

/* Writes out the open expansion as far as the block has room. */
static ssize_t expand(struct psnap_decoder *decoder, struct psnap_access *block, size_t capacity,
                      struct psnap_error *error)
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
            return corrupt(error, length_of(ref, open->words));
        if (!expand_step(ref, open->words, open->step, &address, &size, &offset)) {
            open->words += psnap_ref_words(ref->op, ref->lanes);
            open->ref++;
            open->step = 0;
            continue;
        }
        if (n == capacity)
            break;
        ref += offset;
        if (address - ref->low >= ref->span && !refresh(decoder, ref, address))
            return no_memory(error);
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

enum { OBJECTS_MAX = 1 << 16, OBJECTS_NEAR = 16, NEAR_BYTES = 256 };

/* Whether one of the latest objects says all of it: memory that is allocated again and again. */
static bool is_named_so(const struct psnap_program *program, const struct psnap_object *object)
{
    const uint32_t count = program->object_count;

    for (uint32_t i = 0; i < OBJECTS_NEAR && i < count; i++) {
        const struct psnap_object *old = &program->objects[count - 1 - i];
        if (object->address - old->address < old->size_bytes)
            return old->name == object->name && old->kind == object->kind &&
                   object->size_bytes <= old->size_bytes - (object->address - old->address);
        if (old->address - object->address < object->size_bytes)
            return false;
    }
    return false;
}

/* An allocation: perhaps a mapping of its own, and a name for what lies in it. */
static enum psnap_status allocation(struct psnap_decoder *decoder, const uint64_t *words,
                                    struct psnap_error *error)
{
    struct psnap_program *program = decoder->program;
    struct psnap_object object = {
        .size_bytes = words[2],
        .name = psnap_capture_tables_site(&decoder->tables, words[3]),
        .kind = PSNAP_OBJECT_ALLOCATION,
    };
    const struct psnap_range *range;
    struct psnap_object *last =
        program->object_count ? &program->objects[program->object_count - 1] : NULL;

    if (!psnap_rebase_allocate(&decoder->rebase, words[4]))
        return no_memory(error);
    psnap_decoder_forget_ranges(decoder);
    range = psnap_rebase_find(&decoder->rebase, words[1]);
    if (!range)
        return no_memory(error);
    object.address = words[1] + range->delta;
    /* Neighbours from one site are one object: a list's nodes, a tree's. */
    if (last && last->name == object.name && last->kind == object.kind &&
        object.address + object.size_bytes + NEAR_BYTES >= last->address &&
        object.address <= last->address + last->size_bytes + NEAR_BYTES) {
        uint64_t low = object.address < last->address ? object.address : last->address;
        uint64_t high = object.address + object.size_bytes;
        if (high < last->address + last->size_bytes)
            high = last->address + last->size_bytes;
        last->address = low;
        last->size_bytes = high - low;
        return PSNAP_OK;
    }
    if (is_named_so(program, &object))
        return PSNAP_OK;
    if (program->object_count >= OBJECTS_MAX)
        decoder->unnamed++;
    else if (psnap_program_add_object(program, &object) == PSNAP_NONE)
        return no_memory(error);
    return PSNAP_OK;
}

/* The piece whose record starts with this word, NULL when there is none such. */
static struct psnap_capture_piece *find_piece(struct psnap_decoder *decoder, uint64_t word)
{
    const struct psnap_capture_module *module = decoder->module;

    if (!module || word - module->pieces >= module->piece_count) {
        module = psnap_capture_tables_find(&decoder->tables, word);
        if (!module || word - module->pieces >= module->piece_count)
            return NULL;
        decoder->module = module;
    }
    return &decoder->tables.pieces[module->first_piece + (word - module->pieces)];
}

/* A plain piece, straight into the block, which has room. */
static inline bool put_plain(struct psnap_decoder *decoder, const struct psnap_capture_piece *piece,
                             const uint64_t *words, struct psnap_access *block)
{
    struct psnap_capture_ref *refs = &decoder->tables.refs[piece->first_ref];

    for (uint32_t i = 0; i < piece->refs; i++) {
        struct psnap_capture_ref *ref = &refs[i];
        uint64_t address = words[i];
        if (__builtin_expect(address - ref->low >= ref->span, 0) && !refresh(decoder, ref, address))
            return false;
        block[i] = (struct psnap_access){
            .address = address + ref->delta,
            .ref = piece->first_ref + i,
            .size = ref->size,
            .kind = ref->kind,
            .thread = decoder->thread,
        };
    }
    return true;
}

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
        if (*word - ref->low >= ref->span && !refresh(decoder, ref, *word))
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
        if (at[1 + k] - ref->low >= ref->span && !refresh(decoder, ref, at[1 + k]))
            return 0;
        if (!stays(ref, last[1 + k], decoder->run_strides[k], count))
            return 0; /* one by one */
    }
    return count;
}

/* Looks for a run of `piece` at the decoder's place; true when there is one. */
static bool find_run(struct psnap_decoder *decoder, struct psnap_capture_piece *piece,
                     uint64_t delivered, struct psnap_run *run)
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
        piece->rest = piece->patience;
        piece->patience =
            (uint8_t)(piece->patience < PATIENCE_MAX / 2 ? 2 * piece->patience + 1 : PATIENCE_MAX);
        return false;
    }
    piece->patience = 0;
    put_plain(decoder, piece, at + 1, decoder->run_first); /* in ranges: cannot fail */
    *run = (struct psnap_run){decoder->run_first,
                              decoder->run_strides,
                              columns,
                              piece->refs,
                              count,
                              (uint32_t)(piece - decoder->tables.pieces) + 1};
    decoder->at += count * piece->words;
    if (piece->block != PSNAP_NONE && !decoder->is_skipping)
        decoder->program->blocks[piece->block].executions += count;
    return true;
}

/* What starts with no piece: a gap, or an open record, whose header says minus its length, is
 * waited for or passed over; where the program was killed between taking the room and marking it,
 * nothing follows. False when neither. */
static bool pass_over(struct psnap_decoder *decoder)
{
    uint64_t words = -*decoder->at, left = (uint64_t)(decoder->end - decoder->at);

    if (*decoder->at - PSNAP_GAP - 1 < PSNAP_RECORD_WORDS_MAX && *decoder->at - PSNAP_GAP <= left) {
        decoder->at += *decoder->at - PSNAP_GAP;
        return true;
    }
    if (psnap_decoder_is_open(*decoder->at) && words <= left) {
        decoder->is_stuck = !decoder->passes_over;
        decoder->at += decoder->is_stuck ? 0 : words;
        decoder->passed_over += !decoder->is_stuck;
    } else if (decoder->is_last_part)
        decoder->at = decoder->end;
    else
        return false;
    return true;
}

/* Whether what is at the decoder's place goes on behind the end of the part that may be read: a
 * batch gives room back that it was seen to take. */
static bool is_cut(const struct psnap_decoder *decoder, const struct psnap_capture_piece *piece)
{
    const uint64_t *at = decoder->at, left = (uint64_t)(decoder->end - at);

    if (!decoder->is_part)
        return false;
    if (*at == PSNAP_EVENT_ALLOC)
        return left < 5;
    if (*at - PSNAP_GAP - 1 < PSNAP_RECORD_WORDS_MAX)
        return *at - PSNAP_GAP > 1; /* what a batch has given back may be in use again */
    if (psnap_decoder_is_open(*at))
        return -*at > left;
    return piece &&
           (left < piece->words ||
            (piece->hoist && decoder->tables.hoists[piece->hoist - 1].has_rows && at[2] > left));
}

/*
 * Records of plain pieces of the module that the last one was of, as long as there are any and the
 * block has room: nearly all that is not hoisted. With `finds_runs`, not those that may begin a
 * run. Returns the accesses written.
 */
static size_t put_pieces(struct psnap_decoder *decoder, struct psnap_access *block, size_t capacity,
                         bool finds_runs)
{
    const struct psnap_capture_module *module = decoder->module;
    struct psnap_capture_piece *pieces;
    const uint64_t *at = decoder->at;
    size_t n = 0;

    if (!module || decoder->is_part || decoder->is_bounded || decoder->is_skipping)
        return 0;
    pieces = &decoder->tables.pieces[module->first_piece];
    while (at < decoder->end && *at - module->pieces < module->piece_count) {
        struct psnap_capture_piece *piece = &pieces[*at - module->pieces];
        if (!piece->is_plain || piece->hoist || piece->nest || decoder->end - at < piece->words ||
            capacity - n < piece->refs)
            break;
        if (finds_runs && piece->refs) {
            if (!piece->rest)
                break;
            piece->rest--;
        }
        if (!put_plain(decoder, piece, at + 1, block + n))
            break; /* there it is said why */
        n += piece->refs;
        at += piece->words;
        if (piece->block != PSNAP_NONE)
            decoder->program->blocks[piece->block].executions++;
    }
    decoder->at = at;
    return n;
}

static inline bool is_delivering(const struct psnap_decoder *decoder)
{
    return decoder->expansion.piece || decoder->hoisted.hoist || decoder->nested.nest;
}

/* Goes on with the record that is being delivered, behind `n` accesses of the block, until nothing
 * is left of it, the block is full or a run follows. Returns the accesses that the block has then,
 * or a negative status. */
static ssize_t deliver(struct psnap_decoder *decoder, struct psnap_access *block, size_t n,
                       size_t capacity, struct psnap_run *run, struct psnap_error *error)
{
    for (;;) {
        enum psnap_status status;
        ssize_t more = 0;
        if (decoder->expansion.piece)
            more = expand(decoder, block + n, capacity - n, error);
        else if (decoder->hoisted.hoist) {
            decoder->hoisted.delivered = n;
            more = psnap_descriptor_next(decoder, block + n, capacity - n, run, error);
        }
        if (more < 0)
            return more;
        n += (size_t)more;
        if (decoder->expansion.piece || decoder->hoisted.hoist || !decoder->nested.nest ||
            (run && run->count) || psnap_decoder_is_full(decoder, n))
            return (ssize_t)n;
        status = psnap_nest_next(decoder, error);
        if (status)
            return status;
    }
}

ssize_t psnap_decode(struct psnap_decoder *decoder, struct psnap_access *block, size_t capacity,
                     struct psnap_run *run, struct psnap_error *error)
{
    size_t n = 0;

    decoder->is_stuck = decoder->is_cut = false;
    for (;;) {
        const uint64_t *at;
        struct psnap_capture_piece *piece;
        if (is_delivering(decoder)) {
            ssize_t more = deliver(decoder, block, n, capacity, run, error);
            if (more < 0)
                return more;
            n = (size_t)more;
            if (is_delivering(decoder) || (run && run->count))
                return (ssize_t)n;
        }
        n += put_pieces(decoder, block + n, capacity - n, run);
        at = decoder->at;
        if (at == decoder->end || psnap_decoder_is_full(decoder, n))
            return (ssize_t)n;
        piece = *at == PSNAP_EVENT_ALLOC ? NULL : find_piece(decoder, *at);
        decoder->is_cut = is_cut(decoder, piece);
        if (decoder->is_cut)
            return (ssize_t)n;
        if (*at == PSNAP_EVENT_ALLOC && decoder->end - at >= 5) {
            enum psnap_status status = allocation(decoder, at, error);
            if (status)
                return status;
            decoder->at += 5;
            continue;
        }
        if (!piece || decoder->end - at < piece->words) {
            if (!pass_over(decoder))
                return corrupt(error, *at);
            if (decoder->is_stuck)
                return (ssize_t)n;
            continue;
        }
        if (piece->hoist || piece->nest) {
            enum psnap_status status = piece->nest ? psnap_nest_open(decoder, piece, error)
                                                   : psnap_descriptor_open(decoder, piece, error);
            if (status)
                return status;
            continue;
        }
        if (run && piece->is_plain && piece->refs) {
            if (piece->rest)
                piece->rest--;
            else if (find_run(decoder, piece, n, run))
                return (ssize_t)n;
        }
        if (piece->is_plain && capacity - n >= piece->refs) {
            if (!put_plain(decoder, piece, at + 1, block + n))
                return no_memory(error);
            n += piece->refs;
        } else if (piece->is_plain && n)
            return (ssize_t)n;
        else
            decoder->expansion = (struct psnap_expansion){.piece = piece, .words = at + 1};
        decoder->at += piece->words;
        if (piece->block != PSNAP_NONE && !decoder->is_skipping)
            decoder->program->blocks[piece->block].executions++;
    }
}

/* Globals arrive as the program has them; objects are canonical. */
static bool add_globals(struct psnap_decoder *decoder, const uint64_t *addresses, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        const struct psnap_range *range = psnap_rebase_find(&decoder->rebase, addresses[i]);
        uint64_t address = range ? addresses[i] + range->delta : 0;
        if (!range || !psnap_capture_tables_add_globals(&decoder->tables, &address, 1))
            return false;
    }
    return true;
}

uint64_t psnap_decode_control(struct psnap_decoder *decoder, const uint64_t *at,
                              const uint64_t *end, struct psnap_error *error)
{
    uint64_t left = (uint64_t)(end - at), words = 0;
    bool is_done = true;

    if (*at == PSNAP_EVENT_HEAP && left >= 2) {
        words = 2;
        is_done = psnap_rebase_add_heap(&decoder->rebase, at[1]);
    } else if (*at == PSNAP_EVENT_IMAGE && left >= 3) {
        words = 3;
        is_done = psnap_rebase_add_image(&decoder->rebase, at[1], at[2]);
    } else if (*at == PSNAP_EVENT_DATA && left >= 2 && at[1] <= (left - 2) * 8) {
        words = 2 + (at[1] + 7) / 8;
        is_done = psnap_capture_tables_add_bytes(&decoder->tables, at + 2, at[1]);
    } else if (*at == PSNAP_EVENT_GLOBALS && left >= 2 && at[1] <= left - 2) {
        words = 2 + at[1];
        is_done = add_globals(decoder, at + 2, at[1]);
    } else if (*at == PSNAP_EVENT_ALLOC && left >= 5) {
        words = 5; /* its name comes with the thread's records */
        is_done = psnap_rebase_announce(&decoder->rebase, at[1], at[2], (uint32_t)at[3]);
    } else if (*at == PSNAP_EVENT_MODULE && left >= 5) {
        if (psnap_capture_tables_finish(&decoder->tables, at + 1, error))
            return 0;
        decoder->module = NULL; /* the array has moved */
        words = 5;
    } else {
        corrupt(error, *at);
        return 0;
    }
    if (!is_done) {
        no_memory(error);
        return 0;
    }
    psnap_decoder_forget_ranges(decoder);
    return words;
}
