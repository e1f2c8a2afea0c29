/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Streams of the native trace (PST.md, "Methods"): what comes again costs next to nothing, however
 * far before it was within the window; a stream ends after so many bytes; what is read is what was
 * written. Going to an access by its number and reading on from there is the same as reading all:
 * for nests, gathers that repeat, random addresses and threads, in many chunks. And of what is
 * regular there are few chunks, however long it is.
 */
#include "tests/unit/test_formats_support.h"

#include <unistd.h>
#include <zstd.h>

#include "formats/pst.h"
#include "tests/unit/test.h"

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

/* Writes the payload as a frame behind others, and reads it back; returns the method. */
static uint8_t pass(struct psnap_pst_packer *packer, struct psnap_pst_unpacker *unpacker,
                    const struct psnap_bytes *payload, size_t *stored_size)
{
    const struct psnap_pst_frame frame = {.type = PSNAP_PST_ACCESSES, .accesses = 1};
    struct psnap_pst_frame back;
    struct memory_input input = {.piece = SIZE_MAX};
    struct psnap_cursor content;
    struct psnap_error error;
    struct psnap_reader *reader = psnap_reader_new(memory_read, NULL, &input, "memory", &error);
    char *data = NULL;

    packer->file = open_memstream(&data, &input.size);
    assert_int_equal(psnap_pst_pack(packer, &frame, payload, &error), PSNAP_OK);
    fclose(packer->file);
    input.data = data;
    unpacker->consume = 0;
    assert_int_equal(psnap_pst_unpack(unpacker, reader, &back, &content, &error), PSNAP_OK);
    assert_int_equal(content.end - content.at, payload->size);
    assert_memory_equal(content.at, payload->data, payload->size);
    *stored_size = back.stored_size;
    psnap_reader_free(reader);
    free(data);
    return back.method;
}

/* Random bytes come again 26 MB later. */
TEST(what_comes_again)
{
    struct psnap_pst_packer packer = {0};
    struct psnap_pst_unpacker unpacker = {0};
    struct psnap_bytes payload = {0};
    size_t size;

    for (uint64_t i = 0; i <= BETWEEN; i++) {
        make_part(&payload, i);
        assert_int_equal(pass(&packer, &unpacker, &payload, &size),
                         i ? PSNAP_PST_CONTINUED : PSNAP_PST_BEGUN);
        assert_in_range(size, PART, psnap_pst_stored_max(PART));
    }
    make_part(&payload, 0);
    assert_int_equal(pass(&packer, &unpacker, &payload, &size), PSNAP_PST_CONTINUED);
    assert_in_range(size, 1, PART / 20);
    psnap_bytes_release(&payload);
    psnap_pst_packer_release(&packer);
    psnap_pst_unpacker_release(&unpacker);
}

TEST(streams_end)
{
    struct psnap_pst_packer packer = {0};
    struct psnap_pst_unpacker unpacker = {0};
    struct psnap_bytes payload = {.size = PSNAP_PST_PAYLOAD_MAX};
    const uint64_t whole = PSNAP_PST_STREAM_BYTES / PSNAP_PST_PAYLOAD_MAX;
    size_t size;

    payload.data = calloc(1, payload.size);
    assert_non_null(payload.data);
    for (uint64_t i = 0; i < whole + 2; i++)
        assert_int_equal(pass(&packer, &unpacker, &payload, &size),
                         i % whole ? PSNAP_PST_CONTINUED : PSNAP_PST_BEGUN);
    free(payload.data);
    psnap_pst_packer_release(&packer);
    psnap_pst_unpacker_release(&unpacker);
}

/* A stream may not ask for more memory than a window of 32 MiB. */
TEST(larger_windows)
{
    static unsigned char raw[1000], file[PSNAP_PST_FRAME_HEADER + 2000];

    for (int bits = PSNAP_PST_STREAM_WINDOW_BITS; bits < PSNAP_PST_STREAM_WINDOW_BITS + 2; bits++) {
        ZSTD_CCtx *zstd = ZSTD_createCCtx();
        ZSTD_inBuffer in = {raw, sizeof raw, 0};
        ZSTD_outBuffer out = {file + PSNAP_PST_FRAME_HEADER, 2000, 0};
        struct psnap_pst_unpacker unpacker = {0};
        struct memory_input input = {.data = file, .piece = SIZE_MAX};
        struct psnap_reader *reader;
        struct psnap_pst_frame frame;
        struct psnap_cursor payload;
        struct psnap_error error;
        uint64_t chain = 0;

        assert_false(ZSTD_isError(ZSTD_CCtx_setParameter(zstd, ZSTD_c_windowLog, bits)));
        assert_int_equal(ZSTD_compressStream2(zstd, &out, &in, ZSTD_e_flush), 0);
        psnap_record_put_u32(file, PSNAP_PST_ACCESSES);
        file[4] = PSNAP_PST_BEGUN;
        psnap_record_put_u32(file + 20, sizeof raw);
        psnap_record_put_u32(file + 24, (uint32_t)out.pos);
        psnap_pst_frame_seal(file, file + PSNAP_PST_FRAME_HEADER, out.pos, &chain);
        input.size = PSNAP_PST_FRAME_HEADER + out.pos;
        reader = psnap_reader_new(memory_read, NULL, &input, "memory", &error);
        assert_int_equal(psnap_pst_unpack(&unpacker, reader, &frame, &payload, &error),
                         bits == PSNAP_PST_STREAM_WINDOW_BITS ? PSNAP_OK : PSNAP_ERROR_CORRUPT);
        ZSTD_freeCCtx(zstd);
        psnap_reader_free(reader);
        psnap_pst_unpacker_release(&unpacker);
    }
}

/* 2^34 accesses: chunks grow with what is before them, so they are not 128. */
TEST(chunks_grow)
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

    assert_int_equal(psnap_program_add_anonymous(program, "long"), PSNAP_OK);
    sink = psnap_pst_writer_new(file, program, 0, NULL, &error);
    assert_int_equal(psnap_sink_put_run(sink, &run, &error), PSNAP_OK);
    end_trace(sink, NULL, 0, file);
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

enum { COUNT = 400000, CHUNK = 30000, READ = 5000, SEEKS = 10 };

static struct psnap_access accesses[COUNT];
static char *data;
static size_t size;

/* An affine nest, three references. */
static void make_nest(struct psnap_rng *rng)
{
    (void)rng;
    for (uint64_t i = 0, t = 0; t < COUNT; i++)
        for (uint64_t j = 0; j < 50 && t < COUNT; j++, t++)
            accesses[t] = (struct psnap_access){
                UINT64_C(0x10000) * (1 + t % 3) + 8 * (t % 3 ? 50 * i + j : 50 * j + i),
                (uint32_t)(t % 3), 8, t % 3 == 2 ? PSNAP_STORE : PSNAP_LOAD, 0};
}

/* A walk and a gather at the same random places in each iteration, which is longer than a chunk. */
static void make_gather(struct psnap_rng *rng)
{
    enum { ITERATION = 2 * 45001 };
    for (size_t t = 0; t < COUNT; t++) {
        const uint64_t element = t % ITERATION / 2;
        if (t >= ITERATION)
            accesses[t] = accesses[t - ITERATION];
        else
            accesses[t] = (struct psnap_access){t % 2 ? 0x900000 + 8 * psnap_rng_below(rng, 60000)
                                                      : 0x100000 + 4 * element,
                                                (uint32_t)(t % 2), 8, PSNAP_LOAD, 0};
    }
}

static void make_random(struct psnap_rng *rng)
{
    for (size_t t = 0; t < COUNT; t++)
        accesses[t] = (struct psnap_access){psnap_rng_next(rng), (uint32_t)psnap_rng_below(rng, 3),
                                            8, (uint8_t)psnap_rng_below(rng, 3), 0};
}

/* Threads take turns; one walks, the others gather. */
static void make_threads(struct psnap_rng *rng)
{
    uint16_t thread = 0;
    uint64_t at[4] = {0};

    for (size_t t = 0; t < COUNT; t++) {
        if (psnap_rng_below(rng, 40) == 0)
            thread = (uint16_t)psnap_rng_below(rng, 4);
        at[thread] = thread ? psnap_rng_below(rng, 100000) : at[thread] + 1;
        accesses[t] = (struct psnap_access){0x100000 + 8 * at[thread], thread ? 1u : 0u, 8,
                                            PSNAP_LOAD, thread};
    }
}

/* Nest and gather by turns: chunks of both kinds of compression. */
static void make_mixed(struct psnap_rng *rng)
{
    make_nest(rng);
    for (size_t t = 0; t < COUNT; t++)
        if (t / 70000 % 2)
            accesses[t].address = psnap_rng_below(rng, 1 << 22);
}

static struct psnap_program *make_program(void)
{
    struct psnap_program *program = psnap_program_new();
    const struct psnap_block block = {0};

    assert_non_null(program);
    psnap_program_add_anonymous(program, "seek");
    while (program->ref_count < 3) {
        struct psnap_ref ref = {0};
        ref.block = psnap_program_add_block(program, &block);
        psnap_program_add_ref(program, &ref);
    }
    return program;
}

/* Fills data and size; an object is announced every 90,000 accesses. */
static void write_trace(void)
{
    struct psnap_program *program = make_program();
    FILE *file = open_memstream(&data, &size);
    struct psnap_error error;
    struct psnap_sink *sink = psnap_pst_writer_new(file, program, CHUNK, NULL, &error);
    struct psnap_rng rng;

    psnap_rng_init(&rng, 9);
    for (size_t t = 0; t < COUNT; t += 10000) {
        if (t % 90000 == 0)
            announce_object(program, &rng);
        assert_int_equal(psnap_sink_put(sink, accesses + t, 10000, &error), PSNAP_OK);
    }
    end_trace(sink, NULL, 0, file);
    psnap_program_free(program);
}

/* Reads `n` accesses, which must be those from `position` on. */
static void check_from(struct psnap_source *source, uint64_t position, uint64_t n)
{
    static struct psnap_access block[READ];
    struct psnap_error error;

    while (n > 0) {
        const ssize_t got = psnap_source_next(source, block, n < 777 ? (size_t)n : 777, &error);
        assert_true(got > 0);
        assert_same_accesses(accesses + position, (size_t)got, block, (size_t)got);
        position += (uint64_t)got;
        n -= (uint64_t)got;
    }
}

/* Goes to two random places, one after the other, and reads a bit at each. */
static void check_seek(struct psnap_rng *rng)
{
    struct memory_input input;
    struct psnap_error error;
    struct psnap_source *source = open_memory(&input, data, size, 40000, NULL, &error);
    const uint64_t places[2] = {psnap_rng_below(rng, COUNT - 2 * READ), COUNT - READ};
    uint64_t position = 0, skipped;

    assert_non_null(source);
    for (int i = 0; i < 2; i++) {
        const uint64_t to = position + psnap_rng_below(rng, places[i] - position + 1);

        assert_int_equal(psnap_trace_skip(source, to - position, &skipped, &error), PSNAP_OK);
        assert_int_equal(skipped, to - position);
        check_from(source, to, READ);
        position = to + READ;
    }
    psnap_source_free(source);
}

/* Chunks that go on from others. */
static size_t count_parts(void)
{
    size_t n = 0;

    for (size_t at = PSNAP_PST_FILE_HEADER; at < size;) {
        const unsigned char *header = (const unsigned char *)data + at;

        n += header[4] == PSNAP_PST_CONTINUED;
        at += PSNAP_PST_FRAME_HEADER + psnap_record_u32(header + 24);
    }
    return n;
}

static void check(void (*make)(struct psnap_rng *rng), bool is_irregular)
{
    struct psnap_rng rng;

    psnap_rng_init(&rng, 4);
    make(&rng);
    write_trace();
    assert_int_equal(count_parts() > 2, is_irregular);
    for (int i = 0; i < SEEKS; i++)
        check_seek(&rng);
    free(data);
}

TEST(test_seek)
{
    check(make_nest, false);
    check(make_gather, true);
    check(make_random, true);
    check(make_threads, true);
    check(make_mixed, true);
}

/* The second, third and fourth iteration, in other chunks than the first, are nearly free. */
TEST(test_repeated_is_small)
{
    struct psnap_rng rng;

    psnap_rng_init(&rng, 4);
    make_gather(&rng);
    write_trace();
    assert_true(size < 45001 * 3); /* 16 bits of each place, once */
    free(data);
}

/* A part whose beginning is not there is refused where it stands, not misread. */
TEST(test_part_without_beginning)
{
    struct memory_input input;
    struct psnap_error error;
    struct psnap_rng rng;
    uint64_t chain;
    unsigned char header[PSNAP_PST_FILE_HEADER];
    char place[64], text[1024];
    size_t first = 0, at = PSNAP_PST_FILE_HEADER;

    psnap_rng_init(&rng, 4);
    make_gather(&rng);
    write_trace();
    psnap_pst_file_header_make(header, PSNAP_PST_VERSION, &chain);
    while (at < size) {
        unsigned char *frame = (unsigned char *)data + at;
        const size_t stored = psnap_record_u32(frame + 24);

        if (frame[4] == PSNAP_PST_BEGUN) {
            frame[4] = PSNAP_PST_CONTINUED;
            first = first ? first : at;
        }
        psnap_pst_frame_seal(frame, frame + PSNAP_PST_FRAME_HEADER, stored, &chain);
        at += PSNAP_PST_FRAME_HEADER + stored;
    }
    snprintf(place, sizeof place, "offset %zu", first);
    assert_null(open_memory(&input, data, size, 1 << 20, NULL, &error));
    assert_int_equal(error.code, PSNAP_ERROR_CORRUPT);
    assert_non_null(strstr(error.message, "goes on from"));
    psnap_error_format(&error, text, sizeof text);
    assert_non_null(strstr(text, place));
    free(data);
}

/* By the headers alone, wherever the file is read; of what is no trace, or a pipe, nothing. */
TEST(test_count)
{
    FILE *file = fopen("tests/golden/formats/rich.pst", "rb");
    struct psnap_error error = {0};
    struct psnap_access block[256];
    struct psnap_source *source;
    uint64_t total = 0;
    int ends[2];
    ssize_t n;

    assert_non_null(file);
    source = psnap_trace_open_file(file, "rich", NULL, &error);
    assert_non_null(source);
    while ((n = psnap_source_next(source, block, 256, &error)) > 0)
        total += (uint64_t)n;
    assert_true(total > 0);
    assert_int_equal(psnap_pst_count(fileno(file)), total);
    psnap_source_free(source);
    file = fopen("tests/unit/test_formats_pst_stream.c", "rb");
    assert_int_equal(psnap_pst_count(fileno(file)), 0);
    fclose(file);
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(psnap_pst_count(ends[0]), 0);
    close(ends[0]);
    close(ends[1]);
}
