/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * psnap diff: two profiles of a program, of another input, compiler or machine, or before and after
 * an edit: which loops are in both, and what is different about them, the most important first. For
 * people from what to what, for programs:
 *
 *   {psnap, command, a: SIDE, b: SIDE, same, differing, loops: [PAIR], schedule: {same, thread,
 *    a, b: the first items that differ}, chains: [{id, in_a, in_b, from, to, share_a, share_b}]}
 *   SIDE  {input, program, compiler, host, model, accesses, loads, stores, atomics, loop_count}
 *   PAIR  {match, importance, changes: [WORD], a: LOOP or null, b: LOOP or null,
 *          regions: [{name, object, changes, a: NUMBERS or null, b: NUMBERS or null}],
 *          addresses: [{ref, a: TEXT, b: TEXT}], trip_counts: [{body, a: TEXT, b: TEXT}]}
 *   LOOP  {id, function, file, src_line, depth, entries, iterations, references, exact, parts,
 *          operations, share, NUMBERS}
 *   NUMBERS  accesses, loads, stores, atomics, working_set_bytes, sizes, strides, and with model
 *            irregular references reuse: {first, times: by the shortest of a bin}
 *
 * match is id, moved, renamed, only_a or only_b; loops of one id that are alike are left out, as
 * are those beyond --top. Both forms go through the table of measures (diff.h).
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "formats/base/cmd.h"
#include "profile/cmd_words.h"
#include "profile/diff/diff.h"
#include "profile/yaml/yaml_keys.h"
#include "replay/cmd_input.h"

enum { ITEMS_SHOWN = 3 /* references and bodies of a loop */ };

#define REGION 0.1           /* share of a loop's accesses of a region that is worth a line */
#define SHARES_NOTABLE 0.005 /* shares that are nearer than this are not worth a word */

struct request {
    const char *a, *b; /* paths */
    uint64_t top;      /* loops that differ, at most */
};

/* The name of one of a measure's numbers. */
static const char *item_name(const struct diff_measure *measure, unsigned item, char text[16])
{
    if (measure->change == DIFF_KINDS)
        return psnap_kind_keys[item];
    if (measure->change == DIFF_STRIDES)
        return psnap_stride_label(item);
    if (measure->change == DIFF_OPERATIONS)
        return psnap_operation_name(item);
    snprintf(text, 16, "%u", item);
    return text;
}

/* ---- for people: measures ---- */

/* "197 -> 394 (times 2.0)"; sizes that look alike when they are rounded are said to the byte. */
static void print_counts(uint64_t a, uint64_t b, bool is_bytes)
{
    const double times = diff_share(b, a);
    const bool has_times = a && b && fabs(times - 1) >= 0.005;
    char from[32], to[32];
    const bool is_rounded = is_bytes && strcmp(human_bytes(a, from), human_bytes(b, to)) != 0;

    if (!is_rounded) {
        psnap_group_digits(a, from);
        psnap_group_digits(b, to);
    }
    psnap_print(stdout, "%s -> %s%s", from, to, is_bytes && !is_rounded ? " bytes" : "");
    if (has_times)
        printf(times >= 100     ? " (times %.0f)"
               : times >= 1.5   ? " (times %.1f)"
               : times >= 0.095 ? " (times %.2f)"
                                : " (times %.2g)",
               times);
}

static void shares_text(const struct diff_measure *measure, const uint64_t *values,
                        char text[MODEL_TEXT])
{
    unsigned largest[HUMAN_SHARES];
    double percent[HUMAN_SHARES];
    size_t used = 0;
    char name[16];

    if (measure->change == DIFF_REUSE) {
        human_reuse(values, text);
        return;
    }
    snprintf(text, MODEL_TEXT, "-");
    for (unsigned i = 0, n = human_shares(values, measure->count, largest, percent); i < n; i++)
        used += (size_t)snprintf(text + used, 32, "%s%s %.0f %%", i ? ", " : "",
                                 item_name(measure, largest[i], name), percent[i]);
}

static void print_shares(const struct diff_measure *measure, const uint64_t *a, const uint64_t *b)
{
    char from[MODEL_TEXT], to[MODEL_TEXT];

    shares_text(measure, a, from);
    shares_text(measure, b, to);
    if (strcmp(from, to) != 0)
        psnap_print(stdout, "%s -> %s", from, to);
    else
        psnap_print(stdout, "%s, but for %.1f %%", from,
                    100 * diff_of_shares(a, b, measure->count));
}

/* Whether a change of regions or loops is worth a word. Models have references, or not. */
static bool is_notable(const struct diff_measure *measure, const void *a, const void *b)
{
    const uint64_t *p = diff_values(measure, a), *q = diff_values(measure, b);

    if (measure->change == DIFF_REFERENCES)
        return *p && *q;
    return measure->count == 1 || diff_of_shares(p, q, measure->count) >= SHARES_NOTABLE;
}

/* Prints changes of two regions, in a line, or of two loops, a line each; returns how many. */
static unsigned print_measures(const void *a, const void *b, unsigned changes, bool is_loop)
{
    unsigned printed = 0;

    for (unsigned i = 0; i < (is_loop ? DIFF_MEASURES : DIFF_REGION_MEASURES); i++) {
        const struct diff_measure *measure = &diff_measures[i];
        const uint64_t *p = diff_values(measure, a), *q = diff_values(measure, b);
        if (!(changes & (unsigned)measure->change) || !is_notable(measure, a, b))
            continue;
        if (is_loop)
            psnap_print(stdout, "\n  %-13s", measure->label);
        else
            psnap_print(stdout, "%s %s ", printed ? "," : ":", measure->label);
        printed++;
        if (measure->count > 1)
            print_shares(measure, p, q);
        else if (measure->form == DIFF_FLAG)
            fputs(*p ? "exact -> from statistics" : "from statistics -> exact", stdout);
        else
            print_counts(*p, *q, measure->form == DIFF_BYTES);
    }
    return printed;
}

/* ---- for people: regions ---- */

/* What is to be said of a region beyond what is said of its loop: that accesses have become as many
 * times more is not; a new place is, where sizes are as they were. */
static unsigned news(const struct diff_pair *pair, const struct diff_region_pair *region)
{
    const double times = diff_share(pair->b->all.accesses, pair->a->all.accesses);
    unsigned news = region->changes;

    if (!region->a || !region->b || news == DIFF_PLACE)
        return DIFF_PLACE;
    for (unsigned i = 0; i < DIFF_REGION_MEASURES; i++)
        if (!is_notable(&diff_measures[i], region->a, region->b))
            news &= ~(unsigned)diff_measures[i].change;
    if (fabs(diff_share(region->b->accesses, region->a->accesses) - times) < 0.01 * times)
        news &= ~(unsigned)DIFF_ACCESSES;
    return news & ~(unsigned)DIFF_PLACE;
}

static void print_region(const struct diff_region_pair *region, unsigned news)
{
    const struct diff_region *a = region->a, *b = region->b, *either = a ? a : b;
    char digits[32];

    psnap_print(stdout, "  %s %s",
                either->object_kind < DIFF_NO_OBJECT ? psnap_object_keys[either->object_kind]
                                                     : "region",
                either->name);
    if (a && b && strcmp(a->name, b->name) != 0)
        psnap_print(stdout, " (in b %s)", b->name);
    if (!a || !b)
        psnap_print(stdout, ": only in %s, %s accesses", a ? "a" : "b",
                    psnap_group_digits(either->accesses, digits));
    else if (news == DIFF_PLACE)
        printf(": moved by %+" PRId64 " bytes", (int64_t)(b->low - a->low));
    else
        print_measures(a, b, news, false);
    putchar('\n');
}

static double share_in(const struct diff_region *region, const struct diff_loop *loop)
{
    return region ? diff_share(region->accesses, loop->all.accesses) : 0;
}

/* Prints the regions with news and a share of the loop's accesses that is worth it; nothing where
 * there is one alone, of which all has been said. */
static void print_regions(const struct diff_pair *pair)
{
    uint32_t more = 0;

    if (pair->region_count == 1 && news(pair, pair->regions) != DIFF_PLACE)
        return;
    for (uint32_t i = 0; i < pair->region_count; i++) {
        const struct diff_region_pair *region = &pair->regions[i];
        const unsigned changes = news(pair, region);
        if (changes && fmax(share_in(region->a, pair->a), share_in(region->b, pair->b)) >= REGION)
            print_region(region, changes);
        else
            more += changes != 0;
    }
    if (more)
        psnap_print(stdout, "  (%" PRIu32 " more region%s with fewer accesses)\n", more,
                    psnap_plural(more));
}

/* ---- for people: loops ---- */

static void print_more(uint32_t count, const char *what)
{
    if (count > ITEMS_SHOWN)
        psnap_print(stdout, "\n  (%" PRIu32 " more with other %s)", count - ITEMS_SHOWN, what);
}

/* Prints the first references that go elsewhere, and bodies with other trip counts. */
static void print_model(const struct profile_diff *diff, const struct diff_pair *pair)
{
    const struct psnap_stream_model *a = diff->a.profile->stream, *b = diff->b.profile->stream;
    char from[MODEL_TEXT], to[MODEL_TEXT], where[2][MODEL_TEXT];

    for (uint32_t i = 0; i < pair->ref_count && i < ITEMS_SHOWN; i++) {
        const struct model_ref *p = &a->refs[pair->refs[i].a], *q = &b->refs[pair->refs[i].b];
        human_where(diff->a.profile, p, where[0]);
        human_where(diff->b.profile, q, where[1]);
        human_addresses(p, from);
        human_addresses(q, to);
        psnap_print(stdout, "\n  reference %-3" PRIu32 "%s: %s -> ", p->number, where[0], from);
        if (p->rule != q->rule || strcmp(where[0], where[1]) != 0)
            psnap_print(stdout, "%s: ", where[1]);
        psnap_print(stdout, "%s", to);
    }
    print_more(pair->ref_count, "addresses");
    for (uint32_t i = 0; i < pair->body_count && i < ITEMS_SHOWN; i++) {
        human_trips(&a->bodies[pair->bodies[i].a], from);
        human_trips(&b->bodies[pair->bodies[i].b], to);
        if (strcmp(from, to) != 0) /* else it differs only in how it is kept */
            psnap_print(stdout, "\n  trip count   %s: %s -> %s", a->bodies[pair->bodies[i].a].id,
                        from, to);
    }
    print_more(pair->body_count, "trip counts");
}

static void print_pair(const struct profile_diff *diff, const struct diff_pair *pair)
{
    const struct diff_loop *a = pair->a, *b = pair->b, *either = a ? a : b;
    const struct diff_side *side = a ? &diff->a : &diff->b;
    char text[4096], digits[32], bytes[32];

    psnap_print(stdout, "\n%s", either->id);
    if (a && b && strcmp(a->id, b->id) != 0)
        psnap_print(stdout, " -> %s", b->id);
    psnap_print(stdout, "  %s", human_source(either->parts[0], text, sizeof text));
    if (!a || !b) {
        psnap_print(stdout, ": only in %s, %s accesses, %.1f %%, working set %s\n", a ? "a" : "b",
                    psnap_group_digits(either->all.accesses, digits),
                    100 * diff_share(either->all.accesses, side->totals.accesses),
                    human_bytes(either->all.working_set_bytes, bytes));
        return;
    }
    if (pair->match != DIFF_SAME_ID)
        psnap_print(stdout, " -> %s", human_source(b->parts[0], text, sizeof text));
    printf(", %.1f %% -> %.1f %% of the accesses",
           100 * diff_share(a->all.accesses, diff->a.totals.accesses),
           100 * diff_share(b->all.accesses, diff->b.totals.accesses));
    if (pair->match == DIFF_MOVED)
        printf("\n  moved to another line: the same function, in its order, and alike");
    if (pair->match == DIFF_RENAMED)
        printf("\n  in another function or file, but alike");
    if (!print_measures(a, b, pair->changes, true) &&
        pair->changes & ~(unsigned)(DIFF_REGIONS | DIFF_ADDRESSES | DIFF_TRIPS))
        fputs("\n  shares that differ by less than half a percent", stdout);
    print_model(diff, pair);
    putchar('\n');
    print_regions(pair);
}

/* ---- for people: all of it ---- */

static void print_side(const char *name, const char *path, const struct psnap_profile *profile)
{
    const struct psnap_provenance *from = &profile->provenance;

    psnap_print(stdout, "%-10s %s: %s", name, path,
                from->name && *from->name ? from->name : "unknown");
    print_command(from->command);
    psnap_print(stdout, "%s%s%s%s, model %s\n", *from->compiler ? ", " : "", from->compiler,
                *from->host ? ", " : "", from->host, profile->model);
}

static void print_total(const char *name, uint64_t a, uint64_t b)
{
    char digits[32];

    psnap_print(stdout, "%-10s ", name);
    if (a == b)
        psnap_print(stdout, "%s", psnap_group_digits(a, digits));
    else
        print_counts(a, b, false);
    putchar('\n');
}

static void print_totals(const struct profile_diff *diff)
{
    const struct psnap_profile_totals *a = &diff->a.totals, *b = &diff->b.totals;
    uint32_t only_a = 0, only_b = 0, differ = 0, moved = 0;

    for (uint32_t i = 0; i < diff->pair_count; i++) {
        const struct diff_pair *pair = &diff->pairs[i];
        only_a += !pair->b;
        only_b += !pair->a;
        differ += pair->a && pair->b && pair->changes;
        moved += pair->match == DIFF_MOVED || pair->match == DIFF_RENAMED;
    }
    print_total("accesses", a->accesses, b->accesses);
    print_total("loads", a->loads, b->loads);
    print_total("stores", a->stores + a->atomics, b->stores + b->atomics);
    printf("loops      %" PRIu32 " differ, %" PRIu32 " are alike", differ,
           diff->pair_count - only_a - only_b - differ);
    if (only_a)
        printf(", %" PRIu32 " only in a", only_a);
    if (only_b)
        printf(", %" PRIu32 " only in b", only_b);
    if (moved)
        printf("; %" PRIu32 " in another place", moved);
    putchar('\n');
}

static void print_chain(const struct profile_diff *diff, const struct diff_chain *chain)
{
    const struct psnap_stream_model *a = diff->a.profile->stream, *b = diff->b.profile->stream;
    const struct chain *of = &a->chains[chain->chain];

    psnap_print(stdout, "%s: ", model_symbol_id(chain->in_a ? a : b, MODEL_CHAIN | chain->chain));
    if (!chain->in_a || !chain->in_b) {
        psnap_print(stdout, "only in %s\n", chain->in_a ? "a" : "b");
        return;
    }
    printf("%" PRIu32 " states", of->count - 1);
    if (of->count != b->chains[chain->chain].count)
        printf(" -> %" PRIu32, b->chains[chain->chain].count - 1);
    if (chain->has_transition)
        psnap_print(stdout, "; after %s comes %s %.3g %% -> %.3g %%\n",
                    model_state_id(a, of, chain->from), model_state_id(a, of, chain->next),
                    100 * chain->share_a, 100 * chain->share_b);
    else
        puts("; the same transitions, more or less often");
}

static void print_order(const struct profile_diff *diff)
{
    if (diff->has_other_order || diff->chain_count)
        putchar('\n');
    if (diff->has_other_order) {
        const struct psnap_stream_model *a = diff->a.profile->stream, *b = diff->b.profile->stream;
        fputs("schedule", stdout);
        if (a->order_count > 1 || b->order_count > 1)
            psnap_print(stdout, " of thread %u", diff->order_thread);
        psnap_print(stdout, ": %s -> %s (the first item that differs)\n", diff->order_a,
                    diff->order_b);
    }
    for (uint32_t i = 0; i < diff->chain_count; i++)
        print_chain(diff, &diff->chains[i]);
}

static void print_text(const struct profile_diff *diff, const struct request *request)
{
    uint64_t differing = 0;
    bool has_moved = false;

    print_side("a", request->a, diff->a.profile);
    print_side("b", request->b, diff->b.profile);
    print_totals(diff);
    for (uint32_t i = 0; i < diff->pair_count; i++)
        if (diff_pair_differs(&diff->pairs[i]) && differing++ < request->top)
            print_pair(diff, &diff->pairs[i]);
    if (differing > request->top)
        printf("\n(%" PRIu64 " of %" PRIu64 " loops that differ; --top N shows more)\n",
               request->top, differing);
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
    print_order(diff);
    if (diff->has_other_order || diff->chain_count || differing || has_moved)
        return;
    puts(diff->is_same   ? "\nthey say the same"
         : diff->body_of ? "\nno number of a loop differs: reuse histograms or first touches do by "
                           "little, or\nlines, names and what is said of the capture"
                         : "\nno number of a loop differs: the order of loops (schedule) or of "
                           "accesses (pattern,\nstride_graph) does, or lines, names and what is "
                           "said of the capture");
}

/* ---- for programs ---- */

/* Begins the object of a side, or says that it has none. */
static bool json_begin(struct psnap_json *json, const char *key, const void *of)
{
    if (of)
        psnap_json_begin_object(json, key);
    else
        psnap_json_real(json, key, NAN);
    return of != NULL;
}

/* Nothing when there are no irregular references. */
static void json_reuse(struct psnap_json *json, const uint64_t bins[REUSE_BINS])
{
    bool has_some = false;
    char label[24];

    for (unsigned bin = 0; bin < REUSE_BINS; bin++)
        has_some = has_some || bins[bin];
    if (!has_some)
        return;
    psnap_json_begin_object(json, "reuse");
    psnap_json_u64(json, "first", bins[REUSE_FIRST]);
    psnap_json_begin_object(json, "times");
    for (unsigned bin = 0; bin < REUSE_FIRST; bin++) {
        snprintf(label, sizeof label, "%" PRIu64, reuse_bin_low(bin));
        if (bins[bin])
            psnap_json_u64(json, label, bins[bin]);
    }
    psnap_json_end_object(json);
    psnap_json_end_object(json);
}

/* The measures from one on up to another, of a region or loop. */
static void json_measures(struct psnap_json *json, const void *of, unsigned from, unsigned end)
{
    char name[16];

    for (const struct diff_measure *measure = &diff_measures[from]; measure < diff_measures + end;
         measure++) {
        const uint64_t *values = diff_values(measure, of);
        const bool is_known =
            *values != UINT64_MAX && (*values || measure->change != DIFF_REFERENCES);
        if (measure->change == DIFF_REUSE) {
            json_reuse(json, values);
        } else if (measure->form == DIFF_FLAG) {
            psnap_json_bool(json, measure->key, *values);
        } else if (measure->count == 1) {
            if (is_known)
                psnap_json_u64(json, measure->key, *values);
        } else {
            if (measure->key)
                psnap_json_begin_object(json, measure->key);
            for (unsigned i = 0; i < measure->count; i++)
                if (values[i] || !measure->key)
                    psnap_json_u64(json, item_name(measure, i, name), values[i]);
            if (measure->key)
                psnap_json_end_object(json);
        }
    }
}

static void json_loop(struct psnap_json *json, const char *key, const struct diff_loop *loop,
                      const struct diff_side *side)
{
    if (!json_begin(json, key, loop))
        return;
    psnap_json_text(json, "id", loop->id);
    psnap_json_text(json, "function", loop->parts[0]->function);
    psnap_json_text(json, "file", loop->parts[0]->file);
    psnap_json_u64(json, "src_line", loop->parts[0]->src_line);
    psnap_json_u64(json, "depth", loop->parts[0]->depth);
    json_measures(json, loop, DIFF_REGION_MEASURES, DIFF_MEASURES);
    psnap_json_real(json, "share", diff_share(loop->all.accesses, side->totals.accesses));
    json_measures(json, loop, 0, DIFF_REGION_MEASURES);
    psnap_json_end_object(json);
}

static void json_changes(struct psnap_json *json, unsigned changes)
{
    psnap_json_begin_array(json, "changes");
    for (unsigned bit = 0; bit < DIFF_CHANGES; bit++)
        if (changes & 1U << bit)
            psnap_json_text(json, NULL, diff_change_names[bit]);
    psnap_json_end_array(json);
}

static void json_region(struct psnap_json *json, const char *key, const struct diff_region *region)
{
    if (!json_begin(json, key, region))
        return;
    json_measures(json, region, 0, DIFF_REGION_MEASURES);
    psnap_json_end_object(json);
}

/* Those that differ. */
static void json_regions(struct psnap_json *json, const struct diff_pair *pair)
{
    psnap_json_begin_array(json, "regions");
    for (uint32_t i = 0; i < pair->region_count; i++) {
        const struct diff_region_pair *region = &pair->regions[i];
        const struct diff_region *either = region->a ? region->a : region->b;
        if (region->a && region->b && !region->changes)
            continue;
        psnap_json_begin_object(json, NULL);
        psnap_json_text(json, "name", either->name);
        if (either->object_kind < DIFF_NO_OBJECT)
            psnap_json_text(json, "object", psnap_object_keys[either->object_kind]);
        json_changes(json, region->changes);
        json_region(json, "a", region->a);
        json_region(json, "b", region->b);
        psnap_json_end_object(json);
    }
    psnap_json_end_array(json);
}

static void json_texts(struct psnap_json *json, const char *a, const char *b)
{
    psnap_json_text(json, "a", a);
    psnap_json_text(json, "b", b);
    psnap_json_end_object(json);
}

/* References and bodies that differ, in the words of psnap show. */
static void json_model(struct psnap_json *json, const struct profile_diff *diff,
                       const struct diff_pair *pair)
{
    const struct psnap_stream_model *a = diff->a.profile->stream, *b = diff->b.profile->stream;
    char from[MODEL_TEXT], to[MODEL_TEXT];

    psnap_json_begin_array(json, "addresses");
    for (uint32_t i = 0; i < pair->ref_count; i++) {
        human_addresses(&a->refs[pair->refs[i].a], from);
        human_addresses(&b->refs[pair->refs[i].b], to);
        psnap_json_begin_object(json, NULL);
        psnap_json_u64(json, "ref", a->refs[pair->refs[i].a].number);
        json_texts(json, from, to);
    }
    psnap_json_end_array(json);
    psnap_json_begin_array(json, "trip_counts");
    for (uint32_t i = 0; i < pair->body_count; i++) {
        human_trips(&a->bodies[pair->bodies[i].a], from);
        human_trips(&b->bodies[pair->bodies[i].b], to);
        psnap_json_begin_object(json, NULL);
        psnap_json_text(json, "body", a->bodies[pair->bodies[i].a].id);
        json_texts(json, from, to);
    }
    psnap_json_end_array(json);
}

static void json_order(struct psnap_json *json, const struct profile_diff *diff)
{
    const struct psnap_stream_model *a = diff->a.profile->stream, *b = diff->b.profile->stream;

    psnap_json_begin_object(json, "schedule");
    psnap_json_bool(json, "same", !diff->has_other_order);
    if (diff->has_other_order) {
        psnap_json_u64(json, "thread", diff->order_thread);
        psnap_json_text(json, "a", diff->order_a);
        psnap_json_text(json, "b", diff->order_b);
    }
    psnap_json_end_object(json);
    psnap_json_begin_array(json, "chains");
    for (uint32_t i = 0; i < diff->chain_count; i++) {
        const struct diff_chain *chain = &diff->chains[i];
        psnap_json_begin_object(json, NULL);
        psnap_json_text(json, "id",
                        model_symbol_id(chain->in_a ? a : b, MODEL_CHAIN | chain->chain));
        psnap_json_bool(json, "in_a", chain->in_a);
        psnap_json_bool(json, "in_b", chain->in_b);
        if (chain->has_transition) {
            const struct chain *of = &a->chains[chain->chain];
            psnap_json_text(json, "from", model_state_id(a, of, chain->from));
            psnap_json_text(json, "to", model_state_id(a, of, chain->next));
            psnap_json_real(json, "share_a", chain->share_a);
            psnap_json_real(json, "share_b", chain->share_b);
        }
        psnap_json_end_object(json);
    }
    psnap_json_end_array(json);
}

static void json_pair(struct psnap_json *json, const struct profile_diff *diff,
                      const struct diff_pair *pair)
{
    static const char *const matches[] = {"id", "moved", "renamed", "only_a", "only_b"};

    psnap_json_begin_object(json, NULL);
    psnap_json_text(json, "match", matches[pair->match]);
    psnap_json_real(json, "importance", pair->importance);
    json_changes(json, pair->changes);
    json_loop(json, "a", pair->a, &diff->a);
    json_loop(json, "b", pair->b, &diff->b);
    json_regions(json, pair);
    if (pair->refs)
        json_model(json, diff, pair);
    psnap_json_end_object(json);
}

static void json_side(struct psnap_json *json, const char *key, const char *path,
                      const struct diff_side *side)
{
    const struct psnap_provenance *from = &side->profile->provenance;

    psnap_json_begin_object(json, key);
    psnap_json_text(json, "input", path);
    psnap_json_text(json, "program", from->name);
    psnap_json_text(json, "compiler", from->compiler);
    psnap_json_text(json, "host", from->host);
    psnap_json_text(json, "model", side->profile->model);
    psnap_json_u64(json, "accesses", side->totals.accesses);
    psnap_json_u64(json, "loads", side->totals.loads);
    psnap_json_u64(json, "stores", side->totals.stores);
    psnap_json_u64(json, "atomics", side->totals.atomics);
    psnap_json_u64(json, "loop_count", side->loop_count);
    psnap_json_end_object(json);
}

static void print_json(const struct profile_diff *diff, const struct request *request)
{
    struct psnap_json json;
    uint64_t differing = 0, shown = 0;

    for (uint32_t i = 0; i < diff->pair_count; i++)
        differing += diff_pair_differs(&diff->pairs[i]);
    psnap_cmd_begin_json(&json, stdout, "diff");
    json_side(&json, "a", request->a, &diff->a);
    json_side(&json, "b", request->b, &diff->b);
    psnap_json_bool(&json, "same", diff->is_same);
    psnap_json_u64(&json, "differing", differing);
    psnap_json_begin_array(&json, "loops");
    for (uint32_t i = 0; i < diff->pair_count; i++)
        if ((diff_pair_differs(&diff->pairs[i]) || diff->pairs[i].match != DIFF_SAME_ID) &&
            shown++ < request->top)
            json_pair(&json, diff, &diff->pairs[i]);
    psnap_json_end_array(&json);
    if (diff->body_of)
        json_order(&json, diff);
    psnap_json_end_object(&json);
    putchar('\n');
}

/* ---- the command ---- */

static int diff(const struct request *request, bool as_json, bool *is_same)
{
    struct psnap_error error;
    struct psnap_profile *a = psnap_input_read_profile(request->a, &error);
    struct psnap_profile *b = a ? psnap_input_read_profile(request->b, &error) : NULL;
    struct profile_diff result;
    int status = PSNAP_EXIT_FAILED;

    if (b && !profile_diff_init(&result, a, b, &error)) {
        (as_json ? print_json : print_text)(&result, request);
        *is_same = result.is_same;
        profile_diff_release(&result);
        status = psnap_cmd_close_stdout("diff", PSNAP_EXIT_DONE);
    } else
        psnap_cmd_fail("diff", &error);
    psnap_profile_free(a);
    psnap_profile_free(b);
    return status;
}

int psnap_cmd_diff(int argc, char **argv)
{
    struct request request = {.top = 20};
    bool as_json = false, tells = false, is_same = true;
    const struct psnap_option options[] = {
        {PSNAP_OPTION_U64, 0, "top", &request.top, "N", "so many of the loops that differ; 20"},
        {PSNAP_OPTION_FLAG, 0, "json", &as_json, NULL, "for programs"},
        {PSNAP_OPTION_FLAG, 0, "exit-code", &tells, NULL,
         "exit status 1 when the profiles differ, 2 when one cannot be read, as diff(1)"},
        {.type = PSNAP_OPTION_END},
    };
    const struct psnap_usage usage = {
        "psnap diff A.yaml B.yaml [--top N] [--json] [--exit-code]",
        "Says what is different in B: loops that only one has, accesses, working sets,\n"
        "strides, reuse, sizes, the mix of loads and stores, executions, operations, rules and\n"
        "nests of references and trip counts, the most important first, then where schedules\n"
        "and chains differ. Loops are those of the source, with all their parts; one that\n"
        "has moved to another line, or has another name, is found by its place among the\n"
        "others and by what it touches, and that is said.",
        options};
    int status;
    const int operands = psnap_options_parse(argc, argv, &usage, false, &status);

    if (operands < 0)
        return status;
    if (operands != 2)
        return psnap_cmd_usage("diff", "two profiles are needed, not %d", operands);
    request.a = argv[1];
    request.b = argv[2];
    if (!strcmp(request.a, "-") && !strcmp(request.b, "-"))
        return psnap_cmd_usage("diff", "only one side can be standard input");
    status = diff(&request, as_json, &is_same);
    if (tells && status == PSNAP_EXIT_FAILED)
        return PSNAP_EXIT_USAGE; /* "trouble" */
    return tells && !status && !is_same ? PSNAP_EXIT_FAILED : status;
}
