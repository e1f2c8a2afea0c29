/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Nests of a stream to those of its profile, and how much there is in them.
 */
#include <stdlib.h>
#include <string.h>

#include "profile/gathers/gather_yaml.h"
#include "profile/walks/nest_profile.h"

struct counting {
    struct nest_count *counts; /* by loop, */
    const struct nest_models *models;
    uint64_t *drawn;                  /* by the models' counts: how often they are drawn */
    const struct nest_shape **shapes; /* that draw from them */
    uint64_t *visits;                 /* by mix */
    uint64_t steps;                   /* that may still be gone through */
    bool is_out_of_memory;
    bool is_odd; /* some counts are drawn by others, or not as often, as they say: */
    struct nest_odd odd;
};

static bool add_product(uint64_t *sum, uint64_t a, uint64_t b)
{
    uint64_t product;

    if (__builtin_mul_overflow(a, b, &product) || product > PSNAP_COUNT_MAX ||
        *sum > PSNAP_COUNT_MAX - product)
        return false;
    *sum += product;
    return true;
}

static void stretch(struct nest_count *to, uint64_t low, uint64_t high)
{
    to->low = !to->high || low < to->low ? low : to->low;
    to->high = high > to->high ? high : to->high;
}

/* Adds `all` accesses of each reference of a shape. */
static bool count_refs(struct counting *c, const struct nest_shape *shape, uint64_t all)
{
    struct nest_count *to = &c->counts[shape->loop];

    if (!add_product(&to->accesses, all, shape->width))
        return false;
    for (uint32_t k = 0; k < shape->width; k++) {
        const struct nest_ref *ref = &shape->refs[k];
        if (!add_product(&to->kinds[ref->kind], all, 1) || !add_product(&to->bytes, all, ref->size))
            return false;
    }
    return true;
}

/* Adds a walk `times` times; its addresses also when that is 0. */
static bool count_walk(struct counting *c, const struct nest_pattern *leaf, const uint64_t *values,
                       uint64_t times)
{
    __extension__ typedef __int128 wide;
    const struct nest_shape *shape = leaf->shape;
    struct nest_count *to = &c->counts[shape->loop];
    uint64_t all;

    if (shape->counts)
        return add_product(&c->drawn[shape->counts - 1], times, 1);
    if (__builtin_mul_overflow(times, values[0], &all) || !count_refs(c, shape, all))
        return false;
    for (uint32_t k = 0; k < shape->width; k++) {
        const wide first = values[1 + k];
        const wide last = first + (wide)(int64_t)leaf->steps[k] * (wide)(values[0] - 1);
        const wide low = first < last ? first : last;
        const wide high = first + last - low + shape->refs[k].size;
        if (shape->refs[k].mode == NEST_AFFINE)
            stretch(to, low < 0 ? 0 : (uint64_t)low,
                    high > UINT64_MAX ? UINT64_MAX : (uint64_t)high);
    }
    return true;
}

static bool count_term(struct counting *c, const struct nest_pattern *pattern,
                       const uint64_t *values, uint64_t times);

static bool count_body(struct counting *c, const struct nest_pattern *loop, const uint64_t *values,
                       uint64_t times)
{
    bool is_done = true;

    for (uint32_t i = 0, at = 0; i < loop->body_count && is_done; at += loop->body[i++]->values)
        is_done = count_term(c, loop->body[i], values + at, times);
    return is_done;
}

/* Counts a term `times` times. Of iterations that come to the same the first stands for all, but
 * addresses are also those of the last: in between there is nothing further out. */
static bool count_term(struct counting *c, const struct nest_pattern *pattern,
                       const uint64_t *values, uint64_t times)
{
    const size_t n = pattern->values - 1;
    uint64_t count = values[0], *iteration;
    bool is_done = true;

    if (c->steps-- == 0)
        return false;
    if ((int64_t)count <= 0)
        return true;
    if (!pattern->body_count && !pattern->shape->width)
        return add_product(&c->visits[pattern->shape->loop], times, count);
    if (!pattern->body_count)
        return count_walk(c, pattern, values, times);
    const bool is_even = nest_is_body_steady(pattern);
    iteration = malloc((n + 1) * sizeof *iteration);
    c->is_out_of_memory = !iteration;
    if (!iteration)
        return false;
    memcpy(iteration, values + 1, n * sizeof *iteration);
    if (is_even) {
        uint64_t all;
        is_done =
            !__builtin_mul_overflow(times, count, &all) && count_body(c, pattern, iteration, all);
        for (size_t k = 0; k < n; k++)
            iteration[k] += (count - 1) * pattern->steps[k];
        is_done = is_done && (count == 1 || count_body(c, pattern, iteration, 0));
    }
    for (; !is_even && count && is_done; count--) {
        is_done = count_body(c, pattern, iteration, times);
        for (size_t k = 0; k < n; k++)
            iteration[k] += pattern->steps[k];
    }
    free(iteration);
    return is_done;
}

/* Whether the counts of a shape are of none that has other references. */
static bool is_of_counts(struct counting *c, const struct nest_shape *shape)
{
    const struct nest_shape **of = &c->shapes[shape->counts - 1];
    bool is_same = true;

    if (!*of)
        *of = shape;
    is_same = (*of)->loop == shape->loop && (*of)->width == shape->width;
    for (uint32_t k = 0; is_same && k < shape->width; k++)
        is_same = (*of)->refs[k].ref == shape->refs[k].ref &&
                  (*of)->refs[k].size == shape->refs[k].size &&
                  (*of)->refs[k].kind == shape->refs[k].kind;
    return is_same;
}

static void note_odd(struct counting *c, const struct nest_shape *shape, uint64_t times)
{
    if (!c->is_odd)
        c->odd = (struct nest_odd){shape->counts - 1, shape->loop, times};
    c->is_odd = true;
}

/* Leaves whose counts are drawn. */
static bool count_drawn(struct counting *c, const struct nest_pattern *pattern)
{
    const struct nest_shape *shape = pattern->shape;
    bool is_done = true;

    for (uint32_t i = 0; i < pattern->body_count && is_done; i++)
        is_done = count_drawn(c, pattern->body[i]);
    if (pattern->body_count || !shape->counts)
        return is_done;
    if (!is_of_counts(c, shape))
        note_odd(c, shape, 0);
    if (!c->drawn[shape->counts - 1])
        return is_done;
    const struct psnap_counts *counts = &c->models->counts[shape->counts - 1];
    const uint64_t times = c->drawn[shape->counts - 1];
    uint64_t all;
    c->drawn[shape->counts - 1] = 0;
    if (!counts->times || times % counts->times)
        note_odd(c, shape, times);
    return !counts->times || (!__builtin_mul_overflow(times / counts->times, counts->sum, &all) &&
                              count_refs(c, shape, all));
}

enum psnap_status nests_count(const struct psnap_nests *nests, struct nest_count *counts,
                              uint64_t *visits, struct nest_odd *odd)
{
    const struct nest_models *models = nests->models;
    struct counting c = {
        .counts = counts, .models = models, .visits = visits, .steps = NEST_STEPS_MAX};
    bool is_done = true;

    c.drawn = calloc((models ? models->count_count : 0) + (size_t)1, sizeof *c.drawn);
    c.shapes = calloc((models ? models->count_count : 0) + (size_t)1, sizeof(struct nest_shape *));
    c.is_out_of_memory = !c.drawn || !c.shapes;
    for (size_t i = 0; !c.is_out_of_memory && is_done && i < nests->count; i++)
        is_done = count_term(&c, nests->terms[i].pattern, nests_values(nests, i), 1);
    for (size_t i = 0; !c.is_out_of_memory && is_done && i < nests->count; i++)
        is_done = count_drawn(&c, nests->terms[i].pattern);
    for (uint32_t i = 0; models && !c.is_out_of_memory && is_done && i < models->mix_count; i++) {
        const struct nest_mix *mix = &models->mixes[i];
        for (uint32_t k = 0; mix->chain && is_done && k < mix->chain->state_count; k++)
            is_done = count_refs(&c, mix->states[k], mix->chain->states[k].counts.sum);
    }
    free(c.drawn);
    free(c.shapes);
    if (c.is_out_of_memory)
        return PSNAP_ERROR_MEMORY;
    if (c.is_odd && odd)
        *odd = c.odd;
    return !is_done ? PSNAP_ERROR_VALUE : c.is_odd ? PSNAP_ERROR_UNSUPPORTED : PSNAP_OK;
}

uint64_t nest_count_beyond(const struct nest_count *count, const struct psnap_profile_loop *loop)
{
    uint64_t low = UINT64_MAX, high = 0;

    for (uint32_t i = 0; i < loop->region_count; i++) {
        const struct psnap_profile_region *region = &loop->regions[i];
        uint64_t end = region->low + region->bytes;
        if (end < region->low) /* it goes to where addresses end */
            end = UINT64_MAX;
        low = region->low < low ? region->low : low;
        high = end > high ? end : high;
    }
    if (!count->high) /* nothing is affine */
        return 0;
    return count->low < low ? low - count->low : count->high > high ? count->high - high : 0;
}

/* ---- from program to profile ---- */

struct taking {
    const uint32_t *kept; /* by loop of the program */
    uint32_t *numbers;    /* by ref of the program: of its loop's */
};

static void take_shape(void *context, struct nest_shape *shape)
{
    const struct taking *t = context;

    if (shape->width)
        shape->loop = t->kept[shape->loop];
    for (uint32_t k = 0; k < shape->width; k++)
        shape->refs[k].ref = t->numbers[shape->refs[k].ref];
}

static void own_shape(struct nest_models *models, const struct nest_shape *shape)
{
    for (uint32_t k = 0; k < shape->width; k++)
        if (shape->refs[k].mode == NEST_CONTINUING)
            models->walks[shape->refs[k].draw].loop = shape->loop;
        else if (shape->refs[k].mode != NEST_AFFINE)
            models->draws[shape->refs[k].draw].loop = shape->loop;
}

static void own_pattern(struct nest_models *models, const struct nest_pattern *pattern)
{
    for (uint32_t i = 0; i < pattern->body_count; i++)
        own_pattern(models, pattern->body[i]);
    if (!pattern->body_count)
        own_shape(models, pattern->shape);
}

/* Draws and walks learn whose loop's references they are; those of none stay of PSNAP_NONE. */
static void own_models(const struct psnap_nests *nests)
{
    struct nest_models *models = nests->models;

    if (!models) /* of no accesses at all */
        return;
    for (uint32_t i = 0; i < models->draw_count; i++)
        models->draws[i].loop = PSNAP_NONE;
    for (uint32_t i = 0; i < models->walk_count; i++)
        models->walks[i].loop = PSNAP_NONE;
    for (size_t i = 0; i < nests->count; i++)
        own_pattern(models, nests->terms[i].pattern);
    for (uint32_t i = 0; i < models->mix_count; i++)
        for (uint32_t k = 0; models->mixes[i].chain && k < models->mixes[i].chain->state_count; k++)
            own_shape(models, models->mixes[i].states[k]);
}

/* Whether addresses are drawn by numbers that are read (areas may be as far apart as memory is),
 * and go with references that are there: one that was told affinely may be drawn by now. */
static bool are_draws_readable(const struct psnap_nests *nests)
{
    const struct nest_models *models = nests->models;
    uint64_t address;

    for (uint32_t i = 0; models && i < models->draw_count; i++) {
        const struct nest_draw *draw = &models->draws[i];
        for (uint32_t k = 0; draw->loop != PSNAP_NONE && k < NEST_MARKS && draw->leads[k]; k++)
            if (!nests_first_of(nests, draw->loop, draw->leads[k] - 1, &address))
                return false;
        if (draw->loop != PSNAP_NONE &&
            (!gather_is_readable(&draw->rest.gather) || !gather_is_readable(&draw->entry.gather)))
            return false;
    }
    return true;
}

/* Draws that have addresses of references or of other draws are of the loops of these. */
static void own_leads(struct nest_models *models, const struct psnap_program *program,
                      const struct taking *t)
{
    for (uint32_t i = 0; models && i < models->draw_count; i++) {
        struct nest_draw *draw = &models->draws[i];
        if (draw->start)
            draw->loop = models->draws[draw->start - 1].loop;
        if (draw->leads[0])
            draw->loop = t->kept[program->refs[draw->leads[0] - 1].loop];
        for (uint32_t k = 0; k < NEST_MARKS && draw->leads[k]; k++)
            draw->leads[k] = 1 + t->numbers[draw->leads[k] - 1];
    }
}

/* Whether the profile's nests can be counted, have no more references than is read, stay within the
 * loops' regions (not around the end of the address space), and have models of numbers that are
 * read. */
static enum psnap_status can_be_read(const struct psnap_profile *profile, bool *is_readable)
{
    const size_t mixes = profile->nests->models ? profile->nests->models->mix_count : 0;
    struct nest_count *counts = calloc(profile->loop_count + (size_t)1, sizeof *counts);
    uint64_t *visits = calloc(mixes + 1, sizeof *visits);
    bool *is_drawn = calloc(profile->loop_count + (size_t)1, sizeof *is_drawn);
    uint32_t *refs = calloc(profile->loop_count + (size_t)1, sizeof *refs);
    uint64_t all = 0;
    enum psnap_status status = counts && visits && is_drawn && refs
                                   ? nests_count(profile->nests, counts, visits, NULL)
                                   : PSNAP_ERROR_MEMORY;

    *is_readable = status == PSNAP_OK && are_draws_readable(profile->nests);
    if (*is_readable)
        psnap_profile_walks(profile, refs, is_drawn);
    for (uint32_t i = 0; *is_readable && i < profile->loop_count; i++) {
        all += refs[i];
        *is_readable = refs[i] <= NEST_REF_MAX + 1 && all <= NEST_REFS_MAX &&
                       counts[i].accesses == profile->loops[i].accesses &&
                       !nest_count_beyond(&counts[i], &profile->loops[i]);
    }
    for (size_t i = 0; *is_readable && i < mixes; i++)
        *is_readable = (visits[i] != 0) == (profile->nests->models->mixes[i].chain != NULL);
    free(counts);
    free(visits);
    free(is_drawn);
    free(refs);
    return status == PSNAP_ERROR_MEMORY ? status : PSNAP_OK;
}

enum psnap_status nests_take(struct psnap_profile *profile, const struct psnap_nests *nests,
                             const struct psnap_program *program, const uint32_t *kept)
{
    struct taking t = {kept, calloc(program->ref_count + (size_t)1, sizeof *t.numbers)};
    uint32_t *counts = calloc(program->loop_count + (size_t)1, sizeof *counts);
    enum psnap_status status;
    bool is_readable;

    for (uint32_t i = 0; t.numbers && counts && i < program->ref_count; i++)
        t.numbers[i] = counts[program->refs[i].loop]++;
    if (t.numbers && counts)
        profile->nests = nests_copy(nests, take_shape, &t);
    free(counts);
    if (profile->nests) {
        own_models(profile->nests);
        own_leads(profile->nests->models, program, &t);
    }
    free(t.numbers);
    if (!profile->nests)
        return PSNAP_ERROR_MEMORY;
    status = can_be_read(profile, &is_readable);
    if (!is_readable) {
        nests_free(profile->nests);
        profile->nests = NULL;
    }
    return status;
}

static bool first_in(const struct psnap_nests *nests, const struct nest_pattern *pattern,
                     const uint64_t *values, const struct nest_ref *wanted, uint64_t *address)
{
    const struct nest_shape *shape = pattern->shape;

    for (uint32_t i = 0, at = 1; i < pattern->body_count; at += pattern->body[i++]->values)
        if (first_in(nests, pattern->body[i], values + at, wanted, address))
            return true;
    for (uint32_t k = 0; !pattern->body_count && shape->loop == wanted->draw && k < shape->width;
         k++) {
        const struct nest_ref *ref = &shape->refs[k];
        if (ref->ref != wanted->ref || ref->mode > NEST_CONTINUING)
            continue;
        *address = values[1 + k];
        if (ref->mode == NEST_CONTINUING)
            *address += nests->models->walks[ref->draw].address;
        return true;
    }
    return false;
}

bool nests_first_of(const struct psnap_nests *nests, uint32_t loop, uint32_t ref, uint64_t *address)
{
    const struct nest_ref wanted = {.ref = ref, .draw = loop};

    for (size_t i = 0; i < nests->count; i++)
        if (first_in(nests, nests->terms[i].pattern, nests_values(nests, i), &wanted, address))
            return true;
    return false;
}

uint32_t nest_region(const struct psnap_profile_loop *loop, uint64_t address)
{
    uint32_t best = 0;

    for (uint32_t i = 1; i < loop->region_count; i++) {
        const uint64_t low = loop->regions[i].low, best_low = loop->regions[best].low;
        if (low <= address ? best_low > address || low > best_low
                           : best_low > address && low < best_low)
            best = i;
    }
    return best;
}
