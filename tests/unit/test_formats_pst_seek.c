/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Going to an access of a native trace by its number and reading on from there
 * is the same as reading all: for nests, gathers that repeat, random addresses
 * and threads, in many chunks, from files, where chunks can be read again, and
 * from pipes, where they cannot. And what repeats over chunks costs little.
 */
#include "tests/unit/test_formats_support.h"

#include <unistd.h>

#include "formats/pst.h"

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
    assert_int_equal(psnap_sink_finish(sink, &error), PSNAP_OK);
    psnap_sink_free(sink);
    fclose(file);
    psnap_program_free(program);
}

static struct psnap_source *open_file(struct psnap_error *error)
{
    FILE *file = tmpfile();

    assert_int_equal(fwrite(data, 1, size, file), size);
    rewind(file);
    return psnap_trace_open_file(file, "file", NULL, error);
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
static void check_seek(bool is_file, struct psnap_rng *rng)
{
    struct memory_input input;
    struct psnap_error error;
    struct psnap_source *source =
        is_file ? open_file(&error) : open_memory(&input, data, size, 40000, NULL, &error);
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
    for (int i = 0; i < SEEKS; i++) {
        check_seek(true, &rng);
        check_seek(false, &rng);
    }
    free(data);
}

static void test_seek(void **state)
{
    (void)state;
    check(make_nest, false);
    check(make_gather, true);
    check(make_random, true);
    check(make_threads, true);
    check(make_mixed, true);
}

/* The second, third and fourth iteration, in other chunks than the first, are nearly free. */
static void test_repeated_is_small(void **state)
{
    struct psnap_rng rng;

    (void)state;
    psnap_rng_init(&rng, 4);
    make_gather(&rng);
    write_trace();
    assert_true(size < 45001 * 3); /* 16 bits of each place, once */
    free(data);
}

/* A part whose beginning is not there is refused where it stands, not misread; also by who would
 * pass over it and come back. */
static void test_part_without_beginning(void **state)
{
    struct memory_input input;
    struct psnap_error error;
    struct psnap_rng rng;
    uint64_t chain;
    unsigned char header[PSNAP_PST_FILE_HEADER];
    char place[64], text[1024];
    size_t first = 0, at = PSNAP_PST_FILE_HEADER;

    (void)state;
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
    for (int is_file = 0; is_file < 2; is_file++) {
        assert_null(is_file ? open_file(&error)
                            : open_memory(&input, data, size, 1 << 20, NULL, &error));
        assert_int_equal(error.code, PSNAP_ERROR_CORRUPT);
        assert_non_null(strstr(error.message, "goes on from"));
        psnap_error_format(&error, text, sizeof text);
        assert_non_null(strstr(text, place));
    }
    free(data);
}

/* By the headers alone, wherever the file is read; of what is no trace, or a pipe, nothing. */
static void test_count(void **state)
{
    FILE *file = fopen("tests/golden/formats/rich.pst", "rb");
    struct psnap_error error = {0};
    struct psnap_access block[256];
    struct psnap_source *source;
    uint64_t total = 0;
    int ends[2];
    ssize_t n;

    (void)state;
    assert_non_null(file);
    source = psnap_trace_open_file(file, "rich", NULL, &error);
    assert_non_null(source);
    while ((n = psnap_source_next(source, block, 256, &error)) > 0)
        total += (uint64_t)n;
    assert_true(total > 0);
    assert_int_equal(psnap_pst_count(fileno(file)), total);
    psnap_source_free(source);
    file = fopen("tests/unit/test_formats_pst_seek.c", "rb");
    assert_int_equal(psnap_pst_count(fileno(file)), 0);
    fclose(file);
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(psnap_pst_count(ends[0]), 0);
    close(ends[0]);
    close(ends[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_seek),
        cmocka_unit_test(test_count),
        cmocka_unit_test(test_repeated_is_small),
        cmocka_unit_test(test_part_without_beginning),
    };

    return cmocka_run_group_tests_name("formats_pst_seek", tests, NULL, NULL);
}
