/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The hub answers processes that ask for a session, through a page of shared memory. For each it
 * forks a collector, which writes files of its own: names are chosen here, so that no two processes
 * of a recording get the same. The first process, unless names depend on it, is `psnap record`'s
 * own; what the collectors of the others say goes through a pipe to stderr while `psnap record` is
 * there.
 *
 * It leads a session of its own, out of reach of the terminal's signals, and stays for processes
 * that outlive `psnap record`: as long as there is one that is recorded, or may still ask
 * (psnap_newcomers_find).
 * Expects Linux: futex and pidfd.
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
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "capture/collect/process.h"
#include "capture/collect/rings.h"
#include "capture/session/cmd_child.h"
#include "formats/base/capture_abi.h"
#include "formats/base/room.h"

enum { LAST_WAIT_MS = 300 };

/* Names of files that are in use. */
struct names {
    char **all;
    size_t count;
    bool force; /* files that are there do not matter */
};

/* A process that has or had a collector. */
struct client {
    pid_t pid, collector;          /* collector 0: it has ended */
    struct psnap_request *request; /* that it was to answer */
};

struct server {
    struct psnap_hub *page;
    const struct psnap_recording *recording;
    pid_t record; /* psnap record */
    int log[2];   /* collectors write, the hub passes on */
    struct names names;
    int fd;            /* of the page, */
    char path[64];     /* of it, for PSNAP_ENV_SESSION, */
    uint64_t inode;    /* and of it */
    int newcomer;      /* pidfd of a process that may ask; -1: none is known */
    bool is_forgotten; /* nobody is left who may ask */
    struct client *clients;
    size_t client_count;
};

/* ---- names ---- */

static bool is_taken(const struct names *names, const char *name)
{
    for (size_t i = 0; i < names->count; i++)
        if (!strcmp(names->all[i], name))
            return true;
    return !names->force && access(name, F_OK) == 0;
}

/* Standard output is the first process's. */
static const char *visible_name(const char *pattern)
{
    return psnap_output_is_stdout(pattern) ? "stdout.psnap" : pattern;
}

static bool is_shared(const char *name)
{
    return !strncmp(name, "/dev/", 5);
}

/* False when out of memory. */
static bool add_name(struct names *names, const char *name)
{
    char *copy =
        psnap_resize(&names->all, names->count + 1, sizeof *names->all) ? strdup(name) : NULL;

    if (copy)
        names->all[names->count++] = copy;
    return copy;
}

/* A name that no other process has, in use from now on; to be freed. NULL when there can be none,
 * which is said, or out of memory. */
static char *choose_name(struct names *names, const char *pattern,
                         const struct psnap_process *process)
{
    struct psnap_error error = {0};
    bool is_late = false;
    char *plain = psnap_name_expand(visible_name(pattern), process, &error), *name = NULL;

    psnap_name_check(pattern, &is_late, NULL);
    if (!plain)
        psnap_cmd_fail("record", &error);
    if (!plain || is_shared(plain))
        return plain;
    for (unsigned n = 0; n < 100000; n++) {
        free(name);
        if ((n == 0   ? asprintf(&name, "%s", plain)
             : n == 1 ? asprintf(&name, "%s.%ld", plain, (long)process->pid)
                      : asprintf(&name, "%s.%ld.%u", plain, (long)process->pid, n)) < 0) {
            name = NULL;
            break;
        }
        if ((is_late || n > 0) && !is_taken(names, name))
            break;
    }
    free(plain);
    if (name && add_name(names, name))
        return name;
    free(name);
    return NULL;
}

/* ---- processes ---- */

/* Adds one to it, and wakes all that wait for that. */
static void ring(uint32_t *futex)
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

static bool has_ended(pid_t pid)
{
    const int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    bool result;

    if (pidfd < 0)
        return errno == ESRCH;
    result = psnap_process_is_over(pidfd);
    close(pidfd);
    return result;
}

/* ---- a collector ---- */

/* Starts a collector for another process, as `psnap record` does for the first one. */
static int collect(const struct server *server, struct psnap_request *request,
                   struct psnap_recording *recording, const struct psnap_process *process)
{
    struct psnap_error error = {0};
    struct psnap_source *capture = psnap_capture_open(-1, &error);
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
        if (recording->is_verbose && !recording->unwritten)
            psnap_recording_summarise(recording, process->pid);
    }
out:
    psnap_recording_release(recording);
    psnap_source_free(capture);
    return result;
}

static void serve_request(struct server *server, struct psnap_request *request)
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
        first->no_profile ? NULL : choose_name(&server->names, first->profile, &process);
    recording.trace = first->trace ? choose_name(&server->names, first->trace, &process) : NULL;
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
        server->clients[server->client_count++] = (struct client){pid, child, request};
    else
        refuse(server->page, request);
    free((void *)(uintptr_t)recording.profile);
    free((void *)(uintptr_t)recording.trace);
    psnap_process_release(&process);
}

/* ---- the hub ---- */

/* Of one who was killed before he could do so himself. Where he did, the slot may be another's by
 * now, who has taken it or asks with it. */
static void free_request(struct psnap_request *request, uint32_t state, pid_t pid)
{
    if (has_ended(pid))
        __atomic_compare_exchange_n(&request->state, &state, PSNAP_REQUEST_FREE, false,
                                    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

static void serve_requests(struct server *server)
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

static void reap_collectors(struct server *server)
{
    int status;
    pid_t pid;

    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
            __atomic_fetch_add(&server->page->failed, 1, __ATOMIC_RELAXED);
        for (size_t i = 0; i < server->client_count; i++) {
            struct client *client = &server->clients[i];
            if (client->collector != pid)
                continue;
            client->collector = 0;
            if (client->request->state == PSNAP_REQUEST_SERVED &&
                client->request->pid == (uint32_t)client->pid) /* it died before it could answer */
                refuse(server->page, client->request);
        }
    }
}

static void pass_on_log(const struct server *server)
{
    char text[4096];
    ssize_t n;

    while ((n = read(server->log[0], text, sizeof text)) > 0)
        (void)!write(STDERR_FILENO, text, (size_t)n);
}

/* Collectors at work; with `only_ended` those of processes that have ended. */
static size_t count_collectors(const struct server *server, bool only_ended)
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
    const struct server *server = context;

    for (size_t i = 0; i < server->client_count; i++)
        if (server->clients[i].pid == pid)
            return true;
    return server->page->first == (uint32_t)pid;
}

/* Returns how many there are that are instrumented and have never asked, when it `counts`. */
static size_t find_newcomers(struct server *server, bool counts)
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
static bool may_end(struct server *server)
{
    if (count_collectors(server, false))
        return false;
    if (!server->is_forgotten && psnap_process_is_over(server->newcomer))
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
static void close_inherited(const struct server *server)
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

/* Serves processes until the last one has ended. */
static void serve(struct server *server)
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
            ring(&page->is_done);
        }
        if (page->is_done && may_end(server))
            return;
        is_busy = count_collectors(server, false) || (is_closing && !page->is_done);
        syscall(SYS_futex, &page->doorbell, FUTEX_WAIT, seen, is_busy ? &patience : &idle, NULL, 0);
    }
}

/* ---- psnap record's side ---- */

static void release(struct psnap_hub_process *hub)
{
    psnap_child_share_deadline(NULL);
    if (hub->page)
        munmap(hub->page, sizeof *hub->page);
    if (hub->fd >= 0)
        close(hub->fd);
    *hub = (struct psnap_hub_process){.fd = -1};
}

static void release_names(struct names *names)
{
    for (size_t i = 0; i < names->count; i++)
        free(names->all[i]);
    free(names->all);
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

enum psnap_status psnap_hub_start(struct psnap_hub_process *hub,
                                  const struct psnap_recording *recording,
                                  struct psnap_error *error)
{
    struct server server = {.recording = recording, .record = getpid(), .newcomer = -1};
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
        add_name(&server.names, recording->profile);
        if (recording->trace)
            add_name(&server.names, recording->trace);
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
        serve(&server);
        _exit(0);
    }
    sigprocmask(SIG_SETMASK, &mask, NULL);
    while (hub->pid > 0 && !__atomic_load_n(&hub->page->pid, __ATOMIC_SEQ_CST) &&
           !psnap_child_has_ended(hub->pid))
        sched_yield();
    release_names(&server.names);
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
        psnap_print(stderr,
                    "psnap record: %" PRIu32
                    " further process%s recorded, in %s.PID; %%p in a name "
                    "stands for PID\n",
                    page->recorded, plural(page->recorded),
                    visible_name(recording->no_profile ? recording->trace : recording->profile));
    if (page->running)
        psnap_print(stderr, "psnap record: %" PRIu32 " process%s\n", page->running,
                    page->running == 1
                        ? " is still running: what is recorded appears when it ends"
                        : "es are still running: what is recorded appears when they end");
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
    ring(&page->doorbell);
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
