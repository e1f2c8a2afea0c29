/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The native trace, byte by byte: files made by hand say what formats/PST.md says they do, and what
 * is well sealed but cannot be is refused.
 */
#include <sys/resource.h>

#include "formats/pst.h"
#include "tests/unit/test_formats_support.h"
#include "tests/next_run.h"
#include "tests/unit/test.h"

/* A file made by hand: frames that are stored as they are. */
struct hand_made {
    unsigned char data[1024];
    size_t size;
    uint64_t chain;
    uint8_t method; /* of the frames to come */
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
    psnap_record_put_u32(header, type);
    header[4] = file->method;
    psnap_record_put_u64(header + 8, first);
    psnap_record_put_u32(header + 16, accesses);
    psnap_record_put_u32(header + 20, (uint32_t)size);
    psnap_record_put_u32(header + 24, (uint32_t)size);
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

/* The tables above and a chunk. */
static void add_chunk(struct hand_made *file, uint32_t accesses, const void *chunk, size_t size)
{
    add_frame(file, PSNAP_PST_TABLES, 0, 0, made_tables, sizeof made_tables);
    add_frame(file, PSNAP_PST_ACCESSES, 0, accesses, chunk, size);
}

/* The end, without executions of the two blocks. */
static void add_end(struct hand_made *file, uint32_t accesses)
{
    struct psnap_bytes end = {0};

    psnap_bytes_varint(&end, accesses);
    psnap_bytes_put(&end, "\2\0\0", 3);
    add_frame(file, PSNAP_PST_END, accesses, 0, end.data, end.size);
    psnap_bytes_release(&end);
}

/* All that comes of the file; to be freed. */
static struct psnap_access *read_made(const struct hand_made *file, struct memory_input *input,
                                      struct psnap_source **source, size_t *n)
{
    struct psnap_error error;
    enum psnap_status status;
    struct psnap_access *all;

    *source = open_memory(input, file->data, file->size, 1, NULL, &error);
    assert_non_null(*source);
    all = read_all(*source, n, &status, &error);
    assert_int_equal(status, PSNAP_OK);
    return all;
}

TEST(test_made_by_hand)
{
    static const uint64_t addresses[] = {16, 16, 16, 24, 24, 24, 24};
    static const unsigned char end[] = {7, 2, 0xff, 1, 5};
    struct hand_made file = {.size = 0};
    struct memory_input input;
    struct psnap_source *source;
    struct psnap_access *all;
    size_t n;

    add_frame(&file, PSNAP_PST_TYPE('n', 'o', 't', 'e'), 0, 0, "a later psnap's", 15);
    add_chunk(&file, 7, made_chunk, sizeof made_chunk);
    add_frame(&file, PSNAP_PST_END, 7, 0, end, sizeof end);
    all = read_made(&file, &input, &source, &n);
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

/* What reading all of the file says; its code is PSNAP_OK when it is good. */
static struct psnap_error error_of(const struct hand_made *file)
{
    struct memory_input input;
    struct psnap_error error = {.code = PSNAP_OK};
    enum psnap_status status;
    struct psnap_source *source = open_memory(&input, file->data, file->size, 99, NULL, &error);
    size_t n;

    if (source)
        free(read_all(source, &n, &status, &error));
    psnap_source_free(source);
    return error;
}

/* Well sealed, but what it says cannot be. */
static void check_nonsense(uint32_t type, uint32_t count, const void *payload, size_t size,
                           enum psnap_status expected)
{
    struct hand_made file = {.size = 0};

    add_frame(&file, PSNAP_PST_TABLES, 0, 0, made_tables, sizeof made_tables);
    add_frame(&file, type, 0, count, payload, size);
    add_end(&file, count);
    assert_int_equal(error_of(&file).code, expected);
}

TEST(test_nonsense)
{
    static const unsigned char bad_parent[] = {3, 10, 1, 1, 1, 1, 1, 7, 0, 1, 1, 0};
    static const unsigned char no_such_string[] = {3, 10, 1, 2, 1, 1, 1, 7, 0, 0, 1, 0};
    static const unsigned char no_such_block[] = {5, 7, 1, 2, 8, 0, 0, 1, 8};
    static const unsigned char many_strings[] = {1, 6, 0xff, 0xff, 0xff, 0xff, 1, 'x'};
    unsigned char bad[sizeof made_chunk];

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

/* A trace that is cut off before a row that a loop names: the loop has none. */
TEST(test_cut_off_tables)
{
    static const unsigned char later[] = {3, 10, 1, 1, 1, 1, 1, 7, 1, 3, 9, 9};
    struct hand_made file = {.size = 0};
    struct memory_input input;
    struct psnap_error error;
    enum psnap_status status;
    struct psnap_source *source;
    size_t n;

    add_chunk(&file, 7, made_chunk, sizeof made_chunk);
    add_frame(&file, PSNAP_PST_TABLES, 7, 0, later, sizeof later);
    source = open_memory(&input, file.data, file.size, 99, NULL, &error);
    assert_non_null(source);
    free(read_all(source, &n, &status, &error));
    assert_int_equal(status, PSNAP_ERROR_TRUNCATED);
    assert_int_equal(n, 7);
    assert_int_equal(source->program->loop_count, 2);
    assert_int_equal(source->program->loops[0].header, 0);
    assert_int_equal(source->program->loops[1].parent, PSNAP_NONE);
    assert_int_equal(source->program->loops[1].header, PSNAP_NONE);
    assert_int_equal(source->program->loops[1].entry, PSNAP_NONE);
    psnap_source_free(source);
}

/* A token after 16,384 right addresses, of which the chunk has 8000: refused read by runs, too. */
TEST(test_token_left_behind_a_run)
{
    static const unsigned char chunk[] = {1, 0, 0,    8, 1, 32, 1, 0,  0x10,
                                          1, 0, 0x21, 3, 1, 2,  0, 128};
    struct hand_made file = {.size = 0};
    struct memory_input input;
    struct psnap_error error;
    struct psnap_source *source;
    struct psnap_access block[512];
    struct psnap_run run;
    uint64_t total = 0;
    ssize_t got;

    check_nonsense(PSNAP_PST_ACCESSES, 7, chunk, sizeof chunk, PSNAP_ERROR_CORRUPT);
    add_chunk(&file, 8000, chunk, sizeof chunk);
    add_end(&file, 8000);
    source = open_memory(&input, file.data, file.size, 99, NULL, &error);
    assert_non_null(source);
    do {
        got = next_run(source, block, 512, &run, &error);
        total += got > 0 ? (uint64_t)got : 0;
    } while (got > 0 && run.count == 0);
    assert_int_equal(got, PSNAP_ERROR_CORRUPT);
    assert_true(total < 8000);
    psnap_source_free(source);
}

/* A writer makes nothing that readers refuse. */
TEST(test_payload_too_large)
{
    const struct psnap_bytes payload = {.size = PSNAP_PST_PAYLOAD_MAX + (size_t)1};
    const struct psnap_pst_frame frame = {.type = PSNAP_PST_TABLES};
    FILE *file = tmpfile();
    struct psnap_pst_packer packer = {.file = file};
    struct psnap_error error;

    assert_int_equal(psnap_pst_pack(&packer, &frame, &payload, &error), PSNAP_ERROR_VALUE);
    assert_int_equal(ftell(file), 0);
    fclose(file);
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

struct mistake {
    unsigned char at, value;
};

/* A chunk of addresses that go on after every third one; with any of the mistakes it is refused. */
static void check_copies(const unsigned char *chunk, size_t size, uint32_t accesses,
                         const struct mistake *mistakes, size_t count)
{
    struct hand_made file = {.size = 0};
    struct memory_input input;
    struct psnap_source *source;
    struct psnap_access *all;
    unsigned char bad[64];
    size_t n;

    add_chunk(&file, accesses, chunk, size);
    add_end(&file, accesses);
    all = read_made(&file, &input, &source, &n);
    assert_int_equal(n, accesses);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(all[i].address, 16 + 8 * (i / 3));
    free(all);
    psnap_source_free(source);
    assert_true(size <= sizeof bad);
    for (size_t i = 0; i < count; i++) {
        memcpy(bad, chunk, size);
        bad[mistakes[i].at] = mistakes[i].value;
        check_nonsense(PSNAP_PST_ACCESSES, accesses, bad, size, PSNAP_ERROR_CORRUPT);
    }
}

TEST(test_copies)
{
    static const struct mistake bad[] = {
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

    check_copies(copying_chunk, sizeof copying_chunk, 16, bad, sizeof bad / sizeof *bad);
}

/* What a part or its errors cannot be: the estimates are computed with them. */
TEST(test_part_nonsense)
{
    /* tag, size, one row: no regions, skip, count, window, period, windows, run; errors */
    static const unsigned char odd[][28] = {
        {7, 9, 1, 0, 0, 0, 5, 4, 0, 0, 0},     /* a window longer than its period */
        {7, 9, 1, 0, 0, 0, 5, 0, 0, 0, 0},     /* and one without */
        {7, 10, 1, 1, 9, 0, 0, 0, 0, 0, 0, 0}, /* a region without a name */
        {7, 9, 1, 0, 0, 0, 1, 4, 0, 0, 1},     /* an error that is not there */
        {7, 17, 1, 0, 0, 0, 1, 4, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0xf8, 0x7f}, /* not a number */
        {7, 17, 1, 0, 0, 0, 1, 4, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0xf0, 0x7f}, /* infinite */
        {7, 17, 1, 0, 0, 0, 1, 4, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0xf0, 0xbf}, /* -1 */
        {7, 18, 1, 0, 0, 0, 1, 4, 0, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1, 0}, /* a run */
        {7, 25, 1, 0, 0, 0, 1, 4, 0, 0, 2}, /* errors of two loops, of which there is one */
        {7, 18, 1, 0, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1},          /* a skip */
        {7, 18, 1, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1},       /* a count */
        {7, 18, 1, 0, 0, 0, 1, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1}, /* a period */
        {8, 2, 1, 0}, /* of how many is missing */
    };

    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++)
        check_nonsense(PSNAP_PST_TABLES, 0, odd[i], 2u + odd[i][1], PSNAP_ERROR_CORRUPT);
}

static long peak_kib(void)
{
    struct rusage usage;

    assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
    return usage.ru_maxrss;
}

/* A section with a row of `names` empty strings and, before and after them, other bytes. */
static void put_names(struct psnap_bytes *payload, uint8_t tag, const char *before, size_t length,
                      uint64_t count, size_t names, size_t zeros)
{
    struct psnap_bytes row = {0};

    psnap_bytes_u8(&row, 1);
    psnap_bytes_put(&row, before, length);
    psnap_bytes_varint(&row, count);
    for (size_t i = 0; i < names + zeros; i++)
        psnap_bytes_u8(&row, 0);
    psnap_bytes_u8(payload, tag);
    psnap_bytes_varint(payload, row.size);
    psnap_bytes_put(payload, row.data, row.size);
    psnap_bytes_release(&row);
}

static enum psnap_status read_tables(struct psnap_pst_tables *tables,
                                     const struct psnap_bytes *payload)
{
    struct psnap_cursor cursor = {payload->data, payload->data + payload->size, false};
    struct psnap_error error;

    return psnap_pst_tables_read(tables, &cursor, &error);
}

/* Rows that replace others are as many as a hostile trace likes: they take no memory. */
TEST(test_replaced_rows)
{
    struct psnap_program *program = psnap_program_new();
    struct psnap_pst_tables reader = {.program = program}, *tables = &reader;
    struct psnap_bytes payload = {0};
    size_t count = 0;
    long before;

    put_names(&payload, PSNAP_PST_PROVENANCE, "\0\0\0\0\0\0", 7, 2001, 2000, 0);
    put_names(&payload, PSNAP_PST_PART, "", 0, PSNAP_PST_REGIONS_MAX, PSNAP_PST_REGIONS_MAX, 7);
    assert_int_equal(read_tables(tables, &payload), PSNAP_OK);
    before = peak_kib();
    for (int i = 0; i < 5000; i++)
        assert_int_equal(read_tables(tables, &payload), PSNAP_OK);
    assert_in_range(peak_kib() - before, 0, 32 << 10); /* of 120 MB for all of them */
    while (program->provenance.command[count])
        count++;
    assert_int_equal(count, 2000);
    for (count = 0; program->sampling.regions[count];)
        count++;
    assert_int_equal(count, PSNAP_PST_REGIONS_MAX);

    payload.size = 0;
    put_names(&payload, PSNAP_PST_PART, "", 0, PSNAP_PST_REGIONS_MAX + 1, PSNAP_PST_REGIONS_MAX + 1,
              7);
    assert_int_equal(read_tables(tables, &payload), PSNAP_ERROR_CORRUPT);
    payload.size = 0;
    put_names(&payload, PSNAP_PST_PROVENANCE, "\0\0\0\0\0\0", 7, PSNAP_PST_ARGUMENTS_MAX + 2,
              PSNAP_PST_ARGUMENTS_MAX + 1, 0);
    assert_int_equal(read_tables(tables, &payload), PSNAP_ERROR_CORRUPT);
    psnap_bytes_release(&payload);
    psnap_pst_tables_release(tables);
    psnap_program_free(program);
}

/*
 * A copy of level 2: two literals and a copy of one token, all (run 2, 8
 * more), once more, so six tokens. Else as made_chunk.
 */
/* clang-format off */
static const unsigned char nested_chunk[] = {
    1, 0, 0, 8, 1, 32, 1, 0, 0x10,
    2, 1, 0x11, 3, 0x80, 0x11, 1, /* literals, copies, widths, shift; window and more, widths */
    1, 2, 0x11, 1,                /* level 2: copies, window, widths */
    1,
    2, 2, 4, 4,
    2, 2, 1,                      /* level 1: as copying_chunk */
    3, 6, 3};                     /* level 2: after 3 items, twice the distance of 3, 3 items */

/*
 * Tokens (0, 8) and copies of 2 and of 1 of them in turn, and a copy of level
 * 2 that goes on with them in a straight line: after the token a copy of none.
 */
static const unsigned char falling_chunk[] = {
    1, 0, 0, 8, 1, 32, 1, 0, 0x10,
    2, 2, 0x11, 3, 0x80, 0x11, 1,
    1, 2, 0x11, 1,
    1,
    2, 2, 4, 4,
    1, 1, 2, 2, 2, 1,
    4, 5, 2};
/* clang-format on */

TEST(test_copies_of_copies)
{
    static const struct mistake bad[] = {
        {13, 0x9f},                      /* windows of 2^31 items */
        {17, 1},                         /* too small a window */
        {17, 0x20}, {18, 0x51}, {19, 5}, /* widths */
        {17, 0x82},                      /* a level that is not there */
        {28, 4},                         /* after more items than there are */
        {28, 0},                         /* of nothing */
        {29, 0},    {29, 1},             /* at no distance */
        {29, 7},    {29, 8},             /* before the first item */
        {30, 0},    {30, 4},             /* no item, one too many */
    };

    check_copies(nested_chunk, sizeof nested_chunk, 19, bad, sizeof bad / sizeof *bad);
    for (unsigned char count = 1; count < 40; count++)
        check_nonsense(PSNAP_PST_ACCESSES, count, falling_chunk, sizeof falling_chunk,
                       PSNAP_ERROR_CORRUPT);
}
