/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where ranges come from:
 *
 *   images   announced with each module: the program itself is image 0
 *   heap     from its first address, announced at the start
 *   stacks   a thread's first instrumented frame is offset 0
 *   mmap     an allocation of PSNAP_LARGE_BYTES or more, or at the start of a page,
 *            that is not in one of these is a mapping of its own: they follow
 *            each other in the order of allocation, page offsets kept (the kernel
 *            aligns large ones to huge pages, which address randomisation shifts
 *            against the rest)
 *   locals   thread-local variables outside of stacks, anchored at one of ours
 *   others   (small allocations of threads' arenas, what libraries map) are looked
 *            up in /proc/PID/maps when first touched
 *
 * Mappings and others have a shelf for each thread (beyond 256 some share one), so
 * that threads that allocate at the same time do not mix up each other's places.
 *
 * The same range allocated again keeps its canonical place, as caches see it.
 *
 * Announcements run ahead of the accesses by as much as the collector is late.
 * So places are given in a plan that knows what has been announced, in that
 * order. An allocation of addresses that mean nothing yet gets its place at once
 * (another thread's accesses to it may be read first); one that gives addresses
 * a new meaning when the records of the thread that allocated it get there.
 */
#include "capture/collect/rebase.h"

#include <stdlib.h>
#include <string.h>

#include "capture/collect/process.h"
#include "formats/base/layout.h"
#include "formats/base/room.h"

enum { PAGE = 4096, UNKNOWN_BLOCK = 2 << 20, ARENA = 64 << 20 };
#define HALF (PSNAP_LAYOUT_WINDOW / 2)
#define INSTANCES (PSNAP_LAYOUT_WINDOW / PSNAP_LAYOUT_INSTANCE)
#define SHELF_BYTES (HALF / 2 / (PSNAP_REBASE_SHELVES - 1))

static uint64_t canonical(enum psnap_group group, uint32_t index, int64_t offset)
{
    return psnap_layout_join((struct psnap_place){group, index, offset});
}

void psnap_rebase_init(struct psnap_rebase *rebase)
{
    *rebase = (struct psnap_rebase){.images = 0};
}

/* The shelf of a thread, for so many bytes: large things are with the main one's. */
static uint32_t shelf_of(uint32_t thread, uint64_t bytes)
{
    return thread && bytes <= SHELF_BYTES / 4 ? 1 + (thread - 1) % (PSNAP_REBASE_SHELVES - 1) : 0;
}

/* Room for `bytes` on a shelf, canonical; a full one is used again from its start. */
static uint64_t take_shelf(struct psnap_rebase *rebase, enum psnap_shelves kind, uint32_t thread,
                           uint64_t bytes)
{
    const uint32_t shelf = shelf_of(thread, bytes);
    const uint64_t size = shelf ? SHELF_BYTES : HALF / 2;
    const uint64_t start = (kind == PSNAP_SHELVES_OTHER ? HALF : 0) +
                           (shelf ? HALF / 2 + (shelf - 1) * SHELF_BYTES : 0);
    uint64_t *used = &rebase->used[kind][shelf], at;

    if (bytes > size - *used)
        *used = 0;
    at = *used;
    *used += bytes;
    return canonical(PSNAP_GROUP_MMAP, 0, (int64_t)(start + at));
}

void psnap_rebase_release(struct psnap_rebase *rebase)
{
    psnap_ranges_release(&rebase->known);
    psnap_ranges_release(&rebase->plan);
    free(rebase->placements);
    free(rebase->files);
    psnap_rebase_init(rebase);
}

/* From now on the range is what its addresses mean. */
static bool add(struct psnap_rebase *rebase, struct psnap_range range)
{
    const struct psnap_range *old = psnap_ranges_holder(&rebase->known, range.low, range.high);

    if (old && old->delta == range.delta)
        return true;
    if (range.low < range.high && psnap_ranges_overlap(&rebase->known, range.low, range.high))
        rebase->generation++;
    return psnap_ranges_put(&rebase->known, range);
}

/* Anonymous memory grows downwards, so its end is what stays: offsets are kept from there. */
static bool add_other(struct psnap_rebase *rebase, uint64_t low, uint64_t high)
{
    const uint64_t unit = UNKNOWN_BLOCK;
    uint64_t bytes = (high - low + 2 * unit - 1) / unit * unit;

    return add(rebase,
               (struct psnap_range){low, high,
                                    take_shelf(rebase, PSNAP_SHELVES_OTHER, rebase->thread, bytes) +
                                        bytes - high});
}

/* The next image's place; a large one takes those behind it, too. False when there is no more. */
static bool take_image(struct psnap_rebase *rebase, uint64_t bytes, uint64_t *base)
{
    uint64_t instances = bytes ? (bytes - 1) / PSNAP_LAYOUT_INSTANCE + 1 : 1;

    if (instances > INSTANCES - rebase->images)
        return false;
    *base = canonical(PSNAP_GROUP_IMAGE, rebase->images, 0);
    rebase->images += (uint32_t)instances;
    return true;
}

bool psnap_rebase_add_image(struct psnap_rebase *rebase, uint64_t low, uint64_t high)
{
    struct psnap_range range = {low & ~(uint64_t)(PAGE - 1), high, 0};
    uint64_t base;

    if (psnap_ranges_holder(&rebase->known, low, low + 1))
        return true; /* another module of the same image */
    if (high <= low || high - low > HALF / 2)
        return true;
    if (!take_image(rebase, high - low, &base))
        return add_other(rebase, range.low, high);
    range.delta = base - range.low;
    return psnap_ranges_put(&rebase->plan, range) && add(rebase, range);
}

bool psnap_rebase_add_heap(struct psnap_rebase *rebase, uint64_t start)
{
    uint64_t base = canonical(PSNAP_GROUP_HEAP, 0, 0);
    struct psnap_range range = {start, start + PSNAP_LAYOUT_WINDOW - 1, base - start};

    psnap_ranges_clip(&rebase->known, start, &range.low, &range.high);
    return psnap_ranges_put(&rebase->plan, range) && add(rebase, range);
}

bool psnap_rebase_add_stack(struct psnap_rebase *rebase, uint32_t thread, uint64_t frame,
                            uint64_t low, uint64_t high)
{
    const uint64_t half = PSNAP_LAYOUT_INSTANCE / 2;
    uint64_t base = canonical(PSNAP_GROUP_STACK, thread % INSTANCES, 0);

    low = frame > half && low < frame - half ? frame - half : low;
    high = high > frame + half ? frame + half : high;
    return add(rebase, (struct psnap_range){low, high, base - frame});
}

/* The place of an allocation by the plan, which then knows it; an empty range for none. */
static bool plan(struct psnap_rebase *rebase, uint64_t address, uint64_t size_bytes,
                 uint32_t thread, struct psnap_range *range)
{
    uint64_t low = address & ~(uint64_t)(PAGE - 1);
    uint64_t high = (address + size_bytes + PAGE - 1) & ~(uint64_t)(PAGE - 1);
    const struct psnap_range *old = psnap_ranges_holder(&rebase->plan, low, high);

    *range = (struct psnap_range){0, 0, 0};
    if (high <= low || high - low > PSNAP_LAYOUT_WINDOW / 4)
        return true;
    *range = (struct psnap_range){low, high, old ? old->delta : 0};
    if (old)
        return true; /* on the heap, or a place that was used before */
    range->delta = take_shelf(rebase, PSNAP_SHELVES_MMAP, thread, high - low) - low;
    return psnap_ranges_put(&rebase->plan, *range);
}

/* Forgets placements that are done, in the order they came. */
static void drop_placements(struct psnap_rebase *rebase)
{
    size_t done = rebase->placements_done;

    while (done < rebase->placement_count && rebase->placements[done].is_done)
        done++;
    rebase->placements_done = done;
    if (done < rebase->placement_count / 2 || done == 0)
        return;
    rebase->placement_count -= done;
    rebase->first_placement += done;
    rebase->placements_done = 0;
    memmove(rebase->placements, rebase->placements + done,
            rebase->placement_count * sizeof *rebase->placements);
}

bool psnap_rebase_announce(struct psnap_rebase *rebase, uint64_t address, uint64_t size_bytes,
                           uint32_t thread)
{
    struct psnap_placement placement = {.is_done = false};

    if (!psnap_make_room(&rebase->placements, &rebase->placement_room, rebase->placement_count + 1,
                         sizeof placement) ||
        !plan(rebase, address, size_bytes, thread, &placement.range))
        return false;
    if (!psnap_ranges_overlap(&rebase->known, placement.range.low, placement.range.high)) {
        placement.is_done = true;
        if (!add(rebase, placement.range))
            return false;
    }
    rebase->placements[rebase->placement_count++] = placement;
    return true;
}

bool psnap_rebase_allocate(struct psnap_rebase *rebase, uint64_t number)
{
    struct psnap_placement *placement;
    bool is_added = true;

    if (number - 1 - rebase->first_placement >= rebase->placement_count)
        return true; /* none, or done */
    placement = &rebase->placements[number - 1 - rebase->first_placement];
    if (!placement->is_done)
        is_added = add(rebase, placement->range);
    placement->is_done = true;
    drop_placements(rebase);
    return is_added;
}

bool psnap_rebase_add_local(struct psnap_rebase *rebase, uint64_t anchor, uint64_t low,
                            uint64_t high)
{
    const uint64_t half = PSNAP_LAYOUT_INSTANCE / 2;
    uint64_t base;

    if (low >= high || psnap_ranges_holder(&rebase->known, anchor, anchor + 1))
        return true; /* on the thread's stack */
    low = low < anchor - half ? anchor - half : low;
    high = high > anchor + half ? anchor + half : high;
    psnap_ranges_clip(&rebase->known, anchor, &low, &high);
    base = take_shelf(rebase, PSNAP_SHELVES_OTHER, 0, PSNAP_LAYOUT_INSTANCE) + half;
    return add(rebase, (struct psnap_range){low, high, base - anchor});
}

/* Files are told apart by their numbers. */
static bool is_same_file(const struct psnap_mapping *a, const struct psnap_mapping *b)
{
    return a->name == b->name && a->device == b->device && a->inode == b->inode;
}

/* Remembers the file that is mapped from `lowest` on; NULL when out of memory. */
static struct psnap_rebase_file *new_file(struct psnap_rebase *rebase,
                                          const struct psnap_mapping *mapping, uint64_t lowest)
{
    if (!psnap_resize(&rebase->files, rebase->file_count + 1, sizeof *rebase->files))
        return NULL;
    rebase->files[rebase->file_count] = (struct psnap_rebase_file){
        .low = lowest, .device = mapping->device, .inode = mapping->inode};
    return &rebase->files[rebase->file_count];
}

/* A file's mappings keep their distances: image k from the lowest of them. */
static bool add_file(struct psnap_rebase *rebase, const struct psnap_mapping *mapping,
                     uint64_t lowest)
{
    struct psnap_rebase_file *file;
    size_t i = 0;

    while (i < rebase->file_count &&
           (rebase->files[i].device != mapping->device ||
            rebase->files[i].inode != mapping->inode || rebase->files[i].low > mapping->low ||
            mapping->high - rebase->files[i].low > PSNAP_LAYOUT_INSTANCE))
        i++;
    if (i == rebase->file_count) {
        if (mapping->high - lowest > PSNAP_LAYOUT_INSTANCE)
            lowest = mapping->low;
        file = new_file(rebase, mapping, lowest);
        if (!file)
            return false;
        if (mapping->high - lowest > PSNAP_LAYOUT_INSTANCE ||
            !take_image(rebase, PSNAP_LAYOUT_INSTANCE, &file->base))
            return add_other(rebase, mapping->low, mapping->high);
        rebase->file_count++;
    }
    file = &rebase->files[i];
    return add(rebase, (struct psnap_range){mapping->low, mapping->high, file->base - file->low});
}

static bool is_reserved(const struct psnap_mapping *mapping)
{
    return !mapping->name && !strncmp(mapping->permissions, "---", 3);
}

/* Where what is reserved behind an anonymous mapping no longer belongs to it. An arena of glibc's
 * malloc begins at a multiple of its size (malloc/arena.c, HEAP_MAX_SIZE); behind it there may be
 * the guard of a stack or an arena that another thread is just making, reserved as well. (One that
 * is in use to its last page is like a large allocation, and ends where the system says.) */
static uint64_t reserve_end(const struct psnap_mapping *mapping, uint64_t address)
{
    const uint64_t end = address - address % ARENA + ARENA;

    return mapping->low % ARENA || end < address ? UINT64_MAX : end;
}

/* Anonymous memory right behind a private mapping of a file is what the file has no bytes for.
 * (What is behind a shared one, such as our own rings, is there by chance.) */
static bool is_bss_of(const struct psnap_mapping *mapping, const struct psnap_mapping *file,
                      uint64_t file_end)
{
    return !mapping->name && file->name == '/' && file->permissions[3] == 'p' &&
           mapping->low == file_end;
}

/* The program's mapping that holds `address`, with the lowest address of its file. Anonymous
 * memory may grow into what is reserved behind it (an arena of malloc): both are one. */
static bool find_mapping(pid_t program, uint64_t address, struct psnap_mapping *found,
                         uint64_t *lowest)
{
    struct psnap_mapping mapping = {0}, first = {0};
    uint64_t previous_high = 0, end = 0;
    bool is_found = false;
    struct psnap_mappings mappings;

    psnap_mappings_open(&mappings, program);
    while (psnap_mappings_next(&mappings, &mapping)) {
        if (is_found) {
            if (found->name || !is_reserved(&mapping) || mapping.low != found->high ||
                mapping.low >= end)
                break;
            found->high = mapping.high < end ? mapping.high : end;
            continue;
        }
        if (is_bss_of(&mapping, &first, previous_high)) {
            mapping.name = first.name;
            mapping.device = first.device;
            mapping.inode = first.inode;
        } else if (!is_same_file(&mapping, &first))
            first = mapping;
        previous_high = mapping.high;
        is_found = address >= mapping.low && address < mapping.high;
        *found = mapping;
        *lowest = first.low;
        end = reserve_end(&mapping, address);
    }
    psnap_mappings_close(&mappings);
    return is_found;
}

static bool look_up(struct psnap_rebase *rebase, uint64_t address)
{
    const uint64_t part = UINT64_C(1) << 30;
    struct psnap_mapping mapping;
    uint64_t lowest = 0;

    if (!find_mapping(rebase->program, address, &mapping, &lowest)) {
        mapping = (struct psnap_mapping){.low = address / UNKNOWN_BLOCK * UNKNOWN_BLOCK};
        mapping.high =
            mapping.low > UINT64_MAX - UNKNOWN_BLOCK ? UINT64_MAX : mapping.low + UNKNOWN_BLOCK;
    }
    if (mapping.high - mapping.low > HALF / 4) { /* reserved, not used: a part will do */
        mapping.low += (address - mapping.low) / part * part;
        mapping.high = mapping.low + part;
    }
    psnap_ranges_clip(&rebase->known, address, &mapping.low, &mapping.high);
    return mapping.name == '/' ? add_file(rebase, &mapping, lowest)
                               : add_other(rebase, mapping.low, mapping.high);
}

const struct psnap_range *psnap_rebase_find(struct psnap_rebase *rebase, uint64_t address)
{
    const struct psnap_range *range;

    if (address == UINT64_MAX)
        address--; /* no range has a last byte there */
    range = psnap_ranges_holder(&rebase->known, address, address + 1);
    if (range)
        return range;
    return look_up(rebase, address) ? psnap_ranges_holder(&rebase->known, address, address + 1)
                                    : NULL;
}
