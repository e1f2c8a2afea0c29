/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared by the tests of edits (profile/edit/edit.h): streams, and whether a profile's replay gives
 * one access for access.
 */
#ifndef PSNAP_TEST_EDIT_SUPPORT_H
#define PSNAP_TEST_EDIT_SUPPORT_H

#include "profile/edit/edit.h"
#include "replay/replay.h"
#include "tests/unit/test_profile_support.h"
#include "tests/unit/test_text_support.h"
#include "tests/unit/vectors.h"

#define LOOP(id, k) .loop = (id), .times = (k), .over = 1
#define ARRAY(list) .regions = (list), .region_count = 1

enum { REFS = 4, ACCESSES = 40000 };

struct stream {
    struct psnap_access *accesses;
    size_t count;
};

static inline void add(struct stream *stream, uint32_t ref, uint64_t address)
{
    assert_true(stream->count < ACCESSES);
    stream->accesses[stream->count++] =
        (struct psnap_access){.address = address, .ref = ref, .size = 8};
}

/* That replay gives the stream, in blocks or with runs. */
static inline void assert_replays(const struct psnap_profile *profile, const struct stream *stream,
                                  bool with_runs)
{
    struct psnap_source *source = psnap_replay_new(profile, 1, NULL);
    struct psnap_sink *sink = vector_sink_new();
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
    replayed = vector_sink_data(sink, &n);
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

#endif
