/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Addresses of an irregular reference, access by access, from its reuse histograms
 * (address/reuse.h). Counts are drawn without replacement, phase by phase: in the end the reference
 * has drawn each bin exactly as often as its histograms say.
 *
 * First touches of the first phase that the histograms give a time (reuse.when) are not drawn with
 * the other bins. Their number is divided between octaves of executions by the weights of these,
 * and each execution takes one of them with the chance that makes them come evenly in their octave.
 * First touches that an octave leaves over come in the next one, those that the first phase leaves
 * over come at once.
 */
#ifndef PSNAP_PROFILE_DRAW_H
#define PSNAP_PROFILE_DRAW_H

#include "profile/model.h"
#include "profile/walk/recall.h"

struct draw {
    const uint32_t *numbers;      /* by object of the model: its number in the recall */
    struct reuse_bin_count *left; /* the bins of the phase, with the counts still to draw, */
    uint32_t *objects;            /* and the histogram (of ref->reuses) that each of them is from */
    uint64_t *places;             /* by histogram: the sum of its weights of places */
    uint32_t left_count, phase;
    uint64_t left_sum;    /* accesses still to draw in the phase */
    uint64_t done;        /* accesses drawn so far, in all phases */
    uint64_t *firsts;     /* timed first touches still to come: REUSE_WHEN octaves for each
                             histogram; NULL: no first touch is timed */
    uint64_t firsts_left; /* their sum */
    uint32_t when;        /* the octave of the latest execution */
};

/* Of a reference whose rule is MODEL_REUSE; `numbers` says, by object of the model, which one of
 * the recall's it is, and outlives the draw. False: out of memory; release it then, too. */
bool draw_init(struct draw *draw, const struct model_ref *ref, const uint32_t *numbers);
void draw_release(struct draw *draw);
/* The address of the reference's next access, which is access number `now` of the stream. */
uint64_t draw_address(struct draw *draw, const struct model_ref *ref, struct recall *recall,
                      uint64_t now, struct psnap_rng *rng);

#endif
