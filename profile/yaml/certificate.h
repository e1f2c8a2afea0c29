/* SPDX-License-Identifier: BSD-3-Clause */
/* The certificate of a profile, to the file and back. */
#ifndef PSNAP_PROFILE_CERTIFICATE_H
#define PSNAP_PROFILE_CERTIFICATE_H

#include "formats/base/yaml.h"
#include "profile/profile.h"
#include "profile/yaml/read.h"

/* Into r->profile. Form and ranges alone: whether it holds is another question. */
enum psnap_status read_certificate(const struct reading *r, const struct psnap_yaml_node *map);
void write_certificate(const struct psnap_certificate *certificate, struct psnap_yaml_doc *doc,
                       struct psnap_yaml_node *root);

#endif
