/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What streams of several cores are made with: a spool that does not fit in memory, caches that
 * cores have in groups, and threads of a recorded run that wait for each other.
 */
#include "tests/unit/test.h"

#include "formats/base/rng.h"
#include "predict/multicore/spool.h"
#include "predict/predict.h"
#include "test_multicore_support.h"
#include "tests/unit/vectors.h"

/* More than memory holds, twice: what was spooled comes back. */
TEST(test_spool)
{
    const uint64_t count = SPOOL_MEMORY + 100000;
    struct psnap_access block[1000];
    struct psnap_error error;
    struct spool spool;

    assert_int_equal(spool_init(&spool, &error), PSNAP_OK);
    for (uint64_t round = 0; round < 2; round++) {
        uint64_t at_number = 0;
        ptrdiff_t n;

        spool_clear(&spool);
        for (uint64_t i = 0; i < count; i++) {
            const struct psnap_access access = {.address = i * 3 + round, .size = 8};
            assert_int_equal(spool_add(&spool, &access, &error), PSNAP_OK);
        }
        assert_int_equal(spool_end(&spool, &error), PSNAP_OK);
        while ((n = spool_read(&spool, at_number, block, 1000, &error)) > 0)
            for (ptrdiff_t i = 0; i < n; i++)
                assert_int_equal(block[i].address, 3 * at_number++ + round);
        assert_int_equal(n, 0);
        assert_int_equal(at_number, count);
        assert_int_equal(spool_read(&spool, SPOOL_MEMORY + 77, block, 1, &error), 1);
        assert_int_equal(block[0].address, 3 * (SPOOL_MEMORY + 77) + round);
    }
    spool_release(&spool);
}

/* Where no file can be made it says so, once memory is full. */
TEST(test_no_file)
{
    const struct psnap_access access = {.size = 8};
    enum psnap_status status = PSNAP_OK;
    struct psnap_error error;
    struct spool spool;
    uint64_t count = 0;

    assert_int_equal(setenv("TMPDIR", "/nonexistent", 1), 0);
    assert_int_equal(spool_init(&spool, &error), PSNAP_OK);
    for (; !status && count < 2 * SPOOL_MEMORY; count++)
        status = spool_add(&spool, &access, &error);
    assert_int_equal(status, PSNAP_ERROR_IO);
    assert_true(count > SPOOL_MEMORY);
    assert_non_null(strstr(error.message, "TMPDIR"));
    spool_release(&spool);
    assert_int_equal(unsetenv("TMPDIR"), 0);
}

TEST(test_groups)
{
    enum { COUNT = 5000 };
    static struct psnap_access stream[COUNT];
    struct psnap_error error;
    struct psnap_rng rng;

    psnap_rng_init(&rng, 3);
    for (size_t i = 0; i < COUNT; i++)
        stream[i] =
            (struct psnap_access){.address = i, .thread = (uint16_t)psnap_rng_below(&rng, 9)};
    for (uint16_t share = 1; share < 10; share++) {
        struct psnap_sink *all = vector_sink_new(), *groups = psnap_groups_new(all, share);
        const struct psnap_access *got;
        size_t n;

        assert_int_equal(psnap_sink_put(groups, stream, COUNT, &error), PSNAP_OK);
        got = vector_sink_data(all, &n);
        assert_int_equal(n, COUNT);
        for (uint16_t cache = 0; cache < 9; cache++)
            for (size_t i = 0, k = 0; i < COUNT; i++) {
                if (got[i].thread != cache)
                    continue;
                while (stream[k].thread / share != cache)
                    k++;
                assert_int_equal(got[i].address, stream[k++].address);
            }
        psnap_sink_free(groups);
        psnap_sink_free(all);
    }
}

/* Caches are numbered up to the cores that there may be, however many threads a stream has. */
TEST(test_many_groups)
{
    struct psnap_access access = {.size = 1, .thread = 2 * PSNAP_CORES_MAX - 1};
    struct psnap_error error;

    for (uint32_t share = 1; share <= 2; share++) {
        struct psnap_sink *all = vector_sink_new(), *groups = psnap_groups_new(all, share);
        const enum psnap_status status = psnap_sink_put(groups, &access, 1, &error);
        size_t n;

        vector_sink_data(all, &n);
        assert_int_equal(status, share == 2 ? PSNAP_OK : PSNAP_ERROR_VALUE);
        assert_int_equal(n, share == 2);
        psnap_sink_free(groups);
        psnap_sink_free(all);
    }
}

/* Threads of a recorded run meet where sections begin and end, and at barriers. */
TEST(threads_are_aligned)
{
    struct psnap_program *program = program_with_marks();
    struct list threads[2] = {listed("st{[ab]|x}z"), listed("{[fgh]|y}")};
    struct psnap_source *sources[2];

    for (int t = 0; t < 2; t++) {
        for (size_t i = 0; i < threads[t].count; i++)
            threads[t].items[i].thread = (uint16_t)t;
        sources[t] = vector_source_new(threads[t].items, threads[t].count, program);
    }
    expect(read_all(psnap_aligned_new(sources, 2, program)), "0s 0t 0a 1f 0b 1g 1h 0x 1y 0z");
    free(threads[0].items);
    free(threads[1].items);
    psnap_program_free(program);
}
