/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The certificate in the file: the version, the seed and the checksum that it is for, errors by
 * level, by machine and level, and the worst loop. An error that is not known, as no loop is
 * relevant, is left out.
 */
#include "profile/yaml/fields.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LEVELS_MAX 64 /* a level's number: more than any machine has */

/* ---- rows: of a level of the caches, or of the TLB ---- */

/* `level` or `tlb`, one of them. */
static void check_level(struct psnap_reading *r, const struct psnap_yaml_node *map, void *record)
{
    const struct psnap_yaml_node *tlb = psnap_yaml_get(map, "tlb");
    const struct psnap_yaml_node *level =
        tlb ? psnap_yaml_get(map, "level") : psnap_read_require(r, map, "level");

    (void)record;
    if (tlb && level)
        psnap_read_fail(r, tlb,
                        "'level' (line %" PRIu32 ") is of the caches, 'tlb' of the TLB; one of "
                        "them",
                        level->src_line);
}

#define LEVEL(type, row, of_tlb)                                                                   \
    FIELD_UINT(type, row level), 1, LEVELS_MAX, FIELD_TAG(type, row is_tlb, of_tlb)
#define POINTS(type, member)                                                                       \
    PSNAP_FIELD_REAL, PSNAP_AT(type, member), .high = 100, .missing = PSNAP_FIELD_NAN
#define ROW_POINTS(member) POINTS(struct psnap_certificate_row, member)

static const struct psnap_field row_fields[] = {
    {"machine", PSNAP_FIELD_TEXT, PSNAP_AT(struct psnap_certificate_row, machine),
     .rules = PSNAP_FIELD_NEEDED},
    {"level", LEVEL(struct psnap_certificate_row, , false)},
    {"tlb", LEVEL(struct psnap_certificate_row, , true)},
    {"mean_points", ROW_POINTS(mean_points)},
    {"max_points", ROW_POINTS(max_points)},
    {"total_points", ROW_POINTS(total_points)},
};
static const struct psnap_record row_record = {"a row of 'rows'", PSNAP_FIELDS(row_fields),
                                               PSNAP_YAML_FLOW,
                                               sizeof(struct psnap_certificate_row), check_level};
/* Of all machines. */
static const struct psnap_record level_record = {
    "a row of 'levels'", row_fields + 1, 5, PSNAP_YAML_FLOW, sizeof(struct psnap_certificate_row),
    check_level};

/* ---- the certificate ---- */

/* The checksum: 16 hexadecimal digits. */
static void read_content(struct psnap_reading *r, const struct psnap_yaml_node *node, void *record)
{
    const char *text = psnap_read_text(r, node);

    if (strlen(text) != 16 || strspn(text, "0123456789abcdef") != 16)
        psnap_read_fail(r, node, "'content' is a checksum of 16 hexadecimal digits, not '%.60s'",
                        text);
    ((struct psnap_certificate *)record)->content = strtoull(text, NULL, 16);
}

static void write_content(const struct psnap_writing *w, const void *record)
{
    char text[24];

    snprintf(text, sizeof text, "%016" PRIx64, ((const struct psnap_certificate *)record)->content);
    psnap_yaml_add_text(w->doc, w->map, w->field->key, text);
}

/* Caches of machines, by name. */
static void read_machines(struct psnap_reading *r, const struct psnap_yaml_node *map, void *record)
{
    struct psnap_certificate *to = record;
    const struct psnap_yaml_node *node = psnap_read_map(r, map, r->field->key);

    to->machines = psnap_read_alloc(r, map->count, sizeof *to->machines);
    for (; node; node = psnap_read_next(r, node)) {
        struct psnap_certificate_machine *machine = &to->machines[to->machine_count++];
        machine->name = psnap_arena_strndup(r->arena, node->key, strlen(node->key));
        psnap_read_has(r, machine->name);
        machine->caches = psnap_read_copy(r, node);
    }
}

static void write_machines(const struct psnap_writing *w, const void *record)
{
    struct psnap_yaml_node *map = w->map;
    const struct psnap_certificate *certificate = record;

    if (certificate->machine_count)
        map = psnap_yaml_add_map(w->doc, map, w->field->key, PSNAP_YAML_BLOCK);
    for (uint32_t i = 0; i < certificate->machine_count; i++)
        psnap_yaml_add_text(w->doc, map, certificate->machines[i].name,
                            certificate->machines[i].caches);
}

static const struct psnap_field worst_fields[] = {
    {"id", PSNAP_FIELD_TEXT, PSNAP_AT(struct psnap_certificate, worst_loop),
     .rules = PSNAP_FIELD_NEEDED},
    {"machine", PSNAP_FIELD_TEXT, PSNAP_AT(struct psnap_certificate, worst.machine),
     .rules = PSNAP_FIELD_NEEDED},
    {"level", LEVEL(struct psnap_certificate, worst., false)},
    {"tlb", LEVEL(struct psnap_certificate, worst., true)},
    {"points", POINTS(struct psnap_certificate, worst.max_points), .rules = PSNAP_FIELD_NEEDED},
};
static void check_worst(struct psnap_reading *r, const struct psnap_yaml_node *map, void *record)
{
    struct psnap_certificate_row *worst = &((struct psnap_certificate *)record)->worst;

    worst->mean_points = worst->total_points = NAN;
    check_level(r, map, worst);
}

static const struct psnap_record worst_record = {"worst_loop", PSNAP_FIELDS(worst_fields),
                                                 PSNAP_YAML_FLOW, .check = check_worst};

#define ROWS(kind)                                                                                 \
    PSNAP_FIELD_LIST, PSNAP_AT_LIST(struct psnap_certificate, kind##s),                            \
        .count_at = offsetof(struct psnap_certificate, kind##_count), .rules = PSNAP_FIELD_NEEDED

static const struct psnap_field certificate_fields[] = {
    {"psnap", PSNAP_FIELD_TEXT, PSNAP_AT(struct psnap_certificate, version),
     .rules = PSNAP_FIELD_NEEDED},
    {"seed", FIELD_UINT(struct psnap_certificate, seed), .high = UINT64_MAX,
     .rules = PSNAP_FIELD_ALWAYS},
    {"content", FIELD_FORM(read_content, write_content), .rules = PSNAP_FIELD_NEEDED},
    {"relevant_loops", FIELD_COUNT(struct psnap_certificate, relevant_loops),
     .rules = PSNAP_FIELD_ALWAYS},
    {"machines", FIELD_FORM(read_machines, write_machines)},
    {"levels", ROWS(level), .record = &level_record},
    {"rows", ROWS(row), .record = &row_record},
    {"worst_loop", PSNAP_FIELD_RECORD, .record = &worst_record},
};
const struct psnap_record certificate_record =
    PSNAP_RECORD("certificate", certificate_fields, BLOCK);
