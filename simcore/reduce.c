/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Making a window's schedule: all touches of lines in it, level by level, then those that are due.
 */
#include "simcore/reduce.h"

#include <stdlib.h>
#include <string.h>

#include "formats/base/divisor.h"

enum {
    WINDOW_LINES = 4,   /* a window's stride in lines: more of them would not leave out more */
    WORTH_WINDOWS = 64, /* so many windows are worth a schedule of their own */
    LINES_MAX = 256,    /* of a window */
    PART_ACCESSES = 4096
};

/* A line of the window, at one level. */
struct touched {
    uint64_t line;
    uint32_t first, last; /* accesses of the window that touch it, */
    uint32_t served;      /* and when it is touched last of what is due so far */
    bool is_stored;
};

struct plan {
    const struct reduce *reduce;
    const struct schedule *schedule;
    uint32_t touches;                  /* accesses of the window */
    bool is_due[REDUCE_TOUCHES_MAX];   /* in their turn */
    uint8_t parts[REDUCE_TOUCHES_MAX]; /* of what is due: the bytes in which line, or in both */
    bool is_again[REDUCE_TOUCHES_MAX]; /* due at the window's end */
    bool all_lines_alike;              /* of all levels: `parts` are of those */
    struct touched lines[LINES_MAX];   /* of the level in hand */
    uint32_t line_count;
};

/* The i-th access of the window, far from the ends of the address space. */
static struct psnap_access access_of(const struct plan *plan, uint32_t i)
{
    struct psnap_access access = plan->schedule->first[i % plan->schedule->width];

    access.address += (UINT64_C(1) << 62) +
                      (uint64_t)(i / plan->schedule->width) * (uint64_t)plan->schedule->stride;
    return access;
}

enum { BOTH, FIRST, SECOND };

/* What is due of it: of two lines, one may have been touched before. */
static struct psnap_access due_of(const struct plan *plan, uint32_t i)
{
    const uint64_t line_bytes = plan->reduce->line_bytes;
    struct psnap_access access = access_of(plan, i);
    const uint64_t in_first = line_bytes - (access.address & (line_bytes - 1));

    if (plan->parts[i] == FIRST)
        access.size = (uint8_t)in_first;
    if (plan->parts[i] == SECOND) {
        access.address += in_first;
        access.size = (uint8_t)(access.size - in_first);
    }
    return access;
}

/* NULL: there are too many lines. */
static struct touched *find(struct plan *plan, uint64_t line, uint32_t i)
{
    for (uint32_t at = plan->line_count; at-- > 0;) /* it mostly is one of the last */
        if (plan->lines[at].line == line)
            return &plan->lines[at];
    if (plan->line_count == LINES_MAX)
        return NULL;
    plan->lines[plan->line_count] = (struct touched){.line = line, .first = i};
    return &plan->lines[plan->line_count++];
}

static bool note_lines(struct plan *plan, unsigned line_shift)
{
    plan->line_count = 0;
    for (uint32_t i = 0; i < plan->touches; i++) {
        const struct psnap_access access = access_of(plan, i);
        const uint64_t end = (access.address + access.size - 1) >> line_shift;
        bool is_new[2] = {false, false};
        for (uint64_t line = access.address >> line_shift; line <= end; line++) {
            struct touched *touched = find(plan, line, i);
            const bool is_store = access.kind != PSNAP_LOAD;
            if (!touched)
                return false;
            is_new[line == end] |= touched->first == i || (is_store && !touched->is_stored);
            touched->last = i;
            touched->is_stored |= is_store;
        }
        plan->is_due[i] |= is_new[0] || is_new[1];
        if (plan->all_lines_alike && end == (access.address >> line_shift) + 1)
            plan->parts[i] = is_new[0] && is_new[1] ? BOTH : is_new[0] ? FIRST : SECOND;
    }
    return true;
}

static uint64_t set_of(const struct reduce_shape *shape, uint64_t line)
{
    return shape->mask ? line & shape->mask : line % shape->sets;
}

/* Notes when each line is touched last: in its turn, or at the end, which is later. */
static void note_served(struct plan *plan, unsigned line_shift)
{
    for (uint32_t i = 0; i < plan->touches; i++) {
        const struct psnap_access access = plan->is_again[i] ? access_of(plan, i) : due_of(plan, i);
        const uint64_t end = (access.address + access.size - 1) >> line_shift;
        if (!plan->is_due[i] && !plan->is_again[i])
            continue;
        for (uint64_t line = access.address >> line_shift; line <= end; line++) {
            struct touched *touched = find(plan, line, i);
            const uint32_t turn = plan->is_again[i] ? plan->touches + i : i;
            if (turn > touched->served)
                touched->served = turn;
        }
    }
}

/* Whether all sets have room for their lines. */
static bool have_room(const struct plan *plan, const struct reduce_shape *shape)
{
    for (uint32_t k = 0; k < plan->line_count; k++) {
        uint64_t in_set = 0;
        for (uint32_t l = 0; l < plan->line_count; l++)
            in_set += set_of(shape, plan->lines[k].line) == set_of(shape, plan->lines[l].line);
        if (in_set > shape->ways)
            return false;
    }
    return true;
}

static bool comes_first(uint32_t one, uint32_t other, bool if_same)
{
    return one == other ? if_same : one < other;
}

/* Has lines of a set that are in the wrong order touched again at the end; false: there are none.
 */
static bool put_in_order(struct plan *plan, const struct reduce_shape *shape)
{
    bool is_new = false;

    for (uint32_t k = 0; k < plan->line_count; k++)
        for (uint32_t l = 0; l < k; l++) {
            const struct touched *one = &plan->lines[k], *other = &plan->lines[l];
            const bool is_lower = one->line < other->line; /* of one access's two lines the first */
            if (set_of(shape, one->line) != set_of(shape, other->line) ||
                comes_first(one->last, other->last, is_lower) ==
                    comes_first(one->served, other->served, is_lower))
                continue;
            is_new |= !plan->is_again[one->last] || !plan->is_again[other->last];
            plan->is_again[one->last] = plan->is_again[other->last] = true;
        }
    return is_new;
}

static void take_due(const struct plan *plan, struct schedule *schedule)
{
    for (int at_end = 0; at_end < 2; at_end++)
        for (uint32_t i = 0; i < plan->touches; i++) {
            struct psnap_access *due = &schedule->due[schedule->left];
            if (!(at_end ? plan->is_again : plan->is_due)[i])
                continue;
            *due = at_end ? access_of(plan, i) : due_of(plan, i);
            due->address -= UINT64_C(1) << 62;
            schedule->left++;
        }
}

static void make(const struct reduce *reduce, struct schedule *schedule)
{
    struct plan plan = {.reduce = reduce, .schedule = schedule, .all_lines_alike = true};
    bool is_new = true;

    for (size_t s = 1; s < reduce->shape_count; s++)
        plan.all_lines_alike &= reduce->shapes[s].line_shift == reduce->shapes[0].line_shift;

    schedule->is_made = true;
    plan.touches = schedule->width * schedule->window;
    for (size_t s = 0; s < reduce->shape_count; s++)
        if (!note_lines(&plan, reduce->shapes[s].line_shift) ||
            !have_room(&plan, &reduce->shapes[s]))
            return;
    while (
        is_new) { /* a touch that puts a set in order may disturb one of another level, or line */
        is_new = false;
        for (size_t s = 0; s < reduce->shape_count; s++) {
            note_lines(&plan, reduce->shapes[s].line_shift);
            note_served(&plan, reduce->shapes[s].line_shift);
            is_new |= put_in_order(&plan, &reduce->shapes[s]);
        }
    }
    take_due(&plan, schedule);
    if (4 * schedule->left > 3 * plan.touches)
        schedule->left = 0;
}

/* ------------------------------------------------------------------- runs */

static bool is_of(const struct schedule *schedule, const struct psnap_run *run, uint32_t window,
                  uint64_t base)
{
    if (schedule->width != run->width || schedule->window != window ||
        schedule->stride != run->strides[0])
        return false;
    for (size_t k = 0; k < run->width; k++) {
        const struct psnap_access *a = &run->first[k], *b = &schedule->first[k];
        if (a->address != b->address + base || a->ref != b->ref || a->size != b->size ||
            a->kind != b->kind || a->thread != b->thread)
            return false;
    }
    return true;
}

/* The length of the stride that all have, which may be INT64_MIN. */
static uint64_t step_of(const struct psnap_run *run)
{
    const int64_t stride = run->strides[0];

    return stride < 0 ? 0 - (uint64_t)stride : (uint64_t)stride;
}

/* Whether differences of addresses are what they seem: no access comes to the end of the address
 * space, where a set is no longer next to that of the line before, and none is far away. */
static bool is_within(const struct psnap_run *run)
{
    const uint64_t way = (run->count - 1) * step_of(run);

    if (run->count > UINT32_MAX) /* so that `way` cannot overflow: a step is below 2^32 */
        return false;
    for (size_t k = 0; k < run->width; k++) {
        const uint64_t first = run->first[k].address;
        const uint64_t other = run->first[0].address;
        if ((first > other ? first - other : other - first) >> 61)
            return false;
        if (run->strides[0] < 0 ? first < way : first > UINT64_MAX - PSNAP_ACCESS_SIZE_MAX - way)
            return false;
    }
    return true;
}

/* Repetitions of a window, 0: there is none. */
static uint32_t window_of(const struct reduce *reduce, const struct psnap_run *run)
{
    const uint64_t line = reduce->line_bytes;
    uint64_t window, step;

    if (run->width > REDUCE_WIDTH_MAX || run->columns) /* which may have no strides */
        return 0;
    step = step_of(run);
    if (step == 0 || step > line / 2)
        return 0;
    for (size_t k = 1; k < run->width; k++)
        if (run->strides[k] != run->strides[0])
            return 0;
    window = line / psnap_common_divisor(line, step);
    if (window * run->width > REDUCE_TOUCHES_MAX || run->count < window || !is_within(run))
        return 0;
    while (window * step < WINDOW_LINES * line && 2 * window * run->width <= REDUCE_TOUCHES_MAX &&
           run->count >= 4 * window)
        window *= 2;
    return (uint32_t)window;
}

uint64_t reduce_part(const struct reduce *reduce, const struct psnap_run *run)
{
    const uint64_t most = PART_ACCESSES / run->width, window = window_of(reduce, run);

    if (run->count <= 2 * most || !window)
        return run->count;
    return most < window ? window : most / window * window;
}

uint64_t reduce_begin(struct reduce *reduce, const struct psnap_run *run, struct reduced *reduced)
{
    const uint32_t window = window_of(reduce, run);
    const uint64_t place = run->first[0].address & (reduce->line_bytes - 1);
    const uint64_t base = run->first[0].address - place;
    struct schedule *schedule =
        &reduce->schedules[(run->first[0].ref * 37 + place / 8 + window) % REDUCE_SCHEDULES];

    *reduced = (struct reduced){0};
    if (!window)
        return 0;
    if (!is_of(schedule, run, window, base)) {
        schedule->stride = run->strides[0];
        schedule->width = (uint32_t)run->width;
        schedule->window = window;
        schedule->is_made = false;
        schedule->left = 0;
        for (size_t k = 0; k < run->width; k++) {
            schedule->first[k] = run->first[k];
            schedule->first[k].address -= base;
        }
        if (run->count / window < WORTH_WINDOWS)
            return 0; /* it may never come again */
    }
    if (!schedule->is_made)
        make(reduce, schedule);
    if (!schedule->left)
        return 0;
    *reduced = (struct reduced){schedule, base, run->count / window, 0};
    return reduced->windows * window;
}

size_t reduce_next(struct reduced *reduced, struct psnap_access *block, size_t capacity)
{
    const struct schedule *schedule = reduced->schedule;
    size_t n = 0;

    while (reduced->windows && n < capacity) {
        const size_t there = schedule->left - reduced->at, room = capacity - n;
        const size_t end = n + (there < room ? there : room);

        for (; n < end; n++) {
            block[n] = schedule->due[reduced->at++];
            block[n].address += reduced->base;
        }
        if (reduced->at < schedule->left)
            break;
        reduced->at = 0;
        reduced->base += schedule->window * (uint64_t)schedule->stride;
        reduced->windows--;
    }
    return n;
}
