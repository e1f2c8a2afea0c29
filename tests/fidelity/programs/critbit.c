/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * critbit: a routing table as a binary radix tree (PATRICIA) over prefixes of 32-bit addresses;
 * packets look up the longest prefix, in bursts to the same few places. Irregular: descents by
 * bits whose lengths differ, with a locality in time that comes from the bursts.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct route {
    uint32_t prefix, hop;
    uint8_t length, used;
    uint32_t child[2];
};

struct table {
    struct route *route;
    uint32_t routes, room;
};

static uint32_t rnd(uint32_t *s)
{
    *s ^= *s << 13;
    *s ^= *s >> 17;
    *s ^= *s << 5;
    return *s;
}

static uint32_t mask(unsigned length)
{
    return length ? ~UINT32_C(0) << (32 - length) : 0;
}

static uint32_t new_route(struct table *t, uint32_t prefix, unsigned length)
{
    if (t->routes == t->room)
        t->route = realloc(t->route, (t->room *= 2) * sizeof(*t->route));
    t->route[t->routes] =
        (struct route){.prefix = prefix & mask(length), .length = (uint8_t)length};
    return t->routes++;
}

static unsigned common(uint32_t a, uint32_t b)
{
    return a == b ? 32 : (unsigned)__builtin_clz(a ^ b);
}

static void add(struct table *t, uint32_t prefix, unsigned length, uint32_t hop)
{
    uint32_t at = 0, above, fresh;
    unsigned same;

    prefix &= mask(length);
    for (;;) {
        unsigned bit;

        if (t->route[at].length == length && t->route[at].prefix == prefix)
            break;
        above = at;
        bit = prefix >> (31 - t->route[at].length) & 1;
        at = t->route[at].child[bit];
        if (!at) {
            at = new_route(t, prefix, length);
            t->route[above].child[bit] = at;
            break;
        }
        same = common(prefix, t->route[at].prefix);
        if (same > length)
            same = length;
        if (same >= t->route[at].length)
            continue;
        fresh = new_route(t, prefix, same); /* between above and at */
        t->route[above].child[bit] = fresh;
        t->route[fresh].child[t->route[at].prefix >> (31 - same) & 1] = at;
        at = fresh;
        if (same == length)
            break;
    }
    t->route[at].hop = hop;
    t->route[at].used = 1;
}

static uint32_t find(const struct table *t, uint32_t address)
{
    const struct route *at = t->route;
    uint32_t hop = 0, next;

    for (;;) {
        if ((address & mask(at->length)) != at->prefix)
            return hop;
        if (at->used)
            hop = at->hop;
        if (at->length == 32)
            return hop;
        next = at->child[address >> (31 - at->length) & 1];
        if (!next)
            return hop;
        at = &t->route[next];
    }
}

int main(int argc, char **argv)
{
    uint32_t n = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 40000;
    struct table t = {.route = malloc(64 * sizeof(struct route)), .room = 64};
    uint32_t seed = 77, recent[64] = {0};
    uint64_t sum = 0;

    new_route(&t, 0, 0);
    for (uint32_t i = 1; i <= n; i++)
        add(&t, rnd(&seed) >> rnd(&seed) % 3, 8 + rnd(&seed) % 17, i);
    for (uint32_t i = 0; i < 12 * n; i++) {
        uint32_t r = rnd(&seed), slot = r >> 8 & 63;

        if (r % 16 == 0)
            recent[slot] = rnd(&seed);
        sum = sum * 5 + find(&t, recent[slot] ^ (r >> 27));
    }
    printf("critbit %u checksum %" PRIu64 " (%u)\n", n, sum, t.routes);
    free(t.route);
    return 0;
}
