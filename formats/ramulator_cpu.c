/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ramulator's traces of a processor, written only: "BUBBLES LOAD" or "BUBBLES LOAD WRITE-BACK", all
 * decimal (Processor.cpp, get_filtered_request, of version 1; simpleO3/trace.cpp of version 2,
 * which reads 0x... as 0). BUBBLES are instructions before the load that need no memory: here, of a
 * stream behind caches, the accesses that these satisfied since the load before; of a stream as it
 * is there are none.
 *
 * A store goes with the load before it, or if that has one already with the first after it that
 * has none. Where WAITING of them wait, and at the end, they get a load of their own address.
 */
#include <limits.h>

#include "formats/text_trace.h"
#include "formats/trace_sink.h"

enum { WAITING = 64 };

struct ramulator_cpu {
    struct psnap_trace_sink sink;
    bool has_load; /* that waits for a store to go with it */
    uint64_t bubbles, load;
    uint64_t next_time;                       /* of the access after the last load's */
    uint64_t waiting[WAITING], first, number; /* stores, in a ring */
};

static uint64_t next_waiting(struct ramulator_cpu *cpu)
{
    const uint64_t address = cpu->waiting[cpu->first];

    cpu->first = (cpu->first + 1) % WAITING;
    cpu->number--;
    return address;
}

static char *put_line(char *to, uint64_t bubbles, uint64_t load, const uint64_t *store)
{
    to = psnap_text_put_decimal(to, bubbles < INT_MAX ? bubbles : INT_MAX);
    *to++ = ' ';
    to = psnap_text_put_decimal(to, load);
    if (store) {
        *to++ = ' ';
        to = psnap_text_put_decimal(to, *store);
    }
    *to++ = '\n';
    return to;
}

/* Writes the load in hand, with a store if one waits. */
static char *put_load(struct ramulator_cpu *cpu, char *to)
{
    uint64_t store = 0;
    const bool has_store = cpu->number > 0;

    if (has_store)
        store = next_waiting(cpu);
    cpu->has_load = false;
    return put_line(to, cpu->bubbles, cpu->load, has_store ? &store : NULL);
}

static char *take_load(struct ramulator_cpu *cpu, char *to, uint64_t address)
{
    const uint64_t time = psnap_trace_sink_time(&cpu->sink);

    if (cpu->has_load)
        to = put_load(cpu, to);
    cpu->has_load = true;
    cpu->load = address;
    cpu->bubbles = cpu->sink.clock && time > cpu->next_time ? time - cpu->next_time : 0;
    cpu->next_time = time + 1;
    return cpu->number ? put_load(cpu, to) : to;
}

static char *take_store(struct ramulator_cpu *cpu, char *to, uint64_t address)
{
    if (cpu->number == WAITING) {
        const uint64_t oldest = next_waiting(cpu);
        to = put_line(to, 0, oldest, &oldest);
    }
    cpu->waiting[(cpu->first + cpu->number++) % WAITING] = address;
    return cpu->has_load ? put_load(cpu, to) : to;
}

static char *cpu_access(struct psnap_trace_sink *sink, char *to, const struct psnap_access *access,
                        struct psnap_error *error)
{
    struct ramulator_cpu *cpu = (struct ramulator_cpu *)sink;

    if (access->address >> 63)
        return psnap_trace_sink_refuse(sink, access, "Ramulator takes addresses below 2^63 alone",
                                       error);
    return access->kind == PSNAP_LOAD ? take_load(cpu, to, access->address)
                                      : take_store(cpu, to, access->address);
}

static char *cpu_end(struct psnap_trace_sink *sink, char *to)
{
    struct ramulator_cpu *cpu = (struct ramulator_cpu *)sink;

    if (cpu->has_load)
        to = put_load(cpu, to);
    while (cpu->number) {
        const uint64_t oldest = next_waiting(cpu);
        to = put_line(to, 0, oldest, &oldest);
    }
    return to;
}

const struct psnap_format psnap_format_ramulator_cpu = {
    .name = "ramulator-cpu",
    .summary = "the processor traces of Ramulator 1 and 2 (SimpleO3)",
    .loses = "size, atomic, thread, ref, program, the order of stores among loads, instructions "
             "that access no memory",
    .writable = true,
    .is_text = true,
    .is_memory_side = true,
    .is_physical = true,
    .ops = &(const struct psnap_format_ops){.sink_bytes = sizeof(struct ramulator_cpu),
                                            .access = cpu_access,
                                            .end = cpu_end},
};
