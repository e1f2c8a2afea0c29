/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * psnap check: reads profiles with all the checks that reading makes, and says
 * for each whether it is sound, or where it is not.
 *
 * A sound profile may still say what its author did not mean: an array that was
 * made larger and now lies on its neighbours. Recordings have such regions, too: a loop that goes
 * over either of two globals next to each other has one region of both, with the name of the first.
 * So a profile whose checksum is that of its recording has no warnings. Of others the regions of
 * one loop may not overlap in model psnap; in model nests regions are what references span, so only
 * globals are looked at, as in different loops, where they may overlap by the gap that joins
 * accesses to a region. Allocations in different loops may: memory that was freed is used again,
 * and frames of the stack likewise.
 *
 * JSON: {profiles: [{file, ok, model, loops, accesses, warnings: [text]}]}, or
 * with ok false {error: {message, line, column}}; null where unknown.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/cmd.h"
#include "formats/base/json.h"
#include "profile/profile.h"
#include "profile/yaml/yaml_keys.h"
#include "replay/cmd_input.h"

enum { WARNINGS_MAX = 10 };
#define PAIRS_MAX 10000000U /* looked at, at most: profiles not made to annoy have less */

struct piece {
    const struct psnap_profile_loop *loop;
    const struct psnap_profile_region *region;
};

/* Where the warnings of a profile go: the first ones are printed. */
struct report {
    const char *name;
    struct psnap_json *json; /* NULL: as text */
    uint64_t warnings;
};

static void warn(struct report *report, const char *format, ...) PSNAP_PRINTF(2, 3);
static void warn(struct report *report, const char *format, ...)
{
    char text[760];
    va_list arguments;

    if (report->warnings++ >= WARNINGS_MAX)
        return;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (report->json)
        psnap_json_text(report->json, NULL, text);
    else
        psnap_print(stdout, "%s: warning: %s\n", report->name, text);
}

static uint64_t last_byte(const struct piece *piece)
{
    return piece->region->low + (piece->region->bytes - 1);
}

static int compare_low(const void *a, const void *b)
{
    const struct piece *p = a, *q = b;

    if (p->region->low != q->region->low)
        return p->region->low < q->region->low ? -1 : 1;
    return p < q ? -1 : p > q; /* pieces begin in the order of the profile */
}

static uint64_t overlap_bytes(const struct piece *a, const struct piece *b)
{
    const uint64_t end = last_byte(a) < last_byte(b) ? last_byte(a) : last_byte(b);

    return end - b->region->low + 1;
}

/* Whether two regions that overlap should not. */
static bool is_odd(const struct piece *a, const struct piece *b,
                   const struct psnap_profile *profile)
{
    if (a->loop == b->loop && !profile->stream)
        return true;
    return a->region->object && a->region->object_kind == PSNAP_OBJECT_GLOBAL &&
           b->region->object && b->region->object_kind == PSNAP_OBJECT_GLOBAL &&
           strcmp(a->region->object, b->region->object) != 0 &&
           overlap_bytes(a, b) > profile->region_gap_bytes;
}

static void name_piece(const struct piece *piece, char text[300])
{
    const struct psnap_profile_region *region = piece->region;
    const size_t used =
        (size_t)snprintf(text, 300, "region '%.80s' of loop '%.80s'", region->id, piece->loop->id);

    if (region->object)
        snprintf(text + used, 300 - used, " (%s %.80s)", psnap_object_keys[region->object_kind],
                 region->object);
}

static void warn_of(struct report *report, const struct piece *a, const struct piece *b)
{
    char names[2][300];

    name_piece(a, names[0]);
    name_piece(b, names[1]);
    warn(report, "%s overlaps %s by %" PRIu64 " bytes%s", names[0], names[1], overlap_bytes(a, b),
         a->loop == b->loop
             ? ""
             : "; unless it was edited, the first loop goes from one array to the next");
}

static bool is_as_recorded(const struct psnap_profile *profile)
{
    uint64_t content;

    return profile->content && *profile->content &&
           !psnap_profile_content(profile, &content, NULL) &&
           strtoull(profile->content, NULL, 16) == content;
}

/* Looks at regions by their lowest address, each against those that begin inside of it. Nothing is
 * found without memory: the profile is all there, and sound. */
static void find_overlaps(const struct psnap_profile *profile, struct report *report)
{
    size_t count = 0, room = 1;
    struct piece *pieces;
    uint32_t pairs = 0;

    for (uint32_t l = 0; l < profile->loop_count; l++)
        room += profile->loops[l].region_count;
    pieces = malloc(room * sizeof *pieces);
    for (uint32_t l = 0; pieces && l < profile->loop_count; l++)
        for (uint32_t i = 0; i < profile->loops[l].region_count; i++)
            pieces[count++] = (struct piece){&profile->loops[l], &profile->loops[l].regions[i]};
    if (count)
        qsort(pieces, count, sizeof *pieces, compare_low);
    for (size_t i = 0; i < count; i++)
        for (size_t k = i + 1; k < count && pieces[k].region->low <= last_byte(&pieces[i]); k++) {
            if (pairs++ == PAIRS_MAX)
                break;
            if (is_odd(&pieces[i], &pieces[k], profile))
                warn_of(report, &pieces[i], &pieces[k]);
        }
    free(pieces);
}

/* An edit is no error, but its certificate is for another profile, and regions may overlap. */
static void find_warnings(const struct psnap_profile *profile, struct report *report)
{
    if (profile->certificate && psnap_certificate_holds(profile, NULL) == 0)
        warn(report, "the certificate no longer holds: the profile was edited since it was made; "
                     "delete it, or make the profile again");
    if (!is_as_recorded(profile))
        find_overlaps(profile, report);
}

static void print_text(const struct psnap_profile *profile, struct report *report,
                       const struct psnap_error *error)
{
    struct psnap_profile_totals totals;
    char text[1024], digits[32];

    if (!profile && (error->code == PSNAP_ERROR_IO || error->code == PSNAP_ERROR_MEMORY)) {
        psnap_cmd_fail("check", error); /* of us or the system: no verdict on the profile */
        return;
    }
    if (!profile) {
        psnap_print(stdout, "%s\n", psnap_error_format(error, text, sizeof text));
        return;
    }
    psnap_profile_totals(profile, &totals);
    psnap_print(stdout, "%s: ok: model %s, %u loop%s, %s accesses\n", report->name, profile->model,
                (unsigned)profile->loop_count, psnap_plural(profile->loop_count),
                psnap_group_digits(totals.accesses, digits));
    find_warnings(profile, report);
    if (report->warnings > WARNINGS_MAX)
        psnap_print(stdout, "%s: warning: %s more overlap%s\n", report->name,
                    psnap_group_digits(report->warnings - WARNINGS_MAX, digits),
                    psnap_plural(report->warnings - WARNINGS_MAX));
}

static void print_json(const struct psnap_profile *profile, struct report *report,
                       const struct psnap_error *error)
{
    struct psnap_json *json = report->json;
    struct psnap_profile_totals totals;

    psnap_json_begin_object(json, NULL);
    psnap_json_text(json, "file", report->name);
    psnap_json_bool(json, "ok", profile != NULL);
    if (profile) {
        psnap_profile_totals(profile, &totals);
        psnap_json_text(json, "model", profile->model);
        psnap_json_u64(json, "loops", profile->loop_count);
        psnap_json_u64(json, "accesses", totals.accesses);
        psnap_json_begin_array(json, "warnings");
        find_warnings(profile, report);
        psnap_json_end_array(json);
        psnap_json_u64(json, "warning_count", report->warnings);
    } else {
        psnap_json_begin_object(json, "error");
        psnap_json_text(json, "message", error->message);
        psnap_json_real(json, "line", error->src_line ? (double)error->src_line : NAN);
        psnap_json_real(json, "column", error->column ? (double)error->column : NAN);
        psnap_json_end_object(json);
    }
    psnap_json_end_object(json);
}

/* Reports on one profile; returns whether it was good. */
static bool check(const char *path, struct psnap_json *json)
{
    struct report report = {!strcmp(path, "-") ? "stdin" : path, json, 0};
    struct psnap_error error;
    struct psnap_profile *profile = psnap_input_read_profile(path, &error);
    const bool is_good = profile != NULL;

    (json ? print_json : print_text)(profile, &report, &error);
    psnap_profile_free(profile);
    return is_good;
}

int psnap_cmd_check(int argc, char **argv)
{
    bool as_json = false, good = true;
    const struct psnap_option options[] = {
        {PSNAP_OPTION_FLAG, 0, "json", &as_json, NULL, "for programs"},
        {.type = PSNAP_OPTION_END},
    };
    const struct psnap_usage usage = {
        "psnap check P.yaml... [--json]",
        "Checks profiles: form, ranges, and that no two fields contradict each other.\n"
        "Prints 'ok' or the first error of each, with its place. Exit status 1 when one\n"
        "is wrong. Regions that lie on each other, which an edit of 'bytes' or 'offset'\n"
        "can bring about, are a warning and no error.",
        options};
    struct psnap_json json;
    int status;
    const int operands = psnap_options_parse(argc, argv, &usage, false, &status);

    if (operands < 0)
        return status;
    if (operands == 0)
        return psnap_cmd_usage("check", "which profile?");
    if (as_json) {
        psnap_cmd_begin_json(&json, stdout, "check");
        psnap_json_begin_array(&json, "profiles");
    }
    for (int i = 1; i <= operands; i++)
        good = check(argv[i], as_json ? &json : NULL) && good;
    if (as_json) {
        psnap_json_end_array(&json);
        psnap_json_end_object(&json);
    }
    return psnap_cmd_close_stdout("check", good ? PSNAP_EXIT_DONE : PSNAP_EXIT_FAILED);
}
