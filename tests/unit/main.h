/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * main() of a folder's unit tests: runs those that are named, or all. TESTS is their list,
 * TEST(test_x) of each test_x.c.
 */
#include <stdio.h>
#include <string.h>

#define TEST(name) int name(void);
TESTS
#undef TEST
#define TEST(name) {#name, name},

static const struct {
    const char *name;
    int (*run)(void);
} tests[] = {TESTS};

int main(int argc, char **argv)
{
    int failed = 0, count = 0;

    for (size_t i = 0; i < sizeof tests / sizeof tests[0]; i++) {
        int named = argc < 2;
        for (int j = 1; j < argc; j++)
            named |= !strcmp(argv[j], tests[i].name);
        if (named) {
            failed += tests[i].run() != 0;
            count++;
        }
    }
    if (!count)
        fputs("no such test\n", stderr);
    return failed || !count;
}
