/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * strides[OLD] = NEW, of references that are nests: every loop of a nest that goes on by the old
 * stride goes on by the new one. The array has elements, or rows, so far apart, and a nest begins
 * at that of them where it did.
 *
 * The optimiser unrolls loops: a reference that goes on by 8 bytes is then, say, four, which begin
 * 8 bytes apart and go on by 32. These copies are told by being alike and at equal distances, and
 * are changed as the one reference of stride 8 that they are in the source. Rows of a matrix that
 * follow each other are one sweep in a profile; they are parted again when their distance, which
 * entries of loops tell, is the old stride; a stride of fewer than ROW_MIN elements is of a record.
 */
#include "profile/edit/edit.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    SHOWN = 12,
    COPIES_MAX = 64,
    ROW_MIN = 8 /* elements */
};

struct striding {
    struct editing *e;
    bool is_any;
    int64_t seen[SHOWN]; /* strides that are there */
    unsigned seen_count;
    const struct model_ref *drawn;        /* one without strides, of the edit's loops */
    struct edit_node *copies[COPIES_MAX]; /* leaves that are one in the source, by rising address */
    uint32_t n;
    uint8_t size;                             /* of their accesses */
    struct edit_node *around[NEST_DEPTH_MAX]; /* loops around the first copy */
};

static void show(struct striding *s, int64_t stride)
{
    for (unsigned i = 0; i < s->seen_count; i++)
        if (s->seen[i] == stride)
            return;
    if (s->seen_count < SHOWN)
        s->seen[s->seen_count++] = stride;
}

/* A run's step at a depth: at its own its stride. */
static int64_t *step_at(struct edit_node *leaf, uint32_t depth)
{
    return depth == leaf->depth ? &leaf->stride : &leaf->value.steps[depth];
}

/* How many of the copies are one reference of a stride; 1: each is for itself. */
static int64_t unrolled(const struct striding *s, int64_t stride)
{
    const int64_t way = s->n > 1 ? s->copies[1]->value.first - s->copies[0]->value.first : 0;

    for (uint32_t i = 2; i < s->n; i++)
        if (s->copies[i]->value.first - s->copies[i - 1]->value.first != way)
            return 1;
    return way && way * (int64_t)s->n == llabs(stride) ? (int64_t)s->n : 1;
}

/* Where an element or row of the array is that is `from` long and then `to`. */
static int64_t place_of(const struct edit_array *array, int64_t address, int64_t from, int64_t to)
{
    const int64_t distance = address - (int64_t)array->low;

    if ((from > 0) != (to > 0) || !from || !to)
        return address;
    return (int64_t)array->low + distance / llabs(from) * llabs(to) + distance % llabs(from);
}

/* What becomes of a stride; false: it stays. One that leads to the next row and one element on, as
 * along a diagonal, or from one row of a triangle to the next, is of rows, too. */
static bool stride_then(const struct striding *s, int64_t stride, int64_t *then)
{
    const int64_t from = s->e->edit->old_stride, aside = stride - from;

    *then = s->e->edit->new_stride + aside;
    return !aside || (llabs(aside) == s->size && llabs(from) >= ROW_MIN * (int64_t)s->size);
}

/* The copies of one run, at each depth where there is more than one iteration. */
static void stride_copies(struct striding *s)
{
    const int64_t from = s->e->edit->old_stride, to = s->e->edit->new_stride;
    struct edit_node *leaf = s->copies[0];
    bool is_any = false;

    for (uint32_t depth = 0; depth <= leaf->depth; depth++) {
        const struct edit_node *level = depth == leaf->depth ? leaf : s->around[depth];
        const int64_t stride = *step_at(leaf, depth), times = unrolled(s, stride);
        int64_t then;
        if (level->all == level->visits)
            continue;
        show(s, stride / times);
        if (!stride_then(s, stride / times, &then))
            continue;
        is_any = true;
        for (uint32_t i = 0; i < s->n; i++)
            *step_at(s->copies[i], depth) = then * times;
    }
    for (uint32_t i = 0; i < s->n && is_any; i++) {
        struct edit_array *array = &s->e->arrays[s->copies[i]->array];
        s->copies[i]->value.first = place_of(array, s->copies[i]->value.first, from, to);
        array->is_changed = true;
    }
    s->is_any |= is_any;
}

/* ---- rows that are one sweep ---- */

/* Whether the rows of a loop, or of one around it, have so many of the reference's executions. */
static bool has_rows(const struct editing *e, const struct model_ref *ref, uint64_t executions)
{
    for (uint32_t i = ref->loop; i != PSNAP_NONE; i = e->profile->loops[i].parent) {
        const uint64_t entries = e->profile->loops[i].entries;
        if (entries && entries != UINT64_MAX && ref->executions % entries == 0 &&
            ref->executions / entries == executions)
            return true;
    }
    return false;
}

/* Parts runs of a reference into rows when these go on by the old stride. */
static void part_rows(struct editing *e, const struct model_ref *ref, struct edit_node *parent)
{
    const int64_t from = e->edit->old_stride;

    for (uint32_t i = 0; i < parent->child_count; i++) {
        const struct edit_node *node = parent->children[i];
        const int64_t row = node->stride ? from / node->stride : 0, count = node->count.first;
        uint64_t length;
        if (node->is_loop)
            part_rows(e, ref, parent->children[i]);
        else if (row >= ROW_MIN && from % node->stride == 0 && count > row && count % row == 0 &&
                 edit_node_length(node, &length) && has_rows(e, ref, (uint64_t)row))
            edit_tree_split(e, parent, i, row);
    }
}

/* Parts them in all references of the edit's loops. */
static void part_all_rows(struct editing *e)
{
    for (uint32_t i = 0; i < e->model->ref_count; i++)
        if (e->trees[i] && e->is_selected[e->model->refs[i].loop]) {
            part_rows(e, &e->model->refs[i], e->trees[i]);
            edit_need(e, edit_tree_measure(e->trees[i]));
        }
}

/* ---- copies of a nest ---- */

static bool is_wanted(const struct editing *e, uint32_t array)
{
    return array != PSNAP_NONE && (!e->edit->region_count || e->arrays[array].is_wanted);
}

/* Each run of a nest, with those at its place in copies of the nest. */
static void stride_nodes(struct striding *s, struct edit_node *const *nodes, uint32_t n)
{
    const struct edit_node *node = nodes[0];

    if (!node->is_loop) {
        if (!is_wanted(s->e, node->array))
            return;
        s->n = 0;
        for (uint32_t i = 0; i < n; i++) {
            uint32_t at = s->n++;
            for (; at && s->copies[at - 1]->value.first > nodes[i]->value.first; at--)
                s->copies[at] = s->copies[at - 1];
            s->copies[at] = nodes[i];
        }
        stride_copies(s);
        return;
    }
    for (uint32_t k = 0; k < node->child_count; k++) {
        struct edit_node *children[COPIES_MAX];
        for (uint32_t i = 0; i < n; i++)
            children[i] = nodes[i]->children[k];
        if (node->children[k]->is_loop)
            s->around[node->children[k]->depth] = node->children[k];
        stride_nodes(s, children, n);
    }
}

/* Whether two nests are alike but for where they begin. */
static bool are_alike(const struct edit_node *a, const struct edit_node *b)
{
    if (a->is_loop != b->is_loop || a->child_count != b->child_count || a->array != b->array ||
        a->stride != b->stride || memcmp(&a->count, &b->count, sizeof a->count) != 0 ||
        memcmp(a->value.steps, b->value.steps, sizeof a->value.steps) != 0)
        return false;
    for (uint32_t i = 0; i < a->child_count; i++)
        if (!are_alike(a->children[i], b->children[i]))
            return false;
    return true;
}

static void stride_body(struct striding *s, const struct model_body *body, bool *is_done)
{
    const struct psnap_stream_model *model = s->e->model;

    for (uint32_t k = 0; k < body->width; k++) {
        const struct model_ref *ref = &model->refs[body->refs[k]];
        struct edit_node *copies[COPIES_MAX];
        uint32_t n = 0;
        if (ref->rule != MODEL_NEST && ref->rule != MODEL_SHARED)
            s->drawn = ref;
        if (ref->rule != MODEL_NEST || is_done[body->refs[k]])
            continue;
        for (uint32_t i = k; i < body->width && n < COPIES_MAX; i++) {
            const uint32_t index = body->refs[i];
            const struct model_ref *other = &model->refs[index];
            if (is_done[index] || other->rule != MODEL_NEST || other->kind != ref->kind ||
                model_nest_width(other) != model_nest_width(ref) ||
                !are_alike(s->e->trees[body->refs[k]], s->e->trees[index]))
                continue;
            is_done[index] = true;
            copies[n++] = s->e->trees[index];
        }
        s->size = model_nest_width(ref);
        stride_nodes(s, copies, n);
    }
}

/* ---- all of it ---- */

/* Says that there is no such stride, and which there are; or, when the edit names a loop alone,
 * which arrays have the new one if these are several: another one than was meant may have had the
 * old one as well. */
static void say_strides(const struct striding *s, FILE *out)
{
    const struct editing *e = s->e;
    const char *before = ": ";
    uint32_t count = 0;

    if (!s->is_any)
        fprintf(out, "no stride is %" PRId64 " there", e->edit->old_stride);
    for (unsigned i = 0; i < s->seen_count && !s->is_any; i++)
        fprintf(out, "%s%" PRId64, i ? ", " : ", only ", s->seen[i]);
    for (uint32_t i = 0; i < e->array_count; i++)
        count += e->arrays[i].is_changed;
    if (count < 2 || !e->edit->loop || e->edit->region_count)
        return;
    fprintf(out, "%" PRIu32 " arrays have the new stride", count);
    for (uint32_t i = 0; i < e->array_count; i++) {
        const struct edit_array *array = &e->arrays[i];
        if (!array->is_changed)
            continue;
        fprintf(out, "%s'%.60s'", before, array->object ? array->object : array->of->region->id);
        if (!array->object)
            fprintf(out, " of '%.60s'", array->of->loop->id);
        before = ", ";
    }
}

/* "reference 3 of loop X has no strides ...", with the fields that say how far apart its addresses
 * are. */
static void say_drawn(const struct striding *s, FILE *out)
{
    const struct model_ref *ref = s->drawn;
    const char *loop = s->e->profile->loops[ref->loop].id;

    fprintf(out,
            "%sreference %" PRIu32 " of loop '%.80s' has no strides: ", ftell(out) > 0 ? "; " : "",
            ref->number, loop);
    if (ref->rule == MODEL_REUSE)
        fprintf(out,
                "its addresses are drawn by reuse time; 'loops.%.80s.references.%" PRIu32
                ".reuse' has 'steps' within lines, 'objects.%.80s.first_touches' has those to new "
                "lines, and a larger working_set spreads its elements",
                loop, ref->number, s->e->model->objects[ref->reuses[0].object].id);
    else
        fprintf(out,
                "it depends on another one, and 'loops.%.80s.references.%" PRIu32
                ".offset%s' is how far from it",
                loop, ref->number, ref->offset_count > 1 ? "s" : "");
}

void edit_strides(struct editing *e)
{
    struct striding s = {.e = e};
    bool *is_done = edit_alloc(e, e->model->ref_count, sizeof *is_done);
    char said[sizeof e->error->message] = "";
    FILE *out;

    part_all_rows(e);
    if (e->status)
        return;
    for (uint32_t i = 0; i < e->model->body_count; i++)
        if (e->is_selected[e->model->bodies[i].loop])
            stride_body(&s, &e->model->bodies[i], is_done);
    out = fmemopen(said, sizeof said - 1, "w");
    edit_need(e, out != NULL);
    if (!out)
        return;
    say_strides(&s, out);
    if (s.drawn && (e->edit->loop || !s.is_any))
        say_drawn(&s, out);
    fclose(out);
    if (!s.is_any)
        edit_fail(e, PSNAP_NONE, "%s", said);
    else
        memcpy(e->error->message, said, sizeof said);
}
