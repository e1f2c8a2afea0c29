/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One pass over the stream of a program on so many cores, for psnap predict multicore: reuse
 * distances of private and shared caches (PRD, CRD), those within sets, the simulator, and what
 * predict/amm measures of loops.
 */
#ifndef PSNAP_PREDICT_CMD_MULTICORE_PASS_H
#define PSNAP_PREDICT_CMD_MULTICORE_PASS_H

#include "predict/multicore/cmd_multicore.h"

enum { PASS_STACKS_MAX = 2 * MULTICORE_MACHINES_MAX * PSNAP_LEVELS_MAX };

/* Reuse distances in caches that `share` cores have together; their tags are sections. */
struct pass_stacks {
    uint64_t line_bytes, sets, ways; /* sets 0: one stack of all lines */
    uint32_t share;
    struct psnap_sink *reuse, *groups;
};

struct pass {
    uint32_t cores;
    struct psnap_source *mimic;
    struct psnap_profile *profile; /* if the input is one */
    struct pass_stacks stacks[PASS_STACKS_MAX];
    size_t count;
    struct psnap_sink *sim;   /* NULL: not wanted */
    struct psnap_sink *loops; /* of measure_sink_new(), NULL: not wanted */
};

/* Reads the study's input to its end; `is_again`: not for the first time. The caller releases it,
 * also after an error. */
enum psnap_status pass_run(struct pass *pass, const struct multicore *study, uint32_t cores,
                           bool is_again, struct psnap_error *error);
void pass_release(struct pass *pass);

/* How many of `cores` cores share a cache of a level. */
uint32_t pass_share(const struct psnap_cache_level *level, uint32_t cores);

/* The share of the accesses of a view's row that the stack of a level, of so many lines, finds, by
 * SDCM. NAN: of a row without accesses. */
double pass_sdcm(const struct pass *pass, const struct psnap_cache_level *level, uint64_t lines,
                 enum psnap_view view, uint32_t row);
/* The same by the distances within the level's sets; by the simulator on machine m at level l or
 * nearer. */
double pass_sets(const struct pass *pass, const struct psnap_cache_level *level,
                 enum psnap_view view, uint32_t row);
double pass_simulated(const struct pass *pass, size_t m, uint32_t l, enum psnap_view view,
                      uint32_t row);

#endif
