/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The work list, from a file and laid out as items:
 *
 *     inputs: [spmv.psnap.yaml, trace.pst, archive]
 *     query: ["name:spmv", "accesses>1M"]          # which profiles of repositories, as archive
 *     machines: [i7-5960x, "32K:64:8,1M:64:16"]
 *     parameters: ["levels[L2].size_bytes=1M,2M"]  # of all machines
 *     edits: ["regions[x].working_set *= 2"]       # of profiles; "" is the profile as it is
 *     seeds: [0, 1]                                # of profiles
 *
 * The profile as it is comes first where no edit is "". Traces are not edited.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats/base/yaml.h"
#include "predict/worklist/cmd_worklist.h"
#include "predict/cmd_content.h"

static enum psnap_status out_of_memory(struct psnap_error *error)
{
    return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for the work list");
}

static bool add_text(struct psnap_text_list *list, const char *text)
{
    const char **items = realloc(list->items, (list->count + 1) * sizeof *items);

    if (!items)
        return false;
    list->items = items;
    items[list->count++] = text;
    return true;
}

bool worklist_add_input(struct worklist *list, const char *path)
{
    return add_text(&list->inputs, path);
}

bool worklist_add_query(struct worklist *list, const char *words)
{
    return add_text(&list->query, words);
}

const char *worklist_keep(struct worklist *list, char *text)
{
    char **texts = text ? realloc(list->texts, (list->text_count + 1) * sizeof *texts) : NULL;

    if (!texts) {
        free(text);
        return NULL;
    }
    list->texts = texts;
    texts[list->text_count++] = text;
    return text;
}

/* Adds the texts of a sequence, which is optional. */
static enum psnap_status read_texts(struct worklist *list, const struct psnap_yaml_doc *doc,
                                    const char *key, struct psnap_text_list *to,
                                    struct psnap_error *error)
{
    const struct psnap_yaml_node *node = psnap_yaml_get(psnap_yaml_root(doc), key);
    enum psnap_status status =
        node ? psnap_yaml_expect(doc, node, PSNAP_YAML_SEQUENCE, key, error) : PSNAP_OK;

    for (const struct psnap_yaml_node *item = node && !status ? node->first : NULL; item && !status;
         item = item->next) {
        const char *text = NULL;
        status = psnap_yaml_text(doc, item, &text, error);
        if (status)
            return status;
        text = worklist_keep(list, strdup(text));
        if (!text || !add_text(to, text))
            return out_of_memory(error);
    }
    return status;
}

static enum psnap_status read_seeds(struct worklist *list, const struct psnap_yaml_doc *doc,
                                    struct psnap_error *error)
{
    const struct psnap_yaml_node *node = psnap_yaml_get(psnap_yaml_root(doc), "seeds");
    enum psnap_status status =
        node ? psnap_yaml_expect(doc, node, PSNAP_YAML_SEQUENCE, "seeds", error) : PSNAP_OK;

    for (const struct psnap_yaml_node *item = node && !status ? node->first : NULL; item && !status;
         item = item->next) {
        uint64_t *seeds = realloc(list->seeds, (list->seed_count + 1) * sizeof *seeds);
        if (!seeds)
            return out_of_memory(error);
        list->seeds = seeds;
        status = psnap_yaml_u64(doc, item, 0, UINT64_MAX, &seeds[list->seed_count], error);
        list->seed_count += !status;
    }
    return status;
}

enum psnap_status worklist_read(struct worklist *list, const char *path, struct psnap_error *error)
{
    static const char *const keys[] = {"inputs", "query",      "machines", "edits",
                                       "seeds",  "parameters", NULL};
    FILE *file = psnap_input_file(path, error);
    struct psnap_yaml_doc *doc =
        file ? psnap_yaml_read(file, file == stdin ? "stdin" : path, error) : NULL;
    enum psnap_status status =
        doc ? psnap_yaml_expect_keys(doc, psnap_yaml_root(doc), "a work list", keys, error)
            : error->code;

    if (!status)
        status = read_texts(list, doc, "inputs", &list->inputs, error);
    if (!status)
        status = read_texts(list, doc, "query", &list->query, error);
    if (!status)
        status = read_texts(list, doc, "machines", &list->machine_names, error);
    if (!status)
        status = read_texts(list, doc, "parameters", &list->parameters, error);
    if (!status)
        status = read_texts(list, doc, "edits", &list->edits, error);
    if (!status)
        status = read_seeds(list, doc, error);
    psnap_yaml_doc_free(doc);
    if (file && file != stdin)
        fclose(file);
    return status;
}

/* ------------------------------------------------------------------ laying out */

static void time_of(const struct stat *about, char time[WORKLIST_TIME])
{
    snprintf(time, WORKLIST_TIME, "%jd.%09ld", (intmax_t)about->st_mtim.tv_sec,
             about->st_mtim.tv_nsec);
}

bool worklist_is_unchanged(const struct worklist *list, const struct item *item)
{
    char time[WORKLIST_TIME];
    struct stat about;

    if (list->files[item->file].repository)
        return true;
    if (stat(item->input, &about))
        return false;
    time_of(&about, time);
    return (uint64_t)about.st_size == item->bytes && !strcmp(time, list->files[item->file].time);
}

const char *worklist_hash(struct worklist *list, const struct item *item, struct psnap_error *error)
{
    char *hash = list->files[item->file].hash;
    struct repo_id id;

    if (!*hash && !content_id(item->input, &id, NULL, error))
        repo_id_text(&id, hash);
    return hash;
}

/* What a result follows from beside the input's content: its name and size, and all that is done
 * with it. */
static char *key_of(const struct worklist *list, const struct item *item)
{
    const struct group *group = &list->groups[item->group];
    char *key = NULL;
    size_t size;
    FILE *file = open_memstream(&key, &size);

    if (!file)
        return NULL;
    fprintf(file, "%s|%" PRIu64 "|%s|%" PRIu64 "|%d|%s|%" PRIu32 "/%" PRIu32, item->input,
            item->bytes, item->edit, item->seed, list->by_loop, SIDE_MAKER, item->part,
            item->group == GROUP_SPLIT ? list->split.parts : 1);
    for (size_t i = 0; i < group->count; i++)
        fprintf(file, "|%zu %s", group->numbers[i], group->hashes[i].text);
    if (list->accesses != UINT64_MAX)
        fprintf(file, "|of %" PRIu64, list->accesses);
    if (fclose(file) != 0) {
        free(key);
        return NULL;
    }
    for (char *at = key; *at; at++)
        if (*at == '\n')
            *at = ' ';
    return key;
}

static enum psnap_status add_item(struct worklist *list, const struct item *item,
                                  struct psnap_error *error)
{
    struct item *items = realloc(list->items, (list->count + 1) * sizeof *items);

    if (!items)
        return out_of_memory(error);
    list->items = items;
    items[list->count] = *item;
    items[list->count].key = key_of(list, item);
    if (!items[list->count].key)
        return out_of_memory(error);
    list->count++;
    return PSNAP_OK;
}

/* The items of a stream: on the machines that are not split, and the parts of the others. */
static enum psnap_status add_stream(struct worklist *list, struct item item,
                                    struct psnap_error *error)
{
    enum psnap_status status = PSNAP_OK;

    item.group = GROUP_WHOLE;
    if (list->groups[GROUP_WHOLE].count)
        status = add_item(list, &item, error);
    item.group = GROUP_SPLIT;
    for (; list->groups[GROUP_SPLIT].count && item.part < list->split.parts && !status; item.part++)
        status = add_item(list, &item, error);
    return status;
}

/* What there is to know of a file. */
static enum psnap_status look(struct input *file, struct item *item, struct psnap_error *error)
{
    FILE *opened = psnap_input_file(item->input, error);
    struct stat about;

    if (!opened)
        return error->code;
    if (opened == stdin || fstat(fileno(opened), &about) != 0 || !S_ISREG(about.st_mode)) {
        psnap_error_set(error, PSNAP_ERROR_VALUE, "a work list's inputs are files");
        psnap_error_at(error, item->input, 0, 0);
        if (opened != stdin)
            fclose(opened);
        return error->code;
    }
    item->is_profile = psnap_input_is_profile(opened);
    item->bytes = (uint64_t)about.st_size;
    time_of(&about, file->time);
    fclose(opened);
    return PSNAP_OK;
}

/* Puts the profile as it is before the edits, unless it is one of them. */
static bool add_unedited(struct worklist *list)
{
    for (size_t e = 0; e < list->edits.count; e++)
        if (!*list->edits.items[e])
            return true;
    if (!add_text(&list->edits, ""))
        return false;
    memmove(list->edits.items + 1, list->edits.items,
            (list->edits.count - 1) * sizeof *list->edits.items);
    list->edits.items[0] = "";
    return true;
}

/* The items of an input: those of its edits and seeds; a trace has no edits, and one seed. */
static enum psnap_status add_input(struct worklist *list, size_t number, struct psnap_error *error)
{
    struct input *file = &list->files[number];
    struct item item = {.input = list->inputs.items[number],
                        .file = number,
                        .is_profile = file->repository != NULL,
                        .bytes = file->bytes};
    enum psnap_status status = file->repository ? PSNAP_OK : look(file, &item, error);

    if (!status && !item.is_profile && list->edits.count > 1) {
        psnap_error_set(error, PSNAP_ERROR_USAGE,
                        "a trace, and edits are of profiles; 'psnap profile' makes one of it");
        psnap_error_at(error, item.input, 0, 0);
        return PSNAP_ERROR_USAGE;
    }
    for (size_t e = 0; e < (item.is_profile ? list->edits.count : 1) && !status; e++)
        for (size_t s = 0; s < (item.is_profile ? list->seed_count : 1) && !status; s++) {
            item.edit = item.is_profile ? list->edits.items[e] : "";
            item.seed = item.is_profile ? list->seeds[s] : 0;
            status = add_stream(list, item, error);
        }
    return status;
}

static bool group_init(struct group *group, size_t room)
{
    group->machines = calloc(room, sizeof *group->machines);
    group->numbers = calloc(room, sizeof *group->numbers);
    group->hashes = calloc(room, sizeof *group->hashes);
    return group->machines && group->numbers && group->hashes;
}

static enum psnap_status group_add(struct group *group, const struct worklist *list, size_t number,
                                   struct psnap_error *error)
{
    size_t size;
    char *text = worklist_machine_text(&list->machines[number], &size, error);
    struct repo_id id;

    if (!text)
        return error->code;
    repo_id_of(text, size, &id);
    repo_id_text(&id, group->hashes[group->count].text);
    free(text);
    group->machines[group->count] = list->machines[number];
    group->machines[group->count].tlb_level_count = 0;
    group->numbers[group->count++] = number;
    return PSNAP_OK;
}

/* Splits the machines that can be, with those before; it is said of the others why not. */
static enum psnap_status form_groups(struct worklist *list, struct psnap_error *error)
{
    struct group *split = &list->groups[GROUP_SPLIT];
    struct psnap_split plan;

    for (int i = 0; i < GROUP_COUNT; i++)
        if (!group_init(&list->groups[i], list->machine_count))
            return out_of_memory(error);
    for (size_t i = 0; i < list->machine_count; i++) {
        if (group_add(split, list, i, error))
            return error->code;
        if (list->split.parts > 1 &&
            !psnap_split_plan(&plan, split->machines, split->count, list->split.parts, error)) {
            list->split = plan;
            continue;
        }
        split->count--;
        if (list->split.parts > 1 && list->rank == 0)
            psnap_cmd_warn(error);
        if (group_add(&list->groups[GROUP_WHOLE], list, i, error))
            return error->code;
    }
    list->items_of_stream =
        (list->groups[GROUP_WHOLE].count > 0) + (split->count ? list->split.parts : (size_t)0);
    return PSNAP_OK;
}

enum psnap_status worklist_lay_out(struct worklist *list, struct psnap_error *error)
{
    enum psnap_status status = PSNAP_OK;

    if (!add_unedited(list))
        return out_of_memory(error);
    if (!list->seed_count) {
        list->seeds = calloc(1, sizeof *list->seeds);
        if (!list->seeds)
            return out_of_memory(error);
        list->seed_count = 1;
    }
    status = worklist_expand(list, error);
    if (!status)
        status = worklist_machines(list, error);
    if (!status)
        status = form_groups(list, error);
    for (size_t i = 0; i < list->inputs.count && !status; i++)
        status = add_input(list, i, error);
    return status;
}

void worklist_release(struct worklist *list)
{
    for (size_t i = 0; i < list->count; i++) {
        free(list->items[i].key);
        free(list->items[i].rows);
    }
    for (size_t i = 0; i < list->text_count; i++)
        free(list->texts[i]);
    free(list->texts);
    free(list->items);
    free(list->seeds);
    free(list->files);
    free(list->machines);
    for (int i = 0; i < GROUP_COUNT; i++) {
        free(list->groups[i].machines);
        free(list->groups[i].numbers);
        free(list->groups[i].hashes);
    }
    psnap_text_list_release(&list->inputs);
    psnap_text_list_release(&list->query);
    psnap_text_list_release(&list->edits);
    psnap_text_list_release(&list->machine_names);
    psnap_text_list_release(&list->parameters);
}
