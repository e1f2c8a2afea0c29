/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The builder: an access stream to a profile, in one pass and bounded memory.
 * This file is the hot loop. Per access it looks at the reference's last
 * region (builder.h says why a match is exact), and counts one stride edge and,
 * for the reference, one access of the kind and size that its last one had, which the region
 * gets when anything about that changes; histograms, working sets and access counts are sums of
 * these, formed once at the end. All else is on the slow path: a reference, a loop, a stride
 * or a size seen for the first time, another loop, another region, a new or full loop.
 *
 * Strides are differences to the previous address in the same region, whichever
 * instruction made it. A builder sees the accesses of one thread
 * (builder_threads.c). The stream must keep to program.h: a ref belongs to one
 * loop for ever.
 */
#include "profile/build/builder.h"

#include <inttypes.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

enum {
    SCHEDULE_PERIOD = 32, /* longest round of loops that is looked for */
    SCHEDULE_ITEMS = 256  /* beyond these the order of the newer half is given up */
};

static bool grow_refs(struct builder *b)
{
    uint32_t count = b->program->ref_count;
    struct ref_state *refs = realloc(b->refs, count * sizeof *refs);
    struct build_plan **plans;

    if (!refs)
        return false;
    b->refs = refs;
    plans = realloc(b->plans, count * sizeof *plans);
    if (!plans)
        return false;
    b->plans = plans;
    for (uint32_t i = b->ref_count; i < count; i++) {
        refs[i] = (struct ref_state){.region = &b->nowhere};
        plans[i] = NULL;
    }
    b->ref_count = count;
    return true;
}

static bool grow_loops(struct builder *b)
{
    uint32_t count = b->program->loop_count;
    uint32_t *loop_of = realloc(b->loop_of, count * sizeof *loop_of);
    struct build_loop **loops;

    if (!loop_of)
        return false;
    for (uint32_t i = b->loop_of_count; i < count; i++)
        loop_of[i] = PSNAP_NONE;
    b->loop_of = loop_of;
    loops = realloc(b->loops, count * sizeof *loops);
    if (!loops)
        return false;
    b->loops = loops;
    b->loop_of_count = count;
    return true;
}

static int compare_ids(const void *a, const void *b)
{
    return strcmp(((const struct build_name *)a)->id, ((const struct build_name *)b)->id);
}

static int compare_sources(const void *a, const void *b)
{
    return strcmp(((const struct build_name *)a)->src_id, ((const struct build_name *)b)->src_id);
}

/* The other one of the vector body and the remainder of a loop: "f:12.rest2" of "f:12.vector2". */
static const struct build_loop *find_remainder(const struct builder *b, const char *id)
{
    static const char *const suffixes[2] = {".vector", ".rest"};
    struct build_loop *const *found = NULL;

    for (unsigned i = 0; i < 2 && !found; i++) {
        const char *mine = strstr(id, suffixes[i]), *other = suffixes[1 - i];
        struct build_name name = {.src_id = ""};
        size_t stem = mine ? (size_t)(mine - id) : 0;
        char *text = mine ? malloc(strlen(id) + strlen(other) + 1) : NULL;
        if (!text)
            continue;
        memcpy(text, id, stem);
        strcpy(text + stem, other);
        strcat(text + stem, mine + strlen(suffixes[i]));
        name.id = text;
        found = tfind(&name, &b->by_id, compare_ids);
        free(text);
    }
    return found ? *found : NULL;
}

/* Finds out which source loop and which unit of the schedule a loop belongs to, and makes it
 * known; false when out of memory. */
static bool introduce(struct builder *b, struct build_loop *loop)
{
    const struct psnap_loop *about = &b->program->loops[loop->index];
    const struct build_loop *remainder = find_remainder(b, about->id);
    struct build_loop *const *first;

    loop->name = (struct build_name){about->id, about->src_id};
    if (remainder)
        loop->unit = remainder->unit;
    first = tsearch(loop, &b->by_source, compare_sources);
    if (!first || !tsearch(loop, &b->by_id, compare_ids))
        return false;
    loop->source = (*first)->source;
    return true;
}

/* The loop of a reference seen for the first time. */
static enum psnap_status meet_ref(struct builder *b, uint32_t ref, struct psnap_error *error)
{
    uint32_t loop = b->program->refs[ref].loop;
    struct build_loop *built;

    if (loop >= b->program->loop_count)
        return psnap_error_set(error, PSNAP_ERROR_VALUE, "reference %" PRIu32 " belongs to no loop",
                               ref);
    if (loop >= b->loop_of_count && !grow_loops(b))
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    if (b->loop_of[loop] == PSNAP_NONE) {
        built = build_loop_new(loop, b->options.region_gap_bytes, b->options.region_limit);
        if (!built)
            return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
        built->account = &b->loop_bytes;
        b->loop_bytes += built->bytes;
        b->loop_of[loop] = b->loop_count;
        b->loops[b->loop_count++] = built;
        if (!introduce(b, built))
            return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    }
    built = b->loops[b->loop_of[loop]];
    b->refs[ref].loop = built;
    b->refs[ref].next = built->refs;
    built->refs = ref;
    return PSNAP_OK;
}

static void join_units(const struct builder *b, const struct build_loop *into,
                       const struct build_loop *loop)
{
    const uint32_t unit = loop->unit;

    if (unit != into->unit)
        for (uint32_t i = 0; i < b->loop_count; i++)
            if (b->loops[i]->unit == unit)
                b->loops[i]->unit = into->unit;
}

/* The visit that is going on ends here, and one of `next` begins. */
static enum psnap_status end_visit(struct builder *b, struct build_loop *next)
{
    const struct build_loop *ended = b->visited;
    const uint64_t accesses = b->position - b->visit_start;

    b->visited = next;
    b->visit_start = b->position;
    return ended ? fold_append(&b->visits, ended->unit, accesses) : PSNAP_OK;
}

/*
 * A visit for the schedule, unless it goes on. The parts that the optimiser made of a
 * source loop and that follow each other are one unit: whether an entry reaches
 * the remainder of a vectorised loop depends on data, and would keep regular
 * schedules from folding.
 */
static enum psnap_status visit_loop(struct builder *b, struct build_loop *loop)
{
    struct build_loop *last = b->last_visited;

    if (last == loop)
        return PSNAP_OK;
    b->last_visited = loop;
    if (last && last->source == loop->source) {
        join_units(b, last, loop);
        if (loop->index > last->index)
            return PSNAP_OK; /* a later part in the code: the same visit */
    }
    return end_visit(b, loop);
}

enum psnap_status build_switch_loop(struct builder *b, const struct psnap_access *access,
                                    struct psnap_error *error)
{
    struct ref_state *state = &b->refs[access->ref];
    enum psnap_status status = state->loop ? PSNAP_OK : meet_ref(b, access->ref, error);

    if (status)
        return status;
    b->current = state->loop;
    if (b->options.schedule != PSNAP_SCHEDULE_FIRST && visit_loop(b, state->loop))
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    return PSNAP_OK;
}

/* What a reference has counted becomes its region's. */
static void give_count(struct build_loop *loop, struct ref_state *ref)
{
    unsigned place;

    if (!ref->count)
        return;
    place = build_shape_place(loop, ref->region, ref->key); /* which may move them */
    ref->region->shapes[place].count += ref->count;
    ref->count = 0;
}

/* The same of all of a loop's references; false: out of memory. */
static bool give_counts(const struct builder *b, struct build_loop *loop)
{
    bool is_short = false;

    for (uint32_t ref = loop->refs; ref != PSNAP_NONE; ref = b->refs[ref].next) {
        give_count(loop, &b->refs[ref]);
        is_short |= b->refs[ref].region->is_short;
    }
    return !is_short;
}

/* The region of an address that is not in the reach of its reference's last one; opened if need
 * be. NULL: out of memory. */
static struct build_region *enter_region(struct builder *b, const struct psnap_access *access)
{
    struct build_loop *loop = b->current;
    struct build_region *region;

    b->region_count -= loop->count;
    give_count(loop, &b->refs[access->ref]);
    if (loop->visits >= loop->restless_at &&
        (!give_counts(b, loop) || build_loop_settle(loop, b->program)))
        return NULL;
    region = build_region_find(loop, access->address);
    if (!region && loop->count && b->region_count + loop->count >= BUILD_REGIONS_MAX)
        region = build_region_stretch(loop, access->address);
    if (!region && loop->count == loop->limit) {
        if (!give_counts(b, loop) || build_loop_merge(loop, b->program, BUILD_MERGE_FULL))
            return NULL;
        region = build_region_find(loop, access->address);
    }
    if (!region) {
        const struct psnap_ref *ref = &b->program->refs[access->ref];
        region = build_region_open(loop, access->address, access->size);
        if (!region)
            return NULL;
        if (ref->object) {
            region->named = true;
            region->object = ref->object;
            region->object_kind = ref->object_kind;
        }
    }
    if (region != loop->entered) {
        region->visits++;
        loop->visits++;
    }
    b->region_count += loop->count;
    loop->entered = region;
    loop->moves++;
    b->refs[access->ref].region = region;
    return region;
}

/* What foreign streams may get wrong, and a table that has grown. */
static enum psnap_status check_access(struct builder *b, const struct psnap_access *access,
                                      struct psnap_error *error)
{
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
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    return PSNAP_OK;
}

static inline unsigned bin_of(const struct builder *b, const struct build_region *region,
                              uint64_t address)
{
    const uint64_t place = address - region->previous + PSNAP_STRIDE_MAX;

    return b->bins[place < BUILD_BINS_SPAN ? place : BUILD_BINS_SPAN];
}

static inline void count_stride(struct build_region *region, uint64_t address, unsigned row,
                                unsigned step)
{
    region->previous = address;
    ++*build_edge(region, row, step);
    region->row = (uint16_t)build_row(step);
}

/* The same of an access that may be the region's first, which has none. */
static void count_any_stride(struct builder *b, struct build_region *region, uint64_t address)
{
    unsigned row = region->row, step;

    if (row == BUILD_OPENED) {
        region->row = 0;
        return;
    }
    step = build_step(b->current, region, bin_of(b, region, address), &row);
    count_stride(region, address, row, step);
}

/* One access in general: anything about it may be new. */
static enum psnap_status put_any(struct builder *b, const struct psnap_access *access,
                                 struct psnap_error *error)
{
    const uint64_t address = access->address, last_byte = address + access->size - 1;
    enum psnap_status status = check_access(b, access, error);
    const uint32_t key = build_key(access->kind, access->size);
    struct build_region *region;
    struct ref_state *ref;

    if (!status && (b->refs[access->ref].loop != b->current || !b->current))
        status = build_switch_loop(b, access, error);
    if (status)
        return status;
    region = b->refs[access->ref].region;
    if (address - region->reach_low >= region->reach_bytes) {
        region = enter_region(b, access);
        if (!region)
            return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    }
    ref = &b->refs[access->ref];
    if (ref->key != key)
        give_count(b->current, ref);
    ref->key = key;
    ref->count++;
    count_any_stride(b, region, address);
    if (address < region->low || address > region->high || last_byte > region->last_byte)
        build_region_widen(b->current, region, address, last_byte);
    if (region->is_short ||
        (b->current->pattern_count < BUILD_PATTERN && !build_loop_note(b->current, region->slot)))
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    return PSNAP_OK;
}

/* The stream goes on in another loop, which has been met and has its pattern; before it are
 * `position` accesses. */
static inline bool go_to_loop(struct builder *b, struct build_loop *loop, uint64_t position)
{
    b->position = position;
    b->current = loop;
    return b->options.schedule == PSNAP_SCHEDULE_FIRST || !visit_loop(b, loop);
}

/*
 * Nearly all accesses are within the bounds of the region that their reference
 * touched last: these only count. Where loops are short, each third may be of another
 * loop than the one before it.
 */
enum psnap_status build_put(struct psnap_sink *self, const struct psnap_access *block, size_t n,
                            struct psnap_error *error)
{
    struct builder *b = (struct builder *)self;
    const struct psnap_access *access = block, *const end = block + n;
    const uint64_t before = b->position;

    while (access < end) {
        struct ref_state *refs = b->refs;
        const struct build_loop *loop = b->current;
        const uint32_t ref_count = loop && loop->pattern_count == BUILD_PATTERN ? b->ref_count : 0;
        enum psnap_status status;

        for (; access < end; access++) {
            const uint64_t address = access->address;
            struct ref_state *ref;
            struct build_region *region;
            unsigned step;
            if (access->ref >= ref_count)
                break;
            ref = &refs[access->ref];
            region = ref->region;
            if (address < region->low || address > region->high ||
                region->last_byte - address < access->size - 1u)
                break;
            step = region->steps[bin_of(b, region, address)];
            if (ref->key != build_key(access->kind, access->size) || step == BUILD_NO_STEP)
                break;
            if (ref->loop != loop) {
                loop = ref->loop;
                if (loop->pattern_count < BUILD_PATTERN)
                    break;
                if (!go_to_loop(b, ref->loop, before + (uint64_t)(access - block)))
                    return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
            }
            ref->count++;
            count_stride(region, address, region->row, step);
        }
        b->position = before + (uint64_t)(access - block);
        if (access == end)
            break;
        status = put_any(b, access++, error);
        if (status)
            return status;
    }
    b->position = before + n;
    return PSNAP_OK;
}

/* Makes tdelete take the root: the program, and so the names, may be gone. */
static int compare_nothing(const void *a, const void *b)
{
    (void)a, (void)b;
    return 0;
}

/* What loops are found by, while there are loops to meet. */
static void forget_names(struct builder *b)
{
    while (b->by_id)
        tdelete(b, &b->by_id, compare_nothing);
    while (b->by_source)
        tdelete(b, &b->by_source, compare_nothing);
}

static enum psnap_status finish(struct psnap_sink *self, struct psnap_error *error)
{
    struct builder *b = (struct builder *)self;

    bool is_done = !end_visit(b, NULL);

    forget_names(b);
    for (uint32_t i = 0; i < b->loop_count; i++)
        is_done = give_counts(b, b->loops[i]) && is_done;
    if (!is_done)
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    return PSNAP_OK;
}

static void builder_free(struct psnap_sink *self)
{
    struct builder *b = (struct builder *)self;

    forget_names(b);
    for (uint32_t i = 0; i < b->loop_count; i++)
        build_loop_free(b->loops[i]);
    for (uint32_t i = 0; i < b->ref_count; i++)
        free(b->plans[i]);
    fold_release(&b->visits);
    free(b->loops);
    free(b->loop_of);
    free(b->refs);
    free(b->plans);
    build_nest_free(b->nest);
    free(b);
}

static const struct psnap_sink_ops builder_ops = {build_put, finish, builder_free, build_put_run,
                                                  build_put_nest};

struct builder *build_new(struct psnap_program *program,
                          const struct psnap_builder_options *options)
{
    struct builder *b = calloc(1, sizeof *b);

    if (!b)
        return NULL;
    b->base.ops = &builder_ops;
    b->program = program;
    b->options = *options;
    b->nowhere.low = UINT64_MAX; /* and high 0: it holds no address */
    fold_init(&b->visits, false, SCHEDULE_PERIOD, SCHEDULE_ITEMS);
    for (int stride = -PSNAP_STRIDE_MAX; stride <= PSNAP_STRIDE_MAX; stride++)
        b->bins[stride + PSNAP_STRIDE_MAX] = (uint8_t)psnap_stride_bin(stride);
    b->bins[BUILD_BINS_SPAN] = PSNAP_STRIDE_RANDOM;
    return b;
}
