/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * psnap check: reads profiles with all the checks that reading makes, and says
 * for each whether it is sound, or where it is not.
 */
#include <string.h>

#include "formats/base/cmd.h"
#include "profile/profile.h"
#include "replay/cmd_input.h"

/* Prints the verdict; whether it was good. */
static bool check(const char *path)
{
    const bool is_stdin = !strcmp(path, "-");
    const char *name = is_stdin ? "stdin" : path;
    struct psnap_profile_totals totals;
    struct psnap_error error;
    struct psnap_profile *profile = psnap_input_read_profile(path, &error);
    char text[1024], digits[32];
    bool good;

    if (profile) {
        psnap_profile_totals(profile, &totals);
        printf("%s: ok: model %s, %u loops, %s accesses\n", name, profile->model,
               (unsigned)profile->loop_count, psnap_group_digits(totals.accesses, digits));
    } else {
        printf("%s\n", psnap_error_format(&error, text, sizeof text));
    }
    good = profile != NULL;
    psnap_profile_free(profile);
    return good;
}

int psnap_cmd_check(int argc, char **argv)
{
    static const struct psnap_option options[] = {{.type = PSNAP_OPTION_END}};
    const struct psnap_usage usage = {
        "psnap check P.yaml...",
        "Checks profiles: form, ranges, and that no two fields contradict each other.\n"
        "Prints 'ok' or the first error of each, with its place. Exit status 1 when one\n"
        "is wrong.",
        options};
    int status;
    const int operands = psnap_options_parse(argc, argv, &usage, false, &status);
    bool good = true;

    if (operands < 0)
        return status;
    if (operands == 0)
        return psnap_cmd_usage("check", "which profile?");
    for (int i = 1; i <= operands; i++)
        good = check(argv[i]) && good;
    return psnap_cmd_close_stdout("check", good ? PSNAP_EXIT_DONE : PSNAP_EXIT_FAILED);
}
