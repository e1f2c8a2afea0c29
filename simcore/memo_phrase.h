/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs as a memo notes them, and phrases of them (memo.h): where they begin, what is
 * recorded of them, and whether a stream follows one that is known.
 *
 * Phrases have to begin where their like began. An inner loop's entries are a run each, all as far
 * from the one before; where that is not so, another loop begins, or an iteration of the loop
 * around: that is a break of order 1. These in turn mostly are as far from each other; where not,
 * it is a break of order 2. A phrase begins at a break that is far from the last one of its order;
 * and, if the phrase in hand is long, at any break, or at any run far from one.
 */
#ifndef PSNAP_SIMCORE_MEMO_PHRASE_H
#define PSNAP_SIMCORE_MEMO_PHRASE_H

#include "simcore/memo_tier.h"

/* A run, counted from the line of its first access. */
struct noted {
    struct hierarchy *hierarchy;
    uint64_t longest, shortest; /* lines, in bytes */
    uint64_t base;
    uint16_t thread;
    struct memo_run *run;
    uint64_t addresses[MEMO_WIDTH_MAX];
};

bool noted_init(struct noted *noted, struct hierarchy *hierarchy); /* false: out of memory */
void noted_release(struct noted *noted);
/* False: the run does not stay together when addresses are renamed, or they are not. */
bool noted_set(struct noted *noted, const struct psnap_run *run);
uint64_t noted_hash(const struct noted *noted);

enum { PHRASE_ORDERS = 2 };

/* Addresses that come one after the other, mostly as far from each other. */
struct stride {
    uint64_t last;   /* the last address, */
    uint64_t move;   /* how far it was from the one before, */
    uint64_t steady; /* and how far they mostly are */
    uint32_t ref;
    uint64_t since; /* accesses since one that did not move so */
};

struct phrases {
    struct tier tier;
    enum { PHRASE_NONE, PHRASE_RECORD, PHRASE_FOLLOW } state;
    uint64_t accesses_min;         /* of a phrase that no break ends */
    struct memo_run *runs;         /* those that are recorded, */
    size_t bytes;                  /* so many of them */
    const struct outcome *outcome; /* that is followed, */
    const struct memo_run *next;   /* up to this one of its runs: */
    uint64_t since_begin;          /* accesses */
    struct stride breaks[PHRASE_ORDERS];
    /* a run that was put off: */
    struct psnap_access first[MEMO_WIDTH_MAX];
    int64_t strides[MEMO_WIDTH_MAX];
};

/* Phrases for the levels of a depth and all above. False: out of memory; release is legal. */
bool phrases_init(struct phrases *phrases, struct hierarchy *hierarchy, uint32_t depth);
void phrases_release(struct phrases *phrases);

/* A run comes; whether a phrase begins with it. */
bool phrases_advance(struct phrases *phrases, const struct psnap_run *run);
/* A phrase that is recorded ends, and is kept; or is dropped. */
void phrases_end(struct phrases *phrases);
void phrases_drop(struct phrases *phrases);
/* A phrase begins with a run: one that is known is followed, or it is recorded. */
void phrases_begin(struct phrases *phrases, const struct noted *noted);
/* Adds a run to the phrase that is recorded, if one is; false: it cannot be. */
bool phrases_record(struct phrases *phrases, const struct noted *noted);
/* Whether it is the next run of the phrase that is followed, if one is; then it is put off. */
bool phrases_follow(struct phrases *phrases, const struct noted *noted);
/* If the phrase that is followed is whole, has its outcome told. */
void phrases_tell(struct phrases *phrases, const struct memo_host *host);
/* A run that was put off, as it came or so that it touches the same lines; valid until the next
 * call. */
struct psnap_run phrases_rebuild(struct phrases *phrases, const struct memo_run *noted);

#endif
