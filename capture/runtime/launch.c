/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A collector of our own, for programs that are started without `psnap record`
 * but with PSNAP_OUT set. It is a grandchild, so that the program has no child
 * to wait for, in a session of its own, so that a terminal's signals miss it,
 * and gets the shared memory as an inherited descriptor.
 */
#include "runtime.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void complain(const char *what)
{
    static const char prefix[] = "psnap: cannot start the collector, not recording: ";
    (void)!write(2, prefix, sizeof prefix - 1);
    (void)!write(2, what, strlen(what));
    (void)!write(2, "\n", 1);
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

static void run_collector(struct psnap_session *session, int fd, pid_t program, const char *command,
                          const char *output)
{
    char fd_text[16], pid_text[16];

    setsid();
    fd = keep_only(fd);
    unsetenv(PSNAP_ENV_OUT);
    unsetenv("LD_PRELOAD");
    snprintf(fd_text, sizeof fd_text, "%d", fd);
    snprintf(pid_text, sizeof pid_text, "%d", (int)program);
    execlp(command, "psnap", "collect", "--fd", fd_text, "--pid", pid_text, "-o", output,
           (char *)NULL);
    complain(command);
    __atomic_store_n(&session->closed, 1, __ATOMIC_SEQ_CST);
    _exit(127);
}

struct psnap_session *psnap_rt_launch(const char *command, const char *output)
{
    const char *wanted = getenv(PSNAP_ENV_COMMAND);
    struct psnap_session *session;
    pid_t program = getpid(), child;
    int fd = memfd_create("psnap", 0); /* inherited by the collector */

    if (fd < 0 || ftruncate(fd, (off_t)PSNAP_SESSION_BYTES) != 0) {
        complain("no shared memory");
        if (fd >= 0)
            close(fd);
        return NULL;
    }
    session = mmap(NULL, PSNAP_SESSION_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (session == MAP_FAILED) {
        complain("no address space");
        close(fd);
        return NULL;
    }
    session->magic = PSNAP_CAPTURE_MAGIC;
    session->abi = PSNAP_CAPTURE_ABI;
    session->program_pid = (uint32_t)program;
    if (wanted && *wanted)
        command = wanted;
    else if (!command || access(command, X_OK) != 0)
        command = "psnap";

    child = fork();
    if (child == 0) {
        if (fork() == 0)
            run_collector(session, fd, program, command, output);
        _exit(0);
    }
    close(fd);
    if (child < 0) {
        complain("no process");
        munmap(session, PSNAP_SESSION_BYTES);
        return NULL;
    }
    waitpid(child, NULL, 0);
    return session;
}
