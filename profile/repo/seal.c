/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sealing and opening of files (seal.h has the layout). All of a file is under a sum: head and tail
 * under each other's, body and parity under those of their blocks, these under the tail's.
 */
#include "profile/repo/seal.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { VERSION = 1, GROUP = 32, TAIL_BYTES = 8 + SEAL_HEAD_BYTES };
#define MAGIC "psnapobj"

/* Where the parts of a file are, by its head. */
struct layout {
    size_t block, blocks, parities; /* bytes; numbers */
    size_t body, parity, sums, tail, total;
};

static size_t block_bytes(size_t body)
{
    return body < (16 << 10) ? 256 : 1024;
}

static void lay_out(struct layout *l, size_t block, size_t body)
{
    l->block = block;
    l->blocks = body / block + (body % block != 0);
    l->parities = l->blocks / GROUP + (l->blocks % GROUP != 0);
    l->parities += !l->parities;
    l->body = body;
    l->parity = SEAL_HEAD_BYTES + body;
    l->sums = l->parity + l->parities * block;
    l->tail = l->sums + 4 * (l->blocks + l->parities);
    l->total = l->tail + TAIL_BYTES;
}

static void put_head(uint8_t *at, const struct layout *l)
{
    memcpy(at, MAGIC, 8);
    repo_put_u32(at + 8, VERSION);
    repo_put_u32(at + 12, (uint32_t)l->block);
    repo_put_u64(at + 16, l->body);
    repo_put_u64(at + 24, repo_sum_of(at, 24));
}

static bool get_head(const uint8_t *at, struct layout *l)
{
    const uint64_t body = repo_get_u64(at + 16);
    const uint32_t block = repo_get_u32(at + 12);

    if (memcmp(at, MAGIC, 8) != 0 || repo_get_u64(at + 24) != repo_sum_of(at, 24) ||
        repo_get_u32(at + 8) != VERSION || body > SIZE_MAX / 4 || block < 16 || block > 1 << 20)
        return false;
    lay_out(l, block, (size_t)body);
    return true;
}

static size_t size_of(const struct layout *l, size_t block)
{
    const size_t left = block < l->blocks ? l->body - block * l->block : l->block;

    return left < l->block ? left : l->block;
}

/* Block `block` of body and parity. */
static uint8_t *block_at(uint8_t *file, const struct layout *l, size_t block)
{
    return block < l->blocks ? file + SEAL_HEAD_BYTES + block * l->block
                             : file + l->parity + (block - l->blocks) * l->block;
}

static uint32_t sum_of(uint8_t *file, const struct layout *l, size_t block)
{
    return (uint32_t)repo_sum_of(block_at(file, l, block), size_of(l, block));
}

static void add_to(uint8_t *sum, const uint8_t *data, size_t size)
{
    for (size_t i = 0; i < size; i++)
        sum[i] ^= data[i];
}

void seal_add(struct repo_bytes *out, const void *body, size_t size)
{
    struct layout l;
    uint8_t *file;

    lay_out(&l, block_bytes(size), size);
    file = repo_bytes_room(out, l.total);
    if (!file)
        return;
    put_head(file, &l);
    if (size)
        memcpy(file + SEAL_HEAD_BYTES, body, size);
    memset(file + l.parity, 0, l.parities * l.block);
    for (size_t i = 0; i < l.blocks; i++)
        add_to(block_at(file, &l, l.blocks + i % l.parities), block_at(file, &l, i),
               size_of(&l, i));
    for (size_t i = 0; i < l.blocks + l.parities; i++)
        repo_put_u32(file + l.sums + 4 * i, sum_of(file, &l, i));
    repo_put_u64(file + l.tail, repo_sum_of(file + l.sums, l.tail - l.sums));
    put_head(file + l.tail + 8, &l);
    out->size += l.total;
}

/* The first damage is told, the worst one counts. */
static void PSNAP_PRINTF(3, 4)
    damaged(struct sealed *sealed, enum seal_state state, const char *format, ...)
{
    va_list arguments;

    if (sealed->state < state)
        sealed->damage[0] = '\0';
    if (!sealed->damage[0]) {
        va_start(arguments, format);
        vsnprintf(sealed->damage, sizeof sealed->damage, format, arguments);
        va_end(arguments);
    }
    if (sealed->state < state)
        sealed->state = state;
}

/* A block is made again of the others of its group and their parity; false: it is not the only one
 * that is wrong. */
static bool mend(uint8_t *file, const struct layout *l, size_t block)
{
    const size_t group = block % l->parities;
    uint8_t *made = calloc(1, l->block);
    bool is_good = made != NULL;

    if (is_good)
        add_to(made, block_at(file, l, l->blocks + group), l->block);
    for (size_t i = group; is_good && i < l->blocks; i += l->parities)
        if (i != block)
            add_to(made, block_at(file, l, i), size_of(l, i));
    is_good = is_good && (uint32_t)repo_sum_of(made, size_of(l, block)) ==
                             repo_get_u32(file + l->sums + 4 * block);
    if (is_good)
        memcpy(block_at(file, l, block), made, size_of(l, block));
    free(made);
    return is_good;
}

static void check_blocks(uint8_t *file, const struct layout *l, struct sealed *sealed)
{
    for (size_t i = 0; i < l->blocks + l->parities; i++) {
        const size_t at = (size_t)(block_at(file, l, i) - file);
        if (sum_of(file, l, i) == repo_get_u32(file + l->sums + 4 * i))
            continue;
        if (i >= l->blocks)
            damaged(sealed, SEAL_MENDED, "bytes %zu to %zu (parity) are wrong", at,
                    at + l->block - 1);
        else if (mend(file, l, i))
            damaged(sealed, SEAL_MENDED, "bytes %zu to %zu are wrong", at, at + size_of(l, i) - 1);
        else
            damaged(sealed, SEAL_DAMAGED, "bytes %zu to %zu are lost", at, at + size_of(l, i) - 1);
    }
}

/* The layout by the head or, where that is damaged, by its copy in the tail. */
static bool find_layout(uint8_t *file, size_t size, struct sealed *sealed, struct layout *l)
{
    if (size >= SEAL_HEAD_BYTES && get_head(file, l))
        return true;
    if (size >= SEAL_HEAD_BYTES + TAIL_BYTES && get_head(file + size - SEAL_HEAD_BYTES, l) &&
        l->total == size) {
        damaged(sealed, SEAL_MENDED, "bytes 0 to %d (head) are wrong", SEAL_HEAD_BYTES - 1);
        return true;
    }
    damaged(sealed, SEAL_DAMAGED,
            size ? "neither its head nor its tail is one of a repository's file" : "it is empty");
    return false;
}

void seal_open(uint8_t *file, size_t size, struct sealed *sealed)
{
    const size_t head = size < SEAL_HEAD_BYTES ? size : SEAL_HEAD_BYTES;
    struct layout l, again;

    *sealed = (struct sealed){.body = file + head, .size = size - head};
    if (!find_layout(file, size, sealed, &l))
        return;
    if (size < l.total) {
        if (sealed->size > l.body)
            sealed->size = l.body;
        damaged(sealed, SEAL_DAMAGED, "it ends after %zu of %zu bytes", size, l.total);
        return;
    }
    sealed->size = l.body;
    if (size > l.total)
        damaged(sealed, SEAL_MENDED, "%zu bytes behind its end", size - l.total);
    if (!get_head(file + l.tail + 8, &again) || again.body != l.body || again.block != l.block)
        damaged(sealed, SEAL_MENDED, "bytes %zu to %zu (tail) are wrong", l.tail + 8, l.total - 1);
    /* of sums that are wrong no block can be judged: records have sums of their own */
    if (repo_sum_of(file + l.sums, l.tail - l.sums) != repo_get_u64(file + l.tail))
        damaged(sealed, SEAL_MENDED, "bytes %zu to %zu (sums) are wrong", l.sums, l.tail + 7);
    else
        check_blocks(file, &l, sealed);
}
