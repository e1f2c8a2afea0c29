/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bignum: Karatsuba's multiplication of long numbers, recursive with scratch space on a stack of
 * its own, used for powers and a factorial by halves. Irregular: sums of halves in a scratch area
 * whose depth varies, carries that run as far as they must; all within some hundred KB.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SCHOOL = 24 };

typedef uint32_t digit;

struct number {
    size_t n;
    digit *d;
};

static void school(const digit *a, size_t n, const digit *b, size_t m, digit *out)
{
    memset(out, 0, (n + m) * sizeof(*out));
    for (size_t i = 0; i < n; i++) {
        uint64_t carry = 0;

        for (size_t j = 0; j < m; j++) {
            carry += (uint64_t)a[i] * b[j] + out[i + j];
            out[i + j] = (digit)carry;
            carry >>= 32;
        }
        out[i + m] = (digit)carry;
    }
}

static digit add(digit *to, const digit *a, size_t n)
{
    uint64_t carry = 0;

    for (size_t i = 0; i < n; i++) {
        carry += (uint64_t)to[i] + a[i];
        to[i] = (digit)carry;
        carry >>= 32;
    }
    return (digit)carry;
}

static digit subtract(digit *from, const digit *a, size_t n)
{
    uint64_t borrow = 0;

    for (size_t i = 0; i < n; i++) {
        uint64_t d = (uint64_t)from[i] - a[i] - borrow;

        from[i] = (digit)d;
        borrow = d >> 63;
    }
    return (digit)borrow;
}

/* n digits each, 2 n out; needs some more than 4 n of scratch */
static void karatsuba(const digit *a, const digit *b, size_t n, digit *out, digit *scratch)
{
    size_t low = n / 2, high = n - low;
    digit *sa = scratch, *sb = sa + high + 1, *middle = sb + high + 1, carry;

    if (n < SCHOOL) {
        school(a, n, b, n, out);
        return;
    }
    karatsuba(a, b, low, out, scratch);
    karatsuba(a + low, b + low, high, out + 2 * low, scratch);
    memcpy(sa, a + low, high * sizeof(*sa));
    memcpy(sb, b + low, high * sizeof(*sb));
    sa[high] = sb[high] = 0;
    carry = add(sa, a, low);
    for (size_t i = low; carry; i++)
        carry = ++sa[i] == 0;
    carry = add(sb, b, low);
    for (size_t i = low; carry; i++)
        carry = ++sb[i] == 0;
    karatsuba(sa, sb, high + 1, middle, middle + 2 * (high + 1));
    carry = subtract(middle, out, 2 * low);
    for (size_t i = 2 * low; carry; i++)
        carry = middle[i]-- == 0;
    carry = subtract(middle, out + 2 * low, 2 * high);
    for (size_t i = 2 * high; carry; i++)
        carry = middle[i]-- == 0;
    carry = add(out + low, middle, 2 * high + 1 < 2 * n - low ? 2 * high + 1 : 2 * n - low);
    for (size_t i = low + 2 * high + 1; carry; i++)
        carry = ++out[i] == 0;
}

/* Frees both. */
static struct number multiply(struct number a, struct number b)
{
    struct number product;
    struct number *s = a.n < b.n ? &a : &b, *l = a.n < b.n ? &b : &a;

    product.n = a.n + b.n;
    product.d = calloc(2 * l->n, sizeof(digit));
    if (2 * s->n < l->n) {
        school(s->d, s->n, l->d, l->n, product.d);
    } else {
        digit *scratch = malloc((6 * l->n + 200) * sizeof(digit));

        s->d = realloc(s->d, l->n * sizeof(digit));
        memset(s->d + s->n, 0, (l->n - s->n) * sizeof(digit));
        karatsuba(s->d, l->d, l->n, product.d, scratch);
        free(scratch);
    }
    while (product.n > 1 && product.d[product.n - 1] == 0)
        product.n--;
    free(a.d);
    free(b.d);
    return product;
}

static struct number range_product(uint32_t from, uint32_t to)
{
    if (to - from == 1) {
        struct number one = {1, malloc(sizeof(digit))};

        one.d[0] = from;
        return one;
    }
    return multiply(range_product(from, from + (to - from) / 2),
                    range_product(from + (to - from) / 2, to));
}

int main(int argc, char **argv)
{
    uint32_t n = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 16000;
    struct number f = range_product(1, n + 2);
    uint64_t hash = f.n, rest = 0;

    for (size_t i = f.n; i-- > 0;) {
        hash = (hash ^ f.d[i]) * UINT64_C(1099511628211);
        rest = (rest << 32 | f.d[i]) % 1000000007;
    }
    free(f.d);
    printf("bignum %u checksum %" PRIu64 " (%" PRIu64 ")\n", n, hash, rest);
    return 0;
}
