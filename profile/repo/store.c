/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The archive as a directory: files are named by their paths from its root, read whole, and written
 * so that they appear whole or not at all: in cache/, then renamed. No link is followed to a folder
 * that is written in.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

#include "formats/base/room.h"
#include "profile/repo/repo.h"

#define DIGITS "0123456789abcdef"

/* ----------------------------------------------------------------------------- names */

void repo_id_of(const void *bytes, size_t size, struct repo_id *id)
{
    const XXH128_hash_t hash = XXH3_128bits(bytes, size);

    snprintf(id->text, sizeof id->text, "%016" PRIx64 "%016" PRIx64, (uint64_t)hash.high64,
             (uint64_t)hash.low64);
}

bool repo_id_parse(const char *text, const char *end, struct repo_id *id)
{
    snprintf(id->text, sizeof id->text, "%s", text);
    return strspn(id->text, DIGITS) == REPO_ID_DIGITS && !strcmp(text + REPO_ID_DIGITS, end);
}

bool repo_is_tag(const char *text)
{
    const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.:=+@";
    const size_t length = strlen(text);

    return isalnum((unsigned char)*text) && length <= REPO_TAG_BYTES &&
           strspn(text, letters) == length;
}

bool repo_next_tag(const char **tags, char tag[REPO_TAG_BYTES + 1])
{
    const size_t length = strcspn(*tags, " ");

    snprintf(tag, REPO_TAG_BYTES + 1, "%.*s", (int)length, *tags);
    *tags += length + ((*tags)[length] == ' ');
    return length > 0;
}

const char *store_path(const struct repo_id *id, const char *tag, char path[REPO_PATH])
{
    snprintf(path, REPO_PATH, "objects/%.2s/%s" REPO_PROFILE "%s%s", id->text, id->text + 2,
             *tag ? "+" : "", tag);
    return path;
}

const char *store_parse(const char *path, struct repo_id *id)
{
    int length = 0;

    sscanf(path, "objects/%2[0-9a-f]/%30[0-9a-f]" REPO_PROFILE "%n", id->text, id->text + 2,
           &length);
    if (!length || strlen(id->text) != REPO_ID_DIGITS)
        return NULL;
    path += length;
    return !*path ? path : *path == '+' && repo_is_tag(path + 1) ? path + 1 : NULL;
}

enum psnap_status repo_fail(const struct repo *repo, const char *verb, const char *name,
                            struct psnap_error *error)
{
    const int reason = errno;
    char path[512];

    snprintf(path, sizeof path, "%.300s/%s", repo->path, name);
    return psnap_error_file(error, reason, verb, path);
}

/* ----------------------------------------------------------------------------- files */

/* errno stays what it is: there is nothing that closing could not write. */
static void close_fd(int fd)
{
    const int reason = errno;

    if (fd >= 0)
        close(fd);
    errno = reason;
}

/* Opens the folder of a path, made if asked for; -1 with errno. *name is what the file is called in
 * it. */
static int open_folder(const struct repo *repo, const char *path, bool makes, const char **name)
{
    const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    int folder = openat(repo->root, ".", flags), parent;
    const char *slash;
    char part[REPO_PATH];

    for (; folder >= 0 && (slash = strchr(path, '/')); path = slash + 1) {
        snprintf(part, sizeof part, "%.*s", (int)(slash - path), path);
        parent = folder;
        folder = openat(parent, part, flags);
        if (folder < 0 && errno == ENOENT && makes &&
            (!mkdirat(parent, part, 0777) || errno == EEXIST)) {
            fsync(parent);
            folder = openat(parent, part, flags);
        }
        close_fd(parent);
    }
    *name = path;
    return folder;
}

/* ----------------------------------------------------------------------------- lists */

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static bool add_name(struct repo_names *names, char *name)
{
    if (!name ||
        !psnap_make_room(&names->items, &names->room, names->count + 1, sizeof *names->items)) {
        free(name);
        return false;
    }
    names->items[names->count++] = name;
    return true;
}

/* Tells whether an entry of objects/ or of another folder is a folder, or should be one. */
static bool is_folder(int folder, const char *path, const struct dirent *entry)
{
    struct stat about;

    if (!strcmp(path, "objects") && strspn(entry->d_name, DIGITS) == 2 && !entry->d_name[2])
        return true;
    if (entry->d_type != DT_UNKNOWN)
        return entry->d_type == DT_DIR;
    return !fstatat(folder, entry->d_name, &about, AT_SYMLINK_NOFOLLOW) && S_ISDIR(about.st_mode);
}

enum psnap_status store_list(const struct repo *repo, const char *path, struct repo_names *names,
                             struct psnap_error *error)
{
    enum psnap_status status = PSNAP_OK;
    char inside[REPO_PATH + 2], *child;
    struct dirent **entries = NULL;
    int folder, count;

    snprintf(inside, sizeof inside, "%s/", path);
    folder = open_folder(repo, inside, false, &(const char *){NULL});
    if (folder < 0 && errno == ENOENT && !strchr(path, '/'))
        return PSNAP_OK;
    count = folder < 0 ? -1 : scandirat(folder, ".", &entries, NULL, by_name);
    if (count < 0)
        status = repo_fail(repo, "list", path, error);
    for (int i = 0; i < count; i++) {
        if (entries[i]->d_name[0] != '.') {
            if (asprintf(&child, "%s/%s", path, entries[i]->d_name) < 0)
                child = NULL;
            if (child && is_folder(folder, path, entries[i])) {
                const enum psnap_status of_child = store_list(repo, child, names, error);
                status = of_child ? of_child : status;
                free(child);
            } else if (!add_name(names, child)) {
                status = psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
            }
        }
        free(entries[i]);
    }
    free(entries);
    close_fd(folder);
    return status;
}

void store_list_release(struct repo_names *names)
{
    while (names->count)
        free(names->items[--names->count]);
    free(names->items);
}

/* ------------------------------------------------------------------- reading and writing */

bool store_read_open(int fd, size_t limit, struct repo_bytes *bytes)
{
    size_t room = 0;
    ssize_t n = 1;

    *bytes = (struct repo_bytes){NULL, 0};
    while (n > 0 && bytes->size <= limit) {
        if (!psnap_make_room(&bytes->data, &room, bytes->size + (1 << 15), 1)) {
            errno = ENOMEM;
            return false;
        }
        n = read(fd, bytes->data + bytes->size, room - bytes->size - 1);
        bytes->size += n > 0 ? (size_t)n : 0;
        bytes->data[bytes->size] = '\0';
    }
    return n >= 0;
}

bool store_read(const struct repo *repo, const char *path, struct repo_bytes *bytes)
{
    const int fd = openat(repo->root, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    const bool is_good = fd >= 0 && store_read_open(fd, REPO_PROFILE_MAX, bytes);

    close_fd(fd);
    return is_good;
}

bool store_write_new(const struct repo *repo, const char *path, const struct repo_bytes *bytes,
                     bool flushes)
{
    const char *name;
    const int folder = open_folder(repo, path, true, &name),
              fd = folder < 0 ? -1
                              : openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    bool is_good = fd >= 0;

    for (size_t written = 0; is_good && written < bytes->size;) {
        const ssize_t n = write(fd, bytes->data + written, bytes->size - written);
        is_good = n >= 0;
        written += (size_t)n;
    }
    is_good = is_good && (!flushes || !fsync(fd));
    is_good = is_good && (!flushes || !fsync(folder));
    close_fd(fd);
    close_fd(folder);
    return is_good;
}

bool store_temporary(const struct repo *repo, const struct repo_bytes *bytes, bool flushes,
                     char path[REPO_PATH])
{
    uint64_t number;

    if (getrandom(&number, sizeof number, 0) < 0)
        return false;
    snprintf(path, REPO_PATH, "cache/tmp-%016" PRIx64, number);
    return store_write_new(repo, path, bytes, flushes);
}

int store_place(const struct repo *repo, const char *temporary, const char *path, bool replaces,
                bool flushes)
{
    const char *name;
    const int folder = open_folder(repo, path, true, &name);
    bool is_good;

    if (folder < 0)
        return errno;
    is_good = !renameat2(repo->root, temporary, folder, name, replaces ? 0 : RENAME_NOREPLACE) ||
              (errno == EINVAL && /* on a network file system */
               !linkat(repo->root, temporary, folder, name, 0));
    is_good = is_good && (!flushes || !fsync(folder));
    close_fd(folder);
    return is_good ? 0 : errno;
}

enum psnap_status store_write(const struct repo *repo, const char *path,
                              const struct repo_bytes *bytes, struct psnap_error *error)
{
    char temporary[REPO_PATH];

    if (store_temporary(repo, bytes, true, temporary) &&
        !(errno = store_place(repo, temporary, path, true, true)))
        return PSNAP_OK;
    repo_fail(repo, "write", path, error);
    unlinkat(repo->root, temporary, 0);
    return PSNAP_ERROR_IO;
}

/* --------------------------------------------------------------------- what is removed */

enum psnap_status repo_gc(const struct repo *repo, uint64_t *removed, struct psnap_error *error)
{
    struct repo_names names = {NULL};
    struct repo_id id, profile = {""};
    enum psnap_status status = store_list(repo, "objects", &names, error);

    if (!status)
        status = store_list(repo, "cache", &names, error);
    for (size_t i = 0; i < names.count && !status; i++) {
        const char *path = names.items[i], *tag = store_parse(path, &id);
        struct stat about;
        if (tag && !*tag)
            profile = id;
        if ((tag && !strcmp(id.text, profile.text)) || !strncmp(path, "cache/index", 11) ||
            fstatat(repo->root, path, &about, AT_SYMLINK_NOFOLLOW) ||
            about.st_mtim.tv_sec >= time(NULL) - 24 * 60 * 60)
            continue;
        if (unlinkat(repo->root, path, 0))
            status = repo_fail(repo, "remove", path, error);
        *removed += !status;
    }
    store_list_release(&names);
    return status;
}
