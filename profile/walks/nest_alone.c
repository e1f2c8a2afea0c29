/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which references and counts fold when they are alone. Where one thing in an iteration has no
 * order, all that is around it does not fold either, and its values seem to change by another
 * amount each time: those of a triangle do that too, from row to row. So each reference's own
 * leaves are put together and folded for themselves, and the numbers of iterations of each loop.
 * Leaves that something else has cut are one again: where a reference goes on from a leaf to the
 * next, without another loop between them. What does not then, while others do, cuts leaves.
 *
 * All is gone through twice, first to count leaves: of few nothing is said, and a program may have
 * very many references that few are of.
 */
#include <stdlib.h>
#include <string.h>

#include "profile/walks/nest_project.h"
#include "profile/walks/nest_stack.h"

enum {
    LEAVES_MIN = 16,
    CUTS_SHARE = 16 /* of its leaves one in so many cuts those of others */
};

struct alone_ref {
    struct nest_projection *folded; /* NULL: not seen yet */
    uint64_t count, first, stride;  /* of the leaf under way, count 0: none */
    uint64_t known;                 /* stride of the last leaf of more than one iteration */
    uint64_t last;                  /* number of the last leaf, */
    uint64_t broken;                /* of the last one that did not go on from that before */
    uint32_t leaves, cuts;          /* such ones while others went on */
    bool is_few;                    /* leaves: it is not folded */
};

struct alone_count {
    struct nest_projection *folded;
    uint64_t count, last;
    uint32_t leaves;
    bool is_few;
};

struct alone {
    const struct psnap_nests *nests;
    struct alone_ref *refs;
    struct alone_count *counts;
    struct nest_shape *shape;
    uint64_t leaf;    /* number of the present one */
    bool is_counting; /* leaves, and nothing is folded */
    bool in_pairs;    /* what is told so far folds in pairs */
};

static struct nest_projection *folded_of(const struct alone *alone, struct nest_projection **folded,
                                         uint32_t ref)
{
    const struct nest_kept kept = {.ref = ref, .in_pairs = alone->in_pairs};

    if (!*folded)
        *folded = nest_projection_new(alone->nests, &kept);
    return *folded;
}

/* What a reference had under way is a leaf; how long it is does not matter here. */
static bool end_ref(struct alone *alone, uint32_t ref)
{
    struct alone_ref *own = &alone->refs[ref];
    const uint64_t values[2] = {2, own->first};

    if (!own->count)
        return true;
    if (own->count > 1)
        own->known = own->stride;
    own->count = 0;
    if (alone->is_counting || own->is_few)
        return true;
    alone->shape->loop = 0;
    alone->shape->width = 1;
    alone->shape->refs[0] = (struct nest_ref){.ref = ref};
    return folded_of(alone, &own->folded, ref) &&
           nest_projection_leaf(own->folded, alone->shape, &own->known, values);
}

static bool end_count(struct alone *alone, uint32_t loop)
{
    struct alone_count *own = &alone->counts[loop];
    const uint64_t count = own->count;
    static const uint64_t none;

    own->count = 0;
    if (alone->is_counting || own->is_few)
        return true;
    alone->shape->loop = loop;
    alone->shape->width = 0;
    return !count || (folded_of(alone, &own->folded, PSNAP_NONE) &&
                      nest_projection_leaf(own->folded, alone->shape, &none, &count));
}

/* Whether a reference goes on from its leaf before to one of so many iterations. */
static bool goes_on(struct alone_ref *own, uint64_t leaf, uint64_t count, uint64_t first,
                    uint64_t stride)
{
    const uint64_t step = own->count > 1 ? own->stride : count > 1 ? stride : first - own->first;

    if (!own->count || own->last + 1 != leaf || (count > 1 && stride != step) ||
        first != own->first + own->count * step)
        return false;
    own->stride = step;
    return true;
}

/* *is_on: an affine walk goes on. */
static bool see_ref(struct alone *alone, const struct nest_ref *ref, uint64_t count, uint64_t first,
                    uint64_t stride, bool *is_on)
{
    struct alone_ref *own = &alone->refs[ref->ref];

    own->leaves++;
    if (ref->mode >= NEST_DRAWN_FIRST)
        return true;
    if (ref->mode == NEST_AFFINE && goes_on(own, alone->leaf, count, first, stride)) {
        own->count += count;
        own->last = alone->leaf;
        *is_on |= own->stride != 0;
        return true;
    }
    own->broken = own->count && own->last + 1 == alone->leaf ? alone->leaf : own->broken;
    if (!end_ref(alone, ref->ref))
        return false;
    own->count = count;
    own->first = first;
    own->stride = stride;
    own->last = alone->leaf;
    return true;
}

static bool see_leaf(struct alone *alone, const struct nest_pattern *leaf, const uint64_t *values)
{
    const struct nest_shape *shape = leaf->shape;
    struct alone_count *own = shape->width ? &alone->counts[shape->loop] : NULL;
    bool is_on = false, is_done = true;

    alone->leaf++;
    for (uint32_t k = 0; is_done && k < shape->width; k++)
        is_done = see_ref(alone, &shape->refs[k], values[0], values[1 + k], leaf->steps[k], &is_on);
    if (!own || !is_done)
        return is_done;
    for (uint32_t k = 0; is_on && k < shape->width; k++) {
        struct alone_ref *ref = &alone->refs[shape->refs[k].ref];
        ref->cuts += ref->broken == alone->leaf;
    }
    own->leaves++;
    if (!(is_on && own->last + 1 == alone->leaf))
        is_done = end_count(alone, shape->loop);
    own->count += values[0];
    own->last = alone->leaf;
    return is_done;
}

/* What is in a long term comes with it. */
static bool see_long(struct alone *alone, const struct nest_pattern *in,
                     const struct nest_pattern *term, const uint64_t *values)
{
    const struct nest_shape *shape = in->shape;
    bool is_done = true;

    for (uint32_t i = 0; is_done && i < in->body_count; i++)
        is_done = see_long(alone, in->body[i], term, values);
    for (uint32_t k = 0; is_done && !in->body_count && k < shape->width; k++) {
        const uint32_t ref = shape->refs[k].ref;
        struct alone_ref *own = &alone->refs[ref];
        own->leaves++;
        if (shape->refs[k].mode >= NEST_DRAWN_FIRST || own->last == alone->leaf)
            continue;
        is_done = end_ref(alone, ref);
        if (is_done && !alone->is_counting && !own->is_few)
            is_done = folded_of(alone, &own->folded, ref) &&
                      nest_projection_put(own->folded, term, values);
        own->last = alone->leaf;
    }
    return is_done;
}

static bool see_term(struct alone *alone, const struct nest_pattern *pattern,
                     const uint64_t *values)
{
    struct nest_cursor cursor = {0};
    struct nest_leaf leaf;
    bool is_done = true;
    int more = 1;

    if (!pattern->body_count)
        return see_leaf(alone, pattern, values);
    if (nest_count_leaves(pattern, values) > (double)NEST_EXPANDED_MAX) {
        alone->leaf++;
        return see_long(alone, pattern, pattern, values);
    }
    is_done = nest_cursor_start(&cursor, pattern, values, 0, values[0]);
    while (is_done && (more = nest_cursor_next(&cursor, &leaf)) > 0)
        is_done = see_leaf(alone, leaf.pattern, leaf.values);
    nest_cursor_free(&cursor);
    return is_done && more >= 0;
}

/* What was counted of references and loops says which have few leaves; nothing else stays. */
static void note_few(struct alone *alone, const struct nest_states *states)
{
    for (size_t i = 0; i < states->ref_count; i++)
        alone->refs[i] = (struct alone_ref){.is_few = alone->refs[i].leaves < LEAVES_MIN};
    for (size_t i = 0; i < states->loop_count; i++)
        alone->counts[i] = (struct alone_count){.is_few = alone->counts[i].leaves < LEAVES_MIN};
    alone->leaf = 1;
    alone->is_counting = false;
}

static bool see_terms(struct alone *alone)
{
    const struct psnap_nests *nests = alone->nests;
    bool is_done = true;

    for (size_t i = 0; is_done && i < nests->count; i++)
        is_done = see_term(alone, nests->terms[i].pattern, nests_values(nests, i));
    return is_done;
}

/* Leaves have `words` values each; four of them in the place of one do not fold. */
static bool is_folded(const struct nest_projection *folded, uint32_t leaves, uint32_t words)
{
    const size_t height = folded ? nest_projection_height(folded) : 0;

    return leaves < LEAVES_MIN ||
           (height <= NEST_HEIGHT_MAX && height * 4 <= (size_t)leaves * words);
}

bool nest_alone(const struct psnap_nests *nests, const struct nest_states *states,
                bool *is_irregular_ref, bool *is_cutting, bool *is_irregular_count)
{
    struct alone alone = {.nests = nests,
                          .refs = calloc(states->ref_count + 1, sizeof *alone.refs),
                          .counts = calloc(states->loop_count + 1, sizeof *alone.counts),
                          .shape = calloc(1, nest_shape_bytes(1)),
                          .leaf = 1,
                          .is_counting = true,
                          .in_pairs = states->in_pairs};
    bool is_done = alone.refs && alone.counts && alone.shape && see_terms(&alone);

    if (is_done)
        note_few(&alone, states);
    is_done = is_done && see_terms(&alone);
    for (uint32_t i = 0; is_done && i < states->ref_count; i++) {
        is_done = end_ref(&alone, i);
        is_irregular_ref[i] = !is_folded(alone.refs[i].folded, alone.refs[i].leaves, 2);
        is_cutting[i] = is_irregular_ref[i] && alone.refs[i].cuts >= LEAVES_MIN &&
                        alone.refs[i].cuts >= alone.refs[i].leaves / CUTS_SHARE;
    }
    for (uint32_t i = 0; is_done && i < states->loop_count; i++) {
        is_done = end_count(&alone, i);
        is_irregular_count[i] = !is_folded(alone.counts[i].folded, alone.counts[i].leaves, 1);
    }
    for (size_t i = 0; alone.refs && i < states->ref_count; i++)
        nest_projection_free(alone.refs[i].folded);
    for (size_t i = 0; alone.counts && i < states->loop_count; i++)
        nest_projection_free(alone.counts[i].folded);
    free(alone.refs);
    free(alone.counts);
    free(alone.shape);
    return is_done;
}
