/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the parts of the profile reader share. Every function returns
 * PSNAP_OK or leaves an error with the place of what is wrong; strings are
 * copied to the profile's arena.
 */
#ifndef PSNAP_PROFILE_READ_H
#define PSNAP_PROFILE_READ_H

#include <stdbool.h>
#include <stdint.h>

#include "formats/base/yaml.h"
#include "profile/profile.h"

struct reading {
    const struct psnap_yaml_doc *doc;
    struct psnap_profile *profile;
    struct psnap_error *error;
    uint32_t region_count;  /* in all loops so far */
    uint64_t pattern_slots; /* that their patterns unfold to */
};

/* Ids to indices, for loops of a profile and regions of a loop. */
struct name_index {
    struct named_node {
        const char *id;
        const struct psnap_yaml_node *node; /* of the id */
        uint32_t index;
    } *entries; /* by id */
    uint32_t count;
};

/* The ids of a list's maps; two equal ones are an error that names both lines. */
enum psnap_status read_names(const struct reading *r, const struct psnap_yaml_node *list,
                             struct name_index *names);
const struct named_node *find_name(const struct name_index *names, const char *id);

enum psnap_status read_out_of_memory(const struct reading *r);

/* map[key] as text, copied; `missing` when it is not there, or an error when that is NULL. */
enum psnap_status read_text(const struct reading *r, const struct psnap_yaml_node *map,
                            const char *key, const char *missing, const char **text);

/* map[key] as a list of texts, copied, with NULL behind them; as it was when it is not there. */
enum psnap_status read_texts(const struct reading *r, const struct psnap_yaml_node *map,
                             const char *key, const char *const **texts);

/* map[key] as a count up to PSNAP_COUNT_MAX; `missing` when it is not there. */
enum psnap_status read_count(const struct reading *r, const struct psnap_yaml_node *map,
                             const char *key, uint64_t missing, uint64_t *count);

/* *sum += count; an error at `node` beyond PSNAP_COUNT_MAX. */
enum psnap_status read_sum(const struct reading *r, const struct psnap_yaml_node *node,
                           uint64_t count, uint64_t *sum);

/* What the leaves of a loop in the schedule say about its accesses. */
struct visit_nodes {
    const struct psnap_yaml_node *counted, *even; /* a leaf with `accesses`, one without, or NULL */
    uint64_t accesses;                            /* sum over those with */
};

/* `pattern` and `schedule`: items name entries of `names`, groups repeat. With `visits`, by index,
 * leaves may be maps with `accesses`. */
enum psnap_status read_sequence(const struct reading *r, const struct psnap_yaml_node *list,
                                const struct name_index *names, const char *what,
                                struct visit_nodes *visits, struct psnap_sequence *sequence);

/*
 * How often each index occurs when the sequence is unfolded, added to
 * counts[]; false when all together exceed `limit`.
 */
bool sequence_counts(const struct psnap_sequence *sequence, uint64_t limit, uint64_t *counts);

/* Group, index and offset of a map. */
struct psnap_place;
enum psnap_status read_place(const struct reading *r, const struct psnap_yaml_node *map,
                             struct psnap_place *place);

/* parent["operations"]; what is not there stays as it is. */
enum psnap_status read_operations(const struct reading *r, const struct psnap_yaml_node *parent,
                                  uint64_t operations[PSNAP_OPERATION_COUNT]);

/*
 * map["derived"], what of it follows from walks, with these keys, none of which may stand in `map`
 * as well; NULL: there is none.
 */
enum psnap_status read_derived(const struct reading *r, const struct psnap_yaml_node *map,
                               const char *const *keys, const struct psnap_yaml_node **derived);
/* The model of the stream (profile/model.h): schedule, chains, objects, and what loops say of
 * bodies and references; `names` are the ids of all loops, which have been read. */
enum psnap_status read_model(const struct reading *r, const struct psnap_yaml_node *root,
                             const struct psnap_yaml_node *loops, const struct name_index *names);

/* `names` are the ids of all loops. */
enum psnap_status read_loop(struct reading *r, const struct psnap_yaml_node *map,
                            const struct name_index *names, struct psnap_profile_loop *loop);
/* In nests-3 only where it is: */
enum psnap_status read_region(struct reading *r, const struct psnap_yaml_node *map,
                              struct psnap_profile_region *region);
/* what is said of it must be as in `region`, that of a loop. */
enum psnap_status check_region(const struct reading *r, const struct psnap_yaml_node *map,
                               const struct psnap_profile_region *region);
/* In nests-3, after model_fill_regions: what loops say of accesses, regions and patterns. */
enum psnap_status check_loops(const struct reading *r, const struct psnap_yaml_node *loops);

#endif
