/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The irregular references of a loop together: which go along with which.
 *
 * A reference goes along with another when its address follows from the last one of that: the
 * same distance away (the store after the load of a counter, the fields of a node), or the same
 * index in an array of other elements. Candidates are the references used just before; a
 * majority vote (Boyer and Moore) over pairs finds distance and ratio. What it does on its own
 * besides (a list's head, then its links) is collected, what goes along is not.
 */
#include <stdlib.h>
#include <string.h>

#include "profile/gathers/gather_collect.h"

enum {
    RECENT = 8,     /* references that may be gone along with */
    WAYS = 8,       /* in which it may be so, for the vote */
    LEARNED = 8192, /* accesses until it is decided with which */
    RELEARNED = 3,  /* times that is tried again */
    RATIO_MAX = 64
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
    bool is_wanted, is_decided; /* decided: not learning at present */
    bool is_out_of_memory;      /* something of it is lost */
    uint64_t kind;              /* of copies */
    uint64_t low, high;         /* of its only area, when it was decided; high is 0: it has more */
    uint32_t shares;            /* the member that collects what this one does on its own */
    uint32_t learned, relearned;
    uint64_t last;
    uint64_t count;
    struct candidate candidates[RECENT];
    uint32_t candidate_count;
    uint32_t with_count; /* once decided: most first */
    uint32_t leaders[GATHER_WITHS];
    struct supposition with[GATHER_WITHS];
    uint64_t with_pairs; /* that might have matched */
    uint64_t with_since[GATHER_WITHS];
    uint64_t dropped;           /* accesses that were collected and forgotten */
    struct gather_areas *areas; /* what is collected; NULL: nothing */
};

struct gather_group {
    uint32_t count;
    uint32_t recent[RECENT]; /* latest first */
    uint32_t recent_count;
    struct member members[];
};

struct gather_group *gather_group_new(uint32_t references)
{
    struct gather_group *group = calloc(1, sizeof *group + references * sizeof group->members[0]);

    if (!group)
        return NULL;
    group->count = references;
    for (uint32_t i = 0; i < references; i++)
        group->members[i].shares = i;
    return group;
}

static void forget_areas(struct member *m)
{
    m->dropped += gather_areas_count(m->areas);
    gather_areas_free(m->areas);
    m->areas = NULL;
}

void gather_group_free(struct gather_group *group)
{
    if (!group)
        return;
    for (uint32_t i = 0; i < group->count; i++)
        forget_areas(&group->members[i]);
    free(group);
}

void gather_group_want(struct gather_group *group, uint32_t reference, uint64_t kind)
{
    group->members[reference].is_wanted = true;
    group->members[reference].kind = kind;
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
        /* itself too when it goes along with another: then steps lead on from there */
        struct candidate *c =
            leader != reference || m->with_count ? candidate_of(group, m, leader) : NULL;
        if (c)
            learn(c, group->members[leader].last, address);
    }
}

/* Whether `leader` itself goes along with `reference`, however far. */
static bool is_led_by(const struct gather_group *group, uint32_t leader, uint32_t reference,
                      uint32_t depth)
{
    const struct member *m = &group->members[leader];

    if (leader == reference || depth > 8)
        return true;
    for (uint32_t i = 0; i < m->with_count; i++)
        if (m->leaders[i] != leader && is_led_by(group, m->leaders[i], reference, depth + 1))
            return true;
    return false;
}

/* Whether the leader goes along with the reference as well, and more often or nearer: of two
   fields of a node the second goes along with the first, not the first with the node before. */
static bool is_mutual(const struct gather_group *group, uint32_t leader, uint32_t reference,
                      const struct supposition *way)
{
    const struct member *l = &group->members[leader];

    if (!l->is_wanted || leader == reference)
        return false;
    for (uint32_t i = 0; i < l->candidate_count; i++)
        for (int j = 0; j < WAYS && l->candidates[i].leader == reference; j++) {
            const struct supposition *other = &l->candidates[i].ways[j];
            const bool is_nearer = other->matches > l->learned / 8 && other->times == other->over &&
                                   llabs((int64_t)(other->from - other->leader_from)) <
                                       llabs((int64_t)(way->from - way->leader_from));
            if (is_nearer || other->matches > way->matches + way->matches / 8)
                return true;
        }
    return false;
}

/* The way that had most matches, of leaders that are not taken; NULL: none had many. */
static const struct supposition *best_way(const struct gather_group *group, uint32_t reference,
                                          uint32_t *leader)
{
    const struct member *m = &group->members[reference];
    const struct supposition *best = NULL;

    for (uint32_t i = 0; i < m->candidate_count; i++) {
        const struct candidate *c = &m->candidates[i];
        bool is_taken = c->leader != reference && is_led_by(group, c->leader, reference, 0);
        for (uint32_t j = 0; j < m->with_count; j++)
            is_taken |= m->leaders[j] == c->leader;
        for (int j = 0; j < WAYS && !is_taken; j++)
            if (c->ways[j].matches > m->learned / 10 &&
                (!best || c->ways[j].matches > best->matches) &&
                !is_mutual(group, c->leader, reference, &c->ways[j])) {
                best = &c->ways[j];
                *leader = c->leader;
            }
    }
    return best;
}

static void decide(struct gather_group *group, uint32_t reference, bool is_end)
{
    struct member *m = &group->members[reference];
    const uint64_t nearly_all = m->learned - m->learned / 200;
    const uint32_t before = m->with_count;

    m->is_decided = true;
    gather_areas_range(m->areas, &m->low, &m->high);
    while (m->with_count < GATHER_WITHS) {
        const struct supposition *way = best_way(group, reference, &m->leaders[m->with_count]);
        if (!way || (is_end && way->matches < nearly_all))
            break;
        m->with_since[m->with_count] = m->with_pairs - (is_end ? m->learned : 0);
        m->with[m->with_count] = *way;
        m->with[m->with_count++].matches = is_end ? m->learned : 0;
        if (way->matches >= nearly_all)
            break;
    }
    if (m->with_count > before) {
        forget_areas(m);
        m->dropped = 0; /* most of them went along */
    }
}

/* Whether two members use the same memory, about. */
static bool is_overlapping(const struct member *a, const struct member *b)
{
    const uint64_t low = a->low > b->low ? a->low : b->low;
    const uint64_t high = a->high < b->high ? a->high : b->high;
    const uint64_t all_low = a->low < b->low ? a->low : b->low;
    const uint64_t all_high = a->high > b->high ? a->high : b->high;

    return high > low && (high - low) / 7 > (all_high - all_low) / 8;
}

/* Copies that go along with nothing, in the same memory, are one: unrolling made them. */
static void join_copies(struct gather_group *group, uint32_t reference)
{
    struct member *m = &group->members[reference];

    for (uint32_t i = 0; i < group->count; i++) {
        struct member *other = &group->members[i];
        if (i == reference || !other->is_wanted || !other->is_decided || other->shares != i ||
            other->kind != m->kind || m->with_count || other->with_count ||
            !is_overlapping(m, other))
            continue;
        m->shares = i;
        m->relearned = other->relearned = RELEARNED; /* that is settled */
        forget_areas(m);
        if (gather_areas_count(other->areas) < 4 * LEARNED)
            forget_areas(other);
        other->dropped += m->dropped;
        return;
    }
}

/* What it does on its own has become much, or was so from the start: look again, now and then. */
static void learn_again(struct member *m)
{
    const uint64_t own = gather_areas_count(m->areas);

    if (m->relearned == RELEARNED || own < (uint64_t)LEARNED << (2 * m->relearned + 1) ||
        own < m->count / 16)
        return;
    m->relearned++;
    m->is_decided = false;
    m->learned = 0;
    m->candidate_count = 0;
    memset(m->candidates, 0, sizeof m->candidates);
}

/* Whether the address was that of a leader's. */
static bool goes_along(struct gather_group *group, struct member *m, uint64_t address)
{
    m->with_pairs++;
    for (uint32_t i = 0; i < m->with_count; i++)
        if (is_predicted(&m->with[i], group->members[m->leaders[i]].last, address)) {
            m->with[i].matches++;
            return true;
        }
    return false;
}

static void collect(struct member *m, uint64_t address)
{
    if (!m->areas && !(m->areas = gather_areas_new()))
        m->is_out_of_memory = true;
    else
        gather_areas_put(m->areas, &address, 1);
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
            m->count++;
            if (!goes_along(group, m, addresses[i])) {
                if (!m->is_decided) {
                    learn_all(group, reference, addresses[i]);
                    m->learned++;
                }
                collect(&group->members[m->shares], addresses[i]);
                if (!m->is_decided && m->learned == LEARNED) {
                    decide(group, reference, false);
                    join_copies(group, reference);
                } else if (m->is_decided)
                    learn_again(m);
            }
        }
        m->last = addresses[i];
        note_recent(group, reference);
    }
}

bool gather_group_is_whole(const struct gather_group *group)
{
    for (uint32_t i = 0; i < group->count; i++)
        if (group->members[i].is_out_of_memory || !gather_areas_are_whole(group->members[i].areas))
            return false;
    return true;
}

void gather_group_fit(struct gather_group *group, uint32_t reference, struct psnap_gather *model)
{
    struct member *m = &group->members[reference];
    double share = 0;

    if (!m->is_decided)
        decide(group, reference, true);
    memset(model, 0, sizeof *model);
    model->accesses = m->count;
    model->shares = m->shares;
    if (m->shares != reference)
        return;
    for (uint32_t i = 0; i < m->with_count; i++) {
        const uint64_t pairs = m->with_pairs - m->with_since[i];
        const double part = pairs ? (double)m->with[i].matches / (double)pairs : 0;
        if (part < 1.0 / 32)
            continue;
        model->with[model->with_count++] = (struct gather_with){part,
                                                                m->leaders[i],
                                                                m->with[i].leader_from,
                                                                m->with[i].from,
                                                                m->with[i].times,
                                                                m->with[i].over};
        share += part;
    }
    for (uint32_t i = 0; i < model->with_count && (share > 0.995 || !m->areas); i++)
        model->with[i].share /= share;
    if (!m->areas || (model->with_count && share > 0.995))
        return;
    gather_areas_fit(m->areas, model);
    if (model->turn_count)
        model->turns[0].accesses += m->dropped;
}
