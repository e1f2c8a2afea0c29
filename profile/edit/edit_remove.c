/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * remove loops[ID], of a model: bodies of the loop and of those within it leave orders and
 * chains, whose other states execute as often as before, and their references are not there. When
 * all bases of others are gone, the first of these gets the rule of its first base, a reuse
 * histogram scaled to its own executions, and is the base of the others.
 */
#include <stdlib.h>
#include <string.h>

#include "profile/edit/edit.h"
#include "profile/edit/edit_chain.h"
#include "profile/edit/edit_tree.h"
#include "profile/model.h"

enum { REPEATS_MAX = 64 /* of the nest of a base, written out */ };

struct removing {
    struct editing *e;
    struct psnap_stream_model *model;
    uint32_t *bodies, *chains, *refs; /* new indices, PSNAP_NONE: it is not there any more */
    uint32_t *loops;                  /* by body */
    uint32_t *heirs;                  /* by reference that is gone: that has its rule */
};

/* ---- orders and chains ---- */

/* The symbol of a body or chain then; PSNAP_NONE: it is gone. */
static uint32_t symbol_then(const struct removing *r, uint32_t symbol)
{
    if (!(symbol & MODEL_CHAIN))
        return r->bodies[symbol];
    symbol = r->chains[symbol & ~MODEL_CHAIN];
    return symbol == PSNAP_NONE ? PSNAP_NONE : MODEL_CHAIN | symbol;
}

static void prune(const struct removing *r, struct edit_node *node)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < node->child_count; i++) {
        struct edit_node *child = node->children[i];
        if (child->is_loop)
            prune(r, child);
        else
            child->symbol = symbol_then(r, child->symbol);
        if (child->is_loop ? child->child_count > 0 : child->symbol != PSNAP_NONE)
            node->children[kept++] = child;
    }
    node->child_count = kept;
}

static enum psnap_status prune_orders(const struct removing *r)
{
    enum psnap_status status = PSNAP_OK;

    for (uint32_t i = 0; i < r->model->order_count && !status; i++) {
        struct nest_terms *terms = &r->model->orders[i].terms;
        struct edit_tree *tree = edit_tree_new(terms);
        if (tree)
            prune(r, &tree->root);
        if (!tree || !edit_tree_store(tree, terms))
            status = edit_no_memory(r->e);
        edit_tree_free(tree);
    }
    return status;
}

/* A chain without the states that are gone. */
static enum psnap_status prune_chain(const struct removing *r, struct chain *chain)
{
    bool *gone = calloc(chain->count, sizeof *gone);
    int result = -1;

    for (uint32_t k = 1; gone && k < chain->count; k++)
        gone[k] = symbol_then(r, chain->states[k].symbol) == PSNAP_NONE;
    if (gone)
        result = edit_chain_remove(chain, gone);
    free(gone);
    for (uint32_t k = 1; !result && k < chain->count; k++)
        chain->states[k].symbol = symbol_then(r, chain->states[k].symbol);
    return result ? edit_no_memory(r->e) : PSNAP_OK;
}

/* Chains with no states left are gone, too. Those that are states come before those that have
 * them. */
static enum psnap_status prune_chains(const struct removing *r)
{
    struct psnap_stream_model *model = r->model;
    uint32_t count = 0;

    for (uint32_t i = 0; i < model->chain_count; i++) {
        struct chain chain;
        char *id = model->chain_ids[i];
        const enum psnap_status status = prune_chain(r, &model->chains[i]);
        if (status)
            return status;
        chain = model->chains[i];
        model->chains[i] = (struct chain){0};
        model->chain_ids[i] = NULL;
        r->chains[i] = chain.count > 1 ? count : PSNAP_NONE;
        if (chain.count > 1) {
            model->chains[count] = chain;
            model->chain_ids[count++] = id;
        } else {
            chain_release(&chain);
            free(id);
        }
    }
    model->chain_count = count;
    return PSNAP_OK;
}

/* ---- bases ---- */

static bool shift_run(void *context, struct edit_node *leaf)
{
    leaf->value.first += *(const int64_t *)context;
    return true;
}

/* The addresses of a nest, as often as they are all needed, and then as many as are. */
static enum psnap_status inherit_nest(const struct removing *r, struct model_ref *to,
                                      const struct model_ref *from, int64_t bytes)
{
    struct edit_tree *tree = edit_tree_new(&from->addresses);
    struct nest_terms part = {.patterns = r->model->patterns};
    uint64_t length = 0;
    bool is_done = tree != NULL;

    if (tree)
        edit_tree_leaves(&tree->root, shift_run, &bytes);
    for (size_t i = 0; i < from->addresses.count; i++)
        length +=
            nest_length(from->addresses.terms[i].pattern, nest_term_values(&from->addresses, i));
    nest_terms_release(&to->addresses);
    for (uint64_t n = to->executions / length; is_done && n && to->executions % length; n--)
        is_done = n <= REPEATS_MAX && edit_tree_store(tree, &part) &&
                  nest_terms_copy(&to->addresses, &part);
    if (is_done && to->executions % length)
        is_done = edit_tree_cut(tree, to->executions % length);
    is_done = is_done && edit_tree_store(tree, &part) && nest_terms_copy(&to->addresses, &part);
    nest_terms_release(&part);
    edit_tree_free(tree);
    to->rule = MODEL_NEST;
    return is_done ? PSNAP_OK
                   : edit_fail(r->e, to->loop, PSNAP_NONE,
                               "what reference %u of loop '%.100s' goes with would not be there, "
                               "and its addresses are not as many as are needed",
                               (unsigned)to->number, r->e->profile->loops[to->loop].id);
}

/* The reference gets the rule of its base, as far away from that as it was. */
static enum psnap_status inherit(const struct removing *r, struct model_ref *to,
                                 const struct model_ref *from)
{
    const int64_t bytes = to->offsets[0].bytes;

    if (from->rule == MODEL_DEPENDENT) {
        memcpy(to->bases, from->bases, sizeof to->bases);
        to->base_count = from->base_count;
        for (uint32_t i = 0; i < to->offset_count; i++)
            to->offsets[i].bytes += from->offsets[0].bytes;
        return PSNAP_OK;
    }
    if (from->rule == MODEL_REUSE)
        return edit_inherit_reuses(r->e, to, from, bytes);
    return inherit_nest(r, to, from, bytes);
}

/* Keeps the bases that are still there; whether there are any. */
static bool keep_bases(const struct removing *r, struct model_ref *ref)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < ref->base_count; i++)
        if (r->refs[ref->bases[i]] != PSNAP_NONE)
            kept++;
    if (!kept)
        return false;
    kept = 0;
    for (uint32_t i = 0; i < ref->base_count; i++)
        if (r->refs[ref->bases[i]] != PSNAP_NONE)
            ref->bases[kept++] = ref->bases[i];
    ref->base_count = kept;
    return true;
}

/* References whose bases are gone get other bases, or the rule of the one that is gone. */
static enum psnap_status find_bases(const struct removing *r)
{
    struct psnap_stream_model *model = r->model;
    enum psnap_status status = PSNAP_OK;

    for (uint32_t i = 0; i < model->ref_count && !status; i++) {
        struct model_ref *ref = &model->refs[i];
        while (!status && r->refs[i] != PSNAP_NONE && ref->rule == MODEL_DEPENDENT &&
               !keep_bases(r, ref)) {
            const uint32_t base = ref->bases[0], heir = r->heirs[base];
            if (heir == PSNAP_NONE) {
                status = inherit(r, ref, &model->refs[base]);
                if (ref->rule != MODEL_DEPENDENT)
                    r->heirs[base] = i;
                continue;
            }
            ref->bases[0] = heir;
            ref->base_count = 1;
            for (uint32_t k = 0; k < ref->offset_count; k++) /* the heir keeps its first offset */
                ref->offsets[k].bytes -= model->refs[heir].offsets[0].bytes;
        }
    }
    for (uint32_t i = 0; i < model->ref_count; i++)
        if (model->refs[i].rule != MODEL_DEPENDENT)
            model->refs[i].offset_count = model->refs[i].base_count = 0;
    return status;
}

/* Sweeps stay or go as a whole. */
static enum psnap_status check_sweeps(const struct removing *r)
{
    for (uint32_t i = 0; i < r->model->ref_count; i++) {
        const struct model_ref *ref = &r->model->refs[i];
        if (ref->rule == MODEL_SHARED &&
            (r->refs[i] == PSNAP_NONE) != (r->refs[ref->sweep] == PSNAP_NONE))
            return edit_fail(r->e, ref->loop, PSNAP_NONE,
                             "references of loop '%.100s' and of '%.100s' share a sweep: one loop "
                             "cannot be left out without the other",
                             r->e->profile->loops[ref->loop].id,
                             r->e->profile->loops[r->model->refs[ref->sweep].loop].id);
    }
    return PSNAP_OK;
}

/* ---- what is left ---- */

/* Whether a body is in the loops that go, or all its parts are. */
static bool is_gone(const struct editing *e, const struct model_body *body)
{
    const struct psnap_stream_model *model = e->profile->stream;

    for (uint32_t k = 0; k < body->part_count; k++)
        if (!e->is_inside[model->bodies[body->parts[k].body].loop])
            return false;
    return body->part_count || e->is_inside[body->loop];
}

/* The parts that are left. */
static void drop_parts(const struct removing *r, struct model_body *body)
{
    uint32_t count = 0;

    for (uint32_t k = 0; k < body->part_count; k++) {
        const uint32_t part = body->parts[k].body, then = r->bodies[part];
        if (then == PSNAP_NONE)
            continue;
        body->parts[count] = body->parts[k];
        body->parts[count++].body = then;
        body->loop = r->loops[part];
    }
    body->part_count = count;
}

static void drop_bodies(const struct removing *r)
{
    struct psnap_stream_model *model = r->model;
    uint32_t count = 0;

    for (uint32_t i = 0; i < model->body_count; i++) {
        struct model_body *body = &model->bodies[i];
        drop_parts(r, body);
        if (r->bodies[i] == PSNAP_NONE) {
            free(body->id);
            free(body->refs);
            free(body->parts);
            nest_terms_release(&body->trips);
            trips_release(&body->histogram);
            continue;
        }
        for (uint32_t k = 0; k < body->width; k++)
            body->refs[k] = r->refs[body->refs[k]];
        model->bodies[count++] = *body;
    }
    model->body_count = count;
}

static void drop_refs(const struct removing *r)
{
    struct psnap_stream_model *model = r->model;
    uint32_t count = 0;

    for (uint32_t i = 0; i < model->ref_count; i++) {
        struct model_ref *ref = &model->refs[i];
        if (r->refs[i] == PSNAP_NONE) {
            nest_terms_release(&ref->addresses);
            reuse_release(ref->reuses, ref->reuse_count);
            continue;
        }
        for (uint32_t k = 0; k < ref->base_count; k++)
            ref->bases[k] = r->refs[ref->bases[k]];
        ref->sweep = ref->rule == MODEL_SHARED ? r->refs[ref->sweep] : 0;
        model->refs[count++] = *ref;
    }
    model->ref_count = count;
}

enum psnap_status edit_remove(struct editing *e)
{
    struct psnap_stream_model *model = e->profile->stream;
    struct removing r = {.e = e,
                         .model = model,
                         .bodies = calloc(model->body_count + (size_t)1, sizeof(uint32_t)),
                         .loops = calloc(model->body_count + (size_t)1, sizeof(uint32_t)),
                         .chains = calloc(model->chain_count + (size_t)1, sizeof(uint32_t)),
                         .refs = calloc(model->ref_count + (size_t)1, sizeof(uint32_t)),
                         .heirs = malloc((model->ref_count + (size_t)1) * sizeof(uint32_t))};
    enum psnap_status status =
        r.bodies && r.loops && r.chains && r.refs && r.heirs ? PSNAP_OK : edit_no_memory(e);
    uint32_t bodies = 0, refs = 0;

    if (!status)
        status = edit_parts(e);
    for (uint32_t i = 0; i < model->body_count && !status; i++)
        r.loops[i] = model->bodies[i].loop;
    for (uint32_t i = 0; i < model->body_count && !status; i++)
        r.bodies[i] = is_gone(e, &model->bodies[i]) ? PSNAP_NONE : bodies++;
    for (uint32_t i = 0; i < model->ref_count && !status; i++) {
        r.refs[i] = e->is_inside[model->refs[i].loop] ? PSNAP_NONE : refs++;
        r.heirs[i] = PSNAP_NONE;
    }
    if (!status)
        status = check_sweeps(&r);
    if (!status)
        status = prune_chains(&r);
    if (!status)
        status = prune_orders(&r);
    if (!status)
        status = find_bases(&r);
    if (!status) {
        drop_bodies(&r);
        drop_refs(&r);
    }
    free(r.bodies);
    free(r.loops);
    free(r.chains);
    free(r.refs);
    free(r.heirs);
    return status;
}

void edit_renumber(struct editing *e, const uint32_t *kept)
{
    struct psnap_stream_model *model = e->profile->stream;

    for (uint32_t i = 0; i < model->ref_count; i++)
        model->refs[i].loop = kept[model->refs[i].loop];
    for (uint32_t i = 0; i < model->body_count; i++)
        model->bodies[i].loop = kept[model->bodies[i].loop];
}
