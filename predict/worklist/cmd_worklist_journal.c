/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A record of a journal: "item BYTES SUMS TIME HASH KEY", the item's rows, "end"; SUMS are XXH3, 64
 * bits each, of "TIME HASH KEY" and of the rows. It is written at once and synced before the item
 * counts as done; what a crash has cut off at the end goes before more is written. A record whose
 * sums are others is named, and its item is done anew.
 *
 * The file "lock" says which sweep is at work, by a sum of its items and ranks. Its ranks hold it
 * (flock, shared) while they live, and another sweep writes it only when none does. All files begin
 * with MARK: others are the user's, not written and not removed. Without locks in a file system a
 * second sweep is not refused.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "predict/worklist/cmd_worklist.h"
#include "profile/repo/cmd_repo.h"

#define ROWS_MAX (UINT64_C(1) << 30)
#define MARK "psnap sweep\n"

enum { SUMS = 32 /* hexadecimal digits */, MARK_BYTES = sizeof MARK - 1, TRIES = 20 };

struct journal {
    char *path; /* of the folder */
    FILE *lock, *file;
    uint64_t sweep; /* sum of its items and ranks */
};

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

/* Takes the results of a file, and says where one is damaged, in the name of the file (folder NULL:
 * it is not said); returns where its last whole record ends. */
static long take(FILE *file, struct worklist *list, const char *folder, const char *name)
{
    char *line = NULL, *key, *rows;
    enum found found;
    size_t room = 0;
    long end = MARK_BYTES, begin = end;

    if (fseek(file, end, SEEK_SET) != 0)
        return end;
    while ((found = read_record(file, &line, &room, &key, &rows))) {
        struct item *item = found == FOUND_GOOD ? item_of(list, key) : NULL;
        if (found == FOUND_DAMAGED && folder)
            psnap_print(stderr,
                        "psnap sweep: %s/%s: the result at byte %ld is damaged, and made again\n",
                        folder, name, begin);
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

static DIR *open_folder(const char *path)
{
    const int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    return fd < 0 ? NULL : fdopendir(fd);
}

/* Waits a moment; false: that was the last time. */
static bool wait_again(int *tries)
{
    const struct timespec moment = {0, 50000000};

    return (*tries)++ < TRIES && !nanosleep(&moment, NULL);
}

/* Opens a file that begins with MARK; an empty one, or none, gets it where `flags` make files. */
static FILE *open_marked(const struct journal *journal, DIR *folder, const char *name, int flags,
                         struct psnap_error *error)
{
    const int how = O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
    const int at = dirfd(folder);
    int tries = 0, fd = at < 0 ? -1 : openat(at, name, flags | O_EXCL | how, 0666);
    char mark[MARK_BYTES];
    FILE *file = NULL;
    struct stat about;
    ssize_t size = 0;

    if (fd >= 0 && flags & O_CREAT)
        size = write(fd, memcpy(mark, MARK, MARK_BYTES), MARK_BYTES);
    else if (at >= 0 && errno == EEXIST)
        fd = openat(at, name, (flags & ~O_CREAT) | how);
    if (fd < 0) {
        psnap_error_system(error, errno, "cannot open '%.200s/%s'", journal->path, name);
        return NULL;
    }
    while (!size && !(size = pread(fd, mark, MARK_BYTES, 0)) && flags & O_CREAT &&
           wait_again(&tries)) /* who has made it is about to mark it */
        ;
    if (size == MARK_BYTES && !memcmp(mark, MARK, MARK_BYTES) && fstat(fd, &about) == 0 &&
        about.st_nlink <= 1)
        file = fdopen(fd, flags & O_CREAT ? "r+" : "r");
    if (!file) {
        psnap_error_set(error, PSNAP_ERROR_EXISTS, "'%.200s/%s' is no file of a sweep",
                        journal->path, name);
        close(fd);
    }
    return file;
}

/* The next journal of a folder; NULL: there is none any more. */
static FILE *next_journal(const struct journal *journal, DIR *folder, struct dirent **entry)
{
    struct psnap_error error;
    FILE *file = NULL;

    while (!file && (*entry = readdir(folder)))
        if (strncmp((*entry)->d_name, "rank-", 5) == 0)
            file = open_marked(journal, folder, (*entry)->d_name, O_RDONLY, &error);
    return file;
}

static enum psnap_status take_all(const struct journal *journal, struct worklist *list, bool tells,
                                  struct psnap_error *error)
{
    DIR *folder = open_folder(journal->path);
    struct dirent *entry;
    FILE *file;

    if (!folder)
        return errno == ENOENT ? PSNAP_OK : psnap_error_file(error, errno, "read", journal->path);
    while ((file = next_journal(journal, folder, &entry))) {
        take(file, list, tells ? journal->path : NULL, entry->d_name);
        fclose(file);
    }
    closedir(folder);
    return PSNAP_OK;
}

enum psnap_status journal_update(struct journal *journal, struct worklist *list,
                                 struct psnap_error *error)
{
    return take_all(journal, list, false, error);
}

/* Locks a file unless another has; where there are no locks, it has none. */
static bool try_lock(FILE *file, int how)
{
    return flock(fileno(file), how | LOCK_NB) == 0 || errno != EWOULDBLOCK;
}

static bool is_there(const struct journal *journal)
{
    struct stat about;

    return fstat(fileno(journal->lock), &about) == 0 && about.st_nlink > 0;
}

/* Whether the lock says that this sweep is at work, or was the last one. */
static bool is_of_sweep(const struct journal *journal)
{
    uint64_t found;

    return pread(fileno(journal->lock), &found, sizeof found, MARK_BYTES) == sizeof found &&
           found == journal->sweep;
}

/* Joins the ranks of a sweep that are at work; false: another sweep is. Of one that was killed its
 * processes hold the locks a moment longer. */
static bool join(struct journal *journal, const struct worklist *list)
{
    const int fd = fileno(journal->lock);
    uint64_t *sweep = &journal->sweep;
    int tries = 0;

    *sweep = list->ranks;
    for (size_t i = 0; i < list->count; i++)
        *sweep = *sweep * UINT64_C(0x9e3779b97f4a7c15) +
                 repo_sum_of(list->items[i].key, strlen(list->items[i].key));
    do {
        if (try_lock(journal->lock, LOCK_EX) &&
            pwrite(fd, sweep, sizeof *sweep, MARK_BYTES) != sizeof *sweep)
            return false;
        if (try_lock(journal->lock, LOCK_SH) && is_of_sweep(journal))
            return is_there(journal);
    } while (wait_again(&tries));
    return false;
}

static enum psnap_status refuse(const struct journal *journal, struct psnap_error *error)
{
    psnap_error_set(error, PSNAP_ERROR_IO, "another 'psnap sweep' is at work on it");
    psnap_error_at(error, journal->path, 0, 0);
    return PSNAP_ERROR_IO;
}

/* Locks this rank's own, at whose end the file then is. */
static enum psnap_status begin(struct journal *journal, DIR *folder, struct worklist *list,
                               struct psnap_error *error)
{
    char name[] = "rank-4294967295";
    int tries = 0;
    long end;

    journal->lock = open_marked(journal, folder, "lock", O_RDWR | O_CREAT, error);
    if (!journal->lock)
        return error->code;
    if (!join(journal, list))
        return refuse(journal, error);
    snprintf(name, sizeof name, "rank-%" PRIu32, list->rank);
    journal->file = open_marked(journal, folder, name, O_RDWR | O_CREAT, error);
    if (!journal->file)
        return error->code;
    while (!try_lock(journal->file, LOCK_EX))
        if (!wait_again(&tries))
            return refuse(journal, error);
    if (take_all(journal, list, true, error))
        return error->code;
    end = take(journal->file, list, NULL, NULL);
    if (ftruncate(fileno(journal->file), end) != 0 || fseek(journal->file, end, SEEK_SET) != 0)
        return psnap_error_file(error, errno, "write", journal->path);
    return PSNAP_OK;
}

struct journal *journal_open(const char *target, struct worklist *list, struct psnap_error *error)
{
    struct journal *journal = calloc(1, sizeof *journal);
    enum psnap_status status;
    DIR *folder = NULL;

    if (!journal || asprintf(&journal->path, "%s" JOURNAL_FOLDER, target) < 0) {
        free(journal);
        psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
        return NULL;
    }
    if (mkdir(journal->path, 0777) == 0 || errno == EEXIST)
        folder = open_folder(journal->path);
    status = folder ? begin(journal, folder, list, error)
                    : psnap_error_file(error, errno, "open", journal->path);
    if (folder)
        closedir(folder);
    if (!status)
        return journal;
    journal_close(journal, false);
    return NULL;
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
        return psnap_error_file(error, errno, "write", journal->path);
    return PSNAP_OK;
}

enum psnap_status journal_wait(const struct journal *journal, struct psnap_error *error)
{
    while (flock(fileno(journal->lock), LOCK_EX) != 0 && errno == EINTR)
        continue;
    return is_of_sweep(journal) ? PSNAP_OK : refuse(journal, error);
}

static void remove_all(const struct journal *journal)
{
    DIR *folder = open_folder(journal->path);
    struct dirent *entry;
    const int at = folder ? dirfd(folder) : -1;
    FILE *file;

    while (at >= 0 && (file = next_journal(journal, folder, &entry))) {
        fclose(file);
        unlinkat(at, entry->d_name, 0);
    }
    if (at >= 0)
        unlinkat(at, "lock", 0);
    if (folder)
        closedir(folder);
    rmdir(journal->path);
}

void journal_close(struct journal *journal, bool all_done)
{
    if (!journal)
        return;
    if (all_done && is_there(journal))
        remove_all(journal);
    if (journal->file)
        fclose(journal->file);
    if (journal->lock)
        fclose(journal->lock);
    free(journal->path);
    free(journal);
}
