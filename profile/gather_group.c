/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The irregular references of a loop together: which go along with which, and which stretches of
 * memory, far apart, each uses.
 *
 * A reference goes along with another when its address follows from the last one of that: the
 * same distance away (the store after the load of a counter, the fields of a node), or the same
 * index in an array of other elements. Candidates are the references used just before; a
 * majority vote (Boyer and Moore) over pairs finds distance and ratio. What it does on its own
 * besides (a list's head, then its links) is collected, what goes along is not.
 */
#include <stdlib.h>
#include <string.h>

#include "profile/gather_collect.h"

enum {
    RECENT = 8,      /* references that may be gone along with */
    WAYS = 4,        /* in which it may be so, for the vote */
    LEARNED = 8192,  /* accesses until it is decided with which */
    RATIO_MAX = 64,
    SLACK = 16 << 20 /* bytes between two areas, at least */
};

/* That a reference goes along with another in one way, which one pair of addresses shows. */
struct supposition {
    uint64_t leader_from, from;
    int64_t times, over;
    uint64_t votes, matches;
};

struct candidate {
    uint32_t leader;
    bool has_last;
    uint64_t leader_last, last; /* the pair before */
    struct supposition ways[WAYS];
};

struct member {
    bool is_wanted, is_decided;
    uint64_t last;
    uint64_t count;
    struct candidate candidates[RECENT];
    uint32_t candidate_count;
    uint32_t leader; /* once decided: */
    struct supposition with; /* when matches is not 0 */
    uint64_t with_pairs;     /* that might have matched */
    uint64_t own;            /* accesses that were collected */
    struct gather_collector *areas[GATHER_AREAS];
    uint32_t area_count, area;
    uint64_t changes[GATHER_AREAS][GATHER_AREAS];
    struct gather_turn turns[GATHER_TURNS];
    uint32_t turn_count; /* GATHER_TURNS + 1: too many */
};

struct gather_group {
    uint32_t count;
    uint32_t recent[RECENT]; /* latest first */
    uint32_t recent_count;
    struct member members[];
};

struct gather_group *gather_group_new(uint32_t references)
{
    struct gather_group *group =
        calloc(1, sizeof *group + references * sizeof group->members[0]);

    if (group)
        group->count = references;
    return group;
}

static void forget_areas(struct member *m)
{
    for (uint32_t i = 0; i < m->area_count; i++)
        gather_collector_free(m->areas[i]);
    memset(m->areas, 0, sizeof m->areas);
    memset(m->changes, 0, sizeof m->changes);
    m->area_count = m->area = m->turn_count = 0;
    m->own = 0;
}

void gather_group_free(struct gather_group *group)
{
    if (!group)
        return;
    for (uint32_t i = 0; i < group->count; i++)
        forget_areas(&group->members[i]);
    free(group);
}

bool gather_group_want(struct gather_group *group, uint32_t reference)
{
    group->members[reference].is_wanted = true;
    return true;
}

/* ---- going along ---- */

static bool is_predicted(const struct supposition *c, uint64_t leader, uint64_t address)
{
    const int64_t way = (int64_t)(leader - c->leader_from);

    return (int64_t)(address - c->from) * c->over == way * c->times;
}

static int64_t divisor_of(int64_t a, int64_t b)
{
    while (b) {
        const int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return llabs(a);
}

/* A new one from this pair and the one before. */
static void suppose(const struct candidate *c, struct supposition *way, uint64_t leader,
                    uint64_t address)
{
    const int64_t a = (int64_t)(leader - c->leader_last), b = (int64_t)(address - c->last);
    int64_t divisor;

    *way = (struct supposition){leader, address, 1, 1, 1, 1};
    if (!c->has_last || !a || !b)
        return;
    divisor = divisor_of(a, b);
    if (llabs(a) / divisor > RATIO_MAX || llabs(b) / divisor > RATIO_MAX)
        return;
    way->times = (a < 0 ? -b : b) / divisor;
    way->over = llabs(a) / divisor;
}

static void learn(struct candidate *c, uint64_t leader, uint64_t address)
{
    struct supposition *free_way = NULL;
    bool is_known = false;

    for (int i = 0; i < WAYS && !is_known; i++) {
        struct supposition *way = &c->ways[i];
        if (!way->votes) {
            free_way = way;
        } else if (is_predicted(way, leader, address)) {
            way->votes++;
            way->matches++;
            is_known = true;
        }
    }
    if (!is_known && free_way)
        suppose(c, free_way, leader, address);
    else if (!is_known)
        for (int i = 0; i < WAYS; i++)
            c->ways[i].votes--;
    c->leader_last = leader;
    c->last = address;
    c->has_last = true;
}

static bool is_recent(const struct gather_group *group, uint32_t reference)
{
    for (uint32_t i = 0; i < group->recent_count; i++)
        if (group->recent[i] == reference)
            return true;
    return false;
}

/* The candidate for this leader, in the place of one that is no longer used just before. */
static struct candidate *candidate_of(const struct gather_group *group, struct member *m,
                                      uint32_t leader)
{
    struct candidate *place = NULL;

    for (uint32_t i = 0; i < m->candidate_count; i++)
        if (m->candidates[i].leader == leader)
            return &m->candidates[i];
    if (m->candidate_count < RECENT)
        place = &m->candidates[m->candidate_count++];
    for (uint32_t i = 0; i < RECENT && !place; i++)
        if (!is_recent(group, m->candidates[i].leader))
            place = &m->candidates[i];
    if (place)
        *place = (struct candidate){.leader = leader};
    return place;
}

static void learn_all(struct gather_group *group, uint32_t reference, uint64_t address)
{
    struct member *m = &group->members[reference];

    for (uint32_t i = 0; i < group->recent_count; i++) {
        const uint32_t leader = group->recent[i];
        struct candidate *c = leader != reference ? candidate_of(group, m, leader) : NULL;
        if (c)
            learn(c, group->members[leader].last, address);
    }
}

/* Whether `leader` itself goes along with `reference`, however far. */
static bool is_led_by(const struct gather_group *group, uint32_t leader, uint32_t reference)
{
    for (uint32_t i = 0; i < group->count; i++) {
        const struct member *m = &group->members[leader];
        if (leader == reference)
            return true;
        if (!m->is_decided || !m->with.matches)
            return false;
        leader = m->leader;
    }
    return true;
}

static void decide(struct gather_group *group, uint32_t reference, bool is_end)
{
    struct member *m = &group->members[reference];
    const uint64_t nearly_all = m->count - m->count / 200;

    m->is_decided = true;
    for (uint32_t i = 0; i < m->candidate_count; i++) {
        const struct candidate *c = &m->candidates[i];
        if (is_led_by(group, c->leader, reference))
            continue;
        for (int j = 0; j < WAYS; j++)
            if (c->ways[j].matches > m->count / 8 && c->ways[j].matches > m->with.matches) {
                m->with = c->ways[j];
                m->leader = c->leader;
            }
    }
    if (is_end && m->with.matches < nearly_all)
        m->with.matches = 0;
    if (m->with.matches >= nearly_all)
        m->with.matches = m->count; /* but for the first */
    m->with_pairs = m->count;
    if (m->with.matches && !is_end)
        forget_areas(m);
}

/* Whether the address was that of the leader's. */
static bool goes_along(struct gather_group *group, struct member *m, uint64_t address)
{
    if (!m->with.matches)
        return false;
    m->with_pairs++;
    if (!is_predicted(&m->with, group->members[m->leader].last, address))
        return false;
    m->with.matches++;
    return true;
}

/* ---- areas ---- */

static uint64_t distance_of(const struct gather_collector *area, uint64_t address)
{
    return address < area->low    ? area->low - address
           : address > area->high ? address - area->high
                                  : 0;
}

static uint32_t area_of(struct member *m, uint64_t address)
{
    uint32_t nearest = 0;

    if (!m->area_count)
        goto more;
    if (!distance_of(m->areas[m->area], address))
        return m->area;
    for (uint32_t i = 1; i < m->area_count; i++)
        if (distance_of(m->areas[i], address) < distance_of(m->areas[nearest], address))
            nearest = i;
    if (m->area_count == GATHER_AREAS || distance_of(m->areas[nearest], address) < SLACK)
        return nearest;
more:
    m->areas[m->area_count] = gather_collector_new();
    return m->areas[m->area_count] ? m->area_count++ : nearest;
}

static void collect(struct member *m, uint64_t address)
{
    const uint32_t area = area_of(m, address);

    if (!m->area_count)
        return; /* out of memory */
    if (!m->turn_count || area != m->area) {
        if (m->turn_count < GATHER_TURNS)
            m->turns[m->turn_count].area = area;
        m->turn_count += m->turn_count <= GATHER_TURNS;
    }
    if (m->turn_count <= GATHER_TURNS) {
        struct gather_turn *turn = &m->turns[m->turn_count - 1];
        turn->accesses = turn->area == area && m->own && m->area == area ? turn->accesses + 1 : 1;
    }
    m->changes[m->area][area]++;
    m->area = area;
    m->own++;
    gather_collector_put(m->areas[area], address);
}

static void note_recent(struct gather_group *group, uint32_t reference)
{
    uint32_t i = 0;

    while (i < group->recent_count && group->recent[i] != reference)
        i++;
    if (i == group->recent_count) {
        group->recent_count += group->recent_count < RECENT;
        i = group->recent_count - 1;
    }
    memmove(group->recent + 1, group->recent, i * sizeof *group->recent);
    group->recent[0] = reference;
}

void gather_group_put(struct gather_group *group, const uint32_t *references,
                      const uint64_t *addresses, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const uint32_t reference = references[i];
        struct member *m = &group->members[reference];

        if (m->is_wanted) {
            if (!m->is_decided) {
                learn_all(group, reference, addresses[i]);
                m->count++;
                collect(m, addresses[i]);
                if (m->count == LEARNED)
                    decide(group, reference, false);
            } else {
                m->count++;
                if (!goes_along(group, m, addresses[i]))
                    collect(m, addresses[i]);
            }
        }
        m->last = addresses[i];
        note_recent(group, reference);
    }
}

void gather_group_fit(struct gather_group *group, uint32_t reference, struct psnap_gather *model)
{
    struct member *m = &group->members[reference];

    if (!m->is_decided)
        decide(group, reference, true);
    memset(model, 0, sizeof *model);
    model->accesses = m->count;
    if (m->with.matches > m->with_pairs / 16) {
        const double share = (double)m->with.matches / (double)m->with_pairs;
        model->with =
            (struct gather_with){share > 0.995 || !m->area_count ? 1 : share, m->leader,
                                 m->with.leader_from, m->with.from, m->with.times, m->with.over};
        if (model->with.share >= 1)
            return;
    }
    model->area_count = m->area_count;
    for (uint32_t i = 0; i < m->area_count; i++) {
        uint64_t sum = 0;
        gather_fit(m->areas[i], &model->areas[i]);
        for (uint32_t j = 0; j < m->area_count; j++)
            sum += m->changes[i][j];
        for (uint32_t j = 0; j < m->area_count; j++)
            model->next_area[i][j] = sum ? (double)m->changes[i][j] / (double)sum : i == j;
    }
    if (m->area_count > 1 && m->turn_count <= GATHER_TURNS) {
        model->turn_count = m->turn_count;
        memcpy(model->turns, m->turns, m->turn_count * sizeof *m->turns);
    }
}
