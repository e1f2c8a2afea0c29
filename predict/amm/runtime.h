/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Run time of a piece of work on one core of a machine, from hit rates and operation counts, by the
 * published models and by ours.
 */
#ifndef PSNAP_PREDICT_AMM_RUNTIME_H
#define PSNAP_PREDICT_AMM_RUNTIME_H

#include <stdbool.h>

#include "formats/base/program.h"
#include "formats/base/status.h"
#include "simcore/simcore.h"

enum runtime_method {
    RUNTIME_PUBLISHED,  /* T_mem + T_cpu, each operation waits for the one before */
    RUNTIME_THROUGHPUT, /* T_mem + T_cpu, operations at their throughput */
    RUNTIME_OVERLAP,    /* the root of T_mem^2 + T_cpu^2, and what nothing overlaps */
    RUNTIME_METHODS
};

/* "published", "throughput", "overlap". */
const char *runtime_method_name(enum runtime_method method);

/* How an access gets its address, which is what it waits for. */
enum runtime_pattern {
    RUNTIME_REGULAR,   /* by a stride that repeats: known ahead, fetched ahead */
    RUNTIME_IRREGULAR, /* not, but without the access before */
    RUNTIME_DEPENDENT, /* from what the access before loaded */
    RUNTIME_PATTERNS
};

/* Accesses that are alike. */
struct runtime_accesses {
    double accesses, bytes;              /* how many, and the sum of their sizes */
    double cumulative[PSNAP_LEVELS_MAX]; /* P_i: shares satisfied at level i or nearer, ascending */
    double written;                      /* lines that they make level 1 write back */
    double fresh; /* of those: to lines of pages that were made just before */
};

/* Of a loop, say. Numbers are expected ones, not whole. */
struct runtime_work {
    struct runtime_accesses patterns[RUNTIME_PATTERNS];
    double operations[PSNAP_OPERATION_COUNT];
    /* What its code takes, calls apart, when every access hits level 1: of ports and front end, and
     * waiting for results. NAN: unknown, then RUNTIME_OVERLAP takes it from operations. */
    double throughput_cycles, latency_cycles;
    double named_calls, named_cycles; /* of operations[PSNAP_OP_FP_MATH] those whose function is
                                         known, and what these take */
    double hidden; /* the share of dependent accesses' latency in which others are under way */
    /* Of RUNTIME_OVERLAP: branches that the core expected to go another way, cycles that these wait
     * for more than for a hit of level 1 (or less, then below 0), and pages that are touched first.
     */
    double mispredictions, wait_cycles, first_touches;
    double decision_cycles; /* until the code's branches are decided; NAN: unknown */
};

/* Readings of the published methods; zero-initialised: the usual ones. */
struct runtime_reading {
    bool as_published;  /* each level's hit rate is that of all accesses */
    double block_bytes; /* b, what follows without waiting; 0: the mean size of an access */
};

struct runtime_seconds {
    double total, mem, cpu, branch, touch;
};

/* Adds a share of other times. */
void runtime_add_seconds(struct runtime_seconds *sum, struct runtime_seconds more, double share);

/* All accesses of some work in one: counts and hits add up. */
struct runtime_accesses runtime_all_accesses(const struct runtime_work *work);

/* Adds accesses, or work, to others. */
void runtime_add_accesses(struct runtime_accesses *sum, const struct runtime_accesses *more);
void runtime_add(struct runtime_work *sum, const struct runtime_work *work);

/*
 * The effective latency (`throughput` false) or reciprocal throughput of accesses, in cycles:
 * lambda = P1 l1 + (1 - P1) [P2 l2 + (1 - P2) [... l_memory]]. `as_published`: with P_i as they
 * are, else with the share of the accesses that come to level i which it satisfies.
 */
double runtime_effective_cycles(const struct psnap_machine *machine,
                                const struct runtime_accesses *accesses, bool throughput,
                                bool as_published);

/* An error that names all the fields that `method` needs of the machine for such work, and are
 * not there. */
enum psnap_status runtime_check(const struct psnap_machine *machine,
                                const struct runtime_work *work, enum runtime_method method,
                                struct psnap_error *error);

/* What the work takes, on a machine that was checked. `as_published` is of the published methods.
 */
struct runtime_seconds runtime_predict(const struct psnap_machine *machine,
                                       const struct runtime_work *work, enum runtime_method method,
                                       struct runtime_reading reading);

#endif
