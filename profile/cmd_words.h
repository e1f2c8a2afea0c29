/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Profiles in words, for the commands that show them to people: numbers, and the model (model.h).
 * Texts are the caller's; those of the model have MODEL_TEXT bytes.
 */
#ifndef PSNAP_PROFILE_CMD_WORDS_H
#define PSNAP_PROFILE_CMD_WORDS_H

#include <stddef.h>

#include "profile/model.h"
#include "profile/profile.h"

/* "12.5 MiB", "800 B". */
const char *human_bytes(uint64_t bytes, char text[32]);

/* Finds the numbers with the largest shares, the largest first, of at least 5 %; returns how many.
 */
enum { HUMAN_SHARES = 3 };
unsigned human_shares(const uint64_t *counts, unsigned n, unsigned largest[HUMAN_SHARES],
                      double percent[HUMAN_SHARES]);

/* "8 75 %, random 25 %": the bins with the largest shares of strides; "-": none. */
const char *human_strides(const uint64_t counts[PSNAP_STRIDE_BINS], char *text, size_t size);

/* " (./cg -n 5)"; nothing when it is not known. */
void print_command(const char *const *command);

/* "cg.c:75"; "-" when it is not known. */
const char *human_source(const struct psnap_profile_loop *loop, char *text, size_t size);

/* ---- the model ---- */

enum { MODEL_TEXT = 256, MODEL_BRIEF = 192 /* bytes of a text */ };

extern const char *const model_kinds[3]; /* "load", "store", "atomic" */

/* Tells whether all executions have the same number of iterations, and which. */
bool model_steady_trips(const struct model_body *body, uint64_t *trips);

/* "1,024", or "0 (+1)" where it grows by 1 with each iteration around: steps[l][offset] is the step
 * in loop l. */
void human_count(const uint64_t *value, const uint64_t *const *steps, uint32_t depth, size_t offset,
                 char *text);

/* A reference in few words: "load a +8", "store @3 +16", "load ~heap.2". */
void human_ref(const struct psnap_profile *profile, const struct model_ref *ref,
               char text[MODEL_TEXT]);

/* Accesses by reuse time: those whose line was accessed fewer accesses ago than
 * model_reuse_names[i] says, first touches, and all. */
enum { MODEL_REUSE_BOUNDS = 5 };
extern const char *const model_reuse_names[MODEL_REUSE_BOUNDS]; /* "<512" */

struct model_reuse {
    uint64_t within[MODEL_REUSE_BOUNDS], first, all;
};

struct model_reuse model_reuse_of(const uint64_t bins[REUSE_BINS]);

/* "<16 4.4 %, <512 66.6 %, first 0.1 %" */
void human_reuse(const uint64_t bins[REUSE_BINS], char text[MODEL_BRIEF]);

/* "heap.2", or several of them; the commonest first. */
void human_objects(const struct psnap_stream_model *model, const struct model_ref *ref,
                   char text[MODEL_BRIEF]);

/* "16", "drawn, 1 to 40, mean 12.5", or a nest. */
void human_trips(const struct model_body *body, char text[MODEL_TEXT]);
/* "a +8", "reference 3", "heap.2", */
void human_where(const struct psnap_profile *profile, const struct model_ref *ref,
                 char text[MODEL_TEXT]);
/* and how it goes on from there. */
void human_addresses(const struct model_ref *ref, char text[MODEL_TEXT]);

#endif
