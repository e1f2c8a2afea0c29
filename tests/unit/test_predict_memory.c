/* SPDX-License-Identifier: BSD-3-Clause */
/* Out of memory in predict: each job below with every one of its allocations failing. */
#include "tests/unit/failing_malloc.h"

#include "formats/base/program.h"
#include "predict/predict.h"

#if FAILING_MALLOC

enum { REFS = 200 };

static struct psnap_program *program;

/* Rows and chunks that grow, threads, counts that are settled, smaller units. */
static enum psnap_status measure(struct psnap_error *error)
{
    struct psnap_sink *sink = psnap_locality_new(program, 8, error);
    enum psnap_status status = sink ? PSNAP_OK : error->code;

    for (uint32_t i = 0; i < 400 && !status; i++) {
        const struct psnap_access access = {i * UINT64_C(4096) + i / 300, i % REFS, 8, PSNAP_LOAD,
                                            (uint16_t)(i % 2)};
        status = psnap_sink_put(sink, &access, 1, error);
    }
    psnap_sink_free(sink);
    return status;
}

/* Lines that tables, time lines and pages grow with; distances near and far, of several rows. */
static enum psnap_status measure_with(uint64_t sets, double sample, struct psnap_error *error)
{
    const struct psnap_reuse_options options = {
        .line_bytes = 64, .sets = sets, .ways = 4, .sample = sample, .by_thread = true};
    const struct psnap_access first = {1 << 30, 0, 8, PSNAP_LOAD, 0};
    const int64_t stride = 4096;
    const struct psnap_run run = {
        .first = &first, .strides = &stride, .width = 1, .count = sample > 0 ? 20000 : 200};
    struct psnap_sink *sink = psnap_reuse_new(program, &options, error);
    enum psnap_status status = sink ? PSNAP_OK : error->code;

    for (uint32_t i = 0; i < 3000 && !status; i++) {
        const struct psnap_access access = {i % 1400 * UINT64_C(4096), i % REFS, 8, PSNAP_LOAD,
                                            (uint16_t)(i / 2000)};
        status = psnap_sink_put(sink, &access, 1, error);
    }
    if (!status)
        status = psnap_sink_put_run(sink, &run, error);
    if (!status)
        status = psnap_sink_finish(sink, error);
    psnap_sink_free(sink);
    return status;
}

static enum psnap_status measure_reuse(struct psnap_error *error)
{
    return measure_with(0, 0, error);
}

static enum psnap_status measure_sample(struct psnap_error *error)
{
    return measure_with(0, 0.1, error);
}

static enum psnap_status measure_sets(struct psnap_error *error)
{
    return measure_with(64, 0, error);
}

static void measuring(void **state)
{
    (void)state;
    run_job(measure);
}

static void measuring_reuse(void **state)
{
    (void)state;
    run_job(measure_reuse);
    run_job(measure_sample);
    run_job(measure_sets);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(measuring),
                                       cmocka_unit_test(measuring_reuse)};
    int failures;

    program = psnap_program_new();
    for (uint32_t i = 0; i < REFS; i++) {
        psnap_program_add_loop(program, &(struct psnap_loop){.id = "f", .src_id = "f"});
        psnap_program_add_ref(program, &(struct psnap_ref){.loop = i});
    }
    failures = cmocka_run_group_tests_name("predict_memory", tests, NULL, NULL);
    psnap_program_free(program);
    return failures;
}

#else

int main(void)
{
    return 0;
}

#endif
