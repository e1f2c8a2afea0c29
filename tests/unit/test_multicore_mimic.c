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

static void deal(const char *stream, struct psnap_mimic_options options, const char *expected)
{
    struct psnap_program *program = program_with_marks();
    struct list input = listed(stream);

    expect(read_all(mimic_of(&input, program, &options)), expected);
    free(input.items);
    psnap_program_free(program);
}

/* s; each: p; 8 iterations of a vectorised loop, a to d of 4 and 4; e and f of the last two. Of the
 * 10 iterations 4 are core 0's and 6 core 1's, or four at once are a chunk. Loops without marked
 * iterations are dealt by counts, as is everything as published: x and y, fewer than cores, are all
 * cores', of the seven A to G each has 3, 2 and 2, or 7 / 3 = 2 and the last one what is left; 7
 * are fewer than twice 4 cores. A mark of no iterations, as one may write, says nothing. */
TEST(dealt_by_hand)
{
    static const char vectors[] = "s{p[4ab4cd1e1f]}t", counted[] = "{[xyABCDEFG]}";

    deal(vectors, (struct psnap_mimic_options){.cores = 2}, "0s 0p 1p 0a 1c 0b 1d 1e 1f 0t");
    deal(vectors, (struct psnap_mimic_options){.cores = 2, .chunk = 1},
         "0s 0p 1p 0a 1c 0b 1d 0e 1f 0t");
    deal(counted, (struct psnap_mimic_options){.cores = 3},
         "0x 1x 2x 0y 1y 2y 0A 1D 2F 0B 1E 2G 0C");
    deal(counted, (struct psnap_mimic_options){.cores = 3, .as_published = true},
         "0x 1x 2x 0y 1y 2y 0A 1C 2E 0B 1D 2F 2G");
    deal("{[ABCDEFG]}", (struct psnap_mimic_options){.cores = 4, .as_published = true},
         "0A 1A 2A 3A 0B 1B 2B 3B 0C 1C 2C 3C 0D 1D 2D 3D 0E 1E 2E 3E 0F 1F 2F 3F 0G 1G 2G 3G");
    deal("{[0a0b0c]}", (struct psnap_mimic_options){.cores = 3}, "0a 1b 2c");
}

/* The paper's example, w x w y x z z w, and it on two cores. */
TEST(paper)
{
    struct psnap_program *program = program_with_marks();
    const struct psnap_reuse_options alone = {.line_bytes = 1};
    struct psnap_error error;

    for (uint32_t share = 1; share <= 2; share++) {
        const struct psnap_mimic_options options = {.cores = 2};
        struct psnap_sink *reuse = psnap_reuse_new(program, &alone, &error);
        struct psnap_sink *groups = psnap_groups_new(reuse, share);
        struct psnap_distances *sum = psnap_distances_new();
        struct psnap_distance_count each = {0};
        struct list input = listed("{wxwyxzzw}");
        struct psnap_source *mimic = mimic_of(&input, program, &options);
        size_t n = 0;
        /* PRD: two cores of inf inf 1 inf 2 inf 0 3; CRD: w w x x w w y y ...: every second one is
         * 0, and the first of each pair as alone */
        static const uint64_t counts[3][5] = {{0}, {2, 2, 2, 2, 8}, {9, 1, 1, 1, 4}};

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

/* Three sections, two executions of one; and two parts, of which each core has more of one: they
 * wait for each other. */
TEST(sections_are_counted)
{
    struct psnap_program *program = program_with_marks();
    const struct psnap_mimic_options options = {.cores = 2};
    struct list input = listed("a{[4B]}!4B}{[4B]}"), waiting = listed("{[1aaaaa1bb]|[1aa1bbbbb]|}");
    struct psnap_source *mimic = mimic_of(&input, program, &options);
    struct psnap_access block[100];
    const struct psnap_section *sections;
    size_t count;

    for (uint32_t i = 0; i < 4; i++) {
        static const uint32_t of[] = {0, 1, 2, 1};
        const ssize_t n = psnap_source_next(mimic, block, 100, NULL);
        assert_int_equal(n, of[i] == 2 ? 2 : 1); /* in no loop all have an iteration */
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
    mimic = mimic_of(&waiting, program, &options);
    while (psnap_source_next(mimic, block, 100, NULL) > 0)
        ;
    sections = psnap_mimic_sections(mimic, &count);
    assert_int_equal(count, 2);
    assert_int_equal(sections[1].core_accesses[0], 7);
    assert_int_equal(sections[1].core_accesses[1], 7);
    assert_int_equal(sections[1].busiest_accesses, 10);
    assert_int_equal(sections[1].barriers, 2);
    psnap_source_free(mimic);
    free(input.items);
    free(waiting.items);
    psnap_program_free(program);
}

/* A chunk that is not known has to be said, but where loops are not dealt by marks. */
TEST(unknown_chunk)
{
    static const char stream[] = "{?1a1b1c1d]}";
    const struct psnap_mimic_options options = {.cores = 2};
    struct psnap_program *program = program_with_marks();
    struct list input = listed(stream);
    struct psnap_source *mimic = mimic_of(&input, program, &options);
    struct psnap_access block[100];
    struct psnap_error error;

    assert_int_equal(psnap_source_next(mimic, block, 100, &error), PSNAP_ERROR_VALUE);
    assert_non_null(strstr(error.message, "section main.omp_outlined (f.c:10) has a loop"));
    assert_non_null(strstr(error.message, "--chunk"));
    psnap_source_free(mimic);
    free(input.items);
    psnap_program_free(program);
    deal(stream, (struct psnap_mimic_options){.cores = 2, .chunk = 1}, "0a 1b 0c 1d");
    deal(stream, (struct psnap_mimic_options){.cores = 2, .as_published = true}, "0a 1c 0b 1d");
}

TEST(bad)
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
TEST(bad_stays)
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
                stream[i] = (struct psnap_access){.address = 'a', .ref = FIRST, .size = 1};
            if (in_section)
                stream[0] = mark(PARALLEL);
            stream[BLOCK] = bad[kind];
            stream[BLOCK + 1] = stream[BLOCK - 1];
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
