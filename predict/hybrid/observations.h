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
#define OBSERVED_NAMES_MAX 256
#define OBSERVED_WARNINGS_MAX 16

/* Cycles per instruction, and per instruction the accesses that levels satisfy. NAN: not known. */
struct observation {
    uint32_t code, machine; /* indices of names */
    double size;            /* above 0 */
    double cpi, cpi_pipeline, cpi_memory;
    double hits[OBSERVED_LEVELS_MAX];      /* h_i; [0] is level 2 */
    double latencies[OBSERVED_LEVELS_MAX]; /* T_i, the maximal one, in cycles */
    uint32_t levels;                       /* that there are hits of; 0: not known */
    const char *replicate;                 /* "": not said */
    const char *path; /* of the file that it is from, and its line there, or 0 */
    uint32_t src_line;
};

struct names {
    const char *names[OBSERVED_NAMES_MAX]; /* in the order of their first observations */
    uint32_t count;
};

/* Zero-initialise, with an arena of the caller's, which names and texts lie in. */
struct observations {
    struct psnap_arena *arena;
    struct observation *rows;
    size_t count, room;
    struct names codes, machines;
    struct psnap_error warnings[OBSERVED_WARNINGS_MAX]; /* unknown columns, doubtful values */
    size_t warning_count;
};

void observations_release(struct observations *observations);

/*
 * Adds the rows of an open CSV file. Columns, in any order, by the names of its first record:
 *
 *     code, machine       texts
 *     size                a number above 0, "32K" as well
 *     replicate           any text, another one for each observation of the same (may be absent)
 *     cpi                 cycles per instruction, above 0
 *     cpi_pipeline, cpi_memory       parts of it; of cpi and these two one may be absent
 *     hits2, hits3 ...               per instruction, by level, memory the last
 *     latency2, latency3 ...         maximal ones of levels, memory the last, in cycles
 */
enum psnap_status observations_read(struct observations *observations, FILE *file, const char *path,
                                    struct psnap_error *error);

/* Sorts rows by code, machine, size and replicate; an error when two have all of these the same. */
enum psnap_status observations_sort(struct observations *observations, struct psnap_error *error);

#endif
