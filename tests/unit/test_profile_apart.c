/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Profiles whose threads are apart: a hand-worked one from the stream to the
 * text and back to the stream; parts that add up to the merged profile, in
 * whatever order threads come; which threads share a part when there are many;
 * and what can be wrong about parts, with its place.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/layout.h"
#include "formats/base/rng.h"
#include "profile/profile.h"
#include "replay/replay.h"

#define HEAP ((uint64_t)PSNAP_GROUP_HEAP * PSNAP_LAYOUT_WINDOW)

static struct psnap_profile *read_text(const char *text, struct psnap_error *error)
{
    FILE *file = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
    struct psnap_profile *profile = psnap_profile_read(file, "p.yaml", error);

    fclose(file);
    return profile;
}

/* The profile's text; the caller frees it. */
static char *write_text(const struct psnap_profile *profile)
{
    char *text = NULL;
    size_t size;
    FILE *file = open_memstream(&text, &size);

    assert_int_equal(psnap_profile_write(profile, file, NULL), PSNAP_OK);
    fclose(file);
    return text;
}

/* Loops "f" (depth 0), "f:1" and the part "f:1.rest" of it in f, one ref each: an array, loads. */
static struct psnap_program *make_program(void)
{
    static const struct {
        const char *id, *src_id;
    } names[] = {{"f", "f"}, {"f:1", "f:1"}, {"f:1.rest", "f:1"}};
    struct psnap_program *program = psnap_program_new();

    assert_non_null(program);
    for (uint32_t l = 0; l < 3; l++) {
        const struct psnap_loop loop = {.id = names[l].id,
                                        .src_id = names[l].src_id,
                                        .function = "f",
                                        .file = "f.c",
                                        .src_line = 1,
                                        .depth = l > 0,
                                        .parent = l ? 0 : PSNAP_NONE,
                                        .header = l,
                                        .entry = PSNAP_NONE};
        const struct psnap_block block = {
            .loop = l, .executions = 10 * l, .operations = {[PSNAP_OP_FP_ADD] = 2}};
        const struct psnap_ref ref = {.block = l, .loop = l};
        assert_int_equal(psnap_program_add_loop(program, &loop), l);
        assert_int_equal(psnap_program_add_block(program, &block), l);
        assert_int_equal(psnap_program_add_ref(program, &ref), l);
    }
    return program;
}

static struct psnap_access access_of(uint32_t loop, uint64_t address, uint16_t thread)
{
    return (struct psnap_access){.address = address, .ref = loop, .size = 8, .thread = thread};
}

static struct psnap_profile *build(struct psnap_program *program,
                                   const struct psnap_access *accesses, size_t n, bool is_apart)
{
    const struct psnap_builder_options options = {.is_apart = is_apart};
    struct psnap_sink *builder = psnap_profile_builder_new(program, &options, NULL);
    struct psnap_profile *profile;

    assert_non_null(builder);
    assert_int_equal(psnap_sink_put(builder, accesses, n, NULL), PSNAP_OK);
    assert_int_equal(psnap_sink_finish(builder, NULL), PSNAP_OK);
    profile = psnap_profile_builder_take(builder, NULL);
    assert_non_null(profile);
    psnap_sink_free(builder);
    return profile;
}

/*
 * Thread 0 loads four elements in f:1; thread 1 the next two there, then two from far away in the
 * remainder of f:1, and all of that again. Worked by hand: what a profile says of it.
 */
static const char worked[] =
    "psnap: 1\n"                                                          /* 1 */
    "program: {thread: apart}\n"                                          /* 2 */
    "capture: {model: psnap, region_gap_bytes: 256, region_limit: 128}\n" /* 3 */
    "totals: {accesses: 12, loads: 12, stores: 0, bytes: 96, operations: {fp_add: 60}}\n"
    "schedule: ['f:1.t0', {repeat: 2, of: ['f:1.t1', 'f:1.rest.t1']}]\n" /* 5 */
    "loops:\n"                                                           /* 6 */
    "- id: f\n"                                                          /* 7 */
    "  function: f\n"
    "  source: f.c:1\n"
    "  nest: {depth: 0}\n"
    "- id: f:1\n" /* 11 */
    "  function: f\n"
    "  source: f.c:1\n"
    "  nest: {depth: 1, parent: f}\n" /* 14 */
    "  iterations: {total: 10}\n"
    "  operations: {fp_add: 20}\n"
    "- id: f:1.t0\n"   /* 17 */
    "  part_of: f:1\n" /* 18 */
    "  thread: 0\n"    /* 19 */
    "  function: f\n"
    "  source: f.c:1\n"
    "  nest: {depth: 1, parent: f}\n" /* 22 */
    "  accesses: 4\n"
    "  pattern: [r1, r1, r1, r1]\n"
    "  regions:\n"
    "  - id: r1\n"
    "    working_set: {bytes: 32, group: heap, offset: 0}\n"
    "    accesses: 4\n"
    "    loads: 4\n"
    "    sizes: {8: 4}\n"
    "    strides: {8: 3}\n"
    "- id: f:1.t1\n"   /* 32 */
    "  part_of: f:1\n" /* 33 */
    "  thread: 1\n"    /* 34 */
    "  function: f\n"
    "  source: f.c:1\n"
    "  nest: {depth: 1, parent: f}\n"
    "  accesses: 4\n"
    "  pattern: [r1, r1, r1, r1]\n"
    "  regions:\n"
    "  - id: r1\n"
    "    working_set: {bytes: 16, group: heap, offset: 32}\n"
    "    accesses: 4\n"
    "    loads: 4\n"
    "    sizes: {8: 4}\n"
    "    strides: {-8: 1, 8: 2}\n"
    "    stride_graph: {-8: {8: 1}, 8: {-8: 1}}\n"
    "- id: f:1.rest\n" /* 48 */
    "  part_of: f:1\n"
    "  function: f\n"
    "  source: f.c:1\n"
    "  nest: {depth: 1, parent: f}\n"
    "  iterations: {total: 20}\n"
    "  operations: {fp_add: 40}\n"
    "- id: f:1.rest.t1\n"   /* 55 */
    "  part_of: f:1.rest\n" /* 56 */
    "  thread: 1\n"         /* 57 */
    "  function: f\n"
    "  source: f.c:1\n"
    "  nest: {depth: 1, parent: f}\n"
    "  accesses: 4\n"
    "  pattern: [r1, r1, r1, r1]\n"
    "  regions:\n"
    "  - id: r1\n"
    "    working_set: {bytes: 16, group: heap, offset: 4096}\n"
    "    accesses: 4\n"
    "    loads: 4\n"
    "    sizes: {8: 4}\n"
    "    strides: {-8: 1, 8: 2}\n"
    "    stride_graph: {-8: {8: 1}, 8: {-8: 1}}\n";

static void hand_worked(void **state)
{
    struct psnap_access accesses[12];
    struct psnap_program *program = make_program();
    struct psnap_profile *profile, *back;
    struct psnap_error error;
    char *text, *again;
    size_t n = 0;

    (void)state;
    for (uint64_t i = 0; i < 4; i++) { /* the two threads in turn, but for the end */
        accesses[n++] = access_of(1, HEAP + 8 * i, 0);
        accesses[n++] = access_of(i / 2 ? 2 : 1, HEAP + (i / 2 ? 4096 : 32) + 8 * (i % 2), 1);
    }
    for (uint64_t i = 0; i < 4; i++)
        accesses[n++] = access_of(i / 2 ? 2 : 1, HEAP + (i / 2 ? 4096 : 32) + 8 * (i % 2), 1);
    profile = build(program, accesses, n, true);
    text = write_text(profile);
    assert_string_equal(text, worked);
    back = read_text(text, &error);
    if (!back)
        fail_msg("%u: %s", (unsigned)error.src_line, error.message);
    assert_true(back->is_apart);
    assert_int_equal(back->loops[2].whole, 1);
    assert_int_equal(back->loops[3].thread, 1);
    assert_int_equal(back->loops[1].thread, PSNAP_NONE);
    assert_int_equal(back->loops[5].whole, 4);
    assert_string_equal(back->loops[5].src_id, "f:1"); /* that of the whole loop */
    again = write_text(back);
    assert_string_equal(text, again);
    free(text);
    free(again);
    psnap_profile_free(profile);
    psnap_profile_free(back);
    psnap_program_free(program);
}

/* The threads in turn, each by its own schedule; what is left of the longer one comes last. */
static void hand_worked_replay(void **state)
{
    static const struct {
        uint32_t loop;
        uint64_t offset;
        uint16_t thread;
    } expected[12] = {{1, 0, 0},  {1, 32, 1},   {1, 8, 0},  {1, 40, 1}, {1, 16, 0},   {2, 4096, 1},
                      {1, 24, 0}, {2, 4104, 1}, {1, 32, 1}, {1, 40, 1}, {2, 4096, 1}, {2, 4104, 1}};
    struct psnap_error error;
    struct psnap_profile *profile = read_text(worked, &error);

    (void)state;
    assert_non_null(profile);
    for (size_t capacity = 1; capacity < 14; capacity++) {
        struct psnap_source *source = psnap_replay_new(profile, 0, NULL);
        struct psnap_access block[14];
        size_t n = 0;
        ssize_t got;
        assert_non_null(source);
        assert_int_equal(source->program->loop_count, 3); /* as in the program that was profiled */
        assert_string_equal(source->program->loops[2].id, "f:1.rest");
        assert_string_equal(source->program->loops[2].src_id, "f:1");
        assert_int_equal(source->program->loops[2].parent, 0);
        while ((got = psnap_source_next(source, block, capacity, NULL)) > 0)
            for (ssize_t i = 0; i < got; i++, n++) {
                assert_true(n < 12);
                assert_int_equal(block[i].address, HEAP + expected[n].offset);
                assert_int_equal(block[i].thread, expected[n].thread);
                assert_int_equal(source->program->refs[block[i].ref].loop, expected[n].loop);
            }
        assert_int_equal(got, 0);
        assert_int_equal(n, 12);
        psnap_source_free(source);
    }
    psnap_profile_free(profile);
}

/* A schedule that mixes threads in a group: each takes its own part of it. */
static void mixed_schedule(void **state)
{
    static const char mixed[] = "[{repeat: 2, of: ['f:1.t1', {repeat: 2, of: ['f:1.t0']}, "
                                "'f:1.rest.t1']}]";
    const char *at = strstr(worked, "['f:1.t0', {repeat");
    const char *rest = strstr(at, "\nloops");
    char *text = malloc(sizeof worked + sizeof mixed);
    struct psnap_profile *profiles[2];
    struct psnap_error error;

    (void)state;
    sprintf(text, "%.*s%s%s", (int)(at - worked), worked, mixed, rest);
    profiles[0] = read_text(worked, &error);
    profiles[1] = read_text(text, &error);
    assert_non_null(profiles[1]);
    for (unsigned p = 0; p < 2; p++) {
        struct psnap_source *source = psnap_replay_new(profiles[p], 0, NULL);
        struct psnap_access block[13];
        static uint64_t addresses[2][12];
        assert_int_equal(psnap_source_next(source, block, 13, NULL), 12);
        for (unsigned i = 0; i < 12; i++)
            addresses[p][i] = block[i].address;
        assert_memory_equal(addresses[p], addresses[0], sizeof addresses[0]);
        psnap_source_free(source);
        psnap_profile_free(profiles[p]);
    }
    free(text);
}

enum { MANY = 300, EACH = 40 };

/* Threads whose numbers are `step` apart; `order` says in which order they come. */
static struct psnap_profile *build_many(struct psnap_program *program, uint32_t step,
                                        uint64_t order, bool is_apart)
{
    struct psnap_access *accesses = calloc(MANY * EACH, sizeof *accesses);
    struct psnap_profile *profile;
    struct psnap_rng rng;
    uint32_t at[MANY];
    size_t n = 0;

    psnap_rng_init(&rng, order);
    for (uint32_t i = 0; i < MANY; i++)
        at[i] = i;
    for (uint32_t i = MANY; order && i > 1; i--) {
        const uint32_t j = (uint32_t)psnap_rng_below(&rng, i), swapped = at[i - 1];
        at[i - 1] = at[j];
        at[j] = swapped;
    }
    for (uint32_t i = 0; i < MANY; i++)
        for (uint32_t k = 0; k < EACH; k++)
            accesses[n++] = access_of(k / 7 % 3, HEAP + 65536 * (k / 7 % 3) + 8 * (k + at[i]),
                                      (uint16_t)(at[i] * step));
    profile = build(program, accesses, n, is_apart);
    free(accesses);
    return profile;
}

/* The sums over the parts of each loop, and their number. */
static void add_up(const struct psnap_profile *profile, uint64_t *accesses, uint32_t *parts)
{
    for (uint32_t i = 0; i < profile->loop_count; i++) {
        const struct psnap_profile_loop *loop = &profile->loops[i];
        const uint32_t whole = loop->whole == PSNAP_NONE ? i : loop->whole;
        for (unsigned l = 0; l < 3; l++)
            if (!strcmp(profile->loops[whole].id, l == 0 ? "f" : l == 1 ? "f:1" : "f:1.rest")) {
                accesses[l] += loop->accesses;
                parts[l] += loop->whole != PSNAP_NONE;
            }
    }
}

static void many_threads(void **state)
{
    struct psnap_program *program = make_program();

    (void)state;
    for (uint32_t step = 1; step < 200; step += 150) {
        struct psnap_profile *merged = build_many(program, step, 0, false);
        struct psnap_profile *apart = build_many(program, step, 0, true);
        const struct psnap_profile_loop *last = &apart->loops[apart->loop_count - 1];
        uint64_t sums[2][3] = {{0}};
        uint32_t parts[2][3] = {{0}};
        char id[64], *text = write_text(apart), *other;
        struct psnap_profile *back;
        add_up(merged, sums[0], parts[0]);
        add_up(apart, sums[1], parts[1]);
        assert_memory_equal(sums[0], sums[1], sizeof sums[0]);
        assert_int_equal(merged->loop_count, 3);
        for (unsigned l = 0; l < 3; l++)
            assert_int_equal(parts[1][l], PSNAP_PARTS_MAX + 1);
        snprintf(id, sizeof id, "f:1.rest.t%u+", PSNAP_PARTS_MAX * step);
        assert_string_equal(last->id, id);
        assert_int_equal(last->thread, PSNAP_PARTS_MAX * step);
        assert_int_equal(last->thread_count, MANY - PSNAP_PARTS_MAX);
        for (uint64_t order = 1; order < 4; order++) {
            struct psnap_profile *shuffled = build_many(program, step, order, true);
            other = write_text(shuffled);
            assert_string_equal(text, other);
            free(other);
            psnap_profile_free(shuffled);
        }
        back = read_text(text, NULL);
        assert_non_null(back);
        other = write_text(back);
        assert_string_equal(text, other);
        free(other);
        free(text);
        psnap_profile_free(back);
        psnap_profile_free(merged);
        psnap_profile_free(apart);
    }
    psnap_program_free(program);
}

enum { BIG_THREADS = 40, BIG_LOOPS = 1500 };

/* Forty threads with fifteen hundred loops each. */
static char *build_big(bool is_backwards)
{
    const struct psnap_builder_options options = {.is_apart = true};
    struct psnap_program *program = psnap_program_new();
    struct psnap_sink *builder = psnap_profile_builder_new(program, &options, NULL);
    struct psnap_profile *profile;
    char *text;

    for (uint32_t l = 0; l < BIG_LOOPS; l++) {
        char name[16];
        struct psnap_loop loop = {.function = "f", .file = "f.c", .parent = PSNAP_NONE};
        const struct psnap_block block = {.loop = l};
        const struct psnap_ref ref = {.block = l, .loop = l};
        snprintf(name, sizeof name, "f:%u", (unsigned)l);
        loop.id = loop.src_id = psnap_program_string(program, name);
        loop.header = loop.entry = PSNAP_NONE;
        psnap_program_add_loop(program, &loop);
        psnap_program_add_block(program, &block);
        psnap_program_add_ref(program, &ref);
    }
    for (uint32_t i = 0; i < BIG_THREADS; i++)
        for (uint32_t l = 0; l < BIG_LOOPS; l++) {
            const uint32_t thread = is_backwards ? BIG_THREADS - 1 - i : i;
            const struct psnap_access access =
                access_of(l, HEAP + 4096 * l + 8 * thread, (uint16_t)thread);
            assert_int_equal(psnap_sink_put(builder, &access, 1, NULL), PSNAP_OK);
        }
    assert_int_equal(psnap_sink_finish(builder, NULL), PSNAP_OK);
    profile = psnap_profile_builder_take(builder, NULL);
    text = write_text(profile);
    psnap_profile_free(profile);
    psnap_sink_free(builder);
    psnap_program_free(program);
    return text;
}

/* Less threads have parts of their own where these would be too much to keep; nothing is lost. */
static void big_parts(void **state)
{
    char *text = build_big(false), *other = build_big(true);
    struct psnap_error error;
    struct psnap_profile *profile = read_text(text, &error);
    struct psnap_profile_totals totals;
    const struct psnap_profile_loop *last;

    (void)state;
    if (!profile)
        fail_msg("%u: %s", (unsigned)error.src_line, error.message);
    psnap_profile_totals(profile, &totals);
    assert_int_equal(totals.accesses, BIG_THREADS * BIG_LOOPS);
    assert_int_equal(totals.loops, BIG_LOOPS);
    last = &profile->loops[profile->loop_count - 1];
    assert_true(last->thread > 4 && last->thread < BIG_THREADS - 4);
    assert_int_equal(last->thread_count, BIG_THREADS - last->thread);
    assert_int_equal(last->accesses, BIG_THREADS - last->thread);
    assert_int_equal(totals.parts, BIG_LOOPS * (last->thread + 1));
    assert_string_equal(text, other);
    free(text);
    free(other);
    psnap_profile_free(profile);
}

/* A thread alone has a part, too; a stream without accesses has none. */
/* In a program of very many loops the tables of parts are what takes memory: 2 MiB each. */
static void wide_program(void **state)
{
    enum { LOOPS = 1 << 18 };
    struct psnap_program *program = make_program();
    struct psnap_access accesses[PSNAP_PARTS_MAX];
    const struct psnap_profile_loop *last;
    struct psnap_profile *profile;

    (void)state;
    while (program->loop_count < LOOPS) {
        struct psnap_loop loop = program->loops[0];
        char id[32];
        snprintf(id, sizeof id, "g:%u", (unsigned)program->loop_count);
        loop.id = loop.src_id = psnap_program_string(program, id);
        loop.header = PSNAP_NONE;
        psnap_program_add_loop(program, &loop);
    }
    for (uint16_t i = 0; i < PSNAP_PARTS_MAX; i++)
        accesses[i] = access_of(1, HEAP, i);
    profile = build(program, accesses, PSNAP_PARTS_MAX, true);
    last = &profile->loops[profile->loop_count - 1];
    assert_true(last->thread > 6 && last->thread <= 12);
    assert_int_equal(last->thread_count, PSNAP_PARTS_MAX - last->thread);
    psnap_profile_free(profile);
    psnap_program_free(program);
}

static void few_threads(void **state)
{
    struct psnap_program *program = make_program();
    const struct psnap_access access = access_of(1, HEAP, 7);
    struct psnap_profile *one = build(program, &access, 1, true);
    struct psnap_profile *none = build(program, NULL, 0, true);
    struct psnap_error error;
    struct psnap_source *source;
    struct psnap_access block[2];
    char *text = write_text(none);
    struct psnap_profile *back = read_text(text, &error);

    (void)state;
    assert_int_equal(one->loop_count, 3); /* f, f:1 and the part */
    assert_string_equal(one->loops[2].id, "f:1.t7");
    source = psnap_replay_new(one, 0, NULL);
    assert_int_equal(psnap_source_next(source, block, 2, NULL), 1);
    assert_int_equal(block->thread, 7);
    psnap_source_free(source);
    assert_int_equal(none->loop_count, 0);
    assert_non_null(back);
    source = psnap_replay_new(back, 0, NULL);
    assert_int_equal(psnap_source_next(source, block, 2, NULL), 0);
    psnap_source_free(source);
    psnap_profile_free(one);
    psnap_profile_free(none);
    psnap_profile_free(back);
    psnap_program_free(program);
    free(text);
}

static const struct {
    const char *from, *to;
    unsigned src_line;
    const char *message;
} mistakes[] = {
    {"thread: apart", "thread: part", 2, "'thread' must be all (threads are merged) or apart"},
    {"thread: apart", "thread: all", 19, "threads are merged here, but this is a thread's part"},
    {"  part_of: f:1\n  thread: 1\n", "", 39, "threads are apart here"},
    {"  part_of: f:1\n  thread: 0\n", "  thread: 0\n", 17, "the key 'part_of' is missing"},
    {"  part_of: f:1\n  thread: 0\n", "  part_of: f:2\n  thread: 0\n", 18,
     "there is no loop 'f:2'"},
    {"  part_of: f:1\n  thread: 0\n", "  part_of: f:1.t1\n  thread: 0\n", 18,
     "'f:1.t1' (line 32) is a thread's part itself"},
    {"thread: 0\n", "thread: 65536\n", 19, "'thread' must be a whole number from 0 to 65535"},
    {"thread: 0\n", "thread: 0\n  threads: 0\n", 20, "'threads' must be a whole number from 1"},
    {"thread: 0\n", "thread: 0\n  threads: 3\n", 35,
     "thread 1 has a part of its own, but line 20 says that those from 0 on share one"},
    {"thread: 1\n", "thread: 1\n  threads: 2\n", 58,
     "thread 1 has a part of its own, but line 35 says that those from 1 on share one"},
    {"  nest: {depth: 0}\n", "  nest: {depth: 0}\n  threads: 2\n", 11,
     "'threads' goes with 'thread'"},
    {"- id: f:1.rest\n  part_of: f:1\n  function: f\n  source: f.c:1\n"
     "  nest: {depth: 1, parent: f}",
     "- id: f:1.rest\n  part_of: f:1\n  function: f\n  source: f.c:1\n"
     "  nest: {depth: 2, parent: 'f:1.t0'}",
     52, "'f:1.t0' (line 17) is a thread's part; 'parent' names a whole loop"},
};

static void mistakes_in_parts(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        const char *at = strstr(worked, mistakes[i].from);
        char *text = malloc(sizeof worked + strlen(mistakes[i].to));
        struct psnap_profile *profile;
        struct psnap_error error;
        assert_non_null(at);
        sprintf(text, "%.*s%s%s", (int)(at - worked), worked, mistakes[i].to,
                at + strlen(mistakes[i].from));
        profile = read_text(text, &error);
        if (profile)
            fail_msg("'%s' was taken", mistakes[i].to);
        if (!strstr(error.message, mistakes[i].message) || error.src_line != mistakes[i].src_line)
            fail_msg("'%s': got %u: %s", mistakes[i].to, (unsigned)error.src_line, error.message);
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hand_worked),       cmocka_unit_test(hand_worked_replay),
        cmocka_unit_test(mixed_schedule),    cmocka_unit_test(many_threads),
        cmocka_unit_test(big_parts),         cmocka_unit_test(few_threads),
        cmocka_unit_test(mistakes_in_parts), cmocka_unit_test(wide_program)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
