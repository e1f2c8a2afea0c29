/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * psnap repo get and diff: profiles out of the repository again.
 */
#include <string.h>

#include "formats/base/output.h"
#include "profile/diff/cmd_diff.h"
#include "profile/repo/cmd_repo.h"

/* The bytes of the one whose id begins so. A file that gc has merged meanwhile is looked for again.
 */
static enum psnap_status read_profile(struct opened *opened, const char *prefix,
                                      struct repo_bytes *raw, struct psnap_error *error)
{
    struct repo_id id;
    enum psnap_status status = index_find(opened->index, prefix, &id, error);

    return status ? status : index_fetch(opened->index, &id, raw, error);
}

static int get(struct opened *opened, const char *prefix, const char *path, bool force)
{
    struct repo_bytes raw = {0};
    struct psnap_error error;
    struct psnap_output *output = NULL;
    enum psnap_status status = read_profile(opened, prefix, &raw, &error);

    if (!status) {
        output = psnap_output_open(path, force, &error);
        status = output ? PSNAP_OK : error.code;
    }
    if (!status && fwrite(raw.data, 1, raw.size, psnap_output_file(output)) != raw.size)
        status = psnap_error_set(&error, PSNAP_ERROR_IO, "cannot write");
    status = psnap_output_finish(output, status, &error);
    repo_bytes_release(&raw);
    return status ? psnap_cmd_fail("repo get", &error)
                  : psnap_cmd_close_stdout("repo get", PSNAP_EXIT_DONE);
}

int psnap_cmd_repo_get(int argc, char **argv)
{
    const char *path = "-";
    bool force = false;
    const struct psnap_option options[] = {
        {PSNAP_OPTION_TEXT, 'o', "output", &path, "FILE", "instead of standard output"},
        {PSNAP_OPTION_FLAG, 0, "force", &force, NULL, "overwrite an existing file"},
        {.type = PSNAP_OPTION_END},
    };
    const struct psnap_usage usage = {
        "psnap repo get DIR ID [-o P.yaml] [--force]",
        "Writes a profile as it was added, byte by byte. ID may be cut to a beginning that\n"
        "no other one has.",
        options};
    struct opened opened;
    int status;
    const int operands = psnap_options_parse(argc, argv, &usage, false, &status);

    if (operands < 0)
        return status;
    if (operands != 2)
        return psnap_cmd_usage("repo get", "a repository and an id are needed");
    status = repo_cmd_open("repo get", argv[1], &opened);
    if (status)
        return status;
    status = get(&opened, argv[2], path, force);
    repo_cmd_close(&opened);
    return status;
}

static struct psnap_profile *parse(const struct repo_bytes *raw, const char *name,
                                   struct psnap_error *error)
{
    FILE *file = raw->size ? fmemopen(raw->data, raw->size, "r") : NULL;
    struct psnap_profile *profile;

    if (!file) {
        psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
        return NULL;
    }
    profile = psnap_profile_read(file, name, error);
    fclose(file);
    return profile;
}

static int diff(struct opened *opened, const struct diff_request *request, bool as_json)
{
    struct repo_bytes raw[2] = {{0}, {0}};
    struct psnap_profile *a = NULL, *b = NULL;
    struct psnap_error error;
    struct profile_diff result;
    int status = PSNAP_EXIT_DONE;

    if (!read_profile(opened, request->a, &raw[0], &error) &&
        !read_profile(opened, request->b, &raw[1], &error) &&
        (a = parse(&raw[0], request->a, &error)) && (b = parse(&raw[1], request->b, &error)) &&
        !profile_diff_init(&result, a, b, &error)) {
        if (as_json)
            diff_print_json(&result, request);
        else
            diff_print_text(&result, request);
        profile_diff_release(&result);
        status = psnap_cmd_close_stdout("repo diff", PSNAP_EXIT_DONE);
    } else {
        status = psnap_cmd_fail("repo diff", &error);
    }
    psnap_profile_free(a);
    psnap_profile_free(b);
    repo_bytes_release(&raw[0]);
    repo_bytes_release(&raw[1]);
    return status;
}

int psnap_cmd_repo_diff(int argc, char **argv)
{
    struct diff_request request = {.top = 20};
    bool as_json = false;
    const struct psnap_option options[] = {
        {PSNAP_OPTION_U64, 0, "top", &request.top, "N", "so many of the loops that differ; 20"},
        {PSNAP_OPTION_FLAG, 0, "json", &as_json, NULL, "for programs: as of 'psnap diff'"},
        {.type = PSNAP_OPTION_END},
    };
    const struct psnap_usage usage = {
        "psnap repo diff DIR ID ID [--top N] [--json]",
        "Says what is different in the second of two profiles, as 'psnap diff' does.", options};
    struct opened opened;
    int status;
    const int operands = psnap_options_parse(argc, argv, &usage, false, &status);

    if (operands < 0)
        return status;
    if (operands != 3)
        return psnap_cmd_usage("repo diff", "a repository and two ids are needed");
    request.a = argv[2];
    request.b = argv[3];
    status = repo_cmd_open("repo diff", argv[1], &opened);
    if (status)
        return status;
    status = diff(&opened, &request, as_json);
    repo_cmd_close(&opened);
    return status;
}
