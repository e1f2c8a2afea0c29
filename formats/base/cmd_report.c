/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How commands end: messages on stderr as "psnap COMMAND: message", exit
 * statuses, and the closing look at stdout without which a full disk or a
 * closed pipe would pass for success. A closed pipe ends a command in silence.
 */
#include "formats/base/cmd.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

static void (*sigpipe_before)(int) = SIG_DFL;

int psnap_cmd_fail(const char *command, const struct psnap_error *error)
{
    char text[1024];

    if (error->code == PSNAP_ERROR_CLOSED)
        return PSNAP_EXIT_CLOSED;
    fprintf(stderr, "psnap %s: %s\n", command, psnap_error_format(error, text, sizeof text));
    return error->code == PSNAP_ERROR_USAGE ? PSNAP_EXIT_USAGE : PSNAP_EXIT_FAILED;
}

void psnap_cmd_warn(const struct psnap_error *error)
{
    char text[1024];

    fprintf(stderr, "psnap: warning: %s\n", psnap_error_format(error, text, sizeof text));
}

int psnap_cmd_usage(const char *command, const char *format, ...)
{
    va_list arguments;

    fprintf(stderr, "psnap %s: ", command);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fprintf(stderr, "\n'psnap %s --help' says how it is used\n", command);
    return PSNAP_EXIT_USAGE;
}

void psnap_cmd_ignore_sigpipe(void)
{
    sigpipe_before = signal(SIGPIPE, SIG_IGN);
}

void psnap_cmd_restore_sigpipe(void)
{
    signal(SIGPIPE, sigpipe_before);
}

int psnap_cmd_close_stdout(const char *command, int status)
{
    const bool failed_before = ferror(stdout); /* whose reason is gone, but for a closed pipe */
    struct pollfd pipe = {.fd = STDOUT_FILENO, .events = POLLOUT};
    struct psnap_error error;

    if (fflush(stdout))
        psnap_error_system(&error, errno, "cannot write standard output");
    else if (failed_before && poll(&pipe, 1, 0) == 1 && (pipe.revents & POLLERR))
        psnap_error_system(&error, EPIPE, "cannot write standard output");
    else if (failed_before)
        psnap_error_set(&error, PSNAP_ERROR_IO, "cannot write standard output");
    else
        return status;
    return psnap_cmd_fail(command, &error);
}
