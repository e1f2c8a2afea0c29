/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Model stackdist: the LRU stack against a list that is searched from its front, and histograms of
 * profiles against distances found that way.
 */
#include "profile/distances/lru_stack.h"
#include "tests/unit/test_distances_support.h"

/* ---- the stack ---- */

static void test_stack_is_a_list(void **state)
{
    struct lru_stack *stack = lru_stack_new();
    struct list *list = calloc(1, sizeof *list);
    struct psnap_rng rng;
    uint32_t count = 0;

    (void)state;
    psnap_rng_init(&rng, 1);
    for (unsigned i = 0; i < 60000; i++) {
        /* Near the top, all over, and ever more lines: past growing and closing up. */
        const uint64_t spread = i % 3 ? 40 : 1 + i / 15, line = psnap_rng_below(&rng, spread) * 977;
        const uint32_t number = lru_stack_find(stack, line);
        const int depth = touch(list, line);
        if (number == LRU_NONE) {
            assert_int_equal(depth, NEW_LINE);
            assert_int_equal(lru_stack_add(stack, line), count++);
        } else {
            assert_int_equal(lru_stack_line(stack, number), line);
            assert_int_equal(lru_stack_depth(stack, number), depth);
            assert_int_equal(lru_stack_at(stack, (uint32_t)depth), number);
            lru_stack_raise(stack, number);
        }
        assert_int_equal(lru_stack_count(stack), count);
        if (i % 97 == 0) {
            const uint32_t at = (uint32_t)psnap_rng_below(&rng, count);
            assert_int_equal(lru_stack_line(stack, lru_stack_at(stack, at)), list->lines[at]);
        }
    }
    assert_true(count > 2000);
    lru_stack_free(stack);
    free(list);
}

/* A bin is narrow, and no power of two is within one. */
static void test_bins(void **state)
{
    uint32_t first = 0;

    (void)state;
    for (uint32_t depth = 1; depth < 1u << 20; depth++) {
        const unsigned bin = distance_bin(depth);
        if (bin == distance_bin(depth - 1)) {
            assert_true(depth & (depth - 1));
            assert_true(depth - first < (first + 3) / 4);
            continue;
        }
        assert_int_equal(bin, distance_bin(depth - 1) + 1);
        assert_int_equal(distance_bin_low(bin), depth);
        first = depth;
    }
    assert_int_equal(distance_bin(UINT32_MAX), DISTANCE_BINS - 1);
}

/* ---- profiles ---- */

/* That the loop's regions count what the histogram has, bin by bin, and with mean distances. */
static void assert_counts(const struct psnap_profile_loop *loop, const struct histogram *want)
{
    uint64_t has[DISTANCE_BINS] = {0}, should[DISTANCE_BINS] = {0}, new_lines = 0;
    double depths[DISTANCE_BINS] = {0}, true_depths[DISTANCE_BINS] = {0};

    for (uint32_t i = 0; i < loop->region_count; i++) {
        new_lines += loop->regions[i].new_lines;
        for (uint32_t d = 0; d < loop->regions[i].distance_count; d++) {
            const struct psnap_distance_count *distance = &loop->regions[i].distances[d];
            has[distance_bin(distance->lines)] += distance->count;
            depths[distance_bin(distance->lines)] += (double)distance->count * distance->lines;
        }
    }
    for (uint32_t d = 0; d < LINES; d++) {
        should[distance_bin(d)] += want->counts[d + 1];
        true_depths[distance_bin(d)] += (double)want->counts[d + 1] * d;
    }
    assert_int_equal(new_lines, want->counts[0]);
    assert_memory_equal(has, should, sizeof has);
    for (unsigned bin = 0; bin < DISTANCE_BINS; bin++) /* means are rounded down */
        assert_true(depths[bin] <= true_depths[bin] &&
                    depths[bin] + (double)has[bin] >= true_depths[bin]);
}

static void test_profile_has_the_distances(void **state)
{
    struct psnap_program *program = make_program(LOOPS, REFS);
    struct psnap_access *accesses = calloc(ACCESSES, sizeof *accesses);
    struct psnap_rng rng;

    (void)state;
    psnap_rng_init(&rng, 2);
    for (unsigned round = 0; round < 6; round++) {
        /* Also with regions that are merged all the time, and of several threads. */
        const struct psnap_builder_options options = {
            .stackdist = true, .region_gap_bytes = round % 2 ? 1 : 0, .region_limit = 4};
        const uint16_t threads = round < 4 ? 1 : 3;
        struct psnap_profile *profile;
        struct histogram *loops;
        make_stream(&rng, accesses, threads);
        loops = measure(program, accesses, ACCESSES, threads);
        profile = build(program, accesses, ACCESSES, &options);
        assert_string_equal(profile->model, PSNAP_MODEL_STACKDIST);
        assert_int_equal(profile->loop_count, LOOPS);
        for (uint32_t l = 0; l < LOOPS; l++)
            assert_counts(&profile->loops[l], &loops[l]);
        psnap_profile_free(profile);
        free(loops);
    }
    free(accesses);
    psnap_program_free(program);
}

/* What the published model keeps is the same with it and without it, but for the model's name. */
static void test_all_else_is_as_published(void **state)
{
    struct psnap_program *program = make_program(LOOPS, REFS);
    struct psnap_access *accesses = calloc(ACCESSES, sizeof *accesses);
    struct psnap_rng rng;
    struct psnap_profile *plain, *profile;
    char *one, *two;

    (void)state;
    psnap_rng_init(&rng, 3);
    make_stream(&rng, accesses, 2);
    plain = build(program, accesses, ACCESSES, NULL);
    profile = build(program, accesses, ACCESSES, &stackdist);
    for (uint32_t l = 0; l < LOOPS; l++)
        for (uint32_t i = 0; i < profile->loops[l].region_count; i++)
            profile->loops[l].regions[i].distances = NULL;
    profile->model = plain->model;
    one = write_text(plain);
    two = write_text(profile);
    assert_string_equal(one, two);
    free(one);
    free(two);
    psnap_profile_free(plain);
    psnap_profile_free(profile);
    free(accesses);
    psnap_program_free(program);
}

static void test_runs_are_their_accesses(void **state)
{
    const struct psnap_access first[2] = {{HEAP, 0, 8, PSNAP_LOAD, 0},
                                          {HEAP + 65536, 1, 8, PSNAP_STORE, 0}};
    const int64_t strides[2] = {8, 24};
    const struct psnap_run run = {.first = first, .strides = strides, .width = 2, .count = 1000};
    struct psnap_program *program = make_program(1, 2);
    struct psnap_sink *builder = psnap_profile_builder_new(program, &stackdist, NULL);
    struct psnap_access accesses[2000];
    struct psnap_profile *profile;
    char *one, *two;

    (void)state;
    assert_int_equal(psnap_sink_put_run(builder, &run, NULL), PSNAP_OK);
    profile = end_profile(builder);
    one = write_text(profile);
    psnap_profile_free(profile);
    for (unsigned i = 0; i < 2000; i++) {
        accesses[i] = first[i % 2];
        accesses[i].address += i / 2 * (uint64_t)strides[i % 2];
    }
    profile = build(program, accesses, 2000, &stackdist);
    two = write_text(profile);
    assert_string_equal(one, two);
    assert_non_null(strstr(one, "reuse: {new: 125, distances: {1: 875}}"));
    assert_non_null(strstr(one, "reuse: {new: 375, distances: {1: 625}}"));
    free(one);
    free(two);
    psnap_profile_free(profile);
    psnap_program_free(program);
}

static void test_one_model(void **state)
{
    const struct psnap_builder_options both = {.stackdist = true, .walks = true};
    struct psnap_program *program = make_program(1, 1);
    struct psnap_error error;

    (void)state;
    assert_null(psnap_profile_builder_new(program, &both, &error));
    assert_int_equal(error.code, PSNAP_ERROR_USAGE);
    psnap_program_free(program);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stack_is_a_list),
        cmocka_unit_test(test_bins),
        cmocka_unit_test(test_profile_has_the_distances),
        cmocka_unit_test(test_all_else_is_as_published),
        cmocka_unit_test(test_runs_are_their_accesses),
        cmocka_unit_test(test_one_model),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
