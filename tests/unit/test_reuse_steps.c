/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Steps within a line: their shares, against counts that are added up here, and the commonest ones.
 */
#include "tests/unit/test.h"

#include "formats/base/rng.h"
#include "profile/address/reuse.h"

enum { NOTES = 20000, BYTES = 2 * REUSE_LINE - 1 };

/* Records of 20 bytes, now and then another one of the line, now and then anywhere. */
TEST(shares_are_those_of_the_steps)
{
    struct reuse_collector collector = {0};
    const uint32_t objects[1] = {0};
    uint64_t counts[BYTES] = {0}, kept = 0;
    struct psnap_rng rng;
    struct reuse *reuses;
    uint32_t count, phases;
    unsigned last = 0;

    psnap_rng_init_stream(&rng, 7, 1);
    for (uint64_t i = 0; i < NOTES; i++) {
        unsigned byte = last;
        if (!psnap_rng_below(&rng, 3))
            byte = (unsigned)psnap_rng_below(&rng, 3) * 20;
        if (!psnap_rng_below(&rng, 20))
            byte = (unsigned)psnap_rng_below(&rng, REUSE_LINE);
        assert_true(reuse_note(&collector, 4096 + byte, i, 17, last, 1));
        counts[byte - last + REUSE_LINE - 1]++;
        last = byte;
    }
    assert_true(reuse_take(&collector, objects, NOTES, &reuses, &count, &phases));
    assert_int_equal(count, 1);
    assert_true(reuses->steps.count > 2 && reuses->steps.count <= REUSE_STEPS);
    assert_int_equal(reuses->steps.steps[0].bytes, 0);
    for (uint32_t i = 0; i < reuses->steps.count; i++) {
        const struct reuse_step *step = &reuses->steps.steps[i];
        const uint64_t wanted = counts[step->bytes + REUSE_LINE - 1] * 100;
        assert_in_range(step->count * NOTES, wanted - NOTES / 2, wanted + NOTES / 2);
        assert_true(!i || step->count <= step[-1].count);
        kept += step->count;
    }
    assert_int_equal(kept + reuses->steps.elsewhere, 100);
    reuse_release(reuses, count);
    reuse_collector_release(&collector);
}
