/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where the accesses of a stream are satisfied: how many at each level of a machine, or by its
 * memory, and behind level 1 how many in each kind of stream, as prefetchers fetch them ahead
 * differently. It is what bandwidth is a function of (model.h). BANDWIDTH.md says why.
 */
#ifndef PSNAP_PREDICT_BANDWIDTH_SUPPLY_H
#define PSNAP_PREDICT_BANDWIDTH_SUPPLY_H

#include "simcore/simcore.h"

/* The kind of stream that a line is of when it is accessed, by what was accessed shortly before. */
enum supply_kind {
    SUPPLY_NEAR,   /* a line beside it, and no other stream's */
    SUPPLY_BESIDE, /* a line beside it, and lines of another such stream, too */
    SUPPLY_SKIP,   /* a line up to seven lines away */
    SUPPLY_FAR,    /* none of these, but its page */
    SUPPLY_LOST,   /* not its page either */
    SUPPLY_KINDS
};
/* "near", "beside", "skip", "far", "lost" */
const char *supply_kind_name(enum supply_kind kind);

enum { SUPPLY_LEVELS = PSNAP_LEVELS_MAX + 1 };

/* Numbers of accesses, or shares of them: of each level from 0 on, the level behind the machine's
 * last one is memory. Level 0 has no kinds: all is in [0][SUPPLY_NEAR]. Sums are of this kind
 * again. */
struct supply {
    double accesses[SUPPLY_LEVELS][SUPPLY_KINDS];
};

double supply_total(const struct supply *supply);
/* To shares, whose sum is 1; nothing, when there are no accesses. */
void supply_normalise(struct supply *supply);
void supply_add(struct supply *to, const struct supply *more, double times);
/* The share of all accesses that is satisfied at `level` or nearer; NaN without accesses. */
double supply_hit_rate(const struct supply *supply, uint32_t level);

/*
 * A sink that measures a stream, of one machine, cold. Caches see physical addresses: pages of 4
 * KiB lie in frames that follow from the page and `seed` and are as good as drawn. `program` is the
 * stream's and outlives the sink. NULL with `error` filled.
 */
struct psnap_sink *supply_sink_new(const struct psnap_machine *machine,
                                   const struct psnap_program *program, uint64_t seed,
                                   struct psnap_error *error);
/* What it has counted so far of one reference of the program; of all. */
void supply_of_ref(const struct psnap_sink *sink, uint32_t ref, struct supply *supply);
void supply_of_all(const struct psnap_sink *sink, struct supply *supply);

/* The frame of a page: one for each, of 2^52. */
uint64_t supply_frame(uint64_t page, uint64_t seed);

#endif
