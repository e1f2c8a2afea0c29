/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared by the tests of policies: machines by their text, and what they count of one access or
 * of a whole stream of eight references.
 */
#ifndef PSNAP_TEST_WATCH_SUPPORT_H
#define PSNAP_TEST_WATCH_SUPPORT_H

#include "tests/unit/test.h"

#include "formats/base/rng.h"
#include "simcore/simcore.h"

#define REFS 8

enum { MIXED = 20000 };

static inline struct psnap_program *eight_refs(void)
{
    struct psnap_program *program = psnap_program_new();

    assert_non_null(program);
    for (uint32_t i = 0; i < REFS; i++)
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

/* What one machine counts of one access, in a stream of them. */
struct watch {
    struct psnap_program *program;
    struct psnap_sink *sim;
    struct psnap_tally before;
};

static inline void watch_begin(struct watch *watch, const struct psnap_machine *machine)
{
    watch->program = eight_refs();
    watch->sim = psnap_sim_new(machine, 1, watch->program, NULL, NULL);
    assert_non_null(watch->sim);
    watch->before = (struct psnap_tally){0};
}

static inline void watch_end(struct watch *watch)
{
    psnap_sink_free(watch->sim);
    psnap_program_free(watch->program);
}

static inline struct psnap_tally watch_total(const struct watch *watch)
{
    struct psnap_tally total = {0};

    psnap_sim_add_total(watch->sim, 0, &total);
    return total;
}

static inline struct psnap_tally step(struct watch *watch, uint64_t address, uint8_t size,
                                      uint8_t kind, uint32_t ref, uint16_t thread)
{
    const struct psnap_access access = {address, ref, size, kind, thread};
    struct psnap_tally now, step = {0};

    assert_int_equal(psnap_sink_put(watch->sim, &access, 1, NULL), PSNAP_OK);
    now = watch_total(watch);
    for (int i = 0; i < PSNAP_LEVELS_MAX; i++) {
        step.hits[i] = now.hits[i] - watch->before.hits[i];
        step.write_backs[i] = now.write_backs[i] - watch->before.write_backs[i];
        step.prefetches[i] = now.prefetches[i] - watch->before.prefetches[i];
        step.prefetches_useful[i] = now.prefetches_useful[i] - watch->before.prefetches_useful[i];
        step.prefetches_useless[i] =
            now.prefetches_useless[i] - watch->before.prefetches_useless[i];
    }
    for (int i = 0; i < PSNAP_TLB_LEVELS_MAX; i++)
        step.tlb_hits[i] = now.tlb_hits[i] - watch->before.tlb_hits[i];
    watch->before = now;
    return step;
}

/* A mixture of walks and of picks from a small set. */
static inline void mixed_stream(uint64_t seed, struct psnap_access *stream, size_t n)
{
    struct psnap_rng rng;
    uint64_t walks[REFS] = {0};

    psnap_rng_init(&rng, seed);
    for (size_t i = 0; i < n; i++) {
        const uint32_t ref = (uint32_t)psnap_rng_below(&rng, REFS);
        uint64_t address = psnap_rng_below(&rng, 1 << 14);

        if (ref < REFS / 2)
            address = walks[ref] += 8 * (ref + 1);
        stream[i] = (struct psnap_access){address, ref, 8, (uint8_t)psnap_rng_below(&rng, 2), 0};
    }
}

static inline struct psnap_tally tally_of(const struct psnap_machine *machine,
                                          const struct psnap_access *stream, size_t n)
{
    struct watch watch;
    struct psnap_tally total;

    watch_begin(&watch, machine);
    assert_int_equal(psnap_sink_put(watch.sim, stream, n, NULL), PSNAP_OK);
    total = watch_total(&watch);
    watch_end(&watch);
    return total;
}

#endif
