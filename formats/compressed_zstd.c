/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * zstd's frames (RFC 8878), and its skippable frames, which pzstd writes. A window
 * has at most 128 MiB, as for zstd(1) itself without --long.
 */
#include "formats/compressed.h"

#include <string.h>
#include <zstd.h>
#include <zstd_errors.h>

static bool is_zstd(const unsigned char *start, size_t n)
{
    return n >= 4 && (memcmp(start, "\x28\xb5\x2f\xfd", 4) == 0 ||
                      ((start[0] & 0xf0) == 0x50 && memcmp(start + 1, "\x2a\x4d\x18", 3) == 0));
}

static void *zstd_begin_read(void)
{
    return ZSTD_createDCtx();
}

static void zstd_end_read(void *state)
{
    ZSTD_freeDCtx(state);
}

static enum psnap_status zstd_read(void *state, struct psnap_compress_step *step,
                                   struct psnap_error *error)
{
    ZSTD_inBuffer in = {step->in, step->in_size, 0};
    ZSTD_outBuffer out = {step->out, step->out_size, 0};
    const size_t left = ZSTD_decompressStream(state, &out, &in);

    step->in_used = in.pos;
    step->out_made = out.pos;
    step->may_end = left == 0;
    if (!ZSTD_isError(left))
        return PSNAP_OK;
    switch (ZSTD_getErrorCode(left)) {
    case ZSTD_error_memory_allocation:
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    case ZSTD_error_frameParameter_windowTooLarge:
        return psnap_error_set(error, PSNAP_ERROR_MEMORY,
                               "the zstd data need a window of more than 128 MiB (zstd --long); "
                               "decompress them into a pipe and read '-'");
    default:
        return psnap_error_set(error, PSNAP_ERROR_CORRUPT, "damaged zstd data: %s",
                               ZSTD_getErrorName(left));
    }
}

#define LEVEL 3 /* zstd's own */

static void *zstd_begin_write(void)
{
    ZSTD_CCtx *context = ZSTD_createCCtx();

    if (context && !ZSTD_isError(ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, LEVEL)) &&
        !ZSTD_isError(ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1)))
        return context;
    ZSTD_freeCCtx(context);
    return NULL;
}

static void zstd_end_write(void *state)
{
    ZSTD_freeCCtx(state);
}

static enum psnap_status zstd_write(void *state, struct psnap_compress_step *step,
                                    struct psnap_error *error)
{
    ZSTD_inBuffer in = {step->in, step->in_size, 0};
    ZSTD_outBuffer out = {step->out, step->out_size, 0};
    const size_t left =
        ZSTD_compressStream2(state, &out, &in, step->is_last ? ZSTD_e_end : ZSTD_e_continue);

    step->in_used = in.pos;
    step->out_made = out.pos;
    step->may_end = step->is_last && left == 0;
    if (!ZSTD_isError(left))
        return PSNAP_OK;
    return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
}

const struct psnap_compression psnap_compression_zstd = {
    .name = "zstd",
    .suffix = ".zst",
    .is_mine = is_zstd,
    .begin_read = zstd_begin_read,
    .begin_write = zstd_begin_write,
    .read = zstd_read,
    .write = zstd_write,
    .end_read = zstd_end_read,
    .end_write = zstd_end_write,
};
