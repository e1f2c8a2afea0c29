/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Growth with the input: forms that are candidates are found and continued exactly, a power that is
 * none nearly; rounding does not make high powers; a constant stays.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "predict/amm/growth.h"

static const double sizes[] = {12, 16, 20, 24};
enum { COUNT = sizeof sizes / sizeof sizes[0] };

static double continued(double (*of)(double), double size)
{
    double values[COUNT];
    struct growth growth;

    for (int i = 0; i < COUNT; i++)
        values[i] = of(sizes[i]);
    growth = growth_fit(sizes, values, COUNT, 0.5);
    return growth_at(&growth, size);
}

static double constant(double n)
{
    return 0 * n + 7;
}

static double cube(double n)
{
    return n * n * n;
}

static double triangle(double n)
{
    return n * (n - 1) / 2;
}

static double border(double n)
{
    return 3 + 4 * n * n;
}

static double lines(double n) /* of a column and a row */
{
    return n + ceil(n / 8) + 1;
}

static double power(double n)
{
    return 100 * pow(n, 1.5);
}

static void continues(void **state)
{
    (void)state;
    assert_true(fabs(continued(constant, 200) - 7) < 1e-9);
    assert_true(fabs(continued(cube, 200) / cube(200) - 1) < 1e-9);
    assert_true(fabs(continued(triangle, 200) / triangle(200) - 1) < 1e-9);
    assert_true(fabs(continued(border, 200) / border(200) - 1) < 1e-9);
    assert_true(fabs(continued(lines, 200) / lines(200) - 1) < 0.05);
    assert_true(fabs(continued(power, 200) / power(200) - 1) < 1e-9);
}

static void never_negative(void **state)
{
    const double values[COUNT] = {40, 30, 20, 10};
    const struct growth growth = growth_fit(sizes, values, COUNT, 0.5);
    const double none[COUNT] = {0};
    const struct growth nothing = growth_fit(sizes, none, COUNT, 0.5);

    (void)state;
    assert_true(growth_at(&growth, 1000) >= 0);
    assert_true(growth_at(&nothing, 1000) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(continues),
        cmocka_unit_test(never_negative),
    };

    return cmocka_run_group_tests_name("amm_growth", tests, NULL, NULL);
}
