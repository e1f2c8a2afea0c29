/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Adding profiles (add.h). A commit: files in cache/, flushed to the disk; their names; the
 * folders, flushed. A few files are flushed one by one; many at once, with whatever else the file
 * system has to write.
 */
#include "profile/repo/add.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats/base/parallel.h"

enum { FEW = 8, BATCH_BYTES = 24 << 20 };

static void read_path(struct add_item *item, uint64_t limit)
{
    const bool is_stdin = !strcmp(item->path, "-");
    const int fd = is_stdin ? STDIN_FILENO : open(item->path, O_RDONLY | O_CLOEXEC);

    if (fd < 0 || !store_read_open(fd, limit, &item->yaml))
        psnap_error_file(&item->error, errno, fd < 0 ? "open" : "read", item->path);
    else if (item->yaml.size > limit)
        psnap_error_set(&item->error, PSNAP_ERROR_LIMIT,
                        "longer than %" PRIu64 " bytes, the limit of a profile (--max-size)",
                        limit);
    if (item->error.code == PSNAP_ERROR_LIMIT)
        psnap_error_at(&item->error, item->path, 0, 0);
    if (fd >= 0 && !is_stdin)
        close(fd);
}

/* Finds out whether the profile is there. An object that is damaged is as if it were not. */
static void look_for(struct repo *repo, unsigned thread, struct add_item *item)
{
    struct repo_bytes there;

    item->is_new = object_read(repo, thread, &item->id, &there, NULL);
    if (item->is_new)
        return;
    if (there.size != item->yaml.size || memcmp(there.data, item->yaml.data, there.size) != 0) {
        psnap_error_set(
            &item->error, PSNAP_ERROR_VALUE,
            "another profile in the repository has the same id: one of them was made to");
        psnap_error_at(&item->error, item->path, 0, 0);
    }
    free(there.data);
}

static void read_item(void *context, unsigned thread, size_t i)
{
    struct adder *adder = context;
    struct add_item *item = &adder->items[i];

    if (!item->yaml.data)
        read_path(item, adder->limit_bytes);
    if (item->error.code)
        return;
    repo_id_of(item->yaml.data, item->yaml.size, &item->id);
    look_for(adder->repo, thread, item);
    if (item->is_new)
        facts_of(&item->yaml, strcmp(item->path, "-") != 0 ? item->path : "stdin", &item->facts,
                 &item->error);
}

static bool is_wanted(const struct add_item *item)
{
    return item->is_new && !item->error.code;
}

static void write_item(void *context, unsigned thread, size_t i)
{
    struct adder *adder = context;
    struct add_item *item = &adder->items[i];
    struct repo_bytes object;

    if (!is_wanted(item))
        return;
    if (!object_pack(adder->repo, thread, &item->yaml, &object))
        psnap_error_set(&item->error, PSNAP_ERROR_MEMORY, "out of memory");
    else
        store_temporary(adder->repo, &object, adder->count <= FEW, item->temporary, &item->error);
    item->is_unwritten = item->error.code != 0;
    free(object.data);
}

/* The archive's dictionary, if it has none and the batch is large enough. */
static enum psnap_status train(struct adder *adder, struct psnap_error *error)
{
    struct repo_bytes samples[ADD_BATCH];
    size_t count = 0;

    for (size_t i = 0; i < adder->count; i++)
        if (is_wanted(&adder->items[i]))
            samples[count++] = adder->items[i].yaml;
    return dictionary_train(adder->repo, samples, count, error);
}

/* Gives a file its name. Somebody else may have been first, or an earlier item; its name may not
 * be on the disk yet. */
static enum psnap_status place(struct adder *adder, struct add_item *item,
                               struct psnap_error *error)
{
    const struct repo *repo = adder->repo;
    const int folder = object_folder(repo, &item->id, true);
    char name[REPO_NAME];
    int result = 0;

    if (folder < 0)
        return repo_fail(repo, "write", "objects", error);
    snprintf(name, sizeof name, "%s" REPO_PROFILE, item->id.text + 2);
    if (item->is_new)
        result = store_place(repo, item->temporary, folder, name, false);
    if (result == EEXIST) {
        look_for(adder->repo, 0, item);
        result = item->is_new ? store_place(repo, item->temporary, folder, name, true) : 0;
    }
    if (!result && adder->count <= FEW && (fsync(folder) || fsync(repo->objects)))
        result = errno;
    close(folder);
    errno = result;
    return result ? repo_fail(repo, "write", "objects", error) : PSNAP_OK;
}

static enum psnap_status commit(struct adder *adder, struct psnap_error *error)
{
    const bool flushes = adder->count > FEW;
    enum psnap_status status = PSNAP_OK;

    if (flushes && syncfs(adder->repo->root))
        return repo_fail(adder->repo, "write", "objects", error);
    for (size_t i = 0; i < adder->count && !status; i++)
        if (!adder->items[i].error.code)
            status = place(adder, &adder->items[i], error);
    if (!status && flushes && syncfs(adder->repo->root))
        status = repo_fail(adder->repo, "write", "objects", error);
    return status;
}

static enum psnap_status write_batch(struct adder *adder, struct psnap_error *error)
{
    enum psnap_status status = store_prepare(adder->repo, error);

    if (!status)
        status = dictionaries_load(adder->repo, error);
    if (status)
        return status;
    psnap_parallel(adder->count, read_item, adder);
    status = train(adder, error);
    if (!status)
        psnap_parallel(adder->count, write_item, adder);
    for (size_t i = 0; i < adder->count && !status; i++)
        if (adder->items[i].is_unwritten) {
            *error = adder->items[i].error;
            status = error->code;
        }
    if (!status)
        status = commit(adder, error);
    for (size_t i = 0; i < adder->count; i++)
        if (adder->items[i].temporary[0])
            unlinkat(adder->repo->cache, adder->items[i].temporary, 0);
    return status;
}

/* Adds the batch to the index, and its notes. */
static enum psnap_status describe(struct adder *adder, struct psnap_error *error)
{
    enum psnap_status status = PSNAP_OK;

    if (index_begin(adder->repo)) {
        for (size_t i = 0; i < adder->count; i++)
            if (is_wanted(&adder->items[i]))
                index_add(adder->repo, &adder->items[i].id, adder->items[i].yaml.size,
                          &adder->items[i].facts);
        index_end(adder->repo);
    }
    for (size_t i = 0; i < adder->count && !status; i++) {
        struct add_item *item = &adder->items[i];
        if (!item->error.code && item->said)
            status = repo_note(adder->repo, &item->id, item->said, error);
        item->is_said_badly = status == PSNAP_ERROR_VALUE;
        status = item->is_said_badly ? PSNAP_OK : status;
        if (!item->error.code && adder->said && !status)
            status = repo_note(adder->repo, &item->id, adder->said, error);
    }
    return status;
}

enum psnap_status add_finish(struct adder *adder, struct psnap_error *error)
{
    const enum psnap_status status = adder->count ? write_batch(adder, error) : PSNAP_OK,
                            described = status || !adder->count ? status : describe(adder, error);

    for (size_t i = 0; i < adder->count; i++) {
        struct add_item *item = &adder->items[i];
        if (!status)
            adder->done(adder->context, item);
        free(item->path);
        free(item->yaml.data);
        free(item->said);
        facts_release(&item->facts);
    }
    adder->count = adder->bytes = 0;
    return described;
}

enum psnap_status add_item(struct adder *adder, const char *path, const struct repo_bytes *yaml,
                           char *said, struct psnap_error *error)
{
    struct add_item *item = &adder->items[adder->count];
    struct stat about;

    *item = (struct add_item){.path = strdup(path), .said = said};
    if (yaml)
        item->yaml = *yaml;
    if (!item->path)
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    adder->count++;
    adder->bytes += yaml ? yaml->size : !stat(path, &about) ? (size_t)about.st_size : 0;
    return adder->count == ADD_BATCH || adder->bytes > BATCH_BYTES ? add_finish(adder, error)
                                                                   : PSNAP_OK;
}
