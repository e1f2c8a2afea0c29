/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * psnap compare: an observed stream and a synthetic one through the same caches, how far their hit
 * rates are apart, and whether that is within the limits that were given. compare.c has the
 * definitions; cmd_compare_table.c and cmd_compare_json.c print what is found.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/cmd.h"
#include "simcore/cmd_compare.h"
#include "simcore/cmd_side.h"

struct settings {
    struct psnap_input_options observed, synthetic;
    double max_error, max_mean; /* points; NaN: no limit */
    bool json, all;
};

/* `profile` may be NULL. */
static enum psnap_status check_claim(struct psnap_profile *profile, const struct compare *compare,
                                     uint64_t seed, uint64_t count, struct compare_claim *claim,
                                     struct psnap_error *error)
{
    struct psnap_certificate *found;
    enum psnap_status status;
    int holds;

    if (!profile || !profile->certificate || count != UINT64_MAX) /* of all accesses */
        return PSNAP_OK;
    holds = psnap_certificate_holds(profile, error);
    status = holds < 0 ? (enum psnap_status)holds
                       : certificate_of(compare, profile, seed, &found, error);
    if (status)
        return status;
    *claim = (struct compare_claim){profile->certificate, holds != 0,
                                    certificate_check(profile->certificate, found)};
    return PSNAP_OK;
}

/* Rows are ordered by their error: the first relevant one has the largest. */
static bool within_limits(const struct compare *compare, const struct settings *settings)
{
    const struct compare_row *worst = compare->rows;

    while (!worst->relevant) /* totals are relevant */
        worst++;
    if (!isnan(settings->max_error) && !(worst->worst_points <= settings->max_error)) {
        psnap_print(stderr, "psnap compare: %s %s on %s is %.3f points apart, more than %g\n",
                    psnap_scope_name(worst->scope), worst->id,
                    compare->machines[worst->machine].name, worst->worst_points,
                    settings->max_error);
        return false;
    }
    if (!isnan(settings->max_mean) && !compare->relevant_loops) {
        fprintf(stderr,
                "psnap compare: no loop is relevant, so there is no mean error to be at "
                "most %g points\n",
                settings->max_mean);
        return false;
    }
    for (uint32_t i = 0; i < COMPARE_LEVELS && !isnan(settings->max_mean); i++) {
        char name[16];
        if (!compare_has(compare, i) || compare->mean_points[i] <= settings->max_mean)
            continue;
        if (i < COMPARE_TLB)
            snprintf(name, sizeof name, "level %" PRIu32, i + 1);
        else
            snprintf(name, sizeof name, "the %s", scope_tlb_name(i - COMPARE_TLB));
        psnap_print(stderr, "psnap compare: the mean error at %s is %.3f points, more than %g\n",
                    name, compare->mean_points[i], settings->max_mean);
        return false;
    }
    return true;
}

static int compare_sides(struct compare_side *observed, struct compare_side *synthetic,
                         const struct settings *settings, const struct psnap_machine *machines,
                         size_t n)
{
    struct psnap_input_options options[2] = {settings->observed, settings->synthetic};
    struct psnap_profile *first = NULL, *profile = NULL;
    struct psnap_error error;
    struct compare compare = {0};
    struct compare_claim claim = {.certificate = NULL};
    int status = PSNAP_EXIT_DONE;

    options[0].kept = &first;
    options[1].kept = &profile;
    if (side_run_input(observed, &options[0], machines, n, &error) ||
        side_run_input(synthetic, &options[1], machines, n, &error) ||
        compare_init(&compare, machines, n, observed, synthetic, &error) ||
        check_claim(profile, &compare, options[1].seed, options[1].count, &claim, &error)) {
        status = psnap_cmd_fail("compare", &error);
        goto out;
    }
    if (settings->json)
        compare_print_json(&compare, observed, synthetic, &claim, settings->all);
    else
        compare_print_tables(&compare, observed, synthetic, &claim, first && profile,
                             settings->all);
    fflush(stdout);
    if (!within_limits(&compare, settings))
        status = PSNAP_EXIT_FAILED;
    status = psnap_cmd_close_stdout("compare", status);
out:
    compare_release(&compare);
    psnap_profile_free(first);
    psnap_profile_free(profile);
    return status;
}

static int run(char *const *paths, const struct settings *settings,
               const struct psnap_text_list *machine_list)
{
    size_t n;
    struct compare_side observed = {.path = paths[0]}, synthetic = {.path = paths[1]};
    struct psnap_error error;
    struct psnap_machine *machines;
    int status;

    if (!strcmp(paths[0], "-") && !strcmp(paths[1], "-"))
        return psnap_cmd_usage("compare", "only one side can be standard input");
    machines = side_machines(machine_list, &n, &error);
    if (!machines)
        return psnap_cmd_fail("compare", &error);
    status = compare_sides(&observed, &synthetic, settings, machines, n);
    side_release(&observed);
    side_release(&synthetic);
    free(machines);
    return status;
}

int psnap_cmd_compare(int argc, char **argv)
{
    struct settings settings = {PSNAP_INPUT_DEFAULTS, PSNAP_INPUT_DEFAULTS, NAN, NAN, false, false};
    struct psnap_text_list machines = {0};
    uint64_t seed = 0;
    const struct psnap_option options[] = {
        {PSNAP_OPTION_LIST, 'm', "machine", &machines, "MACHINE",
         "may be repeated (the ten structures table1-1 to table1-10)"},
        {PSNAP_OPTION_TEXT, 0, "interleave", &settings.observed.interleave, "WAY",
         "round-robin: threads in turn, access by access (else in the input's order)"},
        {PSNAP_OPTION_FLAG, 0, "json", &settings.json, NULL, "print JSON"},
        {PSNAP_OPTION_FLAG, 0, "all", &settings.all, NULL,
         "show every loop, also those with less than 0.5 % of the accesses"},
        {PSNAP_OPTION_REAL, 0, "max-error", &settings.max_error, "POINTS",
         "exit 1 when the error of a relevant loop or of the total is larger"},
        {PSNAP_OPTION_REAL, 0, "max-mean", &settings.max_mean, "POINTS",
         "exit 1 when the mean error at some level is larger"},
        {PSNAP_OPTION_U64, 0, "seed", &seed, "N", "of a profile's replay (0)"},
        {PSNAP_OPTION_COUNT, 0, "count", &settings.synthetic.count, "N",
         "stop after N accesses of each"},
        {PSNAP_OPTION_TEXT, 0, "from-observed", &settings.observed.from, "FORMAT",
         "the observed input's format (recognised)"},
        {PSNAP_OPTION_TEXT, 0, "from-synthetic", &settings.synthetic.from, "FORMAT",
         "the synthetic input's format (recognised)"},
        {PSNAP_OPTION_END, 0, NULL, NULL, NULL, NULL},
    };
    const struct psnap_usage usage = {
        "psnap compare OBSERVED SYNTHETIC [-m MACHINE ...] [--max-error POINTS] [--json]",
        "Runs both streams (each a trace, a profile, or one of them - for standard\n"
        "input) through the caches of each MACHINE and prints how far their\n"
        "cumulative hit rates are apart, per loop and in total, in points (percent).\n"
        "Loops are matched by their place in the source; a loop with at least 0.5 %\n"
        "of the accesses that only one side has counts as 100 points. Of two profiles\n"
        "neither is the truth: they are a and b, and what is between them a difference.",
        options};
    int status;
    const int operands = psnap_options_parse(argc, argv, &usage, false, &status);

    settings.observed.seed = settings.synthetic.seed = seed;
    settings.observed.count = settings.synthetic.count;
    settings.synthetic.interleave = settings.observed.interleave;
    if (operands >= 0 && (settings.max_error < 0 || settings.max_mean < 0))
        status = psnap_cmd_usage("compare", "--max-%s: points of error are not negative",
                                 settings.max_error < 0 ? "error" : "mean");
    else if (operands == 2)
        status = run(argv + 1, &settings, &machines);
    else if (operands >= 0)
        status = psnap_cmd_usage("compare", "two inputs are needed, not %d", operands);
    psnap_text_list_release(&machines);
    return status;
}
