/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The machine model and the exact multi-level simulator.
 *
 * A machine is a list of cache levels, nearest first, and perhaps a TLB beside
 * them. A simulator is a sink
 * that runs one stream through any number of machines in one pass and counts,
 * for every reference of the program, at which level its accesses were
 * satisfied. MACHINES.md states the model; cache.h and hierarchy.c implement it.
 *
 * In use: psnap_sim_new_alone, psnap_sink_put of as many blocks as there are, psnap_sim_add_total
 * or _add at any time, and psnap_sink_free, as in samples/embed/simulate.c. Where there are several
 * machines, or instructions matter: machines by psnap_machine_parse_inline, _read or _find, a
 * program that has the instructions of the stream, and psnap_sim_new.
 *
 * Sizes are bytes, times cycles of the core, bandwidths bytes per second; levels count from 0 where
 * they are indices. Functions that can fail return 0 (PSNAP_OK) or a negative enum psnap_status, or
 * NULL, and fill `error`, which may be NULL; nothing here prints or ends the program.
 *
 * Nothing here is shared between objects: different simulators may be used by
 * different threads at once, one simulator by one thread at a time. Two of them may have the same
 * program as long as nobody adds to it.
 */
#ifndef PSNAP_SIMCORE_H
#define PSNAP_SIMCORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "formats/base/access.h"
#include "formats/base/api.h"
#include "formats/base/program.h"
#include "formats/base/scope.h"
#include "formats/base/status.h"
#include "formats/base/stream.h"

/*
 * The form of results: what is counted, of the same stream on the same machine. Results that are
 * kept (psnap sweep) name it, and are made again when it is another one. Raise it whenever a
 * count becomes another one: a model is mended, a default or the order of what is drawn changes.
 */
#define PSNAP_SIMCORE_RESULTS_VERSION 1

/* ------------------------------------------------------------------ machines */

#define PSNAP_LEVELS_MAX 8
#define PSNAP_TLB_LEVELS_MAX 2
#define PSNAP_LINE_BYTES_MAX (UINT64_C(1) << 30)
#define PSNAP_LEVEL_BYTES_MAX (UINT64_C(1) << 40)
#define PSNAP_LEVEL_LINES_MAX (UINT64_C(1) << 31)

#define PSNAP_PREFETCH_ENTRIES_MAX (UINT32_C(1) << 20)
#define PSNAP_PREFETCH_DEGREE_MAX 16
#define PSNAP_PREFETCH_DISTANCE_MAX 1024

/* Which line of a full set makes room. */
enum psnap_replacement {
    PSNAP_REPLACE_LRU = 0, /* the least recently used */
    PSNAP_REPLACE_PLRU,    /* tree pseudo-LRU; ways are a power of two */
    PSNAP_REPLACE_RANDOM,  /* any, uniformly */
    PSNAP_REPLACE_FIFO,    /* the one that came first */
    PSNAP_REPLACE_SRRIP,   /* static re-reference interval prediction, 2 bits */
    PSNAP_REPLACE_COUNT
};

/* Which set of a cache a line goes to. */
enum psnap_set_index {
    PSNAP_INDEX_MODULO = 0, /* the line's number modulo the sets */
    PSNAP_INDEX_XOR,        /* the exclusive or of all groups of log2(sets) bits of it */
    PSNAP_INDEX_COUNT
};

#define PSNAP_SRRIP_WAYS_MAX 1024

/* What a level holds of what nearer ones hold. */
enum psnap_inclusion {
    PSNAP_NON_INCLUSIVE = 0, /* as it happens */
    PSNAP_INCLUSIVE,         /* all of it: a line that leaves, leaves them too */
    PSNAP_EXCLUSIVE,         /* nothing: it is filled by what they give up, and a hit moves up */
    PSNAP_INCLUSION_COUNT
};

/* A stride prefetcher (a reference prediction table), and one of next lines. */
struct psnap_prefetch {
    uint32_t entries;    /* references it keeps in mind; 0: no stride prefetcher */
    uint32_t degree;     /* accesses fetched ahead at a time */
    uint32_t distance;   /* strides from the access to the first of them */
    uint32_t next_lines; /* fetched behind one that was missing; 0: none */
};

#define PSNAP_VICTIM_LINES_MAX 1024
#define PSNAP_NEXT_LINES_MAX 16

#define PSNAP_LEVEL_NAME_MAX 31 /* bytes, without the NUL */

struct psnap_cache_level {
    char name[PSNAP_LEVEL_NAME_MAX +
              1];                 /* "L1d", "LLC"; unique in the machine; "" when it has none */
    uint64_t size_bytes;          /* line_bytes * ways * sets, exactly */
    uint64_t line_bytes;          /* a power of two */
    uint64_t ways;                /* 1: direct mapped; size_bytes / line_bytes: fully associative */
    uint64_t sets;                /* any count; derived */
    double latency_cycles;        /* of a hit here; 0 when unknown */
    double throughput_cycles;     /* from one hit here to the next that does not wait for it: the
                                     reciprocal throughput; 0 when unknown */
    double bandwidth_bytes_per_s; /* between this level and the core; 0 when unknown */
    uint64_t effective_bytes; /* what one core that runs alone keeps of it, for run times; 0: all,
                                 or unknown */
    uint32_t shared_by;       /* cores that have one such cache together; 0, 1: each its own */
    enum psnap_replacement replacement;
    enum psnap_set_index index;
    enum psnap_inclusion inclusion;
    bool write_through;     /* stores go on to the next level at once, and no line is dirty */
    bool no_write_allocate; /* a store that misses goes on to the next level, and brings in nothing
                             */
    uint32_t victim_lines;  /* of a fully associative cache of what it evicted; 0: none */
    uint64_t seed;          /* of PSNAP_REPLACE_RANDOM, else 0 */
    struct psnap_prefetch prefetch;
};

struct psnap_tlb_level {
    uint64_t entries;    /* ways * sets, exactly */
    uint64_t page_bytes; /* a power of two */
    uint64_t ways;       /* entries: fully associative */
    uint64_t sets;       /* any count; derived */
};

/* What one operation of a kind costs a core; 0 when unknown. */
struct psnap_operation_cost {
    double latency_cycles;    /* until its result can be used */
    double throughput_cycles; /* until the next that does not wait for it begins */
};

/* Functions of the C library whose calls programs spend time in. */
enum psnap_math_function {
    PSNAP_MATH_ACOS,
    PSNAP_MATH_ASIN,
    PSNAP_MATH_ATAN,
    PSNAP_MATH_ATAN2,
    PSNAP_MATH_CBRT,
    PSNAP_MATH_COS,
    PSNAP_MATH_COSH,
    PSNAP_MATH_COSF,
    PSNAP_MATH_ERF,
    PSNAP_MATH_ERFC,
    PSNAP_MATH_EXP,
    PSNAP_MATH_EXP2,
    PSNAP_MATH_EXPF,
    PSNAP_MATH_EXPM1,
    PSNAP_MATH_FMOD,
    PSNAP_MATH_HYPOT,
    PSNAP_MATH_LOG,
    PSNAP_MATH_LOG10,
    PSNAP_MATH_LOG1P,
    PSNAP_MATH_LOG2,
    PSNAP_MATH_LOGF,
    PSNAP_MATH_POW,
    PSNAP_MATH_POWF,
    PSNAP_MATH_SIN,
    PSNAP_MATH_SINF,
    PSNAP_MATH_SINH,
    PSNAP_MATH_TAN,
    PSNAP_MATH_TANH,
    PSNAP_MATH_FUNCTION_COUNT
};
/* "exp" */
PSNAP_API const char *psnap_math_function_name(enum psnap_math_function function);

/* What OpenMP's run-time library takes; 0 when unknown. */
struct psnap_parallel_cost {
    double alone_cycles;   /* to begin and end a parallel section of one thread */
    double section_cycles; /* of two */
    double barrier_cycles; /* a barrier of two that come at the same time */
};

struct psnap_machine {
    char name[256];                      /* unique in a command; an inline form is its own name */
    char description[256];               /* one line, "" when there is none */
    char source[1024];                   /* where its figures are from; as the description */
    double clock_hz;                     /* 0 when unknown */
    uint32_t cores;                      /* 0 when unknown */
    double memory_latency_cycles;        /* behind the last level; 0 when unknown */
    double memory_throughput_cycles;     /* as those of levels */
    double memory_bandwidth_bytes_per_s; /* 0 when unknown */
    double first_touch_cycles; /* of 4096 bytes that a program touches first, until the system has
                                  made them, and later taken them back; 0 when unknown */
    double mispredict_cycles;  /* that a branch takes which the core expected to go another way,
                                  when its condition is loaded from level 1; 0 when unknown */
    struct psnap_parallel_cost parallel;
    /* From one call to the next that does not wait for it; 0 when unknown: as fp_math. */
    double function_cycles[PSNAP_MATH_FUNCTION_COUNT];
    struct psnap_operation_cost operations[PSNAP_OPERATION_COUNT]; /* enum psnap_operation */
    bool coherent;        /* a store takes the line from other cores' own caches */
    uint32_t level_count; /* 1 to PSNAP_LEVELS_MAX */
    struct psnap_cache_level levels[PSNAP_LEVELS_MAX]; /* [0] is level 1 */
    uint32_t tlb_level_count;                          /* 0 to PSNAP_TLB_LEVELS_MAX */
    struct psnap_tlb_level tlb[PSNAP_TLB_LEVELS_MAX];  /* nearest first */
};

/* "lru", "plru", "random", "fifo", "srrip". */
PSNAP_API const char *psnap_replacement_name(enum psnap_replacement replacement);
/* "modulo", "xor". */
PSNAP_API const char *psnap_set_index_name(enum psnap_set_index index);
/* "non-inclusive", "inclusive", "exclusive". */
PSNAP_API const char *psnap_inclusion_name(enum psnap_inclusion inclusion);

/*
 * Derives each level's sets and checks the machine; the message names level and
 * field. Machines that the functions below deliver have been checked.
 */
PSNAP_API enum psnap_status psnap_machine_check(struct psnap_machine *machine,
                                                struct psnap_error *error);

/* What reports call a level, from 0, into `text`: its name, or "L1"; returns it. */
enum { PSNAP_LEVEL_NAME_ROOM = 48 };
PSNAP_API char *psnap_machine_level_name(const struct psnap_machine *machine, uint32_t level,
                                         char text[PSNAP_LEVEL_NAME_ROOM]);

/* "32K:64:8,1M:64:16:plru": size:line:ways per level, and perhaps its replacement; ways may be
 * "full". */
PSNAP_API enum psnap_status psnap_machine_parse_inline(const char *text,
                                                       struct psnap_machine *machine,
                                                       struct psnap_error *error);

/* A machine file (YAML, see MACHINES.md), from where `file` is to its end; it stays open. `name` is
 * used in errors, which say line and column. */
PSNAP_API enum psnap_status psnap_machine_read(FILE *file, const char *name,
                                               struct psnap_machine *machine,
                                               struct psnap_error *error);

/* The machine as such a file, which reads back as the same machine; without a name it has that of
 * the file. */
PSNAP_API enum psnap_status psnap_machine_write(const struct psnap_machine *machine, FILE *file,
                                                struct psnap_error *error);

/* The same as a part of another document: a map with the key "machine" in `parent` (NULL when
 * memory is out, which the document remembers), and from such a map. */
struct psnap_yaml_doc;
struct psnap_yaml_node;
PSNAP_API struct psnap_yaml_node *psnap_machine_add(const struct psnap_machine *machine,
                                                    struct psnap_yaml_doc *doc,
                                                    struct psnap_yaml_node *parent);
PSNAP_API enum psnap_status psnap_machine_take(const struct psnap_yaml_doc *doc,
                                               const struct psnap_yaml_node *map,
                                               struct psnap_machine *machine,
                                               struct psnap_error *error);

/*
 * The machine of this computer's first processor, from the cache topology under
 * `root` (NULL: /sys/devices/system/cpu, and where that has none from the C library).
 * PSNAP_ERROR_UNSUPPORTED when neither tells.
 */
PSNAP_API enum psnap_status psnap_machine_host(const char *root, struct psnap_machine *machine,
                                               struct psnap_error *error);

/* The machines that are built in, in a fixed order; NULL past the end. Static storage. */
PSNAP_API const struct psnap_machine *psnap_machine_bundled(size_t index);

/* What a user may write for a machine: a bundled name, "host", a file's path or the inline form. */
PSNAP_API enum psnap_status psnap_machine_find(const char *text, struct psnap_machine *machine,
                                               struct psnap_error *error);

/* ----------------------------------------------------------------- simulator */

#define PSNAP_SIM_ROWS_MAX (UINT32_C(1) << 24)

struct psnap_sim_options {
    bool by_thread; /* count PSNAP_VIEW_THREAD too */
    /*
     * Counts PSNAP_VIEW_TAG too, unless NULL: gives each access of a block its
     * row, below PSNAP_SIM_ROWS_MAX. Called with every access once, in order.
     */
    enum psnap_status (*tagger)(void *context, const struct psnap_access *block, size_t n,
                                uint32_t *rows, struct psnap_error *error);
    void *tagger_context;
    /*
     * Not 0: the threads are cores below this number, whose caches are as the machine says: each
     * level as many as it has for them (shared_by), a TLB each. Else all threads have one
     * hierarchy.
     */
    uint32_t cores;
    /*
     * Misses are told apart by what they are due to (psnap_tally.cold ...), and evictions counted,
     * on all machines. Each access is simulated by itself then, which is slower, and takes memory
     * for each line of the stream.
     */
    bool classify;
    /* 2 and more: machines that share no first level may be simulated by a second thread, with the
     * same results. Only that of psnap_sink_put then calls back. */
    uint32_t threads;
};

/* Counts of any group of accesses; sums of tallies are tallies. [0] is level 1. */
struct psnap_tally {
    uint64_t accesses;
    uint64_t hits[PSNAP_LEVELS_MAX];        /* satisfied at this level */
    uint64_t write_backs[PSNAP_LEVELS_MAX]; /* dirty lines this level evicted for these accesses */
    uint64_t prefetches[PSNAP_LEVELS_MAX];  /* lines its prefetcher brought in at these accesses */
    uint64_t prefetches_useful[PSNAP_LEVELS_MAX];  /* of such lines: first asked for by these */
    uint64_t prefetches_useless[PSNAP_LEVELS_MAX]; /* evicted for these, never asked for */
    uint64_t tlb_hits[PSNAP_TLB_LEVELS_MAX];       /* translated at this level of the TLB */
    /* Of machines that need it (MACHINES.md), and of all with psnap_sim_options.classify; else 0.
     */
    uint64_t write_throughs[PSNAP_LEVELS_MAX]; /* stores that the level sent on */
    uint64_t evictions[PSNAP_LEVELS_MAX];      /* lines that it gave up for want of room */
    uint64_t victim_hits[PSNAP_LEVELS_MAX];    /* lines found in its victim cache; hits, too */
    uint64_t invalidations[PSNAP_LEVELS_MAX];  /* lines that other caches took from it */
    /* Of its misses, what they are due to. Without psnap_sim_options.classify coherence alone. */
    uint64_t cold[PSNAP_LEVELS_MAX];
    uint64_t capacity[PSNAP_LEVELS_MAX]; /* a fully associative LRU cache of its size misses, too */
    uint64_t conflict[PSNAP_LEVELS_MAX]; /* such a one does not */
    uint64_t coherence[PSNAP_LEVELS_MAX];
};

/*
 * A simulator of `n` machines (copied), all cold. `program` is the stream's,
 * must outlive the simulator, and may grow; an access whose ref it does not
 * have is an error of the stream, as is a size of 0 or of more than PSNAP_ACCESS_SIZE_MAX.
 * The caller owns the simulator: psnap_sink_free. NULL when a simulator does not fit in memory.
 * `options` may be NULL, and is copied; its tagger_context is not.
 *
 * Counts may be asked for between puts, and need no psnap_sink_finish. After a put that failed they
 * are of no use.
 */
PSNAP_API struct psnap_sink *psnap_sim_new(const struct psnap_machine *machines, size_t n,
                                           const struct psnap_program *program,
                                           const struct psnap_sim_options *options,
                                           struct psnap_error *error);

/*
 * A simulator of one machine, which `machine` names as psnap_machine_find has it, for accesses of
 * no program: their refs are 0, or 0 and 1 to be counted apart.
 */
PSNAP_API struct psnap_sink *psnap_sim_new_alone(const char *machine, struct psnap_error *error);

/* Accesses put so far, and how many threads they are of. */
PSNAP_API uint64_t psnap_sim_accesses(const struct psnap_sink *sim);
PSNAP_API uint32_t psnap_sim_threads(const struct psnap_sink *sim);

/* Rows of a view so far: those at and above it are zero. */
PSNAP_API uint32_t psnap_sim_rows(const struct psnap_sink *sim, enum psnap_view view);

/* Adds one row's counts on one machine (its index in those of psnap_sim_new) to `tally`, which the
 * caller has set to zero or wants a sum with; rows beyond the last add nothing. */
PSNAP_API void psnap_sim_add(const struct psnap_sink *sim, size_t machine, enum psnap_view view,
                             uint32_t row, struct psnap_tally *tally);

/* Adds all rows of PSNAP_VIEW_REF: the whole stream. */
PSNAP_API void psnap_sim_add_total(const struct psnap_sink *sim, size_t machine,
                                   struct psnap_tally *tally);

/* Accesses that reached level `level` (from 0), and those satisfied there or nearer. */
PSNAP_API uint64_t psnap_tally_reached(const struct psnap_tally *tally, size_t level);
PSNAP_API uint64_t psnap_tally_satisfied(const struct psnap_tally *tally, size_t level);

/* Hits per access that reached the level, and satisfied per access of all; NaN where the
 * denominator is zero. */
PSNAP_API double psnap_tally_hit_rate(const struct psnap_tally *tally, size_t level);
PSNAP_API double psnap_tally_cumulative(const struct psnap_tally *tally, size_t level);

/* The same of the TLB. */
PSNAP_API uint64_t psnap_tally_tlb_reached(const struct psnap_tally *tally, size_t level);
PSNAP_API double psnap_tally_tlb_hit_rate(const struct psnap_tally *tally, size_t level);
PSNAP_API double psnap_tally_tlb_cumulative(const struct psnap_tally *tally, size_t level);

/* --------------------------------------------------------------- memory's side */

/* What was asked of memory so far. */
struct psnap_memory_side {
    uint64_t accesses; /* of the stream; while accesses are put into the sink behind: those before
                          the one that they are asked for */
    uint64_t reads, read_bytes;
    uint64_t writes, write_bytes;
};

/*
 * What a machine asks of its memory, as a stream: a sink that runs accesses through all levels of
 * the machine, cold at first and one hierarchy for all threads, and puts into `to` a load for every
 * line that the last level misses, and a store for what is written back or through; a line that
 * makes room goes before the one that it makes room for. Loads are whole lines of the last level,
 * in pieces of at most PSNAP_ACCESS_SIZE_MAX bytes; each has the ref and the thread of the access
 * that caused it. What is dirty when the stream ends is not written back. Each access is simulated
 * by itself. Owns neither `to` nor `side`, which outlive it; finishing it finishes `to`. NULL, with
 * `error` filled, when the caches do not fit in memory.
 */
PSNAP_API struct psnap_sink *psnap_memory_side_new(const struct psnap_machine *machine,
                                                   struct psnap_sink *to,
                                                   struct psnap_memory_side *side,
                                                   struct psnap_error *error);

#endif
