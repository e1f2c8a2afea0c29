/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Changes of Markov chains (profile/order/chain.h) that leave every state left as often as it is
 * entered, made in the matrix of their transitions. New transitions from one set of
 * states to another are in proportion to how often the ones were left and the others entered, with
 * exact sums of rows and columns.
 */
#include "profile/edit/edit.h"

#include <stdlib.h>

__extension__ typedef unsigned __int128 wide;

struct matrix {
    uint64_t *counts;   /* by state, then the one that comes next; owned, with: */
    uint64_t *out, *in; /* by state: new transitions that leave it, and enter it */
    uint64_t *left_out, *left_in;
    uint32_t n;
};

static uint64_t *at(const struct matrix *m, uint32_t from, uint32_t to)
{
    return &m->counts[(size_t)from * m->n + to];
}

static bool init(struct matrix *m, const struct chain *chain)
{
    const size_t n = chain->count;

    *m = (struct matrix){.counts = calloc(n * (n + 4), sizeof *m->counts), .n = chain->count};
    if (!m->counts)
        return false;
    m->out = m->counts + n * n;
    m->in = m->out + n;
    m->left_out = m->in + n;
    m->left_in = m->left_out + n;
    for (uint32_t i = 0; i < m->n; i++)
        for (uint32_t k = 0; k < chain->states[i].edge_count; k++)
            *at(m, i, chain->states[i].edges[k].to) += chain->states[i].edges[k].count;
    return true;
}

/* Makes the chain anew of the matrix, without those states that are gone (NULL: none are). */
static bool store(const struct matrix *m, struct chain *chain, const bool *gone)
{
    struct chain made;
    bool is_done = chain_init(&made);

    for (uint32_t i = 1; i < m->n && is_done; i++)
        if (!gone || !gone[i])
            is_done = chain_add_state(&made, chain->states[i].symbol) != PSNAP_NONE;
    for (uint32_t i = 0, from = 0; i < m->n && is_done; i++) {
        if (gone && gone[i])
            continue;
        for (uint32_t k = 0, to = 0; k < m->n && is_done; k++) {
            if (gone && gone[k])
                continue;
            made.at = from;
            is_done = !*at(m, i, k) || chain_go(&made, to, *at(m, i, k));
            to++;
        }
        from++;
    }
    made.at = 0;
    for (uint32_t i = 0; i < made.count && is_done; i++)
        if (made.states[i].edge_count)
            qsort(made.states[i].edges, made.states[i].edge_count, sizeof *made.states[i].edges,
                  chain_commonest_first);
    chain_release(is_done ? chain : &made);
    if (is_done)
        *chain = made;
    return is_done;
}

/* As many transitions as may be from what is left of a state to what is left of another. */
static void join(struct matrix *m, uint32_t from, uint32_t to, uint64_t most)
{
    uint64_t n = m->left_out[from] < m->left_in[to] ? m->left_out[from] : m->left_in[to];

    n = n < most ? n : most;
    *at(m, from, to) += n;
    m->left_out[from] -= n;
    m->left_in[to] -= n;
}

/* Adds transitions that leave each state `out` times and enter each one `in` times; both sums are
 * the same. What rounding leaves over leads on rather than back to where it comes from. */
static void connect(struct matrix *m)
{
    wide sum = 0;

    for (uint32_t i = 0; i < m->n; i++) {
        sum += m->out[i];
        m->left_out[i] = m->out[i];
        m->left_in[i] = m->in[i];
    }
    for (uint32_t i = 0; i < m->n; i++)
        for (uint32_t k = 0; m->out[i] && k < m->n; k++)
            join(m, i, k, (uint64_t)((wide)m->out[i] * m->in[k] / sum));
    for (uint32_t i = 0; i < m->n; i++)
        for (uint32_t k = 0; m->left_out[i] && k < m->n; k++)
            if (k != i)
                join(m, i, k, UINT64_MAX);
    for (uint32_t i = 0; i < m->n; i++)
        join(m, i, i, UINT64_MAX);
}

int edit_chain_repeat(struct chain *chain, const bool *inside, uint64_t times)
{
    struct matrix m;
    bool is_too_much = false;
    int result;

    if (!init(&m, chain))
        return -1;
    for (uint32_t i = 0; i < m.n; i++)
        for (uint32_t k = 0; k < m.n; k++) {
            uint64_t *count = at(&m, i, k);
            if (inside[i] && inside[k])
                is_too_much |= __builtin_mul_overflow(*count, times, count);
            else if (inside[i])
                m.out[i] += *count;
            else if (inside[k])
                m.in[k] += *count;
        }
    for (uint32_t i = 0; i < m.n; i++) {
        is_too_much |= __builtin_mul_overflow(m.out[i], times - 1, &m.out[i]);
        is_too_much |= __builtin_mul_overflow(m.in[i], times - 1, &m.in[i]);
    }
    if (!is_too_much)
        connect(&m);
    result = is_too_much ? 1 : store(&m, chain, NULL) ? 0 : -1;
    free(m.counts);
    return result;
}

int edit_chain_remove(struct chain *chain, const bool *gone)
{
    struct matrix m;
    int result;

    if (!init(&m, chain))
        return -1;
    for (uint32_t s = 0; s < m.n; s++) { /* one by one: some lead to each other */
        for (uint32_t i = 0; i < m.n && gone[s]; i++) {
            m.out[i] = i == s ? 0 : *at(&m, i, s);
            m.in[i] = i == s ? 0 : *at(&m, s, i);
            *at(&m, i, s) = *at(&m, s, i) = 0;
        }
        if (gone[s])
            connect(&m);
    }
    result = store(&m, chain, gone) ? 0 : -1;
    free(m.counts);
    return result;
}
