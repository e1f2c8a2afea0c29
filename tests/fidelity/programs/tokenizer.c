/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tokenizer: a program text in a made-up language is generated, cut into tokens through a table of
 * character classes, identifiers go to scopes of chained symbols, and uses are resolved outwards.
 * Irregular: tables of 256 entries, a symbol's chain, scopes that nest and are thrown away.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum class_of { OTHER, SPACE, LETTER, DIGIT, OPEN, CLOSE, COMMENT };
enum { BUCKETS = 64, DEEPEST = 32 };

struct symbol {
    struct symbol *next;
    uint32_t hash, uses;
    uint16_t length, depth;
    char name[];
};

struct scope {
    struct symbol *bucket[BUCKETS];
};

static unsigned char kind[256];
static uint32_t seed = 20201;

static uint32_t draw(uint32_t below)
{
    seed ^= seed << 13;
    seed ^= seed >> 17;
    seed ^= seed << 5;
    return (seed >> 4) % below;
}

static size_t generate(char *text, size_t room)
{
    static const char *const word[] = {"let", "index", "sum", "value_of", "i", "count", "next"};
    size_t n = 0;
    int depth = 0;

    while (n + 64 < room) {
        switch (draw(12)) {
        case 0:
            if (depth < DEEPEST - 2) {
                depth++;
                n += (size_t)sprintf(text + n, "{\n");
            }
            break;
        case 1:
            if (depth > 0) {
                depth--;
                n += (size_t)sprintf(text + n, "}\n");
            }
            break;
        case 2:
            n += (size_t)sprintf(text + n, "let %s%u = %u;\n", word[draw(7)], draw(90), draw(9999));
            break;
        case 3:
            n += (size_t)sprintf(text + n, "# line %zu is a comment\n", n);
            break;
        default:
            n += (size_t)sprintf(text + n, "%*s%s%u %c ", depth % 9, "", word[draw(7)], draw(90),
                                 "+-*/=<"[draw(6)]);
        }
    }
    text[n] = 0;
    return n;
}

static struct symbol *find(struct scope *scopes, int depth, const char *name, uint16_t length,
                           uint32_t hash)
{
    for (; depth >= 0; depth--)
        for (struct symbol *s = scopes[depth].bucket[hash % BUCKETS]; s; s = s->next)
            if (s->hash == hash && s->length == length && memcmp(s->name, name, length) == 0)
                return s;
    return NULL;
}

static uint64_t leave(struct scope *scope)
{
    uint64_t sum = 0;

    for (int b = 0; b < BUCKETS; b++) {
        for (struct symbol *s = scope->bucket[b], *next; s; s = next) {
            next = s->next;
            sum += s->uses * (uint64_t)(s->depth + 1) + s->length;
            free(s);
        }
        scope->bucket[b] = NULL;
    }
    return sum;
}

static uint64_t tokenise(const char *at, struct scope *scopes)
{
    uint64_t sum = 0, number;
    struct symbol *s;
    int depth = 0, declares = 0;

    while (*at) {
        const char *from = at;
        uint32_t hash = 2166136261u;

        switch (kind[(unsigned char)*at]) {
        case LETTER:
            for (; kind[(unsigned char)*at] == LETTER || kind[(unsigned char)*at] == DIGIT; at++)
                hash = (hash ^ (unsigned char)*at) * 16777619u;
            if (at - from == 3 && memcmp(from, "let", 3) == 0) {
                declares = 1;
                break;
            }
            s = find(scopes, depth, from, (uint16_t)(at - from), hash);
            if (s && !declares) {
                s->uses++;
            } else if (!s || s->depth < depth) {
                s = calloc(1, sizeof(*s) + (size_t)(at - from));
                s->hash = hash;
                s->length = (uint16_t)(at - from);
                s->depth = (uint16_t)depth;
                memcpy(s->name, from, s->length);
                s->next = scopes[depth].bucket[hash % BUCKETS];
                scopes[depth].bucket[hash % BUCKETS] = s;
            }
            declares = 0;
            break;
        case DIGIT:
            for (number = 0; kind[(unsigned char)*at] == DIGIT; at++)
                number = number * 10 + (uint64_t)(*at - '0');
            sum += number;
            break;
        case OPEN:
            depth++;
            at++;
            break;
        case CLOSE:
            sum = sum * 3 + leave(&scopes[depth--]);
            at++;
            break;
        case COMMENT:
            while (*at && *at != '\n')
                at++;
            break;
        default:
            sum += (unsigned char)*at++;
        }
    }
    for (; depth >= 0; depth--)
        sum = sum * 3 + leave(&scopes[depth]);
    return sum;
}

int main(int argc, char **argv)
{
    size_t n = argc > 1 ? strtoul(argv[1], NULL, 10) : 1500000;
    char *text = malloc(n + 65);
    struct scope *scopes = calloc(DEEPEST, sizeof(*scopes));
    uint64_t sum;

    for (int c = 0; c < 256; c++)
        kind[c] = c >= '0' && c <= '9'                 ? DIGIT
                  : (c >= 'a' && c <= 'z') || c == '_' ? LETTER
                                                       : OTHER;
    kind[' '] = kind['\n'] = SPACE;
    kind['{'] = OPEN;
    kind['}'] = CLOSE;
    kind['#'] = COMMENT;
    n = generate(text, n + 64);
    sum = tokenise(text, scopes);
    free(text);
    free(scopes);
    printf("tokenizer %zu checksum %" PRIu64 "\n", n, sum);
    return 0;
}
