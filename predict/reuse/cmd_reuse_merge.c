/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * psnap reuse --merge PART...: parts of one stream, which are there once each, become what the
 * stream has as a whole. They are merged in the stream's order (measure_merge()), one in memory at
 * a time; before that all are read once, so that what is missing is said at once.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "predict/reuse/cmd_reuse.h"
#include "predict/reuse/cmd_reuse_part.h"

struct merge {
    char *const *paths;
    struct part_facts *facts; /* of each path; texts of the first one alone */
    size_t *of_part;          /* the path of each part, SIZE_MAX: none */
    struct psnap_reuse_options options;
    struct measure *whole;
    struct names names[PSNAP_SCOPE_COUNT];
};

static enum psnap_status refuse(const char *path, struct psnap_error *error)
{
    psnap_error_at(error, path, 0, 0);
    return PSNAP_ERROR_VALUE;
}

/* Whether two parts are of one stream, measured in the same way; `path` is of the other one. */
static enum psnap_status compare(const struct merge *merge, const struct part_facts *other,
                                 const char *path, struct psnap_error *error)
{
    const struct part_facts *facts = &merge->facts[0];
    const char *what = NULL;

    if (!repo_id_is_same(&facts->id, &other->id) || facts->bytes != other->bytes) {
        psnap_error_set(error, PSNAP_ERROR_VALUE,
                        "a part of '%.150s', and '%.150s' is one of '%.100s', another input",
                        other->path, merge->paths[0], facts->path);
        return refuse(path, error);
    }
    if (facts->parts != other->parts)
        what = "number of parts";
    else if (facts->line_bytes != other->line_bytes)
        what = "--line";
    else if (facts->scopes != other->scopes)
        what = "--by";
    else if (facts->seed != other->seed)
        what = "--seed";
    else if (facts->skip != other->skip || facts->count != other->count)
        what = "--skip or --count";
    else if (strcmp(facts->from, other->from) != 0)
        what = "--from";
    else if (facts->total != other->total)
        what = "number of accesses";
    if (!what)
        return PSNAP_OK;
    psnap_error_set(error, PSNAP_ERROR_VALUE, "a part with another %s than '%.200s'", what,
                    merge->paths[0]);
    return refuse(path, error);
}

/* Reads what a part is, and that it is whole. */
static enum psnap_status look(struct merge *merge, size_t i, struct psnap_error *error)
{
    const char *path = merge->paths[i];
    struct part part;
    enum psnap_status status = part_open(&part, path, error);

    if (!status && !i) {
        merge->of_part = malloc((size_t)part.facts.parts * sizeof *merge->of_part);
        if (!merge->of_part)
            status = psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for parts");
        for (uint64_t k = 0; !status && k < part.facts.parts; k++)
            merge->of_part[k] = SIZE_MAX;
    }
    if (!status && i)
        status = compare(merge, &part.facts, path, error);
    if (!status && merge->of_part[part.facts.part - 1] != SIZE_MAX) {
        psnap_error_set(error, PSNAP_ERROR_VALUE,
                        "part %" PRIu64 " of %" PRIu64 ", and so is '%.200s'", part.facts.part,
                        part.facts.parts, merge->paths[merge->of_part[part.facts.part - 1]]);
        status = refuse(path, error);
    }
    if (!status) {
        merge->of_part[part.facts.part - 1] = i;
        merge->facts[i] = part.facts;
        if (i)
            merge->facts[i].path = merge->facts[i].from = NULL;
        else
            part.facts.path = part.facts.from = NULL; /* they are ours now */
    }
    part_release(&part);
    return status;
}

/* All parts are there, and each begins where the one before ends. */
static enum psnap_status check(const struct merge *merge, struct psnap_error *error)
{
    const struct part_facts *facts = &merge->facts[0];
    uint64_t at = 0;

    for (uint64_t k = 0; k < facts->parts; k++) {
        const size_t i = merge->of_part[k];
        if (i == SIZE_MAX)
            return psnap_error_set(error, PSNAP_ERROR_VALUE,
                                   "part %" PRIu64 " of %" PRIu64 " of '%.200s' is missing: psnap "
                                   "reuse '%.200s' --part %" PRIu64 "/%" PRIu64 " makes it",
                                   k + 1, facts->parts, facts->path, facts->path, k + 1,
                                   facts->parts);
        if (merge->facts[i].first != at) {
            psnap_error_set(error, PSNAP_ERROR_VALUE,
                            "the part begins at access %" PRIu64 ", and what is before it ends at "
                            "%" PRIu64,
                            merge->facts[i].first, at);
            return refuse(merge->paths[i], error);
        }
        at += merge->facts[i].accesses;
    }
    if (at == facts->total)
        return PSNAP_OK;
    psnap_error_set(error, PSNAP_ERROR_VALUE,
                    "the parts have %" PRIu64 " accesses, of %" PRIu64 " that there were", at,
                    facts->total);
    return refuse(facts->path, error);
}

/* -------------------------------------------------------------------- measuring */

/* What says that there are tags; they are in the parts. */
static enum psnap_status no_tag(void *context, const struct psnap_access *block, size_t n,
                                uint32_t *rows, struct psnap_error *error)
{
    (void)context;
    (void)block;
    (void)n;
    (void)rows;
    return psnap_error_set(error, PSNAP_ERROR_UNSUPPORTED, "parts have their tags");
}

static enum psnap_status add_part(struct merge *merge, const char *path, struct psnap_error *error)
{
    struct measure *chunk = measure_new(&merge->options, true);
    struct part part;
    enum psnap_status status = part_open(&part, path, error);

    if (!status && chunk)
        status = part_load(&part, path, chunk, merge->names, error);
    part_release(&part);
    if (!status && (!chunk || !measure_merge(merge->whole, chunk) ||
                    !measure_add_counts(merge->whole, chunk))) {
        psnap_error_set(error, PSNAP_ERROR_MEMORY,
                        measure_is_full(merge->whole)
                            ? "too many lines for reuse distances: measure with longer lines"
                            : "out of memory for reuse distances");
        psnap_error_at(error, path, 0, 0);
        status = PSNAP_ERROR_MEMORY;
    }
    measure_free(chunk);
    return status;
}

/* What is reported of the whole. */
static enum psnap_status report_whole(struct merge *merge, struct reuse_report *report,
                                      struct psnap_error *error)
{
    struct part_facts *facts = &merge->facts[0];
    enum psnap_status status = PSNAP_OK;

    report->accesses = facts->total;
    report->line_bytes = facts->line_bytes;
    report->threads = measure_threads(merge->whole);
    report->lines = measure_lines(merge->whole);
    report->input = facts->path;
    facts->path = NULL;
    for (int i = 0; i < PSNAP_SCOPE_COUNT && !status; i++) {
        const enum psnap_scope scope = (enum psnap_scope)i;
        if (facts->scopes >> i & 1)
            status = names_add_rows(&merge->names[i], scope,
                                    measure_view(merge->whole, psnap_scope_view(scope)),
                                    &report->rows, error);
    }
    return status;
}

static enum psnap_status measure_whole(struct merge *merge, struct reuse_report *report,
                                       struct psnap_error *error)
{
    const struct part_facts *facts = &merge->facts[0];
    const double start = reuse_now();
    enum psnap_status status = PSNAP_OK;

    merge->options.line_bytes = facts->line_bytes;
    merge->options.by_thread = facts->scopes >> PSNAP_SCOPE_THREAD & 1;
    merge->options.tagger = facts->scopes >> PSNAP_SCOPE_REGION & 1 ? no_tag : NULL;
    merge->whole = measure_new(&merge->options, false);
    if (!merge->whole)
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for reuse distances");
    for (uint64_t k = 0; k < facts->parts && !status; k++) {
        report->seconds += 1e-9 * (double)merge->facts[merge->of_part[k]].nanoseconds;
        status = add_part(merge, merge->paths[merge->of_part[k]], error);
    }
    report->seconds += reuse_now() - start;
    return status ? status : report_whole(merge, report, error);
}

enum psnap_status reuse_merge(char *const *paths, size_t count, struct reuse_report *report,
                              struct psnap_error *error)
{
    struct merge merge = {.paths = paths};
    enum psnap_status status = PSNAP_OK;

    merge.facts = calloc(count, sizeof *merge.facts);
    if (!merge.facts)
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for parts");
    for (size_t i = 0; i < count && !status; i++)
        status = look(&merge, i, error);
    if (!status)
        status = check(&merge, error);
    if (!status)
        status = measure_whole(&merge, report, error);
    for (int i = 0; i < PSNAP_SCOPE_COUNT; i++)
        names_release(&merge.names[i]);
    measure_free(merge.whole);
    free(merge.facts[0].path);
    free(merge.facts[0].from);
    free(merge.facts);
    free(merge.of_part);
    return status;
}
