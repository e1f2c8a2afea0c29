/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The builder of profiles. The input is a stream of a small program: its first byte chooses the
 * options, then come single accesses and runs, with strides and columns, of several threads, at
 * addresses near each other, far from each other and at the ends of the address space. Runs put
 * whole and access by access must make the same profile, to the byte, which counts all accesses
 * and reads again; or the same error.
 */
#include "formats/base/layout.h"
#include "profile/profile.h"
#include "tests/fuzz/fuzz_trace.h"

enum { LOOPS = 4, REFS = 4, THREADS = 5, COLUMN = 64, RUN_MAX = 5000, TOTAL_MAX = 100000 };

struct stream {
    const uint8_t *at, *end;
};

static uint8_t byte_of(struct stream *stream)
{
    return stream->at < stream->end ? *stream->at++ : 0;
}

static uint64_t word_of(struct stream *stream)
{
    uint64_t word = 0;

    for (unsigned n = byte_of(stream) % 9; n > 0; n--)
        word = word << 8 | byte_of(stream);
    return word;
}

static uint64_t address_of(struct stream *stream)
{
    const uint8_t where = byte_of(stream);
    const uint64_t word = word_of(stream);

    switch (where % 6) {
    case 0:
        return word;
    case 1:
        return 0 - word;
    case 2:
        return PSNAP_GROUP_HEAP * PSNAP_LAYOUT_WINDOW + word;
    case 3:
        return PSNAP_GROUP_HEAP * PSNAP_LAYOUT_WINDOW + word % 100000;
    case 4:
        return (UINT64_C(1) << 63) + word;
    default:
        return PSNAP_GROUP_STACK * PSNAP_LAYOUT_WINDOW + word % 4096 * 300;
    }
}

/* Two parts of one loop and two others; references of objects, and one of none. */
static struct psnap_program *make_program(void)
{
    static const char *const ids[LOOPS] = {"f:1.vector", "f:1.rest", "f:2", "f:3"};
    static const char *const sources[LOOPS] = {"f:1", "f:1", "f:2", "f:3"};
    static const char *const objects[REFS] = {"a", "f.x", "a.2", NULL};
    struct psnap_program *program = psnap_program_new();

    must(program != NULL);
    for (uint32_t l = 0; l < LOOPS; l++) {
        const struct psnap_loop loop = {.id = ids[l],
                                        .src_id = sources[l],
                                        .function = "f",
                                        .file = "f.c",
                                        .src_line = l,
                                        .depth = 1,
                                        .parent = PSNAP_NONE,
                                        .header = PSNAP_NONE,
                                        .entry = PSNAP_NONE};
        const struct psnap_block block = {.loop = l};

        psnap_program_add_loop(program, &loop);
        psnap_program_add_block(program, &block);
        for (uint32_t r = 0; r < REFS; r++) {
            const struct psnap_ref ref = {.block = l,
                                          .loop = l,
                                          .object = objects[r],
                                          .object_kind =
                                              r == 1 ? PSNAP_OBJECT_STACK : PSNAP_OBJECT_GLOBAL};
            psnap_program_add_ref(program, &ref);
        }
    }
    return program;
}

/* A run of the loop; returns its accesses. */
static uint64_t put_run(struct stream *stream, struct psnap_sink *sink, uint32_t loop,
                        uint16_t thread, bool singly, enum psnap_status *status,
                        struct psnap_error *error)
{
    const uint8_t how = byte_of(stream);
    const bool has_columns = how & 4, has_words = how & 8;
    const uint64_t count = 1 + word_of(stream) % (has_columns ? COLUMN : RUN_MAX);
    struct psnap_access first[REFS];
    struct psnap_column columns[REFS] = {{0}};
    int64_t strides[REFS];
    uint64_t words[REFS][COLUMN];
    const struct psnap_run run = {.first = first,
                                  .strides = strides,
                                  .columns = has_columns ? columns : NULL,
                                  .width = 1 + how % 4,
                                  .count = count};

    for (uint32_t k = 0; k < run.width; k++) {
        const uint8_t size = byte_of(stream);

        first[k] = (struct psnap_access){address_of(stream), loop * REFS + k,
                                         (uint8_t)(1 + size % PSNAP_ACCESS_SIZE_MAX),
                                         (uint8_t)((size >> 6) % 3), thread};
        strides[k] = has_words ? (int64_t)word_of(stream) : (int8_t)byte_of(stream);
        if (!has_columns || !(size & 1))
            continue;
        words[k][0] = first[k].address;
        for (uint64_t i = 1; i < count; i++)
            words[k][i] =
                byte_of(stream) & 1 ? words[k][i - 1] + byte_of(stream) : address_of(stream);
        columns[k] = (struct psnap_column){words[k], 1, 0};
    }
    *status = singly ? psnap_sink_put_repetitions(sink, &run, 0, count, error)
                     : psnap_sink_put_run(sink, &run, error);
    return run.width * count;
}

/* A few accesses of one reference. */
static uint64_t put_accesses(struct stream *stream, struct psnap_sink *sink, uint32_t ref,
                             uint16_t thread, enum psnap_status *status, struct psnap_error *error)
{
    const unsigned n = 1 + byte_of(stream) % 16;
    const uint64_t first = address_of(stream), step = word_of(stream);
    const uint8_t size = byte_of(stream);
    struct psnap_access accesses[16];

    for (unsigned i = 0; i < n; i++)
        accesses[i] = (struct psnap_access){first + i * step, ref,
                                            (uint8_t)(1 + size % PSNAP_ACCESS_SIZE_MAX),
                                            (uint8_t)((size >> 6) % 3), thread};
    *status = psnap_sink_put(sink, accesses, n, error);
    return n;
}

static void check_profile(const struct psnap_profile *profile, uint64_t total, const char *text,
                          size_t size)
{
    struct psnap_error error;
    struct psnap_profile_totals totals;
    FILE *file = fmemopen((void *)(uintptr_t)text, size, "r");
    struct psnap_profile *back;

    psnap_profile_totals(profile, &totals);
    must(totals.accesses == total && file);
    back = psnap_profile_read(file, "fuzz", &error);
    must(back != NULL || total == 0);
    psnap_profile_free(back);
    fclose(file);
}

/* The text of the profile of the input, or of the error; the caller frees it. */
static char *build(const uint8_t *data, size_t size, bool singly)
{
    struct stream stream = {data, data + size};
    struct psnap_program *program = make_program();
    const uint8_t chosen = byte_of(&stream);
    const struct psnap_builder_options options = {
        .region_limit = chosen & 1 ? PSNAP_REGION_LIMIT_MIN + chosen / 8 : 0,
        .region_gap_bytes = chosen & 2 ? 64 : 0};
    struct psnap_error error = {.code = PSNAP_OK};
    struct psnap_sink *sink = psnap_profile_builder_new(program, &options, &error);
    enum psnap_status status = PSNAP_OK;
    uint16_t thread = 0;
    uint64_t total = 0;
    char *text = NULL;
    size_t text_size = 0;

    must(sink != NULL);
    while (stream.at < stream.end && !status && total < TOTAL_MAX) {
        const uint8_t kind = byte_of(&stream);
        const uint32_t loop = kind >> 6;

        if (kind & 32)
            thread = byte_of(&stream) % THREADS;
        total += kind & 1 ? put_run(&stream, sink, loop, thread, singly, &status, &error)
                          : put_accesses(&stream, sink, loop * REFS + (kind >> 1) % REFS, thread,
                                         &status, &error);
    }
    if (status) {
        text = strdup(error.message);
    } else {
        FILE *file = open_memstream(&text, &text_size);
        struct psnap_profile *profile;

        must(!psnap_sink_finish(sink, &error));
        profile = psnap_profile_builder_take(sink, &error);
        must(profile && file && !psnap_profile_write(profile, file, &error));
        fclose(file);
        check_profile(profile, total, text, text_size);
        psnap_profile_free(profile);
    }
    psnap_sink_free(sink);
    psnap_program_free(program);
    return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *whole = build(data, size, false), *singly = build(data, size, true);

    must(whole && singly && !strcmp(whole, singly));
    free(whole);
    free(singly);
    return 0;
}
