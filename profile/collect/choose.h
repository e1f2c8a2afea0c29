/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Chooses, by measurement, between two rules for the addresses of an irregular reference: dependent
 * on another reference, or drawn by reuse time. The dependent rule keeps the fields of a record
 * together. But where it leads to another cache line than its base, the model does not say how long
 * ago that line was accessed last; the replay's reuse times of such lines follow from the rule, and
 * may be wrong.
 */
#ifndef PSNAP_PROFILE_CHOOSE_H
#define PSNAP_PROFILE_CHOOSE_H

#include "profile/model.h"

/* The dependent references of `model` have reuse histograms as well. Each keeps its base, and loses
 * its histograms, or the other way round. When `deadline` (NULL: none) is set nothing is measured
 * any more, and all keep their bases. False: out of memory. */
bool model_choose(struct psnap_stream_model *model, const struct psnap_deadline *deadline);

#endif
