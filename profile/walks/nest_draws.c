/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Addresses that are drawn: the references that draw, and what is put into their gathers.
 *
 * A reference may always be as far from the last address of another one as it was before, and is
 * then told by that (nest_draws_leaders.c). Where that never fails it needs no gather of its own,
 * and none is collected. Where there is none, it may be by which of the addresses just before it
 * goes, whose ever they are (nest_after.c): the next slot of a hash table behind that which the
 * loop began with, either child of a heap's node, the field of a node that a search has found in
 * one loop or another. What its first addresses show is told in nest_draws_decide.c.
 *
 * When no draw has been new for long, that is looked at now and then: for a while, as often as it
 * is left alone for a longer one, in which addresses are collected and nothing else.
 */
#include <stdlib.h>
#include <string.h>

#include "formats/base/room.h"
#include "profile/gathers/gather.h"
#include "profile/walks/nest_draws_seen.h"

enum {
    SURE = 256,           /* addresses after which one that never failed is believed */
    LOUD_FIRST = 1 << 22, /* addresses of all that are looked at at first, */
    LOUD_AGAIN = 1 << 18, /* when a draw is new then, */
    LOUD = 1 << 13,       /* and later on, */
    QUIET = 1 << 17,      /* of as many as this in the mean; */
    WARM = 64             /* first who comes after whom is seen again */
};

struct nest_draws *nest_draws_new(const struct psnap_program *program)
{
    struct nest_draws *draws = calloc(1, sizeof *draws);

    if (draws)
        draws->program = program;
    for (unsigned i = 0; draws && i < DRAW_RECENT; i++)
        draws->recent[i] = PSNAP_NONE;
    if (draws)
        nest_trail_init(&draws->trail);
    return draws;
}

/* What a draw has collected. */
void draw_drop(struct draw *draw)
{
    for (unsigned k = 0; k < 2; k++)
        gather_areas_free(draw->areas[k]);
    for (unsigned k = 0; k < 3; k++) {
        free(draw->rows[k]);
        free(draw->jumps[k]);
    }
    free(draw->first);
    free(draw->first_is_entry);
    memset(draw->areas, 0, sizeof draw->areas);
    memset(draw->rows, 0, sizeof draw->rows);
    memset(draw->jumps, 0, sizeof draw->jumps);
    draw->first = NULL;
    draw->first_is_entry = NULL;
}

void nest_draws_free(struct nest_draws *draws)
{
    if (!draws)
        return;
    for (size_t i = 0; i < draws->count; i++)
        draw_drop(&draws->draws[i]);
    free(draws->draws);
    free(draws);
}

/* What copies of a reference have in common; no object: it has no copies. */
static struct draw_key key_of(const struct psnap_program *program, const struct nest_ref *ref,
                              uint64_t address)
{
    const struct psnap_ref *from = &program->refs[ref->ref];
    const struct psnap_object *object =
        address ? psnap_program_find_object(program, address) : NULL;

    return (struct draw_key){.loop = program->loops[from->loop].src_id,
                             .src_line = from->src_line,
                             .object = object ? 1 + (uint32_t)(object - program->objects) : 0,
                             .size = ref->size,
                             .kind = ref->kind};
}

static bool are_copies(const struct draw_key *a, const struct draw_key *b)
{
    return a->object && a->object == b->object && a->src_line && a->src_line == b->src_line &&
           a->size == b->size && a->kind == b->kind && a->loop && b->loop &&
           !strcmp(a->loop, b->loop);
}

/* One more draw; PSNAP_NONE: out of memory. */
uint32_t draw_add(struct nest_draws *draws, const struct draw_key *key)
{
    struct draw made = {.key = *key, .pool = PSNAP_NONE, .into = (uint32_t)draws->count}, *larger;

    larger = psnap_with_room(draws->draws, &draws->room, draws->count + 1, sizeof *larger);
    if (!larger)
        return PSNAP_NONE;
    draws->draws = larger;
    draws->loud = draws->phases ? LOUD_AGAIN : LOUD_FIRST;
    draws->quiet = 0;
    draws_excuse(draws);
    for (unsigned k = 0; k < 3; k++)
        made.followers[k].leader = PSNAP_NONE;
    made.first = calloc(DRAW_FIRST, sizeof *made.first);
    made.first_is_entry = calloc(DRAW_FIRST, sizeof *made.first_is_entry);
    larger[draws->count++] = made;
    draws->is_out_of_memory |= !made.first || !made.first_is_entry;
    return (uint32_t)draws->count - 1;
}

uint32_t nest_draws_add(struct nest_draws *draws, const struct nest_ref *ref, uint64_t address)
{
    const struct draw_key key = key_of(draws->program, ref, address);
    uint32_t index = 0, pool, made;

    while (index < draws->count && !are_copies(&draws->draws[index].key, &key))
        index++;
    if (index == draws->count || draws->draws[index].is_apart)
        return draw_add(draws, &key);
    if (draws->draws[index].into != index || draws->draws[index].is_decided) {
        index = draws->draws[index].into;
        draws->draws[index].has_more = true;
        return index;
    }
    pool = draw_pool_of(draws, index);
    made = pool == PSNAP_NONE ? PSNAP_NONE : draw_add(draws, &key);
    if (made != PSNAP_NONE)
        draws->draws[made].pool = pool;
    return made;
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

void draw_collect(struct nest_draws *draws, struct draw *draw, unsigned k, uint64_t address)
{
    struct gather_areas *areas = areas_of(draws, draw, k);

    if (areas)
        gather_areas_put(areas, address);
}

/* ---- quiet ---- */

/* n more addresses have come, of a phase that had as many. */
static void spend(struct nest_draws *draws, uint64_t n)
{
    uint64_t mixed;

    if (draws->quiet) {
        draws->quiet -= n;
        draws->loud = draws->quiet ? 0 : LOUD + WARM;
    } else if (!(draws->loud -= n)) {
        /* not always as long: loops are often of such a length, too */
        mixed = ++draws->phases * UINT64_C(0x9e3779b97f4a7c15);
        draws->quiet = QUIET / 2 + (mixed >> 32) % QUIET;
        for (size_t i = 0; draws->phases == 1 && i < draws->count; i++)
            for (unsigned k = 0; k < 3; k++)
                draws->draws[i].followers[k].rest = 0; /* from now on all rest at once */
    }
}

/* Whether nobody looks at what goes with what. */
static bool is_deaf(const struct nest_draws *draws)
{
    return draws->quiet || (draws->phases && draws->loud > LOUD && draws->loud <= LOUD + WARM);
}

/* ---- one address ---- */

/* One that always held needs no model. */
static inline bool is_collected(const struct follower *follower)
{
    return follower->has_failed || follower->held < SURE;
}

/* A jump, with where the draws were that came last. */
static void note_jump(struct nest_draws *draws, struct draw *draw, unsigned part, uint64_t address)
{
    struct nest_jump *jump;

    draws->is_out_of_memory |= !nest_jumps_next(&draw->jumps[part], &jump);
    if (!jump)
        return;
    jump->address = address;
    for (unsigned i = 0; i < DRAW_RECENT; i++) {
        jump->draws[i] = draws->recent[i];
        jump->lasts[i] = draws->recent[i] == PSNAP_NONE ? 0 : draws->draws[draws->recent[i]].last;
    }
}

/* Looks for what an address of a part goes with. */
static void look(struct nest_draws *draws, uint32_t index, unsigned part, uint64_t address)
{
    struct draw *draw = &draws->draws[index];
    struct follower *follower = &draw->followers[part];
    const bool is_seen = !follower->rest;

    draw_follow(draws, index, follower, address);
    if (!is_seen || !follower->has_failed)
        return;
    draws->is_out_of_memory |=
        !nest_rows_put(&draw->rows[part], &draws->trail, index, draw->last, address);
    if (nest_is_jump(address - draw->last))
        note_jump(draws, draw, part, address);
}

static void put_own(struct nest_draws *draws, uint32_t index, bool is_entry, uint64_t address)
{
    struct draw *draw = &draws->draws[index];
    const unsigned part = draw->is_split || !draw->is_decided ? is_entry : DRAW_ALL;

    if (draws->is_out_of_memory)
        return;
    if (!is_deaf(draws)) {
        look(draws, index, part, address);
        if (!draw->is_decided)
            look(draws, index, DRAW_ALL, address);
    }
    draw->last = address;
    if (draws->recent[0] != index && (!draw->is_pool || draw->is_decided))
        draws_remember(draws, index);
    if (!draw->is_decided) {
        draw->first[draw->first_count] = address;
        draw->first_is_entry[draw->first_count++] = is_entry;
        if (draw->first_count == DRAW_FIRST && (!draw->is_pool || draw_decide_pool(draws, index)))
            draw_decide(draws, index);
        return;
    }
    if (is_collected(&draw->followers[part]))
        draw_collect(draws, draw, draw->is_split && is_entry, address);
}

/* As what it is, and, while that is not decided, also as one of a pool, whose first addresses are
 * as many at least. */
static void put(struct nest_draws *draws, uint32_t index, bool is_entry, uint64_t address)
{
    const uint32_t pool = draws->draws[index].pool;

    if (pool == PSNAP_NONE) {
        const uint32_t into = draws->draws[index].into;
        if (into != index && !is_deaf(draws))
            draw_follow_apart(draws, index, address);
        put_own(draws, into, is_entry, address);
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
    spend(draws, 1);
}

void nest_draws_put_first(struct nest_draws *draws, uint32_t index, uint64_t address)
{
    put(draws, index, false, address);
}

/* ---- many of them ---- */

/* How many iterations there are from here on, of n, in which nobody looks for leaders, and none is
 * told apart: the first one may be an entry. */
static uint64_t count_resting(const struct nest_draws *draws, const struct nest_drawn *drawn,
                              uint32_t width, uint64_t n, bool is_entry)
{
    for (uint32_t k = 0; k < width; k++) {
        const struct draw *draw = &draws->draws[drawn[k].draw];
        const uint64_t rest = draw->followers[draw->is_split ? DRAW_REST : DRAW_ALL].rest;

        if (!draw->is_decided || (is_entry && draw->is_split) || rest < width)
            return 0;
        n = rest < n * width ? rest / width : n;
    }
    return n;
}

/* Words one after the other, as many as fit at once straight to the room. */
static void put_words(struct gather_areas *areas, const uint64_t *words, uint64_t first, uint64_t n)
{
    for (uint64_t i = 0, end; i < n; i = end) {
        const uint64_t low = areas->low, span = areas->span, free = areas->most - areas->count;
        uint64_t *out = areas->room + areas->count;
        bool is_elsewhere = !free;

        end = i + (free < n - i ? free : n - i);
        for (uint64_t k = i; k < end; k++) {
            out[k - i] = words[k] + first;
            is_elsewhere |= out[k - i] - low > span;
        }
        if (!is_elsewhere) {
            areas->count += end - i;
            continue;
        }
        end = end == i ? i + 1 : end;
        for (uint64_t k = i; k < end; k++)
            gather_areas_put(areas, words[k] + first);
    }
}

/* References of a batch that are copies of one. */
struct copies {
    const struct nest_drawn *of[NEST_WIDTH_MAX];
    uint32_t count;
};

/* Whether their addresses lie one after the other. */
static bool is_flat(const struct copies *copies)
{
    const struct nest_drawn *first = copies->of[0];
    bool flat = first->words && first->pitch == copies->count;

    for (uint32_t k = 1; flat && k < copies->count; k++)
        flat = copies->of[k]->words == first->words + k && copies->of[k]->pitch == copies->count &&
               copies->of[k]->first == first->first;
    return flat;
}

/* Whether they go on by one step, *step: those of n iterations in turn. */
static bool is_run(const struct copies *copies, uint64_t n, uint64_t *step)
{
    const struct nest_drawn *first = copies->of[0];
    bool is_one = true;

    *step = copies->count > 1 ? copies->of[1]->first - first->first : first->step;
    for (uint32_t k = 0; is_one && k < copies->count; k++)
        is_one = !copies->of[k]->words && copies->of[k]->first == first->first + k * *step &&
                 (n == 1 || copies->of[k]->step == copies->count * *step);
    return is_one;
}

/* The addresses of iterations [from, to) of copies, in turn. Those of an iteration that fit go
 * straight to the room. */
static void put_columns(struct gather_areas *areas, const struct copies *copies, uint64_t from,
                        uint64_t to)
{
    uint64_t step;

    if (is_flat(copies)) {
        put_words(areas, copies->of[0]->words + from * copies->count, copies->of[0]->first,
                  (to - from) * copies->count);
        return;
    }
    if (is_run(copies, to - from, &step)) {
        gather_areas_put_run(areas, nest_drawn_address(copies->of[0], from), step,
                             (to - from) * copies->count);
        return;
    }
    for (uint64_t i = from; i < to; i++) {
        const uint64_t low = areas->low, span = areas->span;
        uint64_t *out = areas->room + areas->count;
        bool is_elsewhere = areas->most - areas->count < copies->count;

        for (uint32_t k = 0; !is_elsewhere && k < copies->count; k++) {
            out[k] = nest_drawn_address(copies->of[k], i);
            is_elsewhere = out[k] - low > span;
        }
        areas->count += is_elsewhere ? 0 : copies->count;
        for (uint32_t k = 0; is_elsewhere && k < copies->count; k++)
            gather_areas_put(areas, nest_drawn_address(copies->of[k], i));
    }
}

/* The references of a batch by draw: next[k] is the next copy of the k-th, or `width`. */
static void link_copies(struct nest_draws *draws, const struct nest_drawn *drawn, uint32_t width,
                        uint32_t *next)
{
    const uint64_t batch = ++draws->batches;

    for (uint32_t k = width; k--;) {
        struct draw *draw = &draws->draws[drawn[k].draw];
        next[k] = draw->batch == batch ? draw->batch_first : width;
        draw->batch = batch;
        draw->batch_first = k;
    }
}

/* The addresses of iterations [from, to), of each draw its own in turn. */
static void collect_all(struct nest_draws *draws, const struct nest_drawn *drawn, uint32_t width,
                        uint64_t from, uint64_t to)
{
    uint32_t next[NEST_WIDTH_MAX];
    struct copies copies;

    if (to - from > 1)
        link_copies(draws, drawn, width, next);
    for (uint32_t k = 0; k < width; k++) {
        struct draw *draw = &draws->draws[drawn[k].draw];
        struct gather_areas *areas;

        if (!is_collected(&draw->followers[draw->is_split ? DRAW_REST : DRAW_ALL]) ||
            (to - from > 1 && draw->batch_first != k))
            continue;
        areas = areas_of(draws, draw, DRAW_REST);
        if (!areas)
            return;
        if (to - from == 1) {
            gather_areas_put(areas, nest_drawn_address(&drawn[k], from));
            continue;
        }
        copies.count = 0;
        for (uint32_t i = k; i < width; i = next[i])
            copies.of[copies.count++] = &drawn[i];
        put_columns(areas, &copies, from, to);
    }
}

/* Those that came last in an iteration are the latest. */
static void remember_all(struct nest_draws *draws, const struct nest_drawn *drawn, uint32_t width)
{
    uint32_t latest[DRAW_RECENT], count = 0;

    for (uint32_t k = width; k-- && count < DRAW_RECENT;) {
        uint32_t i = 0;
        while (i < count && latest[i] != drawn[k].draw)
            i++;
        latest[i] = drawn[k].draw;
        count += i == count;
    }
    if (!memcmp(latest, draws->recent, count * sizeof *latest))
        return;
    while (count--)
        draws_remember(draws, latest[count]);
}

/* The last addresses of iterations [from, to), as many as a trail has. */
static void leave_trail(struct nest_draws *draws, const struct nest_drawn *drawn, uint32_t width,
                        uint64_t from, uint64_t to)
{
    const uint64_t most = (NEST_BACK_MAX + width - 1) / width;
    uint64_t i = to - from > most ? to - most : from;
    uint32_t n = (uint32_t)(to - i) * width, k = n > NEST_BACK_MAX ? n - NEST_BACK_MAX : 0;

    for (; i < to; i++, k = 0)
        for (; k < width; k++)
            nest_trail_push(&draws->trail, drawn[k].draw, nest_drawn_address(&drawn[k], i));
}

/* Iterations [from, to), at least one, in which nobody looks for leaders. */
static void put_resting(struct nest_draws *draws, const struct nest_drawn *drawn, uint32_t width,
                        uint64_t from, uint64_t to)
{
    collect_all(draws, drawn, width, from, to);
    for (uint32_t k = 0; k < width; k++) {
        struct draw *draw = &draws->draws[drawn[k].draw];

        draw->followers[draw->is_split ? DRAW_REST : DRAW_ALL].rest -= (uint32_t)(to - from);
        draw->last = nest_drawn_address(&drawn[k], to - 1);
    }
    remember_all(draws, drawn, width);
    leave_trail(draws, drawn, width, from, to);
}

/* As count_resting, of those of pools. */
static uint64_t count_apart(const struct nest_draws *draws, const struct nest_drawn *drawn,
                            uint32_t width, uint64_t n)
{
    for (uint32_t k = 0; k < width; k++) {
        const struct draw *draw = &draws->draws[drawn[k].draw];
        const uint64_t rest = draw->followers[DRAW_ALL].rest;

        if (draw->into != drawn[k].draw && !draw->is_lost && rest < n * width)
            n = rest / width;
    }
    return n;
}

static void rest_apart(struct nest_draws *draws, const struct nest_drawn *drawn, uint32_t width,
                       uint64_t n)
{
    for (uint32_t k = 0; k < width; k++) {
        struct draw *draw = &draws->draws[drawn[k].draw];
        if (draw->into != drawn[k].draw && !draw->is_lost)
            draw->followers[DRAW_ALL].rest -= (uint32_t)n;
    }
}

/* Iterations [from, to), while nobody looks: false when there is more to do. */
static bool put_quietly(struct nest_draws *draws, const struct nest_drawn *drawn, uint32_t width,
                        uint64_t from, uint64_t to, bool is_entry)
{
    for (uint32_t k = 0; k < width; k++)
        if (!draws->draws[drawn[k].draw].is_decided ||
            (is_entry && draws->draws[drawn[k].draw].is_split))
            return false;
    collect_all(draws, drawn, width, from, to);
    for (uint32_t k = 0; k < width; k++)
        draws->draws[drawn[k].draw].last = nest_drawn_address(&drawn[k], to - 1);
    spend(draws, (to - from) * width);
    return true;
}

/* The next iterations, from `from` on: returns how many. `drawn` are the references as they are,
 * `into` the draws that they are of. */
static uint64_t put_some(struct nest_draws *draws, const struct nest_drawn *drawn,
                         const struct nest_drawn *into, uint32_t width, uint64_t from, uint64_t n,
                         bool is_entry)
{
    const uint64_t left = (draws->quiet ? draws->quiet : draws->loud) / width;
    const uint64_t most = left < n - from ? left : n - from;
    uint64_t resting;

    if (draws->quiet && most && put_quietly(draws, into, width, from, from + most, is_entry))
        return most;
    resting = most ? count_resting(draws, into, width, most, is_entry) : 0;
    if (resting && draws->has_pools && (resting = count_apart(draws, drawn, width, resting)))
        rest_apart(draws, drawn, width, resting);
    if (resting) {
        put_resting(draws, into, width, from, from + resting);
        spend(draws, resting * width);
        return resting;
    }
    for (uint32_t k = 0; k < width; k++)
        nest_draws_put(draws, drawn[k].draw, is_entry, nest_drawn_address(&drawn[k], from));
    return 1;
}

void nest_draws_put_all(struct nest_draws *draws, const struct nest_drawn *drawn, uint32_t width,
                        uint64_t n, bool is_entry)
{
    struct nest_drawn own[NEST_WIDTH_MAX];
    const struct nest_drawn *into = draws->has_pools ? own : drawn;

    for (uint32_t k = 0; draws->has_pools && k < width; k++) {
        own[k] = drawn[k];
        own[k].draw = draws->draws[drawn[k].draw].into;
    }
    for (uint64_t i = 0; i < n && !draws->is_out_of_memory;)
        i += put_some(draws, drawn, into, width, i, n, !i && is_entry);
}

bool nest_draws_are_whole(const struct nest_draws *draws)
{
    return !draws->is_out_of_memory;
}
