/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How fast profiles are replayed into a sink of the same process, in M accesses/s of a core: with
 * every access written out in blocks, and as a sink gets them that takes runs. The sink only
 * counts. The first accesses of a profile are replayed again and again, each time from the
 * beginning (opening it is not measured): the best pass counts, in processor time, so that it may
 * run beside other work. Prints CSV.
 *
 * usage: bench_replay [-n ACCESSES] [-s SECONDS_PER_CASE] P.yaml...
 */
#include <inttypes.h>

#include "replay/replay.h"
#include "tests/bench/bench.h"
#include "tests/next_run.h"

enum { BLOCK = 4096 /* accesses */ };

/* Accesses replayed of at least `n`, or all there are; 0 on failure. `by_runs`: those of runs are
 * not written out. */
static uint64_t replay(struct psnap_source *source, uint64_t n, bool by_runs)
{
    static struct psnap_access block[BLOCK];
    struct psnap_error error;
    uint64_t done = 0;

    while (done < n) {
        struct psnap_run run = {.count = 0};
        const ssize_t got = by_runs ? next_run(source, block, BLOCK, &run, &error)
                                    : psnap_source_next(source, block, BLOCK, &error);
        if (got < 0) {
            fprintf(stderr, "bench_replay: %s\n", error.message);
            return 0;
        }
        if (!got && !run.count)
            break;
        __asm__ volatile("" : : "r"(block) : "memory"); /* the sink may read them */
        done += (uint64_t)got + run.count * run.width;
    }
    return done;
}

static bool measure(const char *name, const struct psnap_profile *profile, uint64_t n,
                    double seconds, bool by_runs)
{
    double best = 0, spent = 0;
    uint64_t count = 0;

    while (spent < seconds) {
        struct psnap_source *source = psnap_replay_new(profile, 1, NULL);
        double start, taken;
        if (!source)
            return false;
        start = now(CLOCK_PROCESS_CPUTIME_ID);
        count = replay(source, n, by_runs);
        taken = now(CLOCK_PROCESS_CPUTIME_ID) - start;
        psnap_source_free(source);
        if (!count)
            return false;
        spent += taken > 1e-4 ? taken : 1e-4;
        if (taken > 0 && (double)count / taken > best)
            best = (double)count / taken;
    }
    printf("%s,%s,%s,%" PRIu64 ",%.0f\n", name, profile->model, by_runs ? "runs" : "accesses",
           count, best / 1e6);
    return true;
}

int main(int argc, char **argv)
{
    uint64_t n = 20000000;
    double seconds = 0.5;
    int i = 1;

    for (; i + 1 < argc && argv[i][0] == '-'; i += 2) {
        if (!strcmp(argv[i], "-n"))
            n = strtoull(argv[i + 1], NULL, 10);
        else
            seconds = atof(argv[i + 1]);
    }
    puts("profile,model,delivered,accesses,maccesses_per_s");
    for (; i < argc; i++) {
        struct psnap_error error;
        FILE *file = fopen(argv[i], "r");
        struct psnap_profile *profile = file ? psnap_profile_read(file, argv[i], &error) : NULL;
        bool well = profile != NULL;
        if (file)
            fclose(file);
        well = well && measure(argv[i], profile, n, seconds, false) &&
               measure(argv[i], profile, n, seconds, true);
        psnap_profile_free(profile);
        if (!well)
            return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}
