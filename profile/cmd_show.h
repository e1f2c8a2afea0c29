/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What psnap show shows, worked out for cmd_show_text.c, which prints tables for
 * people. cmd_show_json.c has the profile's own fields. Private to cmd_show*.c.
 */
#ifndef PSNAP_PROFILE_CMD_SHOW_H
#define PSNAP_PROFILE_CMD_SHOW_H

#include <stdbool.h>
#include <stdint.h>

#include "profile/profile.h"

/* ---- what there is to show: cmd_show_summary.c ---- */

/* A row of the table of loops. */
struct show_summary {
    uint32_t index;
    uint64_t accesses;
    uint64_t working_set_bytes; /* sum over regions */
    uint64_t strides[PSNAP_STRIDE_BINS];
    uint32_t region_count;
};

/* Of all loops, by index; the caller frees them. NULL: out of memory. */
struct show_summary *show_summarise(const struct psnap_profile *profile);
/* Leaves the loops that `wanted` of --loop means: that id, or else the
 * parts of that loop of the source. They are by index before; returns how many stay. */
uint32_t show_choose(const struct psnap_profile *profile, const char *wanted,
                     struct show_summary *summaries);
/* The hottest first. */
void show_sort(struct show_summary *summaries, uint32_t count);

static inline double show_share(uint64_t part, uint64_t whole)
{
    return whole ? (double)part / (double)whole : 0;
}

/* ---- the forms, on stdout; summaries are those to be shown, in their order ---- */

/* The program, the totals, a table of loops, and of the schedule of walks so many
 * lines. False: out of memory, as all of these. */
bool show_print_table(const struct psnap_profile *profile,
                      const struct psnap_profile_totals *totals,
                      const struct show_summary *summaries, uint32_t count, uint64_t lines);
/* Each loop by itself, with its regions and walks. */
bool show_print_loops(const struct psnap_profile *profile,
                      const struct psnap_profile_totals *totals,
                      const struct show_summary *summaries, uint32_t count);
/* The profile's file as JSON; summaries are by index. */
bool show_print_json(const struct psnap_profile *profile, const struct show_summary *summaries,
                     uint32_t count);

/* ---- profiles of model nests; nothing of others ---- */

#define SHOW_ALL_LINES UINT64_MAX

/* The schedule, so many lines of it, and the chains: in short, or with SHOW_ALL_LINES in full.
 * False: out of memory. cmd_show_schedule.c */
bool show_print_schedule(const struct psnap_profile *profile, uint64_t lines);

/* How addresses are known, and the irregular references with most accesses, `most` of them. False:
 * out of memory. cmd_show_refs.c */
bool show_print_irregular(const struct psnap_profile *profile, uint64_t accesses, uint64_t most);
/* Bodies, references and objects of a loop. */
void show_print_references(const struct psnap_profile *profile, uint32_t loop);

#endif
