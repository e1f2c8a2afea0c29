/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds visits to lines of a sample (visit.h), line by line.
 */
#include "profile/address/visit.h"

static void find_in_words(struct visit *visit, const struct run_column *column,
                          const struct sample *sample, uint64_t count)
{
    uint64_t i = visit->end;

    while (i < count && !sample_has(sample, run_column_address(column, i) >> SAMPLE_LINE_BITS))
        i++;
    visit->next = i;
    visit->end = i + 1;
}

void visit_find(struct visit *visit, const struct run_column *column, const struct sample *sample,
                uint64_t count)
{
    enum { LINE = 1 << SAMPLE_LINE_BITS };
    const uint64_t stride = column->stride, back = 0 - stride;
    uint64_t i = visit->end;

    if (column->words) {
        find_in_words(visit, column, sample, count);
        return;
    }
    for (; i < count; i = visit->end) {
        const uint64_t address = column->first + i * stride, byte = address % LINE;
        uint64_t more = 0; /* accesses to the line behind this one */
        if (stride < LINE)
            more = stride ? (LINE - 1 - byte) / stride : count;
        else if (back < LINE)
            more = byte / back;
        visit->end = count - i > more ? i + more + 1 : count;
        if (sample_has(sample, address >> SAMPLE_LINE_BITS))
            break;
    }
    visit->next = i;
}
