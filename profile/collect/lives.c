/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lives of threads (lives.h). The lengths of turns and the moments at which threads begin to run
 * differ from run to run: both are rounded, so that the profiles of two runs mostly agree.
 */
#include "profile/collect/lives.h"

enum {
    TURNS_MIN = 8, /* threads of fewer may differ from run to run in whether they were together */
    NEAR = 64      /* accesses between the begins of threads that are made together */
};

/* Returns the number of a thread's accesses, without those of a loop that the thread has just
 * entered: of threads made in a loop, the first may begin when more of them were made or fewer. */
static uint64_t place_of(const struct life *thread)
{
    return thread->accesses - thread->entered < NEAR ? thread->entered : thread->accesses;
}

static uint32_t loop_of(const struct psnap_program *program, const struct psnap_access *access)
{
    return access->ref < program->ref_count ? program->refs[access->ref].loop : PSNAP_NONE;
}

/* Notes where the loop of a thread's latest access was entered. */
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

/* Returns the logarithm of the power of two that is nearest to a length in accesses. */
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

/* Gives the turn to another thread. */
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

/* Counts the next accesses of a thread, whose turn it is then, and returns its life. */
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

/* Returns the threads that had turns between turns of thread i, or of another such thread: a bit
 * each. */
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

/* Keeps where thread i begins in the stream of thread 0, unless that has ended: at the place of the
 * threads that began less than NEAR accesses before and have not ended, as the system may let them
 * run in another order. */
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
