/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * m0: worked by hand; latencies t_i that come back from data made with them; from which size it is
 * steady; machines that differ by a constant. And the whole analysis: hypotheses against the
 * experiment they are, verdicts, and what is refused.
 */
#include "tests/unit/test.h"

#include <math.h>

#include "predict/hybrid/hybrid.h"

static const struct hybrid_options options = {.level = 0.05, .steady = 0.05};
static const struct hybrid_options of_sizes = {0.05, 0.05, .sizes_as_replicates = true};

static void near(double value, double expected, double tolerance)
{
    if (!(fabs(value - expected) <= tolerance))
        fail_msg("%.15g is not %.15g", value, expected);
}

/* A table that is written, then read and analysed. */
static char text[1 << 16];
static size_t used;
static struct observations observations;
static struct hybrid hybrid;

static int begin(void **state)
{
    (void)state;
    used = (size_t)snprintf(text, sizeof text,
                            "code,machine,size,cpi_pipeline,cpi_memory,hits2,latency2,hits3,"
                            "latency3\n");
    observations = (struct observations){.arena = psnap_arena_new()};
    return observations.arena ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    observations_release(&observations);
    psnap_arena_free(observations.arena);
    return 0;
}

static void add_line(const char *code, const char *machine, double size, double pipeline,
                     double memory, const double hits[2], const double latencies[2])
{
    used += (size_t)snprintf(text + used, sizeof text - used,
                             "%s,%s,%g,%.17g,%.17g,%.17g,%g,%.17g,%g\n", code, machine, size,
                             pipeline, memory, hits[0], latencies[0], hits[1], latencies[1]);
    assert_true(used < sizeof text);
}

/* Of one level beyond level 1, T = 100, with h = 0.01: cpi_memory is 1 - m0. */
static void add(const char *code, const char *machine, double size, double m0, double pipeline)
{
    add_line(code, machine, size, pipeline, 1 - m0, (double[]){0.01, 0}, (double[]){100, 400});
}

static enum psnap_status analyse(const struct hybrid_options *settings, struct psnap_error *error)
{
    FILE *file = fmemopen(text, used, "r");
    enum psnap_status status;

    assert_non_null(file);
    status = observations_read(&observations, file, "in", error);
    fclose(file);
    return status ? status : hybrid_make(&hybrid, &observations, settings, error);
}

static const struct hybrid_code *code_of(const struct hybrid_options *settings)
{
    struct psnap_error error;

    assert_int_equal(analyse(settings, &error), PSNAP_OK);
    return hybrid.codes;
}

/* h_2 T_2 + h_3 T_3 = 0.02 10 + 0.001 200 = 0.4; cpi_memory 0.1: m0 = 1 - 0.1 / 0.4 = 0.75. */
TEST(is_as_by_hand)
{
    struct observation row = {.levels = 2, .cpi_memory = 0.1};

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
 * m0 = 1 - (0.08 + 0.09) / (0.2 + 0.2) = 0.575. On B hits are in proportion: which level is it? On
 * C there is one size for two levels. On D the best latencies are (2, -1), the best ones from 0 on
 * (4/3, 0): what is left of 1 and 5/3 is (1 - 4/3)^2 + (5/3 - 4/3)^2. */
TEST_WITHIN(begin, end, finds_latencies)
{
    static const double hits[4][2] = {{0.02, 0.001}, {0.03, 0.001}, {0.03, 0.004}, {0.01, 0.006}};
    static const double latencies[] = {10, 200};
    const struct m0_curve *curve;

    for (int s = 3; s >= 0; s--) { /* in any order */
        const double proportional[] = {hits[s][0], hits[s][0] / 10};
        add_line("cg", "A", 10 * (s + 1), 0.5, 4 * hits[s][0] + 90 * hits[s][1], hits[s],
                 latencies);
        add_line("cg", "B", 10 * (s + 1), 0.5, hits[s][0], proportional, latencies);
    }
    add_line("cg", "C", 10, 0.5, 0.1, hits[0], latencies);
    add_line("cg", "D", 10, 0.5, 1, (double[]){0.5, 0.5}, latencies);
    add_line("cg", "D", 20, 0.5, 5.0 / 3, (double[]){0.5, 0.5 / 3}, latencies);
    curve = code_of(&of_sizes)->curves;
    assert_true(!curve->why_no_latencies && curve->sizes == 4 && curve->levels == 2);
    near(curve->average_cycles[0], 4, 1e-10);
    near(curve->average_cycles[1], 90, 1e-10);
    near(curve->fit_error, 0, 1e-12);
    near(curve->points[0].m0, 0.575, 1e-12);
    near(curve->points[0].m0_fitted, 0.575, 1e-12);
    assert_true(curve->points[0].size == 10);
    assert_non_null(strstr(curve[1].why_no_latencies, "proportion"));
    assert_true(isnan(curve[1].points[0].m0_fitted) && !isnan(curve[1].points[0].m0));
    assert_non_null(strstr(curve[2].why_no_latencies, "fewer sizes than levels"));
    near(curve[3].average_cycles[0], 8.0 / 3, 1e-12);
    near(curve[3].average_cycles[1], 0, 0);
    near(curve[3].fit_error, sqrt(2.0 / 9 / (1 + 25.0 / 9)), 1e-12);
}

/* From 75 on the mean is 0.60, and all are within 0.05 of it; from 50 on it is 0.56, and 0.40 is
 * 0.16 off. Two replicates of 0.6 and 0.4 are one point of 0.5. */
TEST_WITHIN(begin, end, finds_steady_sizes)
{
    static const double sizes[] = {25, 50, 75, 100, 150, 200};
    static const double m0[] = {0.2, 0.4, 0.55, 0.65, 0.6, 0.6};
    const struct m0_curve *curve;

    for (int s = 0; s < 6; s++)
        add("cg", "A", sizes[s], m0[s], 1);
    for (int s = 0; s < 6; s++)
        add("cg", "B", sizes[s], 0.3 * s - 0.6, 1);
    add("cg", "C", 10, 0.6, 1);
    add("cg", "C", 10, 0.4, 1);
    add("cg", "C", 20, 0.5, 1);
    curve = code_of(&of_sizes)->curves;
    assert_true(curve->is_steady == ANSWER_YES && curve->steady_from == 75);
    near(curve->steady_mean, 0.6, 1e-12);
    near(curve->steady_deviation, sqrt((0.0025 + 0.0025) / 3), 1e-12);
    near(curve->mean, 0.5, 1e-12);
    assert_true(curve[1].is_steady == ANSWER_NO && isnan(curve[1].steady_from));
    assert_true(curve[2].is_steady == ANSWER_UNKNOWN && curve[2].sizes == 2);
    assert_int_equal(curve[2].points[0].observations, 2);
    near(curve[2].points[0].m0, 0.5, 1e-12);
}

/* B - A is 0.10, 0.12, 0.08 at their common sizes: 0.10, at most 0.02 from it. */
TEST_WITHIN(begin, end, compares_machines)
{
    const struct m0_curve *curve;
    struct m0_difference difference;

    add("cg", "A", 10, 0.2, 1);
    add("cg", "A", 15, 0.9, 1);
    add("cg", "A", 20, 0.3, 1);
    add("cg", "A", 30, 0.4, 1);
    add("cg", "B", 5, 0.9, 1);
    add("cg", "B", 10, 0.3, 1);
    add("cg", "B", 20, 0.42, 1);
    add("cg", "B", 30, 0.48, 1);
    add("cg", "C", 99, 0.48, 1);
    curve = code_of(&of_sizes)->curves;
    difference = m0_compare(&curve[0], &curve[1], 0, 0.05);
    assert_true(difference.sizes == 3 && difference.is_constant == ANSWER_YES);
    near(difference.mean, 0.1, 1e-12);
    near(difference.largest, 0.02, 1e-12);
    assert_int_equal(m0_compare(&curve[0], &curve[1], 0, 0.01).is_constant, ANSWER_NO);
    difference = m0_compare(&curve[0], &curve[1], 20, 0.05);
    assert_true(difference.sizes == 2 && difference.is_constant == ANSWER_UNKNOWN);
    difference = m0_compare(&curve[0], &curve[2], 0, 0.05);
    assert_true(!difference.sizes && isnan(difference.mean));
    assert_int_equal(hybrid.codes->pair_count, 1);
}

/* ------------------------------------------------------------------ the analysis */

/* Noise of a few thousandths, another one each time. */
static double noise(void)
{
    static unsigned state = 1;

    state = state * 1103515245u + 12345u;
    return ((double)(state >> 16 & 1023) / 1023 - 0.5) * 0.01;
}

/* Two codes on two machines at five sizes, three of each; lu's m0 falls. */
static void add_codes(void)
{
    for (int i = 0; i < 60; i++) {
        const int c = i / 30, m = i / 15 % 2, s = i / 3 % 5 + 1;
        const double m0 = c ? 0.9 - 0.15 * s : s < 3 ? 0.2 * s : 0.55;
        add(c ? "lu" : "cg", m ? "B" : "A", 25 * s, m0 + 0.1 * m + noise(),
            (c ? 0.5 : 0.7) + noise());
    }
}

TEST_WITHIN(begin, end, says_what_scales)
{
    const struct hybrid_code *code;

    add_codes();
    code = code_of(&options);
    assert_int_equal(hybrid.code_count, 2);
    assert_true(code->count == 30 && code->of_cpi.anova.is_balanced);
    assert_string_equal(code->effects[0].name, "size");
    assert_true(code->effects[0].test.df == 4 && code->effects[0].residual_df == 20);
    assert_true(code->effects[1].test.df == 1 && code->effects[2].test.df == 4);
    assert_true(code->effects[3].test.df == 20 && isnan(code->effects[3].test.f));
    assert_true(code->is_predictable == ANSWER_YES && code->steady_from == 75);
    assert_true(code->pair_count == 2 && code->pairs[1].from_size == 75);
    assert_true(code->pairs[0].difference.is_constant == ANSWER_YES);
    near(code->pairs[0].difference.mean, 0.1, 0.01);
    assert_true(code->parallel.test.df == 4 && code->parallel.is_rejected == ANSWER_NO);
    assert_string_equal(code->verdict, "scales predictably from n = 75");
    assert_true(code[1].is_predictable == ANSWER_NO && isnan(code[1].steady_from));
    assert_string_equal(code[1].verdict, "does not scale predictably: m0 on 'A' does not settle "
                                         "within 0.05 of a mean");
}

/* Machines differ by less and less, and by a constant where m0 is steady on both. */
TEST_WITHIN(begin, end, says_where_it_is_constant)
{
    static const double m0[2][6] = {{0.2, 0.3, 0.55, 0.55, 0.55, 0.55},
                                    {0.5, 0.55, 0.65, 0.65, 0.65, 0.65}};
    const struct hybrid_code *code;

    for (int i = 0; i < 12; i++)
        add("cg", i < 6 ? "A" : "B", 10 * (i % 6 + 1), m0[i / 6][i % 6], 1);
    code = code_of(&of_sizes);
    assert_true(code->is_predictable == ANSWER_YES && code->steady_from == 30);
    assert_true(code->pairs[0].difference.is_constant == ANSWER_NO);
    assert_true(code->pairs[1].difference.is_constant == ANSWER_YES);
    assert_true(code->pairs[0].difference.sizes == 6 && code->pairs[1].difference.sizes == 4);
    near(code->pairs[1].difference.mean, 0.1, 1e-9);
}

/* Each is an effect of codes x machines on means of replicates, of which a fourth weighs no more.
 */
TEST_WITHIN(begin, end, tests_hypotheses)
{
    static const int effects[] = {ANOVA_OVERALL, ANOVA_A, ANOVA_B, ANOVA_INTERACTION};

    add_codes();
    add("cg", "A", 25, 0.21, 0.7);
    (void)code_of(&options);
    for (int h = 0; h < HYBRID_HYPOTHESES; h++) {
        const struct hybrid_effect *const effect = &hybrid.hypotheses[h];
        double values[20] = {0};
        uint32_t counts[] = {5, 5, 5, 5};
        struct experiment experiment = {values, 20, counts, 2, 2};
        struct anova anova;
        for (size_t i = 0; i < observations.count; i++) {
            const struct observation *row = &observations.rows[i];
            const size_t cell = row->code * 10 + row->machine * 5 + (size_t)(row->size / 25) - 1;
            values[cell] += (h == 1   ? row->cpi_pipeline
                             : h == 2 ? row->cpi_memory
                                      : row->cpi) *
                            (cell ? 1.0 / 3 : 0.25);
        }
        assert_true(anova_make(&anova, &experiment));
        near(effect->test.f, anova.effects[effects[h]].f, 1e-8);
        assert_true(effect->residual_df == 16 && effect->claim && effect->next);
        assert_true((effect->is_rejected == ANSWER_YES) == (effect->test.p < 0.05));
    }
    assert_true(hybrid.hypotheses[1].is_rejected == ANSWER_YES);
}

/* ------------------------------------------------------------------ refusals */

static void expect_refusal(const char *table, const char *message)
{
    struct psnap_error error = {0};

    (void)begin(NULL);
    used = (size_t)snprintf(text, sizeof text, "code,machine,size,cpi\n%s", table);
    if (analyse(&options, &error) == PSNAP_OK)
        error = hybrid.codes[0].refusal;
    if (!strstr(error.message, message))
        fail_msg("'%s' is not in '%s'", message, error.message);
    (void)end(NULL);
}

TEST(refuses)
{
    expect_refusal("cg,A,10,1\ncg,A,10,2\n", "there is one machine alone, or one size");
    expect_refusal("cg,A,10,1\ncg,A,20,2\ncg,A,20,3\n", "there is one machine alone");
    expect_refusal("cg,A,10,1\ncg,A,20,2\ncg,A,20,3\ncg,B,20,4\n",
                   "there is no observation of size 10 on machine B, an empty cell");
    expect_refusal("cg,A,10,1\ncg,A,20,2\ncg,B,10,3\ncg,B,20,4\n", "too few replicates");
    expect_refusal("cg,A,10,1\ncg,A,20,2\ncg,B,10,3\ncg,B,20,4\ncg,B,20,4\n",
                   "replicates are all the same");
}

TEST_WITHIN(begin, end, does_without)
{
    struct psnap_error error;

    used = (size_t)snprintf(text, sizeof text,
                            "code,machine,size,cpi\ncg,A,1,1\ncg,A,2,2\ncg,B,1,3\ncg,B,2,3\n"
                            "lu,A,1,1\nlu,A,2,2\nlu,B,1,3\nlu,B,2,3\n");
    assert_int_equal(analyse(&of_sizes, &error), PSNAP_OK);
    assert_null(hybrid.codes[0].of_cpi.response);
    assert_non_null(strstr(hybrid.codes[0].verdict, "no verdict: m0 is not known on 'A'"));
    assert_null(hybrid.hypotheses[0].why_not);
    assert_string_equal(hybrid.hypotheses[1].why_not,
                        "cpi_pipeline is not known of all observations");
    (void)end(NULL);
    (void)begin(NULL);
    used = (size_t)snprintf(text, sizeof text, "code,machine,size,cpi\ncg,A,1,1\ncg,B,2,2\n");
    assert_int_equal(analyse(&of_sizes, &error), PSNAP_ERROR_VALUE);
    assert_non_null(strstr(error.message, "nothing can be analysed, as there is one code alone"));
}
