/* SPDX-License-Identifier: BSD-3-Clause */
/* What tests of bandwidth share. */
#ifndef PSNAP_TEST_BANDWIDTH_SUPPORT_H
#define PSNAP_TEST_BANDWIDTH_SUPPORT_H

#include <math.h>

static inline void assert_near(double got, double expected, double limit)
{
    if (!(fabs(got - expected) <= limit))
        fail_msg("%.17g instead of %.17g", got, expected);
}

#endif
