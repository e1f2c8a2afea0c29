/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * psnap record: runs an instrumented program beside the collector. Exit status:
 * the program's own (128+n for signal n), 125 when psnap failed or lost data,
 * 126 and 127 when the program cannot be run, as in env(1).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "capture/session/cmd_child.h"
#include "capture/session/cmd_hub.h"
#include "capture/session/cmd_recording.h"
#include "capture/session/cmd_roi.h"
#include "capture/valgrind/engine_valgrind.h"
#include "capture/collect/process.h"
#include "formats/base/cmd.h"

/* Also of a reader that has gone: the recording is lost with it. */
static int lost(const struct psnap_error *error)
{
    struct psnap_error said = *error;

    if (said.code == PSNAP_ERROR_CLOSED)
        said.code = PSNAP_ERROR_IO;
    psnap_cmd_fail("record", &said);
    return PSNAP_EXIT_LOST;
}

/* Starts the program and says so when it cannot be; -1 then, with *result set. */
static pid_t start_or_say(char **argv, const char *session, bool moves_stdout, int *result)
{
    const struct psnap_child_start how = {
        .argv = argv, .session = session, .moves_stdout = moves_stdout};
    struct psnap_error error = {0};
    int failure;
    pid_t pid = psnap_child_start(&how, &failure);

    if (pid >= 0)
        return pid;
    psnap_error_system(&error, failure, "cannot run '%s'", argv[0]);
    psnap_cmd_fail("record", &error);
    if (failure == ENOENT && !strchr(argv[0], '/') && access(argv[0], X_OK) == 0)
        psnap_print(stderr, "psnap record: it is looked for in PATH; did you mean './%s'?\n",
                    argv[0]);
    *result = failure == ENOENT ? 127 : 126;
    return -1;
}

/* There is no memory for a recording, or the like: the program runs all the same. */
static int run_unrecorded(char **argv, const struct psnap_error *error)
{
    int result;
    pid_t pid = start_or_say(argv, NULL, false, &result);

    if (pid < 0)
        return result;
    psnap_child_reap("record");
    return lost(error);
}

/* The program's environment is ours, its command line `argv`. */
static enum psnap_status describe(struct psnap_program *program, char **argv, const char *path,
                                  struct psnap_error *error)
{
    struct psnap_process self, process;
    enum psnap_status status;

    psnap_process_read(&self, getpid());
    process = self;
    process.argv = (const char **)(uintptr_t)argv;
    status = psnap_recording_describe(program, &process, path, error);
    psnap_process_release(&self);
    return status;
}

/* The first process's accesses go from here into its files. */
static int record_first(struct psnap_recording *recording, struct psnap_source *capture,
                        char **argv, const struct psnap_hub_process *hub)
{
    struct psnap_error error = {0};
    enum psnap_status status;
    char path[4096];
    int result;
    pid_t pid = start_or_say(argv, hub->path, recording->takes_stdout, &result);

    if (pid < 0)
        return result;
    psnap_capture_obey(capture, psnap_child_deadline());
    recording->builder.deadline = psnap_child_deadline();
    recording->spare = pid; /* what took our names while it ran must not cost us the recording */
    status = psnap_capture_watch(capture, pid, &error);
    psnap_find_program(argv[0], path, sizeof path); /* it may have ended: we cannot ask for it */
    recording->program = path;
    if (!status)
        status = describe(capture->program, argv, path, &error);
    if (!status)
        status = psnap_recording_run(recording, capture, &error);
    psnap_capture_close(capture);
    if (status)
        lost(&error); /* at once: the program may go on for long */
    result = psnap_child_reap("record");
    recording->is_refused = psnap_hub_has_refused(hub);
    if (status || psnap_recording_complain(recording, capture))
        result = PSNAP_EXIT_LOST;
    else if (recording->is_verbose)
        psnap_recording_summarise(recording, 0);
    return result;
}

/* What the program is to know of its regions, in the environment that it will have. */
static enum psnap_status set_regions(const struct psnap_recording *recording, const char *program,
                                     struct psnap_error *error)
{
    char path[4096];

    if (!recording->roi) {
        unsetenv(PSNAP_ENV_ROI);
        return PSNAP_OK;
    }
    setenv(PSNAP_ENV_ROI, recording->roi, 1);
    psnap_find_program(program, path, sizeof path);
    return psnap_roi_check(recording->roi, path, error);
}

static int record(struct psnap_recording *recording, char **argv)
{
    struct psnap_error error = {0};
    struct psnap_hub_process hub;
    struct psnap_source *capture = NULL;
    int result = PSNAP_EXIT_LOST;
    pid_t pid;

    psnap_child_prepare();
    if (psnap_recording_prepare(recording, argv[0], &error) ||
        set_regions(recording, argv[0], &error))
        return lost(&error);
    if (psnap_hub_start(&hub, recording, &error))
        return run_unrecorded(argv, &error);
    psnap_child_share_deadline(&hub.page->deadline);
    if (recording->is_late) { /* every process asks the hub */
        pid = start_or_say(argv, hub.path, false, &result);
        if (pid >= 0)
            result = psnap_child_reap("record");
        return psnap_hub_finish(&hub, recording) && pid >= 0 ? PSNAP_EXIT_LOST : result;
    }
    capture = psnap_capture_open(-1, &error);
    if (!capture)
        result = run_unrecorded(argv, &error);
    else if (psnap_recording_open(recording, &error))
        result = lost(&error);
    else {
        psnap_hub_offer(&hub, capture);
        result = record_first(recording, capture, argv, &hub);
    }
    if (psnap_hub_finish(&hub, recording))
        result = PSNAP_EXIT_LOST;
    psnap_recording_release(recording);
    psnap_source_free(capture);
    return result;
}

/* The status for a program that cannot be run, or 0; the same as when it is run without Valgrind.
 */
static int check_program(const char *name, const char *path)
{
    struct psnap_error error;
    struct stat about;
    int failure = 0;

    if (stat(path, &about) != 0)
        failure = errno;
    else if (!S_ISREG(about.st_mode) || access(path, X_OK) != 0)
        failure = EACCES;
    if (!failure)
        return 0;
    psnap_error_system(&error, failure, "cannot run '%s'", name);
    psnap_cmd_fail("record", &error);
    return failure == ENOENT ? 127 : 126;
}

/* Moves the stream of a program that has been started to its end; returns the exit status. */
static int finish_valgrind(struct psnap_recording *recording, struct psnap_source *valgrind,
                           char **argv, const char *path)
{
    struct psnap_error error = {0};
    enum psnap_status status;
    int result;

    recording->builder.deadline = psnap_child_deadline();
    status = describe(valgrind->program, argv, path, &error);
    if (!status)
        status = psnap_recording_run(recording, valgrind, &error);
    psnap_valgrind_drain(valgrind); /* the program runs on */
    result = psnap_child_reap("record");
    if (status)
        return lost(&error);
    if (psnap_recording_complain_foreign(recording, valgrind))
        return PSNAP_EXIT_LOST;
    if (!recording->accesses) {
        fputs(
            recording->sampling.skip
                ? "psnap record: the program made no accesses behind --skip, the profile is empty\n"
                : "psnap record: valgrind has not run the program, the profile is empty; "
                  "'valgrind --tool=lackey PROG' says why (where it gives up on debug information, "
                  "compile with -gdwarf-4, or strip a copy)\n",
            stderr);
        return result == 126 || result == 127 ? result : PSNAP_EXIT_LOST;
    }
    return result;
}

static int record_valgrind(struct psnap_recording *recording, char **argv)
{
    struct psnap_error error = {0};
    struct psnap_source *capture;
    char path[4096], **command = NULL;
    struct psnap_child_start how;
    int failure, result;
    pid_t pid = -1;

    psnap_child_prepare();
    psnap_find_program(argv[0], path, sizeof path);
    result = check_program(argv[0], path);
    if (result)
        return result;
    capture = psnap_valgrind_new(&error);
    if (!capture)
        return lost(&error);
    psnap_valgrind_choose(capture, recording->roi);
    if (!psnap_recording_prepare(recording, argv[0], &error) &&
        !psnap_recording_open(recording, &error)) {
        command = psnap_valgrind_command(capture, argv);
        if (!command)
            psnap_error_set(&error, PSNAP_ERROR_MEMORY, "out of memory");
    }
    if (command) {
        fputs("psnap record: running under Valgrind, some hundred times slower than alone\n",
              stderr);
        how = (struct psnap_child_start){.argv = command,
                                         .environment = psnap_valgrind_environment,
                                         .moves_stdout = recording->takes_stdout,
                                         .cannot_go_on = true};
        pid = psnap_child_start(&how, &failure);
        if (pid < 0)
            psnap_error_system(&error, failure, "cannot run valgrind");
    }
    free(command);
    recording->spare = pid > 0 ? pid : 0;
    psnap_valgrind_watch(capture, pid > 0 ? pid : 0);
    result = pid > 0 ? finish_valgrind(recording, capture, argv, path) : lost(&error);
    if (pid > 0 && result != PSNAP_EXIT_LOST && recording->is_verbose)
        psnap_recording_summarise(recording, 0);
    psnap_recording_release(recording);
    psnap_source_free(capture);
    return result;
}

/* Options that say which part of the program is wanted. */
struct parts {
    struct psnap_text_list functions;
    const char *window;
    char *roi; /* the functions, as PSNAP_ENV_ROI */
    bool is_whole;
};

/* Non-zero, and says so, when they make no sense. */
static int read_parts(struct parts *parts, struct psnap_recording *recording)
{
    struct psnap_sampling *sampling = &recording->sampling;
    struct psnap_error error = {0};

    if (parts->window && !psnap_window_read(parts->window, &sampling->window, &sampling->period))
        return psnap_cmd_usage("record", "--window X/Y: '%s' is not two numbers, X from 1 to Y",
                               parts->window);
    if (parts->functions.count && parts->is_whole)
        return psnap_cmd_usage("record", "--roi and --no-roi contradict each other");
    if (parts->functions.count) {
        parts->roi = psnap_roi_join(&parts->functions, &error);
        if (!parts->roi)
            return psnap_cmd_fail("record", &error);
    }
    recording->roi = parts->is_whole ? "" : parts->roi;
    return 0;
}

/* Reads the options of the engine; non-zero, and says so, when they contradict each other. */
static int settle(struct psnap_recording *recording, const char *engine)
{
    recording->is_foreign = engine && !strcmp(engine, "valgrind");
    if (engine && !recording->is_foreign && strcmp(engine, "compiled") != 0)
        return psnap_cmd_usage("record", "no engine '%s'; there are: compiled, valgrind", engine);
    /* Of all that libraries and the loader do little is regular; the published model is small. */
    if (recording->is_foreign && !recording->model)
        recording->model = "psnap";
    if (recording->sampling.count == 0)
        return psnap_cmd_usage("record", "--count 0 would record nothing");
    if (recording->sampling.count == UINT64_MAX)
        recording->sampling.count = 0; /* all */
    if (recording->machines->count && !recording->certifies)
        return psnap_cmd_usage("record", "-m is for --certify");
    return 0;
}

static const char description[] =
    "Runs PROG, which 'psnap cc' has compiled, and keeps a profile of its memory\n"
    "accesses. The exit status is PROG's own (128+n for signal n); 125 when psnap\n"
    "failed or lost data, 126 and 127 when PROG cannot be run. With '-o -' (or\n"
    "'--trace -') standard output is the profile's alone: what PROG prints goes to\n"
    "standard error.\n"
    "\n"
    "Every process that PROG starts, if it is instrumented, gets files of its own:\n"
    "with its process id behind the name, or as the name says: %p is the process\n"
    "id, %h the host, %q{VAR} a variable of its environment, %r its MPI rank.\n"
    "A program that something else starts is recorded without this command when\n"
    "PSNAP_OUT=P.yaml is in its environment.\n"
    "\n"
    "Of a part of PROG: what it marks with the macros of <psnap/roi.h>, or functions\n"
    "with --roi; of the accesses of that, or of all, a stretch with --skip and\n"
    "--count, and a sample of this with --window. Counts in the profile are those\n"
    "of the accesses that were recorded; a sample has estimates beside them, with\n"
    "their standard errors.\n"
    "\n"
    "--certify puts the accesses through simulated caches as well, and the replay of\n"
    "the profile afterwards, and writes into the profile how far they are apart.\n"
    "\n"
    "--engine valgrind runs a PROG that was not compiled so under Valgrind's lackey:\n"
    "all its code, libraries and stack included, some hundred times slower. Its profile\n"
    "is of model psnap unless --model says otherwise.";

int psnap_cmd_record(int argc, char **argv)
{
    struct psnap_recording recording = {.command = "record",
                                        .is_verbose = isatty(STDERR_FILENO),
                                        .sampling = {.count = UINT64_MAX}};
    struct psnap_text_list machines = {0};
    struct parts parts = {0};
    const char *engine = NULL;
    const struct psnap_option options[] = {
        {PSNAP_OPTION_TEXT, 0, "engine", &engine, "compiled|valgrind",
         "compiled (default), or valgrind: any program, slowly"},
        {PSNAP_OPTION_TEXT, 'o', "output", &recording.profile, "P.yaml",
         "profile to write (default PROG.psnap.yaml, then PROG.psnap.2.yaml)"},
        {PSNAP_OPTION_TEXT, 0, "trace", &recording.trace, "T.pst",
         "also write every access to this trace; .din, .csv and so on choose the format"},
        {PSNAP_OPTION_SIZE, 0, "max-bytes", &recording.trace_limit.max_bytes, "BYTES",
         "end the trace before it is larger (32K, 1M, 2G); the profile goes on"},
        {PSNAP_OPTION_FLAG, 0, "no-profile", &recording.no_profile, NULL, "trace only"},
        {PSNAP_OPTION_TEXT, 0, "model", &recording.model, "nests|psnap",
         "of the profile: nests (default: loop nests, exact, and reuse histograms of what is\n"
         "irregular) or psnap (the published one: strides by region)"},
        {PSNAP_OPTION_SIZE, 0, "gap", &recording.builder.region_gap_bytes, "BYTES",
         "how near an access joins a region (default 256)"},
        {PSNAP_OPTION_FLAG, 0, "certify", &recording.certifies, NULL,
         "simulate caches as well: the profile says how far its replay is off"},
        {PSNAP_OPTION_LIST, 'm', "machine", &machines, "MACHINE",
         "to certify with; may be repeated (the ten structures table1-1 to table1-10)"},
        {PSNAP_OPTION_LIST, 0, "roi", &parts.functions, "FUNCTION",
         "record only while FUNCTION runs, and what it calls; may be repeated"},
        {PSNAP_OPTION_FLAG, 0, "no-roi", &parts.is_whole, NULL,
         "record everything, whatever PROG marks (psnap/roi.h)"},
        {PSNAP_OPTION_COUNT, 0, "skip", &recording.sampling.skip, "N",
         "leave out the first N accesses; K, M, G stand for powers of 1024"},
        {PSNAP_OPTION_COUNT, 0, "count", &recording.sampling.count, "N",
         "record the next N accesses, then let PROG run on alone"},
        {PSNAP_OPTION_TEXT, 0, "window", &parts.window, "X/Y",
         "of these, record the first X of each Y"},
        {PSNAP_OPTION_FLAG, 0, "force", &recording.force, NULL, "overwrite existing files"},
        {PSNAP_OPTION_FLAG, 'v', "verbose", &recording.is_verbose, NULL,
         "say what was recorded (default on a terminal), and when given where the time went"},
        {0},
    };
    const struct psnap_usage usage = {
        "psnap record [-o P.yaml] [--trace T.pst] [--no-profile] -- PROG ARGS",
        description,
        options,
    };
    int status, operands = psnap_options_parse(argc, argv, &usage, true, &status);

    if (operands < 0) /* 2 could be the program's own */
        return status ? PSNAP_EXIT_LOST : PSNAP_EXIT_DONE;
    if (operands == 0) {
        psnap_cmd_usage("record", "which program?");
        return PSNAP_EXIT_LOST;
    }
    argv[1 + operands] = NULL;
    recording.machines = &machines;
    if (settle(&recording, engine) || read_parts(&parts, &recording))
        status = PSNAP_EXIT_LOST;
    else if (recording.is_foreign)
        status = record_valgrind(&recording, argv + 1);
    else
        status = record(&recording, argv + 1);
    psnap_text_list_release(&parts.functions);
    psnap_text_list_release(&machines);
    free(parts.roi);
    return status;
}
