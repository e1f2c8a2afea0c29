/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rankings: small cases worked by hand and a published one, against slow implementations (Monte
 * Carlo, all pairs counted anew), and what has to hold of any of them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "formats/base/rng.h"
#include "predict/rank/ranking.h"

#define NEAR(...) assert_true(is_near(__VA_ARGS__))

static bool is_near(double a, double b, double by)
{
    return fabs(a - b) <= by;
}

static double uniform(struct psnap_rng *rng)
{
    return ((double)(psnap_rng_next(rng) >> 11) + 0.5) * 0x1p-53;
}

static double normal(struct psnap_rng *rng)
{
    return sqrt(-2 * log(uniform(rng))) * cos(6.283185307179586 * uniform(rng));
}

static void put(struct times *times, const char *application, const char *machine,
                enum times_kind kind, double seconds)
{
    const struct times_record record = {
        .application = application, .machine = machine, .place = {"t.csv", 1, 1}};
    struct psnap_error error;

    assert_int_equal(times_put(times, &record, kind, seconds, &error), PSNAP_OK);
}

static struct ranking make(const struct times *times, size_t base, double sigma, double threshold)
{
    const struct ranking_settings settings = {base, sigma, threshold};
    struct ranking ranking;
    struct psnap_error error;

    assert_int_equal(times_check(times, ranking_kind(times), &error), PSNAP_OK);
    assert_int_equal(ranking_make(&ranking, times, &settings, &error), PSNAP_OK);
    return ranking;
}

/* Times of some machines and cases, some missing, predictions with errors. */
static struct times random_times(struct psnap_rng *rng, size_t cases, size_t machines,
                                 double missing, double sigma)
{
    struct times times = {0};

    for (size_t i = 0; i < cases; i++)
        for (size_t m = 0; m < machines; m++) {
            const double seconds = exp(2 * normal(rng)) * (double)(m + 2);
            char application[24], machine[24];

            snprintf(application, sizeof application, "a%zu", i);
            snprintf(machine, sizeof machine, "m%zu", m);
            put(&times, application, machine, TIMES_MEASURED,
                uniform(rng) < missing ? NAN : seconds);
            put(&times, application, machine, TIMES_PREDICTED,
                uniform(rng) < missing ? NAN : seconds * exp(sigma * normal(rng)));
        }
    return times;
}

/* --------------------------------------------------------------- published, by hand */

/* Null and Lobur, "The Essentials of Computer Organization and Architecture", chapter 10, tables
 * 10.4 and 10.5: run times of five programs on three systems, and geometric means of speeds
 * relative to B and to C. */
static void published_speeds(void **state)
{
    static const double seconds[5][3] = {
        {50, 100, 500}, {200, 400, 600}, {250, 500, 500}, {400, 800, 800}, {5000, 4100, 3500}};
    static const double expected[2][3] = {{1.6733, 1, 0.6898}, {2.4258, 1.4497, 1}};
    static const char *const programs[] = {"v", "w", "x", "y", "z"}, *systems[] = {"A", "B", "C"};
    struct times times = {0};

    (void)state;
    for (size_t i = 0; i < 5; i++)
        for (size_t m = 0; m < 3; m++)
            put(&times, programs[i], systems[m], TIMES_MEASURED, seconds[i][m]);
    for (size_t base = 1; base < 3; base++) {
        struct ranking ranking = make(&times, base, NAN, 0);

        for (size_t m = 0; m < 3; m++)
            NEAR(ranking.machines[m].speeds[TIMES_MEASURED].mean, expected[base - 1][m], 5e-5);
        NEAR(ranking_case_speed(&ranking, &times, 0, 0, TIMES_MEASURED), base == 1 ? 2 : 10, 0);
        ranking_release(&ranking);
    }
    times_release(&times);
}

static void worked_by_hand(void **state)
{
    struct times times = {0};
    struct ranking ranking;
    const struct ranking_pair *pair;

    (void)state;
    put(&times, "one", "A", TIMES_PREDICTED, 10);
    put(&times, "one", "B", TIMES_PREDICTED, 20);
    put(&times, "two", "A", TIMES_PREDICTED, 30);
    put(&times, "two", "B", TIMES_PREDICTED, 27);
    put(&times, "one", "A", TIMES_MEASURED, 11);
    put(&times, "one", "B", TIMES_MEASURED, 10.5);
    put(&times, "two", "A", TIMES_MEASURED, 33);
    put(&times, "two", "B", TIMES_MEASURED, 30);
    ranking = make(&times, SIZE_MAX, 0.1, 0.05);
    /* geometric means sqrt(300) and sqrt(540): A before B, which is the base */
    assert_int_equal(ranking.order[0], 0);
    assert_int_equal(ranking.base, 1);
    NEAR(ranking.machines[0].speeds[TIMES_PREDICTED].mean, sqrt(1.8), 1e-12);
    NEAR(ranking.machines[0].speeds[TIMES_PREDICTED].lowest, 0.9, 1e-12);
    NEAR(ranking.machines[0].speeds[TIMES_PREDICTED].highest, 2, 1e-12);
    /* logarithms ln 2 and ln 0.9, of which the sample's deviation is |ln 2 - ln 0.9| / sqrt 2 */
    NEAR(ranking.machines[0].speeds[TIMES_PREDICTED].deviation, exp(log(2 / 0.9) / sqrt(2)), 1e-12);
    pair = &ranking.pairs[0];
    assert_int_equal(pair->cases, 2);
    assert_int_equal(pair->first_faster, 1);
    NEAR(pair->ratio, sqrt(1.8), 1e-12);
    /* Phi(-4.90129) = 4.76e-7, Phi(-0.745012) = 0.228132 (tables of the normal distribution);
     * together: 0.293893 / (0.1 sqrt 2 / sqrt 2), Phi(-2.93893) = 0.001647 */
    NEAR(pair->expected, 0.228132 + 4.76e-7, 2e-6);
    NEAR(pair->probability, pair->expected / 2, 1e-15);
    NEAR(pair->order_probability, 0.001647, 2e-6);
    /* case one: A was predicted faster, B is, by 4.8 %; case two: B is, as predicted */
    assert_int_equal(pair->compared, 2);
    assert_int_equal(pair->observed, 1);
    assert_int_equal(pair->over_threshold, 0);
    NEAR(ranking.cases[0].tau, -1, 0);
    NEAR(ranking.cases[1].tau, 1, 0);
    NEAR(ranking.mean_tau, 0, 0);
    NEAR(ranking.order_tau, -1, 0); /* measured: sqrt(363) and sqrt(315) */
    ranking_release(&ranking);
    ranking = make(&times, SIZE_MAX, 0.1, 0.04);
    assert_int_equal(ranking.pairs[0].over_threshold, 1);
    ranking_release(&ranking);
    times_release(&times);
}

/* The one case of A, B and C has A before B; of the three that A and B have beside it, B is ten
 * times as fast: the pair as it is listed is almost certainly the other way round. */
static void pair_against_order(void **state)
{
    static const char *const beside[] = {"two", "three", "four"};
    struct times times = {0};
    struct ranking ranking;
    const struct ranking_pair *pair;

    (void)state;
    put(&times, "one", "A", TIMES_PREDICTED, 10);
    put(&times, "one", "B", TIMES_PREDICTED, 11);
    put(&times, "one", "C", TIMES_PREDICTED, 12);
    for (size_t i = 0; i < 3; i++) {
        put(&times, beside[i], "A", TIMES_PREDICTED, 100);
        put(&times, beside[i], "B", TIMES_PREDICTED, 10);
    }
    ranking = make(&times, SIZE_MAX, 0.2, 0);
    pair = &ranking.pairs[0];
    assert_true(!ranking.is_by_wins && pair->first == 0 && pair->second == 1);
    assert_int_equal(pair->cases, 4);
    assert_int_equal(pair->first_faster, 1);
    NEAR(pair->ratio, pow(1.1 / 1000, 0.25), 1e-12);
    NEAR(pair->order_probability, 1, 1e-12); /* Phi(2 * 1.703 / 0.2828) */
    ranking_release(&ranking);
    ranking = make(&times, SIZE_MAX, 10, 0);
    /* Phi(2 * 1.70311 / 14.1421) = Phi(0.240856) (tables of the normal distribution) */
    NEAR(ranking.pairs[0].order_probability, 0.595167, 2e-6);
    ranking_release(&ranking);
    ranking = make(&times, SIZE_MAX, 0, 0);
    NEAR(ranking.pairs[0].order_probability, 1, 0);
    ranking_release(&ranking);
    times_release(&times);
}

/* The same in the order of wins: A is before B by two machines that B is not compared with. */
static void pair_against_wins(void **state)
{
    struct times times = {0};
    struct ranking ranking;
    const struct ranking_pair *pair;

    (void)state;
    put(&times, "one", "A", TIMES_PREDICTED, 30);
    put(&times, "one", "B", TIMES_PREDICTED, 10);
    put(&times, "two", "A", TIMES_PREDICTED, 10);
    put(&times, "two", "C", TIMES_PREDICTED, 20);
    put(&times, "three", "A", TIMES_PREDICTED, 10);
    put(&times, "three", "D", TIMES_PREDICTED, 20);
    ranking = make(&times, SIZE_MAX, 0.1, 0);
    pair = &ranking.pairs[0];
    assert_true(ranking.is_by_wins && pair->first == 0 && pair->second == 1);
    NEAR(pair->ratio, 1 / 3.0, 1e-12);
    NEAR(pair->order_probability, 1, 1e-12); /* Phi(1.0986 / 0.1414) */
    ranking_release(&ranking);
    times_release(&times);
}

/* What is expected is of all predictions, and 1/2 where they are equal; what is observed is of
 * those that were measured too, and never of equal ones. */
static void expected_beyond_observed(void **state)
{
    struct times times = {0};
    struct ranking ranking;
    const struct ranking_pair *pair;

    (void)state;
    put(&times, "equal", "A", TIMES_PREDICTED, 10);
    put(&times, "equal", "B", TIMES_PREDICTED, 10);
    put(&times, "equal", "A", TIMES_MEASURED, 12);
    put(&times, "equal", "B", TIMES_MEASURED, 9);
    put(&times, "unmeasured", "A", TIMES_PREDICTED, 10);
    put(&times, "unmeasured", "B", TIMES_PREDICTED, 20);
    ranking = make(&times, SIZE_MAX, 0.5, 0);
    pair = &ranking.pairs[0];
    assert_int_equal(pair->cases, 2);
    assert_int_equal(pair->equal, 1);
    assert_int_equal(pair->compared, 1);
    assert_int_equal(pair->observed, 0);
    NEAR(pair->expected, 0.5 + 0.163479, 2e-6); /* Phi(-0.980258) */
    ranking_release(&ranking);
    times_release(&times);
}

/* ln(predicted / measured) of 0.1, 0.2, 0.3 and 0: mean 0.15, deviation sqrt(0.05 / 3). */
static void error_by_hand(void **state)
{
    static const double errors[] = {0.1, 0.2, 0.3, 0};
    static const char *const machines[] = {"A", "B", "C", "D"};
    struct times times = {0};

    (void)state;
    for (size_t m = 0; m < 4; m++) {
        struct ranking ranking;

        put(&times, "one", machines[m], TIMES_PREDICTED, 10 * exp(errors[m]));
        put(&times, "one", machines[m], TIMES_MEASURED, 10);
        if (!m)
            continue;
        ranking = make(&times, SIZE_MAX, NAN, 0);
        assert_int_equal(ranking.error.pairs, m + 1);
        if (m == 1) /* too few */
            assert_true(isnan(ranking.error.sigma) && isnan(ranking.pairs[0].expected));
        else
            NEAR(ranking.error.sigma, m == 2 ? 0.1 : sqrt(0.05 / 3), 1e-12);
        NEAR(ranking.error.bias, (double[]){0.15, 0.2, 0.15}[m - 1], 1e-12);
        ranking_release(&ranking);
        ranking = make(&times, SIZE_MAX, 0.25, 0);
        assert_true(ranking.error.is_given && ranking.error.sigma == 0.25);
        ranking_release(&ranking);
    }
    times_release(&times);
}

/* ----------------------------------------------------------------- slow and obvious */

/* How often the order of two true times is the other one, when predictions are off by errors. */
static void monte_carlo(void **state)
{
    static const double cases[][2] = {{1.05, 0.1}, {1.2, 0.1}, {1.5, 0.3}, {3, 0.5}, {1.001, 1}};
    struct psnap_rng rng;
    const int draws = 200000;

    (void)state;
    psnap_rng_init(&rng, 5);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const double p = ranking_inversion(7, 7 * cases[i][0], cases[i][1]);
        int inverted = 0;

        for (int n = 0; n < draws; n++)
            inverted += 7 * exp(-cases[i][1] * normal(&rng)) >
                        7 * cases[i][0] * exp(-cases[i][1] * normal(&rng));
        NEAR((double)inverted / draws, p, 5 * sqrt(p * (1 - p) / draws));
    }
}

/* tau-b as it is defined: concordant and discordant pairs, and pairs tied on a side. */
static double slow_tau(const double *x, const double *y, size_t count)
{
    double concordant = 0, discordant = 0, x_only = 0, y_only = 0;

    for (size_t i = 0; i < count; i++)
        for (size_t j = i + 1; j < count; j++) {
            const double product = (x[i] - x[j]) * (y[i] - y[j]);

            if (isnan(product))
                continue;
            concordant += product > 0;
            discordant += product < 0;
            x_only += x[i] == x[j] && y[i] != y[j];
            y_only += x[i] != x[j] && y[i] == y[j];
        }
    return (concordant - discordant) /
           sqrt((concordant + discordant + x_only) * (concordant + discordant + y_only));
}

static void taus(void **state)
{
    /* Of ranks 1 2 3 4 5 and 3 4 1 2 5: 6 pairs of 10 agree */
    static const double a[] = {1, 2, 3, 4, 5}, b[] = {3, 4, 1, 2, 5}, same[] = {2, 2, 2, 2, 2};
    struct psnap_rng rng;

    (void)state;
    NEAR(ranking_tau(a, b, 5), 0.2, 1e-15);
    NEAR(ranking_tau(a, a, 5), 1, 1e-15);
    assert_true(isnan(ranking_tau(a, same, 5)) && isnan(ranking_tau(a, b, 1)));
    psnap_rng_init(&rng, 6);
    for (int round = 0; round < 200; round++) {
        double x[12], y[12];
        const size_t count = 2 + psnap_rng_next(&rng) % 11;

        for (size_t i = 0; i < count; i++) {
            x[i] = uniform(&rng) < 0.1 ? NAN : floor(6 * uniform(&rng));
            y[i] = floor(6 * uniform(&rng));
        }
        const double slow = slow_tau(x, y, count), fast = ranking_tau(x, y, count);
        assert_int_equal(isnan(slow), isnan(fast));
        if (!isnan(slow))
            NEAR(slow, fast, 1e-12);
    }
}

static void slow_pair(const struct times *times, size_t a, size_t b, double alpha,
                      struct ranking_pair *pair)
{
    *pair = (struct ranking_pair){0};
    for (size_t i = 0; i < times->case_count; i++) {
        const double p[2] = {times_get(times, i, a, TIMES_PREDICTED),
                             times_get(times, i, b, TIMES_PREDICTED)};
        const double t[2] = {times_get(times, i, a, TIMES_MEASURED),
                             times_get(times, i, b, TIMES_MEASURED)};
        const int faster = p[0] < p[1] ? 0 : 1;

        if (isnan(p[0]) || isnan(p[1]))
            continue;
        pair->cases++;
        pair->first_faster += faster == 0;
        pair->expected += ranking_inversion(p[0], p[1], 0.3);
        if (isnan(t[0]) || isnan(t[1]))
            continue;
        pair->compared++;
        pair->observed += t[faster] > t[!faster];
        pair->over_threshold += t[faster] > (1 + alpha) * t[!faster];
    }
}

static void pairs_counted_anew(void **state)
{
    struct psnap_rng rng;

    (void)state;
    psnap_rng_init(&rng, 7);
    for (int round = 0; round < 30; round++) {
        struct times times = random_times(&rng, 8, 5, 0.1, 0.5);
        struct ranking ranking = make(&times, SIZE_MAX, 0.3, 0.2);
        double expected = 0;

        assert_int_equal(ranking.pair_count, 10);
        for (size_t i = 0; i < ranking.pair_count; i++) {
            const struct ranking_pair *pair = &ranking.pairs[i];
            struct ranking_pair slow;

            slow_pair(&times, pair->first, pair->second, 0.2, &slow);
            assert_int_equal(pair->cases, slow.cases);
            assert_int_equal(pair->first_faster, slow.first_faster);
            assert_int_equal(pair->compared, slow.compared);
            assert_int_equal(pair->observed, slow.observed);
            assert_int_equal(pair->over_threshold, slow.over_threshold);
            NEAR(pair->expected, slow.expected, 1e-12);
            expected += slow.expected;
        }
        NEAR(ranking.total.expected, expected, 1e-9);
        ranking_release(&ranking);
        times_release(&times);
    }
}

/* Where errors are as the model has them, as many inversions are observed as are expected. */
static void expected_is_observed(void **state)
{
    struct psnap_rng rng;
    struct times times;
    struct ranking ranking;

    (void)state;
    psnap_rng_init(&rng, 8);
    times = random_times(&rng, 2000, 4, 0, 0.4);
    ranking = make(&times, SIZE_MAX, NAN, 0);
    NEAR(ranking.error.sigma, 0.4, 0.01);
    NEAR(ranking.error.bias, 0, 0.02);
    assert_int_equal(ranking.total.compared, 12000);
    assert_true(ranking.total.observed > 500);
    NEAR(ranking.total.expected / (double)ranking.total.observed, 1, 0.1);
    ranking_release(&ranking);
    times_release(&times);
}

/* ----------------------------------------------------------------------- properties */

static void probabilities(void **state)
{
    struct psnap_rng rng;

    (void)state;
    psnap_rng_init(&rng, 9);
    for (int round = 0; round < 1000; round++) {
        const double a = exp(3 * normal(&rng)), b = exp(3 * normal(&rng)),
                     sigma = exp(normal(&rng));
        const double p = ranking_inversion(a, b, sigma);

        assert_true(p >= 0 && p < 0.5);
        NEAR(p, ranking_inversion(b, a, sigma), 1e-15);
        NEAR(p, ranking_inversion(a * 12, b * 12, sigma), 1e-12);
        assert_true(p <= ranking_inversion(a, b, 1.5 * sigma));
        NEAR(ranking_inversion(a, b, 0), 0, 0);
        NEAR(ranking_inversion(a, b, 1e-6), 0, 1e-12 + (fabs(log(a / b)) < 1e-4));
        NEAR(ranking_inversion(a, b, 1e9), 0.5, 1e-6);
    }
    NEAR(ranking_inversion(3, 3, 0), 0.5, 0);
    NEAR(ranking_inversion(3, 3, 1), 0.5, 0);
    assert_true(isnan(ranking_inversion(3, 4, NAN)) && isnan(ranking_inversion(NAN, 4, 1)));
}

/* The same times, those of each case multiplied by a factor and machines in the reverse order. */
static struct times changed(const struct times *times, bool is_scaled, bool is_reversed)
{
    struct times other = {0};

    for (size_t i = 0; i < times->case_count; i++)
        for (size_t m = 0; m < times->machine_count; m++)
            for (int kind = 0; kind < TIMES_KINDS; kind++) {
                const size_t of = is_reversed ? times->machine_count - 1 - m : m;
                const double factor = is_scaled ? (double)(i + 1) : 1;

                put(&other, times->cases[i].application, times->machines[of], (enum times_kind)kind,
                    factor * times_get(times, i, of, (enum times_kind)kind));
            }
    return other;
}

static void assert_same(const struct ranking *a, const struct times *times, const struct ranking *b,
                        const struct times *others)
{
    assert_string_equal(times->machines[a->base], others->machines[b->base]);
    NEAR(a->total.expected, b->total.expected, 1e-9);
    NEAR(a->mean_tau, b->mean_tau, 1e-12);
    NEAR(a->error.sigma, b->error.sigma, 1e-12);
    for (size_t i = 0; i < times->machine_count; i++) {
        const size_t m = a->order[i], n = b->order[i];

        assert_string_equal(times->machines[m], others->machines[n]);
        NEAR(a->machines[m].speeds[TIMES_PREDICTED].mean,
             b->machines[n].speeds[TIMES_PREDICTED].mean, 1e-9);
        NEAR(a->machines[m].speeds[TIMES_MEASURED].deviation,
             b->machines[n].speeds[TIMES_MEASURED].deviation, 1e-9);
    }
    for (size_t i = 0; i < a->pair_count; i++) {
        assert_int_equal(a->pairs[i].observed, b->pairs[i].observed);
        assert_int_equal(a->pairs[i].first_faster, b->pairs[i].first_faster);
        NEAR(a->pairs[i].order_probability, b->pairs[i].order_probability, 1e-12);
    }
}

static void scaled_or_reversed(void **state)
{
    struct psnap_rng rng;

    (void)state;
    psnap_rng_init(&rng, 10);
    for (int round = 0; round < 20; round++) {
        struct times times = random_times(&rng, 5, 4, 0, 0.3);
        struct ranking ranking = make(&times, SIZE_MAX, NAN, 0.1);

        for (int how = 1; how < 4; how++) {
            struct times others = changed(&times, how & 1, how & 2);
            struct ranking other = make(&others, SIZE_MAX, NAN, 0.1);

            assert_same(&ranking, &times, &other, &others);
            ranking_release(&other);
            times_release(&others);
        }
        ranking_release(&ranking);
        times_release(&times);
    }
}

/* No case is common to all: machines are in the order of wins, and means are missing. */
static void by_wins(void **state)
{
    struct times times = {0};
    struct ranking ranking;

    (void)state;
    put(&times, "one", "A", TIMES_MEASURED, 3);
    put(&times, "one", "B", TIMES_MEASURED, 2);
    put(&times, "two", "B", TIMES_MEASURED, 2);
    put(&times, "two", "C", TIMES_MEASURED, 1);
    put(&times, "three", "A", TIMES_MEASURED, 2);
    put(&times, "three", "C", TIMES_MEASURED, 1);
    ranking = make(&times, SIZE_MAX, NAN, 0);
    assert_true(ranking.is_by_wins && !ranking.common[TIMES_MEASURED]);
    assert_int_equal(ranking.order[0], 2);
    assert_int_equal(ranking.order[1], 1);
    assert_int_equal(ranking.base, 0);
    assert_true(isnan(ranking.machines[1].speeds[TIMES_MEASURED].mean));
    NEAR(ranking_case_speed(&ranking, &times, 0, 1, TIMES_MEASURED), 1.5, 1e-15);
    assert_true(isnan(ranking_case_speed(&ranking, &times, 1, 1, TIMES_MEASURED)));
    ranking_release(&ranking);
    times_release(&times);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_speeds),
        cmocka_unit_test(worked_by_hand),
        cmocka_unit_test(pair_against_order),
        cmocka_unit_test(pair_against_wins),
        cmocka_unit_test(expected_beyond_observed),
        cmocka_unit_test(error_by_hand),
        cmocka_unit_test(monte_carlo),
        cmocka_unit_test(taus),
        cmocka_unit_test(pairs_counted_anew),
        cmocka_unit_test(expected_is_observed),
        cmocka_unit_test(probabilities),
        cmocka_unit_test(scaled_or_reversed),
        cmocka_unit_test(by_wins),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
