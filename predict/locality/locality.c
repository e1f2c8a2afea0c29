/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Locality of a stream: LOCALITY.md has the definitions. Every access is looked
 * at three times, each for itself in its thread: what lies around it
 * (neighbours.c, the surface), how many words were touched since its own was
 * (recency.c, the temporal score), and which of the last 32 words is nearest (the
 * spatial one). What is found is the loop's that the access belongs to.
 *
 * A loop's counts of the surface are 16 bits wide, and in units as large as the
 * alignment of all addresses so far allows. They are added to full ones before
 * they could overflow, after 65535 accesses, and when units become smaller. So
 * a loop takes 20 KB, and 70 KB more when it has many accesses.
 *
 * A sample has windows (LOCALITY.md): accesses count in these alone, and before them only what they
 * will find is kept. Words touched since are estimated beyond the last 32 accesses. How long ago
 * its address was accessed is known of each access that counts. How many words that means is told
 * by all accesses to some words, drawn by a hash, and the others of these words (SHARDS;
 * Waldspurger and others, FAST 2015), for each class of times by itself: where times say much,
 * which words are drawn matters little.
 */
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/rng.h"
#include "predict/locality/neighbours.h"
#include "predict/predict.h"
#include "predict/locality/recency.h"

static_assert(1 << (PSNAP_LOCALITY_REUSES - 1) == PSNAP_LOCALITY_WORDS, "a class for each");
static_assert(1 << (PSNAP_SURFACE_DISTANCES - 1) == PSNAP_SURFACE_DISTANCE_MAX, "a class for each");

enum { FIRST_ROWS = 64, LANES = 8, EXACT_DIGITS = 53 };
enum { EXPECT = 16, EXPECT_SOON = 8 }; /* accesses ahead */
/* A window of a sample: with longer ones there are fewer, and shorter ones save little, as REACH
 * accesses are kept for each. It is a choice. */
enum { WINDOW = 4096, REACH = PSNAP_SURFACE_DISTANCE_MAX };
/* Classes of times, as those of distances in struct psnap_locality and one of longer ones. One word
 * in WORDS_EVERY is drawn: with fewer the far ones of small loops would be told by a few words. It
 * is a choice. */
enum { TIMES = PSNAP_SURFACE_DISTANCES + 1, WORDS_EVERY = 16 };

struct row {
    uint64_t accesses, all; /* that count, of so many */
    double nearness;
    uint64_t reused[PSNAP_LOCALITY_REUSES];
    uint64_t far[TIMES]; /* of a sample: accesses to words that the last ones are not to */
    uint64_t drawn[TIMES][PSNAP_LOCALITY_REUSES + 1]; /* the same of drawn words; the last: new */
    struct psnap_locality *full; /* counts of the surface until `recent` began; NULL: none */
    uint32_t recent_accesses;
    uint16_t recent[NEIGHBOURS_COUNTS];
};

struct thread {
    struct neighbours *neighbours;
    struct recency *recency;               /* of all words or the drawn ones */
    uint64_t words[PSNAP_LOCALITY_WINDOW]; /* of the last accesses, in turn */
    double places[PSNAP_LOCALITY_WINDOW];  /* the same; infinite: none */
    bool is_far;                           /* there was a word that is no exact place */
    uint64_t accesses;                     /* noted */
    uint64_t wait;                         /* of a sample: accesses until those that count, */
    uint64_t behind;                       /* behind these to the end of their period, */
    uint32_t open;                         /* and how many count then */
};

struct locality {
    struct psnap_sink base;
    const struct psnap_program *program;
    unsigned word_digits; /* 2^these bytes are a word */
    unsigned unit;        /* of `recent` and of all threads' neighbours */
    uint32_t every;       /* of a sample; 0: all accesses count */
    struct psnap_rng rng;
    struct row **rows; /* [0]: accesses of no loop; [1 + loop]; NULL: no accesses */
    uint32_t row_room;
    uint32_t thread_count;
    struct thread *threads[PSNAP_THREADS_MAX]; /* NULL: not seen */
};

/* --------------------------------------------------------------------- rows */

/* What is in `recent`, added to a surface. */
static void add_recent(const struct row *row, unsigned unit, struct psnap_locality *sum)
{
    const int span = PSNAP_SURFACE_STRIDE_MAX >> unit;

    for (int n = 0; n <= 2 * span; n++) /* n is counted upwards, strides lead to the later access */
        for (int k = 0; k < PSNAP_SURFACE_DISTANCES; k++)
            sum->surface[PSNAP_SURFACE_STRIDE_MAX + (span - n) * (1 << unit)][k] +=
                row->recent[(NEIGHBOURS_LEAD + n) * NEIGHBOURS_CLASSES + k];
}

static enum psnap_status settle(const struct locality *locality, struct row *row)
{
    if (!row->recent_accesses)
        return PSNAP_OK;
    if (!row->full)
        row->full = calloc(1, sizeof *row->full);
    if (!row->full)
        return PSNAP_ERROR_MEMORY;
    add_recent(row, locality->unit, row->full);
    memset(row->recent, 0, sizeof row->recent);
    row->recent_accesses = 0;
    return PSNAP_OK;
}

static struct row *row_of(struct locality *locality, uint32_t index)
{
    if (index >= locality->row_room) {
        const uint32_t twice = locality->row_room < UINT32_MAX / 2 ? 2 * locality->row_room : 0;
        const uint32_t room = index < twice ? twice : index + FIRST_ROWS;
        struct row **rows = realloc(locality->rows, room * sizeof *rows);

        if (!rows)
            return NULL;
        memset(rows + locality->row_room, 0, (room - locality->row_room) * sizeof *rows);
        locality->rows = rows;
        locality->row_room = room;
    }
    if (!locality->rows[index])
        locality->rows[index] = calloc(1, sizeof *locality->rows[index]);
    return locality->rows[index];
}

/* ------------------------------------------------------------------ threads */

static void free_thread(struct thread *thread)
{
    if (!thread)
        return;
    neighbours_free(thread->neighbours);
    recency_free(thread->recency);
    free(thread);
}

/* Where in the next period of a sample accesses count is drawn. */
static void next_window(struct locality *locality, struct thread *thread)
{
    const uint64_t others = (uint64_t)(locality->every - 1) * WINDOW;
    const uint64_t before = psnap_rng_below(&locality->rng, others + 1);

    thread->wait = thread->behind + before;
    thread->behind = others - before;
    thread->open = WINDOW;
}

static struct thread *thread_of(struct locality *locality, uint16_t number)
{
    struct thread *thread = locality->threads[number];

    if (thread)
        return thread;
    thread = calloc(1, sizeof *thread);
    if (!thread)
        return NULL;
    if (locality->every > 1)
        next_window(locality, thread);
    thread->neighbours = neighbours_new(PSNAP_SURFACE_DISTANCE_MAX, locality->unit);
    thread->recency = recency_new(PSNAP_LOCALITY_WORDS, locality->every > 1 ? WORDS_EVERY : 1);
    for (int i = 0; i < PSNAP_LOCALITY_WINDOW; i++)
        thread->places[i] = INFINITY;
    if (!thread->neighbours || !thread->recency) {
        free_thread(thread);
        return NULL;
    }
    locality->thread_count++;
    return locality->threads[number] = thread;
}

/* Smaller units, so that `address` is a multiple of them. */
static enum psnap_status refine(struct locality *locality, uint64_t address)
{
    const unsigned unit = (unsigned)__builtin_ctzll(address);
    enum psnap_status status = PSNAP_OK;

    for (uint32_t i = 0; i < locality->row_room && !status; i++)
        if (locality->rows[i])
            status = settle(locality, locality->rows[i]);
    for (uint32_t i = 0; i < PSNAP_THREADS_MAX && !status; i++)
        if (locality->threads[i])
            status = neighbours_refine(locality->threads[i]->neighbours, unit);
    locality->unit = unit;
    return status;
}

/* ----------------------------------------------------------------- an access */

/* The same in whole numbers, for words that floating point does not hold exactly. */
static double far_stride(const struct thread *thread, uint64_t word)
{
    const uint64_t n =
        thread->accesses < PSNAP_LOCALITY_WINDOW ? thread->accesses : PSNAP_LOCALITY_WINDOW;
    uint64_t nearest = UINT64_MAX;

    for (uint64_t i = 0; i < n; i++) {
        const uint64_t step = word - thread->words[i];
        const uint64_t stride = step >> 63 ? 0 - step : step;
        nearest = stride < nearest ? stride : nearest;
    }
    return n ? (double)nearest : INFINITY;
}

/* Words to the nearest of those of the last accesses; infinite: there were none. */
static double stride_to_nearest(const struct thread *thread, uint64_t word)
{
    const double at = (double)word;
    double nearest[LANES];

    if (thread->is_far)
        return far_stride(thread, word);
    for (int lane = 0; lane < LANES; lane++)
        nearest[lane] = INFINITY;
    for (int i = 0; i < PSNAP_LOCALITY_WINDOW; i += LANES)
        for (int lane = 0; lane < LANES; lane++) {
            const double stride = fabs(at - thread->places[i + lane]);
            nearest[lane] = stride < nearest[lane] ? stride : nearest[lane];
        }
    for (int lane = 1; lane < LANES; lane++)
        nearest[0] = nearest[lane] < nearest[0] ? nearest[lane] : nearest[0];
    return nearest[0];
}

static void note(struct thread *thread, uint64_t word)
{
    thread->is_far |= word >> EXACT_DIGITS != 0;
    thread->words[thread->accesses % PSNAP_LOCALITY_WINDOW] = word;
    thread->places[thread->accesses++ % PSNAP_LOCALITY_WINDOW] = (double)word;
}

/* The class of the words touched since a word was, one of the last accesses. */
static int near_reuse(const struct thread *thread, uint64_t word)
{
    uint64_t i = thread->accesses - 1;
    unsigned others = 0;

    for (; thread->words[i % PSNAP_LOCALITY_WINDOW] != word; i--) {
        uint64_t k = i + 1;
        while (k < thread->accesses &&
               thread->words[k % PSNAP_LOCALITY_WINDOW] != thread->words[i % PSNAP_LOCALITY_WINDOW])
            k++;
        others += k == thread->accesses;
    }
    return others ? 32 - __builtin_clz(others) : 0;
}

/* Of a sample: how many words were touched since that of an access was, or what tells it. */
static void take_reuse(struct row *row, const struct thread *thread, uint64_t word, double stride,
                       unsigned time, bool is_drawn)
{
    const int reuse = is_drawn ? recency_access(thread->recency, word) : RECENCY_NONE;

    if (stride == 0) {
        row->reused[near_reuse(thread, word)]++;
        return;
    }
    row->far[time]++;
    if (is_drawn)
        row->drawn[time][reuse == RECENCY_NONE ? PSNAP_LOCALITY_REUSES : reuse]++;
}

/* One that counts. */
static enum psnap_status take(const struct locality *locality, struct row *row,
                              struct thread *thread, uint64_t address, bool is_drawn)
{
    const uint64_t word = address >> locality->word_digits;
    unsigned time;
    double stride;

    thread->is_far |= word >> EXACT_DIGITS != 0;
    stride = stride_to_nearest(thread, word);
    if (row->recent_accesses == UINT16_MAX && settle(locality, row))
        return PSNAP_ERROR_MEMORY;
    if (neighbours_access(thread->neighbours, address, row->recent, &time))
        return PSNAP_ERROR_MEMORY;
    if (locality->every > 1) {
        take_reuse(row, thread, word, stride, time, is_drawn);
    } else {
        const int reuse = recency_access(thread->recency, word);
        if (reuse != RECENCY_NONE)
            row->reused[reuse]++;
    }
    note(thread, word);
    row->recent_accesses++;
    row->accesses++;
    if (stride > 0)
        row->nearness += 1 / stride;
    return PSNAP_OK;
}

/* The next access, of a row. */
static enum psnap_status access_one(struct locality *locality, struct thread *thread,
                                    uint64_t address, uint32_t index)
{
    const uint64_t word = address >> locality->word_digits, wait = thread->wait;
    const bool is_sample = locality->every > 1;
    const bool is_drawn = is_sample && psnap_rng_mix(word) / (UINT64_MAX / WORDS_EVERY + 1) == 0;
    struct row *row = row_of(locality, index);

    if (!row)
        return PSNAP_ERROR_MEMORY;
    if (!row->all++ && wait > REACH)
        thread->wait = REACH;
    if (wait)
        thread->wait--;
    else if (is_sample && !--thread->open)
        next_window(locality, thread);
    if (!wait)
        return take(locality, row, thread, address, is_drawn);
    if (is_drawn)
        recency_access(thread->recency, word);
    if (wait > REACH)
        return PSNAP_OK;
    note(thread, word);
    return neighbours_access(thread->neighbours, address, NULL, NULL);
}

/* Has what an access will need fetched into the cache. */
static void expect(const struct locality *locality, const struct psnap_access *access, bool soon)
{
    const struct thread *thread = locality->threads[access->thread];

    if (!thread || thread->wait > REACH)
        return;
    if (locality->every <= 1)
        recency_expect(thread->recency, access->address >> locality->word_digits, soon);
    neighbours_expect(thread->neighbours, access->address, soon);
}

static enum psnap_status put(struct psnap_sink *self, const struct psnap_access *block, size_t n,
                             struct psnap_error *error)
{
    struct locality *locality = (struct locality *)self;
    const struct psnap_program *program = locality->program;
    enum psnap_status status = PSNAP_OK;

    for (size_t i = 0; i < n && !status; i++) {
        const uint64_t address = block[i].address;
        struct thread *thread = thread_of(locality, block[i].thread);

        if (block[i].ref >= program->ref_count)
            return psnap_error_set(error, PSNAP_ERROR_VALUE,
                                   "an access of the stream makes no sense: reference %" PRIu32
                                   " of %" PRIu32,
                                   block[i].ref, program->ref_count);
        if (i + EXPECT < n)
            expect(locality, &block[i + EXPECT], false);
        if (i + EXPECT_SOON < n)
            expect(locality, &block[i + EXPECT_SOON], true);
        status = thread ? PSNAP_OK : PSNAP_ERROR_MEMORY;
        if (!status && address & ((UINT64_C(1) << locality->unit) - 1))
            status = refine(locality, address);
        if (!status) /* PSNAP_NONE is row 0 */
            status = access_one(locality, thread, address, program->refs[block[i].ref].loop + 1);
    }
    if (status)
        return psnap_error_set(error, status, "out of memory for locality");
    return PSNAP_OK;
}

/* ------------------------------------------------------------------ the sink */

static void free_locality(struct psnap_sink *self)
{
    struct locality *locality = (struct locality *)self;

    for (uint32_t i = 0; i < locality->row_room; i++)
        if (locality->rows[i]) {
            free(locality->rows[i]->full);
            free(locality->rows[i]);
        }
    for (uint32_t i = 0; i < PSNAP_THREADS_MAX; i++)
        free_thread(locality->threads[i]);
    free(locality->rows);
    free(locality);
}

struct psnap_sink *psnap_locality_new(const struct psnap_program *program, uint64_t word_bytes,
                                      struct psnap_error *error)
{
    static const struct psnap_sink_ops ops = {.put = put, .free = free_locality};
    struct locality *locality;

    if (!word_bytes || word_bytes > PSNAP_LOCALITY_WORD_MAX || word_bytes & (word_bytes - 1)) {
        psnap_error_set(error, PSNAP_ERROR_USAGE,
                        "a word has a power of two of bytes, at most %d, not %" PRIu64,
                        PSNAP_LOCALITY_WORD_MAX, word_bytes);
        return NULL;
    }
    locality = calloc(1, sizeof *locality);
    if (!locality) {
        psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for locality");
        return NULL;
    }
    locality->base.ops = &ops;
    locality->program = program;
    locality->word_digits = (unsigned)__builtin_ctzll(word_bytes);
    locality->unit = NEIGHBOURS_UNIT_MAX;
    return &locality->base;
}

void psnap_locality_sample(struct psnap_sink *sink, uint32_t every)
{
    struct locality *locality = (struct locality *)sink;

    locality->every = every;
    psnap_rng_init(&locality->rng, 0);
}

uint32_t psnap_locality_threads(const struct psnap_sink *sink)
{
    return ((const struct locality *)sink)->thread_count;
}

/* Accesses of a sample with words that were touched long ago, by what drawn words tell; without
 * these there are no more words since than accesses. */
static void add_far(const struct row *row, double reused[PSNAP_LOCALITY_REUSES])
{
    for (int t = 0; t < TIMES; t++) {
        uint64_t all = 0;
        for (int c = 0; c <= PSNAP_LOCALITY_REUSES; c++)
            all += row->drawn[t][c];
        if (!all && t < PSNAP_SURFACE_DISTANCES)
            reused[t] += (double)row->far[t];
        for (int c = 0; c < PSNAP_LOCALITY_REUSES && all; c++)
            reused[c] += (double)row->far[t] * (double)row->drawn[t][c] / (double)all;
    }
}

/* A row stands for all of its accesses, if any count. */
static void add_row(const struct locality *locality, uint32_t index, struct psnap_locality *sum)
{
    static const struct psnap_locality none;
    const struct row *row = index < locality->row_room ? locality->rows[index] : NULL;
    struct psnap_locality *own = row && row->accesses ? malloc(sizeof *own) : NULL;
    double reused[PSNAP_LOCALITY_REUSES] = {0}, each;

    if (!own)
        return;
    *own = row->full ? *row->full : none;
    add_recent(row, locality->unit, own);
    add_far(row, reused);
    each = (double)row->all / (double)row->accesses;
    sum->accesses += row->all;
    sum->nearness += row->nearness * each;
    for (int i = 0; i < PSNAP_LOCALITY_REUSES; i++)
        sum->reused[i] += (uint64_t)llround(((double)row->reused[i] + reused[i]) * each);
    for (int s = 0; s < PSNAP_SURFACE_STRIDES; s++)
        for (int k = 0; k < PSNAP_SURFACE_DISTANCES; k++)
            sum->surface[s][k] += (uint64_t)llround((double)own->surface[s][k] * each);
    free(own);
}

uint64_t psnap_locality_loop_accesses(const struct psnap_sink *sink, uint32_t loop)
{
    const struct locality *locality = (const struct locality *)sink;
    const uint32_t index = loop + 1;

    return index < locality->row_room && locality->rows[index] ? locality->rows[index]->all : 0;
}

void psnap_locality_add_loop(const struct psnap_sink *sink, uint32_t loop,
                             struct psnap_locality *sum)
{
    add_row((const struct locality *)sink, loop + 1, sum);
}

void psnap_locality_add_total(const struct psnap_sink *sink, struct psnap_locality *sum)
{
    const struct locality *locality = (const struct locality *)sink;

    for (uint32_t i = 0; i < locality->row_room; i++)
        add_row(locality, i, sum);
}

/* ----------------------------------------------------------- what it amounts to */

double psnap_locality_share(const struct psnap_locality *locality, int stride, int k)
{
    const uint64_t *counts = locality->surface[stride + PSNAP_SURFACE_STRIDE_MAX];
    uint64_t sum = 0;

    for (int i = 0; i <= k; i++)
        sum += counts[i];
    return locality->accesses ? (double)sum / (double)locality->accesses : NAN;
}

double psnap_locality_spatial(const struct psnap_locality *locality)
{
    return locality->accesses ? locality->nearness / (double)locality->accesses : NAN;
}

double psnap_locality_reuse(const struct psnap_locality *locality, int c)
{
    uint64_t sum = 0;

    for (int i = 0; i <= c; i++)
        sum += locality->reused[i];
    return locality->accesses ? (double)sum / (double)locality->accesses : NAN;
}

double psnap_locality_temporal(const struct psnap_locality *locality)
{
    double sum = 0;

    for (int c = 1; c < PSNAP_LOCALITY_REUSES; c++)
        sum += psnap_locality_reuse(locality, c);
    return sum / (PSNAP_LOCALITY_REUSES - 1);
}

double psnap_locality_distance(const struct psnap_locality *a, const struct psnap_locality *b)
{
    double apart = 0, together = 0;

    if (!a->accesses || !b->accesses)
        return NAN;
    for (int s = 0; s < PSNAP_SURFACE_STRIDES; s++) {
        uint64_t sum_a = 0, sum_b = 0;
        for (int k = 0; k < PSNAP_SURFACE_DISTANCES; k++) {
            const double x = (double)(sum_a += a->surface[s][k]) / (double)a->accesses;
            const double y = (double)(sum_b += b->surface[s][k]) / (double)b->accesses;
            apart += fabs(x - y);
            together += fmax(x, y);
        }
    }
    return together > 0 ? apart / together : 0;
}
