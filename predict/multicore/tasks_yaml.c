/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Task lists as YAML. MULTICORE.md documents the fields.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/yaml.h"
#include "predict/multicore/tasks.h"

enum { TASKS_VERSION = 1, EXACT = 64, BINS = 16 };

#define DISTANCE_MAX (UINT64_C(1) << 30) /* lines that reuse distances are measured of, at most */

/* --------------------------------------------------------------------- writing */

/* The distances that a bin which begins at `low` has: up to this one. */
static uint64_t bin_end(uint64_t low)
{
    uint64_t octave = EXACT;

    if (low < EXACT)
        return low;
    while (octave <= low / 2)
        octave *= 2;
    return low + (octave / BINS - low % (octave / BINS)) - 1;
}

static void write_histogram(struct psnap_yaml_doc *doc, struct psnap_yaml_node *map,
                            const struct psnap_distances *distances)
{
    struct psnap_yaml_node *list = psnap_yaml_add_sequence(doc, map, "histogram", PSNAP_YAML_FLOW);
    struct psnap_distance_count each = {0};
    uint64_t end = 0, count = 0;
    double sum = 0;
    bool more;

    do {
        more = psnap_distances_next(distances, &each);
        if (count && (!more || each.distance > end)) {
            struct psnap_yaml_node *bin = psnap_yaml_add_sequence(doc, list, NULL, PSNAP_YAML_FLOW);
            psnap_yaml_add_u64(doc, bin, NULL, (uint64_t)(sum / (double)count + 0.5));
            psnap_yaml_add_u64(doc, bin, NULL, count);
            count = 0;
            sum = 0;
        }
        if (more) {
            end = count ? end : bin_end(each.distance);
            count += each.count;
            sum += (double)each.distance * (double)each.count;
        }
    } while (more);
}

static void write_run(struct psnap_yaml_doc *doc, struct psnap_yaml_node *list,
                      const struct task_run *run)
{
    struct psnap_yaml_node *map = psnap_yaml_add_map(doc, list, NULL, PSNAP_YAML_BLOCK), *profiles;

    psnap_yaml_add_u64(doc, map, "cores", run->cores);
    psnap_yaml_add_u64(doc, map, "accesses", run->accesses);
    psnap_yaml_add_u64(doc, map, "busiest_core_accesses", run->busiest);
    profiles = psnap_yaml_add_sequence(doc, map, "profiles", PSNAP_YAML_BLOCK);
    for (size_t i = 0; i < run->profile_count; i++) {
        const struct task_profile *profile = &run->profiles[i];
        struct psnap_yaml_node *item = psnap_yaml_add_map(doc, profiles, NULL, PSNAP_YAML_BLOCK);
        psnap_yaml_add_u64(doc, item, "line_bytes", profile->line_bytes);
        psnap_yaml_add_u64(doc, item, "shared_by", profile->shared_by);
        psnap_yaml_add_u64(doc, item, "cold", psnap_distances_cold(profile->distances));
        write_histogram(doc, item, profile->distances);
    }
}

static void write_task(struct psnap_yaml_doc *doc, struct psnap_yaml_node *list,
                       const struct task *task)
{
    struct psnap_yaml_node *map = psnap_yaml_add_map(doc, list, NULL, PSNAP_YAML_BLOCK), *part;

    psnap_yaml_add_text(doc, map, "section", task->id);
    psnap_yaml_add_text(doc, map, "file", task->file);
    psnap_yaml_add_u64(doc, map, "src_line", task->src_line);
    psnap_yaml_add_u64(doc, map, "executions", task->executions);
    psnap_yaml_add_u64(doc, map, "loops", task->loops);
    psnap_yaml_add_u64(doc, map, "iterations", task->iterations);
    psnap_yaml_add_u64(doc, map, "barriers", task->barriers);
    psnap_yaml_add_u64(doc, map, "accesses", task->accesses);
    psnap_yaml_add_u64(doc, map, "bytes", task->bytes);
    part = psnap_yaml_add_map(doc, map, "operations", PSNAP_YAML_FLOW);
    for (int op = 0; op < PSNAP_OPERATION_COUNT; op++)
        if (task->operations[op] > 0)
            psnap_yaml_add_real(doc, part, psnap_operation_name((enum psnap_capture_operation)op),
                                task->operations[op]);
    part = psnap_yaml_add_sequence(doc, map, "runs", PSNAP_YAML_BLOCK);
    for (size_t i = 0; i < task->run_count; i++)
        write_run(doc, part, &task->runs[i]);
}

enum psnap_status tasks_write(const struct tasks *tasks, FILE *file, struct psnap_error *error)
{
    struct psnap_yaml_doc *doc = psnap_yaml_doc_new("task list");
    struct psnap_yaml_node *root, *list;
    enum psnap_status status;

    if (!doc)
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for a task list");
    root = psnap_yaml_add_map(doc, NULL, NULL, PSNAP_YAML_BLOCK);
    psnap_yaml_add_u64(doc, root, "psnap_tasks", TASKS_VERSION);
    psnap_yaml_add_text(doc, root, "program", tasks->program);
    list = psnap_yaml_add_sequence(doc, root, "tasks", PSNAP_YAML_BLOCK);
    for (size_t i = 0; i < tasks->count; i++)
        write_task(doc, list, &tasks->tasks[i]);
    status = psnap_yaml_write(doc, file, error);
    psnap_yaml_doc_free(doc);
    return status;
}

/* --------------------------------------------------------------------- reading */

struct reader {
    struct psnap_yaml_doc *doc;
    struct psnap_error *error;
    enum psnap_status status; /* the first failure; nothing is read behind it */
};

static struct psnap_yaml_node *need(struct reader *reader, const struct psnap_yaml_node *map,
                                    const char *key)
{
    struct psnap_yaml_node *node = NULL;

    if (!reader->status) {
        node = psnap_yaml_require(reader->doc, map, key, reader->error);
        reader->status = node ? PSNAP_OK : reader->error->code;
    }
    return node;
}

static uint64_t number(struct reader *reader, const struct psnap_yaml_node *node, uint64_t low,
                       uint64_t high)
{
    uint64_t value = 0;

    if (!reader->status)
        reader->status = psnap_yaml_u64(reader->doc, node, low, high, &value, reader->error);
    return value;
}

static uint64_t field(struct reader *reader, const struct psnap_yaml_node *map, const char *key,
                      uint64_t low, uint64_t high)
{
    return number(reader, need(reader, map, key), low, high);
}

static char *text(struct reader *reader, const struct psnap_yaml_node *map, const char *key)
{
    const struct psnap_yaml_node *node = need(reader, map, key);
    const char *value = "";
    char *copy;

    if (!reader->status)
        reader->status = psnap_yaml_text(reader->doc, node, &value, reader->error);
    copy = strdup(value);
    if (!copy && !reader->status)
        reader->status = psnap_error_set(reader->error, PSNAP_ERROR_MEMORY, "out of memory");
    return copy;
}

/* A sequence that has to be there; its length. */
static const struct psnap_yaml_node *sequence(struct reader *reader,
                                              const struct psnap_yaml_node *map, const char *key)
{
    const struct psnap_yaml_node *node = need(reader, map, key);

    if (!reader->status)
        reader->status =
            psnap_yaml_expect(reader->doc, node, PSNAP_YAML_SEQUENCE, key, reader->error);
    return reader->status ? NULL : node;
}

static void known(struct reader *reader, const struct psnap_yaml_node *node, const char *what,
                  const char *const *keys)
{
    if (!reader->status)
        reader->status = psnap_yaml_expect_keys(reader->doc, node, what, keys, reader->error);
}

static void no_memory(struct reader *reader)
{
    if (!reader->status)
        reader->status =
            psnap_error_set(reader->error, PSNAP_ERROR_MEMORY, "out of memory for a task list");
}

/* The distances of a run's profile: one of each of its accesses. */
static void read_distances(struct reader *reader, const struct psnap_yaml_node *node,
                           uint64_t accesses, struct psnap_distances *distances)
{
    uint64_t left = accesses;
    const uint64_t cold = field(reader, node, "cold", 0, left);
    const struct psnap_yaml_node *list = sequence(reader, node, "histogram");

    if (!reader->status && !psnap_distances_add(distances, PSNAP_DISTANCE_COLD, cold))
        no_memory(reader);
    left -= cold;
    for (const struct psnap_yaml_node *bin = list ? list->first : NULL; bin && !reader->status;
         bin = bin->next) {
        uint64_t distance, count;
        if (bin->kind != PSNAP_YAML_SEQUENCE || bin->count != 2) {
            reader->status = psnap_yaml_fail(reader->doc, bin, reader->error, PSNAP_ERROR_VALUE,
                                             "a bin is [distance, count]");
            return;
        }
        distance = number(reader, bin->first, 0, DISTANCE_MAX);
        count = number(reader, bin->last, 1, UINT64_MAX / 2);
        if (!reader->status && count > left)
            reader->status = psnap_yaml_fail(reader->doc, bin, reader->error, PSNAP_ERROR_VALUE,
                                             "with this bin the distances are of more than the "
                                             "run's %" PRIu64 " accesses",
                                             accesses);
        if (!reader->status && !psnap_distances_add(distances, distance, count))
            no_memory(reader);
        left -= count;
    }
    if (!reader->status && left)
        reader->status = psnap_yaml_fail(reader->doc, node, reader->error, PSNAP_ERROR_VALUE,
                                         "the distances are of %" PRIu64 " of the run's %" PRIu64
                                         " accesses; each has one, or is cold",
                                         accesses - left, accesses);
}

static void read_profile(struct reader *reader, const struct psnap_yaml_node *node,
                         const struct task_run *run, struct task_profile *profile)
{
    static const char *const keys[] = {"line_bytes", "shared_by", "cold", "histogram", NULL};

    known(reader, node, "a profile", keys);
    profile->line_bytes = field(reader, node, "line_bytes", 1, PSNAP_REUSE_LINE_MAX);
    profile->shared_by = (uint32_t)field(reader, node, "shared_by", 1, run->cores);
    read_distances(reader, node, run->accesses, profile->distances);
}

static void read_run(struct reader *reader, const struct psnap_yaml_node *node, struct task *task)
{
    static const char *const keys[] = {"cores", "accesses", "busiest_core_accesses", "profiles",
                                       NULL};
    const struct psnap_yaml_node *list, *item;
    struct task_run *run;
    uint32_t cores;

    known(reader, node, "a run", keys);
    cores = (uint32_t)field(reader, node, "cores", 1, PSNAP_CORES_MAX);
    list = sequence(reader, node, "profiles");
    if (reader->status)
        return;
    run = task_add_run(task, cores, list->count);
    if (!run) {
        no_memory(reader);
        return;
    }
    /* each access is at least one core's, and at most every core's */
    run->accesses = field(reader, node, "accesses", task->accesses, task->accesses * cores);
    run->busiest = field(reader, node, "busiest_core_accesses", 0, run->accesses);
    item = list->first;
    for (size_t i = 0; item && !reader->status; i++, item = item->next)
        read_profile(reader, item, run, &run->profiles[i]);
}

static void read_operations(struct reader *reader, const struct psnap_yaml_node *map,
                            struct task *task)
{
    const char *keys[PSNAP_OPERATION_COUNT + 1] = {NULL};

    for (int op = 0; op < PSNAP_OPERATION_COUNT; op++)
        keys[op] = psnap_operation_name((enum psnap_capture_operation)op);
    known(reader, map, "operations", keys);
    for (int op = 0; op < PSNAP_OPERATION_COUNT && !reader->status; op++) {
        const struct psnap_yaml_node *node = psnap_yaml_get(map, keys[op]);
        if (node)
            reader->status =
                psnap_yaml_real(reader->doc, node, 0, 1e300, &task->operations[op], reader->error);
    }
}

static void read_task(struct reader *reader, const struct psnap_yaml_node *node, struct task *task)
{
    static const char *const keys[] = {"section", "file",       "src_line", "executions",
                                       "loops",   "iterations", "barriers", "accesses",
                                       "bytes",   "operations", "runs",     NULL};
    const struct psnap_yaml_node *list;

    known(reader, node, "a task", keys);
    task->id = text(reader, node, "section");
    task->file = text(reader, node, "file");
    task->src_line = (uint32_t)field(reader, node, "src_line", 0, UINT32_MAX);
    task->executions = field(reader, node, "executions", 0, UINT64_MAX);
    task->loops = field(reader, node, "loops", 0, UINT64_MAX);
    task->iterations = field(reader, node, "iterations", 0, UINT64_MAX);
    if (psnap_yaml_get(node, "barriers")) /* lists of before have none */
        task->barriers = field(reader, node, "barriers", 0, UINT64_MAX);
    task->accesses = field(reader, node, "accesses", 0, UINT64_MAX / 2 / PSNAP_CORES_MAX);
    task->bytes = field(reader, node, "bytes", 0, UINT64_MAX);
    read_operations(reader, need(reader, node, "operations"), task);
    list = sequence(reader, node, "runs");
    for (const struct psnap_yaml_node *run = list ? list->first : NULL; run && !reader->status;
         run = run->next)
        read_run(reader, run, task);
}

enum psnap_status tasks_read(struct tasks *tasks, FILE *file, const char *name,
                             struct psnap_error *error)
{
    static const char *const keys[] = {"psnap_tasks", "program", "tasks", NULL};
    struct reader reader = {psnap_yaml_read(file, name, error), error, PSNAP_OK};
    const struct psnap_yaml_node *root, *list, *node;
    char *program;

    *tasks = (struct tasks){0};
    if (!reader.doc)
        return error->code;
    root = psnap_yaml_root(reader.doc);
    known(&reader, root, "a task list", keys);
    field(&reader, root, "psnap_tasks", TASKS_VERSION, TASKS_VERSION);
    list = sequence(&reader, root, "tasks");
    program = text(&reader, root, "program");
    if (!reader.status && !list->count)
        reader.status = psnap_yaml_fail(reader.doc, list, error, PSNAP_ERROR_VALUE,
                                        "a task list has at least one task");
    if (!reader.status && !tasks_init(tasks, program, list->count))
        no_memory(&reader);
    free(program);
    node = list ? list->first : NULL;
    for (size_t i = 0; node && !reader.status; i++, node = node->next)
        read_task(&reader, node, &tasks->tasks[i]);
    psnap_yaml_doc_free(reader.doc);
    if (reader.status)
        tasks_release(tasks);
    return reader.status;
}
