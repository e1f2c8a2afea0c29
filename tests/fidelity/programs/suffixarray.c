/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * suffixarray: suffixes of a text sorted by prefix doubling with counting sorts, common prefixes
 * by Kasai's method, then patterns by bisection. Irregular: scatters and gathers through two
 * permutations that become ever more alike the sorted order; the ranks are drawn at i + k.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint32_t draw(uint64_t *s)
{
    *s ^= *s << 13;
    *s ^= *s >> 7;
    *s ^= *s << 17;
    return (uint32_t)(*s >> 33);
}

/* A text in which longer pieces come again: copies of what was before, with errors. */
static void make_text(unsigned char *text, uint32_t n)
{
    uint64_t seed = 11;
    uint32_t i = 0;

    while (i < n) {
        uint32_t length = draw(&seed) % 40, from = i > 60 ? draw(&seed) % (i - 50) : 0;
        int copy = i > 60 && draw(&seed) % 3;

        for (uint32_t k = 0; k < length && i < n; k++, i++)
            text[i] = copy ? text[from + k] : (unsigned char)('a' + draw(&seed) % 4);
    }
    text[n] = 0;
}

static void sort_suffixes(const unsigned char *text, uint32_t n, uint32_t *sa, uint32_t *rank)
{
    uint32_t room = n > 256 ? n : 256, classes = 256;
    uint32_t *count = calloc(room + 1, sizeof(*count)), *second = malloc(n * sizeof(*second));
    uint32_t *next = malloc(n * sizeof(*next));

    for (uint32_t i = 0; i < n; i++) {
        rank[i] = text[i];
        second[i] = n - 1 - i;
    }
    for (uint32_t k = 1;; k *= 2) {
        memset(count, 0, (classes + 1) * sizeof(*count));
        for (uint32_t i = 0; i < n; i++)
            count[rank[i]]++;
        for (uint32_t i = 1; i <= classes; i++)
            count[i] += count[i - 1];
        for (uint32_t i = n; i-- > 0;)
            sa[--count[rank[second[i]]]] = second[i];
        next[sa[0]] = 0;
        for (uint32_t i = 1; i < n; i++) {
            uint32_t a = sa[i - 1], b = sa[i], h = k / 2;
            uint32_t a2 = h && a + h < n ? rank[a + h] + 1 : 0;
            uint32_t b2 = h && b + h < n ? rank[b + h] + 1 : 0;

            next[b] = next[a] + (rank[a] != rank[b] || a2 != b2);
        }
        memcpy(rank, next, n * sizeof(*rank));
        classes = rank[sa[n - 1]] + 1;
        if (classes == n || k >= n)
            break;
        uint32_t filled = 0;
        for (uint32_t i = n > k ? n - k : 0; i < n; i++)
            second[filled++] = i;
        for (uint32_t i = 0; i < n; i++)
            if (sa[i] >= k)
                second[filled++] = sa[i] - k;
    }
    free(count);
    free(second);
    free(next);
}

static uint64_t common_prefixes(const unsigned char *text, uint32_t n, const uint32_t *sa,
                                const uint32_t *rank, uint32_t *lcp)
{
    uint64_t sum = 0;

    for (uint32_t i = 0, h = 0; i < n; i++) {
        if (rank[i] == 0) {
            h = 0;
            continue;
        }
        uint32_t j = sa[rank[i] - 1];
        while (i + h < n && j + h < n && text[i + h] == text[j + h])
            h++;
        lcp[rank[i]] = h;
        sum += h;
        h -= h > 0;
    }
    return sum;
}

static uint32_t find(const unsigned char *text, uint32_t n, const uint32_t *sa, const char *what)
{
    uint32_t low = 0, high = n;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        const unsigned char *a = text + sa[middle], *b = (const unsigned char *)what;

        while (*b && *a == *b) {
            a++;
            b++;
        }
        if (*b && *a < *b)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int main(int argc, char **argv)
{
    uint32_t n = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 50000;
    unsigned char *text = malloc(n + 1);
    uint32_t *sa = malloc(n * sizeof(*sa)), *rank = malloc(n * sizeof(*rank));
    uint32_t *lcp = calloc(n, sizeof(*lcp));
    uint64_t sum, seed = 4;

    make_text(text, n);
    sort_suffixes(text, n, sa, rank);
    sum = common_prefixes(text, n, sa, rank, lcp);
    for (uint32_t i = 0; i < n / 4; i++) {
        char what[13] = {0};

        strncpy(what, (const char *)text + draw(&seed) % n, sizeof(what) - 1);
        sum = sum * 3 + find(text, n, sa, what);
    }
    free(text);
    free(sa);
    free(rank);
    free(lcp);
    printf("suffixarray %u checksum %" PRIu64 "\n", n, sum);
    return 0;
}
