/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * blackscholes: the price of n = SIZE European options by Black and Scholes's formula,
 * ITERATIONS times over.
 *
 * Accesses: an array of structures of 48 bytes, one for each option, of which price_all() loads the
 * six fields, and the prices, 8 bytes each (heap): 7 n accesses a pass and nothing used twice,
 * and one to the loop's bound after each option's calls of libm; most of the time is arithmetic.
 * Both streams miss once a line, 7 lines for 8 options, when 56 n bytes exceed the cache, else all
 * hits after the first pass. Tables inside libm are not the program's.
 *
 * Parallel: the options with schedule(static), a stretch of both arrays for each thread;
 * nothing is shared but a line of prices at each border.
 */
#include <omp.h>

#include "../sample.h"

struct option {
    double spot, strike, rate, volatility, years;
    uint64_t is_put;
};

static void init(size_t n, struct option *options)
{
    uint64_t random = 1;

    for (size_t i = 0; i < n; i++) {
        options[i].spot = 50 + 100 * sample_unit(&random);
        options[i].strike = 50 + 100 * sample_unit(&random);
        options[i].rate = 0.01 + 0.05 * sample_unit(&random);
        options[i].volatility = 0.1 + 0.4 * sample_unit(&random);
        options[i].years = 0.1 + 2 * sample_unit(&random);
        options[i].is_put = sample_below(&random, 2);
    }
}

/* The normal distribution function. */
static double normal(double x)
{
    return erfc(-x * 0.70710678118654752) / 2;
}

static double price(struct option o)
{
    double sign = o.is_put ? -1 : 1;
    double deviation = o.volatility * sqrt(o.years);
    double drift = (o.rate + o.volatility * o.volatility / 2) * o.years;
    double d1 = (log(o.spot / o.strike) + drift) / deviation;
    double strike_now = o.strike * exp(-o.rate * o.years);

    return sign * (o.spot * normal(sign * d1) - strike_now * normal(sign * (d1 - deviation)));
}

static void price_all(size_t n, const struct option *options, double *prices)
{
#pragma omp parallel for schedule(static) firstprivate(options, prices)
    for (size_t i = 0; i < n; i++)
        prices[i] = price(options[i]);
}

static double checksum(size_t n, const double *prices)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += prices[i];
    return sum;
}

int main(int argc, char **argv)
{
    struct sample sample = {.name = "blackscholes",
                            .size_is = "the options",
                            .size = 100000,
                            .size_min = 1,
                            .size_max = 100000000,
                            .iterations = 5,
                            .threads = 1};
    struct option *options;
    double *prices, sum;

    sample_arguments(&sample, argc, argv);
    omp_set_num_threads((int)sample.threads);
    options = malloc(sample.size * sizeof(*options));
    prices = malloc(sample.size * sizeof(*prices));
    sample_need_memory(&sample, options && prices);

    init(sample.size, options);
    for (size_t i = 0; i < sample.iterations; i++)
        price_all(sample.size, options, prices);
    sum = checksum(sample.size, prices);

    free(options);
    free(prices);
    return sample_print_real(&sample, sum);
}
