/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The clock of reals.h.
 */
#include "formats/base/reals.h"

#include <time.h>

double psnap_reals_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
