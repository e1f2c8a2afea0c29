/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pairingheap: jobs in a pairing heap of malloc'd nodes: the first is taken and puts in others
 * later, some get more urgent, two heaps are melded at times. Irregular: lists of siblings as long
 * as chance wants, merged in pairs; nodes freed and handed out again by malloc.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct job {
    uint64_t due;
    struct job *child, *next, *before; /* before: the sibling before, or the parent */
    uint64_t work;
};

static uint64_t rng = 1442695040888963407u;

static uint64_t draw(void)
{
    rng ^= rng << 13;
    rng ^= rng >> 7;
    rng ^= rng << 17;
    return rng >> 11;
}

static struct job *meld(struct job *a, struct job *b)
{
    if (!a || !b)
        return a ? a : b;
    if (b->due < a->due) {
        struct job *t = a;

        a = b;
        b = t;
    }
    b->before = a;
    b->next = a->child;
    if (a->child)
        a->child->before = b;
    a->child = b;
    return a;
}

static struct job *pair_up(struct job *first)
{
    struct job *pairs = NULL, *root = NULL;

    while (first) {
        struct job *a = first, *b = a->next;

        first = b ? b->next : NULL;
        a->next = NULL;
        if (b)
            b->next = NULL;
        a = meld(a, b);
        a->next = pairs;
        pairs = a;
    }
    while (pairs) {
        struct job *next = pairs->next;

        pairs->next = NULL;
        root = meld(root, pairs);
        pairs = next;
    }
    if (root)
        root->before = NULL;
    return root;
}

static struct job *hurry(struct job *root, struct job *job, uint64_t by)
{
    job->due = job->due > by ? job->due - by : 0;
    if (job == root)
        return root;
    if (job->before->child == job)
        job->before->child = job->next;
    else
        job->before->next = job->next;
    if (job->next)
        job->next->before = job->before;
    job->next = job->before = NULL;
    return meld(root, job);
}

static struct job *new_job(uint64_t due)
{
    struct job *job = calloc(1, sizeof(*job));

    job->due = due;
    job->work = draw() % 1000;
    return job;
}

int main(int argc, char **argv)
{
    size_t n = argc > 1 ? strtoul(argv[1], NULL, 10) : 20000, done = 0;
    struct job **known = malloc(n * sizeof(struct job *)), *heap[2] = {NULL, NULL};
    uint64_t sum = 0;

    for (size_t i = 0; i < n; i++) {
        known[i] = new_job(draw() % (100 * n));
        heap[i & 1] = meld(heap[i & 1], known[i]);
    }
    for (size_t i = 0; i < n / 2; i++) /* while all of them are in a heap */
        heap[i & 1] = hurry(heap[i & 1], known[2 * (draw() % (n / 2)) + (i & 1)], draw() % (9 * n));
    while (heap[0] || heap[1]) {
        int which = heap[0] && (!heap[1] || heap[0]->due <= heap[1]->due) ? 0 : 1;
        struct job *first = heap[which];

        heap[which] = pair_up(first->child);
        sum = sum * 3 + (first->due ^ first->work);
        for (uint64_t k = done++ < 4 * n ? draw() % 2 : 0; k < 2 && draw() % 4; k++) {
            int to = (int)(draw() & 1);

            if (done < 4 * n)
                heap[to] = meld(heap[to], new_job(first->due + draw() % (100 * n)));
        }
        if (done % (n / 4 + 1) == n / 4) {
            heap[0] = meld(heap[0], heap[1]);
            heap[1] = NULL;
        }
        free(first);
    }
    free(known);
    printf("pairingheap %zu checksum %" PRIu64 " (%zu)\n", n, sum, done);
    return 0;
}
