/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which loop of one profile is which of another. The id of a loop is its function and line, and
 * most loops have theirs in both. But a line that is added above moves all that follow, and then
 * an id may even be that of the loop before; so the loops of a function are aligned as two texts
 * are, in the order of their lines, for the largest sum of
 *
 *   likeness                  what is touched, depth, mix of loads and stores, strides: 0 to 1
 *   + 1/2 if the ids are equal
 *
 * Loops whose ids are not equal are partners only if they are alike, by LIKENESS_LEAST.
 * Functions are known by name and file; those that only one profile has are paired afterwards, the
 * most alike first: they may have another name, or lie in another file. As any two plain loops are
 * alike in their manner, these have to touch things of the same names, or be equal in all numbers.
 *
 * Alignment takes time and memory in the product of the numbers of loops; where that is beyond
 * CELLS_MAX equal ids have to do, and functions keep their names.
 */
#include "profile/diff/diff.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LIKENESS_LEAST 0.5
#define ID_BONUS 0.5
#define EVIDENCE_LEAST 0.5 /* of accesses to things of the same name */
#define FUNCTION_LEAST 0.6 /* mean likeness of the loops of functions that are taken for one */
#define CELLS_MAX ((size_t)1 << 20)

/* ---- likeness of two loops ---- */

/* The order of regions; what has no name is alike. */
static int by_thing(const struct diff_region *a, const struct diff_region *b)
{
    return a->object_kind == DIFF_NO_OBJECT && b->object_kind == DIFF_NO_OBJECT
               ? 0
               : diff_region_order(a, b);
}

/* The part of the accesses that goes to the same things: sum of the smaller shares; `named`: to
 * those that have names. */
static double common_things(const struct diff_loop *a, const struct diff_loop *b, bool named)
{
    double common = 0;

    if (!a->all.accesses && !b->all.accesses)
        return named ? 0 : 1;
    for (uint32_t i = 0, j = 0; i < a->region_count && j < b->region_count;) {
        const struct diff_region *p = &a->regions[i], *q = &b->regions[j];
        const int order = by_thing(p, q);
        if (!order && (!named || p->object_kind < DIFF_NO_OBJECT))
            common += fmin(diff_share(p->accesses, a->all.accesses),
                           diff_share(q->accesses, b->all.accesses));
        i += order <= 0;
        j += order >= 0;
    }
    return common;
}

static double likeness(const struct diff_loop *a, const struct diff_loop *b)
{
    const double depth = a->parts[0]->depth == b->parts[0]->depth;

    return 0.25 * depth + 0.45 * common_things(a, b, false) +
           0.15 * (1 - diff_of_shares(a->all.kinds, b->all.kinds, 3)) +
           0.15 * (1 - diff_of_shares(a->all.strides, b->all.strides, PSNAP_STRIDE_BINS));
}

/* Loops of different functions need more in common than a manner: names, or all numbers. */
static bool has_evidence(const struct diff_loop *a, const struct diff_loop *b)
{
    return common_things(a, b, true) >= EVIDENCE_LEAST ||
           (a->all.accesses && a->all.working_set_bytes == b->all.working_set_bytes &&
            !memcmp(a->all.kinds, b->all.kinds, sizeof a->all.kinds) &&
            !memcmp(a->all.strides, b->all.strides, sizeof a->all.strides));
}

/* ---- functions ---- */

/* Loops of one function, by line: a stretch of a side's order. */
struct function {
    struct diff_loop **loops;
    uint32_t count;
    bool is_paired;
};

struct functions {
    struct function *all;
    uint32_t count;
    size_t unpaired; /* loops of those that are not paired */
};

static int by_function(const struct diff_loop *a, const struct diff_loop *b)
{
    const int order = strcmp(a->parts[0]->function, b->parts[0]->function);

    return order ? order : strcmp(a->parts[0]->file, b->parts[0]->file);
}

static int by_id(const void *left, const void *right)
{
    const struct diff_loop *const *a = left, *const *b = right;

    return strcmp((*a)->id, (*b)->id);
}

static int by_place(const void *left, const void *right)
{
    const struct diff_loop *const *a = left, *const *b = right;
    const uint32_t p = (*a)->parts[0]->src_line, q = (*b)->parts[0]->src_line;
    const int order = by_function(*a, *b);

    return order ? order : p != q ? (p < q ? -1 : 1) : by_id(left, right);
}

static bool find_functions(const struct diff_side *side, struct psnap_arena *arena,
                           struct functions *functions)
{
    const size_t n = side->loop_count;
    struct diff_loop **order = psnap_arena_alloc(arena, n * sizeof(void *));

    *functions = (struct functions){psnap_arena_alloc(arena, n * sizeof(struct function)), 0, n};
    if (!order || !functions->all)
        return false;
    for (size_t i = 0; i < n; i++)
        order[i] = &side->loops[i];
    qsort(order, n, sizeof(void *), by_place);
    for (size_t i = 0; i < n; i++) {
        if (!i || by_function(order[i - 1], order[i]) != 0)
            functions->all[functions->count++].loops = &order[i];
        functions->all[functions->count - 1].count++;
    }
    return true;
}

/* ---- alignment ---- */

struct matching {
    struct functions a, b;
    struct profile_diff *diff;
    bool wants_evidence;
    double *cells; /* CELLS_MAX at most: the best sum of the first loops of both */
};

/* What a pair adds to the sum; negative: they cannot be one. */
static double worth(const struct matching *matching, const struct diff_loop *a,
                    const struct diff_loop *b)
{
    const double alike = likeness(a, b);

    if (!strcmp(a->id, b->id))
        return alike + ID_BONUS;
    if (matching->wants_evidence && !has_evidence(a, b))
        return -1;
    return alike >= LIKENESS_LEAST ? alike : -1;
}

static void pair_up(struct matching *matching, struct diff_loop *a, struct diff_loop *b)
{
    struct diff_pair *pair = &matching->diff->pairs[a - matching->diff->a.loops];

    b->is_paired = true;
    pair->b = b;
    pair->match = !strcmp(a->id, b->id)      ? DIFF_SAME_ID
                  : matching->wants_evidence ? DIFF_RENAMED
                                             : DIFF_MOVED;
}

static void pair_by_id(struct matching *matching, const struct function *f,
                       const struct function *g)
{
    qsort(f->loops, f->count, sizeof(void *), by_id);
    qsort(g->loops, g->count, sizeof(void *), by_id);
    for (uint32_t i = 0, j = 0; i < f->count && j < g->count;) {
        const int order = by_id(&f->loops[i], &g->loops[j]);
        if (!order)
            pair_up(matching, f->loops[i], g->loops[j]);
        i += order <= 0;
        j += order >= 0;
    }
}

/* Fills the cells of an alignment; returns the largest sum. */
static double align(const struct matching *matching, const struct function *f,
                    const struct function *g)
{
    const size_t width = g->count + (size_t)1;
    double *cells = matching->cells;

    memset(cells, 0, (f->count + (size_t)1) * width * sizeof *cells);
    for (uint32_t i = 1; i <= f->count; i++) {
        for (uint32_t j = 1; j <= g->count; j++) {
            const double adds = worth(matching, f->loops[i - 1], g->loops[j - 1]);
            double best = fmax(cells[(i - 1) * width + j], cells[i * width + j - 1]);
            if (adds >= 0)
                best = fmax(best, cells[(i - 1) * width + j - 1] + adds);
            cells[i * width + j] = best;
        }
    }
    return cells[f->count * width + g->count];
}

static bool fits(const struct function *f, const struct function *g)
{
    return (f->count + (size_t)1) * (g->count + (size_t)1) <= CELLS_MAX;
}

/* Takes the pairs that make up the largest sum. */
static void match_functions(struct matching *matching, struct function *f, struct function *g)
{
    const size_t width = g->count + (size_t)1;
    const double *cells = matching->cells;
    uint32_t i = f->count, j = g->count;

    f->is_paired = g->is_paired = true;
    matching->a.unpaired -= f->count;
    matching->b.unpaired -= g->count;
    if (!fits(f, g)) {
        pair_by_id(matching, f, g);
        return;
    }
    align(matching, f, g);
    while (i && j) {
        const double here = cells[i * width + j];
        if (here <= cells[(i - 1) * width + j])
            i--;
        else if (here <= cells[i * width + j - 1])
            j--;
        else
            pair_up(matching, f->loops[--i], g->loops[--j]);
    }
}

/* Functions of one name and file; both lists are in their order. */
static void match_named(struct matching *matching)
{
    struct functions *f = &matching->a, *g = &matching->b;

    for (uint32_t i = 0, j = 0; i < f->count && j < g->count;) {
        const int order = by_function(f->all[i].loops[0], g->all[j].loops[0]);
        if (!order)
            match_functions(matching, &f->all[i], &g->all[j]);
        i += order <= 0;
        j += order >= 0;
    }
}

/* ---- functions that only one profile has ---- */

struct candidate {
    struct function *f, *g;
    double alike;
};

static int by_likeness(const void *left, const void *right)
{
    const struct candidate *a = left, *b = right;

    if (a->alike != b->alike)
        return a->alike > b->alike ? -1 : 1;
    return a->f != b->f ? (a->f < b->f ? -1 : 1) : (a->g > b->g) - (a->g < b->g);
}

/* Mean likeness of all loops of both, those without partners counting as 0; a name or a file in
 * common says something as well. */
static double function_likeness(const struct matching *matching, const struct function *f,
                                const struct function *g)
{
    const struct psnap_profile_loop *a = f->loops[0]->parts[0], *b = g->loops[0]->parts[0];

    return align(matching, f, g) / fmax(f->count, g->count) +
           0.2 * !strcmp(a->function, b->function) + 0.1 * !strcmp(a->file, b->file);
}

static bool match_others(struct matching *matching)
{
    const struct functions *f = &matching->a, *g = &matching->b;
    const size_t pairs = f->unpaired * g->unpaired; /* of functions there are no more */
    struct candidate *candidates;
    size_t n = 0;

    if (!pairs || pairs > CELLS_MAX)
        return true;
    candidates = psnap_arena_alloc(matching->diff->arena, pairs * sizeof *candidates);
    if (!candidates)
        return false;
    matching->wants_evidence = true;
    for (struct function *p = f->all; p < f->all + f->count; p++)
        for (struct function *q = g->all; q < g->all + g->count && !p->is_paired; q++) {
            const bool is_free = !q->is_paired && fits(p, q);
            const double alike = is_free ? function_likeness(matching, p, q) : 0;
            if (alike >= FUNCTION_LEAST)
                candidates[n++] = (struct candidate){p, q, alike};
        }
    qsort(candidates, n, sizeof *candidates, by_likeness);
    for (size_t i = 0; i < n; i++)
        if (!candidates[i].f->is_paired && !candidates[i].g->is_paired)
            match_functions(matching, candidates[i].f, candidates[i].g);
    return true;
}

bool diff_match_loops(struct profile_diff *diff)
{
    const uint32_t n = diff->a.loop_count, m = diff->b.loop_count;
    struct matching matching = {
        .diff = diff, .cells = psnap_arena_alloc(diff->arena, CELLS_MAX * sizeof(double))};

    diff->pairs = psnap_arena_alloc(diff->arena, ((size_t)n + m) * sizeof *diff->pairs);
    if (!matching.cells || !diff->pairs || !find_functions(&diff->a, diff->arena, &matching.a) ||
        !find_functions(&diff->b, diff->arena, &matching.b))
        return false;
    for (uint32_t i = 0; i < n; i++)
        diff->pairs[i] = (struct diff_pair){.a = &diff->a.loops[i], .match = DIFF_ONLY_A};
    match_named(&matching);
    if (!match_others(&matching))
        return false;
    diff->pair_count = n;
    for (uint32_t j = 0; j < m; j++)
        if (!diff->b.loops[j].is_paired)
            diff->pairs[diff->pair_count++] =
                (struct diff_pair){.b = &diff->b.loops[j], .match = DIFF_ONLY_B};
    return true;
}
