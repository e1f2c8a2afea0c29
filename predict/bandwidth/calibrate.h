/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A machine whose simulated hit rates explain measured bandwidths.
 */
#ifndef PSNAP_PREDICT_BANDWIDTH_CALIBRATE_H
#define PSNAP_PREDICT_BANDWIDTH_CALIBRATE_H

#include "predict/bandwidth/maps.h"

/* The last level in so many parts at most. */
enum { CALIBRATE_PARTS = 3 };

/*
 * Gives the points the supplies of `machine`, or of a variant that explains their bandwidths
 * better; that is maps->machine then. `tell` is called before each of `count` variants; may be
 * NULL.
 */
enum psnap_status maps_calibrate(struct maps *maps, const struct psnap_machine *machine,
                                 void (*tell)(void *context, uint32_t variant, uint32_t count),
                                 void *context, struct psnap_error *error);

/* The variant itself: levels behind the first replace at random, and the last one is `parts` ones,
 * from the level before it up to itself, equally far apart in logarithms. */
enum psnap_status machine_vary(const struct psnap_machine *machine, uint32_t parts,
                               struct psnap_machine *variant, struct psnap_error *error);

#endif
