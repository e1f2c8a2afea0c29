/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * psnap hybrid: a statistical analysis of codes on machines, from a table of observations or from
 * predictions of profiles. HYBRID.md has the models and documents JSON and CSV.
 */
#include "predict/hybrid/cmd_hybrid.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "formats/base/output.h"
#include "formats/base/text.h"
#include "predict/cmd_gnuplot.h"
#include "predict/hybrid/numeric.h"
#include "replay/cmd_input.h"

bool hybrid_is_built(void)
{
    struct psnap_error error;

    return numeric_check(&error) == PSNAP_OK;
}

/* ----------------------------------------------------------------------- inputs */

/* NULL: it is no file that can be looked at and read again. */
static FILE *open_regular(const char *path)
{
    struct stat about;

    return !stat(path, &about) && S_ISREG(about.st_mode) ? fopen(path, "re") : NULL;
}

/* What an input is that is a profile or a trace; NULL: it may be a table. */
static const char *kind_to_predict(const char *path)
{
    struct psnap_error error;
    FILE *file;
    bool is_profile;

    if (hybrid_is_csv(path))
        return NULL;
    if (!psnap_input_may_be_profile(path, &error))
        return "a trace";
    file = open_regular(path);
    is_profile = file && psnap_input_is_profile(file);
    if (file)
        fclose(file);
    return is_profile ? "a profile" : NULL;
}

bool hybrid_is_csv(const char *path)
{
    char begin[4096];
    FILE *file;
    size_t n;

    if (!strcmp(path, "-") || psnap_text_ends_in(path, ".csv"))
        return true;
    file = open_regular(path);
    if (!file)
        return false;
    n = fread(begin, 1, sizeof begin - 1, file);
    fclose(file);
    begin[n] = '\0';
    return strstr(begin, "code") && strchr(begin, ',') && strstr(begin, "cpi");
}

static enum psnap_status read_csv(struct observations *observations, const char *path,
                                  struct psnap_error *error)
{
    FILE *file = psnap_input_file(path, error);
    enum psnap_status status;

    if (!file)
        return error->code;
    status = observations_read(observations, file, path, error);
    if (file != stdin)
        fclose(file);
    return status;
}

static enum psnap_status read_inputs(struct observations *observations,
                                     const struct hybrid_settings *settings, bool of_csv,
                                     struct psnap_error *error)
{
    enum psnap_status status = PSNAP_OK;

    if (!of_csv)
        return hybrid_predict(observations, settings, error);
    for (size_t i = 0; i < settings->path_count && !status; i++)
        status = read_csv(observations, settings->paths[i], error);
    if (!status)
        status = hybrid_add_latencies(observations, &settings->machines, error);
    if (!status)
        observations_doubt(observations);
    for (size_t i = 0; i < observations->warning_count; i++)
        psnap_cmd_warn(&observations->warnings[i]);
    return status;
}

/* ---------------------------------------------------------------------- outputs */

struct files {
    struct psnap_output *csv, *plot; /* NULL: none */
};

static enum psnap_status open_files(struct files *files, const struct hybrid_settings *settings,
                                    struct psnap_error *error)
{
    if (settings->plot && gnuplot_find("; -o writes the numbers without it", error))
        return error->code;
    if (settings->output)
        files->csv = psnap_output_open(settings->output, settings->force, error);
    if (settings->output && !files->csv)
        return error->code;
    if (settings->plot)
        files->plot = psnap_output_open(settings->plot, settings->force, error);
    return settings->plot && !files->plot ? error->code : PSNAP_OK;
}

/* All are written before one appears. */
static enum psnap_status write_files(struct files *files, const struct hybrid_settings *settings,
                                     const struct hybrid *hybrid,
                                     const struct observations *observations,
                                     struct psnap_error *error)
{
    enum psnap_status status = PSNAP_OK;

    if (files->csv)
        hybrid_write_csv(hybrid, observations, psnap_output_file(files->csv));
    if (files->plot)
        status = hybrid_draw(hybrid, observations, settings->plot, psnap_output_file(files->plot),
                             error);
    if (files->csv && !status) {
        status = psnap_output_commit(files->csv, error);
        files->csv = NULL;
    }
    if (files->plot && !status) {
        status = psnap_output_commit(files->plot, error);
        files->plot = NULL;
    }
    return status;
}

/* Errors of codes, beside the report of the others, which JSON has them in. */
static void say_refusals(const struct hybrid *hybrid)
{
    psnap_cmd_fail_in_json(false);
    for (size_t c = 0; c < hybrid->code_count; c++)
        if (hybrid->codes[c].is_refused)
            (void)psnap_cmd_fail("hybrid", &hybrid->codes[c].refusal);
}

static int run(const struct hybrid_settings *settings, bool of_csv)
{
    struct files files = {0};
    struct observations observations = {0};
    struct hybrid hybrid = {0};
    struct psnap_error error;
    enum psnap_status status = numeric_check(&error);
    bool has_failed;

    if (!status)
        status = observations_init(&observations, &error);
    if (!status)
        status = open_files(&files, settings, &error);
    if (!status)
        status = read_inputs(&observations, settings, of_csv, &error);
    if (!status)
        status = hybrid_make(&hybrid, &observations, &settings->options, &error);
    if (!status)
        status = write_files(&files, settings, &hybrid, &observations, &error);
    if (!status && settings->json)
        hybrid_print_json(&hybrid, &observations, settings);
    else if (!status && !psnap_output_is_stdout(settings->output) &&
             !psnap_output_is_stdout(settings->plot))
        hybrid_print(&hybrid, &observations, settings);
    if (!status)
        say_refusals(&hybrid);
    psnap_output_abandon(files.csv);
    psnap_output_abandon(files.plot);
    has_failed = hybrid.refused > 0;
    hybrid_release(&hybrid);
    observations_release(&observations);
    return status
               ? psnap_cmd_fail("hybrid", &error)
               : psnap_cmd_close_stdout("hybrid", has_failed ? PSNAP_EXIT_FAILED : PSNAP_EXIT_DONE);
}

/* ------------------------------------------------------------------ the command line */

/* 0, or the exit status of a mistake. */
static int check_outputs(const struct hybrid_settings *settings)
{
    if (settings->plot && !psnap_output_is_stdout(settings->plot) &&
        !hybrid_can_draw(settings->plot))
        return psnap_cmd_usage("hybrid", "--plot draws FILE.svg or FILE.png, not '%.200s'",
                               settings->plot);
    if (psnap_output_is_same(settings->output, settings->plot))
        return psnap_cmd_usage("hybrid", "-o and --plot are both '%.200s'", settings->output);
    if (settings->json + psnap_output_is_stdout(settings->output) +
            psnap_output_is_stdout(settings->plot) >
        1)
        return psnap_cmd_usage("hybrid",
                               "only one of JSON, CSV and a figure can go to standard output");
    return 0;
}

/* Options that mean nothing to observations. */
static int check_csv(const struct hybrid_settings *settings)
{
    if (settings->sizes)
        return psnap_cmd_usage("hybrid", "--sizes are those of profiles; CSV has a column 'size'");
    if (settings->rates)
        return psnap_cmd_usage("hybrid", "--rates are those of profiles; CSV has hits of its own");
    if (settings->seed)
        return psnap_cmd_usage("hybrid", "--seed is of the replay of profiles; CSV has none");
    return 0;
}

static int check_profiles(struct hybrid_settings *settings)
{
    size_t count = 1;

    settings->options.sizes_as_replicates = true;
    if (!settings->rates)
        settings->rates = "sdcm";
    if (!settings->sizes)
        return 0;
    for (const char *at = settings->sizes; *at; at++)
        count += *at == ',';
    if (count != settings->path_count)
        return psnap_cmd_usage(
            "hybrid", "--sizes has %zu size%s for %zu input%s: give one for each, in order", count,
            psnap_plural(count), settings->path_count, psnap_plural(settings->path_count));
    return 0;
}

/* Whether inputs are tables, all of them or none; 0, or the exit status of a mistake. */
static int check_inputs(struct hybrid_settings *settings, bool *of_csv)
{
    size_t tables = 0, pipes = 0;

    if (!settings->path_count)
        return psnap_cmd_usage("hybrid", "no input: a CSV file of observations, or profiles");
    for (size_t i = 0; i < settings->path_count; i++) {
        const char *const kind =
            settings->machines.count ? NULL : kind_to_predict(settings->paths[i]);
        if (kind)
            return psnap_cmd_usage(
                "hybrid", "'%.200s' is %s: give two machines or more to predict it on (-m)",
                settings->paths[i], kind);
        tables += hybrid_is_csv(settings->paths[i]) || !settings->machines.count;
        pipes += !strcmp(settings->paths[i], "-");
    }
    *of_csv = tables == settings->path_count;
    if (pipes > 1)
        return psnap_cmd_usage("hybrid", "standard input can be read once");
    if (tables && !*of_csv)
        return psnap_cmd_usage("hybrid", "inputs are CSV or profiles, not both: -o writes "
                                         "predictions of profiles as CSV");
    return *of_csv ? check_csv(settings) : check_profiles(settings);
}

static int check_usage(struct hybrid_settings *settings, bool *of_csv)
{
    int status;

    if (!(settings->options.level > 0 && settings->options.level < 1))
        return psnap_cmd_usage("hybrid", "--level is a probability between 0 and 1, like 0.05");
    if (!(settings->options.steady > 0))
        return psnap_cmd_usage("hybrid", "--steady is by how much m0 may vary: above 0, like 0.05");
    if (settings->rates && strcmp(settings->rates, "sdcm") != 0 &&
        strcmp(settings->rates, "per-set") != 0 && strcmp(settings->rates, "simulation") != 0)
        return psnap_cmd_usage("hybrid", "--rates takes sdcm, per-set and simulation, not '%.100s'",
                               settings->rates);
    status = check_outputs(settings);
    return status ? status : check_inputs(settings, of_csv);
}

int psnap_cmd_hybrid(int argc, char **argv)
{
    struct hybrid_settings settings = {.options = {.level = 0.05, .steady = 0.05}};
    const struct psnap_option options[] = {
        {PSNAP_OPTION_REAL, 0, "level", &settings.options.level, "P",
         "of significance: effects whose p is below it are there (0.05)"},
        {PSNAP_OPTION_REAL, 0, "steady", &settings.options.steady, "M",
         "by how much m0 that is steady may differ from its mean (0.05)"},
        {PSNAP_OPTION_FLAG, 0, "sizes-as-replicates", &settings.options.sizes_as_replicates, NULL,
         "there are no replicates: compare codes and machines alone, over sizes"},
        {PSNAP_OPTION_LIST, 'm', "machine", &settings.machines, "MACHINE",
         "predict profiles on it, or take latencies from it; in CSV NAME=MACHINE as well; may be "
         "repeated"},
        {PSNAP_OPTION_TEXT, 0, "sizes", &settings.sizes, "N,N...",
         "problem sizes of profiles, in order (the first number among their arguments)"},
        {PSNAP_OPTION_TEXT, 0, "rates", &settings.rates, "sdcm|per-set|simulation",
         "hit rates of profiles by sdcm, per-set or simulation (sdcm)"},
        {PSNAP_OPTION_TEXT, 'o', "output", &settings.output, "FILE",
         "write observations with their m0 as CSV"},
        {PSNAP_OPTION_TEXT, 0, "plot", &settings.plot, "FILE",
         "draw m0 against size with gnuplot: FILE.svg, FILE.png"},
        {PSNAP_OPTION_FLAG, 0, "json", &settings.json, NULL, "print JSON"},
        {PSNAP_OPTION_U64, 0, "seed", &settings.seed, "N", "of the replay of profiles (0)"},
        {PSNAP_OPTION_FLAG, 0, "force", &settings.force, NULL, "overwrite files"},
        {PSNAP_OPTION_END, 0, NULL, NULL, NULL, NULL},
    };
    const struct psnap_usage usage = {
        "psnap hybrid CSV... [-m MACHINE ...] [--level 0.05] [--json]\n"
        "psnap hybrid INPUT... -m MACHINE -m MACHINE [...]",
        "Tells what size, machine and code do to cycles per instruction, by analysis of\n"
        "variance, and from which size on a code scales predictably, by m0, the share of\n"
        "memory's latency that is hidden. Observations are rows of CSV with the columns\n"
        "code,machine,size,replicate,cpi and, when known, cpi_pipeline, hits2, hits3 ...,\n"
        "latency2, latency3 ...; or predictions of profiles on two machines or more.\n"
        "predict/hybrid/HYBRID.md has the models.",
        options};
    int status;
    bool of_csv = true;
    const int operands = psnap_options_parse(argc, argv, &usage, false, &status);

    if (operands < 0)
        return status;
    settings.paths = argv + 1;
    settings.path_count = (size_t)operands;
    status = check_usage(&settings, &of_csv);
    if (!status)
        status = run(&settings, of_csv);
    psnap_text_list_release(&settings.machines);
    return status;
}
