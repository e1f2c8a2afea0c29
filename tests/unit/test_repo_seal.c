/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sealed files and packs: every flipped bit of every byte is found and undone, and so are as many
 * blocks in a row as there are parity blocks; cut off anywhere, nothing is made up; of a damaged
 * pack the other records are found.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "profile/repo/pack.h"
#include "profile/repo/seal.h"

static void fill(uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)(i * 131 + i / 251);
}

static struct repo_bytes sealed_of(const uint8_t *body, size_t size)
{
    struct repo_bytes file = {0};

    seal_add(&file, body, size);
    assert_false(file.is_short);
    return file;
}

static void flips(size_t size, size_t step)
{
    uint8_t *body = malloc(size + 1), *copy;
    struct repo_bytes file;
    struct sealed sealed;

    fill(body, size);
    file = sealed_of(body, size);
    copy = malloc(file.size);
    memcpy(copy, file.data, file.size);
    seal_open(copy, file.size, &sealed);
    assert_int_equal(sealed.state, SEAL_WHOLE);
    assert_int_equal(sealed.size, size);
    for (size_t at = 0; at < file.size; at += step)
        for (unsigned bit = 0; bit < 8; bit += 3) {
            memcpy(copy, file.data, file.size);
            copy[at] ^= (uint8_t)(1u << bit);
            seal_open(copy, file.size, &sealed);
            assert_int_equal(sealed.state, SEAL_MENDED);
            assert_true(sealed.damage[0]);
            assert_int_equal(sealed.size, size);
            assert_memory_equal(sealed.body, body, size);
        }
    free(copy);
    free(body);
    repo_bytes_release(&file);
}

static void test_flips(void **state)
{
    (void)state;
    flips(0, 1);
    flips(1, 1);
    flips(255, 1);
    flips(256, 1);
    flips(1000, 1);
    flips(100000, 97);
}

/* 100 KiB are 100 blocks of 1024 bytes, with 4 of parity. */
static void test_bursts(void **state)
{
    enum { SIZE = 100 << 10 };
    uint8_t *body = malloc(SIZE);
    struct repo_bytes file;
    struct sealed sealed;

    (void)state;
    fill(body, SIZE);
    for (size_t burst = 1; burst <= 6000; burst += 371) {
        file = sealed_of(body, SIZE);
        memset(file.data + SEAL_HEAD_BYTES + 5 * 1024, 0x55, burst);
        seal_open(file.data, file.size, &sealed);
        if (burst <= 4 * 1024) {
            assert_int_equal(sealed.state, SEAL_MENDED);
            assert_memory_equal(sealed.body, body, SIZE);
        } else if (burst > 4 * 1024 + 1024) {
            assert_int_equal(sealed.state, SEAL_DAMAGED);
        }
        repo_bytes_release(&file);
    }
    free(body);
}

static void test_cut(void **state)
{
    uint8_t body[700];
    struct repo_bytes file;
    struct sealed sealed;

    (void)state;
    fill(body, sizeof body);
    file = sealed_of(body, sizeof body);
    for (size_t size = 0; size < file.size; size++) {
        uint8_t *copy = malloc(size + 1);
        memcpy(copy, file.data, size);
        seal_open(copy, size, &sealed);
        assert_int_equal(sealed.state, SEAL_DAMAGED);
        assert_true(sealed.size <= sizeof body);
        assert_memory_equal(sealed.body, body, sealed.size);
        free(copy);
    }
    repo_bytes_add(&file, "behind", 6);
    seal_open(file.data, file.size, &sealed);
    assert_int_equal(sealed.state, SEAL_MENDED);
    assert_memory_equal(sealed.body, body, sizeof body);
    repo_bytes_release(&file);
}

enum { RECORDS = 20 };

static struct repo_bytes pack_of_records(void)
{
    struct repo_bytes body = {0};
    uint8_t stored[300];

    for (unsigned i = 0; i < RECORDS; i++) {
        struct record record = {.type = RECORD_PROFILE, .stored = stored};
        memset(stored, (int)i, sizeof stored);
        record.stored_bytes = record.raw_bytes = 10 * i;
        repo_id_of(stored, record.stored_bytes, &record.id);
        pack_add(&body, &record);
    }
    return body;
}

static unsigned whole_records(const struct repo_bytes *body, size_t *skipped)
{
    struct record record;
    size_t at = 0;
    unsigned count = 0;

    *skipped = 0;
    while (pack_next(body->data, body->size, &at, &record)) {
        struct repo_id id;
        *skipped += record.skipped;
        if (!record.is_whole)
            continue;
        repo_id_of(record.stored, record.stored_bytes, &id);
        assert_true(repo_id_is_same(&id, &record.id));
        count++;
    }
    *skipped += record.skipped;
    return count;
}

static void test_pack(void **state)
{
    struct repo_bytes body = pack_of_records();
    size_t skipped;

    (void)state;
    assert_int_equal(whole_records(&body, &skipped), RECORDS);
    assert_int_equal(skipped, 0);
    for (size_t at = 0; at < body.size; at++) { /* whatever it hits, all others are found */
        body.data[at] ^= 0x20;
        assert_int_equal(whole_records(&body, &skipped), RECORDS - 1);
        body.data[at] ^= 0x20;
    }
    for (size_t size = 0; size < body.size; size += 7) {
        const struct repo_bytes cut = {.data = body.data, .size = size};
        assert_true(whole_records(&cut, &skipped) < RECORDS);
    }
    repo_bytes_release(&body);
}

static void test_ids(void **state)
{
    struct repo_id id, back;
    char text[REPO_ID_DIGITS + 1];

    (void)state;
    repo_id_of("", 0, &id);
    /* of the reference implementation: xxh128sum of nothing */
    assert_string_equal(repo_id_text(&id, text), "99aa06d3014798d86001c324468d497f");
    assert_true(repo_id_parse(text, &back) && repo_id_is_same(&id, &back));
    assert_false(repo_id_parse("99aa06d3014798d86001c324468d497", &back));
    assert_false(repo_id_parse("99aa06d3014798d86001c324468d497f0", &back));
    assert_false(repo_id_parse("99AA06d3014798d86001c324468d497f", &back));
    assert_false(repo_id_parse("", &back));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_flips), cmocka_unit_test(test_bursts), cmocka_unit_test(test_cut),
        cmocka_unit_test(test_pack),  cmocka_unit_test(test_ids),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
