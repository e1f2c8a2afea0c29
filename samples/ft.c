/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ft: the heat equation in a periodic cube of n^3 complex points, n = SIZE, solved in
 * Fourier space, as NPB FT does: transform once, then for each of the ITERATIONS time steps
 * multiply by the decay of each mode, transform back and sum some points.
 *
 * Accesses: two regions of 16 n^3 bytes and decay[] of 8 n^3 (heap). transform() passes over
 * an array once for each dimension: a line of n elements, 16, 16 n or 16 n^2 bytes apart, is
 * copied to a buffer, transformed there in log2 n passes between two buffers of 16 n bytes
 * (Stockham; a memcpy if log2 n is odd), which any cache keeps, and copied back. So of about
 * 12 log2 n accesses a point and step most hit. The copies along y and z use 16 bytes of a
 * line, and n lines must stay for the next line's copy to find them; at strides of a power
 * of two they fall into few sets. evolve() is at unit stride.
 */
#include "sample.h"

struct complex {
    double re, im;
};

/* root[m] = exp(sign 2 pi i m / n) */
static void init_roots(size_t n, double sign, struct complex *root)
{
    const double pi = 3.14159265358979323846;

    for (size_t m = 0; m < n; m++) {
        root[m].re = cos(2 * pi * (double)m / (double)n);
        root[m].im = sign * sin(2 * pi * (double)m / (double)n);
    }
}

/* Fourier transform of x in place; y is as large. */
static void transform_line(size_t n, const struct complex *root, struct complex *x,
                           struct complex *y)
{
    struct complex *from = x, *to = y, *other;

    for (size_t half = n / 2, step = 1; half >= 1; half /= 2, step *= 2) {
        for (size_t j = 0; j < half; j++) {
            struct complex w = root[j * step];

            for (size_t k = 0; k < step; k++) {
                struct complex a = from[j * step + k];
                struct complex b = from[(j + half) * step + k];
                double re = a.re - b.re, im = a.im - b.im;

                to[2 * j * step + k].re = a.re + b.re;
                to[2 * j * step + k].im = a.im + b.im;
                to[(2 * j + 1) * step + k].re = re * w.re - im * w.im;
                to[(2 * j + 1) * step + k].im = re * w.im + im * w.re;
            }
        }
        other = from;
        from = to;
        to = other;
    }
    if (from != x)
        memcpy(x, from, n * sizeof(*x));
}

/* All lines along one dimension; the other two are walked by outer and inner. */
static void transform(size_t n, struct complex *u, size_t along, size_t outer, size_t inner,
                      const struct complex *root, struct complex *buffer)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++) {
            struct complex *line = &u[i * outer + j * inner];

            for (size_t k = 0; k < n; k++)
                buffer[k] = line[k * along];
            transform_line(n, root, buffer, buffer + n);
            for (size_t k = 0; k < n; k++)
                line[k * along] = buffer[k];
        }
    }
}

static void transform_cube(size_t n, struct complex *u, const struct complex *root,
                           struct complex *buffer)
{
    transform(n, u, 1, n * n, n, root, buffer);
    transform(n, u, n, n * n, 1, root, buffer);
    transform(n, u, n * n, n, 1, root, buffer);
}

/* A random field, and how much of each mode is left after a time step. */
static void init(size_t n, struct complex *u, double *decay)
{
    uint64_t random = 1;
    double at[3];

    for (size_t i = 0; i < n * n * n; i++) {
        u[i].re = sample_unit(&random);
        u[i].im = sample_unit(&random);
    }
    for (size_t i = 0; i < n * n * n; i++) {
        at[0] = (double)(i % n < n / 2 ? i % n : n - i % n);
        at[1] = (double)(i / n % n < n / 2 ? i / n % n : n - i / n % n);
        at[2] = (double)(i / n / n < n / 2 ? i / n / n : n - i / n / n);
        decay[i] = exp(-4e-5 * (at[0] * at[0] + at[1] * at[1] + at[2] * at[2]));
    }
}

static void evolve(size_t n, struct complex *spectrum, const double *decay, struct complex *v)
{
    for (size_t i = 0; i < n * n * n; i++) {
        spectrum[i].re *= decay[i];
        spectrum[i].im *= decay[i];
        v[i] = spectrum[i];
    }
}

static double checksum(size_t n, const struct complex *v)
{
    double sum = 0;

    for (size_t j = 1; j <= 1024; j++) {
        const struct complex *point = &v[((5 * j % n) * n + 3 * j % n) * n + j % n];

        sum += point->re + 2 * point->im;
    }
    return sum / (double)(n * n * n);
}

int main(int argc, char **argv)
{
    struct sample sample = {.name = "ft",
                            .size_is = "the points along an edge of the cube, a power of two",
                            .size = 32,
                            .size_min = 2,
                            .size_max = 512,
                            .iterations = 6};
    struct complex *u, *v, *buffer, *forth, *back;
    double *decay, sum = 0;
    size_t n;

    sample_arguments(&sample, argc, argv);
    n = sample.size;
    if ((n & (n - 1)) != 0)
        sample_usage(&sample);
    u = malloc(n * n * n * sizeof(*u));
    v = malloc(n * n * n * sizeof(*v));
    decay = malloc(n * n * n * sizeof(*decay));
    buffer = malloc(2 * n * sizeof(*buffer));
    forth = malloc(n * sizeof(*forth));
    back = malloc(n * sizeof(*back));
    sample_need_memory(&sample, u && v && decay && buffer && forth && back);

    init_roots(n, -1, forth);
    init_roots(n, 1, back);
    init(n, u, decay);
    transform_cube(n, u, forth, buffer);
    for (size_t i = 0; i < sample.iterations; i++) {
        evolve(n, u, decay, v);
        transform_cube(n, v, back, buffer);
        sum += checksum(n, v);
    }

    free(u);
    free(v);
    free(decay);
    free(buffer);
    free(forth);
    free(back);
    return sample_print_real(&sample, sum);
}
