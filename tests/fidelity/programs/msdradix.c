/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * msdradix: strings sorted by radix from the front, in place by cycles (American flag), and by
 * multikey quicksort when few are left; common prefixes are counted. Irregular: each comparison
 * reads a byte of a string anywhere, pointers move along cycles between 256 buckets.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef const unsigned char *string;

static uint64_t seed = 1234567;

static uint32_t draw(uint32_t below)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (uint32_t)(seed >> 35) % below;
}

static void multikey(string *a, size_t n, size_t depth)
{
    while (n > 1) {
        int pivot = a[n / 2][depth];
        size_t low = 0, i = 0, high = n;

        while (i < high) {
            string t = a[i];

            if (t[depth] < pivot) {
                a[i++] = a[low];
                a[low++] = t;
            } else if (t[depth] > pivot) {
                a[i] = a[--high];
                a[high] = t;
            } else {
                i++;
            }
        }
        multikey(a, low, depth);
        multikey(a + high, n - high, depth);
        if (pivot == 0)
            return;
        a += low;
        n = high - low;
        depth++;
    }
}

static void radix(string *a, size_t n, size_t depth)
{
    size_t count[257] = {0}, at[256];

    if (n < 64) {
        multikey(a, n, depth);
        return;
    }
    for (size_t i = 0; i < n; i++)
        count[a[i][depth] + 1]++;
    for (int c = 0; c < 256; c++) {
        count[c + 1] += count[c];
        at[c] = count[c];
    }
    for (int c = 0; c < 256; c++) {
        while (at[c] < count[c + 1]) {
            string s = a[at[c]];
            int to = s[depth];

            while (to != c) {
                string t = a[at[to]];

                a[at[to]++] = s;
                s = t;
                to = s[depth];
            }
            a[at[c]++] = s;
        }
    }
    for (int c = 1; c < 256; c++)
        if (count[c + 1] - count[c] > 1)
            radix(a + count[c], count[c + 1] - count[c], depth + 1);
}

int main(int argc, char **argv)
{
    static const char *const host[] = {"www.", "mail.", "static.cdn.", "", "api.v2.", "blog."};
    size_t n = argc > 1 ? strtoul(argv[1], NULL, 10) : 90000, used = 0;
    unsigned char *text = malloc(n * 40);
    string *strings = malloc(n * sizeof(*strings));
    uint64_t sum = 0, common = 0;

    for (size_t i = 0; i < n; i++) {
        char line[40];
        int length = snprintf(line, sizeof(line), "%s%c%c%u/%x", host[draw(6)],
                              'a' + (char)draw(20), 'a' + (char)draw(5), draw(300), draw(4096));

        memcpy(text + used, line, (size_t)length + 1);
        strings[i] = text + used;
        used += (size_t)length + 1;
    }
    radix(strings, n, 0);
    for (size_t i = 1; i < n; i++) {
        size_t k = 0;

        while (strings[i][k] && strings[i][k] == strings[i - 1][k])
            k++;
        common += k;
    }
    for (size_t i = 0; i < n; i++)
        sum = sum * 3 + strings[i][0] + strings[i][strlen((const char *)strings[i]) - 1];
    free(text);
    free(strings);
    printf("msdradix %zu checksum %" PRIu64 " (%" PRIu64 ")\n", n, sum, common);
    return 0;
}
