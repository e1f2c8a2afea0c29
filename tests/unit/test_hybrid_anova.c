/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The two-factor experiment: published data sets with the F and p of their sources and of R; random
 * data against the difference of two models' residuals, by another way; what cannot be analysed.
 *
 * R 4.2.2, contrasts contr.sum: `Anova(lm(y ~ a * b), type = 3)` and `leveneTest(..., center =
 * median)` of car 3.1-1, `aov` and `rstandard` of stats, `ad.test(residuals(...))` of
 * nortest 1.0-4.
 */
#include "tests/unit/test.h"

#include <math.h>

#include "formats/base/rng.h"
#include "predict/hybrid/anova.h"

enum { MOST = 400, LEVELS = 6, COLUMNS = LEVELS * LEVELS };

/* Observations, cell by cell: level b fastest. */
struct sample {
    double values[MOST];
    uint32_t counts[COLUMNS];
    size_t a_levels, b_levels, count;
};

static struct anova analyse(const struct sample *sample)
{
    struct sample own = *sample;
    struct experiment experiment = {own.values, 0, own.counts, own.a_levels, own.b_levels};
    struct anova anova;

    for (size_t c = 0; c < own.a_levels * own.b_levels; c++)
        experiment.count += own.counts[c];
    assert_true(anova_make(&anova, &experiment));
    return anova;
}

static struct anova analyse_data(const double *values, const uint32_t *counts, size_t a_levels,
                                 size_t b_levels)
{
    struct sample sample = {.a_levels = a_levels, .b_levels = b_levels};

    memcpy(sample.counts, counts, a_levels * b_levels * sizeof *counts);
    for (size_t c = 0; c < a_levels * b_levels; c++)
        sample.count += counts[c];
    memcpy(sample.values, values, sample.count * sizeof *values);
    return analyse(&sample);
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

TEST(has_battery)
{
    static const uint32_t counts[] = {4, 4, 4, 4, 4, 4, 4, 4, 4};
    const struct anova anova = analyse_data(battery, counts, 3, 3);

    is_effect(&anova.effects[ANOVA_A], 2, 10683.72222222223, 7.91137226938003, 1.97608259090752e-3);
    is_effect(&anova.effects[ANOVA_B], 2, 39118.72222222219, 28.96769194904212,
              1.90859589743321e-7);
    is_effect(&anova.effects[ANOVA_INTERACTION], 4, 9613.77777777778, 3.55953540035380,
              1.86111681889417e-2);
    near(anova.effects[ANOVA_OVERALL].f, 10.99953, 1e-6);
    near(anova.effects[ANOVA_OVERALL].p, 9.426e-7, 1e-4);
    near(anova.effects[ANOVA_A].partial_eta_squared, 10683.722222 / (10683.722222 + 18230.75),
         1e-9);
    near(anova.effects[ANOVA_RESIDUAL].sum_of_squares, 18230.75, 1e-12);
    assert_true(anova.effects[ANOVA_RESIDUAL].df == 27 && anova.is_balanced);
    near(anova.anderson_darling, 0.3403365521296, 1e-11);
    near(anova.anderson_darling_p, 0.47777824891, 1e-10);
    near(anova.brown_forsythe, 0.799597044996642, 1e-12);
    near(anova.brown_forsythe_p, 0.60813305008743, 1e-12);
    near(anova.largest, 2.69957417483253, 1e-12);
    assert_int_equal(anova.largest_of, 2);
}

/* Blood pressure by drug and disease: Afifi and Azen, "Statistical Analysis: A Computer Oriented
 * Approach", 1972, p. 166, with one value of Kutner, The American Statistician 28, 1974; in the
 * SAS/STAT user's guide, "Unbalanced ANOVA for Two-Way Design with Interaction": type III sums of
 * squares 2997.471860, 415.873046, 707.266259; F 9.05, 1.88, 1.07; p <.0001, 0.1637, 0.3958. */
TEST(has_drugs)
{
    static const uint32_t counts[] = {6, 4, 5, 5, 4, 6, 3, 5, 4, 5, 6, 5};
    static const double values[] = {42, 44, 36, 13, 19, 22, 33, 26, 33, 21, 31, -3, 25, 25, 24,
                                    28, 23, 34, 42, 13, 34, 33, 31, 36, 3,  26, 28, 32, 4,  16,
                                    1,  29, 19, 11, 9,  7,  1,  -6, 21, 1,  9,  3,  24, 9,  22,
                                    -2, 15, 27, 12, 12, -5, 16, 15, 22, 7,  25, 5,  12};
    const struct anova anova = analyse_data(values, counts, 4, 3);

    is_effect(&anova.effects[ANOVA_A], 3, 2997.471860484740, 9.04603299222225, 8.08638797980265e-5);
    is_effect(&anova.effects[ANOVA_B], 2, 415.873046321753, 1.88258712977251, 0.163735540675586);
    is_effect(&anova.effects[ANOVA_INTERACTION], 6, 707.266259308359, 1.06722501724409,
              0.395845825432215);
    near(anova.effects[ANOVA_OVERALL].sum_of_squares, 4259.338505747, 1e-12);
    near(anova.effects[ANOVA_RESIDUAL].sum_of_squares, 5080.816666666667, 1e-12);
    near(anova.anderson_darling_p, 0.184937480885314, 1e-10);
    near(anova.brown_forsythe, 0.811451814598465, 1e-12);
    assert_false(anova.is_balanced);
}

/* The sets of Simon and Lesage ("Assessing the accuracy of ANOVA calculations in statistical
 * software", 1989) that NIST's Statistical Reference Datasets have as SmLs01, SmLs04 and SmLs07:
 * nine treatments of 21 replicates behind a large constant; certified F = 21, residual 1.8. */
TEST(has_large_constants)
{
    static const double constants[] = {1, 1e6, 1e12}, tolerances[] = {1e-13, 1e-8, 1e-3};

    for (int set = 0; set < 3; set++) {
        struct sample sample = {.count = 189, .a_levels = 3, .b_levels = 3};
        struct anova anova;
        for (int i = 0; i < 189; i++) {
            const int treatment = i / 21, replicate = i % 21;
            const double level = treatment == 0 ? 0.4 : treatment % 2 ? 0.3 : 0.5;
            sample.counts[treatment]++;
            sample.values[i] = constants[set] + (level + (replicate == 0  ? 0
                                                          : replicate % 2 ? -0.1
                                                                          : 0.1));
        }
        anova = analyse(&sample);
        near(anova.effects[ANOVA_OVERALL].f, 21, tolerances[set]);
        near(anova.effects[ANOVA_RESIDUAL].sum_of_squares, 1.8, tolerances[set]);
        assert_true(anova.effects[ANOVA_OVERALL].df == 8);
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
static double residual_of(const struct sample *sample, unsigned terms)
{
    static double columns[COLUMNS][MOST];
    const uint32_t a_levels = (uint32_t)sample->a_levels, b_levels = (uint32_t)sample->b_levels;
    double left[MOST], sum = 0;
    uint32_t a[MOST], b[MOST];
    size_t count = 0, n = 0;

    for (uint32_t c = 0; c < a_levels * b_levels; c++)
        for (uint32_t i = 0; i < sample->counts[c]; i++, n++) {
            a[n] = c / b_levels;
            b[n] = c % b_levels;
        }

    for (size_t i = 0; i < n; i++)
        columns[0][i] = 1, left[i] = sample->values[i];
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

/* One to five observations a cell, or three of all. */
static void make_random(struct sample *sample, struct psnap_rng *rng, bool balanced)
{
    *sample = (struct sample){.a_levels = 2 + (size_t)(psnap_rng_uniform(rng) * (LEVELS - 1)),
                              .b_levels = 2 + (size_t)(psnap_rng_uniform(rng) * (LEVELS - 1))};
    for (size_t c = 0; c < sample->a_levels * sample->b_levels; c++) {
        const size_t a = c / sample->b_levels, b = c % sample->b_levels;
        sample->counts[c] = balanced ? 3 : (c ? 1 : 2) + (uint32_t)(psnap_rng_uniform(rng) * 5);
        for (uint32_t i = 0; i < sample->counts[c]; i++)
            sample->values[sample->count++] =
                1 + psnap_rng_uniform(rng) + 0.3 * (double)a - 0.1 * (double)b;
    }
}

/* Type III: the residual of a model without an effect less that of the full one. */
TEST(is_as_models)
{
    struct sample sample;
    struct psnap_rng rng;

    psnap_rng_init(&rng, 7);
    for (int i = 0; i < 60; i++) {
        struct anova anova;
        double all;
        make_random(&sample, &rng, i % 3 == 0);
        anova = analyse(&sample);
        all = residual_of(&sample, TERM_A | TERM_B | TERM_BOTH);
        near(anova.effects[ANOVA_RESIDUAL].sum_of_squares, all, 1e-10);
        near(anova.effects[ANOVA_OVERALL].sum_of_squares, residual_of(&sample, 0) - all, 1e-8);
        near(anova.effects[ANOVA_A].sum_of_squares, residual_of(&sample, TERM_B | TERM_BOTH) - all,
             1e-8);
        near(anova.effects[ANOVA_B].sum_of_squares, residual_of(&sample, TERM_A | TERM_BOTH) - all,
             1e-8);
        near(anova.effects[ANOVA_INTERACTION].sum_of_squares,
             residual_of(&sample, TERM_A | TERM_B) - all, 1e-8);
        if (anova.is_balanced) /* the effects add up */
            near(anova.effects[ANOVA_A].sum_of_squares + anova.effects[ANOVA_B].sum_of_squares +
                     anova.effects[ANOVA_INTERACTION].sum_of_squares,
                 anova.effects[ANOVA_OVERALL].sum_of_squares, 1e-12);
    }
}

/* --------------------------------------------------------------------- problems */

TEST(names_problems)
{
    static const double values[] = {1, 2, 3, 5, 5, 6, 9, 8}, same[] = {1, 1, 1, 1, 1, 1, 1, 1};
    static const double twice[] = {0.1, 0.1, 0.2, 0.2, 0.3, 0.3, 0.7, 0.7};
    static const uint32_t twos[] = {2, 2, 2, 2}, ones[] = {1, 1, 1, 1}, gap[] = {2, 2, 2, 0};
    struct experiment large = {.a_levels = 65, .b_levels = 64};
    struct anova anova;

    assert_int_equal(analyse_data(values, twos, 2, 2).problem, ANOVA_FINE);
    assert_int_equal(analyse_data(values, twos, 1, 4).problem, ANOVA_ONE_LEVEL);
    assert_int_equal(analyse_data(values, twos, 4, 1).problem, ANOVA_ONE_LEVEL);
    assert_int_equal(analyse_data(same, twos, 2, 2).problem, ANOVA_NO_RESIDUAL);
    assert_int_equal(analyse_data(twice, twos, 2, 2).problem, ANOVA_NO_RESIDUAL);
    assert_int_equal(analyse_data(values, ones, 2, 2).problem, ANOVA_NO_REPLICATES);
    anova = analyse_data(values, gap, 2, 2);
    assert_int_equal(anova.problem, ANOVA_EMPTY_CELL);
    assert_true(anova.problem_a == 1 && anova.problem_b == 1);
    assert_true(anova_make(&anova, &large) && anova.problem == ANOVA_TOO_LARGE);
}

/* Two in each cell are as far from their median, and few say nothing of normality. */
TEST(knows_what_it_cannot_check)
{
    static const double values[] = {1, 2, 3, 5, 5, 6, 9, 8};
    static const uint32_t twos[] = {2, 2, 2, 2}, few[] = {2, 1, 1, 1};
    struct anova anova = analyse_data(values, twos, 2, 2);

    assert_true(isnan(anova.brown_forsythe) && isfinite(anova.anderson_darling));
    anova = analyse_data(values, few, 2, 2);
    assert_int_equal(anova.problem, ANOVA_FINE);
    assert_true(anova.effects[ANOVA_RESIDUAL].df == 1 && isnan(anova.anderson_darling));
}
