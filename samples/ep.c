/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ep: pairs of normally distributed numbers by Marsaglia's polar method, counted by their
 * distance from the origin, as NPB EP does: ITERATIONS batches of n = SIZE pairs.
 *
 * Accesses: fill() stores 2 n reals at unit stride and tally() loads them: one region of
 * 16 n bytes (heap), 4 n accesses a batch, fewer when vectorised. A pair inside the unit
 * circle (pi / 4 of them, at random) adds one to one of 16 counters, 128 bytes that always hit.
 * When 16 n bytes fit in a cache, all hits after the first batch; else both loops miss once a
 * line. Most of the time goes to logarithms, not to memory.
 */
#include "sample.h"

enum { RINGS = 16 }; /* 2^-104 is the least square above 0, and sqrt(-2 log 2^-104) < 13 */

static uint64_t rings[RINGS]; /* pairs with l <= max(|x|, |y|) < l + 1 */

static void fill(size_t n, double *numbers, uint64_t *random)
{
    for (size_t i = 0; i < 2 * n; i++)
        numbers[i] = 2 * sample_unit(random) - 1;
}

static double tally(size_t n, const double *numbers)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++) {
        double x = numbers[2 * i], y = numbers[2 * i + 1];
        double square = x * x + y * y;

        if (square <= 1 && square > 0) {
            double factor = sqrt(-2 * log(square) / square);
            double larger = fabs(x) > fabs(y) ? fabs(factor * x) : fabs(factor * y);

            rings[(size_t)larger]++;
            sum += larger;
        }
    }
    return sum;
}

static double checksum(double sum)
{
    for (size_t i = 0; i < RINGS; i++)
        sum += (double)(rings[i] * i);
    return sum;
}

int main(int argc, char **argv)
{
    struct sample sample = {.name = "ep",
                            .size_is = "the pairs of a batch",
                            .size = 65536,
                            .size_min = 1,
                            .size_max = 100000000,
                            .iterations = 10};
    uint64_t random = 1;
    double *numbers, sum = 0;

    sample_arguments(&sample, argc, argv);
    numbers = malloc(2 * sample.size * sizeof(*numbers));
    sample_need_memory(&sample, numbers != NULL);

    for (size_t i = 0; i < sample.iterations; i++) {
        fill(sample.size, numbers, &random);
        sum += tally(sample.size, numbers);
    }

    free(numbers);
    return sample_print_real(&sample, checksum(sum));
}
