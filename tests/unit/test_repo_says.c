/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a repository says of a profile: facts and signature of one worked out by hand, notes, lines
 * with characters that are none for a terminal, compression with and without a dictionary.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "profile/repo/codec.h"
#include "profile/repo/facts.h"
#include "profile/repo/lines.h"
#include "profile/repo/note.h"

static const char text[] =
    "psnap: 1\n"
    "program: {name: \"t\\e[31m\", command: [./t, '1'], compiler: clang 19.1.7, host: x86_64}\n"
    "capture: {model: psnap}\n"
    "schedule: ['sum:20', 'init:7']\n"
    "loops:\n"
    "- id: sum:20\n"
    "  function: sum\n"
    "  source: t.c:20\n"
    "  regions:\n"
    "  - {id: x, symbol: x, working_set: {bytes: 800, group: image, offset: 0}, accesses: 100,\n"
    "     loads: 100, sizes: {8: 100}, strides: {8: 99}}\n"
    "  - {id: r1, working_set: {bytes: 8, group: stack, offset: -8}, accesses: 60, loads: 40,\n"
    "     stores: 20, sizes: {8: 60}, strides: {0: 59}}\n"
    "- id: init:7\n"
    "  function: init\n"
    "  source: t.c:7\n"
    "  regions:\n"
    "  - {id: x, symbol: x, working_set: {bytes: 240, group: image, offset: 640}, accesses: 30,\n"
    "     stores: 30, sizes: {8: 30}, strides: {8: 29}}\n";

static struct psnap_profile *read_text(const char *yaml)
{
    struct psnap_error error = {.message = ""};
    FILE *file = fmemopen((void *)(uintptr_t)yaml, strlen(yaml), "r");
    struct psnap_profile *profile = psnap_profile_read(file, "t", &error);

    assert_string_equal(error.message, "");
    fclose(file);
    return profile;
}

static void test_facts(void **state)
{
    struct psnap_profile *profile = read_text(text);
    struct repo_bytes lines = {0};
    struct facts facts;

    (void)state;
    assert_non_null(profile);
    assert_true(facts_write(profile, &lines));
    assert_true(facts_read(&lines, &facts));
    assert_string_equal(facts.texts[FACTS_NAME], "t?[31m");
    assert_string_equal(facts.texts[FACTS_COMMAND], "./t 1");
    assert_string_equal(facts.texts[FACTS_FUNCTIONS], "\ninit\nsum\n");
    assert_null(facts.texts[FACTS_BUILD_ID]);
    assert_int_equal(facts.counts[FACTS_ACCESSES], 190);
    assert_int_equal(facts.counts[FACTS_LOADS], 140);
    assert_int_equal(facts.counts[FACTS_STORES], 50);
    assert_int_equal(facts.counts[FACTS_LOOPS], 2);
    assert_int_equal(facts.counts[FACTS_REGIONS], 3);
    assert_int_equal(facts.counts[FACTS_WORKING_SET], 880 + 8); /* 160 bytes are in both */
    assert_true(isnan(facts.fidelity));
    /* strides: 60 of 190 accesses are in the region of stride 0, bin 9; 8 is bin 9 + 3 + 1 */
    assert_int_equal(facts.signature[SIGNATURE_STRIDES + 9], (int)lround(255 * sqrt(60.0 / 190)));
    assert_int_equal(facts.signature[SIGNATURE_STRIDES + 13], (int)lround(255 * sqrt(130.0 / 190)));
    /* sizes: 8 is 2^3, 240 is in 2^7, 800 in 2^9 */
    assert_int_equal(facts.signature[SIGNATURE_SIZES + 3], (int)lround(255 * sqrt(60.0 / 190)));
    assert_int_equal(facts.signature[SIGNATURE_SIZES + 7], (int)lround(255 * sqrt(30.0 / 190)));
    assert_int_equal(facts.signature[SIGNATURE_SIZES + 9], (int)lround(255 * sqrt(100.0 / 190)));
    assert_true(fabs(signature_similarity(facts.signature, facts.signature) - 1) < 1e-12);
    facts_release(&facts);
    lines.data[0] = 'q';
    assert_false(facts_read(&lines, &facts));
    repo_bytes_release(&lines);
    psnap_profile_free(profile);
}

/* Two signatures with a single bin of strides each, and nothing else: three parts are alike. */
static void test_similarity(void **state)
{
    uint8_t a[SIGNATURE_BYTES] = {0}, b[SIGNATURE_BYTES] = {0};

    (void)state;
    a[0] = b[1] = 255;
    assert_true(fabs(signature_similarity(a, b) - 0.75) < 1e-12);
    b[0] = 255; /* half of b is a: sqrt(1/2) */
    assert_true(fabs(signature_similarity(a, b) - (3 + sqrt(0.5)) / 4) < 1e-12);
}

static void test_notes(void **state)
{
    struct note note = {.version = 3, .fidelity = 0.25}, back;
    struct repo_bytes lines = {0};

    (void)state;
    repo_id_of("x", 1, &note.profile);
    assert_true(note_add_tag(&note, "mid"));
    assert_true(note_add_tag(&note, "zed"));
    assert_true(note_add_tag(&note, "a"));
    assert_true(note_add_tag(&note, "mi"));
    assert_true(note_add_tag(&note, "mid"));
    assert_string_equal(note.tags, "\na\nmi\nmid\nzed\n");
    assert_false(note_add_tag(&note, "two words"));
    assert_false(note_add_tag(&note, ""));
    assert_false(note_add_tag(&note, "line\nline"));
    note.licence = strdup("CC0\nversion 9"); /* is no way to another member */
    note_write(&note, &lines);
    assert_true(note_read(&lines, &back));
    assert_int_equal(back.version, 3);
    assert_string_equal(back.tags, note.tags);
    assert_string_equal(back.licence, "CC0?version 9");
    assert_true(back.fidelity == 0.25 && repo_id_is_same(&back.profile, &note.profile));
    note_release(&back);
    for (int i = 0; i < NOTE_TAGS_MAX - 4; i++) {
        char tag[16];
        snprintf(tag, sizeof tag, "t%d", i);
        assert_true(note_add_tag(&note, tag));
    }
    assert_false(note_add_tag(&note, "more"));
    note_release(&note);
    lines.size /= 2;
    if (note_read(&lines, &back)) /* some of it is a note, too */
        note_release(&back);
    repo_bytes_release(&lines);
}

static void test_lines(void **state)
{
    struct repo_bytes lines = {0};
    struct lines_member member;
    size_t at;
    char longer[3000];

    (void)state;
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    repo_bytes_print(&lines, "psnap-t 1\n");
    lines_add(&lines, "a", "\x1b[0m \xc2\x9b \xe2\x80\xae \xff caf\xc3\xa9");
    lines_add(&lines, "b", longer);
    lines_add(&lines, "c", "");
    lines_add_u64(&lines, "d", UINT64_MAX);
    assert_true(lines_begin(&lines, "psnap-t 1", &at));
    assert_true(lines_next(&lines, &at, &member));
    assert_string_equal(member.value, "?[0m ?? ??? ? caf\xc3\xa9");
    assert_true(lines_next(&lines, &at, &member));
    assert_int_equal(strlen(member.value), LINES_VALUE_MAX);
    assert_true(lines_next(&lines, &at, &member));
    assert_string_equal(member.key, "d");
    assert_string_equal(member.value, "18446744073709551615");
    assert_false(lines_next(&lines, &at, &member));
    assert_false(lines_begin(&lines, "psnap-t 2", &at));
    repo_bytes_release(&lines);
}

static void round_trip(struct codec *codec, const struct codec_dictionary *dictionary,
                       const void *raw, size_t size, struct record *record)
{
    struct repo_bytes stored = {0}, back = {0};
    struct psnap_error error;

    *record = (struct record){.type = RECORD_PROFILE};
    assert_int_equal(codec_compress(codec, dictionary, 6, raw, size, &stored, record, &error), 0);
    assert_int_equal(codec_expand(codec, dictionary, record, &back, &error), 0);
    assert_int_equal(back.size, size);
    assert_memory_equal(back.data, raw, size);
    record->raw_bytes++; /* it says another length */
    assert_int_equal(codec_expand(codec, dictionary, record, &back, &error), PSNAP_ERROR_CORRUPT);
    record->raw_bytes--;
    record->codec = 9;
    assert_int_equal(codec_expand(codec, dictionary, record, &back, &error), PSNAP_ERROR_VERSION);
    repo_bytes_release(&stored);
    repo_bytes_release(&back);
}

static void test_codec(void **state)
{
    struct repo_bytes samples = {0}, bytes = {0};
    struct codec *codec = codec_new();
    struct codec_dictionary *dictionary;
    struct record plain, with;
    size_t sizes[800];
    uint8_t noise[500];

    (void)state;
    for (unsigned i = 0; i < 800; i++) {
        const size_t begin = samples.size;
        repo_bytes_print(&samples, "%s# %u\n", text, i * i);
        sizes[i] = samples.size - begin;
    }
    assert_true(codec_train(samples.data, sizes, 800, &bytes));
    assert_false(codec_train(samples.data, sizes, 20, &bytes)); /* too few */
    dictionary = codec_dictionary_new(&bytes, 6);
    assert_non_null(dictionary);
    round_trip(codec, NULL, text, sizeof text, &plain);
    round_trip(codec, dictionary, text, sizeof text, &with);
    assert_true(with.stored_bytes < plain.stored_bytes / 4);
    assert_true(repo_id_is_none(&plain.dictionary) && !repo_id_is_none(&with.dictionary));
    for (size_t i = 0; i < sizeof noise; i++)
        noise[i] = (uint8_t)((i * 2654435761u) >> 13 ^ (i * 40503u) >> 5);
    round_trip(codec, dictionary, noise, 20, &plain);
    assert_int_equal(plain.stored_bytes, 20); /* stored as they are */
    round_trip(codec, NULL, noise, sizeof noise, &plain);
    codec_dictionary_free(dictionary);
    codec_free(codec);
    repo_bytes_release(&samples);
    repo_bytes_release(&bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_facts), cmocka_unit_test(test_similarity),
        cmocka_unit_test(test_notes), cmocka_unit_test(test_lines),
        cmocka_unit_test(test_codec),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
