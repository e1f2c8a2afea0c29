/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Figures are drawn by gnuplot: it reads a script, with the data in it, from an unnamed file, and
 * writes to another one that is copied: it does not notice a full disk itself.
 */
#include "predict/cmd_gnuplot.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "predict/cmd_tool.h"

/* As tool_run() has it. */
static int run_gnuplot(const char *option, int in, int out, int err)
{
    const char *const arguments[] = {"gnuplot", option, NULL};

    return tool_run(arguments, in, out, err);
}

enum psnap_status gnuplot_find(const char *otherwise, struct psnap_error *error)
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
                           "figures are drawn by gnuplot, which %s (Debian package gnuplot-nox)%s",
                           status < 0 ? "is not installed" : "does not run here", otherwise);
}

/* The first line of what gnuplot complained about. */
static enum psnap_status complaint(FILE *err, const char *path, struct psnap_error *error)
{
    char line[256];

    tool_complaint(err, line, sizeof line);
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

/* What gnuplot wrote, from its beginning; it does not look whether a disk is full, we do. */
static enum psnap_status copy_figure(FILE *figure, FILE *file, struct psnap_error *error)
{
    char bytes[4096];
    size_t n;

    if (fseek(figure, 0, SEEK_SET) != 0)
        return psnap_error_system(error, errno, "cannot read a temporary file");
    while ((n = fread(bytes, 1, sizeof bytes, figure)) > 0)
        if (fwrite(bytes, 1, n, file) != n)
            return psnap_error_system(error, errno, "cannot write the figure");
    return ferror(figure) ? psnap_error_system(error, EIO, "cannot read a temporary file")
                          : PSNAP_OK;
}

enum psnap_status gnuplot_draw(FILE *script, const char *path, FILE *file,
                               struct psnap_error *error)
{
    FILE *err = tmpfile(), *figure = tmpfile();
    enum psnap_status status = PSNAP_OK;
    struct stat about;
    int failure;

    if (!err || !figure) {
        status = psnap_error_system(error, errno, "cannot make a temporary file");
        goto out;
    }
    if (fseek(script, 0, SEEK_SET) != 0) {
        status = psnap_error_system(error, errno, "cannot write a temporary file");
        goto out;
    }
    failure = run_gnuplot("-", fileno(script), fileno(figure), fileno(err));
    if (failure < 0)
        status = psnap_error_system(error, errno, "cannot run gnuplot");
    else if (failure || (!fstat(fileno(figure), &about) && !about.st_size))
        status = complaint(err, path, error);
    else
        status = copy_figure(figure, file, error);
out:
    fclose(script);
    if (err)
        fclose(err);
    if (figure)
        fclose(figure);
    return status;
}
