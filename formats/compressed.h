/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Compressed input: a reader of what another reader's gzip, xz or zstd data stand for. One file for
 * each library; a build without one of them refuses such input by name. Private to formats/.
 */
#ifndef PSNAP_FORMATS_COMPRESSED_H
#define PSNAP_FORMATS_COMPRESSED_H

#include <stdbool.h>
#include <stddef.h>

#include "formats/base/status.h"
#include "formats/reader.h"

/* A step of a decompressor: from `in` to `out`. */
struct psnap_decompress_step {
    const unsigned char *in;
    size_t in_size, in_used;
    bool is_last; /* nothing comes after `in` */
    unsigned char *out;
    size_t out_size, out_made;
    bool may_end; /* set: whole members or frames were read, and none is begun */
};

struct psnap_decompressor {
    const char *name; /* "gzip" */
    bool (*is_mine)(const unsigned char *start, size_t n);
    void *(*begin)(void); /* NULL: out of memory; the member itself is NULL: not in this build */
    /* Reads and makes as much as it can. An error that it fills has no place. */
    enum psnap_status (*step)(void *state, struct psnap_decompress_step *step,
                              struct psnap_error *error);
    void (*end)(void *state);
};

extern const struct psnap_decompressor psnap_decompress_gzip;
extern const struct psnap_decompressor psnap_decompress_xz;
extern const struct psnap_decompressor psnap_decompress_zstd;

/*
 * A reader of what `inner` reads, decompressed when it begins as compressed data do, else `inner`
 * itself. Owns `inner`, also when it fails with NULL.
 */
struct psnap_reader *psnap_decompress(struct psnap_reader *inner, struct psnap_error *error);

#endif
