/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Run times. As published (AMM, Chennupati et al.; PPT-Multicore, Barai et al.):
 *
 *     T = T_mem + T_cpu,   T_mem = (lambda + (b - 1) beta) / b * total_mem
 *
 * with the effective latency lambda and reciprocal throughput beta of an access, total_mem the
 * bytes of all, and b "the block (word) size": the mean bytes of an access, unless one asks for
 * blocks, whose first byte is waited for, and the others follow. beta is per byte here: a machine's
 * throughput_cycles are per access. With N operations, of which N_div are divisions, of latencies d
 * and reciprocal throughputs beta that are the means of the kinds' by their counts, T_cpu is
 *
 *     published     (N - N_div - 1) d_in + (N_div - 1) d_div
 *     throughput    d_in + (N - N_div - 1) beta_in + d_div + (N_div - 1) beta_div
 *
 * the division's terms only if there is one, nothing below 0.
 *
 * Ours, "overlap": a core that executes out of order does not add what it can do at once, so
 * T = sqrt(T_mem^2 + T_cpu^2) + T_branch + T_touch: the larger where one is much larger, more where
 * they are alike, as neither then hides the other wholly. (Of the exponents 1, 1.5, 2, 3 and
 * infinity, the larger of both, 2 came nearest to the samples' times.) T_cpu is that of the
 * compiled code (the larger of what its ports take, by llvm-mca, and the latency that iterations
 * wait for, asm_latency.c), else, of operations, that of the busiest kind of unit (integer,
 * floating point, division, branches, accesses at level 1). T_mem is the sum of what accesses take
 *
 *     dependent     their latency, one after the other, but for the share in which a core is at
 *                   other chains of them; and at least their reciprocal throughput
 *     irregular     their reciprocal throughput: as many at once as the level can
 *     regular       the lines that come from level i at its bandwidth, and those that level 1
 *                   writes back at the bandwidth of level 2, whose bus takes both; what level 2
 *                   writes back is free, as a core is limited there by its misses under way
 *
 * Of accesses that hit level 1, only dependent ones take time of their own: others are T_cpu's.
 *
 * T_branch is what nothing overlaps with (Eyerman, Eeckhout, Karkhanis and Smith, "A mechanistic
 * performance model for superscalar out-of-order processors", 2009): a branch that the core
 * expected to go another way costs the time until it is known, which is that of the loads before
 * it, and the time to fill the pipeline again. T_touch is what the system takes to make a page that
 * is touched first; it fills it with zeros, so that lines touched soon after are found in level 2.
 * Both are 0 where the machine does not say what they cost.
 */
#include "predict/amm/runtime.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const char *runtime_method_name(enum runtime_method method)
{
    static const char *const names[RUNTIME_METHODS] = {"published", "throughput", "overlap"};

    return names[method];
}

/* ------------------------------------------------------------------- sums */

void runtime_add_accesses(struct runtime_accesses *sum, const struct runtime_accesses *more)
{
    const double all = sum->accesses + more->accesses;

    for (int l = 0; l < PSNAP_LEVELS_MAX && all > 0; l++)
        sum->cumulative[l] =
            (sum->accesses * sum->cumulative[l] + more->accesses * more->cumulative[l]) / all;
    sum->accesses = all;
    sum->bytes += more->bytes;
    sum->written += more->written;
    sum->fresh += more->fresh;
}

struct runtime_accesses runtime_all_accesses(const struct runtime_work *work)
{
    struct runtime_accesses all = {0};

    for (int p = 0; p < RUNTIME_PATTERNS; p++)
        runtime_add_accesses(&all, &work->patterns[p]);
    return all;
}

void runtime_add(struct runtime_work *sum, const struct runtime_work *work)
{
    for (int p = 0; p < RUNTIME_PATTERNS; p++)
        runtime_add_accesses(&sum->patterns[p], &work->patterns[p]);
    for (int op = 0; op < PSNAP_OPERATION_COUNT; op++)
        sum->operations[op] += work->operations[op];
    sum->throughput_cycles += work->throughput_cycles;
    sum->latency_cycles += work->latency_cycles;
    sum->mispredictions += work->mispredictions;
    sum->wait_cycles += work->wait_cycles;
    sum->first_touches += work->first_touches;
    sum->named_calls += work->named_calls;
    sum->named_cycles += work->named_cycles;
}

/* ------------------------------------------------------------------- memory */

/* Of level l, or of memory behind the last one. */
static double level_cycles(const struct psnap_machine *machine, uint32_t l, bool throughput)
{
    if (l == machine->level_count)
        return throughput ? machine->memory_throughput_cycles : machine->memory_latency_cycles;
    return throughput ? machine->levels[l].throughput_cycles : machine->levels[l].latency_cycles;
}

double runtime_effective_cycles(const struct psnap_machine *machine,
                                const struct runtime_accesses *accesses, bool throughput,
                                bool as_published)
{
    double cycles = level_cycles(machine, machine->level_count, throughput);

    for (uint32_t l = machine->level_count; l-- > 0;) {
        const double nearer = l && !as_published ? accesses->cumulative[l - 1] : 0;
        const double local =
            nearer < 1 ? (accesses->cumulative[l] - nearer) / (1 - nearer) : 1; /* none comes */
        cycles = local * level_cycles(machine, l, throughput) + (1 - local) * cycles;
    }
    return cycles;
}

static double published_mem(const struct psnap_machine *machine, const struct runtime_work *work,
                            struct runtime_reading reading)
{
    const struct runtime_accesses all = runtime_all_accesses(work);
    const double size = all.accesses > 0 ? all.bytes / all.accesses : 1;
    const double b = reading.block_bytes > 0 ? reading.block_bytes : size;
    const double lambda = runtime_effective_cycles(machine, &all, false, reading.as_published);
    const double beta = runtime_effective_cycles(machine, &all, true, reading.as_published) / size;

    return all.accesses > 0 ? (lambda + fmax(b - 1, 0) * beta) / b * all.bytes : 0;
}

/* Cycles that the lines of such accesses take from where they are satisfied. */
static double stream_cycles(const struct psnap_machine *machine,
                            const struct runtime_accesses *accesses)
{
    double cycles = 0;

    if (!(accesses->accesses > 0))
        return 0; /* the machine may have no bandwidths then */
    if (machine->level_count > 1)
        cycles = accesses->written * (double)machine->levels[0].line_bytes /
                 machine->levels[1].bandwidth_bytes_per_s * machine->clock_hz;
    for (uint32_t l = 1; l <= machine->level_count; l++) {
        const double to = l < machine->level_count ? accesses->cumulative[l] : 1;
        const double bandwidth = l < machine->level_count ? machine->levels[l].bandwidth_bytes_per_s
                                                          : machine->memory_bandwidth_bytes_per_s;
        const double lines = accesses->accesses * (to - accesses->cumulative[l - 1]);
        cycles += lines * (double)machine->levels[l - 1].line_bytes / bandwidth * machine->clock_hz;
    }
    return cycles;
}

/* With fresh lines in level 2. */
static struct runtime_accesses with_fresh(const struct psnap_machine *machine,
                                          const struct runtime_accesses *accesses)
{
    struct runtime_accesses all = *accesses;

    for (uint32_t l = 1; l < machine->level_count && machine->first_touch_cycles > 0; l++)
        if (all.accesses > 0)
            all.cumulative[l] = fmin(all.cumulative[l] + all.fresh / all.accesses, 1);
    return all;
}

static double overlap_mem(const struct psnap_machine *machine, const struct runtime_work *work)
{
    struct runtime_accesses patterns[RUNTIME_PATTERNS], irregular;
    const struct runtime_accesses *dependent = &patterns[RUNTIME_DEPENDENT];
    double cycles;

    for (int p = 0; p < RUNTIME_PATTERNS; p++)
        patterns[p] = with_fresh(machine, &work->patterns[p]);
    irregular = patterns[RUNTIME_IRREGULAR];
    cycles = fmax(runtime_effective_cycles(machine, dependent, false, false) * (1 - work->hidden),
                  runtime_effective_cycles(machine, dependent, true, false));

    /* those that miss level 1: how they get through it is T_cpu's */
    return dependent->accesses * cycles + stream_cycles(machine, &patterns[RUNTIME_REGULAR]) +
           irregular.accesses * (runtime_effective_cycles(machine, &irregular, true, false) -
                                 irregular.cumulative[0] * machine->levels[0].throughput_cycles);
}

/* ---------------------------------------------------------------------- core */

static bool is_division(int op)
{
    return op == PSNAP_OP_INT_DIV || op == PSNAP_OP_FP_DIV;
}

/* What has no result to wait for, a branch or a call, may have no latency: then the throughput. */
static double latency_of(const struct psnap_machine *machine, int op)
{
    const struct psnap_operation_cost *cost = &machine->operations[op];

    return cost->latency_cycles > 0 ? cost->latency_cycles : cost->throughput_cycles;
}

/* The number of operations that are divisions, or are none, and their mean cost. */
static double count_of(const struct psnap_machine *machine, const struct runtime_work *work,
                       bool divisions, struct psnap_operation_cost *mean)
{
    double count = 0;

    *mean = (struct psnap_operation_cost){0};
    for (int op = 0; op < PSNAP_OPERATION_COUNT; op++) {
        if (is_division(op) != divisions)
            continue;
        count += work->operations[op];
        mean->latency_cycles += work->operations[op] * latency_of(machine, op);
        mean->throughput_cycles += work->operations[op] * machine->operations[op].throughput_cycles;
    }
    if (count > 0) {
        mean->latency_cycles /= count;
        mean->throughput_cycles /= count;
    }
    return count;
}

static double published_cpu(const struct psnap_machine *machine, const struct runtime_work *work,
                            bool throughput)
{
    double cycles = 0;

    for (int divisions = 0; divisions < 2; divisions++) {
        struct psnap_operation_cost mean;
        const double count = count_of(machine, work, divisions, &mean);
        if (!(count > 0))
            continue;
        cycles += throughput ? mean.latency_cycles + fmax(count - 1, 0) * mean.throughput_cycles
                             : fmax(count - 1, 0) * mean.latency_cycles;
    }
    return cycles;
}

enum unit { UNIT_INTEGER, UNIT_REAL, UNIT_DIVISION, UNIT_BRANCH, UNIT_CALL, UNITS };

static enum unit unit_of(int op)
{
    switch (op) {
    case PSNAP_OP_FP_ADD:
    case PSNAP_OP_FP_MUL:
    case PSNAP_OP_FP_FMA:
    case PSNAP_OP_CONVERT:
        return UNIT_REAL;
    case PSNAP_OP_INT_DIV:
    case PSNAP_OP_FP_DIV:
    case PSNAP_OP_FP_SQRT:
        return UNIT_DIVISION;
    case PSNAP_OP_FP_MATH:
    case PSNAP_OP_CALL:
        return UNIT_CALL;
    case PSNAP_OP_BRANCH:
        return UNIT_BRANCH;
    default:
        return UNIT_INTEGER;
    }
}

/* Calls take ports too, but nothing in the loop has to wait for what is in them. */
static double overlap_cpu(const struct psnap_machine *machine, const struct runtime_work *work)
{
    double units[UNITS] = {0}, busiest, calls;

    for (int op = 0; op < PSNAP_OPERATION_COUNT; op++)
        units[unit_of(op)] += work->operations[op] * machine->operations[op].throughput_cycles;
    calls = units[UNIT_CALL] - fmin(work->named_calls, work->operations[PSNAP_OP_FP_MATH]) *
                                   machine->operations[PSNAP_OP_FP_MATH].throughput_cycles;
    calls += work->named_cycles;
    if (!isnan(work->throughput_cycles))
        return fmax(work->throughput_cycles + calls, work->latency_cycles);
    busiest = runtime_all_accesses(work).accesses * machine->levels[0].throughput_cycles;
    for (int unit = 0; unit < UNIT_CALL; unit++)
        busiest = fmax(busiest, units[unit]);
    return busiest + calls;
}

static double overlap_branch(const struct psnap_machine *machine, const struct runtime_work *work)
{
    return machine->mispredict_cycles > 0
               ? fmax(work->mispredictions * machine->mispredict_cycles + work->wait_cycles, 0)
               : 0;
}

/* ---------------------------------------------------------------------- both */

struct runtime_seconds runtime_predict(const struct psnap_machine *machine,
                                       const struct runtime_work *work, enum runtime_method method,
                                       struct runtime_reading reading)
{
    struct runtime_seconds seconds = {0};

    if (method == RUNTIME_OVERLAP) {
        seconds.mem = overlap_mem(machine, work) / machine->clock_hz;
        seconds.cpu = overlap_cpu(machine, work) / machine->clock_hz;
        seconds.branch = overlap_branch(machine, work) / machine->clock_hz;
        seconds.touch = work->first_touches * machine->first_touch_cycles / machine->clock_hz;
        seconds.total = hypot(seconds.mem, seconds.cpu) + seconds.branch + seconds.touch;
        return seconds;
    }
    seconds.mem = published_mem(machine, work, reading) / machine->clock_hz;
    seconds.cpu = published_cpu(machine, work, method == RUNTIME_THROUGHPUT) / machine->clock_hz;
    seconds.total = seconds.mem + seconds.cpu;
    return seconds;
}

/* --------------------------------------------------------------- what is missing */

enum { MISSING_NAMED = 8 };

/* What a machine does not have: the first ones by name. */
struct missing {
    char names[MISSING_NAMED * 48];
    size_t length;
    unsigned count;
};

static void need(struct missing *missing, double value, const char *format, const char *name,
                 unsigned level)
{
    const size_t room = sizeof missing->names - missing->length;
    char field[46]; /* with a comma no more than the room of one */

    if (value > 0 || missing->count++ >= MISSING_NAMED)
        return;
    snprintf(field, sizeof field, format, name, level);
    missing->length += (size_t)snprintf(missing->names + missing->length, room, "%s%s",
                                        missing->length ? ", " : "", field);
}

/* Level 0 is level 1; the last one is memory. */
static void need_levels(struct missing *missing, const struct psnap_machine *machine, uint32_t from,
                        bool throughput)
{
    const char *const name = throughput ? "throughput_cycles" : "latency_cycles";

    for (uint32_t l = from; l < machine->level_count; l++)
        need(missing, level_cycles(machine, l, throughput), "%s of level %u", name, l + 1);
    need(missing, level_cycles(machine, machine->level_count, throughput), "memory.%s", name, 0);
}

static void need_bandwidths(struct missing *missing, const struct psnap_machine *machine)
{
    for (uint32_t l = 1; l < machine->level_count; l++)
        need(missing, machine->levels[l].bandwidth_bytes_per_s, "%s of level %u",
             "bandwidth_bytes_per_s", l + 1);
    need(missing, machine->memory_bandwidth_bytes_per_s, "memory.%s", "bandwidth_bytes_per_s", 0);
}

/* What code's results take that asm_latency() asks the machine for. */
static bool is_waited_for(int op)
{
    return unit_of(op) == UNIT_REAL || unit_of(op) == UNIT_DIVISION || op == PSNAP_OP_INT_MUL;
}

static void need_operations(struct missing *missing, const struct psnap_machine *machine,
                            const struct runtime_work *work, enum runtime_method method)
{
    char name[28];

    for (int op = 0; op < PSNAP_OPERATION_COUNT; op++) {
        const bool has_code = method == RUNTIME_OVERLAP && !isnan(work->throughput_cycles);
        if (!(work->operations[op] > 0))
            continue;
        snprintf(name, sizeof name, "operations.%s",
                 psnap_operation_name((enum psnap_capture_operation)op));
        if (method != RUNTIME_OVERLAP || (has_code && is_waited_for(op)))
            need(missing, latency_of(machine, op), "%s.latency_cycles", name, 0);
        if (method != RUNTIME_PUBLISHED && (!has_code || unit_of(op) == UNIT_CALL))
            need(missing, machine->operations[op].throughput_cycles, "%s.throughput_cycles", name,
                 0);
    }
}

enum psnap_status runtime_check(const struct psnap_machine *machine,
                                const struct runtime_work *work, enum runtime_method method,
                                struct psnap_error *error)
{
    struct missing missing = {0};
    char more[32] = "";

    need(&missing, machine->clock_hz, "%s", "clock_hz", 0);
    if (method != RUNTIME_OVERLAP || work->patterns[RUNTIME_DEPENDENT].accesses > 0)
        need_levels(&missing, machine, 0, false);
    else if (!isnan(work->throughput_cycles))
        need(&missing, level_cycles(machine, 0, false), "%s of level %u", "latency_cycles", 1);
    if (method != RUNTIME_OVERLAP || work->patterns[RUNTIME_IRREGULAR].accesses > 0)
        need_levels(&missing, machine, 0, true);
    else
        need(&missing, level_cycles(machine, 0, true), "%s of level %u", "throughput_cycles", 1);
    if (method == RUNTIME_OVERLAP && work->patterns[RUNTIME_REGULAR].accesses > 0)
        need_bandwidths(&missing, machine);
    need_operations(&missing, machine, work, method);
    if (!missing.count)
        return PSNAP_OK;
    if (missing.count > MISSING_NAMED)
        snprintf(more, sizeof more, " and %u more", missing.count - MISSING_NAMED);
    return psnap_error_set(error, PSNAP_ERROR_VALUE,
                           "machine '%.40s' lacks %s%s: 'psnap machine host -o FILE' measures this "
                           "computer",
                           machine->name, missing.names, more);
}

void runtime_add_seconds(struct runtime_seconds *sum, struct runtime_seconds more, double share)
{
    sum->total += more.total * share;
    sum->mem += more.mem * share;
    sum->cpu += more.cpu * share;
    sum->branch += more.branch * share;
    sum->touch += more.touch * share;
}
