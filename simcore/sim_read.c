/* SPDX-License-Identifier: BSD-3-Clause */
/* What a simulator has counted, by row, as tallies. */
#include "simcore/sim.h"

uint64_t psnap_sim_accesses(const struct psnap_sink *sim)
{
    return ((const struct sim *)sim)->accesses;
}

uint32_t psnap_sim_threads(const struct psnap_sink *sim)
{
    const uint64_t *threads = ((const struct sim *)sim)->threads;
    uint32_t count = 0;

    for (size_t i = 0; i <= UINT16_MAX; i++)
        count += (uint32_t)(threads[i / 64] >> i % 64) & 1;
    return count;
}

/* One more than the highest reference of an access. */
static uint32_t ref_end(const struct sim *sim)
{
    uint32_t end = sim->far_room;

    while (end && sim->far_rows[end - 1] == PSNAP_NONE)
        end--;
    if (end)
        return REFS_DIRECT + end;
    end = sim->seen[PSNAP_VIEW_REF].rows;
    while (end && !sim->seen[PSNAP_VIEW_REF].numbers[end - 1])
        end--;
    return end;
}

uint32_t psnap_sim_rows(const struct psnap_sink *sim, enum psnap_view view)
{
    const struct sim *self = (const struct sim *)sim;

    if (view == PSNAP_VIEW_REF)
        return ref_end(self);
    return self->run_count ? self->runs[0].views[view].rows : 0;
}

static void add_detail(const struct run *run, const uint64_t *numbers, struct psnap_tally *tally)
{
    uint64_t *const counts[DETAIL_COUNTS] = {
        [DETAIL_WRITE_BACKS] = tally->write_backs,
        [DETAIL_ISSUED] = tally->prefetches,
        [DETAIL_USEFUL] = tally->prefetches_useful,
        [DETAIL_USELESS] = tally->prefetches_useless,
        [DETAIL_WRITE_THROUGHS] = tally->write_throughs,
        [DETAIL_EVICTIONS] = tally->evictions,
        [DETAIL_VICTIM_HITS] = tally->victim_hits,
        [DETAIL_INVALIDATIONS] = tally->invalidations,
        [DETAIL_COLD] = tally->cold,
        [DETAIL_CAPACITY] = tally->capacity,
        [DETAIL_CONFLICT] = tally->conflict,
        [DETAIL_COHERENCE] = tally->coherence,
    };

    for (int count = 0; count < DETAIL_COUNTS; count++)
        for (uint32_t level = 0; level < run->levels; level++)
            counts[count][level] += numbers[(size_t)count * run->levels + level];
}

void psnap_sim_add(const struct psnap_sink *sim, size_t machine, enum psnap_view view, uint32_t row,
                   struct psnap_tally *tally)
{
    const struct sim *self = (const struct sim *)sim;
    const struct run *run = &self->runs[machine];
    const uint32_t levels = run->levels;
    const uint64_t *numbers;
    uint64_t seen;

    sim_settle(sim); /* out of memory it can be only where a put said so before */
    if (view == PSNAP_VIEW_REF)
        row = row < REFS_DIRECT + self->far_room ? sim_row_of_ref(self, row) : PSNAP_NONE;
    if (row >= run->views[view].rows)
        return;
    seen = self->seen[view].numbers[row];
    numbers = run->views[view].numbers + row * run->width;
    tally->accesses += seen;
    for (uint32_t level = 0; level < levels; level++) {
        tally->hits[level] += (level ? numbers[level - 1] : seen) - numbers[level];
        tally->write_backs[level] += numbers[levels + level];
    }
    if (run->detail)
        add_detail(run, numbers + run->ahead, tally);
    for (uint32_t level = 0; level < levels && run->ahead && !run->detail; level++) {
        tally->prefetches[level] += numbers[run->ahead + level];
        tally->prefetches_useful[level] += numbers[run->ahead + levels + level];
        tally->prefetches_useless[level] += numbers[run->ahead + 2 * (size_t)levels + level];
    }
    for (uint32_t level = 0; level < run->paths->tlb.level_count; level++)
        tally->tlb_hits[level] +=
            (level ? numbers[run->tlb + level - 1] : seen) - numbers[run->tlb + level];
}

void psnap_sim_add_total(const struct psnap_sink *sim, size_t machine, struct psnap_tally *tally)
{
    const uint32_t rows = psnap_sim_rows(sim, PSNAP_VIEW_REF);

    for (uint32_t row = 0; row < rows; row++)
        psnap_sim_add(sim, machine, PSNAP_VIEW_REF, row, tally);
}
