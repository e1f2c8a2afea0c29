/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Parts that several edits share: errors with their place, counts and distances scaled without
 * loss, and the counts of loops whose iterations or entries are edited.
 */
#include <inttypes.h>
#include <stdarg.h>

#include "profile/edit/edit.h"

enum psnap_status edit_fail(const struct editing *e, uint32_t loop, uint32_t region,
                            const char *format, ...)
{
    char message[sizeof e->error->message];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    *e->loop = loop;
    *e->region = region;
    return psnap_error_set(e->error, PSNAP_ERROR_VALUE, "%s", message);
}

enum psnap_status edit_no_memory(const struct editing *e)
{
    return psnap_error_set(e->error, PSNAP_ERROR_MEMORY, "out of memory");
}

enum psnap_status edit_in_loop(const struct editing *e, uint32_t loop, enum psnap_status status)
{
    char message[sizeof e->error->message];

    if (status != PSNAP_ERROR_VALUE || *e->loop != PSNAP_NONE)
        return status;
    snprintf(message, sizeof message, "%s", e->error->message);
    return edit_fail(e, loop, PSNAP_NONE, "in loop '%.100s' %s", e->profile->loops[loop].id,
                     message);
}

enum psnap_status edit_have_iterations(const struct editing *e)
{
    for (uint32_t i = 0; i < e->profile->loop_count; i++)
        if (e->is_selected[i] && e->profile->loops[i].depth == 0)
            return edit_fail(e, i, PSNAP_NONE,
                             "'%.100s' is the body of a function, which has no iterations",
                             e->profile->loops[i].id);
    return PSNAP_OK;
}

enum psnap_status edit_scale(const struct editing *e, uint64_t times, uint64_t over, int64_t *value)
{
    __extension__ typedef __int128 wide;
    const wide product = (wide)(*value / (int64_t)over) * (wide)times;

    if (*value % (int64_t)over)
        return edit_fail(e, PSNAP_NONE, PSNAP_NONE,
                         "something goes on by %" PRId64 " bytes, no multiple of %" PRIu64, *value,
                         over);
    if (product > INT64_MAX || product < INT64_MIN)
        return edit_fail(e, PSNAP_NONE, PSNAP_NONE, "%" PRIu64 " times %" PRId64 " is too much",
                         times, *value);
    *value = (int64_t)product;
    return PSNAP_OK;
}

enum psnap_status edit_scale_count(const struct editing *e, uint64_t times, uint64_t over,
                                   uint64_t *count)
{
    __extension__ typedef unsigned __int128 wide;
    const wide product = (wide)(*count / over) * times;

    if (*count % over)
        return edit_fail(e, PSNAP_NONE, PSNAP_NONE,
                         "what is drawn %" PRIu64 " times cannot be drawn %" PRIu64 "/%" PRIu64
                         " as often",
                         *count, times, over);
    if (product > PSNAP_COUNT_MAX)
        return edit_fail(e, PSNAP_NONE, PSNAP_NONE,
                         "%" PRIu64 " times %" PRIu64 " is more than can be counted", times,
                         *count);
    *count = (uint64_t)product;
    return PSNAP_OK;
}

static enum psnap_status scale_known(const struct editing *e, uint64_t *count)
{
    return *count == UINT64_MAX ? PSNAP_OK : edit_scale_count(e, e->edit->times, 1, count);
}

enum psnap_status edit_scale_loops(struct editing *e)
{
    enum psnap_status status = PSNAP_OK;

    for (uint32_t i = 0; i < e->profile->loop_count && !status; i++) {
        struct psnap_profile_loop *loop = &e->profile->loops[i];
        if (!e->is_inside[i])
            continue;
        status = scale_known(e, &loop->iterations);
        if (!status && (e->edit->what == PSNAP_EDIT_ENTRIES || !e->is_selected[i]))
            status = scale_known(e, &loop->entries);
        for (unsigned op = 0; op < PSNAP_OPERATION_COUNT && !status; op++)
            status = edit_scale_count(e, e->edit->times, 1, &loop->operations[op]);
        status = edit_in_loop(e, i, status);
    }
    return status;
}
