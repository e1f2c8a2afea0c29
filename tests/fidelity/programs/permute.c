/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * permute: records of 24 bytes are permuted in place along cycles, permutations inverted, composed
 * and ranked by list contraction with jumps (pointer doubling); a matrix that is not square is
 * transposed in place. Irregular: single long cycles through up to 30 MB.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct record {
    uint64_t key, sum;
    uint32_t at, back;
};

static uint64_t s = 1871;

static uint32_t draw(uint32_t below)
{
    s ^= s << 13;
    s ^= s >> 7;
    s ^= s << 17;
    return (uint32_t)((s >> 32) * below >> 32);
}

static void shuffle(uint32_t *p, uint32_t n, uint32_t reach)
{
    for (uint32_t i = 0; i < n; i++)
        p[i] = i;
    for (uint32_t i = n - 1; i > 0; i--) {
        uint32_t j = i - draw(i + 1 < reach ? i + 1 : reach), t = p[i];

        p[i] = p[j];
        p[j] = t;
    }
}

static uint32_t apply(struct record *r, uint32_t *p, uint32_t n)
{
    uint32_t cycles = 0;

    for (uint32_t start = 0; start < n; start++) {
        struct record first = r[start];
        uint32_t at = start, next;

        if (p[at] & UINT32_C(1) << 31)
            continue;
        cycles++;
        while (next = p[at], p[at] |= UINT32_C(1) << 31, next != start) {
            r[at] = r[next];
            at = next;
        }
        r[at] = first;
    }
    for (uint32_t i = 0; i < n; i++)
        p[i] &= ~(UINT32_C(1) << 31);
    return cycles;
}

/* How far each is from the end of its list, all lists at once. */
static uint64_t ranks(const uint32_t *order, uint32_t n, uint32_t lists)
{
    uint32_t *next = malloc(4 * (size_t)n * sizeof(*next)), *rank = next + n;
    uint32_t *next2 = rank + n, *rank2 = next2 + n;
    uint64_t sum = 0;

    for (uint32_t i = 0; i < n; i++) {
        int last = i + 1 == n || i % (n / lists + 1) == 0;

        next[order[i]] = last ? order[i] : order[i + 1];
        rank[order[i]] = !last;
    }
    for (uint32_t jump = 1; jump < n / lists + 1; jump *= 2) {
        for (uint32_t i = 0; i < n; i++) {
            rank2[i] = rank[i] + rank[next[i]];
            next2[i] = next[next[i]];
        }
        memcpy(next, next2, 2 * (size_t)n * sizeof(*next));
    }
    for (uint32_t i = 0; i < n; i++)
        sum = sum * 3 + rank[i];
    free(next);
    return sum;
}

static uint64_t transpose(uint32_t rows, uint32_t columns)
{
    float *a = malloc((size_t)rows * columns * sizeof(*a));
    uint8_t *done = calloc(rows * columns / 8 + 1, 1);
    uint32_t n = rows * columns - 1;
    uint64_t sum = 0;

    for (uint32_t i = 0; i <= n; i++)
        a[i] = (float)(i % 1000);
    for (uint32_t start = 1; start < n; start++) {
        uint32_t at = start;
        float held = a[start];

        if (done[start / 8] >> start % 8 & 1)
            continue;
        do {
            float t;

            done[at / 8] |= (uint8_t)(1 << at % 8);
            at = at % columns * rows + at / columns;
            t = a[at];
            a[at] = held;
            held = t;
        } while (at != start);
    }
    for (uint32_t i = 0; i <= n; i++)
        sum = sum * 3 + (uint64_t)a[i];
    free(a);
    free(done);
    return sum;
}

int main(int argc, char **argv)
{
    uint32_t n = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 200000;
    uint32_t *p = malloc(n * sizeof(*p)), *q = malloc(n * sizeof(*q)),
             *inverse = malloc(n * sizeof(*q));
    struct record *r = malloc(n * sizeof(*r));
    uint64_t sum = 0;

    shuffle(p, n, n);
    shuffle(q, n, 500);
    for (uint32_t i = 0; i < n; i++)
        r[i] = (struct record){.key = i * 7, .at = i};
    sum += apply(r, p, n) + 1000 * (uint64_t)apply(r, q, n);
    for (uint32_t i = 0; i < n; i++)
        inverse[p[i]] = i;
    for (uint32_t i = 0; i < n; i++)
        r[q[i]].back = inverse[r[i].at];
    for (uint32_t i = 0; i < n; i++)
        sum = sum * 3 + r[i].key + r[i].back;
    sum = sum * 31 + ranks(p, n, 300);
    sum = sum * 31 + transpose(n / 150 + 3, 331);
    free(p);
    free(q);
    free(inverse);
    free(r);
    printf("permute %u checksum %" PRIu64 "\n", n, sum);
    return 0;
}
