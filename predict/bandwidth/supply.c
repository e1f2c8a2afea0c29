/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A simulator (simcore) between a translation of addresses and a classification of lines.
 *
 * Translation: page p lies in frame f(p), a bijection of 52 bits that mixes them (multiplications
 * by odd numbers and shifts, each of which can be undone). So a cache of more sets than a page has
 * lines gets pages into its sets as a physically indexed one does, unevenly.
 *
 * Classification: a hashed table of one entry each has lines accessed lately, 2^RECENT_BITS of them
 * at most. An access is near when the table has a line beside its own; skip when it has one that is
 * up to REACH lines away; else far. (Its own line says nothing: where that is still in level 1 the
 * kind does not count.) Neighbours are those in the frame, as hardware
 * prefetchers see no further than a page. An access of several lines counts as its first one. The
 * kind is the access's tag, and is counted with its loop: tag = loop * SUPPLY_KINDS + kind.
 */
#include "predict/bandwidth/supply.h"

#include <math.h>
#include <stdlib.h>

enum { PAGE_BITS = 12, FRAME_BITS = 52, RECENT_BITS = 8, REACH = 7, BLOCK = 1024 };

struct supply_sink {
    struct psnap_sink sink;
    struct psnap_sink *sim;
    const struct psnap_program *program;
    uint32_t level_count, line_bits;
    uint64_t seed;
    uint64_t recent[1 << RECENT_BITS]; /* line + 1; 0: none */
    struct psnap_access block[BLOCK];
};

const char *supply_kind_name(enum supply_kind kind)
{
    static const char *const names[SUPPLY_KINDS] = {"near", "skip", "far"};

    return names[kind];
}

/* -------------------------------------------------------------------- sums */

double supply_total(const struct supply *supply)
{
    double sum = 0;

    for (int i = 0; i < SUPPLY_LEVELS; i++)
        for (int k = 0; k < SUPPLY_KINDS; k++)
            sum += supply->accesses[i][k];
    return sum;
}

void supply_add(struct supply *to, const struct supply *more, double times)
{
    for (int i = 0; i < SUPPLY_LEVELS; i++)
        for (int k = 0; k < SUPPLY_KINDS; k++)
            to->accesses[i][k] += times * more->accesses[i][k];
}

void supply_normalise(struct supply *supply)
{
    const struct supply copy = *supply;
    const double total = supply_total(supply);

    if (!(total > 0))
        return;
    *supply = (struct supply){0};
    supply_add(supply, &copy, 1 / total);
}

double supply_hit_rate(const struct supply *supply, uint32_t level)
{
    double sum = 0;

    for (uint32_t i = 0; i <= level; i++)
        for (int k = 0; k < SUPPLY_KINDS; k++)
            sum += supply->accesses[i][k];
    return sum / supply_total(supply);
}

/* ----------------------------------------------------------- addresses and kinds */

uint64_t supply_frame(uint64_t page, uint64_t seed)
{
    const uint64_t mask = (UINT64_C(1) << FRAME_BITS) - 1;
    uint64_t frame = (page + seed * UINT64_C(0x9e3779b97f4a7c15)) & mask;

    for (int round = 0; round < 2; round++) {
        frame ^= frame >> (FRAME_BITS / 2);
        frame = frame * UINT64_C(0xff51afd7ed558ccd) & mask;
    }
    return frame ^ frame >> (FRAME_BITS / 2);
}

/* Streams at the same place in their pages are not to meet in the table. */
static size_t slot_of(uint64_t line)
{
    return (size_t)(line * UINT64_C(0x9e3779b97f4a7c15) >> (64 - RECENT_BITS));
}

static bool is_recent(const struct supply_sink *sink, uint64_t line)
{
    return line != UINT64_MAX && sink->recent[slot_of(line)] == line + 1;
}

static enum supply_kind kind_of(const struct supply_sink *sink, uint64_t line)
{
    if (is_recent(sink, line - 1) || is_recent(sink, line + 1))
        return SUPPLY_NEAR;
    for (uint64_t away = 2; away <= REACH; away++)
        if (is_recent(sink, line - away) || is_recent(sink, line + away))
            return SUPPLY_SKIP;
    return SUPPLY_FAR;
}

/* As psnap_sim_options.tagger. */
static enum psnap_status tag(void *context, const struct psnap_access *block, size_t n,
                             uint32_t *rows, struct psnap_error *error)
{
    struct supply_sink *sink = context;

    for (size_t i = 0; i < n; i++) {
        const uint64_t line = block[i].address >> sink->line_bits;
        const uint32_t loop =
            block[i].ref < sink->program->ref_count ? sink->program->refs[block[i].ref].loop : 0;

        if (loop >= PSNAP_SIM_ROWS_MAX / SUPPLY_KINDS - 1)
            return psnap_error_set(error, PSNAP_ERROR_LIMIT, "more than %u loops",
                                   PSNAP_SIM_ROWS_MAX / SUPPLY_KINDS - 1);
        rows[i] = loop * SUPPLY_KINDS + (uint32_t)kind_of(sink, line);
        sink->recent[slot_of(line)] = line + 1;
    }
    return PSNAP_OK;
}

/* ------------------------------------------------------------------- the sink */

static struct supply_sink *supply_of(struct psnap_sink *self)
{
    return (struct supply_sink *)self;
}

/* An access that goes on into the next page has the frame of its first byte. */
static enum psnap_status put(struct psnap_sink *self, const struct psnap_access *block, size_t n,
                             struct psnap_error *error)
{
    const uint64_t in_page = (UINT64_C(1) << PAGE_BITS) - 1;
    struct supply_sink *sink = supply_of(self);
    enum psnap_status status = PSNAP_OK;
    uint64_t page = UINT64_MAX, frame = 0;

    while (n && !status) {
        const size_t count = n < BLOCK ? n : BLOCK;

        for (size_t i = 0; i < count; i++) {
            sink->block[i] = block[i];
            if (block[i].address >> PAGE_BITS != page) {
                page = block[i].address >> PAGE_BITS;
                frame = supply_frame(page, sink->seed) << PAGE_BITS;
            }
            sink->block[i].address = frame | (block[i].address & in_page);
        }
        status = psnap_sink_put(sink->sim, sink->block, count, error);
        block += count;
        n -= count;
    }
    return status;
}

static enum psnap_status finish(struct psnap_sink *self, struct psnap_error *error)
{
    return psnap_sink_finish(supply_of(self)->sim, error);
}

static void release(struct psnap_sink *self)
{
    psnap_sink_free(supply_of(self)->sim);
    free(self);
}

struct psnap_sink *supply_sink_new(const struct psnap_machine *machine,
                                   const struct psnap_program *program, uint64_t seed,
                                   struct psnap_error *error)
{
    static const struct psnap_sink_ops ops = {.put = put, .finish = finish, .free = release};
    struct supply_sink *sink = calloc(1, sizeof *sink);
    struct psnap_sim_options options = {.tagger = tag, .tagger_context = sink};

    if (!sink) {
        psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for rates");
        return NULL;
    }
    sink->sink.ops = &ops;
    sink->program = program;
    sink->seed = seed;
    sink->level_count = machine->level_count;
    while (UINT64_C(1) << sink->line_bits < machine->levels[0].line_bytes)
        sink->line_bits++;
    sink->sim = psnap_sim_new(machine, 1, program, &options, error);
    if (sink->sim)
        return &sink->sink;
    free(sink);
    return NULL;
}

void supply_of_loop(const struct psnap_sink *self, uint32_t loop, struct supply *supply)
{
    const struct supply_sink *sink = (const struct supply_sink *)self;

    *supply = (struct supply){0};
    for (uint32_t kind = 0; kind < SUPPLY_KINDS; kind++) {
        struct psnap_tally tally = {0};
        uint64_t satisfied = 0;

        psnap_sim_add(sink->sim, 0, PSNAP_VIEW_TAG, loop * SUPPLY_KINDS + kind, &tally);
        for (uint32_t i = 0; i < sink->level_count; i++) {
            supply->accesses[i][i ? kind : SUPPLY_NEAR] += (double)tally.hits[i];
            satisfied += tally.hits[i];
        }
        supply->accesses[sink->level_count][kind] += (double)(tally.accesses - satisfied);
    }
}

void supply_of_all(const struct psnap_sink *self, struct supply *supply)
{
    const struct supply_sink *sink = (const struct supply_sink *)self;
    struct supply one;

    *supply = (struct supply){0};
    for (uint32_t i = 0; i < sink->program->loop_count; i++) {
        supply_of_loop(self, i, &one);
        supply_add(supply, &one, 1);
    }
}
