/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * psnap merge: the profiles of a parallel job's ranks as one. Ranks do the same, mostly: profiles
 * of the same content (everything that is replayed or derived from it; not what describes the
 * recording) are a group, and of the largest group one profile is written, which says for which
 * ranks it stands. The others are named, with how far they are from that one (diff_apart.c: the
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

/* Profiles of the same content. */
struct group {
    uint64_t content, accesses;
    const char *path;  /* of the first */
    uint32_t *members; /* ranks, or where they have none, numbers of the command line */
    size_t count;
    double apart;     /* from the largest group, 0 to 1 */
    char *furthest;   /* the loop that is; NULL: none */
    unsigned changes; /* what is different, bits */
    bool has_other_order, has_other_model, is_largest, is_folded;
};

struct merge {
    struct group *groups; /* the largest first, once all are there */
    size_t count;
    bool has_ranks;
    uint32_t ranks; /* that there were, as profiles say; 0: unknown */
    double alike;
};

static enum psnap_status out_of_memory(struct psnap_error *error)
{
    return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for profiles");
}

/* -------------------------------------------------------------------- reading */

static bool add_member(struct group *group, uint32_t member)
{
    uint32_t *members;

    if (group->count & (group->count - 1)) { /* there is room up to a power of two */
        group->members[group->count++] = member;
        return true;
    }
    members = realloc(group->members, (2 * group->count + 1) * sizeof *members);
    if (!members)
        return false;
    group->members = members;
    members[group->count++] = member;
    return true;
}

/* The group of this content, made if need be; NULL: out of memory. */
static struct group *group_of(struct merge *merge, uint64_t content, const char *path,
                              const struct psnap_profile *profile)
{
    struct psnap_profile_totals totals;
    struct group *group;

    for (size_t i = 0; i < merge->count; i++)
        if (merge->groups[i].content == content)
            return &merge->groups[i];
    group = realloc(merge->groups, (merge->count + 1) * sizeof *group);
    if (!group)
        return NULL;
    merge->groups = group;
    group = &merge->groups[merge->count++];
    psnap_profile_totals(profile, &totals);
    *group = (struct group){.content = content, .accesses = totals.accesses, .path = path};
    return group;
}

static enum psnap_status add_profile(struct merge *merge, const char *path, uint32_t number,
                                     struct psnap_error *error)
{
    struct psnap_profile *profile = psnap_input_read_profile(path, error);
    const struct psnap_provenance *from = profile ? &profile->provenance : NULL;
    enum psnap_status status;
    struct group *group;
    uint64_t content;

    if (!profile)
        return error->code;
    status = psnap_profile_content(profile, &content, error);
    if (!status && number && from->has_rank != merge->has_ranks) {
        status = psnap_error_set(error, PSNAP_ERROR_VALUE,
                                 "some of the profiles have a rank, others not");
        psnap_error_at(error, path, 0, 0);
    }
    merge->has_ranks = from->has_rank;
    merge->ranks = from->ranks > merge->ranks ? from->ranks : merge->ranks;
    group = status ? NULL : group_of(merge, content, path, profile);
    if (!status && (!group || !add_member(group, from->has_rank ? from->rank : number)))
        status = out_of_memory(error);
    psnap_profile_free(profile);
    return status;
}

/* ------------------------------------------------------------------- comparing */

static int compare_members(const void *a, const void *b)
{
    const uint32_t one = *(const uint32_t *)a, other = *(const uint32_t *)b;

    return (one > other) - (one < other);
}

/* The larger one first, of two alike that of the lower rank. */
static int compare_groups(const void *a, const void *b)
{
    const struct group *one = a, *other = b;

    if (one->count != other->count)
        return one->count < other->count ? 1 : -1;
    return (one->members[0] > other->members[0]) - (one->members[0] < other->members[0]);
}

/* How far a group is from the largest one, whose profile is given. */
static enum psnap_status compare(const struct psnap_profile *largest, double alike,
                                 struct group *group, struct psnap_error *error)
{
    struct psnap_profile *profile = psnap_input_read_profile(group->path, error);
    enum psnap_status status = profile ? PSNAP_OK : error->code;
    struct profile_diff diff;
    struct diff_apart apart;

    if (status || (status = profile_diff_init(&diff, largest, profile, error)))
        goto out;
    if (!diff_measure(&diff, &apart) ||
        (apart.furthest && !(group->furthest = strdup(apart.furthest))))
        status = out_of_memory(error);
    group->apart = apart.share;
    group->changes = apart.changes;
    group->has_other_order = apart.has_other_order;
    group->has_other_model = apart.has_other_model;
    group->is_folded = apart.share <= alike;
    profile_diff_release(&diff);
out:
    psnap_profile_free(profile);
    return status;
}

static enum psnap_status compare_all(struct merge *merge, struct psnap_error *error)
{
    struct psnap_profile *largest = psnap_input_read_profile(merge->groups[0].path, error);
    struct psnap_progress *progress = psnap_progress_of(merge->count, "groups");
    enum psnap_status status = largest ? PSNAP_OK : error->code;

    merge->groups[0].is_largest = merge->groups[0].is_folded = true;
    for (size_t i = 1; i < merge->count && !status; i++) {
        status = compare(largest, merge->alike, &merge->groups[i], error);
        psnap_progress_add(progress, 1);
    }
    psnap_progress_free(progress);
    psnap_profile_free(largest);
    return status;
}

/* -------------------------------------------------------------------- telling */

/* "0-12,14": members in order; the caller frees it. NULL: out of memory. */
static char *members_text(const uint32_t *members, size_t n)
{
    char *text = NULL;
    size_t size;
    FILE *file = open_memstream(&text, &size);

    for (size_t i = 0, end; i < n && file; i = end) {
        for (end = i + 1; end < n && members[end] <= members[end - 1] + 1;)
            end++;
        fprintf(file, "%s%" PRIu32, i ? "," : "", members[i]);
        if (members[end - 1] != members[i])
            fprintf(file, "-%" PRIu32, members[end - 1]);
    }
    if (!file || fclose(file) != 0)
        return NULL;
    return text;
}

/* The members of all groups that are folded; the caller frees it. */
static char *folded_text(const struct merge *merge)
{
    size_t all = 0, n = 0;
    uint32_t *members;
    char *text;

    for (size_t i = 0; i < merge->count; i++)
        all += merge->groups[i].is_folded ? merge->groups[i].count : 0;
    members = malloc((all + !all) * sizeof *members);
    for (size_t i = 0; i < merge->count && members; i++)
        if (merge->groups[i].is_folded) {
            memcpy(members + n, merge->groups[i].members, merge->groups[i].count * sizeof *members);
            n += merge->groups[i].count;
        }
    if (members)
        qsort(members, n, sizeof *members, compare_members);
    text = members ? members_text(members, n) : NULL;
    free(members);
    return text;
}

/* What is different, by its number from 0 on, what moves hit rates most first; NULL: that was all.
 * Regions differ in what is named anyway. */
static const char *change_name(const struct group *group, unsigned number)
{
    const unsigned first = DIFF_ACCESSES | DIFF_WORKING_SET | DIFF_STRIDES | DIFF_REUSE;
    const unsigned later = ~first & ~(unsigned)DIFF_REGIONS;

    if (group->has_other_model && !number--)
        return "model";
    for (unsigned bit = 0; bit < DIFF_CHANGES; bit++)
        if (group->changes & first & 1U << bit && !number--)
            return diff_change_name(bit);
    if (group->has_other_order && !number--)
        return "order";
    for (unsigned bit = 0; bit < DIFF_CHANGES; bit++)
        if (group->changes & later & 1U << bit && !number--)
            return diff_change_name(bit);
    return NULL;
}

/* The first three, and how many more there are. */
static void print_changes(struct psnap_table *table, const struct group *group)
{
    enum { NAMED = 3 };
    char text[128] = "";
    const char *name;
    unsigned n = 0;

    for (; (name = change_name(group, n)); n++)
        if (n < NAMED)
            snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", n ? ", " : "", name);
    if (n > NAMED)
        snprintf(text + strlen(text), sizeof text - strlen(text), ", %u more", n - NAMED);
    psnap_table_cell(table, "%s", *text || group->is_largest ? text : "other fields");
}

static void print_table(const struct merge *merge)
{
    const char *const headings[] = {"profiles", merge->has_ranks ? "ranks" : "numbers",
                                    "accesses", "apart %",
                                    "furthest", "differs in",
                                    ""};
    struct psnap_table *table = psnap_table_new(7, headings);
    char digits[32];

    psnap_table_align_right(table, 0);
    psnap_table_align_right(table, 2);
    psnap_table_align_right(table, 3);
    psnap_table_shorten(table, 1);
    for (size_t i = 0; i < merge->count; i++) {
        const struct group *group = &merge->groups[i];
        char *members = members_text(group->members, group->count);
        psnap_table_cell(table, "%zu", group->count);
        psnap_table_cell(table, "%s", members ? members : "?");
        psnap_table_cell(table, "%s", psnap_group_digits(group->accesses, digits));
        psnap_table_cell(table, group->apart > 0 && group->apart < 5e-6 ? "<0.001" : "%.3f",
                         100 * group->apart);
        psnap_table_cell(table, "%s",
                         group->furthest                               ? group->furthest
                         : group->apart > 0 && !group->has_other_model ? "(order)"
                                                                       : "");
        print_changes(table, group);
        psnap_table_cell(table, "%s",
                         i == 0             ? "written"
                         : group->is_folded ? "folded"
                                            : group->path);
        free(members);
    }
    psnap_table_print(table, stdout);
    psnap_table_free(table);
}

static void print_json(const struct merge *merge)
{
    struct psnap_json json;

    psnap_json_init(&json, stdout);
    psnap_json_begin_object(&json, NULL);
    psnap_json_u64(&json, "psnap", 1);
    psnap_json_text(&json, "command", "merge");
    psnap_json_begin_array(&json, "groups");
    for (size_t i = 0; i < merge->count; i++) {
        const struct group *group = &merge->groups[i];
        psnap_json_begin_object(&json, NULL);
        psnap_json_text(&json, "first", group->path);
        psnap_json_begin_array(&json, merge->has_ranks ? "ranks" : "numbers");
        for (size_t k = 0; k < group->count; k++)
            psnap_json_u64(&json, NULL, group->members[k]);
        psnap_json_end_array(&json);
        psnap_json_u64(&json, "accesses", group->accesses);
        psnap_json_real(&json, "apart", group->apart);
        if (group->furthest)
            psnap_json_text(&json, "furthest", group->furthest);
        psnap_json_begin_array(&json, "changes");
        for (unsigned k = 0; change_name(group, k); k++)
            psnap_json_text(&json, NULL, change_name(group, k));
        psnap_json_end_array(&json);
        psnap_json_bool(&json, "folded", group->is_folded);
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
    struct psnap_profile *profile = psnap_input_read_profile(merge->groups[0].path, error);
    char *ranks = profile && merge->has_ranks ? folded_text(merge) : NULL;
    enum psnap_status status = profile ? PSNAP_OK : error->code;

    if (profile && merge->has_ranks && !ranks)
        status = out_of_memory(error);
    if (!status) {
        profile->provenance.has_rank = false;
        profile->same_ranks = ranks;
        status = psnap_profile_write(profile, psnap_output_file(output), error);
    }
    psnap_profile_free(profile);
    free(ranks);
    return status;
}

static enum psnap_status read_all(struct merge *merge, char *const *paths, int n,
                                  struct psnap_error *error)
{
    struct psnap_progress *progress = psnap_progress_of((uint64_t)n, "profiles");
    enum psnap_status status = PSNAP_OK;

    for (int i = 0; i < n && !status; i++) {
        status = add_profile(merge, paths[i], (uint32_t)i, error);
        psnap_progress_add(progress, 1);
    }
    psnap_progress_free(progress);
    if (status)
        return status;
    for (size_t i = 0; i < merge->count; i++)
        qsort(merge->groups[i].members, merge->groups[i].count, sizeof(uint32_t), compare_members);
    qsort(merge->groups, merge->count, sizeof *merge->groups, compare_groups);
    return compare_all(merge, error);
}

static int run(struct merge *merge, char *const *paths, int n, const char *path, bool force,
               bool json)
{
    struct psnap_error error;
    struct psnap_output *output = psnap_output_open(path, force, &error);
    enum psnap_status status = output ? read_all(merge, paths, n, &error) : error.code;

    if (!status)
        status = write_merged(merge, output, &error);
    if (!status)
        status = psnap_output_commit(output, &error);
    else
        psnap_output_abandon(output);
    if (status)
        return psnap_cmd_fail("merge", &error);
    if (json)
        print_json(merge);
    else
        print_table(merge);
    return psnap_cmd_close_stdout("merge", PSNAP_EXIT_DONE);
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

    if (operands > 0 && output && !psnap_output_is_stdout(output) && merge.alike >= 0)
        status = run(&merge, argv + 1, operands, output, force, json);
    else if (operands >= 0)
        status = psnap_cmd_usage("merge", operands == 0     ? "which profiles?"
                                          : merge.alike < 0 ? "--alike wants a share, as 0.01"
                                                            : "-o M.yaml is missing, or no file");
    for (size_t i = 0; i < merge.count; i++) {
        free(merge.groups[i].furthest);
        free(merge.groups[i].members);
    }
    free(merge.groups);
    return status;
}
