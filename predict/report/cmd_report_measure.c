/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What psnap report has of an input, measured in one pass: the stream goes to a simulator of all
 * machines, to a meter of reuse distances for each size of line, to one of locality, to one of the
 * lines that loops touch, and to a builder of the published model, which tells regions and strides:
 * of traces and of replays in the same way, so that they may be held against each other. Run times
 * are another pass (cmd_report_times.c).
 */
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/formats.h"
#include "predict/report/cmd_report.h"
#include "predict/report/touched.h"
#include "simcore/cmd_turns.h"

/* Accesses that locality is measured of, a quarter of them where there are LOCALITY_LONG: windows
 * of a sample that lie closer than they reach back save little. */
#define LOCALITY_ACCESSES (UINT64_C(1) << 20)
#define LOCALITY_LONG (UINT64_C(1) << 23)

enum { JOBS_MAX = 8 /* of reuse distances */ };

/* The sinks, and from REUSE on one for each size of lines. */
enum { SIM, LOCALITY, BUILDER, TOUCHED, REUSE, SINKS = REUSE + PSNAP_LEVELS_MAX };

struct passing {
    const struct report *report;
    struct report_input *input;
    struct psnap_sink *sinks[SINKS];
};

static enum psnap_status no_memory(struct psnap_error *error)
{
    return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for the report");
}

/* ------------------------------------------------------------------- the pass */

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
                input->distances[input->distances_count++].line_bytes = bytes;
        }
}

/* One access in this many tells locality, by the accesses that will come, if that is known. */
static uint32_t locality_every(const struct report *report, const struct report_input *input)
{
    const int fd = open(input->path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    struct psnap_profile_totals totals = {.accesses = fd < 0 ? 0 : psnap_pst_count(fd)};
    uint64_t length;

    if (fd >= 0)
        close(fd);
    if (input->profile)
        psnap_profile_totals(input->profile, &totals);
    length = totals.accesses < report->options.count ? totals.accesses : report->options.count;
    return (uint32_t)(length < LOCALITY_LONG ? length / LOCALITY_ACCESSES
                                             : length / (LOCALITY_ACCESSES / 4));
}

static enum psnap_status open_sinks(struct passing *passing, struct psnap_program *program,
                                    struct psnap_error *error)
{
    struct report_input *input = passing->input;
    const struct report *report = passing->report;
    const uint32_t threads = report->threads ? report->threads : psnap_processors();
    const struct psnap_sim_options options = {.threads = threads};
    struct psnap_reuse_options reuse = {.together = true,
                                        .jobs = threads < JOBS_MAX ? threads : JOBS_MAX};
    struct psnap_sink **sinks = passing->sinks;

    error->code = PSNAP_OK;
    sinks[SIM] = psnap_sim_new(report->machines, report->machine_count, program, &options, error);
    sinks[LOCALITY] = psnap_locality_new(program, PSNAP_LOCALITY_WORD_BYTES, error);
    sinks[BUILDER] = psnap_profile_builder_new(program, NULL, error);
    sinks[TOUCHED] = touched_new(program, input->distances[0].line_bytes);
    for (size_t i = 0; i < input->distances_count; i++) {
        reuse.line_bytes = input->distances[i].line_bytes;
        sinks[REUSE + i] = psnap_reuse_new(program, &reuse, error);
    }
    input->locality_every = locality_every(report, input);
    if (sinks[LOCALITY] && input->locality_every > 1)
        psnap_locality_sample(sinks[LOCALITY], input->locality_every);
    return sinks[TOUCHED] ? error->code : no_memory(error);
}

static enum psnap_status take(struct passing *passing, const struct psnap_program *program,
                              struct psnap_error *error)
{
    struct report_input *input = passing->input;
    const struct scope_rows *loops = &input->side.loops;
    enum psnap_status status = side_take(&input->side, passing->sinks[SIM],
                                         passing->report->machine_count, program, error);

    input->loop_lines = calloc(loops->count + 1, sizeof *input->loop_lines);
    input->locality = calloc(1, sizeof *input->locality);
    if (!status && (!input->loop_lines || !input->locality))
        status = no_memory(error);
    for (size_t i = 0; i < loops->count && !status; i++)
        input->loop_lines[i] = touched_lines(passing->sinks[TOUCHED], loops->rows[i].id);
    if (!status)
        psnap_locality_add_total(passing->sinks[LOCALITY], input->locality);
    input->threads = psnap_locality_threads(passing->sinks[LOCALITY]);
    for (size_t i = 0; i < input->distances_count && !status; i++) {
        struct report_distances *distances = &input->distances[i];
        distances->lines = psnap_reuse_lines(passing->sinks[REUSE + i]);
        for (int scope = PSNAP_SCOPE_TOTAL; scope <= PSNAP_SCOPE_LOOP && !status; scope++)
            status = reuse_rows_add(&distances->rows, (enum psnap_scope)scope,
                                    passing->sinks[REUSE + i], program, NULL, error);
    }
    if (!status) {
        input->measured = psnap_profile_builder_take(passing->sinks[BUILDER], error);
        status = input->measured ? PSNAP_OK : error->code;
    }
    return status;
}

/* All that was measured; a pass that finds that it has to take threads in turn begins anew. */
static void forget(struct report_input *input)
{
    for (size_t i = 0; i < input->distances_count; i++)
        reuse_rows_release(&input->distances[i].rows);
    free(input->locality);
    free(input->loop_lines);
    psnap_profile_free(input->measured);
    side_release(&input->side);
    *input = (struct report_input){.path = input->path,
                                   .is_profile = input->is_profile,
                                   .profile = input->profile,
                                   .side = {.path = input->path}};
}

static enum psnap_status pass(void *context, struct psnap_source *source, struct psnap_error *error)
{
    struct passing *passing = context;
    struct psnap_sink *tee = NULL;
    enum psnap_status status;

    forget(passing->input);
    plan_distances(passing->report, passing->input);
    status = open_sinks(passing, source->program, error);
    if (!status) {
        tee = psnap_tee_sink_new(passing->sinks, REUSE + passing->input->distances_count);
        status = tee ? psnap_pump(source, tee, NULL, error) : no_memory(error);
    }
    if (!status)
        status = take(passing, source->program, error);
    psnap_sink_free(tee);
    for (size_t i = 0; i < SINKS; i++) {
        psnap_sink_free(passing->sinks[i]);
        passing->sinks[i] = NULL;
    }
    return status;
}

enum psnap_status report_measure(struct report *report, struct report_input *input,
                                 struct psnap_error *error)
{
    struct psnap_input_options options = report->options;
    struct passing passing = {.report = report, .input = input};
    struct psnap_error no_profile;
    enum psnap_status status;

    if (psnap_input_may_be_profile(input->path, &no_profile))
        options.from = NULL; /* which is that of traces */
    options.kept = &input->profile;
    options.is_profile = &input->is_profile;
    status = psnap_turns_pass(input->path, &options, pass, &passing, &input->side.in_turn, error);
    if (!status)
        status = reuse_need_accesses(input->side.accesses, input->path, error);
    input->is_cut = report->options.skip || input->side.accesses >= report->options.count;
    if (!status)
        status = report_forecast(report, input, error);
    if (!status && report->options.count == REPORT_ACCESSES && input->is_cut)
        psnap_print(stderr,
                    "psnap report: %s: the page has its first %" PRIu64
                    " accesses; with --count N it has N\n",
                    input->path, input->side.accesses);
    return status;
}

void report_input_release(struct report_input *input)
{
    if (input->forecast)
        forecast_release(input->forecast);
    free(input->forecast);
    psnap_profile_free(input->profile);
    forget(input);
}

/* --------------------------------------------------------------------- ranking */

static int by_share(const void *left, const void *right)
{
    const struct report_loop *a = left, *b = right;

    return a->share != b->share ? (a->share < b->share) - (a->share > b->share)
                                : strcmp(a->id, b->id);
}

enum psnap_status report_rank(struct report *report, struct psnap_error *error)
{
    size_t room = 1;

    for (size_t i = 0; i < report->input_count; i++)
        room += report->inputs[i].side.loops.count;
    report->loops = calloc(room, sizeof *report->loops);
    for (size_t i = 0; i < report->input_count && report->loops; i++) {
        const struct compare_side *side = &report->inputs[i].side;
        for (size_t r = 0; r < side->loops.count; r++) {
            const struct scope_row *row = &side->loops.rows[r];
            struct report_loop *loop = report->loops, *end = loop + report->loop_count;
            while (loop < end && strcmp(loop->id, row->id) != 0)
                loop++;
            report->loop_count += loop == end;
            loop->id = row->id;
            loop->name = row->name;
            loop->rows[i] = row;
            loop->share =
                fmax(loop->share, (double)row->tallies[0].accesses / (double)side->accesses);
        }
    }
    if (!report->loops)
        return no_memory(error);
    qsort(report->loops, report->loop_count, sizeof *report->loops, by_share);
    while (report->relevant_count < report->loop_count &&
           report->loops[report->relevant_count].share >= COMPARE_RELEVANT)
        report->relevant_count++;
    return PSNAP_OK;
}

/* --------------------------------------------------------------------- numbers */

struct report_regions report_regions_of(const struct report_input *input,
                                        const struct report_loop *loop)
{
    const struct psnap_profile *profile = input->measured;
    struct report_regions regions = {0};

    for (uint32_t i = 0; i < profile->loop_count; i++) {
        const struct psnap_profile_loop *part = &profile->loops[i];
        if (loop && strcmp(part->src_id, loop->id) != 0)
            continue;
        for (uint32_t r = 0; r < part->region_count; r++) {
            const struct psnap_profile_region *region = &part->regions[r];
            regions.accesses += region->accesses;
            regions.loads += region->kinds[PSNAP_LOAD];
            for (unsigned s = 0; s < region->stride_count; s++) {
                regions.strides[region->strides[s].bin] += region->strides[s].count;
                regions.stride_count += region->strides[s].count;
            }
        }
    }
    return regions;
}

static const struct psnap_distances *
distances_of(const struct report_input *input, uint64_t line_bytes, const struct report_loop *loop)
{
    for (size_t i = 0; i < input->distances_count; i++) {
        const struct reuse_rows *rows = &input->distances[i].rows;
        for (size_t r = 0; r < rows->count && input->distances[i].line_bytes == line_bytes; r++)
            if (loop
                    ? rows->rows[r].scope == PSNAP_SCOPE_LOOP && !strcmp(rows->rows[r].id, loop->id)
                    : rows->rows[r].scope == PSNAP_SCOPE_TOTAL)
                return rows->rows[r].distances;
    }
    return NULL;
}

/* A level satisfies what those before it do, and more. */
static double predicted(const struct report_input *input, const struct psnap_machine *machine,
                        uint32_t level, const struct report_loop *loop)
{
    double rate = NAN;

    for (uint32_t l = 0; l <= level; l++) {
        const struct psnap_cache_level *cache = &machine->levels[l];
        const struct psnap_distances *distances = distances_of(input, cache->line_bytes, loop);
        if (!distances)
            return NAN;
        rate = fmax(rate, psnap_sdcm_hit_rate(distances, cache->ways,
                                              cache->size_bytes / cache->line_bytes));
    }
    return rate;
}

double report_footprint(const struct report_input *input)
{
    return (double)(input->distances[0].lines * input->distances[0].line_bytes);
}

double report_value(const struct report *report, const struct report_column *column,
                    const struct report_loop *loop)
{
    const struct report_input *input = &report->inputs[column->input];
    const struct scope_row *row = loop ? loop->rows[column->input] : &input->side.total.rows[0];
    const struct report_distances *lines = &input->distances[0];
    const struct psnap_distances *distances;
    struct report_column first = *column;
    struct report_regions regions;

    if (!row)
        return NAN;
    switch (column->kind) {
    case REPORT_ACCESS_COUNT:
        return (double)row->tallies[0].accesses;
    case REPORT_SHARE:
        return (double)row->tallies[0].accesses / (double)input->side.accesses;
    case REPORT_WORKING_SET:
        return loop ? (double)(lines->line_bytes * input->loop_lines[row - input->side.loops.rows])
                    : report_footprint(input);
    case REPORT_RATE:
        return psnap_tally_cumulative(&row->tallies[column->machine], (uint32_t)column->at);
    case REPORT_PREDICTED:
        return predicted(input, &report->machines[column->machine], (uint32_t)column->at, loop);
    case REPORT_CHANGE:
        first.kind = REPORT_RATE;
        first.input = 0;
        return 100 * (psnap_tally_cumulative(&row->tallies[column->machine], (uint32_t)column->at) -
                      report_value(report, &first, loop));
    case REPORT_MISSES:
        distances = distances_of(input, lines->line_bytes, loop);
        return distances ? 1 - psnap_distances_hit_rate(distances, column->at / lines->line_bytes)
                         : (double)NAN;
    case REPORT_STRIDE:
        regions = report_regions_of(input, loop);
        return regions.strides[column->at]
                   ? (double)regions.strides[column->at] / (double)regions.stride_count
                   : (double)NAN;
    case REPORT_TIME:
        return report_seconds(report, column, loop);
    case REPORT_STRIDES:
        break;
    }
    return NAN;
}
