/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How fast the profile builder takes accesses and the replay gives them, in M
 * accesses/s of one thread, on streams made here: regular (triad, dense matrix
 * multiply, a stencil), irregular (sparse matrix-vector product of the size of
 * NPB cg.W, random gather over 256 MiB, pointer chase over 64 MiB, column walk)
 * and short loop visits. Streams are made in blocks outside of the timed part;
 * the best pass counts. Prints CSV: stream, builder's rate, bytes of the
 * profile, replay's rate.
 *
 * usage: bench_builder [M_ACCESSES [STREAM...]]
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "formats/base/rng.h"
#include "profile/profile.h"
#include "replay/replay.h"

enum { LOOPS = 4, REFS_PER_LOOP = 8, BLOCK = 4096 };

static struct psnap_access *stream;
static size_t length, room;

/* False when the stream is full. */
static bool emit(uint32_t ref, uint64_t address, uint8_t size, uint8_t kind)
{
    if (length < room)
        stream[length++] =
            (struct psnap_access){.address = address, .ref = ref, .size = size, .kind = kind};
    return length < room;
}

static void make_triad(void)
{
    const uint64_t n = 2000000, a = UINT64_C(2) << 40, b = a + n * 8 + 4096, c = b + n * 8 + 4096;

    for (uint64_t i = 0; emit(0, b + i % n * 8, 8, PSNAP_LOAD); i++) {
        emit(1, c + i % n * 8, 8, PSNAP_LOAD);
        emit(2, a + i % n * 8, 8, PSNAP_STORE);
    }
}

static void make_gemm(void)
{
    const uint64_t n = 600, a = 1 << 28, b = 2 << 28, c = 3 << 28;

    for (uint64_t ik = 0; emit(8, a + ik % (n * n) * 8, 8, PSNAP_LOAD); ik++)
        for (uint64_t j = 0; j < n; j += 2) {
            emit(1, b + (ik % n * n + j) * 8, 16, PSNAP_LOAD);
            emit(2, c + (ik / n % n * n + j) * 8, 16, PSNAP_LOAD);
            emit(3, c + (ik / n % n * n + j) * 8, 16, PSNAP_STORE);
        }
}

static void make_stencil(void)
{
    const uint64_t n = 1000, a = 1 << 28, b = 2 << 28;
    uint64_t i = n;

    do {
        i = i + 1 < n * (n - 1) ? i + 1 : n;
        emit(0, a + (i - n) * 8, 8, PSNAP_LOAD);
        emit(1, a + (i - 1) * 8, 8, PSNAP_LOAD);
        emit(2, a + i * 8, 8, PSNAP_LOAD);
        emit(3, a + (i + 1) * 8, 8, PSNAP_LOAD);
        emit(4, a + (i + n) * 8, 8, PSNAP_LOAD);
    } while (emit(5, b + i * 8, 8, PSNAP_STORE));
}

static void make_cg(void)
{
    const uint64_t rows = 7000, per_row = 72, a = 1 << 28, col = 2 << 28, p = 3 << 28, q = 4u << 28;
    struct psnap_rng rng;

    psnap_rng_init(&rng, 1);
    for (uint64_t row = 0; emit(8, q + row * 8, 8, PSNAP_STORE); row = (row + 1) % rows)
        for (uint64_t i = 0; i < per_row; i++) {
            emit(0, a + (row * per_row + i) * 8, 8, PSNAP_LOAD);
            emit(1, col + (row * per_row + i) * 4, 4, PSNAP_LOAD);
            emit(2, p + psnap_rng_below(&rng, rows) * 8, 8, PSNAP_LOAD);
        }
}

static void make_gather(void)
{
    const uint64_t index = 1 << 28, x = UINT64_C(3) << 40;
    struct psnap_rng rng;

    psnap_rng_init(&rng, 1);
    for (uint64_t i = 0; emit(0, index + i * 4, 4, PSNAP_LOAD); i++)
        emit(1, x + psnap_rng_below(&rng, 1 << 25) * 8, 8, PSNAP_LOAD);
}

static void make_chase(void)
{
    const uint64_t heap = UINT64_C(2) << 40;
    uint64_t at = 1;

    do {
        at = at * UINT64_C(6364136223846793005) + 1442695040888963407;
        emit(0, heap + (at >> 44) * 64 + 8, 8, PSNAP_LOAD);
    } while (emit(1, heap + (at >> 44) * 64, 8, PSNAP_LOAD));
}

static void make_columns(void)
{
    const uint64_t n = 2048, a = 1 << 28;

    for (uint64_t i = 0; emit(0, a + (i % n * n + i / n % n) * 8, 8, PSNAP_LOAD); i++)
        continue;
}

/* Loops of three accesses that take turns. */
static void make_visits(void)
{
    const uint64_t a = 1 << 28;

    for (uint64_t i = 0; emit(8, a + i % 100000 * 8, 8, PSNAP_LOAD); i++)
        for (uint64_t j = 0; j < 3; j++)
            emit(0, a + (2 << 28) + (i % 100000 * 3 + j) * 8, 8, PSNAP_LOAD);
}

static double seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static struct psnap_program *make_program(void)
{
    struct psnap_program *program = psnap_program_new();

    for (uint32_t l = 0; l < LOOPS; l++) {
        static const char *const names[LOOPS] = {"inner", "middle", "outer", "rest"};
        struct psnap_loop loop = {.id = names[l],
                                  .src_id = names[l],
                                  .function = "bench",
                                  .file = "",
                                  .parent = PSNAP_NONE,
                                  .header = PSNAP_NONE,
                                  .entry = PSNAP_NONE};
        struct psnap_block block = {.loop = l};
        psnap_program_add_loop(program, &loop);
        psnap_program_add_block(program, &block);
        for (uint32_t i = 0; i < REFS_PER_LOOP; i++) {
            struct psnap_ref ref = {.block = l, .loop = l};
            psnap_program_add_ref(program, &ref);
        }
    }
    return program;
}

static double rate_of_builder(struct psnap_program *program, struct psnap_profile **profile)
{
    double best = 0;

    *profile = NULL;
    for (int pass = 0; pass < 3; pass++) {
        struct psnap_sink *builder = psnap_profile_builder_new(program, NULL, NULL);
        const double start = seconds();
        double rate;
        for (size_t done = 0; done < length; done += BLOCK)
            psnap_sink_put(builder, stream + done, length - done < BLOCK ? length - done : BLOCK,
                           NULL);
        psnap_sink_finish(builder, NULL);
        psnap_profile_free(*profile);
        *profile = psnap_profile_builder_take(builder, NULL);
        rate = (double)length / (seconds() - start) / 1e6;
        psnap_sink_free(builder);
        best = rate > best ? rate : best;
    }
    return best;
}

static double rate_of_replay(const struct psnap_profile *profile)
{
    double best = 0;

    for (int pass = 0; pass < 3; pass++) {
        const double start = seconds();
        struct psnap_source *source = psnap_replay_new(profile, 0, NULL);
        struct psnap_access block[BLOCK];
        uint64_t count = 0;
        double rate;
        for (ssize_t n; (n = psnap_source_next(source, block, BLOCK, NULL)) > 0;)
            count += (uint64_t)n;
        psnap_source_free(source);
        rate = (double)count / (seconds() - start) / 1e6;
        best = rate > best ? rate : best;
    }
    return best;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*make)(void);
    } streams[] = {{"triad", make_triad},     {"gemm", make_gemm},     {"stencil", make_stencil},
                   {"cg", make_cg},           {"gather", make_gather}, {"chase", make_chase},
                   {"columns", make_columns}, {"visits", make_visits}};
    struct psnap_program *program = make_program();

    room = (argc > 1 ? (size_t)strtoul(argv[1], NULL, 10) : 16) * 1000000;
    stream = malloc((room + 1) * sizeof *stream);
    if (!stream || !program)
        return 1;
    printf("stream,build_m_per_s,profile_bytes,replay_m_per_s\n");
    for (size_t i = 0; i < sizeof streams / sizeof *streams; i++) {
        struct psnap_profile *profile;
        bool wanted = argc <= 2;
        double built;
        char *text = NULL;
        size_t text_bytes = 0;
        FILE *memory = open_memstream(&text, &text_bytes);
        for (int a = 2; a < argc; a++)
            wanted |= !strcmp(argv[a], streams[i].name);
        if (wanted && memory) {
            length = 0;
            streams[i].make();
            built = rate_of_builder(program, &profile);
            psnap_profile_write(profile, memory, NULL);
            fflush(memory);
            printf("%s,%.1f,%zu,%.1f\n", streams[i].name, built, text_bytes,
                   rate_of_replay(profile));
            psnap_profile_free(profile);
        }
        if (memory)
            fclose(memory);
        free(text);
    }
    free(stream);
    psnap_program_free(program);
    return 0;
}
