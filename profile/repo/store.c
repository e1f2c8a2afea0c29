/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The archive as a directory: names of files, reading them whole, and writing them so that they
 * appear whole or not at all: in cache/, then renamed.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

#include "formats/base/room.h"
#include "profile/repo/repo.h"

void repo_id_of(const void *bytes, size_t size, struct repo_id *id)
{
    const XXH128_hash_t hash = XXH3_128bits(bytes, size);

    snprintf(id->text, sizeof id->text, "%016" PRIx64 "%016" PRIx64, (uint64_t)hash.high64,
             (uint64_t)hash.low64);
}

bool repo_id_parse(const char *text, const char *end, struct repo_id *id)
{
    snprintf(id->text, sizeof id->text, "%s", text);
    return strspn(id->text, "0123456789abcdef") == REPO_ID_DIGITS &&
           !strcmp(text + REPO_ID_DIGITS, end);
}

enum psnap_status repo_fail(const struct repo *repo, const char *verb, const char *name,
                            struct psnap_error *error)
{
    const int reason = errno;
    char path[512];

    snprintf(path, sizeof path, "%.300s/%s", repo->path, name);
    return psnap_error_file(error, reason, verb, path);
}

/* --------------------------------------------------------------------------- folders */

static void close_fd(int fd)
{
    if (fd >= 0)
        close(fd);
}

int store_folder(int parent, const char *name, bool makes)
{
    const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    const int folder = openat(parent, name, flags);

    if (folder >= 0 || errno != ENOENT || !makes ||
        (mkdirat(parent, name, 0777) && errno != EEXIST))
        return folder;
    return openat(parent, name, flags);
}

bool store_walk(int parent, const char *name,
                void (*take)(void *context, int folder, const char *name, const char *file),
                void *context)
{
    const int folder = store_folder(parent, name, false);
    DIR *directory = folder < 0 ? NULL : fdopendir(folder);
    const struct dirent *entry;

    if (!directory)
        return errno == ENOENT;
    while (errno = 0, (entry = readdir(directory)))
        if (entry->d_name[0] != '.')
            take(context, folder, name, entry->d_name);
    closedir(directory);
    return !errno;
}

/* ----------------------------------------------------------------------------- files */

bool store_read_open(int fd, size_t limit, struct repo_bytes *bytes)
{
    size_t room = 0;
    ssize_t n = 1;

    *bytes = (struct repo_bytes){NULL, 0};
    while (n && bytes->size <= limit) {
        if (room < bytes->size + 2 && !psnap_make_room(&bytes->data, &room, room + (1 << 15), 1)) {
            errno = ENOMEM;
            return false;
        }
        n = read(fd, bytes->data + bytes->size, room - bytes->size - 1);
        if (n < 0 && errno != EINTR)
            return false;
        bytes->size += n > 0 ? (size_t)n : 0;
        bytes->data[bytes->size] = '\0';
    }
    return true;
}

bool store_read(int folder, const char *name, struct repo_bytes *bytes)
{
    const int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    const bool is_good = fd >= 0 && store_read_open(fd, REPO_FILE_MAX, bytes);
    const int reason = errno;

    close_fd(fd);
    errno = reason;
    return is_good;
}

static bool write_all(int fd, const struct repo_bytes *bytes, bool flushes)
{
    for (size_t written = 0; written < bytes->size;) {
        const ssize_t n = write(fd, bytes->data + written, bytes->size - written);
        if (n < 0 && errno != EINTR)
            return false;
        written += n > 0 ? (size_t)n : 0;
    }
    return !flushes || !fsync(fd);
}

/* A new file, whole or not at all unless the process dies. */
static bool write_new(int folder, const char *name, const struct repo_bytes *bytes, bool flushes)
{
    const int fd = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    const bool is_good = fd >= 0 && write_all(fd, bytes, flushes);
    const int reason = errno;

    close_fd(fd);
    if (fd >= 0 && !is_good)
        unlinkat(folder, name, 0);
    errno = reason;
    return is_good;
}

enum psnap_status store_prepare(struct repo *repo, struct psnap_error *error)
{
    static char all[] = "*\n"; /* git is to leave the cache out */

    if (repo->objects < 0)
        repo->objects = store_folder(repo->root, "objects", true);
    if (repo->objects < 0)
        return repo_fail(repo, "write", "objects", error);
    if (repo->cache < 0)
        repo->cache = store_folder(repo->root, "cache", true);
    if (repo->cache < 0)
        return repo_fail(repo, "write", "cache", error);
    write_new(repo->cache, ".gitignore", &(struct repo_bytes){all, sizeof all - 1}, false);
    return PSNAP_OK;
}

enum psnap_status store_temporary(const struct repo *repo, const struct repo_bytes *bytes,
                                  bool flushes, char name[REPO_NAME], struct psnap_error *error)
{
    uint64_t number;

    if (getrandom(&number, sizeof number, 0) < 0)
        return repo_fail(repo, "write", "cache", error);
    snprintf(name, REPO_NAME, "tmp-%016" PRIx64, number);
    return write_new(repo->cache, name, bytes, flushes) ? PSNAP_OK
                                                        : repo_fail(repo, "write", "cache", error);
}

int store_place(const struct repo *repo, const char *temporary, int folder, const char *name,
                bool replaces)
{
    if (!renameat2(repo->cache, temporary, folder, name, replaces ? 0 : RENAME_NOREPLACE))
        return 0;
    if (errno != EINVAL && errno != ENOSYS)
        return errno;
    if (!faccessat(folder, name, F_OK, AT_SYMLINK_NOFOLLOW)) /* on a network file system */
        return EEXIST;
    return renameat(repo->cache, temporary, folder, name) ? errno : 0;
}

enum psnap_status store_write(const struct repo *repo, int folder, const char *name,
                              const struct repo_bytes *bytes, struct psnap_error *error)
{
    char temporary[REPO_NAME];
    enum psnap_status status = store_temporary(repo, bytes, true, temporary, error);

    if (status)
        return status;
    errno = store_place(repo, temporary, folder, name, true);
    if (!errno && !fsync(folder))
        return PSNAP_OK;
    status = repo_fail(repo, "write", name, error);
    unlinkat(repo->cache, temporary, 0);
    return status;
}

/* ------------------------------------------------------------------------- the whole */

/* The version of its layout; 0: it is no archive. */
static unsigned find_version(int root)
{
    unsigned version = 99;
    char name[32];

    do
        snprintf(name, sizeof name, "psnap-repo-%u", version);
    while (faccessat(root, name, F_OK, AT_SYMLINK_NOFOLLOW) && --version);
    return version;
}

bool repo_is_there(const char *path)
{
    const int root = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK);
    const bool is_there = root >= 0 && find_version(root);

    close_fd(root);
    return is_there;
}

static void take_any(void *context, int folder, const char *name, const char *file)
{
    (void)folder, (void)name, (void)file;
    *(bool *)context = true;
}

enum psnap_status repo_init(const char *path, struct psnap_error *error)
{
    static char text[] = REPO_FORMAT_TEXT;
    const bool is_new = !mkdir(path, 0777);
    const int root = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    enum psnap_status status = PSNAP_OK;
    bool is_full = false;

    if (root < 0)
        status = psnap_error_file(error, errno, "create", path);
    else if (find_version(root))
        status = psnap_error_set(error, PSNAP_ERROR_EXISTS, "'%s' is a repository already", path);
    else if (!store_walk(root, ".", take_any, &is_full) || is_full)
        status = psnap_error_set(error, PSNAP_ERROR_EXISTS, "'%s' is not empty, and no repository",
                                 path);
    else if (!write_new(root, REPO_FORMAT, &(struct repo_bytes){text, sizeof text - 1}, true) ||
             fsync(root))
        status = psnap_error_file(error, errno, "write", path);
    if (status && is_new)
        rmdir(path);
    close_fd(root);
    return status;
}

struct repo *store_open(const char *path, struct psnap_error *error)
{
    struct repo *repo = calloc(1, sizeof *repo);
    unsigned version;

    if (!repo) {
        psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
        return NULL;
    }
    repo->objects = repo->cache = -1;
    repo->path = strdup(path);
    repo->root = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    version = repo->root < 0 ? 0 : find_version(repo->root);
    if (!repo->path || repo->root < 0) {
        psnap_error_file(error, errno, "open", path);
    } else if (!version) {
        psnap_error_set(error, PSNAP_ERROR_VALUE,
                        "'%s' is no repository of profiles: '" REPO_FORMAT
                        "' is not in it; 'psnap repo init' makes one",
                        path);
    } else if (version != 2) {
        psnap_error_set(error, PSNAP_ERROR_VERSION,
                        "'%s' has the layout of %s (format %u; this one reads 2)", path,
                        version < 2 ? "a psnap that was never released" : "a newer psnap", version);
    } else {
        repo->objects = store_folder(repo->root, "objects", false);
        repo->cache = store_folder(repo->root, "cache", false);
        return repo;
    }
    store_close(repo);
    return NULL;
}

void store_close(struct repo *repo)
{
    close_fd(repo->cache);
    close_fd(repo->objects);
    close_fd(repo->root);
    free(repo->path);
    free(repo);
}

struct old {
    time_t before;
    uint64_t removed;
    int reason; /* why one could not be removed */
};

static void remove_old(void *context, int folder, const char *name, const char *file)
{
    struct old *old = context;
    struct stat about;

    (void)name;
    if (strncmp(file, "tmp-", 4) != 0 || fstatat(folder, file, &about, AT_SYMLINK_NOFOLLOW) ||
        about.st_mtim.tv_sec >= old->before)
        return;
    if (!unlinkat(folder, file, 0))
        old->removed++;
    else
        old->reason = errno;
}

enum psnap_status store_remove_old(const struct repo *repo, uint64_t *removed,
                                   struct psnap_error *error)
{
    struct old old = {.before = time(NULL) - 24 * 60 * 60};
    const bool is_read = store_walk(repo->root, "cache", remove_old, &old);

    *removed = old.removed;
    errno = is_read ? old.reason : errno;
    return is_read && !old.reason ? PSNAP_OK : repo_fail(repo, "write", "cache", error);
}
