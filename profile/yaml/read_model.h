/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the parts of the reader of a stream's model share (read_model.c).
 */
#ifndef PSNAP_PROFILE_READ_MODEL_H
#define PSNAP_PROFILE_READ_MODEL_H

#include "profile/model.h"
#include "profile/yaml/read.h"

/* An id in the file, or (loop, number of a reference), and the index that it has. */
struct model_name {
    const char *id;
    uint32_t loop, number;
    uint32_t index;
    const struct psnap_yaml_node *node;
};

struct model_reading {
    const struct reading *r;
    struct psnap_stream_model *model;
    struct model_name *bodies, *refs, *chains, *objects; /* sorted */
    const struct psnap_yaml_node **ref_nodes, **body_nodes;
};

/* ---- read_numbers.c ---- */

/* A nest of numbers, of a map with `start` or `nest`: starts are counted from the regions of `loop`
 * (NULL: from 0). */
enum psnap_status read_numbers(const struct reading *r, const struct psnap_yaml_node *map,
                               const struct psnap_profile_loop *loop, struct nest_terms *terms);
/* The schedule of a thread: symbol_of(context, name) is that of a scalar or of a `visit`. */
enum psnap_status read_order(const struct reading *r, const struct psnap_yaml_node *list,
                             enum psnap_status (*symbol_of)(const void *context,
                                                            const struct psnap_yaml_node *node,
                                                            uint32_t *symbol),
                             const void *context, struct nest_terms *terms);

#endif
