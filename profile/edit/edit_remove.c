/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * remove loops[ID]: bodies of the loop and of those within it leave orders and
 * chains, whose other states execute as often as before, and their references are not there. When
 * all bases of others are gone, the first of these gets the rule of its first base, a reuse
 * histogram scaled to its own executions, and is the base of the others.
 */
#include "profile/edit/edit.h"

#include <stdlib.h>
#include <string.h>

enum { COPIES_MAX = 65 /* of the nest of a base, written out */ };

struct removing {
    struct editing *e;
    struct psnap_stream_model *model;
    uint32_t *bodies, *chains, *refs; /* new indices, PSNAP_NONE: it is not there any more */
    uint32_t *loops;                  /* by body: its loop before */
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

static void prune_orders(const struct removing *r)
{
    for (uint32_t i = 0; i < r->model->order_count; i++) {
        struct nest_terms *terms = &r->model->orders[i].terms;
        struct edit_node *root = edit_tree_new(r->e, terms);
        if (!root)
            return;
        prune(r, root);
        edit_tree_store(r->e, root, terms);
    }
}

/* Takes the states that are gone out of a chain. */
static void prune_chain(const struct removing *r, struct chain *chain)
{
    bool *gone = edit_alloc(r->e, chain->count, sizeof *gone);

    for (uint32_t k = 1; gone && k < chain->count; k++)
        gone[k] = symbol_then(r, chain->states[k].symbol) == PSNAP_NONE;
    if (gone)
        edit_need(r->e, !edit_chain_remove(chain, gone));
    for (uint32_t k = 1; !r->e->status && k < chain->count; k++)
        chain->states[k].symbol = symbol_then(r, chain->states[k].symbol);
}

/* Chains with no states left are gone, too. Those that are states come before those that have
 * them. */
static void prune_chains(const struct removing *r)
{
    struct psnap_stream_model *model = r->model;
    uint32_t count = 0;

    for (uint32_t i = 0; i < model->chain_count && !r->e->status; i++) {
        struct chain chain;
        char *id = model->chain_ids[i];
        prune_chain(r, &model->chains[i]);
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
    model->chain_count = r->e->status ? model->chain_count : count;
}

/* ---- bases ---- */

static void shift_runs(struct edit_node *node, int64_t bytes)
{
    node->value.first += bytes;
    for (uint32_t i = 0; i < node->child_count; i++)
        shift_runs(node->children[i], bytes);
}

/* The reference gets the addresses of a nest, `bytes` on, again and again, as many as it needs; a
 * nest that is used up begins again by itself. */
static void inherit_nest(const struct removing *r, struct model_ref *to,
                         const struct model_ref *from, int64_t bytes)
{
    struct edit_node *root = edit_tree_new(r->e, &from->addresses);
    struct nest_terms whole = {.patterns = r->model->patterns};
    uint64_t length = 0, left, copies;

    if (!root)
        return;
    for (size_t i = 0; i < from->addresses.count; i++)
        length +=
            nest_length(from->addresses.terms[i].pattern, nest_term_values(&from->addresses, i));
    left = length ? to->executions % length : 0;
    copies = left ? to->executions / length + 1 : 1;
    if (!length || copies > COPIES_MAX)
        edit_fail_ref(r->e, to,
                      "goes with what would not be there, whose addresses are not as many as are "
                      "needed");
    shift_runs(root, bytes);
    edit_tree_store(r->e, root, &whole);
    nest_terms_release(&to->addresses);
    for (uint64_t n = 0; !r->e->status && n < copies; n++)
        edit_need(r->e, nest_terms_copy(&to->addresses, &whole));
    if (!r->e->status && left)
        edit_need(r->e, nest_terms_cut(&to->addresses, length - left));
    nest_terms_release(&whole);
    to->rule = MODEL_NEST;
}

/* The reference gets the rule of its base, as far away from that as it was. */
static void inherit(const struct removing *r, struct model_ref *to, const struct model_ref *from)
{
    const int64_t bytes = to->offsets[0].bytes;

    if (from->rule == MODEL_DEPENDENT) {
        memcpy(to->bases, from->bases, sizeof to->bases);
        to->base_count = from->base_count;
        for (uint32_t i = 0; i < to->offset_count; i++)
            to->offsets[i].bytes += from->offsets[0].bytes;
    } else if (from->rule == MODEL_REUSE)
        edit_inherit_reuses(r->e, to, from, bytes);
    else
        inherit_nest(r, to, from, bytes);
}

/* Keeps the bases that are still there, or all when none is; whether there are any. */
static bool keep_bases(const struct removing *r, struct model_ref *ref)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < ref->base_count; i++)
        if (r->refs[ref->bases[i]] != PSNAP_NONE)
            ref->bases[kept++] = ref->bases[i];
    if (kept)
        ref->base_count = kept;
    return kept > 0;
}

/* References whose bases are gone get other bases, or the rule of the one that is gone. */
static void find_bases(const struct removing *r)
{
    struct psnap_stream_model *model = r->model;

    for (uint32_t i = 0; i < model->ref_count; i++) {
        struct model_ref *ref = &model->refs[i];
        while (!r->e->status && r->refs[i] != PSNAP_NONE && ref->rule == MODEL_DEPENDENT &&
               !keep_bases(r, ref)) {
            const uint32_t base = ref->bases[0], heir = r->heirs[base];
            if (heir == PSNAP_NONE) {
                inherit(r, ref, &model->refs[base]);
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
}

/* Sweeps stay or go as a whole. */
static void check_sweeps(const struct removing *r)
{
    for (uint32_t i = 0; i < r->model->ref_count; i++) {
        const struct model_ref *ref = &r->model->refs[i];
        if (ref->rule == MODEL_SHARED &&
            (r->refs[i] == PSNAP_NONE) != (r->refs[ref->sweep] == PSNAP_NONE))
            edit_fail(r->e, ref->loop,
                      "references of loop '%.100s' and of '%.100s' share a sweep: one loop cannot "
                      "be left out without the other",
                      r->e->profile->loops[ref->loop].id,
                      r->e->profile->loops[r->model->refs[ref->sweep].loop].id);
    }
}

/* ---- what is left ---- */

/* Whether a body is in the loops that go, or all its parts are. */
static bool is_gone(const struct editing *e, const struct model_body *body)
{
    for (uint32_t k = 0; k < body->part_count; k++)
        if (!e->is_inside[e->model->bodies[body->parts[k].body].loop])
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

void edit_remove(struct editing *e)
{
    struct psnap_stream_model *model = e->model;
    struct removing r = {.e = e,
                         .model = model,
                         .bodies = edit_alloc(e, model->body_count, sizeof(uint32_t)),
                         .loops = edit_alloc(e, model->body_count, sizeof(uint32_t)),
                         .chains = edit_alloc(e, model->chain_count, sizeof(uint32_t)),
                         .refs = edit_alloc(e, model->ref_count, sizeof(uint32_t)),
                         .heirs = edit_alloc(e, model->ref_count, sizeof(uint32_t))};
    uint32_t bodies = 0, refs = 0;

    if (!e->status)
        edit_part_bodies(e);
    if (e->status)
        return;
    for (uint32_t i = 0; i < model->body_count; i++) {
        r.loops[i] = model->bodies[i].loop;
        r.bodies[i] = is_gone(e, &model->bodies[i]) ? PSNAP_NONE : bodies++;
    }
    for (uint32_t i = 0; i < model->ref_count; i++) {
        r.refs[i] = e->is_inside[model->refs[i].loop] ? PSNAP_NONE : refs++;
        r.heirs[i] = PSNAP_NONE;
    }
    check_sweeps(&r);
    prune_chains(&r);
    if (!e->status)
        prune_orders(&r);
    if (!e->status)
        find_bases(&r);
    if (!e->status) {
        drop_bodies(&r);
        drop_refs(&r);
    }
}
