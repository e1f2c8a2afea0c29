/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The whole analysis of psnap hybrid: an experiment of each code (sizes x machines), one of all
 * codes on all machines with its four hypotheses, and m0. HYBRID.md has the models.
 */
#ifndef PSNAP_PREDICT_HYBRID_HYBRID_H
#define PSNAP_PREDICT_HYBRID_HYBRID_H

#include "predict/hybrid/anova.h"
#include "predict/hybrid/m0.h"

struct hybrid_options {
    double level;             /* of significance, between 0 and 1 */
    double steady;            /* the tolerance of m0 */
    bool sizes_as_replicates; /* of codes there are no experiments of their own */
};

/* A response, analysed over sizes and machines, or codes and machines. */
struct hybrid_experiment {
    const char *response; /* NULL: none was made */
    char why_not[256];    /* it could not be; "": it was */
    struct anova anova;
    size_t observations;
    uint32_t largest_line; /* of the largest residual, where observations are single lines; or 0 */
};

/* A row of the table of effects. Numbers are NAN where it was not tested. */
struct hybrid_effect {
    const char *name, *response;
    struct anova_effect test;
    double residual_df;
    enum answer is_rejected;
    const char *claim, *next; /* of a hypothesis, and of its decision; NULL */
    const char *why_not;      /* it was not tested; NULL */
};

/* A pair of machines on which m0 of a code has common sizes. */
struct hybrid_pair {
    const char *of, *from;
    double from_size; /* 0: at all sizes; else at those from the code's steady_from on */
    struct m0_difference difference;
};

struct hybrid_code {
    const char *name;
    const struct observation *rows; /* by machine and size */
    size_t count, size_count;
    double *sizes;           /* ascending */
    struct m0_curve *curves; /* by machine */
    size_t curve_count;
    struct hybrid_experiment of_cpi, of_m0;
    struct hybrid_effect effects[4]; /* on cpi: size, machine, interaction, residual */
    struct hybrid_effect parallel;   /* on m0: interaction */
    struct psnap_error refusal;      /* why there is no experiment on cpi; no message: there is */
    struct hybrid_pair *pairs;
    size_t pair_count;
    enum answer is_predictable; /* m0 is steady on each machine, */
    double steady_from;         /* from this size on; NAN */
    char verdict[512];          /* in words */
};

enum { HYBRID_HYPOTHESES = 4, HYBRID_RESPONSES = 3 };

struct hybrid {
    struct hybrid_code *codes;
    size_t code_count, refused; /* and so many codes cannot be analysed */
    /* Of codes x machines: cpi, cpi_pipeline, cpi_memory; overall, code, machine, interaction. */
    struct hybrid_experiment experiments[HYBRID_RESPONSES];
    struct hybrid_effect hypotheses[HYBRID_HYPOTHESES];
};

/* Sorts the observations and analyses them; the hybrid points to them and lies in their arena.
 * Codes that cannot be analysed are refused each by itself; an error, that of the first of them,
 * where nothing else is known. */
enum psnap_status hybrid_make(struct hybrid *hybrid, struct observations *observations,
                              const struct hybrid_options *options, struct psnap_error *error);

#endif
