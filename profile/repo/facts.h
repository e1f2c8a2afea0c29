/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Facts: what the index says of a profile, all of it derived from the profile.
 *
 * The signature is three histograms of the accesses: by stride (the bins of profiles), by size of
 * the region that they are in, by accesses per line of 64 bytes of that region (both by powers of
 * two). Each bin is the square
 * root of its share of the accesses: the similarity of two profiles is the cosine of their
 * signatures, the mean of Bhattacharyya's coefficients.
 */
#ifndef PSNAP_PROFILE_REPO_FACTS_H
#define PSNAP_PROFILE_REPO_FACTS_H

#include "profile/profile.h"
#include "profile/repo/repo.h"

enum {
    SIGNATURE_STRIDES = 0,
    SIGNATURE_SIZES = SIGNATURE_STRIDES + PSNAP_STRIDE_BINS,
    SIGNATURE_USES = SIGNATURE_SIZES + 40,
    SIGNATURE_BINS = SIGNATURE_USES + 32
};

struct facts {
    char *json; /* {"program": ..., "functions": "\nmain\nspmv\n", ...}; owned */
    float signature[SIGNATURE_BINS];
};

/* Parses and checks a profile, and finds its facts, which the caller releases also on failure. */
enum psnap_status facts_of(const struct repo_bytes *yaml, const char *name, struct facts *facts,
                           struct psnap_error *error);
void facts_release(struct facts *facts);

double signature_similarity(const float a[SIGNATURE_BINS], const float b[SIGNATURE_BINS]);

#endif
