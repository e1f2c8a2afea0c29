/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Names in the model of a stream: sorted, found and told apart; and the keys and counts of its
 * histograms.
 */
#include "profile/yaml/read_model.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static int compare_names(const void *a, const void *b)
{
    const struct model_name *p = a, *q = b;

    if (p->id && q->id)
        return strcmp(p->id, q->id);
    if (p->loop != q->loop)
        return p->loop < q->loop ? -1 : 1;
    return p->number < q->number ? -1 : p->number > q->number;
}

/* Sorts names; two equal ones are an error. */
enum psnap_status model_sort_names(const struct model_reading *m, struct model_name *names,
                                   uint32_t count)
{
    if (count)
        qsort(names, count, sizeof *names, compare_names);
    for (uint32_t i = 1; i < count; i++)
        if (!compare_names(&names[i - 1], &names[i]))
            return psnap_yaml_fail(m->r->doc, names[i].node, m->r->error, PSNAP_ERROR_VALUE,
                                   "there is another one in line %" PRIu32,
                                   names[i - 1].node->src_line);
    return PSNAP_OK;
}

/* The index of what is called so; PSNAP_NONE: nothing is. */
uint32_t model_find(const struct model_name *names, uint32_t count, const struct model_name *wanted)
{
    const struct model_name *found =
        count ? bsearch(wanted, names, count, sizeof *names, compare_names) : NULL;

    return found ? found->index : PSNAP_NONE;
}

enum psnap_status model_read_name(const struct model_reading *m, const struct psnap_yaml_node *map,
                                  struct model_name *name, char **id)
{
    const struct psnap_yaml_node *node = psnap_yaml_require(m->r->doc, map, "id", m->r->error);
    enum psnap_status status;

    if (!node)
        return PSNAP_ERROR_VALUE;
    name->node = node;
    status = psnap_yaml_text(m->r->doc, node, &name->id, m->r->error);
    if (!status && id && !(*id = strdup(name->id)))
        status = read_out_of_memory(m->r);
    return status;
}

/* Makes room for `count` items, zeroed; false: out of memory. */
bool model_make_items(void *array, size_t count, size_t size)
{
    void *items = calloc(count + 1, size);

    memcpy(array, &items, sizeof items);
    return items != NULL;
}

/* A key of a histogram as a number. */
enum psnap_status model_read_key(const struct model_reading *m, const struct psnap_yaml_node *node,
                                 int64_t *number)
{
    char *end;

    errno = 0;
    *number = strtoll(node->key, &end, 10);
    if (*end || end == node->key || errno)
        return psnap_yaml_fail(m->r->doc, node, m->r->error, PSNAP_ERROR_VALUE,
                               "the key '%.60s' is no number", node->key);
    return PSNAP_OK;
}

enum psnap_status model_read_positive(const struct model_reading *m,
                                      const struct psnap_yaml_node *node, uint64_t *count)
{
    return psnap_yaml_u64(m->r->doc, node, 1, PSNAP_COUNT_MAX, count, m->r->error);
}
