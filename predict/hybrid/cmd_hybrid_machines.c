/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Observations from machines: maximal latencies T_i of machine files, for tables that have none;
 * and predictions of profiles or traces, by the model "overlap" of psnap predict runtime (AMM.md).
 *
 * Of a prediction cpi is in cycles per operation of the intermediate code, accesses among them;
 * cpi_pipeline is what it would be if nothing had to come from beyond level 1, T_cpu, T_branch and
 * T_touch of the model; cpi_memory is what memory adds to that, T - T_cpu - T_branch - T_touch. It
 * is the same each time, so sizes are the replicates.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/base/text.h"
#include "predict/amm/cmd_forecast.h"
#include "predict/hybrid/cmd_hybrid.h"

/* -------------------------------------------------------------------- latencies */

/* T_i of level i + 2, memory behind the last one; NAN: the machine does not say. */
static double latency_of(const struct psnap_machine *machine, uint32_t i)
{
    const double cycles = i + 1 < machine->level_count ? machine->levels[i + 1].latency_cycles
                                                       : machine->memory_latency_cycles;

    return cycles > 0 ? cycles : NAN;
}

/* A machine that observations have no use for. */
static void warn_unused(const struct observations *observations, uint32_t index,
                        const struct psnap_machine *machine, bool has_hits)
{
    struct psnap_error warning;

    psnap_error_set(&warning, PSNAP_ERROR_USAGE,
                    has_hits ? "machine '%.80s' is not used: the table has all latencies of '%.80s'"
                             : "machine '%.80s' is not used: the table has no hits per level of "
                               "'%.80s'",
                    machine->name, observations->machines.names[index]);
    psnap_cmd_warn(&warning);
}

static enum psnap_status add_latencies(struct observations *observations, uint32_t index,
                                       const struct psnap_machine *machine,
                                       struct psnap_error *error)
{
    bool has_hits = false, is_used = false;

    for (size_t i = 0; i < observations->count; i++) {
        struct observation *row = &observations->rows[i];
        if (row->machine != index || !row->levels)
            continue;
        has_hits = true;
        if (row->levels != machine->level_count) {
            psnap_error_set(error, PSNAP_ERROR_VALUE,
                            "hits are of %" PRIu32
                            " levels beyond level 1, but machine '%.60s' has "
                            "%" PRIu32 " with memory",
                            row->levels, machine->name, machine->level_count);
            psnap_error_at(error, row->path, row->src_line, 0);
            return PSNAP_ERROR_VALUE;
        }
        for (uint32_t l = 0; l < row->levels; l++)
            if (isnan(row->latencies[l])) {
                row->latencies[l] = latency_of(machine, l);
                is_used = true;
            }
    }
    if (!is_used)
        warn_unused(observations, index, machine, has_hits);
    return PSNAP_OK;
}

/* The index of a machine of the observations; UINT32_MAX: there is none of this name. */
static uint32_t find_machine(const struct observations *observations, const char *name,
                             size_t length)
{
    for (uint32_t m = 0; m < observations->machines.count; m++)
        if (strlen(observations->machines.names[m]) == length &&
            !strncmp(observations->machines.names[m], name, length))
            return m;
    return UINT32_MAX;
}

/* The machine of -m MACHINE or -m NAME=MACHINE, and its index among those of the observations. A
 * NAME that the table does not have is an error, unless the whole is the name of a file. */
static enum psnap_status find_described(const struct observations *observations, const char *text,
                                        struct psnap_machine *machine, uint32_t *index,
                                        struct psnap_error *error)
{
    const char *equals = strchr(text, '=');
    enum psnap_status status;

    *index = equals ? find_machine(observations, text, (size_t)(equals - text)) : UINT32_MAX;
    if (*index != UINT32_MAX)
        return psnap_machine_find(equals + 1, machine, error);
    if (equals && access(text, F_OK))
        return psnap_error_set(error, PSNAP_ERROR_VALUE,
                               "no machine '%.*s' in the table, which -m %.80s names; the first "
                               "one is '%.80s'",
                               equals - text < 80 ? (int)(equals - text) : 80, text, text,
                               observations->machines.names[0]);
    status = psnap_machine_find(text, machine, error);
    if (status)
        return status;
    *index = find_machine(observations, machine->name, strlen(machine->name));
    return *index != UINT32_MAX
               ? PSNAP_OK
               : psnap_error_set(error, PSNAP_ERROR_VALUE,
                                 "no observation is on machine '%.80s'; the first one is on "
                                 "'%.80s': give -m NAME=MACHINE where it has another name in the "
                                 "table",
                                 machine->name, observations->machines.names[0]);
}

enum psnap_status hybrid_add_latencies(struct observations *observations,
                                       const struct psnap_text_list *machines,
                                       struct psnap_error *error)
{
    enum psnap_status status = PSNAP_OK;

    for (size_t i = 0; i < machines->count && !status; i++) {
        struct psnap_machine machine;
        uint32_t index;

        status = find_described(observations, machines->items[i], &machine, &index, error);
        if (!status)
            status = add_latencies(observations, index, &machine, error);
    }
    return status;
}

/* ------------------------------------------------------------------ predictions */

/* The size of an input: of --sizes, which *rest moves on in, or the first number among the
 * arguments of its program. */
static enum psnap_status size_of(const struct psnap_program *program, const char *path,
                                 const char **rest, double *size, struct psnap_error *error)
{
    const char *const *command = program->provenance.command;
    char number[64];

    if (*rest) {
        const size_t length = strcspn(*rest, ",");
        snprintf(number, sizeof number, "%.*s", length < sizeof number ? (int)length : 63, *rest);
        *rest += length + ((*rest)[length] == ',');
        if (psnap_text_real(number, size) && *size > 0)
            return PSNAP_OK;
        return psnap_error_set(error, PSNAP_ERROR_USAGE,
                               "--sizes takes a positive number for each input, not '%s' for "
                               "'%.200s'",
                               number, path);
    }
    for (size_t i = 1; command && command[0] && command[i]; i++)
        if (psnap_text_real(command[i], size) && *size > 0)
            return PSNAP_OK;
    psnap_error_set(error, PSNAP_ERROR_VALUE,
                    "no number is among the arguments of its program: give problem sizes by "
                    "--sizes, one for each input");
    psnap_error_at(error, path, 0, 0);
    return PSNAP_ERROR_VALUE;
}

static double instructions_of(const struct target *target, double accesses)
{
    const size_t count = (size_t)target->base->program->loop_count * PSNAP_OPERATION_COUNT;
    double sum = accesses;

    for (size_t i = 0; i < count; i++)
        sum += target->operations[i];
    return sum;
}

/* An observation of a predicted total. */
static void fill_row(struct observation *row, const struct runtime_row *total,
                     const struct psnap_machine *machine, double instructions)
{
    const struct runtime_seconds *seconds = &total->seconds;
    const double cycles = machine->clock_hz / instructions;
    const uint32_t levels = machine->level_count;

    row->cpi = seconds->total * cycles;
    row->cpi_pipeline = (seconds->cpu + seconds->branch + seconds->touch) * cycles;
    row->cpi_memory = fmax(row->cpi - row->cpi_pipeline, 0);
    row->levels = levels;
    for (uint32_t i = 0; i < levels; i++) {
        const double to = i + 1 < levels ? total->cumulative[i + 1] : 1;
        row->hits[i] = fmax(to - total->cumulative[i], 0) * total->accesses / instructions;
        row->latencies[i] = latency_of(machine, i);
    }
}

/* An observation on each machine. */
static enum psnap_status add_rows(struct observations *observations,
                                  const struct forecast *forecast, const char *path, double size,
                                  struct psnap_error *error)
{
    const struct psnap_program *program = forecast->runs[0].measure.program;
    const char *const name = program->provenance.name;
    enum psnap_status status = PSNAP_OK;

    for (size_t m = 0; m < forecast->machine_count && !status; m++) {
        const struct runtime_row *total = &forecast->rows.rows[m ? forecast->rows_end[m - 1] : 0];
        struct observation row = {.size = size, .path = path, .replicate = "1"};
        for (int i = 0; i < OBSERVED_LEVELS_MAX; i++)
            row.hits[i] = row.latencies[i] = NAN;
        row.code = observations_name(observations, &observations->codes,
                                     name && *name ? name : psnap_text_base_name(path));
        row.machine =
            observations_name(observations, &observations->machines, forecast->machines[m].name);
        if (row.code == UINT32_MAX || row.machine == UINT32_MAX)
            return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for observations");
        fill_row(&row, total, &forecast->machines[m],
                 instructions_of(&forecast->targets[0], total->accesses));
        status = observations_add(observations, &row, error);
    }
    return status;
}

/* ------------------------------------------------------------------ simulation */

/* Where hit rates of references on a machine are. */
struct simulated {
    const struct psnap_sink *sim;
    size_t machine;
};

/* runtime_settings.hit_rate */
static double simulated_rate(const void *context, uint32_t ref, uint32_t level)
{
    const struct simulated *simulated = context;
    struct psnap_tally tally = {0};

    psnap_sim_add(simulated->sim, simulated->machine, PSNAP_VIEW_REF, ref, &tally);
    return psnap_tally_cumulative(&tally, level);
}

/* The rows of all machines, with the hit rates of the simulator: the input is read once more. */
static enum psnap_status simulate_rows(struct forecast *forecast,
                                       struct forecast_settings *settings,
                                       struct psnap_error *error)
{
    struct psnap_input_options input = settings->input;
    struct psnap_source *source;
    struct psnap_sink *sim = NULL;
    enum psnap_status status = PSNAP_OK;

    input.is_again = true;
    source = psnap_input_open(settings->paths[0], &input, error);
    if (source)
        sim = psnap_sim_new(forecast->machines, forecast->machine_count, source->program, NULL,
                            error);
    if (!sim) {
        psnap_source_free(source);
        return error->code;
    }
    status = psnap_pump(source, sim, NULL, error);
    for (size_t m = 0; m < forecast->machine_count && !status; m++) {
        const struct simulated simulated = {sim, m};
        settings->rows.hit_rate = simulated_rate;
        settings->rows.rates = &simulated;
        status = forecast_rows(forecast, settings, m, error);
    }
    settings->rows.hit_rate = NULL;
    settings->rows.rates = NULL;
    psnap_sink_free(sim);
    psnap_source_free(source);
    return status;
}

/* ----------------------------------------------------------------------- inputs */

static enum psnap_status forecast_input(struct forecast *forecast,
                                        struct forecast_settings *of_forecast,
                                        const struct hybrid_settings *settings,
                                        struct psnap_error *error)
{
    enum psnap_status status = forecast_machines(forecast, &settings->machines, of_forecast, error);

    if (status)
        return status;
    if (strcmp(settings->rates, "simulation") != 0)
        return forecast_make(forecast, of_forecast, error);
    status = forecast_measure(forecast, of_forecast, error);
    return status ? status : simulate_rows(forecast, of_forecast, error);
}

static enum psnap_status predict_input(struct observations *observations,
                                       const struct hybrid_settings *settings, size_t input,
                                       const char **sizes, struct psnap_error *error)
{
    struct forecast_settings of_forecast = {.paths = &settings->paths[input],
                                            .path_count = 1,
                                            .input = PSNAP_INPUT_DEFAULTS,
                                            .rate = 1,
                                            .seed = settings->seed};
    struct forecast *forecast = calloc(1, sizeof *forecast);
    double size;
    enum psnap_status status;

    if (!forecast)
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for the prediction");
    of_forecast.input.seed = settings->seed;
    of_forecast.rows.per_set = !strcmp(settings->rates, "per-set");
    of_forecast.rows.methods[RUNTIME_OVERLAP] = true;
    of_forecast.rows.wanted[PSNAP_SCOPE_TOTAL] = true;
    status = forecast_input(forecast, &of_forecast, settings, error);
    if (!status)
        status =
            size_of(forecast->runs[0].measure.program, settings->paths[input], sizes, &size, error);
    if (!status)
        status = add_rows(observations, forecast, settings->paths[input], size, error);
    forecast_release(forecast);
    free(forecast);
    return status;
}

enum psnap_status hybrid_predict(struct observations *observations,
                                 const struct hybrid_settings *settings, struct psnap_error *error)
{
    const char *sizes = settings->sizes;
    enum psnap_status status = PSNAP_OK;

    if (settings->machines.count < 2)
        return psnap_error_set(error, PSNAP_ERROR_USAGE,
                               "one machine alone: give two or more to compare (-m)");
    for (size_t i = 0; i < settings->path_count && !status; i++)
        status = predict_input(observations, settings, i, &sizes, error);
    return status;
}
