/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The outcome of runs that meet caches in a state that these were in before, some lines further on:
 * it is known, and need not be simulated again.
 *
 * Move all lines of caches by the same number of their longest lines, and all accesses that come
 * too: sets are chosen by the last bits of a line's number, so they only change places in a circle,
 * and the same accesses hit, the same lines, moved, are asked of the next level, and the cache ends
 * in the same state, moved. So a memo records a run's outcome with the state that it began in, both
 * counted from the line of the run's first access, the base. Where the same run meets the same
 * state again, the memo tells the outcome: it puts the caches into the state that the outcome ended
 * in, adds what was counted, and asks the next levels what they were asked, in the same order. A
 * loop nest's inner loops meet the states of the iterations before once a cache is full of their
 * lines. Runs and states are compared whole, not by their hashes alone: nothing is guessed.
 *
 * There are two tiers of outcomes. One is of single runs and the first levels, which are small. The
 * other is of phrases, some hundred thousand accesses, and of as many levels as are small beside
 * them. Whether a phrase comes again is not known before its end; but its first run and the caches'
 * state then say which one to expect. While runs are those of that phrase nothing is simulated at
 * all. If one is not, those before it, of which the outcome has a copy, are simulated then.
 *
 * That simulation need not do again what only moved is from C. Morelli and J. Reineke, "Warping
 * cache simulation of polyhedral programs" (PLDI 2022), who compare hierarchies from one round of a
 * loop to the next; that outcomes are kept by state from E. Schnarr and J. Larus, "Fast
 * out-of-order processor simulation using memoization" (ASPLOS 1998). Here nothing needs to know
 * the loops: states are found again across loops and time steps.
 */
#ifndef PSNAP_SIMCORE_MEMO_H
#define PSNAP_SIMCORE_MEMO_H

#include "simcore/hierarchy.h"

enum {
    MEMO_REFS = 4096,      /* references of runs are below */
    MEMO_WIDTH_MAX = 1024, /* accesses of a run's repetition */
    MEMO_PLAIN_MAX = 256   /* accesses that are no run, but may be between two of a phrase */
};

struct memo;

/* Who simulates, and counts. */
struct memo_host {
    void *context;
    /* Simulates a run, block after block by memo_block(). False: out of memory. */
    bool (*simulate)(void *context, const struct psnap_run *run);
    /* Counts what became of n accesses of a thread in all levels; their references are
     * refs[i * step]. */
    void (*count)(void *context, uint16_t thread, const uint32_t *refs, size_t step, size_t n);
    /* Adds misses and write-backs of a level to those of a thread and a reference. */
    void (*add)(void *context, uint16_t thread, const struct level *level, uint32_t ref,
                uint64_t misses, uint64_t write_backs);
};

/* For a hierarchy whose levels are exact LRU, without prefetchers, for one core. NULL: its first
 * levels are not all packed; or out of memory. */
struct memo *memo_new(struct hierarchy *hierarchy, const struct memo_host *host);
void memo_free(struct memo *memo); /* NULL is legal */

/* Takes a run without columns, all of one thread, of references below MEMO_REFS and at most
 * MEMO_WIDTH_MAX accesses a repetition. Other accesses, up to MEMO_PLAIN_MAX of them, are a run of
 * one repetition, if memo_is_in_phrase(). False: out of memory. */
bool memo_put(struct memo *memo, const struct psnap_run *run);
bool memo_is_in_phrase(const struct memo *memo);
/* Simulates what is put off, before counts are read. False: out of memory. */
bool memo_settle(struct memo *memo);
/* No phrase goes on, before anything else is simulated on the hierarchy. False: out of memory. */
bool memo_interrupt(struct memo *memo);

/* As hierarchy_run(), of accesses of one thread, and has it counted. */
bool memo_block(struct memo *memo, const struct psnap_access *block, size_t n);

#endif
