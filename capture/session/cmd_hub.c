/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * psnap record's side of the hub: the page of shared memory, the process that serves
 * (cmd_hub_serve.c), and what is said of it in the end.
 */
#include "capture/session/cmd_hub.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "capture/collect/alive.h"
#include "capture/session/cmd_child.h"
#include "capture/session/cmd_hub_parts.h"

enum { LAST_WAIT_MS = 300 };

static void release(struct psnap_hub_process *hub)
{
    psnap_child_share_deadline(NULL);
    if (hub->page)
        munmap(hub->page, sizeof *hub->page);
    if (hub->fd >= 0)
        close(hub->fd);
    *hub = (struct psnap_hub_process){.fd = -1};
}

static void name_page(char path[64], pid_t hub, int fd)
{
    snprintf(path, 64, "/proc/%ld/fd/%d", (long)hub, fd);
}

/* What a terminal sends to all that it has started. */
static const int terminal_signals[] = {SIGINT, SIGQUIT, SIGHUP, SIGTSTP};

enum { TERMINAL_SIGNALS = sizeof terminal_signals / sizeof *terminal_signals };

/* The hub leads a session of its own; what came until it did is not for it. */
static void leave_terminal(const sigset_t *mask)
{
    for (size_t i = 0; i < TERMINAL_SIGNALS; i++)
        signal(terminal_signals[i], SIG_IGN); /* those that wait are dropped */
    setsid();
    for (size_t i = 0; i < TERMINAL_SIGNALS; i++)
        signal(terminal_signals[i], SIG_DFL);
    sigprocmask(SIG_SETMASK, mask, NULL);
}

/* Processes find the page by a number of ours that /proc knows. */
static bool is_proc_ours(void)
{
    char text[16] = "";

    return readlink("/proc/self", text, sizeof text - 1) > 0 &&
           strtol(text, NULL, 10) == (long)getpid();
}

static bool has_died(pid_t child)
{
    siginfo_t about = {0};

    return waitid(P_PID, (id_t)child, &about, WEXITED | WNOHANG | WNOWAIT) != 0 || about.si_pid;
}

enum psnap_status psnap_hub_start(struct psnap_hub_process *hub,
                                  const struct psnap_recording *recording, bool is_verbose,
                                  struct psnap_error *error)
{
    struct psnap_hub_server server = {
        .recording = recording, .is_verbose = is_verbose, .record = getpid(), .newcomer = -1};
    struct stat about = {0};
    void *page = MAP_FAILED;
    sigset_t mask;

    *hub = (struct psnap_hub_process){.fd = -1};
    if (!is_proc_ours())
        return psnap_error_set(error, PSNAP_ERROR_IO,
                               "/proc is not there, or shows another PID namespace (mount one for "
                               "this namespace, as 'unshare --mount-proc' does)");
    hub->fd = memfd_create(PSNAP_HUB_NAME, MFD_CLOEXEC);
    if (hub->fd >= 0 && ftruncate(hub->fd, sizeof *hub->page) == 0)
        page = mmap(NULL, sizeof *hub->page, PROT_READ | PROT_WRITE, MAP_SHARED, hub->fd, 0);
    if (page == MAP_FAILED || fstat(hub->fd, &about) != 0 ||
        pipe2(server.log, O_CLOEXEC | O_NONBLOCK) != 0) {
        psnap_error_system(error, errno, "cannot create shared memory");
        release(hub);
        return error->code;
    }
    hub->page = server.page = page;
    hub->page->magic = PSNAP_HUB_MAGIC;
    hub->page->abi = PSNAP_CAPTURE_ABI;
    hub->page->fd = (uint32_t)hub->fd;
    hub->page->inode = about.st_ino;
    hub->page->first = (uint32_t)getpid(); /* nobody's yet, and not to be had */
    fcntl(server.log[1], F_SETFL, 0);      /* collectors wait until the hub has read */
    server.names.force = recording->force;
    if (recording->profile && !recording->is_late) {
        psnap_hub_names_add(&server.names, recording->profile);
        if (recording->trace)
            psnap_hub_names_add(&server.names, recording->trace);
    }
    fflush(NULL);
    mask = psnap_signals_hold(terminal_signals, TERMINAL_SIGNALS);
    hub->pid = fork();
    if (hub->pid == 0) {
        leave_terminal(&mask);
        psnap_alive_begin(&hub->page->server);
        __atomic_store_n(&hub->page->pid, (uint32_t)getpid(), __ATOMIC_SEQ_CST);
        name_page(server.path, getpid(), hub->fd);
        server.fd = hub->fd;
        server.inode = about.st_ino;
        psnap_hub_serve(&server);
        _exit(0);
    }
    sigprocmask(SIG_SETMASK, &mask, NULL);
    while (hub->pid > 0 && !__atomic_load_n(&hub->page->pid, __ATOMIC_SEQ_CST) &&
           !has_died(hub->pid))
        sched_yield();
    psnap_hub_names_release(&server.names);
    close(server.log[0]);
    close(server.log[1]);
    if (hub->pid < 0) {
        psnap_error_system(error, errno, "cannot start a process");
        release(hub);
        return error->code;
    }
    hub->page->pid = (uint32_t)hub->pid;
    name_page(hub->path, hub->pid, hub->fd);
    return PSNAP_OK;
}

void psnap_hub_offer(struct psnap_hub_process *hub, struct psnap_source *capture)
{
    hub->page->session_pid = (uint32_t)getpid();
    hub->page->session_fd = (uint32_t)psnap_capture_fd(capture);
    __atomic_store_n(&hub->page->first, 0, __ATOMIC_SEQ_CST);
    psnap_capture_offer(capture, &hub->page->first);
}

bool psnap_hub_has_refused(const struct psnap_hub_process *hub)
{
    return hub->page->unrecorded || hub->page->refused_abi;
}

static const char *plural(uint32_t n)
{
    return n == 1 ? "" : "es";
}

static bool complain(const struct psnap_hub *page, const struct psnap_recording *recording)
{
    if (page->recorded && !recording->is_late)
        psnap_print(
            stderr,
            "psnap record: %" PRIu32 " further process%s recorded, in %s.PID; %%p in a name "
            "stands for PID\n",
            page->recorded, plural(page->recorded),
            psnap_hub_visible_name(recording->no_profile ? recording->trace : recording->profile));
    if (page->running)
        psnap_print(stderr,
                    "psnap record: %" PRIu32
                    " process%s still running: what is recorded appears when "
                    "%s\n",
                    page->running, page->running == 1 ? " is" : "es are",
                    page->running == 1 ? "it ends" : "they end");
    if (page->unrecorded)
        psnap_print(stderr, "psnap record: %" PRIu32 " process%s could not be recorded\n",
                    page->unrecorded, plural(page->unrecorded));
    if (page->refused_abi)
        psnap_print(stderr,
                    "psnap record: '%.*s' was linked with version %" PRIu32
                    " of the capture ABI, this is %d: it was not recorded; compile and link it "
                    "again\n",
                    (int)sizeof page->refused - 1, page->refused, page->refused_abi,
                    PSNAP_CAPTURE_ABI);
    if (recording->is_late && !page->recorded && !page->failed && !page->unrecorded &&
        !page->refused_abi && !page->running) {
        if (page->modules)
            fprintf(stderr, "psnap record: no instrumented code has run, there is no profile\n");
        else
            psnap_recording_say_not_instrumented(recording);
        return true;
    }
    return page->unrecorded || page->failed || page->refused_abi;
}

/* A moment; true when all is done, or the hub has died. */
static bool wait_for_collectors(const struct psnap_hub_process *hub)
{
    const struct timespec patience = {.tv_nsec = 50 * 1000 * 1000};

    syscall(SYS_futex, &hub->page->is_done, FUTEX_WAIT, 0, &patience, NULL, 0);
    return __atomic_load_n(&hub->page->is_done, __ATOMIC_SEQ_CST) ||
           waitpid(hub->pid, NULL, WNOHANG) != 0;
}

bool psnap_hub_finish(struct psnap_hub_process *hub, const struct psnap_recording *recording)
{
    const struct psnap_deadline *deadline = psnap_child_deadline();
    struct psnap_deadline last = {0}; /* for collectors, from when we are to end */
    struct psnap_hub *page = hub->page;
    bool is_missing;

    if (!page)
        return false;
    __atomic_store_n(&page->is_closing, 1, __ATOMIC_SEQ_CST);
    psnap_hub_ring(&page->doorbell);
    while (!wait_for_collectors(hub))
        if (psnap_deadline_is_set(deadline) && !psnap_deadline_set(&last, LAST_WAIT_MS) &&
            psnap_deadline_is_over(&last)) {
            fprintf(stderr,
                    "psnap record: what further processes have done is still being written: "
                    "the files appear when that is done\n");
            release(hub);
            return false;
        }
    is_missing = complain(page, recording);
    if (!page->is_done) {
        fprintf(stderr, "psnap record: the process that serves further ones has died: they may be "
                        "missing\n");
        is_missing = true;
    }
    release(hub);
    return is_missing;
}
