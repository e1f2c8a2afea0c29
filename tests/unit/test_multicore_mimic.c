/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Streams of several cores: random programs of sections, loops, singles and barriers against lists
 * for each core made with the program; cases by hand, the published dealing and the paper's example
 * among them; a part that does not fit in memory; bad input.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "formats/base/rng.h"
#include "predict/multicore/deal.h"
#include "predict/multicore/spool.h"
#include "predict/predict.h"
#include "test_multicore_support.h"

enum { CORES = 7, STREAM = 1 << 16 };

/* ------------------------------------------------------ a program and what its cores do */

struct list {
    struct psnap_access *items;
    size_t count, room;
};

struct made {
    struct list input, expected;
    struct list lanes[CORES]; /* of the part in hand */
    uint32_t cores;
    struct psnap_rng rng;
};

static void push(struct list *list, struct psnap_access access)
{
    if (list->count == list->room) {
        list->room = list->room ? 2 * list->room : 1024;
        list->items = realloc(list->items, list->room * sizeof *list->items);
        assert_non_null(list->items);
    }
    list->items[list->count++] = access;
}

/* An access of the sequential run, which `owner` makes, or all cores (CORES). */
static void put_ref(struct made *made, uint32_t owner, bool in_section, uint32_t ref)
{
    const bool is_private = in_section && psnap_rng_below(&made->rng, 4) == 0;
    const int64_t below = (int64_t)psnap_rng_below(&made->rng, 64) * 8 + 8;
    struct psnap_access access = {
        .address = psnap_rng_below(&made->rng, 1 << 16), .ref = ref, .size = 8};

    if (is_private)
        access.address = stack_address(0, FRAME - below);
    else if (psnap_rng_below(&made->rng, 8) == 0)
        access.address = stack_address(0, FRAME + below); /* of who called */
    push(&made->input, access);
    for (uint32_t core = 0; core < made->cores; core++) {
        if (owner != CORES && owner != core)
            continue;
        access.thread = (uint16_t)core;
        if (is_private && core)
            access.address = stack_address(core, -below);
        push(&made->lanes[core], access);
    }
}

static void put(struct made *made, uint32_t owner, bool in_section)
{
    put_ref(made, owner, in_section, FIRST + (uint32_t)psnap_rng_below(&made->rng, 6));
}

/* Ends a part: its lists, in turn. */
static void part(struct made *made)
{
    bool more = true;

    for (size_t i = 0; more; i++) {
        more = false;
        for (uint32_t core = 0; core < made->cores; core++)
            if (i < made->lanes[core].count) {
                push(&made->expected, made->lanes[core].items[i]);
                more = true;
            }
    }
    for (uint32_t core = 0; core < made->cores; core++)
        made->lanes[core].count = 0;
}

/* LLVM's run time library: the first `extras` have one iteration more. */
static uint32_t naive_owner(uint64_t i, uint64_t n, uint64_t chunk, uint32_t cores)
{
    const uint64_t small = n / cores, extras = n % cores;

    for (uint32_t core = 0; core < cores && !chunk; core++) {
        const uint64_t first = core * small + (core < extras ? core : extras);
        if (i >= first && i < first + small + (core < extras))
            return core;
    }
    return (uint32_t)(i / chunk % cores);
}

static void some(struct made *made, uint32_t owner, uint64_t most)
{
    for (uint64_t i = psnap_rng_below(&made->rng, most + 1); i; i--)
        put(made, owner, true);
}

/* What is before the first iteration: of each reference each core has a contiguous share of its
 * accesses, all of them if these are fewer than cores. */
static void before(struct made *made, uint64_t chunk)
{
    uint32_t refs[20];
    const uint64_t count = psnap_rng_below(&made->rng, 20);

    for (uint64_t i = 0; i < count; i++)
        refs[i] = FIRST + (uint32_t)psnap_rng_below(&made->rng, 3);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t number = 0, all = 0;
        for (uint64_t k = 0; k < count; k++) {
            number += k < i && refs[k] == refs[i];
            all += refs[k] == refs[i];
        }
        put_ref(made, all < made->cores ? CORES : naive_owner(number, all, chunk, made->cores),
                true, refs[i]);
    }
}

static void loop(struct made *made)
{
    const bool in_chunks = psnap_rng_below(&made->rng, 2);
    const uint64_t iterations = psnap_rng_below(&made->rng, 20);

    push(&made->input, mark(in_chunks ? LOOP_2 : LOOP));
    before(made, in_chunks ? 2 : 0);
    for (uint64_t i = 0; i < iterations; i++) {
        push(&made->input, mark(ITERATION));
        some(made, naive_owner(i, iterations, in_chunks ? 2 : 0, made->cores), 6);
    }
    push(&made->input, mark(LOOP_END));
}

static void section(struct made *made, uint32_t begin)
{
    push(&made->input, mark(begin));
    for (uint64_t steps = psnap_rng_below(&made->rng, 8); steps; steps--) {
        switch (psnap_rng_below(&made->rng, 5)) {
        case 0:
            some(made, CORES, 5);
            break;
        case 1:
            push(&made->input, mark(SINGLE));
            some(made, 0, 5);
            push(&made->input, mark(SINGLE_END));
            break;
        case 2:
            push(&made->input, mark(BARRIER));
            part(made);
            break;
        case 3: /* one within it is sequential for each core */
            push(&made->input, mark(OTHER));
            push(&made->input, mark(LOOP));
            some(made, CORES, 2);
            push(&made->input, mark(ITERATION));
            push(&made->input, mark(LOOP_END));
            push(&made->input, mark(PARALLEL_END));
            break;
        default:
            loop(made);
        }
    }
    push(&made->input, mark(PARALLEL_END));
    part(made);
}

static void make(struct made *made, uint32_t cores, uint64_t seed)
{
    *made = (struct made){.cores = cores};
    psnap_rng_init(&made->rng, seed);
    for (uint64_t i = 2 + psnap_rng_below(&made->rng, 10); i; i--) {
        for (uint64_t k = psnap_rng_below(&made->rng, 5); k; k--)
            put(made, 0, false);
        part(made);
        section(made, psnap_rng_below(&made->rng, 3) ? PARALLEL : OTHER);
    }
}

static void unmake(struct made *made)
{
    free(made->input.items);
    free(made->expected.items);
    for (uint32_t core = 0; core < CORES; core++)
        free(made->lanes[core].items);
}

/* All that a mimic delivers, in blocks of random sizes. */
static struct list run(const struct list *input, struct psnap_program *program,
                       const struct psnap_mimic_options *options)
{
    struct psnap_error error;
    struct psnap_source *mimic = psnap_mimic_new(
        psnap_vector_source_new(input->items, input->count, program), options, &error);
    struct psnap_access block[100];
    struct psnap_rng rng;
    struct list all = {0};
    ssize_t n;

    assert_non_null(mimic);
    psnap_rng_init(&rng, 5);
    while ((n = psnap_source_next(mimic, block, 1 + psnap_rng_below(&rng, 100), &error)) > 0)
        for (ssize_t i = 0; i < n; i++)
            push(&all, block[i]);
    assert_int_equal(n, 0);
    psnap_source_free(mimic);
    return all;
}

static void test_in_turn(void **state)
{
    struct psnap_program *program = program_with_marks();

    (void)state;
    for (uint64_t seed = 0; seed < 300; seed++) {
        const struct psnap_mimic_options options = {.cores = 1 + (uint32_t)(seed % CORES)};
        struct made made;
        struct list got;

        make(&made, options.cores, seed);
        got = run(&made.input, program, &options);
        assert_int_equal(got.count, made.expected.count);
        if (got.count)
            assert_memory_equal(got.items, made.expected.items, got.count * sizeof *got.items);
        free(got.items);
        unmake(&made);
    }
    psnap_program_free(program);
}

/* Drawn, each core does the same in the same order, and parts stay parts; a seed is a stream. */
static void test_uniform(void **state)
{
    struct psnap_program *program = program_with_marks();
    size_t same_order = 0;

    (void)state;
    for (uint64_t seed = 0; seed < 50; seed++) {
        struct psnap_mimic_options options = {.cores = 3, .uniform = true, .seed = seed};
        struct made made;
        struct list got, again, other;

        make(&made, 3, seed);
        got = run(&made.input, program, &options);
        again = run(&made.input, program, &options);
        options.seed++;
        other = run(&made.input, program, &options);
        assert_int_equal(got.count, made.expected.count);
        assert_memory_equal(got.items, again.items, got.count * sizeof *got.items);
        same_order += !memcmp(got.items, other.items, got.count * sizeof *got.items);
        for (uint16_t core = 0; core < 3; core++)
            for (size_t i = 0, k = 0; i < got.count; i++) {
                if (got.items[i].thread != core)
                    continue;
                while (made.expected.items[k].thread != core)
                    k++;
                assert_memory_equal(&got.items[i], &made.expected.items[k++], sizeof *got.items);
            }
        free(got.items);
        free(again.items);
        free(other.items);
        unmake(&made);
    }
    assert_true(same_order < 10);
    psnap_program_free(program);
}

/* --------------------------------------------------------------------- by hand */

static struct psnap_access at(uint64_t address, uint32_t ref)
{
    return (struct psnap_access){.address = address, .ref = ref, .size = 1};
}

static void expect(const struct list *got, const char *text) /* core and address: "0a 1b" */
{
    assert_int_equal(got->count, (strlen(text) + 1) / 3);
    for (size_t i = 0; i < got->count; i++) {
        assert_int_equal(got->items[i].thread, text[3 * i] - '0');
        assert_int_equal(got->items[i].address, text[3 * i + 1]);
    }
}

static void test_by_hand(void **state)
{
    struct psnap_program *program = program_with_marks();
    struct psnap_mimic_options options = {.cores = 2};
    struct list input = {0}, got;

    (void)state;
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
    options.chunk = 1; /* of four at once the third is what counts */
    got = run(&input, program, &options);
    expect(&got, "0s 0p 1p 0a 1f 0b 0c 0d 0e 0t");
    free(got.items);
    free(input.items);
    psnap_program_free(program);
}

/* Loops without marked iterations are dealt by counts, as is everything as published. */
static void test_by_counts(void **state)
{
    struct psnap_program *program = program_with_marks();
    struct psnap_mimic_options options = {.cores = 3};
    struct list input = {0}, none = {0}, got;

    (void)state;
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
static void test_paper(void **state)
{
    struct psnap_program *program = program_with_marks();
    const struct psnap_reuse_options alone = {.line_bytes = 1};
    const char *const text = "wxwyxzzw";
    struct psnap_error error;

    (void)state;
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
        mimic = psnap_mimic_new(psnap_vector_source_new(input.items, input.count, program),
                                &options, &error);
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

/* ------------------------------------------------------------------------ parts */

static void test_owner(void **state)
{
    (void)state;
    for (uint32_t cores = 1; cores < 9; cores++)
        for (uint64_t n = 1; n < 40; n++)
            for (uint64_t chunk = 0; chunk < 5; chunk++)
                for (uint64_t i = 0; i < n; i++)
                    assert_int_equal(deal_owner(i, n, chunk, cores),
                                     naive_owner(i, n, chunk, cores));
}

/* More than memory holds, twice: what was spooled comes back. */
static void test_spool(void **state)
{
    const uint64_t count = SPOOL_MEMORY + 100000;
    struct psnap_access block[1000];
    struct psnap_error error;
    struct spool spool;

    (void)state;
    assert_int_equal(spool_init(&spool, &error), PSNAP_OK);
    for (uint64_t round = 0; round < 2; round++) {
        uint64_t at_number = 0;
        ptrdiff_t n;

        spool_clear(&spool);
        for (uint64_t i = 0; i < count; i++) {
            const struct psnap_access access = {.address = i * 3 + round, .size = 8};
            assert_int_equal(spool_add(&spool, &access, &error), PSNAP_OK);
        }
        assert_int_equal(spool_end(&spool, &error), PSNAP_OK);
        while ((n = spool_read(&spool, at_number, block, 1000, &error)) > 0)
            for (ptrdiff_t i = 0; i < n; i++)
                assert_int_equal(block[i].address, 3 * at_number++ + round);
        assert_int_equal(n, 0);
        assert_int_equal(at_number, count);
        assert_int_equal(spool_read(&spool, SPOOL_MEMORY + 77, block, 1, &error), 1);
        assert_int_equal(block[0].address, 3 * (SPOOL_MEMORY + 77) + round);
    }
    spool_release(&spool);
}

/* Where no file can be made it says so, once memory is full. */
static void test_no_file(void **state)
{
    const struct psnap_access access = {.size = 8};
    enum psnap_status status = PSNAP_OK;
    struct psnap_error error;
    struct spool spool;
    uint64_t count = 0;

    (void)state;
    assert_int_equal(setenv("TMPDIR", "/nonexistent", 1), 0);
    assert_int_equal(spool_init(&spool, &error), PSNAP_OK);
    for (; !status && count < 2 * SPOOL_MEMORY; count++)
        status = spool_add(&spool, &access, &error);
    assert_int_equal(status, PSNAP_ERROR_IO);
    assert_true(count > SPOOL_MEMORY);
    assert_non_null(strstr(error.message, "TMPDIR"));
    spool_release(&spool);
    assert_int_equal(unsetenv("TMPDIR"), 0);
}

static void test_sections(void **state)
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

    (void)state;
    push(&input, at(1, FIRST));
    for (int i = 0; i < 3; i++) {
        push(&input, mark(i == 1 ? OTHER : PARALLEL));
        push(&input, mark(LOOP));
        push(&input, mark(ITERATION_4));
        push(&input, at(2, FIRST + 1));
        push(&input, mark(LOOP_END));
        push(&input, mark(PARALLEL_END));
    }
    mimic = psnap_mimic_new(psnap_vector_source_new(input.items, input.count, program), &options,
                            &error);
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
static void test_busiest(void **state)
{
    struct psnap_program *program = program_with_marks();
    const struct psnap_mimic_options options = {.cores = 2};
    struct psnap_access block[100];
    const struct psnap_section *sections;
    struct psnap_error error;
    struct list input = {0};
    struct psnap_source *mimic;
    size_t count;

    (void)state;
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
    mimic = psnap_mimic_new(psnap_vector_source_new(input.items, input.count, program), &options,
                            &error);
    while (psnap_source_next(mimic, block, 100, &error) > 0)
        ;
    sections = psnap_mimic_sections(mimic, &count);
    assert_int_equal(count, 2);
    assert_int_equal(sections[1].core_accesses[0], 7);
    assert_int_equal(sections[1].core_accesses[1], 7);
    assert_int_equal(sections[1].busiest_accesses, 10);
    psnap_source_free(mimic);
    free(input.items);
    psnap_program_free(program);
}

static void test_bad(void **state)
{
    struct psnap_program *program = program_with_marks();
    const struct psnap_access two[] = {{.ref = FIRST, .size = 1, .thread = 1}},
                              far[] = {{.ref = 99}};
    struct psnap_mimic_options options = {.cores = 0};
    struct psnap_access block[4];
    struct psnap_error error;
    struct psnap_source *mimic;

    (void)state;
    assert_null(psnap_mimic_new(psnap_vector_source_new(two, 1, program), &options, &error));
    assert_int_equal(error.code, PSNAP_ERROR_USAGE);
    options.cores = 2;
    mimic = psnap_mimic_new(psnap_vector_source_new(two, 1, program), &options, &error);
    assert_int_equal(psnap_source_next(mimic, block, 4, &error), PSNAP_ERROR_VALUE);
    assert_non_null(strstr(error.message, "OMP_NUM_THREADS=1"));
    psnap_source_free(mimic);
    mimic = psnap_mimic_new(psnap_vector_source_new(far, 1, program), &options, &error);
    assert_int_equal(psnap_source_next(mimic, block, 4, &error), PSNAP_ERROR_VALUE);
    psnap_source_free(mimic);
    psnap_program_free(program);
}

/* What a block has that is refused is not delivered, whoever asks again, in whatever pieces. */
static void test_bad_stays(void **state)
{
    enum { BLOCK = PSNAP_BLOCK_ACCESSES };
    static struct psnap_access stream[BLOCK + 2];
    const struct psnap_mimic_options options = {.cores = 2};
    const struct psnap_access bad[] = {{.ref = FIRST, .size = 1, .thread = 1},
                                       {.ref = 1u << 30, .size = 1}};
    struct psnap_program *program = program_with_marks();

    (void)state;
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
            mimic = psnap_mimic_new(psnap_vector_source_new(stream, BLOCK + 2, program), &options,
                                    &error);
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

/* ---------------------------------------------------------------- groups, threads */

static void test_groups(void **state)
{
    enum { COUNT = 5000 };
    static struct psnap_access stream[COUNT];
    struct psnap_error error;
    struct psnap_rng rng;

    (void)state;
    psnap_rng_init(&rng, 3);
    for (size_t i = 0; i < COUNT; i++)
        stream[i] =
            (struct psnap_access){.address = i, .thread = (uint16_t)psnap_rng_below(&rng, 9)};
    for (uint16_t share = 1; share < 10; share++) {
        struct psnap_sink *all = psnap_vector_sink_new(), *groups = psnap_groups_new(all, share);
        const struct psnap_access *got;
        size_t n;

        assert_int_equal(psnap_sink_put(groups, stream, COUNT, &error), PSNAP_OK);
        got = psnap_vector_sink_data(all, &n);
        assert_int_equal(n, COUNT);
        for (uint16_t cache = 0; cache < 9; cache++)
            for (size_t i = 0, k = 0; i < COUNT; i++) {
                if (got[i].thread != cache)
                    continue;
                while (stream[k].thread / share != cache)
                    k++;
                assert_int_equal(got[i].address, stream[k++].address);
            }
        psnap_sink_free(groups);
        psnap_sink_free(all);
    }
}

/* A chunk that is not known has to be said, but where loops are not dealt by marks. */
static void test_unknown_chunk(void **state)
{
    struct psnap_program *program = program_with_marks();
    struct psnap_mimic_options options = {.cores = 2};
    struct psnap_access block[100];
    struct psnap_error error;
    struct psnap_source *mimic;
    struct list input = {0}, got;

    (void)state;
    push(&input, mark(PARALLEL));
    push(&input, mark(LOOP_0));
    for (char c = 'a'; c <= 'd'; c++) {
        push(&input, mark(ITERATION));
        push(&input, at((uint64_t)c, FIRST));
    }
    push(&input, mark(LOOP_END));
    push(&input, mark(PARALLEL_END));
    mimic = psnap_mimic_new(psnap_vector_source_new(input.items, input.count, program), &options,
                            &error);
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

/* Caches are numbered up to the cores that there may be, however many threads a stream has. */
static void test_many_groups(void **state)
{
    struct psnap_access access = {.size = 1, .thread = 2 * PSNAP_CORES_MAX - 1};
    struct psnap_error error;

    (void)state;
    for (uint32_t share = 1; share <= 2; share++) {
        struct psnap_sink *all = psnap_vector_sink_new(), *groups = psnap_groups_new(all, share);
        const enum psnap_status status = psnap_sink_put(groups, &access, 1, &error);
        size_t n;

        psnap_vector_sink_data(all, &n);
        assert_int_equal(status, share == 2 ? PSNAP_OK : PSNAP_ERROR_VALUE);
        assert_int_equal(n, share == 2);
        psnap_sink_free(groups);
        psnap_sink_free(all);
    }
}

/* Threads of a recorded run meet where sections begin and end, and at barriers. */
static void test_aligned(void **state)
{
    struct psnap_program *program = program_with_marks();
    struct list threads[2] = {{0}}, got = {0};
    struct psnap_source *sources[2], *aligned;
    struct psnap_access block[3];
    struct psnap_error error;
    ssize_t n;

    (void)state;
    push(&threads[0], at('s', FIRST));
    push(&threads[0], at('t', FIRST));
    for (int t = 0; t < 2; t++) {
        push(&threads[t], mark(PARALLEL));
        push(&threads[t], mark(LOOP));
        for (int i = 0; i < 2 + t; i++)
            push(&threads[t], at((uint64_t)('a' + 5 * t + i), FIRST));
        push(&threads[t], mark(LOOP_END));
        push(&threads[t], mark(BARRIER));
        push(&threads[t], at((uint64_t)('x' + t), FIRST));
        push(&threads[t], mark(PARALLEL_END));
    }
    push(&threads[0], at('z', FIRST));
    for (int t = 0; t < 2; t++) {
        for (size_t i = 0; i < threads[t].count; i++)
            threads[t].items[i].thread = (uint16_t)t;
        sources[t] = psnap_vector_source_new(threads[t].items, threads[t].count, program);
    }
    aligned = psnap_aligned_new(sources, 2, program);
    while ((n = psnap_source_next(aligned, block, 3, &error)) > 0)
        for (ssize_t i = 0; i < n; i++)
            push(&got, block[i]);
    assert_int_equal(n, 0);
    expect(&got, "0s 0t 0a 1f 0b 1g 1h 0x 1y 0z");
    psnap_source_free(aligned);
    free(got.items);
    free(threads[0].items);
    free(threads[1].items);
    psnap_program_free(program);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_in_turn),     cmocka_unit_test(test_uniform),
        cmocka_unit_test(test_by_hand),     cmocka_unit_test(test_by_counts),
        cmocka_unit_test(test_paper),       cmocka_unit_test(test_owner),
        cmocka_unit_test(test_spool),       cmocka_unit_test(test_no_file),
        cmocka_unit_test(test_sections),    cmocka_unit_test(test_busiest),
        cmocka_unit_test(test_bad),         cmocka_unit_test(test_groups),
        cmocka_unit_test(test_aligned),     cmocka_unit_test(test_bad_stays),
        cmocka_unit_test(test_many_groups), cmocka_unit_test(test_unknown_chunk),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
