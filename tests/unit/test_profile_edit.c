/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Edits (profile/edit/), as people write them, against a program that does what the question asks:
 * the replayed stream of the edited profile is that of the program with the other array, stride or
 * number of iterations, access for access. Of what is drawn by reuse time the histograms are known.
 */
#include "profile/edit/cmd_edit.h"
#include "profile/edit/edit.h"
#include "replay/replay.h"
#include "tests/unit/test.h"
#include "tests/unit/test_profile_support.h"
#include "tests/unit/test_text_support.h"
#include "tests/unit/vectors.h"

enum { REFS = 4, ACCESSES = 40000 };

struct stream {
    struct psnap_access accesses[ACCESSES];
    size_t count;
};

static void add(struct stream *stream, uint32_t ref, uint64_t address, uint8_t kind)
{
    assert_true(stream->count < ACCESSES);
    stream->accesses[stream->count++] =
        (struct psnap_access){.address = address, .ref = ref, .size = 8, .kind = kind};
}

/* The profile after edits, which is freed; with a message NULL when the edits fail with it, else
 * *said (or NULL) gets what they say. */
static struct psnap_profile *edited(struct psnap_profile *profile, const char *lines,
                                    const char *message, char *said)
{
    char *text = write_text(profile), *result;
    struct psnap_error error = {0};
    size_t size;

    psnap_profile_free(profile);
    result = edit_lines(psnap_yaml_read_text(text, strlen(text), "before", &error), lines, "edited",
                        NULL, &size, &error);
    free(text);
    if (message) {
        assert_null(result);
        assert_error_says(&error, message);
        return NULL;
    }
    if (!result)
        fail_msg("%s: %s", lines, error.message);
    if (said)
        memcpy(said, error.message, sizeof error.message);
    profile = read_text(result);
    free(result);
    return profile;
}

/* That replay gives the stream, in blocks or with runs. */
static void assert_replays(const struct psnap_profile *profile, const struct stream *stream,
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

/*
 * for (t < times)
 *   for (r < rounds) {                      f:0
 *     for (i < n)                           f:1
 *       for (u < 2) load a[i], store b[i]   unrolled
 *     load s                                f:0
 *   }
 *   for (i < m) load c[i]                   f:2
 * and at last store a[0]                    f:3
 */
struct nest {
    uint64_t times, rounds, entries, n, m;
    uint64_t a, b, c, s; /* where they are */
    uint64_t stride_a, stride_b, stride_c, row_a;
    bool has_inner, has_outer, has_last_loop;
};

static const struct nest plain = {3, 5,  1, 20, 30,   HEAP, HEAP + 4096, HEAP + 8192, HEAP + 16384,
                                  8, 16, 8, 0,  true, true, true};

/* b and what is behind it lie so much higher: a, or what is before b, has grown. */
static void move_from_b(struct nest *n, uint64_t bytes)
{
    n->b += bytes;
    n->c += bytes;
    n->s += bytes;
}

static void walk(const struct nest *n, struct stream *stream)
{
    stream->count = 0;
    for (uint64_t t = 0; t < n->times; t++) {
        for (uint64_t r = 0; r < n->rounds && n->has_outer; r++) {
            for (uint64_t e = 0; e < n->entries; e++)
                for (uint64_t i = 0; i < n->n && n->has_inner; i += 2)
                    for (uint32_t u = 0; u < 2; u++) {
                        add(stream, REFS + u * 2, n->a + r * n->row_a + (i + u) * n->stride_a, 0);
                        add(stream, REFS + u * 2 + 1, n->b + (i + u) * n->stride_b, PSNAP_STORE);
                    }
            add(stream, 0, n->s, 0);
        }
        for (uint64_t i = 0; i < n->m && n->has_last_loop; i++)
            add(stream, 2 * REFS, n->c + i * n->stride_c, 0);
    }
    add(stream, 3 * REFS, n->a, PSNAP_STORE);
}

static void name(struct psnap_profile *profile, uint64_t low, const char *object)
{
    for (uint32_t i = 0; i < profile->loop_count; i++)
        for (uint32_t k = 0; k < profile->loops[i].region_count; k++)
            if (profile->loops[i].regions[k].low == low)
                profile->loops[i].regions[k].object = object;
}

/* Loops as the comment above says, arrays with their names. */
static struct psnap_profile *record(struct psnap_program *program, const struct nest *n, bool nests)
{
    static struct stream stream;
    const struct psnap_builder_options options = {.nests = nests};
    struct psnap_profile *profile;

    walk(n, &stream);
    program->loops[1].depth = 2;
    program->loops[1].parent = 0;
    program->loops[3].depth = 0;
    profile = build(program, stream.accesses, stream.count, &options);
    assert_int_equal(profile->loop_count, 4);
    assert_int_equal(profile->stream != NULL, nests);
    name(profile, n->a, "a");
    name(profile, n->b, "b");
    if (n->c < n->b || n->c > n->b + 64)
        name(profile, n->c, "c");
    profile->loops[1].entries = n->times * n->rounds;
    profile->loops[1].iterations = n->times * n->rounds * n->n / 2;
    profile->loops[0].entries = n->times;
    profile->loops[0].iterations = n->times * n->rounds;
    profile->loops[2].entries = n->times;
    profile->loops[2].iterations = n->times * n->m;
    return profile;
}

/* That the edited profile is replayed as what the program `after` does. */
static void becomes(const char *lines, const struct nest *before, const struct nest *after,
                    char *said)
{
    static struct stream stream;
    struct psnap_program *program = make_program(4, REFS);
    struct psnap_profile *profile = edited(record(program, before, true), lines, NULL, said);

    walk(after, &stream);
    assert_replays(profile, &stream, true);
    assert_replays(profile, &stream, false);
    psnap_profile_free(profile);
    psnap_program_free(program);
}

static void fails(const char *lines, const struct nest *before, const char *message)
{
    struct psnap_program *program = make_program(4, REFS);

    edited(record(program, before, true), lines, message, NULL);
    psnap_program_free(program);
}

TEST(edit_arrays)
{
    struct nest after = plain;

    after.stride_a = 16; /* a: 160 bytes are 320, for which there is room */
    becomes("regions[a].working_set *= 2", &plain, &after, NULL);
    /* 10,240 bytes: what is behind is 10,112 higher, what they take more, in whole lines */
    after.stride_a = 512;
    move_from_b(&after, 10112);
    becomes("regions[a].working_set *= 64", &plain, &after, NULL);
    after = plain;
    after.stride_b = 8; /* nothing moves down */
    becomes("regions[b].working_set /= 2", &plain, &after, NULL);
    fails("regions[b].working_set /= 3", &plain,
          "in loop 'f:1' something goes on by 32 bytes, no multiple of 3");
    fails("regions[x].working_set *= 2", &plain,
          "no region is in an array 'x'; those without a name");
    fails("loops[f:1].regions[r11].working_set *= 2", &plain,
          "loop 'f:1' has no region 'r11'; did you mean 'r1'?");
    after = plain;
    after.b += 128;
    becomes("regions[b].base += 128", &plain, &after, NULL);
    after.c += 128;
    after.s += 128;
    becomes("regions[b].pad += 128", &plain, &after, NULL);
    fails("regions[b].base -= 2T", &plain,
          "no room for region 'r2' of loop 'f:1': not all of it would be in group 'heap'");
    /* It would get the name of the one that it lies on. */
    fails("regions[b].base += 4000", &plain,
          "region 'r2' of loop 'f:1' would lie on region 'r1' of loop 'f:2'");
    fails("regions[b].base -= 4096", &plain, "would lie on region 'r1' of loop 'f:1'");
}

TEST(edit_stride)
{
    struct nest before = plain, after = plain;
    char said[512];

    /* Told by the program's stride, though the loop is unrolled. */
    after.stride_a = 64;
    becomes("loops[f:1].regions[a].strides[8] = 64", &plain, &after, said);
    assert_string_equal(said, "");
    for (before.row_a = 160; before.row_a <= 192; before.row_a += 32) {
        char line[100];
        after = before; /* another loop's stride of the same array: rows, at first one sweep */
        after.row_a = 2 * before.row_a;
        snprintf(line, sizeof line, "loops[f:1].regions[a].strides[%u] = %u",
                 (unsigned)before.row_a, (unsigned)after.row_a);
        becomes(line, &before, &after, NULL);
    }
    before = plain;
    before.stride_b = 8;
    after = before; /* of a loop alone: another array has the stride as well, which is said */
    after.stride_a = after.stride_b = 16;
    becomes("loops[f:1].strides[8] = 16", &before, &after, said);
    assert_string_equal(said, "2 arrays have the new stride: 'a', 'b'");
    fails("loops[f:1].regions[a].strides[24] = 64", &plain, "no stride is 24 there, only 0, 8");
    fails("loops[f:2].regions[a].strides[8] = 64", &plain, "loop 'f:2' has no region 'a'");
}

/* Iterations and entries of loops, and loops that are not there. */
TEST(edit_loops)
{
    struct psnap_program *program = make_program(4, REFS);
    struct nest after = plain;

    after.n = 60;
    becomes("loops[f:1].iterations *= 3", &plain, &after, NULL);
    after = plain;
    after.rounds = 10;
    becomes("loops[f:0].iterations *= 2", &plain, &after, NULL);
    after.m = 120;
    becomes("loops[f:0].iterations *= 2; loops[f:2].iterations *= 4", &plain, &after, NULL);
    fails("loops[f:3].iterations *= 4", &plain, "the body of a function");
    fails("loops[f:9].iterations *= 4", &plain, "there is no loop 'f:9'; did you mean 'f:");
    after = plain;
    after.entries = 3;
    becomes("loops[f:1].entries *= 3", &plain, &after, NULL);
    after = plain;
    after.rounds *= 3; /* nothing in it changes from round to round */
    becomes("loops[f:0].entries *= 3", &plain, &after, NULL);
    fails("reuse *= 2", &plain, "nothing is drawn by reuse time");
    edited(record(program, &plain, false), "loops[f:1].entries *= 3",
           "the published model is edited by its fields", NULL);
    psnap_program_free(program);
    after = plain;
    after.has_inner = false;
    becomes("remove loops[f:1]", &plain, &after, NULL);
    after.has_outer = false; /* with what is in it */
    becomes("remove loops[f:0]", &plain, &after, NULL);
    after = plain;
    after.has_last_loop = false;
    becomes("remove loops[f:2]", &plain, &after, NULL);
}

/* Elements of a and c, of 8 bytes each, one behind the other; and back. */
TEST(edit_fields)
{
    struct nest before = plain, after = plain;

    /* a is as long as c then: 480 bytes instead of 160 */
    after.stride_a = after.stride_c = 16;
    after.c = plain.a + 8;
    becomes("interleave regions[a], regions[c] by 8", &plain, &after, NULL);
    fails("interleave regions[a], regions[c] by 4", &plain, "8 bytes at once at byte 0 of 'a");
    fails("interleave regions[a], regions[c] by 16", &plain, "no multiple of 16");
    /* b has records of 16 bytes, whose second half is what c was. */
    before.n = 30;
    before.c = before.b + 8;
    before.stride_c = 16;
    after = before;
    after.c = after.b + 240; /* 30 records */
    after.stride_b = after.stride_c = 8;
    becomes("split regions[b] into 8, 8", &before, &after, NULL);
    fails("split regions[b] into 4, 12", &before, "would not lie together");
}

/* ---- nests that are joined, or of ever other lengths ---- */

/*
 * for (i < rows)                              f:0
 *   for (j < columns, or j <= i, or other)    f:1
 *     load a[i * row + j]
 */
struct table {
    uint64_t rows, columns, row;
    bool is_triangle;
    uint64_t again;  /* all of that, so many times */
    uint64_t ragged; /* or rows have 1 to 5 times so many; row 0: without gaps, at random */
};

static void walk_table(const struct table *t, struct stream *stream)
{
    stream->count = 0;
    for (uint64_t again = 0, at = 0; again < t->again; again++, at = 0)
        for (uint64_t i = 0; i < t->rows; i++) {
            const uint64_t columns =
                t->ragged        ? (1 + (t->row ? i * i : i * 2654435761 % 65521) % 5) * t->ragged
                : t->is_triangle ? i + 1
                                 : t->columns;
            at = t->row ? i * t->row : at;
            for (uint64_t j = 0; j < columns; j++)
                add(stream, REFS, HEAP + 8 * at++, 0);
        }
}

static void table_becomes(const char *lines, const struct table *before, const struct table *after)
{
    static struct stream stream;
    const struct psnap_builder_options options = {.nests = true};
    struct psnap_program *program = make_program(2, REFS);
    struct psnap_profile *profile;

    program->loops[1].depth = 2;
    program->loops[1].parent = 0;
    walk_table(before, &stream);
    profile = build(program, stream.accesses, stream.count, &options);
    profile->loops[0].entries = before->again;
    profile->loops[0].iterations = before->again * before->rows;
    profile->loops[1].entries = before->again * before->rows;
    profile->loops[1].iterations = stream.count;
    profile = edited(profile, lines, after ? NULL : "no stride is 16 there, only 8", NULL);
    if (after) {
        walk_table(after, &stream);
        assert_replays(profile, &stream, true);
    }
    psnap_profile_free(profile);
    psnap_program_free(program);
}

TEST(edit_aligned)
{
    const struct table joined = {20, 30, 30, false, 2, 0}, spaced = {20, 30, 50, false, 2, 0};
    const struct table triangle = {20, 0, 20, true, 2, 0}, pairs = {20, 2, 2, false, 2, 0};
    struct table ragged = {.rows = 100, .again = 2, .ragged = 2};
    struct table after;

    for (int i = 0; i < 2; i++) {
        const struct table *before = i ? &spaced : &joined;
        after = *before;
        after.rows = 60;
        table_becomes("loops[f:0].iterations *= 3", before, &after);
        after = *before; /* rows overlap then */
        after.columns = 60;
        table_becomes("loops[f:1].iterations *= 2", before, &after);
    }
    after = joined;
    after.again = 6;
    table_becomes("loops[f:0].entries *= 3", &joined, &after);
    after = triangle;
    after.again = 6;
    table_becomes("loops[f:0].entries *= 3", &triangle, &after);
    /* Rows that are ever longer cannot go on as they are: the triangle comes again. */
    table_becomes("loops[f:0].iterations *= 3", &triangle, &after);
    for (ragged.row = 0; ragged.row <= 50; ragged.row += 50) {
        after = ragged;
        after.ragged = 4;
        table_becomes("loops[f:1].iterations *= 2", &ragged, &after);
    }
    after = joined;
    after.row = 60;
    table_becomes("loops[f:1].strides[240] = 480", &joined, &after);
    table_becomes("loops[f:1].strides[16] = 32", &pairs, NULL); /* too short for rows */
}

/* ---- chains ---- */

static uint64_t times_of(const struct chain *chain, uint32_t state)
{
    uint64_t sum = 0;

    for (uint32_t k = 0; k < chain->states[state].edge_count; k++)
        sum += chain->states[state].edges[k].count;
    return sum;
}

/* A random walk through states 1 to n, 7 of them, in 5 visits. */
static void make_chain(struct chain *chain, struct psnap_rng *rng)
{
    assert_true(chain_init(chain));
    for (uint32_t i = 1; i < 8; i++)
        assert_int_equal(chain_add_state(chain, i), i);
    for (int visit = 0; visit < 5; visit++) {
        for (int i = 0; i < 200; i++)
            assert_true(chain_go(chain, 1 + (uint32_t)psnap_rng_below(rng, 7), 1));
        assert_true(chain_go(chain, 0, 1));
    }
}

TEST(edit_chains)
{
    struct psnap_rng rng;

    psnap_rng_init(&rng, 1);
    for (int turn = 0; turn < 50; turn++) {
        struct chain chain;
        uint64_t before[8];
        bool inside[8] = {false};
        uint32_t bad, kept = 0;
        make_chain(&chain, &rng);
        for (uint32_t i = 1; i < 8; i++)
            inside[i] = psnap_rng_below(&rng, 2);
        inside[1 + turn % 7] = false;
        for (uint32_t i = 0; i < 8; i++)
            before[i] = times_of(&chain, i);
        assert_int_equal(edit_chain_repeat(&chain, inside, 3), 0);
        assert_int_equal(chain_is_circuit(&chain, &bad), 1);
        for (uint32_t i = 0; i < 8; i++)
            assert_int_equal(times_of(&chain, i), before[i] * (inside[i] ? 3 : 1));
        assert_int_equal(edit_chain_remove(&chain, inside), 0);
        assert_int_equal(chain_is_circuit(&chain, &bad), 1);
        for (uint32_t i = 0; i < 8; i++)
            if (!inside[i]) {
                assert_int_equal(chain.states[kept].symbol, i ? i : PSNAP_NONE);
                assert_int_equal(times_of(&chain, kept++), before[i]);
            }
        assert_int_equal(chain.count, kept);
        chain_release(&chain);
    }
}

/* ---- what is drawn ---- */

/*
 * for (times)                                 f:0
 *   for (i < 3000) load a[random]             f:1
 *   for (i < 3000) store a[the same]          f:2, of each of f:1
 */
static struct psnap_profile *record_random(struct psnap_program *program)
{
    static struct stream stream;
    const struct psnap_builder_options options = {.nests = true};
    struct psnap_profile *profile;
    struct psnap_rng rng;

    stream.count = 0;
    psnap_rng_init(&rng, 1);
    for (uint64_t i = 0; i < 12000; i++) {
        const uint64_t address = HEAP + 64 * psnap_rng_below(&rng, 500);
        add(&stream, REFS, address, 0);
        add(&stream, 2 * REFS, address + 8, PSNAP_STORE);
    }
    program->loops[1].parent = program->loops[2].parent = 0;
    program->loops[1].depth = program->loops[2].depth = 2;
    profile = build(program, stream.accesses, stream.count, &options);
    assert_int_equal(profile->loop_count, 3);
    for (uint32_t i = 0; i < 3; i++) {
        profile->loops[i].entries = i ? 12000 : 4;
        profile->loops[i].iterations = 12000;
    }
    return profile;
}

/* Counts of all reuse histograms: of times from 16 on, shorter ones, first touches. */
static void count_times(const struct psnap_profile *profile, uint64_t counts[REUSE_BINS])
{
    const struct psnap_stream_model *model = profile->stream;

    memset(counts, 0, REUSE_BINS * sizeof *counts);
    for (uint32_t i = 0; i < model->ref_count; i++)
        for (uint32_t k = 0; k < model->refs[i].reuse_count; k++)
            for (uint32_t b = 0; b < model->refs[i].reuses[k].bin_count; b++)
                counts[model->refs[i].reuses[k].bins[b].bin] +=
                    model->refs[i].reuses[k].bins[b].count;
}

static void edit_random(const char *lines, uint64_t before[REUSE_BINS], uint64_t after[REUSE_BINS],
                        uint64_t accesses)
{
    struct psnap_program *program = make_program(3, REFS);
    struct psnap_profile *profile = record_random(program);
    struct psnap_profile_totals totals;
    struct psnap_source *source;
    struct psnap_access block[256];
    uint64_t n = 0;
    ssize_t got;

    count_times(profile, before);
    profile = edited(profile, lines, NULL, NULL);
    count_times(profile, after);
    psnap_profile_totals(profile, &totals);
    assert_int_equal(totals.accesses, accesses);
    source = psnap_replay_new(profile, 0, NULL);
    while ((got = psnap_source_next(source, block, 256, NULL)) > 0)
        n += (uint64_t)got;
    assert_int_equal(n, accesses);
    psnap_source_free(source);
    psnap_profile_free(profile);
    psnap_program_free(program);
}

TEST(edit_reuse_times)
{
    uint64_t before[REUSE_BINS], after[REUSE_BINS], sum = 0;

    edit_random("reuse *= 2", before, after, 24000);
    assert_true(before[REUSE_FIRST] > 100 && before[REUSE_EXACT + 6] > 1000);
    assert_int_equal(after[REUSE_FIRST], before[REUSE_FIRST]);
    for (uint32_t i = 0; i < REUSE_EXACT; i++)
        assert_int_equal(after[i], before[i]);
    assert_int_equal(after[REUSE_EXACT], 0);
    for (uint32_t i = REUSE_EXACT; i + 2 < REUSE_FIRST; i++)
        assert_int_equal(after[i + 1], before[i]);
    /* 16 to 31 becomes 8 to 15, evenly; three quarters of a bin are in the next lower one by half
     */
    edit_random("reuse *= 0.5", before, after, 24000);
    for (uint32_t i = 8; i < REUSE_EXACT; i++)
        sum += after[i] - before[i];
    assert_int_equal(sum, before[REUSE_EXACT]);
    assert_int_equal(after[REUSE_EXACT + 5], before[REUSE_EXACT + 6]);
    edit_random("reuse *= 1.5", before, after, 24000);
    assert_true(after[REUSE_EXACT] == (before[REUSE_EXACT] + 1) / 3 ||
                after[REUSE_EXACT] == before[REUSE_EXACT] / 3);
}

TEST(edit_irregular)
{
    uint64_t before[REUSE_BINS], after[REUSE_BINS], sums[2] = {0};

    /* f:1 and what depends on it, each three times as often: the same lines. */
    edit_random("loops[f:0].entries *= 3", before, after, 72000);
    for (uint32_t i = 0; i < REUSE_BINS; i++) {
        sums[0] += before[i];
        sums[1] += after[i];
    }
    assert_int_equal(sums[1], 3 * sums[0]);
    assert_int_equal(after[REUSE_FIRST], before[REUSE_FIRST]);
    edit_random("loops[f:1].iterations *= 2", before, after, 36000);
    /* Without f:1 f:2 has its histogram. */
    edit_random("remove loops[f:1]", before, after, 12000);
    for (uint32_t i = 0; i < REUSE_BINS; i++)
        assert_int_equal(after[i], before[i]);
    edit_random("remove loops[f:2]", before, after, 12000);
}

/* Elements that come three to a line, where each had one of its own: of one first touch in each
 * phase none is left, and so nothing that says when those of the first phase come. */
TEST(edit_no_first_touch_left)
{
    static const char text[] =
        "psnap: 1\n"
        "program: {name: p, source_language: C, compiler: '', host: x86_64, recorded: ''}\n"
        "capture: {model: nests-3, stage: optimized, region_gap_bytes: 256, region_limit: 128}\n"
        "schedule: [n]\n"
        "objects:\n"
        "- {id: o, symbol: x, group: image, index: 1, offset: 4096, bytes: 16384}\n"
        "loops:\n"
        "- id: n\n"
        "  regions:\n"
        "  - {id: a, symbol: x, working_set: {bytes: 16384, group: image, index: 1, offset: "
        "4096}}\n"
        "  bodies:\n"
        "  - {id: n, refs: [0], iterations: 12}\n"
        "  references:\n"
        "  - {ref: 0, load: 8, reuse: [{object: o, first_at: {1: 1},\n"
        "     phases: [{0: 4, 16: 1, first: 1}, {1: 2, 16: 3, first: 1}], places: {0: 1, 8: "
        "1}}]}\n";
    struct psnap_profile *profile = read_text(text);
    uint64_t counts[REUSE_BINS];
    char *written;

    count_times(profile, counts);
    assert_int_equal(counts[REUSE_FIRST], 2);
    assert_int_equal(reuse_timed_firsts(&profile->stream->refs[0].reuses[0]), 1);
    profile = edited(profile, "regions[x].working_set /= 3", NULL, NULL);
    count_times(profile, counts);
    assert_int_equal(counts[REUSE_FIRST], 0);
    written = write_text(profile);
    assert_null(strstr(written, "first_at"));
    free(written);
    psnap_profile_free(profile);
}

/* Without the loop that it depends on, a reference has that one's addresses, as far from them as it
 * was, and those again of which it needs more. */
TEST(edit_no_base_left)
{
    static const char text[] =
        "psnap: 1\n"
        "program: {name: p, source_language: C, compiler: '', host: x86_64, recorded: ''}\n"
        "capture: {model: nests-3, stage: optimized, region_gap_bytes: 256, region_limit: 128}\n"
        "schedule: [{repeat: 5, of: [n, m]}, m, m]\n"
        "loops:\n"
        "- id: n\n"
        "  regions:\n"
        "  - {id: a, working_set: {bytes: 80, group: image, index: 1, offset: 4096}}\n"
        "  bodies:\n"
        "  - {id: n, refs: [0]}\n"
        "  references:\n"
        "  - {ref: 0, load: 8, region: a, start: 0, counts: [5], strides: [8]}\n"
        "- id: m\n"
        "  regions:\n"
        "  - {id: a, working_set: {bytes: 80, group: image, index: 1, offset: 4096}}\n"
        "  bodies:\n"
        "  - {id: m, refs: [0]}\n"
        "  references:\n"
        "  - {ref: 0, store: 8, base: {loop: n, ref: 0}, offset: 40}\n";
    struct psnap_profile *profile = edited(read_text(text), "remove loops[n]", NULL, NULL);
    struct psnap_source *source = psnap_replay_new(profile, 0, NULL);
    struct psnap_access block[16];

    assert_int_equal(psnap_source_next(source, block, 16, NULL), 7);
    for (uint64_t i = 0; i < 7; i++)
        assert_int_equal(block[i].address - profile->loops[0].regions[0].low, i % 5 * 8);
    assert_int_equal(profile->loops[0].regions[0].low % 4096, 40);
    psnap_source_free(source);
    psnap_profile_free(profile);
}
