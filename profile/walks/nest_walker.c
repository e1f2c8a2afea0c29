/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The nests of a profile, leaf by leaf (profile.h), with what its models draw. The profile may go:
 * all is copied, with the refs that the caller has for its references.
 */
#include <stdlib.h>
#include <string.h>

#include "profile/walks/nest_walker.h"

static void see_shape(const struct nest_shape *shape, uint32_t *counts, bool *is_drawn)
{
    is_drawn[shape->loop] |= shape->counts != 0;
    for (uint32_t k = 0; k < shape->width; k++) {
        is_drawn[shape->loop] |= shape->refs[k].mode >= NEST_DRAWN_FIRST;
        if (shape->refs[k].ref >= counts[shape->loop])
            counts[shape->loop] = shape->refs[k].ref + 1;
    }
}

static void see_pattern(const struct nest_pattern *pattern, uint32_t *counts, bool *is_drawn)
{
    for (uint32_t i = 0; i < pattern->body_count; i++)
        see_pattern(pattern->body[i], counts, is_drawn);
    if (!pattern->body_count && pattern->shape->width)
        see_shape(pattern->shape, counts, is_drawn);
}

void psnap_profile_walks(const struct psnap_profile *profile, uint32_t *refs, bool *is_drawn)
{
    const struct nest_models *models = profile->nests->models;

    memset(refs, 0, profile->loop_count * sizeof *refs);
    memset(is_drawn, 0, profile->loop_count * sizeof *is_drawn);
    for (size_t i = 0; i < profile->nests->count; i++)
        see_pattern(profile->nests->terms[i].pattern, refs, is_drawn);
    for (uint32_t i = 0; models && i < models->mix_count; i++)
        for (uint32_t k = 0; models->mixes[i].chain && k < models->mixes[i].chain->state_count; k++)
            see_shape(models->mixes[i].states[k], refs, is_drawn);
}

/* ---- a new one ---- */

static void shift_refs(void *context, struct nest_shape *shape)
{
    const uint32_t *first_ref = context;

    for (uint32_t k = 0; k < shape->width; k++)
        shape->refs[k].ref += first_ref[shape->loop];
}

static bool open_gather(const struct psnap_walker *w, const struct nest_source *source,
                        uint64_t seed, uint64_t *point, struct gather_walk **walk)
{
    if (source->with == PSNAP_NONE && source->gather.accesses)
        *walk = gather_walk_new(&source->gather, seed);
    if (*walk && source->around != PSNAP_NONE)
        gather_walk_around(*walk, source->slope ? point : &w->draws[source->around].last,
                           source->offset);
    return *walk || source->with != PSNAP_NONE || !source->gather.accesses;
}

/* What draws; false: out of memory. */
static bool open_models(struct psnap_walker *w, const struct nest_models *models, uint64_t seed)
{
    bool is_done = true;

    w->draws = calloc(models->draw_count + (size_t)1, sizeof *w->draws);
    w->positions = calloc(models->walk_count + (size_t)1, sizeof *w->positions);
    w->counts = calloc(models->count_count + (size_t)1, sizeof *w->counts);
    w->mixes = calloc(models->mix_count + (size_t)1, sizeof *w->mixes);
    w->drawn = calloc(NEST_WIDTH_MAX, sizeof *w->drawn);
    w->interleaved = malloc(NEST_WIDTH_MAX * sizeof *w->drawn);
    if (!w->interleaved || !w->draws || !w->positions || !w->counts || !w->mixes || !w->drawn)
        return false;
    for (uint32_t i = 0; is_done && i < models->draw_count; i++) {
        const struct nest_draw *draw = &models->draws[i];
        psnap_rng_init(&w->draws[i].rng, seed + 4 * (uint64_t)i + 3);
        is_done = open_gather(w, &draw->rest, seed + 4 * (uint64_t)i, &w->draws[i].points[0],
                              &w->draws[i].rest) &&
                  (!draw->has_entry || open_gather(w, &draw->entry, seed + 4 * (uint64_t)i + 1,
                                                   &w->draws[i].points[1], &w->draws[i].entry));
    }
    for (uint32_t i = 0; i < models->walk_count; i++)
        w->positions[i] = models->walks[i].address;
    for (uint32_t i = 0; i < models->count_count; i++)
        if (models->counts[i].times)
            counts_draw_init(&w->counts[i], &models->counts[i]);
    for (uint32_t i = 0; is_done && i < models->mix_count; i++)
        if (models->mixes[i].chain)
            is_done = (w->mixes[i].walk = mix_walk_new(models->mixes[i].chain,
                                                       seed + 4 * (uint64_t)i + 2)) != NULL;
    return is_done;
}

static void see_draws(const struct nest_shape *shape, uint32_t *draw_of, uint32_t *count)
{
    for (uint32_t k = 0; k < shape->width; k++) {
        const struct nest_ref *ref = &shape->refs[k];
        *count = ref->ref >= *count ? ref->ref + 1 : *count;
        if (draw_of && ref->mode >= NEST_DRAWN_FIRST)
            draw_of[ref->ref] = ref->draw;
    }
}

static void see_draws_in(const struct nest_pattern *pattern, uint32_t *draw_of, uint32_t *count)
{
    for (uint32_t i = 0; i < pattern->body_count; i++)
        see_draws_in(pattern->body[i], draw_of, count);
    if (!pattern->body_count)
        see_draws(pattern->shape, draw_of, count);
}

/* Counts references; with `draw_of` says what they draw from. */
static void see_all_draws(const struct psnap_nests *nests, uint32_t *draw_of, uint32_t *count)
{
    const struct nest_models *models = nests->models;

    for (size_t i = 0; i < nests->count; i++)
        see_draws_in(nests->terms[i].pattern, draw_of, count);
    for (uint32_t i = 0; i < models->mix_count; i++)
        for (uint32_t k = 0; models->mixes[i].chain && k < models->mixes[i].chain->state_count; k++)
            see_draws(models->mixes[i].states[k], draw_of, count);
}

/* Which draws have the last addresses of references, of which there are `count`; before there is
 * one it is the first. */
static void find_leads(struct psnap_walker *w, const uint32_t *first_ref, uint32_t count)
{
    const struct nest_models *models = w->nests->models;

    for (uint32_t i = 0; i < models->draw_count; i++) {
        const struct nest_draw *draw = &models->draws[i];
        for (uint32_t k = NEST_MARKS; k-- > 0 && draw->loop != PSNAP_NONE;) {
            const uint32_t ref =
                draw->leads[k] ? first_ref[draw->loop] + draw->leads[k] - 1 : count;
            if (ref >= count || !nests_first_of(w->nests, draw->loop, ref, &w->draws[i].last))
                continue;
            w->draws[i].next_leads[k] = w->lead_of[ref];
            w->lead_of[ref] = i * NEST_MARKS + k;
        }
    }
}

/* A reference that is drawn in some terms may be affine in others: what goes with it goes there,
 * too. False: out of memory. */
static bool find_draws(struct psnap_walker *w, const uint32_t *first_ref)
{
    uint32_t count = 0;

    see_all_draws(w->nests, NULL, &count);
    w->draw_of = malloc((count + (size_t)1) * sizeof *w->draw_of);
    w->lead_of = malloc((count + (size_t)1) * sizeof *w->lead_of);
    if (!w->draw_of || !w->lead_of)
        return false;
    for (uint32_t i = 0; i < count; i++)
        w->draw_of[i] = w->lead_of[i] = PSNAP_NONE;
    see_all_draws(w->nests, w->draw_of, &count);
    find_leads(w, first_ref, count);
    return true;
}

/* How often nests visit each mix. */
static bool count_visits(struct psnap_walker *w, uint32_t loop_count)
{
    const uint32_t mixes = w->nests->models->mix_count;
    struct nest_count *counts = calloc(loop_count + (size_t)1, sizeof *counts);
    uint64_t *visits = calloc(mixes + (size_t)1, sizeof *visits);
    const bool is_done =
        counts && visits && nests_count(w->nests, counts, visits, NULL) != PSNAP_ERROR_MEMORY;

    for (uint32_t i = 0; is_done && i < mixes; i++)
        w->mixes[i].visits = visits[i];
    free(counts);
    free(visits);
    return is_done;
}

/* Whether nothing of a leaf depends on anything else but its values, or matters to what does. */
static bool is_affine(const void *context, const struct nest_shape *shape)
{
    const struct psnap_walker *w = context;
    bool is_affine = !shape->counts;

    for (uint32_t k = 0; k < shape->width; k++)
        is_affine = is_affine && shape->refs[k].mode == NEST_AFFINE &&
                    (!w->draw_of || (w->draw_of[shape->refs[k].ref] == PSNAP_NONE &&
                                     w->lead_of[shape->refs[k].ref] == PSNAP_NONE));
    return is_affine;
}

static bool init_mixes(struct psnap_walker *w)
{
    const struct nest_models *models = w->nests->models;
    bool is_done = true;

    for (uint32_t i = 0; models && is_done && i < models->mix_count; i++)
        is_done = !models->mixes[i].chain || walker_mix_init(w, i);
    return is_done;
}

struct psnap_walker *psnap_walker_new(const struct psnap_profile *profile,
                                      const uint32_t *first_ref, uint64_t seed)
{
    struct psnap_walker *walker = calloc(1, sizeof *walker);

    if (!walker)
        return NULL;
    walker->mix = walker->loop = PSNAP_NONE;
    psnap_rng_init(&walker->rng, seed);
    walker->nests = nests_copy(profile->nests, shift_refs, (void *)(uintptr_t)first_ref);
    if (walker->nests &&
        (!walker->nests->models ||
         (open_models(walker, walker->nests->models, seed) && find_draws(walker, first_ref) &&
          count_visits(walker, profile->loop_count))) &&
        walker_draw_init(walker) && init_mixes(walker) &&
        nest_unroll_init(&walker->unroll, walker->nests, is_affine, walker))
        return walker;
    psnap_walker_free(walker);
    return NULL;
}

void psnap_walker_free(struct psnap_walker *walker)
{
    const struct nest_models *models = walker && walker->nests ? walker->nests->models : NULL;

    if (!walker)
        return;
    for (uint32_t i = 0; models && walker->draws && i < models->draw_count; i++) {
        gather_walk_free(walker->draws[i].rest);
        gather_walk_free(walker->draws[i].entry);
        free(walker->draws[i].ways[0].past);
        free(walker->draws[i].ways[1].past);
    }
    for (uint32_t i = 0; models && walker->mixes && i < models->mix_count; i++) {
        mix_walk_free(walker->mixes[i].walk);
        walker_mix_release(walker, i);
    }
    walker_draw_release(walker);
    free(walker->draws);
    free(walker->draw_of);
    free(walker->lead_of);
    free(walker->positions);
    free(walker->counts);
    free(walker->mixes);
    free(walker->drawn);
    free(walker->interleaved);
    nests_free(walker->nests);
    nest_cursor_free(&walker->cursor);
    nest_unroll_release(&walker->unroll);
    free(walker);
}

/* ---- leaves ---- */

/* The loop that has come is written out, or entered; as next_leaf, 0: there may be others. */
static int begin_loop(struct psnap_walker *w, struct nest_leaf *leaf, bool by_runs, bool is_term)
{
    if (w->cursor.whole && nest_unroll_begin(&w->unroll, leaf, by_runs, &w->loop))
        return 2;
    if (is_term ? !nest_cursor_start(&w->cursor, leaf->pattern, leaf->values, 0, leaf->values[0])
                : !nest_cursor_enter(&w->cursor, leaf))
        return -1;
    return nest_cursor_next(&w->cursor, leaf);
}

/* The next leaf or visit; 1, 2 for a loop that is being written out, 0 at the end, negative when
 * out of memory. */
static int next_leaf(struct psnap_walker *w, struct nest_leaf *leaf, bool by_runs)
{
    const struct psnap_nests *nests = w->nests;
    int more = nest_cursor_next(&w->cursor, leaf);

    for (;;) {
        while (more == 1 && leaf->pattern->body_count)
            more = begin_loop(w, leaf, by_runs, false);
        if (more || w->term == nests->count)
            return more;
        *leaf = (struct nest_leaf){nests->terms[w->term].pattern, nests_values(nests, w->term)};
        w->term++;
        if ((int64_t)leaf->values[0] > 0)
            more = leaf->pattern->body_count ? begin_loop(w, leaf, by_runs, true) : 1;
    }
}

/* The first address of a leaf that goes on affinely. */
static uint64_t draw_first(struct psnap_walker *w, uint32_t index)
{
    const struct nest_draw *draw = &w->nests->models->draws[index];
    const bool is_entry = w->is_entry && draw->has_entry;
    const struct nest_source *source = nest_source_of(draw, is_entry);
    struct drawing *drawing = &w->draws[index];

    if (source->with != PSNAP_NONE)
        drawing->last = w->draws[source->with].last + source->offset;
    else if (source->after_count)
        drawing->last = walker_after(w, &drawing->ways[is_entry]);
    else if (is_entry ? drawing->entry : drawing->rest)
        drawing->last = gather_walk_take(is_entry ? drawing->entry : drawing->rest);
    if (w->is_entry && drawing->begun)
        *drawing->begun = drawing->last;
    return drawing->last;
}

/* Points that lie so much further for each iteration of the leaf, and of its rest. */
static void set_points(struct psnap_walker *w, uint64_t rest)
{
    const struct nest_draw *draws = w->nests->models->draws;

    for (uint32_t k = 0; k < w->shape->width; k++) {
        const struct nest_draw *draw = &draws[w->shape->refs[k].draw];
        if (w->shape->refs[k].mode < NEST_DRAWN_FIRST)
            continue;
        for (int i = 0; i < 1 + draw->has_entry; i++) {
            const struct nest_source *source = nest_source_of(draw, i);
            if (source->slope)
                w->draws[w->shape->refs[k].draw].points[i] = w->draws[source->around].last +
                                                             w->left * (uint64_t)source->slope +
                                                             rest * (uint64_t)source->rest_slope;
        }
    }
}

static void begin_shape(struct psnap_walker *w, const struct nest_shape *shape, bool is_of_mix,
                        uint64_t count, uint64_t rest)
{
    const struct walker_access *accesses;

    w->shape = shape;
    w->refs = &w->accesses[is_of_mix][shape->number];
    w->left = count;
    w->is_cut = w->refs->is_drawn;
    w->is_entry = w->loop != shape->loop;
    w->loop = shape->loop;
    accesses = w->refs->of[0];
    for (uint32_t k = 0; k < shape->width; k++) {
        w->first[k] = accesses[k].access;
        w->strides[k] = 0;
    }
    if (w->refs->has_points)
        set_points(w, rest);
    for (uint32_t k = 0; w->refs->has_turns && w->is_entry && k < shape->width; k++)
        if (shape->refs[k].mode >= NEST_DRAWN_FIRST)
            w->draws[shape->refs[k].draw].turn = 0;
}

/* What is left over after the leaf has no iterations: its walks are where these would have begun.
 */
static void skip_rest(struct psnap_walker *w)
{
    const struct nest_mix *mix = &w->nests->models->mixes[w->mix];
    const uint32_t state = w->skipped - 1;
    const struct nest_shape *shape = mix->states[state];

    w->skipped = 0;
    for (uint32_t k = 0; k < shape->width; k++) {
        const uint32_t index = shape->refs[k].draw;
        const struct nest_draw *draw = &w->nests->models->draws[index];
        const struct drawn_ways *ways = &w->draws[index].ways[false];
        const bool is_step = ways->is_plain && !ways->back[0];
        const uint64_t step =
            shape->refs[k].mode == NEST_DRAWN_FIRST ? mix->strides[state][k] : ways->offset[0];
        if (shape->refs[k].mode >= NEST_DRAWN_FIRST && draw->has_entry &&
            draw->entry.with != PSNAP_NONE && (is_step || shape->refs[k].mode == NEST_DRAWN_FIRST))
            w->draws[index].last = w->draws[draw->entry.with].last + draw->entry.offset - step;
    }
}

/* A state of a mix. */
static void begin_state(struct psnap_walker *w, const struct mix_token *token)
{
    const struct nest_mix *mix = &w->nests->models->mixes[w->mix];
    const struct nest_shape *shape = mix->states[token->state];

    begin_shape(w, shape, true, token->count, token->rest);
    w->skipped = token->skipped;
    for (uint32_t k = 0; k < shape->width; k++)
        if (shape->refs[k].mode == NEST_DRAWN_FIRST) {
            w->strides[k] = (int64_t)mix->strides[token->state][k];
            w->first[k].address = draw_first(w, shape->refs[k].draw);
        }
}

static void begin_leaf(struct psnap_walker *w, const struct nest_leaf *leaf)
{
    const struct nest_shape *shape = leaf->pattern->shape;
    const uint64_t count =
        shape->counts ? counts_draw_next(&w->counts[shape->counts - 1], &w->rng) : leaf->values[0];

    begin_shape(w, shape, false, count, 0);
    for (uint32_t k = 0; k < shape->width; k++) {
        const struct nest_ref *ref = &shape->refs[k];
        w->first[k].address = leaf->values[1 + k];
        w->strides[k] = (int64_t)leaf->pattern->steps[k];
        if (ref->mode == NEST_CONTINUING) {
            w->first[k].address += w->positions[ref->draw];
            w->positions[ref->draw] = w->first[k].address + count * leaf->pattern->steps[k];
        } else if (ref->mode == NEST_DRAWN_FIRST)
            w->first[k].address = draw_first(w, ref->draw);
    }
}

/* The last addresses of what is drawn elsewhere, and not in this leaf. */
static void note_last(struct psnap_walker *w, uint64_t n)
{
    for (uint32_t k = 0; k < w->shape->width; k++) {
        const struct nest_ref *ref = &w->shape->refs[k];
        if (ref->mode < NEST_DRAWN_FIRST && w->draw_of[ref->ref] != PSNAP_NONE)
            w->draws[w->draw_of[ref->ref]].last =
                w->first[k].address + (n - 1) * (uint64_t)w->strides[k];
    }
}

/* The last addresses of what is not drawn one by one, for others to go with once the leaf has
 * ended: n iterations are left of it. */
static void note_leads(struct psnap_walker *w, uint64_t n)
{
    for (uint32_t k = 0; k < w->shape->width; k++) {
        const struct nest_ref *ref = &w->shape->refs[k];
        if (ref->mode == NEST_DRAWN)
            continue;
        if (ref->mode == NEST_DRAWN_FIRST)
            w->draws[ref->draw].last = w->first[k].address + (n - 1) * (uint64_t)w->strides[k];
        for (uint32_t i = w->lead_of[ref->ref]; i != PSNAP_NONE;
             i = w->draws[i / NEST_MARKS].next_leads[i % NEST_MARKS])
            w->draws[i / NEST_MARKS].last = w->first[k].address + (n - 1) * (uint64_t)w->strides[k];
    }
}

/* Iterations of the leaf under way that come next: where its loop has just been come to, what it
 * draws may be something else. */
static uint64_t chunk_of(const struct psnap_walker *w)
{
    const uint64_t most = !w->is_cut ? w->left : w->is_entry ? 1 : CHUNK;

    return w->left < most ? w->left : most;
}

/* Iterations [0, n) as a run. */
static void next_chunk(struct psnap_walker *w, uint64_t n, struct psnap_walk *walk)
{
    struct psnap_access *first = w->first;

    if (w->draw_of)
        note_last(w, n);
    if (w->is_cut)
        walker_draw_chunk(w, n);
    if (w->draw_of && n == w->left)
        note_leads(w, n);
    w->is_entry = false;
    w->left -= n;
    if (w->left) {
        memcpy(w->given, w->first, w->shape->width * sizeof *w->first);
        first = w->given;
    }
    *walk = (struct psnap_walk){.loop = w->shape->loop,
                                .run = {.first = first,
                                        .strides = w->strides,
                                        .columns = w->is_cut ? w->columns : NULL,
                                        .width = w->shape->width,
                                        .count = n}};
    for (uint32_t k = 0; w->left && k < w->shape->width; k++)
        w->first[k].address += n * (uint64_t)w->strides[k];
}

/* Iterations of the leaf under way, as far as they are to be written one by one and there is room
 * for them; how many accesses. */
static size_t write_short(struct psnap_walker *w, struct psnap_access *block, size_t capacity)
{
    const size_t width = w->shape->width, most = w->is_cut ? SHORT_DRAWN : SHORT;
    size_t done = 0;

    while (w->left) {
        const uint64_t room = (capacity - done) / width, chunk = chunk_of(w);
        uint64_t n = chunk;
        if (w->refs->has_ways) /* columns would be made address by address, too */
            n = n < room ? n : room;
        else if (n >= most || n * width >= most || n > room)
            break;
        if (!n)
            break;
        if (w->draw_of)
            note_last(w, n);
        walker_write_short(w, n, block + done);
        w->is_entry = false;
        w->left -= n;
        if (w->draw_of && !w->left)
            note_leads(w, 0); /* addresses are those behind the last iteration */
        done += n * width;
    }
    return done;
}

/* A visit of nests gets its share of the chain's. */
static void begin_visit(struct psnap_walker *w, uint32_t mix)
{
    struct mixing *mixing = &w->mixes[mix];

    mixing->due += w->nests->models->mixes[mix].chain->visits;
    w->mix = mix;
    w->mix_visits = mixing->due / mixing->visits;
    mixing->due %= mixing->visits;
}

/* The next leaf of the mix; false: its visit has ended. */
static bool next_of_mix(struct psnap_walker *w)
{
    if (w->skipped)
        skip_rest(w);
    while (w->mix_visits) {
        const struct mix_token *token = mix_walk_take(w->mixes[w->mix].walk);
        if (token->state != MIX_END) {
            begin_state(w, token);
            return true;
        }
        w->mix_visits--;
    }
    w->mix = PSNAP_NONE;
    return false;
}

/* The next leaf, or the mix's, or a loop to write out; as next_leaf. */
static int next_walk(struct psnap_walker *w, bool by_runs)
{
    while (!w->left) {
        struct nest_leaf leaf;
        int more;
        if (w->mix != PSNAP_NONE && next_of_mix(w))
            continue;
        more = next_leaf(w, &leaf, by_runs);
        if (more != 1)
            return more;
        if (leaf.pattern->shape->width)
            begin_leaf(w, &leaf);
        else
            begin_visit(w, leaf.pattern->shape->loop);
    }
    return 1;
}

int psnap_walker_next(struct psnap_walker *w, struct psnap_walk *walk)
{
    const int more = next_walk(w, false);

    if (more == 1)
        next_chunk(w, chunk_of(w), walk);
    return more;
}

int psnap_walker_write(struct psnap_walker *w, struct psnap_walk *walk, bool by_runs,
                       struct psnap_access *block, size_t capacity, size_t *n)
{
    size_t done = 0;

    w->cursor.whole = w->unroll.kinds;
    while (done < capacity) {
        size_t written;
        if (w->unroll.left) {
            done += nest_unroll_write(&w->unroll, block + done, capacity - done);
            continue;
        }
        if (!w->left && w->mix != PSNAP_NONE) {
            const struct mix_token *token;
            if (w->skipped)
                skip_rest(w);
            done += walker_write_mix(w, block + done, capacity - done, &token);
            if (token)
                begin_state(w, token);
            if (done == capacity)
                break;
        }
        const int more = next_walk(w, by_runs);
        if (more == 2)
            continue;
        written = more == 1 ? write_short(w, block + done, capacity - done) : 0;
        done += written;
        if (written)
            continue;
        if (done) /* then that is for the next call */
            break;
        if (more == 1) /* no room for an iteration is no reason to draw many of them */
            next_chunk(w, w->refs->has_ways ? 1 : chunk_of(w), walk);
        return more;
    }
    *n = done;
    return 2;
}
