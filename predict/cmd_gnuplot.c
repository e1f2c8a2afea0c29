/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Figures are drawn by gnuplot: it reads a script, with the data in it, from an unnamed file, and
 * writes to the file that will appear only if all went well.
 */
#include "predict/cmd_gnuplot.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* Runs gnuplot with these standard streams and waits; 0 when it did well, -1 with errno when it
 * could not be run, else what wait said. */
static int run_gnuplot(const char *option, int in, int out, int err)
{
    char *arguments[] = {(char[]){"gnuplot"}, (char *)(uintptr_t)option, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t usual;
    pid_t child;
    int failure, status = -1;

    sigemptyset(&usual);
    sigaddset(&usual, SIGPIPE); /* we ignore it; others do not expect that */
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigdefault(&attributes, &usual);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, err, STDERR_FILENO);
    failure = posix_spawnp(&child, arguments[0], &actions, &attributes, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    while (!failure && waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    errno = failure;
    return failure ? -1 : status;
}

enum psnap_status gnuplot_find(struct psnap_error *error)
{
    const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    const int status = nothing >= 0 ? run_gnuplot("--version", nothing, nothing, nothing) : -1;
    const int reason = errno;

    if (nothing >= 0)
        close(nothing);
    if (!status)
        return PSNAP_OK;
    if (status < 0 && reason != ENOENT)
        return psnap_error_system(error, reason, "cannot run gnuplot");
    return psnap_error_set(error, PSNAP_ERROR_UNSUPPORTED,
                           "figures are drawn by gnuplot, which %s (Debian package gnuplot-nox); "
                           "--csv writes the numbers without it",
                           status < 0 ? "is not installed" : "does not run here");
}

/* The first line of what gnuplot complained about. */
static enum psnap_status complaint(FILE *err, const char *path, struct psnap_error *error)
{
    char line[256] = "";

    errno = 0;
    if (fseek(err, 0, SEEK_SET) != 0)
        line[0] = '\0';
    while (fgets(line, sizeof line, err) && (line[0] == '\n' || line[strspn(line, " \t^")] == '\n'))
        ;
    line[strcspn(line, "\n")] = '\0';
    psnap_error_set(error, PSNAP_ERROR_IO, "gnuplot could not draw it%s%s", line[0] ? ": " : "",
                    line);
    psnap_error_at(error, path, 0, 0);
    return PSNAP_ERROR_IO;
}

FILE *gnuplot_script(struct psnap_error *error)
{
    FILE *script = tmpfile();

    if (!script)
        psnap_error_system(error, errno, "cannot make a temporary file");
    return script;
}

void gnuplot_quoted(FILE *script, const char *text)
{
    putc('\'', script);
    for (; *text; text++) {
        if (*text == '\'')
            putc('\'', script);
        putc((unsigned char)*text < ' ' ? '?' : *text, script);
    }
    putc('\'', script);
}

enum psnap_status gnuplot_draw(FILE *script, const char *path, FILE *file,
                               struct psnap_error *error)
{
    FILE *err = tmpfile();
    enum psnap_status status = PSNAP_OK;
    struct stat about;
    int failure;

    if (!err) {
        status = psnap_error_system(error, errno, "cannot make a temporary file");
        goto out;
    }
    if (fseek(script, 0, SEEK_SET) != 0) {
        status = psnap_error_system(error, errno, "cannot write a temporary file");
        goto out;
    }
    failure = run_gnuplot("-", fileno(script), fileno(file), fileno(err));
    if (failure < 0)
        status = psnap_error_system(error, errno, "cannot run gnuplot");
    else if (failure || (!fstat(fileno(file), &about) && S_ISREG(about.st_mode) && !about.st_size))
        status = complaint(err, path, error);
out:
    fclose(script);
    if (err)
        fclose(err);
    return status;
}
