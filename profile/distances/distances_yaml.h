/* SPDX-License-Identifier: BSD-3-Clause */
/* Stack distances of a region, to the file and back. */
#ifndef PSNAP_PROFILE_DISTANCES_YAML_H
#define PSNAP_PROFILE_DISTANCES_YAML_H

#include "formats/base/yaml.h"
#include "profile/profile.h"
#include "profile/yaml/read.h"

/* region["reuse"]: it must be there when the model is stackdist, and not when it is another. */
enum psnap_status read_distances(const struct reading *r, const struct psnap_yaml_node *map,
                                 struct psnap_profile_region *region);
void write_distances(const struct psnap_profile_region *region, struct psnap_yaml_doc *doc,
                     struct psnap_yaml_node *map);

#endif
