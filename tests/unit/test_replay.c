/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Replay: accesses per loop, region, kind and size exactly as in the profile;
 * addresses inside the working sets; the same stream for the same seed and
 * however it is read; and streams worked by hand.
 */
#include "replay/replay.h"
#include "tests/unit/test_profile_support.h"
#include "tests/next_run.h"

struct stream {
    struct psnap_access *accesses;
    size_t n;
};

/* All of a replay, read in blocks of `block` accesses. */
static struct stream replay(const struct psnap_profile *profile, uint64_t seed, size_t block)
{
    struct psnap_source *source = psnap_replay_new(profile, seed, NULL);
    struct psnap_profile_totals totals;
    struct stream stream = {0};
    ssize_t got;

    assert_non_null(source);
    psnap_profile_totals(profile, &totals);
    stream.accesses = calloc(totals.accesses + block + 1, sizeof *stream.accesses);
    while ((got = psnap_source_next(source, stream.accesses + stream.n, block, NULL)) > 0) {
        stream.n += (size_t)got;
        assert_true(stream.n <= totals.accesses);
    }
    assert_int_equal(got, 0);
    assert_int_equal(stream.n, totals.accesses);
    psnap_source_free(source);
    return stream;
}

/* A profile of a random stream: `wild` ones jump often and over gigabytes. */
static struct psnap_profile *random_profile(struct psnap_rng *rng, bool wild)
{
    enum { N = 30000, LOOPS = 4, REFS = 5 };
    struct psnap_program *program = make_program(LOOPS, REFS);
    struct psnap_access *accesses = calloc(N, sizeof *accesses);
    struct psnap_profile *profile;
    uint64_t at[LOOPS * REFS] = {0};

    for (size_t i = 0; i < N; i++) {
        uint32_t loop = (uint32_t)(i / 7 % 3 + (i > N / 2));
        uint32_t ref = loop * REFS + (uint32_t)psnap_rng_below(rng, REFS);
        uint64_t step = 1 + psnap_rng_below(rng, wild ? 1000 : 40);
        if (!at[ref] || psnap_rng_below(rng, wild ? 10 : 500) == 0)
            at[ref] = HEAP + psnap_rng_below(rng, wild ? UINT64_C(1) << 32 : 1 << 16);
        at[ref] += psnap_rng_below(rng, 4) ? step : -step;
        accesses[i] = (struct psnap_access){at[ref], ref, (uint8_t)(1 + psnap_rng_below(rng, 64)),
                                            (uint8_t)psnap_rng_below(rng, 3), 0};
    }
    profile = build(program, accesses, N, NULL);
    psnap_program_free(program);
    free(accesses);
    return profile;
}

struct counted {
    uint64_t kinds[3], sizes[65];
};

/* Counts the stream by region, checking addresses on the way, and compares. */
static void assert_exact(const struct psnap_profile *profile, const struct stream *stream)
{
    struct psnap_source *source = psnap_replay_new(profile, 0, NULL);
    const struct psnap_program *program = source->program;
    const struct psnap_profile_region **of_ref =
        calloc(program->ref_count + 1, sizeof(struct psnap_profile_region *));
    struct counted *counted = calloc(program->ref_count + 1, sizeof *counted);
    uint32_t ref = 0;

    assert_int_equal(program->loop_count, profile->loop_count);
    assert_int_equal(program->block_count, profile->loop_count);
    for (uint32_t l = 0; l < profile->loop_count; l++)
        for (uint32_t i = 0; i < profile->loops[l].region_count; i++)
            for (unsigned kind = 0; kind < 3; kind++)
                if (profile->loops[l].regions[i].kinds[kind]) {
                    assert_int_equal(program->refs[ref].loop, l);
                    assert_int_equal(program->refs[ref].kind, kind);
                    of_ref[ref++] = &profile->loops[l].regions[i];
                }
    assert_int_equal(ref, program->ref_count);
    for (size_t i = 0; i < stream->n; i++) {
        const struct psnap_access *access = &stream->accesses[i];
        const struct psnap_profile_region *region;
        assert_true(access->ref < program->ref_count);
        region = of_ref[access->ref];
        assert_int_equal(access->kind, program->refs[access->ref].kind);
        assert_true(access->address >= region->low);
        assert_true(access->address - region->low + access->size <= region->bytes);
        counted[access->ref].kinds[access->kind]++;
        counted[access->ref].sizes[access->size]++;
    }
    for (uint32_t i = 0; i < program->ref_count;) {
        const struct psnap_profile_region *region = of_ref[i];
        struct counted sum = {{0}, {0}};
        for (; i < program->ref_count && of_ref[i] == region; i++) {
            for (unsigned kind = 0; kind < 3; kind++)
                sum.kinds[kind] += counted[i].kinds[kind];
            for (unsigned size = 0; size < 65; size++)
                sum.sizes[size] += counted[i].sizes[size];
        }
        assert_memory_equal(sum.kinds, region->kinds, sizeof sum.kinds);
        for (unsigned s = 0; s < region->size_count; s++) {
            assert_int_equal(sum.sizes[region->sizes[s].size], region->sizes[s].count);
            sum.sizes[region->sizes[s].size] = 0;
        }
        for (unsigned size = 0; size < 65; size++)
            assert_int_equal(sum.sizes[size], 0);
    }
    psnap_source_free(source);
    free(of_ref);
    free(counted);
}

TEST(test_counts_are_exact)
{
    struct psnap_rng rng;

    psnap_rng_init(&rng, 11);
    for (unsigned round = 0; round < 12; round++) {
        struct psnap_profile *profile = random_profile(&rng, round % 2);
        struct stream stream = replay(profile, round, 4096);
        assert_exact(profile, &stream);
        free(stream.accesses);
        psnap_profile_free(profile);
    }
}

/* All of a replay as runs and what is between them, written out one by one. */
static size_t replay_runs(const struct psnap_profile *profile, uint64_t seed,
                          struct psnap_access *to, size_t room)
{
    struct psnap_source *source = psnap_replay_new(profile, seed, NULL);
    struct psnap_run run = {.count = 0};
    size_t n = 0;
    ssize_t got;

    assert_non_null(source);
    while ((got = next_run(source, to + n, room - n < 50 ? room - n : 50, &run, NULL)) > 0 ||
           run.count) {
        n += (size_t)got;
        for (uint64_t i = 0; i < run.count; i++)
            for (size_t k = 0; k < run.width; k++) {
                assert_true(n < room);
                to[n] = run.first[k];
                to[n++].address = psnap_run_address(&run, i, k);
            }
        run.count = 0;
    }
    assert_int_equal(got, 0);
    psnap_source_free(source);
    return n;
}

/* Walks, some of whose addresses are drawn: the same accesses, as runs and in blocks of any size.
 */
TEST(test_nests_are_their_runs)
{
    enum { ROWS = 400, WIDTH = 3 };
    static const size_t blocks[] = {4096, 512, 37, 1};
    struct psnap_builder_options nests = {.nests = true};
    struct psnap_program *program = make_program(2, WIDTH);
    struct psnap_access *accesses = calloc(ROWS * 80 * WIDTH, sizeof *accesses), *by_runs;
    struct psnap_profile *profile;
    struct psnap_rng rng;
    size_t n = 0, count;

    psnap_rng_init(&rng, 13);
    for (uint64_t i = 0; i < ROWS; i++)
        for (uint64_t j = 0; j < 60 + i % 3; j++) {
            const uint64_t drawn = psnap_rng_below(&rng, 100000) * 8;
            accesses[n++] = (struct psnap_access){HEAP + 8 * j + 512 * i, 0, 8, PSNAP_LOAD, 0};
            accesses[n++] = (struct psnap_access){HEAP + (1 << 24) + drawn, 1, 8, PSNAP_LOAD, 0};
            accesses[n++] = (struct psnap_access){HEAP + (1 << 26) + 16 * j, 2, 4, PSNAP_STORE, 0};
        }
    profile = build(program, accesses, n, &nests);
    assert_non_null(profile->stream);
    by_runs = calloc(n + 1, sizeof *by_runs);
    count = replay_runs(profile, 5, by_runs, n + 1);
    assert_int_equal(count, n);
    for (unsigned b = 0; b < sizeof blocks / sizeof *blocks; b++) {
        struct stream stream = replay(profile, 5, blocks[b]);
        assert_memory_equal(stream.accesses, by_runs, n * sizeof *by_runs);
        free(stream.accesses);
    }
    free(by_runs);
    free(accesses);
    psnap_profile_free(profile);
    psnap_program_free(program);
}

TEST(test_same_seed_same_stream)
{
    struct psnap_rng rng;
    struct psnap_profile *profile;
    struct stream first, again, other;

    psnap_rng_init(&rng, 12);
    profile = random_profile(&rng, true);
    first = replay(profile, 42, 4096);
    again = replay(profile, 42, 17); /* the reader's blocks do not matter */
    other = replay(profile, 43, 4096);
    assert_memory_equal(first.accesses, again.accesses, first.n * sizeof *first.accesses);
    assert_memory_not_equal(first.accesses, other.accesses, first.n * sizeof *first.accesses);
    free(first.accesses);
    free(again.accesses);
    free(other.accesses);
    psnap_profile_free(profile);
}

static const char by_hand[] = "psnap: 1\n"
                              "capture: {model: psnap}\n"
                              "schedule: [{repeat: 2, of: [outer, {repeat: 2, of: [inner]}]}]\n"
                              "loops:\n"
                              "- id: inner\n"
                              "  pattern: [{repeat: 4, of: [x, y]}]\n"
                              "  regions:\n"
                              "  - id: x\n"
                              "    working_set: {bytes: 24, group: heap, offset: 0}\n"
                              "    accesses: 4\n"
                              "    loads: 4\n"
                              "    sizes: {8: 4}\n"
                              "    strides: {8: 3}\n"
                              "  - id: y\n"
                              "    working_set: {bytes: 32, group: heap, offset: 4096}\n"
                              "    accesses: 5\n"
                              "    loads: 4\n"
                              "    stores: 1\n"
                              "    sizes: {4: 5}\n"
                              "    strides: {-4: 4}\n"
                              "- id: outer\n"
                              "  regions:\n"
                              "  - id: z\n"
                              "    working_set: {bytes: 16, group: heap, offset: 8192}\n"
                              "    accesses: 3\n"
                              "    stores: 3\n"
                              "    sizes: {8: 3}\n"
                              "    strides: {-8: 1, 8: 1}\n"
                              "    stride_graph: {8: {-8: 1}}\n";

TEST(test_by_hand)
{
    /* outer's 3 accesses over 2 visits: 1, 2; inner's 9 over 4: 2, 2, 2, 3 */
    static const struct {
        uint64_t offset;
        unsigned size, kind;
    } wanted[] = {
        {8192, 8, PSNAP_STORE},     {0, 8, PSNAP_LOAD},         {4096 + 28, 4, PSNAP_LOAD},
        {8, 8, PSNAP_LOAD},         {4096 + 24, 4, PSNAP_LOAD}, {8192 + 8, 8, PSNAP_STORE},
        {8192, 8, PSNAP_STORE},     {16, 8, PSNAP_LOAD},        {4096 + 20, 4, PSNAP_STORE},
        {0, 8, PSNAP_LOAD}, /* past the end of x: from its low end again */
        {4096 + 16, 4, PSNAP_LOAD}, {4096 + 12, 4, PSNAP_LOAD},
    };
    struct psnap_profile *profile = read_text(by_hand);
    struct stream stream = replay(profile, 0, 4096);

    assert_int_equal(stream.n, 12);
    for (size_t i = 0; i < 12; i++) {
        if (stream.accesses[i].address != HEAP + wanted[i].offset ||
            stream.accesses[i].size != wanted[i].size || stream.accesses[i].kind != wanted[i].kind)
            fail_msg("access %zu: offset %llu size %u kind %u", i,
                     (unsigned long long)(stream.accesses[i].address - HEAP),
                     stream.accesses[i].size, stream.accesses[i].kind);
    }
    free(stream.accesses);
    psnap_profile_free(profile);
}

/* A regular stream survives profile and replay access by access. */
TEST(test_regular_streams_are_reproduced)
{
    enum { N = 3 * 4000 };
    struct psnap_program *program = psnap_program_new();
    struct psnap_access *accesses = calloc(N, sizeof *accesses);
    struct psnap_sink *builder;
    struct psnap_profile *profile;
    struct stream stream;

    assert_int_equal(psnap_program_add_anonymous(program, "triad"), PSNAP_OK);
    for (uint64_t i = 0; i < N; i += 3) {
        accesses[i] = (struct psnap_access){HEAP + 8 * i, 0, 8, PSNAP_LOAD, 0};
        accesses[i + 1] = (struct psnap_access){HEAP + (1 << 22) - 4 * i, 0, 4, PSNAP_LOAD, 0};
        accesses[i + 2] = (struct psnap_access){2 * HEAP + 8 * (i / 3), 1, 8, PSNAP_STORE, 0};
    }
    builder = psnap_profile_builder_new(program, NULL, NULL);
    psnap_sink_put(builder, accesses, N, NULL);
    psnap_sink_finish(builder, NULL);
    profile = psnap_profile_builder_take(builder, NULL);
    stream = replay(profile, 0, 4096);
    for (size_t i = 0; i < N; i++) {
        /* strides of 24 and -12 are of the bins 32 and -16: only the third array is exact */
        if (stream.accesses[i].size != accesses[i].size)
            fail_msg("at %zu", i);
        assert_int_equal(stream.accesses[i].kind, accesses[i].kind);
        assert_int_equal(stream.accesses[i].size, accesses[i].size);
        if (i % 3 == 2)
            assert_int_equal(stream.accesses[i].address, accesses[i].address);
    }
    free(stream.accesses);
    psnap_profile_free(profile);
    psnap_sink_free(builder);
    psnap_program_free(program);
    free(accesses);
}

/* A region that is done leaves its slots to the next one that the pattern buffer lacks. */
TEST(test_pattern_that_lacks_regions)
{
    static const char text[] = "psnap: 1\n"
                               "capture: {model: psnap}\n"
                               "schedule: [f]\n"
                               "loops:\n"
                               "- id: f\n"
                               "  pattern: [{repeat: 3, of: [x, y]}]\n"
                               "  regions:\n"
                               "  - id: x\n"
                               "    working_set: {bytes: 8, group: heap, offset: 0}\n"
                               "    accesses: 10\n"
                               "    loads: 10\n"
                               "    sizes: {8: 10}\n"
                               "    strides: {0: 9}\n"
                               "  - id: y\n"
                               "    working_set: {bytes: 8, group: heap, offset: 4096}\n"
                               "    accesses: 1000\n"
                               "    loads: 1000\n"
                               "    sizes: {8: 1000}\n"
                               "    strides: {0: 999}\n"
                               "  - id: z\n"
                               "    working_set: {bytes: 8, group: heap, offset: 8192}\n"
                               "    accesses: 100000\n"
                               "    loads: 100000\n"
                               "    sizes: {8: 100000}\n"
                               "    strides: {0: 99999}\n";
    struct psnap_profile *profile = read_text(text);
    struct stream stream = replay(profile, 0, 4096);

    assert_exact(profile, &stream);
    for (size_t i = 0; i < stream.n; i++) {
        /* x and y take turns until x is done, then z and y, then z is alone */
        uint64_t wanted = i >= 2000 ? 2 : i % 2 == 1 ? 1 : i < 20 ? 0 : 2;
        assert_int_equal((stream.accesses[i].address - HEAP) / 4096, wanted);
    }
    free(stream.accesses);
    psnap_profile_free(profile);
}

/* Records in no order cover the working set; of walks that take turns, random strides stay near. */
TEST(test_random_strides)
{
    static const char text[] = "psnap: 1\n"
                               "capture: {model: psnap}\n"
                               "schedule: [f, g]\n"
                               "loops:\n"
                               "- id: f\n"
                               "  pattern: [x]\n"
                               "  regions:\n"
                               "  - id: x\n"
                               "    working_set: {bytes: 1048576, group: heap, offset: 0}\n"
                               "    accesses: 10001\n"
                               "    loads: 10001\n"
                               "    sizes: {8: 10001}\n"
                               "    strides: {8: 5000, random: 5000}\n"
                               "    stride_graph: {8: {random: 5000}, random: {8: 4999}}\n"
                               "- id: g\n"
                               "  pattern: [y]\n"
                               "  regions:\n"
                               "  - id: y\n"
                               "    working_set: {bytes: 1048576, group: heap, offset: 0}\n"
                               "    accesses: 3001\n"
                               "    loads: 3001\n"
                               "    sizes: {8: 3001}\n"
                               "    strides: {8: 2000, random: 1000}\n"
                               "    stride_graph: {8: {8: 1000, random: 1000}, random: {8: 999}}\n";
    struct psnap_profile *profile = read_text(text);
    struct stream stream = replay(profile, 0, 4096);
    unsigned seen[16] = {0}, random = 0;

    assert_exact(profile, &stream);
    for (size_t i = 0; i < 10001; i++)
        seen[(stream.accesses[i].address - HEAP) >> 16]++;
    for (unsigned i = 0; i < 16; i++) /* 625 on average, standard deviation 34 */
        assert_in_range(seen[i], 400, 850);
    for (size_t i = 10002; i < stream.n; i++) {
        int64_t stride = (int64_t)(stream.accesses[i].address - stream.accesses[i - 1].address);
        if (stride == 8)
            continue;
        /* a third of the strides: 2^8 times 2^(12 / 27) rounded */
        assert_in_range(llabs(stride), PSNAP_STRIDE_MAX + 8, 2 * PSNAP_STRIDE_MAX);
        random++;
    }
    assert_int_equal(random, 1000);
    free(stream.accesses);
    psnap_profile_free(profile);
}

/* Visits that differ: main has 5 of its 6 accesses before f, and f runs twice between. */
TEST(test_uneven_visits)
{
    static const char text[] = "psnap: 1\n"
                               "capture: {model: psnap}\n"
                               "schedule: [{loop: main, accesses: 5}, {repeat: 2, of: [f]}, "
                               "{loop: main, accesses: 1}]\n"
                               "loops:\n"
                               "- id: main\n"
                               "  regions:\n"
                               "  - id: x\n"
                               "    working_set: {bytes: 8, group: heap, offset: 0}\n"
                               "    accesses: 6\n"
                               "    loads: 6\n"
                               "    sizes: {8: 6}\n"
                               "    strides: {0: 5}\n"
                               "- id: f\n"
                               "  regions:\n"
                               "  - id: x\n"
                               "    working_set: {bytes: 8, group: heap, offset: 0}\n"
                               "    accesses: 2\n"
                               "    stores: 2\n"
                               "    sizes: {8: 2}\n"
                               "    strides: {0: 1}\n";
    static const uint8_t kinds[] = {0, 0, 0, 0, 0, 1, 1, 0};
    struct psnap_profile *profile = read_text(text);
    struct stream stream = replay(profile, 0, 4096);

    assert_int_equal(stream.n, 8);
    for (size_t i = 0; i < 8; i++)
        assert_int_equal(stream.accesses[i].kind, kinds[i]);
    free(stream.accesses);
    psnap_profile_free(profile);
}

/* Profile of a replay of a profile: the same counts, working sets no larger. */
TEST(test_profile_of_replay)
{
    struct psnap_profile *profile = read_text(by_hand), *again;
    struct psnap_source *source = psnap_replay_new(profile, 0, NULL);
    struct psnap_sink *builder = psnap_profile_builder_new(source->program, NULL, NULL);
    struct psnap_profile_totals before, after;

    assert_int_equal(psnap_pump(source, builder, NULL, NULL), PSNAP_OK);
    again = psnap_profile_builder_take(builder, NULL);
    psnap_profile_totals(profile, &before);
    psnap_profile_totals(again, &after);
    assert_memory_equal(&before, &after, sizeof before);
    assert_int_equal(again->loop_count, 2);
    assert_string_equal(again->loops[0].id, "inner");
    assert_int_equal(again->loops[0].regions[0].bytes, 24);
    assert_int_equal(again->schedule.count, 3); /* twice (outer, inner): its visits join */
    psnap_profile_free(profile);
    psnap_profile_free(again);
    psnap_sink_free(builder);
    psnap_source_free(source);
}
