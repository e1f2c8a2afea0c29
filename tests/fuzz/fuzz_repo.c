/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Files that an archive reads from elsewhere: an object, which is an error unless it is of its id,
 * and a query, which is wrong usage or a statement that SQLite runs.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/repo/repo.h"

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

static int ignore(void *context, int count, char **row, char **names)
{
    (void)context, (void)row, (void)names;
    must(count == REPO_COLUMN_COUNT);
    return 0;
}

static void look_at_query(struct repo *repo, const uint8_t *data, size_t size)
{
    struct psnap_error error;
    char *text = strndup((const char *)data, size);
    enum psnap_status status;

    must(text != NULL);
    status = repo_list(repo, &(struct repo_query){&text, 1, 0}, ignore, NULL, &error);
    must(!status || status == PSNAP_ERROR_USAGE);
    free(text);
}

static void look_at_object(struct repo *repo, const uint8_t *data, size_t size)
{
    const struct repo_bytes bytes = {(char *)(uintptr_t)data, size};
    const struct repo_id id = {"00000000000000000000000000000000"};
    struct repo_bytes yaml;
    char name[REPO_PATH];

    must(!store_write(repo, store_path(&id, "", name), &bytes, NULL));
    must(object_read(repo, &id, &yaml, NULL)); /* no profile has this id */
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
