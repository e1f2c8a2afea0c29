/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Folding while a sequence arrives. Outermost items are leaves or groups. After
 * each one that is appended, the last p of them (p = 1, 2, ... period) are
 * compared with what stands before: if that is a group with the same body, it
 * takes them in; if it is the same p items, both become a group of two rounds;
 * two groups with the same body become one. This repeats until nothing folds,
 * so nests of loops fold into nests of groups.
 *
 * Items hold totals: a leaf in a group that went round 10 times, in one that
 * went round 3 times, counts 30. Comparing without counts (`exact` false) thus
 * sums what is only similar, and finishing takes means: loops whose trip
 * counts differ from entry to entry still fold.
 *
 * What does not fold would grow without bound: beyond `limit` items the newer
 * half becomes one group, the mix, that visits each of its members once a round.
 * For some time its members go right into it then, for twice as long after each
 * time that order was looked for in vain.
 *
 * The common case costs one comparison: the next leaf of another round of a group
 * that ends where the sequence ends, be it within others. Of those that such a
 * leaf may begin the innermost is followed; what turns out not to be a round of
 * it is appended after all.
 */
#include "profile/published/fold.h"

#include "formats/base/room.h"

#include <stdlib.h>
#include <string.h>

enum {
    FOLD_SHORT = 4, /* items that writing out a group may add */
    FOLD_MIX_FIRST = 64,
    FOLD_MIX_MOST = 1 << 14 /* leaves that go into the mix before order is looked for again */
};

void fold_init(struct fold *fold, bool exact, uint32_t period, uint32_t limit)
{
    memset(fold, 0, sizeof *fold);
    fold->exact = exact;
    fold->period = period;
    fold->limit = fold->most = limit;
    fold->mix_length = FOLD_MIX_FIRST;
}

void fold_release(struct fold *fold)
{
    free(fold->items);
    free(fold->starts);
    free(fold->places.slots);
}

/* Whether `a`, in all its `a_rounds` rounds, did per round what `b` did in `b_rounds`. */
static bool same(const struct fold *fold, const struct fold_item *a, uint64_t a_rounds,
                 const struct fold_item *b, uint64_t b_rounds, uint32_t length)
{
    for (uint32_t i = 0; i < length; i++) {
        if (a[i].what != b[i].what || a[i].span != b[i].span)
            return false;
        if (fold->exact && a[i].total * b_rounds != b[i].total * a_rounds)
            return false;
    }
    return true;
}

static void add_totals(struct fold_item *to, const struct fold_item *from, uint32_t length)
{
    for (uint32_t i = 0; i < length; i++) {
        to[i].total += from[i].total;
        to[i].amount += from[i].amount;
    }
}

static void drop_last(struct fold *fold, uint32_t outermost)
{
    fold->start_count -= outermost;
    fold->count = fold->starts[fold->start_count];
}

/*
 * Groups that are equal but for counts fold as soon as the shorter one is
 * whole: further rounds of it come late, when it is the end of a larger group.
 * Gives what stands from `tail` on to such a group at the end of the one at
 * `outer`.
 */
static bool fold_late_round(struct fold *fold, uint32_t outer, uint32_t tail)
{
    struct fold_item *items = fold->items;
    uint32_t length = fold->count - tail;

    for (uint32_t i = outer + 1; i < tail; i++)
        if (items[i].what == PSNAP_NONE && i + 1 + items[i].span == tail &&
            items[i].span == length && same(fold, &items[i + 1], 1, &items[tail], 1, length)) {
            items[i].total++;
            add_totals(&items[i + 1], &items[tail], length);
            return true;
        }
    return false;
}

/* Folds the last p outermost items into what stands before them, if they are the same. */
static bool fold_period(struct fold *fold, uint32_t p)
{
    uint32_t tail = fold->starts[fold->start_count - p];
    uint32_t before = fold->starts[fold->start_count - p - 1];
    uint32_t length = fold->count - tail;
    struct fold_item *items = fold->items, *previous = &items[before];
    uint32_t depth = 0;

    if (previous->what == PSNAP_NONE && previous->span == length &&
        same(fold, previous + 1, previous->total, &items[tail], 1, length)) {
        previous->total++;
        add_totals(previous + 1, &items[tail], length);
        drop_last(fold, p);
        return true;
    }
    if (!fold->exact && fold_late_round(fold, before, tail)) {
        drop_last(fold, p);
        return true;
    }
    if (p == 1 && previous->what == PSNAP_NONE && items[tail].what == PSNAP_NONE &&
        previous->span == items[tail].span &&
        same(fold, previous + 1, previous->total, &items[tail + 1], items[tail].total,
             previous->span)) {
        add_totals(previous, &items[tail], length);
        drop_last(fold, 1);
        return true;
    }
    if (2 * p > fold->start_count)
        return false;
    before = fold->starts[fold->start_count - 2 * p];
    if (tail - before != length || !same(fold, &items[before], 1, &items[tail], 1, length))
        return false;
    for (uint32_t i = 0; i < length; i++)
        depth = items[tail + i].depth > depth ? items[tail + i].depth : depth;
    if (depth >= FOLD_DEPTH)
        return false;
    add_totals(&items[before], &items[tail], length);
    memmove(&items[before + 1], &items[before], length * sizeof *items);
    items[before] =
        (struct fold_item){.total = 2, .what = PSNAP_NONE, .span = length, .depth = depth + 1};
    fold->start_count -= 2 * p - 1;
    fold->count = before + 1 + length;
    return true;
}

/* Whatever folds ends alike, with `what` that was appended last; most candidates fail here. */
static bool fold_once(struct fold *fold, uint32_t what)
{
    const uint32_t most = fold->period < fold->start_count ? fold->period : fold->start_count - 1;

    for (uint32_t p = 1; p <= most; p++)
        if (fold->items[fold->starts[fold->start_count - p] - 1].what == what &&
            fold_period(fold, p))
            return true;
    return false;
}

/* Gives up the order of the newer half: one group with each of its leaves once. The limit is
 * one of what is kept in order: a mix may be larger, a program has many loops. */
static bool mix_newer_half(struct fold *fold)
{
    struct fold_item *items = fold->items;
    uint32_t kept = 0, head, end;
    uint64_t visits = 0;

    while (kept + 1 < fold->start_count && fold->starts[kept + 1] <= fold->limit / 2)
        kept++;
    head = fold->starts[kept];
    end = head + 1;
    psnap_map_clear(&fold->places);

    /* The group's head takes the first item's place; make that place free. */
    memmove(&items[head + 1], &items[head], (fold->count - head) * sizeof *items);
    for (uint32_t i = head + 1; i <= fold->count; i++) {
        struct fold_item item = items[i];
        uint64_t *place;
        if (item.what == PSNAP_NONE)
            continue;
        visits += item.total;
        place = psnap_map_put(&fold->places, item.what);
        if (!place)
            return false;
        if (!*place) {
            items[end++] = (struct fold_item){.what = item.what};
            *place = end;
        }
        items[*place - 1].total += item.total;
        items[*place - 1].amount += item.amount;
    }
    items[head] = (struct fold_item){
        .total = visits / (end - head - 1), .what = PSNAP_NONE, .span = end - head - 1, .depth = 1};
    fold->count = end;
    fold->start_count = kept + 1;
    fold->most = end < fold->limit / 2 ? fold->limit : end + fold->limit / 2;
    fold->mixing = fold->mix_length;
    fold->mix_rest = (uint32_t)(visits % items[head].span);
    if (fold->mix_length < FOLD_MIX_MOST)
        fold->mix_length *= 2;
    return true;
}

/* One more visit in the mix, which is the last outermost item; false when it lacks that leaf. */
static bool add_to_mix(struct fold *fold, uint32_t what, uint64_t amount)
{
    struct fold_item *items = fold->items;
    const uint32_t head = fold->starts[fold->start_count - 1];
    const uint64_t place = psnap_map_get(&fold->places, what);

    if (!place) {
        fold->mixing = 0;
        fold->mix_length = FOLD_MIX_FIRST;
        return false;
    }
    fold->mixing--;
    items[place - 1].total++;
    items[place - 1].amount += amount;
    if (++fold->mix_rest == items[head].span) {
        fold->mix_rest = 0;
        items[head].total++;
    }
    return true;
}

/* Finds the groups that end where the sequence ends: more rounds of them may follow. */
static void look_at_last(struct fold *fold)
{
    fold->open_count = 0;
    fold->round.length = 0;
    if (fold->exact)
        return;
    for (uint32_t i = fold->starts[fold->start_count - 1]; i < fold->count; i++)
        if (fold->items[i].what == PSNAP_NONE && i + 1 + fold->items[i].span == fold->count)
            fold->open[fold->open_count++] = i;
}

/* Adds the items [begin, end) of a group that go round `times` times, and all within; false: too
 * many. Recursion is as deep as groups are. */
static bool lay_out(const struct fold *fold, struct fold_round *round, uint32_t begin, uint32_t end,
                    uint16_t times)
{
    for (uint32_t i = begin; i < end; i += 1 + fold->items[i].span) {
        const struct fold_item *item = &fold->items[i];
        round->times[i - round->group - 1] = times;
        if (item->what != PSNAP_NONE) {
            if (round->length == FOLD_OPEN_MAX)
                return false;
            round->leaves[round->length++] = i;
            continue;
        }
        round->times[i - round->group - 1] *= 2;
        for (unsigned twice = 0; twice < 2; twice++)
            if (!lay_out(fold, round, i + 1, i + 1 + item->span, (uint16_t)(2 * times)))
                return false;
    }
    return true;
}

/* Whether `what` begins a round of an open group, the innermost that it may be of; follows it. */
static bool begin_round(struct fold *fold, uint32_t what)
{
    struct fold_round *round = &fold->round;

    for (uint32_t i = fold->open_count; i > 0; i--) {
        const uint32_t group = fold->open[i - 1];
        uint32_t first = group + 1;
        while (fold->items[first].what == PSNAP_NONE)
            first++;
        if (fold->items[first].what != what || fold->items[group].span > FOLD_OPEN_MAX)
            continue;
        if (round->length && round->group == group)
            return true;
        round->group = group;
        round->length = 0;
        if (lay_out(fold, round, group + 1, group + 1 + fold->items[group].span, 1))
            return true;
        round->length = 0;
        return false;
    }
    return false;
}

static void count_round(struct fold *fold)
{
    const struct fold_round *round = &fold->round;
    struct fold_item *group = &fold->items[round->group];

    group->total++;
    for (uint32_t i = 0; i < group->span; i++)
        group[1 + i].total += round->times[i];
    for (uint32_t i = 0; i < round->length; i++)
        fold->items[round->leaves[i]].amount += fold->pending_amounts[i];
    fold->pending = 0;
}

static enum psnap_status append_leaf(struct fold *fold, uint32_t what, uint64_t amount)
{
    /* one item more than is appended: making a group inserts its head */
    if (!psnap_make_room(&fold->items, &fold->item_room, fold->count + (size_t)2,
                         sizeof *fold->items) ||
        !psnap_make_room(&fold->starts, &fold->start_room, fold->start_count + (size_t)1,
                         sizeof *fold->starts))
        return PSNAP_ERROR_MEMORY;
    fold->starts[fold->start_count++] = fold->count;
    fold->items[fold->count++] = (struct fold_item){.total = 1, .amount = amount, .what = what};
    while (fold_once(fold, what))
        continue;
    return fold->count <= fold->most || mix_newer_half(fold) ? PSNAP_OK : PSNAP_ERROR_MEMORY;
}

/* Leaves that looked like the beginning of another round of an open group were none. */
static enum psnap_status append_pending(struct fold *fold)
{
    const uint32_t pending = fold->pending;
    uint32_t leaves[FOLD_OPEN_MAX];

    for (uint32_t i = 0; i < pending; i++)
        leaves[i] = fold->items[fold->round.leaves[i]].what;
    fold->pending = 0;
    fold->open_count = 0;
    fold->round.length = 0;
    for (uint32_t i = 0; i < pending; i++)
        if (append_leaf(fold, leaves[i], fold->pending_amounts[i]))
            return PSNAP_ERROR_MEMORY;
    return PSNAP_OK;
}

enum psnap_status fold_append(struct fold *fold, uint32_t what, uint64_t amount)
{
    const struct fold_round *round = &fold->round;

    if (fold->mixing && add_to_mix(fold, what, amount))
        return PSNAP_OK;
    if (fold->pending ? fold->items[round->leaves[fold->pending]].what == what
                      : begin_round(fold, what)) {
        fold->pending_amounts[fold->pending++] = amount;
        if (fold->pending == round->length)
            count_round(fold);
        return PSNAP_OK;
    }
    if (append_pending(fold) || append_leaf(fold, what, amount))
        return PSNAP_ERROR_MEMORY;
    look_at_last(fold);
    return PSNAP_OK;
}

/* How often per round of its group, at least once. */
static uint64_t per_round(uint64_t total, uint64_t rounds)
{
    uint64_t times = rounds ? (total + rounds / 2) / rounds : total;

    return times ? times : 1;
}

/*
 * Writes items [begin, end), which went round `rounds` times in all. A group
 * that goes round once is its body; in patterns, whose ids are short, one that
 * is hardly longer without repeat is written out (each adds FOLD_SHORT items at
 * most): a person reads it with less effort. Recursion is as deep as groups
 * are, FOLD_DEPTH at most.
 */
static void emit(const struct fold *fold, uint32_t begin, uint32_t end, uint64_t rounds,
                 struct psnap_sequence *out)
{
    for (uint32_t i = begin; i < end; i += 1 + fold->items[i].span) {
        const struct fold_item *item = &fold->items[i];
        struct psnap_sequence_item *head = &out->items[out->count++];
        uint64_t repeat = per_round(item->total, rounds);
        *head =
            (struct psnap_sequence_item){.repeat = 1, .accesses = item->amount, .what = item->what};
        if (item->what != PSNAP_NONE)
            continue;
        emit(fold, i + 1, i + 1 + item->span, item->total, out);
        head->repeat = repeat;
        head->span = (uint32_t)(&out->items[out->count] - head) - 1;
        if ((repeat - 1) * head->span <= (fold->exact ? FOLD_SHORT : 0)) {
            uint32_t length = head->span;
            memmove(head, head + 1, length * sizeof *head);
            for (uint64_t round = 1; round < repeat; round++)
                memcpy(head + round * length, head, length * sizeof *head);
            out->count += (uint32_t)(repeat - 1) * length - 1;
        }
    }
}

enum psnap_status fold_finish(struct fold *fold, struct psnap_arena *arena,
                              struct psnap_sequence *sequence)
{
    sequence->count = 0;
    sequence->items = NULL;
    if (fold->pending && append_pending(fold))
        return PSNAP_ERROR_MEMORY;
    if (!fold->count)
        return PSNAP_OK;
    sequence->items =
        psnap_arena_alloc(arena, fold->count * (FOLD_SHORT + 1) * sizeof *sequence->items);
    if (!sequence->items)
        return PSNAP_ERROR_MEMORY;
    emit(fold, 0, fold->count, 1, sequence);
    return PSNAP_OK;
}
