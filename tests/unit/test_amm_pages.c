/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * First touches of pages and of their lines: by hand, and of random accesses against a list.
 */
#include "tests/unit/test.h"

#include "formats/base/rng.h"
#include "predict/amm/pages.h"
#include "tests/unit/test_simcore_support.h"

enum { REFS = 3, ACCESSES = 20000, PAGES = 1500 };

static void put(struct psnap_sink *sink, uint64_t address, uint32_t ref)
{
    const struct psnap_access access = {.address = address, .ref = ref, .size = 8};

    assert_int_equal(psnap_sink_put(sink, &access, 1, NULL), PSNAP_OK);
}

static void assert_touched(const struct psnap_sink *sink, uint32_t ref, uint64_t pages,
                           uint64_t fresh)
{
    const struct pages_touched touched = pages_of(sink, ref);

    assert_int_equal(touched.pages, pages);
    assert_int_equal(touched.fresh, fresh);
}

TEST(by_hand)
{
    struct psnap_program *program = program_with_refs(REFS);
    struct psnap_sink *sink = pages_new(program);

    assert_non_null(sink);
    assert_touched(sink, 0, 0, 0);
    put(sink, 0, 0);
    put(sink, 63, 0);
    put(sink, 64, 0);
    put(sink, 128, 1);
    put(sink, 4096, 1);
    put(sink, 4096 + 64, 2);
    put(sink, 4096, 2);
    assert_touched(sink, 0, 1, 2);
    assert_touched(sink, 1, 1, 2);
    assert_touched(sink, 2, 0, 1);
    for (uint64_t page = 2; page < PAGES_STILL_NEAR + 1; page++)
        put(sink, page << 12, 0);
    put(sink, 4096 + 192, 2); /* 256 pages ago, and the first one further */
    put(sink, 192, 2);
    assert_touched(sink, 0, PAGES_STILL_NEAR, PAGES_STILL_NEAR + 1);
    assert_touched(sink, 2, 0, 2);
    psnap_sink_free(sink);
    psnap_program_free(program);
}

TEST(by_list)
{
    struct psnap_program *program = program_with_refs(REFS);
    struct psnap_sink *sink = pages_new(program);
    uint64_t *order = calloc(PAGES, sizeof *order), *lines = calloc(PAGES, sizeof *lines);
    struct pages_touched expected[REFS] = {{0}};
    struct psnap_rng rng;
    uint64_t count = 0;

    assert_true(sink && order && lines);
    psnap_rng_init(&rng, 3);
    for (int i = 0; i < ACCESSES; i++) {
        const uint64_t page = psnap_rng_below(&rng, 1 + (uint64_t)i * PAGES / ACCESSES);
        const uint64_t line = psnap_rng_below(&rng, 64);
        const uint32_t ref = (uint32_t)psnap_rng_below(&rng, REFS);

        put(sink, (page << 32) + (page << 12) + 64 * line + psnap_rng_below(&rng, 64), ref);
        if (!order[page]) {
            order[page] = ++count;
            expected[ref].pages++;
        }
        if (!(lines[page] & UINT64_C(1) << line))
            expected[ref].fresh += count - order[page] < PAGES_STILL_NEAR;
        lines[page] |= UINT64_C(1) << line;
    }
    for (uint32_t ref = 0; ref < REFS; ref++)
        assert_touched(sink, ref, expected[ref].pages, expected[ref].fresh);
    assert_touched(sink, REFS, 0, 0);
    free(order);
    free(lines);
    psnap_sink_free(sink);
    psnap_program_free(program);
}
