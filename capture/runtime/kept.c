/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the process keeps of what it has told, in private pages.
 *
 * For its children, whose collectors are told the same: what the control ring has carried about
 * images and modules, a list of (length, words of the record) that is only appended to and never
 * moves, so that a fork may come at any moment; and its latest allocations, so that memory it got
 * before a fork has its name, and its place, in the child's profile, too. These are a ring that is
 * written without a lock; neighbours that a thread gets from one site are one entry, as the
 * collector has them. What was freed stays: a later allocation of the same memory comes behind it.
 *
 * Modules that have been announced. A library that is closed and loaded again at the same place is
 * the module that it was; another one may come to lie where it was, and then the same addresses
 * mean other things (the REUSE event). Modules are told apart by a hash of their tables (FNV-1a).
 *
 * Limit: the latest ENTRIES allocations.
 */
#include "runtime.h"

#include <string.h>
#include <sys/mman.h>

/* A list of blocks. */
enum { BLOCK_WORDS = 16 << 10 }; /* at least */

struct block {
    struct block *next;
    uint64_t room, used; /* words */
    uint64_t words[];
};

struct list {
    struct block *first, *last;
};

/* Room for `words` words, which are there for others when they are added to the last block's
 * `used`; NULL when there is none. */
static uint64_t *list_room(struct list *list, uint64_t words)
{
    const uint64_t room = words > BLOCK_WORDS ? words : BLOCK_WORDS;
    struct block *block = list->last;

    if (block && block->room - block->used >= words)
        return block->words + block->used;
    block = psnap_rt_map(sizeof *block + room * sizeof *block->words);
    if (!block)
        return NULL;
    block->room = room;
    if (list->last)
        list->last->next = block;
    else
        list->first = block;
    list->last = block;
    return block->words;
}

static void list_add(struct list *list, uint64_t words)
{
    __atomic_store_n(&list->last->used, list->last->used + words, __ATOMIC_RELEASE);
}

/* ---- records of the control ring ---- */

static struct list journal;

bool psnap_rt_journal_add(const uint64_t *record, uint64_t words)
{
    uint64_t *room = list_room(&journal, 1 + words);

    if (!room)
        return false;
    room[0] = words;
    memcpy(room + 1, record, words * sizeof *record);
    list_add(&journal, 1 + words);
    return true;
}

void psnap_rt_journal_replay(void (*send)(const uint64_t *record, uint64_t words))
{
    for (const struct block *block = journal.first; block; block = block->next)
        for (uint64_t at = 0; at < block->used; at += 1 + block->words[at])
            send(block->words + at + 1, block->words[at]);
}

/* ---- modules ---- */

struct known {
    const unsigned char *pieces, *sites;
    uint64_t piece_count, site_count, hash;
};

static struct list modules;

static uint64_t hash_words(uint64_t hash, const void *data, uint64_t bytes)
{
    const uint32_t *words = data;

    for (uint64_t i = 0; i < bytes / sizeof *words; i++)
        hash = (hash ^ words[i]) * UINT64_C(0x100000001b3);
    return hash;
}

static bool overlap(const unsigned char *a, uint64_t a_bytes, const unsigned char *b,
                    uint64_t b_bytes)
{
    return a < b + b_bytes && b < a + a_bytes;
}

static bool touches(const struct known *a, const struct known *b)
{
    return overlap(a->pieces, a->piece_count, b->pieces, b->piece_count) ||
           overlap(a->sites, a->site_count, b->sites, b->site_count) ||
           overlap(a->pieces, a->piece_count, b->sites, b->site_count) ||
           overlap(a->sites, a->site_count, b->pieces, b->piece_count);
}

static bool is_same(const struct known *a, const struct known *b)
{
    return a->pieces == b->pieces && a->sites == b->sites && a->piece_count == b->piece_count &&
           a->site_count == b->site_count && a->hash == b->hash;
}

static void note(const struct known *module)
{
    enum { WORDS = sizeof *module / sizeof(uint64_t) };
    uint64_t *room = list_room(&modules, WORDS);

    if (room) { /* else it will be announced again */
        memcpy(room, module, sizeof *module);
        list_add(&modules, WORDS);
    }
}

/* The latest module that lies where this one does, or NULL. */
static const struct known *find_known(const struct known *this)
{
    const struct known *found = NULL;

    for (const struct block *block = modules.first; block; block = block->next) {
        const struct known *all = (const struct known *)(const void *)block->words;
        for (uint64_t i = 0; i < block->used * sizeof *block->words / sizeof *all; i++)
            if (touches(&all[i], this))
                found = &all[i];
    }
    return found;
}

bool psnap_rt_module_is_known(const struct psnap_module *module, bool *is_reuse)
{
    struct known this = {module->pieces, module->sites, module->piece_count, module->site_count,
                         UINT64_C(0xcbf29ce484222325)};
    const struct known *before;

    this.hash = hash_words(this.hash, module->table, module->table_bytes);
    this.hash =
        hash_words(this.hash, module->globals, module->global_count * sizeof *module->globals);
    before = find_known(&this);
    *is_reuse = before && !is_same(before, &this);
    if (before && !*is_reuse)
        return true;
    note(&this);
    return false;
}

/* ---- allocations ---- */

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
