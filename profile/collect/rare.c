/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rare code. A program of very many bodies, as a database or an interpreter, spends next to all of
 * its accesses in a few of them; the others, which set up, parse and report, would fill its
 * profile. So of more than RARE_BODIES bodies the rarest ones, as long as they have one access in
 * RARE_SHARE together, become two: one loads, one stores 8 bytes, as often as they did. They are of
 * a loop of their own. Numbers of loads and stores stay exact, and so does the order of all other
 * bodies.
 *
 * A rare body is in place of it one execution of the body that loads, and behind that one of the
 * body that stores, with as many iterations as it had such accesses in the mean. A chain of rare
 * bodies alone is rare itself. Where they go is drawn by reuse time, from all that was collected of
 * their references.
 */
#include <stdlib.h>

#include "formats/base/room.h"
#include "profile/collect/rare.h"
#include "profile/collect/unit.h"

struct rare {
    struct lane *lane;
    struct order *order;
    struct rare_amount *bodies, *chains;
    uint32_t *site_numbers;    /* of sites in the end; PSNAP_NONE: only rare bodies have the site */
    struct lane_site sites[2]; /* that load and store in their place, */
    struct lane_history histories[2];
    struct lane_body made[2]; /* and their bodies */
};

/* ---- what becomes of them ---- */

/* Rare accesses of a reference come back after the times that were collected of it. */
static bool take_reuse(struct rare *r, uint32_t site, uint64_t executions)
{
    const struct lane_history *from = &r->lane->histories[site];
    const int kind = rare_is_store(&r->lane->sites[site]);
    struct lane_history *to = &r->histories[kind];
    uint64_t sum = 0;

    r->sites[kind].latest = r->lane->sites[site].latest;
    for (uint32_t i = 0; i < from->reuse.count; i++)
        for (uint32_t k = 0; k < REUSE_SLOTS; k++)
            sum += from->reuse.seen[i].slots[k];
    for (uint32_t i = 0; sum && i < from->reuse.count; i++) {
        const struct reuse_seen *seen = &from->reuse.seen[i];
        if (!reuse_note(&to->reuse, seen->high, 0, REUSE_FIRST, 0, 0))
            return false;
        for (uint32_t p = 0; p < REUSE_COLLECTED; p++)
            for (uint32_t bin = 0; seen->phases[p] && bin < REUSE_BINS; bin++) {
                const double part = (double)seen->phases[p][bin] / (double)sum;
                if (part > 0 && !reuse_note(&to->reuse, seen->low, 0, bin, 0,
                                            1 + (uint64_t)(part * (double)executions)))
                    return false;
            }
    }
    return true;
}

/* The executions that stand for those of a rare symbol. */
static bool add_executions(struct rare *r, const struct rare_amount *amount)
{
    for (int k = 0; k < 2; k++) {
        struct lane_body *to = &r->made[k];
        uint64_t trips, more;
        if (!amount->accesses[k])
            continue;
        trips = amount->accesses[k] / amount->executions;
        more = amount->accesses[k] % amount->executions;
        to->executions += amount->executions;
        to->iterations += amount->accesses[k];
        if ((more && !trips_add(&to->histogram, trips + 1, more)) ||
            !trips_add(&to->histogram, trips, amount->executions - more))
            return false;
    }
    return true;
}

/* ---- the lane ---- */

/* Bodies and chains that come in the place of others; returns how many bodies there are then. */
static uint32_t choose(const struct rare *r, struct order_instead *bodies,
                       struct order_instead *chains)
{
    const uint32_t count = r->lane->body_count;
    uint32_t kept = 0, made[2];

    for (uint32_t i = 0; i < count; i++)
        if (!r->bodies[i].is_rare)
            bodies[i] = (struct order_instead){.count = 1, .to = {kept++}};
    for (int k = 0; k < 2; k++)
        made[k] = r->made[k].executions ? kept++ : PSNAP_NONE;
    for (uint32_t i = 0; i < count + r->order->chain_count; i++) {
        const struct rare_amount *amount = i < count ? &r->bodies[i] : &r->chains[i - count];
        struct order_instead *to = i < count ? &bodies[i] : &chains[i - count];
        if (!amount->is_rare)
            continue;
        *to = (struct order_instead){.is_other = true};
        for (int k = 0; k < 2; k++)
            if (amount->accesses[k])
                to->to[to->count++] = made[k];
    }
    return kept;
}

/* The executions of all rare symbols that are in no rare chain. */
static bool add_all(struct rare *r)
{
    const uint32_t count = r->lane->body_count;

    for (uint32_t i = 0; i < count + r->order->chain_count; i++) {
        const struct rare_amount *amount = i < count ? &r->bodies[i] : &r->chains[i - count];
        const struct order_place *place =
            i < count ? &r->order->bodies[i] : &r->order->places[i - count];
        if (amount->is_rare && (place->chain == PSNAP_NONE || !r->chains[place->chain].is_rare) &&
            !add_executions(r, amount))
            return false;
    }
    return true;
}

/* Rare bodies give up their references. A nest that other bodies have, too, loses as many addresses
 * at its end. */
static bool take_sites(struct rare *r)
{
    struct lane *lane = r->lane;

    for (uint32_t i = 0; i < lane->body_count; i++) {
        const struct lane_body *body = &lane->bodies[i];
        for (uint32_t k = 0; r->bodies[i].is_rare && k < body->width; k++) {
            struct lane_site *site = &lane->sites[body->sites[k]];
            struct nest_terms *terms = &lane->histories[body->sites[k]].addresses.fold.terms;
            if (!take_reuse(r, body->sites[k], body->iterations) ||
                !nest_terms_cut(terms, body->iterations))
                return false;
            site->length -= body->iterations;
            r->sites[rare_is_store(site)].length += body->iterations;
        }
    }
    return true;
}

/* Rules that lead to references which are gone go, too. */
static void convert_rules(const struct rare *r, struct depend_collector *depend)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; depend && i < depend->count; i++) {
        struct depend_rule rule = depend->rules[i];
        bool is_there = true;
        for (uint32_t k = 0; k < rule.base_count; k++) {
            rule.bases[k] = r->site_numbers[rule.bases[k]];
            is_there &= rule.bases[k] != PSNAP_NONE;
        }
        if (is_there)
            depend->rules[kept++] = rule;
    }
    if (depend)
        depend->count = kept;
}

/* Sites and bodies close up, and those made stand behind the others. */
static void close_up(struct rare *r)
{
    struct lane *lane = r->lane;
    uint32_t sites = 0, bodies = 0;

    for (uint32_t i = 0; i < lane->site_count; i++)
        if (r->site_numbers[i] != PSNAP_NONE)
            r->site_numbers[i] = sites++;
    for (uint32_t i = 0; i < lane->site_count; i++) {
        if (r->site_numbers[i] == PSNAP_NONE) {
            lane_history_release(&lane->histories[i]);
            continue;
        }
        convert_rules(r, lane->histories[i].depend);
        lane->sites[r->site_numbers[i]] = lane->sites[i];
        lane->histories[r->site_numbers[i]] = lane->histories[i];
    }
    for (uint32_t i = 0; i < lane->body_count; i++) {
        if (r->bodies[i].is_rare) {
            lane_body_release(&lane->bodies[i]);
            continue;
        }
        for (uint32_t k = 0; k < lane->bodies[i].width; k++)
            lane->bodies[i].sites[k] = r->site_numbers[lane->bodies[i].sites[k]];
        r->bodies[i].number = bodies;
        lane->bodies[bodies++] = lane->bodies[i];
    }
    for (uint32_t i = 0; i < bodies; i++) {
        struct lane_body *body = &lane->bodies[i];
        if (body->whole != PSNAP_NONE)
            body->whole = r->bodies[body->whole].number;
        for (uint32_t k = 0; body->unit && k < body->unit->part_count; k++)
            body->unit->parts[k].body = r->bodies[body->unit->parts[k].body].number;
    }
    for (int k = 0; k < 2; k++) {
        if (!r->made[k].executions)
            continue;
        r->made[k].sites[0] = sites;
        lane->sites[sites] = r->sites[k];
        lane->histories[sites++] = r->histories[k];
        lane->bodies[bodies++] = r->made[k];
        r->histories[k] = (struct lane_history){0};
        r->made[k] = (struct lane_body){0};
    }
    lane->site_count = sites;
    lane->body_count = bodies;
}

/* Room for the two references and bodies that are made: there may be fewer rare ones. */
static bool make_room(struct lane *lane)
{
    const size_t sites = lane->site_count + (size_t)2, bodies = lane->body_count + (size_t)2;
    void *more;

    if (!(more = psnap_with_room(lane->sites, &lane->site_room, sites, sizeof *lane->sites)))
        return false;
    lane->sites = more;
    more = psnap_with_room(lane->histories, &lane->history_room, sites, sizeof *lane->histories);
    if (!more)
        return false;
    lane->histories = more;
    more = psnap_with_room(lane->bodies, &lane->body_room, bodies, sizeof *lane->bodies);
    if (!more)
        return false;
    lane->bodies = more;
    return true;
}

/* The reference and the body of rare loads, or stores. */
static bool make(struct rare *r, int k)
{
    struct lane *lane = r->lane;

    r->sites[k] = (struct lane_site){.ref = PSNAP_NONE,
                                     .sweep = PSNAP_NONE,
                                     .size = 8,
                                     .kind = k ? PSNAP_STORE : 0,
                                     .is_irregular = true};
    r->made[k] = (struct lane_body){.loop = lane->program->loop_count,
                                    .width = 1,
                                    .sites = malloc(sizeof *r->made[k].sites),
                                    .whole = PSNAP_NONE};
    series_init(&r->histories[k].addresses, lane->patterns);
    series_init(&r->made[k].trips, lane->patterns);
    series_give_up(&r->histories[k].addresses);
    series_give_up(&r->made[k].trips);
    return r->made[k].sites != NULL;
}

/* References that a body which is not rare has stay: they are marked. */
static void keep_sites(struct rare *r)
{
    for (uint32_t i = 0; i < r->lane->site_count; i++)
        r->site_numbers[i] = PSNAP_NONE;
    for (uint32_t i = 0; i < r->lane->body_count; i++)
        for (uint32_t k = 0; !r->bodies[i].is_rare && k < r->lane->bodies[i].width; k++)
            r->site_numbers[r->lane->bodies[i].sites[k]] = 0;
}

static bool lower(struct rare *r)
{
    struct lane *lane = r->lane;
    struct order_instead *bodies = calloc(lane->body_count, sizeof *bodies);
    struct order_instead *chains = calloc(r->order->chain_count + (size_t)1, sizeof *chains);
    bool is_replaced = false, has_memory = bodies && chains && make_room(lane);

    if (has_memory) {
        keep_sites(r);
        has_memory =
            make(r, 0) && make(r, 1) && add_all(r) &&
            order_replace(r->order, bodies, chains, choose(r, bodies, chains), &is_replaced);
    }
    if (has_memory && is_replaced) {
        has_memory = take_sites(r);
        close_up(r);
    }
    free(bodies);
    free(chains);
    return has_memory;
}

static bool has_rare(const struct rare *r)
{
    for (uint32_t i = 0; i < r->lane->body_count; i++)
        if (r->bodies[i].is_rare)
            return true;
    return false;
}

bool lane_lower_rare(struct lane *lane)
{
    struct rare r = {.lane = lane, .order = &lane->order};
    bool has_memory = true;

    if (lane->body_count <= RARE_BODIES)
        return true;
    for (uint32_t i = 0; has_memory && i < lane->site_count; i++)
        has_memory = series_end(&lane->histories[i].addresses, SIZE_MAX);
    r.bodies = calloc(lane->body_count, sizeof *r.bodies);
    r.chains = calloc(lane->order.chain_count + (size_t)1, sizeof *r.chains);
    r.site_numbers = malloc((lane->site_count + (size_t)1) * sizeof *r.site_numbers);
    has_memory = has_memory && r.bodies && r.chains && r.site_numbers;
    has_memory = has_memory && rare_mark(lane, r.bodies, r.chains);
    lane->wants_reuse |= has_memory && (has_rare(&r) || !order_is_low(r.order));
    has_memory = has_memory && (lane_wants_reuse(lane) || lower(&r));
    for (int k = 0; k < 2; k++) {
        lane_history_release(&r.histories[k]);
        lane_body_release(&r.made[k]);
    }
    free(r.bodies);
    free(r.chains);
    free(r.site_numbers);
    return has_memory && order_end(&lane->order);
}
