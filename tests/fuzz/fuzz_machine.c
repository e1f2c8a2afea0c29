/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Machines from arbitrary bytes, as a file and as the inline form. A machine
 * that is accepted must satisfy the simulator's invariants, and a small one is
 * simulated.
 */
#include "simcore/simcore.h"
#include "tests/fuzz/fuzz.h"

static void simulate(const struct psnap_machine *machine)
{
    struct psnap_program *program = psnap_program_new();
    struct psnap_sink *sim;
    struct psnap_tally tally = {0};

    must(program && psnap_program_add_ref(program, &(struct psnap_ref){0}) != PSNAP_NONE);
    sim = psnap_sim_new(machine, 1, program, NULL, NULL);
    for (uint64_t i = 0; sim && i < 200; i++) {
        const struct psnap_access access = {.address = i * i * 40503,
                                            .size = (uint8_t)(1 + i % 64),
                                            .kind = i % 3 ? PSNAP_LOAD : PSNAP_STORE};
        must(psnap_sink_put(sim, &access, 1, NULL) == PSNAP_OK);
    }
    if (sim) {
        psnap_sim_add_total(sim, 0, &tally);
        must(tally.accesses == 200 &&
             psnap_tally_satisfied(&tally, machine->level_count - 1) <= 200);
    }
    psnap_sink_free(sim);
    psnap_program_free(program);
}

static void check(const struct psnap_machine *machine)
{
    uint64_t lines = 0, line_bytes = 0;

    must(machine->level_count >= 1 && machine->level_count <= PSNAP_LEVELS_MAX && machine->name[0]);
    for (uint32_t i = 0; i < machine->level_count; i++) {
        const struct psnap_cache_level *level = &machine->levels[i];

        must(level->sets && level->sets * level->ways * level->line_bytes == level->size_bytes);
        must(!(level->line_bytes & (level->line_bytes - 1)));
        must(level->replacement != PSNAP_REPLACE_PLRU || !(level->ways & (level->ways - 1)));
        must(!level->seed || level->replacement == PSNAP_REPLACE_RANDOM);
        must(level->prefetch.degree <= PSNAP_PREFETCH_DEGREE_MAX);
        must(!level->prefetch.entries || (level->prefetch.degree && level->prefetch.distance));
        lines += level->sets * level->ways;
        line_bytes = level->line_bytes > line_bytes ? level->line_bytes : line_bytes;
    }
    must(machine->tlb_level_count <= PSNAP_TLB_LEVELS_MAX);
    for (uint32_t i = 0; i < machine->tlb_level_count; i++) {
        const struct psnap_tlb_level *level = &machine->tlb[i];

        must(level->sets && level->sets * level->ways == level->entries);
        must(!(level->page_bytes & (level->page_bytes - 1)));
        lines += level->entries;
    }
    if (lines < 1 << 16 && line_bytes < 1 << 16)
        simulate(machine);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct psnap_machine machine;
    struct psnap_error error;
    char *text = strndup((const char *)data, size);

    must(text != NULL);
    if (psnap_machine_parse_inline(text, &machine, &error) == PSNAP_OK)
        check(&machine);
    if (size) {
        FILE *file = open_text(data, size);
        if (psnap_machine_read(file, "fuzz", &machine, &error) == PSNAP_OK)
            check(&machine);
        fclose(file);
    }
    free(text);
    return 0;
}
