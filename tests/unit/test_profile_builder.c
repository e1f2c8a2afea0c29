/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The builder against the paper's rule written down naively: every region of
 * the loop is looked at for every access. Regions, working sets, strides, graph,
 * sizes and kinds must be equal on random streams; then hand-worked cases.
 */
#include "tests/unit/test_profile_support.h"

struct naive_region {
    uint64_t low, high, last_byte, previous, accesses, kinds[3], sizes[65];
    uint64_t strides[PSNAP_STRIDE_BINS], edges[PSNAP_STRIDE_BINS][PSNAP_STRIDE_BINS];
    int bin;
};

struct naive_loop {
    struct naive_region regions[4096];
    uint32_t count;
};

static uint64_t distance(const struct naive_region *region, uint64_t address)
{
    return address < region->low    ? region->low - address
           : address > region->high ? address - region->high
                                    : 0;
}

static unsigned naive_bin(int64_t stride)
{
    static const int64_t limits[] = {1, 2, 4, 8, 16, 32, 64, 128, 256};
    int64_t length = stride < 0 ? -stride : stride;

    if (stride == 0)
        return PSNAP_STRIDE_ZERO;
    for (unsigned i = 0; i < 9; i++)
        if (length <= limits[i])
            return stride > 0 ? PSNAP_STRIDE_ZERO + 1 + i : PSNAP_STRIDE_ZERO - 1 - i;
    return PSNAP_STRIDE_RANDOM;
}

static void naive_put(struct naive_loop *loop, const struct psnap_access *access, uint64_t gap)
{
    struct naive_region *best = NULL;

    for (uint32_t i = 0; i < loop->count; i++) {
        struct naive_region *region = &loop->regions[i];
        uint64_t d = distance(region, access->address);
        if (d > gap)
            continue;
        if (!best || d < distance(best, access->address) ||
            (d == distance(best, access->address) && region->low < best->low))
            best = region;
    }
    if (!best) {
        assert_true(loop->count < 4096);
        best = &loop->regions[loop->count++];
        best->low = best->high = access->address;
        best->bin = -1;
    } else {
        unsigned bin = naive_bin((int64_t)(access->address - best->previous));
        best->strides[bin]++;
        if (best->bin >= 0)
            best->edges[best->bin][bin]++;
        best->bin = (int)bin;
    }
    best->previous = access->address;
    best->low = access->address < best->low ? access->address : best->low;
    best->high = access->address > best->high ? access->address : best->high;
    if (access->address + access->size - 1 > best->last_byte)
        best->last_byte = access->address + access->size - 1;
    best->accesses++;
    best->kinds[access->kind]++;
    best->sizes[access->size]++;
}

static void assert_same_region(const struct psnap_profile_region *got,
                               const struct naive_region *want)
{
    uint64_t strides[PSNAP_STRIDE_BINS] = {0}, sizes[65] = {0};
    uint64_t edges[PSNAP_STRIDE_BINS][PSNAP_STRIDE_BINS] = {{0}};

    assert_int_equal(got->low, want->low);
    assert_int_equal(got->bytes, want->last_byte - want->low + 1);
    assert_int_equal(got->accesses, want->accesses);
    assert_memory_equal(got->kinds, want->kinds, sizeof want->kinds);
    for (unsigned i = 0; i < got->size_count; i++)
        sizes[got->sizes[i].size] = got->sizes[i].count;
    assert_memory_equal(sizes, want->sizes, sizeof sizes);
    for (unsigned i = 0; i < got->stride_count; i++)
        strides[got->strides[i].bin] = got->strides[i].count;
    assert_memory_equal(strides, want->strides, sizeof strides);
    for (unsigned i = 0; i < got->edge_count; i++)
        edges[got->edges[i].from][got->edges[i].to] = got->edges[i].count;
    assert_memory_equal(edges, want->edges, sizeof edges);
}

TEST(test_against_naive)
{
    enum { N = 4000, LOOPS = 2, REFS = 5 };
    static const uint64_t gaps[] = {1, 7, 64, 256, 1000};
    struct psnap_access *accesses = calloc(N, sizeof *accesses);
    struct naive_loop *naive = malloc(LOOPS * sizeof *naive);
    struct psnap_rng rng;

    psnap_rng_init(&rng, 1);
    for (unsigned round = 0; round < 60; round++) {
        struct psnap_builder_options options = {.region_gap_bytes = gaps[round % 5],
                                                .region_limit = PSNAP_REGION_LIMIT_MAX};
        struct psnap_program *program = make_program(LOOPS, REFS);
        struct psnap_profile *profile;
        random_stream(&rng, accesses, N, LOOPS * REFS, UINT64_C(300) << (round % 12));
        for (size_t i = 0; i < N && round % 2; i++) /* all threads are one stream */
            accesses[i].thread = (uint16_t)psnap_rng_below(&rng, 70);
        memset(naive, 0, LOOPS * sizeof *naive);
        for (size_t i = 0; i < N; i++)
            naive_put(&naive[accesses[i].ref / REFS], &accesses[i], gaps[round % 5]);
        profile = build(program, accesses, N, &options);
        assert_int_equal(profile->loop_count, LOOPS);
        for (unsigned l = 0; l < LOOPS; l++) {
            assert_int_equal(profile->loops[l].region_count, naive[l].count);
            for (uint32_t i = 0; i < naive[l].count; i++)
                assert_same_region(&profile->loops[l].regions[i], &naive[l].regions[i]);
        }
        psnap_profile_free(profile);
        psnap_program_free(program);
    }
    free(naive);
    free(accesses);
}

/* The ends of the address space, where sums wrap. */
TEST(test_extreme_addresses)
{
    struct psnap_program *program = make_program(1, 1);
    const struct psnap_access accesses[] = {
        {.address = 0, .size = 8},
        {.address = UINT64_MAX, .size = 1},
        {.address = UINT64_MAX - 7, .size = 8},
        {.address = 100, .size = 4},
        {.address = UINT64_MAX - 256, .size = 4},
    };
    const struct psnap_access beyond = {.address = UINT64_MAX - 3, .size = 8};
    const int64_t stride = 8;
    const struct psnap_run run = {
        .first = &accesses[2], .strides = &stride, .width = 1, .count = 2};
    struct psnap_profile *profile = build(program, accesses, 5, NULL);
    const struct psnap_profile_loop *loop = &profile->loops[0];

    assert_int_equal(loop->region_count, 2);
    assert_int_equal(loop->regions[0].low, 0);
    assert_int_equal(loop->regions[0].bytes, 104);
    assert_int_equal(loop->regions[1].low, UINT64_MAX - 256);
    assert_int_equal(loop->regions[1].bytes, 257);
    psnap_profile_free(profile);
    for (unsigned i = 0; i < 2; i++) { /* what no region could hold */
        struct psnap_sink *builder = psnap_profile_builder_new(program, NULL, NULL);
        struct psnap_error error;
        assert_int_equal(psnap_sink_put(builder, accesses, 5, NULL), PSNAP_OK);
        assert_int_equal(i ? psnap_sink_put(builder, &beyond, 1, &error)
                           : psnap_sink_put_run(builder, &run, &error),
                         i ? PSNAP_ERROR_VALUE : PSNAP_OK);
        assert_true(!i || strstr(error.message, "beyond the end of the address space"));
        psnap_sink_free(builder);
    }
    psnap_program_free(program);
}

/*
 * Worked by hand: for (i = 0; i < 4; i++) b[i] += a[2 * i], 8-byte elements,
 * then one access in another loop, and the first loop again from the start.
 */
TEST(test_by_hand)
{
    struct psnap_program *program = make_program(2, 3);
    struct psnap_access accesses[25];
    struct psnap_profile *profile;
    const struct psnap_profile_region *a, *b;
    const struct psnap_profile_loop *loop;
    unsigned n = 0, first, last;

    for (unsigned entry = 0; entry < 2; entry++) {
        for (uint64_t i = 0; i < 4; i++) {
            accesses[n++] = (struct psnap_access){HEAP + 16 * i, 0, 8, PSNAP_LOAD, 0};
            accesses[n++] = (struct psnap_access){HEAP + 4096 + 8 * i, 1, 8, PSNAP_LOAD, 0};
            accesses[n++] = (struct psnap_access){HEAP + 4096 + 8 * i, 2, 8, PSNAP_STORE, 0};
        }
        if (entry == 0)
            accesses[n++] = (struct psnap_access){HEAP + 64, 3, 4, PSNAP_STORE, 0};
    }
    profile = build(program, accesses, n, NULL);
    loop = &profile->loops[0];
    assert_int_equal(loop->accesses, 24);
    assert_int_equal(loop->region_count, 2);
    a = &loop->regions[0];
    b = &loop->regions[1];

    /* a: 0 16 32 48 | 0 16 32 48: +16 three times, -48, +16 three times */
    assert_int_equal(a->low, HEAP);
    assert_int_equal(a->bytes, 56);
    assert_int_equal(a->accesses, 8);
    assert_int_equal(a->kinds[PSNAP_LOAD], 8);
    assert_int_equal(a->stride_count, 2);
    assert_int_equal(a->strides[0].bin, psnap_stride_bin(-48));
    assert_string_equal(psnap_stride_label(a->strides[0].bin), "-64");
    assert_int_equal(a->strides[0].count, 1);
    assert_string_equal(psnap_stride_label(a->strides[1].bin), "16");
    assert_int_equal(a->strides[1].count, 6);
    assert_int_equal(a->edge_count, 3); /* -64>16 1, 16>-64 1, 16>16 4 */
    assert_int_equal(a->edges[2].count, 4);
    assert_true(psnap_region_ends(a, &first, &last));
    assert_string_equal(psnap_stride_label(first), "16");
    assert_string_equal(psnap_stride_label(last), "16");

    /* b: 0 0 8 8 16 16 24 24 | again: 0 8 times, +8 six times, -24 once */
    assert_int_equal(b->bytes, 32);
    assert_int_equal(b->kinds[PSNAP_LOAD], 8);
    assert_int_equal(b->kinds[PSNAP_STORE], 8);
    assert_int_equal(b->stride_count, 3);
    assert_int_equal(b->strides[0].count, 1);
    assert_int_equal(b->strides[1].count, 8);
    assert_int_equal(b->strides[2].count, 6);

    /* the order of regions is a b b eight times; of loops: first, second, first */
    assert_int_equal(loop->pattern.count, 4);
    assert_int_equal(loop->pattern.items[0].repeat, 8);
    assert_int_equal(loop->pattern.items[0].span, 3);
    assert_int_equal(profile->schedule.count, 3);
    assert_int_equal(profile->schedule.items[0].what, 0);
    assert_int_equal(profile->schedule.items[1].what, 1);
    assert_int_equal(profile->schedule.items[2].what, 0);
    psnap_profile_free(profile);
    psnap_program_free(program);
}

/* What has the same edges in each iteration is not gone through; in any other run it is. */
TEST(test_long_run)
{
    const uint64_t many = UINT64_C(1) << 40;
    const struct psnap_access first[] = {{HEAP, 0, 8, PSNAP_LOAD, 0},
                                         {HEAP + 8, 1, 8, PSNAP_STORE, 0},
                                         {HEAP + (UINT64_C(1) << 44), 2, 8, PSNAP_LOAD, 0}};
    const int64_t strides[] = {16, 16, 0};
    const struct psnap_run run = {.first = first, .strides = strides, .width = 3, .count = many};
    struct psnap_program *program = make_program(1, 3);
    struct psnap_sink *builder = psnap_profile_builder_new(program, NULL, NULL);
    struct psnap_profile *profile;
    const struct psnap_profile_region *regions;

    assert_int_equal(psnap_sink_put_run(builder, &run, NULL), PSNAP_OK);
    profile = end_profile(builder);
    regions = profile->loops[0].regions;
    assert_int_equal(profile->loops[0].region_count, 2);
    assert_true(regions[0].accesses == 2 * many && regions[1].accesses == many);
    assert_true(regions[0].bytes == 16 * many && regions[1].bytes == 8);
    assert_int_equal(regions[0].stride_count, 1); /* 8 bytes, all of them */
    assert_true(regions[0].strides[0].count == 2 * many - 1);
    assert_true(regions[1].strides[0].count == many - 1);
    psnap_profile_free(profile);
    psnap_program_free(program);
}
