/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The kernels of caches and memory. A chase follows pointers, one a line, in one random cycle
 * through all lines of a working set (Sattolo's shuffle): each load waits for the one before, no
 * prefetcher knows the next one, and under LRU a working set larger than a cache never hits there.
 * Independent loads take their addresses from a list in another random order; reading that list is
 * one more load, of 4 bytes, that hits in level 1. Within level 1 itself that load would count, and
 * the order does not matter: there words are loaded one after the other.
 *
 * Every load is volatile: the compiler makes each of them, and nothing of its value.
 */
#include "simcore/probe.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "formats/base/rng.h"

#define HUGE_PAGE_BYTES ((size_t)2 << 20)

bool probe_buffer_init(struct probe_buffer *buffer, size_t bytes, size_t line_bytes)
{
    uintptr_t first;

    *buffer = (struct probe_buffer){.bytes = bytes, .mapped_bytes = bytes + HUGE_PAGE_BYTES};
    buffer->mapped = mmap(NULL, buffer->mapped_bytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (buffer->mapped == MAP_FAILED) {
        buffer->mapped = NULL;
        return false;
    }
    first = ((uintptr_t)buffer->mapped + HUGE_PAGE_BYTES - 1) / HUGE_PAGE_BYTES * HUGE_PAGE_BYTES;
    buffer->base = (unsigned char *)buffer->mapped + (first - (uintptr_t)buffer->mapped);
    buffer->order = malloc(bytes / line_bytes * sizeof *buffer->order);
    return buffer->order != NULL;
}

void probe_buffer_release(struct probe_buffer *buffer)
{
    if (buffer->mapped)
        munmap(buffer->mapped, buffer->mapped_bytes);
    free(buffer->order);
    *buffer = (struct probe_buffer){0};
}

double probe_huge_share(const struct probe_buffer *buffer)
{
    FILE *file = fopen("/proc/self/smaps_rollup", "r");
    char line[256];
    uint64_t kib = 0;

    if (!file)
        return 0;
    while (fgets(line, sizeof line, file))
        if (!strncmp(line, "AnonHugePages:", 14))
            kib = strtoull(line + 14, NULL, 10);
    fclose(file);
    return (double)(kib << 10) >= (double)buffer->bytes
               ? 1
               : (double)(kib << 10) / (double)buffer->bytes;
}

static void **line_at(const struct probe_set *set, size_t index)
{
    void *line = set->base + index * set->line_bytes;

    return line;
}

void probe_set_init(struct probe_set *set, const struct probe_buffer *buffer, size_t bytes,
                    size_t line_bytes)
{
    const size_t whole = PROBE_ACCESSES * line_bytes; /* and so of PROBE_SWEEP_BYTES */
    struct psnap_rng rng;
    size_t lines;

    bytes = bytes < whole ? whole : bytes - bytes % whole;
    lines = bytes / line_bytes;
    *set = (struct probe_set){
        .base = buffer->base, .bytes = bytes, .line_bytes = line_bytes, .order = buffer->order};
    psnap_rng_init(&rng, 0);
    for (size_t i = 0; i < lines; i++) {
        *line_at(set, i) = line_at(set, i);
        set->order[i] = (uint32_t)(i * line_bytes);
    }
    for (size_t i = lines - 1; i > 0; i--) {
        const size_t j = (size_t)psnap_rng_below(&rng, i), k = (size_t)psnap_rng_below(&rng, i + 1);
        void *next = *line_at(set, i);
        const uint32_t offset = set->order[i];

        *line_at(set, i) = *line_at(set, j);
        *line_at(set, j) = next;
        set->order[i] = set->order[k];
        set->order[k] = offset;
    }
    set->at = line_at(set, 0);
}

void probe_chase(void *context, uint64_t steps)
{
    struct probe_set *set = context;
    void **at = set->at;

    for (; steps; steps--) {
#define FOLLOW(i) at = *(void **volatile *)at;
        PROBE_REPEAT(FOLLOW)
    }
    set->at = at;
}

void probe_random_loads(void *context, uint64_t steps)
{
    struct probe_set *set = context;
    const unsigned char *base = set->base;
    const uint32_t *order = set->order;
    const size_t count = set->bytes / set->line_bytes;
    const volatile uint64_t *word;
    const void *line;
    size_t position = set->position < count ? set->position : 0;

    for (; steps; steps--) {
#define LOAD(i)                                                                                    \
    line = base + order[position + (i)];                                                           \
    word = line;                                                                                   \
    (void)*word;
        PROBE_REPEAT(LOAD)
        position = position + PROBE_ACCESSES == count ? 0 : position + PROBE_ACCESSES;
    }
    set->position = position;
}

void probe_word_loads(void *context, uint64_t steps)
{
    struct probe_set *set = context;
    size_t position = set->position;

    for (; steps; steps--) {
        const volatile uint64_t *from = (const void *)(set->base + position);

        position += PROBE_ACCESSES * sizeof *from;
        if (position == set->bytes)
            position = 0;
#define LOAD_WORD(i) (void)from[i];
        PROBE_REPEAT(LOAD_WORD)
    }
    set->position = position;
}

/* Reads PROBE_SWEEP_BYTES a step by loads of `width` bytes. */
#define SWEEP(NAME, target, width)                                                                 \
    struct NAME##_word {                                                                           \
        uint64_t lanes __attribute__((vector_size(width)));                                        \
    };                                                                                             \
    static target void NAME(struct probe_set *set, uint64_t steps)                                 \
    {                                                                                              \
        size_t position = set->position;                                                           \
                                                                                                   \
        for (; steps; steps--) {                                                                   \
            const volatile struct NAME##_word *from = (const void *)(set->base + position);        \
                                                                                                   \
            position += PROBE_SWEEP_BYTES;                                                         \
            if (position == set->bytes)                                                            \
                position = 0;                                                                      \
            SWEEP_LOADS_##width                                                                    \
        }                                                                                          \
        set->position = position;                                                                  \
    }
#define SWEEP_LOAD(i) (void)from[i].lanes;
#define SWEEP_LOAD_HIGH(i) (void)from[16 + (i)].lanes;
#define SWEEP_LOADS_32 PROBE_REPEAT(SWEEP_LOAD)
#define SWEEP_LOADS_16 PROBE_REPEAT(SWEEP_LOAD) PROBE_REPEAT(SWEEP_LOAD_HIGH)

SWEEP(sweep_16, , 16)
#if defined(__x86_64__)
SWEEP(sweep_32, __attribute__((target("avx2"))), 32)
#endif

void probe_sweep(void *context, uint64_t steps)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2")) {
        sweep_32(context, steps);
        return;
    }
#endif
    sweep_16(context, steps);
}

void probe_prepare(void *context)
{
    const struct probe_set *set = context;
    struct probe_set read = {.base = set->base, .bytes = set->prepared_bytes};

    probe_sweep(&read, read.bytes / PROBE_SWEEP_BYTES);
}
