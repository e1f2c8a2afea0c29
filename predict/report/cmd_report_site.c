/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * psnap report ARCHIVE: a site of the profiles of an archive, or those of a query.
 *
 *   index.html               a table of all of them, whose rows stand in the pages
 *   ID.html                  the page of a profile, which leads back
 *   psnap-profiles/ID.yaml   the profile
 *
 * A directory becomes a site when it is new or empty; psnap knows one by its profiles. Each file
 * appears whole; none is removed. A page is made by a process of its own, as many at a time as
 * there are processors, unless the one that is there has the same key: a hash of psnap's version,
 * the machines, the options, and whether there is gnuplot.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "formats/base/cmd_progress.h"
#include "formats/base/map.h"
#include "formats/base/output.h"
#include "formats/base/room.h"
#include "predict/cmd_gnuplot.h"
#include "predict/report/cmd_report.h"
#include "profile/repo/cmd_repo_read.h"

#define PAGE_FORM "3" /* another one makes all pages anew */
#define PROFILES "psnap-profiles/"

enum { PATH_ROOM = 4200, ID_ROOM = REPO_ID_DIGITS + 1 };

struct site_entry {
    char id[ID_ROOM];
    char *tags;       /* owned */
    bool has_profile; /* its file is there */
};

struct site {
    const char *directory;
    struct repo *repo;
    struct psnap_error error;  /* of taking its profiles */
    const struct report *like; /* machines and options, which all pages have */
    bool force;                /* make all pages anew */
    char key[24];
    struct site_entry *entries;
    size_t count, room, failed, damaged; /* failed: without a page; damaged: objects */
};

static const char *file_of(const struct site *site, const char *folder, const char *name,
                           const char *end, char path[PATH_ROOM])
{
    if (snprintf(path, PATH_ROOM, "%s/%s%s%s", site->directory, folder, name, end) >= PATH_ROOM)
        path[0] = '\0'; /* which no file is called */
    return path;
}

/* A hash of all that pages are made of beside their profiles. */
static enum psnap_status make_key(struct site *site, struct psnap_error *error)
{
    const struct psnap_input_options *options = &site->like->options;
    struct psnap_error no_figure;
    char *text = NULL;
    size_t size;
    FILE *file = open_memstream(&text, &size);

    if (!file)
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    if (gnuplot_find("", &no_figure))
        psnap_cmd_warn(&no_figure);
    else
        fputs("figures ", file);
    fprintf(file, PSNAP_VERSION " " PAGE_FORM " %" PRIu64 " %" PRIu64 " %" PRIu64, options->seed,
            options->skip, options->count);
    for (size_t m = 0; m < site->like->machine_count; m++) {
        fprintf(file, "\n%s\n", site->like->machines[m].name);
        psnap_machine_write(&site->like->machines[m], file, NULL);
    }
    fclose(file);
    snprintf(site->key, sizeof site->key, "psnap-%016" PRIx64, psnap_map_hash(0, text));
    free(text);
    return PSNAP_OK;
}

/* ------------------------------------------------------------------ the index page */

/* The row that stands in an entry's page, if that is as it would be made now; the caller frees it.
 */
static char *find_row(const struct site *site, const struct site_entry *entry)
{
    char path[PATH_ROOM], wanted[ID_ROOM + 48], *line = NULL, *row = NULL;
    FILE *file = fopen(file_of(site, "", entry->id, ".html", path), "re");
    const int length = snprintf(wanted, sizeof wanted, "<!-- %s %s ", site->key, entry->id);
    size_t room = 0;

    if (!file)
        return NULL;
    if (getline(&line, &room, file) > 0 && getline(&line, &room, file) > 0 &&
        !strncmp(line, wanted, (size_t)length))
        row = strndup(line + length, strcspn(line + length, "\n") - strlen("-->"));
    free(line);
    fclose(file);
    return row;
}

static enum psnap_status write_index(struct site *site, struct psnap_error *error)
{
    char path[PATH_ROOM], headings[8192] = "Program|Command|#Accesses|#Loops|#Footprint";
    char name[PSNAP_LEVEL_NAME_ROOM];
    const struct report *like = site->like;
    struct report_page page = {.report = like};
    size_t columns = 5; /* of a page's own row */
    struct psnap_output *output =
        psnap_output_open(file_of(site, "", "index", ".html", path), true, error);

    if (!output)
        return error->code;
    page.file = psnap_output_file(output);
    for (size_t m = 0; m < like->machine_count; m++)
        for (uint32_t l = 0; l < like->machines[m].level_count; l++) {
            const size_t used = strlen(headings);
            columns++;
            snprintf(headings + used, sizeof headings - used - 64, "|#%.40s %s %%",
                     like->machines[m].name, psnap_machine_level_name(&like->machines[m], l, name));
        }
    strcat(headings, "|Recorded|Tags|Profile");
    fputs("<!DOCTYPE html>\n", page.file);
    report_begin(page.file, "Profiles");
    fputs("<main id=\"main\" tabindex=\"-1\">\n", page.file);
    report_table(&page, NULL, "Cumulative hit rates are of the replayed profiles", headings);
    for (size_t i = 0; i < site->count; i++) {
        const struct site_entry *entry = &site->entries[i];
        char *row = find_row(site, entry);
        fprintf(page.file, "\n%s", row ? row : "<tr><th scope=\"row\" class=\"bad\">no page</th>");
        for (size_t c = 0; c < columns && !row; c++)
            report_cell(&page, 'n', NAN);
        site->failed += !row;
        free(row);
        report_text(&page, entry->tags ? entry->tags : "");
        fprintf(page.file, "<td><a href=\"" PROFILES "%s.yaml\" download>%.8s</a></td>", entry->id,
                entry->id);
    }
    report_table_end(&page, NULL);
    report_end(page.file);
    return psnap_output_finish(output, PSNAP_OK, error);
}

/* ------------------------------------------------------------------ the directory */

static enum psnap_status prepare(const struct site *site, struct psnap_error *error)
{
    char folder[PATH_ROOM];

    if (!access(file_of(site, PROFILES, "", "", folder), F_OK))
        return PSNAP_OK;
    if (rmdir(site->directory) && errno != ENOENT) /* an empty one is as good as none */
        return psnap_error_set(error, PSNAP_ERROR_EXISTS,
                               "'%s' is no site that psnap made, and no empty directory",
                               site->directory);
    if (mkdir(site->directory, 0777) || mkdir(folder, 0777))
        return psnap_error_file(error, errno, "create", site->directory);
    return PSNAP_OK;
}

/* Takes an entry, and writes its profile: a file that is there is of its name's content. */
static int take_profile(void *context, int count, char **row, char **names)
{
    struct site *site = context;
    struct psnap_output *output = NULL;
    struct repo_bytes yaml = {NULL, 0};
    struct psnap_error why = {.message = "its id is none"};
    struct repo_id id;
    struct site_entry *entry;
    char path[PATH_ROOM];
    struct stat about;

    (void)count, (void)names;
    if (!site->count && prepare(site, &site->error))
        return site->error.code;
    if (!psnap_make_room(&site->entries, &site->room, site->count + 1, sizeof *site->entries))
        return psnap_error_set(&site->error, PSNAP_ERROR_MEMORY, "out of memory for the site");
    entry = &site->entries[site->count++];
    entry->has_profile =
        repo_id_parse(row[REPO_ID], "", &id) && !object_read(site->repo, &id, &yaml, &why);
    entry->tags = strdup(row[REPO_TAGS]);
    snprintf(entry->id, sizeof entry->id, "%s", row[REPO_ID]);
    if (!entry->has_profile) {
        psnap_print(stderr, "psnap report: %s: %s\n", row[REPO_ID], why.message);
        site->damaged++;
    }
    file_of(site, PROFILES, entry->id, ".yaml", path);
    if (yaml.data && (site->force || stat(path, &about) || (size_t)about.st_size != yaml.size)) {
        output = psnap_output_open(path, true, &site->error);
        if (output)
            fwrite(yaml.data, 1, yaml.size, psnap_output_file(output));
    }
    free(yaml.data);
    return psnap_output_finish(output, site->error.code, &site->error);
}

/* ----------------------------------------------------------------------- the pages */

/* In a process of its own, and in the directory: pages name their files as they are seen there. */
static int make_page(const struct site *site, const char *id)
{
    struct report report = {.machines = site->like->machines,
                            .machine_count = site->like->machine_count,
                            .options = site->like->options,
                            .input_count = 1,
                            .threads = 1};
    struct report_page page = {.site_key = site->key, .site_id = id};
    char name[ID_ROOM + 8], path[ID_ROOM + 24];
    struct psnap_error error;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    snprintf(name, sizeof name, "%s.html", id);
    snprintf(path, sizeof path, PROFILES "%s.yaml", id);
    report.inputs[0].path = path;
    if (chdir(site->directory))
        psnap_error_file(&error, errno, "enter", site->directory);
    else if (!report_make(&report, name, true, &page, &error))
        return PSNAP_EXIT_DONE;
    return psnap_cmd_fail("report", &error);
}

/* Makes the pages that are not there as they would be made now. */
static void make_pages(struct site *site)
{
    struct psnap_progress *progress = psnap_progress_of(site->count, "pages");
    uint32_t running = 0;

    for (size_t i = 0; i < site->count; i++) {
        pid_t process = 0;
        char *row = site->force ? NULL : find_row(site, &site->entries[i]);
        free(row);
        psnap_progress_add(progress, 1);
        if (row || !site->entries[i].has_profile)
            continue;
        if (running == psnap_processors())
            running -= wait(NULL) > 0;
        process = fork();
        if (!process)
            _exit(make_page(site, site->entries[i].id));
        running += process > 0;
    }
    while (wait(NULL) > 0)
        ;
    psnap_progress_free(progress);
}

int report_site(const char *archive, char *const *words, size_t word_count,
                const struct report *like, const char *directory, bool force)
{
    struct site site = {.directory = directory, .like = like, .force = force};
    struct psnap_error error;
    enum psnap_status status = make_key(&site, &error);

    if (!status && !(site.repo = repo_open(archive, &error)))
        status = error.code;
    if (!status)
        status = repo_list(site.repo, &(struct repo_query){words, word_count, 0}, take_profile,
                           &site, &error);
    if (!status && (status = site.error.code))
        error = site.error;
    repo_close(site.repo);
    if (!status && !site.count)
        status = psnap_error_set(&error, PSNAP_ERROR_VALUE, "'%s': %s", archive,
                                 word_count ? "no profile matches" : "there is no profile in it");
    if (!status) {
        make_pages(&site);
        status = write_index(&site, &error);
    }
    for (size_t i = 0; i < site.count; i++)
        free(site.entries[i].tags);
    free(site.entries);
    if (status)
        return psnap_cmd_fail("report", &error);
    psnap_print(stdout, "%s/index.html: %zu profile%s, %zu without a page\n", directory, site.count,
                psnap_plural(site.count), site.failed);
    return site.failed || site.damaged ? PSNAP_EXIT_FAILED : PSNAP_EXIT_DONE;
}
