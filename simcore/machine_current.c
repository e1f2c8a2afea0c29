/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Built-in machines of today: the data caches of one core of each, with the level 3 that it shares.
 * A figure is as published, and the machine's `source` names where; what no source was found for is
 * left out, clocks, bandwidths and most times of level 3 among them, so that run times need a file
 * that adds them (psnap machines NAME --yaml).
 *
 * Checked in November 2026 with AnandTech's, WikiChip's and Chips and Cheese's pages, and for
 * AMD's, Arm's and Intel's manuals and the paper on the M1 with what others quote of them.
 *
 * All replace the least recently used line and index by modulo here, where hardware approximates
 * and hashes; AMD's level 3 takes what the levels 2 give up, and is taken to be exclusive.
 */
#include "simcore/machine.h"

#define K(n) (UINT64_C(n) << 10)
#define M(n) (UINT64_C(n) << 20)
/* `latency` is 0 where it is unknown. */
#define LEVEL(title, size, line, assoc, cores, latency, holds)                                     \
    {.name = title,                                                                                \
     .size_bytes = (size),                                                                         \
     .line_bytes = (line),                                                                         \
     .ways = (assoc),                                                                              \
     .sets = (size) / ((line) * (assoc)),                                                          \
     .shared_by = (cores),                                                                         \
     .latency_cycles = (latency),                                                                  \
     .inclusion = (holds)}

const struct psnap_machine machine_current[MACHINE_CURRENT_COUNT] = {
    {.name = "xeon-8180",
     .description = "Intel Xeon Platinum 8180 (Skylake-SP, 2017)",
     .source = "AnandTech, The Intel Skylake-X Review, 2017: sizes, ways, latencies (of level 2 as "
               "11 to 13 cycles), TLBs of 4 KB pages, level 3 non-inclusive, 1.375 MB for each of "
               "28 cores",
     .cores = 28,
     .level_count = 3,
     .levels = {LEVEL("L1d", K(32), 64, 8, 1, 4, PSNAP_NON_INCLUSIVE),
                LEVEL("L2", M(1), 64, 16, 1, 13, PSNAP_NON_INCLUSIVE),
                LEVEL("L3", K(28 * 1408), 64, 11, 28, 77, PSNAP_NON_INCLUSIVE)},
     .tlb_level_count = 2,
     .tlb = {{.entries = 64, .page_bytes = K(4), .ways = 4, .sets = 16},
             {.entries = 1536, .page_bytes = K(4), .ways = 12, .sets = 128}}},
    {.name = "xeon-8480",
     .description = "Intel Xeon Platinum 8480+ (Sapphire Rapids, 2023)",
     .source = "Intel's product specifications: 56 cores, 105 MB of level 3; Intel 64 and IA-32 "
               "Architectures Optimization Reference Manual, Golden Cove: sizes and ways of levels "
               "1 and 2; Chips and Cheese, Going Armchair Quarterback on Golden Cove's Caches, "
               "2022: 5 cycles of level 1; 15 ways of level 3 as CPUID reports them",
     .cores = 56,
     .level_count = 3,
     .levels = {LEVEL("L1d", K(48), 64, 12, 1, 5, PSNAP_NON_INCLUSIVE),
                LEVEL("L2", M(2), 64, 16, 1, 0, PSNAP_NON_INCLUSIVE),
                LEVEL("L3", M(105), 64, 15, 56, 0, PSNAP_NON_INCLUSIVE)}},
    {.name = "epyc-9654",
     .description = "AMD EPYC 9654 (Zen 4, 2022), one core and the level 3 of its complex",
     .source =
         "AMD, Software Optimization Guide for the Zen 4 Microarchitecture (57647), 2023: "
         "sizes, ways, latencies, level 2 inclusive, level 3 filled by what level 2 gives up; "
         "AMD's product page: 96 cores, 384 MB of level 3, 32 MB for each 8 cores",
     .cores = 96,
     .level_count = 3,
     .levels = {LEVEL("L1d", K(32), 64, 8, 1, 4, PSNAP_NON_INCLUSIVE),
                LEVEL("L2", M(1), 64, 8, 1, 14, PSNAP_INCLUSIVE),
                LEVEL("L3", M(32), 64, 16, 8, 50, PSNAP_EXCLUSIVE)}},
    {.name = "ryzen-9950x",
     .description = "AMD Ryzen 9 9950X (Zen 5, 2024), one core and the level 3 of its complex",
     .source =
         "AMD, Software Optimization Guide for the Zen 5 Microarchitecture (58455), 2024: "
         "sizes, ways, latencies, level 2 inclusive, level 3 filled by what level 2 gives up; "
         "Chips and Cheese, AMD's Ryzen 9950X: Zen 5 on Desktop, 2024: two complexes of 8 "
         "cores, 32 MB of level 3 each",
     .cores = 16,
     .level_count = 3,
     .levels = {LEVEL("L1d", K(48), 64, 12, 1, 4, PSNAP_NON_INCLUSIVE),
                LEVEL("L2", M(1), 64, 16, 1, 14, PSNAP_INCLUSIVE),
                LEVEL("L3", M(32), 64, 16, 8, 0, PSNAP_EXCLUSIVE)}},
    {.name = "graviton3",
     .description = "AWS Graviton3 (Arm Neoverse V1, 2021)",
     .source =
         "WikiChip, AWS Graviton3: 64 cores at 2.6 GHz, sizes; Arm Neoverse V1 Core Technical "
         "Reference Manual (101427): ways and lines of levels 1 and 2; Arm Neoverse V1 "
         "Software Optimization Guide: 4 cycles of level 1; Arm CoreLink CMN-650 Technical "
         "Reference Manual (101481): 16 ways of the system level cache",
     .clock_hz = 2.6e9,
     .cores = 64,
     .level_count = 3,
     .levels = {LEVEL("L1d", K(64), 64, 4, 1, 4, PSNAP_NON_INCLUSIVE),
                LEVEL("L2", M(1), 64, 8, 1, 0, PSNAP_NON_INCLUSIVE),
                LEVEL("SLC", M(32), 64, 16, 64, 0, PSNAP_NON_INCLUSIVE)}},
    {.name = "apple-m1",
     .description = "Apple M1 (2020), one of the performance cores (Firestorm) and their level 2; "
                    "without the system level cache",
     .source = "AnandTech, Apple Announces The Apple Silicon M1, 2020: sizes, 3 cycles of level 1; "
               "Yu et al., Synchronization Storage Channels (S2C), USENIX Security 2023: ways and "
               "lines, level 2 of four cores; Linux, t8103.dtsi: the same sizes",
     .cores = 4,
     .level_count = 2,
     .levels = {LEVEL("L1d", K(128), 64, 8, 1, 3, PSNAP_NON_INCLUSIVE),
                LEVEL("L2", M(12), 128, 12, 4, 0, PSNAP_NON_INCLUSIVE)}},
};
