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

/* ---- shared by the edits: editing.c ---- */

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
    uint64_t low, high;    /* from the lowest address to the end of the highest */
    uint32_t loop, region; /* one of its regions */
    uint32_t mixed;        /* a loop with a region of it in another object, or PSNAP_NONE */
    const char *object;    /* name, NULL when unknown */
    uint8_t object_kind;
    bool is_wanted;            /* by the edit */
    struct edit_field *fields; /* NULL: it stays in one, and */
    uint32_t field_count;
    uint64_t times, over; /* the distance from `low` is that many times as far */
    uint64_t pad, grown;  /* bytes before it, and behind it, that were not there */
    int64_t moved, shift; /* by itself; with all that: how far `low` is moved */
    uint64_t behind;      /* how far what lies behind it is */
};

struct editing {
    struct psnap_profile *profile;
    const struct psnap_edit *edit;
    struct edit_array *arrays;
    uint32_t array_count, region_count; /* region_count: of all loops */
    bool *is_selected;                  /* by loop: the edit's, */
    bool *is_inside;                    /* those and what is within them, */
    struct edit_tree **trees;           /* model nests: by reference that is a nest, else NULL */
    uint32_t *loop, *region;
    struct psnap_error *error;
};

/* An error about a loop and a region of it (PSNAP_NONE: none in particular). */
enum psnap_status edit_fail(const struct editing *e, uint32_t loop, uint32_t region,
                            const char *format, ...) PSNAP_PRINTF(4, 5);
/* The status, of what was done to a loop; an error that has no place yet is about that loop. */
enum psnap_status edit_in_loop(const struct editing *e, uint32_t loop, enum psnap_status status);
/* That the loops of the edit are no bodies of functions, which have no iterations. */
enum psnap_status edit_have_iterations(const struct editing *e);
enum psnap_status edit_no_memory(const struct editing *e);
/* value / over * times, an error when value is no multiple of over, or that is too large. */
enum psnap_status edit_scale(const struct editing *e, uint64_t times, uint64_t over,
                             int64_t *value);
/* The same for a count. */
enum psnap_status edit_scale_count(const struct editing *e, uint64_t times, uint64_t over,
                                   uint64_t *count);

/* Counts that loops have: of iterations, entries and operations. */
enum psnap_status edit_scale_loops(struct editing *e);

/* edit_space.c: which arrays there are, which of them are wanted, and what lies where then. */
enum psnap_status edit_find_arrays(struct editing *e);
enum psnap_status edit_want_arrays(struct editing *e);
/* The array that an address lies in, or PSNAP_NONE. */
uint32_t edit_array_of(const struct editing *e, uint64_t address);
/* All shifts from what arrays have grown by; then everything is where it belongs. */
enum psnap_status edit_settle_space(struct editing *e);
static inline bool edit_is_stretched(const struct edit_array *array)
{
    return array->fields || array->times != array->over;
}
/* Where what has `size` bytes at a distance from the array's beginning is then, and how steps are
 * scaled that lead on from there; an error about the loop when it is in several fields. */
enum psnap_status edit_map(const struct editing *e, uint32_t loop, uint32_t array, uint64_t size,
                           uint64_t *address, uint64_t *times, uint64_t *over);
/* Fields of the arrays that the edit names: interleaved, or split. */
enum psnap_status edit_lay_fields(struct editing *e);
/* Where an address is then. */
enum psnap_status edit_place(const struct editing *e, uint64_t *address);

/* ---- of model nests ---- */

/* edit_strides.c: strides of references that are nests. */
enum psnap_status edit_nest_strides(struct editing *e);
/* edit_order.c: iterations and entries, in orders, chains, trip counts and addresses. */
enum psnap_status edit_order(struct editing *e);
/* edit_remove.c: bodies and references of loops that are not there any more. */
enum psnap_status edit_remove(struct editing *e);
/* Numbers of loops change; `kept`, by loop, has the new one. */
void edit_renumber(struct editing *e, const uint32_t *kept);
/* edit_address.c: arrays of runs of addresses before the change; afterwards they, objects and
 * offsets go where arrays are then. */
enum psnap_status edit_find_addresses(struct editing *e);
enum psnap_status edit_move_addresses(struct editing *e);

/* edit_reuse.c */
enum psnap_status edit_reuse(struct editing *e);
struct model_ref;
struct model_object;
/* K times as many executions, of which the lines that are new stay; those that were new are touched
 * again after `period` accesses. */
enum psnap_status edit_repeat_reuses(const struct editing *e, struct model_ref *ref,
                                     uint64_t period);
/* References to an object that is times / over times as long. */
enum psnap_status edit_stretch_reuses(const struct editing *e, uint32_t object, uint64_t times,
                                      uint64_t over);
/* The histograms of a reference become those of another with so many executions, `bytes` on. */
enum psnap_status edit_inherit_reuses(const struct editing *e, struct model_ref *to,
                                      const struct model_ref *from, int64_t bytes);
/* Bodies of parts that are within the edit's loops no longer tell the trip counts of these, which
 * get their own: edit_parts.c. */
enum psnap_status edit_parts(struct editing *e);

#endif
