/* SPDX-License-Identifier: BSD-3-Clause */
/* Out of memory in simcore: each job below with every one of its allocations failing. */
#include "tests/unit/failing_malloc.h"

#include "formats/base/program.h"
#include "simcore/compare.h"
#include "simcore/scope.h"
#include "simcore/simcore.h"
#include "formats/base/touched.h"

enum { LOOPS = 10, MACHINES = 4, ACCESSES = 400 };

static struct psnap_program *program;
static struct psnap_machine machines[MACHINES];

static void make_program(void)
{
    program = psnap_program_new();
    assert_non_null(program);
    for (uint32_t i = 0; i < LOOPS; i++) {
        char id[16];
        snprintf(id, sizeof id, "f:%u", i);
        const char *name = psnap_program_string(program, id);
        const struct psnap_object object = {i * 8192, 4096, name, PSNAP_OBJECT_GLOBAL};
        psnap_program_add_loop(
            program,
            &(struct psnap_loop){.id = name, .src_id = name, .function = "f", .file = "f.c"});
        psnap_program_add_block(program, &(struct psnap_block){.loop = i});
        psnap_program_add_ref(program, &(struct psnap_ref){.block = i, .loop = i});
        psnap_program_add_object(program, &object);
    }
}

static enum psnap_status put_all(struct psnap_sink *sim, struct psnap_error *error)
{
    struct psnap_access block[ACCESSES];

    for (uint32_t i = 0; i < ACCESSES; i++)
        block[i] =
            (struct psnap_access){i * UINT64_C(4096), i % LOOPS, 8, PSNAP_STORE, (uint16_t)(i % 3)};
    return psnap_sink_put(sim, block, ACCESSES, error);
}

/* A simulation with everything, of one hierarchy or so many cores, and all its reports. */
static enum psnap_status simulate_cores(uint32_t cores, struct psnap_error *error)
{
    struct psnap_touched *touched = psnap_touched_new(program);
    const struct psnap_sim_options options = {true, psnap_touched_tag, touched, cores};
    struct psnap_sink *sim = NULL;
    enum psnap_status status = PSNAP_OK;

    if (!touched)
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    sim = psnap_sim_new(machines, MACHINES, program, &options, error);
    status = sim ? put_all(sim, error) : error->code;
    for (int scope = 0; scope < PSNAP_SCOPE_COUNT && status == PSNAP_OK; scope++) {
        struct scope_rows rows;
        status =
            scope_rows_init(&rows, (enum psnap_scope)scope, sim, MACHINES, program, touched, error);
        if (status == PSNAP_OK)
            scope_rows_release(&rows);
    }
    psnap_sink_free(sim);
    psnap_touched_free(touched);
    return status;
}

static enum psnap_status simulate(struct psnap_error *error)
{
    return simulate_cores(0, error);
}

static enum psnap_status simulate_three(struct psnap_error *error)
{
    return simulate_cores(3, error);
}

static enum psnap_status compare_with_itself(struct psnap_error *error)
{
    struct psnap_sink *sim = psnap_sim_new(machines, MACHINES, program, NULL, error);
    struct compare_side side = {.path = "x", .accesses = ACCESSES};
    struct compare compare;
    enum psnap_status status = sim ? put_all(sim, error) : error->code;

    if (status == PSNAP_OK)
        status =
            scope_rows_init(&side.total, PSNAP_SCOPE_TOTAL, sim, MACHINES, program, NULL, error);
    if (status == PSNAP_OK)
        status =
            scope_rows_init(&side.loops, PSNAP_SCOPE_LOOP, sim, MACHINES, program, NULL, error);
    if (status == PSNAP_OK)
        status = compare_init(&compare, machines, MACHINES, &side, &side, error);
    if (status == PSNAP_OK)
        compare_release(&compare);
    scope_rows_release(&side.total);
    scope_rows_release(&side.loops);
    psnap_sink_free(sim);
    return status;
}

static enum psnap_status read_machines(struct psnap_error *error)
{
    static const char *const texts[] = {"samples/machines/server.yaml", "table1-1", "1K:64:full"};
    struct psnap_machine *found = scope_machines(texts, 3, error);

    if (!found)
        return error->code;
    free(found);
    return PSNAP_OK;
}

TEST(out_of_memory)
{
    static const char *const texts[MACHINES] = {"1K:64:2,8K:64:full", "1K:64:2,16K:32:full",
                                                "48:1:3", "1K:64:2:plru,8K:64:full:plru"};

    make_program();
    for (int i = 0; i < MACHINES; i++)
        assert_int_equal(psnap_machine_find(texts[i], &machines[i], NULL), PSNAP_OK);
    machines[0].levels[1].prefetch = (struct psnap_prefetch){4, 1, 1};
    machines[3].tlb_level_count = 1;
    machines[3].tlb[0] = (struct psnap_tlb_level){8, 4096, 8, 1};
    run_job(simulate);
    run_job(simulate_three);
    run_job(compare_with_itself);
    run_job(read_machines);
    psnap_program_free(program);
}
