/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * SDCM against the sum as it is printed, in long double, where its terms do not overflow; against
 * the same in decimals of 80 digits where they do; direct mapped and fully associative caches.
 */
#include "tests/unit/test.h"

#include <float.h>
#include <math.h>

#include "formats/base/rng.h"
#include "predict/predict.h"

static void assert_near(double got, double expected, double relative)
{
    if (fabs(got - expected) > relative * expected + DBL_MIN)
        fail_msg("%.17g instead of %.17g", got, expected);
}

/* Term by term from a = 0. */
static double printed_sum(uint64_t distance, uint64_t ways, uint64_t lines)
{
    const long double p = (long double)ways / (long double)lines;
    long double term = powl(1 - p, (long double)distance), sum = 0;

    for (uint64_t a = 0; a < ways && a <= distance; a++) {
        sum += term;
        term *= (long double)(distance - a) / (long double)(a + 1) * p / (1 - p);
    }
    return (double)sum;
}

TEST(as_printed)
{
    struct psnap_rng rng;

    psnap_rng_init(&rng, 1);
    for (int i = 0; i < 20000; i++) {
        const uint64_t ways = 1 + psnap_rng_below(&rng, 32);
        const uint64_t lines = ways + 1 + psnap_rng_below(&rng, 3000);
        const uint64_t distance = ways + psnap_rng_below(&rng, 4000);
        assert_near(psnap_sdcm_hit(distance, ways, lines), printed_sum(distance, ways, lines),
                    1e-11);
    }
}

TEST(large)
{
    static const struct {
        uint64_t distance, ways, lines;
        double hit; /* of 80 decimal digits */
    } cases[] = {
        {1000000000, 16, 100000000, 3.166834055985765e-49},
        {1000000000, 16, 200000000, 5.9563879766828423e-19},
        {1000000000, 16, 600000007, 0.010368706787113874},
        {1000000000, 1, 1000000000, 0.36787944098750258},
        {327680, 20, 327680, 0.47025455570535224},
        {100000, 20, 100001, 0.47026615103733499},
        {70000, 1000, 65536, 0.016439214087094631},
        {60000, 1000, 65536, 0.99712244296122865},
        {5461, 48, 16383, 0.99999999992332533},
        {1000, 8, 512, 0.012006501502972614},
        {100, 2, 512, 0.94126017691721298},
        {17, 16, 100, 0.99999999999733624},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_near(psnap_sdcm_hit(cases[i].distance, cases[i].ways, cases[i].lines), cases[i].hit,
                    2e-13);
    assert_true(psnap_sdcm_hit(1000000000, 16, 524288) == 0);
    assert_true(psnap_sdcm_hit(1000000000, 64, UINT64_C(4000000000)) == 1);
}

TEST(extremes)
{
    for (uint64_t distance = 0; distance < 5000; distance += 7)
        assert_near(psnap_sdcm_hit(distance, 1, 512), pow(511.0 / 512, (double)distance), 1e-12);
    for (uint64_t distance = 0; distance < 100; distance++) {
        assert_true(psnap_sdcm_hit(distance, 64, 64) == (distance < 64));
        assert_true(psnap_sdcm_hit(distance, 200, 400) == 1);
    }
    assert_true(psnap_sdcm_hit(PSNAP_DISTANCE_COLD, 64, 64) == 0);
}

TEST(rate)
{
    struct psnap_distances *distances = psnap_distances_new();

    assert_non_null(distances);
    assert_true(isnan(psnap_sdcm_hit_rate(distances, 2, 8)));
    assert_true(psnap_distances_add(distances, PSNAP_DISTANCE_COLD, 1));
    assert_true(psnap_distances_add(distances, 1, 2));
    assert_true(psnap_distances_add(distances, 2, 1)); /* both in the set: 1/16 */
    assert_near(psnap_sdcm_hit_rate(distances, 2, 8), (2 + 15.0 / 16) / 4, 1e-14);
    psnap_distances_free(distances);
}
