/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * psnap show: a profile for people. The program and the totals, the hottest
 * loops with their share of the accesses, their working set and the strides
 * that dominate; of a profile of model nests its irregular references and the beginning of its
 * schedule; with --loop one loop's regions, bodies and references. --json is the file as JSON.
 */
#include <stdio.h>
#include <stdlib.h>

#include "formats/base/cmd.h"
#include "profile/cmd_show.h"
#include "profile/profile.h"
#include "replay/cmd_input.h"

struct request {
    const char *path, *loop;
    uint64_t top;
    bool json, schedule;
};

static int out_of_memory(void)
{
    fprintf(stderr, "psnap show: out of memory\n");
    return PSNAP_EXIT_FAILED;
}

static int no_such_loop(const struct request *request, const struct psnap_profile *profile)
{
    const char *nearest = psnap_profile_nearest_loop(profile, request->loop);
    struct psnap_error error;

    psnap_error_set(&error, PSNAP_ERROR_VALUE, "there is no loop '%.200s' in '%.200s'%s%.100s%s",
                    request->loop, request->path, nearest ? "; did you mean '" : "",
                    nearest ? nearest : "", nearest ? "'?" : "");
    return psnap_cmd_fail("show", &error);
}

/* Prints tables of the `top` hottest loops, or of those asked for. False: out of memory. */
static bool show_tables(const struct request *request, const struct psnap_profile *profile,
                        struct show_summary *summaries, uint32_t count)
{
    const uint64_t top = request->top < UINT32_MAX ? request->top : UINT32_MAX;
    struct psnap_profile_totals totals;

    psnap_profile_totals(profile, &totals);
    show_sort(summaries, count);
    if (request->loop)
        return show_print_loops(profile, &totals, summaries, count);
    if (request->schedule)
        return show_print_schedule(profile, SHOW_ALL_LINES);
    return show_print_table(profile, &totals, summaries, count < top ? count : (uint32_t)top,
                            2 * top);
}

static int show(const struct request *request, const struct psnap_profile *profile)
{
    struct show_summary *summaries = show_summarise(profile);
    uint32_t count = profile->loop_count;
    int status = PSNAP_EXIT_DONE;
    bool is_done = true;

    if (!summaries)
        return out_of_memory();
    if (request->loop)
        count = show_choose(profile, request->loop, summaries);
    if (request->loop && !count)
        status = no_such_loop(request, profile);
    else if (request->json)
        is_done = show_print_json(profile, summaries, count);
    else
        is_done = show_tables(request, profile, summaries, count);
    free(summaries);
    return is_done ? status : out_of_memory();
}

int psnap_cmd_show(int argc, char **argv)
{
    struct request request = {.top = 20};
    const struct psnap_option options[] = {
        {PSNAP_OPTION_TEXT, 0, "loop", &request.loop, "ID",
         "one loop, with its regions, bodies and references; all its parts"},
        {PSNAP_OPTION_U64, 0, "top", &request.top, "N",
         "so many of the hottest loops, and twice as many lines of the schedule; 20"},
        {PSNAP_OPTION_FLAG, 0, "schedule", &request.schedule, NULL,
         "only the schedule, in full: executions of loop bodies as nested repeats, and what comes\n"
         "after what in chains; (+1) behind a number: it grows by 1 with each repeat around"},
        {PSNAP_OPTION_FLAG, 0, "json", &request.json, NULL,
         "the profile's file as JSON, all of its loops or those of --loop"},
        {.type = PSNAP_OPTION_END},
    };
    const struct psnap_usage usage = {
        "psnap show P.yaml [--loop ID | --schedule] [--top N] [--json]",
        "Shows a profile: program, totals, its hottest loops with their share of the accesses,\n"
        "working set (the extents of all regions together: lowest to highest address of each) and\n"
        "dominating strides, how soon irregular references come back to their lines, and the\n"
        "schedule. 'load a +8' goes through region a\n"
        "8 bytes at a time, 'load @3 +8' goes 8 bytes behind the latest address of reference 3,\n"
        "'load ~h' is irregular in the data object h.",
        options};
    struct psnap_profile *profile = NULL;
    struct psnap_error error;
    int status;
    const int operands = psnap_options_parse(argc, argv, &usage, false, &status);

    if (operands < 0)
        return status;
    if (operands != 1)
        return psnap_cmd_usage("show", "one profile, please");
    if (request.schedule && request.loop)
        return psnap_cmd_usage("show", "--schedule is of all loops, --loop of one");
    request.path = argv[1];
    profile = psnap_input_read_profile(request.path, &error);
    if (!profile)
        return psnap_cmd_fail("show", &error);
    if (request.schedule && !profile->stream) {
        psnap_print(
            stderr,
            "psnap show: '%s' is of model %s, whose schedule is a list of loops: --schedule is for "
            "model nests\n",
            request.path, profile->model);
        psnap_profile_free(profile);
        return PSNAP_EXIT_FAILED;
    }
    status = show(&request, profile);
    psnap_profile_free(profile);
    return psnap_cmd_close_stdout("show", status);
}
