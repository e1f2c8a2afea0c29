/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Inputs and profiles for commands that put all of their threads through one cache.
 */
#ifndef PSNAP_CMD_TURNS_H
#define PSNAP_CMD_TURNS_H

#include <stdbool.h>
#include <stdint.h>

#include "formats/base/json.h"
#include "replay/cmd_input.h"

#define PSNAP_TURNS_MAX 64 /* threads that are taken in turn: an input is read once for each */

/*
 * Hands an input to `pass`: in its own order or, with options->interleave, its threads in turn,
 * which those of a profile that keeps them apart are anyway. *in_turn says which.
 */
enum psnap_status psnap_turns_pass(const char *path, const struct psnap_input_options *options,
                                   enum psnap_status (*pass)(void *context,
                                                             struct psnap_source *source,
                                                             struct psnap_error *error),
                                   void *context, bool *in_turn, struct psnap_error *error);

/* Hands the replay of a profile to `pass`; of `count` accesses, UINT64_MAX for all. */
enum psnap_status
psnap_turns_replay(const struct psnap_profile *profile, uint64_t seed, uint64_t count,
                   enum psnap_status (*pass)(void *context, struct psnap_source *source,
                                             struct psnap_error *error),
                   void *context, struct psnap_error *error);

/* How reports say in which order threads came: "access by access" or "in the stream's order". */
const char *psnap_turns_words(bool in_turn);
/* The fields "threads" and "interleaving". */
void psnap_turns_json(struct psnap_json *json, uint32_t threads, bool in_turn);

#endif
