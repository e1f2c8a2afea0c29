/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A number of 32 bits, its cell, for each line that there is: a table of pages of 16 lines, as
 * neighbours are touched together, open addressing, and the cells of a page one after the other.
 * A page takes 64 bytes, its entry 16: a line 5 at best, where formats/base/map.h has 16 at least.
 */
#ifndef PSNAP_PREDICT_REUSE_TABLE_H
#define PSNAP_PREDICT_REUSE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TABLE_PAGE 16 /* lines */
#define TABLE_CELLS_MAX (UINT32_C(1) << 30)

struct table_entry {
    uint64_t page;  /* line / TABLE_PAGE */
    uint32_t cells; /* first of its cells; 0: the entry is free */
};

struct table {
    struct table_entry *entries;
    uint32_t entry_room, page_count; /* a power of two, at least twice the pages */
    uint32_t *cells; /* TABLE_PAGE for each page, 0 at first; those of page 0 are nobody's */
    size_t cell_room, cell_max;
};

bool table_init(struct table *table); /* false: out of memory */
void table_release(struct table *table);
void table_clear(struct table *table); /* no lines again; keeps its memory */

static inline uint32_t table_entry_of(const struct table *table, uint64_t page)
{
    const uint64_t spread = page * UINT64_C(0x9e3779b97f4a7c15);

    return (uint32_t)(spread >> 32) & (table->entry_room - 1);
}

/* The entry that has a page, or a free one. */
static inline struct table_entry *table_entry(const struct table *table, uint64_t page)
{
    uint32_t at = table_entry_of(table, page);

    while (table->entries[at].cells && table->entries[at].page != page)
        at = (at + 1) & (table->entry_room - 1);
    return &table->entries[at];
}

/* Which of the cells is a line's; 0: it has none. */
static inline uint32_t table_find(const struct table *table, uint64_t line)
{
    const uint32_t cells = table_entry(table, line / TABLE_PAGE)->cells;

    return cells ? cells + (uint32_t)(line % TABLE_PAGE) : 0;
}

/* No page can be added. */
static inline bool table_is_full(const struct table *table)
{
    return ((size_t)table->page_count + 2) * TABLE_PAGE > table->cell_max;
}

/* The first cell of a new page; 0: out of memory, or too many lines. */
uint32_t table_add_page(struct table *table, uint64_t page);

/* As table_find(), made if there is none; 0: as above. */
static inline uint32_t table_add(struct table *table, uint64_t line)
{
    uint32_t cells = table_entry(table, line / TABLE_PAGE)->cells;

    if (!cells)
        cells = table_add_page(table, line / TABLE_PAGE);
    return cells ? cells + (uint32_t)(line % TABLE_PAGE) : 0;
}

/* pages[i]: the page that cells from i * TABLE_PAGE on are of, i from 1 to page_count. */
void table_list_pages(const struct table *table, uint64_t *pages);

#endif
