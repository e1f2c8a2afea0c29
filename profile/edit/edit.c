/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An edit from its beginning to its end: which loops and arrays it is about, the change in either
 * model, loops that are not there any more.
 */
#include "profile/edit/edit.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/divisor.h"

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

enum psnap_status edit_have_iterations(const struct editing *e, const bool *is_there)
{
    for (uint32_t i = 0; i < e->profile->loop_count; i++)
        if (e->is_selected[i] && !(is_there && is_there[i]) && e->profile->loops[i].depth == 0)
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

/* ---- which loops ---- */

static bool is_named(const struct psnap_profile *profile, uint32_t i, const char *id)
{
    const struct psnap_profile_loop *loop = &profile->loops[i];

    return !strcmp(loop->id, id) || !strcmp(loop->src_id, id) ||
           (loop->whole != PSNAP_NONE && is_named(profile, loop->whole, id));
}

static bool is_within_any(const struct editing *e, uint32_t loop)
{
    for (; loop != PSNAP_NONE; loop = e->profile->loops[loop].parent)
        if (e->is_selected[loop])
            return true;
    return false;
}

static enum psnap_status no_such_loop(const struct editing *e)
{
    const char *nearest = psnap_profile_nearest_loop(e->profile, e->edit->loop);

    if (!nearest)
        return edit_fail(e, PSNAP_NONE, PSNAP_NONE,
                         "there is no loop '%.100s'; 'psnap show' lists them", e->edit->loop);
    return edit_fail(e, PSNAP_NONE, PSNAP_NONE, "there is no loop '%.100s'; did you mean '%.100s'?",
                     e->edit->loop, nearest);
}

/* The edit's loop, with its parts: of a loop of the source those that the optimiser made, of any
 * those of threads. */
static enum psnap_status select_loops(struct editing *e)
{
    const struct psnap_profile *profile = e->profile;
    bool is_any = false;

    for (uint32_t i = 0; i < profile->loop_count; i++) {
        e->is_selected[i] = !e->edit->loop || is_named(profile, i, e->edit->loop);
        is_any |= e->is_selected[i];
    }
    for (uint32_t i = 0; i < profile->loop_count; i++)
        e->is_inside[i] = is_within_any(e, i) || is_within_any(e, profile->loops[i].whole);
    return is_any ? PSNAP_OK : no_such_loop(e);
}

/* ---- loops that are gone ---- */

static enum psnap_status drop_loops(struct editing *e)
{
    struct psnap_profile *profile = e->profile;
    uint32_t *kept = calloc(profile->loop_count + (size_t)1, sizeof *kept), count = 0;
    enum psnap_status status = PSNAP_OK;

    if (!kept)
        return edit_no_memory(e);
    for (uint32_t i = 0; i < profile->loop_count; i++)
        kept[i] = e->is_inside[i] ? PSNAP_NONE : count++;
    for (uint32_t i = 0; i < profile->schedule.count; i++)
        if (profile->schedule.items[i].what != PSNAP_NONE)
            profile->schedule.items[i].what = kept[profile->schedule.items[i].what];
    for (uint32_t i = 0; i < profile->loop_count && !status; i++) {
        struct psnap_profile_loop *loop = &profile->loops[i];
        if (kept[i] == PSNAP_NONE)
            continue;
        loop->parent = loop->parent == PSNAP_NONE ? PSNAP_NONE : kept[loop->parent];
        loop->whole = loop->whole == PSNAP_NONE ? PSNAP_NONE : kept[loop->whole];
        profile->loops[kept[i]] = *loop;
    }
    if (profile->stream)
        edit_renumber(e, kept);
    profile->loop_count = status ? profile->loop_count : count;
    free(kept);
    return status;
}

enum psnap_status psnap_profile_edit(struct psnap_profile *profile, const struct psnap_edit *edit,
                                     uint32_t *loop, uint32_t *region, struct psnap_error *error)
{
    const size_t loops = profile->loop_count + (size_t)1;
    struct editing e = {.profile = profile,
                        .edit = edit,
                        .is_selected = calloc(loops, sizeof(bool)),
                        .is_inside = calloc(loops, sizeof(bool)),
                        .loop = loop,
                        .region = region,
                        .error = error};
    enum psnap_status status = e.is_selected && e.is_inside ? PSNAP_OK : edit_no_memory(&e);

    *loop = *region = PSNAP_NONE;
    *error->message = '\0';
    profile->certificate = NULL;
    if (!status)
        status = select_loops(&e);
    if (!status)
        status = edit_find_arrays(&e);
    if (!status && edit->what != PSNAP_EDIT_MERGE && edit->what != PSNAP_EDIT_REUSE)
        status = edit_want_arrays(&e);
    for (uint32_t i = 0; i < e.array_count && !status; i++) {
        struct edit_array *array = &e.arrays[i];
        if (!array->is_wanted)
            continue;
        if (edit->what == PSNAP_EDIT_SPAN) {
            const uint64_t parts = psnap_common_divisor(edit->times, edit->over);
            array->times = edit->times / parts;
            array->over = edit->over / parts;
        }
        array->pad = edit->what == PSNAP_EDIT_PAD ? (uint64_t)edit->bytes : 0;
        array->moved = edit->what == PSNAP_EDIT_MOVE ? edit->bytes : 0;
    }
    if (!status && (edit->what == PSNAP_EDIT_INTERLEAVE || edit->what == PSNAP_EDIT_SPLIT))
        status = edit_lay_fields(&e);
    if (!status && !profile->stream && edit->what == PSNAP_EDIT_REUSE)
        status = edit_fail(&e, PSNAP_NONE, PSNAP_NONE,
                           "the published model has no reuse times: strides and working sets of "
                           "its regions can be changed");
    if (!status)
        status = profile->stream ? edit_model(&e) : edit_published(&e);
    if (!status && edit->what == PSNAP_EDIT_REMOVE)
        status = drop_loops(&e);
    for (uint32_t i = 0; i < e.array_count; i++)
        free(e.arrays[i].fields);
    free(e.arrays);
    free(e.is_selected);
    free(e.is_inside);
    return status;
}
