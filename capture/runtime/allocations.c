/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The program's latest allocations, kept for children: memory that a process
 * got before a fork has its name, and its place, in the child's profile, too.
 * A ring of private pages, written without a lock; neighbours that a thread
 * gets from one site are one entry, as the collector has them. What was freed
 * stays: a later allocation of the same memory comes behind it.
 *
 * Limit: the latest ENTRIES of them.
 */
#include "runtime.h"

#include <sys/mman.h>

/* Below 2 MiB: the kernel aligns larger mappings to huge pages, which leaves holes of random size
 * where the program's next mappings go. */
enum { ENTRIES = 1 << 15, NEAR_BYTES = 256 };

struct entry {
    uint64_t address, size_bytes;
    const unsigned char *site; /* NULL while it is being written */
    uint64_t thread;
};

static struct entry *entries;                /* atomic */
static uint64_t count;                       /* atomic; of all that were ever written */
static _Thread_local uint64_t latest_number; /* 1 + that of this thread's latest entry, or 0 */

static struct entry *make_entries(void)
{
    struct entry *made, *old = NULL;

    made = psnap_rt_map(ENTRIES * sizeof *made);
    if (!made)
        return NULL;
    if (__atomic_compare_exchange_n(&entries, &old, made, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE))
        return made;
    munmap(made, ENTRIES * sizeof *made);
    return old;
}

/* Whether the entry is this thread's latest, of that site, and ends or begins near by; then it
 * grows. Entries that are about to be written over are left alone. */
static bool extend(struct entry *all, uint64_t address, uint64_t size_bytes,
                   const unsigned char *site)
{
    const uint64_t number = latest_number - 1;
    struct entry *entry = &all[number % ENTRIES];
    uint64_t low = address, high = address + size_bytes;

    if (!latest_number || __atomic_load_n(&count, __ATOMIC_RELAXED) - number > ENTRIES / 2 ||
        entry->site != site || high + NEAR_BYTES < entry->address ||
        low > entry->address + entry->size_bytes + NEAR_BYTES)
        return false;
    low = low < entry->address ? low : entry->address;
    if (high < entry->address + entry->size_bytes)
        high = entry->address + entry->size_bytes;
    entry->address = low;
    entry->size_bytes = high - low;
    return true;
}

void psnap_rt_note_allocation(uint64_t address, uint64_t size_bytes, const unsigned char *site,
                              uint32_t thread, bool is_alone)
{
    struct entry *all = __atomic_load_n(&entries, __ATOMIC_ACQUIRE), *entry;
    uint64_t number;

    if (!all && !(all = make_entries()))
        return;
    if (!is_alone && extend(all, address, size_bytes, site))
        return;
    number = __atomic_fetch_add(&count, 1, __ATOMIC_RELAXED);
    latest_number = is_alone ? 0 : number + 1;
    entry = &all[number % ENTRIES];
    __atomic_store_n(&entry->site, NULL, __ATOMIC_RELAXED);
    entry->address = address;
    entry->size_bytes = size_bytes;
    entry->thread = thread;
    __atomic_store_n(&entry->site, site, __ATOMIC_RELEASE);
}

void psnap_rt_repeat_allocations(void (*put)(uint64_t address, uint64_t size_bytes,
                                             const unsigned char *site, uint32_t thread))
{
    const uint64_t end = count;

    for (uint64_t i = end > ENTRIES ? end - ENTRIES : 0; i < end; i++) {
        const struct entry *entry = &entries[i % ENTRIES];
        if (entry->site)
            put(entry->address, entry->size_bytes, entry->site, (uint32_t)entry->thread);
    }
}
