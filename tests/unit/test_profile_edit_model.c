/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Edits (profile/edit/edit.h) of model nests: entries of loops in nests that are joined, chains,
 * and what is drawn by reuse time.
 */
#include "profile/edit/edit_chain.h"
#include "profile/model.h"
#include "tests/unit/test_edit_support.h"

/* ---- nests that are joined, or of ever other lengths ---- */

/*
 * for (i < rows)                              f:0
 *   for (j < columns, or j <= i)              f:1
 *     load a[i * row + j]
 */
struct table {
    uint64_t rows, columns, row;
    bool is_triangle;
    uint64_t again; /* all of that, so many times */
};

static void walk_table(const struct table *t, struct stream *stream)
{
    stream->count = 0;
    for (uint64_t again = 0; again < t->again; again++)
        for (uint64_t i = 0; i < t->rows; i++)
            for (uint64_t j = 0; j < (t->is_triangle ? i + 1 : t->columns); j++)
                add(stream, REFS, HEAP + 8 * (i * t->row + j));
}

static void assert_table_becomes(const struct psnap_edit *edit, const struct table *before,
                                 const struct table *after)
{
    static struct psnap_access accesses[ACCESSES];
    struct stream stream = {accesses, 0};
    const struct psnap_builder_options options = {.nests = true};
    struct psnap_program *program = make_program(2, REFS);
    struct psnap_profile *profile;
    struct psnap_error error = {0};
    uint32_t loop, region;

    program->loops[1].depth = 2;
    program->loops[1].parent = 0;
    walk_table(before, &stream);
    profile = build(program, stream.accesses, stream.count, &options);
    profile->loops[0].entries = before->again;
    profile->loops[0].iterations = before->again * before->rows;
    profile->loops[1].entries = before->again * before->rows;
    profile->loops[1].iterations = stream.count;
    if (psnap_profile_edit(profile, edit, &loop, &region, &error))
        fail_msg("%s", error.message);
    walk_table(after, &stream);
    assert_is_its_text(profile);
    assert_replays(profile, &stream, true);
    psnap_profile_free(profile);
    psnap_program_free(program);
}

static void test_aligned(void **state)
{
    const struct table joined = {20, 30, 30, false, 2}, spaced = {20, 30, 50, false, 2};
    const struct table triangle = {20, 0, 20, true, 2};
    struct table after;

    (void)state;
    for (int i = 0; i < 2; i++) {
        const struct table *before = i ? &spaced : &joined;
        after = *before;
        after.rows = 60;
        assert_table_becomes(&(struct psnap_edit){PSNAP_EDIT_ITERATIONS, LOOP("f:0", 3)}, before,
                             &after);
        after = *before; /* rows overlap then */
        after.columns = 60;
        assert_table_becomes(&(struct psnap_edit){PSNAP_EDIT_ITERATIONS, LOOP("f:1", 2)}, before,
                             &after);
    }
    after = joined;
    after.again = 6;
    assert_table_becomes(&(struct psnap_edit){PSNAP_EDIT_ENTRIES, LOOP("f:0", 3)}, &joined, &after);
    after = triangle;
    after.again = 6;
    assert_table_becomes(&(struct psnap_edit){PSNAP_EDIT_ENTRIES, LOOP("f:0", 3)}, &triangle,
                         &after);
    /* Rows that are ever longer cannot go on as they are: the triangle comes again. */
    assert_table_becomes(&(struct psnap_edit){PSNAP_EDIT_ITERATIONS, LOOP("f:0", 3)}, &triangle,
                         &after);
}

/* ---- chains ---- */

static uint64_t times_of(const struct chain *chain, uint32_t state)
{
    uint64_t sum = 0;

    for (uint32_t k = 0; k < chain->states[state].edge_count; k++)
        sum += chain->states[state].edges[k].count;
    return sum;
}

/* A random walk through states 1 to n, 7 of them, in 5 visits. */
static void make_chain(struct chain *chain, struct psnap_rng *rng)
{
    assert_true(chain_init(chain));
    for (uint32_t i = 1; i < 8; i++)
        assert_int_equal(chain_add_state(chain, i), i);
    for (int visit = 0; visit < 5; visit++) {
        for (int i = 0; i < 200; i++)
            assert_true(chain_go(chain, 1 + (uint32_t)psnap_rng_below(rng, 7), 1));
        assert_true(chain_go(chain, 0, 1));
    }
}

static void test_chains(void **state)
{
    struct psnap_rng rng;

    (void)state;
    psnap_rng_init(&rng, 1);
    for (int turn = 0; turn < 50; turn++) {
        struct chain chain;
        uint64_t before[8];
        bool inside[8] = {false};
        uint32_t bad, kept = 0;
        make_chain(&chain, &rng);
        for (uint32_t i = 1; i < 8; i++)
            inside[i] = psnap_rng_below(&rng, 2);
        inside[1 + turn % 7] = false;
        for (uint32_t i = 0; i < 8; i++)
            before[i] = times_of(&chain, i);
        assert_int_equal(edit_chain_repeat(&chain, inside, 3), 0);
        assert_int_equal(chain_is_circuit(&chain, &bad), 1);
        for (uint32_t i = 0; i < 8; i++)
            assert_int_equal(times_of(&chain, i), before[i] * (inside[i] ? 3 : 1));
        assert_int_equal(edit_chain_remove(&chain, inside), 0);
        assert_int_equal(chain_is_circuit(&chain, &bad), 1);
        for (uint32_t i = 0; i < 8; i++)
            if (!inside[i]) {
                assert_int_equal(chain.states[kept].symbol, i ? i : PSNAP_NONE);
                assert_int_equal(times_of(&chain, kept++), before[i]);
            }
        assert_int_equal(chain.count, kept);
        chain_release(&chain);
    }
}

/* ---- what is drawn ---- */

/*
 * for (times)                                 f:0
 *   for (i < 3000) load a[random]             f:1
 *   for (i < 3000) store a[the same]          f:2, of each of f:1
 */
static struct psnap_profile *record_random(struct psnap_program *program)
{
    static struct psnap_access accesses[ACCESSES];
    struct stream stream = {accesses, 0};
    const struct psnap_builder_options options = {.nests = true};
    struct psnap_profile *profile;
    struct psnap_rng rng;

    psnap_rng_init(&rng, 1);
    for (uint64_t i = 0; i < 12000; i++) {
        const uint64_t address = HEAP + 64 * psnap_rng_below(&rng, 500);
        add(&stream, REFS, address);
        add(&stream, 2 * REFS, address + 8);
        accesses[stream.count - 1].kind = PSNAP_STORE;
    }
    program->loops[1].parent = program->loops[2].parent = 0;
    program->loops[1].depth = program->loops[2].depth = 2;
    profile = build(program, stream.accesses, stream.count, &options);
    assert_int_equal(profile->loop_count, 3);
    for (uint32_t i = 0; i < 3; i++) {
        profile->loops[i].entries = i ? 12000 : 4;
        profile->loops[i].iterations = 12000;
    }
    return profile;
}

/* Counts of all reuse histograms: of times from 16 on, shorter ones, first touches. */
static void count_times(const struct psnap_profile *profile, uint64_t counts[REUSE_BINS])
{
    const struct psnap_stream_model *model = profile->stream;

    memset(counts, 0, REUSE_BINS * sizeof *counts);
    for (uint32_t i = 0; i < model->ref_count; i++)
        for (uint32_t k = 0; k < model->refs[i].reuse_count; k++)
            for (uint32_t b = 0; b < model->refs[i].reuses[k].bin_count; b++)
                counts[model->refs[i].reuses[k].bins[b].bin] +=
                    model->refs[i].reuses[k].bins[b].count;
}

static void edit_random(const struct psnap_edit *edit, uint64_t before[REUSE_BINS],
                        uint64_t after[REUSE_BINS], uint64_t accesses)
{
    struct psnap_program *program = make_program(3, REFS);
    struct psnap_profile *profile = record_random(program);
    struct psnap_profile_totals totals;
    struct psnap_error error = {0};
    struct psnap_source *source;
    struct psnap_access block[256];
    uint32_t loop, region;
    uint64_t n = 0;
    ssize_t got;

    count_times(profile, before);
    if (psnap_profile_edit(profile, edit, &loop, &region, &error))
        fail_msg("%s", error.message);
    count_times(profile, after);
    assert_is_its_text(profile);
    psnap_profile_totals(profile, &totals);
    assert_int_equal(totals.accesses, accesses);
    source = psnap_replay_new(profile, 0, NULL);
    while ((got = psnap_source_next(source, block, 256, NULL)) > 0)
        n += (uint64_t)got;
    assert_int_equal(n, accesses);
    psnap_source_free(source);
    psnap_profile_free(profile);
    psnap_program_free(program);
}

static void test_reuse(void **state)
{
    uint64_t before[REUSE_BINS], after[REUSE_BINS], sum = 0;

    (void)state;
    edit_random(&(struct psnap_edit){PSNAP_EDIT_REUSE, .factor = 2}, before, after, 24000);
    assert_true(before[REUSE_FIRST] > 100 && before[REUSE_EXACT + 6] > 1000);
    assert_int_equal(after[REUSE_FIRST], before[REUSE_FIRST]);
    for (uint32_t i = 0; i < REUSE_EXACT; i++)
        assert_int_equal(after[i], before[i]);
    assert_int_equal(after[REUSE_EXACT], 0);
    for (uint32_t i = REUSE_EXACT; i + 2 < REUSE_FIRST; i++)
        assert_int_equal(after[i + 1], before[i]);
    /* 16 to 31 becomes 8 to 15, evenly; three quarters of a bin are in the next lower one by half
     */
    edit_random(&(struct psnap_edit){PSNAP_EDIT_REUSE, .factor = 0.5}, before, after, 24000);
    for (uint32_t i = 8; i < REUSE_EXACT; i++)
        sum += after[i] - before[i];
    assert_int_equal(sum, before[REUSE_EXACT]);
    assert_int_equal(after[REUSE_EXACT + 5], before[REUSE_EXACT + 6]);
    edit_random(&(struct psnap_edit){PSNAP_EDIT_REUSE, .factor = 1.5}, before, after, 24000);
    assert_true(after[REUSE_EXACT] == (before[REUSE_EXACT] + 1) / 3 ||
                after[REUSE_EXACT] == before[REUSE_EXACT] / 3);
}

static void test_irregular(void **state)
{
    uint64_t before[REUSE_BINS], after[REUSE_BINS], sums[2] = {0};

    (void)state;
    /* f:1 and what depends on it, each three times as often: the same lines. */
    edit_random(&(struct psnap_edit){PSNAP_EDIT_ENTRIES, LOOP("f:0", 3)}, before, after, 72000);
    for (uint32_t i = 0; i < REUSE_BINS; i++) {
        sums[0] += before[i];
        sums[1] += after[i];
    }
    assert_int_equal(sums[1], 3 * sums[0]);
    assert_int_equal(after[REUSE_FIRST], before[REUSE_FIRST]);
    edit_random(&(struct psnap_edit){PSNAP_EDIT_ITERATIONS, LOOP("f:1", 2)}, before, after, 36000);
    /* Without f:1 f:2 has its histogram. */
    edit_random(&(struct psnap_edit){PSNAP_EDIT_REMOVE, LOOP("f:1", 1)}, before, after, 12000);
    for (uint32_t i = 0; i < REUSE_BINS; i++)
        assert_int_equal(after[i], before[i]);
    edit_random(&(struct psnap_edit){PSNAP_EDIT_REMOVE, LOOP("f:2", 1)}, before, after, 12000);
}

/* Elements that come three to a line, where each had one of its own: of one first touch in each
 * phase none is left, and so nothing that says when those of the first phase come. */
static void test_no_first_touch_left(void **state)
{
    static const char text[] =
        "psnap: 1\n"
        "program: {name: p, source_language: C, compiler: '', host: x86_64, recorded: ''}\n"
        "capture: {model: nests-3, stage: optimized, region_gap_bytes: 256, region_limit: 128}\n"
        "schedule: [n]\n"
        "objects:\n"
        "- {id: o, symbol: x, group: image, index: 1, offset: 4096, bytes: 16384}\n"
        "loops:\n"
        "- id: n\n"
        "  regions:\n"
        "  - {id: a, symbol: x, working_set: {bytes: 16384, group: image, index: 1, offset: "
        "4096}}\n"
        "  bodies:\n"
        "  - {id: n, refs: [0], iterations: 12}\n"
        "  references:\n"
        "  - {ref: 0, load: 8, reuse: [{object: o, first_at: {1: 1},\n"
        "     phases: [{0: 4, 16: 1, first: 1}, {1: 2, 16: 3, first: 1}], places: {0: 1, 8: "
        "1}}]}\n";
    static const char *const regions[] = {"x"};
    const struct psnap_edit edit = {PSNAP_EDIT_SPAN, .times = 1, .over = 3, ARRAY(regions)};
    struct psnap_profile *profile = read_text(text);
    uint64_t counts[REUSE_BINS];
    struct psnap_error error = {0};
    uint32_t loop, region;
    char *edited;

    (void)state;
    count_times(profile, counts);
    assert_int_equal(counts[REUSE_FIRST], 2);
    assert_int_equal(reuse_timed_firsts(&profile->stream->refs[0].reuses[0]), 1);
    if (psnap_profile_edit(profile, &edit, &loop, &region, &error))
        fail_msg("%s", error.message);
    count_times(profile, counts);
    assert_int_equal(counts[REUSE_FIRST], 0);
    edited = write_text(profile);
    assert_null(strstr(edited, "first_at"));
    free(edited);
    assert_is_its_text(profile);
    psnap_profile_free(profile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_aligned),
        cmocka_unit_test(test_chains),
        cmocka_unit_test(test_reuse),
        cmocka_unit_test(test_irregular),
        cmocka_unit_test(test_no_first_touch_left),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
