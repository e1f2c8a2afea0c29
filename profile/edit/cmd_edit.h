/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Edits of a profile as people write them, for the commands that take them.
 */
#ifndef PSNAP_CMD_EDIT_H
#define PSNAP_CMD_EDIT_H

#include "formats/base/yaml.h"
#include "profile/profile.h"

/* The node that a path leads to: keys, ids of a list's items or their numbers (from 0), with dots
 * between them: loops.multiply:39.regions.a.accesses. The last key of a map is made if it is not
 * there and `makes`. NULL with `error` filled. */
struct psnap_yaml_node *edit_find_node(struct psnap_yaml_doc *doc, const char *path, bool makes,
                                       struct psnap_error *error);

/* Puts a value, which is YAML, where a path leads; "PATH=" takes away what is there. */
enum psnap_status edit_set(struct psnap_yaml_doc *doc, const char *assignment,
                           struct psnap_error *error);

/* The profile's text, as it is after a check; the caller frees it. NULL with `error` filled. */
char *edit_write_checked(const struct psnap_profile *profile, size_t *size,
                         struct psnap_error *error);

/*
 * A profile's text after an edit in one line (cmd_edit_line.c has the forms), which is checked; the
 * document is of no use any more. The caller frees the text. NULL with `error` filled. When it is
 * done, error->message says what could not be changed, or is empty.
 */
char *edit_line(struct psnap_yaml_doc *doc, const char *line, size_t *new_size,
                struct psnap_error *error);

/* Cuts the first edit off a list with ; between them, *rest becoming what follows; NULL: there is
 * none. */
char *edit_next(char **rest);

/* The forms, for help. */
extern const char edit_line_forms[];

#endif
