/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pieces of an array that are gone over once they are there, as a merge sort does: they end where a
 * front is, are as long as a loop has iterations then, and another loop begins where that one did
 * (profile/walks/nest_around.c, nest_after_fit.c).
 */
#include "profile/edit/edit.h"
#include "tests/unit/test_nests_support.h"

enum { COPY = REFS, AGAIN = 2 * REFS, LONGEST = 100, LENGTH = 1 << 18 };

static void make_pieces(struct stream *stream, struct psnap_rng *rng)
{
    uint64_t front = HEAP + 8 * LONGEST;

    while (stream->count + 3 * LONGEST < ACCESSES) {
        const uint64_t n = 1 + psnap_rng_below(rng, LONGEST);
        add(stream, 0, front);
        for (uint64_t k = 0; k < n; k++)
            add(stream, COPY, front - 8 * n + 8 * k);
        for (uint64_t k = 0; k < n + psnap_rng_below(rng, 3); k++)
            add(stream, AGAIN, front - 8 * n + 8 * k);
        front += 8 * (1 + psnap_rng_below(rng, 30));
    }
}

/* How many pieces there are, and how many of them do not end at the front, or are not begun with
 * again; where the front is at last. */
static uint32_t count_others(struct psnap_profile *profile, uint32_t *pieces, uint64_t element,
                             uint64_t *front)
{
    struct psnap_source *source = psnap_replay_new(profile, 3, NULL);
    uint32_t others = 0, before = PSNAP_NONE;
    struct psnap_access block[64];
    uint64_t start = 0, last = 0;
    ssize_t got;

    assert_non_null(source);
    *pieces = 0;
    while ((got = psnap_source_next(source, block, 64, NULL)) > 0)
        for (ssize_t i = 0; i < got; i++) {
            const uint32_t loop = loop_of(source, &block[i]);
            const uint64_t address = block[i].address;
            if (loop != before && before == 1)
                others += last + element != *front;
            if (loop != before && loop == 2)
                others += address != start;
            *pieces += loop == 0;
            *front = loop == 0 ? address : *front;
            start = loop == 1 && before != 1 ? address : start;
            last = address;
            before = loop;
        }
    psnap_source_free(source);
    return others;
}

static struct psnap_profile *twice_as_wide(const struct psnap_profile *profile)
{
    static const char *const heap[] = {"heap"};
    const struct psnap_edit edit = {PSNAP_EDIT_SPAN, .regions = heap, .region_count = 1, .times = 2,
                                    .over = 1};
    char *text = write_text(profile);
    struct psnap_profile *made = read_text(text);
    struct psnap_error error = {0};
    uint32_t loop, region;

    free(text);
    for (uint32_t i = 0; i < made->loop_count; i++)
        for (uint32_t k = 0; k < made->loops[i].region_count; k++)
            made->loops[i].regions[k].object = "heap";
    if (psnap_profile_edit(made, &edit, &loop, &region, &error))
        fail_msg("%s", error.message);
    return made;
}

static void test_pieces(void **state)
{
    struct psnap_program *program = make_program(LOOPS, REFS);
    struct stream stream = new_stream();
    struct psnap_profile *profile, *wide;
    uint32_t pieces, same, others;
    uint64_t front = 0;
    struct psnap_rng rng;
    char *text;

    (void)state;
    psnap_rng_init(&rng, 8);
    make_pieces(&stream, &rng);
    profile = profile_of(program, &stream);
    assert_non_null(profile->nests);
    text = write_text(profile);
    assert_non_null(strstr(text, "each: -8"));
    assert_non_null(strstr(text, "start_of: d"));
    others = count_others(profile, &pieces, 8, &front);
    assert_in_range(others, 0, pieces / 50);
    assert_true(pieces > 300);
    wide = twice_as_wide(profile);
    others = count_others(wide, &same, 16, &front);
    assert_in_range(others, 0, pieces / 50);
    assert_int_equal(same, pieces);
    psnap_profile_free(wide);
    assert_refused(text, "each: -8", "each: 2000000", "2000000");
    assert_refused(text, "around: d", "abound: d", "abound");
    assert_refused(text, "start_of: d", "start_of: d9", "there is no 'd9");
    free(text);
    assert_is_its_text(profile);
    psnap_profile_free(profile);
    free(stream.accesses);
    psnap_program_free(program);
}

/* What stays behind where it began goes with its own start: read as it was written. */
static void test_own_start(void **state)
{
    struct psnap_program *program = make_program(LOOPS, REFS);
    struct stream stream = new_stream();
    struct psnap_profile *profile;
    struct psnap_rng rng;
    char *text;

    (void)state;
    psnap_rng_init(&rng, 1);
    while (stream.count + 20 < ACCESSES) {
        const uint64_t at = HEAP + 64 * psnap_rng_below(&rng, 1 << 16);
        add(&stream, 0, at);
        for (uint64_t n = 2 + psnap_rng_below(&rng, 5); n; n--)
            add(&stream, 0, at + 24);
        for (uint64_t n = 1 + psnap_rng_below(&rng, 4); n; n--)
            add(&stream, COPY, HEAP + (1 << 24) + 64 * psnap_rng_below(&rng, 1 << 16));
    }
    profile = profile_of(program, &stream);
    assert_non_null(profile->nests);
    text = write_text(profile);
    assert_non_null(strstr(text, "start_of: d1"));
    free(text);
    assert_is_its_text(profile);
    psnap_profile_free(profile);
    free(stream.accesses);
    psnap_program_free(program);
}

/* A reference that goes with the start of one before it, in the same leaf: the same in columns as
 * access by access. And a start is of one draw. */
static void test_start_beside(void **state)
{
    static const char text[] =
        "psnap: 1\n"
        "capture: {model: walks-2}\n"
        "schedule:\n"
        "- repeat: 4\n"
        "  of:\n"
        "  - loop: f\n"
        "    times: 3\n"
        "    references: [{ref: 0, load: 8, draw: d1}, {ref: 1, load: 8, draw: d3}]\n"
        "  - {loop: g, times: 1, references: [{ref: 0, load: 8, draw: d4}]}\n"
        "models:\n"
        "  draws:\n"
        "  - {draw: d1, loop: f, areas: [{region: r1, start: 0, accesses: 1, bytes: 96, element: 8,"
        " places: sweep, sweep_bytes: 24}]}\n"
        "  - {draw: d2, loop: f, start_of: d1}\n"
        "  - {draw: d3, loop: f, with: d2, offset: 0}\n"
        "  - {draw: d4, loop: g, areas: [{region: r1, start: 0, accesses: 1, bytes: 96,"
        " element: 8}]}\n"
        "loops:\n"
        "- {id: f, nest: {depth: 0}, accesses: 24, pattern: [r1], regions: [\n"
        "  {id: r1, working_set: {bytes: 96, group: heap, offset: 0},\n"
        "   accesses: 24, loads: 24, sizes: {8: 24}, strides: {8: 23}}]}\n"
        "- {id: g, nest: {depth: 0}, accesses: 4, pattern: [r1], regions: [\n"
        "  {id: r1, working_set: {bytes: 96, group: heap, offset: 0},\n"
        "   accesses: 4, loads: 4, sizes: {8: 4}, strides: {8: 3}}]}\n";
    struct psnap_profile *profile = read_text(text);

    (void)state;
    assert_is_its_walks(profile, 1);
    psnap_profile_free(profile);
    assert_refused(text, "loop: g, areas: [",
                   "loop: g, start_of: d1}\n  - {draw: d5, loop: g, areas: [",
                   "another draw has this start already");
}

/* Steps of 8 and 0, as often, come evenly: nowhere is it further than two from half way. */
static void test_turns(void **state)
{
    static const char text[] =
        "psnap: 1\n"
        "capture: {model: walks-2}\n"
        "schedule:\n"
        "- {loop: f, times: 1000, references: [{ref: 0, load: 8, draw: d1}]}\n"
        "models:\n"
        "  draws:\n"
        "  - draw: d1\n"
        "    loop: f\n"
        "    entry: {areas: [{region: r1, start: 0, accesses: 1, bytes: 8, element: 8}]}\n"
        "    after: [{back: 0, offset: 8}, {back: 0, offset: 0}]\n"
        "loops:\n"
        "- {id: f, nest: {depth: 0}, accesses: 1000, pattern: [r1], regions: [\n"
        "  {id: r1, working_set: {bytes: 8000, group: heap, offset: 0},\n"
        "   accesses: 1000, loads: 1000, sizes: {8: 1000}, strides: {8: 999}}]}\n";
    struct psnap_profile *profile = read_text(text);
    struct psnap_source *source = psnap_replay_new(profile, 1, NULL);
    struct psnap_access block[1000];
    ssize_t got, n = 0;

    (void)state;
    assert_non_null(source);
    while ((got = psnap_source_next(source, block + n, (size_t)(1000 - n), NULL)) > 0)
        n += got;
    assert_int_equal(n, 1000);
    for (ssize_t i = 0; i < n; i++)
        assert_in_range(8 + (block[i].address - block[0].address) / 8 - (uint64_t)i / 2, 6, 10);
    psnap_source_free(source);
    assert_is_its_walks(profile, 1);
    psnap_profile_free(profile);
}

/* The same, copied by a loop that is unrolled four times: halves behind the front, of few lengths,
 * so that how many iterations there are tells what is left over; and from their end on up to the
 * front. */
enum { LEFT_OVER = 3 * REFS, OTHERS = 4 * REFS };

static void make_halves(struct stream *stream, struct psnap_rng *rng)
{
    static const uint64_t lengths[] = {13, 30, 44, 75, 122};
    uint64_t front = HEAP + ((uint64_t)16 << 10);

    add(stream, 0, front);
    while (stream->count + 300 < ACCESSES) {
        const uint64_t n = lengths[psnap_rng_below(rng, 5)];
        uint64_t start;
        for (uint64_t k = psnap_rng_below(rng, 3); k; k--) { /* others, in no order */
            add(stream, OTHERS + REFS * (unsigned)psnap_rng_below(rng, 3), HEAP + 64 * k);
            add(stream, 0, front += 8 * (1 + psnap_rng_below(rng, 30)));
        }
        start = front - 16 * n;
        for (uint64_t k = 0; k < n / 4; k++)
            add(stream, COPY, start + 32 * k);
        for (uint64_t k = n - n % 4; k < n; k++)
            add(stream, LEFT_OVER, start + 8 * k);
        for (uint64_t k = 0; k < n && psnap_rng_below(rng, 8 * n); k++)
            add(stream, AGAIN, start + 8 * n + 8 * k);
    }
}

/* How many halves do not begin as far before the front as they are long, or do not go on where the
 * copy ended, be it without anything left over. */
static uint32_t count_wrong_halves(struct psnap_profile *profile, uint32_t *halves)
{
    struct psnap_source *source = psnap_replay_new(profile, 5, NULL);
    uint32_t wrong = 0, before = PSNAP_NONE;
    uint64_t start = 0, end = 0, front = 0;
    struct psnap_access block[64];
    ssize_t got;

    assert_non_null(source);
    *halves = 0;
    while ((got = psnap_source_next(source, block, 64, NULL)) > 0)
        for (ssize_t i = 0; i < got; i++) {
            const uint32_t loop = loop_of(source, &block[i]);
            const uint64_t address = block[i].address;
            front = loop == 0 ? address : front;
            start = loop == 1 && before != 1 ? address : start;
            end = loop == 1 ? address + 32 : loop == 3 ? address + 8 : end;
            if (loop == 2 && before != 2) {
                wrong += address != end || front - start != 2 * (end - start);
                ++*halves;
            }
            before = loop;
        }
    psnap_source_free(source);
    return wrong;
}

static void test_left_over(void **state)
{
    struct psnap_program *program = make_program(LOOPS, REFS);
    struct stream stream = new_stream();
    struct psnap_profile *profile;
    struct psnap_rng rng;
    uint32_t halves;
    char *text;

    (void)state;
    program->loops[3].src_id = program->loops[1].src_id;
    psnap_rng_init(&rng, 9);
    make_halves(&stream, &rng);
    profile = profile_of(program, &stream);
    assert_non_null(profile->nests);
    text = write_text(profile);
    assert_non_null(strstr(text, "rest_of: "));
    assert_non_null(strstr(text, "each: -64"));
    assert_non_null(strstr(text, "each_rest: -16"));
    assert_in_range(count_wrong_halves(profile, &halves), 0, 2);
    assert_true(halves > 300);
    assert_refused(text, "each_rest: -16", "each_rest: 2000000", "2000000");
    free(text);
    assert_is_its_text(profile);
    psnap_profile_free(profile);
    free(stream.accesses);
    psnap_program_free(program);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pieces), cmocka_unit_test(test_own_start),
        cmocka_unit_test(test_start_beside), cmocka_unit_test(test_turns),
        cmocka_unit_test(test_left_over)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
