/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allocations are known by their call sites, "main cg.c:120", whose lines move as those of loops
 * do. The sites of a function that both profiles have in equal number are the same ones, in their
 * order; of other functions those of equal lines are.
 */
#include "profile/diff/diff.h"

#include <stdlib.h>
#include <string.h>

/* A call site: its name up to the colon, and the line. */
struct site {
    const char *name;
    size_t length;
    unsigned long src_line;
};

struct sites {
    struct site *all; /* each once, by function, then by line */
    size_t count;
};

static struct site site_of(const char *name)
{
    const char *colon = strrchr(name, ':');

    return (struct site){name, colon ? (size_t)(colon - name) : strlen(name),
                         colon ? strtoul(colon + 1, NULL, 10) : 0};
}

static int by_function(const struct site *a, const struct site *b)
{
    const int order = strncmp(a->name, b->name, a->length < b->length ? a->length : b->length);

    return order ? order : (a->length > b->length) - (a->length < b->length);
}

static int by_place(const void *left, const void *right)
{
    const struct site *a = left, *b = right;
    const int order = by_function(a, b);

    if (order)
        return order;
    if (a->src_line != b->src_line)
        return a->src_line < b->src_line ? -1 : 1;
    return strcmp(a->name, b->name);
}

static size_t count_regions(const struct diff_side *side)
{
    size_t n = 0;

    for (uint32_t i = 0; i < side->loop_count; i++)
        n += side->loops[i].region_count;
    return n;
}

/* False: out of memory. */
static bool find_sites(const struct diff_side *side, struct sites *sites)
{
    size_t n = 0;

    sites->all = malloc((count_regions(side) + 1) * sizeof *sites->all);
    if (!sites->all)
        return false;
    for (uint32_t i = 0; i < side->loop_count; i++)
        for (uint32_t r = 0; r < side->loops[i].region_count; r++)
            if (side->loops[i].regions[r].object_kind == PSNAP_OBJECT_ALLOCATION)
                sites->all[n++] = site_of(side->loops[i].regions[r].name);
    qsort(sites->all, n, sizeof *sites->all, by_place);
    for (size_t i = 0; i < n; i++)
        if (!sites->count || strcmp(sites->all[sites->count - 1].name, sites->all[i].name) != 0)
            sites->all[sites->count++] = sites->all[i];
    return true;
}

/* The end of the function's sites that begin at `from`. */
static size_t end_of(const struct sites *sites, size_t from)
{
    size_t end = from;

    while (end < sites->count && !by_function(&sites->all[from], &sites->all[end]))
        end++;
    return end;
}

/* By site of a: its name on side b, or its own. */
static void match(const struct sites *a, const struct sites *b, const char **names)
{
    for (size_t i = 0; i < a->count; i++)
        names[i] = a->all[i].name;
    for (size_t i = 0, j = 0; i < a->count && j < b->count;) {
        const int order = by_function(&a->all[i], &b->all[j]);
        const size_t i_end = order <= 0 ? end_of(a, i) : i, j_end = order >= 0 ? end_of(b, j) : j;
        if (!order && i_end - i == j_end - j)
            for (size_t k = 0; k < i_end - i; k++)
                names[i + k] = b->all[j + k].name;
        i = i_end;
        j = j_end;
    }
}

static int by_order(const void *left, const void *right)
{
    return diff_region_order(left, right);
}

/* Sets the keys; regions have another order then. */
static void rename_regions(struct diff_loop *loop, const struct sites *sites, const char **names)
{
    for (uint32_t r = 0; r < loop->region_count; r++) {
        struct diff_region *region = &loop->regions[r];
        const struct site wanted = site_of(region->name);
        const struct site *site;
        if (region->object_kind != PSNAP_OBJECT_ALLOCATION)
            continue;
        site = bsearch(&wanted, sites->all, sites->count, sizeof *sites->all, by_place);
        region->key = names[site - sites->all];
    }
    qsort(loop->regions, loop->region_count, sizeof *loop->regions, by_order);
}

enum psnap_status diff_match_sites(struct diff_side *a, const struct diff_side *b,
                                   struct psnap_error *error)
{
    struct sites of_a = {0}, of_b = {0};
    const char **names = NULL;
    bool is_good = find_sites(a, &of_a) && find_sites(b, &of_b);

    if (is_good)
        names = malloc((of_a.count + 1) * sizeof *names);
    if (names) {
        match(&of_a, &of_b, names);
        for (uint32_t i = 0; i < a->loop_count; i++)
            if (a->loops[i].region_count)
                rename_regions(&a->loops[i], &of_a, names);
    }
    is_good = names != NULL;
    free(of_a.all);
    free(of_b.all);
    free(names);
    return is_good ? PSNAP_OK : psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
}
