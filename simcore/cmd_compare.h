/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What psnap compare prints of a comparison: private to cmd_compare*.c.
 */
#ifndef PSNAP_SIMCORE_CMD_COMPARE_H
#define PSNAP_SIMCORE_CMD_COMPARE_H

#include <stdbool.h>

#include "simcore/cmd_certificate.h"
#include "simcore/compare.h"

/* The certificate of a profile on the synthetic side. */
struct compare_claim {
    const struct psnap_certificate *certificate; /* NULL: none */
    bool holds;                                  /* the profile was not edited since */
    struct certificate_check check;
};

/* Both print to stdout; all: also the loops that are not relevant. are_profiles: neither side is a
 * trace. */
void compare_print_tables(const struct compare *compare, const struct compare_side *observed,
                          const struct compare_side *synthetic, const struct compare_claim *claim,
                          bool are_profiles, bool all);
void compare_print_json(const struct compare *compare, const struct compare_side *observed,
                        const struct compare_side *synthetic, const struct compare_claim *claim,
                        bool all);

#endif
