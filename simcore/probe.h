/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Microbenchmarks: what this computer's caches, memory and operations cost one core. MACHINES.md
 * says what the figures mean. Nothing here prints; times are those of CLOCK_MONOTONIC.
 */
#ifndef PSNAP_SIMCORE_PROBE_H
#define PSNAP_SIMCORE_PROBE_H

#include "simcore/simcore.h"

/* A loop to be timed: `run` does so many steps, and begins where it ended before. */
struct probe_kernel {
    void (*run)(void *context, uint64_t steps);
    void *context;
    void (*prepare)(void *context); /* before each run, and not timed; may be NULL */
};

/* Of one step. */
struct probe_time {
    double cycles; /* of a chain of additions that was timed in turns with it */
    double seconds;
    double spread; /* of the cycles: from their first quartile to the third, relative */
    size_t runs;
};

#define PROBE_RUNS_MIN 5

/* Repeats short runs of the kernel for about so many seconds, and at least PROBE_RUNS_MIN times;
 * but from `limit` on (psnap_reals_now()) none but one, of one step where none was sized before. */
struct probe_time probe_measure(struct probe_kernel kernel, double seconds, double limit);

/* F(0) to F(15): a step of a kernel, unrolled. */
#define PROBE_REPEAT(F)                                                                            \
    F(0) F(1) F(2) F(3) F(4) F(5) F(6) F(7) F(8) F(9) F(10) F(11) F(12) F(13) F(14) F(15)

/* Steps of the kernels below are this many accesses or operations. */
#define PROBE_ACCESSES 16
#define PROBE_OPERATIONS 32
#define PROBE_SWEEP_BYTES 512 /* of probe_sweep */

/*
 * A working set, the front part of a buffer: lines of which each holds the address of the next
 * one, in one random cycle through all, and their offsets in another random order.
 */
struct probe_set {
    unsigned char *base;
    size_t bytes, line_bytes; /* bytes are whole steps of every kernel */
    size_t prepared_bytes;    /* of the buffer, which probe_prepare reads */
    uint32_t *order;          /* [bytes / line_bytes], offsets in bytes */
    void **at;                /* where a chase is */
    size_t position;          /* in bytes, or in `order` */
};

/* A buffer that begins where a huge page could, in such pages as the system gives any program. */
struct probe_buffer {
    unsigned char *base;
    size_t bytes;
    uint32_t *order; /* of its sets, which have it in turn */
    size_t mapped_bytes;
    void *mapped;
};
/* False: out of memory; release it all the same. */
bool probe_buffer_init(struct probe_buffer *buffer, size_t bytes, size_t line_bytes);
void probe_buffer_release(struct probe_buffer *buffer);
/* The part of the buffer, from 0 to 1, that is in huge pages by now. */
double probe_huge_share(const struct probe_buffer *buffer);

/* The first `bytes` of the buffer, rounded down to whole steps (and up to one). */
void probe_set_init(struct probe_set *set, const struct probe_buffer *buffer, size_t bytes,
                    size_t line_bytes);

/*
 * Reads the whole set and then so much of the buffer behind it that nearer caches hold that:
 * programs that run beside this one have taken lines of a shared cache meanwhile, and a slow chase
 * comes back to a line too late to keep it.
 */
void probe_prepare(void *set);

/* Kernels whose context is a set. */
void probe_chase(void *set, uint64_t steps);        /* loads that wait for each other */
void probe_random_loads(void *set, uint64_t steps); /* loads that do not, in random order */
void probe_word_loads(void *set, uint64_t steps);   /* the same, word after word */
void probe_sweep(void *set, uint64_t steps);        /* reads every byte, by the widest loads */

/* Decides by each byte of a set whether to branch, PROBE_ACCESSES a step. */
void probe_branches(void *set, uint64_t steps);

/* Touches PROBE_PAGES pages of the set a step, all of them new, and gives as many back that were
 * touched half a round ago: the system hands those out next, and no near cache has them. The set
 * is of twice as many pages, or a multiple of that. */
#define PROBE_PAGE_BYTES ((size_t)4096)
#define PROBE_PAGES 64
void probe_first_touches(void *set, uint64_t steps);

/*
 * The kernel of one kind of operation (PSNAP_OP_*): each waiting for the one before, or not. Its
 * run is NULL where there is nothing to wait for (branches, calls). `*share` is the part of a cycle
 * count of a step that one operation has.
 */
struct probe_kernel probe_operation(int operation, bool is_waiting, double *share);

#define PROBE_FIGURES_MAX 128

/* What a report has to say of how the figures came about. */
struct probe_notes {
    double seconds; /* that it took */
    struct probe_figure {
        char what[64];
        double spread; /* as struct probe_time has them */
        size_t runs;
    } figures[PROBE_FIGURES_MAX];
    size_t figure_count;
    bool is_short;     /* of time: figures of less than PROBE_RUNS_MIN runs, or none of OpenMP */
    int cpu;           /* that was measured; -1: could not stay on one */
    double huge_share; /* of the largest working set that was in huge pages */
    uint64_t set_bytes[PSNAP_LEVELS_MAX + 1]; /* working sets; 0: not measured; memory's is last,
                                                 behind those of level_count levels */
};

/* Told before each measurement; `done` from 0 to 1. */
struct probe_progress {
    void (*tell)(void *context, const char *what, double done);
    void *context;
};

/*
 * Adds clock, times, bandwidths and operations to a machine that has its levels (as
 * psnap_machine_host fills it), in about so many seconds, on the processor that this runs on. On a
 * busy one it takes longer, but not much beyond PROBE_LIMIT_SECONDS(seconds).
 */
#define PROBE_LIMIT_SECONDS(seconds) (2 * (seconds) + 10)
enum psnap_status probe_machine(struct psnap_machine *machine, double seconds,
                                struct probe_progress progress, struct probe_notes *notes,
                                struct psnap_error *error);

#endif
