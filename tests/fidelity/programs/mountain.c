/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mountain: a memory mountain: sums over working sets from 16 KB to 30 MB at strides from 1 to 33,
 * each with a chase of pointers in a random cycle of the same size. Irregular: not the strides, but
 * that one pair of loops does all of them; the chase.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct link {
    struct link *next;
    uint64_t payload[7];
};

static uint64_t s = 2003;

static uint64_t rnd(void)
{
    s ^= s << 13;
    s ^= s >> 7;
    s ^= s << 17;
    return s >> 16;
}

static uint64_t stride_sum(const uint64_t *data, size_t n, size_t stride, size_t loads)
{
    uint64_t sum = 0;

    while (loads > 0) {
        for (size_t i = 0; i < n && loads > 0; i += stride, loads--)
            sum += data[i];
        data += data[0] & 1; /* now and then from the next one on */
        n -= data[0] & 1;
    }
    return sum;
}

static void make_cycle(struct link *links, size_t n)
{
    for (size_t i = 0; i < n; i++)
        links[i].next = &links[i];
    for (size_t i = n - 1; i > 0; i--) { /* Sattolo: one cycle */
        size_t j = rnd() % i;
        struct link *t = links[i].next;

        links[i].next = links[j].next;
        links[j].next = t;
    }
}

static uint64_t chase(const struct link *at, size_t steps)
{
    uint64_t sum = 0;

    for (; steps > 0; steps--) {
        sum = sum * 3 + at->payload[1];
        at = at->next;
    }
    return sum;
}

int main(int argc, char **argv)
{
    size_t n = argc > 1 ? strtoul(argv[1], NULL, 10) : 60000, most = 31 << 20;
    static const size_t stride[] = {1, 2, 3, 5, 8, 16, 33};
    uint64_t *data, sum = 0;
    struct link *links;

    while (most > n * 1000)
        most /= 2;
    data = malloc(most);
    links = malloc(most);
    for (size_t i = 0; i < most / sizeof(*data); i++)
        data[i] = i * 2 % 1009;
    for (size_t i = 0; i < most / sizeof(*links); i++)
        links[i].payload[1] = i;
    for (size_t size = 16 << 10; size <= most; size = size * 7 / 2) {
        for (size_t k = 0; k < sizeof(stride) / sizeof(stride[0]); k++)
            sum = sum * 31 + stride_sum(data, size / sizeof(*data), stride[k], n);
        make_cycle(links, size / sizeof(*links));
        sum = sum * 31 + chase(links, 2 * n);
    }
    free(data);
    free(links);
    printf("mountain %zu checksum %" PRIu64 "\n", n, sum);
    return 0;
}
