/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The text formats and the registry: lines worked out by hand, errors with
 * their line and column, random streams there and back, the golden files.
 */
#include "tests/unit/test_formats_support.h"

#include <inttypes.h>

#include "formats/text_trace.h"
#include "tests/unit/test.h"

#define GOLDEN "tests/golden/formats/"

/* Reads `text` in pieces of `piece` bytes; the accesses are the caller's. */
static struct psnap_access *read_text(const char *text, const char *format, size_t piece, size_t *n,
                                      enum psnap_status *status, struct psnap_error *error)
{
    struct memory_input input;
    struct psnap_source *source = open_memory(&input, text, strlen(text), piece, format, error);
    struct psnap_access *all;

    assert_non_null(source);
    all = read_all(source, n, status, error);
    psnap_source_free(source);
    return all;
}

static void check_text(const char *text, const char *format, const struct psnap_access *expected,
                       size_t count)
{
    for (size_t piece = 1; piece < 50; piece += 7) {
        struct psnap_error error;
        enum psnap_status status;
        size_t n;
        struct psnap_access *all = read_text(text, format, piece, &n, &status, &error);

        assert_int_equal(status, PSNAP_OK);
        assert_same_accesses(expected, count, all, n);
        free(all);
    }
}

TEST(test_din)
{
    static const struct psnap_access expected[] = {
        {0x1000, 0, 4, PSNAP_LOAD, 0},   {0x1003, 1, 1, PSNAP_STORE, 0},
        {0, 0, 4, PSNAP_LOAD, 0},        {UINT64_MAX, 0, 1, PSNAP_LOAD, 0},
        {0xabcdef, 0, 1, PSNAP_LOAD, 0}, {0x12, 1, 2, PSNAP_STORE, 0},
    };

    check_text("0 1000\n1 1003\n2 400\n\n3 0\n4 0\n  0\t0xffffffffffffffff\n0 ABCdef rest 1 2\r\n"
               "1 000000000000000012",
               NULL, expected, 6);
}

TEST(test_xdin)
{
    static const struct psnap_access expected[] = {
        {0x7fffffffe000, 0, 8, PSNAP_LOAD, 0}, {0x10, 1, 16, PSNAP_STORE, 0},
        {0x20, 0, 1, PSNAP_LOAD, 0},           {0x100, 1, 64, PSNAP_STORE, 0},
        {0x140, 1, 64, PSNAP_STORE, 0},        {0x180, 1, 2, PSNAP_STORE, 0},
    };

    check_text("r 7fffffffe000 8\nw 10 10\n\nm 20 1\ni 400 4\nc 0 0\nv 0 0\nW 100 82\n", NULL,
               expected, 6);
}

TEST(test_lackey)
{
    static const struct psnap_access expected[] = {
        {0x1ffefff7f8, 2, 8, PSNAP_LOAD, 0}, {0x4222c40, 3, 4, PSNAP_LOAD, 0},
        {0x4222c40, 4, 4, PSNAP_STORE, 0},   {0x1ffefff7f0, 2, 8, PSNAP_LOAD, 0},
        {0x1ffefff7f0, 5, 4, PSNAP_LOAD, 0},
    };

    check_text("==12== Lackey, an example Valgrind tool\n--12-- note\n\n### unhandled dwarf2\n"
               "SB 04001090\nI  04001092,3\nhello\nI am\n"
               " L 1ffefff7f8,8\nI  04001095,5\n M 04222c40,4\n==12== \nI  04001092,3\n"
               " L 1ffefff7f0,8\n L 1ffefff7f0,4\nI  05,1\n",
               NULL, expected, 5);
}

TEST(test_lackey_without_instructions)
{
    static const struct psnap_access expected[] = {
        {0x10, 0, 8, PSNAP_LOAD, 0}, {0x20, 1, 64, PSNAP_STORE, 0}, {0x60, 1, 36, PSNAP_STORE, 0}};

    check_text(" L 10,8\nS 20,100", NULL, expected, 3);
}

TEST(test_lackey_program)
{
    static const char text[] = "I  04,1\n S 10,4\n";
    struct memory_input input;
    struct psnap_error error;
    struct psnap_access access;
    struct psnap_source *source = open_memory(&input, text, sizeof text - 1, 99, NULL, &error);

    assert_int_equal(psnap_source_next(source, &access, 1, &error), 1);
    assert_int_equal(access.ref, 2);
    assert_int_equal(source->program->ref_count, 3);
    assert_int_equal(source->program->refs[2].kind, PSNAP_STORE);
    assert_int_equal(source->program->refs[2].size, 4);
    assert_int_equal(source->program->loop_count, 1);
    assert_string_equal(source->program->loops[0].id, "lackey");
    assert_int_equal(psnap_source_next(source, &access, 1, &error), 0);
    psnap_source_free(source);
}

TEST(test_csv)
{
    static const struct psnap_access expected[] = {{0xff, 3, 64, PSNAP_ATOMIC, 65535},
                                                   {0, 0, 1, PSNAP_LOAD, 0},
                                                   {0x10, 7, 64, PSNAP_STORE, 9},
                                                   {0x50, 7, 6, PSNAP_STORE, 9}};

    check_text("address,size,kind,thread,ref\n0xff,64,atomic,65535,3\n0x0,1,load,0,0\r\n"
               "0x10,70,store,9,7\n",
               NULL, expected, 4);
}

/* Bad lines: the accesses before them come out first, then line and column. */
TEST(test_errors_have_places)
{
    static const struct {
        const char *format, *text;
        size_t accesses;
        uint32_t src_line, column;
    } cases[] = {
        {"din", "0 10\n5 10\n", 1, 2, 1},
        {"din", "0 10\n0 x\n", 1, 2, 3},
        {"din", "0 10000000000000000\n", 0, 1, 3},
        {"din", "0 10g\n", 0, 1, 5},
        {"din", "0\n", 0, 1, 1},
        {"din", "0 1\n\n\n0\n", 1, 4, 1},
        {"din", "5", 0, 1, 1}, /* not one that was cut off */
        {"xdin", "r 10 4\nr 10\n", 1, 2, 5},
        {"xdin", "r 10 0\n", 0, 1, 7},
        {"xdin", "r 10 1001\n", 0, 1, 10},
        {"xdin", "r ffffffffffffffff 2\n", 0, 1, 21},
        {"xdin", "q 10 4\n", 0, 1, 1},
        {"xdin", "r 10 4 5\n", 0, 1, 8},
        {"lackey", " L 10,8\n L 10\n", 1, 2, 6},
        {"lackey", " L 10,\n", 0, 1, 7},
        {"lackey", " L 10,99999999999999999999\n", 0, 1, 7},
        {"lackey", " X 10,8\n", 0, 1, 2},
        {"lackey", "hello\n", 0, 1, 1},
        {"pinatrace", "0x1: R 0x10\n0x1 R 0x10\n", 1, 2, 4},
        {"pinatrace", "401136: R 0x10\n", 0, 1, 1},
        {"pinatrace", "0x1: X 0x10\n", 0, 1, 6},
        {"pinatrace", "0x1: R hello\n", 0, 1, 8},
        {"pinatrace", "0x1: R 0x10 8 2 3\n", 0, 1, 17},
        {"pinatrace", "0x1: R 0x10 8k\n", 0, 1, 14},
        {"csv", "address,size\n", 0, 1, 1},
        {"csv", "address,size,kind,thread,ref\n0x1,8,load,0,1\n0x1,8,lead,0,0\n", 1, 3, 7},
        {"csv", "address,size,kind,thread,ref\n0x1,8,load,65536,0\n", 0, 2, 17},
        {"csv", "address,size,kind,thread,ref\n0X1,8,load,0,1\n100,8,load,0,0\n", 1, 3, 1},
        {"csv", "address,size,kind,thread,ref\n0x,8,load,0,0\n", 0, 2, 2},
        {"csv", "address,size,kind,thread,ref\n0x1,8,load,0,1048576\n", 0, 2, 21},
        {"csv", "address,size,kind,thread,ref\n0x1,65537,load,0,1\n", 0, 2, 19},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct psnap_error error;
        enum psnap_status status;
        size_t n;

        free(read_text(cases[i].text, cases[i].format, 5, &n, &status, &error));
        assert_true(status == PSNAP_ERROR_SYNTAX || status == PSNAP_ERROR_VALUE);
        assert_int_equal(n, cases[i].accesses);
        assert_string_equal(error.file, "memory");
        assert_int_equal(error.src_line, cases[i].src_line);
        assert_int_equal(error.column, cases[i].column);
    }
}

/* A last line without its end: what is before it counts, and what is whole as it is is taken. */
TEST(test_cut_off)
{
    static const struct {
        const char *format, *text;
        size_t accesses;
        uint32_t src_line, column;
    } cases[] = {
        {"din", "0 1\n\n\n0", 1, 4, 1},
        {"xdin", "r 10 4\nw 20 4\nr 30", 2, 3, 5},
        {"lackey", " L 10,8\n L 10,", 1, 2, 7},
        {"pinatrace", "0x1: R 0x10\n0x1: ", 1, 2, 6},
        {"csv", "address,size,kind,thread,ref\n0x1,8,load,0,1\n0x1,8,lo", 1, 3, 7},
        {"din", "0 1\n0 2", 2, 0, 0},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct psnap_error error = {0};
        enum psnap_status status;
        size_t n;

        free(read_text(cases[i].text, cases[i].format, 5, &n, &status, &error));
        assert_int_equal(status, cases[i].src_line ? PSNAP_ERROR_TRUNCATED : PSNAP_OK);
        assert_int_equal(n, cases[i].accesses);
        assert_int_equal(error.src_line, cases[i].src_line);
        assert_int_equal(error.column, cases[i].column);
    }
}

TEST(test_long_lines)
{
    enum { LONG = 4096 };
    struct psnap_error error;
    enum psnap_status status;
    char text[LONG + 16];
    size_t n;

    memset(text, ' ', sizeof text);
    memcpy(text, "0 10", 4);
    strcpy(text + LONG, "\n0 20\n"); /* a line of exactly LONG bytes is good */
    free(read_text(text, "din", 100, &n, &status, &error));
    assert_int_equal(status, PSNAP_OK);
    assert_int_equal(n, 2);
    text[LONG] = ' ';
    strcpy(text + LONG + 1, "\n0 20\n");
    free(read_text(text, "din", 100, &n, &status, &error));
    assert_int_equal(status, PSNAP_ERROR_SYNTAX);
    assert_int_equal(error.src_line, 1);
}

TEST(test_recognition)
{
    static const struct {
        const char *text, *format; /* NULL: none */
    } cases[] = {
        {"0 1a\n", "din"},
        {"\n\n2 400\n 0 4A0", "din"},
        {"0 10\n", NULL}, /* or Ramulator's */
        {"2 4a0\n2 1099511627776 4096\n", NULL},
        {"r 10 8\n", "xdin"},
        {"I  04,3\n", "lackey"},
        {" M 04,3\n", "lackey"},
        {"==1== Lackey\n", "lackey"},
        {"0x401136: R 0x7ffd1c0a3f08\n", "pinatrace"},
        {"# by Pin\n0x0: W 0x10\n", "pinatrace"},
        {"address,size,kind,thread,ref\n", "csv"},
        {"\x89PST\r\n\x1a\n", "pst"},
        {"\x89P", "pst"},
        {"", NULL},
        {"\n\n", NULL},
        {"hello\n", NULL},
        {"psnap: 1\n", NULL},
        {"\x1f\x8b\x08", NULL},
        {"7 10\n", NULL},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct memory_input input;
        struct psnap_error error;
        struct psnap_source *source =
            open_memory(&input, cases[i].text, strlen(cases[i].text), 3, NULL, &error);

        if (cases[i].format && !strcmp(cases[i].format, "pst"))
            assert_int_equal(error.code, PSNAP_ERROR_TRUNCATED);
        else if (cases[i].format)
            assert_string_equal(psnap_trace_format(source)->name, cases[i].format);
        else
            assert_null(source);
        psnap_source_free(source);
    }
}

/* Numbers as printf has them: all lengths, and the ends of each. */
TEST(test_numbers)
{
    struct psnap_rng rng;

    psnap_rng_init(&rng, 11);
    for (unsigned i = 0; i < 20000; i++) {
        uint64_t value = psnap_rng_next(&rng) >> i % 64;
        char got[64], wanted[64];

        if (i % 3 == 0) {
            value = 1;
            for (unsigned power = i / 3 % 20; power; power--)
                value *= i % 2 ? 10 : 16;
            value -= i % 5 > 2;
        }
        *psnap_text_put_decimal(got, value) = '\0';
        snprintf(wanted, sizeof wanted, "%" PRIu64, value);
        assert_string_equal(got, wanted);
        *psnap_text_put_hex(got, value, i % 17) = '\0';
        snprintf(wanted, sizeof wanted, "%0*" PRIx64, (int)(i % 17), value);
        assert_string_equal(got, wanted);
    }
}

/* A run as `format` has it; as it is, or access by access. */
static char *written_run(const struct psnap_format *format, const struct psnap_run *run,
                         bool is_whole)
{
    struct psnap_program *program = psnap_program_new();
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    struct psnap_sink *sink = psnap_trace_writer_new(format->name, file, program, NULL);

    assert_non_null(sink);
    assert_int_equal(is_whole ? psnap_sink_put_run(sink, run, NULL)
                              : psnap_sink_put_repetitions(sink, run, 0, run->count, NULL),
                     PSNAP_OK);
    assert_int_equal(psnap_sink_finish(sink, NULL), PSNAP_OK);
    psnap_sink_free(sink);
    fclose(file);
    psnap_program_free(program);
    return text;
}

/* Lines of runs, where addresses get other high digits, or more or fewer of them. */
TEST(test_runs)
{
    static const struct psnap_access first[] = {{0xfffffe8, 0, 8, PSNAP_LOAD, 0},
                                                {0xffffffe0, 1, 16, PSNAP_STORE, 0},
                                                {0xfffffffff0, 2, 4, PSNAP_LOAD, 7},
                                                {0x10000000020, 3, 64, PSNAP_ATOMIC, 65535},
                                                {0x10000010, 1048575, 1, PSNAP_LOAD, 0}};
    static const int64_t strides[] = {8, 16, 0x100000000, -8, -1};
    const struct psnap_run run = {.first = first, .strides = strides, .width = 5, .count = 9000};
    const struct psnap_format *format;

    for (size_t i = 0; (format = psnap_format_at(i)); i++) {
        char *whole, *parts;
        if (!format->ops->hex_at)
            continue;
        whole = written_run(format, &run, true);
        parts = written_run(format, &run, false);
        assert_string_equal(whole, parts);
        free(whole);
        free(parts);
    }
}

TEST(test_registry)
{
    const struct psnap_format *format;
    struct psnap_error error;
    size_t count = 0;

    for (; (format = psnap_format_at(count)); count++) {
        assert_ptr_equal(psnap_format_find(format->name), format);
        assert_int_equal(format->readable,
                         format->ops->open || format->ops->line || format->ops->records);
        assert_int_equal(format->writable,
                         format->ops->create || format->ops->access || format->ops->print);
        assert_true(format->writable || !format->is_memory_side);
        assert_true(format->summary[0] && format->loses);
    }
    assert_true(count >= 10);
    assert_null(psnap_format_find("nonesuch"));
    assert_ptr_equal(psnap_format_of_path("a.b/t.pst.din"), psnap_format_find("din"));
    assert_ptr_equal(psnap_format_of_path("t.champsim.xz"), psnap_format_find("champsim"));
    assert_ptr_equal(psnap_format_of_path("t.din.gz"), psnap_format_find("din"));
    assert_null(psnap_format_of_path("t.gz"));
    assert_ptr_equal(psnap_format_of_path("t.din.bz2"), psnap_format_find("din"));
    assert_null(psnap_format_of_path("t.din.lz4"));
    assert_null(psnap_format_of_path("din"));
    assert_null(psnap_format_of_path("a.din/t"));
    assert_null(psnap_format_of_path("t."));
    assert_null(psnap_trace_open("x", "dim", &error));
    assert_int_equal(error.code, PSNAP_ERROR_USAGE);
    assert_string_equal(error.message, "no format 'dim'; did you mean 'din'?");
    assert_null(psnap_trace_open("no/such/file", NULL, &error));
    assert_int_equal(error.code, PSNAP_ERROR_IO);
}

/* What pinatrace keeps: addresses and kinds; and a reference for each counter and kind. */
TEST(test_pinatrace)
{
    enum { COUNT = 5000, REFS = 64 };
    static const struct psnap_access expected[] = {
        {0x10, 2, 1, PSNAP_LOAD, 0},
        {0xffffffffffffffff, 3, 1, PSNAP_STORE, 0},
        {0x18, 2, 1, PSNAP_LOAD, 0},
        {0x20, 4, 1, PSNAP_STORE, 0},
        {0x7ffd00000cd8, 5, 8, PSNAP_STORE, 0},
        {0x7ffd00000cc8, 6, 16, PSNAP_LOAD, 0},
    };
    uint32_t refs[REFS][2] = {{0}};
    struct psnap_program *program = psnap_program_new();
    struct psnap_access accesses[COUNT], *back;
    struct memory_input input;
    struct psnap_error error;
    struct psnap_source *source;
    struct psnap_sink *sink;
    struct psnap_rng rng;
    enum psnap_status status;
    size_t size, n;
    char *text;
    FILE *file = open_memstream(&text, &size);

    check_text("0x401: R 0x10\n0x402: W 0xffffffffffffffff\n\n0x401: R 0x18\n0x401: W 0x20\n"
               "0x404: W 0x00007ffd00000cd8  8 \n0x404: W 0x7ffd00000ce0  0 \n"
               "0x408: R     0x7ffd00000cc8 16 0x0123456789abcdef0123456789abcdef\n#eof\n",
               NULL, expected, 6);
    psnap_rng_init(&rng, 9);
    for (size_t i = 0; i < COUNT; i++)
        accesses[i] = (struct psnap_access){.address = psnap_rng_next(&rng),
                                            .ref = (uint32_t)psnap_rng_below(&rng, REFS),
                                            .size = (uint8_t)(1 + psnap_rng_below(&rng, 64)),
                                            .kind = (uint8_t)psnap_rng_below(&rng, 3)};
    sink = psnap_trace_writer_new("pinatrace", file, program, &error);
    end_trace(sink, accesses, COUNT, file);
    source = open_memory(&input, text, size, 999, NULL, &error);
    assert_string_equal(psnap_trace_format(source)->name, "pinatrace");
    back = read_all(source, &n, &status, &error);
    assert_int_equal(status, PSNAP_OK);
    assert_int_equal(n, COUNT);
    for (size_t i = 0; i < n; i++) {
        const bool store = accesses[i].kind != PSNAP_LOAD;
        uint32_t *ref = &refs[accesses[i].ref][store];
        assert_true(back[i].address == accesses[i].address && back[i].size == 1);
        assert_int_equal(back[i].kind, store);
        if (!*ref)
            *ref = back[i].ref;
        assert_int_equal(back[i].ref, *ref);
        assert_true(*ref > 1 && *ref < source->program->ref_count);
    }
    free(back);
    psnap_source_free(source);
    free(text);
    psnap_program_free(program);
}

static struct psnap_access *read_golden(const char *name, size_t *n)
{
    char path[128];
    struct psnap_error error;
    enum psnap_status status;
    struct psnap_source *source;
    struct psnap_access *all;

    snprintf(path, sizeof path, GOLDEN "%s", name);
    source = psnap_trace_open(path, NULL, &error);
    assert_non_null(source);
    all = read_all(source, n, &status, &error);
    assert_int_equal(status, PSNAP_OK);
    psnap_source_free(source);
    return all;
}

/* An access as it is after a format has kept it. */
static struct psnap_access through(const char *format, struct psnap_access access)
{
    if (!strcmp(format, "csv"))
        return access;
    if (!strcmp(format, "din"))
        access.size = (uint8_t)(4 - (access.address & 3));
    access.kind = access.kind == PSNAP_LOAD ? PSNAP_LOAD : PSNAP_STORE;
    access.ref = access.kind;
    access.thread = 0;
    return access;
}

/* small.csv written in a text format is small.FORMAT, byte by byte. */
static void check_golden_text(const char *format)
{
    struct psnap_error error;
    struct psnap_program *program = psnap_program_new();
    struct psnap_sink *sink;
    struct psnap_access *accesses, *back;
    char *text, name[64], expected[4096];
    size_t size, n, back_count;
    FILE *file = open_memstream(&text, &size), *golden;

    accesses = read_golden("small.csv", &n);
    sink = psnap_trace_writer_new(format, file, program, &error);
    end_trace(sink, accesses, n, file);
    snprintf(name, sizeof name, GOLDEN "small.%s", format);
    golden = fopen(name, "rb");
    assert_non_null(golden);
    assert_int_equal(fread(expected, 1, sizeof expected, golden), size);
    assert_memory_equal(expected, text, size);
    fclose(golden);
    snprintf(name, sizeof name, "small.%s", format);
    back = read_golden(name, &back_count);
    for (size_t i = 0; i < n; i++)
        accesses[i] = through(format, accesses[i]);
    assert_same_accesses(accesses, n, back, back_count);
    free(accesses);
    free(back);
    free(text);
    psnap_program_free(program);
}

TEST(test_golden)
{
    struct psnap_access *a, *b;
    size_t a_count, b_count;

    check_golden_text("din");
    check_golden_text("xdin");
    check_golden_text("lackey");
    check_golden_text("csv");
    /* Version 1 of pst is readable for ever; how zstd packs it may change. */
    a = read_golden("small.csv", &a_count);
    b = read_golden("small.pst", &b_count);
    assert_same_accesses(a, a_count, b, b_count);
    free(a);
    free(b);
}

TEST(test_full_disk)
{
    static const struct psnap_access access = {.address = 1, .size = 8};
    const struct psnap_format *format;

    for (size_t i = 0; (format = psnap_format_at(i)); i++) {
        FILE *file = fopen("/dev/full", "wb");
        struct psnap_program *program = psnap_program_new();
        struct psnap_error error;
        enum psnap_status status;
        struct psnap_sink *sink;

        assert_non_null(file);
        assert_int_equal(psnap_program_add_anonymous(program, "x"), PSNAP_OK);
        sink = psnap_trace_writer_new(format->name, file, program, &error);
        if (sink) {
            status = psnap_sink_put(sink, &access, 1, &error);
            if (status == PSNAP_OK)
                status = psnap_sink_finish(sink, &error);
            assert_int_equal(status, PSNAP_ERROR_IO);
            assert_string_equal(error.message, "cannot write: no space left on device");
        } else {
            assert_int_equal(error.code, PSNAP_ERROR_UNSUPPORTED); /* in this build */
        }
        psnap_sink_free(sink);
        psnap_program_free(program);
        fclose(file);
    }
}
