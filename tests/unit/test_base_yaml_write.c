/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * YAML documents that are written: what they look like, that texts and random
 * trees are read back as they were, and that failures are told.
 */
#include "tests/unit/test_yaml_support.h"

#include <float.h>

#include "formats/base/rng.h"
#include "tests/unit/test.h"

static char *write_text(const struct psnap_yaml_doc *doc)
{
    struct psnap_error error;
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);

    assert_int_equal(psnap_yaml_write(doc, file, &error), PSNAP_OK);
    fclose(file);
    return text;
}

static void make_item(void *context, struct psnap_yaml_doc *doc)
{
    uint64_t *next = context;
    struct psnap_yaml_node *map = psnap_yaml_add_map(doc, NULL, NULL, PSNAP_YAML_BLOCK);

    psnap_yaml_add_u64(doc, map, "a", (*next)++);
    psnap_yaml_add_text(doc, psnap_yaml_add_sequence(doc, map, "b", PSNAP_YAML_FLOW), NULL, "c");
}

/* Items that are made while they are written look like those that were there. */
TEST(lists_are_written_item_by_item)
{
    static const char *const texts[] = {
        "x: []\ny: 1\n", "x:\n- a: 0\n  b: [c]\ny: 1\n",
        "x:\n- a: 0\n  b: [c]\n- a: 1\n  b: [c]\n- a: 2\n  b: [c]\ny: 1\n"};
    static const size_t counts[] = {0, 1, 3};

    for (unsigned i = 0; i < 3; i++) {
        struct psnap_yaml_doc *doc = psnap_yaml_doc_new("t");
        struct psnap_yaml_node *root = psnap_yaml_add_map(doc, NULL, NULL, PSNAP_YAML_BLOCK);
        struct psnap_yaml_node *list = psnap_yaml_add_sequence(doc, root, "x", PSNAP_YAML_BLOCK);
        uint64_t next = 0;
        char *text = NULL;
        size_t size = 0;
        FILE *file = open_memstream(&text, &size);
        psnap_yaml_add_u64(doc, root, "y", 1);
        assert_int_equal(psnap_yaml_write_list(doc, list, make_item, &next, counts[i], file, NULL),
                         PSNAP_OK);
        fclose(file);
        assert_string_equal(text, texts[i]);
        free(text);
        psnap_yaml_doc_free(doc);
    }
}

TEST(written_documents_look_right)
{
    struct psnap_yaml_doc *doc = psnap_yaml_doc_new("t");
    struct psnap_yaml_node *root = psnap_yaml_add_map(doc, NULL, NULL, PSNAP_YAML_BLOCK);
    struct psnap_yaml_node *loops = psnap_yaml_add_sequence(doc, root, "loops", PSNAP_YAML_BLOCK);
    struct psnap_yaml_node *loop = psnap_yaml_add_map(doc, loops, NULL, PSNAP_YAML_BLOCK);
    struct psnap_yaml_node *region = psnap_yaml_add_map(doc, loop, "region", PSNAP_YAML_FLOW);
    struct psnap_yaml_node *strides =
        psnap_yaml_add_sequence(doc, region, "strides", PSNAP_YAML_FLOW);
    char *text;

    psnap_yaml_add_u64(doc, strides, NULL, UINT64_MAX);
    psnap_yaml_add_i64(doc, strides, NULL, INT64_MIN);
    psnap_yaml_add_real(doc, strides, NULL, 0.1);
    psnap_yaml_add_text(doc, region, "12", "12"); /* keys are texts anyway, so numbers are plain */
    psnap_yaml_add_text(doc, region, "-8", "eight");
    psnap_yaml_add_text(doc, region, "007", "bond");
    psnap_yaml_add_text(doc, loop, "id", "spmv:30.vector");
    psnap_yaml_add_text(doc, loop, "yes", "no");
    psnap_yaml_add_text(doc, loop, "n", "");
    psnap_yaml_add_text(doc, loop, "site", "main cg.c:120");
    psnap_yaml_add_text(doc, loop, "colon", "a: b");
    psnap_yaml_add_text(doc, loop, "hash", "a #b");
    psnap_yaml_add_text(doc, loop, "lines", "a\nb");
    psnap_yaml_add_text(doc, loop, "bytes", "\xff\xc3\xa4");
    psnap_yaml_add_text(doc, loop, "turned", "a\xe2\x80\xae\xc2\x9b");
    psnap_yaml_add_map(doc, root, "none", PSNAP_YAML_BLOCK);
    text = write_text(doc);
    assert_string_equal(text, "loops:\n"
                              "- region: {strides: [18446744073709551615, -9223372036854775808, "
                              "0.1], 12: '12', -8: eight, '007': bond}\n"
                              "  id: spmv:30.vector\n"
                              "  'yes': 'no'\n"
                              "  n: ''\n"
                              "  site: main cg.c:120\n"
                              "  colon: 'a: b'\n"
                              "  hash: 'a #b'\n"
                              "  lines: \"a\\nb\"\n"
                              "  bytes: \xef\xbf\xbd\xc3\xa4\n"
                              "  turned: \"a\\u202E\\x9B\"\n"
                              "none: {}\n");
    free(text);
    psnap_yaml_doc_free(doc);
}

/* Which other readers may take for numbers, nulls, marks or two things. */
static const char *const awkward_texts[] = {
    "",
    " ",
    "~",
    "null",
    "true",
    "No",
    "on",
    "1",
    "-1",
    "0x1F",
    "1e5",
    ".5",
    ".inf",
    "-.5",
    "1:30",
    "=",
    "<<",
    "-",
    "?",
    ":",
    "- a",
    "a:",
    "#a",
    "'",
    "\"",
    "[a",
    "{a}",
    "a,b",
    "&a",
    "*a",
    "!a",
    "%a",
    "@a",
    "`a",
    " a",
    "a ",
    "a\n",
    "\na",
    "a\tb",
    "\x01",
    "\x7f",
    "---",
    "...",
    "|",
    ">",
    "a\r\n",
    "\xc2\x85",
    "\xe2\x80\xa8",
    "\xef\xbb\xbfx",
    "\xf0\x9f\x98\x80",
    "2001-12-14",
    "+12e03",
    "_1",
    "a\\b",
};

TEST(texts_read_back_as_texts)
{
    struct psnap_yaml_doc *doc, *back;
    char *text;

    for (int style = PSNAP_YAML_BLOCK; style <= PSNAP_YAML_FLOW; style++) {
        const struct psnap_yaml_node *node;
        doc = psnap_yaml_doc_new("t");
        struct psnap_yaml_node *root =
            psnap_yaml_add_map(doc, NULL, NULL, (enum psnap_yaml_style)style);
        for (size_t i = 0; i < sizeof awkward_texts / sizeof awkward_texts[0]; i++)
            psnap_yaml_add_text(doc, root, awkward_texts[i], awkward_texts[i]);
        text = write_text(doc);
        back = read_good(text);
        node = psnap_yaml_root(back)->first;
        for (size_t i = 0; i < sizeof awkward_texts / sizeof awkward_texts[0];
             i++, node = node->next) {
            uint64_t u;
            double r;
            assert_string_equal(node->key, awkward_texts[i]);
            assert_string_equal(node->text, awkward_texts[i]);
            assert_int_not_equal(psnap_yaml_u64(back, node, 0, UINT64_MAX, &u, NULL), PSNAP_OK);
            assert_int_not_equal(psnap_yaml_real(back, node, -DBL_MAX, DBL_MAX, &r, NULL),
                                 PSNAP_OK);
        }
        assert_null(node);
        psnap_yaml_doc_free(back);
        psnap_yaml_doc_free(doc);
        free(text);
    }
}

/* Random trees */

static void random_text(struct psnap_rng *rng, char *text, size_t length)
{
    static const char *const pieces[] = {"a",  "B",  "7",        " ",  ":", "#", "'",
                                         "\"", ",",  "[",        "]",  "{", "}", "-",
                                         "\n", "\t", "\xc3\xa9", "\\", "~", "."};
    char *to = text;

    for (size_t i = 0; i < length; i++) {
        const char *piece = pieces[psnap_rng_below(rng, sizeof pieces / sizeof pieces[0])];
        memcpy(to, piece, strlen(piece));
        to += strlen(piece);
    }
    *to = '\0';
}

static void random_tree(struct psnap_yaml_doc *doc, struct psnap_yaml_node *parent, const char *key,
                        struct psnap_rng *rng, int depth)
{
    const uint64_t choice = psnap_rng_below(rng, parent ? 6 : 2);
    const enum psnap_yaml_style style =
        psnap_rng_below(rng, 3) ? PSNAP_YAML_BLOCK : PSNAP_YAML_FLOW;
    char text[512];

    if (choice < 2 && depth < 8) {
        struct psnap_yaml_node *node = choice ? psnap_yaml_add_map(doc, parent, key, style)
                                              : psnap_yaml_add_sequence(doc, parent, key, style);
        const uint64_t n = psnap_rng_below(rng, 6);
        for (uint64_t i = 0; i < n; i++) {
            char *end;
            random_text(rng, text, psnap_rng_below(rng, 12));
            end = text + strlen(text);
            snprintf(end, 8, "%d", (int)i); /* distinct keys */
            random_tree(doc, node, choice ? text : NULL, rng, depth + 1);
        }
    } else if (choice == 2) {
        psnap_yaml_add_u64(doc, parent, key, psnap_rng_next(rng));
    } else if (choice == 3) {
        psnap_yaml_add_i64(doc, parent, key, (int64_t)psnap_rng_next(rng));
    } else if (choice == 4) {
        psnap_yaml_add_real(doc, parent, key, (double)psnap_rng_next(rng) / 1e9);
    } else {
        random_text(rng, text, psnap_rng_below(rng, psnap_rng_below(rng, 10) ? 20 : 200));
        psnap_yaml_add_text(doc, parent, key, text);
    }
}

static void check_same(const struct psnap_yaml_node *a, const struct psnap_yaml_node *b)
{
    assert_int_equal(a->kind, b->kind);
    assert_int_equal(a->count, b->count);
    assert_int_equal(!a->key, !b->key);
    if (a->key)
        assert_string_equal(a->key, b->key);
    if (a->kind == PSNAP_YAML_SCALAR) {
        assert_string_equal(a->text, b->text);
        assert_true(b->quoted || !a->quoted);
    }
    for (a = a->first, b = b->first; a; a = a->next, b = b->next)
        check_same(a, b);
}

TEST(random_trees_survive_writing_and_reading)
{
    struct psnap_rng rng;

    for (uint64_t seed = 0; seed < 3000; seed++) {
        struct psnap_yaml_doc *doc = psnap_yaml_doc_new("t"), *back;
        char *text, *again;
        psnap_rng_init(&rng, seed);
        random_tree(doc, NULL, NULL, &rng, 0);
        text = write_text(doc);
        back = read_good(text);
        check_same(psnap_yaml_root(doc), psnap_yaml_root(back));
        again = write_text(back); /* written again: what was read is what is written */
        psnap_yaml_doc_free(doc);
        doc = read_good(again);
        check_same(psnap_yaml_root(back), psnap_yaml_root(doc));
        psnap_yaml_doc_free(back);
        psnap_yaml_doc_free(doc);
        free(text);
        free(again);
    }
}

TEST(writing_fails_cleanly)
{
    struct psnap_yaml_doc *doc = psnap_yaml_doc_new("t");
    struct psnap_yaml_node *root;
    struct psnap_error error;
    FILE *file = fopen("/dev/full", "w");

    assert_int_equal(psnap_yaml_write(doc, file, &error), PSNAP_ERROR_USAGE);
    root = psnap_yaml_add_sequence(doc, NULL, NULL, PSNAP_YAML_BLOCK);
    for (uint64_t i = 0; i < 10000; i++)
        psnap_yaml_add_u64(doc, root, NULL, i);
    assert_int_equal(psnap_yaml_write(doc, file, &error), PSNAP_ERROR_IO);
    assert_string_equal(error.message, "cannot write: no space left on device");
    psnap_yaml_doc_free(doc);
    fclose(file);
}
