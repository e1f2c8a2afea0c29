/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bump allocation for things that die together: strings of a program, nodes of
 * a document. Memory is given back only by psnap_arena_free.
 */
#ifndef PSNAP_BASE_ARENA_H
#define PSNAP_BASE_ARENA_H

#include <stddef.h>

#include "formats/base/api.h"

struct psnap_arena;

PSNAP_API struct psnap_arena *psnap_arena_new(void); /* NULL: out of memory */
PSNAP_API void psnap_arena_free(struct psnap_arena *arena);

/* `size` zeroed bytes aligned for any type, NULL when out of memory. */
PSNAP_API void *psnap_arena_alloc(struct psnap_arena *arena, size_t size);

/* A terminated copy of the first `n` bytes of `text`. */
PSNAP_API char *psnap_arena_strndup(struct psnap_arena *arena, const char *text, size_t n);

#endif
