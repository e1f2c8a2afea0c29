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

enum psnap_status edited_change(struct edited *edited, const char *lines, const char *prefix,
                                struct psnap_error *error)
{
    size_t size = 0;
    struct psnap_yaml_doc *doc =
        *lines ? psnap_yaml_read_text(edited->text, edited->size, edited->name, error) : NULL;
    char *text = doc ? edit_lines(doc, lines, edited->name, prefix, &size, error) : NULL;

    if (!*lines)
        return PSNAP_OK;
    return text ? put(edited, text, size) : error->code;
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
