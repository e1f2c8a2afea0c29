/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The way out of convert, replay and run. Simulators of memories get what misses the caches of a
 * machine, and its write-backs: PSNAP_EXPORT_MACHINE's, unless -m names another one or "none". With
 * -m any other format gets that, too. Formats of physical addresses get the compact layout, behind
 * the caches. What was assumed and filtered is said on stderr.
 */
#include "replay/cmd_export.h"

#include <inttypes.h>
#include <string.h>

#include "formats/base/cmd.h"
#include "formats/formats.h"

enum psnap_status psnap_export_init(struct psnap_export *export, const char *command,
                                    const char *format, const char *path,
                                    const struct psnap_export_wish *wish, struct psnap_error *error)
{
    const struct psnap_format *found = psnap_format_find(format);
    const char *machine = wish->machine, *layout = wish->layout;

    *export = (struct psnap_export){.command = command, .format = format};
    export->is_compact =
        layout ? !strcmp(layout, "compact") : wish->base || (found && found->is_physical);
    export->compact.base = wish->base;
    if (layout && !export->is_compact && strcmp(layout, "program") != 0)
        return psnap_error_set(error, PSNAP_ERROR_USAGE,
                               "no layout '%s'; there are: compact, program", layout);
    if (wish->base && !export->is_compact)
        return psnap_error_set(error, PSNAP_ERROR_USAGE,
                               "--base is of the compact layout, not of the program's");
    if (found && psnap_format_check_path(found, path, error))
        return error->code;
    export->is_default = !machine && found && found->is_memory_side;
    if (export->is_default)
        machine = PSNAP_EXPORT_MACHINE;
    if (!machine || !strcmp(machine, "none"))
        return PSNAP_OK;
    export->is_filtered = true;
    return psnap_machine_find(machine, &export->machine, error);
}

enum psnap_status psnap_export_open(struct psnap_export *export, const char *compression,
                                    FILE *file, struct psnap_program *program,
                                    struct psnap_error *error)
{
    const uint64_t *clock = export->is_filtered ? &export->side.accesses : NULL;

    if (compression) {
        export->compressor = psnap_compressor_new(file, compression, error);
        if (!export->compressor)
            return error->code;
        file = psnap_compressor_file(export->compressor);
    }
    export->sink = export->writer =
        psnap_trace_writer_new_timed(export->format, clock, file, program, error);
    if (export->writer && export->is_compact && !psnap_sink_place(export->writer, &export->compact))
        export->sink = export->placed = psnap_compact_new(export->writer, &export->compact, error);
    if (export->sink && export->is_filtered)
        export->sink = psnap_memory_side_new(&export->machine, export->sink, &export->side, error);
    return export->sink ? PSNAP_OK : psnap_export_close(export, error->code, error);
}

enum psnap_status psnap_export_close(struct psnap_export *export, enum psnap_status status,
                                     struct psnap_error *error)
{
    enum psnap_status end;

    if (export->sink)
        export->left_out = psnap_sink_left_out(export->writer);
    if (export->sink != export->writer && export->sink != export->placed)
        psnap_sink_free(export->sink);
    export->is_by_page = export->placed;
    psnap_sink_free(export->placed);
    psnap_sink_free(export->writer);
    export->sink = export->placed = export->writer = NULL;
    end = psnap_compressor_end(export->compressor, !status, error);
    export->compressor = NULL;
    return status ? status : end;
}

void psnap_export_report(const struct psnap_export *export)
{
    const struct psnap_format *format = psnap_format_find(export->format);
    const struct psnap_memory_side *side = &export->side;
    char reads[32], writes[32], left_out[32];

    if (export->is_filtered)
        psnap_print(stderr,
                    "psnap %s: %s gets what misses the last level of %s%s, and its write-backs: "
                    "%s line%s read, %s line%s written back\n",
                    export->command, format->name, export->machine.name,
                    export->is_default ? " (-m MACHINE takes another, -m none all accesses)" : "",
                    psnap_group_digits(side->reads, reads), psnap_plural(side->reads),
                    psnap_group_digits(side->writes, writes), psnap_plural(side->writes));
    else if (format->is_memory_side)
        psnap_print(stderr, "psnap %s: %s gets all accesses, as a processor makes them (-m none)\n",
                    export->command, format->name);
    if (export->compact.page_bytes)
        psnap_print(stderr,
                    "psnap %s: %s gets addresses of a memory, pages of %" PRIu64
                    " MiB one behind the other%s, from 0x%" PRIx64 " to 0x%" PRIx64 "%s\n",
                    export->command, format->name, export->compact.page_bytes >> 20,
                    export->is_by_page ? " in the order of their first use" : "",
                    export->compact.base,
                    export->compact.base + export->compact.pages * export->compact.page_bytes,
                    format->is_physical ? " (--layout program keeps the program's)" : "");
    if (format->loses[0])
        psnap_print(stderr, "psnap %s: %s does not keep: %s\n", export->command, format->name,
                    format->loses);
    if (export->left_out)
        psnap_print(stderr, "psnap %s: %s leaves out %s access%s; 'psnap formats %s' says which\n",
                    export->command, format->name, psnap_group_digits(export->left_out, left_out),
                    export->left_out == 1 ? "" : "es", format->name);
}
