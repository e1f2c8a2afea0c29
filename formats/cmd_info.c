/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * psnap info: what a trace or a profile is, how much is in it and where it
 * comes from. A .pst is checked but not decoded; other traces are read
 * through, as nothing else tells how much they hold.
 *
 * JSON: {format, accesses, loops, regions, bytes, bytes_per_access, program},
 * and blocks, refs and objects for traces. A trace has no regions and a
 * profile no blocks: what does not apply is null. `bytes` is the input's size.
 * `cut_off` is true of a .pst that ends too early: the counts are those of its
 * whole chunks; `limited` of one that ends where --max-bytes ended it. `part`
 * says of which part of a run it is, with the keys of `psnap show --json`, null
 * when it is of all of it. A rank has `rank` and `ranks` in `program`.
 */
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "formats/base/cmd.h"
#include "formats/base/cmd_progress.h"
#include "formats/base/cmd_timing.h"
#include "formats/base/json.h"
#include "formats/formats.h"
#include "profile/profile.h"
#include "replay/cmd_input.h"

#define NOT_APPLICABLE UINT64_MAX

struct info {
    const char *format;
    uint64_t accesses, loops, blocks, refs, objects, regions;
    uint64_t bytes;
    bool was_cut;    /* what comes after the last whole chunk is missing */
    bool is_limited; /* by --max-bytes */
    const struct psnap_provenance *provenance;
    const struct psnap_sampling *part; /* of a run */
};

static double bytes_per_access(const struct info *info)
{
    if (info->bytes == NOT_APPLICABLE || info->accesses == 0)
        return NAN;
    return (double)info->bytes / (double)info->accesses;
}

/* Fields in the order in which they are printed: a count or a text, and its names. */
static const struct row {
    const char *label, *key;
    size_t at; /* in struct info, of counts, or struct psnap_provenance, of texts */
} counts[] = {{"accesses", "accesses", offsetof(struct info, accesses)},
              {"loops", "loops", offsetof(struct info, loops)},
              {"regions", "regions", offsetof(struct info, regions)},
              {"blocks", "blocks", offsetof(struct info, blocks)},
              {"references", "refs", offsetof(struct info, refs)},
              {"objects", "objects", offsetof(struct info, objects)},
              {"bytes", "bytes", offsetof(struct info, bytes)}},
  texts[] = {{"build id", "build_id", offsetof(struct psnap_provenance, build_id)},
             {"language", "source_language", offsetof(struct psnap_provenance, source_language)},
             {"compiler", "compiler", offsetof(struct psnap_provenance, compiler)},
             {"host", "host", offsetof(struct psnap_provenance, host)},
             {"recorded", "recorded", offsetof(struct psnap_provenance, recorded)},
             {"stage", "stage", offsetof(struct psnap_provenance, stage)}};

enum { COUNTS = sizeof counts / sizeof *counts, TEXTS = sizeof texts / sizeof *texts };

static uint64_t count_at(const struct info *info, const struct row *row)
{
    return *(const uint64_t *)((const char *)info + row->at);
}

static const char *text_at(const struct info *info, const struct row *row)
{
    return *(const char *const *)((const char *)info->provenance + row->at);
}

static void json_part(struct psnap_json *json, const struct psnap_sampling *part)
{
    if (!psnap_sampling_is_part(part)) {
        psnap_json_real(json, "part", NAN);
        return;
    }
    psnap_json_begin_object(json, "part");
    psnap_json_part(json, part);
    psnap_json_end_object(json);
}

static void print_json(const struct info *info)
{
    const struct psnap_provenance *provenance = info->provenance;
    struct psnap_json json;

    psnap_cmd_begin_json(&json, stdout, "info");
    psnap_json_text(&json, "format", info->format);
    for (size_t i = 0; i < COUNTS; i++)
        if (count_at(info, &counts[i]) == NOT_APPLICABLE)
            psnap_json_real(&json, counts[i].key, NAN);
        else
            psnap_json_u64(&json, counts[i].key, count_at(info, &counts[i]));
    psnap_json_real(&json, "bytes_per_access", bytes_per_access(info));
    psnap_json_bool(&json, "cut_off", info->was_cut);
    psnap_json_bool(&json, "limited", info->is_limited);
    json_part(&json, info->part);
    psnap_json_begin_object(&json, "program");
    psnap_json_text(&json, "name", provenance->name);
    psnap_json_begin_array(&json, "command");
    for (size_t i = 0; provenance->command && provenance->command[i]; i++)
        psnap_json_text(&json, NULL, provenance->command[i]);
    psnap_json_end_array(&json);
    for (size_t i = 0; i < TEXTS; i++)
        psnap_json_text(&json, texts[i].key, text_at(info, &texts[i]));
    if (provenance->has_rank)
        psnap_json_u64(&json, "rank", provenance->rank);
    if (provenance->has_rank && provenance->ranks)
        psnap_json_u64(&json, "ranks", provenance->ranks);
    psnap_json_end_object(&json);
    psnap_json_end_object(&json);
}

static void print_known(const char *what, const char *text)
{
    if (text && text[0])
        psnap_print(stdout, "%-16s %s\n", what, text);
}

static void print_text(const struct info *info)
{
    const struct psnap_provenance *provenance = info->provenance;
    char digits[32];

    print_known("format", info->format);
    for (size_t i = 0; i < COUNTS; i++)
        if (count_at(info, &counts[i]) != NOT_APPLICABLE)
            print_known(counts[i].label, psnap_group_digits(count_at(info, &counts[i]), digits));
    if (isfinite(bytes_per_access(info)))
        psnap_print(stdout, "%-16s %.6g\n", "bytes per access", bytes_per_access(info));
    print_known("cut off", info->was_cut ? "yes: what is whole is counted" : NULL);
    print_known("limited", info->is_limited
                               ? "yes: the program went on, the trace had its --max-bytes"
                               : NULL);
    psnap_print_part(info->part, 17);
    print_known("program", provenance->name);
    if (provenance->command) {
        psnap_print(stdout, "%-16s", "command");
        for (size_t i = 0; provenance->command[i]; i++)
            psnap_print(stdout, " %s", provenance->command[i]);
        putchar('\n');
    }
    for (size_t i = 0; i < TEXTS; i++)
        print_known(texts[i].label, text_at(info, &texts[i]));
    if (provenance->has_rank)
        psnap_print(stdout, "%-16s %" PRIu32, "rank", provenance->rank);
    if (provenance->has_rank && provenance->ranks)
        printf(" of %" PRIu32, provenance->ranks);
    if (provenance->has_rank)
        putchar('\n');
}

static int print_info(const struct info *info, bool json)
{
    if (json)
        print_json(info);
    else
        print_text(info);
    return psnap_cmd_close_stdout("info", PSNAP_EXIT_DONE);
}

/* Reads a trace to its end. What is skipped at once in a .pst is read in other formats, and has a
 * progress. */
static enum psnap_status count_accesses(struct psnap_source *source, FILE *file, uint64_t *accesses,
                                        struct psnap_error *error)
{
    const bool is_pst = !strcmp(psnap_trace_format(source)->name, "pst");
    const uint64_t step = is_pst ? UINT64_MAX : 1 << 18;
    struct psnap_progress *progress = is_pst ? NULL : psnap_progress_new(0, fileno(file));
    struct psnap_stream_time *time = psnap_timing_stream();
    enum psnap_status status;
    uint64_t skipped;

    if (time)
        time->begin = psnap_timing_now();
    do {
        skipped = 0;
        status = psnap_trace_skip(source, step, &skipped, error);
        *accesses += skipped;
        psnap_progress_add(progress, skipped);
    } while (!status && skipped == step);
    if (time) {
        time->end = psnap_timing_now();
        time->seconds = time->end - time->begin;
        time->accesses = *accesses;
    }
    psnap_progress_free(progress);
    return status;
}

/* Closes the file. */
static int info_trace(FILE *file, const char *name, const char *from, bool json)
{
    struct psnap_error error;
    struct info info = {.regions = NOT_APPLICABLE};
    struct psnap_source *source = psnap_trace_open_file(file, name, from, &error);
    const struct psnap_program *program;
    int status = source ? count_accesses(source, file, &info.accesses, &error) : error.code;

    info.was_cut = status == PSNAP_ERROR_TRUNCATED && source;
    if (info.was_cut) {
        psnap_cmd_warn(&error);
    } else if (status != PSNAP_OK) {
        psnap_source_free(source);
        return psnap_cmd_fail("info", &error);
    }
    program = source->program;
    info.format = psnap_trace_format(source)->name;
    info.loops = program->loop_count;
    info.blocks = program->block_count;
    info.refs = program->ref_count;
    info.objects = program->object_count;
    info.bytes = psnap_trace_bytes(source);
    info.is_limited = psnap_trace_is_limited(source);
    info.provenance = &program->provenance;
    info.part = &program->sampling;
    status = print_info(&info, json);
    psnap_input_say_omitted(source, name);
    psnap_source_free(source);
    return status;
}

static int info_profile(FILE *file, const char *name, bool json)
{
    struct psnap_error error;
    struct psnap_profile *profile = psnap_profile_read(file, name, &error);
    struct psnap_profile_totals totals;
    struct info info = {.format = "profile",
                        .blocks = NOT_APPLICABLE,
                        .refs = NOT_APPLICABLE,
                        .objects = NOT_APPLICABLE};
    int status;

    if (!profile)
        return psnap_cmd_fail("info", &error);
    psnap_profile_totals(profile, &totals);
    info.accesses = totals.accesses;
    info.loops = profile->loop_count;
    for (uint32_t i = 0; i < profile->loop_count; i++)
        info.regions += profile->loops[i].region_count;
    info.bytes = ftello(file) < 0 ? NOT_APPLICABLE : (uint64_t)ftello(file);
    info.provenance = &profile->provenance;
    info.part = &profile->sampling;
    status = print_info(&info, json);
    psnap_profile_free(profile);
    return status;
}

static int info(const char *path, const char *from, bool json)
{
    struct psnap_error error;
    FILE *file = psnap_input_file(path, &error);
    const char *name = file == stdin ? "stdin" : path;
    int status;

    if (!file)
        return psnap_cmd_fail("info", &error);
    if (from ? strcmp(from, "profile") != 0 : !psnap_input_is_profile(file))
        return info_trace(file, name, from, json);
    status = info_profile(file, name, json);
    if (file != stdin)
        fclose(file);
    return status;
}

int psnap_cmd_info(int argc, char **argv)
{
    const char *from = NULL;
    bool json = false;
    const struct psnap_option options[] = {
        {PSNAP_OPTION_TEXT, 0, "from", &from, "FORMAT", "of the trace; else it is recognised"},
        {PSNAP_OPTION_FLAG, 0, "json", &json, NULL, "JSON on stdout"},
        {.type = PSNAP_OPTION_END},
    };
    const struct psnap_usage usage = {
        "psnap info FILE [--from FORMAT] [--json]",
        "Says what a trace or a profile is, how much is in it and where it comes from.\n"
        "A .pst is checked from end to end, without decoding it.\n"
        "\n"
        "A trace counts all loops that the program was compiled to, a profile those with\n"
        "accesses and the ones around them. Regions are made by profiling, so a trace has\n"
        "none, and a profile has no blocks, references or objects: null in the JSON.",
        options};
    int status;
    const int operands = psnap_options_parse(argc, argv, &usage, false, &status);

    if (operands < 0)
        return status;
    if (operands != 1)
        return psnap_cmd_usage("info", "one file, please");
    return info(argv[1], from, json);
}
