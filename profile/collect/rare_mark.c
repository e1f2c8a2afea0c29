/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which bodies are rare (rare.c). Bodies that need each other are rare together, or none of them
 * is: the parts of a loop of the source and their whole (unit.h), and those whose references share
 * a sweep (sweep.h). Such groups are taken in rising order of their accesses.
 */
#include <stdlib.h>

#include "profile/collect/rare.h"
#include "profile/collect/unit.h"

enum { KINDS = 2 }; /* of rare accesses */

/* Bodies that are rare together, or not at all. */
struct group {
    uint64_t accesses;
    uint32_t first, count; /* the first body; how many bodies have references */
    bool is_possible;      /* all of its bodies can be replaced */
};

struct marking {
    const struct lane *lane;
    struct rare_amount *bodies;
    uint32_t *before;     /* by body: one before it in its group, or itself */
    struct group *groups; /* by body, of which only the first of a group has one; then sorted */
};

/* ---- measuring ---- */

static void add_accesses(const struct lane *lane, const struct lane_body *body, uint64_t iterations,
                         struct rare_amount *amount)
{
    for (uint32_t k = 0; k < body->width; k++)
        amount->accesses[rare_is_store(&lane->sites[body->sites[k]])] += iterations;
}

/* The executions of a part within the whole are the whole's, not its own. */
static void measure(const struct lane *lane, struct rare_amount *bodies)
{
    for (uint32_t i = 0; i < lane->body_count; i++) {
        const struct lane_body *body = &lane->bodies[i];
        bodies[i].executions += body->executions;
        add_accesses(lane, body, body->iterations, &bodies[i]);
        for (uint32_t k = 0; body->unit && k < body->unit->part_count; k++) {
            const struct unit_part *part = &body->unit->parts[k];
            const struct lane_body *of = &lane->bodies[part->body];
            add_accesses(lane, of, part->iterations, &bodies[i]);
            add_accesses(lane, of, -part->iterations, &bodies[part->body]);
            bodies[part->body].executions -= part->executions;
        }
    }
}

/* ---- groups ---- */

static uint32_t first_of(const struct marking *m, uint32_t body)
{
    while (m->before[body] != body)
        body = m->before[body];
    return body;
}

static void join(const struct marking *m, uint32_t a, uint32_t b)
{
    const uint32_t p = first_of(m, a), q = first_of(m, b);

    m->before[p > q ? p : q] = p < q ? p : q;
}

/* Bodies with references to a sweep join the first one that has some; false: out of memory. */
static bool join_all(const struct marking *m)
{
    const struct lane *lane = m->lane;
    uint32_t *bodies = malloc((lane->sweep_count + (size_t)1) * sizeof *bodies);

    if (!bodies)
        return false;
    for (uint32_t i = 0; i < lane->sweep_count; i++)
        bodies[i] = PSNAP_NONE;
    for (uint32_t i = 0; i < lane->body_count; i++)
        m->before[i] = i;
    for (uint32_t i = 0; i < lane->body_count; i++) {
        const struct lane_body *body = &lane->bodies[i];
        if (body->whole != PSNAP_NONE)
            join(m, i, body->whole);
        for (uint32_t k = 0; k < body->width; k++) {
            const uint32_t sweep = lane->sites[body->sites[k]].sweep;
            if (sweep == PSNAP_NONE)
                continue;
            if (bodies[sweep] == PSNAP_NONE)
                bodies[sweep] = i;
            join(m, i, bodies[sweep]);
        }
    }
    free(bodies);
    return true;
}

/* Whether rare code can replace a symbol: each execution becomes at least one access of a kind, so
 * there must be none of that kind, or enough. */
static bool is_replaceable(const struct rare_amount *amount)
{
    bool is = true;

    for (int k = 0; k < KINDS; k++)
        is &= !amount->accesses[k] || amount->accesses[k] >= amount->executions;
    return is;
}

static void sum_groups(const struct marking *m)
{
    for (uint32_t i = 0; i < m->lane->body_count; i++)
        m->groups[i] = (struct group){.first = i, .is_possible = true};
    for (uint32_t i = 0; i < m->lane->body_count; i++) {
        struct group *group = &m->groups[first_of(m, i)];
        group->accesses += m->bodies[i].accesses[0] + m->bodies[i].accesses[1];
        group->count += m->lane->bodies[i].width > 0;
        group->is_possible &= is_replaceable(&m->bodies[i]);
    }
}

static int compare_groups(const void *a, const void *b)
{
    const struct group *p = a, *q = b;

    if (p->accesses != q->accesses)
        return p->accesses < q->accesses ? -1 : 1;
    return p->first < q->first ? -1 : p->first > q->first;
}

/* ---- marking ---- */

/* Groups with the fewest accesses, until the others are no more than a profile may have. */
static bool mark_bodies(const struct marking *m)
{
    const struct lane *lane = m->lane;
    uint64_t sum = 0;
    uint32_t left = 0;

    if (!join_all(m))
        return false;
    sum_groups(m);
    for (uint32_t i = 0; i < lane->body_count; i++)
        left += m->groups[i].count;
    qsort(m->groups, lane->body_count, sizeof *m->groups, compare_groups);
    for (uint32_t i = 0; left > RARE_BODIES && i < lane->body_count; i++) {
        const struct group *group = &m->groups[i];
        if (!group->count || !group->is_possible)
            continue;
        sum += group->accesses;
        if (sum > lane->now / RARE_SHARE)
            break;
        left -= group->count;
        m->bodies[group->first].is_rare = true;
    }
    for (uint32_t i = 0; i < lane->body_count; i++)
        m->bodies[i].is_rare = m->bodies[first_of(m, i)].is_rare;
    return true;
}

/* A chain is rare when all its states are, which come nowhere else, and it can be replaced. */
static void mark_chains(const struct order *order, const struct rare_amount *bodies,
                        struct rare_amount *chains)
{
    for (uint32_t i = 0; i < order->chain_count; i++) {
        const struct chain *chain = &order->chains[i];
        struct rare_amount *amount = &chains[i];
        amount->is_rare = true;
        amount->executions = chain_circuits(chain);
        for (uint32_t s = 1; s < chain->count; s++) {
            const uint32_t symbol = chain->states[s].symbol;
            const struct rare_amount *of =
                symbol & ORDER_CHAIN ? &chains[symbol & ~ORDER_CHAIN] : &bodies[symbol];
            amount->is_rare &= of->is_rare && of->executions == chain_entries(chain, s);
            for (int k = 0; k < KINDS; k++)
                amount->accesses[k] += of->accesses[k];
        }
        amount->is_rare &= is_replaceable(amount);
    }
}

bool rare_mark(const struct lane *lane, struct rare_amount *bodies, struct rare_amount *chains)
{
    struct marking m = {.lane = lane,
                        .bodies = bodies,
                        .before = malloc(lane->body_count * sizeof *m.before),
                        .groups = malloc(lane->body_count * sizeof *m.groups)};
    const bool has_memory = m.before && m.groups;
    bool is_done = false;

    if (has_memory) {
        measure(lane, bodies);
        is_done = mark_bodies(&m);
    }
    if (is_done)
        mark_chains(&lane->order, bodies, chains);
    free(m.before);
    free(m.groups);
    return is_done;
}
