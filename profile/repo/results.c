/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * results/xx/ID, where ID is the hash of the key and xx its first two digits:
 *
 *     psnap result 1 SUM
 *     KEY
 *     TEXT
 *
 * SUM is XXH3, 64 bits in hexadecimal digits, of all that follows its line. They can be made again
 * from what they are results of, so that they are not sealed, and one that is damaged is as if it
 * were not there.
 */
#include "profile/repo/results.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_ROOM = 128, HEAD_BYTES = 32 }; /* "psnap result 1 0123456789abcdef\n" */

static void path_of(const char *key, char directory[PATH_ROOM], char path[PATH_ROOM])
{
    char digits[REPO_ID_DIGITS + 1];
    struct repo_id id;

    repo_id_of(key, strlen(key), &id);
    repo_id_text(&id, digits);
    snprintf(directory, PATH_ROOM, "results/%.2s", digits);
    snprintf(path, PATH_ROOM, "results/%.2s/%s", digits, digits);
}

static void head_of(const char *body, size_t size, char head[HEAD_BYTES + 1])
{
    snprintf(head, HEAD_BYTES + 1, "psnap result 1 %016" PRIx64 "\n", repo_sum_of(body, size));
}

/* A whole file whose sum is right, with a NUL behind it; NULL: there is none. */
static char *read_good(int directory, const char *path, size_t *size)
{
    const int fd = openat(directory, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    char head[HEAD_BYTES + 1], *bytes = NULL;
    struct stat about;
    FILE *file;

    if (fd < 0)
        return NULL;
    file = fdopen(fd, "r");
    if (!file) {
        close(fd);
        return NULL;
    }
    if (fstat(fd, &about) == 0 && S_ISREG(about.st_mode) && about.st_size > HEAD_BYTES)
        bytes = malloc((size_t)about.st_size + 1);
    *size = bytes ? fread(bytes, 1, (size_t)about.st_size, file) : 0;
    fclose(file);
    if (*size > HEAD_BYTES) {
        bytes[*size] = '\0';
        head_of(bytes + HEAD_BYTES, *size - HEAD_BYTES, head);
        if (!memcmp(bytes, head, HEAD_BYTES))
            return bytes;
    }
    free(bytes);
    return NULL;
}

char *results_read(const struct repo *repo, const char *key)
{
    char directory[PATH_ROOM], path[PATH_ROOM], *bytes;
    const size_t length = strlen(key);
    size_t size = 0;

    path_of(key, directory, path);
    bytes = read_good(repo->root, path, &size);
    if (!bytes)
        return NULL;
    if (size > HEAD_BYTES + length && !memcmp(bytes + HEAD_BYTES, key, length) &&
        bytes[HEAD_BYTES + length] == '\n') {
        memmove(bytes, bytes + HEAD_BYTES + length + 1, size - HEAD_BYTES - length);
        return bytes;
    }
    free(bytes);
    return NULL;
}

/* Head and body to a file that is not there yet; false: errno says why. */
static bool write_new(int root, const char *name, const char *head, const char *body)
{
    const int fd = openat(root, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
    bool fits = file != NULL;

    if (!file && fd >= 0)
        close(fd);
    if (!file)
        return false;
    fits = fputs(head, file) >= 0 && fputs(body, file) >= 0 && fflush(file) == 0 && fsync(fd) == 0;
    return fclose(file) == 0 && fits;
}

enum psnap_status results_write(const struct repo *repo, const char *key, const char *text,
                                struct psnap_error *error)
{
    char directory[PATH_ROOM], path[PATH_ROOM], temporary[PATH_ROOM], head[HEAD_BYTES + 1];
    char *body = NULL;
    bool fits;

    path_of(key, directory, path);
    if (asprintf(&body, "%s\n%s", key, text) < 0)
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for a result");
    head_of(body, strlen(body), head);
    snprintf(temporary, sizeof temporary, "results/tmp-%ld", (long)getpid());
    mkdirat(repo->root, "results", 0777); /* they may be there; else writing fails */
    mkdirat(repo->root, directory, 0777);
    unlinkat(repo->root, temporary, 0); /* of a process that died */
    fits = write_new(repo->root, temporary, head, body) &&
           renameat(repo->root, temporary, repo->root, path) == 0;
    free(body);
    if (fits)
        return PSNAP_OK;
    psnap_error_file(error, errno, "write", path);
    unlinkat(repo->root, temporary, 0);
    return error->code;
}

static void verify_directory(const struct repo *repo, const char *name,
                             void (*tell)(void *context, const char *path), void *context)
{
    const int fd = openat(repo->root, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *directory = fd < 0 ? NULL : fdopendir(fd);
    struct dirent *entry;

    if (!directory && fd >= 0)
        close(fd);
    while (directory && (entry = readdir(directory))) {
        char path[PATH_ROOM + sizeof entry->d_name];
        size_t size;
        char *bytes;
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "%s/%s", name, entry->d_name);
        bytes = read_good(repo->root, path, &size);
        if (!bytes)
            tell(context, path);
        free(bytes);
    }
    if (directory)
        closedir(directory);
}

void results_verify(const struct repo *repo, void (*tell)(void *context, const char *path),
                    void *context)
{
    char name[PATH_ROOM];

    for (unsigned i = 0; i < 256; i++) {
        snprintf(name, sizeof name, "results/%02x", i);
        verify_directory(repo, name, tell, context);
    }
}
