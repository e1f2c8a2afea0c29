/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * psnap show of a profile of walks, for people: the schedule as a tree, a line for each repeat and
 * walk, with what the walk's references touch; in full, a line for references of one kind that go
 * on alike, and in a few words what is drawn. Of one loop: its walks, with the repeats around them.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/cmd.h"
#include "formats/base/text.h"
#include "profile/cmd_show.h"
#include "profile/cmd_words.h"
#include "profile/yaml/write_once.h"

enum {
    LEVELS = NEST_DEPTH_MAX + ONCE_NESTS_MAX,
    MIX_LOOPS = 8 /* of a mix that are named, when not in full */
};

struct printing {
    const struct psnap_profile *profile;
    uint32_t loop; /* only this one's walks, or PSNAP_NONE */
    bool is_full;
    uint64_t room, lines;      /* so many are printed of those that there are */
    char headers[LEVELS][160]; /* of what is around */
    uint32_t depth, printed;   /* headers, and those that are there */
    char last[256];            /* line of a walk, when not in full, */
    uint32_t alike;            /* and how many walks behind it have the same */
    bool *is_drawn[3];         /* draws, counts and mixes that were shown */
};

enum { SHOWN_DRAW, SHOWN_COUNTS, SHOWN_MIX };

/* Whether there is room for one more line. */
static bool has_room(struct printing *p)
{
    return ++p->lines <= p->room;
}

/* Those that had the line of the one before. */
static void end_alike(struct printing *p)
{
    const uint32_t alike = p->alike;

    p->alike = 0;
    p->last[0] = '\0';
    if (alike && has_room(p))
        printf("%*s(%" PRIu32 " more like it)\n", 2 * (int)p->depth, "", alike);
}

static void print_headers(struct printing *p)
{
    if (p->printed < p->depth)
        end_alike(p);
    for (; p->printed < p->depth; p->printed++)
        if (has_room(p))
            printf("%*s%s\n", 2 * (int)p->printed, "", p->headers[p->printed]);
}

static void add_header(struct printing *p, const char *text)
{
    end_alike(p);
    snprintf(p->headers[p->depth++], sizeof p->headers[0], "%s", text);
    if (p->loop == PSNAP_NONE)
        print_headers(p);
}

/* Numbers of value `k` from the outermost repeat on, behind `text`. */
static void put_steps(FILE *out, const struct nest_path *path, size_t k)
{
    for (uint32_t up = path ? path->depth : 0; up-- > 0;)
        fprintf(out, "%s%" PRId64, up + 1 == path->depth ? "" : ", ",
                (int64_t)nest_step(path, k, up));
}

static bool has_steps(const struct nest_path *path, size_t k)
{
    for (uint32_t up = 0; path && up < path->depth; up++)
        if (nest_step(path, k, up))
            return true;
    return false;
}

/* "100", "100 (-1, 0)": from one repetition around to the next. */
static void put_count(FILE *out, const uint64_t *values, const struct nest_path *path)
{
    char digits[32];

    if ((int64_t)values[0] >= 0)
        fputs(psnap_group_digits(values[0], digits), out);
    else
        fprintf(out, "%" PRId64, (int64_t)values[0]);
    if (!has_steps(path, 0))
        return;
    fputs(" (", out);
    put_steps(out, path, 0);
    fputc(')', out);
}

static void show_repeat(void *context, const struct nest_pattern *loop, const uint64_t *values,
                        const struct nest_path *path)
{
    char text[160];
    FILE *out = fmemopen(text, sizeof text, "w");

    (void)loop;
    text[0] = text[sizeof text - 1] = '\0';
    if (out) {
        fputs("repeat ", out);
        put_count(out, values, path);
        fclose(out);
    }
    add_header(context, text);
}

static void show_nest(void *context, const char *name)
{
    char text[160];

    snprintf(text, sizeof text, "%s:", name);
    add_header(context, text);
}

static void show_again(void *context, const char *name)
{
    struct printing *p = context;

    end_alike(p);
    if (p->loop == PSNAP_NONE && has_room(p))
        printf("%*s%s, again\n", 2 * (int)p->depth, "", name);
}

static void end_items(void *context)
{
    struct printing *p = context;

    end_alike(p);
    p->depth--;
    p->printed = p->printed < p->depth ? p->printed : p->depth;
}

/* ---- references ---- */

static const char *const kinds[3] = {"load", "store", "atomic"};

/* Where a reference's addresses come from: a region's id, or the name of a draw. */
static const char *source_of(const struct psnap_profile *profile, const struct nest_pattern *leaf,
                             const uint64_t *values, uint32_t k, char name[16])
{
    const struct nest_ref *ref = &leaf->shape->refs[k];
    const struct psnap_profile_loop *loop = &profile->loops[leaf->shape->loop];

    if (ref->mode == NEST_AFFINE)
        return loop->regions[nest_region(loop, values[1 + k])].id;
    if (ref->mode == NEST_CONTINUING)
        return loop->regions[nest_region(loop, profile->nests->models->walks[ref->draw].address)]
            .id;
    snprintf(name, 16, "d%" PRIu32, ref->draw + 1);
    return name;
}

static bool are_alike(const struct printing *p, const struct nest_pattern *leaf,
                      const uint64_t *values, const struct nest_path *path, uint32_t a, uint32_t b)
{
    const struct nest_ref *x = &leaf->shape->refs[a], *y = &leaf->shape->refs[b];
    char names[2][16];

    if (x->kind != y->kind || x->mode != y->mode ||
        strcmp(source_of(p->profile, leaf, values, a, names[0]),
               source_of(p->profile, leaf, values, b, names[1])) != 0)
        return false;
    if (!p->is_full)
        return true;
    for (uint32_t up = 0; path && up < path->depth; up++)
        if (nest_step(path, 1 + a, up) != nest_step(path, 1 + b, up))
            return false;
    return x->size == y->size && leaf->steps[a] == leaf->steps[b];
}

/* How many references are like the k-th, which is the first of them; 0: it is not. */
static uint32_t count_alike(const struct printing *p, const struct nest_pattern *leaf,
                            const uint64_t *values, const struct nest_path *path, uint32_t k)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < leaf->shape->width; i++) {
        if (!are_alike(p, leaf, values, path, i, k))
            continue;
        if (i < k)
            return 0;
        count++;
    }
    return count;
}

/* ": load u x 7, store v". */
static void put_touched(FILE *out, const struct printing *p, const struct nest_pattern *leaf,
                        const uint64_t *values, const struct nest_path *path)
{
    const char *separator = ": ";
    char name[16];

    for (uint32_t k = 0; k < leaf->shape->width; k++) {
        const uint32_t count = count_alike(p, leaf, values, path, k);
        if (!count)
            continue;
        fprintf(out, "%s%s %s", separator, kinds[leaf->shape->refs[k].kind],
                source_of(p->profile, leaf, values, k, name));
        if (count > 1)
            fprintf(out, " x %" PRIu32, count);
        separator = ", ";
    }
}

/* "load   16  u            x 7   by 0, 20000, 400, 16". */
static void print_reference(const struct printing *p, const struct nest_pattern *leaf,
                            const uint64_t *values, const struct nest_path *path, uint32_t k,
                            uint32_t count)
{
    const struct nest_ref *ref = &leaf->shape->refs[k];
    char name[16], times[16] = "";

    if (count > 1)
        snprintf(times, sizeof times, "x %" PRIu32, count);
    printf("%*s%-6s %2u  %-12s %-5s", 2 * (int)p->depth + 4, "", kinds[ref->kind],
           (unsigned)ref->size, source_of(p->profile, leaf, values, k, name), times);
    if (ref->mode == NEST_AFFINE || ref->mode == NEST_CONTINUING) {
        fputs(" by ", stdout);
        put_steps(stdout, path, 1 + k);
        printf("%s%" PRId64 "%s", path ? ", " : "", (int64_t)leaf->steps[k],
               ref->mode == NEST_CONTINUING ? ", from where it was" : "");
    } else if (ref->mode == NEST_DRAWN_FIRST)
        printf(" drawn, then by %" PRId64, (int64_t)leaf->steps[k]);
    else
        fputs(" drawn", stdout);
    putchar('\n');
    if (ref->mode == NEST_DRAWN || ref->mode == NEST_DRAWN_FIRST)
        p->is_drawn[SHOWN_DRAW][ref->draw] = true;
}

/* "sweep:34  x 24: load u x 7, store v", with what it touches if not in full. */
static void put_walk(char *text, size_t size, struct printing *p, const struct nest_pattern *leaf,
                     const uint64_t *values, const struct nest_path *path)
{
    const struct nest_shape *shape = leaf->shape;
    const int width = 34 - 2 * (int)p->depth;
    FILE *out = fmemopen(text, size, "w");

    text[0] = text[size - 1] = '\0';
    if (!out)
        return;
    fprintf(out, "%-*s x ", width > 0 ? width : 0, p->profile->loops[shape->loop].id);
    if (shape->counts)
        fprintf(out, "c%" PRIu32, shape->counts);
    else
        put_count(out, values, path);
    if (!p->is_full)
        put_touched(out, p, leaf, values, path);
    fclose(out);
}

static void show_walk(void *context, const struct nest_pattern *leaf, const uint64_t *values,
                      const struct nest_path *path)
{
    struct printing *p = context;
    const struct nest_shape *shape = leaf->shape;
    char text[sizeof p->last];

    if (p->loop != PSNAP_NONE && p->loop != shape->loop)
        return;
    put_walk(text, sizeof text, p, leaf, values, path);
    if (!p->is_full && !strcmp(text, p->last)) {
        p->alike++;
        return;
    }
    end_alike(p);
    print_headers(p);
    snprintf(p->last, sizeof p->last, "%s", text);
    if (!has_room(p))
        return;
    if (shape->counts)
        p->is_drawn[SHOWN_COUNTS][shape->counts - 1] = true;
    printf("%*s%s\n", 2 * (int)p->depth, "", text);
    for (uint32_t k = 0; p->is_full && k < shape->width; k++) {
        const uint32_t count = count_alike(p, leaf, values, path, k);
        if (count)
            print_reference(p, leaf, values, path, k, count);
    }
}

/* ---- models ---- */

/* Or, if that is asked, a state whose counts come evenly. */
static bool has_state_of(const struct nest_mix *mix, uint32_t loop, bool only_even)
{
    for (uint32_t k = 0; k < mix->chain->state_count; k++)
        if (mix->states[k]->loop == loop && (mix->chain->states[k].counts.is_even || !only_even))
            return true;
    return false;
}

static void show_mix(void *context, uint32_t mix)
{
    struct printing *p = context;

    if (p->loop != PSNAP_NONE &&
        !has_state_of(&p->profile->nests->models->mixes[mix], p->loop, false))
        return;
    end_alike(p);
    print_headers(p);
    if (!has_room(p))
        return;
    p->is_drawn[SHOWN_MIX][mix] = true;
    printf("%*sm%" PRIu32 "\n", 2 * (int)p->depth, "", mix + 1);
}

/* "each place of 64.0 KiB once": how the places of an area are chosen. */
static void print_area(const struct psnap_profile_loop *loop, const struct gather_area *area)
{
    static const char *const places[] = {"anywhere in",
                                         "each place once a lap in",
                                         "near a point that moves through",
                                         "at cursors in",
                                         "onwards through",
                                         "around there in",
                                         "again and again through",
                                         "level by level down"};
    const bool is_uneven =
        area->places == GATHER_ANYWHERE && (area->part_count > 1 || area->class_count > 1);
    char bytes[32];

    printf("%s %s of %s", places[area->places], human_bytes(area->span_bytes, bytes),
           loop->region_count ? loop->regions[nest_region(loop, area->base)].id : "memory");
    if (is_uneven)
        fputs(", some places more often", stdout);
    if (area->step_count) {
        fputs(", from there by", stdout);
        for (uint32_t i = 0; i < area->step_count; i++)
            printf("%s %" PRId64, i ? "," : "", area->steps[i]);
    }
}

static void print_after(const struct nest_source *source, uint32_t i)
{
    const struct nest_after *after = &source->after[i];

    fputs(i ? ", or " : "", stdout);
    if (after->earlier) {
        printf("its own address %" PRIu32 " back", after->earlier);
        return;
    }
    printf("%" PRId64 " bytes from ", (int64_t)(after->offset + nest_after_origin(source, after)));
    if (after->scale > 1)
        printf("%" PRIu32 " times ", after->scale);
    if (after->is_left)
        printf("where d%" PRIu32 " came back from", after->draw);
    else if (after->draw)
        printf("d%" PRIu32, after->draw);
    else if (after->back)
        printf("the address %" PRIu32 " draw%s before", after->back, psnap_plural(after->back));
    else
        fputs("its own last address", stdout);
    if (after->by)
        printf(", if that is of d%" PRIu32, after->by);
}

/* Whether both ways are steps from the draw's own last address, which come evenly. */
static bool is_by_turns(const struct nest_source *source)
{
    for (uint32_t i = 0; i < source->after_count; i++) {
        const struct nest_after *after = &source->after[i];
        if (after->back || after->draw || after->by || after->earlier || after->scale > 1)
            return false;
    }
    return true;
}

static void print_source(const struct printing *p, uint32_t loop, const struct nest_source *source)
{
    const struct psnap_gather *gather = &source->gather;

    if (source->with != PSNAP_NONE) {
        printf("%" PRId64 " bytes from d%" PRIu32, (int64_t)source->offset, source->with + 1);
        return;
    }
    for (uint32_t i = 0; i < source->after_count; i++)
        print_after(source, i);
    if (source->after_count == 2 && is_by_turns(source))
        printf(", in turns, the first of these %.1f %% of the times",
               100.0 * source->after[0].times /
                   ((double)source->after[0].times + source->after[1].times));
    if (source->around != PSNAP_NONE)
        printf("%" PRId64 " bytes from d%" PRIu32, (int64_t)source->offset, source->around + 1);
    if (source->slope)
        printf(" and %" PRId64 " for each iteration", source->slope);
    if (source->rest_slope)
        printf(", %" PRId64 " for each that is left over", source->rest_slope);
    if (source->around != PSNAP_NONE)
        fputs(", and ", stdout);
    for (uint32_t i = 0; i < gather->area_count; i++) {
        fputs(i ? "; " : "", stdout);
        print_area(&p->profile->loops[loop], &gather->areas[i]);
    }
    if (!gather->area_count && !source->after_count)
        fputs("nothing", stdout);
}

static void print_draw(const struct printing *p, uint32_t i)
{
    const struct nest_draw *draw = &p->profile->nests->models->draws[i];

    if (draw->loop == PSNAP_NONE)
        return;
    printf("d%-4" PRIu32 " %s: ", i + 1, p->profile->loops[draw->loop].id);
    for (uint32_t k = 0; k < NEST_MARKS && draw->leads[k]; k++)
        printf("%s%" PRIu32,
               k                ? ", "
               : draw->leads[1] ? "the last address of whichever came last of references "
                                : "the last address of reference ",
               draw->leads[k] - 1);
    if (draw->leads[0]) {
        puts("");
        return;
    }
    if (draw->start) {
        printf("where d%" PRIu32 " began last\n", draw->start);
        return;
    }
    if (draw->has_entry) {
        fputs("at first ", stdout);
        print_source(p, draw->loop, &draw->entry);
        fputs("; then ", stdout);
    }
    print_source(p, draw->loop, &draw->rest);
    putchar('\n');
}

static void print_counts(const struct psnap_counts *counts, uint32_t i)
{
    char digits[32];

    if (!counts->bin_count)
        return;
    printf("c%-4" PRIu32 " ", i + 1);
    if (counts->bins[0].low == counts->bins[counts->bin_count - 1].high)
        printf("always %" PRIu64, counts->bins[0].low);
    else
        printf("%" PRIu64 " to %" PRIu64 ", %.4g in the mean", counts->bins[0].low,
               counts->bins[counts->bin_count - 1].high,
               (double)counts->sum / (double)counts->times);
    printf(", %s time%s%s\n", psnap_group_digits(counts->times, digits),
           psnap_plural(counts->times), counts->is_even ? ", evenly" : "");
}

/* The loops with states of a mix, or only with those whose counts come evenly, behind `label`. */
static void print_loops_of(const struct printing *p, const struct nest_mix *mix, bool only_even,
                           const char *label)
{
    uint32_t loops = 0;

    for (uint32_t l = 0; l < p->profile->loop_count; l++)
        if (has_state_of(mix, l, only_even) && (++loops <= MIX_LOOPS || p->is_full))
            printf("%s%s", loops == 1 ? label : ", ", p->profile->loops[l].id);
    if (loops > MIX_LOOPS && !p->is_full)
        printf(" and %" PRIu32 " more loops", loops - MIX_LOOPS);
}

static void print_mix(const struct printing *p, uint32_t i)
{
    const struct nest_mix *mix = &p->profile->nests->models->mixes[i];
    char visits[32], tokens[32];

    printf("m%-4" PRIu32 " a graph of %" PRIu32 " state%s, %s in %s visits", i + 1,
           mix->chain->state_count, psnap_plural(mix->chain->state_count),
           psnap_group_digits(mix->chain->tokens, tokens),
           psnap_group_digits(mix->chain->visits, visits));
    print_loops_of(p, mix, false, ": ");
    print_loops_of(p, mix, true, "; counts come evenly of ");
    puts(mix->chain->lengths.is_even ? "; lengths of visits come evenly" : "");
    for (uint32_t k = 0; k < mix->chain->state_count; k++)
        for (uint32_t r = 0; r < mix->states[k]->width; r++)
            p->is_drawn[SHOWN_DRAW][mix->states[k]->refs[r].draw] |=
                p->loop == PSNAP_NONE || mix->states[k]->loop == p->loop;
}

static bool mark(const struct printing *p, uint32_t draw)
{
    const bool is_new = draw != PSNAP_NONE && !p->is_drawn[SHOWN_DRAW][draw];

    if (is_new)
        p->is_drawn[SHOWN_DRAW][draw] = true;
    return is_new;
}

/* What is spoken of where a source is printed; whether any of it is new. */
static bool mark_source(const struct printing *p, const struct nest_source *source)
{
    bool is_any = mark(p, source->with);

    is_any |= mark(p, source->around);
    for (uint32_t i = 0; i < source->after_count; i++) {
        is_any |= source->after[i].draw && mark(p, source->after[i].draw - 1);
        is_any |= source->after[i].by && mark(p, source->after[i].by - 1);
    }
    return is_any;
}

/* Draws that are shown go with others, and these with others. */
static void mark_leaders(const struct printing *p)
{
    const struct nest_models *models = p->profile->nests->models;
    bool is_any = true;

    while (is_any) {
        is_any = false;
        for (uint32_t i = 0; i < models->draw_count; i++) {
            const struct nest_draw *draw = &models->draws[i];
            if (!p->is_drawn[SHOWN_DRAW][i])
                continue;
            is_any |= mark_source(p, &draw->rest);
            is_any |= draw->has_entry && mark_source(p, &draw->entry);
            is_any |= draw->start && mark(p, draw->start - 1);
        }
    }
}

static void print_models(const struct printing *p)
{
    const struct nest_models *models = p->profile->nests->models;
    bool is_any = false;

    for (uint32_t i = 0; i < models->draw_count; i++)
        is_any |= p->is_drawn[SHOWN_DRAW][i];
    for (uint32_t i = 0; i < models->count_count; i++)
        is_any |= p->is_drawn[SHOWN_COUNTS][i];
    for (uint32_t i = 0; i < models->mix_count; i++)
        is_any |= p->is_drawn[SHOWN_MIX][i];
    if (is_any)
        puts("\ndrawn\n");
    for (uint32_t i = 0; i < models->mix_count; i++)
        if (p->is_drawn[SHOWN_MIX][i])
            print_mix(p, i);
    for (uint32_t i = 0; i < models->count_count; i++)
        if (p->is_drawn[SHOWN_COUNTS][i])
            print_counts(&models->counts[i], i);
    mark_leaders(p);
    for (uint32_t i = 0; i < models->draw_count && p->is_full; i++)
        if (p->is_drawn[SHOWN_DRAW][i])
            print_draw(p, i);
}

/* Room to mark what was shown; false: out of memory. */
static bool make_marks(struct printing *p)
{
    const struct nest_models *models = p->profile->nests->models;
    const uint32_t counts[3] = {models ? models->draw_count : 0, models ? models->count_count : 0,
                                models ? models->mix_count : 0};
    bool is_done = true;

    for (int i = 0; i < 3; i++) {
        p->is_drawn[i] = calloc((size_t)counts[i] + 1, sizeof *p->is_drawn[i]);
        is_done = is_done && p->is_drawn[i];
    }
    return is_done;
}

bool show_print_schedule(const struct psnap_profile *profile, uint32_t loop, uint64_t lines)
{
    static const struct once_visitor visitor = {show_repeat, show_nest, show_again,
                                                end_items,   show_walk, show_mix};
    const bool is_full = lines == SHOW_ALL_LINES;
    struct printing p = {.profile = profile, .loop = loop, .is_full = is_full, .room = lines};
    struct once *once = profile->nests ? once_new(profile) : NULL;
    const bool is_done = once && make_marks(&p);

    if (is_done) {
        puts(loop != PSNAP_NONE ? "\nwalks\n" : is_full ? "schedule\n" : "\nschedule\n");
        once_visit(once, profile->nests, &visitor, &p);
        end_alike(&p);
        if (p.lines > lines)
            printf("(%" PRIu64 " of %" PRIu64 " lines; --schedule shows all)\n", lines, p.lines);
        if (profile->nests->models)
            print_models(&p);
    }
    for (int i = 0; i < 3; i++)
        free(p.is_drawn[i]);
    once_free(once);
    return is_done || !profile->nests;
}
