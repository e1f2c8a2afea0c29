/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The directory of a site:
 *
 *   index.html         the table of all entries (cmd_report_index.h)
 *   ID.html            the report of a profile
 *   profiles/ID.yaml   the profile
 *
 * A directory becomes a site when it is new or empty; psnap knows one by its index page, and leaves
 * a directory with other files alone. Each file appears whole. An entry's id is the hash of its
 * profile: a file of that content stays, and so does a page that says in its head that it is of
 * this id.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats/base/output.h"
#include "predict/report/cmd_report_site.h"

#define GENERATOR "<meta name=\"generator\" content=\"psnap site "

enum { PATH_ROOM = 4200, HEAD_BYTES = 1024 };

/* "DIRECTORY/NAME" into `path`; false: too long, which other calls will say. */
static bool file_of(const struct report_site *site, const char *name, char path[PATH_ROOM])
{
    return (size_t)snprintf(path, PATH_ROOM, "%s/%s", site->directory, name) < PATH_ROOM;
}

/* ------------------------------------------------------------------ the directory */

/* Whether its index page is one of ours. */
static bool is_site(const struct report_site *site)
{
    char path[PATH_ROOM], head[HEAD_BYTES + 1];
    FILE *file = file_of(site, SITE_INDEX, path) ? fopen(path, "re") : NULL;

    if (!file)
        return false;
    head[fread(head, 1, HEAD_BYTES, file)] = '\0';
    fclose(file);
    return strstr(head, GENERATOR) != NULL;
}

/* 1: it has nothing in it, or what was made before the first index page; 0: it has other files. */
static int is_empty(const struct report_site *site)
{
    DIR *directory = opendir(site->directory);
    const struct dirent *entry;
    bool is_empty = true;

    if (!directory)
        return -1;
    while (is_empty && (entry = readdir(directory)))
        is_empty = !strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..");
    closedir(directory);
    return is_empty;
}

/* A site from elsewhere must not lead out of its directory, or to what is waited for. */
static enum psnap_status refuse_links(const struct report_site *site, const char *below,
                                      struct psnap_error *error)
{
    char folder[PATH_ROOM], path[PATH_ROOM + 256];
    DIR *directory = file_of(site, below, folder) ? opendir(folder) : NULL;
    const struct dirent *entry;
    struct stat about;
    enum psnap_status status = PSNAP_OK;

    while (directory && !status && (entry = readdir(directory))) {
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (!lstat(path, &about) && !S_ISREG(about.st_mode) && !S_ISDIR(about.st_mode))
            status =
                psnap_error_set(error, PSNAP_ERROR_VALUE, "'%s' is %s, which a site has none of",
                                path, S_ISLNK(about.st_mode) ? "a symbolic link" : "no file");
    }
    if (directory)
        closedir(directory);
    return status;
}

enum psnap_status site_prepare(const struct report_site *site, struct psnap_error *error)
{
    char path[PATH_ROOM];
    int empty;

    if (!file_of(site, SITE_PROFILES, path))
        return psnap_error_set(error, PSNAP_ERROR_USAGE, "'%.200s' is too long", site->directory);
    if (mkdir(site->directory, 0777) && errno != EEXIST)
        return psnap_error_file(error, errno, "create", site->directory);
    empty = is_empty(site);
    if (empty < 0)
        return psnap_error_file(error, errno, "open", site->directory);
    if (!empty && !is_site(site))
        return psnap_error_set(
            error, PSNAP_ERROR_EXISTS,
            "'%s' has files and is no site that psnap made: give a new directory", site->directory);
    if (refuse_links(site, ".", error))
        return error->code;
    if (mkdir(path, 0777) && errno != EEXIST)
        return psnap_error_file(error, errno, "create", path);
    if (refuse_links(site, SITE_PROFILES, error))
        return error->code;
    if (access(site->directory, W_OK) || access(path, W_OK))
        return psnap_error_file(error, errno, "write to", site->directory);
    return PSNAP_OK;
}

/* --------------------------------------------------------------------- entries */

static int by_id(const void *a, const void *b)
{
    return strcmp(((const struct site_entry *)a)->id, ((const struct site_entry *)b)->id);
}

struct site_entry *site_entry_of(const struct report_site *site, const char *id)
{
    struct site_entry wanted;

    if (!site->count || strlen(id) != REPO_ID_DIGITS)
        return NULL;
    memcpy(wanted.id, id, sizeof wanted.id);
    return bsearch(&wanted, site->entries, site->count, sizeof wanted, by_id);
}

static bool take_entry(void *context, const struct entry *entry)
{
    struct report_site *site = context;
    struct site_entry *entries =
        psnap_with_room(site->entries, &site->room, site->count + 1, sizeof *entries);

    site->is_short = !entries;
    if (!entries)
        return false;
    site->entries = entries;
    entries += site->count++;
    *entries =
        (struct site_entry){.bytes = entry->bytes, .accesses = entry->counts[FACTS_ACCESSES]};
    snprintf(entries->id, sizeof entries->id, "%s", entry->id);
    return true;
}

void site_fail(const struct report_site *site, struct site_entry *entry, const char *problem)
{
    psnap_progress_erase(site->progress);
    psnap_print(stderr, "psnap report: %s: %s\n", entry->id, problem);
    entry->state = SITE_FAILED;
    free(entry->problem);
    entry->problem = strdup(problem);
}

static enum psnap_status write_file(const char *path, const void *bytes, size_t size,
                                    struct psnap_error *error)
{
    struct psnap_output *output = psnap_output_open(path, true, error);
    enum psnap_status status = output ? PSNAP_OK : error->code;

    if (output && fwrite(bytes, 1, size, psnap_output_file(output)) != size)
        status = psnap_error_file(error, errno, "write", path);
    return psnap_output_finish(output, status, error);
}

/* Whether a file is the profile of an entry: of its size, and the content that its id is of. */
static bool is_profile(const char *path, const struct site_entry *entry, const struct repo_id *id)
{
    const int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
    char *text = NULL;
    struct repo_id found = {{0}};
    struct stat about;

    if (file && !fstat(fd, &about) && S_ISREG(about.st_mode) &&
        (uint64_t)about.st_size == entry->bytes)
        text = malloc(entry->bytes + 1);
    if (text && fread(text, 1, entry->bytes + 1, file) == entry->bytes)
        repo_id_of(text, entry->bytes, &found);
    free(text);
    if (file)
        fclose(file);
    else if (fd >= 0)
        close(fd);
    return repo_id_is_same(&found, id);
}

/* Where the index is wrong, as the objects say, in an index of its own: rows of the site's stay as
 * they are, those of what is damaged too. */
static enum psnap_status read_profile(struct report_site *site, const struct repo_id *id,
                                      struct repo_bytes *raw, struct psnap_error *error)
{
    enum psnap_status status = index_read(site->opened.index, id, raw, error);

    if (status && !site->fresh)
        site->fresh = index_open_fresh(site->opened.repo, NULL);
    return status && site->fresh && !index_read(site->fresh, id, raw, NULL) ? PSNAP_OK : status;
}

/* The profile of an entry, to its file. A page beside another profile may be of that one. An error
 * is one of writing; what cannot be read is the entry's. */
static enum psnap_status copy_profile(struct report_site *site, struct site_entry *entry,
                                      struct psnap_error *error)
{
    char name[64], path[PATH_ROOM];
    struct repo_bytes raw = {0};
    struct psnap_error why;
    struct repo_id id;
    enum psnap_status status = PSNAP_OK;

    snprintf(name, sizeof name, SITE_PROFILE, entry->id);
    if (!file_of(site, name, path) || !repo_id_parse(entry->id, &id))
        return PSNAP_OK;
    entry->has_profile = is_profile(path, entry, &id);
    if (entry->has_profile)
        return PSNAP_OK;
    entry->had_other = !access(path, F_OK);
    if (read_profile(site, &id, &raw, &why)) {
        site_fail(site, entry, why.message);
    } else {
        status = write_file(path, raw.data, raw.size, error);
        entry->has_profile = !status;
    }
    repo_bytes_release(&raw);
    return status;
}

bool site_has_report(const struct report_site *site, struct site_entry *entry)
{
    char name[64], path[PATH_ROOM];

    snprintf(name, sizeof name, SITE_REPORT, entry->id);
    entry->has_report = file_of(site, name, path) &&
                        report_figures_read(path, &(struct report_place){entry->id, site->key},
                                            site->like, &entry->figures);
    return entry->has_report;
}

enum psnap_status site_list(struct report_site *site, struct psnap_error *error)
{
    enum psnap_status status =
        index_list(site->opened.index, &site->query.ask, take_entry, site, error);

    if (status && index_doubt(site->opened.index)) {
        site->count = 0;
        status = index_list(site->opened.index, &site->query.ask, take_entry, site, error);
    }
    if (!status && site->is_short)
        status = psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for the site");
    if (site->count)
        qsort(site->entries, site->count, sizeof *site->entries, by_id);
    return status;
}

enum psnap_status site_find(struct report_site *site, struct psnap_error *error)
{
    enum psnap_status status = PSNAP_OK;

    for (size_t i = 0; i < site->count && !status; i++) {
        struct site_entry *entry = &site->entries[i];
        status = copy_profile(site, entry, error);
        if (site_has_report(site, entry) && entry->state == SITE_WAITING && !site->force &&
            !entry->had_other)
            entry->state = SITE_KEPT;
    }
    index_close(site->fresh);
    site->fresh = NULL;
    return status;
}

/* -------------------------------------------------------------- what is of no entry */

/* Whether a name is ID and the suffix, of no entry. */
static bool is_of_none(const struct report_site *site, const char *name, const char *suffix)
{
    char id[REPO_ID_DIGITS + 1];
    struct repo_id parsed;

    if (strlen(name) != REPO_ID_DIGITS + strlen(suffix) ||
        strcmp(name + REPO_ID_DIGITS, suffix) != 0)
        return false;
    memcpy(id, name, REPO_ID_DIGITS);
    id[REPO_ID_DIGITS] = '\0';
    return repo_id_parse(id, &parsed) && !site_entry_of(site, id);
}

static void sweep(const struct report_site *site, const char *below, const char *suffix,
                  bool (*is_ours)(const char *path))
{
    char folder[PATH_ROOM], path[PATH_ROOM + 256];
    const struct dirent *entry;
    DIR *directory = file_of(site, below, folder) ? opendir(folder) : NULL;

    while (directory && (entry = readdir(directory))) {
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (is_of_none(site, entry->d_name, suffix) && (!is_ours || is_ours(path)))
            unlink(path);
    }
    if (directory)
        closedir(directory);
}

void site_sweep(const struct report_site *site)
{
    sweep(site, ".", ".html", report_figures_are_in);
    sweep(site, SITE_PROFILES, ".yaml", NULL);
}
