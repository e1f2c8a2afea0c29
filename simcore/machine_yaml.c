/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Machine files. MACHINES.md documents every key; unknown keys are errors, and
 * every error names file, line and column. What only later models need
 * (latencies, bandwidths, clock, cores) is checked and kept.
 */
#include "simcore/machine.h"

#include <string.h>

#include "formats/base/text.h"
#include "formats/base/yaml.h"

#define PREFETCH_ENTRIES 256 /* of a prefetcher that does not say how many */
#define PAGE_BYTES 4096      /* of a TLB that does not say */

struct reader {
    const struct psnap_yaml_doc *doc;
    struct psnap_error *error;
};

static enum psnap_status read_real(const struct reader *reader, const struct psnap_yaml_node *map,
                                   const char *key, double high, double *value)
{
    const struct psnap_yaml_node *node = psnap_yaml_get(map, key);

    return node ? psnap_yaml_real(reader->doc, node, 0, high, value, reader->error) : PSNAP_OK;
}

static enum psnap_status read_name(const struct reader *reader, const struct psnap_yaml_node *map,
                                   const char *key, char *field, size_t room)
{
    const struct psnap_yaml_node *node = psnap_yaml_get(map, key);
    const char *text;
    enum psnap_status status;

    if (!node)
        return PSNAP_OK;
    status = psnap_yaml_text(reader->doc, node, &text, reader->error);
    if (status != PSNAP_OK)
        return status;
    if (!*text || strlen(text) >= room || strchr(text, '\n'))
        return psnap_yaml_fail(reader->doc, node, reader->error, PSNAP_ERROR_VALUE,
                               "%s must be one line of 1 to %zu bytes", key, room - 1);
    strcpy(field, text);
    return PSNAP_OK;
}

static enum psnap_status needed(const struct reader *reader, const struct psnap_yaml_node *map,
                                const char *key)
{
    return psnap_yaml_fail(reader->doc, map, reader->error, PSNAP_ERROR_VALUE, "a level needs %s",
                           key);
}

/* A small number; what it was when the key is absent. */
static enum psnap_status read_count(const struct reader *reader, const struct psnap_yaml_node *map,
                                    const char *key, uint32_t high, uint32_t *value)
{
    const struct psnap_yaml_node *node = psnap_yaml_get(map, key);
    uint64_t count = *value;
    enum psnap_status status = PSNAP_OK;

    if (node)
        status = psnap_yaml_u64(reader->doc, node, 1, high, &count, reader->error);
    *value = (uint32_t)count;
    return status;
}

static enum psnap_status read_needed_size(const struct reader *reader,
                                          const struct psnap_yaml_node *map, const char *key,
                                          uint64_t high, uint64_t *value)
{
    const struct psnap_yaml_node *node = psnap_yaml_get(map, key);

    if (!node)
        return needed(reader, map, key);
    return psnap_yaml_size(reader->doc, node, 1, high, value, reader->error);
}

/* A count: it takes no unit. */
static enum psnap_status read_ways(const struct reader *reader, const struct psnap_yaml_node *map,
                                   struct psnap_cache_level *level)
{
    const struct psnap_yaml_node *node = psnap_yaml_get(map, "ways");

    if (!node)
        return needed(reader, map, "ways");
    if (node->kind == PSNAP_YAML_SCALAR && !strcmp(node->text, "full")) {
        level->ways = level->size_bytes / level->line_bytes;
        return PSNAP_OK;
    }
    return psnap_yaml_u64(reader->doc, node, 1, PSNAP_LEVEL_LINES_MAX, &level->ways, reader->error);
}

static enum psnap_status read_replacement(const struct reader *reader,
                                          const struct psnap_yaml_node *map,
                                          struct psnap_cache_level *level)
{
    const struct psnap_yaml_node *node = psnap_yaml_get(map, "replacement");
    const struct psnap_yaml_node *seed = psnap_yaml_get(map, "seed");
    const char *text;
    enum psnap_status status = PSNAP_OK;

    if (node)
        status = psnap_yaml_text(reader->doc, node, &text, reader->error);
    if (status == PSNAP_OK && node && !machine_replacement_parse(text, &level->replacement))
        return psnap_yaml_fail(reader->doc, node, reader->error, PSNAP_ERROR_VALUE,
                               "replacement is lru, plru, random, fifo or srrip, not '%.100s'",
                               text);
    if (status != PSNAP_OK || !seed)
        return status;
    if (level->replacement != PSNAP_REPLACE_RANDOM) /* a seed of 0 would pass for none later on */
        return psnap_yaml_fail(reader->doc, seed, reader->error, PSNAP_ERROR_VALUE,
                               "a seed is for random replacement, not %s",
                               psnap_replacement_name(level->replacement));
    return psnap_yaml_u64(reader->doc, seed, 0, UINT64_MAX, &level->seed, reader->error);
}

static enum psnap_status read_index(const struct reader *reader, const struct psnap_yaml_node *map,
                                    enum psnap_set_index *index)
{
    const struct psnap_yaml_node *node = psnap_yaml_get(map, "index");
    const char *text;
    enum psnap_status status = PSNAP_OK;

    if (node)
        status = psnap_yaml_text(reader->doc, node, &text, reader->error);
    if (status == PSNAP_OK && node && !machine_index_parse(text, index))
        return psnap_yaml_fail(reader->doc, node, reader->error, PSNAP_ERROR_VALUE,
                               "index is modulo or xor, not '%.100s'", text);
    return status;
}

/* One of two words, of which the second sets *is_second; absent is the first. */
static enum psnap_status read_choice(const struct reader *reader, const struct psnap_yaml_node *map,
                                     const char *key, const char *first, const char *second,
                                     bool *is_second)
{
    const struct psnap_yaml_node *node = psnap_yaml_get(map, key);
    const char *text = first;
    enum psnap_status status =
        node ? psnap_yaml_text(reader->doc, node, &text, reader->error) : PSNAP_OK;

    *is_second = status == PSNAP_OK && !strcmp(text, second);
    if (status == PSNAP_OK && !*is_second && strcmp(text, first) != 0)
        return psnap_yaml_fail(reader->doc, node, reader->error, PSNAP_ERROR_VALUE,
                               "%s is %s or %s, not '%.100s'", key, first, second, text);
    return status;
}

/* What a level does for others: inclusion, writes, victims. */
static enum psnap_status read_manners(const struct reader *reader,
                                      const struct psnap_yaml_node *map,
                                      struct psnap_cache_level *level)
{
    const struct psnap_yaml_node *node = psnap_yaml_get(map, "inclusion");
    const char *text;
    enum psnap_status status = PSNAP_OK;

    if (node)
        status = psnap_yaml_text(reader->doc, node, &text, reader->error);
    if (status == PSNAP_OK && node && !machine_inclusion_parse(text, &level->inclusion))
        return psnap_yaml_fail(reader->doc, node, reader->error, PSNAP_ERROR_VALUE,
                               "inclusion is non-inclusive, inclusive or exclusive, not '%.100s'",
                               text);
    if (status == PSNAP_OK)
        status = read_choice(reader, map, "write", "back", "through", &level->write_through);
    if (status == PSNAP_OK)
        status = read_choice(reader, map, "write_allocate", "yes", "no", &level->no_write_allocate);
    if (status == PSNAP_OK)
        status =
            read_count(reader, map, "victim_lines", PSNAP_VICTIM_LINES_MAX, &level->victim_lines);
    return status;
}

static enum psnap_status read_prefetch(const struct reader *reader,
                                       const struct psnap_yaml_node *node,
                                       struct psnap_prefetch *prefetch)
{
    static const char *const keys[] = {"entries", "degree", "distance", "next_lines", NULL};
    enum psnap_status status;

    if (!node)
        return PSNAP_OK;
    if (!psnap_yaml_get(node, "next_lines") || psnap_yaml_get(node, "entries") ||
        psnap_yaml_get(node, "degree") || psnap_yaml_get(node, "distance"))
        *prefetch = (struct psnap_prefetch){PREFETCH_ENTRIES, 1, 1, 0};
    status = psnap_yaml_expect(reader->doc, node, PSNAP_YAML_MAP, "prefetch", reader->error);
    if (status == PSNAP_OK)
        status = psnap_yaml_known_keys(reader->doc, node, keys, reader->error);
    if (status == PSNAP_OK)
        status =
            read_count(reader, node, "entries", PSNAP_PREFETCH_ENTRIES_MAX, &prefetch->entries);
    if (status == PSNAP_OK)
        status = read_count(reader, node, "degree", PSNAP_PREFETCH_DEGREE_MAX, &prefetch->degree);
    if (status == PSNAP_OK)
        status =
            read_count(reader, node, "distance", PSNAP_PREFETCH_DISTANCE_MAX, &prefetch->distance);
    if (status == PSNAP_OK)
        status =
            read_count(reader, node, "next_lines", PSNAP_NEXT_LINES_MAX, &prefetch->next_lines);
    return status;
}

static enum psnap_status read_times(const struct reader *reader, const struct psnap_yaml_node *map,
                                    double *latency_cycles, double *throughput_cycles)
{
    const enum psnap_status status = read_real(reader, map, "latency_cycles", 1e9, latency_cycles);

    return status ? status : read_real(reader, map, "throughput_cycles", 1e9, throughput_cycles);
}

static enum psnap_status read_effective(const struct reader *reader,
                                        const struct psnap_yaml_node *map,
                                        struct psnap_cache_level *level)
{
    const struct psnap_yaml_node *node = psnap_yaml_get(map, "effective_bytes");

    return node ? psnap_yaml_size(reader->doc, node, level->line_bytes, level->size_bytes,
                                  &level->effective_bytes, reader->error)
                : PSNAP_OK;
}

static enum psnap_status read_level(const struct reader *reader, const struct psnap_yaml_node *node,
                                    struct psnap_cache_level *level)
{
    static const char *const keys[] = {"name",
                                       "size_bytes",
                                       "line_bytes",
                                       "ways",
                                       "replacement",
                                       "index",
                                       "inclusion",
                                       "write",
                                       "write_allocate",
                                       "victim_lines",
                                       "seed",
                                       "prefetch",
                                       "latency_cycles",
                                       "throughput_cycles",
                                       "bandwidth_bytes_per_s",
                                       "effective_bytes",
                                       "shared_by",
                                       NULL};
    enum psnap_status status =
        psnap_yaml_expect_keys(reader->doc, node, "a level", keys, reader->error);

    if (status == PSNAP_OK)
        status = read_name(reader, node, "name", level->name, sizeof level->name);
    if (status == PSNAP_OK)
        status =
            read_needed_size(reader, node, "size_bytes", PSNAP_LEVEL_BYTES_MAX, &level->size_bytes);
    if (status == PSNAP_OK)
        status =
            read_needed_size(reader, node, "line_bytes", PSNAP_LINE_BYTES_MAX, &level->line_bytes);
    if (status == PSNAP_OK)
        status = read_ways(reader, node, level);
    if (status == PSNAP_OK)
        status = read_replacement(reader, node, level);
    if (status == PSNAP_OK)
        status = read_index(reader, node, &level->index);
    if (status == PSNAP_OK)
        status = read_manners(reader, node, level);
    if (status == PSNAP_OK)
        status = read_prefetch(reader, psnap_yaml_get(node, "prefetch"), &level->prefetch);
    if (status == PSNAP_OK)
        status = read_times(reader, node, &level->latency_cycles, &level->throughput_cycles);
    if (status == PSNAP_OK)
        status =
            read_real(reader, node, "bandwidth_bytes_per_s", 1e18, &level->bandwidth_bytes_per_s);
    if (status == PSNAP_OK)
        status = read_effective(reader, node, level);
    level->shared_by = 1;
    if (status == PSNAP_OK)
        status = read_count(reader, node, "shared_by", UINT32_MAX, &level->shared_by);
    return status;
}

static enum psnap_status read_memory(const struct reader *reader,
                                     const struct psnap_yaml_node *node,
                                     struct psnap_machine *machine)
{
    static const char *const keys[] = {"latency_cycles", "throughput_cycles",
                                       "bandwidth_bytes_per_s", "first_touch_cycles", NULL};
    enum psnap_status status;

    if (!node)
        return PSNAP_OK;
    status = psnap_yaml_expect_keys(reader->doc, node, "memory", keys, reader->error);
    if (status == PSNAP_OK)
        status = read_times(reader, node, &machine->memory_latency_cycles,
                            &machine->memory_throughput_cycles);
    if (status == PSNAP_OK)
        status = read_real(reader, node, "bandwidth_bytes_per_s", 1e18,
                           &machine->memory_bandwidth_bytes_per_s);
    if (status == PSNAP_OK)
        status = read_real(reader, node, "first_touch_cycles", 1e9, &machine->first_touch_cycles);
    return status;
}

static enum psnap_status read_operations(const struct reader *reader,
                                         const struct psnap_yaml_node *node,
                                         struct psnap_machine *machine)
{
    static const char *const keys[] = {"latency_cycles", "throughput_cycles", NULL};
    enum psnap_status status = node ? psnap_yaml_expect_keys(reader->doc, node, "operations",
                                                             machine_operation_names, reader->error)
                                    : PSNAP_OK;

    for (int i = 0; i < PSNAP_OPERATION_COUNT && node && status == PSNAP_OK; i++) {
        const struct psnap_yaml_node *cost = psnap_yaml_get(node, machine_operation_names[i]);

        if (cost)
            status = psnap_yaml_expect_keys(reader->doc, cost, machine_operation_names[i], keys,
                                            reader->error);
        if (cost && status == PSNAP_OK)
            status = read_times(reader, cost, &machine->operations[i].latency_cycles,
                                &machine->operations[i].throughput_cycles);
    }
    return status;
}

static enum psnap_status read_functions(const struct reader *reader,
                                        const struct psnap_yaml_node *node,
                                        double cycles[PSNAP_MATH_FUNCTION_COUNT])
{
    enum psnap_status status = node ? psnap_yaml_expect_keys(reader->doc, node, "function_cycles",
                                                             machine_function_names, reader->error)
                                    : PSNAP_OK;

    for (int i = 0; i < PSNAP_MATH_FUNCTION_COUNT && node && status == PSNAP_OK; i++)
        status = read_real(reader, node, machine_function_names[i], 1e9, &cycles[i]);
    return status;
}

static enum psnap_status read_parallel(const struct reader *reader,
                                       const struct psnap_yaml_node *node,
                                       struct psnap_parallel_cost *cost)
{
    static const char *const keys[] = {"alone_cycles", "section_cycles", "barrier_cycles", NULL};
    enum psnap_status status =
        node ? psnap_yaml_expect_keys(reader->doc, node, "parallel", keys, reader->error)
             : PSNAP_OK;

    if (node && status == PSNAP_OK)
        status = read_real(reader, node, "alone_cycles", 1e9, &cost->alone_cycles);
    if (node && status == PSNAP_OK)
        status = read_real(reader, node, "section_cycles", 1e9, &cost->section_cycles);
    if (node && status == PSNAP_OK)
        status = read_real(reader, node, "barrier_cycles", 1e9, &cost->barrier_cycles);
    return status;
}

static enum psnap_status read_tlb_level(const struct reader *reader,
                                        const struct psnap_yaml_node *node,
                                        struct psnap_tlb_level *level)
{
    static const char *const keys[] = {"entries", "page_bytes", "ways", NULL};
    const struct psnap_yaml_node *entries, *page_bytes, *ways;
    enum psnap_status status =
        psnap_yaml_expect(reader->doc, node, PSNAP_YAML_MAP, "a level of the TLB", reader->error);

    if (status == PSNAP_OK)
        status = psnap_yaml_known_keys(reader->doc, node, keys, reader->error);
    if (status != PSNAP_OK)
        return status;
    entries = psnap_yaml_get(node, "entries");
    page_bytes = psnap_yaml_get(node, "page_bytes");
    ways = psnap_yaml_get(node, "ways");
    if (!entries)
        return needed(reader, node, "entries");
    status = psnap_yaml_u64(reader->doc, entries, 1, PSNAP_LEVEL_LINES_MAX, &level->entries,
                            reader->error);
    level->page_bytes = PAGE_BYTES;
    if (status == PSNAP_OK && page_bytes)
        status = psnap_yaml_size(reader->doc, page_bytes, 1, PSNAP_LINE_BYTES_MAX,
                                 &level->page_bytes, reader->error);
    level->ways = level->entries;
    if (status == PSNAP_OK && ways &&
        !(ways->kind == PSNAP_YAML_SCALAR && !strcmp(ways->text, "full")))
        status = psnap_yaml_u64(reader->doc, ways, 1, PSNAP_LEVEL_LINES_MAX, &level->ways,
                                reader->error);
    return status;
}

static enum psnap_status read_tlb(const struct reader *reader, const struct psnap_yaml_node *tlb,
                                  struct psnap_machine *machine)
{
    enum psnap_status status;

    if (!tlb)
        return PSNAP_OK;
    status = psnap_yaml_expect(reader->doc, tlb, PSNAP_YAML_SEQUENCE, "tlb", reader->error);
    if (status != PSNAP_OK)
        return status;
    if (tlb->count == 0 || tlb->count > PSNAP_TLB_LEVELS_MAX)
        return psnap_yaml_fail(reader->doc, tlb, reader->error, PSNAP_ERROR_VALUE,
                               "a TLB has 1 or %d levels, not %zu", PSNAP_TLB_LEVELS_MAX,
                               tlb->count);
    for (const struct psnap_yaml_node *node = tlb->first; node && status == PSNAP_OK;
         node = node->next)
        status = read_tlb_level(reader, node, &machine->tlb[machine->tlb_level_count++]);
    return status;
}

/* The value that a check of the whole machine found fault with; its level where it is absent. */
static const struct psnap_yaml_node *faulty_node(const struct psnap_yaml_node *map,
                                                 const struct machine_fault *fault)
{
    static const char *const fields[] = {
        [MACHINE_SIZE_BYTES] = "size_bytes",
        [MACHINE_LINE_BYTES] = "line_bytes",
        [MACHINE_WAYS] = "ways",
        [MACHINE_REPLACEMENT] = "replacement",
        [MACHINE_INDEX] = "index",
        [MACHINE_INCLUSION] = "inclusion",
        [MACHINE_WRITE] = "write",
        [MACHINE_VICTIM_LINES] = "victim_lines",
        [MACHINE_SEED] = "seed",
        [MACHINE_PREFETCH] = "prefetch",
        [MACHINE_LEVEL_NAME] = "name",
        [MACHINE_TLB_ENTRIES] = "entries",
        [MACHINE_TLB_PAGE_BYTES] = "page_bytes",
        [MACHINE_TLB_WAYS] = "ways",
    };
    const struct psnap_yaml_node *level =
        psnap_yaml_get(map, fault->field > MACHINE_LEVELS ? "tlb" : "levels")->first;
    const struct psnap_yaml_node *node;

    for (uint32_t i = 0; i < fault->level; i++)
        level = level->next;
    node = psnap_yaml_get(level, fields[fault->field]);
    return node ? node : level;
}

static enum psnap_status read_levels(const struct reader *reader, const struct psnap_yaml_node *map,
                                     struct psnap_machine *machine)
{
    const struct psnap_yaml_node *levels = psnap_yaml_get(map, "levels");
    struct machine_fault fault;
    struct psnap_error cause;
    enum psnap_status status;

    if (!levels)
        return psnap_yaml_fail(reader->doc, map, reader->error, PSNAP_ERROR_VALUE,
                               "a machine needs levels");
    status = psnap_yaml_expect(reader->doc, levels, PSNAP_YAML_SEQUENCE, "levels", reader->error);
    if (status != PSNAP_OK)
        return status;
    if (levels->count == 0 || levels->count > PSNAP_LEVELS_MAX)
        return psnap_yaml_fail(reader->doc, levels, reader->error, PSNAP_ERROR_VALUE,
                               "a machine has 1 to %d levels, not %zu", PSNAP_LEVELS_MAX,
                               levels->count);
    for (const struct psnap_yaml_node *node = levels->first; node; node = node->next) {
        status = read_level(reader, node, &machine->levels[machine->level_count++]);
        if (status != PSNAP_OK)
            return status;
    }
    status = read_tlb(reader, psnap_yaml_get(map, "tlb"), machine);
    if (status != PSNAP_OK)
        return status;
    status = machine_check_levels(machine, &fault, &cause);
    if (status == PSNAP_OK)
        return PSNAP_OK;
    return psnap_yaml_fail(reader->doc, faulty_node(map, &fault), reader->error, status, "%s",
                           cause.message);
}

/* "machines/x.yaml" is machine x unless it says another name. */
static void name_after_file(const char *path, struct psnap_machine *machine)
{
    const char *base = psnap_text_base_name(path);
    const char *dot = strrchr(base, '.');
    size_t length = dot && dot > base ? (size_t)(dot - base) : strlen(base);

    snprintf(machine->name, sizeof machine->name, "%.*s", (int)length, base);
}

static enum psnap_status read_machine(const struct reader *reader,
                                      const struct psnap_yaml_node *map,
                                      struct psnap_machine *machine)
{
    static const char *const keys[] = {"name",       "description", "source",
                                       "clock_hz",   "cores",       "levels",
                                       "tlb",        "memory",      "mispredict_cycles",
                                       "operations", "parallel",    "function_cycles",
                                       "coherence",  NULL};
    enum psnap_status status = psnap_yaml_known_keys(reader->doc, map, keys, reader->error);

    if (status == PSNAP_OK)
        status = read_name(reader, map, "name", machine->name, sizeof machine->name);
    if (status == PSNAP_OK && !machine->name[0])
        name_after_file(psnap_yaml_name(reader->doc), machine);
    if (status == PSNAP_OK)
        status = read_name(reader, map, "description", machine->description,
                           sizeof machine->description);
    if (status == PSNAP_OK)
        status = read_name(reader, map, "source", machine->source, sizeof machine->source);
    if (status == PSNAP_OK)
        status = read_real(reader, map, "clock_hz", 1e15, &machine->clock_hz);
    if (status == PSNAP_OK)
        status = read_count(reader, map, "cores", UINT32_MAX, &machine->cores);
    if (status == PSNAP_OK)
        status = read_memory(reader, psnap_yaml_get(map, "memory"), machine);
    if (status == PSNAP_OK)
        status = read_real(reader, map, "mispredict_cycles", 1e9, &machine->mispredict_cycles);
    if (status == PSNAP_OK)
        status = read_operations(reader, psnap_yaml_get(map, "operations"), machine);
    if (status == PSNAP_OK)
        status = read_functions(reader, psnap_yaml_get(map, "function_cycles"),
                                machine->function_cycles);
    if (status == PSNAP_OK)
        status = read_parallel(reader, psnap_yaml_get(map, "parallel"), &machine->parallel);
    if (status == PSNAP_OK)
        status = read_choice(reader, map, "coherence", "none", "invalidate", &machine->coherent);
    if (status == PSNAP_OK)
        status = read_levels(reader, map, machine);
    return status;
}

enum psnap_status psnap_machine_take(const struct psnap_yaml_doc *doc,
                                     const struct psnap_yaml_node *map,
                                     struct psnap_machine *machine, struct psnap_error *error)
{
    const struct reader reader = {doc, error};
    enum psnap_status status = psnap_yaml_expect(doc, map, PSNAP_YAML_MAP, "machine", error);

    *machine = (struct psnap_machine){0};
    return status ? status : read_machine(&reader, map, machine);
}

enum psnap_status psnap_machine_read(FILE *file, const char *name, struct psnap_machine *machine,
                                     struct psnap_error *error)
{
    static const char *const wrapped[] = {"machine", NULL};
    struct psnap_yaml_doc *doc = psnap_yaml_read(file, name, error);
    const struct psnap_yaml_node *root, *map;
    enum psnap_status status;

    *machine = (struct psnap_machine){0};
    if (!doc)
        return error ? error->code : PSNAP_ERROR_SYNTAX;
    root = psnap_yaml_root(doc);
    map = psnap_yaml_get(root, "machine");
    if (psnap_yaml_get(root, "psnap") && psnap_yaml_get(root, "loops")) {
        status = psnap_yaml_fail(doc, root, error, PSNAP_ERROR_VALUE,
                                 "this is a profile, not a machine");
        goto out;
    }
    status = psnap_yaml_expect(doc, root, PSNAP_YAML_MAP, "a machine file", error);
    if (status == PSNAP_OK && map)
        status = psnap_yaml_known_keys(doc, root, wrapped, error);
    if (status == PSNAP_OK) /* the keys of a machine may stand on their own */
        status = psnap_machine_take(doc, map ? map : root, machine, error);
out:
    psnap_yaml_doc_free(doc);
    return status;
}
