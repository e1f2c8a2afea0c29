/* SPDX-License-Identifier: BSD-3-Clause */
/* What writing and reading models of irregular references have in common: private to them. */
#ifndef PSNAP_PROFILE_GATHER_FIELDS_H
#define PSNAP_PROFILE_GATHER_FIELDS_H

#include "profile/gathers/gather_yaml.h"

/* Numbers of an area that are written by themselves. */
enum gather_field_kind { U64, U32, I64, REAL, BOOL };

struct gather_field {
    const char *key;
    enum gather_field_kind kind;
    size_t at;
    uint64_t low; /* U64, U32: at least */
};

extern const struct gather_field gather_fields[]; /* ends with a key that is NULL */

#endif
