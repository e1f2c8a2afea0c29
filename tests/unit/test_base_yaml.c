/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * YAML documents that are read: what is kept, what is refused and where, and
 * typed access.
 */
#include "tests/unit/test_yaml_support.h"
#include "tests/unit/test.h"

TEST(positions_and_structure_are_kept)
{
    struct psnap_yaml_doc *doc = read_good("# a profile\n"
                                           "name: cg\n"
                                           "list: [1, 'two', {three: 3}]\n"
                                           "deep:\n"
                                           "  - a: x\n"
                                           "    b: \"y\"\n"
                                           "  -\n"
                                           "empty: {}\n");
    const struct psnap_yaml_node *root = psnap_yaml_root(doc), *node;

    assert_string_equal(psnap_yaml_name(doc), "t");
    assert_int_equal(root->kind, PSNAP_YAML_MAP);
    assert_int_equal(root->style, PSNAP_YAML_BLOCK);
    assert_int_equal(root->count, 4);

    node = psnap_yaml_get(root, "name");
    assert_string_equal(node->text, "cg");
    assert_false(node->quoted);
    assert_int_equal(node->key_line, 2);
    assert_int_equal(node->key_column, 1);
    assert_int_equal(node->src_line, 2);
    assert_int_equal(node->column, 7);
    assert_ptr_equal(node->parent, root);

    node = psnap_yaml_get(root, "list");
    assert_int_equal(node->kind, PSNAP_YAML_SEQUENCE);
    assert_int_equal(node->style, PSNAP_YAML_FLOW);
    assert_int_equal(node->count, 3);
    assert_null(node->first->key);
    assert_true(node->first->next->quoted);
    assert_int_equal(node->first->next->column, 11);
    assert_string_equal(psnap_yaml_get(node->last, "three")->text, "3");

    node = psnap_yaml_get(root, "deep");
    assert_int_equal(node->style, PSNAP_YAML_BLOCK);
    assert_int_equal(psnap_yaml_get(node->first, "b")->src_line, 6);
    assert_string_equal(node->last->text, "");
    assert_int_equal(psnap_yaml_get(root, "empty")->count, 0);

    assert_null(psnap_yaml_get(root, "missing"));
    assert_null(psnap_yaml_get(NULL, "x"));
    assert_null(psnap_yaml_get(psnap_yaml_get(root, "name"), "x"));
    psnap_yaml_doc_free(doc);
    psnap_yaml_doc_free(NULL);
}

static void check_bad(const char *text, size_t size, const char *expected)
{
    struct psnap_error error = {0};
    char message[1024];

    assert_null(psnap_yaml_read_text(text, size, "t", &error));
    assert_string_equal(psnap_error_format(&error, message, sizeof message), expected);
    assert_null(psnap_yaml_read_text(text, size, "t", NULL));
}

TEST(bad_input_is_refused_with_its_place)
{
    static const struct {
        const char *text, *expected;
    } cases[] = {
        {"", "t:1:1: the input is empty"},
        {"# nothing\n\n", "t:1:1: the input is empty"},
        {"a: 1\nb: &x 2\n", "t:2:4: anchors are not allowed"},
        {"a: &x [1]\n", "t:1:4: anchors are not allowed"},
        {"&x {a: 1}\n", "t:1:1: anchors are not allowed"},
        {"&k a: 1\n", "t:1:1: anchors are not allowed"},
        {"a: 1\nb: *x\n", "t:2:4: aliases are not allowed"},
        {"a: !!int 5\n", "t:1:4: tags are not allowed"},
        {"a: !x {}\n", "t:1:4: tags are not allowed"},
        {"a: 1\n---\nb: 2\n", "t:2:1: a second document is not allowed"},
        {"a: 1\nb: 2\na: 3\n", "t:3:1: the key 'a' is there already, in line 1"},
        {"x:\n  - {a: 1, b: 1, 'a': 2, b: 2}\n", "t:2:18: the key 'a' is there already, in line 2"},
        {"[a, b]: 1\n", "t:1:1: a key must be plain text"},
        {"? {a: b}\n: 1\n", "t:1:3: a key must be plain text"},
        {"a: \"x\\0y\"\n", "t:1:4: text with a NUL character"},
        {"\"a\\0\": 1\n", "t:1:1: text with a NUL character"},
        {"a: [1, 2\n", "t:2:1: the text ends in the middle: did not find expected ',' or ']' while "
                       "parsing a flow sequence"},
        {"a: {b: 1\n", "t:2:1: the text ends in the middle: did not find expected ',' or '}' while "
                       "parsing a flow mapping"},
        {"a: \"open\n", "t:2:1: the text ends in the middle: found unexpected end of stream while "
                        "scanning a quoted scalar"},
        {"a: b: c\n", "t:1:5: mapping values are not allowed in this context"},
        {"a: 1\n\tb: 2\n",
         "t:2:1: found a tab character that violates indentation while scanning a plain scalar"},
        {"a: 1\n b: 2\n", "t:2:3: mapping values are not allowed in this context"},
        {"a: 1\nb\n", "t:3:1: the text ends in the middle: could not find expected ':' while "
                      "scanning a simple key"},
        {"a: @x\n", "t:1:4: found character that cannot start any token while scanning for the "
                    "next token"},
        {"%YAML 3.0\n---\na: 1\n", "t:1:1: found incompatible YAML document"},
        {"a: 1\nb: \xff\n", "t:2:4: invalid leading UTF-8 octet"},
        {"\xc3\xa4: \xc3(\n", "t:1:5: invalid trailing UTF-8 octet"},
        {"a: \xed\xa0\x80\n", "t:1:4: invalid Unicode character"},
        {"a: x\x01y\n", "t:1:5: control characters are not allowed"},
        {"\xff\xfe"
         "a\n",
         "t:1:1: invalid leading UTF-8 octet"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        check_bad(cases[i].text, strlen(cases[i].text), cases[i].expected);
    check_bad("a: \0b\n", 6, "t:1:4: control characters are not allowed");
    check_bad("a\0:\0 \0b\0", 8, "t:1:2: control characters are not allowed"); /* UTF-16 */
}

TEST(limits_hold)
{
    enum { SIZE = 1 << 20 };
    char *text = malloc(SIZE);
    struct psnap_yaml_doc *doc;
    struct psnap_error error;

    memset(text, '[', SIZE);
    check_bad(text, SIZE, "t:1:65: nested too deeply");
    memset(text + PSNAP_YAML_DEPTH, ']', PSNAP_YAML_DEPTH);
    doc = psnap_yaml_read_text(text, 2 * PSNAP_YAML_DEPTH, "t", &error);
    assert_non_null(doc);
    psnap_yaml_doc_free(doc);
    for (int i = 0; i < SIZE; i += 2)
        memcpy(text + i, "- ", 2);
    check_bad(text, SIZE, "t:1:129: nested too deeply");
    free(text);
    assert_null(psnap_yaml_read_text("", PSNAP_YAML_BYTES + 1, "t", &error));
    assert_string_equal(error.message, "larger than 256 MiB");
}

TEST(duplicate_keys_are_found_among_many)
{
    enum { N = 200000 }; /* a quadratic search would not come back */
    char *text = NULL;
    struct psnap_error error;
    struct psnap_yaml_doc *doc;
    size_t size;
    FILE *file = open_memstream(&text, &size);

    for (int i = 0; i < N; i++)
        fprintf(file, "k%d: %d\n", (int)((i * 7919LL) % N), i);
    fflush(file);
    doc = psnap_yaml_read_text(text, size, "t", &error);
    assert_non_null(doc);
    assert_int_equal(psnap_yaml_root(doc)->count, N);
    psnap_yaml_doc_free(doc);
    fputs("k7919: again\nk0: again\n", file);
    fclose(file);
    assert_null(psnap_yaml_read_text(text, size, "t", &error));
    assert_int_equal(error.src_line, N + 1);
    assert_string_equal(error.message, "the key 'k7919' is there already, in line 2");
    free(text);
}

TEST(files_are_read_whole)
{
    struct psnap_error error;
    struct psnap_yaml_doc *doc;
    FILE *file = tmpfile();

    fputs("text: ", file);
    for (int i = 0; i < 300000; i++)
        fputc('a' + i % 26, file);
    rewind(file);
    doc = psnap_yaml_read(file, "t", &error);
    assert_non_null(doc);
    assert_int_equal(strlen(psnap_yaml_root(doc)->first->text), 300000);
    psnap_yaml_doc_free(doc);
    fclose(file);
    file = fopen(".", "r"); /* opens, but does not read */
    assert_non_null(file);
    assert_null(psnap_yaml_read(file, "here", &error));
    assert_string_equal(error.message, "cannot read 'here': is a directory");
    fclose(file);
}

#define CHECK_ERROR(call, place, words)                                                            \
    do {                                                                                           \
        char text_[1024];                                                                          \
        assert_int_equal(call, PSNAP_ERROR_VALUE);                                                 \
        assert_string_equal(psnap_error_format(&error, text_, sizeof text_), place words);         \
    } while (0)

TEST(typed_access_checks_and_explains)
{
    struct psnap_yaml_doc *doc = read_good("ways: 8\n"
                                           "negative: -5\n"
                                           "hex: 0x20\n"
                                           "size: 32K\n"
                                           "rate: 2.5e-1\n"
                                           "quoted: '8'\n"
                                           "word: eight\n"
                                           "list: [1, x]\n"
                                           "map: {}\n"
                                           "nan: .nan\n"
                                           "huge: 99999999999999999999\n"
                                           "null:\n");
    const struct psnap_yaml_node *root = psnap_yaml_root(doc), *list = psnap_yaml_get(root, "list");
    struct psnap_error error;
    const char *text;
    uint64_t u = 0;
    int64_t i = 0;
    double r = 0;

#define U64(key, low, high) psnap_yaml_u64(doc, psnap_yaml_get(root, key), low, high, &u, &error)
    assert_int_equal(U64("ways", 1, 8), PSNAP_OK);
    assert_int_equal(u, 8);
    assert_int_equal(U64("hex", 0, 100), PSNAP_OK);
    assert_int_equal(u, 32);
    CHECK_ERROR(U64("ways", 1, 7), "t:1:7: ", "'ways' must be a whole number from 1 to 7, not '8'");
    CHECK_ERROR(U64("ways", 9, 10),
                "t:1:7: ", "'ways' must be a whole number from 9 to 10, not '8'");
    CHECK_ERROR(U64("negative", 0, 7),
                "t:2:11: ", "'negative' must be a whole number from 0 to 7, not '-5'");
    CHECK_ERROR(U64("quoted", 0, 9),
                "t:6:9: ", "'quoted' must be a whole number from 0 to 9, not the text '8'");
    CHECK_ERROR(U64("size", 0, 9),
                "t:4:7: ", "'size' must be a whole number from 0 to 9, not '32K'");
    CHECK_ERROR(U64("map", 0, 9), "t:9:6: ", "'map' must be a whole number from 0 to 9, not a map");
    CHECK_ERROR(U64("huge", 0, UINT64_MAX), "t:11:7: ",
                "'huge' must be a whole number from 0 to 18446744073709551615, not "
                "'99999999999999999999'");
    CHECK_ERROR(U64("null", 0, 1), "t:12:6: ", "'null' must be a whole number from 0 to 1, not ''");
    CHECK_ERROR(U64("missing", 0, 9), "t: ", "a required value is missing");
    CHECK_ERROR(psnap_yaml_u64(doc, list->last, 0, 9, &u, &error),
                "t:8:11: ", "an item of 'list' must be a whole number from 0 to 9, not 'x'");
    assert_int_equal(u, 32);

    assert_int_equal(psnap_yaml_i64(doc, psnap_yaml_get(root, "negative"), -5, 0, &i, &error), 0);
    assert_int_equal(i, -5);
    CHECK_ERROR(psnap_yaml_i64(doc, psnap_yaml_get(root, "negative"), -4, 4, &i, &error),
                "t:2:11: ", "'negative' must be a whole number from -4 to 4, not '-5'");

    assert_int_equal(psnap_yaml_size(doc, psnap_yaml_get(root, "size"), 0, 65536, &u, &error), 0);
    assert_int_equal(u, 32768);
    CHECK_ERROR(psnap_yaml_size(doc, psnap_yaml_get(root, "size"), 0, 100, &u, &error),
                "t:4:7: ", "'size' must be a size (4096, 32K, 1M) from 0 to 100, not '32K'");

    assert_int_equal(psnap_yaml_real(doc, psnap_yaml_get(root, "rate"), 0, 1, &r, &error), 0);
    assert_true(r == 0.25);
    CHECK_ERROR(psnap_yaml_real(doc, psnap_yaml_get(root, "nan"), 0, 0.5, &r, &error),
                "t:10:6: ", "'nan' must be a number from 0 to 0.5, not '.nan'");

    assert_int_equal(psnap_yaml_text(doc, psnap_yaml_get(root, "quoted"), &text, &error), 0);
    assert_string_equal(text, "8");
    CHECK_ERROR(psnap_yaml_text(doc, list, &text, &error),
                "t:8:7: ", "'list' must be one value, not a list");
    psnap_yaml_doc_free(doc);
}

TEST(structure_is_checked)
{
    static const char *const keys[] = {"size_bytes", "line_bytes", "ways", NULL};
    struct psnap_yaml_doc *doc = read_good("ways: 1\nline_byte: 2\n");
    const struct psnap_yaml_node *root = psnap_yaml_root(doc);
    struct psnap_error error;

    assert_int_equal(psnap_yaml_expect(doc, root, PSNAP_YAML_MAP, "a machine", &error), PSNAP_OK);
    CHECK_ERROR(psnap_yaml_expect(doc, root, PSNAP_YAML_SEQUENCE, "a machine", &error),
                "t:1:1: ", "a machine must be a list, not a map");
    CHECK_ERROR(psnap_yaml_expect(doc, root->last, PSNAP_YAML_MAP, "a level", &error),
                "t:2:12: ", "a level must be a map, not one value");
    CHECK_ERROR(psnap_yaml_expect(doc, NULL, PSNAP_YAML_MAP, "levels", &error),
                "t: ", "levels: missing");
    CHECK_ERROR(psnap_yaml_known_keys(doc, root, keys, &error),
                "t:2:1: ", "no key 'line_byte' here; did you mean 'line_bytes'?");
    assert_int_equal(
        psnap_yaml_known_keys(doc, root, (const char *const[]){"ways", "line_byte", NULL}, &error),
        PSNAP_OK);
    assert_int_equal(psnap_yaml_known_keys(doc, root, (const char *const[]){NULL}, &error),
                     PSNAP_ERROR_VALUE);
    assert_string_equal(error.message, "no key 'ways' here");
    assert_ptr_equal(psnap_yaml_require(doc, root, "ways", &error), root->first);
    assert_null(psnap_yaml_require(doc, root, "size_bytes", &error));
    assert_string_equal(error.message, "the key 'size_bytes' is missing");
    assert_int_equal(error.src_line, 1);
    assert_int_equal(psnap_yaml_fail(doc, root->last, &error, PSNAP_ERROR_VERSION, "version %d", 9),
                     PSNAP_ERROR_VERSION);
    assert_string_equal(error.message, "version 9");
    assert_int_equal(error.column, 12);
    psnap_yaml_doc_free(doc);
}
