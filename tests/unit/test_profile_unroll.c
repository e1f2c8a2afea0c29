/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Loops that are written out at once (profile/walks/nest_unroll.h): random nests, with counts that
 * change and are none, against what going through them access for access gives.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "formats/base/rng.h"
#include "profile/walks/nest_unroll.h"

enum { LOOPS = 3, ROOM = 1 << 19, TRIES = 600 };

struct stream {
    struct psnap_access *accesses;
    size_t count;
};

/* ---- random nests ---- */

static const struct nest_pattern *make_leaf(struct nest_patterns *patterns, struct psnap_rng *rng)
{
    const uint32_t width = 1 + (uint32_t)psnap_rng_below(rng, 5);
    struct nest_shape *shape = calloc(1, nest_shape_bytes(width));
    const struct nest_pattern *leaf;
    uint64_t strides[5];

    shape->loop = (uint32_t)psnap_rng_below(rng, LOOPS);
    shape->width = width;
    for (uint32_t k = 0; k < width; k++) {
        shape->refs[k] = (struct nest_ref){.ref = k, .size = 8, .kind = (uint8_t)(k % 2)};
        strides[k] = 8 * psnap_rng_below(rng, 5) - 16;
    }
    leaf = nest_pattern_leaf(patterns, nest_shape_of(patterns, shape), strides);
    free(shape);
    assert_non_null(leaf);
    return leaf;
}

/* How much counts and addresses of a pattern's values change. */
static void set_steps(const struct nest_pattern *pattern, bool is_steady, uint64_t *steps,
                      struct psnap_rng *rng)
{
    *steps++ = is_steady || psnap_rng_below(rng, 2) ? 0 : psnap_rng_below(rng, 3) - 1;
    for (uint32_t i = 0; i < pattern->body_count; i++) {
        set_steps(pattern->body[i], is_steady, steps, rng);
        steps += pattern->body[i]->values;
    }
    for (uint32_t k = 0; !pattern->body_count && k < pattern->shape->width; k++)
        steps[k] = 8 * psnap_rng_below(rng, 100) - 400;
}

static const struct nest_pattern *make_pattern(struct nest_patterns *patterns, unsigned depth,
                                               struct psnap_rng *rng)
{
    const uint32_t count = 1 + (uint32_t)psnap_rng_below(rng, 3);
    const bool is_steady = psnap_rng_below(rng, 4) != 0;
    const struct nest_pattern *body[3], *loop;
    uint64_t steps[1000], n = 0;

    if (!depth)
        return make_leaf(patterns, rng);
    for (uint32_t i = 0; i < count; i++) {
        body[i] = make_pattern(patterns, (unsigned)psnap_rng_below(rng, depth), rng);
        set_steps(body[i], is_steady, steps + n, rng);
        n += body[i]->values;
    }
    loop = nest_pattern_loop(patterns, body, count, steps);
    assert_non_null(loop);
    return loop;
}

static void set_values(const struct nest_pattern *pattern, uint64_t *values, struct psnap_rng *rng)
{
    static const unsigned most[] = {40, 30, 8, 4};

    *values++ = psnap_rng_below(rng, psnap_rng_below(rng, 3) ? 5 : most[pattern->depth]) - 1;
    for (uint32_t i = 0; i < pattern->body_count; i++) {
        set_values(pattern->body[i], values, rng);
        values += pattern->body[i]->values;
    }
    for (uint32_t k = 0; !pattern->body_count && k < pattern->shape->width; k++)
        values[k] = 8 * psnap_rng_below(rng, 1 << 20);
}

/* ---- the oracle ---- */

static void expand(const struct nest_pattern *pattern, const uint64_t *values,
                   const uint32_t *first_ref, struct stream *to)
{
    uint64_t *now = malloc(pattern->values * sizeof *now);

    memcpy(now, values + 1, (pattern->values - 1) * sizeof *now);
    for (int64_t i = 0; i < (int64_t)values[0]; i++) {
        const uint64_t *at = now;
        for (uint32_t k = 0; k < pattern->body_count; k++) {
            expand(pattern->body[k], at, first_ref, to);
            at += pattern->body[k]->values;
        }
        for (uint32_t k = 0; !pattern->body_count && k < pattern->shape->width; k++) {
            const struct nest_ref *ref = &pattern->shape->refs[k];
            assert_true(to->count < ROOM);
            to->accesses[to->count++] =
                (struct psnap_access){.address = now[k],
                                      .ref = first_ref[pattern->shape->loop] + ref->ref,
                                      .size = ref->size,
                                      .kind = ref->kind};
        }
        for (uint32_t k = 0; k + 1 < pattern->values; k++)
            now[k] += pattern->steps[k];
    }
    free(now);
}

/* ---- what a walker writes ---- */

static void add(struct stream *stream, struct psnap_access access)
{
    assert_true(stream->count < ROOM);
    stream->accesses[stream->count++] = access;
}

/* In blocks of any size; how many accesses came written out. */
static size_t write_all(struct psnap_walker *walker, bool by_runs, struct psnap_rng *rng,
                        struct stream *to)
{
    struct psnap_access block[300];
    struct psnap_walk walk;
    size_t n = 0, written = 0;
    int more;

    to->count = 0;
    while ((more = psnap_walker_write(walker, &walk, by_runs, block,
                                      1 + (size_t)psnap_rng_below(rng, 300), &n)) > 0) {
        for (size_t i = 0; more == 2 && i < n; i++)
            add(to, block[i]);
        written += more == 2 ? n : 0;
        for (uint64_t i = 0; more == 1 && i < walk.run.count; i++)
            for (size_t k = 0; k < walk.run.width; k++) {
                struct psnap_access access = walk.run.first[k];
                access.address = psnap_run_address(&walk.run, i, k);
                add(to, access);
            }
    }
    assert_int_equal(more, 0);
    return written;
}

static void test_random_nests(void **state)
{
    static const uint32_t first_ref[LOOPS] = {0, 10, 100};
    struct stream wanted = {malloc(ROOM * sizeof *wanted.accesses), 0};
    struct stream got = {malloc(ROOM * sizeof *got.accesses), 0};
    size_t all = 0, written[2] = {0, 0};
    struct psnap_rng rng;

    (void)state;
    psnap_rng_init(&rng, 11);
    for (unsigned i = 0; i < TRIES; i++) {
        struct psnap_nests *nests = nests_new();
        struct psnap_profile profile = {.nests = nests, .loop_count = LOOPS};
        wanted.count = 0;
        for (unsigned k = 0; k < 3; k++) {
            uint64_t values[1001];
            const struct nest_pattern *pattern =
                make_pattern(nests->patterns, (unsigned)psnap_rng_below(&rng, 4), &rng);
            set_values(pattern, values, &rng);
            assert_true(nests_push(nests, pattern, values));
            expand(pattern, values, first_ref, &wanted);
        }
        for (unsigned by_runs = 0; by_runs < 2; by_runs++) {
            struct psnap_walker *walker = psnap_walker_new(&profile, first_ref, 1);
            assert_non_null(walker);
            written[by_runs] += write_all(walker, by_runs, &rng, &got);
            assert_int_equal(got.count, wanted.count);
            assert_memory_equal(got.accesses, wanted.accesses,
                                wanted.count * sizeof *wanted.accesses);
            psnap_walker_free(walker);
        }
        all += wanted.count;
        nests_free(nests);
    }
    /* Most of them came so, of those with runs in them fewer. */
    assert_true(written[0] > all / 2);
    assert_true(written[1] > all / 8 && written[1] < written[0]);
    free(wanted.accesses);
    free(got.accesses);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_nests)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
