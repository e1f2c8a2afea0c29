/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs are a faster way to say the same: a builder that is given runs writes
 * the profile that it writes for their accesses one by one. Random runs: of
 * one to four references, with equal, different, zero and negative strides or
 * with addresses in columns, in one region or several; of several iterations a repetition.
 *
 * Reuse times alone are not the same to the last one, and these only of a body whose references
 * have all been regular for long: a run enters them line by line (profile/collect/lane_touch.c).
 */
#include "profile/model.h"
#include "tests/unit/test_profile_support.h"

enum { REFS = 12, LOOPS = 3, RUN_MAX = 400, TURNS = 5, MIXED_MAX = 5000, MIXED_REFS = 4 };

/* A run over some references of one loop, in up to three areas that may touch. */
static struct psnap_run make_run(struct psnap_rng *rng, struct psnap_access *first,
                                 int64_t *strides)
{
    static const int64_t choices[] = {8, 8, 8, 16, 64, 256, 264, 0, -8, -64, -300, 1, 4096};
    uint32_t loop = (uint32_t)psnap_rng_below(rng, LOOPS);
    size_t width = 1 + psnap_rng_below(rng, REFS / LOOPS);
    int64_t common = choices[psnap_rng_below(rng, sizeof choices / sizeof *choices)];
    bool is_uniform = psnap_rng_below(rng, 2);

    for (size_t k = 0; k < width; k++) {
        uint64_t area = 0x100000 + psnap_rng_below(rng, 3) * 0x1000;
        uint32_t ref = loop + (uint32_t)k * LOOPS;
        first[k] = (struct psnap_access){
            .address = area + 8 * psnap_rng_below(rng, 300),
            .ref = ref,
            .size = (uint8_t)(psnap_rng_below(rng, 2) ? 8 : 1 + psnap_rng_below(rng, 64)),
            .kind = (uint8_t)(k % 2)};
        strides[k] =
            is_uniform ? common : choices[psnap_rng_below(rng, sizeof choices / sizeof *choices)];
    }
    return (struct psnap_run){first, strides, NULL, width,
                              1 + psnap_rng_below(rng, psnap_rng_below(rng, 2) ? RUN_MAX : 4)};
}

/* Gives some references of a run addresses of their own, near or far, some the same as another's.
 */
static void add_columns(struct psnap_run *run, struct psnap_access *first,
                        struct psnap_column *columns, uint64_t *words, struct psnap_rng *rng)
{
    for (size_t k = 0; k < run->width; k++) {
        uint64_t span = psnap_rng_below(rng, 3) ? 300 : 3000, area = first[k].address;
        bool same = k && columns[k - 1].words && psnap_rng_below(rng, 2);
        columns[k] = (struct psnap_column){words + k, run->width, 16};
        for (uint64_t i = 0; i < run->count; i++) {
            uint64_t *word = words + i * run->width + k;
            *word = same ? word[-1] : area - 16 + 8 * psnap_rng_below(rng, span);
        }
        if (psnap_rng_below(rng, 2))
            first[k].address = words[k] + 16;
        else
            columns[k].words = NULL;
    }
    run->columns = columns;
}

/* Makes each repetition some iterations, which need not be alike. */
static void add_turns(struct psnap_run *run, struct psnap_access *first, int64_t *strides,
                      struct psnap_rng *rng)
{
    const size_t refs = run->width;
    const bool is_regular = psnap_rng_below(rng, 2);

    run->turns = 2 + (uint32_t)psnap_rng_below(rng, TURNS - 1);
    run->width *= run->turns;
    for (size_t k = refs; k < run->width; k++) {
        first[k] = first[k - refs];
        first[k].address += is_regular ? 8 : 8 * psnap_rng_below(rng, 60);
        strides[k] = strides[k - refs];
    }
}

/* The lines of a profile without what they say about reuse times. */
static void cut_reuse(char *text)
{
    char *to = text;

    for (char *line = text, *end; *line; line = end) {
        const char *reuse;
        end = strchr(line, '\n');
        *end++ = 0;
        reuse = strstr(line, "reuse:");
        if (strstr(line, "expected_off_points:"))
            continue;
        for (; *line && line != reuse; line++)
            *to++ = *line;
        *to++ = '\n';
    }
    *to = 0;
}

static void add_histogram(const struct model_ref *ref, double share, double *bins)
{
    for (uint32_t i = 0; i < ref->reuse_count; i++)
        for (uint32_t b = 0; b < ref->reuses[i].bin_count; b++)
            bins[ref->reuses[i].bins[b].bin] +=
                share * (double)ref->reuses[i].bins[b].count / (double)ref->executions;
}

/* The share of accesses that are in other bins of a reference's histogram. */
static double differ(const struct model_ref *ref, const struct model_ref *other)
{
    double bins[REUSE_BINS] = {0}, sum = 0;

    add_histogram(ref, 1, bins);
    add_histogram(other, -1, bins);
    for (int i = 0; i < REUSE_BINS; i++)
        sum += bins[i] > 0 ? bins[i] : 0;
    return sum;
}

static void put_both(const struct builders *both, const struct psnap_run *run)
{
    assert_int_equal(psnap_sink_put_run(both->whole, run, NULL), PSNAP_OK);
    for (uint64_t r = 0; r < run->count; r++)
        for (size_t k = 0; k < run->width; k++) {
            struct psnap_access access = run->first[k];
            access.address = psnap_run_address(run, r, k);
            assert_int_equal(psnap_sink_put(both->singly, &access, 1, NULL), PSNAP_OK);
        }
}

static void put_runs(const struct psnap_builder_options *options, uint64_t seeds)
{
    static const char *const ids[LOOPS] = {"f:1", "f:2", "f:3"};

    for (uint64_t seed = 0; seed < seeds; seed++) {
        struct psnap_rng rng;
        const struct builders both = new_builders(make_striped(ids, ids, LOOPS, REFS), options);

        psnap_rng_init(&rng, seed);
        for (unsigned i = 0; i < 100; i++) {
            struct psnap_access first[TURNS * REFS];
            int64_t strides[TURNS * REFS];
            struct psnap_run run = make_run(&rng, first, strides);
            struct psnap_column columns[TURNS * REFS];
            uint64_t words[RUN_MAX * TURNS * REFS / LOOPS];
            if (psnap_rng_below(&rng, 3) == 0)
                add_turns(&run, first, strides, &rng);
            if (psnap_rng_below(&rng, 2))
                add_columns(&run, first, columns, words, &rng);
            put_both(&both, &run);
        }
        assert_same_profile(&both, (unsigned)seed, NULL, NULL);
    }
}

TEST(runs_equal_their_accesses)
{
    put_runs(NULL, 120);
}

TEST(runs_equal_their_accesses_in_nests)
{
    put_runs(&(const struct psnap_builder_options){.nests = true}, 40);
}

/* Long runs, until reuse times are sampled, of up to three iterations a repetition: the first
 * reference's addresses are random, those of the others mostly go on by the same strides. */
static void put_mixed(const struct builders *both, uint64_t seed)
{
    static const int64_t choices[] = {8, 8, 16, -8, 0, 72};
    static uint64_t words[MIXED_MAX];
    struct psnap_rng rng;
    struct psnap_access first[MIXED_REFS * 3];
    int64_t strides[MIXED_REFS * 3];
    struct psnap_column columns[MIXED_REFS * 3] = {{.words = words, .pitch = 1, .offset = 64}};

    psnap_rng_init(&rng, seed);
    for (size_t k = 0; k < MIXED_REFS * 3; k++)
        strides[k] = choices[psnap_rng_below(&rng, sizeof choices / sizeof *choices)];
    for (unsigned i = 0; i < 60; i++) {
        const bool is_new = psnap_rng_below(&rng, 4) == 0;
        const size_t refs = MIXED_REFS - psnap_rng_below(&rng, 4) / 3;
        struct psnap_run run = {first, strides, columns, refs,
                                1 + psnap_rng_below(&rng, MIXED_MAX)};
        run.turns = 1 + (uint32_t)(psnap_rng_below(&rng, 6) / 2);
        run.width *= run.turns;
        run.columns = psnap_rng_below(&rng, 4) ? columns : NULL;
        for (uint64_t n = 0; n < run.count; n++)
            words[n] = 0x200000 + 8 * psnap_rng_below(&rng, i % 2 ? 5000 : 500);
        for (uint64_t k = 0; k < run.width; k++) {
            const uint64_t place =
                is_new ? psnap_rng_below(&rng, 1000) : 100 * (k % refs) + k / refs;
            first[k] =
                (struct psnap_access){.address = 0x110000 + 0x10000 * (k % refs / 2) + 8 * place,
                                      .ref = (uint32_t)(k % refs),
                                      .size = 8};
        }
        if (run.columns)
            first[0].address = words[0] + 64;
        put_both(both, &run);
    }
}

TEST(mixed_runs_equal_their_accesses)
{
    static const char *const ids[] = {"f:1.vector"}, *const src_ids[] = {"f:1"};
    const struct psnap_builder_options options = {.nests = true};

    for (uint64_t seed = 0; seed < 12; seed++) {
        const struct builders both =
            new_builders(make_striped(ids, seed % 2 ? ids : src_ids, 1, 5), &options);

        put_mixed(&both, seed);
        assert_same_profile(&both, (unsigned)seed, NULL, NULL);
    }
}

/* A hundred equal sweeps over arrays, some of which references share, at strides that may differ;
 * then addresses at random, which make the references irregular. */
static void put_sweeps(const struct builders *both, uint64_t seed)
{
    static const int64_t choices[] = {4, 8, 8, 8, 16, 32, -8, 48, 0};
    struct psnap_rng rng;
    struct psnap_access first[4];
    int64_t strides[4], common;
    struct psnap_run run = {first, strides, NULL, 4, 0};

    psnap_rng_init(&rng, seed);
    common = choices[psnap_rng_below(&rng, 9)];
    run.count = 50 + psnap_rng_below(&rng, 800);
    for (uint64_t k = 0; k < 4; k++) {
        const uint64_t array = psnap_rng_below(&rng, 2) ? 0 : psnap_rng_below(&rng, 4);
        const uint64_t address = 0x110000 + array * 0x100000 + 8 * psnap_rng_below(&rng, 12);
        first[k] = (struct psnap_access){.address = address, .ref = (uint32_t)k, .size = 8};
        strides[k] = psnap_rng_below(&rng, 4) ? common : choices[psnap_rng_below(&rng, 9)];
    }
    for (unsigned i = 0; i < 100; i++)
        put_both(both, &run);
    run.count = 1;
    for (unsigned i = 0; i < 4000; i++) {
        for (uint64_t k = 0; k < 4; k++)
            first[k].address =
                0x110000 + psnap_rng_below(&rng, 4) * 0x100000 + 8 * psnap_rng_below(&rng, 5000);
        put_both(both, &run);
    }
}

TEST(sweeps_of_irregular_references_are_counted)
{
    static const char *const ids[] = {"f:1"};
    const struct psnap_builder_options options = {.nests = true};

    for (uint64_t seed = 0; seed < 15; seed++) {
        const struct builders both = new_builders(make_striped(ids, ids, 1, 4), &options);
        struct psnap_profile *profiles[2];

        put_sweeps(&both, seed);
        assert_same_profile(&both, (unsigned)seed, cut_reuse, profiles);
        for (uint32_t i = 0; i < profiles[0]->stream->ref_count; i++) {
            const struct model_ref *ref = &profiles[0]->stream->refs[i];
            if (differ(ref, &profiles[1]->stream->refs[i]) > 0.15)
                fail_msg("seed %u: reference %u has other reuse times", (unsigned)seed, i);
        }
        psnap_profile_free(profiles[0]);
        psnap_profile_free(profiles[1]);
    }
}
