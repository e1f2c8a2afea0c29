/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Edits (profile/edit/edit.h) of either model, against a program that does what the question asks:
 * the replayed stream of the edited profile is that of the program with the other array, stride or
 * number of iterations, access for access.
 */
#include "profile/edit/edit.h"
#include "tests/unit/test_edit_support.h"

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
                    for (uint64_t u = 0; u < 2; u++) {
                        add(stream, REFS + (uint32_t)u * 2,
                            n->a + r * n->row_a + (i + u) * n->stride_a);
                        add(stream, REFS + (uint32_t)u * 2 + 1, n->b + (i + u) * n->stride_b);
                        stream->accesses[stream->count - 1].kind = PSNAP_STORE;
                    }
            add(stream, 0, n->s);
        }
        for (uint64_t i = 0; i < n->m && n->has_last_loop; i++)
            add(stream, 2 * REFS, n->c + i * n->stride_c);
    }
    add(stream, 3 * REFS, n->a);
    stream->accesses[stream->count - 1].kind = PSNAP_STORE;
}

static void name(struct psnap_profile *profile, const char *loop, uint64_t low, const char *object)
{
    for (uint32_t i = 0; i < profile->loop_count; i++)
        for (uint32_t k = 0; k < profile->loops[i].region_count; k++)
            if ((!loop || !strcmp(loop, profile->loops[i].id)) &&
                profile->loops[i].regions[k].low == low)
                profile->loops[i].regions[k].object = object;
}

/* Loops as the comment above says, arrays with their names. */
static struct psnap_profile *record(struct psnap_program *program, const struct nest *n, bool nests)
{
    static struct psnap_access accesses[ACCESSES];
    struct stream stream = {accesses, 0};
    const struct psnap_builder_options options = {.nests = nests};
    struct psnap_profile *profile;
    char *text;

    walk(n, &stream);
    program->loops[1].depth = 2;
    program->loops[1].parent = 0;
    program->loops[3].depth = 0;
    profile = build(program, stream.accesses, stream.count, &options);
    assert_int_equal(profile->loop_count, 4);
    assert_int_equal(profile->stream != NULL, nests);
    name(profile, NULL, n->a, "a");
    name(profile, NULL, n->b, "b");
    if (n->c < n->b || n->c > n->b + 64)
        name(profile, NULL, n->c, "c");
    profile->loops[1].entries = n->times * n->rounds;
    profile->loops[1].iterations = n->times * n->rounds * n->n / 2;
    profile->loops[0].entries = n->times;
    profile->loops[0].iterations = n->times * n->rounds;
    profile->loops[2].entries = n->times;
    profile->loops[2].iterations = n->times * n->m;
    text = write_text(profile);
    psnap_profile_free(profile);
    profile = read_text(text);
    free(text);
    return profile;
}

/* That the edited profile is one, and its replay what the program `after` does. */
static void assert_becomes(const struct psnap_edit *edit, const struct nest *before,
                           const struct nest *after)
{
    static struct psnap_access accesses[ACCESSES];
    struct stream stream = {accesses, 0};
    struct psnap_program *program = make_program(4, REFS);
    struct psnap_profile *profile = record(program, before, true), *again;
    struct psnap_error error = {0};
    uint32_t loop, region;
    char *text;

    if (psnap_profile_edit(profile, edit, &loop, &region, &error))
        fail_msg("%s", error.message);
    text = write_text(profile);
    again = read_text(text);
    walk(after, &stream);
    assert_replays(again, &stream, true);
    assert_replays(again, &stream, false);
    free(text);
    psnap_profile_free(again);
    psnap_profile_free(profile);
    psnap_program_free(program);
}

static void assert_fails(const struct psnap_edit *edit, const struct nest *before, bool nests,
                         const char *message)
{
    struct psnap_program *program = make_program(4, REFS);
    struct psnap_profile *profile = record(program, before, nests);
    struct psnap_error error = {0};
    uint32_t loop, region;

    assert_int_not_equal(psnap_profile_edit(profile, edit, &loop, &region, &error), PSNAP_OK);
    assert_error_says(&error, message);
    psnap_profile_free(profile);
    psnap_program_free(program);
}

static const char *const array_a[] = {"a"}, *const array_b[] = {"b"};

static void test_span(void **state)
{
    struct nest after = plain;

    (void)state;
    after.stride_a = 16; /* a: 160 bytes are 320, for which there is room */
    assert_becomes(&(struct psnap_edit){PSNAP_EDIT_SPAN, ARRAY(array_a), .times = 2, .over = 1},
                   &plain, &after);
    /* 10,240 bytes: what is behind is 10,112 higher, what they take more, in whole lines */
    after.stride_a = 512;
    move_from_b(&after, 10112);
    assert_becomes(&(struct psnap_edit){PSNAP_EDIT_SPAN, ARRAY(array_a), .times = 64, .over = 1},
                   &plain, &after);
    after = plain;
    after.stride_b = 8; /* nothing moves down */
    assert_becomes(&(struct psnap_edit){PSNAP_EDIT_SPAN, ARRAY(array_b), .times = 1, .over = 2},
                   &plain, &after);
    assert_fails(&(struct psnap_edit){PSNAP_EDIT_SPAN, ARRAY(array_b), .times = 1, .over = 3},
                 &plain, true, "in loop 'f:1' something goes on by 32 bytes, no multiple of 3");
    assert_fails(&(struct psnap_edit){PSNAP_EDIT_SPAN, ARRAY(((const char *const[]){"x"})),
                                      .times = 2, .over = 1},
                 &plain, true, "no region is in an array 'x'; those without a name");
    assert_fails(&(struct psnap_edit){PSNAP_EDIT_SPAN, LOOP("f:1", 2),
                                      ARRAY(((const char *const[]){"r11"}))},
                 &plain, true, "loop 'f:1' has no region 'r11'; did you mean 'r1'?");
}

static void test_moves(void **state)
{
    struct nest after = plain;

    (void)state;
    after.b += 128;
    assert_becomes(&(struct psnap_edit){PSNAP_EDIT_MOVE, ARRAY(array_b), .bytes = 128}, &plain,
                   &after);
    after.c += 128;
    after.s += 128;
    assert_becomes(&(struct psnap_edit){PSNAP_EDIT_PAD, ARRAY(array_b), .bytes = 128}, &plain,
                   &after);
    assert_fails(
        &(struct psnap_edit){PSNAP_EDIT_MOVE, ARRAY(array_b), .bytes = -(INT64_C(1) << 41)}, &plain,
        true, "no room for region 'r2' of loop 'f:1': not all of it would be in group 'heap'");
}

static void test_stride(void **state)
{
    struct nest before = plain, after = plain;

    (void)state;
    /* Told by the program's stride, though the loop is unrolled. */
    after.stride_a = 64;
    assert_becomes(&(struct psnap_edit){PSNAP_EDIT_STRIDE, LOOP("f:1", 1), ARRAY(array_a),
                                        .old_stride = 8, .new_stride = 64},
                   &plain, &after);
    before.row_a = 160; /* another loop's stride of the same array: rows that are one sweep */
    after = before;
    after.row_a = 320;
    assert_becomes(&(struct psnap_edit){PSNAP_EDIT_STRIDE, LOOP("f:1", 1), ARRAY(array_a),
                                        .old_stride = 160, .new_stride = 320},
                   &before, &after);
    before.row_a = 192;
    after = before;
    after.row_a = 384;
    assert_becomes(&(struct psnap_edit){PSNAP_EDIT_STRIDE, LOOP("f:1", 1), ARRAY(array_a),
                                        .old_stride = 192, .new_stride = 384},
                   &before, &after);
    assert_fails(&(struct psnap_edit){PSNAP_EDIT_STRIDE, LOOP("f:1", 1), ARRAY(array_a),
                                      .old_stride = 24, .new_stride = 64},
                 &plain, true, "no stride is 24 there, only 0, 8");
    assert_fails(&(struct psnap_edit){PSNAP_EDIT_STRIDE, LOOP("f:2", 1), ARRAY(array_a),
                                      .old_stride = 8, .new_stride = 64},
                 &plain, true, "loop 'f:2' has no region 'a'");
}

static void test_iterations(void **state)
{
    struct nest after = plain;

    (void)state;
    after.n = 60;
    assert_becomes(&(struct psnap_edit){PSNAP_EDIT_ITERATIONS, LOOP("f:1", 3)}, &plain, &after);
    after = plain;
    after.rounds = 10;
    assert_becomes(&(struct psnap_edit){PSNAP_EDIT_ITERATIONS, LOOP("f:0", 2)}, &plain, &after);
    after = plain;
    after.m = 120;
    assert_becomes(&(struct psnap_edit){PSNAP_EDIT_ITERATIONS, LOOP("f:2", 4)}, &plain, &after);
    assert_fails(&(struct psnap_edit){PSNAP_EDIT_ITERATIONS, LOOP("f:3", 4)}, &plain, true,
                 "the body of a function");
    assert_fails(&(struct psnap_edit){PSNAP_EDIT_ITERATIONS, LOOP("f:9", 4)}, &plain, true,
                 "there is no loop 'f:9'; did you mean 'f:");
}

static void test_entries(void **state)
{
    struct nest after = plain;

    (void)state;
    after.entries = 3;
    assert_becomes(&(struct psnap_edit){PSNAP_EDIT_ENTRIES, LOOP("f:1", 3)}, &plain, &after);
    after = plain;
    after.rounds *= 3; /* nothing in it changes from round to round */
    assert_becomes(&(struct psnap_edit){PSNAP_EDIT_ENTRIES, LOOP("f:0", 3)}, &plain, &after);
    assert_fails(&(struct psnap_edit){PSNAP_EDIT_REUSE, .factor = 2}, &plain, true,
                 "nothing is drawn by reuse time");
    assert_fails(&(struct psnap_edit){PSNAP_EDIT_ENTRIES, LOOP("f:1", 3)}, &plain, false,
                 "the published model is edited by its fields");
}

static void test_remove(void **state)
{
    struct nest after = plain;

    (void)state;
    after.has_inner = false;
    assert_becomes(&(struct psnap_edit){PSNAP_EDIT_REMOVE, LOOP("f:1", 1)}, &plain, &after);
    after.has_outer = false; /* with what is in it */
    assert_becomes(&(struct psnap_edit){PSNAP_EDIT_REMOVE, LOOP("f:0", 1)}, &plain, &after);
    after = plain;
    after.has_last_loop = false;
    assert_becomes(&(struct psnap_edit){PSNAP_EDIT_REMOVE, LOOP("f:2", 1)}, &plain, &after);
}

/* Elements of a and c, of 8 bytes each, one behind the other; and back. */
static void test_fields(void **state)
{
    static const char *const a_and_c[] = {"a", "c"};
    const uint64_t element[] = {8}, fields[] = {8, 8};
    struct nest before = plain, after = plain;

    (void)state;
    /* a is as long as c then: 480 bytes instead of 160 */
    after.stride_a = after.stride_c = 16;
    after.c = plain.a + 8;
    assert_becomes(&(struct psnap_edit){PSNAP_EDIT_INTERLEAVE, .regions = a_and_c,
                                        .region_count = 2, .fields = element, .field_count = 1},
                   &plain, &after);
    assert_fails(&(struct psnap_edit){PSNAP_EDIT_INTERLEAVE, .regions = a_and_c, .region_count = 2,
                                      .fields = (const uint64_t[]){4}, .field_count = 1},
                 &plain, true, "8 bytes at once at byte 0 of 'a");
    assert_fails(&(struct psnap_edit){PSNAP_EDIT_INTERLEAVE, .regions = a_and_c, .region_count = 2,
                                      .fields = (const uint64_t[]){16}, .field_count = 1},
                 &plain, true, "no multiple of 16");
    /* b has records of 16 bytes, whose second half is what c was. */
    before.n = 30;
    before.c = before.b + 8;
    before.stride_c = 16;
    after = before;
    after.c = after.b + 240; /* 30 records */
    after.stride_b = after.stride_c = 8;
    assert_becomes(
        &(struct psnap_edit){PSNAP_EDIT_SPLIT, ARRAY(array_b), .fields = fields, .field_count = 2},
        &before, &after);
    assert_fails(&(struct psnap_edit){PSNAP_EDIT_SPLIT, ARRAY(array_b),
                                      .fields = (const uint64_t[]){4, 12}, .field_count = 2},
                 &before, true, "would not lie together");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_span),    cmocka_unit_test(test_moves),
        cmocka_unit_test(test_stride),  cmocka_unit_test(test_iterations),
        cmocka_unit_test(test_entries), cmocka_unit_test(test_remove),
        cmocka_unit_test(test_fields),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
