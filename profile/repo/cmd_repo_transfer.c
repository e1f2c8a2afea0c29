/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * psnap repo export and import. Import prints ids, one a line, as add does.
 *
 * JSON of import: {profiles: [{file, id, new}], left_out: N}; of export: {output, left_out: N}.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "formats/base/cmd_progress.h"
#include "formats/base/output.h"
#include "profile/repo/cmd_repo.h"
#include "profile/repo/query.h"
#include "profile/repo/transfer.h"

struct report {
    const char *command;
    struct psnap_json *json; /* NULL: for people */
    uint64_t left_out;       /* members that are no profiles, */
    uint64_t refused;        /* and profiles that could not be taken */
    struct psnap_progress *progress;
};

static void refused(void *context, const struct psnap_error *error)
{
    struct report *report = context;
    char text[1024];

    report->refused++;
    psnap_print(stderr, "psnap %s: %s\n", report->command,
                psnap_error_format(error, text, sizeof text));
}

static enum psnap_status export_archive(struct opened *opened, const struct query *query,
                                        const char *path, bool force, struct report *report,
                                        struct psnap_error *error)
{
    struct psnap_output *output = psnap_output_open(path, force, error);
    struct tar_writer *writer = output ? tar_create(psnap_output_file(output), path, error) : NULL;
    enum psnap_status status = writer ? PSNAP_OK : error->code, ended;

    if (!status)
        status = export_tar(opened->index, &query->ask, writer, refused, report, error);
    ended = tar_end(writer, status ? NULL : error);
    return psnap_output_finish(output, status ? status : ended, error);
}

static int export(const char *directory, struct query *query, const char *path, bool force,
                  bool as_json)
{
    struct report report = {.command = "repo export"};
    struct psnap_error error;
    struct psnap_json json;
    struct opened opened;
    int status = repo_cmd_open("repo export", directory, &opened);

    if (status)
        return status;
    repo_lock(opened.repo, REPO_SHARED, NULL); /* no gc meanwhile, where there are locks */
    if (query_settle(query, opened.index, &error) ||
        export_archive(&opened, query, path, force, &report, &error)) {
        status = psnap_cmd_fail("repo export", &error);
    } else {
        if (as_json && !psnap_output_is_stdout(path)) {
            repo_cmd_begin_json(&json, stdout, "repo export");
            psnap_json_text(&json, "output", path);
            psnap_json_u64(&json, "left_out", report.refused);
            repo_cmd_end_json(&json);
        }
        status = report.refused ? PSNAP_EXIT_FAILED : PSNAP_EXIT_DONE;
    }
    repo_cmd_close(&opened);
    return psnap_cmd_close_stdout("repo export", status);
}

int psnap_cmd_repo_export(int argc, char **argv)
{
    struct query query = {.like = NULL};
    const char *path = NULL;
    bool force = false, as_json = false;
    const struct psnap_option options[] = {
        {PSNAP_OPTION_ONCE, 'o', "output", &path, "FILE.tar",
         "an archive: .tar, .tar.gz, .tar.zst, .tar.xz; '-' is\nstandard output"},
        {PSNAP_OPTION_FLAG, 0, "force", &force, NULL, "overwrite an existing archive"},
        {PSNAP_OPTION_FLAG, 0, "json", &as_json, NULL, "for programs"},
        {.type = PSNAP_OPTION_END},
    };
    const struct psnap_usage usage = {
        "psnap repo export DIR [QUERY...] -o FILE.tar",
        "Writes profiles, all of them or those that a query finds ('psnap repo search -h'),\n"
        "as an archive that 'psnap repo import' and tar(1) read. 'psnap report DIR -o SITE'\n"
        "makes a web site of them.",
        options};
    struct psnap_error error;
    int status;
    const int operands = psnap_options_parse(argc, argv, &usage, false, &status);

    if (operands < 0)
        return status;
    if (operands < 1)
        return psnap_cmd_usage("repo export", "which repository?");
    if (!path)
        return psnap_cmd_usage("repo export", "no archive: give -o FILE.tar");
    for (int i = 2; i <= operands && !status; i++)
        if (query_parse(&query, argv[i], &error))
            status = psnap_cmd_fail("repo export", &error);
    if (!status)
        status = export(argv[1], &query, path, force, as_json);
    query_release(&query);
    return status;
}

static void print_item(void *context, const struct add_item *item)
{
    struct report *report = context;
    char id[REPO_ID_DIGITS + 1];

    psnap_progress_erase(report->progress);
    repo_id_text(&item->id, id);
    if (item->state == ADD_FAILED) {
        refused(report, &item->error);
    } else if (report->json) {
        psnap_json_begin_object(report->json, NULL);
        psnap_json_text(report->json, "file", item->path);
        psnap_json_text(report->json, "id", id);
        psnap_json_bool(report->json, "new", item->state == ADD_NEW);
        psnap_json_end_object(report->json);
    } else {
        puts(id);
        fflush(stdout);
    }
    psnap_progress_add(report->progress, 1);
}

static void left_out(void *context, const char *name, const char *reason)
{
    struct report *report = context;
    struct psnap_error error;

    report->left_out++;
    psnap_error_set(&error, PSNAP_ERROR_VALUE, "'%.200s' is left out: %s", name, reason);
    psnap_cmd_warn(&error);
}

static enum psnap_status import_file(struct importer *importer, const char *path,
                                     struct psnap_error *error)
{
    const bool is_stdin = !strcmp(path, "-");
    FILE *file = is_stdin ? stdin : fopen(path, "rb");
    struct tar_reader *reader;
    enum psnap_status status;

    if (!file)
        return psnap_error_file(error, errno, "open", path);
    reader = tar_open(file, error);
    status = reader ? import_tar(importer, reader, error) : error->code;
    if (status == PSNAP_ERROR_CORRUPT || status == PSNAP_ERROR_TRUNCATED ||
        status == PSNAP_ERROR_VALUE)
        psnap_error_at(error, path, 0, 0);
    tar_close(reader);
    if (!is_stdin)
        fclose(file);
    return status;
}

static enum psnap_status import_directory(struct importer *importer, const char *path,
                                          struct psnap_error *error)
{
    struct repo *repo = repo_open(path, error);
    const bool is_same = repo && !strcmp(repo->real, importer->adder->repo->real);
    struct index *index = repo && !is_same ? index_open(repo, error) : NULL;
    enum psnap_status status;

    if (is_same)
        status = psnap_error_set(error, PSNAP_ERROR_USAGE, "'%s' is the repository itself", path);
    else if (!index)
        status = error->code;
    else {
        repo_lock(repo, REPO_SHARED, NULL);
        status = import_repository(importer, index, error);
    }

    index_close(index);
    repo_close(repo);
    return status;
}

static int import(struct importer *importer, char **sources, int count, struct report *report)
{
    struct psnap_error error;
    struct stat about;
    int status = PSNAP_EXIT_DONE;

    for (int i = 0; i < count && !status; i++) {
        const bool is_directory =
            strcmp(sources[i], "-") != 0 && !stat(sources[i], &about) && S_ISDIR(about.st_mode);
        if (is_directory ? import_directory(importer, sources[i], &error)
                         : import_file(importer, sources[i], &error)) {
            if (report->json)
                psnap_cmd_fail_in_json(false); /* what was added is in the object that has begun */
            status = psnap_cmd_fail("repo import", &error);
        }
    }
    importer_release(importer);
    return !status && report->refused ? PSNAP_EXIT_FAILED : status;
}

static int open_and_import(const struct add_options *options, uint64_t limit_total, char **argv,
                           int operands, bool as_json)
{
    struct psnap_json json;
    struct report report = {.command = "repo import", .json = as_json ? &json : NULL};
    struct opened opened;
    struct importer *importer;
    int status = repo_cmd_open("repo import", argv[1], &opened);

    if (status)
        return status;
    importer = calloc(1, sizeof *importer);
    if (importer) {
        struct adder adder = {opened.repo, opened.index, *options};
        importer->adder = &adder;
        importer->limit_total = limit_total;
        importer->done = print_item;
        importer->left_out = left_out;
        importer->context = &report;
        importer->note.fidelity = NAN;
        if (as_json) {
            repo_cmd_begin_json(&json, stdout, "repo import");
            psnap_json_begin_array(&json, "profiles");
        }
        report.progress = psnap_progress_of(0, "profiles");
        status = import(importer, argv + 2, operands - 1, &report);
        psnap_progress_free(report.progress);
        if (as_json) {
            psnap_json_end_array(&json);
            psnap_json_u64(&json, "left_out", report.left_out + report.refused);
            repo_cmd_end_json(&json);
        }
    }
    free(importer);
    repo_cmd_close(&opened);
    return psnap_cmd_close_stdout("repo import", importer ? status : PSNAP_EXIT_FAILED);
}

int psnap_cmd_repo_import(int argc, char **argv)
{
    struct add_options options = {.fidelity = NAN, .limit_bytes = ADD_LIMIT_BYTES};
    struct psnap_text_list tags = {NULL, 0};
    uint64_t limit_total = IMPORT_TOTAL_BYTES;
    bool as_json = false;
    const struct psnap_option table[] = {
        {PSNAP_OPTION_LIST, 't', "tag", &tags, "TAG", "of all of them; may be repeated"},
        {PSNAP_OPTION_SIZE, 0, "max-size", &options.limit_bytes, "BYTES",
         "longer profiles are left out; 8M unless given"},
        {PSNAP_OPTION_SIZE, 0, "max-total", &limit_total, "BYTES",
         "an archive that expands to more is refused; 16G unless\ngiven"},
        {PSNAP_OPTION_FLAG, 0, "json", &as_json, NULL, "for programs"},
        {.type = PSNAP_OPTION_END},
    };
    const struct psnap_usage usage = {
        "psnap repo import DIR FILE.tar|OTHER... [--tag TAG...] [--json]",
        "Adds the profiles of archives (tar, also compressed by gzip, zstd or xz; '-' is\n"
        "standard input) and of other repositories, with their tags and licences, and\n"
        "prints their ids. Files of an archive whose names end in .yaml are profiles;\n"
        "nothing is written by the names that it has. What is no sound profile is named,\n"
        "the others are added, and the exit status is 1.",
        table};
    int status;
    const int operands = psnap_options_parse(argc, argv, &usage, false, &status);

    if (operands >= 0) {
        if (operands < 2)
            status = psnap_cmd_usage("repo import", "a repository and what to import are needed");
        else if (!options.limit_bytes || options.limit_bytes > REPO_RAW_MAX)
            status = psnap_cmd_usage("repo import", "--max-size: 1 to 256M");
        for (size_t i = 0; !status && i < tags.count; i++)
            if (!note_is_tag(tags.items[i]))
                status = psnap_cmd_usage("repo import", "'%.100s' is no tag", tags.items[i]);
    }
    options.tags = tags.items;
    options.tag_count = tags.count;
    if (operands >= 0 && !status)
        status = open_and_import(&options, limit_total, argv, operands, as_json);
    psnap_text_list_release(&tags);
    return status;
}
