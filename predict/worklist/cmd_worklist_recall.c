/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Results that a repository has already (profile/repo/results.h): those of a stream on one machine,
 * by the hash of its input's content, the edit, the seed, the machine as a file and what makes
 * them (SIDE_MAKER). A stream whose results on all machines of its items are there is not simulated
 * again.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "predict/worklist/cmd_worklist.h"
#include "profile/repo/cmd_repo.h"

static const char *machine_hash(const struct worklist *list, size_t machine)
{
    for (int g = 0; g < GROUP_COUNT; g++)
        for (size_t i = 0; i < list->groups[g].count; i++)
            if (list->groups[g].numbers[i] == machine)
                return list->groups[g].hashes[i].text;
    return "";
}

char *worklist_result_key(const struct worklist *list, const struct item *item, size_t machine)
{
    struct result_key key = {.maker = SIDE_MAKER, .is_profile = item->is_profile};
    char *rest = NULL, *text = NULL, count[32] = "";

    if (list->accesses != UINT64_MAX)
        snprintf(count, sizeof count, "of %" PRIu64 "|", list->accesses);
    if (repo_id_parse(list->files[item->file].hash, &key.input) &&
        asprintf(&rest, "%s|%" PRIu64 "|%d|%s%s", machine_hash(list, machine), item->seed,
                 list->by_loop, count, item->edit) >= 0)
        text = results_key(&key, rest);
    free(rest);
    return text;
}

/* The counts of a stream on a group of machines; NULL: some are not there, or no memory is. */
static char *recall(const struct worklist *list, const struct item *item)
{
    const struct group *group = &list->groups[item->group];
    char *text = NULL;
    size_t size, found = 0;
    FILE *file = open_memstream(&text, &size);

    for (size_t i = 0; i < group->count && file && found == i; i++) {
        char *key = worklist_result_key(list, item, group->numbers[i]);
        char *rows = key ? results_read(list->into, key) : NULL;
        if (rows) {
            fprintf(file, "machine %zu\n%s", group->numbers[i], rows);
            found++;
        }
        free(rows);
        free(key);
    }
    if (file && fclose(file) == 0 && found == group->count)
        return text;
    free(text);
    return NULL;
}

enum psnap_status worklist_recall(struct worklist *list, struct psnap_error *error)
{
    for (size_t i = 0; i < list->count && list->into; i++) {
        struct item *item = &list->items[i];
        if (!*worklist_hash(list, item, error))
            return error->code;
        if (item->part) /* the first part has all of it, the others nothing */
            item->rows = list->items[i - item->part].is_recalled ? strdup("") : NULL;
        else
            item->rows = recall(list, item);
        item->is_recalled = item->rows && !item->part;
    }
    return PSNAP_OK;
}
