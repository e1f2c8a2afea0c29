/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * threads: Jacobi's iteration with five points on a square of n by n points, n = SIZE, by
 * THREADS threads (2 unless said), each of which sweeps its own band of rows and waits for
 * the others at a barrier; ITERATIONS sweeps, from one array to the other and back.
 *
 * Accesses: two regions of 8 n^2 bytes (heap), shared. In a sweep every point is loaded
 * five times and stored once, at offsets of 8 and 8 n bytes: three rows, 24 n bytes, are the
 * working set of a thread, and its share of both arrays, 16 n^2 / THREADS bytes, comes again
 * with the next sweep. Threads share the two rows on either side of each border between
 * bands, which one writes and the other then reads. Each thread sums its band into a
 * variable of its own at the end.
 */
#define _POSIX_C_SOURCE 200809L

#include <pthread.h>

#include "sample.h"

struct task {
    pthread_t thread;
    pthread_barrier_t *barrier;
    size_t n, sweeps;
    size_t first, end; /* its rows */
    double *from, *to;
    double sum;
};

static void init(size_t n, double *u, double *v)
{
    uint64_t random = 1;

    for (size_t i = 0; i < n * n; i++)
        u[i] = v[i] = sample_unit(&random);
}

static void sweep(const struct task *task, const double *from, double *to)
{
    const size_t n = task->n;

    for (size_t i = task->first; i < task->end; i++) {
        for (size_t j = 1; j < n - 1; j++) {
            size_t at = i * n + j;

            to[at] = (from[at] + from[at - 1] + from[at + 1] + from[at - n] + from[at + n]) / 5;
        }
    }
}

static double sum_rows(const struct task *task, const double *from)
{
    double sum = 0;

    for (size_t at = task->first * task->n; at < task->end * task->n; at++)
        sum += from[at];
    return sum;
}

static void *work(void *argument)
{
    struct task *task = argument;
    double *from = task->from, *to = task->to;

    for (size_t i = 0; i < task->sweeps; i++) {
        double *other = from;

        sweep(task, from, to);
        pthread_barrier_wait(task->barrier);
        from = to;
        to = other;
    }
    task->sum = sum_rows(task, from);
    return NULL;
}

/* Give each thread its rows of the n - 2 inner ones and add up their sums. */
static double run(const struct sample *sample, struct task *tasks, double *u, double *v)
{
    const size_t n = sample->size;
    pthread_barrier_t barrier;
    double sum = 0;

    if (pthread_barrier_init(&barrier, NULL, (unsigned)sample->threads) != 0) {
        fprintf(stderr, "%s: cannot make a barrier\n", sample->name);
        exit(EXIT_FAILURE);
    }
    for (size_t t = 0; t < sample->threads; t++) {
        struct task *task = &tasks[t];

        task->barrier = &barrier;
        task->n = n;
        task->sweeps = sample->iterations;
        task->first = 1 + (n - 2) * t / sample->threads;
        task->end = 1 + (n - 2) * (t + 1) / sample->threads;
        task->from = u;
        task->to = v;
        if (pthread_create(&task->thread, NULL, work, task) != 0) {
            fprintf(stderr, "%s: cannot start a thread\n", sample->name);
            exit(EXIT_FAILURE);
        }
    }
    for (size_t t = 0; t < sample->threads; t++) {
        pthread_join(tasks[t].thread, NULL);
        sum += tasks[t].sum;
    }
    pthread_barrier_destroy(&barrier);
    return sum;
}

int main(int argc, char **argv)
{
    struct sample sample = {.name = "threads",
                            .size_is = "the points along an edge of the square",
                            .size = 500,
                            .size_min = 3,
                            .size_max = 20000,
                            .iterations = 10,
                            .threads = 2};
    struct task *tasks;
    double *u, *v, sum;

    sample_arguments(&sample, argc, argv);
    tasks = calloc(sample.threads, sizeof(*tasks));
    u = malloc(sample.size * sample.size * sizeof(*u));
    v = malloc(sample.size * sample.size * sizeof(*v));
    sample_need_memory(&sample, tasks && u && v);

    init(sample.size, u, v);
    sum = run(&sample, tasks, u, v);

    free(tasks);
    free(u);
    free(v);
    return sample_print_real(&sample, sum);
}
