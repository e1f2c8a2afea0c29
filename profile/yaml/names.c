/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Names in a profile, sorted, found and told apart; keys and counts of histograms; places of
 * memory; and what is derived.
 */
#include "profile/yaml/fields.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int compare_names(const void *a, const void *b)
{
    const struct name *p = a, *q = b;
    const int order = strcmp(p->id, q->id);

    if (order)
        return order;
    if (p->loop != q->loop)
        return p->loop < q->loop ? -1 : 1;
    return p->number < q->number ? -1 : p->number > q->number;
}

static int compare_in_order(const void *a, const void *b)
{
    const struct name *p = a, *q = b;
    const int order = compare_names(p, q);

    return order ? order : p->index < q->index ? -1 : p->index > q->index;
}

/* Sorts names; of two equal ones the second one, or NULL. */
static const struct name *sort(struct psnap_reading *r, struct names *names)
{
    if (names->count && !r->status)
        qsort(names->items, names->count, sizeof *names->items, compare_in_order);
    for (uint32_t i = 1; i < names->count && !r->status; i++)
        if (!compare_names(&names->items[i - 1], &names->items[i]))
            return &names->items[i];
    return NULL;
}

void read_names(struct psnap_reading *r, const struct psnap_yaml_node *list, struct names *names)
{
    const struct psnap_yaml_node *map = list ? list->first : NULL;
    const struct name *twin;

    names->count = 0;
    names->items = psnap_read_scratch(r, list ? list->count : 0, sizeof *names->items);
    names->maps = psnap_read_scratch(r, list ? list->count : 0, sizeof(struct psnap_yaml_node *));
    for (; map && psnap_read_is(r, map, PSNAP_YAML_MAP, "an item of the list"); map = map->next) {
        struct name *name = &names->items[names->count];
        name->node = psnap_read_require(r, map, "id");
        name->id = psnap_read_text(r, name->node);
        names->maps[names->count] = map;
        name->index = names->count++;
        if (!*name->id)
            psnap_read_fail(r, name->node, "an id must not be empty");
    }
    twin = sort(r, names);
    if (twin)
        psnap_read_fail(r, twin->node, "the id '%.100s' is taken already, in line %" PRIu32,
                        twin->id, twin[-1].node->src_line);
}

void read_items(struct psnap_reading *r, const struct psnap_yaml_node *list, const char *key,
                struct names *names,
                void (*read_item)(struct psnap_reading *r, const struct psnap_yaml_node *map,
                                  uint32_t index))
{
    const struct psnap_yaml_node *map = psnap_read_list(r, list, key);

    for (; map && !r->status; map = map->next) {
        names->maps[names->count] = map;
        read_item(r, map, names->count++);
    }
}

bool make_items(struct psnap_reading *r, size_t count, struct names *names, void *array,
                size_t size)
{
    names->maps = psnap_read_scratch(r, count, sizeof(struct psnap_yaml_node *));
    names->items = psnap_read_scratch(r, count, sizeof *names->items);
    return psnap_read_heap(r, array, count, size);
}

void name_items(struct psnap_reading *r, struct names *names, const struct model_ref *refs)
{
    const struct name *twin;

    for (uint32_t i = 0; i < names->count && !r->status; i++) {
        struct name *name = &names->items[i];
        *name = (struct name){.id = "", .index = i};
        name->node = psnap_yaml_get(names->maps[i], refs ? "ref" : "id");
        if (refs) {
            name->loop = refs[i].loop;
            name->number = refs[i].number;
        } else
            name->id = psnap_read_text(r, name->node);
    }
    twin = sort(r, names);
    if (twin)
        psnap_read_fail(r, twin->node, "there is another one in line %" PRIu32,
                        twin[-1].node->src_line);
}

static uint32_t find(const struct names *names, const struct name *wanted)
{
    const struct name *found =
        names->count ? bsearch(wanted, names->items, names->count, sizeof *wanted, compare_names)
                     : NULL;

    return found ? found->index : PSNAP_NONE;
}

uint32_t find_id(const struct names *names, const char *id)
{
    return find(names, &(struct name){.id = id});
}

uint32_t find_ref(const struct names *refs, uint32_t loop, uint32_t number)
{
    return find(refs, &(struct name){.id = "", .loop = loop, .number = number});
}

void find_two(const struct psnap_yaml_node *map, const char *const keys[3],
              const struct psnap_yaml_node *two[2])
{
    unsigned n = 0;

    two[0] = two[1] = NULL;
    for (unsigned i = 0; i < 3 && n < 2; i++)
        if (psnap_yaml_get(map, keys[i]))
            two[n++] = psnap_yaml_get(map, keys[i]);
}

uint64_t read_positive(struct psnap_reading *r, const struct psnap_yaml_node *node)
{
    return psnap_read_u64(r, node, 1, PSNAP_COUNT_MAX);
}

uint64_t read_count(struct psnap_reading *r, const struct psnap_yaml_node *map, const char *key,
                    uint64_t missing)
{
    const struct psnap_yaml_node *node = psnap_yaml_get(map, key);

    return node ? psnap_read_u64(r, node, 0, PSNAP_COUNT_MAX) : missing;
}

int64_t read_key(struct psnap_reading *r, const struct psnap_yaml_node *node)
{
    char *end;
    int64_t number;

    errno = 0;
    number = strtoll(node->key, &end, 10);
    if (*end || end == node->key || errno)
        psnap_read_fail(r, node, "the key '%.60s' is no number", node->key);
    return number;
}

void write_bin(const struct psnap_writing *w, struct psnap_yaml_node *map, int64_t key,
               uint64_t count)
{
    char label[32];

    snprintf(label, sizeof label, "%" PRId64, key);
    psnap_yaml_add_u64(w->doc, map, label, count);
}

void read_sum(struct psnap_reading *r, const struct psnap_yaml_node *node, uint64_t count,
              uint64_t *sum)
{
    if (count > PSNAP_COUNT_MAX - *sum)
        psnap_read_fail(r, node, "with this the counts add up to more than 2^56");
    else
        *sum += count;
}

const struct psnap_yaml_node *read_derived(struct psnap_reading *r,
                                           const struct psnap_yaml_node *map, const char *key)
{
    const struct psnap_yaml_node *derived = psnap_yaml_get(map, "derived");
    const struct psnap_yaml_node *again = psnap_yaml_get(map, key);

    if (!derived)
        return NULL;
    if (!profile_of(r)->model)
        psnap_read_fail(r, derived, "in model %s nothing is derived",
                        profile_of(r)->profile->model);
    psnap_read_keys(r, derived, "derived", key);
    if (again)
        psnap_read_fail(r, again, "'%s' stands in 'derived' (line %" PRIu32 ") as well", key,
                        derived->src_line);
    return derived;
}

void read_group(struct psnap_reading *r, const struct psnap_yaml_node *node, void *record)
{
    const char *name = psnap_read_text(r, node);
    enum psnap_group group = PSNAP_GROUP_RAW;

    while (group < PSNAP_GROUP_COUNT && strcmp(psnap_group_name(group), name) != 0)
        group++;
    if (group == PSNAP_GROUP_COUNT)
        psnap_read_fail(r, node, "'group' must be image, heap, mmap, stack or raw, not '%.60s'",
                        name);
    memcpy((char *)record + r->field->offset, &group, sizeof group);
}

void write_group(const struct psnap_writing *w, const void *record)
{
    enum psnap_group group;

    memcpy(&group, (const char *)record + w->field->offset, sizeof group);
    psnap_yaml_add_text(w->doc, w->map, "group", psnap_group_name(group));
}
