/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Changes of a profile of model nests that answer a question: what if this array were twice as
 * large, if this loop ran more often, if it were not there. One change touches many fields
 * (addresses, trip counts, orders, reuse histograms); all of them are changed together, and regions
 * and patterns are derived anew, so that nothing contradicts. Profiles of the published model are
 * edited by their fields.
 *
 *   span        the address a of an array becomes base + K (a - base)
 *   pad, move   it becomes a + B; with pad so do those of all that lies behind it
 *   stride      in a loop, steps of so many bytes become steps of so many others
 *   iterations  each entry of a loop has K times as many, which go on as those before
 *   entries     a loop is come to K times in a row where it was once
 *   remove      a loop, and all within it, is not there
 *   interleave  element i of arrays comes behind element i of the one before (AoS)
 *   split       the fields of records are arrays of their own (SoA)
 *   reuse       reuse times of 16 and more are F times as long (model nests)
 *
 * References that are drawn by reuse time have no addresses to change: edit_reuse.c says what
 * becomes of their histograms.
 *
 * An array is what regions of all loops have in common: those that overlap, and those in the same
 * global. One that grows pushes up what lies behind it in its group, unless there is room between.
 */
#ifndef PSNAP_PROFILE_EDIT_H
#define PSNAP_PROFILE_EDIT_H

#include "formats/base/arena.h"
#include "profile/edit/edit_tree.h"
#include "profile/model.h"
#include "profile/profile.h"

enum psnap_edit_what {
    PSNAP_EDIT_SPAN,
    PSNAP_EDIT_PAD,
    PSNAP_EDIT_MOVE,
    PSNAP_EDIT_STRIDE,
    PSNAP_EDIT_ITERATIONS,
    PSNAP_EDIT_ENTRIES,
    PSNAP_EDIT_REMOVE,
    PSNAP_EDIT_INTERLEAVE,
    PSNAP_EDIT_SPLIT,
    PSNAP_EDIT_REUSE
};

#define PSNAP_EDIT_FACTOR_MAX (UINT64_C(1) << 32)

struct psnap_edit {
    enum psnap_edit_what what;
    const char *loop;           /* id, or that of a loop of the source with all its parts; NULL */
    const char *const *regions; /* ids in the loop, or names of arrays */
    size_t region_count;
    uint64_t times, over;           /* K is times / over; over is 1 but for span */
    int64_t bytes;                  /* B */
    int64_t old_stride, new_stride; /* bytes */
    const uint64_t *fields;         /* split: bytes of each; interleave: of an element */
    size_t field_count;
    double factor;      /* F */
    const char *object; /* reuse: id or name of an object; NULL: those of the regions, or all */
};

/*
 * Changes the profile, whose certificate goes. On failure the profile is of no use any more, and
 * `*loop` and `*region` are indices of what the error is about, or PSNAP_NONE. When it is done,
 * error->message says what could not be changed, or is empty.
 */
enum psnap_status psnap_profile_edit(struct psnap_profile *profile, const struct psnap_edit *edit,
                                     uint32_t *loop, uint32_t *region, struct psnap_error *error);

/* ---- shared by the edits ---- */

/* A region, and the loop that has it. */
struct edit_region {
    const struct psnap_profile_loop *loop;
    const struct psnap_profile_region *region;
    bool is_spread; /* it lies in several places, with arrays in between */
};

/*
 * Where the bytes [from, from + bytes) of each element of an array go: with elements of `over`
 * bytes those of element i are at `to` + i * times from the beginning of the array `in`.
 */
struct edit_field {
    uint64_t from, bytes, to, times, over;
    uint32_t in;
};

/* What regions have in common, and what becomes of it. */
struct edit_array {
    uint64_t low, high;                     /* from the lowest address to the end of the highest */
    const struct edit_region *of;           /* one of its regions */
    const struct psnap_profile_loop *mixed; /* one with a region of it in another object, or NULL */
    const char *object;                     /* name, NULL when unknown */
    uint8_t object_kind;
    bool is_wanted;            /* by the edit, */
    uint32_t rank;             /* and how many were before it */
    bool is_between;           /* it is but what a spread region has between other arrays */
    bool is_changed;           /* its strides are */
    struct edit_field *fields; /* NULL: it stays in one, and */
    uint32_t field_count;
    uint64_t times, over; /* the distance from `low` is that many times as far */
    uint64_t pad, grown;  /* bytes before it, and behind it, that were not there */
    uint64_t from, to;    /* the lowest address, and the end, of runs that lead on from it */
    int64_t moved, shift; /* by itself; with all that: how far `low` is moved */
    uint64_t behind;      /* how far what lies behind it is */
};

/*
 * An edit under way. The first failure is kept, and nothing that follows changes it: a pass may go
 * on after one as far as that harms nothing, and no other pass begins.
 */
struct editing {
    struct psnap_profile *profile;
    struct psnap_stream_model *model;
    const struct psnap_edit *edit;
    struct psnap_arena *arena; /* owns all that is made for the edit */
    struct edit_region *regions;
    struct edit_array *arrays;
    size_t array_room;
    uint32_t region_count, array_count, wanted_count;
    bool *is_selected;        /* by loop: the edit's, */
    bool *is_inside;          /* those and what is within them */
    struct edit_node **trees; /* by reference: its nest's, or NULL */
    struct model_ref *ref;    /* whose runs edit_each_run() goes through */
    uint32_t in_loop;         /* the loop that errors are about which name no other */
    uint64_t accesses;        /* of thread 0, before the edit */
    enum psnap_status status;
    uint32_t *loop, *region;
    struct psnap_error *error;
};

/* ---- editing.c ---- */

/* An error about a loop, or none in particular (PSNAP_NONE). */
void edit_fail(struct editing *e, uint32_t loop, const char *format, ...) PSNAP_PRINTF(3, 4);
/* "reference 3 of loop 'f:12' " and the rest. */
void edit_fail_ref(struct editing *e, const struct model_ref *ref, const char *format, ...)
    PSNAP_PRINTF(3, 4);
/* `count` zeroed items that live as long as the edit; NULL: out of memory, which is a failure. */
void *edit_alloc(struct editing *e, size_t count, size_t size);
/* Fails as out of memory when it is not done. */
bool edit_need(struct editing *e, bool is_done);
/* *value / over * times; fails when it is no multiple of over, or that is too large. */
void edit_scale(struct editing *e, uint64_t times, uint64_t over, int64_t *value);
/* The same for the steps of a value in the loops around it. */
void edit_scale_steps(struct editing *e, uint64_t times, uint64_t over, struct edit_value *value,
                      uint32_t depth);
/* K times the count, or the value with its steps. */
void edit_scale_count(struct editing *e, uint64_t *count);
void edit_scale_value(struct editing *e, struct edit_value *value, uint32_t depth);

/* ---- passes of edits: edit.c has which edit is made of which ---- */

/* edit_space.c: which arrays there are, which of them are wanted, and what becomes of these. */
void edit_find_arrays(struct editing *e);
void edit_want_arrays(struct editing *e);
/* edit_address.c: the trees of nests, with the arrays of their runs, before the change; afterwards
 * they, objects and offsets go where arrays are then. */
void edit_find_addresses(struct editing *e);
void edit_move_addresses(struct editing *e);
void edit_strides(struct editing *e);
void edit_repeat(struct editing *e);
void edit_remove(struct editing *e);
void edit_reuse(struct editing *e);

/* ---- edit_space.c ---- */

/* The array that an address lies in, or PSNAP_NONE. */
uint32_t edit_array_of(const struct editing *e, uint64_t address);
/* All shifts from what arrays have grown by; then everything is where it belongs. */
void edit_settle_space(struct editing *e);
static inline bool edit_is_stretched(const struct edit_array *array)
{
    return array->fields || array->times != array->over;
}
/* A place after the edit, and how steps are scaled that lead on from there. */
struct edit_spot {
    uint64_t address, times, over;
};
/* Where `size` bytes at an address in an array are then; fails when they are in several fields. */
struct edit_spot edit_map(struct editing *e, uint32_t array, uint64_t address, uint64_t size);
/* The same of a byte anywhere. */
struct edit_spot edit_place(struct editing *e, uint64_t address);

/* ---- edit_address.c ---- */

/* Calls `see` for every run of references that are nests, with e->ref. */
void edit_each_run(struct editing *e, void (*see)(struct editing *e, struct edit_node *run));

/* ---- edit_repeat.c ---- */

/* Bodies of parts that are within the edit's loops no longer tell the trip counts of these, which
 * get their own. */
void edit_part_bodies(struct editing *e);

/* ---- edit_reuse.c ---- */

/* K times as many executions, of which the lines that are new stay; those that were new are touched
 * again after `period` accesses. */
void edit_repeat_reuses(struct editing *e, struct model_ref *ref, uint64_t period);
/* References to an object that is times / over times as long. */
void edit_stretch_reuses(struct editing *e, uint32_t object, uint64_t times, uint64_t over);
/* The histograms of a reference become those of another with so many executions, `bytes` on. */
void edit_inherit_reuses(struct editing *e, struct model_ref *to, const struct model_ref *from,
                         int64_t bytes);

/* ---- edit_chain.c: changes that leave every state left as often as it is entered ---- */

/*
 * States of which `inside` is true, by state, execute `times` times as often: whenever the chain
 * would leave them, it begins anew at one of those by which it enters them, `times` - 1 times.
 * 0: done, 1: that is more than can be counted, negative: out of memory.
 */
int edit_chain_repeat(struct chain *chain, const bool *inside, uint64_t times);
/* These states are not there: predecessors lead to successors. As above. */
int edit_chain_remove(struct chain *chain, const bool *gone);

#endif
