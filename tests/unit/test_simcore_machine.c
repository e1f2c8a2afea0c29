/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The machine model: every way in, what each refuses and where it says the
 * mistake is, and the bundled machines against the published tables.
 */
#include <unistd.h>

#include "tests/unit/test_simcore_support.h"

static void assert_level(const struct psnap_machine *machine, uint32_t level, uint64_t size,
                         uint64_t line, uint64_t ways, uint64_t sets)
{
    assert_true(level < machine->level_count);
    assert_int_equal(machine->levels[level].size_bytes, size);
    assert_int_equal(machine->levels[level].line_bytes, line);
    assert_int_equal(machine->levels[level].ways, ways);
    assert_int_equal(machine->levels[level].sets, sets);
}

TEST(inline_form_reads_levels)
{
    struct psnap_machine machine;

    assert_int_equal(psnap_machine_parse_inline("32K:64:8,1M:128:16,36M:64:12", &machine, NULL),
                     PSNAP_OK);
    assert_int_equal(machine.level_count, 3);
    assert_string_equal(machine.name, "32K:64:8,1M:128:16,36M:64:12");
    assert_level(&machine, 0, 32 << 10, 64, 8, 64);
    assert_level(&machine, 1, 1 << 20, 128, 16, 512);
    assert_level(&machine, 2, 36 << 20, 64, 12, 49152);
    assert_int_equal(machine.levels[2].replacement, PSNAP_REPLACE_LRU);
    assert_int_equal(psnap_machine_parse_inline("4096:1:full", &machine, NULL), PSNAP_OK);
    assert_level(&machine, 0, 4096, 1, 4096, 1);
    assert_int_equal(
        psnap_machine_parse_inline("1K:64:4:plru,8K:64:full:random,48K:64:3:lru", &machine, NULL),
        PSNAP_OK);
    assert_int_equal(machine.level_count, 3);
    assert_int_equal(machine.levels[0].replacement, PSNAP_REPLACE_PLRU);
    assert_int_equal(machine.levels[1].replacement, PSNAP_REPLACE_RANDOM);
    assert_level(&machine, 1, 8192, 64, 128, 1);
    assert_int_equal(machine.levels[2].replacement, PSNAP_REPLACE_LRU);
}

TEST(inline_form_says_where_the_mistake_is)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"", "level 1, character 1: expected a size"},
        {"32K", "level 1, character 4: expected ':'"},
        {"32K:64", "level 1, character 7: expected ':'"},
        {"32K:64:", "level 1, character 8: expected a number of ways"},
        {"32K:64:1K", "level 1, character 8: expected a number of ways"},
        {"32K:64:8,", "level 2, character 10: expected a size"},
        {"32K:64:8:2", "level 1, character 10: expected lru, plru, random, fifo or srrip"},
        {"32K:64:8:plru:2", "level 1, character 14: expected ',' or the end"},
        {"32K:64:8:", "level 1, character 10: expected lru, plru, random, fifo or srrip"},
        {"32K:64:8,48K:64:12:plru", "level 2, character 20: plru needs a power of two of ways"},
        {"3K:64:full:plru", "level 1, character 12: plru needs a power of two of ways, not 48"},
        {"32K:48:8", "level 1, character 5: line_bytes 48 is not a power of two"},
        {"32K:0:8", "level 1, character 5: line_bytes 0"},
        {"32K:2G:1", "level 1, character 5: line_bytes 2147483648"},
        {"32K:64:0", "level 1, character 8: ways must be at least 1"},
        {"0:64:8", "level 1, character 1: size_bytes 0"},
        {"33K:64:8,100:64:1", "level 2, character 10: size_bytes 100 is not a whole number of"},
        {"2T:64:8", "level 1, character 1: size_bytes 2199023255552"},
        {"1T:1:1", "level 1, character 1: 1099511627776 lines"},
        {"99999999999999999999:64:8", "level 1, character 1: expected a size"},
        {"32K:64:8;", "level 1, character 8: expected a number of ways"},
        {"-32K:64:8", "level 1, character 1: expected a size"},
        {"32K:64:1111111111111111111111111111", "level 1, character 8: expected a number"},
        {"1K:64:1,1K:64:1,1K:64:1,1K:64:1,1K:64:1,1K:64:1,1K:64:1,1K:64:1,1K:64:1",
         "level 9, character 65: too many levels"},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        struct psnap_machine machine;
        struct psnap_error error;

        assert_int_equal(psnap_machine_parse_inline(cases[i].text, &machine, &error),
                         PSNAP_ERROR_VALUE);
        if (!strstr(error.message, cases[i].message))
            fail_msg("'%s': '%s' is not in '%s'", cases[i].text, cases[i].message, error.message);
    }
}

TEST(bundled_machines_are_the_published_ones)
{
    /* the paper's Table 1: size KB, line B, ways */
    static const uint64_t structures[10][3][3] = {
        {{32, 128, 2}, {1024, 128, 8}},
        {{256, 128, 8}, {9216, 128, 12}},
        {{64, 64, 2}, {512, 64, 16}},
        {{32, 32, 4}, {128, 64, 2}},
        {{64, 64, 2}, {512, 64, 16}, {1023, 64, 48}}, /* 1024 as printed, in whole sets */
        {{64, 128, 8}, {4096, 128, 8}, {16384, 128, 16}},
        {{64, 64, 2}, {512, 64, 8}},
        {{64, 64, 2}, {512, 64, 32}},
        {{64, 64, 2}, {512, 32, 16}},
        {{64, 64, 2}, {512, 128, 16}},
    };
    const struct psnap_machine *bundled;
    size_t count = 0;

    for (int i = 0; i < 10; i++) {
        struct psnap_machine machine;
        char name[32];

        snprintf(name, sizeof name, "table1-%d", i + 1);
        assert_int_equal(psnap_machine_find(name, &machine, NULL), PSNAP_OK);
        assert_string_equal(machine.name, name);
        assert_int_equal(machine.level_count, structures[i][2][0] ? 3 : 2);
        for (uint32_t level = 0; level < machine.level_count; level++) {
            assert_int_equal(machine.levels[level].size_bytes, structures[i][level][0] * 1024);
            assert_int_equal(machine.levels[level].line_bytes, structures[i][level][1]);
            assert_int_equal(machine.levels[level].ways, structures[i][level][2]);
        }
    }
    for (; (bundled = psnap_machine_bundled(count)); count++) {
        struct psnap_machine copy = *bundled;

        assert_int_equal(psnap_machine_check(&copy, NULL), PSNAP_OK);
        assert_memory_equal(&copy, bundled, sizeof copy); /* the sets as well */
        assert_true(bundled->description[0]);
    }
    assert_int_equal(count, 23);
    for (size_t i = 17; i < count; i++) {
        assert_true(psnap_machine_bundled(i)->source[0]); /* figures without one are left out */
        assert_string_equal(psnap_machine_bundled(i)->levels[0].name, "L1d");
    }
    assert_int_equal(psnap_machine_bundled(4)->levels[2].sets, 341);
    assert_non_null(strstr(psnap_machine_bundled(4)->description, "341"));
}

/* Those of the run-time model's paper have times, further levels longer ones; the simulator's
 * examples have what the published ones lack, and only that. */
TEST(bundled_machines_have_what_they_are_for)
{
    static const char *const processors[] = {"i7-5960x", "e5-2699v4", "epyc-7702p"};
    static const char *const others[] = {"plru-3", "random-3", "prefetch-3", "tlb-64"};

    for (size_t i = 0; i < COUNT(processors); i++) {
        const struct psnap_machine machine = machine_of(processors[i]);
        double latency = 0, bandwidth = 1e18;

        assert_true(machine.clock_hz > 0 && machine.cores > 0);
        for (uint32_t level = 0; level < machine.level_count; level++) {
            assert_true(machine.levels[level].latency_cycles > latency);
            assert_true(machine.levels[level].bandwidth_bytes_per_s <= bandwidth);
            latency = machine.levels[level].latency_cycles;
            bandwidth = machine.levels[level].bandwidth_bytes_per_s;
        }
        assert_true(machine.levels[2].shared_by > 1);
        assert_true(machine.memory_latency_cycles > latency);
        assert_true(machine.memory_bandwidth_bytes_per_s < bandwidth);
        for (int k = 0; k < PSNAP_OPERATION_COUNT; k++)
            assert_true(machine.operations[k].throughput_cycles > 0);
    }
    for (int i = 0; i < 4; i++) {
        const struct psnap_machine machine = machine_of(others[i]);

        assert_int_equal(machine.level_count, 3);
        for (uint32_t level = 0; level < 3; level++) {
            assert_int_equal(machine.levels[level].replacement, i == 0   ? PSNAP_REPLACE_PLRU
                                                                : i == 1 ? PSNAP_REPLACE_RANDOM
                                                                         : PSNAP_REPLACE_LRU);
            assert_int_equal(machine.levels[level].prefetch.entries != 0, i == 2 && level < 2);
        }
        assert_int_equal(machine.tlb[0].entries, i == 3 ? 64 : 0);
    }
}

static enum psnap_status read_text(const char *text, struct psnap_machine *machine,
                                   struct psnap_error *error)
{
    FILE *file = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
    enum psnap_status status;

    assert_non_null(file);
    status = psnap_machine_read(file, "m.yaml", machine, error);
    fclose(file);
    return status;
}

static const char every_key[] =
    "machine:\n"
    "  name: full of keys\n"
    "  description: with, a comma\n"
    "  clock_hz: 2.5e9\n"
    "  cores: 4\n"
    "  levels:\n"
    "  - {size_bytes: 32K, line_bytes: 64, ways: 8, latency_cycles: 4.5, "
    "throughput_cycles: 0.5, shared_by: 2,"
    " bandwidth_bytes_per_s: 1e11}\n"
    "  - {size_bytes: 3072, line_bytes: 0x20, ways: full,"
    " replacement: random, seed: 18446744073709551615}\n"
    "  - {size_bytes: 1M, line_bytes: 64, ways: 16, replacement: plru,"
    " prefetch: {entries: 64, degree: 2, distance: 8}}\n"
    "  - {size_bytes: 3M, line_bytes: 64, ways: 12, replacement: lru,"
    " prefetch: {}}\n"
    "  tlb:\n"
    "  - {entries: 64}\n"
    "  - {entries: 1536, page_bytes: 2M, ways: 12}\n"
    "  memory: {latency_cycles: 200, throughput_cycles: 20, bandwidth_bytes_per_s: 2e10,"
    " first_touch_cycles: 900}\n"
    "  mispredict_cycles: 15.5\n"
    "  operations: {fp_div: {latency_cycles: 13, throughput_cycles: 4}}\n"
    "  parallel: {alone_cycles: 700, section_cycles: 5e3, barrier_cycles: 1500}\n"
    "  function_cycles: {exp: 12.5, tanh: 60}\n";

static const struct psnap_machine of_every_key = {
    .name = "full of keys",
    .description = "with, a comma",
    .clock_hz = 2.5e9,
    .cores = 4,
    .level_count = 4,
    .levels = {{.size_bytes = 32 << 10,
                .line_bytes = 64,
                .ways = 8,
                .sets = 64,
                .latency_cycles = 4.5,
                .throughput_cycles = 0.5,
                .shared_by = 2,
                .bandwidth_bytes_per_s = 1e11},
               {.size_bytes = 3072,
                .line_bytes = 32,
                .ways = 96,
                .sets = 1,
                .replacement = PSNAP_REPLACE_RANDOM,
                .seed = UINT64_MAX,
                .shared_by = 1},
               {.size_bytes = 1 << 20,
                .line_bytes = 64,
                .ways = 16,
                .sets = 1024,
                .replacement = PSNAP_REPLACE_PLRU,
                .prefetch = {.entries = 64, .degree = 2, .distance = 8},
                .shared_by = 1},
               {.size_bytes = 3 << 20,
                .line_bytes = 64,
                .ways = 12,
                .sets = 4096,
                .prefetch = {.entries = 256, .degree = 1, .distance = 1},
                .shared_by = 1}},
    .tlb_level_count = 2,
    .tlb = {{.entries = 64, .page_bytes = 4096, .ways = 64, .sets = 1},
            {.entries = 1536, .page_bytes = 2 << 20, .ways = 12, .sets = 128}},
    .memory_latency_cycles = 200,
    .memory_throughput_cycles = 20,
    .memory_bandwidth_bytes_per_s = 2e10,
    .first_touch_cycles = 900,
    .mispredict_cycles = 15.5,
    .operations[PSNAP_OP_FP_DIV] = {13, 4},
    .parallel = {.alone_cycles = 700, .section_cycles = 5000, .barrier_cycles = 1500},
    .function_cycles[PSNAP_MATH_EXP] = 12.5,
    .function_cycles[PSNAP_MATH_TANH] = 60};

TEST(files_read_every_key)
{
    struct psnap_machine machine;

    assert_int_equal(read_text(every_key, &machine, NULL), PSNAP_OK);
    assert_memory_equal(&machine, &of_every_key, sizeof machine);
}

#define SHAPE "size_bytes: 32K, line_bytes: 64, ways: 8"
#define LEVEL "{" SHAPE "}"

static const struct {
    const char *text;
    uint32_t src_line, column;
    const char *message;
} mistakes[] = {
    {"levels:\n- {name: '', " SHAPE "}\n", 2, 10, "name must be one line of 1 to 31 bytes"},
    {"levels:\n- {name: [], " SHAPE "}\n", 2, 10, "one value"},
    {"levels:\n- {name: L1 of more than thirty-one bytes, " SHAPE "}\n", 2, 10, "31 bytes"},
    {"levels:\n- {name: L, " SHAPE "}\n- {name: L, " SHAPE "}\n", 3, 10,
     "name 'L' is that of level 1, too"},
    {"source: ''\nlevels: [" LEVEL "]\n", 1, 9, "source must be one line"},
    {"[]", 1, 1, "map"},
    {"machines: {}\n", 1, 1, "machines"},
    {"machine: {}\nmachine: {}\n", 2, 1, "machine"},
    {"machine: 3\n", 1, 10, "map"},
    {"machine: {name: ''}\n", 1, 17, "name"},
    {"machine: {levels: []}\nname: x\n", 2, 1, "name"},
    {"machine: {name: x}\n", 1, 10, "levels"},
    {"machine: {name: x, levels: []}\n", 1, 28, "1 to 8 levels"},
    {"machine: {name: x, levels: 7}\n", 1, 28, "levels"},
    {"machine:\n  name: x\n  levels:\n  - " LEVEL "\n  speed: 3\n", 5, 3, "speed"},
    {"machine:\n  name: x\n  levels:\n  - {size_bytes: 32K, line_bytes: 48, ways: 8}\n", 4, 35,
     "power of two"},
    {"machine:\n  name: x\n  levels:\n  - " LEVEL
     "\n  - {size_bytes: 100, line_bytes: 64, ways: 1}\n",
     5, 18, "whole number of sets"},
    {"machine:\n  name: x\n  levels:\n  - {size_bytes: 32K, line_bytes: 64}\n", 4, 5, "ways"},
    {"machine:\n  name: x\n  levels:\n  - {size_bytes: 32K, line_bytes: 64, ways: none}\n", 4, 45,
     "ways"},
    {"machine:\n  name: x\n  levels:\n  - {size_bytes: 1M, line_bytes: 64, ways: 1K}\n", 4, 44,
     "ways"},
    {"machine: {name: x, cores: 0, levels: [" LEVEL "]}\n", 1, 27, "cores"},
    {"machine: {name: x, clock_hz: .nan, levels: [" LEVEL "]}\n", 1, 30, "clock_hz"},
    {"machine: {name: x, memory: {size: 3}, levels: [" LEVEL "]}\n", 1, 29, "size"},
    {"levels:\n- " LEVEL "\n- {size_bytes: 48K, line_bytes: 64, ways: 12,\n"
     "   replacement: plru}\n",
     4, 17, "plru needs a power of two of ways, not 12"},
    {"levels:\n- {" SHAPE ",\n   replacement: mru}\n", 3, 17,
     "lru, plru, random, fifo or srrip, not 'mru'"},
    {"levels:\n- {" SHAPE ", replacement: plru,\n   seed: 7}\n", 3, 10,
     "a seed is for random replacement, not plru"},
    {"levels:\n- {" SHAPE ",\n   seed: 0}\n", 3, 10, "a seed is for random replacement, not lru"},
    {"levels:\n- {" SHAPE ", replacement: random,\n   seed: -1}\n", 3, 10, "seed"},
    {"levels:\n- {" SHAPE ",\n   prefetch: 2}\n", 3, 14, "map"},
    {"levels:\n- {" SHAPE ",\n   inclusion: inclusive}\n", 3, 15, "nothing is nearer"},
    {"levels:\n- " LEVEL "\n- {size_bytes: 64K, line_bytes: 128, ways: 8,\n"
     "   inclusion: exclusive}\n",
     4, 15, "has the lines of the one before, 64 bytes, not 128"},
    {"levels:\n- {" SHAPE ",\n   inclusion: some}\n", 3, 15, "not 'some'"},
    {"levels:\n- {" SHAPE ",\n   write: behind}\n", 3, 11, "write is back or through"},
    {"levels:\n- {" SHAPE ",\n   write_allocate: maybe}\n", 3, 20, "yes or no, not 'maybe'"},
    {"levels:\n- {" SHAPE ",\n   victim_lines: 0}\n", 3, 18, "victim_lines"},
    {"levels:\n- {" SHAPE ",\n   index: crc}\n", 3, 11, "modulo or xor, not 'crc'"},
    {"levels:\n- {size_bytes: 12K, line_bytes: 64, ways: 4,\n   index: xor}\n", 3, 11,
     "power of two of sets, not 48"},
    {"levels:\n- {" SHAPE ",\n   prefetch: {next_lines: 17}}\n", 3, 27, "next_lines"},
    {"coherence: mesi\nlevels: [" LEVEL "]\n", 1, 12, "none or invalidate, not 'mesi'"},
    {"levels:\n- {" SHAPE ",\n   prefetch: {degree: 17}}\n", 3, 23, "degree"},
    {"levels:\n- {" SHAPE ",\n   prefetch: {distance: 0}}\n", 3, 25, "distance"},
    {"levels:\n- {" SHAPE ",\n   prefetch: {entries: 0}}\n", 3, 24, "entries"},
    {"levels:\n- {" SHAPE ",\n   prefetch: {depth: 3}}\n", 3, 15, "depth"},
    {"levels: [" LEVEL "]\ntlb: {entries: 64}\n", 2, 6, "list"},
    {"levels: [" LEVEL "]\ntlb: []\n", 2, 6, "1 or 2 levels"},
    {"levels: [" LEVEL "]\ntlb: [{page_bytes: 4K}]\n", 2, 7, "entries"},
    {"levels: [" LEVEL "]\ntlb: [{entries: 64, page_bytes: 3000}]\n", 2, 33, "power of two"},
    {"levels: [" LEVEL "]\ntlb:\n- {entries: 64}\n- {entries: 100, ways: 12}\n", 4, 24,
     "not a whole number of sets of 12 ways"},
    {"levels: [" LEVEL "]\ntlb: [{entries: 64, reach: 4}]\n", 2, 21, "reach"},
};

TEST(files_say_where_the_mistake_is)
{
    for (size_t i = 0; i < COUNT(mistakes); i++) {
        struct psnap_machine machine;
        struct psnap_error error = {0};

        assert_true(read_text(mistakes[i].text, &machine, &error) < 0);
        if (!strstr(error.message, mistakes[i].message) || error.src_line != mistakes[i].src_line ||
            error.column != mistakes[i].column)
            fail_msg("%s: %u:%u: %s", mistakes[i].text, error.src_line, error.column,
                     error.message);
        assert_string_equal(error.file, "m.yaml");
    }
}

TEST(files_of_the_samples_are_machines)
{
    static const char *const names[] = {"desktop", "embedded", "octa", "server", "tlb"};

    for (size_t i = 0; i < COUNT(names); i++) {
        char path[64];

        snprintf(path, sizeof path, "samples/machines/%s.yaml", names[i]);
        assert_string_equal(machine_of(path).name, names[i]);
    }
}

TEST(find_suggests_and_explains)
{
    struct psnap_machine machine;
    struct psnap_error error;

    assert_int_equal(read_text("levels:\n- " LEVEL "\n", &machine, NULL), PSNAP_OK);
    assert_string_equal(machine.name, "m"); /* of the file */
    assert_int_equal(psnap_machine_find("tabel1-4", &machine, &error), PSNAP_ERROR_VALUE);
    assert_non_null(strstr(error.message, "did you mean 'table1-4'"));
    assert_int_equal(psnap_machine_find("/no/such.yaml", &machine, &error), PSNAP_ERROR_IO);
    assert_non_null(strstr(error.message, "no such file"));
    assert_true(psnap_machine_find("samples", &machine, &error) < 0); /* a directory */
    assert_int_equal(psnap_machine_find("1K:64:1", &machine, &error), PSNAP_OK);
}

static void write_cache(const char *root, unsigned index, const char *level, const char *type,
                        const char *size, const char *line, const char *ways)
{
    const char *const names[] = {"level", "type", "size", "coherency_line_size",
                                 "ways_of_associativity"};
    const char *const texts[] = {level, type, size, line, ways};
    char path[128];

    for (int i = 0; i < 5; i++) {
        snprintf(path, sizeof path, "cpu0/cache/index%u/%s", index, names[i]);
        write_below(root, path, texts[i]);
    }
}

TEST(host_is_read_from_its_description)
{
    char root[] = "/tmp/psnap-host-XXXXXX", command[64];
    struct psnap_machine machine;
    struct psnap_error error;

    assert_non_null(mkdtemp(root));
    assert_int_equal(psnap_machine_host(root, &machine, &error), PSNAP_ERROR_UNSUPPORTED);
    write_cache(root, 0, "1\n", "Data\n", "48K\n", "64\n", "12\n");
    write_cache(root, 1, "1\n", "Instruction\n", "32K\n", "64\n", "8\n");
    write_cache(root, 2, "2\n", "Unified\n", "2048K\n", "64\n", "16\n");
    write_cache(root, 3, "3\n", "Unified\n", "1000K\n", "64\n", "15\n"); /* 1066.67 sets */
    write_below(root, "cpu0/topology/core_id", "0\n");
    write_below(root, "cpu1/topology/core_id", "1\n");
    write_below(root, "cpu2/topology/core_id", "2\n");
    write_below(root, "cpu0/cpufreq/cpuinfo_max_freq", "3500000\n");
    assert_int_equal(psnap_machine_host(root, &machine, &error), PSNAP_OK);
    assert_string_equal(machine.name, "host");
    assert_int_equal(machine.level_count, 3);
    assert_int_equal(machine.cores, 3);
    assert_true(machine.clock_hz == 3.5e9);
    assert_level(&machine, 0, 48 << 10, 64, 12, 64);
    assert_level(&machine, 1, 2 << 20, 64, 16, 2048);
    assert_level(&machine, 2, 1066 * 64 * 15, 64, 15, 1066);
    assert_non_null(strstr(machine.description, "level 3 rounded down from 1024000 bytes"));
    assert_int_equal(machine.levels[2].shared_by, 1);

    /* two hardware threads a core: 0 and 2, 1 and 3 */
    write_below(root, "cpu3/topology/core_id", "1\n");
    write_below(root, "cpu0/topology/thread_siblings_list", "0,2\n");
    write_below(root, "cpu1/topology/thread_siblings_list", "1,3\n");
    write_below(root, "cpu2/topology/thread_siblings_list", "0,2\n");
    write_below(root, "cpu3/topology/thread_siblings_list", "1,3\n");
    write_below(root, "cpu0/cache/index0/shared_cpu_list", "0,2\n");
    write_below(root, "cpu0/cache/index3/shared_cpu_list", "0-1,2-3\n");
    assert_int_equal(psnap_machine_host(root, &machine, &error), PSNAP_OK);
    assert_int_equal(machine.cores, 2);
    assert_int_equal(machine.levels[0].shared_by, 1);
    assert_int_equal(machine.levels[1].shared_by, 1);
    assert_int_equal(machine.levels[2].shared_by, 2);
    snprintf(command, sizeof command, "rm -r %s", root);
    assert_int_equal(system(command), 0);
}

/* Whether the system describes its caches, or hides them and the C library knows some. */
TEST(host_is_known_where_the_library_knows_caches)
{
    struct psnap_machine machine;
    struct psnap_error error;

    if (sysconf(_SC_LEVEL1_DCACHE_SIZE) <= 0 || sysconf(_SC_LEVEL1_DCACHE_LINESIZE) <= 0)
        skip();
    assert_int_equal(psnap_machine_host(NULL, &machine, &error), PSNAP_OK);
    assert_true(machine.level_count >= 1);
    assert_true(machine.levels[0].ways >= 1);
    assert_int_equal(machine.levels[0].line_bytes, sysconf(_SC_LEVEL1_DCACHE_LINESIZE));
    assert_int_equal(psnap_machine_check(&machine, &error), PSNAP_OK);
}
