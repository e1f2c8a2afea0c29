/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Observations of codes on machines: what psnap hybrid analyses.
 */
#ifndef PSNAP_PREDICT_HYBRID_OBSERVATIONS_H
#define PSNAP_PREDICT_HYBRID_OBSERVATIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "formats/base/status.h"

#define OBSERVED_LEVELS_MAX 8 /* beyond level 1; the last may be memory */
#define OBSERVED_WARNINGS_MAX 16

/* Cycles per instruction, and per instruction the accesses that levels satisfy. NAN: not known. */
struct observation {
    uint32_t code, machine; /* indices of names */
    double size;            /* above 0; where sizes have names, the number of it, from 1 */
    double cpi, cpi_pipeline, cpi_memory;
    double hits[OBSERVED_LEVELS_MAX];      /* h_i; [0] is level 2 */
    double latencies[OBSERVED_LEVELS_MAX]; /* T_i, the maximal one, in cycles */
    uint32_t levels;                       /* that there are hits of; 0: not known */
    const char *replicate;                 /* NULL: not said */
    const char *path; /* of the file that it is of, and the line; may be NULL and 0 */
    uint32_t src_line;
};

struct names {
    const char **names; /* in the order of their first observations */
    size_t count, room;
};

struct observations {
    struct observation *rows;
    size_t count, room;
    struct names codes, machines;
    struct names sizes;                                 /* where they are no numbers */
    struct psnap_arena *arena;                          /* of texts */
    struct psnap_error warnings[OBSERVED_WARNINGS_MAX]; /* unknown columns, doubtful values */
    size_t warning_count;
};

enum psnap_status observations_init(struct observations *observations, struct psnap_error *error);
void observations_release(struct observations *observations);

/* The index of a name, a new one if there is none; UINT32_MAX: out of memory. */
uint32_t observations_name(struct observations *observations, struct names *names,
                           const char *name);

/* A size as it is written, in `buffer` or the names. */
const char *observations_size(const struct observations *observations, double size,
                              char buffer[32]);

/* Adds one, which has to be as the struct says it. */
enum psnap_status observations_add(struct observations *observations, const struct observation *row,
                                   struct psnap_error *error);

/*
 * Adds those of an open CSV file. Columns, in any order, by the names of its first record:
 *
 *     code, machine       texts
 *     size                a number above 0, "32K" as well, or a name, all in the order of the file
 *     replicate           any text, another one for each observation of the same (may be absent)
 *     cpi                 cycles per instruction, above 0
 *     cpi_pipeline, cpi_memory       parts of it; of cpi and these two one may be absent
 *     hits2, hits3 ...               per instruction, by level, memory the last, or
 *     hit_rate1, hit_rate2 ...       cumulative rates of caches, with accesses_per_instruction
 *     latency2, latency3 ...         maximal ones of levels, memory the last, in cycles
 *                                    ("hits_2", "hits_l2" and the like are the same)
 *     m0, m0_fitted                  results, of psnap hybrid -o, that are not read
 */
enum psnap_status observations_read(struct observations *observations, FILE *file, const char *path,
                                    struct psnap_error *error);

/* Adds warnings of what can hardly be: latencies of one machine that differ, and more hits than
 * instructions. */
void observations_doubt(struct observations *observations);

/* An error when two observations are of one code, machine, size and replicate. */
enum psnap_status observations_check(const struct observations *observations,
                                     struct psnap_error *error);

#endif
