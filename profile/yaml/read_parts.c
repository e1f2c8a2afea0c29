/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Threads' parts of loops: `thread`, `threads` and what `part_of` names then. In
 * a profile whose threads are apart all accesses are in such parts, in one whose
 * threads are merged none are. A part names a loop that is none itself; the
 * source loop follows from that one.
 */
#include "profile/yaml/read.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define THREAD_MAX UINT16_MAX /* as in struct psnap_access */

/* Of the threads that share a part, the first loop that said so. */
struct shared {
    const struct psnap_yaml_node *node;
    uint64_t count;
    uint32_t thread;
};

static bool is_part(const struct psnap_yaml_node *map)
{
    return psnap_yaml_get(map, "thread") != NULL;
}

/* What is around a loop is a loop of all threads. */
static enum psnap_status check_parent(const struct reading *r, const struct psnap_yaml_node *map,
                                      const struct name_index *names)
{
    const struct psnap_yaml_node *node = psnap_yaml_get(psnap_yaml_get(map, "nest"), "parent");
    const struct named_node *parent = node ? find_name(names, node->text) : NULL;

    if (!parent || !is_part(parent->node->parent))
        return PSNAP_OK;
    return psnap_yaml_fail(r->doc, node, r->error, PSNAP_ERROR_VALUE,
                           "'%.100s' (line %" PRIu32
                           ") is a thread's part; 'parent' names a whole loop",
                           parent->id, parent->node->src_line);
}

/* A loop without `thread`. */
static enum psnap_status read_whole(const struct reading *r, const struct psnap_yaml_node *map,
                                    const struct psnap_profile_loop *loop)
{
    const struct psnap_yaml_node *threads = psnap_yaml_get(map, "threads");

    if (threads)
        return psnap_yaml_fail(r->doc, threads, r->error, PSNAP_ERROR_VALUE,
                               "'threads' goes with 'thread', the lowest of them");
    if (r->profile->is_apart && loop->accesses)
        return psnap_yaml_fail(r->doc, psnap_yaml_get(map, "regions"), r->error, PSNAP_ERROR_VALUE,
                               "threads are apart here ('thread' in 'program'), so regions are in "
                               "loops with a 'thread' of their own");
    return PSNAP_OK;
}

/* The loop that a part is of. */
static enum psnap_status read_part_of(const struct reading *r, const struct psnap_yaml_node *map,
                                      const struct name_index *names,
                                      struct psnap_profile_loop *loop)
{
    const struct psnap_yaml_node *node = psnap_yaml_require(r->doc, map, "part_of", r->error);
    const struct named_node *whole;

    if (!node)
        return PSNAP_ERROR_VALUE;
    whole = find_name(names, loop->src_id);
    if (!whole)
        return psnap_yaml_fail(r->doc, node, r->error, PSNAP_ERROR_VALUE,
                               "there is no loop '%.100s'", loop->src_id);
    if (is_part(whole->node->parent))
        return psnap_yaml_fail(r->doc, node, r->error, PSNAP_ERROR_VALUE,
                               "'%.100s' (line %" PRIu32
                               ") is a thread's part itself; 'part_of' names the whole loop",
                               loop->src_id, whole->node->src_line);
    loop->whole = whole->index;
    return PSNAP_OK;
}

static enum psnap_status read_part(const struct reading *r, const struct psnap_yaml_node *map,
                                   const struct name_index *names, struct psnap_profile_loop *loop,
                                   struct shared *shared)
{
    const struct psnap_yaml_node *thread = psnap_yaml_get(map, "thread");
    const struct psnap_yaml_node *threads = psnap_yaml_get(map, "threads");
    uint64_t number, count = 1;
    enum psnap_status status;

    if (!r->profile->is_apart)
        return psnap_yaml_fail(r->doc, thread, r->error, PSNAP_ERROR_VALUE,
                               "threads are merged here, but this is a thread's part; with parts "
                               "'program' has 'thread: apart'");
    status = psnap_yaml_u64(r->doc, thread, 0, THREAD_MAX, &number, r->error);
    if (!status && threads)
        status = psnap_yaml_u64(r->doc, threads, 1, THREAD_MAX - number + 1, &count, r->error);
    if (!status)
        status = read_part_of(r, map, names, loop);
    if (status)
        return status;
    loop->thread = (uint32_t)number;
    loop->thread_count = (uint32_t)count;
    if (count > 1 && shared->node && (shared->thread != number || shared->count != count))
        return psnap_yaml_fail(
            r->doc, threads, r->error, PSNAP_ERROR_VALUE,
            "%" PRIu64 " threads from %" PRIu64 " on share a part here, but %" PRIu64
            " from %" PRIu32 " on in line %" PRIu32,
            count, number, shared->count, shared->thread, shared->node->src_line);
    if (count > 1)
        *shared = (struct shared){threads, count, loop->thread};
    return PSNAP_OK;
}

/* Threads that share a part are the highest, and all of that number share it. */
static enum psnap_status check_shared(const struct reading *r, const struct psnap_yaml_node *list,
                                      const struct shared *shared)
{
    const struct psnap_yaml_node *map = list->first;

    for (uint32_t i = 0; shared->node && i < r->profile->loop_count; i++, map = map->next) {
        const struct psnap_profile_loop *loop = &r->profile->loops[i];
        if (loop->thread != PSNAP_NONE && loop->thread >= shared->thread && loop->thread_count == 1)
            return psnap_yaml_fail(r->doc, psnap_yaml_get(map, "thread"), r->error,
                                   PSNAP_ERROR_VALUE,
                                   "thread %" PRIu32 " has a part of its own, but line %" PRIu32
                                   " says that those from %" PRIu32 " on share one",
                                   loop->thread, shared->node->src_line, shared->thread);
    }
    return PSNAP_OK;
}

enum psnap_status read_parts(const struct reading *r, const struct psnap_yaml_node *list,
                             const struct name_index *names)
{
    struct psnap_profile *profile = r->profile;
    const struct psnap_yaml_node *map = list->first;
    struct shared shared = {NULL, 0, 0};
    enum psnap_status status = PSNAP_OK;

    for (uint32_t i = 0; i < profile->loop_count && !status; i++, map = map->next) {
        status = is_part(map) ? read_part(r, map, names, &profile->loops[i], &shared)
                              : read_whole(r, map, &profile->loops[i]);
        if (!status)
            status = check_parent(r, map, names);
    }
    if (!status)
        status = check_shared(r, list, &shared);
    for (uint32_t i = 0; i < profile->loop_count && !status; i++)
        if (profile->loops[i].whole != PSNAP_NONE)
            profile->loops[i].src_id = profile->loops[profile->loops[i].whole].src_id;
    return status;
}
