/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One side of a comparison, for the commands that compare: psnap compare, and those that make a
 * certificate.
 */
#include "simcore/cmd_side.h"

#include <inttypes.h>

#include "simcore/cmd_turns.h"

/* A level that is smaller than the one before it is more often a slip than meant. */
static void warn_of_one(const struct psnap_machine *machine)
{
    for (uint32_t i = 1; i < machine->level_count; i++)
        if (machine->levels[i].size_bytes < machine->levels[i - 1].size_bytes) {
            struct psnap_error warning;
            psnap_error_set(&warning, PSNAP_ERROR_VALUE,
                            "machine '%.200s': level %" PRIu32 " is smaller than level %" PRIu32
                            " (%" PRIu64 " and %" PRIu64 " bytes)",
                            machine->name, i + 1, i, machine->levels[i].size_bytes,
                            machine->levels[i - 1].size_bytes);
            psnap_cmd_warn(&warning);
        }
}

void side_warn_of_sizes(const struct psnap_machine *machines, size_t n)
{
    for (size_t i = 0; i < n; i++)
        warn_of_one(&machines[i]);
}

struct psnap_machine *side_machines(const struct psnap_text_list *named, size_t *n,
                                    struct psnap_error *error)
{
    const char *const structures[] = {"table1-1", "table1-2", "table1-3", "table1-4", "table1-5",
                                      "table1-6", "table1-7", "table1-8", "table1-9", "table1-10"};

    struct psnap_machine *machines;

    *n = named->count ? named->count : sizeof structures / sizeof structures[0];
    machines = scope_machines(named->count ? named->items : structures, *n, error);
    if (machines)
        side_warn_of_sizes(machines, *n);
    return machines;
}

enum psnap_status side_take(struct compare_side *side, const struct psnap_sink *sim, size_t n,
                            const struct psnap_program *program, struct psnap_error *error)
{
    enum psnap_status status;

    side->accesses = psnap_sim_accesses(sim);
    side->run_accesses = program->sampling.run_accesses;
    side->threads = psnap_sim_threads(sim);
    status = scope_rows_init(&side->total, PSNAP_SCOPE_TOTAL, sim, n, program, NULL, error);
    return status ? status
                  : scope_rows_init(&side->loops, PSNAP_SCOPE_LOOP, sim, n, program, NULL, error);
}

static enum psnap_status simulate(struct compare_side *side, struct psnap_source *source,
                                  const struct psnap_machine *machines, size_t n,
                                  struct psnap_error *error)
{
    const struct psnap_sim_options options = {.threads = psnap_processors()};
    struct psnap_sink *sim = psnap_sim_new(machines, n, source->program, &options, error);
    enum psnap_status status = sim ? PSNAP_OK : error->code;

    if (!status)
        status = psnap_pump(source, sim, NULL, error);
    side_release(side);
    if (!status)
        status = side_take(side, sim, n, source->program, error);
    psnap_sink_free(sim);
    return status;
}

struct psnap_source *side_read_ahead(struct psnap_source *source, size_t machine_count)
{
    const uint32_t simulating = machine_count > 1 ? 2 : 1;

    return psnap_processors() > simulating ? psnap_relay_source_new(source, NULL) : NULL;
}

enum psnap_status side_run(struct compare_side *side, struct psnap_source *source,
                           const struct psnap_machine *machines, size_t n,
                           struct psnap_error *error)
{
    struct psnap_source *until = psnap_until_source_new(source, side->deadline), *ahead;
    enum psnap_status status;

    if (!until)
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    ahead = side_read_ahead(until, n);
    status = simulate(side, ahead ? ahead : until, machines, n, error);
    psnap_source_free(ahead);
    psnap_source_free(until);
    return status;
}

/* A side on its way through the machines. */
struct running {
    struct compare_side *side;
    const struct psnap_machine *machines;
    size_t n;
};

static enum psnap_status run_pass(void *context, struct psnap_source *source,
                                  struct psnap_error *error)
{
    const struct running *running = context;

    return side_run(running->side, source, running->machines, running->n, error);
}

enum psnap_status side_run_input(struct compare_side *side, const struct psnap_input_options *input,
                                 const struct psnap_machine *machines, size_t n,
                                 struct psnap_error *error)
{
    struct running running = {side, machines, n};

    return psnap_turns_pass(side->path, input, run_pass, &running, &side->in_turn, error);
}

void side_release(struct compare_side *side)
{
    scope_rows_release(&side->total);
    scope_rows_release(&side->loops);
}
