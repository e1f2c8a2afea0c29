/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What an iteration of a loop's code waits for from the iteration before, on a core that could
 * execute everything else at once: the time of the longest chain of results through a number of
 * iterations, divided by that number. An instruction's result is ready its latency after its
 * sources are, registers and flags; latencies are the machine's, those of additions, products,
 * divisions, roots and conversions; copies of registers take none, all else a cycle.
 *
 * Chains go through memory, too: what was stored is loaded a hit of level 1 later. An address is
 * known by what it was made of, registers as they were in the beginning and additions of constants
 * to them since: stores and loads of a[i] and, an iteration later, of a[i - 1] are the same. Where
 * that does not show, a load is taken to be of something else.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "formats/base/rng.h"
#include "predict/amm/asm.h"
#include "predict/amm/asm_operands.h"

#define HALF 32 /* of the iterations that are followed; of these the second half counts */

enum {
    STORES = 256, /* that are kept in mind */
    TO_OTHER = 3  /* cycles between registers of different kinds */
};

/* What a register holds: something that was there (or 0: nothing) and a constant added to it. */
struct symbol {
    uint64_t of;
    int64_t plus;
};

struct value {
    struct symbol symbol;
    double ready; /* in cycles */
};

struct store {
    struct symbol at;
    struct value value;
};

struct flow {
    const struct psnap_machine *machine;
    struct value registers[ASM_REGISTERS];
    struct store stores[STORES];
    size_t store_count; /* all that there were: the last STORES are kept */
    uint64_t unknown;   /* the number of the last symbol that nothing is known of */
    double last;        /* when the last of all results is ready */
    double stored;      /* when the last of all values is ready to be stored */
    double decided;     /* when the last of all conditional jumps is decided */
};

static struct symbol unknown(struct flow *flow)
{
    return (struct symbol){psnap_rng_mix(++flow->unknown), 0};
}

static double latency_of(const struct flow *flow, enum psnap_capture_operation operation)
{
    return flow->machine->operations[operation].latency_cycles;
}

static double load_latency(const struct flow *flow)
{
    return flow->machine->levels[0].latency_cycles;
}

/* -------------------------------------------------------------------- symbols */

static struct symbol sum(struct symbol a, struct symbol b)
{
    return (struct symbol){a.of + b.of, (int64_t)((uint64_t)a.plus + (uint64_t)b.plus)};
}

static struct symbol times(struct symbol a, int64_t factor)
{
    return (struct symbol){a.of * (uint64_t)factor, (int64_t)((uint64_t)a.plus * (uint64_t)factor)};
}

/* "8(%rax,%rcx,4)", "table(,%rcx,8)", "table+16(%rip)"; *ready is when its registers are. */
static struct symbol address_of(const struct flow *flow, const struct asm_operand *operand,
                                double *ready)
{
    const char *end = operand->text + operand->length, *at;
    struct symbol address = {0};
    int commas = 0; /* the register behind the first is the index */
    char *constant;

    address.plus = strtoll(operand->text, &constant, 0);
    for (at = constant; at < end && !strchr("(+-", *at); at++) /* a name */
        address.of = psnap_rng_mix(address.of + (unsigned char)*at);
    if (at < end && *at != '(')
        address.plus = strtoll(at, NULL, 0);
    while (at < end) {
        size_t length = 0;
        int number;
        commas += *at == ',';
        if (*at++ != '%')
            continue;
        while (at + length < end && strchr(",)", at[length]) == NULL)
            length++;
        number = asm_register(at, length);
        at += length;
        if (number == ASM_NONE)
            continue;
        const struct value *value = &flow->registers[number];
        const int64_t scale = commas == 1 && *at == ',' ? strtoll(at + 1, NULL, 10) : 1;
        address = sum(address, times(value->symbol, scale));
        *ready = fmax(*ready, value->ready);
    }
    return address;
}

/* The constant of "$8". */
static bool is_constant(const struct asm_operand *operand, int64_t *constant)
{
    if (operand->text[0] != '$')
        return false;
    *constant = strtoll(operand->text + 1, NULL, 0);
    return true;
}

/* What integer instructions make of symbols; `source` is that of the operand before the last. */
static struct symbol result_of(struct flow *flow, const struct asm_instruction *in,
                               struct symbol source, struct symbol old)
{
    const bool is_add = asm_begins(in->name, "add"), is_sub = asm_begins(in->name, "sub");
    int64_t constant;

    if (in->is_zero)
        return (struct symbol){0};
    if (in->is_lea || asm_begins(in->name, "mov"))
        return source;
    if (asm_begins(in->name, "inc") || asm_begins(in->name, "dec"))
        return sum(old, (struct symbol){0, in->name[0] == 'i' ? 1 : -1});
    if (in->count == 2 && is_constant(&in->operands[0], &constant)) {
        if (is_add || is_sub)
            return sum(old, times((struct symbol){0, constant}, is_add ? 1 : -1));
        if (asm_begins(in->name, "shl") && constant >= 0 && constant < 32)
            return times(old, INT64_C(1) << constant);
    }
    if (in->count == 3 && asm_begins(in->name, "imul") && is_constant(&in->operands[0], &constant))
        return times(source, constant);
    if (in->count == 2 && (is_add || is_sub))
        return sum(old, is_add ? source : times(source, -1));
    return unknown(flow);
}

/* ----------------------------------------------------------------- latencies */

/* Whether a name, after "v", is one of floating point: "add" with "sd", "ps" ... behind it. */
static bool is_real(const char *name, const char *stem)
{
    const size_t length = strlen(stem);

    name += *name == 'v';
    return asm_begins(name, stem) && (name[length] == 's' || name[length] == 'p') &&
           (name[length + 1] == 's' || name[length + 1] == 'd');
}

static bool is_move_between_kinds(const struct asm_instruction *in)
{
    const int from = in->count == 2 ? in->operands[0].number : ASM_NONE;
    const int to = in->count == 2 ? in->operands[1].number : ASM_NONE;

    return from != ASM_NONE && to != ASM_NONE && (from < ASM_XMM) != (to < ASM_XMM);
}

static double cycles_of(const struct flow *flow, const struct asm_instruction *in)
{
    static const struct {
        const char *stem;
        enum psnap_capture_operation operation;
    } reals[] = {{"add", PSNAP_OP_FP_ADD},  {"sub", PSNAP_OP_FP_ADD}, {"max", PSNAP_OP_FP_ADD},
                 {"min", PSNAP_OP_FP_ADD},  {"mul", PSNAP_OP_FP_MUL}, {"div", PSNAP_OP_FP_DIV},
                 {"sqrt", PSNAP_OP_FP_SQRT}};
    const char *name = in->name;

    for (size_t i = 0; i < sizeof reals / sizeof reals[0]; i++)
        if (is_real(name, reals[i].stem))
            return latency_of(flow, reals[i].operation);
    if (asm_begins(name, "vfm") || asm_begins(name, "vfnm"))
        return latency_of(flow, PSNAP_OP_FP_FMA);
    if (asm_begins(name, "cvt") || asm_begins(name, "vcvt"))
        return latency_of(flow, PSNAP_OP_CONVERT);
    if (asm_begins(name, "div") || asm_begins(name, "idiv"))
        return latency_of(flow, PSNAP_OP_INT_DIV);
    if (asm_begins(name, "mul") || asm_begins(name, "imul") || asm_begins(name, "pmul") ||
        asm_begins(name, "vpmul"))
        return latency_of(flow, PSNAP_OP_INT_MUL);
    if (is_move_between_kinds(in))
        return TO_OTHER;
    return in->is_zero || asm_begins(name, "mov") || asm_begins(name, "vmov") ? 0 : 1;
}

/* ---------------------------------------------------------------------- flow */

/* The value that a load brings: of the last store to its address, if there was one. */
static struct value load(struct flow *flow, const struct asm_operand *operand)
{
    double ready = 0;
    const struct symbol at = address_of(flow, operand, &ready);
    const size_t kept = flow->store_count < STORES ? flow->store_count : STORES;
    struct value value = {.symbol = unknown(flow)};

    for (size_t i = 1; i <= kept; i++) {
        const struct store *store = &flow->stores[(flow->store_count - i) % STORES];
        if (store->at.of != at.of || store->at.plus != at.plus)
            continue;
        value = store->value;
        break;
    }
    value.ready = fmax(value.ready, ready) + load_latency(flow);
    return value;
}

static struct value source_of(struct flow *flow, const struct asm_instruction *in, int i)
{
    const struct asm_operand *operand = &in->operands[i];
    struct value value = {{0, 0}, 0};

    if (operand->is_memory && in->is_lea)
        value.symbol = address_of(flow, operand, &value.ready);
    else if (operand->is_memory)
        value = load(flow, operand);
    else if (operand->number != ASM_NONE)
        value = flow->registers[operand->number];
    else
        is_constant(operand, &value.symbol.plus);
    return value;
}

static void write_result(struct flow *flow, const struct asm_operand *to, struct value result)
{
    double ready = 0;

    if (to->number != ASM_NONE)
        flow->registers[to->number] = result;
    else if (to->is_memory) {
        flow->stored = fmax(flow->stored, result.ready);
        flow->stores[flow->store_count++ % STORES] =
            (struct store){address_of(flow, to, &ready), result};
    }
}

/* "mulq %rbx", "idivl %ecx": of and to rax and rdx. */
static bool is_wide(const struct asm_instruction *in)
{
    const char *name = in->name + (in->name[0] == 'i');

    return in->count == 1 && (asm_begins(name, "div") || asm_begins(name, "mul"));
}

static void execute(struct flow *flow, const char *line)
{
    const struct asm_instruction in = asm_instruction(line);
    const int last = in.count - 1;
    struct value source = {{0, 0}, 0}, old = {{0, 0}, 0}, result;

    if (line[0] == 'j' && line[1] != 'm')
        flow->decided = fmax(flow->decided, flow->registers[ASM_FLAGS].ready);
    if (!in.count || line[0] == 'j')
        return;
    for (int i = 0; i < last || (i == last && !in.writes); i++) {
        const struct value each = source_of(flow, &in, i);
        source.symbol = each.symbol;
        source.ready = fmax(source.ready, each.ready);
    }
    if (in.writes && !in.replaces)
        old = source_of(flow, &in, last);
    result.ready = in.is_zero ? 0 : fmax(source.ready, old.ready);
    if (in.reads_flags)
        result.ready = fmax(result.ready, flow->registers[ASM_FLAGS].ready);
    if (is_wide(&in)) {
        for (int i = ASM_RAX; i <= ASM_RDX; i += ASM_RDX - ASM_RAX)
            result.ready = fmax(result.ready, flow->registers[i].ready);
        result.ready += cycles_of(flow, &in);
        result.symbol = unknown(flow);
        flow->registers[ASM_RAX] = flow->registers[ASM_RDX] = result;
    } else {
        result.ready += in.is_zero ? 0 : cycles_of(flow, &in);
        result.symbol = result_of(flow, &in, source.symbol, old.symbol);
        if (in.writes)
            write_result(flow, &in.operands[last], result);
    }
    if (in.writes_flags)
        flow->registers[ASM_FLAGS] = result;
    flow->last = fmax(flow->last, result.ready);
}

static void iterate(struct flow *flow, const char *code)
{
    for (const char *line = code; *line; line += strcspn(line, "\n"), line += *line == '\n')
        execute(flow, line);
}

struct asm_latency asm_latency(const char *code, const struct psnap_machine *machine)
{
    struct flow *flow = calloc(1, sizeof *flow);
    struct asm_latency latency = {NAN, NAN, NAN};
    double half = 0;

    if (!flow)
        return latency;
    flow->machine = machine;
    for (int i = 0; i < ASM_REGISTERS; i++)
        flow->registers[i].symbol = unknown(flow);
    iterate(flow, code);
    latency.decision = flow->decided;
    latency.store = flow->stored;
    for (int iteration = 1; iteration < 2 * HALF; iteration++) {
        if (iteration == HALF)
            half = flow->last;
        iterate(flow, code);
    }
    latency.iteration = (flow->last - half) / HALF;
    free(flow);
    return latency;
}
