/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * `state` says whose turn it is. Who sleeps has said so before it looked at the state for the last
 * time, and who changes the state looks for that afterwards: one of the two sees the other.
 */
#include "simcore/worker.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

enum { AWAKE = 1000 }; /* looks at the state before others may run: tens of microseconds */
enum state { DONE, ASKED, STOPPED };

struct worker {
    void (*job)(void *context);
    void *context;
    pthread_t thread;
    pthread_mutex_t mutex;
    atomic_int state;
    /* by sides: the worker, which waits while the state is DONE, and who asks, while it is ASKED */
    pthread_cond_t changed[2];
    atomic_bool sleeps[2];
};

static void pause_a_little(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

/* Waits until the state is another one than that, which is the waiting side's, and returns it. */
static int wait_while(struct worker *worker, int state)
{
    const int side = state == ASKED;

    for (int i = 0; i < AWAKE && atomic_load(&worker->state) == state; i++)
        pause_a_little();
    if (atomic_load(&worker->state) == state) {
        pthread_mutex_lock(&worker->mutex);
        atomic_store(&worker->sleeps[side], true);
        while (atomic_load(&worker->state) == state)
            pthread_cond_wait(&worker->changed[side], &worker->mutex);
        atomic_store(&worker->sleeps[side], false);
        pthread_mutex_unlock(&worker->mutex);
    }
    return atomic_load(&worker->state);
}

/* The other one's turn. */
static void change(struct worker *worker, int state)
{
    const int other = state == DONE; /* the side that has waited for it */

    atomic_store(&worker->state, state);
    if (atomic_load(&worker->sleeps[other])) {
        pthread_mutex_lock(&worker->mutex);
        pthread_cond_signal(&worker->changed[other]);
        pthread_mutex_unlock(&worker->mutex);
    }
}

static void *work(void *argument)
{
    struct worker *worker = argument;

    while (wait_while(worker, DONE) == ASKED) {
        worker->job(worker->context);
        change(worker, DONE);
    }
    return NULL;
}

static void release(struct worker *worker)
{
    for (int side = 0; side < 2; side++)
        pthread_cond_destroy(&worker->changed[side]);
    pthread_mutex_destroy(&worker->mutex);
    free(worker);
}

struct worker *worker_new(void (*job)(void *context), void *context)
{
    struct worker *worker = calloc(1, sizeof *worker);

    if (!worker)
        return NULL;
    worker->job = job;
    worker->context = context;
    pthread_mutex_init(&worker->mutex, NULL);
    for (int side = 0; side < 2; side++)
        pthread_cond_init(&worker->changed[side], NULL);
    if (pthread_create(&worker->thread, NULL, work, worker) == 0)
        return worker;
    release(worker);
    return NULL;
}

void worker_begin(struct worker *worker)
{
    change(worker, ASKED);
}

void worker_end(struct worker *worker)
{
    wait_while(worker, ASKED);
}

void worker_free(struct worker *worker)
{
    if (!worker)
        return;
    worker_end(worker);
    change(worker, STOPPED);
    pthread_join(worker->thread, NULL);
    release(worker);
}
