/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Windows of a stream of accesses and runs, with strides and columns, read as accesses, as runs and
 * both: the accesses of the window, and runs where there are whole repetitions.
 */
#include "formats/base/rng.h"
#include "formats/base/stream.h"
#include "tests/next_run.h"
#include "tests/unit/test.h"

enum {
    ITEMS = 12,
    LEAD = 5,
    WIDTH = 6,
    REPETITIONS = 20,
    MOST = ITEMS * (LEAD + WIDTH * REPETITIONS)
};

struct item { /* accesses, then a run */
    struct psnap_access lead[LEAD], first[WIDTH];
    size_t lead_count;
    int64_t strides[WIDTH];
    uint64_t words[WIDTH * REPETITIONS];
    struct psnap_column columns[WIDTH];
    struct psnap_run run;
    struct psnap_nest_loop loop;
};

struct mixed_source {
    struct psnap_source base;
    struct item *items;
    size_t item, at; /* of its accesses */
};

static size_t length(const struct item *item)
{
    return item->lead_count + (size_t)item->run.count * item->run.width;
}

static struct psnap_access access_of(const struct item *item, size_t at)
{
    struct psnap_access access;
    size_t in_run;

    if (at < item->lead_count)
        return item->lead[at];
    in_run = at - item->lead_count;
    access = item->run.first[in_run % item->run.width];
    access.address =
        psnap_run_address(&item->run, in_run / item->run.width, in_run % item->run.width);
    return access;
}

static ssize_t mixed_next(struct psnap_source *self, struct psnap_access *block, size_t capacity,
                          struct psnap_error *error)
{
    struct mixed_source *source = (struct mixed_source *)self;
    size_t n = 0;

    (void)error;
    while (n < capacity && source->item < ITEMS) {
        if (source->at < length(&source->items[source->item])) {
            block[n++] = access_of(&source->items[source->item], source->at++);
        } else {
            source->item++;
            source->at = 0;
        }
    }
    return (ssize_t)n;
}

static ssize_t mixed_next_nest(struct psnap_source *self, struct psnap_access *room,
                               size_t capacity, const struct psnap_access **block,
                               struct psnap_nest *nest, struct psnap_error *error)
{
    struct mixed_source *source = (struct mixed_source *)self;
    struct item *item = &source->items[source->item];

    (void)block;
    if (source->item < ITEMS && !source->at && capacity >= item->lead_count) {
        memcpy(room, item->lead, item->lead_count * sizeof *room);
        *nest = psnap_nest_of_run(&item->loop, &item->run);
        source->item++;
        return (ssize_t)item->lead_count;
    }
    return mixed_next(self, room, capacity, error);
}

static void mixed_free(struct psnap_source *self)
{
    (void)self; /* it is the caller's */
}

static void make_items(struct item *items, struct psnap_rng *rng)
{
    for (struct item *item = items; item < items + ITEMS; item++) {
        const size_t width = 1 + psnap_rng_below(rng, WIDTH);
        const bool has_columns = !psnap_rng_below(rng, 3);

        item->lead_count = psnap_rng_below(rng, LEAD + 1);
        for (size_t i = 0; i < LEAD; i++)
            item->lead[i] = (struct psnap_access){psnap_rng_next(rng), 0, 8, 0, 0};
        for (size_t i = 0; i < WIDTH * REPETITIONS; i++)
            item->words[i] = psnap_rng_next(rng);
        for (size_t k = 0; k < width; k++) {
            item->strides[k] = (int64_t)psnap_rng_below(rng, 1000) - 500;
            item->columns[k] = (struct psnap_column){0};
            if (has_columns && psnap_rng_below(rng, 2))
                item->columns[k] =
                    (struct psnap_column){.words = item->words + k, .pitch = WIDTH, .offset = 9};
            item->first[k] = (struct psnap_access){psnap_rng_next(rng), (uint32_t)k, 4, 0, 0};
            if (item->columns[k].words)
                item->first[k].address = item->words[k] + 9;
        }
        item->run = (struct psnap_run){.first = item->first,
                                       .strides = item->strides,
                                       .columns = has_columns ? item->columns : NULL,
                                       .width = width,
                                       .count = 1 + psnap_rng_below(rng, REPETITIONS)};
    }
}

/* Reads a source to its end; how many accesses came in runs. */
static size_t read_all(struct psnap_source *source, struct psnap_rng *rng, bool mix,
                       struct psnap_access *got, size_t *count)
{
    struct psnap_access block[64];
    size_t in_runs = 0;

    for (*count = 0;;) {
        const bool by_run = !mix || psnap_rng_below(rng, 2);
        const size_t capacity = LEAD + psnap_rng_below(rng, 40);
        struct psnap_run run = {.count = 0};
        const ssize_t n = by_run ? next_run(source, block, capacity, &run, NULL)
                                 : psnap_source_next(source, block, capacity, NULL);
        assert_true(n >= 0 && (size_t)n <= capacity);
        if (!n && !run.count)
            return in_runs;
        memcpy(got + *count, block, (size_t)n * sizeof *got);
        *count += (size_t)n;
        for (uint64_t i = 0; i < run.count; i++)
            for (size_t k = 0; k < run.width; k++) {
                got[*count] = run.first[k];
                got[(*count)++].address = psnap_run_address(&run, i, k);
                in_runs++;
            }
    }
}

TEST(windows_have_their_accesses_and_runs)
{
    static const struct psnap_source_ops ops = {mixed_next, mixed_free, mixed_next_nest};
    static struct item items[ITEMS];
    static struct psnap_access all[MOST], got[MOST];
    size_t n, count, in_runs = 0;
    struct psnap_rng rng;

    psnap_rng_init(&rng, 11);
    for (int turn = 0; turn < 600; turn++) {
        struct mixed_source source = {{.ops = &ops}, items, 0, 0};
        struct psnap_source *limited;
        uint64_t skip, want;

        make_items(items, &rng);
        n = (size_t)mixed_next(&source.base, all, MOST, NULL);
        source.item = source.at = 0;
        skip = turn % 4 ? psnap_rng_below(&rng, n + 3) : 0;
        want = turn % 5 ? psnap_rng_below(&rng, n) : UINT64_MAX;
        limited = psnap_limit_source_new(&source.base, skip, want);
        assert_non_null(limited);
        in_runs += read_all(limited, &rng, turn % 2, got, &count);
        assert_int_equal(count, skip >= n ? 0 : want < n - skip ? want : n - skip);
        if (count)
            assert_memory_equal(got, all + skip, count * sizeof *got);
        psnap_source_free(limited);
    }
    assert_true(in_runs > 10000);
}
