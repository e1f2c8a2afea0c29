/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Resolvers of ifuncs, which run while their program is being relocated: before thread-local
 * storage has its values and, in a static program, before it is there. Code that is
 * instrumented then writes into a ring of the image's own, whose records become the thread's when
 * the image's modules are announced (session.c). All is hidden, so that no relocation is needed.
 * Expects Linux; without arch_prctl (x86-64) a static program's resolvers find no storage.
 */
#include "runtime.h"

#include <sys/syscall.h>

struct psnap_early __psnap_early;

#if defined(__x86_64__)
#    include <asm/prctl.h>

enum { STORAGE_BYTES = 65536, BLOCK_BYTES = 64 }; /* what is before and behind the thread pointer */

static long control(long code, const void *value)
{
    long result;

    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "0"(SYS_arch_prctl), "D"(code), "S"(value)
                     : "rcx", "r11", "memory");
    return result;
}

/* Until the C library makes the real storage there is some that has our ring alone. */
static bool has_storage(void)
{
    static char storage[STORAGE_BYTES + BLOCK_BYTES] __attribute__((aligned(64)));
    char *thread = NULL;
    long way;

    if (control(ARCH_GET_FS, &thread) != 0)
        return false;
    if (thread)
        return true;
    __asm__("movq __psnap_ring@gottpoff(%%rip), %0" : "=r"(way));
    thread = storage + STORAGE_BYTES;
    *(char **)thread = thread;
    return -way <= STORAGE_BYTES && control(ARCH_SET_FS, thread) == 0;
}
#else
static bool has_storage(void)
{
    return true;
}
#endif

void __psnap_resolving(void)
{
    struct psnap_ring *ring = &__psnap_early.ring;

    if (!has_storage() || __psnap_ring)
        return;
    if (!ring->data) {
        ring->state = PSNAP_RING_EARLY;
        ring->data = ring->cursor = __psnap_early.words;
        ring->limit = ring->data + sizeof __psnap_early.words / sizeof *ring->data;
    }
    __psnap_ring = ring;
}
