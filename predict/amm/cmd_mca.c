/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * llvm-mca knows what the ports and the front end of a processor can take of a loop's body, over
 * and over, with all its loads hitting level 1. All loops go to one run, each as a region. Of the
 * report some lines are read that all versions write alike.
 *
 * What waits within a loop does not wait for the entry before it: a processor that holds W
 * iterations in its reorder buffer is at the last W of one entry and the first ones of the next at
 * once, and at several entries if they are short.
 */
#include "predict/amm/cmd_mca.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "predict/cmd_tool.h"

static const char *const programs[] = {"llvm-mca-22", "llvm-mca-21", "llvm-mca-20", "llvm-mca-19",
                                       "llvm-mca-18", "llvm-mca-17", "llvm-mca-16", "llvm-mca"};
enum { PROGRAMS = sizeof programs / sizeof programs[0] };

enum psnap_status mca_find(const char **program, struct psnap_error *error)
{
    const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);

    *program = NULL;
    for (size_t i = 0; i < PROGRAMS && nothing >= 0 && !*program; i++) {
        const char *const arguments[] = {programs[i], "--version", NULL};
        if (!tool_run(arguments, nothing, nothing, nothing))
            *program = programs[i];
    }
    if (nothing >= 0)
        close(nothing);
    return *program ? PSNAP_OK
                    : psnap_error_set(error, PSNAP_ERROR_UNSUPPORTED,
                                      "--asm needs llvm-mca, which is not installed (Debian "
                                      "package llvm-19)");
}

struct region { /* of the report */
    double iterations, operations, width, throughput, entries;
};

/* Divisions of integers are left out: mca_throughput(). */
static void write_code(const char *code, FILE *file)
{
    for (const char *line = code; *line;) {
        const size_t length = strcspn(line, "\n") + 1;
        if (!asm_divides_integers(line))
            fwrite(line, 1, length, file);
        line += length;
    }
}

static void write_regions(const struct asm_text *loops, uint32_t count, FILE *file)
{
    for (uint32_t i = 0; i < count; i++)
        if (loops[i].length) {
            fprintf(file, "# LLVM-MCA-BEGIN %" PRIu32 "\n", i);
            write_code(loops[i].code, file);
            fprintf(file, "# LLVM-MCA-END\n");
        }
}

/* The number behind a heading; false: the line has another one. */
static bool take_number(const char *line, const char *heading, double *number)
{
    const size_t length = strlen(heading);

    if (strncmp(line, heading, length) != 0)
        return false;
    *number = strtod(line + length, NULL);
    return true;
}

/* "[0] Code Region - 12", then lines of the region. */
static void read_report(struct region *regions, size_t count, FILE *file)
{
    struct region nothing, *region = &nothing;
    char *line = NULL;
    size_t room = 0;

    while (getline(&line, &room, file) > 0) {
        const char *name = strstr(line, "Code Region - ");
        if (name) {
            const unsigned long index = strtoul(name + strlen("Code Region - "), NULL, 10);
            region = index < count ? &regions[index] : &nothing;
        } else if (!take_number(line, "Iterations:", &region->iterations) &&
                   !take_number(line, "Total uOps:", &region->operations) &&
                   !take_number(line, "Dispatch Width:", &region->width) &&
                   !take_number(line, "Block RThroughput:", &region->throughput)) {
            take_number(line, "Total ROB Entries:", &region->entries);
        }
    }
    free(line);
}

static struct mca_cycles cycles_of(const struct region *region)
{
    const double operations = region->operations / region->iterations;

    if (!(region->iterations > 0) || !(region->width > 0) || !(operations > 0))
        return (struct mca_cycles){NAN, 0};
    return (struct mca_cycles){fmax(region->throughput, operations / region->width),
                               region->entries / operations};
}

double mca_throughput(const struct mca_loops *mca, uint32_t loop,
                      const struct psnap_machine *machine)
{
    const struct psnap_operation_cost *costs = machine->operations;
    struct asm_divisions count;

    if (isnan(mca->cycles[loop].throughput))
        return NAN;
    count = asm_divisions(mca->texts[loop].code);
    return fmax(fmax(mca->cycles[loop].throughput,
                     count.integers * costs[PSNAP_OP_INT_DIV].throughput_cycles),
                count.divisions * costs[PSNAP_OP_FP_DIV].throughput_cycles +
                    count.roots * costs[PSNAP_OP_FP_SQRT].throughput_cycles);
}

struct asm_latency mca_latency(const struct mca_loops *mca, uint32_t loop,
                               const struct psnap_machine *machine)
{
    return isnan(mca->cycles[loop].throughput) ? (struct asm_latency){NAN, NAN, NAN}
                                               : asm_latency(mca->texts[loop].code, machine);
}

double mca_hidden(const struct mca_loops *mca, uint32_t loop, double trips)
{
    const double window = mca->cycles[loop].window;

    return trips > 0 && window > 0 ? window / (trips + window) : 0;
}

static enum psnap_status simulate(const char *program, const struct asm_text *loops, uint32_t count,
                                  struct region *regions, const char *cpu, FILE *files[3],
                                  struct psnap_error *error)
{
    char option[160], line[256];
    const char *const arguments[] = {
        program,         option, "-iterations=100", "-instruction-info=0", "-resource-pressure=0",
        "-retire-stats", NULL};

    snprintf(option, sizeof option, "-mcpu=%s", cpu ? cpu : "native");
    write_regions(loops, count, files[0]);
    if (fflush(files[0]) != 0 || fseek(files[0], 0, SEEK_SET) != 0)
        return psnap_error_system(error, errno, "cannot write a temporary file");
    if (tool_run(arguments, fileno(files[0]), fileno(files[1]), fileno(files[2])) != 0) {
        tool_complaint(files[2], line, sizeof line);
        return psnap_error_set(error, PSNAP_ERROR_VALUE, "%s could not simulate the loops: %s",
                               program, line);
    }
    if (fseek(files[1], 0, SEEK_SET) != 0)
        return psnap_error_system(error, errno, "cannot read a temporary file");
    read_report(regions, count, files[1]);
    return PSNAP_OK;
}

/* regions[i] is what llvm-mca says of loop i. */
static enum psnap_status run(const struct asm_text *loops, uint32_t count, struct region *regions,
                             const char *cpu, struct psnap_error *error)
{
    FILE *files[3] = {tmpfile(), tmpfile(), tmpfile()};
    const char *program;
    enum psnap_status status;

    if (!files[0] || !files[1] || !files[2])
        status = psnap_error_system(error, errno, "cannot make a temporary file");
    else if (!(status = mca_find(&program, error)))
        status = simulate(program, loops, count, regions, cpu, files, error);
    for (int i = 0; i < 3; i++)
        if (files[i])
            fclose(files[i]);
    return status;
}

static enum psnap_status read_loops(struct mca_loops *mca, const struct psnap_text_list *files,
                                    const struct psnap_program *program, struct psnap_error *error)
{
    enum psnap_status status = PSNAP_OK;

    for (size_t i = 0; i < files->count && !status; i++) {
        struct asm_code code = {0};
        FILE *file = fopen(files->items[i], "re");
        if (!file)
            return psnap_error_file(error, errno, "open", files->items[i]);
        status = asm_read(&code, file, files->items[i], program->block_count, error);
        fclose(file);
        if (!status) {
            status = asm_add_loops(&code, program, mca->texts, mca->calls, error);
            psnap_error_at(status ? error : NULL, files->items[i], 0, 0);
        }
        asm_release(&code);
    }
    return status;
}

enum psnap_status mca_measure(struct mca_loops *mca, const struct psnap_text_list *files,
                              const char *cpu, const struct psnap_program *program,
                              const double *iterations, struct psnap_error *error)
{
    const size_t count = program->loop_count + (size_t)1;
    struct region *regions = calloc(count, sizeof *regions);
    enum psnap_status status = PSNAP_OK;

    *mca = (struct mca_loops){.cycles = calloc(count, sizeof *mca->cycles),
                              .texts = calloc(count, sizeof *mca->texts),
                              .waits = calloc(count, sizeof *mca->waits),
                              .calls = calloc((size_t)program->block_count + 1,
                                              PSNAP_MATH_FUNCTION_COUNT * sizeof *mca->calls),
                              .count = program->loop_count};
    if (!regions || !mca->cycles || !mca->texts || !mca->waits || !mca->calls)
        status = psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for assembly");
    if (!status)
        status = read_loops(mca, files, program, error);
    if (!status)
        status = run(mca->texts, program->loop_count, regions, cpu, error);
    for (uint32_t i = 0; i < program->loop_count && !status; i++) {
        mca->cycles[i] = cycles_of(&regions[i]);
        mca->waits[i] = mca->texts[i].length && asm_waits(mca->texts[i].code);
        if (program->loops[i].depth > 0 && iterations[i] > 0) {
            mca->loops++;
            mca->matched += isnan(mca->cycles[i].throughput) ? 0 : 1;
        }
    }
    free(regions);
    return status;
}

void mca_release(struct mca_loops *mca)
{
    for (uint32_t i = 0; i < mca->count && mca->texts; i++)
        free(mca->texts[i].code);
    free(mca->texts);
    free(mca->cycles);
    free(mca->waits);
    free(mca->calls);
    *mca = (struct mca_loops){0};
}
