/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The model of a profile (model.h) in words, and its numbers for people. Private to cmd_show*.c.
 */
#ifndef PSNAP_PROFILE_CMD_SHOW_MODEL_H
#define PSNAP_PROFILE_CMD_SHOW_MODEL_H

#include "profile/model.h"
#include "profile/profile.h"

enum { SHOW_TEXT = 256 /* bytes of a text */ };

extern const char *const show_kinds[3]; /* "load", "store", "atomic" */

/* Whether all executions have as many iterations, and how many. */
bool show_steady_trips(const struct model_body *body, uint64_t *trips);

/* "1,024", or "0 (+1)" where it grows by 1 with each iteration around: steps[l][offset] is the step
 * in loop l. */
void show_count(const uint64_t *value, const uint64_t *const *steps, uint32_t depth, size_t offset,
                char *text);

/* The region of a loop that an address is in, or the nearest one below it; NULL: it has none. */
const struct psnap_profile_region *show_region_at(const struct psnap_profile_loop *loop,
                                                  uint64_t address);

/* A reference in few words: "load a +8", "store @3 +16", "load ~heap.2". */
void show_ref_brief(const struct psnap_profile *profile, const struct model_ref *ref,
                    char text[SHOW_TEXT]);

/* Reuse times of a reference, all objects and phases together: accesses whose line was accessed
 * fewer than show_reuse_bounds[i] accesses ago, first touches, and all. */
enum { SHOW_REUSE_BOUNDS = 5 };
extern const uint64_t show_reuse_bounds[SHOW_REUSE_BOUNDS];

struct show_reuse {
    uint64_t within[SHOW_REUSE_BOUNDS], first, all;
};

struct show_reuse show_reuse_of(const struct model_ref *ref);

/* "heap.2", or several of them; the commonest first. */
void show_objects(const struct psnap_stream_model *model, const struct model_ref *ref,
                  char text[SHOW_TEXT]);

#endif
