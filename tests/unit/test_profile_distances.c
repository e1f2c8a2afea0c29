/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Model stackdist: the LRU stack against a list that is searched from its front; histograms of
 * profiles against distances found that way; and the distances of replayed streams, which are
 * those of the profile.
 */
#include "profile/distances/distances.h"
#include "profile/edit/edit.h"
#include "profile/distances/lru_stack.h"
#include "replay/replay.h"
#include "tests/unit/test_profile_support.h"

static const struct psnap_builder_options stackdist = {.stackdist = true};
static const struct psnap_builder_options wide = {.stackdist = true, .region_gap_bytes = 65536};

/* ---- the oracle: lines from the one touched last on ---- */

enum { LINES = 4096, NEW_LINE = -1 };

struct list {
    uint64_t lines[LINES];
    int count;
};

/* How many others were touched since the line last was, NEW_LINE: it is new. */
static int touch(struct list *list, uint64_t line)
{
    int at = 0, depth;

    while (at < list->count && list->lines[at] != line)
        at++;
    depth = at < list->count ? at : NEW_LINE;
    if (depth == NEW_LINE)
        assert_true(++list->count <= LINES);
    memmove(list->lines + 1, list->lines, (size_t)at * sizeof *list->lines);
    list->lines[0] = line;
    return depth;
}

/* Distances that a group of accesses had: [0]: new lines, [d + 1]: distance d. */
struct histogram {
    uint64_t counts[LINES + 1];
};

/* ---- the stack ---- */

static void test_stack_is_a_list(void **state)
{
    struct lru_stack *stack = lru_stack_new();
    struct list *list = calloc(1, sizeof *list);
    struct psnap_rng rng;
    uint32_t count = 0;

    (void)state;
    psnap_rng_init(&rng, 1);
    for (unsigned i = 0; i < 60000; i++) {
        /* Near the top, all over, and ever more lines: past growing and closing up. */
        const uint64_t spread = i % 3 ? 40 : 1 + i / 15, line = psnap_rng_below(&rng, spread) * 977;
        const uint32_t number = lru_stack_find(stack, line);
        const int depth = touch(list, line);
        if (number == LRU_NONE) {
            assert_int_equal(depth, NEW_LINE);
            assert_int_equal(lru_stack_add(stack, line), count++);
        } else {
            assert_int_equal(lru_stack_line(stack, number), line);
            assert_int_equal(lru_stack_depth(stack, number), depth);
            assert_int_equal(lru_stack_at(stack, (uint32_t)depth), number);
            lru_stack_raise(stack, number);
        }
        assert_int_equal(lru_stack_count(stack), count);
        if (i % 97 == 0) {
            const uint32_t at = (uint32_t)psnap_rng_below(&rng, count);
            assert_int_equal(lru_stack_line(stack, lru_stack_at(stack, at)), list->lines[at]);
        }
    }
    assert_true(count > 2000);
    lru_stack_free(stack);
    free(list);
}

/* A bin is narrow, and no power of two is within one. */
static void test_bins(void **state)
{
    uint32_t first = 0;

    (void)state;
    for (uint32_t depth = 1; depth < 1u << 20; depth++) {
        const unsigned bin = distance_bin(depth);
        if (bin == distance_bin(depth - 1)) {
            assert_true(depth & (depth - 1));
            assert_true(depth - first < (first + 3) / 4);
            continue;
        }
        assert_int_equal(bin, distance_bin(depth - 1) + 1);
        assert_int_equal(distance_bin_low(bin), depth);
        first = depth;
    }
    assert_int_equal(distance_bin(UINT32_MAX), DISTANCE_BINS - 1);
}

/* ---- profiles ---- */

enum { LOOPS = 3, REFS = 2, ACCESSES = 6000 };

/* Each reference in a place of its own: what was there before again, or further on. */
static void make_stream(struct psnap_rng *rng, struct psnap_access *accesses, uint16_t threads)
{
    uint64_t at[LOOPS * REFS] = {0};

    for (size_t i = 0; i < ACCESSES; i++) {
        const uint32_t loop = (uint32_t)(i / 500 % LOOPS);
        const uint32_t ref = loop * REFS + (uint32_t)psnap_rng_below(rng, REFS);
        const uint64_t span = 64 + at[ref];
        at[ref] += psnap_rng_below(rng, 24);
        accesses[i] = (struct psnap_access){
            .address = HEAP + ((uint64_t)(ref / 2) << 20) +
                       (psnap_rng_below(rng, 3) ? at[ref] : psnap_rng_below(rng, span)),
            .ref = ref,
            .size = (uint8_t)(1 + psnap_rng_below(rng, 16)),
            .kind = (uint8_t)psnap_rng_below(rng, 3),
            .thread = (uint16_t)(threads > 1 ? psnap_rng_below(rng, threads) : 0)};
    }
}

/* Distances by loop, in stacks of their own for threads. */
static struct histogram *measure(const struct psnap_program *program,
                                 const struct psnap_access *accesses, size_t n, uint16_t threads)
{
    struct histogram *loops = calloc(program->loop_count, sizeof *loops);
    struct list *lists = calloc(threads, sizeof *lists);

    for (size_t i = 0; i < n; i++) {
        const int depth = touch(&lists[accesses[i].thread], accesses[i].address / 64);
        loops[program->refs[accesses[i].ref].loop].counts[depth + 1]++;
    }
    free(lists);
    return loops;
}

/* That the loop's regions count what the histogram has, bin by bin, and with mean distances. */
static void assert_counts(const struct psnap_profile_loop *loop, const struct histogram *want)
{
    uint64_t has[DISTANCE_BINS] = {0}, should[DISTANCE_BINS] = {0}, new_lines = 0;
    double depths[DISTANCE_BINS] = {0}, true_depths[DISTANCE_BINS] = {0};

    for (uint32_t i = 0; i < loop->region_count; i++) {
        new_lines += loop->regions[i].new_lines;
        for (uint32_t d = 0; d < loop->regions[i].distance_count; d++) {
            const struct psnap_distance_count *distance = &loop->regions[i].distances[d];
            has[distance_bin(distance->lines)] += distance->count;
            depths[distance_bin(distance->lines)] += (double)distance->count * distance->lines;
        }
    }
    for (uint32_t d = 0; d < LINES; d++) {
        should[distance_bin(d)] += want->counts[d + 1];
        true_depths[distance_bin(d)] += (double)want->counts[d + 1] * d;
    }
    assert_int_equal(new_lines, want->counts[0]);
    assert_memory_equal(has, should, sizeof has);
    for (unsigned bin = 0; bin < DISTANCE_BINS; bin++) /* means are rounded down */
        assert_true(depths[bin] <= true_depths[bin] &&
                    depths[bin] + (double)has[bin] >= true_depths[bin]);
}

static void test_profile_has_the_distances(void **state)
{
    struct psnap_program *program = make_program(LOOPS, REFS);
    struct psnap_access *accesses = calloc(ACCESSES, sizeof *accesses);
    struct psnap_rng rng;

    (void)state;
    psnap_rng_init(&rng, 2);
    for (unsigned round = 0; round < 6; round++) {
        /* Also with regions that are merged all the time, and of several threads. */
        const struct psnap_builder_options options = {
            .stackdist = true, .region_gap_bytes = round % 2 ? 1 : 0, .region_limit = 4};
        const uint16_t threads = round < 4 ? 1 : 3;
        struct psnap_profile *profile;
        struct histogram *loops;
        make_stream(&rng, accesses, threads);
        loops = measure(program, accesses, ACCESSES, threads);
        profile = build(program, accesses, ACCESSES, &options);
        assert_string_equal(profile->model, PSNAP_MODEL_STACKDIST);
        assert_int_equal(profile->loop_count, LOOPS);
        for (uint32_t l = 0; l < LOOPS; l++)
            assert_counts(&profile->loops[l], &loops[l]);
        psnap_profile_free(profile);
        free(loops);
    }
    free(accesses);
    psnap_program_free(program);
}

/* What the published model keeps is the same with it and without it, but for the model's name. */
static void test_all_else_is_as_published(void **state)
{
    struct psnap_program *program = make_program(LOOPS, REFS);
    struct psnap_access *accesses = calloc(ACCESSES, sizeof *accesses);
    struct psnap_rng rng;
    struct psnap_profile *plain, *profile;
    char *one, *two;

    (void)state;
    psnap_rng_init(&rng, 3);
    make_stream(&rng, accesses, 2);
    plain = build(program, accesses, ACCESSES, NULL);
    profile = build(program, accesses, ACCESSES, &stackdist);
    for (uint32_t l = 0; l < LOOPS; l++)
        for (uint32_t i = 0; i < profile->loops[l].region_count; i++)
            profile->loops[l].regions[i].distances = NULL;
    profile->model = plain->model;
    one = write_text(plain);
    two = write_text(profile);
    assert_string_equal(one, two);
    free(one);
    free(two);
    psnap_profile_free(plain);
    psnap_profile_free(profile);
    free(accesses);
    psnap_program_free(program);
}

static void test_runs_are_their_accesses(void **state)
{
    const struct psnap_access first[2] = {{HEAP, 0, 8, PSNAP_LOAD, 0},
                                          {HEAP + 65536, 1, 8, PSNAP_STORE, 0}};
    const int64_t strides[2] = {8, 24};
    const struct psnap_run run = {.first = first, .strides = strides, .width = 2, .count = 1000};
    struct psnap_program *program = make_program(1, 2);
    struct psnap_sink *builder = psnap_profile_builder_new(program, &stackdist, NULL);
    struct psnap_access accesses[2000];
    struct psnap_profile *profile;
    char *one, *two;

    (void)state;
    assert_int_equal(psnap_sink_put_run(builder, &run, NULL), PSNAP_OK);
    profile = end_profile(builder);
    one = write_text(profile);
    psnap_profile_free(profile);
    for (unsigned i = 0; i < 2000; i++) {
        accesses[i] = first[i % 2];
        accesses[i].address += i / 2 * (uint64_t)strides[i % 2];
    }
    profile = build(program, accesses, 2000, &stackdist);
    two = write_text(profile);
    assert_string_equal(one, two);
    assert_non_null(strstr(one, "reuse: {new: 125, distances: {1: 875}}"));
    assert_non_null(strstr(one, "reuse: {new: 375, distances: {1: 625}}"));
    free(one);
    free(two);
    psnap_profile_free(profile);
    psnap_program_free(program);
}

/* ---- replay ---- */

/* All accesses of a replay, and its program. */
static struct psnap_access *replay(const struct psnap_profile *profile, uint64_t seed, size_t block,
                                   size_t *n, struct psnap_source **source)
{
    struct psnap_profile_totals totals;
    struct psnap_access *accesses;
    ssize_t got;

    *source = psnap_replay_new(profile, seed, NULL);
    assert_non_null(*source);
    psnap_profile_totals(profile, &totals);
    accesses = calloc(totals.accesses + block, sizeof *accesses);
    for (*n = 0; (got = psnap_source_next(*source, accesses + *n, block, NULL)) > 0;)
        *n += (size_t)got;
    assert_int_equal(got, 0);
    assert_int_equal(*n, totals.accesses);
    return accesses;
}

/* How many of a replay's accesses have another distance than its profile says, at least. */
static uint64_t count_strays(const struct psnap_profile *profile, uint64_t seed)
{
    struct psnap_source *source;
    size_t n;
    struct psnap_access *accesses = replay(profile, seed, 333, &n, &source);
    struct histogram *loops = measure(source->program, accesses, n, 1);
    uint64_t strays = 0;

    for (uint32_t l = 0; l < profile->loop_count; l++) {
        const struct psnap_profile_loop *loop = &profile->loops[l];
        struct histogram *has = &loops[l];
        for (uint32_t i = 0; i < loop->region_count; i++) {
            has->counts[0] -= loop->regions[i].new_lines;
            for (uint32_t d = 0; d < loop->regions[i].distance_count; d++)
                has->counts[loop->regions[i].distances[d].lines + 1] -=
                    loop->regions[i].distances[d].count;
        }
        for (uint32_t d = 0; d <= LINES; d++)
            strays += (int64_t)has->counts[d] > 0 ? has->counts[d] : 0;
    }
    free(loops);
    free(accesses);
    psnap_source_free(source);
    return strays;
}

/* Of one loop and region, every access has the distance that the profile says. */
static void test_replay_has_the_distances(void **state)
{
    enum { N = 20000 };
    struct psnap_program *program = make_program(1, 1);
    struct psnap_access *accesses = calloc(N, sizeof *accesses);
    struct psnap_rng rng;

    (void)state;
    psnap_rng_init(&rng, 4);
    for (unsigned round = 0; round < 8; round++) {
        const uint64_t span = UINT64_C(100) << 2 * (round % 4);
        struct psnap_profile *profile;
        uint64_t at = 0;
        for (unsigned i = 0; i < N; i++) {
            at = psnap_rng_below(&rng, round < 4 ? 9 : 2) ? at + 8 : psnap_rng_below(&rng, span);
            at %= span;
            accesses[i] = (struct psnap_access){HEAP + at, 0, 8, PSNAP_LOAD, 0};
        }
        profile = build(program, accesses, N, &wide);
        assert_int_equal(profile->loops[0].region_count, 1);
        assert_int_equal(count_strays(profile, round), 0);
        psnap_profile_free(profile);
    }
    free(accesses);
    psnap_program_free(program);
}

/* Of several, what is put off may come too late: at most a few of the accesses in a hundred. */
static void test_replay_of_loops_is_near(void **state)
{
    struct psnap_program *program = make_program(LOOPS, REFS);
    struct psnap_access *accesses = calloc(ACCESSES, sizeof *accesses);
    struct psnap_rng rng;

    (void)state;
    psnap_rng_init(&rng, 5);
    for (unsigned round = 0; round < 8; round++) {
        struct psnap_profile *profile;
        make_stream(&rng, accesses, 1);
        profile = build(program, accesses, ACCESSES, &stackdist);
        assert_true(count_strays(profile, round) < ACCESSES / 50);
        psnap_profile_free(profile);
    }
    free(accesses);
    psnap_program_free(program);
}

/* Whether the line of an address is one of some working set. */
static bool is_inside(const struct psnap_profile *profile, uint64_t address)
{
    for (uint32_t l = 0; l < profile->loop_count; l++)
        for (uint32_t i = 0; i < profile->loops[l].region_count; i++) {
            const struct psnap_profile_region *region = &profile->loops[l].regions[i];
            if (address / 64 >= region->low / 64 &&
                address / 64 <= (region->low + region->bytes - 1) / 64)
                return true;
        }
    return false;
}

/* Accesses by region, kind and size are those of the profile. */
static void assert_exact(const struct psnap_profile *profile, const struct psnap_access *accesses,
                         size_t n)
{
    uint64_t kinds[64] = {0}, sizes[64][65] = {{0}};
    uint32_t ref = 0;

    for (size_t i = 0; i < n; i++) {
        assert_true(accesses[i].ref < 64);
        kinds[accesses[i].ref]++;
        sizes[accesses[i].ref][accesses[i].size]++;
        assert_true(is_inside(profile, accesses[i].address));
        assert_true(accesses[i].address % 64 + accesses[i].size <= 64);
    }
    for (uint32_t l = 0; l < profile->loop_count; l++)
        for (uint32_t i = 0; i < profile->loops[l].region_count; i++) {
            const struct psnap_profile_region *region = &profile->loops[l].regions[i];
            const uint32_t first = ref;
            for (unsigned kind = 0; kind < 3; kind++)
                if (region->kinds[kind])
                    assert_int_equal(kinds[ref++], region->kinds[kind]);
            for (unsigned s = 0; s < region->size_count; s++) {
                uint64_t sum = 0;
                for (uint32_t k = first; k < ref; k++)
                    sum += sizes[k][region->sizes[s].size];
                assert_int_equal(sum, region->sizes[s].count);
            }
        }
}

/* Same seed, same stream, however it is read. Of merged threads, and of each for itself. */
static void test_replay_is_exact_and_the_same(void **state)
{
    struct psnap_program *program = make_program(LOOPS, REFS);
    struct psnap_access *accesses = calloc(ACCESSES, sizeof *accesses), *again[3];
    struct psnap_source *sources[3];
    struct psnap_rng rng;
    size_t n;

    (void)state;
    psnap_rng_init(&rng, 6);
    for (unsigned round = 0; round < 4; round++) {
        const struct psnap_builder_options options = {
            .stackdist = true, .is_apart = round % 2, .region_gap_bytes = 65536};
        struct psnap_profile *profile;
        make_stream(&rng, accesses, 3);
        profile = build(program, accesses, ACCESSES, &options);
        again[0] = replay(profile, 7, 512, &n, &sources[0]);
        again[1] = replay(profile, 7, 61, &n, &sources[1]);
        again[2] = replay(profile, 8, 512, &n, &sources[2]);
        assert_memory_equal(again[0], again[1], n * sizeof **again);
        assert_memory_not_equal(again[0], again[2], n * sizeof **again);
        assert_exact(profile, again[0], n);
        for (unsigned i = 0; i < 3; i++) {
            free(again[i]);
            psnap_source_free(sources[i]);
        }
        psnap_profile_free(profile);
    }
    free(accesses);
    psnap_program_free(program);
}

/* ---- text ---- */

#define HEAD                                                                                       \
    "psnap: 1\n"                                                                                   \
    "capture: {model: stackdist-1}\n"                                                              \
    "schedule: [f]\n"                                                                              \
    "loops:\n"                                                                                     \
    "- id: f\n"                                                                                    \
    "  accesses: 64\n"                                                                             \
    "  pattern: [a]\n"                                                                             \
    "  regions:\n"                                                                                 \
    "  - id: a\n"                                                                                  \
    "    working_set: {bytes: 512, group: heap, offset: 0}\n"                                      \
    "    accesses: 64\n"                                                                           \
    "    loads: 64\n"                                                                              \
    "    sizes: {8: 64}\n"                                                                         \
    "    strides: {8: 63}\n"

static void test_text_and_back(void **state)
{
    struct psnap_profile *profile =
        read_text(HEAD "    reuse: {new: 8, distances: {7: 16, 0: 40}}\n");
    char *text = write_text(profile), *again;

    (void)state;
    assert_non_null(strstr(text, "    reuse: {new: 8, distances: {0: 40, 7: 16}}\n"));
    psnap_profile_free(profile);
    profile = read_text(text);
    again = write_text(profile);
    assert_string_equal(text, again);
    free(text);
    free(again);
    psnap_profile_free(profile);
}

/* Eight lines, walked through once, then always the one touched longest ago, or the last one. */
static void test_edit_moves_the_stream(void **state)
{
    static const struct {
        const char *reuse;
        uint64_t lines[12]; /* of the first accesses */
    } cases[] = {
        {"    reuse: {new: 8, distances: {7: 56}}\n", {0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3}},
        {"    reuse: {new: 1, distances: {0: 63}}\n", {0}},
        {"    reuse: {new: 2, distances: {1: 62}}\n", {0, 4, 0, 4, 0, 4, 0, 4, 0, 4, 0, 4}},
    };

    (void)state;
    for (unsigned c = 0; c < sizeof cases / sizeof *cases; c++) {
        char text[1024];
        struct psnap_source *source;
        struct psnap_profile *profile;
        struct psnap_access *accesses;
        size_t n;
        snprintf(text, sizeof text, "%s%s", HEAD, cases[c].reuse);
        profile = read_text(text);
        accesses = replay(profile, 1, 64, &n, &source);
        for (unsigned i = 0; i < 12; i++)
            assert_int_equal((accesses[i].address - HEAP) / 64, cases[c].lines[i]);
        assert_int_equal(accesses[1].address - accesses[0].address, c == 1 ? 8 : c == 0 ? 64 : 256);
        free(accesses);
        psnap_source_free(source);
        psnap_profile_free(profile);
    }
}

/* New lines are spread over the working set, past those that another loop has touched and round its
 * end; when there is none left it is the line touched longest ago. */
static void test_new_lines(void **state)
{
    static const uint64_t lines[] = {4, 5, 6, 7, 0, 1, 2, 3, 4, 5};
    struct psnap_source *source;
    struct psnap_profile *profile =
        read_text("psnap: 1\n"
                  "capture: {model: stackdist-1}\n"
                  "schedule: [f, g]\n"
                  "loops:\n"
                  "- {id: f, accesses: 4, pattern: [a], regions: [\n"
                  "  {id: a, working_set: {bytes: 256, group: heap, offset: 256}, accesses: 4,\n"
                  "   loads: 4, sizes: {64: 4}, strides: {64: 3}, reuse: {new: 4}}]}\n"
                  "- {id: g, accesses: 6, pattern: [a], regions: [\n"
                  "  {id: a, working_set: {bytes: 512, group: heap, offset: 0}, accesses: 6,\n"
                  "   loads: 6, sizes: {64: 6}, strides: {64: 5}, reuse: {new: 6}}]}\n");
    size_t n;
    struct psnap_access *accesses = replay(profile, 1, 3, &n, &source);

    (void)state;
    assert_int_equal(n, sizeof lines / sizeof *lines);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(accesses[i].address, HEAP + 64 * lines[i]);
    free(accesses);
    psnap_source_free(source);
    psnap_profile_free(profile);
}

/* More entries have as many more of all; what would need strides is refused. */
static void test_psnap_edit(void **state)
{
    const struct psnap_edit entries = {
        .what = PSNAP_EDIT_ENTRIES, .loop = "f", .times = 3, .over = 1};
    const char *const region = "a";
    const struct psnap_edit span = {.what = PSNAP_EDIT_SPAN,
                                    .loop = "f",
                                    .regions = &region,
                                    .region_count = 1,
                                    .times = 2,
                                    .over = 1};
    const struct psnap_edit merge = {
        .what = PSNAP_EDIT_MERGE, .loop = "f", .regions = &region, .region_count = 1};
    struct psnap_profile *profile =
        read_text(HEAD "    reuse: {new: 8, distances: {7: 16, 0: 40}}\n");
    struct psnap_error error;
    uint32_t loop, index;
    char *text;

    (void)state;
    assert_int_equal(psnap_profile_edit(profile, &entries, &loop, &index, &error), PSNAP_OK);
    text = write_text(profile);
    psnap_profile_free(profile);
    assert_non_null(strstr(text, "    reuse: {new: 24, distances: {0: 120, 7: 48}}\n"));
    profile = read_text(text);
    free(text);
    assert_int_equal(psnap_profile_edit(profile, &span, &loop, &index, &error), PSNAP_ERROR_VALUE);
    assert_non_null(strstr(error.message, "has no strides"));
    assert_int_equal(psnap_profile_edit(profile, &merge, &loop, &index, &error), PSNAP_ERROR_VALUE);
    assert_non_null(strstr(error.message, "has no strides"));
    psnap_profile_free(profile);
}

static void assert_error(const char *text, uint32_t src_line, const char *message)
{
    struct psnap_error error;

    assert_null(try_text(text, &error));
    assert_string_equal(error.message, message);
    assert_int_equal(error.src_line, src_line);
}

static void test_errors_have_places(void **state)
{
    (void)state;
    assert_error(HEAD, 9, "the key 'reuse' is missing");
    assert_error(HEAD "    reuse: {new: 8, distances: {0: 40}}\n", 11,
                 "'accesses' is 64, but 'reuse' (line 15) comes to 48");
    assert_error(HEAD "    reuse: {new: 8, distances: {far: 56}}\n", 15,
                 "'far' is no distance: they are 0 to 2^32 - 1 lines");
    assert_error(HEAD "    reuse: {new: 8, distances: {4294967296: 56}}\n", 15,
                 "'4294967296' is no distance: they are 0 to 2^32 - 1 lines");
    assert_error(HEAD "    reuse: {new: 8, distances: {3: 50, 0x3: 6}}\n", 15,
                 "distance 3 is there twice");
    assert_error("psnap: 1\n"
                 "capture: {model: psnap}\n"
                 "schedule: [f]\n"
                 "loops:\n"
                 "- id: f\n"
                 "  accesses: 1\n"
                 "  pattern: [a]\n"
                 "  regions:\n"
                 "  - id: a\n"
                 "    working_set: {bytes: 8, group: heap, offset: 0}\n"
                 "    accesses: 1\n"
                 "    loads: 1\n"
                 "    sizes: {8: 1}\n"
                 "    reuse: {new: 1}\n",
                 14, "'reuse' is of the model 'stackdist-1', and this profile's is 'psnap'");
}

static void test_one_model(void **state)
{
    const struct psnap_builder_options both = {.stackdist = true, .walks = true};
    struct psnap_program *program = make_program(1, 1);
    struct psnap_error error;

    (void)state;
    assert_null(psnap_profile_builder_new(program, &both, &error));
    assert_int_equal(error.code, PSNAP_ERROR_USAGE);
    psnap_program_free(program);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stack_is_a_list),
        cmocka_unit_test(test_bins),
        cmocka_unit_test(test_profile_has_the_distances),
        cmocka_unit_test(test_all_else_is_as_published),
        cmocka_unit_test(test_runs_are_their_accesses),
        cmocka_unit_test(test_replay_has_the_distances),
        cmocka_unit_test(test_replay_of_loops_is_near),
        cmocka_unit_test(test_replay_is_exact_and_the_same),
        cmocka_unit_test(test_text_and_back),
        cmocka_unit_test(test_edit_moves_the_stream),
        cmocka_unit_test(test_new_lines),
        cmocka_unit_test(test_psnap_edit),
        cmocka_unit_test(test_errors_have_places),
        cmocka_unit_test(test_one_model),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
