/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Profiles as YAML, with a certificate: what is written reads back the same, byte for byte when
 * written again; a golden profile; for each thing that can be wrong in a profile the error with its
 * place, contradictions with both lines; and what counts as an edit.
 */
#include <math.h>

#include "tests/unit/test_profile_support.h"
#include "tests/unit/test_text_support.h"

static const char base[] =
    "psnap: 1\n"                                                                   /* 1 */
    "program: {name: t, command: [./t, '1'], thread: all}\n"                       /* 2 */
    "capture: {model: psnap, region_gap_bytes: 256}\n"                             /* 3 */
    "totals: {accesses: 29, loads: 20, stores: 9, bytes: 192,\n"                   /* 4 */
    "  operations: {fp_add: 8}}\n"                                                 /* 5 */
    "schedule: [init, {repeat: 2, of: [sum, init]}]\n"                             /* 6 */
    "certificate:\n"                                                               /* 7 */
    "  psnap: '0.1.0'\n"                                                           /* 8 */
    "  seed: 18446744073709551615\n"                                               /* 9 */
    "  content: 0123456789abcdef\n"                                                /* 10 */
    "  relevant_loops: 1\n"                                                        /* 11 */
    "  machines: {host: '32K:64:8,1M:64:16'}\n"                                    /* 12 */
    "  levels:\n"                                                                  /* 13 */
    "  - {level: 1, mean_points: 0.0001, max_points: 100, total_points: 12.5}\n"   /* 14 */
    "  - {tlb: 2, total_points: 0}\n"                                              /* 15 */
    "  rows:\n"                                                                    /* 16 */
    "  - {machine: m, level: 1, mean_points: 0, max_points: 0, total_points: 0}\n" /* 17 */
    "  worst_loop: {id: init, machine: m, tlb: 1, points: 3.25}\n"                 /* 18 */
    "loops:\n"                                                                     /* 19 */
    "- id: init\n"                                                                 /* 20 */
    "  function: main\n"                                                           /* 21 */
    "  source: dir:1/t.c:7\n"                                                      /* 22 */
    "  nest: {depth: 1}\n"                                                         /* 23 */
    "  accesses: 8\n"                                                              /* 24 */
    "  pattern: [{repeat: 8, of: [a]}]\n"                                          /* 25 */
    "  regions:\n"                                                                 /* 26 */
    "  - id: a\n"                                                                  /* 27 */
    "    symbol: table\n"                                                          /* 28 */
    "    working_set: {bytes: 64, group: image, offset: 32}\n"                     /* 29 */
    "    accesses: 8\n"                                                            /* 30 */
    "    stores: 8\n"                                                              /* 31 */
    "    sizes: {8: 8}\n"                                                          /* 32 */
    "    strides: {8: 7}\n"                                                        /* 33 */
    "- id: sum\n"                                                                  /* 34 */
    "  function: main\n"                                                           /* 35 */
    "  nest: {depth: 2, parent: init}\n"                                           /* 36 */
    "  entries: 4\n"                                                               /* 37 */
    "  iterations: {total: 20}\n"                                                  /* 38 */
    "  operations: {fp_add: 8}\n"                                                  /* 39 */
    "  accesses: 21\n"                                                             /* 40 */
    "  pattern: [{repeat: 10, of: [a, b]}]\n"                                      /* 41 */
    "  regions:\n"                                                                 /* 42 */
    "  - id: a\n"                                                                  /* 43 */
    "    working_set: {bytes: 512, group: stack, index: 1, offset: -512}\n"        /* 44 */
    "    accesses: 11\n"                                                           /* 45 */
    "    loads: 10\n"                                                              /* 46 */
    "    stores: 1\n"                                                              /* 47 */
    "    sizes: {4: 10, 8: 1}\n"                                                   /* 48 */
    "    strides: {0: 4, random: 6}\n"                                             /* 49 */
    "    stride_graph: {0: {0: 2, random: 2}, random: {0: 1, random: 4}}\n"        /* 50 */
    "  - id: b\n"                                                                  /* 51 */
    "    working_set: {bytes: 8, group: heap, offset: 0}\n"                        /* 52 */
    "    accesses: 10\n"                                                           /* 53 */
    "    loads: 10\n"                                                              /* 54 */
    "    sizes: {8: 10}\n"                                                         /* 55 */
    "    strides: {0: 9}\n";                                                       /* 56 */

TEST(test_base_is_good)
{
    struct psnap_error error;
    struct psnap_profile *profile = try_text(base, &error);
    const struct psnap_certificate *certificate;
    struct psnap_profile_totals totals;
    const struct psnap_profile_region *region;
    char *text, *again;

    if (!profile)
        fail_msg("%u: %s", (unsigned)error.src_line, error.message);
    assert_int_equal(profile->loop_count, 2);
    assert_string_equal(profile->provenance.command[1], "1");
    assert_null(profile->provenance.command[2]);
    assert_string_equal(profile->loops[0].file, "dir:1/t.c");
    assert_int_equal(profile->loops[0].src_line, 7);
    assert_string_equal(profile->loops[0].src_id, "init");
    assert_int_equal(profile->loops[0].entries, UINT64_MAX);
    assert_int_equal(profile->loops[1].parent, 0);
    assert_int_equal(profile->loops[1].iterations, 20);
    assert_int_equal(profile->loops[1].operations[PSNAP_OP_FP_ADD], 8);
    region = &profile->loops[0].regions[0];
    assert_string_equal(region->object, "table");
    assert_int_equal(region->object_kind, PSNAP_OBJECT_GLOBAL);
    assert_int_equal(region->low, (UINT64_C(1) << 40) + 32);
    assert_int_equal(region->edge_count, 1); /* implied */
    assert_int_equal(region->edges[0].count, 6);
    region = &profile->loops[1].regions[0];
    assert_int_equal(region->low,
                     (UINT64_C(4) << 40) + (UINT64_C(1) << 32) + (UINT64_C(1) << 31) - 512);
    assert_int_equal(profile->schedule.count, 4);
    assert_int_equal(profile->schedule.items[1].repeat, 2);
    assert_int_equal(profile->schedule.items[1].span, 2);
    assert_int_equal(profile->schedule.items[3].what, 0);
    psnap_profile_totals(profile, &totals);
    assert_int_equal(totals.bytes, 8 * 8 + 4 * 10 + 8 + 80);
    certificate = profile->certificate;
    assert_string_equal(certificate->version, "0.1.0");
    assert_true(certificate->content == UINT64_C(0x0123456789abcdef));
    assert_null(certificate->levels[0].machine);
    assert_true(certificate->levels[0].mean_points == 0.0001);
    assert_true(certificate->levels[1].is_tlb && isnan(certificate->levels[1].mean_points));
    assert_string_equal(certificate->rows[0].machine, "m");
    assert_true(certificate->worst.is_tlb && certificate->worst.max_points == 3.25);
    assert_string_equal(certificate->machines[0].caches, "32K:64:8,1M:64:16");
    text = write_text(profile);
    psnap_profile_free(profile);
    /* a checksum that would be a number to others is quoted */
    assert_non_null(strstr(text, "  seed: 18446744073709551615\n  content: '0123456789abcdef'\n"));
    profile = read_text(text);
    again = write_text(profile);
    assert_string_equal(text, again);
    psnap_profile_free(profile);
    free(text);
    free(again);
}

/* `from` becomes `to`; the error must be in the line and say `message`. */
struct mistake {
    const char *from, *to;
    unsigned src_line;
    const char *message;
    unsigned column; /* 0: any */
};

static const struct mistake mistakes[] = {
    {"psnap: 1\n", "psnap: 2\n", 1, "written by a newer psnap (format 2, this one reads 1)"},
    {"psnap: 1\n", "psnap: 0\n", 1, "'psnap' must be a whole number from 1"},
    {"psnap: 1\n", "", 1, "not a profile: the key 'psnap' with its version is missing"},
    {"capture:", "captur:", 3, "no key 'captur' here; did you mean 'capture'?"},
    {"capture: {model: psnap, region_gap_bytes: 256}\n", "", 1, "the key 'capture' is missing"},
    {"model: psnap", "model: walks-2", 3, "no model 'walks-2' in this version, only 'psnap' and"},
    {"model: psnap", "model: stackdist-1", 3, "make the profile anew from its trace"},
    {"model: psnap", "model: nests-9", 3, "model 'nests-9'"},
    {"model: psnap", "model: nest", 3, "there is no model 'nest' in this version"},
    {"model: psnap, ", "", 3, "the key 'model' is missing"},
    {"region_gap_bytes: 256", "region_gap_bytes: -1", 3, "'region_gap_bytes' must be"},
    {"thread: all", "thread: 3", 2, "'thread' must be all"},
    {"command: [./t, '1']", "command: ./t", 2, "command must be a list"},
    {"accesses: 29", "accesses: 28", 4, "'accesses' is 28, but the loops (line 20) add up to 29"},
    {"loads: 20", "loads: 21", 4, "'loads' is 21, but the loops (line 20) add up to 20"},
    {"bytes: 192", "bytes: 185", 4, "'bytes' is 185, but the loops (line 20) add up to"},
    {"{fp_add: 8}}", "{fp_add: 9}}", 5, "'fp_add' is 9, but the loops (line 20) add up to 8"},
    {"{fp_add: 8}}", "{fp_ad: 8}}", 5, "no key 'fp_ad' here; did you mean 'fp_add'?"},
    {"schedule: [init, {repeat: 2, of: [sum, init]}]\n", "", 1, "the key 'schedule' is missing"},
    {"[init, {repeat: 2, of: [sum, init]}]", "[init]", 6,
     "the schedule lacks loop 'sum' (line 34), which has accesses"},
    {"of: [sum, init]", "of: [sun, init]", 6, "there is no loop 'sun'"},
    {"[init, {repeat: 2, of: [sum, init]}]",
     "[{loop: init, accesses: 1}, {repeat: 2, of: [sum, init]}]", 6,
     "loop 'init' needs 'accesses' at all its visits or at none, and line 6 has them"},
    {"[init, {repeat: 2, of: [sum, init]}]",
     "[{loop: init, accesses: 1}, sum, {loop: init, accesses: 8}]", 6,
     "the visits of loop 'init' come to 9 accesses, but the loop (line 20) has 8"},
    {"[init, {repeat: 2, of: [sum, init]}]", "[{loop: init}, {repeat: 2, of: [sum, init]}]", 6,
     "the key 'accesses' is missing"},
    {"[init, {repeat: 2, of: [sum, init]}]", "[{loop: init, accesses: 8, of: [sum]}]", 6,
     "no key 'of' here"},
    {"repeat: 2, of: [sum", "repeat: 0, of: [sum", 6, "'repeat' must be a whole number from 1"},
    {"repeat: 2, of: [sum", "times: 2, of: [sum", 6, "no key 'times' here"},
    {"of: [sum, init]", "of: []", 6, "there is nothing to repeat"},
    {"repeat: 2, of: [sum, init]", "repeat: 1000000000000, of: [sum, init]", 6,
     "the schedule visits loops more than 64 times per access"},
    {"repeat: 2, of: [sum, init]",
     "repeat: 70000000000000000, of: [{repeat: 70000000000000000, of: [{repeat: "
     "70000000000000000, of: [sum]}]}]",
     6, "the schedule visits loops more than 64 times per access"},
    {"- id: sum", "- id: init", 34, "the id 'init' is taken already, in line 20"},
    {"- id: sum", "- id: ''", 34, "an id must not be empty"},
    {"depth: 2, parent: init", "depth: 2, parent: ini", 36, "there is no loop 'ini'"},
    {"depth: 2, parent: init", "depth: 1, parent: init", 36,
     "'depth' is 1, but its parent 'init' (line 23) has 1"},
    {"depth: 2, parent: init", "depth: 2, parent: sum", 36,
     "'depth' is 2, but its parent 'sum' (line 36) has 2"},
    {"entries: 4", "entries: 4.5", 37, "'entries' must be a whole number"},
    {"iterations: {total: 20}", "iterations: 20", 38, "iterations must be a map"},
    {"  accesses: 21\n", "  accesses: 20\n", 40,
     "'accesses' is 20, but the regions (line 43) have 21"},
    {"repeat: 10, of: [a, b]", "repeat: 10, of: [a, c]", 41, "there is no region 'c'"},
    {"repeat: 10, of: [a, b]", "repeat: 11, of: [a, b]", 41,
     "the pattern has region 'b' 11 times, but its 'accesses' in line 53 is 10"},
    {"repeat: 10, of: [a, b]", "repeat: 65537, of: [a, b]", 41,
     "the pattern unfolds to more than 65536 accesses"},
    {"symbol: table", "symbol: table\n    stack: main.x", 29,
     "a region is in one object, but line 28 has its 'symbol' and this line its 'stack'"},
    {"symbol: table", "symbool: table", 28, "no key 'symbool' here; did you mean 'symbol'?"},
    {"    working_set: {bytes: 64, group: image, offset: 32}\n", "", 27,
     "the key 'working_set' is missing"},
    {"bytes: 64,", "bytes: 12,", 29,
     "a working set of 12 bytes is too small: 'strides' in line 33 needs 13"},
    {"bytes: 512,", "bytes: 260,", 44,
     "a working set of 260 bytes is too small: 'strides' in line 49 needs 261"},
    {"bytes: 8,", "bytes: 7,", 52, "region 'b': a working set of 7 bytes is too small"},
    {"bytes: 8,", "bytes: 18446744073709551615,", 52, "does not fit between its offset and 2^64"},
    {"bytes: 8,", "bytes: 0,", 52, "'bytes' must be a size"},
    {"group: heap", "group: heat", 52,
     "'group' must be image, heap, mmap, stack or raw, not 'heat'"},
    {"group: heap, offset: 0", "group: heap, offset: -1", 52,
     "the offset -1 is outside of the group 'heap'"},
    {"group: heap, offset: 0", "group: heap, index: 1, offset: 0", 52,
     "is outside of the group 'heap'"},
    {"group: heap, offset: 0", "group: heap", 52, "the key 'offset' is missing"},
    {"    accesses: 10\n", "    accesses: 11\n", 53,
     "'accesses' is 11, but loads, stores and atomics (line 54) come to 10"},
    {"    accesses: 10\n    loads: 10\n", "    accesses: 11\n    loads: 11\n", 53,
     "'accesses' is 11, but the sizes (line 55) come to 10"},
    {"    strides: {0: 9}\n", "    strides: {0: 8}\n", 53,
     "'accesses' is 10, but the strides (line 56) come to 8, not to one less"},
    {"    strides: {0: 9}\n", "", 53, "'strides' is missing: 10 accesses have 9 strides"},
    {"    accesses: 10\n", "    accesses: 0\n", 53, "'accesses' must be a whole number from 1"},
    {"    accesses: 10\n", "", 51, "the key 'accesses' is missing"},
    {"sizes: {8: 10}", "sizes: {65: 10}", 55, "'65' is no size: they are 1 to 64 bytes"},
    {"sizes: {8: 10}", "sizes: {8: 9, 0x8: 1}", 55, "'0x8' is no size"},
    {"sizes: {8: 10}", "sizes: {8: 10, 4: 0}", 55, "'4' must be a whole number from 1"},
    {"    sizes: {8: 10}\n", "", 51, "the key 'sizes' is missing"},
    {"strides: {0: 9}", "strides: {3: 9}", 56,
     "'3' is no stride: they are 0, the powers of two from -256 to 256, and random"},
    {"strides: {0: 4, random: 6}", "strides: {0: 5, random: 5}", 50,
     "'stride_graph' enters bin 0 3 times, but 'strides' (line 49) has it 5 times: as often, but "
     "for the first stride of all"},
    {"random: {0: 1, random: 4}", "random: {random: 4}", 50,
     "'stride_graph' leaves bin random 4 times, but 'strides' (line 49) has it 6 times: as often, "
     "but for the last stride of all"},
    {"random: {0: 1, random: 4}", "random: {0: 2, random: 4}", 50,
     "'stride_graph' is not one path through the strides in line 49: only one may be left"},
    {"random: {0: 1, random: 4}", "random: {0: 1, randon: 4}", 50, "'randon' is no stride"},
    {"random: {0: 1, random: 4}", "rondom: {0: 1, random: 4}", 50, "'rondom' is no stride"},
    {"    stride_graph: {0: {0: 2, random: 2}, random: {0: 1, random: 4}}\n", "", 49,
     "strides of several bins need a 'stride_graph'"},
    {"    accesses: 8\n    stores: 8\n    sizes: {8: 8}\n    strides: {8: 7}\n",
     "    accesses: 100000000000000000\n", 30, "'accesses' must be a whole number from 1 to"},
    {"function: main\n  source", "function: main\n  function: main\n  source", 22,
     "the key 'function' is there already, in line 21"},
    {"iterations: {total: 20}", "iterations: &x {total: 20}", 38, "anchors are not allowed"},
    {"function: main\n  nest", "function: \"\xff\"\n  nest", 35, "UTF-8"},
    {"  psnap: '0.1.0'\n", "", 8, "the key 'psnap' is missing", 3},
    {"seed: 18446744073709551615", "seed: -1", 9, "'seed' must be a whole number", 9},
    {"  content: 0123456789abcdef\n", "", 8, "the key 'content' is missing", 3},
    {"0123456789abcdef", "0123456789abcde", 10, "16 hexadecimal digits", 12},
    {"0123456789abcdef", "0123456789abcdeg", 10, "16 hexadecimal digits", 12},
    {"0123456789abcdef", "{}", 10, "'content' must be one value", 12},
    {"  rows:", "  raws:", 16, "no key 'raws' here; did you mean 'rows'?", 3},
    {"mean_points: 0.0001", "mean_points: 100.1", 14, "'mean_points' must be a number from 0", 29},
    {"total_points: 0}", "total_points: -1}", 15, "'total_points' must be a number", 28},
    {"max_points: 0,", "max_point: 0,", 17, "no key 'max_point' here", 44},
    {"{level: 1,", "{level: 1, machine: m,", 14, "no key 'machine' here", 16},
    {"{level: 1,", "{level: 0,", 14, "'level' must be a whole number from 1 to 64", 13},
    {"{level: 1,", "{level: 65,", 14, "'level' must be a whole number from 1 to 64", 13},
    {"{tlb: 2,", "{", 15, "the key 'level' is missing", 5},
    {"{tlb: 2,", "{level: 3, tlb: 2,", 15, "'level' (line 15) is of the caches", 21},
    {"machine: m, level: 1, mean", "level: 1, mean", 17, "the key 'machine' is missing", 5},
    {", points: 3.25", "", 18, "the key 'points' is missing", 15},
    {"id: init, ", "", 18, "the key 'id' is missing", 15},
    {"tlb: 1, points", "points", 18, "the key 'level' is missing", 15},
    {"  - {tlb: 2, total_points: 0}\n", "  - 7\n", 15, "a row of 'levels' must be a map", 5},
    {"{host: '32K:64:8,1M:64:16'}", "[]", 12, "machines must be a map, not a list", 13},
    {"'32K:64:8,1M:64:16'", "[]", 12, "'host' must be one value", 20},
    {"{id: init, machine: m, tlb: 1, points: 3.25}", "init", 18, "worst_loop must be a map", 15},
};

TEST(test_mistakes)
{
    for (size_t i = 0; i < COUNT(mistakes); i++) {
        const struct mistake *mistake = &mistakes[i];
        char *text = replaced(base, mistake->from, mistake->to);
        struct psnap_error error;
        struct psnap_profile *profile = try_text(text, &error);
        if (profile)
            fail_msg("'%s' was taken", mistake->to);
        if (!strstr(error.message, mistake->message) || error.src_line != mistake->src_line ||
            (mistake->column && error.column != mistake->column))
            fail_msg("'%s': got %u:%u: %s; wanted %u:%u: %s", mistake->to, (unsigned)error.src_line,
                     (unsigned)error.column, error.message, mistake->src_line, mistake->column,
                     mistake->message);
        assert_string_equal(error.file, "p.yaml");
        assert_true(error.column > 0 || error.src_line == 0);
        free(text);
    }
}

/* Every prefix of a profile is an error or, where only whole loops are missing, a contradiction. */
TEST(test_truncated)
{
    for (size_t n = 0; n + 1 < strlen(base); n++) {
        char *text = strndup(base, n);
        struct psnap_error error;
        struct psnap_profile *profile;
        if (n == 0) {
            free(text);
            continue; /* fmemopen takes no empty text; the shell test has it */
        }
        profile = try_text(text, &error);
        /* the last line may lose digits and still be a number: then it contradicts */
        assert_null(profile);
        assert_true(error.code < 0);
        free(text);
    }
}

/* A profile of a random stream over several loops, with merges and folds. */
static struct psnap_profile *random_profile(struct psnap_rng *rng)
{
    enum { N = 20000, LOOPS = 3, REFS = 4 };
    static const char *const names[LOOPS] = {"f:1", "f:2.vector", "g: odd, name #1"};
    struct psnap_program *program = psnap_program_new();
    struct psnap_access *accesses = calloc(N, sizeof *accesses);
    struct psnap_builder_options options = {.region_limit = 2 + (uint32_t)psnap_rng_below(rng, 60)};
    struct psnap_sink *builder;
    struct psnap_profile *profile;
    uint64_t at[LOOPS * REFS] = {0};

    program->provenance.name = "r\xe9sum\xe9"; /* not UTF-8 */
    program->provenance.stage = "optimized";
    for (uint32_t l = 0; l < LOOPS; l++) {
        struct psnap_loop loop = {.id = names[l],
                                  .src_id = l == 1 ? "f:2" : names[l],
                                  .function = "f(int, char const*)",
                                  .file = l ? "dir/f.c" : "",
                                  .src_line = l * 10,
                                  .depth = l,
                                  .parent = l ? l - 1 : PSNAP_NONE,
                                  .header = l,
                                  .entry = PSNAP_NONE};
        struct psnap_block block = {.loop = l, .executions = l * 1000};
        block.operations[PSNAP_OP_INT_ADD] = 3;
        psnap_program_add_loop(program, &loop);
        psnap_program_add_block(program, &block);
        for (uint32_t i = 0; i < REFS; i++) {
            struct psnap_ref ref = {.block = l, .loop = l};
            ref.object = i == 1 ? "tab" : i == 2 ? "f.x" : NULL;
            ref.object_kind = i == 1 ? PSNAP_OBJECT_GLOBAL : PSNAP_OBJECT_STACK;
            psnap_program_add_ref(program, &ref);
        }
    }
    for (size_t i = 0; i < N; i++) {
        uint32_t ref = (uint32_t)(i / 3 % 2 * REFS + psnap_rng_below(rng, REFS));
        if (psnap_rng_below(rng, 50) == 0)
            ref += REFS;
        if (!at[ref] || psnap_rng_below(rng, 20) == 0)
            at[ref] = (psnap_rng_below(rng, 6) << 40) + psnap_rng_below(rng, 100000);
        at[ref] += psnap_rng_below(rng, 5) * 4;
        accesses[i] = (struct psnap_access){at[ref], ref, (uint8_t)(1u << psnap_rng_below(rng, 7)),
                                            (uint8_t)psnap_rng_below(rng, 3), 0};
    }
    builder = psnap_profile_builder_new(program, &options, NULL);
    assert_int_equal(psnap_sink_put(builder, accesses, N, NULL), PSNAP_OK);
    profile = end_profile(builder);
    psnap_program_free(program);
    free(accesses);
    return profile;
}

TEST(test_round_trip)
{
    struct psnap_rng rng;

    psnap_rng_init(&rng, 7);
    for (unsigned round = 0; round < 20; round++) {
        struct psnap_profile *profile = random_profile(&rng), *back;
        char *text = write_text(profile), *again;
        back = read_text(text);
        again = write_text(back);
        assert_string_equal(text, again);
        psnap_profile_free(profile);
        psnap_profile_free(back);
        free(text);
        free(again);
    }
}

/* A file that was written once reads, and is written the same for ever. */
TEST(test_golden)
{
    FILE *file = fopen("tests/golden/profile.psnap.yaml", "r");
    struct psnap_profile *profile;
    struct psnap_error error;
    char *text, *golden = calloc(1, 65536);

    assert_non_null(file);
    profile = psnap_profile_read(file, "golden", &error);
    assert_non_null(profile);
    rewind(file);
    assert_true(fread(golden, 1, 65535, file) > 1000);
    text = write_text(profile);
    assert_string_equal(text, golden);
    free(text);
    free(golden);
    fclose(file);
    psnap_profile_free(profile);
}

static uint64_t content_of(const struct psnap_profile *profile)
{
    uint64_t content = 0;

    assert_int_equal(psnap_profile_content(profile, &content, NULL), PSNAP_OK);
    return content;
}

/* Profiles with the same content as the first one, and edits: of what replays and what does not. */
TEST(test_content)
{
    static const struct {
        const char *from, *to;
        bool is_same;
    } cases[] = {
        {"", "", true},
        {", bytes: 192,\n  operations: {fp_add: 8}}", "}", true}, /* derived */
        {"accesses: 29, ", "", true},
        {"  accesses: 21\n", "", true},
        {"name: t", "recorded: 2026-11-20T10:11:12Z, name: u", true},
        {"    accesses: 8\n    stores: 8\n", "    stores: 8\n    accesses: 8\n", true},
        {"relevant_loops: 1", "relevant_loops: 2", true}, /* of itself it says nothing */
        {"offset: 32", "offset: 33", false},
        {"strides: {8: 7}", "strides: {4: 7}", false},
        {"t.c:7", "t.c:8", false},
        {"  pattern: [{repeat: 8, of: [a]}]\n", "", false},
        {"{model: psnap", "{model: psnap, stage: optimized", false},
        {"nest: {depth: 1}", "nest: {depth: 1}\n  entries: 1", false},
    };
    uint64_t first = 0;

    for (size_t i = 0; i < COUNT(cases); i++) {
        char *text = replaced(base, cases[i].from, cases[i].to);
        struct psnap_profile *profile = read_text(text);
        first = i ? first : content_of(profile);
        if ((content_of(profile) == first) != cases[i].is_same)
            fail_msg("'%s' for '%s'", cases[i].to, cases[i].from);
        psnap_profile_free(profile);
        free(text);
    }
}

TEST(test_certificate_holds)
{
    struct psnap_profile *profile = read_text(base);
    char *text;

    assert_int_equal(psnap_certificate_holds(profile, NULL), 0);
    profile->certificate->content = content_of(profile);
    assert_int_equal(psnap_certificate_holds(profile, NULL), 1);
    text = write_text(profile);
    profile->certificate = NULL;
    assert_int_equal(psnap_certificate_holds(profile, NULL), 0);
    psnap_profile_free(profile);
    profile = read_text(text);
    assert_int_equal(psnap_certificate_holds(profile, NULL), 1);
    profile->loops[0].regions[0].low++;
    assert_int_equal(psnap_certificate_holds(profile, NULL), 0);
    psnap_profile_free(profile);
    free(text);
}

TEST(test_points)
{
    const double least = 1e-4;

    assert_true(psnap_certificate_points(0) == 0);
    assert_true(psnap_certificate_points(1e-9) == least);
    assert_true(psnap_certificate_points(0.00014) == least);
    assert_true(psnap_certificate_points(12.34567) == 12.3457);
    assert_true(psnap_certificate_points(100) == 100);
    assert_true(isnan(psnap_certificate_points(NAN)));
}
