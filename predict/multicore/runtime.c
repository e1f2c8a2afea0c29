/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Run times as PPT-Multicore has them (Barai et al.):
 *
 *     T = T_mem + T_cpu,   T_mem = (lambda + (b - 1) beta) / b * total_mem
 *     lambda = P_1 l_1 + (1 - P_1) [P_2 l_2 + (1 - P_2) [P_3 l_3 + (1 - P_3) l_RAM]]
 *
 * and beta, the reciprocal throughput, likewise, with any number of levels; b is the mean bytes of
 * an access and total_mem the bytes of all, so beta is per byte: a machine's are per access. P_i is
 * the share that level i satisfies of the accesses that come to it; as published it is that of all
 * accesses, as if they all came to each level. T_cpu has for each kind of operation, N of latency d
 * and reciprocal throughput beta,
 *
 *     d + (N - 1) beta,   as published N d, for each operation waits for the one before,
 *
 * nothing if there is none. Kinds are those of the profile: the paper has two, divisions and
 * others.
 */
#include "predict/multicore/runtime.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Of level l, or of memory behind the last one. */
static double cycles_of(const struct psnap_machine *machine, uint32_t l, bool throughput)
{
    if (l == machine->level_count)
        return throughput ? machine->memory_throughput_cycles : machine->memory_latency_cycles;
    return throughput ? machine->levels[l].throughput_cycles : machine->levels[l].latency_cycles;
}

static double effective(const struct psnap_machine *machine, const struct core_work *work,
                        bool throughput, bool as_published)
{
    double cycles = cycles_of(machine, machine->level_count, throughput);

    for (uint32_t l = machine->level_count; l-- > 0;) {
        const double nearer = l && !as_published ? work->cumulative[l - 1] : 0;
        const double share = nearer < 1 ? (work->cumulative[l] - nearer) / (1 - nearer) : 1;
        cycles = share * cycles_of(machine, l, throughput) + (1 - share) * cycles;
    }
    return cycles;
}

enum psnap_status core_check(const struct psnap_machine *machine, struct psnap_error *error)
{
    char fields[256] = "";
    size_t at = 0;

    if (!(machine->clock_hz > 0))
        at += (size_t)snprintf(fields + at, sizeof fields - at, ", clock_hz");
    for (uint32_t l = 0; l < machine->level_count && at < 128; l++)
        if (!(machine->levels[l].latency_cycles > 0) || !(machine->levels[l].throughput_cycles > 0))
            at += (size_t)snprintf(fields + at, sizeof fields - at,
                                   ", latency_cycles and throughput_cycles of level %u", l + 1);
    if (!(machine->memory_latency_cycles > 0) || !(machine->memory_throughput_cycles > 0))
        at += (size_t)snprintf(fields + at, sizeof fields - at,
                               ", latency_cycles and throughput_cycles of memory");
    for (int op = 0, known = 0; op < PSNAP_OPERATION_COUNT; op++) {
        known += machine->operations[op].latency_cycles > 0;
        if (op == PSNAP_OPERATION_COUNT - 1 && !known)
            at += (size_t)snprintf(fields + at, sizeof fields - at, ", operations");
    }
    if (!at)
        return PSNAP_OK;
    return psnap_error_set(error, PSNAP_ERROR_VALUE,
                           "machine '%.60s' lacks what run times need: %s; add it to a machine "
                           "file, or give --no-time for hit rates alone",
                           machine->name, fields + 2);
}

struct core_seconds core_time(const struct psnap_machine *machine, const struct core_work *work,
                              bool as_published)
{
    struct core_seconds seconds = {0};

    if (work->accesses > 0) {
        const double b = work->bytes / work->accesses;
        const double lambda = effective(machine, work, false, as_published);
        const double beta = effective(machine, work, true, as_published) / b;
        seconds.mem = (lambda + fmax(b - 1, 0) * beta) / b * work->bytes;
    }
    for (int op = 0; op < PSNAP_OPERATION_COUNT; op++) {
        const struct psnap_operation_cost *cost = &machine->operations[op];
        const double n = work->operations[op];
        if (n > 0)
            seconds.cpu += as_published
                               ? n * cost->latency_cycles
                               : cost->latency_cycles + fmax(n - 1, 0) * cost->throughput_cycles;
    }
    seconds.mem /= machine->clock_hz;
    seconds.cpu /= machine->clock_hz;
    seconds.total = seconds.mem + seconds.cpu;
    return seconds;
}
