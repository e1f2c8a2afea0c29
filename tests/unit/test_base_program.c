/* SPDX-License-Identifier: BSD-3-Clause */
/* The arena, and the tables of a program that live on it. */
#include "formats/base/access.h"
#include "formats/base/arena.h"
#include "formats/base/program.h"
#include "formats/base/rng.h"
#include "tests/unit/test.h"

TEST(arena_hands_out_disjoint_zeroed_memory)
{
    enum { N = 2000 };
    static struct {
        unsigned char *memory;
        size_t size;
    } pieces[N];
    struct psnap_arena *arena = psnap_arena_new();
    struct psnap_rng rng;

    psnap_rng_init(&rng, 3);
    for (size_t i = 0; i < N; i++) {
        const size_t size = psnap_rng_below(&rng, i % 50 ? 100 : 100000);
        unsigned char *memory = psnap_arena_alloc(arena, size);
        assert_non_null(memory);
        assert_int_equal((uintptr_t)memory % sizeof(max_align_t) % 16, 0);
        for (size_t j = 0; j < size; j++)
            assert_int_equal(memory[j], 0);
        memset(memory, (int)(i & 0xff), size); /* later zeros would show an overlap */
        pieces[i].memory = memory;
        pieces[i].size = size;
    }
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j < pieces[i].size; j++)
            assert_int_equal(pieces[i].memory[j], i & 0xff);
    psnap_arena_free(arena);
    psnap_arena_free(NULL);
}

TEST(arena_refuses_what_cannot_be)
{
    struct psnap_arena *arena = psnap_arena_new();

    assert_null(psnap_arena_alloc(arena, SIZE_MAX));
    assert_null(psnap_arena_alloc(arena, SIZE_MAX / 2 - 64));
    assert_null(psnap_arena_strndup(arena, "x", SIZE_MAX));
    assert_string_equal(psnap_arena_strndup(arena, "abcdef", 3), "abc");
    assert_string_equal(psnap_arena_strndup(arena, NULL, 0), "");
    psnap_arena_free(arena);
}

TEST(tables_grow_and_keep_their_rows)
{
    enum { N = 5000 };
    struct psnap_program *program = psnap_program_new();
    char id[32];

    assert_non_null(program);
    assert_string_equal(program->provenance.build_id, "");
    assert_null(program->provenance.command);
    for (uint32_t i = 0; i < N; i++) {
        struct psnap_loop loop = {.src_line = i, .parent = PSNAP_NONE};
        const struct psnap_block block = {.loop = i, .executions = i * 3u};
        const struct psnap_ref ref = {.block = i, .loop = i, .size = 8};
        const struct psnap_object object = {.address = i * 16u, .size_bytes = 16, .name = "o"};
        snprintf(id, sizeof id, "f:%u", (unsigned)i);
        loop.id = psnap_program_string(program, id);
        assert_int_equal(psnap_program_add_loop(program, &loop), i);
        assert_int_equal(psnap_program_add_block(program, &block), i);
        assert_int_equal(psnap_program_add_ref(program, &ref), i);
        assert_int_equal(psnap_program_add_object(program, &object), i);
    }
    assert_int_equal(program->loop_count, N);
    for (uint32_t i = 0; i < N; i++) {
        snprintf(id, sizeof id, "f:%u", (unsigned)i);
        assert_string_equal(program->loops[i].id, id);
        assert_int_equal(program->blocks[i].executions, i * 3u);
        assert_int_equal(program->refs[i].block, i);
        assert_int_equal(program->objects[i].address, i * 16u);
    }
    psnap_program_free(program);
    psnap_program_free(NULL);
}

TEST(strings_and_command_are_copies)
{
    struct psnap_program *program = psnap_program_new();
    char text[] = "name", argument[] = "-x";
    const char *argv[] = {text, argument, NULL};
    const char *copy = psnap_program_string(program, text);

    assert_string_equal(psnap_program_string(program, NULL), "");
    assert_int_equal(psnap_program_set_command(program, argv), PSNAP_OK);
    text[0] = argument[0] = '!';
    assert_string_equal(copy, "name");
    assert_string_equal(program->provenance.command[0], "name");
    assert_string_equal(program->provenance.command[1], "-x");
    assert_null(program->provenance.command[2]);
    psnap_program_free(program);
}

TEST(anonymous_program_has_a_load_and_a_store)
{
    struct psnap_program *program = psnap_program_new();

    assert_int_equal(psnap_program_add_anonymous(program, "trace"), PSNAP_OK);
    assert_int_equal(program->loop_count, 1);
    assert_int_equal(program->block_count, 1);
    assert_int_equal(program->ref_count, 2);
    assert_string_equal(program->loops[0].id, "trace");
    assert_string_equal(program->loops[0].src_id, "trace");
    assert_int_equal(program->loops[0].depth, 0);
    assert_int_equal(program->loops[0].parent, PSNAP_NONE);
    assert_int_equal(program->refs[0].kind, PSNAP_LOAD);
    assert_int_equal(program->refs[1].kind, PSNAP_STORE);
    assert_int_equal(psnap_program_add_anonymous(program, "again"), PSNAP_OK);
    assert_int_equal(program->ref_count, 2);
    psnap_program_free(program);
}

TEST(latest_object_wins)
{
    struct psnap_program *program = psnap_program_new();
    const struct psnap_object objects[] = {{100, 100, "old", PSNAP_OBJECT_ALLOCATION},
                                           {150, 10, "new", PSNAP_OBJECT_ALLOCATION},
                                           {UINT64_MAX - 4, 5, "last", PSNAP_OBJECT_GLOBAL},
                                           {500, 0, "nothing", PSNAP_OBJECT_GLOBAL}};

    for (size_t i = 0; i < 4; i++)
        psnap_program_add_object(program, &objects[i]);
    assert_string_equal(psnap_program_find_object(program, 100)->name, "old");
    assert_string_equal(psnap_program_find_object(program, 149)->name, "old");
    assert_string_equal(psnap_program_find_object(program, 150)->name, "new");
    assert_string_equal(psnap_program_find_object(program, 159)->name, "new");
    assert_string_equal(psnap_program_find_object(program, 160)->name, "old");
    assert_string_equal(psnap_program_find_object(program, UINT64_MAX)->name, "last");
    assert_null(psnap_program_find_object(program, 99));
    assert_null(psnap_program_find_object(program, 200));
    assert_null(psnap_program_find_object(program, 500));
    psnap_program_free(program);
}

TEST(operations_have_distinct_names)
{
    assert_string_equal(psnap_operation_name(PSNAP_OP_FP_MUL), "fp_mul");
    for (int i = 0; i < PSNAP_OPERATION_COUNT; i++)
        for (int j = 0; j < i; j++)
            assert_string_not_equal(psnap_operation_name((enum psnap_capture_operation)i),
                                    psnap_operation_name((enum psnap_capture_operation)j));
}
