/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The formats that are written only, for other people's simulators. The input is a stream:
 * runs of accesses, of three bytes each and perhaps an address. Every format writes it, as it is
 * and behind a small machine's caches, or refuses an address of 2^63 or more; two writers of one
 * stream write the same.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/formats.h"
#include "simcore/simcore.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ACCESSES_MAX = 4000, REFS = 6 };

static struct psnap_access accesses[ACCESSES_MAX];

/* Fills `accesses`; each is a step from the one before, or at an address of its own. */
static size_t read_accesses(const uint8_t *data, size_t size)
{
    uint64_t address = 4096;
    size_t n = 0, at = 0;

    while (n < ACCESSES_MAX && size - at >= 3) {
        const uint8_t how = data[at], step = data[at + 1], what = data[at + 2];

        at += 3;
        if (how >= 224 && size - at >= 8) {
            memcpy(&address, data + at, 8);
            at += 8;
        }
        for (unsigned i = 0; i < (how % 32u) + 1 && n < ACCESSES_MAX; i++) {
            address += (uint64_t)(int64_t)(int8_t)step * (how % 4 + 1);
            accesses[n++] = (struct psnap_access){address, what % REFS, (uint8_t)(what % 64 + 1),
                                                  (uint8_t)(what / 64 % 3), (uint16_t)(how / 128)};
        }
    }
    return n;
}

/* What the format makes of the accesses; the caller frees it. */
static char *write_as(const char *format, struct psnap_program *program, size_t n,
                      const struct psnap_machine *machine, size_t *bytes)
{
    char *text = NULL;
    FILE *file = open_memstream(&text, bytes);
    struct psnap_memory_side side;
    struct psnap_error error;
    struct psnap_sink *writer = psnap_trace_writer_new_timed(
        format, machine ? &side.accesses : NULL, file, program, &error);
    struct psnap_sink *sink =
        machine ? psnap_memory_side_new(machine, writer, &side, &error) : writer;
    enum psnap_status status;

    if (!writer || !sink)
        abort();
    status = psnap_sink_put(sink, accesses, n, &error);
    if (!status)
        status = psnap_sink_finish(sink, &error);
    if (status && (status != PSNAP_ERROR_VALUE || strncmp(format, "ramulator", 9) != 0))
        abort();
    if (sink != writer)
        psnap_sink_free(sink);
    psnap_sink_free(writer);
    fclose(file);
    return text;
}

/* Two regions with names, and a reference that knows what it touches. */
static struct psnap_program *make_program(void)
{
    static const struct psnap_object objects[] = {{0, 5000, "a", PSNAP_OBJECT_GLOBAL},
                                                  {4096, 64, "b", PSNAP_OBJECT_GLOBAL}};
    struct psnap_program *program = psnap_program_new();

    if (!program || psnap_program_add_anonymous(program, "f"))
        abort();
    for (int i = 0; i < 2; i++)
        if (psnap_program_add_object(program, &objects[i]) == PSNAP_NONE)
            abort();
    while (program->ref_count < REFS) {
        const char *known = program->ref_count == 3 ? "known" : NULL;
        if (psnap_program_add_ref(program, &(struct psnap_ref){.object = known}) == PSNAP_NONE)
            abort();
    }
    return program;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct psnap_program *program = make_program();
    const size_t n = read_accesses(data, size);
    const struct psnap_format *format;
    struct psnap_machine machine;

    if (psnap_machine_parse_inline("256:64:2,512:128:4", &machine, NULL))
        abort();
    for (size_t i = 0; (format = psnap_format_at(i)); i++) {
        if (!format->writable || format->readable)
            continue;
        for (int behind = 0; behind < 2; behind++) {
            size_t bytes[2];
            char *texts[2];

            for (int k = 0; k < 2; k++)
                texts[k] = write_as(format->name, program, n, behind ? &machine : NULL, &bytes[k]);
            if (bytes[0] != bytes[1] || memcmp(texts[0], texts[1], bytes[0]) != 0)
                abort();
            free(texts[0]);
            free(texts[1]);
        }
    }
    psnap_program_free(program);
    return 0;
}
