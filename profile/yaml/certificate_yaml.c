/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The certificate as YAML: a map of the version, the seed and the checksum that it is for, of
 * errors by level, by machine and level, and of the worst loop. An error that is not known, as no
 * loop is relevant, is left out.
 */
#include "profile/yaml/certificate.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LEVELS_MAX 64 /* a level's number: more than any machine has */

/* ---- to the file ---- */

static void write_points(struct psnap_yaml_doc *doc, struct psnap_yaml_node *map, const char *key,
                         double points)
{
    if (!isnan(points))
        psnap_yaml_add_real(doc, map, key, points);
}

static void write_row(const struct psnap_certificate_row *row, struct psnap_yaml_doc *doc,
                      struct psnap_yaml_node *list)
{
    struct psnap_yaml_node *map = psnap_yaml_add_map(doc, list, NULL, PSNAP_YAML_FLOW);

    if (row->machine)
        psnap_yaml_add_text(doc, map, "machine", row->machine);
    psnap_yaml_add_u64(doc, map, row->is_tlb ? "tlb" : "level", row->level);
    write_points(doc, map, "mean_points", row->mean_points);
    write_points(doc, map, "max_points", row->max_points);
    write_points(doc, map, "total_points", row->total_points);
}

static void write_rows(const struct psnap_certificate_row *rows, uint32_t count, const char *key,
                       struct psnap_yaml_doc *doc, struct psnap_yaml_node *map)
{
    struct psnap_yaml_node *list = psnap_yaml_add_sequence(doc, map, key, PSNAP_YAML_BLOCK);

    for (uint32_t i = 0; i < count; i++)
        write_row(&rows[i], doc, list);
}

static void write_machines(const struct psnap_certificate *certificate, struct psnap_yaml_doc *doc,
                           struct psnap_yaml_node *map)
{
    struct psnap_yaml_node *machines;

    if (!certificate->machine_count)
        return;
    machines = psnap_yaml_add_map(doc, map, "machines", PSNAP_YAML_BLOCK);
    for (uint32_t i = 0; i < certificate->machine_count; i++)
        psnap_yaml_add_text(doc, machines, certificate->machines[i].name,
                            certificate->machines[i].caches);
}

void write_certificate(const struct psnap_certificate *certificate, struct psnap_yaml_doc *doc,
                       struct psnap_yaml_node *root)
{
    struct psnap_yaml_node *map = psnap_yaml_add_map(doc, root, "certificate", PSNAP_YAML_BLOCK);
    struct psnap_yaml_node *worst;
    char content[24];

    snprintf(content, sizeof content, "%016" PRIx64, certificate->content);
    psnap_yaml_add_text(doc, map, "psnap", certificate->version);
    psnap_yaml_add_u64(doc, map, "seed", certificate->seed);
    psnap_yaml_add_text(doc, map, "content", content);
    psnap_yaml_add_u64(doc, map, "relevant_loops", certificate->relevant_loops);
    write_machines(certificate, doc, map);
    write_rows(certificate->levels, certificate->level_count, "levels", doc, map);
    write_rows(certificate->rows, certificate->row_count, "rows", doc, map);
    if (!certificate->worst_loop)
        return;
    worst = psnap_yaml_add_map(doc, map, "worst_loop", PSNAP_YAML_FLOW);
    psnap_yaml_add_text(doc, worst, "id", certificate->worst_loop);
    psnap_yaml_add_text(doc, worst, "machine", certificate->worst.machine);
    psnap_yaml_add_u64(doc, worst, certificate->worst.is_tlb ? "tlb" : "level",
                       certificate->worst.level);
    psnap_yaml_add_real(doc, worst, "points", certificate->worst.max_points);
}

/* ---- and back ---- */

/* map[key], NaN when it is not there. */
static enum psnap_status read_points(const struct reading *r, const struct psnap_yaml_node *map,
                                     const char *key, double *points)
{
    const struct psnap_yaml_node *node = psnap_yaml_get(map, key);

    *points = NAN;
    return node ? psnap_yaml_real(r->doc, node, 0, 100, points, r->error) : PSNAP_OK;
}

/* `level` or `tlb`, one of them. */
static enum psnap_status read_level(const struct reading *r, const struct psnap_yaml_node *map,
                                    struct psnap_certificate_row *row)
{
    const struct psnap_yaml_node *tlb = psnap_yaml_get(map, "tlb"), *node = tlb;
    uint64_t level = 0;
    enum psnap_status status;

    if (tlb && psnap_yaml_get(map, "level"))
        return psnap_yaml_fail(r->doc, tlb, r->error, PSNAP_ERROR_VALUE,
                               "'level' (line %" PRIu32 ") is of the caches, 'tlb' of the TLB; one "
                               "of them",
                               psnap_yaml_get(map, "level")->src_line);
    if (!tlb)
        node = psnap_yaml_require(r->doc, map, "level", r->error);
    if (!node)
        return PSNAP_ERROR_VALUE;
    status = psnap_yaml_u64(r->doc, node, 1, LEVELS_MAX, &level, r->error);
    row->level = (uint32_t)level;
    row->is_tlb = tlb != NULL;
    return status;
}

static enum psnap_status read_row(const struct reading *r, const struct psnap_yaml_node *map,
                                  bool has_machine, struct psnap_certificate_row *row)
{
    static const char *const keys[] = {"level",        "tlb",     "mean_points", "max_points",
                                       "total_points", "machine", NULL};
    static const char *const keys_of_all[] = {"level",      "tlb",          "mean_points",
                                              "max_points", "total_points", NULL};
    enum psnap_status status =
        psnap_yaml_expect_keys(r->doc, map, has_machine ? "a row of 'rows'" : "a row of 'levels'",
                               has_machine ? keys : keys_of_all, r->error);

    if (status || (has_machine && (status = read_text(r, map, "machine", NULL, &row->machine))) ||
        (status = read_level(r, map, row)) ||
        (status = read_points(r, map, "mean_points", &row->mean_points)) ||
        (status = read_points(r, map, "max_points", &row->max_points)))
        return status;
    return read_points(r, map, "total_points", &row->total_points);
}

static enum psnap_status read_rows(const struct reading *r, const struct psnap_yaml_node *map,
                                   const char *key, bool has_machine,
                                   struct psnap_certificate_row **rows, uint32_t *count)
{
    const struct psnap_yaml_node *list = psnap_yaml_require(r->doc, map, key, r->error);
    enum psnap_status status =
        list ? psnap_yaml_expect(r->doc, list, PSNAP_YAML_SEQUENCE, key, r->error)
             : PSNAP_ERROR_VALUE;

    if (status)
        return status;
    *rows = psnap_arena_alloc(r->profile->arena, (list->count + 1) * sizeof **rows);
    if (!*rows)
        return read_out_of_memory(r);
    for (const struct psnap_yaml_node *row = list->first; row && !status; row = row->next)
        status = read_row(r, row, has_machine, &(*rows)[(*count)++]);
    return status;
}

static enum psnap_status read_worst(const struct reading *r, const struct psnap_yaml_node *map,
                                    struct psnap_certificate *certificate)
{
    static const char *const keys[] = {"id", "machine", "level", "tlb", "points", NULL};
    struct psnap_certificate_row *worst = &certificate->worst;
    enum psnap_status status = psnap_yaml_expect_keys(r->doc, map, "worst_loop", keys, r->error);

    worst->mean_points = worst->total_points = NAN;
    if (status || (status = read_text(r, map, "id", NULL, &certificate->worst_loop)) ||
        (status = read_text(r, map, "machine", NULL, &worst->machine)) ||
        (status = read_level(r, map, worst)))
        return status;
    if (!psnap_yaml_require(r->doc, map, "points", r->error))
        return PSNAP_ERROR_VALUE;
    return read_points(r, map, "points", &worst->max_points);
}

/* The checksum: 16 hexadecimal digits. */
static enum psnap_status read_content(const struct reading *r, const struct psnap_yaml_node *map,
                                      uint64_t *content)
{
    const struct psnap_yaml_node *node = psnap_yaml_require(r->doc, map, "content", r->error);
    const char *text;
    enum psnap_status status =
        node ? psnap_yaml_text(r->doc, node, &text, r->error) : PSNAP_ERROR_VALUE;

    if (status)
        return status;
    if (strlen(text) != 16 || strspn(text, "0123456789abcdef") != 16)
        return psnap_yaml_fail(r->doc, node, r->error, PSNAP_ERROR_VALUE,
                               "'content' is a checksum of 16 hexadecimal digits, not '%.60s'",
                               text);
    *content = strtoull(text, NULL, 16);
    return PSNAP_OK;
}

static enum psnap_status read_machines(const struct reading *r, const struct psnap_yaml_node *map,
                                       struct psnap_certificate *certificate)
{
    enum psnap_status status = psnap_yaml_expect(r->doc, map, PSNAP_YAML_MAP, "machines", r->error);

    if (status)
        return status;
    certificate->machines =
        psnap_arena_alloc(r->profile->arena, (map->count + 1) * sizeof *certificate->machines);
    if (!certificate->machines)
        return read_out_of_memory(r);
    for (const struct psnap_yaml_node *node = map->first; node && !status; node = node->next) {
        struct psnap_certificate_machine *machine =
            &certificate->machines[certificate->machine_count++];
        machine->name = psnap_arena_strndup(r->profile->arena, node->key, strlen(node->key));
        if (!machine->name)
            return read_out_of_memory(r);
        status = read_text(r, map, node->key, NULL, &machine->caches);
    }
    return status;
}

enum psnap_status read_certificate(const struct reading *r, const struct psnap_yaml_node *map)
{
    static const char *const keys[] = {"psnap",          "seed",       "content",
                                       "relevant_loops", "machines",   "levels",
                                       "rows",           "worst_loop", NULL};
    struct psnap_certificate *to = psnap_arena_alloc(r->profile->arena, sizeof *to);
    const struct psnap_yaml_node *seed = psnap_yaml_get(map, "seed");
    const struct psnap_yaml_node *machines = psnap_yaml_get(map, "machines");
    const struct psnap_yaml_node *worst = psnap_yaml_get(map, "worst_loop");
    enum psnap_status status;

    if (!to)
        return read_out_of_memory(r);
    status = psnap_yaml_expect_keys(r->doc, map, "certificate", keys, r->error);
    if (status || (status = read_text(r, map, "psnap", NULL, &to->version)) ||
        (seed && (status = psnap_yaml_u64(r->doc, seed, 0, UINT64_MAX, &to->seed, r->error))) ||
        (status = read_content(r, map, &to->content)) ||
        (status = read_count(r, map, "relevant_loops", 0, &to->relevant_loops)) ||
        (machines && (status = read_machines(r, machines, to))) ||
        (status = read_rows(r, map, "levels", false, &to->levels, &to->level_count)) ||
        (status = read_rows(r, map, "rows", true, &to->rows, &to->row_count)) ||
        (worst && (status = read_worst(r, worst, to))))
        return status;
    r->profile->certificate = to;
    return PSNAP_OK;
}
