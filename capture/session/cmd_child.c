/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Starting the program, passing signals on to it, and waiting for it.
 */
#include "capture/session/cmd_child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "capture/collect/process.h"
#include "formats/base/capture_abi.h"
#include "formats/base/cmd.h"

static volatile sig_atomic_t child_pid, ending_signal, cannot_go_on;
static struct psnap_deadline own_deadline, *volatile deadline = &own_deadline;
static void (*file_limit_before)(int); /* what SIGXFSZ did: for the program */

const struct psnap_deadline *psnap_child_deadline(void)
{
    return deadline;
}

void psnap_child_share_deadline(struct psnap_deadline *place)
{
    struct psnap_deadline *before = deadline, *now = place ? place : &own_deadline;
    int64_t at_ns;

    deadline = now; /* from here on a handler sets this one */
    at_ns = __atomic_load_n(&before->at_ns, __ATOMIC_SEQ_CST);
    if (at_ns)
        __atomic_store_n(&now->at_ns, at_ns, __ATOMIC_SEQ_CST);
}

/* ---- signals ---- */

/* Handlers of signals call these functions: they make system calls, and use no library. */

/* /proc/PID/stat */
static const char *stat_path(char room[32], pid_t pid)
{
    char digits[12], *first = digits + sizeof digits - 1;

    *first = '\0';
    do
        *--first = (char)('0' + pid % 10);
    while (pid /= 10);
    return strcat(strcat(strcpy(room, "/proc/"), first), "/stat");
}

static pid_t parent_of(pid_t pid)
{
    char path[32], text[512], *at;
    ssize_t bytes;
    int fd;

    fd = open(stat_path(path, pid), O_RDONLY | O_CLOEXEC);
    bytes = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
    if (fd >= 0)
        close(fd);
    if (bytes <= 0)
        return 0;
    text[bytes] = '\0';
    at = strrchr(text, ')'); /* PID (NAME) STATE PARENT */
    return at && strlen(at) > 4 ? (pid_t)strtol(at + 4, NULL, 10) : 0;
}

/* It is the program's, or of a process that it has started. */
static bool is_of_program(pid_t pid)
{
    enum { GENERATIONS = 32 };

    for (int i = 0; i < GENERATIONS && pid > 1 && pid != getpid(); i++) {
        if (pid == child_pid)
            return true;
        pid = parent_of(pid);
    }
    return false;
}

static bool has_ended(void)
{
    return !child_pid || psnap_child_has_ended((pid_t)child_pid);
}

static void ask_to_end(int signal)
{
    const struct itimerval grace = {.it_value = {0, PSNAP_CHILD_GRACE_MS * 1000}};

    if (!psnap_deadline_set(deadline, PSNAP_CHILD_GRACE_MS))
        return;
    ending_signal = signal;
    if (cannot_go_on)
        setitimer(ITIMER_REAL, &grace, NULL);
}

static void on_signal(int signal, siginfo_t *info, void *context)
{
    const bool is_terminals = info->si_code > 0;
    const bool is_programs = info->si_code <= 0 && is_of_program(info->si_pid);
    const int saved_errno = errno;

    (void)context;
    if (signal == SIGTERM || signal == SIGHUP || !(is_terminals || is_programs))
        if (child_pid > 0)
            kill((pid_t)child_pid, signal);
    if (signal == SIGTERM || signal == SIGHUP ? !is_programs
        : is_terminals                        ? has_ended()
                                              : !is_programs)
        ask_to_end(signal);
    errno = saved_errno;
}

static void on_end_of_time(int signal)
{
    (void)signal;
    if (child_pid > 0)
        kill((pid_t)child_pid, SIGKILL);
}

static const int passed_on[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP};

enum { PASSED_ON = sizeof passed_on / sizeof *passed_on };

sigset_t psnap_signals_hold(const int *signals, size_t count)
{
    sigset_t held, before;

    sigemptyset(&held);
    for (size_t i = 0; i < count; i++)
        sigaddset(&held, signals[i]);
    sigprocmask(SIG_BLOCK, &held, &before);
    return before;
}

static void arrange_signals(void)
{
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_RESTART | SA_SIGINFO};
    const struct sigaction end = {.sa_handler = on_end_of_time, .sa_flags = SA_RESTART};

    for (size_t i = 0; i < PASSED_ON; i++)
        sigaddset(&action.sa_mask, passed_on[i]);
    for (size_t i = 0; i < PASSED_ON; i++)
        sigaction(passed_on[i], &action, NULL);
    sigaction(SIGALRM, &end, NULL);
}

/* ---- the program ---- */

void psnap_child_prepare(void)
{
    int fd;

    do /* what is meant for stderr must not end up in the profile */
        fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0)
        close(fd);
    file_limit_before = signal(SIGXFSZ, SIG_IGN);
}

/* In the child. */
static int run(const struct psnap_child_start *how, const sigset_t *signals)
{
    if (how->moves_stdout)
        dup2(STDERR_FILENO, STDOUT_FILENO);
    if (how->session)
        setenv(PSNAP_ENV_SESSION, how->session, 1);
    else
        unsetenv(PSNAP_ENV_SESSION);
    if (how->environment)
        how->environment();
    unsetenv(PSNAP_ENV_OUT);
    psnap_cmd_restore_sigpipe();
    signal(SIGXFSZ, file_limit_before);
    sigprocmask(SIG_SETMASK, signals, NULL);
    execvp(how->argv[0], how->argv);
    return errno;
}

pid_t psnap_child_start(const struct psnap_child_start *how, int *failure)
{
    /* they wait until there is a program to pass them on to; the mask is the program's */
    const sigset_t signals = psnap_signals_hold(passed_on, PASSED_ON);
    int report[2];
    pid_t pid = -1;

    *failure = 0;
    if (pipe2(report, O_CLOEXEC) != 0) {
        *failure = errno;
        sigprocmask(SIG_SETMASK, &signals, NULL);
        return -1;
    }
    fflush(NULL);
    pid = fork();
    if (pid == 0) {
        *failure = run(how, &signals);
        (void)!write(report[1], failure, sizeof *failure);
        _exit(127);
    }
    if (pid < 0)
        *failure = errno;
    close(report[1]);
    if (pid > 0 && read(report[0], failure, sizeof *failure) == (ssize_t)sizeof *failure) {
        waitpid(pid, NULL, 0);
        pid = -1;
    }
    close(report[0]);
    if (pid > 0) {
        child_pid = pid;
        cannot_go_on = how->cannot_go_on;
        arrange_signals();
    }
    sigprocmask(SIG_SETMASK, &signals, NULL);
    return pid;
}

/* Until it has ended, or the time is over. */
static void wait_for_child(void)
{
    struct pollfd ended = {.fd = (int)syscall(SYS_pidfd_open, child_pid, 0), .events = POLLIN};

    while (!has_ended() && !psnap_deadline_is_over(deadline))
        poll(&ended, 1, PSNAP_CHILD_GRACE_MS / 4);
    if (ended.fd >= 0)
        close(ended.fd);
}

/* What has ended is in strict mode (1), which kills with SIGKILL, or was killed by a sandbox (3,
 * since Linux 5.17). Before it is waited for. */
static bool is_in_strict_sandbox(pid_t pid)
{
    char path[32], line[64];
    bool found = false;
    FILE *file;

    snprintf(path, sizeof path, "/proc/%ld/status", (long)pid);
    file = fopen(path, "r");
    while (file && !found && fgets(line, sizeof line, file))
        found = !strcmp(line, "Seccomp:\t1\n") || !strcmp(line, "Seccomp:\t3\n");
    if (file)
        fclose(file);
    return found;
}

int psnap_child_reap(const char *command)
{
    int status = 0;
    bool is_strict;

    wait_for_child();
    if (!has_ended()) {
        psnap_print(stderr, "psnap %s: ended by signal %d; process %ld goes on, unrecorded\n",
                    command, (int)ending_signal, (long)child_pid);
        return 128 + (int)ending_signal;
    }
    is_strict = is_in_strict_sandbox((pid_t)child_pid);
    while (waitpid((pid_t)child_pid, &status, 0) < 0 && errno == EINTR)
        ;
    child_pid = 0;
    if (WIFSIGNALED(status) &&
        (WTERMSIG(status) == SIGSYS || (WTERMSIG(status) == SIGKILL && is_strict)))
        psnap_print(
            stderr,
            "psnap %s: the program was killed for a system call in a seccomp sandbox: if it "
            "does not die so by itself, code that was not compiled by psnap cc, or a call "
            "through a pointer, has put it there\n",
            command);
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
