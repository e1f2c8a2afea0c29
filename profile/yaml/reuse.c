/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The reuse histograms that irregular references have of data objects: times by bins, in phases;
 * when first touches come; places in a line and steps between these.
 */
#include <inttypes.h>
#include <string.h>

#include "formats/base/room.h"
#include "profile/yaml/fields.h"

static void read_times(struct psnap_reading *r, const struct psnap_yaml_node *map, uint32_t phase,
                       struct reuse *reuse)
{
    const struct psnap_yaml_node *node = psnap_read_map(r, map, "reuse times");

    psnap_read_has(
        r, psnap_resize(&reuse->bins, reuse->bin_count + map->count + 1, sizeof *reuse->bins)
               ? map
               : NULL);
    for (; node && !r->status; node = node->next) {
        struct reuse_bin_count *bin = &reuse->bins[reuse->bin_count];
        *bin = (struct reuse_bin_count){.phase = phase, .bin = REUSE_FIRST};
        if (strcmp(node->key, "first") != 0) {
            const int64_t time = read_key(r, node);
            bin->bin = reuse_bin((uint64_t)time);
            if (time < 0 || reuse_bin_low(bin->bin) != (uint64_t)time)
                psnap_read_fail(r, node, "reuse times are 0 to 16, 32, 64 and so on, or 'first'");
        }
        if (reuse->bin_count && bin[-1].phase == phase && bin[-1].bin >= bin->bin)
            psnap_read_fail(r, node, "reuse times must rise, 'first' the last");
        bin->count = read_positive(r, node);
        reuse->bin_count++;
    }
}

/* Weights of octaves of executions; there are first touches in the first phase. */
static void read_first_at(struct psnap_reading *r, const struct psnap_yaml_node *map, void *record)
{
    const struct psnap_yaml_node *node = psnap_read_map(r, map, r->field->key);
    struct reuse *reuse = record;
    bool has_firsts = false;

    for (uint32_t i = 0; i < reuse->bin_count; i++)
        has_firsts |= reuse->bins[i].bin == REUSE_FIRST && !reuse->bins[i].phase;
    if (!has_firsts)
        psnap_read_fail(r, map, "there is no 'first' in the times of the first phase");
    for (; node && !r->status; node = node->next) {
        const uint64_t from = (uint64_t)read_key(r, node);
        if ((int64_t)from < 1 || (from & (from - 1)) || reuse_when(from - 1) == REUSE_WHEN - 1)
            psnap_read_fail(r, node, "executions are counted from powers of two on: 1, 2, 4 ...");
        else
            reuse->when[reuse_when(from - 1)] = read_positive(r, node);
    }
}

/* Weights by what they begin with, which is twice as much each time or `step` more; nothing when
 * all are 0. */
static void write_weights(const struct psnap_writing *w, struct psnap_yaml_node *map,
                          const char *key, const uint64_t *weights, uint32_t count, int64_t step)
{
    struct psnap_yaml_node *weighed = NULL;

    for (uint32_t i = 0; i < count; i++) {
        if (weights[i] && !weighed)
            weighed = psnap_yaml_add_map(w->doc, map, key, PSNAP_YAML_FLOW);
        if (weights[i])
            write_bin(w, weighed, step ? i * step : INT64_C(1) << i, weights[i]);
    }
}

static void write_first_at(const struct psnap_writing *w, const void *record)
{
    const struct reuse *reuse = record;

    if (reuse_timed_firsts(reuse))
        write_weights(w, w->map, w->field->key, reuse->when, REUSE_WHEN, 0);
}

static void read_places(struct psnap_reading *r, const struct psnap_yaml_node *map, void *record)
{
    const struct psnap_yaml_node *node = psnap_read_map(r, map, r->field->key);

    for (; node; node = psnap_read_next(r, node)) {
        const int64_t place = read_key(r, node);
        if (place < 0 || place % 8 || place >= 8 * REUSE_SLOTS)
            psnap_read_fail(r, node, "places in a line are 0, 8, 16 to 56");
        else
            ((struct reuse *)record)->slots[place / 8] = psnap_read_u64(r, node, 1, UINT32_MAX);
    }
}

static void write_places(const struct psnap_writing *w, const void *record)
{
    write_weights(w, w->map, w->field->key, ((const struct reuse *)record)->slots, REUSE_SLOTS, 8);
}

static void read_steps(struct psnap_reading *r, const struct psnap_yaml_node *map, void *record)
{
    const struct psnap_yaml_node *node = psnap_read_map(r, map, r->field->key);
    struct reuse_steps *steps = &((struct reuse *)record)->steps;

    for (; node && !r->status; node = node->next) {
        int64_t bytes;
        if (!strcmp(node->key, "elsewhere")) {
            steps->elsewhere = psnap_read_u64(r, node, 1, UINT32_MAX);
            continue;
        }
        bytes = read_key(r, node);
        if (bytes <= -REUSE_LINE || bytes >= REUSE_LINE)
            psnap_read_fail(r, node, "steps within a line are -%d to %d bytes long", REUSE_LINE - 1,
                            REUSE_LINE - 1);
        else if (steps->count == REUSE_STEPS)
            psnap_read_fail(r, node, "at most %d steps, others are 'elsewhere'", REUSE_STEPS);
        else
            steps->steps[steps->count++] =
                (struct reuse_step){(int32_t)bytes, psnap_read_u64(r, node, 1, UINT32_MAX)};
    }
}

static void write_steps(const struct psnap_writing *w, const void *record)
{
    struct psnap_yaml_node *map = w->map;
    const struct reuse_steps *steps = &((const struct reuse *)record)->steps;

    if (steps->count || steps->elsewhere)
        map = psnap_write_map(w);
    for (uint32_t i = 0; i < steps->count; i++)
        write_bin(w, map, steps->steps[i].bytes, steps->steps[i].count);
    if (steps->elsewhere)
        psnap_yaml_add_u64(w->doc, map, "elsewhere", steps->elsewhere);
}

static void read_object_of(struct psnap_reading *r, const struct psnap_yaml_node *node,
                           void *record)
{
    struct reuse *reuse = record;
    const char *id = psnap_read_text(r, node);

    reuse->object = find_id(&profile_of(r)->objects, id);
    if (reuse->object == PSNAP_NONE)
        psnap_read_fail(r, node, "there is no object '%.100s'", id);
}

static void write_object_of(const struct psnap_writing *w, const void *record)
{
    const struct psnap_stream_model *model = profile_to(w)->profile->stream;

    psnap_yaml_add_text(w->doc, w->map, w->field->key,
                        model->objects[((const struct reuse *)record)->object].id);
}

/* Lists of phases are told apart from a single one by what stands there, for they are no more than
 * that. */
static void read_one_phase(struct psnap_reading *r, const struct psnap_yaml_node *map, void *record)
{
    if (!psnap_yaml_get(map->parent, "phases"))
        read_times(r, map, 0, record);
}

static void read_phases(struct psnap_reading *r, const struct psnap_yaml_node *list, void *record)
{
    const struct psnap_yaml_node *node = psnap_read_list(r, list, r->field->key);
    uint32_t phase = 0;

    if (!list->count || list->count > REUSE_PHASES)
        psnap_read_fail(r, list, "1 to %d phases are possible", REUSE_PHASES);
    for (; node && !r->status; node = node->next)
        read_times(r, node, phase++, record);
}

/* The times of all phases. */
static void write_times(const struct psnap_writing *w, const void *record)
{
    struct psnap_yaml_node *map = w->map;
    const struct reuse *reuse = record;
    const uint32_t phases = ((const struct model_ref *)w->outer)->phases;
    const bool are_many = phases > 1;
    uint32_t at = 0;

    if (are_many != (w->field->tag > 0))
        return;
    if (are_many)
        map = psnap_write_list(w);
    for (uint32_t p = 0; p < phases; p++) {
        struct psnap_yaml_node *times =
            psnap_yaml_add_map(w->doc, map, are_many ? NULL : w->field->key, PSNAP_YAML_FLOW);
        for (; at < reuse->bin_count && reuse->bins[at].phase == p; at++)
            if (reuse->bins[at].bin == REUSE_FIRST)
                psnap_yaml_add_u64(w->doc, times, "first", reuse->bins[at].count);
            else
                write_bin(w, times, (int64_t)reuse_bin_low(reuse->bins[at].bin),
                          reuse->bins[at].count);
    }
}

static const struct psnap_field reuse_fields[] = {
    {"object", FIELD_FORM(read_object_of, write_object_of), .rules = PSNAP_FIELD_NEEDED},
    {"times", FIELD_FORM(read_one_phase, write_times), .tag = false},
    {"phases", FIELD_FORM(read_phases, write_times), .tag = true},
    {"first_at", FIELD_FORM(read_first_at, write_first_at)},
    {"places", FIELD_FORM(read_places, write_places)},
    {"steps", FIELD_FORM(read_steps, write_steps)},
};

/* All objects of a reference have as many phases. */
static void check_phases(struct psnap_reading *r, const struct psnap_yaml_node *map, void *record)
{
    const struct psnap_yaml_node *phases = psnap_yaml_get(map, "phases");
    const uint32_t count = phases ? (uint32_t)phases->count : 1;
    struct model_ref *ref = r->outer;

    (void)record;
    if (!phases)
        psnap_read_require(r, map, "times");
    if (ref->phases && ref->phases != count)
        psnap_read_fail(r, phases ? phases : psnap_yaml_get(map, "times"),
                        "%" PRIu32 " phases, but another object has %" PRIu32, count, ref->phases);
    ref->phases = count;
}

const struct psnap_record reuse_record = {"reuse", PSNAP_FIELDS(reuse_fields), PSNAP_YAML_FLOW,
                                          sizeof(struct reuse), check_phases};
