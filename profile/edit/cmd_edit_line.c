/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An edit in one line: what it is of, with the ids in brackets, an operator and a value; or a verb
 * and what it is of.
 *
 *     loops[spmv:20].regions[x].working_set *= 2
 *     interleave regions[a], regions[b] by 8
 *
 * Words that name what edits are for (edit.h) do those, which change all that has to be; of other
 * paths the field alone is changed, as psnap edit --set does, and operators are of numbers.
 */
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
    "  regions[NAME].reuse *= F          reuse times of 16 and more (also of objects[NAME],\n"
    "                                    of loops[ID], or of all: reuse *= F)\n"
    "  interleave regions[A], regions[B] by BYTES   element by element (AoS)\n"
    "  split regions[NAME] into BYTES, BYTES...     records as an array a field (SoA)\n"
    "  remove loops[ID]                  it is not there\n"
    "  PATH = VALUE                      any field (+= -= *= /= of numbers)\n"
    "NAME is of an array, everywhere; with loops[ID]. before it, of a region of\n"
    "that loop.";

enum { TEXT_MAX = 512, REGIONS_MAX = 16, FIELDS_MAX = 64 };

/* A line, taken apart. */
struct line {
    char loop[TEXT_MAX], region[TEXT_MAX], object[TEXT_MAX], stride[TEXT_MAX];
    char field[TEXT_MAX], path[TEXT_MAX]; /* the path's last name, and all with dots */
    uint32_t others;                      /* names in the path that no edit is of */
    char operator;                        /* '=' or that before it */
    const char *value;
    const char *verb;                    /* NULL: a path and an operator */
    char regions[REGIONS_MAX][TEXT_MAX]; /* interleave */
    size_t region_count;
    uint64_t fields[FIELDS_MAX]; /* interleave: of an element; split: of each field */
    size_t field_count;
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
        const size_t n = strcspn(at, ".[ \t=+-*/,");
        char *place = place_of(parts, at, n);
        if (!n) {
            not_understood(line, at, "a name is missing", error);
            return NULL;
        }
        keep(parts->field, at, n);
        add_to_path(parts, at, n);
        parts->others += !place && at[n + strcspn(at + n, ".=,")] == '.';
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

/* Reads "8, 8, 16". */
static bool read_fields(const char *text, struct line *parts)
{
    while (parts->field_count < FIELDS_MAX) {
        uint64_t *bytes = &parts->fields[parts->field_count++];
        const size_t length = strcspn(text, " \t,");
        char field[32];
        snprintf(field, sizeof field, "%.*s", length < sizeof field ? (int)length : 31, text);
        if (!psnap_text_size(field, bytes) || !*bytes || *bytes > PSNAP_COUNT_MAX)
            return false;
        text += length + strspn(text + length, " \t");
        if (!*text)
            return true;
        if (*text++ != ',')
            return false;
        text += strspn(text, " \t");
    }
    return false;
}

/* Reads what a verb is of: remove loops[ID]; interleave regions[A], regions[B] by BYTES; split
 * regions[NAME] into BYTES, BYTES. */
static enum psnap_status read_verb(const char *line, const char *at, struct line *parts,
                                   struct psnap_error *error)
{
    const char *before = *parts->verb == 'i' ? "by " : "into ";

    while (true) {
        at = read_path(line, at, parts, error);
        if (!at)
            return error->code;
        if (*parts->verb == 'r')
            return !*at && *parts->loop && !*parts->region
                       ? PSNAP_OK
                       : not_understood(line, at, "remove is of loops[ID]", error);
        if (!*parts->region || parts->region_count == REGIONS_MAX)
            return not_understood(line, at, "regions[NAME] is missing, or there are too many",
                                  error);
        keep(parts->regions[parts->region_count++], parts->region, TEXT_MAX);
        if (*at != ',' || *parts->verb == 's')
            break;
        at += 1 + strspn(at + 1, " \t");
    }
    if (strncmp(at, before, strlen(before)) != 0 ||
        !read_fields(at + strlen(before) + strspn(at + strlen(before), " \t"), parts) ||
        (*parts->verb == 'i') != (parts->field_count == 1))
        return not_understood(line, at,
                              *parts->verb == 'i' ? "'by' and the bytes of an element are wanted"
                                                  : "'into' and the bytes of each field are wanted",
                              error);
    return PSNAP_OK;
}

static enum psnap_status read_line(const char *line, struct line *parts, struct psnap_error *error)
{
    static const char *const verbs[] = {"remove ", "interleave ", "split "};
    const char *at = line + strspn(line, " \t");

    *parts = (struct line){.operator= '=' };
    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++) {
        const size_t n = strlen(verbs[i]);
        if (strncmp(at, verbs[i], n) != 0)
            continue;
        parts->verb = verbs[i];
        return read_verb(line, at + n + strspn(at + n, " \t"), parts, error);
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

static bool read_bytes(const char *text, int64_t *bytes)
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
        !read_bytes(parts->value, &edit->bytes))
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
    return parts->operator== '=' && read_bytes(parts->stride, &edit->old_stride) &&
           read_bytes(parts->value, &edit->new_stride);
}

/* Whether the line is one of edit.h's; *is_good is whether it says all that one needs, else *wanted
 * is what. */
static bool is_edit(const struct line *parts, struct psnap_edit *edit, bool *is_good,
                    const char **wanted)
{
    const bool has_region = *parts->region, has_loop = *parts->loop;

    *is_good = true;
    if (!parts->verb && parts->others)
        return false;
    if (parts->verb) {
        edit->what = *parts->verb == 'r'   ? PSNAP_EDIT_REMOVE
                     : *parts->verb == 'i' ? PSNAP_EDIT_INTERLEAVE
                                           : PSNAP_EDIT_SPLIT;
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
    } else if (!strcmp(parts->field, "reuse") &&
               (has_region || *parts->object || parts->operator!= '=')) {
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

/* The line of a loop, or of a region of it, that an error is about. */
static void place(const struct psnap_yaml_doc *doc, uint32_t loop, uint32_t region,
                  struct psnap_error *error)
{
    const struct psnap_yaml_node *loops = psnap_yaml_get(psnap_yaml_root(doc), "loops");
    const struct psnap_yaml_node *node = loops ? loops->first : NULL;
    const struct psnap_yaml_node *regions;

    psnap_error_at(error, psnap_yaml_name(doc), 0, 0);
    if (loop == PSNAP_NONE)
        return;
    while (node && loop--)
        node = node->next;
    regions = psnap_yaml_get(node, "regions");
    if (regions && region != PSNAP_NONE) {
        node = regions->first;
        while (node && region--)
            node = node->next;
    }
    if (node)
        psnap_error_at(error, NULL, node->src_line, node->column);
}

/* The profile of a document with the edit that a line is of; NULL with `error` filled. */
static struct psnap_profile *edit_profile(const struct psnap_yaml_doc *doc, struct line *parts,
                                          struct psnap_edit *edit, struct psnap_error *error)
{
    struct psnap_profile *profile = psnap_profile_read_document(doc, error);
    const char *regions[REGIONS_MAX] = {parts->region};
    uint32_t loop, region;
    enum psnap_status status;

    if (!profile)
        return NULL;
    for (size_t i = 0; i < parts->region_count; i++)
        regions[i] = parts->regions[i];
    edit->loop = *parts->loop ? parts->loop : NULL;
    edit->object = *parts->object ? parts->object : NULL;
    edit->regions = regions;
    edit->region_count = parts->region_count ? parts->region_count : *parts->region != 0;
    edit->fields = parts->fields;
    edit->field_count = parts->field_count;
    status = psnap_profile_edit(profile, edit, &loop, &region, error);
    if (!status)
        return profile;
    if (status != PSNAP_ERROR_MEMORY)
        place(doc, loop, region, error);
    psnap_profile_free(profile);
    return NULL;
}

char *edit_line(struct psnap_yaml_doc *doc, const char *line, size_t *new_size,
                struct psnap_error *error)
{
    struct psnap_profile *profile = NULL;
    struct psnap_edit edit = {0};
    const char *wanted = NULL;
    char said[sizeof error->message] = ""; /* what could not be changed */
    struct line parts;
    bool is_good;
    char *result;

    if (read_line(line, &parts, error))
        return NULL;
    if (is_edit(&parts, &edit, &is_good, &wanted)) {
        if (!is_good) {
            not_understood(line, parts.value ? parts.value : line, wanted, error);
            return NULL;
        }
        profile = edit_profile(doc, &parts, &edit, error);
        memcpy(said, error->message, sizeof said);
    } else if (!set_field(doc, line, &parts, error)) {
        profile = psnap_profile_read_document(doc, error);
        if (profile)
            profile->certificate = NULL;
    }
    result = profile ? edit_write_checked(profile, new_size, error) : NULL;
    if (result)
        memcpy(error->message, said, sizeof said);
    psnap_profile_free(profile);
    return result;
}

char *edit_next(char **rest)
{
    while (*rest) {
        char *line = strsep(rest, ";");
        size_t n;
        line += strspn(line, " \t");
        for (n = strlen(line); n && strchr(" \t", line[n - 1]);)
            line[--n] = '\0';
        if (n)
            return line;
    }
    return NULL;
}
