/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * psnap edit: a profile with one change, which is made everywhere where it has to be (edit.h).
 *
 * Fields that are set by path are set in the document, which is then read with all checks, so a
 * contradiction names lines of the document. What comes out is written canonically, and read again
 * before it appears: psnap edit writes nothing that psnap check would refuse.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/cmd.h"
#include "formats/base/output.h"
#include "formats/base/text.h"
#include "profile/edit/cmd_edit.h"
#include "profile/edit/edit.h"
#include "replay/cmd_input.h"

enum { FIELDS_MAX = 64 };

struct request {
    const char *input, *output;
    struct psnap_text_list sets, regions;
    const char *span, *pad, *move, *stride, *iterations, *entries, *removed, *interleaved, *split;
    const char *reuse;
    bool merges, force;
    struct psnap_edit edit;
    bool has_edit;
    uint64_t fields[FIELDS_MAX];
};

/* ---- what was asked for ---- */

/* "2", and where parts are allowed "1/2". */
static bool read_factor(const char *text, bool has_parts, struct psnap_edit *edit)
{
    char times[32];
    const char *slash = strchr(text, '/');

    edit->over = 1;
    if (slash && (!has_parts || !psnap_text_u64(slash + 1, &edit->over)))
        return false;
    snprintf(times, sizeof times, "%.*s", slash ? (int)(slash - text) : 31, text);
    return psnap_text_u64(times, &edit->times) && edit->times && edit->over &&
           edit->times <= PSNAP_EDIT_FACTOR_MAX && edit->over <= PSNAP_EDIT_FACTOR_MAX;
}

/* "2", "0.5", "1/2". */
static bool read_number(const char *text, double *number)
{
    char *end;
    double over = 1;

    *number = strtod(text, &end);
    if (*end == '/')
        over = strtod(end + 1, &end);
    *number /= over;
    return !*end && end != text && *number >= 1e-6 && *number <= 1e6;
}

/* "8=64" */
static bool read_strides(const char *text, struct psnap_edit *edit)
{
    const char *equals = strchr(text, '=');
    char from[32];

    if (!equals || equals - text >= (ptrdiff_t)sizeof from)
        return false;
    snprintf(from, sizeof from, "%.*s", (int)(equals - text), text);
    return edit_read_bytes(from, &edit->old_stride) &&
           edit_read_bytes(equals + 1, &edit->new_stride);
}

/* "8,8,16" */
static bool read_fields(const char *text, struct request *request)
{
    size_t *count = &request->edit.field_count;

    for (*count = 0; *count < FIELDS_MAX;) {
        const size_t length = strcspn(text, ",");
        uint64_t *bytes = &request->fields[*count];
        char field[32];
        snprintf(field, sizeof field, "%.*s", length < sizeof field ? (int)length : 31, text);
        if (!psnap_text_size(field, bytes) || !*bytes || *bytes > PSNAP_COUNT_MAX)
            return false;
        ++*count;
        if (!text[length])
            return true;
        text += length + 1;
    }
    return false;
}

/* Takes one change; another one before it is wrong usage. */
static int take(struct request *request, enum psnap_edit_what what, bool is_good,
                const char *option, const char *form)
{
    if (request->has_edit)
        return psnap_cmd_usage("edit", "one change at a time; '-o -' and another 'psnap edit -' "
                                       "make several");
    if (!is_good)
        return psnap_cmd_usage("edit", "%s wants %s", option, form);
    request->has_edit = true;
    request->edit.what = what;
    return 0;
}

static int take_changes(struct request *r)
{
    struct psnap_edit *edit = &r->edit;
    int status = 0;

    if (!status && r->span)
        status = take(r, PSNAP_EDIT_SPAN, read_factor(r->span, true, edit), "--span",
                      "a factor, as 2 or 1/2");
    if (!status && r->pad)
        status = take(r, PSNAP_EDIT_PAD, edit_read_bytes(r->pad, &edit->bytes) && edit->bytes >= 0,
                      "--pad", "bytes, 0 or more");
    if (!status && r->move)
        status =
            take(r, PSNAP_EDIT_MOVE, edit_read_bytes(r->move, &edit->bytes), "--move", "bytes");
    if (!status && r->stride)
        status = take(r, PSNAP_EDIT_STRIDE, read_strides(r->stride, edit), "--stride",
                      "the stride there is and the new one, in bytes of up to 2^56, as 8=64");
    if (!status && r->iterations)
        status = take(r, PSNAP_EDIT_ITERATIONS, read_factor(r->iterations, false, edit),
                      "--iterations", "a factor, as 2");
    if (!status && r->entries)
        status = take(r, PSNAP_EDIT_ENTRIES, read_factor(r->entries, false, edit), "--entries",
                      "a factor, as 2");
    if (!status && r->interleaved)
        status =
            take(r, PSNAP_EDIT_INTERLEAVE, read_fields(r->interleaved, r) && edit->field_count == 1,
                 "--interleave", "the bytes of an element, as 8");
    if (!status && r->split)
        status = take(r, PSNAP_EDIT_SPLIT, read_fields(r->split, r) && edit->field_count > 1,
                      "--split", "the bytes of each field, as 8,8,4");
    if (!status && r->reuse)
        status = take(r, PSNAP_EDIT_REUSE, read_number(r->reuse, &edit->factor), "--reuse-scale",
                      "a factor, as 2 or 0.5");
    if (!status && r->merges)
        status = take(r, PSNAP_EDIT_MERGE, edit->loop && r->regions.count > 1, "--merge-regions",
                      "a --loop and several --region of it");
    if (!status && r->removed) {
        if (edit->loop)
            return psnap_cmd_usage("edit", "--remove-loop names its loop itself");
        edit->loop = r->removed;
        status = take(r, PSNAP_EDIT_REMOVE, true, "--remove-loop", "a loop");
    }
    return status;
}

/* That there is what the change is about, and nothing else. */
static int check_about(const struct request *r)
{
    const bool is_array = r->edit.what == PSNAP_EDIT_SPAN || r->edit.what == PSNAP_EDIT_PAD ||
                          r->edit.what == PSNAP_EDIT_MOVE ||
                          r->edit.what == PSNAP_EDIT_INTERLEAVE || r->edit.what == PSNAP_EDIT_SPLIT;
    const bool is_loop =
        r->edit.what == PSNAP_EDIT_ITERATIONS || r->edit.what == PSNAP_EDIT_ENTRIES;

    if (!r->has_edit && !r->sets.count)
        return psnap_cmd_usage("edit", "what is to be changed?");
    if (!r->has_edit && (r->edit.loop || r->regions.count))
        return psnap_cmd_usage("edit", "--loop and --region are for a change; --set has a path");
    if (r->edit.object && (r->edit.what != PSNAP_EDIT_REUSE || !r->has_edit || r->regions.count))
        return psnap_cmd_usage("edit", "--object is for --reuse-scale, in the place of --region");
    if (r->has_edit && is_array && !r->regions.count)
        return psnap_cmd_usage("edit", "which array? (--region)");
    if (r->has_edit && is_loop && !r->edit.loop)
        return psnap_cmd_usage("edit", "which loop? (--loop)");
    if (r->has_edit && (is_loop || r->edit.what == PSNAP_EDIT_REMOVE) && r->regions.count)
        return psnap_cmd_usage("edit", "--region is not for this: all that the loop does changes");
    return 0;
}

/* ---- doing it ---- */

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

/* The line of a loop, or of a region of it, that an error is about. */
static void place(const struct psnap_yaml_doc *doc, uint32_t loop, uint32_t region,
                  struct psnap_error *error)
{
    const struct psnap_yaml_node *loops = psnap_yaml_get(psnap_yaml_root(doc), "loops");
    const struct psnap_yaml_node *node = loops ? loops->first : NULL;
    const struct psnap_yaml_node *regions;

    psnap_error_at(error, psnap_yaml_name(doc), 0, 0);
    if (loop == PSNAP_NONE)
        return;
    while (node && loop--)
        node = node->next;
    regions = psnap_yaml_get(node, "regions");
    if (regions && region != PSNAP_NONE) {
        node = regions->first;
        while (node && region--)
            node = node->next;
    }
    if (node)
        psnap_error_at(error, NULL, node->src_line, node->column);
}

/* The edited profile's text; NULL with `error` filled. */
static char *edited(const struct request *r, size_t *size, struct psnap_error *error)
{
    struct psnap_yaml_doc *doc = read_document(r->input, error);
    struct psnap_profile *profile = NULL;
    enum psnap_status status = doc ? PSNAP_OK : error->code;
    char *text = NULL;
    uint32_t loop, region;

    for (size_t i = 0; i < r->sets.count && !status; i++)
        status = edit_set(doc, r->sets.items[i], error);
    if (!status)
        profile = psnap_profile_read_document(doc, error);
    if (profile && r->has_edit) {
        status = psnap_profile_edit(profile, &r->edit, &loop, &region, error);
        if (status && status != PSNAP_ERROR_MEMORY)
            place(doc, loop, region, error);
        if (!status && *error->message)
            psnap_print(stderr, "psnap edit: %s\n", error->message);
    } else if (profile)
        profile->certificate = NULL;
    if (profile && !status)
        text = edit_write_checked(profile, size, error);
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

    if (text && fwrite(text, 1, size, psnap_output_file(output)) != size) {
        status = psnap_error_file(&error, errno, "write", r->output);
        psnap_error_at(&error, r->output, 0, 0);
    }
    if (!status)
        status = psnap_output_commit(output, &error);
    else
        psnap_output_abandon(output);
    free(text);
    return status ? psnap_cmd_fail("edit", &error) : PSNAP_EXIT_DONE;
}

int psnap_cmd_edit(int argc, char **argv)
{
    struct request request = {0};
    const struct psnap_option options[] = {
        {PSNAP_OPTION_TEXT, 'o', "output", &request.output, "Q.yaml", "where to ('-': stdout)"},
        {PSNAP_OPTION_TEXT, 0, "loop", &request.edit.loop, "LOOP",
         "id of the loop to change, or of a loop of the source with all its parts"},
        {PSNAP_OPTION_LIST, 0, "region", &request.regions, "NAME",
         "array to change, by its name, or by the id of a region of --loop"},
        {PSNAP_OPTION_TEXT, 0, "span", &request.span, "K",
         "the same accesses, spread over K times the array (2, 1/2)"},
        {PSNAP_OPTION_TEXT, 0, "pad", &request.pad, "BYTES",
         "so many bytes before the array, which moves, with all behind it"},
        {PSNAP_OPTION_TEXT, 0, "move", &request.move, "BYTES", "the array alone moves"},
        {PSNAP_OPTION_TEXT, 0, "stride", &request.stride, "OLD=NEW",
         "another stride, in the loop, the region, or everywhere"},
        {PSNAP_OPTION_TEXT, 0, "interleave", &request.interleaved, "BYTES",
         "element by element of so many bytes, the arrays of several --region (AoS)"},
        {PSNAP_OPTION_TEXT, 0, "split", &request.split, "BYTES,BYTES...",
         "records with these fields are an array for each field (SoA)"},
        {PSNAP_OPTION_FLAG, 0, "merge-regions", &request.merges, NULL,
         "several --region of the loop are told as one"},
        {PSNAP_OPTION_TEXT, 0, "iterations", &request.iterations, "K",
         "each time the loop is entered, K times as many iterations"},
        {PSNAP_OPTION_TEXT, 0, "entries", &request.entries, "K",
         "the loop is entered K times where it was once"},
        {PSNAP_OPTION_TEXT, 0, "reuse-scale", &request.reuse, "F",
         "reuse times of 16 and more are F times as long, of the region, the object, or all"},
        {PSNAP_OPTION_TEXT, 0, "object", &request.edit.object, "OBJECT",
         "id or name of an object, for --reuse-scale"},
        {PSNAP_OPTION_TEXT, 0, "remove-loop", &request.removed, "LOOP",
         "the loop, and all that is within it, is not there"},
        {PSNAP_OPTION_LIST, 0, "set", &request.sets, "PATH=VALUE",
         "a field, before other changes; may be repeated"},
        {PSNAP_OPTION_FLAG, 0, "force", &request.force, NULL, "overwrite Q.yaml"},
        {.type = PSNAP_OPTION_END},
    };
    const struct psnap_usage usage = {
        "psnap edit P.yaml -o Q.yaml [--loop LOOP] [--region NAME] CHANGE",
        "Changes a profile: what if this array were twice as large, if this loop ran\n"
        "more often, if it were not there? One change, made everywhere where it has to\n"
        "be. A PATH is keys, ids and numbers of items with dots between them:\n"
        "loops.multiply:39.regions.a.working_set.offset. An empty VALUE takes a field\n"
        "away. What is written has passed 'psnap check'; a certificate goes.",
        options};
    int status;
    const int operands = psnap_options_parse(argc, argv, &usage, false, &status);

    if (operands >= 0) {
        status = 0;
        if (operands != 1 || !request.output)
            status =
                psnap_cmd_usage("edit", operands != 1 ? "one profile, please" : "-o is missing");
        if (!status && !(status = take_changes(&request)))
            status = check_about(&request);
        request.input = argv[1];
        request.edit.regions = request.regions.items;
        request.edit.region_count = request.regions.count;
        request.edit.fields = request.fields;
        if (!status)
            status = edit(&request);
    }
    psnap_text_list_release(&request.sets);
    psnap_text_list_release(&request.regions);
    return status;
}
