/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lives of threads (lives.h). How long turns are, and when a thread is let run, differs from run to
 * run: what is kept of both is rounded so that it mostly does not.
 */
#include "profile/collect/lives.h"

enum {
    TURNS_MIN = 8, /* threads of fewer may differ from run to run in whether they were together */
    NEAR = 64      /* accesses between the begins of threads that are made together */
};

/* Its accesses so far, without those of a loop that it has just entered: where it makes threads in
 * a loop, how many are made before the first one begins differs from run to run. */
static uint64_t place_of(const struct life *thread)
{
    return thread->accesses - thread->entered < NEAR ? thread->entered : thread->accesses;
}

static uint32_t loop_of(const struct psnap_program *program, const struct psnap_access *access)
{
    return access->ref < program->ref_count ? program->refs[access->ref].loop : PSNAP_NONE;
}

/* The last of its accesses so far. */
static void note_loop(struct life *thread, const struct psnap_program *program,
                      const struct psnap_access *block, size_t n)
{
    const uint32_t loop = loop_of(program, &block[n - 1]);
    size_t i = n;

    while (i && n - i < NEAR && loop_of(program, &block[i - 1]) == loop)
        i--;
    if (i || thread->loop != loop)
        thread->entered = thread->accesses - n + i;
    thread->loop = loop;
}

/* The nearest power of two. */
static uint32_t turn_bin(uint64_t length)
{
    const uint32_t bin = 63 - (uint32_t)__builtin_clzll(length | 1);
    const uint32_t nearest = bin && length >> (bin - 1) & 1 ? bin + 1 : bin;

    return nearest < LIVES_TURN_BINS ? nearest : LIVES_TURN_BINS - 1;
}

static void end_turn(struct life *thread)
{
    const uint64_t length = thread->accesses - thread->before_turn;

    thread->lengths[turn_bin(length)] += length;
    thread->before_turn = thread->accesses;
}

/* It is another thread's turn. */
static void take_turn(struct lives *lives, struct life *thread)
{
    const uint64_t bit = UINT64_C(1) << (thread - lives->of);

    if (thread >= lives->of + lives->used)
        lives->used = (uint32_t)(thread - lives->of) + 1;
    for (struct life *other = lives->of; other < lives->of + lives->used; other++)
        other->since |= other->turns ? bit : 0;
    if (lives->latest)
        end_turn(lives->latest);
    thread->last = lives->turns++;
    if (!thread->turns) {
        thread->first = thread->last;
        thread->begin = place_of(lives->of);
        thread->main = lives->of->accesses;
    }
    thread->inside |= thread->since;
    thread->since = 0;
    thread->turns++;
    lives->latest = thread;
}

/* The life of a thread that makes so many accesses now. */
static struct life *go_on(struct lives *lives, uint16_t number, uint64_t accesses)
{
    struct life *thread = &lives->of[number % LIVES];

    if (thread != lives->latest)
        take_turn(lives, thread);
    if (thread->turns == 1 && !thread->accesses)
        thread->number = number;
    thread->accesses += accesses;
    return thread;
}

void lives_put(struct lives *lives, const struct psnap_program *program,
               const struct psnap_access *block, size_t n)
{
    note_loop(go_on(lives, block->thread, n), program, block, n);
}

void lives_put_nest(struct lives *lives, const struct psnap_nest *nest)
{
    struct life *thread = go_on(lives, nest->first->thread, psnap_nest_accesses(nest));

    thread->loop = PSNAP_NONE;
    thread->entered = thread->accesses;
}

/* The threads that were there together with thread i, with others in between: a bit each. */
static uint64_t together(const struct lives *lives, uint32_t i)
{
    uint64_t all = UINT64_C(1) << i, before = 0;

    while (all != before) {
        before = all;
        for (uint32_t k = 0; k < LIVES; k++)
            for (uint32_t other = 0; before >> k & 1 && other < LIVES; other++)
                if (lives->of[k].inside >> other & lives->of[other].inside >> k & 1 &&
                    lives->of[k].turns >= TURNS_MIN && lives->of[other].turns >= TURNS_MIN)
                    all |= UINT64_C(1) << other;
    }
    return all;
}

/* Where thread i begins in thread 0, if that one has not ended: with the threads shortly before it
 * that are still there, since they may be let run in another order. */
static void keep_begin(const struct lives *lives, uint32_t i, uint64_t all,
                       struct model_order *order)
{
    const struct life *main = lives->of, *thread = &lives->of[i];
    uint64_t at = thread->begin;

    if (!order->thread || !main->turns || main->number || thread->main == main->accesses)
        return;
    for (uint32_t k = i; --k > 0;) {
        const struct life *other = &lives->of[k];
        if (other->turns && (other->last > thread->first || all >> k & 1) &&
            at - other->begin < NEAR)
            at = other->begin;
    }
    order->after = at;
}

/* With whom thread i was there together, and the turns that had most of their accesses. */
void lives_keep(const struct lives *lives, uint32_t i, struct model_order *order)
{
    const uint64_t all = together(lives, i);
    uint64_t most = 0;

    for (uint32_t k = 0; k < LIVES; k++)
        if (all >> k & 1 && lives->of[k].number < order->with)
            order->with = lives->of[k].number;
    for (uint32_t bin = 0; all & (all - 1) && bin < LIVES_TURN_BINS; bin++) {
        uint64_t accesses = 0;
        for (uint32_t k = 0; k < LIVES; k++)
            accesses += all >> k & 1 ? lives->of[k].lengths[bin] : 0;
        if (accesses > most) {
            most = accesses;
            order->turn = UINT32_C(1) << bin;
        }
    }
    keep_begin(lives, i, all, order);
}
