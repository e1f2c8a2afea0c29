/* SPDX-License-Identifier: BSD-3-Clause */
/* Segments are searched one by one, after that of the access before: programs have few. */
#include "simcore/rename.h"

#include "formats/base/divisor.h"

void rename_init(struct rename *rename)
{
    rename->segment_bytes = UINT64_C(1) << 32;
    rename->first = RENAME_END;
    rename->room = RENAME_SEGMENTS_MAX;
    rename->used = 0;
}

void rename_add_level(struct rename *rename, uint64_t way_bytes)
{
    const uint64_t old = rename->segment_bytes;

    if (!old ||
        __builtin_mul_overflow(old / psnap_common_divisor(old, way_bytes), way_bytes,
                               &rename->segment_bytes) ||
        rename->segment_bytes > RENAME_END / 4) {
        rename->segment_bytes = 0;
        return;
    }
    rename->first =
        (RENAME_END - 1) / rename->segment_bytes * rename->segment_bytes + rename->segment_bytes;
    rename->room = (uint32_t)((2 * RENAME_END - 1 - rename->first) / rename->segment_bytes);
    if (rename->room > RENAME_SEGMENTS_MAX)
        rename->room = RENAME_SEGMENTS_MAX;
}

/* The number of a segment; `used` when it is new and there is no room. */
static uint32_t find(struct rename *rename, uint64_t segment)
{
    for (uint32_t i = 0; i < rename->used; i++)
        if (rename->segments[i] == segment)
            return i;
    if (rename->used < rename->room) {
        rename->segments[rename->used] = segment;
        return rename->used++;
    }
    return rename->used;
}

bool rename_block(struct rename *rename, const struct psnap_access *block, size_t n,
                  struct psnap_access *to)
{
    const uint64_t bytes = rename->segment_bytes;
    uint64_t begin = 0, shift = 0; /* of the last segment: its address, and what is added to it */

    for (size_t i = 0; i < n; i++) {
        const uint64_t address = block[i].address, size = block[i].size;

        to[i] = block[i];
        if (address <= RENAME_END - size)
            continue;
        if (address < RENAME_END) /* it lies on both sides */
            return false;
        if (!begin || address - begin >= bytes) {
            const uint64_t segment = address / bytes;
            const uint32_t number = find(rename, segment);
            if (number == rename->room)
                return false;
            begin = segment * bytes;
            shift = rename->first + number * bytes - begin;
        }
        if (size > bytes - (address - begin) || address > UINT64_MAX - size)
            return false;
        to[i].address = address + shift;
    }
    return true;
}

/* The first and the last byte of an access of a run; false: they are not in order, or the last one
 * is the last of all addresses. */
static bool bounds(const struct psnap_run *run, size_t k, uint64_t *low, uint64_t *high)
{
    const int64_t stride = run->strides[k];
    const uint64_t step = stride < 0 ? 0 - (uint64_t)stride : (uint64_t)stride;
    uint64_t way;

    if (__builtin_mul_overflow(step, run->count - 1, &way))
        return false;
    *low = *high = run->first[k].address;
    if (stride < 0 ? __builtin_sub_overflow(*low, way, low)
                   : __builtin_add_overflow(*high, way, high))
        return false;
    if (*high > UINT64_MAX - run->first[k].size)
        return false;
    *high += (uint64_t)run->first[k].size - 1;
    return true;
}

bool rename_run(struct rename *rename, const struct psnap_run *run, uint64_t *addresses)
{
    const uint64_t bytes = rename->segment_bytes;
    uint64_t begin = 0, shift = 0, low, high;

    for (size_t k = 0; k < run->width; k++) {
        if (!bounds(run, k, &low, &high) || (low < RENAME_END) != (high < RENAME_END))
            return false;
        addresses[k] = run->first[k].address;
        if (high < RENAME_END)
            continue;
        if (!begin || low - begin >= bytes) {
            const uint64_t segment = low / bytes;
            const uint32_t number = find(rename, segment);
            if (number == rename->room)
                return false;
            begin = segment * bytes;
            shift = rename->first + number * bytes - begin;
        }
        if (high - begin >= bytes)
            return false;
        addresses[k] += shift;
    }
    return true;
}

uint64_t rename_back(const struct rename *rename, uint64_t address)
{
    const uint64_t offset = address - rename->first;

    if (address < rename->first)
        return address;
    return rename->segments[offset / rename->segment_bytes] * rename->segment_bytes +
           offset % rename->segment_bytes;
}
