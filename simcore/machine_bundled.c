/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The machines that are built in: the ten structures of PSnAP's evaluation
 * (Olschanowsky et al.), the three machines of PPT-Multicore (Barai et al.),
 * four that have what those lack, on one and the same three levels, and those of machine_current.c.
 *
 * Structure 5 prints a level 3 of 1024 KB with lines of 64 bytes and 48 ways,
 * which is 341.33 sets: it is taken as 341 whole sets, 1,047,552 bytes. The EPYC's
 * sizes are printed as totals of the chip; here they are what one core sees.
 *
 * Times of the three are of one core at the clock that the paper gives; memory's are ns times that.
 *
 * Latencies: Haswell by 7-cpu.com (4, 12, 43 cycles), its memory's 70 ns as desktop benchmarks have
 * it; Broadwell-EP by AnandTech, July 2017 (4, 12, 47 cycles, 95 ns); Zen 2 by AnandTech, October
 * 2019 (4, 13, 34 cycles, 122 ns).
 *
 * Throughputs: two loads a cycle in level 1; in level 2 a line at 28 and 32 bytes a cycle. Behind
 * it as many lines are under way as a core has buffers for missing ones: the latency by 10 (Intel's
 * optimization manual), by 22 (AMD's), but for Zen 2's level 3, 32 bytes a cycle.
 *
 * Bandwidths: 64 bytes a cycle in level 1. Intel's levels 2 and 3 have about 28 and 10.5 (Molka et
 * al., ICPP 2015, Haswell-EP), Zen 2's 32, AMD's figure. Memory: 18 GB/s (Broadwell-EP, one thread
 * of STREAM, AnandTech, July 2017), taken for Haswell too; 20 GB/s for Zen 2 is an estimate.
 *
 * Operations: Agner Fog's instruction tables and LLVM's scheduling models, for the operations that
 * probe_operations.c times; of ranges the side of many digits. fp_math (exp) is an estimate.
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

#define TIMED_LEVEL(size, line, assoc, latency, throughput, bandwidth, cores)                      \
    {.size_bytes = (size),                                                                         \
     .line_bytes = (line),                                                                         \
     .ways = (assoc),                                                                              \
     .sets = (size) / ((line) * (assoc)),                                                          \
     .latency_cycles = (latency),                                                                  \
     .throughput_cycles = (throughput),                                                            \
     .bandwidth_bytes_per_s = (bandwidth),                                                         \
     .shared_by = (cores)}

/* What Haswell, Broadwell and Zen 2 have alike, and what they have not. */
#define OPERATIONS(mul_latency, add_throughput, ...)                                               \
    {[PSNAP_OP_INT_ADD] = {1, 0.25},                                                               \
     [PSNAP_OP_INT_MUL] = {3, 1},                                                                  \
     [PSNAP_OP_FP_ADD] = {3, add_throughput},                                                      \
     [PSNAP_OP_FP_MUL] = {mul_latency, 0.5},                                                       \
     [PSNAP_OP_FP_FMA] = {5, 0.5},                                                                 \
     [PSNAP_OP_FP_MATH] = {44, 20},                                                                \
     [PSNAP_OP_CONVERT] = {4, 1},                                                                  \
     [PSNAP_OP_BRANCH] = {0, 0.5},                                                                 \
     [PSNAP_OP_CALL] = {0, 2},                                                                     \
     __VA_ARGS__}

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
     .memory_latency_cycles = 210,
     .memory_throughput_cycles = 21,
     .memory_bandwidth_bytes_per_s = 18e9,
     .operations = OPERATIONS(5, 1, [PSNAP_OP_INT_DIV] = {25, 10}, [PSNAP_OP_FP_DIV] = {20, 14},
                              [PSNAP_OP_FP_SQRT] = {20, 14}),
     .level_count = 3,
     .levels = {TIMED_LEVEL(K(32), 64, 8, 4, 0.5, 192e9, 1),
                TIMED_LEVEL(K(256), 64, 8, 12, 2.3, 84e9, 1),
                TIMED_LEVEL(M(20), 64, 20, 43, 4.3, 31.5e9, 8)}},
    {.name = "e5-2699v4",
     .description = "Intel Xeon E5-2699 v4 (Broadwell-EP), one core and the shared level 3",
     .clock_hz = 2.2e9,
     .cores = 22,
     .memory_latency_cycles = 209,
     .memory_throughput_cycles = 21,
     .memory_bandwidth_bytes_per_s = 18e9,
     .operations = OPERATIONS(3, 1, [PSNAP_OP_INT_DIV] = {25, 10}, [PSNAP_OP_FP_DIV] = {14, 5},
                              [PSNAP_OP_FP_SQRT] = {16, 8}),
     .level_count = 3,
     .levels = {TIMED_LEVEL(K(32), 64, 8, 4, 0.5, 140.8e9, 1),
                TIMED_LEVEL(K(256), 64, 8, 12, 2.3, 61.6e9, 1),
                TIMED_LEVEL(M(55), 64, 20, 47, 4.7, 23.1e9, 22)}},
    {.name = "epyc-7702p",
     .description = "AMD EPYC 7702P (Zen 2), one core and the level 3 of its complex",
     .clock_hz = 2.0e9,
     .cores = 64,
     .memory_latency_cycles = 244,
     .memory_throughput_cycles = 11,
     .memory_bandwidth_bytes_per_s = 20e9,
     .operations = OPERATIONS(3, 0.5, [PSNAP_OP_INT_DIV] = {25, 25}, [PSNAP_OP_FP_DIV] = {13, 5},
                              [PSNAP_OP_FP_SQRT] = {20, 9}),
     .level_count = 3,
     .levels = {TIMED_LEVEL(K(32), 64, 8, 4, 0.5, 128e9, 1),
                TIMED_LEVEL(K(512), 64, 8, 13, 2, 64e9, 1),
                TIMED_LEVEL(M(16), 64, 16, 34, 2, 64e9, 4)}},
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
_Static_assert(BUNDLED_COUNT + MACHINE_CURRENT_COUNT <= MACHINE_BUNDLED_MAX,
               "callers keep lists of this size");

const struct psnap_machine *psnap_machine_bundled(size_t index)
{
    if (index < BUNDLED_COUNT)
        return &bundled[index];
    return index - BUNDLED_COUNT < MACHINE_CURRENT_COUNT ? &machine_current[index - BUNDLED_COUNT]
                                                         : NULL;
}
