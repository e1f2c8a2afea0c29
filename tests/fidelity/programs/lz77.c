/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lz77: a compressor with hash chains over a window of 32 KB and lazy matching, and its
 * decompressor. Irregular: heads of chains by hash, chains back through the window, comparisons of
 * unlike length, copies from a distance that overlap themselves.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WINDOW = 1 << 15, HASH = 1 << 14, MIN = 4, MAX = 258, CHAIN = 24 };

struct matcher {
    const uint8_t *text;
    size_t n;
    int32_t head[HASH];
    int32_t before[WINDOW];
};

struct match {
    size_t length, distance;
};

static uint32_t draw(uint64_t *s)
{
    *s ^= *s << 13;
    *s ^= *s >> 7;
    *s ^= *s << 17;
    return (uint32_t)(*s >> 32);
}

/* Records with fields that come again, as a log has them. */
static void make_text(uint8_t *text, size_t n)
{
    static const char hex[] = "0123456789abcdef";
    uint64_t s = 7;

    for (size_t i = 0; i < n;) {
        size_t length = 4 + draw(&s) % 40;

        if (i > 200 && draw(&s) % 4) {
            size_t back = 1 + draw(&s) % (draw(&s) % 2 ? 200 : i > 60000 ? 60000 : i);

            for (; length > 0 && i < n; length--, i++)
                text[i] = text[i - back];
        } else {
            for (; length > 0 && i < n; length--, i++)
                text[i] = (uint8_t)hex[draw(&s) & 15];
        }
    }
}

static uint32_t hash_of(const uint8_t *p)
{
    uint32_t word;

    memcpy(&word, p, 4);
    return word * 2654435761u >> 18;
}

static void enter(struct matcher *m, size_t at)
{
    uint32_t h;

    if (at + MIN > m->n)
        return;
    h = hash_of(m->text + at);
    m->before[at % WINDOW] = m->head[h];
    m->head[h] = (int32_t)at;
}

static struct match longest(const struct matcher *m, size_t at)
{
    struct match best = {0, 0};
    size_t most = m->n - at < MAX ? m->n - at : MAX;
    int32_t from;

    if (most < MIN)
        return best;
    from = m->head[hash_of(m->text + at)];
    for (int k = 0; k < CHAIN && from >= 0 && at - (size_t)from < WINDOW; k++) {
        const uint8_t *a = m->text + from, *b = m->text + at;
        size_t length = 0;

        if (a[best.length] == b[best.length] || best.length == 0)
            while (length < most && a[length] == b[length])
                length++;
        if (length > best.length) {
            best = (struct match){length, at - (size_t)from};
            if (length == most)
                break;
        }
        from = m->before[from % WINDOW];
    }
    return best.length < MIN ? (struct match){0, 0} : best;
}

static size_t compress(struct matcher *m, uint8_t *out)
{
    size_t n = 0;

    for (size_t at = 0; at < m->n;) {
        struct match here = longest(m, at), next = {0, 0};

        enter(m, at);
        if (here.length && at + 1 < m->n)
            next = longest(m, at + 1);
        if (!here.length || next.length > here.length) {
            out[n++] = 0;
            out[n++] = m->text[at++];
            continue;
        }
        out[n++] = (uint8_t)(here.length - MIN + 1);
        out[n++] = (uint8_t)(here.distance >> 8);
        out[n++] = (uint8_t)here.distance;
        for (size_t k = 1; k < here.length; k++)
            enter(m, at + k);
        at += here.length;
    }
    return n;
}

static size_t decompress(const uint8_t *in, size_t n, uint8_t *out)
{
    size_t to = 0;

    for (size_t i = 0; i < n;) {
        size_t length = in[i++], distance;

        if (length == 0) {
            out[to++] = in[i++];
            continue;
        }
        distance = (size_t)in[i] << 8 | in[i + 1];
        i += 2;
        for (length += MIN - 1; length > 0; length--, to++)
            out[to] = out[to - distance];
    }
    return to;
}

int main(int argc, char **argv)
{
    size_t n = argc > 1 ? strtoul(argv[1], NULL, 10) : 600000, packed, back;
    uint8_t *text = malloc(n + 1), *out = malloc(2 * n + 3), *again = malloc(n + 1);
    struct matcher *m = malloc(sizeof(*m));
    uint64_t sum = 0;

    make_text(text, n);
    m->text = text;
    m->n = n;
    memset(m->head, -1, sizeof(m->head));
    packed = compress(m, out);
    back = decompress(out, packed, again);
    for (size_t i = 0; i < packed; i++)
        sum = sum * 31 + out[i];
    sum += back == n && memcmp(text, again, n) == 0;
    free(text);
    free(out);
    free(again);
    free(m);
    printf("lz77 %zu checksum %" PRIu64 " (%zu)\n", n, sum, packed);
    return 0;
}
