/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The shared memory of a session: made by the collector, or by a program that
 * starts a collector of its own and hands it down. As many rings as limits of
 * address space and file size leave room for, beside what the collector itself needs.
 * Expects Linux: memfd.
 */
#include "capture/collect/rings.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "capture/collect/alive.h"

#define SPARE_BYTES ((size_t)32 << 20)

static bool map(struct psnap_rings *rings, uint32_t count)
{
    void *memory =
        mmap(NULL, PSNAP_SESSION_BYTES(count), PROT_READ | PROT_WRITE, MAP_SHARED, rings->fd, 0);

    if (memory == MAP_FAILED)
        return false;
    rings->session = memory;
    rings->count = count;
    return true;
}

/* Whether the collector has address space left for what it does with them: its own allocations and
 * the stacks of its threads. */
static bool has_spare(void)
{
    void *spare = mmap(NULL, SPARE_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return spare != MAP_FAILED && munmap(spare, SPARE_BYTES) == 0;
}

static void unmap(struct psnap_rings *rings)
{
    munmap(rings->session, PSNAP_SESSION_BYTES(rings->count));
    rings->session = NULL;
}

bool psnap_rings_create(struct psnap_rings *rings, struct psnap_error *error)
{
    rings->fd = memfd_create(PSNAP_SESSION_NAME, MFD_CLOEXEC);
    for (uint32_t count = PSNAP_RINGS; count >= PSNAP_RINGS_LEAST && rings->fd >= 0; count /= 2)
        if (ftruncate(rings->fd, (off_t)PSNAP_SESSION_BYTES(count)) == 0 && map(rings, count)) {
            if (has_spare() || count / 2 < PSNAP_RINGS_LEAST)
                break;
            unmap(rings);
        }
    if (!rings->session) {
        psnap_error_system(error, errno, "cannot create shared memory");
        return false;
    }
    rings->session->magic = PSNAP_CAPTURE_MAGIC;
    rings->session->abi = PSNAP_CAPTURE_ABI;
    rings->session->ring_count = rings->count;
    rings->session->collector_pid = (uint32_t)getpid();
    psnap_alive_begin(&rings->session->collector);
    return true;
}

/* The first three fields are where they are in every version: a program of another one sees that
 * its collector was here and has gone. */
static uint32_t read_ring_count(int fd, struct psnap_error *error)
{
    const uint32_t me = (uint32_t)getpid();
    struct psnap_session head;
    struct stat about;
    const bool is_session =
        pread(fd, &head, sizeof head, 0) == sizeof head && head.magic == PSNAP_CAPTURE_MAGIC;
    const bool is_ours = is_session && head.abi == PSNAP_CAPTURE_ABI;

    if (!is_session ||
        (is_ours && (head.ring_count < PSNAP_RINGS_LEAST || head.ring_count > PSNAP_RINGS ||
                     fstat(fd, &about) != 0 ||
                     (uint64_t)about.st_size != PSNAP_SESSION_BYTES(head.ring_count))))
        psnap_error_set(error, PSNAP_ERROR_USAGE, "descriptor %d is not a recording", fd);
    else if (pwrite(fd, &me, sizeof me, offsetof(struct psnap_session, collector_pid)) !=
             (ssize_t)sizeof me)
        psnap_error_system(error, errno, "cannot write to the recording");
    else if (!is_ours)
        psnap_error_set(error, PSNAP_ERROR_VERSION,
                        "the program was compiled for capture ABI %" PRIu32 ", this is %d",
                        head.abi, PSNAP_CAPTURE_ABI);
    else
        return head.ring_count;
    return 0;
}

bool psnap_rings_adopt(struct psnap_rings *rings, int fd, struct psnap_error *error)
{
    uint32_t count;

    rings->fd = fd;
    count = read_ring_count(fd, error);
    if (!count)
        return false;
    if (!map(rings, count)) {
        psnap_error_system(error, errno, "cannot map the shared memory");
        return false;
    }
    __atomic_store_n(&rings->session->collector_pid, (uint32_t)getpid(), __ATOMIC_RELEASE);
    psnap_alive_begin(&rings->session->collector);
    return true;
}

void psnap_rings_release(struct psnap_rings *rings)
{
    if (rings->session) {
        psnap_alive_end(&rings->session->collector);
        munmap(rings->session, PSNAP_SESSION_BYTES(rings->count));
    }
    if (rings->fd >= 0)
        close(rings->fd);
    rings->session = NULL;
    rings->fd = -1;
}
