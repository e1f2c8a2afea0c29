/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The handler calls only what POSIX lets handlers call: close, waitpid, kill, sigaction. It
 * takes itself back, so that the signal, raised again, ends psnap when it returns. The process that
 * removes things waits for the end of a pipe, of which psnap alone has the other one, in a session
 * of its own: signals to psnap's group are not for it.
 */
#include "replay/cmd_run_signals.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

static const int ending[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP};

enum { ENDING = sizeof ending / sizeof *ending };

static bool is_ours[ENDING];
static volatile sig_atomic_t child_pid, watcher_pid, watcher_pipe;

void psnap_run_unwatch(void)
{
    const pid_t watcher = (pid_t)watcher_pid;

    watcher_pid = 0;
    if (watcher <= 0)
        return;
    close(watcher_pipe);
    while (waitpid(watcher, NULL, 0) < 0 && errno == EINTR)
        ;
}

static void on_signal(int signal, siginfo_t *info, void *context)
{
    const struct sigaction ends = {.sa_handler = SIG_DFL};

    (void)context;
    psnap_run_unwatch();
    if (child_pid > 0 && info->si_code <= 0) /* not the terminal's */
        kill((pid_t)child_pid, signal);
    sigaction(signal, &ends, NULL);
    raise(signal);
}

static sigset_t ending_set(void)
{
    sigset_t set;

    sigemptyset(&set);
    for (size_t i = 0; i < ENDING; i++)
        sigaddset(&set, ending[i]);
    return set;
}

void psnap_run_signals_arrange(void)
{
    const struct sigaction action = {
        .sa_sigaction = on_signal, .sa_mask = ending_set(), .sa_flags = SA_RESTART | SA_SIGINFO};
    struct sigaction before;

    for (size_t i = 0; i < ENDING; i++) {
        is_ours[i] = !sigaction(ending[i], NULL, &before) && before.sa_handler == SIG_DFL;
        if (is_ours[i])
            sigaction(ending[i], &action, NULL);
    }
}

/* In the process beside psnap. */
static void remove_at_end(int pipe, const char *fifo, const char *folder)
{
    sigset_t all;
    char none;

    setsid();
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    while (read(pipe, &none, 1) < 0 && errno == EINTR)
        ;
    unlink(fifo);
    rmdir(folder);
    _exit(0);
}

bool psnap_run_watch(const char *fifo, const char *folder)
{
    int ends[2];
    pid_t watcher;

    if (pipe2(ends, O_CLOEXEC))
        return false;
    watcher = fork();
    if (watcher == 0) {
        close(ends[1]);
        remove_at_end(ends[0], fifo, folder);
    }
    close(ends[0]);
    watcher_pipe = ends[1];
    watcher_pid = watcher;
    if (watcher < 0)
        close(ends[1]);
    return watcher > 0;
}

void psnap_run_signals_child(pid_t child)
{
    child_pid = child;
}

sigset_t psnap_run_signals_hold(void)
{
    const sigset_t set = ending_set();
    sigset_t before;

    pthread_sigmask(SIG_BLOCK, &set, &before);
    return before;
}

void psnap_run_signals_let(const sigset_t *before)
{
    pthread_sigmask(SIG_SETMASK, before, NULL);
}

void psnap_run_signals_restore(const sigset_t *before)
{
    for (size_t i = 0; i < ENDING; i++)
        if (is_ours[i])
            signal(ending[i], SIG_DFL);
    psnap_run_signals_let(before);
}
