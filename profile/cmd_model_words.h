/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The model of a profile (model.h) in words, for the commands that show it to people. Texts are the
 * caller's, MODEL_TEXT bytes.
 */
#ifndef PSNAP_PROFILE_CMD_MODEL_WORDS_H
#define PSNAP_PROFILE_CMD_MODEL_WORDS_H

#include "profile/model.h"
#include "profile/profile.h"

enum { MODEL_TEXT = 256 /* bytes of a text */ };

extern const char *const model_kinds[3]; /* "load", "store", "atomic" */

/* Whether all executions have as many iterations, and how many. */
bool model_steady_trips(const struct model_body *body, uint64_t *trips);

/* "1,024", or "0 (+1)" where it grows by 1 with each iteration around: steps[l][offset] is the step
 * in loop l. */
void human_count(const uint64_t *value, const uint64_t *const *steps, uint32_t depth, size_t offset,
                 char *text);

/* The region of a loop that an address is in, or the nearest one below it; NULL: it has none. */
const struct psnap_profile_region *model_region_at(const struct psnap_profile_loop *loop,
                                                   uint64_t address);

/* A reference in few words: "load a +8", "store @3 +16", "load ~heap.2". */
void human_ref(const struct psnap_profile *profile, const struct model_ref *ref,
               char text[MODEL_TEXT]);

/* Reuse times of a reference, all objects and phases together: accesses whose line was accessed
 * fewer than model_reuse_bounds[i] accesses ago, first touches, and all. */
enum { MODEL_REUSE_BOUNDS = 5 };
extern const uint64_t model_reuse_bounds[MODEL_REUSE_BOUNDS];

struct model_reuse {
    uint64_t within[MODEL_REUSE_BOUNDS], first, all;
};

struct model_reuse model_reuse_of(const struct model_ref *ref);

/* "heap.2", or several of them; the commonest first. */
void human_objects(const struct psnap_stream_model *model, const struct model_ref *ref,
                   char text[MODEL_TEXT]);

/* Numbers of a nest: "32 x 256, 32 x 0, 16 x 16", counts and strides, the outermost loop first;
 * with `has_start` "from 99: 100 x -1". */
void human_nest(const struct nest_terms *terms, bool has_start, char text[MODEL_TEXT]);
/* "16", "drawn, 1 to 40, mean 12.5", or a nest. */
void human_trips(const struct model_body *body, char text[MODEL_TEXT]);
/* "a +8", "reference 3", "heap.2", */
void human_where(const struct psnap_profile *profile, const struct model_ref *ref,
                 char text[MODEL_TEXT]);
/* and how it goes on from there. */
void human_addresses(const struct model_ref *ref, char text[MODEL_TEXT]);
/* "512", "16K". */
const char *human_bound(uint64_t bound, char text[32]);

#endif
