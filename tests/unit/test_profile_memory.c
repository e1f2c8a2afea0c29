/* SPDX-License-Identifier: BSD-3-Clause */
/* Out of memory while a profile of the published model is built and replayed, and one of model
 * nests, which is written and read as well: each with every one of its allocations failing. And how
 * much a profile of very many loops takes. */
#include "replay/replay.h"
#include "tests/unit/failing_malloc.h"
#include "tests/unit/test_profile_support.h"

enum { LOOPS = 3, ROUNDS = 70 };

static struct psnap_program *program;

/* More regions than the limit, so that some are merged, and in the end a run. */
static enum psnap_status put_regions(struct psnap_sink *builder, struct psnap_error *error)
{
    const struct psnap_access first = {4096, 0, 8, PSNAP_LOAD, 0};
    const int64_t stride = 8;
    const struct psnap_run run = {.first = &first, .strides = &stride, .width = 1, .count = 5000};
    enum psnap_status status = PSNAP_OK;

    for (uint32_t i = 0; i < ROUNDS && !status; i++) {
        const struct psnap_access accesses[2] = {
            {UINT64_C(4096) * i, i % LOOPS, 8, PSNAP_LOAD, (uint16_t)i},
            {UINT64_C(4096) * i + 8, i % LOOPS, (uint8_t)(1 + i % 16), PSNAP_STORE, (uint16_t)i}};
        status = psnap_sink_put(builder, accesses, 2, error);
    }
    return status ? status : psnap_sink_put_run(builder, &run, error);
}

/* A triangle, and a loop at random addresses. */
static enum psnap_status put_nests(struct psnap_sink *builder, struct psnap_error *error)
{
    enum psnap_status status = PSNAP_OK;
    uint32_t random = 1;

    for (uint64_t i = 0; i < 400 && !status; i++) {
        struct psnap_access accesses[60] = {{4096 + 8 * i, 0, 8, PSNAP_LOAD, 0}};
        size_t n = 1;
        for (uint64_t j = 0; j < i % 4 + 2; j++)
            accesses[n++] = (struct psnap_access){65536 + 1024 * i + 8 * j, 1, 8, PSNAP_LOAD, 0};
        for (int j = 0; j < 9; j++) {
            random = random * 1664525u + 1013904223u;
            accesses[n++] = (struct psnap_access){random >> 8 << 3, 2, 8, PSNAP_STORE, 0};
        }
        status = psnap_sink_put(builder, accesses, n, error);
    }
    return status;
}

static struct psnap_profile *try_build(bool nests, struct psnap_error *error)
{
    const struct psnap_builder_options options = {.nests = nests, .region_limit = nests ? 0 : 4};
    struct psnap_sink *builder = psnap_profile_builder_new(program, &options, error);
    struct psnap_profile *profile = NULL;

    if (builder && !(nests ? put_nests : put_regions)(builder, error) &&
        !psnap_sink_finish(builder, error))
        profile = psnap_profile_builder_take(builder, error);
    psnap_sink_free(builder);
    return profile;
}

/* All of it, as many accesses as it has; frees it. */
static enum psnap_status replay_all(struct psnap_profile *profile, struct psnap_error *error)
{
    struct psnap_source *source = profile ? psnap_replay_new(profile, 0, error) : NULL;
    struct psnap_profile_totals totals = {0};
    struct psnap_access block[64];
    uint64_t count = 0;
    ssize_t n = -1;

    while (source && (n = psnap_source_next(source, block, 64, error)) > 0)
        count += (uint64_t)n;
    if (n == 0) {
        psnap_profile_totals(profile, &totals);
        assert_int_equal(count, totals.accesses);
    }
    psnap_source_free(source);
    psnap_profile_free(profile);
    return n == 0 ? PSNAP_OK : error->code;
}

static enum psnap_status build_published(struct psnap_error *error)
{
    return replay_all(try_build(false, error), error);
}

static enum psnap_status build_nests(struct psnap_error *error)
{
    return replay_all(try_build(true, error), error);
}

static char *text;

static enum psnap_status read_nests(struct psnap_error *error)
{
    static char buffer[4096];
    FILE *file = fmemopen(text, strlen(text), "r");
    struct psnap_profile *profile;

    if (!file)
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    setvbuf(file, buffer, _IOFBF, sizeof buffer);
    profile = psnap_profile_read(file, "p.yaml", error);
    fclose(file);
    return replay_all(profile, error);
}

TEST(out_of_memory)
{
    struct psnap_profile *profile;

    program = make_program(LOOPS, 1);
    run_job(build_published);
    run_job(build_nests);
    profile = try_build(true, NULL);
    assert_non_null(profile);
    text = write_text(profile);
    psnap_profile_free(profile);
    run_job(read_nests);
    free(text);
    psnap_program_free(program);
}

enum { MANY_LOOPS = 20000, MANY_REFS = 4, MANY_ROUNDS = 300 };

/* A loop's rows: three references go through arrays of their own, the last one to and fro in one
 * array that it shares, so that patterns are full and some have no period. */
static void put_rows(struct psnap_sink *builder, uint32_t loop)
{
    struct psnap_access accesses[MANY_REFS * MANY_ROUNDS];
    uint32_t n = 0;

    for (uint32_t i = 0; i < MANY_ROUNDS; i++)
        for (uint32_t k = 0; k < MANY_REFS; k++) {
            const uint64_t place = k == 3 ? i * i % 61 : i;
            accesses[n++] = (struct psnap_access){.address = (k << 24) + 4096 * loop + 8 * place,
                                                  .ref = loop * MANY_REFS + k,
                                                  .size = 8,
                                                  .kind = k == 3 ? PSNAP_STORE : PSNAP_LOAD};
            if (loop % 16 == 0 && k == 0 && i * i % 7 == 2)
                break;
        }
    assert_int_equal(psnap_sink_put(builder, accesses, n, NULL), PSNAP_OK);
}

/* 20,000 loops with four references each: some 3.7 KB a loop, and 5 KB with the profile. */
TEST(many_loops)
{
    struct psnap_program *many = make_program(MANY_LOOPS, MANY_REFS);
    const size_t before = held_bytes;
    FILE *file = fopen("/dev/null", "w");
    struct psnap_sink *builder = psnap_profile_builder_new(many, NULL, NULL);
    struct psnap_profile *profile;

    assert_non_null(builder);
    peak_bytes = held_bytes;
    for (uint32_t i = 0; i < MANY_LOOPS; i++)
        put_rows(builder, i);
    assert_int_equal(psnap_sink_finish(builder, NULL), PSNAP_OK);
    assert_in_range(peak_bytes - before, 0, MANY_LOOPS * 4000u);
    profile = psnap_profile_builder_take(builder, NULL);
    assert_non_null(profile);
    assert_int_equal(profile->loop_count, MANY_LOOPS);
    assert_int_equal(psnap_profile_write(profile, file, NULL), PSNAP_OK);
    assert_in_range(peak_bytes - before, 0, MANY_LOOPS * 5500u);
    fclose(file);
    psnap_profile_free(profile);
    psnap_sink_free(builder);
    psnap_program_free(many);
}
