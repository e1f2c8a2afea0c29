/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The reader of native traces. An input that starts with 0x89 is a file as it
 * is. Any other is made into one that gets past the checksums, so that what
 * is behind them is reached: a sequence of frames, each with a byte for its
 * type, three for its accesses, two for its size (both little-endian) and a
 * payload that is stored without compression.
 */
#include "formats/pst.h"
#include "tests/fuzz/fuzz_trace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t add_frame(uint8_t *out, const uint8_t *data, size_t size, uint64_t *first,
                        uint64_t *chain, size_t *used)
{
    static const uint32_t types[] = {PSNAP_PST_TABLES, PSNAP_PST_ACCESSES, PSNAP_PST_END,
                                     PSNAP_PST_TYPE('n', 'o', 't', 'e')};
    const uint32_t accesses = data[1] | (uint32_t)data[2] << 8 | (uint32_t)data[3] << 16;
    size_t payload = data[4] | (size_t)data[5] << 8;

    if (payload > size - 6)
        payload = size - 6;
    memset(out, 0, PSNAP_PST_FRAME_HEADER);
    psnap_store_u32(out, types[data[0] % 4]);
    psnap_store_u64(out + 8, *first);
    psnap_store_u32(out + 16, accesses);
    psnap_store_u32(out + 20, (uint32_t)payload);
    psnap_store_u32(out + 24, (uint32_t)payload);
    memcpy(out + PSNAP_PST_FRAME_HEADER, data + 6, payload);
    psnap_pst_frame_seal(out, data + 6, payload, chain);
    if (data[0] % 4 == 1)
        *first += accesses;
    *used = 6 + payload;
    return PSNAP_PST_FRAME_HEADER + payload;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *file;
    size_t n = PSNAP_PST_FILE_HEADER, used;
    uint64_t chain, first = 0;

    if (size > 0 && data[0] == 0x89) {
        fuzz_trace(data, size, "pst");
        return 0;
    }
    file = malloc(PSNAP_PST_FILE_HEADER + (size / 6 + 1) * PSNAP_PST_FRAME_HEADER + size);
    fuzz_must(file != NULL);
    psnap_pst_file_header_make(file, PSNAP_PST_VERSION, &chain);
    for (; size >= 6; data += used, size -= used)
        n += add_frame(file + n, data, size, &first, &chain, &used);
    fuzz_trace(file, n, NULL);
    free(file);
    return 0;
}
