/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * psnap diff: two profiles of a program, of another input, compiler or machine, or before and after
 * an edit: which loops are in both, and what is different about them, the most important first.
 */
#include <string.h>

#include "formats/base/cmd.h"
#include "profile/diff/cmd_diff.h"
#include "replay/cmd_input.h"

static int diff(const struct diff_request *request, bool as_json, bool *is_same)
{
    struct psnap_error error;
    struct psnap_profile *a = psnap_input_read_profile(request->a, &error);
    struct psnap_profile *b = a ? psnap_input_read_profile(request->b, &error) : NULL;
    struct profile_diff result;
    int status = PSNAP_EXIT_FAILED;

    if (b && !profile_diff_init(&result, a, b, &error)) {
        if (as_json)
            diff_print_json(&result, request);
        else
            diff_print_text(&result, request);
        *is_same = result.is_same;
        profile_diff_release(&result);
        status = psnap_cmd_close_stdout("diff", PSNAP_EXIT_DONE);
    } else
        psnap_cmd_fail("diff", &error);
    psnap_profile_free(a);
    psnap_profile_free(b);
    return status;
}

int psnap_cmd_diff(int argc, char **argv)
{
    struct diff_request request = {.top = 20};
    bool as_json = false, tells = false, is_same = true;
    const struct psnap_option options[] = {
        {PSNAP_OPTION_U64, 0, "top", &request.top, "N", "so many of the loops that differ; 20"},
        {PSNAP_OPTION_FLAG, 0, "json", &as_json, NULL, "for programs"},
        {PSNAP_OPTION_FLAG, 0, "exit-code", &tells, NULL,
         "exit status 1 when the profiles differ, 2 when one cannot be read, as diff(1)"},
        {.type = PSNAP_OPTION_END},
    };
    const struct psnap_usage usage = {
        "psnap diff A.yaml B.yaml [--top N] [--json] [--exit-code]",
        "Says what is different in B: loops that only one has, accesses, working sets,\n"
        "strides, reuse, sizes, the mix of loads and stores, executions, operations, rules and\n"
        "nests of references and trip counts, the most important first, then where schedules\n"
        "and chains differ. Loops are those of the source, with all their parts; one that\n"
        "has moved to another line, or has another name, is found by its place among the\n"
        "others and by what it touches, and that is said.",
        options};
    int status;
    const int operands = psnap_options_parse(argc, argv, &usage, false, &status);

    if (operands < 0)
        return status;
    if (operands != 2)
        return psnap_cmd_usage("diff", "two profiles are needed, not %d", operands);
    request.a = argv[1];
    request.b = argv[2];
    if (!strcmp(request.a, "-") && !strcmp(request.b, "-"))
        return psnap_cmd_usage("diff", "only one side can be standard input");
    status = diff(&request, as_json, &is_same);
    if (tells && status == PSNAP_EXIT_FAILED)
        return PSNAP_EXIT_USAGE; /* "trouble" */
    return tells && !status && !is_same ? PSNAP_EXIT_FAILED : status;
}
