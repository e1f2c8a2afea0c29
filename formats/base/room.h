/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Arrays that grow, and sorted ones.
 */
#ifndef PSNAP_BASE_ROOM_H
#define PSNAP_BASE_ROOM_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* By doubling: `array` with room for `wanted` items of `size` bytes, which *room then says; NULL
 * when out of memory: it is as it was then. */
static inline void *psnap_with_room(void *array, size_t *room, size_t wanted, size_t size)
{
    size_t larger = *room ? *room : 64;
    void *grown;

    if (wanted <= *room)
        return array;
    while (larger < wanted && larger <= SIZE_MAX / 2)
        larger *= 2;
    grown = larger >= wanted && larger <= SIZE_MAX / size ? realloc(array, larger * size) : NULL;
    if (grown)
        *room = larger;
    return grown;
}

/* The same of the array at `*array`, of any type; false: out of memory. */
static inline bool psnap_make_room(void *array, size_t *room, size_t wanted, size_t size)
{
    void *old, *grown;

    if (wanted <= *room)
        return true;
    memcpy(&old, array, sizeof old);
    grown = psnap_with_room(old, room, wanted, size);
    if (grown)
        memcpy(array, &grown, sizeof grown);
    return grown != NULL;
}

/* Whether that array has room for `wanted` items now, and no more; false: out of memory, it is as
 * it was. */
static inline bool psnap_resize(void *array, size_t wanted, size_t size)
{
    void *old, *resized;

    memcpy(&old, array, sizeof old);
    resized = wanted <= SIZE_MAX / size ? realloc(old, wanted * size + !wanted) : NULL;
    if (resized)
        memcpy(array, &resized, sizeof resized);
    return resized != NULL;
}

/* How many items of a sorted array are at or below a number that each of them begins with. */
static inline size_t psnap_place(const void *items, size_t count, size_t size, uint64_t key)
{
    size_t low = 0, high = count;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (*(const uint64_t *)(const void *)((const char *)items + middle * size) <= key)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

#endif
