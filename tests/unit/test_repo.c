/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The archive from the inside: columns of a profile worked out by hand, each bit of an object, an
 * object under another's id, tags, and a query's values.
 */
#include "tests/unit/test.h"

#include "profile/repo/repo.h"

static char text[] =
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
static const struct repo_bytes yaml = {text, sizeof text - 1};

static void take(void *context, const struct add_item *item)
{
    assert_int_equal(item->error.code, PSNAP_OK);
    *(struct repo_id *)context = item->id;
}

static void add_text(struct repo *repo, const char *tags, struct repo_id *id)
{
    struct psnap_error error = {.message = ""};
    struct adder *adder = calloc(1, sizeof *adder);
    const struct repo_bytes copy = {strdup(text), yaml.size};

    *adder = (struct adder){.repo = repo, .done = take, .context = id};
    assert_int_equal(add_item(adder, "t", &copy, tags, &error), PSNAP_OK);
    assert_int_equal(add_finish(adder, &error), PSNAP_OK);
    free(adder);
}

static enum psnap_status read_text(struct repo *repo, const struct repo_id *id)
{
    struct repo_bytes back;
    const enum psnap_status status = object_read(repo, id, &back, NULL);

    if (status)
        return status;
    assert_int_equal(back.size, yaml.size);
    assert_memory_equal(back.data, text, back.size);
    free(back.data);
    return PSNAP_OK;
}

static char archive_path[64];

static int set_up(void **state)
{
    struct psnap_error error = {.message = ""};

    strcpy(archive_path, "/tmp/psnap-test-repo-XXXXXX");
    assert_non_null(mkdtemp(archive_path));
    assert_int_equal(repo_init(archive_path, &error), PSNAP_OK);
    *state = repo_open(archive_path, &error);
    return *state ? 0 : 1;
}

static int tear_down(void **state)
{
    char command[128];

    repo_close(*state);
    snprintf(command, sizeof command, "rm -rf '%s'", archive_path);
    return system(command);
}

TEST_WITHIN(set_up, tear_down, test_damage)
{
    const struct repo_bytes other = {text, 9};
    struct repo *repo = *state;
    struct repo_bytes object;
    struct repo_id id;
    char path[REPO_PATH];

    add_text(repo, "", &id);
    assert_int_equal(read_text(repo, &id), PSNAP_OK);
    assert_true(object_pack(repo, &yaml, &object));
    store_path(&id, "", path);
    for (size_t i = 0; i < 8 * object.size; i++) {
        object.data[i / 8] = (char)(object.data[i / 8] ^ 1 << i % 8);
        assert_int_equal(store_write(repo, path, &object, NULL), PSNAP_OK);
        assert_int_equal(read_text(repo, &id), PSNAP_ERROR_CORRUPT);
        object.data[i / 8] = (char)(object.data[i / 8] ^ 1 << i % 8);
    }
    assert_int_equal(store_write(repo, path, &object, NULL), PSNAP_OK);
    assert_int_equal(read_text(repo, &id), PSNAP_OK);
    free(object.data);
    /* an object that is not of its id is damage, which adding the profile again mends */
    assert_true(object_pack(repo, &other, &object));
    assert_int_equal(store_write(repo, path, &object, NULL), PSNAP_OK);
    assert_int_equal(read_text(repo, &id), PSNAP_ERROR_CORRUPT);
    free(object.data);
    add_text(repo, "", &id);
    assert_int_equal(read_text(repo, &id), PSNAP_OK);
}

static int keep_row(void *context, int count, char **row, char **names)
{
    char *line = context;

    assert_int_equal(count, REPO_COLUMN_COUNT);
    for (int i = 0; i < count; i++)
        if (i != REPO_ADDED && i != REPO_ID)
            sprintf(line + strlen(line), "%s|", row[i] ? row[i] : "-");
    (void)names;
    return 0;
}

static void expect_row(struct repo *repo, char *words, const char *wanted)
{
    struct psnap_error error = {.message = ""};
    char row[400] = "";

    assert_int_equal(repo_list(repo, &(struct repo_query){&words, 1, 0}, keep_row, row, &error),
                     PSNAP_OK);
    assert_string_equal(row, wanted);
}

/* 160 bytes of the working sets are in two regions. */
#define COLUMNS "687|t|./t 1|||clang 19.1.7|x86_64||psnap|init\nsum\n|190|140|50|0|2|3|888|-|"

TEST_WITHIN(set_up, tear_down, test_columns)
{
    struct repo *repo = *state;
    struct repo_id id;

    add_text(repo, "", &id);
    expect_row(repo, (char[]){""}, COLUMNS "|");
    add_text(repo, "two one ", &id);
    add_text(repo, "one ", &id);
    expect_row(repo, (char[]){"tag:two working_set=888"}, COLUMNS "one two |");
    expect_row(repo, (char[]){"\"' OR 1\""}, "");
    expect_row(repo, (char[]){"name=' function:sum"}, "");
}
