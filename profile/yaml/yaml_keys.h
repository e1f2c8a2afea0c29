/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keys that reader and writer pick by number.
 */
#ifndef PSNAP_PROFILE_YAML_KEYS_H
#define PSNAP_PROFILE_YAML_KEYS_H

/* By enum psnap_access_kind, and by enum psnap_object_kind. */
static const char *const psnap_kind_keys[3] = {"loads", "stores", "atomics"};
static const char *const psnap_object_keys[3] = {"symbol", "allocation", "stack"};

#endif
