/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How much there is in a model (model.h): executions of bodies from the orders and chains, their
 * iterations from the trip counts, accesses of references from these. What repeats with the same
 * counts is multiplied; what changes from one iteration to the next is gone through, which is
 * bounded.
 */
#include "profile/model.h"

#include <inttypes.h>
#include <stdlib.h>

enum { STEPS_MAX = 1 << 24 };

/* Executions of bodies and visits of chains in orders, or a sum of trip counts. */
struct counting {
    const struct psnap_stream_model *model;
    uint64_t *bodies, *visits;      /* executions, of bodies and chains */
    uint64_t sum, count;            /* of trip counts */
    const struct model_body *whole; /* whose parts are counted as well; NULL: none are */
    uint64_t parts[EXPAND_PARTS];   /* iterations of these */
    uint64_t steps;                 /* that are left */
    uint64_t times;                 /* of the term that is gone through */
    bool is_refused;                /* it cannot be counted; else memory is out */
};

static bool refuse(struct counting *c)
{
    c->is_refused = true;
    return false;
}

static bool add(uint64_t *sum, uint64_t more)
{
    if (more > PSNAP_COUNT_MAX || *sum > PSNAP_COUNT_MAX - more)
        return false;
    *sum += more;
    return true;
}

/* Adds to executions of a body, or visits of a chain. */
static bool add_symbol(const struct counting *c, uint32_t symbol, uint64_t times)
{
    return add(symbol & MODEL_CHAIN ? &c->visits[symbol & ~MODEL_CHAIN] : &c->bodies[symbol],
               times);
}

/* Adds the trip counts of a run. */
static bool add_run(struct counting *c, const struct nest_pattern *pattern, const uint64_t *values)
{
    __extension__ typedef __int128 wide;
    const wide first = (int64_t)values[1], count = (int64_t)values[0];
    const wide last = first + (wide)(int64_t)pattern->steps[0] * (count - 1);
    const wide all = (first + last) * count / 2;

    return first >= 0 && last >= 0 && all <= (wide)PSNAP_COUNT_MAX && add(&c->sum, (uint64_t)all) &&
           add(&c->count, values[0]) &&
           (!c->whole || expand_sums(c->whole->parts, c->whole->part_count, values[1],
                                     pattern->steps[0], values[0], &c->steps, c->parts));
}

static bool count_term(struct counting *c, const struct nest_pattern *pattern,
                       const uint64_t *values, uint64_t times);

static bool count_one(void *context, const struct nest_pattern *pattern, const uint64_t *values)
{
    struct counting *c = context;

    return count_term(c, pattern, values, c->times);
}

/* False: refused, or out of memory. */
static bool count_term(struct counting *c, const struct nest_pattern *pattern,
                       const uint64_t *values, uint64_t times)
{
    const uint64_t before = c->times;
    uint64_t all;
    bool is_done = true;

    if ((int64_t)values[0] <= 0 || !times)
        return true;
    if (__builtin_mul_overflow(times, values[0], &all) || !c->steps--)
        return refuse(c);
    if (!pattern->body_count)
        return (c->bodies ? add_symbol(c, pattern->symbol, all) : add_run(c, pattern, values)) ||
               refuse(c);
    if (!c->bodies || !nest_is_steady(pattern)) {
        c->times = times;
        is_done = nest_each_iteration(pattern, values, count_one, c);
        c->times = before;
        return is_done;
    }
    for (uint32_t i = 0, at = 1; is_done && i < pattern->body_count;
         at += pattern->body[i++]->values)
        is_done = count_term(c, pattern->body[i], values + at, all);
    return is_done;
}

static bool count_terms(struct counting *c, const struct nest_terms *terms)
{
    bool is_done = true;

    for (size_t i = 0; is_done && i < terms->count; i++)
        is_done = count_term(c, terms->terms[i].pattern, nest_term_values(terms, i), 1);
    return is_done;
}

static enum psnap_status out_of_memory(struct psnap_error *error)
{
    return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
}

static enum psnap_status too_much(struct psnap_error *error)
{
    return psnap_error_set(error, PSNAP_ERROR_VALUE, "the schedule has more than can be counted");
}

/* Executions of the states of a chain, which is visited so often. */
static enum psnap_status count_chain(struct counting *c, uint32_t index, struct psnap_error *error)
{
    const struct chain *chain = &c->model->chains[index];
    const uint64_t visits = c->visits[index], circuits = chain_circuits(chain);
    uint32_t state;
    const int is_circuit = chain_is_circuit(chain, &state);

    if (is_circuit < 0)
        return out_of_memory(error);
    if (!is_circuit)
        return psnap_error_set(
            error, PSNAP_ERROR_VALUE,
            "in chain '%.100s' state '%.100s' is not left as often as it is entered, or does "
            "not lead outside",
            model_symbol_id(c->model, MODEL_CHAIN | index), model_state_id(c->model, chain, state));
    if (!circuits || visits % circuits)
        return psnap_error_set(error, PSNAP_ERROR_VALUE,
                               "chain '%.100s' begins %" PRIu64 " times, but is visited %" PRIu64
                               " times",
                               model_symbol_id(c->model, MODEL_CHAIN | index), circuits, visits);
    for (uint32_t i = 1; i < chain->count; i++)
        for (uint32_t k = 0; k < chain->states[i].edge_count; k++) {
            uint64_t all;
            if (__builtin_mul_overflow(chain->states[i].edges[k].count, visits / circuits, &all) ||
                !add_symbol(c, chain->states[i].symbol, all))
                return too_much(error);
        }
    return PSNAP_OK;
}

/* Iterations of all executions of a body. */
static enum psnap_status count_body(struct psnap_stream_model *model, struct model_body *body,
                                    struct psnap_error *error)
{
    struct counting s = {.sum = body->histogram.sum,
                         .count = body->histogram.times,
                         .steps = STEPS_MAX,
                         .whole = body->is_counted ? body : NULL};
    bool is_done = true;

    if (!body->is_drawn) {
        s.sum = s.count = 0;
        is_done = count_terms(&s, &body->trips);
    }
    if (!is_done && !s.is_refused)
        return out_of_memory(error);
    if (!is_done || !s.count)
        return psnap_error_set(error, PSNAP_ERROR_VALUE,
                               "the iterations of body '%.100s' are none, or cannot be counted",
                               body->id);
    if (body->executions % s.count)
        return psnap_error_set(error, PSNAP_ERROR_VALUE,
                               "body '%.100s' executes %" PRIu64
                               " times in the schedule, but has iterations for %" PRIu64,
                               body->id, body->executions, s.count);
    if (__builtin_mul_overflow(s.sum, body->executions / s.count, &body->iterations) ||
        body->iterations > PSNAP_COUNT_MAX)
        return too_much(error);
    for (uint32_t i = 0; s.whole && i < body->part_count; i++) {
        struct model_body *part = &model->bodies[body->parts[i].body];
        part->executions = body->executions;
        part->iterations = s.parts[i] * (body->executions / s.count); /* no more than the whole */
    }
    return PSNAP_OK;
}

/* Executions of the parts of bodies, and iterations of all: wholes tell those of their parts. */
static enum psnap_status count_bodies(struct psnap_stream_model *model, struct counting *c,
                                      struct psnap_error *error)
{
    enum psnap_status status = PSNAP_OK;

    for (uint32_t i = 0; i < model->body_count; i++)
        if (model->bodies[i].is_part && c->bodies[i])
            return psnap_error_set(error, PSNAP_ERROR_VALUE,
                                   "body '%.100s' executes in the schedule, but its iterations are "
                                   "told by another one",
                                   model->bodies[i].id);
    for (uint32_t i = 0; i < model->body_count; i++)
        for (uint32_t k = 0; k < model->bodies[i].part_count; k++)
            if (!add(&c->bodies[model->bodies[i].parts[k].body], c->bodies[i]))
                return too_much(error);
    for (uint32_t i = 0; !status && i < model->body_count; i++) {
        struct model_body *body = &model->bodies[i];
        if (body->is_part)
            continue;
        body->executions = c->bodies[i];
        if (!body->part_count || body->is_counted)
            status = count_body(model, body, error);
    }
    return status;
}

enum psnap_status model_count(struct psnap_stream_model *model, struct psnap_error *error)
{
    struct counting c = {.model = model,
                         .bodies = calloc(model->body_count + (size_t)1, sizeof *c.bodies),
                         .visits = calloc(model->chain_count + (size_t)1, sizeof *c.visits),
                         .steps = STEPS_MAX};
    enum psnap_status status = PSNAP_OK;
    bool is_done = c.bodies && c.visits;
    uint64_t accesses = 0;

    for (uint32_t i = 0; is_done && i < model->order_count; i++)
        is_done = count_terms(&c, &model->orders[i].terms);
    if (!is_done)
        status = c.is_refused ? too_much(error) : out_of_memory(error);
    for (uint32_t i = model->chain_count; !status && i-- > 0;) /* those that have it come later */
        status = count_chain(&c, i, error);
    for (uint32_t i = 0; !status && i < model->ref_count; i++)
        model->refs[i].executions = 0;
    if (!status)
        status = count_bodies(model, &c, error);
    for (uint32_t i = 0; !status && i < model->body_count; i++) {
        const struct model_body *body = &model->bodies[i];
        for (uint32_t k = 0; !status && k < body->width; k++)
            if (!add(&model->refs[body->refs[k]].executions, body->iterations) ||
                !add(&accesses, body->iterations))
                status = too_much(error);
    }
    free(c.bodies);
    free(c.visits);
    return status;
}

bool model_count_takes(const struct psnap_stream_model *model, uint64_t **takes)
{
    uint64_t *sums = *takes = calloc(model->ref_count + (size_t)1, sizeof *sums);

    for (uint32_t i = 0; sums && i < model->ref_count; i++) {
        const struct model_ref *ref = &model->refs[i];
        sums[model_nest_of(model, ref) - model->refs] += ref->executions * model_takes(model, ref);
    }
    return sums != NULL;
}
