/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * psnap edit: a profile with changes, each of which is made everywhere where it has to be (edit.h).
 *
 * Fields that are set by path are set in the document, which is then read with all checks, so a
 * contradiction names lines of the document. What comes out is written canonically, and read again
 * before it appears: psnap edit writes nothing that psnap check would refuse.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/cmd.h"
#include "formats/base/output.h"
#include "formats/base/text.h"
#include "profile/edit/cmd_edit.h"
#include "replay/cmd_input.h"

struct request {
    const char *input, *output;
    struct psnap_text_list sets, edits;
    bool force;
};

static struct psnap_yaml_doc *read_document(const char *path, struct psnap_error *error)
{
    FILE *file = psnap_input_file(path, error);
    const char *name = file == stdin ? "stdin" : path;
    struct psnap_yaml_doc *doc = NULL;

    if (!file)
        return NULL;
    if (psnap_input_is_profile(file))
        doc = psnap_yaml_read(file, name, error);
    else {
        psnap_error_set(error, PSNAP_ERROR_VALUE,
                        "no profile; 'psnap profile' makes a profile of a trace");
        psnap_error_at(error, name, 0, 0);
    }
    if (file != stdin)
        fclose(file);
    return doc;
}

/* The edited profile's text; NULL with `error` filled. */
static char *edited(const struct request *r, size_t *size, struct psnap_error *error)
{
    struct psnap_yaml_doc *doc = read_document(r->input, error);
    struct psnap_profile *profile;
    char *text = NULL;

    for (size_t i = 0; i < r->sets.count && doc; i++)
        if (edit_set(doc, r->sets.items[i], error)) {
            psnap_yaml_doc_free(doc);
            return NULL;
        }
    for (size_t i = 0; i < r->edits.count && doc; i++) {
        free(text);
        text = edit_lines(doc, r->edits.items[i], "the edited profile", "psnap edit", size, error);
        doc = text && i + 1 < r->edits.count
                  ? psnap_yaml_read_text(text, *size, "the edited profile", error)
                  : NULL;
    }
    profile = doc && !text ? psnap_profile_read_document(doc, error) : NULL;
    if (profile) {
        profile->certificate = NULL;
        text = edit_write_checked(profile, size, error);
    }
    psnap_profile_free(profile);
    psnap_yaml_doc_free(doc);
    return text;
}

static int edit(const struct request *r)
{
    struct psnap_error error;
    struct psnap_output *output = psnap_output_open(r->output, r->force, &error);
    size_t size = 0;
    char *text = output ? edited(r, &size, &error) : NULL;
    enum psnap_status status = text ? PSNAP_OK : PSNAP_ERROR_VALUE;

    if (text && fwrite(text, 1, size, psnap_output_file(output)) != size)
        status = psnap_error_file(&error, errno, "write", r->output);
    status = psnap_output_finish(output, status, &error);
    free(text);
    return status ? psnap_cmd_fail("edit", &error) : PSNAP_EXIT_DONE;
}

int psnap_cmd_edit(int argc, char **argv)
{
    struct request request = {0};
    const struct psnap_option options[] = {
        {PSNAP_OPTION_TEXT, 'o', "output", &request.output, "Q.yaml", "where to ('-': stdout)"},
        {PSNAP_OPTION_LIST, 'e', "edit", &request.edits, "EDIT",
         "a change, or several with ; between them; may be repeated"},
        {PSNAP_OPTION_LIST, 0, "set", &request.sets, "PATH=VALUE",
         "a field, before the changes; may be repeated"},
        {PSNAP_OPTION_FLAG, 0, "force", &request.force, NULL, "overwrite Q.yaml"},
        {.type = PSNAP_OPTION_END},
    };
    char text[3072];
    const struct psnap_usage usage = {
        "psnap edit P.yaml -o Q.yaml -e EDIT [-e EDIT ...] [--set PATH=VALUE]", text, options};
    int status;
    int operands;

    snprintf(text, sizeof text,
             "Changes a profile: what if this array were twice as large, if this loop ran\n"
             "more often, if it were not there? Each change is made everywhere where it has\n"
             "to be. EDITs are lines as\n%s\n"
             "A PATH of --set has dots between its names, as\n"
             "loops.multiply:39.regions.a.working_set.offset; an empty VALUE takes the field\n"
             "away. What is written has passed 'psnap check'; a certificate goes.",
             edit_line_forms);
    operands = psnap_options_parse(argc, argv, &usage, false, &status);
    if (operands >= 0) {
        request.input = argv[1];
        if (operands != 1 || !request.output)
            status =
                psnap_cmd_usage("edit", operands != 1 ? "one profile, please" : "-o is missing");
        else if (!request.edits.count && !request.sets.count)
            status = psnap_cmd_usage("edit", "what is to be changed? (-e)");
        else
            status = edit(&request);
    }
    psnap_text_list_release(&request.sets);
    psnap_text_list_release(&request.edits);
    return status;
}
