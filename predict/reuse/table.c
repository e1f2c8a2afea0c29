/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of lines as it grows: entries by doubling when half of them are taken, cells page by
 * page.
 */
#include "predict/reuse/table.h"

#include <stdlib.h>
#include <string.h>

#include "formats/base/room.h"

enum { PAGE = TABLE_PAGE, FIRST_ENTRIES = 64 };

bool table_init(struct table *table)
{
    *table = (struct table){.entry_room = FIRST_ENTRIES, .cell_max = TABLE_CELLS_MAX};
    table->entries = calloc(table->entry_room, sizeof *table->entries);
    table->cells = psnap_with_room(NULL, &table->cell_room, PAGE, sizeof *table->cells);
    if (table->cells)
        memset(table->cells, 0, PAGE * sizeof *table->cells);
    return table->entries && table->cells;
}

void table_release(struct table *table)
{
    free(table->entries);
    free(table->cells);
}

void table_clear(struct table *table)
{
    memset(table->entries, 0, table->entry_room * sizeof *table->entries);
    table->page_count = 0;
}

static bool grow_entries(struct table *table)
{
    struct table_entry *old = table->entries;
    const uint32_t room = table->entry_room;

    if (room > UINT32_MAX / 2)
        return false;
    table->entries = calloc((size_t)2 * room, sizeof *old);
    if (!table->entries) {
        table->entries = old;
        return false;
    }
    table->entry_room = 2 * room;
    for (uint32_t i = 0; i < room; i++)
        if (old[i].cells)
            *table_entry(table, old[i].page) = old[i];
    free(old);
    return true;
}

uint32_t table_add_page(struct table *table, uint64_t page)
{
    const size_t cells = ((size_t)table->page_count + 1) * PAGE;
    uint32_t *room = table_is_full(table) ? NULL
                                          : psnap_with_room(table->cells, &table->cell_room,
                                                            cells + PAGE, sizeof *room);

    if (!room)
        return 0;
    table->cells = room;
    if (2 * (table->page_count + 1) > table->entry_room && !grow_entries(table))
        return 0;
    memset(&table->cells[cells], 0, PAGE * sizeof table->cells[0]);
    *table_entry(table, page) = (struct table_entry){page, (uint32_t)cells};
    table->page_count++;
    return (uint32_t)cells;
}

void table_list_pages(const struct table *table, uint64_t *pages)
{
    for (uint32_t i = 0; i < table->entry_room; i++)
        if (table->entries[i].cells)
            pages[table->entries[i].cells / PAGE] = table->entries[i].page;
}
