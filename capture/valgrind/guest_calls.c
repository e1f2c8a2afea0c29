/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From the order in which a thread executes instructions follow calls, returns
 * and jumps, and from these the flow graph.
 *
 *   call     an instruction that stored a word and was not followed by the one
 *            behind it: that word is its return address (x86)
 *   return   one that loaded the word that a call had stored, and went behind it
 *   jump     anything else; to another function it is a tail call, or a signal:
 *            the loops of the function that was left are left; in the middle of a
 *            function that has called it is a longjmp, or an exception
 */
#include "capture/valgrind/guest_calls.h"

#include <stdlib.h>

enum {
    FRAMES = PSNAP_GUEST_FRAMES,
    SEARCH = 256 /* frames that a return may leave at once */
};

#define NONE PSNAP_FLOW_NONE

bool psnap_guest_calls_init(struct psnap_guest_calls *calls)
{
    *calls = (struct psnap_guest_calls){.node = NONE};
    calls->frames = malloc(FRAMES * sizeof *calls->frames);
    return calls->frames;
}

void psnap_guest_calls_release(struct psnap_guest_calls *calls)
{
    free(calls->frames);
    calls->frames = NULL;
}

void psnap_guest_calls_restart(struct psnap_guest_calls *calls)
{
    calls->node = NONE;
    calls->depth = calls->known = 0;
    calls->has_stored = calls->has_loaded = false;
}

/* Of the topmost `count` frames nothing runs any more. */
static void leave(struct psnap_guest_calls *calls, uint64_t count)
{
    calls->depth -= count;
    calls->known -= count;
}

static void push_frame(struct psnap_guest_calls *calls, uint64_t slot, uint64_t back,
                       uint32_t caller)
{
    /* what lies below the stack pointer is dead: left by a longjmp, or an exception */
    while (calls->known && calls->frames[calls->depth % FRAMES].slot <= slot)
        leave(calls, 1);
    calls->depth++;
    calls->known += calls->known < FRAMES - 1;
    calls->frames[calls->depth % FRAMES] = (struct psnap_guest_frame){slot, back, caller};
}

/* Whether a load from `slot` and going on at `pc` is a return; then *caller is what called. */
static bool pop_frame(struct psnap_guest_calls *calls, uint64_t slot, uint64_t pc, uint32_t *caller)
{
    for (uint64_t n = 0; n < calls->known && n < SEARCH; n++) {
        const struct psnap_guest_frame *frame = &calls->frames[(calls->depth - n) % FRAMES];
        if (frame->slot != slot)
            continue;
        if (frame->back != pc)
            return false;
        *caller = frame->caller;
        calls->returned = slot;
        leave(calls, n + 1);
        return true;
    }
    return false;
}

/* Whether a load from `slot` was the return to a call that has been forgotten, which lies above all
 * that have returned. */
static bool pop_forgotten(struct psnap_guest_calls *calls, uint64_t slot)
{
    if (calls->known || !calls->depth || slot <= calls->returned)
        return false;
    calls->returned = slot;
    calls->depth--;
    return true;
}

/* Whether going on at `to`, in the middle of another function, is a longjmp (or a landing pad) in
 * one that has called and not been returned to. */
static bool unwind(struct psnap_guest_calls *calls, const struct psnap_guest_code *code,
                   uint32_t to)
{
    const uint32_t function = code->flow.nodes[to].function;

    if (code->functions[function].low == code->nodes[to].pc)
        return false; /* a tail call */
    for (uint64_t n = 0; n < calls->known && n < SEARCH; n++) {
        const struct psnap_guest_frame *frame = &calls->frames[(calls->depth - n) % FRAMES];
        if (code->flow.nodes[frame->caller].function != function)
            continue;
        leave(calls, n + 1);
        return true;
    }
    return false;
}

/* Goes from one instruction to another of the same function, if it is that. */
static enum psnap_status follow(struct psnap_guest_code *code, uint32_t from, uint32_t to,
                                bool is_known, enum psnap_guest_step *step,
                                struct psnap_error *error)
{
    const struct psnap_flow_node *nodes = code->flow.nodes;

    if (nodes[from].function != nodes[to].function) {
        *step = PSNAP_STEP_LEAP;
        return PSNAP_OK;
    }
    *step = PSNAP_STEP;
    if (!is_known && from != code->rest && !psnap_flow_add_edge(&code->flow, from, to))
        return psnap_guest_no_memory(error);
    return PSNAP_OK;
}

/* To the instruction behind `from`. */
static enum psnap_status fall(struct psnap_guest_code *code, uint32_t from, uint64_t pc,
                              uint8_t size, uint32_t *to, enum psnap_guest_step *step,
                              struct psnap_error *error)
{
    bool is_known = code->nodes[from].fall != NONE;
    enum psnap_status status = PSNAP_OK;

    *to = code->nodes[from].fall;
    if (!is_known)
        status = psnap_guest_code_node(code, pc, size, from, to, error);
    if (status)
        return status;
    code->nodes[from].fall = *to;
    return follow(code, from, *to, is_known, step, error);
}

/* To an instruction that is not behind `from`. */
static enum psnap_status jump(struct psnap_guest_calls *calls, struct psnap_guest_code *code,
                              uint32_t from, uint64_t pc, uint8_t size, uint32_t *to,
                              enum psnap_guest_step *step, struct psnap_error *error)
{
    struct psnap_guest_node *node = &code->nodes[from];
    bool is_call = calls->has_stored && node->pc != pc, /* not the repetition of a string store */
        is_known = node->jump != NONE && code->nodes[node->jump].pc == pc;
    enum psnap_status status = PSNAP_OK;
    uint32_t caller;

    if (!is_call && calls->has_loaded && pop_frame(calls, calls->loaded, pc, &caller)) {
        status = fall(code, caller, pc, size, to, step, error);
        *step = PSNAP_STEP_RETURN;
        return status;
    }
    *to = node->jump;
    if (!is_known)
        status = psnap_guest_code_node(code, pc, size, is_call ? NONE : from, to, error);
    if (status)
        return status;
    node = &code->nodes[from];
    node->jump = *to;
    if (!is_call && calls->has_loaded && pop_forgotten(calls, calls->loaded)) {
        *step = PSNAP_STEP_RESUME;
        return PSNAP_OK;
    }
    if (!is_call) {
        status = follow(code, from, *to, is_known, step, error);
        if (*step == PSNAP_STEP_LEAP && unwind(calls, code, *to))
            *step = PSNAP_STEP_RETURN;
        return status;
    }
    push_frame(calls, calls->stored, node->pc + node->size, from);
    *step = PSNAP_STEP_CALL;
    return PSNAP_OK;
}

enum psnap_status psnap_guest_calls_step(struct psnap_guest_calls *calls,
                                         struct psnap_guest_code *code, uint64_t pc, uint8_t size,
                                         enum psnap_guest_step *step, struct psnap_error *error)
{
    const uint32_t from = calls->node;
    enum psnap_status status;
    uint32_t to;

    *step = PSNAP_STEP_LEAP;
    if (from == NONE)
        status = psnap_guest_code_node(code, pc, size, NONE, &to, error);
    else if (pc == code->nodes[from].pc + code->nodes[from].size)
        status = fall(code, from, pc, size, &to, step, error);
    else
        status = jump(calls, code, from, pc, size, &to, step, error);
    if (status)
        return status;
    calls->node = to;
    calls->has_stored = calls->has_loaded = false;
    return PSNAP_OK;
}
