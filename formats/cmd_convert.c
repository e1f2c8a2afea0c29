/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * psnap convert: any input's stream to a file in any format that can be
 * written. The output appears whole or not at all; what the format cannot
 * keep is said on stderr.
 */
#include <string.h>

#include "formats/base/cmd.h"
#include "formats/base/output.h"
#include "formats/formats.h"
#include "replay/cmd_export.h"
#include "replay/cmd_input.h"

struct conversion {
    const char *input, *output, *format;
    struct psnap_export_wish wish;
    struct psnap_export export;
    struct psnap_input_options options;
    bool force;
};

/* Says what was done with which settings, and what is lost. */
static void report(const struct conversion *conversion, uint64_t count, int64_t bytes)
{
    const struct psnap_format *format = psnap_format_find(conversion->format);
    char digits[32];

    psnap_print(stderr, "psnap convert: %s accesses", psnap_group_digits(count, digits));
    if (conversion->options.skip)
        psnap_print(stderr, " after the first %s",
                    psnap_group_digits(conversion->options.skip, digits));
    psnap_print(stderr, " from '%s' to '%s' as %s", conversion->input, conversion->output,
                format->name);
    if (bytes >= 0)
        psnap_print(stderr, ", %s bytes", psnap_group_digits((uint64_t)bytes, digits));
    fputc('\n', stderr);
    psnap_export_report(&conversion->export);
}

static int convert(struct conversion *conversion)
{
    struct psnap_error error;
    struct psnap_output *output = NULL;
    struct psnap_export *export = &conversion->export;
    uint64_t count = 0;
    int64_t bytes = -1;
    enum psnap_status status = PSNAP_ERROR_IO;
    struct psnap_source *source = NULL;

    if (!psnap_export_init(export, "convert", conversion->format, conversion->output,
                           &conversion->wish, &error))
        source = psnap_input_open(conversion->input, &conversion->options, &error);
    if (source)
        output = psnap_output_open(conversion->output, conversion->force, &error);
    if (output && !psnap_export_open(export, psnap_compression_of_path(conversion->output),
                                     psnap_output_file(output), source->program, &error)) {
        status = psnap_pump(source, export->sink, &count, &error);
        status = psnap_export_close(export, status, &error);
        if (status != PSNAP_OK && !error.file[0]) /* not the input's */
            psnap_error_at(&error, conversion->output, 0, 0);
    }
    psnap_source_free(source);
    if (status == PSNAP_OK) {
        bytes = strcmp(conversion->output, "-") != 0 ? ftello(psnap_output_file(output)) : -1;
        status = psnap_output_commit(output, &error);
    } else {
        psnap_output_abandon(output);
    }
    if (status != PSNAP_OK)
        return psnap_cmd_fail("convert", &error);
    report(conversion, count, bytes);
    return PSNAP_EXIT_DONE;
}

int psnap_cmd_convert(int argc, char **argv)
{
    struct conversion conversion = {.options = PSNAP_INPUT_DEFAULTS};
    const struct psnap_option options[] = {
        {PSNAP_OPTION_TEXT, 'o', "output", &conversion.output, "FILE", "where to ('-': stdout)"},
        {PSNAP_OPTION_TEXT, 'f', "format", &conversion.format, "FORMAT",
         "to which format; else FILE's suffix says, or pst"},
        PSNAP_EXPORT_OPTIONS(conversion.wish),
        {PSNAP_OPTION_TEXT, 0, "from", &conversion.options.from, "FORMAT",
         "of the input; else it is recognised"},
        {PSNAP_OPTION_U64, 0, "seed", &conversion.options.seed, "N",
         "when the input is a profile, of its replay; 0"},
        {PSNAP_OPTION_COUNT, 0, "skip", &conversion.options.skip, "N",
         "leave out the first N accesses"},
        {PSNAP_OPTION_COUNT, 0, "count", &conversion.options.count, "N", "take at most N accesses"},
        {PSNAP_OPTION_FLAG, 0, "force", &conversion.force, NULL, "overwrite FILE"},
        {.type = PSNAP_OPTION_END},
    };
    const struct psnap_usage usage = {
        "psnap convert IN -o OUT [-f FORMAT] [-m MACHINE] [--from FORMAT] [--skip N] [--count N]",
        "Writes the accesses of IN, a trace, a profile (which is replayed) or '-', to\n"
        "OUT in another format, compressed when its name ends in .gz, .xz, .zst or .bz2.\n"
        "'psnap formats' lists the formats. Compressed traces are read.",
        options};
    int status;
    const int operands = psnap_options_parse(argc, argv, &usage, false, &status);

    if (operands < 0)
        return status;
    if (operands != 1 || !conversion.output)
        return psnap_cmd_usage("convert", operands != 1 ? "one input, please" : "-o is missing");
    conversion.input = argv[1];
    conversion.format = psnap_output_format(conversion.output, conversion.format);
    if (!psnap_output_spares_terminal(conversion.output, conversion.format))
        return psnap_cmd_usage("convert", "%s is binary: give -o FILE, or redirect",
                               conversion.format);
    return convert(&conversion);
}
