/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The builder against the paper's rule written down naively: every region of
 * the loop is looked at for every access. Regions, working sets, strides, graph,
 * sizes and kinds must be equal on random streams; then hand-worked cases, and
 * what must hold after merging.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/layout.h"
#include "formats/base/rng.h"
#include "profile/profile.h"

#define HEAP ((uint64_t)PSNAP_GROUP_HEAP * PSNAP_LAYOUT_WINDOW)

/* A program of `loops` loops with `refs` references each: ref = loop * refs + i. */
static struct psnap_program *make_program(uint32_t loops, uint32_t refs)
{
    struct psnap_program *program = psnap_program_new();

    assert_non_null(program);
    for (uint32_t l = 0; l < loops; l++) {
        char name[16];
        struct psnap_loop loop = {.file = "f.c", .depth = 1, .parent = PSNAP_NONE};
        struct psnap_block block = {.loop = l};
        snprintf(name, sizeof name, "f:%u", (unsigned)l);
        loop.id = loop.src_id = psnap_program_string(program, name);
        loop.function = "f";
        loop.header = loop.entry = PSNAP_NONE;
        assert_int_equal(psnap_program_add_loop(program, &loop), l);
        assert_int_equal(psnap_program_add_block(program, &block), l);
        for (uint32_t i = 0; i < refs; i++) {
            struct psnap_ref ref = {.block = l, .loop = l};
            assert_int_equal(psnap_program_add_ref(program, &ref), l * refs + i);
        }
    }
    return program;
}

static struct psnap_profile *build(struct psnap_program *program,
                                   const struct psnap_access *accesses, size_t n,
                                   const struct psnap_builder_options *options)
{
    struct psnap_sink *builder = psnap_profile_builder_new(program, options, NULL);
    struct psnap_profile *profile;

    assert_non_null(builder);
    for (size_t done = 0; done < n;) { /* blocks of changing length */
        size_t length = 1 + done % 777 < n - done ? 1 + done % 777 : n - done;
        assert_int_equal(psnap_sink_put(builder, accesses + done, length, NULL), PSNAP_OK);
        done += length;
    }
    assert_int_equal(psnap_sink_finish(builder, NULL), PSNAP_OK);
    profile = psnap_profile_builder_take(builder, NULL);
    assert_non_null(profile);
    psnap_sink_free(builder);
    return profile;
}

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

/* A stream of walks that jump, at every scale, through `span` bytes. */
static void random_stream(struct psnap_rng *rng, struct psnap_access *accesses, size_t n,
                          uint32_t refs, uint64_t span)
{
    uint64_t at[64] = {0};

    for (size_t i = 0; i < n; i++) {
        uint32_t ref = (uint32_t)psnap_rng_below(rng, refs);
        uint64_t choice = psnap_rng_below(rng, 100), reach = 1 + psnap_rng_below(rng, 700);
        if (choice < 5 || !at[ref])
            at[ref] = HEAP + psnap_rng_below(rng, span);
        else if (choice < 50)
            at[ref] += psnap_rng_below(rng, 32);
        else if (choice < 70)
            at[ref] -= psnap_rng_below(rng, 16);
        else
            at[ref] += psnap_rng_below(rng, 2 * reach) - reach;
        accesses[i] = (struct psnap_access){.address = at[ref],
                                            .ref = ref,
                                            .size = (uint8_t)(1 + psnap_rng_below(rng, 64)),
                                            .kind = (uint8_t)psnap_rng_below(rng, 3)};
    }
}

static void test_against_naive(void **state)
{
    enum { N = 4000, LOOPS = 2, REFS = 5 };
    static const uint64_t gaps[] = {1, 7, 64, 256, 1000};
    struct psnap_access *accesses = calloc(N, sizeof *accesses);
    struct naive_loop *naive = malloc(LOOPS * sizeof *naive);
    struct psnap_rng rng;

    (void)state;
    psnap_rng_init(&rng, 1);
    for (unsigned round = 0; round < 60; round++) {
        struct psnap_builder_options options = {.region_gap_bytes = gaps[round % 5],
                                                .region_limit = PSNAP_REGION_LIMIT_MAX};
        struct psnap_program *program = make_program(LOOPS, REFS);
        struct psnap_profile *profile;
        random_stream(&rng, accesses, N, LOOPS * REFS, UINT64_C(300) << (round % 12));
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
static void test_extreme_addresses(void **state)
{
    struct psnap_program *program = make_program(1, 1);
    const struct psnap_access accesses[] = {
        {.address = 0, .size = 8},
        {.address = UINT64_MAX, .size = 1},
        {.address = UINT64_MAX - 3, .size = 8},
        {.address = 100, .size = 4},
        {.address = UINT64_MAX - 256, .size = 4},
    };
    struct psnap_profile *profile = build(program, accesses, 5, NULL);
    const struct psnap_profile_loop *loop = &profile->loops[0];

    (void)state;
    assert_int_equal(loop->region_count, 2);
    assert_int_equal(loop->regions[0].low, 0);
    assert_int_equal(loop->regions[0].bytes, 104);
    assert_int_equal(loop->regions[1].low, UINT64_MAX - 256);
    assert_int_equal(loop->regions[1].bytes, 257);
    psnap_profile_free(profile);
    psnap_program_free(program);
}

/*
 * Worked by hand: for (i = 0; i < 4; i++) b[i] += a[2 * i], 8-byte elements,
 * then one access in another loop, and the first loop again from the start.
 */
static void test_by_hand(void **state)
{
    struct psnap_program *program = make_program(2, 3);
    struct psnap_access accesses[25];
    struct psnap_profile *profile;
    const struct psnap_profile_region *a, *b;
    const struct psnap_profile_loop *loop;
    unsigned n = 0, first, last;

    (void)state;
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

/* After merging: bounded, disjoint, nothing lost, and strides a path through the accesses. */
static void assert_sound(const struct psnap_profile_loop *loop, uint64_t accesses, uint32_t limit)
{
    uint64_t sum = 0;

    assert_true(loop->region_count <= limit);
    for (uint32_t i = 0; i < loop->region_count; i++) {
        const struct psnap_profile_region *region = &loop->regions[i];
        uint64_t strides = 0;
        unsigned first, last;
        for (unsigned s = 0; s < region->stride_count; s++)
            strides += region->strides[s].count;
        assert_int_equal(strides, region->accesses - 1);
        assert_true(strides == 0 || psnap_region_ends(region, &first, &last));
        assert_int_equal(region->kinds[0] + region->kinds[1] + region->kinds[2], region->accesses);
        for (uint32_t j = 0; j < i; j++) {
            /* by address ranges; the last access may reach into a neighbour by its size */
            const struct psnap_profile_region *other = &loop->regions[j];
            assert_true(region->low + region->bytes <= other->low + PSNAP_ACCESS_SIZE_MAX ||
                        other->low + other->bytes <= region->low + PSNAP_ACCESS_SIZE_MAX);
        }
        sum += region->accesses;
    }
    assert_int_equal(sum, accesses);
    assert_int_equal(loop->accesses, accesses);
}

static void test_gather_becomes_one_region(void **state)
{
    enum { N = 60000 };
    struct psnap_program *program = make_program(1, 3);
    struct psnap_access *accesses = calloc(N, sizeof *accesses);
    struct psnap_profile *profile;
    struct psnap_rng rng;

    (void)state;
    psnap_rng_init(&rng, 2);
    for (uint64_t i = 0; i < N; i += 3) { /* y[i] += x[col[i]], x of 256 MiB */
        accesses[i] = (struct psnap_access){HEAP + i / 3 * 4, 0, 4, PSNAP_LOAD, 0};
        accesses[i + 1] = (struct psnap_access){2 * HEAP + 8 * psnap_rng_below(&rng, 1 << 25), 1, 8,
                                                PSNAP_LOAD, 0};
        accesses[i + 2] = (struct psnap_access){HEAP + (1 << 20) + i / 3 * 8, 2, 8, PSNAP_STORE, 0};
    }
    profile = build(program, accesses, N, NULL);
    assert_sound(&profile->loops[0], N, PSNAP_REGION_LIMIT_DEFAULT);
    assert_true(profile->loops[0].region_count < 8);
    psnap_profile_free(profile);
    psnap_program_free(program);
    free(accesses);
}

/* Two halves of an array that are walked in turn, some accesses of each: one region if the hole
 * between them is small beside both. */
static void test_neighbours_walked_in_turn(void **state)
{
    enum { HALF = 40000, STAY = 30, TURNS = 6000, N = TURNS * STAY };
    static const struct {
        uint64_t hole_bytes;
        uint32_t regions;
    } cases[] = {{2000, 1}, {20000, 2}};
    struct psnap_access *accesses = calloc(N, sizeof *accesses);

    (void)state;
    for (unsigned c = 0; c < 2; c++) {
        struct psnap_program *program = make_program(1, 1);
        struct psnap_profile *profile;
        for (uint64_t i = 0; i < N; i++) {
            const uint64_t turn = i / STAY, half = turn % 2;
            const uint64_t within = (turn / 2 * STAY + i % STAY) * 8 % HALF;
            accesses[i] = (struct psnap_access){HEAP + half * (HALF + cases[c].hole_bytes) + within,
                                                0, 8, PSNAP_LOAD, 0};
        }
        profile = build(program, accesses, N, NULL);
        assert_sound(&profile->loops[0], N, PSNAP_REGION_LIMIT_DEFAULT);
        assert_int_equal(profile->loops[0].region_count, cases[c].regions);
        psnap_profile_free(profile);
        psnap_program_free(program);
    }
    free(accesses);
}

static void test_merging_random_streams(void **state)
{
    enum { N = 100000, REFS = 8 };
    struct psnap_access *accesses = calloc(N, sizeof *accesses);
    struct psnap_rng rng;

    (void)state;
    psnap_rng_init(&rng, 3);
    for (unsigned round = 0; round < 12; round++) {
        struct psnap_program *program = make_program(1, REFS);
        struct psnap_builder_options options = {.region_limit = 2u << (round % 8)};
        struct psnap_profile *profile;
        random_stream(&rng, accesses, N, REFS, UINT64_C(1) << (12 + round * 2));
        profile = build(program, accesses, N, &options);
        assert_sound(&profile->loops[0], N, options.region_limit);
        psnap_profile_free(profile);
        psnap_program_free(program);
    }
    free(accesses);
}

/* A schedule folds; without visits it is the order of first accesses. */
static void test_loops_alternate(void **state)
{
    struct psnap_program *program = make_program(3, 1);
    struct psnap_access accesses[1 + 50 * 3];
    struct psnap_builder_options first_only = {.schedule = PSNAP_SCHEDULE_FIRST};
    struct psnap_profile *profile;
    unsigned n = 0;

    (void)state;
    accesses[n++] = (struct psnap_access){HEAP, 2, 8, PSNAP_STORE, 0};
    for (unsigned i = 0; i < 50; i++) {
        accesses[n++] = (struct psnap_access){HEAP + 8 * i, 0, 8, PSNAP_LOAD, 0};
        accesses[n++] = (struct psnap_access){HEAP + 8 * i, 0, 8, PSNAP_LOAD, 0};
        accesses[n++] = (struct psnap_access){HEAP + 8 * i, 1, 8, PSNAP_LOAD, 0};
    }
    profile = build(program, accesses, n, NULL);
    assert_int_equal(profile->schedule.count, 4); /* 2, 50 times (0, 1) */
    assert_int_equal(profile->schedule.items[0].what, 2);
    assert_int_equal(profile->schedule.items[1].repeat, 50);
    assert_int_equal(profile->schedule.items[1].span, 2);
    assert_int_equal(profile->schedule.items[2].what, 0);
    psnap_profile_free(profile);

    profile = build(program, accesses, n, &first_only);
    assert_int_equal(profile->schedule.count, 3); /* 2, 0, 1 */
    assert_int_equal(profile->schedule.items[0].what, 2);
    assert_int_equal(profile->schedule.items[2].what, 1);
    psnap_profile_free(profile);
    psnap_program_free(program);
}

/* A peeled part that only some entries reach, and that the first does not, changes no schedule. */
static void test_parts_are_one_visit(void **state)
{
    struct psnap_program *program = make_program(3, 1);
    struct psnap_access accesses[50 * 3];
    struct psnap_profile *profile;
    unsigned n = 0;

    (void)state;
    program->loops[1].src_id = program->loops[2].src_id = "g:1"; /* in the order of the code */
    for (unsigned i = 0; i < 50; i++) {
        accesses[n++] = (struct psnap_access){HEAP, 0, 8, PSNAP_STORE, 0};
        if (i * i % 5 == 1)
            accesses[n++] = (struct psnap_access){HEAP + 8 * i, 1, 8, PSNAP_LOAD, 0};
        accesses[n++] = (struct psnap_access){HEAP + 8 * i, 2, 8, PSNAP_LOAD, 0};
    }
    profile = build(program, accesses, n, NULL);
    assert_int_equal(profile->schedule.count, 7); /* once, and 49 times: 0 and both parts */
    assert_int_equal(profile->schedule.items[3].repeat, 49);
    assert_int_equal(profile->schedule.items[3].span, 3);
    assert_int_equal(profile->schedule.items[4].what, 0);
    psnap_profile_free(profile);
    psnap_program_free(program);
}

static void test_names_and_nests(void **state)
{
    struct psnap_program *program = make_program(3, 1);
    struct psnap_object object = {HEAP, 4096, "main t.c:7", PSNAP_OBJECT_ALLOCATION};
    struct psnap_object global = {(UINT64_C(1) << 40), 4096, "table", PSNAP_OBJECT_GLOBAL};
    const struct psnap_access accesses[] = {{HEAP + 16, 2, 8, PSNAP_LOAD, 0},
                                            {(UINT64_C(1) << 40), 2, 8, PSNAP_LOAD, 0},
                                            {(UINT64_C(1) << 40) + 1000, 2, 8, PSNAP_LOAD, 0},
                                            {HEAP + 8192, 2, 8, PSNAP_LOAD, 0}};
    struct psnap_profile *profile;
    const struct psnap_profile_loop *loop;

    (void)state;
    program->loops[2].parent = 1; /* 0 is unrelated and has no accesses */
    program->loops[2].depth = 2;
    program->loops[2].entry = 1;
    program->loops[2].header = 2;
    program->blocks[1].executions = 5;
    program->blocks[2].executions = 35;
    program->blocks[2].operations[PSNAP_OP_FP_MUL] = 2;
    program->blocks[2].operations[PSNAP_OP_CONVERT] = 1000000;
    assert_int_equal(psnap_program_add_object(program, &object), 0);
    assert_int_equal(psnap_program_add_object(program, &global), 1);
    profile = build(program, accesses, 4, NULL);
    assert_int_equal(profile->loop_count, 2);
    assert_string_equal(profile->loops[0].id, "f:1");
    loop = &profile->loops[1];
    assert_string_equal(loop->id, "f:2");
    assert_int_equal(loop->parent, 0);
    assert_int_equal(loop->entries, 5);
    assert_int_equal(loop->iterations, 35);
    assert_int_equal(loop->operations[PSNAP_OP_FP_MUL], 70);
    assert_int_equal(loop->operations[PSNAP_OP_CONVERT], 35000000);
    assert_int_equal(loop->region_count, 4);
    assert_string_equal(loop->regions[0].id, "r1");
    assert_string_equal(loop->regions[0].object, "main t.c:7");
    assert_string_equal(loop->regions[1].id, "table");
    assert_string_equal(loop->regions[2].id, "table.2");
    assert_string_equal(loop->regions[3].id, "r4");
    assert_null(loop->regions[3].object);
    psnap_profile_free(profile);
    psnap_program_free(program);
}

/* Ids that are not unique, nests that are none: still a profile that reads. */
static void test_odd_programs(void **state)
{
    struct psnap_program *program = make_program(4, 1);
    struct psnap_access accesses[4];
    struct psnap_profile *profile, *back;
    struct psnap_error error;
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);

    (void)state;
    for (uint32_t i = 0; i < 4; i++) {
        accesses[i] = (struct psnap_access){HEAP + i, i, 8, PSNAP_LOAD, (uint16_t)i};
        program->loops[i].id = i == 3 ? "" : "f";
        program->loops[i].parent = (i + 1) % 4;
        program->loops[i].header = i;
        program->blocks[i].executions = UINT64_MAX;
        program->blocks[i].operations[PSNAP_OP_CALL] = UINT32_MAX;
    }
    profile = build(program, accesses, 4, NULL);
    assert_int_equal(psnap_profile_write(profile, file, &error), PSNAP_OK);
    fclose(file);
    file = fmemopen(text, size, "r");
    back = psnap_profile_read(file, "odd", &error);
    if (!back)
        fail_msg("%u: %s\n%s", (unsigned)error.src_line, error.message, text);
    fclose(file);
    free(text);
    psnap_profile_free(profile);
    psnap_profile_free(back);
    psnap_program_free(program);
}

static void test_bad_streams(void **state)
{
    static const struct psnap_access bad[] = {{HEAP, 9, 8, PSNAP_LOAD, 0},
                                              {HEAP, 0, 0, PSNAP_LOAD, 0},
                                              {HEAP, 0, 65, PSNAP_LOAD, 0},
                                              {HEAP, 0, 8, 3, 0}};
    struct psnap_program *program = make_program(1, 1);
    struct psnap_builder_options options = {.region_gap_bytes = UINT64_MAX};
    struct psnap_error error;

    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        struct psnap_sink *builder = psnap_profile_builder_new(program, NULL, &error);
        assert_int_equal(psnap_sink_put(builder, &bad[i], 1, &error), PSNAP_ERROR_VALUE);
        assert_null(psnap_profile_builder_take(builder, &error));
        assert_int_equal(error.code, PSNAP_ERROR_USAGE);
        psnap_sink_free(builder);
    }
    assert_null(psnap_profile_builder_new(program, &options, &error));
    assert_int_equal(error.code, PSNAP_ERROR_USAGE);
    psnap_program_free(program);
}

/* So many loops and regions that not all can be had: the profile is one that is read again, and
 * nothing is missing from it. */
static void test_many_loops(void **state)
{
    enum { LOOPS = 4000, REGIONS = 30 };
    struct psnap_program *program = make_program(LOOPS, 1);
    struct psnap_access *accesses = calloc(LOOPS * REGIONS, sizeof *accesses);
    struct psnap_profile *profile, *again;
    struct psnap_error error = {0};
    char *text = NULL;
    size_t size, regions = 0;
    uint64_t sum = 0;
    FILE *file = open_memstream(&text, &size);

    (void)state;
    for (uint32_t i = 0; i < LOOPS * REGIONS; i++)
        accesses[i] =
            (struct psnap_access){.address = HEAP + UINT64_C(65536) * (i / LOOPS * 7 % REGIONS),
                                  .ref = i % LOOPS,
                                  .size = 8};
    profile = build(program, accesses, LOOPS * REGIONS, NULL);
    assert_int_equal(psnap_profile_write(profile, file, &error), PSNAP_OK);
    fclose(file);
    file = fmemopen(text, size, "r");
    again = psnap_profile_read(file, "many.yaml", &error);
    fclose(file);
    assert_non_null(again);
    assert_int_equal(again->loop_count, LOOPS);
    for (uint32_t l = 0; l < LOOPS; l++) {
        const struct psnap_profile_loop *loop = &again->loops[l];
        uint64_t low = UINT64_MAX, high = 0;
        assert_true(loop->region_count > 0);
        regions += loop->region_count;
        for (uint32_t r = 0; r < loop->region_count; r++) {
            const struct psnap_profile_region *region = &loop->regions[r];
            sum += region->accesses;
            low = region->low < low ? region->low : low;
            high = region->low + region->bytes > high ? region->low + region->bytes : high;
        }
        assert_int_equal(low, HEAP);
        assert_int_equal(high, HEAP + UINT64_C(65536) * (REGIONS - 1) + 8);
    }
    assert_int_equal(sum, LOOPS * REGIONS);
    assert_in_range(regions, 16000, 16384 + LOOPS);
    psnap_profile_free(profile);
    psnap_profile_free(again);
    psnap_program_free(program);
    free(accesses);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_against_naive),
        cmocka_unit_test(test_extreme_addresses),
        cmocka_unit_test(test_by_hand),
        cmocka_unit_test(test_gather_becomes_one_region),
        cmocka_unit_test(test_neighbours_walked_in_turn),
        cmocka_unit_test(test_merging_random_streams),
        cmocka_unit_test(test_loops_alternate),
        cmocka_unit_test(test_parts_are_one_visit),
        cmocka_unit_test(test_names_and_nests),
        cmocka_unit_test(test_odd_programs),
        cmocka_unit_test(test_bad_streams),
        cmocka_unit_test(test_many_loops),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
