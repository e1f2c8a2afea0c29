/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs in a chunk that is read: where the lanes predicted next come round in a
 * circle and no token is due for some rounds, all rounds until then follow from
 * the first one, by a stride for each lane.
 */
#include "formats/pst_decode.h"

/* Accesses that are made lane by lane: they stay in a cache of the first level. */
#define TILE_ACCESSES 1024u

/* How often the lanes that are predicted next come round again, all addresses as predicted; their
 * number goes to *width. */
static uint64_t find_cycle(const struct psnap_pst_decoder *decoder, uint32_t first, size_t *width)
{
    uint64_t count = UINT32_MAX;
    uint32_t index = first;

    *width = 0;
    do {
        const struct psnap_pst_read_lane *lane = &decoder->lanes[index];
        const uint32_t run = lane->run < lane->next_run ? lane->run : lane->next_run;

        if (*width == PSNAP_PST_RUN_WIDTH || run < PSNAP_PST_RUN_COUNT)
            return 0;
        if (run < count)
            count = run;
        ++*width;
        index = lane->next;
    } while (index != first);
    return count;
}

/*
 * What the cycle's lanes advance by: a lane that follows another as much as that one, lane after
 * lane, from one that has a step of its own. If none has, each is all steps of the round further
 * than a round before.
 */
static void set_strides(const struct psnap_pst_decoder *decoder, uint32_t first,
                        struct psnap_pst_run *run)
{
    const struct psnap_pst_read_lane *lane = &decoder->lanes[first];
    uint64_t stride = 0, round = 0;
    bool all_follow = true;

    for (size_t k = 0; k < run->width; k++, lane = &decoder->lanes[lane->next]) {
        all_follow &= lane->follows;
        stride = lane->follows ? stride : lane->step;
        round += lane->step;
    }
    if (all_follow)
        stride = round;
    for (size_t k = 0; k < run->width; k++, lane = &decoder->lanes[lane->next]) {
        stride = lane->follows ? stride : lane->step;
        run->strides[k] = (int64_t)stride;
    }
}

void psnap_pst_run_find(const struct psnap_pst_decoder *decoder, uint64_t limit,
                        struct psnap_pst_run *run)
{
    const uint32_t first = decoder->lanes[decoder->current].next;
    uint64_t count, address = decoder->address;
    uint32_t index = first;

    run->count = 0;
    if (!decoder->started || decoder->lanes[decoder->current].next_run == 0)
        return;
    count = find_cycle(decoder, first, &run->width);
    if (count == 0)
        return;
    if (count > limit / run->width)
        count = limit / run->width;
    if (count < PSNAP_PST_RUN_COUNT || count * run->width < PSNAP_PST_RUN_ACCESSES)
        return;
    set_strides(decoder, first, run);
    for (size_t k = 0; k < run->width; k++, index = decoder->lanes[index].next) {
        const struct psnap_pst_read_lane *lane = &decoder->lanes[index];

        address = (lane->follows ? address : lane->last) + lane->step;
        psnap_pst_set_access(&run->first[k], address, lane->key);
    }
    if (decoder->lanes[first].follows &&
        decoder->address != address - (uint64_t)run->strides[run->width - 1])
        return; /* its first address is not in line with those that follow */
    run->count = (uint32_t)count;
}

void psnap_pst_run_take(struct psnap_pst_decoder *decoder, const struct psnap_pst_run *run)
{
    struct psnap_pst_read_lane *lane = &decoder->lanes[decoder->current];

    lane->next_run--;
    for (size_t k = 0; k < run->width; k++) {
        decoder->current = lane->next;
        lane = &decoder->lanes[decoder->current];
        lane->next_run -= run->count;
        lane->run -= run->count;
        lane->last = run->first[k].address + (run->count - 1) * (uint64_t)run->strides[k];
    }
    lane->next_run++; /* it is not left yet */
    decoder->address = lane->last;
    decoder->left -= (uint32_t)(run->count * run->width);
}

/* Repetitions `from` to `to` of the run's k-th access. */
static void expand_one(const struct psnap_pst_run *run, size_t k, uint64_t from, uint64_t to,
                       struct psnap_access *block)
{
    const uint64_t stride = (uint64_t)run->strides[k];
    uint64_t address = run->first[k].address + from * stride, key;

    memcpy(&key, (const char *)&run->first[k] + sizeof address, sizeof key);
    block += k + from * run->width;
    for (uint64_t i = from; i < to; i++, block += run->width, address += stride)
        psnap_pst_set_access(block, address, key);
}

void psnap_pst_run_expand(const struct psnap_pst_run *run, struct psnap_access *block)
{
    const uint64_t rounds = TILE_ACCESSES / run->width;

    for (uint64_t from = 0; from < run->count; from += rounds) {
        const uint64_t to = run->count - from < rounds ? run->count : from + rounds;

        for (size_t k = 0; k < run->width; k++)
            expand_one(run, k, from, to, block);
    }
}

/* A run is of one thread and one block, and no ref occurs twice. */
static bool may_be_run(const struct psnap_pst_run *run, const struct psnap_program *program)
{
    for (size_t k = 1; k < run->width; k++) {
        if (run->first[k].thread != run->first[0].thread ||
            program->refs[run->first[k].ref].block != program->refs[run->first[0].ref].block)
            return false;
        for (size_t j = 0; j < k; j++)
            if (run->first[j].ref == run->first[k].ref)
                return false;
    }
    return true;
}

void psnap_pst_run_begin(struct psnap_pst_decoder *decoder, const struct psnap_program *program,
                         uint64_t limit, struct psnap_pst_run *run)
{
    psnap_pst_run_find(decoder, limit, run);
    if (run->count && !may_be_run(run, program))
        run->count = 0;
    if (run->count)
        psnap_pst_run_take(decoder, run);
}
