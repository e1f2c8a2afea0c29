/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rows by their ids and names.
 */
#include "predict/reuse/cmd_reuse_names.h"

#include <stdlib.h>
#include <string.h>

#include "formats/base/room.h"

uint32_t names_add(struct names *names, const char *id, const char *name)
{
    uint64_t key = psnap_map_hash(psnap_map_hash(0, id), name), *number;
    struct names_row row;
    size_t known;

    for (; (known = (size_t)psnap_map_get(&names->numbers, key)) != 0; key++)
        if (!strcmp(names->rows[known - 1].id, id) && !strcmp(names->rows[known - 1].name, name))
            return (uint32_t)known - 1;
    number = psnap_map_put(&names->numbers, key);
    if (!number ||
        !psnap_make_room(&names->rows, &names->room, names->count + 1, sizeof *names->rows))
        return PSNAP_NONE;
    row = (struct names_row){strdup(id), strdup(name)};
    if (!row.id || !row.name) {
        free(row.id);
        free(row.name);
        return PSNAP_NONE;
    }
    names->rows[names->count] = row;
    *number = ++names->count;
    return (uint32_t)names->count - 1;
}

enum psnap_status names_map(struct names *names, uint32_t of, uint32_t row)
{
    uint32_t *room;

    if (of < names->of_count && names->row_of[of] != PSNAP_NONE)
        return names->row_of[of] == row ? PSNAP_OK : PSNAP_ERROR_VALUE;
    room = psnap_with_room(names->row_of, &names->of_room, of + (size_t)1, sizeof *room);
    if (!room)
        return PSNAP_ERROR_MEMORY;
    names->row_of = room;
    for (; names->of_count <= of; names->of_count++)
        room[names->of_count] = PSNAP_NONE;
    room[of] = row;
    return PSNAP_OK;
}

void names_release(struct names *names)
{
    for (size_t i = 0; i < names->count; i++) {
        free(names->rows[i].id);
        free(names->rows[i].name);
    }
    free(names->rows);
    free(names->numbers.slots);
    free(names->row_of);
    *names = (struct names){0};
}

/* ----------------------------------------------------------------------- rows */

/* sums[row]: the distances of a row, NULL where it has none. False: out of memory. */
static bool add_up(const struct names *names, const struct measure_view *view,
                   struct psnap_distances **sums)
{
    for (uint32_t i = 0; i < view->count; i++) {
        const uint32_t row = i < names->of_count ? names->row_of[i] : PSNAP_NONE;

        if (!view->rows[i].known || row == PSNAP_NONE)
            continue;
        if (!sums[row])
            sums[row] = psnap_distances_new();
        if (!sums[row] || !psnap_distances_add_all(sums[row], view->rows[i].known))
            return false;
    }
    return true;
}

enum psnap_status names_add_rows(const struct names *names, enum psnap_scope scope,
                                 const struct measure_view *view, struct reuse_rows *rows,
                                 struct psnap_error *error)
{
    struct psnap_distances **sums = calloc(names->count + 1, sizeof *sums);
    const size_t first = rows->count;
    bool fits = sums && add_up(names, view, sums);

    for (size_t i = 0; i < names->count && fits; i++) {
        const struct reuse_row row = {.scope = scope,
                                      .index = (uint32_t)i,
                                      .id = strdup(names->rows[i].id),
                                      .name = strdup(names->rows[i].name),
                                      .distances = sums[i]};
        sums[i] = NULL;
        fits = reuse_rows_append(rows, &row);
    }
    for (size_t i = 0; sums && i < names->count; i++)
        psnap_distances_free(sums[i]);
    free(sums);
    reuse_rows_sort(rows, first);
    return fits ? PSNAP_OK
                : psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for the report");
}
