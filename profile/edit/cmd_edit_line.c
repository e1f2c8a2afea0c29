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
#include "profile/edit/cmd_edit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/cmd.h"
#include "formats/base/text.h"
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

/* The names that have an id in brackets. */
enum place { LOOP, REGION, OBJECT, STRIDE, PLACES };
static const char *const place_names[PLACES] = {"loops", "regions", "objects", "strides"};

/* A line, taken apart. */
struct line {
    const char *text, *at;                /* what is read yet */
    char ids[PLACES][TEXT_MAX];           /* "": it has none */
    char field[TEXT_MAX], path[TEXT_MAX]; /* the path's last name, and all with dots */
    uint32_t others;                      /* names in the path that have no such id */
    char operator;                        /* '=' or that before it */
    const char *value;
    char regions[REGIONS_MAX][TEXT_MAX];
    const char *region_names[REGIONS_MAX];
    uint64_t fields[FIELDS_MAX];
    struct psnap_edit edit;
    struct psnap_error *error;
};

static bool not_understood(const struct line *l, const char *wanted)
{
    psnap_error_set(l->error, PSNAP_ERROR_USAGE, "'%.200s': %s", l->text, wanted);
    psnap_error_at(l->error, "the edit", 1, (uint32_t)(l->at - l->text) + 1);
    return false;
}

/* Skips a word, if it is the next one, and spaces behind it. */
static bool skip(struct line *l, const char *word)
{
    const size_t n = strlen(word);

    if (strncmp(l->at, word, n) != 0)
        return false;
    l->at += n + strspn(l->at + n, " \t");
    return true;
}

static void keep(char *text, const char *from, size_t n)
{
    snprintf(text, TEXT_MAX, "%.*s", (int)(n < TEXT_MAX ? n : TEXT_MAX - 1), from);
}

/* Adds the next n characters to the path, and goes behind them. */
static void add_to_path(struct line *l, size_t n)
{
    const size_t used = strlen(l->path);

    snprintf(l->path + used, TEXT_MAX - used, "%s%.*s", used ? "." : "",
             (int)(n < TEXT_MAX ? n : TEXT_MAX), l->at);
    l->at += n;
}

/* Reads names with dots between them, some with an id in brackets. */
static bool read_path(struct line *l)
{
    for (;;) {
        const size_t n = strcspn(l->at, ".[ \t=+-*/,");
        char *id = NULL;
        if (!n)
            return not_understood(l, "a name is missing");
        keep(l->field, l->at, n);
        for (size_t i = 0; i < PLACES; i++)
            if (!strcmp(place_names[i], l->field))
                id = l->ids[i];
        l->others += !id;
        add_to_path(l, n);
        if (*l->at == '[') {
            const size_t length = strcspn(l->at + 1, "]");
            if (!length || !l->at[1 + length])
                return not_understood(l, "[ wants an id and ]");
            l->at++;
            if (id)
                keep(id, l->at, length);
            add_to_path(l, length);
            l->at++;
        }
        if (*l->at != '.')
            break;
        l->at++;
    }
    return skip(l, "");
}

/* Keeps the region just read as one that the edit is about. */
static bool keep_region(struct line *l)
{
    if (!*l->ids[REGION] || l->edit.region_count == REGIONS_MAX)
        return false;
    memcpy(l->regions[l->edit.region_count], l->ids[REGION], TEXT_MAX);
    l->region_names[l->edit.region_count] = l->regions[l->edit.region_count];
    l->edit.region_count++;
    return true;
}

/* Reads "8, 8, 16". */
static bool read_fields(struct line *l)
{
    do {
        uint64_t *bytes = &l->fields[l->edit.field_count++];
        const size_t length = strcspn(l->at, " \t,");
        char field[32];
        snprintf(field, sizeof field, "%.*s", length < sizeof field ? (int)length : 31, l->at);
        if (!psnap_text_size(field, bytes) || !*bytes || *bytes > PSNAP_COUNT_MAX)
            return false;
        l->at += length;
        skip(l, "");
    } while (l->edit.field_count < FIELDS_MAX && skip(l, ","));
    return !*l->at;
}

/* Reads the regions that a verb is of, then a word and bytes of fields. */
static bool read_regions(struct line *l)
{
    const bool is_split = l->edit.what == PSNAP_EDIT_SPLIT;

    do {
        if (!read_path(l))
            return false;
        if (!keep_region(l))
            return not_understood(l, "regions[NAME] is missing, or there are too many");
    } while (!is_split && skip(l, ","));
    if (!skip(l, is_split ? "into " : "by ") || !read_fields(l) ||
        is_split != (l->edit.field_count > 1))
        return not_understood(l, is_split ? "'into' and the bytes of each field are wanted"
                                          : "'by' and the bytes of an element are wanted");
    return true;
}

static bool read_removed(struct line *l)
{
    if (!read_path(l))
        return false;
    return (!*l->at && *l->ids[LOOP] && !*l->ids[REGION]) ||
           not_understood(l, "remove is of loops[ID]");
}

static bool read_assignment(struct line *l)
{
    if (!read_path(l))
        return false;
    l->operator= * l->at && strchr("+-*/", *l->at) ? *l->at++ : '=';
    if (!skip(l, "="))
        return not_understood(l, "=, *=, /=, += or -= is missing");
    l->value = l->at;
    return *l->value || not_understood(l, "a value is missing");
}

/* ---- values ---- */

/* A whole factor. */
static bool read_factor(struct line *l)
{
    uint64_t number;

    if (!psnap_text_u64(l->value, &number) || !number || number > PSNAP_EDIT_FACTOR_MAX)
        return false;
    l->edit.times = l->operator== '*' ? number : 1;
    l->edit.over = l->operator== '*' ? 1 : number;
    return true;
}

static bool read_size(const char *text, int64_t *bytes)
{
    const bool is_negative = *text == '-';
    uint64_t size;

    if (!psnap_text_size(text + is_negative, &size) || size > PSNAP_COUNT_MAX)
        return false;
    *bytes = is_negative ? -(int64_t)size : (int64_t)size;
    return true;
}

static bool read_bytes(struct line *l)
{
    const bool is_good = read_size(l->value, &l->edit.bytes);

    if (l->operator== '-')
        l->edit.bytes = -l->edit.bytes;
    return is_good && (l->edit.what == PSNAP_EDIT_MOVE || l->edit.bytes >= 0);
}

static bool read_scale(struct line *l)
{
    char *end;

    l->edit.factor = strtod(l->value, &end);
    if (l->operator== '/')
        l->edit.factor = 1 / l->edit.factor;
    return !*end && l->edit.factor >= 1e-6 && l->edit.factor <= 1e6;
}

static bool read_strides(struct line *l)
{
    return read_size(l->ids[STRIDE], &l->edit.old_stride) &&
           read_size(l->value, &l->edit.new_stride);
}

#define FACTOR "a whole factor of 1 to 4294967296"
_Static_assert(PSNAP_EDIT_FACTOR_MAX == UINT64_C(4294967296),
               "the message says the largest factor");

/* Fields that edits are of, when the line has an id of `of` (PLACES: whatever it has). */
static const struct form {
    const char *field;
    enum psnap_edit_what what;
    enum place of;
    bool may_be_set; /* with '=' it is any field of that name */
    const char *operators;
    bool (*read)(struct line *l);
    const char *wanted;
} forms[] = {
    {"working_set", PSNAP_EDIT_SPAN, REGION, false, "*/", read_factor, "*= or /= and " FACTOR},
    {"base", PSNAP_EDIT_MOVE, REGION, true, "+-", read_bytes, "+= or -= and bytes"},
    {"pad", PSNAP_EDIT_PAD, REGION, false, "+", read_bytes, "+= and bytes"},
    {"strides", PSNAP_EDIT_STRIDE, STRIDE, false, "=", read_strides,
     "[OLD] = and the new stride in bytes"},
    {"reuse", PSNAP_EDIT_REUSE, PLACES, true, "*/", read_scale, "*= or /= and a factor"},
    {"iterations", PSNAP_EDIT_ITERATIONS, LOOP, false, "*", read_factor, "*= and " FACTOR},
    {"entries", PSNAP_EDIT_ENTRIES, LOOP, false, "*", read_factor, "*= and " FACTOR},
};

/* The edit that a path and an operator are; NULL: a field alone is meant. */
static const struct form *form_of(const struct line *l)
{
    for (size_t i = 0; i < sizeof forms / sizeof forms[0] && l->others < 2; i++) {
        const struct form *form = &forms[i];
        if (!strcmp(form->field, l->field) && (form->of == PLACES || *l->ids[form->of]) &&
            !(form->of == LOOP && *l->ids[REGION]) && !(form->may_be_set && l->operator== '='))
            return form;
    }
    return NULL;
}

/* Reads a line; *is_edit is whether it is one of edit.h's. */
static bool read_line(struct line *l, bool *is_edit)
{
    const struct form *form;
    char wanted[128];

    *is_edit = true;
    skip(l, "");
    l->edit.what = skip(l, "remove ")       ? PSNAP_EDIT_REMOVE
                   : skip(l, "interleave ") ? PSNAP_EDIT_INTERLEAVE
                                            : PSNAP_EDIT_SPLIT;
    if (l->edit.what == PSNAP_EDIT_REMOVE)
        return read_removed(l);
    if (l->edit.what == PSNAP_EDIT_INTERLEAVE || skip(l, "split "))
        return read_regions(l);
    if (!read_assignment(l))
        return false;
    form = form_of(l);
    *is_edit = form != NULL;
    if (!form)
        return true;
    l->edit.what = form->what;
    keep_region(l);
    if (strchr(form->operators, l->operator) && form->read(l))
        return true;
    snprintf(wanted, sizeof wanted, "%s wants %s", form->field, form->wanted);
    return not_understood(l, wanted);
}

/* ---- fields ---- */

/* No field of the document is where a line says. What lines change of an array is no field of it,
 * and a loop of the source may be no item of it but its parts: the word was meant then, and not
 * another loop. */
static enum psnap_status no_field(const struct line *l)
{
    const bool is_region = *l->ids[REGION] || *l->ids[OBJECT];
    const char *names[sizeof forms / sizeof forms[0]] = {NULL}, *nearest;

    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++)
        if (is_region ? forms[i].of != LOOP : *l->ids[LOOP] && forms[i].of != REGION)
            names[i] = forms[i].field;
    nearest = psnap_text_nearest(l->field, names, sizeof forms / sizeof forms[0]);
    if (nearest && !strcmp(nearest, l->field))
        return psnap_error_set(l->error, PSNAP_ERROR_VALUE, "'%s' is changed by *= or +=, not set",
                               nearest);
    if (nearest)
        return psnap_error_set(l->error, PSNAP_ERROR_VALUE,
                               "%s has no field '%.100s'; did you mean '%s'?",
                               is_region ? "an array" : "a loop", l->field, nearest);
    if (is_region && !*l->ids[LOOP])
        return psnap_error_set(l->error, PSNAP_ERROR_VALUE,
                               "an array has no field '%.100s', but working_set, base, pad, "
                               "strides and reuse; those of a region want its loop before it",
                               l->field);
    return l->error->code; /* as it was */
}

/* Changes a field of the document. */
static enum psnap_status set_field(struct psnap_yaml_doc *doc, const struct line *l)
{
    const bool is_set = l->operator== '=';
    const struct psnap_yaml_node *node = edit_find_node(doc, l->path, is_set, l->error);
    char assignment[2 * TEXT_MAX];
    double old, change;
    char *end;

    if (!node)
        return no_field(l);
    snprintf(assignment, sizeof assignment, "%s=%.*s", l->path, TEXT_MAX - 1, l->value);
    if (!is_set) {
        if (psnap_yaml_real(doc, node, -INFINITY, INFINITY, &old, l->error))
            return l->error->code;
        change = strtod(l->value, &end);
        if (*end || !isfinite(change) || (l->operator== '/' && change == 0)) {
            not_understood(l, "a number is wanted");
            return PSNAP_ERROR_USAGE;
        }
        old = l->operator== '*'   ? old * change
              : l->operator== '/' ? old / change
              : l->operator== '+' ? old + change
                                  : old - change;
        snprintf(assignment, sizeof assignment, "%s=%.17g", l->path, old);
    }
    return edit_set(doc, assignment, l->error);
}

/* ---- all of it ---- */

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

/* Item number `index` of a list of a map; NULL: there is none. */
static const struct psnap_yaml_node *item_of(const struct psnap_yaml_node *map, const char *list,
                                             uint32_t index)
{
    const struct psnap_yaml_node *node = psnap_yaml_get(map, list);

    node = node ? node->first : NULL;
    while (node && index--)
        node = node->next;
    return node;
}

/* Places an error at the line of the loop, or of the region of it, that it is about. */
static void place(const struct psnap_yaml_doc *doc, uint32_t loop, uint32_t region,
                  struct psnap_error *error)
{
    const struct psnap_yaml_node *node = NULL;

    psnap_error_at(error, psnap_yaml_name(doc), 0, 0);
    if (loop != PSNAP_NONE)
        node = item_of(psnap_yaml_root(doc), "loops", loop);
    if (node && region != PSNAP_NONE)
        node = item_of(node, "regions", region);
    if (node)
        psnap_error_at(error, NULL, node->src_line, node->column);
}

/* A profile's text after an edit, which is checked; the document is of no use any more. The caller
 * frees the text. NULL with `error` filled. When it is done, error->message says what could not be
 * changed, or is empty. */
static char *edit_line(struct psnap_yaml_doc *doc, const char *line, size_t *size,
                       struct psnap_error *error)
{
    struct line l = {.text = line, .at = line, .error = error};
    char said[sizeof error->message] = "", *text = NULL;
    struct psnap_profile *profile = NULL;
    enum psnap_status status = PSNAP_OK;
    uint32_t loop, region;
    bool is_edit;

    if (!read_line(&l, &is_edit))
        return NULL;
    if (is_edit || !set_field(doc, &l))
        profile = psnap_profile_read_document(doc, error);
    if (profile && is_edit) {
        l.edit.loop = *l.ids[LOOP] ? l.ids[LOOP] : NULL;
        l.edit.object = *l.ids[OBJECT] ? l.ids[OBJECT] : NULL;
        l.edit.regions = l.region_names;
        l.edit.fields = l.fields;
        status = psnap_profile_edit(profile, &l.edit, &loop, &region, error);
        if (status && status != PSNAP_ERROR_MEMORY)
            place(doc, loop, region, error);
        memcpy(said, error->message, sizeof said);
    }
    if (profile && !status) {
        profile->certificate = NULL;
        text = edit_write_checked(profile, size, error);
    }
    if (text)
        memcpy(error->message, said, sizeof said);
    psnap_profile_free(profile);
    return text;
}

/* Cuts the first edit off a list, *rest becoming what follows; NULL: there is none. */
static char *next_line(char **rest)
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

char *edit_lines(struct psnap_yaml_doc *doc, const char *lines, const char *name,
                 const char *prefix, size_t *size, struct psnap_error *error)
{
    char *copy = strdup(lines), *rest = copy, *line, *text = NULL;

    psnap_error_set(error, copy ? PSNAP_ERROR_USAGE : PSNAP_ERROR_MEMORY,
                    copy ? "an edit is missing" : "out of memory");
    while (doc && (line = next_line(&rest))) {
        free(text);
        text = edit_line(doc, line, size, error);
        psnap_yaml_doc_free(doc);
        if (text && prefix && *error->message)
            psnap_print(stderr, "%s: %s: %s\n", prefix, line, error->message);
        doc = text && rest ? psnap_yaml_read_text(text, *size, name, error) : NULL;
    }
    psnap_yaml_doc_free(doc);
    free(copy);
    return text;
}
