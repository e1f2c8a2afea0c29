/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One kind of work on many things, by threads that take the next of them until there is none.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "formats/base/stream.h"
#include "profile/repo/add.h"

struct parallel {
    void (*work)(void *context, unsigned thread, size_t i);
    void *context;
    size_t count;
    atomic_size_t next;
    atomic_uint threads;
};

static void *take_turns(void *argument)
{
    struct parallel *parallel = argument;
    const unsigned thread = atomic_fetch_add(&parallel->threads, 1);
    size_t i;

    while ((i = atomic_fetch_add(&parallel->next, 1)) < parallel->count)
        parallel->work(parallel->context, thread, i);
    return NULL;
}

void repo_parallel(size_t count, void (*work)(void *context, unsigned thread, size_t i),
                   void *context)
{
    struct parallel parallel = {work, context, count, 0, 0};
    pthread_t threads[REPO_THREADS];
    size_t wanted = psnap_processors(), started = 0;

    if (wanted > REPO_THREADS)
        wanted = REPO_THREADS;
    if (wanted > count)
        wanted = count;
    while (started + 1 < wanted && !pthread_create(&threads[started], NULL, take_turns, &parallel))
        started++;
    take_turns(&parallel);
    for (size_t i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
}
