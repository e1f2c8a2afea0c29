/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An edit in one line: what it is of, with the ids in brackets, an operator and a value.
 *
 *     loops[spmv:20].regions[x].working_set *= 2
 *
 * Words that name what edits are for (edit.h) do those, which change all that has to be; of other
 * paths the field alone is changed, as psnap edit --set does, and operators are of numbers.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/text.h"
#include "profile/edit/cmd_edit.h"
#include "profile/edit/edit.h"

const char edit_line_forms[] =
    "  regions[NAME].working_set *= K    an array, spread over K times as much (/= K)\n"
    "  regions[NAME].base += BYTES       it moves (-=)\n"
    "  regions[NAME].pad += BYTES        it moves, with all behind it\n"
    "  strides[OLD] = NEW                steps of so many bytes become others;\n"
    "  regions[NAME].strides[OLD] = NEW  of an array, or of a loop\n"
    "  loops[ID].iterations *= K         each time that the loop is entered\n"
    "  loops[ID].entries *= K            it is entered K times where it was once\n"
    "  regions[NAME].reuse *= F          reuse times (objects[NAME].reuse)\n"
    "  remove loops[ID]                  it is not there\n"
    "  PATH = VALUE                      any field (+= -= *= /= of numbers)\n"
    "NAME is of an array, everywhere; with loops[ID]. before it, of a region of\n"
    "that loop.";

enum { TEXT_MAX = 512 };

/* A line, taken apart. */
struct line {
    char loop[TEXT_MAX], region[TEXT_MAX], object[TEXT_MAX], stride[TEXT_MAX];
    char field[TEXT_MAX], path[TEXT_MAX]; /* the path's last name, and all with dots */
    char operator;                        /* '=' or that before it */
    const char *value;
    bool removes;
};

static enum psnap_status not_understood(const char *line, const char *at, const char *wanted,
                                        struct psnap_error *error)
{
    psnap_error_set(error, PSNAP_ERROR_USAGE, "'%.200s': %s", line, wanted);
    psnap_error_at(error, "the edit", 1, (uint32_t)(at - line) + 1);
    return PSNAP_ERROR_USAGE;
}

static void keep(char *text, const char *from, size_t n)
{
    snprintf(text, TEXT_MAX, "%.*s", (int)(n < TEXT_MAX ? n : TEXT_MAX - 1), from);
}

/* Where names in brackets go. */
static char *place_of(struct line *parts, const char *name, size_t n)
{
    const struct {
        const char *name;
        char *text;
    } places[] = {{"loops", parts->loop},
                  {"regions", parts->region},
                  {"objects", parts->object},
                  {"strides", parts->stride}};

    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++)
        if (strlen(places[i].name) == n && !strncmp(places[i].name, name, n))
            return places[i].text;
    return NULL;
}

static void add_to_path(struct line *parts, const char *from, size_t n)
{
    const size_t used = strlen(parts->path);

    if (used + 1 < TEXT_MAX)
        snprintf(parts->path + used, TEXT_MAX - used, "%s%.*s", used ? "." : "", (int)n, from);
}

/* Reads names, some with an id in brackets, up to the operator; returns where that begins, or NULL.
 */
static const char *read_path(const char *line, const char *at, struct line *parts,
                             struct psnap_error *error)
{
    while (true) {
        const size_t n = strcspn(at, ".[ \t=+-*/");
        char *place = place_of(parts, at, n);
        if (!n) {
            not_understood(line, at, "a name is missing", error);
            return NULL;
        }
        keep(parts->field, at, n);
        add_to_path(parts, at, n);
        if (at[n] == '[') {
            const size_t length = strcspn(at + n + 1, "]");
            if (at[n + 1 + length] != ']' || !length) {
                not_understood(line, at + n, "[ wants an id and ]", error);
                return NULL;
            }
            if (place)
                keep(place, at + n + 1, length);
            add_to_path(parts, at + n + 1, length);
            at += length + 2;
        }
        at += n;
        if (*at != '.')
            return at + strspn(at, " \t");
        at++;
    }
}

static enum psnap_status read_line(const char *line, struct line *parts, struct psnap_error *error)
{
    const char *at = line + strspn(line, " \t");

    *parts = (struct line){.operator= '=' };
    if (!strncmp(at, "remove ", 7)) {
        parts->removes = true;
        at = read_path(line, at + 7 + strspn(at + 7, " \t"), parts, error);
        if (!at)
            return error->code;
        if (*at || !*parts->loop || *parts->region)
            return not_understood(line, at, "remove is of loops[ID]", error);
        return PSNAP_OK;
    }
    at = read_path(line, at, parts, error);
    if (!at)
        return error->code;
    if (*at && strchr("+-*/", *at))
        parts->operator= * at++;
    if (*at != '=')
        return not_understood(line, at, "=, *=, /=, += or -= is missing", error);
    at++;
    parts->value = at + strspn(at, " \t");
    return *parts->value ? PSNAP_OK : not_understood(line, at, "a value is missing", error);
}

#define FACTOR "a whole factor of 1 to 4294967296"
_Static_assert(PSNAP_EDIT_FACTOR_MAX == UINT64_C(4294967296),
               "the message says the largest factor");

/* A whole factor, and where parts are allowed "1/2" or "/= 2". */
static bool read_factor(const struct line *parts, bool has_parts, struct psnap_edit *edit)
{
    uint64_t number;

    if (!psnap_text_u64(parts->value, &number) || !number || number > PSNAP_EDIT_FACTOR_MAX ||
        !(parts->operator== '*' ||(parts->operator== '/' && has_parts)))
        return false;
    edit->times = parts->operator== '*' ? number : 1;
    edit->over = parts->operator== '*' ? 1 : number;
    return true;
}

bool edit_read_bytes(const char *text, int64_t *bytes)
{
    const bool is_negative = *text == '-';
    uint64_t size;

    if (!psnap_text_size(text + is_negative, &size) || size > PSNAP_COUNT_MAX)
        return false;
    *bytes = is_negative ? -(int64_t)size : (int64_t)size;
    return true;
}

static bool read_move(const struct line *parts, struct psnap_edit *edit)
{
    if (!(parts->operator== '+' || parts->operator== '-') ||
        !edit_read_bytes(parts->value, &edit->bytes))
        return false;
    if (parts->operator== '-')
        edit->bytes = -edit->bytes;
    return true;
}

static bool read_scale(const struct line *parts, struct psnap_edit *edit)
{
    char *end;

    edit->factor = strtod(parts->value, &end);
    if (parts->operator== '/')
        edit->factor = 1 / edit->factor;
    return (parts->operator== '*' || parts->operator== '/') && !*end && edit->factor >= 1e-6 &&
           edit->factor <= 1e6;
}

static bool read_strides(const struct line *parts, struct psnap_edit *edit)
{
    return parts->operator== '=' && edit_read_bytes(parts->stride, &edit->old_stride) &&
           edit_read_bytes(parts->value, &edit->new_stride);
}

/* Whether the line is one of edit.h's; *is_good is whether it says all that one needs, else *wanted
 * is what. */
static bool is_edit(const struct line *parts, struct psnap_edit *edit, bool *is_good,
                    const char **wanted)
{
    const bool has_region = *parts->region, has_loop = *parts->loop;

    if (parts->removes) {
        edit->what = PSNAP_EDIT_REMOVE;
        *is_good = true;
    } else if (!strcmp(parts->field, "working_set") && has_region) {
        edit->what = PSNAP_EDIT_SPAN;
        *wanted = "working_set wants *= or /= and " FACTOR;
        *is_good = read_factor(parts, true, edit);
    } else if (!strcmp(parts->field, "base") && has_region && parts->operator!= '=') {
        edit->what = PSNAP_EDIT_MOVE;
        *wanted = "base wants += or -= and bytes";
        *is_good = read_move(parts, edit);
    } else if (!strcmp(parts->field, "pad") && has_region) {
        edit->what = PSNAP_EDIT_PAD;
        *wanted = "pad wants += and bytes";
        *is_good = read_move(parts, edit) && edit->bytes >= 0;
    } else if (!strcmp(parts->field, "iterations") && has_loop && !has_region) {
        edit->what = PSNAP_EDIT_ITERATIONS;
        *wanted = "iterations wants *= and " FACTOR;
        *is_good = read_factor(parts, false, edit);
    } else if (!strcmp(parts->field, "entries") && has_loop && !has_region) {
        edit->what = PSNAP_EDIT_ENTRIES;
        *wanted = "entries wants *= and " FACTOR;
        *is_good = read_factor(parts, false, edit);
    } else if (!strcmp(parts->field, "strides") && *parts->stride) {
        edit->what = PSNAP_EDIT_STRIDE;
        *wanted = "strides[OLD] wants = and the new stride in bytes";
        *is_good = read_strides(parts, edit);
    } else if (!strcmp(parts->field, "reuse") && (has_region || *parts->object)) {
        edit->what = PSNAP_EDIT_REUSE;
        *wanted = "reuse wants *= or /= and a factor";
        *is_good = read_scale(parts, edit);
    } else {
        return false;
    }
    return true;
}

/* No field of the document is where a line says. What lines change of an array is no field of it,
 * and a loop of the source may be no item of it but its parts: the word was meant then, and not
 * another loop. */
static enum psnap_status no_field(const struct line *parts, struct psnap_error *error)
{
    static const char *const of_regions[] = {"working_set", "base", "pad", "strides", "reuse"};
    static const char *const of_loops[] = {"iterations", "entries", "strides"};
    const bool is_region = *parts->region || *parts->object;
    const char *nearest = is_region      ? psnap_text_nearest(parts->field, of_regions, 5)
                          : *parts->loop ? psnap_text_nearest(parts->field, of_loops, 3)
                                         : NULL;

    if (nearest && !strcmp(nearest, parts->field))
        return psnap_error_set(error, PSNAP_ERROR_VALUE, "'%s' is changed by *= or +=, not set",
                               nearest);
    if (nearest)
        return psnap_error_set(error, PSNAP_ERROR_VALUE,
                               "%s has no field '%.100s'; did you mean '%s'?",
                               is_region ? "an array" : "a loop", parts->field, nearest);
    if (is_region && !*parts->loop)
        return psnap_error_set(error, PSNAP_ERROR_VALUE,
                               "an array has no field '%.100s', but working_set, base, pad, "
                               "strides and reuse; those of a region want its loop before it",
                               parts->field);
    return error->code; /* as it was */
}

/* Changes a field of the document. */
static enum psnap_status set_field(struct psnap_yaml_doc *doc, const char *line,
                                   const struct line *parts, struct psnap_error *error)
{
    char assignment[2 * TEXT_MAX];
    struct psnap_yaml_node *node;
    double old, change;
    char *end;

    if (parts->operator== '=') {
        snprintf(assignment, sizeof assignment, "%s=%.*s", parts->path, TEXT_MAX - 1, parts->value);
        return edit_find_node(doc, parts->path, true, error) ? edit_set(doc, assignment, error)
                                                             : no_field(parts, error);
    }
    node = edit_find_node(doc, parts->path, false, error);
    if (!node)
        return no_field(parts, error);
    if (psnap_yaml_real(doc, node, -INFINITY, INFINITY, &old, error))
        return error->code;
    change = strtod(parts->value, &end);
    if (*end || !isfinite(change) || (parts->operator== '/' && change == 0))
        return not_understood(line, parts->value, "a number is wanted", error);
    old = parts->operator== '*'   ? old * change
          : parts->operator== '/' ? old / change
          : parts->operator== '+' ? old + change
                                  : old - change;
    snprintf(assignment, sizeof assignment, "%s=%.17g", parts->path, old);
    return edit_set(doc, assignment, error);
}

char *edit_write_checked(const struct psnap_profile *profile, size_t *size,
                         struct psnap_error *error)
{
    char *text = NULL;
    FILE *file = open_memstream(&text, size);
    struct psnap_yaml_doc *doc = NULL;
    struct psnap_profile *again = NULL;
    enum psnap_status status = file ? psnap_profile_write(profile, file, error)
                                    : psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");

    if (file && fclose(file) != 0 && !status)
        status = psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    if (!status && (doc = psnap_yaml_read_text(text, *size, "what would come of it", error)))
        again = psnap_profile_read_document(doc, error);
    psnap_yaml_doc_free(doc);
    if (again) {
        psnap_profile_free(again);
        return text;
    }
    free(text);
    return NULL;
}

char *edit_line(const char *text, size_t size, const char *name, const char *line, size_t *new_size,
                struct psnap_error *error)
{
    struct psnap_profile *profile = NULL;
    struct psnap_edit edit = {0};
    struct psnap_yaml_doc *doc;
    const char *regions[1], *wanted = NULL;
    struct line parts;
    uint32_t loop, region;
    bool is_good = false, is_one;
    char *result = NULL;

    if (read_line(line, &parts, error))
        return NULL;
    is_one = is_edit(&parts, &edit, &is_good, &wanted);
    if (is_one && !is_good) {
        not_understood(line, parts.value ? parts.value : line, wanted, error);
        return NULL;
    }
    edit.loop = *parts.loop ? parts.loop : NULL;
    edit.object = *parts.object ? parts.object : NULL;
    regions[0] = parts.region;
    edit.regions = regions;
    edit.region_count = *parts.region != 0;
    doc = psnap_yaml_read_text(text, size, name, error);
    if (doc && (is_one || !set_field(doc, line, &parts, error)))
        profile = psnap_profile_read_document(doc, error);
    if (profile)
        *error->message = '\0';
    if (profile && is_one && psnap_profile_edit(profile, &edit, &loop, &region, error)) {
        psnap_profile_free(profile);
        profile = NULL;
    } else if (profile && !is_one)
        profile->certificate = NULL;
    if (profile) {
        char said[sizeof error->message]; /* what could not be changed */
        memcpy(said, error->message, sizeof said);
        result = edit_write_checked(profile, new_size, error);
        if (result)
            memcpy(error->message, said, sizeof said);
    }
    psnap_profile_free(profile);
    psnap_yaml_doc_free(doc);
    return result;
}
