/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * calendarq: a network of queues is simulated with a calendar queue: a year of days, each a sorted
 * list of events, that changes its number of days with the number of events. Irregular: lists by
 * time of event, most of them short; servers at random; bursts when the calendar is made anew.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct event {
    struct event *next;
    uint64_t time;
    uint32_t server, customer;
};

struct calendar {
    struct event **day;
    size_t days, events;
    uint64_t width, now;
};

struct server {
    uint32_t waiting, served;
    uint64_t busy_until, total;
    uint32_t links[4];
};

static uint64_t s = 19880101;

static uint32_t draw(uint32_t below)
{
    s ^= s << 13;
    s ^= s >> 7;
    s ^= s << 17;
    return (uint32_t)((s >> 32) * below >> 32);
}

static void put(struct calendar *c, struct event *e)
{
    struct event **at = &c->day[e->time / c->width % c->days];

    while (*at && (*at)->time <= e->time)
        at = &(*at)->next;
    e->next = *at;
    *at = e;
    c->events++;
}

static void resize(struct calendar *c, size_t days, uint64_t width)
{
    struct calendar old = *c;

    c->day = calloc(days, sizeof(struct event *));
    c->days = days;
    c->width = width;
    c->events = 0;
    for (size_t d = 0; d < old.days; d++) {
        while (old.day[d]) {
            struct event *e = old.day[d];

            old.day[d] = e->next;
            put(c, e);
        }
    }
    free(old.day);
}

static struct event *take(struct calendar *c)
{
    struct event *e = NULL;
    size_t best = 0;

    for (size_t i = 0; i < c->days; i++) {
        uint64_t day = c->now / c->width + i;

        e = c->day[day % c->days];
        if (e && e->time / c->width <= day) {
            best = day % c->days;
            break;
        }
        e = NULL;
    }
    for (size_t d = 0; !e && d < c->days; d++) /* none this year: the very first */
        if (c->day[d] && (!c->day[best] || c->day[d]->time < c->day[best]->time))
            best = d;
    e = c->day[best];
    c->day[best] = e->next;
    c->now = e->time;
    c->events--;
    return e;
}

int main(int argc, char **argv)
{
    size_t n = argc > 1 ? strtoul(argv[1], NULL, 10) : 350000;
    uint32_t servers = (uint32_t)(n / 40) + 1, customers = (uint32_t)(n / 20) + 1;
    struct server *server = calloc(servers, sizeof(*server));
    struct calendar c = {.day = calloc(16, sizeof(struct event *)), .days = 16, .width = 1000};
    uint64_t sum = 0;

    for (uint32_t i = 0; i < servers; i++)
        for (int k = 0; k < 4; k++)
            server[i].links[k] = k ? (i + draw(30)) % servers : draw(servers);
    for (size_t i = 0; i < n; i++) {
        struct event *e;

        if (i % 20 == 0 || c.events == 0) { /* somebody comes in */
            e = calloc(1, sizeof(*e));
            e->time = c.now + draw(3000);
            e->server = draw(servers);
            e->customer = (uint32_t)i;
            put(&c, e);
        }
        if (c.events > 2 * c.days)
            resize(&c, 2 * c.days, c.width > 3 ? c.width / 2 : 2);
        e = take(&c);
        struct server *at = &server[e->server];
        uint64_t start = at->busy_until > c.now ? at->busy_until : c.now;
        at->busy_until = start + 50 + draw(draw(2000) + 1);
        at->total += at->busy_until - c.now;
        at->served++;
        sum = sum * 3 + (c.now ^ e->customer);
        if (draw(60) == 0 || c.events > customers) {
            free(e);
            continue;
        }
        e->time = at->busy_until;
        e->server = at->links[draw(4)];
        put(&c, e);
    }
    while (c.events)
        free(take(&c));
    for (uint32_t i = 0; i < servers; i++)
        sum += server[i].total * server[i].served;
    printf("calendarq %zu checksum %" PRIu64 " (%zu days)\n", n, sum, c.days);
    free(c.day);
    free(server);
    return 0;
}
