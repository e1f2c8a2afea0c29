/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * blackscholes: the price of n = SIZE European options by Black and Scholes's formula,
 * ITERATIONS times over.
 *
 * Accesses: price() loads the five numbers and the type of an option, each from an array of
 * its own, and stores the price: seven streams at unit stride, six of 8 n bytes and one of n
 * (heap), 7 n accesses a pass and nothing used twice. Each stream misses once a line when
 * 49 n bytes exceed the cache, else all hits after the first pass. Branches on the type
 * (random) and on signs change no addresses. The compiler may load coefficients from
 * constants that always hit; tables inside libm are not the program's.
 */
#include "sample.h"

struct options {
    double *spot, *strike, *rate, *volatility, *years, *price;
    unsigned char *is_put;
};

static void init(size_t n, const struct options *o)
{
    uint64_t random = 1;

    for (size_t i = 0; i < n; i++) {
        o->spot[i] = 50 + 100 * sample_unit(&random);
        o->strike[i] = 50 + 100 * sample_unit(&random);
        o->rate[i] = 0.01 + 0.05 * sample_unit(&random);
        o->volatility[i] = 0.1 + 0.4 * sample_unit(&random);
        o->years[i] = 0.1 + 2 * sample_unit(&random);
        o->is_put[i] = sample_below(&random, 2) == 1;
    }
}

/* The normal distribution function (Abramowitz and Stegun, 26.2.17). */
static double normal(double x)
{
    double distance = fabs(x);
    double t = 1 / (1 + 0.2316419 * distance);
    double sum = 1.330274429;
    double tail;

    sum = sum * t - 1.821255978;
    sum = sum * t + 1.781477937;
    sum = sum * t - 0.356563782;
    sum = sum * t + 0.319381530;
    tail = sum * t * 0.3989422804014327 * exp(-0.5 * distance * distance);
    return x < 0 ? tail : 1 - tail;
}

static void price(size_t n, const struct options *o)
{
    for (size_t i = 0; i < n; i++) {
        double deviation = o->volatility[i] * sqrt(o->years[i]);
        double drift = (o->rate[i] + o->volatility[i] * o->volatility[i] / 2) * o->years[i];
        double d1 = (log(o->spot[i] / o->strike[i]) + drift) / deviation;
        double d2 = d1 - deviation;
        double strike_now = o->strike[i] * exp(-o->rate[i] * o->years[i]);

        if (o->is_put[i])
            o->price[i] = strike_now * normal(-d2) - o->spot[i] * normal(-d1);
        else
            o->price[i] = o->spot[i] * normal(d1) - strike_now * normal(d2);
    }
}

static double checksum(size_t n, const double *price)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += price[i];
    return sum;
}

int main(int argc, char **argv)
{
    struct sample sample = {.name = "blackscholes",
                            .size_is = "the options",
                            .size = 100000,
                            .size_min = 1,
                            .size_max = 100000000,
                            .iterations = 5};
    struct options o;
    double sum;
    size_t n;

    sample_arguments(&sample, argc, argv);
    n = sample.size;
    o.spot = malloc(n * sizeof(*o.spot));
    o.strike = malloc(n * sizeof(*o.strike));
    o.rate = malloc(n * sizeof(*o.rate));
    o.volatility = malloc(n * sizeof(*o.volatility));
    o.years = malloc(n * sizeof(*o.years));
    o.price = malloc(n * sizeof(*o.price));
    o.is_put = malloc(n);
    sample_need_memory(&sample, o.spot && o.strike && o.rate && o.volatility && o.years &&
                                    o.price && o.is_put);

    init(n, &o);
    for (size_t i = 0; i < sample.iterations; i++)
        price(n, &o);
    sum = checksum(n, o.price);

    free(o.spot);
    free(o.strike);
    free(o.rate);
    free(o.volatility);
    free(o.years);
    free(o.price);
    free(o.is_put);
    return sample_print_real(&sample, sum);
}
