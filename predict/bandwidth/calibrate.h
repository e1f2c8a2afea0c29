/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A machine whose simulated hit rates explain measured bandwidths.
 */
#ifndef PSNAP_PREDICT_BANDWIDTH_CALIBRATE_H
#define PSNAP_PREDICT_BANDWIDTH_CALIBRATE_H

#include "predict/bandwidth/maps.h"

/* How a machine is varied. */
struct calibration {
    bool is_random; /* levels behind the first replace at random, where they are LRU */
    uint32_t parts; /* the last level is so many ones, from the level before it up to itself,
                       equally far apart in logarithms; 1: as it is */
    double share;   /* of the last level that there is */
};

/*
 * The variant of `machine` that explains the points' bandwidths best, or itself. `tell` is called
 * before each of about `count` variants; may be NULL.
 */
enum psnap_status maps_calibrate(const struct maps *maps, const struct psnap_machine *machine,
                                 struct psnap_machine *calibrated,
                                 void (*tell)(void *context, uint32_t variant, uint32_t count),
                                 void *context, struct psnap_error *error);

enum psnap_status machine_vary(const struct psnap_machine *machine,
                               const struct calibration *calibration, struct psnap_machine *variant,
                               struct psnap_error *error);

#endif
