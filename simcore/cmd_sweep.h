/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * psnap sim --sweep: the exact LRU hit rates of caches of all associativities, for lists of numbers
 * of sets and of lines' sizes, in one pass over the stream.
 */
#ifndef PSNAP_SIMCORE_CMD_SWEEP_H
#define PSNAP_SIMCORE_CMD_SWEEP_H

#include "formats/base/cmd.h"
#include "formats/base/scope.h"
#include "replay/cmd_input.h"

#define SWEEP_WAYS_MAX 1024

struct sweep_settings {
    const char *path;
    const struct psnap_input_options *input;
    const char *sets, *lines; /* "64,128,1K" */
    uint64_t ways;            /* 1 to these */
    bool wanted[PSNAP_SCOPE_COUNT];
    enum psnap_report_form form;
};

/* The exit status of the command. */
int sweep_run(const struct sweep_settings *settings);

#endif
