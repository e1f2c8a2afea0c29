/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Windows and P(D | block) of random walks through programs whose blocks have known references: as
 * many windows as executions, the transitions of the walk, the linear system that gives the counts
 * back, and the distances of sampled windows as Algorithm 1 finds them, looking back in the trace.
 */
#include "tests/unit/test.h"

#include <math.h>

#include "formats/base/rng.h"
#include "predict/amm/chain.h"
#include "predict/amm/measure.h"
#include "tests/unit/vectors.h"

enum { BLOCKS = 6, REFS_MAX = 4, ACCESSES = 6000, LINES = 40 };

struct walk {
    struct psnap_program *program;
    struct psnap_access accesses[ACCESSES];
    uint32_t window[ACCESSES]; /* number of the execution */
    uint64_t executions[BLOCKS], transitions[BLOCKS + 1][BLOCKS + 1];
};

static struct walk *new_walk(uint64_t seed)
{
    struct walk *walk = calloc(1, sizeof *walk);
    struct psnap_rng rng;
    uint32_t first[BLOCKS + 1], before = BLOCKS, number = 0;
    size_t n = 0;

    assert_non_null(walk);
    psnap_rng_init(&rng, seed);
    walk->program = psnap_program_new();
    assert_non_null(walk->program);
    psnap_program_add_loop(walk->program,
                           &(struct psnap_loop){"f", "f", "f", "f.c", 1, 0, PSNAP_NONE, 0, 0});
    for (uint32_t b = 0; b < BLOCKS; b++) {
        psnap_program_add_block(walk->program, &(struct psnap_block){.loop = 0});
        first[b] = walk->program->ref_count;
        for (uint64_t r = 1 + psnap_rng_below(&rng, REFS_MAX); r; r--)
            psnap_program_add_ref(walk->program, &(struct psnap_ref){.block = b, .size = 8});
    }
    first[BLOCKS] = walk->program->ref_count;
    for (uint32_t b = 0;; b = (uint32_t)psnap_rng_below(&rng, b + 2 < BLOCKS ? b + 2 : BLOCKS)) {
        if (n + REFS_MAX > ACCESSES)
            break;
        walk->executions[b]++;
        walk->program->blocks[b].executions++;
        walk->transitions[before][b]++;
        before = b;
        for (uint32_t r = first[b]; r < first[b + 1]; r++, n++) {
            walk->accesses[n] = (struct psnap_access){
                .address = 64 * psnap_rng_below(&rng, LINES), .ref = r, .size = 8};
            walk->window[n] = number;
        }
        number++;
    }
    walk->transitions[before][BLOCKS]++;
    for (; n < ACCESSES; n++)
        walk->accesses[n].size = 0; /* the end */
    return walk;
}

static size_t length_of(const struct walk *walk)
{
    size_t n = 0;

    while (n < ACCESSES && walk->accesses[n].size)
        n++;
    return n;
}

static void free_walk(struct walk *walk)
{
    psnap_program_free(walk->program);
    free(walk);
}

/* Algorithm 1: back from access i to the last one of the same line, counting others. */
static uint64_t look_back(const struct walk *walk, size_t i)
{
    bool seen[LINES] = {false};
    uint64_t distance = 0;

    for (size_t k = i; k-- > 0;) {
        const uint64_t line = walk->accesses[k].address / 64;
        if (line == walk->accesses[i].address / 64)
            return distance;
        distance += !seen[line];
        seen[line] = true;
    }
    return PSNAP_DISTANCE_COLD;
}

static void measure_walk(struct measure *measure, struct walk *walk, double rate, uint64_t seed)
{
    const struct measure_plan plan = {.line_bytes = 64};
    const struct measure_options options = {&plan, 1, rate, seed};
    struct psnap_source *source = vector_source_new(walk->accesses, length_of(walk), walk->program);
    struct psnap_error error;

    assert_non_null(source);
    assert_int_equal(measure_stream(measure, source, NULL, &options, &error), PSNAP_OK);
    psnap_source_free(source);
}

TEST(as_walked)
{
    for (uint64_t seed = 0; seed < 20; seed++) {
        struct walk *walk = new_walk(seed);
        struct measure measure;
        struct branch branches[(BLOCKS + 1) * (BLOCKS + 1)];
        double executions[BLOCKS];
        struct psnap_error error;

        measure_walk(&measure, walk, 1, 0);
        for (uint32_t b = 0; b < BLOCKS; b++)
            assert_true(measure.windows[b] == (double)walk->executions[b]);
        for (size_t i = 0; i < measure.transition_count; i++) {
            const struct transition *t = &measure.transitions[i];
            const uint32_t from = t->from == PSNAP_NONE ? BLOCKS : t->from;
            const uint32_t to = t->to == PSNAP_NONE ? BLOCKS : t->to;
            assert_int_equal(t->count, walk->transitions[from][to]);
            walk->transitions[from][to] = 0;
            branches[i] = (struct branch){
                t->from, t->to,
                from == BLOCKS ? 1 : (double)t->count / (double)walk->executions[from]};
        }
        for (int from = 0; from <= BLOCKS; from++)
            for (int to = 0; to <= BLOCKS; to++)
                assert_int_equal(walk->transitions[from][to], 0); /* none is missing */
        assert_int_equal(
            chain_solve(branches, measure.transition_count, BLOCKS, executions, &error), PSNAP_OK);
        for (uint32_t b = 0; b < BLOCKS; b++)
            assert_true(fabs(executions[b] - (double)walk->executions[b]) <
                        1e-10 * (double)walk->executions[b] + 1e-10);
        measure_release(&measure);
        free_walk(walk);
    }
}

/* All windows: each reference's distances are those of the slow search. */
TEST(like_algorithm_1)
{
    struct walk *walk = new_walk(7);
    struct measure measure;
    const size_t n = length_of(walk);

    measure_walk(&measure, walk, 1, 0);
    assert_int_equal(measure.sampled, n);
    for (uint32_t ref = 0; ref < walk->program->ref_count; ref++) {
        struct psnap_distances *slow = psnap_distances_new();
        struct psnap_distance_count each = {0}, other = {0};
        assert_non_null(slow);
        for (size_t i = 0; i < n; i++)
            if (walk->accesses[i].ref == ref)
                assert_true(psnap_distances_add(slow, look_back(walk, i), 1));
        if (!psnap_distances_accesses(slow)) {
            assert_null(measure.distances[ref]);
        } else {
            assert_int_equal(psnap_distances_cold(slow),
                             psnap_distances_cold(measure.distances[ref]));
            while (psnap_distances_next(slow, &each)) {
                assert_true(psnap_distances_next(measure.distances[ref], &other));
                assert_int_equal(each.distance, other.distance);
                assert_int_equal(each.count, other.count);
            }
            assert_false(psnap_distances_next(measure.distances[ref], &other));
        }
        psnap_distances_free(slow);
    }
    measure_release(&measure);
    free_walk(walk);
}

/* A sample has whole windows, about as many as asked for, the same ones for the same seed; blocks
 * that are executed less than WINDOWS_FEW / rate times are taken whole. */
TEST(sampled)
{
    struct walk *walk = new_walk(11);
    struct measure one, same, other;
    uint64_t differences = 0;

    measure_walk(&one, walk, 0.25, 5);
    measure_walk(&same, walk, 0.25, 5);
    measure_walk(&other, walk, 0.25, 6);
    for (uint32_t ref = 0; ref < walk->program->ref_count; ref++) {
        const double windows = one.windows[walk->program->refs[ref].block];
        const uint64_t accesses =
            one.distances[ref] ? psnap_distances_accesses(one.distances[ref]) : 0;
        if (windows <= WINDOWS_FEW / 0.25)
            assert_true((double)accesses == windows);
        else
            assert_true(fabs((double)accesses - 0.25 * windows) < 5 * sqrt(0.19 * windows));
        if (!accesses)
            continue;
        assert_int_equal(accesses, psnap_distances_accesses(same.distances[ref]));
        assert_int_equal(psnap_distances_cold(one.distances[ref]),
                         psnap_distances_cold(same.distances[ref]));
        differences += accesses != psnap_distances_accesses(other.distances[ref]);
        for (uint32_t k = 0; k < ref; k++) /* of one block: as many windows */
            if (walk->program->refs[k].block == walk->program->refs[ref].block)
                assert_int_equal(accesses, psnap_distances_accesses(one.distances[k]));
    }
    assert_true(differences > 0);
    measure_release(&one);
    measure_release(&same);
    measure_release(&other);
    free_walk(walk);
}
