/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Compressed files: a reader of what another reader's gzip, xz or zstd data stand for, and how such
 * data are written. One .c for each library. Private to formats/.
 */
#ifndef PSNAP_FORMATS_COMPRESSED_H
#define PSNAP_FORMATS_COMPRESSED_H

#include <stdbool.h>
#include <stddef.h>

#include "formats/base/status.h"
#include "formats/reader.h"

/* A step of compression, or back: from `in` to `out`. */
struct psnap_compress_step {
    const unsigned char *in;
    size_t in_size, in_used;
    bool is_last; /* nothing comes after `in` */
    unsigned char *out;
    size_t out_size, out_made;
    bool may_end; /* set: whole members or frames were read, and none is begun */
};

struct psnap_compression {
    const char *name, *suffix; /* "gzip", ".gz" */
    bool (*is_mine)(const unsigned char *start, size_t n);
    /* The beginning of reading or writing; NULL: out of memory. */
    void *(*begin_read)(void);
    void *(*begin_write)(void);
    /* Read and make as much as they can. An error that they fill has no place. When all was
     * written, may_end is set. */
    enum psnap_status (*read)(void *state, struct psnap_compress_step *step,
                              struct psnap_error *error);
    enum psnap_status (*write)(void *state, struct psnap_compress_step *step,
                               struct psnap_error *error);
    void (*end_read)(void *state);
    void (*end_write)(void *state);
};

extern const struct psnap_compression psnap_compression_gzip;
extern const struct psnap_compression psnap_compression_xz;
extern const struct psnap_compression psnap_compression_zstd;

/* All of them, and NULL. */
extern const struct psnap_compression *const psnap_compressions[];

/*
 * A reader of what `inner` reads, decompressed when it begins as compressed data do, else `inner`
 * itself. Owns `inner`, also when it fails with NULL.
 */
struct psnap_reader *psnap_decompress(struct psnap_reader *inner, struct psnap_error *error);

#endif
