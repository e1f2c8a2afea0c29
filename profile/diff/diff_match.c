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
 * CELLS_MAX equal ids have to do, and beyond PAIRS_MAX functions keep their names.
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
#define PAIRS_MAX ((size_t)1 << 20) /* of loops whose likeness is looked at for that */

/* ---- likeness of two loops ---- */

/* The order of regions; what has no name is alike. */
static int by_thing(const struct diff_region *a, const struct diff_region *b)
{
    if (a->object_kind > PSNAP_OBJECT_STACK && b->object_kind > PSNAP_OBJECT_STACK)
        return 0;
    return diff_region_order(a, b);
}

static double share(uint64_t part, uint64_t whole)
{
    return whole ? (double)part / (double)whole : 0;
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
        if (!order && (!named || p->object_kind <= PSNAP_OBJECT_STACK))
            common +=
                fmin(share(p->accesses, a->all.accesses), share(q->accesses, b->all.accesses));
        i += order <= 0;
        j += order >= 0;
    }
    return common;
}

double diff_of_shares(const uint64_t *a, const uint64_t *b, size_t n)
{
    uint64_t all_a = 0, all_b = 0;
    double sum = 0;

    for (size_t i = 0; i < n; i++) {
        all_a += a[i];
        all_b += b[i];
    }
    if (!all_a || !all_b)
        return all_a || all_b ? 1 : 0;
    for (size_t i = 0; i < n; i++)
        sum += fabs(share(a[i], all_a) - share(b[i], all_b));
    return sum / 2;
}

static double likeness(const struct diff_loop *a, const struct diff_loop *b)
{
    const double depth = a->first->depth == b->first->depth;

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
    const struct diff_loop **loops;
    uint32_t count;
    bool is_paired;
};

struct functions {
    const struct diff_loop **order;
    struct function *all;
    uint32_t count;
};

static int by_function(const struct diff_loop *a, const struct diff_loop *b)
{
    const int order = strcmp(a->first->function, b->first->function);

    return order ? order : strcmp(a->first->file, b->first->file);
}

static int by_place(const void *left, const void *right)
{
    const struct diff_loop *const *a = left, *const *b = right;
    const int order = by_function(*a, *b);

    if (order)
        return order;
    if ((*a)->first->src_line != (*b)->first->src_line)
        return (*a)->first->src_line < (*b)->first->src_line ? -1 : 1;
    return strcmp((*a)->id, (*b)->id);
}

static bool find_functions(const struct diff_side *side, struct functions *functions)
{
    const uint32_t n = side->loop_count;

    functions->order = malloc((n + (size_t)1) * sizeof(void *));
    functions->all = calloc(n + (size_t)1, sizeof *functions->all);
    if (!functions->order || !functions->all)
        return false;
    for (uint32_t i = 0; i < n; i++)
        functions->order[i] = &side->loops[i];
    qsort(functions->order, n, sizeof(void *), by_place);
    for (uint32_t i = 0; i < n; i++) {
        if (!i || by_function(functions->order[i - 1], functions->order[i]) != 0)
            functions->all[functions->count++].loops = &functions->order[i];
        functions->all[functions->count - 1].count++;
    }
    return true;
}

/* ---- alignment ---- */

struct matching {
    const struct diff_side *a, *b;
    uint32_t *partners;     /* by loop of a */
    enum diff_match *found; /* by loop of a */
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

static void pair_up(struct matching *matching, const struct diff_loop *a, const struct diff_loop *b,
                    enum diff_match found)
{
    const ptrdiff_t i = a - matching->a->loops;

    matching->partners[i] = (uint32_t)(b - matching->b->loops);
    matching->found[i] = !strcmp(a->id, b->id) ? DIFF_SAME_ID : found;
}

static int by_id(const void *left, const void *right)
{
    const struct diff_loop *const *a = left, *const *b = right;

    return strcmp((*a)->id, (*b)->id);
}

static void pair_by_id(struct matching *matching, const struct function *f,
                       const struct function *g)
{
    qsort(f->loops, f->count, sizeof(void *), by_id);
    qsort(g->loops, g->count, sizeof(void *), by_id);
    for (uint32_t i = 0, j = 0; i < f->count && j < g->count;) {
        const int order = by_id(&f->loops[i], &g->loops[j]);
        if (!order)
            pair_up(matching, f->loops[i], g->loops[j], DIFF_SAME_ID);
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

/* The pairs that make up the largest sum. */
static void take_alignment(struct matching *matching, const struct function *f,
                           const struct function *g, enum diff_match found)
{
    const size_t width = g->count + (size_t)1;
    const double *cells = matching->cells;
    uint32_t i = f->count, j = g->count;

    while (i && j) {
        const double here = cells[i * width + j];
        if (here <= cells[(i - 1) * width + j])
            i--;
        else if (here <= cells[i * width + j - 1])
            j--;
        else
            pair_up(matching, f->loops[--i], g->loops[--j], found);
    }
}

static bool fits(const struct function *f, const struct function *g)
{
    return (f->count + (size_t)1) * (g->count + (size_t)1) <= CELLS_MAX;
}

static void match_functions(struct matching *matching, struct function *f, struct function *g,
                            enum diff_match found)
{
    f->is_paired = g->is_paired = true;
    if (!fits(f, g)) {
        pair_by_id(matching, f, g);
        return;
    }
    align(matching, f, g);
    take_alignment(matching, f, g, found);
}

/* Functions of one name and file; both lists are in their order. */
static void match_named(struct matching *matching, const struct functions *f,
                        const struct functions *g)
{
    for (uint32_t i = 0, j = 0; i < f->count && j < g->count;) {
        const int order = by_function(f->all[i].loops[0], g->all[j].loops[0]);
        if (!order)
            match_functions(matching, &f->all[i], &g->all[j], DIFF_MOVED);
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
    if (a->f != b->f)
        return a->f < b->f ? -1 : 1;
    return (a->g > b->g) - (a->g < b->g);
}

/* Their loops, which are as many as the functions or more. */
static uint32_t count_unpaired(const struct functions *functions)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < functions->count; i++)
        n += functions->all[i].is_paired ? 0 : functions->all[i].count;
    return n;
}

/* Mean likeness of all loops of both, those without partners counting as 0; a name or a file in
 * common says something as well. */
static double function_likeness(const struct matching *matching, const struct function *f,
                                const struct function *g)
{
    const struct psnap_profile_loop *a = f->loops[0]->first, *b = g->loops[0]->first;
    const double loops = fmax(f->count, g->count);

    return align(matching, f, g) / loops + 0.2 * !strcmp(a->function, b->function) +
           0.1 * !strcmp(a->file, b->file);
}

/* False: out of memory. */
static bool match_others(struct matching *matching, struct functions *f, struct functions *g)
{
    const size_t pairs = (size_t)count_unpaired(f) * count_unpaired(g);
    struct candidate *candidates;
    size_t n = 0;

    if (!pairs || pairs > PAIRS_MAX)
        return true;
    matching->wants_evidence = true;
    candidates = malloc(pairs * sizeof *candidates);
    if (!candidates)
        return false;
    for (uint32_t i = 0; i < f->count; i++) {
        for (uint32_t j = 0; j < g->count && !f->all[i].is_paired; j++) {
            struct candidate *candidate = &candidates[n];
            if (g->all[j].is_paired || !fits(&f->all[i], &g->all[j]))
                continue;
            *candidate = (struct candidate){&f->all[i], &g->all[j],
                                            function_likeness(matching, &f->all[i], &g->all[j])};
            n += candidate->alike >= FUNCTION_LEAST;
        }
    }
    qsort(candidates, n, sizeof *candidates, by_likeness);
    for (size_t i = 0; i < n; i++)
        if (!candidates[i].f->is_paired && !candidates[i].g->is_paired)
            match_functions(matching, candidates[i].f, candidates[i].g, DIFF_RENAMED);
    free(candidates);
    return true;
}

enum psnap_status diff_match_loops(const struct diff_side *a, const struct diff_side *b,
                                   uint32_t *partners, enum diff_match *found,
                                   struct psnap_error *error)
{
    struct matching matching = {a, b, partners, found, false, malloc(CELLS_MAX * sizeof(double))};
    struct functions f = {0}, g = {0};
    bool is_good = matching.cells && find_functions(a, &f) && find_functions(b, &g);

    for (uint32_t i = 0; i < a->loop_count; i++) {
        partners[i] = PSNAP_NONE;
        found[i] = DIFF_ONLY_A;
    }
    if (is_good) {
        match_named(&matching, &f, &g);
        is_good = match_others(&matching, &f, &g);
    }
    free(matching.cells);
    free(f.order);
    free(f.all);
    free(g.order);
    free(g.all);
    return is_good ? PSNAP_OK : psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
}
