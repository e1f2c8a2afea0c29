/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The model of a profile of model nests, for people: the schedule as nested loops, each body with
 * its trip count, accesses and references; chains with their hottest bodies and what comes after
 * them; bodies and references of a loop, with the nests of their addresses and trip counts; the
 * irregular references with most accesses. Cut to some lines in the table, in full with --schedule.
 *
 * An access of reuse time t touches at most t other lines since the last one to its line. So the
 * share of those below 512 hits in any fully associative LRU cache of 512 lines (32 KiB) and more.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/cmd_show.h"
#include "profile/cmd_words.h"

enum {
    REFS_MAX = 64,  /* columns of a body's references in short */
    NEXT_MAX = 4,   /* bodies after a body */
    STATES_MAX = 12 /* bodies of a chain in short */
};

struct psnap_table *show_table(size_t columns, const char *const *headings, unsigned right,
                               unsigned shortened)
{
    struct psnap_table *table = psnap_table_new(columns, headings);

    for (size_t i = 0; i < columns; i++) {
        if (right & 1U << i)
            psnap_table_align_right(table, i);
        if (shortened & 1U << i)
            psnap_table_shorten(table, i);
    }
    return table;
}

void show_print(struct psnap_table *table)
{
    putchar('\n');
    psnap_table_print(table, stdout);
    psnap_table_free(table);
}

/* ---- the schedule ---- */

struct printing {
    const struct psnap_profile *profile;
    struct psnap_table *table;
    uint64_t lines, printed; /* at most, and wanted so far */
    bool is_short;
    const uint64_t *steps[NEST_DEPTH_MAX]; /* by repeat around: of the term's first value */
    uint32_t depth;
};

/* Begins a row, unless there have been enough: its name. */
static bool begin_row(struct printing *p, uint32_t indent, const char *name)
{
    if (p->printed++ >= p->lines)
        return false;
    psnap_table_cell(p->table, "%*s%s", (int)(2 * indent), "", name);
    return true;
}

static void add_row(struct printing *p, uint32_t indent, const char *name, const char *about)
{
    if (!begin_row(p, indent, name))
        return;
    psnap_table_cell(p->table, "%s", "");
    psnap_table_cell(p->table, "%s", "");
    psnap_table_cell(p->table, "%s", about);
}

/* Cells: trip count and accesses. */
static void add_counts(struct psnap_table *table, const struct psnap_stream_model *model,
                       const struct model_body *body)
{
    uint64_t steady;
    char digits[32];

    if (body->part_count && !body->is_counted)
        psnap_table_cell(table, "%s", "");
    else if (model_steady_trips(body, &steady))
        psnap_table_cell(table, "%s", psnap_group_digits(steady, digits));
    else
        psnap_table_cell(table, "mean %.4g",
                         (double)body->iterations /
                             (double)(body->executions ? body->executions : 1));
    psnap_table_cell(table, "%s", psnap_group_digits(model_body_accesses(model, body), digits));
}

/* Adds the cell of a text that was written. */
static void end_cell(struct psnap_table *table, FILE *file, char *const *text)
{
    if (!file || fclose(file))
        psnap_cmd_out_of_memory();
    psnap_table_cell(table, "%s", *text);
    free(*text);
}

/* A cell: "load a +8 x 2, store b +8": equal ones once, in the order of the first of them. */
static void add_refs(struct printing *p, const struct model_body *body)
{
    char(*texts)[MODEL_TEXT] = calloc(body->width + (size_t)1, sizeof *texts), *all;
    uint32_t left = body->width;
    size_t size;
    FILE *file = open_memstream(&all, &size);

    if (!texts || !file)
        psnap_cmd_out_of_memory();
    for (uint32_t k = 0; k < body->width; k++)
        human_ref(p->profile, &p->profile->stream->refs[body->refs[k]], texts[k]);
    for (uint32_t k = 0; k < body->width && left; k++) {
        uint32_t times = 1;
        if (!*texts[k])
            continue; /* has been counted */
        for (uint32_t i = k + 1; i < body->width; i++)
            if (!strcmp(texts[k], texts[i])) {
                times++;
                *texts[i] = '\0';
            }
        if (p->is_short && fflush(file) == 0 && size > REFS_MAX) {
            fprintf(file, ", %" PRIu32 " more", left);
            break;
        }
        left -= times;
        fprintf(file, "%s%s", k ? ", " : "", texts[k]);
        if (times > 1)
            fprintf(file, " x %" PRIu32, times);
    }
    free(texts);
    end_cell(p->table, file, &all);
}

/* A body; its parts, one after the other, as lines below it. */
static void add_body(struct printing *p, const struct model_body *body, uint32_t indent)
{
    if (begin_row(p, indent, body->id)) {
        add_counts(p->table, p->profile->stream, body);
        if (body->part_count)
            psnap_table_cell(p->table, "of %" PRIu32 " part%s", body->part_count,
                             psnap_plural(body->part_count));
        else
            add_refs(p, body);
    }
    for (uint32_t i = 0; i < body->part_count; i++)
        add_body(p, &p->profile->stream->bodies[body->parts[i].body], indent + 1);
}

static void add_term(struct printing *p, const struct nest_pattern *pattern, const uint64_t *values,
                     uint32_t indent)
{
    const struct psnap_stream_model *model = p->profile->stream;
    char text[MODEL_TEXT];

    if (!pattern->body_count && !(pattern->symbol & MODEL_CHAIN)) {
        add_body(p, &model->bodies[pattern->symbol], indent);
        return;
    }
    snprintf(text, sizeof text, "repeat ");
    if (pattern->body_count)
        human_count(values, p->steps, p->depth, 0, text + strlen(text));
    else
        snprintf(text, sizeof text, "visit %.60s", model_symbol_id(model, pattern->symbol));
    add_row(p, indent, text, "");
    for (uint32_t i = 0, at = 0; i < pattern->body_count; at += pattern->body[i++]->values) {
        const struct printing before = *p;
        for (uint32_t l = 0; l < p->depth; l++)
            p->steps[l] += 1 + at;
        p->steps[p->depth++] = pattern->steps + at;
        add_term(p, pattern->body[i], values + 1 + at, indent + 1);
        memcpy(p->steps, before.steps, sizeof p->steps);
        p->depth = before.depth;
    }
}

static void print_orders(struct printing *p)
{
    static const char *const headings[] = {"schedule", "iterations", "accesses", "references"};
    const struct psnap_stream_model *model = p->profile->stream;
    const bool has_threads = model->order_count > 1;
    char life[MODEL_LIFE_TEXT], name[32];

    p->table = show_table(4, headings, 6, 1);
    for (uint32_t i = 0; i < model->order_count; i++) {
        const struct nest_terms *terms = &model->orders[i].terms;
        model_order_life(&model->orders[i], life);
        snprintf(name, sizeof name, "thread %u", model->orders[i].thread);
        if (has_threads)
            add_row(p, 0, name, life);
        for (size_t k = 0; k < terms->count; k++)
            add_term(p, terms->terms[k].pattern, nest_term_values(terms, k), has_threads);
    }
    show_print(p->table);
    if (p->printed > p->lines)
        printf("(%" PRIu64 " of %" PRIu64 " lines; --schedule shows all)\n", p->lines, p->printed);
}

/* ---- chains ---- */

struct hot_state {
    const struct chain_state *state;
    uint64_t accesses;
};

static int by_accesses(const void *left, const void *right)
{
    const struct hot_state *a = left, *b = right;

    if (a->accesses != b->accesses)
        return a->accesses > b->accesses ? -1 : 1;
    return a->state < b->state ? -1 : a->state > b->state;
}

/* A cell: the states after one, the most frequent first. */
static void add_next(struct psnap_table *table, const struct psnap_stream_model *model,
                     const struct chain *chain, const struct chain_state *state, bool is_short)
{
    struct chain_edge *edges = calloc(state->edge_count + (size_t)1, sizeof *edges);
    uint64_t sum = 0;
    char *text;
    size_t size;
    FILE *file = open_memstream(&text, &size);

    if (!edges || !file)
        psnap_cmd_out_of_memory();
    for (uint32_t k = 0; k < state->edge_count; k++) {
        edges[k] = state->edges[k];
        sum += edges[k].count;
    }
    qsort(edges, state->edge_count, sizeof *edges, chain_commonest_first);
    for (uint32_t k = 0; k < state->edge_count && !(is_short && k == NEXT_MAX); k++)
        fprintf(file, "%s%s %.3g %%", k ? ", " : "", model_state_id(model, chain, edges[k].to),
                show_percent(edges[k].count, sum));
    if (is_short && state->edge_count > NEXT_MAX)
        fprintf(file, ", %" PRIu32 " more", state->edge_count - NEXT_MAX);
    free(edges);
    end_cell(table, file, &text);
}

static void print_chain(const struct psnap_stream_model *model, uint32_t index, bool is_short)
{
    const struct chain *chain = &model->chains[index];
    const uint32_t all = chain->count - 1, most = is_short && all > STATES_MAX ? STATES_MAX : all;
    const uint64_t visits = chain_circuits(chain);
    const char *headings[] = {NULL, "iterations", "accesses", "next"};
    struct hot_state *hot = calloc(chain->count, sizeof *hot);
    struct psnap_table *table;
    char title[64], digits[32];

    if (!hot)
        psnap_cmd_out_of_memory();
    snprintf(title, sizeof title, "%s, %s visit%s", model->chain_ids[index],
             psnap_group_digits(visits, digits), psnap_plural(visits));
    headings[0] = title;
    table = show_table(4, headings, 6, 1);
    for (uint32_t s = 0; s < all; s++) {
        const uint32_t symbol = chain->states[s + 1].symbol;
        const struct model_body *body = symbol & MODEL_CHAIN ? NULL : &model->bodies[symbol];
        hot[s] = (struct hot_state){&chain->states[s + 1],
                                    body ? body->iterations * body->width : UINT64_MAX};
    }
    qsort(hot, all, sizeof *hot, by_accesses);
    for (uint32_t i = 0; i < most; i++) {
        const uint32_t symbol = hot[i].state->symbol;
        psnap_table_cell(table, "  %s", model_symbol_id(model, symbol));
        if (symbol & MODEL_CHAIN) {
            psnap_table_cell(table, "%s", "");
            psnap_table_cell(table, "%s", "");
        } else
            add_counts(table, model, &model->bodies[symbol]);
        add_next(table, model, chain, hot[i].state, is_short);
    }
    show_print(table);
    if (most < all)
        printf("(%" PRIu32 " of %" PRIu32 " bodies; --schedule shows all)\n", most, all);
    free(hot);
}

void show_print_schedule(const struct psnap_profile *profile, uint64_t lines)
{
    const uint32_t chains = profile->stream->chain_count;
    struct printing p = {.profile = profile, .lines = lines, .is_short = lines != SHOW_ALL_LINES};
    const uint32_t most = p.is_short && chains > lines / 8 + 1 ? (uint32_t)(lines / 8 + 1) : chains;

    print_orders(&p);
    for (uint32_t i = 0; i < most; i++)
        print_chain(profile->stream, i, p.is_short);
    if (most < chains)
        printf("(%" PRIu32 " of %" PRIu32 " chains; --schedule shows all)\n", most, chains);
}

/* ---- a loop's bodies, references and objects ---- */

/* "0-3, 7" */
static void numbers_text(const struct psnap_stream_model *model, const struct model_body *body,
                         char text[MODEL_TEXT])
{
    size_t used = 0;

    text[0] = '\0';
    for (uint32_t k = 0, end; k < body->width; k = end) {
        const uint32_t first = model->refs[body->refs[k]].number;
        for (end = k + 1; end < body->width; end++)
            if (model->refs[body->refs[end]].number != first + (end - k))
                break;
        if (used > MODEL_TEXT - 40) {
            snprintf(text + used, 8, " ...");
            return;
        }
        used += (size_t)snprintf(text + used, 24, "%s%" PRIu32, k ? ", " : "", first);
        if (end > k + 1)
            used += (size_t)snprintf(text + used, 16, "-%" PRIu32, first + (end - k) - 1);
    }
}

static void print_bodies(const struct psnap_profile *profile, uint32_t loop)
{
    static const char *const headings[] = {"body", "executions", "references",
                                           "iterations of an execution", "thread"};
    const struct psnap_stream_model *model = profile->stream;
    const bool has_threads = model->order_count > 1;
    struct psnap_table *table = show_table(has_threads ? 5 : 4, headings, 2, 1);
    char text[MODEL_TEXT];

    for (const struct model_body *body = model->bodies; body < model->bodies + model->body_count;
         body++) {
        if (body->loop != loop)
            continue;
        psnap_table_cell(table, "%s", body->id);
        psnap_table_cell(table, "%s", psnap_group_digits(body->executions, text));
        numbers_text(model, body, text);
        psnap_table_cell(table, "%s", text);
        human_trips(body, text);
        psnap_table_cell(table, "%s", text);
        if (has_threads)
            psnap_table_cell(table, "%u", body->thread);
    }
    show_print(table);
}

static void print_refs(const struct psnap_profile *profile, uint32_t loop, bool *objects)
{
    static const char *const headings[] = {"reference", "access", "accesses", "where", "addresses"};
    const struct psnap_stream_model *model = profile->stream;
    struct psnap_table *table = show_table(5, headings, 5, 8);
    char text[MODEL_TEXT];

    for (const struct model_ref *ref = model->refs; ref < model->refs + model->ref_count; ref++) {
        if (ref->loop != loop)
            continue;
        for (uint32_t k = 0; k < ref->reuse_count; k++)
            objects[ref->reuses[k].object] = true;
        psnap_table_cell(table, "%" PRIu32, ref->number);
        psnap_table_cell(table, "%s %u", model_kinds[ref->kind], ref->size);
        psnap_table_cell(table, "%s", psnap_group_digits(ref->executions, text));
        human_where(profile, ref, text);
        psnap_table_cell(table, "%s", text);
        human_addresses(ref, text);
        psnap_table_cell(table, "%s", text);
    }
    show_print(table);
}

static void firsts_text(const struct model_object *object, char text[MODEL_TEXT])
{
    uint64_t elsewhere = object->firsts;
    size_t used = (size_t)snprintf(text, MODEL_TEXT, "%s", object->firsts ? "" : "-");

    for (uint32_t i = 0; i < object->stride_count; i++) {
        elsewhere -= object->strides[i].count;
        if (i < 3)
            used += (size_t)snprintf(text + used, 64, "%s%+" PRId64 " %.3g %%", i ? ", " : "",
                                     object->strides[i].lines,
                                     show_percent(object->strides[i].count, object->firsts));
    }
    if (object->stride_count > 3)
        used += (size_t)snprintf(text + used, 64, ", %" PRIu32 " more", object->stride_count - 3);
    if (elsewhere)
        snprintf(text + used, 64, "%sanywhere %.3g %%", used ? ", " : "",
                 show_percent(elsewhere, object->firsts));
}

static void print_objects(const struct psnap_stream_model *model, const bool *objects)
{
    static const char *const headings[] = {"object", "name", "size", "first touches (lines apart)"};
    struct psnap_table *table = NULL;
    char text[MODEL_TEXT];

    for (uint32_t i = 0; i < model->object_count; i++) {
        const struct model_object *object = &model->objects[i];
        if (!objects[i])
            continue;
        table = table ? table : show_table(4, headings, 4, 3);
        psnap_table_cell(table, "%s", object->id);
        psnap_table_cell(table, "%s", object->name ? object->name : "-");
        psnap_table_cell(table, "%s", human_bytes(object->bytes, text));
        firsts_text(object, text);
        psnap_table_cell(table, "%s", text);
    }
    if (table)
        show_print(table);
}

void show_print_references(const struct psnap_profile *profile, uint32_t loop)
{
    bool *objects;

    if (!profile->stream || !profile->loops[loop].accesses)
        return;
    objects = calloc(profile->stream->object_count + (size_t)1, sizeof *objects);
    if (!objects)
        psnap_cmd_out_of_memory();
    print_bodies(profile, loop);
    print_refs(profile, loop, objects);
    print_objects(profile->stream, objects);
    free(objects);
}

/* ---- irregular references of all loops ---- */

static int by_executions(const void *left, const void *right)
{
    const struct model_ref *const *a = left, *const *b = right;

    if ((*a)->executions != (*b)->executions)
        return (*a)->executions > (*b)->executions ? -1 : 1;
    return *a < *b ? -1 : *a > *b;
}

static void print_irregular(const struct psnap_profile *profile,
                            const struct model_ref *const *refs, uint64_t count, uint64_t accesses)
{
    const char *headings[6 + MODEL_REUSE_BOUNDS] = {"irregular", "access", "object", "accesses",
                                                    "share"};
    struct psnap_table *table;
    char text[MODEL_TEXT];

    memcpy(headings + 5, model_reuse_names, sizeof model_reuse_names);
    headings[5 + MODEL_REUSE_BOUNDS] = "first";
    table = show_table(6 + MODEL_REUSE_BOUNDS, headings, ~7U, 5);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t bins[REUSE_BINS] = {0};
        struct model_reuse reuse;
        reuse_add_up(refs[i]->reuses, refs[i]->reuse_count, bins);
        reuse = model_reuse_of(bins);
        psnap_table_cell(table, "%s %" PRIu32, profile->loops[refs[i]->loop].id, refs[i]->number);
        psnap_table_cell(table, "%s %u", model_kinds[refs[i]->kind], refs[i]->size);
        human_objects(profile->stream, refs[i], text);
        psnap_table_cell(table, "%s", text);
        psnap_table_cell(table, "%s", psnap_group_digits(refs[i]->executions, text));
        psnap_table_cell(table, "%.1f %%", show_percent(refs[i]->executions, accesses));
        for (uint32_t b = 0; b < MODEL_REUSE_BOUNDS; b++)
            psnap_table_cell(table, "%.1f", show_percent(reuse.within[b], reuse.all));
        psnap_table_cell(table, "%.1f", show_percent(reuse.first, reuse.all));
    }
    show_print(table);
    puts("(percent of the accesses whose line was accessed fewer accesses ago; first: never)");
}

void show_print_irregular(const struct psnap_profile *profile, uint64_t accesses, uint64_t most)
{
    const struct psnap_stream_model *model = profile->stream;
    const struct model_ref **refs = calloc(model->ref_count + (size_t)1, sizeof(void *));
    uint64_t sums[MODEL_SHARED + 1] = {0};
    uint32_t count = 0;

    if (!refs)
        psnap_cmd_out_of_memory();
    for (uint32_t i = 0; i < model->ref_count; i++) {
        sums[model->refs[i].rule] += model->refs[i].executions;
        if (model->refs[i].rule == MODEL_REUSE)
            refs[count++] = &model->refs[i];
    }
    printf("\naddresses  %.1f %% in nests, exact; %.1f %% dependent, %.1f %% by reuse time\n",
           show_percent(sums[MODEL_NEST] + sums[MODEL_SHARED], accesses),
           show_percent(sums[MODEL_DEPENDENT], accesses),
           show_percent(sums[MODEL_REUSE], accesses));
    qsort(refs, count, sizeof(void *), by_executions);
    if (count)
        print_irregular(profile, refs, count < most ? count : most, accesses);
    if (count > most)
        printf("(%" PRIu64 " of %" PRIu32
               " references; --top N shows more, --loop all of a loop)\n",
               most, count);
    free(refs);
}
