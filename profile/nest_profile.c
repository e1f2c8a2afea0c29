/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Nests of a stream to those of its profile, and how much there is in them.
 */
#include <stdlib.h>
#include <string.h>

#include "profile/nest_profile.h"

struct counting {
    struct nest_count *counts; /* by loop, */
    uint64_t steps;            /* that may still be gone through */
    bool is_out_of_memory;
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

/* Whether every iteration of a loop comes to the same: no count in it changes. */
static bool is_even(const struct nest_pattern *pattern, const uint64_t *steps)
{
    if (steps[0])
        return false;
    for (uint32_t i = 0, at = 1; i < pattern->body_count; at += pattern->body[i++]->values)
        if (!is_even(pattern->body[i], steps + at))
            return false;
    return true;
}

static bool is_body_even(const struct nest_pattern *loop)
{
    for (uint32_t i = 0, at = 0; i < loop->body_count; at += loop->body[i++]->values)
        if (!is_even(loop->body[i], loop->steps + at))
            return false;
    return true;
}

static void stretch(struct nest_count *to, uint64_t low, uint64_t high)
{
    to->low = !to->high || low < to->low ? low : to->low;
    to->high = high > to->high ? high : to->high;
}

/* Adds a walk `times` times; its addresses also when that is 0. */
static bool count_walk(struct nest_count *to, const struct nest_pattern *leaf,
                       const uint64_t *values, uint64_t times)
{
    __extension__ typedef __int128 wide;
    const struct nest_shape *shape = leaf->shape;
    uint64_t all;

    if (__builtin_mul_overflow(times, values[0], &all) ||
        !add_product(&to->accesses, all, shape->width))
        return false;
    for (uint32_t k = 0; k < shape->width; k++) {
        const struct psnap_access *ref = &shape->refs[k];
        const wide first = values[1 + k];
        const wide last = first + (wide)(int64_t)leaf->steps[k] * (wide)(values[0] - 1);
        const wide low = first < last ? first : last, high = first + last - low + ref->size;
        if (!add_product(&to->kinds[ref->kind], all, 1) || !add_product(&to->bytes, all, ref->size))
            return false;
        stretch(to, low < 0 ? 0 : (uint64_t)low, high > UINT64_MAX ? UINT64_MAX : (uint64_t)high);
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
    if (!pattern->body_count) {
        struct nest_count *to = &c->counts[pattern->shape->loop];
        if (!pattern->shape->width)
            return add_product(&to->visits, times, count);
        return count_walk(to, pattern, values, times);
    }
    const bool is_even = is_body_even(pattern);
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

enum psnap_status nests_count(const struct psnap_nests *nests, struct nest_count *counts)
{
    struct counting c = {.counts = counts, .steps = NEST_STEPS_MAX};

    for (size_t i = 0; i < nests->count; i++)
        if (!count_term(&c, nests->terms[i].pattern, nests_values(nests, i), 1))
            return c.is_out_of_memory ? PSNAP_ERROR_MEMORY : PSNAP_ERROR_VALUE;
    return PSNAP_OK;
}

/* ---- from program to profile ---- */

struct taking {
    const uint32_t *kept; /* by loop of the program */
    uint32_t *numbers;    /* by ref of the program: of its loop's */
};

static void take_shape(void *context, struct nest_shape *shape)
{
    const struct taking *t = context;

    shape->loop = t->kept[shape->loop];
    for (uint32_t k = 0; k < shape->width; k++)
        shape->refs[k].ref = t->numbers[shape->refs[k].ref];
}

/* Whether the profile's nests can be counted, and have no more references than is read. */
static enum psnap_status can_be_read(const struct psnap_profile *profile, bool *is_readable)
{
    uint64_t *visits = calloc(profile->loop_count + (size_t)1, sizeof *visits), all = 0;
    uint32_t *refs = calloc(profile->loop_count + (size_t)1, sizeof *refs);
    enum psnap_status status =
        visits && refs ? psnap_profile_walks(profile, visits, refs) : PSNAP_ERROR_MEMORY;

    *is_readable = status == PSNAP_OK;
    for (uint32_t i = 0; *is_readable && i < profile->loop_count; i++) {
        all += refs[i];
        *is_readable = refs[i] <= NEST_REF_MAX + 1 && all <= NEST_REFS_MAX;
    }
    free(visits);
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
