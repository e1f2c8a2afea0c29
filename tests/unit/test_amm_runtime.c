/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Run times by hand: effective latencies of two levels and memory, both published forms, and
 * overlap with its three kinds of accesses; machines that lack what a method needs.
 */
#include "tests/unit/test.h"

#include <math.h>

#include "predict/amm/runtime.h"

static void assert_near(double got, double expected)
{
    if (!(fabs(got - expected) <= 1e-12 * fabs(expected)))
        fail_msg("%.17g instead of %.17g", got, expected);
}

static const struct runtime_reading usual = {0};

static struct psnap_machine two_levels(void)
{
    struct psnap_machine machine = {.name = "two",
                                    .clock_hz = 1e9,
                                    .level_count = 2,
                                    .memory_latency_cycles = 100,
                                    .memory_throughput_cycles = 20,
                                    .memory_bandwidth_bytes_per_s = 8e9};

    machine.levels[0] =
        (struct psnap_cache_level){.line_bytes = 64, .latency_cycles = 4, .throughput_cycles = 0.5};
    machine.levels[1] = (struct psnap_cache_level){.line_bytes = 64,
                                                   .latency_cycles = 10,
                                                   .throughput_cycles = 2,
                                                   .bandwidth_bytes_per_s = 32e9};
    for (int op = 0; op < PSNAP_OPERATION_COUNT; op++)
        machine.operations[op] = (struct psnap_operation_cost){3, 0.5};
    machine.operations[PSNAP_OP_FP_DIV] = (struct psnap_operation_cost){13, 5};
    return machine;
}

/* 1000 accesses of 8 bytes, of which 0.8 hit level 1 and 0.95 level 1 or 2. */
static struct runtime_work some_work(enum runtime_pattern pattern)
{
    struct runtime_work work = {.throughput_cycles = NAN, .latency_cycles = NAN};

    work.patterns[pattern] = (struct runtime_accesses){1000, 8000, {0.8, 0.95}};
    work.operations[PSNAP_OP_FP_ADD] = 1200;
    work.operations[PSNAP_OP_INT_ADD] = 800;
    work.operations[PSNAP_OP_FP_DIV] = 11;
    return work;
}

TEST(effective)
{
    const struct psnap_machine machine = two_levels();
    const struct runtime_work work = some_work(RUNTIME_REGULAR);
    const struct runtime_accesses *accesses = &work.patterns[RUNTIME_REGULAR];

    /* 0.8 * 4 + 0.15 * 10 + 0.05 * 100 */
    assert_near(runtime_effective_cycles(&machine, accesses, false, false), 9.7);
    /* 0.8 * 4 + 0.2 * (0.95 * 10 + 0.05 * 100) */
    assert_near(runtime_effective_cycles(&machine, accesses, false, true), 6.1);
    /* 0.8 * 0.5 + 0.15 * 2 + 0.05 * 20 */
    assert_near(runtime_effective_cycles(&machine, accesses, true, false), 1.7);
}

TEST(published)
{
    const struct psnap_machine machine = two_levels();
    const struct runtime_work work = some_work(RUNTIME_REGULAR);
    struct runtime_seconds seconds = runtime_predict(&machine, &work, RUNTIME_PUBLISHED, usual);

    /* (9.7 + 7 * 1.7 / 8) / 8 * 8000 */
    assert_near(seconds.mem, 11187.5e-9);
    /* 2000 others of 3 cycles, 11 divisions of 13 */
    assert_near(seconds.cpu, (1999 * 3 + 10 * 13) * 1e-9);
    assert_near(seconds.total, seconds.mem + seconds.cpu);
    seconds = runtime_predict(&machine, &work, RUNTIME_THROUGHPUT, usual);
    assert_near(seconds.cpu, (3 + 1999 * 0.5 + 13 + 10 * 5) * 1e-9);
    /* blocks of 64 bytes: (9.7 + 63 * 1.7 / 8) / 64 * 8000 */
    seconds = runtime_predict(&machine, &work, RUNTIME_PUBLISHED,
                              (struct runtime_reading){.block_bytes = 64});
    assert_near(seconds.mem, 2885.9375e-9);
}

/* No operations and no accesses take no time, and nothing is negative. */
TEST(nothing)
{
    const struct psnap_machine machine = two_levels();
    const struct runtime_work none = {0};

    for (int method = 0; method < RUNTIME_METHODS; method++) {
        const struct runtime_seconds seconds =
            runtime_predict(&machine, &none, (enum runtime_method)method, usual);
        assert_true(seconds.total == 0 && seconds.mem == 0 && seconds.cpu == 0);
    }
}

TEST(overlap)
{
    const struct psnap_machine machine = two_levels();
    struct runtime_work work = some_work(RUNTIME_REGULAR);
    struct runtime_seconds seconds = runtime_predict(&machine, &work, RUNTIME_OVERLAP, usual);

    /* 150 lines at 32 GB/s, 50 at 8 GB/s; the busiest unit is the one of 1200 additions */
    assert_near(seconds.mem, 150 * 2e-9 + 50 * 8e-9);
    assert_near(seconds.cpu, 600e-9);
    assert_near(seconds.total, hypot(700e-9, 600e-9));
    work = some_work(RUNTIME_IRREGULAR);
    assert_near(runtime_predict(&machine, &work, RUNTIME_OVERLAP, usual).mem,
                1000 * (0.15 * 2 + 0.05 * 20) * 1e-9);
    work = some_work(RUNTIME_DEPENDENT);
    assert_near(runtime_predict(&machine, &work, RUNTIME_OVERLAP, usual).mem, 9700e-9);
    /* of compiled code: what waits, or what ports do and the calls besides */
    work.throughput_cycles = 300;
    work.latency_cycles = 350;
    work.operations[PSNAP_OP_CALL] = 40;
    assert_near(runtime_predict(&machine, &work, RUNTIME_OVERLAP, usual).cpu, 350e-9);
    work.operations[PSNAP_OP_CALL] = 140;
    assert_near(runtime_predict(&machine, &work, RUNTIME_OVERLAP, usual).cpu, 370e-9);
}

/* What level 1 writes back takes the bus of level 2; what others hide of chains is not waited for.
 */
TEST(busy)
{
    const struct psnap_machine machine = two_levels();
    struct runtime_work work = some_work(RUNTIME_REGULAR);

    work.patterns[RUNTIME_REGULAR].written = 100;
    assert_near(runtime_predict(&machine, &work, RUNTIME_OVERLAP, usual).mem,
                250 * 2e-9 + 50 * 8e-9);
    work = some_work(RUNTIME_DEPENDENT);
    work.hidden = 0.75;
    assert_near(runtime_predict(&machine, &work, RUNTIME_OVERLAP, usual).mem, 2425e-9);
    work.hidden = 1; /* but as fast as the levels can */
    assert_near(runtime_predict(&machine, &work, RUNTIME_OVERLAP, usual).mem, 1700e-9);
}

/* What branches and new pages take adds to the larger of the others. */
TEST(waits)
{
    struct psnap_machine machine = two_levels();
    struct runtime_work work = some_work(RUNTIME_REGULAR);
    struct runtime_seconds seconds;

    work.mispredictions = 10;
    work.wait_cycles = 60;
    work.first_touches = 3;
    work.patterns[RUNTIME_REGULAR].fresh = 30; /* lines in level 2 rather than in memory */
    seconds = runtime_predict(&machine, &work, RUNTIME_OVERLAP, usual);
    assert_true(seconds.branch == 0 && seconds.touch == 0);
    assert_near(seconds.total, hypot(700e-9, 600e-9));
    machine.mispredict_cycles = 20;
    machine.first_touch_cycles = 1000;
    seconds = runtime_predict(&machine, &work, RUNTIME_OVERLAP, usual);
    assert_near(seconds.branch, 260e-9);
    assert_near(seconds.touch, 3000e-9);
    assert_near(seconds.mem, 180 * 2e-9 + 20 * 8e-9);
    assert_near(seconds.total, hypot(520e-9, 600e-9) + 3260e-9);
    work.wait_cycles = -1000; /* decided at once, and more than that is not gained */
    assert_true(runtime_predict(&machine, &work, RUNTIME_OVERLAP, usual).branch == 0);
    seconds = runtime_predict(&machine, &work, RUNTIME_THROUGHPUT, usual);
    assert_near(seconds.total, seconds.mem + seconds.cpu);
}

/* Irregular accesses need no bandwidths. */
TEST(no_bandwidths)
{
    struct psnap_machine machine = two_levels();
    const struct runtime_work work = some_work(RUNTIME_IRREGULAR);
    struct psnap_error error;

    machine.levels[1].bandwidth_bytes_per_s = machine.memory_bandwidth_bytes_per_s = 0;
    assert_int_equal(runtime_check(&machine, &work, RUNTIME_OVERLAP, &error), PSNAP_OK);
    assert_near(runtime_predict(&machine, &work, RUNTIME_OVERLAP, usual).mem, 1300e-9);
}

TEST(missing)
{
    struct psnap_machine machine = two_levels();
    const struct runtime_work work = some_work(RUNTIME_REGULAR);
    struct psnap_error error;

    for (int method = 0; method < RUNTIME_METHODS; method++)
        assert_int_equal(runtime_check(&machine, &work, (enum runtime_method)method, &error),
                         PSNAP_OK);
    machine.operations[PSNAP_OP_FP_DIV] = (struct psnap_operation_cost){0, 0};
    machine.operations[PSNAP_OP_FP_MUL] = (struct psnap_operation_cost){0, 0}; /* not there */
    machine.levels[1].bandwidth_bytes_per_s = 0;
    assert_int_equal(runtime_check(&machine, &work, RUNTIME_OVERLAP, &error), PSNAP_ERROR_VALUE);
    assert_non_null(strstr(error.message, "bandwidth_bytes_per_s of level 2"));
    assert_non_null(strstr(error.message, "operations.fp_div.throughput_cycles"));
    assert_non_null(strstr(error.message, "psnap machine host"));
    assert_null(strstr(error.message, "fp_mul"));
    assert_null(strstr(error.message, "latency"));
    machine.clock_hz = 0;
    assert_int_equal(runtime_check(&machine, &work, RUNTIME_PUBLISHED, &error), PSNAP_ERROR_VALUE);
    assert_non_null(strstr(error.message, "clock_hz"));
    assert_non_null(strstr(error.message, "operations.fp_div.latency_cycles"));
}
