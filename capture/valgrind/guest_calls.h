/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls, returns and jumps of a thread, from the order of its instructions.
 */
#ifndef PSNAP_CAPTURE_VALGRIND_GUEST_CALLS_H
#define PSNAP_CAPTURE_VALGRIND_GUEST_CALLS_H

#include "capture/valgrind/guest_code.h"

/* Calls that are remembered; deeper, the outermost are forgotten. */
enum { PSNAP_GUEST_FRAMES = 1 << 12 };

/* How an instruction was come to. */
enum psnap_guest_step {
    PSNAP_STEP,        /* from one of the same function */
    PSNAP_STEP_CALL,   /* it is the first of a function that was called */
    PSNAP_STEP_RETURN, /* it is behind a call */
    PSNAP_STEP_RESUME, /* behind a call that has been forgotten */
    PSNAP_STEP_LEAP,   /* from another function, without a call */
};

/* A call that has not returned. */
struct psnap_guest_frame {
    uint64_t slot, back; /* where its return address lies, and what it is */
    uint32_t caller;     /* node */
};

struct psnap_guest_calls {
    struct psnap_guest_frame *frames;  /* the one at depth d: frames[d % PSNAP_GUEST_FRAMES] */
    uint64_t depth, known;             /* of which the topmost `known` frames are there */
    uint32_t node;                     /* executed last, PSNAP_FLOW_NONE at the start */
    uint64_t stored, loaded, returned; /* addresses: of the last instruction, of the last return */
    bool has_stored, has_loaded;
};

/* False when out of memory. */
bool psnap_guest_calls_init(struct psnap_guest_calls *calls);
void psnap_guest_calls_release(struct psnap_guest_calls *calls);
/* A new thread. */
void psnap_guest_calls_restart(struct psnap_guest_calls *calls);

/* The instruction at `pc` is executed: calls->node is its node then. */
enum psnap_status psnap_guest_calls_step(struct psnap_guest_calls *calls,
                                         struct psnap_guest_code *code, uint64_t pc, uint8_t size,
                                         enum psnap_guest_step *step, struct psnap_error *error);

/* It accesses memory: a word may be a return address. */
static inline void psnap_guest_calls_access(struct psnap_guest_calls *calls, bool is_store,
                                            uint64_t address, uint16_t size)
{
    if (size != sizeof(uint64_t))
        return;
    *(is_store ? &calls->stored : &calls->loaded) = address;
    *(is_store ? &calls->has_stored : &calls->has_loaded) = true;
}

#endif
