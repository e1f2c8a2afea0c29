/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What follows from walks (profile/walks/nest_derive.h): it is marked where the builder, which sees
 * all accesses, says the same; it may be left out; what is edited so that it does not follow any
 * more is refused with both lines.
 */
#include "tests/unit/test_nests_support.h"

static const char walks[] = WALKED_TRIANGLE "loops:\n"
                                            "- id: f\n"
                                            "  nest: {depth: 0}\n"
                                            "  accesses: 9\n"
                                            "  derived: {pattern: [r1]}\n"
                                            "  regions:\n"
                                            "  - id: r1\n"
                                            "    working_set: {bytes: 96, group: heap, offset: 0}\n"
                                            "    accesses: 9\n"
                                            "    loads: 9\n"
                                            "    sizes: {8: 9}\n"
                                            "    derived: {strides: {8: 6, 16: 2}, "
                                            "stride_graph: {8: {8: 3, 16: 2}, 16: {8: 2}}}\n";
/* 0 8 16 24, 32 40 48, 64 72: strides 8 8 8 8 8 8 ... of which 24 to 32 is 8, 48 to 64 is 16 */
static const char right[] = "derived: {strides: {8: 7, 16: 1}, stride_graph: {8: {8: 5, 16: 1}, "
                            "16: {8: 1}}}";

/* The triangle's text with what follows from it. */
static char *triangle(void)
{
    char *at, *text = strdup(walks);

    assert_non_null(text);
    at = strstr(text, "derived: {strides");
    assert_true(strlen(at) >= strlen(right) + 1);
    snprintf(at, strlen(at) + 1, "%s\n", right);
    return text;
}

static void test_refused(void **state)
{
    static const char of_bin_8[] = "8: 7, 16: 1}, stride_graph: {8: {8: 5, 16: 1}, 16: {8: 1}}";
    static const char of_bin_64[] =
        "64: 7, 16: 1}, stride_graph: {64: {64: 5, 16: 1}, 16: {64: 1}}";
    char *base = triangle(), *text;

    (void)state;
    assert_text_refused(
        walks, 21, "strides of bin 8 are 6 here, but the walks of 'f' (schedule, line 6) have 7");
    psnap_profile_free(read_text(base));
    assert_refused_at(base, of_bin_8, of_bin_64, 21, "strides of bin 8 are 0 here");
    assert_refused_at(base, of_bin_8, of_bin_64, 21,
                      "psnap edit --loop f --region r1 --stride OLD=NEW");
    /* The walk was edited, and not what follows from it. */
    assert_refused_at(base, "strides: [32, 8]", "strides: [24, 8]", 21, "strides of bin");
    text = replaced(base, "pattern: [r1]", "pattern: [{repeat: 9, of: [r1]}]");
    psnap_profile_free(read_text(text));
    free(text);
    assert_refused_at(base, "derived: {strides", "strides: {8: 8}\n    derived: {strides", 21,
                      "'strides' is derived (line 22), and cannot stand here too");
    assert_refused_at(base, "derived: {strides", "derived: {streides", 21, "streides");
    free(base);
}

/* Two regions in turn: another order is another pattern. */
static void test_pattern(void **state)
{
    static const char two[] =
        "psnap: 1\n"
        "capture: {model: walks-2}\n"
        "schedule:\n"
        "- loop: f\n"
        "  times: 3\n"
        "  references:\n"
        "  - {ref: 0, load: 8, region: a, start: 0, strides: [8]}\n"
        "  - {ref: 1, load: 8, region: b, start: 0, strides: [8]}\n"
        "loops:\n"
        "- id: f\n"
        "  nest: {depth: 0}\n"
        "  derived: {pattern: [{repeat: 3, of: [a, b]}]}\n"
        "  regions:\n"
        "  - {id: a, working_set: {bytes: 24, group: heap, offset: 0}, accesses: 3, loads: 3, "
        "sizes: {8: 3}}\n"
        "  - {id: b, working_set: {bytes: 24, group: heap, offset: 800}, accesses: 3, loads: 3, "
        "sizes: {8: 3}}\n";
    struct psnap_profile *profile = read_text(two);

    (void)state;
    for (int i = 0; i < 2; i++) { /* left out, and made */
        assert_true(profile->loops[0].regions[i].is_derived);
        assert_int_equal(profile->loops[0].regions[i].stride_count, 1);
        assert_int_equal(profile->loops[0].regions[i].strides[0].count, 2);
    }
    assert_is_its_text(profile);
    psnap_profile_free(profile);
    assert_refused_at(two, "[a, b]", "[b, a]", 12, "'pattern' is not the order");
    assert_refused_at(two, "walks-2", "psnap", 14, "'strides' is missing");
    /* Between the regions, and in another one. */
    assert_refused_at(two, "region: a, start: 0, strides: [8]",
                      "region: a, start: 0, strides: [300]", 14,
                      "walks of loop 'f' (schedule, line 4) lead 284 bytes out of the working set "
                      "of region 'a'");
    assert_refused_at(two, "region: b, start: 0", "region: a, start: 0", 14,
                      "'accesses' is 3, but the walks of 'f' (schedule, line 4) have 6 in this "
                      "region");
}

/* Nests of random counts and strides: all that the builder says of arrays that are far apart. */
static void test_marked(void **state)
{
    static struct psnap_access accesses[ACCESSES];
    struct psnap_rng rng;

    (void)state;
    psnap_rng_init(&rng, 5);
    for (int round = 0; round < 60; round++) {
        struct psnap_program *program = make_program(2, REFS);
        struct stream stream = {accesses, 0};
        const uint64_t n = 1 + psnap_rng_below(&rng, 40), m = 1 + psnap_rng_below(&rng, 40);
        const uint64_t a = 8 * psnap_rng_below(&rng, 5), b = 8 * psnap_rng_below(&rng, 40);
        const uint64_t c = 8 * psnap_rng_below(&rng, 5);
        struct psnap_profile *profile, *again;
        char *text;

        for (uint64_t i = 0; i < n; i++) {
            for (uint64_t k = 0; k < m + i % 2 * (n & 1); k++) {
                add(&stream, 0, HEAP + i * b + k * a);
                add(&stream, 1, HEAP + (1 << 20) + k * c);
                add(&stream, 2, HEAP + i * b + k * a + 8);
            }
            add(&stream, REFS, HEAP + (2 << 20) + i * c);
        }
        profile = profile_of(program, &stream);
        if (profile->nests)
            for (uint32_t i = 0; i < profile->loop_count; i++) {
                assert_true(profile->loops[i].is_pattern_derived);
                for (uint32_t k = 0; k < profile->loops[i].region_count; k++)
                    assert_true(profile->loops[i].regions[k].is_derived);
            }
        text = write_text(profile);
        again = read_text(text);
        psnap_profile_free(again);
        free(text);
        psnap_profile_free(profile);
        psnap_program_free(program);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_pattern),
        cmocka_unit_test(test_marked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
