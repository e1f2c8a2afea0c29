/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is different about two nests and about trip counts, and how far they are apart: of numbers
 * that mean the same (counts, strides, steps, first numbers as they lie to that of the nest) 1 -
 * less / more, and of a term the largest of these, or 1 when it has another form. Histograms of
 * trip counts are apart by half the sum of the differences of shares.
 */
#include <math.h>
#include <string.h>

#include "profile/diff/diff.h"
#include "profile/model.h"

double diff_of_counts(uint64_t a, uint64_t b)
{
    const double less = (double)(a < b ? a : b), more = (double)(a < b ? b : a);

    return a == b ? 0 : 1 - less / more;
}

/* How far two numbers of the same meaning are apart: 0 only for equal ones, 1 for other signs. */
static double numbers_apart(uint64_t a, uint64_t b)
{
    const int64_t p = (int64_t)a, q = (int64_t)b;

    if (p == q)
        return 0;
    if (!p || !q || (p < 0) != (q < 0))
        return 1;
    return fmax(1e-9, diff_of_counts(p < 0 ? 0 - a : a, q < 0 ? 0 - b : b));
}

/* The largest difference of two terms' numbers, 1 for another form; first numbers are those from
 * `origins` on, which are a number of each side. */
static double term_apart(const struct nest_pattern *a, const uint64_t *p,
                         const struct nest_pattern *b, const uint64_t *q, const uint64_t origins[2])
{
    double most;

    if (a->depth < b->depth && b->body_count == 1) /* a's is that of one iteration */
        return fmax(numbers_apart(1, q[0]), term_apart(a, p, b->body[0], q + 1, origins));
    if (b->depth < a->depth && a->body_count == 1)
        return fmax(numbers_apart(p[0], 1), term_apart(a->body[0], p + 1, b, q, origins));
    if (a->body_count != b->body_count || a->values != b->values || a->depth != b->depth)
        return 1;
    most = numbers_apart(p[0], q[0]);
    for (uint32_t i = 0; i + 1 < a->values && most < 1; i++)
        most = fmax(most, numbers_apart(a->steps[i], b->steps[i]));
    if (!a->body_count)
        return fmax(most, numbers_apart(p[1] - origins[0], q[1] - origins[1]));
    for (uint32_t i = 0, at = 1; i < a->body_count && most < 1; at += a->body[i++]->values) {
        if (a->body[i]->values != b->body[i]->values)
            return 1;
        most = fmax(most, term_apart(a->body[i], p + at, b->body[i], q + at, origins));
    }
    return most;
}

/* The first number of a nest. */
static uint64_t origin_of(const struct nest_terms *nest)
{
    const struct nest_pattern *pattern = nest->count ? nest->terms[0].pattern : NULL;
    const uint64_t *values = nest->count ? nest_term_values(nest, 0) : NULL;

    for (; pattern && pattern->body_count; pattern = pattern->body[0])
        values++;
    return pattern ? values[1] : 0;
}

bool diff_same_nest(const struct nest_terms *a, const struct nest_terms *b, bool may_shift)
{
    const uint64_t origins[2] = {may_shift ? origin_of(a) : 0, may_shift ? origin_of(b) : 0};

    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++)
        if (term_apart(a->terms[i].pattern, nest_term_values(a, i), b->terms[i].pattern,
                       nest_term_values(b, i), origins) > 0)
            return false;
    return true;
}

static double length_of(const struct nest_terms *nest, size_t term)
{
    return term < nest->count
               ? (double)nest_length(nest->terms[term].pattern, nest_term_values(nest, term))
               : 0;
}

/* How far they are apart, each term as its share of the numbers. */
static double nest_apart(const struct nest_terms *a, const struct nest_terms *b, bool may_shift)
{
    const uint64_t origins[2] = {may_shift ? origin_of(a) : 0, may_shift ? origin_of(b) : 0};
    double sum = 0, all = 0;

    for (size_t i = 0; i < a->count || i < b->count; i++) {
        const double weight = fmax(1, fmax(length_of(a, i), length_of(b, i)));
        all += weight;
        if (i >= a->count || i >= b->count)
            sum += weight;
        else
            sum += weight * term_apart(a->terms[i].pattern, nest_term_values(a, i),
                                       b->terms[i].pattern, nest_term_values(b, i), origins);
    }
    return all > 0 ? sum / all : 0;
}

/* ---- trip counts ---- */

static bool same_parts(const struct model_body *a, const struct model_body *b)
{
    if (a->is_drawn != b->is_drawn || a->is_part != b->is_part || a->is_counted != b->is_counted ||
        a->part_count != b->part_count)
        return false;
    for (uint32_t i = 0; i < a->part_count; i++)
        if (a->parts[i].width != b->parts[i].width || a->parts[i].from != b->parts[i].from ||
            a->parts[i].leaves != b->parts[i].leaves)
            return false;
    return true;
}

bool diff_same_trips(const struct model_body *a, const struct model_body *b)
{
    const struct trips *p = &a->histogram, *q = &b->histogram;

    if (!same_parts(a, b))
        return false;
    if (!a->is_drawn)
        return diff_same_nest(&a->trips, &b->trips, false);
    if (p->count != q->count)
        return false;
    for (uint32_t i = 0; i < p->count; i++)
        if (p->bins[i].low != q->bins[i].low || p->bins[i].high != q->bins[i].high ||
            p->bins[i].times != q->bins[i].times || p->bins[i].sum != q->bins[i].sum)
            return false;
    return true;
}

/* Half the sum of the differences of shares of bins, which are those of equal bounds. */
static double histogram_apart(const struct trips *p, const struct trips *q)
{
    double sum = 0;

    for (uint32_t i = 0, k = 0; i < p->count || k < q->count;) {
        const struct trips_bin *a = i < p->count ? &p->bins[i] : NULL;
        const struct trips_bin *b = k < q->count ? &q->bins[k] : NULL;
        const bool is_a = a && (!b || a->low < b->low || (a->low == b->low && a->high <= b->high));
        const bool is_b = b && (!a || b->low < a->low || (a->low == b->low && b->high <= a->high));
        sum += fabs((is_a ? (double)a->times / (double)p->times : 0) -
                    (is_b ? (double)b->times / (double)q->times : 0));
        i += is_a;
        k += is_b;
    }
    return sum / 2;
}

/* ---- of a pair ---- */

double diff_ref_apart(const struct model_ref *a, const struct model_ref *b)
{
    if (a->rule != MODEL_NEST || b->rule != MODEL_NEST || a->kind != b->kind ||
        a->size != b->size || a->element != b->element || strcmp(a->mark, b->mark) != 0)
        return 1;
    return nest_apart(&a->addresses, &b->addresses, true);
}

/* Bodies that the optimiser took apart in another way are compared by how often they iterate. */
double diff_trips_apart(const struct model_body *a, const struct model_body *b)
{
    if (!same_parts(a, b))
        return fmax(1e-9, diff_of_counts(a->iterations, b->iterations));
    return a->is_drawn ? histogram_apart(&a->histogram, &b->histogram)
                       : nest_apart(&a->trips, &b->trips, false);
}
