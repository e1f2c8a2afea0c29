/* SPDX-License-Identifier: BSD-3-Clause */
/* The LRU stack against a list that is searched from its front, and by hand. */
#include "tests/unit/test.h"

#include "formats/base/rng.h"
#include "predict/reuse/stack_parts.h"

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

/* What the list says of a touch, where a line of the sample makes `scale`; `got` decides of a new
 * line whether a sample has it. */
static uint64_t list_touch(struct list *list, uint64_t line, uint64_t got, uint64_t scale)
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
        distance += i < STACK_TOP ? 1 : list->sampled[i] * scale;
    if (at >= STACK_TOP && !list->sampled[at])
        distance = STACK_OUTSIDE;
    else if (at >= STACK_TOP && scale > 1)
        distance |= STACK_SAMPLED;
    to_front(list, at, line, list->sampled[at]);
    return distance;
}

static uint64_t touch(struct stack *stack, uint64_t line)
{
    uint64_t distance;

    return stack_touch_all(stack, &line, 1, &distance) ? distance : STACK_FAILED;
}

/* With a sample of one line of `scale`. */
static struct stack *new_stack(uint64_t scale)
{
    struct stack *stack = stack_new();

    assert_non_null(stack);
    stack_sample(stack, 1.0 / (double)scale);
    return stack;
}

/* PPT-Multicore's example: w x w y x z z w. */
TEST(paper_example)
{
    static const uint64_t lines[] = {'w', 'x', 'w', 'y', 'x', 'z', 'z', 'w'};
    static const uint64_t expected[] = {STACK_COLD, STACK_COLD, 1, STACK_COLD, 2, STACK_COLD, 0, 3};
    struct stack *stack = new_stack(1);
    uint64_t distances[8];

    assert_true(stack_touch_all(stack, lines, 8, distances));
    for (size_t i = 0; i < 8; i++)
        assert_int_equal(distances[i], expected[i]);
    assert_int_equal(stack_lines(stack), 4);
    stack_free(stack);
}

/* Cycles of as many lines as slots have to be closed up for, one by one and in far pieces. */
TEST(cycles)
{
    enum { LINES = 100000, LAPS = 5 };
    uint64_t *lines = malloc(LINES * sizeof *lines), *distances = malloc(LINES * sizeof *distances);

    assert_true(lines && distances);
    for (uint64_t pitch = 1; pitch < 1 << 20; pitch *= 37) {
        struct stack *stack = new_stack(1);
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
static void against_list(uint64_t scale, uint64_t seed)
{
    static struct list list;
    struct stack *stack = new_stack(scale);
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
        got = touch(stack, line);
        assert_int_equal(list_touch(&list, line, got, scale), got);
    }
    for (size_t i = 0; i < list.count; i++)
        sampled += list.sampled[i];
    assert_int_equal(stack_lines(stack), sampled);
    stack_free(stack);
}

TEST(random_samples)
{
    against_list(1, 1);
    against_list(2, 3);
    against_list(64, 4);
    against_list(UINT64_C(1) << 40, 5);
}

/* A sample that is made smaller on the way goes on as one that was as small from the start. */
TEST(smaller_sample)
{
    struct stack *late = new_stack(1), *early = new_stack(8);
    struct psnap_rng rng;
    uint64_t outside = 0;

    psnap_rng_init(&rng, 6);
    for (int i = 0; i < 50000; i++) {
        const uint64_t line = psnap_rng_below(&rng, 2000);
        const uint64_t a = touch(late, line), b = touch(early, line);
        if (i == 20000)
            stack_sample(late, 1.0 / 8);
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

/* A random run: places that go on, side by side or over each other, in both directions. */
static size_t make_run(struct psnap_rng *rng, struct stack_cursor *cursors)
{
    static const int64_t strides[] = {0, 8, -8, 16, 24, -64, 100, 4096, -5000};
    const size_t width = 1 + psnap_rng_below(rng, psnap_rng_below(rng, 4) ? 6 : STACK_RUN_MAX);

    for (size_t k = 0; k < width; k++) {
        cursors[k].address = k && psnap_rng_below(rng, 3)
                                 ? cursors[k - 1].address + psnap_rng_below(rng, 130) - 65
                                 : psnap_rng_below(rng, 1 << 17) - (1 << 16);
        cursors[k].stride = strides[psnap_rng_below(rng, 9)];
    }
    return width;
}

/* The same of a run at once as touch by touch, on stacks that then have the same lines in the same
 * order: touches between runs tell. */
static void runs_against_touches(uint64_t scale, unsigned digits, uint64_t seed)
{
    struct stack *by_runs = new_stack(scale), *by_touches = new_stack(scale);
    struct stack_cursor cursors[STACK_RUN_MAX];
    uint64_t distances[STACK_RUN_MAX], n;
    struct psnap_rng rng;

    psnap_rng_init(&rng, seed);
    for (int i = 0; i < 300; i++) {
        const size_t width = make_run(&rng, cursors);
        const uint64_t count = 1 + psnap_rng_below(&rng, 100);
        struct stack_run run;
        uint64_t at = 0;

        stack_run_begin(&run, by_runs, cursors, width, count, digits);
        while ((n = stack_run_next(&run, distances)) != 0)
            for (const uint64_t end = at + n; at < end; at++)
                for (size_t k = 0; k < width; k++) {
                    const uint64_t address = cursors[k].address + at * (uint64_t)cursors[k].stride;
                    const uint64_t expected = touch(by_touches, address >> digits);
                    if (scale == 1 || (distances[k] < STACK_SAMPLED && expected < STACK_SAMPLED))
                        assert_int_equal(distances[k], expected);
                }
        assert_int_equal(at, count);
        assert_true(stack_run_end(&run));
        for (int k = 0; k < 20; k++) {
            const uint64_t line = (psnap_rng_below(&rng, 1 << 17) - (1 << 16)) >> digits;
            const uint64_t got = touch(by_runs, line);
            const uint64_t expected = touch(by_touches, line);
            if (scale == 1)
                assert_int_equal(got, expected);
        }
        assert_int_equal(stack_lines(by_runs), stack_lines(by_touches));
    }
    stack_free(by_runs);
    stack_free(by_touches);
}

TEST(random_runs)
{
    for (unsigned digits = 0; digits < 12; digits += 3)
        runs_against_touches(1, digits, 10 + digits);
    runs_against_touches(1, 6, 30);
    runs_against_touches(16, 6, 31);
}

/* Chunks of random length, each on a stack of its own, which is used again. */
TEST(random_chunks)
{
    struct stack *whole = new_stack(1), *chunk = new_stack(1), *expected = new_stack(1);
    struct psnap_rng rng;
    uint64_t at = 0;

    psnap_rng_init(&rng, 40);
    for (int i = 0; i < 2000; i++) {
        const uint64_t length = 1 + psnap_rng_below(&rng, i % 2 ? 5 : 300);
        const bool is_apart = psnap_rng_below(&rng, 3) != 0;
        assert_true(stack_settle(whole));
        for (uint64_t k = 0; k < length; k++) {
            uint64_t distance;
            at = psnap_rng_below(&rng, 8) ? at + 1 : psnap_rng_below(&rng, 5000);
            distance = touch(is_apart ? chunk : whole, at);
            if (is_apart && distance == STACK_COLD)
                distance = stack_leave(whole, at);
            assert_int_equal(distance, touch(expected, at));
        }
        assert_true(stack_join(whole, chunk));
        stack_clear(chunk);
        assert_int_equal(stack_lines(whole), stack_lines(expected));
        assert_int_equal(stack_lines(chunk), 0);
    }
    stack_free(whole);
    stack_free(chunk);
    stack_free(expected);
}

/* As many slots as there can be, twice the lines: these are closed up for ever, and the line after
 * the last one is refused. */
TEST(full)
{
    enum { LINES = TIMELINE_PART / 2 - TABLE_PAGE }; /* the first page is nobody's */
    struct stack *small = new_stack(1), *large = new_stack(1);
    struct psnap_rng rng;

    assert_int_equal(small->below.slot_max, UINT32_C(1) << 31);
    small->below.slot_max = TIMELINE_PART;
    small->table.cell_max = TIMELINE_PART / 2;
    psnap_rng_init(&rng, 41);
    for (uint64_t line = 0; line < LINES; line++) {
        assert_int_equal(touch(small, line), STACK_COLD);
        assert_int_equal(touch(large, line), STACK_COLD);
    }
    for (int i = 0; i < 5 * TIMELINE_PART; i++) {
        const uint64_t line = psnap_rng_below(&rng, LINES);
        assert_int_equal(touch(small, line), touch(large, line));
    }
    assert_int_equal(small->below.slot_count, TIMELINE_PART);
    assert_true(large->below.slot_count > TIMELINE_PART);
    assert_true(stack_is_full(small) && !stack_is_full(large));
    assert_int_equal(touch(small, LINES), STACK_FAILED);
    stack_free(small);
    stack_free(large);
}

/* Without room for another slot there is an end as well. */
TEST(no_slots)
{
    struct timeline line;
    uint32_t *cells = calloc(TIMELINE_PART + 1, sizeof *cells);

    assert_non_null(cells);
    assert_true(timeline_init(&line));
    line.slot_max = TIMELINE_PART;
    for (uint32_t cell = 1; cell <= TIMELINE_PART; cell++) {
        assert_true(timeline_make_room(&line, cells));
        timeline_put(&line, cells, cell);
    }
    assert_false(timeline_make_room(&line, cells));
    timeline_release(&line);
    free(cells);
}
