/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Decoding of rings against an expansion that does one access at a time and
 * says the rules of reference once more: random modules (all kinds of
 * references, narrow and wide), random records, some of them loops with
 * constant strides, some never finished, with allocations between them; decoded
 * with blocks of many capacities, with and without runs. Then the same with
 * words changed, cut off or made up: an error or a stream, and an end.
 */
#include "tests/unit/test.h"

#include <zstd.h>

#include "capture/collect/rings.h"
#include "tests/unit/test_capture_support.h"

#define SITES (IMAGE + 0x8000)
#define DATA (IMAGE + 0x10000)
#define SMALL (UINT64_C(1) << 28) /* what addresses are taken from, in image and heap */

enum {
    LOOPS = 3,
    BLOCKS = 5,
    REFS_MAX = 400,
    PIECES_MAX = 24,
    SITES_MAX = 3,
    RING_WORDS = 12000,
    ACCESSES_MAX = 1000000
};

/* A module, its table as the pass lays it out, and words of a ring. */
struct module {
    struct psnap_table_ref refs[REFS_MAX];
    struct psnap_table_piece pieces[PIECES_MAX];
    uint32_t ref_count, piece_count;
    struct table table;
    uint64_t ring[RING_WORDS];
    size_t ring_words;
    uint64_t executions[BLOCKS];
    struct psnap_access *expected;
    size_t expected_count;
};

static uint32_t words_of(const struct psnap_table_ref *ref)
{
    switch ((enum psnap_ref_op)ref->op) {
    case PSNAP_REF_PLAIN:
        return 1;
    case PSNAP_REF_MASKED:
    case PSNAP_REF_PACKED:
    case PSNAP_REF_FILL:
        return 2;
    case PSNAP_REF_COPY:
        return 3;
    case PSNAP_REF_GATHER:
        return 1 + ref->lanes;
    default:
        return 0;
    }
}

static void add_ref(struct module *module, struct psnap_rng *rng, bool is_plain)
{
    static const uint32_t sizes[] = {1, 2, 4, 8, 8, 8, 10, 16, 32, 64, 65, 128, 200, 4096};
    struct psnap_table_ref *ref = &module->refs[module->ref_count++];

    *ref = (struct psnap_table_ref){
        .block = (uint32_t)psnap_rng_below(rng, BLOCKS),
        .op =
            is_plain ? PSNAP_REF_PLAIN : 1 + (uint32_t)psnap_rng_below(rng, PSNAP_REF_OP_COUNT - 1),
        .kind = (uint32_t)psnap_rng_below(rng, 3),
        .size = sizes[psnap_rng_below(rng, is_plain ? 10 : sizeof sizes / sizeof *sizes)],
        .lanes = 1,
    };
    if (ref->op == PSNAP_REF_MASKED || ref->op == PSNAP_REF_PACKED || ref->op == PSNAP_REF_GATHER)
        ref->lanes = 1 + (uint32_t)psnap_rng_below(rng, psnap_rng_below(rng, 4) ? 16 : 64);
    if (ref->op == PSNAP_REF_COPY) { /* loads; the second half stores */
        ref->kind = PSNAP_LOAD;
        module->refs[module->ref_count] = *ref;
        module->refs[module->ref_count].op = PSNAP_REF_NONE;
        module->refs[module->ref_count++].kind = PSNAP_STORE;
    }
}

static void make_pieces(struct module *module, struct psnap_rng *rng)
{
    module->ref_count = 0;
    for (module->piece_count = 0; module->piece_count < PIECES_MAX; module->piece_count++) {
        struct psnap_table_piece *piece = &module->pieces[module->piece_count];
        bool is_plain = psnap_rng_below(rng, 2);
        uint32_t wanted = (uint32_t)psnap_rng_below(rng, 6);
        *piece = (struct psnap_table_piece){
            .first_ref = module->ref_count,
            .words = 1,
            .block = psnap_rng_below(rng, 4) ? (uint32_t)psnap_rng_below(rng, BLOCKS) : PSNAP_NONE,
        };
        while (wanted--)
            add_ref(module, rng, is_plain);
        piece->refs = module->ref_count - piece->first_ref;
        for (uint32_t i = piece->first_ref; i < module->ref_count; i++)
            piece->words += words_of(&module->refs[i]);
    }
}

static void make_table(struct module *module)
{
    static const char strings[16] = "\0main\0main:7\0x";
    const struct psnap_table_loop function = {.id = 1, .src_id = 1, .parent = PSNAP_NONE};
    const struct psnap_table_loop loop = {.id = 6, .src_id = 6, .depth = 1};
    const struct psnap_table_site site = {13};
    const struct psnap_table_global global = {13, 64};
    const struct psnap_table_header header = {
        .magic = PSNAP_CAPTURE_MAGIC,
        .abi = PSNAP_CAPTURE_ABI,
        .loops = LOOPS,
        .blocks = BLOCKS,
        .refs = module->ref_count,
        .pieces = module->piece_count,
        .sites = SITES_MAX,
        .globals = 1,
        .string_bytes = sizeof strings,
    };

    struct table *table = &module->table;

    table->count = 0;
    put_rows(table, &header, sizeof header);
    put_rows(table, &function, sizeof function);
    for (int i = 1; i < LOOPS; i++)
        put_rows(table, &loop, sizeof loop);
    for (uint32_t i = 0; i < BLOCKS; i++) {
        const struct psnap_table_block block = {.loop = i % LOOPS, .operations = {i, 1000000}};
        put_rows(table, &block, sizeof block);
    }
    put_rows(table, module->refs, module->ref_count * sizeof *module->refs);
    put_rows(table, module->pieces, module->piece_count * sizeof *module->pieces);
    for (int i = 0; i < SITES_MAX; i++)
        put_rows(table, &site, sizeof site);
    put_rows(table, &global, sizeof global);
    put_rows(table, strings, sizeof strings);
}

/* ------------------------------------------------------------- the obvious expansion */

static void expect(struct module *module, uint64_t address, uint64_t bytes, uint32_t kind,
                   uint32_t ref)
{
    while (bytes) {
        uint64_t part = bytes < 64 ? bytes : 64;
        assert_true(module->expected_count < ACCESSES_MAX);
        module->expected[module->expected_count++] = (struct psnap_access){
            .address = canonical(address),
            .ref = ref,
            .size = (uint8_t)part,
            .kind = (uint8_t)kind,
            .thread = 7,
        };
        address += part;
        bytes -= part;
    }
}

static void expect_ref(struct module *module, uint32_t index, const uint64_t *words)
{
    const struct psnap_table_ref *ref = &module->refs[index];
    uint64_t size = ref->size, mask = words[1], first = 64, last = 0, active = 0;

    if (ref->op == PSNAP_REF_MASKED || ref->op == PSNAP_REF_PACKED)
        for (uint64_t lane = 0; lane < 64; lane++)
            if (mask >> lane & 1) {
                first = first == 64 ? lane : first;
                last = lane;
                active++;
            }
    switch ((enum psnap_ref_op)ref->op) {
    case PSNAP_REF_PLAIN:
        expect(module, words[0], size, ref->kind, index);
        return;
    case PSNAP_REF_MASKED:
        if (active)
            expect(module, words[0] + first * size, (last - first + 1) * size, ref->kind, index);
        return;
    case PSNAP_REF_PACKED:
        expect(module, words[0], active * size, ref->kind, index);
        return;
    case PSNAP_REF_FILL:
        expect(module, words[0], words[1], ref->kind, index);
        return;
    case PSNAP_REF_GATHER:
        for (uint64_t lane = 0; lane < ref->lanes; lane++)
            if (words[0] >> lane & 1)
                expect(module, words[1 + lane], size, ref->kind, index);
        return;
    case PSNAP_REF_COPY:
        for (uint64_t at = 0; at < words[2]; at += 64) {
            uint64_t part = words[2] - at < 64 ? words[2] - at : 64;
            expect(module, words[1] + at, part, PSNAP_LOAD, index);
            expect(module, words[0] + at, part, PSNAP_STORE, index + 1);
        }
        return;
    default:
        return;
    }
}

/* ------------------------------------------------------------- random records */

static uint64_t some_data(struct psnap_rng *rng)
{
    uint64_t offset = psnap_rng_below(rng, SMALL / 4);
    return psnap_rng_below(rng, 2) ? DATA + offset / 4 : HEAP + SMALL + offset;
}

static uint64_t some_length(struct psnap_rng *rng)
{
    static const uint64_t lengths[] = {0, 1, 63, 64, 65, 127, 128, 129, 1000, 20000};
    return lengths[psnap_rng_below(rng, psnap_rng_below(rng, 20) ? 9 : 10)];
}

static uint64_t some_mask(struct psnap_rng *rng, uint32_t lanes)
{
    uint64_t mask = psnap_rng_next(rng) >> (64 - lanes);
    return psnap_rng_below(rng, 4) ? mask : psnap_rng_below(rng, 2) ? 0 : mask & -mask;
}

static void make_words(const struct psnap_table_ref *ref, uint64_t *words, struct psnap_rng *rng)
{
    for (uint32_t i = 0; i < words_of(ref); i++)
        words[i] = some_data(rng);
    if (ref->op == PSNAP_REF_MASKED || ref->op == PSNAP_REF_PACKED)
        words[1] = some_mask(rng, ref->lanes);
    else if (ref->op == PSNAP_REF_GATHER)
        words[0] = some_mask(rng, ref->lanes);
    else if (ref->op == PSNAP_REF_FILL)
        words[1] = some_length(rng);
    else if (ref->op == PSNAP_REF_COPY)
        words[2] = some_length(rng);
}

/* Records of one piece; each repeats the addresses of the one before, moved by strides. */
static void put_records(struct module *module, struct psnap_rng *rng, uint32_t index)
{
    static const int64_t choices[] = {0, 8, 8, 64, -8, 4096, 1, -4096};
    const struct psnap_table_piece *piece = &module->pieces[index];
    uint64_t count = psnap_rng_below(rng, 3) ? 1 : 1 + psnap_rng_below(rng, 40);
    uint64_t *record = module->ring + module->ring_words;
    bool is_finished = psnap_rng_below(rng, 30) != 0;
    uint32_t irregular = psnap_rng_below(rng, 2) ? (uint32_t)psnap_rng_below(rng, 7) : 0; /* bits */

    if (module->ring_words + count * piece->words > RING_WORDS)
        return;
    for (uint64_t n = 0; n < count; n++, record += piece->words) {
        uint64_t *words = record + 1;
        record[0] = PIECES + index;
        for (uint32_t i = piece->first_ref; i < piece->first_ref + piece->refs; i++) {
            bool is_irregular = irregular >> (i - piece->first_ref) % 3 & 1;
            if (n == 0 || is_irregular || module->refs[i].op != PSNAP_REF_PLAIN)
                make_words(&module->refs[i], words, rng);
            else /* now and then a stride breaks */
                *words = *(words - piece->words) +
                         (uint64_t)choices[(i + psnap_rng_below(rng, 60) / 59) % 8];
            words += words_of(&module->refs[i]);
        }
        words = record + 1;
        if (!is_finished) {
            record[0] = -(uint64_t)piece->words;
            continue;
        }
        for (uint32_t i = piece->first_ref; i < piece->first_ref + piece->refs; i++) {
            expect_ref(module, i, words);
            words += words_of(&module->refs[i]);
        }
        if (piece->block != PSNAP_NONE)
            module->executions[piece->block]++;
    }
    module->ring_words += count * piece->words;
}

static void make_module(struct module *module, uint64_t seed)
{
    struct psnap_rng rng;

    psnap_rng_init(&rng, seed);
    make_pieces(module, &rng);
    make_table(module);
    module->ring_words = module->expected_count = 0;
    memset(module->executions, 0, sizeof module->executions);
    for (int i = 0; i < 400; i++) {
        uint64_t *event = module->ring + module->ring_words;
        if (psnap_rng_below(&rng, 20) || module->ring_words + 5 > RING_WORDS) {
            put_records(module, &rng, (uint32_t)psnap_rng_below(&rng, PIECES_MAX));
            continue;
        }
        event[0] = PSNAP_EVENT_ALLOC;
        event[1] = HEAP + SMALL + psnap_rng_below(&rng, SMALL);
        event[2] = psnap_rng_below(&rng, 300000);
        event[3] = SITES + psnap_rng_below(&rng, SITES_MAX);
        event[4] = 0;
        module->ring_words += 5;
    }
}

/* ------------------------------------------------------------- decoding it */

/* The control records of a module into `words`; returns their number. The table in two parts. */
static size_t make_control(const struct module *module, uint64_t *words)
{
    const size_t bytes = module->table.count * sizeof *module->table.words,
                 half = bytes / 2 / 8 * 8;
    const uint64_t start[] = {PSNAP_EVENT_HEAP, HEAP, PSNAP_EVENT_IMAGE, IMAGE, DATA + SMALL / 4,
                              PSNAP_EVENT_DATA, half};
    const uint64_t end[] = {PSNAP_EVENT_GLOBALS, 1,        DATA, PSNAP_EVENT_MODULE, PIECES, SITES,
                            module->piece_count, SITES_MAX};
    uint64_t *at = words;

    memcpy(at, start, sizeof start);
    at += sizeof start / 8;
    memcpy(at, module->table.words, half);
    at += half / 8;
    *at++ = PSNAP_EVENT_DATA;
    *at++ = bytes - half;
    memcpy(at, (const char *)module->table.words + half, bytes - half);
    at += (bytes - half + 7) / 8;
    memcpy(at, end, sizeof end);
    return (size_t)(at - words) + sizeof end / 8;
}

TEST(expansion)
{
    struct module *module = calloc(1, sizeof *module);
    uint64_t *control = calloc(TABLE_WORDS, sizeof *control);

    assert_true(module && control);
    module->expected = calloc(ACCESSES_MAX, sizeof *module->expected);
    assert_non_null(module->expected);
    for (uint64_t seed = 0; seed < 60; seed++) {
        make_module(module, seed);
        for (unsigned way = 0; way < WAYS; way++) {
            struct psnap_decoder decoder;
            struct psnap_error error = {0};
            struct taking taking = {module->expected, module->expected_count, 0, 0, 0, 0};
            decoder_init(&decoder, 7);
            assert_int_equal(feed_control(&decoder, control, make_control(module, control), &error),
                             PSNAP_OK);
            decoder.context.at = module->ring;
            decoder.context.end = module->ring + module->ring_words;
            decoder.context.passes_over = seed % 2;
            while (take(&decoder, &taking, capacities[way / 2], way % 2)) {
                assert_true(
                    !decoder.context.is_stuck ||
                    (psnap_record_is_open(*decoder.context.at) && !decoder.context.passes_over));
                decoder.context.passes_over =
                    seed % 2 || decoder.context.is_stuck; /* waited long enough */
            }
            assert_int_equal(taking.seen, module->expected_count);

            for (uint32_t i = 0; i < BLOCKS; i++) {
                const struct psnap_block *block = &decoder.context.program->blocks[i];
                assert_int_equal(block->executions, module->executions[i]);
                assert_true(block->operations[0] == i && block->operations[1] == 1000000);
            }
            decoder_release(&decoder);
        }
    }

    free(module->expected);
    free(module);
    free(control);
}

/* Another's word, or one that is odd. */
static uint64_t wrong_word(struct psnap_rng *rng, const uint64_t *words, size_t count, size_t at)
{
    return psnap_rng_below(rng, 5) ? odd_word(rng, words[at], 70000)
                                   : words[psnap_rng_below(rng, count)];
}

TEST(corrupt)
{
    struct module *module = calloc(1, sizeof *module);
    uint64_t *control = calloc(TABLE_WORDS, sizeof *control);
    unsigned refused = 0, accepted = 0;
    struct psnap_rng rng;

    assert_true(module && control);
    module->expected = calloc(ACCESSES_MAX, sizeof *module->expected);
    assert_non_null(module->expected);
    psnap_rng_init(&rng, 1);
    for (uint64_t seed = 0; seed < 3000; seed++) {
        struct psnap_decoder decoder;
        struct psnap_error error = {0};
        struct taking taking = {0};
        size_t count;
        if (seed % 10 == 0)
            make_module(module, seed);
        count = make_control(module, control);
        for (uint64_t i = psnap_rng_below(&rng, 3); i > 0; i--) {
            size_t at = psnap_rng_below(&rng, psnap_rng_below(&rng, 2) ? count : 30);
            control[at] = wrong_word(&rng, control, count, at);
        }
        decoder_init(&decoder, 7);
        decoder.context.is_last_part = seed % 2;
        if (psnap_rng_below(&rng, 8) == 0)
            count -= psnap_rng_below(&rng, count);
        if (feed_control(&decoder, control, count, &error)) {
            assert_true(error.message[0]);
            refused++;
        }
        for (uint64_t i = psnap_rng_below(&rng, 4); i > 0; i--) {
            size_t at = psnap_rng_below(&rng, module->ring_words);
            module->ring[at] = wrong_word(&rng, module->ring, module->ring_words, at);
        }
        decoder.context.at = module->ring;
        decoder.context.end = module->ring + module->ring_words;
        while (take(&decoder, &taking, 1 + psnap_rng_below(&rng, 200), seed % 3 == 0) &&
               taking.seen < ACCESSES_MAX)
            ;
        accepted += decoder.context.at == decoder.context.end;
        decoder_release(&decoder);
    }
    assert_true(refused > 300 && accepted > 300); /* both have been tried */
    free(module->expected);
    free(module);
    free(control);
}

/* A copy or a fill of more than any program has memory for is refused at once; one of as much is
 * not. */
TEST(longest)
{
    const uint64_t most = UINT64_C(1) << 47;
    struct module *module = calloc(1, sizeof *module);
    uint64_t *control = calloc(TABLE_WORDS, sizeof *control);

    assert_true(module && control);
    for (unsigned way = 0; way < 4; way++) {
        const bool is_copy = way / 2, is_over = way % 2;
        const uint64_t length = most + is_over;
        const uint64_t copy[] = {PIECES, DATA, HEAP, length}, fill[] = {PIECES, DATA, length};
        struct psnap_access block[16];
        struct psnap_decoder decoder;
        struct psnap_error error = {0};
        ssize_t n;
        *module = (struct module){.ref_count = is_copy ? 2 : 1, .piece_count = 1};
        module->refs[0] = (struct psnap_table_ref){
            .op = is_copy ? PSNAP_REF_COPY : PSNAP_REF_FILL, .size = 64, .lanes = 1};
        module->refs[1] = (struct psnap_table_ref){.op = PSNAP_REF_NONE, .size = 64, .lanes = 1};
        module->pieces[0] =
            (struct psnap_table_piece){0, module->ref_count, is_copy ? 4 : 3, PSNAP_NONE};
        make_table(module);
        decoder_init(&decoder, 7);
        assert_int_equal(feed_control(&decoder, control, make_control(module, control), &error),
                         PSNAP_OK);
        decoder.context.at = is_copy ? copy : fill;
        decoder.context.end = decoder.context.at + (is_copy ? 4 : 3);
        n = psnap_decode(&decoder, block, 16, NULL, &error);
        assert_true(is_over ? n < 0 : n == 16);
        assert_int_equal(error.code, is_over ? PSNAP_ERROR_CORRUPT : PSNAP_OK);
        decoder_release(&decoder);
    }
    free(module);
    free(control);
}

/* A table as one zstd frame is that table; one that is cut, damaged or says another size is none.
 */
TEST(compressed)
{
    static unsigned char frame[ZSTD_COMPRESSBOUND(sizeof(uint32_t[TABLE_WORDS]))];
    struct module *module = calloc(1, sizeof *module);
    const uint64_t globals[] = {DATA};
    size_t size;

    assert_non_null(module);
    module->expected = calloc(ACCESSES_MAX, sizeof *module->expected);
    assert_non_null(module->expected);
    make_module(module, 1);
    size = ZSTD_compress(frame, sizeof frame, module->table.words,
                         module->table.count * sizeof *module->table.words, 1);
    for (size_t cut = 0; cut < size; cut++) {
        struct psnap_program *program = psnap_program_new();
        struct psnap_capture_tables tables;
        struct psnap_error error = {0};
        enum psnap_status status;

        psnap_capture_tables_init(&tables, program);
        assert_true(psnap_capture_tables_add_bytes(&tables, frame, size - cut));
        assert_true(psnap_capture_tables_add_globals(&tables, globals, 1));
        status = psnap_capture_tables_finish(
            &tables, (const uint64_t[]){PIECES, SITES, module->piece_count, SITES_MAX}, &error);
        assert_int_equal(status, cut ? PSNAP_ERROR_CORRUPT : PSNAP_OK);
        if (!cut)
            assert_int_equal(tables.ref_count, module->ref_count);
        psnap_capture_tables_release(&tables);
        psnap_program_free(program);
    }
    free(module->expected);
    free(module);
}
