/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rules of dependent references (depend.h). Of each reference a few are counted at once; the worst
 * of them makes room for another one.
 */
#include "profile/address/depend.h"

#include <stddef.h>

#include "formats/base/program.h"

enum {
    TRIALS = 8,    /* before a rule may be given up, or taken */
    LEARNING = 64, /* trials within which bases and offsets are added */
    HOLDS = 98     /* percent of the executions that a rule tells */
};

static bool has_base(const struct depend_rule *rule, uint32_t site)
{
    for (uint32_t i = 0; i < rule->base_count; i++)
        if (rule->bases[i] == site)
            return true;
    return false;
}

static bool has_offset(struct depend_rule *rule, int64_t bytes)
{
    for (uint32_t i = 0; i < rule->offset_count; i++)
        if (rule->offsets[i].bytes == bytes) {
            rule->offsets[i].count++;
            return true;
        }
    return false;
}

/* A rule that did not hold may get another base, or another offset: then it does. */
static bool learn(struct depend_rule *rule, const struct depend_access *access, int64_t bytes,
                  const struct depend_recent *recent)
{
    if (rule->trials > LEARNING)
        return false;
    if (!rule->is_of_bases && rule->offset_count < DEPEND_OFFSETS) {
        rule->offsets[rule->offset_count++] = (struct depend_offset){bytes, 1};
        return true;
    }
    for (uint32_t k = 0; rule->is_of_bases && k < DEPEND_RECENT; k++) {
        const struct depend_access *other = &recent->ring[k];
        if (rule->base_count == DEPEND_BASES || other->site == PSNAP_NONE ||
            other->site == access->site || has_base(rule, other->site) ||
            (int64_t)(access->address - other->address) != rule->offsets[0].bytes)
            continue;
        rule->bases[rule->base_count++] = other->site;
        return true;
    }
    return false;
}

static void try_rule(struct depend_rule *rule, const struct depend_access *access,
                     const struct depend_recent *recent,
                     struct depend_access (*latest)(const void *context, uint32_t site),
                     const void *context)
{
    struct depend_access base = latest(context, rule->bases[0]);
    int64_t bytes;

    for (uint32_t i = 1; i < rule->base_count; i++) {
        const struct depend_access other = latest(context, rule->bases[i]);
        if (other.time > base.time)
            base = other;
    }
    bytes = (int64_t)(access->address - base.address);
    rule->trials++;
    if (has_offset(rule, bytes) || learn(rule, access, bytes, recent)) {
        rule->hits++;
        rule->distance += access->time - base.time;
    }
}

/* By how many of the trials they tell. */
static bool is_worse(const struct depend_rule *a, const struct depend_rule *b)
{
    return (double)a->hits * (double)b->trials < (double)b->hits * (double)a->trials;
}

/* Room for one more rule; NULL: all are worth keeping. */
static struct depend_rule *find_room(struct depend_collector *collector)
{
    struct depend_rule *worst = NULL;

    if (collector->count < DEPEND_RULES)
        return &collector->rules[collector->count++];
    for (uint32_t i = 0; i < DEPEND_RULES; i++) {
        struct depend_rule *rule = &collector->rules[i];
        if (rule->trials >= TRIALS && rule->hits * 100 < rule->trials * HOLDS &&
            (!worst || is_worse(rule, worst)))
            worst = rule;
    }
    return worst;
}

void depend_note(struct depend_collector *collector, const struct depend_access *access,
                 const struct depend_recent *recent,
                 struct depend_access (*latest)(const void *context, uint32_t site),
                 const void *context)
{
    const uint32_t known = collector->count;

    for (uint32_t i = 0; i < known; i++)
        try_rule(&collector->rules[i], access, recent, latest, context);
    for (uint32_t k = 0; k < DEPEND_RECENT; k++) {
        const struct depend_access *base = &recent->ring[k];
        const struct depend_access its =
            base->site == PSNAP_NONE ? *base : latest(context, base->site);
        bool is_known = base->site == access->site || base->site == PSNAP_NONE;
        for (uint32_t i = 0; i < collector->count; i++)
            is_known |= collector->rules[i].bases[0] == base->site;
        for (int is_of_bases = 0; is_of_bases < 2 && !is_known; is_of_bases++) {
            struct depend_rule *rule = find_room(collector);
            if (!rule)
                return;
            *rule = (struct depend_rule){
                .bases = {base->site}, .base_count = 1, .is_of_bases = is_of_bases != 0};
            rule->offsets[rule->offset_count++] =
                (struct depend_offset){(int64_t)(access->address - its.address), 0};
            try_rule(rule, access, recent, latest, context);
        }
    }
}

bool depend_holds(const struct depend_rule *rule)
{
    /* Bases and offsets are learnt from the first trials, which are hits by that. */
    return rule->trials >= TRIALS * (uint64_t)(rule->base_count + rule->offset_count - 1) &&
           rule->hits * 100 >= rule->trials * HOLDS;
}

int depend_compare(const struct depend_rule *a, const struct depend_rule *b)
{
    const uint32_t p = a->base_count + a->offset_count, q = b->base_count + b->offset_count;
    const double near = (double)a->distance * (double)b->hits;
    const double far = (double)b->distance * (double)a->hits;

    if (p != q)
        return p < q ? -1 : 1;
    return near < far ? -1 : near > far;
}
