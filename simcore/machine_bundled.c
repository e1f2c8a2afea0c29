/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The machines that are built in: the ten structures of PSnAP's evaluation
 * (Olschanowsky et al.), the three machines of PPT-Multicore (Barai et al.), and
 * four that have what those lack, on one and the same three levels.
 *
 * Structure 5 prints a level 3 of 1024 KB with lines of 64 bytes and 48 ways,
 * which is 341.33 sets: it is taken as 341 whole sets, 1,047,552 bytes. The EPYC's
 * sizes are printed as totals of the chip; here they are what one core sees.
 */
#include "simcore/machine.h"

#define K(n) (UINT64_C(n) << 10)
#define M(n) (UINT64_C(n) << 20)
#define LEVEL(size, line, assoc)                                                                   \
    {.size_bytes = (size),                                                                         \
     .line_bytes = (line),                                                                         \
     .ways = (assoc),                                                                              \
     .sets = (size) / ((line) * (assoc))}

#define POLICY_LEVEL(size, line, assoc, policy)                                                    \
    {.size_bytes = (size),                                                                         \
     .line_bytes = (line),                                                                         \
     .ways = (assoc),                                                                              \
     .sets = (size) / ((line) * (assoc)),                                                          \
     .replacement = (policy)}
#define PREFETCH_LEVEL(size, line, assoc, ...)                                                     \
    {                                                                                              \
        .size_bytes = (size), .line_bytes = (line), .ways = (assoc),                               \
        .sets = (size) / ((line) * (assoc)), .prefetch = {                                         \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }

static const struct psnap_machine bundled[] = {
    {.name = "table1-1",
     .description = "PSnAP structure 1, like a PowerPC",
     .level_count = 2,
     .levels = {LEVEL(K(32), 128, 2), LEVEL(K(1024), 128, 8)}},
    {.name = "table1-2",
     .description = "PSnAP structure 2, like an Itanium 2",
     .level_count = 2,
     .levels = {LEVEL(K(256), 128, 8), LEVEL(K(9216), 128, 12)}},
    {.name = "table1-3",
     .description = "PSnAP structure 3, like a MIPS SiCortex",
     .level_count = 2,
     .levels = {LEVEL(K(64), 64, 2), LEVEL(K(512), 64, 16)}},
    {.name = "table1-4",
     .description = "PSnAP structure 4, like an Opteron",
     .level_count = 2,
     .levels = {LEVEL(K(32), 32, 4), LEVEL(K(128), 64, 2)}},
    {.name = "table1-5",
     .description = "PSnAP structure 5, like a Budapest Opteron; its level 3 is printed as 1024 KB "
                    "in 341.33 sets and rounded to 341 whole sets here",
     .level_count = 3,
     .levels = {LEVEL(K(64), 64, 2), LEVEL(K(512), 64, 16),
                LEVEL(UINT64_C(341) * 48 * 64, 64, 48)}},
    {.name = "table1-6",
     .description = "PSnAP structure 6, like an IBM P6",
     .level_count = 3,
     .levels = {LEVEL(K(64), 128, 8), LEVEL(K(4096), 128, 8), LEVEL(K(16384), 128, 16)}},
    {.name = "table1-7",
     .description = "PSnAP structure 7: structure 3 with a level 2 of 8 ways",
     .level_count = 2,
     .levels = {LEVEL(K(64), 64, 2), LEVEL(K(512), 64, 8)}},
    {.name = "table1-8",
     .description = "PSnAP structure 8: structure 3 with a level 2 of 32 ways",
     .level_count = 2,
     .levels = {LEVEL(K(64), 64, 2), LEVEL(K(512), 64, 32)}},
    {.name = "table1-9",
     .description = "PSnAP structure 9: structure 3 with lines of 32 bytes in level 2",
     .level_count = 2,
     .levels = {LEVEL(K(64), 64, 2), LEVEL(K(512), 32, 16)}},
    {.name = "table1-10",
     .description = "PSnAP structure 10: structure 3 with lines of 128 bytes in level 2",
     .level_count = 2,
     .levels = {LEVEL(K(64), 64, 2), LEVEL(K(512), 128, 16)}},
    {.name = "i7-5960x",
     .description = "Intel Core i7-5960X (Haswell-E), one core and the shared level 3",
     .clock_hz = 3.0e9,
     .cores = 8,
     .level_count = 3,
     .levels = {LEVEL(K(32), 64, 8), LEVEL(K(256), 64, 8), LEVEL(M(20), 64, 20)}},
    {.name = "e5-2699v4",
     .description = "Intel Xeon E5-2699 v4 (Broadwell-EP), one core and the shared level 3",
     .clock_hz = 2.2e9,
     .cores = 22,
     .level_count = 3,
     .levels = {LEVEL(K(32), 64, 8), LEVEL(K(256), 64, 8), LEVEL(M(55), 64, 20)}},
    {.name = "epyc-7702p",
     .description = "AMD EPYC 7702P (Zen 2), one core and the level 3 of its complex",
     .clock_hz = 2.0e9,
     .cores = 64,
     .level_count = 3,
     .levels = {LEVEL(K(32), 64, 8), LEVEL(K(512), 64, 8), LEVEL(M(16), 64, 16)}},
    {.name = "plru-3",
     .description = "three levels with tree pseudo-LRU replacement",
     .level_count = 3,
     .levels = {POLICY_LEVEL(K(32), 64, 8, PSNAP_REPLACE_PLRU),
                POLICY_LEVEL(M(1), 64, 16, PSNAP_REPLACE_PLRU),
                POLICY_LEVEL(M(32), 64, 16, PSNAP_REPLACE_PLRU)}},
    {.name = "random-3",
     .description = "three levels with random replacement",
     .level_count = 3,
     .levels = {POLICY_LEVEL(K(32), 64, 8, PSNAP_REPLACE_RANDOM),
                POLICY_LEVEL(M(1), 64, 16, PSNAP_REPLACE_RANDOM),
                POLICY_LEVEL(M(32), 64, 16, PSNAP_REPLACE_RANDOM)}},
    {.name = "prefetch-3",
     .description = "three levels of LRU, with stride prefetchers at levels 1 and 2",
     .level_count = 3,
     .levels = {PREFETCH_LEVEL(K(32), 64, 8, .entries = 256, .degree = 1, .distance = 4),
                PREFETCH_LEVEL(M(1), 64, 16, .entries = 256, .degree = 2, .distance = 4),
                LEVEL(M(32), 64, 16)}},
    {.name = "tlb-64",
     .description = "three levels of LRU, and a TLB of 64 entries for pages of 4 KiB",
     .level_count = 3,
     .levels = {LEVEL(K(32), 64, 8), LEVEL(M(1), 64, 16), LEVEL(M(32), 64, 16)},
     .tlb_level_count = 1,
     .tlb = {{.entries = 64, .page_bytes = K(4), .ways = 64, .sets = 1}}},
};

enum { BUNDLED_COUNT = sizeof bundled / sizeof bundled[0] };
_Static_assert(BUNDLED_COUNT <= MACHINE_BUNDLED_MAX, "callers keep lists of this size");

const struct psnap_machine *psnap_machine_bundled(size_t index)
{
    return index < BUNDLED_COUNT ? &bundled[index] : NULL;
}
