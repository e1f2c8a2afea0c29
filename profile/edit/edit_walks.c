/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Edits of a profile with walks: the nests as a tree (edit_tree.h), what is drawn, then where all
 * of it lies. Regions of loops are description; those of loops that do something else now are
 * made anew from what they do (edit_describe.c).
 *
 * The optimiser unrolls loops: a reference that goes on by 8 bytes is then, say, four, which begin
 * 8 bytes apart and go on by 32. For the edit of a stride these four are one walk of stride 8.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "profile/edit/edit.h"
#include "profile/walks/nest_derive.h"

static void find_array(void *context, struct edit_node *leaf)
{
    const struct editing *e = context;

    for (uint32_t k = 0; k < leaf->width; k++) {
        struct edit_ref *ref = &leaf->refs[k];
        ref->array = PSNAP_NONE;
        if (ref->ref.mode != NEST_AFFINE)
            continue;
        ref->array = edit_array_of(e, ref->high ? ref->low : (uint64_t)ref->value.first);
        if (ref->array != PSNAP_NONE && ref->high > e->arrays[ref->array].high)
            ref->array = PSNAP_NONE;
    }
}

/* ---- strides ---- */

enum { SHOWN = 12 };

struct striding {
    struct editing *e;
    bool is_any;
    bool is_drawn;       /* something of the array is */
    int64_t seen[SHOWN]; /* strides that are there */
    unsigned seen_count;
    enum psnap_status status;
};

/* One of a value's steps, or at its depth the reference's own stride. */
static int64_t *step_at(struct edit_ref *ref, uint32_t depth, uint32_t level)
{
    return level == depth ? &ref->stride : &ref->value.steps[level];
}

static bool is_copy(const struct edit_ref *a, const struct edit_ref *b, uint32_t depth)
{
    return a->ref.mode == b->ref.mode && a->ref.kind == b->ref.kind && a->ref.size == b->ref.size &&
           a->array == b->array && a->stride == b->stride &&
           !memcmp(a->value.steps, b->value.steps, depth * sizeof a->value.steps[0]);
}

static int compare_first(const void *a, const void *b)
{
    const struct edit_ref *p = *(struct edit_ref *const *)a, *q = *(struct edit_ref *const *)b;

    return p->value.first != q->value.first ? (p->value.first < q->value.first ? -1 : 1)
                                            : (p->ref.ref > q->ref.ref) - (p->ref.ref < q->ref.ref);
}

static void show(struct striding *s, int64_t stride)
{
    for (unsigned i = 0; i < s->seen_count; i++)
        if (s->seen[i] == stride)
            return;
    if (s->seen_count < SHOWN)
        s->seen[s->seen_count++] = stride;
}

/* How many of the copies, which begin at equal distances, are one walk of the stride of a level;
 * 1: each is for itself. */
static uint32_t unrolled(struct edit_ref *const *copies, uint32_t n, int64_t stride)
{
    const int64_t way = n > 1 ? copies[1]->value.first - copies[0]->value.first : 0;

    for (uint32_t i = 2; i < n; i++)
        if (copies[i]->value.first - copies[i - 1]->value.first != way)
            return 1;
    return n > 1 && way && way * (int64_t)n == llabs(stride) ? n : 1;
}

static void stride_copies(struct striding *s, struct edit_ref **copies, uint32_t n, uint32_t depth)
{
    const int64_t from = s->e->edit->old_stride, to = s->e->edit->new_stride;

    qsort(copies, n, sizeof *copies, compare_first);
    for (uint32_t level = 0; level <= depth; level++) {
        const int64_t stride = *step_at(copies[0], depth, level);
        const int64_t times = unrolled(copies, n, stride);
        show(s, stride / times);
        if (stride / times != from)
            continue;
        s->is_any = true;
        for (uint32_t i = 0; i < n; i++) {
            *step_at(copies[i], depth, level) = to * times;
            if (times > 1) /* the one that comes first is the lowest, or the highest */
                copies[i]->value.first =
                    stride > 0 ? copies[0]->value.first + (int64_t)i * to
                               : copies[n - 1]->value.first + (n - 1 - (int64_t)i) * to;
        }
        return;
    }
}

static bool is_wanted(const struct editing *e, uint32_t array)
{
    return array != PSNAP_NONE && (!e->edit->region_count || e->arrays[array].is_wanted);
}

static void stride_leaf(void *context, struct edit_node *leaf)
{
    struct striding *s = context;
    bool is_done[NEST_WIDTH_MAX] = {false};

    if (!leaf->width || !s->e->is_selected[leaf->loop])
        return;
    for (uint32_t k = 0; k < leaf->width; k++) {
        struct edit_ref *copies[NEST_WIDTH_MAX];
        uint32_t n = 0;
        s->is_drawn |= leaf->refs[k].ref.mode != NEST_AFFINE;
        if (is_done[k] || !is_wanted(s->e, leaf->refs[k].array))
            continue;
        for (uint32_t i = k; i < leaf->width; i++)
            if (!is_done[i] && is_copy(&leaf->refs[k], &leaf->refs[i], leaf->depth)) {
                is_done[i] = true;
                copies[n++] = &leaf->refs[i];
            }
        stride_copies(s, copies, n, leaf->depth);
    }
    s->e->is_touched[leaf->loop] = true;
}

static enum psnap_status edit_strides(struct editing *e)
{
    struct striding s = {.e = e};
    char seen[SHOWN * 24] = "";
    size_t at = 0;

    edit_tree_leaves(&e->tree->root, stride_leaf, &s);
    if (s.is_any)
        return PSNAP_OK;
    for (unsigned i = 0; i < s.seen_count; i++)
        at += (size_t)snprintf(seen + at, sizeof seen - at, "%s%" PRId64, i ? ", " : "", s.seen[i]);
    return edit_fail(e, PSNAP_NONE, PSNAP_NONE, "no stride is %" PRId64 " there%s%s%s",
                     e->edit->old_stride, s.seen_count ? ", only " : "", seen,
                     s.is_drawn ? "; some addresses are drawn, from 'draws' of 'models', whose "
                                  "'steps' are edited there"
                                : "");
}

/* ---- arrays that are led out of ---- */

struct growing {
    struct editing *e;
    uint64_t *low, *high; /* by array, of what leads out of it */
};

static void see_growth(void *context, struct edit_node *leaf)
{
    struct growing *g = context;

    for (uint32_t k = 0; k < leaf->width; k++) {
        const struct edit_ref *ref = &leaf->refs[k];
        if (ref->array == PSNAP_NONE || !ref->high)
            continue;
        if (ref->low < g->low[ref->array])
            g->low[ref->array] = ref->low;
        if (ref->high > g->high[ref->array])
            g->high[ref->array] = ref->high;
    }
}

static enum psnap_status grow_arrays(struct editing *e)
{
    struct growing g = {e, calloc(e->array_count + (size_t)1, sizeof *g.low),
                        calloc(e->array_count + (size_t)1, sizeof *g.high)};
    enum psnap_status status = g.low && g.high ? PSNAP_OK : edit_no_memory(e);

    if (!status && !edit_tree_measure(e->tree))
        status = edit_fail(e, PSNAP_NONE, PSNAP_NONE, "there are too many iterations to follow");
    for (uint32_t i = 0; i < e->array_count && !status; i++) {
        g.low[i] = e->arrays[i].low;
        g.high[i] = e->arrays[i].high;
    }
    if (!status)
        edit_tree_leaves(&e->tree->root, see_growth, &g);
    for (uint32_t i = 0; i < e->array_count && !status; i++) {
        e->arrays[i].pad += (e->arrays[i].low - g.low[i] + 63) / 64 * 64;
        e->arrays[i].grown += g.high[i] - e->arrays[i].high;
    }
    free(g.low);
    free(g.high);
    return status;
}

/* ---- all of it ---- */

static enum psnap_status change(struct editing *e)
{
    switch (e->edit->what) {
    case PSNAP_EDIT_STRIDE: {
        const enum psnap_status status = edit_strides(e);
        return status ? status : grow_arrays(e);
    }
    case PSNAP_EDIT_ITERATIONS:
    case PSNAP_EDIT_ENTRIES: {
        const enum psnap_status status = edit_loops(e);
        return status ? status : grow_arrays(e);
    }
    case PSNAP_EDIT_REMOVE:
        return edit_loops(e);
    default: /* arrays say it all */
        return PSNAP_OK;
    }
}

enum psnap_status edit_walks(struct editing *e)
{
    struct psnap_nests *before = e->profile->nests;
    enum psnap_status status = PSNAP_OK;

    if (e->edit->what == PSNAP_EDIT_MERGE)
        return edit_merge(e);
    e->tree = edit_tree_new(before);
    if (!e->tree)
        return edit_no_memory(e);
    if (!edit_tree_measure(e->tree))
        return edit_fail(e, PSNAP_NONE, PSNAP_NONE, "there are too many iterations to follow");
    edit_tree_leaves(&e->tree->root, find_array, e);
    if ((status = change(e)) || (status = edit_settle_space(e)) || (status = edit_move_walks(e)) ||
        (status = edit_move_regions(e)))
        return status;
    e->profile->nests = edit_tree_nests(e->tree);
    if (!e->profile->nests) {
        e->profile->nests = before;
        return edit_no_memory(e);
    }
    e->profile->nests->models = before->models;
    status = edit_settle_models(e, before);
    before->models = NULL;
    nests_free(before);
    if (!status)
        status = edit_describe(e);
    return status || nest_derive_mark(e->profile) ? status : edit_no_memory(e);
}
