/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A record of a journal: "item BYTES SUMS TIME HASH KEY", the item's rows, "end"; SUMS are XXH3, 64
 * bits each, of "TIME HASH KEY" and of the rows. It is written at once and synced before the item
 * counts as done; what a crash has cut off at the end goes before more is written. A record whose
 * sums are others is named, and its item is done anew.
 */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "predict/worklist/cmd_worklist.h"
#include "profile/repo/cmd_repo.h"

#define ROWS_MAX (UINT64_C(1) << 30)

enum { SUMS = 32 }; /* hexadecimal digits */

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

enum found { FOUND_NONE, FOUND_GOOD, FOUND_DAMAGED };

static void sums_of(const char *key, const char *rows, uint64_t bytes, char sums[SUMS + 1])
{
    snprintf(sums, SUMS + 1, "%016" PRIx64 "%016" PRIx64, repo_sum_of(key, strlen(key)),
             repo_sum_of(rows, bytes));
}

/* Goes on behind the next "end"; false: there is none. */
static bool skip_record(FILE *file, char **line, size_t *room)
{
    while (getline(line, room, file) > 0)
        if (!strcmp(*line, "end\n"))
            return true;
    return false;
}

/* The rows of a record that goes on at `at` behind "item "; NULL: it is none. *key is in it. */
static char *read_rows(FILE *file, char *at, char **key)
{
    const uint64_t bytes = strtoull(at, &at, 10);
    char sums[SUMS + 1], tail[4] = "", *rows;

    if (*at != ' ' || bytes > ROWS_MAX || strnlen(at, SUMS + 2) < SUMS + 2 || at[SUMS + 1] != ' ')
        return NULL;
    *key = at + SUMS + 2;
    rows = malloc(bytes + 1);
    if (rows && fread(rows, 1, bytes, file) == bytes && fread(tail, 1, 4, file) == 4 &&
        !memcmp(tail, "end\n", 4)) {
        rows[bytes] = '\0';
        sums_of(*key, rows, bytes, sums);
        if (!memcmp(sums, at + 1, SUMS))
            return rows;
    }
    free(rows);
    return NULL;
}

/* The next record, at whose end the file is then. *rows is the caller's. */
static enum found read_record(FILE *file, char **line, size_t *room, char **key, char **rows)
{
    const ssize_t length = getline(line, room, file);
    const long begin = ftell(file);

    if (length <= 0 || (*line)[length - 1] != '\n')
        return FOUND_NONE;
    (*line)[length - 1] = '\0';
    *rows = strncmp(*line, "item ", 5) == 0 ? read_rows(file, *line + 5, key) : NULL;
    if (*rows)
        return FOUND_GOOD;
    if (begin < 0 || fseek(file, begin, SEEK_SET) != 0 || !skip_record(file, line, room))
        return FOUND_NONE;
    return FOUND_DAMAGED;
}

/* Takes the results of a file, and says where one is damaged, in the name of the file (NULL: it is
 * not said); returns where its last whole record ends. */
static long take(FILE *file, struct worklist *list, const char *name)
{
    char *line = NULL, *key, *rows;
    enum found found;
    size_t room = 0;
    long end = 0, begin = 0;

    if (fseek(file, 0, SEEK_SET) != 0)
        return 0;
    while ((found = read_record(file, &line, &room, &key, &rows))) {
        struct item *item = found == FOUND_GOOD ? item_of(list, key) : NULL;
        if (found == FOUND_DAMAGED && name)
            psnap_print(stderr,
                        "psnap sweep: %s: the result at byte %ld is damaged, and made again\n",
                        name, begin);
        begin = ftell(file);
        if (found == FOUND_DAMAGED)
            continue;
        end = begin;
        if (item)
            item->rows = rows;
        else
            free(rows);
    }
    free(line);
    return end;
}

static enum psnap_status take_all(struct journal *journal, struct worklist *list, bool tells,
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
        take(file, list, tells ? found.gl_pathv[i] : NULL);
        fclose(file);
    }
    globfree(&found);
    return PSNAP_OK;
}

enum psnap_status journal_update(struct journal *journal, struct worklist *list,
                                 struct psnap_error *error)
{
    return take_all(journal, list, false, error);
}

/* Of a sweep that was killed its processes hold the lock a moment longer. */
static bool lock(int fd)
{
    const struct timespec moment = {0, 50000000};

    for (int tries = 20; flock(fd, LOCK_EX | LOCK_NB) != 0; tries--) {
        if (errno != EWOULDBLOCK)
            return true; /* there are no locks here */
        if (!tries)
            return false;
        nanosleep(&moment, NULL);
    }
    return true;
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
    if (!lock(fd)) {
        psnap_error_set(error, PSNAP_ERROR_IO,
                        "another 'psnap sweep' of this rank is at work on it");
        psnap_error_at(error, journal->name, 0, 0);
        journal_close(journal, false);
        return NULL;
    }
    if (take_all(journal, list, true, error)) {
        journal_close(journal, false);
        return NULL;
    }
    const long end = take(journal->file, list, NULL);
    if (ftruncate(fd, end) != 0 || fseek(journal->file, end, SEEK_SET) != 0) {
        psnap_error_file(error, errno, "write", journal->name);
        journal_close(journal, false);
        return NULL;
    }
    return journal;
}

enum psnap_status journal_add(struct journal *journal, struct worklist *list,
                              const struct item *item, struct psnap_error *error)
{
    const char *hash = worklist_hash(list, item, error);
    const size_t bytes = strlen(item->rows);
    char sums[SUMS + 1], *key;

    if (!*hash)
        return error->code;
    if (asprintf(&key, "%s %s %s", list->files[item->file].time, hash, item->key) < 0)
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for a result");
    sums_of(key, item->rows, bytes, sums);
    fprintf(journal->file, "item %zu %s %s\n%send\n", bytes, sums, key, item->rows);
    free(key);
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
