/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a repository reads of files from elsewhere: sealed files, packs, records, notes, facts, and
 * queries. Whatever is taken is within the bytes that are there; a body that is sealed anew opens
 * whole.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "profile/repo/codec.h"
#include "profile/repo/facts.h"
#include "profile/repo/note.h"
#include "profile/repo/query.h"
#include "profile/repo/seal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool condition)
{
    if (!condition)
        abort();
}

static void look_at_text(const void *data, size_t size)
{
    const struct repo_bytes lines = {.data = (uint8_t *)(uintptr_t)data, .size = size};
    struct repo_bytes again = {0};
    struct facts facts;
    struct note note, back;

    if (facts_read(&lines, &facts))
        facts_release(&facts);
    if (!note_read(&lines, &note))
        return;
    note_write(&note, &again);
    must(note_read(&again, &back) && back.version == note.version && !back.tags == !note.tags);
    must(!note.tags || !strcmp(note.tags, back.tags));
    note_release(&note);
    note_release(&back);
    repo_bytes_release(&again);
}

static void look_at_query(const uint8_t *data, size_t size)
{
    struct query query = {.like = NULL};
    struct psnap_error error = {.message = ""};
    char *text = strndup((const char *)data, size);

    must(text != NULL);
    if (query_parse(&query, text, &error))
        must(error.message[0]);
    must(query.ask.count <= DB_VALUES_MAX);
    query_release(&query);
    free(text);
}

static void look_at_records(const uint8_t *body, size_t size)
{
    struct codec *codec = codec_new();
    struct repo_bytes raw = {0};
    struct psnap_error error;
    struct record record;
    size_t at = 0, before = 0;

    must(codec != NULL);
    for (; pack_next(body, size, &at, &record); before = at) {
        must(at > before && at <= size && record.offset + record.skipped >= before);
        if (!record.is_whole || record.raw_bytes > 1 << 20)
            continue;
        raw.size = 0;
        if (!codec_expand(codec, NULL, &record, &raw, &error)) {
            must(raw.size == record.raw_bytes);
            look_at_text(raw.data, raw.size);
        }
    }
    must(at == size);
    codec_free(codec);
    repo_bytes_release(&raw);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct repo_bytes file = {0};
    struct sealed sealed;
    uint8_t *copy = malloc(size + 1);

    must(copy != NULL);
    memcpy(copy, data, size);
    seal_open(copy, size, &sealed);
    must(sealed.body >= copy && sealed.body + sealed.size <= copy + size);
    look_at_records(sealed.body, sealed.size);
    look_at_records(data, size);
    look_at_text(data, size);
    look_at_query(data, size);
    seal_add(&file, data, size);
    must(!file.is_short);
    seal_open(file.data, file.size, &sealed);
    must(sealed.state == SEAL_WHOLE && sealed.size == size && !memcmp(sealed.body, data, size));
    repo_bytes_release(&file);
    free(copy);
    return 0;
}
