/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The reader of native traces. An input that starts with 0x89 is a file as it
 * is. Any other is made into one that gets past the checksums, so that what
 * is behind them is reached: a sequence of frames, each with a byte for its
 * type (bits 0 and 1) and how it is stored, three for its accesses, two for its
 * size (both little-endian) and a payload. Bits 2 and 3 say how: as it is; as it
 * is, but called compressed (bits 4 and 5: the method); as the first part of a
 * stream; as the next one, which is what zstd makes of it.
 */
#include <zstd.h>

#include "formats/pst.h"
#include "tests/fuzz/fuzz_trace.h"

enum { AS_IT_IS, CALLED_COMPRESSED, BEGUN, CONTINUED };

/* The file under way. */
struct file {
    uint8_t *data;
    size_t size;
    uint64_t first, chain;
    ZSTD_CCtx *stream;
};

/* Puts the payload at `out` as the next part of the stream; returns how long it is. */
static size_t put_part(struct file *file, uint8_t *out, const uint8_t *payload, size_t size,
                       bool begins)
{
    ZSTD_inBuffer in = {payload, size, 0};
    ZSTD_outBuffer put = {out, ZSTD_compressBound(size) + 64, 0};

    if (begins)
        ZSTD_CCtx_reset(file->stream, ZSTD_reset_session_only);
    must(ZSTD_compressStream2(file->stream, &put, &in, ZSTD_e_flush) == 0);
    return put.pos;
}

/* Returns how much of the input it took. */
static size_t add_frame(struct file *file, const uint8_t *data, size_t size)
{
    static const uint32_t types[] = {PSNAP_PST_TABLES, PSNAP_PST_ACCESSES, PSNAP_PST_END,
                                     PSNAP_PST_TYPE('n', 'o', 't', 'e')};
    const uint32_t accesses = data[1] | (uint32_t)data[2] << 8 | (uint32_t)data[3] << 16;
    const uint8_t how = data[0] >> 2 & 3;
    uint8_t *header = file->data + file->size, *stored = header + PSNAP_PST_FRAME_HEADER;
    size_t payload = data[4] | (size_t)data[5] << 8, stored_size;

    if (payload > size - 6)
        payload = size - 6;
    stored_size = payload;
    if (how == BEGUN || how == CONTINUED)
        stored_size = put_part(file, stored, data + 6, payload, how == BEGUN);
    else
        memcpy(stored, data + 6, payload);
    memset(header, 0, PSNAP_PST_FRAME_HEADER);
    psnap_record_put_u32(header, types[data[0] % 4]);
    header[4] = how == CALLED_COMPRESSED ? data[0] >> 4 & 3 : how;
    psnap_record_put_u64(header + 8, file->first);
    psnap_record_put_u32(header + 16, accesses);
    psnap_record_put_u32(header + 20,
                         (uint32_t)payload + (how == CALLED_COMPRESSED ? accesses % 4096 : 0));
    psnap_record_put_u32(header + 24, (uint32_t)stored_size);
    psnap_pst_frame_seal(header, stored, stored_size, &file->chain);
    if (data[0] % 4 == 1)
        file->first += accesses;
    file->size += PSNAP_PST_FRAME_HEADER + stored_size;
    return 6 + payload;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct file file = {.size = PSNAP_PST_FILE_HEADER};
    size_t used;

    if (size > 0 && data[0] == 0x89) {
        fuzz_trace(data, size, "pst");
        return 0;
    }
    /* a frame takes six bytes of the input at least, and its payload a bit more than its size */
    file.data = malloc(PSNAP_PST_FILE_HEADER + (size / 6 + 1) * (PSNAP_PST_FRAME_HEADER + 192) +
                       size + size / 64);
    file.stream = ZSTD_createCCtx();
    must(file.data && file.stream);
    psnap_pst_file_header_make(file.data, PSNAP_PST_VERSION, &file.chain);
    for (; size >= 6; data += used, size -= used)
        used = add_frame(&file, data, size);
    fuzz_trace(file.data, file.size, NULL);
    ZSTD_freeCCtx(file.stream);
    free(file.data);
    return 0;
}
