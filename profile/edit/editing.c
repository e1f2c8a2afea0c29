/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An edit under way: its first failure, with the loop that it is about, its memory, and numbers
 * scaled without loss.
 */
#include "profile/edit/edit.h"

#include <inttypes.h>
#include <stdarg.h>

/* Says `place` and the rest, about a loop. */
static void fail(struct editing *e, uint32_t loop, const char *place, const char *format,
                 va_list arguments)
{
    char message[sizeof e->error->message];

    if (e->status)
        return;
    vsnprintf(message, sizeof message, format, arguments);
    *e->loop = loop;
    e->status = psnap_error_set(e->error, PSNAP_ERROR_VALUE, "%s%s", place, message);
}

void edit_fail(struct editing *e, uint32_t loop, const char *format, ...)
{
    const bool is_in_loop = loop == PSNAP_NONE && e->in_loop != PSNAP_NONE;
    char place[128] = "";
    va_list arguments;

    if (is_in_loop)
        snprintf(place, sizeof place, "in loop '%.100s' ", e->profile->loops[e->in_loop].id);
    va_start(arguments, format);
    fail(e, is_in_loop ? e->in_loop : loop, place, format, arguments);
    va_end(arguments);
}

void edit_fail_ref(struct editing *e, const struct model_ref *ref, const char *format, ...)
{
    char place[160];
    va_list arguments;

    snprintf(place, sizeof place, "reference %" PRIu32 " of loop '%.100s' ", ref->number,
             e->profile->loops[ref->loop].id);
    va_start(arguments, format);
    fail(e, ref->loop, place, format, arguments);
    va_end(arguments);
}

bool edit_need(struct editing *e, bool is_done)
{
    if (!is_done && !e->status)
        e->status = psnap_error_set(e->error, PSNAP_ERROR_MEMORY, "out of memory");
    return is_done;
}

void *edit_alloc(struct editing *e, size_t count, size_t size)
{
    void *items = count <= SIZE_MAX / size ? psnap_arena_alloc(e->arena, count * size) : NULL;

    edit_need(e, items != NULL);
    return items;
}

void edit_scale(struct editing *e, uint64_t times, uint64_t over, int64_t *value)
{
    __extension__ typedef __int128 wide;
    const wide product = (wide)(*value / (int64_t)over) * (wide)times;

    if (*value % (int64_t)over)
        edit_fail(e, PSNAP_NONE, "something goes on by %" PRId64 " bytes, no multiple of %" PRIu64,
                  *value, over);
    else if (product > INT64_MAX || product < INT64_MIN)
        edit_fail(e, PSNAP_NONE, "%" PRIu64 " times %" PRId64 " is too much", times, *value);
    else
        *value = (int64_t)product;
}

void edit_scale_steps(struct editing *e, uint64_t times, uint64_t over, struct edit_value *value,
                      uint32_t depth)
{
    for (uint32_t i = 0; i < depth; i++)
        edit_scale(e, times, over, &value->steps[i]);
}

void edit_scale_value(struct editing *e, struct edit_value *value, uint32_t depth)
{
    edit_scale(e, e->edit->times, 1, &value->first);
    edit_scale_steps(e, e->edit->times, 1, value, depth);
}

void edit_scale_count(struct editing *e, uint64_t *count)
{
    if (*count > PSNAP_COUNT_MAX / e->edit->times)
        edit_fail(e, PSNAP_NONE, "%" PRIu64 " times %" PRIu64 " is more than can be counted",
                  e->edit->times, *count);
    else
        *count *= e->edit->times;
}
