/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The machine model: what a machine may be, and the inline form. Every way in ends in
 * psnap_machine_check, so that the simulator never sees a level that is not line_bytes * ways *
 * sets bytes with line_bytes a power of two.
 */
#include "simcore/machine.h"

#include <inttypes.h>
#include <string.h>

#include "formats/base/text.h"

static const char *const replacement_names[PSNAP_REPLACE_COUNT] = {"lru", "plru", "random", "fifo",
                                                                   "srrip"};
static const char *const index_names[PSNAP_INDEX_COUNT] = {"modulo", "xor"};
static const char *const inclusion_names[PSNAP_INCLUSION_COUNT] = {"non-inclusive", "inclusive",
                                                                   "exclusive"};

const char *psnap_replacement_name(enum psnap_replacement replacement)
{
    return replacement_names[replacement];
}

const char *psnap_set_index_name(enum psnap_set_index index)
{
    return index_names[index];
}

bool machine_index_parse(const char *text, enum psnap_set_index *index)
{
    for (int i = 0; i < PSNAP_INDEX_COUNT; i++)
        if (!strcmp(text, index_names[i])) {
            *index = (enum psnap_set_index)i;
            return true;
        }
    return false;
}

const char *psnap_inclusion_name(enum psnap_inclusion inclusion)
{
    return inclusion_names[inclusion];
}

bool machine_inclusion_parse(const char *text, enum psnap_inclusion *inclusion)
{
    for (int i = 0; i < PSNAP_INCLUSION_COUNT; i++)
        if (!strcmp(text, inclusion_names[i])) {
            *inclusion = (enum psnap_inclusion)i;
            return true;
        }
    return false;
}

bool machine_is_detailed(const struct psnap_machine *machine)
{
    bool detailed = machine->coherent;

    for (uint32_t i = 0; i < machine->level_count; i++) {
        const struct psnap_cache_level *level = &machine->levels[i];
        detailed |= level->inclusion != PSNAP_NON_INCLUSIVE || level->write_through ||
                    level->no_write_allocate || level->victim_lines || level->prefetch.next_lines;
    }
    return detailed;
}

bool machine_replacement_parse(const char *text, enum psnap_replacement *replacement)
{
    for (int i = 0; i < PSNAP_REPLACE_COUNT; i++) {
        if (!strcmp(text, replacement_names[i])) {
            *replacement = (enum psnap_replacement)i;
            return true;
        }
    }
    return false;
}

const char *const machine_operation_names[PSNAP_OPERATION_COUNT + 1] = {
#define PSNAP_OPERATION(NAME, text) [PSNAP_OP_##NAME] = text,
#include "formats/base/capture_abi.inc"
};

const char *const machine_function_names[PSNAP_MATH_FUNCTION_COUNT + 1] = {
    [PSNAP_MATH_ACOS] = "acos",   [PSNAP_MATH_ASIN] = "asin",   [PSNAP_MATH_ATAN] = "atan",
    [PSNAP_MATH_ATAN2] = "atan2", [PSNAP_MATH_CBRT] = "cbrt",   [PSNAP_MATH_COS] = "cos",
    [PSNAP_MATH_COSH] = "cosh",   [PSNAP_MATH_COSF] = "cosf",   [PSNAP_MATH_ERF] = "erf",
    [PSNAP_MATH_ERFC] = "erfc",   [PSNAP_MATH_EXP] = "exp",     [PSNAP_MATH_EXP2] = "exp2",
    [PSNAP_MATH_EXPF] = "expf",   [PSNAP_MATH_EXPM1] = "expm1", [PSNAP_MATH_FMOD] = "fmod",
    [PSNAP_MATH_HYPOT] = "hypot", [PSNAP_MATH_LOG] = "log",     [PSNAP_MATH_LOG10] = "log10",
    [PSNAP_MATH_LOG1P] = "log1p", [PSNAP_MATH_LOG2] = "log2",   [PSNAP_MATH_LOGF] = "logf",
    [PSNAP_MATH_POW] = "pow",     [PSNAP_MATH_POWF] = "powf",   [PSNAP_MATH_SIN] = "sin",
    [PSNAP_MATH_SINF] = "sinf",   [PSNAP_MATH_SINH] = "sinh",   [PSNAP_MATH_TAN] = "tan",
    [PSNAP_MATH_TANH] = "tanh",
};

const char *psnap_math_function_name(enum psnap_math_function function)
{
    return machine_function_names[function];
}

bool machine_knows_operation(const struct psnap_operation_cost *cost)
{
    return cost->latency_cycles > 0 || cost->throughput_cycles > 0;
}

bool machine_knows_functions(const double cycles[PSNAP_MATH_FUNCTION_COUNT])
{
    for (int i = 0; i < PSNAP_MATH_FUNCTION_COUNT; i++)
        if (cycles[i] > 0)
            return true;
    return false;
}

bool machine_knows_parallel(const struct psnap_parallel_cost *cost)
{
    return cost->alone_cycles > 0 || cost->section_cycles > 0 || cost->barrier_cycles > 0;
}

bool machine_knows_memory(const struct psnap_machine *machine)
{
    return machine->memory_latency_cycles > 0 || machine->memory_throughput_cycles > 0 ||
           machine->first_touch_cycles > 0 || machine->memory_bandwidth_bytes_per_s > 0;
}

static bool is_power_of_two(uint64_t number)
{
    return number && !(number & (number - 1));
}

/* A level's replacement and prefetcher, its shape being right. */
static enum psnap_status check_policy(const struct psnap_cache_level *level,
                                      struct machine_fault *fault, struct psnap_error *error)
{
    const struct psnap_prefetch *prefetch = &level->prefetch;

    fault->field = MACHINE_REPLACEMENT;
    if ((unsigned)level->replacement >= PSNAP_REPLACE_COUNT)
        return psnap_error_set(error, PSNAP_ERROR_VALUE,
                               "replacement is lru, plru, random, fifo or srrip");
    if (level->replacement == PSNAP_REPLACE_PLRU && !is_power_of_two(level->ways))
        return psnap_error_set(error, PSNAP_ERROR_VALUE,
                               "plru needs a power of two of ways, not %" PRIu64, level->ways);
    if (level->replacement == PSNAP_REPLACE_SRRIP && level->ways > PSNAP_SRRIP_WAYS_MAX)
        return psnap_error_set(error, PSNAP_ERROR_VALUE, "srrip has at most %d ways, not %" PRIu64,
                               PSNAP_SRRIP_WAYS_MAX, level->ways);
    fault->field = MACHINE_INDEX;
    if ((unsigned)level->index >= PSNAP_INDEX_COUNT)
        return psnap_error_set(error, PSNAP_ERROR_VALUE, "index is modulo or xor");
    if (level->index == PSNAP_INDEX_XOR && !is_power_of_two(level->sets))
        return psnap_error_set(error, PSNAP_ERROR_VALUE,
                               "index xor needs a power of two of sets, not %" PRIu64, level->sets);
    fault->field = MACHINE_SEED;
    if (level->seed && level->replacement != PSNAP_REPLACE_RANDOM)
        return psnap_error_set(error, PSNAP_ERROR_VALUE, "a seed is for random replacement, not %s",
                               replacement_names[level->replacement]);
    fault->field = MACHINE_INCLUSION;
    if ((unsigned)level->inclusion >= PSNAP_INCLUSION_COUNT)
        return psnap_error_set(error, PSNAP_ERROR_VALUE,
                               "inclusion is non-inclusive, inclusive or exclusive");
    fault->field = MACHINE_VICTIM_LINES;
    if (level->victim_lines > PSNAP_VICTIM_LINES_MAX)
        return psnap_error_set(error, PSNAP_ERROR_VALUE, "victim_lines %" PRIu32 " is more than %d",
                               level->victim_lines, PSNAP_VICTIM_LINES_MAX);
    fault->field = MACHINE_PREFETCH;
    if (prefetch->next_lines > PSNAP_NEXT_LINES_MAX)
        return psnap_error_set(error, PSNAP_ERROR_VALUE, "next_lines %" PRIu32 " is more than %d",
                               prefetch->next_lines, PSNAP_NEXT_LINES_MAX);
    if (prefetch->entries > PSNAP_PREFETCH_ENTRIES_MAX ||
        (prefetch->entries &&
         (prefetch->degree < 1 || prefetch->degree > PSNAP_PREFETCH_DEGREE_MAX ||
          prefetch->distance < 1 || prefetch->distance > PSNAP_PREFETCH_DISTANCE_MAX)))
        return psnap_error_set(error, PSNAP_ERROR_VALUE,
                               "a prefetcher has 1 to %" PRIu32 " entries, degree 1 to %d, "
                               "distance 1 to %d",
                               PSNAP_PREFETCH_ENTRIES_MAX, PSNAP_PREFETCH_DEGREE_MAX,
                               PSNAP_PREFETCH_DISTANCE_MAX);
    return PSNAP_OK;
}

/* What a level is to the one before. */
static enum psnap_status check_inclusion(const struct psnap_machine *machine, uint32_t i,
                                         struct machine_fault *fault, struct psnap_error *error)
{
    const struct psnap_cache_level *level = &machine->levels[i];
    const char *name = inclusion_names[level->inclusion];

    fault->field = MACHINE_INCLUSION;
    if (level->inclusion == PSNAP_NON_INCLUSIVE)
        return PSNAP_OK;
    if (i == 0)
        return psnap_error_set(error, PSNAP_ERROR_VALUE,
                               "nothing is nearer than level 1: it is not %s", name);
    if (level->inclusion == PSNAP_EXCLUSIVE && level->line_bytes != level[-1].line_bytes)
        return psnap_error_set(error, PSNAP_ERROR_VALUE,
                               "an exclusive level has the lines of the one before, %" PRIu64
                               " bytes, not %" PRIu64,
                               level[-1].line_bytes, level->line_bytes);
    if (level->inclusion == PSNAP_EXCLUSIVE && level[-1].no_write_allocate)
        return psnap_error_set(error, PSNAP_ERROR_VALUE,
                               "an exclusive level is behind one that allocates on stores, too");
    for (uint32_t nearer = 0; nearer < i && level->inclusion == PSNAP_INCLUSIVE; nearer++)
        if (machine->levels[nearer].line_bytes > level->line_bytes)
            return psnap_error_set(error, PSNAP_ERROR_VALUE,
                                   "an inclusive level has lines as long as those of nearer ones, "
                                   "%" PRIu64 " bytes, at least",
                                   machine->levels[nearer].line_bytes);
    return PSNAP_OK;
}

/* A name that reports can have in a heading, and no other level has. */
static enum psnap_status check_name(const struct psnap_machine *machine, uint32_t i,
                                    struct machine_fault *fault, struct psnap_error *error)
{
    const char *name = machine->levels[i].name;

    fault->field = MACHINE_LEVEL_NAME;
    if (!memchr(name, '\0', PSNAP_LEVEL_NAME_MAX + 1))
        return psnap_error_set(error, PSNAP_ERROR_VALUE, "a name has at most %d bytes",
                               PSNAP_LEVEL_NAME_MAX);
    for (uint32_t k = 0; k < i && *name; k++)
        if (!strcmp(machine->levels[k].name, name))
            return psnap_error_set(error, PSNAP_ERROR_VALUE,
                                   "name '%s' is that of level %" PRIu32 ", too", name, k + 1);
    return PSNAP_OK;
}

static enum psnap_status check_tlb_level(struct psnap_tlb_level *level, struct machine_fault *fault,
                                         struct psnap_error *error)
{
    fault->field = MACHINE_TLB_ENTRIES;
    if (level->entries == 0 || level->entries > PSNAP_LEVEL_LINES_MAX)
        return psnap_error_set(error, PSNAP_ERROR_VALUE,
                               "entries %" PRIu64 " is not from 1 to %" PRIu64, level->entries,
                               PSNAP_LEVEL_LINES_MAX);
    fault->field = MACHINE_TLB_PAGE_BYTES;
    if (!is_power_of_two(level->page_bytes) || level->page_bytes > PSNAP_LINE_BYTES_MAX)
        return psnap_error_set(error, PSNAP_ERROR_VALUE,
                               "page_bytes %" PRIu64 " is not a power of two from 1 to %" PRIu64,
                               level->page_bytes, PSNAP_LINE_BYTES_MAX);
    fault->field = MACHINE_TLB_WAYS;
    if (level->ways == 0 || level->entries % level->ways)
        return psnap_error_set(error, PSNAP_ERROR_VALUE,
                               "entries %" PRIu64 " is not a whole number of sets of %" PRIu64
                               " ways",
                               level->entries, level->ways);
    level->sets = level->entries / level->ways;
    return PSNAP_OK;
}

static enum psnap_status check_level(struct psnap_cache_level *level, struct machine_fault *fault,
                                     struct psnap_error *error)
{
    const uint64_t line_bytes = level->line_bytes, ways = level->ways, size = level->size_bytes;

    fault->field = MACHINE_LINE_BYTES;
    if (!is_power_of_two(line_bytes) || line_bytes > PSNAP_LINE_BYTES_MAX)
        return psnap_error_set(error, PSNAP_ERROR_VALUE,
                               "line_bytes %" PRIu64 " is not a power of two from 1 to %" PRIu64,
                               line_bytes, PSNAP_LINE_BYTES_MAX);
    fault->field = MACHINE_WAYS;
    if (ways == 0)
        return psnap_error_set(error, PSNAP_ERROR_VALUE, "ways must be at least 1");
    if (ways > PSNAP_LEVEL_LINES_MAX)
        return psnap_error_set(error, PSNAP_ERROR_VALUE, "ways %" PRIu64 " is more than %" PRIu64,
                               ways, PSNAP_LEVEL_LINES_MAX);
    fault->field = MACHINE_SIZE_BYTES;
    if (size == 0 || size > PSNAP_LEVEL_BYTES_MAX)
        return psnap_error_set(error, PSNAP_ERROR_VALUE,
                               "size_bytes %" PRIu64 " is not from 1 to %" PRIu64, size,
                               PSNAP_LEVEL_BYTES_MAX);
    if (size % (line_bytes * ways))
        return psnap_error_set(error, PSNAP_ERROR_VALUE,
                               "size_bytes %" PRIu64 " is not a whole number of sets of "
                               "%" PRIu64 " bytes (line_bytes %" PRIu64 " * ways %" PRIu64 ")",
                               size, line_bytes * ways, line_bytes, ways);
    if (size / line_bytes > PSNAP_LEVEL_LINES_MAX)
        return psnap_error_set(error, PSNAP_ERROR_VALUE, "%" PRIu64 " lines are more than %" PRIu64,
                               size / line_bytes, PSNAP_LEVEL_LINES_MAX);
    level->sets = size / (line_bytes * ways);
    return check_policy(level, fault, error);
}

enum psnap_status machine_check_levels(struct psnap_machine *machine, struct machine_fault *fault,
                                       struct psnap_error *error)
{
    *fault = (struct machine_fault){.field = MACHINE_LEVELS};
    if (machine->level_count == 0 || machine->level_count > PSNAP_LEVELS_MAX)
        return psnap_error_set(error, PSNAP_ERROR_VALUE,
                               "a machine has 1 to %d cache levels, not %" PRIu32, PSNAP_LEVELS_MAX,
                               machine->level_count);
    for (uint32_t i = 0; i < machine->level_count; i++) {
        enum psnap_status status;

        fault->level = i;
        status = check_level(&machine->levels[i], fault, error);
        if (status != PSNAP_OK)
            return status;
    }
    for (uint32_t i = 0; i < machine->level_count; i++) {
        fault->level = i;
        if (check_inclusion(machine, i, fault, error) != PSNAP_OK ||
            check_name(machine, i, fault, error) != PSNAP_OK)
            return PSNAP_ERROR_VALUE;
    }
    *fault = (struct machine_fault){.field = MACHINE_TLB_LEVELS};
    if (machine->tlb_level_count > PSNAP_TLB_LEVELS_MAX)
        return psnap_error_set(error, PSNAP_ERROR_VALUE, "a TLB has 1 or %d levels, not %" PRIu32,
                               PSNAP_TLB_LEVELS_MAX, machine->tlb_level_count);
    for (uint32_t i = 0; i < machine->tlb_level_count; i++) {
        enum psnap_status status;

        fault->level = i;
        status = check_tlb_level(&machine->tlb[i], fault, error);
        if (status != PSNAP_OK)
            return status;
    }
    return PSNAP_OK;
}

enum psnap_status psnap_machine_check(struct psnap_machine *machine, struct psnap_error *error)
{
    struct psnap_error cause;
    struct machine_fault fault;
    const enum psnap_status status = machine_check_levels(machine, &fault, &cause);

    if (status == PSNAP_OK)
        return PSNAP_OK;
    if (fault.field == MACHINE_LEVELS || fault.field == MACHINE_TLB_LEVELS)
        return psnap_error_set(error, status, "machine '%.200s': %.250s", machine->name,
                               cause.message);
    return psnap_error_set(error, status, "machine '%.200s': %slevel %" PRIu32 ": %.250s",
                           machine->name, fault.field > MACHINE_LEVELS ? "TLB " : "",
                           fault.level + 1, cause.message);
}

/* The inline form, read left to right; positions in messages are characters from 1. */
struct inline_reader {
    const char *text, *at;
    struct psnap_error *error;
};

static enum psnap_status inline_fail(const struct inline_reader *reader, const char *at,
                                     uint32_t level, const char *message)
{
    return psnap_error_set(reader->error, PSNAP_ERROR_VALUE,
                           "machine '%.150s': level %" PRIu32 ", character %zu: %.250s",
                           reader->text, level + 1, (size_t)(at - reader->text) + 1, message);
}

/* Reads up to ':' or ',' or the end into `field`; false when it is too long to be a number. */
static bool inline_field(struct inline_reader *reader, char field[24])
{
    const size_t length = strcspn(reader->at, ":,");

    if (length >= 24)
        return false;
    memcpy(field, reader->at, length);
    field[length] = '\0';
    reader->at += length;
    return true;
}

static enum psnap_status inline_level(struct inline_reader *reader, struct psnap_machine *machine)
{
    static const char *const wants[] = {"a size such as 32K or 4096",
                                        "a line size in bytes such as 64",
                                        "a number of ways, or full"};
    const uint32_t index = machine->level_count++;
    struct psnap_cache_level *level = &machine->levels[index];
    uint64_t *values[] = {&level->size_bytes, &level->line_bytes, &level->ways};
    const char *starts[MACHINE_REPLACEMENT + 1];
    struct machine_fault fault = {0};
    struct psnap_error cause;
    char field[24], message[80];

    for (int i = 0; i < 3; i++) {
        starts[i] = reader->at;
        snprintf(message, sizeof message, "expected %s", wants[i]);
        if (!inline_field(reader, field))
            return inline_fail(reader, starts[i], index, message);
        if (i == MACHINE_WAYS && !strcmp(field, "full"))
            level->ways = level->line_bytes ? level->size_bytes / level->line_bytes : 0;
        else if (!(i == MACHINE_WAYS ? psnap_text_u64 : psnap_text_size)(field, values[i]))
            return inline_fail(reader, starts[i], index, message);
        if (i < 2 && *reader->at != ':')
            return inline_fail(reader, reader->at, index,
                               "expected ':' (a level is size:line:ways)");
        reader->at += i < 2;
    }
    starts[MACHINE_REPLACEMENT] = reader->at + 1;
    if (*reader->at == ':') {
        reader->at++;
        if (!inline_field(reader, field) || !machine_replacement_parse(field, &level->replacement))
            return inline_fail(reader, starts[MACHINE_REPLACEMENT], index,
                               "expected lru, plru, random, fifo or srrip");
    }
    if (check_level(level, &fault, &cause) != PSNAP_OK)
        return inline_fail(reader, starts[fault.field], index, cause.message);
    return PSNAP_OK;
}

enum psnap_status psnap_machine_parse_inline(const char *text, struct psnap_machine *machine,
                                             struct psnap_error *error)
{
    struct inline_reader reader = {text, text, error};

    *machine = (struct psnap_machine){0};
    if (strlen(text) >= sizeof machine->name)
        return psnap_error_set(error, PSNAP_ERROR_VALUE,
                               "machine '%.40s...' is longer than %zu characters", text,
                               sizeof machine->name - 1);
    strcpy(machine->name, text);
    for (;;) {
        enum psnap_status status;

        if (machine->level_count == PSNAP_LEVELS_MAX)
            return inline_fail(&reader, reader.at, machine->level_count, "too many levels");
        status = inline_level(&reader, machine);
        if (status != PSNAP_OK)
            return status;
        if (!*reader.at)
            return PSNAP_OK;
        if (*reader.at != ',')
            return inline_fail(&reader, reader.at, machine->level_count - 1,
                               "expected ',' or the end");
        reader.at++;
    }
}

char *psnap_machine_level_name(const struct psnap_machine *machine, uint32_t level,
                               char text[PSNAP_LEVEL_NAME_ROOM])
{
    if (machine->levels[level].name[0])
        snprintf(text, PSNAP_LEVEL_NAME_ROOM, "%s", machine->levels[level].name);
    else
        snprintf(text, PSNAP_LEVEL_NAME_ROOM, "L%" PRIu32, level + 1);
    return text;
}
