/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the first addresses of a reference decide.
 *
 * They show whether entries to its loop are told apart: if that makes more of it foreseeable, by a
 * leader or by one step. With a share p_i of the n_i addresses of part i foreseen, sum(n_i p_i^2)
 * is compared, so that a part that is certain counts more than two halves; and parts that do not
 * overlap are told apart in any case, as are those of which all first addresses are of entries:
 * nobody knows of the rest then. So are few entries that nobody foresees from a rest that is
 * certain: walks are as long as they were, then. The root of a tree is not told apart from what
 * is found below it (gather_descent.h).
 *
 * References that are copies of one, made by unrolling and vectorising, are one: the same source,
 * line, size and object. So are others that a line has, a[i * n + k] + a[k * n + j]: by the first
 * addresses of those that look like copies it is decided whether they are, or are more foreseeable
 * each by itself. Until then what they draw is put into a pool of them as well. What is one then is
 * still looked at for leaders, and apart in the end if each has one. One that comes back to its own
 * earlier addresses is no copy of one that does not.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "profile/walks/nest_draws_seen.h"

enum {
    APART_SHARE = 4, /* of what are no copies all but one of so many are foreseen */
    TOLD_SHARE = 8,  /* or all but one of so many are one of a few others, */
    GAIN_SHARE = 16, /* of the addresses that telling entries apart must foresee more */
    SAME_SHARE = 64  /* a share that makes no difference */
};

static int compare(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

/* What goes on from its own addresses has to begin anew by itself: where its loop is come to. */
bool draw_is_another(void *context, uint32_t draw, enum nest_lead lead)
{
    const struct leading *l = context;
    const struct draw *other = &l->draws->draws[draw];

    return lead == NEST_LEAD_OWN ? l->part == DRAW_REST
                                 : other->into != l->index && other->pool != l->index;
}

/* Of the addresses of a part, to tell it from others by what is foreseen. */
#define SURE_COUNT 16.0

struct first {
    uint64_t low, high;
    double foreseen; /* n p^2 */
    double told;     /* n p, whatever is by chance in it */
    double count;    /* n */
};

/* What of the first addresses that are of a part is foreseen by its leader, or by those just
 * before, or by one step. */
static struct first look_at(struct nest_draws *draws, uint32_t index, unsigned part)
{
    const struct draw *draw = &draws->draws[index];
    struct leading leading = {draws, index, part};
    uint64_t steps[DRAW_FIRST], last = 0, most, n = 0, same = 0;
    struct first first = {.low = UINT64_MAX};
    double after, told;

    for (uint32_t i = 0; i < draw->first_count; i++) {
        const uint64_t address = draw->first[i];
        if (part != DRAW_ALL && draw->first_is_entry[i] != (part == DRAW_ENTRY))
            continue;
        first.low = address < first.low ? address : first.low;
        first.high = address > first.high ? address : first.high;
        steps[n++] = address - last;
        last = address;
    }
    most = draw_follows(&draw->followers[part]) ? draw->followers[part].held : 0;
    if (n > 1)
        qsort(steps + 1, n - 1, sizeof *steps, compare);
    for (uint64_t i = 2; i < n; i++) {
        same = steps[i] == steps[i - 1] ? same + 1 : 0;
        most = same > most ? same : most;
    }
    first.foreseen = n ? (double)most * (double)most / (double)n : 0;
    after = (double)n * nest_rows_foreseen(draw->rows[part], draw_is_another, &leading, &told);
    first.foreseen = after > first.foreseen ? after : first.foreseen;
    first.told = (double)n * told > (double)most ? (double)n * told : (double)most;
    first.count = (double)n;
    return first;
}

/* Whether all but where the loop is come to is foreseen, and that is not. */
static bool begins_anywhere(const struct first *rest, const struct first *entry,
                            const struct first *all)
{
    return rest->count >= SURE_COUNT && entry->count >= SURE_COUNT &&
           rest->foreseen >= 0.99 * rest->count && entry->foreseen < 0.5 * entry->count &&
           all->foreseen < 0.99 * all->count;
}

static_assert((int)DRAW_FIRST >= (int)GATHER_DESCENT_FIRST, "a root is found by the first ones");

void draw_decide(struct nest_draws *draws, uint32_t index)
{
    struct draw *draw = &draws->draws[index];
    const struct first rest = look_at(draws, index, DRAW_REST),
                       entry = look_at(draws, index, DRAW_ENTRY);
    const struct first all = look_at(draws, index, DRAW_ALL);
    const bool has_both = rest.low <= rest.high && entry.low <= entry.high;

    draw->is_decided = true;
    draw->is_split =
        rest.low > rest.high || (has_both && begins_anywhere(&rest, &entry, &all)) ||
        (has_both && (rest.high < entry.low || entry.high < rest.low ||
                      rest.foreseen + entry.foreseen >
                          all.foreseen + (double)draw->first_count / (double)GAIN_SHARE));
    draw->is_split = draw->is_split && !gather_is_descent(draw->first, draw->first_count);
    for (uint32_t i = 0; i < draw->first_count; i++)
        draw_collect(draws, draw, draw->is_split && draw->first_is_entry[i], draw->first[i]);
    for (unsigned k = 0; k < 3; k++)
        if ((k == DRAW_ALL) == draw->is_split) {
            free(draw->rows[k]);
            free(draw->jumps[k]);
            draw->rows[k] = NULL;
            draw->jumps[k] = NULL;
        }
    free(draw->first);
    free(draw->first_is_entry);
    draw->first = NULL;
    draw->first_is_entry = NULL;
}

/* How much of the first addresses is foreseen, with entries told apart or not; adds what is told.
 */
static double foreseen(struct nest_draws *draws, uint32_t index, double *told)
{
    const struct first rest = look_at(draws, index, DRAW_REST),
                       entry = look_at(draws, index, DRAW_ENTRY),
                       all = look_at(draws, index, DRAW_ALL);
    const bool is_apart = rest.foreseen + entry.foreseen > all.foreseen;

    *told += is_apart ? rest.told + entry.told : all.told;
    return is_apart ? rest.foreseen + entry.foreseen : all.foreseen;
}

/* The copies are one from now on. */
static void join(struct nest_draws *draws, uint32_t pool)
{
    for (uint32_t i = 0; i < draws->count; i++)
        if (draws->draws[i].pool == pool) {
            draws->draws[i].pool = PSNAP_NONE;
            draws->draws[i].into = pool;
            draw_drop(&draws->draws[i]);
        }
    for (uint32_t i = 0; i < draws->count; i++)
        for (unsigned k = 0; k < 3; k++) {
            uint32_t *leader = &draws->draws[i].followers[k].leader;
            *leader = *leader == PSNAP_NONE ? PSNAP_NONE : draws->draws[*leader].into;
            *leader = *leader == draws->draws[i].into ? PSNAP_NONE : *leader;
        }
    for (uint32_t i = 0; i < DRAW_RECENT; i++)
        if (draws->recent[i] != PSNAP_NONE)
            draws->recent[i] = draws->draws[draws->recent[i]].into;
}

/* Whether all of a pool but one are always as far from another of them. */
static bool keep_together(const struct nest_draws *draws, uint32_t pool)
{
    uint32_t others = 0;

    for (uint32_t i = 0; i < draws->count; i++) {
        const struct follower *follower = &draws->draws[i].followers[DRAW_ALL];
        if (draws->draws[i].pool != pool)
            continue;
        others += !draw_follows(follower) || draws->draws[follower->leader].pool != pool;
    }
    return others == 1;
}

/* Whether one of a pool often comes back to its own earlier addresses and another one does not: the
 * bounds of what a recursion divides, and what lies between them. */
static bool are_unlike(const struct nest_draws *draws, uint32_t pool)
{
    bool comes_back = false, does_not = false;

    for (uint32_t i = 0; i < draws->count; i++) {
        double any;
        const double share = nest_rows_come_back(draws->draws[i].rows[DRAW_ALL], &any);
        if (draws->draws[i].pool != pool)
            continue;
        comes_back |= share >= DRAW_COMES_BACK;
        does_not |= any < DRAW_COMES_BACK / 8;
    }
    return comes_back && does_not;
}

/* Whether those of a pool are copies; false: they are apart from now on. */
bool draw_decide_pool(struct nest_draws *draws, uint32_t pool)
{
    const double all = draws->draws[pool].first_count;
    const double gain =
        keep_together(draws, pool) ? -all / (double)SAME_SHARE : all / (double)GAIN_SHARE;
    double apart = 0, told = 0, none = 0;

    for (uint32_t i = 0; i < draws->count; i++)
        if (draws->draws[i].pool == pool)
            apart += foreseen(draws, i, &told);
    if (((apart < all - all / (double)APART_SHARE && told < all - all / (double)TOLD_SHARE) ||
         apart <= foreseen(draws, pool, &none) + gain) &&
        !are_unlike(draws, pool)) {
        join(draws, pool);
        return true;
    }
    for (uint32_t i = 0; i < draws->count; i++)
        if (draws->draws[i].pool == pool) {
            draws->draws[i].pool = PSNAP_NONE;
            draws->draws[i].is_apart = true;
        }
    draw_drop(&draws->draws[pool]);
    draws->draws[pool].is_decided = draws->draws[pool].is_gone = true;
    return false;
}

/* Whether others go with a draw. */
static bool leads(const struct nest_draws *draws, uint32_t index)
{
    for (uint32_t i = 0; i < draws->count; i++)
        for (unsigned k = 0; k < 3; k++)
            if ((k == DRAW_ALL) != draws->draws[i].is_split &&
                draws->draws[i].followers[k].leader == index &&
                draw_follows(&draws->draws[i].followers[k]))
                return true;
    return false;
}

/* Swapped elements of an array, which two scans find: as long as the scans are told in another way
 * nobody sees that each store goes with one of them. */
void draw_part_pool(struct nest_draws *draws, uint32_t pool)
{
    const struct draw *draw = &draws->draws[pool];
    bool is_apart = !draw->has_more && !leads(draws, pool);

    for (unsigned k = 0; k < 3; k++)
        is_apart =
            is_apart && ((k == DRAW_ALL) == draw->is_split || !draw_follows(&draw->followers[k]));
    for (uint32_t i = 0; i < draws->count; i++)
        if (i != pool && draws->draws[i].into == pool)
            is_apart = is_apart && draw_follows(&draws->draws[i].followers[DRAW_ALL]);
    for (uint32_t i = 0; is_apart && i < draws->count; i++)
        if (i != pool && draws->draws[i].into == pool) {
            draws->draws[i].into = i;
            draws->draws[i].is_decided = true;
            draws->draws[i].is_split = false;
            draws->draws[pool].is_gone = true;
        }
}

/* The pool of what looks like copies of a draw, which is not decided yet. */
uint32_t draw_pool_of(struct nest_draws *draws, uint32_t index)
{
    static const struct draw_key none;
    struct draw *draw = &draws->draws[index], *made;
    uint32_t pool = draw->pool;

    if (pool != PSNAP_NONE || (pool = draw_add(draws, &none)) == PSNAP_NONE ||
        draws->is_out_of_memory)
        return pool;
    draw = &draws->draws[index];
    made = &draws->draws[pool];
    made->is_pool = true;
    made->first_count = draw->first_count;
    memcpy(made->first, draw->first, draw->first_count * sizeof *made->first);
    memcpy(made->first_is_entry, draw->first_is_entry, draw->first_count);
    draw->pool = pool;
    draws->has_pools = true;
    return pool;
}
