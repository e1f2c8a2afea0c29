/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The simulator against a textbook one, on the same stream in memory: three levels, each set an
 * array with the line used last in front, which is searched from the front and moved there; over
 * raw addresses, without write-backs, and without saying which loop an access is of. psnap has
 * both. Rounds alternate between the two, and .pst files are also simulated as they are read,
 * whole, by one thread and by two: what is in memory is at most ACCESSES_MAX of them. Prints CSV:
 * trace, accesses, M accesses/s of each (medians), the ratio, level 1's hits.
 *
 * usage: bench_textbook ROUNDS ACCESSES_MAX TRACE.pst...
 */

#include "formats/formats.h"
#include "simcore/simcore.h"
#include "tests/bench/bench.h"

enum { LEVELS = 3, ROUNDS_MAX = 99, MACHINES = 10 };
static const char machine_text[] = "32K:64:8,1M:64:16,32M:64:16";
static const struct shape {
    uint64_t sets;
    unsigned ways;
} shapes[LEVELS] = {{64, 8}, {1024, 16}, {32768, 16}};

/* --------------------------------------------------------------- the textbook */

static uint64_t *tags[LEVELS];

static bool touch(unsigned level, uint64_t line)
{
    uint64_t *set = tags[level] + line % shapes[level].sets * shapes[level].ways;
    unsigned way = 0;

    while (way < shapes[level].ways - 1 && set[way] != line)
        way++;
    const bool hit = set[way] == line;
    for (; way; way--)
        set[way] = set[way - 1];
    set[0] = line;
    return hit;
}

static double run_textbook(const uint64_t *addresses, size_t n, uint64_t hits[LEVELS + 1])
{
    double start;

    for (unsigned level = 0; level < LEVELS; level++)
        memset(tags[level], 0xff, shapes[level].sets * shapes[level].ways * sizeof *tags[level]);
    memset(hits, 0, (LEVELS + 1) * sizeof *hits);
    start = now(CLOCK_MONOTONIC);
    for (size_t i = 0; i < n; i++) {
        const uint64_t line = addresses[i] / 64;
        unsigned level = 0;
        while (level < LEVELS && !touch(level, line))
            level++;
        hits[level]++;
    }
    return now(CLOCK_MONOTONIC) - start;
}

/* -------------------------------------------------------------------- psnap */

static struct psnap_sink *new_sim(const struct psnap_machine *machines, size_t n, uint32_t threads,
                                  const struct psnap_program *program)
{
    struct psnap_error error;
    const struct psnap_sim_options options = {.threads = threads};
    struct psnap_sink *sim = psnap_sim_new(machines, n, program, &options, &error);

    must_be(sim != NULL, "machine", &error);
    return sim;
}

static double run_memory(const struct psnap_machine *machines, size_t count, uint32_t threads,
                         const struct psnap_program *program, const struct psnap_access *stream,
                         size_t n, struct psnap_tally *tally)
{
    struct psnap_sink *sim = new_sim(machines, count, threads, program);
    struct psnap_error error;
    const double start = now(CLOCK_MONOTONIC);
    double seconds;

    for (size_t i = 0; i < n; i += PSNAP_BLOCK_ACCESSES)
        must_be(!psnap_sink_put(sim, stream + i,
                                n - i < PSNAP_BLOCK_ACCESSES ? n - i : PSNAP_BLOCK_ACCESSES,
                                &error),
                "stream", &error);
    seconds = now(CLOCK_MONOTONIC) - start;
    psnap_sim_add_total(sim, 0, tally);
    psnap_sink_free(sim);
    return seconds;
}

/* Reads and simulates a whole file, as psnap sim does, by one thread or one for each of the two:
 * seconds for each access. */
static double run_file(const struct psnap_machine *machine, const char *path, bool ahead)
{
    struct psnap_error error;
    const double start = now(CLOCK_MONOTONIC);
    struct psnap_source *file = psnap_trace_open(path, "pst", &error), *source;
    struct psnap_sink *sim;
    uint64_t count;

    must_be(file != NULL, path, &error);
    source = ahead ? psnap_relay_source_new(file, &error) : file;
    must_be(source != NULL, path, &error);
    sim = new_sim(machine, 1, 1, source->program);
    must_be(!psnap_pump(source, sim, &count, &error), path, &error);
    psnap_sink_free(sim);
    psnap_source_free(source);
    if (ahead)
        psnap_source_free(file);
    return (now(CLOCK_MONOTONIC) - start) / (double)count;
}

static void bench(const char *path, size_t rounds, size_t most)
{
    struct psnap_machine machines[MACHINES];
    struct psnap_error error;
    struct psnap_source *source = psnap_trace_open(path, "pst", &error);
    struct psnap_access *stream = must(malloc((most + PSNAP_BLOCK_ACCESSES) * sizeof *stream));
    uint64_t *addresses = must(malloc(most * sizeof *addresses)), hits[LEVELS + 1];
    double textbook[ROUNDS_MAX], memory[ROUNDS_MAX], file[ROUNDS_MAX];
    double two[ROUNDS_MAX], ten[ROUNDS_MAX], ten_two[ROUNDS_MAX];
    struct psnap_tally tally = {0};
    const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    size_t length = 0;
    ssize_t n = 1;

    must_be(source != NULL, path, &error);
    while (length < most && n > 0) {
        n = psnap_source_next(source, stream + length, PSNAP_BLOCK_ACCESSES, &error);
        must_be(n >= 0, path, &error);
        length += (size_t)n;
    }
    length = length > most ? most : length;
    for (size_t i = 0; i < length; i++)
        addresses[i] = stream[i].address;
    for (int i = 0; i < MACHINES; i++) {
        char text[32];
        snprintf(text, sizeof text, "table1-%d", i + 1);
        must_be(!psnap_machine_find(text, &machines[i], &error), text, &error);
    }
    for (size_t i = 0; i < rounds; i++) {
        struct psnap_machine machine;
        must_be(!psnap_machine_parse_inline(machine_text, &machine, &error), machine_text, &error);
        textbook[i] = run_textbook(addresses, length, hits);
        memset(&tally, 0, sizeof tally);
        memory[i] = run_memory(&machine, 1, 1, source->program, stream, length, &tally);
        file[i] = run_file(&machine, path, false);
        two[i] = run_file(&machine, path, true);
        struct psnap_tally unused = {0};
        ten[i] = run_memory(machines, MACHINES, 1, source->program, stream, length, &unused);
        ten_two[i] = run_memory(machines, MACHINES, 2, source->program, stream, length, &unused);
    }
    const double rate = 1e-6 * (double)length, book = rate / median(textbook, rounds);
    const double mine = rate / median(memory, rounds);
    const double each = median(file, rounds), of_two = median(two, rounds);
    printf("%s,%zu,%.0f,%.0f,%.2f,%.0f,%.2f,%.0f,%.2f,%.1f,%.1f,%.2f,%.2f\n", name, length, book,
           mine, mine / book, 1e-6 / each, 1e-6 / each / book, 1e-6 / of_two, 1e-6 / of_two / book,
           median(ten, rounds) / median(memory, rounds),
           median(ten_two, rounds) / median(memory, rounds), 100 * (double)hits[0] / (double)length,
           100 * psnap_tally_hit_rate(&tally, 0));
    fflush(stdout);
    free(stream);
    free(addresses);
    psnap_source_free(source);
}

int main(int argc, char **argv)
{
    const size_t rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
    const size_t most = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;

    if (rounds < 1 || rounds > ROUNDS_MAX || most < 1 || argc < 4) {
        fprintf(stderr, "usage: bench_textbook ROUNDS ACCESSES_MAX TRACE.pst...\n");
        return 2;
    }
    for (unsigned level = 0; level < LEVELS; level++)
        tags[level] = must(malloc(shapes[level].sets * shapes[level].ways * sizeof *tags[level]));
    printf("trace,accesses,textbook_m_s,memory_m_s,memory_x,pst_m_s,pst_x,two_threads_m_s,two_"
           "threads_x,ten_machines_x,ten_two_threads_x,"
           "textbook_l1,l1\n");
    for (int i = 3; i < argc; i++)
        bench(argv[i], rounds, most);
    return 0;
}
