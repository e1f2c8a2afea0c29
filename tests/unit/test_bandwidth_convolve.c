/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The convolver: a trace and a profile of two loops whose hits and operations are known, through
 * functions that a person can work out: rows, their times, and totals that are the loops' sums.
 */
#include "tests/unit/test.h"

#include <unistd.h>

#include "formats/formats.h"
#include "predict/bandwidth/cmd_convolve.h"
#include "tests/unit/test_bandwidth_support.h"

/*
 * Loop "far": 1000 loads, each of a line of its own, so of memory: 3000 additions, 100 divisions.
 * Loop "near": 2000 loads of one word, one of memory and the others of level 1: 400
 * multiplications, 20 square roots, 6 fused multiply-adds, 5 calls of mathematical functions.
 * Integers and conversions are there, too, and cost no floating-point time.
 */
enum { FAR = 1000, NEAR = 2000, LINE_BYTES = 64 };

static const char profile_text[] =
    "psnap: 1\n"
    "capture: {model: psnap}\n"
    "schedule: [far, near]\n"
    "loops:\n"
    "- id: far\n"
    "  operations: {fp_add: 3000, fp_div: 100, int_add: 5000}\n"
    "  regions:\n"
    "  - {id: a, working_set: {bytes: 63944, group: heap, offset: 0}, accesses: 1000, loads: "
    "1000,\n"
    "     sizes: {8: 1000}, strides: {64: 999}}\n"
    "- id: near\n"
    "  operations: {fp_mul: 400, fp_sqrt: 20, fp_fma: 6, fp_math: 5, convert: 7, branch: 2000}\n"
    "  regions:\n"
    "  - {id: b, working_set: {bytes: 8, group: image, offset: 0}, accesses: 2000, loads: 2000,\n"
    "     sizes: {8: 2000}, strides: {0: 1999}}\n";

/* ----------------------------------------------------------------------- inputs */

/* A file that the caller removes. */
static FILE *create(char *path)
{
    const int fd = mkstemp(path);
    FILE *file = fd >= 0 ? fdopen(fd, "wb") : NULL;

    assert_non_null(file);
    return file;
}

static uint32_t add_loop(struct psnap_program *program, const char *id, const char *src_id)
{
    const struct psnap_loop loop = {.id = id,
                                    .src_id = src_id,
                                    .function = "main",
                                    .file = "",
                                    .parent = PSNAP_NONE,
                                    .header = PSNAP_NONE,
                                    .entry = PSNAP_NONE};

    return psnap_program_add_loop(program, &loop);
}

/* A block of these operations, with a load in it; returns the load. */
static uint32_t add_load(struct psnap_program *program, const struct psnap_block *block)
{
    const struct psnap_ref ref = {.block = psnap_program_add_block(program, block),
                                  .loop = block->loop,
                                  .kind = PSNAP_LOAD,
                                  .size = 8};

    return psnap_program_add_ref(program, &ref);
}

static struct psnap_sink *begin_trace(FILE *file, struct psnap_program *program)
{
    struct psnap_sink *sink = psnap_trace_writer_new("pst", file, program, NULL);

    assert_non_null(sink);
    return sink;
}

static void put_load(struct psnap_sink *sink, uint32_t ref, uint64_t address)
{
    const struct psnap_access access = {address, ref, 8, PSNAP_LOAD, 0};

    assert_int_equal(psnap_sink_put(sink, &access, 1, NULL), PSNAP_OK);
}

static void end_trace(FILE *file, struct psnap_program *program, struct psnap_sink *sink)
{
    assert_int_equal(psnap_sink_finish(sink, NULL), PSNAP_OK);
    psnap_sink_free(sink);
    psnap_program_free(program);
    assert_int_equal(fclose(file), 0);
}

/* As the profile; "far" has two parts, as of an optimiser, one after the other. */
static void write_trace(FILE *file)
{
    struct psnap_program *program = psnap_program_new();
    struct psnap_sink *sink;
    uint32_t refs[3];

    refs[0] =
        add_load(program, &(struct psnap_block){.loop = add_loop(program, "far.vector", "far"),
                                                .operations[PSNAP_OP_FP_ADD] = 4,
                                                .operations[PSNAP_OP_INT_ADD] = 5,
                                                .executions = 700});
    refs[1] = add_load(program, &(struct psnap_block){.loop = add_loop(program, "far.rest", "far"),
                                                      .operations[PSNAP_OP_FP_ADD] = 2,
                                                      .operations[PSNAP_OP_FP_DIV] = 1,
                                                      .executions = 100});
    refs[2] = add_load(program, &(struct psnap_block){.loop = add_loop(program, "near", "near"),
                                                      .operations[PSNAP_OP_BRANCH] = 1,
                                                      .executions = 2000});
    add_load(program, &(struct psnap_block){.loop = 2,
                                            .operations[PSNAP_OP_FP_MUL] = 400,
                                            .operations[PSNAP_OP_FP_SQRT] = 20,
                                            .operations[PSNAP_OP_FP_FMA] = 6,
                                            .operations[PSNAP_OP_FP_MATH] = 5,
                                            .operations[PSNAP_OP_CONVERT] = 7,
                                            .executions = 1});
    sink = begin_trace(file, program);
    for (uint64_t i = 0; i < FAR + NEAR; i++)
        put_load(sink,
                 refs[i < 700   ? 0
                      : i < FAR ? 1
                                : 2],
                 i < FAR ? (1 << 20) + i * LINE_BYTES : 1 << 12);
    end_trace(file, program, sink);
}

/* -------------------------------------------------------------------- predictions */

/* Additive and averaged; memory is 20 times as slow as level 1. */
static struct fits *known_fits(void)
{
    static const enum bandwidth_method methods[] = {METHOD_ADDITIVE, METHOD_AVERAGED};
    struct fits *fits = calloc(1, sizeof *fits);
    struct psnap_error error;

    assert_non_null(fits);
    assert_int_equal(psnap_machine_parse_inline("4K:64:4,32K:64:8", &fits->machine, &error),
                     PSNAP_OK);
    fits->count = 2;
    for (size_t k = 0; k < fits->count; k++) {
        struct bandwidth_model *model = &fits->results[k].model;

        *model = (struct bandwidth_model){.method = methods[k],
                                          .sources = {.count = 3, .level = {0, 1, 2}},
                                          .bandwidth = {80e9, 20e9, 4e9}};
        sources_complete(&model->sources);
    }
    return fits;
}

static struct psnap_machine known_costs(void)
{
    struct psnap_machine costs = {.clock_hz = 2e9};

    for (int op = 0; op < PSNAP_OPERATION_COUNT; op++)
        costs.operations[op].throughput_cycles = 1000; /* of all that is not to count */
    costs.operations[PSNAP_OP_FP_ADD].throughput_cycles = 0.5;
    costs.operations[PSNAP_OP_FP_MUL].throughput_cycles = 1;
    costs.operations[PSNAP_OP_FP_FMA].throughput_cycles = 2;
    costs.operations[PSNAP_OP_FP_DIV].throughput_cycles = 4;
    costs.operations[PSNAP_OP_FP_SQRT].throughput_cycles = 9;
    costs.operations[PSNAP_OP_FP_MATH].throughput_cycles = 20;
    return costs;
}

static void assert_share(double got, double expected)
{
    assert_near(got / expected, 1, 1e-12);
}

/* The loop's row. Other parts of it, and what is of no loop, have rows without accesses. */
static const struct convolve_row *row_of(const struct convolve_input *input, const char *id)
{
    const struct convolve_row *found = NULL;

    for (size_t i = 1; i < input->count; i++) {
        const bool is_one = input->rows[i].accesses && !strcmp(input->rows[i].id, id);

        assert_false(is_one && found);
        found = is_one ? &input->rows[i] : found;
    }
    assert_non_null(found);
    return found;
}

static void check_loops(const struct convolve_input *input)
{
    const struct convolve_row *far = row_of(input, "far"), *near = row_of(input, "near");
    const double near_share = 1.0 / (double)NEAR;

    assert_int_equal(far->accesses, FAR);
    assert_int_equal(near->accesses, NEAR);
    assert_near(supply_hit_rate(&far->supply, 1), 0, 0);
    assert_share(supply_hit_rate(&near->supply, 0), 1 - near_share);
    assert_share(far->memory_seconds[0], FAR * 8 / 4e9);
    assert_share(far->memory_seconds[1], FAR * 8 / 4e9);
    assert_share(near->memory_seconds[0], (NEAR - 1) * 8 / 80e9 + 8 / 4e9);
    assert_share(near->memory_seconds[1], NEAR * 8 / (80e9 * (1 - near_share) + 4e9 * near_share));
    assert_share(far->operations[PSNAP_OP_FP_ADD], 3000);
    assert_share(near->operations[PSNAP_OP_CONVERT], 7);
    assert_share(far->compute_seconds, (3000 * 0.5 + 100 * 4) / 2e9);
    assert_share(near->compute_seconds, (400 * 1 + 20 * 9 + 6 * 2 + 5 * 20) / 2e9);
}

/* A total's times are the sums of those of its loops, and not those of its rates. */
static void check_total(const struct convolve_input *input, size_t methods)
{
    const struct convolve_row *total = &input->rows[0];
    struct convolve_row sum = {.accesses = 0};

    for (size_t i = 1; i < input->count; i++) {
        sum.accesses += input->rows[i].accesses;
        sum.compute_seconds += input->rows[i].compute_seconds;
        for (size_t k = 0; k < methods; k++)
            sum.memory_seconds[k] += input->rows[i].memory_seconds[k];
        for (int op = 0; op < PSNAP_OPERATION_COUNT; op++)
            sum.operations[op] += input->rows[i].operations[op];
    }
    assert_null(total->id);
    assert_int_equal(total->accesses, FAR + NEAR);
    assert_int_equal(sum.accesses, FAR + NEAR);
    assert_share(supply_hit_rate(&total->supply, 0), (double)(NEAR - 1) / (double)(FAR + NEAR));
    assert_share(total->memory_seconds[0], (FAR + 1) * 8 / 4e9 + (NEAR - 1) * 8 / 80e9);
    for (size_t k = 0; k < methods; k++)
        assert_share(total->memory_seconds[k], sum.memory_seconds[k]);
    assert_share(total->compute_seconds, (1900 + 692) / 2e9);
    assert_share(total->compute_seconds, sum.compute_seconds);
    for (int op = 0; op < PSNAP_OPERATION_COUNT; op++)
        assert_near(total->operations[op], sum.operations[op], 0);
}

static void check_file(const char *path)
{
    const struct psnap_machine costs = known_costs();
    struct fits *fits = known_fits();
    struct convolve_settings settings = {
        .input = PSNAP_INPUT_DEFAULTS, .fits = fits, .costs = &costs, .count = 1};
    struct convolve_input input = {.path = path};
    struct psnap_error error;

    if (convolve_input(&input, &settings, &error))
        fail_msg("%s", error.message);
    check_loops(&input);
    check_total(&input, fits->count);
    convolve_release(&input);

    settings.costs = NULL; /* no costs, no time of operations; others as they were */
    input = (struct convolve_input){.path = path};
    assert_int_equal(convolve_input(&input, &settings, &error), PSNAP_OK);
    for (size_t i = 0; i < input.count; i++)
        assert_true(isnan(input.rows[i].compute_seconds));
    assert_share(row_of(&input, "far")->memory_seconds[0], FAR * 8 / 4e9);
    convolve_release(&input);
    free(fits);
}

TEST(trace_of_two_loops)
{
    char path[] = "/tmp/psnap_convolve_XXXXXX";
    FILE *file = create(path);

    write_trace(file);
    check_file(path);
    unlink(path);
}

TEST(profile_of_two_loops)
{
    char path[] = "/tmp/psnap_convolve_XXXXXX";
    FILE *file = create(path);

    assert_true(fputs(profile_text, file) >= 0);
    assert_int_equal(fclose(file), 0);
    check_file(path);
    unlink(path);
}

/* 1000 loads of lines in a drawn order, by a loop that has nothing to compute their addresses of: a
 * chain, whose latency counts. Without operations nobody knows. */
static void check_chain(bool has_operations)
{
    char path[] = "/tmp/psnap-chain-XXXXXX";
    FILE *file = create(path);
    struct psnap_program *program = psnap_program_new();
    struct fits *fits = known_fits();
    const struct convolve_settings settings = {
        .input = PSNAP_INPUT_DEFAULTS, .fits = fits, .count = 1};
    struct convolve_input input = {.path = path};
    struct psnap_error error;
    const uint32_t ref =
        add_load(program, &(struct psnap_block){.loop = add_loop(program, "far", "far"),
                                                .operations[PSNAP_OP_INT_ADD] = has_operations,
                                                .executions = FAR});
    struct psnap_sink *sink = begin_trace(file, program);

    for (uint64_t i = 0; i < FAR; i++)
        put_load(sink, ref, (1 << 20) + i * i % 1009 * LINE_BYTES * 3 + i * LINE_BYTES * 4096);
    end_trace(file, program, sink);
    fits->latencies[0] = 1e-9;
    fits->latencies[1] = 5e-9;
    fits->latencies[2] = 90e-9;
    if (convolve_input(&input, &settings, &error))
        fail_msg("%s", error.message);
    assert_share(input.rows[0].memory_seconds[0], (double)FAR * (has_operations ? 90e-9 : 8 / 4e9));
    convolve_release(&input);
    free(fits);
    remove(path);
}

TEST(chains_wait)
{
    check_chain(true);
    check_chain(false);
}
