/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * psnap collect: the collector of a program that was started with PSNAP_OUT set
 * instead of by `psnap record`. The runtime starts it; nobody types it.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture/session/cmd_recording.h"
#include "formats/base/capture_abi.h"
#include "formats/base/cmd.h"

/* NULL on failure, with `error` filled. */
static char *expand_name(const struct psnap_recording *recording,
                         const struct psnap_process *process, struct psnap_error *error)
{
    char *name = psnap_name_expand(recording->profile, process, error), *further;

    if (!name || !recording->is_further || recording->is_late || !strncmp(name, "/dev/", 5))
        return name;
    if (asprintf(&further, "%s.%ld", name, (long)process->pid) < 0) {
        psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
        further = NULL;
    }
    free(name);
    return further;
}

static int collect(struct psnap_recording *recording, int fd, uint64_t pid)
{
    struct psnap_error error = {0};
    struct psnap_source *capture = psnap_capture_open(fd, &error);
    struct psnap_process process;
    enum psnap_status status;
    char path[64], *name = NULL;
    int result = PSNAP_EXIT_DONE;

    if (!capture)
        return psnap_cmd_fail(recording->command, &error);
    psnap_process_read(&process, (pid_t)pid);
    snprintf(path, sizeof path, "/proc/%llu/exe", (unsigned long long)pid);
    status = psnap_capture_watch(capture, (pid_t)pid, &error);
    if (!status && !process.argv)
        status = psnap_error_set(&error, PSNAP_ERROR_MEMORY, "out of memory");
    if (!status && psnap_output_is_stdout(recording->profile))
        status = psnap_error_set(&error, PSNAP_ERROR_USAGE,
                                 "the program has standard output for itself: name a file in %s",
                                 PSNAP_ENV_OUT);
    if (!status)
        status = psnap_recording_prepare(recording, process.argv[0], &error);
    if (!status) {
        recording->spare = (pid_t)pid;
        name = expand_name(recording, &process, &error);
        recording->profile = name;
        status = name ? psnap_recording_open(recording, &error) : error.code;
    }
    if (!status)
        status = psnap_recording_describe(capture->program, &process, path, &error);
    if (!status)
        status = psnap_recording_run(recording, capture, &error);
    if (status)
        result = psnap_cmd_fail(recording->command, &error);
    else if (psnap_recording_complain(recording, capture))
        result = PSNAP_EXIT_FAILED;
    psnap_recording_release(recording);
    psnap_capture_close(capture);
    psnap_source_free(capture);
    psnap_process_release(&process);
    free(name);
    return result;
}

int psnap_cmd_collect(int argc, char **argv)
{
    struct psnap_recording recording = {.command = "collect", .roi = getenv(PSNAP_ENV_ROI)};
    uint64_t fd = UINT64_MAX, pid = 0;
    const struct psnap_option options[] = {
        {PSNAP_OPTION_TEXT, 'o', "output", &recording.profile, "P.yaml", "profile to write"},
        {PSNAP_OPTION_U64, 0, "fd", &fd, "N", "inherited descriptor of the shared memory"},
        {PSNAP_OPTION_U64, 0, "pid", &pid, "PID", "the program"},
        {PSNAP_OPTION_FLAG, 0, "further", &recording.is_further, NULL,
         "its parent's collector has the name: append .PID"},
        {0},
    };
    const struct psnap_usage usage = {
        "psnap collect --fd N --pid PID -o P.yaml",
        "Started by instrumented programs that run with PSNAP_OUT=P.yaml. An existing\n"
        "P.yaml is left alone: the profile is then P.yaml.PID.",
        options,
    };
    int status, operands = psnap_options_parse(argc, argv, &usage, false, &status);

    if (operands < 0)
        return status;
    if (operands > 0 || fd > INT_MAX || pid == 0 || pid > INT_MAX || !recording.profile)
        return psnap_cmd_usage("collect", "wants --fd, --pid and -o");
    return collect(&recording, (int)fd, pid);
}
