/* SPDX-License-Identifier: BSD-3-Clause */
/* Out of memory in predict/amm: each job below with every one of its allocations failing. */
#include "tests/unit/failing_malloc.h"

#include <stdio.h>
#include <string.h>

#include "predict/amm/asm.h"
#include "predict/amm/target.h"
#include "tests/unit/vectors.h"

#if FAILING_MALLOC

enum { BLOCKS = 70, ACCESSES = 200, INPUTS = 2 };

static struct psnap_program *program;
static struct psnap_access accesses[ACCESSES];

static const char assembly[] = "# psnap blocks\n"
                               "\t.file\t\"a.c\"\n"
                               "f:\n"
                               ".LBB0_1: # =>This Inner Loop Header: Depth=1\n"
                               "\t.loc 1 1 32769\n"
                               "\tdecq\t%rax\n"
                               "\tjne\t.LBB0_1\n";

/* Of what the job itself has to allocate. */
static enum psnap_status no_memory(struct psnap_error *error)
{
    return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
}

static enum psnap_status measure_one(struct measure *measure, struct psnap_error *error)
{
    const struct measure_plan plan = {.line_bytes = 64};
    const struct measure_options options = {&plan, 1, 0.5, 0};
    struct psnap_source *source = vector_source_new(accesses, ACCESSES, program);
    const enum psnap_status status =
        source ? measure_stream(measure, source, NULL, &options, error) : no_memory(error);

    psnap_source_free(source);
    return status;
}

static enum psnap_status predict(struct psnap_error *error)
{
    struct measure measures[INPUTS] = {{0}};
    double executions[BLOCKS];
    struct target targets[2] = {{0}};
    enum psnap_status status = PSNAP_OK;

    for (int i = 0; i < INPUTS && !status; i++)
        status = measure_one(&measures[i], error);
    for (uint32_t i = 0; i < BLOCKS; i++)
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
    uint16_t calls[8 * PSNAP_MATH_FUNCTION_COUNT];
    struct asm_text loops[8] = {{0}};
    struct asm_code code = {0};
    FILE *file = fmemopen((void *)(uintptr_t)assembly, strlen(assembly), "r");
    enum psnap_status status =
        file ? asm_read(&code, file, "a.s", program->block_count, error) : no_memory(error);

    if (!status)
        status = asm_add_loops(&code, program, loops, calls, error);
    for (size_t i = 0; i < sizeof loops / sizeof loops[0]; i++)
        free(loops[i].code);
    if (file)
        fclose(file);
    asm_release(&code);
    return status;
}

static void jobs(void **state)
{
    (void)state;
    run_job(predict);
    run_job(solve);
    run_job(read_assembly);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(jobs)};
    int failures;

    program = psnap_program_new();
    psnap_program_add_loop(program,
                           &(struct psnap_loop){"f", "f", "f", "a.c", 2, 1, PSNAP_NONE, 0, 1});
    for (uint32_t i = 0; i < BLOCKS; i++) {
        psnap_program_add_block(program,
                                &(struct psnap_block){.executions = 3, .src_line = i == 0});
        psnap_program_add_ref(program, &(struct psnap_ref){.block = i, .size = 8});
    }
    for (uint32_t i = 0; i < ACCESSES; i++)
        accesses[i] = (struct psnap_access){.address = i % 97 * 64, .ref = i % BLOCKS, .size = 8};
    failures = cmocka_run_group_tests_name("amm_memory", tests, NULL, NULL);
    psnap_program_free(program);
    return failures;
}

#else

int main(void)
{
    return 0;
}

#endif
