/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Profiles with walks as text: what replay gives is what was read, or it is refused with the
 * place of what is wrong; and numbers of references are bounded.
 */
#include "tests/unit/test_nests_support.h"

static const char walks[] = WALKED_TRIANGLE "loops:\n"
                                            "- id: f\n"
                                            "  nest: {depth: 0}\n"
                                            "  accesses: 9\n"
                                            "  pattern: [r1]\n"
                                            "  regions:\n"
                                            "  - id: r1\n"
                                            "    working_set: {bytes: 96, group: heap, offset: 0}\n"
                                            "    accesses: 9\n"
                                            "    loads: 9\n"
                                            "    sizes: {8: 9}\n"
                                            "    strides: {8: 8}\n";

static void test_refused(void **state)
{
    (void)state;
    psnap_profile_free(read_text(walks));
    assert_refused(walks, "[32, 8]", "[8]", "there must be 2");
    assert_refused(walks, "steps: [-1]", "steps: [-1, 0]", "there must be 1");
    assert_refused(walks, "region: r1", "region: r2", "no region 'r2'");
    assert_refused(walks, "loop: f", "loop: g", "no loop 'g'");
    assert_refused(walks, "load: 8", "load: 8, store: 8", "one of load, store and atomic");
    assert_refused(walks, "load: 8, ", "", "a load, a store or an atomic");
    assert_refused(walks, "load: 8", "load: 65", "65");
    assert_refused(walks, "load: 8", "store: 8", "has 9 loads in its regions");
    assert_refused(walks, "load: 8", "load: 4", "has 72 bytes in its regions");
    assert_refused(walks, "[32, 8]", "[64, 8]", "lead 48 bytes out");
    assert_refused(walks, "start: 0", "start: -8", "lead 8 bytes out");
    assert_refused(walks, "[32, 8]", "[32, -9223372036854775807]", "out of the working sets");
    assert_refused(walks, "repeat: 3", "repeat: 4", "comes to 10");   /* 4 + 3 + 2 + 1 */
    assert_refused(walks, "repeat: 3", "repeat: 100", "comes to 10"); /* none is negative */
    assert_refused(walks, "repeat: 3", "repeat: 72057594037927936", "more than can be counted");
    assert_refused(walks, "schedule:\n", "schedule:\n- f\n", "no name such as m1");
    assert_refused(walks, "times: {first: 4, steps: [-1]}", "tames: 4", "tames");
    assert_refused(walks, "of:", "off:", "off");
}

static const char models[] =
    "psnap: 1\n"
    "capture: {model: walks-2}\n"
    "schedule:\n"
    "- m1\n"
    "- loop: f\n"
    "  times: c1\n"
    "  references:\n"
    "  - {ref: 0, load: 8, walk: w1, skip: 0, strides: [8]}\n"
    "models:\n"
    "  walks: [{walk: w1, loop: f, region: r1, start: 0}]\n"
    "  draws:\n"
    "  - {draw: d1, loop: g, areas: [{region: r1, start: 0, accesses: 3, bytes: 24, element: "
    "8,\n"
    "     places: once, lap: 3, place_bytes: 8}]}\n"
    "  - {draw: d2, loop: g, with: d1, offset: 8}\n"
    "  counts: [{counts: c1, times: [{is: 2, times: 1}]}]\n"
    "  mixes:\n"
    "  - {mix: m1, graph: {begin: {1: 1}, states: [\n"
    "     {state: 2, loop: g, references: [{ref: 1, load: 8, draw: d2}], times: 1, next: {end: "
    "1}},\n"
    "     {state: 1, loop: g, references: [{ref: 0, load: 8, draw: d1}], times: 1, next: {2: "
    "1}}]}}\n"
    "loops:\n"
    "- {id: f, nest: {depth: 0}, accesses: 2, pattern: [r1], regions: [\n"
    "  {id: r1, working_set: {bytes: 96, group: heap, offset: 0},\n"
    "   accesses: 2, loads: 2, sizes: {8: 2}, strides: {8: 1}}]}\n"
    "- {id: g, nest: {depth: 0}, accesses: 2, pattern: [r1], regions: [\n"
    "  {id: r1, working_set: {bytes: 32, group: heap, offset: 0},\n"
    "   accesses: 2, loads: 2, sizes: {8: 2}, strides: {8: 1}}]}\n";

static void test_models_refused(void **state)
{
    struct psnap_profile *profile = read_text(models);

    (void)state;
    /* States are known by their numbers, not by their place. */
    assert_int_equal(profile->nests->models->mixes[0].states[0]->refs[0].ref, 0);
    assert_is_its_text(profile);
    psnap_profile_free(profile);
    assert_refused(models, "lap: 3, ", "", "need 'lap'");
    assert_refused(models, "lap: 3", "lap: 4", "more than 'bytes'");
    assert_refused(models, ", place_bytes: 8", "", "more than 'bytes'");
    assert_refused(models, "once", "cursors", "need 'cursors'");
    assert_refused(models, "once", "nowhere", "no places 'nowhere'");
    assert_refused(models, "accesses: 3, ", "", "accesses");
    assert_refused(models, "element: 8", "element: 25", "an element has more bytes");
    assert_refused(models, "element: 8,", "element: 8, laps: 1,", "laps");
    assert_refused(models, "once", "passes", "need 'passes'");
    assert_refused(models, "element: 8,", "element: 8, passes: [[1, 0, 16]],", "4 or 7 numbers");
    assert_refused(models, "element: 8,", "element: 8, passes: [[0, 0, 16, 8]],", "by a stride");
    assert_refused(models, "element: 8,", "element: 8, passes: [[1, 0, 17, 8]],", "by a stride");
    assert_refused(models, "element: 8,", "element: 8, passes: [[1, 16, 0, 8]],", "by a stride");
    assert_refused(models, "element: 8,", "element: 8, passes: [[1, 0, 8, 8, 8, 0, -8]],",
                   "by a stride");
    assert_refused(models, "once", "descent", "need 'levels'");
    assert_refused(models, "element: 8,", "element: 8, root: 0, levels: [[-8, 8, 1]],",
                   "has 4 numbers");
    assert_refused(models, "element: 8,", "element: 8, root: 0, levels: [[-8, 9, 1, 1]],",
                   "from one element to another");
    assert_refused(models, "element: 8,", "element: 8, root: 0, levels: [[-8, 8, 2, 1]],",
                   "number from 0 to 1");
    assert_refused(models, "element: 8,", "element: 8, levels: [[-8, 8, 1, 1]],", "root");
    assert_refused(models, "element: 8,", "element: 8, root: 0,", "a 'root' needs 'levels'");
    assert_refused(models, "element: 8,", "element: 8, root: 4, levels: [[-8, 8, 1, 1]],",
                   "'root' is an element");
    assert_refused(models, "element: 8,", "element: 8, root: 4000, levels: [[-8, 8, 1, 1]],",
                   "root");
    assert_refused(models, "element: 8,", "element: 8, grid: 16, grid_start: 16,",
                   "'grid_start' is below 'grid'");
    assert_refused(models, "element: 8,", "element: 8, grid_start: 8,", "is below 'grid'");
    assert_refused(models, "element: 8,", "element: 8, reach: [[0, 1]],", "'reach' has 8");
    assert_refused(models, "element: 8,", "element: 8, parts: [[0.5, 0.2], [0.2, 0.8]],",
                   "ends before it begins");
    assert_refused(models, "element: 8,", "element: 8, parts: [[0.5, 0.2], [0.9, 0.8]],",
                   "the last of the 'parts' ends at 1");
    assert_refused(models, "element: 8,", "element: 8, parts: [[0.5, 0.2], [1]],",
                   "where it ends, and its share");
    assert_refused(models, "element: 8,", "element: 8, parts: [[0.5, 0.2], [1, 2]],", "2");
    assert_refused(models, "with: d1", "with: d2", "with itself");
    assert_refused(models, "with: d1", "with: d3", "no 'd3'");
    assert_refused(models, "draw: d2, loop", "draw: d9, loop", "no draw of this name");
    assert_refused(models, "draw: d2, loop", "draw: d9999, loop", "far higher");
    assert_refused(models, "draw: d2, loop", "draw: d1, loop", "two of this name");
    assert_refused(models, "draw: d2, loop", "draw: e2, loop", "no name such as d1");
    assert_refused(models, "walk: w1, loop", "walk: w2, loop", "no walk of this name");
    assert_refused(models, "is: 2", "is: 0", "at least once");
    assert_refused(models, "is: 2, times: 1", "is: 1, times: 2",
                   "c1 has 2 counts, but the walks of loop 'f' (schedule, line 5) draw 1");
    assert_refused(models, "- m1\n", "", "does not come to the mix m1");
    assert_refused(models, "- m1", "- m2", "no 'm2'");
    assert_refused(models, "times: c1", "times: c2", "no 'c2'");
    assert_refused(models, "times: 1}]}", "times: 1}], evenly: 1}",
                   "'evenly' must be true or false");
}

/* Shares alone are of equal parts. */
static void test_parts(void **state)
{
    char text[sizeof models + 100];
    const char *at = strstr(models, "8,\n     places");
    const struct gather_area *area;
    struct psnap_profile *profile;

    (void)state;
    assert_non_null(at);
    snprintf(text, sizeof text, "%.*s8, parts: [0.2, 0.7, 0.1],%s", (int)(at - models), models,
             at + 2);
    profile = read_text(text);
    area = &profile->nests->models->draws[0].rest.gather.areas[0];
    assert_int_equal(area->part_count, 3);
    assert_true(area->parts[0].end == 1.0 / 3 && area->parts[1].end == 2.0 / 3);
    assert_true(area->parts[2].end == 1 && area->parts[1].share == 0.7);
    psnap_profile_free(profile);
    snprintf(text, sizeof text, "%.*s8, parts: [[0.001, 0.7], [1, 0.3]],%s", (int)(at - models),
             models, at + 2);
    profile = read_text(text);
    area = &profile->nests->models->draws[0].rest.gather.areas[0];
    assert_int_equal(area->part_count, 2);
    assert_true(area->parts[0].end == 0.001 && area->parts[1].end == 1);
    assert_true(area->parts[0].share == 0.7 && area->parts[1].share == 0.3);
    assert_is_its_text(profile);
    psnap_profile_free(profile);
}

/* Numbers of references, which replay has all of, are bounded in all: 16 loops have them all. */
static void check_numbers(unsigned loops, unsigned last)
{
    char *text = NULL;
    size_t size;
    FILE *file = open_memstream(&text, &size);
    struct psnap_error error = {0};
    struct psnap_profile *profile;

    fprintf(file, "psnap: 1\ncapture: {model: walks-2}\nschedule:\n");
    for (unsigned l = 0; l < loops; l++)
        fprintf(file,
                "- {loop: f%u, times: 1, references: [{ref: %u, load: 8, region: r1, start: 0, "
                "strides: [0]}]}\n",
                l, l + 1 < loops ? 65535 : last);
    fprintf(file, "loops:\n");
    for (unsigned l = 0; l < loops; l++)
        fprintf(file,
                "- {id: f%u, nest: {depth: 0}, accesses: 1, pattern: [r1], regions: [{id: r1, "
                "working_set: {bytes: 8, group: heap, offset: 0}, accesses: 1, loads: 1, "
                "sizes: {8: 1}}]}\n",
                l);
    fclose(file);
    profile = try_text(text, &error);
    if (loops <= 16) {
        struct psnap_source *source = profile ? psnap_replay_new(profile, 0, &error) : NULL;
        if (!source)
            fail_msg("%u: %s", (unsigned)error.src_line, error.message);
        assert_true(source->program->ref_count >= loops * 65536u - 65535u + last);
        psnap_source_free(source);
    } else {
        assert_null(profile);
        assert_non_null(strstr(error.message, "more than 1048576"));
        assert_int_equal(error.src_line, 3 + loops);
    }
    psnap_profile_free(profile);
    free(text);
}

/* What goes with a reference that is drawn in one term goes with it in another, where it is affine.
 */
static void test_with_affine(void **state)
{
    static const char text[] =
        "psnap: 1\n"
        "capture: {model: walks-2}\n"
        "schedule:\n"
        "- {loop: f, times: 3, references: [{ref: 0, load: 8, region: r1, start: 8, strides: "
        "[8]}]}\n"
        "- {loop: g, times: 1, references: [{ref: 0, load: 8, draw: d2}]}\n"
        "- {loop: f, times: 1, references: [{ref: 0, load: 8, draw: d1}]}\n"
        "- {loop: g, times: 1, references: [{ref: 0, load: 8, draw: d2}]}\n"
        "models:\n"
        "  draws:\n"
        "  - {draw: d1, loop: f, areas: [{region: r1, start: 0, accesses: 1, bytes: 8, element: 8,"
        " places: once, lap: 1, place_bytes: 8}]}\n"
        "  - {draw: d2, loop: g, with: d1, offset: 8}\n"
        "loops:\n"
        "- {id: f, nest: {depth: 0}, accesses: 4, pattern: [r1], regions: [\n"
        "  {id: r1, working_set: {bytes: 96, group: heap, offset: 0},\n"
        "   accesses: 4, loads: 4, sizes: {8: 4}, strides: {8: 3}}]}\n"
        "- {id: g, nest: {depth: 0}, accesses: 2, pattern: [r1], regions: [\n"
        "  {id: r1, working_set: {bytes: 96, group: heap, offset: 0},\n"
        "   accesses: 2, loads: 2, sizes: {8: 2}, strides: {8: 1}}]}\n";
    static const uint64_t expected[6] = {8, 16, 24, 32, 0, 8};
    struct psnap_profile *profile = read_text(text);
    struct psnap_source *source = psnap_replay_new(profile, 1, NULL);
    struct psnap_access block[16];

    (void)state;
    assert_non_null(source);
    assert_int_equal(psnap_source_next(source, block, 16, NULL), 6);
    for (int i = 0; i < 6; i++)
        assert_int_equal(block[i].address - block[4].address, expected[i]);
    psnap_source_free(source);
    psnap_profile_free(profile);
}

#define ZEROS_7 "0, 0, 0, 0, 0, 0, 0, "

#define AROUND_D1                                                                                  \
    " around: d1, offset: 16, areas: [{region: r1, start: 0, accesses: 1, bytes: 96, element: 8,"  \
    " places: around, offsets: [" ZEROS_7 ZEROS_7 ZEROS_7 "]}]}\n"

/* What lies around another draw's last address, here at no distance, goes where that is, one by one
 * and in columns, where that moves and where it rests; 16 bytes from it or, where that leads out of
 * the area, reflected. */
static void test_around(void **state)
{
    static const char text[] =
        "psnap: 1\n"
        "capture: {model: walks-2}\n"
        "schedule:\n"
        "- {loop: f, times: 3, references: [{ref: 0, load: 8, draw: d1}, {ref: 1, load: 8, draw: "
        "d2}]}\n"
        "- {loop: f, times: 300, references: [{ref: 0, load: 8, draw: d1}, {ref: 1, load: 8, "
        "draw: d2}]}\n"
        "- repeat: 4\n"
        "  of:\n"
        "  - {loop: f, times: 1, references: [{ref: 0, load: 8, draw: d1}, {ref: 1, load: 8, "
        "draw: d2}]}\n"
        "  - {loop: g, times: 3, references: [{ref: 0, load: 8, draw: d3}, {ref: 1, load: 8, "
        "draw: d3}]}\n"
        "  - {loop: g, times: 150, references: [{ref: 0, load: 8, draw: d3}, {ref: 1, load: 8, "
        "draw: d3}]}\n"
        "models:\n"
        "  draws:\n"
        "  - {draw: d1, loop: f, areas: [{region: r1, start: 0, accesses: 1, bytes: 96, element: 8,"
        " places: sweep, sweep_bytes: 24}]}\n"
        "  - {draw: d2, loop: f," AROUND_D1 "  - {draw: d3, loop: g," AROUND_D1 "loops:\n"
        "- {id: f, nest: {depth: 0}, accesses: 614, pattern: [r1], regions: [\n"
        "  {id: r1, working_set: {bytes: 96, group: heap, offset: 0},\n"
        "   accesses: 614, loads: 614, sizes: {8: 614}, strides: {8: 613}}]}\n"
        "- {id: g, nest: {depth: 0}, accesses: 1224, pattern: [r1], regions: [\n"
        "  {id: r1, working_set: {bytes: 96, group: heap, offset: 0},\n"
        "   accesses: 1224, loads: 1224, sizes: {8: 1224}, strides: {8: 1223}}]}\n";
    struct psnap_profile *profile = read_text(text);
    struct psnap_source *source = psnap_replay_new(profile, 1, NULL);
    struct psnap_access block[2000];
    uint64_t low = UINT64_MAX, last = 0;

    (void)state;
    assert_non_null(source);
    assert_is_its_text(profile);
    assert_int_equal(psnap_source_next(source, block, 2000, NULL), 1838);
    for (int i = 0; i < 1838; i++)
        low = block[i].address < low ? block[i].address : low;
    for (int i = 0; i < 1838; i++) {
        if (block[i].ref == block[0].ref) /* d1 */
            last = block[i].address - low + 16;
        else
            assert_int_equal(block[i].address - low, last < 96 ? last : 88 - (last - 96));
    }
    psnap_source_free(source);
    psnap_profile_free(profile);
    assert_refused(text, "around: d1, offset: 16, ", "", "'around' says around what");
    assert_refused(text, ", places: around", "", "'around' says around what");
    assert_refused(text, "around: d1", "around: d2", "with itself");
    assert_refused(text, "around: d1", "around: d4", "no 'd4'");
    assert_refused(text, ", offset: 16", "", "offset");
    assert_refused(text, ", offsets: [" ZEROS_7 ZEROS_7 ZEROS_7 "]", "", "need 'offsets'");
}

static void test_numbers(void **state)
{
    (void)state;
    check_numbers(3, 5);
    check_numbers(16, 65535);
    check_numbers(17, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refused), cmocka_unit_test(test_models_refused),
        cmocka_unit_test(test_parts),   cmocka_unit_test(test_with_affine),
        cmocka_unit_test(test_around),  cmocka_unit_test(test_numbers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
