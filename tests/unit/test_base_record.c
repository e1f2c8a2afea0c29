/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Records: a struct with a member of each kind, filled at random, is read as it was written. What
 * is wrong in a map is told by the tests of profiles.
 */
#include <math.h>

#include "formats/base/record.h"
#include "formats/base/rng.h"
#include "tests/unit/test.h"
#include "tests/unit/test_yaml_support.h"

struct part {
    uint32_t number;
};

struct thing {
    uint64_t wide;
    int64_t offset;
    double share, unknown;
    const char *text;
    char *owned;
    const char *const *words;
    struct part inner, *parts;
    uint32_t word, part_count;
    uint16_t half;
    uint8_t byte, tag;
};

static const struct psnap_field part_fields[] = {
    {"number", PSNAP_FIELD_UINT, PSNAP_AT(struct part, number), .high = 9, .missing = 7}};

static const struct psnap_record part_record = {"a part", PSNAP_FIELDS(part_fields),
                                                PSNAP_YAML_FLOW, sizeof(struct part)};

static const struct psnap_field thing_fields[] = {
    {"byte", PSNAP_FIELD_UINT, PSNAP_AT(struct thing, byte), .high = UINT8_MAX},
    {"half", PSNAP_FIELD_UINT, PSNAP_AT(struct thing, half), 1, UINT16_MAX, 3},
    {"one", PSNAP_FIELD_UINT, PSNAP_AT(struct thing, word), 0, UINT32_MAX,
     .rules = PSNAP_FIELD_TAGGED, .tag_at = offsetof(struct thing, tag), .tag = 0},
    {"other", PSNAP_FIELD_UINT, PSNAP_AT(struct thing, word), 0, UINT32_MAX,
     .rules = PSNAP_FIELD_TAGGED, .tag_at = offsetof(struct thing, tag), .tag = 1},
    {"wide", PSNAP_FIELD_SIZE, PSNAP_AT(struct thing, wide), .high = UINT64_MAX,
     .rules = PSNAP_FIELD_ALWAYS},
    {"offset", PSNAP_FIELD_INT, PSNAP_AT(struct thing, offset), .rules = PSNAP_FIELD_NEEDED},
    {"share", PSNAP_FIELD_REAL, PSNAP_AT(struct thing, share), .high = 100},
    {"unknown", PSNAP_FIELD_REAL, PSNAP_AT(struct thing, unknown), .high = 100,
     .missing = PSNAP_FIELD_NAN},
    {"text", PSNAP_FIELD_TEXT, PSNAP_AT(struct thing, text)},
    {"owned", PSNAP_FIELD_TEXT, PSNAP_AT(struct thing, owned), .rules = PSNAP_FIELD_HEAP},
    {"words", PSNAP_FIELD_TEXTS, PSNAP_AT(struct thing, words)},
    {"inner", PSNAP_FIELD_RECORD, PSNAP_AT(struct thing, inner), .record = &part_record},
    {"parts", PSNAP_FIELD_LIST, PSNAP_AT_LIST(struct thing, parts), .record = &part_record,
     .count_at = offsetof(struct thing, part_count)},
};
static const struct psnap_record thing_record = PSNAP_RECORD("a thing", thing_fields, BLOCK);

static void read_thing(const char *text, struct psnap_arena *arena, struct thing *thing)
{
    struct psnap_yaml_doc *doc = read_good(text);
    struct psnap_reading r = {.doc = doc, .arena = arena, .scratch = arena};

    psnap_record_read(&r, psnap_yaml_root(doc), &thing_record, thing);
    assert_int_equal(r.status, PSNAP_OK);
    psnap_yaml_doc_free(doc);
}

static char *write_thing(const struct thing *thing)
{
    const struct psnap_writing w = {psnap_yaml_doc_new("t")};
    char *text = NULL;
    size_t size;
    FILE *file = open_memstream(&text, &size);

    psnap_record_write(&w, NULL, NULL, &thing_record, thing);
    assert_int_equal(psnap_yaml_write(w.doc, file, NULL), PSNAP_OK);
    fclose(file);
    psnap_yaml_doc_free(w.doc);
    return text;
}

TEST(test_record_reads_what_it_writes)
{
    static const char *const words[] = {"a", "1", "", NULL}, *const texts[] = {"", "x y", "0x1"};
    struct psnap_rng rng;

    psnap_rng_init(&rng, 1);
    for (unsigned round = 0; round < 300; round++) {
        struct psnap_arena *arena = psnap_arena_new();
        struct part parts[] = {{1}, {7}, {9}};
        struct thing back = {0}, thing = {.wide = psnap_rng_next(&rng) >> psnap_rng_below(&rng, 64),
                                          .offset = (int64_t)psnap_rng_next(&rng),
                                          .share = (double)psnap_rng_below(&rng, 3) / 4,
                                          .unknown = psnap_rng_below(&rng, 2) ? NAN : 1e-9,
                                          .text = texts[psnap_rng_below(&rng, 3)],
                                          .owned = psnap_rng_below(&rng, 2) ? "mine" : NULL,
                                          .words = psnap_rng_below(&rng, 2) ? words : NULL,
                                          .inner = {(uint32_t)psnap_rng_below(&rng, 2) * 7},
                                          .parts = parts,
                                          .part_count = (uint32_t)psnap_rng_below(&rng, 4),
                                          .word = (uint32_t)psnap_rng_next(&rng),
                                          .half = (uint16_t)(1 + psnap_rng_below(&rng, 5)),
                                          .byte = (uint8_t)psnap_rng_below(&rng, 2),
                                          .tag = (uint8_t)psnap_rng_below(&rng, 2)};
        char *text = write_thing(&thing), *again;
        read_thing(text, arena, &back);
        again = write_thing(&back);
        assert_string_equal(text, again);
        assert_true(back.wide == thing.wide && back.offset == thing.offset);
        assert_true(back.word == thing.word && back.half == thing.half);
        assert_true(back.byte == thing.byte && back.tag == thing.tag);
        assert_true(back.share == thing.share && isnan(back.unknown) == isnan(thing.unknown));
        assert_string_equal(back.text, thing.text);
        assert_true(!back.owned == !thing.owned && !back.words == !thing.words);
        assert_true(back.inner.number == thing.inner.number && back.part_count == thing.part_count);
        for (uint32_t i = 0; i < back.part_count; i++)
            assert_int_equal(back.parts[i].number, parts[i].number);
        free(back.owned);
        free(text);
        free(again);
        psnap_arena_free(arena);
    }
}
