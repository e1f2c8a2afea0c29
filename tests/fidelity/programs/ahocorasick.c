/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ahocorasick: many patterns at once: a trie with links to the longest suffix (made by breadth
 * first search), completed transitions, a text that runs through it; a single pattern by Knuth,
 * Morris and Pratt. Irregular: states near the root are hot; fallbacks depend on all patterns.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LETTERS = 4 };

struct state {
    uint32_t next[LETTERS];
    uint32_t suffix, report;
    uint32_t ends;
};

static uint64_t s = 133742;

static uint32_t draw(uint32_t below)
{
    s ^= s << 13;
    s ^= s >> 7;
    s ^= s << 17;
    return (uint32_t)(s >> 34) % below;
}

static void complete(struct state *states, uint32_t *queue)
{
    uint32_t head = 0, tail = 0;

    for (int c = 0; c < LETTERS; c++)
        if (states[0].next[c])
            queue[tail++] = states[0].next[c];
    while (head < tail) {
        uint32_t at = queue[head++], suffix = states[at].suffix;

        states[at].report = states[suffix].ends ? suffix : states[suffix].report;
        for (int c = 0; c < LETTERS; c++) {
            uint32_t child = states[at].next[c];

            if (child) {
                states[child].suffix = states[suffix].next[c];
                queue[tail++] = child;
            } else {
                states[at].next[c] = states[suffix].next[c];
            }
        }
    }
}

static uint64_t scan(const struct state *states, const uint8_t *text, size_t n, uint32_t *hits)
{
    uint64_t found = 0;
    uint32_t at = 0;

    for (size_t i = 0; i < n; i++) {
        at = states[at].next[text[i]];
        for (uint32_t r = states[at].ends ? at : states[at].report; r; r = states[r].report) {
            hits[states[r].ends]++;
            found++;
        }
    }
    return found;
}

static size_t knuth_morris_pratt(const uint8_t *text, size_t n, const uint8_t *pattern, size_t m)
{
    uint32_t *border = calloc(m + 1, sizeof(*border));
    size_t count = 0, k = 0;

    for (size_t i = 1; i < m; i++) {
        while (k > 0 && pattern[i] != pattern[k])
            k = border[k];
        k += pattern[i] == pattern[k];
        border[i + 1] = (uint32_t)k;
    }
    k = 0;
    for (size_t i = 0; i < n; i++) {
        while (k > 0 && (k == m || text[i] != pattern[k]))
            k = border[k];
        k += text[i] == pattern[k];
        count += k == m;
    }
    free(border);
    return count;
}

int main(int argc, char **argv)
{
    size_t n = argc > 1 ? strtoul(argv[1], NULL, 10) : 1500000, patterns = n / 150 + 1;
    uint8_t *text = malloc(n + 64);
    struct state *states = calloc(patterns * 24 + 1, sizeof(*states));
    uint32_t *queue = malloc((patterns * 24 + 1) * 4), *hits = calloc(patterns + 1, 4), used = 1;
    uint64_t sum;

    for (size_t i = 0; i < n + 64; i++)
        text[i] = (uint8_t)(i > 100 && draw(8) ? text[i - 7 - (s >> 20 & 63)] : draw(LETTERS));
    for (size_t p = 1; p <= patterns; p++) {
        const uint8_t *from = text + draw((uint32_t)n);
        uint32_t at = 0;

        for (uint32_t length = 8 + draw(16); length > 0; length--) {
            uint32_t *next = &states[at].next[draw(30) ? *from++ : draw(LETTERS)];

            if (!*next)
                *next = used++;
            at = *next;
        }
        states[at].ends = (uint32_t)p;
    }
    complete(states, queue);
    sum = scan(states, text, n, hits);
    for (size_t p = 1; p <= patterns; p++)
        sum = sum * 3 + hits[p];
    sum += knuth_morris_pratt(text, n, text + n / 2, 12);
    free(text);
    free(states);
    free(queue);
    free(hits);
    printf("ahocorasick %zu checksum %" PRIu64 " (%u states)\n", n, sum, used);
    return 0;
}
