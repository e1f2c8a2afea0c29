/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Replay: accesses per loop, region, kind and size exactly as in the profile;
 * addresses inside the working sets; the same stream for the same seed and
 * however it is read; and streams worked by hand.
 */
#include "tests/unit/test_model_support.h"

static struct stream replayed, again;

/* All of a replay, read in blocks of up to `block` accesses. */
static const struct stream *replay(const struct psnap_profile *profile, uint64_t seed, size_t block)
{
    struct psnap_profile_totals totals;

    read_all(psnap_replay_new(profile, seed, NULL), &replayed, block, NULL);
    psnap_profile_totals(profile, &totals);
    assert_int_equal(replayed.count, totals.accesses);
    return &replayed;
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
    for (size_t i = 0; i < stream->count; i++) {
        const struct psnap_access *access = &stream->of[i];
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

TEST(counts_are_exact)
{
    struct psnap_rng rng;

    psnap_rng_init(&rng, 11);
    for (unsigned round = 0; round < 12; round++) {
        struct psnap_profile *profile = random_profile(&rng, round % 2);
        assert_exact(profile, replay(profile, round, 4096));
        psnap_profile_free(profile);
    }
}

/* Walks, some of whose addresses are drawn: the same accesses, as runs and in blocks of any size.
 */
TEST(nests_are_their_runs)
{
    enum { ROWS = 400, WIDTH = 3 };
    static const size_t blocks[] = {4096, 512, 37, 1};
    static struct stream recorded;
    const struct psnap_builder_options nests = {.nests = true};
    struct psnap_program *program = make_program(2, WIDTH);
    struct psnap_profile *profile;
    struct psnap_rng rng;

    psnap_rng_init(&rng, 13);
    recorded.count = 0;
    for (uint64_t i = 0; i < ROWS; i++)
        for (uint64_t j = 0; j < 60 + i % 3; j++) {
            const uint64_t drawn = psnap_rng_below(&rng, 100000) * 8;
            const uint64_t at[WIDTH] = {8 * j + 512 * i, (1 << 24) + drawn, (1 << 26) + 16 * j};
            for (uint32_t k = 0; k < WIDTH; k++)
                add_access(&recorded, (struct psnap_access){HEAP + at[k], k, 8, k == 2, 0});
        }
    profile = build(program, recorded.of, recorded.count, &nests);
    assert_non_null(profile->stream);
    read_all(psnap_replay_new(profile, 5, NULL), &again, 50, &rng);
    assert_int_equal(again.count, recorded.count);
    for (unsigned b = 0; b < COUNT(blocks); b++)
        assert_same_stream(replay(profile, 5, blocks[b]), &again, b);
    psnap_profile_free(profile);
    psnap_program_free(program);
}

TEST(same_seed_same_stream)
{
    struct psnap_rng rng;
    struct psnap_profile *profile;

    psnap_rng_init(&rng, 12);
    profile = random_profile(&rng, true);
    read_all(psnap_replay_new(profile, 42, NULL), &again, 17, NULL);
    assert_same_stream(replay(profile, 42, 4096), &again, 42);
    replay(profile, 43, 4096);
    assert_memory_not_equal(replayed.of, again.of, again.count * sizeof *again.of);
    psnap_profile_free(profile);
}

/* ---- by hand ---- */

#define PROFILE "psnap: 1\ncapture: {model: psnap}\n"
/* `accesses` loads or stores of 8 bytes in a working set of the heap, and more of them. */
#define REGION(id, bytes, offset, accesses, kind, more)                                            \
    "  - {id: " id ", working_set: {bytes: " bytes ", group: heap, offset: " offset "},\n"         \
    "     accesses: " accesses ", " kind ": " accesses ", sizes: {8: " accesses "}, " more "}\n"

static const char by_hand[] =
    PROFILE "schedule: [{repeat: 2, of: [outer, {repeat: 2, of: [inner]}]}]\n"
            "loops:\n"
            "- id: inner\n"
            "  pattern: [{repeat: 4, of: [x, y]}]\n"
            "  regions:\n" REGION(
                "x", "24", "0", "4", "loads",
                "strides: {8: 3}") "  - {id: y, working_set: {bytes: 32, group: heap, offset: "
                                   "4096}, accesses: 5,\n"
                                   "     loads: 4, stores: 1, sizes: {4: 5}, strides: {-4: 4}}\n"
                                   "- id: outer\n"
                                   "  regions:\n" REGION(
                                       "z", "16", "8192", "3", "stores",
                                       "strides: {-8: 1, 8: 1}, stride_graph: {8: {-8: 1}}");

TEST(streams_by_hand)
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
    const struct stream *stream = replay(profile, 0, 4096);

    assert_int_equal(stream->count, COUNT(wanted));
    for (size_t i = 0; i < COUNT(wanted); i++)
        if (stream->of[i].address != HEAP + wanted[i].offset ||
            stream->of[i].size != wanted[i].size || stream->of[i].kind != wanted[i].kind)
            fail_msg("access %zu: offset %llu size %u kind %u", i,
                     (unsigned long long)(stream->of[i].address - HEAP), stream->of[i].size,
                     stream->of[i].kind);
    psnap_profile_free(profile);
}

/* A regular stream survives profile and replay access by access, but for strides that are of bins:
 * 24 and -12 of 32 and -16. */
TEST(regular_streams_are_reproduced)
{
    enum { N = 3 * 4000 };
    static struct psnap_access accesses[N];
    struct psnap_program *program = psnap_program_new();
    struct psnap_profile *profile;
    const struct stream *stream;

    assert_int_equal(psnap_program_add_anonymous(program, "triad"), PSNAP_OK);
    for (uint64_t i = 0; i < N; i += 3) {
        accesses[i] = (struct psnap_access){HEAP + 8 * i, 0, 8, PSNAP_LOAD, 0};
        accesses[i + 1] = (struct psnap_access){HEAP + (1 << 22) - 4 * i, 0, 4, PSNAP_LOAD, 0};
        accesses[i + 2] = (struct psnap_access){2 * HEAP + 8 * (i / 3), 1, 8, PSNAP_STORE, 0};
    }
    profile = build(program, accesses, N, NULL);
    stream = replay(profile, 0, 4096);
    for (size_t i = 0; i < N; i++) {
        assert_int_equal(stream->of[i].kind, accesses[i].kind);
        assert_int_equal(stream->of[i].size, accesses[i].size);
        if (i % 3 == 2)
            assert_int_equal(stream->of[i].address, accesses[i].address);
    }
    psnap_profile_free(profile);
    psnap_program_free(program);
}

/* A region that is done leaves its slots to the next one that the pattern buffer lacks: x and y
 * take turns until x is done, then z and y, then z is alone. */
TEST(patterns_may_lack_regions)
{
    struct psnap_profile *profile = read_text(
        PROFILE "schedule: [f]\n"
                "loops:\n"
                "- id: f\n"
                "  pattern: [{repeat: 3, of: [x, y]}]\n"
                "  regions:\n" REGION("x", "8", "0", "10", "loads", "strides: {0: 9}")
                    REGION("y", "8", "4096", "1000", "loads", "strides: {0: 999}")
                        REGION("z", "8", "8192", "100000", "loads", "strides: {0: 99999}"));
    const struct stream *stream = replay(profile, 0, 4096);

    assert_exact(profile, stream);
    for (size_t i = 0; i < stream->count; i++)
        assert_int_equal((stream->of[i].address - HEAP) / 4096, i >= 2000    ? 2
                                                                : i % 2 == 1 ? 1
                                                                : i < 20     ? 0
                                                                             : 2);
    psnap_profile_free(profile);
}

/* Records in no order cover the working set; of walks that take turns, random strides stay near. */
TEST(random_strides)
{
    struct psnap_profile *profile = read_text(
        PROFILE
        "schedule: [f, g]\n"
        "loops:\n"
        "- id: f\n"
        "  pattern: [x]\n"
        "  regions:\n" REGION(
            "x", "1048576", "0", "10001", "loads",
            "strides: {8: 5000, random: 5000}, stride_graph: {8: "
            "{random: 5000}, random: {8: 4999}}") "- id: g\n"
                                                  "  pattern: [y]\n"
                                                  "  regions:\n" REGION(
                                                      "y", "1048576", "0", "3001", "loads",
                                                      "strides: {8: 2000, random: 1000}, "
                                                      "stride_graph: {8: {8: "
                                                      "1000, random: 1000}, random: {8: 999}}"));
    const struct stream *stream = replay(profile, 0, 4096);
    unsigned seen[16] = {0}, random = 0;

    assert_exact(profile, stream);
    for (size_t i = 0; i < 10001; i++)
        seen[(stream->of[i].address - HEAP) >> 16]++;
    for (unsigned i = 0; i < 16; i++) /* 625 on average, standard deviation 34 */
        assert_in_range(seen[i], 400, 850);
    for (size_t i = 10002; i < stream->count; i++) {
        const int64_t stride = (int64_t)(stream->of[i].address - stream->of[i - 1].address);
        if (stride == 8)
            continue;
        /* a third of the strides: 2^8 times 2^(12 / 27) rounded */
        assert_in_range(llabs(stride), PSNAP_STRIDE_MAX + 8, 2 * PSNAP_STRIDE_MAX);
        random++;
    }
    assert_int_equal(random, 1000);
    psnap_profile_free(profile);
}

/* Visits that differ: main has 5 of its 6 accesses before f, and f runs twice between. */
TEST(uneven_visits)
{
    static const uint8_t kinds[] = {0, 0, 0, 0, 0, 1, 1, 0};
    struct psnap_profile *profile = read_text(
        PROFILE
        "schedule: [{loop: main, accesses: 5}, {repeat: 2, of: [f]}, "
        "{loop: main, accesses: 1}]\n"
        "loops:\n"
        "- id: main\n"
        "  regions:\n" REGION("x", "8", "0", "6", "loads",
                              "strides: {0: 5}") "- id: f\n"
                                                 "  regions:\n" REGION("x", "8", "0", "2", "stores",
                                                                       "strides: {0: 1}"));
    const struct stream *stream = replay(profile, 0, 4096);

    assert_int_equal(stream->count, COUNT(kinds));
    for (size_t i = 0; i < COUNT(kinds); i++)
        assert_int_equal(stream->of[i].kind, kinds[i]);
    psnap_profile_free(profile);
}
