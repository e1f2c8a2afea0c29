/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The file of a profile as a whole (profile/FORMAT.md): what stands at its root, `program`,
 * `capture` and `totals`. Reading is strict: unknown keys, missing fields, values out of range and
 * fields that contradict each other are errors with file, line and column. Derived fields may be
 * left out; where they stand they are checked against what they derive from. Memory is in
 * proportion to the input: nothing is unfolded, and counts are only numbers.
 *
 * What is written is small: maps and lists in flow style, so that a region is a handful of lines.
 * Left out is what is unknown, and what is zero where that is the default.
 */
#include "profile/yaml/fields.h"

#include <inttypes.h>
#include <string.h>

/* ---- program ---- */

static void read_thread(struct psnap_reading *r, const struct psnap_yaml_node *node, void *record)
{
    (void)record;
    if (node->kind != PSNAP_YAML_SCALAR || strcmp(node->text, "all") != 0)
        psnap_read_fail(r, node, "'thread' must be all: a profile is of all threads");
}

static void write_thread(const struct psnap_writing *w, const void *record)
{
    (void)record;
    psnap_yaml_add_text(w->doc, w->map, w->field->key, "all");
}

#define PROGRAM_TEXT(member) PSNAP_FIELD_TEXT, PSNAP_AT(struct psnap_profile, member)

static const struct psnap_field program_fields[] = {
    {"name", PROGRAM_TEXT(provenance.name)},
    {"command", PSNAP_FIELD_TEXTS, PSNAP_AT(struct psnap_profile, provenance.command)},
    {"build_id", PROGRAM_TEXT(provenance.build_id)},
    {"source_language", PROGRAM_TEXT(provenance.source_language)},
    {"compiler", PROGRAM_TEXT(provenance.compiler)},
    {"host", PROGRAM_TEXT(provenance.host)},
    {"recorded", PROGRAM_TEXT(provenance.recorded)},
    {"content", PROGRAM_TEXT(content)},
    {"rank", FIELD_UINT(struct psnap_profile, provenance.rank), .high = UINT32_MAX - 1,
     FIELD_TAG(struct psnap_profile, provenance.has_rank, true)},
    {"ranks", FIELD_UINT(struct psnap_profile, provenance.ranks), 1, UINT32_MAX - 1},
    {"same_ranks", PROGRAM_TEXT(same_ranks)},
    {"thread", FIELD_FORM(read_thread, write_thread)},
};

static void check_program(struct psnap_reading *r, const struct psnap_yaml_node *map, void *record)
{
    const struct psnap_provenance *from = &((struct psnap_profile *)record)->provenance;
    const struct psnap_yaml_node *rank = psnap_yaml_get(map, "rank");
    const struct psnap_yaml_node *ranks = psnap_yaml_get(map, "ranks");

    if (ranks && from->rank >= from->ranks)
        psnap_read_fail(r, rank ? rank : ranks, "'rank' must be less than 'ranks'");
}

static const struct psnap_record program_record = {"program", PSNAP_FIELDS(program_fields),
                                                   PSNAP_YAML_FLOW, .check = check_program};

/* ---- capture ---- */

static const struct psnap_field sampling_fields[] = {
    {"skip", FIELD_COUNT(struct psnap_sampling, skip)},
    {"count", FIELD_COUNT(struct psnap_sampling, count), .missing = UINT64_MAX},
    {"window", FIELD_COUNT(struct psnap_sampling, window)},
    {"period", FIELD_COUNT(struct psnap_sampling, period)},
    {"windows", FIELD_COUNT(struct psnap_sampling, windows)},
    {"run_accesses", FIELD_COUNT(struct psnap_sampling, run_accesses)},
};
static const struct psnap_record sampling_record = PSNAP_RECORD("sampling", sampling_fields, FLOW);

static void read_sampling(struct psnap_reading *r, const struct psnap_yaml_node *node, void *record)
{
    struct psnap_sampling *sampling = &((struct psnap_profile *)record)->sampling;

    psnap_record_read(r, node, &sampling_record, sampling);
    sampling->is_empty = !sampling->count;
    if (sampling->count == UINT64_MAX)
        sampling->count = 0;
    if (!sampling->window != !sampling->period)
        psnap_read_fail(r, node, "'window' and 'period' go together");
    if (sampling->window > sampling->period)
        psnap_read_fail(r, psnap_yaml_get(node, "window"),
                        "'window' is %" PRIu64 ", longer than its period of %" PRIu64,
                        sampling->window, sampling->period);
}

static void write_sampling(const struct psnap_writing *w, const void *record)
{
    struct psnap_sampling sampling = ((const struct psnap_profile *)record)->sampling;

    if (!sampling.skip && !sampling.count && !sampling.window && !sampling.is_empty)
        return;
    if (!sampling.window)
        sampling.windows = sampling.run_accesses = 0;
    if (!sampling.count && !sampling.is_empty)
        sampling.count = UINT64_MAX;
    psnap_record_write(w, w->map, w->field->key, &sampling_record, &sampling);
}

static const struct psnap_field capture_fields[] = {
    {"model", PROGRAM_TEXT(model), .rules = PSNAP_FIELD_NEEDED},
    {"stage", PROGRAM_TEXT(provenance.stage)},
    {"region_gap_bytes", PSNAP_FIELD_SIZE, PSNAP_AT(struct psnap_profile, region_gap_bytes), 1,
     PSNAP_REGION_GAP_MAX, PSNAP_REGION_GAP_DEFAULT, PSNAP_FIELD_ALWAYS},
    {"region_limit", FIELD_UINT(struct psnap_profile, region_limit), PSNAP_REGION_LIMIT_MIN,
     PSNAP_REGION_LIMIT_MAX, PSNAP_REGION_LIMIT_DEFAULT, PSNAP_FIELD_ALWAYS},
    {"roi", PSNAP_FIELD_TEXTS, PSNAP_AT(struct psnap_profile, sampling.regions)},
    {"sampling", FIELD_FORM(read_sampling, write_sampling)},
};

static void check_capture(struct psnap_reading *r, const struct psnap_yaml_node *map, void *record)
{
    const struct psnap_profile *profile = record;

    if (strcmp(profile->model, "psnap") != 0 && strcmp(profile->model, PSNAP_MODEL_NESTS) != 0)
        psnap_read_fail_as(r, psnap_yaml_get(map, "model"), PSNAP_ERROR_UNSUPPORTED,
                           "there is no model '%.60s' in this version, only 'psnap' and '%s': "
                           "record the program again, or make the profile anew from its trace",
                           profile->model, PSNAP_MODEL_NESTS);
}

static const struct psnap_record capture_record = {"capture", PSNAP_FIELDS(capture_fields),
                                                   PSNAP_YAML_FLOW, .check = check_capture};

/* ---- totals ---- */

#define TOTAL(member) FIELD_UINT(struct psnap_profile_totals, member), .high = UINT64_MAX

static const struct psnap_field totals_fields[] = {
    {"accesses", TOTAL(accesses), .rules = PSNAP_FIELD_ALWAYS},
    {"loads", TOTAL(loads), .rules = PSNAP_FIELD_ALWAYS},
    {"stores", TOTAL(stores), .rules = PSNAP_FIELD_ALWAYS},
    {"atomics", TOTAL(atomics)},
    {"bytes", TOTAL(bytes), .rules = PSNAP_FIELD_ALWAYS},
    {"operations", PSNAP_FIELD_RECORD, PSNAP_AT(struct psnap_profile_totals, operations),
     .record = &operations_record},
};
static const struct psnap_record totals_record = PSNAP_RECORD("totals", totals_fields, FLOW);

static void read_totals(struct psnap_reading *r, const struct psnap_yaml_node *map,
                        const struct psnap_yaml_node *loops)
{
    struct psnap_profile_totals totals, ignored;
    const struct psnap_yaml_node *node;
    uint64_t stated, has;

    psnap_record_read(r, map, &totals_record, &ignored);
    if (r->status)
        return;
    psnap_profile_totals(profile_of(r)->profile, &totals);
    node = psnap_record_differs(r, map, &totals_record, &totals, &stated, &has);
    if (!node)
        node = psnap_record_differs(r, psnap_yaml_get(map, "operations"), &operations_record,
                                    totals.operations, &stated, &has);
    if (node)
        psnap_read_fail(r, node,
                        "'%s' is %" PRIu64 ", but the loops (line %" PRIu32 ") add up to %" PRIu64
                        "; correct 'totals' or delete it",
                        node->key, stated, loops->src_line, has);
}

/* ---- all of it ---- */

static void write_version(const struct psnap_writing *w, const void *record)
{
    (void)record;
    psnap_yaml_add_u64(w->doc, w->map, w->field->key, PSNAP_PROFILE_VERSION);
}

static void write_totals(const struct psnap_writing *w, const void *record)
{
    struct psnap_profile_totals totals;

    psnap_profile_totals(record, &totals);
    psnap_record_write(w, w->map, w->field->key, &totals_record, &totals);
}

static const char *loop_id(const void *profile, uint32_t index)
{
    return ((const struct psnap_profile *)profile)->loops[index].id;
}

static void write_schedule(const struct psnap_writing *w, const void *record)
{
    const struct psnap_profile *profile = record;

    if (profile->stream)
        write_model(w);
    else
        write_sequence(w, psnap_write_list(w), &profile->schedule, loop_id, profile);
}

static void write_sealed(const struct psnap_writing *w, const void *record)
{
    const struct psnap_profile *profile = record;

    if (profile->certificate)
        psnap_record_write(w, w->map, w->field->key, &certificate_record, profile->certificate);
}

/* Loops, which may be very many, come into this list one by one. */
static void write_loops(const struct psnap_writing *w, const void *record)
{
    (void)record;
    psnap_yaml_add_sequence(w->doc, w->map, w->field->key, PSNAP_YAML_BLOCK);
}

static const struct psnap_field root_fields[] = {
    {"psnap", FIELD_FORM(NULL, write_version)},
    {"program", PSNAP_FIELD_RECORD, .record = &program_record},
    {"capture", PSNAP_FIELD_RECORD, .record = &capture_record, .rules = PSNAP_FIELD_NEEDED},
    {"totals", FIELD_FORM(NULL, write_totals)},
    {"schedule", FIELD_FORM(NULL, write_schedule)},
    {"chains", PSNAP_FIELD_FORM},
    {"objects", PSNAP_FIELD_FORM},
    {"certificate", FIELD_FORM(NULL, write_sealed)},
    {"loops", FIELD_FORM(NULL, write_loops), .rules = PSNAP_FIELD_NEEDED},
};
static const struct psnap_record root_record = PSNAP_RECORD("a profile", root_fields, BLOCK);

static void read_version(struct psnap_reading *r, const struct psnap_yaml_node *root)
{
    const struct psnap_yaml_node *node = psnap_yaml_get(root, "psnap");
    uint64_t version;

    if (psnap_read_is(r, root, PSNAP_YAML_MAP, "a profile") && !node)
        psnap_read_fail(r, root, "not a profile: the key 'psnap' with its version is missing");
    version = psnap_read_u64(r, node, 1, UINT64_MAX);
    if (version != PSNAP_PROFILE_VERSION)
        psnap_read_fail_as(r, node, PSNAP_ERROR_VERSION,
                           "written by a newer psnap (format %" PRIu64 ", this one reads %d)",
                           version, PSNAP_PROFILE_VERSION);
}

static void read_root(struct psnap_reading *r, const struct psnap_yaml_node *root)
{
    const struct psnap_yaml_node *totals = psnap_yaml_get(root, "totals");
    const struct psnap_yaml_node *certificate = psnap_yaml_get(root, "certificate");
    const struct psnap_yaml_node *loops = psnap_yaml_get(root, "loops");
    struct profile_reading *p = profile_of(r);

    read_version(r, root);
    psnap_record_read(r, root, &root_record, p->profile);
    if (!psnap_read_is(r, loops, PSNAP_YAML_SEQUENCE, "loops"))
        return;
    if (loops->count > PSNAP_PROFILE_LOOPS_MAX)
        psnap_read_fail_as(r, loops, PSNAP_ERROR_MEMORY, "more than %u loops",
                           PSNAP_PROFILE_LOOPS_MAX);
    if (!strcmp(p->profile->model, PSNAP_MODEL_NESTS)) {
        p->model = p->profile->stream = model_new();
        psnap_read_has(r, p->model);
    }
    read_names(r, loops, &p->loops);
    read_loops(r, loops);
    if (p->model) {
        read_model(r, root, loops);
        check_loops(r, loops);
    } else
        read_visits(r, root, loops);
    if (totals)
        read_totals(r, totals, loops);
    if (certificate) {
        p->profile->certificate = psnap_read_alloc(r, 1, sizeof *p->profile->certificate);
        psnap_record_read(r, certificate, &certificate_record, p->profile->certificate);
    }
}

struct psnap_profile *psnap_profile_read_document(const struct psnap_yaml_doc *doc,
                                                  struct psnap_error *error)
{
    struct profile_reading p = {psnap_profile_new()};
    struct psnap_reading r = {
        .doc = doc, .scratch = psnap_arena_new(), .error = error, .context = &p};

    if (psnap_read_has(&r, p.profile) && psnap_read_has(&r, r.scratch)) {
        r.arena = p.profile->arena;
        read_root(&r, psnap_yaml_root(doc));
    }
    psnap_arena_free(r.scratch);
    if (!r.status)
        return p.profile;
    psnap_profile_free(p.profile);
    return NULL;
}

struct psnap_profile *psnap_profile_read(FILE *file, const char *name, struct psnap_error *error)
{
    struct psnap_yaml_doc *doc = psnap_yaml_read(file, name, error);
    struct psnap_profile *profile = doc ? psnap_profile_read_document(doc, error) : NULL;

    psnap_yaml_doc_free(doc);
    return profile;
}

enum {
    MANY = 256, /* regions: then */
    FEW = 1000  /* what has less than one in so many accesses is written in short */
};

static void write_next_loop(void *context, struct psnap_yaml_doc *doc)
{
    struct profile_writing *p = context;
    const struct psnap_writing w = {doc, p};

    p->loop = &p->profile->loops[p->next++];
    write_loop(&w, p->loop);
}

enum psnap_status psnap_profile_write(const struct psnap_profile *profile, FILE *file,
                                      struct psnap_error *error)
{
    struct profile_writing p = {.profile = profile};
    const struct psnap_writing w = {psnap_yaml_doc_new("profile"), &p};
    struct psnap_profile_totals totals;
    struct psnap_yaml_node *root;
    uint64_t regions = 0;
    enum psnap_status status = PSNAP_ERROR_MEMORY;

    if (!w.doc ||
        (profile->stream && !model_index_init(&p.by_loop, profile->stream, profile->loop_count))) {
        psnap_error_set(error, status, "out of memory");
        goto out;
    }
    psnap_profile_totals(profile, &totals);
    for (uint32_t i = 0; i < profile->loop_count; i++)
        regions += profile->loops[i].region_count;
    p.few = profile->stream && regions > MANY ? totals.accesses / FEW : 0;
    root = psnap_record_write(&w, NULL, NULL, &root_record, profile);
    status = psnap_yaml_write_list(w.doc, psnap_yaml_get(root, "loops"), write_next_loop, &p,
                                   profile->loop_count, file, error);
out:
    model_index_release(&p.by_loop);
    psnap_yaml_doc_free(w.doc);
    return status;
}
