/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * huffman: blocks of text with shifting statistics are coded by Huffman's method: frequencies, a
 * tree by two queues, codes, bits, and back again bit by bit through the tree. Irregular: tables
 * by symbol, of which few are common, and walks from a hot root.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SYMBOLS = 256, BLOCK = 16384 };

struct node {
    uint32_t count;
    int16_t child[2];
};

struct code {
    uint64_t bits;
    unsigned length;
};

struct bits {
    uint8_t *byte;
    size_t n;
};

static void make_block(unsigned char *text, uint32_t *s)
{
    unsigned base = *s >> 9 & 127, context = 0;

    for (int i = 0; i < BLOCK; i++) {
        uint32_t r;

        *s ^= *s << 13;
        *s ^= *s >> 17;
        *s ^= *s << 5;
        r = *s >> 8;
        context = (context * 5 + (r & 15) * (r >> 4 & 15) / 15) & 127;
        text[i] = (unsigned char)(base + (r >> 20 & 1 ? context : (r & 31) * (r >> 5 & 31) / 32));
    }
}

static int by_count(const void *a, const void *b)
{
    const struct node *x = a, *y = b;

    if (x->count != y->count)
        return x->count < y->count ? -1 : 1;
    return x->child[0] - y->child[0];
}

/* Leaves are sorted in tree[0..leaves), inner nodes follow; returns the root. */
static int make_tree(const uint32_t *count, struct node *tree)
{
    int leaves = 0, leaf = 0, inner, made;

    for (int c = 0; c < SYMBOLS; c++)
        if (count[c])
            tree[leaves++] = (struct node){count[c], {(int16_t)c, -1}};
    qsort(tree, (size_t)leaves, sizeof(*tree), by_count);
    inner = made = leaves;
    while (leaves - leaf + made - inner > 1) {
        struct node *n = &tree[made];

        n->count = 0;
        for (int k = 0; k < 2; k++) {
            int least = leaf < leaves && (inner == made || tree[leaf].count <= tree[inner].count)
                            ? leaf++
                            : inner++;

            n->child[k] = (int16_t)least;
            n->count += tree[least].count;
        }
        made++;
    }
    return made - 1;
}

static void make_codes(const struct node *tree, int at, struct code code, struct code *codes)
{
    if (tree[at].child[1] < 0) {
        codes[tree[at].child[0]] = code;
        return;
    }
    for (int k = 0; k < 2; k++)
        make_codes(tree, tree[at].child[k],
                   (struct code){code.bits | (uint64_t)k << code.length, code.length + 1}, codes);
}

static void encode(const unsigned char *text, const struct code *codes, struct bits *out)
{
    uint64_t held = 0;
    unsigned n = 0;

    for (int i = 0; i < BLOCK; i++) {
        held |= codes[text[i]].bits << n;
        n += codes[text[i]].length;
        for (; n >= 8; n -= 8, held >>= 8)
            out->byte[out->n++] = (uint8_t)held;
    }
    out->byte[out->n++] = (uint8_t)held;
}

static void decode(const struct bits *in, const struct node *tree, int root, unsigned char *text)
{
    size_t bit = 0;

    for (int i = 0; i < BLOCK; i++) {
        int at = root;

        while (tree[at].child[1] >= 0) {
            at = tree[at].child[in->byte[bit / 8] >> bit % 8 & 1];
            bit++;
        }
        text[i] = (unsigned char)tree[at].child[0];
    }
}

int main(int argc, char **argv)
{
    size_t n = argc > 1 ? strtoul(argv[1], NULL, 10) : 30;
    static unsigned char text[BLOCK], back[BLOCK];
    struct bits out = {.byte = malloc(4 * BLOCK)};
    uint32_t seed = 1952;
    uint64_t sum = 0;

    for (size_t i = 0; i < n; i++) {
        struct node tree[2 * SYMBOLS];
        struct code codes[SYMBOLS] = {{0, 0}};
        uint32_t count[SYMBOLS] = {0};
        int root;

        make_block(text, &seed);
        for (int k = 0; k < BLOCK; k++)
            count[text[k]]++;
        root = make_tree(count, tree);
        make_codes(tree, root, (struct code){0, 0}, codes);
        out.n = 0;
        encode(text, codes, &out);
        decode(&out, tree, root, back);
        sum = sum * 31 + out.n + (memcmp(text, back, BLOCK) != 0) * 1000003u;
    }
    free(out.byte);
    printf("huffman %zu checksum %" PRIu64 "\n", n, sum);
    return 0;
}
