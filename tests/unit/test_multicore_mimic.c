/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Streams of several cores by hand: the dealing of sections and loops, the published dealing and
 * the paper's example, sections and their busiest cores, and bad input.
 */
#include "tests/unit/test.h"

#include "formats/base/rng.h"
#include "predict/predict.h"
#include "test_multicore_support.h"
#include "tests/unit/vectors.h"

TEST(test_by_hand)
{
    struct psnap_program *program = program_with_marks();
    struct psnap_mimic_options options = {.cores = 2};
    struct list input = {0}, got;

    /* s; each: p; 8 iterations of a vectorised loop, a to d of 4 and 4; e and f of the last two */
    push(&input, at('s', FIRST));
    push(&input, mark(PARALLEL));
    push(&input, at('p', FIRST));
    push(&input, mark(LOOP));
    push(&input, mark(ITERATION_4));
    push(&input, at('a', FIRST));
    push(&input, at('b', FIRST));
    push(&input, mark(ITERATION_4));
    push(&input, at('c', FIRST));
    push(&input, at('d', FIRST));
    push(&input, mark(ITERATION));
    push(&input, at('e', FIRST));
    push(&input, mark(ITERATION));
    push(&input, at('f', FIRST));
    push(&input, mark(LOOP_END));
    push(&input, mark(PARALLEL_END));
    push(&input, at('t', FIRST));
    got = run(&input, program, &options);
    expect(&got, "0s 0p 1p 0a 1c 0b 1d 1e 1f 0t"); /* 10 iterations: 4 are core 0's, 6 core 1's */
    free(got.items);
    options.chunk = 1; /* four at once are a chunk */
    got = run(&input, program, &options);
    expect(&got, "0s 0p 1p 0a 1c 0b 1d 0e 1f 0t");
    free(got.items);
    free(input.items);
    psnap_program_free(program);
}

/* Loops without marked iterations are dealt by counts, as is everything as published. */
TEST(test_by_counts)
{
    struct psnap_program *program = program_with_marks();
    struct psnap_mimic_options options = {.cores = 3};
    struct list input = {0}, none = {0}, got;

    push(&input, mark(PARALLEL));
    push(&input, mark(LOOP));
    push(&input, at('x', FIRST)); /* twice: fewer than cores, all have them */
    push(&input, at('y', FIRST));
    for (char c = 'a'; c <= 'g'; c++) /* seven: 3, 2, 2 */
        push(&input, at((uint64_t)c, FIRST + 1));
    push(&input, mark(LOOP_END));
    push(&input, mark(PARALLEL_END));
    got = run(&input, program, &options);
    expect(&got, "0x 1x 2x 0y 1y 2y 0a 1d 2f 0b 1e 2g 0c");
    free(got.items);
    push(&none, mark(PARALLEL)); /* a mark of no iterations, as one may write: it says nothing */
    push(&none, mark(LOOP));
    for (char c = 'a'; c <= 'c'; c++) {
        push(&none, mark(ITERATION_0));
        push(&none, at((uint64_t)c, FIRST));
    }
    push(&none, mark(LOOP_END));
    push(&none, mark(PARALLEL_END));
    got = run(&none, program, &options);
    expect(&got, "0a 1b 2c");
    free(got.items);
    free(none.items);
    options.as_published = true; /* 7 / 3 = 2 each, what is left is the last core's */
    got = run(&input, program, &options);
    expect(&got, "0x 1x 2x 0y 1y 2y 0a 1c 2e 0b 1d 2f 2g");
    free(got.items);
    options.cores = 4; /* 7 are fewer than twice the cores */
    got = run(&input, program, &options);
    assert_int_equal(got.count, 4 * 9);
    free(got.items);
    free(input.items);
    psnap_program_free(program);
}

/* The paper's example, w x w y x z z w, and it on two cores. */
TEST(test_paper)
{
    struct psnap_program *program = program_with_marks();
    const struct psnap_reuse_options alone = {.line_bytes = 1};
    const char *const text = "wxwyxzzw";
    struct psnap_error error;

    for (uint32_t share = 1; share <= 2; share++) {
        const struct psnap_mimic_options options = {.cores = 2};
        struct psnap_sink *reuse = psnap_reuse_new(program, &alone, &error);
        struct psnap_sink *groups = psnap_groups_new(reuse, share);
        struct psnap_distances *sum = psnap_distances_new();
        struct psnap_distance_count each = {0};
        struct list input = {0};
        struct psnap_source *mimic;
        size_t n = 0;
        /* PRD: two cores of inf inf 1 inf 2 inf 0 3; CRD: w w x x w w y y ...: every second one is
         * 0, and the first of each pair as alone */
        static const uint64_t counts[3][5] = {{0}, {2, 2, 2, 2, 8}, {9, 1, 1, 1, 4}};

        push(&input, mark(PARALLEL));
        for (const char *c = text; *c; c++)
            push(&input, at((uint64_t)*c, FIRST));
        push(&input, mark(PARALLEL_END));
        mimic =
            psnap_mimic_new(vector_source_new(input.items, input.count, program), &options, &error);
        assert_int_equal(psnap_pump(mimic, groups, NULL, &error), PSNAP_OK);
        for (uint32_t ref = 0; ref < psnap_reuse_rows(reuse, PSNAP_VIEW_REF); ref++)
            if (psnap_reuse_row(reuse, PSNAP_VIEW_REF, ref))
                psnap_distances_add_all(sum, psnap_reuse_row(reuse, PSNAP_VIEW_REF, ref));
        for (; psnap_distances_next(sum, &each); n++) {
            assert_int_equal(each.distance, n);
            assert_int_equal(each.count, counts[share][n]);
        }
        assert_int_equal(n, 4);
        assert_int_equal(psnap_distances_cold(sum), counts[share][4]);
        psnap_distances_free(sum);
        psnap_source_free(mimic);
        psnap_sink_free(groups);
        psnap_sink_free(reuse);
        free(input.items);
    }
    psnap_program_free(program);
}

TEST(test_sections)
{
    struct psnap_program *program = program_with_marks();
    const struct psnap_mimic_options options = {.cores = 2};
    struct psnap_access block[100];
    const struct psnap_section *sections;
    struct psnap_error error;
    struct list input = {0};
    struct psnap_source *mimic;
    size_t count;
    ssize_t n;

    push(&input, at(1, FIRST));
    for (int i = 0; i < 3; i++) {
        push(&input, mark(i == 1 ? OTHER : PARALLEL));
        push(&input, mark(LOOP));
        push(&input, mark(ITERATION_4));
        push(&input, at(2, FIRST + 1));
        push(&input, mark(LOOP_END));
        push(&input, mark(PARALLEL_END));
    }
    mimic = psnap_mimic_new(vector_source_new(input.items, input.count, program), &options, &error);
    for (uint32_t i = 0; (n = psnap_source_next(mimic, block, 100, &error)) > 0; i++) {
        static const uint32_t of[] = {0, 1, 2, 1};
        assert_int_equal(n, 1);
        assert_int_equal(psnap_mimic_section(mimic), of[i]);
    }
    sections = psnap_mimic_sections(mimic, &count);
    assert_int_equal(count, 3);
    assert_string_equal(sections[0].id, "sequential");
    assert_string_equal(sections[1].id, "main.omp_outlined");
    assert_string_equal(sections[2].id, "main.omp_outlined.1");
    assert_int_equal(sections[2].src_line, 20);
    assert_int_equal(sections[1].executions, 2);
    assert_int_equal(sections[1].loops, 2);
    assert_int_equal(sections[1].iterations, 8);
    assert_int_equal(sections[1].accesses, 2);
    assert_int_equal(sections[1].bytes, 2);
    assert_int_equal(sections[1].core_accesses[0] + sections[1].core_accesses[1], 2);
    assert_int_equal(sections[0].loop_accesses[0], 1);
    assert_int_equal(sections[1].busiest_accesses, 2);
    assert_int_equal(sections[0].busiest_accesses, 1);
    psnap_source_free(mimic);
    free(input.items);
    psnap_program_free(program);
}

/* Two parts, of which each core has more of one: they wait for each other. */
TEST(test_busiest)
{
    struct psnap_program *program = program_with_marks();
    const struct psnap_mimic_options options = {.cores = 2};
    struct psnap_access block[100];
    const struct psnap_section *sections;
    struct psnap_error error;
    struct list input = {0};
    struct psnap_source *mimic;
    size_t count;

    push(&input, mark(PARALLEL));
    for (int p = 0; p < 2; p++) {
        push(&input, mark(LOOP));
        for (int i = 0; i < 2; i++) {
            push(&input, mark(ITERATION));
            for (int k = 0; k < (i == p ? 5 : 2); k++)
                push(&input, at(1, FIRST));
        }
        push(&input, mark(LOOP_END));
        push(&input, mark(BARRIER));
    }
    push(&input, mark(PARALLEL_END));
    mimic = psnap_mimic_new(vector_source_new(input.items, input.count, program), &options, &error);
    while (psnap_source_next(mimic, block, 100, &error) > 0)
        ;
    sections = psnap_mimic_sections(mimic, &count);
    assert_int_equal(count, 2);
    assert_int_equal(sections[1].core_accesses[0], 7);
    assert_int_equal(sections[1].core_accesses[1], 7);
    assert_int_equal(sections[1].busiest_accesses, 10);
    assert_int_equal(sections[1].barriers, 2);
    psnap_source_free(mimic);
    free(input.items);
    psnap_program_free(program);
}

/* A chunk that is not known has to be said, but where loops are not dealt by marks. */
TEST(test_unknown_chunk)
{
    struct psnap_program *program = program_with_marks();
    struct psnap_mimic_options options = {.cores = 2};
    struct psnap_access block[100];
    struct psnap_error error;
    struct psnap_source *mimic;
    struct list input = {0}, got;

    push(&input, mark(PARALLEL));
    push(&input, mark(LOOP_0));
    for (char c = 'a'; c <= 'd'; c++) {
        push(&input, mark(ITERATION));
        push(&input, at((uint64_t)c, FIRST));
    }
    push(&input, mark(LOOP_END));
    push(&input, mark(PARALLEL_END));
    mimic = psnap_mimic_new(vector_source_new(input.items, input.count, program), &options, &error);
    assert_int_equal(psnap_source_next(mimic, block, 100, &error), PSNAP_ERROR_VALUE);
    assert_non_null(strstr(error.message, "section main.omp_outlined (f.c:10) has a loop"));
    assert_non_null(strstr(error.message, "--chunk"));
    psnap_source_free(mimic);
    options.chunk = 1;
    got = run(&input, program, &options);
    expect(&got, "0a 1b 0c 1d");
    free(got.items);
    options = (struct psnap_mimic_options){.cores = 2, .as_published = true};
    got = run(&input, program, &options);
    expect(&got, "0a 1c 0b 1d");
    free(got.items);
    free(input.items);
    psnap_program_free(program);
}

TEST(test_bad)
{
    struct psnap_program *program = program_with_marks();
    const struct psnap_access two[] = {{.ref = FIRST, .size = 1, .thread = 1}},
                              far[] = {{.ref = 99}};
    struct psnap_mimic_options options = {.cores = 0};
    struct psnap_access block[4];
    struct psnap_error error;
    struct psnap_source *mimic;

    assert_null(psnap_mimic_new(vector_source_new(two, 1, program), &options, &error));
    assert_int_equal(error.code, PSNAP_ERROR_USAGE);
    options.cores = 2;
    mimic = psnap_mimic_new(vector_source_new(two, 1, program), &options, &error);
    assert_int_equal(psnap_source_next(mimic, block, 4, &error), PSNAP_ERROR_VALUE);
    assert_non_null(strstr(error.message, "OMP_NUM_THREADS=1"));
    psnap_source_free(mimic);
    mimic = psnap_mimic_new(vector_source_new(far, 1, program), &options, &error);
    assert_int_equal(psnap_source_next(mimic, block, 4, &error), PSNAP_ERROR_VALUE);
    psnap_source_free(mimic);
    psnap_program_free(program);
}

/* What a block has that is refused is not delivered, whoever asks again, in whatever pieces. */
TEST(test_bad_stays)
{
    enum { BLOCK = PSNAP_BLOCK_ACCESSES };
    static struct psnap_access stream[BLOCK + 2];
    const struct psnap_mimic_options options = {.cores = 2};
    const struct psnap_access bad[] = {{.ref = FIRST, .size = 1, .thread = 1},
                                       {.ref = 1u << 30, .size = 1}};
    struct psnap_program *program = program_with_marks();

    for (size_t kind = 0; kind < 2; kind++)
        for (size_t in_section = 0; in_section < 2; in_section++) {
            static struct psnap_access block[BLOCK + 2];
            struct psnap_error error = {0};
            struct psnap_source *mimic;

            for (size_t i = 0; i < BLOCK; i++)
                stream[i] = at('a', FIRST);
            if (in_section)
                stream[0] = mark(PARALLEL);
            stream[BLOCK] = bad[kind];
            stream[BLOCK + 1] = at('b', FIRST);
            mimic =
                psnap_mimic_new(vector_source_new(stream, BLOCK + 2, program), &options, &error);
            if (!in_section)
                assert_int_equal(psnap_source_next(mimic, block, BLOCK + 2, &error), BLOCK);
            for (int again = 0; again < 3; again++) {
                error = (struct psnap_error){0};
                assert_int_equal(psnap_source_next(mimic, block, BLOCK + 2, &error),
                                 PSNAP_ERROR_VALUE);
                assert_non_null(strstr(error.message, kind ? "makes no sense" : "thread 1"));
            }
            psnap_source_free(mimic);
        }
    psnap_program_free(program);
}
