/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A machine that is written as a machine file is read back as the same machine, whatever of it is
 * known.
 */
#include "test_random_machines.h"

static char *written(const struct psnap_machine *machine)
{
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);

    assert_non_null(file);
    assert_int_equal(psnap_machine_write(machine, file, NULL), PSNAP_OK);
    assert_int_equal(fclose(file), 0);
    return text;
}

static void read_back(char *text, struct psnap_machine *machine)
{
    FILE *file = fmemopen(text, strlen(text), "r");
    struct psnap_error error;

    assert_non_null(file);
    if (psnap_machine_read(file, "dir/from-file.yaml", machine, &error) != PSNAP_OK)
        fail_msg("%s: %s", error.message, text);
    fclose(file);
}

static double random_figure(struct psnap_rng *rng)
{
    return pick(rng, 0, 2) ? (double)pick(rng, 1, 1 << 20) / (double)pick(rng, 1, 1000) : 0;
}

static void random_times(struct psnap_rng *rng, struct psnap_machine *machine)
{
    machine->clock_hz = 1e3 * random_figure(rng);
    machine->cores = (uint32_t)pick(rng, 0, 64);
    machine->memory_latency_cycles = random_figure(rng);
    machine->memory_throughput_cycles = random_figure(rng);
    machine->memory_bandwidth_bytes_per_s = 1e6 * random_figure(rng);
    machine->first_touch_cycles = random_figure(rng);
    machine->mispredict_cycles = random_figure(rng);
    machine->coherent = pick(rng, 0, 1);
    for (uint32_t i = 0; i < machine->level_count; i++) {
        struct psnap_cache_level *level = &machine->levels[i];
        level->write_through = pick(rng, 0, 1);
        level->no_write_allocate = pick(rng, 0, 1);
        level->victim_lines = (uint32_t)pick(rng, 0, 2);
        level->prefetch.next_lines = (uint32_t)pick(rng, 0, 2);
        if (i && level->line_bytes == level[-1].line_bytes && !level[-1].no_write_allocate)
            level->inclusion = PSNAP_EXCLUSIVE;
    }
    for (int i = 0; i < PSNAP_MATH_FUNCTION_COUNT; i++)
        machine->function_cycles[i] = random_figure(rng);
    machine->parallel =
        (struct psnap_parallel_cost){random_figure(rng), random_figure(rng), random_figure(rng)};
    for (int i = 0; i < PSNAP_OPERATION_COUNT; i++)
        machine->operations[i] =
            (struct psnap_operation_cost){random_figure(rng), random_figure(rng)};
    for (uint32_t i = 0; i < machine->level_count; i++) {
        machine->levels[i].latency_cycles = random_figure(rng);
        machine->levels[i].throughput_cycles = random_figure(rng);
        machine->levels[i].bandwidth_bytes_per_s = 1e6 * random_figure(rng);
        machine->levels[i].shared_by = (uint32_t)pick(rng, 1, 4);
    }
}

TEST(random_machines_come_back)
{
    struct psnap_rng rng;

    psnap_rng_init(&rng, 7);
    for (int i = 0; i < 500; i++) {
        struct psnap_machine machine, again;
        char *text;

        random_machine(&rng, &machine, 4096);
        if (i % 3)
            random_times(&rng, &machine);
        for (uint32_t level = 0; level < machine.level_count; level++)
            machine.levels[level].shared_by += !machine.levels[level].shared_by;
        for (uint32_t level = 0; level < machine.level_count && i % 4 == 1; level++)
            snprintf(machine.levels[level].name, sizeof machine.levels[level].name, "%s%u",
                     level % 2 ? "LLC: #" : "L", (unsigned)level);
        strcpy(machine.source, i % 5 ? "" : "a manual, 'table 2', 2024");
        strcpy(machine.description, i % 2 ? "a: 'b' # \"c\", {d}" : "");
        text = written(&machine);
        read_back(text, &again);
        if (memcmp(&machine, &again, sizeof machine) != 0)
            fail_msg("machine %d is another: %s", i, text);
        free(text);
    }
}

TEST(bundled_machines_come_back)
{
    const struct psnap_machine *bundled;

    for (size_t i = 0; (bundled = psnap_machine_bundled(i)); i++) {
        struct psnap_machine machine = *bundled, again;
        char *text = written(bundled);

        for (uint32_t level = 0; level < machine.level_count; level++)
            machine.levels[level].shared_by += !machine.levels[level].shared_by;
        read_back(text, &again);
        assert_memory_equal(&machine, &again, sizeof machine);
        free(text);
    }
}

TEST(what_is_unknown_is_left_out)
{
    struct psnap_machine machine = {
        .level_count = 1, .levels = {{.size_bytes = 3 << 10, .line_bytes = 64, .ways = 3}}};
    char *text;

    machine.operations[PSNAP_OP_CALL].throughput_cycles = 2;
    text = written(&machine);
    assert_string_equal(text, "machine:\n"
                              "  levels:\n"
                              "  - size_bytes: 3K\n"
                              "    line_bytes: 64\n"
                              "    ways: 3\n"
                              "  operations:\n"
                              "    call: {throughput_cycles: 2}\n");
    read_back(text, &machine);
    assert_string_equal(machine.name, "from-file");
    free(text);
}

TEST(a_full_disk_is_an_error)
{
    struct psnap_error error;
    FILE *file = fopen("/dev/full", "w");

    if (!file)
        skip();
    setvbuf(file, NULL, _IONBF, 0);
    assert_int_not_equal(psnap_machine_write(psnap_machine_bundled(0), file, &error), PSNAP_OK);
    assert_true(error.message[0]);
    fclose(file);
}
