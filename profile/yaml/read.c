/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A profile from YAML. Strict: unknown keys, missing fields, values out of
 * range and fields that contradict each other are errors with file, line and
 * column. Derived fields (totals, accesses of loops) may be left out; where
 * they stand they are checked against what they derive from.
 *
 * Memory is in proportion to the input: nothing is unfolded, and counts are
 * only numbers.
 */
#include "profile/yaml/certificate.h"
#include "profile/yaml/read.h"
#include "profile/yaml/sampling.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static enum psnap_status read_rank(const struct reading *r, const struct psnap_yaml_node *map,
                                   struct psnap_provenance *to)
{
    const struct psnap_yaml_node *rank = psnap_yaml_get(map, "rank");
    const struct psnap_yaml_node *ranks = psnap_yaml_get(map, "ranks");
    uint64_t number = 0, count = 0;
    enum psnap_status status = PSNAP_OK;

    if (rank)
        status = psnap_yaml_u64(r->doc, rank, 0, UINT32_MAX - 1, &number, r->error);
    if (!status && ranks)
        status = psnap_yaml_u64(r->doc, ranks, 1, UINT32_MAX - 1, &count, r->error);
    if (!status && ranks && number >= count)
        return psnap_yaml_fail(r->doc, rank ? rank : ranks, r->error, PSNAP_ERROR_VALUE,
                               "'rank' must be less than 'ranks'");
    to->has_rank = rank != NULL;
    to->rank = (uint32_t)number;
    to->ranks = (uint32_t)count;
    return status;
}

static enum psnap_status read_program(const struct reading *r, const struct psnap_yaml_node *map)
{
    static const char *const keys[] = {
        "name",    "command", "build_id", "source_language", "compiler",   "host", "recorded",
        "content", "thread",  "rank",     "ranks",           "same_ranks", NULL};
    struct psnap_provenance *to = &r->profile->provenance;
    const struct psnap_yaml_node *thread;
    enum psnap_status status = psnap_yaml_expect_keys(r->doc, map, "program", keys, r->error);

    if (status || (status = read_text(r, map, "name", "", &to->name)) ||
        (status = read_text(r, map, "build_id", "", &to->build_id)) ||
        (status = read_text(r, map, "source_language", "", &to->source_language)) ||
        (status = read_text(r, map, "compiler", "", &to->compiler)) ||
        (status = read_text(r, map, "host", "", &to->host)) ||
        (status = read_text(r, map, "recorded", "", &to->recorded)) ||
        (status = read_text(r, map, "content", "", &r->profile->content)) ||
        (status = read_text(r, map, "same_ranks", "", &r->profile->same_ranks)) ||
        (status = read_texts(r, map, "command", &to->command)) || (status = read_rank(r, map, to)))
        return status;
    thread = psnap_yaml_get(map, "thread");
    if (thread && (thread->kind != PSNAP_YAML_SCALAR || strcmp(thread->text, "all") != 0))
        return psnap_yaml_fail(r->doc, thread, r->error, PSNAP_ERROR_VALUE,
                               "'thread' must be all: a profile is of all threads");
    return PSNAP_OK;
}

static enum psnap_status read_capture(const struct reading *r, const struct psnap_yaml_node *map)
{
    static const char *const keys[] = {
        "model", "stage", "region_gap_bytes", "region_limit", "roi", "sampling", NULL};
    struct psnap_profile *profile = r->profile;
    uint64_t limit = PSNAP_REGION_LIMIT_DEFAULT;
    const struct psnap_yaml_node *node;
    enum psnap_status status = psnap_yaml_expect_keys(r->doc, map, "capture", keys, r->error);

    if (status || (status = read_text(r, map, "model", NULL, &profile->model)) ||
        (status = read_text(r, map, "stage", "", &profile->provenance.stage)))
        return status;
    if (strcmp(profile->model, "psnap") != 0 && strcmp(profile->model, PSNAP_MODEL_NESTS) != 0)
        return psnap_yaml_fail(
            r->doc, psnap_yaml_get(map, "model"), r->error, PSNAP_ERROR_UNSUPPORTED,
            "there is no model '%.60s' in this version, only 'psnap' and '%s': record "
            "the program again, or make the profile anew from its trace",
            profile->model, PSNAP_MODEL_NESTS);
    node = psnap_yaml_get(map, "region_gap_bytes");
    profile->region_gap_bytes = PSNAP_REGION_GAP_DEFAULT;
    if (node && (status = psnap_yaml_size(r->doc, node, 1, PSNAP_REGION_GAP_MAX,
                                          &profile->region_gap_bytes, r->error)))
        return status;
    node = psnap_yaml_get(map, "region_limit");
    if (node && (status = psnap_yaml_u64(r->doc, node, PSNAP_REGION_LIMIT_MIN,
                                         PSNAP_REGION_LIMIT_MAX, &limit, r->error)))
        return status;
    profile->region_limit = (uint32_t)limit;
    return read_sampling(r, map);
}

/* Nests are trees: a loop is deeper than the one around it. */
static enum psnap_status check_nests(const struct reading *r, const struct psnap_yaml_node *list)
{
    const struct psnap_profile *profile = r->profile;
    const struct psnap_yaml_node **maps = malloc((list->count + 1) * sizeof *maps);
    enum psnap_status status = PSNAP_OK;
    uint32_t n = 0;

    if (!maps)
        return read_out_of_memory(r);
    for (const struct psnap_yaml_node *map = list->first; map; map = map->next)
        maps[n++] = map;
    for (uint32_t i = 0; i < n && !status; i++) {
        const struct psnap_profile_loop *loop = &profile->loops[i], *parent;
        const struct psnap_yaml_node *there;
        if (loop->parent == PSNAP_NONE)
            continue;
        parent = &profile->loops[loop->parent];
        if (parent->depth < loop->depth)
            continue;
        there = psnap_yaml_get(maps[loop->parent], "nest");
        status = psnap_yaml_fail(
            r->doc, psnap_yaml_get(psnap_yaml_get(maps[i], "nest"), "depth"), r->error,
            PSNAP_ERROR_VALUE,
            "'depth' is %" PRIu32 ", but its parent '%.100s' (line %" PRIu32 ") has %" PRIu32,
            loop->depth, parent->id, (there ? there : maps[loop->parent])->src_line, parent->depth);
    }
    free(maps);
    return status;
}

static enum psnap_status read_loops(struct reading *r, const struct psnap_yaml_node *list,
                                    const struct name_index *names)
{
    struct psnap_profile *profile = r->profile;
    uint64_t sum = 0, operations[PSNAP_OPERATION_COUNT] = {0};
    enum psnap_status status = PSNAP_OK;

    profile->loops = psnap_arena_alloc(profile->arena, (list->count + 1) * sizeof *profile->loops);
    if (!profile->loops)
        return read_out_of_memory(r);
    for (const struct psnap_yaml_node *map = list->first; map && !status; map = map->next) {
        struct psnap_profile_loop *loop = &profile->loops[profile->loop_count++];
        status = read_loop(r, map, names, loop);
        if (!status)
            status = read_sum(r, map, loop->accesses, &sum);
        for (unsigned op = 0; op < PSNAP_OPERATION_COUNT && !status; op++)
            status = read_sum(r, map, loop->operations[op], &operations[op]);
    }
    if (!status)
        status = check_nests(r, list);
    return status;
}

/* What the schedule says about one loop: it is there if it has accesses, and where its visits are
 * counted, all are and come to its accesses. */
static enum psnap_status check_visits(const struct reading *r, const struct psnap_yaml_node *list,
                                      const struct psnap_profile_loop *loop,
                                      const struct psnap_yaml_node *map,
                                      const struct visit_nodes *visits)
{
    if (!visits->counted && !visits->even && loop->accesses)
        return psnap_yaml_fail(r->doc, list, r->error, PSNAP_ERROR_VALUE,
                               "the schedule lacks loop '%.100s' (line %" PRIu32
                               "), which has accesses",
                               loop->id, map->src_line);
    if (!visits->counted)
        return PSNAP_OK;
    if (visits->even)
        return psnap_yaml_fail(r->doc, visits->even, r->error, PSNAP_ERROR_VALUE,
                               "loop '%.100s' needs 'accesses' at all its visits or at none, and "
                               "line %" PRIu32 " has them",
                               loop->id, visits->counted->src_line);
    if (visits->accesses != loop->accesses)
        return psnap_yaml_fail(r->doc, visits->counted, r->error, PSNAP_ERROR_VALUE,
                               "the visits of loop '%.100s' come to %" PRIu64
                               " accesses, but the loop (line %" PRIu32 ") has %" PRIu64,
                               loop->id, visits->accesses, map->src_line, loop->accesses);
    return PSNAP_OK;
}

static enum psnap_status read_schedule(const struct reading *r, const struct psnap_yaml_node *root,
                                       const struct psnap_yaml_node *loops,
                                       const struct name_index *names)
{
    struct psnap_profile *profile = r->profile;
    const struct psnap_yaml_node *list = psnap_yaml_require(r->doc, root, "schedule", r->error);
    const struct psnap_yaml_node *map = loops->first;
    struct psnap_profile_totals totals;
    struct visit_nodes *visits = calloc(profile->loop_count + 1, sizeof *visits);
    uint64_t *counts = calloc(profile->loop_count + 1, sizeof *counts);
    enum psnap_status status = PSNAP_ERROR_VALUE;

    if (!visits || !counts)
        status = read_out_of_memory(r);
    else if (list)
        status = read_sequence(r, list, names, "loop", visits, &profile->schedule);
    psnap_profile_totals(profile, &totals);
    if (!status &&
        !sequence_counts(&profile->schedule,
                         totals.accesses * PSNAP_VISITS_PER_ACCESS + profile->loop_count, counts))
        status = psnap_yaml_fail(r->doc, list, r->error, PSNAP_ERROR_VALUE,
                                 "the schedule visits loops more than %u times per access",
                                 PSNAP_VISITS_PER_ACCESS);
    for (uint32_t i = 0; i < profile->loop_count && !status; i++, map = map->next)
        status = check_visits(r, list, &profile->loops[i], map, &visits[i]);
    free(visits);
    free(counts);
    return status;
}

static enum psnap_status check_total(const struct reading *r, const struct psnap_yaml_node *map,
                                     const struct psnap_yaml_node *loops, const char *key,
                                     uint64_t total)
{
    const struct psnap_yaml_node *node = psnap_yaml_get(map, key);
    uint64_t stated;
    enum psnap_status status;

    if (!node)
        return PSNAP_OK;
    status = psnap_yaml_u64(r->doc, node, 0, UINT64_MAX, &stated, r->error);
    if (status || stated == total)
        return status;
    return psnap_yaml_fail(r->doc, node, r->error, PSNAP_ERROR_VALUE,
                           "'%s' is %" PRIu64 ", but the loops (line %" PRIu32
                           ") add up to %" PRIu64 "; correct 'totals' or delete it",
                           key, stated, loops->src_line, total);
}

static enum psnap_status read_totals(const struct reading *r, const struct psnap_yaml_node *map,
                                     const struct psnap_yaml_node *loops)
{
    static const char *const keys[] = {"accesses", "loads",      "stores", "atomics",
                                       "bytes",    "operations", NULL};
    uint64_t operations[PSNAP_OPERATION_COUNT];
    const struct psnap_yaml_node *stated = psnap_yaml_get(map, "operations");
    struct psnap_profile_totals totals;
    enum psnap_status status = psnap_yaml_expect_keys(r->doc, map, "totals", keys, r->error);

    psnap_profile_totals(r->profile, &totals);
    if (status || (status = check_total(r, map, loops, "accesses", totals.accesses)) ||
        (status = check_total(r, map, loops, "loads", totals.loads)) ||
        (status = check_total(r, map, loops, "stores", totals.stores)) ||
        (status = check_total(r, map, loops, "atomics", totals.atomics)) ||
        (status = check_total(r, map, loops, "bytes", totals.bytes)) ||
        (status = read_operations(r, map, operations)))
        return status;
    for (unsigned op = 0; op < PSNAP_OPERATION_COUNT && !status; op++)
        status = check_total(r, stated, loops, psnap_operation_name(op), totals.operations[op]);
    return status;
}

static enum psnap_status read_version(const struct reading *r, const struct psnap_yaml_node *root)
{
    const struct psnap_yaml_node *node;
    uint64_t version;
    enum psnap_status status =
        psnap_yaml_expect(r->doc, root, PSNAP_YAML_MAP, "a profile", r->error);

    if (status)
        return status;
    node = psnap_yaml_get(root, "psnap");
    if (!node)
        return psnap_yaml_fail(r->doc, root, r->error, PSNAP_ERROR_VALUE,
                               "not a profile: the key 'psnap' with its version is missing");
    status = psnap_yaml_u64(r->doc, node, 1, UINT64_MAX, &version, r->error);
    if (status || version == PSNAP_PROFILE_VERSION)
        return status;
    return psnap_yaml_fail(r->doc, node, r->error, PSNAP_ERROR_VERSION,
                           "written by a newer psnap (format %" PRIu64 ", this one reads %d)",
                           version, PSNAP_PROFILE_VERSION);
}

static enum psnap_status read_all(struct reading *r)
{
    static const char *const keys[] = {"psnap",   "program", "capture", "totals",      "schedule",
                                       "objects", "chains",  "loops",   "certificate", NULL};
    const struct psnap_yaml_node *root = psnap_yaml_root(r->doc);
    const struct psnap_yaml_node *program, *totals, *capture, *loops, *certificate;
    struct name_index names = {NULL, 0};
    enum psnap_status status = read_version(r, root);

    if (status || (status = psnap_yaml_known_keys(r->doc, root, keys, r->error)))
        return status;
    program = psnap_yaml_get(root, "program");
    totals = psnap_yaml_get(root, "totals");
    certificate = psnap_yaml_get(root, "certificate");
    capture = psnap_yaml_require(r->doc, root, "capture", r->error);
    loops = psnap_yaml_require(r->doc, root, "loops", r->error);
    if (!capture || !loops)
        return PSNAP_ERROR_VALUE;
    if ((program && (status = read_program(r, program))) || (status = read_capture(r, capture)) ||
        (status = psnap_yaml_expect(r->doc, loops, PSNAP_YAML_SEQUENCE, "loops", r->error)))
        return status;
    if (loops->count > PSNAP_PROFILE_LOOPS_MAX)
        return psnap_yaml_fail(r->doc, loops, r->error, PSNAP_ERROR_MEMORY, "more than %u loops",
                               PSNAP_PROFILE_LOOPS_MAX);
    status = read_names(r, loops, &names);
    if (!status)
        status = read_loops(r, loops, &names);
    if (!status && !strcmp(r->profile->model, PSNAP_MODEL_NESTS))
        status = read_model(r, root, loops, &names);
    else if (!status)
        status = read_schedule(r, root, loops, &names);
    if (!status && totals)
        status = read_totals(r, totals, loops);
    if (!status && certificate)
        status = read_certificate(r, certificate);
    free(names.entries);
    return status;
}

struct psnap_profile *psnap_profile_read_document(const struct psnap_yaml_doc *doc,
                                                  struct psnap_error *error)
{
    struct reading reading = {.doc = doc, .profile = psnap_profile_new(), .error = error};

    if (!reading.profile)
        read_out_of_memory(&reading);
    else if (read_all(&reading)) {
        psnap_profile_free(reading.profile);
        reading.profile = NULL;
    }
    return reading.profile;
}

struct psnap_profile *psnap_profile_read(FILE *file, const char *name, struct psnap_error *error)
{
    struct psnap_yaml_doc *doc = psnap_yaml_read(file, name, error);
    struct psnap_profile *profile = doc ? psnap_profile_read_document(doc, error) : NULL;

    psnap_yaml_doc_free(doc);
    return profile;
}
