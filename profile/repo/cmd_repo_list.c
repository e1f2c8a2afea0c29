/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * psnap repo list and search.
 *
 * JSON: {entries: [{id, program, accesses, recorded, bytes, stored_bytes, command, build_id,
 * language, compiler, host, model, functions: [], tags: [], licence, input, added, loads, stores,
 * atomics, loops, regions, working_set, fidelity, similarity}]}; texts are "" when unknown,
 * fidelity and similarity null.
 */
#include <stdlib.h>
#include <string.h>

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

struct listing {
    struct psnap_json *json;   /* or */
    struct psnap_table *table; /* or neither: ids alone */
    bool is_like;
    uint64_t count;
};

static void table_row(const struct listing *listing, const struct entry *entry)
{
    char digits[32], tags[200], *at;

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

static struct psnap_table *new_table(bool is_like)
{
    static const char *const plain[] = {"id", "program", "accesses", "recorded", "bytes", "tags"};
    static const char *const like[] = {"id",    "program", "accesses", "recorded",
                                       "bytes", "alike",   "tags"};
    struct psnap_table *table = is_like ? psnap_table_new(7, like) : psnap_table_new(6, plain);

    psnap_table_align_right(table, 2);
    psnap_table_align_right(table, 4);
    if (is_like)
        psnap_table_align_right(table, 5);
    psnap_table_shorten(table, 1);
    return table;
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
    enum psnap_status status;

    if (!as_ids)
        listing.table = new_table(listing.is_like);
    status = index_list(opened->index, &query->ask, take_entry, &listing, &error);
    if (listing.table && listing.count)
        psnap_table_print(listing.table, stdout);
    psnap_table_free(listing.table);
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
        {PSNAP_OPTION_FLAG, 0, "ids", &as_ids, NULL, "whole ids and nothing else"},
        {PSNAP_OPTION_FLAG, 0, "json", &as_json, NULL, "for programs"},
        {.type = PSNAP_OPTION_END},
    };
    const struct psnap_usage usage = {"psnap repo list DIR [--ids] [--json]",
                                      "Lists the profiles of a repository, by program and time.",
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

    snprintf(description, sizeof description, "Lists the profiles that a query finds.\n\n%s",
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
