/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The threads of an input in turn, for commands that put them through one cache.
 */
#ifndef PSNAP_CMD_TURNS_H
#define PSNAP_CMD_TURNS_H

#include <stdbool.h>
#include <stdint.h>

#include "formats/base/json.h"
#include "replay/cmd_input.h"

#define PSNAP_TURNS_MAX 64 /* threads of a trace: it is read once for each */

/*
 * Hands an input to `pass`: its threads in turn, access by access, unless `as_it_comes`; those of a
 * profile that keeps them apart come so by themselves. *in_turn is false when they came in
 * its own order: from a pipe, or when there are more than PSNAP_TURNS_MAX. `pass` takes a whole
 * stream. It is called a second time when the first stream turned out to have threads that do not
 * come in turn: that one ended there, and what was made of it is to be forgotten.
 */
enum psnap_status
psnap_turns_pass(const char *path, const struct psnap_input_options *options, bool as_it_comes,
                 enum psnap_status (*pass)(void *context, struct psnap_source *source,
                                           struct psnap_error *error),
                 void *context, bool *in_turn, struct psnap_error *error);

/* The same of the replay of a profile, which may be walks of several threads, one behind the other;
 * of `count` accesses, UINT64_MAX for all. */
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
