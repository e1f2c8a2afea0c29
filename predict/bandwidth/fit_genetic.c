/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The published function (model.c) by the paper's genetic algorithm: six islands, two each of which
 * are Darwinian (children are as they are born), Lamarckian (what a child learns it passes on) and
 * Baldwinian (what it learns counts for its fitness, but is not passed on). Mutation 0.8, two-point
 * crossover 0.8, migration 0.01. Fitness is the sum of absolute relative errors.
 *
 * The paper leaves open, and here is: genes are logarithms of b, c and x, and f itself; half of the
 * first generation begins near the bandwidths that sources have alone (fit_plain), the other half
 * anywhere; parents win tournaments of three; a mutation adds normal noise to one to three genes,
 * whose deviation is one of three; a child in eight learns, by trying steps of one gene to either
 * side; each island keeps its best; migrants are copies of the best and of random others, and take
 * the places of random ones on the next island, in a circle. It ends early when the best error has
 * not got better by the share GENETIC_BETTER in GENETIC_FLAT generations. At last the best one has
 * POLISH lessons for each gene.
 *
 * Islands have random numbers of their own and meet only between generations, so the result does
 * not depend on the number of threads.
 */
#include "predict/bandwidth/fit_genetic.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { TOURNAMENT = 3, LEARNS = 8, LESSONS = 2, POLISH = 400 };

#define MUTATION 0.8
#define CROSSOVER 0.8
#define MIGRATION 0.01

struct worker {
    struct archipelago *archipelago;
    uint32_t first; /* island; the others are as many further as there are threads */
};

/* Box and Muller. */
static double normal(struct psnap_rng *rng)
{
    return sqrt(-2 * log(1 - psnap_rng_uniform(rng))) *
           cos(6.283185307179586 * psnap_rng_uniform(rng));
}

/* ------------------------------------------------------------------------ life */

static void mutate(const struct genes *genes, struct individual *child, struct psnap_rng *rng)
{
    static const double deviations[] = {0.5, 0.1, 0.02};
    const uint64_t count = 1 + psnap_rng_below(rng, 3);

    for (uint64_t i = 0; i < count; i++) {
        const size_t gene = psnap_rng_below(rng, genes->count);

        child->genes[gene] += deviations[psnap_rng_below(rng, 3)] * normal(rng);
    }
}

/* Steps of one gene to either side, as long as they help; the genes and the error they have. */
static void learn(const struct genes *genes, struct individual *pupil, struct psnap_rng *rng,
                  int lessons)
{
    for (int lesson = 0; lesson < lessons; lesson++) {
        const size_t gene = psnap_rng_below(rng, genes->count);
        double step = 0.3 * pow(2, -8 * psnap_rng_uniform(rng));

        for (int side = 0; side < 2; side++, step = -step) {
            const double before = pupil->genes[gene];
            double error;

            pupil->genes[gene] = before + step;
            error = genes_error(genes, pupil->genes);
            if (error < pupil->error) {
                pupil->error = error;
                break;
            }
            pupil->genes[gene] = before;
        }
    }
}

static const struct individual *choose_parent(struct island *island)
{
    const struct individual *best = NULL;

    for (int i = 0; i < TOURNAMENT; i++) {
        const struct individual *one = &island->people[psnap_rng_below(&island->rng, island->size)];

        best = !best || one->error < best->error ? one : best;
    }
    return best;
}

static void cross(const struct genes *genes, struct individual *child,
                  const struct individual *other, struct psnap_rng *rng)
{
    size_t from = psnap_rng_below(rng, genes->count), to = psnap_rng_below(rng, genes->count);

    if (from > to) {
        const size_t swapped = from;

        from = to;
        to = swapped;
    }
    memcpy(child->genes + from, other->genes + from, (to - from + 1) * sizeof *child->genes);
}

void island_bear(const struct genes *genes, struct island *island, struct individual *child)
{
    struct psnap_rng *rng = &island->rng;
    struct individual pupil;

    *child = *choose_parent(island);
    if (psnap_rng_uniform(rng) < CROSSOVER)
        cross(genes, child, choose_parent(island), rng);
    if (psnap_rng_uniform(rng) < MUTATION)
        mutate(genes, child, rng);
    child->error = genes_error(genes, child->genes);
    if (island->culture == DARWINIAN || psnap_rng_below(rng, LEARNS))
        return;
    pupil = *child;
    learn(genes, &pupil, rng, LESSONS);
    if (island->culture == LAMARCKIAN)
        *child = pupil;
    else
        child->error = pupil.error;
}

static void find_best(struct island *island)
{
    island->best = 0;
    for (uint32_t i = 1; i < island->size; i++)
        if (island->people[i].error < island->people[island->best].error)
            island->best = i;
}

static void next_generation(const struct genes *genes, struct island *island)
{
    struct individual *others = island->people;

    island->children[0] = island->people[island->best];
    for (uint32_t i = 1; i < island->size; i++)
        island_bear(genes, island, &island->children[i]);
    island->people = island->children;
    island->children = others;
    find_best(island);
}

/* By one thread, in the order of islands. */
static void migrate(struct archipelago *all)
{
    for (int i = 0; i < ISLANDS; i++) {
        struct island *from = &all->islands[i], *to = &all->islands[(i + 1) % ISLANDS];
        const uint32_t count = (uint32_t)ceil(MIGRATION * from->size);

        for (uint32_t k = 0; k < count; k++) {
            const uint32_t who = k ? (uint32_t)psnap_rng_below(&from->rng, from->size) : from->best;
            const uint32_t place = (uint32_t)psnap_rng_below(&from->rng, to->size);

            if (place == to->best)
                continue;
            to->people[place] = from->people[who];
            to->people[place].error = genes_error(all->genes, to->people[place].genes);
        }
    }
    for (int i = 0; i < ISLANDS; i++)
        find_best(&all->islands[i]);
}

/* The best individual by what its genes are worth without lessons, and that error. */
static const struct individual *best_of(const struct archipelago *all, double *least)
{
    const struct individual *best = NULL;

    for (int i = 0; i < ISLANDS; i++) {
        const struct individual *one = &all->islands[i].people[all->islands[i].best];
        const double error = genes_error(all->genes, one->genes);

        if (best && error >= *least)
            continue;
        best = one;
        *least = error;
    }
    return best;
}

/* --------------------------------------------------------------------- threads */

static void *work(void *context)
{
    const struct worker *worker = context;
    struct archipelago *all = worker->archipelago;

    for (uint32_t i = worker->first; i < ISLANDS; i += all->threads)
        next_generation(all->genes, &all->islands[i]);
    return NULL;
}

/* One generation of all islands, by the calling thread and others; when one of these cannot be
 * made, the calling thread has its islands, too. */
void archipelago_advance(struct archipelago *all)
{
    pthread_t threads[ISLANDS];
    struct worker workers[ISLANDS];
    bool is_begun[ISLANDS] = {false};

    for (uint32_t i = 0; i < all->threads; i++)
        workers[i] = (struct worker){all, i};
    for (uint32_t i = 1; i < all->threads; i++)
        is_begun[i] = !pthread_create(&threads[i], NULL, work, &workers[i]);
    for (uint32_t i = 0; i < all->threads; i++)
        if (!is_begun[i])
            work(&workers[i]);
    for (uint32_t i = 1; i < all->threads; i++)
        if (is_begun[i])
            pthread_join(threads[i], NULL);
    migrate(all);
    all->generation++;
}

static void evolve(struct archipelago *all, const struct genetic_settings *settings, double samples)
{
    double last = INFINITY, error;
    uint32_t flat = 0;

    while (all->generation < settings->generations && flat < GENETIC_FLAT) {
        archipelago_advance(all);
        best_of(all, &error);
        flat = error < last * (1 - GENETIC_BETTER) ? 0 : flat + 1;
        last = flat ? last : error;
        if (settings->tell)
            settings->tell(settings->context, all->generation, error / samples);
    }
}

/* -------------------------------------------------------------------- beginning */

bool archipelago_init(struct archipelago *all, const struct genes *genes,
                      const struct genetic_settings *settings)
{
    const uint32_t size = settings->population / ISLANDS > TOURNAMENT
                              ? settings->population / ISLANDS
                              : TOURNAMENT + 1;

    *all = (struct archipelago){.genes = genes};
    all->threads = settings->threads < 1 ? 1 : settings->threads;
    all->threads = all->threads > ISLANDS ? ISLANDS : all->threads;
    for (uint32_t i = 0; i < ISLANDS; i++) {
        struct island *island = &all->islands[i];

        island->culture = (enum culture)(i % CULTURES);
        psnap_rng_init_stream(&island->rng, settings->seed, i);
        island->size = size;
        island->people = calloc(size, sizeof *island->people);
        island->children = calloc(size, sizeof *island->children);
        if (!island->people || !island->children)
            return false;
        for (uint32_t k = 0; k < size; k++) {
            struct individual *one = &island->people[k];

            for (size_t gene = 0; gene < all->genes->count; gene++)
                one->genes[gene] = all->genes->start[gene] + (k % 2 ? 0.2 : 1) *
                                                                 all->genes->scale[gene] *
                                                                 normal(&island->rng);
            one->error = genes_error(all->genes, one->genes);
        }
        find_best(island);
    }
    return true;
}

void archipelago_release(struct archipelago *all)
{
    for (int i = 0; i < ISLANDS; i++) {
        free(all->islands[i].people);
        free(all->islands[i].children);
    }
}

enum psnap_status fit_genetic(const struct samples *samples,
                              const struct genetic_settings *settings, struct penalised *fitted,
                              uint32_t *generations, struct psnap_error *error)
{
    struct archipelago *all = calloc(1, sizeof *all);
    struct genes *genes = genes_new(samples, error);
    enum psnap_status status = genes ? PSNAP_OK : error->code;
    struct individual best;
    double least;

    if (all && genes) {
        if (!archipelago_init(all, genes, settings))
            status = psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for a population");
        if (!status) {
            evolve(all, settings, (double)samples->count);
            best = *best_of(all, &least);
            best.error = least;
            learn(genes, &best, &all->islands[0].rng, POLISH * (int)genes->count);
            genes_express(genes, best.genes, fitted);
            *generations = all->generation;
        }
        archipelago_release(all);
    } else if (!status) {
        status = psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for islands");
    }
    genes_free(genes);
    free(all);
    return status;
}
