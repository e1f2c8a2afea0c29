/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fields of a profile that are texts, counts or derived, with the errors that they may have.
 */
#include "profile/yaml/read.h"

#include <inttypes.h>
#include <string.h>

enum psnap_status read_out_of_memory(const struct reading *r)
{
    return psnap_error_set(r->error, PSNAP_ERROR_MEMORY, "out of memory");
}

enum psnap_status read_text(const struct reading *r, const struct psnap_yaml_node *map,
                            const char *key, const char *missing, const char **text)
{
    const struct psnap_yaml_node *node = psnap_yaml_get(map, key);
    enum psnap_status status;

    if (!node && missing) {
        *text = missing;
        return PSNAP_OK;
    }
    if (!node) {
        psnap_yaml_require(r->doc, map, key, r->error);
        return PSNAP_ERROR_VALUE;
    }
    status = psnap_yaml_text(r->doc, node, text, r->error);
    if (status)
        return status;
    *text = psnap_arena_strndup(r->profile->arena, *text, strlen(*text));
    return *text ? PSNAP_OK : read_out_of_memory(r);
}

enum psnap_status read_texts(const struct reading *r, const struct psnap_yaml_node *map,
                             const char *key, const char *const **texts)
{
    const struct psnap_yaml_node *list = psnap_yaml_get(map, key);
    enum psnap_status status =
        list ? psnap_yaml_expect(r->doc, list, PSNAP_YAML_SEQUENCE, key, r->error) : PSNAP_OK;
    const char **copy;
    size_t n = 0;

    if (status || !list)
        return status;
    copy = psnap_arena_alloc(r->profile->arena, (list->count + 1) * sizeof *copy);
    if (!copy)
        return read_out_of_memory(r);
    for (const struct psnap_yaml_node *node = list->first; node; node = node->next) {
        status = psnap_yaml_text(r->doc, node, &copy[n], r->error);
        if (status)
            return status;
        copy[n] = psnap_arena_strndup(r->profile->arena, copy[n], strlen(copy[n]));
        if (!copy[n++])
            return read_out_of_memory(r);
    }
    *texts = copy;
    return PSNAP_OK;
}

enum psnap_status read_derived(const struct reading *r, const struct psnap_yaml_node *map,
                               const char *const *keys, const struct psnap_yaml_node **derived)
{
    enum psnap_status status;

    *derived = psnap_yaml_get(map, "derived");
    if (!*derived)
        return PSNAP_OK;
    if (strcmp(r->profile->model, PSNAP_MODEL_NESTS) != 0)
        return psnap_yaml_fail(r->doc, *derived, r->error, PSNAP_ERROR_VALUE,
                               "in model %s nothing is derived", r->profile->model);
    status = psnap_yaml_expect_keys(r->doc, *derived, "derived", keys, r->error);
    for (; *keys && !status; keys++)
        if (psnap_yaml_get(map, *keys))
            status = psnap_yaml_fail(
                r->doc, psnap_yaml_get(map, *keys), r->error, PSNAP_ERROR_VALUE,
                "'%s' stands in 'derived' (line %" PRIu32 ") as well", *keys, (*derived)->src_line);
    return status;
}

enum psnap_status read_count(const struct reading *r, const struct psnap_yaml_node *map,
                             const char *key, uint64_t missing, uint64_t *count)
{
    const struct psnap_yaml_node *node = psnap_yaml_get(map, key);

    if (!node) {
        *count = missing;
        return PSNAP_OK;
    }
    return psnap_yaml_u64(r->doc, node, 0, PSNAP_COUNT_MAX, count, r->error);
}

enum psnap_status read_sum(const struct reading *r, const struct psnap_yaml_node *node,
                           uint64_t count, uint64_t *sum)
{
    if (count > PSNAP_COUNT_MAX - *sum)
        return psnap_yaml_fail(r->doc, node, r->error, PSNAP_ERROR_VALUE,
                               "with this the counts add up to more than 2^56");
    *sum += count;
    return PSNAP_OK;
}
