/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Comparing profiles, worked out by hand: what a loop of the source sums up, which loops are which
 * where lines, functions and call sites have moved, what is different how much, and how far
 * profiles of model nests are apart.
 */
#include <math.h>

#include "profile/diff/diff.h"
#include "tests/unit/test_profile_support.h"

/* A profile in the making, and two of them compared. */
static char text[16384];
static size_t used;

static void add(const char *format, ...) PSNAP_PRINTF(1, 2);
static void add(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    used += (size_t)vsnprintf(text + used, sizeof text - used, format, arguments);
    va_end(arguments);
    assert_true(used < sizeof text);
}

static void begin_profile(const char *schedule)
{
    used = 0;
    add("psnap: 1\ncapture: {model: psnap}\nschedule: [%s]\nloops:\n", schedule);
}

struct loop {
    const char *function;
    unsigned line, words; /* it loads so many, of 8 bytes, one after the other; 0: none */
    const char *thing;
};

static void add_loop(const struct loop *loop)
{
    const unsigned n = loop->words;

    add("- id: '%s:%u'\n  function: %s\n  source: t.c:%u\n  nest: {depth: 1}\n  regions:\n",
        loop->function, loop->line, loop->function, loop->line);
    add("  - {id: a, %s%sworking_set: {bytes: %u, group: heap, offset: 0}, accesses: %u,\n"
        "     loads: %u, sizes: {8: %u}, strides: {8: %u}}\n",
        loop->thing, *loop->thing ? ", " : "", 8 * n, n, n, n, n - 1);
}

enum { LOOPS = 4 };

/* A profile of loops that follow each other. */
static struct psnap_profile *profile_of(const struct loop loops[LOOPS])
{
    char schedule[256] = "";

    for (unsigned i = 0; i < LOOPS && loops[i].words; i++)
        snprintf(schedule + strlen(schedule), 64, "%s'%s:%u'", i ? ", " : "", loops[i].function,
                 loops[i].line);
    begin_profile(schedule);
    for (unsigned i = 0; i < LOOPS && loops[i].words; i++)
        add_loop(&loops[i]);
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

/* ---- what a side sums up ---- */

/* Two parts with 96 bytes from 0 and 64 from 64 cover 128; a third thing lies elsewhere. */
TEST(sums)
{
    static const char profile[] =
        "psnap: 1\ncapture: {model: psnap}\nschedule: ['f:1.vector', 'f:1.rest']\nloops:\n"
        "- id: f:1\n  function: f\n  source: t.c:1\n  nest: {depth: 1}\n  entries: 4\n"
        "- id: f:1.vector\n  part_of: f:1\n  function: f\n  source: t.c:1\n  nest: {depth: 1}\n"
        "  entries: 3\n  iterations: {total: 12}\n  operations: {fp_add: 5}\n  regions:\n"
        "  - {id: a, symbol: a, working_set: {bytes: 96, group: heap, offset: 0}, accesses: 3,\n"
        "     loads: 3, sizes: {32: 3}, strides: {32: 2}}\n"
        "- id: f:1.rest\n  part_of: f:1\n  function: f\n  source: t.c:1\n  nest: {depth: 1}\n"
        "  entries: 5\n  iterations: {total: 8}\n  operations: {fp_add: 2}\n  regions:\n"
        "  - {id: a, symbol: a, working_set: {bytes: 64, group: heap, offset: 64}, accesses: 8,\n"
        "     loads: 6, stores: 2, sizes: {8: 8}, strides: {8: 7}}\n"
        "  - {id: b, symbol: b, working_set: {bytes: 8, group: heap, offset: 4096}, accesses: 1,\n"
        "     stores: 1, sizes: {8: 1}}\n";
    struct compared compared = compare(read_text(profile), read_text(profile));
    const struct diff_loop *loop = compared.diff.pairs[0].a;

    assert_true(compared.diff.is_same);
    assert_int_equal(compared.diff.pair_count, 1);
    assert_int_equal(compared.diff.pairs[0].changes, 0);
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

static bool is_id(const struct diff_loop *loop, const char *id)
{
    return loop && id ? !strcmp(loop->id, id) : !loop && !id;
}

TEST(partners)
{
    static const struct {
        struct loop a[LOOPS], b[LOOPS];
        struct {
            const char *a, *b; /* NULL: there is none */
            enum diff_match match;
            unsigned changes;
        } pairs[2 * LOOPS];
    } cases[] = {
        /* ten lines were added above: one id of a is in b, but of the loop before */
        {{{"f", 10, 8, "symbol: x"},
          {"f", 20, 16, "symbol: y"},
          {"f", 30, 4, "symbol: z"},
          {"g", 5, 8, "symbol: x"}},
         {{"f", 20, 8, "symbol: x"},
          {"f", 30, 16, "symbol: y"},
          {"f", 40, 4, "symbol: z"},
          {"g", 5, 8, "symbol: x"}},
         {{"f:10", "f:20", DIFF_MOVED, 0},
          {"f:20", "f:30", DIFF_MOVED, 0},
          {"f:30", "f:40", DIFF_MOVED, 0},
          {"g:5", "g:5", DIFF_SAME_ID, 0}}},
        /* a loop was added in front of one that has its line still: ids say more than likeness */
        {{{"f", 10, 8, "symbol: x"}, {"f", 20, 8, "symbol: x"}},
         {{"f", 5, 8, "symbol: x"}, {"f", 10, 8, "symbol: x"}, {"f", 20, 8, "symbol: x"}},
         {{"f:10", "f:10", DIFF_SAME_ID, 0},
          {"f:20", "f:20", DIFF_SAME_ID, 0},
          {NULL, "f:5", DIFF_ONLY_B, 0}}},
        /* in the order of lines, and not what touches something else */
        {{{"f", 10, 8, "symbol: x"}, {"f", 20, 8, "symbol: y"}},
         {{"f", 11, 8, "symbol: z"}, {"f", 12, 9, "symbol: x"}, {"f", 21, 9, "symbol: y"}},
         {{"f:10", "f:12", DIFF_MOVED, DIFF_ACCESSES | DIFF_WORKING_SET | DIFF_REGIONS},
          {"f:20", "f:21", DIFF_MOVED, DIFF_ACCESSES | DIFF_WORKING_SET | DIFF_REGIONS},
          {NULL, "f:11", DIFF_ONLY_B, 0}}},
        /* functions by what they touch; plain loops over what has no name are not taken for one */
        {{{"old", 10, 8, "symbol: x"}, {"old", 20, 16, "symbol: y"}, {"plain", 3, 8, ""}},
         {{"new", 12, 80, "symbol: x"}, {"new", 22, 160, "symbol: y"}, {"other", 9, 12, ""}},
         {{"old:10", "new:12", DIFF_RENAMED, DIFF_ACCESSES | DIFF_WORKING_SET | DIFF_REGIONS},
          {"old:20", "new:22", DIFF_RENAMED, DIFF_ACCESSES | DIFF_WORKING_SET | DIFF_REGIONS},
          {"plain:3", NULL, DIFF_ONLY_A, 0},
          {NULL, "other:9", DIFF_ONLY_B, 0}}},
        /* call sites that a function has in equal number are the same in their order, 99 before
           120; of two for one who knows */
        {{{"f", 10, 8, "allocation: 'main t.c:99'"},
          {"f", 20, 16, "allocation: 'main t.c:120'"},
          {"g", 1, 16, "allocation: 'more t.c:7'"}},
         {{"f", 10, 8, "allocation: 'main t.c:120'"},
          {"f", 20, 16, "allocation: 'main t.c:141'"},
          {"g", 1, 16, "allocation: 'more t.c:8'"},
          {"g", 2, 16, "allocation: 'more t.c:9'"}},
         {{"f:10", "f:10", DIFF_SAME_ID, 0},
          {"f:20", "f:20", DIFF_SAME_ID, 0},
          {"g:1", "g:1", DIFF_SAME_ID, DIFF_REGIONS},
          {NULL, "g:2", DIFF_ONLY_B, 0}}},
        /* of one length in both, three times as long, gone */
        {{{"f", 1, 64, "symbol: x"}, {"f", 2, 32, "symbol: y"}, {"f", 3, 4, "symbol: z"}},
         {{"f", 1, 64, "symbol: x"}, {"f", 2, 96, "symbol: y"}},
         {{"f:1", "f:1", DIFF_SAME_ID, 0},
          {"f:2", "f:2", DIFF_SAME_ID, DIFF_ACCESSES | DIFF_WORKING_SET | DIFF_REGIONS},
          {"f:3", NULL, DIFF_ONLY_A, 0}}},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        struct psnap_profile *a = profile_of(cases[i].a);
        struct compared compared = compare(a, profile_of(cases[i].b));
        uint32_t found = 0;
        for (uint32_t k = 0; k < compared.diff.pair_count; k++) {
            const struct diff_pair *pair = &compared.diff.pairs[k];
            for (unsigned w = 0; cases[i].pairs[w].a || cases[i].pairs[w].b; w++)
                if (is_id(pair->a, cases[i].pairs[w].a) && is_id(pair->b, cases[i].pairs[w].b)) {
                    assert_int_equal(pair->match, cases[i].pairs[w].match);
                    assert_int_equal(pair->changes, cases[i].pairs[w].changes);
                    found++;
                }
        }
        if (found != compared.diff.pair_count)
            fail_msg("case %zu: %u of %u pairs", i, found, compared.diff.pair_count);
        end(&compared);
    }
}

/* ---- what is different ---- */

/* Of 100 accesses 64, 32 and 4; of 160 again 64, and 96: the most important first. */
TEST(importance)
{
    static const struct loop loops_a[LOOPS] = {
        {"f", 1, 64, "symbol: x"}, {"f", 2, 32, "symbol: y"}, {"f", 3, 4, "symbol: z"}};
    static const struct loop loops_b[LOOPS] = {{"f", 1, 64, "symbol: x"},
                                               {"f", 2, 96, "symbol: y"}};
    struct psnap_profile *a = profile_of(loops_a);
    struct compared compared = compare(a, profile_of(loops_b));

    assert_string_equal(compared.diff.pairs[0].a->id, "f:2");
    assert_float_equal(compared.diff.pairs[0].importance, (1 - 32.0 / 96) * 96 / 160, 1e-9);
    assert_string_equal(compared.diff.pairs[1].a->id, "f:3");
    assert_float_equal(compared.diff.pairs[1].importance, 0.04, 1e-9);
    end(&compared);
}

/* Half of the loads are stores, one in 1000 is of 4 bytes, all with another stride and elsewhere.
 */
TEST(changes)
{
    struct compared compared;
    struct psnap_profile *a;
    const struct diff_pair *pair;

    begin_profile("f");
    add("- id: f\n  function: f\n  nest: {depth: 0}\n  entries: 1\n  operations: {branch: 8}\n"
        "  regions:\n  - {id: a, symbol: s, working_set: {bytes: 8K, group: heap, offset: 0},\n"
        "     accesses: 1000, loads: 1000, sizes: {8: 1000}, strides: {8: 999}}\n");
    a = read_text(text);
    begin_profile("f");
    add("- id: f\n  function: f\n  nest: {depth: 0}\n  iterations: {total: 3}\n"
        "  operations: {branch: 9}\n"
        "  regions:\n  - {id: a, symbol: s, working_set: {bytes: 8K, group: heap, offset: 128},\n"
        "     accesses: 1000, loads: 500, stores: 500, sizes: {4: 1, 8: 999}, strides: {16: "
        "999}}\n");
    compared = compare(a, read_text(text));
    pair = &compared.diff.pairs[0];
    assert_int_equal(pair->changes,
                     DIFF_KINDS | DIFF_SIZES | DIFF_STRIDES | DIFF_OPERATIONS | DIFF_REGIONS);
    assert_float_equal(pair->importance, 1, 1e-9); /* no stride is left */
    assert_int_equal(pair->regions[0].changes, DIFF_KINDS | DIFF_SIZES | DIFF_STRIDES | DIFF_PLACE);
    end(&compared);
}

/* ---- how far they are apart ---- */

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
    return read_text(text);
}

/* Of 96 accesses: 64 in f:1 and 32 in f:2, which come after each other twice. */
TEST(apart)
{
    static const char both[] = "{repeat: 2, of: ['f:1', 'f:2']}";
    static const struct {
        const char *schedule;
        unsigned first, second, stride;
        double share;
    } cases[] = {
        {both, 64, 32, 8, 0},
        {both, 64, 32, 16, 64.0 / 96}, /* f:1 has another stride wholly */
        {both, 64, 48, 8, 16.0 / 112}, /* f:2 a third more accesses */
        /* f:1 f:2 f:1 f:2: 3 successions of weight 16; else f:1 f:1 (32), f:1 f:2, f:2 f:2 (16) */
        {"{repeat: 2, of: ['f:1']}, {repeat: 2, of: ['f:2']}", 64, 32, 8,
         (1 * 16 + 16 + 32 + 16) / 192.0},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        struct psnap_profile *a = nests(both, 64, 32, 8);
        struct compared compared =
            compare(a, nests(cases[i].schedule, cases[i].first, cases[i].second, cases[i].stride));
        struct diff_apart apart;
        assert_true(diff_measure(&compared.diff, &apart));
        assert_float_equal(apart.share, cases[i].share, 1e-9);
        assert_true(apart.share == 0 || (apart.changes & DIFF_ORDER) || apart.furthest);
        end(&compared);
    }
}

TEST(shares)
{
    static const uint64_t a[] = {1, 3, 0}, b[] = {2, 6, 0}, c[] = {0, 2, 2}, none[3] = {0};

    assert_float_equal(diff_of_shares(a, b, 3), 0, 1e-12);
    assert_float_equal(diff_of_shares(a, c, 3), 0.5, 1e-12);
    assert_float_equal(diff_of_shares(a, none, 3), 1, 0);
    assert_float_equal(diff_of_shares(none, none, 3), 0, 0);
}
