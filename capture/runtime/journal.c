/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the control ring has carried about images and modules, kept for the
 * children: a fork's child tells its own collector the same. Blocks of private
 * pages, each with a list of (length, words of the record), and with room for the record that it
 * was made for at least; they are only appended to and never move, so that a fork may come at any
 * moment.
 */
#include "runtime.h"

#include <string.h>

enum { BLOCK_WORDS = 64 << 10 }; /* at least */

struct block {
    struct block *next;
    uint64_t room, used; /* words; used ones are complete records */
    uint64_t words[];
};

static struct block *first_block, *last_block;

static bool add_block(uint64_t words)
{
    const uint64_t room = words > BLOCK_WORDS ? words : BLOCK_WORDS;
    struct block *block = psnap_rt_map(sizeof *block + room * sizeof *block->words);

    if (!block)
        return false;
    block->room = room;
    if (last_block)
        last_block->next = block;
    else
        first_block = block;
    last_block = block;
    return true;
}

bool psnap_rt_journal_add(const uint64_t *record, uint64_t words)
{
    if ((!last_block || last_block->room - last_block->used < 1 + words) && !add_block(1 + words))
        return false;
    last_block->words[last_block->used] = words;
    memcpy(last_block->words + last_block->used + 1, record, words * sizeof *record);
    __atomic_store_n(&last_block->used, last_block->used + 1 + words, __ATOMIC_RELEASE);
    return true;
}

void psnap_rt_journal_replay(void (*send)(const uint64_t *record, uint64_t words))
{
    for (const struct block *block = first_block; block; block = block->next)
        for (uint64_t at = 0; at < block->used; at += 1 + block->words[at])
            send(block->words + at + 1, block->words[at]);
}
