/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * psnap replay: a profile's synthetic stream to a file in any format that can
 * be written.
 */
#include <string.h>

#include "formats/base/cmd.h"
#include "formats/base/output.h"
#include "formats/formats.h"
#include "replay/cmd_export.h"
#include "replay/cmd_input.h"

struct request {
    const char *profile, *output, *format;
    struct psnap_export_wish wish;
    struct psnap_export export;
    struct psnap_input_options options;
    bool force;
};

/* Says on stderr what was written, and with which settings. */
static void report(const struct request *request, const char *format, uint64_t count)
{
    char digits[32];

    psnap_print(stderr, "psnap replay: %s accesses", psnap_group_digits(count, digits));
    if (request->options.skip)
        psnap_print(stderr, " after the first %s",
                    psnap_group_digits(request->options.skip, digits));
    psnap_print(stderr, " of '%s' with seed %s", request->profile,
                psnap_group_digits(request->options.seed, digits));
    psnap_print(stderr, " to '%s' as %s\n", request->output, format);
    psnap_export_report(&request->export);
}

static int replay(struct request *request, const char *format)
{
    struct psnap_error error;
    struct psnap_export *export = &request->export;
    struct psnap_source *source = NULL;
    struct psnap_output *output = NULL;
    uint64_t count = 0;
    enum psnap_status status = PSNAP_ERROR_IO;

    if (!psnap_export_init(export, "replay", format, request->output, &request->wish, &error))
        source = psnap_input_open(request->profile, &request->options, &error);
    if (source)
        output = psnap_output_open(request->output, request->force, &error);
    if (output && !psnap_export_open(export, psnap_compression_of_path(request->output),
                                     psnap_output_file(output), source->program, &error)) {
        status = psnap_pump(source, export->sink, &count, &error);
        status = psnap_export_close(export, status, &error);
        if (status == PSNAP_ERROR_IO && !error.file[0])
            psnap_error_at(&error, request->output, 0, 0);
    }
    psnap_source_free(source);
    if (status == PSNAP_OK)
        status = psnap_output_commit(output, &error);
    else
        psnap_output_abandon(output);
    if (status != PSNAP_OK)
        return psnap_cmd_fail("replay", &error);
    report(request, format, count);
    return PSNAP_EXIT_DONE;
}

int psnap_cmd_replay(int argc, char **argv)
{
    struct request request = {.output = "-", .options = PSNAP_INPUT_DEFAULTS};
    const struct psnap_option options[] = {
        {PSNAP_OPTION_TEXT, 'o', "output", &request.output, "FILE", "where to; else stdout"},
        {PSNAP_OPTION_TEXT, 'f', "format", &request.format, "FORMAT",
         "of the output; else FILE's suffix says, or pst"},
        PSNAP_EXPORT_OPTIONS(request.wish),
        {PSNAP_OPTION_U64, 0, "seed", &request.options.seed, "N",
         "of what is random; 0 unless said"},
        {PSNAP_OPTION_COUNT, 0, "skip", &request.options.skip, "N",
         "leave out the first N accesses"},
        {PSNAP_OPTION_COUNT, 0, "count", &request.options.count, "N", "write at most N accesses"},
        {PSNAP_OPTION_FLAG, 0, "force", &request.force, NULL, "overwrite FILE"},
        {.type = PSNAP_OPTION_END},
    };
    const struct psnap_usage usage = {
        "psnap replay P.yaml [-f FORMAT] [-m MACHINE] [-o FILE] [--seed N] [--skip N] [--count N]",
        "Writes the synthetic address stream of a profile. The same profile and seed\n"
        "give the same stream. 'psnap formats' lists the formats.",
        options};
    const char *format;
    int status;
    const int operands = psnap_options_parse(argc, argv, &usage, false, &status);

    if (operands < 0)
        return status;
    if (operands != 1)
        return psnap_cmd_usage("replay", "one profile, please");
    request.profile = argv[1];
    request.options.from = "profile";
    format = psnap_output_format(request.output, request.format);
    if (!psnap_format_find(format) || !psnap_format_find(format)->writable)
        return psnap_cmd_usage("replay", "'%s' is no format that can be written", format);
    if (!psnap_output_spares_terminal(request.output, format))
        return psnap_cmd_usage("replay", "%s is binary: give -o FILE, or redirect", format);
    return replay(&request, format);
}
