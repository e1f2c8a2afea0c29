/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs, region by region. What an access adds to a profile depends on the one
 * before it in the same region alone, so while every reference of a run stays
 * in its region, the regions can be done one after the other, each with its group
 * of references (builder_group.c).
 *
 * Which references of a loop are in which region changes rarely: it is kept in a
 * plan, for runs that begin with the same reference. Where references leave their
 * regions the repetitions are put one by one. A test compares both ways on
 * random runs.
 */
#include "profile/build/builder.h"

#include <stdlib.h>

/* A reference of a run, as it was when the plan was made. */
struct member {
    struct build_region *region;
    uint32_t ref;
    uint8_t size, kind;
    uint8_t shape; /* where the region has that, most likely */
};

struct build_plan {
    uint64_t moves; /* of the loop when the plan was seen to hold */
    uint32_t shape; /* of the run then */
    uint32_t width, groups;
    struct member members[];
    /* uint8_t places[width], of members, group after group; uint8_t widths[width], of groups */
};

static size_t plan_bytes(size_t width)
{
    return sizeof(struct build_plan) + width * (sizeof(struct member) + 2);
}

static uint8_t *plan_places(const struct build_plan *plan)
{
    return (uint8_t *)(uintptr_t)(plan->members + plan->width);
}

static uint8_t *plan_widths(const struct build_plan *plan)
{
    return plan_places(plan) + plan->width;
}

/* Whether the plan holds for the run. */
static bool is_planned(const struct builder *b, struct build_plan *plan,
                       const struct psnap_run *run)
{
    const struct build_loop *loop = b->current;

    if (!plan || plan->width != run->width)
        return false;
    if (run->shape && plan->shape == run->shape && plan->moves == loop->moves)
        return true;
    for (size_t k = 0; k < run->width; k++) {
        const struct psnap_access *access = &run->first[k];
        const struct member *member = &plan->members[k];
        if (access->ref != member->ref || access->size != member->size ||
            access->kind != member->kind || b->refs[member->ref].region != member->region)
            return false;
    }
    plan->shape = run->shape;
    plan->moves = loop->moves;
    return true;
}

/* Puts members into groups by their regions. */
static void make_groups(struct build_plan *plan)
{
    uint8_t *const order = plan_places(plan), *const widths = plan_widths(plan);
    uint64_t is_done = 0;
    size_t places = 0;

    plan->groups = 0;
    for (size_t k = 0; k < plan->width; k++) {
        const size_t begin = places;
        if (is_done >> k & 1)
            continue;
        for (size_t m = k; m < plan->width; m++)
            if (plan->members[m].region == plan->members[k].region) {
                is_done |= UINT64_C(1) << m;
                order[places++] = (uint8_t)m;
            }
        widths[plan->groups++] = (uint8_t)(places - begin);
    }
}

/* The plan of a run whose references are known, made if need be; NULL when out of memory. */
static struct build_plan *plan_run(struct builder *b, const struct psnap_run *run)
{
    struct build_plan *plan = b->plans[run->first->ref];
    const size_t old = plan ? plan->width : 0;

    if (is_planned(b, plan, run))
        return plan;
    if (!plan || plan->width != run->width) {
        struct build_plan *larger = realloc(plan, plan_bytes(run->width));
        if (!larger)
            return NULL;
        b->plan_bytes += plan_bytes(run->width) - (plan ? plan_bytes(old) : 0);
        b->plans[run->first->ref] = plan = larger;
    }
    plan->width = (uint32_t)run->width;
    plan->shape = run->shape;
    plan->moves = b->current->moves;
    for (size_t k = 0; k < run->width; k++) {
        const struct psnap_access *access = &run->first[k];
        plan->members[k] = (struct member){.region = b->refs[access->ref].region,
                                           .ref = access->ref,
                                           .size = access->size,
                                           .kind = access->kind};
    }
    make_groups(plan);
    return plan;
}

/* The groups of a run that has this plan. */
static void set_groups(struct builder *b, const struct build_plan *plan,
                       const struct psnap_run *run)
{
    const uint8_t *places = plan_places(plan), *const widths = plan_widths(plan);

    for (size_t g = 0; g < plan->groups; places += widths[g++]) {
        b->groups[g] = (struct build_group){.run = run,
                                            .region = plan->members[*places].region,
                                            .places = places,
                                            .width = widths[g]};
        build_group_look(&b->groups[g]);
    }
}

/* Whether the whole run lies in its regions as they are. */
static bool is_inside(const struct builder *b, const struct build_plan *plan)
{
    for (size_t g = 0; g < plan->groups; g++)
        if (!build_group_is_inside(&b->groups[g]))
            return false;
    return true;
}

/* Repetitions [from, end), in which every reference stays in the region that it is in. */
static enum psnap_status put_inside(struct builder *b, struct build_plan *plan, uint64_t from,
                                    uint64_t end)
{
    bool is_short = false;

    for (size_t k = 0; k < plan->width; k++) {
        struct member *member = &plan->members[k];
        struct build_region *region = member->region;
        const uint32_t key = build_key(member->kind, member->size);
        const unsigned shape = build_shape(b->current, region, &member->shape, key);
        region->shapes[shape].count += end - from;
    }
    for (size_t g = 0; g < plan->groups; g++) {
        build_group_put(b, &b->groups[g], from, end);
        is_short |= b->groups[g].region->is_short;
    }
    b->position += (end - from) * plan->width;
    return is_short ? PSNAP_ERROR_MEMORY : PSNAP_OK;
}

/* Makes the regions' ranges hold repetitions [from, end). */
static void widen(struct builder *b, const struct build_plan *plan, const struct psnap_run *run,
                  uint64_t from, uint64_t end)
{
    for (size_t k = 0; k < run->width; k++) {
        const uint64_t ends[2] = {psnap_run_address(run, from, k),
                                  psnap_run_address(run, end - 1, k)};
        for (unsigned i = 0; i < 2 && !build_column(run, k); i++)
            build_region_widen(b->current, plan->members[k].region, ends[i],
                               ends[i] + run->first[k].size - 1);
    }
}

/* How many accesses, from the one at `address` on by `stride`, are in the region: it may grow
 * upwards, by steps within the gap, as far as that concerns no neighbour. */
static uint64_t steps_inside(const struct build_loop *loop, const struct build_region *region,
                             const struct psnap_access *access, uint64_t address, int64_t stride)
{
    uint64_t bound = region->high;

    if (stride >= 0 && (uint64_t)stride <= loop->gap && region->free_high > bound &&
        (address <= bound || address - bound <= loop->gap))
        bound = region->free_high;
    if (address < region->low || address > bound || bound > UINT64_MAX - access->size)
        return 0;
    if (stride == 0)
        return UINT64_MAX;
    if (stride < 0)
        return (address - region->low) / (0 - (uint64_t)stride) + 1;
    return (bound - address) / (uint64_t)stride + 1;
}

/* The same of a column from repetition `from` on, at most `most`. */
static uint64_t words_inside(const struct build_region *region, const struct psnap_access *access,
                             const struct psnap_column *column, uint64_t from, uint64_t most)
{
    const uint64_t size = access->size;
    const uint64_t *word = column->words + from * column->pitch;
    uint64_t bound = region->last_byte - (size - 1), n = 0;

    if (bound > region->high)
        bound = region->high;
    if (region->last_byte < size - 1 || bound < region->low)
        return 0;
    while (n < most && *word + column->offset - region->low <= bound - region->low) {
        word += column->pitch;
        n++;
    }
    return n;
}

/* The repetition before which, from `from` on, every reference stays in the region that it is in.
 */
static uint64_t last_inside(const struct builder *b, const struct build_plan *plan,
                            const struct psnap_run *run, uint64_t from)
{
    uint64_t inside = run->count - from;

    for (size_t k = 0; k < run->width && inside; k++) {
        const struct psnap_access *access = &run->first[k];
        const struct build_region *region = plan->members[k].region;
        const struct psnap_column *column = build_column(run, k);
        const uint64_t mine = column
                                  ? words_inside(region, access, column, from, inside)
                                  : steps_inside(b->current, region, access,
                                                 psnap_run_address(run, from, k), run->strides[k]);
        inside = mine < inside ? mine : inside;
    }
    return from + inside;
}

/* Whether all is known about the references that build_put asks of an access, but for its place. */
static bool is_known(const struct builder *b, const struct psnap_run *run)
{
    if (!b->current || b->current->pattern_count < BUILD_PATTERN || run->width > BUILD_RUN_WIDTH)
        return false;
    for (size_t k = 0; k < run->width; k++) {
        const struct psnap_access *access = &run->first[k];
        if (access->ref >= b->ref_count || b->refs[access->ref].loop != b->current ||
            access->size - 1u >= PSNAP_ACCESS_SIZE_MAX || access->kind > PSNAP_ATOMIC)
            return false;
    }
    return true;
}

static enum psnap_status no_memory(struct psnap_error *error)
{
    return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
}

/* Repetitions of a run that leaves its regions: as many as stay in them at once, one by one where
 * they do not, and until the pattern buffer is full. Where that happens all the time, ever more are
 * put one by one before the next look. */
static enum psnap_status put_leaving(struct builder *b, const struct psnap_run *run,
                                     struct psnap_error *error)
{
    uint64_t done = 0, singly = 1;

    while (done < run->count) {
        struct build_plan *plan = is_known(b, run) ? plan_run(b, run) : NULL;
        const uint64_t inside = plan ? last_inside(b, plan, run, done) : done;
        uint64_t end = singly < run->count - done ? done + singly : run->count;
        enum psnap_status status;
        if (inside > done) {
            set_groups(b, plan, run);
            if (put_inside(b, plan, done, inside))
                return no_memory(error);
            widen(b, plan, run, done, inside);
            done = inside;
            singly = 1;
            continue;
        }
        status = psnap_sink_put_repetitions(&b->base, run, done, end, error);
        if (status)
            return status;
        done = end;
        singly *= 2;
    }
    return PSNAP_OK;
}

enum psnap_status build_put_run(struct psnap_sink *self, const struct psnap_run *run,
                                struct psnap_error *error)
{
    struct builder *b = (struct builder *)self;
    const struct ref_state *state =
        run->width && run->first->ref < b->ref_count ? &b->refs[run->first->ref] : NULL;
    struct build_plan *plan;

    if (state && state->loop && state->loop != b->current && run->count &&
        build_switch_loop(b, run->first, error))
        return PSNAP_ERROR_MEMORY;
    plan = state ? b->plans[run->first->ref] : NULL;
    if (state && b->current && run->count && is_planned(b, plan, run)) {
        set_groups(b, plan, run);
        if (is_inside(b, plan))
            return put_inside(b, plan, 0, run->count) ? no_memory(error) : PSNAP_OK;
    }
    return put_leaving(b, run, error);
}
