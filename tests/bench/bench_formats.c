/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How fast the readers of trace formats are: a stream is written in each format to a file in a
 * folder, and read from there, so from the page cache, into blocks that nobody looks at.
 *
 *   bench_formats FOLDER [ACCESSES [RUNS]]     5 M accesses, 5 runs
 *
 * The stream has 64 references: most walk through arrays, some go anywhere in 64 MiB. Addresses
 * have 48 bits, 31 for dinbin. Prints CSV; seconds are of processor time,
 * medians. A record is a line, or
 * what a binary format has as a unit: drmemtrace has two for each access.
 *
 * memory: the same bytes copied from the page cache by read(2), and one after the other added up,
 * as the least that any reader has to do.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <unistd.h>

#include "formats/base/rng.h"
#include "formats/trace.h"
#include "tests/bench/bench.h"

enum { REFS = 64, RUNS_MAX = 101 };

static struct psnap_program *make_program(void)
{
    struct psnap_program *program = psnap_program_new();

    must_be(program && psnap_program_add_anonymous(program, "bench") == PSNAP_OK, "out of memory",
            NULL);
    while (program->ref_count < REFS) {
        const struct psnap_ref ref = {.kind = program->ref_count % 3 == 0, .size = 8};
        must_be(psnap_program_add_ref(program, &ref) != PSNAP_NONE, "out of memory", NULL);
    }
    return program;
}

static void write_file(const char *path, const char *format, uint64_t count)
{
    static struct psnap_access block[PSNAP_BLOCK_ACCESSES];
    const uint64_t base = strcmp(format, "dinbin") != 0 ? UINT64_C(0x7f1200000000) : 0x1000000;
    struct psnap_error error = {.code = PSNAP_OK};
    struct psnap_program *program = make_program();
    FILE *file = fopen(path, "wb");
    struct psnap_sink *sink;
    struct psnap_rng rng;
    size_t n = 0;

    must_be(file != NULL, "cannot write there", NULL);
    sink = psnap_trace_writer_new(format, file, program, &error);
    must_be(sink != NULL, format, &error);
    psnap_rng_init(&rng, 1);
    for (uint64_t i = 0; i < count; i++) {
        const uint32_t ref = (uint32_t)(i % REFS);
        const uint64_t offset = ref % 8 ? ref * (UINT64_C(1) << 24) + i / REFS * 8 % (1 << 24)
                                        : psnap_rng_below(&rng, UINT64_C(1) << 23) * 8;

        block[n++] = (struct psnap_access){base + offset, ref, 8, ref % 3 == 0, 0};
        if (n == PSNAP_BLOCK_ACCESSES || i + 1 == count) {
            must_be(psnap_sink_put(sink, block, n, &error) == PSNAP_OK, format, &error);
            n = 0;
        }
    }
    must_be(psnap_sink_finish(sink, &error) == PSNAP_OK, format, &error);
    psnap_sink_free(sink);
    must_be(fclose(file) == 0, "cannot write there", NULL);
    psnap_program_free(program);
}

static double read_trace(const char *path, const char *format, uint64_t count)
{
    static struct psnap_access block[PSNAP_BLOCK_ACCESSES];
    struct psnap_error error = {.code = PSNAP_OK};
    const double start = now(CLOCK_PROCESS_CPUTIME_ID);
    struct psnap_source *source = psnap_trace_open(path, format, &error);
    uint64_t all = 0;
    ssize_t got;

    must_be(source != NULL, format, &error);
    while ((got = psnap_source_next(source, block, PSNAP_BLOCK_ACCESSES, &error)) > 0)
        all += (uint64_t)got;
    must_be(got == 0, format, &error);
    must_be(all == count, "other accesses are read", NULL);
    psnap_source_free(source);
    return now(CLOCK_PROCESS_CPUTIME_ID) - start;
}

static uint64_t sum; /* for no compiler to leave it out */

static double read_bytes(const char *path)
{
    static uint64_t buffer[32 << 10];
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const double start = now(CLOCK_PROCESS_CPUTIME_ID);
    ssize_t got;

    must_be(fd >= 0, "cannot read there", NULL);
    while ((got = read(fd, buffer, sizeof buffer)) > 0)
        for (size_t i = 0; i < (size_t)got / sizeof *buffer; i++)
            sum += buffer[i];
    close(fd);
    return now(CLOCK_PROCESS_CPUTIME_ID) - start;
}

static void bench(const struct psnap_format *format, const char *folder, uint64_t count, int runs)
{
    const unsigned per_access = strcmp(format->name, "drmemtrace") ? 1 : 2;
    double seconds[RUNS_MAX], memory[RUNS_MAX], each;
    char path[4096];
    FILE *file;
    long bytes;

    snprintf(path, sizeof path, "%s/bench.%s", folder, format->name);
    write_file(path, format->name, count);
    file = fopen(path, "rb");
    must_be(file && fseek(file, 0, SEEK_END) == 0, "cannot read there", NULL);
    bytes = ftell(file);
    fclose(file);
    read_trace(path, format->name, count);
    for (int i = 0; i < runs; i++) {
        seconds[i] = read_trace(path, format->name, count);
        memory[i] = read_bytes(path);
    }
    remove(path);
    each = median(seconds, (size_t)runs);
    printf("%s,%s,%" PRIu64 ",%ld,%.4f,%.1f,%.1f,%.0f,%.0f\n", format->name,
           format->is_text ? "text" : "binary", count, bytes, each, (double)count / each * 1e-6,
           (double)count * per_access / each * 1e-6, (double)bytes / each * 1e-6,
           (double)bytes / median(memory, (size_t)runs) * 1e-6);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    const uint64_t count = argc > 2 ? strtoull(argv[2], NULL, 10) : 5000000;
    const int runs = argc > 3 ? atoi(argv[3]) : 5;
    const struct psnap_format *format;

    must_be(argc > 1 && count > 0 && runs > 0 && runs < RUNS_MAX,
            "a folder, accesses and runs are wanted", NULL);
    puts("format,kind,accesses,bytes,seconds,m_accesses_per_s,m_records_per_s,mb_per_s,memory_mb_"
         "per_s");
    for (size_t i = 0; (format = psnap_format_at(i)); i++)
        if (format->readable && format->writable)
            bench(format, argv[1], count, runs);
    return 0;
}
