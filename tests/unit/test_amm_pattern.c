/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Patterns of references: strides that repeat and such that do not, and the loads that bring the
 * lines of stores.
 */
#include "tests/unit/test.h"

#include "formats/base/rng.h"
#include "predict/amm/pattern.h"

enum { A, B, C, TABLE, SUM, REFS, STEPS = 1000 };

static struct psnap_program *program;
static struct psnap_sink *sink; /* of the program */

static void begin(struct psnap_rng *rng, uint64_t seed)
{
    static const uint8_t kinds[REFS] = {PSNAP_LOAD, PSNAP_LOAD, PSNAP_STORE, PSNAP_LOAD,
                                        PSNAP_STORE};

    program = psnap_program_new();
    psnap_program_add_block(program, &(struct psnap_block){.loop = PSNAP_NONE});
    for (uint32_t i = 0; i < REFS; i++)
        psnap_program_add_ref(program, &(struct psnap_ref){.loop = PSNAP_NONE, .kind = kinds[i]});
    sink = pattern_new(program);
    assert_non_null(sink);
    psnap_rng_init(rng, seed);
}

static void end(void)
{
    psnap_sink_free(sink);
    psnap_program_free(program);
}

static void put(uint32_t ref, uint64_t address)
{
    const struct psnap_access access = {
        .address = address, .ref = ref, .size = 8, .kind = ref == C || ref == SUM};

    assert_int_equal(psnap_sink_put(sink, &access, 1, NULL), PSNAP_OK);
}

/* c[i] = a[i] + b[i], and table[random] += 1; a[i] is b[i] when `same`. */
TEST(patterns)
{
    for (int same = 0; same < 2; same++) {
        enum runtime_pattern all[REFS];
        struct psnap_rng rng;
        struct psnap_error error;

        begin(&rng, 5);
        for (uint64_t i = 0; i < STEPS; i++) {
            const uint64_t place = 1 << 30 | psnap_rng_below(&rng, 100000) * 8;
            put(A, 8 * i);
            put(B, 65536 + 8 * i);
            put(TABLE, place);
            put(C, (same ? 65536 : 131072) + 8 * i);
            put(SUM, place);
        }
        assert_int_equal(pattern_all(sink, all, &error), PSNAP_OK);
        assert_int_equal(all[A], RUNTIME_REGULAR);
        assert_int_equal(all[C], RUNTIME_REGULAR);
        assert_int_equal(all[TABLE], RUNTIME_IRREGULAR);
        assert_int_equal(all[SUM], RUNTIME_IRREGULAR);
        assert_int_equal(pattern_partner(sink, C), same ? B : C);
        assert_int_equal(pattern_partner(sink, SUM), TABLE);
        assert_int_equal(pattern_partner(sink, A), PSNAP_NONE);
        assert_int_equal(pattern_partner(sink, REFS), PSNAP_NONE);
        end();
    }
}

/*
 * Large strides are not fetched ahead, but their addresses are known, and they may load indices: no
 * load of their loop is dependent. Alone, the random one is.
 */
TEST(large_strides)
{
    for (int alone = 0; alone < 2; alone++) {
        enum runtime_pattern all[REFS];
        struct psnap_rng rng;
        struct psnap_error error;

        begin(&rng, 7);
        for (uint64_t i = 0; i < STEPS; i++) { /* columns of 100 rows, of 2056 bytes */
            if (!alone)
                put(A, i % 100 * 2056 + i / 100 * 8);
            put(TABLE, 1 << 30 | psnap_rng_below(&rng, 100000) * 8);
        }
        assert_int_equal(pattern_all(sink, all, &error), PSNAP_OK);
        assert_int_equal(all[A], alone ? RUNTIME_REGULAR : RUNTIME_IRREGULAR);
        assert_int_equal(all[TABLE], alone ? RUNTIME_DEPENDENT : RUNTIME_IRREGULAR);
        end();
    }
}

/* a[i] = b[i] + c[i - 1] where b is a itself, one back or not; and a table of a few places. */
TEST(memory)
{
    for (uint64_t back = 0; back < 3; back++) {
        struct psnap_rng rng;

        begin(&rng, 6);
        for (uint64_t i = 8; i < STEPS; i++) {
            const uint64_t place = 1 << 30 | psnap_rng_below(&rng, 100) * 8;
            put(A, 8 * (i - back));
            put(C, 8 * i);
            put(TABLE, place);
            put(SUM, place);
            put(B, 65536 + 8 * i);
        }
        assert_int_equal(pattern_memory(sink, A), back == 1 ? PATTERN_CARRIED : PATTERN_FREE);
        assert_int_equal(pattern_memory(sink, B), PATTERN_FREE);
        assert_int_equal(pattern_memory(sink, TABLE), PATTERN_MEETS); /* some 8 of 100 */
        assert_int_equal(pattern_memory(sink, SUM), PATTERN_FREE);
        end();
    }
}
