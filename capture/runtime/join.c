/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How a process gets a session: from the hub, whose page of shared memory the
 * environment names. The first process takes the session that is there; all
 * others, children by fork among them, ask and wait until a collector of their
 * own grants one. No file stays open: sessions and hub are mapped through
 * /proc/PID/fd.
 *
 * Processes are known by the numbers that /proc shows them by: in another PID namespace getpid() is
 * not one that the hub could use. Where /proc is not the hub's either (a container has its own,
 * what chroot leads to may have none) nobody can say who we are: such a process is not recorded,
 * which is counted.
 */
#include "runtime.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

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
