/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The two-factor experiment: published data sets with the F and p of their sources and of R; random
 * unbalanced data against the difference of two models' residuals, by another way; laws; what
 * cannot be analysed.
 *
 * R 4.2.2, contrasts contr.sum: `Anova(lm(y ~ a * b), type = 3)` and `leveneTest(..., center =
 * median)` of car 3.1-1, `aov` and `rstandard` of stats (balanced data give the same with both),
 * `ad.test(residuals(...))` of nortest 1.0-4.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/rng.h"
#include "predict/hybrid/anova.h"
#include "predict/hybrid/numeric.h"

enum { MOST = 400, LEVELS = 6, COLUMNS = LEVELS * LEVELS };

/* Observations, cell by cell: level b fastest. */
struct data {
    uint32_t a_levels, b_levels;
    const uint32_t *counts; /* of cells */
    const double *values;
};

static struct anova analyse(const double *values, const uint32_t *a, const uint32_t *b,
                            size_t count, uint32_t a_levels, uint32_t b_levels)
{
    const struct experiment experiment = {values, a, b, count, a_levels, b_levels};
    struct anova anova;
    struct psnap_error error;

    assert_int_equal(anova_make(&anova, &experiment, &error), PSNAP_OK);
    return anova;
}

static struct anova analyse_data(const struct data *data)
{
    uint32_t a[MOST], b[MOST];
    size_t n = 0;

    for (uint32_t c = 0; c < data->a_levels * data->b_levels; c++)
        for (uint32_t i = 0; i < data->counts[c]; i++, n++) {
            a[n] = c / data->b_levels;
            b[n] = c % data->b_levels;
        }
    return analyse(data->values, a, b, n, data->a_levels, data->b_levels);
}

static void near(double value, double expected, double tolerance)
{
    if (!(fabs(value - expected) <= tolerance * fabs(expected)))
        fail_msg("%.15g is not %.15g", value, expected);
}

/* An effect as R has it: all digits but the last ones. */
static void is_effect(const struct anova_effect *effect, double df, double sum_of_squares, double f,
                      double p)
{
    assert_true(effect->df == df);
    near(effect->sum_of_squares, sum_of_squares, 1e-12);
    near(effect->f, f, 1e-12);
    near(effect->p, p, 1e-10);
}

/* Battery life by material and temperature: Montgomery, "Design and Analysis of Experiments", 8th
 * edition, tables 5.1 and 5.5: F = 7.91, 28.97 and 3.56, p = 0.0020, <0.0001 and 0.0186. */
static const double battery[] = {130, 155, 74,  180, 34,  40,  80,  75,  20, 70,  82, 58,
                                 150, 188, 159, 126, 136, 122, 106, 115, 25, 70,  58, 45,
                                 138, 110, 168, 160, 174, 120, 150, 139, 96, 104, 82, 60};
static const uint32_t fours[] = {4, 4, 4, 4, 4, 4, 4, 4, 4};

static void has_battery(void **state)
{
    const struct data data = {3, 3, fours, battery};
    const struct anova anova = analyse_data(&data);

    (void)state;
    is_effect(&anova.effects[ANOVA_A], 2, 10683.72222222223, 7.91137226938003, 1.97608259090752e-3);
    is_effect(&anova.effects[ANOVA_B], 2, 39118.72222222219, 28.96769194904212,
              1.90859589743321e-7);
    is_effect(&anova.effects[ANOVA_INTERACTION], 4, 9613.77777777778, 3.55953540035380,
              1.86111681889417e-2);
    near(anova.effects[ANOVA_OVERALL].f, 10.99953, 1e-6);
    near(anova.effects[ANOVA_OVERALL].p, 9.426e-7, 1e-4);
    near(anova.effects[ANOVA_A].partial_eta_squared, 10683.722222 / (10683.722222 + 18230.75),
         1e-9);
    near(anova.residual_sum_of_squares, 18230.75, 1e-12);
    near(anova.total_sum_of_squares, 77646.97222222, 1e-12);
    assert_true(anova.residual_df == 27 && anova.total_df == 35 && anova.is_balanced);
    near(anova.checks.anderson_darling, 0.3403365521296, 1e-11);
    near(anova.checks.anderson_darling_p, 0.47777824891, 1e-10);
    near(anova.checks.brown_forsythe, 0.799597044996642, 1e-12);
    near(anova.checks.brown_forsythe_p, 0.60813305008743, 1e-12);
    near(anova.checks.largest, 2.69957417483253, 1e-12);
    assert_int_equal(anova.checks.largest_of, 2);
}

/* The same without its observations 1, 7, 8, 20 and 36. */
static void has_battery_unbalanced(void **state)
{
    static const uint32_t counts[] = {3, 2, 4, 4, 3, 4, 4, 4, 3};
    static const int left_out[] = {1, 7, 8, 20, 36};
    double values[36];
    const struct data data = {3, 3, counts, values};
    struct anova anova;
    int n = 0, out = 0;

    (void)state;
    for (int i = 0; i < 36; i++)
        if (out < 5 && left_out[out] == i + 1)
            out++;
        else
            values[n++] = battery[i];
    anova = analyse_data(&data);
    is_effect(&anova.effects[ANOVA_A], 2, 12266.6685185185, 8.62148045601642, 1.71897691047094e-3);
    is_effect(&anova.effects[ANOVA_B], 2, 33297.8664351852, 23.40300500210020, 3.57074940349094e-6);
    is_effect(&anova.effects[ANOVA_INTERACTION], 4, 11312.3080293276, 3.97535983140206,
              1.41510259324394e-2);
    near(anova.checks.brown_forsythe, 0.78292, 1e-5);
    assert_false(anova.is_balanced);
}

/* Blood pressure by drug and disease: Afifi and Azen, "Statistical Analysis: A Computer Oriented
 * Approach", 1972, p. 166, with one value of Kutner, The American Statistician 28, 1974; in the
 * SAS/STAT user's guide, "Unbalanced ANOVA for Two-Way Design with Interaction": type III sums of
 * squares 2997.471860, 415.873046, 707.266259; F 9.05, 1.88, 1.07; p <.0001, 0.1637, 0.3958. */
static void has_drugs(void **state)
{
    static const uint32_t counts[] = {6, 4, 5, 5, 4, 6, 3, 5, 4, 5, 6, 5};
    static const double values[] = {42, 44, 36, 13, 19, 22, 33, 26, 33, 21, 31, -3, 25, 25, 24,
                                    28, 23, 34, 42, 13, 34, 33, 31, 36, 3,  26, 28, 32, 4,  16,
                                    1,  29, 19, 11, 9,  7,  1,  -6, 21, 1,  9,  3,  24, 9,  22,
                                    -2, 15, 27, 12, 12, -5, 16, 15, 22, 7,  25, 5,  12};
    const struct data data = {4, 3, counts, values};
    const struct anova anova = analyse_data(&data);

    (void)state;
    is_effect(&anova.effects[ANOVA_A], 3, 2997.471860484740, 9.04603299222225, 8.08638797980265e-5);
    is_effect(&anova.effects[ANOVA_B], 2, 415.873046321753, 1.88258712977251, 0.163735540675586);
    is_effect(&anova.effects[ANOVA_INTERACTION], 6, 707.266259308359, 1.06722501724409,
              0.395845825432215);
    near(anova.effects[ANOVA_OVERALL].sum_of_squares, 4259.338505747, 1e-12);
    near(anova.effects[ANOVA_OVERALL].f, 3.50569, 1e-5);
    near(anova.effects[ANOVA_OVERALL].p, 0.0012982, 1e-4);
    near(anova.residual_sum_of_squares, 5080.816666666667, 1e-12);
    near(anova.checks.anderson_darling_p, 0.184937480885314, 1e-10);
    near(anova.checks.brown_forsythe, 0.811451814598465, 1e-12);
    near(anova.checks.brown_forsythe_p, 0.628633662961508, 1e-12);
}

/* Length of teeth by supplement and dose: Crampton 1947, R's `ToothGrowth`. */
static void has_teeth(void **state)
{
    static const uint32_t tens[] = {10, 10, 10, 10, 10, 10};
    static const double values[] = {
        4.2,  11.5, 7.3,  5.8,  6.4,  10.0, 11.2, 11.2, 5.2,  7.0,  16.5, 16.5, 15.2, 17.3, 22.5,
        17.3, 13.6, 14.5, 18.8, 15.5, 23.6, 18.5, 33.9, 25.5, 26.4, 32.5, 26.7, 21.5, 23.3, 29.5,
        15.2, 21.5, 17.6, 9.7,  14.5, 10.0, 8.2,  9.4,  16.5, 9.7,  19.7, 23.3, 23.6, 26.4, 20.0,
        25.2, 25.8, 21.2, 14.5, 27.3, 25.5, 26.4, 22.4, 24.5, 24.8, 30.9, 26.4, 27.3, 29.4, 23.0};
    const struct data data = {2, 3, tens, values};
    const struct anova anova = analyse_data(&data);

    (void)state;
    is_effect(&anova.effects[ANOVA_A], 1, 205.35, 15.57197945249725, 2.31182809773424e-4);
    is_effect(&anova.effects[ANOVA_B], 2, 2426.434333333333, 91.99996489286703,
              4.04629119599228e-18);
    is_effect(&anova.effects[ANOVA_INTERACTION], 2, 108.319, 4.10699109402252, 2.18602689647910e-2);
    near(anova.checks.brown_forsythe, 1.70857823314489, 1e-12);
    near(anova.checks.anderson_darling_p, 0.481655846567, 1e-10);
    near(anova.checks.largest, 2.40053925519349, 1e-12);
    assert_int_equal(anova.checks.largest_of, 31);
}

/* Breaks of yarn by wool and tension: Tippett, "Technological Applications of Statistics", 1950,
 * R's `warpbreaks`. */
static void has_breaks(void **state)
{
    static const uint32_t nines[] = {9, 9, 9, 9, 9, 9};
    static const double values[] = {26, 30, 54, 25, 70, 52, 51, 26, 67, 18, 21, 29, 17, 12,
                                    18, 35, 30, 36, 36, 21, 24, 18, 10, 43, 28, 15, 26, 27,
                                    14, 29, 19, 29, 31, 41, 20, 44, 42, 26, 19, 16, 39, 28,
                                    21, 39, 29, 20, 21, 24, 17, 13, 15, 15, 16, 28};
    const struct data data = {2, 3, nines, values};
    const struct anova anova = analyse_data(&data);

    (void)state;
    is_effect(&anova.effects[ANOVA_A], 1, 450.666666666667, 3.76528836111865, 5.82129759595594e-2);
    is_effect(&anova.effects[ANOVA_B], 2, 2034.259259259260, 8.49804664835803, 6.92620936713437e-4);
    is_effect(&anova.effects[ANOVA_INTERACTION], 2, 1002.777777777778, 4.18906896685104,
              2.10441907278630e-2);
    near(anova.checks.brown_forsythe, 2.89098055880166, 1e-12);
    near(anova.checks.brown_forsythe_p, 2.32175824290702e-2, 1e-12);
    near(anova.checks.anderson_darling_p, 0.938908583575, 1e-10);
}

/* Conformity by authoritarianism and partner's status: Moore and Krupat, Sociometry 34, 1971, R's
 * carData::Moore, which car's documentation analyses. Levels: low, medium, high; low, high. */
static void has_conformity(void **state)
{
    static const uint32_t counts[] = {10, 5, 4, 11, 8, 7};
    static const double values[] = {8,  7,  10, 6,  13, 12, 7,  6,  8, 12,     /* low, low */
                                    21, 23, 15, 12, 16,                        /* low, high */
                                    12, 4,  4,  9,                             /* medium */
                                    12, 17, 14, 16, 20, 8,  14, 17, 7, 17, 15, /* ... high */
                                    4,  8,  13, 9,  24, 7,  23, 13,            /* high, low */
                                    19, 9,  7,  11, 14, 13, 10};               /* ... high */
    const struct data data = {3, 2, counts, values};
    const struct anova anova = analyse_data(&data);

    (void)state;
    is_effect(&anova.effects[ANOVA_A], 2, 36.0187056277057, 0.858884462024853, 0.431491610226425);
    is_effect(&anova.effects[ANOVA_B], 1, 239.562369793479, 11.424974524526096,
              1.65711268009883e-3);
    is_effect(&anova.effects[ANOVA_INTERACTION], 2, 175.4889278499279, 4.184623260636155,
              2.25724417916786e-2);
    near(anova.effects[ANOVA_OVERALL].p, 0.0073967, 1e-4);
    near(anova.checks.brown_forsythe, 1.46942, 1e-5);
}

/* The sets of Simon and Lesage ("Assessing the accuracy of ANOVA calculations in statistical
 * software", 1989) that NIST's Statistical Reference Datasets have as SmLs01, SmLs04 and SmLs07:
 * nine treatments of 21 replicates behind a large constant; certified F = 21, residual 1.8. */
static void has_large_constants(void **state)
{
    static const double constants[] = {1, 1e6, 1e12}, tolerances[] = {1e-13, 1e-8, 1e-3};
    double values[189];
    uint32_t counts[9];

    (void)state;
    for (int c = 0; c < 9; c++)
        counts[c] = 21;
    for (int set = 0; set < 3; set++) {
        const struct data data = {3, 3, counts, values};
        struct anova anova;
        for (int i = 0; i < 189; i++) {
            const int treatment = i / 21, replicate = i % 21;
            const double level = treatment == 0 ? 0.4 : treatment % 2 ? 0.3 : 0.5;
            values[i] = constants[set] + (level + (replicate == 0  ? 0
                                                   : replicate % 2 ? -0.1
                                                                   : 0.1));
        }
        anova = analyse_data(&data);
        near(anova.effects[ANOVA_OVERALL].f, 21, tolerances[set]);
        near(anova.residual_sum_of_squares, 1.8, tolerances[set]);
        assert_true(anova.effects[ANOVA_OVERALL].df == 8 && anova.residual_df == 180);
    }
}

/* ------------------------------------------------------------------- the oracle */

/* Deviation coding of a level: 1 of its own column, -1 in all of the last level. */
static double code(uint32_t level, uint32_t column, uint32_t levels)
{
    return level == column ? 1 : level == levels - 1 ? -1 : 0;
}

enum { TERM_A = 1, TERM_B = 2, TERM_BOTH = 4 };

/* The residual sum of squares of a model with these terms, by modified Gram-Schmidt, twice. */
static double residual_of(const double *values, const uint32_t *a, const uint32_t *b, size_t n,
                          uint32_t a_levels, uint32_t b_levels, unsigned terms)
{
    static double columns[COLUMNS][MOST];
    double left[MOST], sum = 0;
    size_t count = 0;

    for (size_t i = 0; i < n; i++)
        columns[0][i] = 1, left[i] = values[i];
    count = 1;
    for (uint32_t k = 0; k + 1 < a_levels && terms & TERM_A; k++, count++)
        for (size_t i = 0; i < n; i++)
            columns[count][i] = code(a[i], k, a_levels);
    for (uint32_t l = 0; l + 1 < b_levels && terms & TERM_B; l++, count++)
        for (size_t i = 0; i < n; i++)
            columns[count][i] = code(b[i], l, b_levels);
    for (uint32_t k = 0; k + 1 < a_levels && terms & TERM_BOTH; k++)
        for (uint32_t l = 0; l + 1 < b_levels; l++, count++)
            for (size_t i = 0; i < n; i++)
                columns[count][i] = code(a[i], k, a_levels) * code(b[i], l, b_levels);
    for (size_t c = 0; c <= count; c++) {
        double *const column = c < count ? columns[c] : left, length = 0;
        for (int again = 0; again < 2; again++)
            for (size_t d = 0; d < c; d++) {
                double along = 0;
                for (size_t i = 0; i < n; i++)
                    along += columns[d][i] * column[i];
                for (size_t i = 0; i < n; i++)
                    column[i] -= along * columns[d][i];
            }
        for (size_t i = 0; i < n; i++)
            length += column[i] * column[i];
        for (size_t i = 0; i < n && c < count; i++)
            column[i] /= sqrt(length);
        sum = length;
    }
    return sum;
}

struct sample {
    double values[MOST];
    uint32_t a[MOST], b[MOST];
    size_t count;
    uint32_t a_levels, b_levels;
};

/* One to five observations a cell, or three of all. */
static void make_random(struct sample *data, struct psnap_rng *rng, bool balanced)
{
    data->a_levels = 2 + (uint32_t)(psnap_rng_uniform(rng) * (LEVELS - 1));
    data->b_levels = 2 + (uint32_t)(psnap_rng_uniform(rng) * (LEVELS - 1));
    data->count = 0;
    for (uint32_t c = 0; c < data->a_levels * data->b_levels; c++) {
        const uint32_t n = balanced ? 3 : (c ? 1 : 2) + (uint32_t)(psnap_rng_uniform(rng) * 5);
        for (uint32_t i = 0; i < n; i++, data->count++) {
            data->a[data->count] = c / data->b_levels;
            data->b[data->count] = c % data->b_levels;
            data->values[data->count] = 1 + psnap_rng_uniform(rng) + 0.3 * (c / data->b_levels) -
                                        0.1 * (c % data->b_levels);
        }
    }
}

static struct anova analyse_random(const struct sample *data)
{
    return analyse(data->values, data->a, data->b, data->count, data->a_levels, data->b_levels);
}

static double residual(const struct sample *data, unsigned terms)
{
    return residual_of(data->values, data->a, data->b, data->count, data->a_levels, data->b_levels,
                       terms);
}

static void is_as_models(void **state)
{
    struct sample data;
    struct psnap_rng rng;

    (void)state;
    psnap_rng_init(&rng, 7);
    for (int i = 0; i < 60; i++) {
        struct anova anova;
        double all;
        make_random(&data, &rng, false);
        anova = analyse_random(&data);
        all = residual(&data, TERM_A | TERM_B | TERM_BOTH);
        near(anova.residual_sum_of_squares, all, 1e-10);
        near(anova.total_sum_of_squares, residual(&data, 0), 1e-10);
        near(anova.effects[ANOVA_A].sum_of_squares, residual(&data, TERM_B | TERM_BOTH) - all,
             1e-8);
        near(anova.effects[ANOVA_B].sum_of_squares, residual(&data, TERM_A | TERM_BOTH) - all,
             1e-8);
        near(anova.effects[ANOVA_INTERACTION].sum_of_squares,
             residual(&data, TERM_A | TERM_B) - all, 1e-8);
    }
}

static void is_one_type_when_balanced(void **state)
{
    struct sample data;
    struct psnap_rng rng;

    (void)state;
    psnap_rng_init(&rng, 8);
    for (int i = 0; i < 30; i++) {
        struct anova anova;
        make_random(&data, &rng, true);
        anova = analyse_random(&data);
        assert_true(anova.is_balanced);
        near(anova.effects[ANOVA_A].sum_of_squares, residual(&data, 0) - residual(&data, TERM_A),
             1e-9); /* I */
        near(anova.effects[ANOVA_B].sum_of_squares,
             residual(&data, TERM_A) - residual(&data, TERM_A | TERM_B), 1e-9); /* I and II */
        near(anova.effects[ANOVA_A].sum_of_squares + anova.effects[ANOVA_B].sum_of_squares +
                 anova.effects[ANOVA_INTERACTION].sum_of_squares + anova.residual_sum_of_squares,
             anova.total_sum_of_squares, 1e-12);
    }
}

static void swap_rows(struct sample *data, size_t i, size_t j)
{
    const double value = data->values[i];
    const uint32_t a = data->a[i], b = data->b[i];

    data->values[i] = data->values[j], data->a[i] = data->a[j], data->b[i] = data->b[j];
    data->values[j] = value, data->a[j] = a, data->b[j] = b;
}

/* The order of rows, the order of levels, which factor is A, the unit and the zero of the response.
 */
static void keeps_laws(void **state)
{
    struct sample data;
    struct psnap_rng rng;

    (void)state;
    psnap_rng_init(&rng, 9);
    for (int i = 0; i < 30; i++) {
        struct anova before, after;
        make_random(&data, &rng, false);
        before = analyse_random(&data);
        for (size_t r = 0; r < data.count; r++)
            swap_rows(&data, r, (size_t)(psnap_rng_uniform(&rng) * (double)data.count));
        for (size_t r = 0; r < data.count; r++) {
            data.values[r] = 1000 * data.values[r] + 5;
            data.a[r] = data.a_levels - 1 - data.a[r];
        }
        after = analyse(data.values, data.b, data.a, data.count, data.b_levels, data.a_levels);
        near(after.residual_sum_of_squares, 1e6 * before.residual_sum_of_squares, 1e-9);
        near(after.checks.anderson_darling, before.checks.anderson_darling, 1e-7);
        near(after.checks.brown_forsythe, before.checks.brown_forsythe, 1e-8);
        near(after.effects[ANOVA_A].f, before.effects[ANOVA_B].f, 1e-8);
        near(after.effects[ANOVA_B].f, before.effects[ANOVA_A].f, 1e-8);
        near(after.effects[ANOVA_INTERACTION].f, before.effects[ANOVA_INTERACTION].f, 1e-8);
        near(after.effects[ANOVA_INTERACTION].sum_of_squares,
             1e6 * before.effects[ANOVA_INTERACTION].sum_of_squares, 1e-8);
        near(after.effects[ANOVA_OVERALL].p, before.effects[ANOVA_OVERALL].p, 1e-6);
    }
}

/* --------------------------------------------------------------------- problems */

static enum anova_problem problem_of(const double *values, const uint32_t *a, const uint32_t *b,
                                     size_t count, uint32_t a_levels, uint32_t b_levels)
{
    return analyse(values, a, b, count, a_levels, b_levels).problem;
}

static void names_problems(void **state)
{
    static const uint32_t a[] = {0, 0, 0, 0, 1, 1, 1, 1}, b[] = {0, 0, 1, 1, 0, 0, 1, 1};
    static const uint32_t zero[8] = {0}, one_of_each[] = {0, 1, 0, 1};
    static const double values[] = {1, 2, 3, 5, 5, 6, 9, 8}, same[] = {1, 1, 1, 1, 1, 1, 1, 1};
    static const double twice[] = {0.1, 0.1, 0.2, 0.2, 0.3, 0.3, 0.7, 0.7};
    struct anova anova;

    (void)state;
    assert_int_equal(problem_of(values, a, b, 8, 2, 2), ANOVA_FINE);
    assert_int_equal(problem_of(values, zero, b, 8, 1, 2), ANOVA_ONE_LEVEL_A);
    assert_int_equal(problem_of(values, a, zero, 8, 2, 1), ANOVA_ONE_LEVEL_B);
    assert_int_equal(problem_of(same, a, b, 8, 2, 2), ANOVA_CONSTANT);
    assert_int_equal(problem_of(twice, a, b, 8, 2, 2), ANOVA_NO_RESIDUAL);
    assert_int_equal(problem_of(values, (const uint32_t[]){0, 0, 1, 1}, one_of_each, 4, 2, 2),
                     ANOVA_NO_REPLICATES);
    assert_int_equal(problem_of(values, a, b, 0, 2, 2), ANOVA_EMPTY_CELL);
    anova = analyse(values, a, b, 6, 2, 2);
    assert_int_equal(anova.problem, ANOVA_EMPTY_CELL);
    assert_true(anova.problem_a == 1 && anova.problem_b == 1);
}

/* Two in each cell are as far from their median, and few say nothing of normality. */
static void knows_what_it_cannot_check(void **state)
{
    static const uint32_t a[] = {0, 0, 0, 0, 1, 1, 1, 1}, b[] = {0, 0, 1, 1, 0, 0, 1, 1};
    static const double values[] = {1, 2, 3, 5, 5, 6, 9, 8};
    static const uint32_t five_a[] = {0, 0, 0, 1, 1}, five_b[] = {0, 0, 1, 0, 1};
    struct anova anova = analyse(values, a, b, 8, 2, 2);

    (void)state;
    assert_true(isnan(anova.checks.brown_forsythe) && isfinite(anova.checks.anderson_darling));
    anova = analyse(values, five_a, five_b, 5, 2, 2);
    assert_int_equal(anova.problem, ANOVA_FINE);
    assert_true(anova.residual_df == 1 && isnan(anova.checks.anderson_darling));
}

static void refuses_too_many_cells(void **state)
{
    const struct experiment experiment = {.a_levels = 65, .b_levels = 64};
    struct anova anova;
    struct psnap_error error;

    (void)state;
    assert_int_equal(anova_make(&anova, &experiment, &error), PSNAP_ERROR_UNSUPPORTED);
    assert_non_null(strstr(error.message, "4160 combinations"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(has_battery),
        cmocka_unit_test(has_battery_unbalanced),
        cmocka_unit_test(has_drugs),
        cmocka_unit_test(has_teeth),
        cmocka_unit_test(has_breaks),
        cmocka_unit_test(has_conformity),
        cmocka_unit_test(has_large_constants),
        cmocka_unit_test(is_as_models),
        cmocka_unit_test(is_one_type_when_balanced),
        cmocka_unit_test(keeps_laws),
        cmocka_unit_test(names_problems),
        cmocka_unit_test(knows_what_it_cannot_check),
        cmocka_unit_test(refuses_too_many_cells),
    };
    struct psnap_error error;

    if (numeric_check(&error) != PSNAP_OK)
        return 0; /* a build without GSL */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
