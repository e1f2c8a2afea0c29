/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which accesses of a run go to lines of a sample: visits, each of one access or several in a row
 * to one line. What looks at visits in the order of the stream does the same as if it looked at
 * every access.
 */
#ifndef PSNAP_PROFILE_VISIT_H
#define PSNAP_PROFILE_VISIT_H

#include "formats/base/stream.h"
#include "profile/address/sample.h"

/* The addresses of one access of a run: as the repetitions go by a stride further, or from words.
 */
struct run_column {
    uint64_t first; /* address of repetition 0, or what is added to words */
    uint64_t stride;
    const uint64_t *words; /* NULL: none */
    size_t pitch;
};

/* Those of the k-th access, without the first `from` repetitions. */
static inline struct run_column run_column(const struct psnap_run *run, size_t k, uint64_t from)
{
    if (run->columns && run->columns[k].words)
        return (struct run_column){.first = run->columns[k].offset,
                                   .words = run->columns[k].words + from * run->columns[k].pitch,
                                   .pitch = run->columns[k].pitch};
    return (struct run_column){.first = psnap_run_address(run, from, k),
                               .stride = (uint64_t)run->strides[k]};
}

static inline uint64_t run_column_address(const struct run_column *column, uint64_t i)
{
    return column->first + (column->words ? column->words[i * column->pitch] : i * column->stride);
}

static inline void run_column_skip(struct run_column *column, uint64_t count)
{
    if (column->words)
        column->words += count * column->pitch;
    else
        column->first += count * column->stride;
}

/* Repetitions of a run that access a line of the sample: from the next one to the one before `end`
 * they access the same line. */
struct visit {
    uint64_t next, end;
    uint64_t per_line; /* repetitions that access each line, if these are as many for all lines but
                          the first and the last one, else 0 */
    uint64_t step;     /* from the hash of a line to that of the next one, then */
};

/* Finds the first visit of a run of `count` repetitions, or the first one from visit->end on;
 * visit->next is `count` if there is none. */
void visit_begin(struct visit *visit, const struct run_column *column, const struct sample *sample,
                 uint64_t count);
void visit_find(struct visit *visit, const struct run_column *column, const struct sample *sample,
                uint64_t count);
/* All accesses of a run touch the sample, number `time` is its first one: for where nobody asks
 * within the run when its lines were touched. There are `width` columns and as many visits, which
 * need not be begun. False: out of memory. */
bool visit_run(struct visit *visits, const struct run_column *columns, size_t width,
               struct sample *sample, uint64_t count, uint64_t time);

#endif
