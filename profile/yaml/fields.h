/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the parts of the profile's file share (profile/FORMAT.md): each has the tables of its
 * records (formats/base/record.h), what these cannot say, read and written, and the checks of one
 * field against another.
 */
#ifndef PSNAP_PROFILE_FIELDS_H
#define PSNAP_PROFILE_FIELDS_H

#include "formats/base/layout.h"
#include "formats/base/record.h"
#include "profile/model.h"
#include "profile/yaml/yaml_keys.h"

/* A whole number, and a count of accesses or of anything else, as the kind and range of a field. */
#define FIELD_UINT(type, member) PSNAP_FIELD_UINT, PSNAP_AT(type, member)
#define FIELD_COUNT(type, member) FIELD_UINT(type, member), .high = PSNAP_COUNT_MAX
#define FIELD_FORM(reader, writer) PSNAP_FIELD_FORM, .read = reader, .write = writer
/* One of several: it is there when the member `by` has this value. */
#define FIELD_TAG(type, by, value)                                                                 \
    .rules = PSNAP_FIELD_TAGGED, .tag_at = offsetof(type, by), .tag = value
#define FIELD_THREAD(type, member) FIELD_UINT(type, member), .high = PSNAP_THREADS_MAX - 1

/* Names that stand for something with an index: ids of loops, of regions of a loop, of bodies,
 * chains and objects; or numbers of references, by loop. */
struct names {
    struct name {
        const char *id; /* "": of a reference */
        uint32_t loop, number;
        uint32_t index;
        const struct psnap_yaml_node *node; /* where the name stands */
    } *items;                               /* sorted */
    uint32_t count;
    const struct psnap_yaml_node **maps; /* by index */
};

/* The context of a struct psnap_reading. */
struct profile_reading {
    struct psnap_profile *profile;
    struct names loops;
    uint32_t region_count;  /* in all loops so far */
    uint64_t pattern_slots; /* that their patterns unfold to */
    /* nests-3: */
    struct psnap_stream_model *model;
    struct names bodies, refs, chains, objects;
    uint32_t loop;    /* whose references or bodies are being read */
    uint32_t *states; /* by body: that of the chain that is being read, or 0 */
};

static inline struct profile_reading *profile_of(const struct psnap_reading *r)
{
    return r->context;
}

/* The context of a struct psnap_writing. */
struct profile_writing {
    const struct psnap_profile *profile;
    const struct psnap_profile_loop *loop; /* the one that is being written */
    struct model_index by_loop;
    uint32_t next; /* loop */
    uint64_t few;  /* accesses: what has fewer is written without derived fields */
};

static inline const struct profile_writing *profile_to(const struct psnap_writing *w)
{
    return w->context;
}

/* ---- names and small values: names.c ---- */

/* The ids of a list's maps. */
void read_names(struct psnap_reading *r, const struct psnap_yaml_node *list, struct names *names);
/* Room for `count` items of the model at *array, which is its own, and for their names. */
bool make_items(struct psnap_reading *r, size_t count, struct names *names, void *array,
                size_t size);
/* Reads the items of a list (NULL: there is none) behind those that there are. */
void read_items(struct psnap_reading *r, const struct psnap_yaml_node *list, const char *key,
                struct names *names,
                void (*read_item)(struct psnap_reading *r, const struct psnap_yaml_node *map,
                                  uint32_t index));
/* Names all items, so that they can be found; `refs`: they are these. */
void name_items(struct psnap_reading *r, struct names *names, const struct model_ref *refs);
/* The index of what has this id, of a reference of a loop; PSNAP_NONE: there is none. */
uint32_t find_id(const struct names *names, const char *id);
uint32_t find_ref(const struct names *refs, uint32_t loop, uint32_t number);
/* The first two of three keys that a map has; NULL: it has none. */
void find_two(const struct psnap_yaml_node *map, const char *const keys[3],
              const struct psnap_yaml_node *two[2]);
/* A count of at least 1; one up to PSNAP_COUNT_MAX at map[key], or `missing`. */
uint64_t read_positive(struct psnap_reading *r, const struct psnap_yaml_node *node);
uint64_t read_count(struct psnap_reading *r, const struct psnap_yaml_node *map, const char *key,
                    uint64_t missing);
/* The key of a node in a histogram as a number, and how a histogram is written. */
int64_t read_key(struct psnap_reading *r, const struct psnap_yaml_node *node);
void write_bin(const struct psnap_writing *w, struct psnap_yaml_node *map, int64_t key,
               uint64_t count);
/* *sum += count; an error at `node` beyond PSNAP_COUNT_MAX. */
void read_sum(struct psnap_reading *r, const struct psnap_yaml_node *node, uint64_t count,
              uint64_t *sum);
/* map["derived"], a map of this key alone, which does not stand in `map` as well; NULL: there is
 * none. */
const struct psnap_yaml_node *read_derived(struct psnap_reading *r,
                                           const struct psnap_yaml_node *map, const char *key);

/* An address and the bytes from there on: `group`, `index`, `offset`, `bytes`. */
struct spot {
    struct psnap_place place;
    uint64_t bytes;
};
void read_group(struct psnap_reading *r, const struct psnap_yaml_node *node, void *record);
void write_group(const struct psnap_writing *w, const void *record);
#define FIELD_GROUP(type, member)                                                                  \
    {"group",                                                                                      \
     PSNAP_FIELD_FORM,                                                                             \
     PSNAP_AT(type, member),                                                                       \
     .rules = PSNAP_FIELD_NEEDED,                                                                  \
     .read = read_group,                                                                           \
     .write = write_group}
#define FIELD_INDEX(type, member) {"index", FIELD_UINT(type, member), .high = UINT16_MAX}
#define FIELD_OFFSET(type, member)                                                                 \
    {"offset", PSNAP_FIELD_INT, PSNAP_AT(type, member), .rules = PSNAP_FIELD_NEEDED}
#define FIELD_BYTES(type, member)                                                                  \
    {"bytes",  PSNAP_FIELD_SIZE,   PSNAP_AT(type, member),                                         \
     .low = 1, .high = UINT64_MAX, .rules = PSNAP_FIELD_NEEDED}

/* ---- the rest, by file ---- */

/* sequence.c: `pattern`, and `schedule` of model psnap. Items name entries of `names`; with
 * `visits`, by index, leaves may be maps with `accesses`. */
struct visit_nodes {
    const struct psnap_yaml_node *counted, *even; /* a leaf with `accesses`, one without, or NULL */
    uint64_t accesses;                            /* sum over those with */
};
void read_sequence(struct psnap_reading *r, const struct psnap_yaml_node *list,
                   const struct names *names, const char *what, struct visit_nodes *visits,
                   struct psnap_sequence *sequence);
void write_sequence(const struct psnap_writing *w, struct psnap_yaml_node *list,
                    const struct psnap_sequence *sequence,
                    const char *(*id_of)(const void *from, uint32_t index), const void *from);
/* The schedule of model psnap, after the loops. */
void read_visits(struct psnap_reading *r, const struct psnap_yaml_node *root,
                 const struct psnap_yaml_node *loops);
/* How often each index occurs when the sequence is unfolded, added to counts[]; false when all
 * together exceed `limit`. */
bool sequence_counts(const struct psnap_sequence *sequence, uint64_t limit, uint64_t *counts);

/* loop.c */
extern const struct psnap_record operations_record; /* of uint64_t[PSNAP_OPERATION_COUNT] */
void read_loops(struct psnap_reading *r, const struct psnap_yaml_node *list);
/* In nests-3, after read_model: what loops say of accesses, regions and patterns. */
void check_loops(struct psnap_reading *r, const struct psnap_yaml_node *loops);
void write_loop(const struct psnap_writing *w, const struct psnap_profile_loop *loop);

/* region.c: in nests-3 only the place is read, and the rest is checked as that of a loop. */
void read_region(struct psnap_reading *r, const struct psnap_yaml_node *map,
                 struct psnap_profile_region *region);
void check_region(struct psnap_reading *r, const struct psnap_yaml_node *map,
                  const struct psnap_profile_region *region);
void write_region(const struct psnap_writing *w, struct psnap_yaml_node *list,
                  const struct psnap_profile_region *region);

/* certificate_yaml.c: form and ranges alone; whether it holds is another question. */
extern const struct psnap_record certificate_record;

/* model.c: chains, schedule, and what loops have. */
void read_model(struct psnap_reading *r, const struct psnap_yaml_node *root,
                const struct psnap_yaml_node *loops);
void write_model(const struct psnap_writing *w); /* the schedule, chains and objects */
void write_loop_model(const struct psnap_writing *w, const void *record);

/* objects.c */
void read_objects(struct psnap_reading *r, const struct psnap_yaml_node *list);
void write_object(const struct psnap_writing *w, struct psnap_yaml_node *list,
                  const struct model_object *object);

/* reuse.c: the histograms of an irregular reference, of struct reuse in a list. */
extern const struct psnap_record reuse_record;

/* refs.c: the base of a dependent reference and the sweep that one shares may be later ones, and
 * are looked up when all references are there. */
void read_ref(struct psnap_reading *r, const struct psnap_yaml_node *map, uint32_t index);
void read_bases(struct psnap_reading *r);
extern const struct psnap_record ref_record;

/* bodies.c: likewise the parts of a body. */
void read_body(struct psnap_reading *r, const struct psnap_yaml_node *map, uint32_t index);
void read_parts(struct psnap_reading *r);
extern const struct psnap_record body_record;

/* numbers.c: a nest of numbers is in `map` itself when it is one run, else its `nest`. Starts are
 * counted from the regions of `loop`; NULL: from 0. */
void read_numbers(struct psnap_reading *r, const struct psnap_yaml_node *map,
                  const struct psnap_profile_loop *loop, struct nest_terms *terms);
void write_numbers(const struct psnap_writing *w, struct psnap_yaml_node *map,
                   const struct psnap_profile_loop *loop, const struct nest_terms *terms);
/* A nest of symbols: symbol_of finds that of a scalar, the id of a body, or of a `visit`. */
void read_order(struct psnap_reading *r, const struct psnap_yaml_node *list,
                uint32_t (*symbol_of)(struct psnap_reading *r, const struct psnap_yaml_node *node),
                struct nest_terms *terms);
void write_order(const struct psnap_writing *w, struct psnap_yaml_node *list,
                 const struct nest_terms *terms);

#endif
