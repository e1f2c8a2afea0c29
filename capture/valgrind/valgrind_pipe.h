/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Valgrind's lackey as a process: its command, and the pipe with the lines it
 * prints.
 */
#ifndef PSNAP_CAPTURE_VALGRIND_VALGRIND_PIPE_H
#define PSNAP_CAPTURE_VALGRIND_VALGRIND_PIPE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "formats/base/status.h"

struct psnap_valgrind_pipe {
    int ends[2]; /* read, write; -1: closed */
    pid_t pid;
    char path[4096], log_option[32];
    char *text; /* read and not taken: [at, end) */
    size_t at, end;
    bool is_in_long_line;
    bool has_ended; /* nothing will come */
};

/* PSNAP_ERROR_UNSUPPORTED when valgrind is not installed. To be released in any case. */
enum psnap_status psnap_valgrind_pipe_init(struct psnap_valgrind_pipe *pipe,
                                           struct psnap_error *error);
void psnap_valgrind_pipe_release(struct psnap_valgrind_pipe *pipe);

/* As psnap_valgrind_command and psnap_valgrind_watch. */
char **psnap_valgrind_pipe_command(struct psnap_valgrind_pipe *pipe, char **argv);
void psnap_valgrind_pipe_watch(struct psnap_valgrind_pipe *pipe, pid_t pid);

/* Waits until the program runs, which it will not do for long without psnap_valgrind_pipe_open;
 * false when it has ended before. */
bool psnap_valgrind_pipe_wait(struct psnap_valgrind_pipe *pipe);
void psnap_valgrind_pipe_open(struct psnap_valgrind_pipe *pipe);

/* The next line, of `length` bytes and '\n'; none (length 0) where it was too long or nothing will
 * come any more. Valid until the next call. */
enum psnap_status psnap_valgrind_pipe_line(struct psnap_valgrind_pipe *pipe, char **line,
                                           size_t *length, struct psnap_error *error);

/* Reads to the end and throws it away. */
void psnap_valgrind_pipe_drain(struct psnap_valgrind_pipe *pipe);

#endif
