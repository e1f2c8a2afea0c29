/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The data model's small change: stride bins, sums over a profile, and the two
 * ends of a stride path.
 *
 * A region's strides form a sequence of bins b1, b2, ..., bn, and the edges
 * count its neighbours. So every bin has as many edges out of it as strides,
 * one less if it is the last of the sequence, and as many into it, one less if
 * it is the first: the histogram and the edges together tell where the
 * sequence starts and ends, and two that contradict each other are found out.
 */
#include "profile/profile.h"
#include "profile/model.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/text.h"

struct psnap_profile *psnap_profile_new(void)
{
    struct psnap_profile *profile = calloc(1, sizeof *profile);

    if (!profile)
        return NULL;
    profile->arena = psnap_arena_new();
    if (!profile->arena) {
        free(profile);
        return NULL;
    }
    profile->model = "psnap";
    profile->provenance = (struct psnap_provenance){"", NULL, "", "", "", "", "", "", false, 0, 0};
    return profile;
}

void psnap_profile_free(struct psnap_profile *profile)
{
    if (!profile)
        return;
    model_free(profile->stream);
    psnap_arena_free(profile->arena);
    free(profile);
}

static void add_accesses(struct psnap_profile_totals *totals, unsigned kind, uint64_t count)
{
    totals->accesses += count;
    totals->loads += kind == PSNAP_LOAD ? count : 0;
    totals->stores += kind == PSNAP_STORE ? count : 0;
    totals->atomics += kind == PSNAP_ATOMIC ? count : 0;
}

/* Accesses of regions; those of a stream's model are its references', for regions may be missing.
 */
static void add_regions(struct psnap_profile_totals *totals, const struct psnap_profile_loop *loop)
{
    for (uint32_t j = 0; j < loop->region_count; j++) {
        const struct psnap_profile_region *region = &loop->regions[j];
        for (unsigned kind = 0; kind < 3; kind++)
            add_accesses(totals, kind, region->kinds[kind]);
        for (unsigned k = 0; k < region->size_count; k++)
            totals->bytes += region->sizes[k].count * region->sizes[k].size;
    }
}

void psnap_profile_totals(const struct psnap_profile *profile, struct psnap_profile_totals *totals)
{
    const struct psnap_stream_model *model = profile->stream;

    memset(totals, 0, sizeof *totals);
    for (uint32_t i = 0; i < profile->loop_count; i++) {
        const struct psnap_profile_loop *loop = &profile->loops[i];
        for (unsigned op = 0; op < PSNAP_OPERATION_COUNT; op++)
            totals->operations[op] += loop->operations[op];
        if (!model)
            add_regions(totals, loop);
    }
    for (uint32_t i = 0; model && i < model->ref_count; i++) {
        add_accesses(totals, model->refs[i].kind, model->refs[i].executions);
        totals->bytes += model->refs[i].executions * model->refs[i].size;
    }
}

void psnap_sequence_visits(const struct psnap_sequence *sequence, uint64_t *visits)
{
    uint64_t rounds[PSNAP_SEQUENCE_DEPTH + 1] = {1};
    uint32_t ends[PSNAP_SEQUENCE_DEPTH + 1] = {sequence->count};
    unsigned depth = 0;

    for (uint32_t i = 0; i < sequence->count; i++) {
        const struct psnap_sequence_item *item = &sequence->items[i];
        while (i >= ends[depth])
            depth--;
        visits[i] = rounds[depth] * item->repeat;
        if (item->what == PSNAP_NONE) {
            rounds[depth + 1] = visits[i];
            ends[++depth] = i + 1 + item->span;
        }
    }
}

unsigned psnap_stride_bin(int64_t stride_bytes)
{
    /* Negating in unsigned keeps INT64_MIN defined. */
    uint64_t length = stride_bytes < 0 ? -(uint64_t)stride_bytes : (uint64_t)stride_bytes;
    unsigned power = 0;

    if (length == 0)
        return PSNAP_STRIDE_ZERO;
    if (length > PSNAP_STRIDE_MAX)
        return PSNAP_STRIDE_RANDOM;
    while ((UINT64_C(1) << power) < length)
        power++;
    return stride_bytes < 0 ? PSNAP_STRIDE_ZERO - 1 - power : PSNAP_STRIDE_ZERO + 1 + power;
}

const char *psnap_stride_label(unsigned bin)
{
    static const char *const labels[PSNAP_STRIDE_BINS] = {
        "-256", "-128", "-64", "-32", "-16", "-8", "-4", "-2",  "-1",  "0",
        "1",    "2",    "4",   "8",   "16",  "32", "64", "128", "256", "random"};
    return labels[bin];
}

bool psnap_region_ends(const struct psnap_profile_region *region, unsigned *first, unsigned *last)
{
    uint64_t strides[PSNAP_STRIDE_BINS] = {0}, in[PSNAP_STRIDE_BINS] = {0},
             out[PSNAP_STRIDE_BINS] = {0};
    unsigned firsts = 0, lasts = 0;

    for (unsigned i = 0; i < region->stride_count; i++)
        strides[region->strides[i].bin] = region->strides[i].count;
    for (unsigned i = 0; i < region->edge_count; i++) {
        out[region->edges[i].from] += region->edges[i].count;
        in[region->edges[i].to] += region->edges[i].count;
    }
    for (unsigned bin = 0; bin < PSNAP_STRIDE_BINS; bin++) {
        if (in[bin] + 1 == strides[bin]) {
            *first = bin;
            firsts++;
        } else if (in[bin] != strides[bin]) {
            return false;
        }
        if (out[bin] + 1 == strides[bin]) {
            *last = bin;
            lasts++;
        } else if (out[bin] != strides[bin]) {
            return false;
        }
    }
    return firsts == 1 && lasts == 1;
}

/* Tells whether another of the first `count` regions has this id. */
static bool is_taken(const struct psnap_profile_region *regions, uint32_t count, const char *id)
{
    for (uint32_t i = 0; i < count; i++)
        if (!strcmp(regions[i].id, id))
            return true;
    return false;
}

/* The lowest number that the region at `index` may have behind the name of its object: those before
 * it in that have the name and the first numbers. */
static uint32_t first_number(const struct psnap_profile_region *regions, uint32_t index)
{
    const struct psnap_profile_region *region = &regions[index];
    uint32_t alike = 0;

    for (uint32_t i = 0; region->object && i < index; i++)
        alike += regions[i].object_kind == region->object_kind && regions[i].object &&
                 !strcmp(regions[i].object, region->object);
    return alike > 1 ? alike + 1 : 2;
}

const char *profile_region_id(struct psnap_arena *arena, const struct psnap_profile_region *regions,
                              uint32_t index)
{
    const struct psnap_profile_region *region = &regions[index];
    const char *name = NULL;
    char text[160], number[16];

    if (region->object && region->object_kind == PSNAP_OBJECT_GLOBAL) {
        name = region->object;
    } else if (region->object && region->object_kind == PSNAP_OBJECT_STACK) {
        const char *dot = strrchr(region->object, '.');
        name = dot && dot[1] ? dot + 1 : NULL; /* a function's frame is no name for a region */
    }
    if (!name || !*name || strlen(name) > 128) {
        snprintf(number, sizeof number, "r%" PRIu32, index + 1);
        name = number;
    }
    snprintf(text, sizeof text, "%s", name);
    for (uint32_t again = name == number ? 2 : first_number(regions, index);
         is_taken(regions, index, text); again++)
        snprintf(text, sizeof text, "%s.%" PRIu32, name, again);
    return psnap_arena_strndup(arena, text, strlen(text));
}

const char *psnap_profile_nearest_loop(const struct psnap_profile *profile, const char *id)
{
    const char **names = calloc(profile->loop_count + (size_t)1, sizeof *names);
    const char *nearest = NULL;

    for (uint32_t i = 0; names && i < profile->loop_count; i++)
        names[i] = profile->loops[i].id;
    if (names)
        nearest = psnap_text_nearest(id, names, profile->loop_count);
    free(names);
    return nearest;
}

struct psnap_source *psnap_profile_stream_new(const struct psnap_profile *profile,
                                              const uint32_t *first_ref,
                                              struct psnap_program *program, uint64_t seed)
{
    return model_source_new(profile->stream, first_ref, program, seed);
}

void psnap_profile_refs(const struct psnap_profile *profile, uint32_t *refs)
{
    memset(refs, 0, profile->loop_count * sizeof *refs);
    for (uint32_t i = 0; i < profile->stream->ref_count; i++) {
        const struct model_ref *ref = &profile->stream->refs[i];
        if (ref->number >= refs[ref->loop])
            refs[ref->loop] = ref->number + 1;
    }
}

bool psnap_profile_name_marks(const struct psnap_profile *profile, const uint32_t *first_ref,
                              struct psnap_program *program)
{
    for (uint32_t i = 0; i < profile->stream->ref_count; i++) {
        const struct model_ref *ref = &profile->stream->refs[i];
        struct psnap_ref *named = &program->refs[first_ref[ref->loop] + ref->number];
        if (!ref->mark[0])
            continue;
        named->object = psnap_program_string(program, ref->mark);
        named->object_kind = PSNAP_MARK_KIND;
        if (!named->object)
            return false;
    }
    return true;
}
