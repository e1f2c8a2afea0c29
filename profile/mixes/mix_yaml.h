/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the writer and reader of mixes (mix_yaml.c) leave to that of rests (mix_yaml_rests.c).
 */
#ifndef PSNAP_PROFILE_MIX_YAML_H
#define PSNAP_PROFILE_MIX_YAML_H

#include "profile/mixes/mix_graph.h"

/* rest_of: in the map of a state whose counts are another one's rest; false: they are not. */
bool mix_write_rest_of(const struct psnap_mix *mix, uint32_t state, struct psnap_yaml_doc *doc,
                       struct psnap_yaml_node *map);
/* rest: in the bins of a state's `times`, where it has one. */
void mix_write_rests(const struct psnap_mix *mix, uint32_t state, struct psnap_yaml_node *times,
                     struct psnap_yaml_doc *doc);

/* As many as `states` say, or more, so as to have room. */
uint32_t mix_count_rests(const struct psnap_yaml_node *states);

struct mix_place {
    const struct psnap_yaml_doc *doc;
    const struct psnap_yaml_node *node, *map; /* `rest_of`; the map of the state that it names */
    uint32_t of, to;                          /* states */
    struct psnap_error *error;
};

/* The rest of state `of`, and with it the counts of `to`; the graph and the counts of `of` are
 * known. */
enum psnap_status mix_read_rest(const struct mix_place *place, struct psnap_mix *mix);
/* Puts rests in their order, when all are there. */
void mix_sort_rests(struct psnap_mix *mix);

#endif
