/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A machine as a machine file, which reads back as the same machine. What is unknown, or what
 * readers take when a key is absent, is left out.
 */
#include "simcore/machine.h"

#include <inttypes.h>

#include "formats/base/yaml.h"

static void add_known(struct psnap_yaml_doc *doc, struct psnap_yaml_node *map, const char *key,
                      double value)
{
    if (value > 0)
        psnap_yaml_add_real(doc, map, key, value);
}

/* "32K", or bytes where no unit divides them. */
static void add_size(struct psnap_yaml_doc *doc, struct psnap_yaml_node *map, const char *key,
                     uint64_t bytes)
{
    static const char units[] = {'T', 'G', 'M', 'K'};
    struct psnap_yaml_node *node;
    char text[32];

    for (int i = 0; i < 4; i++) {
        const unsigned shift = 10 * (4 - (unsigned)i);

        if (bytes >> shift << shift == bytes) {
            snprintf(text, sizeof text, "%" PRIu64 "%c", bytes >> shift, units[i]);
            node = psnap_yaml_add_text(doc, map, key, text);
            if (node)
                node->quoted = false; /* a size, not a text */
            return;
        }
    }
    psnap_yaml_add_u64(doc, map, key, bytes);
}

static void add_level(struct psnap_yaml_doc *doc, struct psnap_yaml_node *levels,
                      const struct psnap_cache_level *level)
{
    struct psnap_yaml_node *map = psnap_yaml_add_map(doc, levels, NULL, PSNAP_YAML_BLOCK);

    if (level->name[0])
        psnap_yaml_add_text(doc, map, "name", level->name);
    add_size(doc, map, "size_bytes", level->size_bytes);
    psnap_yaml_add_u64(doc, map, "line_bytes", level->line_bytes);
    psnap_yaml_add_u64(doc, map, "ways", level->ways);
    if (level->replacement != PSNAP_REPLACE_LRU)
        psnap_yaml_add_text(doc, map, "replacement", psnap_replacement_name(level->replacement));
    if (level->index != PSNAP_INDEX_MODULO)
        psnap_yaml_add_text(doc, map, "index", psnap_set_index_name(level->index));
    if (level->inclusion != PSNAP_NON_INCLUSIVE)
        psnap_yaml_add_text(doc, map, "inclusion", psnap_inclusion_name(level->inclusion));
    if (level->write_through)
        psnap_yaml_add_text(doc, map, "write", "through");
    if (level->no_write_allocate)
        psnap_yaml_add_text(doc, map, "write_allocate", "no");
    if (level->victim_lines)
        psnap_yaml_add_u64(doc, map, "victim_lines", level->victim_lines);
    if (level->seed)
        psnap_yaml_add_u64(doc, map, "seed", level->seed);
    if (level->prefetch.entries || level->prefetch.next_lines) {
        struct psnap_yaml_node *prefetch =
            psnap_yaml_add_map(doc, map, "prefetch", PSNAP_YAML_FLOW);

        if (level->prefetch.next_lines)
            psnap_yaml_add_u64(doc, prefetch, "next_lines", level->prefetch.next_lines);
    }
    if (level->prefetch.entries) {
        struct psnap_yaml_node *prefetch = psnap_yaml_get(map, "prefetch");

        psnap_yaml_add_u64(doc, prefetch, "entries", level->prefetch.entries);
        psnap_yaml_add_u64(doc, prefetch, "degree", level->prefetch.degree);
        psnap_yaml_add_u64(doc, prefetch, "distance", level->prefetch.distance);
    }
    add_known(doc, map, "latency_cycles", level->latency_cycles);
    add_known(doc, map, "throughput_cycles", level->throughput_cycles);
    add_known(doc, map, "bandwidth_bytes_per_s", level->bandwidth_bytes_per_s);
    if (level->effective_bytes)
        add_size(doc, map, "effective_bytes", level->effective_bytes);
    if (level->shared_by > 1)
        psnap_yaml_add_u64(doc, map, "shared_by", level->shared_by);
}

static void add_tlb(struct psnap_yaml_doc *doc, struct psnap_yaml_node *machine_map,
                    const struct psnap_machine *machine)
{
    struct psnap_yaml_node *tlb;

    if (!machine->tlb_level_count)
        return;
    tlb = psnap_yaml_add_sequence(doc, machine_map, "tlb", PSNAP_YAML_BLOCK);
    for (uint32_t i = 0; i < machine->tlb_level_count; i++) {
        struct psnap_yaml_node *map = psnap_yaml_add_map(doc, tlb, NULL, PSNAP_YAML_FLOW);

        psnap_yaml_add_u64(doc, map, "entries", machine->tlb[i].entries);
        add_size(doc, map, "page_bytes", machine->tlb[i].page_bytes);
        psnap_yaml_add_u64(doc, map, "ways", machine->tlb[i].ways);
    }
}

static void add_memory(struct psnap_yaml_doc *doc, struct psnap_yaml_node *machine_map,
                       const struct psnap_machine *machine)
{
    struct psnap_yaml_node *map;

    if (!machine_knows_memory(machine))
        return;
    map = psnap_yaml_add_map(doc, machine_map, "memory", PSNAP_YAML_BLOCK);
    add_known(doc, map, "latency_cycles", machine->memory_latency_cycles);
    add_known(doc, map, "throughput_cycles", machine->memory_throughput_cycles);
    add_known(doc, map, "bandwidth_bytes_per_s", machine->memory_bandwidth_bytes_per_s);
    add_known(doc, map, "first_touch_cycles", machine->first_touch_cycles);
}

static void add_operations(struct psnap_yaml_doc *doc, struct psnap_yaml_node *machine_map,
                           const struct psnap_machine *machine)
{
    struct psnap_yaml_node *operations = NULL;

    for (int i = 0; i < PSNAP_OPERATION_COUNT; i++) {
        const struct psnap_operation_cost *cost = &machine->operations[i];
        struct psnap_yaml_node *map;

        if (!machine_knows_operation(cost))
            continue;
        if (!operations)
            operations = psnap_yaml_add_map(doc, machine_map, "operations", PSNAP_YAML_BLOCK);
        map = psnap_yaml_add_map(doc, operations, machine_operation_names[i], PSNAP_YAML_FLOW);
        add_known(doc, map, "latency_cycles", cost->latency_cycles);
        add_known(doc, map, "throughput_cycles", cost->throughput_cycles);
    }
}

static void add_functions(struct psnap_yaml_doc *doc, struct psnap_yaml_node *machine_map,
                          const double cycles[PSNAP_MATH_FUNCTION_COUNT])
{
    struct psnap_yaml_node *map;

    if (!machine_knows_functions(cycles))
        return;
    map = psnap_yaml_add_map(doc, machine_map, "function_cycles", PSNAP_YAML_FLOW);
    for (int i = 0; i < PSNAP_MATH_FUNCTION_COUNT; i++)
        add_known(doc, map, machine_function_names[i], cycles[i]);
}

static void add_parallel(struct psnap_yaml_doc *doc, struct psnap_yaml_node *machine_map,
                         const struct psnap_parallel_cost *cost)
{
    struct psnap_yaml_node *map;

    if (!machine_knows_parallel(cost))
        return;
    map = psnap_yaml_add_map(doc, machine_map, "parallel", PSNAP_YAML_FLOW);
    add_known(doc, map, "alone_cycles", cost->alone_cycles);
    add_known(doc, map, "section_cycles", cost->section_cycles);
    add_known(doc, map, "barrier_cycles", cost->barrier_cycles);
}

struct psnap_yaml_node *psnap_machine_add(const struct psnap_machine *machine,
                                          struct psnap_yaml_doc *doc,
                                          struct psnap_yaml_node *parent)
{
    struct psnap_yaml_node *map = psnap_yaml_add_map(doc, parent, "machine", PSNAP_YAML_BLOCK);
    struct psnap_yaml_node *levels;

    if (machine->name[0])
        psnap_yaml_add_text(doc, map, "name", machine->name);
    if (machine->description[0])
        psnap_yaml_add_text(doc, map, "description", machine->description);
    if (machine->source[0])
        psnap_yaml_add_text(doc, map, "source", machine->source);
    if (machine->coherent)
        psnap_yaml_add_text(doc, map, "coherence", "invalidate");
    add_known(doc, map, "clock_hz", machine->clock_hz);
    if (machine->cores)
        psnap_yaml_add_u64(doc, map, "cores", machine->cores);
    levels = psnap_yaml_add_sequence(doc, map, "levels", PSNAP_YAML_BLOCK);
    for (uint32_t i = 0; i < machine->level_count; i++)
        add_level(doc, levels, &machine->levels[i]);
    add_tlb(doc, map, machine);
    add_memory(doc, map, machine);
    add_known(doc, map, "mispredict_cycles", machine->mispredict_cycles);
    add_operations(doc, map, machine);
    add_functions(doc, map, machine->function_cycles);
    add_parallel(doc, map, &machine->parallel);
    return map;
}

enum psnap_status psnap_machine_write(const struct psnap_machine *machine, FILE *file,
                                      struct psnap_error *error)
{
    struct psnap_yaml_doc *doc = psnap_yaml_doc_new("machine");
    enum psnap_status status;

    if (!doc)
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    psnap_machine_add(machine, doc, psnap_yaml_add_map(doc, NULL, NULL, PSNAP_YAML_BLOCK));
    status = psnap_yaml_write(doc, file, error);
    psnap_yaml_doc_free(doc);
    return status;
}
