/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * References that come back to their own earlier addresses, as the bounds of what is divided again
 * and again do, and others that go on from where these came back (profile/walks/nest_past.h,
 * nest_after_fit.c).
 */
#include "profile/edit/edit.h"
#include "profile/walks/nest_draws.h"
#include "profile/walks/nest_past.h"
#include "tests/unit/test_nests_support.h"

enum { LOW, MIDDLE, HIGH, SPLIT, ALL, SMALLEST = 16, PARTS = 5000, DEEPEST = 1000 };

/* The ranges of a quicksort, one after the other: each is split somewhere, the upper part comes
 * first, and the lower one when all of that is done; small ones do not come. */
struct ranges {
    uint64_t starts[DEEPEST], ends[DEEPEST];
    uint32_t count;
};

/* The next one, from the top; false: there is none. */
static bool next_range(struct ranges *ranges, uint64_t *start, uint64_t *end)
{
    do {
        if (!ranges->count--)
            return false;
        *start = ranges->starts[ranges->count];
        *end = ranges->ends[ranges->count];
    } while (*end - *start <= SMALLEST);
    return true;
}

static void add_range(struct ranges *ranges, uint64_t start, uint64_t end)
{
    assert_true(ranges->count < DEEPEST);
    ranges->starts[ranges->count] = start;
    ranges->ends[ranges->count++] = end;
}

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

/* Three references of one line: the bounds of ranges, and what is between them, which is no copy of
 * these. */
static void test_bounds(void **state)
{
    const struct psnap_object object = {.address = HEAP, .size_bytes = 8 << 17, .name = "a"};
    struct psnap_program *program = make_program(1, ALL);
    struct nest_draws *draws = nest_draws_new(program);
    struct ranges ranges = {.count = 0};
    uint32_t own[ALL], *numbers, count;
    const struct nest_source *low, *high;
    struct nest_draw *taken;
    struct psnap_rng rng;
    uint64_t start, end, back = 0;

    (void)state;
    psnap_rng_init(&rng, 3);
    psnap_program_add_object(program, &object);
    program->loops[0].src_id = "f:1";
    for (uint32_t ref = 0; ref < ALL; ref++) {
        program->refs[ref].src_line = 1 + (ref == SPLIT);
        own[ref] = nest_draws_add(
            draws, &(struct nest_ref){.ref = ref, .size = 8, .mode = NEST_DRAWN}, HEAP);
    }
    add_range(&ranges, 0, 1 << 17);
    for (int i = 0; i < PARTS && next_range(&ranges, &start, &end); i++) {
        const uint64_t split = start + 1 + psnap_rng_below(&rng, end - start - 1);
        nest_draws_put(draws, own[LOW], false, HEAP + 8 * start);
        nest_draws_put(draws, own[MIDDLE], false, HEAP + 8 * ((start + end) / 2));
        nest_draws_put(draws, own[HIGH], false, HEAP + 8 * end - 8);
        nest_draws_put(draws, own[SPLIT], false, HEAP + 8 * split);
        add_range(&ranges, start, split);
        add_range(&ranges, split, end);
    }
    taken = nest_draws_take(draws, &count);
    numbers = nest_draws_number(draws);
    assert_true(taken && numbers);
    assert_int_equal(count, ALL);
    low = &taken[numbers[own[LOW]]].rest;
    high = &taken[numbers[own[HIGH]]].rest;
    assert_int_equal(low->after[0].back, 1);
    assert_int_equal(low->after[0].offset, 0);
    for (uint32_t i = 1; i < low->after_count; i++)
        back |= UINT64_C(1) << low->after[i].earlier;
    assert_int_equal(back & 6, 6);
    assert_int_equal(low->low, HEAP);
    assert_true(high->after_count);
    for (uint32_t i = 0; i < high->after_count; i++)
        if (high->after[i].is_left) {
            assert_int_equal(high->after[i].draw, 1 + numbers[own[LOW]]);
            assert_int_equal(high->after[i].offset, -8);
            back |= 1;
        }
    assert_true(back & 1);
    assert_int_equal(taken[numbers[own[MIDDLE]]].rest.around, numbers[own[LOW]]);
    free(numbers);
    free(taken);
    nest_draws_free(draws);
    psnap_program_free(program);
}

/* As many accesses as there is room for: bounds, and a scan from the lower one on to the split. */
static void make_ranges(struct stream *stream)
{
    struct ranges ranges = {.count = 0};
    struct psnap_rng rng;
    uint64_t start, end;

    psnap_rng_init(&rng, 5);
    add_range(&ranges, 0, 1 << 14);
    while (stream->count + 5 < ACCESSES && next_range(&ranges, &start, &end)) {
        const uint64_t split = start + 1 + psnap_rng_below(&rng, end - start - 1);
        add(stream, 0, HEAP + 8 * start);
        add(stream, 1, HEAP + 8 * end - 8);
        for (uint64_t n = 1 + psnap_rng_below(&rng, 3); n; n--)
            add(stream, REFS, HEAP + 8 * split);
        add_range(&ranges, start, split);
        add_range(&ranges, split, end);
    }
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
    "  - draw: d3\n"
    "    loop: f\n"
    "    within: {region: r1, start: 0, bytes: 80000}\n"
    "    after: [{left: d2, offset: -8}]\n"
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
    assert_int_equal(wide->nests->models->draws[1].rest.span_bytes, 2 * 79984);
    psnap_profile_free(wide);
    psnap_profile_free(profile);
    assert_refused(text, "earlier: 2", "earlier: 9", "9");
    assert_refused(text, "earlier: 2", "earlier: 0", "0");
    assert_refused(text, "{earlier: 2, ", "{earlier: 2, offset: 8, ", "offset");
    assert_refused(text, "{left: d2", "{left: d1", "'left' is of a draw that comes back");
    assert_refused(text, "{left: d2", "{left: d4", "there is no 'd4'");
    assert_refused(text, "{left: d2, ", "{left: d2, with: d1, ", "'left' or 'with', not both");
    assert_refused(text, "{left: d2, ", "{left: d2, back: 1, ", "has 'back' or");
    assert_refused(text, "    within: {region: r1, start: 0, bytes: 80000}\n", "", "need 'within'");
    assert_refused(text, "    within: {region: r1, start: 8, bytes: 79984}\n", "", "need 'within'");
}

/* Recorded, it is found, and said in words that are read again. */
static void test_recorded(void **state)
{
    struct psnap_program *program = make_program(LOOPS, REFS);
    struct stream stream = new_stream();
    struct psnap_profile *profile;
    char *written;

    (void)state;
    make_ranges(&stream);
    profile = profile_of(program, &stream);
    assert_non_null(profile->nests);
    written = write_text(profile);
    assert_non_null(strstr(written, "{earlier: 2, "));
    assert_non_null(strstr(written, "{left: d"));
    free(written);
    assert_is_its_walks(profile, 1);
    assert_drawn(program, &stream, profile, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_past), cmocka_unit_test(test_bounds),
                                       cmocka_unit_test(test_text),
                                       cmocka_unit_test(test_recorded)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
