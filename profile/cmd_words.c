/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Numbers of profiles in words, for the commands that show them to people.
 */
#include "profile/cmd_words.h"

#include <inttypes.h>
#include <stdio.h>

const char *human_bytes(uint64_t bytes, char text[32])
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double value = (double)bytes;
    unsigned unit = 0;

    for (; value >= 1024 && unit < 6; unit++)
        value /= 1024;
    snprintf(text, 32, unit && value < 100 ? "%.1f %s" : "%.0f %s", value, units[unit]);
    return text;
}

const char *human_strides(const uint64_t counts[PSNAP_STRIDE_BINS], char *text, size_t size)
{
    bool shown[PSNAP_STRIDE_BINS] = {false};
    uint64_t sum = 0;
    size_t used = 0;

    text[0] = '\0';
    for (unsigned bin = 0; bin < PSNAP_STRIDE_BINS; bin++)
        sum += counts[bin];
    for (unsigned n = 0; n < 3; n++) {
        unsigned best = PSNAP_STRIDE_BINS;
        double percent;
        for (unsigned bin = 0; bin < PSNAP_STRIDE_BINS; bin++)
            if (!shown[bin] && counts[bin] &&
                (best == PSNAP_STRIDE_BINS || counts[bin] > counts[best]))
                best = bin;
        percent = best < PSNAP_STRIDE_BINS ? 100.0 * (double)counts[best] / (double)sum : 0;
        if (percent < 5)
            break;
        shown[best] = true;
        used += (size_t)snprintf(text + used, size - used, "%s%s %.0f %%", n ? ", " : "",
                                 psnap_stride_label(best), percent);
    }
    if (!text[0])
        snprintf(text, size, "-");
    return text;
}

const char *human_source(const struct psnap_profile_loop *loop, char *text, size_t size)
{
    if (loop->src_line)
        snprintf(text, size, "%s:%" PRIu32, loop->file, loop->src_line);
    else
        snprintf(text, size, "%s", *loop->file ? loop->file : "-");
    return text;
}
