/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Nests (profile/nests.h): programs of random affine loops come back access for access,
 * however their stream was cut into blocks and runs; hand-worked ones have the nests that
 * they were written as; what does not fold is left to statistics; and profiles with walks
 * are read as they are written, or refused with the place of what is wrong.
 */
#include "profile/nest_profile.h"
#include "replay/replay.h"
#include "tests/unit/test_profile_support.h"

enum { LOOPS = 8, REFS = 4, LEVELS = 4, ITEMS = 3, ACCESSES = 40000 };

/* ---- random programs ---- */

struct affine {
    int64_t first, steps[LEVELS];
};

/* A loop, or an innermost one with references. */
struct node {
    struct affine count;
    struct node *items[ITEMS];
    unsigned item_count;
    uint32_t loop, width;
    struct affine addresses[REFS]; /* of its own iterations in steps[LEVELS - 1] */
};

struct stream {
    struct psnap_access *accesses;
    size_t count;
};

static struct affine random_affine(struct psnap_rng *rng, unsigned depth, uint64_t first,
                                   uint64_t step)
{
    struct affine made = {.first = (int64_t)psnap_rng_below(rng, first)};

    for (unsigned i = 0; i < depth; i++)
        if (psnap_rng_below(rng, 2))
            made.steps[i] = (int64_t)psnap_rng_below(rng, 2 * step + 1) - (int64_t)step;
    return made;
}

static struct node *random_node(struct psnap_rng *rng, unsigned depth, uint32_t *loop)
{
    struct node *node = calloc(1, sizeof *node);

    assert_non_null(node);
    node->count = random_affine(rng, depth, 9, 1);
    if (depth + 1 < LEVELS && psnap_rng_below(rng, 4)) {
        node->item_count = 1 + (unsigned)psnap_rng_below(rng, ITEMS);
        for (unsigned i = 0; i < node->item_count; i++)
            node->items[i] = random_node(rng, depth + 1, loop);
        return node;
    }
    node->loop = (*loop)++ % LOOPS;
    node->width = 1 + (uint32_t)psnap_rng_below(rng, REFS);
    for (uint32_t k = 0; k < node->width; k++) {
        node->addresses[k] = random_affine(rng, depth, 1 << 16, 4096);
        node->addresses[k].first += (int64_t)HEAP + (1 << 20);
        node->addresses[k].steps[LEVELS - 1] = (int64_t)psnap_rng_below(rng, 65) - 32;
    }
    return node;
}

static void free_node(struct node *node)
{
    for (unsigned i = 0; i < node->item_count; i++)
        free_node(node->items[i]);
    free(node);
}

static int64_t value_of(const struct affine *affine, const int64_t *at)
{
    int64_t value = affine->first;

    for (unsigned i = 0; i < LEVELS; i++)
        value += affine->steps[i] * at[i];
    return value;
}

static void run_node(const struct node *node, unsigned depth, int64_t *at, struct stream *stream)
{
    const int64_t count = value_of(&node->count, at);
    const unsigned own = node->width ? LEVELS - 1 : depth;

    for (at[own] = 0; at[own] < count && stream->count + REFS <= ACCESSES; at[own]++) {
        for (unsigned i = 0; i < node->item_count; i++)
            run_node(node->items[i], depth + 1, at, stream);
        for (uint32_t k = 0; k < node->width; k++)
            stream->accesses[stream->count++] =
                (struct psnap_access){.address = (uint64_t)value_of(&node->addresses[k], at),
                                      .ref = node->loop * REFS + k,
                                      .size = (uint8_t)(1 + k),
                                      .kind = (uint8_t)(k % 3)};
    }
    at[own] = 0;
}

/* Puts the stream with runs where there are some, beginning and ending anywhere. */
static void put_cut(struct psnap_sink *sink, const struct stream *stream, struct psnap_rng *rng)
{
    const struct psnap_access *at = stream->accesses, *end = at + stream->count;
    int64_t strides[REFS];

    while (at < end) {
        const size_t width = 1 + psnap_rng_below(rng, REFS);
        struct psnap_run run = {.first = at, .strides = strides, .width = width, .count = 1};
        const size_t left = (size_t)(end - at), n = 1 + psnap_rng_below(rng, 40);
        bool is_same = left >= 2 * width && psnap_rng_below(rng, 3) > 0;
        for (size_t k = 0; k < width && is_same; k++) {
            strides[k] = (int64_t)(at[width + k].address - at[k].address);
            is_same = at[k].ref / REFS == at->ref / REFS;
            for (size_t j = 0; j < k; j++)
                is_same = is_same && at[k].ref != at[j].ref;
        }
        while (is_same && left >= (run.count + 1) * width && psnap_rng_below(rng, 50)) {
            for (size_t k = 0; k < width; k++) {
                const struct psnap_access *next = at + run.count * width + k;
                is_same = is_same && next->ref == at[k].ref &&
                          next->address == at[k].address + run.count * (uint64_t)strides[k];
            }
            run.count += is_same;
        }
        if (run.count > 1) {
            assert_int_equal(psnap_sink_put_run(sink, &run, NULL), PSNAP_OK);
            at += run.count * width;
        } else {
            assert_int_equal(psnap_sink_put(sink, at, n < left ? n : left, NULL), PSNAP_OK);
            at += n < left ? n : left;
        }
    }
}

static struct psnap_profile *build_walks(struct psnap_program *program, const struct stream *stream,
                                         struct psnap_rng *rng)
{
    const struct psnap_builder_options options = {.walks = true};
    struct psnap_sink *builder = psnap_profile_builder_new(program, &options, NULL);

    assert_non_null(builder);
    put_cut(builder, stream, rng);
    return end_profile(builder);
}

/* That replay gives the stream, in blocks or with runs. */
static void assert_replays(const struct psnap_profile *profile, const struct stream *stream,
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
        snprintf(id, sizeof id, "f:%u", (unsigned)(b->ref / REFS));
        assert_string_equal(source->program->loops[source->program->refs[a->ref].loop].id, id);
    }
    psnap_sink_free(sink);
    psnap_source_free(source);
}

/* Whether every loop has as many accesses in the replayed stream, of the same sizes and kinds, and
 * loops of refs below `exact` are there access for access. */
static void assert_resembles(const struct psnap_profile *profile, const struct stream *stream,
                             uint32_t exact)
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
            const struct psnap_program *program = source->program;
            const uint32_t loop =
                (uint32_t)atoi(program->loops[program->refs[block[i].ref].loop].id + 2);
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
}

static void test_random_programs(void **state)
{
    struct psnap_program *program = make_program(LOOPS, REFS);
    struct stream stream = {calloc(ACCESSES, sizeof *stream.accesses), 0};
    unsigned folded = 0, all = 0;
    struct psnap_rng rng;

    (void)state;
    psnap_rng_init(&rng, 42);
    for (unsigned round = 0; round < 300; round++) {
        struct psnap_profile *one, *other, *again;
        int64_t at[LEVELS] = {0};
        uint32_t loop = 0;
        char *text, *second;
        struct node *node = random_node(&rng, 0, &loop);
        stream.count = 0;
        run_node(node, 0, at, &stream);
        free_node(node);
        if (!stream.count)
            continue;
        one = build_walks(program, &stream, &rng);
        other = build_walks(program, &stream, &rng);
        text = write_text(one);
        second = write_text(other);
        assert_string_equal(text, second);
        free(second);
        all++;
        if (one->nests) {
            again = read_text(text);
            second = write_text(again);
            assert_string_equal(text, second);
            if (nests_have_models(one->nests))
                assert_resembles(again, &stream, 0);
            else
                assert_replays(again, &stream, round % 2);
            folded += one->nests->value_count * 4 < stream.count && !nests_have_models(one->nests);
            free(second);
            psnap_profile_free(again);
        }
        free(text);
        psnap_profile_free(one);
        psnap_profile_free(other);
    }
    assert_true(folded * 4 > all); /* those of a few accesses need not */
    free(stream.accesses);
    psnap_program_free(program);
}

/* ---- hand-worked ---- */

static void add(struct stream *stream, uint32_t ref, uint64_t address)
{
    assert_true(stream->count < ACCESSES);
    stream->accesses[stream->count++] =
        (struct psnap_access){.address = address, .ref = ref, .size = 8};
}

static struct psnap_profile *profile_of(struct psnap_program *program, const struct stream *stream)
{
    const struct psnap_builder_options options = {.walks = true};

    return build(program, stream->accesses, stream->count, &options);
}

/* for i < n: a[i]; for j < i + 2: b[i][j] */
static void make_triangle(struct stream *stream, uint64_t n)
{
    stream->count = 0;
    for (uint64_t i = 0; i < n; i++) {
        add(stream, 0, HEAP + 8 * i);
        for (uint64_t j = 0; j < i + 2; j++)
            add(stream, REFS, HEAP + 4096 + 1024 * i + 8 * j);
    }
}

static void test_triangle(void **state)
{
    struct psnap_program *program = make_program(LOOPS, REFS);
    struct stream stream = {calloc(ACCESSES, sizeof *stream.accesses), 0};

    (void)state;
    for (uint64_t n = 20; n <= 200; n += 180) {
        struct psnap_profile *profile;
        const struct nest_pattern *loop;
        const uint64_t *values;
        make_triangle(&stream, n);
        profile = profile_of(program, &stream);
        assert_non_null(profile->nests);
        /* The size is that of the nest, not of the triangle. */
        assert_int_equal(profile->nests->count, 1);
        loop = profile->nests->terms[0].pattern;
        values = nests_values(profile->nests, 0);
        assert_int_equal(loop->body_count, 2);
        assert_int_equal(values[0], n);
        assert_int_equal(values[1], 1); /* a: once, at the start of the heap */
        assert_int_equal(values[2], HEAP);
        assert_int_equal(values[3], 2); /* b: twice, once more each time */
        assert_int_equal(loop->steps[0], 0);
        assert_int_equal(loop->steps[1], 8);
        assert_int_equal(loop->steps[2], 1);
        assert_int_equal(loop->steps[3], 1024);
        assert_replays(profile, &stream, true);
        psnap_profile_free(profile);
    }
    free(stream.accesses);
    psnap_program_free(program);
}

/* That a profile is replayed as what its text says. */
static void assert_is_its_text(const struct psnap_profile *profile)
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

/* A loop over random addresses within a nest of plain ones: it is drawn, they are walked. */
static void test_gather(void **state)
{
    struct psnap_program *program = make_program(LOOPS, REFS);
    struct stream stream = {calloc(ACCESSES, sizeof *stream.accesses), 0};
    struct psnap_profile *profile;
    const struct nest_pattern *loop;
    struct psnap_rng rng;

    (void)state;
    psnap_rng_init(&rng, 7);
    for (uint64_t i = 0; i < 400; i++) {
        for (uint64_t j = 0; j < 10; j++)
            add(&stream, 0, HEAP + 80 * i + 8 * j);
        add(&stream, REFS, HEAP + (8 << 20) + 8 * i);
        for (uint64_t j = 0; j < 70; j++)
            add(&stream, 2 * REFS, HEAP + (1 << 20) + 8 * psnap_rng_below(&rng, 1 << 16));
    }
    profile = profile_of(program, &stream);
    assert_non_null(profile->nests);
    assert_int_equal(profile->nests->count, 1);
    loop = profile->nests->terms[0].pattern;
    assert_int_equal(nests_values(profile->nests, 0)[0], 400);
    assert_int_equal(loop->body_count, 3);
    assert_int_equal(loop->body[2]->shape->refs[0].mode, NEST_DRAWN);
    assert_resembles(profile, &stream, 2 * REFS);
    assert_is_its_text(profile);
    psnap_profile_free(profile);
    free(stream.accesses);
    psnap_program_free(program);
}

/* Rows of a sparse matrix: lengths are drawn, entries follow each other, columns are drawn, and
 * what is added to goes along with what was read. */
static void test_rows(void **state)
{
    struct psnap_program *program = make_program(LOOPS, REFS);
    struct stream stream = {calloc(ACCESSES, sizeof *stream.accesses), 0};
    struct psnap_profile *profile;
    const struct nest_pattern *loop;
    const struct nest_shape *inner;
    uint64_t entry = 0;
    struct psnap_rng rng;

    (void)state;
    psnap_rng_init(&rng, 9);
    for (uint64_t i = 0; i < 700; i++) {
        add(&stream, 0, HEAP + 8 * i);
        for (uint64_t j = 0, n = 1 + psnap_rng_below(&rng, 20); j < n; j++) {
            const uint64_t x = HEAP + (1 << 20) + 8 * psnap_rng_below(&rng, 1 << 16);
            add(&stream, REFS, HEAP + (4 << 20) + 4 * entry++);
            add(&stream, REFS + 1, x);
            add(&stream, REFS + 2, x + 16);
        }
    }
    profile = profile_of(program, &stream);
    assert_non_null(profile->nests);
    loop = profile->nests->terms[profile->nests->count - 1].pattern;
    assert_true(profile->nests->count <= 3);
    assert_int_equal(loop->body_count, 2);
    inner = loop->body[1]->shape;
    assert_int_not_equal(inner->counts, 0);
    assert_int_equal(inner->refs[0].mode, NEST_CONTINUING);
    assert_int_equal(inner->refs[1].mode, NEST_DRAWN);
    assert_int_equal(profile->nests->models->draws[inner->refs[2].draw].rest.with,
                     inner->refs[1].draw);
    assert_int_equal(profile->nests->models->draws[inner->refs[2].draw].rest.offset, 16);
    assert_int_equal(profile->nests->models->counts[inner->counts - 1].times, 700);
    assert_int_equal(profile->nests->models->counts[inner->counts - 1].sum, entry);
    assert_resembles(profile, &stream, REFS);
    assert_is_its_text(profile);
    psnap_profile_free(profile);
    free(stream.accesses);
    psnap_program_free(program);
}

/* Chains of a hash table: where a chain begins is drawn for itself, each of its nodes gives where
 * the next one is read, and chains of no node make the order of loops a mix. */
static void test_chains(void **state)
{
    struct psnap_program *program = make_program(LOOPS, REFS);
    struct stream stream = {calloc(ACCESSES, sizeof *stream.accesses), 0};
    const struct nest_models *models;
    struct psnap_profile *profile;
    const struct nest_draw *next = NULL;
    struct psnap_rng rng;

    (void)state;
    psnap_rng_init(&rng, 5);
    for (uint64_t i = 0; stream.count + 40 < ACCESSES; i++) {
        uint64_t pointer = HEAP + (1 << 20) + 8 * psnap_rng_below(&rng, 1 << 12);
        add(&stream, 0, HEAP + 16 * i);
        for (uint64_t n = psnap_rng_below(&rng, 4);; n--) {
            const uint64_t node = HEAP + (8 << 20) + 32 * psnap_rng_below(&rng, 1 << 12);
            add(&stream, REFS, pointer);
            if (!n)
                break;
            add(&stream, REFS + 1, node);
            pointer = node + 8;
        }
    }
    profile = profile_of(program, &stream);
    assert_non_null(profile->nests);
    models = profile->nests->models;
    for (uint32_t i = 0; i < models->mix_count; i++)
        for (uint32_t k = 0; models->mixes[i].chain && k < models->mixes[i].chain->state_count; k++)
            if (models->mixes[i].states[k]->loop == 1)
                next = &models->draws[models->mixes[i].states[k]->refs[0].draw];
    assert_non_null(next);
    assert_true(next->has_entry);
    assert_int_equal(next->entry.with, PSNAP_NONE);
    assert_int_not_equal(next->rest.with, PSNAP_NONE);
    assert_int_equal(next->rest.offset, 8);
    assert_resembles(profile, &stream, 0);
    assert_is_its_text(profile);
    psnap_profile_free(profile);
    free(stream.accesses);
    psnap_program_free(program);
}

/* Loops that follow each other at random are a mix. */
static void test_no_order(void **state)
{
    struct psnap_program *program = make_program(LOOPS, REFS);
    struct stream stream = {calloc(ACCESSES, sizeof *stream.accesses), 0};
    struct psnap_profile *profile;
    struct psnap_rng rng;

    (void)state;
    psnap_rng_init(&rng, 7);
    while (stream.count + 8 < ACCESSES)
        add(&stream, REFS * (uint32_t)psnap_rng_below(&rng, LOOPS),
            HEAP + 8 * psnap_rng_below(&rng, 1 << 20));
    profile = profile_of(program, &stream);
    assert_non_null(profile->nests);
    assert_true(profile->nests->count < 10);
    assert_resembles(profile, &stream, 0);
    assert_is_its_text(profile);
    psnap_profile_free(profile);
    free(stream.accesses);
    psnap_program_free(program);
}

/* ---- reading ---- */

static void assert_refused(const char *from, const char *to, const char *message)
{
    static const char text[] = "psnap: 1\n"
                               "capture: {model: walks-2}\n"
                               "schedule:\n"
                               "- repeat: 3\n"
                               "  of:\n"
                               "  - loop: f\n"
                               "    times: {first: 4, steps: [-1]}\n"
                               "    references:\n"
                               "    - {ref: 0, load: 8, region: r1, start: 0, strides: [32, 8]}\n"
                               "loops:\n"
                               "- id: f\n"
                               "  nest: {depth: 0}\n"
                               "  accesses: 9\n"
                               "  pattern: [r1]\n"
                               "  regions:\n"
                               "  - id: r1\n"
                               "    working_set: {bytes: 96, group: heap, offset: 0}\n"
                               "    accesses: 9\n"
                               "    loads: 9\n"
                               "    sizes: {8: 9}\n"
                               "    strides: {8: 8}\n";
    char changed[sizeof text + 200];
    struct psnap_profile *profile;
    struct psnap_error error = {0};
    const char *at = strstr(text, from);

    assert_non_null(at);
    snprintf(changed, sizeof changed, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
    profile = try_text(changed, &error);
    if (!message) {
        if (!profile)
            fail_msg("%u: %s", (unsigned)error.src_line, error.message);
        psnap_profile_free(profile);
        return;
    }
    assert_null(profile);
    if (!strstr(error.message, message))
        fail_msg("'%s' does not say '%s'", error.message, message);
    assert_true(error.src_line > 0);
}

static void test_refused(void **state)
{
    (void)state;
    assert_refused("ref: 0", "ref: 0", NULL);
    assert_refused("[32, 8]", "[8]", "there must be 2");
    assert_refused("steps: [-1]", "steps: [-1, 0]", "there must be 1");
    assert_refused("region: r1", "region: r2", "no region 'r2'");
    assert_refused("loop: f", "loop: g", "no loop 'g'");
    assert_refused("load: 8", "load: 8, store: 8", "one of load, store and atomic");
    assert_refused("load: 8, ", "", "a load, a store or an atomic");
    assert_refused("load: 8", "load: 65", "65");
    assert_refused("load: 8", "store: 8", "has 9 loads in its regions");
    assert_refused("load: 8", "load: 4", "has 72 bytes in its regions");
    assert_refused("[32, 8]", "[64, 8]", "lead 48 bytes out");
    assert_refused("start: 0", "start: -8", "lead 8 bytes out");
    assert_refused("[32, 8]", "[32, -9223372036854775807]", "out of the working sets");
    assert_refused("repeat: 3", "repeat: 4", "comes to 10");   /* 4 + 3 + 2 + 1 */
    assert_refused("repeat: 3", "repeat: 100", "comes to 10"); /* none is negative */
    assert_refused("repeat: 3", "repeat: 72057594037927936", "more than can be counted");
    assert_refused("schedule:\n", "schedule:\n- f\n", "no name such as m1");
    assert_refused("times: {first: 4, steps: [-1]}", "tames: 4", "tames");
    assert_refused("of:", "off:", "off");
}

static void assert_models_refused(const char *from, const char *to, const char *message)
{
    static const char text[] =
        "psnap: 1\n"
        "capture: {model: walks-2}\n"
        "schedule:\n"
        "- m1\n"
        "- loop: f\n"
        "  times: c1\n"
        "  references:\n"
        "  - {ref: 0, load: 8, walk: w1, skip: 0, strides: [8]}\n"
        "models:\n"
        "  walks: [{walk: w1, loop: f, region: r1, start: 0}]\n"
        "  draws:\n"
        "  - {draw: d1, loop: g, areas: [{region: r1, start: 0, accesses: 3, bytes: 24, element: "
        "8,\n"
        "     places: once, lap: 3, place_bytes: 8}]}\n"
        "  - {draw: d2, loop: g, with: d1, offset: 8}\n"
        "  counts: [{counts: c1, times: [{is: 2, times: 1}]}]\n"
        "  mixes:\n"
        "  - {mix: m1, graph: {begin: {1: 1}, states: [\n"
        "     {state: 2, loop: g, references: [{ref: 1, load: 8, draw: d2}], times: 1, next: {end: "
        "1}},\n"
        "     {state: 1, loop: g, references: [{ref: 0, load: 8, draw: d1}], times: 1, next: {2: "
        "1}}]}}\n"
        "loops:\n"
        "- {id: f, nest: {depth: 0}, accesses: 2, pattern: [r1], regions: [\n"
        "  {id: r1, working_set: {bytes: 96, group: heap, offset: 0},\n"
        "   accesses: 2, loads: 2, sizes: {8: 2}, strides: {8: 1}}]}\n"
        "- {id: g, nest: {depth: 0}, accesses: 2, pattern: [r1], regions: [\n"
        "  {id: r1, working_set: {bytes: 32, group: heap, offset: 0},\n"
        "   accesses: 2, loads: 2, sizes: {8: 2}, strides: {8: 1}}]}\n";
    char changed[sizeof text + 200];
    struct psnap_profile *profile;
    struct psnap_error error = {0};
    const char *at = strstr(text, from);

    assert_non_null(at);
    snprintf(changed, sizeof changed, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
    profile = try_text(changed, &error);
    if (!message) {
        if (!profile)
            fail_msg("%u: %s", (unsigned)error.src_line, error.message);
        /* States are known by their numbers, not by their place. */
        assert_int_equal(profile->nests->models->mixes[0].states[0]->refs[0].ref, 0);
        assert_is_its_text(profile);
        psnap_profile_free(profile);
        return;
    }
    assert_null(profile);
    if (!strstr(error.message, message))
        fail_msg("'%s' does not say '%s'", error.message, message);
    assert_true(error.src_line > 0);
}

static void test_models_refused(void **state)
{
    (void)state;
    assert_models_refused("g", "g", NULL);
    assert_models_refused("lap: 3, ", "", "need 'lap'");
    assert_models_refused("lap: 3", "lap: 4", "more than 'bytes'");
    assert_models_refused(", place_bytes: 8", "", "more than 'bytes'");
    assert_models_refused("once", "cursors", "need 'cursors'");
    assert_models_refused("once", "nowhere", "no places 'nowhere'");
    assert_models_refused("accesses: 3, ", "", "accesses");
    assert_models_refused("element: 8", "element: 25", "an element has more bytes");
    assert_models_refused("element: 8,", "element: 8, laps: 1,", "laps");
    assert_models_refused("element: 8,", "element: 8, reach: [[0, 1]],", "'reach' has 8");
    assert_models_refused("with: d1", "with: d2", "with itself");
    assert_models_refused("with: d1", "with: d3", "no 'd3'");
    assert_models_refused("draw: d2, loop", "draw: d9, loop", "no draw of this name");
    assert_models_refused("draw: d2, loop", "draw: d9999, loop", "far higher");
    assert_models_refused("draw: d2, loop", "draw: d1, loop", "two of this name");
    assert_models_refused("draw: d2, loop", "draw: e2, loop", "no name such as d1");
    assert_models_refused("walk: w1, loop", "walk: w2, loop", "no walk of this name");
    assert_models_refused("is: 2", "is: 0", "at least once");
    assert_models_refused("is: 2, times: 1", "is: 1, times: 2", "as often as 'counts'");
    assert_models_refused("- m1\n", "", "does not come to the mix m1");
    assert_models_refused("- m1", "- m2", "no 'm2'");
    assert_models_refused("times: c1", "times: c2", "no 'c2'");
}

/* Numbers of references, which replay has all of, are bounded in all: 16 loops have them all. */
static void check_numbers(unsigned loops, unsigned last)
{
    char *text = NULL;
    size_t size;
    FILE *file = open_memstream(&text, &size);
    struct psnap_error error = {0};
    struct psnap_profile *profile;

    fprintf(file, "psnap: 1\ncapture: {model: walks-2}\nschedule:\n");
    for (unsigned l = 0; l < loops; l++)
        fprintf(file,
                "- {loop: f%u, times: 1, references: [{ref: %u, load: 8, region: r1, start: 0, "
                "strides: [0]}]}\n",
                l, l + 1 < loops ? 65535 : last);
    fprintf(file, "loops:\n");
    for (unsigned l = 0; l < loops; l++)
        fprintf(file,
                "- {id: f%u, nest: {depth: 0}, accesses: 1, pattern: [r1], regions: [{id: r1, "
                "working_set: {bytes: 8, group: heap, offset: 0}, accesses: 1, loads: 1, "
                "sizes: {8: 1}}]}\n",
                l);
    fclose(file);
    profile = try_text(text, &error);
    if (loops <= 16) {
        struct psnap_source *source = profile ? psnap_replay_new(profile, 0, &error) : NULL;
        if (!source)
            fail_msg("%u: %s", (unsigned)error.src_line, error.message);
        assert_true(source->program->ref_count >= loops * 65536u - 65535u + last);
        psnap_source_free(source);
    } else {
        assert_null(profile);
        assert_non_null(strstr(error.message, "more than 1048576"));
        assert_int_equal(error.src_line, 3 + loops);
    }
    psnap_profile_free(profile);
    free(text);
}

static void test_numbers(void **state)
{
    (void)state;
    check_numbers(3, 5);
    check_numbers(16, 65535);
    check_numbers(17, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_programs), cmocka_unit_test(test_triangle),
        cmocka_unit_test(test_gather),          cmocka_unit_test(test_rows),
        cmocka_unit_test(test_chains),          cmocka_unit_test(test_no_order),
        cmocka_unit_test(test_refused),         cmocka_unit_test(test_models_refused),
        cmocka_unit_test(test_numbers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
