/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The simulator's state, private to sim.c, which takes a stream, sim_group.c, which runs it,
 * sim_make.c, which lays machines out, and sim_read.c, which sums up what was counted.
 *
 * Accesses are counted by row for all machines together. A row of a machine of L levels has L
 * numbers of those that went on from a level, then L numbers of write-backs by the level that
 * evicted, charged to the access that made room. A TLB of T levels adds T numbers of accesses that
 * went on from a level, prefetchers add 3 L numbers of the lines that they brought in, and a
 * machine that is simulated in detail (detail.h) has all of its counts instead. The row of a
 * reference is its number up to REFS_DIRECT; those beyond get rows when they
 * first come, for a program may have many that no access names.
 */
#ifndef PSNAP_SIMCORE_SIM_H
#define PSNAP_SIMCORE_SIM_H

#include "simcore/detail.h"
#include "simcore/hierarchy.h"
#include "simcore/machine.h"
#include "simcore/memo.h"
#include "simcore/reduce.h"
#include "simcore/worker.h"

#define REFS_DIRECT 4096u /* enough for most programs, which then pay nothing for the rest */

enum { GROUPS = 2 };

struct counts {
    uint64_t *numbers; /* rows * width */
    uint32_t rows, room;
};

struct run {
    int group;
    const struct paths *paths; /* without caches where there is `detail` */
    struct detail *detail;
    uint32_t levels;
    size_t width; /* numbers in a row */
    size_t tlb;   /* where those of the TLB begin */
    size_t ahead; /* and those of the prefetchers, or of `detail`: counts of levels */
    struct counts views[PSNAP_VIEW_COUNT];
};

/* The row of an access i is that at i * step. */
struct rows {
    const uint32_t *at;
    size_t step;
};

static inline uint32_t row_at(struct rows rows, size_t i)
{
    return rows.at[i * rows.step];
}

struct sim {
    struct psnap_sink base;
    const struct psnap_program *program;
    struct psnap_sim_options options;
    bool counted[PSNAP_VIEW_COUNT];
    uint32_t rows[PSNAP_VIEW_COUNT][HIERARCHY_BLOCK]; /* of the block in hand */
    struct rows by[PSNAP_VIEW_COUNT];                 /* of it, there or elsewhere */
    struct counts seen[PSNAP_VIEW_COUNT];             /* accesses by row */
    struct group {
        struct sim *sim;
        struct hierarchy *hierarchy;
        struct reduce *reduce; /* runs are simulated by the line; NULL: they are not */
        struct memo *memo;     /* what is known of runs beforehand; NULL: nothing */
        bool is_out_of_memory;
    } groups[GROUPS];      /* of machines: the second is simulated by the worker */
    struct worker *worker; /* NULL: there is one group, or no thread to be had */
    bool takes_runs;
    struct {
        const struct psnap_access *block; /* n accesses, or */
        size_t n;
        const struct psnap_run *run; /* a run */
    } hand;                          /* what is simulated */
    uint32_t *far_rows; /* of the references from REFS_DIRECT on; PSNAP_NONE: no access so far */
    uint32_t far_room, far_count;
    uint64_t accesses;
    uint64_t threads[(UINT16_MAX + 1) / 64]; /* bit t: there were accesses of thread t */
    size_t run_count;
    struct run runs[];
};

/* The row of a reference; PSNAP_NONE: it has none so far. */
static inline uint32_t sim_row_of_ref(const struct sim *sim, uint32_t ref)
{
    return ref < REFS_DIRECT ? ref : sim->far_rows[ref - REFS_DIRECT];
}

/* sim_group.c: simulates what is in hand on the machines of a group, its context; the worker's job.
 */
void sim_run_group(void *context);
/* How a memo has runs of a group simulated and counted. */
struct memo_host sim_memo_host(struct group *group);

/* sim_make.c: the caches of all machines, in groups, and what runs can be simulated by the line on.
 * False: out of memory. */
bool sim_make_groups(struct sim *sim, const struct psnap_machine *machines, size_t n);
bool sim_plan_runs(struct sim *sim);

/* Simulates what was put off, before counts are read; what these say is the same before and after.
 * False: out of memory. */
bool sim_settle(const struct psnap_sink *sink);

#endif
