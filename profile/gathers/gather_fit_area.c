/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What an area is like, however the places are chosen to which its accesses jump: its element, the
 * small steps and which of them follows which (a Markov chain of one kind of stride after another),
 * at which multiples of bytes jumps arrive, how the accesses spread over equal parts of the span,
 * and how far a line's accesses go to one element of it.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/divisor.h"
#include "profile/gathers/gather_fit.h"

#define GRID_MOST 0.95 /* share of the jumps; what was missed of steps are jumps as well */

/* ---- bursts ---- */

size_t gather_burst_length(const struct gather_collector *c, size_t burst)
{
    return burst + 1 == c->burst_count ? c->burst_fill : BURST;
}

int64_t gather_stride(const struct gather_collector *c, size_t burst, size_t j)
{
    return (int64_t)(c->bursts[burst][j] - c->bursts[burst][j - 1]);
}

uint32_t gather_kind(const struct gather_area *m, int64_t stride)
{
    for (uint32_t k = 0; k < m->step_count; k++)
        if (m->steps[k] == stride)
            return k + 1;
    return 0;
}

int gather_ascending(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

/* ---- the element, and steps ---- */

/* The greatest number of bytes, up to 64, that divides all distances. */
static uint32_t element_of(const struct gather_collector *c)
{
    uint64_t divisor = 0;

    for (size_t i = 0; i < c->burst_count; i++)
        for (size_t j = 0; j < gather_burst_length(c, i); j++)
            divisor = psnap_common_divisor(divisor, c->bursts[i][j] - c->low);
    if (!divisor)
        return 8;
    while (divisor > 64 && divisor % 2 == 0)
        divisor /= 2;
    return divisor > 64 ? 1 : (uint32_t)divisor;
}

struct stride {
    int64_t bytes;
    uint64_t count;
};

static int more_often(const void *a, const void *b)
{
    const struct stride *x = a, *y = b;

    return x->count != y->count ? (x->count < y->count) - (x->count > y->count)
                                : (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

/* The strides that are more frequent than by chance. */
static void find_steps(const struct gather_collector *c, struct gather_area *m)
{
    struct stride strides[2 * GATHER_STEP_MAX + 1];
    uint64_t total = 0;
    const double by_chance = 2.0 * m->element_bytes / (double)m->span_bytes;

    for (int64_t i = 0; i <= 2 * GATHER_STEP_MAX; i++)
        strides[i] = (struct stride){i - GATHER_STEP_MAX, 0};
    for (size_t i = 0; i < c->burst_count; i++)
        for (size_t j = 1; j < gather_burst_length(c, i); j++) {
            const int64_t stride = gather_stride(c, i, j);
            total++;
            if (stride >= -GATHER_STEP_MAX && stride <= GATHER_STEP_MAX)
                strides[stride + GATHER_STEP_MAX].count++;
        }
    qsort(strides, 2 * GATHER_STEP_MAX + 1, sizeof strides[0], more_often);
    m->step_count = 0;
    while (m->step_count < GATHER_STEPS &&
           (double)strides[m->step_count].count > (0.02 + by_chance) * (double)total) {
        m->steps[m->step_count] = strides[m->step_count].bytes;
        m->step_count++;
    }
}

/* Which kind follows which. What follows a kind that was never left, as a jump that no burst has,
 * is what there is anyway: a walk begins with one. */
static void fit_steps(const struct gather_collector *c, struct gather_area *m)
{
    uint64_t counts[GATHER_STEPS + 1][GATHER_STEPS + 1] = {0}, all[GATHER_STEPS + 1] = {0};
    uint64_t strides = 0;

    for (size_t i = 0; i < c->burst_count; i++) {
        uint32_t last = 0;
        for (size_t j = 1; j < gather_burst_length(c, i); j++) {
            const uint32_t kind = gather_kind(m, gather_stride(c, i, j));
            counts[last][kind] += j > 1;
            all[kind]++;
            strides++;
            last = kind;
        }
    }
    for (uint32_t i = 0; i <= m->step_count; i++) {
        const uint64_t *row = counts[i];
        uint64_t sum = 0;
        for (uint32_t j = 0; j <= m->step_count; j++)
            sum += counts[i][j];
        row = sum ? row : all;
        sum = sum ? sum : strides;
        for (uint32_t j = 0; j <= m->step_count; j++)
            m->next[i][j] = sum ? (double)row[j] / (double)sum : j == 0;
    }
}

/* Where jumps lead to one element of each so many bytes, a power of two of elements, up to a line:
 * of records the field that is read first, from which steps lead to the others. */
static void fit_grid(const struct gather_collector *c, struct gather_area *m)
{
    enum { LINE = 64, JUMPS_MIN = 64 };
    uint64_t at[LINE] = {0}, jumps = 0; /* by the byte of the line */

    for (size_t i = 0; i < c->burst_count && m->step_count; i++)
        for (size_t j = 1; j < gather_burst_length(c, i); j++)
            if (!gather_kind(m, gather_stride(c, i, j))) {
                at[c->bursts[i][j] % LINE]++;
                jumps++;
            }
    if (jumps < JUMPS_MIN || LINE % m->element_bytes)
        return;
    for (uint32_t grid = LINE; grid > m->element_bytes && !m->grid_bytes; grid /= 2)
        for (uint32_t start = 0; start < grid; start++) {
            uint64_t there = 0;
            for (uint32_t byte = start; byte < LINE; byte += grid)
                there += at[byte];
            if ((double)there < GRID_MOST * (double)jumps)
                continue;
            m->grid_bytes = grid;
            m->grid_start = (uint32_t)(start - m->base) % grid;
        }
}

/* The share of a line's accesses that go to one element of it, from how often two visits go to the
   same. */
static double fixed_share(const struct gather_collector *c, const struct gather_area *m)
{
    const double one = m->element_bytes >= 64 ? 1 : m->element_bytes / 64.0;
    double all = 0, same;

    for (size_t i = 0; i < 256; i++)
        all += (double)c->deltas[i];
    if (all < 100 || one >= 1)
        return 0;
    same = ((double)c->deltas[128] / all - one) / (1 - one);
    return same > 0.01 ? sqrt(same) : 0;
}

void gather_fit_area(const struct gather_collector *c, struct gather_area *m)
{
    memset(m, 0, sizeof *m);
    m->accesses = c->count;
    m->base = c->low;
    m->element_bytes = element_of(c);
    m->span_bytes = c->high - c->low + m->element_bytes;
    find_steps(c, m);
    fit_steps(c, m);
    fit_grid(c, m);
    gather_fit_parts(c, m);
    m->class_count = 1;
    m->classes[0] = (struct gather_class){1, 1, 1};
    m->fixed = fixed_share(c, m);
}
