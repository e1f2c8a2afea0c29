/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Processes that work on items (cmd_processes.h). What one tells goes through a temporary file,
 * however much that is. They end when this process does, since nobody would take what they tell.
 */
#include "predict/cmd_processes.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "formats/base/cmd.h"

struct job {
    pid_t pid; /* 0: none */
    void *item;
    FILE *told;
};

struct crew {
    const struct processes *processes;
    struct job *jobs;
    size_t job_count, running;
};

/* What a process does; it never returns. */
static _Noreturn void work(const struct processes *processes, const struct job *job, pid_t parent)
{
    bool fits;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) /* it has ended before that */
        _exit(PSNAP_EXIT_FAILED);
    fits = processes->work(processes->context, job->item, job->told);
    if (fflush(job->told) != 0)
        fits = false;
    _exit(fits ? PSNAP_EXIT_DONE : PSNAP_EXIT_FAILED);
}

static enum psnap_status start(struct crew *crew, void *item, struct psnap_error *error)
{
    const pid_t parent = getpid();
    struct job *job = crew->jobs;

    while (job->pid)
        job++;
    job->item = item;
    job->told = tmpfile();
    if (!job->told)
        return psnap_error_system(error, errno, "cannot make a temporary file");
    fflush(stdout);
    fflush(stderr);
    job->pid = fork();
    if (job->pid == 0)
        work(crew->processes, job, parent);
    if (job->pid < 0) {
        psnap_error_system(error, errno, "cannot start a process");
        job->pid = 0;
        fclose(job->told);
        return error->code;
    }
    crew->running++;
    return PSNAP_OK;
}

static enum psnap_status take(struct crew *crew, struct job *job, int status,
                              struct psnap_error *error)
{
    const struct processes *processes = crew->processes;
    const enum process_end end = WIFSIGNALED(status)                      ? PROCESS_KILLED
                                 : WEXITSTATUS(status) == PSNAP_EXIT_DONE ? PROCESS_DONE
                                                                          : PROCESS_FAILED;
    size_t size;
    char *told = psnap_cmd_content(job->told, &size);
    enum psnap_status result;

    fclose(job->told);
    job->pid = 0;
    crew->running--;
    if (!told)
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "cannot read what a process has told");
    result = processes->take(processes->context, job->item, end, told, error);
    psnap_progress_add(processes->progress, 1);
    free(told);
    return result;
}

/* Waits for one of the processes to end. */
static enum psnap_status wait_for_one(struct crew *crew, struct psnap_error *error)
{
    int status;
    pid_t pid;

    do
        pid = waitpid(-1, &status, 0);
    while (pid < 0 && errno == EINTR);
    if (pid <= 0) {
        crew->running = 0; /* there are none that can be waited for */
        return psnap_error_system(error, errno, "cannot wait for processes");
    }
    for (size_t i = 0; i < crew->job_count; i++)
        if (crew->jobs[i].pid == pid)
            return take(crew, &crew->jobs[i], status, error);
    return PSNAP_OK;
}

enum psnap_status processes_run(const struct processes *processes, void *const *items, size_t count,
                                struct psnap_error *error)
{
    struct crew crew = {.processes = processes, .job_count = processes->at_a_time};
    enum psnap_status status = PSNAP_OK;
    struct psnap_error other;
    size_t next = 0;

    if (!crew.job_count)
        crew.job_count = psnap_processors();
    if (crew.job_count > PROCESSES_MAX)
        crew.job_count = PROCESSES_MAX;
    crew.jobs = calloc(crew.job_count, sizeof *crew.jobs);
    if (!crew.jobs)
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for processes");
    signal(SIGCHLD, SIG_DFL); /* ignored, it would leave nobody to wait for */
    while (!status && (next < count || crew.running)) {
        if (next < count && crew.running < crew.job_count)
            status = start(&crew, items[next++], error);
        else
            status = wait_for_one(&crew, error);
    }
    while (crew.running) /* after an error */
        wait_for_one(&crew, &other);
    free(crew.jobs);
    return status;
}
