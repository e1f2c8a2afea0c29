/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * psnap collect: the collector of a program that was started with PSNAP_OUT set
 * instead of by `psnap record`. The runtime starts it; nobody types it.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capture/cmd_recording.h"
#include "formats/base/cmd.h"

enum { ARGUMENTS_MAX = 4096 };

/* The command line of a process, from /proc: its texts in `text`, pointers in `argv`. */
static void read_command(uint64_t pid, char *text, size_t size, const char **argv)
{
    char path[64];
    size_t length = 0, count = 0;
    FILE *file;

    snprintf(path, sizeof path, "/proc/%llu/cmdline", (unsigned long long)pid);
    file = fopen(path, "re");
    if (file) {
        length = fread(text, 1, size - 1, file);
        fclose(file);
    }
    text[length] = '\0';
    for (size_t at = 0; at < length && count < ARGUMENTS_MAX - 1; at += strlen(text + at) + 1)
        argv[count++] = text + at;
    if (!count)
        argv[count++] = "unknown";
    argv[count] = NULL;
}

/* The user can set a variable here and give no options. */
static enum psnap_status open_recording(struct psnap_recording *recording, const char *program,
                                        struct psnap_error *error)
{
    enum psnap_status status;

    if (psnap_output_is_stdout(recording->profile))
        return psnap_error_set(error, PSNAP_ERROR_USAGE,
                               "the program has standard output for itself: name a file in %s",
                               PSNAP_ENV_OUT);
    status = psnap_recording_open(recording, program, error);
    if (status == PSNAP_ERROR_EXISTS)
        status = psnap_error_set(error, PSNAP_ERROR_EXISTS,
                                 "'%s' exists already, nothing was recorded: remove it, or name "
                                 "another file in %s",
                                 recording->profile, PSNAP_ENV_OUT);
    return status;
}

static int collect(struct psnap_recording *recording, int fd, uint64_t pid)
{
    static char text[1 << 17];
    static const char *argv[ARGUMENTS_MAX];
    struct psnap_error error = {0};
    struct psnap_source *capture = psnap_capture_adopt(fd, &error);
    enum psnap_status status;
    char path[64];
    int result = PSNAP_EXIT_DONE;

    if (!capture)
        return psnap_cmd_fail(recording->command, &error);
    read_command(pid, text, sizeof text, argv);
    snprintf(path, sizeof path, "/proc/%llu/exe", (unsigned long long)pid);
    status = psnap_capture_watch(capture, (pid_t)pid, &error);
    if (!status)
        status = open_recording(recording, argv[0], &error);
    if (!status)
        status = psnap_recording_describe(capture->program, argv, path, &error);
    if (!status)
        status = psnap_recording_run(recording, capture, &error);
    if (status)
        result = psnap_cmd_fail(recording->command, &error);
    else if (psnap_recording_complain(recording, capture))
        result = PSNAP_EXIT_FAILED;
    psnap_recording_release(recording);
    psnap_capture_close(capture);
    psnap_source_free(capture);
    return result;
}

int psnap_cmd_collect(int argc, char **argv)
{
    struct psnap_recording recording = {.command = "collect"};
    uint64_t fd = UINT64_MAX, pid = 0;
    const struct psnap_option options[] = {
        {PSNAP_OPTION_TEXT, 'o', "output", &recording.profile, "P.yaml", "profile to write"},
        {PSNAP_OPTION_U64, 0, "fd", &fd, "N", "inherited descriptor of the shared memory"},
        {PSNAP_OPTION_U64, 0, "pid", &pid, "PID", "the program"},
        {0},
    };
    const struct psnap_usage usage = {
        "psnap collect --fd N --pid PID -o P.yaml",
        "Started by instrumented programs that run with PSNAP_OUT=P.yaml. An existing\n"
        "P.yaml is left alone.",
        options,
    };
    int status, operands = psnap_options_parse(argc, argv, &usage, false, &status);

    if (operands < 0)
        return status;
    if (operands > 0 || fd > INT_MAX || pid == 0 || pid > INT_MAX || !recording.profile)
        return psnap_cmd_usage("collect", "wants --fd, --pid and -o");
    return collect(&recording, (int)fd, pid);
}
