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
};

/* The text of a profile, in place of what was there. */
enum psnap_status edited_begin(struct edited *edited, const struct psnap_profile *profile,
                               struct psnap_error *error);
/* The text of another one. */
enum psnap_status edited_copy(struct edited *edited, const struct edited *from,
                              struct psnap_error *error);
/* Edits it by a line (profile/edit/cmd_edit.h), or several with ; between them. What could not be
 * changed is said in the name of a command, and errors have the line; NULL: the caller names it. */
enum psnap_status edited_change(struct edited *edited, const char *lines, const char *command,
                                struct psnap_error *error);
void edited_release(struct edited *edited);

/* As psnap_turns_replay(); `name` is what messages call the profile. */
enum psnap_status edited_replay(const struct edited *edited, const char *name, uint64_t seed,
                                enum psnap_status (*pass)(void *context,
                                                          struct psnap_source *source,
                                                          struct psnap_error *error),
                                void *context, struct psnap_error *error);

#endif
