/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The order of a profile of model nests, for people: the schedule as nested loops, each body with
 * its trip count, accesses and references; chains with their hottest bodies and what comes after
 * them. Cut to some lines in the table, in full with --schedule.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/cmd.h"
#include "profile/cmd_show.h"
#include "profile/cmd_words.h"

enum {
    NAME_MAX = 48,  /* columns of a name and what it is indented by */
    REFS_MAX = 64,  /* and of a body's references */
    NEXT_MAX = 4,   /* bodies after a body */
    STATES_MAX = 12 /* bodies of a chain in short */
};

struct printing {
    const struct psnap_profile *profile;
    uint64_t lines, printed; /* at most, and wanted so far */
    int width;               /* of names */
    bool is_dry;             /* only the width is looked for */
    bool is_short;
    const uint64_t *steps[NEST_DEPTH_MAX]; /* by repeat around: of the term's first value */
    uint32_t depth;
};

/* Begins a line, unless there have been enough: its name, padded for what follows. */
static bool begin_line(struct printing *p, uint32_t indent, const char *name, bool is_padded)
{
    int length;

    if (p->printed++ >= p->lines)
        return false;
    length = (int)(2 * indent + strlen(name));
    if (p->is_dry) {
        p->width = length > p->width && length <= NAME_MAX ? length : p->width;
        return false;
    }
    psnap_print(stdout, "%*s%-*s", (int)(2 * indent), "",
                is_padded ? p->width - (int)(2 * indent) : 0, name);
    return true;
}

static const char *brief_trips(const struct model_body *body, char text[32])
{
    char digits[32];
    uint64_t steady;

    if (model_steady_trips(body, &steady))
        snprintf(text, 32, "%s", psnap_group_digits(steady, digits));
    else
        snprintf(text, 32, "mean %.4g",
                 (double)body->iterations / (double)(body->executions ? body->executions : 1));
    return text;
}

static void print_counts(const struct psnap_stream_model *model, const struct model_body *body)
{
    uint64_t accesses = body->iterations * body->width;
    char trips[32], digits[32];

    for (uint32_t i = 0; i < body->part_count; i++) {
        const struct model_body *part = &model->bodies[body->parts[i].body];
        accesses += part->iterations * part->width;
    }
    psnap_print(stdout, "  %12s  %14s  ",
                body->part_count && !body->is_counted ? "" : brief_trips(body, trips),
                psnap_group_digits(accesses, digits));
}

/* "load a +8 x 2, store b +8": equal ones once, in the order of the first of them. */
static void print_refs(const struct psnap_profile *profile, const struct model_body *body,
                       bool is_short)
{
    const struct psnap_stream_model *model = profile->stream;
    char text[MODEL_TEXT], other[MODEL_TEXT];
    uint32_t left = body->width;
    size_t used = 0;

    for (uint32_t k = 0; k < body->width; k++) {
        uint32_t times = 1, i = 0;
        human_ref(profile, &model->refs[body->refs[k]], text);
        for (other[0] = '\0'; i < k && strcmp(text, other) != 0; i++)
            human_ref(profile, &model->refs[body->refs[i]], other);
        if (!strcmp(text, other))
            continue; /* has been counted */
        for (i = k + 1; i < body->width; i++) {
            human_ref(profile, &model->refs[body->refs[i]], other);
            times += !strcmp(text, other);
        }
        if (is_short && used > REFS_MAX) {
            printf(", %" PRIu32 " more", left);
            break;
        }
        left -= times;
        used += strlen(text) + (k ? 2 : 0);
        psnap_print(stdout, "%s%s", k ? ", " : "", text);
        if (times > 1)
            used += (size_t)printf(" x %" PRIu32, times);
    }
    putchar('\n');
}

/* A body; its parts, one after the other, as lines below it. */
static void print_body(struct printing *p, const struct model_body *body, uint32_t indent)
{
    if (begin_line(p, indent, body->id, true)) {
        print_counts(p->profile->stream, body);
        if (body->part_count)
            psnap_print(stdout, "of %" PRIu32 " part%s\n", body->part_count,
                        psnap_plural(body->part_count));
        else
            print_refs(p->profile, body, p->is_short);
    }
    for (uint32_t i = 0; i < body->part_count; i++)
        print_body(p, &p->profile->stream->bodies[body->parts[i].body], indent + 1);
}

static void print_term(struct printing *p, const struct nest_pattern *pattern,
                       const uint64_t *values, uint32_t indent)
{
    const struct psnap_stream_model *model = p->profile->stream;
    char text[MODEL_TEXT];
    size_t at = 0;

    if (!pattern->body_count && !(pattern->symbol & MODEL_CHAIN)) {
        print_body(p, &model->bodies[pattern->symbol], indent);
        return;
    }
    if (!pattern->body_count) {
        snprintf(text, sizeof text, "visit %.60s", model_symbol_id(model, pattern->symbol));
        if (begin_line(p, indent, text, false))
            putchar('\n');
        return;
    }
    snprintf(text, sizeof text, "repeat ");
    human_count(values, p->steps, p->depth, 0, text + 7);
    if (begin_line(p, indent, text, false))
        putchar('\n');
    for (uint32_t i = 0; i < pattern->body_count; at += pattern->body[i++]->values) {
        const struct printing before = *p;
        for (uint32_t l = 0; l < p->depth; l++)
            p->steps[l] += 1 + at;
        p->steps[p->depth++] = pattern->steps + at;
        print_term(p, pattern->body[i], values + 1 + at, indent + 1);
        memcpy(p->steps, before.steps, sizeof p->steps);
        p->depth = before.depth;
    }
}

static void print_orders(struct printing *p)
{
    const struct psnap_stream_model *model = p->profile->stream;
    const bool has_threads = model->order_count > 1;
    char life[MODEL_LIFE_TEXT], text[MODEL_LIFE_TEXT + 32];

    p->printed = 0;
    for (uint32_t i = 0; i < model->order_count; i++) {
        const struct nest_terms *terms = &model->orders[i].terms;
        model_order_life(&model->orders[i], life);
        snprintf(text, sizeof text, "thread %u%s%s", model->orders[i].thread, *life ? ", " : "",
                 life);
        if (has_threads && begin_line(p, 0, text, false))
            putchar('\n');
        for (size_t k = 0; k < terms->count; k++)
            print_term(p, terms->terms[k].pattern, nest_term_values(terms, k), has_threads);
    }
}

/* ---- chains ---- */

struct hot_state {
    uint32_t state;
    uint64_t accesses;
};

static int by_accesses(const void *left, const void *right)
{
    const struct hot_state *a = left, *b = right;

    if (a->accesses != b->accesses)
        return a->accesses > b->accesses ? -1 : 1;
    return a->state < b->state ? -1 : a->state > b->state;
}

/* The states after one, the most frequent first; false: out of memory. */
static bool print_next(const struct psnap_stream_model *model, const struct chain *chain,
                       const struct chain_state *state, bool is_short)
{
    struct chain_edge *edges = malloc((state->edge_count + (size_t)1) * sizeof *edges);
    uint64_t sum = 0;

    if (!edges)
        return false;
    for (uint32_t k = 0; k < state->edge_count; k++) {
        edges[k] = state->edges[k];
        sum += edges[k].count;
    }
    qsort(edges, state->edge_count, sizeof *edges, chain_commonest_first);
    for (uint32_t k = 0; k < state->edge_count; k++) {
        if (is_short && k == NEXT_MAX) {
            printf(", %" PRIu32 " more", state->edge_count - k);
            break;
        }
        psnap_print(stdout, "%s%s %.3g %%", k ? ", " : "",
                    model_state_id(model, chain, edges[k].to),
                    100 * show_share(edges[k].count, sum));
    }
    putchar('\n');
    free(edges);
    return true;
}

/* False: out of memory. */
static bool print_chain(const struct psnap_stream_model *model, uint32_t index, bool is_short,
                        int width)
{
    const struct chain *chain = &model->chains[index];
    const uint32_t most = is_short && chain->count - 1 > STATES_MAX ? STATES_MAX : chain->count - 1;
    struct hot_state *hot = malloc(chain->count * sizeof *hot);
    uint64_t visits = 0;
    bool is_done = true;
    char title[64], digits[32];

    if (!hot)
        return false;
    for (uint32_t k = 0; k < chain->states[0].edge_count; k++)
        visits += chain->states[0].edges[k].count;
    for (uint32_t s = 1; s < chain->count; s++) {
        const uint32_t symbol = chain->states[s].symbol;
        const struct model_body *body = symbol & MODEL_CHAIN ? NULL : &model->bodies[symbol];
        const int length = (int)strlen(model_symbol_id(model, symbol)) + 2;
        hot[s - 1] = (struct hot_state){s, body ? body->iterations * body->width : UINT64_MAX};
        width = length > width ? length : width;
    }
    qsort(hot, chain->count - 1, sizeof *hot, by_accesses);
    width = width > NAME_MAX ? NAME_MAX : width;
    snprintf(title, sizeof title, "%s, %s visit%s", model->chain_ids[index],
             psnap_group_digits(visits, digits), psnap_plural(visits));
    psnap_print(stdout, "\n%-*s  %12s  %14s  %s\n", width, title, "iterations", "accesses", "next");
    for (uint32_t i = 0; i < most && is_done; i++) {
        const struct chain_state *state = &chain->states[hot[i].state];
        psnap_print(stdout, "  %-*s", width - 2, model_symbol_id(model, state->symbol));
        if (state->symbol & MODEL_CHAIN)
            psnap_print(stdout, "  %12s  %14s", "", "");
        else
            print_counts(model, &model->bodies[state->symbol]);
        is_done = print_next(model, chain, state, is_short);
    }
    if (most < chain->count - 1)
        printf("(%" PRIu32 " of %" PRIu32 " bodies; --schedule shows all)\n", most,
               chain->count - 1);
    free(hot);
    return is_done;
}

bool show_print_schedule(const struct psnap_profile *profile, uint64_t lines)
{
    const struct psnap_stream_model *model = profile->stream;
    struct printing p = {.profile = profile,
                         .lines = lines,
                         .width = 16,
                         .is_dry = true,
                         .is_short = lines != SHOW_ALL_LINES};

    if (!model)
        return true;
    print_orders(&p);
    p.is_dry = false;
    psnap_print(stdout, "\n%-*s  %12s  %14s  %s\n", p.width, "schedule", "iterations", "accesses",
                "references");
    print_orders(&p);
    if (p.printed > lines)
        printf("(%" PRIu64 " of %" PRIu64 " lines; --schedule shows all)\n", lines, p.printed);
    for (uint32_t i = 0; i < model->chain_count; i++) {
        if (p.is_short && i >= lines / 8 + 1) {
            printf("(%" PRIu32 " of %" PRIu32 " chains; --schedule shows all)\n", i,
                   model->chain_count);
            break;
        }
        if (!print_chain(model, i, p.is_short, p.width))
            return false;
    }
    return true;
}
