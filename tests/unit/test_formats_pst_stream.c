/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Streams of the native trace, payload by payload (PST.md, "Methods"): what comes again costs
 * next to nothing, however far before it was within the window; a stream ends after so many
 * bytes, so that who seeks in it has not to go further back; what is read is what was written.
 * And of what is regular there are few chunks, however long it is.
 */
#include "tests/unit/test_formats_support.h"

#include <zstd.h>

#include "formats/pst.h"

enum { PART = 2 << 20, BETWEEN = 12 };

static void make_part(struct psnap_bytes *payload, uint64_t seed)
{
    struct psnap_rng rng;
    unsigned char *at;

    psnap_rng_init(&rng, seed);
    payload->size = 0;
    at = psnap_bytes_extend(payload, PART);
    assert_non_null(at);
    for (size_t i = 0; i < PART; i += 8)
        psnap_record_put_u64(at + i, psnap_rng_next(&rng));
}

/* Stores the payload and reads it back; returns the method. */
static uint8_t pass(struct psnap_pst_squeezer *squeezer, struct psnap_pst_expander *expander,
                    const struct psnap_bytes *payload, size_t *stored_size)
{
    const unsigned char *stored;
    const uint8_t method = psnap_pst_squeeze(squeezer, 1, payload, &stored, stored_size);
    const struct psnap_pst_frame frame = {.type = PSNAP_PST_ACCESSES,
                                          .stored = stored,
                                          .stored_size = (uint32_t)*stored_size,
                                          .raw_size = (uint32_t)payload->size,
                                          .method = method};
    struct psnap_cursor back;
    struct psnap_error error;

    assert_int_equal(psnap_pst_expand(expander, &frame, &back, &error), PSNAP_OK);
    assert_int_equal(back.end - back.at, payload->size);
    assert_memory_equal(back.at, payload->data, payload->size);
    return method;
}

/* Random bytes come again 26 MB later. */
static void what_comes_again(void **state)
{
    struct psnap_pst_squeezer *squeezer = psnap_pst_squeezer_new();
    struct psnap_pst_expander *expander = psnap_pst_expander_new();
    struct psnap_bytes payload = {0};
    size_t size;

    (void)state;
    for (uint64_t i = 0; i <= BETWEEN; i++) {
        make_part(&payload, i);
        assert_int_equal(pass(squeezer, expander, &payload, &size),
                         i ? PSNAP_PST_CONTINUED : PSNAP_PST_BEGUN);
        assert_in_range(size, PART, psnap_pst_stored_max(PART));
    }
    make_part(&payload, 0);
    assert_int_equal(pass(squeezer, expander, &payload, &size), PSNAP_PST_CONTINUED);
    assert_in_range(size, 1, PART / 20);
    psnap_bytes_release(&payload);
    psnap_pst_squeezer_free(squeezer);
    psnap_pst_expander_free(expander);
}

static void streams_end(void **state)
{
    struct psnap_pst_squeezer *squeezer = psnap_pst_squeezer_new();
    struct psnap_pst_expander *expander = psnap_pst_expander_new();
    struct psnap_bytes payload = {.size = PSNAP_PST_PAYLOAD_MAX};
    const uint64_t whole = PSNAP_PST_STREAM_BYTES / PSNAP_PST_PAYLOAD_MAX;
    size_t size;

    (void)state;
    payload.data = calloc(1, payload.size);
    assert_non_null(payload.data);
    for (uint64_t i = 0; i < whole + 2; i++)
        assert_int_equal(pass(squeezer, expander, &payload, &size),
                         i % whole ? PSNAP_PST_CONTINUED : PSNAP_PST_BEGUN);
    free(payload.data);
    psnap_pst_squeezer_free(squeezer);
    psnap_pst_expander_free(expander);
}

/* A stream may not ask for more memory than a window of 32 MiB. */
static void larger_windows(void **state)
{
    for (int bits = PSNAP_PST_STREAM_WINDOW_BITS; bits < PSNAP_PST_STREAM_WINDOW_BITS + 2; bits++) {
        static unsigned char raw[1000], stored[2000];
        ZSTD_CCtx *zstd = ZSTD_createCCtx();
        ZSTD_inBuffer in = {raw, sizeof raw, 0};
        ZSTD_outBuffer out = {stored, sizeof stored, 0};
        struct psnap_pst_expander *expander = psnap_pst_expander_new();
        struct psnap_pst_frame frame = {.type = PSNAP_PST_ACCESSES,
                                        .stored = stored,
                                        .raw_size = sizeof raw,
                                        .method = PSNAP_PST_BEGUN};
        struct psnap_cursor payload;
        struct psnap_error error;

        assert_false(ZSTD_isError(ZSTD_CCtx_setParameter(zstd, ZSTD_c_windowLog, bits)));
        assert_int_equal(ZSTD_compressStream2(zstd, &out, &in, ZSTD_e_flush), 0);
        frame.stored_size = (uint32_t)out.pos;
        assert_int_equal(psnap_pst_expand(expander, &frame, &payload, &error),
                         bits == PSNAP_PST_STREAM_WINDOW_BITS ? PSNAP_OK : PSNAP_ERROR_CORRUPT);
        ZSTD_freeCCtx(zstd);
        psnap_pst_expander_free(expander);
    }
    (void)state;
}

/* 2^34 accesses: chunks grow with what is before them, so they are not 128. */
static void chunks_grow(void **state)
{
    const struct psnap_access first[2] = {{0x10000, 0, 8, PSNAP_LOAD, 0},
                                          {UINT64_C(0x1000000000), 1, 8, PSNAP_STORE, 0}};
    const int64_t strides[2] = {8, 8};
    const struct psnap_run run = {
        .first = first, .strides = strides, .width = 2, .count = UINT64_C(1) << 33};
    struct psnap_program *program = psnap_program_new();
    char *data = NULL;
    size_t size = 0, chunks = 0;
    FILE *file = open_memstream(&data, &size);
    struct memory_input input;
    struct psnap_error error;
    struct psnap_source *source;
    struct psnap_sink *sink;
    uint64_t passed;

    (void)state;
    assert_int_equal(psnap_program_add_anonymous(program, "long"), PSNAP_OK);
    sink = psnap_pst_writer_new(file, program, 0, NULL, &error);
    assert_int_equal(psnap_sink_put_run(sink, &run, &error), PSNAP_OK);
    assert_int_equal(psnap_sink_finish(sink, &error), PSNAP_OK);
    psnap_sink_free(sink);
    fclose(file);
    for (size_t at = PSNAP_PST_FILE_HEADER; at < size; chunks++)
        at += PSNAP_PST_FRAME_HEADER + psnap_record_u32((const unsigned char *)data + at + 24);
    assert_in_range(chunks, 1, 24);
    assert_in_range(size, 1, 4000);
    source = open_memory(&input, data, size, 1 << 20, NULL, &error);
    assert_non_null(source);
    assert_int_equal(psnap_trace_skip(source, UINT64_MAX, &passed, &error), PSNAP_OK);
    assert_int_equal(passed, 2 * run.count);
    psnap_source_free(source);
    psnap_program_free(program);
    free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_comes_again), cmocka_unit_test(streams_end),
        cmocka_unit_test(larger_windows), cmocka_unit_test(chunks_grow)};

    return cmocka_run_group_tests_name("formats_pst_stream", tests, NULL, NULL);
}
