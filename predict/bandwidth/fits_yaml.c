/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fits as YAML. BANDWIDTH.md documents the form.
 */
#include <math.h>
#include <string.h>

#include "formats/base/reals.h"
#include "formats/base/yaml.h"
#include "predict/bandwidth/fit.h"

enum { FITS_VERSION = 1 };

#define RATE_MIN                                                                                   \
    1e-30 /* the least relative time, x or bandwidth: the genetic algorithm's are from e^-60 on */
#define RATE_MAX 1e30

/* --------------------------------------------------------------------- writing */

static void add_known(struct psnap_yaml_doc *doc, struct psnap_yaml_node *map, const char *key,
                      double value)
{
    if (isfinite(value))
        psnap_yaml_add_real(doc, map, key, psnap_reals_round(value, 4));
}

static bool is_penalised(enum bandwidth_method method)
{
    return method == METHOD_GA || method == METHOD_NLOPT;
}

/* A time below a femtosecond is how a fit says that a source costs nothing: it is written as 0. */
static double in_nanoseconds(double seconds)
{
    return seconds < 1e-15 ? 0 : psnap_reals_round(1e9 * seconds, 6);
}

static void add_source(struct psnap_yaml_doc *doc, struct psnap_yaml_node *list,
                       const struct bandwidth_model *model, uint32_t s)
{
    struct psnap_yaml_node *map = psnap_yaml_add_map(doc, list, NULL, PSNAP_YAML_FLOW);

    psnap_yaml_add_u64(doc, map, "level", model->sources.level[s] + 1);
    if (s && model->sources.by_kind)
        psnap_yaml_add_text(doc, map, "kind", supply_kind_name(model->sources.kind[s]));
    if (model->method == METHOD_NNLS) {
        const double *t = model->overlapped.t[s];
        struct psnap_yaml_node *times =
            psnap_yaml_add_sequence(doc, map, "nanoseconds", PSNAP_YAML_FLOW);

        for (int i = 0; i < (s ? OVERLAPS : 1); i++)
            psnap_yaml_add_real(doc, times, NULL,
                                in_nanoseconds(s ? t[i] : model->overlapped.first));
        return;
    }
    psnap_yaml_add_real(
        doc, map, "bandwidth_bytes_per_s",
        psnap_reals_round(is_penalised(model->method) ? model->penalised.b[s] : model->bandwidth[s],
                          6));
    if (is_penalised(model->method))
        psnap_yaml_add_real(doc, map, "relative_time", psnap_reals_round(model->penalised.c[s], 6));
}

static void add_result(struct psnap_yaml_doc *doc, struct psnap_yaml_node *list,
                       const struct fit_result *result)
{
    const struct bandwidth_model *model = &result->model;
    struct psnap_yaml_node *map = psnap_yaml_add_map(doc, list, NULL, PSNAP_YAML_BLOCK), *part;

    psnap_yaml_add_text(doc, map, "method", bandwidth_method_name(model->method));
    psnap_yaml_add_u64(doc, map, "points", result->points);
    add_known(doc, map, "mean_error", result->mean_error);
    add_known(doc, map, "held_out_error", result->held_out_error);
    add_known(doc, map, "held_out_spread", result->held_out_spread);
    part = psnap_yaml_add_sequence(doc, map, "sources", PSNAP_YAML_BLOCK);
    for (uint32_t s = 0; s < model->sources.count; s++)
        add_source(doc, part, model, s);
    if (!is_penalised(model->method))
        return;
    part = psnap_yaml_add_sequence(doc, map, "penalties", PSNAP_YAML_FLOW);
    for (int i = 0; i < 2; i++) {
        struct psnap_yaml_node *penalty = psnap_yaml_add_map(doc, part, NULL, PSNAP_YAML_FLOW);

        psnap_yaml_add_real(doc, penalty, "f", psnap_reals_round(model->penalised.f[i], 6));
        psnap_yaml_add_real(doc, penalty, "x", psnap_reals_round(model->penalised.x[i], 6));
    }
}

enum psnap_status fits_write(const struct fits *fits, FILE *file, struct psnap_error *error)
{
    struct psnap_yaml_doc *doc = psnap_yaml_doc_new("fits");
    struct psnap_yaml_node *root, *list;
    enum psnap_status status;

    if (!doc)
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for a fit");
    root = psnap_yaml_add_map(doc, NULL, NULL, PSNAP_YAML_BLOCK);
    psnap_yaml_add_u64(doc, root, "psnap_fit", FITS_VERSION);
    psnap_yaml_add_text(doc, root, "processor", fits->origin.processor);
    psnap_yaml_add_text(doc, root, "measured", fits->origin.date);
    if (fits->machine.levels[0].size_bytes)
        psnap_machine_add(&fits->machine, doc, root);
    if (fits->latencies[0] > 0) {
        list = psnap_yaml_add_sequence(doc, root, "latencies_ns", PSNAP_YAML_FLOW);
        for (uint32_t i = 0; i <= fits->machine.level_count; i++)
            psnap_yaml_add_real(doc, list, NULL, psnap_reals_round(1e9 * fits->latencies[i], 4));
    }
    list = psnap_yaml_add_sequence(doc, root, "methods", PSNAP_YAML_BLOCK);
    for (size_t i = 0; i < fits->count; i++)
        add_result(doc, list, &fits->results[i]);
    status = psnap_yaml_write(doc, file, error);
    psnap_yaml_doc_free(doc);
    return status;
}

/* --------------------------------------------------------------------- reading */

struct reader {
    const struct psnap_yaml_doc *doc;
    struct psnap_error *error;
    enum psnap_status status; /* the first failure; nothing is read behind it */
    uint32_t level_count;     /* of the machine */
};

static double real(struct reader *reader, const struct psnap_yaml_node *map, const char *key,
                   double low, double high)
{
    const struct psnap_yaml_node *node = NULL;
    double value = 0;

    if (reader->status)
        return 0;
    node = psnap_yaml_require(reader->doc, map, key, reader->error);
    reader->status = node ? psnap_yaml_real(reader->doc, node, low, high, &value, reader->error)
                          : reader->error->code;
    return value;
}

static uint64_t whole(struct reader *reader, const struct psnap_yaml_node *map, const char *key,
                      uint64_t low, uint64_t high)
{
    const struct psnap_yaml_node *node = NULL;
    uint64_t value = low;

    if (reader->status)
        return low;
    node = psnap_yaml_require(reader->doc, map, key, reader->error);
    reader->status = node ? psnap_yaml_u64(reader->doc, node, low, high, &value, reader->error)
                          : reader->error->code;
    return value;
}

static double optional(struct reader *reader, const struct psnap_yaml_node *map, const char *key)
{
    return psnap_yaml_get(map, key) ? real(reader, map, key, 0, 1e9) : NAN;
}

static void fail(struct reader *reader, const struct psnap_yaml_node *node, const char *what)
{
    if (!reader->status)
        reader->status =
            psnap_yaml_fail(reader->doc, node, reader->error, PSNAP_ERROR_VALUE, "%s", what);
}

/* Sources are in order, so a second one of a level and kind is next to the first. */
static bool is_behind(const struct sources *sources, uint32_t s, uint32_t before)
{
    if (sources->level[s] != sources->level[before])
        return sources->level[s] > sources->level[before];
    return sources->by_kind && sources->kind[s] > sources->kind[before];
}

static void read_place(struct reader *reader, const struct psnap_yaml_node *map,
                       struct sources *sources)
{
    const struct psnap_yaml_node *kind = psnap_yaml_get(map, "kind");
    const uint32_t s = sources->count;
    bool is_known = !kind;

    sources->level[s] = (uint32_t)whole(reader, map, "level", 1, reader->level_count + 1) - 1;
    if ((s == 0) != (sources->level[s] == 0))
        fail(reader, map, "sources are by level, one for level 1 first");
    if (kind && s == 0)
        fail(reader, kind, "level 1 has no kinds");
    if (s > 1 && sources->by_kind != (kind != NULL))
        fail(reader, map, "all sources behind level 1 have a kind, or none");
    sources->by_kind |= kind != NULL;
    for (int k = 0; kind && kind->kind == PSNAP_YAML_SCALAR && k < SUPPLY_KINDS; k++)
        if (!strcmp(kind->text, supply_kind_name((enum supply_kind)k))) {
            sources->kind[s] = (enum supply_kind)k;
            is_known = true;
        }
    if (!is_known)
        fail(reader, kind, "kinds are near, beside, skip, far and lost");
    if (s && !is_behind(sources, s, s - 1))
        fail(reader, map,
             "sources are by level, and by kind (near, beside, skip, far, lost) within, each once");
}

static void read_times(struct reader *reader, const struct psnap_yaml_node *map,
                       struct bandwidth_model *model, uint32_t s)
{
    const struct psnap_yaml_node *list = NULL;
    int i = 0;

    if (!reader->status) {
        list = psnap_yaml_require(reader->doc, map, "nanoseconds", reader->error);
        reader->status = list ? psnap_yaml_expect(reader->doc, list, PSNAP_YAML_SEQUENCE,
                                                  "nanoseconds", reader->error)
                              : reader->error->code;
    }
    if (!reader->status && list->count != (s ? OVERLAPS : 1))
        fail(reader, list, "level 1 has one time, other sources have three");
    for (const struct psnap_yaml_node *each = reader->status ? NULL : list->first; each;
         each = each->next, i++) {
        double value = 0;

        if (!reader->status)
            reader->status =
                psnap_yaml_real(reader->doc, each, s ? 0 : 1e-6, 1e9, &value, reader->error);
        *(s ? &model->overlapped.t[s][i] : &model->overlapped.first) = 1e-9 * value;
    }
}

static void read_source(struct reader *reader, const struct psnap_yaml_node *map,
                        struct bandwidth_model *model)
{
    static const char *const plain[] = {"level", "kind", "bandwidth_bytes_per_s", NULL};
    static const char *const penalised[] = {"level", "kind", "bandwidth_bytes_per_s",
                                            "relative_time", NULL};
    static const char *const overlapped[] = {"level", "kind", "nanoseconds", NULL};
    const bool has_penalties = is_penalised(model->method);
    const char *const *keys = model->method == METHOD_NNLS ? overlapped
                              : has_penalties              ? penalised
                                                           : plain;
    const uint32_t s = model->sources.count;

    if (!reader->status)
        reader->status = psnap_yaml_expect_keys(reader->doc, map, "a source", keys, reader->error);
    if (reader->status)
        return;
    read_place(reader, map, &model->sources);
    if (model->method == METHOD_NNLS) {
        read_times(reader, map, model, s);
    } else if (has_penalties) {
        model->penalised.b[s] = real(reader, map, "bandwidth_bytes_per_s", RATE_MIN, RATE_MAX);
        model->penalised.c[s] = real(reader, map, "relative_time", RATE_MIN, RATE_MAX);
    } else {
        model->bandwidth[s] = real(reader, map, "bandwidth_bytes_per_s", 1, RATE_MAX);
    }
    model->sources.count++;
}

static void read_penalties(struct reader *reader, const struct psnap_yaml_node *map,
                           struct penalised *penalised)
{
    static const char *const keys[] = {"f", "x", NULL};
    const struct psnap_yaml_node *list =
        reader->status ? NULL : psnap_yaml_require(reader->doc, map, "penalties", reader->error);
    int i = 0;

    if (!list || list->kind != PSNAP_YAML_SEQUENCE || list->count != 2) {
        if (list)
            fail(reader, list, "penalties are two, of level 1 and level 2");
        else if (!reader->status)
            reader->status = reader->error->code;
        return;
    }
    for (const struct psnap_yaml_node *each = list->first; each; each = each->next, i++) {
        if (!reader->status)
            reader->status =
                psnap_yaml_expect_keys(reader->doc, each, "a penalty", keys, reader->error);
        penalised->f[i] = real(reader, each, "f", -1e9, 1e9);
        penalised->x[i] = real(reader, each, "x", RATE_MIN, RATE_MAX);
    }
}

/* The method's name, which no method before it has. */
static void read_name(struct reader *reader, const struct psnap_yaml_node *map, struct fits *fits)
{
    const struct psnap_yaml_node *node = psnap_yaml_get(map, "method");
    struct bandwidth_model *model = &fits->results[fits->count].model;
    bool is_known = false;

    for (int i = 0; node && node->kind == PSNAP_YAML_SCALAR && i < METHODS; i++)
        if (!strcmp(node->text, bandwidth_method_name((enum bandwidth_method)i))) {
            model->method = (enum bandwidth_method)i;
            is_known = true;
        }
    if (!is_known)
        fail(reader, node ? node : map, "method is ga, nlopt, nnls, averaged or additive");
    for (size_t i = 0; i < fits->count; i++)
        if (fits->results[i].model.method == model->method)
            fail(reader, node ? node : map, "this method is there already");
}

static void read_method(struct reader *reader, const struct psnap_yaml_node *map, struct fits *fits)
{
    static const char *const keys[] = {"method",          "points",  "mean_error", "held_out_error",
                                       "held_out_spread", "sources", "penalties",  NULL};
    struct fit_result *result = &fits->results[fits->count];
    struct bandwidth_model *model = &result->model;
    const struct psnap_yaml_node *node;

    reader->status = psnap_yaml_expect_keys(reader->doc, map, "a method", keys, reader->error);
    read_name(reader, map, fits);
    result->points = (uint32_t)whole(reader, map, "points", 0, UINT32_MAX);
    result->mean_error = optional(reader, map, "mean_error");
    result->held_out_error = optional(reader, map, "held_out_error");
    result->held_out_spread = optional(reader, map, "held_out_spread");
    node = psnap_yaml_get(map, "sources");
    if (!node || node->kind != PSNAP_YAML_SEQUENCE || !node->count || node->count > SOURCES_MAX)
        fail(reader, node ? node : map, "sources are a list, from level 1 on");
    for (node = reader->status ? NULL : node->first; node && !reader->status; node = node->next)
        read_source(reader, node, model);
    node = psnap_yaml_get(map, "penalties");
    if (is_penalised(model->method))
        read_penalties(reader, map, &model->penalised);
    else if (node)
        fail(reader, node, "only ga and nlopt have penalties");
    sources_complete(&model->sources);
}

/* One of each level, and of memory. */
static void read_latencies(struct reader *reader, const struct psnap_yaml_node *list,
                           double latencies[SUPPLY_LEVELS])
{
    int level = 0;

    if (!list || reader->status)
        return;
    if (list->kind != PSNAP_YAML_SEQUENCE || list->count != reader->level_count + 1)
        fail(reader, list, "latencies_ns has a number for each level, and one for memory");
    for (const struct psnap_yaml_node *each = reader->status ? NULL : list->first;
         each && !reader->status; each = each->next, level++) {
        double value = 0;

        reader->status = psnap_yaml_real(reader->doc, each, 1e-6, 1e9, &value, reader->error);
        latencies[level] = 1e-9 * value;
    }
}

static void read_root(struct reader *reader, struct fits *fits)
{
    static const char *const keys[] = {"psnap_fit",    "processor", "measured", "machine",
                                       "latencies_ns", "methods",   NULL};
    const struct psnap_yaml_node *root = psnap_yaml_root(reader->doc), *node;

    if (psnap_yaml_get(root, "psnap_maps"))
        fail(reader, root, "these are points, of which 'psnap fit' makes a fit");
    else
        reader->status = psnap_yaml_expect_keys(reader->doc, root, "a fit", keys, reader->error);
    whole(reader, root, "psnap_fit", 1, FITS_VERSION);
    node = psnap_yaml_get(root, "processor");
    if (node && node->kind == PSNAP_YAML_SCALAR)
        snprintf(fits->origin.processor, sizeof fits->origin.processor, "%s", node->text);
    if (!reader->status) {
        node = psnap_yaml_get(root, "machine");
        if (!node)
            fail(reader, root,
                 "no machine, so there are no hit rates to take through this fit: 'psnap multimaps "
                 "--of POINTS.yaml -m MACHINE' gives its points one");
        else
            reader->status = psnap_machine_take(reader->doc, node, &fits->machine, reader->error);
    }
    reader->level_count = fits->machine.level_count;
    read_latencies(reader, psnap_yaml_get(root, "latencies_ns"), fits->latencies);
    node = psnap_yaml_get(root, "methods");
    if (!node || node->kind != PSNAP_YAML_SEQUENCE || !node->count || node->count > METHODS)
        fail(reader, node ? node : root, "methods are a list of one to five");
    for (node = reader->status ? NULL : node->first; node && !reader->status; node = node->next) {
        read_method(reader, node, fits);
        fits->count++;
    }
}

enum psnap_status fits_read(FILE *file, const char *name, struct fits *fits,
                            struct psnap_error *error)
{
    struct psnap_yaml_doc *doc = psnap_yaml_read(file, name, error);
    struct reader reader = {.doc = doc, .error = error};

    *fits = (struct fits){.origin.cpu = -1};
    if (!doc)
        return error->code;
    read_root(&reader, fits);
    psnap_yaml_doc_free(doc);
    return reader.status;
}
