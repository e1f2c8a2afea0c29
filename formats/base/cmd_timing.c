/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A command reads a stream, or several one after the other, and works before and behind them. So
 * --verbose splits its time by streams: a stream's source (reading a trace, replaying a profile,
 * waiting for a program), its sink (simulating, building a profile), the work before the first
 * stream and behind the last one (fitting, sorting, printing). Sources that are read ahead in a
 * thread of their own are waited for only; what processors worked in all is said as well.
 */
#include "formats/base/cmd_timing.h"

#include <stdatomic.h>
#include <stdio.h>
#include <sys/resource.h>

#include "formats/base/cmd.h"
#include "formats/base/reals.h"

enum { STREAMS = 16 };

static struct {
    double begin;
    atomic_bool is_wanted, has_failed;
    atomic_uint count;
    struct psnap_stream_time streams[STREAMS];
} timing;

void psnap_timing_begin(void)
{
    timing.begin = psnap_reals_now();
}

void psnap_timing_want(void)
{
    timing.is_wanted = true;
}

void psnap_timing_fail(void)
{
    timing.has_failed = true;
}

bool psnap_timing_is_wanted(void)
{
    return timing.is_wanted;
}

double psnap_timing_now(void)
{
    return psnap_reals_now() - timing.begin;
}

struct psnap_stream_time *psnap_timing_stream(void)
{
    const unsigned i = timing.is_wanted ? timing.count++ : STREAMS;

    return i < STREAMS ? &timing.streams[i] : NULL;
}

static void print_row(const char *what, double seconds)
{
    psnap_print(stderr, "  %-24s %10.3f s", what, seconds);
}

static void print_stream(const struct psnap_stream_time *stream)
{
    char digits[32];

    print_row("reading the stream", stream->seconds);
    psnap_print(stderr, ", %s accesses", psnap_group_digits(stream->accesses, digits));
    if (stream->end > stream->begin)
        fprintf(stderr, ", %.1f M/s with what takes them",
                1e-6 * (double)stream->accesses / (stream->end - stream->begin));
    putc('\n', stderr);
    print_row("what takes its accesses", stream->end - stream->begin - stream->seconds);
    putc('\n', stderr);
}

static void print_all(void)
{
    struct rusage usage = {0};

    print_row("all", psnap_timing_now());
    if (!getrusage(RUSAGE_SELF, &usage))
        fprintf(stderr, ", %.3f s of processors, at most %.1f MB",
                (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                    1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec),
                (double)usage.ru_maxrss / 1024);
    putc('\n', stderr);
}

void psnap_timing_report(void)
{
    double first = -1, last = 0;

    if (!timing.is_wanted || (timing.has_failed && !timing.count))
        return;
    fputs("psnap: where the time went\n", stderr);
    for (unsigned i = 0; i < timing.count && i < STREAMS; i++) {
        const struct psnap_stream_time *stream = &timing.streams[i];

        if (stream->end <= 0)
            continue; /* it was never read */
        if (first < 0) {
            first = stream->begin;
            print_row("before the stream", first);
            putc('\n', stderr);
        } else if (stream->begin > last) {
            print_row("until the next stream", stream->begin - last);
            putc('\n', stderr);
        }
        print_stream(stream);
        last = stream->end > last ? stream->end : last;
    }
    if (first >= 0) {
        print_row("behind the stream", psnap_timing_now() - last);
        putc('\n', stderr);
    }
    print_all();
}
