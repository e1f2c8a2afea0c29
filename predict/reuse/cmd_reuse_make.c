/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * psnap reuse INPUT --part K/N: where the part begins, its measure, and what its rows are called.
 *
 * The accesses of the window that --skip and --count leave are counted first: a .pst and a profile
 * say how many there are, other traces are read once more for that. Part K has those from
 * (K - 1) * accesses / N on, up to K * accesses / N.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/cmd.h"
#include "formats/base/output.h"
#include "formats/formats.h"
#include "predict/reuse/cmd_reuse.h"
#include "predict/reuse/cmd_reuse_part.h"
#include "predict/reuse/reuse.h"
#include "profile/profile.h"

/* ------------------------------------------------------------------------ where */

/* Of a trace that was cut off, its whole chunks. */
static enum psnap_status count_trace(FILE *file, const struct reuse_settings *settings,
                                     uint64_t *accesses, struct psnap_error *error)
{
    struct psnap_source *trace =
        psnap_trace_open_file(file, settings->path, settings->input.from, error);
    enum psnap_status status =
        trace ? psnap_trace_skip(trace, UINT64_MAX, accesses, error) : error->code;

    psnap_source_free(trace);
    if (trace && status == PSNAP_ERROR_TRUNCATED) {
        psnap_cmd_warn(error);
        status = PSNAP_OK;
    }
    return status;
}

static enum psnap_status count_profile(const char *path, uint64_t *accesses,
                                       struct psnap_error *error)
{
    struct psnap_profile *profile = psnap_input_read_profile(path, error);
    struct psnap_profile_totals totals;

    if (!profile)
        return error->code;
    psnap_profile_totals(profile, &totals);
    *accesses = totals.accesses;
    psnap_profile_free(profile);
    return PSNAP_OK;
}

static enum psnap_status count(const struct reuse_settings *settings, uint64_t *accesses,
                               struct psnap_error *error)
{
    const char *from = settings->input.from;
    FILE *file = psnap_input_file(settings->path, error);

    if (!file)
        return error->code;
    if (from ? strcmp(from, "profile") != 0 : !psnap_input_is_profile(file))
        return count_trace(file, settings, accesses, error);
    fclose(file);
    return count_profile(settings->path, accesses, error);
}

static uint64_t cut(uint64_t accesses, uint64_t part, uint64_t parts)
{
    const uint64_t each = accesses / parts, more = accesses % parts; /* parts are 2^20 at most */

    return part * each + part * more / parts;
}

/* All facts but what the measure says. */
static enum psnap_status find_facts(const struct reuse_settings *settings, struct part_facts *facts,
                                    struct psnap_error *error)
{
    const struct psnap_input_options *input = &settings->input;
    uint64_t accesses;
    enum psnap_status status = content_id(settings->path, &facts->id, &facts->bytes, error);

    facts->part = settings->part;
    facts->parts = settings->parts;
    facts->seed = input->seed;
    facts->skip = input->skip;
    facts->count = input->count;
    facts->line_bytes = settings->reuse.line_bytes;
    for (int i = 0; i < PSNAP_SCOPE_COUNT; i++)
        facts->scopes |= (uint64_t)settings->wanted[i] << i;
    facts->path = strdup(settings->path);
    facts->from = strdup(input->from ? input->from : "");
    if (!status && (!facts->path || !facts->from))
        status = psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    if (!status)
        status = count(settings, &accesses, error);
    if (status)
        return status;
    accesses = accesses > input->skip ? accesses - input->skip : 0;
    facts->total = accesses < input->count ? accesses : input->count;
    facts->first = cut(facts->total, facts->part - 1, facts->parts);
    return PSNAP_OK;
}

/* ------------------------------------------------------------------------- what */

/* What the rows of a scope are called that the view has. */
static enum psnap_status name_rows(struct names *names, enum psnap_scope scope,
                                   const struct psnap_program *program,
                                   const struct psnap_touched *touched, uint32_t rows,
                                   struct psnap_error *error)
{
    struct psnap_grouping grouping;
    bool fits = psnap_grouping_init(&grouping, scope, program, rows, touched);

    for (uint32_t i = 0; i < rows && fits; i++) {
        char *id, *name;
        uint32_t row = PSNAP_NONE;
        if (psnap_grouping_name(&grouping, psnap_grouping_row(&grouping, i), &id, &name))
            row = names_add(names, id, name);
        fits = row != PSNAP_NONE && !names_map(names, i, row);
        free(id);
        free(name);
    }
    psnap_grouping_release(&grouping);
    return fits ? PSNAP_OK
                : psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for the part");
}

static enum psnap_status write_part(const struct reuse_settings *settings,
                                    const struct part_facts *facts,
                                    const struct names names[PSNAP_SCOPE_COUNT],
                                    const struct measure *measure, struct psnap_output *output,
                                    struct psnap_error *error)
{
    struct repo_bytes bytes = {0};
    enum psnap_status status = PSNAP_OK;
    uint8_t sum[PART_SUM];

    part_write(&bytes, facts, names, measure);
    if (!bytes.is_short) {
        repo_put_u64(sum, repo_sum_of(bytes.data, bytes.size));
        repo_bytes_add(&bytes, sum, sizeof sum);
    }
    if (bytes.is_short)
        status = psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for the part");
    else
        fwrite(bytes.data, 1, bytes.size, psnap_output_file(output)); /* checked at the commit */
    if (!status)
        psnap_print(stderr, "part %llu of %llu of '%s': %llu accesses, %zu bytes\n",
                    (unsigned long long)facts->part, (unsigned long long)facts->parts,
                    settings->path, (unsigned long long)facts->accesses, bytes.size);
    repo_bytes_release(&bytes);
    return status;
}

static enum psnap_status measure_part(const struct reuse_settings *settings,
                                      struct part_facts *facts, struct psnap_source *source,
                                      struct psnap_output *output, struct psnap_error *error)
{
    struct psnap_reuse_options options = settings->reuse;
    struct names names[PSNAP_SCOPE_COUNT] = {0};
    struct psnap_touched *touched;
    struct psnap_sink *sink = NULL;
    const double start = reuse_now();
    enum psnap_status status = reuse_tag(settings, source, &options, &touched, error);

    if (!status) {
        sink = reuse_new(source->program, &options, true, error);
        status = sink ? psnap_pump(source, sink, &facts->accesses, error) : error->code;
    }
    facts->nanoseconds = (uint64_t)(1e9 * (reuse_now() - start));
    for (int i = 0; i < PSNAP_SCOPE_COUNT && !status; i++) {
        const enum psnap_scope scope = (enum psnap_scope)i;
        if (settings->wanted[i])
            status = name_rows(&names[i], scope, source->program, touched,
                               psnap_reuse_rows(sink, psnap_scope_view(scope)), error);
    }
    if (!status)
        status = write_part(settings, facts, names, reuse_measure(sink), output, error);
    for (int i = 0; i < PSNAP_SCOPE_COUNT; i++)
        names_release(&names[i]);
    psnap_sink_free(sink);
    psnap_touched_free(touched);
    return status;
}

int reuse_make_part(const struct reuse_settings *settings)
{
    struct part_facts facts = {0};
    struct psnap_input_options window = settings->input;
    struct psnap_error error;
    struct psnap_output *output = psnap_output_open(settings->output, settings->force, &error);
    struct psnap_source *source = NULL;
    enum psnap_status status = output ? find_facts(settings, &facts, &error) : error.code;

    if (!status) {
        window.skip += facts.first;
        window.count = cut(facts.total, facts.part, facts.parts) - facts.first;
        source = psnap_input_open(settings->path, &window, &error);
        status = source ? measure_part(settings, &facts, source, output, &error) : error.code;
    }
    psnap_source_free(source);
    status = psnap_output_finish(output, status, &error);
    free(facts.path);
    free(facts.from);
    return status ? psnap_cmd_fail("reuse", &error) : PSNAP_EXIT_DONE;
}
