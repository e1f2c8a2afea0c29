/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Alignment of a sequence's nest with the entries of a loop (edit_align.h). A loop's entries are
 * found, in this order,
 *
 *   by rows     of an innermost loop, when there are as many runs as entries: each is one
 *   by length   when all entries have equally many numbers: loops and runs that hold several are
 *               split, so that 1600 numbers of 40 entries become 40 x 40
 *   by count    of a loop of the nest that executes as often as the loop is entered
 *   by sweeps   of an innermost loop whose entries have ever other lengths: rows that go on where
 *               the one before ended are one sweep, which goes on
 *
 * An entry goes on when its outermost loop has more iterations, by the steps that it has. When trip
 * counts change in that loop, or the entry is no single loop, it is repeated instead.
 */
#include "profile/edit/edit_align.h"

static enum psnap_status wrap(const struct edit_extension *x, struct edit_node *parent, uint32_t at,
                              uint32_t count)
{
    if (edit_tree_wrap(x->tree, parent, at, count, (int64_t)x->e->edit->times))
        return PSNAP_OK;
    return edit_fail(x->e, PSNAP_NONE, PSNAP_NONE, "out of memory, or more than %d loops in loops",
                     NEST_DEPTH_MAX);
}

static enum psnap_status scale_count(const struct edit_extension *x, struct edit_node *node)
{
    enum psnap_status status = edit_scale(x->e, x->e->edit->times, 1, &node->count.first);

    for (uint32_t i = 0; i < node->depth && !status; i++)
        status = edit_scale(x->e, x->e->edit->times, 1, &node->count.steps[i]);
    return status;
}

/* Whether more iterations of a node are like those before: trip counts do not change with them. */
static bool goes_on(const struct edit_extension *x, const struct edit_node *node)
{
    if (!node->is_loop)
        return !x->is_trips || !node->stride;
    for (uint32_t i = 0; i < node->child_count; i++) {
        const struct edit_node *child = node->children[i];
        if (edit_node_varies(child, node->depth) ||
            (x->is_trips && (child->is_loop || child->value.steps[node->depth])))
            return false;
    }
    return true;
}

/* Children of a node, from `at` on, are an entry. */
static enum psnap_status extend_entry(const struct edit_extension *x, struct edit_node *parent,
                                      uint32_t at, uint32_t count)
{
    struct edit_node *node = parent->children[at];

    while (node->is_loop && node->child_count == 1 && node->count.first == 1 &&
           !edit_node_varies(node, parent->depth) && count == 1) {
        parent = node;
        node = node->children[at = 0];
    }
    if (count > 1 || x->repeats || !goes_on(x, node))
        return wrap(x, parent, at, count);
    return scale_count(x, node);
}

/* ---- entries by their length ---- */

static enum psnap_status split(const struct edit_extension *x, struct edit_node *parent,
                               uint32_t at, uint64_t iterations)
{
    if (!edit_tree_split(x->tree, parent, at, (int64_t)iterations))
        return edit_fail(x->e, PSNAP_NONE, PSNAP_NONE,
                         "out of memory, or more than %d loops in loops", NEST_DEPTH_MAX);
    return extend_entry(x, parent->children[at], 0, 1);
}

/* Entries of a length within the children of a node; with `changes` false nothing is changed, and
 * *fits says whether they can be found. */
static enum psnap_status extend_by_length(const struct edit_extension *x, struct edit_node *parent,
                                          uint64_t length, bool changes, bool *fits);

/* Within a child, which has several entries. */
static enum psnap_status extend_within(const struct edit_extension *x, struct edit_node *parent,
                                       uint32_t at, uint64_t whole, uint64_t length, bool changes,
                                       bool *fits)
{
    struct edit_node *node = parent->children[at];
    const uint64_t iteration = whole / (uint64_t)node->count.first;

    if (node->is_loop && iteration % length == 0)
        return extend_by_length(x, node, length, changes, fits);
    *fits = length % iteration == 0 && whole % length == 0;
    return *fits && changes ? split(x, parent, at, length / iteration) : PSNAP_OK;
}

static enum psnap_status extend_by_length(const struct edit_extension *x, struct edit_node *parent,
                                          uint64_t length, bool changes, bool *fits)
{
    enum psnap_status status = PSNAP_OK;

    *fits = true;
    for (uint32_t i = 0; i < parent->child_count && *fits && !status;) {
        uint64_t sum = 0;
        uint32_t n = 0;
        while (i + n < parent->child_count && sum < length) {
            uint64_t child;
            if (!edit_node_length(parent->children[i + n++], &child))
                sum = UINT64_MAX;
            else
                sum += child;
        }
        *fits = sum == length || !sum || (n == 1 && sum != UINT64_MAX && sum > length);
        if (*fits && sum > length)
            status = extend_within(x, parent, i, sum, length, changes, fits);
        else if (*fits && sum && changes)
            status = extend_entry(x, parent, i, n);
        i += changes && sum ? 1 : n; /* those of an entry may be in one loop now */
    }
    return status;
}

/* ---- rows, counts, sweeps ---- */

static bool count_rows(void *context, struct edit_node *leaf)
{
    *(uint64_t *)context += leaf->visits;
    return true;
}

/* Every run is an entry, or `in_sweeps` a part of one. */
static enum psnap_status extend_runs(const struct edit_extension *x, struct edit_node *node)
{
    enum psnap_status status = PSNAP_OK;

    for (uint32_t i = 0; i < node->child_count && !status; i++)
        status = node->children[i]->is_loop ? extend_runs(x, node->children[i])
                 : x->repeats               ? wrap(x, node, i, 1)
                                            : scale_count(x, node->children[i]);
    return status;
}

/* The node, of loops with nothing else in them, that executes as often as the loop is entered. */
static struct edit_node *find_entry(const struct edit_extension *x)
{
    struct edit_node *node = &x->tree->root;

    while (node->all != x->entries && node->child_count == 1 && node->children[0]->is_loop)
        node = node->children[0];
    return node->all == x->entries && node->child_count ? node : NULL;
}

/* Whether b goes on where a ended, by its stride. */
static bool is_next(const struct edit_node *a, const struct edit_node *b)
{
    const int64_t way = b->value.first - a->value.first;

    if (a->is_loop || b->is_loop || a->count.first < 1 || b->count.first < 1)
        return false;
    for (uint32_t i = 0; i < a->depth; i++)
        if (a->count.steps[i] || b->count.steps[i] || a->value.steps[i] != b->value.steps[i])
            return false;
    if (a->count.first == 1)
        return b->count.first == 1 || way == b->stride;
    return way % a->count.first == 0 && way / a->count.first == a->stride &&
           (b->count.first == 1 || b->stride == a->stride);
}

/* A loop of runs, each of which goes on where the one before ended, is one run. */
static void join_loop(struct edit_node *loop)
{
    struct edit_node *run = loop->children[0], before = *run;
    const int64_t step = run->value.steps[loop->depth];

    if (loop->child_count != 1 || run->is_loop || edit_node_varies(run, loop->depth) ||
        (run->count.first == 1 ? 0 : step != run->count.first * run->stride))
        return;
    for (uint32_t i = 0; i < loop->depth; i++)
        if (run->count.steps[i])
            return;
    before.stride = run->count.first == 1 ? step : run->stride;
    before.depth = loop->depth;
    before.count = loop->count;
    for (uint32_t i = 0; i < loop->depth; i++)
        before.count.steps[i] *= run->count.first;
    before.count.first *= run->count.first;
    before.value.steps[loop->depth] = 0;
    *loop = before;
}

/* Rows that go on are joined; whether no single numbers are left. */
static bool join_rows(struct edit_node *node)
{
    uint32_t kept = 0;
    bool is_swept = true;

    for (uint32_t i = 0; i < node->child_count; i++) {
        struct edit_node *child = node->children[i];
        if (child->is_loop) {
            is_swept &= join_rows(child);
            join_loop(child);
        }
        if (kept && is_next(node->children[kept - 1], child)) {
            struct edit_node *to = node->children[kept - 1];
            to->stride = to->count.first == 1 ? child->value.first - to->value.first : to->stride;
            to->count.first += child->count.first;
        } else
            node->children[kept++] = child;
    }
    node->child_count = kept;
    for (uint32_t i = 0; i < kept; i++)
        is_swept &= node->children[i]->is_loop || node->children[i]->count.first > 1;
    return is_swept;
}

/* ---- all of it ---- */

enum psnap_status edit_extend(const struct edit_extension *x, uint64_t executions)
{
    struct edit_node *root = &x->tree->root, *entry;
    uint64_t rows = 0;
    bool fits = false;
    enum psnap_status status = PSNAP_OK;

    edit_tree_leaves(root, count_rows, &rows);
    if (x->is_rows && rows == x->entries)
        return extend_runs(x, root);
    if (x->entries && x->entries != UINT64_MAX && executions % x->entries == 0)
        status = extend_by_length(x, root, executions / x->entries, false, &fits);
    if (!status && fits)
        return extend_by_length(x, root, executions / x->entries, true, &fits);
    entry = status ? NULL : find_entry(x);
    if (entry)
        return extend_entry(x, entry, 0, entry->child_count);
    if (!status && x->is_rows && !x->is_trips && !x->repeats && join_rows(root))
        status = extend_runs(x, root);
    return status;
}
