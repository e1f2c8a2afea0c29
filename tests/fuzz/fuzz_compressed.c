/* SPDX-License-Identifier: BSD-3-Clause */
/* The decompressors: what they make is read to its end or error, in two ways that must agree. */
#include "formats/reader.h"
#include "tests/fuzz/fuzz_trace.h"

#define OUT_MAX (8u << 20) /* bytes that are read of what is decompressed */

struct result {
    uint64_t bytes, hash;
    enum psnap_status status;
};

/* Input comes in pieces of `piece` bytes. */
struct pieces {
    struct fuzz_input input;
    size_t piece;
};

static ssize_t read_piece(void *context, void *buffer, size_t n)
{
    struct pieces *pieces = context;

    return fuzz_read(&pieces->input, buffer, n < pieces->piece ? n : pieces->piece);
}

static struct result drain(const uint8_t *data, size_t size, size_t piece)
{
    struct pieces pieces = {{data, size, 0}, piece};
    struct psnap_error error = {.code = PSNAP_OK};
    struct psnap_reader *reader = psnap_reader_new(read_piece, NULL, &pieces, "fuzz", &error);
    struct result result = {0, 0, PSNAP_OK};
    size_t n;

    must(reader != NULL);
    reader = psnap_decompress(reader, &error);
    if (!reader) {
        must(error.code < 0 && error.message[0]);
        result.status = error.code;
        return result;
    }
    while (result.bytes < OUT_MAX && (n = psnap_reader_ahead(reader, 1)) > 0) {
        for (size_t i = 0; i < n; i++)
            result.hash = (result.hash ^ reader->data[reader->at + i]) * UINT64_C(0x100000001b3);
        must(reader->data[reader->end] == 0);
        result.bytes += n;
        reader->at += n;
    }
    if (result.bytes < OUT_MAX) {
        result.status = psnap_reader_failed(reader, &error);
        must(result.status == PSNAP_OK || (error.code == result.status && error.message[0]));
        must(result.status != PSNAP_OK || psnap_reader_bytes(reader) == size);
    } else {
        result.bytes = result.hash = 0; /* stopped at another place */
    }
    psnap_reader_free(reader);
    return result;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct result at_once = drain(data, size, SIZE_MAX);
    const struct result in_pieces = drain(data, size, 1 + size / 7);

    must((at_once.status == PSNAP_OK) == (in_pieces.status == PSNAP_OK));
    if (at_once.status == PSNAP_OK)
        must(at_once.bytes == in_pieces.bytes && at_once.hash == in_pieces.hash);
    return 0;
}
