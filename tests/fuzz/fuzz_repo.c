/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Files that an archive reads from elsewhere: an object, which is an error unless it is of its id,
 * and a query, which is wrong usage or a statement that SQLite runs.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "profile/repo/index.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char path[] = "/tmp/psnap-fuzz-repo-XXXXXX";

static void must(bool condition)
{
    if (!condition)
        abort();
}

static void remove_all(void)
{
    char command[64];

    snprintf(command, sizeof command, "rm -rf %s", path);
    must(!system(command));
}

static bool ignore(void *context, const struct entry *entry)
{
    (void)context;
    return entry != NULL;
}

static void look_at_query(struct repo *repo, const uint8_t *data, size_t size)
{
    struct query query = {.limit = 0};
    struct psnap_error error;
    char *text = strndup((const char *)data, size);
    enum psnap_status status;

    must(text != NULL);
    status = query_parse(&query, text, &error);
    must(!status || status == PSNAP_ERROR_USAGE);
    if (!status)
        status = repo_list(repo, &query, ignore, NULL, &error);
    must(!status || status == PSNAP_ERROR_USAGE || (query.like && status == PSNAP_ERROR_VALUE));
    query_release(&query);
    free(text);
}

static void look_at_object(struct repo *repo, const uint8_t *data, size_t size)
{
    const struct repo_bytes bytes = {(char *)(uintptr_t)data, size};
    const struct repo_id id = {"00000000000000000000000000000000"};
    struct repo_bytes yaml;
    int folder;

    must(!store_prepare(repo, NULL));
    folder = object_folder(repo, &id, true);
    must(!store_write(repo, folder, "000000000000000000000000000000" REPO_PROFILE, &bytes, NULL));
    close(folder);
    must(object_read(repo, 0, &id, &yaml, NULL)); /* no profile has this id */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct repo *repo;
    struct psnap_error error;

    if (!repo) {
        must(mkdtemp(path) && !repo_init(path, &error));
        atexit(remove_all);
        repo = repo_open(path, &error);
        must(repo != NULL);
    }
    look_at_query(repo, data, size);
    look_at_object(repo, data, size);
    return 0;
}
