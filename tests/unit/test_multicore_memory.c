/* SPDX-License-Identifier: BSD-3-Clause */
/* Out of memory in streams of several cores and task lists: each job below with every one of its
 * allocations failing. */
#include "tests/unit/failing_malloc.h"

#include <stdio.h>

#include "predict/multicore/tasks.h"
#include "predict/predict.h"
#include "test_multicore_support.h"
#include "tests/unit/vectors.h"

#if FAILING_MALLOC

static struct psnap_program *program;
static const struct psnap_access *stream;
static size_t stream_length;

/* Sections, loops with and without iterations, and what is asked of sections. */
static enum psnap_status mimic_with(bool as_published, struct psnap_error *error)
{
    const struct psnap_mimic_options options = {.cores = 3, .as_published = as_published};
    struct psnap_source *vector = vector_source_new(stream, stream_length, program);
    struct psnap_source *mimic = vector ? psnap_mimic_new(vector, &options, error) : NULL;
    struct psnap_sink *sink = mimic ? null_sink_new() : NULL;
    struct psnap_sink *groups = sink ? psnap_groups_new(sink, 2) : NULL;
    enum psnap_status status = PSNAP_OK;

    if (!groups)
        status = psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    if (!status)
        status = psnap_pump(mimic, groups, NULL, error);
    psnap_sink_free(groups);
    psnap_sink_free(sink);
    psnap_source_free(mimic);
    return status;
}

static enum psnap_status mimic(struct psnap_error *error)
{
    return mimic_with(false, error);
}

static enum psnap_status mimic_published(struct psnap_error *error)
{
    return mimic_with(true, error);
}

static enum psnap_status align(struct psnap_error *error)
{
    struct psnap_source *threads[2] = {vector_source_new(stream, stream_length, program),
                                       vector_source_new(stream, stream_length, program)};
    struct psnap_source *aligned = NULL;
    struct psnap_sink *sink = null_sink_new();
    enum psnap_status status = PSNAP_OK;

    if (threads[0] && threads[1] && sink) {
        aligned = psnap_aligned_new(threads, 2, program);
    } else {
        psnap_source_free(threads[0]);
        psnap_source_free(threads[1]);
    }
    if (!aligned)
        status = psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    if (!status)
        status = psnap_pump(aligned, sink, NULL, error);
    psnap_source_free(aligned);
    psnap_sink_free(sink);
    return status;
}

static const char list_text[] =
    "psnap_tasks: 1\nprogram: p\ntasks:\n- {section: s, file: f, src_line: 1, executions: 1, "
    "loops: "
    "1, iterations: 4, accesses: 8, bytes: 64, operations: {fp_add: 4}, runs: [{cores: 2, "
    "accesses: 8, busiest_core_accesses: 4, profiles: [{line_bytes: 64, shared_by: 2, cold: 1, "
    "histogram: [[0, 3], [70, 4]]}]}]}\n";

static enum psnap_status read_list(struct psnap_error *error)
{
    FILE *file = fmemopen((char *)(uintptr_t)list_text, sizeof list_text - 1, "r");
    struct tasks tasks;
    enum psnap_status status;

    if (!file)
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    status = tasks_read(&tasks, file, "list", error);
    fclose(file);
    tasks_release(&tasks);
    return status;
}

static void making_streams(void **state)
{
    (void)state;
    run_job(mimic);
    run_job(mimic_published);
    run_job(align);
}

static void reading_lists(void **state)
{
    (void)state;
    run_job(read_list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(making_streams),
                                       cmocka_unit_test(reading_lists)};
    static const uint32_t refs[] = {
        FIRST,     PARALLEL, FIRST + 1,  LOOP,         ITERATION, FIRST + 2, ITERATION,
        FIRST + 3, LOOP_END, LOOP_2,     FIRST,        FIRST + 1, LOOP_END,  BARRIER,
        SINGLE,    FIRST,    SINGLE_END, PARALLEL_END, OTHER,     FIRST + 5, PARALLEL_END};
    static struct psnap_access accesses[sizeof refs / sizeof refs[0]];
    int failures;

    for (size_t i = 0; i < sizeof refs / sizeof refs[0]; i++)
        accesses[i] = (struct psnap_access){.address = 64 * i, .ref = refs[i], .size = 8};
    stream = accesses;
    stream_length = sizeof refs / sizeof refs[0];
    program = program_with_marks();
    failures = cmocka_run_group_tests_name("multicore_memory", tests, NULL, NULL);
    psnap_program_free(program);
    return failures;
}

#else

int main(void)
{
    return 0;
}

#endif
