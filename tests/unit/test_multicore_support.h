/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program with marks, and what a mimic makes of streams of it, for the tests of several cores.
 */
#ifndef PSNAP_TEST_MULTICORE_SUPPORT_H
#define PSNAP_TEST_MULTICORE_SUPPORT_H

#include "tests/unit/test.h"

#include "formats/base/access.h"
#include "formats/base/layout.h"
#include "formats/base/program.h"
#include "formats/base/rng.h"
#include "predict/predict.h"
#include "tests/unit/vectors.h"

/* References: those of marks, in this order, then FIRST and on those of accesses. */
enum {
    PARALLEL,
    PARALLEL_END,
    LOOP,
    LOOP_2, /* in chunks of 2 */
    LOOP_END,
    ITERATION,
    ITERATION_4,
    SINGLE,
    SINGLE_END,
    BARRIER,
    OTHER,  /* a second section */
    LOOP_0, /* in chunks of unknown length */
    ITERATION_0,
    FIRST,
    REFS = FIRST + 6
};

static inline struct psnap_program *program_with_marks(void)
{
    static const char *const names[FIRST] = {
        "omp.parallel",    "omp.parallel end", "omp.for static", "omp.for dynamic,2", "omp.for end",
        "omp.iteration 1", "omp.iteration 4",  "omp.single",     "omp.single end",    "omp.barrier",
        "omp.parallel",    "omp.for static,0", "omp.iteration 0"};
    static const char *const functions[] = {"main", "main.omp_outlined", "main.omp_outlined.1"};
    struct psnap_program *program = psnap_program_new();

    for (uint32_t i = 0; i < 3; i++) {
        const struct psnap_loop loop = {.id = functions[i],
                                        .src_id = functions[i],
                                        .function = functions[i],
                                        .file = "f.c",
                                        .src_line = 10 * i,
                                        .parent = PSNAP_NONE};
        psnap_program_add_loop(program, &loop);
        psnap_program_add_block(program, &(struct psnap_block){.loop = i});
    }
    for (uint32_t i = 0; i < REFS; i++) {
        const uint32_t loop = i == OTHER ? 2 : i < FIRST;
        struct psnap_ref ref = {.block = loop, .loop = loop};
        if (i < FIRST) {
            ref.object = names[i];
            ref.object_kind = PSNAP_MARK_KIND;
        }
        psnap_program_add_ref(program, &ref);
    }
    return program;
}

static inline uint64_t stack_address(uint32_t thread, int64_t offset)
{
    return psnap_layout_join((struct psnap_place){PSNAP_GROUP_STACK, thread, offset});
}

#define FRAME (-256) /* offset of the frame of sections */

static inline struct psnap_access mark(uint32_t ref)
{
    return (struct psnap_access){.address = stack_address(0, FRAME), .ref = ref, .size = 1};
}

struct list {
    struct psnap_access *items;
    size_t count, room;
};

static inline void push(struct list *list, struct psnap_access access)
{
    if (list->count == list->room) {
        list->room = list->room ? 2 * list->room : 1024;
        list->items = realloc(list->items, list->room * sizeof *list->items);
        assert_non_null(list->items);
    }
    list->items[list->count++] = access;
}

/* A stream by characters: marks, and letters that are accesses to their own code, small ones of the
 * first reference and capitals of the second. */
static inline struct list listed(const char *text)
{
    static const char marks[] = "{}[<]14()|!?0"; /* in the order of the references */
    struct list list = {0};

    for (; *text; text++) {
        const char *of = strchr(marks, *text);
        push(&list, of ? mark((uint32_t)(of - marks))
                       : (struct psnap_access){
                             .address = (uint64_t)*text, .ref = FIRST + (*text < 'a'), .size = 1});
    }
    return list;
}

static inline struct psnap_source *mimic_of(const struct list *input, struct psnap_program *program,
                                            const struct psnap_mimic_options *options)
{
    struct psnap_source *mimic =
        psnap_mimic_new(vector_source_new(input->items, input->count, program), options, NULL);

    assert_non_null(mimic);
    return mimic;
}

/* All that a source delivers, in blocks of random sizes; frees it. */
static inline struct list read_all(struct psnap_source *source)
{
    struct psnap_error error;
    struct psnap_access block[100];
    struct psnap_rng rng;
    struct list all = {0};
    ssize_t n;

    psnap_rng_init(&rng, 5);
    while ((n = psnap_source_next(source, block, 1 + psnap_rng_below(&rng, 100), &error)) > 0)
        for (ssize_t i = 0; i < n; i++)
            push(&all, block[i]);
    assert_int_equal(n, 0);
    psnap_source_free(source);
    return all;
}

/* That the list is these accesses, core and address: "0a 1b"; frees it. */
static inline void expect(struct list got, const char *text)
{
    assert_int_equal(got.count, (strlen(text) + 1) / 3);
    for (size_t i = 0; i < got.count; i++) {
        assert_int_equal(got.items[i].thread, text[3 * i] - '0');
        assert_int_equal(got.items[i].address, text[3 * i + 1]);
    }
    free(got.items);
}

#endif
