/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Addresses that are drawn: the references that draw, and what is put into their gathers.
 *
 * A reference may always be as far from the last address of another one as it was before, and is
 * then told by that (nest_draws_leaders.c). Where that never fails it needs no gather of its own,
 * and none is collected. Where there is none, it may be by which of the addresses just before it
 * goes, whose ever they are (nest_after.h): the next slot of a hash table behind that which the
 * loop began with, either child of a heap's node, the field of a node that a search has found in
 * one loop or another. What its first addresses show is told in nest_draws_decide.c.
 */
#include <stdlib.h>
#include <string.h>

#include "formats/base/room.h"
#include "profile/gathers/gather.h"
#include "profile/walks/nest_draws_seen.h"

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

struct gather_areas *draw_areas(struct nest_draws *draws, struct draw *draw, unsigned k)
{
    if (!draw->areas[k]) {
        draw->areas[k] = gather_areas_new();
        if (draw->areas[k] && k == 1)
            gather_areas_of_walks(draw->areas[k]);
    }
    draws->is_out_of_memory |= !draw->areas[k];
    return draw->areas[k];
}

void draw_collect(struct nest_draws *draws, struct draw *draw, unsigned k, uint64_t address)
{
    struct gather_areas *areas = draw_areas(draws, draw, k);

    if (areas)
        gather_areas_put(areas, address);
}

/* ---- one address ---- */

/* A jump, with where the draws were that came last. */
static void note_jump(struct nest_draws *draws, uint32_t index, unsigned part, uint64_t address)
{
    struct draw *draw = &draws->draws[index];
    struct nest_jump *jump;

    draws->is_out_of_memory |= !nest_jumps_next(&draw->jumps[part], &jump);
    if (!jump)
        return;
    jump->address = address;
    jump->count = jump->rest = 0;
    nest_trail_marks(&draws->trail, jump->marks, jump->refs);
    if (draws->jumped_count < DRAW_JUMPED) {
        draws->jumped[draws->jumped_count].draw = index;
        draws->jumped[draws->jumped_count++].part = part;
    } else {
        nest_jumps_count(draw->jumps[part], 0);
    }
    for (unsigned i = 0; i < DRAW_RECENT; i++) {
        jump->draws[i] = draws->recent[i];
        jump->lasts[i] = draws->recent[i] == PSNAP_NONE ? 0 : draws->draws[draws->recent[i]].last;
    }
}

/* From where it came back last, or 0. */
static uint64_t left_by(const struct draw *draw)
{
    if (!draw->is_decided || !draw->is_split)
        return nest_rows_left(draw->rows[DRAW_ALL]);
    return nest_rows_left(draw->rows[draw->rows[DRAW_REST] ? DRAW_REST : DRAW_ENTRY]);
}

/* Looks for what an address of a part goes with. */
static void look(struct nest_draws *draws, uint32_t index, unsigned part, uint64_t address)
{
    struct draw *draw = &draws->draws[index];
    struct follower *follower = &draw->followers[part];
    const bool is_seen = !follower->rest;
    struct nest_starts *starts;

    draw_follow(draws, index, follower, address);
    if (!is_seen)
        return;
    if (!follower->has_failed && follower->leader != PSNAP_NONE) {
        nest_rows_hold(draw->rows[part], address);
        return;
    }
    draws->is_out_of_memory |=
        !nest_rows_put(&draw->rows[part], &draws->trail, index, draw->last, address, &starts);
    for (unsigned i = 0; starts && i < NEST_STARTS; i++) {
        starts->draws[i] = draws->recent[i];
        starts->addresses[i] =
            draws->recent[i] == PSNAP_NONE ? 0 : draws->draws[draws->recent[i]].begun;
        starts->lefts[i] =
            draws->recent[i] == PSNAP_NONE ? 0 : left_by(&draws->draws[draws->recent[i]]);
    }
    if (nest_is_jump(address - draw->last))
        note_jump(draws, index, part, address);
}

static void put_own(struct nest_draws *draws, uint32_t index, bool is_entry, uint64_t address)
{
    struct draw *draw = &draws->draws[index];
    const unsigned part = draw->is_split || !draw->is_decided ? is_entry : DRAW_ALL;

    if (draws->is_out_of_memory)
        return;
    look(draws, index, part, address);
    if (!draw->is_decided)
        look(draws, index, DRAW_ALL, address);
    if (is_entry)
        draw_begin(draw, address);
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
    if (draw_is_collected(draw, part))
        draw_collect(draws, draw, draw->is_split && is_entry, address);
}

/* As what it is, and, while that is not decided, also as one of a pool, whose first addresses are
 * as many at least. */
static void put(struct nest_draws *draws, uint32_t index, bool is_entry, uint64_t address)
{
    const uint32_t pool = draws->draws[index].pool;

    if (pool == PSNAP_NONE) {
        const uint32_t into = draws->draws[index].into;
        if (into != index)
            draw_follow_apart(draws, index, address);
        put_own(draws, into, is_entry, address);
        return;
    }
    put_own(draws, pool, is_entry, address);
    if (draws->draws[index].into == index)
        put_own(draws, index, is_entry, address);
}

/* As `put` of one that nobody looks at: most of a long stream. False: it is to be put. */
static inline bool put_unseen(struct nest_draws *draws, uint32_t index, bool is_entry,
                              uint64_t address)
{
    const struct draw *own = &draws->draws[index];
    const bool is_apart = own->into != index && !own->is_lost;
    struct draw *draw = &draws->draws[own->into];
    const unsigned part = draw->is_split ? is_entry : DRAW_ALL;
    struct gather_areas *areas = draw->areas[draw->is_split && is_entry];

    if (own->pool != PSNAP_NONE || !draw->is_decided || !draw->followers[part].rest || !areas ||
        (is_apart && !own->followers[DRAW_ALL].rest))
        return false;
    if (is_apart)
        draws->draws[index].followers[DRAW_ALL].rest--;
    draw->followers[part].rest--;
    if (is_entry)
        draw_begin(draw, address);
    draw->last = address;
    if (draws->recent[0] != own->into)
        draws_remember(draws, own->into);
    if (draw_is_collected(draw, part))
        gather_areas_put(areas, address);
    return true;
}

void nest_draws_put(struct nest_draws *draws, uint32_t index, bool is_entry, uint64_t address)
{
    if (!put_unseen(draws, index, is_entry, address))
        put(draws, index, is_entry, address);
    nest_trail_push(&draws->trail, draws->draws[index].into, address);
}

void nest_draws_put_iteration(struct nest_draws *draws, const struct nest_shape *shape,
                              const struct psnap_access *accesses, bool is_entry)
{
    for (uint32_t k = 0; k < shape->width; k++)
        if (shape->refs[k].mode == NEST_DRAWN)
            nest_draws_put(draws, shape->refs[k].draw, is_entry, accesses[k].address);
}

void nest_draws_put_first(struct nest_draws *draws, uint32_t index, bool is_entry, uint64_t address)
{
    put(draws, index, is_entry, address);
}

void nest_draws_move(struct nest_draws *draws, uint32_t index, uint64_t address)
{
    const uint32_t pool = draws->draws[index].pool;

    draws->draws[draws->draws[index].into].last = address;
    if (pool != PSNAP_NONE)
        draws->draws[pool].last = address;
}

/* Whether two loops are parts of one of the source. */
static bool are_parts(const struct psnap_program *program, uint32_t a, uint32_t b)
{
    const char *x = a == PSNAP_NONE ? NULL : program->loops[a].src_id;
    const char *y = b == PSNAP_NONE ? NULL : program->loops[b].src_id;

    return a != b && x && y && !strcmp(x, y);
}

static struct nest_jumps *jumps_of(const struct nest_draws *draws, const struct jumped *jumped)
{
    return draws->draws[jumped->draw].jumps[jumped->part];
}

void nest_draws_end(struct nest_draws *draws, uint32_t loop, uint64_t count)
{
    const bool is_rest = draws->past_count && are_parts(draws->program, draws->past_loop, loop);

    for (uint32_t i = 0; is_rest && i < draws->past_count; i++)
        nest_jumps_rest(jumps_of(draws, &draws->past[i]), count);
    for (uint32_t i = 0; i < draws->jumped_count; i++) {
        nest_jumps_count(jumps_of(draws, &draws->jumped[i]), count);
        draws->past[i] = draws->jumped[i];
    }
    draws->past_count = loop == PSNAP_NONE ? 0 : draws->jumped_count;
    draws->past_loop = loop;
    draws->jumped_count = 0;
}

void nest_draws_mark(struct nest_draws *draws, uint32_t ref, uint64_t address)
{
    if (draws->count)
        nest_trail_mark(&draws->trail,
                        ref == PSNAP_NONE ? PSNAP_NONE : draws->program->refs[ref].loop, ref,
                        address);
}

bool nest_draws_are_whole(const struct nest_draws *draws)
{
    return !draws->is_out_of_memory;
}
