/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bump allocation. Memory comes in chunks that double from CHUNK_FIRST to
 * CHUNK_LAST, so small documents stay small and large ones make few calls. A
 * request that is larger gets a chunk of its size.
 *
 * Invariant: the head of the list is the chunk that requests come from.
 */
#include "formats/base/arena.h"

#include <stdalign.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK_FIRST ((size_t)4 << 10)
#define CHUNK_LAST ((size_t)1 << 20)
#define ALIGNMENT alignof(max_align_t)

struct chunk {
    struct chunk *next;
    size_t size, used;
    alignas(max_align_t) unsigned char data[];
};

struct psnap_arena {
    struct chunk *chunks;
    size_t chunk_size; /* of the next chunk */
};

struct psnap_arena *psnap_arena_new(void)
{
    struct psnap_arena *arena = malloc(sizeof *arena);

    if (arena) {
        arena->chunks = NULL;
        arena->chunk_size = CHUNK_FIRST;
    }
    return arena;
}

void psnap_arena_free(struct psnap_arena *arena)
{
    if (!arena)
        return;
    while (arena->chunks) {
        struct chunk *next = arena->chunks->next;
        free(arena->chunks);
        arena->chunks = next;
    }
    free(arena);
}

void *psnap_arena_alloc(struct psnap_arena *arena, size_t size)
{
    struct chunk *chunk = arena->chunks;
    void *memory;

    if (size > SIZE_MAX / 2)
        return NULL;
    size = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (size == 0)
        size = ALIGNMENT; /* distinct pointers, also for nothing */
    if (!chunk || chunk->size - chunk->used < size) {
        const size_t room = size < arena->chunk_size ? arena->chunk_size : size;

        chunk = calloc(1, sizeof *chunk + room);
        if (!chunk)
            return NULL;
        if (arena->chunk_size < CHUNK_LAST)
            arena->chunk_size *= 2;
        chunk->size = room;
        chunk->next = arena->chunks;
        arena->chunks = chunk;
    }
    memory = chunk->data + chunk->used;
    chunk->used += size;
    return memory;
}

char *psnap_arena_strndup(struct psnap_arena *arena, const char *text, size_t n)
{
    char *copy = n < SIZE_MAX ? psnap_arena_alloc(arena, n + 1) : NULL;

    if (copy && n)
        memcpy(copy, text, n);
    return copy;
}
