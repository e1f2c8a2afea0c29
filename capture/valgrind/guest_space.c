/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Valgrind lays out the memory of its program itself, the same way in every
 * run; only the stack moves, with the size of the environment. So:
 *
 *   images   an ELF file found in /proc/PID/maps: image k of the layout in the
 *            order they are first touched, the program first
 *   heap     from Valgrind's first anonymous page on; it reserves 8 MiB, behind
 *            which malloc goes on with mappings
 *   stack    the first access that is in neither of these is offset 0
 *   mmap     everything else keeps its address as offset in the mmap window
 *
 * /proc/PID/maps is read when an address is met that nothing is known of. The
 * program is then ahead by what the pipe holds, some thousand instructions; the
 * loader takes more than that to get a library ready. Where a library is
 * unmapped and another put in its place, the first one keeps its name.
 */
#include "capture/valgrind/guest_space.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "capture/collect/process.h"
#include "formats/base/layout.h"

enum { PATH_LONGEST = 4095 };

#define PAGE UINT64_C(4096)
#define HEAP_BYTES (UINT64_C(8) << 20)
#define STACK_BYTES (UINT64_C(1) << 30)       /* below its first access; Valgrind allows 16 MiB */
#define ABOVE_STACK_BYTES (UINT64_C(1) << 21) /* arguments and environment */

static uint64_t canonical(enum psnap_group group, uint32_t index)
{
    return psnap_layout_join((struct psnap_place){group, index, 0});
}

void psnap_guest_space_release(struct psnap_guest_space *space)
{
    psnap_ranges_release(&space->areas);
    psnap_ranges_release(&space->others);
    psnap_symbols_free(space->loaded);
}

static const struct psnap_range *holder(const struct psnap_ranges *ranges, uint64_t address)
{
    return psnap_ranges_holder(ranges, address, address + 1);
}

/* Adds what of `range` around `address` is still free. */
static enum psnap_status add(struct psnap_ranges *ranges, uint64_t address,
                             struct psnap_range range, struct psnap_error *error)
{
    psnap_ranges_clip(ranges, address, &range.low, &range.high);
    if (!psnap_ranges_put(ranges, range))
        return psnap_error_set(error, PSNAP_ERROR_MEMORY,
                               "out of memory for the program's mappings");
    return PSNAP_OK;
}

static enum psnap_status add_area(struct psnap_guest_space *space, uint64_t address,
                                  struct psnap_range range, struct psnap_error *error)
{
    space->generation++;
    return add(&space->areas, address, range, error);
}

static enum psnap_status add_image(struct psnap_guest_space *space, uint64_t address,
                                   struct psnap_image *image, struct psnap_error *error)
{
    const uint32_t instances = (uint32_t)(PSNAP_LAYOUT_WINDOW / PSNAP_LAYOUT_INSTANCE);
    uint64_t base = canonical(PSNAP_GROUP_IMAGE, space->images % instances);

    space->images += (uint32_t)((image->high - image->low) / PSNAP_LAYOUT_INSTANCE) + 1;
    return add_area(space, address,
                    (struct psnap_range){image->low, image->high, base - image->low, image}, error);
}

/* Looks what is mapped at `address`. A file's first mapping is where its image starts, and what
 * follows without a gap belongs to it as far as the file's headers say. */
static enum psnap_status look(struct psnap_guest_space *space, uint64_t address,
                              struct psnap_error *error)
{
    uint64_t page = address & ~(PAGE - 1);
    struct psnap_range other = {page, page + PAGE, 0, NULL};
    struct psnap_mappings mappings;
    struct psnap_mapping mapping;
    struct psnap_image *image = NULL; /* of the latest file, */
    char path[PATH_LONGEST + 1] = ""; /* which is this */
    enum psnap_status status = PSNAP_OK;
    bool is_image = false;

    psnap_mappings_open(&mappings, space->program);
    while (!status && psnap_mappings_next(&mappings, &mapping) && mapping.low <= address) {
        if (mapping.name == '/' && strncmp(mapping.path, path, PATH_LONGEST) != 0) {
            snprintf(path, sizeof path, "%s", mapping.path);
            status = psnap_symbols_image(&space->loaded, path, mapping.low, &image, error);
        }
        if (mapping.high > address) {
            other.low = mapping.low;
            other.high = mapping.high;
            is_image = image && address >= image->low && address < image->high;
        }
    }
    psnap_mappings_close(&mappings);
    if (status)
        return status;
    if (is_image)
        return add_image(space, address, image, error);
    if (holder(&space->others, address))
        return PSNAP_OK;
    return add(&space->others, address, other, error);
}

static enum psnap_status add_stack(struct psnap_guest_space *space, uint64_t address,
                                   struct psnap_error *error)
{
    uint64_t base = canonical(PSNAP_GROUP_STACK, 0);
    struct psnap_range range = {address > STACK_BYTES ? address - STACK_BYTES : 0,
                                address + ABOVE_STACK_BYTES, base - address, NULL};

    space->has_stack = true;
    return add_area(space, address, range, error);
}

enum psnap_status psnap_guest_space_find(struct psnap_guest_space *space, uint64_t address,
                                         bool is_code, struct psnap_range *range,
                                         struct psnap_error *error)
{
    const struct psnap_range *found = holder(&space->areas, address);
    enum psnap_status status = PSNAP_OK;
    bool is_low = address < PSNAP_LAYOUT_WINDOW;

    if (!found && !space->has_stack && !is_code)
        status = add_stack(space, address, error);
    else if (!found && (is_code || !holder(&space->others, address)))
        status = look(space, address, error);
    if (status)
        return status;
    found = holder(&space->areas, address);
    if (found) {
        *range = *found;
        return PSNAP_OK;
    }
    found = holder(&space->others, address);
    *range = found ? *found : (struct psnap_range){address, address + 1, 0, NULL};
    psnap_ranges_clip(&space->areas, address, &range->low, &range->high);
    if (is_low)
        range->delta = canonical(PSNAP_GROUP_MMAP, 0);
    if (is_low && range->high > PSNAP_LAYOUT_WINDOW)
        range->high = PSNAP_LAYOUT_WINDOW;
    return PSNAP_OK;
}

enum psnap_status psnap_guest_space_start(struct psnap_guest_space *space, pid_t program,
                                          struct psnap_error *error)
{
    struct psnap_mappings mappings;
    struct psnap_mapping mapping;
    struct psnap_range range;
    enum psnap_status status = PSNAP_OK;
    uint64_t heap = 0;

    space->program = program;
    psnap_mappings_open(&mappings, program);
    if (!mappings.file)
        return psnap_error_system(error, errno, "cannot read the mappings of process %ld",
                                  (long)program);
    while (!status && !heap && psnap_mappings_next(&mappings, &mapping))
        if (mapping.name == '/')
            status = psnap_guest_space_find(space, mapping.low, true, &range, error);
        else if (!mapping.name && !holder(&space->areas, mapping.low))
            heap = mapping.low;
    if (!status && heap)
        status = add_area(space, heap,
                          (struct psnap_range){heap, heap + HEAP_BYTES,
                                               canonical(PSNAP_GROUP_HEAP, 0) - heap, NULL},
                          error);
    psnap_mappings_close(&mappings);
    return status;
}
