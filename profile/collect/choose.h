/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The choice between two rules of a reference, by measurement: that it depends on another one, or
 * that it is drawn by reuse time. A dependent reference keeps records together, but the reuse times
 * of what lies in other lines than its base are nobody's; those that it gets are measured.
 */
#ifndef PSNAP_PROFILE_CHOOSE_H
#define PSNAP_PROFILE_CHOOSE_H

#include "profile/model.h"

/* Of a model whose dependent references have reuse histograms, too: these are dropped, or rule.
 * False: out of memory. */
bool model_choose(struct psnap_stream_model *model);

#endif
