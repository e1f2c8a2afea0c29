/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Task lists to YAML and back.
 */
#include "tests/unit/test.h"

#include <math.h>

#include "formats/base/rng.h"
#include "predict/multicore/tasks.h"
#include "tests/unit/test_text_support.h"

/* A list of two tasks with a run of 1 and one of 4 cores. */
static void make(struct tasks *tasks, uint64_t seed)
{
    struct psnap_rng rng;

    psnap_rng_init(&rng, seed);
    assert_true(tasks_init(tasks, "prog", 2));
    for (size_t i = 0; i < 2; i++) {
        struct task *task = &tasks->tasks[i];
        task->id = strdup(i ? "main.omp_outlined" : "sequential");
        task->file = strdup(i ? "f.c" : "");
        task->src_line = (uint32_t)i * 12;
        task->executions = psnap_rng_below(&rng, 100);
        task->loops = psnap_rng_below(&rng, 100);
        task->iterations = psnap_rng_below(&rng, 100);
        task->barriers = psnap_rng_below(&rng, 100);
        task->accesses = 3017;
        task->bytes = 8 * task->accesses;
        task->operations[PSNAP_OP_FP_FMA] = 0.5 + (double)psnap_rng_below(&rng, 1000);
        for (uint32_t cores = 1; cores <= 4; cores += 3) {
            struct task_run *run = task_add_run(task, cores, cores > 1 ? 2 : 1);
            assert_non_null(run);
            run->accesses = task->accesses;
            run->busiest = task->accesses / cores;
            for (size_t p = 0; p < run->profile_count; p++) {
                run->profiles[p].line_bytes = 64;
                run->profiles[p].shared_by = p ? 4 : 1;
                for (int k = 0; k < 3000; k++)
                    assert_true(psnap_distances_add(
                        run->profiles[p].distances,
                        psnap_rng_next(&rng) >> (44 + psnap_rng_below(&rng, 20)), 1));
                psnap_distances_add(run->profiles[p].distances, PSNAP_DISTANCE_COLD, 17);
            }
        }
    }
}

static char *text_of(const struct tasks *tasks, size_t *size)
{
    struct psnap_error error;
    char *text;
    FILE *file = open_memstream(&text, size);

    assert_int_equal(tasks_write(tasks, file, &error), PSNAP_OK);
    fclose(file);
    return text;
}

static enum psnap_status from_text(struct tasks *tasks, const char *text, struct psnap_error *error)
{
    FILE *file = fmemopen((char *)(uintptr_t)text, strlen(text), "r");
    const enum psnap_status status = tasks_read(tasks, file, "list", error);

    fclose(file);
    return status;
}

TEST(test_round_trip)
{
    struct psnap_error error;

    for (uint64_t seed = 0; seed < 10; seed++) {
        struct tasks tasks, back;
        size_t size, again_size;
        char *text, *again;

        make(&tasks, seed);
        text = text_of(&tasks, &size);
        assert_int_equal(from_text(&back, text, &error), PSNAP_OK);
        again = text_of(&back, &again_size);
        assert_string_equal(text, again);
        assert_int_equal(back.count, 2);
        for (size_t i = 0; i < 2; i++)
            for (size_t r = 0; r < 2; r++) {
                const struct task_run *a = &tasks.tasks[i].runs[r], *b = &back.tasks[i].runs[r];
                assert_ptr_equal(b, task_find_run(&back.tasks[i], r ? 4 : 1));
                assert_int_equal(a->busiest, b->busiest);
                for (size_t p = 0; p < a->profile_count; p++) {
                    const struct psnap_distances *x = a->profiles[p].distances;
                    const struct psnap_distances *y = b->profiles[p].distances;
                    assert_int_equal(psnap_distances_accesses(x), psnap_distances_accesses(y));
                    assert_int_equal(psnap_distances_cold(y), 17);
                    for (uint64_t lines = 64; lines < 1 << 20; lines *= 4)
                        assert_true(fabs(psnap_sdcm_hit_rate(x, 8, lines) -
                                         psnap_sdcm_hit_rate(y, 8, lines)) < 0.002);
                }
            }
        assert_null(task_find_run(&back.tasks[0], 2));
        assert_non_null(task_find_profile(task_find_run(&back.tasks[0], 4), 64, 8));
        assert_null(task_find_profile(task_find_run(&back.tasks[0], 4), 64, 2));
        assert_null(task_find_profile(task_find_run(&back.tasks[0], 4), 32, 1));
        free(text);
        free(again);
        tasks_release(&tasks);
        tasks_release(&back);
    }
}

#define RUN(accesses, reused)                                                                      \
    "accesses: " #accesses                                                                         \
    ", busiest_core_accesses: 1, profiles: [{line_bytes: 64, shared_by: 1, "                       \
    "cold: 1, histogram: [[1, " #reused "]]"

/* A list of a task of 10 accesses, with a place in it changed, or another list. */
static const char good[] =
    "psnap_tasks: 1\nprogram: p\ntasks:\n- {section: s, file: f, src_line: 0, executions: 1, "
    "loops: 0, iterations: 0, accesses: 10, bytes: 1, operations: {}, runs: [{cores: 2, " RUN(
        10, 9) "}]}]}\n";

TEST(bad_lists)
{
    static const char *const changes[][3] = {
        {"psnap_tasks: 1", "psnap_tasks: 2", "psnap_tasks"},
        {"file: f", "filee: f", "filee"},
        {"cores: 2", "cores: 0", "cores"},
        {"[1, 9]", "[1, 2, 3]", "[distance, count]"},
        {"[1, 9]", "[1, 10]", "more than the run's 10 accesses"},
        {"[1, 9]", "[0, 9223372036854775807], [1, 9223372036854775807], [2, 11]",
         "more than the run's 10 accesses"},
        {"[1, 9]", "[1, 8]", "of 9 of the run's 10 accesses"},
        {"cold: 1, histogram: [[1, 9]]", "cold: 0, histogram: []", "of 0 of the run's 10 accesses"},
        {"cold: 1, histogram: [[1, 9]]", "cold: 11, histogram: []", "cold"},
        {RUN(10, 9), RUN(21, 20), "accesses"}, /* more than of two cores */
        {RUN(10, 9), RUN(9, 8), "accesses"},
    };
    struct psnap_error error;
    struct tasks tasks;

    assert_int_equal(from_text(&tasks, good, &error), PSNAP_OK);
    tasks_release(&tasks);
    for (size_t i = 0; i < COUNT(changes); i++) {
        char *text = replaced(good, changes[i][0], changes[i][1]);

        assert_true(from_text(&tasks, text, &error) < 0);
        assert_non_null(strstr(error.message, changes[i][2]));
        assert_string_equal(error.file, "list");
        free(text);
    }
    assert_true(from_text(&tasks, "psnap_tasks: 1\nprogram: p\ntasks: []\n", &error) < 0);
    assert_non_null(strstr(error.message, "at least one task"));
}
