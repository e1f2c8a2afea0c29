/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Folding: exact folds unfold to the sequence that went in; averaging ones keep
 * every index and all amounts, and stay small whatever comes.
 */
#include "tests/unit/test.h"

#include "formats/base/rng.h"
#include "profile/published/fold.h"

enum { LONGEST = 200000 };

static uint32_t input[LONGEST];

struct result {
    struct psnap_arena *arena;
    struct psnap_sequence sequence;
};

static struct result fold(size_t n, bool exact, uint32_t limit)
{
    struct result result = {.arena = psnap_arena_new()};
    struct fold folding;

    fold_init(&folding, exact, exact ? 512 : 32, limit);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(fold_append(&folding, input[i], input[i] + 1), PSNAP_OK);
    assert_int_equal(fold_finish(&folding, result.arena, &result.sequence), PSNAP_OK);
    fold_release(&folding);
    return result;
}

static size_t unfold(const struct psnap_sequence *sequence, uint32_t begin, uint32_t end,
                     uint32_t *out, size_t n)
{
    for (uint32_t i = begin; i < end; i += 1 + sequence->items[i].span) {
        const struct psnap_sequence_item *item = &sequence->items[i];
        for (uint64_t round = 0; round < item->repeat; round++) {
            if (item->what == PSNAP_NONE) {
                assert_true(item->span > 0);
                n = unfold(sequence, i + 1, i + 1 + item->span, out, n);
            } else if (n < LONGEST) {
                out[n++] = item->what;
            }
        }
    }
    return n;
}

/* A random nest of repeats, at most `depth` deep. */
static size_t random_nest(struct psnap_rng *rng, unsigned depth, uint32_t *out, size_t n)
{
    uint64_t parts = 1 + psnap_rng_below(rng, 4);

    for (uint64_t part = 0; part < parts; part++) {
        uint64_t repeat = 1 + psnap_rng_below(rng, depth ? 7 : 3);
        size_t start = n, length;
        if (depth == 0 || psnap_rng_below(rng, 2))
            out[n++] = (uint32_t)psnap_rng_below(rng, 6);
        else
            n = random_nest(rng, depth - 1, out, n);
        length = n - start;
        for (uint64_t round = 1; round < repeat && n + length < LONGEST / 40; round++, n += length)
            memcpy(&out[n], &out[start], length * sizeof *out);
    }
    return n;
}

TEST(test_exact_folds_unfold)
{
    static uint32_t back[LONGEST];
    struct psnap_rng rng;

    psnap_rng_init(&rng, 1);
    for (unsigned round = 0; round < 400; round++) {
        size_t n = random_nest(&rng, round % 4, input, 0);
        struct result result = fold(n, true, UINT32_MAX);
        assert_int_equal(unfold(&result.sequence, 0, result.sequence.count, back, 0), n);
        assert_memory_equal(input, back, n * sizeof *input);
        psnap_arena_free(result.arena);
    }
}

/* A visit of 0 and `rounds` times 1 and 2. */
static size_t visit(unsigned rounds, uint32_t *out, size_t n)
{
    out[n++] = 0;
    for (unsigned i = 0; i < rounds; i++) {
        out[n++] = 1;
        out[n++] = 2;
    }
    return n;
}

/* The fold has all that was put: of each index as many accesses as `wanted` says. */
static void assert_amounts(const struct psnap_sequence *sequence, const uint64_t wanted[64])
{
    uint64_t got[64] = {0};

    for (uint32_t i = 0; i < sequence->count; i++)
        if (sequence->items[i].what != PSNAP_NONE)
            got[sequence->items[i].what] += sequence->items[i].accesses;
    assert_memory_equal(wanted, got, sizeof got);
}

TEST(test_regular_nests_become_small)
{
    struct result result;
    size_t n = 0;

    for (unsigned t = 0; t < 30; t++) { /* 30 times: 0, 100 times (1, 2), 3 */
        n = visit(100, input, n);
        input[n++] = 3;
    }
    for (unsigned exact = 0; exact < 2; exact++) {
        result = fold(n, exact, 256);
        assert_int_equal(result.sequence.count, 6);
        assert_int_equal(result.sequence.items[0].repeat, 30);
        assert_int_equal(result.sequence.items[0].span, 5);
        assert_int_equal(result.sequence.items[2].repeat, 100);
        assert_int_equal(result.sequence.items[3].what, 1);
        assert_int_equal(result.sequence.items[3].accesses, 30 * 100 * 2);
        psnap_arena_free(result.arena);
    }
}

/* Trip counts that differ from entry to entry fold into their mean. */
TEST(test_counts_are_averaged)
{
    struct result result;
    size_t n = 0;

    for (unsigned t = 2; t <= 100; t++)
        n = visit(t, input, n);
    result = fold(n, false, 256);
    assert_int_equal(result.sequence.count, 5); /* 99 times: 0, 51 times (1, 2) */
    assert_int_equal(result.sequence.items[0].repeat, 99);
    assert_int_equal(result.sequence.items[2].repeat, 51);
    psnap_arena_free(result.arena);
}

/* One sweep of a grid of `size` planes. */
static size_t sweep(unsigned size, uint32_t *out, size_t n)
{
    out[n++] = 2;
    for (unsigned i = 1; i < size; i++) {
        out[n++] = 3;
        out[n++] = 2;
        out[n++] = 2;
    }
    out[n++] = 3;
    out[n++] = 2;
    return n;
}

/* Visits of a multigrid cycle: two sweeps and then one more, on ever smaller grids. */
static size_t v_cycle(unsigned size, uint32_t *out, size_t n)
{
    for (; size >= 4; size /= 2) {
        out[n++] = 0;
        for (unsigned i = 0; i < 2; i++) {
            out[n++] = 1;
            for (unsigned j = 0; j < size; j++)
                out[n++] = 4;
            n = sweep(size, out, n);
        }
        n = sweep(size, out, n);
        out[n++] = 5;
    }
    return n;
}

/* Further rounds of a group within the last one are of that group, which may have groups in it:
 * cycles that differ in nothing but counts become one. */
TEST(test_cycles_of_nests_fold)
{
    enum { CYCLES = 8 };
    uint64_t wanted[64] = {0};
    struct result result;
    size_t n = 0;

    for (unsigned cycle = 0; cycle < CYCLES; cycle++)
        n = v_cycle(64, input, n);
    for (size_t i = 0; i < n; i++)
        wanted[input[i]] += input[i] + 1;
    result = fold(n, false, 256);
    assert_int_equal(result.sequence.count, 14); /* per grid: 0, twice (1, 4s, a sweep), 5 */
    assert_int_equal(result.sequence.items[0].span, 13);
    assert_int_equal(result.sequence.items[0].repeat, 5 * CYCLES);
    assert_amounts(&result.sequence, wanted);
    psnap_arena_free(result.arena);
}

/* Whatever comes: bounded, every index there, amounts kept. */
TEST(test_noise_stays_small)
{
    struct psnap_rng rng;

    psnap_rng_init(&rng, 2);
    for (unsigned round = 0; round < 8; round++) {
        uint64_t kinds = 2 + psnap_rng_below(&rng, 40), wanted[64] = {0};
        struct result result;
        size_t n = LONGEST / 4;
        for (size_t i = 0; i < n; i++) {
            input[i] = (uint32_t)psnap_rng_below(&rng, kinds);
            if (psnap_rng_below(&rng, 4) && i > 10)
                input[i] = input[i - 10];
            wanted[input[i]] += input[i] + 1;
        }
        result = fold(n, false, 256);
        assert_true(result.sequence.count <= 5 * 257);
        assert_amounts(&result.sequence, wanted);
        psnap_arena_free(result.arena);
    }
}

/* After a long time without order, order is found again: of other indices at once, of the same
 * ones when as much has passed again. */
TEST(test_order_after_noise)
{
    enum { NOISE = 60000, ROUNDS = 20000 };
    struct psnap_rng rng;

    psnap_rng_init(&rng, 3);
    for (uint32_t base = 0; base <= 10; base += 10) {
        struct result result;
        const struct psnap_sequence_item *group = NULL;
        size_t n = 0;
        while (n < NOISE)
            input[n++] = (uint32_t)psnap_rng_below(&rng, 9);
        for (uint32_t i = 0; i < 3 * ROUNDS; i++)
            input[n++] = base + i % 3;
        result = fold(n, false, 256);
        for (uint32_t i = 0; i < result.sequence.count; i++)
            if (result.sequence.items[i].what == PSNAP_NONE && result.sequence.items[i].span == 3)
                group = &result.sequence.items[i];
        assert_non_null(group);
        assert_true(group->repeat >= (base ? ROUNDS - 1 : ROUNDS / 8));
        psnap_arena_free(result.arena);
    }
}

/* More indices than are kept in order, in no order: each visit is quick, the result bounded. */
TEST(test_many_kinds_without_order)
{
    enum { KINDS = 20000, VISITS = 2000000 };
    struct result result = {.arena = psnap_arena_new()};
    struct fold folding;
    struct psnap_rng rng;
    uint64_t visits = 0;

    psnap_rng_init(&rng, 4);
    fold_init(&folding, false, 32, 256);
    for (uint32_t i = 0; i < VISITS; i++)
        assert_int_equal(fold_append(&folding, (uint32_t)psnap_rng_below(&rng, KINDS), 1),
                         PSNAP_OK);
    assert_true(folding.count < KINDS + 1000);
    assert_int_equal(fold_finish(&folding, result.arena, &result.sequence), PSNAP_OK);
    for (uint32_t i = 0; i < result.sequence.count; i++)
        visits += result.sequence.items[i].accesses;
    assert_int_equal(visits, VISITS);
    fold_release(&folding);
    psnap_arena_free(result.arena);
}
