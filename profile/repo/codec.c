/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Compression of records by zstd, and its dictionaries. Frames have no checksum and no number of a
 * dictionary: records have both.
 */
#include "profile/repo/codec.h"

#include <stdlib.h>
#include <zdict.h>
#include <zstd.h>

enum { DICTIONARY_BYTES = 64 << 10 };

struct codec_dictionary {
    struct repo_id id;
    ZSTD_CDict *in;
    ZSTD_DDict *out;
};

struct codec {
    ZSTD_CCtx *in;
    ZSTD_DCtx *out;
};

struct codec_dictionary *codec_dictionary_new(const struct repo_bytes *bytes, int level)
{
    struct codec_dictionary *dictionary = calloc(1, sizeof *dictionary);

    if (!dictionary)
        return NULL;
    repo_id_of(bytes->data, bytes->size, &dictionary->id);
    dictionary->in = ZSTD_createCDict(bytes->data, bytes->size, level);
    dictionary->out = ZSTD_createDDict(bytes->data, bytes->size);
    if (dictionary->in && dictionary->out)
        return dictionary;
    codec_dictionary_free(dictionary);
    return NULL;
}

void codec_dictionary_free(struct codec_dictionary *dictionary)
{
    if (!dictionary)
        return;
    ZSTD_freeCDict(dictionary->in);
    ZSTD_freeDDict(dictionary->out);
    free(dictionary);
}

const struct repo_id *codec_dictionary_id(const struct codec_dictionary *dictionary)
{
    return &dictionary->id;
}

struct codec *codec_new(void)
{
    struct codec *codec = calloc(1, sizeof *codec);

    if (!codec)
        return NULL;
    codec->in = ZSTD_createCCtx();
    codec->out = ZSTD_createDCtx();
    if (codec->in && codec->out)
        return codec;
    codec_free(codec);
    return NULL;
}

void codec_free(struct codec *codec)
{
    if (!codec)
        return;
    ZSTD_freeCCtx(codec->in);
    ZSTD_freeDCtx(codec->out);
    free(codec);
}

enum psnap_status codec_compress(struct codec *codec, const struct codec_dictionary *dictionary,
                                 int level, const void *raw, size_t size, struct repo_bytes *stored,
                                 struct record *record, struct psnap_error *error)
{
    const size_t bound = ZSTD_compressBound(size);
    uint8_t *at = size > REPO_RAW_MAX ? NULL : repo_bytes_room(stored, bound);
    size_t n;

    if (!at)
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    ZSTD_CCtx_reset(codec->in, ZSTD_reset_session_and_parameters);
    ZSTD_CCtx_setParameter(codec->in, ZSTD_c_compressionLevel, level);
    ZSTD_CCtx_setParameter(codec->in, ZSTD_c_dictIDFlag, 0);
    if (dictionary)
        ZSTD_CCtx_refCDict(codec->in, dictionary->in);
    n = ZSTD_compress2(codec->in, at, bound, raw, size);
    if (ZSTD_isError(n))
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "cannot compress: %s",
                               ZSTD_getErrorName(n));
    record->codec = n < size ? CODEC_ZSTD : CODEC_PLAIN;
    if (record->codec == CODEC_PLAIN) {
        memcpy(at, raw, size);
        n = size;
    } else if (dictionary) {
        record->dictionary = dictionary->id;
    }
    record->stored = at;
    record->stored_bytes = (uint32_t)n;
    record->raw_bytes = (uint32_t)size;
    stored->size += n;
    return PSNAP_OK;
}

enum psnap_status codec_expand(struct codec *codec, const struct codec_dictionary *dictionary,
                               const struct record *record, struct repo_bytes *raw,
                               struct psnap_error *error)
{
    const bool is_plain = record->codec == CODEC_PLAIN;
    uint8_t *at;
    size_t n;

    if (record->codec > CODEC_ZSTD)
        return psnap_error_set(error, PSNAP_ERROR_VERSION,
                               "a newer psnap has compressed it (codec %u)", record->codec);
    if (is_plain
            ? record->stored_bytes != record->raw_bytes
            : ZSTD_getFrameContentSize(record->stored, record->stored_bytes) != record->raw_bytes)
        return psnap_error_set(error, PSNAP_ERROR_CORRUPT,
                               "its length is not the one that it says");
    at = repo_bytes_room(raw, record->raw_bytes);
    if (!at)
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    if (is_plain) {
        memcpy(at, record->stored, record->raw_bytes);
        n = record->raw_bytes;
    } else {
        ZSTD_DCtx_reset(codec->out, ZSTD_reset_session_and_parameters);
        if (dictionary)
            ZSTD_DCtx_refDDict(codec->out, dictionary->out);
        n = ZSTD_decompressDCtx(codec->out, at, record->raw_bytes, record->stored,
                                record->stored_bytes);
    }
    if (ZSTD_isError(n) || n != record->raw_bytes)
        return psnap_error_set(error, PSNAP_ERROR_CORRUPT, "it cannot be decompressed: %s",
                               ZSTD_isError(n) ? ZSTD_getErrorName(n) : "too short");
    raw->size += n;
    return PSNAP_OK;
}

bool codec_train(const void *samples, const size_t *sizes, unsigned count,
                 struct repo_bytes *dictionary)
{
    uint8_t *at = repo_bytes_room(dictionary, DICTIONARY_BYTES);
    size_t n, all = 0;

    for (unsigned i = 0; i < count; i++)
        all += sizes[i];
    if (!at || all < (size_t)4 * DICTIONARY_BYTES)
        return false;
    n = ZDICT_trainFromBuffer(at, DICTIONARY_BYTES, samples, sizes, count);
    if (ZDICT_isError(n))
        return false;
    dictionary->size += n;
    return true;
}
