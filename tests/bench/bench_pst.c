/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Speed and size of the trace formats, in memory and in one thread: writing
 * and reading .pst and the text formats for a matrix multiply (regular), a
 * sparse matrix-vector product (one gather in four accesses), a bucket count
 * (one random access in two) and uniformly random addresses. For comparison,
 * zstd -3 over the bare address deltas of the whole stream.
 *
 *   bench_pst [ACCESSES]    prints CSV: format, stream, accesses, M written/s,
 *                           M read/s as accesses and with runs, bytes per
 *                           access, those of zstd -3 of deltas
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <zstd.h>

#include "formats/base/rng.h"
#include "formats/trace.h"

struct stream {
    struct psnap_access *accesses;
    size_t count, room;
};

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static bool add(struct stream *stream, uint64_t address, uint32_t ref, uint8_t kind)
{
    if (stream->count == stream->room)
        return false;
    stream->accesses[stream->count++] = (struct psnap_access){address, ref, 8, kind, 0};
    return true;
}

static void make_gemm(struct stream *stream)
{
    const uint64_t n = 512;

    for (uint64_t i = 0;; i = (i + 1) % n)
        for (uint64_t j = 0; j < n; j++) {
            for (uint64_t k = 0; k < n; k++)
                if (!add(stream, 0x10000000 + 8 * (i * n + k), 0, PSNAP_LOAD) ||
                    !add(stream, 0x20000000 + 8 * (k * n + j), 1, PSNAP_LOAD))
                    return;
            if (!add(stream, 0x30000000 + 8 * (i * n + j), 2, PSNAP_STORE))
                return;
        }
}

static void make_cg(struct stream *stream)
{
    struct psnap_rng rng;
    uint64_t element = 0;

    psnap_rng_init(&rng, 1);
    for (uint64_t row = 0;; row = (row + 1) % 14000) {
        const uint64_t length = 4 + psnap_rng_below(&rng, 20);
        if (row == 0)
            element = 0;
        if (!add(stream, 0x10000000 + 8 * row, 0, PSNAP_LOAD))
            return;
        for (uint64_t k = 0; k < length; k++, element++)
            if (!add(stream, 0x20000000 + 8 * element, 1, PSNAP_LOAD) ||
                !add(stream, 0x30000000 + 4 * element, 2, PSNAP_LOAD) ||
                !add(stream, 0x40000000 + 8 * psnap_rng_below(&rng, 14000), 3, PSNAP_LOAD))
                return;
        if (!add(stream, 0x50000000 + 8 * row, 4, PSNAP_STORE))
            return;
    }
}

static void make_is(struct stream *stream)
{
    struct psnap_rng rng;

    psnap_rng_init(&rng, 2);
    for (uint64_t i = 0;; i++) {
        const uint64_t key = psnap_rng_below(&rng, 1 << 16) + psnap_rng_below(&rng, 1 << 16);
        if (!add(stream, 0x10000000 + 4 * i, 0, PSNAP_LOAD) ||
            !add(stream, 0x40000000 + 4 * key, 1, PSNAP_LOAD) ||
            !add(stream, 0x40000000 + 4 * key, 2, PSNAP_STORE))
            return;
    }
}

static void make_random(struct stream *stream)
{
    struct psnap_rng rng;

    psnap_rng_init(&rng, 3);
    while (add(stream, 0x10000000 + 8 * psnap_rng_below(&rng, 1 << 24), 0, PSNAP_LOAD))
        continue;
}

/* Unpredictable branches: which of eight references comes next is random. */
static void make_branchy(struct stream *stream)
{
    struct psnap_rng rng;
    uint64_t at[8] = {0};

    psnap_rng_init(&rng, 4);
    for (;;) {
        const uint32_t ref = (uint32_t)psnap_rng_below(&rng, 8);
        at[ref] += 8;
        if (!add(stream, 0x10000000 * (ref + 1) + at[ref], ref, PSNAP_LOAD))
            return;
    }
}

static void *must(void *pointer)
{
    if (pointer)
        return pointer;
    fputs("bench_pst: out of memory or failed\n", stderr);
    exit(1);
}

/* Bytes per access that zstd -3 needs for the plain deltas. */
static double zstd_of_deltas(const struct stream *stream)
{
    const size_t size = stream->count * sizeof(uint64_t), room = ZSTD_compressBound(size);
    uint64_t *deltas = must(malloc(size)), last = 0;
    void *packed = must(malloc(room));
    size_t got;

    for (size_t i = 0; i < stream->count; i++) {
        deltas[i] = stream->accesses[i].address - last;
        last = stream->accesses[i].address;
    }
    got = ZSTD_compress(packed, room, deltas, size, 3);
    free(deltas);
    free(packed);
    return (double)got / (double)stream->count;
}

static struct psnap_program *make_program(void)
{
    struct psnap_program *program = must(psnap_program_new());
    const struct psnap_ref ref = {0};

    psnap_program_add_anonymous(program, "bench");
    while (program->ref_count < 8)
        psnap_program_add_ref(program, &ref);
    return program;
}

static double time_write(const char *format, const struct stream *stream, FILE *file)
{
    struct psnap_program *program = make_program();
    struct psnap_error error;
    struct psnap_sink *sink = must(psnap_trace_writer_new(format, file, program, &error));
    const double start = now();
    double seconds;

    for (size_t i = 0; i < stream->count; i += PSNAP_BLOCK_ACCESSES) {
        const size_t left = stream->count - i;
        if (psnap_sink_put(sink, stream->accesses + i,
                           left < PSNAP_BLOCK_ACCESSES ? left : PSNAP_BLOCK_ACCESSES, &error))
            must(NULL);
    }
    if (psnap_sink_finish(sink, &error))
        must(NULL);
    seconds = now() - start;
    psnap_sink_free(sink);
    psnap_program_free(program);
    return seconds;
}

static double time_read(const char *path, const struct stream *stream, bool by_runs)
{
    static struct psnap_access block[PSNAP_BLOCK_ACCESSES];
    struct psnap_error error;
    const double start = now();
    struct psnap_source *source = must(psnap_trace_open(path, NULL, &error));
    double seconds;
    size_t count = 0;
    ssize_t got;

    for (;;) {
        struct psnap_run run = {.count = 0};
        got = by_runs ? psnap_source_next_run(source, block, PSNAP_BLOCK_ACCESSES, &run, &error)
                      : psnap_source_next(source, block, PSNAP_BLOCK_ACCESSES, &error);
        if (got < 0 || (got == 0 && run.count == 0))
            break;
        if (got > 0 && block[0].address != stream->accesses[count].address)
            must(NULL);
        count += (size_t)got + run.count * run.width;
    }
    seconds = now() - start;
    if (got < 0 || count != stream->count)
        must(NULL);
    psnap_source_free(source);
    return seconds;
}

static double best_read(const char *path, const struct stream *stream, bool by_runs)
{
    double best = 1e9;

    for (int i = 0; i < 3; i++) {
        const double seconds = time_read(path, stream, by_runs);
        best = seconds < best ? seconds : best;
    }
    return best;
}

static void bench(const char *format, const char *name, const struct stream *stream)
{
    char path[] = "/tmp/psnap-bench-XXXXXX";
    FILE *file = must(fdopen(mkstemp(path), "wb"));
    const double count = (double)stream->count;
    double write_seconds = 1e9, bytes;

    for (int i = 0; i < 3; i++) {
        double seconds;
        rewind(file);
        seconds = time_write(format, stream, file);
        write_seconds = seconds < write_seconds ? seconds : write_seconds;
    }
    bytes = (double)ftell(file);
    fclose(file);
    printf("%s,%s,%zu,%.1f,%.1f,%.1f,%.5f,%.3f\n", format, name, stream->count,
           count / write_seconds * 1e-6, count / best_read(path, stream, false) * 1e-6,
           count / best_read(path, stream, true) * 1e-6, bytes / count, zstd_of_deltas(stream));
    remove(path);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*make)(struct stream *stream);
    } streams[] = {{"gemm", make_gemm},
                   {"cg", make_cg},
                   {"is", make_is},
                   {"random", make_random},
                   {"branchy", make_branchy}};
    static const char *const formats[] = {"pst", "din", "xdin", "lackey", "csv"};
    struct stream stream = {.room = argc > 1 ? strtoull(argv[1], NULL, 10) : 20000000};

    stream.accesses = must(malloc(stream.room * sizeof *stream.accesses));
    puts("format,stream,accesses,write_m_per_s,read_m_per_s,read_runs_m_per_s,bytes_per_access,"
         "zstd3_deltas_bytes_per_access");
    for (size_t i = 0; i < sizeof streams / sizeof streams[0]; i++) {
        stream.count = 0;
        streams[i].make(&stream);
        bench("pst", streams[i].name, &stream);
    }
    stream.room = stream.room < 4000000 ? stream.room : 4000000;
    stream.count = 0;
    make_cg(&stream);
    for (size_t i = 1; i < sizeof formats / sizeof formats[0]; i++)
        bench(formats[i], "cg", &stream);
    free(stream.accesses);
    return 0;
}
