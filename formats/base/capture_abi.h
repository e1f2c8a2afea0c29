/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The capture ABI as types: what the pass emits into a module, what the runtime
 * and the collector share in memory. C and C++; no library behind it.
 *
 * A module has a static table (u32 words: header, loops, blocks, refs, pieces,
 * hoists, moves, quotients, nests, values, steps, sites, globals, string bytes), a byte array with
 * a byte per piece and one with a byte per allocation site. A record in a ring is a header word and
 * its payload words. The header of a piece is the address of the piece's byte, that of an event is
 * the event's number, that of a record that is being written is minus its length in words, that of
 * room that was not needed is PSNAP_GAP plus its length: no address equals these.
 *
 * A batch (capture/pass/batch.cpp) is such a record while it is open and then a gap
 * of one word, behind which its records stand. One that stays open, as its thread has left it by a
 * jump out of a signal handler or has died in it, is read as far as its records are complete. That
 * of a loop always is, for the iterations that there have been; outside of batches it is in one of
 * its own.
 *
 * A hoisted loop (capture/pass/hoist.cpp) has one record for many iterations:
 *
 *     end            address of the byte of the piece row that says how it ended
 *     iterations     whole ones that the record stands for
 *   with rows:
 *     words          of the whole record; while the loop runs, the address behind the rows
 *     begun          iterations of the loop before the record's first
 *   then:
 *     bases, steps   of the loop's affine references
 *     rows           one per iteration, the partial one included: the mask of the
 *                    guarded pieces that were executed (if there are any), then the
 *                    addresses of references that are not affine, of executed
 *                    pieces alone
 *
 * An affine reference in iteration i of the loop is at offset + base + i * step,
 * modulo 2^64. One that has quotients (x[i / 2], x[i % 3], x[(unsigned char)i]) is at so much
 * and, for each of them, factor * ((offset + base + i * step modulo 2^bits) / divisor).
 *
 * Straight code whose addresses are constants from a few bases (capture/pass/straight.cpp) is a
 * hoisted loop that stops in its first iteration: no whole ones, and no steps. Where there are
 * branches in it, it has a row, which is the mask.
 *
 * A nest of loops (capture/pass/nest.cpp) has one record for many iterations of its
 * outermost loop:
 *
 *     end            address of the byte of the piece row that says where it stopped
 *     begun          step at which it goes on; 0: it begins
 *     from           iteration of each level of loops, there
 *     to             and where it stopped
 *     words          what does not change in the nest
 *
 * in a batch of its own, whose first word is the nest's progress while the record has no end: in
 * the iterations `to` it has come to a step, which stands above NEST_STEP_SHIFT bits. These are, of
 * RUN, the iterations that its loop has had, and of AGAIN the iteration of its level that is over,
 * whatever `to` says; at ENTER that of its level does not count.
 *
 * What happened in between follows from the nest's rows. Its steps are the nest without
 * its data: they lead from one hoisted loop (or straight piece of code, which is
 * one that is executed once) to the next by conditions on values. Values are computed
 * from words, constants, iterations and earlier values in integers of so many bits. Bases,
 * steps and iterations of the nest's hoisted loops are values, numbered behind the
 * record's words, instead of words of records of their own.
 *
 * The memory of a session is its header and then the rings, each a page with struct psnap_ring
 * and its words. The program maps the header and ring 0, and each other ring when a thread first
 * takes it; the collector maps all of them.
 *
 * A ring is CHUNKS chunks of CHUNK_WORDS words. The thread that owns it takes room for
 * a record by moving `cursor`, which may not pass `limit`, in one instruction, marks it
 * open, fills it and stores its header last (release); no record crosses a chunk.
 * Signal handlers of the thread do so in between. A chunk that a thread gets is all
 * zero: a header of 0 is of room that was taken and not marked yet. Ring 0 is written
 * under a lock and publishes by `cursor`: it is read while it is written, the others
 * when a chunk is left behind, in the order in which they were. `produced` counts the chunks it has
 * left behind, `consumed` those the collector has read. A thread that found its ring full sleeps
 * until a chunk is free. A signal handler may do so while the record that it came in the
 * middle of is open: the collector then waits at that record, and when the handler has
 * filled the chunks that are free the record is passed over, and what the loop adds to it later is
 * lost. The thread may go on to write the record: until that is closed the chunk `begins` behind
 * it.
 *
 * Outside the parts of a program that are wanted (capture/runtime/region.c) `cursor`
 * and `limit` are those of memory that nobody reads, and `aside` is where the chunk
 * goes on. Whoever changes what is wanted makes `limit` PSNAP_LIMIT_CHANGED, which no
 * cursor is below: the owner then comes to the runtime and looks.
 */
#ifndef PSNAP_BASE_CAPTURE_ABI_H
#define PSNAP_BASE_CAPTURE_ABI_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define PSNAP_CAPTURE_ABI 16
#define PSNAP_CAPTURE_MAGIC 0x70616e73u /* "snap" */
#define PSNAP_HUB_MAGIC 0x68706e73u     /* "snph" */

/* Referred to by every instrumented module: another version does not link. */
#define PSNAP_CAPTURE_ABI_SYMBOL "__psnap_abi_16"

/* Under these names the collector's address travels to the program. */
#define PSNAP_ENV_SESSION "PSNAP_SESSION"     /* path of the hub's memory, set by psnap record */
#define PSNAP_ENV_OUT "PSNAP_OUT"             /* set by the user: start a collector, write here */
#define PSNAP_ENV_COMMAND "PSNAP_COMMAND"     /* set by the user: the psnap program to start */
#define PSNAP_ENV_UNHOISTED "PSNAP_UNHOISTED" /* set by tests: see PSNAP_ENV_HOIST */

/* Which parts are recorded: names of functions, a line each; empty: everything. Not set: what lies
 * between the marks of capture/roi.h, if the program has any, else everything. */
#define PSNAP_ENV_ROI "PSNAP_ROI"
#define PSNAP_ROI_NAMES_MAX 64

/* Bit i: the i-th name of that list is these `length` characters. */
static inline uint64_t psnap_roi_find(const char *list, const char *name, size_t length)
{
    uint64_t bits = 0;

    for (unsigned i = 0; i < PSNAP_ROI_NAMES_MAX && *list; i++) {
        const size_t wanted = strcspn(list, "\n");
        if (wanted == length && !memcmp(list, name, length))
            bits |= UINT64_C(1) << i;
        list += wanted + (list[wanted] == '\n');
    }
    return bits;
}

/* Of shared memory, as the system lists it. */
#define PSNAP_SESSION_NAME "psnap-session"
#define PSNAP_HUB_NAME "psnap-hub"

/* What `psnap cc` tells the pass. */
#define PSNAP_ENV_STAGE "PSNAP_STAGE"           /* "optimized" (default), "vectorizer-start" */
#define PSNAP_ENV_LINES "PSNAP_LINES"           /* set: source lines are for the pass alone */
#define PSNAP_ENV_CC_COMMAND "PSNAP_CC_COMMAND" /* becomes psnap_module.command */
/* Set by tests: "off" hoists no loops, "switch" makes code that records every loop in both ways
 * and keeps the hoisted records, or, run with PSNAP_UNHOISTED=1, the others. */
#define PSNAP_ENV_HOIST "PSNAP_HOIST"

/*
 * Set by `psnap cc --psnap-blocks`: nothing is captured, blocks are labelled. In assembly that has
 * this comment the line of a .loc is 1 + the block of the module's table, and its column that of
 * the block's line; any other .loc is the compiler's own.
 */
#define PSNAP_ENV_BLOCKS "PSNAP_BLOCKS"
#define PSNAP_BLOCKS_COMMENT "# psnap blocks"
#define PSNAP_BLOCKS_COLUMN(src_line) (0x8000u | ((src_line) & 0x7fffu))

/* Set by `psnap cc --psnap-openmp`: the pass marks what OpenMP does (capture/pass/openmp.cpp). A
 * mark is a load of one byte whose reference has one of these names, of kind PSNAP_MARK_KIND, for
 * its object; no other object has such a name, and blanks in one come from here alone. */
#define PSNAP_ENV_OPENMP "PSNAP_OPENMP"
#define PSNAP_MARK_PARALLEL "omp.parallel"
#define PSNAP_MARK_PARALLEL_END "omp.parallel end"
#define PSNAP_MARK_LOOP "omp.for" /* and its schedule: "omp.for static,4" */
#define PSNAP_MARK_LOOP_END "omp.for end"
#define PSNAP_MARK_ITERATION "omp.iteration" /* and how many it is: "omp.iteration 8" */
#define PSNAP_MARK_SINGLE "omp.single"
#define PSNAP_MARK_SINGLE_END "omp.single end"
#define PSNAP_MARK_BARRIER "omp.barrier"
#define PSNAP_MARK_SIZE 32u /* bytes of the longest, and to spare */
#define PSNAP_MARK_KIND 2u  /* PSNAP_OBJECT_STACK */
#define PSNAP_MARK_ITERATIONS_MAX 4096u

/* Whether an object's name and kind are those of a mark. */
static inline bool psnap_capture_is_mark(const char *name, uint32_t kind)
{
    static const char *const names[] = {PSNAP_MARK_PARALLEL,         PSNAP_MARK_PARALLEL_END,
                                        PSNAP_MARK_LOOP_END,         PSNAP_MARK_SINGLE,
                                        PSNAP_MARK_SINGLE_END,       PSNAP_MARK_BARRIER,
                                        PSNAP_MARK_LOOP " static",   PSNAP_MARK_LOOP " static,",
                                        PSNAP_MARK_LOOP " dynamic,", PSNAP_MARK_ITERATION " "};

    if (kind != PSNAP_MARK_KIND || strlen(name) >= PSNAP_MARK_SIZE)
        return false;
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
        const size_t length = strlen(names[i]);
        const char *rest = name + length;
        const char end = names[i][length - 1];
        if (strncmp(name, names[i], length) != 0)
            continue;
        if (end == ',' || end == ' ' ? *rest && !rest[strspn(rest, "0123456789")] : !*rest)
            return true;
    }
    return false;
}

enum {
    PSNAP_CHUNK_WORDS = 131072,
    PSNAP_THREAD_RINGS = 64, /* of a THREAD event, at most */
    PSNAP_RING_CHUNKS = 2,
    PSNAP_RINGS = 8192,             /* at most; ring 0 is the control ring */
    PSNAP_RINGS_LEAST = 4,          /* no session has fewer */
    PSNAP_REQUESTS = 32,            /* processes that may ask for a session at once */
    PSNAP_LARGE_BYTES = 128 * 1024, /* allocations from here on may be mappings of their own */
    PSNAP_RECORD_WORDS_MAX = 512,   /* no record is longer, but for DATA and GLOBALS */
    PSNAP_GAP = 1024,               /* plus 1 to RECORD_WORDS_MAX: so many words to pass over */
    PSNAP_HOIST_HEADER_WORDS = 2,   /* end, iterations */
    PSNAP_HOIST_ROWS_WORDS = 4,     /* end, iterations, words, begun */
    PSNAP_HOIST_REFS_MAX = PSNAP_RECORD_WORDS_MAX, /* of a hoisted loop */
    PSNAP_HOIST_GUARDS_MAX = 64,
    PSNAP_NEST_LEVELS_MAX = 8,    /* loops in loops; the innermost have no level */
    PSNAP_NEST_WORDS_MAX = 256,   /* of a nest's record */
    PSNAP_NEST_VALUES_MAX = 1024, /* with the record's words */
    PSNAP_NEST_STEPS_MAX = 1024,
    PSNAP_NEST_HEADER_WORDS = 2,     /* end, begun; then two for each level */
    PSNAP_NEST_STEP_SHIFT = 48,      /* of progress: a step, behind that iterations */
    PSNAP_NEST_ACCESSES = 1024 * 512 /* that a record has at most, but for an innermost loop's */
};

enum psnap_capture_operation {
#define PSNAP_OPERATION(NAME, text) PSNAP_OP_##NAME,
#include "formats/base/capture_abi.inc"
    PSNAP_OPERATION_COUNT
};

/* How a reference's addresses travel. */
enum psnap_ref_op {
    PSNAP_REF_NONE,   /* second half of a copy: its addresses travel with the first */
    PSNAP_REF_PLAIN,  /* address */
    PSNAP_REF_MASKED, /* address of lane 0, lane mask: first to last active lane */
    PSNAP_REF_PACKED, /* address, lane mask: as many lanes as bits set (expand, compress) */
    PSNAP_REF_GATHER, /* lane mask, then an address per lane: one access per active lane */
    PSNAP_REF_COPY,   /* destination, source, bytes; this ref loads, the next one stores */
    PSNAP_REF_FILL,   /* destination, bytes: 64-byte stores */
    PSNAP_REF_OP_COUNT
};

/* Words that a reference takes in a record; `op` is one of the enum. */
static inline uint32_t psnap_ref_words(uint32_t op, uint32_t lanes)
{
    static const uint8_t ref_words[] = {0, 1, 2, 2, 1, 3, 2};

    return ref_words[op] + (op == PSNAP_REF_GATHER ? lanes : 0u);
}

/* How a value of a nest is computed from those numbered a and b. */
enum psnap_value_op {
    PSNAP_VALUE_CONSTANT,   /* a: low half, b: high half */
    PSNAP_VALUE_RECURRENCE, /* a + iteration of the loop that it is of * b */
    PSNAP_VALUE_ADD,
    PSNAP_VALUE_MUL,
    PSNAP_VALUE_UDIV,  /* by 0: 0 */
    PSNAP_VALUE_TRUNC, /* a */
    PSNAP_VALUE_SEXT,  /* a, which has b bits */
    PSNAP_VALUE_UMAX,
    PSNAP_VALUE_UMIN,
    PSNAP_VALUE_SMAX, /* signed ones compare as many bits as the row has, */
    PSNAP_VALUE_SMIN,
    PSNAP_VALUE_EQ, /* and so do comparisons: 1 or 0 */
    PSNAP_VALUE_ULT,
    PSNAP_VALUE_ULE,
    PSNAP_VALUE_SLT,
    PSNAP_VALUE_SLE,
    PSNAP_VALUE_AND,
    PSNAP_VALUE_OR,
    PSNAP_VALUE_XOR,
    PSNAP_VALUE_OP_COUNT
};

/* What a nest does next. */
enum psnap_step_op {
    PSNAP_STEP_RUN, /* hoist a: value b of whole iterations, or once (b 0), then its first c pieces;
                       goes on with the next step */
    PSNAP_STEP_BRANCH,  /* to step b if value a is not 0, else to c */
    PSNAP_STEP_GOTO,    /* to step a */
    PSNAP_STEP_SET,     /* constant a becomes value b, until it is set again: in each iteration that
                           uses it, before that */
    PSNAP_STEP_COMPUTE, /* b values from a on */
    PSNAP_STEP_ENTER,   /* iteration of the level is 0; b values from a on are of its iterations; it
                           is in the loop that step c enters; the next step begins an iteration */
    PSNAP_STEP_AGAIN,   /* iteration of the level goes up by one; to the step behind ENTER a */
    PSNAP_STEP_OP_COUNT
};

/* Records in a ring that are no piece of a block: a header, and these words. */
enum psnap_event {
    PSNAP_EVENT_END,     /* never written */
    PSNAP_EVENT_ALLOC,   /* address, bytes, site address, number: memory was allocated; a large
                            allocation is announced in the control ring first: the number-th from 1,
                            else 0; there its thread is in place of the site */
    PSNAP_EVENT_IMAGE,   /* lowest, highest address of an image that is loaded (control ring) */
    PSNAP_EVENT_DATA,    /* bytes, then that many bytes, padded: part of a table (control ring) */
    PSNAP_EVENT_GLOBALS, /* count, then an address each: the globals of the table (control) */
    PSNAP_EVENT_MODULE,  /* pieces, sites: addresses; pieces, sites: counts; table is complete */
    PSNAP_EVENT_HEAP,    /* first address of the brk heap (control ring) */
    PSNAP_EVENT_REUSE,  /* count, 0, then for ring 1 and on how many words it has ever had: a module
                           is coming where another was; records before these are of that one */
    PSNAP_EVENT_THREAD, /* the same of the first rings, and the ring of a thread in place of 0: it
                           begins behind these */
    PSNAP_EVENT_COUNT
};

/*
 * The functions of a module, in a section of this name: for each a letter, its names (as in
 * profiles, the linkage name), each terminated, and a NUL. PSNAP_FUNCTION_OWN: it has a byte
 * in psnap_module.wanted, in their order, that says whether it is to tell the runtime
 * when it is entered and left. PSNAP_FUNCTION_INLINED: there is a copy of it in others.
 */
#define PSNAP_FUNCTIONS_SECTION "psnap_functions"
#define PSNAP_FUNCTION_OWN 'f'
#define PSNAP_FUNCTION_INLINED 'i'

/*
 * Where each module's description is, as an ELF note (so that linkers keep it): of type
 * PSNAP_CAPTURE_ABI, its contents are 8 bytes, the distance from the note's first byte.
 */
#define PSNAP_NOTE_SECTION ".note.psnap"
#define PSNAP_NOTE_NAME "psnapmd" /* 8 bytes with its end: no padding */

/* What a module's constructor hands to __psnap_register. All of it static. */
struct psnap_module {
    uint64_t table_bytes;
    const uint32_t *table;
    const unsigned char *pieces;
    const unsigned char *sites;
    void *const *globals;
    const char *abi;     /* PSNAP_CAPTURE_ABI_SYMBOL: does not link with another runtime */
    const char *command; /* the psnap program that compiled the module */
    uint64_t piece_count, site_count, global_count;
    unsigned char *wanted; /* a byte for each function of its own */
    const char *functions; /* as in PSNAP_FUNCTIONS_SECTION */
    uint64_t functions_bytes;
    uint64_t has_marks;       /* 1: it uses the marks of capture/roi.h */
    struct psnap_ring *early; /* records of its image's resolvers of ifuncs; NULL: it has none */
};

enum psnap_ring_state {
    PSNAP_RING_FREE = 0,
    PSNAP_RING_TAKEN = 1, /* being set up by its thread */
    PSNAP_RING_ACTIVE = 2,
    PSNAP_RING_FINISHED = 3, /* its thread has ended; the collector frees it */
    PSNAP_RING_EARLY = 4     /* of psnap_module.early: no thread's yet */
};

/* On cache lines of its own, and of the neighbour that processors fetch with it. */
#define PSNAP_APART __attribute__((aligned(128)))

/* The header of an open record that was passed over, and which its thread may still write. */
#define PSNAP_KEPT ((uint64_t)-PSNAP_RECORD_WORDS_MAX)

#define PSNAP_LIMIT_CHANGED ((uint64_t *)1)

/*
 * Instrumented code touches `cursor` and `limit` alone: the first two words.
 * They lie apart from what the collector looks at while it waits, which would take
 * their line away from the program for every record.
 */
struct psnap_ring {
    uint64_t *cursor PSNAP_APART;
    uint64_t *limit;
    uint64_t *data PSNAP_APART; /* the ring's words, as the program maps them */
    uint64_t *aside;            /* not NULL: the chunk's cursor, while nothing is wanted */
    uint64_t produced;
    uint32_t used_words[PSNAP_RING_CHUNKS]; /* of each chunk left behind, */
    uint64_t left[PSNAP_RING_CHUNKS];       /* and how many of all threads had been before */
    uint32_t state;                         /* enum psnap_ring_state */
    uint32_t thread;                        /* in the order of creation, 0 is the main one */
    uint64_t frame;                         /* stack pointer in its first instrumented frame */
    uint64_t stack_low, stack_high;         /* range that its stack may use */
    uint64_t local;                         /* address of a thread-local variable of ours ... */
    uint64_t local_low, local_high;         /* ... and the mapping that holds it */
    uint32_t reuses;                        /* by the owner: so many were before its chunk */
    uint32_t delays;                        /* by the owner: hand-overs that are left out */
    uint64_t creating; /* words that it had when its thread last made others, */
    uint32_t awaited;  /* and how many of these have not begun; UINT32_MAX: nobody knows */
    uint64_t consumed PSNAP_APART;      /* by the collector */
    uint32_t consumed_futex;            /* goes up with each chunk consumed */
    uint32_t producer_waiting;          /* the producer sleeps on consumed_futex */
    uint32_t begins[PSNAP_RING_CHUNKS]; /* by the collector: words that are not to be used */
};

/* Where the owner goes on in the chunk that it writes: an address in its own space. */
static inline uint64_t *psnap_ring_cursor(const struct psnap_ring *ring)
{
    for (;;) {
        uint64_t *aside = __atomic_load_n(&ring->aside, __ATOMIC_ACQUIRE);
        uint64_t *cursor = aside ? aside : __atomic_load_n(&ring->cursor, __ATOMIC_ACQUIRE);
        if (__atomic_load_n(&ring->aside, __ATOMIC_ACQUIRE) == aside)
            return cursor;
    }
}

/*
 * A process is there: the number of its thread, to which the kernel adds PSNAP_ALIVE_DIED
 * (FUTEX_OWNER_DIED) when it ends. `next` is an address in that process. capture/collect/alive.c
 */
struct psnap_alive {
    uint64_t next;
    uint32_t word; /* 0: it has not begun */
    uint32_t padding;
};

#define PSNAP_ALIVE_DIED 0x40000000u

static inline bool psnap_alive_has_begun(const struct psnap_alive *alive)
{
    return __atomic_load_n(&alive->word, __ATOMIC_SEQ_CST) != 0;
}

static inline bool psnap_alive_has_ended(const struct psnap_alive *alive)
{
    return __atomic_load_n(&alive->word, __ATOMIC_SEQ_CST) & PSNAP_ALIVE_DIED;
}

/* In ns of CLOCK_MONOTONIC; 0: there is none. formats/base/deadline.h */
struct psnap_deadline {
    int64_t at_ns;
};

struct psnap_session {
    uint32_t magic, abi;
    uint32_t collector_pid; /* known before the program uses the session */
    uint32_t program_pid;   /* of the process that attached; 0 before */
    uint32_t ring_count;    /* rings that there is memory for */
    uint32_t rings_used;    /* no ring from this one on has ever been taken */
    uint32_t doorbell;      /* futex: goes up when a chunk is left behind */
    uint32_t collector_waiting;
    uint32_t threads;       /* that have a ring, or had one */
    uint32_t closing;       /* program: 1 when its exit handlers wait for the collector */
    uint32_t closed;        /* futex, collector: 1 when its files are written, or it failed */
    uint32_t threads_lost;  /* threads that found no free ring */
    uint32_t threads_early; /* that ran code of a module before that was known */
    uint32_t forked_inside; /* program: 1: it was forked in a loop, by a signal handler */
    uint32_t copies;        /* further copies of the runtime in the process that are too many */
    uint32_t changes;       /* goes up when it changes what is wanted, or that anything is */
    uint32_t is_enough;     /* collector: the program goes on unrecorded */
    uint32_t is_quiet;      /* program: it is in a sandbox, and makes no system calls of ours */
    uint32_t unheard;       /* program: records of signal handlers that were lost for that */
    uint32_t has_regions;   /* program: it is recorded in parts only */
    uint64_t chunks_left;   /* program: chunks that threads have left behind */
    uint64_t words_early;   /* program: of records of resolvers of ifuncs that were too many */
    uint64_t regions;       /* program: times that the first region was begun */
    uint64_t roi_found;     /* program: bit i: there is a function of the i-th name of the list */
    uint64_t roi_inlined;   /* program: bit i: there is a copy of one in another function */
    uint64_t hooks;         /* program: where its runtime has a table for further copies of it */
    struct psnap_alive collector; /* collector: it is there */
    char program[1024]; /* path of the one that attached, known before its pid; may be empty */
};

/* A process that wants a session: a slot that it takes, fills and asks with. */
enum psnap_request_state {
    PSNAP_REQUEST_FREE = 0,
    PSNAP_REQUEST_TAKEN = 1,   /* being filled in, by the process in the bits above */
    PSNAP_REQUEST_ASKED = 2,   /* the hub's turn */
    PSNAP_REQUEST_SERVED = 3,  /* a collector is being started */
    PSNAP_REQUEST_GRANTED = 4, /* the session is /proc/COLLECTOR/fd/FD */
    PSNAP_REQUEST_REFUSED = 5  /* there will be none */
};

#define PSNAP_REQUEST_TAKEN_BY(pid) ((uint32_t)(pid) << 3 | PSNAP_REQUEST_TAKEN)
#define PSNAP_REQUEST_TAKER(state) (((state) & 7) == PSNAP_REQUEST_TAKEN ? (state) >> 3 : 0)

struct psnap_request {
    uint32_t state; /* futex, enum psnap_request_state */
    uint32_t pid;   /* who asks */
    uint32_t collector, fd;
};

/*
 * Where all processes of a recording find their sessions: one page of shared
 * memory, under PSNAP_ENV_SESSION. The first process takes the session that is
 * there; each further one (forked, exec'd, started by the program) asks for its own.
 * `magic`, `abi` and `refused` are where they are in every version.
 */
struct psnap_hub {
    uint32_t magic, abi;
    uint32_t refused_abi;             /* of a program that is of another version; 0: none */
    char refused[52];                 /* and its name */
    uint32_t pid;                     /* the process that serves */
    uint32_t doorbell;                /* futex: goes up when somebody asks */
    uint32_t first;                   /* process that has the first session, 0 before */
    uint32_t session_pid, session_fd; /* the first session is /proc/PID/fd/FD */
    uint32_t unrecorded;              /* processes that got no session */
    /* between psnap record and its collectors: */
    uint32_t is_closing; /* psnap record waits for the collectors of ended processes */
    uint32_t is_done;    /* futex: there are no more of these */
    uint32_t recorded;   /* further processes whose files are written */
    uint32_t failed;     /* and those that lost something: it has been said */
    uint32_t modules;    /* 1: there was a process with instrumented modules */
    uint32_t running;    /* processes that go on, with their collectors, when is_done is set */
    struct psnap_deadline deadline; /* when collectors are to end */
    uint32_t fd;                    /* of this page, in the process that serves, */
    uint64_t inode; /* and of the page: a /proc where it is not found is another's */
    struct psnap_alive server;
    struct psnap_request requests[PSNAP_REQUESTS];
};

#define PSNAP_RING_WORDS ((uint64_t)PSNAP_CHUNK_WORDS * PSNAP_RING_CHUNKS)
#define PSNAP_RING_HEADER_BYTES UINT64_C(4096)
#define PSNAP_RING_BYTES (PSNAP_RING_HEADER_BYTES + PSNAP_RING_WORDS * sizeof(uint64_t))
#define PSNAP_SESSION_HEADER_BYTES ((sizeof(struct psnap_session) + 4095) & ~(uint64_t)4095)
#define PSNAP_SESSION_BYTES(rings) (PSNAP_SESSION_HEADER_BYTES + (rings) * PSNAP_RING_BYTES)

/* Ring `index` of a session that is mapped up to there. */
static inline struct psnap_ring *psnap_session_ring(struct psnap_session *session, uint32_t index)
{
    return (struct psnap_ring *)(void *)((char *)session + PSNAP_SESSION_HEADER_BYTES +
                                         index * PSNAP_RING_BYTES);
}

/* Its words, in this process. */
static inline uint64_t *psnap_ring_words(struct psnap_ring *ring)
{
    return (uint64_t *)(void *)((char *)ring + PSNAP_RING_HEADER_BYTES);
}

#endif
