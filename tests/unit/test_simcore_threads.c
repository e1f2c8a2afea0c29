/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Simulators in several threads at once, each with machines, a program and a stream of its own,
 * count what they count alone. (With tsan they share nothing, too.)
 */
#include "tests/unit/test.h"

#include <pthread.h>

#include "formats/base/rng.h"
#include "simcore/simcore.h"

enum { THREADS = 4, BLOCKS = 64, BLOCK = 512, MACHINES = 3 };

struct work {
    unsigned number; /* which stream and machines */
    struct psnap_tally tallies[MACHINES];
    enum psnap_status status;
};

/* A plain machine, one that draws, and one that is simulated access by access. */
static enum psnap_status make_machines(unsigned number, struct psnap_machine machines[MACHINES])
{
    enum psnap_status status =
        psnap_machine_parse_inline(number % 2 ? "1K:64:2,8K:64:4" : "2K:32:4", &machines[0], NULL);

    if (status == PSNAP_OK)
        status = psnap_machine_parse_inline("1K:64:4:random,4K:64:8:srrip", &machines[1], NULL);
    if (status == PSNAP_OK)
        status = psnap_machine_parse_inline("1K:64:2,4K:64:4", &machines[2], NULL);
    machines[1].levels[0].seed = number;
    machines[2].levels[1].inclusion = PSNAP_INCLUSIVE;
    return status ? status : psnap_machine_check(&machines[2], NULL);
}

static void make_block(struct psnap_rng *rng, unsigned number, struct psnap_access *block)
{
    for (size_t i = 0; i < BLOCK; i++) {
        const bool is_store = psnap_rng_below(rng, 3) == 0;

        block[i] =
            (struct psnap_access){.address = 4096 + psnap_rng_below(rng, 9000 + 500 * number),
                                  .ref = is_store,
                                  .size = 8,
                                  .kind = is_store ? PSNAP_STORE : PSNAP_LOAD};
    }
}

static void *simulate(void *context)
{
    struct work *work = context;
    struct psnap_machine machines[MACHINES];
    struct psnap_program *program = psnap_program_new();
    struct psnap_sink *sim = NULL;
    struct psnap_access block[BLOCK];
    struct psnap_rng rng;

    memset(work->tallies, 0, sizeof work->tallies);
    psnap_rng_init(&rng, work->number);
    work->status = psnap_program_add_anonymous(program, "one");
    if (work->status == PSNAP_OK)
        work->status = make_machines(work->number, machines);
    if (work->status == PSNAP_OK)
        sim = psnap_sim_new(machines, MACHINES, program, NULL, NULL);
    for (size_t b = 0; b < BLOCKS && sim && !work->status; b++) {
        make_block(&rng, work->number, block);
        work->status = psnap_sink_put(sim, block, BLOCK, NULL);
    }
    for (size_t m = 0; m < MACHINES && sim; m++)
        psnap_sim_add_total(sim, m, &work->tallies[m]);
    work->status = sim ? work->status : PSNAP_ERROR_MEMORY;
    psnap_sink_free(sim);
    psnap_program_free(program);
    return NULL;
}

TEST(threads_count_what_they_count_alone)
{
    struct work alone[THREADS], together[THREADS];
    pthread_t threads[THREADS];

    for (unsigned i = 0; i < THREADS; i++) {
        alone[i].number = together[i].number = i / 2; /* two have the same to do */
        simulate(&alone[i]);
        assert_int_equal(alone[i].status, PSNAP_OK);
        assert_int_equal(alone[i].tallies[0].accesses, BLOCKS * BLOCK);
        assert_true(alone[i].tallies[0].hits[0] > 0);
    }
    assert_memory_not_equal(&alone[0].tallies, &alone[2].tallies, sizeof alone[0].tallies);
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, simulate, &together[i]), 0);
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    for (unsigned i = 0; i < THREADS; i++) {
        assert_int_equal(together[i].status, PSNAP_OK);
        assert_memory_equal(&alone[i].tallies, &together[i].tallies, sizeof alone[i].tallies);
    }
}
