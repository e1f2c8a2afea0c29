/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A model's stream, execution by execution (walk.h).
 */
#include "profile/walk/walk.h"

#include <stdlib.h>
#include <string.h>

#include "formats/base/program.h"

enum {
    RUN_MIN = 32,  /* accesses: fewer are written out */
    BASES_MAX = 64 /* references that depend on each other */
};

/* ---- addresses ---- */

/* Tells the recall of an access to an address; false: out of memory. */
static inline bool enter(struct walk *walk, struct walk_ref *ref, uint64_t address)
{
    walk->recall.recent[walk->now % RECALL_RECENT] = address;
    if (address - ref->low >= ref->end - ref->low)
        ref->object = recall_object_at(&walk->recall, address, &ref->low, &ref->end);
    return ref->object == PSNAP_NONE ||
           recall_touch(&walk->recall, ref->object, address, walk->now);
}

/* An offset of a dependent reference, by their counts. */
static uint64_t draw_offset(struct walk *walk, const struct model_ref *from)
{
    uint64_t sum = 0, ticket;
    uint32_t at = 0;

    if (from->offset_count == 1)
        return (uint64_t)from->offsets[0].bytes;
    for (uint32_t i = 0; i < from->offset_count; i++)
        sum += from->offsets[i].count;
    for (ticket = psnap_rng_below(&walk->rng, sum); ticket >= from->offsets[at].count; at++)
        ticket -= from->offsets[at].count;
    return (uint64_t)from->offsets[at].bytes;
}

/* The latest address of a dependent reference's bases. */
static uint64_t latest_base(const struct walk *walk, const struct model_ref *from)
{
    const struct walk_ref *latest = &walk->refs[from->bases[0]];

    for (uint32_t i = 1; i < from->base_count; i++)
        if (walk->refs[from->bases[i]].latest_time > latest->latest_time)
            latest = &walk->refs[from->bases[i]];
    return latest->latest;
}

static inline bool access_one(struct walk *walk, uint32_t index, uint64_t *address)
{
    const struct model_ref *from = &walk->model->refs[index];
    struct walk_ref *ref = &walk->refs[index];

    if (from->rule == MODEL_NEST || from->rule == MODEL_SHARED) {
        *address = reader_take(&walk->refs[ref->nest].reader, ref->takes);
        if (walk->refs[ref->nest].reader.has_failed)
            return false;
    } else if (from->rule == MODEL_DEPENDENT)
        *address = latest_base(walk, from) + draw_offset(walk, from);
    else
        *address = draw_address(&ref->draw, from, &walk->recall, walk->now, &walk->rng);
    ref->latest = *address;
    ref->latest_time = walk->now;
    return !walk->is_tracked || enter(walk, ref, *address);
}

/*
 * A run accesses a line several times in a row; only the last one of these accesses need enter the
 * recall. Returns the first repetition from i on that has such an access of the reference, to a
 * line of an object that is drawn from; `count` if there is none.
 */
static uint64_t next_entry(const struct walk *walk, struct walk_ref *ref, uint64_t first,
                           uint64_t stride, uint64_t count, uint64_t i)
{
    while (i < count) {
        const uint64_t address = first + i * stride;
        uint64_t more = 0; /* repetitions until that line is left, or the object */
        if (address - ref->low >= ref->end - ref->low)
            ref->object = recall_object_at(&walk->recall, address, &ref->low, &ref->end);
        if (!stride)
            more = count;
        else if (stride < 64)
            more = (63 - (uint32_t)address % 64) / (uint32_t)stride;
        else if (-stride < 64)
            more = (uint32_t)address % 64 / (uint32_t)-stride;
        if (ref->object != PSNAP_NONE)
            return more < count - 1 - i ? i + more : count - 1;
        if (stride && stride < ref->end - address && stride < (UINT64_C(1) << 32))
            more = (ref->end - 1 - address) / stride;
        i += more < count - 1 - i ? more + 1 : count - i;
    }
    return count;
}

/* Enters the line of column k's access in repetition `at`, which is due, and finds the next one;
 * false: out of memory. */
static bool enter_due(struct walk *walk, const struct model_body *body, uint32_t k, uint64_t at,
                      uint64_t count)
{
    struct walk_ref *ref = &walk->refs[body->refs[k]];
    const uint64_t first = walk->first[k].address, stride = (uint64_t)walk->strides[k];
    const uint64_t address = first + at * stride;

    if (address - ref->low >= ref->end - ref->low)
        ref->object = recall_object_at(&walk->recall, address, &ref->low, &ref->end);
    if (ref->object != PSNAP_NONE &&
        !recall_touch(&walk->recall, ref->object, address, walk->now + at * body->width + k))
        return false;
    walk->due[k] = next_entry(walk, ref, first, stride, count, at + 1);
    return true;
}

/* Enters the lines of a run into the recall, in the order in which the run leaves them: afterwards
 * the logs are as if each access had been entered by itself. False: out of memory. */
static bool enter_run(struct walk *walk, const struct model_body *body, uint64_t count)
{
    uint64_t *due = walk->due, at = 0, next;

    for (uint32_t k = 0; k < body->width; k++)
        due[k] = next_entry(walk, &walk->refs[body->refs[k]], walk->first[k].address,
                            (uint64_t)walk->strides[k], count, 0);
    for (; at < count; at = next) {
        next = count;
        for (uint32_t k = 0; k < body->width; k++) {
            if (due[k] == at && !enter_due(walk, body, k, at, count))
                return false;
            next = due[k] < next ? due[k] : next;
        }
    }
    return true;
}

/* ---- the next execution ---- */

static uint64_t next_trips(struct walk *walk, uint32_t body)
{
    struct walk_body *of = &walk->bodies[body];
    const uint64_t trips = walk->model->bodies[body].is_drawn
                               ? trips_draw_next(&of->trips, &walk->rng)
                               : reader_next(&of->reader);

    walk->has_failed |= of->reader.has_failed;
    return trips;
}

/* A body of parts begins with the first of them. */
static void begin_whole(struct walk *walk, uint32_t body)
{
    const struct model_body *whole = &walk->model->bodies[body];

    walk->whole = body;
    walk->part = 0;
    if (whole->is_counted)
        expand_counts(whole->parts, whole->part_count, next_trips(walk, body), walk->counts);
}

/* Returns 1 when the body executes next, 0 when the body is one of parts, which will execute. */
static int begin_body(struct walk *walk, uint32_t body)
{
    if (walk->model->bodies[body].part_count) {
        begin_whole(walk, body);
        return 0;
    }
    walk->body = body;
    walk->column = 0;
    walk->iterations = next_trips(walk, body);
    return 1;
}

/* Begins the next part of a body of parts. Returns as begin_body; 0 also when there is no more. */
static int begin_part(struct walk *walk)
{
    const struct model_body *whole = &walk->model->bodies[walk->whole];
    const uint32_t part = walk->part++;

    if (part == whole->part_count) {
        walk->whole = PSNAP_NONE;
        return 0;
    }
    if (!whole->is_counted)
        return begin_body(walk, whole->parts[part].body);
    walk->body = whole->parts[part].body;
    walk->column = 0;
    walk->iterations = walk->counts[part];
    return 1;
}

/*
 * The recall becomes that of the thread whose order begins. Each thread has objects of its own,
 * also where several threads access the same memory, because reuse times are those of a thread: an
 * access must not enter the log of another thread's object. False: out of memory.
 */
static bool begin_order(struct walk *walk)
{
    const struct psnap_stream_model *model = walk->model;
    const uint16_t thread = model->orders[walk->order].thread;
    struct psnap_stream_model of_thread = {.objects = walk->objects};
    const struct psnap_rng rng = walk->recall.rng;

    memset(walk->numbers, 0xff, model->object_count * sizeof *walk->numbers);
    for (uint32_t i = 0; i < model->ref_count; i++) {
        const struct model_ref *ref = &model->refs[i];
        walk->refs[i].low = walk->refs[i].end = 0; /* bounds of an object in the recall before */
        for (uint32_t k = 0; ref->thread == thread && k < ref->reuse_count; k++)
            walk->numbers[ref->reuses[k].object] = 0;
    }
    for (uint32_t i = 0; i < model->object_count; i++)
        if (walk->numbers[i] != PSNAP_NONE) {
            walk->objects[of_thread.object_count] = model->objects[i];
            walk->numbers[i] = of_thread.object_count++;
        }
    recall_release(&walk->recall);
    if (!recall_init(&walk->recall, &of_thread, walk->seed))
        return false;
    if (walk->begun)
        walk->recall.rng = rng;
    walk->begun = walk->order + 1;
    walk->now = 0;
    return true;
}

/* Reads the next symbol of the orders. Returns 1, 0 at the end, negative: out of memory. */
static int next_symbol(struct walk *walk, uint32_t *symbol)
{
    const struct psnap_stream_model *model = walk->model;

    for (;;) {
        const struct nest_terms *terms;
        const uint64_t *values;
        if (walk->is_inside) {
            struct nest_leaf leaf;
            const int more = nest_cursor_next(&walk->cursor, &leaf);
            if (more > 0)
                *symbol = leaf.pattern->symbol;
            if (more)
                return more;
            walk->is_inside = false;
        }
        if (walk->order == walk->last)
            return 0;
        if (walk->begun <= walk->order && !begin_order(walk))
            return -1;
        terms = &model->orders[walk->order].terms;
        if (walk->term == terms->count) {
            walk->order++;
            walk->term = 0;
            continue;
        }
        values = nest_term_values(terms, walk->term);
        if (!terms->terms[walk->term].pattern->body_count) {
            *symbol = terms->terms[walk->term++].pattern->symbol;
            return 1;
        }
        if (!nest_cursor_start(&walk->cursor, terms->terms[walk->term++].pattern, values, 0,
                               values[0]))
            return -1;
        walk->is_inside = true;
    }
}

/* Begins what a symbol stands for: a body (returns as begin_body), or a visit of a chain (0).
 * Negative: a chain is within itself. */
static int begin_symbol(struct walk *walk, uint32_t symbol)
{
    if (!(symbol & MODEL_CHAIN))
        return begin_body(walk, symbol);
    if (walk->depth == walk->model->chain_count)
        return -1;
    walk->visits[walk->depth++] = (struct walk_visit){symbol & ~MODEL_CHAIN, 0};
    return 0;
}

/* Goes on to the next execution of a body. Returns 1, 0 at the end of the stream, negative: out of
 * memory. */
static int next_execution(struct walk *walk)
{
    int begun = 0, more = 1;
    uint32_t symbol = 0;

    while (!begun && more > 0) {
        if (walk->whole != PSNAP_NONE) {
            begun = begin_part(walk);
            continue;
        }
        if (walk->depth) {
            struct walk_visit *visit = &walk->visits[walk->depth - 1];
            const struct chain *chain = &walk->model->chains[visit->chain];
            visit->state = chain_draw_next(&walk->chains[visit->chain], visit->state, &walk->rng);
            if (visit->state)
                begun = begin_symbol(walk, chain->states[visit->state].symbol);
            else
                walk->depth--;
            continue;
        }
        more = next_symbol(walk, &symbol);
        if (more > 0)
            begun = begin_symbol(walk, symbol);
    }
    return walk->has_failed ? -1 : begun ? begun : more;
}

/* ---- accesses ---- */

static struct psnap_access access_of(const struct walk *walk, uint32_t index)
{
    const struct model_ref *ref = &walk->model->refs[index];

    return (struct psnap_access){.ref = walk->ref_numbers[index],
                                 .size = ref->size,
                                 .kind = ref->kind,
                                 .thread = ref->thread};
}

/* For how many iterations, of no more than `most` accesses, the addresses of all references go on
 * by their strides; false: out of memory. */
static bool count_run(struct walk *walk, const struct model_body *body, uint64_t most,
                      uint64_t *count)
{
    *count = most / body->width < walk->iterations ? most / body->width : walk->iterations;

    for (uint32_t k = 0; k < body->width; k++) {
        const struct walk_column *column = &walk->bodies[walk->body].columns[k];
        struct reader *reader = &walk->refs[column->ref].reader;
        uint64_t left;
        if (!reader->left && !reader_fill(reader))
            return false;
        left = column->all == 1 ? reader->left : reader->left / column->all;
        *count = left < *count ? left : *count;
    }
    return true;
}

/* Makes a run of as many iterations as the addresses of all references go on by their strides.
 * Returns 1, 0 when these are too few to be a run, negative: out of memory. */
static int next_run(struct walk *walk, const struct model_body *body, uint64_t most,
                    struct psnap_run *run)
{
    const struct walk_column *columns = walk->bodies[walk->body].columns;
    uint64_t count;

    if (!count_run(walk, body, most, &count))
        return -1;
    if (!run || count * body->width < RUN_MIN)
        return 0;
    for (uint32_t k = 0; k < body->width; k++) {
        struct walk_ref *ref = &walk->refs[body->refs[k]];
        const struct reader *reader = &walk->refs[columns[k].ref].reader;
        walk->first[k] = access_of(walk, body->refs[k]);
        walk->first[k].address = reader->next + columns[k].before * reader->stride;
        walk->strides[k] = (int64_t)(columns[k].all * reader->stride);
        ref->latest = walk->first[k].address + (count - 1) * (uint64_t)walk->strides[k];
        ref->latest_time = walk->now + (count - 1) * body->width + k;
    }
    for (uint32_t k = 0; k < body->width; k++) {
        struct reader *reader = &walk->refs[columns[k].ref].reader;
        if (columns[k].before)
            continue; /* the first one of them goes on for all */
        reader->next += count * columns[k].all * reader->stride;
        reader->left -= count * columns[k].all;
    }
    if (walk->is_tracked && !enter_run(walk, body, count))
        return -1;
    *run = (struct psnap_run){
        .first = walk->first, .strides = walk->strides, .width = body->width, .count = count};
    for (uint64_t i = count < RECALL_RECENT ? 0 : count - RECALL_RECENT; i < count; i++)
        for (uint32_t k = 0; walk->is_tracked && k < body->width; k++)
            walk->recall.recent[(walk->now + i * body->width + k) % RECALL_RECENT] =
                psnap_run_address(run, i, k);
    walk->now += count * body->width;
    walk->iterations -= count;
    return 1;
}

int walk_next(struct walk *walk, uint64_t most, struct psnap_run *run, struct psnap_access *block,
              size_t capacity, size_t *n)
{
    capacity = most < capacity ? (size_t)most : capacity;
    *n = 0;
    while (*n < capacity) {
        const struct model_body *body;
        if (!walk->iterations) {
            const int more = next_execution(walk);
            if (more < 0)
                return more;
            if (!more)
                break;
            continue;
        }
        body = &walk->model->bodies[walk->body];
        if (walk->bodies[walk->body].columns && !walk->column) {
            const int made = !*n ? next_run(walk, body, most, run) : 0;
            uint64_t count = 0;
            if (made)
                return made;
            if (*n && run && !count_run(walk, body, most - *n, &count))
                return -1;
            if (count * body->width >= RUN_MIN)
                break; /* what is there goes first */
        }
        for (; walk->column < body->width && *n < capacity; walk->column++) {
            block[*n] = access_of(walk, body->refs[walk->column]);
            if (!access_one(walk, body->refs[walk->column], &block[*n].address))
                return -1;
            walk->now++;
            ++*n;
        }
        if (walk->column == body->width) {
            walk->column = 0;
            walk->iterations--;
        }
    }
    return *n ? 2 : 0;
}

/* ---- walks ---- */

void walk_free(struct walk *walk)
{
    if (!walk)
        return;
    for (uint32_t i = 0; walk->refs && i < walk->model->ref_count; i++) {
        reader_release(&walk->refs[i].reader);
        draw_release(&walk->refs[i].draw);
    }
    for (uint32_t i = 0; walk->bodies && i < walk->model->body_count; i++) {
        reader_release(&walk->bodies[i].reader);
        trips_draw_release(&walk->bodies[i].trips);
        free(walk->bodies[i].columns);
    }
    for (uint32_t i = 0; walk->chains && i < walk->model->chain_count; i++)
        if (walk->chains[i].chain)
            chain_draw_release(&walk->chains[i]);
    recall_release(&walk->recall);
    nest_cursor_free(&walk->cursor);
    free(walk->objects);
    free(walk->numbers);
    free(walk->refs);
    free(walk->bodies);
    free(walk->chains);
    free(walk->visits);
    free(walk->first);
    free(walk->strides);
    free(walk->due);
    free(walk->ref_numbers);
    free(walk);
}

static bool init_ref(const struct walk *walk, struct walk_ref *to, const struct model_ref *from)
{
    const struct psnap_stream_model *model = walk->model;

    to->nest = (uint32_t)(model_nest_of(model, from) - model->refs);
    to->takes = model_takes(model, from);
    reader_init(&to->reader, &from->addresses);
    to->object = PSNAP_NONE;
    return from->rule != MODEL_REUSE || draw_init(&to->draw, from, walk->numbers);
}

/*
 * Where a reference begins, for what depends on it and is accessed before it is: at its first
 * address, the front of its first object, or where the reference that it depends on begins.
 */
static uint64_t first_address(struct walk *walk, uint32_t index, int depth)
{
    const struct model_ref *from = &walk->model->refs[index];
    struct reader *reader = &walk->refs[walk->refs[index].nest].reader;

    if (from->rule == MODEL_REUSE)
        return from->reuse_count ? walk->model->objects[from->reuses[0].object].low : 0;
    if (from->rule == MODEL_DEPENDENT)
        return depth < BASES_MAX ? first_address(walk, from->bases[0], depth + 1) +
                                       (uint64_t)from->offsets[0].bytes
                                 : 0;
    return reader->left || reader_fill(reader) ? reader->next : 0;
}

/* Finds how the references of a body, all of them nests, take turns in these; false: out of memory.
 */
static bool init_columns(const struct walk *walk, struct walk_body *to,
                         const struct model_body *from)
{
    to->columns = malloc((from->width + (size_t)1) * sizeof *to->columns);
    for (uint32_t k = 0; to->columns && k < from->width; k++) {
        struct walk_column *column = &to->columns[k];
        *column = (struct walk_column){walk->refs[from->refs[k]].nest, 0, 0};
        for (uint32_t i = 0; i < from->width; i++) {
            const struct walk_ref *other = &walk->refs[from->refs[i]];
            if (other->nest != column->ref)
                continue;
            column->before += i < k ? other->takes : 0;
            column->all += other->takes;
        }
    }
    return to->columns != NULL;
}

static bool init_body(const struct walk *walk, struct walk_body *to, const struct model_body *from)
{
    bool is_plain = true;

    for (uint32_t k = 0; k < from->width; k++) {
        const uint8_t rule = walk->model->refs[from->refs[k]].rule;
        is_plain &= rule == MODEL_NEST || rule == MODEL_SHARED;
    }
    reader_init(&to->reader, &from->trips);
    return (!is_plain || init_columns(walk, to, from)) &&
           (!from->is_drawn || trips_draw_init(&to->trips, &from->histogram));
}

struct walk *walk_new(const struct psnap_stream_model *model, const uint32_t *first_ref,
                      uint64_t seed)
{
    struct walk *walk = calloc(1, sizeof *walk);
    uint32_t width = 1;
    bool is_done;

    if (!walk)
        return NULL;
    walk->model = model;
    walk->seed = seed;
    walk->last = model->order_count;
    walk->whole = PSNAP_NONE;
    psnap_rng_init_stream(&walk->rng, seed, UINT64_C(0x4e53));
    walk->objects = calloc(model->object_count + (size_t)1, sizeof *walk->objects);
    walk->numbers = calloc(model->object_count + (size_t)1, sizeof *walk->numbers);
    walk->refs = calloc(model->ref_count + (size_t)1, sizeof *walk->refs);
    walk->bodies = calloc(model->body_count + (size_t)1, sizeof *walk->bodies);
    walk->chains = calloc(model->chain_count + (size_t)1, sizeof *walk->chains);
    walk->visits = calloc(model->chain_count + (size_t)1, sizeof *walk->visits);
    walk->ref_numbers = calloc(model->ref_count + (size_t)1, sizeof *walk->ref_numbers);
    is_done = walk->objects && walk->numbers && walk->refs && walk->bodies && walk->chains &&
              walk->visits && walk->ref_numbers;
    for (uint32_t i = 0; is_done && i < model->ref_count; i++) {
        const struct model_ref *ref = &model->refs[i];
        is_done = init_ref(walk, &walk->refs[i], ref);
        walk->is_tracked |= ref->rule == MODEL_REUSE;
        walk->ref_numbers[i] = ref->number + (first_ref ? first_ref[ref->loop] : 0);
    }
    for (uint32_t i = 0; is_done && i < model->ref_count; i++)
        if (model->refs[i].rule == MODEL_DEPENDENT)
            for (uint32_t k = 0; k < model->refs[i].base_count; k++)
                walk->refs[model->refs[i].bases[k]].latest =
                    first_address(walk, model->refs[i].bases[k], 0);
    for (uint32_t i = 0; is_done && i < model->body_count; i++) {
        is_done = init_body(walk, &walk->bodies[i], &model->bodies[i]);
        width = model->bodies[i].width > width ? model->bodies[i].width : width;
    }
    for (uint32_t i = 0; is_done && i < model->chain_count; i++)
        is_done = chain_draw_init(&walk->chains[i], &model->chains[i]);
    walk->first = calloc(width, sizeof *walk->first);
    walk->strides = calloc(width, sizeof *walk->strides);
    walk->due = calloc(width, sizeof *walk->due);
    if (is_done && walk->first && walk->strides && walk->due)
        return walk;
    walk_free(walk);
    return NULL;
}
