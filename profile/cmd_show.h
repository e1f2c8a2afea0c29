/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tables, and what psnap show prints of the model of a profile of model nests (cmd_show_model.c).
 * Private to cmd_show*.c.
 */
#ifndef PSNAP_PROFILE_CMD_SHOW_H
#define PSNAP_PROFILE_CMD_SHOW_H

#include <stdint.h>

#include "formats/base/cmd.h"
#include "profile/profile.h"

/* A table with some columns aligned right and some shortened: bits. */
struct psnap_table *show_table(size_t columns, const char *const *headings, unsigned right,
                               unsigned shortened);
/* Prints a table after an empty line, and frees it. */
void show_print(struct psnap_table *table);

static inline double show_percent(uint64_t part, uint64_t whole)
{
    return whole ? 100 * (double)part / (double)whole : 0;
}

#define SHOW_ALL_LINES UINT64_MAX

/* The schedule, so many lines of it, and the chains: in short, or with SHOW_ALL_LINES in full. */
void show_print_schedule(const struct psnap_profile *profile, uint64_t lines);
/* How addresses are known, and the irregular references with most accesses, `most` of them. */
void show_print_irregular(const struct psnap_profile *profile, uint64_t accesses, uint64_t most);
/* Bodies, references and objects of a loop. */
void show_print_references(const struct psnap_profile *profile, uint32_t loop);

#endif
