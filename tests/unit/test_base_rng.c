/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The generator's output is promised for ever, so it is pinned to values that
 * do not come from our code: SplitMix64's and xoshiro256**'s published test
 * vectors, and values of an independent implementation (arbitrary-precision
 * integers) for seeds and streams.
 */
#include "formats/base/rng.h"
#include "tests/unit/test.h"

TEST(seeding_is_splitmix64)
{
    struct psnap_rng rng;

    psnap_rng_init(&rng, 1234567);
    assert_true(rng.state[0] == UINT64_C(6457827717110365317));
    assert_true(rng.state[1] == UINT64_C(3203168211198807973));
    assert_true(rng.state[2] == UINT64_C(9817491932198370423));
    assert_true(rng.state[3] == UINT64_C(4593380528125082431));
}

TEST(output_is_xoshiro256starstar)
{
    static const uint64_t expected[] = {
        11520u,
        0u,
        1509978240u,
        UINT64_C(1215971899390074240),
        UINT64_C(1216172134540287360),
        UINT64_C(607988272756665600),
        UINT64_C(16172922978634559625),
        UINT64_C(8476171486693032832),
        UINT64_C(10595114339597558777),
        UINT64_C(2904607092377533576),
    };
    struct psnap_rng rng = {{1, 2, 3, 4}};

    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++)
        assert_true(psnap_rng_next(&rng) == expected[i]);
}

TEST(seeds_give_pinned_streams)
{
    static const struct {
        uint64_t seed, first[4];
    } cases[] = {
        {0,
         {UINT64_C(0x99ec5f36cb75f2b4), UINT64_C(0xbf6e1f784956452a), UINT64_C(0x1a5f849d4933e6e0),
          UINT64_C(0x6aa594f1262d2d2c)}},
        {1,
         {UINT64_C(0xb3f2af6d0fc710c5), UINT64_C(0x853b559647364cea), UINT64_C(0x92f89756082a4514),
          UINT64_C(0x642e1c7bc266a3a7)}},
        {UINT64_MAX,
         {UINT64_C(0x8f5520d52a7ead08), UINT64_C(0xc476a018caa1802d), UINT64_C(0x81de31c0d260469e),
          UINT64_C(0xbf658d7e065f3c2f)}},
    };
    struct psnap_rng rng;
    uint64_t last = 0;

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        psnap_rng_init(&rng, cases[i].seed);
        for (size_t j = 0; j < 4; j++)
            assert_true(psnap_rng_next(&rng) == cases[i].first[j]);
    }
    psnap_rng_init(&rng, 7);
    for (int i = 0; i < 1000000; i++)
        last = psnap_rng_next(&rng);
    assert_true(last == UINT64_C(0x71a43f8082546a3f));
}

TEST(streams_are_pinned_and_differ)
{
    static const struct {
        uint64_t seed, stream, first[2];
    } cases[] = {
        {0, 0, {UINT64_C(0x8c4986f3f0e565d5), UINT64_C(0xf4547fdf5c2f56b6)}},
        {0, 1, {UINT64_C(0xe0465392203590b1), UINT64_C(0xfcf6982d159738fa)}},
        {1, 0, {UINT64_C(0x6082e9993631e7d5), UINT64_C(0xe9acc0d447272233)}},
        {42, 7, {UINT64_C(0x86286d6cefc1543), UINT64_C(0xf776f11c8aedb15c)}},
        {UINT64_MAX, UINT64_MAX, {UINT64_C(0xc5a099ec0b551753), UINT64_C(0x872ef9dd99506f7b)}},
    };
    enum { SIDE = 24 };
    uint64_t first[SIDE * SIDE];
    struct psnap_rng rng;

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        psnap_rng_init_stream(&rng, cases[i].seed, cases[i].stream);
        assert_true(psnap_rng_next(&rng) == cases[i].first[0]);
        assert_true(psnap_rng_next(&rng) == cases[i].first[1]);
    }
    for (uint64_t i = 0; i < SIDE * SIDE; i++) {
        psnap_rng_init_stream(&rng, i / SIDE, i % SIDE);
        first[i] = psnap_rng_next(&rng);
        for (uint64_t j = 0; j < i; j++)
            assert_true(first[i] != first[j]);
    }
}

TEST(below_is_bounded_and_even)
{
    static const unsigned expected[] = {0, 3, 6, 9, 9, 7, 7, 8, 7, 5, 6, 2, 8, 3, 7, 8, 6, 8, 7, 7};
    unsigned counts[10] = {0};
    struct psnap_rng rng;

    psnap_rng_init(&rng, 42);
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++)
        assert_int_equal(psnap_rng_below(&rng, 10), expected[i]);
    for (int i = 0; i < 100000; i++)
        counts[psnap_rng_below(&rng, 10)]++;
    for (int i = 0; i < 10; i++) /* standard deviation is 95 */
        assert_in_range(counts[i], 10000 - 500, 10000 + 500);
    assert_int_equal(psnap_rng_below(&rng, 1), 0);
}

/* Of three items each of the six orders comes as often, whatever the items' size; one stays. */
TEST(shuffles_are_even)
{
    enum { DRAWS = 60000 };
    struct {
        uint8_t number, rest[2];
    } items[3];
    int counts[27] = {0}, orders = 0;
    uint64_t one = 5;
    struct psnap_rng rng;

    psnap_rng_init(&rng, 1);
    for (int draw = 0; draw < DRAWS; draw++) {
        for (uint8_t i = 0; i < 3; i++) {
            items[i].number = i;
            items[i].rest[0] = items[i].rest[1] = (uint8_t)(10 * i);
        }
        psnap_rng_shuffle(&rng, items, 3, sizeof items[0]);
        for (int i = 0; i < 3; i++)
            assert_int_equal(items[i].rest[0] + items[i].rest[1], 20 * items[i].number);
        counts[9 * items[0].number + 3 * items[1].number + items[2].number]++;
    }
    for (int i = 0; i < 27; i++)
        if (counts[i]) {
            assert_in_range(counts[i], DRAWS / 6 - 500, DRAWS / 6 + 500); /* over five sigma */
            orders++;
        }
    assert_int_equal(orders, 6);
    psnap_rng_shuffle(&rng, &one, 1, sizeof one);
    psnap_rng_shuffle(&rng, NULL, 0, sizeof one);
    assert_int_equal(one, 5);
}
