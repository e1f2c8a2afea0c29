/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * psnap rank: machines in order of run times, measured or predicted. RANK.md defines the figures
 * and documents files and JSON.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/base/cmd.h"
#include "formats/base/output.h"
#include "predict/rank/cmd_rank.h"
#include "replay/cmd_input.h"

#define ERROR_MAX 3.0 /* of --error: a factor of 20 */

struct request {
    const char *base, *method, *csv, *pairs;
    double error, threshold;
    bool json, force;
    char **operands; /* FILE or NAME=FILE */
    size_t count;
};

/* FILE of NAME=FILE; the whole where it has no name, or is that of a file. */
static const char *path_of(const char *operand)
{
    const char *equals = strchr(operand, '=');

    return equals && equals > operand && access(operand, F_OK) ? equals + 1 : operand;
}

static enum psnap_status read_file(struct times *times, const char *operand, const char *method,
                                   struct psnap_error *error)
{
    struct times_file how = {.path = path_of(operand), .method = method};
    char *name = NULL;
    FILE *file = psnap_input_file(how.path, error);
    enum psnap_status status = PSNAP_OK;

    if (!file)
        return error->code;
    if (how.path > operand) {
        name = strndup(operand, (size_t)(how.path - operand) - 1);
        if (!name)
            status = psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for the run times");
    }
    how.machine = name;
    if (file == stdin)
        how.path = "stdin";
    if (!status)
        status = times_read(times, file, &how, error);
    free(name);
    if (file != stdin)
        fclose(file);
    return status;
}

static enum psnap_status read_files(struct times *times, const struct request *request,
                                    struct psnap_error *error)
{
    enum psnap_status status = PSNAP_OK;

    for (size_t i = 0; i < request->count && !status; i++)
        status = read_file(times, request->operands[i], request->method, error);
    for (size_t i = 0; i < times->warning_count && !status; i++)
        psnap_cmd_warn(&times->warnings[i]);
    return status ? status : times_check(times, ranking_kind(times), error);
}

static enum psnap_status find_base(const struct times *times, const struct request *request,
                                   size_t *base, struct psnap_error *error)
{
    *base = request->base ? times_machine(times, request->base) : SIZE_MAX;
    if (request->base && *base == SIZE_MAX)
        return psnap_error_set(error, PSNAP_ERROR_VALUE,
                               "no run time is of machine '%.100s', which --base names; the first "
                               "one is of '%.100s'",
                               request->base, times->machines[0]);
    return PSNAP_OK;
}

/* Says what keeps inversions from having probabilities. */
static void warn_of_error(const struct ranking *ranking)
{
    struct psnap_error warning;

    if (!ranking->has_both || ranking->error.is_given || !isnan(ranking->error.sigma))
        return;
    psnap_error_set(&warning, PSNAP_ERROR_VALUE,
                    "%zu run time%s predicted and measured, too few to estimate the error of "
                    "predictions (%d are needed): inversions have no probabilities without --error",
                    ranking->error.pairs, ranking->error.pairs == 1 ? " is" : "s are",
                    RANKING_PAIRS_MIN);
    psnap_cmd_warn(&warning);
}

/* ------------------------------------------------------------------------- output */

struct outputs {
    struct psnap_output *csv, *pairs; /* NULL: none */
};

static enum psnap_status open_outputs(struct outputs *outputs, const struct request *request,
                                      struct psnap_error *error)
{
    if (request->csv) {
        outputs->csv = psnap_output_open(request->csv, request->force, error);
        if (!outputs->csv)
            return error->code;
    }
    if (request->pairs) {
        outputs->pairs = psnap_output_open(request->pairs, request->force, error);
        if (!outputs->pairs)
            return error->code;
    }
    return PSNAP_OK;
}

static enum psnap_status commit(struct psnap_output **output, struct psnap_error *error)
{
    struct psnap_output *one = *output;

    *output = NULL;
    return one ? psnap_output_commit(one, error) : PSNAP_OK;
}

static enum psnap_status write_all(struct outputs *outputs, const struct times *times,
                                   const struct ranking *ranking, const struct request *request,
                                   struct psnap_error *error)
{
    enum psnap_status status;

    if (outputs->csv)
        rank_csv(times, ranking, psnap_output_file(outputs->csv));
    if (outputs->pairs)
        rank_csv_pairs(times, ranking, psnap_output_file(outputs->pairs));
    status = commit(&outputs->csv, error);
    if (!status)
        status = commit(&outputs->pairs, error);
    if (!status && request->json)
        rank_json(times, ranking, stdout);
    else if (!status && !psnap_output_is_stdout(request->csv) &&
             !psnap_output_is_stdout(request->pairs))
        rank_print(times, ranking, stdout);
    return status;
}

/* ------------------------------------------------------------------------ command */

static int run(const struct request *request)
{
    struct ranking_settings settings = {.error = request->error, .threshold = request->threshold};
    struct times times = {0};
    struct ranking ranking = {0};
    struct outputs outputs = {0};
    struct psnap_error error;
    enum psnap_status status = open_outputs(&outputs, request, &error);

    if (!status)
        status = read_files(&times, request, &error);
    if (!status)
        status = find_base(&times, request, &settings.base, &error);
    if (!status)
        status = ranking_make(&ranking, &times, &settings, &error);
    if (!status) {
        warn_of_error(&ranking);
        status = write_all(&outputs, &times, &ranking, request, &error);
    }
    psnap_output_abandon(outputs.csv);
    psnap_output_abandon(outputs.pairs);
    ranking_release(&ranking);
    times_release(&times);
    return status ? psnap_cmd_fail("rank", &error)
                  : psnap_cmd_close_stdout("rank", PSNAP_EXIT_DONE);
}

static int check(const struct request *request)
{
    size_t stdins = 0;

    if (!request->count)
        return psnap_cmd_usage("rank", "run times are needed, as CSV or JSON of predictions");
    for (size_t i = 0; i < request->count; i++)
        stdins += !strcmp(path_of(request->operands[i]), "-");
    if (stdins > 1)
        return psnap_cmd_usage("rank", "standard input is there twice");
    if (!isnan(request->error) && !(request->error >= 0 && request->error <= ERROR_MAX))
        return psnap_cmd_usage("rank",
                               "--error %g: a relative error from 0 to %g is needed, as "
                               "0.1 for 10 %%",
                               request->error, ERROR_MAX);
    if (!(request->threshold >= 0 && request->threshold <= 1))
        return psnap_cmd_usage("rank", "--threshold %g: a share from 0 to 1 is needed",
                               request->threshold);
    if (request->json + psnap_output_is_stdout(request->csv) +
            psnap_output_is_stdout(request->pairs) >
        1)
        return psnap_cmd_usage("rank", "only one of --json, --csv - and --pairs - can go to "
                                       "standard output");
    if (psnap_output_is_same(request->csv, request->pairs))
        return psnap_cmd_usage("rank", "--csv and --pairs are both '%.200s'", request->csv);
    return PSNAP_EXIT_DONE;
}

int psnap_cmd_rank(int argc, char **argv)
{
    struct request request = {.error = NAN};
    const struct psnap_option options[] = {
        {PSNAP_OPTION_TEXT, 0, "base", &request.base, "MACHINE",
         "speeds are relative to this one's (the slowest)"},
        {PSNAP_OPTION_REAL, 0, "error", &request.error, "E",
         "the predictions' relative error, as 0.1 (estimated where runs were measured too)"},
        {PSNAP_OPTION_REAL, 0, "threshold", &request.threshold, "A",
         "inversions over it: measured times differ by more than this share (0)"},
        {PSNAP_OPTION_TEXT, 0, "method", &request.method, "NAME",
         "which predictions, where JSON has them by several methods (that of the least error in "
         "it, or overlap)"},
        {PSNAP_OPTION_FLAG, 0, "json", &request.json, NULL, "print JSON"},
        {PSNAP_OPTION_TEXT, 0, "csv", &request.csv, "FILE",
         "write run times, errors and speeds as CSV"},
        {PSNAP_OPTION_TEXT, 0, "pairs", &request.pairs, "FILE", "write pairs of machines as CSV"},
        {PSNAP_OPTION_FLAG, 0, "force", &request.force, NULL, "overwrite files"},
        {.type = PSNAP_OPTION_END},
    };
    const struct psnap_usage usage = {
        "psnap rank TIMES... [--base MACHINE] [--error E] [--json]\n"
        "psnap rank NAME=TIMES... [...]",
        "Puts machines in order by run times: relative speeds, which of two is faster, in how\n"
        "many cases, and with what probability it is the other way round. TIMES are CSV with\n"
        "columns application, machine, seconds, predicted (and input, cores), or what\n"
        "'psnap predict runtime --json' and 'psnap predict bandwidth --json' print. NAME is what\n"
        "the one machine of a file is called here, where machines are 'host' in several.\n"
        "RANK.md defines the figures.",
        options};
    int status;
    const int operands = psnap_options_parse(argc, argv, &usage, false, &status);

    if (operands < 0)
        return status;
    request.operands = argv + 1;
    request.count = (size_t)operands;
    status = check(&request);
    return status ? status : run(&request);
}
