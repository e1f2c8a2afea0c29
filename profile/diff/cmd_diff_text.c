/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * psnap diff for people: for each loop that differs what is different, in words: from what to what,
 * and how many times that is.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "formats/base/cmd.h"
#include "profile/diff/cmd_diff.h"
#include "profile/cmd_words.h"
#include "profile/yaml/yaml_keys.h"

enum { REGIONS_SHOWN = 4, ITEMS_SHOWN = 3 /* of a loop */ };

static double share(uint64_t part, uint64_t whole)
{
    return whole ? (double)part / (double)whole : 0;
}

/* " (times 2.0)"; nothing where that says no more. */
static const char *human_times(uint64_t a, uint64_t b, char text[32])
{
    const double times = a ? (double)b / (double)a : 0;

    text[0] = '\0';
    if (!a || !b || fabs(times - 1) < 0.005)
        return text;
    if (times >= 1.5)
        snprintf(text, 32, times < 100 ? " (times %.1f)" : " (times %.0f)", times);
    else
        snprintf(text, 32, times >= 0.095 ? " (times %.2f)" : " (times %.2g)", times);
    return text;
}

/* "197 -> 394 (times 2.0)" */
static void print_counts(uint64_t a, uint64_t b)
{
    char from[32], to[32], times[32];

    psnap_print(stdout, "%s -> %s%s", psnap_group_digits(a, from), psnap_group_digits(b, to),
                human_times(a, b, times));
}

/* Sizes that look alike when they are rounded are said to the byte. */
static void print_bytes(uint64_t a, uint64_t b)
{
    char from[32], to[32], times[32];

    if (strcmp(human_bytes(a, from), human_bytes(b, to)) != 0) {
        psnap_print(stdout, "%s -> %s%s", from, to, human_times(a, b, times));
        return;
    }
    print_counts(a, b);
    fputs(" bytes", stdout);
}

static void print_strides(const struct diff_region *a, const struct diff_region *b)
{
    char from[256], to[256];

    if (strcmp(human_strides(a->strides, from, sizeof from),
               human_strides(b->strides, to, sizeof to)) != 0)
        psnap_print(stdout, "%s -> %s", from, to);
    else
        psnap_print(stdout, "%s, but for %.1f %%", from,
                    100 * diff_of_shares(a->strides, b->strides, PSNAP_STRIDE_BINS));
}

static void print_kinds_of(const struct diff_region *region)
{
    const char *separator = "";

    for (unsigned kind = 0; kind < 3; kind++) {
        if (!region->kinds[kind])
            continue;
        psnap_print(stdout, "%s%s %.1f %%", separator, psnap_kind_keys[kind],
                    100 * share(region->kinds[kind], region->accesses));
        separator = ", ";
    }
    if (!*separator)
        putchar('-');
}

/* The sizes of at least a twentieth of the accesses. */
static void print_sizes_of(const struct diff_region *region)
{
    const char *separator = "";

    for (unsigned size = 0; size <= PSNAP_ACCESS_SIZE_MAX; size++) {
        const double part = share(region->sizes[size], region->accesses);
        if (part < 0.05)
            continue;
        psnap_print(stdout, "%s%u", separator, size);
        if (part < 1)
            printf(" %.0f %%", 100 * part);
        separator = ", ";
    }
    if (!*separator)
        putchar('-');
}

static void print_kinds(const struct diff_region *a, const struct diff_region *b)
{
    print_kinds_of(a);
    fputs(" -> ", stdout);
    print_kinds_of(b);
}

static void print_sizes(const struct diff_region *a, const struct diff_region *b)
{
    print_sizes_of(a);
    fputs(" -> ", stdout);
    print_sizes_of(b);
}

/* Accesses whose line was touched within so many others. */
static void human_reuse(const struct diff_region *region, char *text, size_t size)
{
    static const uint64_t times[] = {16, 16384};
    uint64_t hits[2] = {0};

    for (unsigned bin = 0; bin < REUSE_FIRST; bin++)
        for (unsigned i = 0; i < 2; i++)
            hits[i] += reuse_bin_low(bin) < times[i] ? region->reuse[bin] : 0;
    snprintf(text, size, "within 16 accesses %.1f %%, within 16,384 %.1f %%, first touches %.1f %%",
             100 * share(hits[0], region->accesses), 100 * share(hits[1], region->accesses),
             100 * share(region->reuse[REUSE_FIRST], region->accesses));
}

static void print_reuse(const struct diff_region *a, const struct diff_region *b)
{
    char from[128], to[128];

    human_reuse(a, from, sizeof from);
    human_reuse(b, to, sizeof to);
    if (strcmp(from, to) != 0)
        psnap_print(stdout, "%s -> %s", from, to);
    else
        psnap_print(stdout, "%s, but for %.1f %%", from,
                    100 * diff_of_shares(a->reuse, b->reuse, REUSE_BINS));
}

static void print_operations(const struct diff_loop *a, const struct diff_loop *b)
{
    const char *separator = "";

    for (unsigned op = 0; op < PSNAP_OPERATION_COUNT; op++) {
        if (!diff_operation_is_notable(a, b, op))
            continue;
        psnap_print(stdout, "%s%s ", separator, psnap_operation_name(op));
        print_counts(a->operations[op], b->operations[op]);
        separator = ", ";
    }
}

/* ---- regions ---- */

static uint64_t weight(const struct diff_region_pair *pair)
{
    const uint64_t a = pair->a ? pair->a->accesses : 0, b = pair->b ? pair->b->accesses : 0;

    return a > b ? a : b;
}

/* What is to be said of a region beyond what is said of its loop: that accesses have become as many
 * times more is not; a new place is, where sizes are as they were. */
static unsigned news(const struct diff_pair *pair, const struct diff_region_pair *region)
{
    const uint64_t a = pair->a->all.accesses, b = pair->b->all.accesses;
    unsigned news = region->notable;

    if (!region->a || !region->b)
        return DIFF_REGIONS;
    if (fabs(share(region->b->accesses, region->a->accesses) - share(b, a)) < 0.01 * share(b, a))
        news &= ~(unsigned)DIFF_ACCESSES;
    if (region->changes != DIFF_PLACE)
        news &= ~(unsigned)DIFF_PLACE;
    return news;
}

/* The one with most accesses of those that have news and come after `last`; NULL: none. */
static const struct diff_region_pair *next_region(const struct diff_pair *pair,
                                                  const struct diff_region_pair *last)
{
    const struct diff_region_pair *best = NULL;

    for (uint32_t i = 0; i < pair->region_count; i++) {
        const struct diff_region_pair *region = &pair->regions[i];
        if (!news(pair, region))
            continue;
        if (last &&
            (weight(region) > weight(last) || (weight(region) == weight(last) && region <= last)))
            continue;
        if (!best || weight(region) > weight(best))
            best = region;
    }
    return best;
}

static void print_region_name(const struct diff_region *region)
{
    if (region->object_kind <= PSNAP_OBJECT_STACK)
        psnap_print(stdout, "%s %s", psnap_object_keys[region->object_kind], region->name);
    else
        psnap_print(stdout, "region %s", region->name);
}

/* What begins a piece of news. */
static bool says(unsigned *news, enum diff_change change, bool *has_begun, const char *what)
{
    if (!(*news & (unsigned)change))
        return false;
    psnap_print(stdout, "%s %s", *has_begun ? "," : ":", what);
    *has_begun = true;
    return true;
}

static void print_news(const struct diff_region_pair *pair, unsigned news)
{
    const struct diff_region *a = pair->a, *b = pair->b;
    bool has_begun = false;

    if (says(&news, DIFF_PLACE, &has_begun, "moved by "))
        printf("%+" PRId64 " bytes", (int64_t)(b->low - a->low));
    if (says(&news, DIFF_ACCESSES, &has_begun, "accesses "))
        print_counts(a->accesses, b->accesses);
    if (says(&news, DIFF_WORKING_SET, &has_begun, "working set "))
        print_bytes(a->working_set_bytes, b->working_set_bytes);
    if (says(&news, DIFF_STRIDES, &has_begun, "strides "))
        print_strides(a, b);
    if (says(&news, DIFF_REUSE, &has_begun, "reuse "))
        print_reuse(a, b);
    if (says(&news, DIFF_KINDS, &has_begun, ""))
        print_kinds(a, b);
    if (says(&news, DIFF_SIZES, &has_begun, "sizes "))
        print_sizes(a, b);
}

static void print_region(const struct diff_pair *pair, const struct diff_region_pair *region)
{
    const struct diff_region *a = region->a, *b = region->b;
    char digits[32];

    fputs("  ", stdout);
    print_region_name(a ? a : b);
    if (a && b && strcmp(a->name, b->name) != 0)
        psnap_print(stdout, " (in b %s)", b->name);
    if (a && b)
        print_news(region, news(pair, region));
    else
        psnap_print(stdout, ": only in %s, %s accesses", a ? "a" : "b",
                    psnap_group_digits((a ? a : b)->accesses, digits));
    putchar('\n');
}

/* Nothing where there is one alone, of which all has been said. */
static void print_regions(const struct diff_pair *pair)
{
    const struct diff_region_pair *region = NULL;
    uint32_t shown = 0, all = 0;

    for (uint32_t i = 0; i < pair->region_count; i++)
        all += news(pair, &pair->regions[i]) != 0;
    if (pair->region_count == 1 && news(pair, pair->regions) != DIFF_PLACE)
        return;
    while (shown < REGIONS_SHOWN && (region = next_region(pair, region))) {
        print_region(pair, region);
        shown++;
    }
    if (shown < all)
        printf("  (%" PRIu32 " more regions differ)\n", all - shown);
}

/* ---- loops ---- */

/* Whether there is a line about a change; it is begun. */
static bool begins(const struct diff_pair *pair, enum diff_change change, const char *label)
{
    if (!(pair->notable & (unsigned)change))
        return false;
    psnap_print(stdout, "\n  %-13s", label);
    return true;
}

static void print_statistics(const struct diff_pair *pair)
{
    const struct diff_region *a = &pair->a->all, *b = &pair->b->all;

    if (begins(pair, DIFF_ACCESSES, "accesses"))
        print_counts(a->accesses, b->accesses);
    if (begins(pair, DIFF_WORKING_SET, "working set"))
        print_bytes(a->working_set_bytes, b->working_set_bytes);
    if (begins(pair, DIFF_STRIDES, "strides"))
        print_strides(a, b);
    if (begins(pair, DIFF_REUSE, "reuse"))
        print_reuse(a, b);
    if (begins(pair, DIFF_KINDS, "kinds"))
        print_kinds(a, b);
    if (begins(pair, DIFF_SIZES, "sizes, bytes"))
        print_sizes(a, b);
}

static void print_executions(const struct diff_pair *pair)
{
    const struct diff_loop *a = pair->a, *b = pair->b;

    if (begins(pair, DIFF_ENTRIES, "entries"))
        print_counts(a->entries, b->entries);
    if (begins(pair, DIFF_ITERATIONS, "iterations"))
        print_counts(a->iterations, b->iterations);
    if (begins(pair, DIFF_REFERENCES, "references"))
        print_counts(a->references, b->references);
    if (begins(pair, DIFF_EXACT, "addresses"))
        fputs(a->is_exact ? "exact -> from statistics" : "from statistics -> exact", stdout);
    if (begins(pair, DIFF_PARTS, "parts"))
        printf("%" PRIu32 " -> %" PRIu32 ", as the optimiser left it", a->part_count,
               b->part_count);
    if (begins(pair, DIFF_OPERATIONS, "operations"))
        print_operations(a, b);
}

/* Which references go elsewhere, and which bodies have other trip counts. */
static void print_model(const struct profile_diff *diff, const struct diff_pair *pair)
{
    static const char *const rules[] = {"", "dependent, ", "irregular, "};
    const struct psnap_stream_model *a = diff->a.profile->stream, *b = diff->b.profile->stream;
    char from[MODEL_TEXT], to[MODEL_TEXT], where[2][MODEL_TEXT];

    for (uint32_t i = 0; i < pair->ref_count && i < ITEMS_SHOWN; i++) {
        const struct model_ref *p = &a->refs[pair->refs[i].a], *q = &b->refs[pair->refs[i].b];
        human_where(diff->a.profile, p, where[0]);
        human_where(diff->b.profile, q, where[1]);
        human_addresses(p, from);
        human_addresses(q, to);
        psnap_print(stdout, "\n  reference %-3" PRIu32 " %s%s: %s -> ", p->number, rules[p->rule],
                    where[0], from);
        if (p->rule != q->rule || strcmp(where[0], where[1]) != 0)
            psnap_print(stdout, "%s%s: ", rules[q->rule], where[1]);
        psnap_print(stdout, "%s", to);
    }
    if (pair->ref_count > ITEMS_SHOWN)
        printf("\n  (%" PRIu32 " more with other addresses)", pair->ref_count - ITEMS_SHOWN);
    for (uint32_t i = 0; i < pair->body_count && i < ITEMS_SHOWN; i++) {
        human_trips(&a->bodies[pair->bodies[i].a], from);
        human_trips(&b->bodies[pair->bodies[i].b], to);
        psnap_print(stdout, "\n  trip count    %s: %s -> %s", a->bodies[pair->bodies[i].a].id, from,
                    to);
    }
    if (pair->body_count > ITEMS_SHOWN)
        printf("\n  (%" PRIu32 " more with other trip counts)", pair->body_count - ITEMS_SHOWN);
}

/* What differs by so little that it needs no word. */
static void print_details(const struct diff_pair *pair)
{
    const char *separator = "\n  in detail: ";

    if (pair->notable & ~(unsigned)DIFF_REGIONS)
        return;
    for (unsigned bit = 0; bit < DIFF_CHANGES; bit++) {
        if (!(pair->changes & 1u << bit) || 1u << bit == DIFF_REGIONS)
            continue;
        psnap_print(stdout, "%s%s", separator, diff_change_name(bit));
        separator = ", ";
    }
}

static void print_heading(const struct profile_diff *diff, const struct diff_pair *pair)
{
    const struct diff_loop *a = pair->a, *b = pair->b, *either = a ? a : b;
    const struct diff_side *side = a ? &diff->a : &diff->b;
    char text[4096], digits[32], bytes[32];

    psnap_print(stdout, "\n%s", either->id);
    if (a && b && strcmp(a->id, b->id) != 0)
        psnap_print(stdout, " -> %s", b->id);
    psnap_print(stdout, "  %s", human_source(either->first, text, sizeof text));
    if (a && b && pair->match != DIFF_SAME_ID)
        psnap_print(stdout, " -> %s", human_source(b->first, text, sizeof text));
    if (!a || !b) {
        psnap_print(stdout, ": only in %s, %s accesses, %.1f %%, working set %s\n", a ? "a" : "b",
                    psnap_group_digits(either->all.accesses, digits),
                    100 * share(either->all.accesses, side->totals.accesses),
                    human_bytes(either->all.working_set_bytes, bytes));
        return;
    }
    printf(", %.1f %% -> %.1f %% of the accesses",
           100 * share(a->all.accesses, diff->a.totals.accesses),
           100 * share(b->all.accesses, diff->b.totals.accesses));
    if (pair->match == DIFF_MOVED)
        printf("\n  moved to another line: the same function, in its order, and alike");
    if (pair->match == DIFF_RENAMED)
        printf("\n  in another function or file, but alike");
}

static void print_pair(const struct profile_diff *diff, const struct diff_pair *pair)
{
    print_heading(diff, pair);
    if (!pair->a || !pair->b)
        return;
    print_statistics(pair);
    print_executions(pair);
    print_model(diff, pair);
    print_details(pair);
    putchar('\n');
    print_regions(pair);
}

/* ---- all of it ---- */

static void print_side(const char *name, const char *path, const struct psnap_profile *profile)
{
    const struct psnap_provenance *from = &profile->provenance;

    psnap_print(stdout, "%-10s %s: %s", name, path,
                from->name && *from->name ? from->name : "unknown");
    print_command(from->command);
    if (*from->compiler)
        psnap_print(stdout, ", %s", from->compiler);
    if (*from->host)
        psnap_print(stdout, ", %s", from->host);
    psnap_print(stdout, ", model %s\n", profile->model);
}

static void print_total(const char *name, uint64_t a, uint64_t b)
{
    char digits[32];

    psnap_print(stdout, "%-10s ", name);
    if (a == b)
        psnap_print(stdout, "%s", psnap_group_digits(a, digits));
    else
        print_counts(a, b);
    putchar('\n');
}

static void print_totals(const struct profile_diff *diff)
{
    uint32_t only_a = 0, only_b = 0, differ = 0, same = 0, moved = 0;

    for (uint32_t i = 0; i < diff->pair_count; i++) {
        const struct diff_pair *pair = &diff->pairs[i];
        only_a += !pair->b;
        only_b += !pair->a;
        differ += pair->a && pair->b && pair->changes;
        same += pair->a && pair->b && !pair->changes;
        moved += pair->match == DIFF_MOVED || pair->match == DIFF_RENAMED;
    }
    print_total("accesses", diff->a.totals.accesses, diff->b.totals.accesses);
    print_total("loads", diff->a.totals.loads, diff->b.totals.loads);
    print_total("stores", diff->a.totals.stores + diff->a.totals.atomics,
                diff->b.totals.stores + diff->b.totals.atomics);
    printf("loops      %" PRIu32 " differ, %" PRIu32 " are alike", differ, same);
    if (only_a)
        printf(", %" PRIu32 " only in a", only_a);
    if (only_b)
        printf(", %" PRIu32 " only in b", only_b);
    if (moved)
        printf("; %" PRIu32 " in another place", moved);
    putchar('\n');
}

static const char *state_name(const struct psnap_stream_model *model, uint32_t chain,
                              uint32_t state)
{
    return model_state_id(model, &model->chains[chain], state);
}

/* Whether there was something to say of the order of loops. */
static bool print_order(const struct profile_diff *diff)
{
    const struct psnap_stream_model *a = diff->a.profile->stream, *b = diff->b.profile->stream;

    if (diff->has_other_order) {
        fputs("\nschedule", stdout);
        if (a->order_count > 1 || b->order_count > 1)
            printf(" of thread %u", diff->order_thread);
        psnap_print(stdout, ": %s -> %s (the first item that differs)\n", diff->order_a,
                    diff->order_b);
    }
    for (uint32_t i = 0; i < diff->chain_count; i++) {
        const struct diff_chain *chain = &diff->chains[i];
        if (!i && !diff->has_other_order)
            putchar('\n');
        psnap_print(stdout,
                    "%s: ", model_symbol_id(chain->in_a ? a : b, MODEL_CHAIN | chain->chain));
        if (!chain->in_a || !chain->in_b) {
            psnap_print(stdout, "only in %s\n", chain->in_a ? "a" : "b");
            continue;
        }
        printf("%" PRIu32 " states", a->chains[chain->chain].count - 1);
        if (a->chains[chain->chain].count != b->chains[chain->chain].count)
            printf(" -> %" PRIu32, b->chains[chain->chain].count - 1);
        if (chain->has_transition)
            psnap_print(stdout, "; after %s comes %s %.3g %% -> %.3g %%",
                        state_name(a, chain->chain, chain->from),
                        state_name(a, chain->chain, chain->next), 100 * chain->share_a,
                        100 * chain->share_b);
        else
            fputs("; the same transitions, more or less often", stdout);
        putchar('\n');
    }
    return diff->has_other_order || diff->chain_count;
}

void diff_print_text(const struct profile_diff *diff, const struct diff_request *request)
{
    uint32_t differing = 0, shown = 0;
    bool has_moved = false;

    print_side("a", request->a, diff->a.profile);
    print_side("b", request->b, diff->b.profile);
    print_totals(diff);
    for (uint32_t i = 0; i < diff->pair_count; i++) {
        if (!diff_pair_differs(&diff->pairs[i]))
            continue;
        if (differing++ >= request->top)
            continue;
        print_pair(diff, &diff->pairs[i]);
        shown++;
    }
    if (shown < differing)
        printf("\n(%" PRIu32 " of %" PRIu32 " loops that differ; --top N shows more)\n", shown,
               differing);
    for (uint32_t i = 0; i < diff->pair_count; i++) {
        const struct diff_pair *pair = &diff->pairs[i];
        if (diff_pair_differs(pair) || pair->match == DIFF_SAME_ID)
            continue;
        fputs(has_moved ? ", " : "\nin another place, and else alike: ", stdout);
        psnap_print(stdout, "%s -> %s", pair->a->id, pair->b->id);
        has_moved = true;
    }
    if (has_moved)
        putchar('\n');
    if (print_order(diff) || differing || has_moved)
        return;
    fputs(diff->is_same ? "\nthey say the same\n" : "\nno number of a loop differs: ", stdout);
    if (!diff->is_same && diff->body_of)
        puts("reuse histograms or first touches do by little, or\n"
             "lines, names and what is said of the capture");
    else if (!diff->is_same)
        puts("the order of loops (schedule) or of accesses (pattern,\n"
             "stride_graph) does, or lines, names and what is said of the capture");
}
