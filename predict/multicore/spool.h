/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A queue of accesses that several cursors read at their own pace: the first ones in memory, those
 * beyond in a file without a name.
 */
#ifndef PSNAP_PREDICT_SPOOL_H
#define PSNAP_PREDICT_SPOOL_H

#include <stddef.h>
#include <stdint.h>

#include "formats/base/access.h"
#include "formats/base/status.h"

#define SPOOL_MEMORY ((size_t)1 << 20) /* accesses: 16 MiB */

struct spool {
    struct psnap_access *memory; /* the first SPOOL_MEMORY, then those that are yet to be written */
    struct psnap_access *ahead;  /* a piece to be written */
    uint64_t count;
    size_t waiting;
    int file; /* -1: none so far */
};

enum psnap_status spool_init(struct spool *spool, struct psnap_error *error);
void spool_release(struct spool *spool);
void spool_clear(struct spool *spool);
enum psnap_status spool_add(struct spool *spool, const struct psnap_access *access,
                            struct psnap_error *error);
/* Nothing is added until the next spool_clear(). */
enum psnap_status spool_end(struct spool *spool, struct psnap_error *error);
/* Up to `capacity` accesses from number `at` on; 0 at the end, negative on failure. */
ptrdiff_t spool_read(const struct spool *spool, uint64_t at, struct psnap_access *block,
                     size_t capacity, struct psnap_error *error);

#endif
