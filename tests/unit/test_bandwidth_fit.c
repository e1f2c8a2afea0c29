/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fits to made-up machines whose parameters are known: the curves are found again within 1 % (each
 * method's own form), whatever the number of threads, the same for the same seed; the genetic
 * algorithm's cultures and its end; non-negative least squares against a slow search; and what
 * cannot be fitted.
 */
#include "tests/unit/test.h"

#include <math.h>

#include "formats/base/rng.h"
#include "predict/bandwidth/calibrate.h"
#include "predict/bandwidth/fit.h"
#include "predict/bandwidth/fit_genetic.h"

/* Points of a machine of `levels` levels: arrays of each level's, and those between two of them,
 * at strides of 1 to 8 words. Bandwidths are those of `model`, whose sources are filled in. */
static struct maps made_up(struct bandwidth_model *model, uint32_t levels)
{
    const struct map_point *points[1000];
    struct maps maps = {.machine.level_count = levels, .machine.levels[0].size_bytes = 1024};

    for (uint32_t level = 0; level <= levels; level++)
        for (int share = 0; share < 8; share++)
            for (uint32_t step = 1; step <= 8; step *= 2) {
                struct map_point point = {.step = step, .size_bytes = 1024};
                const double miss = level ? step / 8.0 : 0;

                point.supply.accesses[0][SUPPLY_NEAR] = 1 - miss;
                if (level)
                    point.supply.accesses[level][SUPPLY_NEAR] = miss * (1 - share / 8.0);
                if (level && level < levels)
                    point.supply.accesses[level + 1][SUPPLY_NEAR] = miss * share / 8.0;
                else if (level)
                    point.supply.accesses[level][SUPPLY_NEAR] = miss;
                assert_true(maps_add(&maps, &point));
            }
    for (size_t i = 0; i < maps.count; i++)
        points[i] = &maps.points[i];
    sources_choose(&model->sources, points, maps.count, levels, false);
    for (size_t i = 0; i < maps.count; i++)
        maps.points[i].seconds = MAP_WORD_BYTES / bandwidth_of(model, &maps.points[i].supply);
    return maps;
}

static struct fit_settings settings_of(uint32_t population, uint32_t threads)
{
    return (struct fit_settings){
        .population = population, .generations = 200, .threads = threads, .seed = 7};
}

/* The largest difference of two curves, over supplies between those of the points. */
static double apart(const struct bandwidth_model *a, const struct bandwidth_model *b,
                    uint32_t levels)
{
    double worst = 0;

    for (uint32_t level = 1; level < levels; level++)
        for (double miss = 0.125; miss < 1; miss += 0.05)
            for (double share = 0; share < 1; share += 0.07) {
                struct supply supply = {.accesses[0][SUPPLY_NEAR] = 1 - miss};

                supply.accesses[level][SUPPLY_NEAR] = miss * (1 - share);
                supply.accesses[level + 1][SUPPLY_NEAR] = miss * share;
                worst = fmax(worst, fabs(bandwidth_of(a, &supply) / bandwidth_of(b, &supply) - 1));
            }
    return worst;
}

static struct bandwidth_model penalised_machine(void)
{
    return (struct bandwidth_model){
        .method = METHOD_GA,
        .penalised = {
            .b = {60e9, 25e9, 9e9, 2.5e9}, .c = {1, 3, 8, 30}, .f = {0.4, -0.3}, .x = {0.5, 0.8}}};
}

static struct bandwidth_model overlapped_machine(void)
{
    return (struct bandwidth_model){.method = METHOD_NNLS,
                                    .overlapped = {.first = 0.13e-9,
                                                   .t = {{0},
                                                         {0.3e-9, 0.3e-9, 0.4e-9},
                                                         {0.7e-9, 0.9e-9, 1.1e-9},
                                                         {1.5e-9, 1.8e-9, 2e-9}}}};
}

/* The curves of each method's own form are found again within 1 %. */
TEST(finds_curves)
{
    const struct {
        enum bandwidth_method method;
        struct bandwidth_model truth;
    } cases[] = {
        {METHOD_GA, penalised_machine()},
        {METHOD_NLOPT, penalised_machine()},
        {METHOD_NNLS, overlapped_machine()},
        {METHOD_AVERAGED, {.method = METHOD_AVERAGED, .bandwidth = {60e9, 20e9, 8e9, 2e9}}},
        {METHOD_ADDITIVE, {.method = METHOD_ADDITIVE, .bandwidth = {60e9, 20e9, 8e9, 2e9}}}};
    const struct fit_settings settings = settings_of(3000, 2);

    for (size_t i = 0; i < COUNT(cases); i++) {
        struct bandwidth_model truth = cases[i].truth;
        struct maps maps = made_up(&truth, 3);
        struct fit_result result;
        struct psnap_error error;

        if (cases[i].method == METHOD_NLOPT && !fit_nlopt_is_built())
            continue;
        if (fit_points(&maps, cases[i].method, &settings, &result, &error))
            fail_msg("%s", error.message);
        if (!(apart(&result.model, &truth, 3) < 0.01) || !(result.mean_error < 0.01))
            fail_msg("%s: curves %g apart, mean error %g", bandwidth_method_name(cases[i].method),
                     apart(&result.model, &truth, 3), result.mean_error);
        maps_release(&maps);
    }
}

/* Two levels that points have in one proportion count once, not each for both. */
TEST(levels_in_one_proportion)
{
    struct maps maps = {.machine.level_count = 2, .machine.levels[0].size_bytes = 1024};
    const struct fit_settings settings = settings_of(100, 1);
    struct fit_result result;
    struct psnap_error error;

    for (uint32_t i = 0; i < 40; i++) {
        struct map_point point = {.step = 1, .streams = 1, .size_bytes = 1024 + 64 * i};
        const double miss = i / 40.0;

        point.supply.accesses[0][SUPPLY_NEAR] = 1 - miss;
        point.supply.accesses[1][SUPPLY_NEAR] = point.supply.accesses[2][SUPPLY_NEAR] = miss / 2;
        point.seconds = 0.2e-9 * (1 - miss) + 0.6e-9 * miss;
        assert_true(maps_add(&maps, &point));
    }
    assert_int_equal(fit_points(&maps, METHOD_ADDITIVE, &settings, &result, &error), PSNAP_OK);
    assert_true(result.mean_error < 0.01);
    maps_release(&maps);
}

/* A source that one size alone has is unknown when that size is held out, all points of it. */
TEST(sizes_are_held_out_whole)
{
    struct bandwidth_model truth = overlapped_machine();
    struct maps maps = made_up(&truth, 3);
    const struct fit_settings settings = {.folds = 4};
    struct fit_result result;
    struct psnap_error error;

    for (size_t i = 0; i < maps.count; i++)
        maps.points[i].size_bytes =
            maps.points[i].supply.accesses[3][SUPPLY_NEAR] > 0 ? 4096 : 1024 + 8 * (i % 16);
    assert_int_equal(fit_points(&maps, METHOD_NNLS, &settings, &result, &error), PSNAP_OK);
    assert_true(result.mean_error < 0.02 && result.held_out_error > 0.1);
    maps_release(&maps);
}

TEST(same_for_all_threads)
{
    struct bandwidth_model truth = overlapped_machine();
    struct maps maps = made_up(&truth, 3);
    struct fit_result one, more;
    struct psnap_error error;
    struct fit_settings settings = settings_of(300, 1);

    settings.generations = 20;
    assert_int_equal(fit_points(&maps, METHOD_GA, &settings, &one, &error), PSNAP_OK);
    settings.threads = 4;
    assert_int_equal(fit_points(&maps, METHOD_GA, &settings, &more, &error), PSNAP_OK);
    assert_memory_equal(&one.model, &more.model, sizeof one.model);
    settings.seed++;
    assert_int_equal(fit_points(&maps, METHOD_GA, &settings, &more, &error), PSNAP_OK);
    assert_memory_not_equal(&one.model, &more.model, sizeof one.model);
    maps_release(&maps);
}

/* Samples of level 1 and memory with noise, so that no function has all of them. */
static struct samples noisy_samples(struct sample *items, size_t count)
{
    struct samples samples = {.items = items, .count = count, .sources = {.count = 2}};
    struct psnap_rng rng;

    samples.sources.level[1] = 1;
    sources_complete(&samples.sources);
    psnap_rng_init(&rng, 9);
    for (size_t i = 0; i < count; i++) {
        const double share = (double)(i % 9) / 8;

        items[i] = (struct sample){.rates = {share, 1 - share}};
        items[i].bandwidth = 1e9 * (1 + 9 * share) * (1 + 0.3 * psnap_rng_uniform(&rng));
    }
    return samples;
}

static bool are_same_genes(const struct genes *genes, const struct individual *a,
                           const struct individual *b)
{
    return !memcmp(a->genes, b->genes, genes->count * sizeof *a->genes);
}

/* Born of the same random numbers, a Darwinian is as it was born, a Lamarckian has what it learnt
 * in its genes, and a Baldwinian has the error of that and the genes it was born with. */
TEST(cultures)
{
    enum { BIRTHS = 800 };
    struct sample items[45];
    const struct samples samples = noisy_samples(items, 45);
    const struct genetic_settings settings = {.population = 600, .threads = 1, .seed = 3};
    struct psnap_error error;
    struct genes *genes = genes_new(&samples, &error);
    struct archipelago all;
    int learnt = 0, by_culture[CULTURES] = {0};

    assert_non_null(genes);
    assert_true(archipelago_init(&all, genes, &settings));
    for (int i = 0; i < ISLANDS; i++)
        by_culture[all.islands[i].culture]++;
    for (int culture = 0; culture < CULTURES; culture++)
        assert_int_equal(by_culture[culture], 2);
    for (int birth = 0; birth < BIRTHS; birth++) {
        struct individual children[CULTURES];

        for (int culture = 0; culture < CULTURES; culture++) {
            struct island island = all.islands[0];

            island.culture = (enum culture)culture;
            psnap_rng_init_stream(&island.rng, 5, (uint64_t)birth);
            island_bear(genes, &island, &children[culture]);
        }
        assert_true(genes_error(genes, children[DARWINIAN].genes) == children[DARWINIAN].error);
        assert_true(genes_error(genes, children[LAMARCKIAN].genes) == children[LAMARCKIAN].error);
        assert_true(are_same_genes(genes, &children[BALDWINIAN], &children[DARWINIAN]));
        assert_true(children[BALDWINIAN].error == children[LAMARCKIAN].error);
        assert_true(children[LAMARCKIAN].error <= children[DARWINIAN].error);
        if (children[LAMARCKIAN].error < children[DARWINIAN].error) {
            assert_false(are_same_genes(genes, &children[LAMARCKIAN], &children[DARWINIAN]));
            learnt++;
        }
    }
    assert_in_range(learnt, BIRTHS / 16, BIRTHS / 6); /* one in eight, if there is a lesson in it */
    archipelago_release(&all);
    genes_free(genes);
}

/* Individuals whose error is below that of their genes are on Baldwinian islands alone. */
TEST(islands_have_cultures)
{
    struct sample items[45];
    const struct samples samples = noisy_samples(items, 45);
    const struct genetic_settings settings = {.population = 600, .threads = 2, .seed = 4};
    struct psnap_error error;
    struct genes *genes = genes_new(&samples, &error);
    struct archipelago all;

    assert_non_null(genes);
    assert_true(archipelago_init(&all, genes, &settings));
    for (int generation = 0; generation < 5; generation++) {
        archipelago_advance(&all);
        for (int i = 0; i < ISLANDS; i++) {
            const struct island *island = &all.islands[i];
            uint32_t below = 0;

            for (uint32_t k = 0; k < island->size; k++)
                below += island->people[k].error < genes_error(genes, island->people[k].genes);
            assert_int_equal(below > 0, island->culture == BALDWINIAN);
        }
    }
    assert_int_equal(all.generation, 5);
    archipelago_release(&all);
    genes_free(genes);
}

struct errors {
    double each[1000];
    uint32_t count;
};

static void keep_error(void *context, uint32_t generation, double error)
{
    struct errors *errors = context;

    errors->each[errors->count++] = error;
    assert_int_equal(generation, errors->count);
}

/* It ends when 25 generations in a row are not better by a thousandth than the last one that was;
 * and at the limit. */
TEST(ends_when_flat)
{
    struct sample items[45];
    const struct samples samples = noisy_samples(items, 45);
    struct errors errors = {.count = 0};
    struct genetic_settings settings = {.population = 600,
                                        .generations = 1000,
                                        .threads = 1,
                                        .seed = 3,
                                        .tell = keep_error,
                                        .context = &errors};
    struct penalised fitted;
    struct psnap_error error;
    uint32_t generations, better = 0;

    assert_int_equal(fit_genetic(&samples, &settings, &fitted, &generations, &error), PSNAP_OK);
    assert_int_equal(generations, errors.count);
    assert_true(generations < 1000);
    for (uint32_t i = 1; i < errors.count; i++) {
        assert_true(i - better <= 25);
        if (errors.each[i] < 0.999 * errors.each[better])
            better = i;
    }
    assert_int_equal(errors.count - 1 - better, 25);
    settings.generations = 10;
    errors.count = 0;
    assert_int_equal(fit_genetic(&samples, &settings, &fitted, &generations, &error), PSNAP_OK);
    assert_int_equal(generations, 10);
}

/* Two sources, noise: no t on a fine grid has a smaller absolute error than the fit's by more than
 * its own stopping. */
TEST(least_absolute_deviations)
{
    struct bandwidth_model truth = {.method = METHOD_ADDITIVE, .bandwidth = {50e9, 5e9}};
    struct maps maps = made_up(&truth, 1);
    struct fit_settings settings = {0};
    struct fit_result result;
    struct psnap_error error;
    struct psnap_rng rng;
    double least = INFINITY;

    psnap_rng_init(&rng, 5);
    for (size_t i = 0; i < maps.count; i++)
        maps.points[i].seconds *= 1 + 0.2 * (psnap_rng_uniform(&rng) - 0.5);
    assert_int_equal(fit_points(&maps, METHOD_NNLS, &settings, &result, &error), PSNAP_OK);
    for (double a = 0; a < 3e-9; a += 0.1e-9)
        for (double b = 0; b < 3e-9; b += 0.1e-9)
            for (double c = 0; c < 3e-9; c += 0.1e-9) {
                struct bandwidth_model model = result.model;
                double sum = 0;

                model.overlapped.t[1][0] = a;
                model.overlapped.t[1][1] = b;
                model.overlapped.t[1][2] = c;
                for (size_t i = 0; i < maps.count; i++)
                    sum += fabs(bandwidth_of(&model, &maps.points[i].supply) /
                                    map_point_bandwidth(&maps.points[i]) -
                                1);
                least = fmin(least, sum / (double)maps.count);
            }
    assert_true(result.mean_error < 1.03 * least);
    maps_release(&maps);
}

TEST(held_out)
{
    struct bandwidth_model truth = overlapped_machine();
    struct maps maps = made_up(&truth, 3);
    struct fit_settings settings = {.folds = 4};
    struct fit_result result;
    struct psnap_error error;

    assert_int_equal(fit_points(&maps, METHOD_NNLS, &settings, &result, &error), PSNAP_OK);
    assert_true(result.held_out_error >= 0 && result.held_out_error < 0.02);
    assert_true(result.held_out_spread >= 0 && result.held_out_spread < 0.02);
    /* no fit can predict the point that is ten times slower than its kind, held out or not */
    maps.points[5].seconds *= 10;
    assert_int_equal(fit_points(&maps, METHOD_NNLS, &settings, &result, &error), PSNAP_OK);
    assert_true(result.held_out_error > 9.0 / (double)maps.count * 0.9);
    settings.folds = 0;
    assert_int_equal(fit_points(&maps, METHOD_NNLS, &settings, &result, &error), PSNAP_OK);
    assert_true(isnan(result.held_out_error));
    maps_release(&maps);
}

TEST(too_few_points)
{
    struct bandwidth_model truth = overlapped_machine();
    struct maps maps = made_up(&truth, 3);
    struct fit_settings settings = settings_of(300, 1);
    struct fit_result result;
    struct psnap_error error;

    maps.count = 9;
    maps.points[7] = maps.points[60];
    maps.points[8] = maps.points[100];
    assert_int_equal(fit_points(&maps, METHOD_GA, &settings, &result, &error), PSNAP_ERROR_VALUE);
    assert_non_null(strstr(error.message, "parameters"));
    maps_release(&maps);
}

TEST(variants)
{
    struct psnap_machine machine, variant;
    struct psnap_error error;

    assert_int_equal(psnap_machine_parse_inline("1K:64:4,16K:64:4,256K:64:8", &machine, &error),
                     PSNAP_OK);
    assert_int_equal(machine_vary(&machine, &(struct calibration){true, 2, 1}, &variant, &error),
                     PSNAP_OK);
    assert_int_equal(variant.level_count, 4);
    assert_int_equal(variant.levels[2].size_bytes, 64 << 10); /* between 16K and 256K */
    assert_int_equal(variant.levels[3].size_bytes, 256 << 10);
    assert_int_equal(variant.levels[0].replacement, PSNAP_REPLACE_LRU);
    assert_int_equal(variant.levels[2].replacement, PSNAP_REPLACE_RANDOM);
    assert_int_equal(machine_vary(&machine, &(struct calibration){false, 1, 0.5}, &variant, &error),
                     PSNAP_OK);
    assert_int_equal(variant.level_count, 3);
    assert_int_equal(variant.levels[2].size_bytes, 128 << 10);
    assert_int_equal(variant.levels[2].replacement, PSNAP_REPLACE_LRU);
}

/* Times as a machine would have them whose last cache is half and replaces at random: found. */
TEST(calibrates)
{
    static const double seconds[] = {1e-10, 4e-10, 3e-9};
    struct psnap_machine machine, truth, found;
    struct maps maps = {0};
    struct psnap_error error;

    assert_int_equal(psnap_machine_parse_inline("1K:64:4,64K:64:8", &machine, &error), PSNAP_OK);
    assert_int_equal(machine_vary(&machine, &(struct calibration){true, 1, 0.5}, &truth, &error),
                     PSNAP_OK);
    assert_int_equal(maps_plan_strided(&maps, 14, 256 << 10, 8, &error), PSNAP_OK);
    assert_int_equal(maps_supply(&maps, &truth, NULL, NULL, &error), PSNAP_OK);
    for (size_t i = 0; i < maps.count; i++) {
        double sum = 0;

        for (int level = 1; level < 3; level++)
            for (int kind = 0; kind < SUPPLY_KINDS; kind++)
                sum += seconds[level] * maps.points[i].supply.accesses[level][kind];
        maps.points[i].seconds = fmax(sum, seconds[0]); /* as METHOD_NNLS has it */
    }
    assert_int_equal(maps_calibrate(&maps, &machine, &found, NULL, NULL, &error), PSNAP_OK);
    assert_int_equal(found.level_count, 2);
    assert_int_equal(found.levels[1].size_bytes, 32 << 10);
    assert_int_equal(found.levels[1].replacement, PSNAP_REPLACE_RANDOM);
    maps_release(&maps);
}
