/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads a trace from memory to its end or error, in blocks of two lengths, by
 * runs when its size is odd, and aborts when a source breaks its promises: an invalid access, a
 * reference that the program does not have, tables that name rows there are not, an error without a
 * code.
 */
#ifndef PSNAP_FUZZ_TRACE_H
#define PSNAP_FUZZ_TRACE_H

#include "formats/trace.h"
#include "tests/fuzz/fuzz.h"
#include "tests/next_run.h"

#define FUZZ_ACCESSES_MAX 300000u /* a few bytes of .pst may stand for millions */

struct fuzz_input {
    const uint8_t *data;
    size_t size, at;
};

static inline ssize_t fuzz_read(void *context, void *buffer, size_t n)
{
    struct fuzz_input *input = context;

    if (n > input->size - input->at)
        n = input->size - input->at;
    if (n > 0)
        memcpy(buffer, input->data + input->at, n);
    input->at += n;
    return (ssize_t)n;
}

static inline void fuzz_check_program(const struct psnap_program *program)
{
    for (uint32_t i = 0; i < program->loop_count; i++) {
        const struct psnap_loop *loop = &program->loops[i];
        must(loop->id && loop->src_id && loop->function && loop->file);
        must(loop->parent == PSNAP_NONE || (loop->parent < program->loop_count &&
                                            program->loops[loop->parent].depth < loop->depth));
        must(loop->header == PSNAP_NONE || loop->header < program->block_count);
        must(loop->entry == PSNAP_NONE || loop->entry < program->block_count);
    }
    for (uint32_t i = 0; i < program->block_count; i++)
        must(program->blocks[i].loop < program->loop_count);
    for (uint32_t i = 0; i < program->ref_count; i++)
        must(program->refs[i].block < program->block_count &&
             program->refs[i].loop == program->blocks[program->refs[i].block].loop);
}

static inline void fuzz_check_accesses(const struct psnap_program *program,
                                       const struct psnap_access *accesses, size_t n)
{
    for (size_t i = 0; i < n; i++)
        must(accesses[i].size >= 1 && accesses[i].size <= PSNAP_ACCESS_SIZE_MAX &&
             accesses[i].kind <= PSNAP_ATOMIC && accesses[i].ref < program->ref_count);
}

static inline void fuzz_trace(const uint8_t *data, size_t size, const char *format)
{
    static struct psnap_access block[4096];
    struct fuzz_input input = {data, size, 0};
    struct psnap_error error = {.code = PSNAP_OK};
    struct psnap_reader *reader = psnap_reader_new(fuzz_read, NULL, &input, "fuzz", &error);
    struct psnap_source *source;
    size_t total = 0;
    ssize_t got = 0;

    must(reader != NULL);
    source = psnap_trace_open_reader(reader, format, &error);
    if (!source) {
        must(error.code < 0 && error.message[0]);
        return;
    }
    while (total < FUZZ_ACCESSES_MAX) {
        struct psnap_run run = {.count = 0};
        const size_t capacity = total % 2 ? 4096 : 111;

        got = size % 2 ? next_run(source, block, capacity, &run, &error)
                       : psnap_source_next(source, block, capacity, &error);
        if (got < 0 || (got == 0 && run.count == 0))
            break;
        fuzz_check_accesses(source->program, block, (size_t)got);
        if (run.count)
            fuzz_check_accesses(source->program, run.first, run.width);
        total += (size_t)got + (size_t)run.count;
    }
    if (got < 0)
        must(error.code == (enum psnap_status)got && error.message[0]);
    if (got >= 0 || got == PSNAP_ERROR_TRUNCATED) /* what came before is used */
        fuzz_check_program(source->program);
    psnap_source_free(source);
}

#endif
