/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pages by number, each with a bit for each of its 64 lines, in the order of first touches. An
 * access that crosses into another page or line counts as one of the first.
 */
#include "predict/amm/pages.h"

#include <stdbool.h>
#include <stdlib.h>

#include "formats/base/map.h"
#include "formats/base/room.h"

struct pages {
    struct psnap_sink base;
    const struct psnap_program *program;
    struct psnap_map orders; /* of first touches, from 1, by page */
    uint64_t *lines;         /* that were touched, by order */
    size_t count, room;
    struct pages_touched *touched; /* by reference */
    size_t touched_room;
    uint32_t touched_count;
};

static bool touch(struct pages *pages, struct pages_touched *touched, uint64_t address)
{
    const uint64_t line = UINT64_C(1) << (address % PAGES_BYTES / PAGES_LINE_BYTES);
    uint64_t *const order = psnap_map_put(&pages->orders, address / PAGES_BYTES);

    if (!order || !psnap_make_room(&pages->lines, &pages->room, pages->count + 1, sizeof line))
        return false;
    if (!*order) {
        pages->lines[pages->count] = 0;
        *order = ++pages->count;
        touched->pages++;
    }
    if (!(pages->lines[*order - 1] & line))
        touched->fresh += pages->count - *order < PAGES_STILL_NEAR;
    pages->lines[*order - 1] |= line;
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

    free(pages->orders.slots);
    free(pages->lines);
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
    return &pages->base;
}

struct pages_touched pages_of(const struct psnap_sink *sink, uint32_t ref)
{
    const struct pages *pages = (const struct pages *)sink;

    return ref < pages->touched_count ? pages->touched[ref] : (struct pages_touched){0};
}
