/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Comparisons and the certificates of profiles (profile/FORMAT.md).
 */
#ifndef PSNAP_SIMCORE_CMD_CERTIFICATE_H
#define PSNAP_SIMCORE_CMD_CERTIFICATE_H

#include "profile/profile.h"
#include "simcore/compare.h"

/* What a comparison with the replay of `profile` comes to, as its certificate: in its arena, but
 * not put into it. */
enum psnap_status certificate_of(const struct compare *compare, struct psnap_profile *profile,
                                 uint64_t seed, struct psnap_certificate **certificate,
                                 struct psnap_error *error);

/* What a certificate claims, against what a comparison has found. */
struct certificate_check {
    bool has_other_seed; /* then its numbers are of another replay */
    const struct psnap_certificate_machine *other_machine; /* one of the same name has other caches,
                                                              as it was then; NULL: none */
    uint32_t compared, different; /* rows, of machines (by name) that both have */
    const struct psnap_certificate_row *claimed, *found; /* the two furthest apart, or NULL; found
                                                            NULL: its machine has no such level */
};

struct certificate_check certificate_check(const struct psnap_certificate *claimed,
                                           const struct psnap_certificate *found);

#endif
