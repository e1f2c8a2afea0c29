/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pages in a hash table with open addressing; each with a bit for each of its 64 lines, and its
 * number in the order of first touches. An access that crosses into another page or line counts as
 * one of the first.
 */
#include "predict/amm/pages.h"

#include <stdbool.h>
#include <stdlib.h>

#include "formats/base/rng.h"
#include "formats/base/room.h"

enum { FIRST_TABLE = 1024, RECENT = 256 };

struct page {
    uint64_t number, lines; /* lines 0: the entry is free */
    uint64_t order;
};

struct pages {
    struct psnap_sink base;
    const struct psnap_program *program;
    struct page *table;
    size_t size, count;            /* size is a power of two */
    struct page *recent[RECENT];   /* by the low bits of numbers; NULL: none */
    struct pages_touched *touched; /* by reference */
    size_t touched_room;
    uint32_t touched_count;
};

static struct page *slot_of(struct page *table, size_t size, uint64_t number)
{
    size_t i = psnap_rng_mix(number + 1) & (size - 1);

    while (table[i].lines && table[i].number != number)
        i = (i + 1) & (size - 1);
    return &table[i];
}

static bool grow(struct pages *pages)
{
    const size_t size = 2 * pages->size;
    struct page *table = calloc(size, sizeof *table);

    if (!table)
        return false;
    for (size_t i = 0; i < pages->size; i++)
        if (pages->table[i].lines)
            *slot_of(table, size, pages->table[i].number) = pages->table[i];
    free(pages->table);
    pages->table = table;
    pages->size = size;
    for (size_t i = 0; i < RECENT; i++)
        pages->recent[i] = NULL;
    return true;
}

/* The entry of a page, which is free at its first touch. NULL: out of memory. */
static struct page *page_of(struct pages *pages, uint64_t number)
{
    struct page **recent = &pages->recent[number % RECENT];

    if (*recent && (*recent)->number == number)
        return *recent;
    if (2 * pages->count >= pages->size && !grow(pages))
        return NULL;
    *recent = slot_of(pages->table, pages->size, number);
    return *recent;
}

static bool touch(struct pages *pages, struct pages_touched *touched, uint64_t address)
{
    const uint64_t line = UINT64_C(1) << (address % PAGES_BYTES / PAGES_LINE_BYTES);
    struct page *page = page_of(pages, address / PAGES_BYTES);

    if (!page)
        return false;
    if (page->lines & line)
        return true;
    if (!page->lines) {
        *page = (struct page){.number = address / PAGES_BYTES, .order = pages->count++};
        touched->pages++;
    }
    page->lines |= line;
    touched->fresh += pages->count - page->order <= PAGES_STILL_NEAR;
    return true;
}

static bool fit_touched(struct pages *pages)
{
    struct pages_touched *touched = psnap_with_room(pages->touched, &pages->touched_room,
                                                    pages->program->ref_count, sizeof *touched);

    if (!touched)
        return false;
    pages->touched = touched;
    while (pages->touched_count < pages->program->ref_count)
        touched[pages->touched_count++] = (struct pages_touched){0};
    return true;
}

static enum psnap_status put(struct psnap_sink *self, const struct psnap_access *block, size_t n,
                             struct psnap_error *error)
{
    struct pages *pages = (struct pages *)self;
    bool fits = fit_touched(pages);

    for (size_t i = 0; i < n && fits; i++)
        fits = touch(pages, &pages->touched[block[i].ref], block[i].address);
    return fits ? PSNAP_OK
                : psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for touched pages");
}

static void free_pages(struct psnap_sink *self)
{
    struct pages *pages = (struct pages *)self;

    free(pages->table);
    free(pages->touched);
    free(pages);
}

struct psnap_sink *pages_new(const struct psnap_program *program)
{
    static const struct psnap_sink_ops ops = {.put = put, .free = free_pages};
    struct pages *pages = calloc(1, sizeof *pages);

    if (!pages)
        return NULL;
    pages->base.ops = &ops;
    pages->program = program;
    pages->size = FIRST_TABLE;
    pages->table = calloc(FIRST_TABLE, sizeof *pages->table);
    if (pages->table)
        return &pages->base;
    free_pages(&pages->base);
    return NULL;
}

struct pages_touched pages_of(const struct psnap_sink *sink, uint32_t ref)
{
    const struct pages *pages = (const struct pages *)sink;

    return ref < pages->touched_count ? pages->touched[ref] : (struct pages_touched){0};
}
