/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The collector's side of the shared memory: having it, and
 * how far each ring may be read. Decoding is the collector's.
 */
#ifndef PSNAP_CAPTURE_COLLECT_RINGS_H
#define PSNAP_CAPTURE_COLLECT_RINGS_H

#include <stdbool.h>

#include "formats/base/capture_abi.h"
#include "formats/base/status.h"

struct psnap_rings {
    struct psnap_session *session; /* NULL: none */
    int fd;                        /* the shared memory, owned; -1: none */
    uint32_t count;                /* rings that are mapped, with ring 0 */
    bool has_ended;                /* nothing will be written any more */
    uint32_t read_to[PSNAP_RINGS]; /* 1 + words read of a chunk that is read in parts, or 0 */
    uint32_t kept[PSNAP_RINGS][PSNAP_RING_CHUNKS]; /* 1 + place of a record kept in it; 0: none */
    uint64_t late;                 /* records that were closed when they had been passed over */
    uint32_t barrier_rings;        /* rings that are read up to `barrier` only; 0: none */
    uint32_t starting;             /* that of a thread that begins there; 0: none does */
    uint64_t started_at;           /* words that had been read of it */
    uint64_t barrier[PSNAP_RINGS]; /* in words that the ring has ever had */
};

/* The header of a record that is being written, in the middle of which instrumented code has
 * been called (a signal handler, a memcpy of the program's own), or that never will be. 0: its room
 * is taken, and has not been marked yet. */
static inline bool psnap_record_is_open(uint64_t header)
{
    return -header <= PSNAP_RECORD_WORDS_MAX;
}

/* This process's sign of life in shared memory (struct psnap_alive): the kernel takes it away when
 * the process ends, however it does. Programs look at it from any namespace, and in a sandbox. */

/* From now on, until this thread ends or psnap_alive_end. Always of the same thread, best the first
 * one. The memory stays where it is meanwhile. */
void psnap_alive_begin(struct psnap_alive *alive);

/* Before its memory goes. */
void psnap_alive_end(struct psnap_alive *alive);

/* New shared memory, as `rings->fd`. False on failure, with `error` filled. */
bool psnap_rings_create(struct psnap_rings *rings, struct psnap_error *error);
/* That of a program, which this process inherited as `fd` (owned, on failure too). */
bool psnap_rings_adopt(struct psnap_rings *rings, int fd, struct psnap_error *error);
void psnap_rings_release(struct psnap_rings *rings);

/* Rings that have ever been in use, and ring 0. */
uint32_t psnap_rings_used(const struct psnap_rings *rings);

/* Whether the header of ring `index` is one that a runtime can have written. */
bool psnap_rings_is_whole(const struct psnap_rings *rings, uint32_t index);

/* The words of the chunk of ring `index` that comes next, and how many there are: of one that
 * was left behind, of one that its owner is writing. */
uint64_t *psnap_rings_chunk(const struct psnap_rings *rings, uint32_t index);
uint64_t psnap_ring_left_words(const struct psnap_ring *ring);
uint64_t psnap_ring_open_words(const struct psnap_ring *ring);
/* Returns whether the thread has left the next chunk to be read. */
bool psnap_ring_is_left(const struct psnap_ring *ring);
/* Returns how many chunks of the session were left before that chunk; UINT64_MAX: it was not left.
 */
uint64_t psnap_ring_left(const struct psnap_ring *ring);
/* Where that chunk begins, in words. */
uint32_t psnap_rings_begin(const struct psnap_rings *rings, uint32_t index);
/* Keeps an open record of that chunk that was passed over: its thread may go on to write it. */
void psnap_rings_keep(struct psnap_rings *rings, uint32_t index, uint64_t *record);
/* Records that were written on after they had been passed over. */
uint64_t psnap_rings_late(const struct psnap_rings *rings);
/* Gives the chunk, which has been read, back to its owner, wiped; a record that is kept, and what
 * is in front of that, stay until the record has been closed. */
void psnap_rings_give_back(struct psnap_rings *rings, uint32_t index);

/* Words of that chunk that may be read; 0: none, or none new. *is_part: it goes on behind them. */
uint64_t psnap_rings_readable(const struct psnap_rings *rings, uint32_t index, bool *is_part);
/* There is something to read in ring `index`, beyond an open record if that is where we are. */
bool psnap_rings_is_ready(const struct psnap_rings *rings, uint32_t index);
/* Nothing more will come of the records that are open in this ring: its thread, or the program, has
 * ended, or its thread waits for us and can have no chunk before. */
bool psnap_rings_is_final(const struct psnap_rings *rings, uint32_t index);
/* Words of ring `index` that have ever been read, parts of chunks included. */
uint64_t psnap_rings_words_read(const struct psnap_rings *rings, uint32_t index);

/* Sets the barrier that the REUSE or THREAD event at `at` asks for; returns the event's words, 0 if
 * it cannot be one. */
uint64_t psnap_rings_set_barrier(struct psnap_rings *rings, const uint64_t *at, uint64_t words);
/* There is something before the barrier that may be read; if not, it is gone. */
bool psnap_rings_is_held(struct psnap_rings *rings);

#endif
