/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bandwidth as a function of where accesses are satisfied. BANDWIDTH.md has the equations, and
 * says which of them are published.
 *
 * A source is a level of the machine, or its memory, and behind level 1 perhaps a kind of stream
 * (supply.h); a stream's rates are the shares of its accesses that each source satisfies. Source 0
 * is level 1; the others follow by level, and by kind within.
 */
#ifndef PSNAP_PREDICT_BANDWIDTH_MODEL_H
#define PSNAP_PREDICT_BANDWIDTH_MODEL_H

#include "predict/bandwidth/maps.h"

enum { SOURCES_MAX = 1 + PSNAP_LEVELS_MAX * SUPPLY_KINDS };

struct sources {
    uint32_t count;
    uint32_t level[SOURCES_MAX]; /* from 0 on */
    enum supply_kind kind[SOURCES_MAX];
    bool by_kind; /* else `kind` says nothing: all kinds of a level are one source */
    uint32_t of[SUPPLY_LEVELS][SUPPLY_KINDS]; /* the source of each, or the nearest that there is */
};

/* The sources that the points have, but for traces of them. A kind without points is taken for the
 * next one of its level, and a level without any for the level before it. */
void sources_choose(struct sources *sources, const struct map_point *const *points, size_t count,
                    uint32_t level_count, bool by_kind);
/* From sources that were chosen (of a file): fills `of`. */
void sources_complete(struct sources *sources);
void sources_rates(const struct sources *sources, const struct supply *supply,
                   double rates[SOURCES_MAX]);

/* --------------------------------------------------------------------- models */

enum bandwidth_method {
    METHOD_GA,       /* the published function, fitted by a genetic algorithm */
    METHOD_NLOPT,    /* the same function, by NLopt */
    METHOD_NNLS,     /* times with overlap, by non-negative least squares */
    METHOD_AVERAGED, /* bandwidths in proportion to hits */
    METHOD_ADDITIVE, /* times in proportion to hits */
    METHODS
};
/* "ga", "nlopt", "nnls", "averaged", "additive" */
const char *bandwidth_method_name(enum bandwidth_method method);

/* F of the paper: bandwidths b and times c of each source, penalties of levels 1 and 2. */
struct penalised {
    double b[SOURCES_MAX]; /* bytes per second */
    double c[SOURCES_MAX]; /* of an access, relative: c[0] is 1 */
    double f[2], x[2];
};
double penalised_bandwidth(const struct penalised *penalised, const struct sources *sources,
                           const double rates[SOURCES_MAX]);

enum { OVERLAPS = 3 };

/* Seconds of an access: `first` at least; of source s, a form of degree 2 in the share h of
 * accesses that hit in level 1: (1-h)^2 t[s][0] + 2 h (1-h) t[s][1] + h^2 t[s][2]. */
struct overlapped {
    double first;
    double t[SOURCES_MAX][OVERLAPS]; /* t[0] is not used */
};

struct bandwidth_model {
    enum bandwidth_method method;
    struct sources sources;
    union {
        struct penalised penalised;    /* METHOD_GA, METHOD_NLOPT */
        struct overlapped overlapped;  /* METHOD_NNLS */
        double bandwidth[SOURCES_MAX]; /* METHOD_AVERAGED, METHOD_ADDITIVE: bytes per second */
    };
};

/* Bytes per second of a stream of accesses of MAP_WORD_BYTES; above 0. */
double bandwidth_of_rates(const struct bandwidth_model *model, const double rates[SOURCES_MAX]);
double bandwidth_of(const struct bandwidth_model *model, const struct supply *supply);

/* -------------------------------------------------------------------- fitting */

/* What a model is fitted to: points as rates. */
struct sample {
    double rates[SOURCES_MAX];
    double bandwidth; /* measured, bytes per second */
};

struct samples {
    struct sources sources;
    struct sample *items;
    size_t count;
};

struct genetic_settings {
    uint32_t population, generations; /* of all islands together: 10000, 200 */
    uint32_t threads;
    uint64_t seed;
    /* Told after each generation; may be NULL. */
    void (*tell)(void *context, uint32_t generation, double error);
    void *context;
};

/* The mean of |F - B| / B over the samples. */
double samples_error(const struct samples *samples, const struct bandwidth_model *model);

/* Each fills the model, which has its sources; a library that this build has not is an error. */
enum psnap_status fit_genetic(const struct samples *samples,
                              const struct genetic_settings *settings, struct penalised *fitted,
                              uint32_t *generations, struct psnap_error *error);
enum psnap_status fit_nlopt(const struct samples *samples, uint64_t seed, struct penalised *fitted,
                            struct psnap_error *error);
enum psnap_status fit_overlapped(const struct samples *samples, struct overlapped *fitted,
                                 struct psnap_error *error);
bool fit_nlopt_is_built(void);
/* The bandwidth of each source by METHOD_AVERAGED or METHOD_ADDITIVE, as explains the samples best.
 * Of sources that samples have in one proportion the first may get all of the time. */
enum psnap_status fit_plain(const struct samples *samples, enum bandwidth_method method,
                            double bandwidth[SOURCES_MAX], struct psnap_error *error);

#endif
