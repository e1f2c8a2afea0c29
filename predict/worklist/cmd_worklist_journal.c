/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A record of a journal: "item BYTES TIME HASH KEY", the item's rows, "end". It is written at once
 * and synced before the item counts as done; what follows the last whole record is cut off before
 * more is written.
 */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "predict/worklist/cmd_worklist.h"

#define ROWS_MAX (UINT64_C(1) << 30)

struct journal {
    char *name, *pattern; /* of this rank, and of all */
    FILE *file;
};

static char *pattern_of(const char *target)
{
    char *pattern = malloc(2 * strlen(target) + 8), *to = pattern;

    for (; pattern && *target; target++) {
        if (strchr("*?[]\\", *target))
            *to++ = '\\';
        *to++ = *target;
    }
    if (pattern)
        strcpy(to, ".part-*");
    return pattern;
}

/* Whether an item's input is as it was, by its time or else by its content. */
static bool is_same_input(struct worklist *list, const struct item *item, const char *time,
                          const char *hash)
{
    struct psnap_error error;

    return !strcmp(list->files[item->file].time, time) ||
           !strcmp(worklist_hash(list, item, &error), hash);
}

/* The item of a record's "TIME HASH KEY", which is not done; NULL: there is none. */
static struct item *item_of(struct worklist *list, char *record)
{
    char *hash = strchr(record, ' '), *key = hash ? strchr(hash + 1, ' ') : NULL;

    if (!key)
        return NULL;
    *hash++ = *key++ = '\0';
    for (size_t i = 0; i < list->count; i++)
        if (!list->items[i].rows && !strcmp(list->items[i].key, key) &&
            is_same_input(list, &list->items[i], record, hash))
            return &list->items[i];
    return NULL;
}

/* The next whole record, at whose end the file is then; false: there is none. *rows is the
 * caller's. */
static bool read_record(FILE *file, char **key, size_t *room, char **rows)
{
    char tail[4] = "", *at;
    uint64_t bytes;
    ssize_t length = getline(key, room, file);

    *rows = NULL;
    if (length < 8 || strncmp(*key, "item ", 5) != 0 || (*key)[length - 1] != '\n')
        return false;
    (*key)[length - 1] = '\0';
    bytes = strtoull(*key + 5, &at, 10);
    if (*at != ' ' || bytes > ROWS_MAX)
        return false;
    *rows = malloc(bytes + 1);
    if (!*rows || fread(*rows, 1, bytes, file) != bytes || fread(tail, 1, 4, file) != 4 ||
        memcmp(tail, "end\n", 4) != 0) {
        free(*rows);
        *rows = NULL;
        return false;
    }
    (*rows)[bytes] = '\0';
    memmove(*key, at + 1, strlen(at + 1) + 1);
    return true;
}

/* Takes the results of a file; returns where its last whole record ends. */
static long take(FILE *file, struct worklist *list)
{
    char *key = NULL, *rows;
    size_t room = 0;
    long end = 0;

    if (fseek(file, 0, SEEK_SET) != 0)
        return 0;
    while (read_record(file, &key, &room, &rows)) {
        struct item *item = item_of(list, key);
        end = ftell(file);
        if (item)
            item->rows = rows;
        else
            free(rows);
    }
    free(key);
    return end;
}

enum psnap_status journal_update(struct journal *journal, struct worklist *list,
                                 struct psnap_error *error)
{
    glob_t found;
    const int status = glob(journal->pattern, 0, NULL, &found);

    if (status == GLOB_NOMATCH)
        return PSNAP_OK;
    if (status)
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "cannot look for journals");
    for (size_t i = 0; i < found.gl_pathc; i++) {
        FILE *file = fopen(found.gl_pathv[i], "re");
        if (!file) /* it may be gone by now */
            continue;
        take(file, list);
        fclose(file);
    }
    globfree(&found);
    return PSNAP_OK;
}

struct journal *journal_open(const char *target, struct worklist *list, struct psnap_error *error)
{
    struct journal *journal = calloc(1, sizeof *journal);
    int fd = -1;

    if (!journal || asprintf(&journal->name, "%s.part-%" PRIu32, target, list->rank) < 0 ||
        !(journal->pattern = pattern_of(target))) {
        psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
        journal_close(journal, false);
        return NULL;
    }
    fd = open(journal->name, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (fd >= 0)
        journal->file = fdopen(fd, "r+");
    if (!journal->file) {
        psnap_error_file(error, errno, "open", journal->name);
        journal_close(journal, false);
        return NULL;
    }
    if (flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        psnap_error_set(error, PSNAP_ERROR_IO,
                        "another 'psnap sweep' of this rank is at work on it");
        psnap_error_at(error, journal->name, 0, 0);
        journal_close(journal, false);
        return NULL;
    }
    const long end = take(journal->file, list);
    if (ftruncate(fd, end) != 0 || fseek(journal->file, end, SEEK_SET) != 0) {
        psnap_error_file(error, errno, "write", journal->name);
        journal_close(journal, false);
        return NULL;
    }
    if (journal_update(journal, list, error)) {
        journal_close(journal, false);
        return NULL;
    }
    return journal;
}

enum psnap_status journal_add(struct journal *journal, struct worklist *list,
                              const struct item *item, struct psnap_error *error)
{
    const char *hash = worklist_hash(list, item, error);

    if (!*hash)
        return error->code;
    fprintf(journal->file, "item %zu %s %s %s\n%send\n", strlen(item->rows),
            list->files[item->file].time, hash, item->key, item->rows);
    if (fflush(journal->file) != 0 || fsync(fileno(journal->file)) != 0)
        return psnap_error_file(error, errno, "write", journal->name);
    return PSNAP_OK;
}

void journal_close(struct journal *journal, bool all_done)
{
    glob_t found;

    if (!journal)
        return;
    if (journal->file)
        fclose(journal->file);
    if (all_done && glob(journal->pattern, 0, NULL, &found) == 0) {
        for (size_t i = 0; i < found.gl_pathc; i++)
            unlink(found.gl_pathv[i]);
        globfree(&found);
    }
    free(journal->name);
    free(journal->pattern);
    free(journal);
}
