/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The builder of the published model: an access stream to regions, pattern buffers and visits of
 * loops, in one pass and bounded memory. This file is the hot loop. An access is looked for in the
 * region that its reference accessed last (published.h says why that is exact), and is counted
 * there, once by kind and size and once by the bins of its stride and of the stride before it.
 * Histograms, working sets and access counts are sums of these. Whatever comes for the first time
 * or leaves its region is on the slow path.
 *
 * Strides are differences to the previous address in the same region, whichever instruction made
 * it, and whichever thread: the accesses of all threads are one stream. The stream must keep to
 * program.h: a reference belongs to one loop for ever.
 *
 * A run, an execution of an innermost loop with strides, adds the same in each of its iterations as
 * long as all accesses stay in their regions and all strides in their bins. So many iterations are
 * counted at once.
 */
#include "profile/published/published.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/map.h"
#include "formats/base/room.h"

enum {
    SCHEDULE_PERIOD = 32,                 /* longest round of loops that is looked for */
    SCHEDULE_ITEMS = 256,                 /* beyond these the order of the newer half is given up */
    BINS_SPAN = 2 * PSNAP_STRIDE_MAX + 1, /* strides that are not random */
    REGIONS_MAX = 16384, /* of all loops; then each has those that it has, and one at least */
    RUN_WIDTH = 256      /* wider runs are counted access by access */
};

struct ref_state {
    struct loop *loop; /* NULL: it has not accessed anything yet */
    struct region *region;
};

struct builder {
    struct psnap_sink base;
    struct psnap_program *program;
    struct psnap_builder_options options;
    struct ref_state *refs;
    struct loop **by_index; /* by index in program->loops, or NULL */
    struct loop **loops;    /* in the order of first accesses */
    uint32_t ref_count, index_count, loop_count, region_count;
    struct loop *current;
    struct region nowhere; /* what a new reference accessed last: holds no address */
    struct fold visits;
    struct loop *last_visited;
    struct loop *visited;           /* the first loop of the visit that goes on */
    uint64_t visit_start, position; /* accesses before it, and before the present block */
    uint8_t bins[BINS_SPAN + 1];    /* by stride + PSNAP_STRIDE_MAX; the last is random's */
};

static enum psnap_status no_memory(struct psnap_error *error)
{
    return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
}

/* ------------------------------------------------------------- loops */

static bool grow_refs(struct builder *b)
{
    const uint32_t count = b->program->ref_count;

    if (!psnap_resize(&b->refs, count, sizeof *b->refs))
        return false;
    for (uint32_t i = b->ref_count; i < count; i++)
        b->refs[i] = (struct ref_state){.region = &b->nowhere};
    b->ref_count = count;
    return true;
}

static bool grow_loops(struct builder *b)
{
    const uint32_t count = b->program->loop_count;

    if (!psnap_resize(&b->by_index, count, sizeof *b->by_index) ||
        !psnap_resize(&b->loops, count, sizeof *b->loops))
        return false;
    for (uint32_t i = b->index_count; i < count; i++)
        b->by_index[i] = NULL;
    b->index_count = count;
    return true;
}

static const struct psnap_loop *about(const struct loop *loop)
{
    return &loop->program->loops[loop->index];
}

/* Tells whether both are parts that the optimiser made of one loop of the source. */
static bool is_same_source(const struct loop *a, const struct loop *b)
{
    return a->src_hash == b->src_hash && !strcmp(about(a)->src_id, about(b)->src_id);
}

/* Tells whether one is the remainder loop of the other: "f:12.rest2" of "f:12.vector2". */
static bool is_remainder(const struct loop *vector, const struct loop *remainder)
{
    static const char of_vector[] = ".vector", of_remainder[] = ".rest";
    const char *a = about(vector)->id, *b = about(remainder)->id;
    const char *at = strstr(a, of_vector), *other = strstr(b, of_remainder);

    return at && other && at - a == other - b && !strncmp(a, b, (size_t)(at - a)) &&
           !strcmp(at + sizeof of_vector - 1, other + sizeof of_remainder - 1);
}

/* A loop that is accessed for the first time; NULL: out of memory. */
static struct loop *meet_loop(struct builder *b, uint32_t index)
{
    struct loop *loop;

    if (index >= b->index_count && !grow_loops(b))
        return NULL;
    if (b->by_index[index])
        return b->by_index[index];
    loop = loop_new(b->program, index, &b->options);
    if (!loop)
        return NULL;
    loop->src_hash = psnap_map_hash(0, about(loop)->src_id);
    for (uint32_t i = 0; i < b->loop_count; i++)
        if (is_same_source(loop, b->loops[i]) &&
            (is_remainder(loop, b->loops[i]) || is_remainder(b->loops[i], loop)))
            loop->unit = b->loops[i]->unit;
    return b->by_index[index] = b->loops[b->loop_count++] = loop;
}

/* The visits of two loops are one loop's from here on, and were. */
static void join_units(const struct builder *b, const struct loop *into, const struct loop *loop)
{
    const uint32_t unit = loop->unit;

    for (uint32_t i = 0; i < b->loop_count && unit != into->unit; i++)
        if (b->loops[i]->unit == unit)
            b->loops[i]->unit = into->unit;
}

/* The visit that goes on ends, and one of `next` begins; false: out of memory. */
static bool end_visit(struct builder *b, struct loop *next, uint64_t position)
{
    const struct loop *ended = b->visited;
    const uint64_t accesses = position - b->visit_start;

    b->visited = next;
    b->visit_start = position;
    return !ended || !fold_append(&b->visits, ended->unit, accesses);
}

/*
 * The stream goes on in another loop, which is a visit for the schedule; false: out of memory.
 * The parts that the optimiser made of a loop of the source and that follow each other are one
 * unit: whether an entry reaches the remainder of a vectorised loop depends on data, and would keep
 * regular schedules from folding.
 */
static bool enter_loop(struct builder *b, struct loop *loop, uint64_t position)
{
    struct loop *last = b->last_visited;

    b->current = loop;
    if (last == loop)
        return true;
    b->last_visited = loop;
    if (last && is_same_source(last, loop)) {
        join_units(b, last, loop);
        if (loop->index > last->index)
            return true; /* a later part in the code: the same visit */
    }
    return end_visit(b, loop, position);
}

/* ------------------------------------------------------------- accesses */

/* The region of an address that is not in the reach of its reference's last one; opened if need
 * be. NULL: out of memory. */
static struct region *enter_region(struct builder *b, const struct psnap_access *access)
{
    struct loop *loop = b->current;
    struct region *region;

    b->region_count -= loop->count;
    if (loop_settle(loop))
        return NULL;
    region = region_find(loop, access->address);
    if (!region && loop->count && b->region_count + loop->count >= REGIONS_MAX)
        region = region_stretch(loop, access->address);
    if (!region && loop->count == loop->limit) {
        if (loop_merge(loop, MERGE_FULL))
            return NULL;
        region = region_find(loop, access->address);
    }
    if (!region)
        region = region_open(loop, access);
    if (!region)
        return NULL;
    if (region != loop->entered) {
        region->visits++;
        loop->visits++;
    }
    b->region_count += loop->count;
    loop->entered = region;
    b->refs[access->ref].region = region;
    return region;
}

/* Errors of foreign streams, and tables that have grown. */
static enum psnap_status check_access(struct builder *b, const struct psnap_access *access,
                                      struct psnap_error *error)
{
    uint32_t loop;

    if (access->ref >= b->program->ref_count)
        return psnap_error_set(error, PSNAP_ERROR_VALUE,
                               "reference %" PRIu32 " is not in the program's table", access->ref);
    if (access->size - 1u >= PSNAP_ACCESS_SIZE_MAX || access->kind > PSNAP_ATOMIC)
        return psnap_error_set(error, PSNAP_ERROR_VALUE,
                               "an access of %u bytes and kind %u cannot be", access->size,
                               access->kind);
    if (access->address > UINT64_MAX - (access->size - 1u))
        return psnap_error_set(error, PSNAP_ERROR_VALUE,
                               "an access of %u bytes at 0x%" PRIx64
                               " reaches beyond the end of the address space",
                               access->size, access->address);
    if (access->ref >= b->ref_count && !grow_refs(b))
        return no_memory(error);
    loop = b->program->refs[access->ref].loop;
    if (loop >= b->program->loop_count)
        return psnap_error_set(error, PSNAP_ERROR_VALUE, "reference %" PRIu32 " belongs to no loop",
                               access->ref);
    if (!b->refs[access->ref].loop)
        b->refs[access->ref].loop = meet_loop(b, loop);
    return b->refs[access->ref].loop ? PSNAP_OK : no_memory(error);
}

static inline unsigned bin_of(const struct builder *b, uint64_t stride)
{
    const uint64_t place = stride + PSNAP_STRIDE_MAX;

    return b->bins[place < BINS_SPAN ? place : BINS_SPAN];
}

/* Takes an access of which loop, region or bins may be new. */
static enum psnap_status put_any(struct builder *b, const struct psnap_access *access,
                                 uint64_t position, struct psnap_error *error)
{
    const uint64_t address = access->address, last_byte = address + access->size - 1;
    const enum psnap_status status = check_access(b, access, error);
    struct region *region;
    unsigned bin;

    if (status)
        return status;
    if (b->refs[access->ref].loop != b->current &&
        !enter_loop(b, b->refs[access->ref].loop, position))
        return no_memory(error);
    region = b->refs[access->ref].region;
    if (address - region->reach_low >= region->reach_bytes)
        region = enter_region(b, access);
    if (!region || !region_make_sizes(region, access->kind))
        return no_memory(error);
    if (region->row) {
        bin = bin_of(b, address - region->previous);
        if (!region_make_row(region, bin))
            return no_memory(error);
        region->row[bin]++;
        region->row = region->rows[bin];
    } else
        region->row = region->rows[PUBLISHED_FIRST_STRIDE]; /* its first access has no stride */
    region->previous = address;
    region->sizes[access->kind][access->size - 1]++;
    if (address < region->low || address > region->high || last_byte > region->last_byte)
        region_widen(b->current, region, address, last_byte);
    if (b->current->pattern_count < PUBLISHED_PATTERN && !loop_add_to_pattern(b->current, region))
        return no_memory(error);
    return PSNAP_OK;
}

/* Counts an access within the bounds of the region that its reference accessed last, of a bin and
 * a kind that the region has, if it is one. */
static inline bool put_known(const struct builder *b, const struct psnap_access *access)
{
    struct region *region = b->refs[access->ref].region;
    const uint64_t address = access->address;
    uint64_t *next, *sizes;
    unsigned bin;

    if (address < region->low || address > region->high ||
        region->last_byte - address < access->size - 1u ||
        access->size - 1u >= PSNAP_ACCESS_SIZE_MAX || access->kind > PSNAP_ATOMIC)
        return false;
    bin = bin_of(b, address - region->previous);
    next = region->rows[bin];
    sizes = region->sizes[access->kind];
    if (!next || !sizes)
        return false;
    region->row[bin]++;
    region->row = next;
    region->previous = address;
    sizes[access->size - 1]++;
    return true;
}

static enum psnap_status put(struct psnap_sink *self, const struct psnap_access *block, size_t n,
                             struct psnap_error *error)
{
    struct builder *b = (struct builder *)self;

    for (size_t i = 0; i < n; i++) {
        const struct psnap_access *access = &block[i];
        struct loop *loop = access->ref < b->ref_count ? b->refs[access->ref].loop : NULL;
        enum psnap_status status;
        if (loop && loop->pattern_count == PUBLISHED_PATTERN) {
            if (loop != b->current && !enter_loop(b, loop, b->position + i))
                return no_memory(error);
            if (put_known(b, access))
                continue;
        }
        status = put_any(b, access, b->position + i, error);
        if (status)
            return status;
    }
    b->position += n;
    return PSNAP_OK;
}

/* ------------------------------------------------------------- runs */

/* The iterations of a run that are counted at once. */
struct steady {
    uint64_t from, count;
    uint8_t bins[RUN_WIDTH];    /* of each access's stride, */
    uint16_t before[RUN_WIDTH]; /* from this access of its iteration, or of the one before it */
};

/* In how many iterations an access, first at `address`, stays in the region of its reference, which
 * may grow upwards, by strides within the gap, as far as that concerns no neighbour. */
static uint64_t count_inside(const struct loop *loop, const struct region *region, uint64_t address,
                             uint8_t size, int64_t stride)
{
    uint64_t bound = region->high;

    if (stride >= 0 && (uint64_t)stride <= loop->gap && region->free_high > bound &&
        (address <= bound || address - bound <= loop->gap))
        bound = region->free_high;
    if (bound - region->low > INT64_MAX) /* strides are signed */
        bound = region->low + INT64_MAX;
    if (address < region->low || address > bound || bound > UINT64_MAX - size)
        return 0;
    if (stride == 0)
        return UINT64_MAX;
    if (stride < 0)
        return (address - region->low) / (0 - (uint64_t)stride) + 1;
    return (bound - address) / (uint64_t)stride + 1;
}

/* In how many iterations from steady->from on all accesses stay in their regions. */
static uint64_t find_inside(const struct builder *b, const struct psnap_run *run, uint64_t from)
{
    uint64_t count = run->count - from;

    for (size_t k = 0; k < run->width && count; k++) {
        const struct psnap_access *access = &run->first[k];
        const struct ref_state *ref = &b->refs[access->ref];
        const uint64_t inside =
            ref->loop == b->current && ref->region->sizes[access->kind]
                ? count_inside(ref->loop, ref->region, psnap_run_address(run, from, k),
                               access->size, run->strides[k])
                : 0;
        count = inside < count ? inside : count;
        ref->region->last_of_run = (uint32_t)k;
    }
    return count;
}

/* Finds the iterations from steady->from on, all before it are counted, that make the same edges:
 * none, or as many as stay in their regions. A stride is linear in the iteration, and stays in a
 * bin when its first and last values are in that, on one side when it is random. */
static void find_steady(const struct builder *b, const struct psnap_run *run, struct steady *steady)
{
    const uint64_t from = steady->from;

    steady->count = find_inside(b, run, from);
    for (size_t k = 0; k < run->width && steady->count; k++) {
        struct region *region = b->refs[run->first[k].ref].region;
        const size_t before = region->last_of_run;
        const uint64_t change = (uint64_t)run->strides[k] - (uint64_t)run->strides[before];
        const uint64_t first =
            psnap_run_address(run, from, k) - psnap_run_address(run, from - (before >= k), before);
        const uint64_t last = first + (steady->count - 1) * change;
        const unsigned bin = bin_of(b, first);
        steady->bins[k] = (uint8_t)bin;
        steady->before[k] = (uint16_t)before;
        region->last_of_run = (uint32_t)k;
        if (bin != bin_of(b, last) || !region->rows[bin] ||
            (bin == PSNAP_STRIDE_RANDOM && (first ^ last) >> 63))
            steady->count = 0;
    }
    for (size_t k = 0; k < run->width && steady->count; k++) {
        const struct region *region = b->refs[run->first[k].ref].region;
        const size_t before = steady->before[k];
        if (before >= k && (region->row != region->rows[steady->bins[before]] ||
                            region->previous != psnap_run_address(run, from - 1, before)))
            steady->count = 0;
    }
}

static void put_steady(struct builder *b, const struct psnap_run *run, const struct steady *steady)
{
    for (size_t k = 0; k < run->width; k++) {
        const struct psnap_access *access = &run->first[k];
        struct region *region = b->refs[access->ref].region;
        const uint64_t address = psnap_run_address(run, steady->from + steady->count - 1, k);
        region->rows[steady->bins[steady->before[k]]][steady->bins[k]] += steady->count;
        region->sizes[access->kind][access->size - 1] += steady->count;
        region->previous = address;
        region_widen(b->current, region, address, address + access->size - 1);
    }
    b->position += steady->count * run->width;
}

/* Iterations one by one until those behind them are all alike; where they never are, ever more of
 * them before the next look. */
static enum psnap_status put_run(struct psnap_sink *self, const struct psnap_run *run,
                                 struct psnap_error *error)
{
    struct builder *b = (struct builder *)self;
    struct steady steady = {0};
    uint64_t singly = 2;

    while (steady.from < run->count) {
        const uint64_t left = run->count - steady.from;
        const uint64_t end = singly < left && !run->columns && run->width <= RUN_WIDTH
                                 ? steady.from + singly
                                 : run->count;
        const enum psnap_status status =
            psnap_sink_put_repetitions(self, run, steady.from, end, error);
        if (status)
            return status;
        steady.from = end;
        steady.count = 0;
        if (end < run->count && b->current->pattern_count == PUBLISHED_PATTERN)
            find_steady(b, run, &steady);
        if (steady.count)
            put_steady(b, run, &steady);
        steady.from += steady.count;
        singly = steady.count ? 2 : 2 * singly;
    }
    return PSNAP_OK;
}

/* ------------------------------------------------------------- the sink */

static enum psnap_status finish(struct psnap_sink *self, struct psnap_error *error)
{
    struct builder *b = (struct builder *)self;

    return end_visit(b, NULL, b->position) ? PSNAP_OK : no_memory(error);
}

static void builder_free(struct psnap_sink *self)
{
    struct builder *b = (struct builder *)self;

    for (uint32_t i = 0; i < b->loop_count; i++)
        loop_free(b->loops[i]);
    fold_release(&b->visits);
    free(b->loops);
    free(b->by_index);
    free(b->refs);
    free(b);
}

struct psnap_sink *published_builder_new(struct psnap_program *program,
                                         const struct psnap_builder_options *options)
{
    static const struct psnap_sink_ops ops = {
        .put = put, .finish = finish, .free = builder_free, .put_run = put_run};
    struct builder *b = calloc(1, sizeof *b);

    if (!b)
        return NULL;
    b->base.ops = &ops;
    b->program = program;
    b->options = *options;
    b->nowhere.low = UINT64_MAX; /* and high 0 */
    fold_init(&b->visits, false, SCHEDULE_PERIOD, SCHEDULE_ITEMS);
    for (int stride = -PSNAP_STRIDE_MAX; stride <= PSNAP_STRIDE_MAX; stride++)
        b->bins[stride + PSNAP_STRIDE_MAX] = (uint8_t)psnap_stride_bin(stride);
    b->bins[BINS_SPAN] = PSNAP_STRIDE_RANDOM;
    return &b->base;
}

struct loop *published_loop(const struct psnap_sink *builder, uint32_t index)
{
    const struct builder *b = (const struct builder *)builder;

    return index < b->index_count ? b->by_index[index] : NULL;
}

enum psnap_status published_schedule(struct psnap_sink *builder, const uint32_t *kept,
                                     struct psnap_profile *profile)
{
    struct builder *b = (struct builder *)builder;
    const struct published_loops built = {b->loops, b->by_index, kept, b->loop_count};

    return published_schedule_take(&built, &b->visits, profile);
}

static int compare_serials(const void *a, const void *b)
{
    const struct region *p = *(struct region *const *)a, *q = *(struct region *const *)b;

    return p->serial < q->serial ? -1 : p->serial > q->serial;
}

static enum psnap_status take_pattern(const struct loop *loop, struct psnap_arena *arena,
                                      struct psnap_sequence *pattern)
{
    enum psnap_status status = PSNAP_OK;
    struct fold fold;

    fold_init(&fold, true, PUBLISHED_PATTERN / 2, UINT32_MAX);
    for (uint32_t i = 0; i < loop->pattern_count && !status; i++)
        status = fold_append(&fold, loop->pattern[i % loop->pattern_kept]->position, 0);
    if (!status)
        status = fold_finish(&fold, arena, pattern);
    for (uint32_t i = 0; i < pattern->count; i++)
        pattern->items[i].accesses = PSNAP_EVENLY;
    fold_release(&fold);
    return status;
}

enum psnap_status published_take(struct loop *loop, struct psnap_profile *profile,
                                 struct psnap_profile_loop *out)
{
    enum psnap_status status = loop_merge(loop, MERGE_LAST);

    out->regions = psnap_arena_alloc(profile->arena, loop->count * sizeof *out->regions);
    if (status || !out->regions)
        return PSNAP_ERROR_MEMORY;
    out->region_count = loop->count;
    qsort(loop->order, loop->count, sizeof(struct region *), compare_serials);
    for (uint32_t i = 0; i < loop->count && !status; i++) {
        struct region *region = loop->order[i];
        region->position = i;
        region_name(loop, region);
        status = region_export(region, profile->arena, &out->regions[i]);
        out->regions[i].object = region->object; /* the program's, until the profile has a copy */
        out->regions[i].object_kind = region->object ? region->object_kind : 0;
        out->accesses += out->regions[i].accesses;
    }
    return status ? status : take_pattern(loop, profile->arena, &out->pattern);
}
