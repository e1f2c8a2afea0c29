/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * m0: worked by hand; latencies t_i that come back from data made with them; from which size it is
 * steady; machines that differ by a constant. And the whole analysis: hypotheses against the
 * experiment they are, verdicts, and what is refused.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "predict/hybrid/hybrid.h"
#include "predict/hybrid/numeric.h"

static const double steady = 0.05;

static void near(double value, double expected, double tolerance)
{
    if (!(fabs(value - expected) <= tolerance))
        fail_msg("%.15g is not %.15g", value, expected);
}

static void begin(struct observations *observations)
{
    struct psnap_error error;

    assert_int_equal(observations_init(observations, &error), PSNAP_OK);
}

/* Of one level beyond level 1, T = 100, with h = 0.01: cpi_memory is 1 - m0. */
static void add(struct observations *observations, const char *code, const char *machine,
                double size, double m0, double pipeline)
{
    struct observation row = {.size = size, .levels = 1, .path = "in"};
    struct psnap_error error;

    for (int i = 0; i < OBSERVED_LEVELS_MAX; i++)
        row.hits[i] = row.latencies[i] = NAN;
    row.code = observations_name(observations, &observations->codes, code);
    row.machine = observations_name(observations, &observations->machines, machine);
    row.hits[0] = 0.01;
    row.latencies[0] = 100;
    row.cpi_memory = 1 - m0;
    row.cpi_pipeline = pipeline;
    row.cpi = row.cpi_memory + row.cpi_pipeline;
    assert_int_equal(observations_add(observations, &row, &error), PSNAP_OK);
}

static struct m0_curve curve_of(const struct observations *observations, uint32_t machine)
{
    struct m0_curve curve;
    struct psnap_error error;

    assert_int_equal(m0_curve_make(&curve, observations, 0, machine, steady, &error), PSNAP_OK);
    return curve;
}

/* h_2 T_2 + h_3 T_3 = 0.02 10 + 0.001 200 = 0.4; cpi_memory 0.1: m0 = 1 - 0.1 / 0.4 = 0.75. */
static void is_as_by_hand(void **state)
{
    struct observation row = {.levels = 2, .cpi_memory = 0.1};

    (void)state;
    row.hits[0] = 0.02, row.hits[1] = 0.001;
    row.latencies[0] = 10, row.latencies[1] = 200;
    near(m0_of(&row), 0.75, 1e-15);
    row.latencies[1] = NAN;
    assert_true(isnan(m0_of(&row)));
    row.hits[1] = 0; /* then its latency does not matter */
    near(m0_of(&row), 0.5, 1e-15);
    row.hits[0] = 0;
    assert_true(isnan(m0_of(&row)));
    row.levels = 0;
    assert_true(isnan(m0_of(&row)));
}

/* cpi_memory = 4 h_2 + 90 h_3 at four sizes, T = 10, 200; at the first, h = 0.02, 0.001:
 * m0 = 1 - (0.08 + 0.09) / (0.2 + 0.2) = 0.575. */
static void finds_latencies(void **state)
{
    static const double hits[4][2] = {{0.02, 0.001}, {0.03, 0.001}, {0.03, 0.004}, {0.01, 0.006}};
    struct observations observations;
    struct m0_curve curve;

    (void)state;
    begin(&observations);
    for (int s = 3; s >= 0; s--) { /* in any order */
        struct observation *row;
        add(&observations, "cg", "A", 10 * (s + 1), 0, 0.5);
        row = &observations.rows[observations.count - 1];
        row->levels = 3;
        row->hits[2] = 0; /* a level that nothing comes to */
        for (int l = 0; l < 2; l++)
            row->hits[l] = hits[s][l], row->latencies[l] = l ? 200 : 10;
        row->cpi_memory = 4 * hits[s][0] + 90 * hits[s][1];
    }
    curve = curve_of(&observations, 0);
    assert_true(curve.has_latencies && curve.count == 4 && curve.levels == 3);
    near(curve.latencies[0], 4, 1e-10);
    near(curve.latencies[1], 90, 1e-10);
    assert_true(isnan(curve.latencies[2]));
    near(curve.fit_error, 0, 1e-12);
    near(curve.points[0].m0, 0.575, 1e-12);
    near(curve.points[0].m0_fitted, 0.575, 1e-12);
    assert_true(curve.points[0].size == 10 && isnan(curve.points[0].deviation));
    m0_curve_release(&curve);

    for (size_t i = 0; i < observations.count; i++) /* in proportion: which level is it? */
        observations.rows[i].hits[1] = observations.rows[i].hits[0] / 10;
    curve = curve_of(&observations, 0);
    assert_false(curve.has_latencies);
    assert_non_null(strstr(curve.why_no_latencies, "proportion"));
    assert_true(isnan(curve.points[0].m0_fitted) && !isnan(curve.points[0].m0));
    m0_curve_release(&curve);

    observations.count = 1;
    curve = curve_of(&observations, 0);
    assert_non_null(strstr(curve.why_no_latencies, "fewer sizes than levels"));
    m0_curve_release(&curve);
    observations_release(&observations);
}

/* The unconstrained solution is (2, -1); the best with none below 0 is that of the first column
 * alone, (1 + 5/3) / 2. */
static void keeps_latencies_above_zero(void **state)
{
    static const double matrix[] = {1, 1, 1, 1.0 / 3}, memory[] = {1, 5.0 / 3};
    double coefficients[2], left;
    bool is_unique;
    struct psnap_error error;

    (void)state;
    assert_int_equal(
        numeric_least_squares(matrix, 2, 2, memory, coefficients, &left, &is_unique, &error),
        PSNAP_OK);
    near(coefficients[0], 2, 1e-12);
    near(coefficients[1], -1, 1e-12);
    assert_int_equal(numeric_least_squares_nonnegative(matrix, 2, 2, memory, coefficients, &left,
                                                       &is_unique, &error),
                     PSNAP_OK);
    near(coefficients[0], 4.0 / 3, 1e-12);
    near(coefficients[1], 0, 0);
    near(left, 2.0 / 9, 1e-12); /* (1 - 4/3)^2 + (5/3 - 4/3)^2 */
    assert_int_equal(numeric_least_squares_nonnegative(matrix, 1, 2, memory, coefficients, &left,
                                                       &is_unique, &error),
                     PSNAP_OK);
    assert_false(is_unique);
}

/* From 75 on the mean is 0.60, and all are within 0.05 of it; from 50 on it is 0.56, and 0.40 is
 * 0.16 off. */
static void finds_steady_sizes(void **state)
{
    static const double sizes[] = {25, 50, 75, 100, 150, 200};
    static const double m0[] = {0.2, 0.4, 0.55, 0.65, 0.6, 0.6};
    struct observations observations;
    struct m0_curve curve;

    (void)state;
    begin(&observations);
    for (int s = 0; s < 6; s++)
        add(&observations, "cg", "A", sizes[s], m0[s], 1);
    for (int s = 0; s < 6; s++)
        add(&observations, "cg", "B", sizes[s], 0.3 * s, 1);
    for (int s = 0; s < 2; s++)
        add(&observations, "cg", "C", sizes[s], 0.5, 1);
    curve = curve_of(&observations, 0);
    assert_true(curve.is_steady && curve.steady_from == 75);
    near(curve.steady_mean, 0.6, 1e-12);
    near(curve.steady_deviation, sqrt((0.0025 + 0.0025) / 3), 1e-12);
    near(curve.mean, 0.5, 1e-12);
    m0_curve_release(&curve);
    curve = curve_of(&observations, 1);
    assert_false(curve.is_steady);
    assert_true(isnan(curve.steady_from));
    m0_curve_release(&curve);
    curve = curve_of(&observations, 2); /* two sizes say nothing, as alike as they are */
    assert_false(curve.is_steady);
    m0_curve_release(&curve);
    observations_release(&observations);
}

/* Replicates: cpi_memory 0.4 and 0.6 make m0 0.5, of standard deviation sqrt(0.02). */
static void joins_replicates(void **state)
{
    struct observations observations;
    struct m0_curve curve;

    (void)state;
    begin(&observations);
    add(&observations, "cg", "A", 10, 0.6, 1);
    add(&observations, "cg", "A", 10, 0.4, 1);
    curve = curve_of(&observations, 0);
    assert_true(curve.count == 1 && curve.points[0].count == 2);
    near(curve.points[0].m0, 0.5, 1e-12);
    near(curve.points[0].deviation, sqrt(0.02), 1e-12);
    m0_curve_release(&curve);
    observations_release(&observations);
}

/* B - A is 0.10, 0.12, 0.08 at their common sizes: 0.10, at most 0.02 from it. */
static void compares_machines(void **state)
{
    struct observations observations;
    struct m0_curve first, second;
    struct m0_difference difference;

    (void)state;
    begin(&observations);
    add(&observations, "cg", "A", 10, 0.2, 1);
    add(&observations, "cg", "A", 15, 0.9, 1);
    add(&observations, "cg", "A", 20, 0.3, 1);
    add(&observations, "cg", "A", 30, 0.4, 1);
    add(&observations, "cg", "B", 5, 0.9, 1);
    add(&observations, "cg", "B", 10, 0.3, 1);
    add(&observations, "cg", "B", 20, 0.42, 1);
    add(&observations, "cg", "B", 30, 0.48, 1);
    add(&observations, "cg", "C", 99, 0.48, 1);
    first = curve_of(&observations, 0);
    second = curve_of(&observations, 1);
    m0_compare(&difference, &first, &second, 0, steady);
    assert_true(difference.sizes == 3 && difference.is_constant);
    near(difference.mean, 0.1, 1e-12);
    near(difference.largest, 0.02, 1e-12);
    m0_compare(&difference, &first, &second, 0, 0.01);
    assert_false(difference.is_constant);
    m0_compare(&difference, &first, &second, 20, steady);
    assert_true(difference.sizes == 2 && !difference.is_constant); /* too few */
    m0_compare(&difference, &first, &second, NAN, steady);
    assert_true(!difference.sizes && !difference.is_constant);
    m0_curve_release(&second);
    second = curve_of(&observations, 2);
    m0_compare(&difference, &first, &second, 0, steady);
    assert_true(!difference.sizes && isnan(difference.mean) && !difference.is_constant);
    m0_curve_release(&first);
    m0_curve_release(&second);
    observations_release(&observations);
}

/* ------------------------------------------------------------------ the analysis */

static const struct hybrid_options options = {.level = 0.05, .steady = 0.05};

/* Noise of a few thousandths, another one each time. */
static double noise(unsigned *state)
{
    *state = *state * 1103515245u + 12345u;
    return ((double)(*state >> 16 & 1023) / 1023 - 0.5) * 0.01;
}

/* Two codes on two machines at five sizes, three of each; lu's m0 falls. */
static void make_observations(struct observations *observations)
{
    unsigned state = 1;

    begin(observations);
    for (int c = 0; c < 2; c++)
        for (int m = 0; m < 2; m++)
            for (int s = 1; s <= 5; s++)
                for (int r = 0; r < 3; r++)
                    add(observations, c ? "lu" : "cg", m ? "B" : "A", 25 * s,
                        (c       ? 0.9 - 0.15 * s
                         : s < 3 ? 0.2 * s
                                 : 0.55) +
                            0.1 * m + noise(&state),
                        (c ? 0.5 : 0.7) + noise(&state));
}

static void says_what_scales(void **state)
{
    struct observations observations;
    struct hybrid hybrid;
    struct psnap_error error;
    const struct hybrid_code *code;

    (void)state;
    make_observations(&observations);
    assert_int_equal(hybrid_make(&hybrid, &observations, &options, &error), PSNAP_OK);
    assert_int_equal(hybrid.code_count, 2);
    code = &hybrid.codes[0];
    assert_true(code->has_experiment && code->experiment.is_balanced && code->count == 30);
    assert_true(code->experiment.effects[ANOVA_A].df == 4 && code->experiment.residual_df == 20);
    assert_true(code->is_known && code->is_predictable && code->steady_from == 75);
    assert_true(code->is_constant && code->pair_count == 1);
    near(code->pairs[0].difference.mean, 0.1, 0.01);
    assert_true(code->parallel_df == 4 && code->parallel_residual_df == 20);
    assert_true(code->parallel_p > 0.001);
    assert_non_null(strstr(code->verdict, "scales predictably from n = 75; m0 on 'B' differs from "
                                          "that on 'A' by a constant, +0.1"));
    code = &hybrid.codes[1];
    assert_true(code->is_known && !code->is_predictable && isnan(code->steady_from));
    assert_non_null(strstr(code->verdict, "does not scale predictably: m0 on 'A' does not settle "
                                          "within 0.05 of a mean, up to n = 125"));
    hybrid_release(&hybrid);
    observations_release(&observations);
}

/* Machines differ by less and less, and by a constant where m0 is steady on both. */
static void says_where_it_is_constant(void **state)
{
    static const double m0[2][6] = {{0.2, 0.3, 0.55, 0.55, 0.55, 0.55},
                                    {0.5, 0.55, 0.65, 0.65, 0.65, 0.65}};
    struct hybrid_options replicates = options;
    struct observations observations;
    struct hybrid hybrid;
    struct psnap_error error;
    const struct hybrid_code *code;

    (void)state;
    replicates.sizes_as_replicates = true;
    begin(&observations);
    for (int m = 0; m < 2; m++)
        for (int s = 0; s < 6; s++)
            add(&observations, "cg", m ? "B" : "A", 10 * (s + 1), m0[m][s], 1);
    assert_int_equal(hybrid_make(&hybrid, &observations, &replicates, &error), PSNAP_OK);
    code = &hybrid.codes[0];
    assert_true(code->is_predictable && code->steady_from == 30);
    assert_true(!code->is_constant && code->is_constant_there);
    assert_true(code->pairs[0].difference.sizes == 6 && code->pairs[0].steady.sizes == 4);
    near(code->pairs[0].steady.mean, 0.1, 1e-9);
    assert_string_equal(code->verdict, "scales predictably from n = 30; from there on m0 on 'B' "
                                       "differs from that on 'A' by a constant, +0.100");
    hybrid_release(&hybrid);
    observations_release(&observations);
}

/* Each is an effect of codes x machines on means of replicates. */
static void tests_hypotheses(void **state)
{
    static const int effects[] = {ANOVA_OVERALL, ANOVA_A, ANOVA_B, ANOVA_INTERACTION};
    struct observations observations;
    struct hybrid hybrid;
    struct psnap_error error;
    double values[3][20];
    uint32_t codes[20], machines[20];

    (void)state;
    make_observations(&observations);
    add(&observations, "cg", "A", 25, 0.21, 0.7); /* a fourth one weighs no more */
    assert_int_equal(hybrid_make(&hybrid, &observations, &options, &error), PSNAP_OK);
    memset(values, 0, sizeof values);
    for (size_t i = 0; i < observations.count; i++) {
        const struct observation *row = &observations.rows[i];
        const size_t cell = row->code * 10 + row->machine * 5 + (size_t)(row->size / 25) - 1;
        const double share = cell ? 1.0 / 3 : 0.25;
        codes[cell] = row->code, machines[cell] = row->machine;
        values[0][cell] += share * row->cpi;
        values[1][cell] += share * row->cpi_pipeline;
        values[2][cell] += share * row->cpi_memory;
    }
    for (int h = 0; h < HYPOTHESES; h++) {
        const int response = h == HYPOTHESIS_CODE ? 1 : h == HYPOTHESIS_MACHINE ? 2 : 0;
        const struct experiment experiment = {values[response], codes, machines, 20, 2, 2};
        struct anova anova;
        assert_int_equal(anova_make(&anova, &experiment, &error), PSNAP_OK);
        assert_true(hybrid.hypotheses[h].is_tested && hybrid.hypotheses[h].residual_df == 16);
        near(hybrid.hypotheses[h].effect.f, anova.effects[effects[h]].f, 1e-8);
        assert_true(hybrid.hypotheses[h].is_rejected == (anova.effects[effects[h]].p < 0.05));
        assert_non_null(hypothesis_next(h, false));
    }
    assert_true(hybrid.hypotheses[HYPOTHESIS_CODE].is_rejected);
    hybrid_release(&hybrid);
    observations_release(&observations);
}

/* Makes the analysis, and returns its message. */
static const char *refusal(const struct observations *observations, struct psnap_error *error)
{
    struct hybrid hybrid;

    *error = (struct psnap_error){0};
    if (hybrid_make(&hybrid, observations, &options, error) == PSNAP_OK && hybrid.refused)
        *error = hybrid.codes[0].refusal;
    hybrid_release(&hybrid);
    return error->message;
}

static void expect_refusal(const struct observations *observations, const char *message)
{
    struct psnap_error error;

    if (!strstr(refusal(observations, &error), message))
        fail_msg("'%s' is not in '%s'", message, error.message);
}

static void refuses(void **state)
{
    struct observations observations;

    (void)state;
    begin(&observations);
    add(&observations, "cg", "A", 10, 0.5, 1);
    add(&observations, "cg", "A", 10, 0.6, 1);
    expect_refusal(&observations, "code 'cg' was observed at one size alone, 10");
    add(&observations, "cg", "A", 20, 0.7, 1);
    expect_refusal(&observations, "on one machine alone, 'A'");
    add(&observations, "cg", "B", 20, 0.8, 1);
    expect_refusal(&observations, "no observation of size 10 on machine 'B': an empty cell");
    add(&observations, "cg", "B", 10, 0.9, 1);
    observations.rows[1] = observations.rows[--observations.count];
    expect_refusal(&observations, "code 'cg' has too few replicates");
    for (int i = 0; i < 4; i++)
        observations.rows[i].cpi = 1;
    add(&observations, "cg", "B", 10, 1, 1);
    expect_refusal(&observations, "has a constant response: cpi is 1 in all 5");
    observations.rows[0].cpi = 3;
    expect_refusal(&observations, "replicates that are all the same");
    observations_release(&observations);
}

static void does_without(void **state)
{
    struct observations observations;
    struct hybrid hybrid;
    struct hybrid_options of_sizes = options;
    struct psnap_error error;

    (void)state;
    of_sizes.sizes_as_replicates = true;
    make_observations(&observations);
    for (size_t i = 0; i < observations.count; i++)
        observations.rows[i].cpi_memory = observations.rows[i].cpi_pipeline = NAN;
    assert_int_equal(hybrid_make(&hybrid, &observations, &of_sizes, &error), PSNAP_OK);
    assert_false(hybrid.codes[0].has_experiment);
    assert_non_null(strstr(hybrid.codes[0].verdict, "no verdict: m0 is not known on 'A'"));
    assert_true(hybrid.hypotheses[HYPOTHESIS_OVERALL].is_tested);
    assert_false(hybrid.hypotheses[HYPOTHESIS_CODE].is_tested);
    assert_non_null(strstr(hybrid.hypotheses[HYPOTHESIS_CODE].why, "cpi_pipeline is not known"));
    hybrid_release(&hybrid);

    observations.count = 30;
    observations.codes.count = 1;
    assert_int_equal(hybrid_make(&hybrid, &observations, &of_sizes, &error), PSNAP_ERROR_VALUE);
    assert_string_equal(error.message, "with sizes as replicates nothing is left: there is one "
                                       "code alone: observe two or more");
    hybrid_release(&hybrid);
    observations_release(&observations);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_as_by_hand),
        cmocka_unit_test(finds_latencies),
        cmocka_unit_test(keeps_latencies_above_zero),
        cmocka_unit_test(finds_steady_sizes),
        cmocka_unit_test(joins_replicates),
        cmocka_unit_test(compares_machines),
        cmocka_unit_test(says_what_scales),
        cmocka_unit_test(says_where_it_is_constant),
        cmocka_unit_test(tests_hypotheses),
        cmocka_unit_test(refuses),
        cmocka_unit_test(does_without),
    };
    struct psnap_error error;

    if (numeric_check(&error) != PSNAP_OK)
        return 0; /* a build without GSL */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
