/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Edits of a profile's text: each is read, changed and checked by itself, as `psnap edit` does.
 */
#include "predict/cmd_edited.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/cmd.h"
#include "profile/edit/cmd_edit.h"

static enum psnap_status put(struct edited *edited, char *text, size_t size)
{
    free(edited->text);
    edited->text = text;
    edited->size = size;
    return PSNAP_OK;
}

enum psnap_status edited_begin(struct edited *edited, const struct psnap_profile *profile,
                               const char *name, struct psnap_error *error)
{
    size_t size = 0;
    char *text = edit_write_checked(profile, &size, error);

    snprintf(edited->name, sizeof edited->name, "%.240s (edited)", name);
    return text ? put(edited, text, size) : error->code;
}

enum psnap_status edited_copy(struct edited *edited, const struct edited *from,
                              struct psnap_error *error)
{
    char *text = strndup(from->text, from->size);

    memcpy(edited->name, from->name, sizeof edited->name);
    return text ? put(edited, text, from->size)
                : psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
}

static enum psnap_status change(struct edited *edited, const char *line, const char *prefix,
                                struct psnap_error *error)
{
    size_t size = 0;
    struct psnap_yaml_doc *doc =
        psnap_yaml_read_text(edited->text, edited->size, edited->name, error);
    char *text = doc ? edit_line(doc, line, &size, error) : NULL;

    psnap_yaml_doc_free(doc);
    if (text && prefix && *error->message)
        psnap_print(stderr, "%s: %s: %s\n", prefix, line + strspn(line, " \t"), error->message);
    return text ? put(edited, text, size) : error->code;
}

enum psnap_status edited_change(struct edited *edited, const char *lines, const char *prefix,
                                struct psnap_error *error)
{
    char *copy = strdup(lines), *rest = copy, *line = copy ? edit_next(&rest) : NULL;
    enum psnap_status status = PSNAP_OK;

    if (!copy)
        status = psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    else if (!line && *lines)
        status = psnap_error_set(error, PSNAP_ERROR_USAGE, "an edit is missing");
    for (; line && !status; line = edit_next(&rest))
        status = change(edited, line, prefix, error);
    free(copy);
    return status;
}

void edited_release(struct edited *edited)
{
    free(edited->text);
    *edited = (struct edited){0};
}

enum psnap_status edited_replay(const struct edited *edited, uint64_t seed, uint64_t count,
                                enum psnap_status (*pass)(void *context,
                                                          struct psnap_source *source,
                                                          struct psnap_error *error),
                                void *context, struct psnap_error *error)
{
    struct psnap_yaml_doc *doc =
        psnap_yaml_read_text(edited->text, edited->size, edited->name, error);
    struct psnap_profile *profile = doc ? psnap_profile_read_document(doc, error) : NULL;
    const enum psnap_status status =
        profile ? psnap_turns_replay(profile, seed, count, pass, context, error) : error->code;

    psnap_profile_free(profile);
    psnap_yaml_doc_free(doc);
    return status;
}
