/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reading nests and their models: private to read_nests.c, read_models.c, read_draws.c and what
 * checks them.
 */
#ifndef PSNAP_PROFILE_READ_NESTS_H
#define PSNAP_PROFILE_READ_NESTS_H

#include "profile/walks/nest_profile.h"
#include "profile/yaml/read.h"

/* How many numbers the references of loops have, with those left out. */
struct nest_numbers {
    uint32_t *of_loop;
    uint32_t all;
};

/* Items of the schedule that have a name. */
struct named_nest {
    const char *name;
    const struct psnap_yaml_node *map;
    uint32_t depth; /* repeats around it */
    bool is_open;   /* its items are being read */
};

struct named_nests {
    struct named_nest *nests;
    size_t count, room;
    uint32_t open;  /* so many are being read */
    uint32_t items; /* of the schedule that were read so far */
};

struct nest_reading {
    struct named_nests *named;
    const struct reading *r;
    const struct name_index *names;
    struct psnap_nests *nests;
    struct nest_shape *scratch;
    struct nest_numbers *numbers;
    const struct psnap_yaml_node *models; /* as they stand, or NULL */
    uint32_t *lines; /* by loop, of its first walk in the schedule, or of the schedule */
};

enum { MODELS_MAX = 1 << 16 /* number of a model */ };

/* An error of the value that stands at a node. */
enum psnap_status nest_fail(const struct nest_reading *n, const struct psnap_yaml_node *node,
                            const char *message);
/* map["loop"]. */
enum psnap_status read_loop_name(const struct nest_reading *n, const struct psnap_yaml_node *map,
                                 uint32_t *loop);
/* map["region"] and map["start"], of a loop, as an address. */
enum psnap_status read_place(const struct nest_reading *n, const struct psnap_yaml_node *map,
                             const struct psnap_profile_loop *loop, uint64_t *address);
/* What every reference of the loop `scratch->loop` has: number, kind, size, thread. */
enum psnap_status read_access(const struct nest_reading *n, const struct psnap_yaml_node *map,
                              struct nest_ref *ref);
/* A list of `count` numbers; `what` is its key. */
enum psnap_status read_steps(const struct nest_reading *n, const struct psnap_yaml_node *list,
                             uint32_t count, const char *what, uint64_t *steps);
/* A model's name, `what` and a number, to its index below `count`. */
enum psnap_status read_model_name(const struct nest_reading *n, const struct psnap_yaml_node *node,
                                  char what, uint32_t count, uint32_t *index);
/* The same of a draw, or a walk, that is there. */
enum psnap_status read_draw_name(const struct nest_reading *n, const struct psnap_yaml_node *node,
                                 uint32_t *index);
enum psnap_status read_walk_name(const struct nest_reading *n, const struct psnap_yaml_node *node,
                                 uint32_t *index);
/* {draw: d1, loop: f, ...}, the i-th draw of the models, and of what is drawn when the loop is come
 * to: entry: {...}. Whether what it goes from is there is not known yet. */
enum psnap_status read_draw(const struct nest_reading *n, const struct psnap_yaml_node *map,
                            uint32_t i);
/* Whether what the draws, all read from the models' map, go from is there and no circle. */
enum psnap_status check_draws(const struct nest_reading *n, const struct psnap_yaml_node *map);
/* The models of n->nests, from the profile's map, or NULL: there are none. */
enum psnap_status read_models(const struct nest_reading *n, const struct psnap_yaml_node *map);
/* Whether loops, a list, have the accesses that the schedule, `list`, which was read, comes to. */
enum psnap_status check_nests(const struct nest_reading *n, const struct psnap_yaml_node *list,
                              const struct psnap_yaml_node *loops);

#endif
