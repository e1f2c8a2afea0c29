/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bodies and references of a profile of model nests, for people: those of a loop, with the nests of
 * their addresses and trip counts, and the irregular references with most accesses.
 *
 * An access of reuse time t touches at most t other lines since the last one to its line. So the
 * share of those below 512 hits in any fully associative LRU cache of 512 lines (32 KiB) and more.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "formats/base/cmd.h"
#include "profile/cmd_show.h"
#include "profile/cmd_words.h"

/* ---- bodies ---- */

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
    static const char *const headings[] = {"body", "thread", "executions", "references",
                                           "iterations of an execution"};
    const struct psnap_stream_model *model = profile->stream;
    const size_t has_threads = model->order_count > 1;
    const char *chosen[5];
    struct psnap_table *table;
    char text[MODEL_TEXT], digits[32];

    for (size_t i = 0; i < 4 + has_threads; i++)
        chosen[i] = headings[i && !has_threads ? i + 1 : i];
    table = psnap_table_new(4 + has_threads, chosen);
    psnap_table_shorten(table, 0);
    psnap_table_align_right(table, 1 + has_threads);
    for (uint32_t i = 0; i < model->body_count; i++) {
        const struct model_body *body = &model->bodies[i];
        if (body->loop != loop)
            continue;
        psnap_table_cell(table, "%s", body->id);
        if (has_threads)
            psnap_table_cell(table, "%u", body->thread);
        psnap_table_cell(table, "%s", psnap_group_digits(body->executions, digits));
        numbers_text(model, body, text);
        psnap_table_cell(table, "%s", text);
        human_trips(body, text);
        psnap_table_cell(table, "%s", text);
    }
    putchar('\n');
    psnap_table_print(table, stdout);
    psnap_table_free(table);
}

/* ---- references of a loop ---- */

static void print_refs(const struct psnap_profile *profile, uint32_t loop)
{
    static const char *const headings[] = {"reference", "access", "accesses", "where", "addresses"};
    const struct psnap_stream_model *model = profile->stream;
    struct psnap_table *table = psnap_table_new(5, headings);
    char text[MODEL_TEXT], digits[32];

    psnap_table_align_right(table, 0);
    psnap_table_align_right(table, 2);
    psnap_table_shorten(table, 3);
    for (uint32_t i = 0; i < model->ref_count; i++) {
        const struct model_ref *ref = &model->refs[i];
        if (ref->loop != loop)
            continue;
        psnap_table_cell(table, "%" PRIu32, ref->number);
        psnap_table_cell(table, "%s %u", model_kinds[ref->kind], ref->size);
        psnap_table_cell(table, "%s", psnap_group_digits(ref->executions, digits));
        human_where(profile, ref, text);
        psnap_table_cell(table, "%s", text);
        human_addresses(ref, text);
        psnap_table_cell(table, "%s", text);
    }
    putchar('\n');
    psnap_table_print(table, stdout);
    psnap_table_free(table);
}

/* ---- objects of a loop ---- */

static bool is_used(const struct psnap_stream_model *model, uint32_t loop, uint32_t object)
{
    for (uint32_t i = 0; i < model->ref_count; i++)
        for (uint32_t k = 0; model->refs[i].loop == loop && k < model->refs[i].reuse_count; k++)
            if (model->refs[i].reuses[k].object == object)
                return true;
    return false;
}

static void firsts_text(const struct model_object *object, char text[MODEL_TEXT])
{
    uint64_t elsewhere = object->firsts;
    size_t used = 0;

    for (uint32_t i = 0; i < object->stride_count; i++) {
        elsewhere -= object->strides[i].count;
        if (i < 3)
            used += (size_t)snprintf(text + used, 64, "%s%+" PRId64 " %.3g %%", i ? ", " : "",
                                     object->strides[i].lines,
                                     100 * show_share(object->strides[i].count, object->firsts));
    }
    if (object->stride_count > 3)
        used += (size_t)snprintf(text + used, 64, ", %" PRIu32 " more", object->stride_count - 3);
    snprintf(text + used, 64, elsewhere ? "%sanywhere %.3g %%" : "%s", used ? ", " : "",
             100 * show_share(elsewhere, object->firsts));
    if (!elsewhere)
        text[used] = '\0';
}

static void print_objects(const struct psnap_profile *profile, uint32_t loop)
{
    static const char *const headings[] = {"object", "name", "size", "first touches (lines apart)"};
    const struct psnap_stream_model *model = profile->stream;
    struct psnap_table *table = psnap_table_new(4, headings);
    char text[MODEL_TEXT];
    bool has_some = false;

    psnap_table_shorten(table, 0);
    psnap_table_shorten(table, 1);
    psnap_table_align_right(table, 2);
    for (uint32_t i = 0; i < model->object_count; i++) {
        const struct model_object *object = &model->objects[i];
        if (!is_used(model, loop, i))
            continue;
        has_some = true;
        psnap_table_cell(table, "%s", object->id);
        psnap_table_cell(table, "%s", object->name ? object->name : "-");
        psnap_table_cell(table, "%s", human_bytes(object->bytes, text));
        firsts_text(object, text);
        psnap_table_cell(table, "%s", object->firsts ? text : "-");
    }
    if (has_some) {
        putchar('\n');
        psnap_table_print(table, stdout);
    }
    psnap_table_free(table);
}

void show_print_references(const struct psnap_profile *profile, uint32_t loop)
{
    if (!profile->stream || !profile->loops[loop].accesses)
        return;
    print_bodies(profile, loop);
    print_refs(profile, loop);
    print_objects(profile, loop);
}

/* ---- irregular references of all loops ---- */

static int by_accesses(const void *left, const void *right)
{
    const struct model_ref *const *a = left, *const *b = right;

    if ((*a)->executions != (*b)->executions)
        return (*a)->executions > (*b)->executions ? -1 : 1;
    return *a < *b ? -1 : *a > *b;
}

static void print_irregular(const struct psnap_profile *profile,
                            const struct model_ref *const *refs, uint32_t count, uint64_t accesses)
{
    const char *headings[6 + MODEL_REUSE_BOUNDS] = {"irregular", "access", "object", "accesses",
                                                    "share"};
    struct psnap_table *table;
    char text[MODEL_TEXT], bounds[MODEL_REUSE_BOUNDS][34];

    for (uint32_t b = 0; b < MODEL_REUSE_BOUNDS; b++) {
        char bound[32];
        snprintf(bounds[b], sizeof bounds[b], "<%s", human_bound(model_reuse_bounds[b], bound));
        headings[5 + b] = bounds[b];
    }
    headings[5 + MODEL_REUSE_BOUNDS] = "first";
    table = psnap_table_new(6 + MODEL_REUSE_BOUNDS, headings);
    psnap_table_shorten(table, 0);
    psnap_table_shorten(table, 2);
    for (size_t column = 3; column < 6 + MODEL_REUSE_BOUNDS; column++)
        psnap_table_align_right(table, column);
    for (uint32_t i = 0; i < count; i++) {
        const struct model_reuse reuse = model_reuse_of(refs[i]);
        psnap_table_cell(table, "%s %" PRIu32, profile->loops[refs[i]->loop].id, refs[i]->number);
        psnap_table_cell(table, "%s %u", model_kinds[refs[i]->kind], refs[i]->size);
        human_objects(profile->stream, refs[i], text);
        psnap_table_cell(table, "%s", text);
        psnap_table_cell(table, "%s", psnap_group_digits(refs[i]->executions, text));
        psnap_table_cell(table, "%.1f %%", 100 * show_share(refs[i]->executions, accesses));
        for (uint32_t b = 0; b < MODEL_REUSE_BOUNDS; b++)
            psnap_table_cell(table, "%.1f", 100 * show_share(reuse.within[b], reuse.all));
        psnap_table_cell(table, "%.1f", 100 * show_share(reuse.first, reuse.all));
    }
    putchar('\n');
    psnap_table_print(table, stdout);
    psnap_table_free(table);
}

bool show_print_irregular(const struct psnap_profile *profile, uint64_t accesses, uint64_t most)
{
    const struct psnap_stream_model *model = profile->stream;
    uint64_t sums[MODEL_SHARED + 1] = {0};
    const struct model_ref **refs;
    uint32_t count = 0;

    if (!model)
        return true;
    refs = malloc((model->ref_count + (size_t)1) * sizeof(struct model_ref *));
    if (!refs)
        return false;
    for (uint32_t i = 0; i < model->ref_count; i++) {
        sums[model->refs[i].rule] += model->refs[i].executions;
        if (model->refs[i].rule == MODEL_REUSE)
            refs[count++] = &model->refs[i];
    }
    printf("\naddresses  %.1f %% in nests, exact; %.1f %% dependent, %.1f %% by reuse time\n",
           100 * show_share(sums[MODEL_NEST] + sums[MODEL_SHARED], accesses),
           100 * show_share(sums[MODEL_DEPENDENT], accesses),
           100 * show_share(sums[MODEL_REUSE], accesses));
    qsort(refs, count, sizeof(struct model_ref *), by_accesses);
    if (count)
        print_irregular(profile, refs, count < most ? count : (uint32_t)most, accesses);
    if (count)
        puts("(percent of the accesses whose line was accessed fewer accesses ago; first: never)");
    if (count > most)
        printf("(%" PRIu64 " of %" PRIu32
               " references; --top N shows more, --loop all of a loop)\n",
               most, count);
    free(refs);
    return true;
}
