/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The islands of the genetic algorithm, for fit_genetic() and its test.
 */
#ifndef PSNAP_PREDICT_BANDWIDTH_FIT_GENETIC_H
#define PSNAP_PREDICT_BANDWIDTH_FIT_GENETIC_H

#include "formats/base/rng.h"
#include "predict/bandwidth/fit_genes.h"

enum {
    ISLANDS = 6,
    GENETIC_FLAT = 25 /* it ends after so many generations in which the error got no better */
};

#define GENETIC_BETTER 1e-3 /* an error is better when it is smaller by this share */

enum culture { DARWINIAN, LAMARCKIAN, BALDWINIAN, CULTURES };

struct individual {
    double genes[GENES_MAX];
    double error; /* of the genes; of a Baldwinian that has learnt, what it had then */
};

struct island {
    enum culture culture;
    struct psnap_rng rng;
    struct individual *people, *children; /* [size] */
    uint32_t size, best;
};

struct archipelago {
    const struct genes *genes;
    struct island islands[ISLANDS];
    uint32_t threads, generation;
};

/* The first generation. False: out of memory; the caller releases it then, too. The genes outlive
 * it. */
bool archipelago_init(struct archipelago *all, const struct genes *genes,
                      const struct genetic_settings *settings);
void archipelago_release(struct archipelago *all);
/* The next generation of all islands, and migration. */
void archipelago_advance(struct archipelago *all);

/* A child of two of the island's people; whether and how it learns is the island's culture. */
void island_bear(const struct genes *genes, struct island *island, struct individual *child);

#endif
