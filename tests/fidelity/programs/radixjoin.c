/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * radixjoin: two tables are partitioned on bits of a hash of the key with write buffers of a line
 * each, and partition by partition joined through small tables of links. Irregular: 128 cursors
 * that advance at random in 30 MB, then hash tables that stay in the cache.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BITS = 7, PARTS = 1 << BITS, LINE = 4 };

struct tuple {
    uint64_t key, value;
};

static uint64_t mix(uint64_t key)
{
    key *= UINT64_C(0x9e3779b97f4a7c15);
    return key ^ key >> 31;
}

static size_t *partition(const struct tuple *in, size_t n, struct tuple *out)
{
    static struct tuple buffer[PARTS][LINE];
    static unsigned held[PARTS];
    size_t *start = calloc(PARTS + 1, sizeof(*start)), at[PARTS];

    for (size_t i = 0; i < n; i++)
        start[mix(in[i].key) % PARTS + 1]++;
    for (int p = 0; p < PARTS; p++) {
        start[p + 1] += start[p];
        at[p] = start[p];
        held[p] = 0;
    }
    for (size_t i = 0; i < n; i++) {
        size_t p = mix(in[i].key) % PARTS;

        buffer[p][held[p]++] = in[i];
        if (held[p] == LINE) {
            memcpy(out + at[p], buffer[p], sizeof(buffer[p]));
            at[p] += LINE;
            held[p] = 0;
        }
    }
    for (int p = 0; p < PARTS; p++)
        memcpy(out + at[p], buffer[p], held[p] * sizeof(struct tuple));
    return start;
}

static uint64_t join(const struct tuple *a, size_t n, const struct tuple *b, size_t m,
                     uint32_t *head, uint32_t *next, size_t *matches)
{
    size_t buckets = 16;
    uint64_t sum = 0;

    while (buckets < n)
        buckets *= 2;
    memset(head, 0, buckets * sizeof(*head));
    for (size_t i = 0; i < n; i++) {
        uint32_t *bucket = &head[mix(a[i].key) >> BITS & (buckets - 1)];

        next[i] = *bucket;
        *bucket = (uint32_t)i + 1;
    }
    for (size_t i = 0; i < m; i++) {
        for (uint32_t k = head[mix(b[i].key) >> BITS & (buckets - 1)]; k; k = next[k - 1]) {
            if (a[k - 1].key == b[i].key) {
                sum += a[k - 1].value ^ b[i].value;
                (*matches)++;
            }
        }
    }
    return sum;
}

int main(int argc, char **argv)
{
    size_t n = argc > 1 ? strtoul(argv[1], NULL, 10) : 250000, m = 3 * n, matches = 0;
    struct tuple *a = malloc(n * sizeof(*a)), *b = malloc(m * sizeof(*b));
    struct tuple *pa = malloc(n * sizeof(*a)), *pb = malloc(m * sizeof(*b));
    uint32_t *head = malloc((2 * n + 16) * sizeof(*head)), *next = malloc(n * sizeof(*next));
    size_t *sa, *sb;
    uint64_t s = 161803, sum = 0;

    for (size_t i = 0; i < n + m; i++) {
        struct tuple *t = i < n ? &a[i] : &b[i - n];

        s ^= s << 13;
        s ^= s >> 7;
        s ^= s << 17;
        t->key = (s >> 20) % (2 * n);
        t->value = i;
    }
    sa = partition(a, n, pa);
    sb = partition(b, m, pb);
    for (int p = 0; p < PARTS; p++)
        sum += join(pa + sa[p], sa[p + 1] - sa[p], pb + sb[p], sb[p + 1] - sb[p], head, next,
                    &matches);
    free(a);
    free(b);
    free(pa);
    free(pb);
    free(head);
    free(next);
    free(sa);
    free(sb);
    printf("radixjoin %zu checksum %" PRIu64 " (%zu)\n", n, sum, matches);
    return 0;
}
