/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The native trace's regular streams: runs and single accesses make the same
 * file and come out as they went in, nests fold to next to nothing, and what
 * is written is there for others to read.
 */
#include "tests/unit/test_formats_support.h"

#include "formats/pst.h"
#include "tests/next_run.h"
#include "tests/unit/test_affine_support.h"
#include "tests/unit/test.h"

enum { SMALL_CHUNK = 64 };

/* A stream of runs and blocks, written as such and access by access: the files are the same. */
struct run_stream {
    struct psnap_access *accesses; /* all of it, written out */
    size_t count, room;
    char *data[2];
    size_t size[2];
};

static void release(struct run_stream *stream, struct psnap_program *program)
{
    psnap_program_free(program);
    free(stream->accesses);
    free(stream->data[0]);
    free(stream->data[1]);
}

static void add_run(struct run_stream *stream, struct psnap_sink *sink, struct psnap_rng *rng,
                    const struct psnap_program *program)
{
    const uint32_t ref = (uint32_t)psnap_rng_below(rng, program->ref_count);
    struct psnap_access first[8];
    int64_t strides[8];
    struct psnap_run run = {first, strides, NULL, 0, 1 + psnap_rng_below(rng, 3000)};
    struct psnap_error error;

    for (uint32_t r = ref; r < program->ref_count && run.width < 8; r++, run.width++) {
        if (program->refs[r].block != program->refs[ref].block)
            break;
        first[run.width] = (struct psnap_access){psnap_rng_next(rng), r, 8, 0, 1};
        strides[run.width] = (int64_t)psnap_rng_below(rng, 200) - 100;
    }
    if (run.width <= 4 && psnap_rng_below(rng, 2)) { /* the same refs again: x[i / 2] */
        for (size_t k = 0; k < run.width; k++) {
            first[run.width + k] = first[k];
            first[run.width + k].address += 8 * psnap_rng_below(rng, 2);
            strides[run.width + k] = strides[k] = 8;
        }
        run.turns = 2;
        run.width *= 2;
    }
    assert_int_equal(psnap_sink_put_run(sink, &run, &error), PSNAP_OK);
    for (uint64_t i = 0; i < run.count; i++)
        for (size_t k = 0; k < run.width; k++) {
            assert_true(stream->count < stream->room);
            stream->accesses[stream->count] = first[k];
            stream->accesses[stream->count++].address += i * (uint64_t)strides[k];
        }
}

static void make_runs(struct run_stream *stream, struct psnap_program *program,
                      struct psnap_rng *rng, uint32_t chunk)
{
    FILE *file = open_memstream(&stream->data[0], &stream->size[0]);
    struct psnap_error error;
    struct psnap_sink *sink = psnap_pst_writer_new(file, program, chunk, NULL, &error);

    stream->room = 1000000;
    stream->accesses = malloc(stream->room * sizeof *stream->accesses);
    for (int i = 0; i < 40; i++) {
        const size_t n = (size_t)psnap_rng_below(rng, 100);

        add_run(stream, sink, rng, program);
        random_accesses(program, rng, stream->accesses + stream->count, n);
        assert_int_equal(psnap_sink_put(sink, stream->accesses + stream->count, n, &error),
                         PSNAP_OK);
        stream->count += n;
    }
    end_trace(sink, NULL, 0, file);
    file = open_memstream(&stream->data[1], &stream->size[1]);
    sink = psnap_pst_writer_new(file, program, chunk, NULL, &error);
    end_trace(sink, stream->accesses, stream->count, file);
}

/* Reads with next and next_run in turn; returns the accesses that came in runs. */
static size_t check_read_runs(const struct run_stream *stream, struct psnap_rng *rng)
{
    struct memory_input input;
    struct psnap_error error;
    static struct psnap_access block[5000];
    struct psnap_source *source =
        open_memory(&input, stream->data[0], stream->size[0], 1 << 20, NULL, &error);
    size_t position = 0, in_runs = 0;

    for (;;) {
        const size_t capacity =
            1 + (size_t)psnap_rng_below(rng, psnap_rng_below(rng, 4) ? 700 : 5000);
        struct psnap_run run = {.count = 0};
        const ssize_t n = psnap_rng_below(rng, 4)
                              ? next_run(source, block, capacity, &run, &error)
                              : psnap_source_next(source, block, capacity, &error);

        assert_true(n >= 0 && (size_t)n <= capacity);
        if (n == 0 && run.count == 0)
            break;
        assert_same_accesses(stream->accesses + position, (size_t)n, block, (size_t)n);
        position += (size_t)n;
        for (uint64_t i = 0; i < run.count; i++)
            for (size_t k = 0; k < run.width; k++) {
                struct psnap_access access = run.first[k];
                access.address += i * (uint64_t)run.strides[k];
                assert_same_accesses(&stream->accesses[position++], 1, &access, 1);
            }
        for (size_t k = 1; run.count && k < run.width; k++)
            assert_int_equal(source->program->refs[run.first[k].ref].block,
                             source->program->refs[run.first[0].ref].block);
        in_runs += run.count * run.width;
    }
    assert_int_equal(position, stream->count);
    psnap_source_free(source);
    return in_runs;
}

TEST(test_runs)
{
    static const uint32_t chunks[] = {0, 1000, 777, 64, 1};

    for (size_t i = 0; i < sizeof chunks / sizeof chunks[0]; i++) {
        struct run_stream stream = {0};
        struct psnap_program *program;
        struct psnap_rng rng;
        size_t in_runs;

        psnap_rng_init(&rng, i);
        program = random_program(&rng);
        for (int j = 0; j < 10; j++)
            grow_program(program, &rng);
        make_runs(&stream, program, &rng, chunks[i]);
        assert_int_equal(stream.size[0], stream.size[1]);
        assert_memory_equal(stream.data[0], stream.data[1], stream.size[0]);
        in_runs = check_read_runs(&stream, &rng);
        if (chunks[i] > 1000)
            assert_true(in_runs > stream.count / 2);
        release(&stream, program);
    }
}

/* A program of one block with so many references. */
static struct psnap_program *one_block(uint32_t refs)
{
    struct psnap_program *program = psnap_program_new();
    const struct psnap_ref ref = {0};

    assert_int_equal(psnap_program_add_anonymous(program, "x"), PSNAP_OK);
    while (program->ref_count < refs)
        psnap_program_add_ref(program, &ref);
    return program;
}

static void keep_access(const struct psnap_access *access, void *to)
{
    struct run_stream *stream = to;

    assert_true(stream->count < stream->room);
    stream->accesses[stream->count++] = *access;
}

/* A random nest, several times, each time somewhere else, with some accesses in between. */
static void add_nests(struct run_stream *stream, struct psnap_sink *sink, struct psnap_rng *rng)
{
    const uint64_t times = 1 + psnap_rng_below(rng, 12), shift = 8 * psnap_rng_below(rng, 9);
    const unsigned levels = 2 + (unsigned)psnap_rng_below(rng, 4);
    struct random_nest made = {.refs = 16,
                               .loops = 4,
                               .areas = 4,
                               .base = 0x1000000,
                               .is_uneven = psnap_rng_below(rng, 4) == 0};
    const struct psnap_nest nest = make_affine(&made, rng, levels,
                                               psnap_rng_below(rng, 3) ? 12
                                               : levels == 2           ? 90
                                                                       : 30);
    struct psnap_error error;

    for (uint64_t t = 0; t < times && psnap_nest_accesses(&nest) < 40000; t++) {
        uint64_t iteration[PSNAP_NEST_LEVELS];

        if (stream->room - stream->count < 50000)
            return;
        assert_int_equal(psnap_sink_put_nest(sink, &nest, &error), PSNAP_OK);
        for_each_access(&nest, 0, 0, iteration, keep_access, stream);
        for (uint32_t a = 0; a < made.width; a++)
            made.first[a].address += shift;
        if (psnap_rng_below(rng, 4) == 0) {
            struct psnap_access other = {psnap_rng_below(rng, 1 << 20), 3, 8, 0, 0};

            assert_int_equal(psnap_sink_put(sink, &other, 1, &error), PSNAP_OK);
            keep_access(&other, stream);
        }
    }
}

/* Nests make the same file as their accesses, in chunks of all sizes. */
TEST(test_put_nests)
{
    static const uint32_t chunks[] = {0, 100000, 7000, 997};

    for (uint64_t seed = 0; seed < 60; seed++) {
        struct run_stream stream = {.room = 300000};
        struct psnap_program *program = one_block(16);
        struct psnap_trace_limit limits[2] = {{.max_bytes = seed % 3 ? 0 : 200000}};
        const uint32_t chunk = chunks[seed % 4];
        FILE *file = open_memstream(&stream.data[0], &stream.size[0]);
        struct psnap_error error;
        struct psnap_sink *sink = psnap_pst_writer_new(file, program, chunk, &limits[0], &error);
        struct psnap_rng rng;

        psnap_rng_init(&rng, seed);
        limits[1] = limits[0];
        stream.accesses = malloc(stream.room * sizeof *stream.accesses);
        for (int i = 0; i < 30; i++)
            add_nests(&stream, sink, &rng);
        end_trace(sink, NULL, 0, file);
        file = open_memstream(&stream.data[1], &stream.size[1]);
        sink = psnap_pst_writer_new(file, program, chunk, &limits[1], &error);
        end_trace(sink, stream.accesses, stream.count, file);
        assert_int_equal(stream.size[0], stream.size[1]);
        assert_memory_equal(stream.data[0], stream.data[1], stream.size[0]);
        release(&stream, program);
    }
}

/* A chunk that is full can be read at once, by others, whatever becomes of the writer. */
TEST(test_chunks_are_flushed)
{
    char path[] = "/tmp/psnap-test-XXXXXX";
    FILE *file = fdopen(mkstemp(path), "wb");
    struct psnap_program *program = psnap_program_new();
    struct psnap_access accesses[3 * SMALL_CHUNK + 5], *back;
    struct psnap_error error;
    enum psnap_status status;
    struct psnap_source *source;
    struct psnap_sink *sink;
    size_t n;

    assert_int_equal(psnap_program_add_anonymous(program, "x"), PSNAP_OK);
    for (size_t i = 0; i < sizeof accesses / sizeof accesses[0]; i++)
        accesses[i] = (struct psnap_access){.address = i * i * 8, .size = 8};
    sink = psnap_pst_writer_new(file, program, SMALL_CHUNK, NULL, &error);
    n = sizeof accesses / sizeof accesses[0];
    assert_int_equal(psnap_sink_put(sink, accesses, n, &error), PSNAP_OK);
    source = psnap_trace_open(path, NULL, &error);
    assert_non_null(source);
    back = read_all(source, &n, &status, &error);
    assert_int_equal(status, PSNAP_ERROR_TRUNCATED);
    assert_same_accesses(accesses, 3 * SMALL_CHUNK, back, n);
    free(back);
    psnap_source_free(source);
    psnap_sink_free(sink);
    psnap_program_free(program);
    fclose(file);
    remove(path);
}

/*
 * What programs do, mixed: nests, triangles, fields of the same structure,
 * read and write of a random place, walks through the same random list again
 * and again, unpredictable branches.
 */
static void add_nest(struct run_stream *stream, struct psnap_rng *rng, uint32_t ref)
{
    const uint64_t outer = 1 + psnap_rng_below(rng, 30), inner = 1 + psnap_rng_below(rng, 40);
    const uint64_t kind = psnap_rng_below(rng, 5), seed = psnap_rng_below(rng, 3);

    for (uint64_t i = 0; i < outer; i++) {
        struct psnap_rng list;
        const uint64_t bound = kind == 1 ? 1 + i : inner;

        psnap_rng_init(&list, seed); /* the same again each time */
        for (uint64_t j = 0; j < bound && stream->count + 4 < stream->room; j++) {
            struct psnap_access *to = stream->accesses + stream->count;
            const uint64_t place = 8 * psnap_rng_below(kind == 2 ? rng : &list, 5000);
            const uint64_t at = kind < 2 ? 8 * (i * inner + j) : place;

            to[0] = (struct psnap_access){0x10000 + at, ref, 8, 0, 1};
            to[1] = (struct psnap_access){0x10008 + at, ref + 1, 4, 0, 1};
            to[2] = (struct psnap_access){0x10000 + at, ref + 2, 8, 1, 1};
            to[3] = (struct psnap_access){0x90000 + 8 * (j * outer - i), ref + 3, 8, 1, 1};
            stream->count += kind == 4 ? 1 + psnap_rng_below(rng, 4) : 4;
        }
    }
}

/* Writes the stream in blocks; chunks of at most `chunk` accesses, 0: as long as they like. */
static void write_stream(struct run_stream *stream, struct psnap_program *program, uint32_t chunk)
{
    FILE *file = open_memstream(&stream->data[0], &stream->size[0]);
    struct psnap_error error;
    struct psnap_sink *sink = psnap_pst_writer_new(file, program, chunk, NULL, &error);

    for (size_t i = 0; i < stream->count; i += 1999)
        assert_int_equal(psnap_sink_put(sink, stream->accesses + i,
                                        stream->count - i < 1999 ? stream->count - i : 1999,
                                        &error),
                         PSNAP_OK);
    end_trace(sink, NULL, 0, file);
}

TEST(test_nests)
{
    for (uint64_t seed = 0; seed < 12; seed++) {
        struct run_stream stream = {.room = 300000};
        struct psnap_program *program = one_block(40);
        struct psnap_rng rng;

        psnap_rng_init(&rng, seed);
        stream.accesses = malloc(stream.room * sizeof *stream.accesses);
        while (stream.count + 10000 < stream.room)
            add_nest(&stream, &rng, (uint32_t)psnap_rng_below(&rng, 9) * 4);
        write_stream(&stream, program, seed % 3 ? 0 : 7000);
        check_read_runs(&stream, &rng);
        release(&stream, program);
    }
}

/*
 * Two references that learnt, each by itself, to be 8 bytes behind whatever came before go on by
 * turns: neither has a step of its own, and still it is a run.
 */
TEST(test_all_follow)
{
    struct run_stream stream = {.room = 20000};
    struct psnap_program *program = one_block(4);
    struct psnap_rng rng;

    psnap_rng_init(&rng, 1);
    stream.accesses = malloc(stream.room * sizeof *stream.accesses);
    for (uint64_t i = 0, address = 0; i < stream.room; i++, address += 8) {
        const bool is_learning = i < 200, is_other = i % 2 == 0;
        const uint32_t ref = is_learning ? (is_other ? 0 : i < 100 ? 1 : 2) : 1 + is_other;

        if (is_learning && is_other)
            address = 8 * psnap_rng_below(&rng, 1 << 20);
        stream.accesses[stream.count++] = (struct psnap_access){address, ref, 8, 0, 1};
    }
    write_stream(&stream, program, 0);
    assert_true(check_read_runs(&stream, &rng) > stream.count / 2);
    release(&stream, program);
}

static size_t gemm_size(uint64_t n)
{
    struct psnap_program *program = psnap_program_new();
    struct psnap_access *block = malloc((2 * n + 1) * sizeof *block);
    struct psnap_error error;
    char *data;
    size_t size;
    FILE *file = open_memstream(&data, &size);
    const struct psnap_ref third = {.block = 0, .loop = 0, .kind = PSNAP_STORE};
    struct psnap_sink *sink;

    assert_int_equal(psnap_program_add_anonymous(program, "gemm"), PSNAP_OK);
    assert_int_equal(psnap_program_add_ref(program, &third), 2);
    sink = psnap_trace_writer_new("pst", file, program, &error);
    for (uint64_t i = 0; i < n; i++)
        for (uint64_t j = 0; j < n; j++) {
            size_t count = 0;
            for (uint64_t k = 0; k < n; k++) {
                block[count++] = (struct psnap_access){0x100000 + 8 * (i * n + k), 0, 8, 0, 0};
                block[count++] = (struct psnap_access){0x200000 + 8 * (k * n + j), 1, 8, 0, 0};
            }
            block[count++] = (struct psnap_access){0x300000 + 8 * (i * n + j), 2, 8, 1, 0};
            assert_int_equal(psnap_sink_put(sink, block, count, &error), PSNAP_OK);
        }
    end_trace(sink, NULL, 0, file);
    free(block);
    free(data);
    psnap_program_free(program);
    return size;
}

/* A matrix multiply's stream takes next to nothing, and hardly more when it is 27 times as long. */
TEST(test_regular_streams_are_tiny)
{
    const size_t small = gemm_size(60), large = gemm_size(180);

    assert_true(small < 500);
    assert_true(large < small + 100);
}
