/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Profiles as YAML: what is written reads back the same, byte for byte when
 * written again; a golden profile; and for each thing that can be wrong in a
 * profile the error with its place. Contradictions name both lines.
 */
#include "tests/unit/test_profile_support.h"
#include "tests/unit/test_text_support.h"

static const char base[] = "psnap: 1\n"                                                 /* 1 */
                           "program: {name: t, command: [./t, '1'], thread: all}\n"     /* 2 */
                           "capture: {model: psnap, region_gap_bytes: 256}\n"           /* 3 */
                           "totals: {accesses: 29, loads: 20, stores: 9, bytes: 192,\n" /* 4 */
                           "  operations: {fp_add: 8}}\n"                               /* 5 */
                           "schedule: [init, {repeat: 2, of: [sum, init]}]\n"           /* 6 */
                           "loops:\n"                                                   /* 7 */
                           "- id: init\n"                                               /* 8 */
                           "  function: main\n"                                         /* 9 */
                           "  source: dir:1/t.c:7\n"                                    /* 10 */
                           "  nest: {depth: 1}\n"                                       /* 11 */
                           "  accesses: 8\n"                                            /* 12 */
                           "  pattern: [{repeat: 8, of: [a]}]\n"                        /* 13 */
                           "  regions:\n"                                               /* 14 */
                           "  - id: a\n"                                                /* 15 */
                           "    symbol: table\n"                                        /* 16 */
                           "    working_set: {bytes: 64, group: image, offset: 32}\n"   /* 17 */
                           "    accesses: 8\n"                                          /* 18 */
                           "    stores: 8\n"                                            /* 19 */
                           "    sizes: {8: 8}\n"                                        /* 20 */
                           "    strides: {8: 7}\n"                                      /* 21 */
                           "- id: sum\n"                                                /* 22 */
                           "  function: main\n"                                         /* 23 */
                           "  nest: {depth: 2, parent: init}\n"                         /* 24 */
                           "  entries: 4\n"                                             /* 25 */
                           "  iterations: {total: 20}\n"                                /* 26 */
                           "  operations: {fp_add: 8}\n"                                /* 27 */
                           "  accesses: 21\n"                                           /* 28 */
                           "  pattern: [{repeat: 10, of: [a, b]}]\n"                    /* 29 */
                           "  regions:\n"                                               /* 30 */
                           "  - id: a\n"                                                /* 31 */
                           "    working_set: {bytes: 512, group: stack, index: 1, offset: -512}\n"
                           "    accesses: 11\n"               /* 33 */
                           "    loads: 10\n"                  /* 34 */
                           "    stores: 1\n"                  /* 35 */
                           "    sizes: {4: 10, 8: 1}\n"       /* 36 */
                           "    strides: {0: 4, random: 6}\n" /* 37 */
                           "    stride_graph: {0: {0: 2, random: 2}, random: {0: 1, random: 4}}\n"
                           "  - id: b\n"                                           /* 39 */
                           "    working_set: {bytes: 8, group: heap, offset: 0}\n" /* 40 */
                           "    accesses: 10\n"                                    /* 41 */
                           "    loads: 10\n"                                       /* 42 */
                           "    sizes: {8: 10}\n"                                  /* 43 */
                           "    strides: {0: 9}\n";                                /* 44 */

static void test_base_is_good(void **state)
{
    struct psnap_error error;
    struct psnap_profile *profile = try_text(base, &error);
    struct psnap_profile_totals totals;
    const struct psnap_profile_region *region;

    (void)state;
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
    psnap_profile_free(profile);
}

/* `from` becomes `to`; the error must be in the line and say `message`. */
struct mistake {
    const char *from, *to;
    unsigned src_line;
    const char *message;
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
    {"accesses: 29", "accesses: 28", 4, "'accesses' is 28, but the loops (line 8) add up to 29"},
    {"loads: 20", "loads: 21", 4, "'loads' is 21, but the loops (line 8) add up to 20"},
    {"bytes: 192", "bytes: 185", 4, "'bytes' is 185, but the loops (line 8) add up to"},
    {"{fp_add: 8}}", "{fp_add: 9}}", 5, "'fp_add' is 9, but the loops (line 8) add up to 8"},
    {"{fp_add: 8}}", "{fp_ad: 8}}", 5, "no key 'fp_ad' here; did you mean 'fp_add'?"},
    {"schedule: [init, {repeat: 2, of: [sum, init]}]\n", "", 1, "the key 'schedule' is missing"},
    {"[init, {repeat: 2, of: [sum, init]}]", "[init]", 6,
     "the schedule lacks loop 'sum' (line 22), which has accesses"},
    {"of: [sum, init]", "of: [sun, init]", 6, "there is no loop 'sun'"},
    {"[init, {repeat: 2, of: [sum, init]}]",
     "[{loop: init, accesses: 1}, {repeat: 2, of: [sum, init]}]", 6,
     "loop 'init' needs 'accesses' at all its visits or at none, and line 6 has them"},
    {"[init, {repeat: 2, of: [sum, init]}]",
     "[{loop: init, accesses: 1}, sum, {loop: init, accesses: 8}]", 6,
     "the visits of loop 'init' come to 9 accesses, but the loop (line 8) has 8"},
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
    {"- id: sum", "- id: init", 22, "the id 'init' is taken already, in line 8"},
    {"- id: sum", "- id: ''", 22, "an id must not be empty"},
    {"depth: 2, parent: init", "depth: 2, parent: ini", 24, "there is no loop 'ini'"},
    {"depth: 2, parent: init", "depth: 1, parent: init", 24,
     "'depth' is 1, but its parent 'init' (line 11) has 1"},
    {"depth: 2, parent: init", "depth: 2, parent: sum", 24,
     "'depth' is 2, but its parent 'sum' (line 24) has 2"},
    {"entries: 4", "entries: 4.5", 25, "'entries' must be a whole number"},
    {"iterations: {total: 20}", "iterations: 20", 26, "iterations must be a map"},
    {"  accesses: 21\n", "  accesses: 20\n", 28,
     "'accesses' is 20, but the regions (line 31) have 21"},
    {"repeat: 10, of: [a, b]", "repeat: 10, of: [a, c]", 29, "there is no region 'c'"},
    {"repeat: 10, of: [a, b]", "repeat: 11, of: [a, b]", 29,
     "the pattern has region 'b' 11 times, but its 'accesses' in line 41 is 10"},
    {"repeat: 10, of: [a, b]", "repeat: 65537, of: [a, b]", 29,
     "the pattern unfolds to more than 65536 accesses"},
    {"symbol: table", "symbol: table\n    stack: main.x", 17,
     "a region is in one object, but line 16 has its 'symbol' and this line its 'stack'"},
    {"symbol: table", "symbool: table", 16, "no key 'symbool' here; did you mean 'symbol'?"},
    {"    working_set: {bytes: 64, group: image, offset: 32}\n", "", 15,
     "the key 'working_set' is missing"},
    {"bytes: 64,", "bytes: 12,", 17,
     "a working set of 12 bytes is too small: 'strides' in line 21 needs 13"},
    {"bytes: 512,", "bytes: 260,", 32,
     "a working set of 260 bytes is too small: 'strides' in line 37 needs 261"},
    {"bytes: 8,", "bytes: 7,", 40, "region 'b': a working set of 7 bytes is too small"},
    {"bytes: 8,", "bytes: 18446744073709551615,", 40, "does not fit between its offset and 2^64"},
    {"bytes: 8,", "bytes: 0,", 40, "'bytes' must be a size"},
    {"group: heap", "group: heat", 40,
     "'group' must be image, heap, mmap, stack or raw, not 'heat'"},
    {"group: heap, offset: 0", "group: heap, offset: -1", 40,
     "the offset -1 is outside of the group 'heap'"},
    {"group: heap, offset: 0", "group: heap, index: 1, offset: 0", 40,
     "is outside of the group 'heap'"},
    {"group: heap, offset: 0", "group: heap", 40, "the key 'offset' is missing"},
    {"    accesses: 10\n", "    accesses: 11\n", 41,
     "'accesses' is 11, but loads, stores and atomics (line 42) come to 10"},
    {"    accesses: 10\n    loads: 10\n", "    accesses: 11\n    loads: 11\n", 41,
     "'accesses' is 11, but the sizes (line 43) come to 10"},
    {"    strides: {0: 9}\n", "    strides: {0: 8}\n", 41,
     "'accesses' is 10, but the strides (line 44) come to 8, not to one less"},
    {"    strides: {0: 9}\n", "", 41, "'strides' is missing: 10 accesses have 9 strides"},
    {"    accesses: 10\n", "    accesses: 0\n", 41, "'accesses' must be a whole number from 1"},
    {"    accesses: 10\n", "", 39, "the key 'accesses' is missing"},
    {"sizes: {8: 10}", "sizes: {65: 10}", 43, "'65' is no size: they are 1 to 64 bytes"},
    {"sizes: {8: 10}", "sizes: {8: 9, 0x8: 1}", 43, "'0x8' is no size"},
    {"sizes: {8: 10}", "sizes: {8: 10, 4: 0}", 43, "'4' must be a whole number from 1"},
    {"    sizes: {8: 10}\n", "", 39, "the key 'sizes' is missing"},
    {"strides: {0: 9}", "strides: {3: 9}", 44,
     "'3' is no stride: they are 0, the powers of two from -256 to 256, and random"},
    {"strides: {0: 4, random: 6}", "strides: {0: 5, random: 5}", 38,
     "'stride_graph' enters bin 0 3 times, but 'strides' (line 37) has it 5 times: as often, but "
     "for the first stride of all"},
    {"random: {0: 1, random: 4}", "random: {random: 4}", 38,
     "'stride_graph' leaves bin random 4 times, but 'strides' (line 37) has it 6 times: as often, "
     "but for the last stride of all"},
    {"random: {0: 1, random: 4}", "random: {0: 2, random: 4}", 38,
     "'stride_graph' is not one path through the strides in line 37: only one may be left"},
    {"random: {0: 1, random: 4}", "random: {0: 1, randon: 4}", 38, "'randon' is no stride"},
    {"random: {0: 1, random: 4}", "rondom: {0: 1, random: 4}", 38, "'rondom' is no stride"},
    {"    stride_graph: {0: {0: 2, random: 2}, random: {0: 1, random: 4}}\n", "", 37,
     "strides of several bins need a 'stride_graph'"},
    {"    accesses: 8\n    stores: 8\n    sizes: {8: 8}\n    strides: {8: 7}\n",
     "    accesses: 100000000000000000\n", 18, "'accesses' must be a whole number from 1 to"},
    {"function: main\n  source", "function: main\n  function: main\n  source", 10,
     "the key 'function' is there already, in line 9"},
    {"iterations: {total: 20}", "iterations: &x {total: 20}", 26, "anchors are not allowed"},
    {"function: main\n  nest", "function: \"\xff\"\n  nest", 23, "UTF-8"},
};

static void test_mistakes(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof mistakes / sizeof mistakes[0]; i++) {
        const struct mistake *mistake = &mistakes[i];
        char *text = replaced(base, mistake->from, mistake->to);
        struct psnap_error error;
        struct psnap_profile *profile = try_text(text, &error);
        if (profile)
            fail_msg("'%s' was taken", mistake->to);
        if (!strstr(error.message, mistake->message) || error.src_line != mistake->src_line)
            fail_msg("'%s': got %u: %s; wanted %u: %s", mistake->to, (unsigned)error.src_line,
                     error.message, mistake->src_line, mistake->message);
        assert_string_equal(error.file, "p.yaml");
        assert_true(error.column > 0 || error.src_line == 0);
        free(text);
    }
}

/* Every prefix of a profile is an error or, where only whole loops are missing, a contradiction. */
static void test_truncated(void **state)
{
    (void)state;
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

/* Derived fields may be left out. */
static void test_derived_fields(void **state)
{
    static const char *const derived[] = {
        "totals: {accesses: 29, loads: 20, stores: 9, bytes: 192,\n  operations: {fp_add: 8}}\n",
        "  accesses: 21\n", "accesses: 29, ", "  pattern: [{repeat: 8, of: [a]}]\n"};

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        char *text = replaced(base, derived[i], "");
        struct psnap_error error;
        struct psnap_profile *profile = try_text(text, &error);
        if (!profile)
            fail_msg("without '%s': %s", derived[i], error.message);
        assert_int_equal(profile->loops[1].accesses, 21);
        psnap_profile_free(profile);
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

static void test_round_trip(void **state)
{
    struct psnap_rng rng;

    (void)state;
    psnap_rng_init(&rng, 7);
    for (unsigned round = 0; round < 20; round++) {
        struct psnap_profile *profile = random_profile(&rng), *back;
        char *text = write_text(profile), *again;
        back = read_text(text);
        again = write_text(back);
        assert_string_equal(text, again);
        assert_int_equal(back->loop_count, profile->loop_count);
        for (uint32_t l = 0; l < back->loop_count; l++) {
            const struct psnap_profile_loop *x = &profile->loops[l], *y = &back->loops[l];
            assert_int_equal(x->region_count, y->region_count);
            assert_int_equal(x->pattern.count, y->pattern.count);
            for (uint32_t i = 0; i < x->region_count; i++) {
                const struct psnap_profile_region *p = &x->regions[i], *q = &y->regions[i];
                assert_int_equal(p->low, q->low);
                assert_int_equal(p->bytes, q->bytes);
                assert_int_equal(p->edge_count, q->edge_count);
                for (unsigned e = 0; e < p->edge_count; e++) {
                    assert_int_equal(p->edges[e].from, q->edges[e].from);
                    assert_int_equal(p->edges[e].to, q->edges[e].to);
                    assert_int_equal(p->edges[e].count, q->edges[e].count);
                }
            }
        }
        psnap_profile_free(profile);
        psnap_profile_free(back);
        free(text);
        free(again);
    }
}

/* A file that was written once reads, and is written the same for ever. */
static void test_golden(void **state)
{
    FILE *file = fopen("tests/golden/profile.psnap.yaml", "r");
    struct psnap_profile *profile;
    struct psnap_error error;
    char *text, *golden = calloc(1, 65536);

    (void)state;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_base_is_good), cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_truncated),    cmocka_unit_test(test_derived_fields),
        cmocka_unit_test(test_round_trip),   cmocka_unit_test(test_golden),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
