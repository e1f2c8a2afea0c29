/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Recursions into halves that are alike (profile/walks/nest_fold.c, in pairs) come back access for
 * access.
 */
#include "tests/unit/test_nests_support.h"

/* A transform of n elements by halves, in turn in one array and in another: apart what is even from
 * what is odd, both halves, and these together. */
static void transform(struct stream *stream, size_t room, uint64_t from, uint64_t to, uint64_t n)
{
    if (n < 2)
        return;
    for (uint64_t i = 0; i < n / 2; i++)
        for (uint32_t k = 0; k < 2; k++) {
            add_to(stream, room, 2 * k, from + 8 * (2 * i + k));
            add_to(stream, room, 2 * k + 1, to + 8 * (i + k * n / 2));
        }
    transform(stream, room, to, from, n / 2);
    transform(stream, room, to + 4 * n, from + 4 * n, n / 2);
    for (uint64_t i = 0; i < n / 2; i++)
        for (uint32_t k = 0; k < 2; k++) {
            add_to(stream, room, REFS + k, to + 8 * (i + k * n / 2));
            add_to(stream, room, REFS + 2 + k, from + 8 * (i + k * n / 2));
        }
}

/* A product of matrices of `width` by blocks of n, eight products of half as many; each call that
 * is not of a single element reads the width first. */
static void multiply(struct stream *stream, size_t room, uint64_t a, uint64_t b, uint64_t c,
                     uint64_t n, uint64_t width)
{
    const uint64_t h = n / 2;

    if (n == 1) {
        add_to(stream, room, REFS, a);
        add_to(stream, room, REFS + 1, b);
        add_to(stream, room, REFS + 2, c);
        return;
    }
    add_to(stream, room, 0, HEAP);
    for (uint64_t i = 0; i < 2; i++)
        for (uint64_t j = 0; j < 2; j++)
            for (uint64_t k = 0; k < 2; k++)
                multiply(stream, room, a + 8 * h * (i * width + k), b + 8 * h * (k * width + j),
                         c + 8 * h * (i * width + j), h, width);
}

/* The same few elements, again and again. */
static void scan_often(struct stream *stream, size_t room)
{
    for (int times = 0; times < 40000; times++)
        for (uint64_t i = 0; i < 5; i++)
            add_to(stream, room, 2 * REFS, HEAP + 8 * i);
}

/* Recursions into halves that are alike fold, and come back access for access; so does a plain loop
 * before them, or behind them. */
static void test_recursions(void **state)
{
    enum { N = 1 << 15, WIDTH = 64, ROOM = 3000000 };
    struct psnap_program *program = make_program(LOOPS, REFS);
    struct stream stream = {calloc(ROOM, sizeof *stream.accesses), 0};
    const uint64_t next = HEAP + (1 << 20);

    (void)state;
    for (int which = 0; which < 4; which++) {
        struct psnap_profile *profile;
        stream.count = 0;
        if (which == 2)
            scan_often(&stream, ROOM);
        if (which == 1)
            multiply(&stream, ROOM, next, next + (1 << 20), next + (2 << 20), WIDTH, WIDTH);
        else
            transform(&stream, ROOM, HEAP, next, N);
        if (which == 3)
            scan_often(&stream, ROOM);
        assert_true(stream.count < ROOM);
        profile = profile_of(program, &stream);
        assert_non_null(profile->nests);
        assert_false(nests_have_models(profile->nests));
        assert_true(profile->nests->value_count < 4096);
        assert_replays(profile, &stream, true);
        assert_is_its_text(profile);
        psnap_profile_free(profile);
    }
    free(stream.accesses);
    psnap_program_free(program);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_recursions)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
