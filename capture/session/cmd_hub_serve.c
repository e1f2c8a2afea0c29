/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The hub answers processes that ask for a session. For each it forks a
 * collector, which writes files of its own: names are chosen here, so that no
 * two processes of a recording get the same. The first process, unless names
 * depend on it, is `psnap record`'s own; what the collectors of the others say
 * goes through a pipe to stderr while `psnap record` is there.
 *
 * It leads a session of its own, out of reach of the terminal's signals, and
 * stays for processes that outlive `psnap record`: as long as there is one that is
 * recorded, or may still ask (cmd_newcomers.c).
 * Expects Linux: futex and pidfd.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "capture/session/cmd_hub_parts.h"
#include "capture/session/cmd_newcomers.h"
#include "formats/base/cmd.h"
#include "formats/base/room.h"

/* A process that has or had a collector. */
struct psnap_hub_client {
    pid_t pid, collector;          /* collector 0: it has ended */
    struct psnap_request *request; /* that it was to answer */
};

void psnap_hub_ring(uint32_t *futex)
{
    __atomic_fetch_add(futex, 1, __ATOMIC_SEQ_CST);
    syscall(SYS_futex, futex, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

static void answer(struct psnap_request *request, uint32_t state)
{
    __atomic_store_n(&request->state, state, __ATOMIC_SEQ_CST);
    syscall(SYS_futex, &request->state, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

/* Counted first: who is told so may be the last one that psnap record waits for. */
static void refuse(struct psnap_hub *page, struct psnap_request *request)
{
    __atomic_fetch_add(&page->unrecorded, 1, __ATOMIC_SEQ_CST);
    answer(request, PSNAP_REQUEST_REFUSED);
}

static bool is_over(int pidfd)
{
    struct pollfd ended = {.fd = pidfd, .events = POLLIN};

    return poll(&ended, 1, 0) > 0;
}

static bool has_ended(pid_t pid)
{
    const int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    bool result;

    if (pidfd < 0)
        return errno == ESRCH;
    result = is_over(pidfd);
    close(pidfd);
    return result;
}

/* ------------------------------------------------------------- a collector */

static void say(const struct psnap_recording *recording, pid_t pid)
{
    char digits[32];

    psnap_print(stderr, "psnap record: process %ld: %s accesses", (long)pid,
                psnap_group_digits(recording->accesses, digits));
    if (!recording->no_profile)
        psnap_print(stderr, ", profile in %s", recording->profile);
    if (recording->trace)
        psnap_print(stderr, ", trace in %s", recording->trace);
    fputc('\n', stderr);
}

/* What `psnap record` does for the first process, for another one. */
static int collect(const struct psnap_hub_server *server, struct psnap_request *request,
                   struct psnap_recording *recording, const struct psnap_process *process)
{
    struct psnap_error error = {0};
    struct psnap_source *capture = psnap_capture_new(&error);
    struct psnap_capture_report report;
    enum psnap_status status = capture ? PSNAP_OK : error.code;
    char path[64];
    int result = 1;

    if (!status)
        status = psnap_capture_watch(capture, process->pid, &error);
    if (!status)
        status = psnap_recording_open(recording, &error);
    snprintf(path, sizeof path, "/proc/%ld/exe", (long)process->pid);
    if (!status)
        status = psnap_recording_describe(capture->program, process, path, &error);
    if (status) {
        psnap_cmd_fail("record", &error);
        refuse(server->page, request);
        goto out;
    }
    request->collector = (uint32_t)getpid();
    request->fd = (uint32_t)psnap_capture_fd(capture);
    answer(request, PSNAP_REQUEST_GRANTED);
    psnap_capture_obey(capture, &server->page->deadline);
    recording->builder.deadline = &server->page->deadline;
    status = psnap_recording_run(recording, capture, &error);
    report = psnap_capture_report(capture);
    if (report.modules)
        server->page->modules = 1;
    if (status)
        psnap_cmd_fail("record", &error);
    else if (!report.modules || !report.threads || (report.roi.has_regions && !report.roi.regions))
        result = 0; /* it did nothing that is instrumented: no files */
    else {
        result = psnap_recording_complain(recording, capture);
        if (!recording->unwritten)
            __atomic_fetch_add(&server->page->recorded, 1, __ATOMIC_RELAXED);
        if (server->is_verbose && !recording->unwritten)
            say(recording, process->pid);
    }
out:
    psnap_recording_release(recording);
    psnap_source_free(capture);
    return result;
}

static void serve_request(struct psnap_hub_server *server, struct psnap_request *request)
{
    const struct psnap_recording *first = server->recording;
    struct psnap_recording recording = *first;
    const bool has_room =
        psnap_resize(&server->clients, server->client_count + 1, sizeof *server->clients);
    struct psnap_process process;
    pid_t pid = (pid_t)request->pid, child = -1;

    request->state = PSNAP_REQUEST_SERVED;
    recording.is_further = true;
    recording.spare = first->force ? 0 : pid;
    psnap_process_read(&process, pid);
    recording.profile =
        first->no_profile ? NULL : psnap_hub_names_choose(&server->names, first->profile, &process);
    recording.trace =
        first->trace ? psnap_hub_names_choose(&server->names, first->trace, &process) : NULL;
    if (has_room && process.argv && (recording.profile || first->no_profile) &&
        (recording.trace || !first->trace))
        child = fork();
    if (child == 0) {
        dup2(server->log[1], STDERR_FILENO);
        int result = collect(server, request, &recording, &process);
        fflush(stderr);
        _exit(result);
    }
    if (child > 0)
        server->clients[server->client_count++] = (struct psnap_hub_client){pid, child, request};
    else
        refuse(server->page, request);
    free((void *)(uintptr_t)recording.profile);
    free((void *)(uintptr_t)recording.trace);
    psnap_process_release(&process);
}

/* ------------------------------------------------------------- the hub */

/* Of one who was killed before he could do so himself. Where he did, the slot may be another's by
 * now, who has taken it or asks with it. */
static void free_request(struct psnap_request *request, uint32_t state, pid_t pid)
{
    if (has_ended(pid))
        __atomic_compare_exchange_n(&request->state, &state, PSNAP_REQUEST_FREE, false,
                                    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

static void serve_requests(struct psnap_hub_server *server)
{
    for (unsigned i = 0; i < PSNAP_REQUESTS; i++) {
        struct psnap_request *request = &server->page->requests[i];
        uint32_t state = __atomic_load_n(&request->state, __ATOMIC_SEQ_CST);
        if (state == PSNAP_REQUEST_ASKED)
            serve_request(server, request);
        else if (PSNAP_REQUEST_TAKER(state))
            free_request(request, state, (pid_t)PSNAP_REQUEST_TAKER(state));
        else if (state >= PSNAP_REQUEST_GRANTED)
            free_request(request, state, (pid_t)request->pid);
    }
}

static void reap_collectors(struct psnap_hub_server *server)
{
    int status;
    pid_t pid;

    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
            __atomic_fetch_add(&server->page->failed, 1, __ATOMIC_RELAXED);
        for (size_t i = 0; i < server->client_count; i++) {
            struct psnap_hub_client *client = &server->clients[i];
            if (client->collector != pid)
                continue;
            client->collector = 0;
            if (client->request->state == PSNAP_REQUEST_SERVED &&
                client->request->pid == (uint32_t)client->pid) /* it died before it could answer */
                refuse(server->page, client->request);
        }
    }
}

static void pass_on_log(const struct psnap_hub_server *server)
{
    char text[4096];
    ssize_t n;

    while ((n = read(server->log[0], text, sizeof text)) > 0)
        (void)!write(STDERR_FILENO, text, (size_t)n);
}

/* Collectors at work; with `only_ended` those of processes that have ended. */
static size_t count_collectors(const struct psnap_hub_server *server, bool only_ended)
{
    size_t n = 0;

    for (size_t i = 0; i < server->client_count; i++)
        n += server->clients[i].collector && (!only_ended || has_ended(server->clients[i].pid));
    return n;
}

/* Of those that ask nobody may be left out of what is said at the end. */
static bool is_asked(const struct psnap_hub *page)
{
    for (unsigned i = 0; i < PSNAP_REQUESTS; i++) {
        const uint32_t state = __atomic_load_n(&page->requests[i].state, __ATOMIC_SEQ_CST);
        if (state == PSNAP_REQUEST_ASKED || state == PSNAP_REQUEST_SERVED)
            return true;
    }
    return false;
}

/* It has a collector, or had one. */
static bool is_client(const void *context, pid_t pid)
{
    const struct psnap_hub_server *server = context;

    for (size_t i = 0; i < server->client_count; i++)
        if (server->clients[i].pid == pid)
            return true;
    return server->page->first == (uint32_t)pid;
}

/* Returns how many there are that are instrumented and have never asked, when it `counts`. */
static size_t find_newcomers(struct psnap_hub_server *server, bool counts)
{
    const struct psnap_newcomers found =
        psnap_newcomers_find(server->path, server->inode, counts ? is_client : NULL, server);

    if (server->newcomer >= 0)
        close(server->newcomer);
    server->newcomer = found.one ? (int)syscall(SYS_pidfd_open, found.one, 0) : -1;
    server->is_forgotten = !found.one;
    return found.attached;
}

/* Who is recorded may have children that ask when it has ended itself. */
static bool may_end(struct psnap_hub_server *server)
{
    if (count_collectors(server, false))
        return false;
    if (!server->is_forgotten && (server->newcomer < 0 || is_over(server->newcomer)))
        find_newcomers(server, false);
    return server->is_forgotten;
}

static void on_child(int signal)
{
    (void)signal; /* it interrupts the wait */
}

static void use_null(int first, int last)
{
    int null = open("/dev/null", O_RDWR);

    for (int fd = first; null >= 0 && fd <= last; fd++)
        dup2(null, fd);
    if (null > 2)
        close(null);
}

static bool is_descriptor(const char *name)
{
    return name && (!strncmp(name, "/dev/", 5) || !strncmp(name, "/proc/", 6));
}

/* What we inherited from who started psnap record, who may wait until all of it is closed; a
 * name may stand for one of them. */
static void close_inherited(const struct psnap_hub_server *server)
{
    const int ours[] = {server->fd, server->log[0], server->log[1], server->newcomer};
    int last = STDERR_FILENO;

    if (is_descriptor(server->recording->profile) || is_descriptor(server->recording->trace))
        return;
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
        last = ours[i] > last ? ours[i] : last;
    for (int fd = STDERR_FILENO + 1; fd < last; fd++)
        if (fd != ours[0] && fd != ours[1] && fd != ours[2] && fd != ours[3])
            close(fd);
    syscall(SYS_close_range, (unsigned)last + 1, ~0u, 0u);
}

void psnap_hub_serve(struct psnap_hub_server *server)
{
    const struct timespec patience = {.tv_nsec = 50 * 1000 * 1000}, idle = {.tv_nsec = 500000000};
    const struct sigaction action = {.sa_handler = on_child};
    struct psnap_hub *page = server->page;

    sigaction(SIGCHLD, &action, NULL);
    use_null(0, 1);
    for (;;) {
        uint32_t seen = __atomic_load_n(&page->doorbell, __ATOMIC_SEQ_CST);
        bool is_closing = __atomic_load_n(&page->is_closing, __ATOMIC_SEQ_CST);
        bool is_alone = getppid() != server->record, is_busy, is_told;
        serve_requests(server);
        reap_collectors(server);
        pass_on_log(server);
        /* with a deadline all collectors end soon, whatever their programs do */
        is_told = psnap_deadline_is_set(&page->deadline);
        if ((is_closing || is_alone) && !page->is_done && !count_collectors(server, !is_told) &&
            !is_asked(page)) {
            page->running = (uint32_t)find_newcomers(server, true);
            page->running += (uint32_t)count_collectors(server, false);
            pass_on_log(server);
            use_null(2, 2); /* nobody is there to be told */
            close_inherited(server);
            psnap_hub_ring(&page->is_done);
        }
        if (page->is_done && may_end(server))
            return;
        is_busy = count_collectors(server, false) || (is_closing && !page->is_done);
        syscall(SYS_futex, &page->doorbell, FUTEX_WAIT, seen, is_busy ? &patience : &idle, NULL, 0);
    }
}
