/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Machine files. MACHINES.md documents every key; unknown keys are errors, and
 * every error names file, line and column. What only later models need
 * (latencies, bandwidths, clock, cores) is checked and kept.
 */
#include "simcore/machine.h"

#include <string.h>

#include "formats/base/yaml.h"

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

static enum psnap_status read_level(const struct reader *reader, const struct psnap_yaml_node *node,
                                    struct psnap_cache_level *level)
{
    static const char *const keys[] = {
        "size_bytes", "line_bytes", "ways", "latency_cycles", "bandwidth_bytes_per_s", NULL};
    enum psnap_status status =
        psnap_yaml_expect_keys(reader->doc, node, "a level", keys, reader->error);

    if (status == PSNAP_OK)
        status =
            read_needed_size(reader, node, "size_bytes", PSNAP_LEVEL_BYTES_MAX, &level->size_bytes);
    if (status == PSNAP_OK)
        status =
            read_needed_size(reader, node, "line_bytes", PSNAP_LINE_BYTES_MAX, &level->line_bytes);
    if (status == PSNAP_OK)
        status = read_ways(reader, node, level);
    if (status == PSNAP_OK)
        status = read_real(reader, node, "latency_cycles", 1e9, &level->latency_cycles);
    if (status == PSNAP_OK)
        status =
            read_real(reader, node, "bandwidth_bytes_per_s", 1e18, &level->bandwidth_bytes_per_s);
    return status;
}

static enum psnap_status read_memory(const struct reader *reader,
                                     const struct psnap_yaml_node *node,
                                     struct psnap_machine *machine)
{
    static const char *const keys[] = {"latency_cycles", "bandwidth_bytes_per_s", NULL};
    enum psnap_status status;

    if (!node)
        return PSNAP_OK;
    status = psnap_yaml_expect_keys(reader->doc, node, "memory", keys, reader->error);
    if (status == PSNAP_OK)
        status = read_real(reader, node, "latency_cycles", 1e9, &machine->memory_latency_cycles);
    if (status == PSNAP_OK)
        status = read_real(reader, node, "bandwidth_bytes_per_s", 1e18,
                           &machine->memory_bandwidth_bytes_per_s);
    return status;
}

static enum psnap_status read_levels(const struct reader *reader, const struct psnap_yaml_node *map,
                                     struct psnap_machine *machine)
{
    static const char *const fields[] = {"size_bytes", "line_bytes", "ways"};
    const struct psnap_yaml_node *levels = psnap_yaml_get(map, "levels");
    const struct psnap_yaml_node *faulty;
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
    status = machine_check_levels(machine, &fault, &cause);
    if (status == PSNAP_OK)
        return PSNAP_OK;
    faulty = levels->first;
    for (uint32_t i = 0; i < fault.level; i++)
        faulty = faulty->next;
    return psnap_yaml_fail(reader->doc, psnap_yaml_get(faulty, fields[fault.field]), reader->error,
                           status, "%s", cause.message);
}

/* "machines/x.yaml" is machine x unless it says another name. */
static void name_after_file(const char *path, struct psnap_machine *machine)
{
    const char *slash = strrchr(path, '/');
    const char *base = slash ? slash + 1 : path;
    const char *dot = strrchr(base, '.');
    size_t length = dot && dot > base ? (size_t)(dot - base) : strlen(base);

    snprintf(machine->name, sizeof machine->name, "%.*s", (int)length, base);
}

static enum psnap_status read_machine(const struct reader *reader,
                                      const struct psnap_yaml_node *map,
                                      struct psnap_machine *machine)
{
    static const char *const keys[] = {"name",   "description", "clock_hz", "cores",
                                       "levels", "memory",      NULL};
    const struct psnap_yaml_node *cores = psnap_yaml_get(map, "cores");
    uint64_t count = 0;
    enum psnap_status status = psnap_yaml_known_keys(reader->doc, map, keys, reader->error);

    if (status == PSNAP_OK)
        status = read_name(reader, map, "name", machine->name, sizeof machine->name);
    if (status == PSNAP_OK && !machine->name[0])
        name_after_file(psnap_yaml_name(reader->doc), machine);
    if (status == PSNAP_OK)
        status = read_name(reader, map, "description", machine->description,
                           sizeof machine->description);
    if (status == PSNAP_OK)
        status = read_real(reader, map, "clock_hz", 1e15, &machine->clock_hz);
    if (status == PSNAP_OK && cores)
        status = psnap_yaml_u64(reader->doc, cores, 1, UINT32_MAX, &count, reader->error);
    machine->cores = (uint32_t)count;
    if (status == PSNAP_OK)
        status = read_memory(reader, psnap_yaml_get(map, "memory"), machine);
    if (status == PSNAP_OK)
        status = read_levels(reader, map, machine);
    return status;
}

enum psnap_status psnap_machine_read(FILE *file, const char *name, struct psnap_machine *machine,
                                     struct psnap_error *error)
{
    static const char *const wrapped[] = {"machine", NULL};
    struct psnap_yaml_doc *doc = psnap_yaml_read(file, name, error);
    const struct reader reader = {doc, error};
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
    map = map ? map : root; /* the keys of a machine may stand on their own */
    if (status == PSNAP_OK)
        status = psnap_yaml_expect(doc, map, PSNAP_YAML_MAP, "machine", error);
    if (status == PSNAP_OK)
        status = read_machine(&reader, map, machine);
out:
    psnap_yaml_doc_free(doc);
    return status;
}
