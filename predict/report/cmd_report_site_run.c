/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The reports of a site are made by processes of this one, one report each, as many at a time as
 * there are processors, the largest profiles first. What a process says on stderr goes to a file: a
 * process that fails, or is ended by a signal, costs its own report alone.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "predict/report/cmd_report_site.h"

enum { JOBS_MAX = 64, SAID_BYTES = 1024 };

struct job {
    pid_t pid; /* 0: none */
    struct site_entry *entry;
    FILE *said;
};

struct crew {
    struct report_site *site;
    struct job jobs[JOBS_MAX];
    uint32_t job_count, running;
    size_t done, all;
    double begin, shown;
};

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* --------------------------------------------------------------- processes */

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

/* What a process does; it never returns. */
static _Noreturn void work(const struct report_site *site, const struct job *job)
{
    struct psnap_error error;
    char text[SAID_BYTES];
    enum psnap_status status;

    prctl(PR_SET_PDEATHSIG, SIGKILL); /* nobody would show the page */
    if (dup2(fileno(job->said), STDERR_FILENO) < 0)
        _exit(PSNAP_EXIT_FAILED);
    status = make_report(site, job->entry->id, &error);
    if (status)
        fprintf(stderr, "%s\n", psnap_error_format(&error, text, sizeof text));
    fflush(stderr);
    _exit(status ? PSNAP_EXIT_FAILED : PSNAP_EXIT_DONE);
}

static enum psnap_status start(struct crew *crew, struct site_entry *entry,
                               struct psnap_error *error)
{
    struct job *job = crew->jobs;

    while (job->pid)
        job++;
    job->entry = entry;
    job->said = tmpfile();
    if (!job->said)
        return psnap_error_system(error, errno, "cannot make a temporary file");
    fflush(stdout);
    fflush(stderr);
    job->pid = fork();
    if (job->pid == 0)
        work(crew->site, job);
    if (job->pid < 0) {
        job->pid = 0;
        fclose(job->said);
        return psnap_error_system(error, errno, "cannot start a process");
    }
    crew->running++;
    return PSNAP_OK;
}

/* The last line of what a process said is why it failed; those before are warnings. */
static void take_said(struct job *job, bool has_failed)
{
    char line[SAID_BYTES], last[SAID_BYTES] = "it came to no end";

    const bool is_there = fseek(job->said, 0, SEEK_SET) == 0;

    for (bool is_first = true; is_there && fgets(line, sizeof line, job->said); is_first = false) {
        line[strcspn(line, "\n")] = '\0';
        if (!is_first || !has_failed)
            fprintf(stderr, "psnap report: %s: %s\n", job->entry->id, has_failed ? last : line);
        memcpy(last, line, sizeof last);
    }
    if (has_failed)
        site_fail(job->entry, last);
}

static void take_result(struct crew *crew, struct job *job, int status)
{
    const bool is_done = WIFEXITED(status) && WEXITSTATUS(status) == PSNAP_EXIT_DONE;
    const bool has_page = is_done && site_has_report(crew->site, job->entry);

    if (WIFSIGNALED(status))
        site_fail(job->entry, "the process that made its report was ended by a signal");
    else
        take_said(job, !is_done);
    if (has_page)
        job->entry->state = SITE_MADE;
    else if (is_done)
        site_fail(job->entry, "its page is not there");
    fclose(job->said);
    job->pid = 0;
    crew->running--;
    crew->done++;
}

/* Waits for one of the processes to end. */
static enum psnap_status wait_for_one(struct crew *crew, struct psnap_error *error)
{
    int status;
    pid_t pid;

    do
        pid = waitpid(-1, &status, 0);
    while (pid < 0 && errno == EINTR);
    if (pid < 0) {
        crew->running = 0;
        return psnap_error_system(error, errno, "cannot wait for processes");
    }
    for (uint32_t i = 0; i < crew->job_count; i++)
        if (crew->jobs[i].pid == pid)
            take_result(crew, &crew->jobs[i], status);
    return PSNAP_OK;
}

/* -------------------------------------------------------------------- all of them */

/* On a terminal, from the second second on. */
static void show_progress(struct crew *crew)
{
    const double time = now(), took = time - crew->begin;

    if (!isatty(STDERR_FILENO) || time - crew->shown < 0.5 || took < 2 || !crew->done)
        return;
    crew->shown = time;
    fprintf(stderr, "\rpsnap: %zu of %zu reports, %.0f s left\033[K", crew->done, crew->all,
            took / (double)crew->done * (double)(crew->all - crew->done));
}

static int largest_first(const void *a, const void *b)
{
    const struct site_entry *one = *(struct site_entry *const *)a;
    const struct site_entry *other = *(struct site_entry *const *)b;

    if (one->accesses != other->accesses)
        return one->accesses < other->accesses ? 1 : -1;
    return strcmp(one->id, other->id);
}

enum psnap_status site_run(struct report_site *site, struct psnap_error *error)
{
    struct site_entry **entries = malloc((site->count + 1) * sizeof(struct site_entry *));
    struct crew crew = {.site = site, .job_count = psnap_processors(), .begin = now()};
    enum psnap_status status = PSNAP_OK;
    struct psnap_error other;
    size_t next = 0;

    if (!entries)
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    for (size_t i = 0; i < site->count; i++)
        if (site->entries[i].state == SITE_WAITING)
            entries[crew.all++] = &site->entries[i];
    qsort(entries, crew.all, sizeof(struct site_entry *), largest_first);
    if (crew.job_count > JOBS_MAX)
        crew.job_count = JOBS_MAX;
    while (!status && (next < crew.all || crew.running)) {
        if (next < crew.all && crew.running < crew.job_count)
            status = start(&crew, entries[next++], error);
        else
            status = wait_for_one(&crew, error);
        show_progress(&crew);
    }
    while (crew.running) /* after an error */
        wait_for_one(&crew, &other);
    if (crew.shown > 0)
        fputs("\r\033[K", stderr);
    free(entries);
    return status;
}
