/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The native trace: nothing that is damaged, cut off or of another version comes out as if
 * it were whole.
 */
#include "tests/unit/test_formats_pst_support.h"
#include "tests/unit/test.h"

#include <errno.h>

/* Cut off at every byte: an error, and every access of the whole chunks before it. */
TEST(test_truncation)
{
    struct written written = {0};
    struct psnap_error error;
    size_t whole_before = 0;

    write_random(&written, 5, 400, 8, SMALL_CHUNK);
    for (size_t size = 0; size < written.size; size++) {
        struct memory_input input;
        enum psnap_status status;
        struct psnap_access *back;
        size_t n;
        struct psnap_source *source =
            open_memory(&input, written.data, size, 1 << 20, size ? NULL : "pst", &error);

        if (size < PSNAP_PST_FILE_HEADER) {
            assert_null(source);
            assert_int_equal(error.code, PSNAP_ERROR_TRUNCATED);
            continue;
        }
        assert_non_null(source);
        back = read_all(source, &n, &status, &error);
        assert_int_equal(status, PSNAP_ERROR_TRUNCATED);
        assert_int_equal(error.offset, size);
        assert_true(n % SMALL_CHUNK == 0 || n == written.count);
        assert_true(n >= whole_before);
        whole_before = n;
        assert_same_accesses(written.accesses, n, back, n);
        free(back);
        psnap_source_free(source);
    }
    assert_int_equal(whole_before, written.count); /* only the end frame was missing */
    release_written(&written);
}

/* One bit turned in every byte: always an error, never an access that was not written. */
TEST(test_bit_flips)
{
    struct written written = {0};
    struct psnap_error error;

    write_random(&written, 8, 300, 6, SMALL_CHUNK);
    for (size_t i = 0; i < written.size; i++) {
        struct memory_input input;
        enum psnap_status status = PSNAP_ERROR_CORRUPT;
        size_t n;
        struct psnap_source *source;

        written.data[i] = (char)(written.data[i] ^ (1 << (i % 8)));
        source = open_memory(&input, written.data, written.size, 1 << 20, "pst", &error);
        if (source) {
            struct psnap_access *back = read_all(source, &n, &status, &error);
            assert_true(n <= written.count);
            assert_same_accesses(written.accesses, n, back, n);
            free(back);
        }
        assert_int_equal(status, PSNAP_ERROR_CORRUPT);
        assert_int_equal(error.code, PSNAP_ERROR_CORRUPT);
        assert_true(error.offset <= i);
        psnap_source_free(source);
        written.data[i] = (char)(written.data[i] ^ (1 << (i % 8)));
    }
    release_written(&written);
}

/* A whole frame that is missing, doubled or moved is found too, and so is anything at the end. */
TEST(test_frames_out_of_place)
{
    struct written written = {0};
    struct memory_input input;
    struct psnap_error error;
    enum psnap_status status;
    struct psnap_source *source;
    size_t n, first, second;
    char *data;

    write_random(&written, 9, 300, 1, SMALL_CHUNK);
    data = calloc(1, written.size * 2);
    first = PSNAP_PST_FILE_HEADER; /* the tables */
    first += PSNAP_PST_FRAME_HEADER + psnap_record_u32((unsigned char *)written.data + first + 24);
    second = first + PSNAP_PST_FRAME_HEADER +
             psnap_record_u32((unsigned char *)written.data + first + 24);
    memcpy(data, written.data, first); /* without the first chunk */
    memcpy(data + first, written.data + second, written.size - second);
    source = open_memory(&input, data, written.size - (second - first), 1 << 20, NULL, &error);
    assert_null(source);
    assert_int_equal(error.code, PSNAP_ERROR_CORRUPT);
    memcpy(data, written.data, second); /* the first chunk twice */
    memcpy(data + second, written.data + first, written.size - first);
    source = open_memory(&input, data, written.size + (second - first), 1 << 20, NULL, &error);
    free(read_all(source, &n, &status, &error));
    assert_int_equal(status, PSNAP_ERROR_CORRUPT);
    assert_int_equal(n, SMALL_CHUNK);
    psnap_source_free(source);
    memcpy(data, written.data, written.size); /* one byte more than there should be */
    source = open_memory(&input, data, written.size + 1, 1 << 20, NULL, &error);
    free(read_all(source, &n, &status, &error));
    assert_int_equal(status, PSNAP_ERROR_CORRUPT);
    psnap_source_free(source);
    free(data);
    release_written(&written);
}

TEST(test_other_versions)
{
    unsigned char header[PSNAP_PST_FILE_HEADER];
    struct memory_input input;
    struct psnap_error error;
    uint64_t chain;

    psnap_pst_file_header_make(header, PSNAP_PST_VERSION + 1, &chain);
    assert_null(open_memory(&input, header, sizeof header, 99, NULL, &error));
    assert_int_equal(error.code, PSNAP_ERROR_VERSION);
    assert_non_null(strstr(error.message, "a newer psnap"));
    psnap_pst_file_header_make(header, 1, &chain);
    assert_null(open_memory(&input, header, sizeof header, 99, NULL, &error));
    assert_int_equal(error.code, PSNAP_ERROR_VERSION);
    assert_non_null(strstr(error.message, "an older psnap: trace version 1,"));
    header[8] = PSNAP_PST_VERSION; /* now the header's check does not match */
    assert_null(open_memory(&input, header, sizeof header, 99, NULL, &error));
    assert_int_equal(error.code, PSNAP_ERROR_CORRUPT);
}

static ssize_t failing_read(void *context, void *buffer, size_t n)
{
    struct memory_input *input = context;

    if (input->at == input->size) {
        errno = EIO;
        return -1;
    }
    return memory_read(context, buffer, n);
}

/* A read that fails is not a trace that ends. */
TEST(test_read_errors)
{
    struct written written = {0};

    write_random(&written, 12, 300, 2, SMALL_CHUNK);
    for (size_t size = 0; size < written.size; size += 97) {
        struct memory_input input = {written.data, size, 0, 50};
        struct psnap_error error;
        enum psnap_status status = PSNAP_ERROR_IO;
        struct psnap_reader *reader =
            psnap_reader_new(failing_read, NULL, &input, "memory", &error);
        struct psnap_source *source = psnap_trace_open_reader(reader, "pst", &error);
        size_t n;

        if (source)
            free(read_all(source, &n, &status, &error));
        assert_int_equal(status, PSNAP_ERROR_IO);
        assert_int_equal(error.code, PSNAP_ERROR_IO);
        assert_int_equal(error.offset, size);
        psnap_source_free(source);
    }
    release_written(&written);
}
