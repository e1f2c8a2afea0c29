/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which parts of the program are recorded: all of it; or what lies between the
 * marks of capture/roi.h, when a module uses them; or what runs while a function
 * that PSNAP_ROI names does, then marks do not count. Regions nest. They are the
 * process's: while any thread is in one all threads are recorded, so that what a
 * parallel loop in a region does is.
 *
 * A thread's functions are one region from where the first of them is entered,
 * known by the address of its return address, until that frame is left: by a
 * return (leave), or because an exception or longjmp ended in a frame above it
 * (landed). Frames are compared as of one stack that grows downwards, but for those of
 * handlers that have another: a coroutine that is in a region and gives way to a frame
 * above it ends it.
 *
 * Outside of regions threads write records into memory that nobody reads: the
 * code is the same, no record leaves the first-level cache (ring.c). Who changes what
 * is wanted tells all rings (psnap_rt_change); a loop that another thread is in then goes on
 * as it began, a nest up to its next record.
 */
#include "runtime.h"

#include <stdlib.h>
#include <string.h>

static char *list; /* PSNAP_ROI, a line each; NULL: not set */
static bool is_in_parts, has_names;
static uint32_t open_regions; /* atomic, of all threads */
static uint64_t found, inlined;
static _Thread_local uint64_t outermost; /* frame of the function that began it, 0: none */
static _Thread_local int32_t marks;      /* that this thread has begun and not ended */

bool psnap_rt_is_wanted(void)
{
    if (__atomic_load_n(&psnap_rt_session->is_enough, __ATOMIC_RELAXED))
        return false;
    return !__atomic_load_n(&is_in_parts, __ATOMIC_RELAXED) ||
           __atomic_load_n(&open_regions, __ATOMIC_SEQ_CST);
}

static void begin_region(void)
{
    const bool is_first = __atomic_fetch_add(&open_regions, 1, __ATOMIC_SEQ_CST) == 0;

    if (!psnap_rt_is_recording())
        return;
    if (!is_first) { /* whose thread may not have told this one's ring yet */
        if (__psnap_ring->aside)
            __atomic_store_n(&__psnap_ring->limit, PSNAP_LIMIT_CHANGED, __ATOMIC_SEQ_CST);
        return;
    }
    __atomic_fetch_add(&psnap_rt_session->regions, 1, __ATOMIC_RELAXED);
    psnap_rt_change();
}

/* An end without a beginning is none. */
static bool end_region(void)
{
    uint32_t open = __atomic_load_n(&open_regions, __ATOMIC_SEQ_CST);

    while (open && !__atomic_compare_exchange_n(&open_regions, &open, open - 1, false,
                                                __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
        ;
    if (open == 1)
        psnap_rt_change();
    return open != 0;
}

/* Asked before anything is counted: a child that nobody has noticed has its parent's counts. */
static bool is_recorded_in_parts(void)
{
    psnap_rt_is_forked();
    return psnap_rt_session && __atomic_load_n(&is_in_parts, __ATOMIC_RELAXED);
}

/* In a handler on a stack of its own, beside that of the region: frames there do not compare. */
static bool is_beside(void)
{
    stack_t other;

    if (!psnap_rt_begin_noise())
        return false;
    if (sigaltstack(NULL, &other) != 0)
        other.ss_flags = 0;
    psnap_rt_end_noise();
    return (other.ss_flags & SS_ONSTACK) && outermost - (uint64_t)other.ss_sp >= other.ss_size;
}

void __psnap_roi_begin(void)
{
    if (psnap_rt_first)
        psnap_rt_first->mark(true);
    else if (is_recorded_in_parts() && !has_names) {
        marks++;
        begin_region();
    }
}

void __psnap_roi_end(void)
{
    if (psnap_rt_first)
        psnap_rt_first->mark(false);
    else if (is_recorded_in_parts() && !has_names && end_region())
        marks--;
}

void psnap_rt_mark(bool begins)
{
    if (begins)
        __psnap_roi_begin();
    else
        __psnap_roi_end();
}

/* A frame at or above one that is in the region: that has been left without a word. */
__attribute__((preserve_most)) void __psnap_enter(const void *frame)
{
    if (psnap_rt_first)
        psnap_rt_first->pass(frame, PSNAP_RT_ENTERS);
    else if (outermost && (uint64_t)frame >= outermost)
        outermost = is_beside() ? outermost : (uint64_t)frame;
    else if (!outermost && is_recorded_in_parts()) {
        outermost = (uint64_t)frame;
        begin_region();
    }
}
PSNAP_PLAIN_HOOK(void, __psnap_enter, (const void *frame))

__attribute__((preserve_most)) void __psnap_leave(const void *frame)
{
    if (psnap_rt_first)
        psnap_rt_first->pass(frame, PSNAP_RT_LEAVES);
    else if (outermost == (uint64_t)frame)
        psnap_rt_end_thread_region();
}
PSNAP_PLAIN_HOOK(void, __psnap_leave, (const void *frame))

__attribute__((preserve_most)) void __psnap_landed(const void *frame)
{
    if (psnap_rt_first)
        psnap_rt_first->pass(frame, PSNAP_RT_LANDS);
    else if (outermost && outermost < (uint64_t)frame && !is_beside())
        psnap_rt_end_thread_region();
}
PSNAP_PLAIN_HOOK(void, __psnap_landed, (const void *frame))

void psnap_rt_pass(const void *frame, enum psnap_rt_passage passage)
{
    if (passage == PSNAP_RT_ENTERS)
        __psnap_enter(frame);
    else if (passage == PSNAP_RT_LEAVES)
        __psnap_leave(frame);
    else
        __psnap_landed(frame);
}

void psnap_rt_end_thread_region(void)
{
    if (!outermost)
        return;
    outermost = 0;
    end_region();
}

/* Of the threads there is this one alone. */
void psnap_rt_fork_regions(void)
{
    open_regions = has_names ? outermost != 0 : marks > 0 ? (uint32_t)marks : 0;
}

void psnap_rt_read_regions(void)
{
    const char *wish = secure_getenv(PSNAP_ENV_ROI);
    const size_t size = wish ? strlen(wish) + 1 : 0;

    if (!wish)
        return;
    list = psnap_rt_map(size);
    if (!list)
        return;
    memcpy(list, wish, size);
    has_names = *list != '\0';
    is_in_parts = has_names;
}

void psnap_rt_choose_functions(const struct psnap_module *module)
{
    const char *at = module->functions, *const end = at + module->functions_bytes;
    unsigned char *wanted = module->wanted;

    if (!list && module->has_marks)
        __atomic_store_n(&is_in_parts, true, __ATOMIC_RELAXED);
    while (has_names && at < end) {
        const bool is_own = *at++ == PSNAP_FUNCTION_OWN;
        uint64_t bits = 0;
        for (; at < end && *at; at += strlen(at) + 1)
            bits |= psnap_roi_find(list, at, strlen(at));
        at++;
        if (is_own)
            *wanted++ = bits != 0;
        if (is_own)
            found |= bits;
        else
            inlined |= bits;
    }
    psnap_rt_tell_regions();
}

void psnap_rt_tell_regions(void)
{
    if (!psnap_rt_session)
        return;
    psnap_rt_session->has_regions = is_in_parts;
    if (!psnap_rt_session->regions)
        psnap_rt_session->regions = open_regions != 0; /* inherited */
    __atomic_store_n(&psnap_rt_session->roi_found, found, __ATOMIC_RELAXED);
    __atomic_store_n(&psnap_rt_session->roi_inlined, inlined, __ATOMIC_RELAXED);
    if (is_in_parts)
        psnap_rt_change();
}
