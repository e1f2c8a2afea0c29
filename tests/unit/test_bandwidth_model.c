/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The bandwidth functions: hand-worked values, the fast error of genes against the plain one, and
 * what holds of any of them.
 */
#include "tests/unit/test.h"

#include <math.h>

#include "formats/base/rng.h"
#include "predict/bandwidth/coverage.h"
#include "predict/bandwidth/fit_genes.h"
#include "tests/unit/test_bandwidth_support.h"

/* Level 1 and `count - 1` further ones, of one kind. */
static struct sources levels(uint32_t count)
{
    struct sources sources = {.count = count};

    for (uint32_t i = 0; i < count; i++)
        sources.level[i] = i;
    sources_complete(&sources);
    return sources;
}

/*
 * Three levels, the last of which is memory: h = 0.5, 0.8, 1; c = 1, 4, 10. t = 0.5, 1.2, 2.0;
 * T = 3.7. g(0.5, 1) = (1 - e^(-0.5/1.5)) / (1 - e^-1), g(0.8, 0.3) with 0.2 / 0.5.
 */
TEST(published_form)
{
    const struct sources sources = levels(3);
    const struct penalised penalised = {
        .b = {100, 40, 10}, .c = {1, 4, 10}, .f = {0.5, -0.2}, .x = {1, 0.3}};
    const double rates[SOURCES_MAX] = {0.5, 0.3, 0.2};
    const double g1 = (1 - exp(-1.0 / 3)) / (1 - exp(-1)), g2 = (1 - exp(-0.4)) / (1 - exp(-1));
    const double p1 = 0.5 * g1 * 0.5 / 3.7, p2 = -0.2 * g2 * 1.2 / 3.7;
    const double expected =
        (0.5 * 100 * (1 - p1 - p2) + 1.2 * 40 * (1 + p1) + 2.0 * 10 * (1 + p2)) / 3.7;

    assert_near(g1, 0.448441, 1e-6);
    assert_near(expected, 32.1498, 1e-4);
    assert_near(penalised_bandwidth(&penalised, &sources, rates), expected, 1e-12);
}

/* Without penalties and with b in proportion to 1/c it is the additive model. */
TEST(additive_as_a_case)
{
    struct bandwidth_model model = {.method = METHOD_ADDITIVE, .sources = levels(4)};
    struct penalised penalised = {.c[0] = 1};
    struct psnap_rng rng;

    psnap_rng_init(&rng, 2);
    for (int s = 0; s < 4; s++) {
        model.bandwidth[s] = 1 + 100 * psnap_rng_uniform(&rng);
        penalised.b[s] = model.bandwidth[s];
        penalised.c[s] = model.bandwidth[0] / model.bandwidth[s];
    }
    for (int i = 0; i < 100; i++) {
        double rates[SOURCES_MAX] = {0}, sum = 0;

        for (int s = 0; s < 4; s++)
            sum += rates[s] = psnap_rng_uniform(&rng);
        for (int s = 0; s < 4; s++)
            rates[s] /= sum;
        assert_near(penalised_bandwidth(&penalised, &model.sources, rates) /
                        bandwidth_of_rates(&model, rates),
                    1, 1e-12);
    }
}

TEST(plain_models)
{
    struct bandwidth_model model = {.method = METHOD_AVERAGED, .sources = levels(2)};
    const double rates[SOURCES_MAX] = {0.75, 0.25};

    model.bandwidth[0] = 80;
    model.bandwidth[1] = 8;
    assert_near(bandwidth_of_rates(&model, rates), 62, 1e-12);
    model.method = METHOD_ADDITIVE;
    assert_near(bandwidth_of_rates(&model, rates), 1 / (0.75 / 80 + 0.25 / 8), 1e-12);
    model.method = METHOD_NNLS;
    model.overlapped = (struct overlapped){.first = 1};
    model.overlapped.t[1][0] = 2;
    model.overlapped.t[1][1] = 3;
    model.overlapped.t[1][2] = 4;
    /* 0.25 * (0.0625 * 2 + 2 * 0.1875 * 3 + 0.5625 * 4) = 0.875: behind level 1's time */
    assert_near(bandwidth_of_rates(&model, rates), 8, 1e-12);
    model.overlapped.first = 0.5;
    assert_near(bandwidth_of_rates(&model, rates), 8 / 0.875, 1e-12);
}

TEST(sources_of_points)
{
    struct map_point points[3] = {{0}};
    const struct map_point *const all[] = {&points[0], &points[1], &points[2]};
    struct supply supply = {0};
    struct sources sources;
    double rates[SOURCES_MAX];

    points[0].supply.accesses[0][SUPPLY_NEAR] = 1;
    points[1].supply.accesses[1][SUPPLY_NEAR] = 1;
    points[2].supply.accesses[2][SUPPLY_FAR] = 1;
    sources_choose(&sources, all, 3, 2, true);
    assert_int_equal(sources.count, 3);
    assert_int_equal(sources.level[2], 2);
    assert_int_equal(sources.kind[2], SUPPLY_FAR);
    /* far of level 2 is taken for near, near of memory for far */
    supply.accesses[1][SUPPLY_FAR] = 3;
    supply.accesses[2][SUPPLY_NEAR] = 1;
    sources_rates(&sources, &supply, rates);
    assert_near(rates[0], 0, 0);
    assert_near(rates[1], 0.75, 1e-15);
    assert_near(rates[2], 0.25, 1e-15);
    sources_choose(&sources, all, 3, 2, false);
    assert_int_equal(sources.count, 3);
    assert_false(sources.by_kind);
}

TEST(genes_as_the_function)
{
    enum { COUNT = 60 };
    struct sample items[COUNT];
    struct samples samples = {.items = items, .count = COUNT, .sources = levels(4)};
    struct bandwidth_model model = {.method = METHOD_GA, .sources = samples.sources};
    struct psnap_error error;
    struct psnap_rng rng;
    struct genes *genes;

    psnap_rng_init(&rng, 3);
    for (int i = 0; i < COUNT; i++) {
        double sum = 0;

        memset(&items[i], 0, sizeof items[i]);
        for (int s = 0; s < 4; s++)
            sum += items[i].rates[s] = i < 10 ? !s : s > i % 4 ? 0 : psnap_rng_uniform(&rng);
        for (int s = 0; s < 4; s++)
            items[i].rates[s] /= sum;
        items[i].bandwidth = 1e9 * (1 + psnap_rng_uniform(&rng));
    }
    genes = genes_new(&samples, &error);
    assert_non_null(genes);
    assert_int_equal(genes->count, 2 * 4 + 3);
    for (int i = 0; i < 200; i++) {
        double values[GENES_MAX];

        for (size_t k = 0; k < genes->count; k++)
            values[k] = genes->start[k] + psnap_rng_uniform(&rng) - 0.5;
        genes_express(genes, values, &model.penalised);
        assert_near(genes_error(genes, values) /
                        (samples_error(&samples, &model) * (double)samples.count),
                    1, 1e-9);
    }
    genes_free(genes);
}

TEST(bins)
{
    static const double ends[COVERAGE_BINS + 1] = {1, 0.99, 0.98, 0.96, 0.92, 0.84, 0.68, 0.36, 0};

    assert_int_equal(coverage_bin(0), 7);
    for (int bin = 0; bin < COVERAGE_BINS; bin++) { /* from its first end to before its second */
        assert_int_equal(coverage_bin(ends[bin]), bin);
        assert_int_equal(coverage_bin((ends[bin] + ends[bin + 1]) / 2), bin);
        assert_int_equal(coverage_bin(nextafter(ends[bin + 1], 1)), bin);
    }
    assert_string_equal(coverage_bin_name(7), "0-36");
}
