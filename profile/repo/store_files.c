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
/* A profile, and the others before it; with the seal. */
#define FILE_BYTES_MAX ((off_t)REPO_RAW_MAX + ((off_t)64 << 20))

static const char *const suffixes[] = {[REPO_OBJECT] = ".pack", [REPO_DICTIONARY] = ".dict"};
static const char *const directories[] = {
    [REPO_OBJECT] = "objects", [REPO_DICTIONARY] = "dictionaries"};

static int directory_of(const struct repo *repo, enum repo_kind kind)
{
    return kind == REPO_OBJECT ? repo->objects : repo->dictionaries;
}

char *repo_file_name(enum repo_kind kind, const struct repo_id *id, char name[64])
{
    char text[REPO_ID_DIGITS + 1];

    snprintf(name, 64, "%s/%s%s", directories[kind], repo_id_text(id, text), suffixes[kind]);
    return name;
}

/* The name without its directory. */
static const char *leaf_of(const char *name)
{
    return strchr(name, '/') + 1;
}

int repo_open_file(const struct repo *repo, enum repo_kind kind, const struct repo_id *id)
{
    struct stat about;
    char name[64];
    const int fd = openat(directory_of(repo, kind), leaf_of(repo_file_name(kind, id, name)),
                          O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);

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
    struct stat about;
    char name[64];
    ssize_t n = -1;

    file->size = 0;
    if (fd >= 0 && !fstat(fd, &about) && about.st_size > FILE_BYTES_MAX) {
        close(fd);
        return psnap_error_set(error, PSNAP_ERROR_LIMIT, "'%s/%s' is longer than a pack can be",
                               repo->path, repo_file_name(kind, id, name));
    }
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
    char name[64];

    if (!body->is_short)
        seal_add(&file, body->data, body->size);
    if (body->is_short || file.is_short) {
        status = psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    } else {
        repo_id_of(body->data, body->size, id);
        repo_file_name(kind, id, name);
        status = repo_commit_at(repo, directory_of(repo, kind), leaf_of(name), file.data, file.size,
                                name, error);
    }
    repo_bytes_release(&file);
    return status;
}

enum psnap_status repo_remove(struct repo *repo, enum repo_kind kind, const struct repo_id *id,
                              struct psnap_error *error)
{
    char name[64];

    repo_file_name(kind, id, name);
    if (unlinkat(directory_of(repo, kind), leaf_of(name), 0) && errno != ENOENT)
        return repo_fail(repo, "remove", name, error);
    return PSNAP_OK;
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

/* Whether a name is one of this kind. */
static bool parse_name(enum repo_kind kind, const char *name, struct repo_id *id)
{
    char text[REPO_ID_DIGITS + 1];

    snprintf(text, sizeof text, "%.32s", name);
    return strlen(name) > REPO_ID_DIGITS && repo_id_parse(text, id) &&
           !strcmp(name + REPO_ID_DIGITS, suffixes[kind]);
}

enum psnap_status repo_files(const struct repo *repo, enum repo_kind kind, struct repo_ids *ids,
                             void (*stranger)(void *context, const char *path), void *context,
                             struct psnap_error *error)
{
    const int fd = repo_open_directory(repo->root, directories[kind]);
    DIR *directory = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *entry = NULL;
    struct repo_id id;
    char path[300];
    int reason = directory ? 0 : errno;

    ids->count = 0;
    if (!directory && fd >= 0)
        close(fd);
    while (!reason && (errno = 0, entry = readdir(directory))) {
        if (parse_name(kind, entry->d_name, &id)) {
            reason = repo_ids_add(ids, &id) ? 0 : ENOMEM;
        } else if (entry->d_name[0] != '.' && stranger) {
            snprintf(path, sizeof path, "%s/%s", directories[kind], entry->d_name);
            stranger(context, path);
        }
    }
    if (!reason)
        reason = errno;
    if (directory)
        closedir(directory);
    if (reason && reason != ENOENT) {
        errno = reason;
        return repo_fail(repo, "read", directories[kind], error);
    }
    repo_ids_sort(ids);
    return PSNAP_OK;
}
