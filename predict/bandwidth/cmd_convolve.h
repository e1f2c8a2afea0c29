/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What psnap predict bandwidth makes of an input: a row for each loop, and one for all.
 */
#ifndef PSNAP_PREDICT_BANDWIDTH_CMD_CONVOLVE_H
#define PSNAP_PREDICT_BANDWIDTH_CMD_CONVOLVE_H

#include "formats/base/scope.h"
#include "predict/bandwidth/fit.h"
#include "replay/cmd_input.h"

struct convolve_row {
    char *id, *name; /* NULL: all of the input */
    uint64_t accesses;
    struct supply supply; /* of accesses */
    struct supply waits;  /* of those accesses whose latency the core waits for */
    double operations[PSNAP_OPERATION_COUNT];
    double memory_seconds[METHODS]; /* by each fit of the settings, in their order */
    double compute_seconds;         /* NaN: the machine's costs are unknown */
};

struct convolve_input {
    const char *path;
    struct convolve_row *rows; /* [0] is all of it, the others are loops, as the program has them */
    size_t count;
};

struct convolve_settings {
    struct psnap_input_options input;
    const struct fits *fits;           /* with the machine of the rates */
    const struct psnap_machine *costs; /* of operations, with a clock; NULL: unknown */
};

/* Simulates an input and predicts its rows. The caller releases it, also after an error. */
enum psnap_status convolve_input(struct convolve_input *input,
                                 const struct convolve_settings *settings,
                                 struct psnap_error *error);
void convolve_release(struct convolve_input *input);

#endif
