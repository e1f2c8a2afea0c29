/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reading the profiles of an archive, one after the other, while no gc can run.
 */
#include "profile/repo/cmd_repo_read.h"

#include <stdlib.h>

#include "profile/repo/transfer.h"

struct reading {
    enum psnap_status (*take)(void *context, const struct repo_profile *profile,
                              struct psnap_error *error);
    void *context;
};

static enum psnap_status read_one(void *context, const struct entry *entry,
                                  const struct repo_bytes *raw, struct psnap_error *error)
{
    const struct reading *reading = context;
    struct repo_profile profile = {.id = entry->id};
    char problem[512], *tags = strdup(entry->texts[ENTRY_TAGS]);
    enum psnap_status status;

    for (char *at = tags; at && *at; at++) /* "\nhpc\nsparse\n" */
        *at = *at == '\n' ? ' ' : *at;
    profile.tags = tags ? tags : "";
    if (raw) {
        profile.yaml = (const char *)raw->data;
        profile.yaml_bytes = raw->size;
    } else {
        snprintf(problem, sizeof problem, "%s", error->message);
        profile.problem = problem;
    }
    status = reading->take(reading->context, &profile, error);
    free(tags);
    return status;
}

enum psnap_status repo_each(const char *path, char *const *words, size_t word_count,
                            enum psnap_status (*take)(void *context,
                                                      const struct repo_profile *profile,
                                                      struct psnap_error *error),
                            void *context, struct psnap_error *error)
{
    struct reading reading = {take, context};
    const struct transfer transfer = {read_one, &reading};
    struct query query = {.like = NULL};
    struct repo *repo = NULL;
    struct index *index = NULL;
    enum psnap_status status = PSNAP_OK;

    for (size_t i = 0; i < word_count && !status; i++)
        status = query_parse(&query, words[i], error);
    if (!status) {
        repo = repo_open(path, error);
        index = repo ? index_open(repo, error) : NULL;
        status = index ? query_settle(&query, index, error) : error->code;
    }
    if (!status) {
        repo_lock(repo, REPO_SHARED, NULL);
        status = transfer_each(index, &query.ask, &transfer, error);
    }
    index_close(index);
    repo_close(repo);
    query_release(&query);
    return status;
}
