/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * results/ID, where ID is the hash of the key:
 *
 *     psnap result 1 SUM
 *     KEY
 *     TEXT
 *
 * SUM is XXH3, 64 bits in hexadecimal digits, of all that follows its line. KEY is
 * "MAKER|profile|INPUT|REST", or with "trace". They can be made again from what they are results
 * of, so that they are not sealed, and one that is damaged is as if it were not there.
 *
 * All lie in one directory: file systems find a name among a million without reading the others,
 * and only verify and gc list them, which read each file anyway.
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

#include "profile/repo/store_files.h"

enum { RESULT_BYTES_MAX = 64 << 20 };
enum { HEAD_BYTES = 32 }; /* "psnap result 1 0123456789abcdef\n" */

char *results_key(const struct result_key *key, const char *rest)
{
    char input[REPO_ID_DIGITS + 1], *text;

    if (asprintf(&text, "%s|%s|%s|%s", key->maker, key->is_profile ? "profile" : "trace",
                 repo_id_text(&key->input, input), rest) < 0)
        return NULL;
    for (char *at = text; *at; at++)
        if (*at == '\n')
            *at = ' ';
    return text;
}

/* False: it is no key. */
static bool read_key(const char *text, struct result_key *key)
{
    const size_t maker = strcspn(text, "|");
    char input[REPO_ID_DIGITS + 1];

    if (maker >= sizeof key->maker || !text[maker])
        return false;
    snprintf(key->maker, sizeof key->maker, "%.*s", (int)maker, text);
    text += maker + 1;
    key->is_profile = !strncmp(text, "profile|", 8);
    if (!key->is_profile && strncmp(text, "trace|", 6) != 0)
        return false;
    snprintf(input, sizeof input, "%s", text + (key->is_profile ? 8 : 6));
    return repo_id_parse(input, &key->input);
}

static void name_of(const char *key, char name[REPO_ID_DIGITS + 1])
{
    struct repo_id id;

    repo_id_of(key, strlen(key), &id);
    repo_id_text(&id, name);
}

static void head_of(const void *body, size_t size, char head[HEAD_BYTES + 1])
{
    snprintf(head, HEAD_BYTES + 1, "psnap result 1 %016" PRIx64 "\n", repo_sum_of(body, size));
}

/* A whole file whose sum is right, with a NUL behind it; NULL: there is none. */
static char *read_good(int directory, const char *name, size_t *size)
{
    const int fd = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    char head[HEAD_BYTES + 1], *bytes = NULL;
    struct stat about;
    FILE *file = fd < 0 ? NULL : fdopen(fd, "r");

    if (!file && fd >= 0)
        close(fd);
    if (!file)
        return NULL;
    if (fstat(fd, &about) == 0 && S_ISREG(about.st_mode) && about.st_size > HEAD_BYTES &&
        about.st_size <= RESULT_BYTES_MAX)
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
    const int directory = repo_open_directory(repo->root, "results");
    char name[REPO_ID_DIGITS + 1], *bytes;
    const size_t length = strlen(key);
    size_t size = 0;

    if (directory < 0)
        return NULL;
    name_of(key, name);
    bytes = read_good(directory, name, &size);
    close(directory);
    if (bytes && size > HEAD_BYTES + length && !memcmp(bytes + HEAD_BYTES, key, length) &&
        bytes[HEAD_BYTES + length] == '\n') {
        memmove(bytes, bytes + HEAD_BYTES + length + 1, size - HEAD_BYTES - length);
        return bytes;
    }
    free(bytes);
    return NULL;
}

enum psnap_status results_write(struct repo *repo, const char *key, const char *text,
                                struct psnap_error *error)
{
    char name[REPO_ID_DIGITS + 1], head[HEAD_BYTES + 1];
    struct repo_bytes body = {0}, file = {0};
    int directory;
    enum psnap_status status;

    if (!mkdirat(repo->root, "results", 0777)) /* it may be there; else opening fails */
        fsync(repo->root);
    directory = repo_open_directory(repo->root, "results");
    if (directory < 0)
        return repo_fail(repo, "write", "results", error);
    name_of(key, name);
    repo_bytes_add(&body, key, strlen(key));
    repo_bytes_add(&body, "\n", 1);
    repo_bytes_add(&body, text, strlen(text));
    head_of(body.data, body.size, head);
    repo_bytes_add(&file, head, HEAD_BYTES);
    repo_bytes_add(&file, body.data, body.size);
    status = body.is_short || file.is_short
                 ? psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for a result")
                 : repo_commit_at(repo, directory, name, file.data, file.size, "results", error);
    close(directory);
    repo_bytes_release(&body);
    repo_bytes_release(&file);
    return status;
}

/* Whether this is the name of the body's key, which is cut off for it. */
static bool has_name(char *body, const char *name)
{
    char wanted[REPO_ID_DIGITS + 1];

    body[strcspn(body, "\n")] = '\0';
    name_of(body, wanted);
    return !strcmp(name, wanted);
}

void results_verify(const struct repo *repo,
                    bool (*is_stale)(void *context, const struct result_key *key),
                    void (*tell)(void *context, const char *path), void *context)
{
    const int fd = repo_open_directory(repo->root, "results");
    DIR *directory = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *entry;

    if (!directory && fd >= 0)
        close(fd);
    while (directory && (entry = readdir(directory))) {
        char path[16 + sizeof entry->d_name];
        struct result_key key;
        size_t size;
        char *bytes;
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "results/%s", entry->d_name);
        bytes = read_good(fd, entry->d_name, &size);
        if (!bytes || !has_name(bytes + HEAD_BYTES, entry->d_name) ||
            !read_key(bytes + HEAD_BYTES, &key) || (is_stale && is_stale(context, &key)))
            tell(context, path);
        free(bytes);
    }
    if (directory)
        closedir(directory);
}
