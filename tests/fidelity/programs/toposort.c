/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * toposort: a build system: targets depend on others, Kahn's method orders them, times are
 * propagated along the order, then changes of single files mark what has to be built again.
 * Irregular: a queue of what is ready, counters decremented anywhere, marks that spread.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct target {
    struct target **user; /* what depends on it */
    uint32_t users, room;
    uint32_t waits, cost;
    uint64_t ready;
    uint32_t mark;
    char name[20];
};

static uint64_t s = 31;

static uint32_t draw(uint32_t below)
{
    s ^= s << 13;
    s ^= s >> 7;
    s ^= s << 17;
    return (uint32_t)(s >> 33) % below;
}

static void depend(struct target *on, struct target *user)
{
    if (on->users == on->room) {
        on->room = on->room ? 2 * on->room : 2;
        on->user = realloc(on->user, on->room * sizeof(struct target *));
    }
    on->user[on->users++] = user;
    user->waits++;
}

static uint32_t order(struct target **all, uint32_t n, struct target **queue)
{
    uint32_t head = 0, tail = 0;

    for (uint32_t i = 0; i < n; i++)
        if (all[i]->waits == 0)
            queue[tail++] = all[i];
    while (head < tail) {
        struct target *t = queue[head++];

        for (uint32_t i = 0; i < t->users; i++) {
            struct target *user = t->user[i];

            if (user->ready < t->ready + t->cost)
                user->ready = t->ready + t->cost;
            if (--user->waits == 0)
                queue[tail++] = user;
        }
    }
    return tail;
}

static uint32_t rebuild(struct target *t, uint32_t mark)
{
    uint32_t count = 1;

    t->mark = mark;
    for (uint32_t i = 0; i < t->users; i++)
        if (t->user[i]->mark != mark)
            count += rebuild(t->user[i], mark);
    return count;
}

int main(int argc, char **argv)
{
    uint32_t n = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 120000;
    struct target **all = malloc(n * sizeof(*all)), **queue = malloc(n * sizeof(*queue));
    uint64_t sum = 0;

    for (uint32_t i = 0; i < n; i++) {
        all[i] = calloc(1, sizeof(struct target));
        all[i]->cost = 1 + draw(50);
        snprintf(all[i]->name, sizeof(all[i]->name), "target%u.o", i);
    }
    for (uint32_t i = n - 1; i > 0; i--) { /* whoever is mixed knows no order */
        uint32_t j = draw(i + 1);
        struct target *t = all[i];

        all[i] = all[j];
        all[j] = t;
    }
    for (uint32_t i = 1; i < n; i++) {
        uint32_t span = i < 2000 ? i : 2000;

        for (uint32_t k = draw(6); k > 0; k--)
            depend(all[i - 1 - (draw(8) ? draw(span) : draw(i))], all[i]);
    }
    sum = order(all, n, queue);
    for (uint32_t i = 0; i < n; i++)
        sum = sum * 3 + queue[i]->ready + strlen(queue[i]->name);
    for (uint32_t k = 1; k <= 60; k++)
        sum += rebuild(all[n - 1 - draw(n / 3 + 1) * draw(100) / 100], k) * (uint64_t)k;
    for (uint32_t i = 0; i < n; i++) {
        free(all[i]->user);
        free(all[i]);
    }
    free(all);
    free(queue);
    printf("toposort %u checksum %" PRIu64 "\n", n, sum);
    return 0;
}
