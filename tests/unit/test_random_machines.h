/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared by the tests of the simulator: random machines, streams of five references that suit
 * them, and a number for each access.
 */
#ifndef PSNAP_TEST_RANDOM_MACHINES_H
#define PSNAP_TEST_RANDOM_MACHINES_H

#include "tests/unit/test_simcore_support.h"

#define RANDOM_ENTRIES_MAX 16 /* of a prefetcher */

/* Replacement and prefetchers; the sizes of levels follow their ways. */
static inline void random_policies(struct psnap_rng *rng, struct psnap_machine *machine)
{
    for (uint32_t i = 0; i < machine->level_count; i++) {
        struct psnap_cache_level *level = &machine->levels[i];

        level->replacement = (enum psnap_replacement)pick(rng, 0, PSNAP_REPLACE_COUNT - 1);
        if (level->replacement == PSNAP_REPLACE_RANDOM)
            level->seed = pick(rng, 0, 3);
        if (level->replacement == PSNAP_REPLACE_PLRU)
            while (level->ways & (level->ways - 1))
                level->ways &= level->ways - 1;
        level->index = (enum psnap_set_index)pick(rng, 0, PSNAP_INDEX_COUNT - 1);
        if (level->index == PSNAP_INDEX_XOR)
            while (level->sets & (level->sets - 1))
                level->sets &= level->sets - 1;
        if (level->replacement == PSNAP_REPLACE_SRRIP && level->ways > PSNAP_SRRIP_WAYS_MAX)
            level->ways = PSNAP_SRRIP_WAYS_MAX;
        level->size_bytes = level->line_bytes * level->ways * level->sets;
        if (pick(rng, 0, 1))
            level->prefetch =
                (struct psnap_prefetch){(uint32_t)pick(rng, 1, RANDOM_ENTRIES_MAX),
                                        (uint32_t)pick(rng, 1, 4), (uint32_t)pick(rng, 1, 5)};
    }
}

static inline void random_tlb(struct psnap_rng *rng, struct psnap_machine *machine)
{
    machine->tlb_level_count = (uint32_t)pick(rng, 0, PSNAP_TLB_LEVELS_MAX);
    for (uint32_t i = 0; i < machine->tlb_level_count; i++) {
        struct psnap_tlb_level *level = &machine->tlb[i];

        level->page_bytes = UINT64_C(1) << pick(rng, 4, 12);
        level->ways = pick(rng, 1, 9);
        level->entries = level->ways * pick(rng, 1, 5);
    }
}

static inline void random_machine(struct psnap_rng *rng, struct psnap_machine *machine,
                                  uint64_t ways_max)
{
    const bool is_large = pick(rng, 0, 2) == 0;

    *machine = (struct psnap_machine){.name = "random", .level_count = (uint32_t)pick(rng, 1, 4)};
    for (uint32_t i = 0; i < machine->level_count; i++) {
        struct psnap_cache_level *level = &machine->levels[i];
        level->line_bytes = UINT64_C(1) << pick(rng, 0, 8);
        level->ways = pick(rng, 0, 9) ? pick(rng, 1, 9) : pick(rng, 1, ways_max);
        level->sets = pick(rng, 0, 1) ? UINT64_C(1) << pick(rng, 0, 4) : pick(rng, 1, 20);
        if (is_large) { /* enough to be packed (simcore/cache_packed.h) */
            level->line_bytes = UINT64_C(1) << pick(rng, 5, 7);
            level->sets = UINT64_C(128) << pick(rng, 0, 1);
            level->ways = pick(rng, 1, 16);
        }
        level->size_bytes = level->line_bytes * level->ways * level->sets;
    }
    if (pick(rng, 0, 2))
        random_policies(rng, machine);
    random_tlb(rng, machine);
    assert_int_equal(psnap_machine_check(machine, NULL), PSNAP_OK);
}

static inline void random_stream(struct psnap_rng *rng, struct psnap_access *stream, size_t n)
{
    const uint64_t base = pick(rng, 0, 3) ? pick(rng, 0, 1 << 20) : UINT64_MAX - 700;
    const uint64_t span = UINT64_C(1) << pick(rng, 6, 14);
    const uint64_t size_max = UINT64_C(1) << pick(rng, 0, 6);
    const bool strided = pick(rng, 0, 2) == 0;
    const bool spread = pick(rng, 0, 2) == 0; /* lines in few sets, here and there above 2^42 */
    uint64_t walk = base, walks[5] = {0}, strides[5] = {0};

    for (size_t i = 0; i < n; i++) {
        const uint64_t choice = pick(rng, 0, 3);
        const uint32_t ref = (uint32_t)pick(rng, 0, 4);
        if (choice == 0)
            walk = base + pick(rng, 0, span - 1);
        else if (choice == 1)
            walk += 8;
        if (i < 5 || pick(rng, 0, 20) == 0) {
            walks[i % 5] = base + pick(rng, 0, span - 1);
            strides[i % 5] = pick(rng, 0, 3) ? pick(rng, 0, 200) : 0 - pick(rng, 0, 200);
        }
        walks[ref] += strides[ref];
        stream[i] = (struct psnap_access){.address = strided ? walks[ref] : walk,
                                          .ref = ref,
                                          .size = (uint8_t)pick(rng, 1, size_max),
                                          .kind = (uint8_t)pick(rng, 0, 2),
                                          .thread = (uint16_t)pick(rng, 0, 2)};
        if (spread)
            stream[i].address = (stream[i].address >> 6 << 14) + (stream[i].address & 63) +
                                (UINT64_C(1) << 41) * (ref % 3);
    }
}

struct numbering {
    uint32_t next;
};

static inline enum psnap_status number_accesses(void *context, const struct psnap_access *block,
                                                size_t n, uint32_t *rows, struct psnap_error *error)
{
    struct numbering *numbering = context;

    (void)block;
    (void)error;
    for (size_t i = 0; i < n; i++)
        rows[i] = numbering->next++;
    return PSNAP_OK;
}

/* Gives the simulator the stream in pieces of random length. */
static inline void feed(struct psnap_rng *rng, struct psnap_sink *sim,
                        const struct psnap_access *stream, size_t n)
{
    struct psnap_error error;

    while (n) {
        const size_t part = (size_t)pick(rng, 1, n);
        assert_int_equal(psnap_sink_put(sim, stream, part, &error), PSNAP_OK);
        stream += part;
        n -= part;
    }
}

#endif
