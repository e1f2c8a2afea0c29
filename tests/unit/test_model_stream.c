/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The model of a stream as a whole, on random programs of affine and irregular loops, branches and
 * threads: affine ones come back access for access; of all others each reference accesses as often
 * as it did, with the same sizes and kinds, in the same threads; the stream depends on the seed
 * alone, not on how it is read; a profile that is written and read is the same.
 */
#include "tests/unit/test_model_support.h"

enum { LOOPS = 8, REFS = 6, ALL_REFS = LOOPS * REFS };

static struct stream recorded, replayed, again;

static void add(struct stream *stream, uint32_t ref, uint64_t address, uint16_t thread)
{
    if (stream->count < STREAM_MAX)
        stream->of[stream->count++] = (struct psnap_access){.address = address,
                                                            .ref = ref,
                                                            .size = (uint8_t)(1 << ref % 4),
                                                            .kind = (uint8_t)(ref % 3),
                                                            .thread = thread};
}

/* ---- random programs ---- */

enum place { PLACE_AFFINE, PLACE_RANDOM, PLACE_DEPENDENT, PLACE_CHASE, PLACES };

struct loop_shape {
    enum place places[REFS];
    uint64_t base[REFS], span[REFS];
    int64_t inner[REFS], outer[REFS];
    unsigned refs;
    bool has_branch, is_random; /* iterations are */
    uint64_t iterations;
};

static void random_shape(struct loop_shape *shape, bool is_affine, struct psnap_rng *rng)
{
    static const int64_t strides[] = {0, 4, 8, 8, 64, 800, -8, 4096};

    *shape = (struct loop_shape){.refs = 1 + (unsigned)psnap_rng_below(rng, REFS),
                                 .has_branch = !is_affine && !psnap_rng_below(rng, 3),
                                 .is_random = !is_affine && !psnap_rng_below(rng, 3),
                                 .iterations = 3 + psnap_rng_below(rng, 40)};
    for (unsigned k = 0; k < shape->refs; k++) {
        shape->places[k] = is_affine ? PLACE_AFFINE : (enum place)psnap_rng_below(rng, PLACES);
        shape->base[k] = HEAP + (psnap_rng_below(rng, 5) << 20);
        shape->span[k] = UINT64_C(64) << psnap_rng_below(rng, 14);
        shape->inner[k] = strides[psnap_rng_below(rng, 8)];
        shape->outer[k] = strides[psnap_rng_below(rng, 8)];
    }
}

static void run_loop(struct stream *stream, const struct loop_shape *shape, uint32_t loop,
                     uint64_t outer, uint16_t thread, struct psnap_rng *rng)
{
    const uint64_t iterations =
        shape->is_random ? 1 + psnap_rng_below(rng, 2 * shape->iterations) : shape->iterations;
    uint64_t latest = shape->base[0];

    for (uint64_t i = 0; i < iterations; i++)
        for (unsigned k = 0; k < shape->refs; k++) {
            uint64_t address = shape->base[k];
            if (shape->has_branch && k == 1 && psnap_rng_below(rng, 2))
                continue;
            if (shape->places[k] == PLACE_AFFINE)
                address += i * (uint64_t)shape->inner[k] + outer * (uint64_t)shape->outer[k];
            else if (shape->places[k] == PLACE_RANDOM)
                address += 8 * psnap_rng_below(rng, shape->span[k] / 8);
            else if (shape->places[k] == PLACE_DEPENDENT)
                address = latest + 16;
            else
                address += latest * 2654435761u % shape->span[k] / 8 * 8;
            latest = address;
            add(stream, loop * REFS + k, address, thread);
        }
}

/* Loops in a random tree of loops, of each thread one after the other. */
static void make_stream(struct stream *stream, bool is_affine, struct psnap_rng *rng)
{
    const uint16_t threads = (uint16_t)(1 + psnap_rng_below(rng, 3));
    struct loop_shape shapes[LOOPS];

    stream->count = 0;
    for (unsigned l = 0; l < LOOPS; l++)
        random_shape(&shapes[l], is_affine, rng);
    for (uint16_t thread = 0; thread < threads; thread++)
        for (uint64_t phase = 1 + psnap_rng_below(rng, 4); phase; phase--) {
            const uint64_t executions = 1 + psnap_rng_below(rng, 60);
            const uint32_t first = (uint32_t)psnap_rng_below(rng, LOOPS - 2);
            const bool is_mixed = !is_affine && !psnap_rng_below(rng, 2);
            for (uint64_t i = 0; i < executions; i++)
                for (uint32_t k = 0; k < 3; k++) {
                    const uint32_t l = first + (is_mixed ? (uint32_t)psnap_rng_below(rng, 3) : k);
                    run_loop(stream, &shapes[l], l, i, thread, rng);
                }
        }
}

/* ---- a model's stream ---- */

/* How often each reference accesses, by thread. */
static void assert_same_counts(const struct stream *a, const struct stream *b, uint64_t seed)
{
    const struct stream *streams[2] = {a, b};
    int64_t differ[ALL_REFS][4] = {{0}};

    for (int s = 0; s < 2; s++)
        for (size_t i = 0; i < streams[s]->count; i++) {
            const struct psnap_access *access = &streams[s]->of[i];
            assert_in_range(access->ref, 0, ALL_REFS - 1);
            assert_in_range(access->thread, 0, 3);
            assert_int_equal(access->size, 1 << access->ref % 4);
            assert_int_equal(access->kind, access->ref % 3);
            differ[access->ref][access->thread] += s ? -1 : 1;
        }
    for (uint32_t r = 0; r < ALL_REFS; r++)
        for (int t = 0; t < 4; t++)
            if (differ[r][t])
                fail_msg("seed %u: %d accesses of %u in thread %d", (unsigned)seed,
                         (int)differ[r][t], (unsigned)r, t);
}

/* Every address of an irregular reference is where it went; the model's, counted anew, are the same
 * counts. */
static void assert_model(struct psnap_stream_model *model, uint64_t seed)
{
    uint64_t *executions = calloc(model->ref_count + (size_t)1, sizeof *executions);
    struct psnap_error error = {0};

    assert_non_null(executions);
    for (uint32_t i = 0; i < model->ref_count; i++)
        executions[i] = model->refs[i].executions;
    if (model_count(model, &error))
        fail_msg("seed %u: %s", (unsigned)seed, error.message);
    for (uint32_t i = 0; i < model->ref_count; i++) {
        const struct model_ref *ref = &model->refs[i];
        uint64_t drawn = 0;
        assert_int_equal(ref->executions, executions[i]);
        for (uint32_t k = 0; k < ref->reuse_count; k++)
            for (uint32_t b = 0; b < ref->reuses[k].bin_count; b++)
                drawn += ref->reuses[k].bins[b].count;
        assert_int_equal(drawn, ref->rule == MODEL_REUSE ? ref->executions : 0);
    }
    free(executions);
}

static void models(bool is_affine)
{
    for (uint64_t seed = 0; seed < (is_affine ? 80 : 60); seed++) {
        struct psnap_program *program = make_program(LOOPS, REFS);
        struct psnap_stream_model *model;
        struct psnap_rng rng;
        psnap_rng_init(&rng, seed);
        make_stream(&recorded, is_affine, &rng);
        model = model_of(program, recorded.of, recorded.count);
        read_all(model_source_new(model, NULL, NULL, seed), &replayed, 300, NULL);
        if (is_affine)
            assert_same_stream(&recorded, &replayed, seed);
        assert_same_counts(&recorded, &replayed, seed);
        read_all(model_source_new(model, NULL, NULL, seed), &again, 300, &rng);
        assert_same_stream(&replayed, &again, seed);
        assert_model(model, seed);
        model_free(model);
        psnap_program_free(program);
    }
}

TEST(affine_programs_come_back)
{
    models(true);
}

TEST(counts_are_exact)
{
    models(false);
}

/* Threads stand where they began in thread 0's stream, and take the turns that they took: 0 makes 1
 * and waits for it, makes 2 and goes on beside it. Each turn is an execution of another loop. */
TEST(threads_keep_their_lives)
{
    enum { TURN = 256, TURNS = 22 };
    struct psnap_program *program = make_program(LOOPS, REFS);
    struct psnap_stream_model *model;
    struct psnap_rng rng;

    psnap_rng_init(&rng, 1);
    recorded.count = 0;
    for (uint32_t i = 0; i < TURNS; i++)
        for (uint32_t k = 0; k < (i < 2 ? 1000 : TURN); k++) {
            const uint16_t thread = i == 1 ? 1 : i % 2 ? 2 : 0;
            const uint32_t ref = i / 2 % 2 * REFS + thread;
            recorded.of[recorded.count++] =
                (struct psnap_access){.address = ((thread + 1ull) << 32) + 8ull * (1000 * i + k),
                                      .ref = ref,
                                      .size = (uint8_t)(1 << ref % 4),
                                      .kind = (uint8_t)(ref % 3),
                                      .thread = thread};
        }
    model = model_of(program, recorded.of, recorded.count);
    assert_int_equal(model->orders[1].after, 1000);
    assert_int_equal(model->orders[1].turn, UINT32_MAX);
    assert_int_equal(model->orders[2].after, 1000 + TURN);
    assert_int_equal(model->orders[2].with, 0);
    assert_int_equal(model->orders[2].turn, TURN);
    for (int way = 0; way < 2; way++) {
        read_all(model_source_new(model, NULL, NULL, 1), &replayed, 300, way ? &rng : NULL);
        assert_same_stream(&recorded, &replayed, 1);
    }
    model_free(model);
    psnap_program_free(program);
}

/* Written, read, and written again: the same text, and the same stream. */
TEST(profiles_are_read_as_written)
{
    static const struct psnap_builder_options options = {.nests = true};

    for (uint64_t seed = 1000; seed < 1060; seed++) {
        struct psnap_program *program = make_program(LOOPS, REFS);
        struct psnap_profile *profile, *read;
        struct psnap_rng rng;
        char *text, *other;
        psnap_rng_init(&rng, seed);
        make_stream(&recorded, seed % 4 == 0, &rng);
        profile = build(program, recorded.of, recorded.count, &options);
        assert_non_null(profile->stream);
        text = write_text(profile);
        read = read_text(text);
        other = write_text(read);
        assert_string_equal(text, other);
        read_all(psnap_replay_new(profile, seed, NULL), &replayed, 300, NULL);
        read_all(psnap_replay_new(read, seed, NULL), &again, 300, &rng);
        assert_same_stream(&replayed, &again, seed);
        assert_int_equal(recorded.count, replayed.count);
        psnap_profile_free(read);
        psnap_profile_free(profile);
        psnap_program_free(program);
        free(text);
        free(other);
    }
}

/* A source outlives the profile that it replays. */
TEST(sources_outlive_profiles)
{
    static const struct psnap_builder_options options = {.nests = true};
    struct psnap_program *program = make_program(LOOPS, REFS);
    struct psnap_profile *profile;
    struct psnap_source *sources[2];
    struct psnap_rng rng;

    psnap_rng_init(&rng, 1);
    make_stream(&recorded, false, &rng);
    profile = build(program, recorded.of, recorded.count, &options);
    psnap_program_free(program);
    sources[0] = psnap_replay_new(profile, 1, NULL);
    sources[1] = psnap_replay_new(profile, 1, NULL);
    psnap_profile_free(profile);
    read_all(sources[0], &replayed, 300, &rng);
    read_all(sources[1], &again, 300, &rng);
    assert_same_stream(&replayed, &again, 1);
    assert_int_equal(recorded.count, replayed.count);
}
