/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Choices by measurement (choose.h). The model is replayed as it is, and the reuse times of the
 * replay are compared with those recorded (walk/measure.h). Then it is replayed with all dependent
 * references drawn whose reuse times were off by more than OFF_PERMILLE. This second model is taken
 * if the sum over all accesses of what it is off by is at most BETTER_PERCENT of the first one's.
 */
#include "profile/collect/choose.h"

#include <stdlib.h>

#include "profile/walk/measure.h"

enum {
    MOST = 1 << 22,     /* accesses that are replayed, */
    PART = 16,          /* or one in so many of all, if these are more */
    OFF_PERMILLE = 5,   /* a dependent reference that is further off is tried drawn */
    BETTER_PERCENT = 80 /* the model with drawn references is taken up to this part of the error */
};

static uint64_t accesses_of(const struct psnap_stream_model *model)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < model->ref_count; i++)
        sum += model->refs[i].executions;
    return sum;
}

/* The sum over all references of the accesses by which their reuse times are off. */
static double off_of(const struct psnap_stream_model *model, const double *off)
{
    double sum = 0;

    for (uint32_t i = 0; i < model->ref_count; i++)
        sum += off[i] * (double)model->refs[i].executions;
    return sum;
}

static void drop_reuses(struct model_ref *ref)
{
    reuse_release(ref->reuses, ref->reuse_count);
    ref->reuses = NULL;
    ref->reuse_count = 0;
    ref->phases = 0;
}

/* Removes the objects that no reference has histograms of any more; false: out of memory. */
static bool drop_objects(struct psnap_stream_model *model)
{
    uint32_t *kept = calloc(model->object_count + (size_t)1, sizeof *kept), count = 0;

    for (uint32_t i = 0; kept && i < model->ref_count; i++)
        for (uint32_t k = 0; k < model->refs[i].reuse_count; k++)
            kept[model->refs[i].reuses[k].object] = 1;
    for (uint32_t i = 0; kept && i < model->object_count; i++) {
        if (!kept[i]) {
            model_object_release(&model->objects[i]);
            continue;
        }
        model->objects[count] = model->objects[i];
        kept[i] = count++;
    }
    for (uint32_t i = 0; kept && i < model->ref_count; i++)
        for (uint32_t k = 0; k < model->refs[i].reuse_count; k++)
            model->refs[i].reuses[k].object = kept[model->refs[i].reuses[k].object];
    if (kept)
        model->object_count = count;
    free(kept);
    return kept != NULL;
}

/* How many references there are of a rule. */
static uint32_t count_of(const struct psnap_stream_model *model, uint8_t rule)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < model->ref_count; i++)
        count += model->refs[i].rule == rule;
    return count;
}

/* Makes dependent references that are off by more than OFF_PERMILLE drawn ones; returns how many.
 */
static uint32_t draw_dependents(struct psnap_stream_model *model, const double *off)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < model->ref_count; i++)
        if (model->refs[i].rule == MODEL_DEPENDENT && off[i] * 1000 > (double)OFF_PERMILLE) {
            model->refs[i].rule = MODEL_REUSE;
            count++;
        }
    return count;
}

/* References that draw_dependents has changed get their dependent rule back, or, if drawing them is
 * better, lose their bases. Dependent references lose their histograms. */
static void settle(struct psnap_stream_model *model, bool is_better, const double *off)
{
    for (uint32_t i = 0; i < model->ref_count; i++) {
        struct model_ref *ref = &model->refs[i];
        if (!is_better && ref->base_count)
            ref->rule = MODEL_DEPENDENT;
        if (ref->rule != MODEL_DEPENDENT)
            ref->base_count = ref->offset_count = 0;
        else
            drop_reuses(ref);
        ref->off = off[i];
    }
}

bool model_choose(struct psnap_stream_model *model, const struct psnap_deadline *deadline)
{
    const uint64_t all = accesses_of(model), most = all / PART > MOST ? all / PART : MOST;
    double *before = calloc(model->ref_count + (size_t)1, sizeof *before);
    double *after = calloc(model->ref_count + (size_t)1, sizeof *after);
    bool is_done = before && after, is_better = false;

    if (is_done && count_of(model, MODEL_REUSE) + count_of(model, MODEL_DEPENDENT)) {
        is_done = walk_measure(model, most, deadline, before);
        if (is_done && draw_dependents(model, before)) {
            is_done = walk_measure(model, most, deadline, after);
            is_better = !psnap_deadline_is_set(deadline) &&
                        off_of(model, after) * 100 < off_of(model, before) * (double)BETTER_PERCENT;
        }
    }
    if (is_done)
        settle(model, is_better, is_better ? after : before);
    free(before);
    free(after);
    return is_done && drop_objects(model);
}
