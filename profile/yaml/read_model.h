/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The reader of a stream's model (profile/FORMAT.md) is in several files; this is what they share.
 */
#ifndef PSNAP_PROFILE_READ_MODEL_H
#define PSNAP_PROFILE_READ_MODEL_H

#include "profile/model.h"
#include "profile/yaml/read.h"

/* A name and what it stands for: the index in the model of a body, chain or object, by its id, or
 * of a reference, by its loop and its number there. */
struct model_name {
    const char *id;
    uint32_t loop, number;
    uint32_t index;
    const struct psnap_yaml_node *node; /* where the name stands, for messages */
};

struct model_reading {
    const struct reading *r;
    struct psnap_stream_model *model;
    struct model_name *bodies, *refs, *chains, *objects; /* sorted */
    const struct psnap_yaml_node **ref_nodes, **body_nodes;
};

/* ---- names and numbers: read_model.c ---- */

/* Sorts names; two equal ones are an error. */
enum psnap_status model_sort_names(const struct model_reading *m, struct model_name *names,
                                   uint32_t count);
/* The index of the name that is equal; PSNAP_NONE: none is. */
uint32_t model_find(const struct model_name *names, uint32_t count,
                    const struct model_name *wanted);
/* The `id` of a map, with a copy for *id (NULL: none is wanted). */
enum psnap_status model_read_name(const struct model_reading *m, const struct psnap_yaml_node *map,
                                  struct model_name *name, char **id);
/* Room for `count` items, zeroed, at *array; false: out of memory. */
bool model_make_items(void *array, size_t count, size_t size);
/* A key of a histogram as a number; a count of at least 1. */
enum psnap_status model_read_key(const struct model_reading *m, const struct psnap_yaml_node *node,
                                 int64_t *number);
enum psnap_status model_read_positive(const struct model_reading *m,
                                      const struct psnap_yaml_node *node, uint64_t *count);

/* ---- read_reuse.c ---- */

enum psnap_status model_read_objects(struct model_reading *m, const struct psnap_yaml_node *list);
/* The histograms of an irregular reference. */
enum psnap_status model_read_reuse(const struct model_reading *m,
                                   const struct psnap_yaml_node *list, struct model_ref *ref);

/* ---- read_refs.c ---- */

enum psnap_status model_read_ref(const struct model_reading *m, const struct psnap_yaml_node *map,
                                 uint32_t loop, struct model_ref *ref, struct model_name *name);
/* For use when all references are read, because a reference may name a later one: they read the
 * bases of a dependent reference, or the sweep that a reference shares, and check that no reference
 * depends on itself. */
enum psnap_status model_read_bases(const struct model_reading *m, const struct psnap_yaml_node *map,
                                   const struct name_index *names, struct model_ref *ref);
enum psnap_status model_read_sweep(const struct model_reading *m, const struct psnap_yaml_node *map,
                                   const struct name_index *names, struct model_ref *ref);
enum psnap_status model_check_bases(const struct model_reading *m);

/* ---- read_bodies.c ---- */

enum psnap_status model_read_body(const struct model_reading *m, const struct psnap_yaml_node *map,
                                  uint32_t loop, struct model_body *body, struct model_name *name);

/* ---- read_schedule.c ---- */

enum psnap_status model_read_chains(struct model_reading *m, const struct psnap_yaml_node *list);
enum psnap_status model_read_schedule(struct model_reading *m, const struct psnap_yaml_node *list);

/* ---- read_parts_of.c ---- */

/* For use when all bodies are read, because a body may name later ones as its parts:
 * model_read_parts reads the parts of `whole`; model_default_iterations then gives each body whose
 * `iterations` are not said, and which is no part of a counted one, one iteration. */
enum psnap_status model_read_parts(const struct model_reading *m, const struct psnap_yaml_node *map,
                                   struct model_body *whole);
enum psnap_status model_default_iterations(const struct model_reading *m);

/* ---- read_numbers.c ---- */

/* Reads a nest of numbers from a map with `start` or `nest`. Each start is an offset from the
 * region of `loop` that stands with it (loop NULL: a number by itself). */
enum psnap_status read_numbers(const struct reading *r, const struct psnap_yaml_node *map,
                               const struct psnap_profile_loop *loop, struct nest_terms *terms);
/* Reads the schedule of a thread; symbol_of finds the symbol that a scalar (the id of a body) or a
 * `visit` names. */
enum psnap_status read_order(const struct reading *r, const struct psnap_yaml_node *list,
                             enum psnap_status (*symbol_of)(const void *context,
                                                            const struct psnap_yaml_node *node,
                                                            uint32_t *symbol),
                             const void *context, struct nest_terms *terms);

#endif
