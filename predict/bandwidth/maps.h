/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Points of memory benchmarks: how fast a machine reads a stream of simple form, and where that
 * stream is satisfied in the caches (supply.h).
 *
 * MultiMAPS (Tikir, Carrington, Strohmaier and Snavely, SC07): the sum of every stride-th word of
 * an array, again and again. Streams: the sums of two or four arrays side by side. Apex-MAP
 * (Strohmaier and Shan, SC05): blocks of L words at places N * u^(1/alpha) of an array of N words,
 * u uniform: alpha 1 is random, smaller ones come back to its front. Chain: lines of an array in an
 * order that was drawn, each of which has the address of the next.
 */
#ifndef PSNAP_PREDICT_BANDWIDTH_MAPS_H
#define PSNAP_PREDICT_BANDWIDTH_MAPS_H

#include "predict/bandwidth/supply.h"

#define MAP_WORD_BYTES 8
#define MAP_SIZE_MIN 1024 /* bytes of an array */
#define MAP_SIZE_MAX (UINT64_C(1) << 34)
#define MAP_STEP_MAX 64
#define MAP_STREAMS_MAX 64
#define MAP_POINTS_MAX 100000
#define MAP_CHAIN_WORDS 8 /* between links: a line of 64 bytes */
/* Parts of an Apex-MAP point's list of starts: a run warms the caches by one, reads another. */
#define MAP_APEX_PARTS 4

enum map_probe { MAP_STRIDED, MAP_STREAMS, MAP_APEX, MAP_CHAIN, MAP_PROBES };
/* "strided", "streams", "apex", "chain" */
const char *map_probe_name(enum map_probe probe);

struct map_point {
    enum map_probe probe;
    uint32_t step;       /* words: the stride; of Apex-MAP the block, L; of a chain the distance */
    uint32_t streams;    /* arrays that size_bytes is the sum of; 1 but of MAP_STREAMS */
    uint64_t size_bytes; /* of the array */
    double alpha;        /* of Apex-MAP, above 0 and at most 1; else 0 */
    double seconds; /* of one access, of MAP_WORD_BYTES: the median of runs. Those to Apex-MAP's
                       list of starts are accesses, too */
    double spread;  /* of the runs: half their interquartile range, of the median; 0 where
                       there is one */
    uint32_t runs;
    uint32_t src_line;    /* where it was read; 0: measured */
    struct supply supply; /* shares; of one access, they add up to 1 */
};

/* Bytes per second. */
double map_point_bandwidth(const struct map_point *point);

/* Where the times are from. Texts are "" when unknown. */
struct map_origin {
    char psnap[32], date[32], processor[128];
    int cpu; /* -1: unknown */
    uint32_t rounds;
    double seconds; /* that it took */
};

/* What was measured, and the machine that the supplies are simulated of. */
struct maps {
    struct map_point *points;
    size_t count, room;
    struct psnap_machine machine; /* without has_machine its level_count alone is known */
    bool has_machine;
    bool has_kinds; /* supplies tell streams apart; else all is near */
    struct map_origin origin;
};

void maps_release(struct maps *maps);
/* Whether the supplies are of a machine with the same caches, whatever their names and times. */
bool maps_are_of(const struct maps *maps, const struct psnap_machine *machine);
/* Appends; false: out of memory. */
bool maps_add(struct maps *maps, const struct map_point *point);

/* The points of `sizes` arrays from 1 KiB to `largest` bytes, equally far apart in logarithms but
 * for rounding, with strides of 1, 2, ... `stride_max` words. Sizes that round to the same one are
 * one, and a point that would have fewer than two accesses is left out. */
enum psnap_status maps_plan_strided(struct maps *maps, uint32_t sizes, uint64_t largest,
                                    uint32_t stride_max, struct psnap_error *error);
/* Of Apex-MAP, in an array of `bytes`: blocks of 1, 4, 16 and 64 words, alpha from 1 down to 0.01.
 */
enum psnap_status maps_plan_apex(struct maps *maps, uint64_t bytes, struct psnap_error *error);
/* What MultiMAPS does not tell: random words (Apex-MAP, alpha 1), streams and chains, in `sizes`
 * arrays each from 16 KiB to `largest` bytes. */
enum psnap_status maps_plan_further(struct maps *maps, uint32_t sizes, uint64_t largest,
                                    struct psnap_error *error);

/* Accesses of a pass of a strided point or of streams: what the arrays have of them, rounded down
 * to what the kernel takes at once, a multiple of 16 or a power of two below. */
uint64_t map_pass_accesses(const struct map_point *point);
/* Where the blocks of an Apex-MAP point or the links of a chain are, in words, drawn by a fixed
 * seed; `count` of them. */
void map_starts(const struct map_point *point, uint32_t *starts, size_t count);
size_t map_start_count(const struct map_point *point);

/* Simulates the supply of a point on a machine, as it is when the caches are warm. */
enum psnap_status map_point_supply(struct map_point *point, const struct psnap_machine *machine,
                                   struct psnap_error *error);
/* Of all points, by as many threads as there are processors. maps->machine becomes the machine.
 * `done` is called with the number of points so far, by the caller's thread; may be NULL. */
enum psnap_status maps_supply(struct maps *maps, const struct psnap_machine *machine,
                              void (*done)(void *context, size_t points), void *context,
                              struct psnap_error *error);

/* ------------------------------------------------------------------ measuring */

struct maps_settings {
    double budget_seconds; /* stops measuring after it, each point having been measured once */
    double tolerance;      /* a point is stable when its median's standard error is below: 0.005 */
    uint32_t rounds_max;
    uint64_t seed; /* of the order of points */
    /* Told now and then, `share` of the work from 0 to 1; may be NULL. */
    void (*tell)(void *context, uint32_t round, size_t unstable, double share);
    void *context;
};

/* Measures all points on the processor that this runs on, and stays there; fills what the origin
 * has of it. */
enum psnap_status maps_measure(struct maps *maps, const struct maps_settings *settings,
                               struct psnap_error *error);

/* ----------------------------------------------------------------------- YAML */

/* BANDWIDTH.md documents the form. */
enum psnap_status maps_write(const struct maps *maps, FILE *file, struct psnap_error *error);
/* The caller releases `maps`, also after an error, which has its place. */
enum psnap_status maps_read(FILE *file, const char *name, struct maps *maps,
                            struct psnap_error *error);

#endif
