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
    const struct fits *fits;           /* `count` of them, each with the machine of its rates */
    const struct psnap_machine *costs; /* of each one's operations, with a clock; NULL: unknown */
    size_t count;
};

/* Simulates the input at inputs[0].path, in one pass, and predicts its rows: inputs[i] by fit i,
 * the same rows in all. The caller releases them, also after an error. */
enum psnap_status convolve_input(struct convolve_input *inputs,
                                 const struct convolve_settings *settings,
                                 struct psnap_error *error);
void convolve_release(struct convolve_input *input);

#endif
