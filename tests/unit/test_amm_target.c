/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Larger inputs by hand: a loop of two blocks over an array of n lines, again and again, whose
 * distances, cold accesses and hit rates are known at every size.
 */
#include "tests/unit/test.h"

#include <math.h>

#include "predict/amm/target.h"
#include "tests/unit/vectors.h"

enum { PASSES = 4 };

/* Block 0, of a load, walks over n lines; block 1, of a store to a line of its own and two
 * operations, ends each pass. */
struct small {
    struct psnap_program *program;
    struct psnap_source *source;
    struct psnap_access *accesses;
    struct measure measure;
};

static void make(struct small *small, size_t n)
{
    const struct measure_plan plan = {.line_bytes = 64};
    const struct measure_options options = {&plan, 1, 1, 0};
    struct psnap_error error;
    size_t at = 0;

    small->program = psnap_program_new();
    small->accesses = calloc(PASSES * (n + 1), sizeof *small->accesses);
    assert_true(small->program && small->accesses);
    psnap_program_add_loop(small->program,
                           &(struct psnap_loop){"f:1", "f:1", "f", "f.c", 1, 1, PSNAP_NONE, 0, 1});
    psnap_program_add_block(small->program, &(struct psnap_block){.executions = PASSES * n});
    psnap_program_add_block(small->program, &(struct psnap_block){.executions = PASSES});
    small->program->blocks[1].operations[PSNAP_OP_FP_ADD] = 2;
    psnap_program_add_ref(small->program, &(struct psnap_ref){.block = 0, .size = 8});
    psnap_program_add_ref(small->program, &(struct psnap_ref){.block = 1, .size = 8});
    for (int pass = 0; pass < PASSES; pass++) {
        for (size_t i = 0; i < n; i++)
            small->accesses[at++] = (struct psnap_access){.address = 64 * i, .ref = 0, .size = 8};
        small->accesses[at++] = (struct psnap_access){.address = 1 << 20, .ref = 1, .size = 8};
    }
    small->source = vector_source_new(small->accesses, at, small->program);
    assert_non_null(small->source);
    assert_int_equal(measure_stream(&small->measure, small->source, NULL, &options, &error),
                     PSNAP_OK);
}

/* Of the test that runs: an input of 10 lines, and one of 1000. */
static struct small small, large;

static int begin(void **state)
{
    (void)state;
    make(&small, 10);
    make(&large, 1000);
    return 0;
}

static int end(void **state)
{
    struct small *const all[] = {&small, &large};

    (void)state;
    for (int i = 0; i < 2; i++) {
        measure_release(&all[i]->measure);
        psnap_source_free(all[i]->source);
        psnap_program_free(all[i]->program);
        free(all[i]->accesses);
    }
    return 0;
}

/* The accesses of the larger input that the smaller one says nothing of; or the error. */
static double at_large(const char *message)
{
    struct target target;
    struct psnap_error error;
    double unknown;
    const enum psnap_status status = target_at(&target, &small.measure, &large.measure, &error);

    assert_int_equal(status, message ? PSNAP_ERROR_VALUE : PSNAP_OK);
    if (message)
        assert_non_null(strstr(error.message, message));
    unknown = target.unknown;
    target_release(&target);
    return unknown;
}

/* Distances are 10 but for the first pass: a cache of 11 lines has them, one of 10 has not. */
TEST_WITHIN(begin, end, same)
{
    struct target target;
    struct psnap_error error;

    assert_int_equal(target_same(&target, &small.measure, &error), PSNAP_OK);
    assert_true(target.accesses[0] == 40 && target.accesses[1] == 4);
    assert_true(target.operations[PSNAP_OP_FP_ADD] == 8);
    assert_true(target.iterations[0] == 40 && target.entries[0] == 4);
    assert_true(fabs(target_hit_rate(&target, 0, false, 0, 11, 11) - 0.75) < 1e-12);
    assert_true(target_hit_rate(&target, 0, false, 0, 10, 10) == 0);
    target_release(&target);
}

/* The larger one's counts, the smaller one's distances. */
TEST_WITHIN(begin, end, at)
{
    struct target target;
    struct psnap_error error;

    assert_int_equal(target_at(&target, &small.measure, &large.measure, &error), PSNAP_OK);
    assert_true(target.accesses[0] == 4000 && target.accesses[1] == 4);
    assert_true(target.operations[PSNAP_OP_FP_ADD] == 8 && target.iterations[0] == 4000);
    assert_true(fabs(target_hit_rate(&target, 0, false, 0, 11, 11) - 0.75) < 1e-12);
    target_release(&target);
}

/* The larger input is to be of the same program: a copy of it has another name, another build may
 * have the same blocks. */
TEST_WITHIN(begin, end, at_another)
{
    small.program->provenance.name = "small";
    large.program->provenance.name = "large";
    at_large("'large' instead of 'small'");
    small.program->provenance.build_id = large.program->provenance.build_id = "ab";
    at_large(NULL);
    large.program->provenance.name = "small";
    large.program->provenance.build_id = "cd";
    at_large(NULL);
    large.program->loops[0].id = "g:1";
    at_large("another build");
}

/* Up to a tenth of what the small one did not do is left out. */
TEST_WITHIN(begin, end, at_unknown)
{
    small.measure.executions[1] = 0;
    large.measure.executions[1] = 444;
    assert_true(at_large(NULL) == 444);
    large.measure.executions[1] = 445;
    at_large("10 % of the larger input's accesses");
}

/* Block 1's executions are not told: they grow as those of its loop. */
TEST_WITHIN(begin, end, by_executions)
{
    const double executions[] = {120, -1};
    struct target target;
    struct psnap_error error;

    assert_int_equal(target_executions(&target, &small.measure, executions, &error), PSNAP_OK);
    assert_true(target.accesses[0] == 120 && target.accesses[1] == 12);
    assert_true(target.operations[PSNAP_OP_FP_ADD] == 24 && target.unknown == 0);
    target_release(&target);
}
