/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Arrays that grow by doubling.
 */
#ifndef PSNAP_BASE_ROOM_H
#define PSNAP_BASE_ROOM_H

#include <stdint.h>
#include <stdlib.h>

/* `array` with room for `wanted` items of `size` bytes, which *room then says; NULL when out of
 * memory: it is as it was then. */
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

#endif
