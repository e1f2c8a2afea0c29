/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Addresses that are drawn: which references go together, which of them are different when their
 * loop has just been come to, and the gathers of what is left.
 *
 * A reference may always be as far from the last address of another one, its leader, as it was
 * before: the store behind the load of a histogram's cell, the fields of a node. Leaders are tried
 * among the references that came last, one after the other, until one holds. Where it never fails
 * the reference needs no gather of its own, and none is collected. Where there is none, it may be
 * by which of the addresses just before it goes, whose ever they are (nest_after.c): the next slot
 * of a hash table behind that which the loop began with, either child of a heap's node, the field
 * of a node that a search has found in one loop or another. References that are copies of
 * one, made by unrolling and vectorising, are one: the same source, line, size and object. So are
 * others that a line has, a[i * n + k] + a[k * n + j]: by the first addresses of those that look
 * like copies it is decided whether they are, or are more foreseeable each by itself.
 *
 * Of its first addresses a reference shows whether entries to its loop are told apart: if that
 * makes more of it foreseeable, by a leader or by one step. With a share p_i of the n_i addresses
 * of part i foreseen, sum(n_i p_i^2) is compared, so that a part that is certain counts more than
 * two halves; and parts that do not overlap are told apart in any case, as are those of which all
 * first addresses are of entries: nobody knows of the rest then.
 */
#include <stdlib.h>
#include <string.h>

#include "formats/base/room.h"
#include "profile/gathers/gather_yaml.h"
#include "profile/walks/nest_after.h"
#include "profile/walks/nest_draws.h"

enum {
    FIRST = 1024,      /* addresses until entries are told apart or not */
    RECENT = 8,        /* references that may be leaders */
    SURE = 256,        /* addresses after which one that never failed is believed */
    PATIENCE = 4,      /* failures, less what held since, until the next is tried */
    DEPTH = 16,        /* leaders of leaders */
    FOLLOWS_SHARE = 8, /* a follower holds in all but one of so many */
    LONG = 1 << 16,    /* addresses after which only some are looked at for leaders: */
    LOOK = 1 << 12,    /* so many, of as many as */
    LOOK_OF = 1 << 16,
    RUN_MOST = 256,  /* addresses that go on from each other, in the mean */
    APART_SHARE = 4, /* of what are no copies all but one of so many are foreseen */
    GAIN_SHARE = 16  /* of the addresses that telling entries apart must foresee more */
};

struct follower {
    uint64_t offset;
    uint64_t all, held; /* addresses looked at, and those at the present leader's offset */
    uint64_t excused;   /* of all, those before the youngest draw came: its reference was there
                           before, but told in another way */
    uint32_t leader;    /* or PSNAP_NONE */
    uint32_t tried;     /* leaders, one after the other */
    int trust;
    uint32_t rest;   /* addresses that are not looked at */
    bool has_failed; /* since the present leader was chosen */
};

enum { REST, ENTRY, ALL };

struct key {
    const char *loop; /* of the source */
    uint32_t src_line, object;
    uint8_t size, kind;
};

struct draw {
    struct key key;
    uint64_t last;
    struct follower followers[3];
    struct nest_rows *rows[3];                            /* of parts whose leaders fail */
    uint32_t leaders[2][NEST_BACK_MAX], leader_counts[2]; /* of parts that come after others */
    struct gather_areas *areas[2]; /* REST (or all of them) and ENTRY; NULL: nothing collected */
    uint64_t *first;               /* addresses until it is decided, */
    bool *first_is_entry;
    uint32_t first_count;
    bool is_decided, is_split;
    uint32_t pool; /* the draw of its copies and itself as one, while that is not decided: */
    uint32_t into; /* what it is: the pool, or itself */
    bool is_pool, is_apart; /* a pool; not a copy, though it looks like one */
    bool is_gone;           /* a pool of what are no copies */
};

struct nest_draws {
    const struct psnap_program *program;
    struct draw *draws;
    size_t count, room;
    uint32_t recent[RECENT]; /* the last one first; PSNAP_NONE: none */
    struct nest_trail trail;
    bool has_pools;
    bool is_out_of_memory;
};

struct nest_draws *nest_draws_new(const struct psnap_program *program)
{
    struct nest_draws *draws = calloc(1, sizeof *draws);

    if (draws)
        draws->program = program;
    for (unsigned i = 0; draws && i < RECENT; i++)
        draws->recent[i] = PSNAP_NONE;
    if (draws)
        nest_trail_init(&draws->trail);
    return draws;
}

/* What a draw has collected. */
static void drop(struct draw *draw)
{
    for (unsigned k = 0; k < 2; k++)
        gather_areas_free(draw->areas[k]);
    for (unsigned k = 0; k < 3; k++)
        free(draw->rows[k]);
    free(draw->first);
    free(draw->first_is_entry);
    memset(draw->areas, 0, sizeof draw->areas);
    memset(draw->rows, 0, sizeof draw->rows);
    draw->first = NULL;
    draw->first_is_entry = NULL;
}

void nest_draws_free(struct nest_draws *draws)
{
    if (!draws)
        return;
    for (size_t i = 0; i < draws->count; i++)
        drop(&draws->draws[i]);
    free(draws->draws);
    free(draws);
}

/* What copies of a reference have in common; no object: it has no copies. */
static struct key key_of(const struct psnap_program *program, const struct nest_ref *ref,
                         uint64_t address)
{
    const struct psnap_ref *from = &program->refs[ref->ref];
    const struct psnap_object *object =
        address ? psnap_program_find_object(program, address) : NULL;

    return (struct key){.loop = program->loops[from->loop].src_id,
                        .src_line = from->src_line,
                        .object = object ? 1 + (uint32_t)(object - program->objects) : 0,
                        .size = ref->size,
                        .kind = ref->kind};
}

static bool are_copies(const struct key *a, const struct key *b)
{
    return a->object && a->object == b->object && a->src_line && a->src_line == b->src_line &&
           a->size == b->size && a->kind == b->kind && a->loop && b->loop &&
           !strcmp(a->loop, b->loop);
}

static bool follows(const struct follower *follower)
{
    const uint64_t all = follower->all - follower->excused;

    return follower->leader != PSNAP_NONE && follower->trust >= PATIENCE &&
           follower->held >= all - all / FOLLOWS_SHARE && follower->held >= follower->all / 2;
}

/* There is another draw, which may be what those that follow nobody go with. */
static void excuse(struct nest_draws *draws)
{
    for (size_t i = 0; i < draws->count; i++)
        for (unsigned k = 0; k < 3; k++) {
            struct follower *follower = &draws->draws[i].followers[k];
            if (!follows(follower))
                follower->excused = follower->all;
        }
}

/* One more draw; PSNAP_NONE: out of memory. */
static uint32_t add(struct nest_draws *draws, const struct key *key)
{
    struct draw made = {.key = *key, .pool = PSNAP_NONE, .into = (uint32_t)draws->count}, *larger;

    larger = psnap_with_room(draws->draws, &draws->room, draws->count + 1, sizeof *larger);
    if (!larger)
        return PSNAP_NONE;
    draws->draws = larger;
    excuse(draws);
    for (unsigned k = 0; k < 3; k++)
        made.followers[k].leader = PSNAP_NONE;
    made.first = calloc(FIRST, sizeof *made.first);
    made.first_is_entry = calloc(FIRST, sizeof *made.first_is_entry);
    larger[draws->count++] = made;
    draws->is_out_of_memory |= !made.first || !made.first_is_entry;
    return (uint32_t)draws->count - 1;
}

/* The pool of what looks like copies of a draw, which is not decided yet. */
static uint32_t pool_of(struct nest_draws *draws, uint32_t index)
{
    static const struct key none;
    struct draw *draw = &draws->draws[index], *made;
    uint32_t pool = draw->pool;

    if (pool != PSNAP_NONE || (pool = add(draws, &none)) == PSNAP_NONE || draws->is_out_of_memory)
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

uint32_t nest_draws_add(struct nest_draws *draws, const struct nest_ref *ref, uint64_t address)
{
    const struct key key = key_of(draws->program, ref, address);
    uint32_t index = 0, pool, made;

    while (index < draws->count && !are_copies(&draws->draws[index].key, &key))
        index++;
    if (index == draws->count || draws->draws[index].is_apart)
        return add(draws, &key);
    if (draws->draws[index].into != index || draws->draws[index].is_decided)
        return draws->draws[index].into;
    pool = pool_of(draws, index);
    made = pool == PSNAP_NONE ? PSNAP_NONE : add(draws, &key);
    if (made != PSNAP_NONE)
        draws->draws[made].pool = pool;
    return made;
}

/* ---- leaders ---- */

/* Whether leaders that are trusted lead from one draw to another. */
static bool leads_to(const struct nest_draws *draws, uint32_t from, uint32_t to, unsigned depth)
{
    const struct draw *draw = &draws->draws[from];

    if (from == to || depth == DEPTH)
        return true;
    for (unsigned k = 0; k < 3; k++) {
        const struct follower *follower = &draw->followers[k];
        const bool is_used = !draw->is_decided || (k == ALL) != draw->is_split;
        if (is_used && follower->leader != PSNAP_NONE && follower->trust >= PATIENCE &&
            leads_to(draws, follower->leader, to, depth + 1))
            return true;
    }
    return false;
}

/* The next of those that came last takes its turn as the leader. */
static void choose_leader(struct nest_draws *draws, uint32_t index, struct follower *follower,
                          uint64_t address)
{
    uint32_t known = 0;

    while (known < RECENT && draws->recent[known] != PSNAP_NONE)
        known++;
    follower->leader = known ? draws->recent[follower->tried++ % known] : PSNAP_NONE;
    follower->has_failed = false;
    follower->held = 0;
    follower->trust = 0;
    if (follower->leader != PSNAP_NONE &&
        (follower->leader == index || draws->draws[follower->leader].pool == index))
        follower->leader = PSNAP_NONE;
    if (follower->leader != PSNAP_NONE)
        follower->offset = address - draws->draws[follower->leader].last;
}

static void follow(struct nest_draws *draws, uint32_t index, struct follower *follower,
                   uint64_t address)
{
    if (follower->rest) {
        follower->rest--;
        return;
    }
    follower->all++;
    if (follower->all > LONG && follower->all % LOOK == 0)
        follower->rest = LOOK_OF - LOOK;
    if (follower->leader != PSNAP_NONE &&
        address - draws->draws[follower->leader].last == follower->offset) {
        follower->held++;
        follower->trust += follower->trust < 2 * PATIENCE;
        if (follower->trust == PATIENCE && leads_to(draws, follower->leader, index, 0))
            choose_leader(draws, index, follower, address);
        return;
    }
    follower->has_failed = true;
    if (follower->leader == PSNAP_NONE || --follower->trust < -PATIENCE)
        choose_leader(draws, index, follower, address);
    else if (!follower->held)
        follower->offset = address - draws->draws[follower->leader].last;
}

static void remember(struct nest_draws *draws, uint32_t index)
{
    uint32_t *recent = draws->recent, before = index;

    for (unsigned i = 0; i < RECENT; i++) {
        const uint32_t here = recent[i];
        recent[i] = before;
        if (here == index)
            return;
        before = here;
    }
}

/* ---- gathers ---- */

/* Where addresses of a part go; NULL: out of memory. */
static struct gather_areas *areas_of(struct nest_draws *draws, struct draw *draw, unsigned k)
{
    if (!draw->areas[k])
        draw->areas[k] = gather_areas_new();
    draws->is_out_of_memory |= !draw->areas[k];
    return draw->areas[k];
}

static void collect(struct nest_draws *draws, struct draw *draw, unsigned k, uint64_t address)
{
    struct gather_areas *areas = areas_of(draws, draw, k);

    if (areas)
        gather_areas_put(areas, address);
}

/* ---- entries ---- */

static int compare(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

struct leading {
    const struct nest_draws *draws;
    uint32_t index;
    unsigned part;
};

/* What goes on from its own addresses has to begin anew by itself: where its loop is come to. */
static bool is_another(void *context, uint32_t draw, bool is_own)
{
    const struct leading *l = context;
    const struct draw *other = &l->draws->draws[draw];

    return is_own ? l->part == REST : other->into != l->index && other->pool != l->index;
}

struct first {
    uint64_t low, high;
    double foreseen; /* n p^2 */
};

/* What of the first addresses that are of a part is foreseen by its leader, or by those just
 * before, or by one step. */
static struct first look_at(struct nest_draws *draws, uint32_t index, unsigned part)
{
    const struct draw *draw = &draws->draws[index];
    struct leading leading = {draws, index, part};
    uint64_t steps[FIRST], last = 0, most, n = 0, same = 0;
    struct first first = {UINT64_MAX, 0, 0};
    double after;

    for (uint32_t i = 0; i < draw->first_count; i++) {
        const uint64_t address = draw->first[i];
        if (part != ALL && draw->first_is_entry[i] != (part == ENTRY))
            continue;
        first.low = address < first.low ? address : first.low;
        first.high = address > first.high ? address : first.high;
        steps[n++] = address - last;
        last = address;
    }
    most = follows(&draw->followers[part]) ? draw->followers[part].held : 0;
    if (n > 1)
        qsort(steps + 1, n - 1, sizeof *steps, compare);
    for (uint64_t i = 2; i < n; i++) {
        same = steps[i] == steps[i - 1] ? same + 1 : 0;
        most = same > most ? same : most;
    }
    first.foreseen = n ? (double)most * (double)most / (double)n : 0;
    after = (double)n * nest_rows_foreseen(draw->rows[part], is_another, &leading);
    first.foreseen = after > first.foreseen ? after : first.foreseen;
    return first;
}

static void decide(struct nest_draws *draws, uint32_t index)
{
    struct draw *draw = &draws->draws[index];
    const struct first rest = look_at(draws, index, REST), entry = look_at(draws, index, ENTRY);
    const struct first all = look_at(draws, index, ALL);
    const bool has_both = rest.low <= rest.high && entry.low <= entry.high;

    draw->is_decided = true;
    draw->is_split =
        rest.low > rest.high ||
        (has_both && (rest.high < entry.low || entry.high < rest.low ||
                      rest.foreseen + entry.foreseen >
                          all.foreseen + (double)draw->first_count / (double)GAIN_SHARE));
    for (uint32_t i = 0; i < draw->first_count; i++)
        collect(draws, draw, draw->is_split && draw->first_is_entry[i], draw->first[i]);
    for (unsigned k = 0; k < 3; k++)
        if ((k == ALL) == draw->is_split) {
            free(draw->rows[k]);
            draw->rows[k] = NULL;
        }
    free(draw->first);
    free(draw->first_is_entry);
    draw->first = NULL;
    draw->first_is_entry = NULL;
}

static double foreseen(struct nest_draws *draws, uint32_t index)
{
    const double apart =
        look_at(draws, index, REST).foreseen + look_at(draws, index, ENTRY).foreseen;
    const double all = look_at(draws, index, ALL).foreseen;

    return apart > all ? apart : all;
}

/* The copies are one from now on. */
static void join(struct nest_draws *draws, uint32_t pool)
{
    for (uint32_t i = 0; i < draws->count; i++)
        if (draws->draws[i].pool == pool) {
            draws->draws[i].pool = PSNAP_NONE;
            draws->draws[i].into = pool;
            drop(&draws->draws[i]);
        }
    for (uint32_t i = 0; i < draws->count; i++)
        for (unsigned k = 0; k < 3; k++) {
            uint32_t *leader = &draws->draws[i].followers[k].leader;
            *leader = *leader == PSNAP_NONE ? PSNAP_NONE : draws->draws[*leader].into;
        }
    for (uint32_t i = 0; i < RECENT; i++)
        if (draws->recent[i] != PSNAP_NONE)
            draws->recent[i] = draws->draws[draws->recent[i]].into;
}

/* Whether those of a pool are copies; false: they are apart from now on. */
static bool decide_pool(struct nest_draws *draws, uint32_t pool)
{
    const double all = draws->draws[pool].first_count;
    double apart = 0;

    for (uint32_t i = 0; i < draws->count; i++)
        if (draws->draws[i].pool == pool)
            apart += foreseen(draws, i);
    if (apart < all - all / (double)APART_SHARE ||
        apart <= foreseen(draws, pool) + all / (double)GAIN_SHARE) {
        join(draws, pool);
        return true;
    }
    for (uint32_t i = 0; i < draws->count; i++)
        if (draws->draws[i].pool == pool) {
            draws->draws[i].pool = PSNAP_NONE;
            draws->draws[i].is_apart = true;
        }
    drop(&draws->draws[pool]);
    draws->draws[pool].is_decided = draws->draws[pool].is_gone = true;
    return false;
}

/* One that always held needs no model. */
static inline bool is_collected(const struct follower *follower)
{
    return follower->has_failed || follower->held < SURE;
}

/* Looks for what an address of a part goes with. */
static void look(struct nest_draws *draws, uint32_t index, unsigned part, uint64_t address)
{
    struct draw *draw = &draws->draws[index];
    struct follower *follower = &draw->followers[part];
    const bool is_seen = !follower->rest;

    follow(draws, index, follower, address);
    if (is_seen && follower->has_failed)
        draws->is_out_of_memory |=
            !nest_rows_put(&draw->rows[part], &draws->trail, index, draw->last, address);
}

static void put_own(struct nest_draws *draws, uint32_t index, bool is_entry, uint64_t address)
{
    struct draw *draw = &draws->draws[index];
    const unsigned part = draw->is_split || !draw->is_decided ? is_entry : ALL;

    if (draws->is_out_of_memory)
        return;
    look(draws, index, part, address);
    if (!draw->is_decided)
        look(draws, index, ALL, address);
    draw->last = address;
    if (draws->recent[0] != index && (!draw->is_pool || draw->is_decided))
        remember(draws, index);
    if (!draw->is_decided) {
        draw->first[draw->first_count] = address;
        draw->first_is_entry[draw->first_count++] = is_entry;
        if (draw->first_count == FIRST && (!draw->is_pool || decide_pool(draws, index)))
            decide(draws, index);
        return;
    }
    if (is_collected(&draw->followers[part]))
        collect(draws, draw, draw->is_split && is_entry, address);
}

/* As what it is, and, while that is not decided, also as one of a pool, whose first addresses are
 * as many at least. */
static void put(struct nest_draws *draws, uint32_t index, bool is_entry, uint64_t address)
{
    const uint32_t pool = draws->draws[index].pool;

    if (pool == PSNAP_NONE) {
        put_own(draws, draws->draws[index].into, is_entry, address);
        return;
    }
    put_own(draws, pool, is_entry, address);
    if (draws->draws[index].into == index)
        put_own(draws, index, is_entry, address);
}

void nest_draws_put(struct nest_draws *draws, uint32_t index, bool is_entry, uint64_t address)
{
    put(draws, index, is_entry, address);
    nest_trail_push(&draws->trail, draws->draws[index].into, address);
}

void nest_draws_put_first(struct nest_draws *draws, uint32_t index, uint64_t address)
{
    put(draws, index, false, address);
}

/* ---- many of them ---- */

/* How many iterations there are from here on, of n, in which nobody looks for leaders. */
static uint64_t count_resting(const struct nest_draws *draws, const struct nest_drawn *drawn,
                              uint32_t width, uint64_t n)
{
    for (uint32_t k = 0; k < width; k++) {
        const struct draw *draw = &draws->draws[drawn[k].draw];
        const uint64_t rest = draw->followers[draw->is_split ? REST : ALL].rest / width;
        n = !draw->is_decided ? 0 : rest < n ? rest : n;
    }
    return n;
}

/* The addresses of iterations [from, to) of references that are copies of one, in turn. Those of an
 * iteration that fit go straight to the room. */
static void put_columns(struct gather_areas *areas, const struct nest_drawn *const *copies,
                        uint32_t count, uint64_t from, uint64_t to)
{
    for (uint64_t i = from; i < to; i++) {
        const uint64_t low = areas->low, span = areas->span;
        uint64_t *out = areas->room + areas->count;
        bool is_elsewhere = areas->most - areas->count < count;

        for (uint32_t k = 0; !is_elsewhere && k < count; k++) {
            out[k] = nest_drawn_address(copies[k], i);
            is_elsewhere = out[k] - low > span;
        }
        areas->count += is_elsewhere ? 0 : count;
        for (uint32_t k = 0; is_elsewhere && k < count; k++)
            gather_areas_put(areas, nest_drawn_address(copies[k], i));
    }
}

/* The references of an iteration that draw what the k-th does, unless one before it does. Returns
 * how many. */
static uint32_t find_copies(const struct nest_drawn *drawn, uint32_t width, uint32_t k,
                            const struct nest_drawn **copies)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < k; i++)
        if (drawn[i].draw == drawn[k].draw)
            return 0;
    for (uint32_t i = k; i < width; i++)
        if (drawn[i].draw == drawn[k].draw)
            copies[count++] = &drawn[i];
    return count;
}

/* Iterations [from, to), at least one, in which nobody looks for leaders. */
static void put_resting(struct nest_draws *draws, const struct nest_drawn *drawn, uint32_t width,
                        uint64_t from, uint64_t to)
{
    for (uint32_t k = 0; k < width; k++) {
        const struct nest_drawn *copies[NEST_WIDTH_MAX];
        struct draw *draw = &draws->draws[drawn[k].draw];
        struct follower *follower = &draw->followers[draw->is_split ? REST : ALL];
        const uint32_t count = is_collected(follower) ? find_copies(drawn, width, k, copies) : 0;
        struct gather_areas *areas = count ? areas_of(draws, draw, REST) : NULL;
        if (areas)
            put_columns(areas, copies, count, from, to);
        follower->rest -= (uint32_t)(to - from);
        draw->last = nest_drawn_address(&drawn[k], to - 1);
        if (draws->recent[0] != drawn[k].draw)
            remember(draws, drawn[k].draw);
    }
    for (uint64_t i = to - from > NEST_BACK_MAX ? to - NEST_BACK_MAX : from; i < to; i++)
        for (uint32_t k = 0; k < width; k++)
            nest_trail_push(&draws->trail, drawn[k].draw, nest_drawn_address(&drawn[k], i));
}

void nest_draws_put_all(struct nest_draws *draws, const struct nest_drawn *drawn, uint32_t width,
                        uint64_t n, bool is_entry)
{
    struct nest_drawn own[NEST_WIDTH_MAX];

    for (uint32_t k = 0; draws->has_pools && k < width; k++) {
        own[k] = drawn[k];
        own[k].draw = draws->draws[drawn[k].draw].into;
    }
    drawn = draws->has_pools ? own : drawn;
    for (uint64_t i = 0; i < n && !draws->is_out_of_memory;) {
        const uint64_t resting = i || !is_entry ? count_resting(draws, drawn, width, n - i) : 0;
        if (resting)
            put_resting(draws, drawn, width, i, i + resting);
        for (uint32_t k = 0; k < width && !resting; k++)
            nest_draws_put(draws, drawn[k].draw, !i && is_entry, nest_drawn_address(&drawn[k], i));
        i += resting ? resting : 1;
    }
}

bool nest_draws_are_whole(const struct nest_draws *draws)
{
    return !draws->is_out_of_memory;
}

/* ---- models ---- */

/* Whether a draw's addresses come from another one's, as far as that is known. */
static bool depends(const struct nest_draws *draws, uint32_t on, uint32_t index, unsigned depth)
{
    const struct draw *draw = &draws->draws[index = draws->draws[index].into];

    if (index == on || depth == DEPTH)
        return true;
    for (unsigned k = 0; k < 3; k++)
        if ((k == ALL) != draw->is_split && follows(&draw->followers[k]) &&
            depends(draws, on, draw->followers[k].leader, depth + 1))
            return true;
    for (unsigned k = 0; k < 2; k++)
        for (uint32_t i = 0; i < draw->leader_counts[k]; i++)
            if (draw->leaders[k][i] != index && depends(draws, on, draw->leaders[k][i], depth + 1))
                return true;
    return false;
}

/* Whether a draw begins anew often enough to go on from its own addresses meanwhile: one that
 * seldom does so comes back within its memory in other ways, which a gather has. */
static bool begins_often(const struct draw *draw)
{
    const uint64_t counted = gather_areas_count(draw->areas[REST]);
    const uint64_t looked_at = draw->followers[REST].all;

    return (counted > looked_at ? counted : looked_at) <= RUN_MOST * draw->followers[ENTRY].all;
}

static bool may_lead(void *context, uint32_t draw, bool is_own)
{
    const struct leading *l = context;

    return is_another(context, draw, is_own) &&
           (is_own ? begins_often(&l->draws->draws[draw]) : !depends(l->draws, l->index, draw, 0));
}

static void take_source(struct nest_draws *draws, uint32_t index, unsigned part,
                        struct nest_source *taken)
{
    struct draw *draw = &draws->draws[index];
    const struct follower *follower = &draw->followers[part];
    const unsigned k = part == ENTRY;
    struct gather_areas *areas = draw->areas[k];
    struct leading leading = {draws, index, part};
    uint32_t leaders[NEST_BACK_MAX], count;

    *taken = (struct nest_source){.with = PSNAP_NONE};
    if (follows(follower))
        *taken = (struct nest_source){.with = draws->draws[follower->leader].into,
                                      .offset = follower->offset};
    else if (nest_rows_fit(draw->rows[part], may_lead, &leading, taken, leaders, &count)) {
        memcpy(draw->leaders[k], leaders, count * sizeof *leaders);
        draw->leader_counts[k] = count;
    } else if (areas) {
        gather_areas_fit(areas, &taken->gather);
        taken->gather.accesses = gather_areas_count(areas);
        draws->is_out_of_memory |= !gather_areas_are_whole(areas);
        gather_round(&taken->gather);
    }
}

/* All that is not decided yet. */
static void decide_all(struct nest_draws *draws)
{
    for (uint32_t i = 0; i < draws->count; i++)
        if (draws->draws[i].is_pool && !draws->draws[i].is_decided)
            decide_pool(draws, i);
    for (uint32_t i = 0; i < draws->count; i++)
        if (draws->draws[i].into == i && !draws->draws[i].is_decided)
            decide(draws, i);
}

uint32_t *nest_draws_number(const struct nest_draws *draws)
{
    uint32_t *numbers = malloc((draws->count + 1) * sizeof *numbers), count = 0;

    for (uint32_t i = 0; numbers && i < draws->count; i++)
        numbers[i] = draws->draws[i].into == i && !draws->draws[i].is_gone ? count++ : PSNAP_NONE;
    for (uint32_t i = 0; numbers && i < draws->count; i++)
        numbers[i] = numbers[draws->draws[i].into];
    return numbers;
}

static void number_source(struct nest_source *source, const uint32_t *numbers)
{
    source->with = source->with == PSNAP_NONE ? PSNAP_NONE : numbers[source->with];
}

struct nest_draw *nest_draws_take(struct nest_draws *draws, uint32_t *count)
{
    struct nest_draw *taken = calloc(draws->count + 1, sizeof *taken);
    uint32_t *numbers = NULL;

    *count = 0;
    if (taken && nest_draws_are_whole(draws))
        decide_all(draws);
    numbers = nest_draws_number(draws);
    for (uint32_t i = 0; taken && numbers && nest_draws_are_whole(draws) && i < draws->count; i++) {
        const struct draw *draw = &draws->draws[i];
        const bool is_split = draw->is_split, has_rest = draw->followers[REST].all;
        struct nest_draw *own = &taken[*count];
        if (draw->into != i || draw->is_gone)
            continue;
        (*count)++;
        own->has_entry = is_split && has_rest;
        if (own->has_entry)
            take_source(draws, i, ENTRY, &own->entry);
        take_source(draws, i, !is_split ? ALL : has_rest ? REST : ENTRY, &own->rest);
        number_source(&own->entry, numbers);
        number_source(&own->rest, numbers);
    }
    if (taken && numbers && nest_draws_are_whole(draws)) {
        free(numbers);
        return taken;
    }
    free(numbers);
    free(taken);
    return NULL;
}
