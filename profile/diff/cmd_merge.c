/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * psnap merge: the profiles of a parallel job's ranks as one. Ranks do the same, mostly: profiles
 * of the same content (everything that is replayed or derived from it; not what describes the
 * recording) are a group, and of the largest group one profile is written, which says for which
 * ranks it stands. The others are named, with how far they are from that one (diff.c: the
 * share of the accesses that do something else) and in what. A group that is at most --alike away
 * is folded, too; what is left are outliers. Where memory lies is named, but no distance.
 *
 * Profiles are read one after the other, and of each only a checksum is kept; the first of each
 * group is read once more to be compared with the largest one's.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/cmd.h"
#include "formats/base/cmd_progress.h"
#include "formats/base/json.h"
#include "formats/base/output.h"
#include "profile/diff/diff.h"
#include "replay/cmd_input.h"

/* A profile that was read. */
struct member {
    uint64_t content;
    uint32_t number; /* its rank, or where it has none, that on the command line */
};

/* Profiles of the same content. */
struct group {
    uint64_t content, accesses;
    const char *path; /* of the first */
    size_t count;
    uint32_t lowest;      /* number */
    double apart;         /* from the largest group, 0 to 1 */
    const char *furthest; /* the loop that is; NULL: none */
    unsigned changes;     /* what is different, bits */
    bool is_folded;
};

struct merge {
    struct psnap_arena *arena;
    char *const *paths;
    size_t profiles, count; /* and groups */
    struct member *members; /* by number, once all are there */
    struct group *groups;   /* the largest first, once all are there */
    struct psnap_profile *largest;
    bool has_ranks;
    double alike;
};

static enum psnap_status out_of_memory(struct psnap_error *error)
{
    return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for profiles");
}

/* -------------------------------------------------------------------- reading */

static int by_number(const void *a, const void *b)
{
    const struct member *p = a, *q = b;

    return (p->number > q->number) - (p->number < q->number);
}

/* The larger one first, of two alike that of the lower number. */
static int by_size(const void *a, const void *b)
{
    const struct group *p = a, *q = b;

    if (p->count != q->count)
        return p->count < q->count ? 1 : -1;
    return (p->lowest > q->lowest) - (p->lowest < q->lowest);
}

static struct group *group_of(const struct merge *merge, uint64_t content)
{
    struct group *group = merge->groups;

    while (group < merge->groups + merge->count && group->content != content)
        group++;
    return group;
}

static enum psnap_status add_profile(struct merge *merge, size_t index, struct psnap_error *error)
{
    struct member *member = &merge->members[index];
    struct psnap_profile *profile = psnap_input_read_profile(merge->paths[index], error);
    struct psnap_profile_totals totals;
    enum psnap_status status;
    struct group *group;

    if (!profile)
        return error->code;
    status = psnap_profile_content(profile, &member->content, error);
    if (!status && index && profile->provenance.has_rank != merge->has_ranks) {
        status = psnap_error_set(error, PSNAP_ERROR_VALUE,
                                 "some of the profiles have a rank, others not");
        psnap_error_at(error, merge->paths[index], 0, 0);
    }
    merge->has_ranks = profile->provenance.has_rank;
    member->number = merge->has_ranks ? profile->provenance.rank : (uint32_t)index;
    group = group_of(merge, member->content);
    if (!group->count++) {
        psnap_profile_totals(profile, &totals);
        group->content = member->content;
        group->accesses = totals.accesses;
        group->path = merge->paths[index];
        group->lowest = member->number;
        merge->count++;
    }
    group->lowest = member->number < group->lowest ? member->number : group->lowest;
    psnap_profile_free(profile);
    return status;
}

/* Measures how far a group is from the largest one. */
static enum psnap_status compare(const struct merge *merge, struct group *group,
                                 struct psnap_error *error)
{
    struct psnap_profile *profile = psnap_input_read_profile(group->path, error);
    enum psnap_status status = profile ? PSNAP_OK : error->code;
    struct profile_diff diff;
    struct diff_apart apart = {0};

    if (!status && !(status = profile_diff_init(&diff, merge->largest, profile, error))) {
        if (!diff_measure(&diff, &apart) ||
            (apart.furthest && !(group->furthest = psnap_arena_strndup(merge->arena, apart.furthest,
                                                                       strlen(apart.furthest)))))
            status = out_of_memory(error);
        profile_diff_release(&diff);
    }
    group->apart = apart.share;
    group->changes = apart.changes;
    group->is_folded = apart.share <= merge->alike;
    psnap_profile_free(profile);
    return status;
}

static enum psnap_status compare_all(struct merge *merge, struct psnap_error *error)
{
    struct psnap_progress *progress = psnap_progress_of(merge->profiles, "profiles");
    enum psnap_status status = PSNAP_OK;

    for (size_t i = 0; i < merge->profiles && !status; i++) {
        status = add_profile(merge, i, error);
        psnap_progress_add(progress, 1);
    }
    psnap_progress_free(progress);
    if (status)
        return status;
    qsort(merge->members, merge->profiles, sizeof *merge->members, by_number);
    qsort(merge->groups, merge->count, sizeof *merge->groups, by_size);
    merge->largest = psnap_input_read_profile(merge->groups[0].path, error);
    status = merge->largest ? PSNAP_OK : error->code;
    merge->groups[0].is_folded = true;
    for (size_t i = 1; i < merge->count && !status; i++)
        status = compare(merge, &merge->groups[i], error);
    return status;
}

/* -------------------------------------------------------------------- telling */

/* "0-12,14": the numbers of a group, or (NULL) of all that are folded; the caller frees it. NULL:
 * out of memory. */
static char *numbers_text(const struct merge *merge, const struct group *group)
{
    char *text = NULL;
    uint32_t first = 0, last = 0;
    size_t size, n = 0;
    FILE *file = open_memstream(&text, &size);

    for (size_t i = 0; i < merge->profiles && file; i++) {
        const struct group *its = group_of(merge, merge->members[i].content);
        const uint32_t number = merge->members[i].number;
        if (group ? its != group : !its->is_folded)
            continue;
        if (n && number > last + 1 && last != first)
            fprintf(file, "-%" PRIu32, last);
        if (!n++ || number > last + 1)
            fprintf(file, "%s%" PRIu32, n > 1 ? "," : "", first = number);
        last = number;
    }
    if (file && last != first)
        fprintf(file, "-%" PRIu32, last);
    if (file && fclose(file)) {
        free(text);
        return NULL;
    }
    return text;
}

/* Names a group's changes, by number from 0 on, what moves hit rates most first; NULL: that was
 * all. Regions differ in what is named anyway. */
static const char *change_name(const struct group *group, unsigned number)
{
    static const unsigned first[] = {DIFF_MODEL,
                                     DIFF_ACCESSES | DIFF_WORKING_SET | DIFF_STRIDES | DIFF_REUSE,
                                     DIFF_ORDER, ~(unsigned)DIFF_REGIONS};
    unsigned left = group->changes;

    for (unsigned i = 0; i < 4; left &= ~first[i++])
        for (unsigned bit = 0; bit < DIFF_CHANGES; bit++)
            if (left & first[i] & 1U << bit && !number--)
                return diff_change_names[bit];
    return NULL;
}

/* "accesses, strides, order, 2 more" */
static void changes_text(const struct group *group, char text[128])
{
    enum { NAMED = 3 };
    size_t used = 0;
    unsigned n = 0;

    for (const char *name; (name = change_name(group, n)); n++)
        if (n < NAMED)
            used += (size_t)snprintf(text + used, 32, "%s%s", n ? ", " : "", name);
    if (n > NAMED)
        snprintf(text + used, 32, ", %u more", n - NAMED);
    if (!n)
        snprintf(text, 32, "other fields");
}

static void print_table(const struct merge *merge)
{
    const char *const headings[] = {"profiles", merge->has_ranks ? "ranks" : "numbers",
                                    "accesses", "apart %",
                                    "furthest", "differs in",
                                    ""};
    struct psnap_table *table = psnap_table_new(7, headings);
    char text[128];

    psnap_table_align_right(table, 0);
    psnap_table_align_right(table, 2);
    psnap_table_align_right(table, 3);
    psnap_table_shorten(table, 1);
    for (const struct group *g = merge->groups; g < merge->groups + merge->count; g++) {
        const bool is_largest = g == merge->groups, is_order = g->apart > 0 && !g->furthest;
        char *numbers = numbers_text(merge, g);
        psnap_table_cell(table, "%zu", g->count);
        psnap_table_cell(table, "%s", numbers ? numbers : "?");
        psnap_table_cell(table, "%s", psnap_group_digits(g->accesses, text));
        psnap_table_cell(table, g->apart > 0 && g->apart < 5e-6 ? "<0.001" : "%.3f",
                         100 * g->apart);
        psnap_table_cell(table, "%s",
                         g->furthest                              ? g->furthest
                         : is_order && !(g->changes & DIFF_MODEL) ? "(order)"
                                                                  : "");
        changes_text(g, text);
        psnap_table_cell(table, "%s", is_largest ? "" : text);
        psnap_table_cell(table, "%s", is_largest ? "written" : g->is_folded ? "folded" : g->path);
        free(numbers);
    }
    psnap_table_print(table, stdout);
    psnap_table_free(table);
}

static void print_json(const struct merge *merge)
{
    struct psnap_json json;

    psnap_cmd_begin_json(&json, stdout, "merge");
    psnap_json_begin_array(&json, "groups");
    for (const struct group *g = merge->groups; g < merge->groups + merge->count; g++) {
        psnap_json_begin_object(&json, NULL);
        psnap_json_text(&json, "first", g->path);
        psnap_json_begin_array(&json, merge->has_ranks ? "ranks" : "numbers");
        for (size_t i = 0; i < merge->profiles; i++)
            if (merge->members[i].content == g->content)
                psnap_json_u64(&json, NULL, merge->members[i].number);
        psnap_json_end_array(&json);
        psnap_json_u64(&json, "accesses", g->accesses);
        psnap_json_real(&json, "apart", g->apart);
        if (g->furthest)
            psnap_json_text(&json, "furthest", g->furthest);
        psnap_json_begin_array(&json, "changes");
        for (unsigned k = 0; change_name(g, k); k++)
            psnap_json_text(&json, NULL, change_name(g, k));
        psnap_json_end_array(&json);
        psnap_json_bool(&json, "folded", g->is_folded);
        psnap_json_end_object(&json);
    }
    psnap_json_end_array(&json);
    psnap_json_end_object(&json);
    putchar('\n');
}

/* -------------------------------------------------------------------- writing */

static enum psnap_status write_merged(const struct merge *merge, struct psnap_output *output,
                                      struct psnap_error *error)
{
    char *ranks = merge->has_ranks ? numbers_text(merge, NULL) : NULL;
    enum psnap_status status = merge->has_ranks && !ranks ? out_of_memory(error) : PSNAP_OK;

    merge->largest->provenance.has_rank = false;
    merge->largest->same_ranks = ranks;
    if (!status)
        status = psnap_profile_write(merge->largest, psnap_output_file(output), error);
    free(ranks);
    return status;
}

static int run(struct merge *merge, const char *path, bool force, bool json)
{
    struct psnap_error error;
    struct psnap_output *output = psnap_output_open(path, force, &error);
    enum psnap_status status = output ? PSNAP_OK : error.code;

    merge->arena = psnap_arena_new();
    if (merge->arena) {
        merge->members = psnap_arena_alloc(merge->arena, merge->profiles * sizeof *merge->members);
        merge->groups =
            psnap_arena_alloc(merge->arena, (merge->profiles + 1) * sizeof *merge->groups);
    }
    if (!status && !(merge->members && merge->groups))
        status = out_of_memory(&error);
    if (!status)
        status = compare_all(merge, &error);
    if (!status)
        status = write_merged(merge, output, &error);
    if (!status)
        status = psnap_output_commit(output, &error);
    else
        psnap_output_abandon(output);
    if (!status)
        (json ? print_json : print_table)(merge);
    psnap_profile_free(merge->largest);
    psnap_arena_free(merge->arena);
    return status ? psnap_cmd_fail("merge", &error)
                  : psnap_cmd_close_stdout("merge", PSNAP_EXIT_DONE);
}

int psnap_cmd_merge(int argc, char **argv)
{
    struct merge merge = {.alike = 0.01};
    const char *output = NULL;
    bool json = false, force = false;
    const struct psnap_option options[] = {
        {PSNAP_OPTION_TEXT, 'o', "output", &output, "M.yaml", "where to"},
        {PSNAP_OPTION_REAL, 0, "alike", &merge.alike, "SHARE",
         "fold profiles of which at most this share of the accesses does something else (0.01)"},
        {PSNAP_OPTION_FLAG, 0, "force", &force, NULL, "overwrite M.yaml"},
        {PSNAP_OPTION_FLAG, 0, "json", &json, NULL, "print JSON"},
        {.type = PSNAP_OPTION_END},
    };
    const struct psnap_usage usage = {
        "psnap merge P.yaml... -o M.yaml [--alike SHARE] [--json]",
        "The profiles of a parallel job's ranks (psnap record -o P.%r.yaml) as one: those\n"
        "of the same content are a group, of the largest one is written, with the ranks that\n"
        "it stands for, and those that are nearly the same are folded. A table names the\n"
        "others: the share of the accesses that do something else (counts, working sets,\n"
        "strides, reuse, trip counts, order of loops), the loop that is furthest, and what is\n"
        "different. Where memory lies is named, but is no distance.",
        options};
    int status;
    const int operands = psnap_options_parse(argc, argv, &usage, false, &status);

    if (operands < 0)
        return status;
    if (!operands || !output || psnap_output_is_stdout(output) || merge.alike < 0)
        return psnap_cmd_usage("merge", !operands         ? "which profiles?"
                                        : merge.alike < 0 ? "--alike wants a share, as 0.01"
                                                          : "-o M.yaml is missing, or no file");
    merge.paths = argv + 1;
    merge.profiles = (size_t)operands;
    return run(&merge, output, force, json);
}
