/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Streams of several cores from random programs of sections, loops, singles and barriers, against
 * lists for each core that are made with the program, in turn and drawn.
 */
#include "tests/unit/test.h"

#include "formats/base/rng.h"
#include "predict/predict.h"
#include "test_multicore_support.h"

enum { CORES = 7, STREAM = 1 << 16 };

/* ------------------------------------------------------ a program and what its cores do */

struct made {
    struct list input, expected;
    struct list lanes[CORES]; /* of the part in hand */
    uint32_t cores;
    struct psnap_rng rng;
};

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

/* ----------------------------------------------------------------------- tests */

TEST(test_in_turn)
{
    struct psnap_program *program = program_with_marks();

    for (uint64_t seed = 0; seed < 300; seed++) {
        const struct psnap_mimic_options options = {.cores = 1 + (uint32_t)(seed % CORES)};
        struct made made;
        struct list got;

        make(&made, options.cores, seed);
        got = read_all(mimic_of(&made.input, program, &options));
        assert_int_equal(got.count, made.expected.count);
        if (got.count)
            assert_memory_equal(got.items, made.expected.items, got.count * sizeof *got.items);
        free(got.items);
        unmake(&made);
    }
    psnap_program_free(program);
}

/* Drawn, each core does the same in the same order, and parts stay parts; a seed is a stream. */
TEST(test_uniform)
{
    struct psnap_program *program = program_with_marks();
    size_t same_order = 0;

    for (uint64_t seed = 0; seed < 50; seed++) {
        struct psnap_mimic_options options = {.cores = 3, .uniform = true, .seed = seed};
        struct made made;
        struct list got, again, other;

        make(&made, 3, seed);
        got = read_all(mimic_of(&made.input, program, &options));
        again = read_all(mimic_of(&made.input, program, &options));
        options.seed++;
        other = read_all(mimic_of(&made.input, program, &options));
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
