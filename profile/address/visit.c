/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds visits to lines of a sample (visit.h), line by line.
 */
#include "profile/address/visit.h"

enum { LINE = 1 << SAMPLE_LINE_BITS, MANY = 1 << 30 };

static void find_in_words(struct visit *visit, const struct run_column *column,
                          const struct sample *sample, uint64_t count)
{
    uint64_t i = visit->end;

    while (i < count && !sample_has(sample, run_column_address(column, i) >> SAMPLE_LINE_BITS))
        i++;
    visit->next = i;
    visit->end = i + 1;
}

/* How many repetitions from one on access its line. */
static uint64_t length_of(const struct run_column *column, uint64_t i, uint64_t count)
{
    const uint64_t stride = column->stride, back = 0 - stride;
    const uint32_t byte = (column->first + i * stride) % LINE;
    uint64_t more = 0;

    if (stride < LINE)
        more = stride ? (LINE - 1 - byte) / (uint32_t)stride : count;
    else if (back < LINE)
        more = byte / (uint32_t)back;
    return more < count - i ? more + 1 : count - i;
}

/* From the beginning of a line on, when all have as many repetitions: the hash of a sum is the sum
 * of the hashes. */
static void find_evenly(struct visit *visit, const struct run_column *column,
                        const struct sample *sample, uint64_t count)
{
    uint64_t i = visit->end;
    uint64_t hash = sample_hash((column->first + i * column->stride) >> SAMPLE_LINE_BITS);

    for (; i < count && hash & sample->mask; i += visit->per_line)
        hash += visit->step;
    visit->next = i < count ? i : count;
    visit->end = i < count && visit->per_line < count - i ? i + visit->per_line : count;
}

void visit_find(struct visit *visit, const struct run_column *column, const struct sample *sample,
                uint64_t count)
{
    uint64_t i = visit->end;

    if (column->words) {
        find_in_words(visit, column, sample, count);
        return;
    }
    for (; i < count && !(i && visit->per_line); i = visit->end) {
        visit->end = i + length_of(column, i, count);
        visit->next = i;
        if (sample_has(sample, (column->first + i * column->stride) >> SAMPLE_LINE_BITS))
            return;
    }
    visit->next = count;
    if (i < count)
        find_evenly(visit, column, sample, count);
}

void visit_begin(struct visit *visit, const struct run_column *column, const struct sample *sample,
                 uint64_t count)
{
    const bool is_back = column->stride > INT64_MAX;
    const uint64_t stride = is_back ? 0 - column->stride : column->stride;
    const uint32_t bytes = stride < MANY ? (uint32_t)stride : 0;
    const uint64_t room = is_back ? column->first : UINT64_MAX - column->first;

    *visit = (struct visit){0};
    if (!column->words && bytes && count < MANY && bytes * count <= room) { /* no overflow */
        if (bytes % LINE == 0)
            visit->per_line = 1;
        else if (LINE % bytes == 0)
            visit->per_line = LINE / bytes;
        visit->step = sample_hash(bytes > LINE ? bytes / LINE : 1);
        visit->step = is_back ? 0 - visit->step : visit->step;
    }
    visit_find(visit, column, sample, count);
}

bool visit_run(struct visit *visits, const struct run_column *columns, size_t width,
               struct sample *sample, uint64_t count, uint64_t time)
{
    uint64_t next;

    for (size_t k = 0; k < width; k++)
        visit_begin(&visits[k], &columns[k], sample, count);
    for (uint64_t i = 0; i < count; i = next) {
        next = count;
        for (size_t k = 0; k < width; k++) {
            struct visit *visit = &visits[k];
            const uint64_t last = visit->end - 1;
            const uint64_t address = visit->next == i ? run_column_address(&columns[k], last) : 0;
            const struct sample_line line = {address / LINE, time + last * width + k,
                                             address % LINE};
            struct sample_line before;
            if (visit->next == i) {
                if (sample_has(sample, line.line) && !sample_touch(sample, &line, &before))
                    return false;
                visit_find(visit, &columns[k], sample, count);
            }
            next = visit->next < next ? visit->next : next;
        }
    }
    return true;
}
