/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Comparing profiles, worked out by hand: what a loop of the source sums up, which loops are which
 * where lines, functions and call sites have moved, and what is different how much.
 */
#include <math.h>

#include "profile/diff/diff.h"
#include "tests/unit/test_profile_support.h"

/* A profile in the making, and two of them compared. */
static char text[16384];
static size_t used;

static void begin_profile(const char *schedule)
{
    used = (size_t)snprintf(
        text, sizeof text, "psnap: 1\ncapture: {model: psnap}\nschedule: [%s]\nloops:\n", schedule);
}

static void add(const char *format, ...) PSNAP_PRINTF(1, 2);
static void add(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    used += (size_t)vsnprintf(text + used, sizeof text - used, format, arguments);
    va_end(arguments);
    assert_true(used < sizeof text);
}

/* A loop FUNCTION:LINE that loads n words of 8 bytes of one thing, one after the other. */
static void add_loop(const char *function, unsigned line, const char *thing, unsigned n)
{
    add("- id: '%s:%u'\n  function: %s\n  source: t.c:%u\n  nest: {depth: 1}\n  regions:\n",
        function, line, function, line);
    add("  - {id: a, %s, working_set: {bytes: %u, group: heap, offset: 0}, accesses: %u,\n"
        "     loads: %u, sizes: {8: %u}, strides: {8: %u}}\n",
        thing, 8 * n, n, n, n, n - 1);
}

static struct psnap_profile *end_text(void)
{
    return read_text(text);
}

struct compared {
    struct psnap_profile *a, *b;
    struct profile_diff diff;
};

static struct compared compare(struct psnap_profile *a, struct psnap_profile *b)
{
    struct compared compared = {a, b, {0}};
    struct psnap_error error;

    if (profile_diff_init(&compared.diff, a, b, &error))
        fail_msg("%s", error.message);
    return compared;
}

static void end(struct compared *compared)
{
    profile_diff_release(&compared->diff);
    psnap_profile_free(compared->a);
    psnap_profile_free(compared->b);
}

/* The pair with this loop of a, or (NULL) of b. */
static const struct diff_pair *find(const struct compared *compared, const char *a, const char *b)
{
    for (uint32_t i = 0; i < compared->diff.pair_count; i++) {
        const struct diff_pair *pair = &compared->diff.pairs[i];
        const struct diff_loop *loop = a ? pair->a : pair->b;
        if (loop && !strcmp(loop->id, a ? a : b))
            return pair;
    }
    fail_msg("no pair of %s", a ? a : b);
    return NULL;
}

/* Loop `a` is loop `b` of the other, NULL: none. */
static void expect_partner(const struct compared *compared, const char *a, const char *b,
                           enum diff_match match)
{
    const struct diff_pair *pair = find(compared, a, b);

    if (a && b && (!pair->b || strcmp(pair->b->id, b) != 0))
        fail_msg("%s is %s, not %s", a, pair->b ? pair->b->id : "none", b);
    if (!a || !b)
        assert_true(!pair->a == !a && !pair->b == !b);
    if (pair->match != match)
        fail_msg("%s: found as %d", a ? a : b, (int)pair->match);
}

/* ---- what a side sums up ---- */

/* Two parts with 96 bytes from 0 and 64 from 64 cover 128; a third thing lies elsewhere. */
static void test_sums(void **state)
{
    struct compared compared;
    const struct diff_loop *loop;

    (void)state;
    begin_profile("'f:1.vector', 'f:1.rest'");
    add("- id: f:1\n  function: f\n  source: t.c:1\n  nest: {depth: 1}\n  entries: 4\n");
    add("- id: f:1.vector\n  part_of: f:1\n  function: f\n  source: t.c:1\n  nest: {depth: 1}\n"
        "  entries: 3\n  iterations: {total: 12}\n  operations: {fp_add: 5}\n  regions:\n"
        "  - {id: a, symbol: a, working_set: {bytes: 96, group: heap, offset: 0}, accesses: 3,\n"
        "     loads: 3, sizes: {32: 3}, strides: {32: 2}}\n");
    add("- id: f:1.rest\n  part_of: f:1\n  function: f\n  source: t.c:1\n  nest: {depth: 1}\n"
        "  entries: 5\n  iterations: {total: 8}\n  operations: {fp_add: 2}\n  regions:\n"
        "  - {id: a, symbol: a, working_set: {bytes: 64, group: heap, offset: 64}, accesses: 8,\n"
        "     loads: 6, stores: 2, sizes: {8: 8}, strides: {8: 7}}\n"
        "  - {id: b, symbol: b, working_set: {bytes: 8, group: heap, offset: 4096}, accesses: 1,\n"
        "     stores: 1, sizes: {8: 1}}\n");
    compared = compare(end_text(), end_text());
    assert_true(compared.diff.is_same);
    assert_int_equal(compared.diff.pair_count, 1);
    assert_int_equal(compared.diff.pairs[0].changes, 0);
    loop = compared.diff.pairs[0].a;
    assert_string_equal(loop->id, "f:1");
    assert_int_equal(loop->part_count, 3);
    assert_int_equal(loop->entries, 5);
    assert_int_equal(loop->iterations, 20);
    assert_int_equal(loop->operations[PSNAP_OP_FP_ADD], 7);
    assert_int_equal(loop->all.accesses, 12);
    assert_int_equal(loop->all.kinds[PSNAP_LOAD], 9);
    assert_int_equal(loop->all.working_set_bytes, 136);
    assert_int_equal(loop->all.sizes[8], 9);
    assert_int_equal(loop->region_count, 2);
    assert_string_equal(loop->regions[0].name, "a");
    assert_int_equal(loop->regions[0].working_set_bytes, 128);
    assert_int_equal(loop->regions[0].strides[psnap_stride_bin(8)], 7);
    assert_int_equal(loop->regions[0].strides[psnap_stride_bin(32)], 2);
    end(&compared);
}

/* ---- which loop is which ---- */

static void test_moved(void **state)
{
    struct compared compared;
    struct psnap_profile *a;

    (void)state;
    /* ten lines were added above: one id of a is in b, but of the loop before */
    begin_profile("'f:10', 'f:20', 'f:30', 'g:5'");
    add_loop("f", 10, "symbol: x", 8);
    add_loop("f", 20, "symbol: y", 16);
    add_loop("f", 30, "symbol: z", 4);
    add_loop("g", 5, "symbol: x", 8);
    a = end_text();
    begin_profile("'f:20', 'f:30', 'f:40', 'g:5'");
    add_loop("f", 20, "symbol: x", 8);
    add_loop("f", 30, "symbol: y", 16);
    add_loop("f", 40, "symbol: z", 4);
    add_loop("g", 5, "symbol: x", 8);
    compared = compare(a, end_text());
    expect_partner(&compared, "f:10", "f:20", DIFF_MOVED);
    expect_partner(&compared, "f:20", "f:30", DIFF_MOVED);
    expect_partner(&compared, "f:30", "f:40", DIFF_MOVED);
    expect_partner(&compared, "g:5", "g:5", DIFF_SAME_ID);
    for (uint32_t i = 0; i < compared.diff.pair_count; i++)
        assert_int_equal(compared.diff.pairs[i].changes, 0);
    assert_false(compared.diff.is_same);
    end(&compared);

    /* a loop was added in front of one that has its line still: ids say more than likeness */
    begin_profile("'f:10', 'f:20'");
    add_loop("f", 10, "symbol: x", 8);
    add_loop("f", 20, "symbol: x", 8);
    a = end_text();
    begin_profile("'f:5', 'f:10', 'f:20'");
    add_loop("f", 5, "symbol: x", 8);
    add_loop("f", 10, "symbol: x", 8);
    add_loop("f", 20, "symbol: x", 8);
    compared = compare(a, end_text());
    expect_partner(&compared, "f:10", "f:10", DIFF_SAME_ID);
    expect_partner(&compared, "f:20", "f:20", DIFF_SAME_ID);
    expect_partner(&compared, NULL, "f:5", DIFF_ONLY_B);
    end(&compared);

    /* in the order of lines, and not what is unlike: stores of z at random for loads of x */
    begin_profile("'f:10', 'f:20'");
    add_loop("f", 10, "symbol: x", 8);
    add_loop("f", 20, "symbol: y", 8);
    a = end_text();
    begin_profile("'f:11', 'f:12', 'f:21'");
    add("- id: f:11\n  function: f\n  source: t.c:11\n  nest: {depth: 2}\n  regions:\n"
        "  - {id: z, symbol: z, working_set: {bytes: 4K, group: heap, offset: 0}, accesses: 8,\n"
        "     stores: 8, sizes: {8: 8}, strides: {random: 7}}\n");
    add_loop("f", 12, "symbol: x", 9);
    add_loop("f", 21, "symbol: y", 9);
    compared = compare(a, end_text());
    expect_partner(&compared, "f:10", "f:12", DIFF_MOVED);
    expect_partner(&compared, "f:20", "f:21", DIFF_MOVED);
    expect_partner(&compared, NULL, "f:11", DIFF_ONLY_B);
    end(&compared);
}

static void test_renamed(void **state)
{
    struct compared compared;
    struct psnap_profile *a;

    (void)state;
    /* by the things that are touched; plain loops over what has no name are not taken for one */
    begin_profile("'old:10', 'old:20', 'plain:3'");
    add_loop("old", 10, "symbol: x", 8);
    add_loop("old", 20, "symbol: y", 16);
    add("- id: plain:3\n  function: plain\n  source: t.c:3\n  nest: {depth: 1}\n  regions:\n"
        "  - {id: r1, working_set: {bytes: 64, group: heap, offset: 0}, accesses: 8,\n"
        "     loads: 8, sizes: {8: 8}, strides: {8: 7}}\n");
    a = end_text();
    begin_profile("'new:12', 'new:22', 'other:9'");
    add_loop("new", 12, "symbol: x", 80);
    add_loop("new", 22, "symbol: y", 160);
    add("- id: other:9\n  function: other\n  source: t.c:9\n  nest: {depth: 1}\n  regions:\n"
        "  - {id: r1, working_set: {bytes: 96, group: heap, offset: 0}, accesses: 12,\n"
        "     loads: 12, sizes: {8: 12}, strides: {8: 11}}\n");
    compared = compare(a, end_text());
    expect_partner(&compared, "old:10", "new:12", DIFF_RENAMED);
    expect_partner(&compared, "old:20", "new:22", DIFF_RENAMED);
    expect_partner(&compared, "plain:3", NULL, DIFF_ONLY_A);
    expect_partner(&compared, NULL, "other:9", DIFF_ONLY_B);
    end(&compared);
}

/* Call sites that a function has in equal number are the same in their order, 99 before 120. */
static void test_sites(void **state)
{
    struct compared compared;
    struct psnap_profile *a;
    const struct diff_pair *pair;

    (void)state;
    begin_profile("'f:10', 'f:20', 'g:1'");
    add_loop("f", 10, "allocation: 'main t.c:99'", 8);
    add_loop("f", 20, "allocation: 'main t.c:120'", 16);
    add_loop("g", 1, "allocation: 'more t.c:7'", 16);
    a = end_text();
    begin_profile("'f:10', 'f:20', 'g:1', 'g:2'");
    add_loop("f", 10, "allocation: 'main t.c:120'", 8);
    add_loop("f", 20, "allocation: 'main t.c:141'", 16);
    add_loop("g", 1, "allocation: 'more t.c:8'", 16);
    add_loop("g", 2, "allocation: 'more t.c:9'", 16);
    compared = compare(a, end_text());
    expect_partner(&compared, "f:10", "f:10", DIFF_SAME_ID);
    assert_int_equal(find(&compared, "f:10", NULL)->changes, 0);
    assert_int_equal(find(&compared, "f:20", NULL)->changes, 0);
    pair = find(&compared, "g:1", NULL); /* two for one: who knows */
    assert_int_equal(pair->changes, DIFF_REGIONS);
    assert_int_equal(pair->region_count, 2);
    assert_true(!pair->regions[0].b || !pair->regions[0].a);
    end(&compared);
}

/* ---- what is different ---- */

static void test_differences(void **state)
{
    struct compared compared;
    struct psnap_profile *a;
    const struct diff_pair *pair;

    (void)state;
    /* of 100 accesses: 64 in f:1, 32 in f:2, 4 in f:3 */
    begin_profile("'f:1', 'f:2', 'f:3'");
    add_loop("f", 1, "symbol: x", 64);
    add_loop("f", 2, "symbol: y", 32);
    add_loop("f", 3, "symbol: z", 4);
    a = end_text();
    /* 160: f:1 as it was; f:2 three times as long; f:3 gone, another of 0 .. */
    begin_profile("'f:1', 'f:2'");
    add_loop("f", 1, "symbol: x", 64);
    add_loop("f", 2, "symbol: y", 96);
    compared = compare(a, end_text());
    assert_string_equal(compared.diff.pairs[0].a->id, "f:2");
    pair = &compared.diff.pairs[0];
    assert_int_equal(pair->changes, DIFF_ACCESSES | DIFF_WORKING_SET | DIFF_REGIONS);
    assert_float_equal(pair->importance, (1 - 32.0 / 96) * 96 / 160, 1e-9);
    assert_string_equal(compared.diff.pairs[1].a->id, "f:3");
    assert_int_equal(compared.diff.pairs[1].match, DIFF_ONLY_A);
    assert_float_equal(compared.diff.pairs[1].importance, 0.04, 1e-9);
    assert_int_equal(compared.diff.pairs[2].changes, 0);
    end(&compared);

    /* half of the loads are stores, of 4 bytes, with another stride, elsewhere */
    begin_profile("f");
    add("- id: f\n  function: f\n  nest: {depth: 0}\n  entries: 1\n  operations: {branch: 8}\n"
        "  regions:\n  - {id: a, symbol: s, working_set: {bytes: 8K, group: heap, offset: 0},\n"
        "     accesses: 1000, loads: 1000, sizes: {8: 1000}, strides: {8: 999}}\n");
    a = end_text();
    begin_profile("f");
    add("- id: f\n  function: f\n  nest: {depth: 0}\n  iterations: {total: 3}\n"
        "  operations: {branch: 9}\n"
        "  regions:\n  - {id: a, symbol: s, working_set: {bytes: 8K, group: heap, offset: 128},\n"
        "     accesses: 1000, loads: 500, stores: 500, sizes: {4: 1, 8: 999}, strides: {16: "
        "999}}\n");
    compared = compare(a, end_text());
    pair = &compared.diff.pairs[0];
    assert_int_equal(pair->changes,
                     DIFF_KINDS | DIFF_SIZES | DIFF_STRIDES | DIFF_OPERATIONS | DIFF_REGIONS);
    assert_float_equal(pair->importance, 1, 1e-9); /* no stride is left */
    assert_int_equal(pair->regions[0].changes, DIFF_KINDS | DIFF_SIZES | DIFF_STRIDES | DIFF_PLACE);
    end(&compared);

    /* only the order of the loops */
    begin_profile("{repeat: 2, of: ['f:1', 'f:2']}");
    add_loop("f", 1, "symbol: x", 64);
    add_loop("f", 2, "symbol: y", 32);
    a = end_text();
    begin_profile("'f:1', 'f:2'");
    add_loop("f", 1, "symbol: x", 64);
    add_loop("f", 2, "symbol: y", 32);
    compared = compare(a, end_text());
    assert_int_equal(compared.diff.pairs[0].changes, 0);
    assert_int_equal(compared.diff.pairs[1].changes, 0);
    assert_false(compared.diff.is_same);
    end(&compared);
}

/* A loop of model nests that executes twice, and steps through its array once. */
static void add_nest(const char *id, const char *array, unsigned accesses, unsigned stride)
{
    add("- id: %s\n  function: f\n  nest: {depth: 1}\n"
        "  regions:\n  - {id: %s, symbol: %s, working_set: {bytes: 8192, group: heap, offset: "
        "%u}}\n"
        "  bodies:\n  - {id: '%s', refs: [0], iterations: %u}\n"
        "  references:\n  - {ref: 0, load: 8, region: %s, start: 0, counts: [%u], strides: [%u]}\n",
        id, array, array, *array == 'x' ? 0 : 8192, id, accesses / 2, array, accesses, stride);
}

static struct psnap_profile *nests(const char *schedule, unsigned first, unsigned second,
                                   unsigned stride)
{
    used = 0;
    add("psnap: 1\ncapture: {model: nests-3}\nschedule: [%s]\nloops:\n", schedule);
    add_nest("f:1", "x", first, stride);
    add_nest("f:2", "y", second, 8);
    return end_text();
}

/* Distances, of 96 accesses: 64 in f:1 and 32 in f:2, which come after each other twice. */
static double measure(const char *schedule, unsigned first, unsigned second, unsigned stride)
{
    struct psnap_profile *a = nests("{repeat: 2, of: ['f:1', 'f:2']}", 64, 32, 8);
    struct compared compared = compare(a, nests(schedule, first, second, stride));
    struct diff_apart apart;

    assert_true(diff_measure(&compared.diff, &apart));
    assert_true(apart.share == 0 || (apart.changes & DIFF_ORDER) || apart.furthest);
    end(&compared);
    return apart.share;
}

static void expect_share(double share, double expected)
{
    if (fabs(share - expected) > 1e-9)
        fail_msg("%g, not %g", share, expected);
}

static void test_apart(void **state)
{
    static const char both[] = "{repeat: 2, of: ['f:1', 'f:2']}";

    (void)state;
    expect_share(measure(both, 64, 32, 8), 0);
    /* f:1 has another stride wholly, f:2 a third more accesses */
    expect_share(measure(both, 64, 32, 16), 64.0 / 96);
    expect_share(measure(both, 64, 48, 8), 16.0 / 112);
    /* f:1 f:2 f:1 f:2: 3 successions of weight 16; else f:1 f:1 (32), f:1 f:2 (16), f:2 f:2 (16) */
    expect_share(measure("{repeat: 2, of: ['f:1']}, {repeat: 2, of: ['f:2']}", 64, 32, 8),
                 (1 * 16 + 16 + 32 + 16) / 192.0);
}

static void test_shares(void **state)
{
    static const uint64_t a[] = {1, 3, 0}, b[] = {2, 6, 0}, c[] = {0, 2, 2}, none[3] = {0};

    (void)state;
    assert_float_equal(diff_of_shares(a, b, 3), 0, 1e-12);
    assert_float_equal(diff_of_shares(a, c, 3), 0.5, 1e-12);
    assert_float_equal(diff_of_shares(a, none, 3), 1, 0);
    assert_float_equal(diff_of_shares(none, none, 3), 0, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums),        cmocka_unit_test(test_moved),
        cmocka_unit_test(test_renamed),     cmocka_unit_test(test_sites),
        cmocka_unit_test(test_differences), cmocka_unit_test(test_shares),
        cmocka_unit_test(test_apart),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
