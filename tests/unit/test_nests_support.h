/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared by the tests of nests (profile/walks/nests.h): streams of a program of plain loops, their
 * profiles with walks, whether replay gives a stream access for access, or what is like it, and
 * texts that are refused.
 */
#ifndef PSNAP_TEST_NESTS_SUPPORT_H
#define PSNAP_TEST_NESTS_SUPPORT_H

#include "profile/walks/nest_profile.h"
#include "replay/replay.h"
#include "tests/unit/test_profile_support.h"
#include "tests/unit/test_text_support.h"

enum { LOOPS = 8, REFS = 4, ACCESSES = 40000 };

struct stream {
    struct psnap_access *accesses;
    size_t count;
};

static inline struct stream new_stream(void)
{
    struct stream stream = {calloc(ACCESSES, sizeof *stream.accesses), 0};

    assert_non_null(stream.accesses);
    return stream;
}

/* To a stream that has room for so many. */
static inline void add_to(struct stream *stream, size_t room, uint32_t ref, uint64_t address)
{
    assert_true(stream->count < room);
    stream->accesses[stream->count++] =
        (struct psnap_access){.address = address, .ref = ref, .size = 8};
}

static inline void add(struct stream *stream, uint32_t ref, uint64_t address)
{
    add_to(stream, ACCESSES, ref, address);
}

static inline struct psnap_profile *profile_of(struct psnap_program *program,
                                               const struct stream *stream)
{
    const struct psnap_builder_options options = {.walks = true};

    return build(program, stream->accesses, stream->count, &options);
}

/* That replay gives the stream, in blocks or with runs. */
static inline void assert_replays(const struct psnap_profile *profile, const struct stream *stream,
                                  bool with_runs)
{
    struct psnap_source *source = psnap_replay_new(profile, 1, NULL);
    struct psnap_sink *sink = psnap_vector_sink_new();
    const struct psnap_access *replayed;
    uint64_t count;
    char id[16];
    size_t n;

    assert_non_null(source);
    if (with_runs)
        assert_int_equal(psnap_pump(source, sink, &count, NULL), PSNAP_OK);
    else {
        struct psnap_access block[97];
        ssize_t got;
        while ((got = psnap_source_next(source, block, 97, NULL)) > 0)
            assert_int_equal(psnap_sink_put(sink, block, (size_t)got, NULL), PSNAP_OK);
        assert_int_equal(got, 0);
    }
    replayed = psnap_vector_sink_data(sink, &n);
    assert_int_equal(n, stream->count);
    for (size_t i = 0; i < n; i++) {
        const struct psnap_access *a = &replayed[i], *b = &stream->accesses[i];
        assert_int_equal(a->address, b->address);
        assert_int_equal(a->size, b->size);
        assert_int_equal(a->kind, b->kind);
        assert_int_equal(a->thread, b->thread);
        snprintf(id, sizeof id, "f:%u", (unsigned)(b->ref / REFS));
        assert_string_equal(source->program->loops[source->program->refs[a->ref].loop].id, id);
    }
    psnap_sink_free(sink);
    psnap_source_free(source);
}

/* The number of the loop, "f:3", that a replayed access is of. */
static inline uint32_t loop_of(const struct psnap_source *source, const struct psnap_access *access)
{
    const struct psnap_program *program = source->program;

    return (uint32_t)atoi(program->loops[program->refs[access->ref].loop].id + 2);
}

/* The next access of a source, in blocks of ever other sizes; false: the end. */
static inline bool next_of(struct psnap_source *source, struct psnap_access *block, size_t *at,
                           size_t *count, size_t *capacity)
{
    if (*at == *count) {
        *capacity = *capacity % 61 + 1;
        const ssize_t got = psnap_source_next(source, block, *capacity, NULL);
        assert_true(got >= 0);
        *at = 0;
        *count = (size_t)got;
    }
    return *at < *count;
}

/* That replay, which writes short walks out, gives what the walks are. */
static inline void assert_is_its_walks(const struct psnap_profile *profile, uint64_t seed)
{
    struct psnap_source *source = psnap_replay_new(profile, seed, NULL);
    uint32_t *refs = calloc(profile->loop_count + (size_t)1, sizeof *refs);
    struct psnap_walker *walker = psnap_walker_new(profile, refs, seed);
    struct psnap_access block[61];
    struct psnap_walk walk;
    size_t at = 0, count = 0, capacity = 0;

    assert_true(source && refs && walker);
    while (psnap_walker_next(walker, &walk) > 0)
        for (uint64_t i = 0; i < walk.run.count; i++)
            for (size_t k = 0; k < walk.run.width; k++) {
                assert_true(next_of(source, block, &at, &count, &capacity));
                assert_int_equal(block[at].address, psnap_run_address(&walk.run, i, k));
                assert_int_equal(block[at].size, walk.run.first[k].size);
                assert_int_equal(block[at++].kind, walk.run.first[k].kind);
            }
    assert_false(next_of(source, block, &at, &count, &capacity));
    psnap_walker_free(walker);
    psnap_source_free(source);
    free(refs);
}

/* Whether every loop has as many accesses in the replayed stream, of the same sizes and kinds, and
 * loops of refs below `exact` are there access for access. */
static inline void assert_resembles(const struct psnap_profile *profile,
                                    const struct stream *stream, uint32_t exact)
{
    struct psnap_source *source = psnap_replay_new(profile, 3, NULL);
    uint64_t counts[LOOPS][3] = {{0}}, bytes[LOOPS] = {0};
    struct psnap_access block[64];
    size_t at = 0;
    ssize_t got;

    assert_non_null(source);
    for (size_t i = 0; i < stream->count; i++) {
        counts[stream->accesses[i].ref / REFS][stream->accesses[i].kind]++;
        bytes[stream->accesses[i].ref / REFS] += stream->accesses[i].size;
    }
    while ((got = psnap_source_next(source, block, 64, NULL)) > 0)
        for (ssize_t i = 0; i < got; i++) {
            const uint32_t loop = loop_of(source, &block[i]);
            assert_true(loop < LOOPS);
            counts[loop][block[i].kind]--;
            bytes[loop] -= block[i].size;
            if (loop * REFS >= exact)
                continue;
            while (stream->accesses[at].ref >= exact)
                at++;
            assert_int_equal(block[i].address, stream->accesses[at].address);
            assert_int_equal(loop, stream->accesses[at++].ref / REFS);
        }
    assert_int_equal(got, 0);
    for (unsigned loop = 0; loop < LOOPS; loop++) {
        for (unsigned kind = 0; kind < 3; kind++)
            assert_int_equal(counts[loop][kind], 0);
        assert_int_equal(bytes[loop], 0);
    }
    psnap_source_free(source);
    assert_is_its_walks(profile, 3);
}

/* That a profile is replayed as what its text says. */
static inline void assert_is_its_text(const struct psnap_profile *profile)
{
    char *text = write_text(profile);
    struct psnap_profile *again = read_text(text);
    struct psnap_source *sources[2] = {psnap_replay_new(profile, 5, NULL),
                                       psnap_replay_new(again, 5, NULL)};
    struct psnap_access blocks[2][64];
    ssize_t got[2];

    assert_true(sources[0] && sources[1]);
    do {
        for (int i = 0; i < 2; i++)
            got[i] = psnap_source_next(sources[i], blocks[i], 64, NULL);
        assert_int_equal(got[0], got[1]);
        for (ssize_t i = 0; i < got[0]; i++)
            assert_int_equal(blocks[0][i].address, blocks[1][i].address);
    } while (got[0] > 0);
    assert_int_equal(got[0], 0);
    psnap_source_free(sources[0]);
    psnap_source_free(sources[1]);
    psnap_profile_free(again);
    free(text);
}

/* What a test of a profile made by drawing ends with: it is like the stream, all is freed. */
static inline void assert_drawn(struct psnap_program *program, struct stream *stream,
                                struct psnap_profile *profile, uint32_t exact)
{
    assert_resembles(profile, stream, exact);
    assert_is_its_text(profile);
    psnap_profile_free(profile);
    free(stream->accesses);
    psnap_program_free(program);
}

/* That the text is refused, in this line (0: in any), with the first `from` replaced. */
static inline void assert_refused_at(const char *base, const char *from, const char *to,
                                     uint32_t line, const char *message)
{
    char *text = replaced(base, from, to);

    assert_text_refused(text, line, message);
    free(text);
}

static inline void assert_refused(const char *base, const char *from, const char *to,
                                  const char *message)
{
    assert_refused_at(base, from, to, 0, message);
}

#endif
