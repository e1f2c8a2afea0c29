/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The profile: program > loop > region, as in PSnAP (Olschanowsky, Tikir,
 * Carrington, Snavely, "Accurate Synthetic Address Streams Through Memory
 * Profiles"). This header has the data model, the builder that makes a profile
 * of an access stream, reading and writing as YAML (profile/FORMAT.md), and the
 * generator that turns a region's metrics back into addresses.
 */
#ifndef PSNAP_PROFILE_H
#define PSNAP_PROFILE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "formats/base/access.h"
#include "formats/base/api.h"
#include "formats/base/arena.h"
#include "formats/base/deadline.h"
#include "formats/base/program.h"
#include "formats/base/status.h"
#include "formats/base/stream.h"

#define PSNAP_PROFILE_VERSION 1

/* Documented limits of what is read; the builder stays far below them. */
#define PSNAP_PROFILE_LOOPS_MAX (1u << 20)
#define PSNAP_PROFILE_REGIONS_MAX (2u << 20) /* in all loops together */
#define PSNAP_PATTERN_MAX 65536u             /* accesses that a pattern unfolds to */
#define PSNAP_COUNT_MAX (UINT64_C(1) << 56)  /* any count, and what counts add up to */

/*
 * Strides are binned by powers of two. Bin 9 is stride 0; bin 9 + k + 1 holds
 * the strides in (2^(k-1), 2^k], k = 0 to 8, and bin 9 - k - 1 their negatives;
 * the last one, "random", everything longer than 2^8.
 */
#define PSNAP_SEQUENCE_DEPTH 64 /* groups in groups, more than any that was read or built */

enum {
    PSNAP_STRIDE_ZERO = 9,
    PSNAP_STRIDE_RANDOM = 19,
    PSNAP_STRIDE_BINS = 20,
    PSNAP_STRIDE_MAX = 256 /* bytes */
};

#define PSNAP_VISITS_PER_ACCESS 64u /* at most, of all loops of a schedule */

struct psnap_stride_count {
    uint64_t count;
    uint8_t bin;
};

/* `count` times a stride of bin `to` came right after one of bin `from`. */
struct psnap_stride_edge {
    uint64_t count;
    uint8_t from, to;
};

struct psnap_size_count {
    uint64_t count;
    uint8_t size; /* bytes */
};

/*
 * A folded sequence of indices, in preorder. A leaf has `what` (loop or region
 * index), repeat 1 and span 0. A group has what PSNAP_NONE and repeats the next
 * `span` items `repeat` times. In a schedule a loop whose visits differ has at
 * each of its leaves the accesses that all visits there come to; else
 * `accesses` is PSNAP_EVENLY.
 */
#define PSNAP_EVENLY UINT64_MAX

struct psnap_sequence_item {
    uint64_t repeat;
    uint64_t accesses;
    uint32_t what;
    uint32_t span;
};

struct psnap_sequence {
    struct psnap_sequence_item *items;
    uint32_t count;
};

/* Arrays are ordered by bin (from, then to) or size and hold no zero counts. */
struct psnap_profile_region {
    const char *id;                     /* unique in its loop */
    const char *object;                 /* name of what it lies in, NULL when unknown */
    uint8_t object_kind;                /* enum psnap_object_kind, when object is not NULL */
    uint64_t low;                       /* lowest address (canonical, see layout.h) */
    uint64_t bytes;                     /* working set: up to the end of the highest access */
    uint64_t accesses;                  /* at least 1 */
    uint64_t kinds[3];                  /* by enum psnap_access_kind; they add up to accesses */
    struct psnap_size_count *sizes;     /* add up to accesses */
    struct psnap_stride_count *strides; /* add up to accesses - 1 */
    struct psnap_stride_edge *edges;    /* a path through all strides: see psnap_region_ends */
    uint16_t size_count, stride_count, edge_count;
    bool is_derived; /* strides and edges were seen; the stream follows from the model */
};

#define PSNAP_OFF_POINTS 2

struct psnap_profile_loop {
    const char *id; /* unique in the profile */
    const char *src_id;
    const char *function;
    const char *file; /* "" when unknown */
    uint32_t src_line;
    uint32_t depth;
    uint32_t parent;     /* index of the loop around it, or PSNAP_NONE */
    uint64_t entries;    /* UINT64_MAX when unknown */
    uint64_t iterations; /* over all entries; UINT64_MAX when unknown */
    uint64_t operations[PSNAP_OPERATION_COUNT];
    uint64_t accesses; /* sum over its regions; 0 for loops kept as somebody's parent */
    uint64_t estimate_accesses, estimate_error; /* of the whole run, by a sample, and its standard
                                                   error; UINT64_MAX: none */
    double expected_off; /* points by which reuse times of the replay were off when the profile was
                            made, if more than PSNAP_OFF_POINTS; else 0 */
    struct psnap_profile_region *regions;
    uint32_t region_count;
    struct psnap_sequence pattern; /* the first accesses, by region */
    bool is_pattern_derived;       /* it was seen; the stream follows from the model */
};

/*
 * How far the replay of a profile is from the stream that it was made of: errors of cumulative hit
 * rates in points (percent), as `psnap compare` has them. 0 is exact; NaN: not known.
 */
struct psnap_certificate_row {
    const char *machine; /* NULL: all of them */
    uint32_t level;      /* from 1, of the caches, or of the TLB: */
    bool is_tlb;
    double mean_points, max_points; /* over the relevant loops */
    double total_points;            /* of the whole stream (of all machines: the mean) */
};

/* A machine that psnap does not bring along, which another may call the same. */
struct psnap_certificate_machine {
    const char *name;
    const char *caches; /* "32K:64:8,1M:64:16" */
};

struct psnap_certificate {
    const char *version;     /* of the psnap that made it */
    uint64_t seed;           /* of the replay */
    uint64_t content;        /* psnap_profile_content of the profile that it is for */
    uint64_t relevant_loops; /* with at least 0.5 % of the accesses */
    struct psnap_certificate_machine *machines; /* those of them that psnap does not bring along */
    uint32_t machine_count;
    struct psnap_certificate_row *levels, *rows; /* over all machines; of each machine */
    uint32_t level_count, row_count;
    const char *worst_loop;             /* id of a loop of the source; NULL: none is relevant */
    struct psnap_certificate_row worst; /* where; its max_points */
};

struct psnap_stream_model; /* profile/model.h, not part of the library's interface */

struct psnap_profile {
    struct psnap_provenance provenance;
    const char *content; /* psnap_profile_content as it was recorded, 16 digits; NULL: unknown */
    struct psnap_sampling sampling; /* which part of the run was recorded; no loop_errors */
    const char *same_ranks;         /* of a parallel job, which it stands for: "0-12,14"; or NULL */
    const char *model;              /* "psnap" or PSNAP_MODEL_NESTS */
    uint64_t region_gap_bytes;
    uint32_t region_limit;
    struct psnap_profile_loop *loops;
    uint32_t loop_count;
    struct psnap_sequence schedule;        /* model psnap: of loops */
    struct psnap_stream_model *stream;     /* model nests: what replay follows, else NULL; owned */
    struct psnap_certificate *certificate; /* NULL: none */
    struct psnap_arena *arena;             /* owns all of the above */
};

struct psnap_profile_totals {
    uint64_t accesses, loads, stores, atomics, bytes;
    uint64_t operations[PSNAP_OPERATION_COUNT];
};

PSNAP_API struct psnap_profile *psnap_profile_new(void); /* empty; NULL: out of memory */
PSNAP_API void psnap_profile_free(struct psnap_profile *profile);
PSNAP_API void psnap_profile_totals(const struct psnap_profile *profile,
                                    struct psnap_profile_totals *totals);
/* The id of the loop that may have been meant by a misspelled one; NULL: none is near. */
PSNAP_API const char *psnap_profile_nearest_loop(const struct psnap_profile *profile,
                                                 const char *id);

/* Reads and checks; `name` is used in errors. NULL on failure, with `error` filled. */
PSNAP_API struct psnap_profile *psnap_profile_read(FILE *file, const char *name,
                                                   struct psnap_error *error);
/* The same of a document that was read, which may have been changed since. */
struct psnap_yaml_doc;
PSNAP_API struct psnap_profile *psnap_profile_read_document(const struct psnap_yaml_doc *doc,
                                                            struct psnap_error *error);
PSNAP_API enum psnap_status psnap_profile_write(const struct psnap_profile *profile, FILE *file,
                                                struct psnap_error *error);

/*
 * A checksum of what the profile says but for `program`'s description and its certificate: of its
 * canonical text, so the same for a profile that was written another way or recorded again.
 */
PSNAP_API enum psnap_status psnap_profile_content(const struct psnap_profile *profile,
                                                  uint64_t *content, struct psnap_error *error);
/* Notes that checksum in `content`, as of a recording. */
PSNAP_API enum psnap_status psnap_profile_seal(struct psnap_profile *profile,
                                               struct psnap_error *error);
/* Whether it has a certificate and has not been edited since: 1 or 0, negative: out of memory. */
PSNAP_API int psnap_certificate_holds(const struct psnap_profile *profile,
                                      struct psnap_error *error);
/* "L1", "TLB", "TLB2": the level of a row, into `text`; returns it. */
PSNAP_API char *psnap_certificate_level(const struct psnap_certificate_row *row, char text[16]);
/* How a certificate states an error: rounded to 1/10000 point, what is not 0 not to 0. */
PSNAP_API double psnap_certificate_points(double points);

/* By item of a sequence: how often it comes when the sequence is unfolded. */
PSNAP_API void psnap_sequence_visits(const struct psnap_sequence *sequence, uint64_t *visits);

/* The bin of a stride, and its label: "-8", "0", "256", "random" (static storage). */
PSNAP_API unsigned psnap_stride_bin(int64_t stride_bytes);
PSNAP_API const char *psnap_stride_label(unsigned bin);

/* The first stride's bin and the last one's, which the edges leave open; false when the edges do
 * not form a path through all strides. Only with at least one stride. */
PSNAP_API bool psnap_region_ends(const struct psnap_profile_region *region, unsigned *first,
                                 unsigned *last);

#define PSNAP_MODEL_NESTS "nests-3"
#define PSNAP_RARE "(rare)" /* id of the loop that stands for rare code, in nests-3 */

#define PSNAP_REGION_GAP_DEFAULT UINT64_C(256) /* bytes, as published */
#define PSNAP_REGION_GAP_MAX (UINT64_C(1) << 40)
#define PSNAP_REGION_LIMIT_DEFAULT 128u
#define PSNAP_REGION_LIMIT_MIN 2u
#define PSNAP_REGION_LIMIT_MAX 4096u

/* How the builder reads what the paper leaves open; zero-initialise for defaults. */
struct psnap_builder_options {
    uint64_t region_gap_bytes; /* 0: the default */
    uint32_t region_limit;     /* regions per loop before rare ones merge; 0: the default */
    bool nests;                /* model nests, the default of the commands */
    bool is_alone;             /* nothing else takes the stream: no other thread is needed for it */
    /* When it is set while the profile is being finished, what takes longest (rules of irregular
       references chosen by measurement) is left out. NULL: none; used until
       psnap_profile_builder_take has returned. */
    const struct psnap_deadline *deadline;
};

/*
 * The model by its name: "nests", also for NULL, or "psnap". An error (USAGE) of another name.
 */
PSNAP_API enum psnap_status psnap_builder_choose_model(struct psnap_builder_options *options,
                                                       const char *name, struct psnap_error *error);

/*
 * A sink that builds a profile, of model psnap unless the options say otherwise. `program` is the
 * stream's and must outlive the builder. NULL on failure.
 */
PSNAP_API struct psnap_sink *
psnap_profile_builder_new(struct psnap_program *program,
                          const struct psnap_builder_options *options /* NULL: defaults */,
                          struct psnap_error *error);

/* The profile of everything put; only after psnap_sink_finish, once. The caller frees it; it does
 * not refer to builder or program. */
PSNAP_API struct psnap_profile *psnap_profile_builder_take(struct psnap_sink *builder,
                                                           struct psnap_error *error);

/*
 * Region metrics to accesses: an endless stream of the region's accesses,
 * deterministic in (region, seed, stream). refs[kind] goes into access.ref.
 * Keeps no pointer to `region`. NULL: out of memory.
 */
struct psnap_generator;
PSNAP_API struct psnap_generator *psnap_generator_new(const struct psnap_profile_region *region,
                                                      uint64_t seed, uint64_t stream,
                                                      const uint32_t refs[3]);
PSNAP_API void psnap_generator_free(struct psnap_generator *generator);
PSNAP_API void psnap_generator_fill(struct psnap_generator *generator, struct psnap_access *block,
                                    size_t n);

/*
 * A source of the stream of a profile of model nests, deterministic in (profile, seed), which may
 * be freed before it. first_ref[loop] plus a reference's number goes into access.ref. `program` is
 * the source's, not owned. NULL: out of memory.
 */
PSNAP_API struct psnap_source *psnap_profile_stream_new(const struct psnap_profile *profile,
                                                        const uint32_t *first_ref,
                                                        struct psnap_program *program,
                                                        uint64_t seed);
/* By loop of a profile of model nests: how many numbers its references have. */
PSNAP_API void psnap_profile_refs(const struct psnap_profile *profile, uint32_t *refs);
/* References of the program that are marks of the profile get their names for objects, first_ref as
 * above. False: out of memory. */
PSNAP_API bool psnap_profile_name_marks(const struct psnap_profile *profile,
                                        const uint32_t *first_ref, struct psnap_program *program);

#endif
