/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The leaves of a loop in order, one at a time: for each loop around a leaf a frame, with
 * the values of its present iteration.
 */
#include <stdlib.h>
#include <string.h>

#include "formats/base/room.h"
#include "profile/nest/nest.h"

enum { FRAMES_FIRST = 4 };

void nest_cursor_free(struct nest_cursor *cursor)
{
    free(cursor->frames);
    free(cursor->values);
    *cursor = (struct nest_cursor){0};
}

/* A frame on top for an iteration of the loop. */
static bool enter(struct nest_cursor *cursor, const struct nest_pattern *loop, uint64_t count)
{
    const size_t n = loop->values - 1, room = (cursor->used + n) * 2;

    if (cursor->depth == NEST_DEPTH_MAX)
        return false;
    if (cursor->depth == cursor->frame_room) {
        const uint32_t frames = cursor->frame_room ? 2 * cursor->frame_room : FRAMES_FIRST;
        if (!psnap_resize(&cursor->frames, frames, sizeof *cursor->frames))
            return false;
        cursor->frame_room = frames;
    }
    if (cursor->used + n > cursor->room) {
        if (!psnap_resize(&cursor->values, room, sizeof *cursor->values))
            return false;
        cursor->room = room;
    }
    cursor->frames[cursor->depth++] =
        (struct nest_frame){.pattern = loop, .left = count, .at = cursor->used};
    cursor->used += n;
    return true;
}

bool nest_cursor_start(struct nest_cursor *cursor, const struct nest_pattern *loop,
                       const uint64_t *values, uint64_t done, uint64_t count)
{
    cursor->depth = 0;
    cursor->used = 0;
    if (!enter(cursor, loop, count))
        return false;
    cursor->frames[0].done = done;
    for (size_t i = 0; i + 1 < loop->values; i++)
        cursor->values[i] = values[1 + i] + done * loop->steps[i];
    return true;
}

/* The next iteration; false when there is none. */
static bool advance(struct nest_cursor *cursor, struct nest_frame *frame)
{
    const struct nest_pattern *loop = frame->pattern;
    uint64_t *values = cursor->values + frame->at;

    if (--frame->left == 0)
        return false;
    for (size_t i = 0; i + 1 < loop->values; i += 2) { /* a leaf of numbers has two */
        values[i] += loop->steps[i];
        if (i + 2 < loop->values)
            values[i + 1] += loop->steps[i + 1];
    }
    frame->done++;
    frame->child = frame->offset = 0;
    return true;
}

int nest_cursor_step(struct nest_cursor *cursor, struct nest_leaf *leaf)
{
    while (cursor->depth) {
        struct nest_frame *frame = &cursor->frames[cursor->depth - 1];
        const struct nest_pattern *child;
        size_t at;
        if (frame->child == frame->pattern->body_count && !advance(cursor, frame)) {
            cursor->used = frame->at;
            cursor->depth--;
            continue;
        }
        child = frame->pattern->body[frame->child++];
        at = frame->at + frame->offset;
        frame->offset += child->values;
        if ((int64_t)cursor->values[at] <= 0)
            continue;
        if (!child->body_count) {
            *leaf = (struct nest_leaf){child, cursor->values + at};
            return 1;
        }
        if (!enter(cursor, child, cursor->values[at]))
            return -1;
        memcpy(cursor->values + cursor->used - (child->values - 1), cursor->values + at + 1,
               (child->values - 1) * sizeof *cursor->values);
    }
    return 0;
}
