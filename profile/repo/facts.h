/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Facts: what the index says of a profile, all of it derived from the profile. They are kept beside
 * it, so that an index can be made anew without reading ten thousand YAML documents.
 *
 * The signature is four histograms of the accesses, one byte a bin, 255 times the square root of
 * the bin's share: by stride (the bins of profiles), by size of the region that they are in (by
 * powers of two), by accesses per line of 64 bytes of that region (by powers of two), by reuse time
 * of irregular references (by powers of two; bin 0 has all accesses that are not irregular). The
 * similarity of two profiles is the mean of the four Bhattacharyya coefficients, from 0 to 1.
 */
#ifndef PSNAP_PROFILE_REPO_FACTS_H
#define PSNAP_PROFILE_REPO_FACTS_H

#include "profile/profile.h"
#include "profile/repo/bytes.h"

enum {
    SIGNATURE_STRIDES = 0,
    SIGNATURE_SIZES = SIGNATURE_STRIDES + PSNAP_STRIDE_BINS,
    SIGNATURE_USES = SIGNATURE_SIZES + 40,
    SIGNATURE_REUSES = SIGNATURE_USES + 32,
    SIGNATURE_BYTES = SIGNATURE_REUSES + 48,
    FACTS_FUNCTIONS_MAX = 200
};

enum facts_text {
    FACTS_NAME,
    FACTS_COMMAND,
    FACTS_BUILD_ID,
    FACTS_LANGUAGE,
    FACTS_COMPILER,
    FACTS_HOST,
    FACTS_RECORDED,
    FACTS_MODEL,
    FACTS_FUNCTIONS, /* "\nmain\nspmv\n": each between ends of lines */
    FACTS_TEXTS
};

enum facts_count {
    FACTS_ACCESSES,
    FACTS_LOADS,
    FACTS_STORES,
    FACTS_ATOMICS,
    FACTS_LOOPS,
    FACTS_REGIONS,
    FACTS_WORKING_SET, /* bytes that regions cover together */
    FACTS_COUNTS
};

struct facts {
    char *texts[FACTS_TEXTS]; /* owned; NULL: unknown */
    uint64_t counts[FACTS_COUNTS];
    double fidelity; /* points, of the certificate, the worst level's mean; NaN: none */
    uint8_t signature[SIGNATURE_BYTES];
};

/* The names of texts and counts, in facts, the index, JSON and queries. */
extern const char *const facts_text_keys[FACTS_TEXTS];
extern const char *const facts_count_keys[FACTS_COUNTS];

/* The facts of a profile, as lines. False: out of memory. */
bool facts_write(const struct psnap_profile *profile, struct repo_bytes *lines);
/* False: they are no facts, or of another version: then they are derived anew. */
bool facts_read(const struct repo_bytes *lines, struct facts *facts);
void facts_release(struct facts *facts);

/* The histograms of the signature. */
void signature_of(const struct psnap_profile *profile, uint8_t signature[SIGNATURE_BYTES]);
double signature_similarity(const uint8_t a[SIGNATURE_BYTES], const uint8_t b[SIGNATURE_BYTES]);

#endif
