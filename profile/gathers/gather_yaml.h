/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Models of irregular references in profiles.
 */
#ifndef PSNAP_PROFILE_GATHER_YAML_H
#define PSNAP_PROFILE_GATHER_YAML_H

#include "formats/base/yaml.h"
#include "profile/gathers/gather.h"

/* Where an address is said and read: relative to what the caller knows. */
typedef void gather_write_place(void *context, struct psnap_yaml_doc *doc,
                                struct psnap_yaml_node *map, uint64_t address);
typedef enum psnap_status gather_read_place(void *context, const struct psnap_yaml_node *map,
                                            uint64_t *address);

extern const char *const gather_place_names[]; /* by enum gather_places, then NULL */

/* The model as it will be when it was written and read. */
void gather_round(struct psnap_gather *gather);
/* Of a model that goes along with no other reference. */
void gather_write(const struct psnap_gather *gather, struct psnap_yaml_doc *doc,
                  struct psnap_yaml_node *map, gather_write_place *place, void *context);
/* Whether its numbers are among those that are read. */
bool gather_is_readable(const struct psnap_gather *gather);
/* `gather` is zeroed; errors have their place. */
enum psnap_status gather_read(const struct psnap_yaml_doc *doc, const struct psnap_yaml_node *map,
                              gather_read_place *place, void *context, struct psnap_gather *gather,
                              struct psnap_error *error);

#endif
