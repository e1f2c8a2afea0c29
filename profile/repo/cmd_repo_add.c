/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * psnap repo add: ids on standard output, one a line, in the order of the files; each is printed
 * when its profile is committed. A file that cannot be added is named, and the others are.
 *
 * JSON: {profiles: [{file, id, new}], failed: [{file, message, line, column}]}, all at the end.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/cmd_progress.h"
#include "profile/repo/add.h"
#include "profile/repo/cmd_repo.h"
#include "replay/cmd_input.h"

struct report {
    bool as_json, has_failed;
    struct psnap_json json;
    struct add_item *failed; /* path and error; owned */
    size_t failed_count;
    struct psnap_progress *progress;
};

static void keep_failed(struct report *report, const struct add_item *item)
{
    struct add_item *larger = realloc(report->failed, (report->failed_count + 1) * sizeof *larger);

    if (!larger)
        return;
    larger[report->failed_count++] = *item;
    report->failed = larger;
}

static void print_item(void *context, const struct add_item *item)
{
    struct report *report = context;
    char id[REPO_ID_DIGITS + 1], text[1024];

    psnap_progress_erase(report->progress);
    repo_id_text(&item->id, id);
    if (item->state == ADD_FAILED) {
        struct add_item failed = *item;
        struct psnap_error error;
        if (!psnap_input_may_be_profile(item->path, &error))
            failed.error = error; /* a trace is told as such */
        report->has_failed = true;
        psnap_print(stderr, "psnap repo add: %s\n",
                    psnap_error_format(&failed.error, text, sizeof text));
        if (report->as_json)
            keep_failed(report, &failed);
    } else if (report->as_json) {
        psnap_json_begin_object(&report->json, NULL);
        psnap_json_text(&report->json, "file", item->path);
        psnap_json_text(&report->json, "id", id);
        psnap_json_bool(&report->json, "new", item->state == ADD_NEW);
        psnap_json_end_object(&report->json);
    } else {
        puts(id);
        fflush(stdout);
    }
    psnap_progress_add(report->progress, 1);
}

static void end_json(struct report *report)
{
    struct psnap_json *json = &report->json;

    psnap_json_end_array(json);
    psnap_json_begin_array(json, "failed");
    for (size_t i = 0; i < report->failed_count; i++) {
        const struct psnap_error *error = &report->failed[i].error;
        psnap_json_begin_object(json, NULL);
        psnap_json_text(json, "file", report->failed[i].path);
        psnap_json_text(json, "message", error->message);
        psnap_json_real(json, "line", error->src_line ? (double)error->src_line : NAN);
        psnap_json_real(json, "column", error->column ? (double)error->column : NAN);
        psnap_json_end_object(json);
    }
    psnap_json_end_array(json);
}

/* What a part of JSON cannot take back is printed into memory first. */
static int add(const struct add_options *options, char **argv, int operands, bool as_json)
{
    struct report report = {.as_json = as_json};
    struct psnap_error error;
    struct opened opened;
    char *text = NULL;
    size_t size = 0;
    FILE *memory = as_json ? open_memstream(&text, &size) : NULL;
    int status = repo_cmd_open("repo add", argv[1], &opened);

    if (!status) {
        struct adder adder = {opened.repo, opened.index, *options};
        if (memory) {
            repo_cmd_begin_json(&report.json, memory, "repo add");
        }
        report.as_json = memory != NULL;
        if (memory)
            psnap_json_begin_array(&report.json, "profiles");
        report.progress = psnap_progress_of((uint64_t)operands - 1, "profiles");
        error.code = add_paths(&adder, argv + 2, (size_t)operands - 1, print_item, &report, &error);
        psnap_progress_free(report.progress);
        if (error.code)
            status = psnap_cmd_fail("repo add", &error);
        else if (memory)
            end_json(&report);
        repo_cmd_close(&opened);
    }
    if (memory)
        fclose(memory);
    if (!status && memory) {
        fputs(text, stdout);
        report.json.file = stdout;
        repo_cmd_end_json(&report.json);
    }
    free(text);
    free(report.failed);
    return psnap_cmd_close_stdout("repo add",
                                  !status && report.has_failed ? PSNAP_EXIT_FAILED : status);
}

static int check_options(const struct add_options *options, const struct psnap_text_list *tags)
{
    for (size_t i = 0; i < tags->count; i++)
        if (!note_is_tag(tags->items[i]))
            return psnap_cmd_usage(
                "repo add", "'%.100s' is no tag: it has 1 to %d bytes, no blanks and no '\"'",
                tags->items[i], NOTE_TAG_BYTES);
    if (tags->count > NOTE_TAGS_MAX)
        return psnap_cmd_usage("repo add", "%d tags at most", NOTE_TAGS_MAX);
    if (options->fidelity < 0)
        return psnap_cmd_usage("repo add", "--fidelity: an error in points is not negative");
    if (!options->limit_bytes || options->limit_bytes > REPO_RAW_MAX)
        return psnap_cmd_usage("repo add", "--max-size: 1 to 256M");
    return 0;
}

int psnap_cmd_repo_add(int argc, char **argv)
{
    struct psnap_text_list tags = {NULL, 0};
    struct add_options options = {.fidelity = NAN, .limit_bytes = ADD_LIMIT_BYTES};
    bool as_json = false;
    const struct psnap_option table[] = {
        {PSNAP_OPTION_LIST, 't', "tag", &tags, "TAG", "of all of them; may be repeated"},
        {PSNAP_OPTION_ONCE, 0, "licence", &options.licence, "NAME", "of all of them"},
        {PSNAP_OPTION_ONCE, 0, "input", &options.input, "TEXT", "what the program worked on"},
        {PSNAP_OPTION_REAL, 0, "fidelity", &options.fidelity, "POINTS",
         "mean error of hit rates, where it is better known than\nby the certificate"},
        {PSNAP_OPTION_SIZE, 0, "max-size", &options.limit_bytes, "BYTES",
         "longer profiles are refused; 8M unless given"},
        {PSNAP_OPTION_FLAG, 0, "json", &as_json, NULL, "for programs"},
        {.type = PSNAP_OPTION_END},
    };
    const struct psnap_usage usage = {
        "psnap repo add DIR P.yaml... [--tag TAG...] [--licence NAME] [--input TEXT]",
        "Adds profiles, as they are to the byte, and prints the id of each when it is in\n"
        "the repository for good. One that is there already has the same id, and gets the\n"
        "tags as well. What is no sound profile is refused and named, the others are\n"
        "added, and the exit status is 1. '-' is standard input.",
        table};
    int status;
    const int operands = psnap_options_parse(argc, argv, &usage, false, &status);

    if (operands >= 0)
        status = operands < 2 ? psnap_cmd_usage("repo add", "a repository and profiles are needed")
                              : check_options(&options, &tags);
    options.tags = tags.items;
    options.tag_count = tags.count;
    if (operands >= 0 && !status)
        status = add(&options, argv, operands, as_json);
    psnap_text_list_release(&tags);
    return status;
}
