/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The generator against the rules as they are written down, one choice and one
 * stride at a time: successors, sizes and kinds by error diffusion over all
 * candidates, strides that come in again at the other end of the working set.
 * Where a random stride leads is taken from the generator.
 */
#include "tests/unit/test.h"

#include "formats/base/rng.h"
#include "profile/profile.h"

enum { BINS = PSNAP_STRIDE_BINS, RANDOM = PSNAP_STRIDE_RANDOM };

#define LOW UINT64_C(0x10000)

static const int64_t strides[BINS] = {-256, -128, -64, -32, -16, -8, -4, -2,  -1,  0,
                                      1,    2,    4,   8,   16,  32, 64, 128, 256, 0};

/* Candidates by value: those of weight 0 are none. */
struct oracle_choice {
    int64_t weights[65], credits[65];
};

static unsigned oracle_choose(struct oracle_choice *choice)
{
    int64_t sum = 0;
    unsigned best = 65;

    for (unsigned i = 0; i < 65; i++) {
        if (!choice->weights[i])
            continue;
        sum += choice->weights[i];
        choice->credits[i] += choice->weights[i];
        if (best == 65 || choice->credits[i] > choice->credits[best])
            best = i;
    }
    choice->credits[best] -= sum;
    return best;
}

struct oracle {
    struct oracle_choice rows[BINS], sizes, kinds;
    int64_t bytes, offset, drift;
    unsigned bin;
};

static void check(struct oracle *oracle, const struct psnap_access *access, uint64_t i)
{
    const unsigned size = oracle_choose(&oracle->sizes);
    const unsigned kind = oracle_choose(&oracle->kinds);
    const int64_t room = oracle->bytes - (int64_t)size;
    const int64_t offset = (int64_t)(access->address - LOW);

    assert_int_equal(access->size, size);
    assert_int_equal(access->kind, kind);
    assert_int_equal(access->ref, 10 + kind);
    assert_int_equal(access->thread, 0);
    assert_true(offset >= 0 && offset <= room);
    if (i == 0)
        oracle->offset = oracle->drift < 0 ? room : 0;
    if (i > 1)
        oracle->bin = oracle_choose(&oracle->rows[oracle->bin]);
    if (i > 0 && oracle->bin != RANDOM) {
        oracle->offset = (oracle->offset + strides[oracle->bin]) % oracle->bytes;
        oracle->offset += oracle->offset < 0 ? oracle->bytes : 0;
        oracle->offset = oracle->offset < room ? oracle->offset : room;
    }
    if (i == 0 || oracle->bin != RANDOM)
        assert_int_equal(offset, oracle->offset);
    oracle->offset = offset;
}

/* Mostly, few candidates have nearly all the weight. */
static uint64_t random_weight(struct psnap_rng *rng, uint64_t log2_max)
{
    return (UINT64_C(1) << psnap_rng_below(rng, log2_max + 1)) + psnap_rng_below(rng, 2);
}

/* A walk over bins, so that the graph is a path; the generator makes a cycle of it. */
static void random_strides(struct psnap_rng *rng, struct psnap_profile_region *region,
                           struct oracle *oracle)
{
    const uint64_t skew = psnap_rng_below(rng, 16), sparse = 1 + psnap_rng_below(rng, 8);
    const unsigned first = (unsigned)psnap_rng_below(rng, BINS);
    uint64_t wanted[BINS][BINS] = {{0}}, strides_of[BINS] = {0};
    unsigned bin = first;

    for (unsigned from = 0; from < BINS; from++)
        for (unsigned to = 0; to < BINS; to++)
            if (to == first || psnap_rng_below(rng, sparse) == 0)
                wanted[from][to] = random_weight(rng, skew);
    strides_of[first]++;
    for (uint64_t i = 1 + psnap_rng_below(rng, 3000); i > 0; i--) {
        uint64_t draw = 0;
        unsigned to;
        for (to = 0; to < BINS; to++)
            draw += wanted[bin][to];
        draw = psnap_rng_below(rng, draw);
        for (to = 0; draw >= wanted[bin][to]; to++)
            draw -= wanted[bin][to];
        oracle->rows[bin].weights[to]++;
        strides_of[to]++;
        bin = to;
    }
    for (unsigned from = 0; from < BINS; from++) {
        if (strides_of[from])
            region->strides[region->stride_count++] =
                (struct psnap_stride_count){strides_of[from], (uint8_t)from};
        oracle->drift += strides[from] * (int64_t)strides_of[from];
        for (unsigned to = 0; to < BINS; to++)
            if (oracle->rows[from].weights[to])
                region->edges[region->edge_count++] = (struct psnap_stride_edge){
                    (uint64_t)oracle->rows[from].weights[to], (uint8_t)from, (uint8_t)to};
    }
    oracle->rows[bin].weights[RANDOM]++;
    oracle->rows[RANDOM].weights[first]++;
    oracle->bin = first;
    /* a walk begins with its first step */
    for (unsigned from = 0; from < BINS; from++)
        memcpy(oracle->rows[from].credits, oracle->rows[from].weights,
               sizeof oracle->rows[from].credits);
}

static void random_sizes(struct psnap_rng *rng, struct psnap_profile_region *region,
                         struct oracle *oracle)
{
    const uint64_t skew = psnap_rng_below(rng, 52), sparse = 1 + psnap_rng_below(rng, 64);
    const unsigned one = 1 + (unsigned)psnap_rng_below(rng, 64);

    for (unsigned size = 1; size <= 64; size++) {
        uint64_t weight = random_weight(rng, skew);
        if (size != one && psnap_rng_below(rng, sparse) != 0)
            continue;
        region->sizes[region->size_count++] = (struct psnap_size_count){weight, (uint8_t)size};
        oracle->sizes.weights[size] = (int64_t)weight;
    }
    for (unsigned kind = 0; kind < 3; kind++) {
        region->kinds[kind] = kind == one % 3 || one % 5 == 0 ? random_weight(rng, skew) : 0;
        oracle->kinds.weights[kind] = (int64_t)region->kinds[kind];
    }
}

TEST(test_every_choice)
{
    static const uint64_t bytes[] = {64, 100, 1000, 4096, 100000, UINT64_C(1) << 40};
    static const uint32_t refs[3] = {10, 11, 12};
    struct psnap_stride_count stride_counts[BINS];
    struct psnap_stride_edge edges[BINS * BINS];
    struct psnap_size_count sizes[64];
    struct psnap_access block[300];
    struct psnap_rng rng;

    psnap_rng_init(&rng, 5);
    for (uint64_t round = 0; round < 300; round++) {
        struct psnap_profile_region region = {.low = LOW,
                                              .bytes = bytes[psnap_rng_below(&rng, 6)],
                                              .strides = stride_counts,
                                              .edges = edges,
                                              .sizes = sizes};
        struct oracle oracle = {.bytes = (int64_t)region.bytes};
        struct psnap_generator *generator;

        random_strides(&rng, &region, &oracle);
        random_sizes(&rng, &region, &oracle);
        generator = psnap_generator_new(&region, round, 0, refs);
        assert_non_null(generator);
        for (uint64_t i = 0; i < 4000;) {
            const size_t n = 1 + psnap_rng_below(&rng, 300);
            psnap_generator_fill(generator, block, n);
            for (size_t k = 0; k < n; k++)
                check(&oracle, &block[k], i++);
        }
        psnap_generator_free(generator);
    }
}
