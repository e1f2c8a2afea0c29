/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The addresses of a thread's references: to the series that each of them may be, and to the sample
 * of cache lines that tells reuse times. A reference is irregular until its series is a nest for
 * sure, and when it turns out to be none after all; what irregular references touch is counted. The
 * other references only say when the lines were touched, which takes a hash for each line.
 *
 * A lane may do without all that as long as no reference is known to need it (lane.h).
 *
 * The same becomes of a run as of its accesses one by one, with one exception: where all references
 * of a body are regular, and many of their reuse times have been noted, a run notes the accesses to
 * a line at once.
 */

#include "profile/collect/lane.h"

enum {
    LOOKS = 3, /* of each 8 executions that are looked at for dependence the next is one further */
    /* When LANE_NOTES accesses of a reference have been noted, only one in 2^FEWER of its accesses
     * that come back to a line sooner than bin SOON is noted, and stands for all: most do, and
     * their histogram is known to a few thousandths by then. Those that are rare and miss caches
     * are counted as before, unless the reference is regular as far as is known. */
    SOON = REUSE_EXACT + 5,
    FEWER = 3
};

static struct depend_access latest_of(const void *context, uint32_t site)
{
    const struct lane_site *of = &((const struct lane *)context)->sites[site];

    return (struct depend_access){site, of->latest, of->latest_time};
}

bool lane_note_reuse(struct lane *lane, uint32_t site, uint64_t address, uint64_t time,
                     uint64_t index)
{
    struct lane_history *of = &lane->histories[site];
    const uint64_t line = address >> SAMPLE_LINE_BITS;
    const uint8_t byte = address % REUSE_LINE;
    struct sample_line *slot = sample_find(&lane->sample, line);
    uint64_t weight;
    uint32_t bin = REUSE_FIRST;
    unsigned last = 0;

    if (slot->line == line) {
        bin = reuse_bin(time > slot->time ? time - slot->time - 1 : 0);
        last = slot->byte;
        if (time >= slot->time) {
            slot->time = time;
            slot->byte = byte;
        }
    } else if (!sample_add(&lane->sample, &(struct sample_line){line, time, byte}) ||
               (lane->sample.weight == 1 && !reuse_note_first(&of->reuse, line))) {
        return false;
    }
    weight = lane->sample.weight;
    if (of->notes >= LANE_NOTES && (bin < SOON || !lane->sites[site].is_irregular)) {
        if (sample_hash(index) >> (64 - FEWER))
            return true;
        weight <<= FEWER;
    }
    of->notes++;
    return reuse_note(&of->reuse, address, index, bin, last, weight);
}

bool lane_note_dependence(struct lane *lane, uint32_t site, uint64_t address, uint64_t time)
{
    const struct depend_access access = {site, address, time};
    struct lane_history *of = &lane->histories[site];
    const uint64_t gap = 4 + (of->looks++ >> LOOKS);

    of->next_look = lane->sites[site].length + (sample_hash(of->looks) >> 32) % (2 * gap);

    if (!of->depend && !(of->depend = calloc(1, sizeof *of->depend)))
        return false;
    depend_note(of->depend, &access, &lane->recent, latest_of, lane);
    return true;
}

/* The next access that something is due at: it is looked at for dependence, or the last before the
 * reference is looked at again, which one that is irregular for good is not. */
static void set_due(const struct lane *lane, struct lane_site *site,
                    const struct lane_history *history)
{
    const bool is_settled = site->is_irregular && !site->is_series;

    site->due = is_settled ? UINT64_MAX : site->length + lane_until_look(site) - 1;
    if (lane->has_reuse && site->is_irregular && history->next_look < site->due)
        site->due = history->next_look;
}

/* Looks at a site for dependence, or whether it is irregular, at its access number `index`, which
 * has been counted. */
static bool do_due(struct lane *lane, uint32_t site, uint64_t address, uint64_t time,
                   uint64_t index)
{
    struct lane_site *of = &lane->sites[site];
    struct lane_history *history = &lane->histories[site];
    const uint64_t period = of->is_irregular ? LANE_LOOK_IRREGULAR : LANE_LOOK_PLAIN;

    if (lane->has_reuse && of->is_irregular && index >= history->next_look &&
        !lane_note_dependence(lane, site, address, time))
        return false;
    if (of->length % period == 0)
        lane_look(lane, of, history);
    set_due(lane, of, history);
    return true;
}

/* An access, number `index` of its site, that more is to be done about than to keep it. */
static bool note(struct lane *lane, uint32_t site, uint64_t address, uint64_t time, uint64_t index)
{
    const struct lane_site *of = &lane->sites[site];

    if (of->is_series && !series_put(&lane->histories[site].addresses, address, 0, 1))
        return false;
    if (lane->has_reuse && sample_has(&lane->sample, address >> SAMPLE_LINE_BITS) &&
        !lane_note_reuse(lane, site, address, time, index))
        return false;
    return index < of->due || do_due(lane, site, address, time, index);
}

/* Accesses while there is a log. */
static bool log_touch(struct lane *lane, const uint32_t *sites, uint32_t width,
                      const uint64_t *addresses)
{
    for (uint32_t k = 0; k < width; k++) {
        struct lane_site *of = &lane->sites[sites[k]];
        if (!lane->log) /* any more */
            return lane_touch(lane, sites + k, width - k, addresses + k, lane->now + k);
        of->latest = addresses[k];
        if (!lane_log_put(lane, sites[k], addresses[k], 0, 1) ||
            (of->sweep != PSNAP_NONE && !sweep_put(lane, sites[k], addresses[k])))
            return false;
    }
    return true;
}

bool lane_touch(struct lane *lane, const uint32_t *sites, uint32_t width, const uint64_t *addresses,
                uint64_t time)
{
    if (lane->log)
        return log_touch(lane, sites, width, addresses);
    for (uint32_t k = 0; k < width; k++) {
        struct lane_site *of = &lane->sites[sites[k]];
        const uint64_t address = addresses[k], index = of->length++;
        const bool is_irregular = of->is_irregular;
        if ((of->is_series || index >= of->due ||
             (lane->has_reuse && sample_has(&lane->sample, address >> SAMPLE_LINE_BITS))) &&
            !note(lane, sites[k], address, time + k, index))
            return false;
        if (of->sweep != PSNAP_NONE && !sweep_put(lane, sites[k], address))
            return false;
        of->latest = address;
        if (is_irregular && lane->has_reuse) {
            of->latest_time = time + k;
            depend_recent_add(&lane->recent, sites[k], address, time + k);
        }
    }
    return true;
}

/* ---- runs ---- */

/* Accesses of a run: nothing is done about most of them but to count them. The others are events,
 * which come in the order of the stream: accesses to lines of the sample, and those at which a
 * reference is looked at for dependence. */
struct touching {
    struct lane *lane;
    const struct lane_run *run;
    uint64_t time;    /* of the run's first access */
    bool is_regular;  /* all references are, and go on by strides, once in a repetition */
    uint32_t sites;   /* accesses of an iteration */
    uint32_t count;   /* of columns of irregular ones, */
    uint64_t entered; /* and of their accesses, which are known to others by now */
    uint64_t soonest; /* repetition of the next event, of the columns so far */
    uint32_t irregular[LANE_WIDTH_MAX]; /* those columns */
    uint64_t next[LANE_WIDTH_MAX];      /* by column: repetition of the next event */
    uint64_t look[LANE_WIDTH_MAX];  /* repetition that is looked at for dependence, or `count` */
    uint64_t begin[LANE_WIDTH_MAX]; /* by site: accesses before the run */
    struct visit visits[LANE_WIDTH_MAX];
};

/* Finds the next access of column k's site that is looked at for dependence, which is in one of the
 * site's columns. */
static void find_look(struct touching *t, uint32_t k)
{
    const uint32_t turns = t->run->turns, first = turns == 1 ? k : k % t->sites;
    const uint64_t look = t->lane->histories[t->run->sites[k]].next_look;
    const uint64_t from = look > t->begin[first] ? look - t->begin[first] : 0;
    const uint64_t i = turns == 1 ? from : from / turns;

    for (uint32_t turn = 0, at = first; turn < turns; turn++, at += t->sites) {
        const bool is_of_turn = from - i * turns == turn && i < t->run->count;
        t->look[at] = is_of_turn ? i : t->run->count;
        t->next[at] = t->visits[at].next < t->look[at] ? t->visits[at].next : t->look[at];
        if (at < k && t->next[at] < t->soonest)
            t->soonest = t->next[at];
    }
}

/* The number of column k's access in repetition i, among those of its site. */
static uint64_t index_of(const struct touching *t, uint32_t k, uint64_t i)
{
    return t->run->turns == 1 ? t->begin[k] + i
                              : t->begin[k % t->sites] + i * t->run->turns + k / t->sites;
}

static void enter_latest(struct touching *t, uint32_t k, uint64_t i)
{
    struct lane_site *of = &t->lane->sites[t->run->sites[k]];

    of->latest = run_column_address(&t->run->columns[k], i);
    if (of->is_irregular)
        of->latest_time = t->time + i * t->run->width + k;
}

/* Column k of repetition i is next: makes known what irregular references accessed before. */
static void enter_before(struct touching *t, uint64_t i, uint32_t k)
{
    struct depend_recent *recent = &t->lane->recent;
    uint64_t until = i * t->count;

    for (uint32_t at = k; at < t->run->width && i; at++)
        enter_latest(t, at, i - 1);
    for (uint32_t at = 0; at < k; at++)
        enter_latest(t, at, i);
    for (uint32_t n = 0; n < t->count && t->irregular[n] < k; n++)
        until++;
    if (until - t->entered > DEPEND_RECENT) {
        recent->at = (recent->at + (until - t->entered)) % DEPEND_RECENT;
        t->entered = until - DEPEND_RECENT;
    }
    for (; t->entered < until; t->entered++) {
        const uint32_t at = t->irregular[t->entered % t->count];
        const uint64_t of = t->entered / t->count;
        depend_recent_add(recent, t->run->sites[at], run_column_address(&t->run->columns[at], of),
                          t->time + of * t->run->width + at);
    }
}

/* All accesses of a visit behind its first one, as if no other reference came to the line. */
static bool note_rest(struct touching *t, uint32_t k, uint64_t i, uint64_t more)
{
    const struct run_column *column = &t->run->columns[k];
    const uint64_t every = t->run->width, time = t->time + i * every + k;
    const uint64_t address = run_column_address(column, i);
    struct sample *sample = &t->lane->sample;
    struct sample_line *slot = sample_find(sample, address >> SAMPLE_LINE_BITS);

    if (!more || slot->line != address >> SAMPLE_LINE_BITS)
        return true;
    if (time + more * every > slot->time) {
        slot->time = time + more * every;
        slot->byte = (address + more * column->stride) % REUSE_LINE;
    }
    return reuse_note(&t->lane->histories[t->run->sites[k]].reuse, address + column->stride,
                      index_of(t, k, i + more), reuse_bin(every - 1), address % REUSE_LINE,
                      more * sample->weight);
}

/* Repetition i of column k accesses a line that was of the sample when the visit began. In runs of
 * regular references, once there are many notes, the rest of the visit counts at once. */
static bool note_visit(struct touching *t, uint32_t k, uint64_t i)
{
    struct visit *visit = &t->visits[k];
    const uint32_t site = t->run->sites[k];
    const uint64_t address = run_column_address(&t->run->columns[k], i);
    const bool is_whole = t->is_regular && t->lane->histories[site].notes >= LANE_NOTES;

    if (!sample_has(&t->lane->sample, address >> SAMPLE_LINE_BITS)) {
        visit->next = visit->end;
    } else {
        if (!lane_note_reuse(t->lane, site, address, t->time + i * t->run->width + k,
                             index_of(t, k, i)) ||
            (is_whole && !note_rest(t, k, i, visit->end - i - 1)))
            return false;
        visit->next = is_whole ? visit->end : i + 1;
    }
    if (visit->next == visit->end)
        visit_find(visit, &t->run->columns[k], &t->lane->sample, t->run->count);
    return true;
}

static bool touch_event(struct touching *t, uint32_t k, uint64_t i)
{
    const uint32_t site = t->run->sites[k];

    if (t->visits[k].next == i && !note_visit(t, k, i))
        return false;
    if (t->look[k] == i) {
        enter_before(t, i, k);
        t->lane->sites[site].length = index_of(t, k, i) + 1;
        if (!lane_note_dependence(t->lane, site, run_column_address(&t->run->columns[k], i),
                                  t->time + i * t->run->width + k))
            return false;
        find_look(t, k);
    }
    t->next[k] = t->visits[k].next < t->look[k] ? t->visits[k].next : t->look[k];
    return true;
}

static void begin_run(struct touching *t)
{
    const struct lane_run *run = t->run;

    for (uint32_t k = 0; k < run->width; k++) {
        const struct lane_site *of = &t->lane->sites[run->sites[k]];
        visit_begin(&t->visits[k], &run->columns[k], &t->lane->sample, run->count);
        t->is_regular &= !of->is_irregular && !run->columns[k].words;
        t->look[k] = run->count;
        t->next[k] = t->visits[k].next;
        if (of->is_irregular)
            t->irregular[t->count++] = k;
    }
    for (uint32_t k = 0; k < t->sites; k++) {
        const struct lane_site *of = &t->lane->sites[run->sites[k]];
        if (of->is_irregular)
            find_look(t, k);
    }
}

/* The addresses of a site, which columns k, k + sites ... of a run have, go to the log or else to
 * its series. */
static bool put_series(struct lane *lane, const struct lane_run *run, uint32_t k, uint32_t sites,
                       bool is_logged)
{
    const struct run_column *column = &run->columns[k];
    const uint32_t site = run->sites[k];
    const uint64_t stride = run->turns == 1 ? column->stride : column[sites].first - column->first;
    struct series *series = &lane->histories[site].addresses;
    struct series_run runs[LANE_WIDTH_MAX];
    bool has_words = false, is_even = true, is_one = stride * run->turns == column->stride;

    for (uint32_t n = 0; n < run->turns; n++, column += sites) {
        runs[n] = (struct series_run){column->first, 0, 1};
        has_words |= column->words != NULL;
        is_even &= column->stride == run->columns[k].stride;
        is_one &= column->first == runs[0].first + n * stride;
    }
    column = &run->columns[k];
    if (!has_words && is_even && is_one)
        return is_logged ? lane_log_put(lane, site, column->first, stride, run->count * run->turns)
                         : series_put(series, column->first, stride, run->count * run->turns);
    if (!has_words && is_even)
        return is_logged
                   ? lane_log_put_repeated(lane, site, runs, run->turns, column->stride, run->count)
                   : series_put_repeated(series, runs, run->turns, column->stride, run->count);
    for (uint64_t i = 0; i < run->count; i++)
        for (uint32_t at = k; at < run->width; at += sites) {
            const uint64_t address = run_column_address(&run->columns[at], i);
            if (is_logged ? !lane_log_put(lane, site, address, 0, 1)
                          : !series_put(series, address, 0, 1))
                return false;
        }
    return true;
}

static uint32_t sites_of(const struct lane_run *run)
{
    return run->turns == 1 ? run->width : run->width / run->turns;
}

/* A run while there is a log. */
static bool log_run(struct lane *lane, const struct lane_run *run)
{
    const uint32_t sites = sites_of(run);

    for (uint32_t k = 0; k < sites; k++) {
        if (!put_series(lane, run, k, sites, true))
            return false;
        lane->sites[run->sites[k]].latest =
            run_column_address(&run->columns[run->width - sites + k], run->count - 1);
    }
    return true;
}

/* Goes through the events of a run in their order. */
static bool touch_events(struct touching *t)
{
    const struct lane_run *run = t->run;

    begin_run(t);
    for (uint64_t i = 0; i < run->count; i = t->soonest) {
        t->soonest = run->count;
        for (uint32_t k = 0; k < run->width; k++) {
            if (t->next[k] == i && !touch_event(t, k, i))
                return false;
            t->soonest = t->next[k] < t->soonest ? t->next[k] : t->soonest;
        }
    }
    enter_before(t, run->count, 0);
    return true;
}

bool lane_touch_run(struct lane *lane, const struct lane_run *run, uint64_t time)
{
    struct touching t;

    if (lane->log)
        return log_run(lane, run);
    t.lane = lane;
    t.run = run;
    t.time = time;
    t.count = 0;
    t.entered = 0;
    t.is_regular = run->turns == 1;
    t.sites = sites_of(run);
    for (uint32_t k = 0; k < t.sites; k++)
        t.begin[k] = lane->sites[run->sites[k]].length;
    if (lane->has_reuse && !touch_events(&t))
        return false;
    for (uint32_t k = 0; k < t.sites; k++) {
        struct lane_site *of = &lane->sites[run->sites[k]];
        struct lane_history *history = &lane->histories[run->sites[k]];
        const uint64_t period = of->is_irregular ? LANE_LOOK_IRREGULAR : LANE_LOOK_PLAIN;
        if (of->is_series && !put_series(lane, run, k, t.sites, false))
            return false;
        of->length = t.begin[k] + run->count * run->turns;
        if (of->length % period == 0)
            lane_look(lane, of, history);
        set_due(lane, of, history);
    }
    return true;
}
