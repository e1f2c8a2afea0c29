/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Unit tests: TEST(name) { ... } is one, TEST_WITHIN(begin, end, name) { ... } one between
 * functions that make what it needs and release it again. A program runs those of the files that
 * are named.
 */
#ifndef PSNAP_TEST_H
#define PSNAP_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* A test, which the program knows before main() begins. */
struct test {
    struct CMUnitTest unit;
    const char *file;
    struct test *next;
};

void test_add(struct test *test);

#define TEST_WITHIN(begin, end, function)                                                          \
    static void function(void **state);                                                            \
    __attribute__((constructor)) static void add_##function(void)                                  \
    {                                                                                              \
        static struct test test = {{#function, function, begin, end, NULL}, __FILE__, NULL};       \
        test_add(&test);                                                                           \
    }                                                                                              \
    static void function(__attribute__((unused)) void **state)

#define TEST(function) TEST_WITHIN(NULL, NULL, function)

#endif
