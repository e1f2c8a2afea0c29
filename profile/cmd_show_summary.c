/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What psnap show shows of loops and of threads: sums over their regions and parts, the order
 * (the hottest first, the parts of a loop behind it), and the loops that --loop means.
 *
 * Where threads are apart a loop as a whole has no regions of its own: it says what they come to
 * in all its parts.
 */
#include <stdlib.h>
#include <string.h>

#include "profile/cmd_show.h"

static void summarise(const struct psnap_profile_loop *loop, uint32_t index,
                      struct show_summary *summary)
{
    memset(summary, 0, sizeof *summary);
    summary->index = index;
    summary->accesses = summary->hot = loop->accesses;
    summary->region_count = loop->region_count;
    for (uint32_t i = 0; i < loop->region_count; i++) {
        const struct psnap_profile_region *region = &loop->regions[i];
        summary->working_set_bytes += region->bytes;
        for (unsigned s = 0; s < region->stride_count; s++)
            summary->strides[region->strides[s].bin] += region->strides[s].count;
    }
}

/* Adds what is in parts to the whole loops, and notes how much that is in the parts. By index. */
static void add_parts(const struct psnap_profile *profile, struct show_summary *summaries)
{
    for (uint32_t i = 0; i < profile->loop_count; i++) {
        const struct show_summary *part = &summaries[i];
        struct show_summary *whole;
        if (profile->loops[i].whole == PSNAP_NONE)
            continue;
        whole = &summaries[profile->loops[i].whole];
        whole->accesses += part->accesses;
        whole->working_set_bytes += part->working_set_bytes;
        whole->region_count += part->region_count;
        for (unsigned bin = 0; bin < PSNAP_STRIDE_BINS; bin++)
            whole->strides[bin] += part->strides[bin];
        whole->hot = whole->accesses;
    }
    for (uint32_t i = 0; i < profile->loop_count; i++)
        if (profile->loops[i].whole != PSNAP_NONE)
            summaries[i].hot = summaries[profile->loops[i].whole].hot;
}

struct show_summary *show_summarise(const struct psnap_profile *profile)
{
    struct show_summary *summaries = calloc(profile->loop_count + 1, sizeof *summaries);

    if (!summaries)
        return NULL;
    for (uint32_t i = 0; i < profile->loop_count; i++)
        summarise(&profile->loops[i], i, &summaries[i]);
    add_parts(profile, summaries);
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

    for (uint32_t i = 0; i < profile->loop_count; i++) {
        const uint32_t whole = profile->loops[i].whole;
        if (is_id(wanted, profile->loops[i].id) ||
            (whole != PSNAP_NONE && is_id(wanted, profile->loops[whole].id)))
            summaries[count++] = summaries[i];
    }
    for (uint32_t i = 0, parts = !count; parts && i < profile->loop_count; i++)
        if (is_id(wanted, profile->loops[i].src_id))
            summaries[count++] = summaries[i];
    return count;
}

static int compare_hot(const void *a, const void *b)
{
    const struct show_summary *p = a, *q = b;

    if (p->hot != q->hot)
        return p->hot > q->hot ? -1 : 1;
    return p->index < q->index ? -1 : p->index > q->index;
}

void show_sort(struct show_summary *summaries, uint32_t count)
{
    qsort(summaries, count, sizeof *summaries, compare_hot);
}

struct show_thread *show_threads(const struct psnap_profile *profile)
{
    struct show_thread *threads = calloc(PSNAP_THREADS_MAX, sizeof *threads);

    for (uint32_t i = 0; threads && i < profile->loop_count; i++) {
        const struct psnap_profile_loop *loop = &profile->loops[i];
        if (loop->thread == PSNAP_NONE)
            continue;
        threads[loop->thread].part = loop;
        threads[loop->thread].accesses += loop->accesses;
        threads[loop->thread].loops++;
    }
    return threads;
}
