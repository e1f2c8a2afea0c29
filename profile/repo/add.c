/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Adding profiles, many at a time: read, checked and compressed by all processors, then committed
 * together: files in cache/, flushed to the disk; their names; the folders, flushed. A few files
 * are flushed one by one; many at once, with whatever else the file system has to write. XXH3 is no
 * cryptographic hash: equal ids are not taken for equal bytes.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats/base/parallel.h"
#include "profile/repo/repo.h"

enum { FEW = 8, BATCH_BYTES = 24 << 20 };

static void refuse(struct add_item *item, const char *reason)
{
    psnap_error_set(&item->error, PSNAP_ERROR_VALUE, "%s", reason);
    psnap_error_at(&item->error, item->path, 0, 0);
}

static void read_path(struct add_item *item)
{
    const bool is_stdin = !strcmp(item->path, "-");
    const int fd = is_stdin ? STDIN_FILENO : open(item->path, O_RDONLY | O_CLOEXEC);

    if (fd < 0 || !store_read_open(fd, REPO_PROFILE_MAX, &item->yaml))
        psnap_error_file(&item->error, errno, fd < 0 ? "open" : "read", item->path);
    else if (item->yaml.size > REPO_PROFILE_MAX)
        refuse(item, "longer than 16 MiB, the limit of a profile in an archive");
    if (fd >= 0 && !is_stdin)
        close(fd);
}

/* Finds out whether the profile is there. An object that is damaged is as if it were not. */
static void look_for(const struct repo *repo, struct add_item *item)
{
    struct repo_bytes there;

    item->is_new = object_read(repo, &item->id, &there, NULL);
    if (!item->is_new &&
        (there.size != item->yaml.size || memcmp(there.data, item->yaml.data, there.size) != 0))
        refuse(item, "another profile in the repository has the same id: one of them was made to");
    free(there.data);
}

static void read_item(void *context, unsigned thread, size_t i)
{
    struct adder *adder = context;
    struct add_item *item = &adder->items[i];
    char tag[REPO_TAG_BYTES + 1];

    (void)thread;
    for (const char *rest = item->tags; repo_next_tag(&rest, tag);)
        if (!repo_is_tag(tag))
            refuse(item, "it has a tag that is none");
    if (!item->yaml.data)
        read_path(item);
    if (item->error.code)
        return;
    repo_id_of(item->yaml.data, item->yaml.size, &item->id);
    look_for(adder->repo, item);
    if (item->is_new)
        item->facts = facts_of(&item->yaml, strcmp(item->path, "-") != 0 ? item->path : "stdin",
                               &item->error);
}

/* Writes a profile that is sound: an error from here on is the batch's. */
static void write_item(void *context, unsigned thread, size_t i)
{
    struct adder *adder = context;
    struct add_item *item = &adder->items[i];
    struct repo_bytes object;

    (void)thread;
    if (!item->facts)
        return;
    if (!object_pack(adder->repo, &item->yaml, &object))
        psnap_error_set(&item->error, PSNAP_ERROR_MEMORY, "out of memory");
    else if (!store_temporary(adder->repo, &object, adder->count <= FEW, item->temporary))
        repo_fail(adder->repo, "write", "cache", &item->error);
    free(object.data);
}

/* Gives a file its name, and makes the empty files that are its tags; 0 or an errno. Another
 * process may have been first, or an earlier item; its name may not be on the disk yet. */
static int place(struct adder *adder, struct add_item *item)
{
    const struct repo *repo = adder->repo;
    const bool flushes = adder->count <= FEW;
    char path[REPO_PATH], tag[REPO_TAG_BYTES + 1];
    int result = item->is_new ? store_place(repo, item->temporary, store_path(&item->id, "", path),
                                            false, flushes)
                              : 0;

    if (result == EEXIST) {
        look_for(repo, item);
        result = item->is_new ? store_place(repo, item->temporary, path, true, flushes) : 0;
    }
    for (const char *rest = item->tags; !result && !item->error.code && repo_next_tag(&rest, tag);)
        if (!store_write_new(repo, store_path(&item->id, tag, path), &(struct repo_bytes){NULL, 0},
                             flushes) &&
            errno != EEXIST)
            result = errno;
    return result;
}

/* Writes all that is sound; what they all need is on the disk before their names are, and so is a
 * profile that is there already: who wrote it may not have come to that. */
static int commit(struct adder *adder)
{
    bool flushes = adder->count > FEW;
    int result;

    for (size_t i = 0; i < adder->count; i++)
        flushes |= !adder->items[i].error.code && !adder->items[i].is_new;
    result = flushes && syncfs(adder->repo->root) ? errno : 0;
    for (size_t i = 0; i < adder->count && !result; i++)
        if (!adder->items[i].error.code)
            result = place(adder, &adder->items[i]);
    return !result && flushes && syncfs(adder->repo->root) ? errno : result;
}

static enum psnap_status write_batch(struct adder *adder, struct psnap_error *error)
{
    struct repo *repo = adder->repo;
    struct repo_bytes samples[ADD_BATCH];
    enum psnap_status status = dictionaries_load(repo, error);
    size_t count = 0;

    psnap_parallel(status ? 0 : adder->count, read_item, adder);
    for (size_t i = 0; i < adder->count; i++)
        if (adder->items[i].facts)
            samples[count++] = adder->items[i].yaml;
    if (!status)
        status = dictionary_train(repo, samples, count, error);
    psnap_parallel(status ? 0 : adder->count, write_item, adder);
    for (size_t i = 0; i < adder->count && !status; i++)
        if (adder->items[i].facts && adder->items[i].error.code) {
            *error = adder->items[i].error;
            status = error->code;
        }
    if (!status && (errno = commit(adder)))
        status = repo_fail(repo, "write", "objects", error);
    for (size_t i = 0; i < adder->count; i++)
        if (adder->items[i].temporary[0])
            unlinkat(repo->root, adder->items[i].temporary, 0);
    return status;
}

enum psnap_status add_finish(struct adder *adder, struct psnap_error *error)
{
    const enum psnap_status status = adder->count ? write_batch(adder, error) : PSNAP_OK;

    if (!status && adder->count)
        index_add(adder->repo, adder->items, adder->count);
    for (size_t i = 0; i < adder->count; i++) {
        struct add_item *item = &adder->items[i];
        if (!status)
            adder->done(adder->context, item);
        free(item->path);
        free(item->yaml.data);
        free(item->facts);
        free(item->tags);
    }
    adder->count = adder->bytes = 0;
    return status;
}

enum psnap_status add_item(struct adder *adder, const char *path, const struct repo_bytes *yaml,
                           const char *tags, struct psnap_error *error)
{
    struct add_item *item = &adder->items[adder->count];
    struct stat about;
    size_t size;
    FILE *file;

    *item = (struct add_item){.path = strdup(path)};
    file = open_memstream(&item->tags, &size);
    if (yaml)
        item->yaml = *yaml;
    if (!item->path || !file)
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    for (size_t i = 0; i < adder->tag_count; i++)
        fprintf(file, "%s ", adder->tags[i]);
    fputs(tags, file);
    fclose(file);
    adder->count++;
    adder->bytes += yaml ? yaml->size : !stat(path, &about) ? (size_t)about.st_size : 0;
    return adder->count == ADD_BATCH || adder->bytes > BATCH_BYTES ? add_finish(adder, error)
                                                                   : PSNAP_OK;
}
