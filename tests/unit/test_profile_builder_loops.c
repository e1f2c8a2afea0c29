/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the builder says of loops and of the program, worked by hand: the order of their
 * visits, names, nests and operations; programs and streams that are not as they should be.
 */
#include "tests/unit/test_profile_support.h"

/* A schedule folds. */
TEST(test_loops_alternate)
{
    struct psnap_program *program = make_program(3, 1);
    struct psnap_access accesses[1 + 50 * 3];
    struct psnap_profile *profile;
    unsigned n = 0;

    accesses[n++] = (struct psnap_access){HEAP, 2, 8, PSNAP_STORE, 0};
    for (unsigned i = 0; i < 50; i++) {
        accesses[n++] = (struct psnap_access){HEAP + 8 * i, 0, 8, PSNAP_LOAD, 0};
        accesses[n++] = (struct psnap_access){HEAP + 8 * i, 0, 8, PSNAP_LOAD, 0};
        accesses[n++] = (struct psnap_access){HEAP + 8 * i, 1, 8, PSNAP_LOAD, 0};
    }
    profile = build(program, accesses, n, NULL);
    assert_int_equal(profile->schedule.count, 4); /* 2, 50 times (0, 1) */
    assert_int_equal(profile->schedule.items[0].what, 2);
    assert_int_equal(profile->schedule.items[1].repeat, 50);
    assert_int_equal(profile->schedule.items[1].span, 2);
    assert_int_equal(profile->schedule.items[2].what, 0);
    psnap_profile_free(profile);
    psnap_program_free(program);
}

/* A peeled part that only some entries reach, and that the first does not, changes no schedule. */
TEST(test_parts_are_one_visit)
{
    struct psnap_program *program = make_program(3, 1);
    struct psnap_access accesses[50 * 3];
    struct psnap_profile *profile;
    unsigned n = 0;

    program->loops[1].src_id = program->loops[2].src_id = "g:1"; /* in the order of the code */
    for (unsigned i = 0; i < 50; i++) {
        accesses[n++] = (struct psnap_access){HEAP, 0, 8, PSNAP_STORE, 0};
        if (i * i % 5 == 1)
            accesses[n++] = (struct psnap_access){HEAP + 8 * i, 1, 8, PSNAP_LOAD, 0};
        accesses[n++] = (struct psnap_access){HEAP + 8 * i, 2, 8, PSNAP_LOAD, 0};
    }
    profile = build(program, accesses, n, NULL);
    assert_int_equal(profile->schedule.count, 7); /* once, and 49 times: 0 and both parts */
    assert_int_equal(profile->schedule.items[3].repeat, 49);
    assert_int_equal(profile->schedule.items[3].span, 3);
    assert_int_equal(profile->schedule.items[4].what, 0);
    psnap_profile_free(profile);
    psnap_program_free(program);
}

TEST(test_names_and_nests)
{
    struct psnap_program *program = make_program(3, 1);
    struct psnap_object object = {HEAP, 4096, "main t.c:7", PSNAP_OBJECT_ALLOCATION};
    struct psnap_object global = {(UINT64_C(1) << 40), 4096, "table", PSNAP_OBJECT_GLOBAL};
    const struct psnap_access accesses[] = {{HEAP + 16, 2, 8, PSNAP_LOAD, 0},
                                            {(UINT64_C(1) << 40), 2, 8, PSNAP_LOAD, 0},
                                            {(UINT64_C(1) << 40) + 1000, 2, 8, PSNAP_LOAD, 0},
                                            {HEAP + 8192, 2, 8, PSNAP_LOAD, 0}};
    struct psnap_profile *profile;
    const struct psnap_profile_loop *loop;

    program->loops[2].parent = 1; /* 0 is unrelated and has no accesses */
    program->loops[2].depth = 2;
    program->loops[2].entry = 1;
    program->loops[2].header = 2;
    program->blocks[1].executions = 5;
    program->blocks[2].executions = 35;
    program->blocks[2].operations[PSNAP_OP_FP_MUL] = 2;
    program->blocks[2].operations[PSNAP_OP_CONVERT] = 1000000;
    assert_int_equal(psnap_program_add_object(program, &object), 0);
    assert_int_equal(psnap_program_add_object(program, &global), 1);
    profile = build(program, accesses, 4, NULL);
    assert_int_equal(profile->loop_count, 2);
    assert_string_equal(profile->loops[0].id, "f:1");
    loop = &profile->loops[1];
    assert_string_equal(loop->id, "f:2");
    assert_int_equal(loop->parent, 0);
    assert_int_equal(loop->entries, 5);
    assert_int_equal(loop->iterations, 35);
    assert_int_equal(loop->operations[PSNAP_OP_FP_MUL], 70);
    assert_int_equal(loop->operations[PSNAP_OP_CONVERT], 35000000);
    assert_int_equal(loop->region_count, 4);
    assert_string_equal(loop->regions[0].id, "r1");
    assert_string_equal(loop->regions[0].object, "main t.c:7");
    assert_string_equal(loop->regions[1].id, "table");
    assert_string_equal(loop->regions[2].id, "table.2");
    assert_string_equal(loop->regions[3].id, "r4");
    assert_null(loop->regions[3].object);
    psnap_profile_free(profile);
    psnap_program_free(program);
}

/* Rows of two objects, one behind the other, and places that are of none, all far apart: regions of
 * the published model; of nests those of the objects, and what a reference reaches. */
TEST(test_objects_of_nests)
{
    enum { ROWS = 8, ROW = 1024, PLACES = 10, PLACE = 4096, ALL = 2 * ROWS + PLACES };
    const struct psnap_object objects[] = {
        {HEAP, ROWS * ROW, "x t.c:7", PSNAP_OBJECT_ALLOCATION},
        {HEAP + ROWS * ROW, ROWS * ROW, "y t.c:8", PSNAP_OBJECT_ALLOCATION}};
    const struct psnap_builder_options nests = {.nests = true};
    struct psnap_program *program = make_program(1, 3);
    struct psnap_access accesses[ALL];
    struct psnap_profile *profile;
    const struct psnap_profile_region *regions;
    uint64_t sum = 0;

    for (uint32_t i = 0; i < 2; i++)
        assert_int_equal(psnap_program_add_object(program, &objects[i]), i);
    for (uint32_t i = 0; i < ALL; i++)
        accesses[i] = (struct psnap_access){
            .address = i < 2 * ROWS ? HEAP + i * ROW : HEAP + (1 << 20) + (i - 2 * ROWS) * PLACE,
            .ref = i < ROWS       ? 0
                   : i < 2 * ROWS ? 1
                                  : 2,
            .size = 8};
    profile = build(program, accesses, ALL, NULL);
    assert_int_equal(profile->loops[0].region_count, ALL);
    psnap_profile_free(profile);
    profile = build(program, accesses, ALL, &nests);
    assert_non_null(profile->stream);
    assert_int_equal(profile->loops[0].region_count, 3);
    regions = profile->loops[0].regions;
    for (uint32_t i = 0; i < 2; i++) {
        assert_string_equal(regions[i].object, objects[i].name);
        assert_int_equal(regions[i].low, objects[i].address);
        assert_int_equal(regions[i].bytes, (ROWS - 1) * ROW + 8);
    }
    for (uint32_t i = 0; i < profile->loops[0].region_count; i++)
        sum += regions[i].accesses;
    assert_int_equal(sum, ALL);
    psnap_profile_free(profile);
    psnap_program_free(program);
}

/* Ids that are not unique, nests that are none: still a profile that reads. */
TEST(test_odd_programs)
{
    struct psnap_program *program = make_program(4, 1);
    struct psnap_access accesses[4];
    struct psnap_profile *profile, *back;
    char *text;

    for (uint32_t i = 0; i < 4; i++) {
        accesses[i] = (struct psnap_access){HEAP + i, i, 8, PSNAP_LOAD, (uint16_t)i};
        program->loops[i].id = i == 3 ? "" : "f";
        program->loops[i].parent = (i + 1) % 4;
        program->loops[i].header = i;
        program->blocks[i].executions = UINT64_MAX;
        program->blocks[i].operations[PSNAP_OP_CALL] = UINT32_MAX;
    }
    profile = build(program, accesses, 4, NULL);
    text = write_text(profile);
    back = read_text(text);
    free(text);
    psnap_profile_free(profile);
    psnap_profile_free(back);
    psnap_program_free(program);
}

TEST(test_bad_streams)
{
    static const struct psnap_access bad[] = {{HEAP, 9, 8, PSNAP_LOAD, 0},
                                              {HEAP, 0, 0, PSNAP_LOAD, 0},
                                              {HEAP, 0, 65, PSNAP_LOAD, 0},
                                              {HEAP, 0, 8, 3, 0}};
    struct psnap_program *program = make_program(1, 1);
    struct psnap_builder_options options = {.region_gap_bytes = UINT64_MAX};
    struct psnap_error error;

    for (unsigned i = 0; i < 4; i++) {
        struct psnap_sink *builder = psnap_profile_builder_new(program, NULL, &error);
        assert_int_equal(psnap_sink_put(builder, &bad[i], 1, &error), PSNAP_ERROR_VALUE);
        assert_null(psnap_profile_builder_take(builder, &error));
        assert_int_equal(error.code, PSNAP_ERROR_USAGE);
        psnap_sink_free(builder);
    }
    assert_null(psnap_profile_builder_new(program, &options, &error));
    assert_int_equal(error.code, PSNAP_ERROR_USAGE);
    psnap_program_free(program);
}
