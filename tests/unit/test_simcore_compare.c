/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The errors of the comparison, of loops in parts above all.
 */
#include "tests/unit/test.h"

#include <math.h>

#include "simcore/compare.h"
#include "simcore/scope.h"
#include "tests/unit/test_simcore_support.h"

static void put(struct psnap_sink *sim, uint32_t ref, uint64_t address, int times)
{
    for (int i = 0; i < times; i++) {
        const struct psnap_access access = {address, ref, 8, PSNAP_LOAD, (uint16_t)(ref % 2)};
        assert_int_equal(psnap_sink_put(sim, &access, 1, NULL), PSNAP_OK);
    }
}

static void side_of(struct compare_side *side, struct psnap_program *program,
                    const struct psnap_machine *machines, size_t n, const int *misses_and_hits)
{
    struct psnap_sink *sim = psnap_sim_new(machines, n, program, NULL, NULL);
    uint64_t address = 0;

    for (uint32_t loop = 0; loop < 4; loop++) {
        for (int i = 0; i < misses_and_hits[2 * loop]; i++)
            put(sim, 2 * loop, address += 4096, 1);
        put(sim, 2 * loop, address, misses_and_hits[2 * loop + 1]);
    }
    *side = (struct compare_side){.path = "x", .accesses = psnap_sim_accesses(sim)};
    assert_int_equal(scope_rows_init(&side->total, PSNAP_SCOPE_TOTAL, sim, n, program, NULL, NULL),
                     0);
    assert_int_equal(scope_rows_init(&side->loops, PSNAP_SCOPE_LOOP, sim, n, program, NULL, NULL),
                     0);
    psnap_sink_free(sim);
}

static const struct compare_row *row_of(const struct compare *compare, size_t machine,
                                        const char *id)
{
    for (size_t i = 0; i < compare->count; i++)
        if (compare->rows[i].machine == machine && !strcmp(compare->rows[i].id, id))
            return &compare->rows[i];
    fail_msg("no row '%s'", id);
    return NULL;
}

static bool near(double a, double b)
{
    return fabs(a - b) < 1e-9;
}

TEST(errors_are_as_defined)
{
    /* misses and hits in f, f:1.vector, f:2, f:1.rest; every miss goes to memory */
    static const int observed_counts[] = {1, 2, 50, 350, 10, 487, 50, 50};
    static const int synthetic_counts[] = {2, 1, 100, 400, 0, 0, 0, 0};
    struct psnap_program *program = program_with_loops();
    const struct psnap_machine machines[] = {machine_of("1K:64:2"), machine_of("1K:64:2,8K:64:4")};
    struct compare_side observed, synthetic;
    struct compare compare;
    const struct compare_row *row;

    side_of(&observed, program, machines, 2, observed_counts);
    side_of(&synthetic, program, machines, 2, synthetic_counts);
    assert_int_equal(compare_init(&compare, machines, 2, &observed, &synthetic, NULL), PSNAP_OK);
    assert_int_equal(compare.count, 8);
    assert_int_equal(compare.relevant_loops, 2);
    assert_int_equal(compare.missing_loops, 1);
    row = row_of(&compare, 1, "f:1"); /* 400 of 500 hit, and the same */
    assert_true(row->relevant && near(row->share, 0.5));
    assert_true(near(row->levels[0].observed, 0.8) && near(row->levels[1].synthetic, 0.8));
    assert_true(near(row->levels[0].error_points, 0));
    assert_true(near(row->levels[0].relative_miss_error, 0));
    row = row_of(&compare, 0, "f:2"); /* lost */
    assert_true(row->relevant && !row->in_synthetic && isnan(row->levels[0].synthetic));
    assert_true(near(row->levels[0].error_points, 100));
    assert_true(isnan(row->levels[0].relative_miss_error));
    row = row_of(&compare, 0, "f"); /* 3 of 1000: not relevant, whatever its error */
    assert_false(row->relevant);
    assert_true(near(row->levels[0].error_points, 100.0 / 3));
    assert_true(near(row->levels[0].relative_miss_error, 1));
    row = row_of(&compare, 1, "total"); /* 889 of 1000 and 401 of 503 */
    assert_true(near(row->levels[0].error_points, 100 * (0.889 - 401.0 / 503)));
    assert_true(near(row->levels[0].relative_miss_error, 9.0 / 111));
    assert_int_equal(compare.levels, 2);
    for (int level = 0; level < 2; level++) {
        assert_true(near(compare.mean_points[level], 50));
        assert_true(near(compare.max_points[level], 100));
        assert_true(near(compare.total_points[level], 100 * (0.889 - 401.0 / 503)));
    }
    for (size_t i = 1; i < compare.count; i++)
        assert_true(compare.rows[i].worst_points <= compare.rows[i - 1].worst_points);
    compare_release(&compare);
    /* the other way round f:2 is only synthetic, and still counts */
    assert_int_equal(compare_init(&compare, machines, 2, &synthetic, &observed, NULL), PSNAP_OK);
    row = row_of(&compare, 0, "f:2");
    assert_true(row->relevant && !row->in_observed && near(row->share, 0));
    assert_true(near(row->levels[0].error_points, 100));
    assert_true(near(compare.mean_points[0], (100 + 0 + 100.0 / 3) / 3));
    compare_release(&compare);
    scope_rows_release(&observed.total);
    scope_rows_release(&observed.loops);
    scope_rows_release(&synthetic.total);
    scope_rows_release(&synthetic.loops);
    psnap_program_free(program);
}
