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
 * A profile's text after edits (cmd_edit_line.c has their forms) with ; between them, each of which
 * is checked; the document is freed. Errors name the text between two edits `name`. What could not
 * be changed is said behind a prefix, "psnap edit"; NULL: not at all. The caller frees the text.
 * NULL with `error` filled.
 */
char *edit_lines(struct psnap_yaml_doc *doc, const char *lines, const char *name,
                 const char *prefix, size_t *size, struct psnap_error *error);

/* The forms, for help. */
extern const char edit_line_forms[];

#endif
