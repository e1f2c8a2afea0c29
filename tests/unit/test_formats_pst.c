/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The native trace: what goes in comes out, whatever the stream, and nothing
 * that is damaged or cut off comes out as if it were whole.
 */
#include "tests/unit/test_formats_support.h"

#include <errno.h>

#include "formats/pst.h"

enum { SMALL_CHUNK = 64 };

struct written {
    char *data;
    size_t size;
    struct psnap_program *program;
    struct psnap_access *accesses;
    size_t count;
    uint64_t announced[64]; /* number of the access before which object i was announced */
};

/* Writes `count` random accesses in `blocks` blocks, between which the program grows. */
static void write_random(struct written *written, uint64_t seed, size_t count, size_t blocks,
                         uint32_t chunk)
{
    struct psnap_rng rng;
    FILE *file = open_memstream(&written->data, &written->size);
    struct psnap_sink *sink;
    struct psnap_error error;
    size_t done = 0;

    psnap_rng_init(&rng, seed);
    written->program = random_program(&rng);
    written->count = count;
    written->accesses = calloc(count + 1, sizeof *written->accesses);
    sink = psnap_pst_writer_new(file, written->program, chunk, NULL, &error);
    assert_non_null(sink);
    for (size_t b = 0; b < blocks; b++) {
        const size_t n =
            b + 1 < blocks ? (size_t)psnap_rng_below(&rng, count - done + 1) : count - done;

        if (psnap_rng_below(&rng, 3) == 0)
            grow_program(written->program, &rng);
        if (psnap_rng_below(&rng, 2) == 0 && written->program->object_count < 64) {
            written->announced[written->program->object_count] = done;
            announce_object(written->program, &rng);
        }
        random_accesses(written->program, &rng, written->accesses + done, n);
        assert_int_equal(psnap_sink_put(sink, written->accesses + done, n, &error), PSNAP_OK);
        done += n;
    }
    for (uint32_t i = 0; i < written->program->block_count; i++)
        written->program->blocks[i].executions = psnap_rng_next(&rng) >> (i % 64);
    assert_int_equal(psnap_sink_finish(sink, &error), PSNAP_OK);
    psnap_sink_free(sink);
    fclose(file);
}

static void release(struct written *written)
{
    psnap_program_free(written->program);
    free(written->accesses);
    free(written->data);
}

static void check_round_trip(uint64_t seed, size_t count, size_t blocks, uint32_t chunk,
                             size_t piece)
{
    struct written written = {0};
    struct memory_input input;
    struct psnap_error error;
    enum psnap_status status;
    struct psnap_source *source;
    struct psnap_access *back;
    size_t n;

    write_random(&written, seed, count, blocks, chunk);
    source = open_memory(&input, written.data, written.size, piece, NULL, &error);
    assert_non_null(source);
    assert_string_equal(psnap_trace_format(source)->name, "pst");
    back = read_all(source, &n, &status, &error);
    assert_int_equal(status, PSNAP_OK);
    assert_same_accesses(written.accesses, written.count, back, n);
    assert_same_program(written.program, source->program);
    free(back);
    psnap_source_free(source);
    release(&written);
}

static void test_round_trip(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 40; seed++)
        check_round_trip(seed, (size_t)(seed * seed * 17), 1 + seed % 7,
                         seed % 2 ? 0 : (uint32_t)(1 + seed * 31), seed % 3 ? 1 << 20 : 13);
    check_round_trip(100, 0, 1, 0, 1);
    check_round_trip(101, 1, 1, 1, 1);
    check_round_trip(102, 3000000, 9, 0, 1 << 20);
}

/* Objects appear no earlier and no later than they were announced. */
static void test_objects_keep_their_time(void **state)
{
    struct written written = {0};
    struct memory_input input;
    struct psnap_error error;
    struct psnap_source *source;
    struct psnap_access block[300];
    size_t position = 0;
    ssize_t got;

    (void)state;
    write_random(&written, 7, 20000, 60, 1000);
    assert_true(written.program->object_count > 10);
    source = open_memory(&input, written.data, written.size, 1 << 20, NULL, &error);
    assert_non_null(source);
    while ((got = psnap_source_next(source, block, 300, &error)) > 0) {
        uint32_t expected = 0;
        while (expected < written.program->object_count && written.announced[expected] <= position)
            expected++;
        assert_int_equal(source->program->object_count, expected);
        position += (size_t)got;
        if (expected < written.program->object_count)
            assert_true(position <= written.announced[expected]);
    }
    assert_int_equal(got, 0);
    psnap_source_free(source);
    release(&written);
}

static void test_skip(void **state)
{
    struct written written = {0};
    struct psnap_error error;

    (void)state;
    write_random(&written, 11, 5000, 20, 512);
    for (uint64_t skip = 0; skip < 5600; skip += 173) {
        const uint64_t expected = skip < written.count ? skip : written.count;
        struct memory_input input;
        enum psnap_status status;
        struct psnap_access *back;
        uint64_t skipped;
        size_t n;
        struct psnap_source *source =
            open_memory(&input, written.data, written.size, 4096, NULL, &error);

        assert_int_equal(psnap_trace_skip(source, skip / 2, &skipped, &error), PSNAP_OK);
        assert_int_equal(psnap_trace_skip(source, skip - skip / 2, NULL, &error), PSNAP_OK);
        back = read_all(source, &n, &status, &error);
        assert_int_equal(status, PSNAP_OK);
        assert_same_accesses(written.accesses + expected, written.count - expected, back, n);
        assert_same_program(written.program, source->program);
        free(back);
        psnap_source_free(source);
    }
    release(&written);
}

/* Cut off at every byte: an error, and every access of the whole chunks before it. */
static void test_truncation(void **state)
{
    struct written written = {0};
    struct psnap_error error;
    size_t whole_before = 0;

    (void)state;
    write_random(&written, 5, 400, 8, SMALL_CHUNK);
    for (size_t size = 0; size < written.size; size++) {
        struct memory_input input;
        enum psnap_status status;
        struct psnap_access *back;
        size_t n;
        struct psnap_source *source =
            open_memory(&input, written.data, size, 1 << 20, size ? NULL : "pst", &error);

        if (size < PSNAP_PST_FILE_HEADER) {
            assert_null(source);
            assert_int_equal(error.code, PSNAP_ERROR_TRUNCATED);
            continue;
        }
        assert_non_null(source);
        back = read_all(source, &n, &status, &error);
        assert_int_equal(status, PSNAP_ERROR_TRUNCATED);
        assert_int_equal(error.offset, size);
        assert_true(n % SMALL_CHUNK == 0 || n == written.count);
        assert_true(n >= whole_before);
        whole_before = n;
        assert_same_accesses(written.accesses, n, back, n);
        free(back);
        psnap_source_free(source);
    }
    assert_int_equal(whole_before, written.count); /* only the end frame was missing */
    release(&written);
}

/* One bit turned in every byte: always an error, never an access that was not written. */
static void test_bit_flips(void **state)
{
    struct written written = {0};
    struct psnap_error error;

    (void)state;
    write_random(&written, 8, 300, 6, SMALL_CHUNK);
    for (size_t i = 0; i < written.size; i++) {
        struct memory_input input;
        enum psnap_status status = PSNAP_ERROR_CORRUPT;
        size_t n;
        struct psnap_source *source;

        written.data[i] = (char)(written.data[i] ^ (1 << (i % 8)));
        source = open_memory(&input, written.data, written.size, 1 << 20, "pst", &error);
        if (source) {
            struct psnap_access *back = read_all(source, &n, &status, &error);
            assert_true(n <= written.count);
            assert_same_accesses(written.accesses, n, back, n);
            free(back);
        }
        assert_int_equal(status, PSNAP_ERROR_CORRUPT);
        assert_int_equal(error.code, PSNAP_ERROR_CORRUPT);
        assert_true(error.offset <= i);
        psnap_source_free(source);
        written.data[i] = (char)(written.data[i] ^ (1 << (i % 8)));
    }
    release(&written);
}

/* A whole frame that is missing, doubled or moved is found too, and so is anything at the end. */
static void test_frames_out_of_place(void **state)
{
    struct written written = {0};
    struct memory_input input;
    struct psnap_error error;
    enum psnap_status status;
    struct psnap_source *source;
    size_t n, first, second;
    char *data;

    (void)state;
    write_random(&written, 9, 300, 1, SMALL_CHUNK);
    data = calloc(1, written.size * 2);
    first = PSNAP_PST_FILE_HEADER; /* the tables */
    first += PSNAP_PST_FRAME_HEADER + psnap_load_u32((unsigned char *)written.data + first + 24);
    second =
        first + PSNAP_PST_FRAME_HEADER + psnap_load_u32((unsigned char *)written.data + first + 24);
    memcpy(data, written.data, first); /* without the first chunk */
    memcpy(data + first, written.data + second, written.size - second);
    source = open_memory(&input, data, written.size - (second - first), 1 << 20, NULL, &error);
    assert_null(source);
    assert_int_equal(error.code, PSNAP_ERROR_CORRUPT);
    memcpy(data, written.data, second); /* the first chunk twice */
    memcpy(data + second, written.data + first, written.size - first);
    source = open_memory(&input, data, written.size + (second - first), 1 << 20, NULL, &error);
    free(read_all(source, &n, &status, &error));
    assert_int_equal(status, PSNAP_ERROR_CORRUPT);
    assert_int_equal(n, SMALL_CHUNK);
    psnap_source_free(source);
    memcpy(data, written.data, written.size); /* one byte more than there should be */
    source = open_memory(&input, data, written.size + 1, 1 << 20, NULL, &error);
    free(read_all(source, &n, &status, &error));
    assert_int_equal(status, PSNAP_ERROR_CORRUPT);
    psnap_source_free(source);
    free(data);
    release(&written);
}

static void test_other_versions(void **state)
{
    unsigned char header[PSNAP_PST_FILE_HEADER];
    struct memory_input input;
    struct psnap_error error;
    uint64_t chain;

    (void)state;
    psnap_pst_file_header_make(header, PSNAP_PST_VERSION + 1, &chain);
    assert_null(open_memory(&input, header, sizeof header, 99, NULL, &error));
    assert_int_equal(error.code, PSNAP_ERROR_VERSION);
    assert_non_null(strstr(error.message, "a newer psnap"));
    psnap_pst_file_header_make(header, 1, &chain);
    assert_null(open_memory(&input, header, sizeof header, 99, NULL, &error));
    assert_int_equal(error.code, PSNAP_ERROR_VERSION);
    assert_non_null(strstr(error.message, "an older psnap: trace version 1,"));
    header[8] = PSNAP_PST_VERSION; /* now the header's check does not match */
    assert_null(open_memory(&input, header, sizeof header, 99, NULL, &error));
    assert_int_equal(error.code, PSNAP_ERROR_CORRUPT);
}

/*
 * rich.pst was written by write_random(3, 500, 5, 64) when version 2 was new:
 * it must be readable for ever. (Its random numbers are those of base/rng.)
 */
static void test_golden(void **state)
{
    struct written written = {0};
    struct psnap_error error;
    enum psnap_status status;
    struct psnap_access *back;
    size_t n;
    struct psnap_source *source = psnap_trace_open("tests/golden/formats/rich.pst", NULL, &error);

    (void)state;
    assert_non_null(source);
    write_random(&written, 3, 500, 5, SMALL_CHUNK);
    back = read_all(source, &n, &status, &error);
    assert_int_equal(status, PSNAP_OK);
    assert_same_accesses(written.accesses, written.count, back, n);
    assert_same_program(written.program, source->program);
    free(back);
    psnap_source_free(source);
    release(&written);
}

/* A file made by hand: frames that are stored as they are. */
struct hand_made {
    unsigned char data[1024];
    size_t size;
    uint64_t chain;
};

static void add_frame(struct hand_made *file, uint32_t type, uint64_t first, uint32_t accesses,
                      const void *payload, size_t size)
{
    unsigned char *header = file->data + file->size;

    if (file->size == 0) {
        psnap_pst_file_header_make(header, PSNAP_PST_VERSION, &file->chain);
        file->size = PSNAP_PST_FILE_HEADER;
        header += file->size;
    }
    memset(header, 0, PSNAP_PST_FRAME_HEADER);
    psnap_store_u32(header, type);
    psnap_store_u64(header + 8, first);
    psnap_store_u32(header + 16, accesses);
    psnap_store_u32(header + 20, (uint32_t)size);
    psnap_store_u32(header + 24, (uint32_t)size);
    memcpy(header + PSNAP_PST_FRAME_HEADER, payload, size);
    psnap_pst_frame_seal(header, header + PSNAP_PST_FRAME_HEADER, size, &file->chain);
    file->size += PSNAP_PST_FRAME_HEADER + size;
}

/*
 * A string "f", a loop, a block with two kinds of operations and one with more
 * kinds than there are, a ref, and a section from the future.
 */
/* clang-format off */
static const unsigned char made_tables[] = {
    1, 3, 1, 1, 'f',
    3, 10, 1, 1, 1, 1, 1, 7, 0, 0, 1, 0,
    4, 6, 1, 2, 0, 8, 3, 4,
    4, 26, 1, 20, 0, 8, 0xf0, 0xa2, 0x04, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7,
    5, 7, 1, 0, 8, 0, 0, 1, 8,
    9, 2, 1, 2};
/* clang-format on */

/*
 * One lane: ref 0, thread 0, 8 bytes, a store, first at 16. It is followed by
 * itself: a literal at once (run 0), its value the one expected, 0. Addresses:
 * after 2 right ones (run 2: 4) 8 more (shift 3, zigzag of 1: 2): 16 16 16 24
 * and, as the step stays 0, 24 for the rest.
 */
static const unsigned char made_chunk[] = {1,                 /* lanes */
                                           0, 0, 8,    1, 32, /* the lane */
                                           1, 0, 0x10, /* who follows: literals, copies, widths */
                                           1, 0, 0x11, 3, /* addresses, and their shift */
                                           1, 2, 4};

static void test_made_by_hand(void **state)
{
    static const uint64_t addresses[] = {16, 16, 16, 24, 24, 24, 24};
    static const unsigned char end[] = {7, 2, 0xff, 1, 5};
    struct hand_made file = {.size = 0};
    struct memory_input input;
    struct psnap_error error;
    enum psnap_status status;
    struct psnap_source *source;
    struct psnap_access *all;
    size_t n;

    (void)state;
    add_frame(&file, PSNAP_PST_TYPE('n', 'o', 't', 'e'), 0, 0, "a later psnap's", 15);
    add_frame(&file, PSNAP_PST_TABLES, 0, 0, made_tables, sizeof made_tables);
    add_frame(&file, PSNAP_PST_ACCESSES, 0, 7, made_chunk, sizeof made_chunk);
    add_frame(&file, PSNAP_PST_END, 7, 0, end, sizeof end);
    source = open_memory(&input, file.data, file.size, 1, NULL, &error);
    assert_non_null(source);
    all = read_all(source, &n, &status, &error);
    assert_int_equal(status, PSNAP_OK);
    assert_int_equal(n, 7);
    for (size_t i = 0; i < n; i++)
        assert_true(all[i].address == addresses[i] && all[i].size == 8 &&
                    all[i].kind == PSNAP_STORE);
    assert_string_equal(source->program->loops[0].id, "f");
    assert_int_equal(source->program->loops[0].header, 0);
    assert_int_equal(source->program->loops[0].parent, PSNAP_NONE);
    assert_int_equal(source->program->blocks[0].executions, 255);
    assert_int_equal(source->program->blocks[0].operations[1], 4);
    assert_int_equal(source->program->blocks[0].operations[2], 0);
    assert_int_equal(source->program->blocks[1].operations[0], 70000);
    free(all);
    psnap_source_free(source);
}

/* Well sealed, but what it says cannot be. */
static void check_nonsense(uint32_t type, uint32_t count, const void *payload, size_t size,
                           enum psnap_status expected)
{
    const unsigned char end[] = {(unsigned char)count, 2, 0, 0};
    struct hand_made file = {.size = 0};
    struct memory_input input;
    struct psnap_error error = {.code = PSNAP_OK};
    enum psnap_status status;
    struct psnap_source *source;
    size_t n;

    add_frame(&file, PSNAP_PST_TABLES, 0, 0, made_tables, sizeof made_tables);
    add_frame(&file, type, 0, count, payload, size);
    add_frame(&file, PSNAP_PST_END, count, 0, end, sizeof end);
    source = open_memory(&input, file.data, file.size, 99, NULL, &error);
    if (source)
        free(read_all(source, &n, &status, &error));
    psnap_source_free(source);
    assert_int_equal(error.code, expected);
}

static void test_nonsense(void **state)
{
    static const unsigned char bad_parent[] = {3, 10, 1, 1, 1, 1, 1, 7, 0, 1, 1, 0};
    static const unsigned char no_such_string[] = {3, 10, 1, 2, 1, 1, 1, 7, 0, 0, 1, 0};
    static const unsigned char no_such_block[] = {5, 7, 1, 2, 8, 0, 0, 1, 8};
    static const unsigned char many_strings[] = {1, 6, 0xff, 0xff, 0xff, 0xff, 1, 'x'};
    unsigned char bad[sizeof made_chunk];

    (void)state;
    check_nonsense(PSNAP_PST_TYPE('N', 'o', 't', 'e'), 0, "x", 1, PSNAP_ERROR_VERSION);
    check_nonsense(PSNAP_PST_ACCESSES, 7, made_chunk, sizeof made_chunk, PSNAP_OK);
    check_nonsense(PSNAP_PST_ACCESSES, 3, made_chunk, sizeof made_chunk, PSNAP_ERROR_CORRUPT);
    check_nonsense(PSNAP_PST_ACCESSES, 0, made_chunk, sizeof made_chunk, PSNAP_ERROR_CORRUPT);
    check_nonsense(PSNAP_PST_ACCESSES, 7, made_chunk, sizeof made_chunk - 1, PSNAP_ERROR_CORRUPT);
    for (size_t i = 0; i < sizeof bad; i++) {
        memcpy(bad, made_chunk, sizeof bad);
        bad[i] = 0xff; /* no such count, ref, size, kind, width, run */
        if (i != 14)   /* the value of a token may be any */
            check_nonsense(PSNAP_PST_ACCESSES, 7, bad, sizeof bad, PSNAP_ERROR_CORRUPT);
    }
    check_nonsense(PSNAP_PST_TABLES, 0, no_such_string, sizeof no_such_string, PSNAP_ERROR_CORRUPT);
    check_nonsense(PSNAP_PST_TABLES, 0, no_such_block, sizeof no_such_block, PSNAP_ERROR_CORRUPT);
    check_nonsense(PSNAP_PST_TABLES, 0, many_strings, sizeof many_strings, PSNAP_ERROR_CORRUPT);
    check_nonsense(PSNAP_PST_TABLES, 0, many_strings, 5, PSNAP_ERROR_CORRUPT);
    /* a loop of depth 0 in one of depth 0 */
    check_nonsense(PSNAP_PST_TABLES, 0, bad_parent, sizeof bad_parent, PSNAP_ERROR_CORRUPT);
    check_nonsense(PSNAP_PST_END, 0, "\0\1", 2, PSNAP_ERROR_CORRUPT);
}

/* Two literals (run 2, 8 more) and a copy of three of the token before, as made_chunk else. */
/* clang-format off */
static const unsigned char copying_chunk[] = {
    1, 0, 0, 8, 1, 32, 1, 0, 0x10,
    2, 1, 0x11, 3, 0, 0x11, 1, /* literals, copies, widths, shift; window, widths */
    1,                         /* the lane that comes next: the one expected */
    2, 2, 4, 4,                /* values and runs of literals */
    2, 2, 3};                  /* after 2 literals, twice the distance of 1, 3 tokens */
/* clang-format on */

static void test_copies(void **state)
{
    static const struct {
        unsigned char at, value;
    } bad[] = {
        {13, 31},                      /* window of 2^31 tokens */
        {13, 32}, {14, 0x51}, {15, 5}, /* widths */
        {21, 3},                       /* after more literals than there are */
        {21, 0},                       /* of nothing */
        {22, 0},  {22, 1},             /* at no distance */
        {22, 3},  {22, 4},             /* beyond the window */
        {22, 6},                       /* beyond the first token */
        {23, 0},                       /* no token */
        {23, 4},                       /* a token too much for the accesses */
    };
    static const unsigned char end[] = {16, 2, 0, 0};
    unsigned char chunk[sizeof copying_chunk];
    struct hand_made file = {.size = 0};
    struct memory_input input;
    struct psnap_error error;
    enum psnap_status status;
    struct psnap_source *source;
    struct psnap_access *all;
    size_t n;

    (void)state;
    add_frame(&file, PSNAP_PST_TABLES, 0, 0, made_tables, sizeof made_tables);
    add_frame(&file, PSNAP_PST_ACCESSES, 0, 16, copying_chunk, sizeof copying_chunk);
    add_frame(&file, PSNAP_PST_END, 16, 0, end, sizeof end);
    source = open_memory(&input, file.data, file.size, 1, NULL, &error);
    all = read_all(source, &n, &status, &error);
    assert_int_equal(status, PSNAP_OK);
    assert_int_equal(n, 16);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(all[i].address, 16 + 8 * (i / 3));
    free(all);
    psnap_source_free(source);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        memcpy(chunk, copying_chunk, sizeof chunk);
        chunk[bad[i].at] = bad[i].value;
        check_nonsense(PSNAP_PST_ACCESSES, 16, chunk, sizeof chunk, PSNAP_ERROR_CORRUPT);
    }
}

/* What is known of the program only at the end replaces what was known at first. */
static void test_provenance_may_change(void **state)
{
    static const struct psnap_access access = {.address = 8, .size = 8};
    struct psnap_program *program = psnap_program_new();
    struct memory_input input;
    struct psnap_error error;
    struct psnap_source *source;
    struct psnap_sink *sink;
    char *data;
    size_t size;
    FILE *file = open_memstream(&data, &size);

    (void)state;
    assert_int_equal(psnap_program_add_anonymous(program, "x"), PSNAP_OK);
    program->provenance.name = "early";
    sink = psnap_pst_writer_new(file, program, 1, NULL, &error);
    assert_int_equal(psnap_sink_put(sink, &access, 1, &error), PSNAP_OK);
    program->provenance.name = "late";
    assert_int_equal(psnap_sink_finish(sink, &error), PSNAP_OK);
    psnap_sink_free(sink);
    fclose(file);
    source = open_memory(&input, data, size, 99, NULL, &error);
    assert_string_equal(source->program->provenance.name, "early");
    assert_int_equal(psnap_trace_skip(source, UINT64_MAX, NULL, &error), PSNAP_OK);
    assert_string_equal(source->program->provenance.name, "late");
    psnap_source_free(source);
    psnap_program_free(program);
    free(data);
}

static ssize_t failing_read(void *context, void *buffer, size_t n)
{
    struct memory_input *input = context;

    if (input->at == input->size) {
        errno = EIO;
        return -1;
    }
    return memory_read(context, buffer, n);
}

/* A read that fails is not a trace that ends. */
static void test_read_errors(void **state)
{
    struct written written = {0};

    (void)state;
    write_random(&written, 12, 300, 2, SMALL_CHUNK);
    for (size_t size = 0; size < written.size; size += 97) {
        struct memory_input input = {written.data, size, 0, 50};
        struct psnap_error error;
        enum psnap_status status = PSNAP_ERROR_IO;
        struct psnap_reader *reader =
            psnap_reader_new(failing_read, NULL, &input, "memory", &error);
        struct psnap_source *source = psnap_trace_open_reader(reader, "pst", &error);
        size_t n;

        if (source)
            free(read_all(source, &n, &status, &error));
        assert_int_equal(status, PSNAP_ERROR_IO);
        assert_int_equal(error.code, PSNAP_ERROR_IO);
        assert_int_equal(error.offset, size);
        psnap_source_free(source);
    }
    release(&written);
}

static void test_bad_accesses_are_refused(void **state)
{
    static const struct psnap_access bad[] = {
        {.address = 1, .ref = 1000, .size = 8},
        {.address = 1, .ref = 0, .size = 0},
        {.address = 1, .ref = 0, .size = 65},
        {.address = 1, .ref = 0, .size = 8, .kind = 3},
    };
    struct psnap_error error;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        FILE *file = tmpfile();
        struct psnap_program *program = psnap_program_new();
        struct psnap_sink *sink;

        assert_int_equal(psnap_program_add_anonymous(program, "x"), PSNAP_OK);
        sink = psnap_trace_writer_new("pst", file, program, &error);
        assert_int_equal(psnap_sink_put(sink, &bad[i], 1, &error), PSNAP_ERROR_VALUE);
        psnap_sink_free(sink);
        psnap_program_free(program);
        fclose(file);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_objects_keep_their_time),
        cmocka_unit_test(test_skip),
        cmocka_unit_test(test_truncation),
        cmocka_unit_test(test_bit_flips),
        cmocka_unit_test(test_frames_out_of_place),
        cmocka_unit_test(test_other_versions),
        cmocka_unit_test(test_made_by_hand),
        cmocka_unit_test(test_nonsense),
        cmocka_unit_test(test_copies),
        cmocka_unit_test(test_provenance_may_change),
        cmocka_unit_test(test_read_errors),
        cmocka_unit_test(test_golden),
        cmocka_unit_test(test_bad_accesses_are_refused),
    };

    return cmocka_run_group_tests_name("formats_pst", tests, NULL, NULL);
}
