/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the samples share: arguments, random numbers, the line of output.
 *
 * Every sample is called as NAME [SIZE [ITERATIONS]] and prints one line,
 *
 *     NAME SIZE ITERATIONS checksum VALUE
 *
 * that depends on the arguments alone: an instrumented build and a plain one, -O0 and -O2,
 * today and tomorrow print the same. Real results are rounded to seven digits, so that a
 * compiler may contract a multiplication and an addition. A header of static functions, so
 * that each sample is one file to compile; it is C and C++.
 */
#ifndef SAMPLES_SAMPLE_H
#define SAMPLES_SAMPLE_H

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct sample {
    const char *name;
    const char *size_is; /* what SIZE counts */
    size_t size;         /* the default, then what was asked for; so too below */
    size_t size_min;
    size_t size_max;
    size_t iterations;
    size_t threads; /* 0 in a sequential program, else [THREADS] is a third argument */
};

static inline void sample_usage(const struct sample *sample)
{
    fprintf(stderr,
            "usage: %s [SIZE [ITERATIONS%s]]\n"
            "SIZE is %s, from %zu to %zu\n",
            sample->name, sample->threads ? " [THREADS]" : "", sample->size_is, sample->size_min,
            sample->size_max);
    exit(2);
}

static inline size_t sample_number(const struct sample *sample, const char *text, size_t min,
                                   size_t max)
{
    size_t length = strlen(text);
    size_t number;

    if (length == 0 || length > 12 || strspn(text, "0123456789") != length)
        sample_usage(sample);
    number = (size_t)strtoull(text, NULL, 10);
    if (number < min || number > max)
        sample_usage(sample);
    return number;
}

/* Replace the defaults by the arguments; wrong ones end the program with status 2. */
static inline void sample_arguments(struct sample *sample, int argc, char **argv)
{
    if (argc > (sample->threads ? 4 : 3))
        sample_usage(sample);
    if (argc > 1)
        sample->size = sample_number(sample, argv[1], sample->size_min, sample->size_max);
    if (argc > 2)
        sample->iterations = sample_number(sample, argv[2], 1, 1000000000);
    if (argc > 3)
        sample->threads = sample_number(sample, argv[3], 1, 256);
}

/* Samples allocate where they use, so that a profile names the place, then ask once. */
static inline void sample_need_memory(const struct sample *sample, int have_it)
{
    if (!have_it) {
        fprintf(stderr, "%s: out of memory\n", sample->name);
        exit(1);
    }
}

/* xorshift64* (Vigna); the state is any number but zero. */
static inline uint64_t sample_random(uint64_t *state)
{
    uint64_t x = *state;

    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    *state = x;
    return x * UINT64_C(0x2545f4914f6cdd1d);
}

/* An integer from 0 to limit - 1, limit at most 2^32. */
static inline size_t sample_below(uint64_t *state, size_t limit)
{
    return (size_t)(((sample_random(state) >> 32) * limit) >> 32);
}

/* A real number from 0 to just below 1. */
static inline double sample_unit(uint64_t *state)
{
    return (double)(sample_random(state) >> 11) * 0x1p-53;
}

static inline int sample_print_count(const struct sample *sample, uint64_t value)
{
    printf("%s %zu %zu checksum %llu\n", sample->name, sample->size, sample->iterations,
           (unsigned long long)value);
    return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

static inline int sample_print_real(const struct sample *sample, double value)
{
    if (!isfinite(value)) {
        fprintf(stderr, "%s: the result is not a number\n", sample->name);
        return EXIT_FAILURE;
    }
    printf("%s %zu %zu checksum %.6e\n", sample->name, sample->size, sample->iterations, value);
    return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

#endif
