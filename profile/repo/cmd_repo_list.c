/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * psnap repo list and search.
 *
 * JSON: {entries: [{id, program, accesses, recorded, bytes, stored_bytes, command, build_id,
 * language, compiler, host, model, functions: [], tags: [], licence, input, added, loads, stores,
 * atomics, loops, regions, working_set, fidelity, similarity}]}; texts are "" when unknown,
 * fidelity and similarity null.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/room.h"
#include "formats/base/text.h"
#include "profile/repo/cmd_repo.h"
#include "profile/repo/lines.h"
#include "profile/repo/query.h"

enum { SHOWN_DIGITS = 12 };

static void json_lines(struct psnap_json *json, const char *key, const char *lines)
{
    char item[LINES_VALUE_MAX + 1];

    psnap_json_begin_array(json, key);
    for (lines += *lines == '\n'; *lines; lines += strcspn(lines, "\n") + 1) {
        const size_t length = strcspn(lines, "\n");
        snprintf(item, sizeof item, "%.*s", (int)length, lines);
        psnap_json_text(json, NULL, item);
        if (!lines[length])
            break;
    }
    psnap_json_end_array(json);
}

void repo_cmd_json_entry(struct psnap_json *json, const struct entry *entry)
{
    psnap_json_begin_object(json, NULL);
    psnap_json_text(json, "id", entry->id);
    psnap_json_u64(json, "bytes", entry->bytes);
    psnap_json_u64(json, "stored_bytes", entry->stored_bytes);
    for (int i = 0; i < INDEX_TEXTS; i++)
        if (i == FACTS_FUNCTIONS || i == ENTRY_TAGS)
            json_lines(json, entry_text_keys[i], entry->texts[i]);
        else
            psnap_json_text(json, entry_text_keys[i], entry->texts[i]);
    for (int i = 0; i < FACTS_COUNTS; i++)
        psnap_json_u64(json, facts_count_keys[i], entry->counts[i]);
    psnap_json_real(json, "fidelity", entry->fidelity);
    psnap_json_real(json, "similarity", entry->similarity);
    psnap_json_end_object(json);
}

/* A run of a program, as the first profile says that is listed of it. */
struct run {
    uint64_t hash; /* of program, command, build and time */
    uint64_t counts[FACTS_COUNTS];
    uint8_t signature[SIGNATURE_BYTES];
};

struct listing {
    struct psnap_json *json;   /* or */
    struct psnap_table *table; /* or neither: ids alone */
    bool is_like;
    uint64_t count;
    struct run *runs; /* owned */
    size_t run_count, run_room;
    bool has_edited; /* several profiles of a run */
};

/* ---- what is different about profiles of the same run: they were edited ---- */

static uint64_t hash_run(const struct entry *entry)
{
    static const int texts[] = {FACTS_NAME, FACTS_COMMAND, FACTS_BUILD_ID, FACTS_RECORDED};
    struct repo_bytes all = {0};
    uint64_t hash;

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        repo_bytes_add(&all, entry->texts[texts[i]], strlen(entry->texts[texts[i]]) + 1);
    hash = repo_sum_of(all.data, all.size);
    repo_bytes_release(&all);
    return hash;
}

static const char *const signature_words[] = {"strides", "sizes of regions", "uses of lines",
                                              "reuse"};
static const size_t signature_parts[] = {SIGNATURE_STRIDES, SIGNATURE_SIZES, SIGNATURE_USES,
                                         SIGNATURE_REUSES, SIGNATURE_BYTES};

/* "accesses x2.00, strides": what is other than in the first of the run. */
static void say_differences(const struct run *first, const struct entry *entry, char *text,
                            size_t room)
{
    size_t used = 0;

    *text = '\0';
    for (int i = 0; i < FACTS_COUNTS && used < room; i++) {
        const double a = (double)first->counts[i], b = (double)entry->counts[i];
        if (i == FACTS_LOADS || i == FACTS_STORES || i == FACTS_ATOMICS || a == b)
            continue;
        used += (size_t)snprintf(text + used, room - used, "%s%s x%.3g", used ? ", " : "",
                                 i == FACTS_WORKING_SET ? "working set" : facts_count_keys[i],
                                 a > 0 ? b / a : b);
    }
    for (int i = 0; i < 4 && entry->signature && used < room; i++)
        if (memcmp(first->signature + signature_parts[i], entry->signature + signature_parts[i],
                   signature_parts[i + 1] - signature_parts[i]) != 0)
            used += (size_t)snprintf(text + used, room - used, "%s%s", used ? ", " : "",
                                     signature_words[i]);
    if (!used)
        snprintf(text, room, "addresses, order or text");
}

/* Nothing of the first one of a run, which is remembered. */
static void beside_run(struct listing *listing, const struct entry *entry, char *text, size_t room)
{
    const uint64_t hash = hash_run(entry);
    struct run *runs;

    *text = '\0';
    for (size_t i = listing->run_count; i-- > 0 && entry->texts[FACTS_RECORDED][0];)
        if (listing->runs[i].hash == hash) {
            say_differences(&listing->runs[i], entry, text, room);
            listing->has_edited = true;
            return;
        }
    runs = psnap_with_room(listing->runs, &listing->run_room, listing->run_count + 1, sizeof *runs);
    if (!runs)
        return;
    listing->runs = runs;
    runs += listing->run_count++;
    runs->hash = hash;
    memcpy(runs->counts, entry->counts, sizeof runs->counts);
    if (entry->signature)
        memcpy(runs->signature, entry->signature, sizeof runs->signature);
}

static void table_row(struct listing *listing, const struct entry *entry)
{
    char digits[32], tags[200], differs[160], *at;

    snprintf(tags, sizeof tags, "%s",
             entry->texts[ENTRY_TAGS][0] ? entry->texts[ENTRY_TAGS] + 1 : "");
    for (at = tags; *at; at++)
        if (*at == '\n')
            *at = at[1] ? ' ' : '\0';
    psnap_table_cell(listing->table, "%.*s", SHOWN_DIGITS, entry->id);
    psnap_table_cell(listing->table, "%s", entry->texts[FACTS_NAME]);
    psnap_table_cell(listing->table, "%s",
                     psnap_group_digits(entry->counts[FACTS_ACCESSES], digits));
    psnap_table_cell(listing->table, "%s", entry->texts[FACTS_RECORDED]);
    psnap_table_cell(listing->table, "%s", psnap_group_digits(entry->bytes, digits));
    if (listing->is_like)
        psnap_table_cell(listing->table, "%.3f", entry->similarity);
    psnap_table_cell(listing->table, "%s", tags);
    if (!listing->has_edited)
        return;
    beside_run(listing, entry, differs, sizeof differs);
    psnap_table_cell(listing->table, "%s", differs);
}

/* Whether several are of a run. */
static bool look_for_edited(void *context, const struct entry *entry)
{
    struct listing *listing = context;
    char differs[160];

    beside_run(listing, entry, differs, sizeof differs);
    return !listing->has_edited;
}

static bool take_entry(void *context, const struct entry *entry)
{
    struct listing *listing = context;

    listing->count++;
    if (listing->json)
        repo_cmd_json_entry(listing->json, entry);
    else if (listing->table)
        table_row(listing, entry);
    else
        puts(entry->id);
    return true;
}

static struct psnap_table *new_table(const struct listing *listing)
{
    const char *headings[8] = {"id", "program", "accesses", "recorded", "bytes"};
    struct psnap_table *table;
    size_t n = 5;

    if (listing->is_like)
        headings[n++] = "alike";
    headings[n++] = "tags";
    if (listing->has_edited)
        headings[n++] = "beside the first of its run";
    table = psnap_table_new(n, headings);
    psnap_table_align_right(table, 2);
    psnap_table_align_right(table, 4);
    if (listing->is_like)
        psnap_table_align_right(table, 5);
    psnap_table_shorten(table, 1);
    return table;
}

/* That nothing is found is said, and no error. */
static void say_none(const char *command, struct opened *opened, const struct query *query)
{
    uint64_t count, bytes;

    if (index_totals(opened->index, &count, &bytes, NULL))
        return;
    if (query->ask.where.size || query->like)
        psnap_print(stderr,
                    "psnap %s: no profile matches the query; %" PRIu64
                    " profile%s in the repository\n",
                    command, count, psnap_plural(count));
    else
        psnap_print(stderr, "psnap %s: there is no profile in the repository\n", command);
}

/* A listing that fails half-way is no JSON: it is printed when it is whole. */
static int list_json(const char *command, struct opened *opened, struct query *query)
{
    struct listing listing = {.count = 0};
    struct psnap_error error;
    struct psnap_json json;
    char *text = NULL;
    size_t size = 0;
    FILE *memory = open_memstream(&text, &size);
    enum psnap_status status;

    if (!memory) {
        psnap_error_set(&error, PSNAP_ERROR_MEMORY, "out of memory");
        return psnap_cmd_fail(command, &error);
    }
    repo_cmd_begin_json(&json, memory, command);
    psnap_json_begin_array(&json, "entries");
    listing.json = &json;
    status = index_list(opened->index, &query->ask, take_entry, &listing, &error);
    psnap_json_end_array(&json);
    repo_cmd_end_json(&json);
    if (fclose(memory) && !status)
        status = psnap_error_set(&error, PSNAP_ERROR_MEMORY, "out of memory");
    if (!status)
        fwrite(text, 1, size, stdout);
    free(text);
    return status ? psnap_cmd_fail(command, &error)
                  : psnap_cmd_close_stdout(command, PSNAP_EXIT_DONE);
}

static int list_table(const char *command, struct opened *opened, struct query *query, bool as_ids)
{
    struct listing listing = {.is_like = query->like != NULL};
    struct psnap_error error;
    enum psnap_status status = PSNAP_OK;

    if (!as_ids) {
        status = index_list(opened->index, &query->ask, look_for_edited, &listing, &error);
        listing.run_count = 0;
        listing.table = new_table(&listing);
    }
    if (!status)
        status = index_list(opened->index, &query->ask, take_entry, &listing, &error);
    if (listing.table && listing.count)
        psnap_table_print(listing.table, stdout);
    psnap_table_free(listing.table);
    free(listing.runs);
    if (!status && !listing.count)
        say_none(command, opened, query);
    return status ? psnap_cmd_fail(command, &error)
                  : psnap_cmd_close_stdout(command, PSNAP_EXIT_DONE);
}

static int list(const char *command, struct opened *opened, struct query *query, bool as_json,
                bool as_ids)
{
    struct psnap_error error;

    if (query_settle(query, opened->index, &error))
        return psnap_cmd_fail(command, &error);
    return as_json ? list_json(command, opened, query) : list_table(command, opened, query, as_ids);
}

static int open_and_list(const char *command, const char *path, struct query *query, bool as_json,
                         bool as_ids)
{
    struct opened opened;
    int status = repo_cmd_open(command, path, &opened);

    if (status)
        return status;
    status = list(command, &opened, query, as_json, as_ids);
    repo_cmd_close(&opened);
    return status;
}

int psnap_cmd_repo_list(int argc, char **argv)
{
    struct query query = {.like = NULL};
    bool as_json = false, as_ids = false;
    const struct psnap_option options[] = {
        {PSNAP_OPTION_COUNT, 'n', "limit", &query.ask.limit, "N", "so many at most"},
        {PSNAP_OPTION_FLAG, 0, "ids", &as_ids, NULL, "whole ids and nothing else"},
        {PSNAP_OPTION_FLAG, 0, "json", &as_json, NULL, "for programs"},
        {.type = PSNAP_OPTION_END},
    };
    const struct psnap_usage usage = {
        "psnap repo list DIR [--limit N] [--ids] [--json]",
        "Lists the profiles of a repository by program, then by when they were recorded\n"
        "(the oldest first), command and id. Of a run that several profiles are of, which\n"
        "were edited, the last column says what is other than in the first that is listed;\n"
        "'psnap repo diff' says all of it.",
        options};
    int status;
    const int operands = psnap_options_parse(argc, argv, &usage, false, &status);

    if (operands < 0)
        return status;
    if (operands != 1)
        return psnap_cmd_usage("repo list", "one repository is needed, not %d", operands);
    return open_and_list("repo list", argv[1], &query, as_json, as_ids);
}

int psnap_cmd_repo_search(int argc, char **argv)
{
    struct query query = {.like = NULL};
    struct psnap_error error;
    bool as_json = false, as_ids = false;
    char description[2048];
    const struct psnap_option options[] = {
        {PSNAP_OPTION_COUNT, 'n', "limit", &query.ask.limit, "N", "so many at most"},
        {PSNAP_OPTION_FLAG, 0, "ids", &as_ids, NULL, "whole ids and nothing else"},
        {PSNAP_OPTION_FLAG, 0, "json", &as_json, NULL, "for programs"},
        {.type = PSNAP_OPTION_END},
    };
    const struct psnap_usage usage = {"psnap repo search DIR QUERY... [--limit N] [--ids] [--json]",
                                      description, options};
    int status, operands;

    snprintf(description, sizeof description,
             "Lists the profiles that a query finds, in the order of 'psnap repo list', with\n"
             "like:ID by how similar they are.\n\n%s",
             query_help);
    operands = psnap_options_parse(argc, argv, &usage, false, &status);
    if (operands < 0)
        return status;
    if (operands < 2)
        return psnap_cmd_usage("repo search", "a repository and a query are needed");
    for (int i = 2; i <= operands && !status; i++)
        if (query_parse(&query, argv[i], &error))
            status = psnap_cmd_fail("repo search", &error);
    if (!status)
        status = open_and_list("repo search", argv[1], &query, as_json, as_ids);
    query_release(&query);
    return status;
}
