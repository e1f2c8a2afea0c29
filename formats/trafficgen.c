/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A configuration of gem5's traffic generator (traffic_gen.cc), written only: not the stream but
 * what is left of it when every reference of the program is a state,
 *
 *     STATE id ticks LINEAR read% start end block minimum-period maximum-period limit
 *     STATE id ticks RANDOM read% start end block minimum-period maximum-period limit
 *     STATE id ticks STRIDED read% start end offset block superblock stride min max limit
 *
 * all decimal. A state is a sweep by the reference's stride, if at least half of its steps are of
 * one positive stride, over the range of its addresses, else random in it; it lasts for as many
 * periods as the reference made accesses. After each comes the next, in the order in which they
 * came first (a tick later: gem5 sends no packet at the tick of a transition), by one of
 * probability 1 (gem5 insists on a sum of 1), at last EXIT. Strides are found with the few counters
 * of Misra and Gries (Finding repeated elements, 1982), which count too few by at most a fifth of
 * the steps.
 *
 * Blocks are powers of two, as large as the accesses or smaller, that the stride is a multiple of,
 * and begin at a multiple of themselves: gem5 asserts the one, and no packet may be in two lines.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "formats/base/access.h"
#include "formats/ref_states.h"
#include "formats/trace.h"

enum { STRIDES = 4, STATES_MAX = 1000 };
#define PERIOD UINT64_C(1000) /* ticks for each access: a nanosecond, as gem5 has them */

struct reference {
    uint64_t accesses, loads;
    uint64_t last, low, high; /* first bytes of accesses */
    uint8_t size;             /* the largest */
    struct {
        uint64_t stride, count;
    } strides[STRIDES];
};

struct trafficgen {
    struct psnap_sink base;
    FILE *file;
    struct ref_states references;
};

/* Counts a step. */
static void step(struct reference *reference, uint64_t stride)
{
    size_t empty = STRIDES;

    for (size_t i = 0; i < STRIDES; i++) {
        if (reference->strides[i].count && reference->strides[i].stride == stride) {
            reference->strides[i].count++;
            return;
        }
        if (!reference->strides[i].count)
            empty = i;
    }
    if (empty < STRIDES) {
        reference->strides[empty].stride = stride;
        reference->strides[empty].count = 1;
        return;
    }
    for (size_t i = 0; i < STRIDES; i++)
        reference->strides[i].count--;
}

static enum psnap_status trafficgen_put(struct psnap_sink *self, const struct psnap_access *block,
                                        size_t n, struct psnap_error *error)
{
    struct trafficgen *generator = (struct trafficgen *)self;

    for (size_t i = 0; i < n; i++) {
        const uint64_t address = block[i].address;
        struct reference *reference = ref_states_get(&generator->references, block[i].ref);

        if (!reference)
            return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
        if (reference->accesses)
            step(reference, address - reference->last);
        else
            reference->low = reference->high = address;
        reference->accesses++;
        reference->loads += block[i].kind == PSNAP_LOAD;
        reference->last = address;
        reference->low = address < reference->low ? address : reference->low;
        reference->high = address > reference->high ? address : reference->high;
        reference->size = block[i].size > reference->size ? block[i].size : reference->size;
    }
    return PSNAP_OK;
}

/* The positive stride of at least half of the steps, or 0. */
static uint64_t stride_of(const struct reference *reference)
{
    for (size_t i = 0; i < STRIDES; i++)
        if (reference->strides[i].count &&
            2 * reference->strides[i].count >= reference->accesses - 1)
            return reference->strides[i].stride >> 63 ? 0 : reference->strides[i].stride;
    return 0;
}

static void print_state(FILE *file, size_t id, const struct reference *reference)
{
    const uint64_t stride = stride_of(reference);
    uint64_t block = UINT64_C(1) << (31 - __builtin_clz(reference->size)), low, high;

    while (stride % block)
        block /= 2;
    low = reference->low & ~(block - 1);
    high = reference->high & ~(block - 1);
    fprintf(file, "STATE %zu %" PRIu64 " %s %" PRIu64 " %" PRIu64, id,
            reference->accesses * PERIOD + 1,
            low == high || stride == block ? "LINEAR"
            : stride                       ? "STRIDED"
                                           : "RANDOM",
            (reference->loads * 100 + reference->accesses / 2) / reference->accesses, low);
    if (stride && stride != block && low != high) /* the last byte: gem5 begins anew above it */
        fprintf(file, " %" PRIu64 " 0 %" PRIu64 " %" PRIu64 " %" PRIu64, high + (block - 1), block,
                block, stride);
    else if (low == high || stride)
        fprintf(file, " %" PRIu64 " %" PRIu64, high + (block - 1), block);
    else /* the first byte behind it: gem5 draws below it */
        fprintf(file, " %" PRIu64 " %" PRIu64,
                high + block > high ? high + block : high + (block - 1), block);
    fprintf(file, " %" PRIu64 " %" PRIu64 " 0\n", PERIOD, PERIOD);
}

static int compare_down(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x < y) - (x > y);
}

/* The least number of accesses that makes a state, of which there are STATES_MAX at most. */
static enum psnap_status threshold(const struct ref_states *references, uint64_t *least,
                                   struct psnap_error *error)
{
    uint64_t *counts;

    *least = 0;
    if (references->count <= STATES_MAX)
        return PSNAP_OK;
    counts = malloc(references->count * sizeof *counts);
    if (!counts)
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    for (size_t i = 0; i < references->count; i++)
        counts[i] = ((const struct reference *)references->by_ref[references->order[i]])->accesses;
    qsort(counts, references->count, sizeof *counts, compare_down);
    *least = counts[STATES_MAX - 1];
    free(counts);
    return PSNAP_OK;
}

static enum psnap_status trafficgen_finish(struct psnap_sink *self, struct psnap_error *error)
{
    struct trafficgen *generator = (struct trafficgen *)self;
    const struct ref_states *references = &generator->references;
    FILE *file = generator->file;
    size_t states = 0;
    uint64_t least;
    const enum psnap_status status = threshold(references, &least, error);

    if (status)
        return status;
    for (size_t i = 0; i < references->count && states < STATES_MAX; i++) {
        const struct reference *reference = references->by_ref[references->order[i]];
        if (reference->accesses >= least)
            print_state(file, states++, reference);
    }
    fprintf(file, "STATE %zu 1 EXIT\nINIT 0\n", states);
    for (size_t i = 0; i < states; i++)
        fprintf(file, "TRANSITION %zu %zu 1\n", i, i + 1);
    fprintf(file, "TRANSITION %zu %zu 1\n", states, states);
    if (ferror(file) || fflush(file) != 0)
        return psnap_error_system(error, errno, "cannot write");
    return PSNAP_OK;
}

static void trafficgen_free(struct psnap_sink *self)
{
    ref_states_release(&((struct trafficgen *)self)->references);
    free(self);
}

static struct psnap_sink *trafficgen_create(FILE *file, struct psnap_program *program,
                                            struct psnap_error *error)
{
    static const struct psnap_sink_ops ops = {
        .put = trafficgen_put, .finish = trafficgen_finish, .free = trafficgen_free};
    struct trafficgen *generator = calloc(1, sizeof *generator);

    (void)program;
    if (!generator) {
        psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
        return NULL;
    }
    generator->base.ops = &ops;
    generator->file = file;
    generator->references.bytes = sizeof(struct reference);
    return &generator->base;
}

static const struct psnap_format_ops trafficgen_ops = {.create = trafficgen_create};

const struct psnap_format psnap_format_trafficgen = {
    .name = "trafficgen",
    .summary = "a configuration of gem5's traffic generator",
    .description =
        "For gem5 v19 and later, TrafficGen(config_file=...). It is not the stream but\n"
        "what is left of it: each reference, in the order in which they came first, is\n"
        "a state that lasts 1000 ticks for each of its accesses and 1, then comes the\n"
        "next, at last EXIT. It is LINEAR or STRIDED over the range of the reference's\n"
        "addresses if one positive stride is at least half of its steps, else RANDOM in\n"
        "that range. Of nested loops the innermost stride alone remains. Blocks are\n"
        "powers of two, no larger than the accesses. There are at most 1000 states, of\n"
        "the references with most accesses. All numbers are decimal.\n\n"
        "    STATE 0 64000001 LINEAR 100 35184372088832 35184372600831 8 1000 1000 0\n"
        "    STATE 1 64000001 STRIDED 0 4096 515071 0 8 8 64 1000 1000 0\n"
        "    STATE 2 1 EXIT\n"
        "    INIT 0\n"
        "    TRANSITION 0 1 1\n"
        "    TRANSITION 1 2 1\n"
        "    TRANSITION 2 2 1\n",
    .loses = "order of accesses and of references, strides but one, which addresses are accessed "
             "when, atomic, thread, ref, program",
    .writable = true,
    .is_text = true,
    .ops = &trafficgen_ops,
};
