/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Folded sequences (`schedule`, `pattern`) and the ids they name. A sequence is
 * walked by its document's links, not by recursion, and is never unfolded:
 * counts come from products of repeats, so a bomb of nested repeats costs
 * nothing before it is refused.
 */
#include "profile/yaml/read.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static int compare_names(const void *a, const void *b)
{
    const struct named_node *p = a, *q = b;
    int order = strcmp(p->id, q->id);

    return order ? order : p->index < q->index ? -1 : p->index > q->index;
}

enum psnap_status read_names(const struct reading *r, const struct psnap_yaml_node *list,
                             struct name_index *names)
{
    const struct psnap_yaml_node *again = NULL, *before = NULL;

    names->count = 0;
    names->entries = malloc((list->count + 1) * sizeof *names->entries);
    if (!names->entries)
        return read_out_of_memory(r);
    for (const struct psnap_yaml_node *map = list->first; map; map = map->next) {
        struct named_node *entry = &names->entries[names->count];
        enum psnap_status status =
            psnap_yaml_expect(r->doc, map, PSNAP_YAML_MAP, "an item of the list", r->error);
        if (status)
            return status;
        entry->node = psnap_yaml_require(r->doc, map, "id", r->error);
        if (!entry->node)
            return PSNAP_ERROR_VALUE;
        status = psnap_yaml_text(r->doc, entry->node, &entry->id, r->error);
        if (status)
            return status;
        if (!*entry->id)
            return psnap_yaml_fail(r->doc, entry->node, r->error, PSNAP_ERROR_VALUE,
                                   "an id must not be empty");
        entry->index = names->count++;
    }
    qsort(names->entries, names->count, sizeof *names->entries, compare_names);
    for (uint32_t i = 1; i < names->count && !again; i++)
        if (!strcmp(names->entries[i - 1].id, names->entries[i].id)) {
            before = names->entries[i - 1].node;
            again = names->entries[i].node;
        }
    if (!again)
        return PSNAP_OK;
    return psnap_yaml_fail(r->doc, again, r->error, PSNAP_ERROR_VALUE,
                           "the id '%.100s' is taken already, in line %" PRIu32, again->text,
                           before->src_line);
}

static int compare_to_name(const void *id, const void *entry)
{
    return strcmp(id, ((const struct named_node *)entry)->id);
}

const struct named_node *find_name(const struct name_index *names, const char *id)
{
    if (!names->count) /* bsearch wants an array */
        return NULL;
    return bsearch(id, names->entries, names->count, sizeof *names->entries, compare_to_name);
}

/* A group's head: {repeat: 3, of: [...]}. Returns its body in *of. */
static enum psnap_status read_group(const struct reading *r, const struct psnap_yaml_node *map,
                                    const char *what, uint64_t *repeat,
                                    const struct psnap_yaml_node **of)
{
    static const char *const keys[] = {"repeat", "of", NULL};
    const struct psnap_yaml_node *node;
    enum psnap_status status = psnap_yaml_expect_keys(r->doc, map, what, keys, r->error);

    if (status)
        return status;
    node = psnap_yaml_require(r->doc, map, "repeat", r->error);
    if (!node)
        return PSNAP_ERROR_VALUE;
    status = psnap_yaml_u64(r->doc, node, 1, PSNAP_COUNT_MAX, repeat, r->error);
    if (status)
        return status;
    *of = psnap_yaml_require(r->doc, map, "of", r->error);
    if (!*of)
        return PSNAP_ERROR_VALUE;
    status = psnap_yaml_expect(r->doc, *of, PSNAP_YAML_SEQUENCE, "of", r->error);
    if (!status && !(*of)->count)
        return psnap_yaml_fail(r->doc, *of, r->error, PSNAP_ERROR_VALUE,
                               "there is nothing to repeat");
    return status;
}

static enum psnap_status read_leaf(const struct reading *r, const struct psnap_yaml_node *node,
                                   const struct name_index *names, const char *what,
                                   uint32_t *index)
{
    const struct named_node *entry;
    const char *id;
    enum psnap_status status = psnap_yaml_text(r->doc, node, &id, r->error);

    if (status)
        return status;
    entry = find_name(names, id);
    if (!entry)
        return psnap_yaml_fail(r->doc, node, r->error, PSNAP_ERROR_VALUE, "there is no %s '%.100s'",
                               what, id);
    *index = entry->index;
    return PSNAP_OK;
}

/* A loop whose visits differ: {loop: f, accesses: 100}. */
static enum psnap_status read_visit(const struct reading *r, const struct psnap_yaml_node *map,
                                    const struct name_index *names, const char *what,
                                    struct visit_nodes *visits, struct psnap_sequence_item *item)
{
    static const char *const keys[] = {"loop", "accesses", NULL};
    const struct psnap_yaml_node *accesses;
    enum psnap_status status = psnap_yaml_known_keys(r->doc, map, keys, r->error);

    if (!status)
        status = read_leaf(r, psnap_yaml_get(map, "loop"), names, what, &item->what);
    if (status)
        return status;
    accesses = psnap_yaml_require(r->doc, map, "accesses", r->error);
    if (!accesses)
        return PSNAP_ERROR_VALUE;
    status = psnap_yaml_u64(r->doc, accesses, 0, PSNAP_COUNT_MAX, &item->accesses, r->error);
    if (status)
        return status;
    visits[item->what].counted = accesses;
    return read_sum(r, accesses, item->accesses, &visits[item->what].accesses);
}

/* Any item but the body of a group, which *of is then. */
static enum psnap_status read_item(const struct reading *r, const struct psnap_yaml_node *node,
                                   const struct name_index *names, const char *what,
                                   struct visit_nodes *visits, struct psnap_sequence_item *item,
                                   const struct psnap_yaml_node **of)
{
    enum psnap_status status;

    *item = (struct psnap_sequence_item){.repeat = 1, .accesses = PSNAP_EVENLY, .what = PSNAP_NONE};
    *of = NULL;
    if (visits && psnap_yaml_get(node, "loop"))
        return read_visit(r, node, names, what, visits, item);
    if (node->kind != PSNAP_YAML_SCALAR)
        return read_group(r, node, what, &item->repeat, of);
    status = read_leaf(r, node, names, what, &item->what);
    if (!status && visits)
        visits[item->what].even = node;
    return status;
}

/* The number of items: nodes of the document that are leaves or groups. */
static uint32_t count_items(const struct psnap_yaml_node *list)
{
    const struct psnap_yaml_node *node = list->first;
    uint32_t count = 0;

    while (node && node != list) {
        const struct psnap_yaml_node *of = psnap_yaml_get(node, "of");
        count++;
        if (of && of->first) {
            node = of->first;
            continue;
        }
        while (node != list && !node->next)
            /* From an item of a body up to its group, or out of the outermost list. */
            node = node->parent == list ? list : node->parent->parent;
        if (node != list)
            node = node->next;
    }
    return count;
}

enum psnap_status read_sequence(const struct reading *r, const struct psnap_yaml_node *list,
                                const struct name_index *names, const char *what,
                                struct visit_nodes *visits, struct psnap_sequence *sequence)
{
    uint32_t open[PSNAP_YAML_DEPTH]; /* groups whose bodies are being read */
    const struct psnap_yaml_node *node;
    unsigned depth = 0;
    enum psnap_status status = psnap_yaml_expect(r->doc, list, PSNAP_YAML_SEQUENCE, what, r->error);

    if (status)
        return status;
    sequence->items =
        psnap_arena_alloc(r->profile->arena, (count_items(list) + 1) * sizeof *sequence->items);
    if (!sequence->items)
        return read_out_of_memory(r);
    for (node = list->first; node;) {
        struct psnap_sequence_item *item = &sequence->items[sequence->count++];
        const struct psnap_yaml_node *of;
        status = read_item(r, node, names, what, visits, item, &of);
        if (status)
            return status;
        if (of) {
            open[depth++] = sequence->count - 1;
            node = of->first;
            continue;
        }
        while (!node->next && depth) {
            struct psnap_sequence_item *group = &sequence->items[open[--depth]];
            group->span = sequence->count - open[depth] - 1;
            node = node->parent->parent;
        }
        node = node->next;
    }
    return PSNAP_OK;
}

bool sequence_counts(const struct psnap_sequence *sequence, uint64_t limit, uint64_t *counts)
{
    uint64_t rounds[PSNAP_YAML_DEPTH + 1] = {1}, sum = 0;
    uint32_t ends[PSNAP_YAML_DEPTH + 1] = {sequence->count};
    unsigned depth = 0;

    for (uint32_t i = 0; i < sequence->count; i++) {
        const struct psnap_sequence_item *item = &sequence->items[i];
        while (i >= ends[depth])
            depth--;
        if (item->what != PSNAP_NONE) {
            if (rounds[depth] > limit - sum)
                return false;
            sum += rounds[depth];
            counts[item->what] += rounds[depth];
            continue;
        }
        if (item->repeat > limit / rounds[depth])
            return false;
        rounds[depth + 1] = rounds[depth] * item->repeat;
        ends[++depth] = i + 1 + item->span;
    }
    return true;
}
