/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Region metrics to addresses, the heart of replay and of merging.
 *
 * The paper says that strides, their order, the working set and the access
 * count generate a region's addresses; what it leaves open is decided here,
 * each reading in one function, and explained in replay/MODELS.md:
 *
 *   start_offset     where a region's stream starts
 *   stride_bytes     which stride of a bin is taken
 *   successor        which of a bin's successors comes next, and
 *   start_row        when a rare one comes for the first time
 *   set_rows         what follows the last stride
 *   leap_bytes       how far a random stride leads, and
 *   random_offset    where
 *   wrapped_offset   what happens at the ends of the working set
 *
 * Counts (successors, sizes, kinds) are dealt out by error diffusion: each
 * candidate earns credit in proportion to its count, the one with most credit
 * (the first of equals) pays for all. From credits of 0, after as many choices
 * as there are counts, each was chosen exactly its count of times.
 *
 * Invariant: low <= address and address + size <= low + bytes, always.
 */
#include "profile/profile.h"

#include <stdlib.h>

#include "formats/base/rng.h"

enum { UNSTARTED = PSNAP_STRIDE_BINS, AT_START };

enum { GATHER = 20 /* one of so many strides may be followed by one that is not random */ };

/* Something to choose from, `weight` times in the sum of weights. */
struct share {
    int64_t credit;
    int64_t weight;
    unsigned value;
};

struct choice {
    struct share *shares;
    int64_t sum;
    unsigned count;
};

struct psnap_generator {
    struct psnap_rng rng;
    uint64_t low, bytes;
    uint64_t offset; /* of the latest address from low */
    unsigned bin;    /* of the latest stride, or UNSTARTED or AT_START */
    unsigned first;  /* bin of the first stride */
    bool downwards;
    uint64_t leap; /* random strides are so much longer than the longest, or 0: lead anywhere */
    uint32_t refs[3];
    struct choice sizes, kinds;
    struct choice rows[PSNAP_STRIDE_BINS]; /* successors of each bin */
    struct share shares[];
};

/* Every share earns its weight; the one with most credit, the first of equals, pays for all. */
static inline unsigned choose(struct choice *choice)
{
    struct share *const shares = choice->shares, *best = shares;

    shares->credit += shares->weight;
    for (unsigned i = 1; i < choice->count; i++) {
        shares[i].credit += shares[i].weight;
        best = shares[i].credit > best->credit ? &shares[i] : best;
    }
    best->credit -= choice->sum;
    return best->value;
}

/* Reading: the stride that names the bin, its longest. */
static inline int64_t stride_bytes(unsigned bin)
{
    static const int64_t strides[PSNAP_STRIDE_BINS] = {
        -256, -128, -64, -32, -16, -8, -4, -2, -1, 0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 0};
    return strides[bin];
}

/* Reading: successors in proportion to the graph's counts, evenly spread. */
static inline unsigned successor(struct psnap_generator *g)
{
    return choose(&g->rows[g->bin]);
}

/* Reading: a walk begins with its first step, so what is rare comes when it is due, not sooner. */
static void start_row(struct choice *row)
{
    for (unsigned i = 0; i < row->count; i++)
        row->shares[i].credit = row->shares[i].weight;
}

/* Reading: at the low end, or at the high one when the strides lead down on the whole. */
static uint64_t start_offset(const struct psnap_generator *g, unsigned size)
{
    return g->downwards ? g->bytes - size : 0;
}

/* Whether a walk has come to the end of the working set, as near as a stride can be long. */
static bool is_at_end(const struct psnap_generator *g, unsigned size)
{
    uint64_t left = g->downwards ? g->offset : g->bytes - size - g->offset;

    return left < PSNAP_STRIDE_MAX || g->offset > g->bytes - size;
}

/*
 * Reading: how much longer than the longest stride a random one can be; 0 when it leads anywhere.
 * Two kinds of region have random strides. Where nearly every other stride is followed by a random
 * one, elements or records are visited in no order (gathers, hash tables, chases): anywhere. Where
 * other strides follow each other, several walks take turns (a stencil's rows, the lines of a
 * cube), and what a random stride leaves another one comes back to: the range goes from 2^8 to the
 * working set, on a scale of powers of two, with the third power of the share of random strides.
 * replay/MODELS.md has the alternatives and what they cost.
 */
static uint64_t leap_bytes(const struct psnap_profile_region *region)
{
    __extension__ typedef unsigned __int128 wide;
    uint64_t strides = 0, random = 0, others = 0, left = 0, share;
    unsigned range_log2;

    for (unsigned i = 0; i < region->stride_count; i++) {
        strides += region->strides[i].count;
        if (region->strides[i].bin == PSNAP_STRIDE_RANDOM)
            random = region->strides[i].count;
    }
    for (unsigned i = 0; i < region->edge_count; i++) {
        if (region->edges[i].from == PSNAP_STRIDE_RANDOM)
            continue;
        others += region->edges[i].count;
        if (region->edges[i].to == PSNAP_STRIDE_RANDOM)
            left += region->edges[i].count;
    }
    if ((others - left) * GATHER <= others || region->bytes < 2 * PSNAP_STRIDE_MAX)
        return 0;
    /* In integers, so that all machines agree; the share in 1/1024. */
    share = (uint64_t)((wide)random * 1024 / strides);
    range_log2 = 63u - (unsigned)__builtin_clzll(region->bytes / PSNAP_STRIDE_MAX);
    range_log2 = (unsigned)((share * share * share * range_log2 + (1u << 29)) >> 30);
    return (uint64_t)PSNAP_STRIDE_MAX << range_log2;
}

/* Reading: a random stride at the end of a walk leads back to its start. Others lead up or down, as
 * there is room, in steps of the access's size (its power of two). */
static uint64_t random_offset(struct psnap_generator *g, unsigned size, bool walked)
{
    unsigned shift = 31u - (unsigned)__builtin_clz(size);
    uint64_t room = g->bytes - size; /* the highest offset for this size */
    uint64_t from = g->offset < room ? g->offset : room;
    uint64_t draw, stride;

    if (walked && is_at_end(g, size))
        return start_offset(g, size);
    if (!g->leap || room / 2 < PSNAP_STRIDE_MAX + g->leap)
        return psnap_rng_below(&g->rng, (room >> shift) + 1) << shift;
    draw = psnap_rng_below(&g->rng, 2 * (g->leap >> shift));
    stride = PSNAP_STRIDE_MAX + (((draw >> 1) + 1) << shift);
    if (draw & 1)
        return stride <= room - from ? from + stride : from - stride;
    return stride <= from ? from - stride : from + stride;
}

/* Reading: a stride past one end of the working set comes in again at the other. */
static uint64_t wrapped_offset(const struct psnap_generator *g, int64_t stride, unsigned size)
{
    uint64_t room = g->bytes - size; /* the highest offset for this size */
    uint64_t offset = g->offset + (uint64_t)stride;

    if (stride >= 0)
        offset %= g->bytes;
    else if (g->offset < (uint64_t)-stride)
        offset = g->bytes - 1 - ((uint64_t)-stride - g->offset - 1) % g->bytes;
    return offset <= room ? offset : room;
}

static inline uint64_t next_offset(struct psnap_generator *g, unsigned size)
{
    const unsigned before = g->bin;
    int64_t stride;
    uint64_t offset;

    if (g->bin == UNSTARTED) {
        g->bin = AT_START;
        return start_offset(g, size);
    }
    g->bin = g->bin == AT_START ? g->first : successor(g);
    if (g->bin == PSNAP_STRIDE_RANDOM)
        return random_offset(g, size, before != PSNAP_STRIDE_RANDOM);
    stride = stride_bytes(g->bin);
    offset = g->offset + (uint64_t)stride;
    return offset <= g->bytes - size ? offset : wrapped_offset(g, stride, size);
}

void psnap_generator_fill(struct psnap_generator *generator, struct psnap_access *block, size_t n)
{
    struct psnap_generator *g = generator;

    for (size_t i = 0; i < n; i++) {
        const unsigned size = choose(&g->sizes), kind = choose(&g->kinds);
        g->offset = next_offset(g, size);
        block[i] = (struct psnap_access){.address = g->low + g->offset,
                                         .ref = g->refs[kind],
                                         .size = (uint8_t)size,
                                         .kind = (uint8_t)kind};
    }
}

static void add_share(struct choice *choice, struct share **room, unsigned value, uint64_t weight)
{
    if (!choice->count)
        choice->shares = *room;
    choice->count++;
    choice->sum += (int64_t)weight;
    *(*room)++ = (struct share){.weight = (int64_t)weight, .value = value};
}

/* Reading: the recorded sequence of strides is followed by a random one and starts again, which
 * makes its path a cycle: every row has a successor, and as many as the bin has strides. */
static void set_rows(struct psnap_generator *g, const struct psnap_profile_region *region,
                     struct share *room)
{
    uint64_t counts[PSNAP_STRIDE_BINS][PSNAP_STRIDE_BINS] = {{0}};
    unsigned last;

    psnap_region_ends(region, &g->first, &last);
    for (unsigned i = 0; i < region->edge_count; i++)
        counts[region->edges[i].from][region->edges[i].to] = region->edges[i].count;
    counts[last][PSNAP_STRIDE_RANDOM]++;
    counts[PSNAP_STRIDE_RANDOM][g->first]++;
    for (unsigned from = 0; from < PSNAP_STRIDE_BINS; from++) {
        for (unsigned to = 0; to < PSNAP_STRIDE_BINS; to++)
            if (counts[from][to])
                add_share(&g->rows[from], &room, to, counts[from][to]);
        start_row(&g->rows[from]);
    }
}

static void set_strides(struct psnap_generator *g, const struct psnap_profile_region *region,
                        struct share *room)
{
    __extension__ typedef __int128 wide;
    wide drift = 0;

    for (unsigned i = 0; i < region->stride_count; i++)
        drift += stride_bytes(region->strides[i].bin) * (wide)region->strides[i].count;
    g->downwards = drift < 0;
    g->leap = leap_bytes(region);
    if (region->stride_count) {
        set_rows(g, region, room);
    } else { /* one access; should more be asked for, they stay where it is */
        g->first = PSNAP_STRIDE_ZERO;
        add_share(&g->rows[PSNAP_STRIDE_ZERO], &room, PSNAP_STRIDE_ZERO, 1);
    }
}

struct psnap_generator *psnap_generator_new(const struct psnap_profile_region *region,
                                            uint64_t seed, uint64_t stream, const uint32_t refs[3])
{
    size_t shares = (size_t)region->size_count + 3 + region->edge_count + 2;
    struct psnap_generator *g = calloc(1, sizeof *g + shares * sizeof g->shares[0]);
    struct share *room;

    if (!g)
        return NULL;
    psnap_rng_init_stream(&g->rng, seed, stream);
    g->low = region->low;
    g->bytes = region->bytes;
    g->bin = UNSTARTED;
    room = g->shares;
    for (unsigned i = 0; i < region->size_count; i++)
        add_share(&g->sizes, &room, region->sizes[i].size, region->sizes[i].count);
    for (unsigned kind = 0; kind < 3; kind++) {
        g->refs[kind] = refs[kind];
        if (region->kinds[kind])
            add_share(&g->kinds, &room, kind, region->kinds[kind]);
    }
    set_strides(g, region, room);
    return g;
}

void psnap_generator_free(struct psnap_generator *generator)
{
    free(generator);
}
