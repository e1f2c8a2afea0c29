/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Irregular references: the sample of cache lines against a map of all of them, bins of reuse
 * times, histograms with exact sums in as many phases as differ, rules of dependent references
 * where there are some and nowhere else, and what a model makes of references that the sample does
 * not have.
 */
#include "tests/unit/test_model_support.h"

#include "profile/address/depend.h"
#include "profile/address/reuse.h"
#include "profile/address/sample.h"
#include "profile/address/visit.h"
#include "profile/walk/measure.h"

/* ---- sample ---- */

enum { LINES = 100000 };

static uint64_t times[LINES]; /* of the last touch + 1; 0: none */

/* Touches a line; whether its time is known, and that it is the right one. */
static bool touch(struct sample *sample, uint64_t line, uint64_t time)
{
    const struct sample_line made = {.line = line, .time = time};
    struct sample_line *slot;
    bool is_known;

    if (!sample_has(sample, line))
        return false;
    slot = sample_find(sample, line);
    is_known = slot->line == line;
    assert_int_equal(is_known, times[line] != 0);
    if (is_known) {
        assert_int_equal(slot->time, times[line] - 1);
        slot->time = time;
    } else {
        assert_true(sample_add(sample, &made));
    }
    return is_known;
}

TEST(samples_are_maps)
{
    for (uint64_t span = 1000; span <= LINES; span *= 10) {
        struct sample sample;
        struct psnap_rng rng;
        double weight = 0;
        memset(times, 0, sizeof times);
        psnap_rng_init(&rng, span);
        assert_true(sample_init(&sample));
        for (uint64_t time = 0; time < 400000; time++) {
            const uint64_t line = psnap_rng_below(&rng, span);
            touch(&sample, line, time);
            times[line] = time + 1;
            if (sample_has(&sample, line))
                weight += (double)sample.weight;
            assert_in_range(sample.count, 0, 1 << 15);
            assert_in_range(sample.room, 0, 1 << 17);
        }
        if (span < 5000)
            assert_int_equal(sample.weight, 1);
        else
            assert_true(sample.weight > 1);
        assert_true(weight > 380000 && weight < 420000); /* touches, as the sample has it */
        sample_release(&sample);
    }
}

/* The accesses of a run, one by one; returns how many. */
static uint64_t touch_slowly(struct sample *sample, const struct run_column *columns, size_t width,
                             uint64_t count, uint64_t time)
{
    for (uint64_t i = 0; i < count; i++)
        for (size_t k = 0; k < width; k++, time++) {
            const uint64_t address = run_column_address(&columns[k], i);
            const struct sample_line line = {address / 64, time, address % 64};
            struct sample_line before;
            if (sample_has(sample, line.line))
                assert_true(sample_touch(sample, &line, &before));
        }
    return count * width;
}

/* Runs of all strides, to a few lines and to so many that the sample is thinned out within them. */
TEST(runs_touch_as_their_accesses_do)
{
    enum { WIDTH = 4, RUNS = 400, WORDS = 200 };
    static const int64_t strides[] = {0, 1, -3, 8, -8, 24, 48, 64, -64, 72, 192, -1000, 4096};
    static uint64_t words[WORDS];

    for (uint64_t seed = 0; seed < 12; seed++) {
        struct run_column columns[WIDTH];
        struct visit visits[WIDTH];
        struct sample slow, quick;
        struct psnap_rng rng;
        uint64_t time = 0;
        psnap_rng_init(&rng, seed);
        assert_true(sample_init(&slow) && sample_init(&quick));
        for (int run = 0; run < RUNS; run++) {
            const size_t width = 1 + psnap_rng_below(&rng, WIDTH);
            const uint64_t count = 1 + psnap_rng_below(&rng, WORDS);
            for (size_t k = 0; k < width; k++)
                columns[k] = (struct run_column){
                    .first = HEAP + psnap_rng_below(&rng, UINT64_C(1) << (12 + seed)),
                    .stride = (uint64_t)strides[psnap_rng_below(&rng, 13)]};
            for (size_t i = 0; i < WORDS; i++)
                words[i] = psnap_rng_below(&rng, 5000);
            if (psnap_rng_below(&rng, 4) == 0)
                columns[0].words = words;
            columns[0].pitch = 1;
            assert_true(visit_run(visits, columns, width, &quick, count, time));
            time += touch_slowly(&slow, columns, width, count, time);
            assert_int_equal(slow.mask, quick.mask);
            assert_int_equal(slow.count, quick.count);
            assert_int_equal(slow.weight, quick.weight);
            for (uint64_t i = 0; i < slow.room; i++) {
                const struct sample_line *a = &slow.slots[i], *b = sample_find(&quick, a->line);
                if (a->line == UINT64_MAX)
                    continue;
                assert_int_equal(a->line, b->line);
                assert_int_equal(a->time, b->time);
                assert_int_equal(a->byte, b->byte);
            }
        }
        assert_true(seed < 10 || slow.weight > 1);
        sample_release(&slow);
        sample_release(&quick);
    }
}

/* ---- reuse ---- */

TEST(bins_have_their_times)
{
    uint64_t next = 0;

    for (uint32_t bin = 0; bin < REUSE_FIRST; bin++) {
        const uint64_t low = reuse_bin_low(bin), width = reuse_bin_width(bin);
        assert_int_equal(low, next);
        assert_int_equal(reuse_bin(low), bin);
        assert_int_equal(reuse_bin(low + width - 1), bin);
        next = low + width;
    }
    assert_int_equal(reuse_bin(UINT64_MAX), REUSE_FIRST - 1);
}

/* Accesses of two parts of memory, whose bins are those of `bins` in each quarter; of a sample:
 * each stands for 4, and not quite as many of them as there were. */
TEST(histograms_are_exact)
{
    static const struct {
        uint32_t bins[4], phases;
    } cases[] = {
        {{5, 5, 5, 5}, 1}, {{5, 5, 20, 20}, 2}, {{5, 20, 5, 20}, 4}, {{1, 2, 3, REUSE_FIRST}, 4}};
    static const uint32_t objects[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        const uint64_t executions = 100003;
        struct reuse_collector collector = {0};
        struct reuse *reuses;
        uint32_t count, phases;
        uint64_t sum = 0, of[4] = {0};
        struct psnap_rng rng;
        psnap_rng_init(&rng, c);
        for (uint64_t i = 0; i < executions; i++)
            if (!psnap_rng_below(&rng, 4))
                assert_true(reuse_note(&collector, HEAP + 8 * psnap_rng_below(&rng, 100), i,
                                       cases[c].bins[4 * i / executions], 0, 4));
        assert_in_range(collector.count, 1, 16);
        assert_true(reuse_take(&collector, objects, executions, &reuses, &count, &phases));
        assert_int_equal(phases, cases[c].phases);
        for (uint32_t r = 0; r < count; r++)
            for (uint32_t b = 0; b < reuses[r].bin_count; b++) {
                assert_in_range(reuses[r].bins[b].phase, 0, phases - 1);
                assert_true(reuses[r].bins[b].count > 0);
                sum += reuses[r].bins[b].count;
                of[reuses[r].bins[b].phase] += reuses[r].bins[b].count;
            }
        assert_int_equal(sum, executions);
        for (uint32_t p = 0; p < phases; p++)
            assert_in_range(of[p], executions / phases, executions / phases + 1);
        reuse_release(reuses, count);
        reuse_collector_release(&collector);
    }
}

/* ---- dependent references, as a model has them ---- */

enum { REFS = 4, EXECUTIONS = 20000 };

static struct psnap_access accesses[REFS * EXECUTIONS];

static struct model_ref *ref_of(struct psnap_stream_model *model, uint32_t number)
{
    for (uint32_t i = 0; i < model->ref_count; i++)
        if (model->refs[i].number == number)
            return &model->refs[i];
    fail();
    return NULL;
}

/* Records at random: a field, another one, one of two others, and something else altogether. */
TEST(rules_are_found)
{
    struct psnap_program *program = make_program(1, REFS);
    struct psnap_stream_model *model;
    struct psnap_rng rng;
    const struct model_ref *two;

    psnap_rng_init(&rng, 1);
    for (uint64_t i = 0; i < EXECUTIONS; i++) {
        const uint64_t record = HEAP + 64 * psnap_rng_below(&rng, 5000);
        const uint64_t addresses[REFS] = {record, record + 24,
                                          record + (psnap_rng_below(&rng, 4) ? 8 : 48),
                                          HEAP + (1 << 24) + 8 * psnap_rng_below(&rng, 50000)};
        for (uint32_t r = 0; r < REFS; r++)
            accesses[i * REFS + r] =
                (struct psnap_access){.address = addresses[r], .ref = r, .size = 8};
    }
    model = model_of(program, accesses, COUNT(accesses));
    assert_int_equal(ref_of(model, 0)->rule, MODEL_REUSE);
    assert_int_equal(ref_of(model, 1)->rule, MODEL_DEPENDENT);
    assert_ptr_equal(&model->refs[ref_of(model, 1)->bases[0]], ref_of(model, 0));
    assert_int_equal(ref_of(model, 1)->offset_count, 1);
    assert_int_equal(ref_of(model, 1)->offsets[0].bytes, 24);
    two = ref_of(model, 2);
    assert_int_equal(two->rule, MODEL_DEPENDENT);
    assert_int_equal(two->offset_count, 2);
    assert_int_equal(ref_of(model, 3)->rule, MODEL_REUSE);
    model_free(model);
    psnap_program_free(program);
}

/* All references go the same way, one behind the other: none depends on itself. */
TEST(there_are_no_circles)
{
    struct psnap_program *program = make_program(1, REFS);
    struct psnap_stream_model *model;
    struct psnap_rng rng;
    uint64_t address = HEAP;

    psnap_rng_init(&rng, 1);
    for (uint64_t i = 0; i < EXECUTIONS * REFS; i++) {
        if (i % 3 == 0)
            address = HEAP + 8 * psnap_rng_below(&rng, 100000);
        accesses[i] =
            (struct psnap_access){.address = address, .ref = (uint32_t)(i % REFS), .size = 8};
    }
    model = model_of(program, accesses, COUNT(accesses));
    for (uint32_t i = 0; i < model->ref_count; i++) {
        uint32_t at = i, steps = 0;
        for (; model->refs[at].rule == MODEL_DEPENDENT; at = model->refs[at].bases[0])
            assert_true(steps++ < model->ref_count);
    }
    model_free(model);
    psnap_program_free(program);
}

/* One reference goes through so many lines that the sample is thin, another one accesses a few that
 * may all be outside of it: its profile reads all the same. */
TEST(references_outside_of_the_sample)
{
    static const struct psnap_builder_options options = {.nests = true};

    for (uint64_t seed = 0; seed < 20; seed++) {
        struct psnap_program *program = make_program(2, 1);
        struct psnap_profile *profile, *back;
        struct psnap_rng rng;
        char *text;
        size_t n = 0;
        psnap_rng_init(&rng, seed);
        for (; n < REFS * EXECUTIONS - 200; n++)
            accesses[n] = (struct psnap_access){
                .address = HEAP + 64 * psnap_rng_below(&rng, 1 << 22), .size = 8};
        for (int i = 0; i < 200; i++, n++)
            accesses[n] = (struct psnap_access){.address = HEAP + (UINT64_C(1) << 32) +
                                                           64 * psnap_rng_below(&rng, 2) +
                                                           8 * psnap_rng_below(&rng, 8),
                                                .ref = 1,
                                                .size = 8};
        profile = build(program, accesses, n, &options);
        text = write_text(profile);
        back = read_text(text);
        free(text);
        psnap_profile_free(back);
        psnap_profile_free(profile);
        psnap_program_free(program);
    }
}

/* Cells of a table at random: first touches come early, and the replay keeps to all reuse times.
 * Where first touches come evenly, there are too few lines to come back to, and the measure says
 * so. */
TEST(replays_are_measured)
{
    struct psnap_program *program = make_program(1, 1);
    struct psnap_stream_model *model;
    struct model_ref *ref;
    struct psnap_rng rng;
    uint64_t firsts = 0, early = 0;
    double off;

    psnap_rng_init(&rng, 1);
    for (uint64_t i = 0; i < EXECUTIONS * REFS; i++)
        accesses[i] =
            (struct psnap_access){.address = HEAP + 8 * psnap_rng_below(&rng, 8000), .size = 8};
    model = model_of(program, accesses, COUNT(accesses));
    ref = ref_of(model, 0);
    assert_int_equal(ref->rule, MODEL_REUSE);
    assert_true(ref->off < 0.02);
    assert_int_equal(ref->reuse_count, 1);
    for (uint32_t k = 0; k < REUSE_WHEN; k++) {
        firsts += ref->reuses[0].when[k];
        early += k <= 12 ? ref->reuses[0].when[k] : 0;
    }
    assert_int_equal(firsts, 1000);
    assert_true(early > 950);
    assert_true(walk_measure(model, UINT64_MAX, NULL, &off));
    assert_true(off < 0.02);
    memset(ref->reuses[0].when, 0, sizeof ref->reuses[0].when);
    assert_true(walk_measure(model, UINT64_MAX, NULL, &off)); /* too few lines for long times */
    assert_true(off > 0.05);
    model_free(model);
    psnap_program_free(program);
}

/* Memory is touched line by line, and then at random: the reference is a nest as far as is known
 * for thousands of accesses, and its histogram has their first touches all the same. As runs these
 * are counted by the line. */
TEST(what_was_regular_is_counted)
{
    enum { REGULAR = 8000, ALL = 20000 };

    for (int is_run = 0; is_run < 2; is_run++) {
        struct psnap_program *program = make_program(1, 1);
        struct psnap_sink *builder = model_builder_new(program);
        struct psnap_stream_model *model;
        const struct model_ref *ref;
        struct psnap_access first = {.address = HEAP, .size = 8};
        const int64_t stride = 16;
        struct psnap_rng rng;
        uint64_t firsts = 0;
        psnap_rng_init(&rng, 1);
        for (uint64_t i = 0; i < ALL; i++)
            accesses[i] = (struct psnap_access){
                .address = HEAP + 16 * (i < REGULAR ? i : psnap_rng_below(&rng, REGULAR)),
                .size = 8};
        if (is_run)
            assert_int_equal(psnap_sink_put_run(builder,
                                                &(struct psnap_run){.first = &first,
                                                                    .strides = &stride,
                                                                    .width = 1,
                                                                    .count = REGULAR},
                                                NULL),
                             PSNAP_OK);
        assert_int_equal(psnap_sink_put(builder, accesses + is_run * REGULAR,
                                        ALL - (size_t)is_run * REGULAR, NULL),
                         PSNAP_OK);
        model = end_model(builder);
        ref = ref_of(model, 0);
        assert_int_equal(ref->rule, MODEL_REUSE);
        for (uint32_t i = 0; i < ref->reuse_count; i++)
            for (uint32_t k = 0; k < ref->reuses[i].bin_count; k++)
                firsts +=
                    ref->reuses[i].bins[k].bin == REUSE_FIRST ? ref->reuses[i].bins[k].count : 0;
        assert_in_range(firsts, REGULAR / 4 * 3 / 4, REGULAR / 4 * 5 / 4);
        model_free(model);
        psnap_program_free(program);
    }
}
