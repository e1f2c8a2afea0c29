/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The handler calls only what POSIX lets handlers call: unlink, rmdir, kill, sigaction. It
 * takes itself back, so that the signal, raised again, ends psnap when it returns.
 */
#include "replay/cmd_run_signals.h"

#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

static const int ending[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP};

enum { ENDING = sizeof ending / sizeof *ending };

static bool is_ours[ENDING];
static const char *volatile fifo_path, *volatile folder_path;
static volatile sig_atomic_t child_pid;

static void on_signal(int signal, siginfo_t *info, void *context)
{
    const struct sigaction ends = {.sa_handler = SIG_DFL};

    (void)context;
    if (fifo_path)
        unlink(fifo_path);
    if (folder_path)
        rmdir(folder_path);
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

void psnap_run_signals_remove(const char *fifo, const char *folder)
{
    fifo_path = fifo;
    folder_path = folder;
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
