/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rare code: of a program of very many bodies the rarest become two. There are as many loads and
 * stores as there were, the other bodies are what they were, and the profile reads.
 */
#include "tests/unit/test_model_support.h"

enum { LOOPS = 700, REFS = 2, HOT = 1000 };

static struct stream recorded, replayed;

static void add(uint32_t ref, uint64_t address)
{
    add_access(&recorded, (struct psnap_access){.address = address,
                                                .ref = ref,
                                                .size = 4,
                                                .kind = ref % 3 ? PSNAP_STORE : PSNAP_LOAD});
}

/* Loop 0 sweeps over an array; the others come once or twice between its executions, one after the
 * other, or in any order. Reference 1 is in the hot body, and in a rare one as well. */
static void make(bool is_in_order)
{
    struct psnap_rng rng;

    psnap_rng_init(&rng, is_in_order);
    recorded.count = 0;
    for (uint32_t i = 0; i < LOOPS - 1; i++) {
        const uint32_t loop = is_in_order ? 1 + i : 1 + (uint32_t)psnap_rng_below(&rng, LOOPS - 1);
        for (uint64_t k = 0; k < HOT / 8; k++) {
            add(0, HEAP + 8 * k);
            add(1, HEAP + 65536 + 8 * (k + i));
        }
        if (i % 64 == 5)
            add(1, HEAP + 65536);
        add(loop * REFS, HEAP + (1 << 20) + 64 * psnap_rng_below(&rng, 50));
        if (loop % 5 == 0)
            add(loop * REFS + 1, HEAP + (1 << 20) + 64 * loop);
    }
}

static uint64_t loads_of(const struct stream *stream)
{
    uint64_t loads = 0;

    for (size_t i = 0; i < stream->count; i++)
        loads += stream->of[i].kind == PSNAP_LOAD;
    return loads;
}

TEST(rare_code_is_one_loop)
{
    static const struct psnap_builder_options options = {.nests = true};

    for (int is_in_order = 0; is_in_order < 2; is_in_order++) {
        struct psnap_program *program = make_program(LOOPS, REFS);
        struct psnap_profile *profile, *read;
        const struct psnap_profile_loop *last;
        char *text, *again;
        make(is_in_order);
        profile = build(program, recorded.of, recorded.count, &options);
        last = &profile->loops[profile->loop_count - 1];
        assert_string_equal(last->id, PSNAP_RARE);
        assert_in_range(last->accesses, 1, recorded.count / 250);
        assert_in_range(profile->stream->body_count, 2, 128 + 2);
        read_all(psnap_replay_new(profile, 1, NULL), &replayed, STREAM_MAX, NULL);
        assert_int_equal(replayed.count, recorded.count);
        assert_int_equal(loads_of(&replayed), loads_of(&recorded));
        text = write_text(profile);
        read = read_text(text);
        again = write_text(read);
        assert_string_equal(text, again);
        read_all(psnap_replay_new(read, 1, NULL), &replayed, STREAM_MAX, NULL);
        assert_int_equal(replayed.count, recorded.count);
        free(text);
        free(again);
        psnap_profile_free(read);
        psnap_profile_free(profile);
        psnap_program_free(program);
    }
}
