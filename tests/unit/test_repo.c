/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The archive from the inside: facts and signature of a profile worked out by hand, each bit of an
 * object, an object under another's id, notes that were written at once, and a query's values.
 */
#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "profile/repo/add.h"

static const char text[] =
    "psnap: 1\n"
    "program: {name: t, command: [./t, '1'], compiler: clang 19.1.7, host: x86_64}\n"
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
static const struct repo_bytes yaml = {(char *)(uintptr_t)text, sizeof text - 1};

static void test_facts(void **state)
{
    struct psnap_error error = {.message = ""};
    struct facts facts;

    (void)state;
    assert_int_equal(facts_of(&yaml, "t", &facts, &error), PSNAP_OK);
    assert_non_null(strstr(facts.json, "\"command\": \"./t 1\""));
    assert_non_null(strstr(facts.json, "\"functions\": \"\\ninit\\nsum\\n\""));
    assert_non_null(strstr(facts.json, "\"accesses\": 190"));
    assert_non_null(strstr(facts.json, "\"stores\": 50"));
    assert_non_null(strstr(facts.json, "\"regions\": 3"));
    assert_non_null(strstr(facts.json, "\"working_set\": 888")); /* 160 bytes are in two regions */
    assert_non_null(strstr(facts.json, "\"certified\": null"));
    /* strides: 0 is bin 9, 8 is bin 13; sizes: 8 is 2^3, 240 is in 2^7, 800 in 2^9; accesses per
     * line: 60 of 1, 100 of 13, 30 of 4 */
    assert_float_equal(facts.signature[SIGNATURE_STRIDES + 9], sqrt(60.0 / 190), 1e-6);
    assert_float_equal(facts.signature[SIGNATURE_STRIDES + 13], sqrt(130.0 / 190), 1e-6);
    assert_float_equal(facts.signature[SIGNATURE_SIZES + 3], sqrt(60.0 / 190), 1e-6);
    assert_float_equal(facts.signature[SIGNATURE_SIZES + 7], sqrt(30.0 / 190), 1e-6);
    assert_float_equal(facts.signature[SIGNATURE_SIZES + 9], sqrt(100.0 / 190), 1e-6);
    assert_float_equal(facts.signature[SIGNATURE_USES + 2], sqrt(130.0 / 190), 1e-6);
    assert_float_equal(facts.signature[SIGNATURE_USES + 5], sqrt(60.0 / 190), 1e-6);
    assert_float_equal(signature_similarity(facts.signature, facts.signature), 1, 1e-6);
    facts_release(&facts);
}

static void test_similarity(void **state)
{
    float a[SIGNATURE_BINS] = {1, 0, [SIGNATURE_SIZES] = 1},
          b[SIGNATURE_BINS] = {0, 1, [SIGNATURE_SIZES] = 1}, none[SIGNATURE_BINS] = {0};

    (void)state;
    assert_float_equal(signature_similarity(a, b), 0.5, 1e-6);
    assert_float_equal(signature_similarity(a, none), 0, 1e-6);
    assert_float_equal(signature_similarity(none, none), 1, 1e-6);
}

/* ------------------------------------------------------------------- a repository of one */

struct here {
    char path[64];
    struct repo *repo;
    struct repo_id id;
};

static void take(void *context, const struct add_item *item)
{
    assert_int_equal(item->error.code, PSNAP_OK);
    *(struct repo_id *)context = item->id;
}

static void add_text(struct here *here)
{
    struct psnap_error error = {.message = ""};
    struct adder *adder = calloc(1, sizeof *adder);
    const struct repo_bytes copy = {strdup(text), yaml.size};

    *adder = (struct adder){here->repo, NULL, 10000, take, &here->id};
    assert_int_equal(add_item(adder, "t", &copy, NULL, &error), PSNAP_OK);
    assert_int_equal(add_finish(adder, &error), PSNAP_OK);
    free(adder);
}

static void make_here(struct here *here)
{
    struct psnap_error error = {.message = ""};

    strcpy(here->path, "/tmp/psnap-test-repo-XXXXXX");
    assert_non_null(mkdtemp(here->path));
    assert_int_equal(repo_init(here->path, &error), PSNAP_OK);
    here->repo = repo_open(here->path, &error);
    assert_non_null(here->repo);
    add_text(here);
}

static void remove_here(struct here *here)
{
    char command[128];

    repo_close(here->repo);
    snprintf(command, sizeof command, "rm -rf '%s'", here->path);
    assert_int_equal(system(command), 0);
}

static enum psnap_status read_here(struct here *here)
{
    struct psnap_error error;
    struct repo_bytes back;
    const enum psnap_status status = object_read(here->repo, 0, &here->id, &back, &error);

    if (status)
        return status;
    assert_int_equal(back.size, yaml.size);
    assert_memory_equal(back.data, text, back.size);
    free(back.data);
    return PSNAP_OK;
}

static void write_object(struct here *here, const struct repo_bytes *object)
{
    const int folder = object_folder(here->repo, &here->id, true);
    char name[REPO_NAME], temporary[REPO_NAME];

    snprintf(name, sizeof name, "%s" REPO_PROFILE, here->id.text + 2);
    assert_int_equal(store_temporary(here->repo, object, false, temporary, NULL), PSNAP_OK);
    assert_int_equal(store_place(here->repo, temporary, folder, name, true), 0);
    close(folder);
}

static void test_bits(void **state)
{
    struct here here;
    struct repo_bytes object;

    (void)state;
    make_here(&here);
    assert_int_equal(read_here(&here), PSNAP_OK);
    assert_true(object_pack(here.repo, 0, &yaml, &object));
    for (size_t i = 0; i < 8 * object.size; i++) {
        object.data[i / 8] = (char)(object.data[i / 8] ^ 1 << i % 8);
        write_object(&here, &object);
        assert_int_equal(read_here(&here), PSNAP_ERROR_CORRUPT);
        object.data[i / 8] = (char)(object.data[i / 8] ^ 1 << i % 8);
    }
    write_object(&here, &object);
    assert_int_equal(read_here(&here), PSNAP_OK);
    free(object.data);
    remove_here(&here);
}

/* An object that is not of its id is damage, which adding the profile again mends. */
static void test_forged(void **state)
{
    const struct repo_bytes other = {(char *)(uintptr_t)"psnap: 1\n", 9};
    struct here here;
    struct repo_bytes object;

    (void)state;
    make_here(&here);
    assert_true(object_pack(here.repo, 0, &other, &object));
    write_object(&here, &object);
    assert_int_equal(read_here(&here), PSNAP_ERROR_CORRUPT);
    add_text(&here);
    assert_int_equal(read_here(&here), PSNAP_OK);
    free(object.data);
    remove_here(&here);
}

/* ------------------------------------------------------------------------------- asking */

static bool keep_row(void *context, const struct entry *entry)
{
    snprintf(context, 100, "%s|%s|%s|%g", entry_text(entry, "tags"), entry_text(entry, "licence"),
             entry_text(entry, "input"), entry_real(entry, "fidelity"));
    return true;
}

static void expect_row(struct here *here, const char *words, const char *wanted)
{
    struct psnap_error error = {.message = ""};
    struct query query = {.limit = 0};
    char row[100] = "nothing";

    assert_int_equal(query_parse(&query, words, &error), PSNAP_OK);
    assert_int_equal(repo_list(here->repo, &query, keep_row, row, &error), PSNAP_OK);
    assert_string_equal(row, wanted);
    query_release(&query);
}

/* Tags add up, of the rest the last holds; what was said last is not said again. */
static void test_notes(void **state)
{
    static const char *const said[] = {
        "{\"tags\": [\"two\", \"one\"], \"licence\": \"A\", \"fidelity\": 2.5}",
        "{\"tags\": [\"one\"], \"licence\": \"B\", \"input\": \"' OR 1\"}"};
    struct psnap_error error;
    struct here here;

    (void)state;
    make_here(&here);
    expect_row(&here, "", "|||nan");
    assert_int_equal(repo_note(here.repo, &here.id, said[0], &error), PSNAP_OK);
    expect_row(&here, "tag:two", " one two |A||2.5");
    for (int i = 0; i < 2; i++)
        assert_int_equal(repo_note(here.repo, &here.id, said[1], &error), PSNAP_OK);
    expect_row(&here, "input=\"' OR 1\"", " one two |B|' OR 1|2.5");
    expect_row(&here, "input:\"' OR 2\"", "nothing");
    repo_close(here.repo);
    here.repo = repo_open(here.path, &error);
    assert_int_equal(repo_note(here.repo, &here.id, "no JSON", &error), PSNAP_ERROR_VALUE);
    expect_row(&here, "stride:8>0.68 stride:8<0.69 working_set=888", " one two |B|' OR 1|2.5");
    remove_here(&here);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_facts), cmocka_unit_test(test_similarity),
        cmocka_unit_test(test_bits),  cmocka_unit_test(test_forged),
        cmocka_unit_test(test_notes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
