/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * intern: strings are interned in an arena of chunks with a table of offsets, facts about them are
 * triples of numbers in three sorted indexes, and patterns with a join are asked. Irregular: bytes
 * anywhere in the arena for comparisons, bisections in three orders, ranges joined by number.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK = 1 << 16 };

struct interned {
    char **chunk;
    uint32_t chunks, used; /* used: of the last chunk */
    const char **name;
    uint32_t *slot, mask, names;
};

struct triple {
    uint32_t part[3];
};

static uint32_t state = 2166;

static uint32_t draw(uint32_t below)
{
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return (uint32_t)((uint64_t)state * below >> 32);
}

static uint32_t hash(const char *s)
{
    uint32_t h = 5381;

    while (*s)
        h = h * 33 ^ (unsigned char)*s++;
    return h ^ h >> 15;
}

static uint32_t intern(struct interned *t, const char *s)
{
    uint32_t at = hash(s) & t->mask;
    size_t length;

    for (; t->slot[at]; at = (at + 1) & t->mask)
        if (strcmp(t->name[t->slot[at] - 1], s) == 0)
            return t->slot[at];
    length = strlen(s) + 1;
    if (t->chunks == 0 || t->used + length > CHUNK) {
        t->chunk = realloc(t->chunk, (t->chunks + 1) * sizeof(char *));
        t->chunk[t->chunks++] = malloc(CHUNK);
        t->used = 0;
    }
    t->name[t->names] = memcpy(t->chunk[t->chunks - 1] + t->used, s, length);
    t->used += (uint32_t)length;
    t->slot[at] = ++t->names;
    if (t->names > t->mask / 2) {
        t->mask = 2 * t->mask + 1;
        free(t->slot);
        t->slot = calloc(t->mask + 1, sizeof(*t->slot));
        t->name = realloc(t->name, (t->mask + 1) * sizeof(*t->name));
        for (uint32_t i = 0; i < t->names; i++) {
            for (at = hash(t->name[i]) & t->mask; t->slot[at];)
                at = (at + 1) & t->mask;
            t->slot[at] = i + 1;
        }
    }
    return t->names;
}

static int order; /* the first part to compare */

static int compare(const void *a, const void *b)
{
    const struct triple *x = a, *y = b;

    for (int k = 0; k < 3; k++) {
        int p = (order + k) % 3;

        if (x->part[p] != y->part[p])
            return x->part[p] < y->part[p] ? -1 : 1;
    }
    return 0;
}

static size_t lower(const struct triple *t, size_t n, int by, uint32_t value)
{
    size_t low = 0, high = n;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (t[middle].part[by] < value)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int main(int argc, char **argv)
{
    size_t n = argc > 1 ? strtoul(argv[1], NULL, 10) : 60000;
    struct interned t = {.mask = 1023};
    struct triple *index[3];
    uint64_t sum = 0;

    t.slot = calloc(t.mask + 1, sizeof(*t.slot));
    t.name = malloc((t.mask + 1) * sizeof(*t.name));
    for (int k = 0; k < 3; k++)
        index[k] = malloc(n * sizeof(struct triple));
    for (size_t i = 0; i < n; i++) {
        char text[64];

        for (int k = 0; k < 3; k++) {
            uint32_t range = k == 1 ? 40 : (uint32_t)n / 4 + 1, number = draw(draw(range) + 1);

            snprintf(text, sizeof(text),
                     k == 1 ? "urn:relation:%u" : "http://example.org/node/%u/x", number * 17);
            index[0][i].part[k] = intern(&t, text);
        }
    }
    for (order = 0; order < 3; order++) {
        if (order > 0)
            memcpy(index[order], index[0], n * sizeof(struct triple));
        qsort(index[order], n, sizeof(struct triple), compare);
    }
    for (size_t i = 0; i < n / 2; i++) { /* who is two steps from whom */
        uint32_t from = 1 + draw(t.names);

        for (size_t a = lower(index[0], n, 0, from), k = 0; a < n && k < 20; a++, k++) {
            uint32_t middle = index[0][a].part[2];

            if (index[0][a].part[0] != from)
                break;
            for (size_t b = lower(index[2], n, 2, middle); b < n; b++) {
                if (index[2][b].part[2] != middle || b % 64 == 63)
                    break;
                sum += index[2][b].part[0] * (uint64_t)index[2][b].part[1];
            }
        }
        sum += (unsigned char)t.name[from - 1][strlen(t.name[from - 1]) - 3];
    }
    for (uint32_t c = 0; c < t.chunks; c++)
        free(t.chunk[c]);
    for (int k = 0; k < 3; k++)
        free(index[k]);
    printf("intern %zu checksum %" PRIu64 " (%u names)\n", n, sum, t.names);
    free(t.chunk);
    free(t.slot);
    free(t.name);
    return 0;
}
