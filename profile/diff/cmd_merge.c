/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * psnap merge: the profiles of a parallel job's ranks as one. Ranks do the same, mostly: profiles
 * that say the same are folded into a group, and of the largest group one profile is written, which
 * says for which ranks it stands. The others are named, with how far they are from that one: the
 * accesses that loops of the source have more or less, as a share of the larger one's. A group that
 * is nearer than --alike is folded, too; what is left are outliers.
 *
 * Profiles are read one after the other, and all that is kept of each is a number for each loop.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/cmd.h"
#include "formats/base/cmd_progress.h"
#include "formats/base/json.h"
#include "formats/base/output.h"
#include "profile/profile.h"
#include "replay/cmd_input.h"

struct loop_count {
    char *id; /* of the source */
    uint64_t accesses;
};

/* Profiles that say the same. */
struct group {
    uint64_t content, accesses;
    const char *path; /* of the first */
    struct loop_count *loops;
    size_t loop_count;
    uint32_t *members; /* ranks, or where they have none, numbers of the command line */
    size_t count;
    double apart;     /* from the largest group, 0 to 1 */
    const char *most; /* the loop that is furthest */
    bool is_folded;
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

/* Adds accesses of a loop of the source; false: out of memory. */
static bool count_loop(struct group *group, const char *id, uint64_t accesses)
{
    struct loop_count *loops;

    for (size_t i = 0; i < group->loop_count; i++)
        if (!strcmp(group->loops[i].id, id)) {
            group->loops[i].accesses += accesses;
            return true;
        }
    loops = realloc(group->loops, (group->loop_count + 1) * sizeof *loops);
    if (!loops)
        return false;
    group->loops = loops;
    loops[group->loop_count] = (struct loop_count){strdup(id), accesses};
    if (!loops[group->loop_count].id)
        return false;
    group->loop_count++;
    return true;
}

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
    struct group *group;

    for (size_t i = 0; i < merge->count; i++)
        if (merge->groups[i].content == content)
            return &merge->groups[i];
    group = realloc(merge->groups, (merge->count + 1) * sizeof *group);
    if (!group)
        return NULL;
    merge->groups = group;
    group = &merge->groups[merge->count++];
    *group = (struct group){.content = content, .path = path};
    for (uint32_t i = 0; i < profile->loop_count; i++) {
        const struct psnap_profile_loop *loop = &profile->loops[i];
        group->accesses += loop->accesses;
        if (loop->accesses && !count_loop(group, loop->src_id, loop->accesses))
            return NULL;
    }
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

static uint64_t accesses_of(const struct group *group, const char *id)
{
    for (size_t i = 0; i < group->loop_count; i++)
        if (!strcmp(group->loops[i].id, id))
            return group->loops[i].accesses;
    return 0;
}

/* Adds the loop's difference to `sum`, and keeps it as `most` if none was larger. */
static void add_difference(struct group *group, const char *id, uint64_t here, uint64_t there,
                           uint64_t *sum, uint64_t *most)
{
    const uint64_t apart = here > there ? here - there : there - here;

    *sum += apart;
    if (apart > *most) {
        *most = apart;
        group->most = id;
    }
}

/* How far a group is from the largest one. */
static void compare(struct group *group, const struct group *largest, double alike)
{
    const uint64_t all = group->accesses > largest->accesses ? group->accesses : largest->accesses;
    uint64_t sum = 0, most = 0;

    for (size_t i = 0; i < group->loop_count; i++)
        add_difference(group, group->loops[i].id, group->loops[i].accesses,
                       accesses_of(largest, group->loops[i].id), &sum, &most);
    for (size_t i = 0; i < largest->loop_count; i++)
        if (!accesses_of(group, largest->loops[i].id))
            add_difference(group, largest->loops[i].id, 0, largest->loops[i].accesses, &sum, &most);
    group->apart = all ? (double)sum / (double)all : 0;
    group->is_folded = group == largest || group->apart <= alike;
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

static void print_table(const struct merge *merge)
{
    const char *const headings[] = {
        "profiles", merge->has_ranks ? "ranks" : "numbers", "accesses", "apart %", "furthest", ""};
    struct psnap_table *table = psnap_table_new(6, headings);
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
        psnap_table_cell(table, "%.3f", 100 * group->apart);
        psnap_table_cell(table, "%s", group->most ? group->most : "");
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
        if (group->most)
            psnap_json_text(&json, "furthest", group->most);
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
    for (size_t i = 0; i < merge->count; i++)
        compare(&merge->groups[i], &merge->groups[0], merge->alike);
    return PSNAP_OK;
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
         "fold what has at most this share of its accesses elsewhere (0.01)"},
        {PSNAP_OPTION_FLAG, 0, "force", &force, NULL, "overwrite M.yaml"},
        {PSNAP_OPTION_FLAG, 0, "json", &json, NULL, "print JSON"},
        {.type = PSNAP_OPTION_END},
    };
    const struct psnap_usage usage = {
        "psnap merge P.yaml... -o M.yaml [--alike SHARE] [--json]",
        "The profiles of a parallel job's ranks (psnap record -o P.%r.yaml) as one: those\n"
        "that say the same, or nearly, are folded, of the largest group one is written,\n"
        "with the ranks that it stands for; a table names the others.",
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
        for (size_t k = 0; k < merge.groups[i].loop_count; k++)
            free(merge.groups[i].loops[k].id);
        free(merge.groups[i].loops);
        free(merge.groups[i].members);
    }
    free(merge.groups);
    return status;
}
