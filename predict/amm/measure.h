/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What AMM knows of a run of a program: the distances of each reference, how often blocks are
 * executed and what they do.
 */
#ifndef PSNAP_PREDICT_AMM_MEASURE_H
#define PSNAP_PREDICT_AMM_MEASURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "predict/amm/pattern.h"
#include "predict/amm/windows.h"
#include "predict/predict.h"
#include "profile/profile.h"

#define MEASURE_PLANS_MAX 64

/* Which distances: of lines, or of those within sets (0: all lines) up to so many ways. */
struct measure_plan {
    uint64_t line_bytes, sets, ways;
};

struct measure_options {
    const struct measure_plan *plans;
    size_t plan_count; /* 0: counts alone, no distances */
    double rate;
    uint64_t seed;
    struct psnap_sink *const *reuse; /* by plan: who measures the distances of one thread's stream
                                        by reference, as at rate 1; NULL: the sink itself */
};

struct measure {
    const struct psnap_program *program; /* the stream's */
    double *accesses;                    /* by reference */
    double *executions;                  /* by block; of a profile: iterations of the loop */
    double *windows;                     /* by block */
    double *mispredictions;              /* by block: how often the block behind it was not
                                            the predicted one */
    double *operations;                  /* by loop, PSNAP_OPERATION_COUNT of each */
    double *iterations;                  /* by loop; 0 when unknown */
    double *entries;                     /* as iterations */
    double *bytes;                       /* of an access in the mean, by reference */
    double *pages, *fresh;               /* by reference: as pages.h has them */
    enum runtime_pattern *patterns;      /* by reference */
    enum pattern_memory *memory;         /* by reference */
    uint32_t *partners;                  /* by reference: pattern_partner() */
    struct transition *transitions;
    size_t transition_count;
    struct psnap_distances **distances; /* [plan * ref_count + ref]: P(D | block), of the sample;
                                           NULL: none */
    size_t plan_count;
    uint64_t total, sampled; /* accesses, and those of sampled windows */
    uint32_t threads;
    bool has_operations;   /* the program says what its blocks do */
    bool has_block_counts; /* executions are those of blocks: a trace, not a profile */
};

/* A sink that measures the stream of a program, which must outlive it; the caller frees it. NULL
 * with `error` filled. */
struct psnap_sink *measure_sink_new(const struct psnap_program *program,
                                    const struct measure_options *options,
                                    struct psnap_error *error);

/*
 * What that sink has measured, once it is finished. `profile` is the one whose replay the stream
 * is, or NULL; it tells operations and iterations, as the replay does not. The measure refers to
 * the program, which must outlive it. Released by the caller also after an error.
 */
enum psnap_status measure_take(struct measure *measure, const struct psnap_sink *sink,
                               const struct psnap_profile *profile, struct psnap_error *error);

/* Both, of a source that is read to its end. */
enum psnap_status measure_stream(struct measure *measure, struct psnap_source *source,
                                 const struct psnap_profile *profile,
                                 const struct measure_options *options, struct psnap_error *error);
/* Of a part of a profile's replay: leaves of each loop's operations, iterations and entries the
 * share that the part has of the loop's accesses. */
void measure_part(struct measure *measure, const struct psnap_profile *profile);
/* Makes each loop's accesses and what comes with them, pages and mispredictions, so many times as
 * many; factors[loop_count] is of what is in no loop. */
void measure_scale(struct measure *measure, const double *factors);
void measure_release(struct measure *measure);

#endif
