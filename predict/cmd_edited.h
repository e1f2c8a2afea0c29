/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A profile's text as edits make it, one after the other, and the replay of what it is in the end:
 * for commands that try edits.
 */
#ifndef PSNAP_PREDICT_CMD_EDITED_H
#define PSNAP_PREDICT_CMD_EDITED_H

#include "profile/profile.h"
#include "simcore/cmd_turns.h"

struct edited {
    char *text; /* owned; NULL: none */
    size_t size;
    char name[256]; /* of the profile, for messages */
};

/* The text of a profile, in place of what was there; `name` is the profile's in messages, whose
 * lines are those of the text, not of a file. */
enum psnap_status edited_begin(struct edited *edited, const struct psnap_profile *profile,
                               const char *name, struct psnap_error *error);
/* The text of another one. */
enum psnap_status edited_copy(struct edited *edited, const struct edited *from,
                              struct psnap_error *error);
/* Edits it by a line (profile/edit/cmd_edit.h), several with ; between them, or "", none. What
 * could not be changed is said behind a prefix, "psnap whatif"; NULL: not at all. */
enum psnap_status edited_change(struct edited *edited, const char *lines, const char *prefix,
                                struct psnap_error *error);
void edited_release(struct edited *edited);

/* As psnap_turns_replay(). */
enum psnap_status edited_replay(const struct edited *edited, uint64_t seed, uint64_t count,
                                enum psnap_status (*pass)(void *context,
                                                          struct psnap_source *source,
                                                          struct psnap_error *error),
                                void *context, struct psnap_error *error);

#endif
