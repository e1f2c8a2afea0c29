/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Records of nests (capture_abi.h) to executions of their hoisted loops. The
 * steps of a nest are the program's own control flow with all that depends on
 * data left out, values what scalar evolution made of its addresses, counts and
 * conditions: going through them from where the record begins to where it stopped
 * finds each execution of a hoisted loop, with its bases, steps and iterations,
 * which hoisted.c then delivers as if it had had a record of its own. Values of a
 * loop are computed anew for each of its iterations, those of outer loops stay.
 * Where iterations of a loop can be told in closed form they are (fold.c): nearly all of them.
 *
 * A program that was killed, or a bug, may have written any words: steps lead
 * forward but for AGAIN, of which a record has no more than the program counts
 * accesses before it writes one.
 */
#include "capture/decode/nest.h"

#include <string.h>

enum { PATIENCE_MAX = 63 };

static enum psnap_status corrupt(struct psnap_error *error, const char *what)
{
    return psnap_error_set(error, PSNAP_ERROR_CORRUPT,
                           "the program's ring holds a nest of loops that cannot be: %s", what);
}

/* The values of a loop and of those around it, outermost first. */
static void evaluate_all(const struct psnap_context *context, struct psnap_nested *open,
                         uint32_t enter)
{
    const struct psnap_capture_step *step = &open->steps[enter];

    if (enter)
        evaluate_all(context, open, step->c);
    psnap_nested_evaluate(context, open, step);
}

/* Takes the progress of a nest that was left: `stopped` is iterations of a hoisted loop, or the
 * iteration of a level that is over. False: it cannot be. */
static bool set_stop(struct psnap_nested *open)
{
    const struct psnap_capture_step *step = &open->steps[open->stop];

    if (step->op == PSNAP_STEP_AGAIN) {
        open->values[PSNAP_NEST_HEADER_WORDS + open->nest->levels + step->level] = open->stopped;
        open->stopped = 0;
    }
    return step->op == PSNAP_STEP_RUN || !open->stopped;
}

enum psnap_status psnap_nested_open(struct psnap_context *context, struct psnap_nested *open,
                                    const struct psnap_capture_piece *end,
                                    struct psnap_error *error)
{
    const struct psnap_capture_nest *nest = &context->tables.nests[end->nest - 1];
    const struct psnap_table_value *value = &context->tables.values[nest->first_value];
    int64_t(*shifts)[PSNAP_NEST_VALUES_MAX] = open->shifts;
    const struct psnap_shift *shift;
    const uint64_t *at = context->at;

    if (nest->words > (uint64_t)(context->end - at))
        return corrupt(error, "it is longer than there is room");
    open->steps = &context->tables.steps[nest->first_step];
    if (at[1] && (at[1] >= nest->steps || open->steps[at[1]].op != PSNAP_STEP_AGAIN))
        return corrupt(error, "it goes on where it did not stop");
    open->nest = nest;
    open->at = (uint32_t)at[1];
    open->stop = end->last;
    open->stopped = 0;
    if (end->last == PSNAP_NONE) { /* it was left, or goes on: its progress is in front of it */
        if (context->passed != at - 2)
            return corrupt(error, "it has no end");
        open->stop = (uint32_t)(at[-1] >> PSNAP_NEST_STEP_SHIFT);
        open->stopped = at[-1] & ((UINT64_C(1) << PSNAP_NEST_STEP_SHIFT) - 1);
        if (open->stop >= nest->steps || open->stopped > PSNAP_ITERATIONS_MAX)
            return corrupt(error, "it stops where it does not come");
    }
    open->left = PSNAP_NEST_ACCESSES + 1;
    memcpy(open->values, at, nest->words * sizeof *at);
    if (end->last == PSNAP_NONE && !set_stop(open))
        return corrupt(error, "it stops where it does not come");
    open->shift = context->shift;
    for (shift = open->shift; shift; shift = shift->outer, shifts++) {
        memcpy(*shifts, shift->deltas + (at - shift->begin), nest->words * sizeof *at);
        memset(*shifts + nest->words, 0, nest->values * sizeof **shifts);
    }
    for (uint32_t i = 0; i < nest->constants; i++, value++)
        open->values[nest->words + i] = value->a | (uint64_t)value->b << 32;
    memcpy(open->iterations, at + PSNAP_NEST_HEADER_WORDS, nest->levels * sizeof *at);
    if (open->at)
        evaluate_all(context, open, open->steps[open->at].a);
    context->at += nest->words;
    return PSNAP_OK;
}

/* An execution of a hoisted loop, and the `last` pieces behind it: it is counted, delivered as a
 * run or opened. */
static void run(struct psnap_context *context, const struct psnap_nested *open, uint32_t index,
                uint64_t count, uint32_t last, struct psnap_hoisted *hoisted,
                struct psnap_delivery *to)
{
    const struct psnap_capture_hoist *hoist = &context->tables.hoists[index];

    if (!hoist->refs) {
        psnap_hoist_count(context, hoist, count, last, 1);
        return;
    }
    if (to->nest && !last && !context->is_bounded && !hoist->quotients &&
        (count >= PSNAP_RUN_ACCESSES_MIN || count * hoist->refs >= PSNAP_RUN_ACCESSES_MIN) &&
        psnap_hoist_run(context, hoist, open->values, count, to))
        return;
    *hoisted = (struct psnap_hoisted){
        .hoist = hoist,
        .record = open->values,
        .row = open->values,
        .end = open->values,
        .count = count,
        .last = last,
    };
}

/* Whether so few iterations of the nest's outermost loop are left in the record that they are not
 * worth folding. */
static bool is_short(const struct psnap_nested *open, uint32_t enter)
{
    const uint64_t to = open->values[PSNAP_NEST_HEADER_WORDS + open->nest->levels];

    return !enter && to - open->iterations[0] < PSNAP_FOLD_ITERATIONS_MIN - 1;
}

/* An iteration of the loop that step `enter` enters begins: it is a nest with the ones behind it,
 * or it goes by steps. */
static void begin_iteration(struct psnap_context *context, struct psnap_nested *open,
                            uint32_t enter, struct psnap_delivery *to)
{
    struct psnap_capture_step *step = &open->steps[enter];

    open->at = enter + 1;
    if (is_short(open, enter) || step->rest || !to->nest) {
        step->rest = (uint8_t)(step->rest - (step->rest > 0));
        psnap_nested_evaluate(context, open, step);
    } else if (psnap_fold(context, open, enter, to))
        step->patience = 0;
    else
        psnap_wait_longer(&step->rest, &step->patience, PATIENCE_MAX);
}

enum psnap_status psnap_nested_next(struct psnap_context *context, struct psnap_nested *open,
                                    struct psnap_hoisted *hoisted, struct psnap_delivery *to,
                                    struct psnap_error *error)
{
    while (!hoisted->hoist && !psnap_delivery_is_over(to)) {
        const struct psnap_capture_step *step = &open->steps[open->at];
        uint64_t count;
        if (open->at == open->stop && psnap_nested_has_stopped(open)) {
            open->nest = NULL;
            if (open->stopped)
                run(context, open, step->a, open->stopped, 0, hoisted, to);
            break;
        }
        switch (step->op) {
        case PSNAP_STEP_RUN:
            count = psnap_nested_count(open, step);
            if (count > PSNAP_ITERATIONS_MAX)
                return corrupt(error, "it has more iterations than there is time for");
            open->at++;
            run(context, open, step->a, count, step->c, hoisted, to);
            break;
        case PSNAP_STEP_BRANCH:
            open->at = psnap_nested_branch(open, step);
            break;
        case PSNAP_STEP_GOTO:
            open->at = step->a;
            break;
        case PSNAP_STEP_SET:
            psnap_nested_set(open, step);
            open->at++;
            break;
        case PSNAP_STEP_COMPUTE:
            psnap_nested_evaluate(context, open, step);
            open->at++;
            break;
        case PSNAP_STEP_ENTER:
            open->iterations[step->level] = 0;
            begin_iteration(context, open, open->at, to);
            break;
        default: /* PSNAP_STEP_AGAIN */
            if (!open->left--)
                return corrupt(error, "it does not come to where it stopped");
            open->iterations[step->level]++;
            begin_iteration(context, open, step->a, to);
        }
    }
    return PSNAP_OK;
}
