/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The model of a stream as YAML (profile/FORMAT.md): the schedule, chains and objects at the root,
 * bodies and references with their loops.
 */
#ifndef PSNAP_PROFILE_WRITE_MODEL_H
#define PSNAP_PROFILE_WRITE_MODEL_H

#include "formats/base/yaml.h"
#include "profile/model.h"

/* Fills the list `schedule`, and adds `chains` and `objects` to the root. If memory runs out, the
 * document remembers that. */
void write_schedule(const struct psnap_profile *profile, struct psnap_yaml_doc *doc,
                    struct psnap_yaml_node *root, struct psnap_yaml_node *schedule);
/* Adds the bodies and references of a loop to its map. */
void write_loop_model(const struct psnap_profile *profile, const struct model_index *by_loop,
                      uint32_t loop, struct psnap_yaml_doc *doc, struct psnap_yaml_node *map);

/* ---- write_numbers.c ---- */

/* A nest of numbers: into `map` itself when it is one run, else as its `nest`. Starts are counted
 * from the regions of `loop` (NULL: from 0). */
void write_numbers(const struct psnap_profile *profile, const struct psnap_profile_loop *loop,
                   struct psnap_yaml_doc *doc, struct psnap_yaml_node *map,
                   const struct nest_terms *terms);
/* A nest of symbols, bodies and visits of chains, into a list. */
void write_order(const struct psnap_profile *profile, struct psnap_yaml_doc *doc,
                 struct psnap_yaml_node *list, const struct nest_terms *terms);

#endif
