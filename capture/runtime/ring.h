/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A thread's ring, for the files that write into it: ring.c (room for records, and the chunks they
 * go into) and ring_thread.c (which ring it is).
 */
#ifndef PSNAP_CAPTURE_RUNTIME_RING_H
#define PSNAP_CAPTURE_RUNTIME_RING_H

#include "runtime.h"

enum {
    PSNAP_RT_IDLE_WORDS = 2 * PSNAP_RECORD_WORDS_MAX,
    PSNAP_RT_SCRATCH_WORDS = 4096 /* no chunk is as long: so scratch is told apart */
};

extern _Thread_local uint64_t *psnap_rt_idle; /* where this thread writes what is not wanted */

/* ring.c: says where memory is from, whatever is wanted. */
void psnap_rt_tell_allocation(uint64_t address, uint64_t size_bytes, const unsigned char *site,
                              uint32_t thread);

/* Room in the chunk that is being written. NULL when a handler came in between, or it is full. */
uint64_t *psnap_rt_claim(struct psnap_ring *ring, uint64_t words);

/* ring_thread.c: the thread has no ring, or no more of the one it had: it writes where nobody
 * reads. Counted, if it had none. */
void psnap_rt_give_up(struct psnap_ring *ring);
/* Another copy of the runtime is to know, too. */
bool psnap_rt_add_copy(struct psnap_ring **ring_of_copy);
void psnap_rt_leave_scratch(struct psnap_ring *ring);
uint64_t *psnap_rt_map_idle(void); /* never NULL */

/* All of the thread's own ring, with signals blocked: the chunk that is to be
 * written is empty; it is complete. */
void psnap_rt_open_chunk(struct psnap_ring *ring);
void psnap_rt_leave_chunk(struct psnap_ring *ring);
/* The ring gets an empty chunk; `signals` is the mask to wait with. False when there will be
 * none. A handler may have got one in the meantime, or have forked: then it is another's ring. */
bool psnap_rt_renew_chunk(struct psnap_ring *ring, const sigset_t *signals);
/* A module has come where another was since the chunk was begun: no record goes into it any more.
 */
bool psnap_rt_is_outdated(const struct psnap_ring *ring);
/* What is wanted is recorded from here on. */
void psnap_rt_resume(struct psnap_ring *ring);
/* Whether it is: of a ring with a chunk, when its limit is reached while it is suspended, or has
 * changed. */
void psnap_rt_look(struct psnap_ring *ring);

/* A ring of the session, neither scratch nor empty. */
static inline bool psnap_rt_is_real(const struct psnap_ring *ring)
{
    return psnap_rt_session &&
           (const char *)ring->data == (const char *)ring + PSNAP_RING_HEADER_BYTES;
}

static inline bool psnap_rt_is_scratch(const struct psnap_ring *ring)
{
    return ring->limit == ring->data + PSNAP_RT_SCRATCH_WORDS;
}

static inline bool psnap_rt_has_chunk(const struct psnap_ring *ring)
{
    return ring->cursor || ring->aside;
}

static inline uint64_t psnap_rt_unread_chunks(const struct psnap_ring *ring)
{
    return ring->produced - __atomic_load_n(&ring->consumed, __ATOMIC_SEQ_CST);
}

/* Nobody reads any more, so that chunks may be written over. */
static inline bool psnap_rt_is_enough(void)
{
    const struct psnap_session *session = __atomic_load_n(&psnap_rt_session, __ATOMIC_RELAXED);
    return !session || __atomic_load_n(&session->is_enough, __ATOMIC_RELAXED);
}

#endif
