/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From every format that can be written and read through every other one: what comes back is what
 * both carry, by the table below, of streams with 64-byte, unaligned and high accesses; whole, and
 * from one place to another.
 */
#include "tests/unit/test_formats_support.h"
#include "tests/unit/vectors.h"
#include "tests/unit/test.h"

enum { COUNT = 3000, REFS = 4096 };

enum refs {
    KEPT,      /* numbers stay */
    ANONYMOUS, /* 0 loads, 1 stores */
    BY_COUNTER /* each counter, kind and size that is read is one, from 2 on, as they come */
};

/* What a format carries. */
static const struct carried {
    const char *format;
    enum refs refs;
    unsigned size; /* 0: kept; else of what is read; 4: to the end of the word */
    uint64_t address_max;
    bool has_atomics, has_threads;
} table[] = {
    {"pst", KEPT, 0, UINT64_MAX, true, true},
    {"csv", KEPT, 0, UINT64_MAX, true, true},
    {"din", ANONYMOUS, 4, UINT64_MAX, false, false},
    {"xdin", ANONYMOUS, 0, UINT64_MAX, false, false},
    {"dinbin", ANONYMOUS, 0, UINT32_MAX, false, false},
    {"lackey", ANONYMOUS, 0, UINT64_MAX, false, false},
    {"pinatrace", BY_COUNTER, 1, UINT64_MAX, false, false},
    {"champsim", BY_COUNTER, 1, UINT64_MAX, false, false},
    {"drmemtrace", BY_COUNTER, 0, UINT64_MAX, false, false},
    {"gem5", BY_COUNTER, 0, UINT64_MAX, false, false},
};

enum { FORMATS = sizeof table / sizeof table[0] };

/* Not in every build. */
static bool is_there(const struct carried *format)
{
    struct psnap_error error = {.code = PSNAP_OK};
    char *data;
    size_t size;
    FILE *file = open_memstream(&data, &size);
    struct psnap_program *program = psnap_program_new();
    struct psnap_sink *sink = psnap_trace_writer_new(format->format, file, program, &error);
    const bool is = sink || error.code != PSNAP_ERROR_UNSUPPORTED;

    psnap_sink_free(sink);
    psnap_program_free(program);
    fclose(file);
    free(data);
    return is;
}

/* Numbers of references as a reader of counters gives them. */
struct numbers {
    struct {
        uint32_t ref;
        uint8_t kind, size;
    } known[REFS];
    uint32_t count;
};

static uint32_t number_of(struct numbers *numbers, const struct psnap_access *access)
{
    uint32_t i = 0;

    while (i < numbers->count &&
           (numbers->known[i].ref != access->ref || numbers->known[i].kind != access->kind ||
            numbers->known[i].size != access->size))
        i++;
    if (i == numbers->count) {
        assert_true(i < REFS);
        numbers->known[i].ref = access->ref;
        numbers->known[i].kind = access->kind;
        numbers->known[i].size = access->size;
        numbers->count++;
    }
    return i + 2;
}

/* What is left of the accesses when they have been through the format. */
static void go_through(const struct carried *format, struct psnap_access *accesses, size_t n)
{
    static struct numbers numbers;

    numbers.count = 0;
    for (size_t i = 0; i < n; i++) {
        struct psnap_access *access = &accesses[i];

        if (!format->has_atomics && access->kind == PSNAP_ATOMIC)
            access->kind = PSNAP_STORE;
        if (!format->has_threads)
            access->thread = 0;
        if (format->size)
            access->size = (uint8_t)(format->size - (access->address & (format->size - 1)));
        if (format->refs == ANONYMOUS)
            access->ref = access->kind;
        if (format->refs == BY_COUNTER)
            access->ref = number_of(&numbers, access);
    }
}

/* `in_lines`: no access is in two lines. */
static void make(const struct psnap_program *program, struct psnap_rng *rng, uint64_t address_max,
                 bool in_lines, struct psnap_access *accesses)
{
    random_accesses(program, rng, accesses, COUNT);
    for (size_t i = 0; i < COUNT; i++) {
        struct psnap_access *access = &accesses[i];

        if (i % 50 == 0)
            access->size = 64;
        if (i % 31 == 0)
            access->address = address_max - access->size + 1; /* the last ones that there are */
        if (i % 37 == 0)
            access->address = 0x7fffffffe03f;
        access->address &= address_max;
        if (access->address > address_max - access->size)
            access->address = address_max - access->size + 1;
        if (!access->address) /* none, for ChampSim */
            access->address = 1;
        if (in_lines && access->size > 64 - access->address % 64)
            access->size = (uint8_t)(64 - access->address % 64);
    }
}

struct file {
    char *data;
    size_t size;
};

/* Moves all of the source, which it frees, to a file in memory. */
static struct file write_all(const char *format, struct psnap_source *source)
{
    struct file made;
    struct psnap_error error = {.code = PSNAP_OK};
    FILE *file = open_memstream(&made.data, &made.size);
    struct psnap_sink *sink = psnap_trace_writer_new(format, file, source->program, &error);

    assert_non_null(sink);
    if (psnap_pump(source, sink, NULL, &error))
        fail_msg("%s: %s", format, error.message);
    psnap_sink_free(sink);
    psnap_source_free(source);
    fclose(file);
    return made;
}

/* The accesses [skip, skip + count) of what is in the file, as psnap's commands take them. */
static void check_window(const struct carried *format, const struct file *file,
                         const struct psnap_access *wanted, uint64_t skip, uint64_t count)
{
    struct memory_input input;
    struct psnap_error error;
    enum psnap_status status;
    uint64_t skipped;
    size_t n;
    struct psnap_source *source =
        open_memory(&input, file->data, file->size, 777, format->format, &error);
    struct psnap_access *read;

    assert_int_equal(psnap_trace_skip(source, skip, &skipped, &error), PSNAP_OK);
    assert_int_equal(skipped, skip);
    source = psnap_limit_source_new(source, 0, count);
    read = read_all(source, &n, &status, &error);
    assert_int_equal(status, PSNAP_OK);
    assert_same_accesses(wanted + skip, (size_t)count, read, n);
    for (size_t i = 0; i < n; i++)
        assert_true(read[i].ref < source->program->ref_count);
    free(read);
    psnap_source_free(source);
}

static void check_file(const struct carried *format, const struct file *file,
                       const struct psnap_access *wanted, struct psnap_rng *rng)
{
    const uint64_t skip = psnap_rng_below(rng, COUNT);

    check_window(format, file, wanted, 0, COUNT);
    check_window(format, file, wanted, skip, psnap_rng_below(rng, COUNT - skip));
    check_window(format, file, wanted, COUNT, 0);
}

static void check_pair(const struct carried *a, const struct carried *b, struct psnap_rng *rng)
{
    static struct psnap_access accesses[COUNT];
    struct psnap_program *program = random_program(rng);
    struct memory_input input;
    struct psnap_error error;
    struct psnap_source *source;
    struct file first, second;

    for (int i = 0; i < 20; i++)
        grow_program(program, rng);
    make(program, rng, a->address_max < b->address_max ? a->address_max : b->address_max,
         !strcmp(a->format, "gem5") || !strcmp(b->format, "gem5"), accesses);
    first = write_all(a->format, vector_source_new(accesses, COUNT, program));
    go_through(a, accesses, COUNT);
    check_file(a, &first, accesses, rng);
    source = open_memory(&input, first.data, first.size, 4096, a->format, &error);
    assert_non_null(source);
    second = write_all(b->format, source);
    go_through(b, accesses, COUNT);
    check_file(b, &second, accesses, rng);
    free(first.data);
    free(second.data);
    psnap_program_free(program);
}

TEST(test_pairs)
{
    struct psnap_rng rng;

    psnap_rng_init(&rng, 77);
    for (size_t a = 0; a < FORMATS; a++)
        for (size_t b = 0; b < FORMATS; b++)
            if (is_there(&table[a]) && is_there(&table[b]))
                check_pair(&table[a], &table[b], &rng);
}

/* No format that can be written and read is missing above. */
TEST(test_table)
{
    const struct psnap_format *format;

    for (size_t i = 0; (format = psnap_format_at(i)); i++) {
        size_t k = 0;

        while (k < FORMATS && strcmp(table[k].format, format->name) != 0)
            k++;
        assert_int_equal(k < FORMATS, format->readable && format->writable);
    }
}
