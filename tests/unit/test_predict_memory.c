/* SPDX-License-Identifier: BSD-3-Clause */
/* Out of memory in predict: each job below with every one of its allocations failing. */
#include "tests/unit/failing_malloc.h"

#include "predict/amm/asm.h"
#include "predict/amm/target.h"
#include "predict/hybrid/hybrid.h"
#include "predict/multicore/tasks.h"
#include "predict/predict.h"
#include "tests/unit/test_multicore_support.h"

enum { MANY = 200, BLOCKS = 70, INPUTS = 2 };

static struct psnap_program *program, *marked;
static struct psnap_access accesses[MANY];

/* Of what the job itself has to allocate. */
static enum psnap_status no_memory(struct psnap_error *error)
{
    return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
}

/* ---- locality and reuse ---- */

/* Rows and chunks that grow, threads, counts that are settled, smaller units. */
static enum psnap_status measure_locality(struct psnap_error *error)
{
    struct psnap_sink *sink = psnap_locality_new(program, 8, error);
    enum psnap_status status = sink ? PSNAP_OK : error->code;

    for (uint32_t i = 0; i < 400 && !status; i++) {
        const struct psnap_access access = {i * UINT64_C(4096) + i / 300, i % MANY, 8, PSNAP_LOAD,
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
        const struct psnap_access access = {i % 1400 * UINT64_C(4096), i % MANY, 8, PSNAP_LOAD,
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

/* ---- run times ---- */

static enum psnap_status measure_one(struct measure *measure, struct psnap_error *error)
{
    const struct measure_plan plan = {.line_bytes = 64};
    const struct measure_options options = {&plan, 1, 0.5, 0};
    struct psnap_source *source = vector_source_new(accesses, MANY, program);
    const enum psnap_status status =
        source ? measure_stream(measure, source, NULL, &options, error) : no_memory(error);

    psnap_source_free(source);
    return status;
}

static enum psnap_status predict(struct psnap_error *error)
{
    struct measure measures[INPUTS] = {{0}};
    double executions[MANY];
    struct target targets[2] = {{0}};
    enum psnap_status status = PSNAP_OK;

    for (int i = 0; i < INPUTS && !status; i++)
        status = measure_one(&measures[i], error);
    for (uint32_t i = 0; i < MANY; i++)
        executions[i] = i % 2 ? -1 : 10;
    if (!status)
        status = target_executions(&targets[0], &measures[0], executions, error);
    if (!status)
        status = target_at(&targets[1], &measures[0], &measures[1], error);
    for (int i = 0; i < 2; i++)
        target_release(&targets[i]);
    for (int i = 0; i < INPUTS; i++)
        measure_release(&measures[i]);
    return status;
}

static enum psnap_status solve(struct psnap_error *error)
{
    const struct branch branches[] = {{PSNAP_NONE, 0, 1}, {0, 1, 1}, {1, PSNAP_NONE, 1}};
    double executions[2];

    return chain_solve(branches, 3, 2, executions, error);
}

static enum psnap_status read_assembly(struct psnap_error *error)
{
    static char assembly[] = "# psnap blocks\n\t.file\t\"a.c\"\nf:\n"
                             ".LBB0_1: # =>This Inner Loop Header: Depth=1\n"
                             "\t.loc 1 1 32769\n\tdecq\t%rax\n\tjne\t.LBB0_1\n";
    static uint16_t calls[MANY * PSNAP_MATH_FUNCTION_COUNT];
    struct asm_text loops[MANY] = {{0}};
    struct asm_code code = {0};
    FILE *file = fmemopen(assembly, strlen(assembly), "r");
    enum psnap_status status =
        file ? asm_read(&code, file, "a.s", program->block_count, error) : no_memory(error);

    if (!status)
        status = asm_add_loops(&code, program, loops, calls, error);
    for (size_t i = 0; i < COUNT(loops); i++)
        free(loops[i].code);
    if (file)
        fclose(file);
    asm_release(&code);
    return status;
}

/* ---- several cores ---- */

/* Sections, loops with and without iterations. */
static struct psnap_source *marked_stream(void)
{
    static const uint32_t refs[] = {
        FIRST,     PARALLEL, FIRST + 1,  LOOP,         ITERATION, FIRST + 2, ITERATION,
        FIRST + 3, LOOP_END, LOOP_2,     FIRST,        FIRST + 1, LOOP_END,  BARRIER,
        SINGLE,    FIRST,    SINGLE_END, PARALLEL_END, OTHER,     FIRST + 5, PARALLEL_END};
    static struct psnap_access stream[COUNT(refs)];

    for (size_t i = 0; i < COUNT(refs); i++)
        stream[i] = (struct psnap_access){.address = 64 * i, .ref = refs[i], .size = 8};
    return vector_source_new(stream, COUNT(refs), marked);
}

static enum psnap_status mimic_with(bool as_published, struct psnap_error *error)
{
    const struct psnap_mimic_options options = {.cores = 3, .as_published = as_published};
    struct psnap_source *vector = marked_stream();
    struct psnap_source *mimic = vector ? psnap_mimic_new(vector, &options, error) : NULL;
    struct psnap_sink *sink = mimic ? null_sink_new() : NULL;
    struct psnap_sink *groups = sink ? psnap_groups_new(sink, 2) : NULL;
    const enum psnap_status status =
        groups ? psnap_pump(mimic, groups, NULL, error) : no_memory(error);

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
    struct psnap_source *threads[2] = {marked_stream(), marked_stream()};
    struct psnap_source *aligned = NULL;
    struct psnap_sink *sink = null_sink_new();
    enum psnap_status status;

    if (threads[0] && threads[1] && sink) {
        aligned = psnap_aligned_new(threads, 2, marked);
    } else {
        psnap_source_free(threads[0]);
        psnap_source_free(threads[1]);
    }
    status = aligned ? psnap_pump(aligned, sink, NULL, error) : no_memory(error);
    psnap_source_free(aligned);
    psnap_sink_free(sink);
    return status;
}

static enum psnap_status read_tasks(struct psnap_error *error)
{
    static char text[] =
        "psnap_tasks: 1\nprogram: p\ntasks:\n- {section: s, file: f, src_line: 1, executions: 1, "
        "loops: 1, iterations: 4, accesses: 8, bytes: 64, operations: {fp_add: 4}, runs: [{cores: "
        "2, accesses: 8, busiest_core_accesses: 4, profiles: [{line_bytes: 64, shared_by: 2, cold: "
        "1, histogram: [[0, 3], [70, 4]]}]}]}\n";
    FILE *file = fmemopen(text, strlen(text), "r");
    struct tasks tasks;
    enum psnap_status status;

    if (!file)
        return no_memory(error);
    status = tasks_read(&tasks, file, "list", error);
    fclose(file);
    tasks_release(&tasks);
    return status;
}

/* ---- statistics ---- */

static FILE *table;

/* Two codes on three machines, with hits of two levels. */
static void make_table(void)
{
    table = tmpfile();
    assert_non_null(table);
    fputs("code,machine,size,replicate,cpi,cpi_pipeline,hits2,hits3,latency2,latency3\n", table);
    for (int i = 0; i < 2 * 3 * 4 * 3; i++)
        fprintf(table, "\"c%d\",m%d,%d,%d,%d.%d,0.5,0.0%d,0.00%d,10,100\n", i / 36, i / 12 % 3,
                (i / 3 % 4 + 1) * 10, i % 3, i / 36 + 1, i * 7 % 13 + 10, i / 3 % 4 + 1,
                i * i % 4 + 1);
}

static enum psnap_status analyse(struct psnap_error *error)
{
    const struct hybrid_options options = {.level = 0.05, .steady = 0.05};
    struct observations observations = {.arena = psnap_arena_new()};
    struct hybrid hybrid;
    enum psnap_status status = observations.arena ? PSNAP_OK : no_memory(error);

    rewind(table);
    if (!status)
        status = observations_read(&observations, table, "in", error);
    if (!status)
        status = hybrid_make(&hybrid, &observations, &options, error);
    observations_release(&observations);
    psnap_arena_free(observations.arena);
    return status;
}

static void make_program(void)
{
    program = psnap_program_new();
    for (uint32_t i = 0; i < MANY; i++) {
        psnap_program_add_loop(program, &(struct psnap_loop){"f", "f", "f", "a.c", 2, i == 0,
                                                             PSNAP_NONE, i, PSNAP_NONE});
        psnap_program_add_block(
            program, &(struct psnap_block){.loop = i, .executions = 3, .src_line = i == 0});
        psnap_program_add_ref(program, &(struct psnap_ref){.block = i, .loop = i, .size = 8});
        accesses[i] = (struct psnap_access){.address = i % 97 * 64, .ref = i % BLOCKS, .size = 8};
    }
}

TEST(out_of_memory)
{
    make_program();
    marked = program_with_marks();
    make_table();
    run_job(measure_locality);
    run_job(measure_reuse);
    run_job(measure_sample);
    run_job(measure_sets);
    run_job(predict);
    run_job(solve);
    run_job(read_assembly);
    run_job(mimic);
    run_job(mimic_published);
    run_job(align);
    run_job(read_tasks);
    run_job(analyse);
    fclose(table);
    psnap_program_free(marked);
    psnap_program_free(program);
}
