/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The signature of a profile's locality (facts.h): four histograms of its accesses. Similarity is
 * by Bhattacharyya (1943): the sum over bins of the geometric mean of both shares, 1 for the same
 * histogram, 0 for two that have no bin in common.
 */
#include <math.h>

#include "profile/model.h"
#include "profile/repo/facts.h"

enum { PARTS = 4, LINE = 64 };

static const unsigned parts[PARTS + 1] = {SIGNATURE_STRIDES, SIGNATURE_SIZES, SIGNATURE_USES,
                                          SIGNATURE_REUSES, SIGNATURE_BYTES};

static unsigned log2_of(uint64_t value, unsigned limit)
{
    const unsigned bin = value ? 63 - (unsigned)__builtin_clzll(value) : 0;

    return bin < limit ? bin : limit - 1;
}

static void add_region(const struct psnap_profile_region *region, double bins[SIGNATURE_BYTES])
{
    const double accesses = (double)region->accesses;
    double strides = 0;

    for (unsigned i = 0; i < region->stride_count; i++)
        strides += (double)region->strides[i].count;
    for (unsigned i = 0; i < region->stride_count; i++)
        bins[SIGNATURE_STRIDES + region->strides[i].bin] +=
            accesses * (double)region->strides[i].count / strides;
    bins[SIGNATURE_SIZES + log2_of(region->bytes, SIGNATURE_USES - SIGNATURE_SIZES)] += accesses;
    bins[SIGNATURE_USES + log2_of(region->accesses / (region->bytes / LINE + 1),
                                  SIGNATURE_REUSES - SIGNATURE_USES)] += accesses;
}

/* Times 0 and 1, 2 and 3, 4 to 7, 8 to 15, and so on by octaves; the last one is of first touches.
 */
static unsigned reuse_slot(unsigned bin)
{
    if (bin == REUSE_FIRST)
        return SIGNATURE_BYTES - SIGNATURE_REUSES - 1;
    return 1 + log2_of(reuse_bin_low(bin), SIGNATURE_BYTES - SIGNATURE_REUSES - 2);
}

static void add_reference(const struct model_ref *ref, double bins[SIGNATURE_BYTES])
{
    double all = 0;

    if (ref->rule != MODEL_REUSE) {
        bins[SIGNATURE_REUSES] += (double)ref->executions;
        return;
    }
    for (uint32_t i = 0; i < ref->reuse_count; i++)
        for (uint32_t b = 0; b < ref->reuses[i].bin_count; b++)
            all += (double)ref->reuses[i].bins[b].count;
    for (uint32_t i = 0; i < ref->reuse_count; i++)
        for (uint32_t b = 0; b < ref->reuses[i].bin_count; b++)
            bins[SIGNATURE_REUSES + reuse_slot(ref->reuses[i].bins[b].bin)] +=
                (double)ref->reuses[i].bins[b].count / all * (double)ref->executions;
}

void signature_of(const struct psnap_profile *profile, uint8_t signature[SIGNATURE_BYTES])
{
    double bins[SIGNATURE_BYTES] = {0};

    for (uint32_t l = 0; l < profile->loop_count; l++)
        for (uint32_t i = 0; i < profile->loops[l].region_count; i++)
            add_region(&profile->loops[l].regions[i], bins);
    for (uint32_t i = 0; profile->stream && i < profile->stream->ref_count; i++)
        add_reference(&profile->stream->refs[i], bins);
    for (unsigned p = 0; p < PARTS; p++) {
        double sum = 0;
        for (unsigned i = parts[p]; i < parts[p + 1]; i++)
            sum += bins[i];
        for (unsigned i = parts[p]; i < parts[p + 1]; i++)
            signature[i] = sum > 0 ? (uint8_t)lround(255 * sqrt(bins[i] / sum)) : 0;
    }
}

/* Both are divided by their lengths, which rounding has made not quite 255. */
double signature_similarity(const uint8_t a[SIGNATURE_BYTES], const uint8_t b[SIGNATURE_BYTES])
{
    double sum = 0;

    for (unsigned p = 0; p < PARTS; p++) {
        uint64_t ab = 0, aa = 0, bb = 0;
        for (unsigned i = parts[p]; i < parts[p + 1]; i++) {
            ab += (uint64_t)a[i] * b[i];
            aa += (uint64_t)a[i] * a[i];
            bb += (uint64_t)b[i] * b[i];
        }
        if (aa && bb)
            sum += (double)ab / sqrt((double)aa * (double)bb);
        else
            sum += !aa && !bb;
    }
    return sum / (double)PARTS;
}
