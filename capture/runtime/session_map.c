/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The memory of a session, as this process maps it: its header and ring 0 at once, every other
 * ring when a thread first takes it, for good. A program under a limit of address space, or one
 * that locks its memory, thus pays for the threads that it has.
 *
 * No file stays open for that: mremap() of no bytes of a shared mapping makes another mapping
 * of the same file from there on, here from the last page of a ring that is mapped already; what
 * is before the new one is given back.
 */
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ring.h"

enum { PAGE_BYTES = 4096, START_BYTES = PSNAP_SESSION_HEADER_BYTES + PSNAP_RING_BYTES };

uint32_t psnap_rt_ring_count;

static struct psnap_ring *rings[PSNAP_RINGS]; /* atomic; NULL: not mapped; 0 always is */
static struct psnap_ring *detached; /* of the parent's session, and ours now; NULL: none */

/* System calls, past what sanitizers put around them: to them this is no memory of the program. */
void *psnap_rt_map_shared(int fd, uint64_t bytes)
{
    return (void *)syscall(SYS_mmap, NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)0);
}

static void unmap(void *at, uint64_t bytes)
{
    syscall(SYS_munmap, at, bytes);
}

struct psnap_session *psnap_rt_map_session(int fd)
{
    struct psnap_session *session;
    struct stat about;
    uint64_t count;

    if (fstat(fd, &about) != 0 || (uint64_t)about.st_size < START_BYTES)
        return NULL;
    session = psnap_rt_map_shared(fd, START_BYTES);
    if (session == MAP_FAILED)
        return NULL;
    madvise(session, START_BYTES, MADV_DONTDUMP);
    count = ((uint64_t)about.st_size - PSNAP_SESSION_HEADER_BYTES) / PSNAP_RING_BYTES;
    psnap_rt_ring_count = count < PSNAP_RINGS ? (uint32_t)count : PSNAP_RINGS;
    return session;
}

void psnap_rt_unmap_session(struct psnap_session *session)
{
    unmap(session, START_BYTES);
}

struct psnap_ring *psnap_rt_enter_session(struct psnap_session *session)
{
    rings[0] = psnap_session_ring(session, 0);
    return rings[0];
}

struct psnap_ring *psnap_rt_ring(uint32_t index)
{
    return __atomic_load_n(&rings[index], __ATOMIC_ACQUIRE);
}

struct psnap_ring *psnap_rt_map_ring(uint32_t index)
{
    struct psnap_ring *ring;
    uint32_t below = index;
    uint64_t bytes;
    char *at;

    while (!psnap_rt_ring(below))
        below--;
    bytes = PAGE_BYTES + (index - below) * PSNAP_RING_BYTES;
    at = (char *)psnap_rt_ring(below) + PSNAP_RING_BYTES - PAGE_BYTES;
    at = (char *)syscall(SYS_mremap, at, 0ul, bytes, MREMAP_MAYMOVE, NULL);
    if (at == MAP_FAILED)
        return NULL;
    unmap(at, bytes - PSNAP_RING_BYTES);
    ring = (struct psnap_ring *)(void *)(at + bytes - PSNAP_RING_BYTES);
    ring->state = PSNAP_RING_TAKEN;
    __atomic_store_n(&rings[index], ring, __ATOMIC_RELEASE);
    return ring;
}

/* Private memory, all zero, in place of shared one. False when there is none. */
static bool replace(void *at, uint64_t bytes)
{
    return syscall(SYS_mmap, at, bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1,
                   (off_t)0) == (long)at;
}

/* A ring of zeros is no ring: who is about to take room in it, or waits for some, comes to the
 * runtime instead. */
bool psnap_rt_detach(struct psnap_ring *ring)
{
    detached = ring;
    return replace(ring, PSNAP_RING_BYTES);
}

bool psnap_rt_is_inside(void)
{
    const uint64_t *words = detached ? psnap_ring_words(detached) : NULL;

    for (uint64_t i = 0; words && i < PSNAP_RING_WORDS; i++)
        if (words[i])
            return true;
    return false;
}

void psnap_rt_leave_session(struct psnap_session *session)
{
    replace(session, PSNAP_SESSION_HEADER_BYTES); /* it may still be looked at */
    for (uint32_t i = 0; i < PSNAP_RINGS; i++) {
        if (rings[i] && rings[i] != detached)
            unmap(rings[i], PSNAP_RING_BYTES);
        rings[i] = NULL;
    }
}
