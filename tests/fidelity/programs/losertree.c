/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * losertree: an external sort in memory: runs by replacement selection (a heap of 4000 keys), then
 * merged by a tree of losers, all at once. Irregular: one path of a small tree a key, and a stream
 * that goes on in one of many runs as the data wants it, in 20 MB.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { HEAP = 4000 };

struct record {
    uint64_t key;
    uint32_t run, serial;
};

struct runs {
    size_t *start; /* of each in `record`; one more at the end */
    size_t runs, room;
    struct record *record;
};

static int is_less(const struct record *a, const struct record *b)
{
    return a->run != b->run ? a->run < b->run : a->key < b->key;
}

static void sift(struct record *heap, size_t at, size_t n, struct record x)
{
    size_t child;

    while ((child = 2 * at + 1) < n) {
        child += child + 1 < n && is_less(&heap[child + 1], &heap[child]);
        if (!is_less(&heap[child], &x))
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = x;
}

static void make_runs(const struct record *in, size_t n, struct runs *out)
{
    size_t held = n < HEAP ? n : HEAP, next = held, written = 0;
    struct record *heap = malloc(held * sizeof(*heap));
    uint32_t run = 1;

    for (size_t i = 0; i < held; i++) {
        heap[i] = in[i];
        heap[i].run = 1;
    }
    for (size_t i = held / 2; i-- > 0;)
        sift(heap, i, held, heap[i]);
    out->start[out->runs++] = 0;
    while (held > 0) {
        struct record top = heap[0], x;

        if (top.run != run) {
            run = top.run;
            if (out->runs + 1 == out->room)
                out->start = realloc(out->start, (out->room *= 2) * sizeof(*out->start));
            out->start[out->runs++] = written;
        }
        out->record[written++] = top;
        if (next < n) {
            x = in[next++];
            x.run = x.key < top.key ? run + 1 : run;
        } else {
            x = heap[--held];
        }
        if (held > 0)
            sift(heap, 0, held, x);
    }
    out->start[out->runs] = written;
    free(heap);
}

static void merge(const struct runs *in, struct record *out, size_t n)
{
    size_t leaves = 1, *at = malloc((in->runs + 1) * sizeof(*at)), winner;
    uint32_t *loser;

    while (leaves < in->runs)
        leaves *= 2;
    loser = malloc(2 * leaves * sizeof(*loser));
    for (size_t r = 0; r < in->runs; r++)
        at[r] = in->start[r];
#define KEY(r) ((r) < in->runs && at[r] < in->start[(r) + 1] ? in->record[at[r]].key : UINT64_MAX)
    for (size_t i = 0; i < leaves; i++) /* winners first, from the leaves up */
        loser[leaves + i] = (uint32_t)i;
    for (size_t i = leaves; i-- > 1;)
        loser[i] = KEY(loser[2 * i]) <= KEY(loser[2 * i + 1]) ? loser[2 * i] : loser[2 * i + 1];
    winner = loser[1];
    for (size_t i = 1; i < leaves; i++) /* then what each of them has beaten */
        loser[i] = loser[2 * i] == loser[i] ? loser[2 * i + 1] : loser[2 * i];
    for (size_t i = 0; i < n; i++) {
        out[i] = in->record[at[winner]++];
        for (size_t node = (leaves + winner) / 2; node > 0; node /= 2) {
            if (KEY(loser[node]) < KEY(winner)) {
                uint32_t t = loser[node];

                loser[node] = (uint32_t)winner;
                winner = t;
            }
        }
    }
#undef KEY
    free(at);
    free(loser);
}

int main(int argc, char **argv)
{
    size_t n = argc > 1 ? strtoul(argv[1], NULL, 10) : 220000;
    struct runs runs = {.start = malloc(8 * sizeof(size_t)), .room = 8};
    struct record *in = malloc(n * sizeof(*in));
    uint64_t s = 1973111, sum = 0;

    runs.record = malloc(n * sizeof(*in));
    for (size_t i = 0; i < n; i++) {
        s ^= s << 13;
        s ^= s >> 7;
        s ^= s << 17;
        in[i] = (struct record){.key = s >> 1, .serial = (uint32_t)i};
    }
    make_runs(in, n, &runs);
    merge(&runs, in, n);
    for (size_t i = 0; i < n; i++)
        sum = sum * 3 + in[i].serial + (i > 0 && in[i].key < in[i - 1].key);
    printf("losertree %zu checksum %" PRIu64 " (%zu runs)\n", n, sum, runs.runs);
    free(runs.start);
    free(runs.record);
    free(in);
    return 0;
}
