/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * groupby: a table by columns is filtered to a list of row numbers, a dictionary joined in, and
 * grouped by two keys in a hash table; then top groups by a heap. Irregular: row numbers that leave
 * gaps of chance, codes into a dictionary of strings, groups of Zipf's sizes.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CITIES = 3000, TOP = 50 };

struct group {
    uint32_t key; /* 0: free */
    uint32_t count;
    int64_t sum, least, most;
};

struct table {
    size_t rows;
    uint32_t *day;
    uint16_t *city;
    uint8_t *kind;
    int32_t *amount;
};

static uint32_t draw(uint64_t *s, uint32_t below)
{
    *s ^= *s << 13;
    *s ^= *s >> 7;
    *s ^= *s << 17;
    return (uint32_t)((*s >> 32) * below >> 32);
}

static void fill(struct table *t)
{
    uint64_t s = 20000229;

    t->day = malloc(t->rows * sizeof(*t->day));
    t->city = malloc(t->rows * sizeof(*t->city));
    t->kind = malloc(t->rows);
    t->amount = malloc(t->rows * sizeof(*t->amount));
    for (size_t i = 0; i < t->rows; i++) {
        t->day[i] = (uint32_t)(i / 1000) + draw(&s, 30);
        t->city[i] = (uint16_t)draw(&s, draw(&s, draw(&s, CITIES) + 1) + 1);
        t->kind[i] = (uint8_t)(draw(&s, 6) * draw(&s, 6));
        t->amount[i] = (int32_t)draw(&s, 100000) - 20000;
    }
}

static size_t filter(const struct table *t, uint32_t from, uint32_t to, uint32_t *row)
{
    size_t n = 0;

    for (size_t i = 0; i < t->rows; i++) {
        row[n] = (uint32_t)i;
        n += t->day[i] >= from && t->day[i] < to;
    }
    from = (uint32_t)n;
    n = 0;
    for (size_t i = 0; i < from; i++)
        if (t->kind[row[i]] % 3 != 1)
            row[n++] = row[i];
    return n;
}

static size_t group(const struct table *t, const uint32_t *row, size_t n, const char (*name)[16],
                    struct group *groups, size_t mask)
{
    size_t used = 0;

    for (size_t i = 0; i < n; i++) {
        const char *city = name[t->city[row[i]]];
        uint32_t key = (uint32_t)(city[0] * 131 + city[2]) << 8 | t->kind[row[i]];
        size_t at = key * 2654435761u >> 7 & mask;
        int64_t amount = t->amount[row[i]];

        while (groups[at].key && groups[at].key != key)
            at = (at + 1) & mask;
        if (!groups[at].key) {
            groups[at] = (struct group){key, 0, 0, INT64_MAX, INT64_MIN};
            used++;
        }
        groups[at].count++;
        groups[at].sum += amount;
        groups[at].least = amount < groups[at].least ? amount : groups[at].least;
        groups[at].most = amount > groups[at].most ? amount : groups[at].most;
    }
    return used;
}

static uint64_t top(const struct group *groups, size_t mask)
{
    int64_t heap[TOP];
    uint64_t hash = 0;

    for (int i = 0; i < TOP; i++)
        heap[i] = INT64_MIN;
    for (size_t g = 0; g <= mask; g++) {
        int64_t x = groups[g].sum;
        int at = 0, child;

        if (!groups[g].key || x <= heap[0])
            continue;
        while ((child = 2 * at + 1) < TOP) {
            child += child + 1 < TOP && heap[child + 1] < heap[child];
            if (heap[child] >= x)
                break;
            heap[at] = heap[child];
            at = child;
        }
        heap[at] = x;
    }
    for (int i = 0; i < TOP; i++)
        hash = hash * 31 + (uint64_t)heap[i];
    return hash;
}

int main(int argc, char **argv)
{
    struct table t = {.rows = argc > 1 ? strtoul(argv[1], NULL, 10) : 300000};
    uint32_t *row = malloc((t.rows + 1) * sizeof(*row)), days = (uint32_t)(t.rows / 1000) + 30;
    char(*name)[16] = calloc(CITIES, sizeof(*name));
    size_t mask = (1 << 15) - 1, used = 0;
    struct group *groups = malloc((mask + 1) * sizeof(*groups));
    uint64_t sum = 0;

    fill(&t);
    for (uint32_t c = 0; c < CITIES; c++)
        snprintf(name[c], sizeof(name[c]), "%c%u ville", 'A' + (char)(c * 7 % 26), c * c % 977);
    for (uint32_t query = 0; query < 4; query++) {
        size_t n = filter(&t, days * query / 8, days * (query + 4) / 8, row);

        memset(groups, 0, (mask + 1) * sizeof(*groups));
        used += group(&t, row, n, (const char(*)[16])name, groups, mask);
        sum = sum * 31 + top(groups, mask) + n;
    }
    printf("groupby %zu checksum %" PRIu64 " (%zu groups)\n", t.rows, sum, used);
    free(t.day);
    free(t.city);
    free(t.kind);
    free(t.amount);
    free(row);
    free(name);
    free(groups);
    return 0;
}
