/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What threads have done, joined: in one part for all of them, or, when they
 * are kept apart, in a part for each.
 *
 * With threads by the thousand not all can have a part. Those with the lowest
 * numbers do, PSNAP_PARTS_MAX of them, or as many as BUILD_PARTS_BYTES hold; all
 * others share one more, joined as merged threads are (builder_join.c). A
 * thread that turns out to be lower than one that has a part takes that away
 * from the highest. So who has one does not depend on the order in which threads
 * are joined: but for the limit in bytes, and there as builder_threads.c says.
 */
#include "profile/build/builder.h"

#include <stdlib.h>
#include <string.h>

#define BUILD_PARTS_BYTES ((size_t)24 << 20)

void build_parts_init(struct build_parts *parts, const struct psnap_program *program,
                      const struct psnap_builder_options *options)
{
    memset(parts, 0, sizeof *parts);
    parts->program = program;
    parts->options = options;
}

static void itinerary_release(struct build_itinerary *itinerary)
{
    fold_release(&itinerary->visits);
    free(itinerary->stops);
}

static void part_release(struct build_part *part)
{
    for (uint32_t i = 0; i < part->loop_count; i++)
        build_loop_free(part->loops[i]);
    for (uint32_t i = 0; i < part->itinerary_count; i++)
        itinerary_release(&part->itineraries[i]);
    free(part->loops);
    free(part->itineraries);
    *part = (struct build_part){0};
}

void build_parts_release(struct build_parts *parts)
{
    for (uint32_t i = 0; i < parts->own_count; i++)
        part_release(&parts->own[i]);
    part_release(&parts->rest);
    free(parts->in_rest);
    parts->in_rest = NULL;
    parts->own_count = 0;
}

/* ------------------------------------------------------------- one part */

static bool grow_loops(struct build_part *part, uint32_t count)
{
    struct build_loop **loops;

    if (count <= part->loop_count && part->loops)
        return true;
    loops = realloc(part->loops, (count + 1) * sizeof(struct build_loop *));
    if (!loops)
        return false;
    for (uint32_t i = part->loop_count; i < count; i++)
        loops[i] = NULL;
    part->loops = loops;
    part->loop_count = count;
    return true;
}

/* Itineraries that have no loop that none before them has are of no use. */
static bool prune_itineraries(struct build_part *part)
{
    bool *has = calloc(part->loop_count + 1, sizeof *has);
    uint32_t kept = 0;

    if (!has)
        return false;
    for (uint32_t i = 0; i < part->itinerary_count; i++) {
        struct build_itinerary *itinerary = &part->itineraries[i];
        bool is_new = false;
        for (uint32_t k = 0; k < itinerary->count; k++) {
            is_new |= !has[itinerary->stops[k].index];
            has[itinerary->stops[k].index] = true;
        }
        if (is_new)
            part->itineraries[kept++] = *itinerary;
        else
            itinerary_release(itinerary);
    }
    part->itinerary_count = kept;
    free(has);
    return true;
}

/* Puts an itinerary before those of higher threads; it is the part's, or released, then. */
static bool add_itinerary(struct build_part *part, struct build_itinerary *itinerary)
{
    struct build_itinerary *grown =
        realloc(part->itineraries, (part->itinerary_count + 1) * sizeof *grown);
    uint32_t at = part->itinerary_count;

    if (!grown) {
        itinerary_release(itinerary);
        return false;
    }
    part->itineraries = grown;
    for (; at > 0 && grown[at - 1].thread > itinerary->thread; at--)
        grown[at] = grown[at - 1];
    grown[at] = *itinerary;
    part->itinerary_count++;
    return prune_itineraries(part);
}

/* The builder's visits become an itinerary. */
static bool take_itinerary(struct build_part *part, struct builder *b)
{
    struct build_itinerary itinerary = {.count = b->loop_count, .thread = b->thread};

    itinerary.stops = malloc((b->loop_count + 1) * sizeof *itinerary.stops);
    if (!itinerary.stops)
        return false;
    for (uint32_t i = 0; i < b->loop_count; i++)
        itinerary.stops[i] = (struct build_stop){b->loops[i]->index, b->loops[i]->unit};
    itinerary.visits = b->visits;
    memset(&b->visits, 0, sizeof b->visits);
    return add_itinerary(part, &itinerary);
}

/* Joins one loop to a part, which owns it now. With very many regions in all, loops get along with
 * fewer. */
static bool join_loop(struct build_parts *parts, struct build_part *part, struct build_loop *loop)
{
    struct build_loop **joined = &part->loops[loop->index];
    uint32_t limit = parts->options->region_limit;

    if (!*joined) {
        *joined = loop;
    } else {
        if (part->region_count + loop->count > BUILD_REGIONS_MAX / 2 && limit > BUILD_JOINED_LEAST)
            limit = BUILD_JOINED_LEAST;
        part->region_count -= (*joined)->count;
        part->bytes -= (*joined)->bytes;
        *joined = build_loop_join(*joined, loop, parts->program, limit);
    }
    if (!*joined)
        return false;
    part->region_count += (*joined)->count;
    part->bytes += (*joined)->bytes;
    return true;
}

/* ------------------------------------------------------------- all of them */

/* A thread is one of those that share the rest; false: out of memory. */
static bool note_in_rest(struct build_parts *parts, uint16_t thread)
{
    if (!parts->in_rest)
        parts->in_rest = calloc(1, PSNAP_THREADS_MAX / 8);
    if (!parts->in_rest)
        return false;
    if (!(parts->in_rest[thread / 8] & 1u << thread % 8)) {
        parts->in_rest[thread / 8] |= (uint8_t)(1u << thread % 8);
        parts->rest.thread_count++;
    }
    if (parts->rest.thread_count == 1 || thread < parts->rest.thread)
        parts->rest.thread = thread;
    return true;
}

/* The highest thread that has a part of its own goes to the rest. */
static bool give_up_highest(struct build_parts *parts)
{
    struct build_part *highest = &parts->own[--parts->own_count], *rest = &parts->rest;
    bool is_done =
        note_in_rest(parts, highest->thread) && grow_loops(rest, parts->program->loop_count);

    for (uint32_t i = 0; i < highest->loop_count && is_done; i++) {
        struct build_loop *loop = highest->loops[i];
        if (!loop)
            continue;
        highest->loops[i] = NULL;
        is_done = join_loop(parts, rest, loop);
    }
    for (uint32_t i = 0; i < highest->itinerary_count && is_done; i++) {
        is_done = add_itinerary(rest, &highest->itineraries[i]);
        highest->itineraries[i] = (struct build_itinerary){0};
    }
    part_release(highest);
    return is_done;
}

/* The part of a thread; NULL: out of memory. */
static struct build_part *find_part(struct build_parts *parts, uint16_t thread)
{
    uint32_t at = 0;

    while (at < parts->own_count && parts->own[at].thread < thread)
        at++;
    if (at < parts->own_count && parts->own[at].thread == thread)
        return &parts->own[at];
    if (!parts->options->is_apart || at == PSNAP_PARTS_MAX ||
        (parts->rest.thread_count && thread >= parts->rest.thread))
        return note_in_rest(parts, thread) ? &parts->rest : NULL;
    if (parts->own_count == PSNAP_PARTS_MAX && !give_up_highest(parts))
        return NULL;
    memmove(&parts->own[at + 1], &parts->own[at], (parts->own_count - at) * sizeof *parts->own);
    parts->own_count++;
    parts->own[at] = (struct build_part){.thread = thread, .thread_count = 1};
    return &parts->own[at];
}

/* What the parts of their own take: loops, the table of these, and itineraries. */
static size_t bytes_of_own(const struct build_parts *parts)
{
    size_t bytes = 0;

    for (uint32_t i = 0; i < parts->own_count; i++) {
        const struct build_part *part = &parts->own[i];
        bytes += part->bytes + part->loop_count * sizeof *part->loops;
        for (uint32_t k = 0; k < part->itinerary_count; k++)
            bytes += sizeof *part->itineraries +
                     part->itineraries[k].count * sizeof *part->itineraries[k].stops +
                     fold_bytes(&part->itineraries[k].visits);
    }
    return bytes;
}

bool build_parts_take(struct build_parts *parts, struct builder *b)
{
    struct build_part *part = find_part(parts, b->thread);
    bool is_done = part && grow_loops(part, parts->program->loop_count) && take_itinerary(part, b);

    for (uint32_t i = 0; i < b->loop_count && is_done; i++) {
        struct build_loop *loop = b->loops[i];
        b->loops[i] = NULL;
        loop->thread = b->thread;
        loop->account = NULL;
        for (uint32_t k = 0; k < loop->count; k++)
            loop->order[k]->first_thread = loop->order[k]->last_thread = b->thread;
        is_done = join_loop(parts, part, loop);
    }
    while (is_done && parts->own_count > 1 && bytes_of_own(parts) > BUILD_PARTS_BYTES)
        is_done = give_up_highest(parts);
    return is_done;
}

/* ------------------------------------------------------------- the result */

/* Makes the visits of a part those of the result's loops. */
static void take_itineraries(struct build_result *result, struct build_part *part, uint32_t offset)
{
    for (uint32_t i = 0; i < part->itinerary_count; i++) {
        struct build_itinerary *itinerary = &result->itineraries[result->itinerary_count++];
        *itinerary = part->itineraries[i];
        itinerary->offset = offset;
        for (uint32_t k = 0; k < itinerary->count; k++) {
            itinerary->stops[k].index += offset;
            itinerary->stops[k].unit += offset;
        }
    }
    part->itinerary_count = 0;
}

bool build_result_init(struct build_result *result, struct build_parts *parts)
{
    size_t room = parts->rest.itinerary_count + (size_t)1;
    struct build_part *part;

    *result = (struct build_result){.options = parts->options};
    for (uint32_t i = 0; i < parts->own_count; i++)
        room += parts->own[i].itinerary_count;
    result->itineraries = calloc(room, sizeof *result->itineraries);
    if (!result->itineraries)
        return false;
    for (uint32_t i = 0; i <= parts->own_count; i++) {
        part = i < parts->own_count ? &parts->own[i] : &parts->rest;
        if (part == &parts->rest && !part->thread_count && parts->options->is_apart)
            continue;
        if (!grow_loops(part, parts->program->loop_count))
            return false;
        take_itineraries(result, part, result->part_count * parts->program->loop_count);
        result->parts[result->part_count++] = part;
    }
    return true;
}

void build_result_release(struct build_result *result)
{
    for (uint32_t i = 0; i < result->itinerary_count; i++)
        itinerary_release(&result->itineraries[i]);
    free(result->itineraries);
}
