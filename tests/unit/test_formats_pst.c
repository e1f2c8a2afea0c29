/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The native trace: what goes in comes out, whatever the stream, however it is read, and
 * whenever it was written; what is no access does not go in.
 */
#include "tests/unit/test_formats_pst_support.h"
#include "tests/unit/test.h"

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
    release_written(&written);
}

TEST(test_round_trip)
{
    for (uint64_t seed = 1; seed <= 40; seed++)
        check_round_trip(seed, (size_t)(seed * seed * 17), 1 + seed % 7,
                         seed % 2 ? 0 : (uint32_t)(1 + seed * 31), seed % 3 ? 1 << 20 : 13);
    check_round_trip(100, 0, 1, 0, 1);
    check_round_trip(101, 1, 1, 1, 1);
    check_round_trip(102, 3000000, 9, 0, 1 << 20);
}

/* Objects appear no earlier and no later than they were announced. */
TEST(test_objects_keep_their_time)
{
    struct written written = {0};
    struct memory_input input;
    struct psnap_error error;
    struct psnap_source *source;
    struct psnap_access block[300];
    size_t position = 0;
    ssize_t got;

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
    release_written(&written);
}

TEST(test_skip)
{
    struct written written = {0};
    struct psnap_error error;

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
    release_written(&written);
}

/*
 * rich.pst was written by write_random(3, 500, 5, 64) when version 3 was new:
 * it must be readable for ever. (Its random numbers are those of base/rng.)
 */
TEST(test_golden)
{
    struct written written = {0};
    struct psnap_error error;
    enum psnap_status status;
    struct psnap_access *back;
    size_t n;
    struct psnap_source *source = psnap_trace_open("tests/golden/formats/rich.pst", NULL, &error);

    assert_non_null(source);
    write_random(&written, 3, 500, 5, SMALL_CHUNK);
    back = read_all(source, &n, &status, &error);
    assert_int_equal(status, PSNAP_OK);
    assert_same_accesses(written.accesses, written.count, back, n);
    assert_same_program(written.program, source->program);
    free(back);
    psnap_source_free(source);
    release_written(&written);
}

/* What is known of the program only at the end replaces what was known at first. */
TEST(test_provenance_may_change)
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

    assert_int_equal(psnap_program_add_anonymous(program, "x"), PSNAP_OK);
    program->provenance.name = "early";
    sink = psnap_pst_writer_new(file, program, 1, NULL, &error);
    assert_int_equal(psnap_sink_put(sink, &access, 1, &error), PSNAP_OK);
    program->provenance.name = "late";
    end_trace(sink, NULL, 0, file);
    source = open_memory(&input, data, size, 99, NULL, &error);
    assert_string_equal(source->program->provenance.name, "early");
    assert_int_equal(psnap_trace_skip(source, UINT64_MAX, NULL, &error), PSNAP_OK);
    assert_string_equal(source->program->provenance.name, "late");
    psnap_source_free(source);
    psnap_program_free(program);
    free(data);
}

TEST(test_bad_accesses_are_refused)
{
    static const struct psnap_access bad[] = {
        {.address = 1, .ref = 1000, .size = 8},
        {.address = 1, .ref = 0, .size = 0},
        {.address = 1, .ref = 0, .size = 65},
        {.address = 1, .ref = 0, .size = 8, .kind = 3},
    };
    struct psnap_error error;

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

static const double some_errors[] = {0, 1.5, 1e18};

/* A source of a program of whose accesses a part was recorded, three of them in the trace. */
static struct psnap_source *part_source(struct memory_input *input, char **data, size_t *size,
                                        const struct psnap_sampling *part, uint64_t cut_bytes,
                                        struct psnap_trace_limit *limit)
{
    struct psnap_program *program = psnap_program_new();
    struct psnap_error error;
    struct psnap_source *source;
    struct psnap_sink *sink;
    struct psnap_access access = {.size = 8};
    struct psnap_loop loop;
    FILE *file = open_memstream(data, size);

    assert_int_equal(psnap_program_add_anonymous(program, "x"), PSNAP_OK);
    loop = program->loops[0];
    for (uint32_t i = 1; i < 3; i++)
        psnap_program_add_loop(program, &loop);
    sink = psnap_pst_writer_new(file, program, 1, limit, &error);
    program->sampling = *part;
    program->sampling.loop_errors = NULL; /* as long as there is more to come */
    for (uint64_t i = 0; i < 3; i++) {
        access.address += i * i * 1000003;
        assert_int_equal(psnap_sink_put(sink, &access, 1, &error), PSNAP_OK);
    }
    program->sampling = *part;
    program->provenance.has_rank = true;
    program->provenance.rank = 3;
    end_trace(sink, NULL, 0, file);
    psnap_program_free(program);
    source = open_memory(input, *data, *size - cut_bytes, 99, NULL, &error);
    assert_non_null(source);
    assert_int_equal(psnap_trace_skip(source, UINT64_MAX, NULL, &error),
                     cut_bytes ? PSNAP_ERROR_TRUNCATED : PSNAP_OK);
    return source;
}

/* A trace says of which part of a run it is; one that ends early, that its part does. */
TEST(test_part)
{
    static const char *const regions[] = {"f", "ns::g", NULL};
    const struct psnap_sampling none = {0}, marked = {.regions = regions},
                                part = {.regions = regions,
                                        .skip = 10,
                                        .count = 1000,
                                        .window = 2,
                                        .period = 100,
                                        .windows = 4,
                                        .run_accesses = 400,
                                        .loop_errors = some_errors,
                                        .loop_error_count = 3};
    struct psnap_trace_limit limit = {0};
    struct memory_input input;
    struct psnap_source *source;
    struct psnap_sampling *back;
    char *data;
    size_t size, plain_size;

    source = part_source(&input, &data, &plain_size, &none, 0, NULL);
    assert_false(psnap_sampling_is_part(&source->program->sampling));
    assert_true(source->program->provenance.has_rank);
    assert_int_equal(source->program->provenance.rank, 3);
    psnap_source_free(source);
    free(data);

    source = part_source(&input, &data, &size, &marked, 0, NULL);
    assert_string_equal(source->program->sampling.regions[0], "f");
    assert_string_equal(source->program->sampling.regions[1], "ns::g");
    assert_null(source->program->sampling.regions[2]);
    assert_int_equal(source->program->sampling.count, 0);
    psnap_source_free(source);
    free(data);

    source = part_source(&input, &data, &size, &part, 0, NULL);
    back = &source->program->sampling;
    assert_true(back->skip == 10 && back->count == 1000 && back->window == 2);
    assert_true(back->period == 100 && back->windows == 4 && back->run_accesses == 400);
    assert_int_equal(back->loop_error_count, 3);
    assert_memory_equal(back->loop_errors, some_errors, sizeof some_errors);
    psnap_source_free(source);
    free(data);

    /* three accesses: a window of two, and of the next period one */
    source = part_source(&input, &data, &size, &part, 1, NULL);
    back = &source->program->sampling;
    assert_true(back->regions && back->skip == 10 && back->count == 101 && back->windows == 1);
    assert_true(back->run_accesses == 101 && !back->loop_errors && !back->loop_error_count);
    psnap_source_free(source);
    free(data);

    limit.max_bytes = plain_size - 60;
    source = part_source(&input, &data, &size, &none, 0, &limit);
    assert_true(limit.is_reached && limit.accesses > 0 && limit.accesses < 3);
    assert_int_equal(source->program->sampling.count, limit.accesses);
    psnap_source_free(source);
    free(data);

    /* not even one access is whole */
    source =
        part_source(&input, &data, &size, &none, plain_size - PSNAP_PST_FILE_HEADER - 50, NULL);
    back = &source->program->sampling;
    assert_true(psnap_sampling_is_part(back) && back->is_empty && !back->count);
    psnap_source_free(source);
    free(data);
}

/* Where a part ends is counted as far as it can be. */
TEST(test_part_end)
{
    struct psnap_sampling part = {.window = 3, .period = PSNAP_RUN_MAX};

    psnap_sampling_end(&part, 8);
    assert_true(part.windows == 2 && part.count == PSNAP_RUN_MAX && !part.is_empty);
    assert_true(part.run_accesses == PSNAP_RUN_MAX);
    psnap_sampling_end(&part, 2);
    assert_true(part.windows == 0 && part.count == 2 && part.run_accesses == 2);
    psnap_sampling_end(&part, UINT64_MAX);
    assert_true(part.count == PSNAP_RUN_MAX);
    psnap_sampling_end(&part, 0);
    assert_true(part.is_empty && part.count == 0 && part.run_accesses == 0);
}
