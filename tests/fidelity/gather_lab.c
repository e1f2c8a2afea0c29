/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Irregular references alone: a trace whose irregular references have their addresses replaced by
 * what they draw in a profile with walks (profile/walks/nest_draws.c), everything else left as it
 * is, is compared with what it was.
 *
 *   gather_lab [-v] [-n ACCESSES] [-s SEED] TRACE.pst
 */
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/formats.h"
#include "profile/walks/nest_draws.h"
#include "simcore/compare.h"

struct reference {
    uint64_t count, last, breaks;
    int64_t stride;
    bool irregular;
    uint32_t draw;  /* when irregular */
    uint64_t visit; /* of its loop, that it was in */
};

struct lab {
    struct psnap_source *source;
    struct psnap_access *accesses, *replayed;
    size_t count;
    struct reference *references;
    struct nest_draw *draws;
    uint32_t draw_count;
    uint64_t visits; /* of loops, in both passes over the stream */
    uint32_t loop;   /* the last one */
    struct psnap_machine *machines;
    size_t machine_count;
    bool verbose;
    uint64_t seed;
};

static void fail(const char *what)
{
    fprintf(stderr, "gather_lab: %s\n", what);
    exit(1);
}

static void load(struct lab *lab, const char *path, size_t most)
{
    struct psnap_error error;
    size_t room = 1 << 20;

    lab->source = psnap_trace_open(path, NULL, &error);
    if (!lab->source)
        fail(error.message);
    lab->accesses = malloc(room * sizeof *lab->accesses);
    lab->count = 0;
    for (;;) {
        ssize_t n;
        if (room - lab->count < PSNAP_BLOCK_ACCESSES) {
            room *= 2;
            lab->accesses = realloc(lab->accesses, room * sizeof *lab->accesses);
        }
        n = psnap_source_next(lab->source, lab->accesses + lab->count, PSNAP_BLOCK_ACCESSES,
                              &error);
        if (n < 0)
            fail(error.message);
        if (!n || lab->count >= most)
            break;
        lab->count += (size_t)n;
    }
}

/* Copies, by unrolling or in other parts of a loop. */
static bool is_copy(const struct psnap_program *p, uint32_t i, uint32_t j)
{
    const struct psnap_ref *a = &p->refs[i], *b = &p->refs[j];

    return i == j || (a->object && b->object && !strcmp(a->object, b->object) &&
                      !strcmp(p->loops[a->loop].src_id, p->loops[b->loop].src_id) &&
                      a->src_line == b->src_line && a->kind == b->kind && a->size == b->size);
}

static void note_stride(struct reference *r, uint64_t address)
{
    const int64_t stride = (int64_t)(address - r->last);

    r->breaks += r->count++ > 1 && stride != r->stride;
    r->stride = stride;
    r->last = address;
}

static bool breaks_often(const struct reference *r)
{
    return (double)r->breaks > 0.1 * (double)r->count;
}

/* What is affine, or goes on where it was, is not what this is about. */
static void find_irregular(struct lab *lab)
{
    const struct psnap_program *program = lab->source->program;
    struct reference *copies = calloc(program->ref_count, sizeof *copies);
    uint32_t *copy_of = calloc(program->ref_count, sizeof *copy_of);

    lab->references = calloc(program->ref_count, sizeof *lab->references);
    for (uint32_t i = 0; i < program->ref_count; i++)
        for (copy_of[i] = 0; !is_copy(program, i, copy_of[i]);)
            copy_of[i]++;
    for (size_t i = 0; i < lab->count; i++) {
        const struct psnap_access *a = &lab->accesses[i];
        note_stride(&lab->references[a->ref], a->address);
        note_stride(&copies[copy_of[a->ref]], a->address);
    }
    for (uint32_t i = 0; i < program->ref_count; i++) {
        struct reference *r = &lab->references[i];
        r->irregular = r->count > 1000 && breaks_often(r) && breaks_often(&copies[copy_of[i]]);
    }
    free(copies);
    free(copy_of);
}

struct side {
    const struct lab *lab;
    const struct psnap_access *accesses;
    struct compare_side *out;
};

static void *simulate(void *argument)
{
    const struct side *side = argument;
    const struct lab *lab = side->lab;
    struct psnap_error error;
    struct psnap_sink *sim =
        psnap_sim_new(lab->machines, lab->machine_count, lab->source->program, NULL, &error);

    for (size_t i = 0; i < lab->count; i += PSNAP_BLOCK_ACCESSES) {
        const size_t n =
            lab->count - i < PSNAP_BLOCK_ACCESSES ? lab->count - i : PSNAP_BLOCK_ACCESSES;
        if (psnap_sink_put(sim, side->accesses + i, n, &error) != PSNAP_OK)
            fail(error.message);
    }
    side->out->accesses = lab->count;
    side->out->threads = 1;
    scope_rows_init(&side->out->total, SCOPE_TOTAL, sim, lab->machine_count, lab->source->program,
                    NULL, &error);
    scope_rows_init(&side->out->loops, SCOPE_LOOP, sim, lab->machine_count, lab->source->program,
                    NULL, &error);
    psnap_sink_free(sim);
    return NULL;
}

static bool loop_is_irregular(const struct lab *lab, const char *id)
{
    const struct psnap_program *p = lab->source->program;
    for (uint32_t i = 0; i < p->ref_count; i++)
        if (lab->references[i].irregular && !strcmp(p->loops[p->refs[i].loop].src_id, id))
            return true;
    return false;
}

static void report(const struct lab *lab, const char *path, struct compare_side *a,
                   struct compare_side *b)
{
    struct compare c = {0};
    struct psnap_error error;

    if (compare_init(&c, lab->machines, lab->machine_count, a, b, &error) != PSNAP_OK)
        fail(error.message);
    for (size_t i = 0; i < c.loop_count; i++) {
        const struct compare_loop *l = &c.loops[i];
        if (!l->relevant || (!loop_is_irregular(lab, l->id) && !(l->worst_points > 0.5)))
            continue;
        printf("  %-28s %c %5.1f%%  mean %6.3f %6.3f %6.3f  max %6.3f %6.3f %6.3f\n", l->id,
               loop_is_irregular(lab, l->id) ? '*' : ' ', 100 * l->share, l->mean_points[0],
               l->mean_points[1], l->mean_points[2], l->max_points[0], l->max_points[1],
               l->max_points[2]);
    }
    for (size_t i = 0; i < c.count && i < 12 && lab->verbose; i++)
        printf("    row %s %s: %.2f/%.2f %.2f/%.2f\n", lab->machines[c.rows[i].machine].name,
               c.rows[i].id, 100 * c.rows[i].levels[0].observed,
               100 * c.rows[i].levels[0].synthetic, 100 * c.rows[i].levels[1].observed,
               100 * c.rows[i].levels[1].synthetic);
    printf("%-20s mean %6.3f %6.3f %6.3f  max %6.3f %6.3f %6.3f  total %6.3f %6.3f %6.3f\n", path,
           c.mean_points[0], c.mean_points[1], c.mean_points[2], c.max_points[0], c.max_points[1],
           c.max_points[2], c.total_points[0], c.total_points[1], c.total_points[2]);
    compare_release(&c);
}

static void dump_area(const struct gather_area *m)
{
    printf("  n %" PRIu64 " span %" PRIu64 " element %u places %s lap %" PRIu64
           " same %d place %" PRIu64 " step %" PRId64 " sweep %" PRId64 "\n",
           m->accesses, m->span_bytes, m->element_bytes, gather_place_names[m->places], m->lap,
           m->same_order, m->place_bytes, m->cursor_step, m->sweep_bytes);
    printf("  steps:");
    for (uint32_t i = 0; i <= m->step_count; i++) {
        printf(" %" PRId64 "[", i ? m->steps[i - 1] : 0);
        for (uint32_t j = 0; j <= m->step_count; j++)
            printf("%.3f ", m->next[i][j]);
        printf("]");
    }
    printf("\n  parts %u:", m->part_count);
    for (uint32_t i = 0; i < m->part_count; i++)
        printf(" %.2f@%.4g", 100 * m->parts[i].share, m->parts[i].end);
    printf("\n  classes:");
    for (uint32_t i = 0; i < m->class_count; i++)
        printf(" %.4f/%.4f", m->classes[i].lines, m->classes[i].jumps);
    printf("\n  echoes:");
    for (int i = 0; i < GATHER_ECHOES; i++)
        if (m->echoes[i] > 0)
            printf(" %d:%.4f", i, m->echoes[i]);
    for (uint32_t i = 0; i < m->knot_count; i++)
        printf(" [%.3f %.3f]", m->knots[i].low, m->knots[i].high);
    for (uint32_t i = 0; i < m->cursor_classes; i++)
        printf(" (%.3f %" PRIu64 ")", m->cursors[i].share, m->cursors[i].count);
    if (m->places == GATHER_BAND) {
        printf("\n  inside %.3f down %d offsets:", m->inside, m->downwards);
        for (int i = 0; i < GATHER_QUANTILES; i++)
            printf(" %" PRId64, m->offsets[i]);
    }
    printf("\n");
}

static void dump(const struct nest_source *source)
{
    const struct psnap_gather *m = &source->gather;

    if (source->around != PSNAP_NONE)
        printf("  around d%" PRIu32 ", offset %" PRId64 "\n", source->around,
               (int64_t)source->offset);
    if (source->with != PSNAP_NONE)
        printf("  with d%" PRIu32 ", offset %" PRId64 "\n", source->with, (int64_t)source->offset);
    for (uint32_t i = 0; i < m->area_count; i++)
        dump_area(&m->areas[i]);
    if (m->area_count > 1) {
        printf("  turns");
        for (uint32_t i = 0; i < m->turn_count; i++)
            printf(" %u:%" PRIu64, m->turns[i].area, m->turns[i].accesses);
        printf("\n");
    }
}

/* Whether the reference's loop has just been come to. */
static bool is_entry(struct lab *lab, const struct psnap_access *a)
{
    const uint32_t loop = lab->source->program->refs[a->ref].loop;
    struct reference *r = &lab->references[a->ref];
    bool is_new;

    lab->visits += lab->loop != loop;
    lab->loop = loop;
    is_new = r->visit != lab->visits;
    r->visit = lab->visits;
    return is_new;
}

/* What the irregular references draw, as of a profile with walks. */
static void fit(struct lab *lab)
{
    const struct psnap_program *program = lab->source->program;
    struct nest_draws *draws = nest_draws_new(program);
    bool *is_added = calloc(program->ref_count, sizeof *is_added);
    uint32_t *numbers;

    for (size_t i = 0; i < lab->count; i++) {
        const struct psnap_access *a = &lab->accesses[i];
        const struct nest_ref ref = {.ref = a->ref, .size = a->size, .kind = a->kind};
        struct reference *r = &lab->references[a->ref];
        const bool entry = is_entry(lab, a);
        if (!r->irregular)
            continue;
        if (!is_added[a->ref])
            r->draw = nest_draws_add(draws, &ref, a->address);
        is_added[a->ref] = true;
        nest_draws_put(draws, r->draw, entry, a->address);
    }
    lab->draws = nest_draws_take(draws, &lab->draw_count);
    numbers = nest_draws_number(draws);
    if (!lab->draws || !numbers)
        fail("out of memory");
    for (uint32_t i = 0; i < program->ref_count; i++)
        if (is_added[i])
            lab->references[i].draw = numbers[lab->references[i].draw];
    free(numbers);
    nest_draws_free(draws);
    free(is_added);
    for (uint32_t i = 0; i < program->ref_count && lab->verbose; i++) {
        const struct psnap_ref *p = &program->refs[i];
        if (!lab->references[i].irregular)
            continue;
        printf("%s ref %u line %u %s size %u object %s: d%" PRIu32 "\n", program->loops[p->loop].id,
               i, p->src_line, p->kind ? "store" : "load", p->size, p->object ? p->object : "?",
               lab->references[i].draw);
        dump(&lab->draws[lab->references[i].draw].rest);
        if (lab->draws[lab->references[i].draw].has_entry) {
            printf("  entry:\n");
            dump(&lab->draws[lab->references[i].draw].entry);
        }
    }
}

static struct gather_walk *walk_of(const struct nest_source *source, uint64_t seed)
{
    return source->with == PSNAP_NONE && !source->after_count && source->gather.accesses
               ? gather_walk_new(&source->gather, seed)
               : NULL;
}

struct drawing {
    struct gather_walk *walks[2]; /* of the rest, of entries; NULL: it goes with another draw */
    uint64_t last;
};

/* As walker_after(). */
static uint64_t draw_after(const struct nest_source *source, const uint64_t *trail, uint64_t at,
                           uint64_t last, struct psnap_rng *rng)
{
    const struct nest_after *after = source->after;
    uint64_t all = 0, x;

    for (uint32_t i = 0; i < source->after_count; i++)
        all += after[i].times;
    for (x = psnap_rng_below(rng, all); x >= after->times; x -= after++->times)
        continue;
    return (after->back ? trail[(at - after->back) % NEST_BACK_MAX] : last) + after->offset;
}

/* The stream with what is drawn in the place of irregular references' addresses. */
static void redraw(struct lab *lab)
{
    struct drawing *drawings = calloc(lab->draw_count + 1, sizeof *drawings);
    uint64_t trail[NEST_BACK_MAX] = {0}, drawn = 0;
    struct psnap_rng rng;

    psnap_rng_init(&rng, lab->seed);
    lab->replayed = malloc(lab->count * sizeof *lab->replayed);
    memcpy(lab->replayed, lab->accesses, lab->count * sizeof *lab->replayed);
    for (uint32_t i = 0; i < lab->draw_count; i++) {
        drawings[i].walks[0] = walk_of(&lab->draws[i].rest, lab->seed + 2 * i);
        drawings[i].walks[1] = walk_of(&lab->draws[i].entry, lab->seed + 2 * i + 1);
        for (int k = 0; k < 2; k++) {
            const struct nest_source *source = k ? &lab->draws[i].entry : &lab->draws[i].rest;
            if (drawings[i].walks[k] && source->around != PSNAP_NONE)
                gather_walk_around(drawings[i].walks[k], &drawings[source->around].last,
                                   source->offset);
        }
    }
    for (size_t i = 0; i < lab->count; i++) {
        struct psnap_access *a = &lab->replayed[i];
        const struct reference *r = &lab->references[a->ref];
        const bool entry = is_entry(lab, a);
        struct drawing *drawing = &drawings[r->draw];
        const struct nest_draw *draw = &lab->draws[r->draw];
        const struct nest_source *source;
        if (!r->irregular)
            continue;
        source = nest_source_of(draw, entry);
        if (source->after_count)
            drawing->last = draw_after(source, trail, drawn, drawing->last, &rng);
        else if (source->with == PSNAP_NONE)
            gather_walk_next(drawing->walks[entry && draw->has_entry], &drawing->last, 1);
        else
            drawing->last = drawings[source->with].last + source->offset;
        trail[drawn++ % NEST_BACK_MAX] = a->address = drawing->last;
    }
    for (uint32_t i = 0; i < lab->draw_count; i++)
        for (int k = 0; k < 2; k++)
            gather_walk_free(drawings[i].walks[k]);
    free(drawings);
}

static void one(struct lab *lab, const char *path, size_t most)
{
    struct compare_side observed = {.path = "observed"}, synthetic = {.path = "synthetic"};
    struct side sides[2] = {{lab, NULL, &observed}, {lab, NULL, &synthetic}};
    pthread_t thread;

    load(lab, path, most);
    find_irregular(lab);
    fit(lab);
    lab->loop = PSNAP_NONE;
    redraw(lab);
    sides[0].accesses = lab->accesses;
    sides[1].accesses = lab->replayed;
    pthread_create(&thread, NULL, simulate, &sides[0]);
    simulate(&sides[1]);
    pthread_join(thread, NULL);
    report(lab, path, &observed, &synthetic);
}

int main(int argc, char **argv)
{
    struct lab lab = {.loop = PSNAP_NONE};
    struct psnap_error error;
    const char *names[] = {"table1-1", "table1-2", "table1-3", "table1-4", "table1-5",
                           "table1-6", "table1-7", "table1-8", "table1-9", "table1-10"};
    size_t most = 40000000;
    int i = 1;

    for (; i < argc && argv[i][0] == '-'; i++) {
        if (!strcmp(argv[i], "-v"))
            lab.verbose = true;
        else if (!strcmp(argv[i], "-n"))
            most = strtoull(argv[++i], NULL, 10);
        else if (!strcmp(argv[i], "-s"))
            lab.seed = strtoull(argv[++i], NULL, 10);
    }
    lab.machine_count = 10;
    lab.machines = scope_machines(names, lab.machine_count, &error);
    if (i >= argc)
        fail("usage: gather_lab [-v] [-n ACCESSES] [-s SEED] TRACE");
    one(&lab, argv[i], most);
    return 0;
}
