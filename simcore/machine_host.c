/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The machine this runs on, from Linux's cache topology (Documentation/ABI/
 * testing/sysfs-devices-system-cpu): cpu0/cache/indexN holds level, type, size,
 * coherency_line_size and ways_of_associativity. Instruction caches are left
 * out. A virtual machine may report a size that is no whole number of sets (its
 * share of a larger cache): it is rounded down and the description says so. Ways
 * of 0 mean fully associative, or unknown: fully associative is taken.
 *
 * Cores are counted, not the hardware threads of one core: a processor counts if it is the first
 * in its topology/thread_siblings_list. The cores that share a cache are those of its
 * shared_cpu_list.
 *
 * Some virtual machines hide the topology. Then the sizes are the C library's, which asks the
 * processor: of a cache that groups of cores have each for themselves it may know the sum, and its
 * ways not. The description says so.
 */
#include "simcore/machine.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/base/text.h"

#define INDEX_MAX 16
#define CPUS_MAX 65536

/* The first word of a small file under the root; false when there is none. */
static bool read_word(const char *root, const char *path, char *word, size_t size)
{
    char full[512];
    FILE *file;
    bool found;

    if ((size_t)snprintf(full, sizeof full, "%s/%s", root, path) >= sizeof full)
        return false;
    file = fopen(full, "r");
    if (!file)
        return false;
    found = fgets(word, (int)size, file) != NULL;
    fclose(file);
    if (found)
        word[strcspn(word, " \n")] = '\0';
    return found;
}

static bool read_number(const char *root, unsigned index, const char *name, uint64_t *value)
{
    char path[64], word[64];

    snprintf(path, sizeof path, "cpu0/cache/index%u/%s", index, name);
    return read_word(root, path, word, sizeof word) && psnap_text_size(word, value);
}

/* Not the second or a later hardware thread of its core. */
static bool is_core(const char *root, unsigned long cpu)
{
    char path[80], word[64];

    snprintf(path, sizeof path, "cpu%lu/topology/thread_siblings_list", cpu);
    return !read_word(root, path, word, sizeof word) || strtoul(word, NULL, 10) == cpu;
}

/* How many cores are in a list of processors such as "0-3,8,10-11"; 1 if it is none. */
static uint32_t count_listed_cores(const char *root, const char *list)
{
    uint32_t cores = 0;

    while (*list >= '0' && *list <= '9') {
        char *end;
        const unsigned long first = strtoul(list, &end, 10);
        const unsigned long last = *end == '-' ? strtoul(end + 1, &end, 10) : first;

        for (unsigned long cpu = first; cpu <= last && cpu < CPUS_MAX; cpu++)
            cores += is_core(root, cpu);
        list = *end == ',' ? end + 1 : end;
    }
    return cores ? cores : 1;
}

#define WAYS_UNKNOWN 16 /* what is taken where the C library knows no ways */

/* What the C library knows, in order; levels it has no size of are left out. */
static void ask_library(struct psnap_machine *machine)
{
    static const struct {
        int size, line, ways;
    } names[] = {
        {_SC_LEVEL1_DCACHE_SIZE, _SC_LEVEL1_DCACHE_LINESIZE, _SC_LEVEL1_DCACHE_ASSOC},
        {_SC_LEVEL2_CACHE_SIZE, _SC_LEVEL2_CACHE_LINESIZE, _SC_LEVEL2_CACHE_ASSOC},
        {_SC_LEVEL3_CACHE_SIZE, _SC_LEVEL3_CACHE_LINESIZE, _SC_LEVEL3_CACHE_ASSOC},
    };

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct psnap_cache_level *level = &machine->levels[machine->level_count];
        const long size = sysconf(names[i].size), line = sysconf(names[i].line);
        const long ways = sysconf(names[i].ways);
        const bool is_last = i + 1 == sizeof names / sizeof names[0];

        if (size <= 0 || line <= 0)
            continue;
        *level = (struct psnap_cache_level){.size_bytes = (uint64_t)size,
                                            .line_bytes = (uint64_t)line,
                                            .ways = ways > 0 ? (uint64_t)ways : WAYS_UNKNOWN};
        level->shared_by = is_last ? (uint32_t)sysconf(_SC_NPROCESSORS_CONF) : 1;
        machine->level_count++;
        snprintf(machine->description, sizeof machine->description,
                 "this computer, as the C library describes it%s",
                 ways > 0 ? "" : "; the last cache's ways are unknown, its size may be a sum");
    }
}

/* The data or unified cache `index`, or false. */
static bool read_cache(const char *root, unsigned index, uint64_t *number,
                       struct psnap_cache_level *level)
{
    char path[64], type[64], list[1024] = "";

    snprintf(path, sizeof path, "cpu0/cache/index%u/type", index);
    if (!read_word(root, path, type, sizeof type) || !strcmp(type, "Instruction"))
        return false;
    *level = (struct psnap_cache_level){0};
    if (!read_number(root, index, "level", number) ||
        !read_number(root, index, "size", &level->size_bytes) ||
        !read_number(root, index, "coherency_line_size", &level->line_bytes))
        return false;
    read_number(root, index, "ways_of_associativity", &level->ways);
    if (level->ways == 0 && level->line_bytes)
        level->ways = level->size_bytes / level->line_bytes;
    snprintf(path, sizeof path, "cpu0/cache/index%u/shared_cpu_list", index);
    read_word(root, path, list, sizeof list);
    level->shared_by = count_listed_cores(root, list);
    return true;
}

static uint32_t count_cores(const char *root)
{
    char path[64], word[64];
    uint32_t cores = 0;
    unsigned long cpu = 0;

    do {
        cores += is_core(root, cpu++);
        snprintf(path, sizeof path, "cpu%lu/topology/core_id", cpu);
    } while (cpu < CPUS_MAX && read_word(root, path, word, sizeof word));
    return cores;
}

static void round_to_sets(struct psnap_machine *machine, struct psnap_cache_level *level,
                          uint32_t number)
{
    const uint64_t set_bytes = level->line_bytes * level->ways;
    const size_t used = strlen(machine->description);

    if (set_bytes == 0 || level->size_bytes % set_bytes == 0)
        return;
    snprintf(machine->description + used, sizeof machine->description - used,
             "; level %" PRIu32 " rounded down from %" PRIu64 " bytes to whole sets", number,
             level->size_bytes);
    level->size_bytes -= level->size_bytes % set_bytes;
}

enum psnap_status psnap_machine_host(const char *root, struct psnap_machine *machine,
                                     struct psnap_error *error)
{
    const char *from = root ? root : "/sys/devices/system/cpu";
    char word[64];
    uint64_t khz;

    *machine = (struct psnap_machine){.name = "host",
                                      .description = "this computer, as its system describes it"};
    for (uint64_t wanted = 1; wanted <= PSNAP_LEVELS_MAX; wanted++) {
        bool found = false;
        for (unsigned index = 0; index < INDEX_MAX && !found; index++) {
            struct psnap_cache_level level;
            uint64_t number;

            found = read_cache(from, index, &number, &level) && number == wanted;
            if (found)
                machine->levels[machine->level_count++] = level;
        }
        if (!found)
            break;
    }
    if (machine->level_count == 0 && !root)
        ask_library(machine);
    for (uint32_t i = 0; i < machine->level_count; i++)
        round_to_sets(machine, &machine->levels[i], i + 1);
    if (machine->level_count == 0)
        return psnap_error_set(error, PSNAP_ERROR_UNSUPPORTED,
                               "the system does not describe its caches under '%.300s': write a "
                               "machine file instead",
                               from);
    machine->cores = count_cores(from);
    if (read_word(from, "cpu0/cpufreq/cpuinfo_max_freq", word, sizeof word) &&
        psnap_text_u64(word, &khz))
        machine->clock_hz = 1e3 * (double)khz;
    return psnap_machine_check(machine, error);
}
