/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * References that come back to their own earlier addresses, as the bounds of what is divided again
 * and again do, and others that go on from where these came back (profile/walks/nest_past.h,
 * nest_after.c).
 */
#include "profile/edit/edit.h"
#include "profile/walks/nest_past.h"
#include "tests/unit/test_nests_support.h"

/* A stack: what is in it is gone back to, and what was above it is forgotten. */
static void test_past(void **state)
{
    struct nest_past past = {.is_begun = false};

    (void)state;
    assert_int_equal(nest_past_put(&past, 100), 0);
    assert_int_equal(past.addresses[NEST_PAST - 1], 100);
    for (uint64_t at = 101; at < 110; at++)
        assert_int_equal(nest_past_put(&past, at), NEST_PAST);
    assert_int_equal(nest_past_put(&past, 109), 0);
    assert_int_equal(nest_past_put(&past, 106), 3);
    assert_int_equal(past.left, 107);
    assert_int_equal(past.addresses[1], 105);
    assert_int_equal(nest_past_put(&past, 107), NEST_PAST);
    assert_int_equal(nest_past_put(&past, 100), 7);
    assert_int_equal(past.left, 101);
    assert_int_equal(past.addresses[1], 100);
    for (uint64_t at = 200; at < 200 + NEST_PAST; at++)
        assert_int_equal(nest_past_put(&past, at), NEST_PAST);
    assert_int_equal(past.addresses[NEST_PAST - 1], 200);
    assert_int_equal(nest_past_put(&past, 100), NEST_PAST);
}

static const char text[] =
    "psnap: 1\n"
    "capture: {model: walks-2}\n"
    "schedule:\n"
    "- repeat: 1000\n"
    "  of:\n"
    "  - loop: f\n"
    "    times: 1\n"
    "    references:\n"
    "    - {ref: 0, load: 8, draw: d1}\n"
    "    - {ref: 1, load: 8, draw: d2}\n"
    "    - {ref: 2, load: 8, draw: d3}\n"
    "models:\n"
    "  draws:\n"
    "  - draw: d1\n"
    "    loop: f\n"
    "    areas: [{region: r1, start: 0, accesses: 1000, bytes: 80000, element: 8}]\n"
    "  - draw: d2\n"
    "    loop: f\n"
    "    within: {region: r1, start: 8, bytes: 79984}\n"
    "    after: [{back: 1, offset: 8, times: 5}, {earlier: 2, times: 4}, {earlier: 1, times: 2}]\n"
    "  - {draw: d3, loop: f, after: [{left: d2, offset: -8}]}\n"
    "loops:\n"
    "- {id: f, nest: {depth: 0}, accesses: 3000, pattern: [r1], regions: [\n"
    "  {id: r1, working_set: {bytes: 80000, group: heap, offset: 0},\n"
    "   accesses: 3000, loads: 3000, sizes: {8: 3000}, strides: {8: 2999}}]}\n";

/* Each address of the second reference is behind that of the first, or where a stack of them says,
 * and those of the third where it came back from; how often it came back. */
static uint32_t count_back(struct psnap_profile *profile, uint64_t element)
{
    struct psnap_source *source = psnap_replay_new(profile, 1, NULL);
    struct nest_past past = {.is_begun = false};
    struct psnap_access block[64];
    uint32_t counts[3] = {0}, at;
    uint64_t first = 0;
    ssize_t got;

    assert_non_null(source);
    while ((got = psnap_source_next(source, block, 63, NULL)) > 0)
        for (ssize_t i = 0; i < got; i++)
            if (i % 3 == 0) {
                first = block[i].address;
            } else if (i % 3 == 1) {
                at = nest_past_put(&past, block[i].address);
                assert_true(at <= 1 || block[i].address == first + element);
                counts[at <= 1 ? at : 2]++;
            } else {
                assert_int_equal(block[i].address, past.left - element);
            }
    psnap_source_free(source);
    assert_in_range(counts[0], 100, 300); /* of 1000, two in eleven, */
    assert_in_range(counts[1], 250, 450); /* four, */
    assert_in_range(counts[2], 350, 550); /* and five */
    return counts[1];
}

/* What is written by hand. */
static void test_text(void **state)
{
    struct psnap_profile *profile = read_text(text), *wide;
    const struct psnap_edit edit = {PSNAP_EDIT_SPAN, .regions = (const char *const[]){"heap"},
                                    .region_count = 1, .times = 2, .over = 1};
    struct psnap_error error = {0};
    uint32_t loop, region;

    (void)state;
    assert_is_its_walks(profile, 1);
    assert_is_its_text(profile);
    wide = read_text(text);
    wide->loops[0].regions[0].object = "heap";
    if (psnap_profile_edit(wide, &edit, &loop, &region, &error))
        fail_msg("%s", error.message);
    assert_int_equal(count_back(wide, 16), count_back(profile, 8));
    psnap_profile_free(wide);
    psnap_profile_free(profile);
    assert_refused(text, "earlier: 2", "earlier: 9", "9");
    assert_refused(text, "earlier: 2", "earlier: 0", "0");
    assert_refused(text, "{earlier: 2, ", "{earlier: 2, offset: 8, ", "offset");
    assert_refused(text, "{left: d2", "{left: d1", "'left' is of a draw that comes back");
    assert_refused(text, "{left: d2", "{left: d4", "there is no 'd4'");
    assert_refused(text, "{left: d2, ", "{left: d2, with: d1, ", "'left' or 'with', not both");
    assert_refused(text, "{left: d2, ", "{left: d2, back: 1, ", "has 'back' or");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_past), cmocka_unit_test(test_text)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
