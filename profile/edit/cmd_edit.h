/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * psnap edit --set PATH=VALUE, private to cmd_edit.c and cmd_edit_set.c.
 */
#ifndef PSNAP_CMD_EDIT_H
#define PSNAP_CMD_EDIT_H

#include "formats/base/yaml.h"

/*
 * Puts a value where a path leads: keys, ids of a list's items or their numbers (from 0), with
 * dots between them: loops.multiply:39.regions.a.accesses. The last key may be new. The value is
 * YAML; an empty one takes away what is there.
 */
enum psnap_status edit_set(struct psnap_yaml_doc *doc, const char *assignment,
                           struct psnap_error *error);

#endif
