/* SPDX-License-Identifier: BSD-3-Clause */
/* Canonical addresses: the table of layout.h by hand, and split and join as a bijection. */
#include "formats/base/layout.h"
#include "formats/base/rng.h"
#include "tests/unit/test.h"

static void check(uint64_t address, enum psnap_group group, uint32_t index, int64_t offset)
{
    const struct psnap_place place = psnap_layout_split(address);

    assert_int_equal(place.group, group);
    assert_int_equal(place.index, index);
    assert_true(place.offset == offset);
    assert_true(psnap_layout_join(place) == address);
}

TEST(windows_are_where_the_header_says)
{
    check(0, PSNAP_GROUP_RAW, 0, 0);
    check(UINT64_C(0xffffffffff), PSNAP_GROUP_RAW, 0, INT64_C(0xffffffffff));
    check(UINT64_C(0x10000000000), PSNAP_GROUP_IMAGE, 0, 0);
    check(UINT64_C(0x10100000010), PSNAP_GROUP_IMAGE, 1, 0x10);
    check(UINT64_C(0x1ffffffffff), PSNAP_GROUP_IMAGE, 255, INT64_C(0xffffffff));
    check(UINT64_C(0x20000000000), PSNAP_GROUP_HEAP, 0, 0);
    check(UINT64_C(0x2ffffffffff), PSNAP_GROUP_HEAP, 0, INT64_C(0xffffffffff));
    check(UINT64_C(0x30000000008), PSNAP_GROUP_MMAP, 0, 8);
    check(UINT64_C(0x40000000000), PSNAP_GROUP_STACK, 0, -INT64_C(0x80000000));
    check(UINT64_C(0x40080000000), PSNAP_GROUP_STACK, 0, 0);
    check(UINT64_C(0x4017ffffff0), PSNAP_GROUP_STACK, 1, -16);
    check(UINT64_C(0x401800000ff), PSNAP_GROUP_STACK, 1, 255);
    check(UINT64_C(0x50000000000), PSNAP_GROUP_RAW, 0, INT64_C(0x50000000000));
    check(UINT64_MAX, PSNAP_GROUP_RAW, 0, -1);
}

TEST(split_and_join_are_a_bijection)
{
    struct psnap_rng rng;
    unsigned groups[PSNAP_GROUP_COUNT] = {0};

    psnap_rng_init(&rng, 1);
    for (int i = 0; i < 200000; i++) {
        /* all magnitudes, so that every window is met */
        const uint64_t address = psnap_rng_next(&rng) >> psnap_rng_below(&rng, 64);
        const struct psnap_place place = psnap_layout_split(address);
        assert_true(psnap_layout_join(place) == address);
        groups[place.group]++;
    }
    for (int i = 0; i < PSNAP_GROUP_COUNT; i++)
        assert_true(groups[i] > 100);
}

TEST(groups_have_names)
{
    assert_string_equal(psnap_group_name(PSNAP_GROUP_RAW), "raw");
    assert_string_equal(psnap_group_name(PSNAP_GROUP_IMAGE), "image");
    assert_string_equal(psnap_group_name(PSNAP_GROUP_HEAP), "heap");
    assert_string_equal(psnap_group_name(PSNAP_GROUP_MMAP), "mmap");
    assert_string_equal(psnap_group_name(PSNAP_GROUP_STACK), "stack");
}
