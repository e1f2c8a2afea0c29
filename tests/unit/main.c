/* SPDX-License-Identifier: BSD-3-Clause */
/* main() of a folder's unit tests: runs those of the files that are named, or all. */
#include <stdlib.h>

#include "tests/unit/test.h"

enum { TESTS_MAX = 1000 };

static struct test *first, **last = &first;

void test_add(struct test *test)
{
    *last = test;
    last = &test->next;
}

/* Whether an argument is the file's name without folders and .c, or there are no arguments. */
static bool is_named(const char *file, int argc, char **argv)
{
    const char *slash = strrchr(file, '/'), *name = slash ? slash + 1 : file;

    for (int i = 1; i < argc; i++)
        if (strlen(argv[i]) == strcspn(name, ".") && !strncmp(name, argv[i], strlen(argv[i])))
            return true;
    return argc < 2;
}

int main(int argc, char **argv)
{
    struct CMUnitTest chosen[TESTS_MAX];
    size_t count = 0;

    for (const struct test *test = first; test; test = test->next)
        if (is_named(test->file, argc, argv)) {
            if (count == TESTS_MAX)
                abort();
            chosen[count++] = test->unit;
        }
    if (!count)
        fputs("no such test\n", stderr);
    return !count || _cmocka_run_group_tests("tests", chosen, count, NULL, NULL) != 0;
}
