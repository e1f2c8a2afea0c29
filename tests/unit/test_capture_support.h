/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared by the tests of decoding: a decoder by itself, fed with control
 * records, and what it makes of a ring compared with what is expected.
 */
#ifndef PSNAP_TEST_CAPTURE_SUPPORT_H
#define PSNAP_TEST_CAPTURE_SUPPORT_H

#include "tests/unit/test.h"

#include "capture/decode/decode.h"
#include "formats/base/layout.h"
#include "formats/base/rng.h"
#include "tests/unit/test_affine_support.h"

#define IMAGE UINT64_C(0x555555554000)
#define IMAGE_BYTES (UINT64_C(1) << 26)
#define PIECES (IMAGE + 0x1000)
#define HEAP UINT64_C(0x555570000000)

enum { TABLE_WORDS = 12000 };

/* A module's table as the pass lays it out. */
struct table {
    uint32_t words[TABLE_WORDS];
    size_t count;
};

static inline void put_rows(struct table *table, const void *rows, size_t bytes)
{
    memcpy(table->words + table->count, rows, bytes);
    table->count += bytes / sizeof *table->words;
    assert_true(table->count < TABLE_WORDS);
}

/* An access to the image, or the heap, as the collector is to tell it. */
static inline uint64_t canonical(uint64_t address)
{
    const struct psnap_place image = {PSNAP_GROUP_IMAGE, 0, (int64_t)(address - IMAGE)};
    const struct psnap_place heap = {PSNAP_GROUP_HEAP, 0, (int64_t)(address - HEAP)};

    return psnap_layout_join(address >= HEAP ? heap : image);
}

static inline void decoder_init(struct psnap_decoder *decoder, uint16_t thread)
{
    *decoder = (struct psnap_decoder){.context = {.thread = thread, .passes_over = true}};
    psnap_rebase_init(&decoder->context.rebase);
    decoder->context.program = psnap_program_new();
    assert_non_null(decoder->context.program);
    psnap_capture_tables_init(&decoder->context.tables, decoder->context.program);
}

static inline void decoder_release(struct psnap_decoder *decoder)
{
    psnap_capture_tables_release(&decoder->context.tables);
    psnap_rebase_release(&decoder->context.rebase);
    psnap_decoder_release(decoder);
    psnap_program_free(decoder->context.program);
}

static inline enum psnap_status feed_control(struct psnap_decoder *decoder, const uint64_t *words,
                                             size_t count, struct psnap_error *error)
{
    for (size_t at = 0; at < count;) {
        const uint64_t length =
            psnap_context_control(&decoder->context, words + at, words + count, error);
        if (!length)
            return error->code;
        at += length;
    }
    return PSNAP_OK;
}

/* A decoder of these words of a ring, by a program of one module. */
static inline enum psnap_status open_ring(struct psnap_decoder *decoder, const struct table *table,
                                          uint64_t piece_count, const uint64_t *ring, size_t words,
                                          struct psnap_error *error)
{
    const uint64_t bytes = table->count * sizeof *table->words;
    const uint64_t start[] = {PSNAP_EVENT_HEAP, HEAP, PSNAP_EVENT_IMAGE, IMAGE, IMAGE + IMAGE_BYTES,
                              PSNAP_EVENT_DATA, bytes};
    const uint64_t module[] = {PSNAP_EVENT_MODULE, PIECES, 0, piece_count, 0};
    const size_t count = COUNT(start) + (bytes + 7) / 8;
    uint64_t *data = calloc(count + COUNT(module), sizeof *data);
    enum psnap_status status;

    assert_non_null(data);
    decoder_init(decoder, 3);
    decoder->context.at = ring;
    decoder->context.end = ring + words;
    memcpy(data, start, sizeof start);
    memcpy(data + COUNT(start), table->words, bytes);
    memcpy(data + count, module, sizeof module);
    status = feed_control(decoder, data, count + COUNT(module), error);
    free(data);
    return status;
}

/* What is expected of a ring, NULL for anything; and what has come. */
struct taking {
    const struct psnap_access *expected;
    size_t expected_count, seen;
    uint64_t runs, column_runs, turning_runs;
    uint64_t columns;     /* accesses of them */
    uint64_t nests, deep; /* of several loops, of three levels */
};

static inline void compare_run(struct taking *taking, const struct psnap_run *run)
{
    taking->runs += run->count > 0;
    taking->column_runs += run->count > 0 && run->columns;
    taking->turning_runs += run->count > 0 && run->turns > 1;
    for (size_t k = 0, j = 0; k < run->width && run->count; k++)
        for (j = 0; j < k; j++)
            assert_true(run->first[j].ref != run->first[k].ref || run->turns > 1);
    for (uint64_t i = 0; i < run->count; i++)
        for (size_t k = 0; k < run->width; k++) {
            struct psnap_access access = run->first[k];
            access.address = psnap_run_address(run, i, k);
            if (run->columns && run->columns[k].words)
                taking->columns++;
            assert_memory_equal(&access, taking->expected + taking->seen++, sizeof access);
        }
}

/* The next accesses; false at the end of the ring, or at an error, which is not expected. */
static inline bool take(struct psnap_decoder *decoder, struct taking *taking, size_t capacity,
                        bool with_runs)
{
    static struct psnap_access block[4096];
    struct psnap_error error = {0};
    struct psnap_nest nest = {0};
    struct psnap_nest_walk walk;
    struct psnap_run run;
    const ssize_t n = psnap_decode(decoder, block, capacity, with_runs ? &nest : NULL, &error);

    if (n < 0) {
        assert_int_equal(error.code, n);
        assert_true(error.message[0]);
        if (taking->expected)
            fail_msg("%s", error.message);
        return false;
    }
    assert_true((size_t)n <= capacity);
    if (taking->expected) {
        assert_true(taking->seen + (size_t)n + psnap_nest_accesses(&nest) <=
                    taking->expected_count);
        assert_memory_equal(block, taking->expected + taking->seen, (size_t)n * sizeof *block);
    }
    taking->seen += (size_t)n;
    taking->nests += nest.loop_count > 1;
    taking->deep += nest.loop_count > 1 && nest.loops[1].inside;
    psnap_nest_walk_init(&walk, &nest);
    while (taking->expected && psnap_nest_walk_next(&walk, &run))
        compare_run(taking, &run);
    if (!taking->expected) {
        const uint64_t accesses = psnap_nest_accesses(&nest);
        taking->seen += accesses < (1 << 20) ? accesses : 1 << 20;
    }
    return !psnap_decoder_is_done(decoder);
}

static inline void take_all(struct psnap_decoder *decoder, struct taking *taking, size_t capacity,
                            bool with_runs)
{
    while (take(decoder, taking, capacity, with_runs))
        ;
    assert_int_equal(taking->seen, taking->expected_count);
}

/* That blocks were executed as often as they were. */
static inline void assert_executed(const struct psnap_decoder *decoder, const uint64_t *executions,
                                   uint32_t blocks)
{
    for (uint32_t i = 0; i < blocks; i++)
        assert_int_equal(decoder->context.program->blocks[i].executions, executions[i]);
}

/* Blocks of many capacities, with runs and without. */
static const size_t capacities[] = {1, 2, 3, 7, 64, 4096};
enum { WAYS = 2 * COUNT(capacities) };

/* What has become of modules and rings that need not be right. */
struct outcomes {
    unsigned refused, accepted, failed;
};

/* Decodes the ring, as far as `accesses_max`, unless `status` says that its module was refused. */
static inline void take_odd(struct psnap_decoder *decoder, enum psnap_status status,
                            const struct psnap_error *error, size_t accesses_max, bool with_runs,
                            struct psnap_rng *rng, struct outcomes *outcomes)
{
    struct taking taking = {0};

    if (status) {
        assert_true(error->message[0]);
        outcomes->refused++;
        return;
    }
    while (taking.seen < accesses_max &&
           take(decoder, &taking, 1 + psnap_rng_below(rng, 200), with_runs))
        ;
    outcomes->accepted += decoder->context.at == decoder->context.end;
    outcomes->failed += decoder->context.at != decoder->context.end;
}

/* An odd word in the place of one: a flipped bit, a small number, a large one, anything. */
static inline uint64_t odd_word(struct psnap_rng *rng, uint64_t word, uint64_t small)
{
    switch (psnap_rng_below(rng, 4)) {
    case 0:
        return word ^ UINT64_C(1) << psnap_rng_below(rng, 64);
    case 1:
        return psnap_rng_below(rng, small);
    case 2:
        return UINT64_MAX >> psnap_rng_below(rng, 64);
    default:
        return psnap_rng_next(rng);
    }
}

#endif
