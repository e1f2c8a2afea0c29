/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The linear system of block counts: a loop of two blocks by hand, random programs against Gaussian
 * elimination in long double and against what a random walk counted; systems that have no solution.
 */
#include "tests/unit/test.h"

#include <math.h>

#include "formats/base/rng.h"
#include "predict/amm/chain.h"

enum { BLOCKS_MAX = 40 };

static void assert_near(double got, double expected, double relative)
{
    if (!(fabs(got - expected) <= relative * fabs(expected)))
        fail_msg("%.17g instead of %.17g", got, expected);
}

/* That blocks are executed this often. */
static void assert_executions(const struct branch *branches, size_t count, uint32_t blocks,
                              const double *expected)
{
    struct psnap_error error;
    double executions[BLOCKS_MAX];

    assert_int_equal(chain_solve(branches, count, blocks, executions, &error), PSNAP_OK);
    for (uint32_t b = 0; b < blocks; b++)
        assert_near(executions[b], expected[b], 1e-14);
}

/*
 * entry -> b0 -> b1; b1 goes round with 0.9, b0 is entered again from b1 with 0.06:
 * N0 = 1 + 0.06 N1, N1 = N0 + 0.9 N1, so N1 = 10 N0, N0 = 1 / (1 - 0.6) = 2.5, N1 = 25. A loop of
 * 10^12 iterations, whose probabilities differ from 1 in the last digits. A closed loop that is
 * never entered does no harm.
 */
TEST(by_hand)
{
    const struct branch two[] = {
        {PSNAP_NONE, 0, 1}, {0, 1, 1}, {1, 1, 0.9}, {1, 0, 0.06}, {1, PSNAP_NONE, 0.04}};
    const struct branch long_loop[] = {
        {PSNAP_NONE, 0, 1}, {0, 0, 1 - 1e-12}, {0, PSNAP_NONE, 1e-12}};
    const struct branch apart[] = {{PSNAP_NONE, 0, 1}, {0, PSNAP_NONE, 1}, {2, 3, 1}, {3, 2, 1}};

    assert_executions(two, 5, 3, (const double[]){2.5, 25, 0});
    assert_executions(long_loop, 3, 1, (const double[]){1e12});
    assert_executions(apart, 4, 4, (const double[]){1, 0, 0, 0});
}

/* Solves (I - P^T) N = e with pivots; rows of `a` have n + 1 entries. */
static void gauss(long double a[BLOCKS_MAX][BLOCKS_MAX + 1], int n)
{
    for (int k = 0; k < n; k++) {
        int best = k;
        for (int i = k; i < n; i++)
            best = fabsl(a[i][k]) > fabsl(a[best][k]) ? i : best;
        for (int j = 0; j <= n; j++) {
            const long double kept = a[k][j];
            a[k][j] = a[best][j];
            a[best][j] = kept;
        }
        for (int i = 0; i < n; i++) {
            const long double share = a[i][k] / a[k][k];
            for (int j = k; j <= n && i != k; j++)
                a[i][j] -= share * a[k][j];
        }
    }
}

TEST(like_elimination)
{
    struct psnap_rng rng;

    psnap_rng_init(&rng, 3);
    for (int round = 0; round < 300; round++) {
        const uint32_t n = 1 + (uint32_t)psnap_rng_below(&rng, BLOCKS_MAX);
        struct branch branches[3 * BLOCKS_MAX + 1];
        long double a[BLOCKS_MAX][BLOCKS_MAX + 1] = {{0}};
        double executions[BLOCKS_MAX];
        struct psnap_error error;
        size_t count = 0;
        const uint32_t first = (uint32_t)psnap_rng_below(&rng, n);

        branches[count++] = (struct branch){PSNAP_NONE, first, 1};
        a[first][n] = 1;
        for (uint32_t i = 0; i < n; i++) {
            const double stay = (double)psnap_rng_below(&rng, 1000) / 1001;
            const uint32_t to = (uint32_t)psnap_rng_below(&rng, n);
            const uint32_t other = (uint32_t)psnap_rng_below(&rng, n);
            branches[count++] = (struct branch){i, to, stay};
            branches[count++] = (struct branch){i, other, (1 - stay) / 2};
            branches[count++] = (struct branch){i, PSNAP_NONE, (1 - stay) / 2};
            a[i][i] += 1;
            a[to][i] -= stay;
            a[other][i] -= (1 - stay) / 2;
        }
        assert_int_equal(chain_solve(branches, count, n, executions, &error), PSNAP_OK);
        gauss(a, (int)n);
        for (uint32_t i = 0; i < n; i++)
            assert_true(fabs(executions[i] - (double)(a[i][n] / a[i][i])) <
                        1e-9 * (1 + executions[i]));
    }
}

static void must_fail(const struct branch *branches, size_t count, const char *message)
{
    struct psnap_error error;
    double executions[4];

    assert_int_equal(chain_solve(branches, count, 4, executions, &error), PSNAP_ERROR_VALUE);
    assert_non_null(strstr(error.message, message));
}

TEST(refused)
{
    const struct branch sum[] = {{PSNAP_NONE, 0, 1}, {0, 1, 0.5}, {0, 0, 0.4}, {1, PSNAP_NONE, 1}};
    const struct branch closed[] = {{PSNAP_NONE, 0, 1}, {0, 1, 1}, {1, 0, 1}};
    const struct branch no_entry[] = {{0, 1, 1}, {1, PSNAP_NONE, 1}};
    const struct branch negative[] = {{PSNAP_NONE, 0, 1}, {0, 1, -1}, {0, PSNAP_NONE, 2}};

    must_fail(sum, 4, "block b0 add up to 0.9");
    must_fail(closed, 3, "singular");
    must_fail(no_entry, 2, "no block is the first");
    must_fail(negative, 3, "no probability");
}

/* A loop of 10^7 iterations: p_kk alone cannot say another number of them. */
TEST(stays_and_leaves)
{
    struct branch branches[] = {{PSNAP_NONE, 0, 1}, {0, 0, 1 - 1e-7}, {0, PSNAP_NONE, 1e-7}};
    struct psnap_error error;
    double executions[4];

    assert_int_equal(chain_solve(branches, 3, 4, executions, &error), PSNAP_OK);
    assert_near(executions[0], 1e7, 1e-14);
    branches[1].probability = 1 - 2e-7;
    must_fail(branches, 3, "block b0 add up to 0.99999");
    branches[1].probability = 1;
    must_fail(branches, 3, "block b0 add up to 1.000000");
    branches[1].probability = 1 - 1.0000005e-7; /* within a millionth of 1e-7 */
    assert_int_equal(chain_solve(branches, 3, 4, executions, &error), PSNAP_OK);
}
