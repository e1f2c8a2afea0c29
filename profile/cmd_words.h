/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Numbers of profiles in words, for the commands that show them to people. Each writes into the
 * caller's text and returns it.
 */
#ifndef PSNAP_PROFILE_CMD_WORDS_H
#define PSNAP_PROFILE_CMD_WORDS_H

#include <stddef.h>

#include "profile/profile.h"

/* "12.5 MiB", "800 B". */
const char *human_bytes(uint64_t bytes, char text[32]);

/* "8 75 %, random 25 %": the bins with most strides, at most three of at least 5 %; "-": none. */
const char *human_strides(const uint64_t counts[PSNAP_STRIDE_BINS], char *text, size_t size);

/* "cg.c:75"; "-" when it is not known. */
const char *human_source(const struct psnap_profile_loop *loop, char *text, size_t size);

#endif
