/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packs of records (pack.h).
 */
#include "profile/repo/pack.h"

static const char magic[4] = {'P', 'S', 'R', 'C'};

void pack_add(struct repo_bytes *body, const struct record *record)
{
    uint8_t head[RECORD_HEAD_BYTES] = {0};

    memcpy(head, magic, sizeof magic);
    head[4] = record->type;
    head[5] = record->codec;
    repo_put_u32(head + 8, record->stored_bytes);
    repo_put_u32(head + 12, record->raw_bytes);
    memcpy(head + 16, record->id.bytes, REPO_ID_BYTES);
    memcpy(head + 32, record->dictionary.bytes, REPO_ID_BYTES);
    repo_put_u64(head + 48, repo_sum_of(record->stored, record->stored_bytes));
    repo_put_u64(head + 56, repo_sum_of(head, 56));
    repo_bytes_add(body, head, sizeof head);
    repo_bytes_add(body, record->stored, record->stored_bytes);
}

bool pack_read_head(const uint8_t head[RECORD_HEAD_BYTES], struct record *record)
{
    if (memcmp(head, magic, sizeof magic) != 0 || repo_get_u64(head + 56) != repo_sum_of(head, 56))
        return false;
    *record = (struct record){.type = head[4], .codec = head[5]};
    record->stored_bytes = repo_get_u32(head + 8);
    record->raw_bytes = repo_get_u32(head + 12);
    memcpy(record->id.bytes, head + 16, REPO_ID_BYTES);
    memcpy(record->dictionary.bytes, head + 32, REPO_ID_BYTES);
    record->sum = repo_get_u64(head + 48);
    return record->raw_bytes <= REPO_RAW_MAX;
}

/* Where the next head may begin, at `offset` or behind it. */
static size_t find_magic(const uint8_t *body, size_t size, size_t offset)
{
    const uint8_t *found =
        offset < size ? memmem(body + offset, size - offset, magic, sizeof magic) : NULL;

    return found ? (size_t)(found - body) : size;
}

bool pack_next(const uint8_t *body, size_t size, size_t *offset, struct record *record)
{
    const size_t begin = *offset;

    for (size_t at = begin; at < size; at = find_magic(body, size, at + 1)) {
        if (size - at < RECORD_HEAD_BYTES || !pack_read_head(body + at, record))
            continue;
        record->offset = at;
        record->skipped = at - begin;
        record->stored = body + at + RECORD_HEAD_BYTES;
        if (record->stored_bytes > size - at - RECORD_HEAD_BYTES) { /* cut off: others may follow */
            record->is_whole = false;
            *offset = at + RECORD_HEAD_BYTES;
            return true;
        }
        record->is_whole = repo_sum_of(record->stored, record->stored_bytes) == record->sum;
        *offset = at + RECORD_HEAD_BYTES + record->stored_bytes;
        return true;
    }
    *record = (struct record){.skipped = size - begin};
    *offset = size;
    return false;
}
