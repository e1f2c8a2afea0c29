/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A source read in a thread of its own delivers what it delivers by itself:
 * accesses, runs with strides and with columns that lie in rows or anywhere, one
 * wider than a batch, nests, tables that grow on the way, and its error. A sink that takes its
 * stream in a thread of its own takes the same, and its error is not lost.
 */
#include "formats/base/rng.h"
#include "formats/base/stream.h"
#include "tests/unit/test_affine_support.h"
#include "tests/unit/test.h"

enum { WIDTH = 6, COUNT = 300, ROWS = 8, ROUNDS = 500 };

/* Random accesses and runs; the same again with the same seed. */
struct random_source {
    struct psnap_source base;
    struct psnap_rng rng;
    unsigned round, rounds;
    bool fails;
    struct psnap_access first[WIDTH];
    int64_t strides[WIDTH];
    struct psnap_column columns[WIDTH];
    uint64_t words[COUNT * ROWS], elsewhere[COUNT];
    struct random_nest made;
    struct psnap_nest_loop loop;
};

static void grow_tables(struct random_source *source)
{
    struct psnap_program *program = source->base.program;
    const uint64_t what = psnap_rng_below(&source->rng, 40);

    if (what == 0 || !program->loop_count) {
        psnap_program_add_loop(program, &(struct psnap_loop){.id = "l", .src_id = "l"});
        psnap_program_add_block(program, &(struct psnap_block){.loop = program->loop_count - 1});
        psnap_program_add_ref(program, &(struct psnap_ref){.size = 8});
    }
    if (what == 1)
        psnap_program_add_object(program, &(struct psnap_object){.size_bytes = 8, .name = "o"});
    if (what == 2 && program->object_count)
        program->objects[program->object_count - 1].size_bytes++;
    program->blocks[0].executions++; /* known at the end alone */
}

static struct psnap_access random_access(struct random_source *source)
{
    return (struct psnap_access){
        .address = psnap_rng_next(&source->rng),
        .ref = (uint32_t)psnap_rng_below(&source->rng, source->base.program->ref_count),
        .size = 8};
}

static void make_run(struct random_source *source, struct psnap_run *run)
{
    const uint64_t kind = psnap_rng_below(&source->rng, 3); /* strides; rows; anywhere */

    *run = (struct psnap_run){
        .first = source->first,
        .strides = source->strides,
        .columns = kind ? source->columns : NULL,
        .width = 1 + psnap_rng_below(&source->rng, WIDTH),
        .count = 1 + psnap_rng_below(&source->rng, COUNT),
        .shape = (uint32_t)psnap_rng_below(&source->rng, 9),
    };
    run->turns = (uint32_t)run->width % 3;
    for (size_t i = 0; i < COUNT * ROWS; i++)
        source->words[i] = psnap_rng_next(&source->rng);
    for (size_t i = 0; i < COUNT; i++)
        source->elsewhere[i] = psnap_rng_next(&source->rng);
    for (size_t k = 0; k < run->width; k++) {
        source->first[k] = random_access(source);
        source->strides[k] = (int64_t)psnap_rng_next(&source->rng);
        source->columns[k] = (struct psnap_column){0};
        if (kind && psnap_rng_below(&source->rng, 2))
            source->columns[k] = (struct psnap_column){source->words + k, ROWS, 5};
        if (kind == 2 && k == 0)
            source->columns[k] = (struct psnap_column){source->elsewhere, 1, 7};
    }
    if (psnap_rng_below(&source->rng, 50) == 0) { /* longer than any batch */
        run->columns = NULL;
        run->count = 1000000;
    }
    for (size_t k = 0; k < run->width; k++)
        source->first[k].address = psnap_run_address(run, 0, k);
}

static ssize_t random_next_nest(struct psnap_source *self, struct psnap_access *room,
                                size_t capacity, const struct psnap_access **block,
                                struct psnap_nest *nest, struct psnap_error *error)
{
    struct random_source *source = (struct random_source *)self;
    struct psnap_run run;
    size_t n = 0;

    (void)block;
    if (source->round++ == source->rounds)
        return source->fails
                   ? psnap_error_set(error, PSNAP_ERROR_CORRUPT, "after %u rounds", source->rounds)
                   : 0;
    grow_tables(source);
    n = psnap_rng_below(&source->rng, 4) ? psnap_rng_below(&source->rng, 5) : 700;
    assert_true(n <= capacity);
    for (size_t i = 0; i < n; i++)
        room[i] = random_access(source);
    if (psnap_rng_below(&source->rng, 3) == 0) {
        source->made.refs = source->made.loops = 1;
        source->made.areas = 3;
        source->made.is_uneven = n % 2;
        *nest = make_affine(&source->made, &source->rng, 3, 6);
    } else if (!n || psnap_rng_below(&source->rng, 2)) {
        make_run(source, &run);
        *nest = psnap_nest_of_run(&source->loop, &run);
    }
    return (ssize_t)n;
}

static void random_free(struct psnap_source *self)
{
    psnap_program_free(self->program);
    free(self);
}

static struct psnap_source *random_new(uint64_t seed, unsigned rounds, bool fails)
{
    static const struct psnap_source_ops ops = {.free = random_free, .next_nest = random_next_nest};
    struct random_source *source = calloc(1, sizeof *source);

    source->base = (struct psnap_source){.ops = &ops, .program = psnap_program_new()};
    psnap_rng_init(&source->rng, seed);
    source->rounds = rounds;
    source->fails = fails;
    return &source->base;
}

static uint64_t mix(uint64_t digest, const struct psnap_access *access, uint64_t address,
                    const struct psnap_program *program)
{
    const uint32_t objects = program->object_count;
    const uint64_t last = objects ? program->objects[objects - 1].size_bytes : 0;

    digest ^= address ^ access->ref ^ (uint64_t)objects << 32 ^ last << 48;
    return digest * 0x9e3779b97f4a7c15;
}

struct digest {
    uint64_t value;
    const struct psnap_program *program;
};

static void mix_access(const struct psnap_access *access, void *to)
{
    struct digest *digest = to;

    digest->value = mix(digest->value, access, access->address, digest->program);
}

/* A digest of a stream, and of the tables as they are at each of its accesses, that its division
 * into blocks, runs and nests does not change. */
static uint64_t digest_of(struct psnap_source *source, bool takes_nests, struct psnap_error *error)
{
    static struct psnap_access room[1000];
    struct digest digest = {1, source->program};
    ssize_t n;

    for (;;) {
        struct psnap_nest nest = {0};
        struct psnap_nest_walk walk;
        struct psnap_run run;
        const struct psnap_access *block = room;
        n = takes_nests ? psnap_source_next_nest(source, room, 1000, &block, &nest, error)
                        : psnap_source_next(source, room, 1000, error);
        if (n < 0 || (!n && !nest.loop_count))
            break;
        for (size_t i = 0; i < (size_t)n; i++)
            mix_access(&block[i], &digest);
        psnap_nest_walk_init(&walk, &nest);
        while (psnap_nest_walk_next(&walk, &run)) {
            if (nest.loop_count == 1)
                assert_int_equal(run.turns, run.width % 3);
            for (uint64_t i = 0; i < run.count; i++)
                for (size_t k = 0; k < run.width; k++)
                    digest.value = mix(digest.value, &run.first[k], psnap_run_address(&run, i, k),
                                       source->program);
        }
        if (n && block[n - 1].ref >= source->program->ref_count)
            fail_msg("a reference that the tables do not have");
    }
    return digest.value;
}

TEST(relays_equal_their_sources)
{
    for (uint64_t seed = 0; seed < 8; seed++) {
        struct psnap_error error = {0}, relayed = {0};
        const bool fails = seed % 2;
        struct psnap_source *direct = random_new(seed, ROUNDS, fails);
        struct psnap_source *inner = random_new(seed, ROUNDS, fails);
        struct psnap_source *relay = psnap_relay_source_new(inner, &relayed);
        assert_non_null(relay);
        assert_int_equal(digest_of(direct, true, &error), digest_of(relay, seed / 2 % 2, &relayed));
        assert_int_equal(error.code, relayed.code);
        assert_string_equal(error.message, relayed.message);
        assert_int_equal(direct->program->loop_count, relay->program->loop_count);
        assert_int_equal(direct->program->block_count, relay->program->block_count);
        assert_int_equal(direct->program->ref_count, relay->program->ref_count);
        assert_int_equal(direct->program->object_count, relay->program->object_count);
        for (uint32_t i = 0; i < direct->program->object_count; i++)
            assert_int_equal(direct->program->objects[i].size_bytes,
                             relay->program->objects[i].size_bytes);
        assert_int_equal(direct->program->blocks[0].executions,
                         relay->program->blocks[0].executions);
        psnap_source_free(relay);
        psnap_source_free(inner);
        psnap_source_free(direct);
    }
}

TEST(a_relay_may_be_left)
{
    struct psnap_access block[8];
    struct psnap_error error = {0};

    for (unsigned reads = 0; reads < 3; reads++) {
        struct psnap_source *inner = random_new(reads, UINT32_MAX, false); /* without end */
        struct psnap_source *relay = psnap_relay_source_new(inner, &error);
        for (unsigned i = 0; i < reads; i++)
            assert_true(psnap_source_next(relay, block, 8, &error) > 0);
        psnap_source_free(relay);
        psnap_source_free(inner);
    }
}

/* ---- sinks ---- */

/* Makes a digest, of so many accesses at most. */
struct digest_sink {
    struct psnap_sink base;
    struct digest digest;
    uint64_t accesses, most;
    bool is_finished;
};

static uint64_t most_accesses; /* of the next sink */

static enum psnap_status digest_put(struct psnap_sink *self, const struct psnap_access *block,
                                    size_t n, struct psnap_error *error)
{
    struct digest_sink *sink = (struct digest_sink *)self;

    assert_false(sink->is_finished);
    for (size_t i = 0; i < n; i++)
        mix_access(&block[i], &sink->digest);
    sink->accesses += n;
    return sink->accesses <= sink->most
               ? PSNAP_OK
               : psnap_error_set(error, PSNAP_ERROR_LIMIT, "no more than that");
}

static enum psnap_status digest_put_run(struct psnap_sink *self, const struct psnap_run *run,
                                        struct psnap_error *error)
{
    return psnap_sink_put_repetitions(self, run, 0, run->count, error);
}

static enum psnap_status digest_finish(struct psnap_sink *self, struct psnap_error *error)
{
    (void)error;
    ((struct digest_sink *)self)->is_finished = true;
    return PSNAP_OK;
}

static void digest_free(struct psnap_sink *self)
{
    free(self);
}

static struct psnap_sink *digest_new(const struct psnap_program *program)
{
    static const struct psnap_sink_ops ops = {digest_put, digest_finish, digest_free,
                                              .put_run = digest_put_run};
    struct digest_sink *sink = calloc(1, sizeof *sink);

    sink->base.ops = &ops;
    sink->digest = (struct digest){1, program};
    sink->most = most_accesses;
    return &sink->base;
}

TEST(sinks_aside_take_the_same)
{
    most_accesses = UINT64_MAX;
    for (uint64_t seed = 0; seed < 4; seed++) {
        struct psnap_error error = {0};
        struct psnap_source *one = random_new(seed, ROUNDS, seed == 3);
        struct psnap_source *two = random_new(seed, ROUNDS, seed == 3);
        struct psnap_sink *inner, *direct = digest_new(one->program);
        struct psnap_sink *aside = psnap_aside_sink_new(two->program, digest_new, &inner);
        const enum psnap_status status = psnap_pump(one, direct, NULL, &error);
        assert_int_equal(psnap_pump(two, aside, NULL, &error), status);
        if (!status) {
            assert_true(((struct digest_sink *)inner)->is_finished);
            assert_int_equal(psnap_processors() > 1, aside != inner);
            if (aside != inner)
                assert_int_equal(psnap_sink_finish(aside, &error), PSNAP_OK); /* it is already */
            assert_int_equal(((struct digest_sink *)inner)->digest.value,
                             ((struct digest_sink *)direct)->digest.value);
        }
        psnap_sink_free(aside);
        psnap_sink_free(direct);
        psnap_source_free(two);
        psnap_source_free(one);
    }
}

TEST(errors_of_sinks_aside_are_told)
{
    for (uint64_t seed = 0; seed < 4; seed++) {
        struct psnap_error error = {0};
        struct psnap_source *source = random_new(seed, ROUNDS, false);
        struct psnap_sink *inner, *aside;
        most_accesses = 1000 + seed * 30000;
        aside = psnap_aside_sink_new(source->program, digest_new, &inner);
        assert_int_equal(psnap_pump(source, aside, NULL, &error), PSNAP_ERROR_LIMIT);
        assert_string_equal(error.message, "no more than that");
        psnap_sink_free(aside);
        psnap_source_free(source);
    }
}

TEST(a_sink_aside_may_be_left)
{
    most_accesses = UINT64_MAX;
    for (unsigned rounds = 0; rounds < 300; rounds += 60) {
        struct psnap_source *source = random_new(rounds, rounds, false);
        struct psnap_access room[PSNAP_BLOCK_ACCESSES];
        const struct psnap_access *block;
        struct psnap_nest nest;
        struct psnap_sink *inner, *aside;
        ssize_t n;
        aside = psnap_aside_sink_new(source->program, digest_new, &inner);
        while ((n = psnap_source_next_nest(source, room, PSNAP_BLOCK_ACCESSES, &block, &nest,
                                           NULL)) > 0 ||
               nest.loop_count)
            assert_int_equal(psnap_sink_put(aside, block, (size_t)n, NULL), PSNAP_OK);
        psnap_sink_free(aside); /* not finished */
        psnap_source_free(source);
    }
}
