/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * `state` says whose turn it is. A worker that sleeps has said so before it looked at the state for
 * the last time, and who asks looks for that after it has changed the state: one of the two sees
 * the other.
 */
#include "simcore/worker.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

enum { AWAKE = 2000 }; /* looks at the state before others may run: some microseconds */
enum state { DONE, ASKED, STOPPED };

struct worker {
    void (*job)(void *context);
    void *context;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t woken;
    atomic_int state;
    atomic_bool sleeps;
};

static void pause_a_little(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

static int next_turn(struct worker *worker)
{
    for (int i = 0; i < AWAKE && atomic_load(&worker->state) == DONE; i++)
        pause_a_little();
    if (atomic_load(&worker->state) == DONE) {
        pthread_mutex_lock(&worker->mutex);
        atomic_store(&worker->sleeps, true);
        while (atomic_load(&worker->state) == DONE)
            pthread_cond_wait(&worker->woken, &worker->mutex);
        atomic_store(&worker->sleeps, false);
        pthread_mutex_unlock(&worker->mutex);
    }
    return atomic_load(&worker->state);
}

static void *work(void *argument)
{
    struct worker *worker = argument;

    while (next_turn(worker) == ASKED) {
        worker->job(worker->context);
        atomic_store(&worker->state, DONE);
    }
    return NULL;
}

static void ask(struct worker *worker, int state)
{
    atomic_store(&worker->state, state);
    if (atomic_load(&worker->sleeps)) {
        pthread_mutex_lock(&worker->mutex);
        pthread_cond_signal(&worker->woken);
        pthread_mutex_unlock(&worker->mutex);
    }
}

struct worker *worker_new(void (*job)(void *context), void *context)
{
    struct worker *worker = calloc(1, sizeof *worker);

    if (!worker)
        return NULL;
    worker->job = job;
    worker->context = context;
    pthread_mutex_init(&worker->mutex, NULL);
    pthread_cond_init(&worker->woken, NULL);
    if (pthread_create(&worker->thread, NULL, work, worker) == 0)
        return worker;
    pthread_cond_destroy(&worker->woken);
    pthread_mutex_destroy(&worker->mutex);
    free(worker);
    return NULL;
}

void worker_begin(struct worker *worker)
{
    ask(worker, ASKED);
}

void worker_end(struct worker *worker)
{
    for (int i = 0; atomic_load(&worker->state) == ASKED; i++)
        if (i < AWAKE)
            pause_a_little();
        else
            sched_yield();
}

void worker_free(struct worker *worker)
{
    if (!worker)
        return;
    worker_end(worker);
    ask(worker, STOPPED);
    pthread_join(worker->thread, NULL);
    pthread_cond_destroy(&worker->woken);
    pthread_mutex_destroy(&worker->mutex);
    free(worker);
}
