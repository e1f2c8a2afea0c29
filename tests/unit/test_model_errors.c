/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A profile of model nests that is good, and for each thing that can be wrong in its model the
 * error with its line: names that are not there, counts that contradict each other, what cannot be.
 */
#include "tests/unit/test_profile_support.h"
#include "tests/unit/test_text_support.h"

static const char base[] =
    "psnap: 1\n"                                                                           /* 1 */
    "capture: {model: nests-3}\n"                                                          /* 2 */
    "schedule: [{repeat: 2, of: [f, {visit: c}]}]\n"                                       /* 3 */
    "chains:\n"                                                                            /* 4 */
    "- id: c\n"                                                                            /* 5 */
    "  after: {(outside): {g: 2}, g: {g/2: 3, (outside): 1}, g/2: {g: 2, (outside): 1}}\n" /* 6 */
    "objects:\n"                                                                           /* 7 */
    "- {id: o, symbol: x, group: image, offset: 4096, bytes: 4096,\n"                      /* 8 */
    "   first_touches: {strides_lines: {1: 3}, elsewhere: 1}}\n"                           /* 9 */
    "- {id: h, group: heap, offset: 0, bytes: 64}\n"                                       /* 10 */
    "loops:\n"                                                                             /* 11 */
    "- id: f\n"                                                                            /* 12 */
    "  nest: {depth: 1}\n"                                                                 /* 13 */
    "  accesses: 16\n"                                                                     /* 14 */
    "  regions:\n"                                                                         /* 15 */
    "  - {id: a, working_set: {bytes: 256, group: heap, offset: 4096}, accesses: 16,\n"    /* 16 */
    "     loads: 16, sizes: {8: 16}}\n"                                                    /* 17 */
    "  bodies:\n"                                                                          /* 18 */
    "  - {id: f, refs: [0, 1], iterations: 4}\n"                                           /* 19 */
    "  references:\n"                                                                      /* 20 */
    "  - {ref: 0, load: 8, region: a, start: 0, counts: [2, 4], strides: [64, 8]}\n"       /* 21 */
    "  - {ref: 1, load: 8, nest: [{repeat: 2, of: [{region: a, start: 0,\n"                /* 22 */
    "      counts: [{first: 5, steps: [-2]}], strides: [0, 8]}]}]}\n"                      /* 23 */
    "- id: g\n"                                                                            /* 24 */
    "  nest: {depth: 1}\n"                                                                 /* 25 */
    "  accesses: 33\n"                                                                     /* 26 */
    "  regions:\n"                                                                         /* 27 */
    "  - {id: a, working_set: {bytes: 4096, group: image, offset: 4096}, accesses: 33,\n"  /* 28 */
    "     loads: 33, sizes: {8: 33}}\n"                                                    /* 29 */
    "  bodies:\n"                                                                          /* 30 */
    "  - {id: g, refs: [0, 1, 2], iterations: {drawn: [{is: 1, times: 2},\n"               /* 31 */
    "       {from: 2, to: 3, times: 2, sum: 5}]}}\n"                                       /* 32 */
    "  - {id: g/2, refs: [0], iterations: {start: 3, counts: [3], strides: [1]}}\n"        /* 33 */
    "  references:\n"                                                                      /* 34 */
    "  - {ref: 0, load: 8, reuse: [{object: o, times: {0: 4, 16: 6, first: 7},\n"          /* 35 */
    "       places: {0: 50, 8: 50}}, {object: h, times: {2: 2}}]}\n"                       /* 36 */
    "  - {ref: 1, load: 8, base: 0, offset: 8}\n"                                          /* 37 */
    "  - {ref: 2, load: 8, base: {loop: g, ref: 1}, offsets: {0: 1, -8: 3}}\n";            /* 38 */

TEST(the_base_is_good)
{
    struct psnap_profile *profile = read_text(base);
    char *text = write_text(profile);
    struct psnap_profile *back = read_text(text);
    char *again = write_text(back);

    assert_string_equal(text, again);
    free(text);
    free(again);
    psnap_profile_free(profile);
    psnap_profile_free(back);
}

struct mistake {
    const char *from, *to;
    uint32_t line;
    const char *message;
};

static const struct mistake mistakes[] = {
    /* names */
    {"of: [f, ", "of: [e, ", 3, "there is no body 'e'"},
    {"{visit: c}", "{visit: d}", 3, "there is no chain 'd'"},
    {"{g/2: 3", "{g/3: 3", 6, "'g/3'"},
    {"id: g/2", "id: g", 33, "there is another one in line 31"},
    {"id: h", "id: o", 10, "there is another one in line 8"},
    {"{ref: 1, load: 8, base", "{ref: 0, load: 8, base", 37, "there is another one in line 35"},
    {"refs: [0, 1]", "refs: [0, 7]", 19, "the loop has no reference 7"},
    {"refs: [0, 1]", "refs: []", 19, "a body has references"},
    {"object: h", "object: k", 36, "there is no object 'k'"},
    {"base: 0", "base: 5", 37, "there is no such reference"},
    {"{loop: g, ref: 1}", "{loop: k, ref: 1}", 38, "no such loop"},
    {"base: 0", "base: 1", 37, "depends on itself"},
    {"base: 0", "base: 2", 37, "depends on itself"},
    {"region: a, start: 0, counts: [2", "region: b, start: 0, counts: [2", 21,
     "there is no such region in loop f"},
    {"id: f, refs", "id: (outside), refs", 19, "'(outside)' is no name of a body"},
    {"symbol: x", "symbol: x, allocation: y", 8, "an object has one name"},
    /* what a reference is */
    {"{ref: 0, load: 8, region", "{ref: 0, region", 21, "one of 'load', 'store' and 'atomic'"},
    {"{ref: 0, load: 8, region", "{ref: 0, load: 8, store: 8, region", 21, "one of 'load'"},
    {"load: 8, base: 0,", "load: 8, base: 0, start: 4,", 37, "a reference has addresses"},
    {"base: 0, offset: 8", "base: 0, offset: 8, offsets: {1: 1}", 37, "'offset' or 'offsets'"},
    {"base: 0, offset: 8", "base: 0", 37, "'offset' or 'offsets'"},
    {"{0: 1, -8: 3}", "{0: 1, 1: 1, 2: 1, 3: 1, 4: 1}", 38, "1 to 4 offsets"},
    {"{0: 1, -8: 3}", "{x: 1}", 38, "the key 'x' is no number"},
    {"reuse: [{object: o,", "reuse: [], bases: [{object: o,", 35, ""},
    /* sweeps and parts */
    {"base: 0, offset: 8", "sweep: 0", 37, "no addresses with 'element'"},
    {"base: 0, offset: 8", "sweep: {loop: k, ref: 0}", 37, "no such loop"},
    {"base: 0, offset: 8", "base: 0, offset: 8, element: 8", 37, "only addresses are of elements"},
    {"{ref: 0, load: 8, region", "{ref: 0, load: 8, element: 3, region", 21, "no whole number"},
    {"refs: [0, 1], iterations: 4", "refs: [0, 1]", 21, "but bodies make 2 of it"},
    {"refs: [0, 1], iterations: 4", "of: [g], refs: [0]", 19, "is of 1 to 4 parts"},
    {"refs: [0, 1], iterations: 4", "of: [f]", 19, "no body 'f' that could be a part"},
    {"refs: [0, 1], iterations: 4", "of: [{body: g, width: 2}]", 19, "without 'iterations' parts"},
    {"refs: [0, 1], iterations: 4", "of: [g], iterations: 4", 19, "iterations by another rule"},
    {"refs: [0, 1], iterations: 4", "of: [{body: g, width: 2}], iterations: 4", 19,
     "widths of parts must differ"},
    {"refs: [0, 1], iterations: 4", "of: [g], iterations: {drawn: [{is: 1, times: 1}]}", 19,
     "drawn iterations do not tell"},
    {"load: 8, base: 0,", "load: 8, region: a, base: 0,", 37, "'region' is of a reference with"},
    {"load: 8, nest: [", "load: 8, counts: [2], nest: [", 22, "'counts' is of a reference with"},
    {"load: 8, nest: [", "load: 8, region: b, nest: [{start: 0}, ", 22, "there is no such region"},
    /* nests */
    {"counts: [2, 4], strides: [64, 8]", "counts: [2, 4], strides: [8]", 21, "1 strides, but 2"},
    {"counts: [2, 4], strides: [64, 8]", "counts: [], strides: []", 21, "1 to 32 loops"},
    {"steps: [-2]", "steps: [-2, 1]", 23, "2 steps in 1 loops"},
    {"nest: [{repeat: 2, of: [{region: a, start: 0,\n      counts: [{first: 5, steps: [-2]}], "
     "strides: [0, 8]}]}]",
     "nest: []", 22, "a nest of no terms"},
    /* reuse */
    {"{0: 4, 16: 6, first: 7}", "{0: 4, 17: 6, first: 7}", 35, "reuse times are 0 to 16, 32, 64"},
    {"{0: 4, 16: 6, first: 7}", "{0: 4, -1: 6, first: 7}", 35, "reuse times are 0 to 16, 32, 64"},
    {"{0: 4, 16: 6, first: 7}", "{16: 6, 0: 4, first: 7}", 35, "reuse times must rise"},
    {"{0: 4, 16: 6, first: 7}", "{first: 7, 0: 10}", 35, "reuse times must rise"},
    {"{0: 50, 8: 50}", "{0: 50, 9: 50}", 36, "places in a line are 0, 8, 16 to 56"},
    {"times: {2: 2}", "phases: [{2: 1}, {2: 1}]", 36, "2 phases, but another object has 1"},
    {"times: {2: 2}", "phases: []", 36, "1 to 4 phases"},
    {"bytes: 64", "bytes: 18446744073709551615", 10, "not so many addresses"},
    /* counts */
    {"iterations: 4}", "iterations: 5}", 21,
     "reference 0 has addresses for 8 accesses, but bodies make 10"},
    {"repeat: 2, of: [f", "repeat: 3, of: [f", 3, "chain 'c' begins 2 times, but is visited 3"},
    {"{g: 2, (outside): 1}", "{g: 3, (outside): 1}", 3, "is not left as often as it is entered"},
    {"{0: 4, 16: 6, first: 7}", "{0: 4, 16: 6, first: 6}", 35, "reference 0 has addresses for 18"},
    {"accesses: 33\n", "accesses: 34\n", 26, "has 34 accesses, but its bodies make 33"},
    {"{0: 4, 16: 6, first: 7}", "{0: 72057594037927936, 16: 72057594037927936, first: 19}", 35,
     "the counts add up to more than 2^56"},
    {"start: 0, counts: [2, 4], strides: [64, 8]",
     "nest: [{start: 0, counts: [72057594037927936]}, {start: 0, counts: [8]}]", 21,
     "more than 2^56"},
    {"refs: [0, 1]", "refs: [0, 0]", 19, "reference 0 is in the body twice"},
    /* what is derived */
    {"accesses: 33,", "accesses: 32,", 28,
     "'accesses' of region 'a' is 32, but its references have 33"},
    {"loads: 33,", "loads: 32,", 29, "'loads' of region 'a' is 32"},
    {"loads: 33,", "loads: 33, stores: 1,", 29, "'stores' of region 'a' is 1"},
    {"loads: 33,", "loads: 33, strides: {8: 32},", 29, "'strides' follows from the references"},
    {"sizes: {8: 33}", "sizes: {4: 33}", 29, "'sizes' of region 'a' is not what"},
    {"sizes: {8: 33}", "sizes: {8: 33}, derived: {strides: {8: 33}}", 29,
     "'strides' of region 'a' is not what"},
    {"accesses: 16\n", "accesses: 16\n  derived: {pattern: [a]}\n", 15, "the pattern is not"},
    {"  - {id: a, working_set: {bytes: 4096",
     "  - {id: b, working_set: {bytes: 1, group: raw, offset: 1}}\n"
     "  - {id: a, working_set: {bytes: 4096",
     28, "no reference accesses region 'b'"},
    {"sum: 5", "sum: 7", 32, "the sum of 2 counts of 2 to 3 cannot be 7"},
    {"from: 2, to: 3", "from: 3, to: 2", 32, "'to' is less than 'from'"},
    {"is: 1, times: 2", "is: 1, times: 3", 3, "body 'g' executes 4 times in the schedule"},
    {"iterations: 4}", "iterations: 0}", 19, ""},
    {"repeat: 2, of: [f", "repeat: 4611686018427387903, of: [f", 3, ""},
    {"schedule: [{repeat: 2, of: [f, {visit: c}]}]", "provenance: {}", 0, ""},
};

TEST(mistakes_have_their_line)
{
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        const struct mistake *mistake = &mistakes[i];
        char *text = replaced(base, mistake->from, mistake->to);
        struct psnap_error error = {0};
        struct psnap_profile *profile = try_text(text, &error);
        if (profile)
            fail_msg("'%s' is taken", mistake->to);
        if ((mistake->line && error.src_line != mistake->line) ||
            !strstr(error.message, mistake->message))
            fail_msg("'%s': got %u: %s; wanted %u: %s", mistake->to, (unsigned)error.src_line,
                     error.message, (unsigned)mistake->line, mistake->message);
        assert_true(error.code < 0 && error.message[0]);
        free(text);
    }
}

/* A text that ends anywhere has an error, or is a profile. */
TEST(what_is_cut_off_is_no_crash)
{
    for (size_t length = 0; length < sizeof base; length++) {
        struct psnap_error error = {0};
        char *text = strndup(base, length);
        struct psnap_profile *profile;
        assert_non_null(text);
        profile = *text ? try_text(text, &error) : NULL;
        assert_true(!*text || profile || error.message[0]);
        psnap_profile_free(profile);
        free(text);
    }
}
