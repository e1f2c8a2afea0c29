/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How fast reuse distances are measured, from streams in memory, next to the textbook: a hash map
 * from lines to the times of their last access, and a Fenwick tree over times that counts the lines
 * accessed last at each, closed up when times run out. The textbook counts one histogram, the sink
 * of psnap reuse one for each reference; both must have the same distances in all.
 *
 *   bench_reuse [-n ACCESSES] [-r ROUNDS] TRACE...  the first accesses (20 M) of each trace
 *   bench_reuse [-n ACCESSES] [-r ROUNDS]           uniform random lines, made here
 *
 * Prints CSV, in million accesses a second: the textbook, the sink and it with a sample of 0.01 in
 * processor time, the sink with one thread and with one for each processor in wall time. Medians of
 * some rounds (5), all of them in turn in each. Errors of the sample are of hit rates of caches of
 * 1, 2, 4 ... lines, up to the lines of the stream, mean and largest.
 */
#include <math.h>
#include <unistd.h>

#include "formats/base/rng.h"
#include "formats/base/room.h"
#include "formats/base/text.h"
#include "formats/trace.h"
#include "predict/predict.h"
#include "tests/bench/bench.h"
#include "tests/next_run.h"

enum { LINE_DIGITS = 6, ROUNDS_MAX = 99 };

/* `accesses` ones, then a run unless its count is 0; of the latter `width` first ones lie behind.
 */
struct item {
    size_t accesses, width;
    uint64_t count;
};

struct stream {
    struct psnap_program *program;
    struct psnap_access *accesses;
    int64_t *strides;
    struct item *items;
    size_t access_count, access_room, stride_count, stride_room, item_count, item_room;
    uint64_t length;
};

/* ------------------------------------------------------------------- streams */

static struct psnap_access *more_accesses(struct stream *stream, size_t n)
{
    stream->accesses = must(psnap_with_room(stream->accesses, &stream->access_room,
                                            stream->access_count + n, sizeof *stream->accesses));
    stream->access_count += n;
    return stream->accesses + stream->access_count - n;
}

static struct item *new_item(struct stream *stream)
{
    stream->items = must(psnap_with_room(stream->items, &stream->item_room, stream->item_count + 1,
                                         sizeof *stream->items));
    stream->items[stream->item_count] = (struct item){0};
    return &stream->items[stream->item_count++];
}

/* What a source has delivered; runs with columns are written out. */
static void add(struct stream *stream, const struct psnap_access *block, size_t n,
                const struct psnap_run *run)
{
    struct item *item = new_item(stream);

    if (n)
        memcpy(more_accesses(stream, n), block, n * sizeof *block);
    item->accesses = n;
    stream->length += n + run->count * run->width;
    for (uint64_t i = 0; run->columns && i < run->count; i++) {
        struct psnap_access *accesses = more_accesses(stream, run->width);
        for (size_t k = 0; k < run->width; k++) {
            accesses[k] = run->first[k];
            accesses[k].address = psnap_run_address(run, i, k);
        }
        item->accesses += run->width;
    }
    if (!run->count || run->columns)
        return;
    item->count = run->count;
    item->width = run->width;
    memcpy(more_accesses(stream, run->width), run->first, run->width * sizeof *run->first);
    stream->strides =
        must(psnap_with_room(stream->strides, &stream->stride_room,
                             stream->stride_count + run->width, sizeof *stream->strides));
    memcpy(stream->strides + stream->stride_count, run->strides, run->width * sizeof *run->strides);
    stream->stride_count += run->width;
}

static void read_trace(struct stream *stream, const char *path, uint64_t limit)
{
    static struct psnap_access block[PSNAP_BLOCK_ACCESSES];
    struct psnap_error error;
    struct psnap_source *source = psnap_trace_open(path, NULL, &error);
    struct psnap_run run;
    ssize_t n = 1;

    must_be(source != NULL, path, &error);
    while (stream->length < limit) {
        n = next_run(source, block, PSNAP_BLOCK_ACCESSES, &run, &error);
        must_be(n >= 0, path, &error);
        if (n == 0 && run.count == 0)
            break;
        if (run.count && run.count > (limit - stream->length) / run.width + 1)
            run.count = (limit - stream->length) / run.width + 1;
        add(stream, block, (size_t)n, &run);
    }
    stream->program = must(psnap_program_new());
    while (stream->program->ref_count < source->program->ref_count)
        psnap_program_add_ref(stream->program, &(struct psnap_ref){0});
    psnap_source_free(source);
}

static void make_random(struct stream *stream, uint64_t lines, uint64_t length)
{
    struct psnap_access *accesses = more_accesses(stream, length);
    struct psnap_rng rng;

    psnap_rng_init(&rng, 1);
    for (uint64_t i = 0; i < length; i++)
        accesses[i] =
            (struct psnap_access){psnap_rng_below(&rng, lines) << LINE_DIGITS, 0, 8, PSNAP_LOAD, 0};
    new_item(stream)->accesses = length;
    stream->length = length;
    stream->program = must(psnap_program_new());
    psnap_program_add_ref(stream->program, &(struct psnap_ref){0});
}

static void release(struct stream *stream)
{
    psnap_program_free(stream->program);
    free(stream->accesses);
    free(stream->strides);
    free(stream->items);
}

/* ------------------------------------------------------------------- textbook */

struct textbook {
    uint64_t *keys; /* lines + 1; 0: free */
    uint32_t *times;
    size_t room, line_count; /* room: a power of two */
    uint32_t *tree;          /* [1, span]: sums; of time t at t + 1 and above */
    size_t *owners;          /* of times: where the line is that was last accessed then */
    uint32_t span, next;
    struct psnap_distances *distances;
};

static size_t find_key(const struct textbook *book, uint64_t line)
{
    size_t at = (line * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (book->room - 1);

    while (book->keys[at] && book->keys[at] != line + 1)
        at = (at + 1) & (book->room - 1);
    return at;
}

static void grow_map(struct textbook *book)
{
    struct textbook old = *book;

    book->room *= 2;
    book->keys = must(calloc(book->room, sizeof *book->keys));
    book->times = must(malloc(book->room * sizeof *book->times));
    for (size_t i = 0; i < old.room; i++)
        if (old.keys[i]) {
            const size_t at = find_key(book, old.keys[i] - 1);
            book->keys[at] = old.keys[i];
            book->times[at] = old.times[i];
            book->owners[old.times[i]] = at;
        }
    free(old.keys);
    free(old.times);
}

static void change(struct textbook *book, uint32_t time, uint32_t by)
{
    for (uint32_t i = time + 1; i <= book->span; i += i & (0 - i))
        book->tree[i] += by;
}

static uint32_t sum_to(const struct textbook *book, uint32_t time)
{
    uint32_t sum = 0;

    for (uint32_t i = time + 1; i; i &= i - 1)
        sum += book->tree[i];
    return sum;
}

/* Times become 0, 1, 2 ... in their order, of twice as many as there are lines at least. */
static void close_up(struct textbook *book)
{
    uint32_t count = 0, span = book->span;

    for (uint32_t time = 0; time < book->next; time++)
        if (book->keys[book->owners[time]] && book->times[book->owners[time]] == time) {
            book->owners[count] = book->owners[time];
            book->times[book->owners[count]] = count;
            count++;
        }
    while (span < 2 * count)
        span *= 2;
    if (span != book->span) {
        book->owners = must(realloc(book->owners, span * sizeof *book->owners));
        book->tree = must(realloc(book->tree, (span + 1) * sizeof *book->tree));
        book->span = span;
    }
    book->next = count;
    for (uint32_t i = 1; i <= span; i++)
        book->tree[i] = i <= count;
    for (uint32_t i = 1; i <= span; i++)
        if (i + (i & (0 - i)) <= span)
            book->tree[i + (i & (0 - i))] += book->tree[i];
}

static uint64_t textbook_touch(struct textbook *book, uint64_t line)
{
    uint64_t distance = PSNAP_DISTANCE_COLD;
    size_t at;

    if (book->next == book->span)
        close_up(book);
    at = find_key(book, line);
    if (book->keys[at]) {
        distance = book->line_count - sum_to(book, book->times[at]);
        change(book, book->times[at], UINT32_MAX);
    } else {
        if (2 * ++book->line_count > book->room) {
            grow_map(book);
            at = find_key(book, line);
        }
        book->keys[at] = line + 1;
    }
    book->times[at] = book->next;
    book->owners[book->next] = at;
    change(book, book->next++, 1);
    return distance;
}

static void textbook_access(struct textbook *book, uint64_t address, uint8_t size)
{
    const uint64_t last = (address + size - 1) >> LINE_DIGITS;
    uint64_t distance = textbook_touch(book, address >> LINE_DIGITS);

    if (last != address >> LINE_DIGITS) {
        const uint64_t other = textbook_touch(book, last);
        distance = other > distance ? other : distance;
    }
    if (!psnap_distances_add(book->distances, distance, 1))
        must(NULL);
}

static struct psnap_distances *run_textbook(const struct stream *stream)
{
    struct textbook book = {.room = 1 << 10, .span = 1 << 10};
    const struct psnap_access *access = stream->accesses;
    const int64_t *strides = stream->strides;

    book.keys = must(calloc(book.room, sizeof *book.keys));
    book.times = must(malloc(book.room * sizeof *book.times));
    book.tree = must(calloc(book.span + 1, sizeof *book.tree));
    book.owners = must(malloc(book.span * sizeof *book.owners));
    book.distances = must(psnap_distances_new());
    for (size_t i = 0; i < stream->item_count; i++) {
        const struct item *item = &stream->items[i];
        for (const struct psnap_access *end = access + item->accesses; access < end; access++)
            textbook_access(&book, access->address, access->size);
        for (uint64_t k = 0; k < item->count; k++)
            for (size_t w = 0; w < item->width; w++)
                textbook_access(&book, access[w].address + k * (uint64_t)strides[w],
                                access[w].size);
        access += item->width;
        strides += item->width;
    }
    free(book.keys);
    free(book.times);
    free(book.tree);
    free(book.owners);
    return book.distances;
}

/* ----------------------------------------------------------------------- sink */

static struct psnap_distances *run_sink(const struct stream *stream, double sample, uint32_t jobs,
                                        uint64_t *lines)
{
    const struct psnap_reuse_options options = {
        .line_bytes = UINT64_C(1) << LINE_DIGITS, .sample = sample, .jobs = jobs};
    struct psnap_error error;
    struct psnap_sink *sink = psnap_reuse_new(stream->program, &options, &error);
    struct psnap_distances *all = must(psnap_distances_new());
    const struct psnap_access *access = stream->accesses;
    const int64_t *strides = stream->strides;

    must_be(sink != NULL, "sink", &error);
    for (size_t i = 0; i < stream->item_count; i++) {
        const struct item *item = &stream->items[i];
        struct psnap_run run = {access + item->accesses, strides, NULL, item->width, item->count};
        for (size_t n = item->accesses, some; n; n -= some, access += some) {
            some = n < PSNAP_BLOCK_ACCESSES ? n : PSNAP_BLOCK_ACCESSES;
            must_be(!psnap_sink_put(sink, access, some, &error), "put", &error);
        }
        if (run.count)
            must_be(!psnap_sink_put_run(sink, &run, &error), "put_run", &error);
        access += item->width;
        strides += item->width;
    }
    must_be(!psnap_sink_finish(sink, &error), "finish", &error);
    for (uint32_t i = 0; i < psnap_reuse_rows(sink, PSNAP_VIEW_REF); i++) {
        const struct psnap_distances *row = psnap_reuse_row(sink, PSNAP_VIEW_REF, i);
        if (row && !psnap_distances_add_all(all, row))
            must(NULL);
    }
    *lines = psnap_reuse_lines(sink);
    psnap_sink_free(sink);
    return all;
}

/* ---------------------------------------------------------------- measurements */

enum { TEXTBOOK, EXACT, SAMPLED, ONE_JOB, ALL_JOBS, KINDS };

static struct psnap_distances *run_kind(const struct stream *stream, int kind, uint64_t *lines)
{
    if (kind == TEXTBOOK)
        return run_textbook(stream);
    return run_sink(stream, kind == SAMPLED ? 0.01 : 0, kind == ALL_JOBS ? psnap_processors() : 1,
                    lines);
}

static void must_be_same(const struct psnap_distances *a, const struct psnap_distances *b)
{
    struct psnap_distance_count x = {0}, y = {0};
    bool more;

    must_be(psnap_distances_cold(a) == psnap_distances_cold(b), "other cold accesses", NULL);
    do {
        more = psnap_distances_next(a, &x);
        must_be(psnap_distances_next(b, &y) == more && x.distance == y.distance &&
                    x.count == y.count,
                "other distances than the textbook", NULL);
    } while (more);
}

static void bench(const char *name, const struct stream *stream, int rounds)
{
    double seconds[KINDS][ROUNDS_MAX], rates[KINDS], mean = 0, largest = 0;
    struct psnap_distances *results[KINDS];
    uint64_t lines = 0, estimated;
    int sizes = 0;

    for (int round = 0; round < rounds; round++)
        for (int kind = 0; kind < KINDS; kind++) {
            const clockid_t clock = kind < ONE_JOB ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC;
            const double start = now(clock);
            results[kind] = run_kind(stream, kind, kind == SAMPLED ? &estimated : &lines);
            seconds[kind][round] = now(clock) - start;
            if (kind != TEXTBOOK && kind != SAMPLED)
                must_be_same(results[TEXTBOOK], results[kind]);
            for (int old = kind == KINDS - 1 && round < rounds - 1 ? 0 : KINDS; old < KINDS; old++)
                psnap_distances_free(results[old]);
        }
    for (int kind = 0; kind < KINDS; kind++)
        rates[kind] = 1e-6 * (double)stream->length / median(seconds[kind], (size_t)rounds);
    for (uint64_t size = 1; size <= lines; size *= 2, sizes++) {
        const double error = fabs(psnap_distances_hit_rate(results[EXACT], size) -
                                  psnap_distances_hit_rate(results[SAMPLED], size));
        mean += error;
        largest = fmax(largest, error);
    }
    printf("%s,%llu,%llu,%.1f,%.1f,%.2f,%.1f,%.4f,%.4f,%u,%.1f,%.1f\n", name,
           (unsigned long long)stream->length, (unsigned long long)lines, rates[TEXTBOOK],
           rates[EXACT], rates[EXACT] / rates[TEXTBOOK], rates[SAMPLED], mean / fmax(sizes, 1),
           largest, psnap_processors(), rates[ONE_JOB], rates[ALL_JOBS]);
    fflush(stdout);
    for (int kind = 0; kind < KINDS; kind++)
        psnap_distances_free(results[kind]);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        uint64_t lines;
    } random[] = {{"random 4M", 4 << 20}, {"random 64K", 1 << 16}, {"random 1K", 1 << 10}};
    uint64_t limit = 20000000;
    int rounds = 5, option;

    while ((option = getopt(argc, argv, "n:r:")) != -1) {
        if (option == 'n')
            limit = strtoull(optarg, NULL, 10);
        else if (option == 'r')
            rounds = atoi(optarg);
    }
    if (rounds < 1 || rounds > ROUNDS_MAX || !limit) {
        fputs("usage: bench_reuse [-n ACCESSES] [-r ROUNDS] [TRACE...]\n", stderr);
        return 2;
    }
    puts("stream,accesses,lines,textbook,exact,exact_x,sampled,sample_error,sample_error_max,jobs,"
         "one_wall,jobs_wall");
    for (int i = optind; i < argc; i++) {
        struct stream stream = {0};
        char *name = must(strdup(psnap_text_base_name(argv[i])));
        name[strcspn(name, ".")] = '\0';
        read_trace(&stream, argv[i], limit);
        bench(name, &stream, rounds);
        release(&stream);
        free(name);
    }
    for (size_t i = 0; optind == argc && i < sizeof random / sizeof random[0]; i++) {
        struct stream stream = {0};
        make_random(&stream, random[i].lines, limit);
        bench(random[i].name, &stream, rounds);
        release(&stream);
    }
    return 0;
}
