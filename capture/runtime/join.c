/* SPDX-License-Identifier: BSD-3-Clause */
/*

 *

 */
#include "runtime.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { COLLECTOR_BEGINS_MS = 60000 }; /* at most */

static struct psnap_hub *hub;

uint32_t psnap_rt_self(void)
{
    char text[16] = "";
    uint32_t pid = 0;

    if (readlink("/proc/self", text, sizeof text - 1) > 0)
        for (const char *at = text; *at >= '0' && *at <= '9'; at++)
            pid = pid * 10 + (uint32_t)(*at - '0');
    return pid ? pid : (uint32_t)getpid();
}

static struct psnap_session *open_session(uint32_t pid, uint32_t number)
{
    struct psnap_session *session;
    char path[64];
    int fd;

    snprintf(path, sizeof path, "/proc/%u/fd/%u", (unsigned)pid, (unsigned)number);
    fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    session = psnap_rt_map_session(fd);
    close(fd);
    if (session && (session->magic != PSNAP_CAPTURE_MAGIC || session->abi != PSNAP_CAPTURE_ABI)) {
        psnap_rt_unmap_session(session);
        session = NULL;
    }
    return session;
}

/* /proc shows processes by the numbers that the hub knows. */
static bool is_proc_the_hubs(void)
{
    struct stat about;
    char path[64];

    snprintf(path, sizeof path, "/proc/%u/fd/%u", (unsigned)hub->pid, (unsigned)hub->fd);
    return stat(path, &about) == 0 && (uint64_t)about.st_ino == hub->inode;
}

/* A slot to ask with; NULL when the hub has died. */
static struct psnap_request *take_request(void)
{
    const struct timespec moment = {.tv_nsec = 1000 * 1000};
    const uint32_t taken = PSNAP_REQUEST_TAKEN_BY(psnap_rt_self());

    for (;;) {
        for (unsigned i = 0; i < PSNAP_REQUESTS; i++) {
            uint32_t state = PSNAP_REQUEST_FREE;
            if (__atomic_compare_exchange_n(&hub->requests[i].state, &state, taken, false,
                                            __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
                return &hub->requests[i];
        }
        if (psnap_alive_has_ended(&hub->server))
            return NULL;
        nanosleep(&moment, NULL);
    }
}

/* *is_refused: the hub has counted it. */
static struct psnap_session *ask(bool *is_refused)
{
    const struct timespec patience = {.tv_nsec = 100 * 1000 * 1000};
    struct psnap_request *mine = take_request();
    struct psnap_session *session = NULL;
    uint32_t state;

    if (!mine)
        return NULL;
    mine->pid = psnap_rt_self();
    __atomic_store_n(&mine->state, PSNAP_REQUEST_ASKED, __ATOMIC_SEQ_CST);
    __atomic_fetch_add(&hub->doorbell, 1, __ATOMIC_SEQ_CST);
    syscall(SYS_futex, &hub->doorbell, FUTEX_WAKE, 1, NULL, NULL, 0);
    for (;;) {
        state = __atomic_load_n(&mine->state, __ATOMIC_SEQ_CST);
        if (state == PSNAP_REQUEST_GRANTED || state == PSNAP_REQUEST_REFUSED)
            break;
        if (syscall(SYS_futex, &mine->state, FUTEX_WAIT, state, &patience, NULL, 0) != 0 &&
            errno == ETIMEDOUT && psnap_alive_has_ended(&hub->server))
            break;
    }
    *is_refused = state == PSNAP_REQUEST_REFUSED;
    if (state == PSNAP_REQUEST_GRANTED)
        session = open_session(mine->collector, mine->fd);
    __atomic_store_n(&mine->state, PSNAP_REQUEST_FREE, __ATOMIC_SEQ_CST);
    return session;
}

bool psnap_rt_open_hub(const char *path)
{
    extern char *program_invocation_short_name;
    int fd = open(path, O_RDWR | O_CLOEXEC);
    struct stat about;

    if (fd < 0)
        return false;
    if (fstat(fd, &about) == 0 && (size_t)about.st_size == sizeof *hub)
        hub = psnap_rt_map_shared(fd, sizeof *hub);
    close(fd);
    if (!hub || hub == MAP_FAILED || hub->magic != PSNAP_HUB_MAGIC) {
        hub = NULL;
        return false;
    }
    if (hub->abi != PSNAP_CAPTURE_ABI) {
        strncpy(hub->refused, program_invocation_short_name, sizeof hub->refused - 1);
        __atomic_store_n(&hub->refused_abi, PSNAP_CAPTURE_ABI, __ATOMIC_RELEASE);
        return false;
    }
    return true;
}

void psnap_rt_refuse(void)
{
    if (hub)
        __atomic_fetch_add(&hub->unrecorded, 1, __ATOMIC_RELAXED);
    else if (!psnap_rt_is_quiet())
        psnap_rt_say("psnap: a child is not recorded: ", "no memory");
}

/* The first session, when it is still to be had. Where this process cannot have it (whose it is may
 * have given up) another may. */
static struct psnap_session *take_first(void)
{
    uint32_t nobody = 0, me = psnap_rt_self();
    struct psnap_session *session;

    if (!__atomic_compare_exchange_n(&hub->first, &nobody, me, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_RELAXED))
        return NULL;
    session = open_session(hub->session_pid, hub->session_fd);
    if (!session)
        __atomic_compare_exchange_n(&hub->first, &me, 0, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
    return session;
}

struct psnap_session *psnap_rt_join(void)
{
    struct psnap_session *session = NULL;
    bool is_refused = false;

    if (!hub)
        return NULL;
    if (is_proc_the_hubs()) {
        session = take_first();
        if (!session)
            session = ask(&is_refused);
    }
    if (session) {
        if (readlink("/proc/self/exe", session->program, sizeof session->program - 1) < 0)
            session->program[0] = '\0';
        __atomic_store_n(&session->program_pid, psnap_rt_self(), __ATOMIC_RELEASE);
    } else if (!is_refused)
        psnap_rt_refuse();
    return session;
}

/* ---- a collector of our own ---- */

void psnap_rt_say(const char *text, const char *what)
{
    (void)!write(2, text, strlen(text));
    (void)!write(2, what, strlen(what));
    (void)!write(2, "\n", 1);
}

static void complain(const char *what)
{
    psnap_rt_say("psnap: cannot start the collector, not recording: ", what);
}

/* The collector keeps none of the program's files open but stderr: whoever reads the other end
 * of a pipe is to see it end with the program. Returns where `fd` is now. */
static int keep_only(int fd)
{
    int null = open("/dev/null", O_RDWR);

    fd = fcntl(fd, F_DUPFD, 3);
    dup2(null, 0);
    dup2(null, 1);
    if (fcntl(2, F_GETFD) < 0)
        dup2(null, 2);
    if (fd > 3)
        syscall(SYS_close_range, 3u, (unsigned)fd - 1, 0u);
    syscall(SYS_close_range, (unsigned)fd + 1, ~0u, 0u);
    return fd;
}

/* The environment without what is not for the collector. */
static char **own_environment(void)
{
    static char *room[1024]; /* the program's stack may be small */
    const size_t count = sizeof room / sizeof *room;
    size_t n = 0;

    for (char **at = environ; at && *at && n + 1 < count; at++) /* clearenv() leaves NULL */
        if (strncmp(*at, PSNAP_ENV_OUT "=", sizeof PSNAP_ENV_OUT) != 0 &&
            strncmp(*at, "LD_PRELOAD=", 11) != 0)
            room[n++] = *at;
    room[n] = NULL;
    return room;
}

static void run_collector(int fd, pid_t program, const char *command, const char *output,
                          bool is_child)
{
    char fd_text[16], pid_text[16];
    char *arguments[] = {"psnap",
                         "collect",
                         "--fd",
                         fd_text,
                         "--pid",
                         pid_text,
                         "-o",
                         (char *)(uintptr_t)output,
                         is_child ? "--further" : NULL,
                         NULL};

    setsid();
    fd = keep_only(fd);
    snprintf(fd_text, sizeof fd_text, "%d", fd);
    snprintf(pid_text, sizeof pid_text, "%d", (int)program);
    execvpe(command, arguments, own_environment());
    _exit(127);
}

/* The shared memory; a limit on file sizes is no reason to die of SIGXFSZ, which is blocked. */
static int create_memory(void)
{
    const struct timespec at_once = {0, 0};
    sigset_t file_size;
    int fd = memfd_create(PSNAP_SESSION_NAME, 0); /* inherited by the collector */
    uint64_t rings = PSNAP_RINGS;

    sigemptyset(&file_size);
    sigaddset(&file_size, SIGXFSZ);
    while (fd >= 0 && ftruncate(fd, (off_t)PSNAP_SESSION_BYTES(rings)) != 0) {
        sigtimedwait(&file_size, NULL, &at_once);
        rings /= 2;
        if (rings < PSNAP_RINGS_LEAST) {
            close(fd);
            fd = -1;
        }
    }
    return fd;
}

/* fork without its handlers, which may be waiting for locks that we hold, and without SIGCHLD. */
static pid_t plain_fork(void)
{
    return (pid_t)syscall(SYS_clone, 0ul, NULL, NULL, NULL, NULL);
}

/* Whether orphans become ours. */
static bool is_reaper(void)
{
    int is_chosen = 0;

    return getpid() == 1 || (prctl(PR_GET_CHILD_SUBREAPER, &is_chosen) == 0 && is_chosen);
}

/* The child in between stays, with nothing open, until its child has ended. */
static void outlive(struct psnap_session *session, pid_t collector)
{
    setsid();
    syscall(SYS_close_range, 0u, ~0u, 0u);
    psnap_rt_unmap_session(session);
    while (waitpid(collector, NULL, __WALL) < 0 && errno == EINTR)
        ;
}

/* A child that nobody waits for, so that what the program has waited for (getrusage) does not grow.
 */
static bool has_ended(pid_t child)
{
    siginfo_t about = {0};

    return waitid(P_PID, (id_t)child, &about, WEXITED | WNOHANG | WNOWAIT | __WALL) != 0 ||
           about.si_pid;
}

static bool is_process(pid_t pid)
{
    struct pollfd ended = {.events = POLLIN};
    bool is_alive;

    ended.fd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (ended.fd < 0)
        return kill(pid, 0) == 0 || errno == EPERM;
    is_alive = poll(&ended, 1, 0) <= 0; /* a signal is no sign of death */
    close(ended.fd);
    return is_alive;
}

/* Waits until the collector has given its sign of life, by which it is known to be there from then
 * on; false when there will be none. */
static bool has_begun(const struct psnap_session *session, pid_t child)
{
    const struct timespec moment = {.tv_nsec = 1000 * 1000};

    for (int ms = 0; ms < COLLECTOR_BEGINS_MS; ms++) {
        const bool is_child_gone = has_ended(child); /* first: it says who the collector is */
        const uint32_t pid = __atomic_load_n(&session->collector_pid, __ATOMIC_ACQUIRE);
        const bool is_gone = pid ? !is_process((pid_t)pid) : is_child_gone;
        if (psnap_alive_has_begun(&session->collector))
            return true;
        if (is_gone)
            return false;
        nanosleep(&moment, NULL);
    }
    return false;
}

/* The child in between says who the collector is, and is left as a zombie, which wait() does not
 * see when it was made by plain_fork(). A collector that would become the program's child, whom the
 * program may wait for before it ends, keeps it for a parent. False when there is none. */
static bool start_collector(struct psnap_session *session, int fd, const char *command,
                            const char *output, bool is_child)
{
    const bool stays = is_reaper();
    pid_t program = getpid(), child = plain_fork();

    if (child == 0) {
        pid_t collector = plain_fork();
        if (collector == 0)
            run_collector(fd, program, command, output, is_child);
        uint32_t nobody = 0; /* or who it says it is */
        if (collector > 0)
            __atomic_compare_exchange_n(&session->collector_pid, &nobody, (uint32_t)collector,
                                        false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
        if (collector > 0 && stays)
            outlive(session, collector);
        _exit(0);
    }
    return child > 0 && has_begun(session, child);
}

struct psnap_session *psnap_rt_launch(const char *command, const char *output, bool is_child)
{
    const char *wanted = secure_getenv(PSNAP_ENV_COMMAND);
    struct psnap_session *session;
    int fd;

    if (psnap_rt_self() != (uint32_t)getpid()) {
        complain("/proc shows another PID namespace");
        return NULL;
    }
    fd = create_memory();
    if (fd < 0) {
        complain("no shared memory");
        return NULL;
    }
    session = psnap_rt_map_session(fd);
    if (!session) {
        complain("no address space");
        close(fd);
        return NULL;
    }
    session->magic = PSNAP_CAPTURE_MAGIC;
    session->abi = PSNAP_CAPTURE_ABI;
    session->ring_count = psnap_rt_ring_count;
    session->program_pid = (uint32_t)getpid();
    if (wanted && *wanted)
        command = wanted;
    else if (!command || access(command, X_OK) != 0)
        command = "psnap";
    if (!start_collector(session, fd, command, output, is_child)) {
        complain(command);
        psnap_rt_unmap_session(session);
        session = NULL;
    }
    close(fd);
    return session;
}
