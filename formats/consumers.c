/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Recipes for the programs that streams go to, and what their counters are to be compared with.
 * Where a program was not run but its sources were read, its recipe says so. tests/real/clients.py
 * runs the recipes as they stand here, and writes CLIENTS.md. psnap counts an access once, whether
 * it is in one line or in two; who counts lines has one more for each access that crosses.
 */
#include "formats/consumers.h"

#include <string.h>

#define CACHES "32K:64:8,256K:64:8"
#define DINERO_CACHES                                                                              \
    "        -l1-dsize 32K -l1-dbsize 64 -l1-dassoc 8 \\\n"                                        \
    "        -l2-dsize 256K -l2-dbsize 64 -l2-dassoc 8\n"
#define DINERO_COUNTERS                                                                            \
    "Compare with 'psnap sim P -m " CACHES "': Demand Fetches of l1-dcache\n"                      \
    "are accesses, its Demand Misses L1's misses, Demand Fetches (Write) of\n"                     \
    "l2-dcache L1's write-backs. Those allocate in Dinero's second level, so that\n"               \
    "its Demand Misses are within a tenth of a percent of L2's, no closer.\n"
#define MEMORY "32K:64:8,1M:64:16"
#define MEMORY_COUNTERS                                                                            \
    "They count lines: as many as 'psnap run' says were read and written back, and\n"              \
    "as L2 misses, and writes back, in 'psnap sim P -m " MEMORY "', but for\n"                     \
    "accesses that cross lines.\n"
#define RAMULATOR2_MEMORY                                                                          \
    "    MemorySystem:\n"                                                                          \
    "      impl: GenericDRAM\n"                                                                    \
    "      clock_ratio: 3\n"                                                                       \
    "      DRAM: {impl: DDR4, org: {preset: DDR4_8Gb_x8, channel: 1, rank: 1},\n"                  \
    "             timing: {preset: DDR4_2400R}}\n"                                                 \
    "      Controller: {impl: Generic, Scheduler: {impl: FRFCFS}, plugins: [],\n"                  \
    "                   RefreshManager: {impl: AllBank},\n"                                        \
    "                   RowPolicy: {impl: OpenRowPolicy}}\n"                                       \
    "      AddrMapper: {impl: RoBaRaCoCh}\n"                                                       \
    "    END\n"

static const struct psnap_consumer consumers[] = {
    {"din", "Dinero IV r7", "    psnap run P -f din -- dineroIV -informat d \\\n" DINERO_CACHES,
     DINERO_COUNTERS
     "din has no sizes: Dinero counts accesses, each once, and has as many misses as\n"
     "psnap but for those of accesses that cross lines. A fork that is built with\n"
     "addresses of 32 bits folds them, and counts something else.\n"},
    {"xdin", "Dinero IV r7", "    psnap run P -f xdin -- dineroIV -informat D \\\n" DINERO_CACHES,
     DINERO_COUNTERS "Dinero counts lines: 'Multi-block refs' are the accesses in two of them, by\n"
                     "which its fetches, and at most its misses, are more.\n"},
    {"xdin", "pycachesim",
     "    cat > caches.py << 'END'\n"
     "    import sys\n"
     "    from cachesim import CacheSimulator, Cache, MainMemory\n"
     "    l1, memory = Cache('L1', 64, 8, 64, 'LRU'), MainMemory()\n"
     "    memory.load_to(l1)\n"
     "    memory.store_from(l1)\n"
     "    caches = CacheSimulator(l1, memory)\n"
     "    for line in sys.stdin:\n"
     "        kind, address, size = line.split()\n"
     "        access = caches.load if kind == 'r' else caches.store\n"
     "        access(int(address, 16), length=int(size, 16))\n"
     "    caches.print_stats()\n"
     "    END\n"
     "    psnap run P -f xdin -- python3 caches.py\n",
     "Compare with 'psnap sim P -m 32K:64:8'. pycachesim counts lines: MISS of L1 is\n"
     "L1's misses, and one more for an access both of whose lines miss; a STORE of\n"
     "MEM is one of L1's write-backs.\n"},
    {"dinbin", "Dinero IV r7",
     "    psnap run P -f dinbin -- dineroIV -informat b \\\n" DINERO_CACHES,
     DINERO_COUNTERS
     "Dinero counts lines, as it does of xdin. Pages of 2 MiB keep the sets of these\n"
     "caches.\n"},
    {"drmemtrace", "drcachesim of DynamoRIO",
     "    psnap replay P -f drmemtrace -o t.drmemtrace\n"
     "    drrun -t drmemtrace -infile t.drmemtrace -tool cache_simulator \\\n"
     "        -cores 1 -L1D_size 32K -L1D_assoc 8 -LL_size 1M -LL_assoc 16\n",
     "Compare with 'psnap sim P -m " MEMORY "'. It counts lines: Hits and\n"
     "Misses of L1D add up to the accesses, and one for each that crosses lines; its\n"
     "misses are one to five more than psnap's. Instructions of the trace are\n"
     "psnap's, one before each access: L1I says nothing of the program.\n"},
    {"champsim", "ChampSim 2ff2501",
     "    psnap run P -f champsim --count 30000 -- champsim \\\n"
     "        --warmup-instructions 0 --simulation-instructions 29500 {}\n",
     "It is to simulate fewer instructions than there are accesses, else it begins\n"
     "anew. L1D's accesses are those of LOAD and WRITE, without stores that wait at\n"
     "the end (136 at most) and loads of what an earlier store still holds. Its\n"
     "misses are MISS - MSHR_MERGE: accesses to a line that is on its way are\n"
     "misses, too; L2C's WRITE are its write-backs. Compare with 'psnap sim P\n"
     "--count 29500 -m 48K:64:12', which is champsim_config.json's L1D. It counts\n"
     "accesses, not lines, and prefetches if it was built to.\n"},
    {"dramsim3", "DRAMsim3 1.0",
     "    mkdir out\n"
     "    psnap run P -f dramsim3 -m " MEMORY " -- \\\n"
     "        dramsim3main configs/DDR4_8Gb_x8_3200.ini -o out -t {} -c 12000000\n",
     "-c is to be above the last cycle, which is the number of accesses at most; the\n"
     "folder out has to be there. In out/dramsim3.txt num_reads_done are L2's\n"
     "misses, num_writes_done its write-backs.\n" MEMORY_COUNTERS},
    {"ramulator1", "Ramulator 1",
     "    psnap run P -f ramulator1 -m " MEMORY " -- \\\n"
     "        ramulator configs/DDR4-config.cfg --mode=dram --stats s.txt {}\n",
     "In s.txt ramulator.read_requests are L2's misses, ramulator.write_requests its\n"
     "write-backs.\n" MEMORY_COUNTERS},
    {"ramulator-cpu", "Ramulator 1",
     "    sed 's/expected_limit_insts = .*/expected_limit_insts = 0/' \\\n"
     "        configs/DDR4-config.cfg > d4.cfg\n"
     "    psnap run P -f ramulator-cpu -m " MEMORY " -- \\\n"
     "        ramulator d4.cfg --mode=cpu --stats s.txt {}\n",
     "With a limit of instructions it would begin anew, which a FIFO cannot. In\n"
     "s.txt ramulator.read_requests are L2's misses, ramulator.write_requests its\n"
     "write-backs.\n" MEMORY_COUNTERS},
    {"ramulator-cpu", "Ramulator 2.0a",
     "    psnap replay P -f ramulator-cpu -m " CACHES " -o t.cpu\n"
     "    n=$(awk '{n += $1 + 1} END {print n}' t.cpu)\n"
     "    cat > cpu.yaml << END\n"
     "    Frontend:\n"
     "      {impl: SimpleO3, clock_ratio: 8, traces: [t.cpu],\n"
     "       num_expected_insts: $n,\n"
     "       llc_capacity_per_core: 1MB, llc_associativity: 16,\n"
     "       Translation: {impl: NoTranslation, max_addr: 8589934592}}\n" RAMULATOR2_MEMORY
     "    ramulator2 -f cpu.yaml\n",
     "SimpleO3 has a last level of its own: give psnap the levels above it, or\n"
     "-m none. With more instructions than the trace has it would begin anew.\n"
     "total_num_read_requests are L3's misses, total_num_write_requests its\n"
     "write-backs, as of 'psnap sim P -m " CACHES ",1M:64:16', but\n"
     "for less than a percent. llc_read_misses are more: a load that waits for room\n"
     "misses in each cycle.\n"},
    {"ramulator2-ls", "Ramulator 2.0a",
     "    psnap replay P -f ramulator2-ls -m " MEMORY " -o t.ls\n"
     "    cat > ls.yaml << END\n"
     "    Frontend: {impl: LoadStoreTrace, clock_ratio: 8, path: t.ls}\n" RAMULATOR2_MEMORY
     "    ramulator2 -f ls.yaml\n",
     "total_num_read_requests are L2's misses, total_num_write_requests its\n"
     "write-backs; num_read_reqs_0 has a request for each time that it was "
     "refused.\n" MEMORY_COUNTERS},
    {"ramulator2-rw", "Ramulator 2.1",
     "    psnap replay P -f ramulator2-rw -m " MEMORY " -o t.rw\n"
     "    cat > rw.py << 'END'\n"
     "    import ramulator as r\n"
     "    dram = r.dram.DDR4(\n"
     "        org_preset='DDR4_8Gb_x8', timing_preset='DDR4_2400R', rank=1)\n"
     "    controller = r.controller.GenericDDR(\n"
     "        dram=dram, scheduler=r.scheduler.FRFCFS(),\n"
     "        row_policy=r.row_policy.Open(),\n"
     "        refresh_manager=r.refresh_manager.AllBank(),\n"
     "        addr_mapper=r.addr_mapper.PassThroughAddrMapper())\n"
     "    memory = r.memory_system.GenericDRAM(\n"
     "        clock_ratio=3, controllers=[controller],\n"
     "        channel_mapper=r.channel_mapper.PassThroughChannelMapper())\n"
     "    trace = r.frontend.ReadWriteTrace(clock_ratio=8, path='t.rw')\n"
     "    simulation = r.Simulation(trace, memory)\n"
     "    simulation.run()\n"
     "    print(simulation.stats_yaml)\n"
     "    END\n"
     "    python3 rw.py\n",
     "2.1 has no program, but a module of Python. 2.0a ends after 0 cycles.\n"
     "num_read_reqs of the controller are L2's misses, num_write_reqs its\n"
     "write-backs.\n" MEMORY_COUNTERS},
    {"oracle", "libCacheSim aa0fc40",
     "    psnap replay P -f oracle -o t.oracle.zst\n"
     "    cachesim t.oracle.zst oracleGeneral lru 32KB,256KB\n",
     "Compare with 'psnap sim P -m 32K:64:512' (and 256K:64:4096): its caches have\n"
     "one set. It counts lines, so that requests are more than accesses by those\n"
     "that cross; the miss ratio is of requests.\n"},
    {"spatter", "Spatter 2.1",
     "    psnap replay P -f spatter -o t.json\n"
     "    spatter -f t.json\n",
     "A line for each pattern, in the order of the file: bytes, seconds and MB/s.\n"
     "Bytes are 8 for each element, pattern * count: neither accesses nor lines; the\n"
     "names have the accesses. psnap has nothing that these are to equal.\n"},
    {"gem5", "gem5 24.0",
     "    psnap replay P -f gem5 -m none --layout compact -o t.gem5.gz\n"
     "    # a state of TrafficGen: STATE 0 DURATION TRACE t.gem5.gz 0\n",
     "Its sources were read, it was not run. A packet is within a line: numPackets\n"
     "of the generator are accesses and one more for each that crosses;\n"
     "overallMisses of a cache behind it are lines.\n"},
    {"trafficgen", "gem5 24.0",
     "    psnap replay P -f trafficgen -o t.cfg    # TrafficGen(config_file='t.cfg')\n",
     "Its sources were read, it was not run. numPackets of the generator are the\n"
     "accesses of the states, but for those that are left out.\n"},
    {"prospero", "SST Prospero",
     "    psnap replay P -f prospero -o t.trace\n"
     "    # prospero.prosperoCPU, reader: prospero.ProsperoTextTraceReader\n",
     "Its readers were run, which had every access. It counts accesses;\n"
     "split_read_reqs and split_write_reqs are those that cross lines.\n"},
    {"prospero-bin", "SST Prospero",
     "    psnap replay P -f prospero-bin -o t.bin\n"
     "    # prospero.prosperoCPU, reader: prospero.ProsperoBinaryTraceReader\n",
     "Its readers were run, which had every access. It counts accesses;\n"
     "split_read_reqs and split_write_reqs are those that cross lines.\n"},
    {"lackey", "Valgrind 3.19",
     "    valgrind --tool=lackey --trace-mem=yes --log-file=t.lackey PROGRAM\n"
     "    psnap sim t.lackey -m 32K:64:8\n",
     "Valgrind writes this format, nothing else reads it. Compare psnap's L1 misses\n"
     "with cachegrind's (--cache-sim=yes --D1=32768,8,64) D1 misses: both count\n"
     "accesses, an access in two lines once. cachegrind takes a read that is\n"
     "modified for one access, lackey's 'M' is two here.\n"},
};

const struct psnap_consumer *psnap_consumer_at(const char *format, size_t i)
{
    for (size_t k = 0; k < sizeof consumers / sizeof *consumers; k++)
        if (!strcmp(consumers[k].format, format) && i-- == 0)
            return &consumers[k];
    return NULL;
}
