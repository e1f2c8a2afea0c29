/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bodies of parts, for edits that change how often something executes: the count of the whole loop
 * becomes trip counts of each part, which are edited as those of other bodies.
 */
#include "profile/edit/edit.h"
#include "profile/model.h"
#include "profile/nest/series.h"
#include "profile/walk/reader.h"

enum {
    VALUES_MAX = 1024, /* of the trip counts of a part */
    STEPS_MAX = 1 << 24
};

static bool is_inside(const struct editing *e, const struct model_body *whole)
{
    for (uint32_t i = 0; i < whole->part_count; i++)
        if (e->is_inside[e->profile->stream->bodies[whole->parts[i].body].loop])
            return true;
    return false;
}

/* The trip counts of each part, in the order of the executions; false: out of memory. */
static bool tell_parts(const struct model_body *whole, uint64_t executions, struct series *series)
{
    uint64_t counts[EXPAND_PARTS];
    struct reader reader;
    bool is_done = true;

    reader_init(&reader, &whole->trips);
    for (uint64_t n = 0; is_done && n < executions; n++) {
        expand_counts(whole->parts, whole->part_count, reader_next(&reader), counts);
        for (uint32_t i = 0; is_done && i < whole->part_count; i++)
            is_done = series_put(&series[i], counts[i], 0, 1);
    }
    reader_release(&reader);
    for (uint32_t i = 0; is_done && i < whole->part_count; i++)
        is_done = series_end(&series[i], VALUES_MAX);
    return is_done;
}

static enum psnap_status part_whole(struct editing *e, struct model_body *whole)
{
    struct psnap_stream_model *model = e->profile->stream;
    struct series series[EXPAND_PARTS];
    enum psnap_status status = PSNAP_OK;

    if (whole->executions > STEPS_MAX)
        return edit_fail(e, whole->loop, PSNAP_NONE, "'%.100s' executes too often to follow",
                         whole->id);
    for (uint32_t i = 0; i < whole->part_count; i++)
        series_init(&series[i], model->patterns);
    if (!tell_parts(whole, whole->executions, series))
        status = edit_no_memory(e);
    for (uint32_t i = 0; i < whole->part_count && !status; i++) {
        struct model_body *part = &model->bodies[whole->parts[i].body];
        part->is_part = false;
        if (series[i].is_none)
            status = edit_fail(e, part->loop, PSNAP_NONE,
                               "the trip counts of '%.100s' follow from those of '%.100s' and are "
                               "no nest of their own: edit the iterations of that (--set)",
                               part->id, whole->id);
        else if (!nest_terms_copy(&part->trips, &series[i].fold.terms))
            status = edit_no_memory(e);
    }
    for (uint32_t i = 0; i < whole->part_count; i++)
        series_release(&series[i]);
    whole->is_counted = false;
    nest_terms_release(&whole->trips);
    return status;
}

enum psnap_status edit_parts(struct editing *e)
{
    struct psnap_stream_model *model = e->profile->stream;
    enum psnap_status status = PSNAP_OK;

    for (uint32_t i = 0; i < model->body_count && !status; i++)
        if (model->bodies[i].is_counted && is_inside(e, &model->bodies[i]))
            status = part_whole(e, &model->bodies[i]);
    return status;
}
