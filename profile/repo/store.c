/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A repository's directory: made, opened, locked (REPO.md). Directories are opened one by one
 * without following links, and files relative to them: a repository from elsewhere has no way out
 * of its directory.
 */
#include "profile/repo/store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "profile/repo/store_files.h"

#define FORMAT_FILE "psnap-repo-"

/* What the format file says. Nothing is read out of it: its name has the version. */
static const char format_text[] =
    "This directory is a repository of profiles of memory behaviour; see psnap repo.\n";

int repo_open_directory(int at, const char *name)
{
    if (at < 0) {
        errno = EBADF;
        return -1;
    }
    return openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

enum psnap_status repo_fail(const struct repo *repo, const char *verb, const char *name,
                            struct psnap_error *error)
{
    const int reason = errno;
    char path[512];

    snprintf(path, sizeof path, "%.200s/%s", repo->path, name);
    if (strcmp(verb, "open") != 0 && (reason == EACCES || reason == EROFS || reason == EPERM))
        return psnap_error_set(
            error, PSNAP_ERROR_IO, "'%.200s' is read-only: cannot %s '%.250s': %s", repo->path,
            verb, path, reason == EROFS ? "read-only file system" : "permission denied");
    return psnap_error_file(error, reason, verb, path);
}

static char *format_name(unsigned version, char name[32])
{
    snprintf(name, 32, FORMAT_FILE "%u", version);
    return name;
}

/* The lowest version that a directory has a format file of; 0: none, with errno set. */
static unsigned find_version(int root)
{
    char name[32];
    unsigned version = 1;

    while (version < 100 && faccessat(root, format_name(version, name), F_OK, AT_SYMLINK_NOFOLLOW))
        version++;
    return version < 100 ? version : 0;
}

bool repo_is_there(const char *path)
{
    const int root = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK);
    const bool is_there = root >= 0 && find_version(root);

    if (root >= 0)
        close(root);
    return is_there;
}

bool repo_has_format(const struct repo *repo)
{
    char name[32], text[sizeof format_text];
    const int fd = openat(repo->root, format_name(REPO_FORMAT_VERSION, name),
                          O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    const bool is_good = fd >= 0 && read(fd, text, sizeof text) == sizeof text - 1 &&
                         !memcmp(text, format_text, sizeof text - 1);

    if (fd >= 0)
        close(fd);
    return is_good;
}

enum psnap_status repo_write_format(struct repo *repo, struct psnap_error *error)
{
    char name[32];

    format_name(REPO_FORMAT_VERSION, name);
    return repo_commit_at(repo, repo->root, name, format_text, sizeof format_text - 1, name, error);
}

static struct repo *repo_new(const char *path)
{
    struct repo *repo = calloc(1, sizeof *repo);

    if (!repo)
        return NULL;
    repo->root = repo->objects = repo->dictionaries = repo->cache = repo->lock = -1;
    repo->level = CODEC_LEVEL_ADD;
    repo->path = strdup(path);
    repo->codec = codec_new();
    if (repo->path && repo->codec)
        return repo;
    repo_close(repo);
    return NULL;
}

static void close_fd(int fd)
{
    if (fd >= 0)
        close(fd);
}

void repo_close(struct repo *repo)
{
    if (!repo)
        return;
    for (size_t i = 0; i < repo->loaded_count; i++)
        codec_dictionary_free(repo->loaded[i]);
    free(repo->loaded);
    codec_free(repo->codec);
    close_fd(repo->lock);
    close_fd(repo->cache);
    close_fd(repo->dictionaries);
    close_fd(repo->objects);
    close_fd(repo->root);
    free(repo->real);
    free(repo->path);
    free(repo);
}

/* Opens a directory of the repository, which is made when it is not there. */
static int need_directory(const struct repo *repo, const char *name)
{
    int fd = repo_open_directory(repo->root, name);

    if (fd < 0 && errno == ENOENT && (!mkdirat(repo->root, name, 0777) || errno == EEXIST)) {
        fsync(repo->root);
        fd = repo_open_directory(repo->root, name);
    }
    return fd;
}

/* The cache is not part of what is shared: git is to leave it out. */
static void open_cache(struct repo *repo)
{
    int fd;

    repo->cache = need_directory(repo, "cache");
    fd = repo->cache < 0
             ? -1
             : openat(repo->cache, ".gitignore", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0)
        return;
    if (write(fd, "*\n", 2) != 2)
        unlinkat(repo->cache, ".gitignore", 0);
    close(fd);
}

/* Git keeps no empty directories: one that is not there, and cannot be made, is empty. */
static bool is_missing(const struct repo *repo, const char *name)
{
    return repo->root >= 0 && faccessat(repo->root, name, F_OK, AT_SYMLINK_NOFOLLOW) &&
           errno == ENOENT;
}

static enum psnap_status open_parts(struct repo *repo, struct psnap_error *error)
{
    repo->objects = need_directory(repo, "objects");
    if (repo->objects < 0 && !is_missing(repo, "objects"))
        return repo_fail(repo, "open", "objects", error);
    repo->dictionaries = need_directory(repo, "dictionaries");
    if (repo->dictionaries < 0 && !is_missing(repo, "dictionaries"))
        return repo_fail(repo, "open", "dictionaries", error);
    open_cache(repo);
    return PSNAP_OK;
}

static const char *const parts[] = {"objects", "dictionaries", "cache", ".", ".."};

enum { DIRECTORIES = 3 }; /* of these */

static bool is_empty_but_for_parts(int root)
{
    const int fd = dup(root);
    DIR *directory = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *entry;
    bool is_empty = directory != NULL;

    if (!directory)
        close_fd(fd);
    while (is_empty && (entry = readdir(directory))) {
        is_empty = false;
        for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
            is_empty = is_empty || !strcmp(entry->d_name, parts[i]);
    }
    if (directory)
        closedir(directory);
    return is_empty;
}

/* Makes all parts, or none. The format file comes last: without it there is no repository yet. */
static enum psnap_status make_parts(struct repo *repo, struct psnap_error *error)
{
    bool was_there[DIRECTORIES];
    enum psnap_status status;

    for (int i = 0; i < DIRECTORIES; i++)
        was_there[i] = !is_missing(repo, parts[i]);
    status = open_parts(repo, error);
    if (!status && repo->cache < 0)
        status = repo_fail(repo, "create", "cache", error);
    if (!status)
        status = repo_write_format(repo, error);
    if (status && repo->cache >= 0 && !was_there[DIRECTORIES - 1])
        unlinkat(repo->cache, ".gitignore", 0);
    for (int i = 0; i < DIRECTORIES && status; i++)
        if (!was_there[i])
            unlinkat(repo->root, parts[i], AT_REMOVEDIR);
    return status;
}

enum psnap_status repo_init(const char *path, struct psnap_error *error)
{
    struct repo *repo = repo_new(path);
    enum psnap_status status;
    bool is_new;

    if (!repo)
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    is_new = !mkdir(path, 0777);
    if (!is_new && errno != EEXIST) {
        status = psnap_error_file(error, errno, "create", path);
    } else if ((repo->root = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0) {
        status = psnap_error_file(error, errno, "open", path);
    } else if (find_version(repo->root)) {
        status = psnap_error_set(error, PSNAP_ERROR_EXISTS, "'%s' is a repository already", path);
    } else if (!is_empty_but_for_parts(repo->root)) {
        status = psnap_error_set(error, PSNAP_ERROR_EXISTS, "'%s' is not empty, and no repository",
                                 path);
    } else {
        status = make_parts(repo, error);
    }
    repo_close(repo);
    if (status && is_new)
        rmdir(path);
    return status;
}

static enum psnap_status check_version(struct repo *repo, struct psnap_error *error)
{
    const unsigned version = find_version(repo->root);

    if (!version)
        return psnap_error_set(error, PSNAP_ERROR_VALUE,
                               "'%s' is no repository of profiles: '" FORMAT_FILE
                               "%d' is not in it; 'psnap repo init' makes one",
                               repo->path, REPO_FORMAT_VERSION);
    if (version > REPO_FORMAT_VERSION)
        return psnap_error_set(error, PSNAP_ERROR_VERSION,
                               "'%s' was made by a newer psnap (format %u; this one knows %d)",
                               repo->path, version, REPO_FORMAT_VERSION);
    return PSNAP_OK;
}

struct repo *repo_open(const char *path, struct psnap_error *error)
{
    struct repo *repo = repo_new(path);
    enum psnap_status status;

    if (!repo) {
        psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
        return NULL;
    }
    repo->root = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    repo->real = repo->root < 0 ? NULL : realpath(path, NULL);
    if (!repo->real)
        status = psnap_error_file(error, errno, "open", path);
    else
        status = check_version(repo, error);
    if (!status)
        status = open_parts(repo, error);
    if (!status)
        return repo;
    repo_close(repo);
    return NULL;
}

enum psnap_status repo_lock(struct repo *repo, enum repo_lock_mode mode, struct psnap_error *error)
{
    static const int operations[] = {LOCK_SH, LOCK_EX, LOCK_EX | LOCK_NB};
    int result;

    repo->lock = repo->cache < 0
                     ? -1
                     : openat(repo->cache, "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (repo->lock < 0) {
        if (repo->cache < 0)
            errno = EROFS;
        return repo_fail(repo, "write", "cache/lock", error);
    }
    do
        result = flock(repo->lock, operations[mode]);
    while (result && errno == EINTR);
    if (!result || mode == REPO_SHARED) /* who adds is safe from all but gc, which gets none then */
        return PSNAP_OK;
    return repo_fail(repo, "lock", "cache/lock", error);
}

void repo_unlock(struct repo *repo)
{
    close_fd(repo->lock);
    repo->lock = -1;
}
