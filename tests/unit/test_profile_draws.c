/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is drawn in nests (profile/walks/nests.h): loops at random addresses, numbers of iterations
 * and chains have the models that they were made by, and loops in no order are a mix.
 */
#include "profile/edit/edit.h"
#include "tests/unit/test_nests_support.h"

/* A loop over random addresses within a nest of plain ones: it is drawn, they are walked. */
static void test_gather(void **state)
{
    struct psnap_program *program = make_program(LOOPS, REFS);
    struct stream stream = new_stream();
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
    assert_drawn(program, &stream, profile, 2 * REFS);
}

/* Rows of a sparse matrix: lengths are drawn, entries follow each other, columns are drawn, and
 * what is added to goes along with what was read. */
static void test_rows(void **state)
{
    struct psnap_program *program = make_program(LOOPS, REFS);
    struct stream stream = new_stream();
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
    assert_drawn(program, &stream, profile, REFS);
}

/* Chains of a hash table: where a chain begins is drawn for itself, each of its nodes gives where
 * the next one is read, and chains of no node make the order of loops a mix. */
static void test_chains(void **state)
{
    struct psnap_program *program = make_program(LOOPS, REFS);
    struct stream stream = new_stream();
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
    assert_drawn(program, &stream, profile, 0);
}

/* A hash table with open addressing: a probe goes on from where the head lay, or from the last one,
 * over short leaves and long ones. */
static void test_probes(void **state)
{
    struct psnap_program *program = make_program(LOOPS, REFS);
    struct stream stream = new_stream();
    const struct nest_models *models;
    struct psnap_profile *profile;
    bool is_any = false;
    struct psnap_rng rng;

    (void)state;
    psnap_rng_init(&rng, 5);
    for (uint64_t i = 0; stream.count + 400 < ACCESSES; i++) {
        uint64_t slot = HEAP + (8 << 20) + 16 * psnap_rng_below(&rng, 1 << 16);
        const bool is_long = psnap_rng_below(&rng, 50) == 0;
        add(&stream, 0, HEAP + 8 * i);
        add(&stream, 1, slot);
        for (uint64_t n = psnap_rng_below(&rng, is_long ? 300 : 4); n; n--) {
            add(&stream, REFS, slot += 16);
            add(&stream, REFS + 1, slot + (psnap_rng_below(&rng, 2) ? 4 : 8));
        }
        add(&stream, 2 * REFS, slot + 8);
    }
    profile = profile_of(program, &stream);
    assert_non_null(profile->nests);
    models = profile->nests->models;
    for (uint32_t i = 0; i < models->draw_count; i++)
        is_any |= models->draws[i].rest.after_count == 2;
    assert_true(is_any);
    assert_drawn(program, &stream, profile, 0);
}

/* Loops that follow each other at random are a mix. */
static void test_no_order(void **state)
{
    struct psnap_program *program = make_program(LOOPS, REFS);
    struct stream stream = new_stream();
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
    assert_drawn(program, &stream, profile, 0);
}

/* Visits of a mix and another loop in turn, whose iterations are now and then one more: so it joins
 * the mix, while a token of that is under way, and gives it all that it had. */
static void test_joining(void **state)
{
    enum { MANY = 600000 };
    struct psnap_program *program = make_program(LOOPS, REFS);
    struct stream stream = {calloc(MANY, sizeof *stream.accesses), 0};
    struct psnap_profile *profile;
    struct psnap_rng rng;

    (void)state;
    assert_non_null(stream.accesses);
    psnap_rng_init(&rng, 7);
    while (stream.count + 100 < MANY) {
        const bool is_later = stream.count > MANY / 3;
        for (uint64_t n = 1 + psnap_rng_below(&rng, 4); n; n--)
            add_to(&stream, MANY, 3 * REFS + REFS * (uint32_t)psnap_rng_below(&rng, 4),
                   HEAP + 8 * psnap_rng_below(&rng, 1 << 20));
        for (uint64_t n = is_later ? 1 + !psnap_rng_below(&rng, 6) : 0; n; n--)
            add_to(&stream, MANY, 2 * REFS, HEAP);
    }
    profile = profile_of(program, &stream);
    assert_non_null(profile->nests);
    assert_drawn(program, &stream, profile, 0);
}

/* A vector's lanes are stored each by itself, or not: iterations are of more kinds than a mix may
 * have, so that their blocks are its states. Of each reference there are as many accesses. */
static void test_blocks(void **state)
{
    enum { WIDTH = 12, ITERATIONS = 5000 };
    struct psnap_program *program = make_program(1, WIDTH);
    struct stream stream = {calloc((size_t)WIDTH * ITERATIONS, sizeof *stream.accesses), 0};
    uint64_t counts[WIDTH] = {0};
    uint32_t first = PSNAP_NONE;
    struct psnap_access block[64];
    struct psnap_profile *profile;
    struct psnap_source *source;
    struct psnap_rng rng;
    ssize_t got;

    (void)state;
    assert_non_null(stream.accesses);
    psnap_rng_init(&rng, 5);
    for (uint32_t k = 1; k < WIDTH; k++) {
        const struct psnap_block of = {.loop = 0};
        program->refs[k].block = psnap_program_add_block(program, &of);
    }
    for (uint64_t i = 0; i < ITERATIONS; i++)
        for (uint32_t k = 0; k < WIDTH; k++)
            if (!k || psnap_rng_below(&rng, 2)) {
                add_to(&stream, (size_t)WIDTH * ITERATIONS, k, HEAP + 16 * i + k);
                counts[k]++;
            }
    profile = profile_of(program, &stream);
    assert_non_null(profile->nests);
    assert_int_equal(profile->nests->models->mix_count, 1);
    assert_in_range(profile->nests->models->mixes[0].chain->state_count, WIDTH, 64);
    source = psnap_replay_new(profile, 3, NULL);
    assert_non_null(source);
    while ((got = psnap_source_next(source, block, 64, NULL)) > 0)
        for (ssize_t i = 0; i < got; i++) {
            first = first == PSNAP_NONE ? block[i].ref : first; /* that of the first access */
            assert_in_range(block[i].ref - first, 0, WIDTH - 1);
            counts[block[i].ref - first]--;
        }
    for (uint32_t k = 0; k < WIDTH; k++)
        assert_int_equal(counts[k], 0);
    psnap_source_free(source);
    assert_is_its_walks(profile, 3);
    assert_is_its_text(profile);
    psnap_profile_free(profile);
    free(stream.accesses);
    psnap_program_free(program);
}

enum { HEAP_SIZE = 1 << 14, HEAP_REPLAYED = 1 << 20 };

/* Of addresses in a heap, how many are no child of the element before, or of where the path begins
 * (told affinely): 2 i + 1 or 2 i + 2. `first` is the reference that the path begins with. */
static uint32_t count_strangers(struct psnap_profile *profile, uint64_t *count)
{
    struct psnap_source *source = psnap_replay_new(profile, 3, NULL);
    uint32_t first = PSNAP_NONE, strangers = 0;
    struct psnap_access block[64];
    uint64_t from = 0;
    ssize_t got;

    assert_non_null(source);
    *count = 0;
    while ((got = psnap_source_next(source, block, 64, NULL)) > 0)
        for (ssize_t i = 0; i < got; i++) {
            const uint64_t at = (block[i].address - HEAP) / 8;
            first = first == PSNAP_NONE ? block[i].ref : first;
            assert_in_range(block[i].address, HEAP, HEAP + 8 * HEAP_SIZE);
            if (block[i].ref != first) {
                strangers += at != 2 * from + 1 && at != 2 * from + 2;
                ++*count;
            }
            from = at;
        }
    psnap_source_free(source);
    return strangers;
}

/* The profile as it is read, with its array named, and edited. */
static struct psnap_profile *edited(const struct psnap_profile *profile,
                                    const struct psnap_edit *edit, struct psnap_error *error)
{
    char *text = write_text(profile);
    struct psnap_profile *made = read_text(text);
    uint32_t loop, region;

    free(text);
    for (uint32_t i = 0; i < made->loop_count; i++)
        for (uint32_t k = 0; k < made->loops[i].region_count; k++)
            made->loops[i].regions[k].object = "heap";
    if (!psnap_profile_edit(made, edit, &loop, &region, error))
        return made;
    psnap_profile_free(made);
    return NULL;
}

/* Twice the array, further up, is the same paths with all addresses so. */
static void assert_edits(const struct psnap_profile *profile)
{
    static const char *const heap[] = {"heap"};
    const struct psnap_edit edits[] = {
        {PSNAP_EDIT_SPAN, .regions = heap, .region_count = 1, .times = 2, .over = 1},
        {PSNAP_EDIT_MOVE, .regions = heap, .region_count = 1, .bytes = 640}};
    const struct psnap_edit remove = {PSNAP_EDIT_REMOVE, .loop = "f:0"};
    struct psnap_error error = {0};

    for (int i = 0; i < 2; i++) {
        struct psnap_profile *other = edited(profile, &edits[i], &error);
        struct psnap_source *sources[2] = {psnap_replay_new(profile, 5, NULL),
                                           psnap_replay_new(other, 5, NULL)};
        struct psnap_access blocks[2][64];
        ssize_t got;
        assert_true(sources[0] && sources[1]);
        while ((got = psnap_source_next(sources[0], blocks[0], 64, NULL)) > 0) {
            assert_int_equal(psnap_source_next(sources[1], blocks[1], 64, NULL), got);
            for (ssize_t k = 0; k < got; k++)
                assert_int_equal(blocks[1][k].address,
                                 i ? blocks[0][k].address + 640
                                   : HEAP + 2 * (blocks[0][k].address - HEAP));
        }
        psnap_source_free(sources[0]);
        psnap_source_free(sources[1]);
        psnap_profile_free(other);
    }
    assert_null(edited(profile, &remove, &error));
    assert_error_says(&error, "goes with a reference (d2) that is not there any more");
}

static void assert_refuses(const struct psnap_profile *profile)
{
    char *text = write_text(profile);

    assert_refused(text, "loop: 'f:0', ref: 0}", "loop: 'f:0', ref: 3}",
                   "loop 'f:0' has no reference 3 in the schedule");
    assert_refused(text, "draw: d1}", "draw: d2}", "it has an address for others to go with");
    assert_refused(text, "scale: 2", "scale: 65", "65");
    assert_refused(text, "{with: d2, ", "{with: d2, back: 1, ", "has 'back' or 'with', not both");
    assert_refused(text, "{with: d2, ", "{with: d1, ", "goes with a draw that is not there, or");
    assert_refused(text, "within: {", "without: {", "without");
    free(text);
}

/* Paths down a heap, from elements that follow each other on, to either child by chance: what is
 * drawn begins with the child of where the other reference, which is not drawn, just was. Where it
 * depends on the element which child comes, all paths are not alike, and it is not told so. */
static void test_heap(void **state)
{
    (void)state;
    for (int is_uneven = 0; is_uneven < 2; is_uneven++) {
        struct psnap_program *program = make_program(LOOPS, REFS);
        struct stream stream = new_stream();
        struct psnap_profile *profile;
        bool is_scaled = false;
        struct psnap_rng rng;
        uint64_t count;

        psnap_rng_init(&rng, 5);
        for (uint64_t i = 0; stream.count + 20 < ACCESSES; i++) {
            uint64_t at = i % 500;
            add(&stream, 0, HEAP + 8 * at);
            for (uint64_t n = 1 + psnap_rng_below(&rng, 5); n; n--) {
                const bool is_left = is_uneven && at % 2
                                         ? psnap_rng_below(&rng, 16)
                                         : !psnap_rng_below(&rng, is_uneven ? 16 : 2);
                at = 2 * at + 1 + !is_left;
                add(&stream, REFS, HEAP + 8 * at);
            }
        }
        profile = profile_of(program, &stream);
        assert_non_null(profile->nests);
        for (uint32_t i = 0; i < profile->nests->models->draw_count; i++) {
            const struct nest_draw *draw = &profile->nests->models->draws[i];
            is_scaled |= draw->has_entry && draw->rest.after_count == 2 &&
                         draw->rest.after[0].scale == 2 && draw->entry.after_count == 2 &&
                         draw->entry.after[0].draw;
        }
        assert_int_equal(is_scaled, !is_uneven);
        if (!is_uneven) {
            const uint64_t strangers = count_strangers(profile, &count);
            assert_in_range(strangers, 0, count / 50);
            assert_edits(profile);
            assert_refuses(profile);
        }
        assert_drawn(program, &stream, profile, 0);
    }
}

/* What follows a reference that is not drawn, in another loop, goes with that: the first address of
 * an inner loop that ends as the data has it. */
static void test_lead(void **state)
{
    struct psnap_program *program = make_program(LOOPS, REFS);
    struct stream stream = new_stream();
    const struct nest_draw *inner = NULL, *lead = NULL;
    struct psnap_profile *profile;
    struct psnap_rng rng;

    (void)state;
    psnap_rng_init(&rng, 5);
    for (uint64_t i = 0; stream.count + 20 < ACCESSES; i++) {
        const uint64_t place = 3 * i % 9973;
        add(&stream, 0, HEAP + 8 * place + 400);
        add(&stream, 1, HEAP + (1 << 20) + 8 * i);
        for (uint64_t n = 0, many = 1 + psnap_rng_below(&rng, 6); n < many; n++)
            add(&stream, REFS, HEAP + 8 * place + 392 - 8 * (n ? psnap_rng_below(&rng, 40) : 0));
    }
    profile = profile_of(program, &stream);
    assert_non_null(profile->nests);
    for (uint32_t i = 0; i < profile->nests->models->draw_count; i++) {
        const struct nest_draw *draw = &profile->nests->models->draws[i];
        const uint32_t with = draw->has_entry ? draw->entry.with : draw->rest.with;
        if (with != PSNAP_NONE && profile->nests->models->draws[with].leads[0]) {
            inner = draw;
            lead = &profile->nests->models->draws[with];
        }
    }
    assert_non_null(inner);
    assert_int_equal((inner->has_entry ? inner->entry : inner->rest).offset, (uint64_t)-8);
    assert_int_equal(lead->leads[0], 1);
    assert_drawn(program, &stream, profile, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gather),  cmocka_unit_test(test_rows),
        cmocka_unit_test(test_chains),  cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_probes),  cmocka_unit_test(test_no_order),
        cmocka_unit_test(test_joining), cmocka_unit_test(test_heap),
        cmocka_unit_test(test_lead),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
