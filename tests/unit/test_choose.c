/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The choice between a dependent reference and one drawn by reuse time, and the measurement that it
 * goes by: a field of a record stays with the record, one whose place differs from record to record
 * is drawn, and threads that share memory are replayed and measured one by one.
 */
#include "tests/unit/test_model_support.h"

#include "profile/walk/measure.h"

enum { REFS = 2, EXECUTIONS = 100000 };

static struct psnap_access accesses[REFS * EXECUTIONS];

/* Records at random, in each of which reference 1 follows reference 0 by an offset of the record:
 * `step` times 1 up to `places`, as a hash of the record's number says. */
static struct psnap_stream_model *model_of_records(const struct psnap_program *program,
                                                   uint64_t records, uint64_t bytes, uint64_t step,
                                                   uint64_t places)
{
    struct psnap_rng rng;

    psnap_rng_init(&rng, 1);
    for (uint64_t i = 0; i < EXECUTIONS; i++) {
        const uint64_t record = psnap_rng_below(&rng, records);
        const uint64_t at[REFS] = {HEAP + bytes * record,
                                   HEAP + bytes * record +
                                       step * (1 + record * 2654435761u / 8 % places)};
        for (uint32_t r = 0; r < REFS; r++)
            accesses[REFS * i + r] = (struct psnap_access){.address = at[r], .ref = r, .size = 8};
    }
    return model_of(program, accesses, COUNT(accesses));
}

/* One offset for all records, in the same line or in another one: the rule keeps records together,
 * and with them the reuse times. */
TEST(fields_of_records_depend)
{
    static const struct {
        uint64_t records, bytes, offset;
        double off; /* at most */
    } cases[] = {{5000, 64, 16, 0.001}, {5000, 96, 72, 0.03}, {5000, 128, 64, 0.05}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct psnap_program *program = make_program(1, REFS);
        struct psnap_stream_model *model =
            model_of_records(program, cases[i].records, cases[i].bytes, cases[i].offset, 1);
        assert_int_equal(model->refs[0].rule, MODEL_REUSE);
        assert_int_equal(model->refs[1].rule, MODEL_DEPENDENT);
        assert_int_equal(model->refs[1].base_count, 1);
        assert_int_equal(model->refs[1].offset_count, 1);
        assert_int_equal(model->refs[1].offsets[0].bytes, cases[i].offset);
        assert_int_equal(model->refs[1].reuse_count, 0);
        assert_true(model->refs[1].off < cases[i].off);
        model_free(model);
        psnap_program_free(program);
    }
}

/* Each record has its second field in one of three lines, always the same one of them. A dependent
 * rule would choose another one of the three each time, so that three times as many lines are
 * accessed, each after three times as long. */
TEST(fields_in_other_places_are_drawn)
{
    struct psnap_program *program = make_program(1, REFS);
    struct psnap_stream_model *model = model_of_records(program, 2000, 512, 128, 3);
    struct model_ref *ref = &model->refs[1];
    double drawn = 0, dependent = 0, off[REFS];

    for (uint32_t i = 0; i < REFS; i++) {
        assert_int_equal(model->refs[i].rule, MODEL_REUSE);
        assert_true(model->refs[i].reuse_count > 0);
        assert_int_equal(model->refs[i].base_count + model->refs[i].offset_count, 0);
        drawn += model->refs[i].off;
    }
    assert_true(drawn < 0.05);
    ref->rule = MODEL_DEPENDENT;
    ref->bases[0] = 0;
    ref->base_count = 1;
    ref->offset_count = 3;
    for (uint32_t i = 0; i < 3; i++)
        ref->offsets[i] = (struct depend_offset){128 * (i + 1), 1};
    assert_true(walk_measure(model, UINT64_MAX, NULL, off));
    for (uint32_t i = 0; i < REFS; i++)
        dependent += off[i];
    assert_true(dependent > 0.2);
    model_free(model);
    psnap_program_free(program);
}

/* Two threads access the same lines at random, in turn. The replay has one thread's accesses behind
 * the other's: what the second thread touches first is a first touch all the same, as it was when
 * the threads were recorded, and not a late reuse. Each thread's replay finds its own reuse times,
 * whether the lines are of an array or of no object. */
TEST(threads_have_their_own_reuse_times)
{
    for (int is_array = 0; is_array < 2; is_array++) {
        const struct psnap_object array = {.address = HEAP, .size_bytes = 1 << 23, .name = "x"};
        struct psnap_program *program = make_program(1, 1);
        struct psnap_stream_model *model;
        struct psnap_rng rng;
        double off[REFS];
        if (is_array)
            assert_int_equal(psnap_program_add_object(program, &array), 0);
        psnap_rng_init(&rng, 1);
        for (uint64_t i = 0; i < (uint64_t)REFS * EXECUTIONS; i++)
            accesses[i] = (struct psnap_access){
                .address = HEAP + 64 * psnap_rng_below(&rng, 1 + psnap_rng_below(&rng, 100000)),
                .size = 8,
                .thread = i % 2};
        model = model_of(program, accesses, COUNT(accesses));
        assert_int_equal(model->order_count, 2);
        assert_true(walk_measure(model, UINT64_MAX, NULL, off));
        for (uint32_t i = 0; i < REFS; i++) {
            assert_int_equal(model->refs[i].thread, i);
            assert_int_equal(model->refs[i].rule, MODEL_REUSE);
            assert_true(model->refs[i].off < 0.05);
            assert_true(off[i] < 0.05);
        }
        model_free(model);
        psnap_program_free(program);
    }
}

/* What walk_measure measures of reference `index`, from the whole stream, access by access, of few
 * lines. */
static double measure_slowly(struct psnap_stream_model *model, uint32_t index)
{
    enum { LINES = 4096 };
    static uint64_t last[LINES]; /* number of the latest access, from 1 on */
    struct psnap_source *source = model_source_new(model, NULL, NULL, 0);
    double recorded[REUSE_BINS] = {0}, replayed[REUSE_BINS] = {0}, all = 0, differ = 0, most = 0;
    uint64_t now = 0;
    ssize_t n;

    memset(last, 0, sizeof last);
    while ((n = psnap_source_next(source, accesses, 1000, NULL)) > 0)
        for (ssize_t i = 0; i < n; i++) {
            uint64_t *of = &last[accesses[i].address / 64 % LINES];
            if (accesses[i].ref == model->refs[index].number)
                replayed[*of ? reuse_bin(now - *of) : REUSE_FIRST]++;
            *of = ++now;
        }
    psnap_source_free(source);
    for (uint32_t i = 0; i < model->refs[index].reuse_count; i++)
        for (uint32_t k = 0; k < model->refs[index].reuses[i].bin_count; k++)
            recorded[model->refs[index].reuses[i].bins[k].bin] +=
                (double)model->refs[index].reuses[i].bins[k].count;
    for (uint32_t bin = 0; bin < REUSE_BINS; bin++)
        all += recorded[bin];
    for (uint32_t bin = 0; bin < REUSE_BINS && all > 0; bin++) {
        differ += (recorded[bin] - replayed[bin]) / all;
        if (bin >= reuse_bin(MEASURE_LONG) && (differ > most || -differ > most))
            most = differ < 0 ? -differ : differ;
    }
    return most;
}

/* An irregular reference among runs over the lines that it accesses, which go on behind its last
 * access. */
TEST(runs_are_measured_as_their_accesses)
{
    static const int64_t strides[REFS] = {8, 24};

    for (uint64_t seed = 0; seed < 20; seed++) {
        struct psnap_program *program = make_program(2, REFS);
        struct psnap_sink *builder = model_builder_new(program);
        struct psnap_stream_model *model;
        struct psnap_rng rng;
        double off[2 * REFS];
        uint32_t drawn = 0;
        psnap_rng_init(&rng, seed);
        for (uint64_t i = 0; i < 60 + seed; i++) {
            const struct psnap_access first[REFS] = {
                {.address = HEAP, .size = 8},
                {.address = HEAP + 32 * seed, .ref = 1, .size = 8, .kind = PSNAP_STORE}};
            const struct psnap_run run = {
                .first = first, .strides = strides, .width = REFS, .count = 1000};
            assert_int_equal(psnap_sink_put_run(builder, &run, NULL), PSNAP_OK);
            for (int k = 0; k < 20 && i < 50; k++)
                accesses[k] = (struct psnap_access){
                    .address = HEAP + 8 * psnap_rng_below(&rng, UINT64_C(100) << seed % 6),
                    .ref = REFS,
                    .size = 8};
            if (i < 50)
                assert_int_equal(psnap_sink_put(builder, accesses, 20, NULL), PSNAP_OK);
        }
        model = end_model(builder);
        assert_true(walk_measure(model, UINT64_MAX, NULL, off));
        for (uint32_t i = 0; i < model->ref_count; i++) {
            const double differ = off[i] - measure_slowly(model, i);
            assert_true(differ < 1e-9 && differ > -1e-9);
            drawn += model->refs[i].rule == MODEL_REUSE;
        }
        assert_int_equal(drawn, 1);
        model_free(model);
        psnap_program_free(program);
    }
}
