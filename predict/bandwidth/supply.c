/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A simulator (simcore) between a translation of addresses and a classification of lines.
 *
 * Translation: page p lies in frame f(p), a bijection of 52 bits that mixes them (multiplications
 * by odd numbers and shifts, each of which can be undone). So a cache of more sets than a page has
 * lines gets pages into its sets as a physically indexed one does, unevenly.
 *
 * Classification, by the program's addresses: a hashed table of one entry each has the lines that
 * were accessed lately, at most 2^RECENT_BITS of them, and another one the pages. The kind of an
 * access is the first of these that is true: near, the table has a line beside its own (another
 * page's or not: a stream goes on in the next page); skip, one that is up to REACH lines away; far,
 * the table has its page; lost. A near one is beside when one of the last EVENTS lines that were
 * not in the table was near, too, and is more than a page away: what a stream waits for where a
 * page begins, others hide. (An access to a line that is in the table says nothing: as long as it
 * is still in level 1 the kind does not count.) An access of several lines counts as its first one.
 * The kind is a part of the access's tag, tag = ref * SUPPLY_KINDS + kind, and so is counted.
 */
#include "predict/bandwidth/supply.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    PAGE_BITS = 12,
    FRAME_BITS = 52,
    RECENT_BITS = 8,
    PAGES_BITS = 6, /* what a first level of a TLB has */
    REACH = 7,
    EVENTS = 8,
    BLOCK = 1024
};

struct supply_sink {
    struct psnap_sink sink;
    struct psnap_sink *sim;
    const struct psnap_program *program;
    uint32_t level_count, line_bits;
    uint64_t seed;
    uint64_t recent[1 << RECENT_BITS]; /* line + 1; 0: none */
    uint64_t pages[1 << PAGES_BITS];   /* page + 1; 0: none */
    uint64_t near[EVENTS];             /* of the last new lines: page + 1 of a near one, else 0 */
    size_t events;
    struct psnap_access block[BLOCK];
    uint32_t tags[BLOCK]; /* of the block */
    size_t tagged;        /* that the simulator has asked for */
};

const char *supply_kind_name(enum supply_kind kind)
{
    static const char *const names[SUPPLY_KINDS] = {"near", "beside", "skip", "far", "lost"};

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

/* Streams at the same place in their pages are not to meet in a table. */
static size_t slot_of(uint64_t number, unsigned bits)
{
    return (size_t)(number * UINT64_C(0x9e3779b97f4a7c15) >> (64 - bits));
}

static bool is_recent(const struct supply_sink *sink, uint64_t line)
{
    return line != UINT64_MAX && sink->recent[slot_of(line, RECENT_BITS)] == line + 1;
}

/* Of the last new lines one was another stream's. */
static bool has_company(const struct supply_sink *sink, uint64_t page)
{
    for (size_t i = 0; i < EVENTS; i++) {
        const uint64_t other = sink->near[i] - 1;

        if (sink->near[i] && other != page && other + 1 != page && other != page + 1)
            return true;
    }
    return false;
}

static enum supply_kind kind_of(const struct supply_sink *sink, uint64_t line, uint64_t page)
{
    if (is_recent(sink, line - 1) || is_recent(sink, line + 1))
        return has_company(sink, page) ? SUPPLY_BESIDE : SUPPLY_NEAR;
    for (uint64_t away = 2; away <= REACH; away++)
        if (is_recent(sink, line - away) || is_recent(sink, line + away))
            return SUPPLY_SKIP;
    return sink->pages[slot_of(page, PAGES_BITS)] == page + 1 ? SUPPLY_FAR : SUPPLY_LOST;
}

static enum supply_kind classify(struct supply_sink *sink, uint64_t address)
{
    const uint64_t line = address >> sink->line_bits, page = address >> PAGE_BITS;
    const enum supply_kind kind = kind_of(sink, line, page);

    if (!is_recent(sink, line))
        sink->near[sink->events++ % EVENTS] =
            kind == SUPPLY_NEAR || kind == SUPPLY_BESIDE ? page + 1 : 0;
    sink->recent[slot_of(line, RECENT_BITS)] = line + 1;
    sink->pages[slot_of(page, PAGES_BITS)] = page + 1;
    return kind;
}

/* As psnap_sim_options.tagger: the tags of the block, in the simulator's portions. */
static enum psnap_status tag(void *context, const struct psnap_access *block, size_t n,
                             uint32_t *rows, struct psnap_error *error)
{
    struct supply_sink *sink = context;

    (void)block;
    (void)error;
    memcpy(rows, sink->tags + sink->tagged, n * sizeof *rows);
    sink->tagged += n;
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

        sink->tagged = 0;
        for (size_t i = 0; i < count; i++) {
            if (block[i].ref >= PSNAP_SIM_ROWS_MAX / SUPPLY_KINDS - 1)
                return psnap_error_set(error, PSNAP_ERROR_LIMIT, "more than %u references",
                                       PSNAP_SIM_ROWS_MAX / SUPPLY_KINDS - 1);
            sink->tags[i] =
                block[i].ref * SUPPLY_KINDS + (uint32_t)classify(sink, block[i].address);
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

void supply_of_ref(const struct psnap_sink *self, uint32_t ref, struct supply *supply)
{
    const struct supply_sink *sink = (const struct supply_sink *)self;

    *supply = (struct supply){0};
    for (uint32_t kind = 0; kind < SUPPLY_KINDS; kind++) {
        struct psnap_tally tally = {0};
        uint64_t satisfied = 0;

        psnap_sim_add(sink->sim, 0, PSNAP_VIEW_TAG, ref * SUPPLY_KINDS + kind, &tally);
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
    for (uint32_t i = 0; i < sink->program->ref_count; i++) {
        supply_of_ref(self, i, &one);
        supply_add(supply, &one, 1);
    }
}
