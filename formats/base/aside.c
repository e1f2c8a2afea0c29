/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A sink that takes its stream in a thread of its own, over a relay (relay.h): two sinks that are
 * both slow go on side by side.
 */
#include <sched.h>
#include <stdlib.h>

#include "formats/base/relay.h"

struct aside {
    struct psnap_sink base;
    struct relay *relay;
    struct psnap_sink *inner;
    pthread_t thread;
    bool has_thread;
    /* The thread's, until it has been joined: */
    enum psnap_status status;
    struct psnap_error error;
};

static void *take(void *argument)
{
    struct aside *aside = argument;

    aside->status = psnap_pump(&aside->relay->base, aside->inner, NULL, &aside->error);
    if (aside->status)
        relay_stop(aside->relay); /* who sends need not wait for room */
    return NULL;
}

/* Ends the stream, once, and waits for the thread. */
static enum psnap_status end(struct aside *aside, enum psnap_status status,
                             struct psnap_error *error)
{
    const struct psnap_error none = {0};

    if (aside->has_thread) {
        relay_send_end(aside->relay, status, &none);
        pthread_join(aside->thread, NULL);
    }
    aside->has_thread = false;
    if (aside->status && error)
        *error = aside->error;
    return aside->status;
}

/* What was sent, or not: then the thread has failed, or there is no memory to send it. */
static enum psnap_status sent(struct aside *aside, bool is_sent, struct psnap_error *error)
{
    return is_sent ? PSNAP_OK : end(aside, PSNAP_OK, error);
}

static enum psnap_status aside_put(struct psnap_sink *self, const struct psnap_access *block,
                                   size_t n, struct psnap_error *error)
{
    struct aside *aside = (struct aside *)self;

    return sent(aside, relay_send_rows(aside->relay) && relay_send_accesses(aside->relay, block, n),
                error);
}

static enum psnap_status aside_put_nest(struct psnap_sink *self, const struct psnap_nest *nest,
                                        struct psnap_error *error)
{
    struct aside *aside = (struct aside *)self;

    return sent(aside, relay_send_rows(aside->relay) && relay_send_nest(aside->relay, nest), error);
}

static enum psnap_status aside_finish(struct psnap_sink *self, struct psnap_error *error)
{
    return end((struct aside *)self, PSNAP_OK, error);
}

static void aside_free(struct psnap_sink *self)
{
    struct aside *aside = (struct aside *)self;

    end(aside, PSNAP_ERROR_USAGE, NULL); /* unless it is finished: the stream is given up */
    psnap_sink_free(aside->inner);
    psnap_source_free(&aside->relay->base);
    free(aside);
}

uint32_t psnap_processors(void)
{
    cpu_set_t processors;

    if (sched_getaffinity(0, sizeof processors, &processors) != 0)
        return 1;
    return (uint32_t)CPU_COUNT(&processors);
}

struct psnap_sink *psnap_aside_sink_new(const struct psnap_program *program,
                                        struct psnap_sink *(*make)(const struct psnap_program *),
                                        struct psnap_sink **inner)
{
    static const struct psnap_sink_ops ops = {
        .put = aside_put, .finish = aside_finish, .free = aside_free, .put_nest = aside_put_nest};
    struct aside *aside = psnap_processors() > 1 ? calloc(1, sizeof *aside) : NULL;

    if (aside) {
        aside->base.ops = &ops;
        aside->relay = relay_new(program);
        aside->inner = aside->relay ? make(aside->relay->base.program) : NULL;
        aside->has_thread = aside->inner && pthread_create(&aside->thread, NULL, take, aside) == 0;
        if (aside->has_thread) {
            *inner = aside->inner;
            return &aside->base;
        }
        psnap_sink_free(aside->inner);
        psnap_source_free(aside->relay ? &aside->relay->base : NULL);
        free(aside);
    }
    return *inner = make(program);
}
