/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A reader behind a reader. Compressed data are recognised by their first bytes, never by a name,
 * and may have any number of members (gzip), streams (xz) or frames (zstd), one after the other.
 * Data that end within one are an error (TRUNCATED), told when all that came before was read;
 * damage is one (CORRUPT) with its place in the compressed file. Errors of the
 * trace itself have their places in the decompressed data.
 */
#include "formats/compressed.h"

#include <errno.h>
#include <stdlib.h>

#define BEGIN_BYTES 16u /* that recognition looks at */

struct decompression {
    const struct psnap_compression *with;
    void *state;
    struct psnap_reader *inner;
    bool may_end;
    struct psnap_error error; /* code PSNAP_OK: none yet */
};

static ssize_t fail(struct decompression *it, uint64_t offset)
{
    psnap_error_at_offset(&it->error, it->inner->name, offset);
    errno = EIO;
    return -1;
}

/* One step, of at least a byte of input unless there is no more; true: it came further. */
static bool advance(struct decompression *it, struct psnap_compress_step *step)
{
    struct psnap_reader *inner = it->inner;

    step->in_size = psnap_reader_ahead(inner, 1);
    step->in = inner->data + inner->at;
    step->in_used = step->out_made = 0;
    step->is_last = inner->ended;
    step->may_end = it->may_end;
    if (psnap_reader_failed(inner, &it->error))
        return false;
    if (!step->in_size && it->may_end)
        return false;
    if (it->with->read(it->state, step, &it->error))
        return false;
    inner->at += step->in_used;
    it->may_end = step->may_end;
    return step->in_used || step->out_made;
}

static ssize_t read_decompressed(void *context, void *buffer, size_t n)
{
    struct decompression *it = context;
    struct psnap_compress_step step = {.out = buffer, .out_size = n};
    bool moves = it->error.code == PSNAP_OK;

    while (moves) {
        const uint64_t offset = psnap_reader_offset(it->inner);

        moves = advance(it, &step);
        if (it->error.code && it->error.offset == UINT64_MAX)
            return fail(it, offset + step.in_used);
        if (it->error.code)
            break;
        if (step.out_made)
            return (ssize_t)step.out_made;
    }
    if (it->error.code) {
        errno = EIO;
        return -1;
    }
    if (it->may_end)
        return 0;
    psnap_error_set(&it->error, PSNAP_ERROR_TRUNCATED,
                    "the %s data end too early: the file was cut off", it->with->name);
    return fail(it, psnap_reader_offset(it->inner));
}

static enum psnap_status explain(const void *context, struct psnap_error *error)
{
    const struct decompression *it = context;

    if (error)
        *error = it->error;
    return it->error.code;
}

static uint64_t compressed_bytes(const void *context)
{
    return psnap_reader_bytes(((const struct decompression *)context)->inner);
}

static void close_decompression(void *context)
{
    struct decompression *it = context;

    if (it->state)
        it->with->end_read(it->state);
    psnap_reader_free(it->inner);
    free(it);
}

const struct psnap_compression *const psnap_compressions[] = {
    &psnap_compression_gzip, &psnap_compression_xz, &psnap_compression_zstd, NULL};

static const struct psnap_compression *find(const unsigned char *start, size_t n)
{
    const struct psnap_compression *const *with = psnap_compressions;

    while (*with && !(*with)->is_mine(start, n))
        with++;
    return *with;
}

/* Owns `inner`. */
static struct psnap_reader *begin(const struct psnap_compression *with, struct psnap_reader *inner,
                                  struct psnap_error *error)
{
    struct decompression *it = calloc(1, sizeof *it);
    struct psnap_reader *reader;

    if (!it) {
        psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
        psnap_reader_free(inner);
        return NULL;
    }
    *it = (struct decompression){.with = with, .state = with->begin_read(), .inner = inner};
    it->error.offset = UINT64_MAX;
    if (!it->state) {
        psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
        close_decompression(it);
        return NULL;
    }
    reader = psnap_reader_new(read_decompressed, close_decompression, it, inner->name, error);
    if (reader) {
        reader->explain = explain;
        reader->bytes = compressed_bytes;
    }
    return reader;
}

struct psnap_reader *psnap_decompress(struct psnap_reader *inner, struct psnap_error *error)
{
    const size_t n = psnap_reader_ahead(inner, BEGIN_BYTES);
    const struct psnap_compression *with = find(inner->data + inner->at, n);

    return with ? begin(with, inner, error) : inner;
}
