/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How fast the simulator alone is, in M accesses/s, on streams made here: the
 * inner loops of a dense matrix multiply (n = 600), a sparse matrix-vector product of the
 * size of NPB cg.W, a triad over arrays larger than every level, and uniform
 * random lines. Each stream is made once and run again and again: the best
 * pass counts, in processor time. Prints CSV: stream, machine, rate, hit rates.
 *
 * usage: bench_sim [SECONDS_PER_CASE [MACHINE...]]
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "formats/base/rng.h"
#include "simcore/simcore.h"

#define STREAM_ACCESSES 4000000u

static struct psnap_access *stream;
static size_t length;

static void emit(uint32_t ref, uint64_t address, uint8_t size, uint8_t kind)
{
    if (length < STREAM_ACCESSES)
        stream[length++] =
            (struct psnap_access){.address = address, .ref = ref, .size = size, .kind = kind};
}

static void make_gemm(void)
{
    const uint64_t n = 600, a = 1 << 28, b = 2 << 28, c = 3 << 28;

    for (uint64_t i = 0; i < n; i++)
        for (uint64_t k = 0; k < n; k++) {
            emit(0, a + (i * n + k) * 8, 8, PSNAP_LOAD);
            for (uint64_t j = 0; j < n; j += 2) {
                emit(1, b + (k * n + j) * 8, 16, PSNAP_LOAD);
                emit(2, c + (i * n + j) * 8, 16, PSNAP_LOAD);
                emit(3, c + (i * n + j) * 8, 16, PSNAP_STORE);
            }
        }
}

static void make_cg(void)
{
    const uint64_t rows = 7000, per_row = 72, a = 1 << 28, col = 2 << 28, p = 3 << 28, q = 4u << 28;
    struct psnap_rng rng;

    while (length < STREAM_ACCESSES) {
        uint64_t k = 0;
        psnap_rng_init(&rng, 1);
        for (uint64_t row = 0; row < rows; row++) {
            for (uint64_t i = 0; i < per_row; i++, k++) {
                emit(0, a + k * 8, 8, PSNAP_LOAD);
                emit(1, col + k * 4, 4, PSNAP_LOAD);
                emit(2, p + psnap_rng_below(&rng, rows) * 8, 8, PSNAP_LOAD);
            }
            emit(3, q + row * 8, 8, PSNAP_STORE);
        }
    }
}

static void make_triad(void)
{
    for (uint64_t i = 0; length < STREAM_ACCESSES; i++) {
        emit(0, (1u << 30) + i * 16, 16, PSNAP_LOAD);
        emit(1, (2u << 30) + i * 16, 16, PSNAP_LOAD);
        emit(2, (UINT64_C(4) << 30) + i * 16, 16, PSNAP_STORE);
    }
}

static void make_random(void)
{
    struct psnap_rng rng;

    psnap_rng_init(&rng, 1);
    while (length < STREAM_ACCESSES)
        emit(0, psnap_rng_below(&rng, UINT64_C(64) << 20), 1, PSNAP_LOAD);
}

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static bool measure(const char *name, const char *machine_text, const struct psnap_program *program,
                    double seconds)
{
    struct psnap_error error;
    struct psnap_machine machine;
    struct psnap_tally tally = {0};
    struct psnap_sink *sim = NULL;
    char text[1024];
    double spent = 0, best = 1e9;

    if (psnap_machine_find(machine_text, &machine, &error) == PSNAP_OK)
        sim = psnap_sim_new(&machine, 1, program, NULL, &error);
    if (!sim) {
        fprintf(stderr, "bench_sim: %s\n", psnap_error_format(&error, text, sizeof text));
        return false;
    }
    while (spent < seconds) {
        const double start = now();

        for (size_t i = 0; i < length; i += PSNAP_BLOCK_ACCESSES) {
            const size_t n = length - i < PSNAP_BLOCK_ACCESSES ? length - i : PSNAP_BLOCK_ACCESSES;
            if (psnap_sink_put(sim, stream + i, n, &error) != PSNAP_OK)
                abort();
        }
        best = fmin(best, now() - start);
        spent += now() - start;
    }
    psnap_sim_add_total(sim, 0, &tally);
    printf("%s,\"%s\",%.1f", name, machine_text, 1e-6 * (double)length / best);
    for (uint32_t i = 0; i < machine.level_count; i++)
        printf(",%.4f", psnap_tally_cumulative(&tally, i));
    putchar('\n');
    psnap_sink_free(sim);
    return true;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*make)(void);
    } cases[] = {
        {"gemm", make_gemm}, {"cg", make_cg}, {"triad", make_triad}, {"random", make_random}};
    const char *usual[] = {"32K:64:8,1M:64:16,32M:64:16", "table1-4", "e5-2699v4"};
    const double seconds = argc > 1 ? atof(argv[1]) : 0.5;
    struct psnap_program *program = psnap_program_new();
    bool well = program != NULL;

    stream = malloc(STREAM_ACCESSES * sizeof *stream);
    for (int i = 0; i < 4 && well; i++)
        well = psnap_program_add_ref(program, &(struct psnap_ref){0}) != PSNAP_NONE;
    puts("stream,machine,maccesses_per_s,cumulative hit rates");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0] && well && stream; i++) {
        length = 0;
        cases[i].make();
        if (argc > 2)
            for (int j = 2; j < argc && well; j++)
                well = measure(cases[i].name, argv[j], program, seconds);
        else
            for (int j = 0; j < 3 && well; j++)
                well = measure(cases[i].name, usual[j], program, seconds);
    }
    free(stream);
    psnap_program_free(program);
    return well ? EXIT_SUCCESS : EXIT_FAILURE;
}
