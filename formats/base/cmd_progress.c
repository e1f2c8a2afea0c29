/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A line on the terminal that is rewritten twice a second, from the second
 * second on, and erased at the end: accesses (or other things), how many a second, or what the work
 * is at, and where the end is known the share that is done and the time left. The time left assumes
 * that the rest of the work goes as fast as the part that is done. How long a long stream is stands
 * there at once.
 */
#include "formats/base/cmd_progress.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats/base/cmd.h"
#include "formats/base/cmd_timing.h"

#define FIRST_SECONDS 2.0
#define STEP_SECONDS 0.5
#define HOUR 3600.0
#define DAY (24 * HOUR)
#define LOOK_ACCESSES 262144 /* how many go by between two looks at the clock */

struct psnap_progress {
    const char *things; /* NULL: accesses */
    uint64_t total, count, next_look;
    int fd;
    off_t size_bytes;
    double start, next_seconds;
    bool is_shown;
};

struct progress_source {
    struct psnap_source base;
    struct psnap_source *inner;
    struct psnap_progress *progress; /* NULL: there is no terminal */
    struct psnap_stream_time *time;  /* NULL: nobody wants to know */
};

/* Between 0 and 1, or 0 when there is nothing to tell it by. */
static double fraction_done(const struct psnap_progress *self)
{
    if (self->total)
        return (double)self->count / (double)self->total;
    if (self->size_bytes > 0) {
        off_t at = lseek(self->fd, 0, SEEK_CUR);
        return at > 0 ? (double)at / (double)self->size_bytes : 0;
    }
    return 0;
}

/* What a line ends with: the share that is done, and the time left. */
static void show_left(struct psnap_progress *self, double seconds, double done)
{
    if (done > 0 && done <= 1) {
        const double left = seconds * (1 - done) / done;
        if (left < 2 * HOUR)
            fprintf(stderr, ", %.0f %%, %.0f s left", 100 * done, left);
        else if (left < 2 * DAY)
            fprintf(stderr, ", %.0f %%, %.0f hours left", 100 * done, left / HOUR);
        else
            fprintf(stderr, ", %.0f %%, %.0f days left", 100 * done, left / DAY);
    }
    fputs("\033[K", stderr);
    self->is_shown = true;
    self->next_seconds = seconds + STEP_SECONDS;
}

static void show(struct psnap_progress *self, double seconds)
{
    char digits[32], all[32];

    psnap_group_digits(self->count, digits);
    psnap_group_digits(self->total, all);
    if (self->things)
        psnap_print(stderr, "\rpsnap: %s %s, %.3g/s", digits, self->things,
                    (double)self->count / seconds);
    else
        psnap_print(stderr, "\rpsnap: %s%s%s accesses, %.1f M/s", digits, self->total ? " of " : "",
                    self->total ? all : "", 1e-6 * (double)self->count / seconds);
    show_left(self, seconds, fraction_done(self));
}

struct psnap_progress *psnap_progress_new(uint64_t total, int fd)
{
    struct psnap_progress *self = isatty(STDERR_FILENO) ? calloc(1, sizeof *self) : NULL;
    struct stat about;

    if (!self)
        return NULL;
    self->total = total;
    self->fd = fd;
    self->next_seconds = FIRST_SECONDS;
    self->start = psnap_timing_now();
    if (fd >= 0 && fstat(fd, &about) == 0 && S_ISREG(about.st_mode))
        self->size_bytes = about.st_size;
    if (total > PSNAP_PROGRESS_LONG) {
        char digits[32];
        psnap_group_digits(total, digits);
        psnap_print(stderr, "\rpsnap: 0 of %s accesses\033[K", digits);
        self->is_shown = true;
        self->next_seconds = STEP_SECONDS;
    }
    return self;
}

struct psnap_progress *psnap_progress_of(uint64_t total, const char *things)
{
    struct psnap_progress *self = psnap_progress_new(total, -1);

    if (self)
        self->things = things;
    return self;
}

void psnap_progress_add(struct psnap_progress *self, uint64_t count)
{
    double seconds;

    if (!self)
        return;
    self->count += count;
    if (self->count < self->next_look)
        return;
    seconds = psnap_timing_now() - self->start;
    self->next_look = self->count + (self->things ? 1 : LOOK_ACCESSES);
    if (seconds >= self->next_seconds)
        show(self, seconds);
}

void psnap_progress_share(struct psnap_progress *self, double share, const char *format, ...)
{
    const double seconds = self ? psnap_timing_now() - self->start : 0;
    va_list arguments;

    if (!self || seconds < self->next_seconds)
        return;
    fputs("\rpsnap: ", stderr);
    va_start(arguments, format);
    psnap_vprint(stderr, format, arguments);
    va_end(arguments);
    show_left(self, seconds, share);
}

void psnap_progress_erase(struct psnap_progress *self)
{
    if (self && self->is_shown)
        fputs("\r\033[K", stderr);
    if (self)
        self->is_shown = false;
}

void psnap_progress_free(struct psnap_progress *self)
{
    psnap_progress_erase(self);
    free(self);
}

/* Now, if times are wanted. */
static double begin(struct progress_source *self)
{
    const double now = self->time ? psnap_timing_now() : 0;

    if (self->time && self->time->end <= 0)
        self->time->begin = now;
    return now;
}

/* The answer of the inner source, which was asked at `since`, on its way to the caller. */
static ssize_t passed(struct progress_source *self, double since, ssize_t n, uint64_t accesses)
{
    if (self->time) {
        self->time->end = psnap_timing_now();
        self->time->seconds += self->time->end - since;
        self->time->accesses += accesses;
    }
    if (n < 0 || accesses == 0)
        psnap_progress_erase(self->progress);
    else
        psnap_progress_add(self->progress, accesses);
    return n;
}

static ssize_t progress_next_nest(struct psnap_source *source, struct psnap_access *room,
                                  size_t capacity, const struct psnap_access **block,
                                  struct psnap_nest *nest, struct psnap_error *error)
{
    struct progress_source *self = (struct progress_source *)source;
    const double since = begin(self);
    const ssize_t n = psnap_source_next_nest(self->inner, room, capacity, block, nest, error);

    return passed(self, since, n, (n > 0 ? (uint64_t)n : 0) + psnap_nest_accesses(nest));
}

static void progress_free(struct psnap_source *source)
{
    struct progress_source *self = (struct progress_source *)source;

    psnap_progress_free(self->progress);
    psnap_source_free(self->inner);
    free(self);
}

struct psnap_source *psnap_progress_source_new(struct psnap_source *inner, uint64_t total, int fd)
{
    static const struct psnap_source_ops ops = {.free = progress_free,
                                                .next_nest = progress_next_nest};
    struct progress_source *self =
        isatty(STDERR_FILENO) || psnap_timing_is_wanted() ? calloc(1, sizeof *self) : NULL;

    if (!self)
        return inner;
    self->base = (struct psnap_source){.ops = &ops, .program = inner->program};
    self->inner = inner;
    self->progress = psnap_progress_new(total, fd);
    self->time = psnap_timing_stream();
    return &self->base;
}
