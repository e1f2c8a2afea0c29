/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * psnap repo: the archive of profiles. Of its commands there is a table; add and import print ids,
 * one a line, when profiles are committed.
 *
 * JSON: {profiles: [{file, id, new} or {file, message, line, column}]} of add and import, {entries:
 * [...]} of list and search, {findings: [{kind: "damaged"|"stranger", file, message}]} of verify;
 * and how many were `found` and `lost`.
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
#include "profile/repo/cmd_repo_read.h"
#include "profile/repo/transfer.h"
#include "replay/cmd_input.h"

enum { TAG_BYTES = 100, DIGITS = 12 };

/* A command, with its options. */
struct request {
    const char *command; /* "repo add" */
    struct repo *repo;
    char **operands; /* behind the repository */
    int count;
    bool as_json, as_ids, force;
    const char *output, *licence, *input;
    struct psnap_text_list tags;
    double fidelity;                          /* points; NaN: not said */
    uint64_t limit, limit_bytes, limit_total; /* of a listing, a profile, a tar archive */
    struct query query;
    /* Its output and counts. */
    struct psnap_json json;
    struct psnap_table *table;
    struct psnap_progress *progress;
    uint64_t found, lost; /* lost: what makes the exit status 1 */
};

/* Something is left out, or damaged. */
static void tell(void *context, bool is_lost, const char *path, const char *message)
{
    struct request *request = context;
    struct psnap_error error;

    request->lost += is_lost;
    psnap_error_set(&error, PSNAP_ERROR_VALUE, "'%.200s' is left out: %s", path, message);
    psnap_cmd_warn(&error);
}

/* --------------------------------------------------------------------- add and import */

static void print_item(void *context, const struct add_item *item)
{
    struct request *request = context;
    struct psnap_json *json = &request->json;
    struct psnap_error error = item->error;
    char text[1024];

    psnap_progress_erase(request->progress);
    psnap_progress_add(request->progress, 1);
    if (error.code) {
        request->lost++;
        if (!strcmp(request->command, "repo add"))
            psnap_input_may_be_profile(item->path, &error); /* a trace is told as such */
        psnap_print(stderr, "psnap %s: %s\n", request->command,
                    psnap_error_format(&error, text, sizeof text));
    } else {
        request->found++;
        if (!request->as_json)
            puts(item->id.text);
        fflush(stdout);
        if (item->is_said_badly)
            tell(request, true, item->path, "what is said of it is no note");
    }
    if (!request->as_json)
        return;
    psnap_json_begin_object(json, NULL);
    psnap_json_text(json, "file", item->path);
    if (error.code) {
        psnap_json_text(json, "message", error.message);
        psnap_json_u64(json, "line", error.src_line);
        psnap_json_u64(json, "column", error.column);
    } else {
        psnap_json_text(json, "id", item->id.text);
        psnap_json_bool(json, "new", item->is_new);
    }
    psnap_json_end_object(json);
}

static enum psnap_status check(const struct request *request, struct psnap_error *error)
{
    for (size_t i = 0; i < request->tags.count; i++)
        if (!*request->tags.items[i] || strpbrk(request->tags.items[i], " \t\n\r\"") ||
            strlen(request->tags.items[i]) > TAG_BYTES)
            return psnap_error_set(
                error, PSNAP_ERROR_USAGE,
                "'%.100s' is no tag: it has 1 to %d bytes, no blanks and no '\"'",
                request->tags.items[i], TAG_BYTES);
    if (request->fidelity < 0)
        return psnap_error_set(error, PSNAP_ERROR_USAGE,
                               "--fidelity: an error in points is not negative");
    if (!request->limit_bytes || request->limit_bytes > REPO_FILE_MAX)
        return psnap_error_set(error, PSNAP_ERROR_USAGE, "--max-size: 1 to 256M");
    return PSNAP_OK;
}

/* Makes a note of the options --tag, --licence, --input and --fidelity; NULL: none was given. */
static char *write_note(const struct request *request)
{
    char *text = NULL;
    size_t size;
    struct psnap_json json;
    FILE *file =
        request->tags.count || request->licence || request->input || !isnan(request->fidelity)
            ? open_memstream(&text, &size)
            : NULL;

    if (!file)
        return NULL;
    psnap_json_init(&json, file);
    psnap_json_begin_object(&json, NULL);
    psnap_json_begin_array(&json, "tags");
    for (size_t i = 0; i < request->tags.count; i++)
        psnap_json_text(&json, NULL, request->tags.items[i]);
    psnap_json_end_array(&json);
    psnap_json_text(&json, "licence", request->licence);
    psnap_json_text(&json, "input", request->input);
    psnap_json_real(&json, "fidelity", request->fidelity);
    psnap_json_end_object(&json);
    fclose(file);
    return text;
}

static enum psnap_status import(struct adder *adder, const char *path, uint64_t limit,
                                const struct repo_told *told, struct psnap_error *error)
{
    FILE *file = strcmp(path, "-") != 0 ? fopen(path, "rb") : stdin;
    enum psnap_status status;

    if (!file)
        return psnap_error_file(error, errno, "open", path);
    status = transfer_import(adder, file, limit, told, error);
    if (status && status != PSNAP_ERROR_IO)
        psnap_error_at(error, path, 0, 0);
    if (file != stdin)
        fclose(file);
    return status;
}

static enum psnap_status run_add(struct request *request, struct psnap_error *error)
{
    const bool is_import = !strcmp(request->command, "repo import");
    const struct repo_told told = {tell, request};
    struct adder *adder = calloc(1, sizeof *adder);
    char *note = write_note(request);
    enum psnap_status status = check(request, error);

    if (note && strlen(note) > ADD_NOTE_MAX)
        status = psnap_error_set(error, PSNAP_ERROR_USAGE, "a note has up to %d bytes, not %zu",
                                 ADD_NOTE_MAX, strlen(note));
    if (!adder)
        status = psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    else
        *adder = (struct adder){request->repo, note, request->limit_bytes, print_item, request};
    request->progress = psnap_progress_of(is_import ? 0 : (uint64_t)request->count, "profiles");
    for (int i = 0; i < request->count && !status; i++)
        status = is_import ? import(adder, request->operands[i], request->limit_total, &told, error)
                           : add_item(adder, request->operands[i], NULL, NULL, error);
    if (!status)
        status = add_finish(adder, error);
    psnap_progress_free(request->progress);
    free(note);
    free(adder);
    return status;
}

/* -------------------------------------------------------------------- list and search */

static bool list_entry(void *context, const struct entry *entry)
{
    struct request *request = context;
    struct psnap_table *table = request->table;
    const char *tags;
    char digits[32];

    request->found++;
    if (request->as_json)
        entry_json(entry, &request->json);
    else if (request->as_ids)
        puts(entry_text(entry, "id"));
    if (request->as_json || request->as_ids)
        return true;
    tags = entry_text(entry, "tags");
    psnap_table_cell(table, "%.*s", DIGITS, entry_text(entry, "id"));
    psnap_table_cell(table, "%s", entry_text(entry, "program"));
    psnap_table_cell(table, "%s", psnap_group_digits(entry_number(entry, "accesses"), digits));
    psnap_table_cell(table, "%s", entry_text(entry, "recorded"));
    psnap_table_cell(table, "%s", psnap_group_digits(entry_number(entry, "bytes"), digits));
    psnap_table_cell(table, "%s", *tags ? tags + 1 : "");
    if (request->query.like)
        psnap_table_cell(table, "%.3f", entry_real(entry, "similarity"));
    return true;
}

static enum psnap_status run_list(struct request *request, struct psnap_error *error)
{
    static const char *const headings[] = {"id",    "program", "accesses", "recorded",
                                           "bytes", "tags",    "alike"};
    enum psnap_status status;

    request->query.limit = request->limit;
    request->table = psnap_table_new(request->query.like ? 7 : 6, headings);
    psnap_table_align_right(request->table, 2);
    psnap_table_align_right(request->table, 4);
    psnap_table_shorten(request->table, 1);
    status = repo_list(request->repo, &request->query, list_entry, request, error);
    if (request->found && !request->as_json && !request->as_ids)
        psnap_table_print(request->table, stdout);
    psnap_table_free(request->table);
    if (!status && !request->found)
        psnap_print(stderr, "psnap %s: no profile%s\n", request->command,
                    request->query.where ? " matches the query" : " is in the repository");
    return status;
}

/* ---------------------------------------------------------------------------- the rest */

static enum psnap_status run_get(struct request *request, struct psnap_error *error)
{
    struct psnap_output *output = NULL;
    struct repo_bytes yaml = {NULL, 0};
    enum psnap_status status = repo_get(request->repo, request->operands[0], &yaml, error);

    if (!status) {
        output = psnap_output_open(request->output, request->force, error);
        status = output ? PSNAP_OK : error->code;
    }
    if (!status && fwrite(yaml.data, 1, yaml.size, psnap_output_file(output)) != yaml.size)
        status = psnap_error_set(error, PSNAP_ERROR_IO, "cannot write");
    free(yaml.data);
    return psnap_output_finish(output, status, error);
}

static enum psnap_status run_export(struct request *request, struct psnap_error *error)
{
    const struct repo_told told = {tell, request};
    struct psnap_output *output = psnap_output_open(request->output, request->force, error);
    enum psnap_status status = error->code;

    if (output)
        status = transfer_export(request->repo, &request->query, request->output,
                                 psnap_output_file(output), &told, error);
    return psnap_output_finish(output, status, error);
}

static void print_finding(void *context, bool is_damaged, const char *path, const char *message)
{
    struct request *request = context;
    struct psnap_json *json = &request->json;
    const char *kind = is_damaged ? "damaged" : "stranger";

    request->lost += is_damaged;
    if (!request->as_json) {
        psnap_print(stdout, "%s: %s: %s\n", path, kind, message);
        return;
    }
    psnap_json_begin_object(json, NULL);
    psnap_json_text(json, "kind", kind);
    psnap_json_text(json, "file", path);
    psnap_json_text(json, "message", message);
    psnap_json_end_object(json);
}

static enum psnap_status run_verify(struct request *request, struct psnap_error *error)
{
    const struct repo_told told = {print_finding, request};
    const enum psnap_status status = repo_verify(request->repo, &told, &request->found, error);

    request->repo->unusable = 0; /* all of them were named */
    if (!status && !request->as_json)
        psnap_print(stdout, "%" PRIu64 " profile%s: %s\n", request->found,
                    psnap_plural(request->found), request->lost ? "something is damaged" : "ok");
    return status;
}

static enum psnap_status run_gc(struct request *request, struct psnap_error *error)
{
    const enum psnap_status status = store_remove_old(request->repo, &request->found, error);

    if (!status && !request->as_json)
        psnap_print(stdout, "%" PRIu64 " temporary file%s removed\n", request->found,
                    psnap_plural(request->found));
    return status;
}

/* ---------------------------------------------------------------------------- commands */

static const struct command {
    const char *name, *array, *synopsis, *description;
    int low, high; /* operands, with the repository */
    bool has_query;
    enum psnap_status (*run)(struct request *request, struct psnap_error *error);
} commands[] = {
    {"repo init", NULL, "psnap repo init DIR",
     "Makes a repository of profiles: a directory that can be copied, shared, and put\n"
     "on a network file system or in git. DIR is made, or is empty.",
     1, 1, false, NULL},
    {"repo add", "profiles",
     "psnap repo add DIR P.yaml... [--tag TAG...] [--licence NAME] [--input TEXT]",
     "Adds profiles, as they are to the byte, and prints the id of each when it is in\n"
     "the repository for good. One that is there already has the same id, and gets the\n"
     "tags as well. What is no sound profile is refused and named, the others are\n"
     "added, and the exit status is 1. '-' is standard input.",
     2, INT_MAX, false, run_add},
    {"repo list", "entries", "psnap repo list DIR [--limit N] [--ids] [--json]",
     "Lists the profiles of a repository by program, then by when they were recorded\n"
     "(the oldest first), command and id.",
     1, 1, false, run_list},
    {"repo search", "entries", "psnap repo search DIR QUERY... [--limit N] [--ids] [--json]",
     query_help, 2, INT_MAX, true, run_list},
    {"repo get", NULL, "psnap repo get DIR ID [-o P.yaml] [--force]",
     "Writes a profile as it was added, byte by byte. ID may be cut to a beginning that\n"
     "no other one has.",
     2, 2, false, run_get},
    {"repo verify", "findings", "psnap repo verify DIR [--json]",
     "Reads everything and names the files that are damaged; exit status 1 when any is.\n"
     "A damaged object is one profile's; add the profile again, and it is whole. An\n"
     "index that is damaged is made anew.",
     1, 1, false, run_verify},
    {"repo gc", NULL, "psnap repo gc DIR",
     "Removes files that processes left which died while they added profiles, when these\n"
     "are a day old. No profile goes.",
     1, 1, false, run_gc},
    {"repo export", NULL, "psnap repo export DIR [QUERY...] -o FILE.tar",
     "Writes profiles, all of them or those that a query finds ('psnap repo search -h'),\n"
     "as an archive that 'psnap repo import' and tar(1) read. 'psnap report DIR -o OUT'\n"
     "makes a web site of a repository.",
     1, INT_MAX, true, run_export},
    {"repo import", "profiles", "psnap repo import DIR FILE.tar... [--tag TAG...] [--json]",
     "Adds the profiles of tar archives, also compressed by gzip, zstd or xz, with their\n"
     "tags and licences, and prints their ids; '-' is standard input. Files whose names\n"
     "end in .yaml are profiles; nothing is written by the names in an archive. What is\n"
     "no sound profile is named, the others are added, and the exit status is 1. Another\n"
     "repository's profiles come by copying its 'objects' and 'dictionaries'.",
     2, INT_MAX, false, run_add},
};

static enum psnap_status run_in_form(const struct command *command, struct request *request,
                                     struct psnap_error *error)
{
    enum psnap_status status;

    if (!request->as_json)
        return command->run(request, error);
    psnap_cmd_begin_json(&request->json, stdout, command->name);
    psnap_json_begin_array(&request->json, command->array);
    status = command->run(request, error);
    psnap_json_end_array(&request->json);
    psnap_json_u64(&request->json, "found", request->found);
    psnap_json_u64(&request->json, "lost", request->lost);
    if (status) {
        psnap_json_begin_object(&request->json, "error");
        psnap_json_text(&request->json, "message", error->message);
        psnap_json_text(&request->json, "file", error->file[0] ? error->file : NULL);
        psnap_json_real(&request->json, "line", error->src_line ? (double)error->src_line : NAN);
        psnap_json_real(&request->json, "column", error->column ? (double)error->column : NAN);
        psnap_json_end_object(&request->json);
    }
    psnap_json_end_object(&request->json);
    psnap_cmd_fail_in_json(false); /* an object was written */
    return status;
}

/* Runs a command on the repository that is its first operand; its exit status. */
static int run_on(const struct command *command, struct request *request, const char *path)
{
    struct psnap_error error;
    enum psnap_status status = PSNAP_OK;

    if (command->run == run_get && !request->output)
        request->output = "-";
    if (command->run == run_export && !request->output)
        status = psnap_error_set(&error, PSNAP_ERROR_USAGE, "-o FILE.tar is needed");
    for (int i = 0; i < request->count && command->has_query && !status; i++)
        status = query_parse(&request->query, request->operands[i], &error);
    if (!status && !command->run)
        status = repo_init(path, &error);
    else if (!status && !(request->repo = repo_open(path, &error)))
        status = error.code;
    else if (!status)
        status = run_in_form(command, request, &error);
    if (!status && request->repo && request->repo->unusable)
        psnap_print(stderr,
                    "psnap: warning: %" PRIu64 " of the repository's files cannot be read; "
                    "'psnap repo verify' says why\n",
                    request->repo->unusable);
    repo_close(request->repo);
    query_release(&request->query);
    if (status)
        return psnap_cmd_fail(command->name, &error);
    return request->lost ? PSNAP_EXIT_FAILED : PSNAP_EXIT_DONE;
}

static int run(int argc, char **argv)
{
    struct request request = {
        .fidelity = NAN, .limit_bytes = 8 << 20, .limit_total = UINT64_C(16) << 30};
    const struct {
        const char *commands;
        struct psnap_option option;
    } all[] = {
        {"add import",
         {PSNAP_OPTION_LIST, 't', "tag", &request.tags, "TAG", "of all of them; may be repeated"}},
        {"add", {PSNAP_OPTION_ONCE, 0, "licence", &request.licence, "NAME", "of all of them"}},
        {"add",
         {PSNAP_OPTION_ONCE, 0, "input", &request.input, "TEXT", "what the program worked on"}},
        {"add",
         {PSNAP_OPTION_REAL, 0, "fidelity", &request.fidelity, "POINTS",
          "mean error of hit rates, where it is better known than\nby the certificate"}},
        {"add import",
         {PSNAP_OPTION_SIZE, 0, "max-size", &request.limit_bytes, "BYTES",
          "longer profiles are left out; 8M unless given"}},
        {"import",
         {PSNAP_OPTION_SIZE, 0, "max-total", &request.limit_total, "BYTES",
          "an archive that expands to more is refused; 16G unless\ngiven"}},
        {"list search", {PSNAP_OPTION_COUNT, 'n', "limit", &request.limit, "N", "so many at most"}},
        {"list search",
         {PSNAP_OPTION_FLAG, 0, "ids", &request.as_ids, NULL, "whole ids and nothing else"}},
        {"get export",
         {PSNAP_OPTION_ONCE, 'o', "output", &request.output, "FILE",
          "'-' is standard output; of an export .tar, .tar.gz,\n.tar.zst or .tar.xz"}},
        {"get export",
         {PSNAP_OPTION_FLAG, 0, "force", &request.force, NULL, "overwrite an existing file"}},
        {"add import list search verify",
         {PSNAP_OPTION_FLAG, 0, "json", &request.as_json, NULL, "for programs"}},
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
    {"search", "profiles by name, function, sizes, strides, similarity", run},
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

/* -------------------------------------------------------------------- of other folders */

enum psnap_status repo_each(const char *path, char *const *words, size_t word_count,
                            enum psnap_status (*take)(void *context,
                                                      const struct repo_profile *profile,
                                                      struct psnap_error *error),
                            void *context, struct psnap_error *error)
{
    struct query query = {.where = NULL};
    struct repo *repo = NULL;
    enum psnap_status status = PSNAP_OK;

    for (size_t i = 0; i < word_count && !status; i++)
        status = query_parse(&query, words[i], error);
    if (!status) {
        repo = repo_open(path, error);
        status = repo ? repo_read_each(repo, &query, take, context, error) : error->code;
    }
    repo_close(repo);
    query_release(&query);
    return status;
}
