/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Loops as psnap show has them: sums over their regions, the order (the hottest first), and those
 * that --loop means.
 */
#include <stdlib.h>
#include <string.h>

#include "profile/cmd_show.h"

static void summarise(const struct psnap_profile_loop *loop, uint32_t index,
                      struct show_summary *summary)
{
    memset(summary, 0, sizeof *summary);
    summary->index = index;
    summary->accesses = loop->accesses;
    summary->region_count = loop->region_count;
    for (uint32_t i = 0; i < loop->region_count; i++) {
        const struct psnap_profile_region *region = &loop->regions[i];
        summary->working_set_bytes += region->bytes;
        for (unsigned s = 0; s < region->stride_count; s++)
            summary->strides[region->strides[s].bin] += region->strides[s].count;
    }
}

struct show_summary *show_summarise(const struct psnap_profile *profile)
{
    struct show_summary *summaries = calloc(profile->loop_count + 1, sizeof *summaries);

    if (!summaries)
        return NULL;
    for (uint32_t i = 0; i < profile->loop_count; i++)
        summarise(&profile->loops[i], i, &summaries[i]);
    return summaries;
}

/* Whether `wanted` is `id`, or what a table leaves of a long one: "std::vec...ack:105". */
static bool is_id(const char *wanted, const char *id)
{
    const char *dots = strstr(wanted, "...");
    const size_t length = strlen(id), tail = dots ? strlen(dots + 3) : 0;

    if (!dots)
        return !strcmp(wanted, id);
    return length > (size_t)(dots - wanted) + tail &&
           !strncmp(wanted, id, (size_t)(dots - wanted)) && !strcmp(dots + 3, id + length - tail);
}

uint32_t show_choose(const struct psnap_profile *profile, const char *wanted,
                     struct show_summary *summaries)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < profile->loop_count; i++)
        if (is_id(wanted, profile->loops[i].id))
            summaries[count++] = summaries[i];
    for (uint32_t i = 0, parts = !count; parts && i < profile->loop_count; i++)
        if (is_id(wanted, profile->loops[i].src_id))
            summaries[count++] = summaries[i];
    return count;
}

static int compare_hot(const void *a, const void *b)
{
    const struct show_summary *p = a, *q = b;

    if (p->accesses != q->accesses)
        return p->accesses > q->accesses ? -1 : 1;
    return p->index < q->index ? -1 : p->index > q->index;
}

void show_sort(struct show_summary *summaries, uint32_t count)
{
    qsort(summaries, count, sizeof *summaries, compare_hot);
}
