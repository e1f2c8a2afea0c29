/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * psnap repo: the table of its commands, what they share, and init.
 */
#include "profile/repo/cmd_repo.h"

#include <math.h>
#include <signal.h>
#include <string.h>

#include "formats/base/text.h"

const struct psnap_command psnap_repo_commands[] = {
    {"init", "make a repository", psnap_cmd_repo_init},
    {"add", "add profiles; prints their ids", psnap_cmd_repo_add},
    {"list", "what is in it", psnap_cmd_repo_list},
    {"search", "profiles by name, function, sizes, strides, similarity", psnap_cmd_repo_search},
    {"get", "a profile, as it was added", psnap_cmd_repo_get},
    {"diff", "what is different between two of its profiles", psnap_cmd_repo_diff},
    {"verify", "look for damage", psnap_cmd_repo_verify},
    {"gc", "merge small files, mend and tidy", psnap_cmd_repo_gc},
    {"export", "as a tar archive", psnap_cmd_repo_export},
    {"import", "profiles of an archive or another repository", psnap_cmd_repo_import},
    {0},
};

int psnap_cmd_repo(int argc, char **argv)
{
    signal(SIGXFSZ, SIG_IGN); /* a file that grows too large is an error, and no death */
    return psnap_cmd_part("repo", "psnap repo COMMAND DIR [ARGUMENTS]", "command",
                          psnap_repo_commands, argc, argv);
}

int repo_cmd_open(const char *command, const char *path, struct opened *opened)
{
    struct psnap_error error;

    *opened = (struct opened){NULL, NULL};
    opened->repo = repo_open(path, &error);
    opened->index = opened->repo ? index_open(opened->repo, &error) : NULL;
    if (!opened->index) {
        repo_close(opened->repo);
        return psnap_cmd_fail(command, &error);
    }
    if (opened->index->notice[0]) {
        psnap_error_set(&error, PSNAP_ERROR_CORRUPT, "%s", opened->index->notice);
        psnap_cmd_warn(&error);
    }
    repo_cmd_warn_unusable(opened);
    return PSNAP_EXIT_DONE;
}

void repo_cmd_warn_unusable(const struct opened *opened)
{
    struct psnap_error error;

    if (!opened->index->unusable)
        return;
    psnap_error_set(&error, PSNAP_ERROR_CORRUPT,
                    "something in the repository is damaged; 'psnap repo verify' says what");
    psnap_cmd_warn(&error);
    opened->index->unusable = 0;
}

void repo_cmd_close(struct opened *opened)
{
    index_close(opened->index);
    repo_close(opened->repo);
}

void repo_cmd_begin_json(struct psnap_json *json, FILE *file, const char *command)
{
    psnap_json_init(json, file);
    psnap_json_begin_object(json, NULL);
    psnap_json_u64(json, "psnap", 1);
    psnap_json_text(json, "command", command);
}

void repo_cmd_end_json(struct psnap_json *json)
{
    psnap_json_end_object(json);
}

int psnap_cmd_repo_init(int argc, char **argv)
{
    bool as_json = false;
    const struct psnap_option options[] = {
        {PSNAP_OPTION_FLAG, 0, "json", &as_json, NULL, "for programs"},
        {.type = PSNAP_OPTION_END},
    };
    const struct psnap_usage usage = {
        "psnap repo init DIR [--json]",
        "Makes a repository of profiles: a directory that can be copied, shared, and put\n"
        "on a network file system or in git. DIR is made, or is empty.",
        options};
    struct psnap_error error;
    struct psnap_json json;
    int status;
    const int operands = psnap_options_parse(argc, argv, &usage, false, &status);

    if (operands < 0)
        return status;
    if (operands != 1)
        return psnap_cmd_usage("repo init", "one directory is needed, not %d", operands);
    if (repo_init(argv[1], &error))
        return psnap_cmd_fail("repo init", &error);
    if (as_json) {
        repo_cmd_begin_json(&json, stdout, "repo init");
        psnap_json_text(&json, "repository", argv[1]);
        repo_cmd_end_json(&json);
    }
    return psnap_cmd_close_stdout("repo init", PSNAP_EXIT_DONE);
}
