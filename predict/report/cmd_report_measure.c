/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What psnap report has of an input, measured in one pass: the stream goes to a simulator of all
 * machines, to a meter of reuse distances for each size of line, to one of locality, to one of the
 * lines that loops touch, and to a builder of the published model, which tells regions and strides:
 * of traces and of replays in the same way, so that they may be held against each other.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "formats/formats.h"
#include "predict/multicore/marks.h"
#include "predict/report/cmd_report.h"
#include "predict/report/touched.h"
#include "simcore/cmd_turns.h"

enum { SINKS_MAX = PSNAP_LEVELS_MAX + 5, JOBS_MAX = 8 /* of reuse distances */ };

static enum psnap_status no_memory(struct psnap_error *error)
{
    return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for the report");
}

/* ------------------------------------------------------------------- the pass */

struct passing {
    const struct report *report;
    struct report_input *input;
    struct psnap_sink *sim, *locality, *builder, *timed;
};

static void forget(struct report_input *input)
{
    for (size_t i = 0; i < input->distances_count; i++) {
        psnap_sink_free(input->distances[i].sink);
        reuse_rows_release(&input->distances[i].rows);
    }
    for (size_t i = 0; i < input->loop_count; i++)
        free(input->loops[i]);
    free(input->total);
    psnap_profile_free(input->measured);
    psnap_sink_free(input->touched);
    input->measured = NULL;
    input->touched = NULL;
    report_timed_free(input->timed);
    input->timed = NULL;
    side_release(&input->side);
    input->total = NULL;
    input->loop_count = input->distances_count = 0;
}

/* The sizes of lines that the machines' levels have, the first one's first. */
static void plan_distances(const struct report *report, struct report_input *input)
{
    for (size_t m = 0; m < report->machine_count; m++)
        for (uint32_t l = 0; l < report->machines[m].level_count; l++) {
            const uint64_t bytes = report->machines[m].levels[l].line_bytes;
            size_t i = 0;
            while (i < input->distances_count && input->distances[i].line_bytes != bytes)
                i++;
            if (i == input->distances_count && i < PSNAP_LEVELS_MAX)
                input->distances[input->distances_count++] =
                    (struct report_distances){.line_bytes = bytes};
        }
}

/* The accesses that will come, 0 where that is not known beforehand. */
static uint64_t length_of(const struct report *report, const struct report_input *input)
{
    struct psnap_profile_totals totals = {.accesses = 0};
    struct stat about;
    FILE *file;

    if (input->profile) {
        psnap_profile_totals(input->profile, &totals);
    } else if (!stat(input->path, &about) && S_ISREG(about.st_mode) &&
               (file = fopen(input->path, "re"))) {
        totals.accesses = psnap_pst_count(fileno(file));
        fclose(file);
    }
    return totals.accesses < report->options.count ? totals.accesses : report->options.count;
}

static enum psnap_status open_sinks(struct passing *passing, struct psnap_source *source,
                                    struct psnap_sink **sinks, size_t *count,
                                    struct psnap_error *error)
{
    struct report_input *input = passing->input;
    const struct report *report = passing->report;
    const uint32_t processors = report->threads ? report->threads : psnap_processors();
    const struct psnap_sim_options options = {.threads = processors};
    const uint32_t jobs = processors < JOBS_MAX ? processors : JOBS_MAX;
    uint64_t length;

    passing->sim =
        psnap_sim_new(report->machines, report->machine_count, source->program, &options, error);
    if (!passing->sim)
        return error->code;
    sinks[(*count)++] = passing->sim;
    for (size_t i = 0; i < input->distances_count; i++) {
        const struct psnap_reuse_options reuse = {
            .line_bytes = input->distances[i].line_bytes, .together = true, .jobs = jobs};
        input->distances[i].sink = psnap_reuse_new(source->program, &reuse, error);
        if (!input->distances[i].sink)
            return error->code;
        sinks[(*count)++] = input->distances[i].sink;
    }
    passing->locality = psnap_locality_new(source->program, PSNAP_LOCALITY_WORD_BYTES, error);
    if (!passing->locality)
        return error->code;
    length = length_of(report, input);
    input->locality_every =
        (uint32_t)(length / (length < REPORT_LONG ? REPORT_LOCALITY : REPORT_LOCALITY / 4));
    if (input->locality_every > 1)
        psnap_locality_sample(passing->locality, input->locality_every);
    sinks[(*count)++] = passing->locality;
    passing->builder = psnap_profile_builder_new(source->program, NULL, error);
    if (!passing->builder)
        return error->code;
    sinks[(*count)++] = passing->builder;
    input->touched = touched_new(source->program, input->distances[0].line_bytes);
    if (!input->touched)
        return no_memory(error);
    sinks[(*count)++] = input->touched;
    passing->timed = report_timed_sink(report, input, source->program);
    if (passing->timed)
        sinks[(*count)++] = passing->timed;
    return PSNAP_OK;
}

/* Surfaces: of all, and of the loops with most accesses. */
static enum psnap_status take_localities(struct passing *passing,
                                         const struct psnap_program *program,
                                         struct psnap_error *error)
{
    struct report_input *input = passing->input;
    const struct scope_rows *loops = &input->side.loops;

    input->threads = psnap_locality_threads(passing->locality);
    input->total = calloc(1, sizeof *input->total);
    if (!input->total)
        return no_memory(error);
    psnap_locality_add_total(passing->locality, input->total);
    for (size_t i = 0; i < loops->count && i < REPORT_LOCALITIES; i++) {
        struct psnap_locality *sum = calloc(1, sizeof *sum);
        if (!sum)
            return no_memory(error);
        for (uint32_t l = 0; l < program->loop_count; l++)
            if (!strcmp(program->loops[l].src_id, loops->rows[i].id))
                psnap_locality_add_loop(passing->locality, l, sum);
        input->loops[input->loop_count++] = sum;
    }
    return PSNAP_OK;
}

/* What a program says of itself that run times need. */
static bool look_at_program(struct report_input *input, const struct psnap_program *program)
{
    const struct psnap_profile *profile = input->profile;
    struct marks marks = {0};
    const bool fits = marks_update(&marks, program);

    input->has_operations = input->has_sections = false;
    for (uint32_t i = 0; i < marks.count && fits; i++)
        input->has_sections |= marks.of[i].kind == MARK_PARALLEL;
    marks_release(&marks);
    for (size_t op = 0; op < PSNAP_OPERATION_COUNT; op++) {
        for (uint32_t i = 0; profile && i < profile->loop_count; i++)
            input->has_operations |= profile->loops[i].operations[op] > 0;
        for (uint32_t i = 0; !profile && i < program->block_count; i++)
            input->has_operations |=
                program->blocks[i].executions > 0 && program->blocks[i].operations[op] > 0;
    }
    return fits;
}

static enum psnap_status take(struct passing *passing, const struct psnap_program *program,
                              struct psnap_error *error)
{
    struct report_input *input = passing->input;
    enum psnap_status status =
        side_take(&input->side, passing->sim, passing->report->machine_count, program, error);

    if (!status)
        status = take_localities(passing, program, error);
    if (!status && !look_at_program(input, program))
        status = no_memory(error);
    if (!status && input->timed)
        report_timed_take(passing->report, input, input->threads == 1 ? passing->timed : NULL);
    for (size_t i = 0; i < input->distances_count && !status; i++) {
        struct report_distances *distances = &input->distances[i];
        distances->lines = psnap_reuse_lines(distances->sink);
        status = reuse_rows_add(&distances->rows, PSNAP_SCOPE_TOTAL, distances->sink, program, NULL,
                                error);
        if (!status)
            status = reuse_rows_add(&distances->rows, PSNAP_SCOPE_LOOP, distances->sink, program,
                                    NULL, error);
        psnap_sink_free(distances->sink);
        distances->sink = NULL;
    }
    if (!status) {
        input->measured = psnap_profile_builder_take(passing->builder, error);
        status = input->measured ? PSNAP_OK : error->code;
    }
    return status;
}

static enum psnap_status pass(void *context, struct psnap_source *source, struct psnap_error *error)
{
    struct passing *passing = context;
    struct report_input *input = passing->input;
    struct psnap_sink *sinks[SINKS_MAX], *tee = NULL;
    size_t count = 0;
    enum psnap_status status;

    forget(input);
    passing->sim = passing->locality = passing->builder = passing->timed = NULL;
    plan_distances(passing->report, input);
    status = open_sinks(passing, source, sinks, &count, error);
    if (!status) {
        tee = psnap_tee_sink_new(sinks, count);
        status = tee ? psnap_pump(source, tee, NULL, error) : no_memory(error);
    }
    if (!status)
        status = take(passing, source->program, error);
    psnap_sink_free(tee);
    psnap_sink_free(passing->sim);
    psnap_sink_free(passing->locality);
    psnap_sink_free(passing->builder);
    psnap_sink_free(passing->timed);
    return status;
}

/* Whether a file is a profile, whatever format traces are said to have. */
static bool is_profile(const char *path)
{
    FILE *file = strcmp(path, "-") != 0 ? psnap_input_file(path, NULL) : NULL;
    const bool found = file && psnap_input_is_profile(file);

    if (file)
        fclose(file);
    return found;
}

enum psnap_status report_measure(struct report *report, struct report_input *input,
                                 struct psnap_error *error)
{
    struct psnap_input_options options = report->options;
    struct passing passing = {.report = report, .input = input};
    enum psnap_status status;

    if (options.from && is_profile(input->path))
        options.from = NULL;
    options.kept = &input->profile;
    options.is_profile = &input->is_profile;
    input->side.path = input->path;
    status = psnap_turns_pass(input->path, &options, pass, &passing, &input->side.in_turn, error);
    if (!status)
        status = reuse_need_accesses(input->side.accesses, input->path, error);
    if (!status && !input->timed)
        status = report_timed_read(report, input, error);
    if (!status && report->options.count == REPORT_ACCESSES && report_is_cut(report, input))
        psnap_print(stderr,
                    "psnap report: %s: the page has its first %" PRIu64
                    " accesses; with --count N it has N\n",
                    input->path, input->side.accesses);
    return status;
}

bool report_is_cut(const struct report *report, const struct report_input *input)
{
    return input->side.accesses >= report->options.count;
}

void report_input_release(struct report_input *input)
{
    forget(input);
    psnap_profile_free(input->profile);
    input->profile = NULL;
}

/* -------------------------------------------------------------------- regions */

static void add_region(struct report_regions *regions, const struct psnap_profile_region *region)
{
    regions->accesses += region->accesses;
    regions->loads += region->kinds[PSNAP_LOAD];
    regions->stores += region->kinds[PSNAP_STORE] + region->kinds[PSNAP_ATOMIC];
    for (unsigned s = 0; s < region->stride_count; s++)
        regions->strides[region->strides[s].bin] += region->strides[s].count;
}

struct report_regions report_regions_of(const struct report_input *input, const char *src_id)
{
    const struct psnap_profile *profile = input->measured;
    struct report_regions regions = {0};

    for (uint32_t i = 0; i < profile->loop_count; i++) {
        const struct psnap_profile_loop *loop = &profile->loops[i];
        if (src_id && strcmp(loop->src_id, src_id) != 0)
            continue;
        for (uint32_t r = 0; r < loop->region_count; r++)
            add_region(&regions, &loop->regions[r]);
        regions.count += loop->region_count;
    }
    return regions;
}

uint64_t report_working_set(const struct report_input *input, const char *src_id)
{
    const struct report_distances *distances = &input->distances[0];

    return distances->line_bytes *
           (src_id ? touched_lines(input->touched, src_id) : distances->lines);
}

/* -------------------------------------------------------------------- look-ups */

const struct reuse_row *report_reuse_row(const struct report_distances *distances, const char *id)
{
    for (size_t i = 0; i < distances->rows.count; i++) {
        const struct reuse_row *row = &distances->rows.rows[i];
        if (id ? row->scope == PSNAP_SCOPE_LOOP && !strcmp(row->id, id)
               : row->scope == PSNAP_SCOPE_TOTAL)
            return row;
    }
    return NULL;
}

void report_predict(const struct report_input *input, const struct psnap_machine *machine,
                    const char *id, double rates[PSNAP_LEVELS_MAX])
{
    for (uint32_t l = 0; l < machine->level_count; l++) {
        const struct psnap_cache_level *level = &machine->levels[l];
        const struct reuse_row *row = NULL;
        for (size_t i = 0; i < input->distances_count; i++)
            if (input->distances[i].line_bytes == level->line_bytes)
                row = report_reuse_row(&input->distances[i], id);
        rates[l] = row ? psnap_sdcm_hit_rate(row->distances, level->ways,
                                             level->size_bytes / level->line_bytes)
                       : (double)NAN;
        if (l && rates[l] < rates[l - 1]) /* a level behind satisfies what one before does */
            rates[l] = rates[l - 1];
    }
}

const struct scope_row *report_row(const struct report *report, size_t input,
                                   const struct rank_loop *loop)
{
    const struct compare_side *side = &report->inputs[input].side;

    if (!loop)
        return &side->total.rows[0];
    return loop->is_in[input] ? &side->loops.rows[loop->row[input]] : NULL;
}

size_t report_line_count(const struct report *report)
{
    size_t count = 0;

    while (count < report->rank.count && count < REPORT_BARS &&
           rank_share(&report->rank.loops[count]) >= COMPARE_RELEVANT)
        count++;
    return 1 + count;
}

const struct rank_loop *report_line(const struct report *report, size_t line)
{
    return line ? &report->rank.loops[line - 1] : NULL;
}

const char *report_line_id(const struct report *report, size_t line)
{
    return line ? report->rank.loops[line - 1].id : NULL;
}

const char *report_line_name(const struct report *report, size_t line)
{
    return line ? report->rank.loops[line - 1].id : "whole program";
}

size_t report_row_count(const struct report *report)
{
    return report->rank.count < REPORT_ROWS ? report->rank.count : REPORT_ROWS;
}

const char *report_percent(double share, char text[32])
{
    snprintf(text, 32, share < 1 && share >= 0.99995 ? "> 99.99" : "%.2f", 100 * share);
    return text;
}
