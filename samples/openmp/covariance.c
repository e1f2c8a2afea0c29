/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * covariance: the covariances of n = SIZE variables of which n observations are given, a row
 * for each observation; ITERATIONS makes new ones and computes anew.
 *
 * Accesses: data and result, 8 n^2 bytes each, means, 8 n bytes (heap). Means go down the
 * columns by 8 n bytes, n^2 loads; then they are subtracted along the rows; then columns i
 * and j of data are multiplied for each pair j >= i, a triangle: n^3 loads in all, each to a line
 * of its own. A column touches n lines, 64 n bytes with lines of 64, that have the next 7 columns
 * in them; all of data to the right of column i comes again with the next i.
 *
 * Parallel: in one parallel section the means and the rows with schedule(static); the triangle
 * with schedule(static, 4): its rows shrink, and dealt out by fours every thread gets long ones
 * and short ones.
 */
#include <omp.h>

#include "../sample.h"

static void init(size_t n, double *data, size_t seed)
{
    uint64_t random = seed + 1;

    for (size_t i = 0; i < n * n; i++)
        data[i] = sample_unit(&random) + (double)(i % n % 10);
}

static void covariances(size_t n, double *data, double *means, double *result)
{
#pragma omp parallel
    {
#pragma omp for schedule(static)
        for (size_t j = 0; j < n; j++) {
            double sum = 0;

            for (size_t k = 0; k < n; k++)
                sum += data[k * n + j];
            means[j] = sum / (double)n;
        }
#pragma omp for schedule(static)
        for (size_t k = 0; k < n; k++) {
            for (size_t j = 0; j < n; j++)
                data[k * n + j] -= means[j];
        }
#pragma omp for schedule(static, 4)
        for (size_t i = 0; i < n; i++) {
            for (size_t j = i; j < n; j++) {
                double sum = 0;

                for (size_t k = 0; k < n; k++)
                    sum += data[k * n + i] * data[k * n + j];
                result[i * n + j] = result[j * n + i] = sum / (double)(n - 1);
            }
        }
    }
}

static double checksum(size_t n, const double *result)
{
    double sum = 0;

    for (size_t i = 0; i < n * n; i++)
        sum += result[i] * result[i];
    return sum;
}

int main(int argc, char **argv)
{
    struct sample sample = {.name = "covariance",
                            .size_is = "the variables",
                            .size = 200,
                            .size_min = 2,
                            .size_max = 10000,
                            .iterations = 1,
                            .threads = 1};
    double *data, *means, *result, sum;
    size_t n;

    sample_arguments(&sample, argc, argv);
    omp_set_num_threads((int)sample.threads);
    n = sample.size;
    data = malloc(n * n * sizeof(*data));
    means = malloc(n * sizeof(*means));
    result = malloc(n * n * sizeof(*result));
    sample_need_memory(&sample, data && means && result);

    for (size_t i = 0; i < sample.iterations; i++) {
        init(n, data, i);
        covariances(n, data, means, result);
    }
    sum = checksum(n, result);

    free(data);
    free(means);
    free(result);
    return sample_print_real(&sample, sum);
}
