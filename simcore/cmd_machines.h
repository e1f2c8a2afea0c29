/* SPDX-License-Identifier: BSD-3-Clause */
/* What commands say of a machine. */
#ifndef PSNAP_SIMCORE_CMD_MACHINES_H
#define PSNAP_SIMCORE_CMD_MACHINES_H

#include "formats/base/json.h"
#include "simcore/simcore.h"

/* To standard output. */
void machines_describe(const struct psnap_machine *machine);

/* As an object; `key` is NULL in arrays. */
void machines_json(struct psnap_json *json, const char *key, const struct psnap_machine *machine);

/* The JSON schema of machine files, a text: psnap-machine.schema.json as it was when psnap was
 * built (CMakeLists.txt writes it). */
extern const unsigned char machines_schema[];

#endif
