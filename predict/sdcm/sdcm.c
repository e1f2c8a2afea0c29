/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The stack distance-based cache model (SDCM; Brehob and Enbody, "An analytical model of locality
 * and caching", 1999): the chance that an access of reuse distance D hits in a cache of B lines in
 * sets of A. Each of the D lines in between lies in the access's set with the chance A / B; the
 * access hits if fewer than A do:
 *
 *     P(hit | D) = sum over a = 0 ... A - 1 of C(D, a) p^a (1 - p)^(D - a),  p = A / B
 *
 * which is the binomial distribution function F(A - 1; D, p), or the regularised incomplete beta
 * function I_{1-p}(D - A + 1, A). It is summed from its largest term on, in the tail that is the
 * smaller one, by the ratios of neighbouring terms: no factorials, nothing overflows, and the sum
 * ends where terms no longer count. The largest term is exact to some 1e-14 by Loader's
 * saddle-point form ("Fast and accurate computation of binomial probabilities", 2000), whose
 * logarithms are of deviations from the mean, not of factorials.
 *
 * Lines of one set are taken to be chosen independently: SDCM knows no conflicts of strides.
 */
#include <math.h>

#include "predict/predict.h"

static const double LN_SQRT_2PI = 0.91893853320467274178;

/* ln(n!) beyond Stirling's formula: ln n! - (ln(sqrt(2 pi n)) + n ln n - n), n >= 1 */
static double stirling_error(double n)
{
    const double square = n * n;

    if (n <= 15)
        return lgamma(n + 1) - (n + 0.5) * log(n) + n - LN_SQRT_2PI;
    return (1.0 / 12 -
            (1.0 / 360 - (1.0 / 1260 - (1.0 / 1680 - 1.0 / 1188 / square) / square) / square) /
                square) /
           n;
}

/* x ln(x / mean) + mean - x, where they are nearly the same by
 * ln(x / mean) = 2 (v + v^3/3 + v^5/5 + ...), v = (x - mean) / (x + mean). */
static double deviance(double x, double mean)
{
    const double v = (x - mean) / (x + mean);
    double sum = (x - mean) * v, power = 2 * x * v, before;
    int i = 1;

    if (fabs(v) >= 0.1)
        return x * log(x / mean) + mean - x;
    do {
        before = sum;
        power *= v * v;
        sum += power / (i += 2);
    } while (sum != before);
    return sum;
}

/* C(n, x) p^x (1 - p)^(n - x); 0 <= x <= n, 0 < p < 1 */
static double binomial_term(double x, double n, double p)
{
    if (x == 0)
        return exp(n * log1p(-p));
    if (x == n)
        return exp(n * log(p));
    return exp(stirling_error(n) - stirling_error(x) - stirling_error(n - x) - deviance(x, n * p) -
               deviance(n - x, n * (1 - p)) + 0.5 * log(n / (x * (n - x))) - LN_SQRT_2PI);
}

double psnap_sdcm_hit(uint64_t distance, uint64_t ways, uint64_t lines)
{
    const double n = (double)distance, p = (double)ways / (double)lines, odds = p / (1 - p);
    double a = (double)(ways - 1), term, sum = 0;

    if (distance == PSNAP_DISTANCE_COLD)
        return 0;
    if (distance < ways || ways >= lines)
        return distance < ways ? 1 : 0;
    if (a <= n * p) { /* fewer than the mean: what is below is the smaller part */
        for (term = binomial_term(a, n, p); term > sum * 1e-17; a--) {
            sum += term;
            if (a == 0)
                break;
            term *= a / ((n - a + 1) * odds);
        }
        return sum < 1 ? sum : 1;
    }
    for (term = binomial_term(++a, n, p); term > sum * 1e-17 && a <= n; a++) {
        sum += term;
        term *= (n - a) / (a + 1) * odds;
    }
    return sum < 1 ? 1 - sum : 0;
}

double psnap_sdcm_hit_rate(const struct psnap_distances *distances, uint64_t ways, uint64_t lines)
{
    const double accesses = (double)psnap_distances_accesses(distances);
    struct psnap_distance_count each = {0};
    double hits = 0, hit = 1;

    while (hit > 0 && psnap_distances_next(distances, &each)) { /* longer ones do not hit more */
        hit = psnap_sdcm_hit(each.distance, ways, lines);
        hits += (double)each.count * hit;
    }
    return accesses > 0 ? hits / accesses : NAN;
}
