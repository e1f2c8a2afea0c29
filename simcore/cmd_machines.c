/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * psnap machines: the machines that are built in, one line each; with a name
 * (or anything else that a MACHINE may be) the whole description.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "formats/base/cmd.h"
#include "formats/base/yaml.h"
#include "simcore/cmd_machines.h"
#include "simcore/machine.h"
#include "simcore/scope.h"

static void list_machines(void)
{
    static const char *const headings[] = {"name", "levels (size:line:ways)", "description"};
    struct psnap_table *table = psnap_table_new(3, headings);
    const struct psnap_machine *machine;
    struct psnap_machine host;
    struct psnap_error error;
    char shape[512];

    for (size_t i = 0; (machine = psnap_machine_bundled(i)); i++) {
        psnap_table_cell(table, "%s", machine->name);
        psnap_table_cell(table, "%s", scope_machine_shape(machine, shape, sizeof shape));
        psnap_table_cell(table, "%s", machine->description);
    }
    if (psnap_machine_host(NULL, &host, &error) == PSNAP_OK) {
        psnap_table_cell(table, "host");
        psnap_table_cell(table, "%s", scope_machine_shape(&host, shape, sizeof shape));
        psnap_table_cell(table, "%s", host.description);
    }
    psnap_table_print(table, stdout);
    psnap_table_free(table);
}

static void print_known(double value, const char *unit)
{
    if (value > 0)
        psnap_print(stdout, ", %g %s", value, unit);
}

static void print_times(double latency_cycles, double throughput_cycles)
{
    print_known(latency_cycles, "cycles");
    print_known(throughput_cycles, "cycles when nothing waits");
}

static void print_operations(const struct psnap_machine *machine)
{
    for (int i = 0; i < PSNAP_OPERATION_COUNT; i++) {
        const struct psnap_operation_cost *cost = &machine->operations[i];

        if (!machine_knows_operation(cost))
            continue;
        psnap_print(stdout, "  %s", machine_operation_names[i]);
        print_times(cost->latency_cycles, cost->throughput_cycles);
        putchar('\n');
    }
}

static void print_functions(const double cycles[PSNAP_MATH_FUNCTION_COUNT])
{
    const char *before = "  functions, cycles: ";

    for (int i = 0; i < PSNAP_MATH_FUNCTION_COUNT; i++) {
        if (!(cycles[i] > 0))
            continue;
        psnap_print(stdout, "%s%s %g", before, machine_function_names[i], cycles[i]);
        before = ", ";
    }
    if (machine_knows_functions(cycles))
        putchar('\n');
}

static void print_policy(const struct psnap_cache_level *level)
{
    const struct psnap_prefetch *prefetch = &level->prefetch;

    if (level->replacement != PSNAP_REPLACE_LRU)
        psnap_print(stdout, ", %s", psnap_replacement_name(level->replacement));
    if (level->index != PSNAP_INDEX_MODULO)
        psnap_print(stdout, ", index %s", psnap_set_index_name(level->index));
    if (level->replacement == PSNAP_REPLACE_RANDOM)
        printf(" (seed %" PRIu64 ")", level->seed);
    if (level->inclusion != PSNAP_NON_INCLUSIVE)
        psnap_print(stdout, ", %s", psnap_inclusion_name(level->inclusion));
    if (level->write_through)
        printf(", writes through");
    if (level->no_write_allocate)
        printf(", stores do not allocate");
    if (level->victim_lines)
        psnap_print(stdout, ", victim cache of %" PRIu32 " line%s", level->victim_lines,
                    level->victim_lines == 1 ? "" : "s");
    if (prefetch->next_lines)
        psnap_print(stdout, ", prefetches %" PRIu32 " next line%s", prefetch->next_lines,
                    prefetch->next_lines == 1 ? "" : "s");
    if (prefetch->entries)
        psnap_print(stdout,
                    ", stride prefetcher (%" PRIu32 " entr%s, degree %" PRIu32 ", distance %" PRIu32
                    ")",
                    prefetch->entries, prefetch->entries == 1 ? "y" : "ies", prefetch->degree,
                    prefetch->distance);
}

static void print_tlb(const struct psnap_machine *machine)
{
    for (uint32_t i = 0; i < machine->tlb_level_count; i++) {
        const struct psnap_tlb_level *level = &machine->tlb[i];
        char digits[32];

        psnap_print(stdout,
                    "  %s: %" PRIu64 " entr%s, pages of %s bytes, %" PRIu64 " way%s, %" PRIu64
                    " set%s\n",
                    scope_tlb_name(i), level->entries, level->entries == 1 ? "y" : "ies",
                    psnap_group_digits(level->page_bytes, digits), level->ways,
                    level->ways == 1 ? "" : "s", level->sets, level->sets == 1 ? "" : "s");
    }
}

void machines_describe(const struct psnap_machine *machine)
{
    psnap_print(stdout, "%s\n", machine->name);
    if (machine->description[0])
        psnap_print(stdout, "  %s\n", machine->description);
    if (machine->source[0])
        psnap_print(stdout, "  source: %s\n", machine->source);
    if (machine->clock_hz > 0)
        printf("  clock %g GHz\n", machine->clock_hz / 1e9);
    if (machine->coherent)
        printf("  stores take lines from other cores' caches\n");
    if (machine->cores)
        printf("  cores %" PRIu32 "\n", machine->cores);
    for (uint32_t i = 0; i < machine->level_count; i++) {
        const struct psnap_cache_level *level = &machine->levels[i];
        char digits[32];

        psnap_print(stdout,
                    "  level %" PRIu32 "%s%s: %s bytes, lines of %" PRIu64 " bytes, %" PRIu64
                    " way%s, %" PRIu64 " set%s",
                    i + 1, level->name[0] ? ", " : "", level->name,
                    psnap_group_digits(level->size_bytes, digits), level->line_bytes, level->ways,
                    level->ways == 1 ? "" : "s", level->sets, level->sets == 1 ? "" : "s");
        print_policy(level);
        print_times(level->latency_cycles, level->throughput_cycles);
        print_known(level->bandwidth_bytes_per_s, "bytes/s");
        if (level->effective_bytes)
            psnap_print(stdout, ", of which one core keeps %s bytes",
                        psnap_group_digits(level->effective_bytes, digits));
        if (level->shared_by > 1)
            printf(", shared by %" PRIu32 " cores", level->shared_by);
        putchar('\n');
    }
    print_tlb(machine);
    if (machine_knows_memory(machine)) {
        printf("  memory");
        print_times(machine->memory_latency_cycles, machine->memory_throughput_cycles);
        print_known(machine->memory_bandwidth_bytes_per_s, "bytes/s");
        print_known(machine->first_touch_cycles, "cycles for 4 KiB touched first");
        putchar('\n');
    }
    if (machine->mispredict_cycles > 0)
        printf("  mispredicted branch, %g cycles\n", machine->mispredict_cycles);
    print_operations(machine);
    print_functions(machine->function_cycles);
    if (machine_knows_parallel(&machine->parallel)) {
        printf("  parallel section");
        print_known(machine->parallel.alone_cycles, "cycles with one thread");
        print_known(machine->parallel.section_cycles, "cycles with two");
        print_known(machine->parallel.barrier_cycles, "cycles for a barrier");
        putchar('\n');
    }
}

void machines_json(struct psnap_json *json, const char *key, const struct psnap_machine *machine)
{
    struct psnap_yaml_doc *doc = psnap_yaml_doc_new("machine");
    const struct psnap_yaml_node *map =
        doc ? psnap_machine_add(machine, doc, psnap_yaml_add_map(doc, NULL, NULL, PSNAP_YAML_BLOCK))
            : NULL;

    psnap_json_begin_object(json, key);
    for (const struct psnap_yaml_node *node = map ? map->first : NULL; node; node = node->next)
        psnap_cmd_json_node(json, node);
    psnap_json_end_object(json);
    psnap_yaml_doc_free(doc);
}

static void print_json(const struct psnap_machine *one)
{
    struct psnap_json json;
    struct psnap_machine host;
    const struct psnap_machine *machine;

    psnap_cmd_begin_json(&json, stdout, "machines");
    psnap_json_begin_array(&json, "machines");
    if (one) {
        machines_json(&json, NULL, one);
    } else {
        for (size_t i = 0; (machine = psnap_machine_bundled(i)); i++)
            machines_json(&json, NULL, machine);
        if (psnap_machine_host(NULL, &host, NULL) == PSNAP_OK)
            machines_json(&json, NULL, &host);
    }
    psnap_json_end_array(&json);
    psnap_json_end_object(&json);
    putchar('\n');
}

int psnap_cmd_machines(int argc, char **argv)
{
    bool json = false, yaml = false, schema = false;
    const struct psnap_option options[] = {
        {PSNAP_OPTION_FLAG, 0, "json", &json, NULL, "print JSON"},
        {PSNAP_OPTION_FLAG, 0, "yaml", &yaml, NULL, "print the MACHINE as a machine file"},
        {PSNAP_OPTION_FLAG, 0, "schema", &schema, NULL, "print the JSON schema of machine files"},
        {PSNAP_OPTION_END, 0, NULL, NULL, NULL, NULL},
    };
    const struct psnap_usage usage = {
        "psnap machines [MACHINE] [--json|--yaml] | --schema",
        "Lists the machines that are built in. With a MACHINE (a name of the list, a\n"
        "machine file, or a form like 32K:64:8,1M:64:16) it describes that one; with\n"
        "--yaml as a file to change and use.",
        options};
    struct psnap_machine machine;
    struct psnap_error error;
    int status;
    const int operands = psnap_options_parse(argc, argv, &usage, false, &status);

    if (operands < 0)
        return status;
    if (operands > 1)
        return psnap_cmd_usage("machines", "one machine at most, not %d", operands);
    if (json + yaml + schema > 1 || (schema && operands))
        return psnap_cmd_usage("machines", "one of --json, --yaml and, alone, --schema");
    if (yaml && !operands)
        return psnap_cmd_usage("machines", "--yaml is of one machine");
    if (operands == 1 && psnap_machine_find(argv[1], &machine, &error) != PSNAP_OK)
        return psnap_cmd_fail("machines", &error);
    if (yaml && psnap_machine_write(&machine, stdout, &error) != PSNAP_OK)
        return psnap_cmd_fail("machines", &error);
    if (yaml)
        return psnap_cmd_close_stdout("machines", PSNAP_EXIT_DONE);
    if (schema)
        fputs((const char *)machines_schema, stdout);
    else if (json)
        print_json(operands ? &machine : NULL);
    else if (operands)
        machines_describe(&machine);
    else
        list_machines();
    return psnap_cmd_close_stdout("machines", PSNAP_EXIT_DONE);
}
