/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * psnap predict multicore: hit rates and run times of an OpenMP program on numbers of cores, from a
 * trace of one thread or from a task list. MULTICORE.md states the model.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats/base/output.h"
#include "formats/base/text.h"
#include "formats/formats.h"
#include "predict/cmd_predict.h"
#include "predict/multicore/cmd_multicore.h"

struct settings {
    const char *cores, *method, *time, *interleave, *seed, *list, *cpu;
    bool has_no_time, has_sections, json, force;
};

static enum psnap_status usage_error(struct psnap_error *error, const char *format,
                                     const char *what)
{
    return psnap_error_set(error, PSNAP_ERROR_USAGE, format, what);
}

/* "1,2,4" */
static enum psnap_status take_cores(struct multicore *study, const char *text,
                                    struct psnap_error *error)
{
    char word[16];

    study->run_count = 0;
    for (const char *at = text; at;) {
        const size_t length = strcspn(at, ",");
        uint64_t cores;

        snprintf(word, sizeof word, "%.*s", (int)(length < 15 ? length : 15), at);
        if (length > 15 || !psnap_text_u64(word, &cores) || cores < 1 || cores > PSNAP_CORES_MAX)
            return usage_error(error, "--cores takes numbers from 1 to 256, as in 1,2,4, not '%s'",
                               word);
        for (size_t i = 0; i < study->run_count; i++)
            if (study->runs[i].cores == cores)
                return usage_error(error, "--cores has %s twice", word);
        if (study->run_count == MULTICORE_RUNS_MAX)
            return usage_error(error, "--cores takes at most 32 numbers, not '%.100s'", text);
        study->runs[study->run_count++].cores = (uint32_t)cores;
        at = at[length] ? at + length + 1 : NULL;
    }
    return PSNAP_OK;
}

static enum psnap_status take_machines(struct multicore *study, const struct psnap_text_list *names,
                                       struct psnap_error *error)
{
    enum psnap_status status = PSNAP_OK;

    if (!names->count)
        return usage_error(error, "no machine: give at least one -m MACHINE%s", "");
    if (names->count > MULTICORE_MACHINES_MAX)
        return usage_error(error, "there may be at most 16 machines%s", "");
    for (size_t i = 0; i < names->count && !status; i++) {
        status = psnap_machine_find(names->items[i], &study->machines[i], error);
        if (!status && study->has_time)
            status = multicore_check_machine(study, &study->machines[i], error);
    }
    study->machine_count = names->count;
    return status;
}

/* Whether the first key of a text is psnap_tasks, behind comments, marks and directives. */
static bool begins_list(const char *text)
{
    if (!strncmp(text, "\xef\xbb\xbf", 3)) /* a byte order mark */
        text += 3;
    for (text += strspn(text, " \t\r\n"); *text == '#' || *text == '%' || !strncmp(text, "---", 3);
         text += strspn(text, " \t\r\n"))
        text += strcspn(text, "\n");
    text += strspn(text, "{\"' \t");
    if (strncmp(text, "psnap_tasks", 11) != 0)
        return false;
    text += 11;
    return text[strspn(text, "\"' ")] == ':';
}

/* Opens the input once, to see whether it is a task list, and puts back what was read. What is no
 * file, a pipe, is read once: it becomes standard input, and study->from "-". */
static enum psnap_status look_at_input(struct multicore *study, struct psnap_error *error)
{
    FILE *file = psnap_input_file(study->path, error);
    char start[PSNAP_BID_BYTES + 1];
    struct stat about;
    size_t count = 0;
    int next;

    if (!file)
        return error->code;
    study->from = study->path;
    if (file != stdin && (fstat(fileno(file), &about) || !S_ISREG(about.st_mode))) {
        if (dup2(fileno(file), STDIN_FILENO) < 0) {
            fclose(file);
            return psnap_error_file(error, errno, "open", study->path);
        }
        fclose(file);
        file = stdin;
        study->from = "-";
    }
    while (count < PSNAP_BID_BYTES && (next = getc(file)) != EOF)
        start[count++] = (char)next;
    start[count] = '\0';
    study->is_list = begins_list(start);
    while (count && file == stdin)
        ungetc((unsigned char)start[--count], file);
    if (file != stdin)
        fclose(file);
    return PSNAP_OK;
}

/* Which methods there are, and of which one run times are. */
static enum psnap_status take_method(struct multicore *study, const char *method,
                                     struct psnap_error *error)
{
    study->methods[MULTICORE_SDCM] = true;
    study->methods[MULTICORE_SETS] = study->methods[MULTICORE_SIM] = !study->is_list;
    study->methods[MULTICORE_OBSERVED] = study->against != NULL;
    for (int i = 0; i < MULTICORE_OBSERVED; i++)
        if (!strcmp(method, multicore_method_names[i])) {
            study->timed = (enum multicore_method)i;
            if (study->methods[i])
                return PSNAP_OK;
            return usage_error(error, "of a task list there is SDCM alone, not %s", method);
        }
    return usage_error(error, "--method takes sdcm, per-set and simulation, not '%.100s'", method);
}

/* How cores have their turns. */
static enum psnap_status take_interleaving(struct multicore *study, const struct settings *settings,
                                           struct psnap_error *error)
{
    const char *const how = settings->interleave ? settings->interleave : "round-robin";

    study->mimic.uniform = !strcmp(how, "uniform");
    if (!study->mimic.uniform && strcmp(how, "round-robin") != 0)
        return usage_error(error, "--interleave takes round-robin and uniform, not '%.100s'", how);
    if (settings->seed && !psnap_text_u64(settings->seed, &study->mimic.seed))
        return usage_error(error, "--seed takes a whole number, not '%.100s'", settings->seed);
    return PSNAP_OK;
}

/* A task list has been dealt and interleaved: options that say how are refused. */
static enum psnap_status check_list(const struct multicore *study, const struct settings *settings,
                                    struct psnap_error *error)
{
    const char *const option = study->mimic.chunk     ? "--chunk"
                               : settings->interleave ? "--interleave"
                               : settings->seed       ? "--seed"
                               : settings->has_no_time && study->mimic.as_published
                                   ? "--no-time --as-published"
                                   : NULL;

    if (study->against || study->assembly->count)
        return usage_error(error, "%s needs a trace, not a task list",
                           study->against ? "--against" : "--asm");
    if (option)
        return usage_error(
            error, "%s needs a trace or a profile: a task list was dealt when it was written",
            option);
    return PSNAP_OK;
}

/* What is read more than once has to be a file. */
static enum psnap_status check_pipes(const struct multicore *study, struct psnap_error *error)
{
    struct stat about;

    if (study->run_count > 1 && !study->is_list && !strcmp(study->from, "-"))
        return usage_error(
            error, "a pipe or standard input is read once: give a file, or one number of --cores%s",
            "");
    if (study->against &&
        (!strcmp(study->against, "-") ||
         (stat(study->against, &about) == 0 && !S_ISREG(about.st_mode) && !S_ISDIR(about.st_mode))))
        return usage_error(
            error, "a pipe or standard input is read once: give a file to --against, not '%.100s'",
            study->against);
    return PSNAP_OK;
}

/* By which model run times are; as published, unless it is said, by the published one. */
static enum psnap_status take_time(struct multicore *study, const char *name,
                                   struct psnap_error *error)
{
    study->time = study->mimic.as_published ? RUNTIME_PUBLISHED : RUNTIME_OVERLAP;
    if (!name)
        return PSNAP_OK;
    for (int i = 0; i < RUNTIME_METHODS; i++)
        if (!strcmp(name, runtime_method_name((enum runtime_method)i))) {
            study->time = (enum runtime_method)i;
            return PSNAP_OK;
        }
    return usage_error(error, "--time takes published, throughput and overlap, not '%.100s'", name);
}

static enum psnap_status prepare(struct multicore *study, const struct settings *settings,
                                 const struct psnap_text_list *machines, struct psnap_error *error)
{
    enum psnap_status status;

    if (settings->json && psnap_output_is_stdout(settings->list))
        return usage_error(
            error, "--task-list - and --json would both go to standard output: give a FILE%s", "");
    study->has_time = !settings->has_no_time;
    status = take_interleaving(study, settings, error);
    if (!status)
        status = look_at_input(study, error);
    if (!status)
        status = take_cores(study, settings->cores, error);
    if (!status)
        status = take_method(study, settings->method, error);
    if (!status)
        status = take_time(study, settings->time, error);
    study->by_loops = study->has_time && !study->is_list && study->time == RUNTIME_OVERLAP;
    study->has_sync = study->has_time && study->time == RUNTIME_OVERLAP;
    if (!status && study->is_list)
        status = check_list(study, settings, error);
    if (!status && study->assembly->count && !study->has_sync)
        status = usage_error(error, "--asm is for run times by --time overlap%s", "");
    if (!status && study->cpu && !study->assembly->count)
        status = usage_error(
            error, "--cpu %s: it says for which processor --asm is, which is absent", study->cpu);
    if (!status && study->against && study->run_count != 1)
        status =
            usage_error(error, "--against has one number of --cores, that of its threads%s", "");
    if (!status)
        status = check_pipes(study, error);
    if (!status)
        status = take_machines(study, machines, error);
    return status;
}

static int run(struct multicore *study, const struct settings *settings,
               const struct psnap_text_list *machines)
{
    struct psnap_output *list = NULL;
    struct psnap_error error;
    enum psnap_status status = prepare(study, settings, machines, &error);

    if (!status && settings->list) {
        list = psnap_output_open(settings->list, settings->force, &error);
        status = list ? PSNAP_OK : error.code;
    }
    if (!status)
        status = multicore_study(study, &error);
    if (!status && list)
        status = tasks_write(&study->tasks, psnap_output_file(list), &error);
    status = psnap_output_finish(list, status, &error);
    if (status)
        return psnap_cmd_fail("predict multicore", &error);
    if (settings->json)
        multicore_print_json(study);
    else if (!psnap_output_is_stdout(settings->list))
        multicore_print(study, settings->has_sections);
    return psnap_cmd_close_stdout("predict multicore", PSNAP_EXIT_DONE);
}

int psnap_cmd_predict_multicore(int argc, char **argv)
{
    struct multicore *study = calloc(1, sizeof *study);
    struct psnap_text_list machines = {0}, assembly = {0};
    struct settings settings = {.cores = "1,2,4,8,16", .method = "sdcm"};
    struct psnap_input_options input = PSNAP_INPUT_DEFAULTS;
    struct psnap_mimic_options mimic = {0};
    const char *against = NULL;
    const struct psnap_option options[] = {
        {PSNAP_OPTION_LIST, 'm', "machine", &machines, "MACHINE",
         "a bundled name, a machine file, or size:line:ways,...; may be repeated"},
        {PSNAP_OPTION_TEXT, 0, "cores", &settings.cores, "LIST", "numbers of cores (1,2,4,8,16)"},
        {PSNAP_OPTION_TEXT, 0, "method", &settings.method, "sdcm|per-set|simulation",
         "hit rates for run times: sdcm, per-set or simulation (sdcm)"},
        {PSNAP_OPTION_TEXT, 0, "time", &settings.time, "published|throughput|overlap",
         "of run times: published, throughput or overlap (overlap)"},
        {PSNAP_OPTION_LIST, 0, "asm", &assembly, "FILE",
         "the program's assembly, by psnap cc --psnap-openmp --psnap-blocks -S; may be repeated"},
        {PSNAP_OPTION_TEXT, 0, "cpu", &settings.cpu, "NAME",
         "the processor, as llvm-mca calls it (native)"},
        {PSNAP_OPTION_TEXT, 0, "interleave", &settings.interleave, "round-robin|uniform",
         "cores in turn (round-robin), or drawn (uniform)"},
        {PSNAP_OPTION_TEXT, 0, "seed", &settings.seed, "N", "of that (0)"},
        {PSNAP_OPTION_COUNT, 0, "chunk", &mimic.chunk, "N",
         "iterations of a chunk, in all loops (as the program says)"},
        {PSNAP_OPTION_FLAG, 0, "as-published", &mimic.as_published, NULL,
         "the paper's dealing by blocks, rates and model of run times"},
        {PSNAP_OPTION_FLAG, 0, "no-time", &settings.has_no_time, NULL, "hit rates alone"},
        {PSNAP_OPTION_FLAG, 0, "sections", &settings.has_sections, NULL,
         "a table of each parallel section, too"},
        {PSNAP_OPTION_TEXT, 0, "against", &against, "TRACE",
         "a run of as many threads, with marks, to simulate beside"},
        {PSNAP_OPTION_TEXT, 0, "task-list", &settings.list, "FILE",
         "write what the model needs of the program: an INPUT in place of the trace"},
        {PSNAP_OPTION_FLAG, 0, "force", &settings.force, NULL, "overwrite FILE"},
        {PSNAP_OPTION_FLAG, 0, "json", &settings.json, NULL, "print JSON"},
        {PSNAP_OPTION_TEXT, 0, "from", &input.from, "FORMAT", "the input's format (recognised)"},
        {PSNAP_OPTION_COUNT, 0, "count", &input.count, "N",
         "stop after N accesses, with --no-time"},
        {PSNAP_OPTION_END, 0, NULL, NULL, NULL, NULL},
    };
    const struct psnap_usage usage = {
        "psnap predict multicore INPUT -m MACHINE [--cores 1,2,4,8,16] [--json]",
        "Predicts hit rates and run times of an OpenMP program on any number of cores\n"
        "from one run of one thread: a trace or profile of what\n"
        "'psnap cc -fopenmp --psnap-openmp' compiled, recorded with OMP_NUM_THREADS=1, or\n"
        "a task list. Levels of a machine that cores share (shared_by) see what these do\n"
        "together. MULTICORE.md states the model.",
        options};
    int status, operands;

    operands = psnap_options_parse(argc, argv, &usage, false, &status);
    if (operands >= 0 && operands != 1) {
        status = psnap_cmd_usage("predict multicore", "one input is needed, not %d", operands);
    } else if (operands >= 0 && input.count != UINT64_MAX && !settings.has_no_time) {
        status = psnap_cmd_usage("predict multicore",
                                 "run times are of all of an input: --count wants --no-time");
    } else if (operands >= 0 && !study) {
        struct psnap_error error;
        psnap_error_set(&error, PSNAP_ERROR_MEMORY, "out of memory");
        status = psnap_cmd_fail("predict multicore", &error);
    } else if (operands >= 0) {
        study->path = argv[1];
        study->input = input;
        study->mimic = mimic;
        study->against = against;
        study->assembly = &assembly;
        study->cpu = settings.cpu;
        status = run(study, &settings, &machines);
    }
    if (study)
        multicore_release(study);
    free(study);
    psnap_text_list_release(&machines);
    psnap_text_list_release(&assembly);
    return status;
}
