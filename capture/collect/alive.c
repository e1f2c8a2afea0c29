/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The list that Linux walks when a thread ends, setting FUTEX_OWNER_DIED in each word that holds
 * the thread's number (get_robust_list(2)). It takes the place of the C library's own list in this
 * thread, which is for robust mutexes: psnap has none.
 */
#include "capture/collect/alive.h"

#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct {
    uint64_t first; /* the addresses of entries; of this one at the end */
    long offset;    /* from an entry to its word */
    uint64_t pending;
} list = {0, offsetof(struct psnap_alive, word), 0};

static uint32_t owner; /* in a child by fork it is another, and the list another's */

void psnap_alive_begin(struct psnap_alive *alive)
{
    const uint32_t me = (uint32_t)syscall(SYS_gettid);

    if (owner != me)
        list.first = (uint64_t)&list;
    owner = me;
    syscall(SYS_set_robust_list, &list, sizeof list);
    alive->next = list.first;
    __atomic_store_n(&list.first, (uint64_t)alive, __ATOMIC_SEQ_CST);
    __atomic_store_n(&alive->word, me, __ATOMIC_SEQ_CST);
}

void psnap_alive_end(struct psnap_alive *alive)
{
    uint64_t *link = &list.first;

    while (*link != (uint64_t)alive && *link != (uint64_t)&list)
        link = &((struct psnap_alive *)(uintptr_t)*link)->next;
    if (*link == (uint64_t)alive)
        *link = alive->next;
    __atomic_store_n(&alive->word, PSNAP_ALIVE_DIED, __ATOMIC_SEQ_CST);
}
