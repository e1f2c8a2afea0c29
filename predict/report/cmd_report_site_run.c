/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The reports of a site are made by processes of this one (predict/cmd_processes.h), the largest
 * profiles first. What a process says on stderr is said of its report.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "predict/cmd_processes.h"
#include "predict/report/cmd_report_site.h"

enum { SAID_BYTES = 1024 };

/* In the directory of the site: pages name their files as they are seen from there. */
static enum psnap_status make_report(const struct report_site *site, const char *id,
                                     struct psnap_error *error)
{
    const struct report_place place = {id, site->key};
    char name[64], path[64];
    const struct report_settings settings = {.output = name, .force = true, .place = &place};
    struct report *report;

    if (chdir(site->directory))
        return psnap_error_file(error, errno, "enter", site->directory);
    report = calloc(1, sizeof *report);
    if (!report)
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    snprintf(name, sizeof name, SITE_REPORT, id);
    snprintf(path, sizeof path, SITE_PROFILE, id);
    report->options = site->like->options;
    report->machines = site->like->machines;
    report->machine_count = site->like->machine_count;
    report->threads = 1;
    report->inputs[0].path = path;
    report->input_count = 1;
    return report_make(report, &settings, error);
}

/* In a process: all that it says goes to the file, the reason of a failure last. */
static bool work(void *context, void *entry, FILE *file)
{
    struct psnap_error error;
    char text[SAID_BYTES];
    enum psnap_status status;

    if (dup2(fileno(file), STDERR_FILENO) < 0)
        return false;
    status = make_report(context, ((const struct site_entry *)entry)->id, &error);
    if (status)
        psnap_print(stderr, "%s\n", psnap_error_format(&error, text, sizeof text));
    fflush(stderr);
    return !status;
}

/* Says the lines that a process said, each a warning, but for the last one of one that failed. */
static void say(const struct report_site *site, struct site_entry *entry, const char *told,
                bool has_failed)
{
    const char *end;
    char last[SAID_BYTES] = "it came to no end";

    for (; *told; told = *end ? end + 1 : end) {
        end = strchrnul(told, '\n');
        snprintf(last, sizeof last, "%.*s", (int)(end - told), told);
        if (has_failed && !end[*end != '\0'])
            break;
        psnap_progress_erase(site->progress);
        psnap_print(stderr, "psnap report: %s: %s\n", entry->id, last);
    }
    if (has_failed)
        site_fail(site, entry, last);
}

static enum psnap_status take_result(void *context, void *which, enum process_end end,
                                     const char *told, struct psnap_error *error)
{
    struct report_site *site = context;
    struct site_entry *entry = which;

    (void)error;
    if (end == PROCESS_KILLED)
        site_fail(site, entry, "the process that made its report was ended by a signal");
    else
        say(site, entry, told, end == PROCESS_FAILED);
    if (end == PROCESS_DONE && site_has_report(site, entry))
        entry->state = SITE_MADE;
    else if (end == PROCESS_DONE)
        site_fail(site, entry, "its page is not there");
    return PSNAP_OK;
}

/* -------------------------------------------------------------------- all of them */

static int largest_first(const void *a, const void *b)
{
    const struct site_entry *one = *(void *const *)a;
    const struct site_entry *other = *(void *const *)b;

    if (one->accesses != other->accesses)
        return one->accesses < other->accesses ? 1 : -1;
    return strcmp(one->id, other->id);
}

/* What is to be done is said beforehand, since it takes long, and elsewhere than on a terminal
 * nothing more is said. */
static void announce(const struct report_site *site, size_t pages)
{
    uint64_t accesses = 0;
    char digits[32];

    for (size_t i = 0; i < site->count; i++)
        if (site->entries[i].state == SITE_WAITING)
            accesses += site->entries[i].accesses < site->like->options.count
                            ? site->entries[i].accesses
                            : site->like->options.count;
    psnap_group_digits(accesses, digits);
    if (pages)
        psnap_print(stderr, "psnap report: making %zu page%s, of %s accesses\n", pages,
                    psnap_plural(pages), digits);
}

enum psnap_status site_run(struct report_site *site, struct psnap_error *error)
{
    struct processes processes = {.context = site, .work = work, .take = take_result};
    void **entries = malloc((site->count + 1) * sizeof *entries);
    enum psnap_status status;
    size_t count = 0;

    if (!entries)
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    for (size_t i = 0; i < site->count; i++)
        if (site->entries[i].state == SITE_WAITING)
            entries[count++] = &site->entries[i];
    qsort(entries, count, sizeof *entries, largest_first);
    announce(site, count);
    processes.progress = site->progress = psnap_progress_of(count, "pages");
    status = processes_run(&processes, entries, count, error);
    psnap_progress_free(site->progress);
    site->progress = NULL;
    free(entries);
    return status;
}
