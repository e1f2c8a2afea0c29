/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Streams of the native trace, payload by payload (PST.md, "Methods"): what comes again costs
 * next to nothing, however far before it was within the window; a stream ends after so many
 * bytes, so that who seeks in it has not to go further back; what is read is what was written.
 */
#include "formats/pst.h"
#include "tests/unit/test_formats_support.h"

enum { PART = 2 << 20, BETWEEN = 12 };

static void make_part(struct psnap_bytes *payload, uint64_t seed)
{
    struct psnap_rng rng;
    unsigned char *at;

    psnap_rng_init(&rng, seed);
    payload->size = 0;
    at = psnap_bytes_extend(payload, PART);
    assert_non_null(at);
    for (size_t i = 0; i < PART; i += 8)
        psnap_store_u64(at + i, psnap_rng_next(&rng));
}

/* Stores the payload and reads it back; returns the method. */
static uint8_t pass(struct psnap_pst_squeezer *squeezer, struct psnap_pst_expander *expander,
                    const struct psnap_bytes *payload, size_t *stored_size)
{
    const unsigned char *stored;
    const uint8_t method = psnap_pst_squeeze(squeezer, 1, payload, &stored, stored_size);
    const struct psnap_pst_frame frame = {.type = PSNAP_PST_ACCESSES,
                                          .stored = stored,
                                          .stored_size = (uint32_t)*stored_size,
                                          .raw_size = (uint32_t)payload->size,
                                          .method = method};
    struct psnap_cursor back;
    struct psnap_error error;

    assert_int_equal(psnap_pst_expand(expander, &frame, &back, &error), PSNAP_OK);
    assert_int_equal(back.end - back.at, payload->size);
    assert_memory_equal(back.at, payload->data, payload->size);
    return method;
}

/* Random bytes come again 26 MB later. */
static void what_comes_again(void **state)
{
    struct psnap_pst_squeezer *squeezer = psnap_pst_squeezer_new();
    struct psnap_pst_expander *expander = psnap_pst_expander_new();
    struct psnap_bytes payload = {0};
    size_t size;

    (void)state;
    for (uint64_t i = 0; i <= BETWEEN; i++) {
        make_part(&payload, i);
        assert_int_equal(pass(squeezer, expander, &payload, &size),
                         i ? PSNAP_PST_CONTINUED : PSNAP_PST_BEGUN);
        assert_in_range(size, PART, psnap_pst_stored_max(PART));
    }
    make_part(&payload, 0);
    assert_int_equal(pass(squeezer, expander, &payload, &size), PSNAP_PST_CONTINUED);
    assert_in_range(size, 1, PART / 20);
    psnap_bytes_release(&payload);
    psnap_pst_squeezer_free(squeezer);
    psnap_pst_expander_free(expander);
}

static void streams_end(void **state)
{
    struct psnap_pst_squeezer *squeezer = psnap_pst_squeezer_new();
    struct psnap_pst_expander *expander = psnap_pst_expander_new();
    struct psnap_bytes payload = {.size = PSNAP_PST_PAYLOAD_MAX};
    const uint64_t whole = PSNAP_PST_STREAM_BYTES / PSNAP_PST_PAYLOAD_MAX;
    size_t size;

    (void)state;
    payload.data = calloc(1, payload.size);
    assert_non_null(payload.data);
    for (uint64_t i = 0; i < whole + 2; i++)
        assert_int_equal(pass(squeezer, expander, &payload, &size),
                         i % whole ? PSNAP_PST_CONTINUED : PSNAP_PST_BEGUN);
    free(payload.data);
    psnap_pst_squeezer_free(squeezer);
    psnap_pst_expander_free(expander);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_comes_again),
                                       cmocka_unit_test(streams_end)};

    return cmocka_run_group_tests_name("formats_pst_stream", tests, NULL, NULL);
}
