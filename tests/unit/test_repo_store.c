/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A repository in a directory, from the inside: what the command line does not let one write. A
 * file from elsewhere with a record that has another's id; bytes that are a profile's prefix; notes
 * of the same version; facts that lie; records that say they are larger than they are.
 */
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
#include "profile/repo/gc.h"
#include "profile/repo/verify.h"

static const char text[] = "psnap: 1\n"
                           "capture: {model: psnap}\n"
                           "schedule: [l]\n"
                           "loops:\n"
                           "- id: l\n"
                           "  regions:\n"
                           "  - {id: r, working_set: {bytes: 80, group: raw, offset: 64},\n"
                           "     accesses: 10, loads: 10, sizes: {8: 10}, strides: {8: 9}}\n";

struct here {
    char path[64];
    struct repo *repo;
    struct index *index;
    struct repo_id id;
};

static void open_here(struct here *here)
{
    struct psnap_error error = {.message = ""};

    here->repo = repo_open(here->path, &error);
    assert_non_null(here->repo);
    here->index = index_open(here->repo, &error);
    assert_string_equal(error.message, "");
    assert_non_null(here->index);
}

static void close_here(struct here *here)
{
    index_close(here->index);
    repo_close(here->repo);
}

/* A new one with one profile. */
static void make_here(struct here *here)
{
    struct psnap_error error = {.message = ""};
    struct add_item item = {.path = "t", .has_raw = true};
    struct adder adder;

    strcpy(here->path, "/tmp/psnap-test-repo-XXXXXX");
    assert_non_null(mkdtemp(here->path));
    assert_int_equal(repo_init(here->path, &error), PSNAP_OK);
    open_here(here);
    adder = (struct adder){here->repo, here->index, {.fidelity = NAN, .limit_bytes = 10000}};
    repo_bytes_add(&item.raw, text, sizeof text - 1);
    assert_int_equal(add_batch(&adder, &item, 1, &error), PSNAP_OK);
    assert_int_equal(item.state, ADD_NEW);
    here->id = item.id;
}

static void remove_here(struct here *here)
{
    char command[128];

    close_here(here);
    snprintf(command, sizeof command, "rm -rf '%s'", here->path);
    assert_int_equal(system(command), 0);
}

static void commit_record(struct here *here, const struct record *record)
{
    struct repo_bytes body = {0};
    struct repo_id pack;

    pack_add(&body, record);
    assert_int_equal(repo_commit(here->repo, REPO_OBJECT, &body, &pack, NULL), PSNAP_OK);
    repo_bytes_release(&body);
}

static struct record plain(enum record_type type, const void *bytes, size_t size)
{
    struct record record = {.type = (uint8_t)type, .stored = bytes};

    record.stored_bytes = record.raw_bytes = (uint32_t)size;
    repo_id_of(bytes, size, &record.id);
    return record;
}

static void expect_whole(struct here *here)
{
    struct psnap_error error = {.message = ""};
    struct repo_bytes raw = {0};

    assert_int_equal(index_read(here->index, &here->id, &raw, &error), PSNAP_OK);
    assert_int_equal(raw.size, sizeof text - 1);
    assert_memory_equal(raw.data, text, raw.size);
    repo_bytes_release(&raw);
}

static void ignore(void *context, const struct finding *finding)
{
    (void)context;
    (void)finding;
}

static void verify_here(struct here *here, bool is_deep, struct verify_result *result)
{
    assert_int_equal(repo_verify(here->repo, is_deep, ignore, NULL, result, NULL), PSNAP_OK);
}

/* It is read in spite of it, named, and whichever comes first takes no one's place in gc. */
static void test_forged(void **state)
{
    const char *const others[] = {"psnap: 1\n", "another\n", "a third one\n", "", "and a last\n"};
    struct here here;
    struct verify_result result;
    struct gc_result gc;
    const struct gc_options keeps = {.forgets = false}, forgets = {.forgets = true};

    (void)state;
    make_here(&here);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        struct record record = plain(RECORD_PROFILE, others[i], strlen(others[i]));
        record.id = here.id;
        commit_record(&here, &record);
    }
    assert_int_equal(index_sync(here.index, NULL), PSNAP_OK);
    expect_whole(&here);
    verify_here(&here, false, &result);
    assert_int_equal(result.damaged, 5);
    assert_int_equal(result.profiles, 1);
    close_here(&here);
    open_here(&here);
    assert_int_equal(repo_gc(here.repo, NULL, &keeps, &gc, NULL), PSNAP_OK);
    assert_int_equal(gc.damaged, 5);
    assert_int_equal(index_sync(here.index, NULL), PSNAP_OK);
    expect_whole(&here);
    assert_int_equal(repo_gc(here.repo, NULL, &forgets, &gc, NULL), PSNAP_OK);
    assert_int_equal(index_sync(here.index, NULL), PSNAP_OK);
    expect_whole(&here);
    verify_here(&here, true, &result);
    assert_int_equal(result.damaged + result.mended, 0);
    remove_here(&here);
}

/* What is no profile, with an id of its own: it can be had, but does not pass a deep look. */
static void test_no_profile(void **state)
{
    struct here here;
    struct record record = plain(RECORD_PROFILE, "psnap: 2\n", 9);
    struct verify_result result;
    struct repo_bytes raw = {0};

    (void)state;
    make_here(&here);
    commit_record(&here, &record);
    assert_int_equal(index_sync(here.index, NULL), PSNAP_OK);
    assert_int_equal(index_read(here.index, &record.id, &raw, NULL), PSNAP_OK);
    verify_here(&here, false, &result);
    assert_int_equal(result.damaged, 0);
    verify_here(&here, true, &result);
    assert_int_equal(result.damaged, 1);
    repo_bytes_release(&raw);
    remove_here(&here);
}

/* Facts that are not the profile's are found by a deep look. */
static void test_lies(void **state)
{
    static const char lies[] = "psnap-facts 1\nprogram lie\naccesses 5\n";
    struct here here;
    struct record profile = plain(RECORD_PROFILE, "", 0), facts;
    struct repo_bytes body = {0}, raw = {0};
    struct repo_id pack;
    struct verify_result result;

    (void)state;
    make_here(&here);
    repo_bytes_add(&raw, text, sizeof text - 1);
    repo_bytes_add(&raw, "# more\n", 7);
    profile = plain(RECORD_PROFILE, raw.data, raw.size);
    facts = plain(RECORD_FACTS, lies, sizeof lies - 1);
    facts.id = profile.id;
    pack_add(&body, &profile);
    pack_add(&body, &facts);
    assert_int_equal(repo_commit(here.repo, REPO_OBJECT, &body, &pack, NULL), PSNAP_OK);
    verify_here(&here, false, &result);
    assert_int_equal(result.damaged + result.mended, 0);
    verify_here(&here, true, &result);
    assert_int_equal(result.mended, 1);
    repo_bytes_release(&body);
    repo_bytes_release(&raw);
    remove_here(&here);
}

/* Two notes that were written at once: all tags, of the rest what the higher id says. */
static void test_notes_at_once(void **state)
{
    struct here here;
    struct repo_bytes lines[2] = {{0}, {0}};
    struct repo_id ids[2];
    struct note note;

    (void)state;
    make_here(&here);
    for (int i = 0; i < 2; i++) {
        struct note said = {.profile = here.id, .version = 4, .fidelity = i};
        struct record record;
        assert_true(note_add_tag(&said, i ? "one" : "two"));
        said.licence = strdup(i ? "A" : "B");
        note_write(&said, &lines[i]);
        record = plain(RECORD_NOTE, lines[i].data, lines[i].size);
        ids[i] = record.id;
        commit_record(&here, &record);
        note_release(&said);
    }
    assert_int_equal(index_sync(here.index, NULL), PSNAP_OK);
    assert_int_equal(index_note(here.index, &here.id, &note, NULL), PSNAP_OK);
    assert_string_equal(note.tags, "\none\ntwo\n");
    assert_string_equal(note.licence, memcmp(&ids[1], &ids[0], sizeof ids[0]) > 0 ? "A" : "B");
    assert_int_equal(note.version, 4);
    note_release(&note);
    repo_bytes_release(&lines[0]);
    repo_bytes_release(&lines[1]);
    remove_here(&here);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forged),
        cmocka_unit_test(test_no_profile),
        cmocka_unit_test(test_lies),
        cmocka_unit_test(test_notes_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
