/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * arith: adaptive arithmetic coding (a binary range coder) of bytes with contexts of order two
 * mixed with order one, and decoding. Irregular: probabilities in trees of 256 nodes chosen by the
 * bytes before, 128 KB and hashed 512 KB of them, read and written bit by bit.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { ORDER1 = 256 * 256, ORDER2 = 1 << 18 };

struct model {
    uint16_t one[ORDER1], two[ORDER2];
};

struct coder {
    uint32_t low, high, value;
    uint8_t *byte;
    size_t at, n;
};

static struct model *new_model(void)
{
    struct model *m = malloc(sizeof(*m));

    for (int i = 0; i < ORDER1; i++)
        m->one[i] = 32768;
    for (int i = 0; i < ORDER2; i++)
        m->two[i] = 32768;
    return m;
}

static void adapt(uint16_t *p, int bit)
{
    if (bit)
        *p = (uint16_t)(*p + ((65535 - *p) >> 4));
    else
        *p = (uint16_t)(*p - (*p >> 4));
}

static void shift(struct coder *c, int decodes)
{
    while ((c->low ^ c->high) >> 24 == 0) {
        if (decodes)
            c->value = c->value << 8 | (c->at < c->n ? c->byte[c->at] : 0);
        else
            c->byte[c->at] = (uint8_t)(c->high >> 24);
        c->at++;
        c->low <<= 8;
        c->high = c->high << 8 | 255;
    }
}

/* Codes `byte`, or decodes one when it is negative. */
static int code(struct coder *c, struct model *m, uint32_t before, int byte)
{
    uint32_t node = 1;

    for (int k = 7; k >= 0; k--) {
        uint16_t *one = &m->one[(before & 255) << 8 | node];
        uint16_t *two = &m->two[((before & 0xffff) * 40503u ^ node * 2654435u) >> 3 & (ORDER2 - 1)];
        uint32_t p = ((uint32_t)*one + 3 * (uint32_t)*two) >> 6;
        uint32_t middle = c->low + (uint32_t)((uint64_t)(c->high - c->low) * (p | 1) >> 12);
        int bit = byte < 0 ? c->value <= middle : byte >> k & 1;

        if (bit)
            c->high = middle;
        else
            c->low = middle + 1;
        shift(c, byte < 0);
        adapt(one, bit);
        adapt(two, bit);
        node = 2 * node + (uint32_t)bit;
    }
    return (int)(node & 255);
}

static void make_text(uint8_t *text, size_t n)
{
    uint64_t s = 31415;
    uint32_t word = 0;

    for (size_t i = 0; i < n; i++) {
        s ^= s << 13;
        s ^= s >> 7;
        s ^= s << 17;
        if (s >> 61 == 0)
            word = (uint32_t)(s >> 20) % 3000;
        text[i] = (uint8_t)('a' + (word * 31 + (i & 3) * (word >> 4)) % 26);
        if ((s >> 40 & 15) == 0)
            text[i] = (uint8_t)(s >> 8);
    }
}

int main(int argc, char **argv)
{
    size_t n = argc > 1 ? strtoul(argv[1], NULL, 10) : 100000;
    uint8_t *text = malloc(n + 1), *out = malloc(2 * n + 16);
    struct model *m = new_model();
    struct coder c = {.high = UINT32_MAX, .byte = out};
    uint32_t before = 0;
    uint64_t sum = 0, wrong = 0;

    make_text(text, n);
    for (size_t i = 0; i < n; i++) {
        code(&c, m, before, text[i]);
        before = before << 8 | text[i];
    }
    for (int i = 0; i < 4; i++)
        out[c.at++] = (uint8_t)(c.low >> (24 - 8 * i)) + (i == 0);
    for (size_t i = 0; i < c.at; i++)
        sum = sum * 31 + out[i];
    free(m);
    m = new_model();
    c = (struct coder){.high = UINT32_MAX, .byte = out, .n = c.at};
    for (; c.at < 4; c.at++)
        c.value = c.value << 8 | out[c.at];
    before = 0;
    for (size_t i = 0; i < n; i++) {
        int byte = code(&c, m, before, -1);

        wrong += byte != text[i];
        before = before << 8 | (uint32_t)byte;
    }
    free(text);
    free(out);
    free(m);
    printf("arith %zu checksum %" PRIu64 " (%" PRIu64 " wrong)\n", n, sum, wrong);
    return 0;
}
