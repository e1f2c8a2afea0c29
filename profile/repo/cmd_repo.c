/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * psnap repo: the archive of profiles. Of its commands there is a table; add and import print ids,
 * one a line, when profiles are committed.
 *
 * JSON of list and search: {entries: [...], found}.
 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/cmd.h"
#include "formats/base/cmd_progress.h"
#include "formats/base/output.h"
#include "formats/base/text.h"
#include "profile/repo/repo.h"
#include "replay/cmd_input.h"

enum { DIGITS = 12 };

/* A command, with its options. */
struct request {
    const char *command; /* "repo add" */
    struct repo *repo;
    char **operands; /* behind the repository */
    int count;
    bool as_json, as_ids, force;
    const char *output;
    struct psnap_text_list tags;
    uint64_t limit; /* of a listing */
    /* Its output and counts. */
    struct psnap_json json;
    struct psnap_table *table;
    struct psnap_progress *progress;
    uint64_t found, lost; /* lost: what makes the exit status 1 */
};

/* Warns that something is left out, or damaged. */
static void tell(void *context, bool is_lost, const char *path, const char *message)
{
    struct request *request = context;

    request->lost += is_lost;
    psnap_print(stderr, "psnap: warning: '%.200s' is left out: %s\n", path, message);
}

/* --------------------------------------------------------------------- add and import */

static void print_item(void *context, const struct add_item *item)
{
    struct request *request = context;
    struct psnap_error error = item->error;

    psnap_progress_erase(request->progress);
    psnap_progress_add(request->progress, 1);
    if (error.code) {
        request->lost++;
        if (!strcmp(request->command, "repo add"))
            psnap_input_may_be_profile(item->path, &error); /* a trace is told as such */
        psnap_cmd_fail(request->command, &error);
    } else {
        puts(item->id.text);
        fflush(stdout);
    }
}

static enum psnap_status run_add(struct request *request, struct psnap_error *error)
{
    const bool is_import = !strcmp(request->command, "repo import");
    struct adder *adder = calloc(1, sizeof *adder);
    enum psnap_status status = PSNAP_OK;

    if (!adder)
        psnap_cmd_out_of_memory();
    *adder = (struct adder){request->repo, request->tags.items, request->tags.count, print_item,
                            request};
    for (size_t i = 0; i < request->tags.count; i++)
        if (!repo_is_tag(request->tags.items[i]))
            status = psnap_error_set(error, PSNAP_ERROR_USAGE,
                                     "'%.100s' is no tag: it has 1 to %d letters, digits and "
                                     "-_.:=+@, and begins with a letter or digit",
                                     request->tags.items[i], REPO_TAG_BYTES);
    request->progress = psnap_progress_of(is_import ? 0 : (uint64_t)request->count, "profiles");
    for (int i = 0; i < request->count && !status; i++)
        status = is_import ? transfer_import(adder, request->operands[i], error)
                           : add_item(adder, request->operands[i], NULL, "", error);
    if (!status)
        status = add_finish(adder, error);
    psnap_progress_free(request->progress);
    free(adder);
    return status;
}

/* -------------------------------------------------------------------- list and search */

static void print_value(struct psnap_json *json, const struct repo_column *column, char *value)
{
    uint64_t number;
    double real;
    char *item;

    switch (column->kind) {
    case KIND_NUMBER:
        if (psnap_text_u64(value, &number))
            psnap_json_u64(json, column->name, number);
        else
            psnap_json_real(json, column->name, psnap_text_real(value, &real) ? real : NAN);
        break;
    case KIND_LINES:
    case KIND_TAGS:
        psnap_json_begin_array(json, column->name);
        while ((item = strsep(&value, column->kind == KIND_TAGS ? " " : "\n")) && *item)
            psnap_json_text(json, NULL, item);
        psnap_json_end_array(json);
        break;
    default:
        psnap_json_text(json, column->name, value);
    }
}

static const unsigned shown[] = {REPO_ID,       REPO_program, REPO_accesses,
                                 REPO_recorded, REPO_bytes,   REPO_TAGS};
enum { SHOWN_COUNT = sizeof shown / sizeof shown[0] };

static int list_row(void *context, int count, char **row, char **names)
{
    struct request *request = context;
    char digits[32], nothing[] = "";

    (void)names;
    for (int i = 0; i < count; i++) /* an index of others may lack anything */
        row[i] = row[i] ? row[i] : nothing;
    request->found++;
    if (request->as_json) {
        psnap_json_begin_object(&request->json, NULL);
        for (unsigned i = 0; i < REPO_COLUMN_COUNT; i++)
            print_value(&request->json, &repo_columns[i], row[i]);
        psnap_json_end_object(&request->json);
    } else if (request->as_ids) {
        puts(row[REPO_ID]);
    }
    for (unsigned i = 0; i < SHOWN_COUNT; i++)
        psnap_table_cell(request->table, "%.*s", shown[i] == REPO_ID ? DIGITS : INT_MAX,
                         repo_columns[shown[i]].kind == KIND_NUMBER
                             ? psnap_group_digits(strtoull(row[shown[i]], NULL, 10), digits)
                             : row[shown[i]]);
    return 0;
}

static enum psnap_status run_list(struct request *request, struct psnap_error *error)
{
    const char *headings[SHOWN_COUNT];
    const struct repo_query query = {request->operands, (size_t)request->count, request->limit};
    char *text = NULL;
    size_t size;
    FILE *file = open_memstream(&text, &size);
    enum psnap_status status;

    if (!file)
        psnap_cmd_out_of_memory();
    psnap_cmd_begin_json(&request->json, file, request->command);
    psnap_json_begin_array(&request->json, "entries");
    for (unsigned i = 0; i < SHOWN_COUNT; i++)
        headings[i] = repo_columns[shown[i]].name;
    request->table = psnap_table_new(SHOWN_COUNT, headings);
    psnap_table_align_right(request->table, 2);
    psnap_table_align_right(request->table, 4);
    psnap_table_shorten(request->table, 1);
    status = repo_list(request->repo, &query, list_row, request, error);
    psnap_json_end_array(&request->json);
    psnap_json_u64(&request->json, "found", request->found);
    psnap_json_end_object(&request->json);
    fclose(file);
    if (!status && request->as_json)
        fputs(text, stdout);
    else if (request->found && !request->as_ids)
        psnap_table_print(request->table, stdout);
    psnap_table_free(request->table);
    free(text);
    if (!status && !request->found)
        psnap_print(stderr, "psnap %s: no profile%s\n", request->command,
                    request->count ? " matches the query" : " is in the repository");
    return status;
}

/* ---------------------------------------------------------------------------- the rest */

static enum psnap_status run_get(struct request *request, struct psnap_error *error)
{
    struct psnap_output *output = NULL;
    struct repo_bytes yaml = {NULL, 0};
    struct repo_id id;
    enum psnap_status status = repo_find(request->repo, request->operands[0], &id, error);

    if (!status)
        status = object_read(request->repo, &id, &yaml, error);
    if (!status) {
        output = psnap_output_open(request->output ? request->output : "-", request->force, error);
        status = output ? PSNAP_OK : error->code;
    }
    if (!status)
        fwrite(yaml.data, 1, yaml.size, psnap_output_file(output));
    free(yaml.data);
    return psnap_output_finish(output, status, error);
}

static enum psnap_status run_export(struct request *request, struct psnap_error *error)
{
    const struct repo_query query = {request->operands, (size_t)request->count, 0};
    struct psnap_output *output;
    enum psnap_status status;

    if (!request->output)
        return psnap_error_set(error, PSNAP_ERROR_USAGE, "-o FILE.tar is needed");
    output = psnap_output_open(request->output, request->force, error);
    status = output ? transfer_export(request->repo, &query, request->output,
                                      psnap_output_file(output), error)
                    : error->code;
    return psnap_output_finish(output, status, error);
}

static void print_finding(void *context, bool is_damaged, const char *path, const char *message)
{
    struct request *request = context;

    request->lost += is_damaged;
    psnap_print(stdout, "%s: %s: %s\n", path, is_damaged ? "damaged" : "stranger", message);
}

static enum psnap_status run_verify(struct request *request, struct psnap_error *error)
{
    enum psnap_status status;

    request->repo->tell = print_finding;
    status = repo_verify(request->repo, &request->found, error);
    request->repo->unusable = 0; /* all of them were named */
    if (!status)
        psnap_print(stdout, "%" PRIu64 " profile%s: %s\n", request->found,
                    psnap_plural(request->found), request->lost ? "something is damaged" : "ok");
    return status;
}

static enum psnap_status run_gc(struct request *request, struct psnap_error *error)
{
    const enum psnap_status status = repo_gc(request->repo, &request->found, error);

    if (!status)
        psnap_print(stdout, "%" PRIu64 " file%s removed\n", request->found,
                    psnap_plural(request->found));
    return status;
}

/* ---------------------------------------------------------------------------- commands */

static const struct command {
    const char *name, *synopsis, *description;
    int low, high; /* operands, with the repository */
    enum psnap_status (*run)(struct request *request, struct psnap_error *error);
} commands[] = {
    {"repo init", "psnap repo init DIR",
     "Makes a repository of profiles: a directory that can be copied, shared, and put\n"
     "on a network file system or in git. DIR is made, or is empty.",
     1, 1, NULL},
    {"repo add", "psnap repo add DIR P.yaml... [--tag TAG...]",
     "Adds profiles, as they are to the byte, and prints the id of each when it is in\n"
     "the repository for good. One that is there already has the same id, and gets the\n"
     "tags as well. What is no sound profile is refused and named, the others are\n"
     "added, and the exit status is 1. '-' is standard input.",
     2, INT_MAX, run_add},
    {"repo list", "psnap repo list DIR [--limit N] [--ids] [--json]",
     "Lists the profiles of a repository by program, then by when they were recorded\n"
     "(the oldest first), command and id.",
     1, 1, run_list},
    {"repo search", "psnap repo search DIR QUERY... [--limit N] [--ids] [--json]", query_help, 2,
     INT_MAX, run_list},
    {"repo get", "psnap repo get DIR ID [-o P.yaml] [--force]",
     "Writes a profile as it was added, byte by byte. ID may be cut to a beginning that\n"
     "no other one has.",
     2, 2, run_get},
    {"repo verify", "psnap repo verify DIR",
     "Reads everything and names the files that are damaged; exit status 1 when any is.\n"
     "A damaged object is one profile's; add that again. A damaged index is made anew.",
     1, 1, run_verify},
    {"repo gc", "psnap repo gc DIR",
     "Removes files older than a day that are none of the archive's: those of processes\n"
     "that died, strangers in 'objects', tags of profiles that have gone. No profile goes.",
     1, 1, run_gc},
    {"repo export", "psnap repo export DIR [QUERY...] -o FILE.tar",
     "Writes profiles, all of them or those that a query finds ('psnap repo search -h'),\n"
     "with their tags, as an archive that 'psnap repo import' and tar(1) read.",
     1, INT_MAX, run_export},
    {"repo import", "psnap repo import DIR FILE.tar... [--tag TAG...]",
     "Adds files whose names end in .yaml of tar archives, also compressed by gzip, zstd\n"
     "or xz, as 'psnap repo add' does, with their tags; '-' is standard input. Another\n"
     "repository's profiles come by copying its 'objects' and 'dictionaries'.",
     2, INT_MAX, run_add},
};

/* Runs a command on the repository that is its first operand; its exit status. */
static int run_on(const struct command *command, struct request *request, const char *path)
{
    struct psnap_error error;
    enum psnap_status status = PSNAP_OK;

    if (!command->run)
        status = repo_init(path, &error);
    else if (!(request->repo = repo_open(path, &error)))
        status = error.code;
    if (!status && request->repo) {
        request->repo->tell = tell;
        request->repo->context = request;
        status = command->run(request, &error);
    }
    if (!status && request->repo && request->repo->unusable)
        psnap_print(stderr,
                    "psnap: warning: %" PRIu64 " of the repository's files cannot be read; "
                    "'psnap repo verify' says why\n",
                    request->repo->unusable);
    repo_close(request->repo);
    if (status)
        return psnap_cmd_fail(command->name, &error);
    return request->lost ? PSNAP_EXIT_FAILED : PSNAP_EXIT_DONE;
}

static int run(int argc, char **argv)
{
    struct request request = {.limit = 0};
    const struct {
        const char *commands;
        struct psnap_option option;
    } all[] = {
        {"add import",
         {PSNAP_OPTION_LIST, 't', "tag", &request.tags, "TAG", "of all of them; may be repeated"}},
        {"list search", {PSNAP_OPTION_COUNT, 'n', "limit", &request.limit, "N", "so many at most"}},
        {"list search",
         {PSNAP_OPTION_FLAG, 0, "ids", &request.as_ids, NULL, "whole ids and nothing else"}},
        {"get export",
         {PSNAP_OPTION_ONCE, 'o', "output", &request.output, "FILE",
          "'-' is standard output; of an export .tar, .tar.gz,\n.tar.zst or .tar.xz"}},
        {"get export",
         {PSNAP_OPTION_FLAG, 0, "force", &request.force, NULL, "overwrite an existing file"}},
        {"list search", {PSNAP_OPTION_FLAG, 0, "json", &request.as_json, NULL, "for programs"}},
    };
    struct psnap_option options[sizeof all / sizeof all[0] + 1] = {{.type = PSNAP_OPTION_END}};
    const struct command *command = commands;
    int exit_status, operands;
    size_t n = 0;

    while (strcmp(command->name, argv[0]) != 0)
        command++;
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (strstr(all[i].commands, command->name + strlen("repo ")))
            options[n++] = all[i].option;
    operands = psnap_options_parse(
        argc, argv, &(struct psnap_usage){command->synopsis, command->description, options}, false,
        &exit_status);
    if (operands < 0)
        return exit_status;
    if (operands < command->low || operands > command->high)
        return psnap_cmd_usage(command->name, "too %s operands: it is '%s'",
                               operands < command->low ? "few" : "many", command->synopsis);
    request.command = command->name;
    request.operands = argv + 2;
    request.count = operands - 1;
    exit_status = run_on(command, &request, argv[1]);
    psnap_text_list_release(&request.tags);
    return psnap_cmd_close_stdout(command->name, exit_status);
}

const struct psnap_command psnap_repo_commands[] = {
    {"init", "make a repository", run},
    {"add", "add profiles; prints their ids", run},
    {"list", "what is in it", run},
    {"search", "profiles by name, function, sizes, tags", run},
    {"get", "a profile, as it was added", run},
    {"verify", "look for damage", run},
    {"gc", "remove what processes that died have left", run},
    {"export", "as a tar archive", run},
    {"import", "profiles of a tar archive", run},
    {0},
};

int psnap_cmd_repo(int argc, char **argv)
{
    signal(SIGXFSZ, SIG_IGN); /* a file that grows too large is an error, and no death */
    return psnap_cmd_part("repo", "psnap repo COMMAND DIR [ARGUMENTS]", "command",
                          psnap_repo_commands, argc, argv);
}
