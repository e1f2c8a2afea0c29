/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What formats of patterns make of a program with named regions, and of accesses without one; when
 * a stride is a traffic generator's; how many accesses a writer says that it left out.
 */
#include "formats/base/rng.h"
#include "formats/formats.h"
#include "tests/unit/test_simcore_support.h"
#include "tests/unit/test.h"

#define X (UINT64_C(1) << 44)
#define Y (UINT64_C(1) << 45)

/* What `format` makes of the accesses; free it. */
static char *written(const char *format, struct psnap_program *program,
                     const struct psnap_access *accesses, size_t n, uint64_t *left_out)
{
    char *data;
    size_t size;
    FILE *file = open_memstream(&data, &size);
    struct psnap_sink *sink = psnap_trace_writer_new(format, file, program, NULL);

    assert_non_null(sink);
    for (size_t i = 0; i < n; i += 700) /* the tables may grow between blocks */
        assert_int_equal(psnap_sink_put(sink, accesses + i, n - i < 700 ? n - i : 700, NULL),
                         PSNAP_OK);
    assert_int_equal(psnap_sink_finish(sink, NULL), PSNAP_OK);
    *left_out = psnap_sink_left_out(sink);
    psnap_sink_free(sink);
    fclose(file);
    return data;
}

static void add_object(struct psnap_program *program, uint64_t address, const char *name)
{
    psnap_program_add_object(program,
                             &(struct psnap_object){address, 1 << 20, name, PSNAP_OBJECT_GLOBAL});
}

enum { N = 1000 };

/* In turn: both parts of f:1 load halves of x, f:2 stores to y three at a time, f to what has no
 * name. */
static void make_stream(struct psnap_access stream[4 * N])
{
    static const uint64_t three[] = {0, 24, 8};

    for (uint64_t i = 0; i < N; i++) {
        struct psnap_access *at = &stream[4 * i];
        at[0] = (struct psnap_access){X + 16 * i, 2, 8, PSNAP_LOAD, 0};
        at[1] = (struct psnap_access){X + 16 * i + 8, 6, 8, PSNAP_LOAD, 0};
        at[2] = (struct psnap_access){Y + three[i % 3] + i / 3 * 64, 4, 8, PSNAP_STORE, 0};
        at[3] = (struct psnap_access){8 * i, 0, 8, PSNAP_LOAD, 0};
    }
}

TEST(regions_have_the_patterns)
{
    static struct psnap_access stream[4 * N];
    struct psnap_program *program = program_with_loops();
    uint64_t left_out;
    char *text;

    make_stream(stream);
    add_object(program, X, "x");
    add_object(program, Y, "y");
    text = written("spatter", program, stream, 4 * N, &left_out);
    assert_non_null(strstr(text, "\"f:1 x: 1 runs, 2000 accesses\""));
    assert_non_null(strstr(text, "\"f:2 y: 1 runs, 999 accesses\""));
    assert_non_null(strstr(text, "\"f (unknown) ref 0: 1 runs, 1000 accesses\""));
    assert_null(strstr(text, "ref 2"));
    assert_null(strstr(text, "ref 4"));
    assert_int_equal(left_out, 1); /* a third of a repetition */
    free(text);
    text = written("trafficgen", program, stream, 4 * N, &left_out);
    assert_non_null(strstr(text, "STATE 0 2000001 LINEAR 100 17592186044416 17592186060415 8 "));
    assert_non_null(strstr(text, "STATE 1 1000001 RANDOM 0 "));
    assert_non_null(strstr(text, "STATE 2 1000001 LINEAR 100 0 7999 8 "));
    assert_non_null(strstr(text, "STATE 3 1 EXIT"));
    assert_int_equal(left_out, 0);
    free(text);
    psnap_program_free(program);
}

TEST(references_have_them_without_names)
{
    static struct psnap_access stream[4 * N];
    struct psnap_program *program = program_with_loops();
    uint64_t left_out;
    char *text;

    make_stream(stream);
    text = written("spatter", program, stream, 4 * N, &left_out);
    assert_non_null(strstr(text, "\"f:1.vector (unknown) ref 2: 1 runs, 1000 accesses\""));
    assert_non_null(strstr(text, "\"f:1.rest (unknown) ref 6: 1 runs, 1000 accesses\""));
    assert_non_null(strstr(text, "\"f:2 (unknown) ref 4: 1 runs, 999 accesses\""));
    free(text);
    text = written("trafficgen", program, stream, 4 * N, &left_out);
    assert_non_null(strstr(text, "STATE 4 1 EXIT"));
    free(text);
    psnap_program_free(program);
}

/* A load and a store of a region are not one pattern; a reference that is not there is refused. */
TEST(kinds_are_apart)
{
    struct psnap_program *program = program_with_loops();
    struct psnap_access stream[2 * N];
    struct psnap_sink *sink;
    uint64_t left_out;
    char *text;

    add_object(program, X, "x");
    for (uint64_t i = 0; i < 2 * N; i++)
        stream[i] = (struct psnap_access){X + i / 2 * 8, 2, 8, i % 2 ? PSNAP_STORE : PSNAP_LOAD, 0};
    text = written("trafficgen", program, stream, 2 * N, &left_out);
    assert_non_null(strstr(text, "STATE 0 1000001 LINEAR 100 "));
    assert_non_null(strstr(text, "STATE 1 1000001 LINEAR 0 "));
    free(text);
    sink = psnap_trace_writer_new("spatter", stdout, program, NULL);
    stream[0].ref = 8;
    assert_int_equal(psnap_sink_put(sink, stream, 1, NULL), PSNAP_ERROR_VALUE);
    psnap_sink_free(sink);
    psnap_program_free(program);
}

/* The state of a reference whose steps are of 64 bytes, so many in a hundred, or of others. */
static void assert_mode(unsigned percent, bool is_random, const char *mode)
{
    static struct psnap_access stream[20 * N];
    struct psnap_program *program = program_with_loops();
    struct psnap_rng rng;
    uint64_t address = X + (UINT64_C(1) << 31), left_out;
    char *text;

    psnap_rng_init(&rng, 7);
    for (uint64_t i = 0; i < 20 * N; i++) {
        stream[i] = (struct psnap_access){address, 0, 8, PSNAP_LOAD, 0};
        if (i * 37 % 100 < percent)
            address += 64;
        else
            address += is_random ? 8 * psnap_rng_below(&rng, 1 << 20) - (UINT64_C(1) << 22)
                                 : UINT64_C(0) - 32;
    }
    text = written("trafficgen", program, stream, 20 * N, &left_out);
    if (strncmp(text + strlen("STATE 0 20000001 "), mode, strlen(mode)) != 0)
        fail_msg("%u %%: not %s but %.60s", percent, mode, text);
    free(text);
    psnap_program_free(program);
}

/* A reference to windows of 4 GiB, and a region that reaches from one to the next, are apart. */
TEST(windows_are_apart)
{
    static struct psnap_access stream[2 * N];
    struct psnap_program *program = program_with_loops();
    uint64_t left_out;
    char *text;

    add_object(program, X - (1 << 19), "x");
    for (uint64_t i = 0; i < N; i++) {
        stream[2 * i] = (struct psnap_access){X - 4 * N + 8 * i, 2, 8, PSNAP_LOAD, 0};
        stream[2 * i + 1] = (struct psnap_access){(i % 2 << 32) + 8 * i, 4, 8, PSNAP_STORE, 0};
    }
    text = written("trafficgen", program, stream, 2 * N, &left_out);
    assert_non_null(strstr(text, "STATE 0 500001 LINEAR 100 17592186040416 17592186044415 8 "));
    assert_non_null(strstr(text, "STATE 1 500001 STRIDED 0 0 7991 "));
    assert_non_null(strstr(text, "STATE 2 500001 STRIDED 0 4294967304 4294975295 "));
    assert_non_null(strstr(text, "STATE 3 500001 LINEAR 100 17592186044416 17592186048415 8 "));
    assert_non_null(strstr(text, "STATE 4 1 EXIT"));
    free(text);
    text = written("spatter", program, stream, 2 * 100, &left_out);
    assert_non_null(strstr(text, "\"f:1 x: 1 runs, 100 accesses\""));
    assert_null(strstr(text, "ref 4"));
    assert_int_equal(left_out, 100); /* two patterns of 50 accesses */
    free(text);
    psnap_program_free(program);
}

/* Ranges of states one behind the other from a base on, with their places in pages of 2 MiB. */
TEST(states_are_placed)
{
    static struct psnap_access stream[4 * N];
    struct psnap_program *program = program_with_loops();
    struct psnap_compact compact = {.base = 1 << 30};
    struct psnap_sink *sink;
    char *text;
    size_t size;
    FILE *file = open_memstream(&text, &size);

    make_stream(stream);
    add_object(program, X, "x");
    sink = psnap_trace_writer_new("trafficgen", file, program, NULL);
    assert_true(psnap_sink_place(sink, &compact));
    assert_int_equal(psnap_sink_put(sink, stream, 4 * N, NULL), PSNAP_OK);
    assert_int_equal(psnap_sink_finish(sink, NULL), PSNAP_OK);
    psnap_sink_free(sink);
    fclose(file);
    assert_int_equal(compact.pages, 3);
    assert_non_null(strstr(text, "STATE 0 2000001 LINEAR 100 1075838976 1075854975 8 "));
    assert_non_null(strstr(text, "STATE 1 1000001 RANDOM 0 1077936128 "));
    assert_non_null(strstr(text, "STATE 2 1000001 LINEAR 100 1073741824 1073749823 8 "));
    free(text);
    compact = (struct psnap_compact){.base = UINT64_MAX - (1 << 20)};
    sink = psnap_trace_writer_new("trafficgen", stdout, program, NULL);
    assert_true(psnap_sink_place(sink, &compact));
    assert_int_equal(psnap_sink_put(sink, stream, 4 * N, NULL), PSNAP_OK);
    assert_int_equal(psnap_sink_finish(sink, NULL), PSNAP_ERROR_VALUE);
    psnap_sink_free(sink);
    psnap_program_free(program);
}

TEST(half_of_the_steps_make_a_stride)
{
    assert_mode(100, true, "STRIDED");
    assert_mode(60, true, "STRIDED");
    assert_mode(51, true, "STRIDED");
    assert_mode(48, true, "RANDOM");
    assert_mode(51, false, "STRIDED");
    assert_mode(50, false, "STRIDED"); /* as many go down */
    assert_mode(48, false, "RANDOM");
    assert_mode(0, false, "RANDOM");
}
