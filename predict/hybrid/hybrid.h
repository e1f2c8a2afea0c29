/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The whole analysis of psnap hybrid: an experiment of each code (sizes x machines), the one of all
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

/* A pair of machines. */
struct hybrid_pair {
    uint32_t first, second;          /* of the code's machines */
    struct m0_difference difference; /* at all common sizes */
    struct m0_difference steady;     /* at those from the code's steady_from on; of 0 sizes */
};

struct hybrid_code {
    uint32_t code;
    uint32_t *machines; /* that it was observed on, in the order of the file */
    double *sizes;      /* ascending */
    uint32_t machine_count, size_count;
    size_t count;        /* observations */
    bool has_experiment; /* A is the size, B the machine, the response cpi */
    struct anova experiment;
    bool is_refused; /* it should have one, but */
    struct psnap_error refusal;
    size_t *rows;              /* which rows of the observations they are, in order */
    struct m0_curve *curves;   /* by machine */
    struct hybrid_pair *pairs; /* of machines that m0 is known of */
    size_t pair_count;
    /* Whether curves of m0 are parallel: the interaction of size and machine. NAN: there are not
     * enough observations. */
    double parallel_f, parallel_df, parallel_residual_df, parallel_p;
    bool is_known;          /* whether it scales predictably: */
    bool is_predictable;    /* m0 is steady on each machine */
    double steady_from;     /* on all of them; NAN */
    bool is_constant;       /* of all pairs */
    bool is_constant_there; /* from steady_from on */
    char verdict[512];      /* in words */
};

enum {
    HYPOTHESIS_OVERALL,
    HYPOTHESIS_CODE,
    HYPOTHESIS_MACHINE,
    HYPOTHESIS_INTERACTION,
    HYPOTHESES
};

struct hypothesis {
    bool is_tested;
    char why[256]; /* it is not */
    struct anova_effect effect;
    double residual_df;
    bool is_rejected;
    struct anova_checks checks; /* of its response */
};

struct hybrid {
    struct hybrid_code *codes;
    size_t code_count, refused; /* so many codes cannot be analysed */
    bool has_hypotheses;        /* one or more are tested */
    struct hypothesis hypotheses[HYPOTHESES];
};

/* "overall", "code", "machine", "interaction"; the response of each; and of each what is claimed,
 * and what to do next when it is rejected or not. */
const char *hypothesis_name(int hypothesis);
const char *hypothesis_response(int hypothesis);
const char *hypothesis_claim(int hypothesis);
const char *hypothesis_next(int hypothesis, bool is_rejected);

/* The caller releases it, also after an error. Codes that cannot be analysed are refused each by
 * itself; an error, that of the first of them, where nothing else is known. */
enum psnap_status hybrid_make(struct hybrid *hybrid, const struct observations *observations,
                              const struct hybrid_options *options, struct psnap_error *error);
void hybrid_release(struct hybrid *hybrid);

/* By hybrid_make: hypotheses, of which the means of each code, machine and size are the
 * observations; and the verdict on a code. */
enum psnap_status hypotheses_make(struct hybrid *hybrid, const struct observations *observations,
                                  const struct hybrid_options *options, struct psnap_error *error);
void verdict_make(struct hybrid_code *code, const struct observations *observations,
                  const struct hybrid_options *options);

#endif
