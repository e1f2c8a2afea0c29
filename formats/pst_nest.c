/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whole iterations of a nest's loops, at once, as far as they make tokens in the same places as
 * those before: the chunk is the same, byte for byte, as if their accesses were put.
 *
 * The log has the tokens of a nest, each with what was predicted in its place. All addresses are
 * affine in a loop's counter. So is what lanes predict, and what their tokens say, if two
 * iterations in a row have tokens in the same places, and predictions that tokens change have
 * changed by the same in both. What is predicted in both is then predicted in all that follow, and
 * a token comes again until what it says would be what is predicted, or another base wins. The
 * tokens themselves are taken one by one, as pst_encode.c takes them.
 */
#include <stdlib.h>

#include "formats/pst_encode.h"

/* What words and their changes are at most, to be gone on with. */
#define FAR (INT64_C(1) << 61)

/* Tokens that are written instead of one that is folded, at most. */
#define FOLDED_MAX (PSNAP_PST_LEVELS + 1)

/* Whether the track has events from number `from` on, up to number `index`, of which the last one
 * is said to be `last`. */
static bool has_event(const struct psnap_pst_log *log, uint32_t track, uint32_t last, uint32_t from,
                      uint32_t index)
{
    return last >= from && last < index && log->events[last].track == track;
}

/* A run of the loop has gone `times` further, to these iterations. Events from number `from` on
 * began the runs of their tracks. Returns the lane of its last access; `index` is that before. */
static uint32_t move_run(struct psnap_pst_encoder *encoder, const struct psnap_nest *nest,
                         const struct psnap_nest_loop *loop, const uint64_t *iteration,
                         uint32_t depth, uint64_t times, uint32_t from, uint32_t index)
{
    const struct psnap_pst_log *log = &encoder->log;

    for (size_t a = loop->begin; a < (size_t)loop->begin + loop->width; a++) {
        const uint64_t key = psnap_pst_key(&nest->first[a]);
        struct psnap_pst_write_lane *lane;
        const uint32_t *logged;

        index = encoder->lanes[index].next;
        if (encoder->lanes[index].key != key)
            index = (uint32_t)psnap_map_get(&encoder->numbers, key) - 1;
        lane = &encoder->lanes[index];
        logged = encoder->tracks[index].logged;
        lane->last = nest->first[a].address;
        for (uint32_t l = 0; l <= depth; l++)
            lane->last += iteration[l] * (uint64_t)nest->strides[a * nest->levels + l];
        if (!has_event(log, 2 * index, logged[0], from, log->count))
            lane->next_run += (uint32_t)times;
        if (!has_event(log, 2 * index + 1, logged[1], from, log->count))
            lane->run += (uint32_t)times;
        encoder->address = lane->last;
    }
    return index;
}

/*
 * Accesses of an iteration of the open loop at `depth`, all of whose iterations have as many; 0:
 * they have not. For n > 0 all lanes go on by n iterations, but for what events from number `from`
 * on change.
 */
static uint64_t go_on(struct psnap_pst_encoder *encoder, const struct psnap_nest_walk *walk,
                      uint32_t depth, uint64_t n, uint32_t from)
{
    const struct psnap_nest *nest = walk->nest;
    const uint32_t end = walk->open[depth] + nest->loops[walk->open[depth]].inside;
    uint64_t iteration[PSNAP_NEST_LEVELS], times[PSNAP_NEST_LEVELS], accesses = 0;
    uint32_t ends[PSNAP_NEST_LEVELS], d = depth + 1, lane = encoder->previous;

    memcpy(iteration, walk->iteration, sizeof iteration);
    iteration[depth] += n;
    times[depth] = 1;
    ends[depth] = end;
    for (uint32_t i = walk->open[depth] + 1; i <= end; i++) {
        const struct psnap_nest_loop *loop = &nest->loops[i];
        uint64_t count = (uint64_t)loop->count;

        while (i > ends[d - 1])
            d--;
        for (uint32_t l = 0; l < d; l++) {
            if (l >= depth && loop->count_steps[l])
                return 0;
            count += iteration[l] * (uint64_t)loop->count_steps[l];
        }
        ends[d] = i + loop->inside;
        if ((int64_t)count <= 0) {
            i = ends[d];
            continue;
        }
        iteration[d] = count - 1;
        times[d] = times[d - 1] * count;
        if (loop->inside) {
            d++;
            continue;
        }
        accesses += times[d] * loop->width;
        if (n)
            lane = move_run(encoder, nest, loop, iteration, d, n * times[d], from, lane);
    }
    return accesses;
}

/* How often a difference that was a and then b, not 0, may go on so until it is 0. */
static uint64_t steady(uint64_t a, uint64_t b)
{
    const int64_t at = (int64_t)b, step = (int64_t)(b - a);

    if (step == 0)
        return UINT64_MAX;
    if (at > FAR || at < -FAR || step > FAR || step < -FAR)
        return 0;
    if ((at > 0) == (step > 0))
        return (uint64_t)(FAR / (step > 0 ? step : -step));
    return (uint64_t)(at > 0 ? (at - 1) / -step : (-at - 1) / step);
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* How often an event that was a and then b, an iteration of so many accesses later, may go on so.
 */
static uint64_t steady_event(const struct psnap_pst_event *a, const struct psnap_pst_event *b,
                             uint64_t accesses)
{
    if (a->track != b->track || b->at - a->at != accesses || a->follows != b->follows ||
        !a->run != !b->run || (!(a->track & 1) && a->value != b->value))
        return 0;
    return steady(a->value - a->predicted, b->value - b->predicted);
}

/* Whether what the event's lane predicts has changed by the same since b as from a to b. */
static bool is_straight(const struct psnap_pst_encoder *encoder, const struct psnap_pst_event *a,
                        const struct psnap_pst_event *b)
{
    const struct psnap_pst_write_lane *lane = &encoder->lanes[b->track >> 1];

    if (!(b->track & 1))
        return lane->next == b->predicted && a->predicted == b->predicted;
    return lane->follows == b->follows && lane->step - b->predicted == b->predicted - a->predicted;
}

/* How many further iterations are like the last two, whose events begin at a and b. */
static uint64_t steady_iterations(struct psnap_pst_encoder *encoder, uint32_t a, uint32_t b,
                                  uint64_t accesses)
{
    struct psnap_pst_event *events = encoder->log.events;
    const uint32_t end = encoder->log.count;
    uint64_t n = end - b == b - a ? UINT64_MAX : 0;

    for (uint32_t i = b; n && i < end; i++, a++) {
        struct psnap_pst_event *event = &events[i];

        n = least(n, steady_event(&events[a], event, accesses));
        event->is_first = !has_event(&encoder->log, event->track, event->earlier, b, i);
        if (event->is_first ? !is_straight(encoder, &events[a], event)
                            : events[event->earlier].follows != event->follows)
            n = 0;
    }
    return n;
}

/* Whether by the events that come k iterations after those that begin at b, in line with those from
 * a on, neither the chunk gets full nor another base wins. */
static bool may_come(const struct psnap_pst_encoder *encoder, uint32_t a, uint32_t b, uint64_t k)
{
    struct psnap_pst_event *events = encoder->log.events;
    const uint32_t end = b + (b - a);

    if (encoder->folder.tokens + (b - a) * FOLDED_MAX >= encoder->token_limit)
        return false;
    for (uint32_t i = b; i < end; i++, a++) {
        struct psnap_pst_event *event = &events[i];
        const struct psnap_pst_write_lane *lane = &encoder->lanes[event->track >> 1];
        uint64_t other = lane->other;
        uint32_t score = lane->score;

        if (!(event->track & 1))
            continue;
        if (!event->is_first) {
            other = events[event->earlier].other_then;
            score = events[event->earlier].score_then;
        }
        event->other_then = event->other + k * (event->other - events[a].other);
        event->score_then = event->other_then == other ? score + 1 : 0;
        if (event->score_then == (lane->follows ? PSNAP_PST_OTHER_WINS : lane->wins))
            return false;
    }
    return true;
}

/* Takes the event that comes k iterations after b, in line with a and b. */
static bool take_event(struct psnap_pst_encoder *encoder, const struct psnap_pst_event *a,
                       const struct psnap_pst_event *b, uint64_t k, bool is_logged)
{
    struct psnap_pst_event event = *b;

    event.at += (uint32_t)k * (b->at - a->at);
    event.value += k * (b->value - a->value);
    event.address += k * (b->address - a->address);
    event.other = b->other_then;
    event.predicted += k * (b->predicted - a->predicted);
    if (is_logged)
        psnap_pst_log_add(encoder, &event);
    return psnap_pst_take_event(encoder, &event);
}

/* Takes the events of up to n iterations like those that begin at a and b; *n gets of how many.
 * False: out of memory. */
static bool take_events(struct psnap_pst_encoder *encoder, uint32_t a, uint32_t b, uint64_t *n,
                        bool is_logged)
{
    const struct psnap_pst_event *events = encoder->log.events;
    const uint32_t end = b + (b - a);
    uint64_t k = 1;

    for (; k <= *n && may_come(encoder, a, b, k); k++)
        for (uint32_t i = b; i < end; i++)
            if (!take_event(encoder, &events[i - b + a], &events[i], k, is_logged))
                return false;
    *n = k - 1;
    return true;
}

void psnap_pst_encoder_log(struct psnap_pst_encoder *encoder, bool is_on)
{
    struct psnap_pst_log *log = &encoder->log;

    if (!is_on && !log->is_on)
        return;
    if (is_on && !log->events)
        log->events = malloc(PSNAP_PST_LOG_EVENTS * sizeof *log->events);
    log->is_on = is_on && log->events;
    psnap_pst_log_clear(log);
}

bool psnap_pst_encoder_forward(struct psnap_pst_encoder *encoder, struct psnap_nest_walk *walk,
                               uint32_t depth, uint64_t limit)
{
    struct psnap_pst_log *log = &encoder->log;
    struct psnap_pst_mark *marks = log->marks[depth];
    const struct psnap_pst_mark first = marks[0], second = marks[1],
                                now = {encoder->accesses, log->count};
    const uint32_t accesses = now.accesses - second.accesses;
    uint64_t n = walk->count[depth] - walk->iteration[depth] - 1;
    bool is_logged;

    marks[0] = second;
    marks[1] = now;
    if (!log->is_on || n == 0 || accesses == 0 || walk->iteration[depth] < 2 ||
        first.accesses < accesses || second.accesses - first.accesses != accesses ||
        go_on(encoder, walk, depth, 0, 0) != accesses)
        return true;
    n = least(n, (limit - now.accesses) / accesses);
    n = least(n, steady_iterations(encoder, first.events, second.events, accesses));
    if (n == 0)
        return true;
    is_logged = depth > 0 && n * (now.events - second.events) < PSNAP_PST_LOG_EVENTS - now.events;
    if (!take_events(encoder, first.events, second.events, &n, is_logged))
        return false;
    if (n == 0)
        return true;
    go_on(encoder, walk, depth, n, second.events);
    encoder->accesses += (uint32_t)n * accesses;
    walk->iteration[depth] += n;
    if (!is_logged)
        psnap_pst_log_clear(log);
    marks[0] = (struct psnap_pst_mark){0, 0};
    marks[1] = (struct psnap_pst_mark){encoder->accesses, log->count};
    return true;
}
