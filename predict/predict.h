/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Analytical models over access streams: reuse distances (reuse/), the hit rates
 * that follow from them by SDCM (sdcm/), streams of several cores from that of one
 * (multicore/MULTICORE.md), locality as a surface and as two scores (locality/LOCALITY.md).
 *
 * Nothing here is shared between objects: different sinks may be used by
 * different threads at once, one sink by one thread at a time.
 */
#ifndef PSNAP_PREDICT_H
#define PSNAP_PREDICT_H

#include <stdbool.h>
#include <stdint.h>

#include "formats/base/access.h"
#include "formats/base/api.h"
#include "formats/base/program.h"
#include "formats/base/scope.h"
#include "formats/base/status.h"
#include "formats/base/stream.h"

/* ------------------------------------------------------------ reuse distances */

#define PSNAP_DISTANCE_COLD UINT64_MAX /* of a first touch */

/* How many accesses have which reuse distance. */
struct psnap_distances;

struct psnap_distance_count {
    uint64_t distance, count;
    uint64_t next; /* of psnap_distances_next() */
};

PSNAP_API struct psnap_distances *psnap_distances_new(void); /* NULL: out of memory */
PSNAP_API void psnap_distances_free(struct psnap_distances *distances);

/* Counts `count` accesses, of a distance or PSNAP_DISTANCE_COLD; false: out of memory. */
PSNAP_API bool psnap_distances_add(struct psnap_distances *distances, uint64_t distance,
                                   uint64_t count);
/* Counts all that another has; false: out of memory, a part of them is counted. */
PSNAP_API bool psnap_distances_add_all(struct psnap_distances *distances,
                                       const struct psnap_distances *other);

PSNAP_API uint64_t psnap_distances_accesses(const struct psnap_distances *distances);
PSNAP_API uint64_t psnap_distances_cold(const struct psnap_distances *distances);

/* The distances that have a count, in ascending order, cold ones left out; begins with *each zero,
 * false at the end. Nothing may be added meanwhile. */
PSNAP_API bool psnap_distances_next(const struct psnap_distances *distances,
                                    struct psnap_distance_count *each);

/* The share of accesses that hit in a fully associative LRU cache of so many lines; NaN without
 * accesses. */
PSNAP_API double psnap_distances_hit_rate(const struct psnap_distances *distances, uint64_t lines);

struct psnap_reuse_options {
    uint64_t line_bytes; /* a power of two; 1: addresses, of which an access has one */
    /*
     * Not 0: distances are within the line's set of `sets` ones, line modulo `sets`, and only those
     * below `ways`; larger ones count as cold. psnap_distances_hit_rate(row, A) is then the exact
     * hit rate of a cache of so many sets of A <= ways lines.
     */
    uint64_t sets, ways;
    /* Not 0: distances are measured of this share of the lines, and estimated of the others (see
     * REUSE.md), as is psnap_reuse_lines(). Not with sets. */
    double sample;
    /* Above 1: threads that measure beside the caller, with the same results as without, unless
     * there are sets or a sample; chunk_accesses of the stream at a time, 0: as many as fit. */
    uint32_t jobs;
    uint64_t chunk_accesses;
    bool together;  /* all threads have one memory, in the stream's order; else each its own */
    bool by_thread; /* count PSNAP_VIEW_THREAD too */
    /* Counts PSNAP_VIEW_TAG too, unless NULL: gives each access of a block its row. */
    enum psnap_status (*tagger)(void *context, const struct psnap_access *block, size_t n,
                                uint32_t *rows, struct psnap_error *error);
    void *tagger_context;
};

#define PSNAP_REUSE_LINE_MAX (UINT64_C(1) << 30)
#define PSNAP_REUSE_JOBS_MAX 1024

/*
 * A sink that measures the reuse distances of a stream, of each thread for itself unless
 * `together`. An access of several lines has the largest of their distances, as it hits where all
 * of them do. `program` is the stream's, must outlive the sink, and may grow; an access whose ref
 * it does not have is an error of the stream. NULL with `error` filled.
 */
PSNAP_API struct psnap_sink *psnap_reuse_new(const struct psnap_program *program,
                                             const struct psnap_reuse_options *options,
                                             struct psnap_error *error);

/* Memories so far, one for each thread unless they are together, and the lines in them. */
PSNAP_API uint32_t psnap_reuse_threads(const struct psnap_sink *sink);
PSNAP_API uint64_t psnap_reuse_lines(const struct psnap_sink *sink);

/* Rows of a view so far, and the distances of one; NULL: it has no accesses. With jobs or a sample
 * once the sink is finished, as with the functions above. */
PSNAP_API uint32_t psnap_reuse_rows(const struct psnap_sink *sink, enum psnap_view view);
PSNAP_API const struct psnap_distances *psnap_reuse_row(const struct psnap_sink *sink,
                                                        enum psnap_view view, uint32_t row);

/* ----------------------------------------------------------------------- SDCM */

/*
 * The chance that an access of a reuse distance hits in a cache of `lines` lines in sets of `ways`,
 * 1 <= ways <= lines, by SDCM; `lines` need not be a multiple of `ways`. 0 for PSNAP_DISTANCE_COLD.
 */
PSNAP_API double psnap_sdcm_hit(uint64_t distance, uint64_t ways, uint64_t lines);

/* The expected share of hits of all accesses; NaN without accesses. */
PSNAP_API double psnap_sdcm_hit_rate(const struct psnap_distances *distances, uint64_t ways,
                                     uint64_t lines);

/* ------------------------------------------------------------------ multicore */

#define PSNAP_CORES_MAX 256

struct psnap_mimic_options {
    uint32_t cores;    /* 1 to PSNAP_CORES_MAX */
    uint64_t chunk;    /* iterations of a chunk, dealt to cores in turn; 0: as the program says */
    bool as_published; /* deals by executions of blocks, not by iterations */
    bool uniform;      /* the next access is of a core that is drawn, else of each core in turn */
    uint64_t seed;     /* of that */
};

/* A parallel section of a program: a function that OpenMP runs on all cores, in all its executions;
 * section 0 is what lies outside of these, which core 0 does alone. */
struct psnap_section {
    const char *id; /* of the function, "main.omp_outlined"; "sequential" */
    const char *file;
    uint32_t src_line;
    uint64_t executions, loops, iterations; /* loops: executions of worksharing loops */
    uint64_t barriers;                      /* that all cores come to, but for those at the end */
    uint64_t accesses, bytes;               /* of the sequential run */
    uint64_t *core_accesses;                /* by core, mimicked */
    uint64_t busiest_accesses; /* of the core that has most from one barrier to the next, summed */
    uint64_t *loop_accesses;   /* of the sequential run, by the program's loop; */
    uint32_t loop_count;       /* there are so many */
};

/*
 * The stream of a program on several cores, made from that of a run of one thread with the marks of
 * `psnap cc --psnap-openmp`, which it does not have; access.thread is the core. A block is of one
 * section. Owns `inner` (freed also when this fails), shares its program. Keeps 16 MiB of what is
 * between two barriers in memory, the rest in a temporary file. NULL with `error` filled.
 */
PSNAP_API struct psnap_source *psnap_mimic_new(struct psnap_source *inner,
                                               const struct psnap_mimic_options *options,
                                               struct psnap_error *error);

/* The sections so far, valid until the next call of next; the first is what is sequential. */
PSNAP_API const struct psnap_section *psnap_mimic_sections(const struct psnap_source *mimic,
                                                           size_t *count);
/* The section that the block delivered last is of. */
PSNAP_API uint32_t psnap_mimic_section(const struct psnap_source *mimic);

/*
 * The threads of a recorded run with marks, a source each, in turn as far as they ran at the same
 * time: each waits for the others at barriers and where parallel sections begin and end. It does
 * not have the marks. Owns the sources (freed also when this fails with NULL: out of memory), but
 * not the program, which must know all their refs from the start.
 */
PSNAP_API struct psnap_source *psnap_aligned_new(struct psnap_source *const *threads, size_t count,
                                                 struct psnap_program *program);

/*
 * Hands a stream of at most PSNAP_CORES_MAX threads to `inner` as caches see it that `share` cores
 * have together: access.thread becomes thread / share. Keeps the order within each cache, not
 * between them. Does not own `inner`, which it finishes. NULL: out of memory.
 */
PSNAP_API struct psnap_sink *psnap_groups_new(struct psnap_sink *inner, uint32_t share);

/* ------------------------------------------------------------------- locality */

#define PSNAP_SURFACE_STRIDE_MAX 256 /* bytes, in both directions */
#define PSNAP_SURFACE_STRIDES                                                                      \
    (2 * PSNAP_SURFACE_STRIDE_MAX + 1)   /* [PSNAP_SURFACE_STRIDE_MAX]: 0                          \
                                          */
#define PSNAP_SURFACE_DISTANCE_MAX 65536 /* accesses */
#define PSNAP_SURFACE_DISTANCES 17       /* [k]: distances above 2^(k-1) and up to 2^k */
#define PSNAP_LOCALITY_WINDOW 32         /* accesses that the spatial score looks back */
#define PSNAP_LOCALITY_WORDS 131072      /* and words the temporal one: N */
#define PSNAP_LOCALITY_REUSES 18     /* [c]: 2^(c-1) to 2^c - 1 other words in between; [0]: none */
#define PSNAP_LOCALITY_WORD_BYTES 8  /* of a word of the scores, unless said */
#define PSNAP_LOCALITY_WORD_MAX 4096 /* bytes */

/*
 * What there is to know of a group of accesses, in one piece of 70 KB. Sums are of this kind again.
 *
 * surface[s][k] counts the accesses x whose stride-th byte below, x - (s -
 * PSNAP_SURFACE_STRIDE_MAX), was accessed before, the last time so many accesses ago as [k] says.
 */
struct psnap_locality {
    uint64_t accesses;
    uint64_t surface[PSNAP_SURFACE_STRIDES][PSNAP_SURFACE_DISTANCES];
    uint64_t reused[PSNAP_LOCALITY_REUSES]; /* accesses by words touched since this one was */
    double nearness;                        /* sum of 1 / stride in words, over accesses */
};

/*
 * A sink that measures a stream, each of its threads for itself. `program` is the stream's, must
 * outlive the sink, and may grow; an access whose ref it does not have is an error of the stream.
 * `word_bytes` is a power of two up to PSNAP_LOCALITY_WORD_MAX. NULL with `error` filled.
 */
PSNAP_API struct psnap_sink *psnap_locality_new(const struct psnap_program *program,
                                                uint64_t word_bytes, struct psnap_error *error);

/* Before the first access: one in `every` on average is looked at, many in a row at places that are
 * drawn. Each is held against all before it, but that words touched long ago are told by drawn
 * words; a loop's stand for all of its accesses. For streams so long that so few tell enough. */
PSNAP_API void psnap_locality_sample(struct psnap_sink *sink, uint32_t every);

/* Threads that there were accesses of so far. */
PSNAP_API uint32_t psnap_locality_threads(const struct psnap_sink *sink);

/* Accesses of one loop so far that were counted, as below. */
PSNAP_API uint64_t psnap_locality_loop_accesses(const struct psnap_sink *sink, uint32_t loop);

/*
 * Adds to `sum` what was measured of one loop's accesses (an index of the program; PSNAP_NONE:
 * those of no loop), or of all. What an access finds behind it, in whatever loop, is its own
 * loop's.
 */
PSNAP_API void psnap_locality_add_loop(const struct psnap_sink *sink, uint32_t loop,
                                       struct psnap_locality *sum);
PSNAP_API void psnap_locality_add_total(const struct psnap_sink *sink, struct psnap_locality *sum);

/* The shares of accesses whose word was among the 2^c touched last: hit rates of LRU caches of so
 * many words, c up to PSNAP_LOCALITY_REUSES - 1; NaN without accesses. */
PSNAP_API double psnap_locality_reuse(const struct psnap_locality *locality, int c);

/* Of the accesses, how many found the byte `stride` below them, -PSNAP_SURFACE_STRIDE_MAX to
 * PSNAP_SURFACE_STRIDE_MAX, accessed within the last 2^k: 0 to 1, NaN without accesses. */
PSNAP_API double psnap_locality_share(const struct psnap_locality *locality, int stride, int k);

/* The scores, 0 (none) to 1 (all of it); NaN without accesses. */
PSNAP_API double psnap_locality_spatial(const struct psnap_locality *locality);
PSNAP_API double psnap_locality_temporal(const struct psnap_locality *locality);

/* How far two surfaces are apart, 0 (the same) to 1 (nothing in common): a metric. NaN when one of
 * them has no accesses. */
PSNAP_API double psnap_locality_distance(const struct psnap_locality *a,
                                         const struct psnap_locality *b);

#endif
