/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * psnap run: starts another program and feeds it a stream, in any format that can be written: on
 * its standard input, or through a FIFO, whose name stands where an argument has {}. It ends with
 * that program's exit status; a signal that ends psnap ends it, too.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "formats/base/cmd.h"
#include "formats/formats.h"
#include "replay/cmd_export.h"
#include "replay/cmd_input.h"
#include "replay/cmd_run_signals.h"

enum { NOT_FOUND = 127, NOT_EXECUTABLE = 126, PIPE_BYTES = 1 << 20 };
#define PLACE "{}"

struct request {
    const char *input, *format;
    struct psnap_export_wish wish;
    struct psnap_export export;
    struct psnap_input_options options;
    char **consumer; /* its command line, NULL behind the last word */
};

/* Where the stream goes. */
struct feed {
    char *folder, *fifo; /* NULL: to standard input */
    char **arguments;    /* the consumer's, with the FIFO's name in them */
    pid_t child;
    int pipe; /* to its standard input, or -1 */
};

static bool has_place(char **words)
{
    for (; *words; words++)
        if (strstr(*words, PLACE))
            return true;
    return false;
}

/* A word with the FIFO's name for each {}. */
static char *filled(const char *word, const char *fifo)
{
    char *text = NULL;
    size_t size;
    FILE *file = open_memstream(&text, &size);

    if (!file)
        return NULL;
    for (const char *at; (at = strstr(word, PLACE)); word = at + strlen(PLACE)) {
        fwrite(word, 1, (size_t)(at - word), file);
        fputs(fifo, file);
    }
    fputs(word, file);
    if (fclose(file) != 0) {
        free(text);
        return NULL;
    }
    return text;
}

/* BEFORE NAME BEHIND in one; NULL: out of memory. */
static char *joined(const char *before, const char *name, const char *behind)
{
    char *path;

    return asprintf(&path, "%s%s%s", before, name, behind) < 0 ? NULL : path;
}

/* No signal ends psnap before there is who removes it. */
static enum psnap_status make_fifo(struct feed *feed, const char *format, struct psnap_error *error)
{
    const char *tmpdir = getenv("TMPDIR"), *where = tmpdir && *tmpdir ? tmpdir : "/tmp";
    char *folder = joined(where, "/psnap-run-", "XXXXXX");
    sigset_t signals;
    enum psnap_status status = PSNAP_OK;

    if (!folder)
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    signals = psnap_run_signals_hold();
    if (mkdtemp(folder)) {
        feed->folder = folder;
        feed->fifo = joined(folder, "/stream.", format);
        if (!feed->fifo)
            status = psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
        else if (mkfifo(feed->fifo, 0600) || !psnap_run_watch(feed->fifo, folder))
            status = psnap_error_file(error, errno, "make the FIFO", feed->fifo);
        if (status && feed->fifo)
            unlink(feed->fifo);
        if (status)
            rmdir(folder);
    } else {
        status = psnap_error_file(error, errno, "make a folder for a FIFO in", where);
        free(folder);
    }
    psnap_run_signals_let(&signals);
    return status;
}

/* The consumer's command line, and what it needs to be fed. */
static enum psnap_status prepare(struct feed *feed, const struct request *request,
                                 struct psnap_error *error)
{
    size_t count = 0;
    enum psnap_status status = PSNAP_OK;

    if (has_place(request->consumer))
        status = make_fifo(feed, request->format, error);
    if (!status && feed->fifo)
        status = psnap_format_check_path(psnap_format_find(request->format), feed->fifo, error);
    while (request->consumer[count])
        count++;
    feed->arguments = calloc(count + 1, sizeof *feed->arguments);
    for (size_t i = 0; i < count && feed->arguments && !status; i++) {
        feed->arguments[i] = filled(request->consumer[i], feed->fifo ? feed->fifo : "");
        if (!feed->arguments[i])
            status = psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    }
    return status || feed->arguments ? status
                                     : psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
}

static void release(struct feed *feed)
{
    for (size_t i = 0; feed->arguments && feed->arguments[i]; i++)
        free(feed->arguments[i]);
    free(feed->arguments);
    psnap_run_unwatch();
    free(feed->fifo);
    free(feed->folder);
}

/* In the child: becomes the consumer, or tells why not. */
static void become(const struct feed *feed, int input, int report)
{
    int reason;

    if (input < 0) /* what we read from is not the consumer's */
        input = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (input >= 0 && dup2(input, STDIN_FILENO) < 0)
        _exit(NOT_EXECUTABLE);
    psnap_cmd_restore_sigpipe();
    execvp(feed->arguments[0], feed->arguments);
    reason = errno;
    if (write(report, &reason, sizeof reason) != sizeof reason)
        _exit(NOT_EXECUTABLE);
    _exit(reason == ENOENT ? NOT_FOUND : NOT_EXECUTABLE);
}

/* Starts the consumer; *reason is why it could not be executed, or 0. */
static enum psnap_status start(struct feed *feed, int *reason, struct psnap_error *error)
{
    int input[2] = {-1, -1}, report[2];
    sigset_t signals;

    *reason = 0;
    if ((!feed->fifo && pipe2(input, O_CLOEXEC)) || pipe2(report, O_CLOEXEC))
        return psnap_error_system(error, errno, "cannot make a pipe");
    signals = psnap_run_signals_hold();
    feed->child = fork();
    if (feed->child < 0)
        psnap_error_system(error, errno, "cannot start '%.200s'", feed->arguments[0]);
    if (feed->child == 0) {
        psnap_run_signals_restore(&signals);
        become(feed, input[0], report[1]);
    }
    psnap_run_signals_child(feed->child);
    psnap_run_signals_let(&signals);
    if (feed->child < 0)
        return error->code;
    close(report[1]);
    if (input[0] >= 0)
        close(input[0]);
    feed->pipe = input[1];
    while (read(report[0], reason, sizeof *reason) < 0 && errno == EINTR)
        ;
    close(report[0]);
    return PSNAP_OK;
}

/* The FIFO, once the consumer has opened it, too; -1: it ended before. Its name is gone then: who
 * opened it again would wait for ever. */
static int open_fifo(const struct feed *feed)
{
    const struct timespec pause = {.tv_nsec = 5000000};

    for (;;) {
        const int fd = open(feed->fifo, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
        siginfo_t about = {0};

        if (fd >= 0) {
            fcntl(fd, F_SETFL, 0);
            unlink(feed->fifo);
            return fd;
        }
        if (errno != ENXIO && errno != EINTR)
            return -1;
        if (waitid(P_PID, (id_t)feed->child, &about, WEXITED | WNOHANG | WNOWAIT) == 0 &&
            about.si_pid == feed->child)
            return -1;
        nanosleep(&pause, NULL);
    }
}

/* Whether nobody reads any more. */
static bool is_closed(int fd)
{
    struct pollfd poll_it = {.fd = fd, .events = POLLOUT};

    return poll(&poll_it, 1, 0) > 0 && (poll_it.revents & POLLERR);
}

/* Bytes in a pipe. */
static int bytes_in(int fd)
{
    int bytes;

    return fd >= 0 && ioctl(fd, FIONREAD, &bytes) == 0 ? bytes : 0;
}

/* Its other end, so that what nobody reads stays there; -1: there is none. */
static int open_to_read(int fd)
{
    char path[32];

    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
}

/* Writes the stream; *has_left: the consumer did not want all of it, and left *unread bytes of what
 * was written, or what it leaves will be in the pipe *rest. */
static enum psnap_status pour(struct request *request, struct psnap_source *source, int fd,
                              uint64_t *count, bool *has_left, int *unread, int *rest,
                              struct psnap_error *error)
{
    FILE *file = fdopen(fd, "w");
    struct psnap_export *export = &request->export;
    enum psnap_status status;

    if (!file) {
        close(fd);
        return psnap_error_system(error, errno, "cannot write to the consumer");
    }
    fcntl(fd, F_SETPIPE_SZ, PIPE_BYTES); /* it works with less */
    status = psnap_export_open(export, NULL, file, source->program, error);
    if (!status)
        status = psnap_pump(source, export->sink, count, error);
    if (!status && fflush(file))
        status = psnap_error_system(error, errno, "cannot write to the consumer");
    *has_left = status && is_closed(fd);
    *unread = bytes_in(fd);
    *rest = open_to_read(fd);
    psnap_export_close(export, status, error);
    fclose(file);
    return *has_left ? PSNAP_OK : status;
}

static int wait_for(pid_t child)
{
    siginfo_t about = {0};
    int how = 0;

    while (waitid(P_PID, (id_t)child, &about, WEXITED | WNOWAIT) < 0 && errno == EINTR)
        ;
    psnap_run_signals_child(0); /* before its number is free */
    while (waitpid(child, &how, 0) < 0 && errno == EINTR)
        ;
    return WIFSIGNALED(how) ? 128 + WTERMSIG(how) : WEXITSTATUS(how);
}

/* Says on stderr what the consumer got, and how it ended. */
static void report(const struct request *request, uint64_t count, bool has_left, int unread,
                   int exit_status)
{
    char digits[32], left[64] = "";

    if (has_left)
        snprintf(left, sizeof left, "did not read on, left %d bytes unread, and ", unread);
    psnap_print(stderr, "psnap run: %s accesses of '%s' as %s to '%s', which %sended with %d\n",
                psnap_group_digits(count, digits), request->input, request->format,
                request->consumer[0], left, exit_status);
    psnap_export_report(&request->export);
}

static int run(struct request *request)
{
    struct feed feed = {.pipe = -1};
    struct psnap_error error;
    struct psnap_source *source = NULL;
    enum psnap_status status =
        psnap_export_init(&request->export, "run", request->format, "-", &request->wish, &error);
    int reason = 0, exit_status = 0, fd = -1, unread = 0, rest = -1;
    uint64_t count = 0;
    bool has_left = true;

    psnap_run_signals_arrange();
    if (!status)
        status = prepare(&feed, request, &error);
    if (!status) {
        source = psnap_input_open(request->input, &request->options, &error);
        status = source ? PSNAP_OK : error.code;
    }
    if (!status)
        status = start(&feed, &reason, &error);
    if (!status && reason) {
        exit_status = wait_for(feed.child);
        psnap_error_system(&error, reason, "cannot run '%.200s'", request->consumer[0]);
        psnap_cmd_fail("run", &error);
        if (feed.pipe >= 0)
            close(feed.pipe);
    } else if (!status) {
        fd = feed.fifo ? open_fifo(&feed) : feed.pipe;
        if (fd >= 0)
            status = pour(request, source, fd, &count, &has_left, &unread, &rest, &error);
        exit_status = wait_for(feed.child);
        if (!has_left && (unread = bytes_in(rest)))
            has_left = true;
        if (rest >= 0)
            close(rest);
        if (!status)
            report(request, count, has_left, unread, exit_status);
        if (has_left && !exit_status)
            exit_status = PSNAP_EXIT_FAILED;
    }
    psnap_source_free(source);
    release(&feed);
    return status ? psnap_cmd_fail("run", &error) : exit_status;
}

/* Takes what is behind "--" off the command line; NULL: there is none. */
static char **take_consumer(int *argc, char **argv)
{
    for (int i = 1; i < *argc; i++)
        if (!strcmp(argv[i], "--")) {
            argv[i] = NULL;
            *argc = i;
            return argv[i + 1] ? argv + i + 1 : NULL;
        }
    return NULL;
}

int psnap_cmd_run(int argc, char **argv)
{
    struct request request = {.options = PSNAP_INPUT_DEFAULTS};
    const struct psnap_option options[] = {
        {PSNAP_OPTION_TEXT, 'f', "format", &request.format, "FORMAT",
         "of the stream; 'psnap formats' lists them"},
        PSNAP_EXPORT_OPTIONS(request.wish),
        PSNAP_INPUT_OPTIONS(request.options),
        {.type = PSNAP_OPTION_END},
    };
    const struct psnap_usage usage = {
        "psnap run INPUT -f FORMAT [-m MACHINE] [--seed N] [--skip N] [--count N] -- CONSUMER ARGS",
        "Starts another program and feeds it the accesses of INPUT (a trace, a profile,\n"
        "or - for standard input): on its standard input, or through a FIFO where an\n"
        "argument has {}, which can be opened once. Ends with the consumer's exit\n"
        "status; 127 and 126 where it is not there\n"
        "or cannot be executed, 1 where the stream failed or was not read to its end.",
        options};
    const struct psnap_format *format;
    int status, operands;

    request.consumer = take_consumer(&argc, argv);
    operands = psnap_options_parse(argc, argv, &usage, false, &status);
    if (operands < 0)
        return status;
    if (operands != 1)
        return psnap_cmd_usage("run", "one input is needed, not %d", operands);
    if (!request.consumer)
        return psnap_cmd_usage("run", "no program to feed: write -- PROGRAM ARGS at the end");
    if (!request.format)
        return psnap_cmd_usage("run", "no format: give -f FORMAT ('psnap formats' lists them)");
    format = psnap_format_find(request.format);
    if (!format || !format->writable)
        return psnap_cmd_usage("run", "'%s' is no format that can be written", request.format);
    request.input = argv[1];
    return run(&request);
}
