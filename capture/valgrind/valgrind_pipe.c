/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lackey prints each line with a write of its own, into a pipe.
 *
 * The pipe starts small and almost full (Valgrind writes at most 128 bytes at
 * once). So the program cannot have ended when its mappings are first read. The
 * reader sleeps when there is little to read: waking it up for each line would
 * cost more than the line.
 */
#include "capture/valgrind/valgrind_pipe.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "capture/collect/find_program.h"

enum {
    READ_BYTES = 1 << 16,
    PIPE_BYTES = 1 << 18, /* fewer switches between the two; more, and its mappings lag behind */
    LINE_BYTES = 256,     /* longer ones are no lackey's */
    PIPE_START = 4096,    /* bytes of the pipe until the mappings are read */
    PIPE_FREE = 1024      /* of these, free: about 40 lines */
};

/* A pipe of PIPE_START bytes, of which PIPE_FREE are not filled with empty lines. */
static enum psnap_status make_pipe(struct psnap_valgrind_pipe *pipe, struct psnap_error *error)
{
    char lines[PIPE_START - PIPE_FREE];

    memset(lines, '\n', sizeof lines);
    if (pipe2(pipe->ends, O_CLOEXEC) != 0 || fcntl(pipe->ends[1], F_SETPIPE_SZ, PIPE_START) < 0 ||
        write(pipe->ends[1], lines, sizeof lines) != (ssize_t)sizeof lines ||
        fcntl(pipe->ends[1], F_SETFD, 0) != 0) /* for Valgrind alone: closed when it has started */
        return psnap_error_system(error, errno, "cannot make a pipe for valgrind");
    return PSNAP_OK;
}

enum psnap_status psnap_valgrind_pipe_init(struct psnap_valgrind_pipe *pipe,
                                           struct psnap_error *error)
{
    *pipe = (struct psnap_valgrind_pipe){.ends = {-1, -1}};
    pipe->text = malloc(READ_BYTES + LINE_BYTES);
    if (!pipe->text)
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    if (!psnap_find_program("valgrind", pipe->path, sizeof pipe->path))
        return psnap_error_set(error, PSNAP_ERROR_UNSUPPORTED,
                               "valgrind is not installed (Debian package valgrind)");
    return make_pipe(pipe, error);
}

static void close_end(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

void psnap_valgrind_pipe_release(struct psnap_valgrind_pipe *pipe)
{
    close_end(&pipe->ends[0]);
    close_end(&pipe->ends[1]);
    free(pipe->text);
}

char **psnap_valgrind_pipe_command(struct psnap_valgrind_pipe *pipe, char **argv)
{
    static const char *const options[] = {"--command-line-only=yes",
                                          "--tool=lackey",
                                          "--trace-mem=yes",
                                          "--basic-counts=no",
                                          "--trace-sched=yes",
                                          "--child-silent-after-fork=yes",
                                          "--vgdb=no",
                                          "-q"};
    const size_t option_count = sizeof options / sizeof *options;
    size_t count = 0;
    char **command;

    while (argv[count])
        count++;
    command = malloc((option_count + count + 4) * sizeof *command);
    if (!command)
        return NULL;
    snprintf(pipe->log_option, sizeof pipe->log_option, "--log-fd=%d", pipe->ends[1]);
    command[0] = pipe->path;
    memcpy(command + 1, options, sizeof options);
    command[option_count + 1] = pipe->log_option;
    command[option_count + 2] = "--";
    memcpy(command + option_count + 3, argv, (count + 1) * sizeof *argv);
    return command;
}

void psnap_valgrind_pipe_watch(struct psnap_valgrind_pipe *pipe, pid_t pid)
{
    close_end(&pipe->ends[1]);
    pipe->pid = pid;
    pipe->has_ended = !pid;
}

static void pause_ms(long ms)
{
    const struct timespec time = {0, ms * 1000000};
    nanosleep(&time, NULL);
}

static bool program_has_ended(const struct psnap_valgrind_pipe *pipe)
{
    siginfo_t about = {0};

    return waitid(P_PID, (id_t)pipe->pid, &about, WEXITED | WNOHANG | WNOWAIT) != 0 ||
           about.si_pid == pipe->pid;
}

bool psnap_valgrind_pipe_wait(struct psnap_valgrind_pipe *pipe)
{
    int waiting = 0;

    while (ioctl(pipe->ends[0], FIONREAD, &waiting) == 0 && waiting <= PIPE_START - PIPE_FREE) {
        if (program_has_ended(pipe))
            return false; /* it cannot be run, and Valgrind has said why */
        pause_ms(1);
    }
    return true;
}

void psnap_valgrind_pipe_open(struct psnap_valgrind_pipe *pipe)
{
    fcntl(pipe->ends[0], F_SETPIPE_SZ, PIPE_BYTES);
    fcntl(pipe->ends[0], F_SETFL, O_NONBLOCK);
}

/* More text behind what is there; sets has_ended when nothing will come. */
static enum psnap_status read_text(struct psnap_valgrind_pipe *pipe, struct psnap_error *error)
{
    bool had_ended = false;
    ssize_t n;

    memmove(pipe->text, pipe->text + pipe->at, pipe->end - pipe->at);
    pipe->end -= pipe->at;
    pipe->at = 0;
    for (;;) {
        n = read(pipe->ends[0], pipe->text + pipe->end, READ_BYTES);
        if (n > 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
            break;
        if (n == 0 || had_ended) {
            pipe->has_ended = true;
            return PSNAP_OK;
        }
        had_ended = program_has_ended(pipe); /* its children may keep the pipe open */
        if (!had_ended)
            pause_ms(1);
    }
    if (n < 0)
        return psnap_error_system(error, errno, "cannot read what valgrind prints");
    pipe->end += (size_t)n;
    if (n < READ_BYTES / 4)
        pause_ms(1);
    return PSNAP_OK;
}

enum psnap_status psnap_valgrind_pipe_line(struct psnap_valgrind_pipe *pipe, char **line,
                                           size_t *length, struct psnap_error *error)
{
    enum psnap_status status = PSNAP_OK;

    *length = 0;
    while (!status && !pipe->has_ended) {
        const size_t left = pipe->end - pipe->at;
        const char *end;
        *line = pipe->text + pipe->at;
        end = memchr(*line, '\n', left);
        if (end) {
            pipe->at += (size_t)(end - *line) + 1;
            *length = pipe->is_in_long_line ? 0 : (size_t)(end - *line);
            pipe->is_in_long_line = false;
            break;
        }
        if (left >= LINE_BYTES) { /* pass over it, part by part */
            pipe->at = pipe->end;
            pipe->is_in_long_line = true;
        }
        status = read_text(pipe, error);
    }
    return status;
}

void psnap_valgrind_pipe_drain(struct psnap_valgrind_pipe *pipe)
{
    struct psnap_error error;

    psnap_valgrind_pipe_open(pipe);
    while (!pipe->has_ended) {
        pipe->at = pipe->end;
        if (read_text(pipe, &error))
            break;
    }
}
