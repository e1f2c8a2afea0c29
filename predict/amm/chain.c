/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Expected executions of basic blocks (AMM, Chennupati et al.): a block is executed as often as its
 * predecessors branch to it,
 *
 *     N_j = e_j + sum over i of p_ij N_i,   e the entries (AMM: N_entry = 1),
 *
 * a linear system, (I - P^T) N = e. A loop of n iterations comes near to singular: 1 - p is 1 / n.
 * So it is solved by the elimination of Grassmann, Taksar and Heyman ("Regenerative analysis and
 * steady state distributions for Markov chains", 1985): block k is taken out of the program, and
 * what leads to it leads on to where it leads,
 *
 *     p_ij += p_ik p_kj / s_k,   s_k = sum over j < k of p_kj, the exit among them,
 *
 * where s_k, which is 1 - p_kk, is summed and nothing is ever subtracted: all counts have nearly
 * the precision of the probabilities. Zeros are skipped: few blocks have more than two successors.
 */
#include "predict/amm/chain.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "formats/base/text.h"

struct system {
    uint32_t size;     /* blocks that have a branch */
    uint32_t *index;   /* of a block in the system, PSNAP_NONE: it has no branch */
    uint32_t *block;   /* of an index */
    double *matrix;    /* p_ij at i * size + j */
    double *exit;      /* p_i,exit */
    double *entry;     /* e_j, then N_j */
    double *remainder; /* s_k */
};

static enum psnap_status no_memory(struct psnap_error *error)
{
    return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for the system of blocks");
}

static void release(struct system *system)
{
    free(system->index);
    free(system->block);
    free(system->matrix);
    free(system->exit);
    free(system->entry);
    free(system->remainder);
}

static void take_block(struct system *system, uint32_t block)
{
    if (block == PSNAP_NONE || system->index[block] != PSNAP_NONE)
        return;
    system->block[system->size] = block;
    system->index[block] = system->size++;
}

static enum psnap_status number_blocks(struct system *system, const struct branch *branches,
                                       size_t count, uint32_t blocks, struct psnap_error *error)
{
    system->index = malloc((blocks + (size_t)1) * sizeof *system->index);
    system->block = malloc((blocks + (size_t)1) * sizeof *system->block);
    if (!system->index || !system->block)
        return no_memory(error);
    for (uint32_t i = 0; i < blocks; i++)
        system->index[i] = PSNAP_NONE;
    for (size_t i = 0; i < count; i++) {
        take_block(system, branches[i].from);
        take_block(system, branches[i].to);
    }
    if (system->size > CHAIN_BLOCKS_MAX)
        return psnap_error_set(error, PSNAP_ERROR_UNSUPPORTED,
                               "a system of %" PRIu32 " blocks is too large: at most %d; predict "
                               "a larger input with --at or --sizes",
                               system->size, CHAIN_BLOCKS_MAX);
    return PSNAP_OK;
}

/*
 * Of each block that branches at all, the sum is to be 1. What a block executes again follows from
 * what leads away from it alone, so the sum may miss 1 by a share of that, and by the rounding of
 * p_kk: else p_kk could say another number of iterations and not be heard.
 */
static enum psnap_status check_sums(const struct system *system, struct psnap_error *error)
{
    const size_t n = system->size;
    char number[32];

    for (size_t i = 0; i < n; i++) {
        const double stays = system->matrix[i * n + i];
        double leaves = system->exit[i];
        for (size_t j = 0; j < n; j++)
            leaves += j == i ? 0 : system->matrix[i * n + j];
        if (fabs(stays + leaves - 1) > CHAIN_TOLERANCE * leaves + 4 * DBL_EPSILON)
            return psnap_error_set(error, PSNAP_ERROR_VALUE,
                                   "the probabilities of what comes after block b%" PRIu32
                                   " add up to %s, not 1 (to a millionth of what leads away from "
                                   "it): add what is missing, to 'exit' if the program ends there",
                                   system->block[i], psnap_text_from_real(stays + leaves, number));
    }
    return PSNAP_OK;
}

static enum psnap_status fill(struct system *system, const struct branch *branches, size_t count,
                              struct psnap_error *error)
{
    const size_t n = system->size;
    double entries = 0;

    system->matrix = calloc(n * n + 1, sizeof *system->matrix);
    system->exit = calloc(n + 1, sizeof *system->exit);
    system->entry = calloc(n + 1, sizeof *system->entry);
    system->remainder = calloc(n + 1, sizeof *system->remainder);
    if (!system->matrix || !system->exit || !system->entry || !system->remainder)
        return no_memory(error);
    for (size_t k = 0; k < count; k++) {
        const struct branch *branch = &branches[k];
        const size_t i = branch->from == PSNAP_NONE ? n : system->index[branch->from];
        const size_t j = branch->to == PSNAP_NONE ? n : system->index[branch->to];
        double *at = i == n   ? &system->entry[j]
                     : j == n ? &system->exit[i]
                              : &system->matrix[i * n + j];
        if (!(branch->probability >= 0) || (i < n && branch->probability > 1 + CHAIN_TOLERANCE))
            return psnap_error_set(error, PSNAP_ERROR_VALUE, "%g is no probability",
                                   branch->probability);
        if (i < n || j < n)
            *at += branch->probability;
        entries += i == n ? branch->probability : 0;
    }
    if (!(entries > 0))
        return psnap_error_set(error, PSNAP_ERROR_VALUE,
                               "no block is the first: say from 'entry' to which one it goes");
    return check_sums(system, error);
}

/* Takes block k out; what led to it leads on. */
static enum psnap_status eliminate(struct system *system, size_t k, struct psnap_error *error)
{
    const size_t n = system->size;
    const double *row = &system->matrix[k * n];
    double sum = system->exit[k], inflow = system->entry[k];

    for (size_t j = 0; j < k; j++) {
        sum += row[j];
        inflow += system->matrix[j * n + k];
    }
    system->remainder[k] = sum;
    if (!(inflow > 0))
        return PSNAP_OK; /* it is never executed */
    if (!(sum > 0))
        return psnap_error_set(error, PSNAP_ERROR_VALUE,
                               "the system of blocks is singular: from block b%" PRIu32
                               " the program never comes to its exit; give a probability for what "
                               "comes after that loop",
                               system->block[k]);
    for (size_t i = 0; i <= k; i++) { /* [k]: the entry */
        double *to = i < k ? &system->matrix[i * n] : system->entry;
        const double share = (i < k ? to[k] : system->entry[k]) / sum;
        if (!(share > 0))
            continue;
        for (size_t j = 0; j < k; j++)
            if (row[j] > 0)
                to[j] += share * row[j];
        if (i < k)
            system->exit[i] += share * system->exit[k];
    }
    return PSNAP_OK;
}

/* Puts blocks back, from the first on: each is executed as often as the ones before lead there. */
static void put_back(struct system *system)
{
    const size_t n = system->size;

    for (size_t k = 0; k < n; k++) {
        double count = system->entry[k];
        for (size_t i = 0; i < k; i++)
            count += system->entry[i] * system->matrix[i * n + k];
        system->entry[k] = count > 0 ? count / system->remainder[k] : 0;
    }
}

enum psnap_status chain_solve(const struct branch *branches, size_t count, uint32_t blocks,
                              double *executions, struct psnap_error *error)
{
    struct system system = {0};
    enum psnap_status status = number_blocks(&system, branches, count, blocks, error);

    if (!status)
        status = fill(&system, branches, count, error);
    for (size_t k = system.size; k-- > 0 && !status;)
        status = eliminate(&system, k, error);
    if (!status) {
        put_back(&system);
        for (uint32_t i = 0; i < blocks; i++)
            executions[i] = 0;
        for (uint32_t i = 0; i < system.size; i++)
            executions[system.block[i]] = system.entry[i];
    }
    release(&system);
    return status;
}
