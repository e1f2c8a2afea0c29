/* SPDX-License-Identifier: BSD-3-Clause */
/* What a profile of a part of a program says about that, from the builder to the file and back. */
#ifndef PSNAP_PROFILE_SAMPLING_H
#define PSNAP_PROFILE_SAMPLING_H

#include "formats/base/yaml.h"
#include "profile/profile.h"
#include "profile/yaml/read.h"

/* Without the errors of loops, which are the program's. */
enum psnap_status sampling_copy(const struct psnap_sampling *from, struct psnap_arena *arena,
                                struct psnap_sampling *to);

/* Sets the loop's estimates: of `total` accesses that were recorded it has `accesses`; `index` is
 * that of the program's loop, PSNAP_NONE for a part of which the error is not known. */
void sampling_estimate(const struct psnap_sampling *sampling, uint64_t total, uint32_t index,
                       uint64_t accesses, struct psnap_profile_loop *loop);

enum psnap_status read_sampling(const struct reading *r, const struct psnap_yaml_node *capture);
enum psnap_status read_estimate(const struct reading *r, const struct psnap_yaml_node *map,
                                struct psnap_profile_loop *loop);
void write_sampling(const struct psnap_profile *profile, struct psnap_yaml_doc *doc,
                    struct psnap_yaml_node *capture);
void write_estimate(const struct psnap_profile_loop *loop, struct psnap_yaml_doc *doc,
                    struct psnap_yaml_node *map);

#endif
