/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * trie: words of syllables in a trie with 26 children a node, completed from prefixes by depth
 * first search. Irregular: nodes of 216 bytes of which few words are used, hot near the root; the
 * words themselves are made letter by letter.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LETTERS = 26, LONGEST = 24 };

struct node {
    struct node *child[LETTERS];
    uint32_t words, last;
};

static uint64_t xorshift64(uint64_t *s)
{
    *s ^= *s >> 12;
    *s ^= *s << 25;
    *s ^= *s >> 27;
    return *s * UINT64_C(2685821657736338717) >> 24;
}

static size_t make_word(char *word, uint64_t *seed)
{
    static const char *const syllable[] = {"an", "ber", "ca", "do", "el", "fi", "gra", "ho",
                                           "in", "ju",  "ka", "lo", "me", "ni", "ost", "pa"};
    size_t length = 0, parts = 2 + xorshift64(seed) % 4;

    for (size_t i = 0; i < parts; i++) {
        uint64_t r = xorshift64(seed);
        const char *s = syllable[(r & 15) * (r >> 4 & 15) / 15];

        while (*s)
            word[length++] = *s++;
    }
    word[length] = 0;
    return length;
}

static void add(struct node *at, const char *word, uint32_t number)
{
    for (; *word; word++) {
        struct node **child = &at->child[*word - 'a'];

        if (!*child)
            *child = calloc(1, sizeof(**child));
        at->words++;
        at = *child;
    }
    at->words++;
    at->last = number;
}

static uint64_t complete(const struct node *at, unsigned depth)
{
    uint64_t sum = at->last;

    if (at->words == 0 || depth == 0)
        return sum;
    for (int i = 0; i < LETTERS; i++)
        if (at->child[i])
            sum += (uint64_t)(i + 1) * complete(at->child[i], depth - 1);
    return sum;
}

static void drop(struct node *at)
{
    for (int i = 0; i < LETTERS; i++)
        if (at->child[i])
            drop(at->child[i]);
    free(at);
}

int main(int argc, char **argv)
{
    size_t n = argc > 1 ? strtoul(argv[1], NULL, 10) : 60000;
    struct node *root = calloc(1, sizeof(*root));
    char word[LONGEST];
    uint64_t seed = 3, sum = 0;

    for (size_t i = 0; i < n; i++) {
        make_word(word, &seed);
        add(root, word, (uint32_t)i);
    }
    for (size_t i = 0; i < n; i++) {
        const struct node *at = root;
        size_t length = make_word(word, &seed);

        for (size_t k = 0; at && k < length; k++)
            at = at->child[word[k] - 'a'];
        sum += at ? at->words : strlen(word);
        if (i % 8 == 0 && at)
            sum += complete(at, 4);
    }
    drop(root);
    printf("trie %zu checksum %" PRIu64 "\n", n, sum);
    return 0;
}
