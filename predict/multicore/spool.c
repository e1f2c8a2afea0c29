/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Accesses as they are, 16 bytes each. The file is made where TMPDIR says, or in /tmp, when the
 * memory is full for the first time, has no name, and is used again after a clear.
 */
#include "predict/multicore/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PIECE = 16384 }; /* accesses that are written together */

enum psnap_status spool_init(struct spool *spool, struct psnap_error *error)
{
    *spool = (struct spool){.file = -1};
    spool->memory = malloc(SPOOL_MEMORY * sizeof *spool->memory);
    spool->ahead = malloc(PIECE * sizeof *spool->ahead);
    if (spool->memory && spool->ahead)
        return PSNAP_OK;
    return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for a parallel section");
}

void spool_release(struct spool *spool)
{
    free(spool->memory);
    free(spool->ahead);
    if (spool->file >= 0)
        close(spool->file);
    *spool = (struct spool){.file = -1};
}

void spool_clear(struct spool *spool)
{
    spool->count = 0;
    spool->waiting = 0;
}

static enum psnap_status open_file(struct spool *spool, struct psnap_error *error)
{
    const char *folder = getenv("TMPDIR");
    char path[4096];

    snprintf(path, sizeof path, "%.4000s/psnap-XXXXXX", folder && *folder ? folder : "/tmp");
    spool->file = mkostemp(path, O_CLOEXEC);
    if (spool->file < 0)
        return psnap_error_system(error, errno,
                                  "cannot make a file for a parallel section (TMPDIR names the "
                                  "folder): '%s'",
                                  path);
    unlink(path);
    return PSNAP_OK;
}

/* Writes what waits behind what was written. */
static enum psnap_status write_piece(struct spool *spool, struct psnap_error *error)
{
    const char *from = (const char *)spool->ahead;
    size_t left = spool->waiting * sizeof *spool->ahead;
    off_t at = (off_t)((spool->count - spool->waiting - SPOOL_MEMORY) * sizeof *spool->ahead);

    if (spool->file < 0 && open_file(spool, error))
        return error->code;
    while (left) {
        const ssize_t n = pwrite(spool->file, from, left, at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return psnap_error_system(error, n ? errno : ENOSPC,
                                      "cannot write a parallel section to a temporary file "
                                      "(TMPDIR names the folder)");
        from += n;
        left -= (size_t)n;
        at += n;
    }
    spool->waiting = 0;
    return PSNAP_OK;
}

enum psnap_status spool_add(struct spool *spool, const struct psnap_access *access,
                            struct psnap_error *error)
{
    if (spool->count < SPOOL_MEMORY) {
        spool->memory[spool->count++] = *access;
        return PSNAP_OK;
    }
    spool->ahead[spool->waiting++] = *access;
    spool->count++;
    return spool->waiting == PIECE ? write_piece(spool, error) : PSNAP_OK;
}

enum psnap_status spool_end(struct spool *spool, struct psnap_error *error)
{
    return spool->waiting ? write_piece(spool, error) : PSNAP_OK;
}

ptrdiff_t spool_read(const struct spool *spool, uint64_t at, struct psnap_access *block,
                     size_t capacity, struct psnap_error *error)
{
    size_t n = at >= spool->count             ? 0
               : spool->count - at < capacity ? (size_t)(spool->count - at)
                                              : capacity;
    char *to = (char *)block;
    size_t left;

    if (at < SPOOL_MEMORY) {
        n = n < SPOOL_MEMORY - at ? n : (size_t)(SPOOL_MEMORY - at);
        memcpy(block, spool->memory + at, n * sizeof *block);
        return (ptrdiff_t)n;
    }
    left = n * sizeof *block;
    for (off_t from = (off_t)((at - SPOOL_MEMORY) * sizeof *block); left;) {
        const ssize_t got = pread(spool->file, to, left, from);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return psnap_error_system(error, got ? errno : EIO,
                                      "cannot read a parallel section back");
        to += got;
        left -= (size_t)got;
        from += got;
    }
    return (ptrdiff_t)n;
}
