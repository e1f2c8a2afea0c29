/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Run times from the JSON of psnap's predictions: the rows of scope "total", as predicted times, of
 * one method where there are several: that of the least error where the document has errors, as
 * that of fitted bandwidths does, or else "overlap", which comes nearest as AMM.md has it. The
 * application is the base name of the input (of the row, or else of the document) up to its first
 * dot. JSON is read as the YAML that it is.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/text.h"
#include "formats/base/yaml.h"
#include "predict/rank/times.h"

struct reading {
    struct times *times;
    const struct psnap_yaml_doc *doc;
    const char *path, *method, *input; /* of the document, or NULL */
};

static const char *text_at(const struct psnap_yaml_node *row, const char *key)
{
    const struct psnap_yaml_node *node = psnap_yaml_get(row, key);

    return node && node->kind == PSNAP_YAML_SCALAR ? node->text : NULL;
}

static bool is_read(const struct reading *reading, const struct psnap_yaml_node *row)
{
    const char *scope = text_at(row, "scope"), *method = text_at(row, "method");

    if (scope && strcmp(scope, "total") != 0)
        return false;
    return !reading->method || !method || !strcmp(method, reading->method);
}

/* The base name up to its first dot; owned by the caller, NULL: out of memory. */
static char *application_of(const char *input)
{
    const char *name = psnap_text_base_name(input);
    const size_t length = strcspn(name, ".");

    return strndup(name, length ? length : strlen(name));
}

static enum psnap_status put(const struct reading *reading, const struct psnap_yaml_node *row,
                             const char *application, struct psnap_error *error)
{
    const struct psnap_yaml_node *seconds = psnap_yaml_get(row, "seconds"),
                                 *cores = psnap_yaml_get(row, "cores");
    struct times_record record = {.application = application, .machine = text_at(row, "machine")};
    const bool is_null = seconds && seconds->kind == PSNAP_YAML_SCALAR && !seconds->quoted &&
                         !strcmp(seconds->text, "null");
    double value = NAN;
    enum psnap_status status = PSNAP_OK;

    if (!record.machine || !*record.machine || !seconds)
        return psnap_yaml_fail(
            reading->doc, row, error, PSNAP_ERROR_VALUE,
            "a row without %s: 'psnap predict runtime --json' and 'psnap predict "
            "bandwidth --json' make what is read here",
            seconds ? "machine" : "seconds");
    if (!is_null)
        status = psnap_yaml_real(reading->doc, seconds, 0, HUGE_VAL, &value, error);
    if (!status && cores)
        status = psnap_yaml_u64(reading->doc, cores, 1, UINT32_MAX, &record.cores, error);
    record.place = (struct times_place){reading->path, seconds->src_line, seconds->column};
    return status ? status : times_put(reading->times, &record, TIMES_PREDICTED, value, error);
}

/* ------------------------------------------------------------------------ method */

/* Whether a row that is read is by this method. */
static bool has_method(const struct reading *reading, const struct psnap_yaml_node *rows,
                       const char *method)
{
    for (const struct psnap_yaml_node *row = rows->first; row; row = row->next)
        if (is_read(reading, row) && text_at(row, "method") &&
            !strcmp(text_at(row, "method"), method))
            return true;
    return false;
}

/* The error that the document has of a method: of points that were held out from its fit, or else
 * of all points; NaN: neither. */
static double error_of(const struct psnap_yaml_node *method, const char *key)
{
    const char *text = text_at(method, key);
    double value;

    return text && psnap_text_real(text, &value) && value >= 0 ? value : NAN;
}

/* The method of the rows that has the least error by `key`; NULL: the errors are not known of all
 * methods. */
static const char *best_method(const struct reading *reading, const struct psnap_yaml_node *rows,
                               const char *key)
{
    const struct psnap_yaml_node *methods =
        psnap_yaml_get(psnap_yaml_root(reading->doc), "methods");
    const char *best = NULL;
    double least = NAN;

    for (const struct psnap_yaml_node *method = methods ? methods->first : NULL; method;
         method = method->next) {
        const char *name = text_at(method, "method");
        const double error = error_of(method, key);

        if (!name || !has_method(reading, rows, name))
            continue;
        if (isnan(error))
            return NULL;
        if (!best || error < least) {
            best = name;
            least = error;
        }
    }
    return best;
}

/* Sets the method that is read where rows are by several and none is asked for. */
static enum psnap_status choose_method(struct reading *reading, const struct psnap_yaml_node *rows,
                                       struct psnap_error *error)
{
    const char *first = NULL, *second = NULL;

    for (const struct psnap_yaml_node *row = reading->method ? NULL : rows->first; row && !second;
         row = row->next) {
        const char *method = is_read(reading, row) ? text_at(row, "method") : NULL;

        if (!first)
            first = method;
        else if (method && strcmp(first, method) != 0)
            second = method;
    }
    if (!second)
        return PSNAP_OK;
    reading->method = best_method(reading, rows, "held_out_error");
    if (!reading->method)
        reading->method = best_method(reading, rows, "mean_error");
    if (!reading->method && has_method(reading, rows, "overlap"))
        reading->method = "overlap";
    return reading->method
               ? PSNAP_OK
               : psnap_yaml_fail(reading->doc, rows, error, PSNAP_ERROR_VALUE,
                                 "rows are by several methods, '%.50s' and '%.50s' among them: "
                                 "--method chooses one",
                                 first, second);
}

/* -------------------------------------------------------------------------- rows */

static enum psnap_status read_row(const struct reading *reading, const struct psnap_yaml_node *row,
                                  struct psnap_error *error)
{
    const char *input = text_at(row, "input");
    char *application;
    enum psnap_status status;

    if (!input || !*input)
        input = reading->input;
    if (!input || !*input)
        return psnap_yaml_fail(reading->doc, row, error, PSNAP_ERROR_VALUE,
                               "neither the row nor the document says of which input it is");
    application = application_of(input);
    status = application
                 ? put(reading, row, application, error)
                 : psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for the run times");
    free(application);
    return status;
}

static enum psnap_status read_rows(struct reading *reading, struct psnap_error *error)
{
    const struct psnap_yaml_node *root = psnap_yaml_root(reading->doc), *rows;
    const char *failure = text_at(psnap_yaml_get(root, "error"), "message");
    size_t count = 0;
    enum psnap_status status = PSNAP_OK;

    if (failure)
        return psnap_yaml_fail(reading->doc, root, error, PSNAP_ERROR_VALUE,
                               "the prediction has failed: %.300s", failure);
    rows = psnap_yaml_require(reading->doc, root, "rows", error);
    if (!rows)
        return error->code;
    status = psnap_yaml_expect(reading->doc, rows, PSNAP_YAML_SEQUENCE, "rows", error);
    if (!status)
        status = choose_method(reading, rows, error);
    for (const struct psnap_yaml_node *row = status ? NULL : rows->first; row && !status;
         row = row->next)
        if (is_read(reading, row)) {
            status = read_row(reading, row, error);
            count++;
        }
    if (!status && !count)
        status = psnap_yaml_fail(
            reading->doc, rows, error, PSNAP_ERROR_VALUE, "no row of scope 'total'%s%.50s%s",
            reading->method ? " by method " : "", reading->method ? reading->method : "",
            reading->method ? ": --method chooses one" : "");
    return status;
}

enum psnap_status times_read_json(struct times *times, FILE *file, const char *path,
                                  const char *method, struct psnap_error *error)
{
    struct psnap_yaml_doc *doc = psnap_yaml_read(file, path, error);
    struct reading reading = {.times = times, .doc = doc, .path = path, .method = method};
    enum psnap_status status;

    if (!doc)
        return error->code;
    reading.input = text_at(psnap_yaml_root(doc), "input");
    status = read_rows(&reading, error);
    psnap_yaml_doc_free(doc);
    return status;
}
