/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The files of a repository. A commit is: write to cache/tmp-PID-N, fsync, rename to the name that
 * the content gives it, fsync of the directories. The same content has the same name, so that two
 * who write it at once do each other no harm, and nobody waits. A temporary file is locked as long
 * as its writer lives.
 */
#include "profile/repo/store_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define TEMPORARY "tmp-"

static const char *const suffixes[] = {[REPO_OBJECT] = ".pack", [REPO_DICTIONARY] = ".dict"};

static void leaf_name(enum repo_kind kind, const struct repo_id *id, char name[64])
{
    char text[REPO_ID_DIGITS + 1];

    snprintf(name, 64, "%s%s", repo_id_text(id, text), suffixes[kind]);
}

char *repo_file_name(enum repo_kind kind, const struct repo_id *id, char name[64])
{
    char leaf[64];

    leaf_name(kind, id, leaf);
    if (kind == REPO_OBJECT)
        snprintf(name, 64, "objects/%.2s/%.48s", leaf, leaf);
    else
        snprintf(name, 64, "dictionaries/%.48s", leaf);
    return name;
}

/* The directory of a file of this kind, to be closed; -1 with errno set. */
static int directory_of(const struct repo *repo, enum repo_kind kind, const struct repo_id *id,
                        bool is_made)
{
    char leaf[64];
    int fd;

    if (kind == REPO_DICTIONARY)
        return fcntl(repo->dictionaries, F_DUPFD_CLOEXEC, 0);
    leaf_name(kind, id, leaf);
    leaf[2] = '\0';
    fd = repo_open_directory(repo->objects, leaf);
    if (fd < 0 && errno == ENOENT && is_made &&
        (!mkdirat(repo->objects, leaf, 0777) || errno == EEXIST))
        fd = repo_open_directory(repo->objects, leaf);
    return fd;
}

int repo_open_file(const struct repo *repo, enum repo_kind kind, const struct repo_id *id)
{
    const int directory = directory_of(repo, kind, id, false);
    struct stat about;
    char leaf[64];
    int fd;

    if (directory < 0)
        return -1;
    leaf_name(kind, id, leaf);
    fd = openat(directory, leaf, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    close(directory);
    if (fd >= 0 && (fstat(fd, &about) || !S_ISREG(about.st_mode))) {
        close(fd);
        errno = EINVAL;
        return -1;
    }
    return fd;
}

enum psnap_status repo_read_sealed(const struct repo *repo, enum repo_kind kind,
                                   const struct repo_id *id, struct repo_bytes *file,
                                   struct sealed *sealed, struct psnap_error *error)
{
    const int fd = repo_open_file(repo, kind, id);
    char name[64];
    ssize_t n = -1;

    file->size = 0;
    while (fd >= 0) {
        uint8_t *at = repo_bytes_room(file, (size_t)1 << 18);
        n = at ? read(fd, at, (size_t)1 << 18) : 0;
        if (n > 0)
            file->size += (size_t)n;
        else if (n == 0 || errno != EINTR)
            break;
    }
    if (n < 0)
        repo_fail(repo, "read", repo_file_name(kind, id, name), error);
    if (fd >= 0)
        close(fd);
    if (file->is_short)
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    if (n < 0)
        return PSNAP_ERROR_IO;
    seal_open(file->data, file->size, sealed);
    return PSNAP_OK;
}

static bool write_all(int fd, const uint8_t *bytes, size_t size)
{
    while (size) {
        const ssize_t n = write(fd, bytes, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        bytes += n;
        size -= (size_t)n;
    }
    return true;
}

enum psnap_status repo_commit_at(struct repo *repo, int directory, const char *name,
                                 const void *bytes, size_t size, const char *shown,
                                 struct psnap_error *error)
{
    char temporary[64];
    enum psnap_status status = PSNAP_OK;
    int fd = -1;

    if (repo->cache < 0)
        errno = EROFS;
    for (int tries = 0; repo->cache >= 0 && fd < 0 && tries < 1000; tries++) {
        snprintf(temporary, sizeof temporary, TEMPORARY "%ld-%u", (long)getpid(),
                 repo->temporaries++);
        fd = openat(repo->cache, temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd < 0 && errno != EEXIST)
            break;
    }
    if (fd < 0)
        return repo_fail(repo, "write", shown, error);
    flock(fd, LOCK_EX | LOCK_NB);
    if (!write_all(fd, bytes, size) || fsync(fd) ||
        renameat(repo->cache, temporary, directory, name)) {
        status = repo_fail(repo, "write", shown, error);
        unlinkat(repo->cache, temporary, 0);
    } else if (fsync(directory)) {
        status = repo_fail(repo, "write", shown, error);
    }
    close(fd);
    return status;
}

enum psnap_status repo_commit(struct repo *repo, enum repo_kind kind, const struct repo_bytes *body,
                              struct repo_id *id, struct psnap_error *error)
{
    struct repo_bytes file = {0};
    enum psnap_status status;
    char name[64], leaf[64];
    int directory;

    if (!body->is_short)
        seal_add(&file, body->data, body->size);
    if (body->is_short || file.is_short) {
        repo_bytes_release(&file);
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    }
    repo_id_of(body->data, body->size, id);
    repo_file_name(kind, id, name);
    leaf_name(kind, id, leaf);
    directory = directory_of(repo, kind, id, true);
    status = directory < 0
                 ? repo_fail(repo, "write", name, error)
                 : repo_commit_at(repo, directory, leaf, file.data, file.size, name, error);
    /* the directory's own name, which another may have made just now */
    if (!status && kind == REPO_OBJECT && fsync(repo->objects))
        status = repo_fail(repo, "write", name, error);
    if (directory >= 0)
        close(directory);
    repo_bytes_release(&file);
    return status;
}

enum psnap_status repo_commit_cache(struct repo *repo, const char *name, const void *bytes,
                                    size_t size, struct psnap_error *error)
{
    return repo_commit_at(repo, repo->cache, name, bytes, size, name, error);
}

enum psnap_status repo_remove(struct repo *repo, enum repo_kind kind, const struct repo_id *id,
                              struct psnap_error *error)
{
    const int directory = directory_of(repo, kind, id, false);
    enum psnap_status status = PSNAP_OK;
    char name[64], leaf[64];

    leaf_name(kind, id, leaf);
    if (directory < 0 || (unlinkat(directory, leaf, 0) && errno != ENOENT))
        status = repo_fail(repo, "remove", repo_file_name(kind, id, name), error);
    if (kind == REPO_OBJECT) { /* a directory that is empty now goes as well */
        leaf[2] = '\0';
        unlinkat(repo->objects, leaf, AT_REMOVEDIR);
    }
    if (directory >= 0)
        close(directory);
    return status;
}

unsigned repo_sweep(struct repo *repo)
{
    const int at = repo->cache < 0 ? -1 : repo_open_directory(repo->root, "cache");
    DIR *directory = at < 0 ? NULL : fdopendir(at);
    const struct dirent *entry;
    unsigned count = 0;

    if (!directory && at >= 0)
        close(at);
    while (directory && (entry = readdir(directory))) {
        int fd;
        if (strncmp(entry->d_name, TEMPORARY, strlen(TEMPORARY)) != 0)
            continue;
        fd = openat(at, entry->d_name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
        if (fd >= 0 && !flock(fd, LOCK_EX | LOCK_NB) && !unlinkat(at, entry->d_name, 0))
            count++;
        if (fd >= 0)
            close(fd);
    }
    if (directory)
        closedir(directory);
    return count;
}

/* One directory's files: those with a name of this kind, which begins with `prefix`. */
struct listing {
    enum repo_kind kind;
    const char *prefix; /* NULL: directories of them */
    const char *path;   /* of the directory, for strangers */
    struct repo_ids *ids;
    void (*stranger)(void *context, const char *path);
    void *context;
};

/* 0 or an errno, as those below. */
static int take_name(const struct listing *listing, const char *name)
{
    struct repo_id id;
    char text[REPO_ID_DIGITS + 1], path[512];

    snprintf(text, sizeof text, "%.32s", name);
    if (strlen(name) > REPO_ID_DIGITS && repo_id_parse(text, &id) &&
        !strncmp(text, listing->prefix, strlen(listing->prefix)) &&
        !strcmp(name + REPO_ID_DIGITS, suffixes[listing->kind]))
        return repo_ids_add(listing->ids, &id) ? 0 : ENOMEM;
    if (listing->stranger) {
        snprintf(path, sizeof path, "%.200s/%.255s", listing->path, name);
        listing->stranger(listing->context, path);
    }
    return 0;
}

static bool is_prefix(const char *name)
{
    return strlen(name) == 2 && strspn(name, "0123456789abcdef") == 2;
}

static int list_directory(const struct listing *listing, int at, const char *name);

/* A directory of objects. One that has gone had nothing in it. */
static int take_directory(const struct listing *objects, int at, const char *name)
{
    struct listing listing = *objects;
    char path[300];
    int reason = is_prefix(name) ? 0 : ENOTDIR;

    snprintf(path, sizeof path, "objects/%.255s", name);
    listing.prefix = name;
    listing.path = path;
    if (!reason)
        reason = list_directory(&listing, at, name);
    if ((reason == ENOTDIR || reason == ELOOP) && listing.stranger)
        listing.stranger(listing.context, path);
    return reason == ENOTDIR || reason == ELOOP || reason == ENOENT ? 0 : reason;
}

/* All names, of files or of the directories that the objects are in. */
static int list_directory(const struct listing *listing, int at, const char *name)
{
    const int fd = repo_open_directory(at, name);
    DIR *directory = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *entry;
    int reason = directory ? 0 : errno;

    if (!directory && fd >= 0)
        close(fd);
    while (directory && !reason) {
        errno = 0;
        entry = readdir(directory);
        if (!entry) {
            reason = errno;
            break;
        }
        if (entry->d_name[0] != '.')
            reason = listing->prefix ? take_name(listing, entry->d_name)
                                     : take_directory(listing, fd, entry->d_name);
    }
    if (directory)
        closedir(directory);
    return reason;
}

enum psnap_status repo_files(const struct repo *repo, enum repo_kind kind, struct repo_ids *ids,
                             void (*stranger)(void *context, const char *path), void *context,
                             struct psnap_error *error)
{
    const char *name = kind == REPO_OBJECT ? "objects" : "dictionaries";
    const struct listing listing = {kind,   kind == REPO_OBJECT ? NULL : "", name, ids, stranger,
                                    context};
    int reason;

    ids->count = 0;
    reason = list_directory(&listing, repo->root, name);
    if (reason && reason != ENOENT) {
        errno = reason;
        return repo_fail(repo, "read", name, error);
    }
    repo_ids_sort(ids);
    return PSNAP_OK;
}
