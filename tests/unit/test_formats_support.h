/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared by the tests of formats/: inputs in memory that arrive in pieces,
 * random programs and streams, and comparison of what came back.
 */
#ifndef PSNAP_TEST_FORMATS_SUPPORT_H
#define PSNAP_TEST_FORMATS_SUPPORT_H

#include "tests/unit/test.h"

#include "formats/base/rng.h"
#include "formats/formats.h"
#include "formats/trace.h"

/* An input in memory that gives at most `piece` bytes at a time and fails at `fail_at`. */
struct memory_input {
    const void *data;
    size_t size, at, piece;
};

static inline ssize_t memory_read(void *context, void *buffer, size_t n)
{
    struct memory_input *input = context;
    const size_t left = input->size - input->at;

    if (n > input->piece)
        n = input->piece;
    if (n > left)
        n = left;
    if (n > 0)
        memcpy(buffer, (const char *)input->data + input->at, n);
    input->at += n;
    return (ssize_t)n;
}

/* Opens the trace of `size` bytes at `data`; both and `input` must outlive the source. */
static inline struct psnap_source *open_memory(struct memory_input *input, const void *data,
                                               size_t size, size_t piece, const char *format,
                                               struct psnap_error *error)
{
    struct psnap_reader *reader;

    *input = (struct memory_input){data, size, 0, piece};
    reader = psnap_reader_new(memory_read, NULL, input, "memory", error);
    assert_non_null(reader);
    return psnap_trace_open_reader(reader, format, error);
}

/* Reads a source to its end or error; *status tells which. The array is the caller's. */
static inline struct psnap_access *read_all(struct psnap_source *source, size_t *n,
                                            enum psnap_status *status, struct psnap_error *error)
{
    size_t room = 0;
    struct psnap_access *all = NULL;

    *n = 0;
    for (;;) {
        const size_t capacity = 1 + (*n * 7 + 3) % 5000; /* blocks of all lengths */
        ssize_t got;

        if (room - *n < capacity) {
            room = room * 2 + capacity;
            all = realloc(all, room * sizeof *all);
            assert_non_null(all);
        }
        got = psnap_source_next(source, all + *n, capacity, error);
        *status = got < 0 ? (enum psnap_status)got : PSNAP_OK;
        if (got <= 0)
            return all;
        *n += (size_t)got;
    }
}

/* Puts the last accesses, ends the trace, and closes its file. */
static inline void end_trace(struct psnap_sink *sink, const struct psnap_access *accesses, size_t n,
                             FILE *file)
{
    struct psnap_error error;

    if (n)
        assert_int_equal(psnap_sink_put(sink, accesses, n, &error), PSNAP_OK);
    assert_int_equal(psnap_sink_finish(sink, &error), PSNAP_OK);
    psnap_sink_free(sink);
    fclose(file);
}

static inline void assert_same_accesses(const struct psnap_access *a, size_t a_count,
                                        const struct psnap_access *b, size_t b_count)
{
    assert_int_equal(a_count, b_count);
    for (size_t i = 0; i < a_count; i++)
        if (memcmp(&a[i], &b[i], sizeof a[i]) != 0)
            fail_msg("access %zu: %llx,%u,%u,%u,%u and %llx,%u,%u,%u,%u", i,
                     (unsigned long long)a[i].address, a[i].ref, a[i].size, a[i].kind, a[i].thread,
                     (unsigned long long)b[i].address, b[i].ref, b[i].size, b[i].kind, b[i].thread);
}

static inline void assert_same_text(const char *a, const char *b)
{
    if (a && b)
        assert_string_equal(a, b);
    else
        assert_true(a == b);
}

static inline void assert_same_program(const struct psnap_program *a, const struct psnap_program *b)
{
    const char *const *x = a->provenance.command, *const *y = b->provenance.command;

    assert_same_text(a->provenance.name, b->provenance.name);
    assert_same_text(a->provenance.build_id, b->provenance.build_id);
    assert_same_text(a->provenance.compiler, b->provenance.compiler);
    assert_same_text(a->provenance.recorded, b->provenance.recorded);
    assert_int_equal(x != NULL, y != NULL);
    for (; x && *x; x++, y++)
        assert_same_text(*x, *y);
    assert_true(!y || !*y);
    assert_int_equal(a->loop_count, b->loop_count);
    assert_int_equal(a->block_count, b->block_count);
    assert_int_equal(a->ref_count, b->ref_count);
    assert_int_equal(a->object_count, b->object_count);
    for (uint32_t i = 0; i < a->loop_count; i++) {
        const struct psnap_loop *p = &a->loops[i], *q = &b->loops[i];
        assert_same_text(p->id, q->id);
        assert_same_text(p->src_id, q->src_id);
        assert_same_text(p->function, q->function);
        assert_same_text(p->file, q->file);
        assert_true(p->src_line == q->src_line && p->depth == q->depth);
        assert_true(p->parent == q->parent && p->header == q->header && p->entry == q->entry);
    }
    for (uint32_t i = 0; i < a->block_count; i++) {
        const struct psnap_block *p = &a->blocks[i], *q = &b->blocks[i];
        assert_true(p->loop == q->loop && p->src_line == q->src_line);
        assert_memory_equal(p->operations, q->operations, sizeof p->operations);
        assert_true(p->executions == q->executions);
    }
    for (uint32_t i = 0; i < a->ref_count; i++) {
        const struct psnap_ref *p = &a->refs[i], *q = &b->refs[i];
        assert_same_text(p->object, q->object);
        assert_true(p->block == q->block && p->loop == q->loop && p->src_line == q->src_line);
        assert_true(p->kind == q->kind && p->size == q->size);
        assert_true(p->object_kind == q->object_kind);
    }
    for (uint32_t i = 0; i < a->object_count; i++) {
        const struct psnap_object *p = &a->objects[i], *q = &b->objects[i];
        assert_same_text(p->name, q->name);
        assert_true(p->address == q->address && p->size_bytes == q->size_bytes);
        assert_true(p->kind == q->kind);
    }
}

/* Adds a loop with a block and some refs of random kinds and sizes. */
static inline void grow_program(struct psnap_program *program, struct psnap_rng *rng)
{
    char text[64];
    const uint32_t number = program->loop_count;
    struct psnap_loop loop = {.file = "a.c", .src_line = number * 3, .parent = PSNAP_NONE};
    struct psnap_block block = {.loop = number, .src_line = number * 3 + 1};

    snprintf(text, sizeof text, "f%u:%u", number / 3, number);
    loop.id = loop.src_id = psnap_program_string(program, text);
    loop.function = psnap_program_string(program, "f\xc3\xa9<int, 2>");
    loop.depth = number % 3;
    if (loop.depth)
        loop.parent = number - 1;
    loop.header = number; /* the block added next */
    loop.entry = psnap_rng_below(rng, 2) ? number / 2 : PSNAP_NONE;
    assert_int_equal(psnap_program_add_loop(program, &loop), number);
    for (int i = 0; i < 11; i++) /* not PSNAP_OPERATION_COUNT: golden files depend on it */
        block.operations[i] = (uint16_t)psnap_rng_below(rng, 70000);
    block.executions = psnap_rng_next(rng);
    assert_int_equal(psnap_program_add_block(program, &block), number);
    for (uint64_t i = 1 + psnap_rng_below(rng, 6); i > 0; i--) {
        struct psnap_ref ref = {.block = number, .loop = number};
        ref.src_line = (uint32_t)psnap_rng_next(rng);
        ref.object = i == 1 ? NULL : psnap_program_string(program, i == 2 ? "" : text);
        ref.object_kind = (uint8_t)psnap_rng_below(rng, 3);
        ref.kind = (uint8_t)psnap_rng_below(rng, 3);
        ref.size = (uint8_t)psnap_rng_below(rng, 65);
        assert_int_not_equal(psnap_program_add_ref(program, &ref), PSNAP_NONE);
    }
}

static inline void announce_object(struct psnap_program *program, struct psnap_rng *rng)
{
    struct psnap_object object = {.address = psnap_rng_next(rng)};
    char text[64];

    snprintf(text, sizeof text, "main a.c:%u", program->object_count);
    object.name = psnap_program_string(program, text);
    object.size_bytes = psnap_rng_below(rng, 1 << 20);
    object.kind = (uint8_t)psnap_rng_below(rng, 3);
    assert_int_not_equal(psnap_program_add_object(program, &object), PSNAP_NONE);
}

static inline struct psnap_program *random_program(struct psnap_rng *rng)
{
    static const char *const command[] = {"./cg", "", "--size=3", NULL};
    struct psnap_program *program = psnap_program_new();

    assert_non_null(program);
    program->provenance.name = "cg";
    program->provenance.build_id = "5a1f";
    program->provenance.recorded = "2026-11-20T10:11:12Z";
    assert_int_equal(psnap_program_set_command(program, command), PSNAP_OK);
    grow_program(program, rng);
    return program;
}

/* Accesses of every sort: walks, gathers, repeated and wild ones, many sizes and threads. */
static inline void random_accesses(const struct psnap_program *program, struct psnap_rng *rng,
                                   struct psnap_access *accesses, size_t n)
{
    uint64_t at[64];

    for (size_t i = 0; i < 64; i++) { /* two statements: their order is what golden files have */
        at[i] = psnap_rng_next(rng);
        at[i] >>= psnap_rng_below(rng, 60);
    }
    for (size_t i = 0; i < n;) {
        const uint32_t ref = (uint32_t)psnap_rng_below(rng, program->ref_count);
        const uint32_t refs = 1 + (uint32_t)psnap_rng_below(rng, program->ref_count - ref);
        const uint64_t length = 1 + psnap_rng_below(rng, 100), sort = psnap_rng_below(rng, 8);
        const uint16_t thread =
            (uint16_t)(psnap_rng_below(rng, 4) ? 0 : psnap_rng_below(rng, 65536));

        for (uint64_t j = 0; j < length && i < n; j++, i++) {
            const uint32_t r = ref + (uint32_t)(j % refs);
            uint64_t *address = &at[r % 64];

            if (sort < 4)
                *address += 8 * (sort + 1);
            else if (sort < 6)
                *address = UINT64_C(0x20000000000) + 8 * psnap_rng_below(rng, 10000);
            else if (sort == 6)
                *address = psnap_rng_next(rng);
            accesses[i].address = *address;
            accesses[i].ref = r;
            accesses[i].size =
                program->refs[r].size ? program->refs[r].size : (uint8_t)(1 + i * 7 % 64);
            accesses[i].kind = sort == 7 ? (uint8_t)(i % 3) : program->refs[r].kind;
            accesses[i].thread = thread;
        }
    }
}

#endif
