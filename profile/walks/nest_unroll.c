/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Short loops at once. All of a loop's values change by constants (nests.h): so when no count in
 * its body does, each iteration makes the same accesses, each at an address that is as far as ever
 * from that of the iteration before. One iteration is written out, leaf by leaf, with how far that
 * is; the others are it, with vectors of distances added. Of short iterations several are written
 * out, one after the other, and go on by as many at a time.
 *
 * A loop whose counts change is written out as a whole, when that is small; else its iterations
 * are left to a cursor, which comes to the loops in it.
 */
#include "profile/walks/nest_unroll.h"

#include <stdlib.h>

enum {
    KIND_LEAVES = 1, /* all leaves in it are affine, and there is room for its values */
    KIND_STEADY = 2, /* no count in its body changes from one iteration to the next */
    AT_LEAST = 128   /* accesses of a round, when there are as many */
};

/* Words of the values of the loop's iterations, and of those in it. */
static uint64_t room_for(const struct nest_pattern *pattern)
{
    uint64_t most = 0;

    for (uint32_t i = 0; i < pattern->body_count; i++) {
        const uint64_t room = room_for(pattern->body[i]);
        most = room > most ? room : most;
    }
    return pattern->body_count ? pattern->values - 1 + most : 0;
}

struct judge {
    uint8_t *kinds;
    bool (*is_affine)(const void *context, const struct nest_shape *shape);
    const void *context;
};

/* Sets the kinds of the loops in a pattern; whether all its leaves are affine. */
static bool judge(const struct judge *j, const struct nest_pattern *pattern)
{
    bool is_affine = true;

    if (!pattern->body_count)
        return pattern->shape->width && j->is_affine(j->context, pattern->shape);
    for (uint32_t i = 0; i < pattern->body_count; i++)
        is_affine &= judge(j, pattern->body[i]);
    if (is_affine && room_for(pattern) <= NEST_UNROLL_VALUES)
        j->kinds[pattern->number] =
            (uint8_t)(KIND_LEAVES | (nest_is_body_steady(pattern) ? KIND_STEADY : 0));
    return is_affine;
}

bool nest_unroll_init(struct nest_unroll *unroll, const struct psnap_nests *nests,
                      bool (*is_affine)(const void *context, const struct nest_shape *shape),
                      const void *context)
{
    const struct judge j = {.kinds = calloc(nest_pattern_count(nests->patterns) + (size_t)1, 1),
                            .is_affine = is_affine,
                            .context = context};

    unroll->kinds = j.kinds;
    unroll->now = calloc(2 * (size_t)NEST_UNROLL_MAX, sizeof *unroll->now);
    unroll->steps = calloc(2 * (size_t)NEST_UNROLL_MAX, sizeof *unroll->steps);
    unroll->values = calloc(NEST_UNROLL_VALUES, sizeof *unroll->values);
    if (!unroll->kinds || !unroll->now || !unroll->steps || !unroll->values)
        return false;
    for (size_t i = 0; i < nests->count; i++)
        judge(&j, nests->terms[i].pattern);
    return true;
}

void nest_unroll_release(struct nest_unroll *unroll)
{
    free(unroll->kinds);
    free(unroll->now);
    free(unroll->steps);
    free(unroll->values);
    *unroll = (struct nest_unroll){0};
}

/* ---- how many accesses ---- */

struct measure {
    const uint8_t *kinds;
    bool by_runs;
};

static uint64_t measure(const struct measure *m, const struct nest_pattern *pattern,
                        const uint64_t *values, uint64_t *room);

/* Accesses of an iteration with these values; more than NEST_UNROLL_MAX: too many. */
static uint64_t measure_body(const struct measure *m, const struct nest_pattern *loop,
                             const uint64_t *values, uint64_t *room)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < loop->body_count && sum <= NEST_UNROLL_MAX; i++) {
        sum += measure(m, loop->body[i], values, room);
        values += loop->body[i]->values;
    }
    return sum;
}

/* Of a term. */
static uint64_t measure(const struct measure *m, const struct nest_pattern *pattern,
                        const uint64_t *values, uint64_t *room)
{
    const uint64_t count = values[0], n = pattern->values - 1;
    uint64_t sum = 0;

    if ((int64_t)count <= 0)
        return 0;
    if (count > NEST_UNROLL_MAX)
        return NEST_UNROLL_MAX + 1;
    if (!pattern->body_count) {
        const uint64_t all = count * pattern->shape->width;
        return m->by_runs && count > 1 && all >= NEST_UNROLL_RUN ? NEST_UNROLL_MAX + 1 : all;
    }
    if (m->kinds[pattern->number] & KIND_STEADY) {
        sum = measure_body(m, pattern, values + 1, room);
        return sum > NEST_UNROLL_MAX ? sum : count * sum;
    }
    memcpy(room, values + 1, n * sizeof *room);
    for (uint64_t i = 0; i < count && sum <= NEST_UNROLL_MAX; i++) {
        sum += measure_body(m, pattern, room, room + n);
        for (uint64_t k = 0; k < n; k++)
            room[k] += pattern->steps[k];
    }
    return sum;
}

/* ---- writing out ---- */

struct writing {
    uint64_t *now, *steps; /* the next access */
    uint32_t *last;
};

static void write_term(struct writing *w, const struct nest_pattern *pattern,
                       const uint64_t *values, const uint64_t *steps, uint64_t *room);

static void write_leaf(struct writing *w, const struct nest_pattern *leaf, const uint64_t *values,
                       const uint64_t *steps)
{
    const struct nest_shape *shape = leaf->shape;
    const size_t width = shape->width;
    const uint64_t count = values[0];

    for (size_t k = 0; k < width; k++) {
        const struct nest_ref *ref = &shape->refs[k];
        const struct psnap_access access = {.address = values[1 + k],
                                            .ref = ref->ref,
                                            .size = ref->size,
                                            .kind = ref->kind,
                                            .thread = ref->thread};
        const uint64_t stride = leaf->steps[k], step = steps[1 + k];
        uint64_t words[2];
        memcpy(words, &access, sizeof words);
        for (uint64_t i = 0; i < count; i++, words[0] += stride) {
            const size_t at = 2 * (i * width + k);
            w->now[at] = words[0];
            w->now[at + 1] = words[1];
            w->steps[at] = step;
            w->steps[at + 1] = 0;
        }
    }
    w->now += 2 * count * width;
    w->steps += 2 * count * width;
    *w->last = shape->loop;
}

static void write_body(struct writing *w, const struct nest_pattern *loop, const uint64_t *values,
                       const uint64_t *steps, uint64_t *room)
{
    for (uint32_t i = 0; i < loop->body_count; i++) {
        write_term(w, loop->body[i], values, steps, room);
        values += loop->body[i]->values;
        steps += loop->body[i]->values;
    }
}

/* A term, of which the values change by these steps from one round to the next. */
static void write_term(struct writing *w, const struct nest_pattern *pattern,
                       const uint64_t *values, const uint64_t *steps, uint64_t *room)
{
    const uint64_t n = pattern->values - 1;

    if ((int64_t)values[0] <= 0)
        return;
    if (!pattern->body_count) {
        write_leaf(w, pattern, values, steps);
        return;
    }
    memcpy(room, values + 1, n * sizeof *room);
    for (uint64_t i = 0; i < values[0]; i++) {
        write_body(w, pattern, room, steps + 1, room + n);
        for (uint64_t k = 0; k < n; k++)
            room[k] += pattern->steps[k];
    }
}

/* Several iterations in the place of one, of `length` accesses. */
static void multiply(struct nest_unroll *unroll, uint64_t length, uint64_t times)
{
    const uint64_t words = 2 * length;

    for (uint64_t i = words; i < times * words; i++) {
        unroll->now[i] = unroll->now[i - words] + unroll->steps[i - words];
        unroll->steps[i] = unroll->steps[i - words];
    }
    for (uint64_t i = 0; i < times * words; i++)
        unroll->steps[i] *= times;
}

bool nest_unroll_begin(struct nest_unroll *unroll, const struct nest_leaf *loop, bool by_runs,
                       uint32_t *last)
{
    const struct nest_pattern *pattern = loop->pattern;
    const struct measure m = {unroll->kinds, by_runs};
    const unsigned kind = unroll->kinds[pattern->number];
    struct writing w = {unroll->now, unroll->steps, last};
    uint64_t length, times = 1;

    if (!(kind & KIND_LEAVES))
        return false;
    length = kind & KIND_STEADY ? measure_body(&m, pattern, loop->values + 1, unroll->values)
                                : measure(&m, pattern, loop->values, unroll->values);
    if (length > NEST_UNROLL_MAX ||
        __builtin_mul_overflow(length, kind & KIND_STEADY ? loop->values[0] : 1, &unroll->left))
        return false;
    unroll->at = 0;
    unroll->length = (uint32_t)length;
    if (!length)
        return true;
    if (kind & KIND_STEADY) {
        write_body(&w, pattern, loop->values + 1, pattern->steps, unroll->values);
        times = (AT_LEAST + length - 1) / length;
        times = times * 4 < loop->values[0] ? times : (loop->values[0] + 3) / 4;
    } else {
        /* Steps are of no use: there is one round. */
        write_term(&w, pattern, loop->values, loop->values, unroll->values);
    }
    if (times > 1)
        multiply(unroll, length, times);
    unroll->length = (uint32_t)(length * times);
    return true;
}

size_t nest_unroll_write(struct nest_unroll *unroll, struct psnap_access *block, size_t capacity)
{
    size_t done = 0;

    while (done < capacity && unroll->left) {
        const size_t rest = unroll->length - unroll->at, room = capacity - done;
        size_t n = rest < room ? rest : room;
        uint64_t *now = unroll->now + 2 * (size_t)unroll->at;
        const uint64_t *steps = unroll->steps + 2 * (size_t)unroll->at;
        n = n < unroll->left ? n : (size_t)unroll->left;
        memcpy(block + done, now, n * sizeof *block);
        for (size_t i = 0; i < 2 * n; i++)
            now[i] += steps[i];
        done += n;
        unroll->left -= n;
        unroll->at = n == rest ? 0 : unroll->at + (uint32_t)n;
    }
    return done;
}
