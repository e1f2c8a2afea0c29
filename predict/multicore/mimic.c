/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The stream of a program on several cores, mimicked from that of a sequential run with marks
 * (Barai et al., PPT-Multicore, Algorithms 1 and 2). Outside of parallel sections core 0 is alone.
 * A section is taken part by part, from one barrier to the next: a part is spooled until its
 * iterations are counted, then each core has a cursor of its own in the spool, which leaves out
 * what is other cores' (deal.c), and the cursors are interleaved: in turn, access by access, or
 * each time one that is drawn.
 *
 * What a core has for itself lies on its stack: addresses of the first thread's stack below the
 * frame of the section's function are moved to the stack of the core's thread, where a recording of
 * several threads has them. All else is shared, heap blocks that a section allocates for itself
 * among it. Memory is a spool (spool.h) and a block per core, whatever the section.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/layout.h"
#include "formats/base/rng.h"
#include "predict/multicore/deal.h"
#include "predict/multicore/marks.h"
#include "predict/multicore/sections.h"
#include "predict/multicore/spool.h"
#include "predict/predict.h"

enum { PIECE = PSNAP_BLOCK_ACCESSES };

/* A core's cursor. */
struct lane {
    struct deal_cursor cursor;
    uint64_t position; /* in the spool */
    uint64_t accesses; /* that the core has made of the part */
    size_t at, count;  /* in the block */
    struct psnap_access block[PIECE];
};

struct mimic {
    struct psnap_source base;
    struct psnap_source *inner;
    struct psnap_mimic_options options;
    struct marks marks;
    struct psnap_rng rng;
    struct psnap_access input[PIECE], piece[PIECE];
    size_t input_at, input_count;
    struct psnap_error failure; /* the stream ended with it, if its code is not 0 */
    uint32_t
        depth; /* of parallel sections: only the first is one, those within it are sequential */
    uint64_t frame; /* below it a core's stack is its own */
    struct spool spool;
    struct deal deal;
    struct lane *lanes;         /* by core */
    uint32_t *live, live_count; /* cores that have something left of the part */
    uint64_t busiest;           /* accesses of the core that had most of those that have ended */
    uint32_t turn;              /* of these */
    struct sections sections;
    uint32_t current;
};

static enum psnap_status no_memory(struct psnap_error *error)
{
    return psnap_error_set(error, PSNAP_ERROR_MEMORY,
                           "out of memory for a stream of several cores");
}

/* What comes is of the section that begins with this mark (PSNAP_NONE: of none). */
static bool find_section(struct mimic *mimic, uint32_t mark)
{
    return sections_find(&mimic->sections, mimic->base.program, mark, mimic->options.cores,
                         &mimic->current);
}

/* Counts an access of the sequential run. */
static bool count_input(struct mimic *mimic, const struct psnap_access *access)
{
    return sections_count(&mimic->sections, mimic->current,
                          mimic->base.program->refs[access->ref].loop, access);
}

/* ---------------------------------------------------------------------- input */

/* The next access of the sequential run, still there when asked again; NULL at its end, or with
 * *status on failure. */
static const struct psnap_access *look(struct mimic *mimic, enum psnap_status *status,
                                       struct psnap_error *error)
{
    ssize_t n;

    *status = PSNAP_OK;
    if (mimic->input_at < mimic->input_count)
        return &mimic->input[mimic->input_at];
    n = psnap_source_next(mimic->inner, mimic->input, PIECE, error);
    mimic->input_at = 0;
    mimic->input_count = n > 0 ? (size_t)n : 0;
    if (n <= 0) {
        *status = (enum psnap_status)n;
        return NULL;
    }
    if (!marks_update(&mimic->marks, mimic->base.program)) {
        *status = no_memory(error);
        return NULL;
    }
    for (ssize_t i = 0; i < n && !*status; i++)
        if (mimic->input[i].ref >= mimic->marks.count)
            *status = psnap_error_set(error, PSNAP_ERROR_VALUE,
                                      "an access of the stream makes no sense: reference %" PRIu32
                                      " of %" PRIu32,
                                      mimic->input[i].ref, mimic->marks.count);
        else if (mimic->input[i].thread)
            *status = psnap_error_set(error, PSNAP_ERROR_VALUE,
                                      "the stream has accesses of thread %u, where a sequential "
                                      "run is needed: record it with OMP_NUM_THREADS=1, and one "
                                      "thread where the program itself sets their number",
                                      mimic->input[i].thread);
    if (*status) /* nothing of a block that was refused is taken */
        mimic->input_count = 0;
    return *status ? NULL : mimic->input;
}

/* Core 0 alone, up to where a section begins, which may be at once. */
static ssize_t sequential(struct mimic *mimic, struct psnap_access *block, size_t capacity,
                          struct psnap_error *error)
{
    enum psnap_status status = PSNAP_OK;
    const struct psnap_access *access;
    size_t n = 0;

    mimic->current = 0;
    while (n < capacity && (access = look(mimic, &status, error))) {
        const struct mark *mark = &mimic->marks.of[access->ref];

        if (mark->kind == MARK_PARALLEL) {
            if (n)
                break;
            mimic->depth = 1;
            mimic->frame = access->address;
            mimic->input_at++;
            if (!find_section(mimic, access->ref))
                return no_memory(error);
            mimic->sections.of[mimic->current].executions++;
            return 0;
        }
        mimic->input_at++;
        if (mark->kind != MARK_NONE)
            continue;
        block[n++] = *access;
        if (!count_input(mimic, access))
            return no_memory(error);
    }
    mimic->sections.of[0].core_accesses[0] += n;
    mimic->sections.of[0].busiest_accesses += n;
    if (n && status) /* what comes next is the failure */
        mimic->failure = *error;
    return n ? (ssize_t)n : status;
}

static enum psnap_status unknown_chunk(const struct psnap_section *section,
                                       struct psnap_error *error)
{
    return psnap_error_set(error, PSNAP_ERROR_VALUE,
                           "section %s (%s:%" PRIu32 ") has a loop whose chunk was not known when "
                           "it was compiled: add --chunk N, which is of all loops, or write a "
                           "number into its schedule clause",
                           section->id, section->file, section->src_line);
}

/* Takes a mark or access of a section; *ends where the part ends with it. */
static enum psnap_status take(struct mimic *mimic, const struct psnap_access *access, bool *ends,
                              struct psnap_error *error)
{
    const struct mark *mark = &mimic->marks.of[access->ref];
    struct psnap_section *section = &mimic->sections.of[mimic->current];

    mimic->depth += mark->kind == MARK_PARALLEL;
    mimic->depth -= mark->kind == MARK_PARALLEL_END;
    section->barriers += mark->kind == MARK_BARRIER && mimic->depth == 1;
    *ends = mimic->depth == 0 ||
            (mark->kind == MARK_BARRIER && mimic->depth == 1 && !mimic->options.as_published);
    if (*ends || mark->kind == MARK_PARALLEL || mark->kind == MARK_PARALLEL_END ||
        mark->kind == MARK_BARRIER || (mark->kind != MARK_NONE && mimic->depth > 1))
        return PSNAP_OK;
    if (mark->is_unknown && !mimic->options.chunk && !mimic->options.as_published)
        return unknown_chunk(section, error);
    section->loops += mark->kind == MARK_LOOP;
    section->iterations += mark->kind == MARK_ITERATION ? mark->count : 0;
    if (!deal_take(&mimic->deal, mark, access->ref, mimic->marks.count) ||
        (mark->kind == MARK_NONE && !count_input(mimic, access)))
        return no_memory(error);
    return spool_add(&mimic->spool, access, error);
}

/* Spools the section's next part, and puts all cores at its beginning. */
static enum psnap_status next_part(struct mimic *mimic, struct psnap_error *error)
{
    const struct psnap_access *access;
    enum psnap_status status;
    bool ends = false;

    spool_clear(&mimic->spool);
    if (!deal_begin(&mimic->deal))
        return no_memory(error);
    while (!ends && (access = look(mimic, &status, error))) {
        mimic->input_at++;
        status = take(mimic, access, &ends, error);
        if (status)
            return status;
    }
    if (!ends && status)
        return status;
    if (!ends) /* the stream was cut off in a section */
        mimic->depth = 0;
    deal_end(&mimic->deal);
    status = spool_end(&mimic->spool, error);
    for (uint32_t core = 0; core < mimic->options.cores && !status; core++) {
        struct lane *lane = &mimic->lanes[core];
        lane->position = lane->accesses = lane->at = lane->count = 0;
        mimic->live[core] = core;
        if (!deal_cursor_begin(&lane->cursor, &mimic->deal, core))
            status = no_memory(error);
    }
    mimic->live_count = mimic->options.cores;
    mimic->busiest = 0;
    mimic->turn = 0;
    return status;
}

/* ---------------------------------------------------------------------- cores */

/* Where a core has what the first thread has at `address`. */
static uint64_t place_of(const struct mimic *mimic, uint64_t address, uint32_t core)
{
    struct psnap_place place = psnap_layout_split(address);

    if (!core || place.group != PSNAP_GROUP_STACK || place.index || address >= mimic->frame)
        return address;
    place.index = core;
    place.offset -= psnap_layout_split(mimic->frame).offset;
    return psnap_layout_join(place);
}

/* Gives a core its next accesses of the part; none are left when it has none then. */
static enum psnap_status fill(struct mimic *mimic, uint32_t core, struct psnap_error *error)
{
    struct lane *lane = &mimic->lanes[core];

    lane->at = lane->count = 0;
    while (!lane->count) {
        const ptrdiff_t n = spool_read(&mimic->spool, lane->position, mimic->piece, PIECE, error);

        if (n <= 0)
            return (enum psnap_status)n;
        lane->position += (uint64_t)n;
        for (ptrdiff_t i = 0; i < n; i++) {
            const struct psnap_access *access = &mimic->piece[i];
            const struct mark *mark = &mimic->marks.of[access->ref];

            if (mark->kind != MARK_NONE) {
                if (!deal_cursor_mark(&lane->cursor, mark))
                    return no_memory(error);
            } else if (deal_cursor_access(&lane->cursor, access->ref)) {
                struct psnap_access *own = &lane->block[lane->count++];
                *own = *access;
                own->address = place_of(mimic, access->address, core);
                own->thread = (uint16_t)core;
            }
        }
    }
    lane->accesses += lane->count;
    mimic->sections.of[mimic->current].core_accesses[core] += lane->count;
    return PSNAP_OK;
}

/* A core has no more of the part; all wait for the busiest one. */
static void leave(struct mimic *mimic, uint32_t turn)
{
    const struct lane *lane = &mimic->lanes[mimic->live[turn]];

    if (lane->accesses > mimic->busiest)
        mimic->busiest = lane->accesses;
    mimic->live_count--;
    memmove(mimic->live + turn, mimic->live + turn + 1,
            (mimic->live_count - turn) * sizeof *mimic->live);
    if (!mimic->live_count)
        mimic->sections.of[mimic->current].busiest_accesses += mimic->busiest;
}

/* Accesses of the cores; 0 when the part has none left. */
static ssize_t interleave(struct mimic *mimic, struct psnap_access *block, size_t capacity,
                          struct psnap_error *error)
{
    size_t n = 0;

    while (n < capacity && mimic->live_count) {
        const uint32_t turn = mimic->options.uniform
                                  ? (uint32_t)psnap_rng_below(&mimic->rng, mimic->live_count)
                                  : mimic->turn;
        const uint32_t core = mimic->live[turn];
        struct lane *lane = &mimic->lanes[core];

        if (lane->at == lane->count && fill(mimic, core, error))
            return error->code;
        if (!lane->count) {
            leave(mimic, turn);
        } else {
            block[n++] = lane->block[lane->at++];
            mimic->turn = turn + 1;
        }
        if (mimic->turn >= mimic->live_count)
            mimic->turn = 0;
    }
    return (ssize_t)n;
}

/* Blocks that are of one section each. */
static ssize_t deliver(struct mimic *mimic, struct psnap_access *block, size_t capacity,
                       struct psnap_error *error)
{
    ssize_t n;

    for (;;) {
        n = interleave(mimic, block, capacity, error);
        if (n)
            return n;
        if (!mimic->depth) {
            n = sequential(mimic, block, capacity, error);
            if (n || !mimic->depth)
                return n;
        }
        if (next_part(mimic, error))
            return error->code;
    }
}

static ssize_t next(struct psnap_source *self, struct psnap_access *block, size_t capacity,
                    struct psnap_error *error)
{
    struct mimic *mimic = (struct mimic *)self;
    ssize_t n;

    if (mimic->failure.code) {
        *error = mimic->failure;
        return error->code;
    }
    n = deliver(mimic, block, capacity, error);
    if (n < 0)
        mimic->failure = *error;
    return n;
}

/* -------------------------------------------------------------------- the rest */

static void free_mimic(struct psnap_source *self)
{
    struct mimic *mimic = (struct mimic *)self;

    for (uint32_t core = 0; mimic->lanes && core < mimic->options.cores; core++)
        deal_cursor_release(&mimic->lanes[core].cursor);
    sections_release(&mimic->sections);
    free(mimic->lanes);
    free(mimic->live);
    deal_release(&mimic->deal);
    spool_release(&mimic->spool);
    marks_release(&mimic->marks);
    psnap_source_free(mimic->inner);
    free(mimic);
}

struct psnap_source *psnap_mimic_new(struct psnap_source *inner,
                                     const struct psnap_mimic_options *options,
                                     struct psnap_error *error)
{
    static const struct psnap_source_ops ops = {next, free_mimic, NULL};
    struct mimic *mimic;

    if (options->cores < 1 || options->cores > PSNAP_CORES_MAX) {
        psnap_error_set(error, PSNAP_ERROR_USAGE, "there are 1 to %d cores, not %" PRIu32,
                        PSNAP_CORES_MAX, options->cores);
        psnap_source_free(inner);
        return NULL;
    }
    mimic = calloc(1, sizeof *mimic);
    if (!mimic) {
        no_memory(error);
        psnap_source_free(inner);
        return NULL;
    }
    mimic->base = (struct psnap_source){&ops, inner->program};
    mimic->inner = inner;
    mimic->options = *options;
    mimic->deal.cores = options->cores;
    mimic->deal.chunk = options->chunk;
    mimic->deal.as_published = options->as_published;
    mimic->lanes = calloc(options->cores, sizeof *mimic->lanes);
    mimic->live = calloc(options->cores, sizeof *mimic->live);
    psnap_rng_init(&mimic->rng, options->seed);
    if (spool_init(&mimic->spool, error))
        goto out;
    if (!mimic->lanes || !mimic->live || !find_section(mimic, PSNAP_NONE)) {
        no_memory(error);
        goto out;
    }
    return &mimic->base;
out:
    free_mimic(&mimic->base);
    return NULL;
}

const struct psnap_section *psnap_mimic_sections(const struct psnap_source *source, size_t *count)
{
    const struct mimic *mimic = (const struct mimic *)source;

    *count = mimic->sections.count;
    return mimic->sections.of;
}

uint32_t psnap_mimic_section(const struct psnap_source *source)
{
    return ((const struct mimic *)source)->current;
}
