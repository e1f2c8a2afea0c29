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
 *   successor        which of a bin's successors comes next
 *   random_offset    where a random stride leads
 *   wrapped_offset   what happens at the ends of the working set
 *
 * Counts (successors, sizes, kinds) are dealt out by error diffusion: each
 * candidate earns credit in proportion to its count, the one with most credit
 * (the first of equals) pays for all. After as many choices as there are
 * counts, each was chosen exactly its count of times.
 *
 * Invariant: low <= address and address + size <= low + bytes, always.
 */
#include "profile/profile.h"

#include <stdlib.h>

#include "formats/base/rng.h"

enum { UNSTARTED = PSNAP_STRIDE_BINS, AT_START };

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
    uint32_t refs[3];
    struct choice sizes, kinds;
    struct choice rows[PSNAP_STRIDE_BINS]; /* successors of each bin */
    struct share shares[];
};

static unsigned choose_many(struct choice *choice)
{
    struct share *best = choice->shares;

    for (struct share *share = choice->shares; share < choice->shares + choice->count; share++) {
        share->credit += share->weight;
        if (share->credit > best->credit)
            best = share;
    }
    best->credit -= choice->sum;
    return best->value;
}

/* The same for one and two shares (whose credits are each other's negative) without a search. */
static inline unsigned choose(struct choice *choice)
{
    struct share *share = choice->shares;

    if (choice->count == 1)
        return share->value;
    if (choice->count > 2)
        return choose_many(choice);
    if (2 * share[0].credit >= share[1].weight - share[0].weight) {
        share[0].credit -= share[1].weight;
        return share[0].value;
    }
    share[0].credit += share[0].weight;
    return share[1].value;
}

/* Reading: the stride that names the bin, its longest. */
static inline int64_t stride_bytes(unsigned bin)
{
    static const int64_t strides[PSNAP_STRIDE_BINS] = {
        -256, -128, -64, -32, -16, -8, -4, -2, -1, 0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 0};
    return strides[bin];
}

/* Reading: successors in proportion to the graph's counts, evenly spread. A bin that has none was
 * the last of the recorded sequence, which starts again. */
static inline unsigned successor(struct psnap_generator *g)
{
    struct choice *row = &g->rows[g->bin];

    return row->count ? choose(row) : g->first;
}

/* Reading: anywhere in the working set, in steps of the access's size (its power of two). */
static inline uint64_t random_offset(struct psnap_generator *g, unsigned size)
{
    unsigned shift = 31u - (unsigned)__builtin_clz(size);

    return psnap_rng_below(&g->rng, ((g->bytes - size) >> shift) + 1) << shift;
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

/* Reading: at the low end, or at the high one when the strides lead down on the whole. */
static uint64_t start_offset(const struct psnap_generator *g, unsigned size)
{
    return g->downwards ? g->bytes - size : 0;
}

static inline uint64_t next_offset(struct psnap_generator *g, unsigned size)
{
    int64_t stride;
    uint64_t offset;

    if (g->bin == UNSTARTED) {
        g->bin = AT_START;
        return start_offset(g, size);
    }
    g->bin = g->bin == AT_START ? g->first : successor(g);
    if (g->bin == PSNAP_STRIDE_RANDOM)
        return random_offset(g, size);
    stride = stride_bytes(g->bin);
    offset = g->offset + (uint64_t)stride;
    return offset <= g->bytes - size ? offset : wrapped_offset(g, stride, size);
}

void psnap_generator_fill(struct psnap_generator *generator, struct psnap_access *block, size_t n)
{
    struct psnap_generator *g = generator;

    for (size_t i = 0; i < n; i++) {
        unsigned size = choose(&g->sizes);
        unsigned kind = choose(&g->kinds);
        g->offset = next_offset(g, size);
        block[i].address = g->low + g->offset;
        block[i].ref = g->refs[kind];
        block[i].size = (uint8_t)size;
        block[i].kind = (uint8_t)kind;
        block[i].thread = 0;
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

static void set_strides(struct psnap_generator *g, const struct psnap_profile_region *region,
                        struct share *room)
{
    __extension__ typedef __int128 wide;
    wide drift = 0;
    unsigned last;

    g->first = PSNAP_STRIDE_ZERO; /* of a region of one access, asked for more */
    if (!region->stride_count)
        return;
    psnap_region_ends(region, &g->first, &last);
    for (unsigned i = 0; i < region->stride_count; i++)
        drift += stride_bytes(region->strides[i].bin) * (wide)region->strides[i].count;
    g->downwards = drift < 0;
    for (unsigned i = 0; i < region->edge_count; i++) {
        const struct psnap_stride_edge *edge = &region->edges[i];
        add_share(&g->rows[edge->from], &room, edge->to, edge->count);
    }
}

struct psnap_generator *psnap_generator_new(const struct psnap_profile_region *region,
                                            uint64_t seed, uint64_t stream, const uint32_t refs[3])
{
    size_t shares = (size_t)region->size_count + 3 + region->edge_count;
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
