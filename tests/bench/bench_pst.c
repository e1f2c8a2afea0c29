/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Size and speed of .pst, in memory and in one thread, next to a baseline: the
 * stream split by reference, the addresses of each as differences, and the
 * sequence of blocks, all compressed by zstd -3. Differences are tried as
 * 8-byte words and as varints, block numbers as 4-byte words and as varints,
 * and what is smaller counts. A block counts as executed when the block
 * changes, or a reference does not come after the one before.
 *
 *   bench_pst [-n ACCESSES] TRACE...  the first accesses (all) of each trace
 *   bench_pst [-n ACCESSES]           streams made here (20 M accesses)
 *
 * Prints CSV. Rates are in million accesses a second of processor time, the
 * median of three, put and got one by one and with the runs that the trace
 * has. What is read back is compared with what was written.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <unistd.h>
#include <zstd.h>

#include "formats/base/rng.h"
#include "formats/base/text.h"
#include "formats/bytes.h"
#include "formats/trace.h"
#include "tests/bench/bench.h"
#include "tests/next_run.h"

#define RUN_WIDTH_MAX 64

/* `count` accesses from number `at` on are a run of this width. */
struct part {
    size_t at, width;
    uint64_t count;
    int64_t strides[RUN_WIDTH_MAX];
};

struct stream {
    struct psnap_program *program;
    struct psnap_access *accesses;
    size_t count, room;
    struct part *runs;
    size_t run_count, run_room;
};

/* ---- streams made here ---- */

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

/* Sparse matrix-vector product: one gather in four accesses, new columns each time. */
static void make_gather(struct stream *stream)
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

/* Load a key, load and store its bucket. */
static void make_buckets(struct stream *stream)
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

/* Eight references, each in a block of its own. */
static struct psnap_program *make_program(void)
{
    struct psnap_program *program = must(psnap_program_new());
    const struct psnap_block block = {0};

    psnap_program_add_anonymous(program, "bench");
    while (program->ref_count < 8) {
        struct psnap_ref ref = {0};
        ref.block = psnap_program_add_block(program, &block);
        psnap_program_add_ref(program, &ref);
    }
    return program;
}

/* ---- the baseline ---- */

static size_t zstd_size(ZSTD_CCtx *zstd, struct psnap_bytes *packed, const void *data, size_t size)
{
    size_t got;

    if (size == 0)
        return 0;
    packed->size = 0;
    must(psnap_bytes_extend(packed, ZSTD_compressBound(size)));
    got = ZSTD_compressCCtx(zstd, packed->data, packed->size, data, size, 3);
    must_be(!ZSTD_isError(got), "zstd failed", NULL);
    return got;
}

/* Words as they are, or as varints when `zigzag` of them. */
static size_t smaller_size(ZSTD_CCtx *zstd, struct psnap_bytes *packed, const void *words,
                           size_t width, size_t n, bool zigzag)
{
    struct psnap_bytes varints = {0};
    const size_t as_words = zstd_size(zstd, packed, words, n * width);
    size_t as_varints;

    for (size_t i = 0; i < n; i++) {
        uint64_t value = 0;
        memcpy(&value, (const char *)words + i * width, width);
        psnap_bytes_varint(&varints, zigzag ? psnap_zigzag(value) : value);
    }
    as_varints = zstd_size(zstd, packed, varints.data, varints.size);
    psnap_bytes_release(&varints);
    return as_words < as_varints ? as_words : as_varints;
}

static size_t blocks_size(ZSTD_CCtx *zstd, struct psnap_bytes *packed, const struct stream *stream)
{
    const struct psnap_ref *refs = stream->program->refs;
    uint32_t *blocks = must(malloc((stream->count + 1) * sizeof *blocks));
    size_t n = 0, size;

    for (size_t i = 0; i < stream->count; i++) {
        const uint32_t ref = stream->accesses[i].ref;
        if (i == 0 || ref <= stream->accesses[i - 1].ref ||
            refs[ref].block != refs[stream->accesses[i - 1].ref].block)
            blocks[n++] = refs[ref].block;
    }
    size = smaller_size(zstd, packed, blocks, sizeof *blocks, n, false);
    free(blocks);
    return size;
}

static size_t baseline_size(const struct stream *stream)
{
    const uint32_t refs = stream->program->ref_count;
    ZSTD_CCtx *zstd = must(ZSTD_createCCtx());
    struct psnap_bytes packed = {0};
    size_t *offsets = must(calloc(refs + 1, sizeof *offsets)), total = 0;
    uint64_t *last = must(calloc(refs, sizeof *last));
    uint64_t *words = must(malloc((stream->count + 1) * sizeof *words));

    for (size_t i = 0; i < stream->count; i++)
        offsets[stream->accesses[i].ref + 1]++;
    for (uint32_t r = 0; r < refs; r++)
        offsets[r + 1] += offsets[r];
    for (size_t i = 0; i < stream->count; i++) {
        const struct psnap_access *access = &stream->accesses[i];
        words[offsets[access->ref]++] = access->address - last[access->ref];
        last[access->ref] = access->address;
    }
    for (uint32_t r = 0; r < refs; r++) {
        const size_t from = r ? offsets[r - 1] : 0; /* offsets have moved on by one */
        total += smaller_size(zstd, &packed, words + from, sizeof *words, offsets[r] - from, true);
    }
    total += blocks_size(zstd, &packed, stream);
    ZSTD_freeCCtx(zstd);
    psnap_bytes_release(&packed);
    free(offsets);
    free(last);
    free(words);
    return total;
}

/* ---- writing and reading ---- */

static void put_accesses(struct psnap_sink *sink, const struct stream *stream, size_t from,
                         size_t to)
{
    struct psnap_error error;

    for (size_t i = from; i < to; i += PSNAP_BLOCK_ACCESSES) {
        const size_t n = to - i < PSNAP_BLOCK_ACCESSES ? to - i : PSNAP_BLOCK_ACCESSES;
        must_be(psnap_sink_put(sink, stream->accesses + i, n, &error) == PSNAP_OK, "put", &error);
    }
}

static double time_write(const char *format, const struct stream *stream, FILE *file, bool by_runs)
{
    struct psnap_error error;
    struct psnap_sink *sink = must(psnap_trace_writer_new(format, file, stream->program, &error));
    const double start = now(CLOCK_PROCESS_CPUTIME_ID);
    size_t at = 0;
    double seconds;

    for (size_t i = 0; by_runs && i < stream->run_count; i++) {
        const struct part *part = &stream->runs[i];
        const struct psnap_run run = {stream->accesses + part->at, part->strides, NULL, part->width,
                                      part->count};
        put_accesses(sink, stream, at, part->at);
        must_be(psnap_sink_put_run(sink, &run, &error) == PSNAP_OK, "put_run", &error);
        at = part->at + part->count * part->width;
    }
    put_accesses(sink, stream, at, stream->count);
    must_be(psnap_sink_finish(sink, &error) == PSNAP_OK, "finish", &error);
    seconds = now(CLOCK_PROCESS_CPUTIME_ID) - start;
    psnap_sink_free(sink);
    return seconds;
}

static void compare(const struct stream *stream, size_t at, const struct psnap_access *block,
                    size_t n, const struct psnap_run *run)
{
    must_be(at + n + run->count * run->width <= stream->count &&
                !memcmp(stream->accesses + at, block, n * sizeof *block),
            "other accesses are read than were written", NULL);
    at += n;
    for (uint64_t i = 0; i < run->count; i++)
        for (size_t k = 0; k < run->width; k++, at++) {
            struct psnap_access access = run->first[k];
            access.address = psnap_run_address(run, i, k);
            must_be(!memcmp(stream->accesses + at, &access, sizeof access),
                    "other runs are read than were written", NULL);
        }
}

static double time_read(const char *path, const struct stream *stream, bool by_runs, bool check)
{
    static struct psnap_access block[PSNAP_BLOCK_ACCESSES];
    struct psnap_error error;
    const double start = now(CLOCK_PROCESS_CPUTIME_ID);
    struct psnap_source *source = must(psnap_trace_open(path, NULL, &error));
    double seconds;
    size_t count = 0;
    ssize_t got;

    for (;;) {
        struct psnap_run run = {.count = 0};
        got = by_runs ? next_run(source, block, PSNAP_BLOCK_ACCESSES, &run, &error)
                      : psnap_source_next(source, block, PSNAP_BLOCK_ACCESSES, &error);
        if (got < 0 || (got == 0 && run.count == 0))
            break;
        if (check)
            compare(stream, count, block, (size_t)got, &run);
        count += (size_t)got + run.count * run.width;
    }
    seconds = now(CLOCK_PROCESS_CPUTIME_ID) - start;
    must_be(got == 0, "cannot read back", &error);
    must_be(count == stream->count, "cannot read all back", NULL);
    psnap_source_free(source);
    return seconds;
}

/* Million accesses a second, the median of three. */
static double read_rate(const char *path, const struct stream *stream, bool by_runs, bool exact)
{
    double seconds[3];

    if (exact)
        time_read(path, stream, by_runs, true);
    for (int i = 0; i < 3; i++)
        seconds[i] = time_read(path, stream, by_runs, false);
    return (double)stream->count / median(seconds, 3) * 1e-6;
}

static double write_rate(const char *format, const struct stream *stream, FILE *file, bool by_runs)
{
    double seconds[3];

    for (int i = 0; i < 3; i++) {
        rewind(file);
        must_be(ftruncate(fileno(file), 0) == 0, "cannot truncate", NULL);
        seconds[i] = time_write(format, stream, file, by_runs);
    }
    return (double)stream->count / median(seconds, 3) * 1e-6;
}

static void bench(const char *format, const char *name, const struct stream *stream)
{
    char path[] = "/tmp/psnap-bench-XXXXXX";
    FILE *file = must(fdopen(mkstemp(path), "wb"));
    const double count = (double)stream->count;
    const double write_runs = write_rate(format, stream, file, true);
    const long bytes_runs = ftell(file);
    const double write = write_rate(format, stream, file, false);
    const long bytes = ftell(file);
    const bool exact = !strcmp(format, "pst");
    size_t baseline;

    fclose(file);
    must_be(bytes == bytes_runs, "runs make another file than accesses", NULL);
    baseline = baseline_size(stream);
    printf("%s,%s,%zu,%ld,%.3g,%zu,%.3g,%.3f,%.1f,%.1f,%.1f,%.1f\n", name, format, stream->count,
           bytes, (double)bytes / count, baseline, (double)baseline / count,
           (double)bytes / (double)baseline, write, write_runs,
           read_rate(path, stream, false, exact), read_rate(path, stream, true, exact));
    remove(path);
    fflush(stdout);
}

/* ---- traces ---- */

static void add_run(struct stream *stream, const struct psnap_run *run)
{
    struct part *part;

    if (stream->run_count == stream->run_room) {
        stream->run_room = stream->run_room * 2 + 64;
        stream->runs = must(realloc(stream->runs, stream->run_room * sizeof *stream->runs));
    }
    part = &stream->runs[stream->run_count];
    *part = (struct part){.at = stream->count, .width = run->width, .count = run->count};
    if (part->count > (stream->room - stream->count) / part->width)
        part->count = (stream->room - stream->count) / part->width;
    for (uint64_t i = 0; i < part->count; i++)
        for (size_t k = 0; k < run->width; k++) {
            stream->accesses[stream->count] = run->first[k];
            stream->accesses[stream->count++].address = psnap_run_address(run, i, k);
        }
    if (run->width > RUN_WIDTH_MAX || run->columns)
        return;
    memcpy(part->strides, run->strides, run->width * sizeof *part->strides);
    stream->run_count++;
}

static void bench_file(const char *path, size_t limit)
{
    const char *name = psnap_text_base_name(path);
    struct psnap_error error;
    struct psnap_source *source = psnap_trace_open(path, NULL, &error);
    struct stream stream = {.room = 0};
    char *dot;

    must_be(source, path, &error);
    stream.program = source->program;
    stream.room = limit;
    stream.accesses = must(malloc(stream.room * sizeof *stream.accesses));
    while (stream.count < stream.room) {
        const size_t left = stream.room - stream.count;
        struct psnap_run run;
        const ssize_t got =
            next_run(source, stream.accesses + stream.count,
                     left < PSNAP_BLOCK_ACCESSES ? left : PSNAP_BLOCK_ACCESSES, &run, &error);
        must_be(got >= 0, path, &error);
        stream.count += (size_t)got;
        if (got == 0 && run.count == 0)
            break;
        if (run.count)
            add_run(&stream, &run);
    }
    dot = must(strdup(name));
    if (strrchr(dot, '.'))
        *strrchr(dot, '.') = 0;
    bench("pst", dot, &stream);
    free(dot);
    free(stream.runs);
    free(stream.accesses);
    psnap_source_free(source);
}

static void bench_made(size_t limit)
{
    static const struct {
        const char *name;
        void (*make)(struct stream *stream);
    } streams[] = {{"gemm", make_gemm},
                   {"gather", make_gather},
                   {"buckets", make_buckets},
                   {"random", make_random},
                   {"branchy", make_branchy}};
    static const char *const formats[] = {"din", "xdin", "lackey", "csv"};
    struct stream stream = {.room = limit, .program = make_program()};

    stream.accesses = must(malloc(stream.room * sizeof *stream.accesses));
    for (size_t i = 0; i < sizeof streams / sizeof streams[0]; i++) {
        stream.count = 0;
        streams[i].make(&stream);
        bench("pst", streams[i].name, &stream);
    }
    stream.room = stream.room < 4000000 ? stream.room : 4000000;
    stream.count = 0;
    make_gather(&stream);
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++)
        bench(formats[i], "gather", &stream);
    free(stream.accesses);
    psnap_program_free(stream.program);
}

int main(int argc, char **argv)
{
    size_t limit = 0;
    int i = 1;

    if (argc > 2 && !strcmp(argv[1], "-n")) {
        limit = strtoull(argv[2], NULL, 10);
        i = 3;
    }
    puts("stream,format,accesses,bytes,bytes_per_access,baseline_bytes,baseline_bytes_per_access,"
         "of_baseline,in_m_per_s,in_runs_m_per_s,out_m_per_s,out_runs_m_per_s");
    if (i == argc)
        bench_made(limit ? limit : 20000000);
    for (; i < argc; i++)
        bench_file(argv[i], limit ? limit : 100000000);
    return 0;
}
