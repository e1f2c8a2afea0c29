/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The microbenchmarks: that working sets are what they are to be, that kernels touch all of them,
 * and that figures are sane. How long something takes is not tested: bounds are so wide that a busy
 * machine keeps them.
 */
#include "tests/unit/test.h"

#include <math.h>
#include <sched.h>

#include "formats/base/reals.h"
#include "simcore/machine.h"
#include "simcore/probe_survey.h"

TEST(a_chase_visits_every_line_once)
{
    static const size_t sizes[] = {1, 2048, 16 << 10, 181 << 10, (1 << 20) + 777};
    struct probe_buffer buffer;

    assert_true(probe_buffer_init(&buffer, 2 << 20, 32));
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        const size_t line_bytes = i % 2 ? 64 : 128;
        struct probe_set set;
        size_t lines;
        unsigned char *seen;
        void **at;

        probe_set_init(&set, &buffer, sizes[i], line_bytes);
        assert_int_equal(set.bytes % PROBE_SWEEP_BYTES, 0);
        assert_int_equal(set.bytes % (PROBE_ACCESSES * line_bytes), 0);
        assert_true(set.bytes <= sizes[i] || set.bytes == PROBE_ACCESSES * line_bytes);
        lines = set.bytes / line_bytes;
        seen = calloc(lines, 1);
        assert_non_null(seen);
        at = set.at;
        for (size_t k = 0; k < lines; k++, at = *at) {
            const size_t offset = (size_t)((unsigned char *)at - set.base);

            assert_true(offset < set.bytes && offset % line_bytes == 0);
            assert_false(seen[offset / line_bytes]++);
        }
        assert_ptr_equal(at, set.at);
        for (size_t k = 0; k < lines; k++) { /* and once more in the other order */
            assert_true(set.order[k] < set.bytes && set.order[k] % line_bytes == 0);
            assert_int_equal(seen[set.order[k] / line_bytes]++, 1);
        }
        free(seen);
        probe_chase(&set, lines / PROBE_ACCESSES);
        assert_ptr_equal(at, set.at);
        probe_chase(&set, 1);
        for (int k = 0; k < PROBE_ACCESSES; k++)
            at = *at;
        assert_ptr_equal(at, set.at);
    }
    probe_buffer_release(&buffer);
}

TEST(kernels_go_round)
{
    struct probe_buffer buffer;
    struct probe_set set;

    assert_true(probe_buffer_init(&buffer, 1 << 20, 64));
    probe_set_init(&set, &buffer, 16 << 10, 64);
    probe_random_loads(&set, 5);
    assert_int_equal(set.position, 5 * PROBE_ACCESSES);
    probe_random_loads(&set, 16 * 10 - 5);
    assert_int_equal(set.position, 0);
    probe_word_loads(&set, 3);
    assert_int_equal(set.position, 3 * PROBE_ACCESSES * 8);
    probe_word_loads(&set, 128 * 10 - 3);
    assert_int_equal(set.position, 0);
    probe_sweep(&set, 33);
    assert_int_equal(set.position, PROBE_SWEEP_BYTES);
    set.prepared_bytes = 1 << 20;
    probe_prepare(&set);
    assert_int_equal(set.position, PROBE_SWEEP_BYTES);
    assert_in_range((int)(100 * probe_huge_share(&buffer)), 0, 100);
    probe_buffer_release(&buffer);
}

struct counted {
    uint64_t runs, prepared, steps;
};

static void run_counted(void *context, uint64_t steps)
{
    struct counted *counted = context;
    double share;

    counted->runs++;
    counted->steps += steps;
    assert_int_equal(counted->runs, counted->prepared);
    probe_operation(PSNAP_OP_INT_ADD, true, &share).run(NULL, 4 * steps);
}

static void prepare_counted(void *context)
{
    ((struct counted *)context)->prepared++;
}

/* A step of four chains of additions takes as many cycles as it has additions. */
TEST(cycles_are_those_of_additions)
{
    struct counted counted = {0};
    const struct probe_time time =
        probe_measure((struct probe_kernel){run_counted, &counted, prepare_counted}, 0.05,
                      psnap_reals_now() + 60);

    assert_true(counted.runs >= 5 && counted.steps > counted.runs);
    assert_true(time.cycles > 4 * PROBE_OPERATIONS / 3.0 && time.cycles < 4 * PROBE_OPERATIONS * 3);
    assert_true(time.seconds > 0 && time.seconds < 1e-3);
    assert_true(time.runs >= PROBE_RUNS_MIN && time.spread >= 0);
}

/* One run to size them, and one that is timed, of a step each. */
TEST(no_time_is_two_runs)
{
    struct counted counted = {0};
    const struct probe_time time =
        probe_measure((struct probe_kernel){run_counted, &counted, prepare_counted}, 60, 0);

    assert_int_equal(counted.runs, 2);
    assert_int_equal(counted.steps, 2);
    assert_int_equal(time.runs, 1);
    assert_true(time.cycles > 0 && time.spread == 0);
}

TEST(operations_have_kernels)
{
    for (int i = 0; i < PSNAP_OPERATION_COUNT; i++) {
        double share = 0;
        const bool has_result = i != PSNAP_OP_BRANCH && i != PSNAP_OP_CALL;

        assert_int_equal(probe_operation(i, true, &share).run != NULL, has_result);
        assert_non_null(probe_operation(i, false, &share).run);
        assert_true(share > 0 && share <= 1.0 / PROBE_OPERATIONS);
    }
}

struct told {
    int times;
    double done;
};

static void note_told(void *context, const char *what, double done)
{
    struct told *told = context;

    assert_true(*what && done >= told->done && done < 1);
    told->done = done;
    told->times++;
}

static bool is_figure(double value, double low, double high)
{
    return isfinite(value) && value >= low && value <= high;
}

/* Measurements but for what finds out how much there is of level 3. */
enum { FEWEST = 2 * PSNAP_OPERATION_COUNT - 2 + PSNAP_MATH_FUNCTION_COUNT + 4 + 3 * 3 };

TEST(machines_get_all_figures)
{
    struct psnap_machine machine = {
        .name = "m",
        .level_count = 3,
        .levels = {{.size_bytes = 32 << 10, .line_bytes = 64, .ways = 8},
                   {.size_bytes = 40 << 10, .line_bytes = 64, .ways = 8}, /* hardly larger */
                   {.size_bytes = 512 << 10, .line_bytes = 64, .ways = 8}}};
    struct told told = {0, 0};
    struct probe_notes notes;
    struct psnap_error error;
    cpu_set_t before, after;

    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    assert_int_equal(
        probe_machine(&machine, 0.05, (struct probe_progress){note_told, &told}, &notes, &error),
        PSNAP_OK);
    assert_int_equal(sched_getaffinity(0, sizeof after, &after), 0);
    assert_true(CPU_EQUAL(&before, &after));
    assert_int_equal(psnap_machine_check(&machine, &error), PSNAP_OK);
    /* and some to find how much of level 3 there is */
    assert_in_range(told.times, FEWEST, FEWEST + SURVEY_CAPACITY_SLICES);
    assert_in_range(notes.figure_count, FEWEST, FEWEST + SURVEY_CAPACITY_SLICES);
    assert_true(*notes.figures[0].what && notes.figures[0].spread >= 0);
    assert_true(is_figure(machine.clock_hz, 1e7, 1e11));
    for (uint32_t i = 0; i < 3; i++) {
        const struct psnap_cache_level *level = &machine.levels[i];

        if (i == 1) {
            assert_true(level->latency_cycles == 0 && level->throughput_cycles == 0);
            continue;
        }
        assert_true(is_figure(level->latency_cycles, 0.1, 1e5));
        assert_true(is_figure(level->throughput_cycles, 0.01, 1e5));
        assert_true(is_figure(level->bandwidth_bytes_per_s, 1e6, 1e14));
    }
    assert_true(is_figure(machine.memory_latency_cycles, 0.1, 1e6));
    assert_true(is_figure(machine.memory_bandwidth_bytes_per_s, 1e6, 1e14));
    assert_true(is_figure(machine.first_touch_cycles, 1, 1e6));
    assert_true(is_figure(machine.mispredict_cycles, 0, 1e4)); /* 0: too noisy to be seen */
    for (int i = 0; i < PSNAP_MATH_FUNCTION_COUNT; i++)
        assert_true(is_figure(machine.function_cycles[i], 0.5, 1e5));
    if (machine_knows_parallel(&machine.parallel)) /* there is a library of OpenMP */
        assert_true(is_figure(machine.parallel.alone_cycles, 1, 1e6));
    for (int i = 0; i < PSNAP_OPERATION_COUNT; i++)
        assert_true(is_figure(machine.operations[i].throughput_cycles, 0.01, 1e5));
    assert_int_equal(notes.set_bytes[0], 16 << 10);
    assert_int_equal(notes.set_bytes[1], 0);
    assert_true(notes.set_bytes[2] > 40 << 10 && notes.set_bytes[2] < 512 << 10);
    assert_true(notes.set_bytes[3] >= 1 << 20);
}
