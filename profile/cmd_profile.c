/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * psnap profile: the profile of any input's stream. The stream is not kept:
 * what a profile needs is counted as it goes by.
 */
#include <string.h>

#include "formats/base/cmd.h"
#include "formats/base/output.h"
#include "profile/profile.h"
#include "replay/cmd_input.h"
#include "simcore/cmd_certify.h"

struct request {
    const char *input, *output, *model;
    struct psnap_input_options options;
    struct psnap_builder_options builder;
    struct psnap_text_list machines;
    uint64_t limit;
    bool force, certifies;
};

/* Moves the stream into the builder and, unless that is NULL, the certifier. */
static enum psnap_status pump(struct psnap_source *source, struct psnap_sink *builder,
                              struct psnap_sink *certifier, uint64_t *count,
                              struct psnap_error *error)
{
    struct psnap_sink *const both[] = {builder, certifier};
    struct psnap_sink *tee;
    enum psnap_status status;

    if (!certifier)
        return psnap_pump(source, builder, count, error);
    tee = psnap_tee_sink_new(both, 2);
    if (!tee)
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    status = psnap_pump(source, tee, count, error);
    psnap_sink_free(tee);
    return status;
}

/* The stream's profile, or NULL with `error` filled. */
static struct psnap_profile *build(const struct request *request, uint64_t *count,
                                   struct psnap_error *error)
{
    struct psnap_source *source = psnap_input_open(request->input, &request->options, error);
    struct psnap_sink *builder =
        source ? psnap_profile_builder_new(source->program, &request->builder, error) : NULL;
    struct psnap_sink *certifier = NULL;
    struct psnap_profile *profile = NULL;

    if (builder && request->certifies)
        certifier = psnap_certifier_new(&request->machines, source->program, error);
    if (builder && (certifier || !request->certifies) &&
        pump(source, builder, certifier, count, error) == PSNAP_OK)
        profile = psnap_profile_builder_take(builder, error);
    if (profile && certifier && psnap_certifier_certify(certifier, profile, NULL, error)) {
        psnap_profile_free(profile);
        profile = NULL;
    }
    psnap_sink_free(certifier);
    psnap_sink_free(builder);
    psnap_source_free(source);
    return profile;
}

static void say(const struct psnap_profile *built, const struct request *request, uint64_t count)
{
    struct psnap_profile_totals totals;
    char digits[32];

    psnap_profile_totals(built, &totals);
    psnap_print(stderr, "psnap profile: %s accesses in %u loop%s",
                psnap_group_digits(count, digits), (unsigned)built->loop_count,
                psnap_plural(built->loop_count));
    psnap_print(stderr, " of '%s' to '%s'\n", request->input, request->output);
}

static int profile(const struct request *request)
{
    struct psnap_error error;
    struct psnap_output *output = psnap_output_open(request->output, request->force, &error);
    uint64_t count = 0;
    struct psnap_profile *built = output ? build(request, &count, &error) : NULL;
    enum psnap_status status = built ? psnap_profile_seal(built, &error) : error.code;

    if (!status)
        status = psnap_profile_write(built, psnap_output_file(output), &error);
    if (built && status == PSNAP_ERROR_IO)
        psnap_error_at(&error, request->output, 0, 0);
    if (!status)
        status = psnap_output_commit(output, &error);
    else
        psnap_output_abandon(output);
    if (!status)
        say(built, request, count);
    psnap_profile_free(built);
    return status ? psnap_cmd_fail("profile", &error) : PSNAP_EXIT_DONE;
}

/* What was asked for, as the builder wants it; not 0, and says so, when it makes no sense. */
static int settle(struct request *request, int operands)
{
    struct psnap_error error;

    if (operands != 1 || !request->output)
        return psnap_cmd_usage("profile", operands != 1 ? "one input, please" : "-o is missing");
    if (request->builder.region_gap_bytes < 1 ||
        request->builder.region_gap_bytes > PSNAP_REGION_GAP_MAX)
        return psnap_cmd_usage("profile", "a gap is 1 to 2^40 bytes");
    if (request->limit < PSNAP_REGION_LIMIT_MIN || request->limit > PSNAP_REGION_LIMIT_MAX)
        return psnap_cmd_usage("profile", "--regions is %u to %u", PSNAP_REGION_LIMIT_MIN,
                               PSNAP_REGION_LIMIT_MAX);
    if (psnap_builder_choose_model(&request->builder, request->model, &error))
        return psnap_cmd_fail("profile", &error);
    request->builder.region_limit = (uint32_t)request->limit;
    if (request->machines.count && !request->certifies)
        return psnap_cmd_usage("profile", "-m is for --certify");
    if (request->certifies && psnap_certifier_check(&request->machines, &error))
        return psnap_cmd_fail("profile", &error);
    return 0;
}

int psnap_cmd_profile(int argc, char **argv)
{
    struct request request = {.options = PSNAP_INPUT_DEFAULTS,
                              .builder = {.region_gap_bytes = PSNAP_REGION_GAP_DEFAULT},
                              .limit = PSNAP_REGION_LIMIT_DEFAULT};
    const struct psnap_option options[] = {
        {PSNAP_OPTION_TEXT, 'o', "output", &request.output, "P.yaml", "where to ('-': stdout)"},
        {PSNAP_OPTION_TEXT, 0, "model", &request.model, "nests|psnap",
         "nests (default: loop nests, exact, and reuse histograms of what is irregular) or\n"
         "psnap (the published one: strides by region)"},
        {PSNAP_OPTION_SIZE, 0, "gap", &request.builder.region_gap_bytes, "BYTES",
         "how far from a region an access still joins it; 256"},
        {PSNAP_OPTION_U64, 0, "regions", &request.limit, "N",
         "regions of a loop before rarely used ones are merged; 128"},
        {PSNAP_OPTION_FLAG, 0, "certify", &request.certifies, NULL,
         "simulate caches as well: the profile says how far its replay is off"},
        {PSNAP_OPTION_LIST, 'm', "machine", &request.machines, "MACHINE",
         "to certify with; may be repeated (the ten structures table1-1 to table1-10)"},
        {PSNAP_OPTION_TEXT, 0, "from", &request.options.from, "FORMAT",
         "of the input; else it is recognised"},
        {PSNAP_OPTION_U64, 0, "seed", &request.options.seed, "N", "when the input is replayed"},
        {PSNAP_OPTION_COUNT, 0, "skip", &request.options.skip, "N",
         "leave out the first N accesses"},
        {PSNAP_OPTION_COUNT, 0, "count", &request.options.count, "N", "take at most N accesses"},
        {PSNAP_OPTION_FLAG, 0, "force", &request.force, NULL, "overwrite P.yaml"},
        {.type = PSNAP_OPTION_END},
    };
    const struct psnap_usage usage = {
        "psnap profile INPUT -o P.yaml [--model MODEL] [--from FORMAT]",
        "Writes the profile of INPUT's accesses: a trace in any format that can be\n"
        "read, a profile (which is replayed) or '-'.",
        options};
    int status;
    const int operands = psnap_options_parse(argc, argv, &usage, false, &status);

    if (operands >= 0)
        status = settle(&request, operands);
    request.input = argv[1];
    if (operands >= 0 && !status)
        status = profile(&request);
    psnap_text_list_release(&request.machines);
    return status;
}
