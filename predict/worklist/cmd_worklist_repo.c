/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Repositories among the inputs: each stands for its profiles, all or those of a query, in the
 * order of their ids, which are the hashes of their content. They are called REPOSITORY:ID. An
 * item's process reads its profile from the repository itself.
 */
#include <stdlib.h>
#include <string.h>

#include "formats/base/room.h"
#include "formats/base/yaml.h"
#include "predict/worklist/cmd_worklist.h"
#include "profile/repo/cmd_repo_read.h"

static enum psnap_status out_of_memory(struct psnap_error *error)
{
    return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for the work list");
}

static enum psnap_status open_both(const char *path, struct opened *opened,
                                   struct psnap_error *error)
{
    *opened = (struct opened){.repo = repo_open(path, error)};
    if (opened->repo)
        opened->index = index_open(opened->repo, error);
    if (opened->index)
        return PSNAP_OK;
    repo_close(opened->repo);
    return error->code;
}

/* ---------------------------------------------------------------------- listing */

struct found { /* profiles of a repository */
    struct input *files;
    size_t count, room;
    bool is_short; /* of memory */
};

static bool take_entry(void *context, const struct entry *entry)
{
    struct found *found = context;
    struct input *files =
        psnap_with_room(found->files, &found->room, found->count + 1, sizeof *files);

    found->is_short = !files;
    if (!files)
        return false;
    found->files = files;
    files += found->count++;
    *files = (struct input){.time = "-", .bytes = entry->bytes};
    snprintf(files->hash, sizeof files->hash, "%s", entry->id);
    return true;
}

static int by_hash(const void *a, const void *b)
{
    return strcmp(((const struct input *)a)->hash, ((const struct input *)b)->hash);
}

static enum psnap_status find(const struct worklist *list, const char *path, struct found *found,
                              struct psnap_error *error)
{
    struct query query = {.like = NULL};
    struct opened opened;
    enum psnap_status status = PSNAP_OK;

    for (size_t i = 0; i < list->query.count && !status; i++)
        status = query_parse(&query, list->query.items[i], error);
    if (!status)
        status = open_both(path, &opened, error);
    if (!status) {
        repo_cmd_warn_unusable(&opened);
        status = query_settle(&query, opened.index, error);
        if (!status)
            status = index_list(opened.index, &query.ask, take_entry, found, error);
        repo_cmd_close(&opened);
    }
    query_release(&query);
    if (!status && found->is_short)
        status = out_of_memory(error);
    if (!status && !found->count) {
        psnap_error_set(error, PSNAP_ERROR_VALUE, "there is no profile in it%s",
                        list->query.count ? " that the query finds" : "");
        psnap_error_at(error, path, 0, 0);
        status = PSNAP_ERROR_VALUE;
    }
    if (!status)
        qsort(found->files, found->count, sizeof *found->files, by_hash);
    return status;
}

/* Adds an input, with what is known of it. */
static enum psnap_status add(struct worklist *list, const char *name, const struct input *file,
                             struct psnap_error *error)
{
    struct input *files = realloc(list->files, (list->inputs.count + 1) * sizeof *files);

    if (!files)
        return out_of_memory(error);
    list->files = files;
    files[list->inputs.count] = *file;
    return worklist_add_input(list, name) ? PSNAP_OK : out_of_memory(error);
}

static enum psnap_status add_profiles(struct worklist *list, const char *path,
                                      struct psnap_error *error)
{
    struct found found = {0};
    enum psnap_status status = find(list, path, &found, error);

    for (size_t i = 0; i < found.count && !status; i++) {
        const char *name;
        char *text;
        if (asprintf(&text, "%s:%s", path, found.files[i].hash) < 0)
            text = NULL;
        name = worklist_keep(list, text);
        found.files[i].repository = path;
        status = name ? add(list, name, &found.files[i], error) : out_of_memory(error);
    }
    free(found.files);
    return status;
}

enum psnap_status worklist_expand(struct worklist *list, struct psnap_error *error)
{
    struct psnap_text_list given = list->inputs;
    enum psnap_status status = PSNAP_OK;
    bool is_any = false;

    list->inputs = (struct psnap_text_list){0};
    for (size_t i = 0; i < given.count && !status; i++) {
        const bool is_repository =
            strcmp(given.items[i], "-") != 0 && repo_is_there(given.items[i]);
        is_any = is_any || is_repository;
        status = is_repository ? add_profiles(list, given.items[i], error)
                               : add(list, given.items[i], &(struct input){.time = ""}, error);
    }
    psnap_text_list_release(&given);
    if (!status && list->query.count && !is_any)
        return psnap_error_set(error, PSNAP_ERROR_USAGE,
                               "a query is of a repository, and no input is one");
    return status;
}

/* ---------------------------------------------------------------------- reading */

static struct psnap_profile *fetch(const struct input *file, const char *name,
                                   struct psnap_error *error)
{
    struct psnap_profile *profile = NULL;
    struct psnap_yaml_doc *doc = NULL;
    struct repo_bytes raw = {0};
    struct opened opened;
    struct repo_id id;

    if (open_both(file->repository, &opened, error))
        return NULL;
    if (repo_id_parse(file->hash, &id) && !index_fetch(opened.index, &id, &raw, error))
        doc = psnap_yaml_read_text((const char *)raw.data, raw.size, name, error);
    if (doc)
        profile = psnap_profile_read_document(doc, error);
    psnap_yaml_doc_free(doc);
    repo_bytes_release(&raw);
    repo_cmd_close(&opened);
    return profile;
}

struct psnap_profile *worklist_profile(const struct worklist *list, const struct item *item,
                                       struct psnap_error *error)
{
    const struct input *file = &list->files[item->file];

    return file->repository ? fetch(file, item->input, error)
                            : psnap_input_read_profile(item->input, error);
}
