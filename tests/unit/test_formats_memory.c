/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Out of memory in the trace formats: writing and reading a .pst with tables,
 * objects and several chunks, and reading text, with every one of their
 * allocations failing.
 */
#include "tests/unit/failing_malloc.h"
#include "tests/unit/test_formats_support.h"

#include "formats/pst.h"

enum { COUNT = 600, PART_COUNT = 20000 };

static struct psnap_program *program;
static struct psnap_access accesses[COUNT], random_places[PART_COUNT];
static FILE *nowhere; /* opened beforehand: stdio's own allocations are not ours */

static enum psnap_status write_pst(struct psnap_error *error)
{
    struct psnap_sink *sink = psnap_pst_writer_new(nowhere, program, 256, NULL, error);
    enum psnap_status status;

    if (!sink)
        return error->code;
    status = psnap_sink_put(sink, accesses, COUNT, error);
    if (status == PSNAP_OK)
        status = psnap_sink_finish(sink, error);
    psnap_sink_free(sink);
    return status;
}

/* Chunks that do not fold: parts of a stream. */
static enum psnap_status write_parts_to(FILE *file, struct psnap_error *error)
{
    struct psnap_sink *sink = psnap_pst_writer_new(file, program, PART_COUNT / 2, NULL, error);
    enum psnap_status status;

    if (!sink)
        return error->code;
    status = psnap_sink_put(sink, random_places, PART_COUNT, error);
    if (status == PSNAP_OK)
        status = psnap_sink_finish(sink, error);
    psnap_sink_free(sink);
    return status;
}

static enum psnap_status write_parts(struct psnap_error *error)
{
    return write_parts_to(nowhere, error);
}

static enum psnap_status read_source(struct psnap_source *source, struct psnap_error *error)
{
    static struct psnap_access block[100];
    ssize_t got = 1;

    if (!source)
        return error->code;
    while (got > 0)
        got = psnap_source_next(source, block, 100, error);
    psnap_source_free(source);
    return (enum psnap_status)got;
}

static char *data;
static size_t size;
static const char *forced; /* NULL: recognised */

static enum psnap_status read_memory(struct psnap_error *error)
{
    struct memory_input input = {data, size, 0, 1000};
    struct psnap_reader *reader = psnap_reader_new(memory_read, NULL, &input, "memory", error);

    return reader ? read_source(psnap_trace_open_reader(reader, forced, error), error)
                  : error->code;
}

static int begin(void **state)
{
    static char buffer[4096];
    struct psnap_rng rng;

    (void)state;
    nowhere = fopen("/dev/null", "w");
    assert_non_null(nowhere);
    setvbuf(nowhere, buffer, _IOFBF, sizeof buffer);
    psnap_rng_init(&rng, 1);
    program = random_program(&rng);
    for (int i = 0; i < 100; i++) {
        grow_program(program, &rng);
        announce_object(program, &rng);
    }
    random_accesses(program, &rng, accesses, COUNT);
    for (size_t i = 0; i < COUNT; i++)
        accesses[i].address >>= 1;
    for (int i = 0; i < PART_COUNT; i++)
        random_places[i] = (struct psnap_access){psnap_rng_next(&rng), 0, 8, PSNAP_LOAD, 0};
    return 0;
}

static int end(void **state)
{
    (void)state;
    psnap_program_free(program);
    return fclose(nowhere);
}

TEST_WITHIN(begin, end, writing_a_pst)
{
    run_job(write_pst);
    run_job(write_parts);
}

/* Writes the accesses in a format and reads them with failing allocations. */
static void check_reading(const char *format)
{
    FILE *file = open_memstream(&data, &size);
    struct psnap_error error;
    struct psnap_sink *sink = psnap_trace_writer_new(format, file, program, &error);

    end_trace(sink, accesses, COUNT, file);
    run_job(read_memory);
    free(data);
}

TEST_WITHIN(begin, end, reading)
{
    check_reading("pst");
    check_reading("xdin");
    check_reading("csv");
}

TEST_WITHIN(begin, end, reading_parts)
{
    FILE *file = open_memstream(&data, &size);
    struct psnap_error error;

    assert_int_equal(write_parts_to(file, &error), PSNAP_OK);
    fclose(file);
    run_job(read_memory);
    free(data);
}

TEST_WITHIN(begin, end, reading_lackey)
{
    FILE *file = open_memstream(&data, &size);

    for (unsigned i = 0; i < 5000; i++) /* more references than the first table holds */
        fprintf(file, "I  %x,4\n L %x,8\n", 4096 + 4 * i, i);
    fclose(file);
    run_job(read_memory);
    free(data);
}

/* References by their counters, of records of all sorts. */
TEST_WITHIN(begin, end, reading_records)
{
    static const char *const formats[] = {"dinbin", "champsim", "drmemtrace", "gem5"};
    struct psnap_error error;

    for (size_t i = 0; i < COUNT; i++)
        accesses[i].address &= UINT32_MAX >> 1;
    for (size_t i = 0; i < 4; i++) {
        struct psnap_sink *sink = psnap_trace_writer_new(formats[i], nowhere, program, &error);
        const bool is_there = sink || error.code != PSNAP_ERROR_UNSUPPORTED;

        psnap_sink_free(sink);
        forced = formats[i];
        if (is_there)
            check_reading(formats[i]);
    }
    forced = NULL;
}

/* Not by libarchive, which does not look at what malloc returns everywhere. */
TEST_WITHIN(begin, end, reading_gzip)
{
    static char bytes[4096];
    FILE *file = fopen("tests/fuzz/corpus/fuzz_compressed/gzip-members", "rb");

    assert_non_null(file);
    size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    data = bytes;
    run_job(read_memory);
}

static enum psnap_status write_as(const char *format, struct psnap_error *error)
{
    struct psnap_sink *sink = psnap_trace_writer_new(format, nowhere, program, error);
    enum psnap_status status;

    if (!sink)
        return error->code;
    status = psnap_sink_put(sink, accesses, COUNT, error);
    if (status == PSNAP_OK)
        status = psnap_sink_finish(sink, error);
    psnap_sink_free(sink);
    return status;
}

static enum psnap_status write_for_simulators(struct psnap_error *error)
{
    const struct psnap_format *format;
    enum psnap_status status = PSNAP_OK;

    for (size_t i = 0; (format = psnap_format_at(i)) && !status; i++)
        if (format->writable && !format->readable)
            status = write_as(format->name, error);
    return status;
}

TEST_WITHIN(begin, end, writing_for_simulators)
{
    run_job(write_for_simulators);
}
