/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared by the tests of profile/ and replay/: programs of plain loops, profiles of
 * accesses, and profiles as text and back.
 */
#ifndef PSNAP_TEST_PROFILE_SUPPORT_H
#define PSNAP_TEST_PROFILE_SUPPORT_H

#include "tests/unit/test.h"

#include "formats/base/layout.h"
#include "formats/base/rng.h"
#include "formats/base/stream.h"
#include "profile/profile.h"

#define HEAP ((uint64_t)PSNAP_GROUP_HEAP * PSNAP_LAYOUT_WINDOW)

/* A program of `loops` loops, "f:0" and so on, with `refs` references each: ref = loop * refs + i.
 */
static inline struct psnap_program *make_program(uint32_t loops, uint32_t refs)
{
    struct psnap_program *program = psnap_program_new();

    assert_non_null(program);
    for (uint32_t l = 0; l < loops; l++) {
        char name[16];
        struct psnap_loop loop = {.file = "f.c", .depth = 1, .parent = PSNAP_NONE, .function = "f"};
        struct psnap_block block = {.loop = l};
        snprintf(name, sizeof name, "f:%u", (unsigned)l);
        loop.id = loop.src_id = psnap_program_string(program, name);
        loop.header = loop.entry = PSNAP_NONE;
        assert_int_equal(psnap_program_add_loop(program, &loop), l);
        assert_int_equal(psnap_program_add_block(program, &block), l);
        for (uint32_t i = 0; i < refs; i++) {
            struct psnap_ref ref = {.block = l, .loop = l};
            assert_int_equal(psnap_program_add_ref(program, &ref), l * refs + i);
        }
    }
    return program;
}

/* A program of these loops, whose references take turns: r is of loop r % loops. */
static inline struct psnap_program *make_striped(const char *const *ids, const char *const *sources,
                                                 uint32_t loops, uint32_t refs)
{
    struct psnap_program *program = psnap_program_new();

    assert_non_null(program);
    for (uint32_t i = 0; i < loops; i++) {
        psnap_program_add_loop(program, &(struct psnap_loop){.id = ids[i],
                                                             .src_id = sources[i],
                                                             .function = "f",
                                                             .file = "",
                                                             .parent = PSNAP_NONE,
                                                             .header = PSNAP_NONE,
                                                             .entry = PSNAP_NONE});
        psnap_program_add_block(program, &(struct psnap_block){.loop = i});
    }
    for (uint32_t i = 0; i < refs; i++)
        psnap_program_add_ref(program, &(struct psnap_ref){.block = i % loops,
                                                           .loop = i % loops,
                                                           .kind = (uint8_t)(i / loops % 2),
                                                           .size = 8});
    return program;
}

/* A stream of walks that jump, at every scale, through `span` bytes. */
static inline void random_stream(struct psnap_rng *rng, struct psnap_access *accesses, size_t n,
                                 uint32_t refs, uint64_t span)
{
    uint64_t at[64] = {0};

    for (size_t i = 0; i < n; i++) {
        uint32_t ref = (uint32_t)psnap_rng_below(rng, refs);
        uint64_t choice = psnap_rng_below(rng, 100), reach = 1 + psnap_rng_below(rng, 700);
        if (choice < 5 || !at[ref])
            at[ref] = HEAP + psnap_rng_below(rng, span);
        else if (choice < 50)
            at[ref] += psnap_rng_below(rng, 32);
        else if (choice < 70)
            at[ref] -= psnap_rng_below(rng, 16);
        else
            at[ref] += psnap_rng_below(rng, 2 * reach) - reach;
        accesses[i] = (struct psnap_access){.address = at[ref],
                                            .ref = ref,
                                            .size = (uint8_t)(1 + psnap_rng_below(rng, 64)),
                                            .kind = (uint8_t)psnap_rng_below(rng, 3)};
    }
}

/* What the builder has made of all that it was given; frees it. */
static inline struct psnap_profile *end_profile(struct psnap_sink *builder)
{
    struct psnap_profile *profile;

    assert_int_equal(psnap_sink_finish(builder, NULL), PSNAP_OK);
    profile = psnap_profile_builder_take(builder, NULL);
    assert_non_null(profile);
    psnap_sink_free(builder);
    return profile;
}

static inline struct psnap_profile *build(struct psnap_program *program,
                                          const struct psnap_access *accesses, size_t n,
                                          const struct psnap_builder_options *options)
{
    struct psnap_sink *builder = psnap_profile_builder_new(program, options, NULL);

    assert_non_null(builder);
    for (size_t done = 0; done < n;) { /* blocks of changing length */
        size_t length = 1 + done % 777 < n - done ? 1 + done % 777 : n - done;
        assert_int_equal(psnap_sink_put(builder, accesses + done, length, NULL), PSNAP_OK);
        done += length;
    }
    return end_profile(builder);
}

/* The profile's YAML; the caller frees it. */
static inline char *write_text(const struct psnap_profile *profile)
{
    struct psnap_error error;
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);

    assert_non_null(file);
    assert_int_equal(psnap_profile_write(profile, file, &error), PSNAP_OK);
    assert_int_equal(fclose(file), 0);
    return text;
}

/* Two builders of one program, to be given the same in two ways. */
struct builders {
    struct psnap_program *program;
    struct psnap_sink *whole, *singly; /* runs and nests as they are; access by access */
};

static inline struct builders new_builders(struct psnap_program *program,
                                           const struct psnap_builder_options *options)
{
    const struct builders both = {program, psnap_profile_builder_new(program, options, NULL),
                                  psnap_profile_builder_new(program, options, NULL)};

    assert_true(both.whole && both.singly);
    return both;
}

/* That both have made the same profile, but for the lines that `cut` (NULL: none) takes out. Frees
 * them, and returns the profiles if `profiles` is not NULL. */
static inline void assert_same_profile(const struct builders *both, unsigned turn,
                                       void (*cut)(char *text), struct psnap_profile *profiles[2])
{
    struct psnap_profile *made[2] = {end_profile(both->whole), end_profile(both->singly)};
    char *texts[2];

    for (int i = 0; i < 2; i++) {
        texts[i] = write_text(made[i]);
        if (cut)
            cut(texts[i]);
    }
    if (strcmp(texts[0], texts[1]) != 0)
        fail_msg("turn %u: another profile:\n%s\n---\n%s", turn, texts[0], texts[1]);
    for (int i = 0; i < 2; i++) {
        free(texts[i]);
        if (profiles)
            profiles[i] = made[i];
        else
            psnap_profile_free(made[i]);
    }
    psnap_program_free(both->program);
}

/* NULL, and why, when it is no profile. */
static inline struct psnap_profile *try_text(const char *text, struct psnap_error *error)
{
    FILE *file = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
    struct psnap_profile *profile;

    assert_non_null(file);
    profile = psnap_profile_read(file, "p.yaml", error);
    fclose(file);
    return profile;
}

static inline struct psnap_profile *read_text(const char *text)
{
    struct psnap_error error;
    struct psnap_profile *profile = try_text(text, &error);

    if (!profile)
        fail_msg("%u:%u: %s\n%s", (unsigned)error.src_line, (unsigned)error.column, error.message,
                 text);
    return profile;
}

static inline void assert_error_says(const struct psnap_error *error, const char *message)
{
    if (!strstr(error->message, message))
        fail_msg("'%s' does not say '%s'", error->message, message);
}

/* That the text is no profile; the error is in this line, 0: in any. */
static inline void assert_text_refused(const char *text, uint32_t line, const char *message)
{
    struct psnap_error error = {0};

    assert_null(try_text(text, &error));
    assert_error_says(&error, message);
    assert_true(line ? error.src_line == line : error.src_line > 0);
}

#endif
