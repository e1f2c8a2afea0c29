/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Patterns of references. An access is regular if the reference's stride is the one it had before,
 * and at most PATTERN_STRIDE_MAX; a reference is if more than half of its accesses are. Others are
 * irregular: their addresses were loaded, or computed. If neither can be, as the loop (of the
 * source) has no load that could be of indices, a regular one or one whose stride repeats but is
 * larger, and its block hardly any arithmetic (an addition for each load and some for the loop),
 * the address of a load can only come from the load before: it is dependent. That is an inference:
 * a stream has no values. The assembly shows it (asm.h).
 *
 * A reference is judged by the thread that executes it first.
 */
#include "predict/amm/pattern.h"

#include <stdlib.h>

#include "formats/base/room.h"
#include "formats/base/scope.h"

/* Loads that a store may follow in a loop that was unrolled; stores that a core may have under way.
 */
#define RECENT 16

/* The last of these, and how many of them have an address of each of some hashes: most addresses
 * have none, and need not be searched for. */
struct latest {
    struct psnap_access accesses[RECENT];
    uint32_t count; /* so far */
    uint8_t of_hash[256];
};

struct follower { /* of a reference */
    uint64_t address, accesses, regular;
    uint64_t repeated; /* strides that were the one before, of any size; the regular are of these */
    int64_t stride;
    uint32_t partner; /* of a store: the load of the same address shortly before */
    uint64_t stores, partnered;
    uint64_t carried, met; /* of a load: of what the store of the iteration before stored; of what
                              any of the last stores did */
    uint16_t thread;
};

struct pattern {
    struct psnap_sink base;
    const struct psnap_program *program;
    struct follower *refs;
    uint32_t count;
    size_t room;
    struct latest loads, stores;
    uint64_t stored_number[RECENT]; /* of all stores of its reference */
};

/*
 * Integer operations, beside one for each load, that a loop which follows pointers may have to
 * count and to compare. With more of them, loops that compute addresses (hashes) would be taken for
 * such loops and get a latency for each access; with fewer, lists that are counted as they are
 * followed would be taken for independent loads. It is a choice that was not varied in a
 * measurement; the assembly (--asm) decides without it.
 */
enum { LOOP_CONTROL_OPERATIONS = 4 };

static uint8_t *of_hash(struct latest *latest, uint64_t address)
{
    return &latest->of_hash[(address * UINT64_C(0x9e3779b97f4a7c15)) >> 56];
}

/* The latest access to the address of this one, by its thread; NULL: none. */
static const struct psnap_access *find(struct latest *latest, const struct psnap_access *access)
{
    const uint32_t kept = latest->count < RECENT ? latest->count : RECENT;

    for (uint32_t i = 1; i <= kept && *of_hash(latest, access->address); i++) {
        const struct psnap_access *other = &latest->accesses[(latest->count - i) % RECENT];
        if (access->address == other->address && access->thread == other->thread)
            return other;
    }
    return NULL;
}

static void add(struct latest *latest, const struct psnap_access *access)
{
    struct psnap_access *oldest = &latest->accesses[latest->count % RECENT];

    if (latest->count++ >= RECENT)
        --*of_hash(latest, oldest->address);
    *oldest = *access;
    ++*of_hash(latest, access->address);
}

static void take_store(struct pattern *pattern, struct follower *ref,
                       const struct psnap_access *store)
{
    const struct psnap_access *load = find(&pattern->loads, store);

    pattern->stored_number[pattern->stores.count % RECENT] = ++ref->stores;
    if (load) {
        ref->partner = load->ref;
        ref->partnered++;
    }
    add(&pattern->stores, store);
}

static void take_load(struct pattern *pattern, struct follower *ref,
                      const struct psnap_access *load)
{
    const struct psnap_ref *refs = pattern->program->refs;
    const struct psnap_access *store = find(&pattern->stores, load);

    if (store) {
        ref->met++;
        ref->carried += refs[load->ref].block == refs[store->ref].block && load->ref < store->ref &&
                        pattern->stored_number[store - pattern->stores.accesses] ==
                            pattern->refs[store->ref].stores;
    }
    add(&pattern->loads, load);
}

/*
 * The share of a load's accesses that meet one of the last RECENT stores from which on a core is
 * taken to wait for the addresses of all stores before it. Intel's lets a load go ahead after 15
 * that could have (Doweck, "Inside Intel Core microarchitecture and smart memory access", 2006), so
 * 1 in 15 keeps it waiting, of all stores under way, of which these are a part. The share is a
 * choice that was not varied in a measurement.
 */
#define MEETS_OFTEN 0.01

static enum psnap_status put(struct psnap_sink *self, const struct psnap_access *block, size_t n,
                             struct psnap_error *error)
{
    struct pattern *pattern = (struct pattern *)self;
    struct follower *refs =
        psnap_with_room(pattern->refs, &pattern->room, pattern->program->ref_count, sizeof *refs);

    if (!refs)
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for patterns");
    pattern->refs = refs;
    while (pattern->count < pattern->program->ref_count)
        refs[pattern->count++] = (struct follower){.partner = PSNAP_NONE};
    for (size_t i = 0; i < n; i++) {
        struct follower *ref = &refs[block[i].ref];
        const int64_t stride = (int64_t)(block[i].address - ref->address);

        if (ref->accesses && ref->thread != block[i].thread)
            continue;
        const bool repeats = ref->accesses > 1 && stride == ref->stride;
        ref->repeated += repeats;
        ref->regular += repeats && stride <= PATTERN_STRIDE_MAX && stride >= -PATTERN_STRIDE_MAX;
        ref->stride = stride;
        ref->address = block[i].address;
        ref->thread = block[i].thread;
        ref->accesses++;
        if (block[i].kind == PSNAP_LOAD)
            take_load(pattern, ref, &block[i]);
        else
            take_store(pattern, ref, &block[i]);
    }
    return PSNAP_OK;
}

static void free_pattern(struct psnap_sink *self)
{
    free(((struct pattern *)self)->refs);
    free(self);
}

struct psnap_sink *pattern_new(const struct psnap_program *program)
{
    static const struct psnap_sink_ops ops = {.put = put, .free = free_pattern};
    struct pattern *pattern = calloc(1, sizeof *pattern);

    if (!pattern)
        return NULL;
    pattern->base.ops = &ops;
    pattern->program = program;
    return &pattern->base;
}

/* Of so few accesses there is nothing to see: they count as regular. */
static bool is_regular(const struct follower *ref)
{
    return ref->accesses < 4 || 2 * ref->regular > ref->accesses;
}

/* By strides alone, small or large: no load has to be waited for to know the next address. */
static bool is_computed(const struct follower *ref)
{
    return 2 * ref->repeated > ref->accesses;
}

uint32_t pattern_partner(const struct psnap_sink *sink, uint32_t ref)
{
    const struct pattern *pattern = (const struct pattern *)sink;
    const struct follower *of = ref < pattern->count ? &pattern->refs[ref] : NULL;

    if (!of || !of->stores)
        return PSNAP_NONE;
    return 2 * of->partnered > of->stores ? of->partner : ref;
}

enum pattern_memory pattern_memory(const struct psnap_sink *sink, uint32_t ref)
{
    const struct pattern *pattern = (const struct pattern *)sink;
    const struct follower *of = ref < pattern->count ? &pattern->refs[ref] : NULL;

    if (!of || !of->met)
        return PATTERN_FREE;
    if (2 * of->carried > of->accesses)
        return PATTERN_CARRIED;
    return (double)of->met > MEETS_OFTEN * (double)of->accesses && 2 * of->met < of->accesses
               ? PATTERN_MEETS
               : PATTERN_FREE;
}

enum psnap_status pattern_all(const struct psnap_sink *sink, enum runtime_pattern *patterns,
                              struct psnap_error *error)
{
    const struct pattern *pattern = (const struct pattern *)sink;
    const struct psnap_program *program = pattern->program;
    struct psnap_grouping loops = {0};
    bool *has_index = NULL;
    uint32_t *loads = calloc(program->block_count + (size_t)1, sizeof *loads); /* of a block */
    bool fits =
        loads && psnap_grouping_init(&loops, PSNAP_SCOPE_LOOP, program, program->ref_count, NULL);

    if (fits)
        has_index = calloc(loops.row_count + (size_t)1, sizeof *has_index);
    fits = has_index != NULL;
    for (uint32_t i = 0; i < program->ref_count && fits; i++) {
        const bool is_followed = i < pattern->count && pattern->refs[i].accesses;
        patterns[i] =
            !is_followed || is_regular(&pattern->refs[i]) ? RUNTIME_REGULAR : RUNTIME_IRREGULAR;
        if (program->refs[i].kind != PSNAP_LOAD || !is_followed)
            continue;
        loads[program->refs[i].block]++;
        has_index[psnap_grouping_row(&loops, i)] |=
            patterns[i] == RUNTIME_REGULAR || is_computed(&pattern->refs[i]);
    }
    for (uint32_t i = 0; i < program->ref_count && fits; i++) {
        const struct psnap_ref *ref = &program->refs[i];
        const uint32_t additions = program->blocks[ref->block].operations[PSNAP_OP_INT_ADD];
        if (patterns[i] == RUNTIME_IRREGULAR && ref->kind == PSNAP_LOAD &&
            !has_index[psnap_grouping_row(&loops, i)] &&
            additions <= loads[ref->block] + LOOP_CONTROL_OPERATIONS)
            patterns[i] = RUNTIME_DEPENDENT;
    }
    free(has_index);
    free(loads);
    psnap_grouping_release(&loops);
    return fits ? PSNAP_OK
                : psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for patterns");
}
