/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pagerank: ranks of pages of a web that grew by preferential attachment, by the power method (pull
 * over incoming links), then once by pushing residuals with a queue. Irregular: gathers with few
 * hubs that are in most rows and many pages that are in one; scatters when pushing.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { LINKS = 6, ROUNDS = 6 };

struct web {
    uint32_t pages, links;
    uint32_t *from, *to; /* link by link */
    uint32_t *in_first, *in, *out_first, *out;
};

static uint64_t seed = 1000003;

static uint32_t below(uint32_t n)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (uint32_t)((seed >> 32) * n >> 32);
}

static void compress(uint32_t n, uint32_t m, const uint32_t *row, const uint32_t *column,
                     uint32_t **first, uint32_t **entry)
{
    *first = calloc(n + 2, sizeof(uint32_t));
    *entry = malloc(m * sizeof(uint32_t));
    for (uint32_t i = 0; i < m; i++)
        (*first)[row[i] + 2]++;
    for (uint32_t i = 2; i < n + 2; i++)
        (*first)[i] += (*first)[i - 1];
    for (uint32_t i = 0; i < m; i++)
        (*entry)[(*first)[row[i] + 1]++] = column[i];
}

static void grow(struct web *w)
{
    w->from = malloc(w->pages * LINKS * sizeof(uint32_t));
    w->to = malloc(w->pages * LINKS * sizeof(uint32_t));
    for (uint32_t page = 0; page < w->pages; page++) {
        for (int i = 0; i < LINKS; i++) {
            uint32_t m = w->links++;

            w->from[m] = page;
            w->to[m] = m > LINKS && below(4) ? w->to[below(m)] : below(page + 1);
        }
    }
}

static void pull(const struct web *w, const double *share, double *rank)
{
    for (uint32_t page = 0; page < w->pages; page++) {
        double sum = 0;

        for (uint32_t i = w->in_first[page]; i < w->in_first[page + 1]; i++)
            sum += share[w->in[i]];
        rank[page] = 0.15 / w->pages + 0.85 * sum;
    }
}

static uint64_t push(const struct web *w, double *rank, double *residual)
{
    uint32_t *queue = malloc((w->pages + 1) * sizeof(*queue)), head = 0, tail = 0;
    uint8_t *queued = calloc(w->pages, 1);
    uint64_t pushes = 0;

    queue[tail++] = w->pages - 1;
    residual[w->pages - 1] = 1;
    while (head != tail && pushes < w->pages) {
        uint32_t page = queue[head];
        double share = 0.85 * residual[page] / LINKS;

        head = head == w->pages ? 0 : head + 1;
        queued[page] = 0;
        rank[page] += 0.15 * residual[page];
        residual[page] = 0;
        pushes++;
        for (uint32_t i = w->out_first[page]; i < w->out_first[page + 1]; i++) {
            uint32_t to = w->out[i];

            residual[to] += share;
            if (residual[to] > 1e-7 && !queued[to]) {
                queued[to] = 1;
                queue[tail] = to;
                tail = tail == w->pages ? 0 : tail + 1;
            }
        }
    }
    free(queue);
    free(queued);
    return pushes;
}

int main(int argc, char **argv)
{
    struct web w = {.pages = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 80000};
    double *rank = calloc(w.pages, sizeof(double)), *share = calloc(w.pages, sizeof(double));
    double check = 0;
    uint64_t pushes;

    grow(&w);
    compress(w.pages, w.links, w.to, w.from, &w.in_first, &w.in);
    compress(w.pages, w.links, w.from, w.to, &w.out_first, &w.out);
    for (uint32_t i = 0; i < w.pages; i++)
        rank[i] = 1.0 / w.pages;
    for (int round = 0; round < ROUNDS; round++) {
        for (uint32_t i = 0; i < w.pages; i++)
            share[i] = rank[i] / LINKS;
        pull(&w, share, rank);
    }
    for (uint32_t i = 0; i < w.pages; i++) {
        check += rank[i] * (double)(i % 97);
        share[i] = 0;
    }
    pushes = push(&w, rank, share);
    printf("pagerank %u checksum %.9f (%" PRIu64 ")\n", w.pages, check + rank[0], pushes);
    free(rank);
    free(share);
    free(w.from);
    free(w.to);
    free(w.in_first);
    free(w.in);
    free(w.out_first);
    free(w.out);
    return 0;
}
