/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared by the tests of the simulator: programs, machines by their text, and what a machine counts
 * of one access or of a whole stream.
 */
#ifndef PSNAP_TEST_SIMCORE_SUPPORT_H
#define PSNAP_TEST_SIMCORE_SUPPORT_H

#include "tests/unit/test.h"

#include <sys/stat.h>

#include "formats/base/rng.h"
#include "simcore/simcore.h"

/* Loops: f (pseudo), f:1 in two parts, f:2; a block and two refs in each, refs 2i and 2i + 1. */
static inline struct psnap_program *program_with_loops(void)
{
    static const char *const ids[][2] = {
        {"f", "f"}, {"f:1.vector", "f:1"}, {"f:2", "f:2"}, {"f:1.rest", "f:1"}};
    struct psnap_program *program = psnap_program_new();

    for (uint32_t i = 0; i < 4; i++) {
        const struct psnap_loop loop = {.id = ids[i][0],
                                        .src_id = ids[i][1],
                                        .function = "f",
                                        .file = "f.c",
                                        .src_line = i + 1};
        psnap_program_add_loop(program, &loop);
        psnap_program_add_block(program, &(struct psnap_block){.loop = i});
        psnap_program_add_ref(program, &(struct psnap_ref){.block = i, .loop = i});
        psnap_program_add_ref(program,
                              &(struct psnap_ref){.block = i, .loop = i, .object = "known"});
    }
    return program;
}

/* References of no loop. */
static inline struct psnap_program *program_with_refs(uint32_t n)
{
    struct psnap_program *program = psnap_program_new();

    assert_non_null(program);
    for (uint32_t i = 0; i < n; i++)
        psnap_program_add_ref(program, &(struct psnap_ref){.loop = PSNAP_NONE});
    return program;
}

static inline struct psnap_machine machine_of(const char *text)
{
    struct psnap_machine machine;
    struct psnap_error error;

    if (psnap_machine_find(text, &machine, &error) != PSNAP_OK)
        fail_msg("%s", error.message);
    return machine;
}

static inline uint64_t pick(struct psnap_rng *rng, uint64_t low, uint64_t high)
{
    return low + psnap_rng_below(rng, high - low + 1);
}

/* A file of a path below a folder, and the folders in between. */
static inline void write_below(const char *root, const char *path, const char *text)
{
    char full[512];
    FILE *file;

    snprintf(full, sizeof full, "%s/%s", root, path);
    for (char *slash = full + strlen(root) + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        mkdir(full, 0777);
        *slash = '/';
    }
    file = fopen(full, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

/* What one machine counts of one access, in a stream of them. */
struct watch {
    struct psnap_program *program;
    struct psnap_sink *sim;
    struct psnap_tally before;
};

static inline void watch_begin(struct watch *watch, const struct psnap_machine *machine,
                               const struct psnap_sim_options *options)
{
    watch->program = program_with_refs(8);
    watch->sim = psnap_sim_new(machine, 1, watch->program, options, NULL);
    assert_non_null(watch->sim);
    watch->before = (struct psnap_tally){0};
}

static inline void watch_end(struct watch *watch)
{
    psnap_sink_free(watch->sim);
    psnap_program_free(watch->program);
}

static inline struct psnap_tally total_of(const struct psnap_sink *sim, size_t machine)
{
    struct psnap_tally total = {0};

    psnap_sim_add_total(sim, machine, &total);
    return total;
}

/* A tally is numbers, and nothing else. */
enum { TALLY_NUMBERS = sizeof(struct psnap_tally) / sizeof(uint64_t) };

static inline struct psnap_tally step(struct watch *watch, struct psnap_access access)
{
    struct psnap_tally now, more;
    uint64_t numbers[2][TALLY_NUMBERS];

    assert_int_equal(psnap_sink_put(watch->sim, &access, 1, NULL), PSNAP_OK);
    now = total_of(watch->sim, 0);
    memcpy(numbers[0], &watch->before, sizeof now);
    memcpy(numbers[1], &now, sizeof now);
    for (size_t i = 0; i < TALLY_NUMBERS; i++)
        numbers[1][i] -= numbers[0][i];
    memcpy(&more, numbers[1], sizeof more);
    watch->before = now;
    return more;
}

static inline struct psnap_tally tally_of(const struct psnap_machine *machine,
                                          const struct psnap_access *stream, size_t n)
{
    struct watch watch;
    struct psnap_tally total;

    watch_begin(&watch, machine, NULL);
    assert_int_equal(psnap_sink_put(watch.sim, stream, n, NULL), PSNAP_OK);
    total = total_of(watch.sim, 0);
    watch_end(&watch);
    return total;
}

#endif
