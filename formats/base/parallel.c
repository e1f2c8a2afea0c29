/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Threads that share a counter (parallel.h). Where the system gives fewer of them the others do
 * all the work.
 */
#include "formats/base/parallel.h"

#include <pthread.h>
#include <stdatomic.h>

#include "formats/base/stream.h"

struct parallel {
    void (*work)(void *context, unsigned thread, size_t i);
    void *context;
    size_t count;
    atomic_size_t next;
};

struct worker {
    struct parallel *parallel;
    unsigned thread;
};

static void *take_turns(void *argument)
{
    const struct worker *worker = argument;
    struct parallel *parallel = worker->parallel;
    size_t i;

    while ((i = atomic_fetch_add(&parallel->next, 1)) < parallel->count)
        parallel->work(parallel->context, worker->thread, i);
    return NULL;
}

void psnap_parallel(size_t count, void (*work)(void *context, unsigned thread, size_t i),
                    void *context)
{
    struct parallel parallel = {work, context, count, 0};
    struct worker workers[PSNAP_PARALLEL_MAX];
    pthread_t threads[PSNAP_PARALLEL_MAX];
    unsigned wanted = psnap_processors(), started = 1;

    if (wanted > PSNAP_PARALLEL_MAX)
        wanted = PSNAP_PARALLEL_MAX;
    for (unsigned i = 0; i < PSNAP_PARALLEL_MAX; i++)
        workers[i] = (struct worker){&parallel, i};
    while (started < wanted && started < count &&
           !pthread_create(&threads[started], NULL, take_turns, &workers[started]))
        started++;
    take_turns(&workers[0]);
    for (unsigned i = 1; i < started; i++)
        pthread_join(threads[i], NULL);
}
