/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Folded sequences: the patterns of loops, and the schedule of model psnap. A sequence is never
 * unfolded: counts come from products of repeats, so a bomb of nested repeats costs nothing before
 * it is refused. A document is 64 levels deep at most, and so is the recursion.
 */
#include "profile/yaml/fields.h"

#include <inttypes.h>

struct sequence_reading {
    struct psnap_reading *r;
    const struct names *names;
    const char *what;
    struct visit_nodes *visits;
    struct psnap_sequence *sequence;
};

static size_t count_items(const struct psnap_yaml_node *list)
{
    size_t count = 0;

    for (const struct psnap_yaml_node *node = list ? list->first : NULL; node; node = node->next)
        count += 1 + count_items(psnap_yaml_get(node, "of"));
    return count;
}

static uint32_t read_leaf(const struct sequence_reading *s, const struct psnap_yaml_node *node)
{
    const char *id = psnap_read_text(s->r, node);
    const uint32_t index = find_id(s->names, id);

    if (index == PSNAP_NONE)
        psnap_read_fail(s->r, node, "there is no %s '%.100s'", s->what, id);
    return index;
}

/* A loop whose visits differ: {loop: f, accesses: 100}. */
static void read_visit(const struct sequence_reading *s, const struct psnap_yaml_node *map,
                       struct psnap_sequence_item *item)
{
    const struct psnap_yaml_node *accesses;

    psnap_read_keys(s->r, map, s->what, "loop", "accesses");
    item->what = read_leaf(s, psnap_yaml_get(map, "loop"));
    accesses = psnap_read_require(s->r, map, "accesses");
    item->accesses = psnap_read_u64(s->r, accesses, 0, PSNAP_COUNT_MAX);
    if (s->r->status)
        return;
    s->visits[item->what].counted = accesses;
    read_sum(s->r, accesses, item->accesses, &s->visits[item->what].accesses);
}

static void read_sequence_items(const struct sequence_reading *s,
                                const struct psnap_yaml_node *list, const char *key)
{
    struct psnap_sequence *sequence = s->sequence;
    const struct psnap_yaml_node *node = psnap_read_list(s->r, list, key);

    for (; node; node = psnap_read_next(s->r, node)) {
        struct psnap_sequence_item *item = &sequence->items[sequence->count++];
        const uint32_t begin = sequence->count;
        const struct psnap_yaml_node *of;
        *item = (struct psnap_sequence_item){1, PSNAP_EVENLY, PSNAP_NONE, 0};
        if (s->visits && psnap_yaml_get(node, "loop")) {
            read_visit(s, node, item);
        } else if (node->kind == PSNAP_YAML_SCALAR) {
            item->what = read_leaf(s, node);
            if (!s->r->status && s->visits)
                s->visits[item->what].even = node;
        } else {
            psnap_read_keys(s->r, node, s->what, "repeat", "of");
            item->repeat = read_positive(s->r, psnap_read_require(s->r, node, "repeat"));
            of = psnap_read_require(s->r, node, "of");
            if (psnap_read_is(s->r, of, PSNAP_YAML_SEQUENCE, "of") && !of->count)
                psnap_read_fail(s->r, of, "there is nothing to repeat");
            read_sequence_items(s, of, "of");
            item->span = sequence->count - begin;
        }
    }
}

void read_sequence(struct psnap_reading *r, const struct psnap_yaml_node *list,
                   const struct names *names, const char *what, struct visit_nodes *visits,
                   struct psnap_sequence *sequence)
{
    const struct sequence_reading s = {r, names, what, visits, sequence};

    sequence->items = psnap_read_alloc(r, count_items(list), sizeof *sequence->items);
    read_sequence_items(&s, list, what);
}

/* The items [begin, end). */
static void write_items(const struct psnap_writing *w, struct psnap_yaml_node *list,
                        const struct psnap_sequence *sequence, uint32_t begin, uint32_t end,
                        const char *(*id_of)(const void *from, uint32_t index), const void *from)
{
    for (uint32_t i = begin; i < end; i += 1 + sequence->items[i].span) {
        const struct psnap_sequence_item *item = &sequence->items[i];
        const bool is_group = item->what == PSNAP_NONE;
        struct psnap_yaml_node *map;
        if (!is_group && item->accesses == PSNAP_EVENLY) {
            psnap_yaml_add_text(w->doc, list, NULL, id_of(from, item->what));
            continue;
        }
        map = psnap_yaml_add_map(w->doc, list, NULL, PSNAP_YAML_FLOW);
        if (is_group) {
            psnap_yaml_add_u64(w->doc, map, "repeat", item->repeat);
            map = psnap_yaml_add_sequence(w->doc, map, "of", PSNAP_YAML_FLOW);
            write_items(w, map, sequence, i + 1, i + 1 + item->span, id_of, from);
        } else {
            psnap_yaml_add_text(w->doc, map, "loop", id_of(from, item->what));
            psnap_yaml_add_u64(w->doc, map, "accesses", item->accesses);
        }
    }
}

void write_sequence(const struct psnap_writing *w, struct psnap_yaml_node *list,
                    const struct psnap_sequence *sequence,
                    const char *(*id_of)(const void *from, uint32_t index), const void *from)
{
    write_items(w, list, sequence, 0, sequence->count, id_of, from);
}

bool sequence_counts(const struct psnap_sequence *sequence, uint64_t limit, uint64_t *counts)
{
    uint64_t rounds[PSNAP_YAML_DEPTH + 1] = {1}, sum = 0;
    uint32_t ends[PSNAP_YAML_DEPTH + 1] = {sequence->count};
    unsigned depth = 0;

    for (uint32_t i = 0; i < sequence->count; i++) {
        const struct psnap_sequence_item *item = &sequence->items[i];
        while (i >= ends[depth])
            depth--;
        if (item->what != PSNAP_NONE) {
            if (rounds[depth] > limit - sum)
                return false;
            sum += rounds[depth];
            counts[item->what] += rounds[depth];
            continue;
        }
        if (item->repeat > limit / rounds[depth])
            return false;
        rounds[depth + 1] = rounds[depth] * item->repeat;
        ends[++depth] = i + 1 + item->span;
    }
    return true;
}

/* What the schedule says about a loop: it is there if it has accesses, and where its visits are
 * counted, all are and come to its accesses. */
static void check_visits(struct psnap_reading *r, const struct psnap_yaml_node *list,
                         const struct psnap_profile_loop *loop, const struct psnap_yaml_node *map,
                         const struct visit_nodes *visits)
{
    if (!visits->counted && !visits->even && loop->accesses)
        psnap_read_fail(r, list,
                        "the schedule lacks loop '%.100s' (line %" PRIu32 "), which has accesses",
                        loop->id, map->src_line);
    if (!visits->counted)
        return;
    if (visits->even)
        psnap_read_fail(r, visits->even,
                        "loop '%.100s' needs 'accesses' at all its visits or at none, and "
                        "line %" PRIu32 " has them",
                        loop->id, visits->counted->src_line);
    if (visits->accesses != loop->accesses)
        psnap_read_fail(r, visits->counted,
                        "the visits of loop '%.100s' come to %" PRIu64
                        " accesses, but the loop (line %" PRIu32 ") has %" PRIu64,
                        loop->id, visits->accesses, map->src_line, loop->accesses);
}

void read_visits(struct psnap_reading *r, const struct psnap_yaml_node *root,
                 const struct psnap_yaml_node *loops)
{
    struct psnap_profile *profile = profile_of(r)->profile;
    const struct psnap_yaml_node *list = psnap_read_require(r, root, "schedule");
    const struct psnap_yaml_node *map = loops->first;
    struct psnap_profile_totals totals;
    struct visit_nodes *visits = psnap_read_scratch(r, profile->loop_count, sizeof *visits);
    uint64_t *counts = psnap_read_scratch(r, profile->loop_count, sizeof *counts);

    read_sequence(r, list, &profile_of(r)->loops, "loop", visits, &profile->schedule);
    if (r->status)
        return;
    psnap_profile_totals(profile, &totals);
    if (!sequence_counts(&profile->schedule,
                         totals.accesses * PSNAP_VISITS_PER_ACCESS + profile->loop_count, counts))
        psnap_read_fail(r, list, "the schedule visits loops more than %u times per access",
                        PSNAP_VISITS_PER_ACCESS);
    for (uint32_t i = 0; i < profile->loop_count; i++, map = map->next)
        check_visits(r, list, &profile->loops[i], map, &visits[i]);
}
