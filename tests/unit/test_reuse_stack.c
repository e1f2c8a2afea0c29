/* SPDX-License-Identifier: BSD-3-Clause */
/* The LRU stack against a list that is searched from its front, and by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "formats/base/rng.h"
#include "predict/reuse/stack.h"

enum { LIST_MAX = 1 << 13 };

/* Lines, the one touched last first; `sampled` says which a sample has. */
struct list {
    uint64_t lines[LIST_MAX];
    bool sampled[LIST_MAX];
    size_t count;
};

static void to_front(struct list *list, size_t at, uint64_t line, bool sampled)
{
    memmove(list->lines + 1, list->lines, at * sizeof list->lines[0]);
    memmove(list->sampled + 1, list->sampled, at * sizeof list->sampled[0]);
    list->lines[0] = line;
    list->sampled[0] = sampled;
}

static size_t find(const struct list *list, uint64_t line)
{
    size_t at = 0;

    while (at < list->count && list->lines[at] != line)
        at++;
    return at;
}

/* What the list says of a touch; `got` decides of a new line whether a sample has it. */
static uint64_t list_touch(struct list *list, uint64_t line, uint64_t got)
{
    const size_t at = find(list, line);
    uint64_t distance = 0;

    if (at == list->count) {
        assert_true(list->count < LIST_MAX);
        list->count++;
        assert_true(got == STACK_COLD || got == STACK_OUTSIDE);
        to_front(list, at, line, got == STACK_COLD);
        return got;
    }
    for (size_t i = 0; i < at; i++)
        distance += i < STACK_TOP || list->sampled[i];
    if (at >= STACK_TOP && !list->sampled[at])
        distance = STACK_OUTSIDE;
    to_front(list, at, line, list->sampled[at]);
    return distance;
}

static struct stack *new_stack(uint64_t threshold)
{
    struct stack *stack = stack_new();

    assert_non_null(stack);
    stack_sample(stack, threshold);
    return stack;
}

/* PPT-Multicore's example: w x w y x z z w. */
static void paper_example(void **state)
{
    static const uint64_t lines[] = {'w', 'x', 'w', 'y', 'x', 'z', 'z', 'w'};
    static const uint64_t expected[] = {STACK_COLD, STACK_COLD, 1, STACK_COLD, 2, STACK_COLD, 0, 3};
    struct stack *stack = new_stack(UINT64_MAX);
    uint64_t distances[8];

    (void)state;
    assert_true(stack_touch_all(stack, lines, 8, distances));
    for (size_t i = 0; i < 8; i++)
        assert_int_equal(distances[i], expected[i]);
    assert_int_equal(stack_lines(stack), 4);
    stack_free(stack);
}

/* Cycles of as many lines as slots have to be closed up for, one by one and in far pieces. */
static void cycles(void **state)
{
    enum { LINES = 100000, LAPS = 5 };
    uint64_t *lines = malloc(LINES * sizeof *lines), *distances = malloc(LINES * sizeof *distances);

    (void)state;
    assert_true(lines && distances);
    for (uint64_t pitch = 1; pitch < 1 << 20; pitch *= 37) {
        struct stack *stack = new_stack(UINT64_MAX);
        for (uint64_t i = 0; i < LINES; i++)
            lines[i] = i * pitch;
        for (int lap = 0; lap < LAPS; lap++) {
            assert_true(stack_touch_all(stack, lines, LINES, distances));
            for (size_t i = 0; i < LINES; i++)
                assert_int_equal(distances[i], lap ? LINES - 1 : STACK_COLD);
        }
        assert_int_equal(stack_lines(stack), LINES);
        stack_free(stack);
    }
    free(lines);
    free(distances);
}

/* Random lines, many of them near each other, at both ends of the address space. */
static void against_list(uint64_t threshold, uint64_t seed)
{
    static struct list list;
    struct stack *stack = new_stack(threshold);
    struct psnap_rng rng;
    uint64_t at = 0, sampled = 0;

    psnap_rng_init(&rng, seed);
    list.count = 0;
    for (int i = 0; i < 20000; i++) {
        const uint64_t kind = psnap_rng_below(&rng, 8);
        uint64_t line, got;
        if (kind < 4)
            at++;
        else if (kind == 4)
            at = psnap_rng_below(&rng, 1000);
        line = kind < 5 ? at % 3000 * 2 : UINT64_MAX - psnap_rng_below(&rng, UINT64_C(64) << kind);
        got = stack_touch(stack, line);
        assert_int_equal(list_touch(&list, line, got), got);
    }
    for (size_t i = 0; i < list.count; i++)
        sampled += list.sampled[i];
    assert_int_equal(stack_lines(stack), sampled);
    stack_free(stack);
}

static void random_lines(void **state)
{
    (void)state;
    against_list(UINT64_MAX, 1);
    against_list(UINT64_MAX, 2);
}

static void random_sample(void **state)
{
    (void)state;
    against_list(UINT64_MAX / 2, 3);
    against_list(UINT64_MAX / 50, 4);
    against_list(0, 5);
}

/* A sample that is made smaller on the way goes on as one that was as small from the start. */
static void smaller_sample(void **state)
{
    struct stack *late = new_stack(UINT64_MAX), *early = new_stack(UINT64_MAX / 8);
    struct psnap_rng rng;
    uint64_t outside = 0;

    (void)state;
    psnap_rng_init(&rng, 6);
    for (int i = 0; i < 50000; i++) {
        const uint64_t line = psnap_rng_below(&rng, 2000);
        const uint64_t a = stack_touch(late, line), b = stack_touch(early, line);
        if (i == 20000)
            stack_sample(late, UINT64_MAX / 8);
        if (i > 20000) {
            assert_int_equal(a, b);
            outside += a == STACK_OUTSIDE;
        }
    }
    assert_in_range(outside, 30000 * 8 / 10, 30000 * 9 / 10);
    assert_int_equal(stack_lines(late), stack_lines(early));
    stack_free(late);
    stack_free(early);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paper_example),  cmocka_unit_test(cycles),
        cmocka_unit_test(random_lines),   cmocka_unit_test(random_sample),
        cmocka_unit_test(smaller_sample),
    };

    return cmocka_run_group_tests_name("reuse_stack", tests, NULL, NULL);
}
