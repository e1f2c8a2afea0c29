/* SPDX-License-Identifier: BSD-3-Clause */
/* The order in which outcomes lie is that of their age, but for those at the end that were left
 * there when the room was gone through; these are the oldest. */
#include "simcore/memo_room.h"

#include <stdlib.h>

bool room_init(struct room *room, size_t size)
{
    room->size = size;
    room->bytes = malloc(size);
    return room->bytes;
}

void room_release(struct room *room)
{
    free(room->bytes);
}

const struct outcome *room_find(const struct room *room, uint64_t hash)
{
    const struct outcome *outcome = room->by_hash[hash % ROOM_OUTCOMES];

    return outcome && outcome->hash == hash ? outcome : NULL;
}

bool room_has_seen(struct room *room, uint64_t hash)
{
    uint64_t *seen = &room->seen[hash % ROOM_OUTCOMES];
    const bool has_seen = *seen == hash;

    *seen = hash;
    return has_seen;
}

void room_forget(struct room *room, const struct outcome *outcome)
{
    struct outcome **place = &room->by_hash[outcome->hash % ROOM_OUTCOMES];

    if (*place == outcome)
        *place = NULL;
}

/* Whether the oldest outcome lies in the `bytes` from the next one's place on. */
static bool is_in_the_way(const struct room *room, size_t bytes)
{
    const unsigned char *place = (const unsigned char *)room->queue[room->first];
    const size_t at = room->count ? (size_t)(place - room->bytes) : 0;

    return room->count && at >= room->at && at - room->at < bytes;
}

static void forget_oldest(struct room *room)
{
    room_forget(room, room->queue[room->first]);
    room->first = (room->first + 1) % ROOM_OUTCOMES;
    room->count--;
}

void *room_take(struct room *room, uint64_t hash, size_t bytes)
{
    void *place;

    if (bytes > room->size)
        return NULL;
    if (bytes > room->size - room->at) { /* from the start again */
        while (is_in_the_way(room, room->size))
            forget_oldest(room);
        room->at = 0;
    }
    while (room->count == ROOM_OUTCOMES || is_in_the_way(room, bytes))
        forget_oldest(room);
    place = room->bytes + room->at;
    room->at += bytes;
    room->queue[(room->first + room->count++) % ROOM_OUTCOMES] = place;
    room->by_hash[hash % ROOM_OUTCOMES] = place;
    return place;
}
